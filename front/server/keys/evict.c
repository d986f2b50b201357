/*
 * evict.c - maxmemory and its policies: evict.h.
 */
#include "server/keys/evict.h"

#include <stdlib.h>
#include <time.h>

#include "server/dispatch.h"
#include "server/event.h"
#include "server/keys/access.h"
#include "server/keys/expire.h"
#include "server/multi.h"
#include "server/worker.h"

enum {
    PAGE = 4096,
    NODE_BYTES = 24,    /* of a page, for a node beside its bytes */
    LOOKS = 8,          /* commands between looks at the pages */
    HOLES = 4,          /* so much of all may be room in pages that were full */
    MOST = 500,         /* keys that one command evicts, */
    MICROSECONDS = 2000 /* and how long it may take */
};

uint64_t serve__key_bytes(const struct serve__key *k)
{
    return NODE_BYTES + k->name.len + k->value.len + k->state_len + k->count * 2 * NODE_BYTES;
}

/* ------------------------------------------------------------------- used */

/* Pages died: that much of what was evicted is gone. */
static void settle(struct serve__shared *s, uint64_t bytes)
{
    uint64_t credit = s->credit;
    while (credit != 0 &&
           !atomic_compare_exchange_weak(&s->credit, &credit, credit > bytes ? credit - bytes : 0)) {
    }
}

static uint64_t pages_used(struct serve__worker *w)
{
    caret_stats st = {.size = sizeof st};
    struct serve__shared *s = w->shared;
    if (caret_stat(w->db, &st) != CARET_OK)
        return 0;
    uint64_t now = st.pages - st.free_pages - st.held_pages - st.dead_pages,
             before = atomic_exchange(&s->pages, now);
    if (now < before)
        settle(s, (before - now) * PAGE);
    return now * PAGE;
}

uint64_t serve__memory_used(struct serve__worker *w)
{
    uint64_t pages = pages_used(w), credit = w->shared->credit;
    uint64_t used = (pages > credit ? pages - credit : 0) + sizeof *w * (uint64_t)w->shared->nworkers;
    if (used > w->shared->peak)
        w->shared->peak = used;
    return used;
}

/* ----------------------------------------------------------------- choice */

enum order { BY_IDLE, BY_FREQ, BY_CHANCE, BY_TIME };

struct victim {
    unsigned db;
    uint64_t score; /* the highest is taken */
    size_t len;     /* SIZE_MAX: none yet */
    int64_t expiry; /* of a volatile one: that of its entry */
    char subscript[SERVE__SUBSCRIPT_MAX];
};

static enum order order_of(const char *policy)
{
    return strstr(policy, "lru") != NULL      ? BY_IDLE
           : strstr(policy, "lfu") != NULL    ? BY_FREQ
           : strstr(policy, "random") != NULL ? BY_CHANCE
                                              : BY_TIME;
}

/* What speaks for taking this key. */
static uint64_t score(struct serve__call *q, enum order order, caret_slice subscript, int64_t expiry)
{
    uint64_t chance = serve__random(q->r) & 0xffff; /* among equals */
    switch (order) {
    case BY_IDLE: return (uint64_t)serve__access_idle(q, subscript) << 16 | chance;
    case BY_FREQ: return (uint64_t)(SERVE__FREQ_MOST - serve__access_freq(q, subscript)) << 16 | chance;
    case BY_CHANCE: return serve__random(q->r);
    case BY_TIME: break;
    }
    return UINT64_MAX - (uint64_t)expiry;
}

/* The last subscript of n, of the database q->db, is a key that was drawn. */
static int consider(struct serve__call *q, enum order order, const caret_node *n, int64_t expiry,
                    struct victim *best)
{
    char text[SERVE__SUBSCRIPT_MAX];
    size_t len;
    int rc = caret_node_subscript(n, caret_node_depth(n) - 1, text, sizeof text, &len, NULL);
    if (rc != CARET_OK)
        return rc;
    uint64_t s = score(q, order, (caret_slice){text, len}, expiry);
    if (best->len != SIZE_MAX && s < best->score)
        return CARET_OK;
    *best = (struct victim){.db = q->db, .score = s, .len = len, .expiry = expiry};
    memcpy(best->subscript, text, len);
    return CARET_OK;
}

/* One key of the database q->db. */
static int draw_any(struct serve__call *q, enum order order, struct victim *best)
{
    caret_node_buf n = q->r->base[q->db];
    int rc = caret_any_child(q->s, &n.node, serve__random(q->r));
    return rc == CARET_OK ? consider(q, order, &n.node, 0, best) : rc;
}

/* One of those that expire, of any database; of volatile-ttl the first. */
static int draw_volatile(struct serve__call *q, enum order order, struct victim *best)
{
    caret_node_buf n = q->r->expiry;
    int64_t expiry = 0, db = 0;
    int rc = CARET_OK;
    for (unsigned depth = 0; rc == CARET_OK && depth < 3; depth++) {
        rc = order == BY_TIME ? caret_first(q->s, &n.node)
                              : caret_any_child(q->s, &n.node, serve__random(q->r));
        if (rc == CARET_OK && depth < 2)
            caret_node_last_as_int(&n.node, depth == 0 ? &expiry : &db);
    }
    if (rc != CARET_OK || db < 0 || db >= (int64_t)SERVE__DATABASES)
        return rc;
    q->db = (unsigned)db;
    return consider(q, order, &n.node, expiry, best);
}

static int choose(struct serve__call *q, struct victim *best)
{
    const char *policy = q->w->config.text[SERVE__CFG_maxmemory_policy];
    bool all = strncmp(policy, "allkeys", 7) == 0;
    enum order order = order_of(policy);
    enum { SAMPLES_MOST = 64 }; /* of each database, for one key: more takes long and finds no better */
    int64_t samples = order == BY_TIME ? 1 : q->w->config.n[SERVE__CFG_maxmemory_samples];
    samples = samples > SAMPLES_MOST ? SAMPLES_MOST : samples;
    int rc = CARET_OK;
    best->len = SIZE_MAX;
    for (unsigned db = 0; db < (all ? SERVE__DATABASES : 1); db++) {
        q->db = db;
        rc = CARET_OK;
        for (int64_t i = 0; rc == CARET_OK && i < samples; i++)
            rc = all ? draw_any(q, order, best) : draw_volatile(q, order, best);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    return best->len == SIZE_MAX ? CARET_NONE : CARET_OK;
}

/* ------------------------------------------------------------------- evict */

/* An entry of the index of times whose key is gone, or expires at another time. */
static int drop_entry(struct serve__call *q, const struct victim *v)
{
    struct serve__key k = {.node = q->r->base[v->db], .db = v->db, .expiry = v->expiry};
    int rc = caret_node_child(&k.node.node, sizeof k.node, &k.node.node, v->subscript, v->len);
    return rc == CARET_OK ? serve__expiry_change(q, &k, 0) : rc;
}

/* In a transaction: one key goes.  q->argc becomes 1 if there was one, and q->mark its bytes: nothing is answered. */
static int evict_one(struct serve__call *q)
{
    struct victim v;
    struct serve__key k;
    q->argc = 0;
    int rc = choose(q, &v);
    if (rc != CARET_OK)
        return rc;
    q->argc = 1;
    q->mark = 0;
    q->db = v.db;
    rc = serve__key_of_subscript(q, &k, (caret_slice){v.subscript, v.len});
    if (v.expiry != 0 && (rc == CARET_NONE || (rc == CARET_OK && k.expiry != v.expiry)))
        return drop_entry(q, &v);
    if (rc == CARET_OK)
        rc = serve__key_count(q, &k);
    if (rc != CARET_OK) /* children without a header */
        return rc == CARET_NONE ? caret_kill(q->s, &k.node.node) : rc;
    caret_slice name = k.name.data != NULL ? k.name : (caret_slice){v.subscript, v.len};
    if ((rc = caret_keep(q->s, &name)) != CARET_OK)
        return rc;
    q->mark = serve__key_bytes(&k);
    if ((rc = serve__key_delete(q, &k)) == CARET_OK)
        serve__changed(q, SERVE__EVENT_EVICTED, "evicted", name);
    return rc;
}

static int64_t microseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Make room, as far as that can be done shortly.  false: there is no key that may go. */
static bool evict(struct serve__worker *w, uint64_t most)
{
    int64_t end = microseconds() + MICROSECONDS;
    for (int i = 0; i < MOST && serve__memory_used(w) > most; i++) {
        struct serve__call q = {.w = w, .r = &w->run, .s = w->run.s, .now = w->now};
        if (serve__atomic_as(&q, evict_one, CARET_TXN_BATCH) != CARET_OK || q.argc == 0)
            return i > 0;
        if (w->shared->credit < most / HOLES)
            atomic_fetch_add(&w->shared->credit, q.mark);
        serve__add(&w->stats->evicted_keys, 1);
        serve__events_send(&w->run);
        if (microseconds() > end)
            break;
    }
    return true;
}

/* Is there too much yet, after what can be done? */
static bool still_too_much(struct serve__worker *w, uint64_t most)
{
    bool none = strcmp(w->config.text[SERVE__CFG_maxmemory_policy], "noeviction") == 0;
    return none || !evict(w, most) ? serve__memory_used(w) > most : false;
}

bool serve__memory_full(struct serve__call *q)
{
    struct serve__worker *w = q->w;
    uint64_t most = (uint64_t)w->config.n[SERVE__CFG_maxmemory];
    if (w->memory_at == w->now && w->memory_looks++ % LOOKS != 0)
        return w->memory_full;
    w->memory_at = w->now;
    w->memory_full = serve__memory_used(w) > most;
    if (!w->memory_full || caret_txn_level(q->s) > 0)
        return w->memory_full;
    w->memory_full = still_too_much(w, most);
    return w->memory_full;
}

/* Is it refused when there is no room?  EXEC is if one of its commands is, and what comes after MULTI, as it is kept
 * until then. */
static bool takes_room(struct serve__call *q)
{
    if (q->cmd->run == serve__cmd_exec)
        return serve__multi_takes_room(q->c);
    if (q->script == NULL && serve__is_script(q->cmd) && serve__script_takes_room != NULL &&
        serve__script_takes_room(q))
        return true;
    return (q->cmd->flags & SERVE__DENYOOM) ||
           (q->c != NULL && (q->c->flags & (SERVE__CONN_MULTI | SERVE__CONN_IN_EXEC)) == SERVE__CONN_MULTI &&
            q->cmd->run != serve__cmd_discard && q->cmd->run != serve__cmd_quit &&
            q->cmd->run != serve__cmd_reset);
}

bool serve__memory_refuses(struct serve__call *q)
{
    if (q->w->config.n[SERVE__CFG_maxmemory] == 0)
        return false;
    if (!serve__memory_full(q) || !takes_room(q))
        return false;
    serve__reject(q, "OOM command not allowed when used memory > 'maxmemory'.");
    return true;
}
