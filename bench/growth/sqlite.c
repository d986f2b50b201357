/* SQLite with a write-ahead log, synchronous NORMAL (a loss of power takes the last commits), prepared
 * statements, rows by their number, a transaction each. */
#include "store.h"

#include <sqlite3.h>

static sqlite3 *db;
static sqlite3_stmt *put_one, *look_one, *drop_one, *walk_all;

static void ok(int rc, const char *what)
{
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        die(what, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepared(const char *sql)
{
    sqlite3_stmt *s = NULL;

    ok(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL), sql);
    return s;
}

static void begin(const char *folder, uint64_t bytes)
{
    (void)bytes;
    ok(sqlite3_open(in_folder(folder, "db.sqlite"), &db), "open");
    ok(sqlite3_exec(db,
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA locking_mode=EXCLUSIVE;"
                    "PRAGMA cache_size=-1048576; PRAGMA mmap_size=8589934592;"
                    "CREATE TABLE IF NOT EXISTS d (k INTEGER PRIMARY KEY, v BLOB)",
                    NULL, NULL, NULL),
       "begin");
    put_one = prepared("INSERT OR REPLACE INTO d VALUES (?, ?)");
    look_one = prepared("SELECT v FROM d WHERE k = ?");
    drop_one = prepared("DELETE FROM d WHERE k = ?");
    walk_all = prepared("SELECT k, v FROM d ORDER BY k");
}

static void put(uint32_t k, const void *val, size_t len)
{
    sqlite3_bind_int64(put_one, 1, k);
    sqlite3_bind_blob(put_one, 2, val, (int)len, SQLITE_STATIC);
    ok(sqlite3_step(put_one), "insert");
    sqlite3_reset(put_one);
}

static size_t look(uint32_t k)
{
    sqlite3_bind_int64(look_one, 1, k);
    ok(sqlite3_step(look_one), "select");
    size_t len = (size_t)sqlite3_column_bytes(look_one, 0);
    sqlite3_reset(look_one);
    return len;
}

static void drop(uint32_t k)
{
    sqlite3_bind_int64(drop_one, 1, k);
    ok(sqlite3_step(drop_one), "delete");
    sqlite3_reset(drop_one);
}

static uint64_t walk(void)
{
    uint64_t n = 0, sum = 0;

    for (; sqlite3_step(walk_all) == SQLITE_ROW; n++) {
        const unsigned char *v = sqlite3_column_blob(walk_all, 1);
        sum += v[sqlite3_column_bytes(walk_all, 1) - 1];
    }
    sqlite3_reset(walk_all);
    return sum != 0 ? n : 0;
}

static void end(void)
{
    sqlite3_finalize(put_one);
    sqlite3_finalize(look_one);
    sqlite3_finalize(drop_one);
    sqlite3_finalize(walk_all);
    ok(sqlite3_close(db), "close");
}

static void check(void)
{
    ok(sqlite3_exec(db, "PRAGMA integrity_check", NULL, NULL, NULL), "check");
}

static void backup(const char *to)
{
    sqlite3 *copy = NULL;

    ok(sqlite3_open(in_folder(to, "db.sqlite"), &copy), "backup");
    sqlite3_backup *b = sqlite3_backup_init(copy, "main", db, "main");
    ok(b != NULL ? sqlite3_backup_step(b, -1) : SQLITE_ERROR, "backup");
    sqlite3_backup_finish(b);
    sqlite3_close(copy);
}

static void compact(const char *folder, uint64_t bytes)
{
    begin(folder, bytes);
    ok(sqlite3_exec(db, "VACUUM", NULL, NULL, NULL), "vacuum");
    end();
}

const struct store growth_sqlite = {
    .name = "sqlite",
    .open = begin,
    .set = put,
    .get = look,
    .remove = drop,
    .scan = walk,
    .close = end,
    .check = check,
    .backup = backup,
    .compact = compact,
};
