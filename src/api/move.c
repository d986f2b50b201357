/*
 * move.c - from node to node, in order.
 *
 * Everything is a search among encoded keys: the next sibling of K below parent P
 * is the first key >= K || 0xFF (behind K's subtree) that still begins with P; its
 * subscript at that place is the sibling, whether it has a value of its own or
 * only children.  Likewise backwards.
 *
 * The quick way of caret_next: the node remembers its slot; if the next slot of
 * the same leaf, still unchanged, is no descendant, it is the answer.
 */
#include "api/session.h"
#include "base/key.h"

struct move {
    caret_session *s;
    struct caret__node *n;
    uint8_t key[CARET__KEY_MAX + 2];
    size_t len;
};

static int begin(struct move *m, caret_session *s, caret_node *node)
{
    int rc = caret__node_check(node);

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

static int mark(struct move *m, int rc)
{
    if (rc == CARET_RESTART)
        m->s->txn.broken = true;
    return rc;
}

static int go_from(struct move *m)
{
    return mark(m, caret__session_from(m->s, m->n->local, m->key, &m->len));
}

static int go_before(struct move *m)
{
    return mark(m, caret__session_before(m->s, m->n->local, m->key, &m->len));
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
    size_t at = m->n->name_len + 1u, last = m->len;
    unsigned depth = 0;

    if (m->len > m->n->key_cap)
        return no_room(m->len);
    while (at < m->len) {
        size_t sub = caret__sub_len(m->key + at, m->len - at);
        if (sub == 0 || ++depth > CARET_MAX_SUBS)
            return caret__fail(CARET_E_CORRUPT, "a key in the database can't be decoded");
        last = at;
        at += sub;
    }
    memcpy(caret__node_key(m->n), m->key, m->len);
    m->n->key_len = (uint16_t)m->len;
    m->n->last_off = (uint16_t)last;
    m->n->depth = (uint8_t)depth;
    m->n->hint.version = 0;
    return CARET_OK;
}

/* ------------------------------------------------------------------ siblings */

/* The key in a slot from the node's last subscript on, if it is below the node's parent: its length, or 0.  In the leaf
 * that the node's own key is in the prefix is the node's as well. */
static size_t below_parent(const struct caret__page *p, unsigned i, const struct caret__node *n, uint8_t *buf)
{
    const uint8_t *prefix, *own = caret__node_key(n);
    struct caret__entry e = caret__page_entry(p, i);
    unsigned base = n->last_off, plen = caret__page_prefix(p, &prefix), from = plen > base ? plen : base,
             skip = from - plen;

    if (from > n->key_len || e.klen <= skip || from + e.klen - skip > CARET__KEY_MAX ||
        (skip != 0 && caret__racy_cmp(e.key, own + plen, skip) != 0))
        return 0;
    caret__racy_copy_short(buf, own + base, from - base);
    caret__racy_copy_short(buf + from - base, e.key + skip, e.klen - skip);
    return from - base + e.klen - skip;
}

/* Next slot of the remembered leaf, if it is the next sibling's own; CARET_NONE: not decided here. */
static int next_in_leaf(struct caret__view *v, struct caret__node *n)
{
    struct caret__hint *h = &n->hint;
    struct caret__at at;
    uint8_t sub[CARET__KEY_MAX];

    if (h->version == 0 || h->owner != v->pg->id || h->found != 1 ||
        !caret__at_recall(v, &at, h->pgno, h->version) || h->pos + 1u >= caret__page_count(at.page))
        return CARET_NONE;
    size_t len = below_parent(at.page, h->pos + 1u, n, sub);
    if (!caret__at_valid(v, &at) || len == 0 || caret__sub_len(sub, len) != len ||
        n->last_off + len > n->key_cap)
        return CARET_NONE;
    int rc = caret__reads_note(v, &at);
    if (rc != CARET_OK)
        return rc;
    caret__racy_copy_short(caret__node_key(n) + n->last_off, sub, len);
    n->key_len = (uint16_t)(n->last_off + len);
    h->pos++;
    return CARET_OK;
}

/* Where the walk stands is remembered when the sibling found is a key itself. */
static void remember(struct move *m)
{
    struct caret__at at;
    struct caret__node *n = m->n;
    if (n->local || m->s->txn.changed || m->s->txn.snapshot != NULL || m->len != n->key_len)
        return;
    if (caret__seek(&m->s->global, caret__node_key(n), n->key_len, &at) == CARET_OK)
        n->hint = (struct caret__hint){at.version, m->s->e->pg.id, at.pgno, (uint16_t)at.pos, at.found};
}

int caret_next(caret_session *s, caret_node *node)
{
    struct move m;
    struct caret__node *n = caret__node(node);
    int rc = caret__node_check(node);

    if (rc == CARET_OK && n->depth > 0 && n->hint.found == 1 && n->hint.version != 0) {
        rc = n->local ? caret__session_locals(s) : caret__session_enter_read(s);
        if (rc != CARET_OK)
            return guarded(s, node, caret_next, rc);
        struct caret__view local = {.pg = &s->locals.pg};
        if (n->local || !s->txn.changed || s->txn.level == 0) {
            rc = next_in_leaf(n->local ? &local : &s->global, n);
            if (rc == CARET_RESTART)
                s->txn.broken = true;
            if (rc != CARET_NONE)
                return rc;
        }
    }
    rc = begin(&m, s, node);
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
    rc = take_sub(&m, m.n->last_off, m.n->depth);
    if (rc == CARET_OK)
        remember(&m);
    return rc;
}

int caret_previous(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(&m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, caret_previous, rc);
    rc = go_before(&m);
    if (rc != CARET_OK)
        return rc;
    if (m.n->depth == 0)
        return take_var(&m);
    if (!begins_with(&m, m.n->last_off) || m.len == m.n->last_off)
        return CARET_NONE;
    return take_sub(&m, m.n->last_off, m.n->depth);
}

/* ------------------------------------------------------------------ children */

int caret_first(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(&m, s, node);

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
    rc = take_sub(&m, m.n->key_len, m.n->depth + 1u);
    if (rc == CARET_OK)
        remember(&m);
    return rc;
}

int caret_last(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(&m, s, node);

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
    return take_sub(&m, m.n->key_len, m.n->depth + 1u);
}

/* ----------------------------------------------------------------- depth first */

int caret_node_next(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(&m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, caret_node_next, rc);
    m.key[m.len++] = 0; /* the smallest string behind our key */
    rc = go_from(&m);
    if (rc != CARET_OK)
        return rc;
    return begins_with(&m, m.n->name_len + 1u) ? take_all(&m) : CARET_NONE;
}

int caret_node_previous(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(&m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, caret_node_previous, rc);
    rc = go_before(&m);
    if (rc != CARET_OK)
        return rc;
    return begins_with(&m, m.n->name_len + 1u) ? take_all(&m) : CARET_NONE;
}

/* The node is some variable already. */
static int first_var(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin(&m, s, node);

    if (rc != CARET_OK)
        return guarded(s, node, first_var, rc);
    m.len = 0;
    rc = go_from(&m);
    return rc == CARET_OK ? take_var(&m) : rc;
}

int caret_first_var(caret_session *s, caret_node *node, size_t bytes, int local)
{
    int rc = caret_node_var(node, bytes, local ? "a" : "^a", local ? 1 : 2);

    return rc == CARET_OK ? first_var(s, node) : rc;
}
