/*
 * debug_digest.c - DEBUG DIGEST, DIGEST-VALUE and OBJECT.
 *
 * The digests are those of Redis, so that two servers can be compared.  A digest has 20 bytes, at first zeros, and
 * takes a text in one of two ways:
 *
 *     add     SHA-1 of the text, by exclusive or: in any order
 *     chain   add, and then it becomes the SHA-1 of itself: in this order
 *
 *     of a value     chain the number of its type, then
 *                      string    chain it
 *                      list      chain each element
 *                      set       add each member
 *                      hash      add the digest of each field: field and value chained
 *                      zset      the same of member and score
 *                      stream    of each entry chain the id, and its fields and values
 *                    and add "!!expire!!", if it expires
 *     of all         of each database that has keys: chain its number, and add the digest of each key: its name
 *                    chained, and then all of its value, as above
 */
#include "server/admin/debug.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/codec/digest.h"
#include "server/codec/pack.h"
#include "server/data/list.h"
#include "server/keys/pick.h"
#include "server/stream/stream.h"
#include "server/zset/zset.h"

struct digest {
    uint8_t bytes[CARET_CODEC__SHA1_LEN];
};

static void add(struct digest *d, const void *data, size_t len)
{
    struct digest one;
    caret_codec__sha1_of(data, len, one.bytes);
    for (size_t i = 0; i < sizeof one.bytes; i++)
        d->bytes[i] ^= one.bytes[i];
}

static void chain(struct digest *d, const void *data, size_t len)
{
    add(d, data, len);
    const struct digest was = *d;
    caret_codec__sha1_of(was.bytes, sizeof was.bytes, d->bytes);
}

static void chain_number(struct digest *d, uint32_t n)
{
    const uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    chain(d, bytes, sizeof bytes);
}

/* ----------------------------------------------------------------- values */

static int add_member(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    (void)q;
    (void)value;
    add(arg, name.data, name.len);
    return CARET_OK;
}

static int add_field(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    struct digest one = {{0}};
    (void)q;
    chain(&one, name.data, name.len);
    chain(&one, value.data, value.len);
    add(arg, one.bytes, sizeof one.bytes);
    return CARET_OK;
}

static int add_scored(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    char text[64];
    double score;
    if (!serve__zscore_read(value, &score))
        return CARET_E_CORRUPT;
    size_t len = (size_t)snprintf(text, sizeof text, "%.17g", score);
    return add_field(q, arg, name, (caret_slice){text, len});
}

static int chain_element(struct serve__call *q, void *arg, caret_slice value)
{
    (void)q;
    chain(arg, value.data, value.len);
    return CARET_OK;
}

static int chain_entry(struct digest *d, struct serve__id id, caret_slice value)
{
    char text[48];
    const uint8_t *bytes = (const uint8_t *)value.data;
    struct caret_codec__reader r = {bytes, bytes + value.len, false};
    uint64_t n = 2 * caret_codec__get_count(&r, 2);
    size_t len = (size_t)snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, id.ms, id.seq);
    chain(d, text, len);
    for (uint64_t i = 0; i < n && !r.bad; i++) {
        const uint8_t *one = caret_codec__get_text(&r, &len);
        chain(d, one, len);
    }
    return caret_codec__read_all(&r) ? CARET_OK : CARET_E_CORRUPT;
}

static int chain_stream(struct serve__call *q, struct serve__key *k, struct digest *d)
{
    struct serve__walk i;
    struct serve__id id;
    caret_slice value;
    int rc = serve__walk_begin(&i, &k->node.node, SERVE__ID_MIN, SERVE__ID_MAX, false);
    while (rc == CARET_OK && (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK)
        rc = chain_entry(d, id, value);
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int of_type(struct serve__call *q, struct serve__key *k, caret_slice name, struct digest *d)
{
    switch (k->type) {
    case SERVE__STRING:
        chain_number(d, 0);
        chain(d, k->value.data, k->value.len);
        return CARET_OK;
    case SERVE__LIST: chain_number(d, 1); return serve__list_each(q, name, chain_element, d);
    case SERVE__SETTYPE: chain_number(d, 2); return serve__pick_all(q, k, add_member, d);
    case SERVE__ZSET: chain_number(d, 3); return serve__pick_all(q, k, add_scored, d);
    case SERVE__HASH: chain_number(d, 4); return serve__pick_all(q, k, add_field, d);
    default: chain_number(d, 6); return chain_stream(q, k, d);
    }
}

/* Of the value of a key, if there is one, on top of what there is. */
static int of_value(struct serve__call *q, caret_slice name, struct digest *d)
{
    static const char expires[] = "!!expire!!";
    struct serve__key k;
    int rc = serve__key_open(q, &k, name, SERVE__ANY);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    rc = of_type(q, &k, name, d);
    if (rc == CARET_OK && k.expiry != 0)
        add(d, expires, sizeof expires - 1);
    return rc;
}

static int answer(struct serve__call *q, const struct digest *d)
{
    char hex[2 * CARET_CODEC__SHA1_LEN + 1];
    caret_codec__hex(d->bytes, sizeof d->bytes, hex);
    hex[sizeof hex - 1] = 0;
    return serve__status(q, hex);
}

int serve__debug_values(struct serve__call *q)
{
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++) {
        struct digest d = {{0}};
        int rc = of_value(q, q->argv[i], &d);
        if (rc != CARET_OK)
            return rc;
        answer(q, &d);
    }
    return CARET_OK;
}

static int of_database(struct serve__call *q, unsigned db, struct digest *all)
{
    struct serve__keys i;
    struct serve__key k;
    bool first = true;
    int rc;
    q->db = db;
    serve__keys_begin(q, &i, db);
    for (; (rc = serve__keys_next(q, &i, &k)) == CARET_OK; first = false) {
        struct digest d = {{0}};
        caret_slice name = k.name;
        if ((rc = caret_keep(q->s, &name)) != CARET_OK)
            return rc;
        chain(&d, name.data, name.len);
        if ((rc = of_value(q, name, &d)) != CARET_OK)
            return rc;
        if (first)
            chain_number(all, db);
        add(all, d.bytes, sizeof d.bytes);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int of_all(struct serve__call *q)
{
    struct digest all = {{0}};
    unsigned here = q->db;
    int rc = CARET_OK;
    for (unsigned db = 0; rc == CARET_OK && db < SERVE__DATABASES; db++)
        rc = of_database(q, db, &all);
    q->db = here;
    return rc == CARET_OK ? answer(q, &all) : rc;
}

/* In a transaction, of which the names are: DEBUG is run without one. */
int serve__debug_digest(struct serve__call *q)
{
    return serve__atomic(q, of_all);
}

int serve__debug_object(struct serve__call *q)
{
    struct serve__key k;
    char text[160];
    struct serve__call ever = *q;
    ever.now = 0; /* one that is due is told of too, until it is deleted */
    int rc = serve__key_open(&ever, &k, q->argv[2], SERVE__ANY);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? SERVE__E_NOKEY : rc;
    snprintf(text, sizeof text,
             "Value at:0x0 refcount:1 encoding:%s serializedlength:%zu lru:0 lru_seconds_idle:0",
             serve__key_encoding(&k), k.type == SERVE__STRING ? k.value.len : (size_t)k.count);
    return serve__status(q, text);
}
