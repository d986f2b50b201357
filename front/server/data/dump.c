/*
 * dump.c - DUMP: a value as Redis 7.0 writes it (codec/rdb.h), so that RESTORE of either takes it.
 *
 * The elements are put together in q->r->work while they are counted; the whole is made in q->r->scratch.
 */
#include "server/codec/number.h"
#include "server/data/list.h"
#include "server/data/text.h"
#include "server/keys/pick.h"
#include "server/stream/payload.h"

/* ---------------------------------------------------------------- bodies */

struct body {
    enum serve__type type;
    uint64_t n;
};

static int add_score(struct serve__buffer *b, caret_slice text)
{
    double d;
    uint8_t bytes[8];
    if (!caret_codec__parse_double(text.data, text.len, &d))
        return CARET_E_CORRUPT;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    serve__buffer_add(b, bytes, sizeof bytes);
    return CARET_OK;
}

static int add_field(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    struct body *body = arg;
    struct serve__buffer *b = &q->r->work;
    body->n++;
    serve__add_text(b, name);
    if (body->type == SERVE__ZSET)
        return add_score(b, value);
    if (body->type == SERVE__HASH)
        serve__add_text(b, value);
    return CARET_OK;
}

static int add_element(struct serve__call *q, void *arg, caret_slice value)
{
    struct body *body = arg;
    body->n++;
    serve__add_text(&q->r->work, value);
    return CARET_OK;
}

/* The number of a type. */
static int number_of(enum serve__type type)
{
    switch (type) {
    case SERVE__STRING: return CARET_CODEC__RDB_STRING;
    case SERVE__LIST: return CARET_CODEC__RDB_LIST;
    case SERVE__SETTYPE: return CARET_CODEC__RDB_SET;
    case SERVE__HASH: return CARET_CODEC__RDB_HASH;
    case SERVE__ZSET: return CARET_CODEC__RDB_ZSET;
    case SERVE__STREAM: return CARET_CODEC__RDB_STREAM;
    case SERVE__ANY: break;
    }
    return -1;
}

/* Type, length and body with their seal. */
static int answer(struct serve__call *q, const struct body *body)
{
    struct serve__buffer *b = &q->r->scratch;
    const struct serve__buffer *elements = &q->r->work;
    uint8_t tail[CARET_CODEC__RDB_TAIL];
    char type = (char)number_of(body->type);
    b->len = 0;
    serve__buffer_add(b, &type, 1);
    if (body->type != SERVE__STRING)
        serve__add_length(b, body->n);
    serve__buffer_add(b, elements->data, elements->len);
    if (b->failed || elements->failed)
        return CARET_E_NOMEM;
    caret_codec__rdb_seal(tail, (const uint8_t *)b->data, b->len);
    serve__buffer_add(b, tail, sizeof tail);
    return b->failed ? CARET_E_NOMEM : serve__bulk(q, b->data, b->len);
}

int serve__cmd_dump(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ANY);
    struct body body = {.type = k.type};
    if (rc == CARET_NONE)
        return serve__null(q);
    if (rc != CARET_OK)
        return rc;
    q->r->work.len = 0;
    switch (k.type) {
    case SERVE__STRING: serve__add_text(&q->r->work, k.value); break;
    case SERVE__LIST: rc = serve__list_each(q, k.name, add_element, &body); break;
    case SERVE__STREAM: rc = serve__stream_dump(q, k.name, &body.n); break;
    default: rc = serve__pick_all(q, &k, add_field, &body);
    }
    return rc == CARET_OK ? answer(q, &body) : rc;
}
