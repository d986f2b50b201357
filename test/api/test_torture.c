/*
 * Processes are killed at random, and at every named fault point, while others use the database:
 * nothing acknowledged is lost, transactions are whole, everything checks clean, locks are freed.  After each death
 * the successor compares all keys of the dead one with what it had been told (oracle.h).
 * Usage: test_torture [kills [seed]]
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"
#include "oracle.h"
#include "support/crowd.h"
#include "support/nodes.h"
#include "support/points.h"

#define WORKERS  8
#define ACCOUNTS 20
#define EACH     1000

#if defined(__SANITIZE_ADDRESS__)
#define KILLS 50u /* a sanitizer takes longer */
#else
#define KILLS 60u
#endif

static unsigned kills = KILLS, operations = 10; /* operations: of the oracle, in a round */
static uint64_t seed = 20261121;
static char path[80], context[64]; /* context: what was going on, for messages */
static caret_db *handle;           /* by the test itself; NULL: nothing */
static pid_t doomed[WORKERS];      /* the workers that were not reaped yet; 0: none */

/* What the children had acknowledged, in memory shared with the parent. */
static struct journal {
    _Atomic uint64_t incrs[WORKERS];
    struct oracle oracle[WORKERS];
    _Atomic uint32_t go;
    uint32_t names;
    char name[256][40];
} * journal;

static void account(caret_node_buf *n, unsigned i)
{
    caret_node_var(&n->node, sizeof *n, "^account", 8);
    caret_node_child_int(&n->node, sizeof *n, &n->node, i);
}

static void counter(caret_node_buf *n, unsigned i)
{
    caret_node_var(&n->node, sizeof *n, "^count", 6);
    caret_node_child_int(&n->node, sizeof *n, &n->node, i);
}

struct transfer {
    unsigned from, to;
};

static int transfer(caret_session *s, void *arg)
{
    const struct transfer *t = arg;
    caret_node_buf a, b;
    account(&a, t->from);
    account(&b, t->to);
    int rc = caret_incr_int(s, &a.node, -7, 0, NULL);
    return rc == CARET_OK ? caret_incr_int(s, &b.node, 7, 0, NULL) : rc;
}

/* Three neighbours, new or not, in one transaction: all have the same value. */
struct group {
    unsigned me, id;
    int64_t value;
    bool gone;
};

static void member(caret_node_buf *n, unsigned me, unsigned id, unsigned i)
{
    caret_node_var(&n->node, sizeof *n, "^group", 6);
    caret_node_child_int(&n->node, sizeof *n, &n->node, me);
    caret_node_child_int(&n->node, sizeof *n, &n->node, id * 3 + i);
}

static int set_group(caret_session *s, void *arg)
{
    const struct group *g = arg;
    caret_node_buf n;
    char text[24];
    size_t len = (size_t)snprintf(text, sizeof text, "%lld", (long long)g->value);
    int rc = CARET_OK;

    for (unsigned i = 0; i < 3 && rc == CARET_OK; i++) {
        member(&n, g->me, g->id, i);
        rc = g->gone ? caret_delete(s, &n.node) : caret_set(s, &n.node, text, len);
    }
    return rc;
}

static int get_number(caret_session *s, caret_node_buf *n, uint64_t *out)
{
    char text[32];
    size_t len;
    int rc = caret_get_copy(s, &n->node, text, sizeof text - 1, &len);
    if (rc == CARET_OK) {
        text[len] = 0;
        *out = (uint64_t)strtoll(text, NULL, 10);
    }
    return rc;
}

/* The money of all accounts in a snapshot that lasts for some rounds. */
static void look_back(caret_db *db, unsigned round)
{
    static caret_session *s;
    caret_node_buf n;
    long total = 0;

    if (round % 20 == 5 && s == NULL) {
        must(caret_session_open(db, &s), "session of a snapshot");
        must(caret_begin(s, CARET_TXN_SNAPSHOT), "snapshot");
    } else if (round % 20 == 15 && s != NULL) {
        for (unsigned i = 0; i < ACCOUNTS; i++) {
            uint64_t number = 0;
            account(&n, i);
            must(get_number(s, &n, &number), "account in a snapshot");
            total += (long)number;
        }
        must(total == (long)ACCOUNTS * EACH ? CARET_OK : 1, "money in a snapshot");
        caret_session_close(s);
        s = NULL;
    }
}

/* A fifth of the data, or the long value, which is the only string. */
static int kill_some(caret_session *s, const caret_node *n, struct caret__rand *r)
{
    unsigned first = caret__rand_below(r, 450);
    char from[12], to[12];
    caret_slice lo = {from, (size_t)snprintf(from, sizeof from, "%u", first)};
    caret_slice hi = {to, (size_t)snprintf(to, sizeof to, "%u", first + 100)}, prefix = {"b", 1};

    return first % 4 == 0 ? caret_kill_range(s, n, &prefix, NULL, CARET_RANGE_PREFIX)
                          : caret_kill_range(s, n, &lo, &hi, first % 2 == 0 ? CARET_RANGE_BEFORE : 0);
}

/* One round of everything: splits, joins, kills, long values, transactions, locks, snapshots. */
static void work(caret_db *db, caret_session *s, unsigned me, struct caret__rand *r, unsigned round)
{
    caret_node_buf n, l;
    char val[600];
    struct transfer t = {caret__rand_below(r, ACCOUNTS), caret__rand_below(r, ACCOUNTS)};

    memset(val, 'v', sizeof val);
    for (unsigned i = 0; i < operations; i++)
        must(oracle_round(&journal->oracle[me], s, me, r), "oracle");
    must(caret_transaction(s, transfer, &t, 0), "transfer");
    struct group g = {me, caret__rand_below(r, 60), caret__rand_below(r, 100000), round % 4 == 3};
    must(caret_transaction(s, set_group, &g, 0), "group");
    counter(&n, me);
    must(caret_incr_int(s, &n.node, 1, 0, NULL), "incr");
    atomic_fetch_add(&journal->incrs[me], 1);
    caret_node_var(&n.node, sizeof n, "^data", 5);
    caret_node_child_int(&n.node, sizeof n, &n.node, me);
    if (round % 60 == 59)
        must(caret_kill(s, &n.node), "kill");
    if (round % 20 == 9)
        must(kill_some(s, &n.node, r), "kill of a range");
    caret_node_child_int(&n.node, sizeof n, &n.node, (int64_t)caret__rand_below(r, 500));
    if (round % 3 == 2)
        must(caret_delete(s, &n.node), "delete");
    else
        must(caret_set(s, &n.node, val, caret__rand_below(r, sizeof val)), "set");
    caret_node_var(&l.node, sizeof l, "^lock", 5);
    int rc = caret_lock(s, &l.node, 0);
    if (rc == CARET_OK)
        must(caret_unlock(s, &l.node), "unlock");
    if (round % 40 == 13) {
        static char big[20000];
        caret_node_child(&n.node, sizeof n, &n.node, "big", 3);
        must(caret_set(s, &n.node, big, sizeof big), "long value");
    }
    if (round % 50 == 20)
        must(caret_checkpoint(db), "checkpoint");
    look_back(db, round);
}

/* Is everything of a dead worker as it must be?  Else this process ends. */
static void consult(caret_session *s, unsigned worker)
{
    const char *wrong = oracle_check(&journal->oracle[worker], s, worker);

    if (wrong != NULL) {
        fprintf(stderr, "%s: %s\n", context, wrong);
        _exit(98);
    }
}

static void child(unsigned me, uint64_t random, unsigned rounds)
{
    caret_db *db;
    caret_session *s;
    struct caret__rand r;

    caret__rand_seed(&r, random);
    must(caret_open(path, NULL, &db), "open");
    must(caret_session_open(db, &s), "session");
    consult(s, me); /* what the one before left */
    for (unsigned i = 0; i < rounds; i++)
        work(db, s, me, &r, (unsigned)(random % 60) + i);
    caret_session_close(s);
    caret_close(db);
    _exit(0);
}

static int reap(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static caret_db *attach(const char *what)
{
    must(caret_open(path, NULL, &handle), what);
    return handle;
}

static int detach(void)
{
    caret_db *db = handle;

    handle = NULL;
    return caret_close(db);
}

static void create(void)
{
    caret_session *s;
    caret_node_buf n;

    unlink(path);
    memset(journal, 0, sizeof *journal);
    must(caret_session_open(attach("create"), &s), "session");
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        account(&n, i);
        must(caret_set(s, &n.node, "1000", 4), "set");
    }
    caret_session_close(s);
    must(detach(), "close");
}

/* The invariants, when nobody works; slack: how many increments may be there without having been acknowledged. */
static void verify(caret_db *db, unsigned slack)
{
    caret_session *s;
    caret_node_buf n;
    char report[2000];
    uint64_t number = 0;
    long total = 0;

    must(caret_session_open(db, &s), "session");
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        account(&n, i);
        must(get_number(s, &n, &number), "account");
        total += (long)number;
    }
    assert_int_equal(total, ACCOUNTS * EACH);
    for (unsigned i = 0; i < WORKERS; i++) {
        uint64_t acked = atomic_load(&journal->incrs[i]);
        counter(&n, i);
        number = 0;
        (void)get_number(s, &n, &number);
        assert_in_range(number, acked, acked + slack);
        const char *wrong = oracle_check(&journal->oracle[i], s, i);
        if (wrong != NULL)
            fail_msg("%s: %s", context, wrong);
    }
    for (unsigned i = 0; i < WORKERS * 60; i++) {
        uint64_t value[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
        for (unsigned k = 0; k < 3; k++) {
            member(&n, i / 60, i % 60, k);
            (void)get_number(s, &n, &value[k]);
        }
        assert_true(value[0] == value[1] && value[1] == value[2]);
    }
    caret_node_var(&n.node, sizeof n, "^lock", 5);
    patience(60);
    must(caret_lock(s, &n.node, CARET_FOREVER), "lock"); /* those of the dead are freed */
    patience(0);
    caret_session_close(s);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s: %s", context, caret_message(), report);
}

static void print_counts(const char *what, unsigned deaths, caret_db *db)
{
    uint64_t done = 0, checks = 0, in_flight = 0, found_new = 0;
    caret_stats st = {.size = sizeof st};

    for (unsigned i = 0; i < WORKERS; i++) {
        done += atomic_load(&journal->oracle[i].operations);
        checks += atomic_load(&journal->oracle[i].checks);
        in_flight += atomic_load(&journal->oracle[i].in_flight);
        found_new += atomic_load(&journal->oracle[i].found_new);
    }
    if (db != NULL)
        must(caret_stat(db, &st), "stat");
    print_message("%u %s, %llu repairs; %llu operations acknowledged, %llu times all keys of a worker "
                  "compared; in %llu "
                  "deaths one was in flight, and of these done in %llu\n",
                  deaths, what, (unsigned long long)st.repairs, (unsigned long long)done,
                  (unsigned long long)checks, (unsigned long long)in_flight, (unsigned long long)found_new);
}

/* It was killed, by us or by a fault point that was armed. */
static void assert_killed(int status)
{
    if (WIFEXITED(status))
        fail_msg("a worker ended by itself: status %d", WEXITSTATUS(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* With fault points half of the workers die at one of them, some time or other: between two steps of the protocol. */
static void start_doomed(unsigned me, struct caret__rand *r)
{
    unsigned nth = caret__rand_below(r, 2) == 0 ? 0 : 1 + caret__rand_below(r, 20000);
    uint64_t random = caret__rand_next(r);

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (nth != 0)
            caret__fault_arm("*", nth, CARET__FAULT_KILL);
        child(me, random, 1000000);
    }
    assert_true(pid > 0);
    doomed[me] = pid;
}

/* One that has died by itself, or is killed now. */
static unsigned next_victim(struct caret__rand *r)
{
    int status;
    unsigned i = 0;
    pid_t dead;

    usleep(500 + caret__rand_below(r, 5000));
    dead = waitpid(-1, &status, WNOHANG);
    if (dead <= 0) {
        dead = doomed[caret__rand_below(r, WORKERS)];
        kill(dead, SIGKILL);
        status = reap(dead);
    }
    while (doomed[i] != dead)
        i++;
    doomed[i] = 0;
    assert_killed(status);
    return i;
}

static int reap_doomed(unsigned i)
{
    pid_t pid = doomed[i];

    doomed[i] = 0;
    return reap(pid);
}

static void kill_them(void)
{
    for (unsigned i = 0; i < WORKERS; i++)
        kill(doomed[i], SIGKILL);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_killed(reap_doomed(i));
}

/* Where a test failed its workers are still there, and would write what the next test looks at; and the database, of
 * which there can't be another one at that path. */
static int clean_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WORKERS; i++)
        if (doomed[i] != 0) {
            kill(doomed[i], SIGKILL);
            (void)reap_doomed(i);
        }
    if (handle != NULL)
        (void)detach();
    return 0;
}

/* Children are killed at random and replaced; somebody else stays attached, so that repair does it all. */
static void random_kills_lose_nothing(void **state)
{
    struct caret__rand r;

    (void)state;
    print_message("seed %llu, %u kills\n", (unsigned long long)seed, kills);
    caret__rand_seed(&r, seed);
    create();
    for (unsigned i = 0; i < WORKERS; i++)
        start_doomed(i, &r);
    caret_db *db = attach("open");
    for (unsigned k = 0; k < kills; k++) {
        start_doomed(next_victim(&r), &r);
        if (k % 10000 == 9999)
            print_counts("kills", k + 1, db);
    }
    kill_them();
    verify(db, kills + WORKERS);
    print_counts("kills", kills + WORKERS, db);
    must(detach(), "close");
}

/* All are killed at once; the next opening recovers. */
static void kill_all_and_reopen_loses_nothing(void **state)
{
    struct caret__rand r;
    unsigned cycles = kills / 10 + 1;

    (void)state;
    caret__rand_seed(&r, seed + 1);
    create();
    for (unsigned c = 0; c < cycles; c++) {
        for (unsigned i = 0; i < WORKERS; i++)
            start_doomed(i, &r);
        usleep(2000 + caret__rand_below(&r, 25000));
        kill_them();
        verify(attach("reopen"), WORKERS * (c + 1));
        must(detach(), "close");
        if (c % 1000 == 999)
            print_counts("times all were killed", c + 1, NULL);
    }
    print_counts("times all were killed", cycles, NULL);
}

#ifdef CARET_FAULTS

/* A dry run in a child: the names of all fault points that the work meets. */
static void find_names(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        const char *names[256];
        caret_db *db;
        caret_session *s;
        struct caret__rand r;
        caret__rand_seed(&r, 1);
        must(caret_open(path, NULL, &db), "open");
        must(caret_session_open(db, &s), "session");
        for (unsigned i = 0; i < 300; i++)
            work(db, s, 0, &r, i);
        caret_session_close(s);
        must(caret_close(db), "close");
        size_t n = caret__fault_names(names, 256);
        for (size_t i = 0; i < n && i < 256; i++)
            snprintf(journal->name[i], sizeof journal->name[i], "%s", names[i]);
        journal->names = (uint32_t)(n < 256 ? n : 256);
        _exit(0);
    }
    assert_int_equal(reap(pid), 0);
}

/* A child that dies at the n-th hit of a point; `second` dies at a point of the repair that follows. */
static unsigned die_at(const char *name, unsigned nth)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret__fault_arm(name, nth, CARET__FAULT_KILL);
        child(0, 1, 300);
    }
    int status = reap(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        fail_msg("%s then %s:%u: the child ended with status %d", context, name, nth, WEXITSTATUS(status));
    return WIFSIGNALED(status);
}

/* Which hits of a point.  A sanitizer looks for what is wrong on the way, and has been there with the first;
 * each fork takes it so long that the others would be a minute. */
#ifdef CARET_SMALL
#define SMALL 1
#else
#define SMALL 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HITS            1u
#define EACH_OF         2u /* half of them in each of the two sanitized builds, the other half in the other */
#define FIRST(attached) (SMALL == (attached) ? 1u : 0u)
#else
#define HITS            3u
#define EACH_OF         1u
#define FIRST(attached) ((void)(attached), 0u)
#endif

static void death_at_every_fault_point(int attached)
{
    static const unsigned hits[] = {1, 17, 2};
    const unsigned nhits = attached ? HITS : (HITS + 1) / 2; /* an opening takes longer than a repair */
    unsigned deaths = 0;

    operations = 1;
    create();
    find_names();
    print_message("%u fault points\n", journal->names);
    assert_true(journal->names > 30);
    for (unsigned i = FIRST(attached); i < journal->names; i += EACH_OF) {
        for (unsigned h = 0; h < nhits; h++) {
            char name[40];
            memcpy(name, journal->name[i], sizeof name);
            snprintf(context, sizeof context, "%s:%u", name, hits[h]);
            if (attached)
                attach("open");
            deaths += die_at(name, hits[h]);
            deaths += die_at("repair_restored", 1); /* whoever repairs may die too */
            deaths += die_at("repair_redone", 1);
            if (!attached)
                attach(name);
            verify(handle, 100000);
            must(detach(), "close");
        }
    }
    print_message("%u deaths\n", deaths);
    assert_true(deaths >
                journal->names / EACH_OF * nhits / (nhits == 1 ? 2 : 3)); /* not every point is met again */
}

static void death_at_every_fault_point_is_repaired(void **state)
{
    (void)state;
    death_at_every_fault_point(1);
}

static void death_at_every_fault_point_is_recovered(void **state)
{
    (void)state;
    death_at_every_fault_point(0);
}

#else

static void death_at_every_fault_point_is_repaired(void **state)
{
    (void)state;
    need_points();
}
#define death_at_every_fault_point_is_recovered death_at_every_fault_point_is_repaired

#endif

int main(int argc, char **argv)
{
    if (argc > 1)
        kills = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-torture-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    journal = mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (journal == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_kills_lose_nothing, clean_up),
        cmocka_unit_test_teardown(kill_all_and_reopen_loses_nothing, clean_up),
        cmocka_unit_test_teardown(death_at_every_fault_point_is_repaired, clean_up),
        cmocka_unit_test_teardown(death_at_every_fault_point_is_recovered, clean_up),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    char lock[96];
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
    return rc;
}
