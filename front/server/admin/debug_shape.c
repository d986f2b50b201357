/*
 * debug_shape.c - subcommands of DEBUG that tell how Redis keeps a key.  Nothing is kept so here: they look at the
 * arguments and at what OBJECT ENCODING says, as Redis does, and tell of numbers what is known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/debug.h"
#include "server/keys/key.h"
#include "server/worker.h"

/* Of argument 2: its encoding is among these words. */
static int open_encoded(struct serve__call *q, struct serve__key *k, const char *encodings, const char *error)
{
    int rc = serve__key_open(q, k, q->argv[2], SERVE__ANY);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? SERVE__E_NOKEY : rc;
    return strstr(encodings, serve__key_encoding(k)) == NULL ? serve__fail(q, "ERR %s", error) : CARET_OK;
}

int serve__debug_listpack(struct serve__call *q)
{
    struct serve__key k;
    int rc = open_encoded(q, &k, "listpack", "Not a listpack encoded object.");
    return rc == CARET_OK ? serve__status(q, "Listpack structure printed on stdout") : rc;
}

int serve__debug_quicklist(struct serve__call *q)
{
    struct serve__key k;
    int rc = open_encoded(q, &k, "quicklist", "Not a quicklist encoded object.");
    return rc == CARET_OK ? serve__status(q, "Quicklist structure printed on stdout") : rc;
}

int serve__debug_sdslen(struct serve__call *q)
{
    struct serve__key k;
    char text[200];
    int rc = open_encoded(q, &k, "raw embstr", "Not an sds encoded string.");
    if (rc != CARET_OK)
        return rc;
    size_t key = q->argv[2].len, value = k.value.len;
    snprintf(text, sizeof text,
             "key_sds_len:%zu, key_sds_avail:0, key_zmalloc: %zu, val_sds_len:%zu, val_sds_avail:0, "
             "val_zmalloc: %zu",
             key, key, value, value);
    return serve__status(q, text);
}

int serve__debug_structsize(struct serve__call *q)
{
    return serve__status(q,
                         "bits:64 robj:0 dictentry:0 sdshdr5:0 sdshdr8:0 sdshdr16:0 sdshdr32:0 sdshdr64:0 ");
}

/* A table of Redis with so many elements. */
static size_t add_table(char *to, size_t size, uint64_t n)
{
    static const char head[] = "Hash table 0 stats (main hash table):\n";
    if (n == 0)
        return (size_t)snprintf(to, size, "%sNo stats available for empty dictionaries\n", head);
    return (size_t)snprintf(to, size, "%s number of elements: %" PRIu64 "\n", head, n);
}

int serve__debug_htstats(struct serve__call *q)
{
    struct serve__keys_count n;
    int64_t db;
    char text[400];
    if (serve__arg_integer(q, 2, &db) != CARET_OK)
        return SERVE__E_INTEGER;
    if (db < 0 || db >= q->w->config.n[SERVE__CFG_databases])
        return serve__fail(q, "ERR Out of range database");
    int rc = serve__count_keys(q, (unsigned)db, &n);
    if (rc != CARET_OK)
        return rc;
    size_t len = (size_t)snprintf(text, sizeof text, "[Dictionary HT]\n");
    len += add_table(text + len, sizeof text - len, n.all);
    len += (size_t)snprintf(text + len, sizeof text - len, "[Expires HT]\n");
    len += add_table(text + len, sizeof text - len, n.expire);
    return serve__verbatim(q, "txt", text, len);
}

int serve__debug_htstats_key(struct serve__call *q)
{
    struct serve__key k;
    char text[200];
    int rc = open_encoded(q, &k, "hashtable skiplist",
                          "The value stored at the specified key is not represented using an hash table");
    if (rc != CARET_OK)
        return rc;
    return serve__verbatim(q, "txt", text, add_table(text, sizeof text, k.count));
}
