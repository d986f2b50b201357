/*
 * transaction.c - begin, commit, rollback, restart; locks of a session.
 *
 *     idle --begin--> level 1 --begin--> level 2 ...
 *     level n --commit/rollback--> level n - 1          (n > 1: keep or play back the journal)
 *     level 1 --commit--> idle, or CARET_RESTART: still level 1, broken
 *     any level --restart--> level 1 with nothing done
 *
 * A snapshot (CARET_TXN_SNAPSHOT) is a transaction whose session looks at another
 * store, that of a checkpoint (log/snapshot.h).  Nothing is noted, nothing can be
 * written, nothing conflicts; after each look at its pages it is asked whether it
 * was still there (api/session.c, api/data.c).
 *
 * While `broken`, every read and write answers CARET_RESTART: user code that
 * swallows the outcome can't commit what it saw.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/session.h"
#include "log/floor.h"
#include "txn/collide.h"

#define ALONE_NS    UINT64_C(10000000000) /* that CARET_TXN_ALONE waits for others of its kind: arbitrary */
#define FLOOR_AFTER 3u                    /* restarts until a transaction takes the floor: docs/engine.md */

static struct caret__private *locals_of(caret_session *s)
{
    return s->has_locals ? &s->locals : NULL;
}

/*
 * A new view.  Its read point may be in the past, for leaves are read as they are, and one that is newer
 * moves the point: so nobody need fetch the line of log_applied, which every commit writes, from the core
 * that wrote it.  After a restart it is exact: a leaf that is read around a stopped writer has that
 * version, and must not conflict again.
 */
static void fresh_view(caret_session *s)
{
    struct caret__txn *t = &s->txn;
    t->broken = false;
    if (t->snapshot != NULL)
        return;
    if (t->restarts != 0)
        s->global.applied = atomic_load_explicit(s->global.pg->applied, memory_order_acquire);
    caret__reads_begin(&t->reads, s->global.applied);
    s->global.reads = &t->reads;
}

static __attribute__((noinline)) void forget_many(caret_session *s)
{
    if (atomic_load_explicit(&s->e->slot_wish, memory_order_relaxed) != 0)
        caret__grow_expect(s->e, 0);
    caret__buffer_drop(&s->txn);
}

static inline void forget_changes(caret_session *s)
{
    if (caret__unlikely(!caret__buffer_few(&s->txn)))
        forget_many(s);
    s->txn.changed = false;
}

/* Down to that mark of the journal. */
static void undo_changes(caret_session *s, size_t mark)
{
    struct caret__txn *t = &s->txn;
    struct caret__private *const trees[CARET__JOURNALED] = {
        [CARET__OF_BUFFER] = t->in_tree ? &t->buffer : NULL,
        [CARET__OF_LOCALS] = locals_of(s),
        [CARET__OF_KILLED] = t->kills != 0 ? &t->killed.at : NULL,
    };

    caret__journal_undo(&t->journal, mark, trees);
}

static void drop_changes(caret_session *s)
{
    undo_changes(s, 0);
    forget_changes(s);
}

/* Does it run undisturbed, or ask for it? */
static bool wants_floor(const struct caret__txn *t)
{
    return t->restarts >= FLOOR_AFTER || (t->flags & CARET_TXN_ALONE) != 0;
}

/* Is there one?  A session that only observes may not write to shared memory; at a server the driver does as much. */
static bool has_floor(const caret_session *s)
{
    return !s->observes && s->remote == NULL;
}

static inline void finish(caret_session *s)
{
    struct caret__txn *t = &s->txn;
    if (caret__unlikely(wants_floor(t)) && has_floor(s))
        caret__floor_return(s->e, s->floor_id);
    if (caret__unlikely(s->kept != NULL))
        caret__kept_drop(s, false);
    t->level = 0;
    t->journal.used = 0;
    forget_changes(s);
    t->broken = false;
    s->global.reads = NULL;
    if (caret__unlikely(t->snapshot != NULL))
        caret__session_snapshot_end(s);
}

/* For CARET_TXN_ALONE: those who have the floor before it are waited for. */
static int take_floor(caret_session *s)
{
    if (s->remote != NULL)
        return CARET_OK;
    if (s->observes)
        return caret__fail(CARET_E_READONLY, "%s: opened read-only: others can't be made to wait",
                           s->e->path);
    int rc = caret__floor_wait_and_take(s->e, s->floor_id, ALONE_NS);
    if (rc == CARET_E_INTXN)
        rc = caret__fail(rc, "%s: another session of this thread has a transaction that runs alone",
                         s->e->path);
    if (rc == CARET_E_BUSY)
        rc = caret__fail(rc, "%s: for %u s, others had transactions that run alone", s->e->path,
                         (unsigned)(ALONE_NS / 1000000000u));
    return rc;
}

static int begin_outermost(caret_session *s, int flags)
{
    struct caret__txn *t = &s->txn;
    int rc = CARET_OK;

    if (caret__unlikely((flags & (CARET_TXN_SNAPSHOT | CARET_TXN_ALONE)) != 0))
        rc = (flags & CARET_TXN_SNAPSHOT) != 0 ? caret__session_snapshot(s) : take_floor(s);
    if (rc != CARET_OK)
        return rc;
    t->restarts = 0;
    t->looked = 0;
    t->flags = flags;
    t->restore_locals = false;
    CARET__ASSERT(t->journal.used == 0 && !t->changed && t->marks[0] == 0 && t->list_marks[0] == 0);
    fresh_view(s);
    return CARET_OK;
}

/* What there is of its changes when a transaction within another begins. */
static void mark_changes(struct caret__txn *t)
{
    t->marks[t->level] = t->journal.used;
    t->list_marks[t->level] = t->changed && !t->in_tree ? t->list.size : 0;
}

void caret__txn_forget(caret_session *s)
{
    struct caret__txn *t = &s->txn;
    if (t->level != 0)
        drop_changes(s);
    t->level = 0;
    t->restarts = 0;
    t->journal.used = 0;
    t->broken = false;
    s->global.reads = NULL;
    caret__kept_drop(s, false);
    caret__session_snapshot_end(s);
    caret__floor_forget(s->floor_id);
}

static int check_flags(const char *function, int flags)
{
    if ((flags & ~(CARET_TXN_BATCH | CARET_TXN_SYNC | CARET_TXN_SNAPSHOT | CARET_TXN_ALONE)) != 0)
        return caret__fail(CARET_E_INVALID,
                           "%s: flags are CARET_TXN_BATCH, _SYNC, _SNAPSHOT and _ALONE, not 0x%x", function,
                           (unsigned)flags);
    if ((flags & CARET_TXN_SNAPSHOT) != 0 && (flags & CARET_TXN_ALONE) != 0)
        return caret__fail(CARET_E_INVALID,
                           "%s: flags are CARET_TXN_SNAPSHOT and _ALONE at once; a snapshot "
                           "is disturbed by nobody",
                           function);
    return CARET_OK;
}

/* May they be given here? */
static int check_place(const caret_session *s, int flags)
{
    const struct caret__txn *t = &s->txn;
    bool in_snapshot = t->snapshot != NULL || (s->remote != NULL && s->remote->reads);

    if ((flags & CARET_TXN_SNAPSHOT) != 0 && t->level != 0 && !in_snapshot)
        return caret__fail(CARET_E_INTXN, "a snapshot cannot be begun inside a transaction");
    if ((flags & CARET_TXN_ALONE) != 0 && t->level != 0 && (t->flags & CARET_TXN_ALONE) == 0)
        return caret__fail(CARET_E_INTXN,
                           in_snapshot
                               ? "a transaction that runs alone cannot be begun inside a snapshot"
                               : "inside a transaction it is too late to run alone: begin the outermost so");
    return CARET_OK;
}

int caret_begin(caret_session *s, int flags)
{
    if (caret__unlikely(s == NULL))
        return caret__null(__func__, "s", "a session");
    int rc = caret__unlikely(flags != 0) ? check_flags(__func__, flags) : CARET_OK;
    if (caret__likely(rc == CARET_OK))
        rc = caret__session_enter(s);
    if (caret__unlikely(rc != CARET_OK) && caret__if_remote(rc, CARET_OK) != CARET_OK)
        return rc;
    struct caret__txn *t = &s->txn;
    rc = CARET_OK;
    if (t->level >= CARET_MAX_NEST)
        return caret__fail(CARET_E_TXN_TOO_DEEP, "%u transactions within each other; no more are possible",
                           CARET_MAX_NEST);
    if (caret__unlikely(flags != 0))
        rc = check_place(s, flags);
    if (caret__likely(t->level == 0))
        rc = rc == CARET_OK ? begin_outermost(s, flags) : rc;
    else if (rc == CARET_OK)
        mark_changes(t);
    if (rc != CARET_OK)
        return rc;
    t->lock_marks[t->level] = caret__lock_mark(&s->locker);
    t->level++;
    return CARET_OK;
}

static __attribute__((noinline)) int need_txn_elsewhere(const char *function, caret_session *s)
{
    int rc = s != NULL ? caret__session_enter(s) : caret__null(function, "s", "a session");
    if ((rc == CARET_OK || rc == CARET__REMOTE) && s->txn.level == 0)
        rc = caret__fail(CARET_E_NOTXN, "no transaction is in progress");
    return rc;
}

static inline int need_txn(const char *function, caret_session *s)
{
    if (caret__likely(s != NULL && caret__session_ready(s) && s->txn.level != 0))
        return CARET_OK;
    return need_txn_elsewhere(function, s);
}

static bool still_valid(void *ctx)
{
    const caret_session *s = ctx;
    return CARET_SEEDED("commit_unvalidated") || caret__reads_valid(s->global.pg, &s->txn.reads);
}

/* A transaction that only sets one node goes the way of a plain set: in place if it can.  The next one that reads what
 * this one wrote, as many do, finds it beside the last key. */
static int commit_one(caret_session *s, struct caret__batch *b, uint64_t *lsn)
{
    const struct caret__reads *r = &s->txn.reads;
    struct caret__spot spot = {0};

    if (caret__op_at(b->rec, CARET__REC_HEAD).kind != CARET__OP_SET)
        return caret__commit(s->e, b, still_valid, s, lsn);
    if (b->nspots != 0 && b->spots[0].version != 0)
        spot = b->spots[0];
    else if (r->count != 0) /* likely the leaf that was read last */
        spot = (struct caret__spot){r->set[r->last].version, r->set[r->last].pgno, 0, CARET__SPOT_LEAF, 0};
    uint64_t before = spot.version;
    bool there = spot.found == 1;
    spot.kept = 1;
    int rc = caret__commit_one(s->e, &spot, b, still_valid, s, lsn);
    if (rc == CARET_OK && spot.version != 0)
        caret__last_changed(&s->leaves.last, spot.pgno, before, spot.version, spot.pos, there && spot.kept);
    return rc == CARET_ROLLBACK ? CARET_RESTART : rc;
}

/* Is the key that is to be inserted there after all of its leaf's, but below the bound?  A set before was there too. */
static bool is_appended(caret_session *s, const struct caret__at *at, const struct caret__op_view *op)
{
    struct caret__edge *edge = &s->leaves.edge;
    if (caret__appends(edge, &s->global, at, op->key, op->klen))
        return true;
    caret__edge_learn(edge, &s->global, at, op->key, op->klen);
    return caret__appends(edge, &s->global, at, op->key, op->klen);
}

/* Is the key that is to be inserted before all of its leaf's after that of the set before, which belongs there? */
static bool is_after(const struct caret__at *at, const struct caret__op_view *last,
                     const struct caret__op_view *op)
{
    if (at->pos != 0 || caret__page_count(at->page) == 0)
        return false;
    int cmp = memcmp(op->key, last->key, caret__min(op->klen, last->klen));
    return cmp > 0 || (cmp == 0 && op->klen > last->klen);
}

/* Is the key of a set in the leaf of the one before, beside it?  Then the spot is made to tell it. */
static bool is_beside(caret_session *s, const struct caret__spot *last, const struct caret__op_view *before,
                      struct caret__spot *spot, const struct caret__op_view *op)
{
    struct caret__at at;
    if (!caret__at_recall(&s->global, &at, last->pgno, last->version))
        return false;
    CARET_FAULT("beside_recalled");
    at.pos = caret__page_find_around(at.page, last->pos, op->key, op->klen, &at.found);
    if (at.pos == CARET__PAGE_NOWHERE)
        return false;
    if (!caret__within(at.page, at.pos, at.found) && !is_after(&at, before, op) &&
        (at.pos != last->pos || !is_appended(s, &at, op)))
        return false;
    if (!caret__at_unchanged(&s->global, &at)) /* the page was another's */
        return false;
    *spot = (struct caret__spot){at.version, at.pgno, (uint16_t)at.pos, at.found, 0};
    return true;
}

/* Look for the places of the sets, so that there is little left to do under the mutex. */
static int find_places(caret_session *s, struct caret__batch *b)
{
    CARET__ASSERT(!caret__writer_held(s->e->sh));
    struct caret__op_view op, last = {0};
    struct caret__leaf *l;
    struct caret__at at;
    uint32_t off = CARET__REC_HEAD;
    unsigned strays = 0;

    for (uint32_t i = 0; caret__record_op(b->rec, b->size + CARET__REC_TAIL, &off, &op) == 1;
         i++, last = op) {
        struct caret__spot *spot = &b->spots[i];
        if (i < b->nspots && spot->version != 0 &&
            caret__at_recall(&s->global, &at, spot->pgno, spot->version))
            continue;
        if (i != 0 && strays < CARET__STRAYS && is_beside(s, spot - 1, &last, spot, &op))
            continue;
        strays++;
        int rc = caret__find_leaf(&s->leaves, &s->global, op.key, op.klen, &at, &l);
        if (rc != CARET_OK)
            return rc;
        *spot = (struct caret__spot){at.version, at.pgno, (uint16_t)at.pos, at.found, 0};
    }
    b->nspots = b->nops;
    return CARET_OK;
}

static int commit_many(caret_session *s, struct caret__batch *b, uint64_t *lsn)
{
    int rc = caret__batch_wants_spots(b) ? find_places(s, b) : CARET_OK;

    return rc == CARET_OK ? caret__commit(s->e, b, still_valid, s, lsn) : rc;
}

static inline int commit_list(caret_session *s, uint64_t *lsn)
{
    struct caret__batch *b = &s->txn.list;
    int rc = caret__list_ready(&s->txn) ? CARET_OK : caret__buffer_finish(&s->txn);

    if (rc != CARET_OK || b->nops == 0)
        return rc;
    return b->nops == 1 ? commit_one(s, b, lsn) : commit_many(s, b, lsn);
}

static __attribute__((noinline)) int commit_tree(caret_session *s, uint64_t *lsn)
{
    struct caret__room room = {0};
    struct caret__batch *b = &s->batch;
    int rc = caret__buffer_batch(s->e, &s->txn, b, &room);

    if (rc == CARET_OK && b->nops != 0)
        rc = b->nops == 1 && room.n == 0 ? commit_one(s, b, lsn) : commit_many(s, b, lsn);
    caret__room_done(s->e, &room);
    return rc;
}

/* *done: after the commit point, whatever is returned. */
static int commit_changes(caret_session *s, bool *done)
{
    uint64_t lsn = 0;
    int rc = caret__unlikely(s->txn.in_tree) ? commit_tree(s, &lsn) : commit_list(s, &lsn);

    *done = lsn != 0;
    if (rc == CARET_OK && lsn != 0)
        rc = caret__session_committed(s, lsn, s->txn.flags);
    return rc;
}

int caret_commit(caret_session *s)
{
    bool done = false;
    int rc = need_txn(__func__, s);
    if (rc != CARET_OK && rc != CARET__REMOTE)
        return rc;
    struct caret__txn *t = &s->txn;
    if (t->broken)
        return CARET_RESTART;
    if (t->level > 1) {
        t->level--;
        return CARET_OK;
    }
    if (caret__unlikely(rc == CARET__REMOTE))
        return caret__remote_end(s);
    if (t->changed) {
        rc = caret__session_writes(s);
        if (wants_floor(t))
            caret__floor_speak(s->floor_id);
        if (rc == CARET_OK)
            rc = commit_changes(s, &done);
    }
    if (rc == CARET_RESTART) {
        t->broken = true;
        return rc;
    }
    if (rc != CARET_OK && !done) /* nothing was committed; the caller may roll back */
        return rc;
    int unlocked = t->restarts != 0 ? caret__lock_commit(s->e, &s->locker, t->lock_marks[0]) : CARET_OK;
    finish(s);
    return rc != CARET_OK ? rc : unlocked;
}

int caret_rollback(caret_session *s)
{
    int rc = need_txn(__func__, s);
    if (rc != CARET_OK)
        return rc == CARET__REMOTE ? caret__remote_back(s) : rc;
    struct caret__txn *t = &s->txn;
    unsigned level = t->level - 1;
    caret__lock_rollback(s->e, &s->locker, t->lock_marks[level]);
    if (level == 0) {
        drop_changes(s);
        finish(s);
        return CARET_OK;
    }
    caret__txn_undo(s, level);
    return CARET_OK;
}

void caret__txn_again(caret_session *s)
{
    struct caret__txn *t = &s->txn;

    t->journal.used = 0;
    t->level = 1;
    t->restarts++;
    caret__count(s, CARET__RESTARTS);
    if (caret__unlikely(s->kept != NULL))
        caret__kept_drop(s, false);
    if (wants_floor(t) && has_floor(s) && t->snapshot == NULL)
        caret__floor_take(s->e, s->floor_id);
    fresh_view(s);
}

void caret__txn_drop(caret_session *s)
{
    drop_changes(s);
}

void caret__txn_finish(caret_session *s)
{
    finish(s);
}

void caret__txn_undo(caret_session *s, unsigned level)
{
    struct caret__txn *t = &s->txn;

    caret__buffer_cut(t, t->list_marks[level]);
    undo_changes(s, t->marks[level]);
    t->level = level;
}

int caret_restart(caret_session *s)
{
    int rc = need_txn(__func__, s);
    if (rc != CARET_OK)
        return rc == CARET__REMOTE ? caret__remote_restart(s) : rc;
    struct caret__txn *t = &s->txn;
    if (t->broken && t->snapshot == NULL && !s->observes)
        caret__collide_note(s->e->sh, t, &s->global, (uint64_t)s->e->pid);
    drop_changes(s);
    rc = caret__lock_restart(s->e, &s->locker, t->lock_marks[0]);
    if (rc == CARET_OK)
        rc = caret__observe_restart(s);
    if (rc != CARET_OK)
        return rc;
    caret__txn_again(s);
    return CARET_OK;
}

/* Is it in one?  In a fork that has not attached itself yet the transaction is the parent's. */
static bool in_txn(const caret_session *s)
{
    if (s == NULL || s->txn.level == 0 || s->e == NULL || s->db->closed)
        return false;
    return s->remote != NULL ? s->remote->process == caret__process()
           : s->observes     ? s->process == caret__process()
                             : caret__attached_here(s->e);
}

unsigned caret_txn_level(const caret_session *s)
{
    return in_txn(s) ? s->txn.level : 0;
}

unsigned caret_txn_restarts(const caret_session *s)
{
    return in_txn(s) ? s->txn.restarts : 0;
}

int caret_txn_restore_locals(caret_session *s, int all)
{
    int rc = caret__if_remote(need_txn(__func__, s), CARET_OK);
    if (rc == CARET_OK)
        rc = caret__session_locals(s);
    if (rc == CARET_OK && all != 0 && s->txn.level > 1) /* the journal gets other records */
        rc = caret__buffer_spill(&s->txn);
    if (rc == CARET_OK)
        s->txn.restore_locals = all != 0;
    return rc;
}

int caret_transaction(caret_session *s, caret_txn_fn *fn, void *arg, int flags)
{
    if (s == NULL || fn == NULL)
        return caret__null(__func__, s == NULL ? "s" : "fn", s == NULL ? "a session" : "a function");
    int rc = check_flags(__func__, flags);
    if (rc == CARET_OK)
        rc = caret_begin(s, flags);
    if (rc != CARET_OK)
        return rc;
    unsigned level = s->txn.level;
    for (;;) {
        rc = fn(s, arg);
        if (rc == CARET_OK)
            rc = caret_commit(s);
        if (rc == CARET_OK)
            return CARET_OK;
        if (rc == CARET_RESTART) {
            if (level > 1) /* the outermost one starts again */
                return rc;
            rc = caret_restart(s);
        }
        if (rc != CARET_OK) {
            while (s->txn.level >= level)
                caret_rollback(s);
            return rc;
        }
    }
}

/* -------------------------------------------------------------------- locks */

static __attribute__((noinline)) int enter_locks_elsewhere(caret_session *s, bool takes)
{
    int rc = caret__if_remote(caret__session_enter(s), CARET_OK);
    if (rc == CARET_OK && takes && s->remote != NULL && s->db->options.readonly)
        rc = caret__fail(CARET_E_READONLY, "%s: opened read-only: no locks", s->e->path);
    if (rc == CARET_OK && takes && s->observes)
        rc = caret__fail(CARET_E_READONLY,
                         "%s: opened read-only: there are no locks without shared memory to write to",
                         s->e->path);
    return rc;
}

/* takes: locks are asked for by name, not only released, which is fine without any.  A session that is ready neither
 * observes nor is at a server. */
static inline int enter_locks(caret_session *s, bool takes)
{
    return caret__likely(caret__session_ready(s)) ? CARET_OK : enter_locks_elsewhere(s, takes);
}

/* The same for one lock, of a node. */
static inline int enter_lock(const char *function, caret_session *s, const caret_node *n)
{
    int rc = caret__args_check(function, s, n);

    return rc == CARET_OK ? enter_locks(s, true) : rc;
}

/* The name a lock on the node has; `room` is used for a local variable's. */
static const uint8_t *lock_name(const caret_node *n, uint8_t room[CARET__KEY_MAX])
{
    const struct caret__node *k = caret__node_const(n);

    if (!k->local)
        return caret__node_key(k);
    memcpy(room, caret__node_key(k), k->key_len);
    room[0] |= CARET__LOCK_LOCAL;
    return room;
}

int caret_lock(caret_session *s, const caret_node *n, uint64_t timeout_ns)
{
    uint8_t room[CARET__KEY_MAX];
    int rc = enter_lock(__func__, s, n);

    if (rc != CARET_OK)
        return rc;
    const uint8_t *name = lock_name(n, room);
    size_t len = caret__node_const(n)->key_len;
    if (s->remote != NULL)
        return caret__remote_lock(s->remote, s->locker.level, &name, &len, 1, timeout_ns);
    return caret__lock_take(s->e, &s->locker, name, len, timeout_ns);
}

int caret_unlock(caret_session *s, const caret_node *n)
{
    uint8_t room[CARET__KEY_MAX];
    int rc = enter_lock(__func__, s, n);

    if (rc != CARET_OK)
        return rc;
    if (s->remote != NULL)
        return caret__remote_unlock(s->remote, lock_name(n, room), caret__node_const(n)->key_len);
    return caret__lock_release(s->e, &s->locker, lock_name(n, room), caret__node_const(n)->key_len);
}

static int release_all(caret_session *s)
{
    return s->remote != NULL ? caret__remote_unlock_all(s->remote)
                             : caret__lock_release_all(s->e, &s->locker);
}

int caret_unlock_all(caret_session *s)
{
    int rc = s != NULL ? enter_locks(s, false) : caret__null(__func__, "s", "a session");
    return rc == CARET_OK ? release_all(s) : rc;
}

int caret_session_lock_hooks(caret_session *s, void (*before)(void *arg), void (*after)(void *arg), void *arg)
{
    if (s == NULL)
        return caret__null(__func__, "s", "a session");
    if ((before == NULL) != (after == NULL))
        return caret__fail(CARET_E_INVALID, "%s: %s is NULL; both, or none, are expected", __func__,
                           before == NULL ? "before" : "after");
    s->lock_hooks = (struct caret__lock_hooks){before, after, arg};
    return CARET_OK;
}

#define LOCKS_AT_ONCE 64u

/* Are these a session and a list of nodes that can be locked at once? */
static int list_check(const char *function, const caret_session *s, const caret_node *const *nodes,
                      size_t count)
{
    if (s == NULL || (nodes == NULL && count != 0))
        return caret__null(function, s == NULL ? "s" : "nodes", s == NULL ? "a session" : "a list of nodes");
    if (count > LOCKS_AT_ONCE)
        return caret__fail(CARET_E_INVALID, "%s: count is %zu; %u locks at once are possible", function,
                           count, LOCKS_AT_ONCE);
    for (size_t i = 0; i < count; i++)
        if (!caret__node_ok(nodes[i])) {
            char argument[32];
            snprintf(argument, sizeof argument, "nodes[%zu]", i);
            return caret__not_a_node(function, argument, nodes[i]);
        }
    return CARET_OK;
}

/* Take all or none; `only`: and release before what is held. */
static int lock_list(const char *function, caret_session *s, const caret_node *const *nodes, size_t count,
                     uint64_t timeout_ns, bool only)
{
    const uint8_t *keys[LOCKS_AT_ONCE];
    uint8_t(*rooms)[CARET__KEY_MAX] = NULL; /* for names of locals */
    size_t lens[LOCKS_AT_ONCE];
    int rc = list_check(function, s, nodes, count);

    if (rc == CARET_OK)
        rc = enter_locks(s, count != 0);
    for (size_t i = 0; rc == CARET_OK && i < count; i++) {
        if (caret_node_is_local(nodes[i]) && rooms == NULL && (rooms = malloc(count * sizeof *rooms)) == NULL)
            rc = caret__fail(CARET_E_NOMEM, "no memory for %zu names", count);
        if (rc == CARET_OK) {
            keys[i] = lock_name(nodes[i], rooms != NULL ? rooms[i] : NULL);
            lens[i] = caret__node_const(nodes[i])->key_len;
        }
    }
    if (rc == CARET_OK && only)
        rc = release_all(s);
    if (rc == CARET_OK && count != 0)
        rc = s->remote != NULL ? caret__remote_lock(s->remote, s->locker.level, keys, lens, count, timeout_ns)
                               : caret__lock_take_all(s->e, &s->locker, keys, lens, count, timeout_ns);
    free(rooms);
    return rc;
}

int caret_lock_all(caret_session *s, const caret_node *const *nodes, size_t count, uint64_t timeout_ns)
{
    return lock_list(__func__, s, nodes, count, timeout_ns, true);
}

int caret_lock_more(caret_session *s, const caret_node *const *nodes, size_t count, uint64_t timeout_ns)
{
    return lock_list(__func__, s, nodes, count, timeout_ns, false);
}
