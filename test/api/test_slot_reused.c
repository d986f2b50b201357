/*
 * A leaf is written to the file and its slot given to another page while somebody looks for a key in it.  The leaf's
 * version is what it was, so only the word of the page table tells: a place that was found in the other page's bytes
 * must not be believed, by the look-up, by the node that remembers it, nor by a commit.
 */
#include "stopped.h"

#include "log/checkpoint.h"

#ifdef CARET_FAULTS

#define APPENDED 411 /* from ^m("m000") on; the last ones by the process that is stopped */
#define LATE     10
static caret_node *appended(caret_node_buf *n, int i)
{
    char text[8];

    snprintf(text, sizeof text, "m%03d", i);
    must(caret_node_var(&n->node, sizeof *n, "^m", 2), "node");
    must(caret_node_child(&n->node, sizeof *n, &n->node, text, 4), "node");
    return &n->node;
}

static int append(int i)
{
    caret_node_buf n;

    return caret_set(s, appended(&n, i), "appended", 8);
}

/* Below them, and in one leaf: as many as the last leaf has, of which each begins with another letter than its
 * neighbours.  So a search beside a place of the last leaf finds that its key comes after all. */
static caret_node *other(caret_node_buf *n, unsigned i)
{
    const char name[2] = {(char)('a' + i % 12), (char)('a' + i / 12)};

    must(caret_node_var(&n->node, sizeof *n, "^m", 2), "node");
    must(caret_node_child(&n->node, sizeof *n, &n->node, name, 2), "node");
    return &n->node;
}

static void set_others(unsigned count, char fill)
{
    caret_node_buf n;

    for (unsigned i = 0; i < count; i++)
        must(caret_set(s, other(&n, i), &fill, 1), "set");
}

/* ------------------------------------------------------------ what is stopped */

static int set_one(void)
{
    return append(APPENDED);
}

static int get_one(void)
{
    caret_node_buf n;
    caret_slice v;
    int rc = caret_get(s, appended(&n, APPENDED - 1), &v);

    return rc != CARET_OK                                     ? rc
           : v.len == 8 && memcmp(v.data, "appended", 8) == 0 ? CARET_OK
                                                              : CARET_E_INVALID;
}

static int both(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    DO(append(APPENDED));
    return append(APPENDED + 1);
}

static int set_two(void)
{
    return caret_transaction(s, both, NULL, 0);
}

static const struct way {
    const char *name, *point;
    bool in_order; /* the last key was beside it */
    int (*call)(void);
    int more; /* keys that it appends */
} ways[] = {
    {"a set by a guess", "leaf_guessed", false, set_one, 1},
    {"a set beside the last", "leaf_recalled", true, set_one, 1},
    {"a get by a guess", "leaf_guessed", false, get_one, 0},
    {"a get beside the last", "leaf_recalled", true, get_one, 0},
    {"two sets, the first", "leaf_guessed", false, set_two, 2},
    {"two sets, the second", "beside_recalled", false, set_two, 2},
};

static const struct way *way;

/* As if it had read each page from the file before, one that had its number. */
static void know_all_pages(void)
{
    for (uint32_t i = 0; i < caret__min(s->e->pg.max_pages, 100000); i++)
        caret__page_is_known(&s->e->pg, i);
}

/* Remembers the last leaf, stops in it. */
static void look_and_stop(void)
{
    caret_node_buf n;
    caret_slice v;

    open_both();
    know_all_pages();
    for (int i = APPENDED - LATE; i < APPENDED; i++)
        must(append(i), "append");
    if (!way->in_order)
        must(caret_get(s, appended(&n, 1), &v), "get");
    caret__fault_arm(way->point, 1, CARET__FAULT_STOP);
    must(way->call(), way->name);
    close_both();
}

/* ------------------------------------------------------------------- meanwhile */

/* The leaf of a node. */
static uint32_t leaf_of(caret_node *n)
{
    caret_slice v;

    must(caret_get(s, n, &v), "get");
    return caret__hint_get(caret__node(n)).pgno;
}

static uint32_t slot_of(caret_node *n)
{
    return caret__pte_slot(atomic_load(&s->e->pg.ptab[leaf_of(n)].word));
}

/* A checkpoint writes all pages; after it slots are given out from the first on.  More and more go to leaves of ^a,
 * until the others get the one that the last leaf had. */
static void give_away(uint32_t slot, unsigned count)
{
    caret_node_buf n;

    for (int before = 0; before < 400; before++) {
        must(caret_checkpoint(db), "checkpoint");
        for (int i = 0; i < before; i++)
            must(put("^a", i, -1, 'a', CARET__PAGE_SIZE / 4), "set");
        set_others(count, (char)('a' + before % 26));
        if (slot_of(other(&n, 0)) == slot)
            return;
    }
    fail_msg("slot %u was never used again", slot);
}

static void use_again(void)
{
    caret_node_buf n;
    uint32_t pgno = leaf_of(appended(&n, APPENDED - 1));
    uint64_t word = atomic_load(&s->e->pg.ptab[pgno].word);

    give_away(caret__pte_slot(word), caret__page_count(caret__page_at(&s->e->pg, pgno, word)));
}

static void expect_all(void)
{
    caret_node_buf n;
    caret_slice v;
    char report[1000];

    for (int i = 0; i < APPENDED + way->more; i++)
        if (caret_get(s, appended(&n, i), &v) != CARET_OK)
            fail_msg("%s: m%03d is lost", way->name, i);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", way->name, report);
    for (int i = APPENDED - LATE; i < APPENDED + way->more; i++)
        must(caret_delete(s, appended(&n, i)), "delete");
}

static void a_place_in_a_slot_used_again_is_not_believed(void **state)
{
    int status;

    (void)state;
    open_both();
    for (int i = 0; i < APPENDED - LATE; i++)
        must(append(i), "append");
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        way = &ways[i];
        pid_t pid = start(look_and_stop);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        if (!WIFSTOPPED(status))
            fail_msg("%s: it was not stopped: 0x%x", way->name, (unsigned)status);
        use_again();
        kill(pid, SIGCONT);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: status 0x%x", way->name, (unsigned)status);
        expect_all();
    }
    close_both();
}

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_place_in_a_slot_used_again_is_not_believed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return with_database(run);
}

#else

int main(void)
{
    puts("[  SKIPPED ] this build has no points to stop at");
    return 0;
}

#endif
