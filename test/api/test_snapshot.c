/*
 * Snapshots: whatever writers do and whoever dies, a snapshot reads exactly what was there when it was begun, and the
 * room it kept is free again when it is over.  CARET_SNAPSHOTS=n: n times the rounds.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/rand.h"
#include "caret.h"
#include "support/crowd.h"
#include "support/nodes.h"
#include "support/points.h"

#define NODES 400u
#define LIVE  5u

static char path[80];
static unsigned factor = 1;
static _Atomic uint32_t *shared; /* between parent and child */

/* What the database should hold: below ^m the node i has the value that version v[i] says, 0 = none. */
struct model {
    uint32_t v[NODES];
};

/* Its length and bytes follow from the version; some lie out of line. */
static size_t value(uint32_t version, char *buf)
{
    size_t len = version % 37 == 0 ? 5000 : 10 + version * 7919u % 200;
    for (size_t i = 0; i < len; i++)
        buf[i] = (char)('a' + (version + i) % 26);
    return len;
}

/* One change, to database and model. */
static void change(caret_session *s, struct model *m, struct caret__rand *r, uint32_t version)
{
    static char buf[6000];
    unsigned i = caret__rand_below(r, NODES);
    caret_node_buf n;

    node_at(&n, "^m", i);
    if (version % 997 == 0) {
        must(caret_node_parent(&n.node, sizeof n, &n.node), "parent");
        must(caret_kill(s, &n.node), "kill");
        memset(m, 0, sizeof *m);
    } else if (version % 5 == 0) {
        must(caret_delete(s, &n.node), "delete");
        m->v[i] = 0;
    } else {
        size_t len = value(version, buf);
        must(caret_set(s, &n.node, buf, len), "set");
        m->v[i] = version;
    }
}

/* Everything that the session sees is what the model says: by get, forwards, backwards. */
static void compare(caret_session *s, const struct model *m)
{
    static char buf[6000];
    caret_node_buf n, at;
    caret_slice v;
    unsigned there = 0, seen = 0;

    for (unsigned i = 0; i < NODES; i++) {
        node_at(&n, "^m", i);
        int rc = caret_get(s, &n.node, &v);
        if (m->v[i] == 0) {
            assert_int_equal(rc, CARET_NONE);
            continue;
        }
        there++;
        if (rc != CARET_OK)
            fail_msg("node %u of version %u: %s", i, m->v[i], caret_message());
        size_t len = value(m->v[i], buf);
        assert_int_equal(v.len, len);
        assert_memory_equal(v.data, buf, len);
    }
    must(caret_node_var(&at.node, sizeof at, "^m", 2), "variable");
    int data;
    must(caret_data(s, &at.node, &data), "data");
    assert_int_equal(data, there != 0 ? 10 : 0);
    int64_t last = -1, here;
    while (caret_node_next(s, &at.node) == CARET_OK) {
        assert_int_equal(caret_node_last_as_int(&at.node, &here), 1);
        assert_true(here > last && m->v[here] != 0);
        last = here;
        seen++;
    }
    assert_int_equal(seen, there);
    must(caret_node_var(&at.node, sizeof at, "^m", 2), "variable");
    for (int rc = caret_last(s, &at.node); rc == CARET_OK; rc = caret_previous(s, &at.node))
        seen--;
    assert_int_equal(seen, 0);
    must(caret_node_var(&at.node, sizeof at, "^m", 2), "variable");
    for (int rc = caret_first(s, &at.node); rc == CARET_OK; rc = caret_next(s, &at.node))
        seen++;
    assert_int_equal(seen, there);
}

static void check(caret_db *db)
{
    static char report[4000];
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", caret_message(), report);
}

static caret_stats stats(caret_db *db)
{
    caret_stats st = {.size = sizeof st};
    must(caret_stat(db, &st), "stat");
    return st;
}

static void clean(void)
{
    char lock[96];
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
}

static void open_all(caret_db **db, caret_session *s[], unsigned count)
{
    must(caret_open(path, NULL, db), "open");
    for (unsigned i = 0; i < count; i++)
        must(caret_session_open(*db, &s[i]), "session");
}

static void close_all(caret_db *db, caret_session *s[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        caret_session_close(s[i]);
    must(caret_close(db), "close");
}

/* What each test begins with: an empty database, and its sessions, of which the last one writes. */
static struct {
    caret_db *db;
    caret_session *s[LIVE + 1], *writer;
    unsigned sessions;
    struct model now;
    struct caret__rand r;
    uint32_t version; /* of the last change */
} w;

static void begin_with(uint64_t seed, unsigned sessions)
{
    clean();
    memset(&w, 0, sizeof w);
    caret__rand_seed(&w.r, seed);
    open_all(&w.db, w.s, sessions);
    w.sessions = sessions;
    w.writer = w.s[sessions - 1];
}

static void end(void)
{
    close_all(w.db, w.s, w.sessions);
    w.db = NULL;
}

/* So many changes by the writer. */
static void changes(unsigned n)
{
    while (n-- > 0)
        change(w.writer, &w.now, &w.r, ++w.version);
}

struct start {
    uint64_t seed;
    unsigned sessions;
};

static int setup(void **state)
{
    const struct start *start = *state;

    begin_with(start->seed, start->sessions);
    return 0;
}

/* Also of a test that failed: what it left open is closed. */
static int teardown(void **state)
{
    (void)state;
    if (w.db != NULL)
        end();
    return 0;
}

/* Several at a time, begun and ended in any order, each with what it must show. */
static void a_snapshot_reads_what_was_there_when_it_was_begun(void **state)
{
    static struct model then[LIVE];
    bool live[LIVE] = {false};
    uint32_t compared = 0;
    uint64_t most = 0;

    (void)state;
    for (unsigned round = 0; round < 300 * factor; round++) {
        unsigned k = caret__rand_below(&w.r, LIVE);
        if (live[k]) {
            compare(w.s[k], &then[k]);
            compared++;
            if (caret__rand_below(&w.r, 3) == 0) {
                must(round % 2 ? caret_commit(w.s[k]) : caret_rollback(w.s[k]), "end");
                live[k] = false;
                if (round % 5 == 0)
                    compare(w.s[k], &w.now);
            }
        } else {
            must(caret_begin(w.s[k], CARET_TXN_SNAPSHOT), "begin");
            then[k] = w.now;
            live[k] = true;
        }
        changes((unsigned)caret__rand_below(&w.r, 60));
        if (round % 7 == 0)
            must(caret_checkpoint(w.db), "checkpoint");
        if (round % 10 == 0)
            check(w.db);
        if (round > 100 && stats(w.db).pages > most)
            most = stats(w.db).pages;
    }
    for (unsigned k = 0; k < LIVE; k++)
        if (live[k])
            must(caret_commit(w.s[k]), "end");
    must(caret_checkpoint(w.db), "checkpoint");
    must(caret_checkpoint(w.db), "checkpoint");
    assert_int_equal(stats(w.db).held_pages, 0);
    assert_int_equal(stats(w.db).snapshots, 0);
    check(w.db);
    compare(w.writer, &w.now);
    assert_true(compared > 50);
    print_message("%u changes, %u comparisons, %llu pages at most\n", w.version, compared,
                  (unsigned long long)most);
}

/* The writers' churn does not grow the file: only pages of the snapshot itself are kept. */
static void a_long_snapshot_keeps_its_own_size_and_no_more(void **state)
{
    static struct model then;

    (void)state;
    changes(3000);
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "begin");
    then = w.now;
    caret_stats before = stats(w.db), after = before;
    for (unsigned round = 0; round < 60 * factor; round++) {
        changes(200);
        must(caret_checkpoint(w.db), "checkpoint");
        after = stats(w.db);
        assert_true(after.held_pages <= before.pages - before.free_pages);
        assert_true(after.pages <= 3 * before.pages);
    }
    assert_true(after.held_pages > 0);
    compare(w.s[0], &then);
    must(caret_commit(w.s[0]), "end");
    must(caret_checkpoint(w.db), "checkpoint");
    assert_int_equal(stats(w.db).held_pages, 0);
    for (unsigned i = 0; i < 3000; i++) { /* in what was held */
        changes(1);
        if (i % 200 == 0)
            must(caret_checkpoint(w.db), "checkpoint");
    }
    assert_int_equal(stats(w.db).pages, after.pages);
    check(w.db);
}

/* What died between two snapshots is free when the older one ends, although the newer one lives on. */
static void the_end_of_the_oldest_frees_what_only_it_reads(void **state)
{
    caret_node_buf n;

    (void)state;
    changes(900);
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "begin");
    must(caret_node_var(&n.node, sizeof n, "^m", 2), "variable");
    must(caret_kill(w.s[2], &n.node), "kill");
    must(caret_begin(w.s[1], CARET_TXN_SNAPSHOT), "begin");
    uint64_t held = stats(w.db).held_pages;
    assert_true(held > 10);
    assert_int_equal(caret_data(w.s[1], &n.node, &(int){0}), CARET_OK);
    must(caret_commit(w.s[0]), "end");
    must(caret_checkpoint(w.db), "checkpoint");
    assert_int_equal(stats(w.db).held_pages, 0);
    must(caret_commit(w.s[1]), "end");
}

static void a_snapshot_can_only_be_read(void **state)
{
    caret_node_buf n, local;
    caret_slice v;

    (void)state;
    node_at(&n, "^m", 1);
    node_at(&local, "m", 1);
    must(caret_set(w.s[0], &n.node, "1", 1), "set");
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "begin");
    assert_int_equal(caret_set(w.s[0], &n.node, "2", 1), CARET_E_READONLY);
    assert_non_null(strstr(caret_message(), "snapshot"));
    assert_int_equal(caret_incr_int(w.s[0], &n.node, 1, 0, NULL), CARET_E_READONLY);
    assert_int_equal(caret_delete(w.s[0], &n.node), CARET_E_READONLY);
    assert_int_equal(caret_kill(w.s[0], &n.node), CARET_E_READONLY);
    must(caret_set(w.s[0], &local.node, "local", 5), "set a local");
    must(caret_begin(w.s[0], 0), "nested");
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "nested once more");
    assert_int_equal(caret_txn_level(w.s[0]), 3);
    must(caret_get(w.s[0], &n.node, &v), "get");
    must(caret_commit(w.s[0]), "commit");
    must(caret_rollback(w.s[0]), "rollback");
    must(caret_restart(w.s[0]), "restart");
    must(caret_get(w.s[0], &n.node, &v), "get");
    assert_int_equal(v.len, 1);
    must(caret_commit(w.s[0]), "end");
    must(caret_set(w.s[0], &n.node, "2", 1), "set");
    must(caret_begin(w.s[0], 0), "transaction");
    assert_int_equal(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), CARET_E_INTXN);
    assert_int_equal(caret_txn_level(w.s[0]), 1);
    must(caret_rollback(w.s[0]), "rollback");
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "begin"); /* closing ends it */
    close_all(w.db, w.s, 1);
    must(caret_open(path, &(caret_options){.size = sizeof(caret_options), .readonly = 1}, &w.db),
         "open read-only");
    must(caret_session_open(w.db, &w.s[0]), "session");
    assert_int_equal(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), CARET_E_READONLY);
    must(caret_get(w.s[0], &n.node, &v), "get");
}

/* ------------------------------------------------------------------ processes */

static int reap(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void wait_for(uint32_t n)
{
    UNTIL(atomic_load(&shared[0]) >= n);
}

/* A child that begins a snapshot, tells so, and does nothing more. */
static pid_t start_reader(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db;
        caret_session *s;
        must(caret_open(path, NULL, &db), "open");
        must(caret_session_open(db, &s), "session");
        must(caret_begin(s, CARET_TXN_SNAPSHOT), "begin");
        atomic_fetch_add(&shared[0], 1);
        for (;;)
            pause();
    }
    return pid;
}

static void a_killed_process_keeps_nothing(void **state)
{
    (void)state;
    changes(2000);
    atomic_store(&shared[0], 0);
    pid_t pid[2] = {start_reader(), start_reader()};
    wait_for(2);
    changes(1000);
    must(caret_checkpoint(w.db), "checkpoint");
    uint64_t held = stats(w.db).held_pages;
    assert_true(held > 0);
    assert_int_equal(stats(w.db).snapshots, 2);
    kill(pid[0], SIGKILL);
    reap(pid[0]);
    must(caret_checkpoint(w.db), "checkpoint");
    assert_int_equal(stats(w.db).snapshots, 1);
    assert_int_equal(stats(w.db).held_pages, held); /* the other one still reads the same */
    kill(pid[1], SIGKILL);
    reap(pid[1]);
    must(caret_checkpoint(w.db), "checkpoint"); /* nothing was committed: it looks all the same */
    assert_int_equal(stats(w.db).snapshots, 0);
    assert_int_equal(stats(w.db).held_pages, 0);
    check(w.db);
    compare(w.s[0], &w.now);
}

/* A stopped process is not a dead one. */
static void a_stopped_process_keeps_its_snapshot(void **state)
{
    (void)state;
    changes(1000);
    atomic_store(&shared[0], 0);
    pid_t pid = start_reader();
    wait_for(1);
    kill(pid, SIGSTOP);
    for (unsigned round = 0; round < 5; round++) {
        changes(300);
        must(caret_checkpoint(w.db), "checkpoint");
        assert_int_equal(stats(w.db).snapshots, 1);
        assert_true(stats(w.db).held_pages > 0);
    }
    kill(pid, SIGKILL);
    reap(pid);
}

static void a_forked_child_does_not_have_its_parents_snapshot(void **state)
{
    static struct model then;

    (void)state;
    changes(500);
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "begin");
    must(caret_begin(w.s[1], CARET_TXN_SNAPSHOT), "begin");
    then = w.now;
    changes(500);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_node_buf n;
        caret_slice v;
        must(caret_node_var(&n.node, sizeof n, "^other", 6), "variable");
        must(caret_set(w.s[0], &n.node, "x", 1), "the first session is in none");
        must(caret_get(w.s[0], &n.node, &v), "get");
        if (caret_txn_level(w.s[1]) != 0 || caret_rollback(w.s[1]) != CARET_E_NOTXN)
            _exit(2);
        must(caret_get(w.s[1], &n.node, &v), "nor is the second");
        must(caret_begin(w.s[1], CARET_TXN_SNAPSHOT), "begin");
        must(caret_get(w.s[1], &n.node, &v), "get");
        caret_session_close(w.s[2]);
        caret_session_close(w.s[0]);
        caret_session_close(w.s[1]);
        must(caret_close(w.db), "close");
        _exit(0);
    }
    assert_int_equal(reap(pid), 0);
    changes(500);
    must(caret_checkpoint(w.db), "checkpoint");
    changes(500);
    must(caret_checkpoint(w.db), "checkpoint");
    compare(w.s[0], &then);
    compare(w.s[1], &then);
}

/* A host that closes a descriptor of the lock file drops its record locks: it passes for dead, and is told so. */
static void a_reader_taken_for_dead_is_told_so(void **state)
{
    (void)state;
    changes(1000);
    atomic_store(&shared[0], 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *own;
        caret_session *t, *other;
        caret_node_buf n;
        caret_slice v;
        char lock[96];
        must(caret_open(path, NULL, &own), "open");
        must(caret_session_open(own, &t), "session");
        must(caret_session_open(own, &other), "session");
        must(caret_begin(t, CARET_TXN_SNAPSHOT), "begin");
        must(caret_begin(other, CARET_TXN_SNAPSHOT), "begin");
        snprintf(lock, sizeof lock, "%s-lock", path);
        close(open(lock, O_RDWR));
        node_at(&n, "^m", 1);
        int before = caret_get(t, &n.node, &v);
        atomic_fetch_add(&shared[0], 1);
        wait_for(2);
        _exit((before == CARET_OK || before == CARET_NONE) && caret_get(t, &n.node, &v) == CARET_E_EVICTED &&
                      caret_rollback(t) == CARET_OK && caret_get(other, &n.node, &v) == CARET_E_EVICTED &&
                      caret_begin(t, CARET_TXN_SNAPSHOT) == CARET_E_EVICTED
                  ? 0
                  : 1);
    }
    wait_for(1);
    changes(500);
    must(caret_checkpoint(w.db), "checkpoint");
    assert_int_equal(stats(w.db).snapshots, 0);
    assert_int_equal(stats(w.db).held_pages, 0);
    atomic_fetch_add(&shared[0], 1);
    assert_int_equal(reap(pid), 0);
}

#ifdef CARET_FAULTS

/* What a child does: changes, checkpoints, snapshots that overlap. */
static void churn(uint64_t seed, unsigned rounds, bool to_the_end)
{
    static struct model ignored;
    caret_session *s[3];
    struct caret__rand r;
    caret_db *db;
    bool live[2] = {false, false};

    caret__rand_seed(&r, seed);
    open_all(&db, s, 3);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned k = i % 2;
        if (live[k]) {
            caret_node_buf n;
            must(caret_node_var(&n.node, sizeof n, "^m", 2), "variable");
            int rc = caret_node_next(s[k], &n.node);
            if (rc != CARET_NONE)
                must(rc, "next in a snapshot");
            must(caret_commit(s[k]), "end");
        } else {
            must(caret_begin(s[k], CARET_TXN_SNAPSHOT), "begin");
        }
        live[k] = !live[k];
        for (unsigned c = 0; c < 40; c++)
            change(s[2], &ignored, &r, 1 + (uint32_t)caret__rand_below(&r, 100000));
        if (i % 3 == 0)
            must(caret_checkpoint(db), "checkpoint");
    }
    if (to_the_end)
        close_all(db, s, 3);
    _exit(0);
}

/*
 * A child dies at a point, in the presence of another snapshot, ours or that of a third process; then a second one
 * at what comes after.  Ours is what it was; nothing is lost, and in the end nothing is held.
 */
static unsigned die_beside_a_snapshot(const char *name, unsigned nth)
{
    static struct model then;
    unsigned deaths = 0;

    begin_with(nth, 2);
    changes(300);
    must(caret_begin(w.s[0], CARET_TXN_SNAPSHOT), "begin");
    then = w.now;
    static const char *const second[] = {"", "repair_redone", "release_held", "held_free",
                                         "snapshot_dropped"};
    for (unsigned i = 0; i < 5; i++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            caret__fault_arm(i == 0 ? name : second[i], i == 0 ? nth : 1, CARET__FAULT_KILL);
            churn(nth + i, 12, i % 2 == 0);
        }
        int status = reap(pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            fail_msg("%s:%u, %u: the child ended with status %d", name, nth, i, WEXITSTATUS(status));
        deaths += i == 0 && WIFSIGNALED(status);
        compare(w.s[0], &then);
        check(w.db);
    }
    must(caret_commit(w.s[0]), "end");
    must(caret_checkpoint(w.db), "checkpoint");
    must(caret_checkpoint(w.db), "checkpoint");
    if (stats(w.db).held_pages != 0 || stats(w.db).snapshots != 0)
        fail_msg("%s:%u: %llu pages are held", name, nth, (unsigned long long)stats(w.db).held_pages);
    check(w.db);
    end();
    return deaths;
}

static void death_at_every_point_leaves_snapshots_whole(void **state)
{
    static const char *const names[] = {
        "snapshot_role",    "snapshot_epoch",     "snapshot_lsn",        "snapshot_ended",
        "snapshot_dropped", "release_held",       "release_free",        "release_pending",
        "held_settled",     "held_unsettled",     "held_counted",        "held_free",
        "freeze_image",     "freeze_record",      "freeze_epoch",        "release_word",
        "release_bit",      "checkpoint_durable", "checkpoint_released", "checkpoint_meta_synced",
        "commit_point",     "page_obsolete",      "version_set",         "run_written",
        "image_written",    "grow_pages_bits",    "after_applied"};
    static const unsigned hits[] = {1, 2, 5, 40};
    unsigned deaths = 0, tried = 0;

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        for (unsigned h = 0; h < 4; h++, tried++)
            deaths += die_beside_a_snapshot(names[i], hits[h]);
    print_message("%u deaths in %u tries\n", deaths, tried);
    assert_true(deaths > tried / 2);
}

#else

static void death_at_every_point_leaves_snapshots_whole(void **state)
{
    (void)state;
    need_points();
}

#endif

/* All are killed while snapshots are read and pages held: the next opening has all of them free. */
static void kill_all_forgets_snapshots(void **state)
{
    static struct model now;
    caret_session *s[1];
    struct caret__rand r;
    caret_db *db;
    uint64_t pages = 0;

    (void)state;
    clean();
    for (unsigned cycle = 0; cycle < 20 * factor; cycle++) {
        fflush(NULL);
        atomic_store(&shared[0], 0);
        pid_t pid = fork();
        if (pid == 0) {
            caret_session *t[2];
            caret_db *own;
            caret__rand_seed(&r, cycle);
            open_all(&own, t, 2);
            for (unsigned i = 0; i < 1000000; i++) {
                if (i % 400 == 0) {
                    if (i != 0)
                        must(caret_commit(t[0]), "end");
                    must(caret_begin(t[0], CARET_TXN_SNAPSHOT), "begin");
                    atomic_fetch_add(&shared[0], 1);
                }
                change(t[1], &now, &r, 1 + (uint32_t)caret__rand_below(&r, 10000));
                if (i % 30 == 0)
                    must(caret_checkpoint(own), "checkpoint");
            }
            _exit(1);
        }
        wait_for(1 + cycle % 3);
        usleep(cycle * 500);
        kill(pid, SIGKILL);
        assert_true(WIFSIGNALED(reap(pid)));
        open_all(&db, s, 1);
        assert_int_equal(stats(db).held_pages, 0);
        check(db);
        if (cycle == 10)
            pages = stats(db).pages;
        assert_true(pages == 0 || stats(db).pages <= 2 * pages);
        close_all(db, s, 1);
    }
}

int main(void)
{
    const char *tmp = getenv("TMPDIR"), *times = getenv("CARET_SNAPSHOTS");
    if (times != NULL && atoi(times) > 0)
        factor = (unsigned)atoi(times);
    snprintf(path, sizeof path, "%.40s/caret-snapshot-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
#define WITH(test, seed, sessions)                                                                           \
    cmocka_unit_test_prestate_setup_teardown(test, setup, teardown, (&(struct start){seed, sessions}))
    const struct CMUnitTest tests[] = {
        WITH(a_snapshot_reads_what_was_there_when_it_was_begun, 7, LIVE + 1),
        WITH(a_long_snapshot_keeps_its_own_size_and_no_more, 8, 2),
        WITH(the_end_of_the_oldest_frees_what_only_it_reads, 13, 3),
        WITH(a_snapshot_can_only_be_read, 0, 1),
        WITH(a_killed_process_keeps_nothing, 9, 1),
        WITH(a_stopped_process_keeps_its_snapshot, 10, 1),
        WITH(a_forked_child_does_not_have_its_parents_snapshot, 11, 3),
        WITH(a_reader_taken_for_dead_is_told_so, 12, 1),
        cmocka_unit_test(death_at_every_point_leaves_snapshots_whole),
        cmocka_unit_test(kill_all_forgets_snapshots),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    clean();
    return rc;
}
