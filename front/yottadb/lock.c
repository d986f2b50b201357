/*
 * lock.c - ydb_lock_s, ydb_lock_incr_s, ydb_lock_decr_s.
 *
 * Locks are the process's: what one thread took another may release, and threads of one process don't exclude
 * each other.  So each database has one session for locks, under CARET__YDB_LOCKS.  A waiter gives the mutex to
 * others while it sleeps; it looks up every SLICE_NS, whether the process ends.
 *
 * Locks of M that the process calls are these, too (m/machine.h).
 *
 * In a transaction m/held.h says which of them are kept and released; the list is under the same mutex.  What was taken
 * before the level that is in progress can't be released in it: TPLOCK.  Each database counts what is taken, so that
 * a list of locks need not look for such.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "m/m.h"
#include "m/machine.h"
#include "m/settings.h"
#include "yottadb/session.h"

#define SLICE_NS    UINT64_C(20000000)
#define PAUSE_NS    50000
#define LONGEST_SUB 255 /* bytes, as M has it for locks */
static_assert(CARET__YDB_RAW <= LONGEST_SUB && CARET__YDB_LAST <= LONGEST_SUB, "what a path has is short");

/* ---------------------------------------------------------------- transactions */

void caret__ydb_locks_undo(struct caret__ydb_thread *owner, unsigned level)
{
    if (owner->tp.held == NULL)
        return;
    caret__ydb_take(CARET__YDB_LOCKS);
    owner->database->taken -= caret_m__held_undo(&owner->tp.held, level);
    caret__ydb_give(CARET__YDB_LOCKS);
}

void caret__ydb_locks_commit(struct caret__ydb_thread *owner, unsigned level)
{
    if (owner->tp.held == NULL)
        return;
    caret__ydb_take(CARET__YDB_LOCKS);
    owner->database->taken -= caret_m__held_commit(&owner->tp.held, level);
    caret__ydb_give(CARET__YDB_LOCKS);
}

void caret__ydb_locks_restart(struct caret__ydb_thread *owner)
{
    caret_m__held_carry(owner->tp.held);
}

void caret__ydb_locks_forget_all(void)
{
    for (struct caret__ydb_database *d = caret__ydb_databases(); d != NULL; d = d->next)
        d->taken = d->spare = 0;
}

void caret__ydb_locks_forget(struct caret__ydb_thread *owner)
{
    caret_m__held_forget(&owner->tp.held);
}

/* --------------------------------------------------------------------- waiting */

/* One try, with the mutex held. */
typedef int attempt(caret_session *s, const caret_node *const *nodes, size_t n, uint64_t timeout_ns);

static int take_one(caret_session *s, const caret_node *const *nodes, size_t n, uint64_t timeout_ns)
{
    (void)n;
    return caret_lock(s, nodes[0], timeout_ns);
}

/* In slices: the process may end; and where the session is not for others while it sleeps (a database on a server) they
 * have it in between. */
static int wait_in_slices(caret_session *s, const caret_node *const *nodes, size_t n, uint64_t timeout_ns,
                          attempt *try)
{
    uint64_t start = caret_m__now(), gone = 0;
    int rc;

    for (;;) {
        uint64_t left = timeout_ns - gone;
        rc = try(s, nodes, n, left < SLICE_NS ? left : SLICE_NS);
        gone = caret_m__now() - start;
        if (rc != CARET_LOCK_TIMEOUT || gone >= timeout_ns || caret__ydb_exiting())
            break;
        caret__ydb_give(CARET__YDB_LOCKS);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        caret__ydb_take(CARET__YDB_LOCKS);
    }
    return rc;
}

static int wait_for(struct caret__ydb_call *c, caret_session *s, const caret_node *const *nodes, size_t n,
                    uint64_t timeout_ns, attempt *try)
{
    int rc = wait_in_slices(s, nodes, n, timeout_ns, try);

    if (rc == CARET_OK)
        return YDB_OK;
    return caret__ydb_exiting() ? caret__ydb_error(c, YDB_ERR_CALLINAFTERXIT, NULL)
                                : caret__ydb_failed(c, rc);
}

static void sleeps(void *arg)
{
    (void)arg;
    caret__ydb_give(CARET__YDB_LOCKS);
}

static void has_slept(void *arg)
{
    (void)arg;
    caret__ydb_take(CARET__YDB_LOCKS);
}

/* The session for locks. */
static int open_locks(struct caret__ydb_database *d)
{
    int rc = d->locks == NULL ? caret_session_open(d->db, &d->locks) : CARET_OK;

    if (rc == CARET_OK) {
        caret_session_detach(d->locks);
        rc = caret_session_lock_hooks(d->locks, sleeps, has_slept, NULL);
    }
    return rc;
}

/* Take the mutex, and the session for locks. */
static int enter(struct caret__ydb_call *c, struct caret__ydb_database **d)
{
    int status = c->in != NULL ? caret__ydb_tp_check(c) : YDB_OK;

    if (status == YDB_OK)
        status = caret__ydb_database_of(c, d);
    if (status != YDB_OK)
        return status;
    caret__ydb_take(CARET__YDB_LOCKS);
    if ((*d)->locks != NULL)
        return YDB_OK;
    int rc = open_locks(*d);
    if (rc == CARET_OK)
        return YDB_OK;
    caret__ydb_give(CARET__YDB_LOCKS);
    return caret__ydb_failed(c, rc);
}

static int leave(int status)
{
    caret__ydb_give(CARET__YDB_LOCKS);
    return status;
}

/* -------------------------------------------------------------------- one lock */

static int take_in_tp(struct caret__ydb_call *c, struct caret__ydb_database *d, const caret_node *n,
                      uint64_t timeout_ns)
{
    struct caret_m__held **list = &c->in->tp.held;
    unsigned level = c->in->tp.m.level;

    if (caret_m__held_again(list, d->locks, level, n))
        return YDB_OK;
    struct caret_m__held *held = caret_m__held_new(d->locks, level, n);
    if (held == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for a lock");
    int status = wait_for(c, d->locks, &n, 1, timeout_ns, take_one);
    if (status == YDB_OK)
        caret_m__held_add(list, held);
    else
        free(held);
    d->taken += status == YDB_OK;
    return status;
}

/* Mostly it is free: then no clock is looked at. */
static int take(struct caret__ydb_call *c, struct caret__ydb_database *d, const caret_node *n,
                uint64_t timeout_ns)
{
    if (c->in != NULL)
        return take_in_tp(c, d, n, timeout_ns);
    int rc = caret_lock(d->locks, n, 0);
    if (rc != CARET_OK && (rc != CARET_LOCK_TIMEOUT || timeout_ns == 0))
        return caret__ydb_failed(c, rc);
    int status = rc == CARET_OK ? YDB_OK : wait_for(c, d->locks, &n, 1, timeout_ns, take_one);
    d->taken += status == YDB_OK;
    return status;
}

static int sub_too_long(struct caret__ydb_call *c, const ydb_buffer_t *sub)
{
    struct caret__ydb_digits len;
    char text[100];

    caret_m__fill(text, sizeof text, YDB_ERR_LOCKSUB2LONG,
                  (const char *const[]){caret__ydb_digits(&len, sub->len_used), NULL});
    return caret__ydb_fail(c, YDB_ERR_LOCKSUB2LONG, "%s,%%YDB-I-TEXT, %.*s", text, (int)sub->len_used,
                           sub->buf_addr);
}

/* Subscripts of locks have a length of their own: what finding the node said, or that one of them is too long. */
__attribute__((noinline, cold)) static int lock_check(struct caret__ydb_call *c, const ydb_buffer_t *v, int n,
                                                      const ydb_buffer_t *subs, int status)
{
    if (!caret__ydb_likely(status == YDB_OK) && status != YDB_ERR_GVSUBOFLOW && status != CARET__YDB_LONG)
        return status;
    for (int i = 0; i < n; i++)
        if (!caret__ydb_likely(subs[i].len_used <= LONGEST_SUB))
            return sub_too_long(c, &subs[i]);
    return caret__ydb_likely(status != CARET__YDB_LONG) ? status : caret__ydb_too_long(c, v);
}

/* The same after a look at the path, which has short ones only, as a rule. */
static inline int path_check(struct caret__ydb_call *c, const struct caret__ydb_path *path, int status)
{
    if (caret__ydb_likely(status == YDB_OK && path->used <= CARET__YDB_RAW &&
                          path->last_len <= CARET__YDB_LAST))
        return YDB_OK;
    return lock_check(c, c->v, c->n, c->subs, status);
}

static int too_often(struct caret__ydb_call *c, const caret_node *n)
{
    struct caret__ydb_digits most;
    char text[100], name[YDB_MAX_ERRORMSG];
    size_t len;

    caret_m__fill(text, sizeof text, YDB_ERR_LOCKINCR2HIGH,
                  (const char *const[]){caret__ydb_digits(&most, CARET_M__LOCKS_MOST), NULL});
    if (caret_node_zwr(n, caret_m__utf8(), name, sizeof name, &len) != CARET_OK)
        len = 0;
    return caret__ydb_fail(c, YDB_ERR_LOCKINCR2HIGH, "%s,%%YDB-I-LOCKIS, \t\tResource name: %.*s", text,
                           (int)len, name);
}

static int lock_incr(struct caret__ydb_call *c, unsigned long long ns, const ydb_buffer_t *v, int n,
                     const ydb_buffer_t *subs)
{
    struct caret__ydb_database *d;
    struct caret__ydb_path *path;

    c->name = "ydb_lock_incr_s";
    int status =
        ns > YDB_MAX_TIME_NSEC ? caret__ydb_name_check(c, v, n) : caret__ydb_node(c, v, n, subs, &path);
    if (ns > YDB_MAX_TIME_NSEC)
        return status == YDB_OK ? caret__ydb_check_time(c, ns) : status;
    status = path_check(c, path, status);
    if (status == YDB_OK)
        status = enter(c, &d);
    if (status != YDB_OK)
        return status;
    bool may = caret_m__may_lock(d->db, &path->node.node, d->taken, &d->spare);
    status = may ? YDB_OK : too_often(c, &path->node.node);
    return leave(status == YDB_OK ? take(c, d, &path->node.node, ns) : status);
}

/* A level may release what was taken in it, not before. */
static bool is_of_before(struct caret__ydb_call *c, struct caret__ydb_database *d, const caret_node *n)
{
    return c->in != NULL && !caret_m__held_here(c->in->tp.held, d->locks, c->in->tp.m.level, n) &&
           caret_m__is_locked(d->db, n);
}

static int lock_decr(struct caret__ydb_call *c, const ydb_buffer_t *v, int n, const ydb_buffer_t *subs)
{
    struct caret__ydb_database *d;
    struct caret__ydb_path *path;

    c->name = "ydb_lock_decr_s";
    int status = caret__ydb_node(c, v, n, subs, &path);
    status = path_check(c, path, status);
    if (status == YDB_OK)
        status = enter(c, &d);
    if (status != YDB_OK)
        return status;
    if (is_of_before(c, d, &path->node.node))
        return leave(caret__ydb_error(c, YDB_ERR_TPLOCK, NULL));
    if (c->in != NULL)
        caret_m__held_drop(&c->in->tp.held, d->locks, &path->node.node);
    int rc = caret_unlock(d->locks, &path->node.node);
    d->taken -= rc == CARET_OK;
    if (rc != CARET_OK && rc != CARET_E_NOTLOCKED) /* what is not held is released already */
        return leave(caret__ydb_failed(c, rc));
    return leave(YDB_OK);
}

/* -------------------------------------------------------------------- a list */

static void release_all(struct caret__ydb_call *c)
{
    if (c->in != NULL)
        caret__ydb_locks_forget(c->in);
    for (struct caret__ydb_database *d = caret__ydb_databases(); d != NULL; d = d->next)
        if (d->locks != NULL) {
            caret_unlock_all(d->locks);
            d->taken = d->spare = 0;
        }
}

/* Are there locks that were taken before this level of the transaction?  They can't be released in it. */
static bool some_are_of_before(struct caret__ydb_call *c)
{
    for (struct caret__ydb_database *d = caret__ydb_databases(); d != NULL; d = d->next)
        if (d->taken != caret_m__held_count(c->in->tp.held, d->locks, c->in->tp.m.level))
            return true;
    return false;
}

static int note_all(struct caret__ydb_call *c, struct caret__ydb_database *d, const caret_node *const *nodes,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct caret_m__held *held = caret_m__held_new(d->locks, c->in->tp.m.level, nodes[i]);
        if (held == NULL) {
            release_all(c);
            return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for locks");
        }
        caret_m__held_add(&c->in->tp.held, held);
    }
    return YDB_OK;
}

static int take_list(struct caret__ydb_call *c, unsigned long long ns, const caret_node *const *nodes,
                     size_t n)
{
    struct caret__ydb_database *d;
    int status = enter(c, &d);

    if (status != YDB_OK)
        return status;
    if (c->in != NULL && some_are_of_before(c))
        return leave(caret__ydb_error(c, YDB_ERR_TPLOCK, NULL));
    release_all(c);
    if (n != 0)
        status = wait_for(c, d->locks, nodes, n, ns, caret_lock_more);
    if (n != 0 && status == YDB_OK)
        d->taken += n;
    if (n != 0 && status == YDB_OK && c->in != NULL)
        status = note_all(c, d, nodes, n);
    return leave(status);
}

static bool is_among(const caret_node *n, const caret_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (caret_node_equal(n, nodes[i]))
            return true;
    return false;
}

/* A name that is there twice is taken once. */
static int lock(struct caret__ydb_call *c, unsigned long long ns, int namecount, va_list args)
{
    const caret_node *nodes[YDB_MAX_NAMES];
    size_t count = 0;

    c->name = "ydb_lock_s";
    int status = caret__ydb_check_time(c, ns);
    if (status == YDB_OK)
        status = caret__ydb_namecount_check(c, namecount);
    if (status != YDB_OK)
        return status;
    caret_node_buf *room = calloc((size_t)namecount + 1, sizeof *room);
    if (room == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for %d names", namecount);
    for (int i = 0; status == YDB_OK && i < namecount; i++) {
        const ydb_buffer_t *v = va_arg(args, const ydb_buffer_t *);
        int n = va_arg(args, int);
        const ydb_buffer_t *subs = va_arg(args, const ydb_buffer_t *);
        status = lock_check(c, v, n, subs, caret__ydb_node_make(c, v, n, subs, &room[i]));
        if (status == YDB_OK && !is_among(&room[i].node, nodes, count))
            nodes[count++] = &room[i].node;
    }
    if (status == YDB_OK)
        status = take_list(c, ns, nodes, count);
    free(room);
    return status;
}

/* ------------------------------------------------------------------------ of M */

/* The database of a session of this call's. */
static struct caret__ydb_database *database_of(const struct caret__ydb_call *c, const caret_session *s)
{
    if (c->in != NULL && c->in->s == s)
        return c->in->database;
    for (const struct caret__ydb_own *own = c->self->sessions; own != NULL; own = own->next)
        if (own->s == s)
            return own->database;
    return NULL;
}

static int take_for_m(void *who, caret_session *s, const caret_node *const *nodes, size_t n,
                      uint64_t timeout_ns)
{
    struct caret__ydb_call *c = who;
    struct caret__ydb_database *d = database_of(c, s);

    if (d == NULL)
        return caret_lock_more(s, nodes, n, timeout_ns);
    caret__ydb_take(CARET__YDB_LOCKS);
    int rc = d->locks == NULL ? open_locks(d) : CARET_OK;
    if (rc == CARET_OK)
        rc = wait_in_slices(d->locks, nodes, n, timeout_ns, caret_lock_more);
    if (rc == CARET_OK) {
        d->taken += n;
        d->spare = d->spare > n ? d->spare - n : 0;
    }
    if (rc == CARET_OK && c->in != NULL && note_all(c, d, nodes, n) != YDB_OK)
        rc = CARET_E_NOMEM;
    caret__ydb_give(CARET__YDB_LOCKS);
    return rc;
}

static int give_for_m(void *who, caret_session *s, const caret_node *n)
{
    struct caret__ydb_call *c = who;
    struct caret__ydb_database *d = database_of(c, s);

    if (d == NULL || d->locks == NULL)
        return caret_unlock(s, n);
    caret__ydb_take(CARET__YDB_LOCKS);
    if (c->in != NULL)
        caret_m__held_drop(&c->in->tp.held, d->locks, n);
    int rc = caret_unlock(d->locks, n);
    d->taken -= rc == CARET_OK;
    caret__ydb_give(CARET__YDB_LOCKS);
    return rc;
}

static char *held_for_m(void *who, caret_session *s)
{
    struct caret__ydb_database *d = database_of(who, s);
    caret_lock_list *list;
    char *text = NULL;
    size_t len;

    if (d == NULL || caret_locks_get(d->db, &list) != CARET_OK)
        return strdup("");
    FILE *f = open_memstream(&text, &len);
    for (size_t i = 0; f != NULL && i < list->count; i++)
        if (list->lock[i].pid == (uint64_t)getpid() && !list->lock[i].waits)
            fprintf(f, "%u %s\n", list->lock[i].count, list->lock[i].name);
    if (f != NULL)
        fclose(f);
    caret_locks_free(list);
    return text;
}

const struct caret_m__locks caret__ydb_locks_of_m = {
    .take = take_for_m, .give = give_for_m, .held = held_for_m};

/* ------------------------------------------------------------------------- ABI */

int ydb_lock_s(unsigned long long timeout_nsec, int namecount, ...)
{
    struct caret__ydb_call c;
    va_list args;

    if (!caret__ydb_begin(&c))
        return c.status;
    va_start(args, namecount);
    int status = lock(&c, timeout_nsec, namecount, args);
    va_end(args);
    return caret__ydb_end(&c, status);
}

int ydb_lock_st(uint64_t tptoken, ydb_buffer_t *errstr, unsigned long long timeout_nsec, int namecount, ...)
{
    struct caret__ydb_call c;
    va_list args;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    va_start(args, namecount);
    int status = lock(&c, timeout_nsec, namecount, args);
    va_end(args);
    return caret__ydb_end_st(&c, status);
}

int ydb_lock_incr_s(unsigned long long timeout_nsec, const ydb_buffer_t *varname, int subs_used,
                    const ydb_buffer_t *subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, lock_incr(&c, timeout_nsec, varname, subs_used, subsarray));
}

int ydb_lock_incr_st(uint64_t tptoken, ydb_buffer_t *errstr, unsigned long long timeout_nsec,
                     const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, lock_incr(&c, timeout_nsec, varname, subs_used, subsarray));
}

int ydb_lock_decr_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, lock_decr(&c, varname, subs_used, subsarray));
}

int ydb_lock_decr_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                     const ydb_buffer_t *subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, lock_decr(&c, varname, subs_used, subsarray));
}
