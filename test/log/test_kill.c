/*
 * Kills make room, in one step, whatever their size and however full the file systems are.
 *
 * In a mount namespace of its own (else these tests are skipped) a small tmpfs is mounted for the segment, or
 * for the data, and filled to the last byte.  Then a kill of everything, of some subtrees in one
 * transaction, of a range, of nodes all over the place, of values out of line: none is refused, each is
 * there whole or not at all, whoever dies at whatever step of it or of its repair, the check finds each
 * page where it belongs, and as much as before can be set again.
 */
#include "support/apart.h"
#include "support/database.h"

#include "base/fault.h"
#include "base/rand.h"
#include "shm/layout.h"

#define GROUPS  10u
#define EACH    1000u /* nodes of a group, unless CARET_KILL_NODES says how many */
#define DEATHS  24u   /* of each kind, unless CARET_KILL_DEATHS does */
#define LOG_KIB (CARET__LOG_DEFAULT >> 10)

static bool may_mount;
static char mounted[128];
static unsigned each; /* nodes of a group in this test */

static unsigned number_from(const char *name, unsigned otherwise)
{
    const char *is = getenv(name);

    return is != NULL ? (unsigned)strtoul(is, NULL, 10) : otherwise;
}

static size_t length_of(unsigned i)
{
    return i % 20 == 7 ? 3 * CARET__PAGE_SIZE : CARET__PAGE_SIZE / 6;
}

static void group_of(caret_node_buf *n, unsigned g)
{
    OK(caret_node_var(&n->node, sizeof *n, "^t", 2));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, g));
}

static void member_of(caret_node_buf *n, unsigned g, unsigned i)
{
    group_of(n, g);
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, i));
}

static int put_member(caret_session *s, unsigned g, unsigned i)
{
    caret_node_buf n;

    member_of(&n, g, i);
    return caret_set(s, &n.node, text, text_of((int64_t)g * 100000 + i, length_of(i), text));
}

/* Is it there, as put_member() left it?  CARET_OK, or what a transaction has to return. */
static int has_member(caret_session *s, unsigned g, unsigned i, bool *there)
{
    caret_node_buf n;
    caret_slice v;

    member_of(&n, g, i);
    int rc = caret_get(s, &n.node, &v);
    *there = rc == CARET_OK;
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    text_of((int64_t)g * 100000 + i, length_of(i), other);
    assert_int_equal(v.len, length_of(i));
    assert_memory_equal(v.data, other, v.len);
    return CARET_OK;
}

/* ------------------------------------------------------------------- the kills */

enum kind { VARIABLE, GROUP, THREE_GROUPS, ALL_OVER, ALL_BUT_ONE, WITH_A_SET, RANGE, KINDS };

static bool is_killed(enum kind kind, unsigned g, unsigned i)
{
    switch (kind) {
    case VARIABLE: return true;
    case GROUP: return g == 4;
    case THREE_GROUPS: return g == 1 || g == 2 || g == 8;
    case ALL_OVER: return i % (each < 200 ? 20 : each / 100 * 20) == 7; /* some five of each group */
    case ALL_BUT_ONE: return g != 5;
    case RANGE: return g >= 2 && g < 7;
    default: return g == 3 || g == 7;
    }
}

static int kill_in_parts(caret_session *s, void *arg)
{
    enum kind kind = *(const enum kind *)arg;
    caret_node_buf n;
    int rc = CARET_OK;

    for (unsigned g = 0; g < GROUPS && rc == CARET_OK; g++) {
        if (kind != ALL_OVER && is_killed(kind, g, 0)) {
            group_of(&n, g);
            rc = caret_kill(s, &n.node);
        }
        for (unsigned i = 0; kind == ALL_OVER && i < each && rc == CARET_OK; i++) {
            member_of(&n, g, i);
            if (is_killed(kind, g, i))
                rc = caret_kill(s, &n.node);
        }
    }
    group_of(&n, GROUPS);
    return rc == CARET_OK && kind == WITH_A_SET ? caret_set(s, &n.node, "set", 3) : rc;
}

static int kill_groups(caret_session *s, const char *from, const char *before)
{
    const caret_slice lo = {from, strlen(from)}, hi = {before, strlen(before)};
    caret_node_buf n;

    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    return caret_kill_range(s, &n.node, &lo, &hi, CARET_RANGE_BEFORE);
}

static int kill_kind(caret_session *s, enum kind kind)
{
    caret_node_buf n;

    if (kind == RANGE)
        return kill_groups(s, "2", "7");
    if (kind != VARIABLE && kind != GROUP)
        return caret_transaction(s, kill_in_parts, &kind, 0);
    group_of(&n, 4);
    if (kind == VARIABLE)
        OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    return caret_kill(s, &n.node);
}

/* What a transaction sees: all of a kill, or nothing. */
struct sight {
    enum kind kind;
    bool *there; /* by group and number */
    unsigned gone;
};

static int look(caret_session *s, void *arg)
{
    struct sight *sight = arg;
    unsigned killed = 0;
    caret_node_buf n;
    caret_slice v;

    sight->gone = 0;
    for (unsigned g = 0; g < GROUPS; g++)
        for (unsigned i = 0; i < each; i++) {
            bool was_meant = is_killed(sight->kind, g, i);
            bool *there = &sight->there[(size_t)g * each + i];
            int rc = has_member(s, g, i, there);
            if (rc != CARET_OK)
                return rc; /* once more */
            killed += was_meant;
            sight->gone += !*there;
            if (!*there && !was_meant)
                fail_msg("kind %u: node (%u,%u) is gone", (unsigned)sight->kind, g, i);
        }
    if (sight->gone != 0 && sight->gone != killed)
        fail_msg("kind %u: %u of %u are gone", (unsigned)sight->kind, sight->gone, killed);
    group_of(&n, GROUPS);
    int rc = caret_get(s, &n.node, &v);
    if (rc == CARET_OK || rc == CARET_NONE)
        assert_int_equal(rc, sight->gone != 0 && sight->kind == WITH_A_SET ? CARET_OK : CARET_NONE);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Has it happened?  What is not there any more is set again. */
static bool settle(caret_session *s, enum kind kind)
{
    struct sight sight = {kind, malloc((size_t)GROUPS * each), 0};
    caret_node_buf n;

    assert_non_null(sight.there);
    OK(caret_transaction(s, look, &sight, 0)); /* perhaps before a dead one's commit is finished */
    group_of(&n, GROUPS + 1);
    OK(caret_set(s, &n.node, "", 0));
    OK(caret_kill(s, &n.node));
    OK(caret_transaction(s, look, &sight, 0));
    for (unsigned g = 0; g < GROUPS; g++)
        for (unsigned i = 0; i < each; i++)
            if (!sight.there[(size_t)g * each + i])
                OK(put_member(s, g, i));
    group_of(&n, GROUPS);
    OK(caret_kill(s, &n.node));
    free(sight.there);
    return sight.gone != 0;
}

/* ---------------------------------------------------------------- full or not */

static void mount_at(const char *where, unsigned kib)
{
    char size[32];

    if (!may_mount) {
        print_message("skipped: no private mounts are allowed here\n");
        skip();
    }
    snprintf(size, sizeof size, "size=%uk", kib);
    snprintf(mounted, sizeof mounted, "%s", where);
    if (mount("none", where, "tmpfs", 0, size) != 0)
        fail_msg("mount: %s", strerror(errno));
}

static void fill_file_system(const char *where)
{
    static const char zero[4096];
    char name[160];

    snprintf(name, sizeof name, "%s/filler", where);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    while (write(fd, zero, sizeof zero) > 0)
        ;
    close(fd);
}

static caret_db *db;
static caret_session *s;

static void begin_with(unsigned members)
{
    each = members;
    db = open_db();
    OK(caret_session_open(db, &s));
    for (unsigned g = 0; g < GROUPS; g++)
        for (unsigned i = 0; i < each; i++)
            OK(put_member(s, g, i));
}

static void end(void)
{
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

static void kill_each_kind(void)
{
    for (unsigned round = 0; round < 2 * KINDS; round++) {
        enum kind kind = round % KINDS;
        if (round >= KINDS)
            OK(caret_checkpoint(db));
        if (kind == WITH_A_SET)
            continue; /* a set may be refused */
        int rc = kill_kind(s, kind);
        if (rc != CARET_OK)
            fail_msg("kind %u: %d %s", (unsigned)kind, rc, caret_message());
        assert_true(settle(s, kind));
        check(db);
    }
}

static void full_shared_memory_refuses_no_kill(void **state)
{
    (void)state;
    mount_at(shm_dir, 64 << 10);
    begin_with(number_from("CARET_KILL_NODES", EACH * GROUPS) / GROUPS);
    fill_file_system(shm_dir);
    kill_each_kind();
    end();
}

static void a_disk_that_others_filled_refuses_no_kill(void **state)
{
    (void)state;
    mount_at(dir, LOG_KIB + (96 << 10));
    begin_with(EACH / 2);
    fill_file_system(dir);
    kill_each_kind();
    end();
}

static void a_disk_that_is_full_to_the_last_page_is_emptied_by_one_kill(void **state)
{
    (void)state;
    mount_at(dir, LOG_KIB + (4 << 10));
    for (unsigned kind = 0; kind < 3; kind++) {
        begin_with(0);
        unsigned n = 0;
        while (n < 10 * EACH && put_member(s, n % 9, n / 9) == CARET_OK)
            n++;
        assert_true(n > 100);
        each = n / 9;
        OK(kill_kind(s, kind == 0 ? VARIABLE : kind == 1 ? THREE_GROUPS : ALL_OVER));
        check(db);
        OK(kill_kind(s, VARIABLE));
        for (unsigned i = 0; i < n / 2; i++)
            OK(put_member(s, i % 9, i / 9));
        end();
        unlink(path);
    }
}

/* --------------------------------------------------------------------- deaths */

#ifdef CARET_FAULTS

/* A child that kills and dies at the n-th fault point on its way; false: it came to the end. */
static bool die_killing(enum kind kind, unsigned nth)
{
    fflush(NULL);
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        caret_session *mine;
        caret_db *again = open_db();
        OK(caret_session_open(again, &mine));
        uint64_t before = caret__fault_hits("*");
        caret__fault_arm("*", nth, CARET__FAULT_KILL);
        int rc = kill_kind(mine, kind);
        atomic_store(signal_word, (uint32_t)(caret__fault_hits("*") - before));
        _exit(rc == CARET_OK ? 0 : 3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        fail_msg("kind %u, step %u: status %x", (unsigned)kind, nth, (unsigned)status);
    return WIFSIGNALED(status);
}

/* A child that comes, repairs, and dies at the n-th point of that.  false: it came to the end. */
static bool die_repairing(unsigned nth)
{
    fflush(NULL);
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        caret__fault_arm("*", nth, CARET__FAULT_KILL);
        (void)open_db(); /* finds a dead process in its slot, and repairs */
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

/* Deaths at some steps of a kill of that kind; the first and the last are among them. */
static void die_at_steps(enum kind kind, bool full)
{
    unsigned deaths = number_from("CARET_KILL_DEATHS", DEATHS), steps, died = 0, repairs = 0, gone = 0;
    struct caret__rand r;

    caret__rand_seed(&r, 1 + kind);
    OK(caret_checkpoint(db));
    assert_false(die_killing(kind, UINT32_MAX));
    steps = atomic_load(signal_word);
    settle(s, kind);
    for (unsigned i = 0; i < deaths; i++) {
        unsigned at = i < 12 ? i + 1 : 1 + caret__rand_below(&r, steps);
        if (i % 3 == 0)
            OK(caret_checkpoint(db));
        died += die_killing(kind, at);
        for (unsigned k = 0; k < i % 4; k++)
            repairs += die_repairing(1 + caret__rand_below(&r, steps + 50));
        if (i % 5 == 4 && !full) { /* nobody is left: the log tells */
            fflush(NULL);
            caret_session_close(s);
            OK(caret_close(db));
            db = open_db();
            OK(caret_session_open(db, &s));
        }
        gone += settle(s, kind);
        check(db);
    }
    print_message("kind %u: %u steps, %u deaths, %u more while repairing; %u took place\n", (unsigned)kind,
                  steps, died, repairs, gone);
    assert_true(died > deaths / 2 && repairs > deaths / 10 && gone > 0);
}

static void whoever_dies_at_whatever_step_a_kill_is_whole(void **state)
{
    (void)state;
    begin_with(40);
    for (unsigned kind = 0; kind < KINDS; kind++)
        die_at_steps(kind, false);
    end();
}

static void so_it_is_in_full_shared_memory(void **state)
{
    (void)state;
    mount_at(shm_dir, 32 << 10);
    begin_with(40);
    fill_file_system(shm_dir);
    die_at_steps(VARIABLE, true);
    die_at_steps(THREE_GROUPS, true);
    die_at_steps(RANGE, true);
    end();
}

#else

static void whoever_dies_at_whatever_step_a_kill_is_whole(void **state)
{
    (void)state;
    need_points();
}
#define so_it_is_in_full_shared_memory whoever_dies_at_whatever_step_a_kill_is_whole

#endif

static int teardown_kill(void **state)
{
    if (mounted[0] != '\0')
        umount2(mounted, MNT_DETACH);
    mounted[0] = '\0';
    return teardown(state);
}

#define KILL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown_kill)

int main(void)
{
    may_mount = own_mounts();
    const struct CMUnitTest tests[] = {
        KILL_TEST(full_shared_memory_refuses_no_kill), KILL_TEST(a_disk_that_others_filled_refuses_no_kill),
        KILL_TEST(a_disk_that_is_full_to_the_last_page_is_emptied_by_one_kill),
        KILL_TEST(whoever_dies_at_whatever_step_a_kill_is_whole), KILL_TEST(so_it_is_in_full_shared_memory)};
    return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
