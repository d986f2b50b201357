/* What a store should hold: a sorted array of keys and values, of whatever length. */
#ifndef CARET_TEST_SUPPORT_MODEL_H
#define CARET_TEST_SUPPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key.h"
#include "base/rand.h"

struct pair {
    uint8_t *key, *val; /* one block, at key */
    unsigned klen;
    size_t vlen;
};

/* {0} is the empty one. */
struct model {
    struct pair *p;
    unsigned n, cap;
};

/* The first key that is not before this one; *found (or NULL): it is this one. */
unsigned model_find(const struct model *m, const uint8_t *key, size_t len, bool *found);

void model_set(struct model *m, const uint8_t *key, size_t len, const void *val, size_t vlen);
void model_delete(struct model *m, const uint8_t *key, size_t len);
/* Every key that begins with key goes. */
void model_kill(struct model *m, const uint8_t *key, size_t len);
/* And every key of a span. */
void model_kill_span(struct model *m, const struct caret__span *r);
void model_clear(struct model *m);
void model_copy(struct model *to, const struct model *from);

/* A key of 1 to 5 parts of few letters, so that prefixes and subtrees abound; seldom one of any length that a key may
 * have.  Into a buffer of CARET__KEY_MAX bytes; its length. */
unsigned random_key(struct caret__rand *r, uint8_t *key);

/* A value: short as a rule, one in `seldom` as long as a page takes, one in `seldom` longer than any page.  Into a
 * buffer of LONG_VALUE bytes; its length. */
#define LONG_VALUE 20000u
size_t random_value(struct caret__rand *r, unsigned seldom, uint8_t *val);

#endif
