/*
 * blocked.h - clients that wait for a key: BLPOP, BZPOPMIN, XREAD BLOCK and their kin.
 *
 * How to write such a command.  It looks for what it wants, as if it never waited; if there is nothing it ends
 * with serve__block(), which names the keys to wait for:
 *
 *     int64_t until;
 *     int rc = serve__block_until(q, q->argc - 1, &until);
 *     for (int i = 1; rc == CARET_OK && i < q->argc - 1; i++) {
 *         if (!serve__block_wants(q, q->argv[i]))
 *             continue;
 *         rc = take(q, q->argv[i]);            answers, or CARET_NONE
 *         if (rc != CARET_NONE)
 *             return serve__block_result(q, rc);
 *         rc = CARET_OK;
 *     }
 *     return rc == CARET_OK ? serve__block(q, 1, q->argc - 2, until) : rc;
 *
 * When one of the keys is told with serve__ready(), by any client of any worker, the command is run again for
 * the client that waits longest, then for the next, in the transaction that made the key ready: so nobody
 * comes between.  It has q->ready then, the key that got something, and q->c is NULL: the client may belong
 * to another worker.  It answers to q->reply as ever, or says that there is nothing for it: serve__block()
 * does, and serve__block_result() of a key of another type.
 *   What else it returns is answered to the client as an error, which ends its wait.
 *   Within EXEC and scripts nobody waits: serve__block() answers a null array at once.
 *
 * The row of the table needs no `plain`.  What of its arguments means another thing later (the ID $ of XREAD)
 * is replaced: serve__block_as().
 */
#ifndef CARET_SERVER_BLOCKED_H
#define CARET_SERVER_BLOCKED_H

#include "server/worker.h"

/* The argument i, seconds as a number, as the moment until which is waited, in milliseconds since 1970; 0:
 * for ever.  With the errors of BLPOP.  And of milliseconds (XREAD BLOCK). */
int serve__block_until(struct serve__call *q, int i, int64_t *until);
int serve__block_until_ms(struct serve__call *q, int i, int64_t *until);

/* Is this a key to look at?  All are, but for a client that has waited: then the one that is ready. */
static inline bool serve__block_wants(const struct serve__call *q, caret_slice name)
{
    return q->ready == NULL ||
           (q->ready->len == name.len && memcmp(q->ready->data, name.data, name.len) == 0);
}

/* What a look at a key gave: of a client that waits, a key of another type is not for it (CARET_NONE). */
static inline int serve__block_result(const struct serve__call *q, int rc)
{
    return q->ready != NULL && rc == SERVE__E_TYPE ? CARET_NONE : rc;
}

/* May the command wait?  Not within EXEC and scripts. */
bool serve__block_allowed(const struct serve__call *q);

/* There is nothing: wait for the keys that are the n arguments from `first` on.  Nothing has been answered,
 * and nothing written. */
int serve__block(struct serve__call *q, int first, int n, int64_t until);
/* The same, with other arguments than those that came: the command is run with these. */
int serve__block_as(struct serve__call *q, const caret_slice *argv, int argc, int first, int n,
                    int64_t until);

/* CLIENT UNBLOCK: *was tells whether the client waited. */
int serve__block_end(struct serve__call *q, uint64_t client, bool error, bool *was);

/* ----------------------------------------------------------- for the loop */

/* Is any client of any worker waiting?  Some loads. */
static inline bool serve__anybody_blocked(const struct serve__worker *w)
{
    for (int i = 0; i < w->shared->nworkers; i++)
        if (atomic_load_explicit(&w->shared->stats[i].blocked, memory_order_relaxed) != 0)
            return true;
    return false;
}

/* In a worker that starts, after its session is open.  And when it ends. */
bool serve__blocked_open(struct serve__worker *w);
void serve__blocked_close(struct serve__worker *w);

/* Each turn: end waits whose time is over.  Milliseconds until the next, at most `most`. */
int serve__blocked_turn(struct serve__worker *w, int most);

/* Around the commit of an outermost transaction (dispatch.c): serve clients that wait, in it; then, when
 * it is committed, tell them; or forget what was done, as it is run again or undone. */
int serve__blocked_serve(struct serve__call *q, size_t from); /* of its events */
void serve__blocked_committed(struct serve__runner *r);
void serve__blocked_forget(struct serve__runner *r);

#endif
