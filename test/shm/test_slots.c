/* Lock file, gate, process slots, registry, fork marks. */
#include "support/segment.h"

#include <sched.h>
#include <sys/mman.h>

struct notes {
    _Atomic uint32_t word;
    _Atomic uint32_t inside, overlaps;
};
static struct notes *notes;
static uint32_t reaped_slot, reaped_nonce, reaped;
static int reap_result;

static int setup(void **state)
{
    struct fixture *f;

    if (fixture_new(state) != 0)
        return -1;
    f = *state;
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    reaped = 0;
    reap_result = CARET_OK;
    return caret__segment_create(&f->e, &f->id, NULL, 256, 0);
}

static int teardown(void **state)
{
    munmap(notes, sizeof *notes);
    return fixture_delete(state);
}

static void until(uint32_t value)
{
    while (atomic_load(&notes->word) != value)
        usleep(100);
}

static int note_reaped(struct caret__engine *e, uint32_t slot, uint32_t nonce)
{
    reaped++;
    reaped_slot = slot;
    reaped_nonce = nonce;
    if (!caret__slot_ours(e)) /* or the writer mutex could not be taken */
        reap_result = CARET_E_EVICTED;
    return reap_result;
}

static int attach(struct caret__engine *e)
{
    int rc = caret__lockfile_open(e, NULL);
    if (rc == CARET_OK)
        rc = caret__slot_take(e, note_reaped);
    if (rc == CARET_OK)
        caret__fork_mark_set(e);
    caret__gate_release(e);
    return rc;
}

static bool others_alive(struct fixture *f, pid_t *pid)
{
    assert_int_equal(caret__gate_take(&f->e), CARET_OK);
    bool alive = caret__others_alive(&f->e, pid);
    caret__gate_release(&f->e);
    return alive;
}

/* A child with a slot, that sleeps. */
static pid_t attached_child(struct fixture *f)
{
    pid_t child = fork();

    if (child == 0) {
        f->e.lock_fd = (struct caret__fd){0}; /* as an unrelated process would */
        if (attach(&f->e) != CARET_OK)
            _exit(1);
        atomic_store(&notes->word, f->e.slot + 100);
        for (;;)
            pause();
    }
    while (atomic_load(&notes->word) < 100)
        usleep(100);
    return child;
}

static void slots_are_taken_in_order_and_counted(void **state)
{
    struct fixture *f = *state;
    pid_t other, pid;

    assert_int_equal(attach(&f->e), CARET_OK);
    assert_int_equal(f->e.slot, 0);
    assert_int_equal(f->e.nonce, 1);
    assert_true(caret__slot_ours(&f->e));
    assert_true(caret__slot_alive(&f->e, 0, 1));
    assert_false(caret__slot_alive(&f->e, 0, 2));
    assert_false(caret__slot_alive(&f->e, 1, 0));
    assert_false(caret__slot_alive(&f->e, CARET__MAX_PROCS, 0));
    assert_false(others_alive(f, &pid));
    assert_int_equal(atomic_load(&f->e.slots[0].pid), getpid());
    assert_int_not_equal(strlen(f->e.slots[0].command), 0);

    other = attached_child(f);
    assert_int_equal(atomic_load(&notes->word), 101);
    assert_true(caret__slot_alive(&f->e, 1, 1));
    assert_true(others_alive(f, &pid));
    assert_int_equal(pid, other);
    kill_and_wait(other);
    assert_false(others_alive(f, &pid));
}

static void dead_slot_is_reaped_once_and_taken_with_a_new_nonce(void **state)
{
    struct fixture *f = *state;

    kill_and_wait(attached_child(f));
    assert_int_equal(atomic_load(&f->e.slots[0].state), CARET__SLOT_USED);
    assert_int_equal(attach(&f->e), CARET_OK);
    assert_int_equal(reaped, 1);
    assert_int_equal(reaped_slot, 0);
    assert_int_equal(reaped_nonce, 1);
    assert_int_equal(f->e.slot, 0);
    assert_int_equal(f->e.nonce, 2);
    assert_true(caret__slot_alive(&f->e, 0, 2));
    assert_false(caret__slot_alive(&f->e, 0, 1));
}

static void failed_reaping_is_done_again_by_the_next(void **state)
{
    struct fixture *f = *state;

    kill_and_wait(attached_child(f));
    reap_result = CARET_E_CORRUPT;
    assert_int_equal(attach(&f->e), CARET_E_CORRUPT);
    assert_int_equal(atomic_load(&f->e.slots[0].state), CARET__SLOT_REAPING);
    caret__lockfile_close(&f->e);
    reap_result = CARET_OK;
    assert_int_equal(attach(&f->e), CARET_OK);
    assert_int_equal(reaped, 2);
    assert_int_equal(reaped_nonce, 1);
}

static void given_back_slot_needs_no_reaping(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(attach(&f->e), CARET_OK);
    caret__slot_give_back(&f->e);
    assert_false(caret__slot_alive(&f->e, 0, 1));
    assert_int_equal(caret__gate_take(&f->e), CARET_OK);
    assert_int_equal(caret__slot_take(&f->e, note_reaped), CARET_OK);
    caret__gate_release(&f->e);
    assert_int_equal(reaped, 0);
    assert_int_equal(f->e.nonce, 2);
}

static void eviction_is_seen(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(attach(&f->e), CARET_OK);
    atomic_fetch_add(&f->e.slots[0].nonce, 1);
    assert_false(caret__slot_ours(&f->e));
}

static void foreign_descriptors_make_nobody_dead(void **state)
{
    struct fixture *f = *state;
    pid_t child;

    assert_int_equal(attach(&f->e), CARET_OK);
    child = attached_child(f);
    assert_true(caret__fds_ours(&f->e));
    int null = open("/dev/null", O_RDWR);
    dup2(null, caret__fd(&f->e.lock_fd)); /* a host that closed everything and opened something else */
    close(null);
    assert_false(caret__fds_ours(&f->e));
    assert_true(caret__slot_alive(&f->e, 1, 1));
    assert_int_equal(caret__gate_take(&f->e), CARET_E_EVICTED);
    kill_and_wait(child);
}

static void gate_lets_one_process_through_at_a_time(void **state)
{
    struct fixture *f = *state;
    pid_t child[3];

    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        if (child[i] != 0)
            continue;
        for (int k = 0; k < 200; k++) {
            if (caret__lockfile_open(&f->e, NULL) != CARET_OK)
                _exit(1);
            if (atomic_fetch_add(&notes->inside, 1) != 0)
                atomic_fetch_add(&notes->overlaps, 1);
            sched_yield();
            atomic_fetch_sub(&notes->inside, 1);
            if (k % 3 == 0)
                caret__lockfile_remove(&f->e); /* the last thing that the last to close does */
            caret__lockfile_close(&f->e);
        }
        _exit(0);
    }
    for (int i = 0; i < 3; i++)
        join(child[i]);
    assert_int_equal(atomic_load(&notes->overlaps), 0);
}

static void dead_gate_keeper_leaves_the_gate_open(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();

    if (child == 0) {
        caret__lockfile_open(&f->e, NULL);
        atomic_store(&notes->word, 1);
        for (;;)
            pause();
    }
    until(1);
    kill_and_wait(child);
    assert_int_equal(caret__lockfile_open(&f->e, NULL), CARET_OK);
}

static void removed_lock_file_evicts(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(attach(&f->e), CARET_OK);
    unlink(f->lock_path);
    assert_int_equal(caret__gate_take(&f->e), CARET_E_EVICTED);
}

static void second_copy_in_the_process_is_refused_and_harms_nothing(void **state)
{
    struct fixture *f = *state;
    struct caret__engine copy;

    assert_int_equal(attach(&f->e), CARET_OK);
    engine_init(f, &copy);
    assert_int_equal(caret__lockfile_open(&copy, NULL), CARET_E_BUSY);
    engine_done(&copy);
    pid_t child = fork(), pid;
    if (child == 0)
        _exit(others_alive(f, &pid) ? 0 : 1);
    join(child); /* the first copy's slot is still held */
}

static void record_is_kept_and_checked(void **state)
{
    struct fixture *f = *state;
    struct caret__lockrec rec, made;
    struct stat st;
    char byte = 'x';

    assert_int_equal(caret__lockfile_open(&f->e, NULL), CARET_OK);
    assert_int_equal(caret__lockrec_read(&f->e, &rec), CARET_NONE);
    assert_int_equal(caret__lockrec_reserve(&f->e), CARET_OK);
    assert_int_equal(fstat(caret__fd(&f->e.lock_fd), &st), 0);
    assert_int_equal(st.st_size, 0); /* which says that there was none yet */
    assert_int_equal(caret__lockrec_make(&f->e, f->id.uuid, &made), CARET_OK);
    assert_int_equal(caret__lockrec_write(&f->e, &made), CARET_OK);
    assert_int_equal(caret__lockrec_read(&f->e, &rec), CARET_OK);
    assert_string_equal(rec.seg_path, f->e.seg_path);
    assert_memory_equal(rec.uuid, f->id.uuid, 16);
    assert_int_equal(pwrite(caret__fd(&f->e.lock_fd), &byte, 1, CARET__LOCKREC_OFFSET + 200), 1);
    assert_int_equal(caret__lockrec_read(&f->e, &rec), CARET_NONE);
    assert_int_equal(caret__lockrec_write(&f->e, &made), CARET_OK);
    memset(&made, 0, sizeof made);
    assert_int_equal(caret__lockrec_write(&f->e, &made), CARET_OK);
    assert_int_equal(caret__lockrec_read(&f->e, &rec), CARET_NONE);
}

static void all_slots_in_use_is_an_error(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();

    if (child == 0) {
        caret__lockfile_open(&f->e, NULL);
        struct flock all = {.l_type = F_WRLCK, .l_start = CARET__LOCKBYTE_SLOT0, .l_len = CARET__MAX_PROCS};
        fcntl(caret__fd(&f->e.lock_fd), F_SETLK, &all);
        caret__gate_release(&f->e);
        atomic_store(&notes->word, 1);
        for (;;)
            pause();
    }
    until(1);
    assert_int_equal(attach(&f->e), CARET_E_LIMIT);
    kill_and_wait(child);
}

static void forked_child_knows_that_it_is_not_attached(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(attach(&f->e), CARET_OK);
    caret__registry_lock(); /* held by "another thread" at the fork */
    caret__registry_add(&f->e);
    assert_true(caret__attached_here(&f->e));
    pid_t child = fork();
    if (child == 0) {
        bool ok = !caret__attached_here(&f->e);
        caret__registry_lock();
        ok = ok && caret__registry_find(f->e.dev, f->e.ino) == &f->e;
        ok = ok && caret__gate_take(&f->e) == CARET_OK && caret__slot_take(&f->e, note_reaped) == CARET_OK;
        caret__fork_mark_set(&f->e);
        caret__gate_release(&f->e);
        caret__registry_unlock();
        _exit(ok && f->e.slot == 1 && reaped == 0 && caret__attached_here(&f->e) ? 0 : 1);
    }
    join(child);
    caret__registry_remove(&f->e);
    assert_null(caret__registry_find(f->e.dev, f->e.ino));
    caret__registry_unlock();
    assert_true(caret__attached_here(&f->e));
    assert_true(caret__slot_alive(&f->e, 0, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slots_are_taken_in_order_and_counted),
        TEST(dead_slot_is_reaped_once_and_taken_with_a_new_nonce),
        TEST(failed_reaping_is_done_again_by_the_next),
        TEST(given_back_slot_needs_no_reaping),
        TEST(eviction_is_seen),
        TEST(foreign_descriptors_make_nobody_dead),
        TEST(gate_lets_one_process_through_at_a_time),
        TEST(dead_gate_keeper_leaves_the_gate_open),
        TEST(removed_lock_file_evicts),
        TEST(second_copy_in_the_process_is_refused_and_harms_nothing),
        TEST(record_is_kept_and_checked),
        TEST(all_slots_in_use_is_an_error),
        TEST(forked_child_knows_that_it_is_not_attached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
