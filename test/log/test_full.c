/*
 * Full disks and full shared memory: file systems of 1 MiB and more, in steps.
 *
 * In a mount namespace of its own (else the tests are skipped) a small tmpfs is
 * mounted for the data, or for the segment, and filled: by the database alone,
 * or by somebody else's file.  A write that finds no room is refused and not
 * there; reads go on; kill makes room; and when there is room, writing goes on
 * without opening anew.  Afterwards everything is there and the check is clean.
 */
#include "support/database.h"

#include "support/apart.h"

#include "shm/layout.h"

#define LOG_MIB (CARET__LOG_DEFAULT >> 20)

static bool may_mount;
static char mounted[128]; /* where the small file system is */
static unsigned refusals, opened;

static bool mount_small(const char *where, unsigned kib, bool again)
{
    char size[32];

    snprintf(size, sizeof size, "size=%uk", kib);
    snprintf(mounted, sizeof mounted, "%s", where);
    return mount("none", where, "tmpfs", again ? MS_REMOUNT : 0, size) == 0;
}

static size_t length_of(int64_t i)
{
    return i % 20 == 7 ? 3 * CARET__PAGE_SIZE : CARET__PAGE_SIZE / 6;
}

static int put_one(caret_session *s, int64_t i)
{
    caret_node_buf n;

    node_of(&n, i);
    return caret_set(s, &n.node, text, text_of(i, length_of(i), text));
}

static void expect_one(caret_session *s, int64_t i, bool there)
{
    caret_node_buf n;
    caret_slice v;

    node_of(&n, i);
    int rc = caret_get(s, &n.node, &v);
    if (rc != (there ? CARET_OK : CARET_NONE))
        fail_msg("node %d: %d %s", (int)i, rc, caret_message());
    if (!there)
        return;
    text_of(i, length_of(i), other);
    assert_int_equal(v.len, length_of(i));
    assert_memory_equal(v.data, other, v.len);
}

static void expect_refusal(int rc)
{
    if (rc != CARET_E_DISKFULL && rc != CARET_E_SHM && rc != CARET_E_TXN_TOO_BIG)
        fail_msg("%d %s", rc, caret_message());
    refusals++;
}

/* Set nodes until one is refused, or `most` of them; how many are there now. */
static int64_t fill(caret_session *s, int64_t most)
{
    for (int64_t i = 0; i < most; i++) {
        int rc = put_one(s, i);
        if (rc != CARET_OK) {
            expect_refusal(rc);
            expect_one(s, i, false);
            return i;
        }
    }
    return most;
}

static void kill_nodes(caret_session *s, int64_t from, int64_t to)
{
    caret_node_buf n;

    for (int64_t i = from; i < to; i++) {
        node_of(&n, i);
        OK(caret_kill(s, &n.node));
    }
}

/* The database as it is after fill(): full, perhaps. */
static void use_full(caret_db *db, caret_session *s, int64_t n, const char *filler)
{
    for (int64_t i = 0; i < n; i++)
        expect_one(s, i, true);
    kill_nodes(s, 0, n / 2);
    if (filler != NULL)
        unlink(filler);
    for (int64_t i = 0; i < n / 4; i++)
        OK(put_one(s, i));
    check(db);
}

static void expect_half(int64_t n)
{
    caret_db *db = open_db();
    caret_session *s;

    OK(caret_session_open(db, &s));
    for (int64_t i = 0; i < n; i++)
        expect_one(s, i, i < n / 4 || i >= n / 2);
    check(db);
    caret_session_close(s);
    OK(caret_close(db));
}

/* `where`: the file system of what is small; by_other: filled by another file once the database is open. */
static void one_size(const char *where, unsigned kib, bool by_other, int64_t most)
{
    caret_db *db = NULL;
    caret_session *s;
    char filler[160];

    if (!mount_small(where, kib, false))
        fail_msg("mount: %s", strerror(errno));
    snprintf(filler, sizeof filler, "%s/filler", where);
    int rc = try_open(&db);
    if (rc != CARET_OK) {
        expect_refusal(rc);
        assert_true(
            mount_small(where, kib + (96 + LOG_MIB) * 1024, true)); /* room now: the same files will do */
        db = open_db();
    } else {
        opened++;
    }
    OK(caret_session_open(db, &s));
    if (by_other) {
        OK(put_one(s, 0));
        fill_up(filler);
    }
    int64_t n = fill(s, most);
    use_full(db, s, n, by_other ? filler : NULL);
    caret_session_close(s);
    OK(caret_close(db));
    expect_half(n);
    unlink(path);
    assert_int_equal(umount(where), 0);
    mounted[0] = '\0';
}

static void need_mounts(void)
{
    if (may_mount)
        return;
    print_message("skipped: no private mounts are allowed here\n");
    skip();
}

/* Sizes in steps. */
static void every_size(const char *where, bool by_other, unsigned from, unsigned to, unsigned steps,
                       int64_t most)
{
    need_mounts();
    refusals = opened = 0;
    for (unsigned i = 0; i <= steps; i++)
        one_size(where, from + (to - from) * i / steps, by_other, most);
    print_message("%u sizes from %u to %u KiB: %u could be opened, %u refusals\n", steps + 1, from, to,
                  opened, refusals);
    assert_true(refusals > 0 || (where == shm_dir && !by_other)); /* the arena is used again and again */
}

#ifdef CARET_SMALL
#define STEPS 12u
#define FILL  12000 /* nodes: some 2 MiB */
#else
#define STEPS 3u
#define FILL  20000
#endif

static void a_full_disk_refuses_and_is_emptied(void **state)
{
    (void)state;
    every_size(dir, false, 1024, 4096 + LOG_MIB * 1024, STEPS, 10 * FILL);
}

static void a_disk_that_others_fill_goes_on_when_they_leave(void **state)
{
    (void)state;
    every_size(dir, true, 1024, 4096 + LOG_MIB * 1024, STEPS, FILL);
}

static void small_shared_memory_refuses_or_works(void **state)
{
    (void)state;
    every_size(shm_dir, false, 1024, 16384, 2 * STEPS, FILL);
}

static void shared_memory_that_others_fill_goes_on_when_they_leave(void **state)
{
    (void)state;
    every_size(shm_dir, true, 1024, 16384, 2 * STEPS, FILL);
}

/* A new database, and the same closed and opened again, where the log that users get does not fit. */
static void small_disk(unsigned kib)
{
    if (!mount_small(dir, kib, false))
        fail_msg("mount: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        caret_db *db = NULL;
        caret_session *s;
        if (try_open(&db) != CARET_OK)
            fail_msg("a disk of %u KiB, opened %d times: %s", kib, i, caret_message());
        OK(caret_session_open(db, &s));
        for (int64_t n = 0; n < 40; n++)
            OK(put_one(s, n));
        for (int64_t n = 0; n < 40; n++)
            expect_one(s, n, true);
        caret_session_close(s);
        OK(caret_close(db));
        assert_int_equal(files_in(dir), 1);
    }
    assert_int_equal(umount(dir), 0);
    mounted[0] = '\0';
}

#define NEW_KIB   (256u * CARET__PAGE_SIZE >> 10) /* a new data file */
#define LEAST_KIB (CARET__LOG_LEAST >> 10)

static void a_smaller_log_leaves_room(void **state)
{
    (void)state;
    need_mounts();
    for (unsigned log = LEAST_KIB; log <= CARET__LOG_DEFAULT >> 10; log *= 2) { /* exactly, and around it */
        small_disk(NEW_KIB + log + NEW_KIB / 2);
        small_disk(NEW_KIB + 2 * log);
        small_disk(NEW_KIB + 2 * log + 4);
    }
}

/* Closed cleanly, and then so much is free: it is opened, or refused and as it was. */
static bool little_is_free(unsigned kib)
{
    unsigned size = NEW_KIB + 2 * (CARET__LOG_DEFAULT >> 10) + 1024, used;
    char filler[160];
    struct stat st;

    if (!mount_small(dir, size, false))
        fail_msg("mount: %s", strerror(errno));
    caret_db *db = open_db();
    put(db, 0, 40, 20);
    OK(caret_close(db));
    assert_int_equal(stat(path, &st), 0);
    used = (unsigned)(st.st_blocks / 2) + kib;
    snprintf(filler, sizeof filler, "%s/filler", dir);
    int fd = open(filler, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)(size - used) * 1024), 0);
    close(fd);
    db = NULL;
    int rc = try_open(&db);
    if (rc != CARET_OK)
        expect_refusal(rc);
    OK(caret_close(db));
    assert_int_equal(files_in(dir), 2); /* nothing is left beside it */
    unlink(filler);
    db = open_db();
    assert_int_equal(count(db, 0, 20), 40);
    check(db);
    OK(caret_close(db));
    assert_int_equal(umount(dir), 0);
    mounted[0] = '\0';
    return rc == CARET_OK;
}

static void a_disk_that_is_nearly_full_loses_nothing(void **state)
{
    unsigned could = 0, could_not = 0;

    (void)state;
    need_mounts();
    for (unsigned kib = 0; kib <= 16; kib += 4)
        *(little_is_free(kib) ? &could : &could_not) += 1;
    for (unsigned log = LEAST_KIB; log <= CARET__LOG_DEFAULT >> 10; log *= 2)
        for (unsigned more = 0; more <= 8; more += 4)
            *(little_is_free(log + more) ? &could : &could_not) += 1;
    print_message("%u could be opened, %u not\n", could, could_not);
    assert_true(could > 0 && could_not > 0);
}

static int teardown_full(void **state)
{
    if (mounted[0] != '\0')
        umount2(mounted, MNT_DETACH); /* a test failed */
    mounted[0] = '\0';
    return teardown(state);
}

#define FULL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown_full)

int main(void)
{
    may_mount = own_mounts();
    const struct CMUnitTest tests[] = {FULL_TEST(a_smaller_log_leaves_room),
                                       FULL_TEST(a_disk_that_is_nearly_full_loses_nothing),
                                       FULL_TEST(a_full_disk_refuses_and_is_emptied),
                                       FULL_TEST(a_disk_that_others_fill_goes_on_when_they_leave),
                                       FULL_TEST(small_shared_memory_refuses_or_works),
                                       FULL_TEST(shared_memory_that_others_fill_goes_on_when_they_leave)};
    return cmocka_run_group_tests_name("full", tests, NULL, NULL);
}
