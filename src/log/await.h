/*
 * await.h - sleeping until something is committed at or below a node.
 */
#ifndef CARET_LOG_AWAIT_H
#define CARET_LOG_AWAIT_H

#include "base/bytes.h"
#include "base/racy.h"
#include "disk/record.h"
#include "shm/engine.h"

/* A thread that waits: on its own stack, from begin to end of one wait. */
struct caret__await {
    struct caret__engine *e;
    uint32_t i; /* its place in sh->awaiters */
    uint64_t owner;
};

/* Take a place; `key` with its len bytes, none for everything, says what it waits for.  To be ended. */
void caret__await_begin(struct caret__await *w, struct caret__engine *e, const uint8_t *key, size_t len);
void caret__await_end(struct caret__await *w);

/* Before it is looked whether there is something: from now on a commit wakes us.  The word to sleep on, and what it
 * says. */
_Atomic uint32_t *caret__await_arm(const struct caret__await *w, uint32_t *seen);

/* A writer that died in a commit has woken no waiter: see to it that it is finished, if it was begun.  Without
 * the writer mutex. */
int caret__await_settle(struct caret__engine *e);

/* Is the change at, below, or by a kill above the key that somebody waits for, or is something of that in its range?
 * The key may change meanwhile. */
static inline bool caret__concerns(const struct caret__op_view *op, const uint8_t *key, size_t len)
{
    uint8_t stable[CARET__KEY_MAX], end[CARET__PLACE_MAX];

    if (op->kind == CARET__OP_RANGE) {
        struct caret__span r = caret__op_span(op, end);
        caret__racy_copy(stable, key, len);
        return len == 0 || caret__span_has(&r, stable, len) ||
               (r.lo_len >= len && memcmp(r.lo, stable, len) == 0);
    }
    if (op->klen < len)
        return op->kind == CARET__OP_KILL && caret__racy_cmp(op->key, key, op->klen) == 0;
    return caret__racy_cmp(op->key, key, len) == 0;
}

/* Wake those whom the record concerns; NULL: all. */
void caret__await_wake(struct caret__engine *e, const uint8_t *rec, uint32_t size);

/*
 * After the writer mutex was unlocked: the record was committed.  The load must not come before the store of
 * log_applied: unlocking is an exchange, which orders the two on x86-64; elsewhere a fence does.
 */
static inline void caret__await_tell(struct caret__engine *e, const uint8_t *rec, uint32_t size)
{
#ifndef __x86_64__
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (__builtin_expect(atomic_load_explicit(&e->sh->awaiting, memory_order_relaxed) != 0, 0))
        caret__await_wake(e, rec, size);
}

#endif
