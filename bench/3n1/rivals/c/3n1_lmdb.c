/*
 * 3n1_lmdb.c - the 3n+1 job on LMDB: integer keys and values; a sequence is read in one read transaction (renewed,
 * not made anew) and stored, with the maxima, in one write transaction, as each commit costs far more than a put.
 * Tuned: NOSYNC and WRITEMAP, else the defaults, which sync each commit.
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

static MDB_env *env;
static MDB_dbi steps, rest;
static MDB_txn *reader;

static void check(int rc, const char *what)
{
    if (rc != 0 && rc != MDB_NOTFOUND)
        job_fail(what, mdb_strerror(rc));
}

static void store_open(const struct job_options *o, int create)
{
    MDB_txn *t;
    size_t size = (size_t)1 << 30;
    if (o->n > 2000000)
        size = o->n * 512;
    check(mdb_env_create(&env), "env_create");
    check(mdb_env_set_mapsize(env, size), "set_mapsize");
    check(mdb_env_set_maxdbs(env, 2), "set_maxdbs");
    check(mdb_env_set_maxreaders(env, 300), "set_maxreaders");
    check(mdb_env_open(env, o->folder, o->tuned ? MDB_NOSYNC | MDB_WRITEMAP : 0, 0600), "env_open");
    unsigned flags = MDB_INTEGERKEY | (create ? MDB_CREATE : 0);
    check(mdb_txn_begin(env, NULL, 0, &t), "txn_begin");
    check(mdb_dbi_open(t, "steps", flags, &steps), "dbi_open");
    check(mdb_dbi_open(t, "rest", flags, &rest), "dbi_open");
    check(mdb_txn_commit(t), "commit");
    check(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader), "txn_begin");
    mdb_txn_reset(reader);
}

static void store_close(void)
{
    mdb_txn_abort(reader);
    mdb_env_close(env);
}

static uint64_t get_in(MDB_txn *t, MDB_dbi dbi, uint64_t key)
{
    MDB_val k = {sizeof key, &key}, v;
    int rc = mdb_get(t, dbi, &k, &v);
    check(rc, "get");
    return rc != 0 ? 0 : *(const uint64_t *)v.mv_data;
}

static void put_in(MDB_txn *t, MDB_dbi dbi, uint64_t key, uint64_t value)
{
    MDB_val k = {sizeof key, &key}, v = {sizeof value, &value};
    check(mdb_put(t, dbi, &k, &v, 0), "put");
}

enum { LONGEST, HIGHEST, BLOCKS }; /* keys of `rest`; BLOCKS + i: block i is taken */

static int take(unsigned block)
{
    MDB_txn *t;
    check(mdb_txn_begin(env, NULL, 0, &t), "txn_begin");
    int mine = get_in(t, rest, BLOCKS + block) == 0;
    put_in(t, rest, BLOCKS + block, 1);
    check(mdb_txn_commit(t), "commit");
    return mine;
}

static void begin(void)
{
    check(mdb_txn_renew(reader), "renew");
}

static void nothing(void)
{
    mdb_txn_reset(reader);
}

static unsigned get(uint64_t n)
{
    return (unsigned)get_in(reader, steps, n);
}

static void raise_to(MDB_txn *t, uint64_t key, uint64_t value)
{
    job_reads++;
    if (value > get_in(t, rest, key)) {
        put_in(t, rest, key, value);
        job_updates++;
    }
}

static void keep(const struct job_found *f)
{
    MDB_txn *t;
    mdb_txn_reset(reader);
    check(mdb_txn_begin(env, NULL, 0, &t), "txn_begin");
    raise_to(t, LONGEST, f->total);
    raise_to(t, HIGHEST, f->highest);
    for (unsigned i = 0; i < f->count; i++)
        put_in(t, steps, f->path[i], f->total - i);
    job_updates += f->count;
    check(mdb_txn_commit(t), "commit");
}

static void maxima(uint64_t *longest, uint64_t *highest)
{
    begin();
    *longest = get_in(reader, rest, LONGEST);
    *highest = get_in(reader, rest, HIGHEST);
    nothing();
}

#define TEXT(x)    #x
#define VERSION(x) TEXT(x)

const struct job_store job_store = {
    .version = VERSION(MDB_VERSION_MAJOR) "." VERSION(MDB_VERSION_MINOR) "." VERSION(MDB_VERSION_PATCH),
    .open = store_open,
    .close = store_close,
    .take = take,
    .begin = begin,
    .get = get,
    .keep = keep,
    .nothing = nothing,
    .maxima = maxima};
