/*
 * stream.c - streams as nodes: header, entries.  stream.h has the layout.
 */
#include "server/stream/stream.h"

#include "server/codec/pack.h"
#include "server/stream/block.h"

enum { STATE_LEN = 84 };

static int load_state(struct serve__stream *x)
{
    const unsigned char *at = x->k.state;
    if (x->k.state_len != STATE_LEN)
        return CARET_E_CORRUPT;
    x->last = serve__load_id(at);
    x->deleted = serve__load_id(at + 16);
    x->added = serve__load(at + 32, 8);
    x->open.first = serve__load_id(at + 40);
    x->open.live = (uint32_t)serve__load(at + 56, 4);
    x->open.added = (uint32_t)serve__load(at + 60, 4);
    x->open.bytes = (uint32_t)serve__load(at + 64, 4);
    x->open.fields = serve__load(at + 68, 8);
    x->closed = (uint32_t)serve__load(at + 76, 4);
    x->groups = (uint32_t)serve__load(at + 80, 4);
    return CARET_OK;
}

int serve__stream_open(struct serve__call *q, struct serve__stream *x, caret_slice name)
{
    int rc = serve__key_open(q, &x->k, name, SERVE__STREAM);
    return rc == CARET_OK ? load_state(x) : rc;
}

int serve__stream_read(struct serve__call *q, struct serve__stream *x, caret_slice name)
{
    return serve__key_seen(q, serve__stream_open(q, x, name), &x->k);
}

int serve__stream_change(struct serve__call *q, struct serve__stream *x, caret_slice name)
{
    int rc = serve__key_change(q, &x->k, name, SERVE__STREAM);
    if (rc == CARET_OK && !x->k.exists) {
        memset(x->k.state, 0, STATE_LEN);
        x->k.state_len = STATE_LEN;
    }
    return rc == CARET_OK ? load_state(x) : rc;
}

int serve__stream_save(struct serve__call *q, struct serve__stream *x)
{
    unsigned char *at = x->k.state;
    serve__store_id(at, x->last);
    serve__store_id(at + 16, x->deleted);
    serve__store(at + 32, x->added, 8);
    serve__store_id(at + 40, x->open.first);
    serve__store(at + 56, x->open.live, 4);
    serve__store(at + 60, x->open.added, 4);
    serve__store(at + 64, x->open.bytes, 4);
    serve__store(at + 68, x->open.fields, 8);
    serve__store(at + 76, x->closed, 4);
    serve__store(at + 80, x->groups, 4);
    return serve__key_save(q, &x->k);
}

/* ---------------------------------------------------------------- entries */

/* The pairs, packed, into the runner's scratch buffer; NULL: no memory. */
static struct serve__buffer *pack(struct serve__call *q, const caret_slice *pairs, size_t n)
{
    struct serve__buffer *b = &q->r->scratch;
    size_t room = 10;
    for (size_t i = 0; i < 2 * n; i++)
        room += pairs[i].len + 10;
    b->len = 0;
    if (!serve__buffer_room(b, room))
        return NULL;
    struct caret_codec__writer w = {(uint8_t *)b->data, b->cap, 0};
    caret_codec__put_u64(&w, n);
    for (size_t i = 0; i < 2 * n; i++)
        caret_codec__put_text(&w, pairs[i].data, pairs[i].len);
    b->len = w.len;
    return b;
}

int serve__stream_append(struct serve__call *q, struct serve__stream *x, struct serve__id id,
                         const caret_slice *pairs, size_t n)
{
    caret_node_buf at;
    int rc = serve__block_add(q, x, id, pairs, n);
    if (rc == CARET_OK)
        rc = serve__id_node(&at, &x->k.node.node, id);
    if (rc != CARET_OK)
        return rc;
    struct serve__buffer *b = pack(q, pairs, n);
    if (b == NULL)
        return CARET_E_NOMEM;
    x->last = id;
    x->k.count++;
    x->added++;
    return caret_set(q->s, &at.node, b->data, b->len);
}

int serve__stream_delete(struct serve__call *q, struct serve__stream *x, struct serve__id id, bool *was)
{
    caret_node_buf at;
    int had = 0;
    int rc = serve__id_node(&at, &x->k.node.node, id);
    if (rc == CARET_OK)
        rc = caret_data(q->s, &at.node, &had);
    *was = rc == CARET_OK && had % 10 == 1;
    if (!*was)
        return rc;
    x->k.count--;
    rc = caret_delete(q->s, &at.node);
    return rc == CARET_OK ? serve__block_remove(q, x, id, 1) : rc;
}

int serve__stream_entry(struct serve__call *q, const struct serve__stream *x, struct serve__id id,
                        caret_slice *value)
{
    caret_node_buf at;
    int rc = serve__id_node(&at, &x->k.node.node, id);
    return rc == CARET_OK ? caret_get(q->s, &at.node, value) : rc;
}

int serve__stream_end(struct serve__call *q, const struct serve__stream *x, bool last, struct serve__id *id,
                      caret_slice *value)
{
    struct serve__id from = last ? x->last : SERVE__ID_MIN, to = last ? SERVE__ID_MIN : x->last;
    return x->k.count == 0 ? CARET_NONE : serve__walk_one(q, &x->k.node.node, from, to, last, id, value);
}

/* ---------------------------------------------------------------- counting */

int serve__stream_holes(struct serve__call *q, const struct serve__stream *x, struct serve__id from,
                        bool *yes)
{
    struct serve__id first;
    caret_slice value;
    *yes = false;
    if (x->k.count == 0 || serve__id_is_zero(x->deleted) || serve__id_compare(from, x->deleted) > 0)
        return CARET_OK;
    int rc = serve__stream_end(q, x, false, &first, &value);
    *yes = rc == CARET_OK && serve__id_compare(first, x->deleted) <= 0;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/*
 * It is known of the last entry and of the first: of those before the first too, if there are no holes after
 * it.  An id after the last has none.
 */
int serve__stream_rank(struct serve__call *q, const struct serve__stream *x, struct serve__id id,
                       int64_t *rank)
{
    struct serve__id first = SERVE__ID_MIN;
    caret_slice value;
    int last = serve__id_compare(id, x->last);
    *rank = x->added == 0 ? 0 : (int64_t)x->added;
    if (x->added == 0 || (x->k.count == 0 && last < 0) || last == 0)
        return CARET_OK;
    *rank = -1;
    if (last > 0)
        return CARET_OK;
    int rc = serve__stream_end(q, x, false, &first, &value);
    if (rc != CARET_OK)
        return rc;
    int side = serve__id_compare(id, first);
    if (side <= 0 && (serve__id_is_zero(x->deleted) || serve__id_compare(x->deleted, first) < 0))
        *rank = (int64_t)(x->added - x->k.count) + (side == 0);
    return CARET_OK;
}

/* ---------------------------------------------------------------- answers */

int serve__answer_pairs(struct serve__call *q, caret_slice value)
{
    const uint8_t *bytes = (const uint8_t *)value.data;
    struct caret_codec__reader r = {bytes, bytes + value.len, false};
    uint64_t n = 2 * caret_codec__get_count(&r, 2);
    serve__array(q, n);
    for (uint64_t i = 0; i < n && !r.bad; i++) {
        size_t len;
        const uint8_t *text = caret_codec__get_text(&r, &len);
        serve__bulk(q, text, len);
    }
    return caret_codec__read_all(&r) ? CARET_OK : CARET_E_CORRUPT;
}

int serve__answer_entry(struct serve__call *q, struct serve__id id, caret_slice value)
{
    serve__array(q, 2);
    serve__answer_id(q, id);
    return value.data == NULL ? serve__null_array(q) : serve__answer_pairs(q, value);
}
