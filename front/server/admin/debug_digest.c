/*
 * debug_digest.c - DEBUG DIGEST, DIGEST-VALUE and OBJECT.
 *
 * Values that have the same content have the same digest, whatever order their fields came in; it is not the one that
 * Redis has.  Of a stream the header is looked at: its last id, the number of entries, and what describes its blocks.
 */
#include "server/admin/debug.h"

#include <stdio.h>

#include "server/codec/digest.h"
#include "server/data/list.h"
#include "server/keys/pick.h"

struct digest {
    uint8_t bytes[CARET_CODEC__SHA1_LEN];
};

static void add_text(struct caret_codec__sha1 *sha, const void *data, size_t len)
{
    uint64_t n = len;
    caret_codec__sha1_add(sha, &n, sizeof n);
    if (len > 0)
        caret_codec__sha1_add(sha, data, len);
}

static struct digest pair(caret_slice name, caret_slice value)
{
    struct caret_codec__sha1 sha;
    struct digest d;
    caret_codec__sha1_init(&sha);
    add_text(&sha, name.data, name.len);
    add_text(&sha, value.data, value.len);
    caret_codec__sha1_end(&sha, d.bytes);
    return d;
}

static void mix(struct digest *to, struct digest d)
{
    for (size_t i = 0; i < sizeof d.bytes; i++)
        to->bytes[i] ^= d.bytes[i];
}

static int add_field(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    (void)q;
    mix(arg, pair(name, value));
    return CARET_OK;
}

static int chain_element(struct serve__call *q, void *arg, caret_slice value)
{
    struct digest *d = arg;
    (void)q;
    *d = pair((caret_slice){(char *)d->bytes, sizeof d->bytes}, value);
    return CARET_OK;
}

/* Of the value of a key; all zeros if there is none. */
static int of_value(struct serve__call *q, caret_slice name, struct digest *d)
{
    struct serve__key k;
    *d = (struct digest){{0}};
    int rc = serve__key_open(q, &k, name, SERVE__ANY);
    if (rc == CARET_NONE)
        return CARET_OK;
    if (rc == CARET_OK && k.type == SERVE__LIST)
        return serve__list_each(q, name, chain_element, d);
    if (rc == CARET_OK && k.type != SERVE__STRING && k.type != SERVE__STREAM)
        return serve__pick_all(q, &k, add_field, d);
    caret_slice value = k.type == SERVE__STRING ? k.value : (caret_slice){(char *)k.state, k.state_len};
    if (rc == CARET_OK)
        mix(d, pair((caret_slice){k.type == SERVE__STRING ? "s" : "x", 1}, value));
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
    struct digest d;
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++) {
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
    int rc;
    q->db = db;
    serve__keys_begin(q, &i, db);
    while ((rc = serve__keys_next(q, &i, &k)) == CARET_OK) {
        struct digest d;
        char about[2] = {(char)db, k.expiry != 0};
        caret_slice name = k.name;
        if ((rc = caret_keep(q->s, &name)) != CARET_OK || (rc = of_value(q, name, &d)) != CARET_OK)
            return rc;
        d = pair((caret_slice){about, sizeof about}, (caret_slice){(char *)d.bytes, sizeof d.bytes});
        mix(all, pair(name, (caret_slice){(char *)d.bytes, sizeof d.bytes}));
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
