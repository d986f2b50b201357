/*
 * data.c - get, set, incr, data.
 *
 * The quick way of a get: the node remembers (page, version, position); while the
 * page's version is the remembered one, the value is one copy away.  A set is a
 * commit of its own (log/commit.c) or an entry in the transaction's buffer.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/session.h"
#include "base/crc32c.h"
#include "base/decimal.h"
#include "base/number.h"
#include "base/zwr.h"
#include "log/background.h"

/* ---------------------------------------------------------------------- get */

/* Find the node's entry: by its hint, or anew.  Notes the hint. */
static inline __attribute__((always_inline)) int find(caret_session *s, struct caret__view *v,
                                                      struct caret__node *n, struct caret__at *at)
{
    struct caret__hint h;
    struct caret__leaf *l;

    if (caret__hint_within(n, v->pg->id, &h)) {
        bool same = caret__at_recall(v, at, h.pgno, h.version);
        if (same || caret__at_before(&s->leaves.last, v, at, h.pgno, h.version)) {
            at->pos = h.pos;
            at->found = h.found;
            h.version = at->version;
            if (!same)
                caret__hint_put(n, h);
            return CARET_OK;
        }
    }
    int rc = caret__find_leaf(&s->leaves, v, caret__node_key(n), n->key_len, at, &l);
    if (rc == CARET_OK)
        caret__hint_put(n,
                        (struct caret__hint){at->version, v->pg->id, at->pgno, (uint16_t)at->pos, at->found});
    return rc;
}

int caret__find(caret_session *s, struct caret__view *v, struct caret__node *n, struct caret__at *at)
{
    return find(s, v, n, at);
}

/* Copy a value out of line; false: the reference was not stable, look again. */
static int read_run(caret_session *s, const struct caret__at *at, const struct caret__entry *e, size_t *len)
{
    struct caret__runref ref = {0};
    caret__racy_copy(&ref, e->val, e->vlen < sizeof ref ? e->vlen : sizeof ref);
    if (!caret__at_valid(&s->global, at))
        return CARET_RESTART;
    const struct caret__pager *pg = s->global.pg;
    if (ref.len > CARET_MAX_VALUE || ref.pgno >= pg->max_pages)
        return caret__corrupt_page(pg, at->pgno, "reference to a long value makes no sense");
    int rc = caret__session_out(s, ref.len);
    if (rc != CARET_OK)
        return rc;
    const struct caret__pte *pte = &pg->ptab[ref.pgno];
    uint64_t version = atomic_load_explicit(&pte->version, memory_order_acquire);
    if (!caret__at_valid(&s->global, at))
        return CARET_RESTART;
    for (size_t done = 0; done < ref.len;) {
        ssize_t n = pread(caret__fd(&s->e->data_fd), s->out + done, ref.len - done,
                          (off_t)((uint64_t)ref.pgno * CARET__PAGE_SIZE + done));
        if (n < 0 && !caret__fds_ours(s->e))
            return caret__fds_check(s->e);
        if (n <= 0)
            return caret__fail_errno(CARET_E_IO, "%s: reading a value of %u bytes at page %u", s->e->path,
                                     ref.len, ref.pgno);
        done += (size_t)n;
    }
    atomic_thread_fence(memory_order_acquire); /* the bytes were read before this look */
    if (atomic_load_explicit(&pte->version, memory_order_relaxed) != version)
        return CARET_RESTART;
    /* Above the leaf's version: freed by the commit that is being applied.  While the leaf is what it was,
     * that isn't finished, and nobody can have written there. */
    if (version > at->version && !caret__at_valid(&s->global, at))
        return CARET_RESTART;
    if (caret__crc32c(0, s->out, ref.len) != ref.crc)
        return caret__fail(CARET_E_CORRUPT, "%s: the value of %u bytes at page %u is damaged", s->e->path,
                           ref.len, ref.pgno);
    *len = ref.len;
    return CARET_OK;
}

/* The database's value, copied to the session's buffer; CARET_NONE if there is none. */
static inline __attribute__((always_inline)) int get_global(caret_session *s, struct caret__node *n,
                                                            size_t *len)
{
    struct caret__view *v = &s->global;
    struct caret__at at;

    for (;;) {
        int rc = find(s, v, n, &at);
        if (caret__unlikely(rc != CARET_OK))
            return rc;
        if (!at.found) {
            if (!caret__at_valid(v, &at))
                continue;
            rc = caret__reads_note(v, &at);
            return rc == CARET_OK ? CARET_NONE : rc;
        }
        struct caret__entry e = caret__page_entry(at.page, at.pos);
        if (caret__unlikely(e.run)) {
            rc = read_run(s, &at, &e, len);
            if (rc == CARET_RESTART)
                continue;
            return rc == CARET_OK ? caret__reads_note(v, &at) : rc;
        }
        if (caret__unlikely(e.vlen > s->out_cap) && (rc = caret__session_out(s, e.vlen)) != CARET_OK)
            return rc;
        caret__racy_copy_value(s->out, e.val, e.vlen);
        if (caret__unlikely(!caret__at_valid(v, &at)))
            continue;
        *len = e.vlen;
        return caret__reads_note(v, &at);
    }
}

/*
 * The value of a node whose hint holds, outside a transaction: what a get mostly is, so it is kept small.  False: what
 * get_global() finds counts.
 */
static inline __attribute__((always_inline)) bool
get_remembered(caret_session *s, const struct caret__node *n, caret_slice *out)
{
    const struct caret__view *v = &s->global;
    const struct caret__hint h = caret__hint_get(n); /* most have one here: its sum is made at once */
    struct caret__at at;

    if (h.owner != v->pg->id || !h.found || !caret__at_recall(v, &at, h.pgno, h.version))
        return false;
    struct caret__entry e = caret__page_entry(at.page, h.pos);
    if (caret__unlikely(e.run || e.vlen > s->out_cap))
        return false;
    if (e.vlen >= 8 && e.vlen <= 16) { /* a number, a name: two words */
        uint64_t first = caret__racy64(e.val), last = caret__racy64(e.val + e.vlen - 8);
        caret__put_le64(s->out, first);
        caret__put_le64(s->out + e.vlen - 8, last);
    } else {
        caret__racy_copy_value(s->out, e.val, e.vlen);
    }
    if (caret__unlikely(!caret__at_unchanged(v, &at)))
        return false;
    *out = (caret_slice){(const char *)s->out, e.vlen};
    return true;
}

static __attribute__((noinline)) int get_searched(caret_session *s, struct caret__node *n, caret_slice *out)
{
    size_t len;
    int rc = get_global(s, n, &len);

    if (rc == CARET_OK)
        *out = (caret_slice){(const char *)s->out, len};
    return rc;
}

/* A read inside a transaction: the buffer first; a conflict marks the transaction. */
static __attribute__((noinline)) int get_in_txn(caret_session *s, struct caret__node *n, caret_slice *out)
{
    const uint8_t *val;
    size_t len;

    if (s->txn.broken)
        return CARET_RESTART;
    if (caret__buffer_ready(&s->txn) != CARET_OK)
        return CARET_E_NOMEM;
    int said = caret__buffer_get(&s->txn, caret__node_key(n), n->key_len, &val, &len);
    if (said < 0)
        return CARET_NONE;
    if (said > 0) {
        int rc = caret__session_out(s, len);
        if (rc != CARET_OK)
            return rc;
        if (len != 0)
            memcpy(s->out, val, len);
        *out = (caret_slice){(const char *)s->out, len};
        return CARET_OK;
    }
    int rc = caret__session_saw(s, CARET_OK);
    if (rc == CARET_OK)
        rc = caret__session_saw(s, get_global(s, n, &len));
    if (rc == CARET_OK)
        *out = (caret_slice){(const char *)s->out, len};
    s->txn.broken = rc == CARET_RESTART;
    return rc;
}

int caret__get_committed(caret_session *s, caret_node *node, caret_slice *out)
{
    size_t len;
    int rc = caret__session_saw(s, CARET_OK);

    if (rc == CARET_OK)
        rc = caret__session_saw(s, get_global(s, caret__node(node), &len));
    if (rc == CARET_OK)
        *out = (caret_slice){(const char *)s->out, len};
    return rc;
}

static __attribute__((noinline)) int get_local(caret_session *s, struct caret__node *n, caret_slice *out)
{
    struct caret__at at;
    int rc = caret__session_locals(s);

    if (rc != CARET_OK)
        return rc;
    if (!s->has_locals)
        return caret__elsewhere_get(s, n, out);
    struct caret__view v = {.pg = &s->locals.pg,
                            .applied = atomic_load_explicit(&s->locals.lsn, memory_order_relaxed)};
    rc = find(s, &v, n, &at);
    if (rc != CARET_OK || !at.found)
        return rc == CARET_OK ? CARET_NONE : rc;
    struct caret__entry e = caret__page_entry(at.page, at.pos);
    const uint8_t *val;
    size_t len;
    caret__private_value(&e, &val, &len);
    rc = caret__session_out(s, len);
    if (rc != CARET_OK)
        return rc;
    if (len != 0)
        memcpy(s->out, val, len);
    *out = (caret_slice){(const char *)s->out, len};
    return CARET_OK;
}

static int get_observed(caret_session *s, caret_node *node, void *value)
{
    return caret_get(s, node, value);
}

int caret_get(caret_session *s, caret_node *node, caret_slice *value)
{
    struct caret__node *n = caret__node(node);
    int rc = caret__args_check(__func__, s, node);

    if (caret__unlikely(rc != CARET_OK))
        return rc;
    if (caret__unlikely(value == NULL))
        return caret__null(__func__, "value", "a place for the value");
    if (caret__unlikely(n->local))
        return get_local(s, n, value);
    rc = caret__session_enter_read(s);
    if (caret__unlikely(rc != CARET_OK))
        return rc == CARET__OBSERVED ? caret__observe_call(s, node, get_observed, value)
               : rc == CARET__REMOTE ? caret__remote_get_node(s, n, value)
                                     : rc;
    caret__count_get(s, n);
    if (s->txn.level != 0)
        return get_in_txn(s, n, value);
    return get_remembered(s, n, value) ? CARET_OK : get_searched(s, n, value);
}

int caret_get_copy(caret_session *s, caret_node *n, void *buf, size_t cap, size_t *len)
{
    caret_slice v;
    int rc = caret__args_check(__func__, s, n);
    if (rc == CARET_OK && len == NULL)
        rc = caret__null(__func__, "len", "a place for the length");
    if (rc == CARET_OK && !caret__bytes_ok(buf, cap))
        rc = caret__refuse_bytes(__func__, "buf", buf, cap);
    if (rc == CARET_OK)
        rc = caret_get(s, n, &v);
    if (rc != CARET_OK)
        return rc;
    *len = v.len;
    if (v.len > cap)
        return caret__fail(CARET_E_BUFFER, "the value has %zu bytes, the buffer %zu", v.len, cap);
    if (v.len != 0)
        memcpy(buf, v.data, v.len);
    return CARET_OK;
}

/* ---------------------------------------------------------------------- set */

static int journal_local(caret_session *s, const uint8_t *key, size_t len)
{
    if (s->txn.level == 0 || !s->txn.restore_locals)
        return CARET_OK;
    return caret__journal_note(&s->txn.journal, &s->locals, CARET__OF_LOCALS, key, len);
}

static int set_local(caret_session *s, struct caret__node *n, const void *value, size_t len)
{
    int rc = caret__session_locals(s);

    if (rc == CARET_OK && !s->has_locals)
        return caret__elsewhere_put(s, caret__node_key(n), n->key_len, value, len);
    if (rc == CARET_OK)
        rc = journal_local(s, caret__node_key(n), n->key_len);
    return rc == CARET_OK ? caret__private_set(&s->locals, caret__node_key(n), n->key_len, value, len) : rc;
}

/* A value too long for a page: written first, then committed by reference. */
static int set_long(caret_session *s, struct caret__node *n, const void *value, size_t len, uint64_t *lsn)
{
    struct caret__room room = {0};
    struct caret__runref ref;
    int rc = caret__run_write(s->e, &room, value, len, &ref);

    if (rc == CARET_OK)
        rc = caret__batch_begin(&s->batch);
    if (rc == CARET_OK)
        rc = caret__batch_add(&s->batch, CARET__OP_SETRUN, caret__node_key(n), n->key_len, &ref, sizeof ref);
    if (rc == CARET_OK)
        rc = caret__commit(s->e, &s->batch, NULL, NULL, lsn);
    caret__room_done(s->e, &room);
    return rc;
}

/* The place of a key in the leaf is known: after all others?  Then the leaf's bound is worth knowing. */
static inline void note_append(caret_session *s, const struct caret__node *n, const struct caret__at *at)
{
    struct caret__edge *g = &s->leaves.edge;

    if (!at->found && at->pos == caret__page_count(at->page) &&
        !(g->known && caret__is_edge(g, &s->global, at)))
        caret__edge_learn(g, &s->global, at, caret__node_key(n), n->key_len);
}

/* A commit left the leaf, which had that version before, as spot says. */
static inline void remember_leaf(caret_session *s, struct caret__leaf *l, const struct caret__spot *spot,
                                 uint64_t before)
{
    struct caret__edge *g = &s->leaves.edge;

    if (spot->version == 0)
        return;
    caret__last_changed(&s->leaves.last, spot->pgno, before, spot->version, spot->pos, false);
    l->pgno = spot->pgno;
    l->version = spot->version;
    if (spot->kept && g->version == before && g->pgno == spot->pgno)
        g->version = spot->version;
}

/* After a commit at the spot. */
static inline void note_spot(caret_session *s, struct caret__node *n, const struct caret__spot *spot)
{
    if (caret__unlikely(spot->version == 0)) /* it is not known where it is now */
        caret__hint_drop(n);
    else
        caret__hint_write(n, spot->version, caret__spot_place(spot), s->e->pg.id);
}

static inline int commit_spot(caret_session *s, struct caret__node *n, struct caret__spot *spot,
                              const void *value, size_t len, caret__compute *compute, void *ctx,
                              uint64_t *lsn)
{
    const uint8_t *key = caret__node_key(n);

    return compute == NULL ? caret__commit_set(s->e, spot, key, n->key_len, value, len, lsn)
                           : caret__commit_computed(s->e, spot, key, n->key_len, compute, ctx, lsn);
}

/* A set of a node without a hint that holds: its place is looked for before the writer mutex is taken. */
static __attribute__((noinline)) int commit_searched(caret_session *s, struct caret__node *n,
                                                     const void *value, size_t len, caret__compute *compute,
                                                     void *ctx, uint64_t *lsn)
{
    CARET__ASSERT(!caret__writer_held(s->e->sh));
    struct caret__leaf *l = NULL;
    struct caret__at at;

    int rc = caret__find_leaf(&s->leaves, &s->global, caret__node_key(n), n->key_len, &at, &l);
    if (rc != CARET_OK)
        return rc;
    struct caret__spot spot = {at.version, at.pgno, (uint16_t)at.pos, at.found, 1};
    if (l != NULL)
        note_append(s, n, &at);
    rc = commit_spot(s, n, &spot, value, len, compute, ctx, lsn);
    note_spot(s, n, &spot);
    if (rc == CARET_OK && l != NULL)
        remember_leaf(s, l, &spot, at.version);
    return rc;
}

/* Under the writer mutex only the version of the place is compared. */
static inline __attribute__((always_inline)) int commit_node(caret_session *s, struct caret__node *n,
                                                             const void *value, size_t len,
                                                             caret__compute *compute, void *ctx,
                                                             uint64_t *lsn)
{
    CARET__ASSERT(!caret__writer_held(s->e->sh));
    struct caret__hint_words w;

    if (!caret__hint_words_within(n, s->global.pg->id, &w) ||
        !caret__page_unchanged(s->global.pg, (uint32_t)w.place, w.version))
        return commit_searched(s, n, value, len, compute, ctx, lsn);
    struct caret__spot spot = caret__hint_spot(&w);
    int rc = commit_spot(s, n, &spot, value, len, compute, ctx, lsn);
    note_spot(s, n, &spot);
    return rc;
}

int caret__commit_node(caret_session *s, struct caret__node *n, caret__compute *compute, void *ctx,
                       uint64_t *lsn)
{
    return commit_node(s, n, NULL, 0, compute, ctx, lsn);
}

static int set_global(caret_session *s, struct caret__node *n, const void *value, size_t len)
{
    uint64_t lsn;
    int rc;

    if (caret__unlikely(!caret__value_inline(n->key_len, len)))
        rc = set_long(s, n, value, len, &lsn);
    else
        rc = commit_node(s, n, value, len, NULL, NULL, &lsn);
    return rc == CARET_OK ? caret__session_committed(s, lsn, 0) : rc;
}

/* Much is gathered: what its commit takes of the arena can be made now. */
static __attribute__((noinline)) void tell_of_pile(caret_session *s)
{
    s->txn.pile.tell_at = s->txn.list.size + CARET__PILE_TELL;
    caret__grow_expect(s->e, s->txn.list.size);
    caret__background_wake(s->e);
}

int caret__txn_put(caret_session *s, const uint8_t *key, size_t klen, const void *value, size_t len)
{
    static const struct caret__spot nowhere = {0};
    int rc = caret__buffer_set(&s->txn, key, klen, value, len, &nowhere);

    if (caret__unlikely(s->txn.piled && s->txn.list.size >= s->txn.pile.tell_at) && s->remote == NULL)
        tell_of_pile(s);
    return rc;
}

int caret__local_put(caret_session *s, const uint8_t *key, size_t klen, const void *value, size_t len)
{
    if (!s->has_locals)
        return caret__elsewhere_put(s, key, klen, value, len);
    int rc = journal_local(s, key, klen);
    return rc == CARET_OK ? caret__private_set(&s->locals, key, klen, value, len) : rc;
}

static int set_in_txn(caret_session *s, const struct caret__node *n, const void *value, size_t len)
{
    struct caret__spot spot = caret__spot_of(s, n);
    int rc = caret__buffer_set(&s->txn, caret__node_key(n), n->key_len, value, len, &spot);
    if (caret__unlikely(s->txn.piled && s->txn.list.size >= s->txn.pile.tell_at))
        tell_of_pile(s);
    return rc;
}

/* Common beginning of all writers of globals. */
static inline int enter_writer(caret_session *s)
{
    int rc = caret__session_enter(s);
    if (rc == CARET_OK)
        rc = caret__session_writes(s);
    if (rc == CARET_OK && caret__unlikely(s->txn.broken && s->txn.level != 0))
        return CARET_RESTART;
    if (rc == CARET_OK)
        caret__count(s, CARET__SETS);
    return rc;
}

int caret__enter_writer(caret_session *s)
{
    return enter_writer(s);
}

int caret_set(caret_session *s, caret_node *node, const void *value, size_t len)
{
    struct caret__node *n = caret__node(node);
    int rc = caret__args_check(__func__, s, node);

    if (rc == CARET_OK && caret__unlikely(value == NULL && len != 0))
        rc = caret__refuse_bytes(__func__, "value", value, len);
    if (rc == CARET_OK && caret__unlikely(len > CARET_MAX_VALUE))
        rc = caret__fail(CARET_E_VALUE2BIG, "a value of %zu bytes; %u is the limit", len, CARET_MAX_VALUE);
    if (rc != CARET_OK)
        return rc;
    if (n->local)
        return set_local(s, n, value, len);
    rc = enter_writer(s);
    if (rc != CARET_OK)
        return rc == CARET__REMOTE ? caret__remote_set_node(s, n, value, len) : rc;
    return s->txn.level != 0 ? set_in_txn(s, n, value, len) : set_global(s, n, value, len);
}

/* --------------------------------------------------------------------- incr */

struct add {
    struct caret__rules rules;
    struct caret__dec by; /* unless is_int */
    int64_t by_int;
    bool is_int;
    bool want_int; /* the caller's result is an int64 */
    bool strict;   /* and so must the value be that it is added to */
    int64_t result_int;
    char text[CARET__DEC_MAX];
    size_t len;
};

static int cannot_add(int outcome, struct caret__rules rules)
{
    if (outcome == CARET__DEC_INEXACT)
        return caret__fail(CARET_E_NUMOFLOW,
                           "the value, what is added, or the sum needs more than %u significant digits",
                           rules.digits);
    return caret__fail(CARET_E_NUMOFLOW,
                       outcome == CARET__DEC_UNDERFLOW
                           ? "the value, what is added, or the sum is not 0 but nearer to it than 1E-43"
                           : "the value, what is added, or the sum is 1E47 or more in magnitude");
}

/* The same for what is not a short integer. */
static int add_decimals(struct add *a, const uint8_t *old, size_t old_len)
{
    struct caret__dec sum = {0, 0, false};
    int outcome = caret__dec_parse(a->rules, (const char *)old, old_len, &sum, NULL);

    if (outcome == CARET__DEC_OK)
        outcome = caret__dec_add(a->rules, sum, a->is_int ? caret__dec_from_int(a->by_int) : a->by, &sum);
    if (outcome != CARET__DEC_OK)
        return cannot_add(outcome, a->rules);
    a->len = caret__dec_format(sum, a->text);
    if (a->want_int && !caret__dec_to_int(sum, &a->result_int))
        return caret__fail(CARET_E_NUMOFLOW, "the sum %.*s is not a 64-bit integer", (int)a->len, a->text);
    return CARET_OK;
}

/* For CARET_INCR_STRICT: the value has to be an integer as it would be written, or none. */
static int not_strict(const uint8_t *old, size_t len)
{
    struct caret__shown shown;

    return caret__fail(CARET_E_INVALID,
                       "caret_incr_int: the value %s is not a 64-bit integer, as CARET_INCR_STRICT expects",
                       caret__shown(&shown, old, len, 40, '\''));
}

/* a->result_int, the sum of old and a->by_int, as text. */
static inline void format_sum(struct add *a, const char *old, size_t old_len)
{
    bool counts = a->by_int > 0 && a->by_int < 10 && a->result_int > a->by_int; /* old > 0 */

    a->len = old_len;
    if (!counts || !caret__digits_add(old, old_len, (unsigned)a->by_int, a->text))
        a->len = caret__i64_format(a->result_int, a->text);
}

/* old + by as canonical text, a->text. */
static int add_to(struct add *a, const uint8_t *old, size_t old_len)
{
    const char *text = (const char *)old;
    int64_t v = 0;
    int rc = CARET_OK;
    bool small;

    if (a->strict && old != NULL && !caret__i64_parse(text, old_len, &v))
        return not_strict(old, old_len);
    if (a->strict) /* all 64 bits count */
        small = !__builtin_add_overflow(v, a->by_int, &a->result_int);
    else
        small = a->is_int && caret__add_small(a->rules, text, old_len, a->by_int, &a->result_int);
    if (small)
        format_sum(a, text, old_len);
    else
        rc = add_decimals(a, old, old_len);
    return rc;
}

/* The same as a caret__compute. */
static int add_values(void *ctx, const uint8_t *old, size_t old_len, const uint8_t **val, size_t *vlen)
{
    struct add *a = ctx;
    int rc = add_to(a, old, old_len);

    *val = (const uint8_t *)a->text;
    *vlen = a->len;
    return rc;
}

/* By reading and setting: locals, and inside a transaction. */
static int incr_by_hand(caret_session *s, caret_node *node, struct add *a)
{
    caret_slice old = {NULL, 0};
    int rc = caret_get(s, node, &old);

    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    rc = add_to(a, rc == CARET_OK ? (const uint8_t *)old.data : NULL, old.len);
    return rc == CARET_OK ? caret_set(s, node, a->text, a->len) : rc;
}

struct adding {
    caret_node *node;
    struct add *a;
};

static int incr_in_txn(caret_session *s, void *arg)
{
    const struct adding *b = arg;

    return incr_by_hand(s, b->node, b->a);
}

static int incr(caret_session *s, caret_node *node, struct add *a)
{
    struct caret__node *n = caret__node(node);
    uint64_t lsn;

    if (n->local)
        return incr_by_hand(s, node, a);
    int rc = caret__session_enter(s);
    if (rc == CARET_OK && s->txn.level != 0)
        return incr_by_hand(s, node, a);
    if (rc == CARET_OK)
        rc = caret__enter_writer(s);
    if (rc == CARET__REMOTE) {
        struct adding b = {node, a};
        return s->txn.level != 0 ? incr_by_hand(s, node, a) : caret_transaction(s, incr_in_txn, &b, 0);
    }
    if (rc != CARET_OK)
        return rc;
    rc = caret__commit_node(s, n, add_values, a, &lsn);
    return rc == CARET_OK ? caret__session_committed(s, lsn, 0) : rc;
}

/* incr, and the sum as a text of the session's. */
static int incr_text(caret_session *s, caret_node *node, struct add *a, caret_slice *result)
{
    int rc = incr(s, node, a);

    if (rc != CARET_OK || result == NULL)
        return rc;
    rc = caret__session_out(s, a->len);
    if (rc == CARET_OK) {
        memcpy(s->out, a->text, a->len);
        *result = (caret_slice){(const char *)s->out, a->len};
    }
    return rc;
}

/* Is all of it one number, with no more than one sign? */
static bool whole_number(const char *by, size_t len, size_t used)
{
    return used != 0 && used == len && (len < 2 || (by[1] != '-' && by[1] != '+'));
}

static int incr_check(const char *function, const caret_session *s, const caret_node *node, const char *by,
                      size_t len)
{
    int rc = caret__args_check(function, s, node);

    if (rc == CARET_OK && by == NULL)
        rc = caret__null(function, "by", "a number to add, as text,");
    if (rc == CARET_OK && !caret__bytes_ok(by, len))
        rc = caret__refuse_bytes(function, "by", by, len);
    return rc;
}

static int not_to_add(const char *by, size_t len)
{
    struct caret__shown shown;

    return caret__fail(CARET_E_INVALID,
                       "%s is not a number to add: digits, perhaps with a sign, a point, an exponent after E",
                       caret__shown(&shown, by, len, 40, '\''));
}

int caret_incr(caret_session *s, caret_node *node, const char *by, size_t len, caret_slice *result)
{
    struct add a; /* field by field: its text need not be cleared */
    int rc = incr_check(__func__, s, node, by, len);

    if (rc != CARET_OK)
        return rc;
    a.rules = CARET__EXACT38;
    a.want_int = a.strict = false;
    a.is_int = caret__i64_parse(by, len, &a.by_int);
    if (!a.is_int) {
        size_t used;
        int outcome = caret__dec_parse(a.rules, by, len, &a.by, &used);
        if (!whole_number(by, len, used))
            return not_to_add(by, len);
        if (outcome != CARET__DEC_OK)
            return cannot_add(outcome, a.rules);
    }
    return incr_text(s, node, &a, result);
}

int caret_incr_m(caret_session *s, caret_node *node, const char *by, size_t len, caret_slice *result)
{
    struct add a;
    int rc = incr_check(__func__, s, node, by, len);

    if (rc != CARET_OK)
        return rc;
    a.rules = CARET__M18;
    a.want_int = a.strict = false;
    a.is_int = len <= a.rules.digits && caret__i64_parse(by, len, &a.by_int);
    if (!a.is_int) {
        int outcome = caret__dec_parse(a.rules, by, len, &a.by, NULL);
        if (outcome != CARET__DEC_OK)
            return cannot_add(outcome, a.rules);
    }
    return incr_text(s, node, &a, result);
}

int caret_incr_int(caret_session *s, caret_node *node, int64_t by, int flags, int64_t *result)
{
    struct add a;
    int rc = caret__args_check(__func__, s, node);

    if (rc == CARET_OK && (flags & ~CARET_INCR_STRICT) != 0)
        rc = caret__fail(CARET_E_INVALID, "%s: flags are CARET_INCR_STRICT or 0, not 0x%x", __func__,
                         (unsigned)flags);
    if (rc != CARET_OK)
        return rc;
    a.strict = flags != 0;
    a.rules = CARET__EXACT38;
    a.is_int = a.want_int = true;
    a.by_int = by;
    rc = incr(s, node, &a);
    if (rc == CARET_OK && result != NULL)
        *result = a.result_int;
    return rc;
}

/* --------------------------------------------------------------------- data */

static int data_observed(caret_session *s, caret_node *node, void *data)
{
    return caret_data(s, node, data);
}

/* The next key of the database, or of that and what the transaction has changed. */
static int next_key(caret_session *s, const struct caret__node *n, bool apart, uint8_t *key, size_t *len)
{
    struct caret__at at;

    if (!apart)
        return caret__session_from(s, n->local, key, len, &at);
    int rc = caret__session_saw(s, CARET_OK);
    return rc == CARET_OK ? caret__session_saw(s, caret__scan_from(&s->global, &at, key, len)) : rc;
}

/* apart: what the transaction has set there is in *data already, and it has killed nothing. */
static int look_for_data(caret_session *s, const struct caret__node *n, bool apart, int *data)
{
    uint8_t key[CARET__KEY_MAX + 2];
    size_t len = n->key_len;

    memcpy(key, caret__node_key(n), len);
    int rc = next_key(s, n, apart, key, &len);
    if (rc == CARET_OK && len == n->key_len && memcmp(key, caret__node_key(n), len) == 0) {
        *data = *data / 10 * 10 + 1;
        key[len++] = 0x01; /* the lowest first byte of a subscript */
        rc = next_key(s, n, apart, key, &len);
    }
    if (rc == CARET_OK && len > n->key_len && memcmp(key, caret__node_key(n), n->key_len) == 0)
        *data = *data % 10 + 10;
    return rc;
}

int caret_data(caret_session *s, caret_node *node, int *data)
{
    struct caret__node *n = caret__node(node);
    int rc = caret__args_check(__func__, s, node);

    if (rc == CARET_OK && data == NULL)
        rc = caret__null(__func__, "data", "a place for the result");
    if (rc != CARET_OK)
        return rc;
    if ((rc = caret__data_beside(s, n, data)) != CARET_NONE)
        return rc;
    rc = n->local ? caret__session_locals(s) : caret__session_enter_read(s);
    if (rc == CARET__OBSERVED)
        return caret__observe_call(s, node, data_observed, data);
    if (rc == CARET__REMOTE)
        return caret__remote_data_of(s, n, data);
    if (rc == CARET_OK && !n->local && s->txn.level != 0 && s->txn.broken)
        rc = CARET_RESTART;
    if (rc != CARET_OK)
        return rc;
    *data = 0;
    bool apart =
        !n->local && s->txn.level != 0 && caret__buffer_data(&s->txn, caret__node_key(n), n->key_len, data);
    rc = look_for_data(s, n, apart, data);
    if (rc == CARET_RESTART)
        s->txn.broken = true;
    return rc == CARET_NONE ? CARET_OK : rc;
}
