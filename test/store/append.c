/*
 * append.c - appends to lists, by many processes, whatever happens to the database meanwhile; then: is all there?
 *
 *     append DATABASE PROCESSES COUNT SECONDS
 *
 * Each process does one transaction after the other, until COUNT are acknowledged or SECONDS are over.  A transaction
 * appends its id to two of the lists: ^list(k) is the length of list k, ^list(k,i) the i-th id.  What came of it is
 * noted in memory that all share.  In the end the lists are read, and it is told how many ids are
 *
 *     lost     acknowledged, but not in both lists
 *     twice    in a list more than once, or there although it was said that nothing was done, or in one list only
 *     cycles   on or after a cycle of: appended after, in either list; began after the other had been acknowledged
 *
 * and, without a judgement, how many had an unknown outcome, and the longest time without any acknowledgement.
 * SIGTERM: it is enough, before that.  SIGUSR1: one of the processes is killed, and another goes on in its place; what
 * it was at has an unknown outcome.  SIGUSR2: it is said how long from now the first transaction that begins after now
 * takes to be acknowledged, "in use after N ms".
 * Exit status: 0 if lost, twice and cycles are 0, else 1; 2 if something else is wrong.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rand.h"
#include "caret.h"
#include "support/graph.h"

enum { PROCESSES = 64, EACH = 1 << 17, LISTS = 8 };
enum { UNUSED, BEGUN, DONE, NOT_DONE }; /* BEGUN, when all is over: nobody knows */

struct txn {
    _Atomic uint32_t state;
    uint32_t list[2];
    uint64_t from, to; /* nanoseconds */
};

static struct shared {
    _Atomic uint64_t done, restarts, worst, errors;
    _Atomic uint64_t asked; /* SIGUSR2 came then, and there is no answer yet; 0: there is */
    _Atomic bool enough;
    _Atomic uint32_t next[PROCESSES];
    struct txn txns[PROCESSES][EACH];
} * all;

static const char *path;
static uint32_t nprocesses;
static uint64_t wanted, until;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 1, 2, ... of all processes; 0 is none. */
static uint32_t id_of(const struct txn *t)
{
    return (uint32_t)(t - all->txns[0]) + 1;
}

static struct txn *txn_of(uint32_t id)
{
    return &all->txns[0][id - 1];
}

static void check(int rc, const char *what)
{
    if (rc == CARET_OK)
        return;
    fprintf(stderr, "append: %s: %s\n", what, caret_message());
    exit(2);
}

/* ------------------------------------------------------------------ appending */

static void item(caret_node_buf *n, uint32_t list, uint32_t i)
{
    caret_node_var(&n->node, sizeof *n, "^list", 5);
    caret_node_child_int(&n->node, sizeof *n, &n->node, list);
    if (i != 0)
        caret_node_child_int(&n->node, sizeof *n, &n->node, i);
}

static int get_number(caret_session *s, caret_node *n, uint32_t *number)
{
    caret_slice v;
    char digits[12] = "";
    int rc = caret_get(s, n, &v);

    if (rc == CARET_OK && v.len < sizeof digits)
        memcpy(digits, v.data, v.len);
    *number = (uint32_t)strtoul(digits, NULL, 10);
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int set_number(caret_session *s, caret_node *n, uint32_t number)
{
    char digits[12];
    return caret_set(s, n, digits, (size_t)snprintf(digits, sizeof digits, "%u", number));
}

static int append(caret_session *s, uint32_t list, uint32_t id)
{
    caret_node_buf n;
    uint32_t len = 0;

    item(&n, list, 0);
    int rc = get_number(s, &n.node, &len);
    if (rc == CARET_OK)
        rc = set_number(s, &n.node, len + 1);
    item(&n, list, len + 1);
    return rc == CARET_OK ? set_number(s, &n.node, id) : rc;
}

/* Until it is done, or not to be done: what the last attempt said. */
static int attempt(caret_session *s, struct txn *t)
{
    int rc = caret_begin(s, 0);

    if (rc != CARET_OK)
        return rc;
    for (uint64_t restarts = 0;; restarts++) {
        if (restarts > atomic_load(&all->worst))
            atomic_store(&all->worst, restarts);
        rc = append(s, t->list[0], id_of(t));
        if (rc == CARET_OK)
            rc = append(s, t->list[1], id_of(t));
        if (rc == CARET_OK)
            rc = caret_commit(s);
        if (rc == CARET_RESTART)
            rc = caret_restart(s);
        else
            return rc;
        if (rc != CARET_OK)
            return rc;
        atomic_fetch_add(&all->restarts, 1);
    }
}

/* The answer to SIGUSR2, once. */
static void tell_use(const struct txn *t)
{
    uint64_t asked = atomic_load(&all->asked);

    if (asked != 0 && t->from > asked && atomic_compare_exchange_strong(&all->asked, &asked, 0))
        dprintf(STDOUT_FILENO, "in use after %llu ms\n", (unsigned long long)(t->to - asked) / 1000000);
}

static void run(caret_session *s, struct txn *t, struct caret__rand *r)
{
    t->list[0] = (uint32_t)caret__rand_below(r, LISTS);
    t->list[1] = (t->list[0] + 1 + (uint32_t)caret__rand_below(r, LISTS - 1)) % LISTS;
    t->from = now();
    atomic_store(&t->state, BEGUN);
    int rc = attempt(s, t);
    t->to = now();
    if (rc == CARET_OK) {
        atomic_fetch_add(&all->done, 1);
        tell_use(t);
    } else if (rc != CARET_E_UNKNOWN && atomic_fetch_add(&all->errors, 1) < 3)
        fprintf(stderr, "append: %s\n", caret_message());
    if (rc != CARET_E_UNKNOWN)
        atomic_store(&t->state, rc == CARET_OK ? DONE : NOT_DONE);
    if (caret_txn_level(s) != 0)
        caret_rollback(s);
}

static void work(uint32_t w)
{
    struct caret__rand r = {now() * PROCESSES + w};
    caret_db *db;
    caret_session *s;
    uint32_t n;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    check(caret_open(path, NULL, &db), "open");
    check(caret_session_open(db, &s), "session");
    while (now() < until && atomic_load(&all->done) < wanted && !atomic_load(&all->enough) &&
           (n = atomic_fetch_add(&all->next[w], 1)) < EACH)
        run(s, &all->txns[w][n], &r);
    caret_session_close(s);
    caret_close(db);
    exit(0);
}

/* ------------------------------------------------------------------- checking */

static uint64_t lost, twice, stored, unknown, unknown_done;

/* times[2 * id + 0 or 1]: how often it is in its first and its second list. */
static void read_list(caret_session *s, struct graph *g, uint32_t list, uint8_t *times)
{
    caret_node_buf n;
    uint32_t len = 0, id = 0, before = 0;

    item(&n, list, 0);
    check(get_number(s, &n.node, &len), "length");
    for (uint32_t i = 1; i <= len; i++, before = id) {
        item(&n, list, i);
        check(get_number(s, &n.node, &id), "item");
        bool known = id != 0 && id <= PROCESSES * EACH && atomic_load(&txn_of(id)->state) != UNUSED;
        unsigned which = known && txn_of(id)->list[1] == list;
        if (!known || txn_of(id)->list[which] != list || times[2 * (size_t)id + which]++ != 0)
            twice++;
        if (before != 0 && known)
            graph_edge(g, before, id, "it appended next");
    }
}

static void judge(uint32_t id, const uint8_t *times)
{
    uint32_t state = atomic_load(&txn_of(id)->state), there = (times[0] != 0) + (times[1] != 0);

    if (state == UNUSED)
        return;
    stored += there == 2;
    lost += state == DONE && there != 2;
    twice += (state == NOT_DONE && there != 0) || (state == BEGUN && there == 1);
    unknown += state == BEGUN;
    unknown_done += state == BEGUN && there == 2;
}

/* One that was acknowledged before another began came before it: a chain of moments, one for each end. */
static uint64_t add_time(struct graph *g)
{
    struct graph_moment *m = calloc(4 * (size_t)PROCESSES * EACH, sizeof *m);
    uint32_t n = 0, last = 0;
    uint64_t at = 0, pause = 0;

    if (m == NULL)
        exit(2);
    for (uint32_t id = 1; id <= PROCESSES * EACH; id++)
        if (atomic_load(&txn_of(id)->state) == DONE) {
            m[n++] = (struct graph_moment){txn_of(id)->from, id, false};
            m[n++] = (struct graph_moment){txn_of(id)->to, id, true};
        }
    qsort(m, n, sizeof *m, graph_by_time);
    for (uint32_t i = 0; i < n; i++) {
        if (!m[i].ends) {
            graph_edge(g, last, m[i].id, "it began");
            continue;
        }
        uint32_t moment = g->nodes++;
        graph_edge(g, m[i].id, moment, "it was acknowledged");
        graph_edge(g, last, moment, "time");
        pause = at != 0 && m[i].at - at > pause ? m[i].at - at : pause;
        at = m[i].at;
        last = moment;
    }
    free(m);
    return pause;
}

static int report(void)
{
    struct graph g = {.nodes = PROCESSES * EACH + 1};
    uint8_t *times = calloc(g.nodes, 2);
    caret_db *db;
    caret_session *s;

    if (times == NULL)
        exit(2);
    check(caret_open(path, NULL, &db), "open");
    check(caret_session_open(db, &s), "session");
    for (uint32_t list = 0; list < LISTS; list++)
        read_list(s, &g, list, times);
    for (uint32_t id = 1; id <= PROCESSES * EACH; id++)
        judge(id, times + 2 * (size_t)id);
    uint64_t pause = add_time(&g), cycles = graph_cyclic(&g, PROCESSES * EACH);
    caret_session_close(s);
    caret_close(db);
    graph_free(&g);
    free(times);
    printf("%llu acknowledged, %llu stored: %llu lost, %llu twice, %llu cycles\n",
           (unsigned long long)atomic_load(&all->done), (unsigned long long)stored, (unsigned long long)lost,
           (unsigned long long)twice, (unsigned long long)cycles);
    printf("%llu unknown, %llu of them done; %llu errors; %llu restarts, %llu the worst; "
           "longest pause %llu ms\n",
           (unsigned long long)unknown, (unsigned long long)unknown_done,
           (unsigned long long)atomic_load(&all->errors), (unsigned long long)atomic_load(&all->restarts),
           (unsigned long long)atomic_load(&all->worst), (unsigned long long)pause / 1000000);
    return lost + twice + cycles != 0;
}

/* ----------------------------------------------------------------------- main */

static void empty(void)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;

    check(caret_open(path, NULL, &db), "open");
    check(caret_session_open(db, &s), "session");
    caret_node_var(&n.node, sizeof n, "^list", 5);
    check(caret_kill(s, &n.node), "kill");
    caret_session_close(s);
    caret_close(db);
}

static volatile pid_t pids[PROCESSES]; /* 0: it has ended */
static volatile sig_atomic_t killed;

static void end_all(int sig)
{
    (void)sig;
    atomic_store(&all->enough, true);
}

static void kill_one(int sig)
{
    pid_t pid = pids[(uint32_t)killed % nprocesses];

    (void)sig;
    killed++;
    if (pid != 0)
        kill(pid, SIGKILL);
}

static void ask_use(int sig)
{
    (void)sig;
    atomic_store(&all->asked, now());
}

static void begin(uint32_t w)
{
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGUSR1, SIG_IGN);
        signal(SIGUSR2, SIG_IGN);
        work(w);
    }
    pids[w] = pid;
}

static uint32_t index_of(pid_t pid)
{
    uint32_t w = 0;

    while (w < nprocesses && pids[w] != pid)
        w++;
    return w;
}

/* Until all have ended by themselves. */
static bool work_all(void)
{
    int status, replaced = 0;
    bool good = true;
    pid_t ended;

    for (uint32_t w = 0; w < nprocesses; w++)
        begin(w);
    while ((ended = wait(&status)) > 0) {
        uint32_t w = index_of(ended);
        pids[w] = 0;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && replaced++ < killed)
            begin(w);
        else
            good = good && status == 0;
    }
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("append DATABASE PROCESSES COUNT SECONDS\n", stderr);
        return 2;
    }
    path = argv[1];
    nprocesses = (uint32_t)atoi(argv[2]) % (PROCESSES + 1);
    wanted = strtoull(argv[3], NULL, 10);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return 2;
    empty();
    signal(SIGTERM, end_all);
    signal(SIGUSR1, kill_one);
    signal(SIGUSR2, ask_use);
    puts("ready");
    fflush(NULL);
    until = now() + (uint64_t)(atof(argv[4]) * 1e9);
    bool good = work_all();
    int judgement = report();
    return good ? judgement : 2;
}
