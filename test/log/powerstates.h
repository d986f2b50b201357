/*
 * powerstates.h - the states in which a loss of power may leave a database, and what must be found in each of them.
 *
 * A test gives the world a workload and a check, and calls lose_power(): the workload is recorded (tape.h, or what the
 * kernel issues, through FUSE), and states of its files are made, opened and checked.  test_powerloss.c says how.
 */
#ifndef CARET_TEST_LOG_POWERSTATES_H
#define CARET_TEST_LOG_POWERSTATES_H

#include "fuseserver.h"
#include "log/checkpoint.h"

#include <inttypes.h>

#include "support/database.h"

#include "base/crc32c.h"
#include "open/open.h"
#include "shm/layout.h"
#include "support/crowd.h"

#define STEPS_MAX   4000u
#define BACKUPS_MAX 40u

/* The markers of what has begun and what is promised (tape_mark). */
enum { COMMITS, BACKUPS = 3, CHECKPOINTS, RESTORES };

/* What a workload and its checkers share with their children. */
struct world {
    uint64_t digest[STEPS_MAX + 1];
    uint64_t done; /* commits */
    char error[512];
    int sync;
    uint64_t seed;
    unsigned steps;
    unsigned nodes, len; /* nodes of the tree, longest ordinary value */
    bool behind_fuse;
    bool stays_open;                              /* no clean closing in between: the log goes round */
    bool grows;                                   /* the log becomes longer on the way */
    bool large;                                   /* some transactions make it longer */
    uint64_t grew;                                /* after so many commits */
    bool archived;                                /* and there are backups */
    uint64_t backups, backup_of[BACKUPS_MAX + 1]; /* the nth was made after so many commits */
    uint64_t restores, restored[BACKUPS_MAX + 1]; /* digests */
    void (*work)(void);
    void (*check)(caret_session *s, const struct player *p);
    uint64_t states[LOSSES], nested;
};

static struct world *world;
static bool may_mount;
static char state_dir[112], state_path[128], state_shm[112];

/* What is in the database. */
static uint64_t digest_of(caret_session *s)
{
    static char name[4096];
    caret_node_buf n;
    caret_slice v;
    uint32_t crc[2] = {1, 2};
    int rc = caret_first_var(s, &n.node, sizeof n, 0);

    while (rc == CARET_OK) {
        size_t len = 0;
        rc = caret_get(s, &n.node, &v);
        if (rc == CARET_OK) {
            OK(caret_node_zwr(&n.node, 0, name, sizeof name, &len));
            for (unsigned i = 0; i < 2; i++)
                crc[i] = caret__crc32c(caret__crc32c(crc[i] + (uint32_t)len, name, len), v.data, v.len);
        }
        rc = caret_node_next(s, &n.node);
        if (rc == CARET_NONE) {
            OK(caret_node_var(&n.node, sizeof n, name, strcspn(name, "(")));
            rc = caret_next(s, &n.node);
        }
    }
    assert_int_equal(rc, CARET_NONE);
    return (uint64_t)crc[1] << 32 | crc[0];
}

/* The name of the nth backup: a new one, or every second time one that is replaced. */
static const char *backup_name(const char *database, uint64_t n, char buf[200])
{
    snprintf(buf, 200, n % 2 == 0 ? "%s-copy" : "%s-copy%" PRIu64, database, n);
    return buf;
}

/* --------------------------------------------------------------- recording */

/* Through FUSE the tape sees what the kernel issues. */
static void record_behind_fuse(struct tape *t)
{
    char back[160], back_path[192], command[256];

    snprintf(back, sizeof back, "%s-back", state_dir);
    snprintf(back_path, sizeof back_path, "%s%s", back, strrchr(path, '/'));
    assert_int_equal(mkdir(back, 0700), 0);
    tape_record(t, back, back_path);
    pid_t server = may_mount ? fuse_start(dir, back) : 0;
    if (server != 0) {
        world->work();
        fuse_end(server, dir);
    }
    tape_stop();
    snprintf(command, sizeof command, "rm -rf %s", back);
    assert_int_equal(system(command), 0);
    if (server == 0) {
        print_message("skipped: libfuse3, /dev/fuse or the right to mount is missing\n");
        skip();
    }
}

static void record(struct tape *t)
{
    world->done = world->backups = world->restores = 0;
    if (world->behind_fuse) {
        record_behind_fuse(t);
        return;
    }
    tape_record(t, dir, path);
    world->work();
    tape_stop();
}

/* ----------------------------------------------------------------- checking */

/* In a child: the outcome goes into world->error. */
static void complain(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(world->error, sizeof world->error, format, ap);
    va_end(ap);
    _exit(1);
}

/* Opened read-only, replayed in private memory, it is what recovery would make of it. */
static void look_at_state(const struct player *p)
{
    caret_options o = {.size = sizeof o, .readonly = 1};
    caret_db *db = NULL;
    caret_session *s;
    int rc = caret_open(state_path, &o, &db);

    if (rc == CARET_E_NOTFOUND) /* it was not made yet */
        return;
    if (rc != CARET_OK)
        complain("cannot be opened read-only: %s", caret_message());
    OK(caret_session_open(db, &s));
    world->check(s, p);
    caret_session_close(s);
    OK(caret_close(db));
}

/* Of a file that has the name of a database: false if it is none, or not whole. */
static bool digest_of_file(const char *name, uint64_t *digest, char wrong[1024])
{
    caret_options o = {.size = sizeof o, .readonly = 1, .any_fs = 1};
    char report[512] = "";
    caret_db *db = NULL;
    caret_session *s;
    int rc = caret_open(name, &o, &db);

    if (rc == CARET_OK) {
        OK(caret_session_open(db, &s));
        *digest = digest_of(s);
        caret_session_close(s);
        rc = caret_check(db, report, sizeof report);
    }
    if (rc != CARET_OK)
        snprintf(wrong, 1024, "%s: %s", caret_message(), report);
    if (db != NULL)
        OK(caret_close(db));
    return rc == CARET_OK;
}

/* It must be a database, whole, with one of these digests. */
static void expect_digest(const char *name, const uint64_t *digests, uint64_t n, const char *what)
{
    char wrong[1024];
    uint64_t found;

    if (!digest_of_file(name, &found, wrong))
        complain("%s: %s", what, wrong);
    for (uint64_t i = 0; i < n; i++)
        if (digests[i] == found)
            return;
    complain("%s has the state of no moment that it may be of", what);
}

static void check_backup(uint64_t n, const struct player *p)
{
    uint64_t digests[BACKUPS_MAX], count = 0, last = p->durable[BACKUPS];
    char name[200], what[60];

    snprintf(what, sizeof what, "backup %" PRIu64, n);
    if (access(backup_name(state_path, n, name), F_OK) != 0) {
        if (n <= last)
            complain("%s was acknowledged, and is not there", what);
        return;
    }
    if (n % 2 != 0) {
        digests[count++] = world->digest[world->backup_of[n]];
    } else { /* the last one of this name, or one that was in the making */
        for (uint64_t i = last > 2 ? last & ~UINT64_C(1) : 2; i <= p->begun[BACKUPS]; i += 2)
            digests[count++] = world->digest[world->backup_of[i]];
    }
    expect_digest(name, digests, count, what);
}

/* The newest three of them. */
static void check_backups(const struct player *p)
{
    uint64_t n = p->begun[BACKUPS];
    char name[200];

    for (uint64_t i = n > 2 ? n - 2 : 1; i <= n; i++)
        check_backup(i, p);
    for (uint64_t i = 1; i <= p->begun[RESTORES]; i++) {
        snprintf(name, sizeof name, "%s-again%" PRIu64, state_path, i);
        if (access(name, F_OK) != 0 && i <= p->durable[RESTORES])
            complain("what was restored, and acknowledged, is not there");
        if (access(name, F_OK) == 0 && i <= world->restores)
            expect_digest(name, &world->restored[i], 1, "what was restored");
    }
}

/* From the newest acknowledged backup that has a name of its own, with the archive: one of these digests. */
static void check_archive(const struct player *p, const uint64_t *digests, uint64_t n, const char *what)
{
    uint64_t last = p->durable[BACKUPS] - (p->durable[BACKUPS] % 2 == 0);
    caret_restore_options o = {.size = sizeof o, .archive = state_dir, .shm_dir = state_shm};
    char from[200], to[200];

    if (p->durable[BACKUPS] == 0)
        return;
    snprintf(to, sizeof to, "%s-restored", state_path);
    if (caret_restore(backup_name(state_path, last, from), to, &o, NULL) != CARET_OK)
        complain("%s: %s", what, caret_message());
    expect_digest(to, digests, n, what);
    unlink(to);
}

/* As it lies there, before anybody opens the database. */
static void look_at_archive(const struct player *p)
{
    uint64_t low = p->durable[CHECKPOINTS], of_backup;

    check_backups(p);
    if (p->durable[BACKUPS] == 0)
        return;
    of_backup = world->backup_of[p->durable[BACKUPS]];
    low = low > of_backup ? low : of_backup;
    check_archive(p, world->digest + low, p->begun[0] - low + 1, "a backup and the archive");
}

/* The files of a state are there: open and look. */
static void check_state(const struct player *p, bool nested)
{
    caret_options o = {.size = sizeof o, .shm_dir = state_shm, .no_thread = 1, .sync = CARET_SYNC_COMMIT};
    bool archived = world->archived && !nested;
    uint64_t end = 0;
    char report[1024];
    caret_db *db = NULL;
    caret_session *s;
    caret_node_buf n;

    patience(20);
    if (!nested && p->next % 3 == 0)
        look_at_state(p);
    if (archived)
        look_at_archive(p);
    if (world->archived)
        o.archive = state_dir;
    if (caret_open(state_path, &o, &db) != CARET_OK)
        complain("cannot be opened: %s", caret_message());
    if (nested) /* the recovery is recorded; what follows is not */
        atomic_store(&tape->recording, false);
    OK(caret_session_open(db, &s));
    world->check(s, p);
    if (caret_check(db, report, sizeof report) != CARET_OK)
        complain("check: %s: %s", caret_message(), report);
    node_of(&n, 77777);
    for (unsigned i = 0; i < 10; i++)
        if (caret_set(s, &n.node, text, text_of(i, 300, text)) != CARET_OK)
            complain("writing after it: %s", caret_message());
    if (archived)
        end = digest_of(s);
    caret_session_close(s);
    if (caret_close(db) != CARET_OK)
        complain("closing: %s", caret_message());
    for (unsigned i = 1; i < NAMES; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s", state_path, names->name[i]);
        if (access(name, F_OK) == 0 && i != 1)
            complain("%s is left after closing", names->name[i]);
    }
    if (archived)
        check_archive(p, &end, 1, "after recovery a backup and the archive");
    _exit(0);
}

static bool state_is_good(const struct image *m, const struct player *p, struct tape *recovery)
{
    int status;

    image_put(m, state_path);
    world->error[0] = '\0';
    if (recovery != NULL)
        tape_record(recovery, state_dir, state_path);
    pid_t pid = fork();
    if (pid == 0)
        check_state(p, recovery != NULL);
    waitpid(pid, &status, 0);
    if (recovery != NULL)
        tape_stop();
    if (WIFSIGNALED(status)) {
        char command[256]; /* its segment is left */
        snprintf(world->error, sizeof world->error, "died of signal %d", WTERMSIG(status));
        snprintf(command, sizeof command, "rm -f %s/*", state_shm);
        return system(command) != 0;
    }
    return WEXITSTATUS(status) == 0;
}

static void report_bad(const struct player *p, enum loss loss, uint32_t one, const char *where)
{
    const struct op *op = &p->t->ops[p->next - 1];

    print_error("%spower lost after operation %u (%s %s, file %u, %" PRIu64 "+%" PRIu64
                "), kept: %s %u of %u: %s\n",
                where, p->next - 1, op_names[op->kind], names->name[op->name], op->file, op->off, op->len,
                loss_names[loss], one, p->npending, world->error);
    for (uint32_t i = 0; i < p->npending && i < 30; i++) {
        op = &p->t->ops[p->pending[i]];
        print_error("    pending %u: operation %u: %s %s->%s, file %u, %" PRIu64 "+%" PRIu64 "\n", i,
                    p->pending[i], op_names[op->kind], names->name[op->name], names->name[op->to], op->file,
                    op->off, op->len);
    }
}

/* ------------------------------------------------------------------ choosing */

struct plan {
    struct caret__rand r;
    uint64_t of, per; /* of all states, take `of` out of `per` */
    unsigned bad;
    struct tape *recovery;
};

static bool taken(struct plan *plan)
{
    return caret__rand_next(&plan->r) % plan->per < plan->of;
}

static uint64_t play(struct plan *plan, const struct tape *t, const struct image *base,
                     const struct player *outer);

/* The recovery of a state was recorded: lose the power in it again. */
static void play_recovery(struct plan *plan, const struct image *base, const struct player *outer)
{
    struct plan inner = *plan;

    inner.recovery = NULL;
    inner.of = 1;
    inner.per = world->grows ? 10000 : 15; /* it has more pages */
    play(&inner, plan->recovery, base, outer);
    plan->bad = inner.bad;
    plan->r = inner.r;
}

static void one_state(struct plan *plan, const struct player *p, enum loss loss, uint32_t one)
{
    static struct image state;
    bool nested = plan->recovery != NULL && caret__rand_below(&plan->r, 25) == 0;

    player_state(p, &state, loss, one, &plan->r);
    if (!state_is_good(&state, p, nested ? plan->recovery : NULL)) {
        if (plan->bad++ < 5)
            report_bad(p, loss, one, plan->recovery == NULL ? "in a recovery: " : "");
    } else if (nested) {
        play_recovery(plan, &state, p);
    }
    world->states[loss]++;
    world->nested += plan->recovery == NULL;
}

/* States at this moment; one of each kind, and those with a choice for each choice. */
static uint64_t states_now(struct plan *plan, const struct player *p)
{
    uint64_t n = 0;

    for (unsigned loss = 0; loss < LOSSES; loss++) {
        uint32_t choices = loss == LOSS_ALL_BUT_ONE || loss == LOSS_ONLY_ONE ? p->npending : 1;
        for (uint32_t one = 0; one < choices; one++, n++)
            if (plan->bad < 20 && taken(plan))
                one_state(plan, p, loss, one);
    }
    return n;
}

static uint64_t play(struct plan *plan, const struct tape *t, const struct image *base,
                     const struct player *outer)
{
    struct player *p = malloc(sizeof *p);
    uint64_t n = 0;

    player_begin(p, t, base);
    if (outer != NULL) {
        memcpy(p->begun, outer->begun, sizeof p->begun);
        memcpy(p->durable, outer->durable, sizeof p->durable);
    }
    while (p->next < t->nops)
        if (player_step(p))
            n += states_now(plan, p);
    image_clear(&p->disk);
    free(p);
    return n;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *text_of_it = getenv(name);
    return text_of_it != NULL ? strtoull(text_of_it, NULL, 10) : otherwise;
}

/* How often the writing of the log went from its end to its beginning. */
static unsigned rounds_of_log(const struct tape *t)
{
    uint64_t last[TAPE_FILES] = {0};
    unsigned n = 0;

    for (uint32_t i = 0; i < t->nops; i++) {
        const struct op *op = &t->ops[i];
        if (op->kind == OP_WRITE && op->off == 0 && last[op->file] > CARET__LOG_DEFAULT / 2)
            n++;
        if (op->kind == OP_WRITE)
            last[op->file] = op->off;
    }
    return n;
}

/* States that are tried in a normal run; each is a fork, which takes sanitizers long. */
#if defined(__SANITIZE_ADDRESS__)
#define STATES (CARET__PAGE_SIZE < 1024 ? 120u : 20u)
#else
#define STATES (CARET__PAGE_SIZE < 1024 ? 600u : 90u)
#endif

/* Record a workload and try about as many states as were asked for. */
static void lose_power(unsigned share)
{
    static const struct image nothing;
    uint64_t wanted = from_env("CARET_POWER_STATES", STATES) * share / 100;
    struct tape *t = tape_new();
    struct plan plan = {.of = 0, .per = 1, .recovery = tape_new()};
    uint64_t tried = 0;

    world->seed = from_env("CARET_SEED", 1);
    world->nodes = world->grows ? 3000 : 400;
    world->len = CARET__PAGE_SIZE / 5;
    record(t);
    caret__rand_seed(&plan.r, world->seed);
    plan.per = play(&plan, t, &nothing, NULL);
    plan.of = wanted * 2 / 3;
    play(&plan, t, &nothing, NULL);
    for (unsigned i = 0; i < LOSSES; i++)
        tried += world->states[i];
    print_message("%u commits, %u operations, the log went round %u times; of %" PRIu64 " states %" PRIu64
                  " tried, and %" PRIu64 " within recoveries:",
                  world->steps, t->nops, rounds_of_log(t), plan.per, tried - world->nested, world->nested);
    for (unsigned i = 0; i < LOSSES; i++)
        print_message(" %s %" PRIu64, loss_names[i], world->states[i]);
    print_message("; seed %" PRIu64 "\n", world->seed);
    assert_true(!world->stays_open || world->grows || CARET__PAGE_SIZE > 1024 || rounds_of_log(t) > 1);
    assert_true(!world->grows || CARET__PAGE_SIZE > 1024 ||
                (world->grew != 0 && world->grew < world->steps / 2));
    tape_delete(plan.recovery);
    tape_delete(t);
    if (plan.bad > 0)
        fail_msg("%u states were not as promised", plan.bad);
}

/* ------------------------------------------------------------------ a test */

static int setup_power(void **state)
{
    if (setup(state) != 0)
        return -1;
    world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    /* in memory if there is enough: its speed matters, not its safety */
    snprintf(state_dir, sizeof state_dir, "%s-state", shm_room() >= 256 ? shm_dir : dir);
    snprintf(state_path, sizeof state_path, "%s/db.caret", state_dir);
    snprintf(state_shm, sizeof state_shm, "%s-shm", shm_dir);
    return mkdir(state_dir, 0700) == 0 && mkdir(state_shm, 0700) == 0 ? 0 : -1;
}

static int teardown_power(void **state)
{
    char command[512];

    munmap(world, sizeof *world);
    snprintf(command, sizeof command, "rm -rf %s %s", state_dir, state_shm);
    return system(command) == 0 ? teardown(state) : -1;
}

#define POWER_TEST(name) cmocka_unit_test_setup_teardown(name, setup_power, teardown_power)

#endif
