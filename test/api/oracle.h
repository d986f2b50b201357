/*
 * What every key must hold after a death, exactly: each worker notes in memory that survives it what it is about to do
 * to keys of its own, and that it was acknowledged.
 *
 *   begin   the keys and their new states are noted, then IN_FLIGHT
 *   ...     one commit: a set, a delete, a transaction over a few keys, a kill of a subtree or of a range of it,
 *           alone or with a set after it
 *   end     ACKNOWLEDGED; then what was new becomes what is there; then IDLE
 *
 * After a death every key must hold what is there, but for those of the operation in flight: all of them what was there
 * before, or all of them what is new; of an acknowledged one, what is new.  Half of the keys lie between those of
 * other workers, in the same leaves; the others in a subtree of the worker's own, which is killed now and then.
 */
#ifndef CARET_TEST_API_ORACLE_H
#define CARET_TEST_API_ORACLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rand.h"
#include "caret.h"

#define ORACLE_KEYS  48u
#define ORACLE_MIXED 24u /* the first of them are the mixed ones */
#define ORACLE_LONG  6000u

enum { ORACLE_IDLE, ORACLE_IN_FLIGHT, ORACLE_ACKNOWLEDGED };
enum oracle_what { ORACLE_CHANGE, ORACLE_KILL, ORACLE_RANGE };

/* Of one worker.  States of a key: 0 = no value, else a number that tells the value. */
struct oracle {
    _Atomic uint32_t state;
    uint32_t count; /* keys of the operation */
    uint32_t key[ORACLE_KEYS], fresh[ORACLE_KEYS];
    uint32_t is[ORACLE_KEYS];
    uint32_t last; /* the number given last */
    _Atomic uint64_t operations, checks, in_flight, found_new;
};

static inline caret_node *oracle_node(caret_node_buf *n, unsigned worker, unsigned key)
{
    bool mixed = key < ORACLE_MIXED;

    caret_node_var(&n->node, sizeof *n, mixed ? "^mixed" : "^own", mixed ? 6 : 4);
    caret_node_child_int(&n->node, sizeof *n, &n->node, mixed ? key : worker);
    caret_node_child_int(&n->node, sizeof *n, &n->node, mixed ? worker : key);
    return &n->node;
}

/* The value of that number: some are long enough to lie out of line. */
static inline size_t oracle_value(char *out, unsigned worker, unsigned key, uint32_t number)
{
    struct caret__rand r;
    size_t len;

    caret__rand_seed(&r, (uint64_t)number << 16 | worker << 8 | key);
    len =
        caret__rand_below(&r, 16) == 0 ? caret__rand_below(&r, ORACLE_LONG) : 1 + caret__rand_below(&r, 120);
    for (size_t i = 0; i < len; i++)
        out[i] = (char)caret__rand_below(&r, 256);
    return len;
}

/* ------------------------------------------------------------------ operations */

struct oracle_call {
    struct oracle *o;
    unsigned worker;
};

static inline int oracle_change(caret_session *s, void *arg)
{
    static char value[ORACLE_LONG];
    const struct oracle_call *c = arg;
    const struct oracle *o = c->o;
    int rc = CARET_OK;

    for (uint32_t i = 0; i < o->count && rc == CARET_OK; i++) {
        caret_node_buf n;
        oracle_node(&n, c->worker, o->key[i]);
        if (o->fresh[i] == 0)
            rc = caret_delete(s, &n.node);
        else
            rc = caret_set(s, &n.node, value, oracle_value(value, c->worker, o->key[i], o->fresh[i]));
    }
    return rc;
}

/* All that is in the subtree of the worker's own; number 0. */
static inline int oracle_kill(caret_session *s, unsigned worker)
{
    caret_node_buf n;

    oracle_node(&n, worker, ORACLE_MIXED);
    caret_node_parent(&n.node, sizeof n, &n.node);
    return caret_kill(s, &n.node);
}

/* Keys of the subtree that follow each other, the first and the last of the operation; that one may be set anew. */
static inline int oracle_kill_range(caret_session *s, void *arg)
{
    static char value[ORACLE_LONG];
    const struct oracle_call *c = arg;
    uint32_t last = c->o->count - 1, number = c->o->fresh[last];
    char from[12], to[12];
    caret_node_buf n;

    caret_slice lo = {from, (size_t)snprintf(from, sizeof from, "%u", c->o->key[0])};
    caret_slice hi = {to, (size_t)snprintf(to, sizeof to, "%u", c->o->key[last])};
    oracle_node(&n, c->worker, ORACLE_MIXED);
    caret_node_parent(&n.node, sizeof n, &n.node);
    int rc = caret_kill_range(s, &n.node, &lo, &hi, 0);
    if (rc == CARET_OK && number != 0)
        rc = caret_set(s, oracle_node(&n, c->worker, c->o->key[last]), value,
                       oracle_value(value, c->worker, c->o->key[last], number));
    return rc;
}

static inline void oracle_plan_range(struct oracle *o, struct caret__rand *r, bool all)
{
    uint32_t from = ORACLE_MIXED + (all ? 0 : caret__rand_below(r, ORACLE_KEYS - ORACLE_MIXED));

    o->count = all ? ORACLE_KEYS - from : 1 + caret__rand_below(r, ORACLE_KEYS - from);
    for (uint32_t i = 0; i < o->count; i++) {
        o->key[i] = from + i;
        o->fresh[i] = 0;
    }
    if (!all && caret__rand_below(r, 2) == 0)
        o->fresh[o->count - 1] = ++o->last;
}

static inline enum oracle_what oracle_plan(struct oracle *o, struct caret__rand *r)
{
    uint32_t what = caret__rand_below(r, 40), from = caret__rand_below(r, ORACLE_KEYS);

    if (what < 3) {
        oracle_plan_range(o, r, what == 0);
        return what == 0 ? ORACLE_KILL : ORACLE_RANGE;
    }
    o->count = caret__rand_below(r, 3) == 0 ? 2 + caret__rand_below(r, 4) : 1;
    for (uint32_t i = 0; i < o->count; i++) {
        o->key[i] = (from + i * 7) % ORACLE_KEYS;
        o->fresh[i] = caret__rand_below(r, 5) == 0 ? 0 : ++o->last;
    }
    return ORACLE_CHANGE;
}

/* In a transaction if it is more than one change. */
static inline int oracle_do(struct oracle_call *c, caret_session *s, enum oracle_what what)
{
    bool set = c->o->fresh[c->o->count - 1] != 0;

    if (what == ORACLE_KILL)
        return oracle_kill(s, c->worker);
    if (what == ORACLE_RANGE)
        return set ? caret_transaction(s, oracle_kill_range, c, 0) : oracle_kill_range(s, c);
    return c->o->count == 1 ? oracle_change(s, c) : caret_transaction(s, oracle_change, c, 0);
}

static inline void oracle_accept(struct oracle *o)
{
    for (uint32_t i = 0; i < o->count; i++)
        o->is[o->key[i]] = o->fresh[i];
    atomic_store(&o->state, ORACLE_IDLE);
}

/* One operation, noted.  What caret said. */
static inline int oracle_round(struct oracle *o, caret_session *s, unsigned worker, struct caret__rand *r)
{
    struct oracle_call c = {o, worker};
    enum oracle_what what = oracle_plan(o, r);

    atomic_store(&o->state, ORACLE_IN_FLIGHT);
    int rc = oracle_do(&c, s, what);
    if (rc != CARET_OK)
        return rc;
    atomic_store(&o->state, ORACLE_ACKNOWLEDGED);
    oracle_accept(o);
    atomic_fetch_add(&o->operations, 1);
    return CARET_OK;
}

/* --------------------------------------------------------------------- checks */

static inline bool oracle_is(caret_session *s, unsigned worker, unsigned key, uint32_t number)
{
    static char value[ORACLE_LONG];
    caret_node_buf n;
    caret_slice have;
    int rc = caret_get(s, oracle_node(&n, worker, key), &have);

    if (rc != CARET_OK && rc != CARET_NONE) {
        fprintf(stderr, "oracle: %s\n", caret_message());
        return false;
    }
    if (number == 0 || rc == CARET_NONE)
        return number == 0 && rc == CARET_NONE;
    size_t len = oracle_value(value, worker, key, number);
    return have.len == len && memcmp(have.data, value, len) == 0;
}

/* Those of the operation: are they all as they were (fresh: as they were to be)? */
static inline bool oracle_all(const struct oracle *o, caret_session *s, unsigned worker, bool fresh)
{
    for (uint32_t i = 0; i < o->count; i++)
        if (!oracle_is(s, worker, o->key[i], fresh ? o->fresh[i] : o->is[o->key[i]]))
            return false;
    return true;
}

/*
 * The worker is dead (or was never alive): does every key hold what it must?  Then the notes are made good for a
 * successor.  NULL, or what is wrong.  Whoever calls this may die too, and somebody else do it again.
 */
static inline const char *oracle_check(struct oracle *o, caret_session *s, unsigned worker)
{
    static char text[100];
    caret_node_buf n;
    uint32_t state = atomic_load(&o->state);

    caret_node_var(&n.node, sizeof n, "^settle", 7); /* a write has the commits of the dead repaired */
    if (caret_set(s, &n.node, "", 0) != CARET_OK)
        return caret_message();
    if (state != ORACLE_IDLE) {
        bool is_fresh = oracle_all(o, s, worker, true);
        if (!is_fresh && (state == ORACLE_ACKNOWLEDGED || !oracle_all(o, s, worker, false))) {
            snprintf(text, sizeof text, "worker %u: an operation on %u keys is %s", worker, o->count,
                     state == ORACLE_ACKNOWLEDGED ? "lost" : "there in part");
            return text;
        }
        atomic_fetch_add(&o->in_flight, 1);
        atomic_fetch_add(&o->found_new, is_fresh);
        if (is_fresh)
            oracle_accept(o);
        atomic_store(&o->state, ORACLE_IDLE);
    }
    for (unsigned k = 0; k < ORACLE_KEYS; k++) {
        if (!oracle_is(s, worker, k, o->is[k])) {
            snprintf(text, sizeof text, "worker %u: key %u does not hold number %u", worker, k, o->is[k]);
            return text;
        }
    }
    atomic_fetch_add(&o->checks, 1);
    return NULL;
}

#endif
