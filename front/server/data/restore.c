/*
 * restore.c - RESTORE: a payload of DUMP (codec/rdb.h), of ours or of Redis 7.0, becomes a key.
 *
 * A payload is not trusted: what is damaged, or has a member twice, is refused and nothing is changed.  Texts that
 * have to be unpacked are unpacked to q->r->work, so at most two are in use at a time, a container and an element, or a
 * field and its value.
 */
#include <math.h>
#include <stdio.h>

#include "server/codec/number.h"
#include "server/data/list.h"
#include "server/data/set.h"
#include "server/data/text.h"
#include "server/event.h"
#include "server/keys/access.h"
#include "server/stream/payload.h"
#include "server/worker.h"
#include "server/zset/zset.h"

/* --------------------------------------------------------------- elements */

/* Where elements come from: one after the other, or a listpack. */
struct source {
    struct caret_codec__reader *r;
    struct caret_codec__reader inner;
    bool listpack;
    uint64_t left; /* of those one after the other */
    size_t mark;   /* of q->r->work, where elements are unpacked */
};

static int begin(struct serve__call *q, struct source *s, struct caret_codec__reader *r, bool listpack)
{
    struct serve__text whole;
    *s = (struct source){.r = r, .listpack = listpack};
    q->r->work.len = 0;
    if (!listpack) {
        s->left = caret_codec__rdb_get_length(r);
        return r->bad ? serve__bad_payload(q) : CARET_OK;
    }
    int rc = serve__text_read(q, r, &whole);
    caret_slice bytes = serve__text_slice(q, &whole);
    s->mark = q->r->work.len;
    if (rc == CARET_OK)
        caret_codec__listpack_begin(&s->inner, (const uint8_t *)bytes.data, bytes.len);
    return rc == CARET_OK && s->inner.bad ? serve__bad_payload(q) : rc;
}

/* The next; CARET_NONE at the end.  `first` of what belongs together. */
static int next(struct serve__call *q, struct source *s, bool first, struct serve__text *x)
{
    if (!s->listpack) {
        if (first && s->left == 0)
            return CARET_NONE;
        s->left -= first;
        if (first)
            q->r->work.len = s->mark;
        return serve__text_read(q, s->r, x);
    }
    bool more = caret_codec__listpack_next(&s->inner, &x->t);
    return more ? CARET_OK : s->inner.bad || !first ? serve__bad_payload(q) : CARET_NONE;
}

/* ------------------------------------------------------------------ types */

static int restore_string(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k)
{
    struct serve__text x;
    q->r->work.len = 0;
    int rc = serve__text_read(q, r, &x);
    caret_slice value = serve__text_slice(q, &x);
    return rc == CARET_OK ? serve__key_set_string(q, k, value.data, value.len, k->expiry) : rc;
}

static int restore_set(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k)
{
    struct source s;
    struct serve__text x;
    bool fresh = true;
    int rc = begin(q, &s, r, false);
    while (rc == CARET_OK && fresh && (rc = next(q, &s, true, &x)) == CARET_OK)
        rc = serve__set_put(q, k, serve__text_slice(q, &x), &fresh);
    return rc == CARET_NONE ? CARET_OK : rc == CARET_OK ? serve__bad_payload(q) : rc;
}

static int restore_integers(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k)
{
    struct serve__text whole;
    uint64_t n;
    bool fresh = true;
    q->r->work.len = 0;
    int rc = serve__text_read(q, r, &whole);
    caret_slice bytes = serve__text_slice(q, &whole);
    const uint8_t *at = (const uint8_t *)bytes.data;
    if (rc == CARET_OK && !caret_codec__intset_count(at, bytes.len, &n))
        return serve__bad_payload(q);
    for (uint64_t i = 0; rc == CARET_OK && fresh && i < n; i++) {
        char digits[24];
        int len = snprintf(digits, sizeof digits, "%lld", (long long)caret_codec__intset_at(at, i));
        rc = serve__set_put(q, k, (caret_slice){digits, (size_t)len}, &fresh);
    }
    return rc == CARET_OK && !fresh ? serve__bad_payload(q) : rc;
}

static int restore_hash(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k,
                        bool listpack)
{
    const int64_t *most = q->w->config.n;
    struct source s;
    struct serve__text name, value;
    bool fresh = true;
    int rc = begin(q, &s, r, listpack);
    while (rc == CARET_OK && fresh && (rc = next(q, &s, true, &name)) == CARET_OK) {
        if ((rc = next(q, &s, false, &value)) != CARET_OK)
            return rc;
        caret_slice n = serve__text_slice(q, &name), v = serve__text_slice(q, &value);
        rc = serve__field_put(q, k, n, v.data, v.len, &fresh);
        if (n.len > (uint64_t)most[SERVE__CFG_hash_max_listpack_value] ||
            v.len > (uint64_t)most[SERVE__CFG_hash_max_listpack_value] ||
            k->count > (uint64_t)most[SERVE__CFG_hash_max_listpack_entries])
            k->flags |= SERVE__HEAD_LARGE;
    }
    return rc == CARET_NONE ? CARET_OK : rc == CARET_OK ? serve__bad_payload(q) : rc;
}

/* The score of a member: a text of a listpack, a double, or a text of the old form. */
static int next_score(struct serve__call *q, struct source *s, bool old, double *score)
{
    struct serve__text x;
    if (!s->listpack) {
        *score = old ? caret_codec__rdb_get_score(s->r) : caret_codec__rdb_get_double(s->r);
        return s->r->bad || isnan(*score) ? serve__bad_payload(q) : CARET_OK;
    }
    int rc = next(q, s, false, &x);
    caret_slice text = serve__text_slice(q, &x);
    return rc == CARET_OK && !caret_codec__parse_double(text.data, text.len, score) ? serve__bad_payload(q)
                                                                                    : rc;
}

static int restore_zset(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k, int type)
{
    struct source s;
    struct serve__text x;
    struct serve__zmember m;
    double score;
    size_t longest = 0;
    int rc = begin(q, &s, r, type == CARET_CODEC__RDB_ZSET_LISTPACK);
    while (rc == CARET_OK && (rc = next(q, &s, true, &x)) == CARET_OK) {
        caret_slice name = serve__text_slice(q, &x);
        longest = name.len > longest ? name.len : longest;
        rc = next_score(q, &s, type == CARET_CODEC__RDB_ZSET_TEXT, &score);
        if (rc == CARET_OK)
            rc = serve__zmember_find(q, k, &m, name);
        if (rc == CARET_OK && m.there)
            return serve__bad_payload(q);
        if (rc == CARET_OK)
            rc = serve__zmember_put(q, k, &m, score);
    }
    serve__zset_grow(q, k, k->count, longest);
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int push_all(struct serve__call *q, struct source *s, struct serve__list *l)
{
    struct serve__text x;
    int rc;
    while ((rc = next(q, s, true, &x)) == CARET_OK)
        if ((rc = serve__list_push(q, l, SERVE__RIGHT, serve__text_slice(q, &x))) != CARET_OK)
            return rc;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* A list of nodes: each a listpack, or one long element. */
static int push_nodes(struct serve__call *q, struct caret_codec__reader *r, struct serve__list *l)
{
    enum { PLAIN = 1, PACKED = 2 };
    struct source s;
    struct serve__text x;
    int rc = CARET_OK;
    for (uint64_t n = caret_codec__rdb_get_length(r); rc == CARET_OK && !r->bad && n > 0; n--) {
        uint64_t kind = caret_codec__rdb_get_length(r);
        q->r->work.len = 0;
        if (kind == PACKED && (rc = begin(q, &s, r, true)) == CARET_OK)
            rc = push_all(q, &s, l);
        else if (kind == PLAIN && (rc = serve__text_read(q, r, &x)) == CARET_OK)
            rc = serve__list_push(q, l, SERVE__RIGHT, serve__text_slice(q, &x));
        else if (rc == CARET_OK)
            return serve__bad_payload(q);
    }
    return rc == CARET_OK && r->bad ? serve__bad_payload(q) : rc;
}

/* It has a struct of its own. */
static int restore_list(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k,
                        bool nodes)
{
    struct serve__list l;
    struct source s;
    int rc = serve__list_change(q, &l, k->name);
    if (rc == CARET_OK && nodes)
        rc = push_nodes(q, r, &l);
    else if (rc == CARET_OK && (rc = begin(q, &s, r, false)) == CARET_OK)
        rc = push_all(q, &s, &l);
    if (rc != CARET_OK || l.k.count == 0)
        return rc;
    rc = serve__list_save(q, &l);
    *k = l.k;
    return rc;
}

/* So has it; it may be empty. */
static int restore_stream(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k,
                          bool old)
{
    struct serve__stream x;
    int rc = serve__stream_change(q, &x, k->name);
    if (rc == CARET_OK)
        rc = serve__stream_restore(q, r, &x, old);
    *k = x.k;
    return rc;
}

/* What the payload holds becomes the key, which is not there. */
static int restore_value(struct serve__call *q, struct caret_codec__reader *r, struct serve__key *k)
{
    const uint8_t *type = caret_codec__get_raw(r, 1);
    switch (r->bad ? -1 : *type) {
    case CARET_CODEC__RDB_STRING: return restore_string(q, r, k);
    case CARET_CODEC__RDB_LIST: return restore_list(q, r, k, false);
    case CARET_CODEC__RDB_LIST_QUICKLIST: return restore_list(q, r, k, true);
    case CARET_CODEC__RDB_SET: k->type = SERVE__SETTYPE; return restore_set(q, r, k);
    case CARET_CODEC__RDB_SET_INTSET: k->type = SERVE__SETTYPE; return restore_integers(q, r, k);
    case CARET_CODEC__RDB_HASH: k->type = SERVE__HASH; return restore_hash(q, r, k, false);
    case CARET_CODEC__RDB_HASH_LISTPACK: k->type = SERVE__HASH; return restore_hash(q, r, k, true);
    case CARET_CODEC__RDB_ZSET:
    case CARET_CODEC__RDB_ZSET_TEXT:
    case CARET_CODEC__RDB_ZSET_LISTPACK: k->type = SERVE__ZSET; return restore_zset(q, r, k, *type);
    case CARET_CODEC__RDB_STREAM_OLD:
    case CARET_CODEC__RDB_STREAM: return restore_stream(q, r, k, *type == CARET_CODEC__RDB_STREAM_OLD);
    default: return serve__bad_payload(q);
    }
}

/* ---------------------------------------------------------------- command */

struct options {
    bool replace, absolute;
    int64_t ttl, idle, freq; /* -1: not said */
};

/* How long it was not used, or how often it was. */
static int read_use(struct serve__call *q, int i, bool idle, struct options *o)
{
    int64_t n = 0;
    int rc = serve__arg_integer(q, i, &n);
    if (rc == CARET_OK && idle && n < 0)
        return serve__fail(q, "ERR Invalid IDLETIME value, must be >= 0");
    if (rc == CARET_OK && !idle && (n < 0 || n > 255))
        return serve__fail(q, "ERR Invalid FREQ value, must be >= 0 and <= 255");
    *(idle ? &o->idle : &o->freq) = n;
    return rc;
}

static int read_options(struct serve__call *q, struct options *o)
{
    char given = 0; /* IDLETIME or FREQ, not both */
    *o = (struct options){.idle = -1, .freq = -1};
    for (int i = 4; i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        bool idle = serve__is(word, "idletime"), freq = serve__is(word, "freq");
        if (serve__is(word, "replace")) {
            o->replace = true;
        } else if (serve__is(word, "absttl")) {
            o->absolute = true;
        } else if ((idle || freq) && given != (idle ? 'f' : 'i') && i + 1 < q->argc) {
            given = idle ? 'i' : 'f';
            int rc = read_use(q, ++i, idle, o);
            if (rc != CARET_OK)
                return rc;
        } else {
            return SERVE__E_SYNTAX;
        }
    }
    return CARET_OK;
}

/* The time when the key ends, 0: never. true: that is over; so is one beyond all times, as in Redis. */
static bool end_time(const struct serve__call *q, struct options *o)
{
    if (o->ttl == 0)
        return false;
    if (!o->absolute)
        return __builtin_add_overflow(o->ttl, q->now, &o->ttl);
    return o->ttl <= q->now;
}

/* Make room for the key. *over: it would have ended already, and is not made. */
static int make_room(struct serve__call *q, struct serve__key *k, struct options *o, bool *over)
{
    *over = end_time(q, o);
    bool was = k->exists;
    caret_slice name = k->name;
    int rc = was ? serve__key_delete(q, k) : CARET_OK;
    if (rc == CARET_OK && was)
        rc = serve__key_change(q, k, name, SERVE__ANY);
    if (rc == CARET_OK && was && *over)
        serve__changed(q, SERVE__EVENT_GENERIC, "del", name);
    return rc;
}

/* Write the header, and the time when the key ends. */
static int finish(struct serve__call *q, struct serve__key *k, const struct options *o)
{
    bool stream = k->type == SERVE__STREAM, saved = stream || k->type == SERVE__LIST;
    if (k->type != SERVE__STRING && !stream && k->count == 0)
        return serve__bad_payload(q);
    int rc = k->type == SERVE__STRING || saved ? CARET_OK : serve__key_save(q, k);
    if (rc == CARET_OK && o->ttl != 0)
        rc = serve__key_expire(q, k, o->ttl);
    if (rc != CARET_OK)
        return rc;
    if (o->idle >= 0)
        serve__access_set_idle(q, k->name, o->idle);
    if (o->freq >= 0)
        serve__access_set_freq(q, k->name, o->freq);
    serve__changed(q, SERVE__EVENT_GENERIC, "restore", k->name);
    serve__ready(q, k->name);
    return serve__ok(q);
}

int serve__cmd_restore(struct serve__call *q)
{
    struct serve__key k;
    struct options o;
    struct caret_codec__reader r;
    bool over;
    const caret_slice *payload = &q->argv[3];
    int rc = read_options(q, &o);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__ANY);
    if (rc == CARET_OK && k.exists && !o.replace)
        return serve__fail(q, "BUSYKEY Target key name already exists.");
    if (rc == CARET_OK)
        rc = serve__arg_integer(q, 2, &o.ttl);
    if (rc == CARET_OK && o.ttl < 0)
        return serve__fail(q, "ERR Invalid TTL value, must be >= 0");
    if (rc == CARET_OK && !caret_codec__rdb_open((const uint8_t *)payload->data, payload->len, &r))
        return serve__fail(q, "ERR DUMP payload version or checksum are wrong");
    if (rc == CARET_OK)
        rc = make_room(q, &k, &o, &over);
    if (rc == CARET_OK && over)
        return serve__ok(q);
    if (rc == CARET_OK)
        rc = restore_value(q, &r, &k);
    return rc == CARET_OK ? finish(q, &k, &o) : rc;
}

int serve__cmd_restore_asking(struct serve__call *q)
{
    return serve__cmd_restore(q);
}
