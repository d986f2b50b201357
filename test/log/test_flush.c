/* From the ring to the log file: what is written, when it counts, and what a death in between leaves. */
#include "disk/record.h"
#include "log/commit.h"
#include "log/flush.h"
#include "support/database.h"

#include "base/fault.h"
#include "open/open.h"

static struct caret__engine *e;

static void open_engine(size_t log_size)
{
    caret_options o = options();

    o.log_size = log_size;
    OK(caret__engine_open(path, &o, &e));
}

static void set_one(unsigned i, size_t len)
{
    struct caret__spot spot = {0};
    char key[16];
    uint64_t lsn;

    snprintf(key, sizeof key, "k%08u", i);
    OK(caret__commit_set(e, &spot, (const uint8_t *)key, 9, text, text_of(i, len, text), &lsn));
    assert_int_equal(lsn, atomic_load(&e->sh->log_applied));
}

static void in_order(void)
{
    uint64_t durable = atomic_load(&e->sh->log_durable), written = atomic_load(&e->sh->log_written);

    assert_true(durable <= written);
    assert_true(written <= atomic_load(&e->sh->log_head));
    assert_true(atomic_load(&e->sh->log_head) - written <= e->sh->ring_size);
}

/* Bytes of the file, by LSN. */
static void read_log(uint64_t lsn, uint8_t *to, size_t len)
{
    while (len != 0) {
        uint64_t room, off = caret__log_offset(e, lsn, &room);
        size_t n = len < room ? len : room;
        assert_int_equal(pread(caret__fd(&e->log_fd), to, n, (off_t)off), n);
        to += n;
        lsn += n;
        len -= n;
    }
}

static void what_was_written_is_what_the_ring_holds(void **state)
{
    (void)state;
    open_engine(0);
    for (unsigned i = 0; i < 2000; i++) {
        set_one(i, i % 90);
        in_order();
        if (i % 37 != 0)
            continue;
        uint64_t from = atomic_load(&e->sh->log_written), head = atomic_load(&e->sh->log_head);
        OK(caret__flush(e, 0, false));
        assert_int_equal(atomic_load(&e->sh->log_written), head);
        uint8_t *bytes = malloc(head - from);
        assert_non_null(bytes);
        read_log(from, bytes, head - from);
        assert_memory_equal(bytes, caret__ring_at(e, from), head - from);
        free(bytes);
    }
    OK(caret__engine_close(e));
}

/* However often the log goes round, the file holds one unbroken chain from the last checkpoint on. */
static void the_chain_in_the_file_is_unbroken(void **state)
{
    static uint8_t rec[1 << 16];
    uint64_t size;

    (void)state;
    open_engine(CARET__LOG_MIN);
    size = atomic_load(&e->sh->log_size);
    for (unsigned i = 0, checked = 0; atomic_load(&e->sh->log_head) < 3 * size; i++) {
        set_one(i % 500, 100 + i % 20);
        if (atomic_load(&e->sh->log_head) / (size / 2) == checked)
            continue;
        checked++;
        OK(caret__flush(e, 0, false));
        uint64_t at = atomic_load(&e->sh->checkpoint_lsn), head = atomic_load(&e->sh->log_head), seed;
        assert_true(head - at <= size);
        seed = e->sh->frozen.chain_seed;
        while (at < head) {
            uint32_t len;
            read_log(at, (uint8_t *)&len, 4);
            assert_true(len <= sizeof rec);
            read_log(at, rec, len);
            assert_int_equal(caret__record_verify(seed, rec, len), len);
            memcpy(&seed, rec + len - 8, 8);
            at += len;
        }
        assert_int_equal(at, head);
    }
    assert_true(atomic_load(&e->sh->checkpoints) > 1);
    OK(caret__engine_close(e));
}

static void a_sync_makes_durable_what_was_committed_before(void **state)
{
    (void)state;
    open_engine(0);
    for (unsigned i = 0; i < 50; i++) {
        set_one(i, 20);
        uint64_t head = atomic_load(&e->sh->log_head);
        assert_true(atomic_load(&e->sh->log_durable) < head);
        if (i % 2 == 0)
            OK(caret__flush(e, 0, true));
        else
            OK(caret__wait_durable(e, head));
        assert_int_equal(atomic_load(&e->sh->log_durable), head);
        assert_int_equal(atomic_load(&e->sh->sync_in_progress), 0);
    }
    OK(caret__engine_close(e));
}

/* A process that dies with the flush mutex, in a sync or ahead of log_head. */
static void die_flushing(bool syncing, uint64_t ahead)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (caret__mutex_lock(&e->sh->flush) != 0)
            _exit(1);
        if (syncing)
            atomic_store(&e->sh->sync_in_progress, 1);
        if (ahead != 0) {
            atomic_store(&e->sh->ring_from, atomic_load(&e->sh->log_head) + ahead);
            atomic_store(&e->sh->log_written, atomic_load(&e->sh->log_head) + ahead);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* The kernel may have told the dead one of an error, and tells nobody else: the pages are written instead. */
static void an_unfinished_sync_of_the_dead_is_made_good_by_a_checkpoint(void **state)
{
    (void)state;
    open_engine(0);
    for (unsigned i = 0; i < 30; i++) {
        set_one(i, 50);
        uint64_t checkpoints = atomic_load(&e->sh->checkpoints);
        die_flushing(i % 2 == 0, 0);
        OK(caret__flush(e, 0, true));
        assert_int_equal(atomic_load(&e->sh->checkpoints) - checkpoints, i % 2 == 0);
        assert_int_equal(atomic_load(&e->sh->checkpoint_wanted), 0);
        if (i % 2 == 0)
            assert_int_equal(atomic_load(&e->sh->checkpoint_lsn), atomic_load(&e->sh->log_applied));
    }
    OK(caret__engine_close(e));
}

static void bytes_written_ahead_of_the_head_do_not_count(void **state)
{
    (void)state;
    open_engine(0);
    for (unsigned i = 0; i < 20; i++) {
        set_one(i, 50);
        OK(caret__flush(e, 0, false));
        uint64_t head = atomic_load(&e->sh->log_head);
        die_flushing(false, 1000);
        assert_int_equal(atomic_load(&e->sh->log_written), head + 1000);
        OK(caret__flush_hold(e));
        caret__flush_release(e);
        assert_int_equal(atomic_load(&e->sh->log_written), head);
        assert_int_equal(atomic_load(&e->sh->ring_from), head);
        set_one(i + 100, 50);
        OK(caret__flush(e, 0, true));
        in_order();
    }
    OK(caret__engine_close(e));
    caret_db *db = open_db();
    check(db);
    OK(caret_close(db));
}

#ifdef CARET_FAULTS

/* The log goes round in the middle of a record, and whoever writes it dies at its end, or after its new beginning;
 * the last checkpoint is so long ago that a recovery reads the ring from log_written on. */
static void die_going_round(unsigned nth)
{
    open_engine(CARET__LOG_MIN);
    for (unsigned i = 0;; i++) {
        uint64_t written = atomic_load(&e->sh->log_written), room;
        set_one(i % 500, 100 + i % 20);
        uint64_t head = atomic_load(&e->sh->log_head);
        caret__log_offset(e, written, &room);
        bool far = head - atomic_load(&e->sh->checkpoint_lsn) > e->sh->ring_size;
        if (head - written > room && far) {
            atomic_store(signal_word, (uint32_t)head);
            caret__fault_arm("flush_written", nth, CARET__FAULT_KILL);
        } else if (head - written < 1000) {
            continue;
        }
        OK(caret__flush(e, 0, false));
    }
}

static void a_death_at_the_end_of_the_log_loses_nothing(void **state)
{
    (void)state;
    for (unsigned nth = 1; nth <= 2; nth++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            die_going_round(nth);
            _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        open_engine(0);
        assert_true(atomic_load(&e->sh->log_head) >= atomic_load(signal_word));
        OK(caret__engine_close(e));
        caret_db *db = open_db();
        check(db);
        OK(caret_close(db));
    }
}

#else

static void a_death_at_the_end_of_the_log_loses_nothing(void **state)
{
    (void)state;
    need_points();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_what_the_ring_holds),
        TEST(the_chain_in_the_file_is_unbroken),
        TEST(a_sync_makes_durable_what_was_committed_before),
        TEST(an_unfinished_sync_of_the_dead_is_made_good_by_a_checkpoint),
        TEST(bytes_written_ahead_of_the_head_do_not_count),
        TEST(a_death_at_the_end_of_the_log_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
