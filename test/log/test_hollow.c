/* Free pages that take no room on the disk: when there are such, what gets it back, and what a death leaves. */

#include <sys/syscall.h>

#include "api/session.h"
#include "base/fault.h"
#include "log/hollow.h"
#include "support/apart.h"
#include "support/database.h"

#define SMALL (CARET__PAGE_SIZE < 1024)
#define NODES (SMALL ? 12000 : 40000)
#define LEN   (SMALL ? 60u : 900u)
#define REST  (NODES / 16) /* nodes that stay */

static void kill_some(caret_db *db, int64_t from, int64_t to)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    for (int64_t i = from; i < to; i++) {
        node_of(&n, i);
        OK(caret_kill(s, &n.node));
    }
    caret_session_close(s);
}

static caret_stats stats(caret_db *db)
{
    caret_stats st = {.size = sizeof st};

    OK(caret_stat(db, &st));
    return st;
}

static uint64_t file_takes(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static uint64_t file_length(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* A closed database most of which is free. */
static void make_hollow(void)
{
    caret_db *db = open_db();

    put(db, 0, NODES, LEN);
    kill_some(db, 0, NODES - REST);
    OK(caret_close(db));
}

static void a_closed_file_takes_what_its_nodes_take(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, NODES, LEN);
    OK(caret_checkpoint(db));
    uint64_t length = file_length(), takes = file_takes();
    kill_some(db, 0, NODES - REST);
    OK(caret_close(db));
    assert_true(file_length() >= length);
    assert_true(file_takes() < length / 4 + CARET__KEPT_PAGES * CARET__PAGE_SIZE);
    db = open_db();
    check(db);
    assert_int_equal(count(db, NODES - REST, LEN), REST);
    uint64_t pages = stats(db).pages, nfree = stats(db).free_pages;
    assert_true(nfree > pages / 2);
    put(db, 0, NODES / 2, LEN);
    check(db);
    assert_int_equal(stats(db).pages, pages); /* what was given up comes back before the file grows */
    put(db, 0, NODES, LEN);
    OK(caret_checkpoint(db));
    assert_true(file_takes() >= takes / 2);
    check(db);
    assert_int_equal(count(db, 0, LEN), NODES);
    OK(caret_close(db));
}

/* As the background thread does it, a piece at a time. */
static void numbers_come_back_ahead_of_need(void **state)
{
    (void)state;
    make_hollow();
    caret_db *db = open_db();
    caret_session *s;
    OK(caret_session_open(db, &s));
    struct caret__shared *sh = s->e->sh;
    uint32_t nhollow = atomic_load(&sh->hollow_pages), nfree = sh->ts.free_pages;
    uint64_t takes = file_takes();
    assert_true(nhollow != 0);
    assert_true(caret__hollow_ahead(s->e));
    uint32_t came = sh->ts.free_pages - nfree;
    assert_true(came != 0);
    assert_int_equal(atomic_load(&sh->hollow_pages), nhollow - came);
    assert_true(file_takes() > takes);
    check(db);
    while (caret__hollow_ahead(s->e))
        ;
    assert_int_equal(sh->ts.free_pages, nfree + nhollow);
    check(db);
    caret_session_close(s);
    put(db, 0, NODES - REST, LEN);
    check(db);
    assert_int_equal(count(db, 0, LEN), NODES);
    OK(caret_close(db));
}

static void a_small_file_is_left_alone(void **state)
{
    (void)state;
    caret_db *db = open_db();
    put(db, 0, 1000, 20);
    kill_all(db);
    OK(caret_close(db));
    uint64_t takes = file_takes();
    assert_true(takes >= file_length());
    OK(caret_close(open_db()));
    assert_int_equal(file_takes(), takes);
}

/* The pages of long values are told by the log: they are not hollow, wherever they came from. */
static void long_values_in_what_was_hollow_survive_a_kill(void **state)
{
    (void)state;
    make_hollow();
    pid_t pid = child_with(NODES, NODES + 400, 3 * CARET__PAGE_SIZE);
    until(1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    caret_db *db = open_db();
    check(db);
    assert_int_equal(count(db, NODES, 3 * CARET__PAGE_SIZE), 400);
    OK(caret_checkpoint(db));
    check(db);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, NODES, 3 * CARET__PAGE_SIZE), 400);
    OK(caret_close(db));
}

static void put_zeros(caret_db *db)
{
    static const char zeros[3 * CARET__PAGE_SIZE];
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    for (int64_t i = 0; i < 1500; i++) { /* beyond what is never hollow */
        node_of(&n, -1 - i);
        OK(caret_set(s, &n.node, zeros, sizeof zeros));
    }
    caret_session_close(s);
}

/* As copying with holes does. */
static void dig_holes(void)
{
    static const char zeros[4096];
    char block[4096];
    int fd = open(path, O_RDWR);

    for (off_t at = 0; pread(fd, block, sizeof block, at) == (ssize_t)sizeof block; at += 4096)
        if (memcmp(block, zeros, sizeof block) == 0)
            assert_int_equal(syscall(SYS_fallocate, fd, 3, at, 4096L), 0);
    close(fd);
}

static void a_long_value_may_be_a_hole(void **state)
{
    (void)state;
    make_hollow();
    pid_t pid = fork();
    if (pid == 0) {
        put_zeros(open_db());
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    dig_holes();
    caret_db *db = open_db();
    check(db);
    assert_int_equal(count(db, NODES - REST, LEN), REST);
    OK(caret_checkpoint(db));
    check(db);
    OK(caret_close(db));
}

/* ------------------------------------------------------------------- a full disk */

/* Set until there is no room; the node that was refused. */
static int64_t set_until_full(caret_db *db)
{
    caret_session *s;
    caret_node_buf n;
    int rc = CARET_OK;
    int64_t i = NODES;

    OK(caret_session_open(db, &s));
    for (; rc == CARET_OK && i < 3 * NODES; i++) {
        node_of(&n, i);
        rc = caret_set(s, &n.node, text, text_of(i, LEN, text));
    }
    assert_int_equal(rc, CARET_E_DISKFULL);
    caret_session_close(s);
    return i - 1;
}

static void on_a_full_disk(void)
{
    char size[32], filler[160];

    snprintf(size, sizeof size, "size=%uk", SMALL ? 14000u : 240000u);
    if (!own_mounts() || mount("none", dir, "tmpfs", 0, size) != 0)
        _exit(77);
    make_hollow();
    uint64_t length = file_length();
    assert_true(file_takes() < length / 2 + CARET__KEPT_PAGES * CARET__PAGE_SIZE);
    caret_db *db = open_db();
    snprintf(filler, sizeof filler, "%s/filler", dir);
    fill_up(filler);
    int64_t end = set_until_full(db);
    OK(caret_checkpoint(db)); /* what was not refused has room */
    check(db);
    assert_int_equal(count(db, NODES - REST, LEN), end - (NODES - REST));
    kill_some(db, NODES - REST / 2, end);
    OK(caret_checkpoint(db));
    check(db);
    unlink(filler);
    put(db, NODES - REST / 2, NODES * 3 / 2, LEN);
    OK(caret_checkpoint(db));
    check(db);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, NODES - REST, LEN), NODES / 2 + REST);
    OK(caret_close(db));
    _exit(0);
}

static void a_full_disk_refuses_before_anything_has_changed(void **state)
{
    (void)state;
    if (!may_have_own_mounts())
        skip();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        on_a_full_disk();
    join(pid);
}

/* ------------------------------------------------------------------- readers */

/* Has the closed file mapped while holes are punched into it. */
static void read_along(void)
{
    caret_options o = {.size = sizeof o, .readonly = 1, .shm_dir = shm_dir, .any_fs = 1};
    caret_db *db;

    OK(caret_open(path, &o, &db));
    for (uint32_t round = 0;; round++) {
        atomic_store(signal_word, 2 * round + 1);
        until(2 * round + 2);
        int64_t there = count(db, NODES - REST, LEN);
        assert_int_equal(there, round == 0 ? REST : REST + NODES);
        if (round == 2)
            break;
    }
    OK(caret_close(db));
    _exit(0);
}

static void who_only_reads_sees_what_is_there(void **state)
{
    (void)state;
    make_hollow();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        read_along();
    until(1);
    atomic_store(signal_word, 2);
    until(3);
    caret_db *db = open_db();
    put(db, NODES, 2 * NODES, LEN); /* the pages that it has read are given up */
    OK(caret_checkpoint(db));
    put(db, NODES - REST, 2 * NODES, LEN);
    OK(caret_close(db));
    atomic_store(signal_word, 4);
    until(5);
    db = open_db();
    put(db, NODES - REST, 2 * NODES, LEN);
    OK(caret_close(db));
    atomic_store(signal_word, 6);
    join(pid);
}

/* ------------------------------------------------------------------- deaths */

#ifdef CARET_FAULTS

static const char *const points[] = {"hollow_moving", "hollow_allocated", "hollow_punched"};

/* Opens, sets, closes, and dies at the n-th time that it comes there; false: it did not. */
static bool dies_at(const char *point, unsigned nth, bool alone)
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (alone)
            caret__fault_arm(point, nth, CARET__FAULT_KILL);
        caret_db *db = open_db();
        if (!alone)
            caret__fault_arm(point, nth, CARET__FAULT_KILL);
        put(db, 0, NODES, LEN);
        kill_some(db, 0, NODES - REST);
        OK(caret_close(db));
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) && status != 0)
        fail_msg("%s %u: status %x", point, nth, (unsigned)status);
    return WIFSIGNALED(status);
}

static void a_death_leaves_no_number_in_two_places(void **state)
{
    (void)state;
    make_hollow();
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        for (unsigned nth = 1; nth < 100; nth *= 9) {
            bool died = dies_at(points[i], nth, true);
            assert_true(died || nth > 1);
            caret_db *db = open_db();
            check(db);
            assert_int_equal(count(db, NODES - REST, LEN), REST);
            kill_some(db, 0, NODES - REST);
            OK(caret_close(db));
        }
}

static void others_go_on_after_a_death(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (unsigned nth = 1; nth < 10; nth *= 9) {
            make_hollow();
            caret_db *db = open_db();
            bool died = dies_at(points[i], nth, false);
            assert_true(died || nth > 1);
            put(db, NODES, NODES + 1, LEN);
            check(db);
            put(db, 0, NODES + 1, LEN);
            check(db);
            assert_int_equal(count(db, 0, LEN), NODES + 1);
            kill_some(db, NODES, NODES + 1);
            OK(caret_close(db));
        }
}

#endif

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
#if defined(__SANITIZE_ADDRESS__)
    if (!SMALL) {
        print_message("skipped: takes half a minute with a sanitizer (in small pages it runs)\n");
        return 77;
    }
#endif
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_closed_file_takes_what_its_nodes_take),
        LOG_TEST(numbers_come_back_ahead_of_need),
        LOG_TEST(a_small_file_is_left_alone),
        LOG_TEST(long_values_in_what_was_hollow_survive_a_kill),
        LOG_TEST(a_long_value_may_be_a_hole),
        LOG_TEST(a_full_disk_refuses_before_anything_has_changed),
        LOG_TEST(who_only_reads_sees_what_is_there),
#ifdef CARET_FAULTS
        LOG_TEST(a_death_leaves_no_number_in_two_places),
        LOG_TEST(others_go_on_after_a_death),
#endif
    };
    return cmocka_run_group_tests_name("log/hollow", tests, NULL, NULL);
}
