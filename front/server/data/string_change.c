/*
 * string_change.c - strings that are changed in place (string.h); APPEND and SETRANGE.
 */
#include "server/data/string.h"

#include "server/event.h"
#include "server/worker.h"

int serve__string_read(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    return serve__key_read(q, k, name, SERVE__STRING);
}

int serve__string_load(struct serve__call *q, struct serve__key *k, caret_slice name, uint64_t least,
                       size_t room)
{
    struct serve__buffer *b = &q->r->work;
    int rc = serve__key_change(q, k, name, SERVE__STRING);
    if (rc != CARET_OK)
        return rc;
    if (least > (uint64_t)q->w->config.n[SERVE__CFG_proto_max_bulk_len])
        return SERVE__E_TOOBIG;
    size_t len = least > k->value.len ? (size_t)least : k->value.len;
    b->len = 0;
    if (!serve__buffer_room(b, room > len ? room : len))
        return CARET_E_NOMEM;
    serve__buffer_add(b, k->value.data, k->value.len);
    if (len > b->len)
        memset(b->data + b->len, 0, len - b->len);
    b->len = len;
    return CARET_OK;
}

int serve__string_touch(struct serve__call *q, struct serve__key *k)
{
    const struct serve__buffer *b = &q->r->work;
    bool raw = (k->flags & SERVE__HEAD_LARGE) != 0 || b->len > SERVE__EMBEDDED_MAX;
    return raw && b->len == k->value.len ? CARET_OK : serve__key_set_raw(q, k, b->data, b->len, k->expiry);
}

int serve__string_store(struct serve__call *q, struct serve__key *k, const char *event)
{
    struct serve__buffer *b = &q->r->work;
    int rc = b->failed ? CARET_E_NOMEM : serve__key_set_raw(q, k, b->data, b->len, k->expiry);
    if (rc == CARET_OK)
        serve__changed(q, SERVE__EVENT_STRING, event, k->name);
    return rc;
}

/* Of a key that is not there it is a SET. */
int serve__cmd_append(struct serve__call *q)
{
    struct serve__key k;
    const caret_slice *more = &q->argv[2];
    int rc = serve__string_load(q, &k, q->argv[1], 0, 0);
    if (rc == CARET_OK &&
        q->r->work.len + more->len > (uint64_t)q->w->config.n[SERVE__CFG_proto_max_bulk_len])
        return SERVE__E_TOOBIG;
    if (rc == CARET_OK && !k.exists) {
        if ((rc = serve__key_set_string(q, &k, more->data, more->len, 0)) == CARET_OK)
            serve__changed(q, SERVE__EVENT_STRING, "append", k.name);
        return rc == CARET_OK ? serve__integer(q, (int64_t)more->len) : rc;
    }
    if (rc == CARET_OK) {
        serve__buffer_add(&q->r->work, more->data, more->len);
        rc = serve__string_store(q, &k, "append");
    }
    return rc == CARET_OK ? serve__integer(q, (int64_t)q->r->work.len) : rc;
}

int serve__cmd_setrange(struct serve__call *q)
{
    struct serve__key k;
    const caret_slice *value = &q->argv[3];
    int64_t at;
    int rc = serve__arg_integer(q, 2, &at);
    if (rc == CARET_OK && at < 0)
        return serve__fail(q, "ERR offset is out of range");
    if (rc == CARET_OK)
        rc = serve__string_load(q, &k, q->argv[1], value->len > 0 ? (uint64_t)at + value->len : 0, 0);
    if (rc == CARET_OK && value->len > 0) {
        memcpy(q->r->work.data + at, value->data, value->len);
        rc = serve__string_store(q, &k, "setrange");
    }
    return rc == CARET_OK ? serve__integer(q, (int64_t)q->r->work.len) : rc;
}
