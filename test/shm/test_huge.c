/*
 * The arena in huge pages: there where the system has them, and where it has none, or fails at any step of making them,
 * everything is as without.  What the system says is made up by the functions below, which the engine calls.
 */
#include "support/segment.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "shm/huge.h"

#define NPAGES 256u
#define MIB    (UINT64_C(1) << 20)
#define ARENA  (40 * MIB) /* a few pieces more than are left as they are */

/* ------------------------------------------------- what the system says */

static struct {
    int collapse;           /* errno of MADV_COLLAPSE */
    int allocate;           /* of posix_fallocate of one page ... */
    uint64_t allocate_from; /* ... there or after it */
    int seek;               /* of lseek */
    bool no_room;           /* mmap of nothing in particular fails, but for the log ring */
    _Atomic unsigned asked; /* MADV_COLLAPSE was */
} fails;

int madvise(void *p, size_t len, int advice)
{
    if (advice != MADV_COLLAPSE)
        return (int)syscall(SYS_madvise, p, len, advice);
    atomic_fetch_add(&fails.asked, 1);
    if (fails.collapse == 0)
        return (int)syscall(SYS_madvise, p, len, advice);
    errno = fails.collapse;
    return -1;
}

int posix_fallocate(int fd, off_t off, off_t len)
{
    if (len == 4096 && (uint64_t)off >= fails.allocate_from && fails.allocate != 0)
        return fails.allocate;
    return syscall(SYS_fallocate, fd, 0, off, len) == 0 ? 0 : errno;
}

off_t lseek(int fd, off_t off, int whence)
{
    if (whence != SEEK_DATA || fails.seek == 0)
        return (off_t)syscall(SYS_lseek, fd, off, whence);
    errno = fails.seek;
    return -1;
}

void *mmap(void *p, size_t len, int prot, int flags, int fd, off_t off)
{
    if (fails.no_room && prot == PROT_NONE && len > 2 * CARET__RING_SIZE) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, p, len, prot, flags, fd, off); // NOLINT
}

/* ------------------------------------------------------------- helpers */

static int set_up(void **state)
{
    memset(&fails, 0, sizeof fails);
    int rc = fixture_new(state);
    if (rc == 0)
        ((struct fixture *)*state)->e.options.arena_limit = ARENA;
    return rc;
}

static void create(struct fixture *f)
{
    assert_int_equal(caret__segment_create(&f->e, &f->id, NULL, NPAGES, 0), CARET_OK);
}

static uint8_t *slot(const struct caret__engine *e, uint32_t i)
{
    return e->pg.arena + (size_t)i * CARET__PAGE_SIZE;
}

/* Write to each slot what tells it from others, or look for that. */
static void fill(const struct caret__engine *e, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        memcpy(slot(e, i) + CARET__PAGE_SIZE - sizeof i, &i, sizeof i);
}

static void look(const struct caret__engine *e, uint32_t from, uint32_t to)
{
    for (uint32_t i = from, is; i < to; i++) {
        memcpy(&is, slot(e, i) + CARET__PAGE_SIZE - sizeof i, sizeof is);
        assert_int_equal(is, i);
    }
}

/* Bytes that the segment takes. */
static uint64_t taken(const struct caret__engine *e)
{
    struct stat st;

    assert_int_equal(fstat(caret__fd(&e->shm_fd), &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* Bytes of the arena that this process has mapped by huge pages.  smaps: "from-to rights ..." begins a mapping,
 * "ShmemPmdMapped: N kB" belongs to it. */
static uint64_t mapped_huge(const struct caret__engine *e)
{
    uintptr_t arena = (uintptr_t)e->pg.arena, end = (uintptr_t)e->base + e->map_len;
    unsigned long long from, to, kib, sum = 0;
    bool ours = false;
    char line[512];
    FILE *f = fopen("/proc/self/smaps", "re");

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
            ours = from < end && to > arena;
        else if (ours && sscanf(line, "ShmemPmdMapped: %llu kB", &kib) == 1)
            sum += kib << 10;
    }
    if (f != NULL)
        fclose(f);
    return sum;
}

/* As the thread in the background does when all slots are in use. */
static uint32_t grow_ahead(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;
    uint32_t are_free = sh->ts.free_slots;

    sh->ts.free_slots = 0;
    uint32_t to = caret__grow_ahead(e);
    sh->ts.free_slots = are_free;
    if (to != 0)
        assert_int_equal(caret__grow_arena(e, to), CARET_OK);
    return to;
}

static uint64_t arena_bytes(const struct caret__engine *e)
{
    return (uint64_t)atomic_load(&e->sh->nslots) * CARET__PAGE_SIZE;
}

/* All there may be, as a writer that could not wait grows it. */
static void grow_at_once(struct caret__engine *e)
{
    assert_int_equal(caret__grow_arena(e, e->sh->max_slots), CARET_OK);
    fill(e, 0, e->sh->max_slots);
}

static void settle_all(struct caret__engine *e)
{
    for (unsigned i = 0; i < 1000 && caret__huge_settle(e); i++)
        atomic_store(&e->huge_after, 0);
}

/* Does the system make a huge page of what lies in shared memory?  What it says is the reason for a skip. */
static void want_huge_pages(void)
{
    char name[] = "/dev/shm/caret-huge-XXXXXX"; /* memfd_create is another mount, with settings of its own */
    int fd = mkstemp(name), error = 0;

    unlink(name);
    uint8_t *p = ftruncate(fd, CARET__HUGE) == 0 ? caret__huge_map(CARET__HUGE, PROT_READ | PROT_WRITE, fd)
                                                 : MAP_FAILED;
    if (p != MAP_FAILED) {
        memset(p, 1, CARET__HUGE);
        error = madvise(p, CARET__HUGE, MADV_COLLAPSE) == 0 ? 0 : errno;
        munmap(p, CARET__HUGE);
    }
    close(fd);
    atomic_store(&fails.asked, 0);
    if (p == MAP_FAILED || error != 0) {
        print_message("skipped: no huge pages here (%s)\n", strerror(error));
        skip();
    }
}

/* --------------------------------------------------------------- tests */

static void the_arena_lies_where_huge_pages_are_possible(void **state)
{
    struct fixture *f = *state;

    create(f);
    assert_int_equal(f->e.sh->off_arena % CARET__HUGE, 0);
    assert_int_equal((uintptr_t)f->e.pg.arena % CARET__HUGE, 0);
    fill(&f->e, 0, CARET__ARENA_STEP);
    look(&f->e, 0, CARET__ARENA_STEP);
}

static void what_grows_ahead_is_huge_and_takes_no_more(void **state)
{
    struct fixture *f = *state;
    uint64_t before, step = (uint64_t)CARET__ARENA_STEP * CARET__PAGE_SIZE;

    create(f);
    before = taken(&f->e);
    /* The small build has small steps, none of them a huge page. */
    while (arena_bytes(&f->e) < 2 * CARET__HUGE)
        assert_int_not_equal(grow_ahead(&f->e), 0);
    fill(&f->e, 0, atomic_load(&f->e.sh->nslots));
    look(&f->e, 0, atomic_load(&f->e.sh->nslots));
    assert_in_range(taken(&f->e) - before, arena_bytes(&f->e) - step, arena_bytes(&f->e) - step + 64 * 1024);
    want_huge_pages();
    uint64_t want = step % CARET__HUGE == 0 ? arena_bytes(&f->e) - step : 0;
    assert_int_equal(caret__huge_bytes(&f->e), want);
    assert_int_equal(mapped_huge(&f->e), want);
}

static void nothing_is_asked_for_by_who_wants_none(void **state)
{
    struct fixture *f = *state;

    f->e.options.no_huge_pages = 1;
    create(f);
    grow_ahead(&f->e);
    grow_at_once(&f->e);
    assert_false(caret__huge_settle(&f->e));
    assert_int_equal(fails.asked, 0);
    assert_int_equal(caret__huge_bytes(&f->e), 0);
}

/* As another process sees it that has none. */
static void others_may_choose_otherwise(void **state)
{
    struct fixture *f = *state;
    struct caret__engine other;

    create(f);
    grow_at_once(&f->e);
    settle_all(&f->e);
    engine_init(f, &other);
    other.options.no_huge_pages = 1;
    assert_int_equal(caret__segment_attach(&other, &f->id, f->e.seg_path), CARET_OK);
    look(&other, 0, f->e.sh->max_slots);
    fill(&other, 0, 1);
    assert_int_equal(caret__huge_bytes(&other), caret__huge_bytes(&f->e));
    engine_done(&other);
    look(&f->e, 0, f->e.sh->max_slots);
}

static void what_a_writer_grew_is_settled_from_the_end(void **state)
{
    struct fixture *f = *state;
    uint32_t pieces;

    create(f);
    grow_at_once(&f->e);
    pieces = (uint32_t)(arena_bytes(&f->e) / CARET__HUGE);
    want_huge_pages();
    assert_true(caret__huge_settle(&f->e));
    assert_int_equal(atomic_load(&f->e.sh->huge[0]), UINT64_C(1) << (pieces - 1));
    assert_false(caret__huge_settle(&f->e)); /* not so soon */
    assert_int_equal(fails.asked, 1);
    atomic_store(&f->e.huge_after, 0);
    atomic_fetch_and(&f->e.pg.maps[CARET__MAP_SLOTS][CARET__HUGE / CARET__PAGE_SIZE / 64 - 1], ~UINT64_C(1));
    settle_all(&f->e);
    /* One slot of the first is in use. */
    assert_int_equal(caret__huge_bytes(&f->e), (pieces - 1) * CARET__HUGE);
    assert_int_equal(mapped_huge(&f->e), (pieces - 1) * CARET__HUGE);
    look(&f->e, 0, f->e.sh->max_slots);
}

static void a_small_arena_stays_as_it_is(void **state)
{
    struct fixture *f = *state;

    create(f);
    assert_int_equal(caret__grow_arena(&f->e, (uint32_t)(CARET__HUGE_LEAST / CARET__PAGE_SIZE - 64)),
                     CARET_OK);
    assert_false(caret__huge_settle(&f->e));
    assert_int_equal(fails.asked, 0);
}

/* One that writes to a piece while it is put together loses nothing. */
static struct writer {
    const struct caret__engine *e;
    _Atomic bool stop;
    unsigned rounds, lost;
} writer;

static void *write_all_the_time(void *arg)
{
    (void)arg;
    uint32_t n = writer.e->sh->max_slots;
    for (uint32_t value = 1; !atomic_load(&writer.stop) || writer.rounds == 0; value++, writer.rounds++)
        for (uint32_t i = 0; i < n; i += 7) {
            uint32_t is;
            memcpy(&is, slot(writer.e, i), sizeof is);
            writer.lost += is != value - 1;
            memcpy(slot(writer.e, i), &value, sizeof value);
        }
    return NULL;
}

static void nothing_is_lost_by_who_writes_meanwhile(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    create(f);
    grow_at_once(&f->e);
    writer = (struct writer){.e = &f->e};
    assert_int_equal(pthread_create(&thread, NULL, write_all_the_time, NULL), 0);
    settle_all(&f->e);
    atomic_store(&writer.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(writer.lost, 0);
    look(&f->e, 0, f->e.sh->max_slots);
}

/* Each step of it fails: memory is there all the same. */
static void a_system_without_them_gives_memory_as_ever(void **state)
{
    static const int errors[] = {EINVAL, ENOMEM, EAGAIN, EBUSY, EPERM, ENOSYS};
    struct fixture *f = *state;

    create(f);
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        fails.collapse = errors[i];
        atomic_store(&f->e.huge_after, 0);
        errno = 77;
        assert_int_not_equal(grow_ahead(&f->e), 0);
        assert_int_equal(errno, 77);
    }
    fails.collapse = 0;
    atomic_store(&f->e.huge_after, 0);
    fails.allocate = ENOSPC;
    fails.allocate_from = f->e.sh->off_arena;
    assert_int_not_equal(grow_ahead(&f->e), 0);
    fails.seek = EINVAL;
    assert_int_not_equal(grow_ahead(&f->e), 0);
    assert_int_equal(caret__huge_bytes(&f->e), 0);
    grow_at_once(&f->e);
    look(&f->e, 0, f->e.sh->max_slots);
}

/* A system that says that there are no such pages is not asked again; one that is short of memory is, after a while. */
static void who_refuses_is_not_asked_all_the_time(void **state)
{
    struct fixture *f = *state;

    create(f);
    grow_at_once(&f->e);
    fails.collapse = ENOMEM;
    assert_false(caret__huge_settle(&f->e));
    assert_false(caret__huge_settle(&f->e));
    assert_int_equal(fails.asked, 1);
    assert_true(atomic_load(&f->e.huge_after) < UINT64_MAX);
    atomic_store(&f->e.huge_after, 0);
    fails.collapse = EINVAL;
    assert_false(caret__huge_settle(&f->e));
    assert_int_equal(atomic_load(&f->e.huge_after), UINT64_MAX);
    assert_false(caret__huge_settle(&f->e));
    assert_int_equal(fails.asked, 2);
    assert_int_equal(caret__huge_bytes(&f->e), 0);
}

static void little_address_space_is_mapped_as_ever(void **state)
{
    struct fixture *f = *state;
    struct caret__engine other;

    create(f);
    fill(&f->e, 0, CARET__ARENA_STEP);
    fails.no_room = true;
    engine_init(f, &other);
    int rc = caret__segment_attach(&other, &f->id, f->e.seg_path);
    fails.no_room = false;
    assert_int_equal(rc, CARET_OK);
    look(&other, 0, CARET__ARENA_STEP);
    engine_done(&other);
}

/* What is short is told by an error, not by a signal. */
static void a_full_folder_is_an_error(void **state)
{
    struct fixture *f = *state;
    const uint64_t room = (CARET__ARENA_STEP * CARET__PAGE_SIZE == 4 * MIB ? 24 : 6) * MIB;
    char dir[96];

    fixture_small_folder(f, room, dir);
    int rc = caret__segment_create(&f->e, &f->id, dir, NPAGES, 0);
    if (rc == CARET_OK) {
        assert_true(caret__grow_wanted(&f->e, f->e.sh->ts.free_slots));
        while (grow_ahead(&f->e) != 0)
            continue;
        assert_false(
            caret__grow_wanted(&f->e, f->e.sh->ts.free_slots)); /* nobody is woken for what can't be had */
        fill(&f->e, 0, atomic_load(&f->e.sh->nslots));
        look(&f->e, 0, atomic_load(&f->e.sh->nslots));
        rc = caret__grow_arena(&f->e, f->e.sh->max_slots);
    }
    caret__segment_close(&f->e);
    fixture_small_folder_gone(dir);
    assert_int_equal(rc, CARET_E_SHM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_delete)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_arena_lies_where_huge_pages_are_possible),
        TEST(what_grows_ahead_is_huge_and_takes_no_more),
        TEST(nothing_is_asked_for_by_who_wants_none),
        TEST(others_may_choose_otherwise),
        TEST(what_a_writer_grew_is_settled_from_the_end),
        TEST(a_small_arena_stays_as_it_is),
        TEST(nothing_is_lost_by_who_writes_meanwhile),
        TEST(a_system_without_them_gives_memory_as_ever),
        TEST(who_refuses_is_not_asked_all_the_time),
        TEST(little_address_space_is_mapped_as_ever),
        TEST(a_full_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
