/* Which users may open the files beside the data file, and whether a file that lies there can be trusted. */
#include "support/segment.h"

#include "shm/write.h"

static mode_t mode_of(const struct caret__fd *f)
{
    struct stat st;

    assert_int_equal(fstat(caret__fd(f), &st), 0);
    return st.st_mode & 0777;
}

/* The fixture with segment, log and lock file, and the gate. */
static int set_up(void **state)
{
    if (fixture_new(state) != 0)
        return -1;
    struct fixture *f = *state;
    fixture_create(f, 256);
    caret__fd_set(&f->e.log_fd, caret__open_high("/tmp", O_TMPFILE | O_RDWR, 0600));
    f->e.log_path = f->path;
    return caret__fd(&f->e.log_fd) > 2 ? caret__lockfile_open(&f->e, NULL) : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char path[96];

    snprintf(path, sizeof path, "%s/other", f->dir); /* of a test that failed */
    unlink(path);
    caret__fd_close(&f->e.log_fd);
    return fixture_delete(state);
}

/* Readers may read log and segment, and may not even open the lock file: a lock of theirs would shut the gate. */
static void files_follow_the_data_file(void **state)
{
    struct fixture *f = *state;
    static const struct {
        mode_t data, others, lock;
    } cases[] = {{0644, 0644, 0600}, {0664, 0664, 0660}, {0666, 0666, 0666}, {0640, 0640, 0600},
                 {0600, 0600, 0600}, {0755, 0644, 0600}, {0400, 0400, 0600}};

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(fchmod(caret__fd(&f->e.data_fd), cases[i].data), 0);
        caret__rights_follow(&f->e);
        assert_int_equal(mode_of(&f->e.log_fd), cases[i].others);
        assert_int_equal(mode_of(&f->e.shm_fd), cases[i].others);
        assert_int_equal(mode_of(&f->e.lock_fd), cases[i].lock);
        assert_int_equal(mode_of(&f->e.data_fd), cases[i].data);
    }
}

static void files_follow_the_owner_of_the_data_file(void **state)
{
    struct fixture *f = *state;
    const struct caret__fd *all[] = {&f->e.log_fd, &f->e.shm_fd, &f->e.lock_fd};
    struct stat st;

    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
    assert_int_equal(fchown(caret__fd(&f->e.data_fd), 65534, 65533), 0);
    caret__rights_follow(&f->e);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fstat(caret__fd(all[i]), &st), 0);
        assert_int_equal(st.st_uid, 65534);
        assert_int_equal(st.st_gid, 65533);
    }
}

/* One that may not give the file to the group of the data file leaves it to no group at all. */
static void a_group_that_can_not_be_set_gets_nothing(void **state)
{
    struct fixture *f = *state;

    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    assert_int_equal(fchown(caret__fd(&f->e.shm_fd), 65534, 65534), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool other = setgid(65534) == 0 && setuid(65534) == 0;
        caret__file_rights(caret__fd(&f->e.shm_fd), 0, 0, 0664);
        _exit(other ? 0 : 1);
    }
    join(child);
    assert_int_equal(mode_of(&f->e.shm_fd), 0604);
}

static void trusted_are_those_who_may_write_the_data_file(void **state)
{
    const uid_t owner = 4001, stranger = 4002;
    const gid_t group = 4003;
    const struct stat st = {.st_uid = stranger, .st_gid = group};

    (void)state;
    assert_false(caret__owner_trusted(&st, owner, group, 0644));
    assert_true(caret__owner_trusted(&st, owner, group, 0664));
    assert_false(caret__owner_trusted(&st, owner, group + 1, 0664)); /* of another group */
    assert_true(caret__owner_trusted(&st, owner, group + 1, 0666));
    assert_true(caret__owner_trusted(&st, stranger, group, 0600));
}

/* They could do worse. */
static void root_and_oneself_are_trusted_too(void **state)
{
    const struct stat own = {.st_uid = 65534}, root = {.st_uid = 0}, stranger = {.st_uid = 4002};

    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(2);
        bool self = geteuid() != 65534 || caret__owner_trusted(&own, 4001, 4003, 0600);
        bool by_root = caret__owner_trusted(&root, 4001, 4003, 0600);
        _exit(self && by_root && !caret__owner_trusted(&stranger, 4001, 4003, 0600) ? 0 : 1);
    }
    join(child);
}

static void a_lock_file_of_a_stranger_is_refused(void **state)
{
    struct fixture *f = *state;

    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
    assert_int_equal(caret__lockfile_trust(&f->e), CARET_OK);
    assert_int_equal(fchown(caret__fd(&f->e.lock_fd), 65534, 65534), 0);
    assert_int_equal(caret__lockfile_trust(&f->e), CARET_E_OPEN);
    assert_non_null(strstr(caret_message(), "belongs to user 65534"));
    assert_non_null(strstr(caret_message(), f->lock_path));
    assert_int_equal(fchmod(caret__fd(&f->e.data_fd), 0666), 0); /* anybody may write the data file */
    assert_int_equal(caret__lockfile_trust(&f->e), CARET_OK);
}

/* ------------------------------------------------- one that only looks */

static void the_gate_is_seen_by_who_only_looks(void **state)
{
    struct fixture *f = *state;
    pid_t pid = 4711;

    assert_int_equal(caret__gate_busy((&(struct caret__engine){.lock_path = ""}), &pid),
                     -1); /* can't be known */
    for (int held = 1; held >= 0; held--) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            f->e.lock_fd = (struct caret__fd){0};
            bool looks = caret__lockfile_look(&f->e) == CARET_OK;
            bool right = caret__gate_busy(&f->e, &pid) == held && pid == (held ? getppid() : 0);
            bool stays = caret__file_write(caret__fd(&f->e.lock_fd), "x", 1, 0) == EBADF;
            _exit(looks && right && stays ? 0 : 1);
        }
        join(child);
        if (held)
            caret__gate_release(&f->e);
    }
}

static void a_lock_file_that_is_none_is_told(void **state)
{
    struct fixture *f = *state;
    struct caret__engine other;
    char path[96];

    engine_init(f, &other);
    snprintf(path, sizeof path, "%s/other", f->dir);
    other.lock_path = path;
    assert_int_equal(caret__lockfile_look(&other), CARET_NONE); /* there is none */
    assert_int_equal(symlink(f->lock_path, path), 0);
    assert_int_equal(caret__lockfile_look(&other), CARET_E_OPEN);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(caret__lockfile_look(&other), CARET_E_OPEN); /* without waiting for a writer of it */
    assert_non_null(strstr(caret_message(), "not a regular file"));
    assert_false(caret__fd_known(&other.lock_fd));
    unlink(path);
    engine_done(&other);
}

/* A copy of the record lies at the end of the log, for readers that may not open the lock file. */
static void readers_find_the_record_in_the_log(void **state)
{
    struct fixture *f = *state;
    struct caret__engine reader = {.path = f->path, .log_path = f->path, .observes = CARET__OBSERVES_LIVE};
    struct caret__lockrec rec, made;

    atomic_store(&f->e.sh->log_size, 65536);
    assert_int_equal(caret__lockrec_make(&f->e, f->id.uuid, &made), CARET_OK);
    assert_int_equal(caret__lockrec_write(&f->e, &made), CARET_OK);
    assert_int_equal(caret__lockrec_parse(caret__fd(&f->e.lock_fd), f->lock_path, &rec), CARET_OK);
    assert_memory_equal(&rec, &made, sizeof rec);

    reader.log_fd = f->e.log_fd;
    /* It is not known where it lies, and what lies at the beginning is not asked, though it looks like one. */
    assert_int_equal(caret__file_write(caret__fd(&f->e.log_fd), &made, sizeof made, 0), 0);
    assert_int_equal(caret__lockrec_read(&reader, &rec), CARET_NONE);
    reader.log_end = 65536;
    assert_int_equal(caret__lockrec_read(&reader, &rec), CARET_OK);
    assert_string_equal(rec.seg_path, f->e.seg_path);
    assert_int_equal(caret__lockrec_repeat(&f->e, 131072), CARET_OK); /* the log has become longer */
    reader.log_end = 131072;
    memset(&rec, 0, sizeof rec);
    assert_int_equal(caret__lockrec_read(&reader, &rec), CARET_OK);
    assert_memory_equal(&rec, &made, sizeof rec);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_follow_the_data_file),
        TEST(files_follow_the_owner_of_the_data_file),
        TEST(a_group_that_can_not_be_set_gets_nothing),
        TEST(trusted_are_those_who_may_write_the_data_file),
        TEST(root_and_oneself_are_trusted_too),
        TEST(a_lock_file_of_a_stranger_is_refused),
        TEST(the_gate_is_seen_by_who_only_looks),
        TEST(a_lock_file_that_is_none_is_told),
        TEST(readers_find_the_record_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
