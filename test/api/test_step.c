/*
 * A writer is killed at each single instruction between taking the writer mutex and letting it go (ptrace steps it
 * there), and so is the one who repairs after it.  Whoever comes next finds the state before the commit if log_head had
 * not moved, else the one after it, whole; caret_check is clean; writing goes on.  The one who comes next is attached
 * all the time (it repairs), or nobody was (the next opening recovers).
 *
 * A first run of each is stepped all the way, and the places of its instructions noted.  The others run to the last
 * place from where it is not far, through a breakpoint, and are stepped from there.
 *
 * CARET_STEP=n kills at every n-th instruction, CARET_STEP=1 at all of them; else some in each commit, and none under a
 * sanitizer, which looks for other mistakes, and whose forks and steps take minutes.  CARET_SEED: which ones.  Where
 * ptrace is refused the tests are skipped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "disk/record.h"
#include "log/writer.h"
#include "stopped.h"

#define SOME     12u /* kills in each commit, unless CARET_STEP says otherwise */
#define BEHIND   8u  /* instructions after the unlocking */
#define NEVER    UINT32_MAX
#define TID_MASK 0x3fffffffu

static char seg_dir[100], db_path[100];
static unsigned kills, wanted; /* wanted: CARET_STEP */
static uint64_t seed = 1;

struct scenario {
    const char *name;
    unsigned op, warm; /* as in stopped.h, but for those below */
    bool quick;        /* also where every instruction is many, by fault points and assertions */
};
enum { SPLIT = 100, KILL_SOME, MANY, SETTLE };

static const struct scenario scenarios[] = {
    {"a set in place", 0, 1, true},
    {"a longer value in place", 1, 1, false},
    {"a first touch after a checkpoint", 0, 0, true},
    {"a set that splits", SPLIT, 1, true},
    {"a kill of a subtree", KILL_SOME, 1, true},
    {"a kill of a variable", 7, 0, false},
    {"a kill of a range", 19, 1, true},
    {"kills of ranges and a set", 18, 1, false},
    {"a small transaction", 11, 1, true},
    {"some sets in place", 17, 1, true},
    {"a small transaction after a checkpoint", 11, 0, false},
    {"many sets, most of them in place", MANY, 1, false},
};
#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

/* --------------------------------------------------------------- the segment, seen from outside */

/* Nobody is attached by this: the head of the segment as it lies there. */
static struct caret__shared *look_at_segment(void)
{
    struct caret__shared *sh = MAP_FAILED;
    DIR *dir = opendir(seg_dir);
    const struct dirent *file;

    assert_non_null(dir);
    while ((file = readdir(dir)) != NULL) {
        if (file->d_name[0] == '.')
            continue;
        int fd = openat(dirfd(dir), file->d_name, O_RDONLY);
        assert_true(fd >= 0);
        assert_ptr_equal(sh, MAP_FAILED); /* one segment */
        sh = mmap(NULL, sizeof *sh, PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
    }
    closedir(dir);
    assert_ptr_not_equal(sh, MAP_FAILED);
    return sh;
}

/* Does this process hold the writer mutex?  glibc keeps its thread in the first word. */
static bool holds(struct caret__shared *sh, pid_t pid)
{
    uint32_t word =
        __atomic_load_n((const uint32_t *)(const void *)caret__writer_mutex(sh), __ATOMIC_RELAXED);
    return (word & TID_MASK) == (uint32_t)pid;
}

/* ---------------------------------------------------------------------- the stepped process */

/* Nearly a hundred sets in place, and two of leaves that are split. */
static int many(caret_session *session, void *arg)
{
    (void)session, (void)arg;
    for (int i = 0; i < KEYS; i++) {
        if (i != 40)
            DO(put("^t", i, -1, 'm', 20 + (size_t)i % 30));
        if (i == 27 || i == 47)
            DO(put("^t", 40, i == 27 ? 23 : 25, 'm', CARET__PAGE_SIZE / 5));
    }
    for (int i = 0; i < KEYS; i++)
        if (i % 10 < 5)
            DO(put("^k", i / 10, i, 'm', 30));
    DO(put("^pair", 1, -1, 'm', 5)); /* what comes in its leaf now may be what has got shorter */
    return put("^pair", 1, -1, 'm', 9);
}

static void run_scenario(unsigned op)
{
    caret_node_buf n;

    switch (op) {
    case SPLIT: must(put("^t", 40, 1, 'z', CARET__PAGE_SIZE / 5), "split"); break;
    case KILL_SOME: must(caret_kill(s, node(&n, "^k", 3, -1)), "kill"); break;
    case MANY: must(caret_transaction(s, many, NULL, 0), "many"); break;
    case SETTLE:
        must(caret__writer_lock(s->e), "repair");
        caret__writer_unlock(s->e);
        break;
    default: must(run_op(op), "commit");
    }
}

/* Leaves of nearly the same fill in both page sizes, so that one more entry splits one. */
static void fill_up(void)
{
    for (int i = 0; i < 12; i++)
        must(put("^t", 40, 10 + 2 * i, 'f', CARET__PAGE_SIZE / 5), "fill");
}

static void stepped(const struct scenario *sc)
{
    uint64_t sum;

    open_both();
    if (sc->op != SETTLE) {
        reset();
        if (sc->op == SPLIT || sc->op == MANY)
            fill_up();
        if (!sc->warm)
            must(caret_checkpoint(db), "checkpoint");
    }
    must(read_all(0, &sum), "read"); /* pages of the file are checked by their first reader */
    atomic_store(&shared->step, READY);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(77);
    raise(SIGSTOP);
    run_scenario(sc->op);
    atomic_store(&shared->step, DONE);
    raise(SIGSTOP);
}

static pid_t start_stepped(const struct scenario *sc)
{
    int status;

    fflush(NULL);
    atomic_store(&shared->step, IDLE);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stepped(sc);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: ptrace is refused here\n");
        skip();
    }
    if (!WIFSTOPPED(status))
        fail_msg("%s: a process ended: %x", context, (unsigned)status);
    return pid;
}

/* One instruction; false: it has done all. */
static bool step(pid_t pid)
{
    int status;

    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
        fail_msg("%s: no single step: %s", context, strerror(errno));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        fail_msg("%s: a process ended: %x", context, (unsigned)status);
    return atomic_load(&shared->step) != DONE;
}

/* The places of the instructions of one run; the writer mutex was held at those from lo to hi. */
#define PLACES (4u << 20)
static struct trace {
    uintptr_t place[PLACES];
    /* the one up to here from which stepping is shortest, as a breakpoint leads there */
    uint32_t anchor[PLACES];
    uint32_t pass[PLACES]; /* the how-manieth of its place each is */
    unsigned n, lo, hi;
} * trace;

#ifdef __x86_64__
static uintptr_t place_of(pid_t pid)
{
    return (uintptr_t)ptrace(PTRACE_PEEKUSER, pid, (void *)offsetof(struct user, regs.rip), NULL);
}

static void set_text(pid_t pid, uintptr_t at, long word)
{
    if (ptrace(PTRACE_POKETEXT, pid, (void *)at, (void *)word) != 0) /* NOLINT: as ptrace wants it */
        fail_msg("%s: no breakpoint: %s", context, strerror(errno));
}

/* Run to the next pass of a place; false: it went another way, and has ended. */
static bool run_to_next(pid_t pid, uintptr_t at)
{
    long text = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
    int status;

    set_text(pid, at, (text & ~0xffL) | 0xcc);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        fail_msg("%s: a process ended: %x", context, (unsigned)status);
    if (WSTOPSIG(status) != SIGTRAP)
        return false;
    set_text(pid, at, text);
    ptrace(PTRACE_POKEUSER, pid, (void *)offsetof(struct user, regs.rip), (void *)at);
    return true;
}

static bool run_to(pid_t pid, uintptr_t at, uint32_t pass)
{
    bool reached = run_to_next(pid, at);

    while (reached && --pass > 0)
        reached = step(pid) && run_to_next(pid, at);
    return reached;
}
#else /* step all the way */
static uintptr_t place_of(pid_t pid)
{
    (void)pid;
    return 0;
}
static bool run_to(pid_t pid, uintptr_t at, uint32_t pass)
{
    (void)pid, (void)at, (void)pass;
    return true;
}
#endif

static struct trace *new_trace(void)
{
    struct trace *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(t, MAP_FAILED);
    return t;
}

/* How often each place was passed before (a table of them, by hashing), and from where to step: running through a
 * breakpoint costs as much as some steps. */
#define PASS_COST 3u
static void find_anchors(void)
{
    size_t size = 1;
    while (size < 2u * trace->n)
        size *= 2;
    struct seen {
        uintptr_t place;
        uint32_t passes;
    } *seen = calloc(size, sizeof *seen);

    assert_non_null(seen);
    for (uint32_t i = 0, cost = 0; i < trace->n; i++) {
        size_t at = (trace->place[i] * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & (size - 1);
        while (seen[at].place != 0 && seen[at].place != trace->place[i])
            at = (at + 1) & (size - 1);
        seen[at].place = trace->place[i];
        trace->pass[i] = ++seen[at].passes;
        if (i == 0 || PASS_COST * trace->pass[i] <= cost + 1) {
            trace->anchor[i] = i;
            cost = PASS_COST * trace->pass[i];
        } else {
            trace->anchor[i] = trace->anchor[i - 1];
            cost++;
        }
    }
    free(seen);
}

/* What one run met. */
struct stop {
    bool reached;   /* the instruction where it was to be killed */
    bool held;      /* the mutex there */
    bool committed; /* log_head had moved by then */
    bool half;      /* but not log_applied */
    uint64_t head;  /* log_head at its start */
};

static void kill_stepped(pid_t pid)
{
    int status;

    kill(pid, SIGKILL);
    do
        assert_int_equal(waitpid(pid, &status, 0), pid);
    while (WIFSTOPPED(status)); /* some that were on the way */
}

/* Step all the way and take notes. */
static void take_trace(pid_t pid, struct caret__shared *sh)
{
    bool was = false;

    trace->n = trace->lo = trace->hi = 0;
    do {
        assert_true(trace->n < PLACES);
        bool is = holds(sh, pid);
        if (is && trace->lo == 0)
            trace->lo = trace->n;
        if (was && !is)
            trace->hi = trace->n;
        was = is;
        trace->place[trace->n++] = place_of(pid);
    } while (step(pid));
    assert_true(trace->lo > 0 && trace->hi > trace->lo + 50 && trace->hi < trace->n);
    find_anchors();
}

/* To instruction nth; NEVER: step to the end and note the way. */
static bool go_to(pid_t pid, struct caret__shared *sh, unsigned nth)
{
    if (nth == NEVER) {
        take_trace(pid, sh);
        return false;
    }
    unsigned i = trace->anchor[nth];
    bool reached = i == 0 || run_to(pid, trace->place[i], trace->pass[i]);
    for (; reached && i < nth; i++)
        reached = step(pid);
    return reached;
}

/* Bring it there, and kill it. */
static struct stop step_started(pid_t pid, unsigned nth)
{
    struct caret__shared *sh = look_at_segment();
    struct stop r = {.head = atomic_load(&sh->log_head)};

    r.reached = go_to(pid, sh, nth);
    r.held = holds(sh, pid);
    r.committed = atomic_load(&sh->log_head) != r.head;
    r.half = atomic_load(&sh->log_head) != atomic_load(&sh->log_applied);
    kill_stepped(pid);
    munmap(sh, sizeof *sh);
    return r;
}

static struct stop step_and_kill(const struct scenario *sc, unsigned nth)
{
    return step_started(start_stepped(sc), nth);
}

/* -------------------------------------------------------------------------- the next process */

static uint64_t read_state(void)
{
    uint64_t sum, again;

    must(read_all(0, &sum), "read");
    must(read_all(4, &again), "read by handles");
    must(read_all(3, &again), "read backwards");
    if (sum != again)
        fail_msg("%s: two ways of reading differ", context);
    return sum;
}

static void go_on_working(void)
{
    char report[1000];

    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s: %s", context, caret_message(), report);
    must(put("^z", 1, -1, 'w', 10), "writing on");
}

/* The states before and after it, and the way. */
static void measure(const struct scenario *sc, uint64_t *pre, uint64_t *post)
{
    snprintf(context, sizeof context, "%s, not killed", sc->name);
    patience(PATIENCE);
    open_both();
    kill_stepped(start_stepped(sc));
    go_on_working();
    *pre = read_state();
    uint32_t pages = atomic_load(&s->e->sh->ts.npages) - s->e->sh->ts.free_pages;
    struct stop r = step_and_kill(sc, NEVER);
    assert_true(r.committed && !r.half && !r.held);
    *post = read_state();
    assert_true(*pre != *post);
    if (sc->op == SPLIT || sc->op == MANY)
        assert_true(atomic_load(&s->e->sh->ts.npages) - s->e->sh->ts.free_pages > pages);
    close_both();
}

/* Kills are at one instruction of so many. */
static unsigned stride(void)
{
    return wanted != 0 ? wanted : 1 + (trace->hi - trace->lo) / SOME;
}

struct tally {
    unsigned kills, half, committed, missed;
};

static void note(struct tally *t, const struct stop *r)
{
    if (!r->reached) {
        t->missed++;
        return;
    }
    t->kills++;
    t->half += r->half;
    t->committed += r->committed && !r->half;
    kills++;
}

static void print_tally(const char *name, const char *how, const struct tally *t)
{
    print_message("%s, %s: %u instructions, %u kills (%u before the commit point, %u in half a commit)\n",
                  name, how, trace->hi - trace->lo, t->kills, t->kills - t->half - t->committed, t->half);
    assert_true(t->kills >= 4 * t->missed); /* another way was taken: a signal, a fault */
    assert_true(wanted > 50 || (t->kills > 8 && t->half > 0));
}

/* The records from there on continue each other: a recovery would go through. */
static void check_chain(uint64_t from)
{
    uint64_t head = atomic_load(&s->e->sh->log_head), seed_of;

    while (from < head) {
        memcpy(&seed_of, caret__ring_at(s->e, from - 8), 8);
        uint32_t size = caret__record_verify(seed_of, caret__ring_at(s->e, from), head - from);
        if (size == 0)
            fail_msg("%s: the log is broken at %llu of %llu", context, (unsigned long long)from,
                     (unsigned long long)head);
        from += size;
    }
}

/* A reader may still find the state before: the commit of the dead is visible at the latest when somebody writes. */
static void expect_state(const struct stop *r, bool opened, uint64_t pre, uint64_t post)
{
    struct look l = {0};

    must(caret_transaction(s, look, &l, 0), "read in a transaction");
    if (l.sum != pre && (l.sum != post || !r->committed))
        fail_msg("%s: %s", context,
                 l.sum == post ? "visible before its commit point" : "half a commit is visible");
    go_on_working();
    if (!opened) /* else the log is a new one */
        check_chain(r->head);
    uint64_t sum = read_state();
    if (sum != (r->committed ? post : pre))
        fail_msg("%s: killed %s its commit point: found %s", context, r->committed ? "after" : "before",
                 sum == pre    ? "the state before"
                 : sum == post ? "the state after"
                               : "neither the state before nor the one after");
}

static void kill_at(const struct scenario *sc, bool attached, unsigned k, const uint64_t state[2],
                    struct tally *t)
{
    patience(PATIENCE);
    snprintf(context, sizeof context, "%s, %s, instruction %u from %u to %u", sc->name,
             attached ? "attached" : "alone", k, trace->lo, trace->hi);
    struct stop r = step_and_kill(sc, k);
    if (!attached)
        open_both();
    expect_state(&r, !attached, state[0], state[1]);
    if (!attached)
        close_both();
    note(t, &r);
}

/* attached: this process all the time; else it opens after the death. */
static void kill_in(const struct scenario *sc, bool attached)
{
    struct tally t = {0};
    uint64_t state[2];

    measure(sc, &state[0], &state[1]);
    if (attached)
        open_both();
    for (unsigned k = trace->lo + (unsigned)(seed % stride()); k < trace->hi + BEHIND; k += stride())
        kill_at(sc, attached, k, state, &t);
    if (attached)
        close_both();
    print_tally(sc->name, attached ? "repaired" : "recovered", &t);
}

static bool quick(void)
{
#ifdef CARET_FAULTS
    return wanted == 0;
#else
    return false;
#endif
}

static void not_when_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
    if (wanted == 0) {
        print_message("skipped: under a sanitizer only with CARET_STEP (release and small have it)\n");
        skip();
    }
#endif
}

static void a_kill_at_any_instruction_is_repaired(void **state)
{
    (void)state;
    not_when_sanitized();
    for (unsigned i = 0; i < SCENARIOS; i++)
        if (!quick() || scenarios[i].quick)
            kill_in(&scenarios[i], true);
}

static void a_kill_at_any_instruction_is_recovered(void **state)
{
    (void)state;
    not_when_sanitized();
    for (unsigned i = 0; i < SCENARIOS; i++)
        if (wanted == 0 && scenarios[i].op == MANY)
            print_message("%s: recovered with CARET_STEP only, as it takes long\n", scenarios[i].name);
        else if (!quick() || i == 3)
            kill_in(&scenarios[i], false);
}

static const struct scenario settle = {"repair", SETTLE, 1, true};

/* How far beside an instruction the n-th try is: a little first, then over all of the critical section. */
static unsigned beside(unsigned n)
{
    unsigned far = (n + 1) / 2;

    return far < SOME / 2 ? far : (far - SOME / 2 + 1) * ((trace->hi - trace->lo) / SOME);
}

/* One dies at instruction `at`, stepped by its own trace; the repairer is attached before, as opening repairs.  If it
 * took another way, and was not in half a commit there, at others: after and before, by turns. */
static pid_t die_at(const struct scenario *sc, unsigned at)
{
    for (unsigned tries = 0; tries < 3 * SOME; tries++) {
        unsigned far = beside(tries);
        pid_t repairer = start_stepped(&settle);
        if (step_and_kill(sc, tries % 2 || far > at ? at + far : at - far).half)
            return repairer;
        kill_stepped(repairer);
        go_on_working();
    }
    fail_msg("%s: not in half a commit", context);
    return -1;
}

/* The part-th eighth of its way in the critical section lies in half a commit, or what follows does. */
static unsigned middle(const struct scenario *sc, unsigned part)
{
    for (unsigned k = trace->lo + (trace->hi - trace->lo) * part / 8; k < trace->hi;
         k += 1 + (trace->hi - trace->lo) / 64) {
        struct stop r = step_and_kill(sc, k);
        go_on_working();
        if (r.reached && r.half)
            return k;
    }
    fail_msg("%s: no instruction in half a commit", context);
    return 0;
}

/* The repairer of a commit that died at instruction `at` dies at its instruction k; this process repairs. */
static struct stop kill_repairer_at(const struct scenario *sc, unsigned at, struct trace *repair, unsigned k,
                                    const uint64_t state[2])
{
    struct trace *commit = trace;

    patience(PATIENCE);
    snprintf(context, sizeof context, "%s, killed at %u, its repair at %u", sc->name, at, k);
    pid_t repairer = die_at(sc, at);
    trace = repair;
    struct stop r = step_started(repairer, k);
    trace = commit;
    r.committed = true; /* by the one before */
    r.head = atomic_load(&s->e->sh->log_applied) < r.head ? atomic_load(&s->e->sh->log_applied) : r.head;
    expect_state(&r, false, state[0], state[1]);
    return r;
}

/* The way of that repair, as it is this time. */
static void trace_repair(const struct scenario *sc, unsigned at, struct trace *repair,
                         const uint64_t state[2])
{
    struct trace *commit = trace;

    snprintf(context, sizeof context, "%s, killed at %u, repaired", sc->name, at);
    pid_t repairer = die_at(sc, at);
    trace = repair;
    struct stop r = step_started(repairer, NEVER);
    trace = commit;
    r.committed = true;
    r.head = atomic_load(&s->e->sh->log_applied);
    expect_state(&r, false, state[0], state[1]);
}

/* A repair of a kill has more than one way: page numbers come and go, so what is to be looked for changes.  What is not
 * reached on one is tried on the way of today, as far from its beginning. */
static void kill_repairer(const struct scenario *sc, unsigned at, const uint64_t state[2])
{
    struct trace *commit = trace, *repair = new_trace();
    struct tally t = {0};

    trace_repair(sc, at, repair, state);
    unsigned times = wanted != 0 ? 1 + (repair->hi - repair->lo) / wanted : SOME;
    for (unsigned i = 0; i <= times; i++) {
        struct stop r = {0};
        for (unsigned tries = 0; tries < 3 && !r.reached; tries++) {
            if (tries > 0)
                trace_repair(sc, at, repair, state);
            unsigned way = repair->hi + BEHIND - repair->lo - 1;
            r = kill_repairer_at(sc, at, repair, repair->lo + (unsigned)((uint64_t)way * i / times), state);
        }
        note(&t, &r);
    }
    trace = repair;
    print_tally(sc->name, "its repair killed", &t);
    trace = commit;
    munmap(repair, sizeof *repair);
}

static void a_repair_is_repaired(void **state)
{
    static const unsigned which[] = {0, 3, 5};

    (void)state;
    not_when_sanitized();
    for (unsigned i = 0; i < (quick() ? 1 : sizeof which / sizeof which[0]); i++) {
        const struct scenario *sc = &scenarios[which[i]];
        uint64_t two[2];
        measure(sc, &two[0], &two[1]);
        open_both();
        for (unsigned part = 3; part < 8; part += 3)
            kill_repairer(sc, middle(sc, part), two);
        close_both();
    }
}

/* One that does not come back dies with us; glibc's long copies are done without instructions that trap at
 * each byte. */
static void without_repeats(char **argv)
{
    if (getenv("GLIBC_TUNABLES") != NULL)
        return;
    setenv("GLIBC_TUNABLES",
           "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000", 1);
    execv("/proc/self/exe", argv);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_instruction_is_repaired),
        cmocka_unit_test(a_kill_at_any_instruction_is_recovered),
        cmocka_unit_test(a_repair_is_repaired),
    };
    /* The data file lies beside it: nothing waits for a disk. */
    snprintf(seg_dir, sizeof seg_dir, "%s", shm_dir);
    snprintf(db_path, sizeof db_path, "%s.caret", shm_dir);
    make_handles();
    wanted = getenv("CARET_STEP") != NULL ? (unsigned)strtoul(getenv("CARET_STEP"), NULL, 10) : 0;
    seed = getenv("CARET_SEED") != NULL ? strtoull(getenv("CARET_SEED"), NULL, 10) : 1;
    memcpy(path, db_path, sizeof path);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("%u kills\n", kills);
    return rc;
}

int main(int argc, char **argv)
{
    (void)argc;
    without_repeats(argv);
    trace = new_trace();
    return with_database(run);
}
