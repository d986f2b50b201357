/*
 * move.c - from node to node, in order.
 *
 * Everything is a search among encoded keys: the next sibling of K below parent P
 * is the first key >= K || 0xFF (behind K's subtree) that still begins with P; its
 * subscript at that place is the sibling, whether it has a value of its own or
 * only children.  Likewise backwards.
 *
 * The quick way: a node that has a value remembers its slot.  The slot beside it in
 * the same leaf, still unchanged, is mostly the answer: the next or previous node
 * always, the next sibling unless it is below ours or has only children, the
 * previous sibling by its subscript, whatever is below that.
 */
#include "api/session.h"
#include "base/key.h"

struct move {
    caret_session *s;
    struct caret__node *n;
    uint8_t key[CARET__KEY_MAX + 2];
    size_t len;
};

static int begin(const char *function, struct move *m, caret_session *s, caret_node *node)
{
    int rc = caret__args_check(function, s, node);

    if (rc == CARET_OK && !caret__node_whole(node))
        rc = caret__not_a_node(function, "n", node);
    if (rc != CARET_OK)
        return rc;
    m->s = s;
    m->n = caret__node(node);
    rc = m->n->local ? caret__session_locals(s) : caret__session_enter_read(s);
    if (rc == CARET_OK && !m->n->local && s->txn.level != 0 && s->txn.broken)
        return CARET_RESTART;
    m->len = m->n->key_len;
    memcpy(m->key, caret__node_key(m->n), m->len);
    return rc;
}

/* A move, as an argument. */
struct mover {
    int (*move)(caret_session *s, caret_node *n);
};

static int move_guarded(caret_session *s, caret_node *n, void *arg)
{
    return ((const struct mover *)arg)->move(s, n);
}

/* begin() said rc, which is not CARET_OK: that, or the move again with an eye on the view (api/guard.c). */
static int guarded(caret_session *s, caret_node *n, int (*move)(caret_session *s, caret_node *n), int rc)
{
    struct mover mover = {move};

    return rc == CARET__GUARDED ? caret__guarded(s, n, move_guarded, &mover) : rc;
}

static inline int mark(caret_session *s, int rc)
{
    if (rc == CARET_RESTART)
        s->txn.broken = true;
    return rc;
}

static int go_from(struct move *m)
{
    return mark(m->s, caret__session_from(m->s, m->n->local, m->key, &m->len));
}

static int go_before(struct move *m)
{
    return mark(m->s, caret__session_before(m->s, m->n->local, m->key, &m->len));
}

/* Behind everything below the first `len` bytes of the key. */
static void skip_below(struct move *m, size_t len)
{
    m->key[len] = 0xff;
    m->len = len + 1;
}

static bool begins_with(const struct move *m, size_t len)
{
    return m->len >= len && memcmp(m->key, caret__node_key(m->n), len) == 0;
}

static int no_room(size_t len)
{
    return caret__fail(CARET_E_BUFFER, "the node has no room for a key of %zu bytes: use a caret_node_buf",
                       len);
}

/* The node becomes `base` bytes of its own key and the subscript that follows there in m->key. */
static int take_sub(struct move *m, size_t base, unsigned depth)
{
    size_t sub = caret__sub_len(m->key + base, m->len - base);

    if (sub == 0)
        return caret__fail(CARET_E_CORRUPT, "a key in the database can't be decoded");
    if (base + sub > m->n->key_cap)
        return no_room(base + sub);
    memcpy(caret__node_key(m->n) + base, m->key + base, sub);
    m->n->key_len = (uint16_t)(base + sub);
    m->n->last_off = (uint16_t)base;
    m->n->depth = (uint8_t)depth;
    m->n->hint.version = 0;
    return CARET_OK;
}

/* The node becomes the variable that m->key belongs to. */
static int take_var(struct move *m)
{
    const uint8_t *zero = memchr(m->key, 0, m->len);
    size_t len = zero != NULL ? (size_t)(zero - m->key) + 1 : 0;

    if (len < 2 || len > CARET_MAX_NAME + 1)
        return caret__fail(CARET_E_CORRUPT, "a key in the database has no name");
    if (len > m->n->key_cap)
        return no_room(len);
    memcpy(caret__node_key(m->n), m->key, len);
    m->n->key_len = m->n->last_off = (uint16_t)len;
    m->n->name_len = (uint8_t)(len - 1);
    m->n->depth = 0;
    m->n->hint.version = 0;
    return CARET_OK;
}

/* The node becomes the whole of m->key, which is in its variable. */
static int take_all(struct move *m)
{
    int rc = caret__node_take_key(m->n, m->key, m->len);

    m->n->hint.version = 0;
    return rc;
}

/* ------------------------------------------------------------- the quick way */

/* The key in a slot from `base` on, if it begins with the first `base` bytes of the node's: its length, or 0.  In the
 * leaf that the node's own key is in the prefix is the node's as well. */
static size_t key_from(const struct caret__page *p, unsigned i, const struct caret__node *n, unsigned base,
                       uint8_t *buf)
{
    const uint8_t *prefix, *own = caret__node_key(n);
    struct caret__entry e = caret__page_entry(p, i);
    unsigned plen = caret__page_prefix(p, &prefix), from = plen > base ? plen : base, skip = from - plen;

    if (from > n->key_len || e.klen <= skip || from + e.klen - skip > CARET__KEY_MAX ||
        (skip != 0 && caret__racy_cmp(e.key, own + plen, skip) != 0))
        return 0;
    caret__racy_copy_short(buf, own + base, from - base);
    caret__racy_copy_short(buf + from - base, e.key + skip, e.klen - skip);
    return from - base + e.klen - skip;
}

/* The same of the slot beside the remembered one, at a distance of 1 or -1, noted as read: *rc. */
static inline size_t beside(struct caret__view *v, const struct caret__node *n, int by, unsigned base,
                            uint8_t *buf, int *rc)
{
    const struct caret__hint *h = &n->hint;
    unsigned pos = h->pos + (unsigned)by; /* before 0 is behind all */
    struct caret__at at;

    *rc = CARET_NONE;
    if (h->owner != v->pg->id || !caret__at_recall(v, &at, h->pgno, h->version) ||
        pos >= caret__page_count(at.page))
        return 0;
    size_t len = key_from(at.page, pos, n, base, buf);
    if (!caret__at_valid(v, &at) || len == 0 || base + len > n->key_cap)
        return 0;
    *rc = caret__walk_note(v, &at);
    return len;
}

/* The ways below: CARET_NONE where nothing is decided. */

static inline int next_in_leaf(struct caret__view *v, struct caret__node *n)
{
    uint8_t sub[CARET__KEY_MAX];
    int rc;
    size_t len = beside(v, n, 1, n->last_off, sub, &rc);

    if (rc != CARET_OK)
        return rc;
    if (caret__sub_len(sub, len) != len)
        return CARET_NONE;
    caret__racy_copy_short(caret__node_key(n) + n->last_off, sub, len);
    n->key_len = (uint16_t)(n->last_off + len);
    n->hint.pos++;
    return CARET_OK;
}

static inline int previous_in_leaf(struct caret__view *v, struct caret__node *n)
{
    uint8_t key[CARET__KEY_MAX];
    int rc;
    size_t len = beside(v, n, -1, n->last_off, key, &rc), sub = rc == CARET_OK ? caret__sub_len(key, len) : 0;

    if (rc != CARET_OK)
        return rc;
    if (sub == 0)
        return CARET_NONE;
    caret__racy_copy_short(caret__node_key(n) + n->last_off, key, sub);
    n->key_len = (uint16_t)(n->last_off + sub);
    n->hint.pos--;
    if (sub != len)
        n->hint.version = 0; /* of the sibling's own key nothing is known */
    return CARET_OK;
}

static inline int step_in_leaf(struct caret__view *v, struct caret__node *n, int by)
{
    uint8_t key[CARET__KEY_MAX];
    unsigned base = n->name_len + 1u;
    int rc;
    size_t len = beside(v, n, by, base, key + base, &rc);

    if (rc != CARET_OK)
        return rc;
    caret__racy_copy_short(key, caret__node_key(n), base);
    rc = caret__node_take_key(n, key, base + len);
    if (rc == CARET_OK)
        n->hint.pos = (uint16_t)(n->hint.pos + by);
    return rc;
}

enum way { NEXT, PREVIOUS, NODE_NEXT, NODE_PREVIOUS };

static inline int go(struct caret__view *v, struct caret__node *n, enum way way)
{
    if (way == NEXT)
        return next_in_leaf(v, n);
    return way == PREVIOUS ? previous_in_leaf(v, n) : step_in_leaf(v, n, way == NODE_NEXT ? 1 : -1);
}

/* Try the quick way.  Whatever is unusual is left to the long one. */
static inline int quickly(caret_session *s, caret_node *node, enum way way)
{
    struct caret__node *n = caret__node(node);

    if (s == NULL || !caret__node_ok(node) || n->hint.found != 1 || n->hint.version == 0 || n->depth == 0)
        return CARET_NONE;
    if ((n->local ? caret__session_locals(s) : caret__session_enter_read(s)) != CARET_OK)
        return CARET_NONE;
    if (n->local) {
        struct caret__view local = {.pg = &s->locals.pg};
        return go(&local, n, way);
    }
    if (s->txn.level != 0 && (s->txn.changed || s->txn.broken))
        return CARET_NONE;
    return mark(s, go(&s->global, n, way));
}

/* ------------------------------------------------------------------ siblings */

/* Where the walk stands is remembered when what was found is a key itself.  `rc`: of what took it. */
static int remembered(struct move *m, int rc)
{
    struct caret__at at;
    struct caret__node *n = m->n;
    if (rc != CARET_OK || n->local || m->s->txn.changed || m->s->txn.snapshot != NULL || m->len != n->key_len)
        return rc;
    if (caret__seek(&m->s->global, caret__node_key(n), n->key_len, &at) == CARET_OK)
        n->hint = (struct caret__hint){at.version, m->s->e->pg.id, at.pgno, (uint16_t)at.pos, at.found};
    return CARET_OK;
}

int caret_next(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = quickly(s, node, NEXT);

    if (rc != CARET_NONE)
        return rc;
    rc = begin(__func__, &m, s, node);
    if (rc != CARET_OK)
        return guarded(s, node, caret_next, rc);
    skip_below(&m, m.len);
    rc = go_from(&m);
    if (rc != CARET_OK)
        return rc;
    if (m.n->depth == 0)
        return take_var(&m);
    if (!begins_with(&m, m.n->last_off))
        return CARET_NONE;
    return remembered(&m, take_sub(&m, m.n->last_off, m.n->depth));
}

int caret_previous(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = quickly(s, node, PREVIOUS);

    if (rc != CARET_NONE)
        return rc;
    rc = begin(__func__, &m, s, node);
    if (rc != CARET_OK)
        return guarded(s, node, caret_previous, rc);
    rc = go_before(&m);
    if (rc != CARET_OK)
        return rc;
    if (m.n->depth == 0)
        return take_var(&m);
    if (!begins_with(&m, m.n->last_off) || m.len == m.n->last_off)
        return CARET_NONE;
    return remembered(&m, take_sub(&m, m.n->last_off, m.n->depth));
}

/* ------------------------------------------------------------------ children */

int caret_first(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(__func__, &m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, caret_first, rc);
    if (m.n->depth >= CARET_MAX_SUBS)
        return CARET_NONE;
    m.key[m.len++] = 0x01; /* the lowest first byte of a subscript */
    rc = go_from(&m);
    if (rc != CARET_OK)
        return rc;
    if (!begins_with(&m, m.n->key_len))
        return CARET_NONE;
    return remembered(&m, take_sub(&m, m.n->key_len, m.n->depth + 1u));
}

int caret_last(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(__func__, &m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, caret_last, rc);
    if (m.n->depth >= CARET_MAX_SUBS)
        return CARET_NONE;
    skip_below(&m, m.len);
    rc = go_before(&m);
    if (rc != CARET_OK)
        return rc;
    if (!begins_with(&m, m.n->key_len) || m.len == m.n->key_len)
        return CARET_NONE;
    return remembered(&m, take_sub(&m, m.n->key_len, m.n->depth + 1u));
}

/* ----------------------------------------------------------------- depth first */

int caret_node_next(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = quickly(s, node, NODE_NEXT);

    if (rc != CARET_NONE)
        return rc;
    rc = begin(__func__, &m, s, node);
    if (rc != CARET_OK)
        return guarded(s, node, caret_node_next, rc);
    m.key[m.len++] = 0; /* the smallest string behind our key */
    rc = go_from(&m);
    if (rc != CARET_OK)
        return rc;
    return begins_with(&m, m.n->name_len + 1u) ? remembered(&m, take_all(&m)) : CARET_NONE;
}

int caret_node_previous(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = quickly(s, node, NODE_PREVIOUS);

    if (rc != CARET_NONE)
        return rc;
    rc = begin(__func__, &m, s, node);
    if (rc != CARET_OK)
        return guarded(s, node, caret_node_previous, rc);
    rc = go_before(&m);
    if (rc != CARET_OK)
        return rc;
    return begins_with(&m, m.n->name_len + 1u) ? remembered(&m, take_all(&m)) : CARET_NONE;
}

/* The node is some variable already. */
static int first_var(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin("caret_first_var", &m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, first_var, rc);
    m.len = 0;
    rc = go_from(&m);
    return rc == CARET_OK ? take_var(&m) : rc;
}

int caret_first_var(caret_session *s, caret_node *node, size_t bytes, int local)
{
    if (s == NULL || node == NULL)
        return caret__null(__func__, s == NULL ? "s" : "n", s == NULL ? "a session" : "memory for a node");
    int rc = caret_node_var(node, bytes, local ? "a" : "^a", local ? 1 : 2);

    return rc == CARET_OK ? first_var(s, node) : rc;
}
