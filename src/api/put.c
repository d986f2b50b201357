/*
 * put.c - setting on a condition, and reading a node together with one below it.
 *
 * caret_put(), outside of a transaction:
 *   1  find the leaf; what is at the node, and whether the slot after it is of a child
 *   2  if that decides against the value, that was true a moment ago: done
 *   3  commit the set, and under the writer mutex (judge) look at the value again; if children matter the leaf
 *      must still be the one of 1, in that version, else begin again
 * Of CARET_PUT_SAME 3 alone is sure, as 1 does not read the value.
 * So a put takes one descent and one commit, as a set.  Where the node is the last of its leaf another descent asks
 * how far the leaf reaches: no page of the tree can take a child of it without a change of this leaf, unless that
 * bound is a child's own.  What is unusual (a long value, children that would be in the next leaf, a leaf that others
 * change again and again), and all in a transaction, is done by reading and setting.
 *
 * caret_get2() copies both values out of one leaf, or out of two, and then looks whether all of them are unchanged.
 */
#include <stdlib.h>

#include "api/session.h"

#define TRIES    8u  /* arbitrary */
#define EXPECTED 512 /* bytes of an expected value that are kept without asking for memory; arbitrary */

/* ---------------------------------------------------------------------- put */

struct put {
    caret_session *s;
    const void *value;
    size_t len;
    int flags;
    bool below;                  /* children matter */
    bool wanted;                 /* so does what the value was */
    const caret_slice *expected; /* what the value has to be; NULL: it does not matter */
    bool differs;                /* it was looked at, and is another */
    caret_slice old;
    int data;      /* as caret_data() says it */
    uint32_t pgno; /* of the leaf, and its version, when children were looked for */
    uint64_t version;
};

static int decide(const struct put *p)
{
    bool there = (p->data & 1) != 0;

    if (p->expected != NULL && (p->differs || there != (p->expected->data != NULL)))
        return CARET_NONE;
    if ((there && p->flags & CARET_PUT_ABSENT) || (!there && p->flags & CARET_PUT_PRESENT) ||
        (p->data >= 10 && p->flags & CARET_PUT_CHILDLESS))
        return CARET_NONE;
    return CARET_OK;
}

/* A value is there. */
static bool differs(const struct put *p, const void *old, size_t old_len)
{
    const caret_slice *e = p->expected;

    return e != NULL && (e->len != old_len || (old_len != 0 && memcmp(e->data, old, old_len) != 0));
}

/* In a transaction, and for locals: each step by itself. */
static int put_by_hand(struct put *p, caret_node *n)
{
    int rc = CARET_OK;

    p->data = 0;
    if (p->below)
        rc = caret_data(p->s, n, &p->data);
    if (rc == CARET_OK && (p->wanted || !p->below)) {
        rc = caret_get(p->s, n, &p->old);
        p->data = p->data / 10 * 10 + (rc == CARET_OK);
        p->differs = rc == CARET_OK && differs(p, p->old.data, p->old.len);
        if (rc == CARET_NONE) {
            p->old = (caret_slice){NULL, 0};
            rc = CARET_OK;
        }
    }
    if (rc == CARET_OK)
        rc = decide(p);
    return rc == CARET_OK ? caret_set(p->s, n, p->value, p->len) : rc;
}

static int put_in_txn(caret_session *s, void *arg)
{
    struct {
        struct put *p;
        caret_node *n;
        int rc;
    } *c = arg;

    (void)s;
    c->rc = put_by_hand(c->p, c->n);
    return c->rc == CARET_NONE ? CARET_OK : c->rc; /* that nothing was set is a result too */
}

static int put_alone(struct put *p, caret_node *n)
{
    struct {
        struct put *p;
        caret_node *n;
        int rc;
    } c = {p, n, CARET_OK};
    int rc = caret_transaction(p->s, put_in_txn, &c, 0);

    return rc == CARET_OK ? c.rc : rc;
}

/* The node is the last in the leaf: would a child be in that leaf, too? */
static bool reaches_beyond(struct caret__view *v, const struct caret__node *n, const struct caret__at *at)
{
    struct caret__range range;
    struct caret__at again;

    return caret__seek_range(v, caret__node_key(n), n->key_len, &again, &range) == CARET_OK &&
           again.pgno == at->pgno && again.version == at->version &&
           (range.upper_len <= n->key_len || memcmp(range.upper, caret__node_key(n), n->key_len) != 0);
}

/* 1.  CARET_RESTART: it can't be told here. */
static int look(struct put *p, struct caret__node *n)
{
    struct caret__view *v = &p->s->global;
    uint8_t next[CARET__KEY_MAX];
    struct caret__at at;

    for (;;) {
        bool known = true, child = false;
        int rc = caret__find(p->s, v, n, &at);
        if (rc != CARET_OK)
            return rc;
        if (p->below) {
            unsigned i = at.pos + at.found;
            known = i < caret__page_count(at.page);
            size_t len = known ? caret__page_key(at.page, i, next) : 0;
            child = len > n->key_len && memcmp(next, caret__node_key(n), n->key_len) == 0;
        }
        if (!caret__at_valid(v, &at))
            continue;
        p->data = at.found + 10 * child;
        p->pgno = at.pgno;
        p->version = at.version;
        return known || reaches_beyond(v, n, &at) ? CARET_OK : CARET_RESTART;
    }
}

/* 3, under the writer mutex.  CARET_ROLLBACK: not so. */
static int judge(void *ctx, const uint8_t *old, size_t old_len, const uint8_t **val, size_t *vlen)
{
    struct put *p = ctx;

    CARET__ASSERT(caret__writer_held(p->s->e->sh));
    if (p->below && !caret__page_unchanged(p->s->global.pg, p->pgno, p->version))
        return CARET_ROLLBACK;
    if (p->wanted && old_len > p->s->out_cap)
        return CARET_ROLLBACK; /* no memory is asked for here */
    p->data = p->data / 10 * 10 + (old != NULL);
    p->differs = old != NULL && differs(p, old, old_len);
    if (p->wanted && old != NULL)
        memcpy(p->s->out, old, old_len);
    p->old = (caret_slice){p->wanted && old != NULL ? (const char *)p->s->out : NULL, old_len};
    *val = p->value;
    *vlen = p->len;
    return decide(p);
}

static int put_global(struct put *p, caret_node *node)
{
    struct caret__node *n = caret__node(node);
    uint64_t lsn;
    int rc = caret__session_out(p->s, CARET__INLINE_MAX);

    for (unsigned i = 0; rc == CARET_OK && i < TRIES; i++) {
        rc = look(p, n);
        if (rc == CARET_OK && decide(p) == CARET_NONE)
            return p->wanted && p->data & 1 ? put_alone(p, node) : CARET_NONE;
        if (rc == CARET_OK)
            rc = caret__commit_node(p->s, n, judge, p, &lsn);
        if (rc == CARET_OK)
            return caret__session_committed(p->s, lsn, 0);
        rc = rc == CARET_ROLLBACK ? CARET_OK : rc;
    }
    return rc == CARET_OK || rc == CARET_RESTART ? put_alone(p, node) : rc;
}

/* What a call returned last may be put: the old value must not come in its place. */
static int move_value(struct put *p)
{
    caret_session *s = p->s;
    uintptr_t from = (uintptr_t)p->value, out = (uintptr_t)s->out;

    if (p->len == 0 || from < out || from >= out + s->out_cap)
        return CARET_OK;
    if (s->many_cap < p->len) {
        uint8_t *many = realloc(s->many, p->len);
        if (many == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for a value of %zu bytes", p->len);
        s->many = many;
        s->many_cap = p->len;
    }
    memcpy(s->many, p->value, p->len);
    p->value = s->many;
    return CARET_OK;
}

static int check_put(const char *function, const void *value, size_t len, int flags)
{
    if (value == NULL && len != 0)
        return caret__refuse_bytes(function, "value", value, len);
    if (len > CARET_MAX_VALUE)
        return caret__fail(CARET_E_VALUE2BIG, "a value of %zu bytes; %u is the limit", len, CARET_MAX_VALUE);
    int one = flags & (CARET_PUT_ABSENT | CARET_PUT_PRESENT | CARET_PUT_SAME);
    if ((flags & ~(one | CARET_PUT_CHILDLESS)) != 0 || (one & (one - 1)) != 0)
        return caret__fail(
            CARET_E_INVALID,
            "%s: flags are CARET_PUT_ABSENT, _PRESENT or _SAME, and _CHILDLESS, or 0, not 0x%x", function,
            (unsigned)flags);
    return CARET_OK;
}

/* What the value has to be, where no call of this session writes: *room, or *more, which is to be freed. */
static int keep_expected(struct put *p, caret_slice *keep, char room[EXPECTED], char **more)
{
    if (keep->data != NULL && keep->len > EXPECTED && (*more = malloc(keep->len)) == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a value of %zu bytes", keep->len);
    if (keep->data != NULL)
        keep->data = memcpy(*more != NULL ? *more : room, keep->data, keep->len);
    p->expected = keep;
    return CARET_OK;
}

static int put(struct put *p, caret_node *node)
{
    if (caret__node(node)->local)
        return put_by_hand(p, node);
    int rc = caret__enter_writer(p->s);
    if (rc == CARET__REMOTE && (rc = caret__remote_writer(p->s)) == CARET_OK && p->s->txn.level == 0)
        return put_alone(p, node);
    if (rc != CARET_OK)
        return rc;
    if (p->s->txn.level != 0)
        return put_by_hand(p, node);
    return caret__value_inline(caret__node(node)->key_len, p->len) ? put_global(p, node) : put_alone(p, node);
}

static int put_if_same(struct put *p, caret_node *node, const caret_slice *old)
{
    char room[EXPECTED], *more = NULL;
    caret_slice keep = *old;

    if (old->data == NULL && old->len != 0)
        return caret__refuse_bytes("caret_put", "old", old->data, old->len);
    int rc = keep_expected(p, &keep, room, &more);
    if (rc == CARET_OK)
        rc = put(p, node);
    p->expected = NULL;
    free(more);
    return rc;
}

int caret_put(caret_session *s, caret_node *node, const void *value, size_t len, int flags, int *had,
              caret_slice *old)
{
    struct put p = {.s = s, .value = value, .len = len, .flags = flags, .wanted = old != NULL};
    int rc = caret__args_check(__func__, s, node);

    if (rc == CARET_OK)
        rc = check_put(__func__, value, len, flags);
    if (rc == CARET_OK && flags & CARET_PUT_SAME && old == NULL)
        rc = caret__null(__func__, "old", "the value that is to be there");
    if (rc == CARET_OK)
        rc = move_value(&p);
    if (rc != CARET_OK)
        return rc;
    p.below = had != NULL || (flags & CARET_PUT_CHILDLESS) != 0;
    rc = flags & CARET_PUT_SAME ? put_if_same(&p, node, old) : put(&p, node);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (had != NULL)
        *had = p.data;
    if (old != NULL)
        *old = p.data & 1 ? p.old : (caret_slice){NULL, 0};
    return rc;
}

/* --------------------------------------------------------------------- get2 */

/* The second node's place: in the leaf of the first, if it must be there. */
static int find_below(caret_session *s, struct caret__node *child, const struct caret__at *near,
                      struct caret__at *at)
{
    *at = *near;
    at->pos = caret__page_find(at->page, caret__node_key(child), child->key_len, &at->found);
    if (caret__within(at->page, at->pos, at->found))
        return CARET_OK;
    return caret__find(s, &s->global, child, at);
}

static bool take(const struct caret__at *at, struct caret__entry *e)
{
    *e = (struct caret__entry){0};
    if (at->found)
        *e = caret__page_entry(at->page, at->pos);
    return !e->run;
}

/* CARET_RESTART: not to be had so. */
static int get_both(caret_session *s, struct caret__node *n, struct caret__node *child, caret_slice *value,
                    caret_slice *child_value)
{
    struct caret__view *v = &s->global;
    struct caret__at a, b;
    struct caret__entry first, second;

    for (unsigned i = 0; i < TRIES; i++) {
        int rc = caret__find(s, v, n, &a);
        if (rc == CARET_OK)
            rc = find_below(s, child, &a, &b);
        if (rc != CARET_OK)
            return rc;
        if (!take(&a, &first) || !take(&b, &second))
            return CARET_RESTART;
        rc = caret__session_out(s, (size_t)first.vlen + second.vlen + 1);
        if (rc != CARET_OK)
            return rc;
        if (first.vlen != 0)
            caret__racy_copy_value(s->out, first.val, first.vlen);
        if (second.vlen != 0)
            caret__racy_copy_value(s->out + first.vlen, second.val, second.vlen);
        if (!caret__at_valid(v, &b) || !caret__at_valid(v, &a))
            continue;
        *value = (caret_slice){a.found ? (const char *)s->out : NULL, first.vlen};
        *child_value = (caret_slice){b.found ? (const char *)s->out + first.vlen : NULL, second.vlen};
        return CARET_OK;
    }
    return CARET_RESTART;
}

struct pair {
    caret_node *n[2];
    caret_slice value[2];
};

static int get_in_txn(caret_session *s, void *arg)
{
    struct pair *p = arg;

    return caret_get_many(s, p->n, 2, p->value);
}

int caret_get2(caret_session *s, caret_node *n, caret_node *child, caret_slice *value,
               caret_slice *child_value)
{
    int rc = caret__args_check(__func__, s, n);

    if (rc == CARET_OK && !caret__node_ok(child))
        rc = caret__not_a_node(__func__, "child", child);
    if (rc == CARET_OK && (value == NULL || child_value == NULL))
        rc = caret__null(__func__, value == NULL ? "value" : "child_value", "a place for the value");
    if (rc != CARET_OK)
        return rc;
    bool local = caret__node(n)->local || caret__node(child)->local;
    bool by_hand = local || s->observes || s->e == NULL || s->remote != NULL;
    rc = by_hand ? CARET_RESTART : caret__session_enter_read(s);
    if (rc == CARET_OK && s->txn.level == 0) {
        caret__count_get(s, caret__node(n));
        rc = get_both(s, caret__node(n), caret__node(child), value, child_value);
    } else if (rc == CARET_OK) {
        rc = CARET_RESTART;
    }
    if (rc != CARET_RESTART)
        return rc;
    struct pair p = {.n = {n, child}};
    rc = local || s->txn.level != 0 ? get_in_txn(s, &p) : caret_transaction(s, get_in_txn, &p, 0);
    if (rc == CARET_OK) {
        *value = p.value[0];
        *child_value = p.value[1];
    }
    return rc;
}
