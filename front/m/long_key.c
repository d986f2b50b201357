/*
 * long_key.c - the keys of local variables with long subscripts, as long.h has them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/key.h"
#include "m/long.h"

/* Room for n bytes more. */
static int reserve(struct caret_m__key *k, size_t n)
{
    if (k->cap - k->len >= n)
        return CARET_OK;
    size_t cap = k->len + n + k->len / 2;
    uint8_t *bytes = realloc(k->bytes, cap);
    if (bytes == NULL)
        return CARET_E_NOMEM;
    k->bytes = bytes;
    k->cap = cap;
    return CARET_OK;
}

int caret_m__key_append(struct caret_m__key *k, const void *bytes, size_t n)
{
    int rc = reserve(k, n);

    if (rc == CARET_OK && n != 0) {
        memcpy(k->bytes + k->len, bytes, n);
        k->len += n;
    }
    return rc;
}

int caret_m__key_var(struct caret_m__key *k, const char *name, size_t len)
{
    k->len = 0;
    int rc = caret_m__key_append(k, name, len);

    return rc == CARET_OK ? caret_m__key_append(k, "", 1) : rc;
}

int caret_m__key_child(struct caret_m__key *k, const char *sub, size_t len)
{
    int rc = reserve(k, caret__max(caret__sub_size(sub, len), 2 * CARET__SUB_NUM_MAX));

    if (rc == CARET_OK)
        k->len += caret__sub_put(k->bytes + k->len, k->cap - k->len, sub, len);
    return rc;
}

void caret_m__key_free(struct caret_m__key *k)
{
    free(k->bytes);
    *k = (struct caret_m__key){0};
}

size_t caret_m__key_after_name(const uint8_t *key)
{
    return strlen((const char *)key) + 1;
}

size_t caret_m__key_after_sub(const uint8_t *key, size_t len, size_t at)
{
    return at + caret__sub_len(key + at, len - at);
}

unsigned caret_m__key_depth(const struct caret_m__key *k)
{
    unsigned depth = 0;

    for (size_t at = caret_m__key_after_name(k->bytes); at < k->len;
         at = caret_m__key_after_sub(k->bytes, k->len, at))
        depth++;
    return depth;
}

size_t caret_m__key_offset(const struct caret_m__key *k, unsigned i)
{
    size_t at = caret_m__key_after_name(k->bytes);

    while (i-- != 0)
        at = caret_m__key_after_sub(k->bytes, k->len, at);
    return at;
}

int caret_m__key_sub(const struct caret_m__key *k, unsigned i, char *buf, size_t cap, size_t *len)
{
    size_t at = caret_m__key_offset(k, i);
    bool is_number;

    return caret__sub_get(k->bytes + at, k->len - at, buf, cap, len, &is_number);
}

int caret_m__key_node(struct caret_m__key *k, const caret_node *n)
{
    char name[CARET_MAX_NAME + 2], sub[CARET_MAX_KEY];
    caret_slice var = caret_node_name(n, name);
    int rc = caret_m__key_var(k, var.data, var.len);
    unsigned depth = caret_node_depth(n);
    size_t len;

    for (unsigned i = 0; rc == CARET_OK && i < depth; i++) {
        rc = caret_node_subscript(n, i, sub, sizeof sub, &len, NULL);
        if (rc == CARET_OK)
            rc = caret_m__key_child(k, sub, len);
    }
    return rc;
}
