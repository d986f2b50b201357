/* LMDB with NOSYNC and WRITEMAP, integer keys, a transaction each. */
#include "store.h"

#include <lmdb.h>
#include <stdio.h>

static MDB_env *env;
static MDB_dbi dbi;

static void ok(int rc, const char *what)
{
    if (rc != 0)
        die(what, mdb_strerror(rc));
}

static MDB_txn *txn_of(unsigned flags)
{
    MDB_txn *txn = NULL;

    ok(mdb_txn_begin(env, NULL, flags, &txn), "begin");
    return txn;
}

static void begin(const char *folder, uint64_t bytes)
{
    ok(mdb_env_create(&env), "create");
    ok(mdb_env_set_mapsize(env, (size_t)bytes * 3 + ((size_t)1 << 30)), "size");
    ok(mdb_env_open(env, folder, MDB_NOSYNC | MDB_WRITEMAP, 0600), "open");
    MDB_txn *txn = txn_of(0);
    ok(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi), "open");
    ok(mdb_txn_commit(txn), "open");
}

static void put(uint32_t k, const void *val, size_t len)
{
    MDB_val key = {sizeof k, &k}, v = {len, (void *)(uintptr_t)val};
    MDB_txn *txn = txn_of(0);

    ok(mdb_put(txn, dbi, &key, &v, 0), "put");
    ok(mdb_txn_commit(txn), "commit");
}

static size_t look(uint32_t k)
{
    MDB_val key = {sizeof k, &k}, v;
    MDB_txn *txn = txn_of(MDB_RDONLY);

    ok(mdb_get(txn, dbi, &key, &v), "get");
    size_t len = v.mv_size;
    mdb_txn_abort(txn);
    return len;
}

static void drop(uint32_t k)
{
    MDB_val key = {sizeof k, &k};
    MDB_txn *txn = txn_of(0);

    ok(mdb_del(txn, dbi, &key, NULL), "del");
    ok(mdb_txn_commit(txn), "commit");
}

static uint64_t walk(void)
{
    MDB_txn *txn = txn_of(MDB_RDONLY);
    MDB_cursor *c;
    MDB_val key, v;
    uint64_t n = 0, sum = 0;

    ok(mdb_cursor_open(txn, dbi, &c), "cursor");
    while (mdb_cursor_get(c, &key, &v, MDB_NEXT) == 0) {
        sum += ((const unsigned char *)v.mv_data)[v.mv_size - 1];
        n++;
    }
    mdb_cursor_close(c);
    mdb_txn_abort(txn);
    return sum != 0 ? n : 0;
}

static void end(void)
{
    mdb_env_close(env);
}

static void backup(const char *to)
{
    ok(mdb_env_copy(env, to), "copy");
}

/* The file is replaced by a compact copy. */
static void compact(const char *folder, uint64_t bytes)
{
    const char *copy = in_folder(folder, "compact.mdb");
    FILE *f = fopen(copy, "w");

    (void)bytes;
    ok(mdb_env_create(&env), "create");
    ok(mdb_env_open(env, folder, MDB_RDONLY, 0600), "open");
    ok(f == NULL || mdb_env_copyfd2(env, fileno(f), MDB_CP_COMPACT) != 0 || fclose(f) != 0, "copy");
    mdb_env_close(env);
    ok(rename(copy, in_folder(folder, "data.mdb")), "rename");
}

const struct store growth_lmdb = {
    .name = "lmdb",
    .open = begin,
    .set = put,
    .get = look,
    .remove = drop,
    .scan = walk,
    .close = end,
    .backup = backup,
    .compact = compact,
};
