/* Page numbers that are taken before they are free: by what, and that the file keeps their bytes as long as it must. */
#include "support/database.h"

#include "base/fault.h"
#include "log/checkpoint.h"
#include "open/open.h"
#include "page/store.h"

#ifdef CARET_FAULTS

#ifdef CARET_SMALL
#define NODES 3000
#else
#define NODES 20000
#endif

static struct caret__engine *e;
static caret_db *db;

static bool bit(unsigned map, uint32_t pgno)
{
    return (atomic_load(&e->pg.maps[map][pgno / 64]) >> pgno % 64 & 1u) != 0;
}

static void open_both(void)
{
    caret_options o = options();
#ifdef CARET_SMALL
    o.log_size = CARET__LOG_MAX; /* so that no checkpoint is taken but ours */
#endif
    OK(caret__engine_open(path, &o, &e));
    db = open_db();
}

static void close_both(void)
{
    OK(caret_close(db));
    OK(caret__engine_close(e));
}

/* In a child that dies at the n-th time it comes to the point; false: it did not come there. */
static bool dies_at(const char *point, unsigned nth, void (*work)(caret_db *))
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *own = open_db();
        caret__fault_arm(point, nth, CARET__FAULT_KILL);
        work(own);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

static void take_a_checkpoint(caret_db *of)
{
    caret_checkpoint(of);
}

/* The tree of the file has died, and the checkpoint of the next one is underway, but nobody takes it. */
static void have_one_underway(void)
{
    put(db, 0, NODES, 60);
    OK(caret_checkpoint(db));
    put(db, 0, NODES, 60);
    assert_true(dies_at("checkpoint_data_synced", 1, take_a_checkpoint));
    assert_int_equal(atomic_load(&e->sh->durable_epoch) + 2, atomic_load(&e->sh->epoch));
}

/* Each number in a pending map says that its page is dead, and the counters are those of the maps. */
static void check_maps(void)
{
    uint32_t n = 0, lent = 0, npages = atomic_load(&e->sh->ts.npages);

    for (uint32_t p = 0; p < npages; p++) {
        bool pending = bit(CARET__MAP_PENDING0, p) || bit(CARET__MAP_PENDING1, p);
        assert_true(!pending || (atomic_load(&e->pg.ptab[p].word) & CARET__PTE_OBSOLETE) != 0);
        n += pending;
        lent += bit(caret__lent_map(atomic_load(&e->sh->epoch)), p);
    }
    assert_int_equal(n, e->sh->ts.dead_pages);
    assert_true(e->sh->ts.lent_pages == 0 || e->sh->ts.lent_pages == lent);
}

static uint8_t *read_pages(uint32_t npages)
{
    uint8_t *bytes = malloc((size_t)npages * CARET__PAGE_SIZE);
    int fd = open(path, O_RDONLY);

    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, (size_t)npages * CARET__PAGE_SIZE, 0),
                     (size_t)npages * CARET__PAGE_SIZE);
    close(fd);
    return bytes;
}

static void a_file_of_two_trees_need_not_grow_for_a_third(void **state)
{
    (void)state;
    open_both();
    have_one_underway();
    uint32_t lent = e->sh->ts.lent_pages, npages = atomic_load(&e->sh->ts.npages);
    assert_true(lent > NODES / (CARET__PAGE_SIZE / 40));
    put(db, 0, NODES, 60);
    assert_int_equal(atomic_load(&e->sh->ts.npages), npages);
    assert_true(e->sh->ts.lent_pages < lent / 4);
    check_maps();
    check(db);
    OK(caret_checkpoint(db));
    assert_int_equal(e->sh->ts.lent_pages, 0);
    assert_int_equal(count(db, 0, 60), NODES);
    check(db);
    close_both();
}

/* Neither pages nor long values, which are written at once. */
static void the_file_keeps_what_is_lent(void **state)
{
    (void)state;
    open_both();
    have_one_underway();
    uint32_t npages = atomic_load(&e->sh->ts.npages);
    uint8_t *was_lent = calloc(npages, 1), *before = read_pages(npages);
    for (uint32_t p = 0; p < npages; p++)
        was_lent[p] = bit(caret__lent_map(atomic_load(&e->sh->epoch)), p);
    put(db, 0, NODES / 2, 60);
    put(db, NODES, NODES + 30, 4 * CARET__PAGE_SIZE);
    put(db, NODES / 2, NODES, 60);
    assert_int_equal(atomic_load(&e->sh->durable_epoch) + 2, atomic_load(&e->sh->epoch));
    uint8_t *now = read_pages(npages);
    unsigned others = 0;
    for (uint32_t p = 0; p < npages; p++) {
        bool same = memcmp(before + (size_t)p * CARET__PAGE_SIZE, now + (size_t)p * CARET__PAGE_SIZE,
                           CARET__PAGE_SIZE) == 0;
        assert_true(same || !was_lent[p]);
        others += !same;
    }
    assert_true(others != 0 || atomic_load(&e->sh->ts.npages) != npages); /* those of the long values */
    free(was_lent);
    free(before);
    free(now);
    check(db);
    close_both();
}

static void use_and_die(void)
{
    if (fork() == 0) {
        open_both();
        have_one_underway();
        put(db, 0, NODES, 60);
        put(db, NODES, NODES + 10, 60);
        kill(getpid(), SIGKILL);
    }
    wait(NULL);
}

static void the_tree_before_is_whole_when_all_are_gone(void **state)
{
    (void)state;
    use_and_die();
    db = open_db();
    check(db);
    assert_int_equal(count(db, 0, 60), NODES + 10);
    OK(caret_close(db));
}

/* What a snapshot reads waits for its end. */
static void nothing_is_lent_beside_a_snapshot(void **state)
{
    caret_session *s;
    caret_node_buf n;
    caret_slice v;

    (void)state;
    open_both();
    put(db, 0, NODES, 60);
    OK(caret_session_open(db, &s));
    OK(caret_begin(s, CARET_TXN_SNAPSHOT));
    put(db, 0, NODES, 20);
    assert_true(dies_at("checkpoint_data_synced", 1, take_a_checkpoint));
    assert_int_equal(e->sh->ts.lent_pages, 0);
    put(db, 0, NODES, 30);
    OK(caret_checkpoint(db));
    put(db, 0, NODES, 40);
    OK(caret_checkpoint(db));
    for (int64_t i = 0; i < NODES; i++) {
        node_of(&n, i);
        OK(caret_get(s, &n.node, &v));
        assert_true(v.len == 60 && memcmp(v.data, text, text_of(i, 60, text)) == 0);
    }
    OK(caret_rollback(s));
    caret_session_close(s);
    check(db);
    close_both();
}

static void set_all(caret_db *of)
{
    put(of, 0, NODES, 60);
}

/* The first kill of a leaf copies it, the last makes it die: in one commit. */
static void kill_leaf_by_leaf(caret_db *of)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(of, &s));
    for (int64_t from = 0; from < NODES; from += NODES / 4) {
        OK(caret_begin(s, 0));
        for (int64_t i = from; i < from + 60; i++) {
            node_of(&n, i);
            OK(caret_kill(s, &n.node));
        }
        OK(caret_commit(s));
    }
    caret_session_close(s);
}

static void deaths_of_writers_and_repairers_leave_it_right(void **state)
{
    static const char *const points[] = {"page_lent", "page_taken", "page_born", "page_pending",
                                         "undo_published"};

    unsigned turn = 0;

    (void)state;
    open_both();
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++)
        for (unsigned nth = 1; nth < 40; nth += 1 + nth) {
            have_one_underway();
            bool died = dies_at(points[i], nth, turn++ % 3 == 0 ? set_all : kill_leaf_by_leaf);
            if (died && nth > 4)
                dies_at("repair_unpended", 1, set_all);
            put(db, 0, 1, 60);
            check_maps();
            check(db);
            put(db, 0, NODES, 60);
            assert_int_equal(count(db, 0, 60), NODES);
            OK(caret_checkpoint(db));
            check_maps();
            check(db);
        }
    close_both();
}

/* The number is in two maps when its releaser dies. */
static void a_release_that_died_counts_none_twice(void **state)
{
    static const char *const points[] = {"freeze_epoch", "freeze_lent", "release_free", "release_pending",
                                         "checkpoint_released"};

    (void)state;
    open_both();
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
        put(db, 0, NODES, 60);
        OK(caret_checkpoint(db));
        put(db, 0, NODES, 60);
        assert_true(dies_at(points[i], 1, take_a_checkpoint));
        put(db, 0, NODES / 3, 60);
        check_maps();
        check(db);
        OK(caret_checkpoint(db));
        check_maps();
        check(db);
        assert_int_equal(count(db, 0, 60), NODES);
    }
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_of_two_trees_need_not_grow_for_a_third),  TEST(the_file_keeps_what_is_lent),
        TEST(the_tree_before_is_whole_when_all_are_gone),     TEST(nothing_is_lent_beside_a_snapshot),
        TEST(deaths_of_writers_and_repairers_leave_it_right), TEST(a_release_that_died_counts_none_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void lent_numbers(void **state)
{
    (void)state;
    need_points();
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(lent_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
