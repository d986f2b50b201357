/*
 * subtree.c - whole subtrees: merge, copy, move, count.
 *
 * All of them go through the leaves of [key, key 0xFF), as api/range.h does it, with a copy of each but to count;
 * caret_count_in() through those of a range.  What is copied is set in the transaction key by key: a key of the target
 * is the target's own and then what the source's key has after the source's.  So sets come in key order, as a pile
 * likes them (txn/pile.c).
 *
 * Outside of a transaction each call makes one of its own, which is begun again when others change what it read; so its
 * outcome is that of one moment.  Only merging locals into locals needs none: nobody else sees them.
 *
 * A transaction of its own has changed nothing before.  So kills, of the target of a copy and of the source of a move,
 * come first in its list, before all sets, the lower key first: a record in key order is done leaf by leaf
 * (log/apply.c).  If the program's transaction has changed something of the source, the source is walked as the
 * transaction sees it, node by node.
 *
 * Source and target are never below each other, so nothing that is set comes along as source.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/range.h"
#include "base/bytes.h"
#include "base/key.h"

enum what { MERGE, COPY, MOVE };

/* Bytes of a name in a message; longer ones are cut. */
#define SHOWN 200u

/* --------------------------------------------------------------------- count */

struct counting {
    struct caret__span span;
    uint64_t count;
};

static int add_up(void *arg, const struct caret__part *part)
{
    *(uint64_t *)arg += part->to - part->from;
    return CARET_OK;
}

/* As the transaction sees it, which has changed something there. */
static int count_merged(caret_session *s, bool local, const struct caret__span *span, uint64_t *count)
{
    uint8_t key[CARET__KEY_MAX + 2];
    size_t len = span->lo_len;
    struct caret__at at;
    int rc;

    memcpy(key, span->lo, len);
    while ((rc = caret__session_from(s, caret__place_of(s, local), key, &len, &at)) == CARET_OK) {
        if (!caret__span_has(span, key, len))
            return CARET_OK;
        ++*count;
        key[len++] = 0; /* the smallest string after it */
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* In a transaction, or of locals: of the span, which is of the node and what is below it. */
static int count_span(caret_session *s, caret_node *n, void *arg)
{
    struct counting *c = arg;
    const struct caret__node *k = caret__node_const(n);

    c->count = 0;
    if (!caret__is_plain(s, k))
        return count_merged(s, k->local, &c->span, &c->count);
    if (!k->local && s->remote != NULL)
        return caret__remote_count(s->remote, &c->span, 0, &c->count);
    return caret__each_leaf(s, &c->span, k->local, false, add_up, &c->count);
}

struct counting_node {
    struct counting c;
    caret_node *n;
};

static int count_in_txn(caret_session *s, void *arg)
{
    struct counting_node *c = arg;

    return caret__read_in_txn(s, c->n, count_span, &c->c);
}

static int count(caret_session *s, caret_node *n, const struct caret__span *span, uint64_t *found)
{
    struct counting_node c = {{*span, 0}, n};
    int rc;

    if (caret__node(n)->local) {
        rc = caret__session_locals(s);
        rc = rc == CARET_OK ? count_span(s, n, &c.c) : rc;
    } else if (s->txn.level != 0) {
        rc = count_in_txn(s, &c);
    } else {
        rc = caret_transaction(s, count_in_txn, &c, 0);
    }
    if (rc == CARET_OK)
        *found = c.c.count;
    return rc;
}

int caret_count(caret_session *s, caret_node *n, uint64_t *found)
{
    uint8_t end[CARET__PLACE_MAX];
    int rc = caret__args_check(__func__, s, n);

    if (rc == CARET_OK && found == NULL)
        rc = caret__null(__func__, "count", "a place for the number");
    if (rc != CARET_OK)
        return rc;
    const struct caret__node *k = caret__node_const(n);
    const struct caret__span below = caret__span_below(caret__node_key(k), k->key_len, end);
    return count(s, n, &below, found);
}

int caret_count_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to, int flags,
                   uint64_t *found)
{
    struct caret__children c;
    int rc = found != NULL ? caret__range_args(__func__, s, n, from, to, flags, &c)
                           : caret__null(__func__, "count", "a place for the number");

    if (rc == CARET_OK)
        return count(s, n, &c.span, found);
    if (rc != CARET_NONE)
        return rc;
    *found = 0;
    return CARET_OK;
}

/* -------------------------------------------------------- merge, copy and move */

/* [key, key 0xFF): a node and all below it. */
struct range {
    const uint8_t *key;
    size_t len;
    bool local;
};

static struct range range_of(const caret_node *n)
{
    const struct caret__node *k = caret__node_const(n);

    return (struct range){caret__node_key(k), k->key_len, k->local != 0};
}

struct job {
    enum what what;
    caret_session *s;
    struct range from, to;
    uint8_t key[CARET__KEY_MAX]; /* of what is set: the target's first */
    unsigned to_depth;           /* subscripts of the target */
    unsigned deeper;             /* levels of the target below the source's; 0 if it is not */
    bool own;                    /* the transaction is this call's */
    bool first;  /* so kills come first, as the source is read beneath them: not at a server */
    bool trying; /* nothing is set: do all keys fit? */
};

static unsigned levels_of(const uint8_t *rest, size_t len)
{
    unsigned n = 0;

    for (size_t sub; len != 0 && (sub = caret__sub_len(rest, len)) != 0; rest += sub, len -= sub)
        n++;
    return n;
}

/* Can there be such a key at the target? */
static int check_fit(const struct job *j, const uint8_t *rest, size_t len)
{
    if (j->to.len + len > CARET__KEY_MAX)
        return caret__fail(CARET_E_KEY2BIG, "a key would have %zu bytes at the target; %u are the limit",
                           j->to.len + len, CARET__KEY_MAX);
    unsigned levels = j->deeper != 0 ? j->to_depth + levels_of(rest, len) : 0;
    if (levels > CARET_MAX_SUBS)
        return caret__fail(CARET_E_MAXSUBS, "a node would have %u subscripts at the target; %u are the limit",
                           levels, CARET_MAX_SUBS);
    return CARET_OK;
}

/* A key of the source: what comes of it. */
static int set_one(struct job *j, const uint8_t *rest, size_t len, const void *val, size_t vlen)
{
    size_t klen = j->to.len + len;
    int rc = check_fit(j, rest, len);

    if (rc != CARET_OK || j->trying)
        return rc;
    memcpy(j->key + j->to.len, rest, len);
    return j->to.local ? caret__local_put(j->s, j->key, klen, val, vlen)
                       : caret__txn_put(j->s, j->key, klen, val, vlen);
}

/* A value out of line, which may have gone since: then its leaf has changed. */
static int set_long(struct job *j, const uint8_t *rest, size_t len)
{
    uint8_t key[CARET__KEY_MAX];
    caret_node_buf n;
    caret_slice v;

    memcpy(key, j->from.key, j->from.len);
    memcpy(key + j->from.len, rest, len);
    int rc = caret__node_make(&n.node, sizeof n, false, key, j->from.len + len);
    if (rc == CARET_OK)
        rc = caret__get_committed(j->s, &n.node, &v);
    if (rc == CARET_OK)
        return set_one(j, rest, len, v.data, v.len);
    return rc == CARET_NONE ? CARET_RESTART : rc;
}

static int set_entry(struct job *j, const struct caret__entry *e, const uint8_t *rest, size_t len)
{
    const uint8_t *val = e->val;
    size_t vlen = e->vlen;

    if (j->from.local)
        caret__private_value(e, &val, &vlen);
    else if (e->run && !j->trying)
        return set_long(j, rest, len);
    return set_one(j, rest, len, val, vlen);
}

static int set_part(void *arg, const struct caret__part *part)
{
    struct job *j = arg;
    uint8_t rest[CARET__KEY_MAX];
    const uint8_t *prefix;
    size_t plen = caret__page_prefix(part->page, &prefix), cut = j->from.len;
    size_t kept = plen > cut ? plen - cut : 0, skip = plen < cut ? cut - plen : 0;
    int rc = CARET_OK;

    if (kept != 0)
        memcpy(rest, prefix + cut, kept);
    for (unsigned i = part->from; i < part->to && rc == CARET_OK; i++) {
        struct caret__entry e = caret__page_entry(part->page, i);
        size_t len = kept + e.klen - skip;
        memcpy(rest + kept, e.key + skip, e.klen - skip);
        rc = set_entry(j, &e, rest, len);
    }
    return rc;
}

/* The transaction has changed the source: node by node. */
static int set_merged(struct job *j)
{
    caret_node_buf n;
    caret_slice v;
    int rc = caret__node_make(&n.node, sizeof n, j->from.local, j->from.key, j->from.len);

    if (rc == CARET_OK)
        rc = caret_get(j->s, &n.node, &v);
    if (rc == CARET_NONE)
        rc = caret_node_next_get(j->s, &n.node, &v);
    for (; rc == CARET_OK; rc = caret_node_next_get(j->s, &n.node, &v)) {
        const struct caret__node *k = caret__node(&n.node);
        const uint8_t *key = caret__node_key(k);
        if (k->key_len < j->from.len || memcmp(key, j->from.key, j->from.len) != 0)
            return CARET_OK;
        int bad = set_one(j, key + j->from.len, k->key_len - j->from.len, v.data, v.len);
        if (bad != CARET_OK)
            return bad;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Everything that is set, or, while it is tried, only looked at. */
static int set_all(struct job *j, bool merged, bool trying)
{
    j->trying = trying;
    if (merged)
        return set_merged(j);
    uint8_t end[CARET__PLACE_MAX];
    const struct caret__span below = caret__span_below(j->from.key, j->from.len, end);
    return caret__each_leaf(j->s, &below, j->from.local, true, set_part, j);
}

/* Where what was set could not be taken back: does every key fit? */
static int try_all(struct job *j, bool merged)
{
    return j->own || (j->to.len <= j->from.len && j->deeper == 0) ? CARET_OK : set_all(j, merged, true);
}

static int kill_range(struct job *j, const struct range *r)
{
    caret_node_buf n;

    if (j->first && !r->local)
        return caret__buffer_kill_first(&j->s->txn, r->key, r->len);
    int rc = caret__node_make(&n.node, sizeof n, r->local, r->key, r->len);
    return rc == CARET_OK ? caret_kill(j->s, &n.node) : rc;
}

/* Is there something of globals, before anything was changed? */
static int is_there(caret_session *s, const struct range *r)
{
    uint8_t key[CARET__KEY_MAX + 2];
    size_t len = r->len;
    struct caret__at at;

    memcpy(key, r->key, len);
    int rc = caret__session_from(s, CARET__IN_DATABASE, key, &len, &at);
    return rc == CARET_OK && (len < r->len || memcmp(key, r->key, r->len) != 0) ? CARET_NONE : rc;
}

/* What goes of globals in a transaction of this call's own, before anything is set, the lower key first. */
static int kill_first(struct job *j)
{
    const struct range *goes[2] = {j->what != MERGE && !j->to.local ? &j->to : NULL,
                                   j->what == MOVE && !j->from.local ? &j->from : NULL};
    int rc = CARET_OK, lower = caret__bytes_compare(j->from.key, j->from.len, j->to.key, j->to.len) < 0;

    for (int i = 0; i < 2 && rc == CARET_OK; i++)
        if (goes[i] != NULL && (rc = is_there(j->s, goes[i])) == CARET_NONE) {
            goes[i] = NULL;
            rc = CARET_OK;
        }
    for (int i = 0; i < 2 && rc == CARET_OK; i++)
        if (goes[i ^ lower] != NULL)
            rc = kill_range(j, goes[i ^ lower]);
    return rc;
}

/* In a transaction, or all of it in locals. */
static int do_job(caret_session *s, caret_node *n, void *arg)
{
    struct job *j = arg;
    bool merged = j->from.local
                      ? !s->has_locals
                      : s->remote != NULL || caret__buffer_touches(&s->txn, j->from.key, j->from.len);
    int rc = try_all(j, merged);

    (void)n;
    memcpy(j->key, j->to.key, j->to.len);
    if (rc == CARET_OK && j->first)
        rc = kill_first(j);
    if (rc == CARET_OK && j->what != MERGE && (!j->first || j->to.local))
        rc = kill_range(j, &j->to);
    if (rc == CARET_OK)
        rc = set_all(j, merged, false);
    if (rc == CARET_OK && j->what == MOVE && (!j->first || j->from.local))
        rc = kill_range(j, &j->from);
    return rc;
}

static int writes_globals(const struct job *j)
{
    return !j->to.local || (j->what == MOVE && !j->from.local);
}

static int do_in_txn(caret_session *s, void *arg)
{
    struct job *j = arg;
    caret_node_buf n; /* for an eye on the view */
    int rc = CARET_OK;

    if (writes_globals(j))
        rc = s->remote != NULL ? caret__remote_writes(s) : caret__session_writes(s);

    if (rc == CARET_OK && (j->from.local || j->to.local))
        rc = caret__session_locals(s);
    if (rc == CARET_OK && j->own && (j->from.local || j->to.local))
        rc = caret_txn_restore_locals(s, 1);
    if (rc == CARET_OK)
        rc = caret__node_make(&n.node, sizeof n, j->from.local, j->from.key, j->from.len);
    if (rc == CARET_OK && writes_globals(j))
        caret__count(s, CARET__SETS);
    return rc == CARET_OK ? caret__read_in_txn(s, &n.node, do_job, j) : rc;
}

static int refuse_overlap(const char *function, const caret_node *below, const caret_node *above)
{
    char names[2][SHOWN + 4];
    const caret_node *of[] = {below, above};

    for (int i = 0; i < 2; i++) {
        size_t len;
        char text[SHOWN];
        if (caret_node_zwr(of[i], 0, text, sizeof text, &len) == CARET_OK)
            snprintf(names[i], sizeof names[i], "%.*s", (int)len, text);
        else
            snprintf(names[i], sizeof names[i], "a node of %u subscripts", caret_node_depth(of[i]));
    }
    return caret__fail(CARET_E_INVALID, "%s: %s is below %s: neither can be copied to the other", function,
                       names[0], names[1]);
}

/* CARET_NONE: there is nothing to do, they are the same. */
static int check_places(const char *function, const caret_session *s, const caret_node *to,
                        const caret_node *from)
{
    if (s == NULL)
        return caret__null(function, "s", "a session");
    if (!caret__node_whole(to) || !caret__node_whole(from))
        return caret__node_whole(to) ? caret__not_a_node(function, "from", from)
                                     : caret__not_a_node(function, "to", to);
    struct range a = range_of(to), b = range_of(from);
    if (a.local != b.local || memcmp(a.key, b.key, caret__min(a.len, b.len)) != 0)
        return CARET_OK;
    if (a.len == b.len)
        return CARET_NONE;
    return a.len > b.len ? refuse_overlap(function, to, from) : refuse_overlap(function, from, to);
}

static int start(const char *function, caret_session *s, const caret_node *to, const caret_node *from,
                 enum what what)
{
    int rc = check_places(function, s, to, from);

    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    struct job j = {.what = what, .s = s, .from = range_of(from), .to = range_of(to)};
    j.to_depth = caret_node_depth(to);
    j.deeper = j.to_depth > caret_node_depth(from) ? j.to_depth - caret_node_depth(from) : 0;
    if (j.from.local && j.to.local) {
        rc = caret__session_locals(s);
        return rc == CARET_OK ? do_job(s, NULL, &j) : rc;
    }
    j.own = s->txn.level == 0;
    j.first = j.own && s->remote == NULL;
    return j.own ? caret_transaction(s, do_in_txn, &j, 0) : do_in_txn(s, &j);
}

int caret_merge(caret_session *s, const caret_node *to, const caret_node *from)
{
    return start(__func__, s, to, from, MERGE);
}

int caret_copy(caret_session *s, const caret_node *to, const caret_node *from)
{
    return start(__func__, s, to, from, COPY);
}

int caret_move(caret_session *s, const caret_node *to, const caret_node *from)
{
    return start(__func__, s, to, from, MOVE);
}
