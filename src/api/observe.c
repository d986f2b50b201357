/*
 * observe.c - sessions of a database that was opened read-only.
 *
 * Nobody keeps anything for an engine that observes (open/observe.c), so what a call
 * has read counts only if the view was not overtaken by then:
 *
 *     call  ->  read, as ever  ->  overtaken?  no: that is the answer
 *                                              yes, in a transaction: CARET_RESTART,
 *                                                   ten times and for ten seconds: BUSY
 *                                              yes: open anew, read again
 *
 * Whatever was read, an error too, means nothing when the view is over: pages may
 * have been overwritten under it.  The node is put back as it was before.
 *
 * A handle and each of its sessions have a reference to the engine they use.  When
 * it is over, the first that notices has the handle open the database anew; the
 * others follow at their next call.  The last one lets go of the old engine.
 *
 * Nothing is to be attached in a forked child; but the transaction that a session was in is its parent's, so it is
 * dropped with the child's first call.
 *
 * All this costs the sessions of other databases nothing: the word that tells a
 * forked child is 0 for an engine that observes, so each call takes the slow way
 * through caret__session_refuse().
 */
#include "api/session.h"

#include <string.h>

#include "base/process.h"
#include "open/open.h"
#include "tree/past.h"

#define TRIES          1000u /* arbitrary: each is a checkpoint that came during a call */

/* A transaction that is overtaken again and again for so long will be for ever. */
#define OVERTAKEN_MOST 10u
#ifdef CARET_SMALL
#define OVERTAKEN_NS UINT64_C(300000000)
#else
#define OVERTAKEN_NS UINT64_C(10000000000)
#endif

/* Go over to the engine that the handle has now. */
static int move_on(caret_session *s)
{
    struct caret__engine *old = s->e, *e;
    int rc = caret__db_engine(s->db, &e);

    if (rc != CARET_OK)
        return rc;
    caret__past_destroy(&s->global);
    caret__session_bind(s, e);
    caret__engine_close(old);
    return CARET_OK;
}

int caret__observe_enter(caret_session *s)
{
    if (s->process != caret__process()) {
        caret__txn_forget(s); /* it is the parent's */
        s->process = caret__process();
    }
    if (s->observing || !caret__observed_over(s->e))
        return CARET_OK;
    if (s->txn.level == 0)
        return move_on(s);
    s->txn.broken = true;
    return CARET_OK;
}

int caret__observe_restart(caret_session *s)
{
    struct caret__txn *t = &s->txn;
    uint64_t now = caret__now_ns();

    if (!s->observes || !caret__observed_over(s->e))
        return CARET_OK;
    if (t->restarts == 0) {
        t->overtaken = 0;
        t->overtaken_since = now;
    }
    if (++t->overtaken > OVERTAKEN_MOST && now - t->overtaken_since > OVERTAKEN_NS)
        return caret__fail(
            CARET_E_BUSY,
            "%s: this transaction began %u times, and each time a checkpoint replaced what it "
            "was reading: the shared memory of those who write is out of reach here, so nobody "
            "keeps pages for it.  Read in shorter transactions, or from a backup, or let "
            "this process have access to their shared memory",
            s->e->path, t->overtaken);
    return move_on(s);
}

/* Again and again until the view holds; the node is `before` each time. */
static int read_whole(caret_session *s, caret_node *n, const void *before, size_t bytes, caret__reader *read,
                      void *arg)
{
    for (unsigned i = 0; i < TRIES; i++) {
        int rc = read(s, n, arg);
        if (!s->observes || !caret__observed_over(s->e))
            return rc;
        memcpy(n, before, bytes);
        if (s->txn.level != 0) {
            s->txn.broken = true;
            return CARET_RESTART;
        }
        rc = move_on(s);
        if (rc != CARET_OK)
            return rc;
    }
    return caret__fail(CARET_E_BUSY, "%s: checkpoints come faster than it can be read", s->e->path);
}

int caret__observe_call(caret_session *s, caret_node *n, caret__reader *read, void *arg)
{
    caret_node_buf before;
    size_t bytes = sizeof *n + caret__node(n)->key_len;

    memcpy(&before, n, bytes);
    s->observing = true;
    int rc = read_whole(s, n, &before, bytes, read, arg);
    s->observing = false;
    return rc;
}
