/*
 * dump.c - a stream becomes a payload: payload.h.
 *
 * It is put together in q->r->work; the listpack of a block in q->r->scratch, from the fields on, as what comes before
 * them depends on what follows.
 */
#include "server/codec/number.h"
#include "server/data/text.h"
#include "server/stream/block.h"
#include "server/stream/group.h"
#include "server/stream/payload.h"

enum { SAME = 2, HEAD_ROOM = 3 * CARET_CODEC__LISTPACK_ROOM };

/* ---------------------------------------------------------------- numbers */

static void add_fixed(struct serve__buffer *b, uint64_t n)
{
    char bytes[8];
    serve__store(bytes, n, 8);
    serve__buffer_add(b, bytes, sizeof bytes);
}

static void add_id(struct serve__buffer *b, struct serve__id id)
{
    uint8_t bytes[16];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(id.ms >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(id.seq >> (56 - 8 * i));
    }
    serve__buffer_add(b, bytes, sizeof bytes);
}

static void add_two_lengths(struct serve__buffer *b, struct serve__id id)
{
    serve__add_length(b, id.ms);
    serve__add_length(b, id.seq);
}

/* --------------------------------------------------------------- elements */

static void add_integer(struct serve__buffer *b, uint64_t n)
{
    uint8_t bytes[CARET_CODEC__LISTPACK_ROOM];
    serve__buffer_add(b, bytes, caret_codec__listpack_integer(bytes, (int64_t)n));
}

static void add_element(struct serve__buffer *b, caret_slice text)
{
    uint8_t bytes[5];
    int64_t n;
    if (text.len <= 20 && caret_codec__parse_i64(text.data, text.len, &n)) {
        add_integer(b, (uint64_t)n);
        return;
    }
    size_t before = caret_codec__listpack_before(bytes, text.len);
    serve__buffer_add(b, bytes, before);
    serve__buffer_add(b, text.data, text.len);
    serve__buffer_add(b, bytes, caret_codec__listpack_after(bytes, before + text.len));
}

enum part { FIELDS = 1, VALUES = 2, BOTH = 3 };

/* Add elements of an entry's pairs.  *n: how many pairs it has. */
static int add_pairs(struct serve__buffer *b, caret_slice entry, enum part part, uint64_t *n)
{
    const uint8_t *bytes = (const uint8_t *)entry.data;
    struct caret_codec__reader r = {bytes, bytes + entry.len, false};
    *n = caret_codec__get_count(&r, 2);
    for (uint64_t i = 0; i < 2 * *n && !r.bad; i++) {
        size_t len;
        const uint8_t *text = caret_codec__get_text(&r, &len);
        if (!r.bad && (part & (i % 2 == 0 ? FIELDS : VALUES)) != 0)
            add_element(b, (caret_slice){(const char *)text, len});
    }
    return caret_codec__read_all(&r) ? CARET_OK : CARET_E_CORRUPT;
}

/* ----------------------------------------------------------------- blocks */

/* The listpack of a block, as far as it is made. */
struct making {
    struct serve__buffer *b;
    struct serve__id first;
    size_t fields_len;
    uint64_t n_fields, entries, elements;
};

/* The first entry gives the block its fields. */
static int add_fields(struct making *m, caret_slice entry)
{
    int rc = add_pairs(m->b, entry, FIELDS, &m->n_fields);
    m->fields_len = m->b->len;
    add_integer(m->b, 0);
    m->elements = 3 + m->n_fields + 1;
    return rc;
}

/* Has the entry the fields of the block? */
static int compare_fields(struct making *m, caret_slice entry, bool *same)
{
    struct serve__buffer *b = m->b;
    size_t at = b->len;
    uint64_t n;
    int rc = add_pairs(b, entry, FIELDS, &n);
    *same = b->len - at == m->fields_len && !b->failed && memcmp(b->data + at, b->data, m->fields_len) == 0;
    b->len = at;
    return rc;
}

static int add_entry(struct making *m, struct serve__id id, caret_slice entry)
{
    struct serve__buffer *b = m->b;
    uint64_t n;
    bool same;
    int rc = m->entries++ == 0 ? add_fields(m, entry) : CARET_OK;
    if (rc == CARET_OK)
        rc = compare_fields(m, entry, &same);
    if (rc != CARET_OK)
        return rc;
    add_integer(b, same ? SAME : 0);
    add_integer(b, id.ms - m->first.ms);
    add_integer(b, id.seq - m->first.seq);
    if (!same)
        add_integer(b, caret_codec__get_u64(&(struct caret_codec__reader){
                           (const uint8_t *)entry.data, (const uint8_t *)entry.data + entry.len, false}));
    rc = add_pairs(b, entry, same ? VALUES : BOTH, &n);
    uint64_t elements = same ? 3 + n : 4 + 2 * n;
    add_integer(b, elements);
    m->elements += elements + 1;
    return rc;
}

/* The block is done: add it to the payload. */
static void add_block(struct serve__call *q, const struct making *m)
{
    struct serve__buffer *to = &q->r->work;
    uint8_t head[CARET_CODEC__LISTPACK_HEAD], counts[HEAD_ROOM];
    size_t len = caret_codec__listpack_integer(counts, (int64_t)m->entries);
    len += caret_codec__listpack_integer(counts + len, 0);
    len += caret_codec__listpack_integer(counts + len, (int64_t)m->n_fields);
    size_t whole = sizeof head + len + m->b->len + 1;
    serve__add_length(to, 16);
    add_id(to, m->first);
    serve__add_length(to, whole);
    serve__buffer_add(to, head, caret_codec__listpack_head(head, whole, m->elements));
    serve__buffer_add(to, counts, len);
    serve__buffer_add(to, m->b->data, m->b->len);
    serve__buffer_add(to, "\xff", 1);
    to->failed |= m->b->failed;
}

/* The entries of a block, up to an id.  *n: blocks, one more if there are any. */
static int dump_block(struct serve__call *q, const struct serve__stream *x, struct serve__id first,
                      struct serve__id last, uint64_t *n)
{
    struct making m = {.b = &q->r->scratch, .first = first};
    struct serve__walk i;
    struct serve__id id;
    caret_slice entry;
    m.b->len = 0;
    int rc = serve__walk_begin(&i, &x->k.node.node, first, last, false);
    while (rc == CARET_OK && (rc = serve__walk_next(q, &i, &id, &entry)) == CARET_OK)
        rc = add_entry(&m, id, entry);
    if (rc != CARET_NONE)
        return rc;
    if (m.entries > 0) {
        add_block(q, &m);
        ++*n;
    }
    return CARET_OK;
}

static int dump_blocks(struct serve__call *q, const struct serve__stream *x, uint64_t *n)
{
    struct serve__block b, next;
    int rc = serve__block_first(q, x, SERVE__ID_MIN, &b);
    while (rc == CARET_OK) {
        struct serve__id from = b.first, last = SERVE__ID_MAX;
        int more = b.open || !serve__id_after(&from) ? CARET_NONE : serve__block_first(q, x, from, &next);
        if (more == CARET_OK) {
            last = next.first;
            serve__id_before(&last);
        }
        rc = more == CARET_OK || more == CARET_NONE ? dump_block(q, x, b.first, last, n) : more;
        if (rc == CARET_OK)
            rc = more;
        b = next;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int dump_counts(struct serve__call *q, const struct serve__stream *x)
{
    struct serve__buffer *b = &q->r->work;
    struct serve__id first = SERVE__ID_MIN;
    caret_slice value;
    int rc = serve__stream_end(q, x, false, &first, &value);
    serve__add_length(b, x->k.count);
    add_two_lengths(b, x->last);
    add_two_lengths(b, first);
    add_two_lengths(b, x->deleted);
    serve__add_length(b, x->added);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* ----------------------------------------------------------------- groups */

/* What is pending of a group (whole), or the ids of what is of a consumer, below its node. */
static int dump_pending(struct serve__call *q, caret_node *base, bool whole)
{
    struct serve__buffer *b = &q->r->work;
    struct serve__walk i;
    struct serve__pending p;
    struct serve__id id;
    caret_slice value;
    int64_t n;
    int rc = serve__pending_count(q, base, &n);
    if (rc == CARET_OK)
        rc = serve__walk_begin(&i, base, SERVE__ID_MIN, SERVE__ID_MAX, false);
    serve__add_length(b, (uint64_t)n);
    while (rc == CARET_OK && (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        add_id(b, id);
        if (!whole)
            continue;
        serve__pending_read(&p, id, value);
        add_fixed(b, (uint64_t)p.when);
        serve__add_length(b, p.times);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int dump_consumers(struct serve__call *q, const struct serve__stream *x, const struct serve__group *g)
{
    struct serve__buffer *b = &q->r->work;
    struct serve__names i;
    struct serve__consumer c;
    int64_t n = 0;
    int rc = serve__names_begin(&i, x, g);
    if (rc == CARET_OK)
        rc = serve__names_count(q, &i, &n);
    serve__add_length(b, (uint64_t)n);
    while (rc == CARET_OK && (rc = serve__consumers_next(q, g, &i, &c)) == CARET_OK) {
        serve__add_text(b, c.name);
        add_fixed(b, (uint64_t)c.seen);
        rc = dump_pending(q, &c.mine.node, false);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int dump_group(struct serve__call *q, const struct serve__stream *x, const struct serve__group *g)
{
    struct serve__buffer *b = &q->r->work;
    caret_node_buf base;
    serve__add_text(b, g->name);
    add_two_lengths(b, g->last);
    serve__add_length(b, (uint64_t)g->read);
    int rc = serve__pending_base(g, &base);
    if (rc == CARET_OK)
        rc = dump_pending(q, &base.node, true);
    return rc == CARET_OK ? dump_consumers(q, x, g) : rc;
}

static int dump_groups(struct serve__call *q, const struct serve__stream *x)
{
    struct serve__names i;
    struct serve__group g;
    int64_t n = 0;
    int rc = serve__names_begin(&i, x, NULL);
    if (rc == CARET_OK)
        rc = serve__names_count(q, &i, &n);
    serve__add_length(&q->r->work, (uint64_t)n);
    while (rc == CARET_OK && (rc = serve__groups_next(q, x, &i, &g)) == CARET_OK)
        rc = dump_group(q, x, &g);
    return rc == CARET_NONE ? CARET_OK : rc;
}

int serve__stream_dump(struct serve__call *q, caret_slice name, uint64_t *blocks)
{
    struct serve__stream x;
    *blocks = 0;
    int rc = serve__stream_open(q, &x, name);
    if (rc == CARET_OK)
        rc = dump_blocks(q, &x, blocks);
    if (rc == CARET_OK)
        rc = dump_counts(q, &x);
    return rc == CARET_OK ? dump_groups(q, &x) : rc;
}
