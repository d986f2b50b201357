/*
 * Reading around a writer that does not go on (past.c, undone.c): at any moment of its commit a reader finds the state
 * before it, whole; and what it read so counts only as long as the writer stands still.
 */
#include "support/store.h"

#include "tree/past.h"
#include "tree/read_set.h"
#include "tree/undone.h"

/* The writer lives, and stands still. */
static int stands_still(void *ctx, uint64_t version, unsigned tries)
{
    (void)ctx;
    (void)version;
    (void)tries;
    return CARET_NONE;
}

static struct caret__view view_around(struct store *s)
{
    struct caret__view v = store_view(s);

    v.applied = atomic_load(s->pg->applied);
    v.stalled = stands_still;
    v.ctx = &s->f->e;
    return v;
}

static void fill(struct store *s, uint64_t seed)
{
    store_shared(s, seed);
    store_fill(s, "p", 5, 0, 300, 20);
    for (unsigned i = 0; i < 200; i++)
        store_change(s, 800, 10);
}

/* After each change of a commit of many. */
static void a_reader_finds_the_state_before_the_commit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct store s;
        struct model before = {0};
        fill(&s, seed);
        if (seed % 2 == 0)
            store_freeze(&s);
        struct caret__view v = view_around(&s);
        model_copy(&before, &s.model);
        store_begin(&s);
        for (unsigned i = 0; i < 12; i++) {
            if (s.f->e.sh->ts.free_pages > 60 && s.f->e.sh->ts.free_slots > 60)
                store_change(&s, 1500, 1);
            store_compare_walk(&s, &v, &before);
        }
        assert_true(v.past != NULL); /* it was in the way */
        store_commit(&s);
        store_compare_walk(&s, &v, &s.model);
        caret__past_destroy(&v);
        model_clear(&before);
        store_close(&s);
    }
}

/* A commit of so many sets that its undo entries are looked up by their place, not gone through. */
static void a_large_commit_is_read_around_too(void **state)
{
    struct store s;
    struct model before = {0};
    uint8_t key[CARET__KEY_MAX];

    (void)state;
    fill(&s, 20);
    store_fill(&s, "p", 5, 300, 600, 20);
    struct caret__view v = view_around(&s);
    model_copy(&before, &s.model);
    store_begin(&s);
    for (unsigned i = 0; i < 900 && s.f->e.sh->ts.free_pages > 60; i += 3) {
        store_set(&s, key, number_key(key, "p", 5, i), "in between", 10);
        if (i % 30 == 0)
            store_compare_walk(&s, &v, &before);
    }
    assert_true(caret__undo_used(atomic_load(&s.f->e.sh->undo_word)) > 4 * CARET__PAGE_SIZE);
    store_compare_walk(&s, &v, &before);
    store_commit(&s);
    store_compare_walk(&s, &v, &s.model);
    caret__past_destroy(&v);
    model_clear(&before);
    store_close(&s);
}

/* What was found so is valid, until the writer is done or a repairer begins anew. */
static void what_was_rebuilt_counts_while_the_writer_stands_still(void **state)
{
    struct store s;
    struct caret__at at;
    const uint8_t *key = (const uint8_t *)"p00100";

    (void)state;
    fill(&s, 30);
    store_set(&s, key, 6, "before", 6);
    for (unsigned repaired = 0; repaired < 2; repaired++) {
        struct caret__view v = view_around(&s);
        uint64_t applied = v.applied;
        store_begin(&s);
        store_set(&s, key, 6, "after", 5);
        assert_int_equal(caret__seek(&v, key, 6, &at), CARET_OK);
        assert_true(at.found && at.version == applied); /* never the version of the commit */
        struct caret__entry e = caret__page_entry(at.page, at.pos);
        assert_int_equal(e.vlen, repaired ? 5 : 6);
        assert_true(caret__past_valid(&v, &at) && caret__at_valid(&v, &at));
        if (repaired) { /* another generation of undo entries */
            atomic_fetch_add(&s.f->e.sh->undo_word, UINT64_C(1) << 32);
            assert_false(caret__at_valid(&v, &at));
        }
        store_commit(&s);
        assert_false(caret__at_valid(&v, &at));
        assert_int_equal(caret__seek(&v, key, 6, &at), CARET_OK);
        assert_true(at.version > applied);
        assert_int_equal(caret__page_entry(at.page, at.pos).vlen, 5);
        caret__past_destroy(&v);
    }
    store_close(&s);
}

static void nothing_is_rebuilt_while_no_commit_is_applied(void **state)
{
    struct store s;

    (void)state;
    fill(&s, 40);
    struct caret__view v = view_around(&s);
    assert_int_equal(caret__past_begin(&v), CARET_RESTART);
    store_begin(&s);
    assert_int_equal(caret__past_begin(&v), CARET_OK);
    assert_true(caret__past_lsn(v.past) == atomic_load(s.pg->applied) && caret__past_holds(v.past));
    assert_int_equal(caret__past_root(v.past), store_root(&s));
    store_commit(&s);
    assert_false(caret__past_holds(v.past));
    caret__past_destroy(&v);
    assert_null(v.past);
    store_close(&s);
}

/* A transaction that has read a leaf before the commit may read it again beside it: the read set keeps what it has. */
static void a_read_set_takes_what_was_rebuilt(void **state)
{
    struct store s;
    struct caret__reads reads = {0};
    struct caret__at at;
    const uint8_t *key = (const uint8_t *)"p00100";

    (void)state;
    fill(&s, 50);
    struct caret__view v = view_around(&s);
    caret__reads_begin(&reads, v.applied);
    v.reads = &reads;
    assert_int_equal(caret__seek(&v, key, 6, &at), CARET_OK);
    assert_int_equal(caret__reads_note(&v, &at), CARET_OK);
    store_begin(&s);
    store_set(&s, key, 6, "meanwhile", 9);
    assert_int_equal(caret__seek(&v, key, 6, &at), CARET_OK);
    assert_true(v.past != NULL && caret__past_valid(&v, &at));
    assert_int_equal(caret__reads_note(&v, &at), CARET_OK);
    assert_false(caret__reads_valid(s.pg, &reads)); /* it could not be committed */
    store_commit(&s);
    assert_int_equal(caret__seek(&v, key, 6, &at), CARET_OK);
    assert_int_equal(caret__reads_note(&v, &at), CARET_RESTART);
    caret__reads_destroy(&reads);
    caret__past_destroy(&v);
    store_close(&s);
}

/* ------------------------------------------------------------------- undone */

/*
 * Bytes of a made-up segment are changed again and again, each range saved before: undone gives what they were, of any
 * piece, whatever is asked first; with few entries and with many.
 */
static void any_piece_is_undone(void **state)
{
    enum { PIECES = 64, SIZE = PIECES * CARET__PAGE_SIZE, AREA = 40 * CARET__PAGE_SIZE };
    struct caret__shared *sh = calloc(1, sizeof *sh);
    uint8_t *segment = malloc(SIZE), *was = malloc(SIZE), *area = calloc(1, CARET__UNDO_FRONT + AREA),
            buf[512];
    struct caret__engine *e = calloc(1, sizeof *e);
    struct caret__undone undone = {0};
    struct caret__rand r;

    (void)state;
    caret__rand_seed(&r, 70);
    *e = (struct caret__engine){.sh = sh, .base = segment, .undo = area};
    sh->seg_size = SIZE;
    atomic_store(&sh->undo_cap, CARET__UNDO_FRONT + AREA);
    for (unsigned round = 0; round < 6; round++) {
        struct caret__undo u = {.area = area + CARET__UNDO_FRONT,
                                .base = segment,
                                .word = &sh->undo_word,
                                .lsn = &sh->undo_lsn,
                                .cap = AREA};
        caret__rand_bytes(&r, segment, SIZE);
        memcpy(was, segment, SIZE);
        caret__undo_begin(&u, 8 + round);
        while (u.used < AREA - 3 * CARET__PAGE_SIZE) {
            uint32_t len = 1 + caret__rand_below(&r, caret__rand_below(&r, 8) == 0 ? CARET__PAGE_SIZE : 24);
            uint32_t off = caret__rand_below(&r, SIZE - len);
            caret__undo_save(&u, segment + off, len);
            caret__undo_publish(&u);
            caret__rand_bytes(&r, segment + off, len);
            off = caret__rand_below(&r, PIECES) * CARET__PAGE_SIZE +
                  caret__rand_below(&r, CARET__PAGE_SIZE / 2);
            len = 1 + caret__rand_below(&r, CARET__PAGE_SIZE / 2 < sizeof buf ? CARET__PAGE_SIZE / 2
                                                                              : sizeof buf);
            memcpy(buf, segment + off, len);
            assert_true(caret__undone_on(&undone, e, round, 0, segment + off, len, buf));
            assert_memory_equal(buf, was + off, len);
        }
    }
    /* entries that make no sense: a length longer than a page */
    uint32_t used = caret__undo_used(atomic_load(&sh->undo_word));
    uint64_t len = CARET__PAGE_SIZE + 8;
    memcpy(area + CARET__UNDO_FRONT + used - 8, &len, 8);
    caret__undone_destroy(&undone);
    assert_false(caret__undone_on(&undone, e, 5, 0, segment, 8, buf));
    assert_false(caret__undone_on(&undone, e, 5, 1, segment, 8, buf)); /* nor another generation */
    caret__undone_destroy(&undone);
    free(segment);
    free(was);
    free(area);
    free(sh);
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_finds_the_state_before_the_commit),
        cmocka_unit_test(a_large_commit_is_read_around_too),
        cmocka_unit_test(what_was_rebuilt_counts_while_the_writer_stands_still),
        cmocka_unit_test(nothing_is_rebuilt_while_no_commit_is_applied),
        cmocka_unit_test(a_read_set_takes_what_was_rebuilt),
        cmocka_unit_test(any_piece_is_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
