/*
 * restore.c - a payload becomes a stream: payload.h.
 *
 * A payload is not trusted.  Ids have to ascend, and counts to fit what is there; a pending entry has one consumer.
 * What is damaged fails the command, so that nothing of it stays.
 */
#include "server/codec/number.h"
#include "server/data/text.h"
#include "server/stream/block.h"
#include "server/stream/group.h"
#include "server/stream/payload.h"

enum { DELETED = 1, SAME = 2 };

static struct serve__id id_of(const uint8_t bytes[16])
{
    struct serve__id id = {0, 0};
    for (int i = 0; i < 8; i++) {
        id.ms = id.ms << 8 | bytes[i];
        id.seq = id.seq << 8 | bytes[8 + i];
    }
    return id;
}

static struct serve__id get_id(struct caret_codec__reader *r)
{
    const uint8_t *at = caret_codec__get_raw(r, 16);
    return r->bad ? SERVE__ID_MIN : id_of(at);
}

static struct serve__id get_two_lengths(struct caret_codec__reader *r)
{
    uint64_t ms = caret_codec__rdb_get_length(r);
    return (struct serve__id){ms, caret_codec__rdb_get_length(r)};
}

static uint64_t get_fixed(struct caret_codec__reader *r)
{
    const uint8_t *at = caret_codec__get_raw(r, 8);
    return r->bad ? 0 : serve__load(at, 8);
}

/* --------------------------------------------------------------- elements */

/* The next element is a text; false: there is none. */
static bool get_element(struct caret_codec__reader *r, struct caret_codec__rdb_text *t)
{
    bool there = caret_codec__listpack_next(r, t);
    r->bad |= !there;
    return there;
}

/* It is an integer. */
static int64_t get_integer(struct caret_codec__reader *r)
{
    struct caret_codec__rdb_text t;
    int64_t n = 0;
    if (get_element(r, &t) &&
        !caret_codec__parse_i64(t.is_digits ? t.digits : (const char *)t.bytes, t.len, &n))
        r->bad = true;
    return n;
}

static caret_slice element_slice(const struct caret_codec__rdb_text *t)
{
    return (caret_slice){t->is_digits ? t->digits : (const char *)t->bytes, t->len};
}

/* Add an element to a packed entry. */
static void pack_element(struct serve__buffer *b, struct caret_codec__reader *r)
{
    struct caret_codec__rdb_text t;
    if (!get_element(r, &t) || !serve__buffer_room(b, t.len + 10))
        return;
    struct caret_codec__writer w = {(uint8_t *)b->data + b->len, b->cap - b->len, 0};
    caret_slice text = element_slice(&t);
    caret_codec__put_text(&w, text.data, text.len);
    b->len += w.len;
}

static void pack_count(struct serve__buffer *b, uint64_t n)
{
    b->len = 0;
    if (!serve__buffer_room(b, 10))
        return;
    struct caret_codec__writer w = {(uint8_t *)b->data, b->cap, 0};
    caret_codec__put_u64(&w, n);
    b->len = w.len;
}

/* ---------------------------------------------------------------- entries */

/* A block that is read. */
struct reading {
    struct caret_codec__reader r, fields; /* after what was read; before its fields */
    uint64_t n_fields;
    struct serve__open_block block;
    uint32_t live, deleted; /* what was found of each */
};

/* The next entry into the runner's scratch buffer.  *flags, *id: its own. */
static void get_entry(struct serve__buffer *b, struct reading *m, int64_t *flags, struct serve__id *id)
{
    struct caret_codec__reader *r = &m->r, fields = m->fields;
    *flags = get_integer(r);
    id->ms = m->block.first.ms + (uint64_t)get_integer(r);
    id->seq = m->block.first.seq + (uint64_t)get_integer(r);
    bool same = (*flags & SAME) != 0;
    uint64_t n = same ? m->n_fields : (uint64_t)get_integer(r);
    pack_count(b, n);
    for (uint64_t i = 0; i < n && !r->bad && !fields.bad && !b->failed; i++) {
        pack_element(b, same ? &fields : r);
        pack_element(b, r);
    }
    r->bad |= fields.bad;
    if ((uint64_t)get_integer(r) != (same ? 3 + n : 4 + 2 * n))
        r->bad = true;
}

static int put_entry(struct serve__call *q, struct serve__stream *x, struct serve__id id)
{
    const struct serve__buffer *b = &q->r->scratch;
    caret_node_buf n;
    if (serve__id_compare(id, x->last) <= 0)
        return serve__bad_payload(q);
    x->last = id;
    x->k.count++;
    int rc = b->failed ? CARET_E_NOMEM : serve__id_node(&n, &x->k.node.node, id);
    return rc == CARET_OK ? caret_set(q->s, &n.node, b->data, b->len) : rc;
}

/* Is that all of the listpack? */
static bool is_over(struct reading *m)
{
    struct caret_codec__reader r = m->r;
    struct caret_codec__rdb_text t;
    if (caret_codec__listpack_next(&r, &t))
        return false;
    m->r = r;
    return true;
}

static int put_entries(struct serve__call *q, struct serve__stream *x, struct reading *m)
{
    struct serve__id id;
    int64_t flags;
    int rc = CARET_OK;
    while (rc == CARET_OK && !is_over(m)) {
        get_entry(&q->r->scratch, m, &flags, &id);
        if (m->r.bad)
            return serve__bad_payload(q);
        bool deleted = (flags & DELETED) != 0;
        *(deleted ? &m->deleted : &m->live) += 1;
        if (!deleted)
            rc = put_entry(q, x, id);
    }
    return rc == CARET_OK && m->r.bad ? serve__bad_payload(q) : rc;
}

/* ----------------------------------------------------------------- blocks */

/* What a block begins with: counts and fields. */
static void get_head(struct reading *m, size_t len)
{
    uint8_t room[CARET_CODEC__LISTPACK_ROOM];
    int64_t live = get_integer(&m->r), deleted = get_integer(&m->r), n = get_integer(&m->r);
    if (live < 0 || deleted < 0 || live > INT32_MAX || deleted > INT32_MAX || n < 0 || len > UINT32_MAX)
        m->r.bad = true;
    m->fields = m->r;
    m->n_fields = m->r.bad ? 0 : (uint64_t)n;
    uint64_t hash = serve__block_hash(m->n_fields);
    struct caret_codec__rdb_text t;
    for (uint64_t i = 0; i < m->n_fields && get_element(&m->r, &t); i++)
        hash = serve__block_mix(hash, element_slice(&t));
    if (get_integer(&m->r) != 0 || m->r.bad) {
        m->r.bad = true;
        return;
    }
    m->block.live = (uint32_t)live;
    m->block.added = (uint32_t)(live + deleted);
    m->block.bytes = (uint32_t)(len - caret_codec__listpack_integer(room, live) -
                                caret_codec__listpack_integer(room, deleted));
    m->block.fields = hash;
}

/* The listpack of a block that begins with this id; one without entries is none. */
static int put_block(struct serve__call *q, struct serve__stream *x, struct serve__id first,
                     caret_slice bytes)
{
    struct reading m = {.block = {.first = first}};
    caret_codec__listpack_begin(&m.r, (const uint8_t *)bytes.data, bytes.len);
    if (!m.r.bad)
        get_head(&m, bytes.len);
    if (m.r.bad || (x->k.count > 0 && serve__id_compare(first, x->last) <= 0))
        return serve__bad_payload(q);
    if (!serve__id_is_zero(first)) { /* entries have to follow it */
        x->last = first;
        serve__id_before(&x->last);
    }
    int rc = put_entries(q, x, &m);
    if (rc != CARET_OK)
        return rc;
    if (m.live != m.block.live || m.live + m.deleted != m.block.added)
        return serve__bad_payload(q);
    return m.live > 0 ? serve__block_begin(q, x, &m.block) : CARET_OK;
}

static int put_blocks(struct serve__call *q, struct caret_codec__reader *r, struct serve__stream *x)
{
    struct serve__text first, pack;
    int rc = CARET_OK;
    uint64_t n = caret_codec__rdb_get_length(r);
    for (; rc == CARET_OK && !r->bad && n > 0; n--) {
        q->r->work.len = 0;
        if ((rc = serve__text_read(q, r, &first)) != CARET_OK)
            return rc;
        if (first.t.len != 16)
            return serve__bad_payload(q);
        struct serve__id id = id_of((const uint8_t *)serve__text_slice(q, &first).data);
        if ((rc = serve__text_read(q, r, &pack)) == CARET_OK)
            rc = put_block(q, x, id, serve__text_slice(q, &pack));
    }
    return rc == CARET_OK && r->bad ? serve__bad_payload(q) : rc;
}

/* The counts after the blocks. */
static int get_counts(struct serve__call *q, struct caret_codec__reader *r, struct serve__stream *x, bool old)
{
    uint64_t count = caret_codec__rdb_get_length(r);
    struct serve__id last = get_two_lengths(r);
    x->added = count;
    if (!old) {
        (void)get_two_lengths(r); /* the first id: it is looked for */
        x->deleted = get_two_lengths(r);
        x->added = caret_codec__rdb_get_length(r);
    }
    if (r->bad || count != x->k.count || (count > 0 && serve__id_compare(last, x->last) < 0))
        return serve__bad_payload(q);
    x->last = last;
    return CARET_OK;
}

/* ----------------------------------------------------------------- groups */

/* What is pending of a group; it is nobody's yet.  *n: how many. */
static int put_pending(struct serve__call *q, struct caret_codec__reader *r, const struct serve__group *g,
                       uint64_t *n)
{
    struct serve__id before = SERVE__ID_MIN;
    struct serve__pending p;
    caret_node_buf base;
    int rc = serve__pending_base(g, &base);
    *n = caret_codec__rdb_get_length(r);
    for (uint64_t i = 0; rc == CARET_OK && i < *n; i++) {
        p = (struct serve__pending){.id = get_id(r)};
        p.when = (int64_t)get_fixed(r);
        p.times = caret_codec__rdb_get_length(r);
        if (r->bad || (i > 0 && serve__id_compare(p.id, before) <= 0))
            return serve__bad_payload(q);
        before = p.id;
        rc = serve__id_node(&p.node, &base.node, p.id);
        if (rc == CARET_OK)
            rc = serve__pending_save(q, &p);
    }
    return rc == CARET_OK && r->bad ? serve__bad_payload(q) : rc;
}

/* Give a consumer what is pending of it.  *left: those that are nobody's. */
static int give_pending(struct serve__call *q, struct caret_codec__reader *r, const struct serve__group *g,
                        const struct serve__consumer *c, uint64_t *left)
{
    struct serve__pending p;
    int rc = CARET_OK;
    uint64_t n = caret_codec__rdb_get_length(r);
    if (r->bad || n > *left)
        return serve__bad_payload(q);
    for (*left -= n; rc == CARET_OK && n > 0; n--) {
        struct serve__id id = get_id(r);
        rc = r->bad ? CARET_NONE : serve__pending_open(q, g, &p, id);
        if (rc == CARET_NONE || (rc == CARET_OK && p.consumer != 0))
            return serve__bad_payload(q);
        if (rc == CARET_OK)
            rc = serve__pending_move(q, g, &p, c);
        if (rc == CARET_OK)
            rc = serve__pending_save(q, &p);
    }
    return rc;
}

/* A consumer of the group with this name. */
static int put_consumer(struct serve__call *q, struct caret_codec__reader *r, struct serve__group *g,
                        const struct serve__text *group, uint64_t *left)
{
    struct serve__text text;
    struct serve__consumer c;
    int rc = serve__text_read(q, r, &text);
    int64_t seen = (int64_t)get_fixed(r);
    if (rc != CARET_OK || r->bad)
        return rc == CARET_OK ? serve__bad_payload(q) : rc;
    g->name = serve__text_slice(q, group); /* it may have moved */
    caret_slice name = serve__text_slice(q, &text);
    if ((rc = serve__consumer_open(q, g, &c, name)) == CARET_OK)
        return serve__bad_payload(q);
    if (rc == CARET_NONE)
        rc = serve__consumer_new(q, g, &c, name, seen);
    return rc == CARET_OK ? give_pending(q, r, g, &c, left) : rc;
}

/* Last id and what was read of a group, which is not there yet. */
static int put_group(struct serve__call *q, struct caret_codec__reader *r, struct serve__stream *x,
                     struct serve__group *g, caret_slice name, bool old)
{
    int rc = serve__group_open(q, x, g, name);
    if (rc == CARET_OK)
        return serve__bad_payload(q);
    if (rc != CARET_NONE)
        return rc;
    g->last = get_two_lengths(r);
    g->read = old ? 0 : (int64_t)caret_codec__rdb_get_length(r);
    if (r->bad || g->read < -1)
        return serve__bad_payload(q);
    rc = old ? serve__stream_rank(q, x, g->last, &g->read) : CARET_OK;
    return rc == CARET_OK ? serve__group_make(q, x, g, name) : rc;
}

static int restore_group(struct serve__call *q, struct caret_codec__reader *r, struct serve__stream *x,
                         bool old)
{
    struct serve__text name;
    struct serve__group g;
    uint64_t left = 0;
    q->r->work.len = 0;
    int rc = serve__text_read(q, r, &name);
    size_t mark = q->r->work.len;
    if (rc == CARET_OK)
        rc = put_group(q, r, x, &g, serve__text_slice(q, &name), old);
    if (rc == CARET_OK)
        rc = put_pending(q, r, &g, &left);
    uint64_t n = rc == CARET_OK ? caret_codec__rdb_get_length(r) : 0;
    for (; rc == CARET_OK && n > 0; n--) {
        q->r->work.len = mark;
        rc = put_consumer(q, r, &g, &name, &left);
    }
    return rc == CARET_OK && (r->bad || left > 0) ? serve__bad_payload(q) : rc;
}

int serve__stream_restore(struct serve__call *q, struct caret_codec__reader *r, struct serve__stream *x,
                          bool old)
{
    int rc = put_blocks(q, r, x);
    if (rc == CARET_OK)
        rc = get_counts(q, r, x, old);
    uint64_t n = rc == CARET_OK ? caret_codec__rdb_get_length(r) : 0;
    for (; rc == CARET_OK && n > 0; n--)
        rc = restore_group(q, r, x, old);
    if (rc != CARET_OK || r->bad)
        return rc == CARET_OK ? serve__bad_payload(q) : rc;
    return serve__stream_save(q, x);
}
