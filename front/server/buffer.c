/*
 * buffer.c - bytes that grow at their end.
 */
#include "server/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST = 512 };

static bool resize(struct serve__buffer *b, size_t cap)
{
    char *data = realloc(b->data, cap);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

static bool may_grow(struct serve__buffer *b, size_t more)
{
    b->failed = b->failed || more > PTRDIFF_MAX - b->len;
    return !b->failed;
}

bool serve__buffer_grow(struct serve__buffer *b, size_t more)
{
    if (!may_grow(b, more))
        return false;
    size_t want = b->len + more;
    size_t cap = b->cap < FIRST ? FIRST : b->cap;
    while (cap < want)
        cap = cap > want / 2 ? want + want / 8 : cap * 2;
    return resize(b, cap);
}

bool serve__buffer_grow_to_fit(struct serve__buffer *b, size_t more)
{
    return may_grow(b, more) && resize(b, b->len + more);
}

void serve__buffer_free(struct serve__buffer *b)
{
    free(b->data);
    *b = (struct serve__buffer){0};
}

void serve__buffer_print(struct serve__buffer *b, const char *format, ...)
{
    for (int again = 0; again < 2; again++) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(b->data + b->len, b->cap - b->len, format, args);
        va_end(args);
        if (n < 0)
            return;
        if ((size_t)n < b->cap - b->len) {
            b->len += (size_t)n;
            return;
        }
        if (!serve__buffer_grow(b, (size_t)n + 1))
            return;
    }
}
