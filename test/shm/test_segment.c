/* The shared segment: create, attach, refuse, grow. */
#include "support/segment.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/bytes.h"
#include "shm/memory.h"

#define NPAGES 256u

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static void create(struct fixture *f)
{
    assert_int_equal(caret__segment_create(&f->e, &f->id, NULL, NPAGES, 0), CARET_OK);
}

static uint32_t bits(_Atomic uint64_t *map, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += (uint32_t)(atomic_load(&map[i / 64]) >> i % 64 & 1);
    return count;
}

static void new_segment_has_all_pages_but_the_reserved_free(void **state)
{
    struct fixture *f = *state;

    create(f);
    assert_int_equal(f->e.sh->ts.npages, NPAGES);
    assert_int_equal(f->e.sh->ts.free_pages, NPAGES - CARET__FIRST_PAGE - 2);
    assert_int_equal(bits(f->e.pg.maps[CARET__MAP_FREE], NPAGES), f->e.sh->ts.free_pages);
    assert_int_equal(bits(f->e.pg.maps[CARET__MAP_PENDING0], NPAGES), 0);
    assert_int_equal(f->e.sh->ts.free_slots, CARET__ARENA_STEP);
    assert_int_equal(bits(f->e.pg.maps[CARET__MAP_SLOTS], CARET__ARENA_STEP), CARET__ARENA_STEP);
    for (uint32_t i = 0; i < NPAGES; i++)
        assert_int_equal(atomic_load(&f->e.pg.ptab[i].word), 0);
}

static void segment_has_the_rights_of_the_data_file(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    create(f);
    assert_int_equal(fstat(caret__fd(&f->e.shm_fd), &st), 0);
    assert_int_equal(st.st_mode & 0777, f->id.mode & 0666);
    assert_int_equal(st.st_uid, f->id.uid);
}

static void ring_wraps_in_one_piece(void **state)
{
    struct fixture *f = *state;
    uint64_t size;

    create(f);
    size = f->e.sh->ring_size;
    memcpy(f->e.ring + size - 4, "wrapped!", 8);
    assert_memory_equal(f->e.ring, "ped!", 4);
    assert_memory_equal(f->e.base + f->e.sh->off_ring + size - 4, "wrap", 4);
}

static void two_processes_see_one_segment(void **state)
{
    struct fixture *f = *state;
    pid_t child;

    create(f);
    child = fork();
    if (child == 0) {
        struct caret__engine other;
        engine_init(f, &other);
        int rc = caret__segment_attach(&other, &f->id, f->e.seg_path);
        if (rc == CARET_OK)
            atomic_store(&other.sh->log_head, 4711);
        _exit(rc != CARET_OK || other.pg.id == f->e.pg.id || other.base == f->e.base);
    }
    join(child);
    assert_int_equal(atomic_load(&f->e.sh->log_head), 4711);
}

static int attach_again(struct fixture *f)
{
    struct caret__engine other;
    char path[512];

    snprintf(path, sizeof path, "%s", f->e.seg_path);
    engine_init(f, &other);
    int rc = caret__segment_attach(&other, &f->id, path);
    engine_done(&other);
    return rc;
}

static void damaged_or_foreign_headers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct caret__shared *sh;

    create(f);
    sh = f->e.sh;
    assert_int_equal(attach_again(f), CARET_OK);
    sh->magic ^= 1;
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
    sh->magic ^= 1;
    sh->signature ^= 1;
    assert_int_equal(attach_again(f), CARET_E_VERSION);
    sh->signature ^= 1;
    sh->uuid[3] ^= 1;
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
    sh->uuid[3] ^= 1;
    sh->off_undo += 64u << 10;
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
    sh->off_undo -= 64u << 10;
    sh->max_slots *= 2;
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
    sh->max_slots /= 2;
    atomic_store(&sh->nslots, sh->max_slots + 1);
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
    atomic_store(&sh->nslots, CARET__ARENA_STEP);
    assert_int_equal(attach_again(f), CARET_OK);
}

static void short_segments_are_refused(void **state)
{
    struct fixture *f = *state;
    uint64_t size;

    create(f);
    size = f->e.sh->seg_size;
    assert_int_equal(ftruncate(caret__fd(&f->e.shm_fd), (off_t)size - 65536), 0);
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
    assert_int_equal(ftruncate(caret__fd(&f->e.shm_fd), 100), 0);
    assert_int_equal(attach_again(f), CARET_E_CORRUPT);
}

/* The data file may have been open to more when the segment was made. */
static void a_segment_open_to_more_than_the_data_file_is_no_longer(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    create(f);
    assert_int_equal(fchmod(caret__fd(&f->e.shm_fd), 0664), 0);
    assert_int_equal(attach_again(f), CARET_OK);
    assert_int_equal(fstat(caret__fd(&f->e.shm_fd), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    if (geteuid() != 0)
        return;
    f->id.uid = 65534; /* but one of another owner is refused */
    assert_int_equal(fchown(caret__fd(&f->e.shm_fd), 65533, 65533), 0);
    assert_int_equal(attach_again(f), CARET_E_SHM);
}

static void missing_segment_is_no_error_and_a_link_is(void **state)
{
    struct fixture *f = *state;
    struct caret__engine other;
    char path[128];

    create(f);
    engine_init(f, &other);
    assert_int_equal(caret__segment_attach(&other, &f->id, "/dev/shm/caret-no-such"), CARET_NONE);
    snprintf(path, sizeof path, "%s/link", f->dir);
    assert_int_equal(symlink(f->e.seg_path, path), 0);
    assert_int_equal(caret__segment_attach(&other, &f->id, path), CARET_E_SHM);
    unlink(path);
    engine_done(&other);
}

static void pages_grow_with_table_bitmaps_and_file(void **state)
{
    struct fixture *f = *state;
    uint32_t want = CARET__GROUP_PAGES * 2 + 100;
    struct stat st;

    create(f);
    assert_int_equal(caret__grow_pages(&f->e, want), CARET_OK);
    assert_int_equal(f->e.sh->ts.npages, want);
    assert_int_equal(f->e.sh->ts.free_pages, want - CARET__FIRST_PAGE - 2 - 4);
    assert_int_equal(bits(f->e.pg.maps[CARET__MAP_FREE], want + 64), f->e.sh->ts.free_pages);
    for (uint32_t i = 0; i < want; i++) {
        unsigned bit = atomic_load(&f->e.pg.maps[CARET__MAP_FREE][i / 64]) >> i % 64 & 1;
        assert_int_equal(bit, !caret__pgno_reserved(i));
    }
    assert_int_equal(atomic_load(&f->e.pg.ptab[want - 1].word), 0);
    assert_int_equal(fstat(caret__fd(&f->e.data_fd), &st), 0);
    assert_true((uint64_t)st.st_size >= (uint64_t)want * CARET__PAGE_SIZE);
    assert_int_equal(f->e.file_map[(size_t)want * CARET__PAGE_SIZE - 1], 0);
}

/* A large file, all of which but ten pages is taken. */
static uint32_t grow_large(struct fixture *f)
{
    const uint32_t npages = 4 * CARET__KEPT_PAGES + 5;

    create(f);
    assert_false(caret__grow_pages_wanted(&f->e, 0)); /* a small one is not grown ahead */
    assert_int_equal(caret__grow_pages(&f->e, npages), CARET_OK);
    assert_false(caret__grow_pages_wanted(&f->e, 1));
    f->e.sh->ts.free_pages = 10;
    return npages;
}

static uint64_t file_length(const struct fixture *f)
{
    struct stat st;

    assert_int_equal(fstat(caret__fd(&f->e.data_fd), &st), 0);
    return (uint64_t)st.st_size;
}

static void pages_are_allocated_ahead_and_published_later(void **state)
{
    struct fixture *f = *state;
    uint32_t npages = grow_large(f);

    assert_true(caret__grow_pages_wanted(&f->e, 1));
    assert_false(caret__grow_pages_wanted(&f->e, 1)); /* it is known */
    uint32_t more = caret__grow_pages_ahead(&f->e);
    assert_in_range(more, npages + 1, npages + npages / 8);
    assert_true(file_length(f) >= (uint64_t)more * CARET__PAGE_SIZE);
    assert_int_equal(f->e.sh->ts.npages, npages);
    assert_int_equal(f->e.sh->ts.free_pages, 10);
    assert_int_equal(caret__grow_pages_ahead(&f->e), 0);
    memset(f->e.pg.ptab + npages, 0, (more - npages) * sizeof(struct caret__pte));
    assert_int_equal(caret__grow_pages(&f->e, more), CARET_OK);
    assert_int_equal(f->e.sh->ts.npages, more);
    assert_int_equal(f->e.sh->ts.free_pages, 10 + more - npages);
    assert_int_equal(bits(f->e.pg.maps[CARET__MAP_FREE], more + 64), more - CARET__FIRST_PAGE - 2);
}

/* A process that grew the file meanwhile, and what lies there, are left alone. */
static void what_others_took_meanwhile_stays(void **state)
{
    struct fixture *f = *state;
    uint32_t npages = grow_large(f);
    char page[CARET__PAGE_SIZE], there[CARET__PAGE_SIZE];

    memset(page, 'x', sizeof page);
    assert_true(caret__grow_pages_wanted(&f->e, 1));
    int fd = caret__fd(&f->e.data_fd);
    assert_int_equal(pwrite(fd, page, sizeof page, (off_t)npages * CARET__PAGE_SIZE), sizeof page);
    assert_true(caret__grow_pages_ahead(&f->e) > npages);
    assert_int_equal(pread(fd, there, sizeof there, (off_t)npages * CARET__PAGE_SIZE), sizeof there);
    assert_memory_equal(there, page, sizeof page);
}

static void without_room_nothing_is_grown_ahead(void **state)
{
    struct fixture *f = *state;
    uint32_t npages = grow_large(f);

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) { /* a signal ends it */
        struct rlimit limit = {npages * CARET__PAGE_SIZE, npages * CARET__PAGE_SIZE};
        setrlimit(RLIMIT_FSIZE, &limit);
        caret__segment_alone(f->e.sh);
        bool wanted = caret__grow_pages_wanted(&f->e, 1);
        uint32_t more = caret__grow_pages_ahead(&f->e);
        _exit(wanted && more == 0 && !caret__grow_pages_wanted(&f->e, 1) ? 0 : 1);
    }
    join(child);
    assert_int_equal(file_length(f), (uint64_t)npages * CARET__PAGE_SIZE);
}

static void arena_and_undo_grow_to_their_limits_only(void **state)
{
    struct fixture *f = *state;
    struct caret__shared *sh;

    create(f);
    sh = f->e.sh;
    assert_int_equal(caret__grow_arena(&f->e, sh->max_slots), CARET_OK);
    assert_int_equal(sh->ts.free_slots, sh->max_slots);
    memset(f->e.pg.arena, 1, (size_t)sh->max_slots * CARET__PAGE_SIZE);
    f->e.pg.owners[sh->max_slots - 1] = 5;
    assert_int_equal(caret__grow_arena(&f->e, sh->max_slots + 1), CARET_E_LIMIT);
    assert_int_equal(caret__grow_undo(&f->e, 1000000), CARET_OK);
    assert_true(atomic_load(&sh->undo_cap) >= 1000000);
    assert_int_equal(caret__grow_undo(&f->e, sh->undo_max + 1), CARET_E_LIMIT);
    assert_int_equal(caret__grow_pages(&f->e, sh->max_pages + 1), CARET_E_DISKFULL);
    assert_int_equal(sh->ts.npages, NPAGES);
}

static void full_shared_memory_is_an_error_that_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    char dir[96], command[256];
    int rc;

    snprintf(dir, sizeof dir, "%s/shm", f->dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(command, sizeof command, "mount -t tmpfs -o size=64k none %s 2>/dev/null", dir);
    if (system(command) != 0) {
        rmdir(dir);
        print_message("skipped: no tmpfs can be mounted here\n");
        skip();
    }
    rc = caret__segment_create(&f->e, &f->id, dir, NPAGES, 0);
    DIR *d = opendir(dir);
    unsigned files = 0;
    for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d))
        files += entry->d_name[0] != '.';
    closedir(d);
    fixture_small_folder_gone(dir);
    assert_int_equal(rc, CARET_E_SHM);
    assert_int_equal(files, 0);
    assert_null(f->e.base);
}

/* As in a container: the arena may take half of what the folder has left, and an arena in use leaves room. */
static void a_small_folder_gives_a_small_arena(void **state)
{
    const uint64_t room = CARET__PAGE_SIZE < 1024 ? 4 << 20 : 64 << 20;
    struct fixture *f = *state;
    char dir[96];

    fixture_small_folder(f, room, dir);
    f->e.options.arena_limit = 0;
    int rc = caret__segment_create(&f->e, &f->id, dir, NPAGES, 0);
    uint64_t arena = rc == CARET_OK ? (uint64_t)f->e.sh->max_slots * CARET__PAGE_SIZE : 0;
    if (rc == CARET_OK)
        rc = caret__grow_arena(&f->e, f->e.sh->max_slots);
    caret__segment_close(&f->e);
    fixture_small_folder_gone(dir);
    assert_int_equal(rc, CARET_OK);
    assert_in_range(arena, room / 4, room / 2);
}

/* What the pages of the database need in the folder comes first, and the arena is half of the rest: so a large one that
 * found no room to grow has it when it is opened again. */
static void the_arena_leaves_room_for_the_pages(void **state)
{
    const uint64_t room = CARET__PAGE_SIZE < 1024 ? 4 << 20 : 64 << 20;
    const uint32_t npages = (uint32_t)(room / 2 / sizeof(struct caret__pte));
    struct fixture *f = *state;
    char dir[96];

    fixture_small_folder(f, room, dir);
    f->e.options.arena_limit = 0;
    int rc = caret__segment_create(&f->e, &f->id, dir, npages, 0);
    uint64_t arena = rc == CARET_OK ? (uint64_t)f->e.sh->max_slots * CARET__PAGE_SIZE : 0;
    if (rc == CARET_OK)
        rc = caret__grow_arena(&f->e, f->e.sh->max_slots);
    caret__segment_close(&f->e);
    fixture_small_folder_gone(dir);
    assert_int_equal(rc, CARET_OK);
    assert_in_range(arena, room / 8, room / 4);
}

/* Nor more than a quarter of the memory; and a large machine's arena is larger than 1 GiB. */
static void the_arena_is_a_quarter_of_the_memory(void **state)
{
    struct fixture *f = *state;
    uint64_t most = (uint64_t)CARET__ARENA_SLOTS_MAX * CARET__PAGE_SIZE;
    uint64_t before = caret__min64(caret__memory_available("") / 4, most);
    struct statvfs fs;

    assert_int_equal(statvfs("/dev/shm", &fs), 0);
    if (fs.f_blocks != 0 && (uint64_t)fs.f_bavail * fs.f_frsize / 4 < before) {
        print_message("skipped: /dev/shm has less than the memory leaves, and others use it, too\n");
        skip();
    }
    f->e.options.arena_limit = 0;
    create(f);
    uint64_t arena = (uint64_t)f->e.sh->max_slots * CARET__PAGE_SIZE;
    assert_in_range(arena, SANITIZED ? 1 : before / 2, before + before / 2); /* others take and give memory */
}

static void need_address_space(void)
{
    if (SANITIZED) {
        print_message("skipped: the sanitizer needs terabytes of address space itself\n");
        skip();
    }
}

static void limited_address_space_gives_smaller_limits(void **state)
{
    struct fixture *f = *state;

    need_address_space();
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {UINT64_C(1) << 30, UINT64_C(1) << 30};
        setrlimit(RLIMIT_AS, &limit);
        if (caret__segment_create(&f->e, &f->id, NULL, NPAGES, 0) != CARET_OK) {
            fprintf(stderr, "%s\n", caret_message());
            _exit(1);
        }
        bool ok = f->e.sh->max_pages < CARET__MAX_PAGES || f->e.sh->seg_size < (UINT64_C(1) << 30);
        ok = ok && caret__grow_pages(&f->e, 2 * NPAGES) == CARET_OK;
        unlink(f->e.seg_path);
        _exit(ok ? 0 : 2);
    }
    join(child);
}

/* Let this process map so many bytes beside what it has. */
static void allow_address_space(uint64_t bytes)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu", &pages), 1);
    fclose(f);
    struct rlimit limit = {pages * (uint64_t)sysconf(_SC_PAGESIZE) + bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
}

static void address_space_that_is_said_to_be_the_least_suffices(void **state)
{
    struct fixture *f = *state;

    need_address_space();
    pid_t child = fork();
    if (child == 0) {
        unsigned long long least = 0;
        allow_address_space(UINT64_C(1) << 20);
        if (caret__segment_create(&f->e, &f->id, NULL, NPAGES, 0) != CARET_E_SHM)
            _exit(1);
        const char *said = strstr(caret_message(), "address space: ");
        if (said == NULL || sscanf(said, "address space: %llu MiB", &least) != 1)
            _exit(2);
        allow_address_space((uint64_t)least << 20);
        bool ok = caret__segment_create(&f->e, &f->id, NULL, NPAGES, 0) == CARET_OK;
        unlink(f->e.seg_path);
        _exit(ok ? 0 : 3);
    }
    join(child);
}

static void address_space_for_what_others_made_is_named(void **state)
{
    struct fixture *f = *state;

    need_address_space();
    create(f);
    pid_t child = fork();
    if (child == 0) {
        struct caret__engine other;
        engine_init(f, &other);
        allow_address_space(UINT64_C(1) << 20);
        if (caret__segment_attach(&other, &f->id, f->e.seg_path) != CARET_E_SHM)
            _exit(1);
        char least[64];
        snprintf(least, sizeof least, "shared segment, %llu MiB",
                 (unsigned long long)(f->e.sh->seg_size >> 20) + 1);
        _exit(strstr(caret_message(), "(ulimit -v)") != NULL && strstr(caret_message(), least) != NULL ? 0
                                                                                                       : 2);
    }
    join(child);
}

static void file_size_limit_is_an_error_not_a_signal(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();

    if (child == 0) {
        struct rlimit limit = {65536, 65536};
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(caret__segment_create(&f->e, &f->id, NULL, NPAGES, 0) == CARET_E_SHM ? 0 : 1);
    }
    join(child);
    create(f);
    child = fork();
    if (child == 0) {
        struct rlimit limit = {NPAGES * CARET__PAGE_SIZE, NPAGES * CARET__PAGE_SIZE};
        setrlimit(RLIMIT_FSIZE, &limit);
        caret__segment_alone(f->e.sh);
        _exit(caret__grow_pages(&f->e, NPAGES + 1) == CARET_E_DISKFULL ? 0 : 1);
    }
    join(child);
    assert_int_equal(f->e.sh->ts.npages, NPAGES);
}

static void sweep_removes_only_own_leftovers(void **state)
{
    struct fixture *f = *state;
    struct caret__engine leftover;
    struct caret__identity other = f->id;
    char own[512], foreign[512];

    create(f);
    engine_init(f, &leftover);
    assert_int_equal(caret__segment_create(&leftover, &f->id, NULL, NPAGES, 0), CARET_OK);
    snprintf(own, sizeof own, "%s", leftover.seg_path);
    caret__segment_close(&leftover);
    other.uuid[0] = 99;
    assert_int_equal(caret__segment_create(&leftover, &other, NULL, NPAGES, 0), CARET_OK);
    snprintf(foreign, sizeof foreign, "%s", leftover.seg_path);
    caret__segment_sweep(&f->id, NULL, f->e.seg_path);
    assert_int_equal(access(own, F_OK), -1);
    assert_int_equal(access(foreign, F_OK), 0);
    assert_int_equal(access(f->e.seg_path, F_OK), 0);
    unlink(foreign);
    engine_done(&leftover);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_new, fixture_delete)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_segment_has_all_pages_but_the_reserved_free),
        TEST(segment_has_the_rights_of_the_data_file),
        TEST(ring_wraps_in_one_piece),
        TEST(two_processes_see_one_segment),
        TEST(damaged_or_foreign_headers_are_refused),
        TEST(short_segments_are_refused),
        TEST(a_segment_open_to_more_than_the_data_file_is_no_longer),
        TEST(missing_segment_is_no_error_and_a_link_is),
        TEST(pages_grow_with_table_bitmaps_and_file),
        TEST(pages_are_allocated_ahead_and_published_later),
        TEST(what_others_took_meanwhile_stays),
        TEST(without_room_nothing_is_grown_ahead),
        TEST(arena_and_undo_grow_to_their_limits_only),
        TEST(full_shared_memory_is_an_error_that_leaves_nothing),
        TEST(a_small_folder_gives_a_small_arena),
        TEST(the_arena_leaves_room_for_the_pages),
        TEST(the_arena_is_a_quarter_of_the_memory),
        TEST(limited_address_space_gives_smaller_limits),
        TEST(address_space_that_is_said_to_be_the_least_suffices),
        TEST(address_space_for_what_others_made_is_named),
        TEST(file_size_limit_is_an_error_not_a_signal),
        TEST(sweep_removes_only_own_leftovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
