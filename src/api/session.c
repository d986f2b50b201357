/*
 * session.c - what the functions on data share: entering, writing, results, counts.
 */
#include "api/changes.h"

#include <stdlib.h>
#include <time.h>

#include "base/process.h"
#include "log/background.h"
#include "log/flush.h"
#include "log/snapshot.h"
#include "log/writer.h"
#include "open/open.h"
#include "shm/tally.h"
#include "tree/past.h"

int caret__session_refuse(caret_session *s)
{
    if (s == NULL)
        return caret__fail(CARET_E_INVALID, "the session is NULL");
    if (s->e == NULL)
        return caret__fail(
            CARET_E_CLOSED,
            s->db == NULL
                ? "a session without a database has local variables only: no globals, transactions, locks"
                : "the thread that opened the session has ended");
    if (s->db->closed)
        return caret__fail(CARET_E_CLOSED, "the database was closed");
    if (s->observes)
        return caret__observe_enter(s);
    if (s->remote != NULL)
        return caret__session_enter_remote(s);
    return caret__engine_forked(s->e); /* db.c then disowns all sessions of the engine */
}

int caret__session_refuse_read(caret_session *s)
{
    int rc = caret__session_refuse(s);

    return rc == CARET_OK && s->observes && !s->observing ? CARET__OBSERVED : rc;
}

void caret__session_bind(caret_session *s, struct caret__engine *e)
{
    static _Atomic uint32_t count;

    s->e = e;
    s->global.pg = &e->pg;
    s->observes = e->observes != CARET__OBSERVES_NOT;
    s->process = caret__process();
    s->global.stalled = s->observes ? caret__observer_stalled : caret__stalled;
    s->global.ctx = e;
    s->global.walk = &s->walk;
    s->global.ways = s->observes ? NULL : &s->ways;
    s->global.applied = 0;
    s->floor_id = (uint64_t)(e->slot + 1) << 32 | (atomic_fetch_add(&count, 1) + 1);
    if (s->observes)
        s->locker = (struct caret__locker){0};
    else
        caret__locker_init(e, &s->locker);
    s->locker.alarm = &s->alarm;
    s->locker.hooks = &s->lock_hooks;
}

void caret__session_disown(caret_session *s)
{
    caret__txn_forget(s);
    caret__locker_fini(&s->locker); /* the locks stay the parent's */
    caret__counts_drop(s);
}

int caret__session_out(caret_session *s, size_t n)
{
    if (caret__likely(n <= s->out_cap))
        return CARET_OK;
    size_t cap = n < 256 ? 256 : n + n / 4;
    uint8_t *out = realloc(s->out, cap);
    if (out == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a value of %zu bytes", n);
    s->out = out;
    s->out_cap = cap;
    return CARET_OK;
}

int caret__session_writes_slow(caret_session *s)
{
    if (caret__unlikely(s->txn.snapshot != NULL))
        return caret__fail(CARET_E_READONLY, "%s: a snapshot can only be read; end it to write", s->e->path);
    if (caret__unlikely(s->db->options.readonly))
        return caret__fail(CARET_E_READONLY, "%s: opened read-only", s->e->path);
    if (caret__unlikely(__atomic_load_n(&s->e->background, __ATOMIC_ACQUIRE) == NULL &&
                        !s->e->options.no_thread))
        caret__background_start(s->e); /* without it flushing is inline */
    return CARET_OK;
}

/* There is no background thread: is there one again?  A fork may have ended it. */
static bool thread_again(caret_session *s)
{
    if (!s->e->options.no_thread)
        (void)caret__background_start(s->e);
    return !s->e->options.no_thread;
}

/* All that may be asked of a commit, in turn. */
int caret__session_committed_slow(caret_session *s, uint64_t lsn, int flags)
{
    bool thread = __atomic_load_n(&s->e->background, __ATOMIC_ACQUIRE) != NULL || thread_again(s);

    if (flags & CARET_TXN_BATCH)
        return CARET_OK;
    if (s->db->options.sync == CARET_SYNC_COMMIT || (flags & CARET_TXN_SYNC) != 0)
        return caret__wait_durable(s->e, lsn);
    return thread ? CARET_OK : caret__background_inline(s->e);
}

int caret_session_batch(caret_session *s, int on)
{
    if (s == NULL)
        return caret__null(__func__, "s", "a session");
    s->commit_flags = on ? CARET_TXN_BATCH : 0;
    return CARET_OK;
}

void caret__session_end(caret_session *s)
{
    caret__session_stop(s);
    caret__locker_fini(&s->locker);
    if (s->observes)
        caret__engine_close(s->e);
    s->observes = false;
    s->e = NULL;
    if (s->has_locals)
        caret__private_destroy(&s->locals);
    if (s->txn.has_buffer)
        caret__private_destroy(&s->txn.buffer);
    s->has_locals = s->txn.has_buffer = false;
    caret__spans_destroy(&s->txn.killed);
    caret__past_destroy(&s->global);
    caret__walk_destroy(&s->walk);
    caret__ways_destroy(&s->ways);
    caret__reads_destroy(&s->txn.reads);
    caret__batch_destroy(&s->txn.list);
    caret__sought_destroy(&s->txn.pile.sought);
    caret__batch_destroy(&s->batch);
    caret__kept_drop(s, true);
    free(s->txn.journal.data);
    free(s->out);
    free(s->many);
    caret__log_free(s->awaits);
    free(s->remote);
    s->remote = NULL;
    s->awaits = NULL;
    s->txn = (struct caret__txn){0};
    s->batch = (struct caret__batch){0};
    s->out = s->many = NULL;
    s->out_cap = s->many_cap = 0;
}

void caret__session_stop(caret_session *s)
{
    if (s->e == NULL || s->db->closed)
        return;
    if (s->remote != NULL) {
        caret__session_stop_remote(s);
        return;
    }
    if (!caret__attached_here(s->e)) { /* in a fork of the process that used it */
        caret__session_disown(s);
        return;
    }
    caret__counts_publish(s);
    while (s->txn.level != 0)
        if (caret_rollback(s) != CARET_OK)
            break;
    caret__session_snapshot_end(s);
    caret__lock_release_all(s->e, &s->locker);
}

/* ----------------------------------------------------------------- snapshots */

int caret__session_snapshot(caret_session *s)
{
    if (s->remote != NULL)
        return caret__remote_snapshot(s->remote);
    if (s->observes)
        return caret__fail(CARET_E_READONLY,
                           "%s: opened read-only, so nobody keeps a snapshot for it; open it for writing",
                           s->e->path);
    int rc = caret__snapshot_open(s->e, &s->txn.snapshot);

    if (rc == CARET_OK) {
        s->live = s->global;
        s->global = (struct caret__view){.pg = &s->txn.snapshot->pg, .applied = UINT64_MAX, .walk = &s->walk};
    }
    return rc;
}

void caret__session_snapshot_end(caret_session *s)
{
    if (s->txn.snapshot == NULL)
        return;
    s->global = s->live;
    caret__snapshot_close(s->txn.snapshot);
    s->txn.snapshot = NULL;
}

int caret__session_saw(const caret_session *s, int rc)
{
    if (caret__likely(s->txn.snapshot == NULL))
        return rc;
    int holds = caret__snapshot_check(s->txn.snapshot);
    return holds == CARET_OK ? rc : holds;
}

/* Keys as a transaction sees them. */
static int step(caret_session *s, uint8_t *key, size_t *len, struct caret__at *at, bool back)
{
    int rc = caret__session_saw(s, CARET_OK); /* a lost one may not even be mapped */

    if (rc != CARET_OK)
        return rc;
    if (!s->txn.changed)
        rc = back ? caret__scan_before(&s->global, at, key, len) : caret__scan_from(&s->global, at, key, len);
    else
        rc = back ? caret__merged_before(&s->txn, &s->global, key, len)
                  : caret__merged_from(&s->txn, &s->global, key, len);
    return caret__session_saw(s, rc);
}

/* ---------------------------------------------------------------------- keys */

/* What is not the tree of an engine. */
static __attribute__((noinline)) int step_elsewhere(caret_session *s, unsigned place, uint8_t *key,
                                                    size_t *len, struct caret__at *at, bool back)
{
    if (place == CARET__AT_SERVER)
        return caret__remote_step_merged(s->remote, &s->global, key, len, back);
    if (!s->has_locals)
        return caret__elsewhere_seek(s, key, len, back);
    struct caret__view v = {.pg = &s->locals.pg};
    return back ? caret__scan_before(&v, at, key, len) : caret__scan_from(&v, at, key, len);
}

int caret__session_from(caret_session *s, unsigned place, uint8_t *key, size_t *len, struct caret__at *at)
{
    *at = (struct caret__at){0};
    if (place == CARET__IN_DATABASE)
        return s->txn.level != 0 ? step(s, key, len, at, false) : caret__scan_from(&s->global, at, key, len);
    return step_elsewhere(s, place, key, len, at, false);
}

int caret__session_before(caret_session *s, unsigned place, uint8_t *key, size_t *len, struct caret__at *at)
{
    *at = (struct caret__at){0};
    if (place == CARET__IN_DATABASE)
        return s->txn.level != 0 ? step(s, key, len, at, true) : caret__scan_before(&s->global, at, key, len);
    return step_elsewhere(s, place, key, len, at, true);
}

/* -------------------------------------------------------------------- counts
 *
 * A session counts its calls by itself, and adds each 251 of a kind to the counters of its process (shm/layout.h).
 * Which globals are read is an estimate made then: the global of the get that made the 251 full is noted, in a tally of
 * the segment (shm/tally.h), with all gets since the last note of the session.  251 is a prime, so that a program that
 * reads two globals, or four, in turns has both noted.  A session notes at most once in a tick of the system's coarse
 * clock (some milliseconds): many that read one global do not wait for the memory of its count.
 *
 * So a get pays nothing for that but what counting costs anyway.  A session that ends before its 251st get is not seen.
 */

/* What the session has counted of one kind and not yet published.  The count of gets goes on: it tells whose turn it is
 * to be noted.  Another thread that looks while both begin anew may see some too few. */
static uint32_t not_published(const caret_session *s, enum caret__counter which)
{
    uint32_t n = atomic_load_explicit(&s->counts[which], memory_order_relaxed);
    uint32_t less = which == CARET__GETS ? atomic_load_explicit(&s->gets_published, memory_order_relaxed) : 0;

    return n > less ? n - less : 0;
}

/* The next get is the first of a new count. */
static void begin_gets(caret_session *s)
{
    atomic_store_explicit(&s->counts[CARET__GETS], 0, memory_order_relaxed);
    atomic_store_explicit(&s->gets_published, 0, memory_order_relaxed);
}

void caret__counts_publish(caret_session *s)
{
    if (s->observes) /* there is no slot to add to */
        return;
    struct caret__procslot *p = caret__session_slot(s);
    _Atomic uint64_t *shared[CARET__COUNTERS] = {&p->gets, &p->sets, &p->commits, &p->restarts};

    for (unsigned i = 0; i < CARET__COUNTERS; i++) {
        uint32_t n = not_published(s, i);
        if (n == 0)
            continue;
        if (i == CARET__GETS)
            atomic_store_explicit(&s->gets_published, s->counts[i], memory_order_relaxed);
        else
            atomic_store_explicit(&s->counts[i], 0, memory_order_relaxed);
        atomic_fetch_add_explicit(shared[i], n, memory_order_relaxed);
    }
}

void caret__counts_drop(caret_session *s)
{
    for (unsigned i = 0; i < CARET__COUNTERS; i++)
        atomic_store_explicit(&s->counts[i], 0, memory_order_relaxed);
    begin_gets(s);
    s->gets_not_noted = 0;
}

void caret__counts_add(const caret_session *s, caret_stats *to)
{
    to->gets += not_published(s, CARET__GETS);
    to->sets += not_published(s, CARET__SETS);
    to->commits += not_published(s, CARET__COMMITS);
    to->restarts += not_published(s, CARET__RESTARTS);
}

void caret__gets_publish(caret_session *s, const uint8_t *key, size_t len)
{
    struct timespec t;

    if (s->observes)
        return;
    caret__counts_publish(s);
    s->gets_not_noted += atomic_load_explicit(&s->counts[CARET__GETS], memory_order_relaxed);
    begin_gets(s);
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    size_t name = caret__key_name_len(key, len);
    if (now == s->gets_noted_at || name == 0)
        return;
    caret__tally_note(s->e->sh->globals_read, CARET__GLOBALS_READ, key, name + 1, s->gets_not_noted,
                      (uint64_t)s->e->pid);
    s->gets_noted_at = now;
    s->gets_not_noted = 0;
}

void caret__gets_publish_node(caret_session *s, const struct caret__node *n)
{
    caret__gets_publish(s, caret__node_key(n), n->key_len);
}
