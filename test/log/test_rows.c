/* Transactions whose sets are done in rows (tree/row.c): what is there afterwards is what was set, one by one. */
#include "support/database.h"

#include "base/fault.h"
#include "base/rand.h"
#include "page/page.h"

#define KEYS 1500

/* What is there: the length of the value of each key, -1 = none.  A value says its key and round. */
struct model {
    int len[KEYS];
    unsigned round[KEYS];
};

static struct caret__rand rng;

static unsigned below(unsigned n)
{
    return (unsigned)(caret__rand_next(&rng) % n);
}

/* Keys with much or little in common, so that prefixes come and go. */
static void key_of(caret_node_buf *n, int i)
{
    char name[40];

    OK(caret_node_var(&n->node, sizeof *n, "^r", 2));
    if (i % 3 == 0) {
        OK(caret_node_child_int(&n->node, sizeof *n, &n->node, i));
        return;
    }
    snprintf(name, sizeof name, i % 3 == 1 ? "some longer words %d" : "s%d", i / 7);
    OK(caret_node_child(&n->node, sizeof *n, &n->node, name, strlen(name)));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, i));
}

static size_t value_of(char *val, int i, unsigned round, int len)
{
    memset(val, 'a' + (char)((unsigned)i * 7 + round) % 26, (size_t)len);
    return (size_t)len;
}

static void compare(caret_db *db, const struct model *m)
{
    static char want[4096];
    caret_session *s;
    caret_node_buf n;
    caret_slice got;

    check(db);
    OK(caret_session_open(db, &s));
    for (int i = 0; i < KEYS; i++) {
        key_of(&n, i);
        int rc = caret_get(s, &n.node, &got);
        if (m->len[i] < 0) {
            assert_int_equal(rc, CARET_NONE);
            continue;
        }
        OK(rc);
        assert_int_equal(got.len, m->len[i]);
        assert_memory_equal(got.data, want, value_of(want, i, m->round[i], m->len[i]));
    }
    caret_session_close(s);
}

/* Mostly short values, some as long as a page takes, some longer. */
static int some_length(void)
{
    unsigned kind = below(40);
    return (int)(kind == 0 ? below(2000) : kind < 4 ? below(CARET__INLINE_MAX) : below(30));
}

static void change(caret_session *s, struct model *m, unsigned round, int from, int to, unsigned every)
{
    static char val[4096];
    caret_node_buf n;

    for (int i = from; i < to; i++) {
        if (below(every) != 0)
            continue;
        key_of(&n, i);
        if (below(12) == 0) {
            OK(caret_delete(s, &n.node));
            m->len[i] = -1;
            continue;
        }
        m->len[i] = some_length();
        m->round[i] = round;
        OK(caret_set(s, &n.node, val, value_of(val, i, round, m->len[i])));
    }
}

static void a_round(caret_db *db, struct model *m, unsigned round)
{
    caret_session *s;
    int from = (int)below(KEYS), to = from + (int)below((unsigned)(KEYS - from)) + 1;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    change(s, m, round, from, to, 1 + below(8));
    OK(caret_commit(s));
    caret_session_close(s);
}

static void rows_leave_what_sets_one_by_one_would(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        static struct model m;
        caret_db *db = open_db();

        rng = (struct caret__rand){seed};
        memset(m.len, 0xff, sizeof m.len);
        for (unsigned round = 0; round < 20; round++) {
            a_round(db, &m, round);
            if (below(4) == 0)
                OK(caret_checkpoint(db));
            compare(db, &m);
        }
        OK(caret_close(db));
        db = open_db();
        compare(db, &m);
        OK(caret_close(db));
        unlink(path);
    }
}

/* A child's: the n-th time that it comes to a point is its end. */
static void die_in_a_row(caret_db *db, struct model *m, unsigned round, const char *point, unsigned nth)
{
    rng = (struct caret__rand){round + 1};
    caret__fault_arm(point, nth, CARET__FAULT_KILL);
    a_round(db, m, round);
    _exit(0);
}

/* Slots have moved, or have their entries, but the page does not say so: what was committed is there all the same. */
static void a_death_in_a_row_is_repaired(void **state)
{
    static const char *const points[] = {"page_row_gaps", "page_row_slots"};
    struct model *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned deaths = 0;

    (void)state;
    need_points();
    assert_ptr_not_equal(m, MAP_FAILED);
    memset(m->len, 0xff, sizeof m->len);
    caret_db *db = open_db();
    for (unsigned round = 0; round < 60; round++) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            die_in_a_row(db, m, round, points[round % 2], 1 + round / 2 % 10);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        deaths += WIFSIGNALED(status);
        if (!WIFSIGNALED(status))
            assert_int_equal(status, 0);
        compare(db, m);
    }
    assert_true(deaths > 20);
    OK(caret_close(db));
    db = open_db();
    compare(db, m);
    OK(caret_close(db));
    munmap(m, sizeof *m);
}

/* More than a row between two that are there, again and again. */
static void a_row_may_end_anywhere(void **state)
{
    caret_db *db = open_db();
    caret_session *s;
    caret_node_buf n;

    (void)state;
    for (int64_t each = 2; each <= 2000; each *= 10) { /* of that distance those that will be there first */
        OK(caret_session_open(db, &s));
        caret_node_var(&n.node, sizeof n, "^t", 2);
        OK(caret_kill(s, &n.node));
        for (int64_t i = 0; i < 20000; i += each) {
            node_of(&n, i);
            OK(caret_set(s, &n.node, text, text_of(i, 40, text)));
        }
        for (int64_t from = 0; from < 20000; from += 2100) {
            OK(caret_begin(s, 0));
            for (int64_t i = from; i < from + 2100 && i < 20000; i++) {
                node_of(&n, i);
                OK(caret_set(s, &n.node, text, text_of(i, 40, text)));
            }
            OK(caret_commit(s));
        }
        caret_session_close(s);
        check(db);
        assert_int_equal(count(db, 0, 40), 20000);
    }
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_may_end_anywhere),
        TEST(rows_leave_what_sets_one_by_one_would),
        TEST(a_death_in_a_row_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
