/*
 * Processes that come, fork and are killed at any moment: slots, the registry of a process, the mark of a fork, and
 * growth that is given up in between.
 */
#include "support/segment.h"

#include <pthread.h>

#include "base/rand.h"

/* ----------------------------------------------------------------- registry */

static void an_engine_is_found_by_its_file(void **state)
{
    struct fixture *f = *state;
    struct caret__engine other = {.dev = f->e.dev, .ino = f->e.ino + 1},
                         third = {.dev = f->e.dev + 1, .ino = f->e.ino};

    caret__registry_lock();
    assert_null(caret__registry_find(f->e.dev, f->e.ino));
    caret__registry_add(&other);
    caret__registry_add(&f->e);
    caret__registry_add(&third);
    assert_ptr_equal(caret__registry_find(f->e.dev, f->e.ino), &f->e);
    assert_ptr_equal(caret__registry_find(other.dev, other.ino), &other);
    unsigned n = 0;
    for (struct caret__engine *e = NULL; (e = caret__registry_next(e)) != NULL;)
        n++;
    assert_int_equal(n, 3);
    caret__registry_unlock();
    assert_true(caret__registry_has(f->path));
    assert_false(caret__registry_has("/dev/null"));
    assert_false(caret__registry_has("/nowhere/at/all"));
    caret__registry_lock();
    f->e.observes = CARET__OBSERVES_FILE; /* a reader holds no lock that closing the file could drop */
    assert_null(caret__registry_find(f->e.dev, f->e.ino));
    f->e.observes = CARET__OBSERVES_NOT;
    caret__registry_remove(&f->e); /* the middle one */
    assert_null(caret__registry_find(f->e.dev, f->e.ino));
    caret__registry_remove(&f->e); /* nothing happens */
    caret__registry_remove(&third);
    assert_ptr_equal(caret__registry_next(NULL), &other);
    caret__registry_remove(&other);
    assert_null(caret__registry_next(NULL));
    caret__registry_unlock();
}

static _Atomic bool holding, let_go;

static void *hold_registry(void *arg)
{
    caret__registry_lock();
    atomic_store(&holding, true);
    while (!atomic_load(&let_go))
        usleep(100);
    caret__registry_unlock();
    return arg;
}

/* A fork while another thread holds the registry: that thread is not in the child, which can lock all the same. */
static void a_child_can_lock_what_another_thread_held(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    caret__registry_lock();
    caret__registry_add(&f->e);
    caret__registry_unlock();
    caret__fork_mark_set(&f->e);
    holding = let_go = false;
    assert_int_equal(pthread_create(&thread, NULL, hold_registry, NULL), 0);
    while (!atomic_load(&holding))
        usleep(100);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* it would hang */
        caret__registry_lock();
        bool found = caret__registry_find(f->e.dev, f->e.ino) == &f->e;
        caret__registry_unlock();
        _exit(found && !caret__attached_here(&f->e) ? 0 : 1);
    }
    join(child);
    assert_true(caret__attached_here(&f->e));
    atomic_store(&let_go, true);
    pthread_join(thread, NULL);
    caret__registry_lock();
    caret__registry_remove(&f->e);
    caret__registry_unlock();
}

static void a_grandchild_is_not_attached_either(void **state)
{
    struct fixture *f = *state;

    caret__fork_mark_set(&f->e);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (caret__attached_here(&f->e))
            _exit(1);
        caret__fork_mark_set(&f->e); /* as one that has attached itself */
        pid_t grandchild = fork();
        int status = 0;
        if (grandchild == 0)
            _exit(caret__attached_here(&f->e) ? 2 : 0);
        waitpid(grandchild, &status, 0);
        _exit(caret__attached_here(&f->e) && status == 0 ? 0 : 3);
    }
    join(child);
    assert_true(caret__attached_here(&f->e));
}

/* -------------------------------------------------------------------- slots */

#define COMERS 6
#define KILLS  40u

/* What children do, for the parent to compare. */
static struct crowd {
    _Atomic uint32_t attached, overlaps;
    _Atomic uint32_t owner[CARET__MAX_PROCS]; /* pid of the child in the slot */
} * crowd;

static int no_reaping(struct caret__engine *e, uint32_t slot, uint32_t nonce)
{
    atomic_store(&crowd->owner[slot], 0); /* it is dead, and nobody else's yet: the gate is ours */
    return caret__slot_ours(e) && nonce == e->nonce ? CARET_OK : CARET_E_CORRUPT;
}

/* Comes and goes until it is killed. */
static void come_and_go(struct fixture *f)
{
    for (;;) {
        uint32_t none = 0;
        f->e.lock_fd = (struct caret__fd){0};
        if (caret__lockfile_open(&f->e, NULL) != CARET_OK)
            _exit(1);
        if (caret__slot_take(&f->e, no_reaping) != CARET_OK)
            _exit(2);
        if (!atomic_compare_exchange_strong(&crowd->owner[f->e.slot], &none, (uint32_t)getpid()))
            atomic_fetch_add(&crowd->overlaps, 1);
        caret__fork_mark_set(&f->e);
        caret__gate_release(&f->e);
        atomic_fetch_add(&crowd->attached, 1);
        if (!caret__slot_alive(&f->e, f->e.slot, f->e.nonce))
            _exit(3);
        if (caret__gate_take(&f->e) != CARET_OK)
            _exit(4);
        atomic_store(&crowd->owner[f->e.slot], 0);
        caret__slot_give_back(&f->e);
        caret__lockfile_close(&f->e);
    }
}

static pid_t start(struct fixture *f)
{
    fflush(NULL);
    pid_t child = fork();

    if (child == 0)
        come_and_go(f);
    return child;
}

/* Processes attach and detach, and are killed wherever they are: no slot ever has two owners, none is lost. */
static void no_slot_has_two_owners_whoever_is_killed(void **state)
{
    struct fixture *f = *state;
    struct caret__rand rng;
    pid_t child[COMERS];

    fixture_create(f, 256);
    crowd = shared_memory(sizeof *crowd);
    caret__rand_seed(&rng, 81);
    int gate = open(f->lock_path, O_RDWR | O_CREAT, 0600);
    close(gate);
    for (unsigned i = 0; i < COMERS; i++)
        child[i] = start(f);
    for (unsigned kills = 0; kills < KILLS; kills++) {
        uint32_t before = atomic_load(&crowd->attached), more = 1 + caret__rand_below(&rng, 20);
        for (unsigned i = 0; i < COMERS; i++) /* each of them lives: none found anything wrong */
            assert_int_equal(waitpid(child[i], NULL, WNOHANG), 0);
        while (atomic_load(&crowd->attached) - before < more)
            usleep(20);
        unsigned i = caret__rand_below(&rng, COMERS);
        kill_and_wait(child[i]);
        child[i] = start(f);
    }
    for (unsigned i = 0; i < COMERS; i++)
        kill_and_wait(child[i]);
    assert_int_equal(atomic_load(&crowd->overlaps), 0);
    assert_int_equal(caret__lockfile_open(&f->e, NULL), CARET_OK);
    assert_int_equal(caret__others_alive(&f->e, &child[0]), 0);
    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        assert_false(caret__slot_alive(&f->e, i, atomic_load(&f->e.slots[i].nonce)));
        if (i >= COMERS) /* the lowest that is free is taken */
            assert_int_equal(atomic_load(&f->e.slots[i].nonce), 0);
    }
    assert_int_equal(caret__slot_take(&f->e, no_reaping), CARET_OK);
    assert_int_equal(f->e.slot, 0);
    caret__slot_give_back(&f->e);
    caret__gate_release(&f->e);
    shared_memory_free(crowd, sizeof *crowd);
}

/* ------------------------------------------------------------------- growing */

static uint32_t bits(_Atomic uint64_t *map, uint32_t n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        count += (uint32_t)(atomic_load(&map[i / 64]) >> i % 64 & 1);
    return count;
}

/* A grower is killed at any moment of it: what is published is allocated, and the next one grows as ever. */
static void a_grower_may_be_killed_at_any_moment(void **state)
{
    struct fixture *f = *state;
    struct caret__rand rng;
    struct stat st;

    fixture_create(f, 256);
    struct caret__shared *sh = f->e.sh;
    caret__rand_seed(&rng, 82);
    for (unsigned round = 0; round < 25; round++) {
        uint32_t before = sh->ts.npages, want = before + 64 * caret__rand_below(&rng, 8);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            caret__segment_alone(sh);
            /* not without end: we may be late */
            for (uint32_t pages = before; pages < before + 64 * 10; pages += 64) {
                if (caret__grow_pages(&f->e, pages + 64) != CARET_OK)
                    _exit(1);
                uint32_t slots = atomic_load(&sh->nslots);
                if (slots + 64 < sh->max_slots)
                    (void)caret__grow_arena(&f->e, slots + 64);
                (void)caret__grow_undo(&f->e, atomic_load(&sh->undo_cap) + 1);
            }
            pause();
        }
        while (atomic_load_explicit(&sh->ts.npages, memory_order_relaxed) < want &&
               waitpid(child, NULL, WNOHANG) == 0)
            usleep(10);
        kill_and_wait(child);
        uint32_t npages = sh->ts.npages, nslots = atomic_load(&sh->nslots);
        assert_int_equal(fstat(caret__fd(&f->e.data_fd), &st), 0);
        assert_true((uint64_t)st.st_size >= (uint64_t)npages * CARET__PAGE_SIZE);
        assert_true(atomic_load(&sh->ptab_pages) >= npages && atomic_load(&sh->file_pages) >= npages);
        assert_int_equal(bits(f->e.pg.maps[CARET__MAP_SLOTS], nslots), nslots);
        memset(f->e.pg.arena + (size_t)(nslots - 1) * CARET__PAGE_SIZE, 1,
               CARET__PAGE_SIZE); /* it is there */
        for (uint32_t i = before; i < npages; i++) {
            assert_int_equal(atomic_load(&f->e.pg.ptab[i].word), 0);
            assert_int_equal(atomic_load(&f->e.pg.maps[CARET__MAP_FREE][i / 64]) >> i % 64 & 1,
                             !caret__pgno_reserved(i));
        }
        assert_int_equal(caret__grow_pages(&f->e, npages + 10), CARET_OK);
        assert_true(bits(f->e.pg.maps[CARET__MAP_FREE], npages + 10) <= npages + 10 - CARET__FIRST_PAGE - 2);
    }
}

/* Whoever attaches while another one grows sees whole sizes, and everything below them. */
static void who_attaches_sees_what_is_allocated(void **state)
{
    struct fixture *f = *state;

    fixture_create(f, 256);
    struct caret__shared *sh = f->e.sh;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < 25; i++) {
            struct caret__engine other;
            engine_init(f, &other);
            if (caret__segment_attach(&other, &f->id, f->e.seg_path) != CARET_OK)
                _exit(1);
            uint32_t n = atomic_load_explicit(&other.sh->ts.npages, memory_order_acquire),
                     slots = atomic_load(&other.sh->nslots);
            /* A hole would end it with SIGBUS, or be told. */
            if (atomic_load(&other.pg.ptab[n - 1].word) != 0)
                _exit(2);
            ((volatile uint8_t *)other.pg.arena)[(size_t)slots * CARET__PAGE_SIZE - 1] = 1;
            if (((const volatile uint8_t *)other.file_map)[(size_t)n * CARET__PAGE_SIZE - 1] != 0)
                _exit(3);
            engine_done(&other);
        }
        _exit(0);
    }
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(caret__grow_pages(&f->e, sh->ts.npages + 32), CARET_OK);
        if (atomic_load(&sh->nslots) + 16 < sh->max_slots)
            assert_int_equal(caret__grow_arena(&f->e, atomic_load(&sh->nslots) + 16), CARET_OK);
    }
    join(child);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_new, fixture_delete)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_engine_is_found_by_its_file),       TEST(a_child_can_lock_what_another_thread_held),
        TEST(a_grandchild_is_not_attached_either),  TEST(no_slot_has_two_owners_whoever_is_killed),
        TEST(a_grower_may_be_killed_at_any_moment), TEST(who_attaches_sees_what_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
