/*
 * cursor.c - places of SCAN and its kin: cursor.h.
 */
#include "server/keys/cursor.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* As Redis reads one: what strtoul(3) takes, up to a NUL byte, "" too. */
static bool read_cursor(const caret_slice *text, uint64_t *cursor)
{
    char copy[64], *end;
    if (text->len >= sizeof copy && memchr(text->data, 0, sizeof copy) == NULL)
        return false;
    size_t len = text->len < sizeof copy ? text->len : sizeof copy - 1;
    memcpy(copy, text->data, len);
    copy[len] = 0;
    errno = 0;
    *cursor = strtoull(copy, &end, 10);
    return *end == 0 && errno == 0 && !isspace((unsigned char)copy[0]);
}

int serve__scan_cursor(struct serve__call *q, int at, struct serve__scan *s)
{
    *s = (struct serve__scan){.count = 10};
    return read_cursor(&q->argv[at], &s->cursor) ? CARET_OK : serve__fail(q, "ERR invalid cursor");
}

int serve__scan_options(struct serve__call *q, int at, bool keys, struct serve__scan *s)
{
    for (int i = at; i < q->argc; i += 2) {
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
    return CARET_OK;
}

int serve__scan_place(struct serve__call *q, struct serve__scan *s)
{
    if (s->cursor > atomic_load(&q->w->shared->next_cursor))
        s->cursor = 0; /* this server gave it to nobody: all of it is answered */
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

bool serve__found_next(struct serve__call *q, size_t *at, caret_slice *text)
{
    const struct serve__buffer *b = &q->r->work;
    if (*at >= b->len)
        return false;
    memcpy(&text->len, b->data + *at, sizeof text->len);
    text->data = b->data + *at + sizeof text->len;
    *at += sizeof text->len + text->len;
    return true;
}

int serve__found_answer(struct serve__call *q, uint64_t cursor)
{
    char number[24];
    caret_slice text;
    size_t n = 0, at = 0;
    if (q->r->work.failed)
        return CARET_E_NOMEM;
    serve__array(q, 2);
    serve__bulk(q, number, (size_t)snprintf(number, sizeof number, "%" PRIu64, cursor));
    size_t place = serve__open(q);
    for (; serve__found_next(q, &at, &text); n++)
        serve__bulk(q, text.data, text.len);
    return serve__close_array(q, place, n);
}

/* -------------------------------------------------------------- one key's */

/* Up to `most` fields from where i is.  CARET_OK: there may be more. */
static int collect(struct serve__call *q, struct serve__fields *i, const struct serve__scan *s, int64_t most,
                   void (*add_value)(struct serve__call *q, caret_slice value))
{
    caret_slice name, value;
    int rc = CARET_OK;
    serve__found_begin(q);
    for (int64_t seen = 0; seen < most; seen++) {
        if ((rc = serve__fields_next(q, i, &name, &value)) != CARET_OK)
            return rc;
        if (!serve__scan_fits(s, name))
            continue;
        serve__found_add(q, name);
        if (add_value != NULL)
            add_value(q, value);
    }
    return rc;
}

/* What Redis has in one piece is answered whole, whatever the cursor. */
int serve__scan_fields(struct serve__call *q, enum serve__type type,
                       void (*value)(struct serve__call *q, caret_slice value))
{
    struct serve__key k;
    struct serve__scan s;
    struct serve__fields i;
    int rc = serve__scan_cursor(q, 2, &s);
    if (rc == CARET_OK)
        rc = serve__key_read(q, &k, q->argv[1], type);
    if (rc == CARET_NONE) {
        serve__found_begin(q);
        return serve__found_answer(q, 0);
    }
    if (rc == CARET_OK)
        rc = serve__scan_options(q, 3, false, &s);
    bool large = (k.flags & SERVE__HEAD_LARGE) != 0;
    if (rc == CARET_OK && large)
        rc = serve__scan_place(q, &s);
    if (rc == CARET_OK)
        rc = serve__fields_after(q, &i, &k, (caret_slice){s.place, s.len});
    if (rc == CARET_OK)
        rc = collect(q, &i, &s, large ? s.count : INT64_MAX, value);
    if (rc == CARET_OK)
        rc = serve__fields_place(&i, s.place, &s.len);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return serve__found_answer(q, rc == CARET_OK ? serve__cursor_new(q, (caret_slice){s.place, s.len}) : 0);
}
