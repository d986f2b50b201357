/* Checkpoints: what they write and what they never touch, how epochs go on, what they give back. */
#include "disk/record.h"
#include "log/checkpoint.h"
#include "log/commit.h"
#include "support/database.h"

#include <sys/syscall.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/rand.h"
#include "disk/meta.h"
#include "open/open.h"
#include "page/store.h"
#include "tree/tree.h"

static struct caret__engine *e;
static struct caret__rand rng;

static void open_engine(void)
{
    caret_options o = options();
    OK(caret__engine_open(path, &o, &e));
    caret__rand_seed(&rng, 99);
}

static void change_some(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct caret__spot spot = {0};
        char key[16];
        uint64_t lsn;
        snprintf(key, sizeof key, "k%05u", caret__rand_below(&rng, 3000));
        OK(caret__commit_set(e, &spot, (const uint8_t *)key, 6, text,
                             text_of(i, caret__rand_below(&rng, 60), text), &lsn));
    }
}

static void kill_some(const char *prefix)
{
    struct caret__batch b = {0};
    uint64_t lsn;

    OK(caret__batch_begin(&b));
    OK(caret__batch_add(&b, CARET__OP_KILL, (const uint8_t *)prefix, strlen(prefix), NULL, 0));
    OK(caret__commit(e, &b, NULL, NULL, &lsn));
    caret__batch_destroy(&b);
}

static bool bit(unsigned map, uint32_t pgno)
{
    return (atomic_load(&e->pg.maps[map][pgno / 64]) >> pgno % 64 & 1u) != 0;
}

/* Is the number a page of the tree, as it is now? */
static bool in_tree(uint32_t pgno)
{
    return !caret__pgno_reserved(pgno) && !bit(CARET__MAP_FREE, pgno) && !bit(CARET__MAP_PENDING0, pgno) &&
           !bit(CARET__MAP_PENDING1, pgno);
}

static uint8_t *read_file(size_t pages)
{
    uint8_t *bytes = malloc(pages * CARET__PAGE_SIZE);

    assert_non_null(bytes);
    assert_int_equal(pread(caret__fd(&e->data_fd), bytes, pages * CARET__PAGE_SIZE, 0),
                     pages * CARET__PAGE_SIZE);
    return bytes;
}

/* I1: between two checkpoints, and in the second, no byte of a page of the first one's tree changes. */
static void pages_of_the_durable_tree_are_never_written(void **state)
{
    uint32_t compared = 0;

    (void)state;
    open_engine();
    change_some(3000);
    for (unsigned round = 0; round < 20; round++) {
        OK(caret__checkpoint(e));
        uint32_t n = atomic_load(&e->sh->ts.npages);
        uint8_t *before = read_file(n), *tree = calloc(n, 1);
        assert_non_null(tree);
        for (uint32_t p = CARET__FIRST_PAGE; p < n; p++)
            tree[p] = in_tree(p);
        change_some(200);
        if (round % 4 == 3)
            kill_some("k01");
        OK(caret__checkpoint(e));
        uint8_t *after = read_file(n);
        for (uint32_t p = CARET__FIRST_PAGE; p < n; p++) {
            size_t at = (size_t)p * CARET__PAGE_SIZE;
            if (tree[p] && memcmp(before + at, after + at, CARET__PAGE_SIZE) != 0)
                fail_msg("round %u: page %u of the durable tree was written", round, p);
            compared += tree[p];
        }
        free(before);
        free(after);
        free(tree);
    }
    assert_true(compared > 400);
    OK(caret__engine_close(e));
}

static unsigned known; /* of the pages that were walked through, to this process */

/* The tree that the newest meta slot names, in the file alone; pages of it. */
static unsigned walk_file(uint32_t pgno, unsigned level)
{
    static union {
        uint8_t bytes[CARET__PAGE_SIZE];
        struct caret__page page;
    } buf[CARET__MAX_DEPTH];
    struct caret__page *p = &buf[level].page;
    char report[300] = "";
    unsigned pages = 1;

    assert_int_equal(pread(caret__fd(&e->data_fd), p, CARET__PAGE_SIZE, (off_t)pgno * CARET__PAGE_SIZE),
                     CARET__PAGE_SIZE);
    assert_int_equal(p->crc, caret__crc32c(0, (const uint8_t *)p + 4, CARET__PAGE_SIZE - 4));
    assert_int_equal(p->level, level);
    if (!caret__page_check(p, pgno, report, sizeof report))
        fail_msg("%s", report);
    for (unsigned i = 0; level != 0 && i <= caret__page_count(p); i++)
        pages += walk_file(caret__page_child(p, i), level - 1);
    known += caret__bytes_known(&e->pg, pgno, atomic_load(&e->pg.ptab[pgno].word));
    return pages;
}

static unsigned pages_of_file(void)
{
    struct caret__meta_pair pair;
    struct stat st;

    known = 0;
    assert_int_equal(fstat(caret__fd(&e->data_fd), &st), 0);
    OK(caret__meta_read(caret__fd(&e->data_fd), path, (uint64_t)st.st_size, &pair));
    return walk_file(pair.meta.root, pair.meta.depth - 1);
}

static void the_file_holds_the_tree_that_the_meta_names(void **state)
{
    struct stat st;

    (void)state;
    open_engine();
    for (unsigned round = 0; round < 12; round++) {
        struct caret__meta_pair pair;
        change_some(round % 3 == 0 ? 1 : 700);
        if (round == 7)
            kill_some("k");
        uint64_t lsn = atomic_load(&e->sh->log_applied);
        uint32_t epoch = atomic_load(&e->sh->epoch);
        OK(caret__checkpoint(e));
        change_some(50); /* not in it */
        assert_int_equal(fstat(caret__fd(&e->data_fd), &st), 0);
        OK(caret__meta_read(caret__fd(&e->data_fd), path, (uint64_t)st.st_size, &pair));
        assert_int_equal(pair.meta.epoch, epoch);
        assert_int_equal(pair.meta.lsn, lsn);
        assert_int_equal(pair.meta.flags & CARET__META_CLEAN, 0);
        unsigned pages = walk_file(pair.meta.root, pair.meta.depth - 1);
        assert_true(round < 3 || round >= 7 || pages > 5);
    }
    OK(caret__engine_close(e));
}

static void epochs_go_up_by_one(void **state)
{
    struct caret__shared *sh;

    (void)state;
    open_engine();
    sh = e->sh;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t epoch = atomic_load(&sh->epoch);
        change_some(20);
        OK(caret__checkpoint(e));
        assert_int_equal(atomic_load(&sh->epoch), epoch + 1);
        assert_int_equal(atomic_load(&sh->durable_epoch), epoch);
        assert_int_equal(atomic_load(&sh->released_epoch), epoch);
        assert_int_equal(atomic_load(&sh->checkpoint_lsn), atomic_load(&sh->log_applied));
        OK(caret__checkpoint(e)); /* nothing was committed since */
        assert_int_equal(atomic_load(&sh->epoch), epoch + 1);
        OK(caret__checkpoint_as(e, true, false));
        assert_int_equal(atomic_load(&sh->epoch), epoch + 2);
    }
    OK(caret__engine_close(e));
}

static void slots_and_dead_pages_are_given_back(void **state)
{
    struct caret__shared *sh;

    (void)state;
    open_engine();
    sh = e->sh;
    for (unsigned i = 0; i < 10; i++) {
        change_some(1000);
        if (i % 3 == 2)
            kill_some("k0");
        assert_true(sh->ts.free_slots < atomic_load(&sh->nslots));
        OK(caret__checkpoint(e));
        assert_int_equal(sh->ts.free_slots, atomic_load(&sh->nslots));
        uint32_t is_free = 0;
        for (uint32_t p = 0; p < atomic_load(&sh->ts.npages); p++) {
            assert_false(bit(CARET__MAP_PENDING0, p) || bit(CARET__MAP_PENDING1, p));
            assert_int_equal(caret__pte_slot(atomic_load(&e->pg.ptab[p].word)), CARET__SLOT_NONE);
            is_free += bit(CARET__MAP_FREE, p);
        }
        assert_int_equal(is_free, sh->ts.free_pages);
    }
    OK(caret__engine_close(e));
}

/* Pages that are changed while nobody takes checkpoints make one due; taking it ends that. */
static void a_checkpoint_is_due_when_log_or_arena_fill(void **state)
{
    (void)state;
    open_engine();
    OK(caret__checkpoint(e));
    assert_false(caret__checkpoint_due(e));
    unsigned n = 0;
    while (!caret__checkpoint_due(e) && n < 5000000) {
        change_some(100);
        n += 100;
    }
    assert_true(caret__checkpoint_due(e));
    uint64_t log = atomic_load(&e->sh->log_head) - atomic_load(&e->sh->checkpoint_lsn);
    assert_true(log <= atomic_load(&e->sh->log_size) / 2);
    OK(caret__checkpoint(e));
    assert_false(caret__checkpoint_due(e));
    atomic_store(&e->sh->checkpoint_wanted, 1);
    assert_true(caret__checkpoint_due(e));
    OK(caret__checkpoint(e));
    assert_false(caret__checkpoint_due(e));
    OK(caret__engine_close(e));
}

/* The log has a few bytes of each: without checkpoints of their own they would fill the disk. */
static void replacing_long_values_does_not_grow_the_file_for_ever(void **state)
{
    const uint64_t len = CARET__LOG_DEFAULT / 512;
    struct stat st;

    (void)state;
    caret_db *db = open_db();
    for (uint64_t written = 0, i = 0; written < 6u * CARET__LOG_DEFAULT; written += len, i++)
        put(db, (int64_t)i % 3, (int64_t)i % 3 + 1, len);
    assert_int_equal(stat(path, &st), 0);
    assert_true((uint64_t)st.st_size < 4u * CARET__LOG_DEFAULT);
    check(db);
    OK(caret_close(db));
}

static void only_of_small_pages(void)
{
    if (CARET__PAGE_SIZE > 1024) {
        print_message("skipped: only with pages of 512 bytes\n");
        skip();
    }
}

/* Their first reader would take the crc of each, which is most of a first walk; another process does. */
static void what_a_process_wrote_it_need_not_check(void **state)
{
    (void)state;
    open_engine();
    change_some(3000);
    OK(caret__checkpoint(e));
    unsigned pages = pages_of_file();
    assert_true(pages > 20);
    assert_int_equal(known, pages);
    OK(caret__engine_close(e));
    open_engine();
    assert_int_equal(pages_of_file(), pages);
    assert_true(known < 3);
    OK(caret__engine_close(e));
}

static void open_with(uint64_t log_size, uint64_t arena_limit)
{
    caret_options o = options();

    o.log_size = log_size;
    o.arena_limit = arena_limit;
    OK(caret__engine_open(path, &o, &e));
}

static void fill_until_few_are_free(void)
{
    static unsigned i;

    do {
        struct caret__spot spot = {0};
        char key[16];
        uint64_t lsn;
        snprintf(key, sizeof key, "f%08u", i++);
        OK(caret__commit_set(e, &spot, (const uint8_t *)key, 9, text, text_of(i, 60, text), &lsn));
    } while (atomic_load(&e->sh->nslots) < 1024 || e->sh->ts.free_slots >= 1024 / 8);
}

/* The thread in the background, which makes slots for the writers, is also the one that writes checkpoints. */
static void slots_are_made_while_a_checkpoint_writes(void **state)
{
    static _Alignas(64) uint8_t thread[1024]; /* one that sleeps */
    uint32_t all;

    (void)state;
    only_of_small_pages();
    open_with(CARET__LOG_MAX, 0);
    fill_until_few_are_free();
    all = atomic_load(&e->sh->nslots);
    assert_true(e->background == NULL);
    OK(caret__checkpoint(e)); /* nobody makes any ahead without the thread */
    assert_int_equal(atomic_load(&e->sh->nslots), all);
    fill_until_few_are_free();
    all = atomic_load(&e->sh->nslots);
    e->background = (void *)thread;
    OK(caret__checkpoint(e));
    e->background = NULL;
    assert_true(atomic_load(&e->sh->nslots) > all);
    OK(caret__engine_close(e));
}

#ifdef CARET_FAULTS

/* The writer mutex is taken for slots that are to be given back, not for each 64 that there are: whoever has it may
 * lose its processor, and all writers wait. */
static void the_mutex_is_taken_for_slots_to_be_given_back(void **state)
{
    (void)state;
    open_engine();
    change_some(3000);
    OK(caret__checkpoint(e));
    change_some(3000);
    OK(caret__checkpoint(e));
    uint32_t nslots = atomic_load(&e->sh->nslots);
    uint64_t before = caret__fault_hits("release_batch");
    assert_true(nslots >= 64u * 6 && before != 0);
    assert_int_equal(caret__racy32(&e->sh->ts.free_slots), nslots);
    change_some(1);
    OK(caret__checkpoint(e));
    assert_true(caret__fault_hits("release_batch") - before <= 2);
    assert_int_equal(caret__racy32(&e->sh->ts.free_slots), atomic_load(&e->sh->nslots));
    OK(caret__engine_close(e));
}

/* The values of one state: of 60 bytes, or of 20 and twice as many. */
static void read_one_state(caret_session *s)
{
    caret_node_buf n;
    caret_slice v;

    node_of(&n, 0);
    OK(caret_get(s, &n.node, &v));
    size_t len = v.len;
    assert_true(len == 20 || len == 60);
    for (int64_t i = 0; i < 600; i++) {
        node_of(&n, i);
        int rc = caret_get(s, &n.node, &v);
        assert_int_equal(rc, len == 60 && i >= 300 ? CARET_NONE : CARET_OK);
        if (rc == CARET_OK)
            assert_true(v.len == len && memcmp(v.data, text, text_of(i, len, text)) == 0);
    }
}

/* Stops when it has seen that there is nothing to save, and before it has the checkpoint role. */
static pid_t begin_snapshot_late(void)
{
    caret_session *s;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *db = open_db();
        OK(caret_session_open(db, &s));
        caret__fault_arm("checkpoint_asked", 1, CARET__FAULT_STOP);
        OK(caret_begin(s, CARET_TXN_SNAPSHOT));
        read_one_state(s);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void die_freezing(const char *point)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        caret__fault_arm(point, 1, CARET__FAULT_KILL);
        caret_checkpoint(open_db());
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void a_freeze_that_died_is_nobodys_snapshot(void **state)
{
    static const char *const points[] = {"freeze_image", "freeze_half", "freeze_record", "freeze_epoch"};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        caret_db *db = open_db();
        kill_all(db);
        put(db, 0, 300, 60);
        OK(caret_checkpoint(db));
        pid_t pid = begin_snapshot_late();
        put(db, 0, 600, 20);
        die_freezing(points[i]);
        kill(pid, SIGCONT);
        join(pid);
        check(db);
        OK(caret_close(db));
    }
}

/* A sync whose fate nobody knows asks for a checkpoint: until there is one. */
static void a_wanted_checkpoint_outlives_whoever_takes_it(void **state)
{
    (void)state;
    open_engine();
    caret_db *db = open_db();
    put(db, 0, 300, 60);
    OK(caret_checkpoint(db));
    atomic_store(&e->sh->checkpoint_wanted, 1);
    die_freezing("freeze_image");
    die_freezing("checkpoint_data_synced");
    assert_true(caret__checkpoint_due(e));
    uint32_t epoch = atomic_load(&e->sh->epoch);
    OK(caret_checkpoint(db));
    assert_true(atomic_load(&e->sh->durable_epoch) >= epoch);
    assert_false(caret__checkpoint_due(e));
    OK(caret_close(db));
    OK(caret__engine_close(e));
}

static uint32_t slots_taken(void)
{
    return atomic_load(&e->sh->nslots) - e->sh->ts.free_slots;
}

/* With pages of the usual size their sets take a fraction of what is given back at once. */
#define MANY 12000

/* Sets one node of nearly every page: the log is long enough for that. */
static void set_everywhere(caret_db *db)
{
    for (int64_t i = 0; i < MANY; i += 8)
        put(db, i, i + 1, 60);
}

/* A checkpoint in a child, which ends or stops at the n-th time that it comes there; false: it did not. */
static bool checkpoint_until(const char *point, unsigned nth, int action, pid_t *pid)
{
    int status;

    fflush(NULL);
    *pid = fork();
    if (*pid == 0) {
        caret_db *db = open_db();
        caret__fault_arm(point, nth, action);
        OK(caret_checkpoint(db));
        _exit(0);
    }
    assert_int_equal(waitpid(*pid, &status, WUNTRACED), *pid);
    return WIFSTOPPED(status) || WIFSIGNALED(status);
}

/* The disk has most pages, the meta slot does not say so yet: a writer need not have a larger arena. */
static void slots_come_back_while_a_checkpoint_writes(void **state)
{
    pid_t pid;

    (void)state;
    only_of_small_pages();
    open_engine();
    if (!caret__disk_tells(e)) {
        OK(caret__engine_close(e));
        print_message("skipped: the file system of this folder does not tell what the disk has\n");
        skip();
    }
    caret_db *db = open_db();
    put(db, 0, MANY, 60);
    OK(caret_checkpoint(db));
    set_everywhere(db);
    uint32_t before = slots_taken(), all = atomic_load(&e->sh->nslots);
    assert_true(checkpoint_until("checkpoint_data_synced", 1, CARET__FAULT_STOP, &pid));
    assert_true(slots_taken() < before / 2);
    assert_int_equal(count(db, 0, 60), MANY);
    put(db, 0, 200, 60); /* the log has room for that: nobody gives it back now */
    assert_int_equal(atomic_load(&e->sh->nslots), all);
    check(db);
    assert_int_equal(count(db, 0, 60), MANY);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    put(db, MANY, MANY + 10, 60);
    OK(caret_checkpoint(db));
    check(db);
    assert_int_equal(count(db, 0, 60), MANY + 10);
    OK(caret_close(db));
    OK(caret__engine_close(e));
}

static void a_death_while_slots_come_back_loses_nothing(void **state)
{
    static const char *const points[] = {"checkpoint_sent", "release_word", "release_bit"};
    caret_db *db;
    pid_t pid;

    (void)state;
    only_of_small_pages();
    db = open_db();
    put(db, 0, MANY, 60);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned nth = 2; nth < 70; nth *= 5) {
            OK(caret_checkpoint(db));
            set_everywhere(db);
            assert_true(checkpoint_until(points[i], nth, CARET__FAULT_KILL, &pid) || i == 0);
            assert_int_equal(count(db, 0, 60), MANY);
            put(db, 0, MANY / 2, 60);
            assert_int_equal(count(db, 0, 60), MANY);
            OK(caret_checkpoint(db));
            check(db);
        }
    OK(caret_close(db));
}

/* Slots in use when sets all over the tree have made a checkpoint due. */
static uint32_t slots_when_due(caret_db *db)
{
    OK(caret_checkpoint(db));
    for (int64_t i = 0; i < MANY && !caret__checkpoint_due(e); i += 8)
        put(db, i, i + 1, 60);
    assert_true(caret__checkpoint_due(e));
    return slots_taken();
}

/* When it is known what a checkpoint takes of the arena, the next one begins later. */
static void the_arena_is_used_as_far_as_a_checkpoint_leaves_room(void **state)
{
    (void)state;
    only_of_small_pages();
    open_with(CARET__LOG_MAX, (uint64_t)CARET__PAGE_SIZE << 10);
    caret_db *db = open_db();
    put(db, 0, MANY, 60);
    OK(caret_checkpoint(db));
    atomic_store(&e->sh->pace_slots, 0);
    uint32_t first = slots_when_due(db), second = slots_when_due(db);
    assert_in_range(first, 1024 / 5 * 2, 1024 / 5 * 2 + 16);
    assert_in_range(second, 1024 / 2, 1024 / 4 * 3);
    atomic_store(&e->sh->pace_slots, 64); /* as many as are written: slots come late */
    assert_true(caret__checkpoint_due(e));
    OK(caret_checkpoint(db));
    check(db);
    OK(caret_close(db));
    OK(caret__engine_close(e));
}

/* Bytes of log since the last checkpoint. */
static uint64_t log_used(void)
{
    return atomic_load(&e->sh->log_head) - atomic_load(&e->sh->checkpoint_lsn);
}

/* However much others wrote while the last checkpoint did: each one less need not write the tree once more. */
static void a_long_log_is_used_to_three_quarters(void **state)
{
    const uint64_t size = CARET__LOG_MAX;
    pid_t pid;

    (void)state;
    only_of_small_pages();
    open_with(size, 0);
    caret_db *db = open_db();
    put(db, 0, MANY, 60);
    OK(caret_checkpoint(db));
    set_everywhere(db);
    assert_true(checkpoint_until("checkpoint_pages_written", 1, CARET__FAULT_STOP, &pid));
    for (uint64_t end = log_used() + size / 4; log_used() < end;)
        set_everywhere(db);
    kill(pid, SIGCONT);
    join(pid);
    while (!caret__checkpoint_due(e))
        put(db, 0, 10, 60);
    assert_in_range(log_used(), size / 4 * 3, size / 4 * 3 + 4096);
    check(db);
    OK(caret_close(db));
    OK(caret__engine_close(e));
}

/* Sets until the brake is set, moved, or taken away: `at` is what it was. */
static void set_until_the_brake_leaves(caret_db *db, uint64_t at)
{
    for (unsigned i = 0; i < 4000 && atomic_load(&e->sh->log_brake) == at; i++)
        put(db, i, i + 1, 60);
    assert_true(atomic_load(&e->sh->log_brake) != at);
}

static void writers_wait_before_the_log_is_full(void **state)
{
    pid_t pid;

    (void)state;
    only_of_small_pages();
    open_with(CARET__LOG_MAX, 0);
    caret_db *db = open_db();
    put(db, 0, 100, 60);
    assert_true(checkpoint_until("freeze_epoch", 1, CARET__FAULT_KILL, &pid));
    uint64_t begin = atomic_load(&e->sh->log_head), size = CARET__LOG_MAX;
    assert_int_equal(atomic_load(&e->sh->log_brake), 0);
    set_until_the_brake_leaves(db, 0); /* nothing is written, and an eighth is full */
    uint64_t first = atomic_load(&e->sh->log_brake), head = atomic_load(&e->sh->log_head);
    assert_in_range(head - begin, size / 10, size / 4);
    assert_true(first > head);
    set_until_the_brake_leaves(db, first);
    assert_true(atomic_load(&e->sh->log_brake) > first);
    OK(caret_checkpoint(db));
    set_until_the_brake_leaves(db, atomic_load(&e->sh->log_brake));
    assert_int_equal(atomic_load(&e->sh->log_brake), 0);
    check(db);
    OK(caret_close(db));
    OK(caret__engine_close(e));
}

/* Nobody is left, with slots given back and no meta slot that knows of it. */
static void the_tree_before_and_the_log_are_enough(void **state)
{
    int status;

    (void)state;
    only_of_small_pages();
    for (unsigned nth = 1; nth < 5; nth += 3) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            caret_db *db = open_db();
            put(db, 0, MANY, 60);
            OK(caret_checkpoint(db));
            set_everywhere(db);
            put(db, MANY, MANY + 10, 60);
            caret__fault_arm(nth == 1 ? "checkpoint_data_synced" : "checkpoint_sent", nth, CARET__FAULT_KILL);
            caret_checkpoint(db);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        caret_db *db = open_db();
        check(db);
        assert_int_equal(count(db, 0, 60), MANY + 10);
        OK(caret_close(db));
    }
}

#else

#define a_wanted_checkpoint_outlives_whoever_takes_it a_freeze_that_died_is_nobodys_snapshot
static void a_freeze_that_died_is_nobodys_snapshot(void **state)
{
    (void)state;
    need_points();
}

#endif

static int refused; /* errno of sync_file_range, which the engine calls here */

int sync_file_range(int fd, off_t from, off_t len, unsigned how)
{
    if (refused != 0) {
        errno = refused;
        return -1;
    }
    return (int)syscall(SYS_sync_file_range, fd, from, len, how);
}

/* The kernel tells an error once: also when it does so before the sync, the checkpoint does not count. */
static void what_the_disk_refuses_before_the_sync_is_told(void **state)
{
    const int64_t nodes = CARET__PAGE_SIZE < 1024 ? 6000 : 48000;
    caret_session *s;
    caret_node_buf n;
    int rc = CARET_OK;

    (void)state;
    caret_db *db = open_db();
    refused = ENOSYS; /* a file system without it: the sync does all */
    put(db, 0, nodes, 250);
    OK(caret_checkpoint(db));
    OK(caret_session_open(db, &s));
    refused = EIO;
    for (int64_t i = 0; i < nodes && rc == CARET_OK; i++) {
        node_of(&n, i * 7919 % nodes);
        rc = caret_set(s, &n.node, text, text_of(i * 7919 % nodes, 250, text));
        if (rc == CARET_OK && i == nodes / 2)
            rc = caret_checkpoint(db);
    }
    refused = 0;
    assert_true(rc == CARET_E_IO || rc == CARET_E_IO_FAILED);
    assert_int_equal(caret_checkpoint(db), CARET_E_IO_FAILED);
    assert_int_equal(caret_set(s, &n.node, "x", 1), CARET_E_IO_FAILED);
    caret_session_close(s);
    assert_int_not_equal(caret_close(db), CARET_OK);
    db = open_db();
    assert_int_equal(count(db, 0, 250), nodes);
    check(db);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_of_the_durable_tree_are_never_written),
        TEST(the_file_holds_the_tree_that_the_meta_names),
        TEST(epochs_go_up_by_one),
        TEST(slots_and_dead_pages_are_given_back),
        TEST(a_checkpoint_is_due_when_log_or_arena_fill),
        TEST(replacing_long_values_does_not_grow_the_file_for_ever),
        TEST(a_freeze_that_died_is_nobodys_snapshot),
        TEST(a_wanted_checkpoint_outlives_whoever_takes_it),
        TEST(what_the_disk_refuses_before_the_sync_is_told),
        TEST(what_a_process_wrote_it_need_not_check),
        TEST(slots_are_made_while_a_checkpoint_writes),
#ifdef CARET_FAULTS
        TEST(the_mutex_is_taken_for_slots_to_be_given_back),
        TEST(slots_come_back_while_a_checkpoint_writes),
        TEST(a_death_while_slots_come_back_loses_nothing),
        TEST(the_tree_before_and_the_log_are_enough),
        TEST(the_arena_is_used_as_far_as_a_checkpoint_leaves_room),
        TEST(a_long_log_is_used_to_three_quarters),
        TEST(writers_wait_before_the_log_is_full),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
