/*
 * move.c - from node to node, in order.
 *
 * Everything is a search among encoded keys: the next sibling of K below parent P
 * is the first key >= K || 0xFF (after K's subtree) that still begins with P; its
 * subscript at that place is the sibling, whether it has a value of its own or
 * only children.  Likewise backwards.
 *
 * The quick way: a node that has a value remembers its slot.  The slot beside it in
 * the same leaf, still unchanged, is mostly the answer: the next or previous node
 * always, the next sibling unless it is below ours or has only children, the
 * previous sibling by its subscript, whatever is below that.
 *
 * So does caret_data() see what is below a node that knows its slot: that would come in the next one.
 *
 * With the value (caret_next_get and its like): the quick way copies it out of that slot
 * before the one look whether the page is what it was, so key and value are of one moment,
 * and asks for an entry further on, so that it is there when the walk is.  After a few steps the
 * leaf is copied, and key and value are taken from there (tree/walk.c), and the leaf beside it is
 * found without a descent.  A value out of line, and all that the quick way leaves, is a move and then a
 * get; if the get fails the node is put back.
 */
#include "api/session.h"
#include "base/key.h"
#include "tree/walk.h"

/* All that such a function calls becomes part of it, but for what is to stay by itself. */
#define QUICK __attribute__((flatten))

struct move {
    caret_session *s;
    struct caret__node *n;
    uint8_t key[CARET__PLACE_MAX];
    unsigned place;
    size_t len;
    struct caret__at at; /* where the key was found; pgno 0 = not known */
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
    m->place = m->n->local;
    rc = m->place != CARET__IN_DATABASE ? caret__session_locals(s) : caret__session_enter_read(s);
    if (caret__unlikely(rc == CARET__REMOTE)) {
        m->place = CARET__AT_SERVER;
        rc = CARET_OK;
    }
    if (rc == CARET_OK && !m->n->local && s->txn.level != 0 && s->txn.broken)
        return CARET_RESTART;
    m->len = m->n->key_len;
    memcpy(m->key, caret__node_key(m->n), m->len);
    return rc;
}

/* A move, as an argument. */
struct mover {
    int (*function)(caret_session *s, caret_node *n);
};

static int move_observed(caret_session *s, caret_node *n, void *arg)
{
    return ((const struct mover *)arg)->function(s, n);
}

/* begin() said rc, which is not CARET_OK: that, or the move again with an eye on the view (api/observe.c). */
static int observed(caret_session *s, caret_node *n, int (*move)(caret_session *s, caret_node *n), int rc)
{
    struct mover mover = {move};

    return rc == CARET__OBSERVED ? caret__observe_call(s, n, move_observed, &mover) : rc;
}

static inline int mark(caret_session *s, int rc)
{
    if (rc == CARET_RESTART)
        s->txn.broken = true;
    return rc;
}

static int go_from(struct move *m)
{
    return mark(m->s, caret__session_from(m->s, m->place, m->key, &m->len, &m->at));
}

static int go_before(struct move *m)
{
    return mark(m->s, caret__session_before(m->s, m->place, m->key, &m->len, &m->at));
}

/* After everything below the first `len` bytes of the key. */
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
    caret__hint_drop(m->n);
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
    caret__hint_drop(m->n);
    return CARET_OK;
}

/* The node becomes the whole of m->key, which is in its variable. */
static int take_all(struct move *m)
{
    return caret__node_take_key(m->n, m->key, m->len);
}

/* ------------------------------------------------------------- the quick way */

/* The key in a slot from `base` on, if it begins with the first `base` bytes of the node's: its length, or 0.  In the
 * leaf that the node's own key is in the prefix is the node's as well. */
static size_t key_from(const struct caret__page *p, unsigned i, const struct caret__node *n, unsigned base,
                       uint8_t *buf)
{
    const uint8_t *prefix, *own = caret__node_key(n);
    unsigned plen = caret__page_prefix(p, &prefix), from = plen > base ? plen : base, skip = from - plen,
             klen;
    const uint8_t *suffix = caret__page_suffix(p, i, &klen);

    if (from > n->key_len || klen <= skip || from + klen - skip > CARET__KEY_MAX ||
        (skip != 0 && caret__racy_cmp(suffix, own + plen, skip) != 0))
        return 0;
    caret__racy_copy_short(buf, own + base, from - base);
    caret__racy_copy_short(buf + from - base, suffix + skip, klen - skip);
    return from - base + klen - skip;
}

/* Where a value is put that is wanted too: the session's result buffer.  NULL: none is wanted. */
struct wanted {
    caret_session *s;
    caret_slice *value;
};

#define AHEAD 4 /* entries that are asked for before a walk comes to them; arbitrary */

/* Copy the value in a slot; false: it is out of line, or there is no room for it.  To be validated. */
static inline __attribute__((always_inline)) bool take_value(const struct wanted *w,
                                                             const struct caret__page *p, unsigned pos)
{
    struct caret__entry e = caret__page_entry(p, pos);

    if (e.run || (e.vlen >= w->s->out_cap && caret__session_out(w->s, e.vlen + 1u) != CARET_OK))
        return false;
    caret__racy_copy_value(w->s->out, e.val, e.vlen);
    *w->value = (caret_slice){(const char *)w->s->out, e.vlen};
    return true;
}

/* The same of the leaf beside `from`, which the walk leaves: its first key, or its last. */
static __attribute__((noinline)) size_t across(struct caret__view *v, const struct caret__node *n, int by,
                                               unsigned base, uint8_t *buf, const struct wanted *w,
                                               struct caret__at *at, int *rc)
{
    struct caret__at from = *at, parent;
    uint8_t key[CARET__KEY_MAX];
    struct caret__entry e = {0};

    if (!caret__walk_beside(v, &from, by, &parent, at))
        return 0;
    const struct caret__page *p = w != NULL ? caret__walk_copy(v->walk, at) : at->page;
    if (p == NULL)
        return 0;
    size_t len = caret__page_key(p, at->pos, key);
    bool sane = caret__page_sane(p, at->pgno, 0);
    CARET_FAULT("walk_across");
    if (!caret__at_valid(v, at) || !caret__at_valid(v, &parent) || !caret__at_valid(v, &from) || !sane)
        return 0;
    caret__walk_on(v->walk, at, by);
    if (w != NULL) {
        caret__walk_keep(v, at, by);
        e = caret__page_entry(p, at->pos);
        *w->value = (caret_slice){(const char *)e.val, e.vlen};
    } else {
        caret__page_ask(at->page);
    }
    if (e.run || len <= base || len > n->key_cap || memcmp(key, caret__node_key(n), base) != 0)
        return 0;
    *rc = caret__walk_note(v, &from);
    if (*rc == CARET_OK)
        *rc = caret__walk_note(v, at);
    memcpy(buf, key + base, len - base);
    return len - base;
}

/* The same of the slot beside the remembered one, at a distance of 1 or -1, noted as read: *rc.  at: where it is. */
static inline __attribute__((always_inline)) size_t
beside(struct caret__view *v, const struct caret__node *n, const struct caret__hint_words *words, int by,
       unsigned base, uint8_t *buf, const struct wanted *w, struct caret__at *at, int *rc)
{
    const struct caret__hint h = caret__hint_of(*words);
    bool held = w != NULL && caret__walk_holds(v, h.owner, h.pgno, h.version, at);

    *rc = CARET_NONE;
    if (!held && (h.owner != v->pg->id || !caret__at_recall(v, at, h.pgno, h.version)))
        return 0;
    at->pos = h.pos + (unsigned)by; /* before 0 is after all */
    if (at->pos >= caret__page_count(at->page))
        return across(v, n, by, base, buf, w, at, rc);
    if (w != NULL) {
        caret__page_ask_entry(at->page, at->pos + (unsigned)(AHEAD * by));
        if (!take_value(w, at->page, at->pos))
            return 0;
    }
    CARET_FAULT("walk_beside"); /* a page that changes here is one that has changed since it was recalled */
    size_t len = key_from(at->page, at->pos, n, base, buf);
    if (!caret__at_valid(v, at) || len == 0 || base + len > n->key_cap)
        return 0;
    if (w != NULL && !held)
        caret__walk_step(v, at, by);
    *rc = caret__walk_note(v, at);
    return len;
}

/* A step from the hint to the place `at`, `by` slots further if it is in the same leaf. */
static inline __attribute__((always_inline)) void arrive(const struct caret__view *v, struct caret__node *n,
                                                         const struct caret__hint_words *from, int by,
                                                         const struct caret__at *at)
{
    if (caret__likely(at->pgno == (uint32_t)from->place))
        caret__hint_shift(n, from, by);
    else
        caret__hint_put(
            n, (struct caret__hint){at->version, v->pg->id, at->pgno, (uint16_t)at->pos, CARET__HINT_FOUND});
}

/*
 * Is the entry, in the leaf that the node's own key is in, a sibling of it, and all that differs the end of the
 * subscript, eight bytes at most?  What comes before it is in the page's prefix, and in the node; that the end is one
 * is seen by the only byte in it that ends a subscript.  Eight bytes can be read there.  To be validated, unless the
 * page is a copy.
 */
static inline __attribute__((always_inline)) bool see_end(const struct caret__entry *e, unsigned plen,
                                                          const struct caret__node *n, uint64_t *end)
{
    unsigned base = n->last_off;

    if (plen < base || plen >= n->key_len || plen + 8u > n->key_cap)
        return false;
    *end = caret__racy64(e->key);
    return caret__sub_ends(plen > base ? caret__node_key(n)[base] : caret__racy8(e->key), *end, e->klen,
                           plen - base);
}

/* The node becomes that sibling. */
static inline __attribute__((always_inline)) void take_end(struct caret__node *n, unsigned plen, uint64_t end,
                                                           unsigned klen)
{
    caret__put_le64(caret__node_key(n) + plen, end);
    n->key_len = (uint16_t)(plen + klen);
}

/* The sibling beside, in the copy of the leaf, which is current.  False: another way; nothing has changed. */
static inline __attribute__((always_inline)) bool slide(struct caret__walk *k, struct caret__node *n,
                                                        const struct caret__hint_words *h, int by,
                                                        caret_slice *value)
{
    unsigned pos = (uint16_t)(h->place >> 32) + (unsigned)by, plen = k->prefix_len;
    uint64_t end;

    if (pos >= k->count)
        return false;
    struct caret__entry e = caret__page_entry(k->copy, pos);
    if (e.run || !see_end(&e, plen, n, &end))
        return false;
    take_end(n, plen, end, e.klen);
    const struct caret__hint_words to = caret__hint_shift(n, h, by);
    k->moved_place = to.place;
    k->moved_check = to.check;
    *value = (caret_slice){(const char *)e.val, e.vlen};
    caret__walk_ask(k);
    return true;
}

/* The same where the hint leads to the copy and that has yet to be seen. */
static inline __attribute__((always_inline)) int beside_in_copy(struct caret__view *v, struct caret__node *n,
                                                                const struct caret__hint_words *words, int by,
                                                                const struct wanted *w)
{
    const struct caret__hint h = caret__hint_of(*words);
    struct caret__at at;

    if (!caret__walk_holds(v, h.owner, h.pgno, h.version, &at))
        return CARET_NONE;
    int rc = caret__walk_note(v, &at);
    if (caret__unlikely(rc != CARET_OK))
        return rc;
    return slide(v->walk, n, words, by, w->value) ? CARET_OK : CARET_NONE;
}

/* The ways below: CARET_NONE where nothing is decided. */

static inline __attribute__((always_inline)) int next_in_leaf(struct caret__view *v, struct caret__node *n,
                                                              const struct caret__hint_words *h,
                                                              const struct wanted *w)
{
    uint8_t sub[CARET__KEY_MAX];
    struct caret__at at = {.pos = 0}; /* a compiler does not see that it is set where it is used */
    int rc;
    size_t len = beside(v, n, h, 1, n->last_off, sub, w, &at, &rc);

    if (rc != CARET_OK)
        return rc;
    if (caret__sub_len(sub, len) != len)
        return CARET_NONE;
    caret__racy_copy_short(caret__node_key(n) + n->last_off, sub, len);
    n->key_len = (uint16_t)(n->last_off + len);
    arrive(v, n, h, 1, &at);
    return CARET_OK;
}

static inline __attribute__((always_inline)) int previous_in_leaf(struct caret__view *v,
                                                                  struct caret__node *n,
                                                                  const struct caret__hint_words *h,
                                                                  const struct wanted *w)
{
    uint8_t key[CARET__KEY_MAX];
    struct caret__at at;
    int rc;
    size_t len = beside(v, n, h, -1, n->last_off, key, w, &at, &rc),
           sub = rc == CARET_OK ? caret__sub_len(key, len) : 0;

    if (rc != CARET_OK)
        return rc;
    if (sub == 0 || (w != NULL && sub != len)) /* the value was that of a node below the sibling */
        return CARET_NONE;
    caret__racy_copy_short(caret__node_key(n) + n->last_off, key, sub);
    n->key_len = (uint16_t)(n->last_off + sub);
    arrive(v, n, h, -1, &at);
    if (sub != len)
        caret__hint_drop(n); /* of the sibling's own key nothing is known */
    return CARET_OK;
}

static inline __attribute__((always_inline)) int step_in_leaf(struct caret__view *v, struct caret__node *n,
                                                              const struct caret__hint_words *h, int by,
                                                              const struct wanted *w)
{
    uint8_t key[CARET__KEY_MAX];
    unsigned base = n->name_len + 1u;
    struct caret__at at;
    int rc;
    size_t len = beside(v, n, h, by, base, key + base, w, &at, &rc);

    if (rc != CARET_OK)
        return rc;
    caret__racy_copy_short(key, caret__node_key(n), base);
    rc = caret__node_take_key(n, key, base + len);
    if (rc == CARET_OK)
        arrive(v, n, h, by, &at);
    return rc;
}

enum way { NEXT, PREVIOUS, NODE_NEXT, NODE_PREVIOUS };

static inline __attribute__((always_inline)) int direction(enum way way)
{
    return way == NEXT || way == NODE_NEXT ? 1 : -1;
}

static inline __attribute__((always_inline)) int go(struct caret__view *v, struct caret__node *n,
                                                    const struct caret__hint_words *h, enum way way,
                                                    const struct wanted *w)
{
    int rc = w != NULL ? beside_in_copy(v, n, h, direction(way), w) : CARET_NONE;

    if (rc != CARET_NONE)
        return rc;
    if (way == NEXT)
        return next_in_leaf(v, n, h, w);
    return way == PREVIOUS ? previous_in_leaf(v, n, h, w) : step_in_leaf(v, n, h, direction(way), w);
}

/* The view by which a quick way looks at a node that knows its slot; NULL: something is unusual.  `local` is room. */
static inline __attribute__((always_inline)) struct caret__view *quick_view(caret_session *s,
                                                                            const struct caret__node *n,
                                                                            const struct caret__hint_words *h,
                                                                            struct caret__view *local)
{
    if (h->place >> 48 != CARET__HINT_FOUND)
        return NULL;
    if ((n->local ? caret__session_locals(s) : caret__session_enter_read(s)) != CARET_OK)
        return NULL;
    if (n->local) {
        *local = (struct caret__view){.pg = &s->locals.pg};
        return s->has_locals ? local : NULL;
    }
    return s->txn.level != 0 && (s->txn.changed || s->txn.broken) ? NULL : &s->global;
}

/* Try the quick way.  Whatever is unusual is left to the long one. */
static inline __attribute__((always_inline)) int quickly(caret_session *s, caret_node *node, enum way way,
                                                         const struct wanted *w)
{
    struct caret__node *n = caret__node(node);
    struct caret__view local;

    if (s == NULL || !caret__node_ok(node) || n->depth == 0)
        return CARET_NONE;
    const struct caret__hint_words h = caret__hint_words(n);
    struct caret__view *v = quick_view(s, n, &h, &local);
    return v != NULL ? mark(s, go(v, n, &h, way, w)) : CARET_NONE;
}

int caret__data_beside(caret_session *s, struct caret__node *n, int *data)
{
    uint8_t below[CARET__KEY_MAX];
    const struct caret__hint_words words = caret__hint_words(n);
    const struct caret__hint h = caret__hint_of(words);
    struct caret__view local, *v = quick_view(s, n, &words, &local);
    struct caret__at at;

    if (v == NULL || h.owner != v->pg->id || !caret__at_recall(v, &at, h.pgno, h.version))
        return CARET_NONE;
    at.pos = h.pos + 1u;
    if (at.pos >= caret__page_count(at.page))
        return CARET_NONE;
    *data = key_from(at.page, at.pos, n, n->key_len, below) != 0 ? 11 : 1;
    return caret__at_valid(v, &at) ? mark(s, caret__walk_note(v, &at)) : CARET_NONE;
}

/* ------------------------------------------------------------------ siblings */

/* Where the walk stands is remembered when what was found is a key itself.  `rc`: of what took it. */
static int remembered(struct move *m, int rc)
{
    if (rc == CARET_OK && m->len == m->n->key_len)
        caret__session_found(m->s, m->n, &m->at);
    return rc;
}

static int next_slowly(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin("caret_next", &m, s, node);

    if (rc != CARET_OK)
        return observed(s, node, next_slowly, rc);
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

static int previous_slowly(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin("caret_previous", &m, s, node);

    if (rc != CARET_OK)
        return observed(s, node, previous_slowly, rc);
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
        return observed(s, node, caret_first, rc);
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
        return observed(s, node, caret_last, rc);
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

static int node_next_slowly(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin("caret_node_next", &m, s, node);

    if (rc != CARET_OK)
        return observed(s, node, node_next_slowly, rc);
    caret__key_after(m.key, &m.len);
    rc = go_from(&m);
    if (rc != CARET_OK)
        return rc;
    return begins_with(&m, m.n->name_len + 1u) ? remembered(&m, take_all(&m)) : CARET_NONE;
}

static int node_previous_slowly(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin("caret_node_previous", &m, s, node);

    if (rc != CARET_OK)
        return observed(s, node, node_previous_slowly, rc);
    rc = go_before(&m);
    if (rc != CARET_OK)
        return rc;
    return begins_with(&m, m.n->name_len + 1u) ? remembered(&m, take_all(&m)) : CARET_NONE;
}

/* ------------------------------------------------------------------- the moves */

/*
 * The quickest way without a value, which most steps take, so it is kept small: the slot beside is a sibling whose key
 * differs in its end, so it is the answer of all four moves, and nothing is to be noted.  False: another way; nothing
 * has changed.
 */
static inline __attribute__((always_inline)) bool hop(caret_session *s, caret_node *node, int by)
{
    struct caret__node *n = caret__node(node);
    struct caret__at at;
    const uint8_t *prefix;
    uint64_t end;

    if (caret__unlikely(s == NULL || !caret__node_ok(node) || !caret__session_ready(s)))
        return false;
    const struct caret__hint_words words = caret__hint_words(n);
    const struct caret__hint h = caret__hint_of(words);
    const struct caret__view *v = &s->global;
    unsigned pos = h.pos + (unsigned)by;
    if (h.owner != v->pg->id || h.found != CARET__HINT_FOUND || n->local || v->reads != NULL ||
        !caret__at_recall(v, &at, h.pgno, h.version) || pos >= caret__page_count(at.page))
        return false;
    CARET_FAULT("walk_beside"); /* as above */
    unsigned klen, plen = caret__page_prefix(at.page, &prefix);
    struct caret__entry e = {.key = caret__page_suffix(at.page, pos, &klen)};
    e.klen = (uint16_t)klen;
    if (e.key + sizeof end > (const uint8_t *)at.page + CARET__PAGE_SIZE || !see_end(&e, plen, n, &end) ||
        !caret__at_unchanged(v, &at))
        return false;
    take_end(n, plen, end, e.klen);
    caret__hint_shift(n, &words, by);
    return true;
}

static __attribute__((noinline)) int move_next(caret_session *s, caret_node *n)
{
    int rc = quickly(s, n, NEXT, NULL);

    return rc != CARET_NONE ? rc : next_slowly(s, n);
}

static __attribute__((noinline)) int move_previous(caret_session *s, caret_node *n)
{
    int rc = quickly(s, n, PREVIOUS, NULL);

    return rc != CARET_NONE ? rc : previous_slowly(s, n);
}

static __attribute__((noinline)) int move_node_next(caret_session *s, caret_node *n)
{
    int rc = quickly(s, n, NODE_NEXT, NULL);

    return rc != CARET_NONE ? rc : node_next_slowly(s, n);
}

static __attribute__((noinline)) int move_node_previous(caret_session *s, caret_node *n)
{
    int rc = quickly(s, n, NODE_PREVIOUS, NULL);

    return rc != CARET_NONE ? rc : node_previous_slowly(s, n);
}

QUICK int caret_next(caret_session *s, caret_node *n)
{
    return caret__likely(hop(s, n, 1)) ? CARET_OK : move_next(s, n);
}

QUICK int caret_previous(caret_session *s, caret_node *n)
{
    return caret__likely(hop(s, n, -1)) ? CARET_OK : move_previous(s, n);
}

QUICK int caret_node_next(caret_session *s, caret_node *n)
{
    return caret__likely(hop(s, n, 1)) ? CARET_OK : move_node_next(s, n);
}

QUICK int caret_node_previous(caret_session *s, caret_node *n)
{
    return caret__likely(hop(s, n, -1)) ? CARET_OK : move_node_previous(s, n);
}

/* Move, then get; the node is put back if its value can't be read. */
static int move_and_get(const char *function, caret_session *s, caret_node *node, caret_slice *value,
                        int (*move)(caret_session *s, caret_node *n))
{
    caret_node_buf before;
    int rc = caret__args_check(function, s, node);

    if (rc == CARET_OK && !caret__node_whole(node))
        rc = caret__not_a_node(function, "n", node);
    if (rc != CARET_OK)
        return rc;
    size_t bytes = sizeof *node + caret__node(node)->key_len;
    memcpy(&before, node, bytes);
    if (s->remote != NULL)
        caret__remote_want_value(s->remote, true);
    rc = move(s, node);
    bool moved = rc == CARET_OK;
    if (moved)
        rc = caret__session_out(s, 1); /* an empty value is not NULL */
    if (rc == CARET_OK)
        rc = caret_get(s, node, value);
    if (s->remote != NULL)
        caret__remote_want_value(s->remote, false);
    if (!moved)
        return rc;
    if (rc == CARET_NONE)
        *value = (caret_slice){NULL, 0};
    if (rc == CARET_NONE || rc == CARET_OK)
        return CARET_OK;
    memcpy(node, &before, bytes);
    return rc;
}

/*
 * The quickest way of all, which most steps of a walk take, so it is kept small: the node is the one that was moved in
 * the copy last, as the words of its hint tell, and nothing is to be noted.  False: another way; nothing has changed.
 */
static inline __attribute__((always_inline)) bool glide(caret_session *s, caret_node *node,
                                                        caret_slice *value, int by)
{
    struct caret__at at;

    if (caret__unlikely(value == NULL || s == NULL || !caret__node_ok(node) || !caret__session_ready(s)))
        return false;
    const struct caret__hint_words h = caret__hint_words(caret__node(node));
    const struct caret__view *v = &s->global;
    struct caret__walk *k = &s->walk;
    if (h.check != k->moved_check || h.place != k->moved_place || v->reads != NULL ||
        !caret__walk_current(v, k, &at) || !slide(k, caret__node(node), &h, by, value))
        return false;
    caret__count_get(s, caret__node(node));
    return true;
}

/* The other quick ways, else `move` and a get. */
static inline __attribute__((always_inline)) int step(const char *function, caret_session *s, caret_node *n,
                                                      caret_slice *value, enum way way,
                                                      int (*move)(caret_session *s, caret_node *n))
{
    struct wanted w = {s, value};

    if (caret__unlikely(value == NULL))
        return caret__null(function, "value", "a place for the value");
    int rc = quickly(s, n, way, &w);
    if (caret__unlikely(rc != CARET_OK))
        return rc == CARET_NONE ? move_and_get(function, s, n, value, move) : rc;
    if (!caret__node(n)->local)
        caret__count_get(s, caret__node(n));
    return CARET_OK;
}

static __attribute__((noinline)) int step_next(caret_session *s, caret_node *n, caret_slice *value)
{
    return step("caret_next_get", s, n, value, NEXT, next_slowly);
}

static __attribute__((noinline)) int step_previous(caret_session *s, caret_node *n, caret_slice *value)
{
    return step("caret_previous_get", s, n, value, PREVIOUS, previous_slowly);
}

static __attribute__((noinline)) int step_node_next(caret_session *s, caret_node *n, caret_slice *value)
{
    return step("caret_node_next_get", s, n, value, NODE_NEXT, node_next_slowly);
}

static __attribute__((noinline)) int step_node_previous(caret_session *s, caret_node *n, caret_slice *value)
{
    return step("caret_node_previous_get", s, n, value, NODE_PREVIOUS, node_previous_slowly);
}

QUICK int caret_next_get(caret_session *s, caret_node *n, caret_slice *value)
{
    return caret__likely(glide(s, n, value, 1)) ? CARET_OK : step_next(s, n, value);
}

QUICK int caret_previous_get(caret_session *s, caret_node *n, caret_slice *value)
{
    return caret__likely(glide(s, n, value, -1)) ? CARET_OK : step_previous(s, n, value);
}

QUICK int caret_node_next_get(caret_session *s, caret_node *n, caret_slice *value)
{
    return caret__likely(glide(s, n, value, 1)) ? CARET_OK : step_node_next(s, n, value);
}

QUICK int caret_node_previous_get(caret_session *s, caret_node *n, caret_slice *value)
{
    return caret__likely(glide(s, n, value, -1)) ? CARET_OK : step_node_previous(s, n, value);
}

/* ------------------------------------------------------------------- variables */

/* The node is some variable already. */
static int first_var(caret_session *s, caret_node *node)
{
    struct move m;
    int rc = begin("caret_first_var", &m, s, node);

    if (rc != CARET_OK)
        return observed(s, node, first_var, rc);
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
