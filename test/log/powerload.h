/*
 * powerload.h - what the power is lost in: a workload that notes the digest of the whole database after each commit,
 * in one process after the other or as a bank in several, recorded on a tape (tape.h), also through FUSE.
 * test_powerloss.c says what is made of it.
 */
#ifndef CARET_TEST_LOG_POWERLOAD_H
#define CARET_TEST_LOG_POWERLOAD_H

#include "powerstates.h"

/* ---------------------------------------------------------------- workload */

static void set_value(caret_session *s, uint32_t i, uint64_t what, size_t len)
{
    caret_node_buf n;

    node_of(&n, i);
    OK(caret_set(s, &n.node, text, text_of((int64_t)what, len, text)));
}

/* A transaction of `count` sets. */
static void set_many(caret_session *s, struct caret__rand *r, uint64_t k, unsigned count)
{
    OK(caret_begin(s, 0));
    for (unsigned i = 0; i < count; i++)
        set_value(s, caret__rand_below(r, world->nodes), k, caret__rand_below(r, world->len));
    OK(caret_commit(s));
}

static void kill_some(caret_session *s, struct caret__rand *r)
{
    uint32_t from = caret__rand_below(r, world->nodes), n = caret__rand_below(r, 30);
    char lo[12], hi[12];
    const caret_slice first = {lo, (size_t)sprintf(lo, "%u", from)},
                      after = {hi, (size_t)sprintf(hi, "%u", from + n)};
    caret_node_buf node;

    if (from % 2 != 0) { /* the same in one step */
        OK(caret_node_var(&node.node, sizeof node, "^t", 2));
        OK(caret_kill_range(s, &node.node, &first, &after, CARET_RANGE_BEFORE));
        return;
    }
    OK(caret_begin(s, 0));
    for (uint32_t i = 0; i < n; i++) {
        node_of(&node, from + i);
        OK(caret_kill(s, &node.node));
    }
    OK(caret_commit(s));
}

static void set_below(caret_session *s, struct caret__rand *r, uint64_t k)
{
    caret_node_buf n;

    node_of(&n, caret__rand_below(r, world->nodes));
    OK(caret_node_child_int(&n.node, sizeof n, &n.node, (int64_t)k % 10));
    OK(caret_node_child(&n.node, sizeof n, &n.node, "a longer name of a child", 24));
    OK(caret_set(s, &n.node, text, text_of((int64_t)k, 20, text)));
}

/* The kth part of a tree that is larger than a short log. */
static void fill_part(caret_session *s, uint64_t k)
{
    OK(caret_begin(s, 0));
    for (uint32_t i = 0; i < 50; i++)
        set_value(s, (uint32_t)k * 50 + i, k, 60);
    OK(caret_commit(s));
}

/* A transaction that takes more than three quarters of a short log. */
static void set_all(caret_session *s, uint64_t k)
{
    size_t each = 8 + 8 + 80; /* head, key, value */

    OK(caret_begin(s, 0));
    for (uint32_t i = 0; i * each < CARET__LOG_DEFAULT; i++)
        set_value(s, i, k, 80);
    OK(caret_commit(s));
}

/* Commit k; what it does follows from k and the seed. */
static void step(caret_session *s, uint64_t k)
{
    struct caret__rand r;
    caret_node_buf n;

    caret__rand_seed(&r, world->seed * 1000003 + k);
    uint32_t what = caret__rand_below(&r, 100);
    if (world->grows && k <= 60) {
        fill_part(s, k);
    } else if (world->large && k % 7 == 3) {
        set_all(s, k);
    } else if (world->stays_open && what < 30) {
        set_many(s, &r, k, 100);
    } else if (what < 35) {
        set_value(s, caret__rand_below(&r, world->nodes), k, caret__rand_below(&r, world->len));
    } else if (what < 55) {
        set_many(s, &r, k, 2 + caret__rand_below(&r, 6));
    } else if (what < 65) {
        set_many(s, &r, k, 100); /* fills the log */
    } else if (what < 73) {
        set_value(s, caret__rand_below(&r, world->nodes), k, 1000 + caret__rand_below(&r, 20000));
    } else if (what < 83) {
        kill_some(s, &r);
    } else if (what < 93) {
        set_below(s, &r, k);
    } else {
        node_of(&n, world->nodes + 50);
        OK(caret_incr(s, &n.node, "1", 1, NULL));
    }
}

enum event { NOTHING, SYNC, CHECKPOINT, REOPEN, DIE, BACKUP, RESTORE };

static enum event event_after(uint64_t k)
{
    struct caret__rand r;

    caret__rand_seed(&r, world->seed * 77 + k);
    uint32_t what = caret__rand_below(&r, 200);
    return what < 10                         ? SYNC
           : what < 16                       ? CHECKPOINT
           : what < 19 && !world->stays_open ? REOPEN
           : what < 24                       ? DIE
           : what < 36 && world->archived    ? BACKUP
           : what < 48 && world->archived    ? RESTORE
                                             : NOTHING;
}

static void back_up(caret_db *db)
{
    uint64_t n = world->backups + 1;
    caret_backup_options o = {.size = sizeof o, .compact = n % 4 < 2, .overwrite = n % 2 == 0};
    char name[200];

    if (n > BACKUPS_MAX)
        return;
    world->backup_of[n] = world->done;
    tape_mark(OP_BEGUN, BACKUPS, n);
    OK(caret_backup(db, backup_name(path, n, name), &o));
    tape_mark(OP_DURABLE, BACKUPS, n);
    world->backups = n;
}

/* Of the newest backup that has a name of its own.  Where a name is given without the tape seeing it there is none. */
static void restore_one(void)
{
    uint64_t n = world->restores + 1, last = (world->backups - 1) | 1;
    caret_restore_options o = {.size = sizeof o, .archive = dir, .shm_dir = shm_dir, .any_fs = 1};
    char from[200], to[200], wrong[1024];

    if (!world->behind_fuse || world->backups == 0 || n > BACKUPS_MAX)
        return;
    last = last > world->backups ? last - 2 : last;
    snprintf(to, sizeof to, "%s-again%" PRIu64, path, n);
    tape_mark(OP_BEGUN, RESTORES, n);
    OK(caret_restore(backup_name(path, last, from), to, &o, NULL));
    tape_mark(OP_DURABLE, RESTORES, n);
    if (!digest_of_file(to, &world->restored[n], wrong))
        fail_msg("%s: %s", to, wrong);
    world->restores = n;
}

static caret_db *open_synced(void)
{
    caret_options o = options();
    caret_db *db = NULL;

    o.sync = world->sync;
    if (world->archived)
        o.archive = dir;
    OK(caret_open(path, &o, &db));
    return db;
}

/* Many nodes, then sets everywhere and checkpoints when they are due: from then on the log is longer.  Or it has
 * become longer for a transaction. */
static void look_at_log(caret_db *db, uint64_t k)
{
    struct caret__engine *e;
    caret_options o = options();

    OK(caret__engine_open(path, &o, &e));
    if (world->grows && world->grew == 0 && caret__checkpoint_due(e))
        OK(caret_checkpoint(db));
    if (world->grew == 0 && atomic_load(&e->sh->log_size) > CARET__LOG_DEFAULT)
        world->grew = k;
    OK(caret__engine_close(e));
}

/* One process of the workload: until the end, or until it closes or dies. */
static void work(void)
{
    caret_db *db = open_synced();
    caret_session *s;
    enum event event = NOTHING;

    OK(caret_session_open(db, &s));
    if (world->done == 0)
        world->digest[0] = digest_of(s);
    while (world->done < world->steps && event != REOPEN && event != DIE) {
        uint64_t k = world->done + 1;
        tape_mark(OP_BEGUN, 0, k);
        step(s, k);
        if (world->sync == CARET_SYNC_COMMIT)
            tape_mark(OP_DURABLE, 0, k);
        world->digest[k] = digest_of(s);
        world->done = k;
        event = world->grows ? NOTHING : event_after(k);
        if (world->grows || world->large)
            look_at_log(db, k);
        if (event == SYNC)
            OK(caret_sync(db));
        if (event == CHECKPOINT)
            OK(caret_checkpoint(db));
        if (event == BACKUP)
            back_up(db);
        if (event == RESTORE)
            restore_one();
        if (event == SYNC || event == CHECKPOINT)
            tape_mark(OP_DURABLE, 0, k);
        if (event == CHECKPOINT)
            tape_mark(OP_DURABLE, CHECKPOINTS, k);
    }
    if (event == DIE)
        tape_kill();
    caret_session_close(s);
    OK(caret_close(db));
    tape_mark(OP_DURABLE, 0, world->done);
    tape_mark(OP_DURABLE, CHECKPOINTS, world->done);
}

static void expect_end(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) != SIGKILL)
        fail_msg("the workload failed: status %x", (unsigned)status);
}

/* One commit after the other, in processes that follow each other. */
static void work_alone(void)
{
    while (world->done < world->steps) {
        pid_t pid = fork();
        if (pid == 0) {
            work();
            _exit(0);
        }
        expect_end(pid);
    }
}

/* --------------------------------------------------------- workload: a bank */

#define ACCOUNTS 50u
#define MONEY    100
#define BRANCHES 3u

static int64_t get_int(caret_session *s, const char *variable, int64_t i)
{
    caret_node_buf n;
    char digits[24];
    size_t len;

    OK(caret_node_var(&n.node, sizeof n, variable, 2));
    OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
    if (caret_get_copy(s, &n.node, digits, sizeof digits - 1, &len) != CARET_OK)
        return 0; /* there is none, or the transaction starts again: the next call will say so, too */
    digits[len] = '\0';
    return strtoll(digits, NULL, 10);
}

static int set_int(caret_session *s, const char *variable, int64_t i, int64_t value)
{
    caret_node_buf n;
    char digits[24];

    OK(caret_node_var(&n.node, sizeof n, variable, 2));
    OK(caret_node_child_int(&n.node, sizeof n, &n.node, i));
    return caret_set(s, &n.node, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
}

struct transfer {
    uint32_t from, to, branch;
    int64_t amount;
    uint64_t number;
};

/* Money moves; the branch counts its transfers, and the bank all: ^o(n) says whose the nth was. */
static int transfer(caret_session *s, void *arg)
{
    const struct transfer *t = arg;
    int64_t n = get_int(s, "^n", 0) + 1;
    int rc = set_int(s, "^a", t->from, get_int(s, "^a", t->from) - t->amount);

    if (rc == CARET_OK)
        rc = set_int(s, "^a", t->to, get_int(s, "^a", t->to) + t->amount);
    if (rc == CARET_OK)
        rc = set_int(s, "^c", t->branch, (int64_t)t->number);
    if (rc == CARET_OK)
        rc = set_int(s, "^o", n, t->branch);
    return rc == CARET_OK ? set_int(s, "^n", 0, n) : rc;
}

static void work_branch(uint32_t branch, uint64_t from, uint64_t to)
{
    caret_options o = options();
    caret_db *db = NULL;
    caret_session *s;
    struct caret__rand r;

    o.sync = world->sync;
    o.sync_interval = 0.005;
    o.no_thread = branch == 0;
    caret__rand_seed(&r, world->seed * 10 + branch);
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    for (uint64_t k = from; k <= to; k++) {
        struct transfer t = {caret__rand_below(&r, ACCOUNTS), caret__rand_below(&r, ACCOUNTS), branch,
                             (int64_t)caret__rand_below(&r, MONEY), k};
        if (t.from == t.to)
            t.to = (t.from + 1) % ACCOUNTS;
        tape_mark(OP_BEGUN, branch, k);
        OK(caret_transaction(s, transfer, &t, 0));
        if (world->sync == CARET_SYNC_COMMIT)
            tape_mark(OP_DURABLE, branch, k);
        if (k % 40 == 0 && branch == 0)
            OK(caret_checkpoint(db));
        if (k % 25 == 0) {
            OK(caret_sync(db));
            tape_mark(OP_DURABLE, branch, k);
        }
    }
    if (from == 1)
        tape_kill();
    caret_session_close(s);
    OK(caret_close(db));
}

/* Several processes at once, twice; the first lot is killed. */
static void work_bank(void)
{
    unsigned half = world->steps / 2;

    for (uint64_t from = 1; from <= world->steps; from += half) {
        pid_t pids[BRANCHES];
        for (uint32_t i = 0; i < BRANCHES; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                work_branch(i, from, from + half - 1);
                _exit(0);
            }
        }
        for (uint32_t i = 0; i < BRANCHES; i++)
            expect_end(pids[i]);
    }
}

/* ----------------------------------------------------------------- checking */

static void check_alone(caret_session *s, const struct player *p)
{
    uint64_t found = digest_of(s), low = p->durable[0], high = p->begun[0], k;

    for (k = low; k <= high; k++)
        if (world->digest[k] == found)
            return;
    for (k = 0; k < low; k++)
        if (world->digest[k] == found)
            complain("lost commits: the state is that of %" PRIu64 ", promised were %" PRIu64, k, low);
    complain("the state is that of no commit (%" PRIu64 " to %" PRIu64 " are allowed)", low, high);
}

static void check_bank(caret_session *s, const struct player *p)
{
    int64_t sum = 0, total = get_int(s, "^n", 0), of[BRANCHES] = {0};

    for (unsigned i = 0; i < ACCOUNTS; i++)
        sum += get_int(s, "^a", i);
    if (sum != 0)
        complain("%" PRId64 " were made of nothing", sum);
    for (int64_t i = 1; i <= total; i++)
        of[get_int(s, "^o", i) % BRANCHES]++;
    for (unsigned i = 0; i < BRANCHES; i++) {
        int64_t n = get_int(s, "^c", i);
        if (n != of[i])
            complain("branch %u did %" PRId64 " transfers, the bank knows of %" PRId64, i, n, of[i]);
        if ((uint64_t)n < p->durable[i] || (uint64_t)n > p->begun[i])
            complain("branch %u did %" PRId64 " transfers, promised %" PRIu64 ", begun %" PRIu64, i, n,
                     p->durable[i], p->begun[i]);
    }
}

#endif
