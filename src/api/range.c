/*
 * range.c - some of the children of a node: from one subscript to another, or all strings with a prefix.
 *
 * Of a node with the key N, with s and t the codes of subscripts (base/key.h):
 *
 *     no `from`                    [N 01           the lowest first byte of a subscript
 *     from s                       [N s
 *     a prefix p, or a string p    [N FE p 00      p as if it were a string, also if it is a number's text
 *     no `to`                       N FF)
 *     to t, with it                 N t FF)
 *     to t, before it               N t)
 *     a prefix p                    N FE q 00)     q: p with its last byte one higher, or N FF) if p is nothing but FF
 *
 * What begins with p lies in a row among the strings, and q 00 comes after all of it: escaping bytes keeps their order.
 * Numbers come before all strings, ordered by value, so that those whose text begins with p are not in a row: a prefix
 * is never about them.
 *
 * The log has the two keys alone (disk/record.h), and these may be of several ranges that a transaction has killed.  So
 * what they are is read out of them: the low one is a whole key, whose parent is N; the high one tells by what it has
 * after N.  A string that is a number's text says so by a flag, and comes back as the same keys.  From such a string to
 * itself there is nothing, and it must not get into the log: a record of [N s, N s FF) is the kill of the node N s, and
 * read as a subscript the text names the number's node.
 */
#include "api/range.h"

#include "base/bytes.h"
#include "base/number.h"
#include "tree/walk.h"

#define FLAGS (CARET_RANGE_PREFIX | CARET_RANGE_BEFORE | CARET_RANGE_FROM_STRING | CARET_RANGE_TO_STRING)

enum { LO, HI };

/* ----------------------------------------------------------------- what is asked */

static bool is_given(const caret_slice *bound)
{
    return bound != NULL && bound->data != NULL;
}

static int check(const char *function, const caret_slice *from, const caret_slice *to, int flags)
{
    const caret_slice *bounds[] = {from, to};

    for (int i = 0; i < 2; i++)
        if (bounds[i] != NULL && !caret__bytes_ok(bounds[i]->data, bounds[i]->len))
            return caret__refuse_bytes(function, i == LO ? "from" : "to", bounds[i]->data, bounds[i]->len);
    if ((flags & ~FLAGS) != 0)
        return caret__fail(CARET_E_INVALID, "%s: unknown flags: %d", function, flags);
    if ((flags & CARET_RANGE_PREFIX) == 0)
        return CARET_OK;
    if (!is_given(from))
        return caret__fail(CARET_E_INVALID, "%s: CARET_RANGE_PREFIX without `from`, which is the prefix",
                           function);
    if (is_given(to) || flags != CARET_RANGE_PREFIX)
        return caret__fail(CARET_E_INVALID, "%s: CARET_RANGE_PREFIX goes with no other bound or flag",
                           function);
    return CARET_OK;
}

/* Append a subscript to the node's key; its length then, 0: it is too long for any key. */
static size_t put(const struct caret__node *n, uint8_t *key, const char *sub, size_t len, bool string)
{
    size_t base = n->key_len, cap = CARET__KEY_MAX - base, added = 0;

    if (len <= CARET__KEY_MAX)
        added = string ? caret__sub_put_string(key + base, cap, sub, len)
                       : caret__sub_put(key + base, cap, sub, len);
    return added != 0 ? base + added : 0;
}

/* The text after all that begin with `prefix`, into `after`: its length, 0 if there is none. */
static size_t text_after(char *after, const char *prefix, size_t len)
{
    while (len > 0 && (uint8_t)prefix[len - 1] == 0xff)
        len--;
    if (len == 0)
        return 0;
    memcpy(after, prefix, len);
    after[len - 1] = (char)((uint8_t)after[len - 1] + 1);
    return len;
}

static int too_long(const char *function, size_t len)
{
    return caret__fail(CARET_E_KEY2BIG,
                       "%s: a bound of %zu bytes; the limit of the whole key, encoded, is %u", function, len,
                       CARET__KEY_MAX);
}

/* All children. */
static int put_all(const struct caret__node *n, struct caret__children *c)
{
    if (n->depth >= CARET_MAX_SUBS || n->key_len >= CARET__KEY_MAX)
        return CARET_NONE;
    for (int i = LO; i <= HI; i++) {
        memcpy(c->keys[i], caret__node_key(n), n->key_len);
        c->keys[i][n->key_len] = i == LO ? CARET__SUB_EMPTY : CARET__SUB_BEYOND;
    }
    c->span = (struct caret__span){c->keys[LO], c->keys[HI], n->key_len + 1u, n->key_len + 1u};
    return CARET_OK;
}

static int put_prefix(const char *function, const struct caret__node *n, const caret_slice *prefix,
                      struct caret__children *c)
{
    char after[CARET__KEY_MAX];
    size_t len = put(n, c->keys[LO], prefix->data, prefix->len, true);

    if (len == 0)
        return too_long(function, prefix->len);
    c->span.lo_len = len;
    len = text_after(after, prefix->data, prefix->len);
    if (len == 0)
        return CARET_OK;
    c->span.hi_len = put(n, c->keys[HI], after, len, true); /* not longer than the other */
    return CARET_OK;
}

static int put_to(const char *function, const struct caret__node *n, const caret_slice *to, int flags,
                  struct caret__children *c)
{
    size_t len = put(n, c->keys[HI], to->data, to->len, (flags & CARET_RANGE_TO_STRING) != 0);

    if (len == 0)
        return too_long(function, to->len);
    if ((flags & CARET_RANGE_BEFORE) == 0)
        c->keys[HI][len++] = CARET__SUB_BEYOND;
    c->span.hi_len = len;
    return CARET_OK;
}

/* Is the text never a string among subscripts: "", which comes first of all, or a number? */
static bool is_no_string(const char *text, size_t len)
{
    return len == 0 || caret__num_canonical(text, len);
}

/* Can there be a child in it? */
static bool is_possible(const struct caret__span *span, const caret_slice *from, int flags)
{
    bool same = span->hi_len == span->lo_len + 1 && memcmp(span->lo, span->hi, span->lo_len) == 0;

    if (same && (flags & CARET_RANGE_FROM_STRING) != 0)
        return !is_no_string(from->data, from->len);
    return caret__bytes_compare(span->lo, span->lo_len, span->hi, span->hi_len) < 0;
}

int caret__children(const char *function, const struct caret__node *n, const caret_slice *from,
                    const caret_slice *to, int flags, struct caret__children *c)
{
    int rc = check(function, from, to, flags);

    if (rc == CARET_OK)
        rc = put_all(n, c);
    if (rc != CARET_OK)
        return rc;
    if ((flags & CARET_RANGE_PREFIX) != 0)
        return put_prefix(function, n, from, c);
    if (is_given(from)) {
        c->span.lo_len = put(n, c->keys[LO], from->data, from->len, (flags & CARET_RANGE_FROM_STRING) != 0);
        if (c->span.lo_len == 0)
            return too_long(function, from->len);
    }
    if (is_given(to))
        rc = put_to(function, n, to, flags, c);
    if (rc != CARET_OK)
        return rc;
    return is_possible(&c->span, from, flags) ? CARET_OK : CARET_NONE;
}

/* ---------------------------------------------------------------- what is in the log */

static int malformed(void)
{
    return caret__fail(CARET_E_CORRUPT, "a range in the log can't be decoded");
}

/* The subscript at p as a bound: *text, and `flag` if it is a string that would not be taken for one. */
static int tell(const uint8_t *p, size_t n, char *text, caret_slice *bound, int flag, int *flags)
{
    size_t len;
    bool number;

    if (caret__sub_get(p, n, text, CARET__KEY_MAX, &len, &number) != CARET_OK)
        return malformed();
    *bound = (caret_slice){text, len};
    if (p[0] == CARET__SUB_STRING && is_no_string(text, len))
        *flags |= flag;
    return CARET_OK;
}

/* Is the high bound what a prefix makes of the low one, which is a string? */
static bool is_prefix(const struct caret__span *span, size_t base, const struct caret__bounds *b)
{
    uint8_t key[CARET__PLACE_MAX];
    char after[CARET__KEY_MAX];
    size_t rest = span->hi_len - base, len;

    if (span->lo[base] != CARET__SUB_STRING)
        return false;
    len = text_after(after, b->from.data, b->from.len);
    if (len == 0)
        return rest == 1 && span->hi[base] == CARET__SUB_BEYOND;
    len = caret__sub_put_string(key, sizeof key, after, len);
    return len == rest && memcmp(key, span->hi + base, len) == 0;
}

int caret__children_told(const struct caret__span *span, caret_node_buf *node, struct caret__bounds *b)
{
    int rc = caret__node_make(&node->node, sizeof *node, false, span->lo, span->lo_len);

    if (rc != CARET_OK || caret_node_depth(&node->node) == 0)
        return rc != CARET_OK ? rc : malformed();
    size_t base = caret__node(&node->node)->last_off, lo = span->lo_len - base, hi;
    if (span->hi_len <= base || memcmp(span->hi, span->lo, base) != 0)
        return malformed();
    *b = (struct caret__bounds){.flags = 0};
    if (lo != 1 || span->lo[base] != CARET__SUB_EMPTY)
        rc = tell(span->lo + base, lo, b->texts[LO], &b->from, CARET_RANGE_FROM_STRING, &b->flags);
    if (rc == CARET_OK && is_prefix(span, base, b)) {
        b->flags = CARET_RANGE_PREFIX;
    } else if (rc == CARET_OK && span->hi[base] != CARET__SUB_BEYOND) {
        hi = caret__sub_len(span->hi + base, span->hi_len - base);
        if (hi == 0)
            return malformed();
        rc = tell(span->hi + base, hi, b->texts[HI], &b->to, CARET_RANGE_TO_STRING, &b->flags);
        b->flags |= base + hi == span->hi_len ? CARET_RANGE_BEFORE : 0;
    }
    return rc == CARET_OK ? caret_node_parent(&node->node, sizeof *node, &node->node) : rc;
}

/* ------------------------------------------------------------------------ moving */

int caret_node_in(const caret_node *n, const caret_slice *from, const caret_slice *to, int flags)
{
    caret_node_buf parent;
    struct caret__children c;

    if (!caret__node_whole(n) || caret_node_parent(&parent.node, sizeof parent, n) != CARET_OK)
        return 0;
    const struct caret__node *k = caret__node_const(n);
    return caret__children(__func__, caret__node(&parent.node), from, to, flags, &c) == CARET_OK &&
           caret__span_has(&c.span, caret__node_key(k), k->key_len);
}

struct find {
    struct caret__children c;
    bool last;
};

/* To the child that the key found is, or is below. */
static int take_child(struct caret__node *n, const uint8_t *key, size_t len)
{
    size_t sub = caret__sub_len(key + n->key_len, len - n->key_len);

    if (sub == 0)
        return caret__fail(CARET_E_CORRUPT, "a key in the database can't be decoded");
    return caret__node_take_key(n, key, n->key_len + sub);
}

static int find_child(caret_session *s, caret_node *node, void *arg)
{
    const struct find *f = arg;
    const struct caret__span *span = &f->c.span;
    struct caret__node *n = caret__node(node);
    uint8_t key[CARET__PLACE_MAX];
    size_t len = f->last ? span->hi_len : span->lo_len;
    struct caret__at at;
    unsigned place = caret__place_of(s, n->local);
    int rc = n->local ? caret__session_locals(s) : caret__if_remote(caret__session_enter_read(s), CARET_OK);

    if (rc == CARET__OBSERVED)
        return caret__observe_call(s, node, find_child, arg);
    if (rc == CARET_OK && !n->local && s->txn.level != 0 && s->txn.broken)
        rc = CARET_RESTART;
    if (rc != CARET_OK)
        return rc;
    memcpy(key, f->last ? span->hi : span->lo, len);
    rc = f->last ? caret__session_before(s, place, key, &len, &at)
                 : caret__session_from(s, place, key, &len, &at);
    if (rc == CARET_RESTART)
        s->txn.broken = true;
    if (rc == CARET_OK && !caret__span_has(span, key, len))
        rc = CARET_NONE;
    if (rc == CARET_OK)
        rc = take_child(n, key, len);
    if (rc == CARET_OK && n->key_len == len) /* it is not only a beginning of what was found */
        caret__session_found(s, n, &at);
    return rc;
}

static int move(const char *function, caret_session *s, caret_node *n, const caret_slice *from,
                const caret_slice *to, int flags, bool last)
{
    struct find f = {.last = last};
    int rc = caret__range_args(function, s, n, from, to, flags, &f.c);

    return rc == CARET_OK ? find_child(s, n, &f) : rc;
}

int caret_first_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to, int flags)
{
    return move(__func__, s, n, from, to, flags, false);
}

int caret_last_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to, int flags)
{
    return move(__func__, s, n, from, to, flags, true);
}

/* ------------------------------------------------------------ leaf by leaf */

struct through {
    caret_session *s;
    struct caret__view *v;
    const struct caret__span *span;
    struct caret__page *copy; /* NULL: pages are looked at where they are */
    struct caret__at at;      /* the leaf before; pgno 0: there is none, or what is beside it is not known */
    bool first, last;         /* leaf of the span */
    size_t from_len, after_len;
    uint8_t from[CARET__PLACE_MAX];  /* where to go on */
    uint8_t after[CARET__PLACE_MAX]; /* the last key of a leaf that the span goes beyond; after_len 0: none */
};

/* Which entries of a leaf that a descent or a step has come to are in the span?  CARET_NONE: it has changed
 * meanwhile. */
static int look_into(struct through *w, const struct caret__at *at, struct caret__part *part, unsigned *count)
{
    bool found;

    if (w->copy != NULL)
        caret__racy_copy(w->copy, at->page, CARET__PAGE_SIZE);
    const struct caret__page *p = w->copy != NULL ? w->copy : at->page;
    *count = caret__page_count(p);
    unsigned to = w->last ? caret__page_find(p, w->span->hi, w->span->hi_len, &found) : *count;
    bool sane = w->copy == NULL || caret__page_sane(p, at->pgno, 0);
    w->after_len = to == *count && to > at->pos ? caret__page_key(p, to - 1, w->after) : 0;
    CARET_FAULT("subtree_looked"); /* a page that changes here is looked at again */
    if (!caret__at_valid(w->v, at))
        return CARET_NONE;
    if (!sane)
        return caret__corrupt_page(w->v->pg, at->pgno, "damaged");
    *part = (struct caret__part){w->copy, *at, at->pos, to > at->pos ? to : at->pos};
    return CARET_OK;
}

/* Does the leaf beside end after the one before it?  Not always in a damaged tree, or in a file that is written over:
 * there steps could lead in a ring.  A bound that a descent tells is always after the key. */
static bool goes_on(const struct through *w)
{
    return w->after_len == 0 || caret__bytes_compare(w->after, w->after_len, w->from, w->from_len) >= 0;
}

/* The first leaf, or the one beside that before: an entry after the span tells that it is the last.  CARET_NONE: look
 * by the bounds. */
static int look_by_entries(struct through *w, struct caret__part *part)
{
    struct caret__at at, parent;
    unsigned count;
    int rc = CARET_OK;
    bool first = w->first, beside = !first && caret__walk_beside(w->v, &w->at, 1, &parent, &at);

    w->first = false;
    w->at.pgno = 0;
    if (first)
        rc = caret__seek_walk(w->v, w->from, w->from_len, &at);
    else if (!beside)
        return CARET_NONE;
    w->last = true;
    if (rc == CARET_OK)
        rc = look_into(w, &at, part, &count);
    if (beside && !caret__at_valid(w->v, &parent)) /* what was found there means nothing */
        return CARET_NONE;
    if (rc != CARET_OK)
        return rc;
    if (beside && !goes_on(w))
        return CARET_NONE;
    if (beside)
        caret__walk_on(w->v->walk, &at, 1);
    w->last = part->to < count;
    w->at = at;
    if (w->after_len != 0) {
        memcpy(w->from, w->after, w->from_len = w->after_len);
        caret__key_after(w->from, &w->from_len);
    }
    return caret__walk_note(w->v, &at);
}

/* By a descent that tells the bounds of the leaf.  CARET_NONE: it has changed meanwhile, look again. */
static int look_by_bounds(struct through *w, struct caret__part *part)
{
    struct caret__range bounds;
    struct caret__at at;
    unsigned count;
    int rc = caret__seek_range(w->v, w->from, w->from_len, &at, &bounds);

    if (rc != CARET_OK)
        return rc;
    w->last = bounds.upper_len == 0 ||
              caret__bytes_compare(bounds.upper, bounds.upper_len, w->span->hi, w->span->hi_len) >= 0;
    rc = look_into(w, &at, part, &count);
    if (rc != CARET_OK)
        return rc;
    memcpy(w->from, bounds.upper, bounds.upper_len);
    w->from_len = bounds.upper_len;
    w->at = at;
    return caret__walk_note(w->v, &at);
}

static int look(struct through *w, struct caret__part *part)
{
    int rc = w->first || w->at.pgno != 0 ? look_by_entries(w, part) : CARET_NONE;

    return rc == CARET_NONE ? look_by_bounds(w, part) : rc;
}

static int go(struct through *w, caret__part_fn *each, void *arg)
{
    do {
        struct caret__part part;
        int rc = caret__session_saw(w->s, CARET_OK); /* a snapshot that is lost may not even be mapped */
        while (rc == CARET_OK && (rc = look(w, &part)) == CARET_NONE)
            rc = CARET_OK;
        rc = caret__session_saw(w->s, rc);
        if (rc == CARET_OK)
            rc = each(arg, &part);
        if (rc != CARET_OK)
            return rc;
    } while (!w->last);
    return CARET_OK;
}

/* With copies: in memory of the stack, as a page is small and most spans have one or two. */
static int go_copying(struct through *w, caret__part_fn *each, void *arg)
{
    _Alignas(64) uint8_t copy[CARET__PAGE_SIZE];

    w->copy = (struct caret__page *)copy;
    return go(w, each, arg);
}

int caret__each_leaf(caret_session *s, const struct caret__span *span, bool local, bool copies,
                     caret__part_fn *each, void *arg)
{
    struct caret__view locals = {.pg = &s->locals.pg};
    struct through w;

    w.s = s;
    w.v = local ? &locals : &s->global;
    w.span = span;
    w.copy = NULL;
    w.first = true;
    w.at.pgno = 0;
    memcpy(w.from, span->lo, w.from_len = span->lo_len);
    return copies ? go_copying(&w, each, arg) : go(&w, each, arg);
}

static int enter(caret_session *s)
{
    int rc = caret__if_remote(caret__session_enter_read(s), CARET_OK);

    return rc == CARET_OK && s->txn.level != 0 && s->txn.broken ? CARET_RESTART : rc;
}

int caret__read_in_txn(caret_session *s, caret_node *n, caret__reader *read, void *arg)
{
    int rc = enter(s);

    if (rc == CARET_OK)
        rc = read(s, n, arg);
    else if (rc == CARET__OBSERVED)
        rc = caret__observe_call(s, n, read, arg);
    if (rc == CARET_RESTART)
        s->txn.broken = true;
    return rc;
}

bool caret__is_plain(caret_session *s, const struct caret__node *k)
{
    return k->local ? s->has_locals : !caret__buffer_touches(&s->txn, caret__node_key(k), k->key_len);
}

int caret__range_args(const char *function, caret_session *s, caret_node *n, const caret_slice *from,
                      const caret_slice *to, int flags, struct caret__children *c)
{
    int rc = caret__args_check(function, s, n);

    if (rc == CARET_OK && !caret__node_whole(n))
        rc = caret__not_a_node(function, "n", n);
    return rc == CARET_OK ? caret__children(function, caret__node(n), from, to, flags, c) : rc;
}
