/*
 * Replay: of a log that ends anywhere, or is damaged anywhere, exactly the whole records before that place count.
 * The segment is gone, as after a loss of power.
 */
#include "support/database.h"

#include "disk/meta.h"
#include "disk/record.h"

#define COMMITS 70
#define LEN     40

static struct file {
    uint8_t *bytes;
    size_t size;
} data, logged;
static struct caret__meta meta;
static uint64_t end_of[COMMITS + 1]; /* of each commit's record, as an offset in the file */
static unsigned commits;

static void read_whole(struct file *f, const char *name)
{
    struct stat st;
    int fd = open(name, O_RDONLY);

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    f->size = (size_t)st.st_size;
    f->bytes = malloc(f->size);
    assert_non_null(f->bytes);
    assert_int_equal(read(fd, f->bytes, f->size), f->size);
    close(fd);
}

/* The first `len` bytes; zeros after them. */
static void write_whole(const struct file *f, size_t len, const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, f->bytes, len), len);
    assert_int_equal(ftruncate(fd, (off_t)f->size), 0);
    close(fd);
}

static void lose_segments(void)
{
    remove_shared_memory();
}

/* Where the records end: the chain as the format describes it. */
static void find_records(void)
{
    uint64_t at = (meta.lsn - meta.log_base) % meta.log_size, seed = meta.chain_seed;

    end_of[commits = 0] = at;
    for (;;) {
        uint32_t size = caret__record_verify(seed, logged.bytes + at, logged.size - at);
        if (size == 0)
            return;
        memcpy(&seed, logged.bytes + at + size - 8, 8);
        at += size;
        assert_true(commits < COMMITS);
        end_of[++commits] = at;
    }
}

/* A database whose log holds the commits of nodes 0 to COMMITS - 1, its users killed. */
static void make(void)
{
    struct caret__meta_pair pair;
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *db = open_db();
        OK(caret_checkpoint(db));
        put(db, 0, COMMITS, LEN);
        OK(caret_sync(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    read_whole(&data, path);
    read_whole(&logged, log_path);
    int fd = open(path, O_RDONLY);
    OK(caret__meta_read(fd, path, data.size, &pair));
    close(fd);
    meta = pair.meta;
    find_records();
    assert_int_equal(commits, COMMITS);
}

static void done(void)
{
    free(data.bytes);
    free(logged.bytes);
}

/* The files as they are in memory, nothing else: so many commits are found, and work goes on. */
static void expect_commits(unsigned want, const char *what)
{
    write_whole(&data, data.size, path);
    write_whole(&logged, end_of[COMMITS], log_path);
    lose_segments();
    caret_db *db = NULL;
    int rc = try_open(&db);
    if (rc != CARET_OK)
        fail_msg("%s %u: %s", what, want, caret_message());
    int64_t have = count(db, 0, LEN);
    if (have != want)
        fail_msg("%s %u: found %lld commits", what, want, (long long)have);
    check(db);
    put(db, 1000, 1003, LEN);
    assert_int_equal(count(db, 1000, LEN), 3);
    OK(caret_close(db));
}

static void a_log_that_ends_at_a_record_is_replayed_up_to_it(void **state)
{
    (void)state;
    make();
    for (unsigned k = COMMITS + 1; k-- > 0;) {
        memset(logged.bytes + end_of[k], 0, end_of[COMMITS] - end_of[k]);
        expect_commits(k, "cut after record");
    }
    done();
}

static void a_record_that_is_there_in_part_does_not_count(void **state)
{
    (void)state;
    make();
    for (unsigned k = COMMITS; k-- > 0;) {
        uint64_t size = end_of[k + 1] - end_of[k], part = 8 + (k * 8) % (size - 8);
        memset(logged.bytes + end_of[k] + part, 0, end_of[COMMITS] - end_of[k] - part);
        expect_commits(k, "cut in the record after");
    }
    done();
}

static void a_damaged_record_ends_the_chain(void **state)
{
    (void)state;
    make();
    for (unsigned k = 0; k < COMMITS; k += 3) {
        uint64_t at = end_of[k] + (k * 5) % (end_of[k + 1] - end_of[k]);
        logged.bytes[at] ^= (uint8_t)(1u << k % 8);
        expect_commits(k, "damaged after record");
        logged.bytes[at] ^= (uint8_t)(1u << k % 8);
    }
    expect_commits(COMMITS, "whole");
    done();
}

/* The same record once more, or the next but one in its place: right in itself, but not the next of the chain. */
static void a_record_in_the_wrong_place_ends_the_chain(void **state)
{
    (void)state;
    make();
    uint64_t size = end_of[11] - end_of[10];
    uint8_t saved[512];
    assert_true(size <= sizeof saved);
    memcpy(saved, logged.bytes + end_of[20], size);
    assert_int_equal(end_of[21] - end_of[20], size);
    for (unsigned from = 19; from < 23; from++) {
        if (from == 20 || end_of[from + 1] - end_of[from] != size)
            continue;
        memcpy(logged.bytes + end_of[20], logged.bytes + end_of[from], size);
        expect_commits(20, "another in the place after record");
        memcpy(logged.bytes + end_of[20], saved, size);
    }
    done();
}

/* Bytes of private memory that this process has. */
static rlim_t private_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_true(f != NULL && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1);
    fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Open where there is no more private memory than half of the log takes. */
static int open_with_little_memory(void)
{
    struct rlimit limit;
    caret_options o = options();
    caret_db *db;

    o.no_thread = 1;
    limit.rlim_cur = limit.rlim_max = private_bytes() + meta.log_size / 2;
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    int rc = caret_open(path, &o, &db);
    if (rc != CARET_OK)
        fprintf(stderr, "%s\n", caret_message());
    return rc == CARET_OK && count(db, 0, LEN) == COMMITS ? 0 : 1;
}

/* What stands after the last record is of older ones, where the log has gone round: it may say that it is as long as
 * the log.  To look at it takes no memory. */
static void what_stands_after_the_chain_takes_no_memory(void **state)
{
    int status;

    (void)state;
    /* so short a log is less than what else is taken, and a sanitizer has terabytes itself */
    if (CARET__PAGE_SIZE == 512 || private_bytes() > (rlim_t)1 << 40)
        skip();
    make();
    const uint32_t sizes[] = {(uint32_t)meta.log_size, CARET__RECORD_MAX, 0x78787878,
                              (uint32_t)meta.log_size / 8 * 7};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memcpy(logged.bytes + end_of[COMMITS], &sizes[i], sizeof sizes[i]);
        write_whole(&data, data.size, path);
        write_whole(&logged, end_of[COMMITS] + sizeof sizes[i], log_path);
        lose_segments();
        pid_t pid = fork();
        if (pid == 0)
            _exit(open_with_little_memory());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            fail_msg("a size of %u: status 0x%x", sizes[i], status);
    }
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_log_that_ends_at_a_record_is_replayed_up_to_it),
        TEST(a_record_that_is_there_in_part_does_not_count),
        TEST(a_damaged_record_ends_the_chain),
        TEST(a_record_in_the_wrong_place_ends_the_chain),
        TEST(what_stands_after_the_chain_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
