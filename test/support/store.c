#include "support/store.h"

#include "base/crc32c.h"

#define NPAGES 1024u

/* As struct caret__runref of the layer above. */
struct run {
    uint32_t pgno, len, crc, spare;
};

void store_private(struct store *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    caret__rand_seed(&s->rng, seed);
    assert_int_equal(caret__private_init(&s->own), CARET_OK);
    s->pg = &s->own.pg;
}

void store_shared(struct store *s, uint64_t seed)
{
    void *f;

    memset(s, 0, sizeof *s);
    caret__rand_seed(&s->rng, seed);
    assert_int_equal(fixture_new(&f), 0);
    s->f = f;
    fixture_create(s->f, NPAGES);
    s->pg = &s->f->e.pg;
    atomic_store(&s->f->e.sh->epoch, 1);
    store_begin(s);
    caret__tree_create(&s->w);
    store_commit(s);
}

void store_close(struct store *s)
{
    void *f = s->f;

    model_clear(&s->model);
    if (f == NULL) {
        caret__private_destroy(&s->own);
    } else {
        fixture_delete(&f);
    }
}

/* ------------------------------------------------------------------ commits */

#define MUCH 120u /* pages that the changes of one commit take at most */

void store_begin(struct store *s)
{
    if (s->f == NULL)
        return;
    struct caret__engine *e = &s->f->e;
    struct caret__shared *sh = e->sh;

    assert_false(s->open);
    if (sh->ts.free_pages < MUCH)
        assert_int_equal(caret__grow_pages(e, sh->ts.npages + 4 * MUCH), CARET_OK);
    while (sh->ts.free_slots < MUCH)
        assert_int_equal(caret__grow_arena(e, atomic_load(&sh->nslots) + CARET__ARENA_STEP), CARET_OK);
    if (atomic_load(&sh->undo_cap) < CARET__UNDO_FRONT + MUCH * 2 * (CARET__PAGE_SIZE + 256u))
        assert_int_equal(caret__grow_undo(e, CARET__UNDO_FRONT + MUCH * 2 * (CARET__PAGE_SIZE + 256u)),
                         CARET_OK);
    s->undo = (struct caret__undo){.area = e->undo + CARET__UNDO_FRONT,
                                   .base = e->base,
                                   .word = &sh->undo_word,
                                   .lsn = &sh->undo_lsn,
                                   .cap = atomic_load(&sh->undo_cap) - CARET__UNDO_FRONT};
    s->w = (struct caret__w){.pg = s->pg,
                             .sh = sh,
                             .undo = &s->undo,
                             .lsn = atomic_load(&sh->log_applied) + 8,
                             .epoch = atomic_load(&sh->epoch)};
    caret__w_begin(&s->w);
    s->open = true;
}

void store_commit(struct store *s)
{
    if (s->f == NULL)
        return;
    assert_true(s->open);
    atomic_store(&s->f->e.sh->log_applied, s->w.lsn);
    s->open = false;
}

static void release(struct store *s, unsigned map, uint32_t pgno)
{
    struct caret__shared *sh = s->f->e.sh;
    uint64_t bit = UINT64_C(1) << (pgno % 64u);
    uint32_t slot = caret__pte_slot(atomic_load(&s->pg->ptab[pgno].word));

    if ((atomic_load(&s->pg->maps[map][pgno / 64u]) & bit) == 0)
        return;
    atomic_fetch_and(&s->pg->maps[map][pgno / 64u], ~bit);
    atomic_fetch_or(&s->pg->maps[CARET__MAP_FREE][pgno / 64u], bit);
    sh->ts.free_pages++;
    if (slot == CARET__SLOT_NONE)
        return;
    atomic_fetch_or(&s->pg->maps[CARET__MAP_SLOTS][slot / 64u], UINT64_C(1) << (slot % 64u));
    sh->ts.free_slots++;
}

void store_freeze(struct store *s)
{
    if (s->f == NULL)
        return;
    struct caret__shared *sh = s->f->e.sh;
    uint32_t epoch = atomic_load(&sh->epoch);

    assert_false(s->open);
    for (uint32_t i = 0; i < sh->ts.npages; i++)
        release(s, CARET__MAP_PENDING0 + (epoch & 1u), i);
    sh->ts.dead_pages = 0;
    atomic_store(&sh->epoch, epoch + 1);
}

/* ------------------------------------------------------------------ changes */

/* A value for the data file, of pages of its own. */
static struct run write_run(struct store *s, const void *val, size_t vlen)
{
    struct caret__engine *e = &s->f->e;
    uint32_t count = (uint32_t)((vlen + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE);
    uint32_t pgno = caret__find_run(s->pg, e->sh, count);

    assert_true(pgno != 0);
    assert_int_equal(pwrite(caret__fd(&e->data_fd), val, vlen, (off_t)pgno * CARET__PAGE_SIZE), vlen);
    caret__w_take_run(&s->w, pgno, count);
    return (struct run){pgno, (uint32_t)vlen, caret__crc32c(0, val, vlen), 0};
}

static void set_shared(struct store *s, const uint8_t *key, size_t len, const void *val, size_t vlen)
{
    struct run run;

    if (caret__value_inline(len, vlen)) {
        caret__tree_set(&s->w, key, len, val, vlen, 0);
    } else {
        run = write_run(s, val, vlen);
        caret__tree_set(&s->w, key, len, &run, sizeof run, CARET__VLEN_RUN);
    }
}

void store_set(struct store *s, const uint8_t *key, size_t len, const void *val, size_t vlen)
{
    bool own = !s->open;

    if (s->f == NULL) {
        assert_int_equal(caret__private_set(&s->own, key, len, val, vlen), CARET_OK);
    } else {
        if (own)
            store_begin(s);
        set_shared(s, key, len, val, vlen);
        if (own)
            store_commit(s);
    }
    model_set(&s->model, key, len, val, vlen); /* at last: the key may be one of the model's */
}

void store_delete(struct store *s, const uint8_t *key, size_t len)
{
    bool own = !s->open;

    if (s->f == NULL) {
        caret__private_delete(&s->own, key, len);
    } else {
        if (own)
            store_begin(s);
        caret__tree_delete(&s->w, key, len);
        if (own)
            store_commit(s);
    }
    model_delete(&s->model, key, len);
}

static void kill_span(struct store *s, const struct caret__span *r)
{
    bool own = !s->open;

    if (s->f == NULL) {
        caret__private_kill(&s->own, r);
        return;
    }
    if (own)
        store_begin(s);
    caret__tree_kill(&s->w, r);
    if (own)
        store_commit(s);
}

void store_kill(struct store *s, const uint8_t *key, size_t len)
{
    uint8_t end[CARET__PLACE_MAX];
    struct caret__span r = caret__span_below(key, len, end);

    kill_span(s, &r);
    model_kill(&s->model, key, len);
}

void store_kill_span(struct store *s, const struct caret__span *r)
{
    kill_span(s, r);
    model_kill_span(&s->model, r);
}

unsigned number_key(uint8_t *key, const char *prefix, unsigned width, unsigned i)
{
    return (unsigned)sprintf((char *)key, "%s%0*u", prefix, (int)width, i);
}

void store_fill(struct store *s, const char *prefix, unsigned width, unsigned from, unsigned n, size_t vlen)
{
    uint8_t key[CARET__KEY_MAX + 1], val[CARET__INLINE_MAX];

    for (unsigned i = from; i < from + n; i++) {
        unsigned len = number_key(key, prefix, width, i);
        memset(val, (int)(i % 251), vlen);
        store_set(s, key, len, val, vlen);
    }
}

/* Between two keys, which need not be there; mostly near each other. */
static void kill_random_span(struct store *s, const uint8_t *key, unsigned len)
{
    uint8_t other[CARET__KEY_MAX + 1];
    unsigned n = random_key(&s->rng, other);

    if (caret__rand_below(&s->rng, 4) != 0)
        other[0] = key[0];
    int c = caret__bytes_compare(key, len, other, n);
    if (c != 0)
        store_kill_span(s, c < 0 ? &(struct caret__span){key, other, len, n}
                                 : &(struct caret__span){other, key, n, len});
}

void store_change(struct store *s, unsigned most, unsigned kill_one_in)
{
    uint8_t key[CARET__KEY_MAX + 1];
    static uint8_t val[LONG_VALUE];
    unsigned len = random_key(&s->rng, key), what = caret__rand_below(&s->rng, 100);

    if (what < 60 && s->model.n < most) {
        store_set(s, key, len, val, random_value(&s->rng, 50, val));
    } else if (what < 90) {
        if (s->model.n > 0 && caret__rand_below(&s->rng, 2) == 0) {
            const struct pair *p = &s->model.p[caret__rand_below(&s->rng, s->model.n)];
            len = p->klen;
            memcpy(key, p->key, len);
        }
        store_delete(s, key, len);
    } else if (caret__rand_below(&s->rng, kill_one_in) == 0) {
        len = 1 + caret__rand_below(&s->rng, len);
        if (caret__rand_below(&s->rng, 2) == 0)
            store_kill(s, key, len);
        else
            kill_random_span(s, key, len);
    }
    store_compare_get(s, key, len);
}

/* ------------------------------------------------------------------ looking */

struct caret__view store_view(struct store *s)
{
    return (struct caret__view){.pg = s->pg};
}

void store_value(const struct store *s, const struct caret__entry *e, const uint8_t **val, size_t *vlen)
{
    struct run run;

    if (s->f == NULL || !e->run) {
        caret__private_value(e, val, vlen);
        return;
    }
    memcpy(&run, e->val, sizeof run);
    *val = s->pg->file + (size_t)run.pgno * CARET__PAGE_SIZE;
    *vlen = run.len;
}

const struct caret__page *store_page(const struct store *s, uint32_t pgno)
{
    return caret__page_at(s->pg, pgno, atomic_load(&s->pg->ptab[pgno].word));
}

uint64_t store_version(const struct store *s, uint32_t pgno)
{
    return atomic_load(&s->pg->ptab[pgno].version);
}

uint32_t store_root(const struct store *s)
{
    return atomic_load(&s->pg->ts->root);
}

static bool is_marked(const _Atomic uint64_t *map, uint32_t i)
{
    return map != NULL && (atomic_load(&map[i / 64u]) >> (i % 64u) & 1u) != 0;
}

void store_check(struct store *s)
{
    uint32_t n = s->pg->ts->npages, first = s->f != NULL ? CARET__FIRST_PAGE : 1;
    uint64_t *seen = calloc(CARET__BITMAP_WORDS(n), 8);
    char report[2000] = "";

    if (caret__tree_check(s->pg, seen, report, sizeof report) != 0)
        fail_msg("%s", report);
    for (uint32_t i = first; i < n; i++) {
        if (s->f != NULL && caret__pgno_reserved(i))
            continue;
        bool in_tree = (seen[i / 64u] >> (i % 64u) & 1u) != 0;
        unsigned homes = in_tree;
        for (unsigned map = CARET__MAP_FREE; map <= CARET__MAP_PENDING1; map++)
            homes += is_marked(s->pg->maps[map], i);
        if (homes != 1)
            fail_msg("page %u is in %u places (in the tree: %d)", i, homes, in_tree);
    }
    assert_int_equal(caret__map_count(s->pg->maps[CARET__MAP_FREE], n), s->pg->ts->free_pages);
    free(seen);
}

void store_compare_get(struct store *s, const uint8_t *key, size_t len)
{
    struct caret__view v = store_view(s);
    struct caret__at at;
    bool found;
    unsigned i = model_find(&s->model, key, len, &found);

    if (s->open) /* what is being changed nobody reads */
        return;
    assert_int_equal(caret__seek(&v, key, len, &at), CARET_OK);
    assert_int_equal(at.found, found);
    if (!found)
        return;
    struct caret__entry e = caret__page_entry(at.page, at.pos);
    const uint8_t *val;
    size_t vlen;
    store_value(s, &e, &val, &vlen);
    assert_int_equal(vlen, s->model.p[i].vlen);
    assert_memory_equal(val, s->model.p[i].val, vlen);
}

static void compare_here(struct store *s, const struct caret__at *at, const uint8_t *key, size_t len,
                         const struct pair *p)
{
    struct caret__entry e = caret__page_entry(at->page, at->pos);
    const uint8_t *val;
    size_t vlen;

    assert_int_equal(len, p->klen);
    assert_memory_equal(key, p->key, len);
    store_value(s, &e, &val, &vlen);
    assert_int_equal(vlen, p->vlen);
    assert_memory_equal(val, p->val, vlen);
}

void store_compare_walk(struct store *s, struct caret__view *v, const struct model *m)
{
    struct caret__at at = {0};
    uint8_t key[CARET__KEY_MAX + 1] = {0};
    size_t len = 0;
    int rc = caret__scan_from(v, &at, key, &len);

    for (unsigned i = 0; i < m->n; i++) {
        assert_int_equal(rc, CARET_OK);
        compare_here(s, &at, key, len, &m->p[i]);
        rc = caret__scan_next(v, &at, key, &len);
    }
    assert_int_equal(rc, CARET_NONE);
    memset(key, 0xff, sizeof key);
    len = 8;
    for (unsigned i = m->n; i-- > 0;) {
        assert_int_equal(caret__scan_before(v, &at, key, &len), CARET_OK);
        compare_here(s, &at, key, len, &m->p[i]);
    }
    assert_int_equal(caret__scan_before(v, &at, key, &len), CARET_NONE);
}

void store_same(struct store *s)
{
    struct caret__view v = store_view(s);

    store_check(s);
    store_compare_walk(s, &v, &s->model);
}

static unsigned count_pages(const struct store *s, uint32_t pgno, bool leaves_only)
{
    const struct caret__page *p = store_page(s, pgno);
    unsigned n = p->type == CARET__PAGE_LEAF || !leaves_only;

    for (unsigned i = 0; p->type == CARET__PAGE_INNER && i <= p->count; i++)
        n += count_pages(s, caret__page_child(p, i), leaves_only);
    return n;
}

unsigned store_leaves(struct store *s)
{
    return count_pages(s, store_root(s), true);
}

unsigned store_pages(struct store *s)
{
    return count_pages(s, store_root(s), false);
}
