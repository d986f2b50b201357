/*
 * A writer is stopped at every fault point of its commits; meanwhile another process reads everything in every way and
 * finds what was before the commit, whole, without waiting.  Likewise beside one who repairs, and by readers that are
 * themselves stopped between their steps.
 * CARET_STOPS=all stops at every single hit of every point, not only at the first ones and some between.
 */
#include "log/writer.h"
#include "stopped.h"
#include "support/points.h"

#ifdef CARET_FAULTS

/* A transaction that began before the writer stopped reads on. */
static void read_on(uint64_t first, int rc, uint64_t pre, bool applied)
{
    uint64_t sum = 0, all = 0;

    if (rc == CARET_OK)
        rc = by_handles(&sum, HANDLES / 2, HANDLES);
    if (rc == CARET_OK && first + sum != pre && !applied)
        fail_msg("%s: a transaction from before the stop saw another state", context);
    for (unsigned i = 0; rc == CARET_RESTART; i++) {
        if (i == 3)
            fail_msg("%s: a transaction starts again and again", context);
        must(caret_restart(s), "restart");
        rc = read_all(i % WAYS, &all);
    }
    must(rc, "reading on");
    must(caret_commit(s), "a transaction that only reads");
}

/* One stop: all that is read is the state before or, once that is visible, after the commit. */
static unsigned check_stop(pid_t pid, uint64_t pre, uint64_t post)
{
    uint64_t applied = atomic_load(&s->e->sh->log_applied), first = 0, sum;

    must(caret_begin(s, 0), "begin");
    int rc = by_handles(&first, 0, HANDLES / 2);
    if (!stops(pid)) {
        caret_rollback(s);
        return 0;
    }
    bool visible = atomic_load(&s->e->sh->log_applied) != applied;
    unsigned half = half_done();
    uint64_t want = visible ? post : pre;
    read_on(first, rc, pre, visible);
    expect(want, "stopped");
    expect_in_transactions(want, "stopped, in a transaction");
    must(caret_begin(s, 0), "begin"); /* writes what depends on what it has read */
    rc = read_all(0, &sum);
    must(rc, "read");
    same(sum, want, "read to write", 0);
    must(put("^z", 1, -1, 'w', 10), "set in a transaction");
    kill(pid, SIGCONT);
    wait_for(DONE);
    rc = caret_commit(s);
    if (rc != (visible ? CARET_OK : CARET_RESTART))
        fail_msg("%s: a transaction that depends on the state before: commit said %d", context, rc);
    if (rc == CARET_RESTART)
        caret_rollback(s);
    expect(post, "after the commit");
    return 1 + half;
}

static void check_op(pid_t pid, unsigned op, bool warm, unsigned *stopped, unsigned *half)
{
    uint64_t pre = 0, post = 0;
    bool all = getenv("CARET_STOPS") != NULL && strcmp(getenv("CARET_STOPS"), "all") == 0;
    unsigned hits = UINT32_MAX;
    char report[1000];

    atomic_store(&shared->op, op);
    atomic_store(&shared->warm, warm);
    for (unsigned n = 0; n <= hits;) {
        patience(PATIENCE);
        snprintf(context, sizeof context, "%s, %s pages, fault point %u", op_names[op],
                 warm ? "current" : "frozen", n);
        atomic_store(&shared->nth, n);
        wait_for(READY);
        must(read_all(0, &pre), "read");
        if (n == 0) {
            assert_false(stops(pid));
            hits = atomic_load(&shared->hits);
            must(read_all(0, &post), "read");
            expect(post, "without a stop");
            assert_true(pre != post);
        } else {
            unsigned what = check_stop(pid, pre, post);
            *stopped += what > 0;
            *half += what > 1;
        }
        if (caret_check(db, report, sizeof report) != CARET_OK)
            fail_msg("%s: %s", context, report);
        atomic_store(&shared->step, IDLE);
        n += all || n < 24 || hits < 48 ? 1 : 1 + hits / 48;
    }
}

static void readers_see_the_state_before_a_stopped_commit(void **state)
{
    unsigned stopped = 0, half = 0;
    int status;

    (void)state;
    atomic_store(&shared->step, IDLE);
    pid_t pid = start(writer);
    open_both();
    make_handles();
    for (unsigned op = 0; op < OPS; op++)
        for (unsigned warm = 0; warm < 2; warm++)
            check_op(pid, op, warm, &stopped, &half);
    print_message("%u stops, %u of them in half a commit\n", stopped, half);
    assert_true(half > 300);
    wait_for(READY);
    atomic_store(&shared->step, FINISH);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    close_both();
    alarm(0);
}

/* The stopped one is killed: its commit exists, and the next reader makes it visible. */
static void a_stopped_writer_that_is_killed_is_repaired(void **state)
{
    uint64_t pre, post;
    int status;

    (void)state;
    atomic_store(&shared->warm, 1);
    open_both();
    make_handles();
    for (unsigned op = 0; op < OPS; op++) {
        patience(PATIENCE);
        snprintf(context, sizeof context, "%s, killed", op_names[op]);
        atomic_store(&shared->op, op);
        atomic_store(&shared->nth, 0);
        atomic_store(&shared->step, IDLE);
        pid_t pid = start(writer);
        wait_for(READY);
        must(read_all(0, &pre), "read");
        assert_false(stops(pid));
        must(read_all(0, &post), "read");
        unsigned hits = atomic_load(&shared->hits);
        for (unsigned n = hits; n > 0; n--) {
            atomic_store(&shared->nth, n);
            atomic_store(&shared->step, IDLE);
            wait_for(READY);
            if (!stops(pid))
                continue; /* a few points less than last time */
            if (half_done())
                break;
            kill(pid, SIGCONT);
            wait_for(DONE);
        }
        assert_true(half_done());
        expect(pre, "stopped");
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        expect(post, "killed");
    }
    close_both();
    alarm(0);
}

/* A process that dies with a lock. */
static void die_locked(int64_t i)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_node_buf n;
        open_both();
        must(caret_lock(s, node(&n, "^lock", i, -1), 0), "lock");
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

/* Somebody who comes now can open, read, lock and leave; locks of the dead are freed. */
static void opening_locks_and_closing_do_not_wait(void **state)
{
    caret_node_buf n;

    (void)state;
    snprintf(context, sizeof context, "opening beside a stopped writer");
    patience(PATIENCE);
    atomic_store(&shared->op, 11);
    atomic_store(&shared->warm, 1);
    atomic_store(&shared->nth, 40);
    atomic_store(&shared->step, IDLE);
    pid_t pid = start(writer);
    wait_for(READY);
    assert_true(stops(pid));
    die_locked(1);
    open_both(); /* takes the slot of the dead one, whose lock is freed with it */
    assert_true(half_done());
    must(caret_lock(s, node(&n, "^lock", 1, -1), 0), "lock of a dead process");
    die_locked(2);
    must(caret_lock(s, node(&n, "^lock", 2, -1), UINT64_C(5000000000)), "lock of a dead process");
    must(caret_unlock_all(s), "unlock");
    close_both();
    kill(pid, SIGCONT);
    wait_for(DONE);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    alarm(0);
}

/* ---------------------------------------------------------- stopped repairers */

static void other_reader(void)
{
    struct look l = {0};

    open_both();
    caret__fault_arm("past_copied", atomic_load(&shared->nth), CARET__FAULT_STOP);
    must(caret_transaction(s, look, &l, 0), "other reader");
    caret__fault_disarm();
    atomic_store(&shared->sum, l.sum);
    close_both();
}

static void repairer(void)
{
    open_both();
    atomic_store(&shared->repairer, READY);
    while (atomic_load(&shared->repairer) != GO)
        usleep(50);
    caret__fault_arm("*", atomic_load(&shared->hits), CARET__FAULT_STOP);
    must(caret__writer_lock(s->e), "repairer");
    caret__writer_unlock(s->e);
    caret__fault_disarm();
}

/* It stops, or ends well. */
static bool stopped_or_done(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    if (!WIFSTOPPED(status) && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        fail_msg("%s: a process ended: %x", context, (unsigned)status);
    return WIFSTOPPED(status);
}

static void go_on(pid_t pid)
{
    kill(pid, SIGCONT);
    assert_false(stopped_or_done(pid));
}

/* The writer is stopped at its nth point; a reader at the copy-th page it has copied, the writer killed, the one
 * who repairs stopped at the mth point of that.  False: it wasn't, m is beyond the end (or nothing is half done
 * at any point). */
static bool stop_three(unsigned op, unsigned nth, unsigned copy, unsigned m)
{
    uint64_t pre, post, want;
    int status;

    patience(PATIENCE);
    snprintf(context, sizeof context, "%s, point %u, page %u, repair %u", op_names[op], nth, copy, m);
    atomic_store(&shared->op, op);
    atomic_store(&shared->warm, 1);
    atomic_store(&shared->nth, nth);
    atomic_store(&shared->repairer, IDLE);
    atomic_store(&shared->step, IDLE);
    pid_t w = start(writer);
    wait_for(READY);
    must(read_all(0, &pre), "read");
    while (!stops(w) || !half_done()) { /* the tree is not quite the same each time */
        if (--nth == 0) {               /* in pages of full size this one is done in a single step */
            kill(w, SIGKILL);
            waitpid(w, &status, 0);
            return false;
        }
        kill(w, SIGCONT);
        wait_for(DONE);
        atomic_store(&shared->nth, nth);
        atomic_store(&shared->step, IDLE);
        wait_for(READY);
    }
    pid_t p = start(repairer);
    while (atomic_load(&shared->repairer) != READY)
        usleep(50);
    atomic_store(&shared->nth, copy);
    pid_t reader = start(other_reader);
    bool stopped = stopped_or_done(reader);
    kill(w, SIGKILL);
    waitpid(w, &status, 0);
    atomic_store(&shared->hits, m);
    atomic_store(&shared->repairer, GO);
    bool in_repair = stopped_or_done(p);
    bool half = half_done();
    if (stopped)
        go_on(reader);
    want = atomic_load(&shared->sum); /* of one of the two states; which, is known below */
    if (half)
        expect(pre, "repair stopped");
    if (in_repair)
        go_on(p);
    must(read_all(0, &post), "read");
    expect(post, "repaired");
    if (pre == post)
        fail_msg("%s: the commit was lost", context);
    same(want, half || !stopped ? pre : post, "the other reader", 0);
    return in_repair;
}

/* Hits of fault points in a commit, by doing it. */
static unsigned hits_of(unsigned op)
{
    atomic_store(&shared->op, op);
    atomic_store(&shared->warm, 1);
    atomic_store(&shared->nth, 0);
    atomic_store(&shared->step, IDLE);
    pid_t pid = start(writer);
    wait_for(READY);
    assert_false(stops(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return atomic_load(&shared->hits);
}

static void readers_go_on_beside_a_stopped_repairer(void **state)
{
    static const unsigned ops[] = {0, 3, 11, 13, 14};
    unsigned n = 0;

    (void)state;
    open_both();
    make_handles();
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        unsigned nth = hits_of(ops[i]) * 6 / 10;
        for (unsigned m = 1; stop_three(ops[i], nth, 1 + m % 4, m); m += m < 30 ? 1 : m / 6)
            n++;
    }
    print_message("%u repairs stopped\n", n);
    assert_true(n > 20);
    close_both();
    alarm(0);
}

static void plain_reader(void)
{
    uint64_t sum;

    open_both();
    caret__fault_arm("past_copied", atomic_load(&shared->nth), CARET__FAULT_STOP);
    must(read_all(0, &sum), "plain reader");
    caret__fault_disarm();
    atomic_store(&shared->sum, sum);
    close_both();
}

/* The reader is stopped with a half-changed page copied, the writer goes on, to the next commits. */
static bool writer_goes_on(pid_t w, unsigned nth, unsigned copy)
{
    uint64_t pre;

    patience(PATIENCE);
    atomic_store(&shared->nth, nth);
    atomic_store(&shared->step, IDLE);
    wait_for(READY);
    must(read_all(0, &pre), "read");
    bool half = stops(w) && half_done(), stopped = false;
    pid_t reader = 0;
    if (half) {
        atomic_store(&shared->nth, copy);
        reader = start(plain_reader);
        stopped = stopped_or_done(reader);
    }
    kill(w, SIGCONT);
    wait_for(DONE);
    atomic_store(&shared->nth, 0);
    atomic_store(&shared->step, IDLE);
    wait_for(READY); /* the state before, made anew */
    if (stopped)
        go_on(reader);
    if (half)
        same(atomic_load(&shared->sum), pre, "the other reader", 0);
    assert_false(stops(w));
    return stopped;
}

static void a_stopped_reader_notices_that_the_writer_went_on(void **state)
{
    unsigned n = 0;

    (void)state;
    open_both();
    make_handles();
    for (unsigned op = 0; op < OPS; op++) {
        unsigned hits = hits_of(op);
        atomic_store(&shared->nth, 0);
        atomic_store(&shared->step, IDLE);
        pid_t w = start(writer);
        wait_for(READY);
        assert_false(stops(w));
        for (unsigned i = 1; i < 10; i++) {
            snprintf(context, sizeof context, "%s, point %u", op_names[op], hits * i / 10);
            n += writer_goes_on(w, 1 + hits * i / 10, 1 + i % 3);
        }
        kill(w, SIGKILL);
        waitpid(w, NULL, 0);
    }
    print_message("%u readers stopped\n", n);
    assert_true(n > 20);
    close_both();
    alarm(0);
}

#else

static void skipped(void **state)
{
    (void)state;
    need_points();
}
#define readers_see_the_state_before_a_stopped_commit    skipped
#define a_stopped_writer_that_is_killed_is_repaired      skipped
#define readers_go_on_beside_a_stopped_repairer          skipped
#define a_stopped_reader_notices_that_the_writer_went_on skipped
#define opening_locks_and_closing_do_not_wait            skipped

#endif

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_the_state_before_a_stopped_commit),
        cmocka_unit_test(a_stopped_writer_that_is_killed_is_repaired),
        cmocka_unit_test(readers_go_on_beside_a_stopped_repairer),
        cmocka_unit_test(a_stopped_reader_notices_that_the_writer_went_on),
        cmocka_unit_test(opening_locks_and_closing_do_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return with_database(run);
}
