/* Descriptors that a host may take away, writes within the limits of the process, and failures that everybody sees. */
#include "support/segment.h"

#include <sys/resource.h>

#include "shm/fail.h"
#include "shm/write.h"

/* -------------------------------------------------------------- descriptors */

static void a_descriptor_is_ours_until_it_is_closed(void **state)
{
    struct fixture *f = *state;
    struct caret__fd fd = {0};

    assert_int_equal(caret__fd(&fd), -1);
    assert_int_equal(errno, EBADF);
    assert_false(caret__fd_known(&fd));
    assert_false(caret__fd_set(&fd, -1));
    assert_true(caret__fd_set(&fd, open(f->path, O_RDWR)));
    errno = 4711;
    int number = caret__fd(&fd);
    assert_true(number >= 0 && errno == 4711);
    caret__fd_close(&fd);
    assert_int_equal(errno, 4711);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    assert_false(caret__fd_known(&fd));
}

/* The host has closed it, and opened a file of its own, which got the number. */
static void a_number_that_is_anothers_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct caret__fd fd;

    assert_true(caret__fd_set(&fd, open(f->path, O_RDWR)));
    int number = caret__fd(&fd), other = open("/dev/null", O_RDWR);
    close(number);
    assert_int_equal(caret__fd(&fd), -1);
    assert_int_equal(dup2(other, number), number);
    errno = 0;
    assert_int_equal(caret__fd(&fd), -1);
    assert_int_equal(errno, EBADF);
    assert_true(caret__fd_known(&fd));
    caret__fd_close(&fd);
    assert_true(fcntl(number, F_GETFD) >= 0); /* still the host's */
    close(number);
    close(other);
}

static void a_descriptor_that_is_no_file_is_not_kept(void **state)
{
    struct caret__fd fd;

    (void)state;
    assert_false(caret__fd_set(&fd, 1000000));
    assert_int_equal(errno, EBADF);
    assert_false(caret__fd_known(&fd));
}

static void an_engine_tells_whether_its_files_are_its_own(void **state)
{
    struct fixture *f = *state;

    fixture_create(f, 256);
    assert_true(caret__fds_ours(&f->e));
    assert_int_equal(caret__fds_check(&f->e), CARET_OK);
    int number = caret__fd(&f->e.shm_fd), kept = dup(number), other = open("/dev/null", O_RDWR);
    dup2(other, number);
    assert_false(caret__fds_ours(&f->e));
    assert_int_equal(caret__fds_check(&f->e), CARET_E_EVICTED);
    /* and nothing is written to it */
    assert_int_equal(caret__grow_arena(&f->e, atomic_load(&f->e.sh->nslots) + 1), CARET_E_EVICTED);
    assert_int_equal(caret__grow_pages(&f->e, 512), CARET_E_EVICTED);
    assert_int_equal(f->e.sh->ts.npages, 256);
    assert_int_equal(caret__io_failed(&f->e, EIO, "the log"), CARET_E_EVICTED);
    assert_int_equal(atomic_load(&f->e.sh->io_failed), 0);
    dup2(kept, number);
    assert_int_equal(caret__fds_check(&f->e), CARET_OK);
    assert_int_equal(caret__grow_pages(&f->e, 512), CARET_OK);
    close(kept);
    close(other);
}

static void a_file_without_a_name_is_told(void **state)
{
    struct fixture *f = *state;

    assert_false(caret__file_removed(&f->e.data_fd));
    unlink(f->path);
    assert_true(caret__file_removed(&f->e.data_fd));
}

/* A host may have closed its standard streams: a number below 3 would be written to by its printf. */
static void files_are_opened_above_the_standard_streams(void **state)
{
    struct fixture *f = *state;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(0);
        close(1);
        close(2);
        int fd = caret__open_high(f->path, O_RDWR, 0);
        _exit(fd > 2 && fcntl(fd, F_GETFD) == FD_CLOEXEC && open("/dev/null", O_RDWR) == 0 ? 0 : 1);
    }
    join(child);
    assert_int_equal(caret__open_high("/nowhere/at/all", O_RDWR, 0), -1);
    assert_int_equal(errno, ENOENT);
}

/* ------------------------------------------------------------------- writing */

/* Longer than the pieces it is written in, at an odd place. */
static void all_of_it_is_written(void **state)
{
    struct fixture *f = *state;
    const size_t len = (1u << 20) + 4711;
    uint8_t *buf = malloc(len), *back = malloc(len);
    int fd = caret__fd(&f->e.data_fd);

    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t)(i * 31 >> 3);
    assert_int_equal(caret__file_write(fd, buf, len, 333), 0);
    assert_int_equal(pread(fd, back, len, 333), len);
    assert_memory_equal(buf, back, len);
    assert_int_equal(caret__file_write(fd, buf, 0, 1u << 30), 0);
    assert_int_equal(caret__file_write(-1, buf, 1, 0), EBADF);
    int readonly = open(f->path, O_RDONLY);
    assert_int_equal(caret__file_write(readonly, buf, 1, 0), EBADF);
    close(readonly);
    free(buf);
    free(back);
}

/* Over ulimit -f: refused, and not a signal, which would end this child. */
static void what_is_over_the_limit_is_refused_without_a_signal(void **state)
{
    struct fixture *f = *state;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {8192, 8192};
        int fd = caret__fd(&f->e.data_fd), failed = 0;
        setrlimit(RLIMIT_FSIZE, &limit);
        failed += caret__file_size_limit() != 8192;
        failed += !caret__file_size_allowed(8192) || caret__file_size_allowed(8193);
        failed += caret__file_write(fd, "x", 1, 8191) != 0;
        failed += caret__file_write(fd, "x", 1, 8192) != EFBIG;
        failed += caret__file_write(fd, "xy", 2, 8191) != EFBIG; /* nothing of it */
        _exit(failed);
    }
    join(child);
    struct stat st;
    assert_int_equal(fstat(caret__fd(&f->e.data_fd), &st), 0);
    assert_int_equal(st.st_size, 8192);
    assert_int_equal(caret__file_size_limit(), UINT64_MAX);
}

static void allocating_leaves_what_is_there(void **state)
{
    struct fixture *f = *state;
    int fd = caret__fd(&f->e.data_fd);
    char back[4];
    struct stat st;

    assert_int_equal(caret__file_write(fd, "here", 4, 100000), 0);
    assert_int_equal(caret__file_allocate(fd, 0, 300000, 65536), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 300000);
    assert_true((uint64_t)st.st_blocks * 512 >= 300000);
    assert_int_equal(pread(fd, back, 4, 100000), 4);
    assert_memory_equal(back, "here", 4);
    assert_int_equal(caret__file_allocate(fd, 0, 0, 65536), 0);
    assert_int_not_equal(caret__file_allocate(-1, 0, 1, 65536), 0);
    int rc = caret__file_allocate_ahead(fd, 0, 400000, 65536);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(rc != 0 ? st.st_size == 300000 : st.st_size == 400000);
    assert_int_equal(pread(fd, back, 4, 100000), 4);
    assert_memory_equal(back, "here", 4);
}

static void full_disks_and_failing_ones_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(caret__write_code(ENOSPC), CARET_E_DISKFULL);
    assert_int_equal(caret__write_code(EDQUOT), CARET_E_DISKFULL);
    assert_int_equal(caret__write_code(EFBIG), CARET_E_DISKFULL);
    assert_int_equal(caret__write_code(EIO), CARET_E_IO);
    assert_int_equal(caret__write_code(EROFS), CARET_E_IO);
}

/* ------------------------------------------------------------------ failures */

/* The first failure is kept, for everybody; a limit of this process is its own affair. */
static void a_failure_is_recorded_once_for_all(void **state)
{
    struct fixture *f = *state;

    fixture_create(f, 256);
    assert_int_equal(caret__io_failed(&f->e, EFBIG, "the log"), CARET_E_DISKFULL);
    assert_int_equal(atomic_load(&f->e.sh->io_failed), 0);
    assert_int_equal(caret__io_failed(&f->e, EIO, "cannot write the log"), CARET_E_IO);
    assert_int_equal(atomic_load(&f->e.sh->io_failed), EIO);
    assert_non_null(strstr(caret_message(), "cannot write the log"));
    assert_non_null(strstr(caret_message(), f->path));
    assert_int_equal(caret__io_failed(&f->e, ENOSPC, "again"), CARET_E_DISKFULL);
    assert_int_equal(atomic_load(&f->e.sh->io_failed), EIO);
    assert_int_equal(caret__damaged(&f->e, "a slot is out of range"), CARET_E_CORRUPT);
    assert_int_equal(atomic_load(&f->e.sh->io_failed), EUCLEAN);
    assert_non_null(strstr(caret_message(), "a slot is out of range"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_new, fixture_delete)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_descriptor_is_ours_until_it_is_closed),
        TEST(a_number_that_is_anothers_is_left_alone),
        TEST(a_descriptor_that_is_no_file_is_not_kept),
        TEST(an_engine_tells_whether_its_files_are_its_own),
        TEST(a_file_without_a_name_is_told),
        TEST(files_are_opened_above_the_standard_streams),
        TEST(all_of_it_is_written),
        TEST(what_is_over_the_limit_is_refused_without_a_signal),
        TEST(allocating_leaves_what_is_there),
        TEST(full_disks_and_failing_ones_are_told_apart),
        TEST(a_failure_is_recorded_once_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
