/*
 * cursor.c - places of SCAN and its kin: cursor.h.
 */
#include "server/keys/cursor.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/keys/field.h"
#include "server/worker.h"

uint64_t serve__cursor_new(struct serve__call *q, caret_slice place)
{
    struct serve__shared *s = q->w->shared;
    uint64_t id = atomic_fetch_add(&s->next_cursor, 1) + 1;
    struct serve__place *slot = &s->places[id % SERVE__PLACES];
    atomic_store_explicit(&slot->id, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    slot->len = (uint32_t)(place.len < SERVE__PLACE_MAX ? place.len : SERVE__PLACE_MAX);
    memcpy(slot->bytes, place.data, slot->len);
    atomic_store_explicit(&slot->id, id, memory_order_release);
    return id;
}

bool serve__cursor_find(struct serve__call *q, uint64_t id, char place[SERVE__PLACE_MAX], size_t *len)
{
    struct serve__place *slot = &q->w->shared->places[id % SERVE__PLACES];
    if (atomic_load_explicit(&slot->id, memory_order_acquire) != id)
        return false;
    *len = slot->len <= SERVE__PLACE_MAX ? slot->len : 0;
    memcpy(place, slot->bytes, *len);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->id, memory_order_relaxed) == id;
}

static bool read_cursor(const caret_slice *text, uint64_t *cursor)
{
    *cursor = 0;
    for (size_t i = 0; i < text->len; i++) {
        unsigned digit = (unsigned char)text->data[i] - '0';
        if (digit > 9 || *cursor > (UINT64_MAX - digit) / 10)
            return false;
        *cursor = *cursor * 10 + digit;
    }
    return text->len > 0;
}

int serve__scan_read(struct serve__call *q, int at, bool keys, struct serve__scan *s)
{
    *s = (struct serve__scan){.count = 10};
    if (!read_cursor(&q->argv[at], &s->cursor))
        return serve__fail(q, "ERR invalid cursor");
    for (int i = at + 1; i < q->argc; i += 2) {
        const caret_slice *word = &q->argv[i], *value = &q->argv[i + 1];
        if (i + 1 == q->argc)
            return SERVE__E_SYNTAX;
        if (serve__is(word, "count")) {
            int rc = serve__arg_integer(q, i + 1, &s->count);
            if (rc != CARET_OK || s->count < 1)
                return rc != CARET_OK ? rc : SERVE__E_SYNTAX;
        } else if (serve__is(word, "match")) {
            s->match = value->len == 1 && *value->data == '*' ? NULL : value;
        } else if (keys && serve__is(word, "type")) {
            s->type = value;
        } else {
            return SERVE__E_SYNTAX;
        }
    }
    if (s->cursor != 0 && !serve__cursor_find(q, s->cursor, s->place, &s->len))
        return serve__fail(q, "ERR invalid cursor");
    return CARET_OK;
}

/* ----------------------------------------------------------------- answer */

void serve__found_begin(struct serve__call *q)
{
    q->r->work.len = 0;
}

void serve__found_add(struct serve__call *q, caret_slice text)
{
    serve__buffer_add(&q->r->work, &text.len, sizeof text.len);
    serve__buffer_add(&q->r->work, text.data, text.len);
}

int serve__found_answer(struct serve__call *q, uint64_t cursor)
{
    char text[24];
    struct serve__buffer *b = &q->r->work;
    size_t n = 0, len;
    if (b->failed)
        return CARET_E_NOMEM;
    serve__array(q, 2);
    serve__bulk(q, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, cursor));
    size_t place = serve__open(q);
    for (size_t at = 0; at < b->len; at += sizeof len + len, n++) {
        memcpy(&len, b->data + at, sizeof len);
        serve__bulk(q, b->data + at + sizeof len, len);
    }
    return serve__close_array(q, place, n);
}
