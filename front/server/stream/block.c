/*
 * block.c - where Redis would begin a new block of entries: block.h.
 *
 * A block of Redis is one run of bytes.  Its size follows from how they are laid out, which is documented as
 * `listpack`: each element is a small head, the bytes of a text or of an integer, and its own length again.  A text
 * that is an integer is stored as one.  A block begins with a count of its entries, a count of those that were
 * deleted, and the fields of its first entry; an entry that has the same fields has values only.
 */
#include "server/stream/block.h"

#include "server/codec/number.h"
#include "server/codec/rdb.h"
#include "server/worker.h"

enum {
    CLOSED_LEN = 20,
    FRAME = 7,            /* bytes of an empty run */
    BYTES_MOST = 1 << 30, /* of a block, whatever is configured */
    SAME = 2,
    DIFFERENT = 0 /* flags of an entry: are its fields those of the first? */
};

/* ------------------------------------------------------------------- size */

static uint32_t integer_size(int64_t n)
{
    if (n >= 0 && n <= 127)
        return 2;
    if (n >= -4096 && n <= 4095)
        return 3;
    if (n >= INT16_MIN && n <= INT16_MAX)
        return 4;
    if (n >= -(1 << 23) && n < 1 << 23)
        return 5;
    return n >= INT32_MIN && n <= INT32_MAX ? 6 : 10;
}

static uint64_t text_size(caret_slice text)
{
    int64_t n;
    if (text.len <= 20 && caret_codec__parse_i64(text.data, text.len, &n))
        return integer_size(n);
    uint64_t size = text.len + (text.len < 64 ? 1 : text.len < 4096 ? 2 : 5);
    return size + caret_codec__listpack_back(size);
}

/* What a request adds to a block. */
struct addition {
    uint64_t plain;          /* bytes of all texts */
    uint64_t fields, values; /* as elements */
    uint64_t hash;           /* of the fields; never 0 */
};

uint64_t serve__block_hash(uint64_t n)
{
    return 0xcbf29ce484222325u ^ n;
}

uint64_t serve__block_mix(uint64_t hash, caret_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3u;
    return (hash ^ text.len) * 0x9e3779b97f4a7c15u;
}

static struct addition measure(const caret_slice *pairs, size_t n)
{
    struct addition a = {0, 0, 0, serve__block_hash(n)};
    for (size_t i = 0; i < 2 * n; i += 2) {
        a.plain += pairs[i].len + pairs[i + 1].len;
        a.fields += text_size(pairs[i]);
        a.values += text_size(pairs[i + 1]);
        a.hash = serve__block_mix(a.hash, pairs[i]);
    }
    return a;
}

/* Bytes of the entry itself. */
static uint64_t entry_size(const struct serve__open_block *b, struct serve__id id, const struct addition *a,
                           size_t n)
{
    bool same = a->hash == b->fields;
    uint64_t size =
        2 + integer_size((int64_t)(id.ms - b->first.ms)) + integer_size((int64_t)(id.seq - b->first.seq));
    size += a->values + integer_size((int64_t)(same ? n + 3 : 2 * n + 4));
    return same ? size : size + integer_size((int64_t)n) + a->fields;
}

/* Has the open block no room for it? */
static bool is_full(struct serve__call *q, const struct serve__open_block *b, const struct addition *a)
{
    int64_t bytes = q->w->config.n[SERVE__CFG_stream_node_max_bytes];
    int64_t entries = q->w->config.n[SERVE__CFG_stream_node_max_entries];
    uint64_t size = b->bytes + integer_size(b->live) + integer_size(b->added - b->live) + a->plain;
    if (bytes == 0 || bytes > BYTES_MOST)
        bytes = BYTES_MOST;
    return size >= (uint64_t)bytes || (entries > 0 && b->added >= entries);
}

/* ---------------------------------------------------------------- blocks */

int serve__block_base(const struct serve__stream *x, caret_node_buf *n)
{
    int rc = caret_node_child(&n->node, sizeof *n, &x->k.node.node, "", 0);
    return rc == CARET_OK ? caret_node_child(&n->node, sizeof *n, &n->node, "b", 1) : rc;
}

/* A closed block as a value. */
static void read_closed(struct serve__open_block *b, struct serve__id first, caret_slice value)
{
    *b = (struct serve__open_block){.first = first};
    if (value.len != CLOSED_LEN)
        return;
    b->live = (uint32_t)serve__load(value.data, 4);
    b->added = (uint32_t)serve__load(value.data + 4, 4);
    b->bytes = (uint32_t)serve__load(value.data + 8, 4);
    b->fields = serve__load(value.data + 12, 8);
}

static int write_closed(struct serve__call *q, caret_node_buf *n, const struct serve__open_block *b)
{
    unsigned char value[CLOSED_LEN];
    serve__store(value, b->live, 4);
    serve__store(value + 4, b->added, 4);
    serve__store(value + 8, b->bytes, 4);
    serve__store(value + 12, b->fields, 8);
    return caret_set(q->s, &n->node, value, sizeof value);
}

static int close_block(struct serve__call *q, struct serve__stream *x)
{
    caret_node_buf n;
    int rc = serve__block_base(x, &n);
    if (rc == CARET_OK)
        rc = serve__id_node(&n, &n.node, x->open.first);
    if (rc == CARET_OK)
        rc = write_closed(q, &n, &x->open);
    x->open.added = 0;
    x->closed++;
    return rc;
}

int serve__block_begin(struct serve__call *q, struct serve__stream *x, const struct serve__open_block *b)
{
    int rc = x->open.added > 0 ? close_block(q, x) : CARET_OK;
    x->open = *b;
    return rc;
}

int serve__block_add(struct serve__call *q, struct serve__stream *x, struct serve__id id,
                     const caret_slice *pairs, size_t n)
{
    struct addition a = measure(pairs, n);
    struct serve__open_block *b = &x->open;
    int rc = CARET_OK;
    if (b->added > 0 && is_full(q, b, &a))
        rc = close_block(q, x);
    if (b->added == 0)
        *b = (struct serve__open_block){.first = id,
                                        .bytes = (uint32_t)(FRAME + integer_size((int64_t)n) + a.fields + 2),
                                        .fields = a.hash};
    uint64_t size = b->bytes + entry_size(b, id, &a, n);
    b->bytes = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    b->live++;
    b->added++;
    return rc;
}

/* The last closed block that begins up to an id: i->node is its own. */
static int closed_at(struct serve__call *q, const struct serve__stream *x, struct serve__id id,
                     struct serve__walk *i, struct serve__open_block *b)
{
    caret_node_buf base;
    caret_slice value;
    int rc = x->closed > 0 ? serve__block_base(x, &base) : CARET_NONE;
    if (rc == CARET_OK)
        rc = serve__walk_begin(i, &base.node, id, SERVE__ID_MIN, true);
    if (rc == CARET_OK)
        rc = serve__walk_next(q, i, &id, &value);
    if (rc == CARET_OK)
        read_closed(b, id, value);
    return rc;
}

static int closed_remove(struct serve__call *q, struct serve__stream *x, struct serve__id id, uint32_t n)
{
    struct serve__walk i;
    struct serve__open_block b;
    int rc = closed_at(q, x, id, &i, &b);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    b.live -= n < b.live ? n : b.live;
    if (b.live > 0)
        return write_closed(q, &i.node, &b);
    x->closed--;
    return caret_delete(q->s, &i.node.node);
}

/* The open block is gone: the one before it is open again. */
static int open_again(struct serve__call *q, struct serve__stream *x)
{
    struct serve__walk i;
    x->open.added = 0;
    int rc = closed_at(q, x, SERVE__ID_MAX, &i, &x->open);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    x->closed--;
    return caret_delete(q->s, &i.node.node);
}

int serve__block_remove(struct serve__call *q, struct serve__stream *x, struct serve__id id, uint32_t n)
{
    struct serve__open_block *b = &x->open;
    if (b->added == 0 || serve__id_compare(id, b->first) < 0)
        return closed_remove(q, x, id, n);
    b->live -= n < b->live ? n : b->live;
    return b->live == 0 ? open_again(q, x) : CARET_OK;
}

int serve__block_first(struct serve__call *q, const struct serve__stream *x, struct serve__id from,
                       struct serve__block *b)
{
    caret_node_buf base;
    caret_slice value;
    int rc = x->closed > 0 ? serve__block_base(x, &base) : CARET_NONE;
    if (rc == CARET_OK)
        rc = serve__walk_one(q, &base.node, from, SERVE__ID_MAX, false, &b->first, &value);
    if (rc == CARET_OK) {
        b->open = false;
        b->live = value.len == CLOSED_LEN ? (uint32_t)serve__load(value.data, 4) : 0;
    }
    if (rc != CARET_NONE)
        return rc;
    *b = (struct serve__block){x->open.first, x->open.live, true};
    return x->open.added > 0 && serve__id_compare(x->open.first, from) >= 0 ? CARET_OK : CARET_NONE;
}
