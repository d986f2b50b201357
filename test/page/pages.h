/* A page beside a sorted array that says what must be in it. */
#ifndef CARET_TEST_PAGE_PAGES_H
#define CARET_TEST_PAGE_PAGES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "page/page.h"

#define PGNO 77u

union buffer {
    struct caret__page page;
    uint8_t bytes[CARET__PAGE_SIZE];
    uint64_t words[CARET__PAGE_SIZE / 8];
};

struct pair {
    uint8_t key[CARET__KEY_MAX];
    uint8_t val[CARET__INLINE_MAX];
    unsigned klen, vlen;
};

struct model {
    struct pair p[CARET__MAX_SLOTS];
    unsigned n;
};

static struct caret__rand rng;

static inline unsigned below(unsigned n)
{
    return caret__rand_below(&rng, n);
}

static inline unsigned model_find(const struct model *m, const uint8_t *key, unsigned len, bool *found)
{
    unsigned i = 0;

    *found = false;
    while (i < m->n && caret__bytes_compare(m->p[i].key, m->p[i].klen, key, len) < 0)
        i++;
    *found = i < m->n && caret__bytes_compare(m->p[i].key, m->p[i].klen, key, len) == 0;
    return i;
}

static inline void model_put(struct model *m, unsigned at, bool found, const struct pair *p)
{
    if (!found) {
        memmove(&m->p[at + 1], &m->p[at], (m->n - at) * sizeof *m->p);
        m->n++;
    }
    m->p[at] = *p;
}

static inline void model_remove(struct model *m, unsigned from, unsigned to)
{
    memmove(&m->p[from], &m->p[to], (m->n - to) * sizeof *m->p);
    m->n -= to - from;
}

/* Keys of one, two or many bytes, often with a beginning in common; short values and long ones. */
static inline void random_pair(struct pair *p, unsigned common)
{
    unsigned longest = below(4) == 0 ? 40 : 6;

    p->klen = common + 1 + below(longest);
    memset(p->key, 'k', common);
    for (unsigned i = common; i < p->klen; i++)
        p->key[i] = (uint8_t)(below(3) == 0 ? below(256) : 'a' + below(3));
    p->vlen = below(10) == 0 ? below(CARET__INLINE_MAX / 2) : below(12);
    for (unsigned i = 0; i < p->vlen; i++)
        p->val[i] = (uint8_t)below(256);
}

/* The page is as it should be, and holds what the model does. */
static inline void same(const struct caret__page *p, const struct model *m)
{
    uint8_t key[CARET__KEY_MAX];
    char report[400] = "";

    if (!caret__page_check(p, PGNO, report, sizeof report))
        fail_msg("%s", report);
    assert_int_equal(caret__page_count(p), m->n);
    for (unsigned i = 0; i < m->n; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        assert_int_equal(caret__page_key(p, i, key), m->p[i].klen);
        assert_memory_equal(key, m->p[i].key, m->p[i].klen);
        assert_int_equal(e.vlen, m->p[i].vlen);
        assert_memory_equal(e.val, m->p[i].val, m->p[i].vlen);
    }
}

#endif
