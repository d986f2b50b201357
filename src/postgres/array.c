/*
 * array.c - a list of byte strings as a binary parameter of type bytea[].
 *
 *     4 dimensions (1) | 4 nulls (0) | 4 type (17) | 4 length | 4 lower bound (1) | { 4 length | bytes } ...
 *
 * All numbers with the high byte first.  Memory that is short is told once, at the end: data is NULL then.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "postgres/inside.h"

#define HEAD 20u

static void put_be32(uint8_t *p, uint32_t v)
{
    caret__put_le32(p, __builtin_bswap32(v));
}

static bool reserve(struct caret__pg_array *a, size_t more)
{
    if (a->failed || a->len + more <= a->cap)
        return !a->failed;
    size_t cap = (a->len + more) * 2;
    uint8_t *data = realloc(a->data, cap);
    a->failed = data == NULL;
    if (a->failed)
        return false;
    a->data = data;
    a->cap = cap;
    return true;
}

void caret__pg_array_begin(struct caret__pg_array *a)
{
    a->failed = false;
    a->len = 0;
    a->n = 0;
    if (reserve(a, HEAD))
        a->len = HEAD;
}

void caret__pg_array_add(struct caret__pg_array *a, struct caret__bytes b)
{
    if (!reserve(a, 4 + b.len))
        return;
    put_be32(a->data + a->len, (uint32_t)b.len);
    if (b.len != 0)
        memcpy(a->data + a->len + 4, b.data, b.len);
    a->len += 4 + b.len;
    a->n++;
}

struct caret__param caret__pg_array_end(struct caret__pg_array *a)
{
    const uint32_t head[] = {a->n != 0, 0, 17, a->n, 1};

    if (a->failed)
        return (struct caret__param){NULL, 0};
    for (size_t i = 0; i < 5; i++)
        put_be32(a->data + 4 * i, head[i]);
    return (struct caret__param){a->data, a->n != 0 ? a->len : 12};
}
