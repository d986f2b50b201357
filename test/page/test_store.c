/* Allocation, copies and deaths of pages under the writer mutex: what is handed out, kept as it was, and undone. */
#include "log/apply.h"
#include "log/checkpoint.h"
#include "log/commit.h"
#include "log/reserve.h"
#include "log/writer.h"
#include "support/database.h"

#include "base/rand.h"
#include "open/open.h"
#include "page/store.h"

static struct caret__engine *e;
static struct caret__rand rng;
static struct caret__undo undo;
static struct caret__w w;

static unsigned below(unsigned n)
{
    return caret__rand_below(&rng, n);
}

/* Some leaves, all of them in the file; the writer mutex is ours, and room for what follows. */
static void begin(void)
{
    caret_options o = options();
    struct caret__need need = {.pages = 200, .undo_bytes = 200 * (CARET__PAGE_SIZE + 256u)};

    caret__rand_seed(&rng, 5);
    OK(caret__engine_open(path, &o, &e));
    for (unsigned i = 0; i < 2000; i++) {
        struct caret__spot spot = {0};
        uint64_t lsn;
        char key[16];
        snprintf(key, sizeof key, "k%05u", i);
        OK(caret__commit_set(e, &spot, (const uint8_t *)key, 6, text, text_of(i, 40, text), &lsn));
    }
    OK(caret__checkpoint(e));
    OK(caret__writer_lock(e));
    OK(caret__reserve(e, &need, false));
    undo = caret__undo_context(e, 0);
    w = (struct caret__w){.pg = &e->pg, .sh = e->sh, .undo = &undo, .epoch = atomic_load(&e->sh->epoch)};
    w.lsn = atomic_load(&e->sh->log_applied) + 8; /* less than the next commit's */
    caret__w_begin(&w);
}

static bool bit(unsigned map, uint32_t at)
{
    return (atomic_load(&e->pg.maps[map][at / 64]) >> at % 64 & 1u) != 0;
}

/* As repair does it. */
static void restore(void)
{
    uint32_t used = caret__undo_used(atomic_load(&e->sh->undo_word));

    while (used != 0) {
        uint64_t place, len;
        memcpy(&place, undo.area + used - 16, 8);
        memcpy(&len, undo.area + used - 8, 8);
        used -= (uint32_t)((len + 7) & ~UINT64_C(7)) + CARET__UNDO_FOOT;
        caret__racy_copy(e->base + place, undo.area + used, len);
    }
    caret__take_back(&e->pg, w.epoch, w.lsn);
    e->sh->ts.dead_pages = 0; /* derived; repair counts */
    for (uint32_t i = 0; i < e->sh->ts.npages; i++)
        e->sh->ts.dead_pages += bit(CARET__MAP_PENDING0, i) + bit(CARET__MAP_PENDING1, i);
}

/* What began is undone, a commit follows, and all is well. */
static void end(void)
{
    struct caret__spot spot = {0};
    uint64_t lsn;

    restore();
    caret__writer_unlock(e);
    OK(caret__commit_set(e, &spot, (const uint8_t *)"after", 5, "x", 1, &lsn));
    assert_true(lsn > w.lsn);
    OK(caret__engine_close(e));
    caret_db *db = open_db();
    check(db);
    OK(caret_close(db));
}

static uint64_t word_of(uint32_t pgno)
{
    return atomic_load(&e->pg.ptab[pgno].word);
}

/* The n-th page of the tree. */
static uint32_t tree_page(unsigned n)
{
    uint32_t p = CARET__FIRST_PAGE;

    for (;; p = p + 1 < atomic_load(&e->sh->ts.npages) ? p + 1 : CARET__FIRST_PAGE)
        if (!caret__pgno_reserved(p) && !bit(CARET__MAP_FREE, p) && !bit(CARET__MAP_PENDING0, p) &&
            !bit(CARET__MAP_PENDING1, p) && n-- == 0)
            return p;
}

static void a_new_page_has_a_number_and_a_slot_of_its_own(void **state)
{
    uint32_t pgno[60];

    (void)state;
    begin();
    uint32_t free_pages = e->sh->ts.free_pages, free_slots = e->sh->ts.free_slots;
    for (unsigned i = 0; i < 60; i++) {
        struct caret__page *p = caret__w_alloc(&w, i % 3, &pgno[i]);
        uint32_t slot = caret__pte_slot(word_of(pgno[i]));
        assert_int_equal(p->pgno, pgno[i]);
        assert_int_equal(p->level, i % 3);
        assert_ptr_equal(p, e->pg.arena + (size_t)slot * CARET__PAGE_SIZE);
        assert_int_equal(caret__pte_epoch(word_of(pgno[i])), w.epoch);
        assert_int_equal(atomic_load(&e->pg.ptab[pgno[i]].version), w.lsn);
        assert_int_equal(e->pg.owners[slot], pgno[i]);
        assert_false(bit(CARET__MAP_FREE, pgno[i]) || bit(CARET__MAP_SLOTS, slot) ||
                     caret__pgno_reserved(pgno[i]));
        for (unsigned k = 0; k < i; k++) {
            assert_int_not_equal(pgno[k], pgno[i]);
            assert_int_not_equal(caret__pte_slot(word_of(pgno[k])), slot);
        }
        assert_int_equal(e->sh->ts.free_pages, free_pages - i - 1);
        assert_int_equal(e->sh->ts.free_slots, free_slots - i - 1);
    }
    end();
}

/* The tree of the checkpoint keeps its page; whoever still knows the old number is told that it is over. */
static void a_copy_leaves_the_old_page_as_it_was(void **state)
{
    uint32_t pages[15];

    (void)state;
    begin();
    for (unsigned i = 0; i < 15; i++)
        pages[i] = tree_page(i);
    for (unsigned i = 0; i < 15; i++) {
        uint32_t old = pages[i], fresh = old;
        assert_false(caret__w_current(&w, old));
        const struct caret__page *from = caret__w_page(&w, old);
        uint8_t before[CARET__PAGE_SIZE];
        memcpy(before, from, sizeof before);
        struct caret__page *p = caret__w_copy(&w, &fresh);
        memset((uint8_t *)p + CARET__PAGE_HEAD, 0xff, 100);
        assert_int_not_equal(fresh, old);
        assert_int_equal(p->pgno, fresh);
        assert_true(caret__w_current(&w, fresh));
        assert_memory_equal(from, before, sizeof before);
        assert_true((word_of(old) & CARET__PTE_OBSOLETE) != 0);
        assert_int_equal(atomic_load(&e->pg.ptab[old].version), w.lsn);
        assert_true(bit(CARET__MAP_PENDING0 + (w.epoch & 1u), old));
        assert_false(bit(CARET__MAP_FREE, old)); /* not before the next checkpoint */
    }
    end();
}

/* Everything that a writer changes, but for versions. */
struct image {
    uint64_t *maps[CARET__MAPS], *words;
    struct caret__tstate ts;
    uint8_t *arena;
    uint32_t npages, nslots;
};

static void take_image(struct image *im)
{
    im->npages = atomic_load(&e->sh->ts.npages);
    im->nslots = atomic_load(&e->sh->nslots);
    im->ts = e->sh->ts;
    im->words = malloc(im->npages * sizeof *im->words);
    im->arena = malloc((size_t)im->nslots * CARET__PAGE_SIZE);
    assert_true(im->words != NULL && im->arena != NULL);
    for (uint32_t i = 0; i < im->npages; i++)
        im->words[i] = word_of(i);
    memcpy(im->arena, e->pg.arena, (size_t)im->nslots * CARET__PAGE_SIZE);
    for (unsigned m = 0; m < CARET__MAPS; m++) {
        size_t n = CARET__BITMAP_WORDS(m == CARET__MAP_SLOTS ? im->nslots : im->npages);
        im->maps[m] = malloc(n * 8);
        assert_non_null(im->maps[m]);
        memcpy(im->maps[m], (const void *)e->pg.maps[m], n * 8);
    }
}

static void same_image(const struct image *a)
{
    struct image b;

    take_image(&b);
    assert_memory_equal(&a->ts, &b.ts, sizeof a->ts);
    assert_memory_equal(a->words, b.words, a->npages * sizeof *a->words);
    for (unsigned m = 0; m < CARET__MAPS; m++) {
        size_t n = CARET__BITMAP_WORDS(m == CARET__MAP_SLOTS ? a->nslots : a->npages);
        assert_memory_equal(a->maps[m], b.maps[m], n * 8);
        free(b.maps[m]);
    }
    for (uint32_t i = 0; i < a->nslots; i++) /* bytes of slots in use */
        if ((a->maps[CARET__MAP_SLOTS][i / 64] >> i % 64 & 1u) == 0)
            assert_memory_equal(a->arena + (size_t)i * CARET__PAGE_SIZE,
                                b.arena + (size_t)i * CARET__PAGE_SIZE, CARET__PAGE_SIZE);
    free(b.words);
    free(b.arena);
}

static void free_image(struct image *im)
{
    for (unsigned m = 0; m < CARET__MAPS; m++)
        free(im->maps[m]);
    free(im->words);
    free(im->arena);
}

static void random_step(uint32_t own[], unsigned *n)
{
    struct caret__page *p;
    uint32_t pgno = tree_page(below(20));

    if (below(4) == 0 || (word_of(pgno) & CARET__PTE_OBSOLETE) != 0) {
        p = caret__w_alloc(&w, 0, &pgno);
        memset((uint8_t *)p + CARET__PAGE_HEAD, 0x77, 200);
        own[(*n)++] = pgno;
    } else if (!caret__w_current(&w, pgno) && below(3) == 0) {
        caret__w_free(&w, pgno);
    } else if (!caret__w_current(&w, pgno)) {
        (void)caret__w_copy(&w, &pgno);
    } else {
        p = caret__w_dirty(&w, pgno);
        memset((uint8_t *)p + CARET__PAGE_HEAD, 0x33, 200);
    }
    if (*n > 3 && below(5) == 0)
        caret__w_free(&w, own[--*n]);
}

static void undo_brings_back_maps_words_pages_and_state(void **state)
{
    (void)state;
    begin();
    for (unsigned round = 0; round < 60; round++) {
        uint32_t own[100];
        unsigned n = 0;
        struct image before;
        take_image(&before);
        undo = caret__undo_context(e, 0);
        caret__w_begin(&w);
        for (unsigned i = 0; i < 1 + round % 40; i++)
            random_step(own, &n);
        restore();
        same_image(&before);
        restore(); /* the one who repairs after a repairer's death */
        same_image(&before);
        free_image(&before);
        w.lsn++; /* pages that have version L count as saved */
    }
    w.lsn = atomic_load(&e->sh->log_applied) + 8;
    end();
}

static void a_run_is_found_where_it_is_free_and_not_reserved(void **state)
{
    (void)state;
    begin();
    for (uint32_t count = 1; count < 40; count += 3) {
        uint32_t at = caret__find_run(&e->pg, e->sh, count);
        if (at == 0)
            continue;
        for (uint32_t i = at; i < at + count; i++)
            assert_true(bit(CARET__MAP_FREE, i) && !caret__pgno_reserved(i));
        e->sh->reserved[0] = (struct caret__reserved){at, 1, 0, 0};
        atomic_store(&e->sh->nreserved, 1);
        uint32_t next = caret__find_run(&e->pg, e->sh, count);
        assert_true(next == 0 || at < next || at >= next + count);
        e->sh->reserved[0] = (struct caret__reserved){0};
        atomic_store(&e->sh->nreserved, 0);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_page_has_a_number_and_a_slot_of_its_own),
        TEST(a_copy_leaves_the_old_page_as_it_was),
        TEST(undo_brings_back_maps_words_pages_and_state),
        TEST(a_run_is_found_where_it_is_free_and_not_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
