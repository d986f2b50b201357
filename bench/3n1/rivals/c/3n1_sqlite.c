/*
 * 3n1_sqlite.c - the 3n+1 job on SQLite in WAL mode: a rowid table, prepared statements; a sequence is read in one
 * transaction and stored, with the maxima, in another.  Tuned: synchronous=NORMAL, which doesn't sync each commit.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

#define WAIT_MS (600 * 1000) /* for the lock of writers */

static sqlite3 *db;
enum { BEGIN_READ, BEGIN_WRITE, COMMIT, GET, PUT, TAKE, RAISE, STATEMENTS };
static const char *const texts[STATEMENTS] = {
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "SELECT length FROM step WHERE n = ?",
    "INSERT OR REPLACE INTO step VALUES (?, ?)",
    "INSERT OR IGNORE INTO taken VALUES (?)",
    "UPDATE maxima SET value = ?2 WHERE name = ?1 AND value < ?2",
};
static sqlite3_stmt *statements[STATEMENTS];

static _Noreturn void fail(const char *what)
{
    job_fail(what, sqlite3_errmsg(db));
}

static void execute(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sql);
}

/* Run a statement that returns at most one number. */
static int64_t run(int which, int64_t a, int64_t b)
{
    sqlite3_stmt *st = statements[which];
    int64_t value = 0;
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, a);
    if (sqlite3_bind_parameter_count(st) > 1)
        sqlite3_bind_int64(st, 2, b);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        value = sqlite3_column_int64(st, 0);
    else if (rc != SQLITE_DONE)
        fail(texts[which]);
    sqlite3_reset(st);
    return value;
}

static void store_open(const struct job_options *o, int create)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/3n1.sqlite", o->folder);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        fail(path);
    sqlite3_busy_timeout(db, WAIT_MS);
    execute("PRAGMA journal_mode = WAL");
    execute(o->tuned ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
    if (create)
        execute("CREATE TABLE step(n INTEGER PRIMARY KEY, length INTEGER);"
                "CREATE TABLE taken(block INTEGER PRIMARY KEY);"
                "CREATE TABLE maxima(name INTEGER PRIMARY KEY, value INTEGER);"
                "INSERT INTO maxima VALUES (0, 0), (1, 0)");
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v2(db, texts[i], -1, &statements[i], NULL) != SQLITE_OK)
            fail(texts[i]);
}

static void store_close(void)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(statements[i]);
    if (sqlite3_close(db) != SQLITE_OK)
        fail("close");
}

static int take(unsigned block)
{
    run(TAKE, block, 0);
    return sqlite3_changes(db) == 1;
}

static void begin(void)
{
    run(BEGIN_READ, 0, 0);
}

static void nothing(void)
{
    run(COMMIT, 0, 0);
}

static unsigned get(uint64_t n)
{
    return (unsigned)run(GET, (int64_t)n, 0);
}

static void raise_to(int which, uint64_t value)
{
    job_reads++;
    run(RAISE, which, (int64_t)value);
    job_updates += (uint64_t)sqlite3_changes(db);
}

static void keep(const struct job_found *f)
{
    run(COMMIT, 0, 0);
    run(BEGIN_WRITE, 0, 0);
    raise_to(0, f->total);
    raise_to(1, f->highest);
    for (unsigned i = 0; i < f->count; i++)
        run(PUT, (int64_t)f->path[i], f->total - i);
    job_updates += f->count;
    run(COMMIT, 0, 0);
}

static void maxima(uint64_t *longest, uint64_t *highest)
{
    sqlite3_stmt *st;
    uint64_t *const values[] = {longest, highest};
    if (sqlite3_prepare_v2(db, "SELECT value FROM maxima ORDER BY name", -1, &st, NULL) != SQLITE_OK)
        fail("maxima");
    for (int i = 0; i < 2; i++) {
        if (sqlite3_step(st) != SQLITE_ROW)
            fail("maxima");
        *values[i] = (uint64_t)sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
}

const struct job_store job_store = {.version = SQLITE_VERSION,
                                    .open = store_open,
                                    .close = store_close,
                                    .take = take,
                                    .begin = begin,
                                    .get = get,
                                    .keep = keep,
                                    .nothing = nothing,
                                    .maxima = maxima};
