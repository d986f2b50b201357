/*
 * A database in memory, and one that is only read: files that no folder has, a segment that nobody else can map, and
 * the limit of memory that stands for the size of the disk.
 */
#include "support/segment.h"

#include <sys/mman.h>

#include "base/bytes.h"
#include "shm/memory.h"

#define NPAGES 256u
#define MIB    (UINT64_C(1) << 20)

static uint64_t length_of(const struct caret__fd *f)
{
    struct stat st;

    assert_int_equal(fstat(caret__fd(f), &st), 0);
    return (uint64_t)st.st_size;
}

/* The fixture's engine as one in memory, which may take so many bytes. */
static void in_memory(struct fixture *f, uint64_t limit)
{
    caret__fd_close(&f->e.data_fd);
    assert_true(caret__fd_memory(&f->e.data_fd));
    f->e.path = ":memory:";
    f->e.memory_limit = limit;
    f->e.options.arena_limit = 0;
    assert_int_equal(caret__segment_private(&f->e, &f->id, NPAGES, true), CARET_OK);
}

/* ------------------------------------------------------- files without names */

static void a_nameless_file_is_kept_as_others_are(void **state)
{
    struct caret__fd one, two;
    char back[4];

    (void)state;
    assert_true(caret__fd_memory(&one));
    assert_true(caret__fd_memory(&two));
    int number = caret__fd(&one);
    assert_true(number > 2 && number != caret__fd(&two) && one.ino != two.ino);
    assert_int_equal(fcntl(number, F_GETFD), FD_CLOEXEC);
    assert_false(caret__file_removed(&one)); /* though no folder has it */
    assert_int_equal(pwrite(number, "here", 4, 100), 4);
    assert_int_equal(length_of(&two), 0);
    assert_int_equal(pread(number, back, 4, 100), 4);
    assert_memory_equal(back, "here", 4);
    caret__fd_close(&one);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    assert_false(caret__fd_known(&one) || one.nameless);
    caret__fd_close(&two);
}

/* As with files that have names: a printf of the host would write to a number below 3. */
static void a_nameless_file_is_above_the_standard_streams(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct caret__fd fd;
        close(0);
        close(1);
        close(2);
        bool made = caret__fd_memory(&fd);
        _exit(made && caret__fd(&fd) > 2 && fcntl(caret__fd(&fd), F_GETFD) == FD_CLOEXEC &&
                      fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1
                  ? 0
                  : 1);
    }
    join(child);
}

/* The lock file of a database in memory: a gate to hold, a place that can't be lost, a record that nobody reads. */
static void a_lock_file_without_a_name_is_never_removed(void **state)
{
    struct fixture *f = *state;

    in_memory(f, 256 * MIB);
    assert_int_equal(caret__lockfile_memory(&f->e), CARET_OK);
    assert_int_equal(access(f->lock_path, F_OK), -1);
    caret__gate_release(&f->e);
    assert_int_equal(caret__gate_take(&f->e), CARET_OK); /* one that lost its name gives EVICTED */
    FILE *other = fopen(f->lock_path, "w");              /* somebody's file that happens to have that name */
    assert_non_null(other);
    fclose(other);
    caret__lockfile_remove(&f->e);
    assert_int_equal(access(f->lock_path, F_OK), 0);
    assert_int_equal(caret__lockrec_repeat(&f->e, 0), CARET_OK); /* without a log to write it to */
    caret__gate_release(&f->e);
    caret__lockfile_close(&f->e);
    assert_false(caret__fd_known(&f->e.lock_fd));
}

/* ------------------------------------------------------------- the segment */

static unsigned files_in(const char *dir)
{
    char command[256];
    unsigned n = 0;

    snprintf(command, sizeof command, "ls -A %s | wc -l", dir);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%u", &n), 1);
    pclose(p);
    return n;
}

static void a_private_segment_leaves_no_file_and_can_be_written(void **state)
{
    struct fixture *f = *state;
    struct caret__engine other;

    unlink(f->path);
    in_memory(f, 256 * MIB);
    struct caret__tstate *ts = &f->e.sh->ts;
    assert_int_equal(files_in(f->dir), 0);
    assert_int_equal(ts->npages, NPAGES);
    assert_int_equal(ts->free_pages, NPAGES - CARET__FIRST_PAGE - 2);
    assert_int_equal(ts->free_slots, CARET__ARENA_STEP);
    assert_int_equal(caret__grow_pages(&f->e, 4 * NPAGES), CARET_OK);
    assert_true(length_of(&f->e.data_fd) >= (uint64_t)4 * NPAGES * CARET__PAGE_SIZE);
    assert_int_equal(f->e.file_map[(size_t)4 * NPAGES * CARET__PAGE_SIZE - 1], 0);
    engine_init(f, &other);
    assert_int_equal(caret__segment_attach(&other, &f->id, f->e.seg_path), CARET_NONE);
    engine_done(&other);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) { /* a file of the host that has the name it goes by in messages is left alone */
        bool made = chdir(f->dir) == 0 && close(open(f->e.seg_path, O_CREAT | O_WRONLY, 0600)) == 0;
        caret__segment_unlink(&f->e);
        _exit(made && unlink(f->e.seg_path) == 0 ? 0 : 1);
    }
    join(child);
}

/* For reading a file only the header is made: no arena, no undo, no page table that takes memory. */
static void a_segment_for_reading_takes_next_to_nothing(void **state)
{
    struct fixture *f = *state;
    const uint32_t npages = 1u << 20;
    struct stat st;

    f->e.observes = CARET__OBSERVES_FILE;
    assert_int_equal(caret__segment_private(&f->e, &f->id, npages, false), CARET_OK);
    assert_int_equal(f->e.sh->ts.npages, npages);
    assert_int_equal(atomic_load(&f->e.sh->nslots), 0);
    assert_int_equal(fstat(caret__fd(&f->e.shm_fd), &st), 0);
    assert_true((uint64_t)st.st_blocks * 512 <= MIB);
    assert_int_equal(length_of(&f->e.data_fd), 0); /* and the file is left as it is */
    assert_int_equal(caret__grow_file(&f->e, 1000), CARET_OK);
    assert_int_equal(caret__keep_file(&f->e, 1000), CARET_OK);
    assert_int_equal(length_of(&f->e.data_fd), 0);
    assert_int_equal(atomic_load(&f->e.sh->file_pages), 0);
}

/* A page that was looked at stays what it was, whatever others write to the file, until all was replayed. */
static void kept_pages_do_not_change_under_who_replays(void **state)
{
    struct fixture *f = *state;
    char page[CARET__PAGE_SIZE];
    int fd = caret__fd(&f->e.data_fd);

    memset(page, 'a', sizeof page);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pwrite(fd, page, sizeof page, (off_t)i * CARET__PAGE_SIZE), sizeof page);
    f->e.observes = CARET__OBSERVES_FILE;
    assert_int_equal(caret__segment_private(&f->e, &f->id, 4, false), CARET_OK);
    assert_int_equal(caret__file_keep(&f->e), CARET_OK);
    assert_int_equal(f->e.pg.kept, 4);
    volatile uint8_t *map = (volatile uint8_t *)(uintptr_t)f->e.file_map;
    for (size_t at = 0; at < (size_t)4 * CARET__PAGE_SIZE; at += 4096)
        map[at] = map[at]; /* written to, so it is this process's own */
    memset(page, 'b', sizeof page);
    assert_int_equal(pwrite(fd, page, sizeof page, 0), sizeof page);
    assert_int_equal(map[1], 'a');
    map[2] = 'c';
    assert_int_equal(pread(fd, page, sizeof page, 0), sizeof page);
    assert_int_equal(page[2], 'b'); /* nothing of it comes into the file */
    caret__file_kept(&f->e);
    assert_int_equal(f->e.pg.kept, 0);
    assert_int_equal(map[1], 'a');
    assert_int_equal(pread(fd, (void *)(uintptr_t)map, 1, 0), -1); /* it can't be written to any more */
    assert_int_equal(errno, EFAULT);
}

/* --------------------------------------------------- the limit of its memory */

static void the_sizes_follow_the_limit_of_memory(void **state)
{
    struct fixture *f = *state;
    const uint64_t most = (uint64_t)CARET__ARENA_SLOTS_MAX * CARET__PAGE_SIZE;
    const uint64_t limit = caret__min64(300 * MIB, 2 * most);

    in_memory(f, limit);
    struct caret__shared *sh = f->e.sh;
    uint64_t arena = (uint64_t)sh->max_slots * CARET__PAGE_SIZE;
    assert_in_range(arena, limit / 8, limit / 4);
    uint64_t file = (uint64_t)sh->max_pages * CARET__PAGE_SIZE; /* address space for it, and not for 16 TiB */
    assert_in_range(file, caret__min64(limit, (uint64_t)CARET__MAX_PAGES * CARET__PAGE_SIZE), 2 * limit);
}

/* File, log and arena count together; what is refused changes nothing, and less is still granted. */
static void it_is_full_at_its_limit_and_says_so(void **state)
{
    struct fixture *f = *state;
    const uint64_t limit = 64 * MIB;

    in_memory(f, limit);
    struct caret__shared *sh = f->e.sh;
    uint64_t arena = (uint64_t)sh->max_slots * CARET__PAGE_SIZE, log = 4 * MIB, rest = limit - arena - log;
    atomic_store(&sh->log_size, log);
    assert_true(caret__memory_fits(&f->e, rest, log, 0));
    assert_false(caret__memory_fits(&f->e, rest + 1, log, 0));
    assert_false(caret__memory_fits(&f->e, rest, log + 1, 0));
    assert_false(caret__memory_fits(&f->e, 0, 0, UINT64_C(1) << 50)); /* this machine has not so much */

    uint32_t most = (uint32_t)(rest / CARET__PAGE_SIZE);
    uint64_t length = length_of(&f->e.data_fd);
    assert_int_equal(caret__grow_file(&f->e, most + 1), CARET_E_DISKFULL);
    assert_non_null(strstr(caret_message(), "64 MiB in all (memory_limit)"));
    assert_int_equal(caret__grow_pages(&f->e, most + 1), CARET_E_DISKFULL);
    assert_int_equal(caret__keep_file(&f->e, most + 1), CARET_E_DISKFULL);
    assert_int_equal(sh->ts.npages, NPAGES);
    assert_int_equal(atomic_load(&sh->io_failed), 0);
    assert_true(length_of(&f->e.data_fd) <= caret__max64(length, CARET__KEPT_PAGES * CARET__PAGE_SIZE));
    assert_int_equal(caret__grow_pages(&f->e, most), CARET_OK);
    assert_int_equal(sh->ts.npages, most);
}

/* Asked before much is taken: what was not there would end this process, or others. */
static void little_memory_is_there_and_too_much_never(void **state)
{
    (void)state;
    assert_true(caret__memory_has(0));
    assert_true(caret__memory_has(16 * MIB));
    uint64_t there = caret__memory_available("");
    assert_false(caret__memory_has(there + there / 2));
    assert_false(caret__memory_has(UINT64_C(1) << 60));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_new, fixture_delete)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_nameless_file_is_kept_as_others_are),
        TEST(a_nameless_file_is_above_the_standard_streams),
        TEST(a_lock_file_without_a_name_is_never_removed),
        TEST(a_private_segment_leaves_no_file_and_can_be_written),
        TEST(a_segment_for_reading_takes_next_to_nothing),
        TEST(kept_pages_do_not_change_under_who_replays),
        TEST(the_sizes_follow_the_limit_of_memory),
        TEST(it_is_full_at_its_limit_and_says_so),
        TEST(little_memory_is_there_and_too_much_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
