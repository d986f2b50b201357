/* Transactions whose record is too big for the ring: whole or not there, whatever dies, and replayed. */
#include "log/flush.h"
#include "support/database.h"

#include <poll.h>
#include <time.h>

#include "base/fault.h"
#include "open/open.h"
#include "page/page.h"

#define EACH 40 /* bytes of a value */

/* A sanitizer takes ten times as long, and sees in small pages nearly all that there is to see. */
#if defined(__SANITIZE_ADDRESS__)
#define BRIEF (CARET__PAGE_SIZE > 1024)
#else
#define BRIEF false
#endif

/* Nodes of a transaction whose record has about `bytes` bytes. */
static int64_t nodes_for(uint64_t bytes)
{
    return (int64_t)(bytes / (8 + 8 + EACH)); /* head, key, value */
}

/* Nodes [from, to) in one transaction. */
static int put_at_once(caret_db *db, int64_t from, int64_t to)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    int rc = CARET_OK;
    for (int64_t i = from; i < to && rc == CARET_OK; i++) {
        node_of(&n, i);
        rc = caret_set(s, &n.node, text, text_of(i, EACH, text));
    }
    if (rc == CARET_OK)
        rc = caret_commit(s);
    if (rc != CARET_OK)
        caret_rollback(s);
    caret_session_close(s);
    return rc;
}

#define ROOM (CARET__PAGE_SIZE / 128u * 5u) /* MiB: 160, in the small build 20 */

static const uint64_t sizes[] = {CARET__BIG_RECORD - 200, CARET__BIG_RECORD + 2000, CARET__RING_SIZE * 9 / 10,
                                 CARET__RING_SIZE * 3 / 2};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void records_of_all_sizes_go_round_the_log(void **state)
{
    (void)state;
    need_room(ROOM);
    caret_db *db = open_db();
    int64_t at = 0;
    for (uint64_t written = 0, i = 0; written < 3u * CARET__LOG_DEFAULT / 2; written += sizes[i++ % SIZES]) {
        int64_t n = nodes_for(sizes[i % SIZES]);
        OK(put_at_once(db, at, at + n));
        put(db, at + n, at + n + 3, EACH); /* small ones in between */
        at += n + 3;
    }
    check(db);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, 0, EACH), at);
    OK(caret_close(db));
}

/* Long values lie outside of the record, and nothing else limits their number.  `round` 1 makes holes. */
static void change_many(int64_t many, int64_t round)
{
    caret_db *db = open_db();
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (int64_t i = 0; i < many; i += round == 1 ? 3 : 1) {
        node_of(&n, i);
        if (round == 1)
            OK(caret_delete(s, &n.node));
        else
            OK(caret_set(s, &n.node, text, text_of(i, (size_t)(2000 + 1500 * round), text)));
    }
    OK(caret_commit(s));
    _exit(0); /* a recovery finds it in the log */
}

static void a_transaction_may_have_many_long_values(void **state)
{
    const int64_t many = 300;

    (void)state;
    for (int64_t round = 0; round < 3; round++) {
        pid_t pid = fork();
        if (pid == 0)
            change_many(many, round);
        join(pid);
        caret_db *db = open_db();
        check(db);
        assert_int_equal(count(db, 0, (size_t)(2000 + 1500 * round)), round == 1 ? 0 : many);
        OK(caret_close(db));
    }
}

/* Alone, so that it also starts the log of a generation. */
static void big_commits_survive_the_loss_of_everybody(void **state)
{
    (void)state;
    const unsigned few =
        shm_room() < ROOM ? SIZES / 2 : SIZES; /* what is committed there can be recovered there */

    for (unsigned lose_segment = 0; lose_segment < 2; lose_segment++) {
        int64_t at = 0;
        for (unsigned i = 0; i < few; i++) {
            int64_t n = nodes_for(sizes[i]);
            pid_t pid = fork();
            if (pid == 0) {
                caret_db *db = open_db();
                OK(put_at_once(db, at, at + n));
                put(db, at + n, at + n + 10, EACH);
                if (lose_segment)
                    OK(caret_sync(db));
                _exit(0);
            }
            join(pid);
            at += n + 10;
            if (lose_segment) {
                remove_shared_memory();
            }
        }
        caret_db *db = open_db();
        assert_int_equal(count(db, 0, EACH), at);
        check(db);
        kill_all(db);
        OK(caret_close(db));
    }
}

/* Where a committer dies, and what is there of its transaction. */
struct step {
    const char *point;
    enum { NOTHING, EITHER, ALL } there; /* EITHER: the recovery may find the record whole, and takes it */
};

/* One dies there with a transaction of n nodes: the others see all of it or nothing, and go on; so does, alone, the
 * next opener. */
static void die_at(const struct step *step, bool alone, int64_t n)
{
    caret_db *db = alone ? NULL : open_db();
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        caret_db *mine = open_db();
        put(mine, 100000, 100020, EACH);
        caret__fault_arm(step->point, 1, CARET__FAULT_KILL);
        (void)put_at_once(mine, 0, n);
        _exit(7);
    }
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status))
        fail_msg("not dead at %s", step->point);
    if (alone)
        db = open_db();
    put(db, 200000, 200500, EACH); /* a writer repairs; readers need not notice before */
    int64_t there = count(db, 0, EACH);
    if (there != (step->there == ALL ? n : 0) && !(alone && step->there == EITHER && there == n))
        fail_msg("dead at %s%s: %lld of %lld nodes", step->point, alone ? " alone" : "", (long long)there,
                 (long long)n);
    OK(put_at_once(db, 300000, 300000 + n));
    OK(caret_sync(db));
    assert_int_equal(count(db, 100000, EACH), 20);
    check(db);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(count(db, 0, EACH), there);
    assert_int_equal(count(db, 300000, EACH), n);
    OK(caret_close(db));
    unlink(path);
}

static void a_death_on_the_way_leaves_all_or_nothing(void **state)
{
    static const struct step steps[] = {
        {"flush_written", NOTHING}, {"big_written", EITHER}, {"big_ahead", EITHER}, {"commit_point", ALL},
        {"undo_published", ALL},    {"before_applied", ALL}, {"after_applied", ALL}};
    (void)state;
    need_points();
    for (unsigned i = 0; i < 2 * sizeof steps / sizeof steps[0]; i += BRIEF ? 3 : 1)
        die_at(&steps[i / 2], i % 2 != 0, nodes_for(CARET__RING_SIZE * 5 / 4));
}

static off_t size_of_log(void)
{
    struct stat st;
    assert_int_equal(stat(log_path, &st), 0);
    return st.st_size - 1024; /* the record after its end */
}

/* ------------------------------------------------------ more than the log holds */

#define BEYOND (CARET__LOG_DEFAULT / 8 * 7) /* of it three quarters are the limit */

static void the_log_becomes_longer_for_a_transaction(void **state)
{
    int64_t n = nodes_for(BEYOND);

    (void)state;
    need_room(2 * ROOM);
    caret_db *db = open_db(), *beside = open_db();
    put(db, 0, 10, EACH);
    OK(put_at_once(db, 1000, 1000 + n));
    assert_true(size_of_log() > CARET__LOG_DEFAULT);
    put(beside, 10, 20, EACH);
    assert_int_equal(count(beside, 1000, EACH), n);
    assert_int_equal(count(beside, 0, EACH), 20);
    check(db);
    OK(caret_close(beside));
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(size_of_log(), CARET__LOG_DEFAULT);
    assert_int_equal(count(db, 1000, EACH), n);
    OK(caret_close(db));
}

/* What is refused: by the longest log, by the arena, by the room for files; each before anything was changed. */
static void refused(caret_db *db, int64_t n, const char *why)
{
    assert_int_equal(put_at_once(db, 1000, 1000 + n), CARET_E_TXN_TOO_BIG);
    if (strstr(caret_message(), why) == NULL)
        fail_msg("it says: %s", caret_message());
    assert_int_equal(count(db, 1000, EACH), 0);
    assert_int_equal(size_of_log(), CARET__LOG_DEFAULT);
}

static void a_transaction_beyond_the_arena_is_refused_and_changes_nothing(void **state)
{
    caret_options o = options();
    caret_db *db;

    (void)state;
    o.arena_limit = BEYOND / 4;
    if (o.arena_limit < 8u << 20 && CARET__PAGE_SIZE > 512)
        o.arena_limit = 8u << 20;
    OK(caret_open(path, &o, &db));
    put(db, 0, 10, EACH);
    refused(db, nodes_for(BEYOND), "arena");
    check(db);
    OK(caret_close(db));
}

/* Half of this arena would do for some hundred kills, if each took a path of its own. */
static void many_kills_beside_a_set_take_only_what_they_find(void **state)
{
    const int64_t n = 2000;
    caret_options o = options();
    caret_node_buf node;
    caret_session *s;
    caret_db *db;

    (void)state;
    o.arena_limit = 2048u * CARET__PAGE_SIZE;
    OK(caret_open(path, &o, &db));
    put(db, 0, n, EACH);
    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (int64_t i = 0; i < n - 5; i++) {
        node_of(&node, i);
        OK(caret_kill(s, &node.node));
    }
    node_of(&node, n);
    OK(caret_set(s, &node.node, text, text_of(n, EACH, text)));
    OK(caret_commit(s));
    caret_session_close(s);
    assert_int_equal(count(db, 0, EACH), 0);
    assert_int_equal(count(db, n - 5, EACH), 6);
    check(db);
    OK(caret_close(db));
}

static void a_transaction_beyond_the_log_is_refused_and_changes_nothing(void **state)
{
    caret_options o = options();
    struct caret__engine *e;
    caret_db *db;

    (void)state;
    need_room(ROOM); /* else the arena refuses it first */
    db = open_db();
    put(db, 0, 10, EACH);
    if (CARET__PAGE_SIZE == 512) /* the longest log is a long one elsewhere */
        refused(db, nodes_for(CARET__RECORD_MAX / 6 * 7), "make several");
    OK(caret__engine_open(path, &o, &e));
    atomic_store(&e->slots[e->slot].file_limit, CARET__LOG_DEFAULT * 9 / 8);
    refused(db, nodes_for(BEYOND), "no room for a longer log");
    OK(caret__engine_close(e));
    put(db, 10, 20, EACH);
    assert_int_equal(count(db, 0, EACH), 20);
    check(db);
    OK(caret_close(db));
}

static void a_death_while_it_makes_the_log_longer_leaves_all_or_nothing(void **state)
{
    static const struct step steps[] = {
        {"lengthen_made", NOTHING},       {"lengthen_limited", NOTHING},  {"lengthen_planned", NOTHING},
        {"freeze_epoch", NOTHING},        {"checkpoint_lsn", NOTHING},    {"lengthen_base", NOTHING},
        {"lengthen_size", NOTHING},       {"lengthen_switched", NOTHING}, {"lengthen_done", NOTHING},
        {"checkpoint_released", NOTHING}, {"big_written", EITHER},        {"commit_point", ALL},
        {"before_applied", ALL},          {"after_applied", ALL}};

    (void)state;
    need_points();
    if (CARET__PAGE_SIZE > 512) {
        print_message("skipped: the small build has it, where a log is short\n");
        skip();
    }
    for (unsigned i = 0; i < 2 * sizeof steps / sizeof steps[0]; i++)
        die_at(&steps[i / 2], i % 2 != 0, nodes_for(BEYOND));
}

static void the_log_has_the_size_asked_for_and_is_enough(void **state)
{
    caret_options o = options();
    caret_db *db;
    (void)state;

    need_room(ROOM);
    o.log_size = CARET__LOG_MIN;
    OK(caret_open(path, &o, &db));
    assert_int_equal(size_of_log(), CARET__LOG_MIN);
    int64_t n =
        nodes_for(CARET__LOG_MIN / 3); /* beyond three quarters of it, nothing can be committed at once */
    for (int64_t i = 0; i < 8; i++)
        OK(put_at_once(db, i * n, (i + 1) * n));
    assert_int_equal(put_at_once(db, 8 * n, 11 * n), CARET_E_TXN_TOO_BIG);
    put(db, 8 * n, 9 * n, EACH);
    assert_int_equal(count(db, 0, EACH), 9 * n);
    check(db);
    OK(caret_close(db));
    o.log_size = CARET__LOG_MIN + 65536;
    OK(caret_open(path, &o, &db)); /* made anew */
    assert_int_equal(size_of_log(), o.log_size);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(size_of_log(), CARET__LOG_DEFAULT);
    assert_int_equal(count(db, 0, EACH), 9 * n);
    OK(caret_close(db));
    o.log_size = CARET__LOG_MIN - 1;
    assert_int_equal(caret_open(path, &o, &db), CARET_E_INVALID);
    assert_null(db);
    o.log_size = (size_t)CARET__LOG_MAX + 1;
    assert_int_equal(caret_open(path, &o, &db), CARET_E_INVALID);
}

/* A value that fills its pages to the last byte, and these are the last of the file. */
static void a_long_value_may_end_where_the_file_does(void **state)
{
    caret_options o = options();
    caret_db *db = NULL;
    caret_session *s;
    caret_node_buf n;
    caret_stats st = {.size = sizeof st};

    (void)state;
    o.archive = dir;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    for (int64_t i = 0; i < 6; i++) { /* what is free is the end of the file, nearly all of it */
        OK(caret_stat(db, &st));
        size_t len = (size_t)(st.free_pages - (uint64_t)i % 3) * CARET__PAGE_SIZE;
        char *value = calloc(1, len);
        assert_true(len > 0 && len <= CARET_MAX_VALUE);
        node_of(&n, i);
        OK(caret_set(s, &n.node, value, len));
        OK(caret_checkpoint(db));
        free(value);
    }
    caret_session_close(s);
    check(db);
    OK(caret_close(db));
}

/* ------------------------------------------------- more pages than can be saved */

#ifdef CARET_SMALL
#define LEAVES 8000 /* of 512 bytes: saved whole they exceed the undo area */
#else
#define LEAVES 33000 /* of 4 KiB: the same */
#endif
#define PER_LEAF ((CARET__PAGE_SIZE - 150) / 56)

static caret_options long_log(void)
{
    caret_options o = options();

    o.log_size = CARET__LOG_MAX / (CARET__PAGE_SIZE == 512 ? 1 : 8);
    o.arena_limit = (size_t)LEAVES * 3 * CARET__PAGE_SIZE;
    return o;
}

/* One node of each leaf, in one transaction. */
static int change_each_leaf(caret_db *db, char say)
{
    caret_session *s;
    caret_node_buf n;
    char value[EACH];

    memset(value, say, sizeof value);
    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (int64_t i = 0; i < (int64_t)LEAVES * PER_LEAF; i += PER_LEAF) {
        node_of(&n, i);
        OK(caret_set(s, &n.node, value, sizeof value));
    }
    int rc = caret_commit(s);
    if (rc != CARET_OK)
        caret_rollback(s);
    caret_session_close(s);
    return rc;
}

/* Do all of them say the same?  What they say. */
static char said(caret_db *db)
{
    caret_session *s;
    caret_node_buf n;
    caret_slice got;
    char say = 0;

    OK(caret_session_open(db, &s));
    for (int64_t i = 0; i < (int64_t)LEAVES * PER_LEAF; i += PER_LEAF) {
        node_of(&n, i);
        OK(caret_get(s, &n.node, &got));
        char c = ((const char *)got.data)[EACH - 1];
        if (i != 0)
            assert_int_equal(c, say);
        say = c;
    }
    caret_session_close(s);
    return say;
}

static caret_db *fill_leaves(void)
{
    caret_options o = long_log();
    caret_db *db;
    int64_t all = (int64_t)LEAVES * PER_LEAF, each = all / 16;

    OK(caret_open(path, &o, &db));
    for (int64_t at = 0; at < all; at += each)
        OK(put_at_once(db, at, at + each < all ? at + each : all));
    OK(change_each_leaf(db, 'a')); /* so that all of them are in the arena, to be changed in place */
    return db;
}

/* Another process that changes what the large transactions leave alone, all the time. */
static pid_t busy_writer(int gate[2])
{
    assert_int_equal(pipe(gate), 0);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    caret_options o = long_log();
    caret_db *db;
    char go;
    close(gate[1]);
    OK(caret_open(path, &o, &db));
    for (int64_t i = 1; poll(&(struct pollfd){.fd = gate[0], .events = POLLIN}, 1, 0) == 0; i++)
        put(db, i * 7919 % LEAVES * PER_LEAF + 1, i * 7919 % LEAVES * PER_LEAF + 2, EACH);
    (void)!read(gate[0], &go, 1);
    OK(caret_close(db));
    _exit(0);
}

static void more_pages_than_can_be_saved_are_changed_at_once(void **state)
{
    int gate[2];

    (void)state;
    need_room(LEAVES * 5u / (1048576u / CARET__PAGE_SIZE) + 20);
    caret_db *db = fill_leaves();
    pid_t pid = busy_writer(gate);
    const char last = BRIEF ? 'd' : 'i';
    for (char say = 'b'; say <= last; say++) {
        OK(change_each_leaf(db, say));
        assert_int_equal(said(db), say);
    }
    close(gate[0]);
    close(gate[1]);
    join(pid);
    check(db);
    OK(caret_close(db));
    db = open_db();
    assert_int_equal(said(db), last);
    OK(caret_close(db));
}

/* The committer dies on the way, beside others or alone. */
static void a_death_among_so_many_pages_leaves_all_or_nothing(void **state)
{
    static const struct {
        const char *point;
        unsigned pass;
        bool there;
    } deaths[] = {
        {"freeze_half", 1, false},    {"freeze_epoch", 1, false},   {"checkpoint_durable", 1, false},
        {"big_written", 1, false},    {"commit_point", 1, true},    {"undo_published", 5000, true},
        {"page_copied", 6000, true},  {"page_pending", 7000, true}, {"before_applied", 1, true},
        {"page_obsolete", 100, true},
    };

    (void)state;
#if !defined(CARET_FAULTS) || !defined(CARET_SMALL)
    print_message(
        "skipped: the small build has it, with fault points and pages that fill the room for undo\n");
    skip();
#endif
    need_room(LEAVES * 5u / (1048576u / CARET__PAGE_SIZE) + 20);
    for (unsigned i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
        bool alone = i % 2 != 0;
        caret_db *db = fill_leaves();
        if (alone)
            OK(caret_close(db));
        pid_t pid = fork();
        if (pid == 0) {
            caret_options o = long_log();
            caret_db *mine;
            OK(caret_open(path, &o, &mine));
            if (alone)
                OK(change_each_leaf(mine, 'a'));
            caret__fault_arm(deaths[i].point, deaths[i].pass, CARET__FAULT_KILL);
            (void)change_each_leaf(mine, 'b');
            _exit(7);
        }
        int status;
        waitpid(pid, &status, 0);
        if (!WIFSIGNALED(status))
            fail_msg("not dead at %s, %u", deaths[i].point, deaths[i].pass);
        if (alone)
            db = open_db();
        else
            put(db, 1, 2, EACH);
        char say = said(db);
        bool either = alone && strcmp(deaths[i].point, "big_written") == 0;
        if (say != (deaths[i].there ? 'b' : 'a') && !(either && say == 'b'))
            fail_msg("dead at %s%s: it says %c", deaths[i].point, alone ? " alone" : "", say);
        check(db);
        OK(change_each_leaf(db, 'c'));
        assert_int_equal(said(db), 'c');
        OK(caret_close(db));
        unlink(path);
    }
}

/* --------------------------------------------------------- killed at any moment */

#define FAR UINT32_C(2654435761) /* i * FAR mod 2^32: all of them, far from each other */

static uint32_t from_env(const char *name, uint32_t otherwise)
{
    const char *said_there = getenv(name);
    return said_there != NULL ? (uint32_t)strtoul(said_there, NULL, 10) : otherwise;
}

/* Node i of the large transactions: in order, or anywhere. */
static void large_node(caret_node_buf *n, uint32_t i, bool in_order)
{
    OK(caret_node_var(&n->node, sizeof *n, in_order ? "^ordered" : "^anywhere", in_order ? 8 : 9));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, in_order ? i : i * FAR));
}

/* All nodes, in one transaction. */
static void say_at_once(caret_db *db, uint32_t many, bool in_order, char say)
{
    caret_session *s;
    caret_node_buf n;
    char value[100];

    memset(value, say, sizeof value);
    OK(caret_session_open(db, &s));
    OK(caret_begin(s, 0));
    for (uint32_t i = 0; i < many; i++) {
        large_node(&n, i, in_order);
        OK(caret_set(s, &n.node, value, sizeof value));
    }
    OK(caret_commit(s));
    caret_session_close(s);
}

/* What all of them say; 0: none is there. */
static char all_say(caret_db *db, uint32_t many, bool in_order)
{
    caret_session *s;
    caret_node_buf n;
    caret_slice got;
    char say = 0;

    OK(caret_session_open(db, &s));
    for (uint32_t i = 0; i < many; i++) {
        large_node(&n, i, in_order);
        int rc = caret_get(s, &n.node, &got);
        char c = rc == CARET_OK ? ((const char *)got.data)[got.len - 1] : 0;
        if (rc != CARET_OK && rc != CARET_NONE)
            fail_msg("%s", caret_message());
        if (i != 0 && c != say)
            fail_msg("node %u says '%c', those before it '%c'", i, c, say);
        say = c;
    }
    caret_session_close(s);
    return say;
}

/* A process that does it once more, and then says so. */
static pid_t sayer(uint32_t many, bool in_order, char say)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    caret_db *db = open_db();
    atomic_store(signal_word, 1);
    say_at_once(db, many, in_order, say);
    atomic_store(signal_word, 2);
    for (;;)
        pause();
}

/* A time to let it go on. */
static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* CARET_BIG_KILLS times, CARET_BIG_SETS sets. */
static void killed_at_any_moment_it_is_whole(void **state)
{
    const uint32_t kills = from_env("CARET_BIG_KILLS", 24);
    const uint32_t many = from_env("CARET_BIG_SETS", CARET__PAGE_SIZE == 512 ? 2500 : 20000);
    char before[2] = {0, 0};
    uint32_t done = 0;

    (void)state;
    need_room((uint32_t)((uint64_t)many * 120 * 5 >> 20) + 20);
    uint64_t start = now_us();
    caret_db *db = open_db();
    say_at_once(db, many, false, 'a');
    before[0] = 'a';
    OK(caret_close(db));
    uint64_t takes = now_us() - start;
    for (uint32_t i = 0; i < kills; i++) {
        bool in_order = i / 2 % 2 != 0, alone = i % 2 != 0;
        char say = (char)('b' + i % 20);
        db = alone ? NULL : open_db();
        atomic_store(signal_word, 0);
        pid_t pid = sayer(many, in_order, say);
        while (atomic_load(signal_word) == 0)
            usleep(100);
        usleep((useconds_t)(takes * (i * 7919 % 1000) / 1000));
        bool promised = atomic_load(signal_word) == 2;
        assert_int_equal(kill(pid, SIGKILL), 0);
        waitpid(pid, NULL, 0);
        db = alone ? open_db() : db;
        put(db, 1, 3, EACH);
        char now = all_say(db, many, in_order);
        if (now != say && (promised || now != before[in_order]))
            fail_msg("killed with '%c' underway: '%c', before it '%c'", say, now, before[in_order]);
        done += now == say;
        before[in_order] = now;
        assert_int_equal(all_say(db, many, !in_order), before[!in_order]);
        check(db);
        OK(caret_close(db));
    }
    print_message("%u kills, %u sets: %u transactions were there\n", kills, many, done);
}

/*
 * Every second leaf is killed, and what is set in its place goes to the full one after it, which is copied for it and
 * cut.  An assertion tells when that takes more than was counted (in builds that have them).
 */
#define PLACES   60
#define A_LEAF   4
/* Bytes of a value, beside slot, head, key and prefix. */
#define A_FOURTH (CARET__PAGE_USABLE / A_LEAF - 16u)

static void in_leaf(caret_node_buf *n, int64_t leaf, int64_t i)
{
    OK(caret_node_var(&n->node, sizeof *n, "^x", 2));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, leaf));
    if (i >= 0)
        OK(caret_node_child_int(&n->node, sizeof *n, &n->node, i));
}

static void set_in_leaf(caret_session *s, int64_t leaf, int64_t i)
{
    caret_node_buf n;

    in_leaf(&n, leaf, i);
    OK(caret_set(s, &n.node, text, text_of(leaf, A_FOURTH, text)));
}

static void kill_in_leaf(caret_session *s, int64_t leaf, int64_t i)
{
    caret_node_buf n;

    in_leaf(&n, leaf, i);
    OK(caret_kill(s, &n.node));
}

/* Every second one with room for one more. */
static void make_leaves(caret_session *s)
{
    for (int64_t leaf = 0; leaf < PLACES; leaf++)
        for (int64_t i = 0; i < A_LEAF; i++)
            set_in_leaf(s, leaf, i);
    for (int64_t leaf = 0; leaf < PLACES; leaf += 2)
        kill_in_leaf(s, leaf, A_LEAF - 1);
}

static void sets_for_killed_leaves_find_what_was_counted(void **state)
{
    caret_session *s;
    caret_node_buf n;
    int data;

    (void)state;
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    make_leaves(s);
    OK(caret_checkpoint(db)); /* so that all that is touched is copied */
    OK(caret_begin(s, 0));
    for (int64_t leaf = 0; leaf < PLACES; leaf += 2) {
        kill_in_leaf(s, leaf, 0);
        kill_in_leaf(s, leaf, 1);
        kill_in_leaf(s, leaf, 2);
        set_in_leaf(s, leaf, 9);
    }
    OK(caret_commit(s));
    for (int64_t leaf = 0; leaf < PLACES; leaf++)
        for (int64_t i = 0; i < 10; i++) {
            in_leaf(&n, leaf, i);
            OK(caret_data(s, &n.node, &data));
            assert_int_equal(data, leaf % 2 == 0 ? i == 9 : i < A_LEAF);
        }
    caret_session_close(s);
    check(db);
    OK(caret_close(db));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_log_has_the_size_asked_for_and_is_enough),
        TEST(records_of_all_sizes_go_round_the_log),
        TEST(big_commits_survive_the_loss_of_everybody),
        TEST(a_death_on_the_way_leaves_all_or_nothing),
        TEST(a_long_value_may_end_where_the_file_does),
        TEST(a_transaction_may_have_many_long_values),
        TEST(more_pages_than_can_be_saved_are_changed_at_once),
        TEST(a_death_among_so_many_pages_leaves_all_or_nothing),
        TEST(killed_at_any_moment_it_is_whole),
        TEST(the_log_becomes_longer_for_a_transaction),
        TEST(a_death_while_it_makes_the_log_longer_leaves_all_or_nothing),
        TEST(a_transaction_beyond_the_arena_is_refused_and_changes_nothing),
        TEST(many_kills_beside_a_set_take_only_what_they_find),
        TEST(sets_for_killed_leaves_find_what_was_counted),
        TEST(a_transaction_beyond_the_log_is_refused_and_changes_nothing),
    };
    cmocka_set_test_filter(getenv("CARET_BIG_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
