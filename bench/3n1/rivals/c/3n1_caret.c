/*
 * 3n1_caret.c - the 3n+1 job on Caret through caret.h: nodes and locks as in bench/3n1/job.lua.
 *
 * A folder that is an address is opened as it is, and commits there do not wait for the disk either.  --tuned: all
 * that is read for a sequence and kept is one transaction; on a server its writes cost one trip together, and its reads
 * one each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "caret.h"
#include "job.h"

#define SLOT 128 /* bytes of a node ^step(n) and the like */

static caret_db *db;
static caret_session *s;
static union slot {
    caret_node node;
    char bytes[SLOT];
} * steps;                   /* [i]: the node of the i-th number on the way, which knows where it was found */
static unsigned at;          /* steps in use */
static int whole, restarted; /* a transaction for each sequence; this one is to begin again */

static void check(int rc, const char *what)
{
    if (rc < 0)
        job_fail(what, caret_message());
}

static caret_node *named(union slot *slot, const char *name)
{
    check(caret_node_var(&slot->node, SLOT, name, strlen(name)), name);
    return &slot->node;
}

static caret_node *child(union slot *slot, const char *name, int64_t sub)
{
    caret_node *n = named(slot, name);
    check(caret_node_child_int(n, SLOT, n, sub), name);
    return n;
}

/* 0 also after a restart, which ends the sequence. */
static uint64_t number(caret_node *n)
{
    caret_slice v;
    int rc = restarted ? CARET_NONE : caret_get(s, n, &v);
    uint64_t x = 0;
    restarted = restarted || (whole && rc == CARET_RESTART);
    if (!restarted)
        check(rc, "get");
    for (size_t i = 0; rc == CARET_OK && i < v.len; i++)
        x = 10 * x + (uint64_t)(v.data[i] - '0');
    return x;
}

static int set_number(caret_node *n, uint64_t x)
{
    char text[24], *p = text + sizeof text;
    do
        *--p = (char)('0' + x % 10);
    while ((x /= 10) != 0);
    job_updates++;
    return caret_set(s, n, p, (size_t)(text + sizeof text - p));
}

static void store_open(const struct job_options *o, int create)
{
    char path[4096];
    int address = strstr(o->folder, "://") != NULL;
    caret_options options = {.size = sizeof options, .sync = address ? CARET_SYNC_OFF : CARET_SYNC_INTERVAL};
    snprintf(path, sizeof path, address ? "%s" : "%s/3n1.caret", o->folder);
    whole = o->tuned;
    check(caret_open(path, &options, &db), "open");
    check(caret_session_open(db, &s), "session");
    if (steps == NULL && (steps = calloc(4097, sizeof *steps)) == NULL)
        job_fail("open", "no memory");
    for (unsigned i = 0; i < 4097; i++)
        child(&steps[i], "^step", 1);
    if (create) {
        union slot queued;
        check(set_number(named(&queued, "^queued"), o->workers), "set");
        job_updates = 0;
    }
}

static void store_close(void)
{
    caret_session_close(s);
    check(caret_close(db), "close");
}

static int take(unsigned block)
{
    union slot n;
    int64_t taken;
    check(caret_incr_int(s, child(&n, "^taken", block + 1), 1, 0, &taken), "incr");
    return taken == 1;
}

static void begin(void)
{
    at = 0;
    if (whole)
        check(restarted ? caret_restart(s) : caret_begin(s, CARET_TXN_BATCH), "begin");
    restarted = 0;
}

static unsigned get(uint64_t n)
{
    caret_node *here = &steps[at++].node;
    check(caret_node_set_last_int(here, (int64_t)n), "node");
    unsigned known = (unsigned)number(here);
    return restarted ? 1 : known; /* 1: the end of the sequence */
}

static int keep_all(caret_session *session, void *arg)
{
    const struct job_found *f = arg;
    union slot longest, highest;
    int rc = CARET_OK;
    (void)session;
    job_reads += 2;
    if (f->total > number(named(&longest, "^longest")))
        rc = set_number(&longest.node, f->total);
    if (rc == CARET_OK && f->highest > number(named(&highest, "^highest")))
        rc = set_number(&highest.node, f->highest);
    for (unsigned i = 0; rc == CARET_OK && i < f->count; i++)
        rc = set_number(&steps[i].node, f->total - i);
    return rc;
}

static void end_whole(int rc)
{
    if (rc == CARET_OK && !restarted)
        rc = caret_commit(s);
    restarted = restarted || rc == CARET_RESTART;
    if (!restarted)
        check(rc, "commit");
}

static void keep_now(const struct job_found *f)
{
    struct job_found copy = *f;
    end_whole(restarted ? CARET_OK : keep_all(s, &copy));
}

static void nothing(void)
{
    if (whole)
        end_whole(CARET_OK);
}

static int again(void)
{
    return restarted;
}

static void keep(const struct job_found *f)
{
    struct job_found copy = *f;
    if (whole) {
        keep_now(f);
        return;
    }
    check(caret_transaction(s, keep_all, &copy, CARET_TXN_BATCH), "transaction");
}

static void maxima(uint64_t *longest, uint64_t *highest)
{
    union slot n;
    *longest = number(named(&n, "^longest"));
    *highest = number(named(&n, "^highest"));
}

/* --------------------------------------------------------- start and end by locks */

static void lock(const char *name)
{
    union slot n;
    check(caret_lock(s, named(&n, name), CARET_FOREVER), name);
}

static void unlock(const char *name)
{
    union slot n;
    check(caret_unlock(s, named(&n, name)), name);
}

static void hold(void)
{
    lock("^trigger");
}

static void queue(void)
{
    union slot n;
    int64_t missing;
    check(caret_lock(s, child(&n, "^finished", getpid()), CARET_FOREVER), "^finished");
    check(caret_incr_int(s, named(&n, "^queued"), -1, 0, &missing), "^queued");
    check(caret_lock(s, child(&n, "^trigger", getpid()), CARET_FOREVER), "^trigger");
    check(caret_unlock(s, &n.node), "^trigger");
}

static void finish(void)
{
    union slot n;
    check(caret_unlock(s, child(&n, "^finished", getpid())), "^finished");
}

static void wait_queued(void)
{
    struct timespec ms = {0, 1000000};
    union slot n;
    for (named(&n, "^queued"); number(&n.node) != 0;)
        nanosleep(&ms, NULL);
}

static void let_go(void)
{
    unlock("^trigger");
}

static void wait_finished(void)
{
    lock("^finished");
    unlock("^finished");
}

const struct job_store job_store = {.version = CARET_VERSION,
                                    .open = store_open,
                                    .close = store_close,
                                    .take = take,
                                    .begin = begin,
                                    .get = get,
                                    .keep = keep,
                                    .nothing = nothing,
                                    .again = again,
                                    .maxima = maxima,
                                    .hold = hold,
                                    .queue = queue,
                                    .wait_queued = wait_queued,
                                    .let_go = let_go,
                                    .wait_finished = wait_finished,
                                    .finish = finish};
