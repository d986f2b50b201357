/* RocksDB with its log, not synced, bloom filters, a cache of 4 GiB, no compression, big-endian keys, a write each. */
#include "store.h"

#include <rocksdb/c.h>

static rocksdb_t *db;
static rocksdb_options_t *options;
static rocksdb_writeoptions_t *writing;
static rocksdb_readoptions_t *reading;
static char *error;

static void ok(const char *what)
{
    if (error != NULL)
        die(what, error);
}

struct key {
    char bytes[4];
};

static struct key key_of(uint32_t k)
{
    return (struct key){{(char)(k >> 24), (char)(k >> 16), (char)(k >> 8), (char)k}};
}

static rocksdb_options_t *options_of(void)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();

    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru((size_t)4 << 30));
    rocksdb_options_set_block_based_table_factory(o, table);
    rocksdb_block_based_options_destroy(table);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_compression(o, rocksdb_no_compression);
    rocksdb_options_increase_parallelism(o, 2);
    return o;
}

static void begin(const char *folder, uint64_t bytes)
{
    (void)bytes;
    options = options_of();
    writing = rocksdb_writeoptions_create();
    reading = rocksdb_readoptions_create();
    db = rocksdb_open(options, folder, &error);
    ok("open");
}

static void put(uint32_t k, const void *val, size_t len)
{
    struct key key = key_of(k);

    rocksdb_put(db, writing, key.bytes, sizeof key, val, len, &error);
    ok("put");
}

static size_t look(uint32_t k)
{
    struct key key = key_of(k);
    size_t len = 0;

    rocksdb_pinnableslice_t *v = rocksdb_get_pinned(db, reading, key.bytes, sizeof key, &error);
    ok("get");
    if (v != NULL)
        rocksdb_pinnableslice_value(v, &len);
    rocksdb_pinnableslice_destroy(v);
    return len;
}

static void drop(uint32_t k)
{
    struct key key = key_of(k);

    rocksdb_delete(db, writing, key.bytes, sizeof key, &error);
    ok("delete");
}

static uint64_t walk(void)
{
    rocksdb_iterator_t *i = rocksdb_create_iterator(db, reading);
    uint64_t n = 0, sum = 0;
    size_t len;

    for (rocksdb_iter_seek_to_first(i); rocksdb_iter_valid(i); rocksdb_iter_next(i), n++) {
        const char *v = rocksdb_iter_value(i, &len);
        sum += (unsigned char)v[len - 1];
    }
    rocksdb_iter_destroy(i);
    return sum != 0 ? n : 0;
}

static void end(void)
{
    rocksdb_close(db);
    rocksdb_writeoptions_destroy(writing);
    rocksdb_readoptions_destroy(reading);
    rocksdb_options_destroy(options);
}

static void compact(const char *folder, uint64_t bytes)
{
    begin(folder, bytes);
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
    end();
}

const struct store growth_rocksdb = {
    .name = "rocksdb",
    .open = begin,
    .set = put,
    .get = look,
    .remove = drop,
    .scan = walk,
    .close = end,
    .compact = compact,
};
