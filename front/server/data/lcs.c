/*
 * lcs.c - LCS: the longest common subsequence of two strings, by codec/lcs.h.
 */
#include "server/codec/lcs.h"

#include "server/data/string.h"
#include "server/worker.h"

enum { LEN = 1, IDX = 2, LENGTHS = 4 };

struct options {
    int flags;
    int64_t least; /* MINMATCHLEN */
};

static int read_options(struct serve__call *q, struct options *o)
{
    *o = (struct options){0};
    for (int i = 3; i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        if (serve__is(word, "idx")) {
            o->flags |= IDX;
        } else if (serve__is(word, "len")) {
            o->flags |= LEN;
        } else if (serve__is(word, "withmatchlen")) {
            o->flags |= LENGTHS;
        } else if (serve__is(word, "minmatchlen") && i + 1 < q->argc) {
            int rc = serve__arg_integer(q, ++i, &o->least);
            if (rc != CARET_OK)
                return rc;
        } else {
            return SERVE__E_SYNTAX;
        }
    }
    if ((o->flags & IDX) && (o->flags & LEN))
        return serve__fail(q, "ERR If you want both the length and indexes, please just use IDX.");
    return CARET_OK;
}

/* Both strings, for as long as the transaction lasts. */
static int open_both(struct serve__call *q, struct caret_codec__lcs *lcs)
{
    struct serve__key k[2];
    for (int i = 0; i < 2; i++) {
        int rc = serve__string_read(q, &k[i], q->argv[i + 1]);
        if (rc == SERVE__E_TYPE)
            return serve__fail(q, "ERR The specified keys must contain string values");
        if (rc == CARET_OK)
            rc = caret_keep(q->s, &k[i].value);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    *lcs = (struct caret_codec__lcs){.a = (const uint8_t *)k[0].value.data,
                                     .b = (const uint8_t *)k[1].value.data,
                                     .a_len = k[0].value.len,
                                     .b_len = k[1].value.len};
    return CARET_OK;
}

/* Compute it; the memory is that of q->r->work. */
static int compute(struct serve__call *q, struct caret_codec__lcs *lcs, bool walk)
{
    struct serve__buffer *b = &q->r->work;
    size_t room = caret_codec__lcs_room(lcs->a_len, lcs->b_len, walk);
    if (room / 4 > (size_t)q->w->config.n[SERVE__CFG_proto_max_bulk_len])
        return serve__fail(q, "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
    b->len = 0;
    if (!serve__buffer_room(b, room))
        return CARET_E_NOMEM;
    lcs->room = (uint64_t *)(void *)b->data;
    caret_codec__lcs_run(lcs, walk);
    return CARET_OK;
}

/* The pieces come from the end: so does the text. */
static int answer_text(struct serve__call *q, struct caret_codec__lcs *lcs)
{
    struct serve__buffer *b = &q->r->scratch;
    struct caret_codec__piece piece;
    size_t at = lcs->length;
    b->len = 0;
    if (!serve__buffer_room(b, lcs->length))
        return CARET_E_NOMEM;
    while (caret_codec__lcs_next(lcs, &piece)) {
        at -= piece.len;
        memcpy(b->data + at, lcs->a + piece.a_at, piece.len);
    }
    return serve__bulk(q, b->data, lcs->length);
}

static void answer_range(struct serve__call *q, size_t from, size_t len)
{
    serve__array(q, 2);
    serve__integer(q, (int64_t)from);
    serve__integer(q, (int64_t)(from + len - 1));
}

static int answer_places(struct serve__call *q, struct caret_codec__lcs *lcs, const struct options *o)
{
    struct caret_codec__piece piece;
    size_t n = 0;
    serve__map(q, 2);
    serve__text(q, "matches");
    size_t place = serve__open(q);
    while (caret_codec__lcs_next(lcs, &piece)) {
        if ((int64_t)piece.len < o->least)
            continue;
        n++;
        serve__array(q, o->flags & LENGTHS ? 3 : 2);
        answer_range(q, piece.a_at, piece.len);
        answer_range(q, piece.b_at, piece.len);
        if (o->flags & LENGTHS)
            serve__integer(q, (int64_t)piece.len);
    }
    serve__close_array(q, place, n);
    serve__text(q, "len");
    return serve__integer(q, (int64_t)lcs->length);
}

int serve__cmd_lcs(struct serve__call *q)
{
    struct caret_codec__lcs lcs;
    struct options o;
    int rc = open_both(q, &lcs);
    if (rc == CARET_OK)
        rc = read_options(q, &o);
    if (rc == CARET_OK)
        rc = compute(q, &lcs, !(o.flags & LEN));
    if (rc != CARET_OK)
        return rc;
    if (o.flags & LEN)
        return serve__integer(q, (int64_t)lcs.length);
    return o.flags & IDX ? answer_places(q, &lcs, &o) : answer_text(q, &lcs);
}
