/*
 * Ranges of children: what a prefix is about, what the log says of a kill of a range, conflicts, and which builds may
 * read it.  That kills of ranges do what a model says: test_fuzz.c; deaths: test/log/test_kill.c.
 */
#include "support/database.h"

#include <stdbool.h>

#include "base/rand.h"
#include "disk/meta.h"
#include "disk/record.h"
#include "support/nodes.h"

static caret_node_buf node;

static caret_node *at(const char *zwr)
{
    OK(caret_node_parse(&node.node, sizeof node, zwr, strlen(zwr), 0));
    return &node.node;
}

static caret_slice slice(const char *s)
{
    return s != NULL ? (caret_slice){s, strlen(s)} : (caret_slice){NULL, 0};
}

static int kill_range(caret_session *s, const char *zwr, const char *from, const char *to, int flags)
{
    caret_slice lo = slice(from), hi = slice(to);

    return caret_kill_range(s, at(zwr), &lo, to != NULL ? &hi : NULL, flags);
}

/* Subscripts of the children of ^r, each with a space after it. */
static const char *children(caret_session *s)
{
    static char list[4000];
    caret_node_buf n;
    size_t used = 0, len;

    caret_node_copy(&n.node, sizeof n, at("^r"));
    for (int rc = caret_first(s, &n.node); rc == CARET_OK; rc = caret_next(s, &n.node)) {
        OK(caret_node_subscript(&n.node, 0, list + used, sizeof list - used, &len, NULL));
        used += len;
        list[used++] = ' ';
    }
    list[used] = 0;
    return list;
}

static void set_all(caret_session *s, const char *const *subs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const caret_slice address[] = {slice(subs[i]), {"below", 5}};
        OK(caret_set_path(s, "^r", address, 1 + i % 2, "x", 1));
    }
}

static void a_prefix_is_about_strings_alone(void **state)
{
    static const char *const subs[] = {"",  "-1", ".1",    "1",         "1.5", "12", "01",   "1.50",    "1a",
                                       "a", "a ", "a\xff", "a\xff\xff", "ab",  "b",  "\xff", "\xff\xff"};
    static const struct {
        const char *prefix, *left;
    } cases[] = {
        {"1", " -1 .1 1 1.5 12 01 a a  ab a\xff a\xff\xff b \xff \xff\xff "},
        {"1.5", " -1 .1 1 1.5 12 01 1a a a  ab a\xff a\xff\xff b \xff \xff\xff "},
        {"a", " -1 .1 1 1.5 12 01 1.50 1a b \xff \xff\xff "},
        {"a\xff", " -1 .1 1 1.5 12 01 1.50 1a a a  ab b \xff \xff\xff "},
        {"\xff", " -1 .1 1 1.5 12 01 1.50 1a a a  ab a\xff a\xff\xff b "},
        {"", " -1 .1 1 1.5 12 "},
        {"c", " -1 .1 1 1.5 12 01 1.50 1a a a  ab a\xff a\xff\xff b \xff \xff\xff "},
    };
    caret_session *s;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned txn = 0; txn < 2; txn++) {
            set_all(s, subs, sizeof subs / sizeof subs[0]);
            if (txn)
                OK(caret_begin(s, 0));
            OK(kill_range(s, "^r", cases[i].prefix, NULL, CARET_RANGE_PREFIX));
            assert_string_equal(children(s), cases[i].left);
            if (txn)
                OK(caret_commit(s));
            assert_string_equal(children(s), cases[i].left);
        }
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

static void what_makes_no_sense_is_refused(void **state)
{
    static char longest[CARET_MAX_KEY + 1];
    caret_session *s;
    const caret_slice one = {"1", 1}, big = {longest, sizeof longest};

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_set(s, at("^r(1)"), "x", 1));
    assert_int_equal(kill_range(s, "^r", "1", NULL, 16), CARET_E_INVALID);
    assert_int_equal(kill_range(s, "^r", "1", "2", CARET_RANGE_PREFIX), CARET_E_INVALID);
    assert_int_equal(kill_range(s, "^r", NULL, NULL, CARET_RANGE_PREFIX), CARET_E_INVALID);
    assert_int_equal(kill_range(s, "^r", "1", NULL, CARET_RANGE_PREFIX | CARET_RANGE_BEFORE),
                     CARET_E_INVALID);
    memset(longest, 'x', sizeof longest);
    assert_int_equal(caret_kill_range(s, at("^r"), &big, NULL, 0), CARET_E_KEY2BIG);
    assert_int_equal(caret_kill_range(s, at("^r"), NULL, &big, 0), CARET_E_KEY2BIG);
    assert_int_equal(caret_first_in(s, at("^r"), &big, NULL, CARET_RANGE_PREFIX), CARET_E_KEY2BIG);
    assert_int_equal(caret_node_in(at("^r(1)"), &big, NULL, 0), 0);
    assert_int_equal(caret_node_in(at("^r"), NULL, NULL, 0), 0);
    assert_int_equal(caret_node_in(at("^r(1)"), NULL, NULL, 0), 1);
    assert_int_equal(caret_node_in(NULL, NULL, NULL, 0), 0);
    assert_int_equal(caret_kill_range(NULL, at("^r"), &one, NULL, 0), CARET_E_INVALID);
    assert_int_equal(caret_kill_range(s, NULL, &one, NULL, 0), CARET_E_INVALID);
    assert_int_equal(caret_last_in(s, NULL, &one, NULL, 0), CARET_E_INVALID);
    assert_string_equal(children(s), "1 ");
    OK(kill_range(s, "^r", "2", "1", 0)); /* nothing is in it */
    OK(kill_range(s, "^r", "1", "1", CARET_RANGE_BEFORE));
    assert_string_equal(children(s), "1 ");
    OK(caret_kill_range(s, at("^r"), NULL, NULL, 0));
    assert_string_equal(children(s), "");
    caret_session_close(s);
    OK(caret_close(db));
}

/* A node that can have no children has none in any range. */
static void the_deepest_node_has_no_range(void **state)
{
    caret_session *s;
    caret_node_buf n;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    caret_node_copy(&n.node, sizeof n, at("^r"));
    for (unsigned i = 0; i < CARET_MAX_SUBS; i++)
        OK(caret_node_child(&n.node, sizeof n, &n.node, "", 0));
    OK(caret_set(s, &n.node, "x", 1));
    OK(caret_kill_range(s, &n.node, NULL, NULL, 0));
    assert_int_equal(caret_first_in(s, &n.node, NULL, NULL, 0), CARET_NONE);
    OK(caret_get(s, &n.node, &(caret_slice){NULL, 0}));
    caret_session_close(s);
    OK(caret_close(db));
}

/* ------------------------------------------------------------------------- the log */

static void expect(caret_log *log, const char *parent, const char *from, const char *to, int flags)
{
    caret_change c = {.size = sizeof c};
    char name[64];
    size_t len;

    OK(caret_log_next(log, &c));
    assert_int_equal(c.kind, CARET_CHANGE_KILL_RANGE);
    OK(caret_node_zwr(c.node, 0, name, sizeof name - 1, &len));
    name[len] = 0;
    assert_string_equal(name, parent);
    const caret_slice told[] = {c.from, c.to}, meant[] = {slice(from), slice(to)};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(told[i].data != NULL, meant[i].data != NULL);
        assert_int_equal(told[i].len, meant[i].len);
        if (meant[i].len != 0)
            assert_memory_equal(told[i].data, meant[i].data, meant[i].len);
    }
    assert_int_equal(c.flags, flags);
}

static void the_log_says_what_was_killed(void **state)
{
    static const struct {
        const char *from, *to;
        int flags;
    } cases[] = {{"1", "5", 0},
                 {"1", "5", CARET_RANGE_BEFORE},
                 {NULL, "b", 0},
                 {"-1.5", NULL, 0},
                 {"a", "b", CARET_RANGE_BEFORE | CARET_RANGE_FROM_STRING},
                 {"1", "2", CARET_RANGE_FROM_STRING | CARET_RANGE_TO_STRING},
                 {"a\x01", NULL, CARET_RANGE_PREFIX},
                 {"1", NULL, CARET_RANGE_PREFIX},
                 {"\xff", NULL, CARET_RANGE_PREFIX},
                 {"", NULL, CARET_RANGE_PREFIX},
                 {NULL, NULL, 0}};
    caret_session *s;
    caret_log *log;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *subs[] = {"-2", "1", "4", "1a", "a", "a\x01\x01", "ax", "\xff"};
        set_all(s, subs, 8);
        OK(caret_log_open(db, CARET_LOG_END, &log));
        OK(kill_range(s, "^r", cases[i].from, cases[i].to, cases[i].flags));
        if (i == 4) /* a needless flag is not told: it is a kill up to what "a" as a prefix has */
            expect(log, "^r", "a", NULL, CARET_RANGE_PREFIX);
        else
            expect(log, "^r", cases[i].from, cases[i].to, cases[i].flags);
        assert_int_equal(caret_log_next(log, &(caret_change){.size = sizeof(caret_change)}), CARET_NONE);
        caret_log_close(log);
    }
    caret_session_close(s);
    OK(caret_close(db));
}

/* Of a transaction: what overlaps is one, what was killed with more is not told. */
static void a_transaction_tells_each_kill_once(void **state)
{
    caret_session *s;
    caret_log *log;
    caret_change c = {.size = sizeof c};

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    OK(caret_log_open(db, CARET_LOG_END, &log));
    OK(caret_begin(s, 0));
    OK(caret_kill(s, at("^r(3,1)")));
    OK(kill_range(s, "^r", "2", "4", 0));
    OK(kill_range(s, "^r", "3", "6", CARET_RANGE_BEFORE));
    OK(caret_set(s, at("^r(5)"), "x", 1));
    OK(caret_kill(s, at("^r(5,1)")));
    OK(kill_range(s, "^r", "6", "7", 0));
    OK(caret_commit(s));
    expect(log, "^r", "2", "6", CARET_RANGE_BEFORE);
    OK(caret_log_next(log, &c));
    assert_int_equal(c.kind, CARET_CHANGE_SET);
    expect(log, "^r", "6", "7", 0);
    assert_int_equal(caret_log_next(log, &c), CARET_NONE);
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* From a string that can't be a subscript to itself there is nothing: no change is told. */
static void a_range_of_what_no_subscript_is_tells_nothing(void **state)
{
    static const char *const texts[] = {"", "5", "-.5", "10000000000000000000000000"};
    const int both = CARET_RANGE_FROM_STRING | CARET_RANGE_TO_STRING;
    caret_session *s;
    caret_log *log;
    caret_change c = {.size = sizeof c};

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    set_all(s, texts, 4);
    OK(caret_log_open(db, CARET_LOG_END, &log));
    for (unsigned i = 0; i < 4; i++) {
        const caret_slice same = slice(texts[i]);
        caret_node_copy(&node.node, sizeof node, at("^r"));
        assert_int_equal(caret_first_in(s, &node.node, &same, &same, both), CARET_NONE);
        OK(caret_begin(s, 0));
        OK(kill_range(s, "^r", texts[i], texts[i], both));
        OK(caret_commit(s));
    }
    assert_int_equal(caret_log_next(log, &c), CARET_NONE);
    assert_string_equal(children(s), " -.5 5 10000000000000000000000000 ");
    caret_log_close(log);
    caret_session_close(s);
    OK(caret_close(db));
}

/* --------------------------------------------------------------------- a copy by the log */

static const char *const some[] = {"",  "0", "1",  "2",  "10",    "-3",    ".5",   "1e3", "01",
                                   "a", "b", "ab", "ac", "a\x01", "a\xff", "\xff", "1a",  "zz"};
#define SOME (sizeof some / sizeof some[0])

static caret_node *random_node(struct caret__rand *r)
{
    OK(caret_node_var(&node.node, sizeof node, "^t", 2));
    for (unsigned depth = caret__rand_below(r, 4); depth > 0; depth--) {
        const char *sub = some[caret__rand_below(r, SOME)];
        OK(caret_node_child(&node.node, sizeof node, &node.node, sub, strlen(sub)));
    }
    return &node.node;
}

/* A copy, a move or a merge, if there can be one. */
static int random_copy(caret_session *s, struct caret__rand *r)
{
    static int (*const ways[])(caret_session *, const caret_node *,
                               const caret_node *) = {caret_copy, caret_move, caret_merge};
    caret_node_buf to;

    OK(caret_node_copy(&to.node, sizeof to, random_node(r)));
    int rc = ways[caret__rand_below(r, 3)](s, &to.node, random_node(r));
    return rc == CARET_E_INVALID || rc == CARET_E_KEY2BIG || rc == CARET_E_MAXSUBS ? CARET_OK : rc;
}

/* A prefix; from a bound to itself, as a string; from one to another. */
static int random_range(caret_session *s, struct caret__rand *r, const caret_node *n)
{
    caret_slice from = slice(some[caret__rand_below(r, SOME)]), to = slice(some[caret__rand_below(r, SOME)]);
    int flags = (int)(caret__rand_below(r, 16) & ~1u);

    switch (caret__rand_below(r, 3)) {
    case 0: return caret_kill_range(s, n, &from, NULL, CARET_RANGE_PREFIX);
    case 1: return caret_kill_range(s, n, &from, &from, CARET_RANGE_FROM_STRING | CARET_RANGE_TO_STRING);
    default: return caret_kill_range(s, n, &from, &to, flags);
    }
}

static int random_one(caret_session *s, struct caret__rand *r)
{
    unsigned what = caret__rand_below(r, 13);
    caret_node *n = random_node(r);

    if (what < 8)
        return caret_set(s, n, "value", caret__rand_below(r, 6));
    if (what == 8)
        return caret_delete(s, n);
    if (what == 9 && caret_node_depth(n) > 1)
        return caret_kill(s, n);
    if (what == 10)
        return random_copy(s, r);
    return caret_node_depth(n) > 0 || caret__rand_below(r, 4) == 0 ? random_range(s, r, n) : CARET_OK;
}

/* In a transaction some of it is in another one, which is rolled back half the time. */
static int random_change(caret_session *s, void *arg)
{
    struct caret__rand *r = arg;
    unsigned level = caret_txn_level(s);
    int rc = CARET_OK;

    for (unsigned i = 1 + caret__rand_below(r, 6); i > 0 && rc == CARET_OK; i--) {
        if (level == 0 || level > 2 || caret__rand_below(r, 8) != 0) {
            rc = random_one(s, r);
            continue;
        }
        OK(caret_begin(s, 0));
        rc = random_change(s, r);
        if (rc == CARET_OK)
            rc = caret__rand_below(r, 2) == 0 ? caret_rollback(s) : caret_commit(s);
    }
    return rc;
}

/* By the text of its name, which is all that a program somewhere else has. */
static void made_anew(caret_node_buf *to, const caret_node *from)
{
    char name[4 * CARET_MAX_KEY];
    size_t len;

    OK(caret_node_zwr(from, 0, name, sizeof name, &len));
    OK(caret_node_parse(&to->node, sizeof *to, name, len, 0));
}

static void do_again(caret_session *s, caret_log *log)
{
    caret_change c = {.size = sizeof c};
    caret_node_buf n;

    while (caret_log_next(log, &c) == CARET_OK) {
        made_anew(&n, c.node);
        switch (c.kind) {
        case CARET_CHANGE_SET: OK(caret_set(s, &n.node, c.value.data, c.value.len)); break;
        case CARET_CHANGE_DELETE: OK(caret_delete(s, &n.node)); break;
        case CARET_CHANGE_KILL: OK(caret_kill(s, &n.node)); break;
        default: OK(caret_kill_range(s, &n.node, &c.from, &c.to, c.flags));
        }
    }
}

/* Whoever does what the log tells has the same. */
static void what_the_log_tells_makes_a_copy(void **state)
{
    char copy_path[112];
    caret_options o = options();
    caret_db *db = open_db(), *copy;
    caret_session *s, *t;
    caret_log *log;
    struct caret__rand r;

    (void)state;
    snprintf(copy_path, sizeof copy_path, "%s/copy.caret", dir);
    OK(caret_open(copy_path, &o, &copy));
    OK(caret_session_open(db, &s));
    OK(caret_session_open(copy, &t));
    OK(caret_log_open(db, CARET_LOG_END, &log));
    caret__rand_seed(&r, 15);
    for (unsigned i = 0; i < 3000; i++) {
        if (i % 2 == 0)
            OK(caret_transaction(s, random_change, &r, 0));
        else
            OK(random_change(s, &r));
        do_again(t, log);
        if (i % 10 == 0 && digest(db) != digest(copy))
            fail_msg("step %u: not the same", i);
    }
    assert_int_equal(digest(db), digest(copy));
    check(db);
    caret_log_close(log);
    caret_session_close(t);
    OK(caret_close(copy));
    uint64_t sum = digest(db);
    caret_session_close(s);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(digest(db), sum);
    OK(caret_close(db));
}

/* ----------------------------------------------------------------------- conflicts */

static void whoever_has_read_of_a_range_conflicts_with_its_kill(void **state)
{
    caret_session *s, *t;
    caret_slice v;

    (void)state;
    caret_db *db = open_db();
    put(db, 0, 3000, 20);
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &t));
    for (unsigned i = 0; i < 3; i++) {
        OK(caret_begin(s, 0));
        if (i == 0)
            OK(caret_get(s, at("^t(1500)"), &v)); /* it was there */
        else if (i == 1)
            OK(caret_next(s, at("^t(999)"))); /* and so was its successor */
        else
            OK(caret_get(s, at("^t(10)"), &v)); /* far from it */
        OK(caret_set(s, at("^out"), "x", 1));
        OK(kill_range(t, "^t", "1000", "2000", 0));
        assert_int_equal(caret_commit(s), i < 2 ? CARET_RESTART : CARET_OK);
        if (i < 2)
            OK(caret_rollback(s));
        put(db, 1000, 2001, 20);
    }
    OK(caret_begin(s, 0)); /* a kill reads nothing */
    OK(kill_range(s, "^t", "100", "200", 0));
    OK(caret_set(t, at("^t(150)"), "other", 5));
    OK(caret_set(t, at("^t(150,1)"), "other", 5));
    OK(caret_commit(s));
    assert_int_equal(caret_get(s, at("^t(150,1)"), &v), CARET_NONE);
    assert_int_equal(caret_get(s, at("^t(201)"), &v), CARET_OK);
    check(db);
    caret_session_close(t);
    caret_session_close(s);
    OK(caret_close(db));
}

/* A snapshot reads on; a session that has not written finds the range gone, one in two processes too. */
static void a_snapshot_and_another_process_see_a_range_or_not(void **state)
{
    caret_session *s, *t;
    caret_slice v;
    pid_t pid;

    (void)state;
    caret_db *db = open_db();
    put(db, 0, 1000, 50);
    OK(caret_session_open(db, &s));
    OK(caret_session_open(db, &t));
    OK(caret_begin(t, CARET_TXN_SNAPSHOT));
    if ((pid = fork()) == 0) {
        caret_session *mine;
        caret_db *again = open_db();
        OK(caret_session_open(again, &mine));
        OK(kill_range(mine, "^t", "10", "990", CARET_RANGE_BEFORE));
        caret_session_close(mine);
        _exit(caret_close(again));
    }
    join(pid);
    OK(caret_get(t, at("^t(500)"), &v));
    assert_int_equal(caret_get(s, at("^t(500)"), &v), CARET_NONE);
    assert_int_equal(kill_range(t, "^t", "1", "5", 0), CARET_E_READONLY);
    OK(caret_commit(t));
    assert_int_equal(count(db, 0, 50), 10);
    assert_int_equal(count(db, 990, 50), 10);
    caret_session_close(t);
    caret_session_close(s);
    check(db);
    OK(caret_close(db));
}

/* ----------------------------------------------------------------------- other builds */

static struct caret__meta newest_slot(void)
{
    struct caret__meta m[2];
    int fd = open(path, O_RDONLY);

    for (int i = 0; i < 2; i++)
        assert_int_equal(pread(fd, &m[i], sizeof m[i], i * CARET__META_SPACING), sizeof m[i]);
    close(fd);
    return m[m[1].epoch > m[0].epoch];
}

/* Builds that know no kills of ranges must not replay a log that may have one; what was closed has none. */
static void a_log_is_for_builds_that_know_its_records(void **state)
{
    (void)state;
    caret_db *db = open_db();
    assert_int_equal(newest_slot().min_reader, 2);
    put(db, 0, 100, 20);
    OK(caret_checkpoint(db));
    assert_int_equal(newest_slot().min_reader, 2);
    OK(caret_close(db));
    assert_int_equal(newest_slot().min_reader, 1);
    assert_int_equal(newest_slot().format, 2);
    db = open_db();
    assert_int_equal(newest_slot().min_reader, 2);
    OK(caret_close(db));
}

/* A kill of a range that is in the log alone. */
static void a_range_is_killed_again_after_the_loss_of_memory(void **state)
{
    (void)state;
    pid_t pid = child_with(0, 2000, 30);
    fflush(NULL);
    pid_t other_pid = fork();
    if (other_pid == 0) {
        caret_session *s;
        caret_db *db = open_db();
        OK(caret_session_open(db, &s));
        OK(kill_range(s, "^t", "100", "1900", CARET_RANGE_BEFORE));
        OK(caret_sync(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(other_pid, NULL, 0);
    kill_and_wait(pid);
    remove_shared_memory();
    caret_db *db = open_db();
    assert_int_equal(count(db, 0, 30), 100);
    assert_int_equal(count(db, 1900, 30), 100);
    check(db);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_prefix_is_about_strings_alone),
        TEST(what_makes_no_sense_is_refused),
        TEST(the_deepest_node_has_no_range),
        TEST(the_log_says_what_was_killed),
        TEST(a_transaction_tells_each_kill_once),
        TEST(a_range_of_what_no_subscript_is_tells_nothing),
        TEST(what_the_log_tells_makes_a_copy),
        TEST(whoever_has_read_of_a_range_conflicts_with_its_kill),
        TEST(a_snapshot_and_another_process_see_a_range_or_not),
        TEST(a_log_is_for_builds_that_know_its_records),
        TEST(a_range_is_killed_again_after_the_loss_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
