/*
 * text.c - texts of a DUMP payload: text.h.
 */
#include "server/data/text.h"

#include "server/worker.h"

int serve__bad_payload(struct serve__call *q)
{
    return serve__fail(q, "ERR Bad data format");
}

/* ---------------------------------------------------------------- reading */

static int unpack(struct serve__call *q, struct serve__text *x)
{
    struct serve__buffer *b = &q->r->work;
    x->at = b->len;
    if (x->t.packed == 0)
        return CARET_OK;
    if (x->t.len > (uint64_t)q->w->config.n[SERVE__CFG_proto_max_bulk_len])
        return serve__bad_payload(q);
    if (!serve__buffer_room(b, x->t.len))
        return CARET_E_NOMEM;
    if (!caret_codec__lzf_unpack(x->t.bytes, x->t.packed, (uint8_t *)b->data + b->len, x->t.len))
        return serve__bad_payload(q);
    b->len += x->t.len;
    return CARET_OK;
}

int serve__text_read(struct serve__call *q, struct caret_codec__reader *r, struct serve__text *x)
{
    x->t = caret_codec__rdb_get_text(r);
    return r->bad ? serve__bad_payload(q) : unpack(q, x);
}

caret_slice serve__text_slice(const struct serve__call *q, const struct serve__text *x)
{
    const char *from = x->t.is_digits ? x->t.digits
                       : x->t.packed  ? q->r->work.data + x->at
                                      : (const char *)x->t.bytes;
    return (caret_slice){x->t.len > 0 ? from : "", x->t.len};
}

/* ---------------------------------------------------------------- writing */

void serve__add_length(struct serve__buffer *b, uint64_t n)
{
    uint8_t head[9];
    serve__buffer_add(b, head, caret_codec__rdb_length(head, n));
}

void serve__add_text(struct serve__buffer *b, caret_slice text)
{
    serve__add_length(b, text.len);
    serve__buffer_add(b, text.data, text.len);
}
