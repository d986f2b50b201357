/*
 * buffer.h - bytes that grow at their end.
 *
 * Lent, not owned, most of the time: a connection that has nothing to say and nothing half heard has none.  A
 * buffer that could not grow is `failed`, and stays so: what is appended is dropped, and whoever sends it has
 * to ask.
 */
#ifndef CARET_SERVER_BUFFER_H
#define CARET_SERVER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct serve__buffer {
    char *data;
    size_t len, cap;
    bool failed;
};

/* Room for `more` bytes after `len`.  false: there is none, and the buffer has failed. */
bool serve__buffer_grow(struct serve__buffer *b, size_t more);

/* The same, and none for what may follow. */
bool serve__buffer_grow_to_fit(struct serve__buffer *b, size_t more);

void serve__buffer_free(struct serve__buffer *b);

static inline bool serve__buffer_room(struct serve__buffer *b, size_t more)
{
    return b->cap - b->len >= more || serve__buffer_grow(b, more);
}

static inline void serve__buffer_add(struct serve__buffer *b, const void *data, size_t len)
{
    if (len == 0 || !serve__buffer_room(b, len))
        return;
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

/* Text as of printf. */
void serve__buffer_print(struct serve__buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
