/* Words of the segment: page-table entries, page numbers, regions that do not overlap, undo words and entries. */
#include "support/segment.h"

#include "base/rand.h"
#include "shm/undo.h"

static struct caret__rand rng;

/* ------------------------------------------------------------------- words */

static void a_page_table_word_keeps_slot_and_epoch(void **state)
{
    static const uint32_t slots[] = {0, 1, 77, CARET__ARENA_SLOTS_MAX - 1},
                          epochs[] = {1, 2, 4711, (uint32_t)CARET__PTE_EPOCH_MASK};

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < 4; k++) {
            uint64_t word = caret__pte_make(slots[i], epochs[k]);
            assert_int_equal(caret__pte_slot(word), slots[i]);
            assert_int_equal(caret__pte_epoch(word), epochs[k]);
            assert_true((word & CARET__PTE_OBSOLETE) == 0);
            assert_int_equal(caret__pte_slot(word | CARET__PTE_OBSOLETE), slots[i]);
            assert_int_equal(caret__pte_epoch(word | CARET__PTE_OBSOLETE), epochs[k]);
        }
    assert_int_equal(caret__pte_slot(0), CARET__SLOT_NONE); /* all zero: in the file */
    assert_int_equal(caret__pte_slot(4711), CARET__SLOT_NONE);
}

static void two_numbers_of_each_group_are_the_images(void **state)
{
    unsigned reserved = 0;

    (void)state;
    for (uint32_t i = 0; i < 3 * CARET__GROUP_PAGES; i++) {
        uint32_t in = i % CARET__GROUP_PAGES;
        bool image = i < CARET__GROUP_PAGES ? i < CARET__FIRST_PAGE + 2 : in < 2;
        assert_int_equal(caret__pgno_reserved(i), image);
        reserved += image;
    }
    assert_int_equal(reserved, CARET__FIRST_PAGE + 2 + 4);
}

/* In the order of the opening comment of segment.c, each at a multiple of what its mapping needs. */
static void regions_lie_one_after_the_other(void **state)
{
    (void)state;
    for (uint32_t pages = 1u << 15; pages <= CARET__MAX_PAGES; pages *= 4)
        for (uint32_t slots = 256; slots <= CARET__ARENA_SLOTS_MAX; slots *= 8) {
            struct caret__shared *sh = calloc(1, sizeof *sh);
            sh->max_pages = pages;
            sh->max_slots = slots;
            caret__segment_place(sh);
            uint64_t at[] = {0,
                             sh->off_slots,
                             sh->off_locks,
                             sh->off_bitmaps,
                             sh->off_ptab,
                             sh->off_owners,
                             sh->off_undo,
                             sh->off_ring,
                             sh->off_arena,
                             sh->seg_size};
            uint64_t size[] = {sizeof *sh,
                               sizeof(struct caret__procslot) * CARET__MAX_PROCS,
                               sh->locks_size,
                               (uint64_t)CARET__BITMAP_WORDS(pages) * 8 * CARET__MAP_SLOTS +
                                   (uint64_t)CARET__BITMAP_WORDS(slots) * 8,
                               sizeof(struct caret__pte) * (uint64_t)pages,
                               4 * (uint64_t)slots,
                               sh->undo_max,
                               sh->ring_size,
                               (uint64_t)slots * CARET__PAGE_SIZE};
            for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++) {
                assert_true(at[i] + size[i] <= at[i + 1]);
                assert_true(at[i + 1] % (64u << 10) == 0);
            }
            assert_true(sh->off_arena % CARET__HUGE == 0);
            free(sh);
        }
}

/* Maps do not share a word, and the pointers of the engine lie where the header says. */
static void the_engine_points_into_the_regions(void **state)
{
    struct fixture *f = *state;
    struct caret__engine *e = &f->e;

    fixture_create(f, 512);
    const struct caret__shared *sh = e->sh;
    uint64_t map = (uint64_t)CARET__BITMAP_WORDS(sh->max_pages);
    for (unsigned i = 0; i < CARET__MAPS; i++)
        assert_ptr_equal(e->pg.maps[i], (_Atomic uint64_t *)(void *)(e->base + sh->off_bitmaps) + i * map);
    assert_ptr_equal(e->pg.ptab, e->base + sh->off_ptab);
    assert_ptr_equal(e->pg.owners, e->base + sh->off_owners);
    assert_ptr_equal(e->pg.arena, e->base + sh->off_arena);
    assert_ptr_equal(e->undo, e->base + sh->off_undo);
    assert_ptr_equal(e->slots, e->base + sh->off_slots);
    assert_ptr_equal(e->locks, e->base + sh->off_locks);
    assert_int_equal(e->pg.max_pages, sh->max_pages);
    assert_true(e->pg.shared && e->pg.id >> 63 == 1);
    uint64_t id = caret__store_id();
    assert_true(id >> 63 == 1 && id != e->pg.id && caret__store_id() != id);
}

static void the_place_in_the_ring_is_that_of_the_log(void **state)
{
    struct fixture *f = *state;

    fixture_create(f, 256);
    assert_ptr_equal(caret__ring_at(&f->e, 0), f->e.ring);
    assert_ptr_equal(caret__ring_at(&f->e, CARET__RING_SIZE + 5), f->e.ring + 5);
    assert_ptr_equal(caret__ring_at(&f->e, 7 * (uint64_t)CARET__RING_SIZE - 1),
                     f->e.ring + CARET__RING_SIZE - 1);
}

static void the_signature_is_that_of_this_build(void **state)
{
    (void)state;
    assert_true(caret__layout_signature() != 0);
    assert_true(caret__layout_signature() == caret__layout_signature());
}

/* --------------------------------------------------------------------- undo */

static void areas_of_the_undo_region_do_not_overlap(void **state)
{
    uint64_t backed = CARET__UNDO_FRONT + 100 * CARET__PAGE_SIZE;

    (void)state;
    assert_int_equal(caret__undo_offset(1), 0);
    for (uint32_t area = 1; area <= CARET__UNDO_NEARS; area++) {
        uint64_t end = caret__undo_offset(area) + caret__undo_room(area, backed);
        assert_true(end == caret__undo_offset(area == CARET__UNDO_NEARS ? 0 : area + 1));
    }
    assert_true(caret__undo_offset(0) + caret__undo_room(0, backed) == backed);
    for (uint32_t area = 0; area <= CARET__UNDO_NEARS; area++) {
        uint64_t word = UINT64_C(4711) << 32 | (uint64_t)area << CARET__UNDO_SHIFT | 12345;
        assert_int_equal(caret__undo_area(word), area);
        assert_int_equal(caret__undo_used(word), 12345);
    }
}

/* Put back in reverse, what was saved is what was there at the beginning: ranges of all lengths, some of them twice. */
static void what_was_saved_comes_back_in_reverse(void **state)
{
    enum { SIZE = 4 * CARET__PAGE_SIZE, AREA = 40 * CARET__PAGE_SIZE };
    static uint8_t segment[SIZE], was[SIZE], area[AREA];
    _Atomic uint64_t word = UINT64_C(3) << 32 | 999, lsn = 0;

    (void)state;
    caret__rand_seed(&rng, 5);
    for (unsigned round = 0; round < 20; round++) {
        struct caret__undo u = {.area = area,
                                .base = segment,
                                .word = &word,
                                .lsn = &lsn,
                                .cap = AREA,
                                .tag = (round % 3) << CARET__UNDO_SHIFT};
        caret__rand_bytes(&rng, segment, SIZE);
        memcpy(was, segment, SIZE);
        caret__undo_begin(&u, 100 + round);
        assert_true(atomic_load(&lsn) == 100 + round);
        assert_int_equal(caret__undo_used(atomic_load(&word)), 0);
        assert_int_equal(caret__undo_area(atomic_load(&word)), round % 3);
        assert_true(atomic_load(&word) >> 32 == 3); /* the generation is the repairer's to raise */
        for (unsigned i = 0; i < 30; i++) {
            uint32_t len = 1 + caret__rand_below(&rng, i % 4 == 0 ? CARET__PAGE_SIZE : 9);
            uint32_t off = caret__rand_below(&rng, SIZE - len);
            uint32_t before = caret__undo_used(atomic_load(&word));
            caret__undo_save(&u, segment + off, len);
            assert_int_equal(caret__undo_used(atomic_load(&word)), before); /* not before it is published */
            caret__undo_publish(&u);
            assert_int_equal(caret__undo_used(atomic_load(&word)),
                             before + ((len + 7u) & ~7u) + CARET__UNDO_FOOT);
            caret__rand_bytes(&rng, segment + off, len);
        }
        for (uint32_t used = caret__undo_used(atomic_load(&word)); used != 0;) {
            uint64_t place, len;
            memcpy(&place, area + used - 16, 8);
            memcpy(&len, area + used - 8, 8);
            used -= (uint32_t)((len + 7) & ~UINT64_C(7)) + CARET__UNDO_FOOT;
            memcpy(segment + place, area + used, len);
        }
        assert_memory_equal(segment, was, SIZE);
    }
}

/* ---------------------------------------------------------- reserved numbers */

static void reserved_runs_are_counted_and_dropped(void **state)
{
    struct fixture *f = *state;

    fixture_create(f, 256);
    struct caret__shared *sh = f->e.sh;
    assert_int_equal(caret__mutex_lock(&sh->writer), 0);
    for (uint32_t i = 0; i < 5; i++)
        sh->reserved[i * 12] = (struct caret__reserved){.pgno = 20 + 10 * i, .count = i + 1};
    atomic_store(&sh->nreserved, 5);
    assert_int_equal(caret__reserved_count(sh), 5);
    caret__reserved_drop(sh, &sh->reserved[24]);
    assert_int_equal(caret__reserved_count(sh), 4);
    assert_int_equal(atomic_load(&sh->nreserved), 4);
    assert_int_equal(sh->reserved[24].count, 0);
    caret__mutex_unlock(&sh->writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_new, fixture_delete)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_table_word_keeps_slot_and_epoch),
        cmocka_unit_test(two_numbers_of_each_group_are_the_images),
        cmocka_unit_test(regions_lie_one_after_the_other),
        TEST(the_engine_points_into_the_regions),
        TEST(the_place_in_the_ring_is_that_of_the_log),
        cmocka_unit_test(the_signature_is_that_of_this_build),
        cmocka_unit_test(areas_of_the_undo_region_do_not_overlap),
        cmocka_unit_test(what_was_saved_comes_back_in_reverse),
        TEST(reserved_runs_are_counted_and_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
