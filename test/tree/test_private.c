/* The tree on private memory against a sorted array: sets, deletes, kills, walks both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "tree/tree.h"

struct pair {
    uint8_t key[CARET__KEY_MAX];
    unsigned klen, vlen;
    uint8_t val[64];
};

struct model {
    struct pair *p;
    unsigned n;
};

static uint64_t seed = 20261121;
static struct caret__rand rng;

static unsigned rnd(unsigned n)
{
    return (unsigned)(caret__rand_next(&rng) % n);
}

static unsigned model_find(const struct model *m, const uint8_t *key, unsigned len, bool *found)
{
    unsigned lo = 0, hi = m->n;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (caret__bytes_compare(m->p[mid].key, m->p[mid].klen, key, len) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *found = lo < m->n && caret__bytes_compare(m->p[lo].key, m->p[lo].klen, key, len) == 0;
    return lo;
}

static void model_set(struct model *m, const uint8_t *key, unsigned len, const uint8_t *val, unsigned vlen)
{
    bool found;
    unsigned i = model_find(m, key, len, &found);
    if (!found) {
        memmove(&m->p[i + 1], &m->p[i], (m->n - i) * sizeof *m->p);
        m->n++;
        memcpy(m->p[i].key, key, len);
        m->p[i].klen = len;
    }
    memcpy(m->p[i].val, val, vlen);
    m->p[i].vlen = vlen;
}

static void model_remove(struct model *m, const uint8_t *key, unsigned len, bool below)
{
    bool found;
    unsigned i = model_find(m, key, len, &found), j = i;
    if (!below)
        j = i + found;
    else
        while (j < m->n && m->p[j].klen >= len && memcmp(m->p[j].key, key, len) == 0)
            j++;
    memmove(&m->p[i], &m->p[j], (m->n - j) * sizeof *m->p);
    m->n -= j - i;
}

/* Keys of 1..6 parts of few letters, so that prefixes and subtrees abound; sometimes a very long one. */
static unsigned random_key(uint8_t *key)
{
    unsigned n = 0, parts = 1 + rnd(5);
    for (unsigned i = 0; i < parts; i++) {
        key[n++] = (uint8_t)('a' + rnd(12));
        if (rnd(3) == 0)
            key[n++] = (uint8_t)rnd(255);
    }
    if (rnd(40) == 0) {
        unsigned extra = rnd(CARET__KEY_MAX - n);
        memset(key + n, 'a' + (int)rnd(3), extra);
        n += extra;
    }
    return n;
}

static void compare_walk(struct caret__private *t, const struct model *m)
{
    struct caret__view v = {.pg = &t->pg};
    struct caret__at at = {0};
    uint8_t key[CARET__KEY_MAX + 1] = {0};
    size_t len = 0;
    int rc = caret__scan_from(&v, &at, key, &len);
    for (unsigned i = 0; i < m->n; i++) {
        assert_int_equal(rc, CARET_OK);
        assert_int_equal(len, m->p[i].klen);
        assert_memory_equal(key, m->p[i].key, len);
        rc = caret__scan_next(&v, &at, key, &len);
    }
    assert_int_equal(rc, CARET_NONE);
    memset(key, 0xff, sizeof key);
    len = 8;
    for (unsigned i = m->n; i-- > 0;) {
        assert_int_equal(caret__scan_before(&v, &at, key, &len), CARET_OK);
        assert_int_equal(len, m->p[i].klen);
        assert_memory_equal(key, m->p[i].key, len);
    }
    assert_int_equal(caret__scan_before(&v, &at, key, &len), CARET_NONE);
}

static void check(struct caret__private *t)
{
    char report[2000] = "";
    if (caret__tree_check(&t->pg, NULL, report, sizeof report) != 0)
        fail_msg("%s", report);
}

static void compare_get(struct caret__private *t, const struct model *m, const uint8_t *key, unsigned len)
{
    struct caret__view v = {.pg = &t->pg};
    struct caret__at at;
    bool found;
    unsigned i = model_find(m, key, len, &found);
    assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
    assert_int_equal(at.found, found);
    if (found) {
        struct caret__entry e = caret__page_entry(at.page, at.pos);
        const uint8_t *val;
        size_t vlen;
        caret__private_value(&e, &val, &vlen);
        assert_int_equal(vlen, m->p[i].vlen);
        assert_memory_equal(val, m->p[i].val, vlen);
    }
}

static void run_fuzz(unsigned steps, unsigned max, unsigned kill_one_in)
{
    struct caret__private t;
    struct model m = {calloc(max + 2, sizeof(struct pair)), 0};
    uint8_t key[CARET__KEY_MAX + 1], val[64];

    caret__rand_seed(&rng, seed);
    assert_int_equal(caret__private_init(&t), CARET_OK);
    for (unsigned step = 0; step < steps; step++) {
        unsigned len = random_key(key), vlen = rnd(64), what = rnd(100);
        for (unsigned i = 0; i < vlen; i++)
            val[i] = (uint8_t)rnd(256);
        if (what < 60 && m.n < max) {
            assert_int_equal(caret__private_set(&t, key, len, val, vlen), CARET_OK);
            model_set(&m, key, len, val, vlen);
        } else if (what < 90) {
            if (m.n > 0 && rnd(2) == 0) {
                const struct pair *p = &m.p[rnd(m.n)];
                len = p->klen;
                memcpy(key, p->key, len);
            }
            caret__private_delete(&t, key, len);
            model_remove(&m, key, len, false);
        } else if (rnd(kill_one_in) == 0) {
            len = 1 + rnd(len);
            caret__private_kill(&t, key, len);
            model_remove(&m, key, len, true);
        }
        compare_get(&t, &m, key, len);
        if (step % 64 == 0)
            check(&t);
        if (step % 2000 == 0)
            compare_walk(&t, &m);
    }
    check(&t);
    compare_walk(&t, &m);
    caret__private_clear(&t);
    m.n = 0;
    check(&t);
    compare_walk(&t, &m);
    caret__private_destroy(&t);
    free(m.p);
}

static void random_changes_equal_a_sorted_array(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    run_fuzz(40000, 3000, 6);
}

static void kills_of_every_size_equal_a_sorted_array(void **state)
{
    (void)state;
    run_fuzz(20000, 3000, 1);
}

static void ascending_inserts_fill_pages(void **state)
{
    struct caret__private t;
    (void)state;
    assert_int_equal(caret__private_init(&t), CARET_OK);
    uint8_t key[8] = "seq";
    for (unsigned i = 0; i < 20000; i++) {
        key[3] = (uint8_t)(i >> 16);
        key[4] = (uint8_t)(i >> 8);
        key[5] = (uint8_t)i;
        assert_int_equal(caret__private_set(&t, key, 6, "0123456789", 10), CARET_OK);
    }
    check(&t);
    /* 22 bytes an entry at most with the slot; pages must be nine tenths full or better */
    unsigned pages = t.pages - 1 - t.ts.free_pages;
    assert_true(pages * CARET__PAGE_USABLE < 20000u * 23u * 10u / 9u);
    caret__private_destroy(&t);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_equal_a_sorted_array),
        cmocka_unit_test(kills_of_every_size_equal_a_sorted_array),
        cmocka_unit_test(ascending_inserts_fill_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
