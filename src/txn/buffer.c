/*
 * buffer.c - the write buffer of a transaction and its journal; txn.h says how
 * they work.
 *
 * A journal record: key, old entry, then {u32 key length, u32 entry length or
 * ABSENT, u32 which tree, u32 0}: the footer comes last, so that it is played from the
 * end.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/key.h"
#include "log/flush.h"
#include "txn/txn.h"

#define ABSENT UINT32_MAX

/* ------------------------------------------------------------------ journal */

static int journal_push(struct caret__journal *j, enum caret__journaled which, const uint8_t *key, size_t len,
                        const uint8_t *val, size_t vlen, bool absent)
{
    size_t want = j->used + len + vlen + 16;
    if (want > j->cap) {
        size_t cap = want * 2;
        uint8_t *data = realloc(j->data, cap);
        if (data == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for a savepoint");
        j->data = data;
        j->cap = cap;
    }
    uint32_t foot[4] = {(uint32_t)len, absent ? ABSENT : (uint32_t)vlen, which, 0};
    memcpy(j->data + j->used, key, len);
    if (vlen != 0)
        memcpy(j->data + j->used + len, val, vlen);
    memcpy(j->data + j->used + len + vlen, foot, sizeof foot);
    j->used = want;
    return CARET_OK;
}

int caret__journal_note(struct caret__journal *j, struct caret__private *t, enum caret__journaled which,
                        const uint8_t *key, size_t len)
{
    const uint8_t *val = NULL;
    size_t vlen = 0;
    bool there = caret__private_get(t, key, len, &val, &vlen);
    return journal_push(j, which, key, len, val, there ? vlen : 0, !there);
}

int caret__journal_note_span(struct caret__journal *j, struct caret__private *t, enum caret__journaled which,
                             const struct caret__span *r)
{
    struct caret__view v = {.pg = &t->pg};
    struct caret__at at = {0};
    uint8_t k[CARET__PLACE_MAX];
    size_t klen = r->lo_len;

    memcpy(k, r->lo, r->lo_len);
    int rc = caret__scan_from(&v, &at, k, &klen);
    for (; rc == CARET_OK && caret__span_has(r, k, klen); rc = caret__scan_next(&v, &at, k, &klen)) {
        int bad = caret__journal_note(j, t, which, k, klen);
        if (bad != CARET_OK)
            return bad;
    }
    return rc < 0 ? rc : CARET_OK;
}

void caret__journal_undo(struct caret__journal *j, size_t mark,
                         struct caret__private *const trees[CARET__JOURNALED])
{
    while (j->used > mark) {
        uint32_t foot[4];
        memcpy(foot, j->data + j->used - sizeof foot, sizeof foot);
        size_t vlen = foot[1] == ABSENT ? 0 : foot[1];
        j->used -= foot[0] + vlen + sizeof foot;
        struct caret__private *t = trees[foot[2]];
        const uint8_t *key = j->data + j->used;
        if (t == NULL)
            continue;
        if (foot[1] == ABSENT)
            caret__private_delete(t, key, foot[0]);
        else /* the page had room for it before: see reserve() */
            caret__private_set(t, key, foot[0], key + foot[0], vlen);
    }
}

/* --------------------------------------------------------------------- list */

#define LIST_OPS   CARET__SPOTS
#define LIST_BYTES 8192u /* of its record */

/* Is it too long to be searched, with that set more? */
static inline bool is_long(const struct caret__txn *t, size_t len, size_t vlen)
{
    return t->piled || (t->changed &&
                        (t->list.nops >= LIST_OPS || t->list.size + caret__op_size(len, vlen) > LIST_BYTES));
}

/* In a savepoint only while the journal has nothing. */
static inline bool fits_list(const struct caret__txn *t, size_t len, size_t vlen)
{
    return !t->in_tree && caret__value_inline(len, vlen) &&
           (t->level <= 1 || (!t->restore_locals && t->journal.used == 0));
}

/* Can the op at that place be given the value?  It is of the innermost savepoint, and its crc is not known yet. */
static bool pile_overwrite(struct caret__txn *t, uint32_t at, const void *val, size_t vlen)
{
    if (at < CARET__REC_HEAD || at < t->list_marks[t->level - 1] || at < t->list.crc_upto)
        return false;
    struct caret__op_view op = caret__op_at(t->list.rec, at);
    if (op.vlen != vlen)
        return false;
    if (vlen != 0)
        memcpy((uint8_t *)(uintptr_t)op.val, val, vlen);
    return true;
}

static int pile_set(struct caret__txn *t, const uint8_t *key, size_t len, const void *val, size_t vlen)
{
    struct caret__pile *p = &t->pile;
    uint32_t hash = 0, slot = 0;

    if (!t->piled)
        caret__pile_begin(p, &t->list);
    t->piled = true;
    if (p->sought.size != 0) {
        hash = caret__sought_hash(key, len);
        uint32_t at = caret__sought_find(&p->sought, &t->list, hash, key, len, &slot);
        if (pile_overwrite(t, at, val, vlen))
            return CARET_OK;
    }
    int rc = caret__pile_add(p, &t->list, key, len, val, vlen, t->level > 1);
    if (rc == CARET_OK && p->sought.size != 0) /* it goes when the pile is put in order */
        (void)caret__sought_put(&p->sought, &t->list, slot, hash, p->last, t->level > 1);
    return rc;
}

int caret__buffer_index(struct caret__txn *t)
{
    if (!caret__batch_only(&t->list, CARET__KINDS_SET)) /* it begins with kills */
        return caret__buffer_spill(t);
    return caret__sought_make(&t->pile.sought, &t->list, t->level > 1 ? t->list_marks[1] : UINT32_MAX);
}

int caret__buffer_finish(struct caret__txn *t)
{
    if (!t->piled && t->changed && t->listed.replaced != 0)
        caret__list_drop_replaced(t);
    if (!t->piled || t->pile.in_order)
        return CARET_OK;
    caret__sought_drop(&t->pile.sought);
    return caret__pile_order(&t->pile, &t->list);
}

/* The next listed set after *off; false: that was the last. */
static bool list_next(const struct caret__txn *t, uint32_t *off, struct caret__op_view *op)
{
    return caret__record_op(t->list.rec, t->list.size + CARET__REC_TAIL, off, op) == 1;
}

/* --------------------------------------------------------------------- tree */

static int put_entry(struct caret__txn *t, const uint8_t *key, size_t len, uint8_t flags, const void *val,
                     size_t vlen)
{
    uint8_t small[512], *buf = small;

    if (vlen + 1 > sizeof small && (buf = malloc(vlen + 1)) == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a value of %zu bytes", vlen);
    buf[0] = flags;
    if (vlen != 0)
        memcpy(buf + 1, val, vlen);
    int rc = caret__private_set(&t->buffer, key, len, buf, vlen + 1);
    if (buf != small)
        free(buf);
    return rc;
}

static int put(struct caret__txn *t, const uint8_t *key, size_t len, uint8_t flags, const void *val,
               size_t vlen)
{
    int rc =
        t->level > 1 ? caret__journal_note(&t->journal, &t->buffer, CARET__OF_BUFFER, key, len) : CARET_OK;
    return rc == CARET_OK ? put_entry(t, key, len, flags, val, vlen) : rc;
}

/* What the list has goes to the tree, op by op. */
static int put_op(struct caret__txn *t, const struct caret__op_view *op)
{
    uint8_t end[CARET__PLACE_MAX];

    if (op->kind == CARET__OP_DELETE)
        return put_entry(t, op->key, op->klen, CARET__TX_GONE, NULL, 0);
    if (op->kind != CARET__OP_KILL)
        return put_entry(t, op->key, op->klen, CARET__TX_SET, op->val, op->vlen);
    t->kills++;
    struct caret__span r = caret__op_span(op, end);
    return caret__spans_add(&t->killed, &r, NULL, NULL);
}

static void forget_kills(struct caret__txn *t)
{
    if (t->kills != 0)
        caret__spans_clear(&t->killed);
    t->kills = 0;
}

/* What a pile took is given back. */
static inline void end_list(struct caret__txn *t)
{
    if (caret__unlikely(t->piled)) {
        caret__sought_drop(&t->pile.sought);
        caret__batch_destroy(&t->list);
    }
    t->piled = false;
}

void caret__buffer_cut(struct caret__txn *t, uint32_t size)
{
    if (!t->piled || !t->changed) {
        caret__list_cut(t, size);
        return;
    }
    caret__pile_cut(&t->pile, &t->list, size > CARET__REC_HEAD ? size : CARET__REC_HEAD);
    t->changed = t->list.nops != 0;
    if (!t->changed)
        end_list(t);
}

/* All ops of the list, none of which is above the first savepoint. */
static int put_ops(struct caret__txn *t)
{
    uint32_t off = CARET__REC_HEAD;
    struct caret__op_view op;
    int rc = CARET_OK;

    while (rc == CARET_OK && list_next(t, &off, &op))
        rc = put_op(t, &op);
    return rc;
}

/* The same where savepoints were made between them: the journal, which is empty, and its marks become what they were if
 * all had been put there at once. */
static int put_ops_noted(struct caret__txn *t)
{
    uint32_t off = CARET__REC_HEAD;
    struct caret__op_view op;
    unsigned level = 1;
    int rc = CARET_OK;

    CARET__ASSERT(t->journal.used == 0 && t->level > 1);
    for (uint32_t at = off; rc == CARET_OK && list_next(t, &off, &op); at = off) {
        while (level < t->level && at >= t->list_marks[level])
            t->marks[level++] = t->journal.used;
        if (level > 1)
            rc = caret__journal_note(&t->journal, &t->buffer, CARET__OF_BUFFER, op.key, op.klen);
        if (rc == CARET_OK)
            rc = put_op(t, &op);
    }
    while (rc == CARET_OK && level < t->level)
        t->marks[level++] = t->journal.used;
    return rc;
}

/* Are there ops that a rollback would take off? */
static bool has_savepoint(const struct caret__txn *t)
{
    return t->level > 1 && t->changed && t->list.size > t->list_marks[1];
}

/* In order the tree is made much faster.  What is in savepoints stays where it is; where all is before the first one,
 * that is at the end of what is left. */
static int order_for_tree(struct caret__txn *t)
{
    if (!t->piled || !t->changed || has_savepoint(t))
        return CARET_OK;
    int rc = caret__buffer_finish(t);
    for (unsigned level = 1; level < t->level; level++)
        t->list_marks[level] = t->list.size;
    return rc;
}

static int put_list(struct caret__txn *t)
{
    bool noted = has_savepoint(t);
    int rc = noted ? put_ops_noted(t) : put_ops(t);

    if (rc == CARET_OK)
        return CARET_OK;
    caret__private_clear(&t->buffer); /* the list is whole */
    forget_kills(t);
    if (noted)
        memset(t->marks, 0, t->level * sizeof *t->marks);
    if (noted)
        t->journal.used = 0;
    return rc;
}

int caret__buffer_spill(struct caret__txn *t)
{
    int rc = CARET_OK;

    if (t->in_tree)
        return CARET_OK;
    if (!t->has_buffer && (rc = caret__private_init(&t->buffer)) != CARET_OK)
        return rc;
    t->has_buffer = true;
    rc = order_for_tree(t);
    if (rc == CARET_OK && t->changed)
        rc = put_list(t);
    t->in_tree = rc == CARET_OK;
    if (t->in_tree)
        end_list(t);
    return rc;
}

void caret__buffer_drop(struct caret__txn *t)
{
    if (t->in_tree)
        caret__private_clear(&t->buffer);
    end_list(t);
    t->in_tree = false;
    forget_kills(t);
}

/* Before a write to the tree. */
static int prepare(struct caret__txn *t)
{
    int rc = caret__buffer_spill(t);
    t->changed |= rc == CARET_OK;
    return rc;
}

/* A set that the list does not take: the pile does, or the tree. */
static __attribute__((noinline)) int set_elsewhere(struct caret__txn *t, const uint8_t *key, size_t len,
                                                   const void *val, size_t vlen)
{
    if (fits_list(t, len, vlen) && (t->piled || caret__batch_only(&t->list, CARET__KINDS_SET)))
        return pile_set(t, key, len, val, vlen);
    int rc = prepare(t);
    return rc != CARET_OK ? rc : put(t, key, len, CARET__TX_SET, val, vlen);
}

int caret__buffer_set(struct caret__txn *t, const uint8_t *key, size_t len, const void *val, size_t vlen,
                      const struct caret__spot *spot)
{
    if (fits_list(t, len, vlen) && !is_long(t, len, vlen))
        return caret__list_set(t, key, len, val, vlen, spot);
    return set_elsewhere(t, key, len, val, vlen);
}

int caret__buffer_delete(struct caret__txn *t, const uint8_t *key, size_t len, const struct caret__spot *spot)
{
    if (fits_list(t, len, 0) && !is_long(t, len, 0))
        return caret__list_delete(t, key, len, spot);
    int rc = prepare(t);
    return rc != CARET_OK ? rc : put(t, key, len, CARET__TX_GONE, NULL, 0);
}

static int note_span(void *ctx, struct caret__private *at, const uint8_t *key, size_t len)
{
    return caret__journal_note(ctx, at, CARET__OF_KILLED, key, len);
}

int caret__buffer_kill(struct caret__txn *t, const struct caret__span *r)
{
    int rc = prepare(t);

    if (rc == CARET_OK && t->level > 1)
        rc = caret__journal_note_span(&t->journal, &t->buffer, CARET__OF_BUFFER, r);
    if (rc != CARET_OK)
        return rc;
    t->kills++; /* first: what a failing addition has made is cleared too */
    rc = caret__spans_add(&t->killed, r, t->level > 1 ? note_span : NULL, &t->journal);
    return rc == CARET_OK ? caret__private_kill(&t->buffer, r) : rc;
}

int caret__buffer_kill_first(struct caret__txn *t, const uint8_t *key, size_t len)
{
    CARET__ASSERT(!t->in_tree && t->level == 1 &&
                  (!t->changed || caret__batch_only(&t->list, CARET__KINDS_KILL)));
    int rc = t->changed ? CARET_OK : caret__batch_begin(&t->list);

    if (rc != CARET_OK)
        return rc;
    if (!t->piled)
        caret__pile_begin(&t->pile, &t->list); /* which looks only at what is added to it */
    t->piled = true;
    rc = caret__batch_add(&t->list, CARET__OP_KILL, key, len, NULL, 0);
    t->changed = t->list.nops != 0;
    return rc;
}

bool caret__buffer_touches(struct caret__txn *t, const uint8_t *key, size_t len)
{
    uint32_t off = CARET__REC_HEAD;
    struct caret__op_view op;
    uint8_t k[CARET__PLACE_MAX], end[CARET__PLACE_MAX];
    size_t klen = len;

    if (!t->changed)
        return false;
    if (!t->in_tree) {
        while (list_next(t, &off, &op))
            if (op.klen >= len && memcmp(op.key, key, len) == 0)
                return true;
        return false;
    }
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    struct caret__span r = caret__span_below(key, len, end);
    if (t->kills != 0 && caret__spans_touch(&t->killed, &r))
        return true;
    memcpy(k, key, len);
    return caret__scan_from(&v, &at, k, &klen) == CARET_OK && caret__span_has(&r, k, klen);
}

/* To have all ops in the tree takes as long as to go through them some fifty times.  So if that is asked for more often
 * than it has paid, the tree it is; of a few ops a little later.  Both arbitrary. */
#define LOOKS     32u
#define LOOKS_FEW 1024u

bool caret__buffer_data(struct caret__txn *t, const uint8_t *key, size_t len, int *data)
{
    const struct caret__batch *b = &t->list;

    *data = 0;
    if (!t->changed)
        return true;
    if (t->in_tree || !caret__batch_only(b, CARET__KINDS_SET) ||
        t->looked > (uint64_t)LOOKS * b->nops + LOOKS_FEW)
        return false;
    t->looked += b->nops;
    for (uint32_t off = CARET__REC_HEAD; off < b->size;) {
        struct caret__op_view op = caret__op_at(b->rec, off);
        off += caret__op_size(op.klen, op.vlen);
        if (op.klen >= len && memcmp(op.key, key, len) == 0)
            *data |= op.klen == len ? 1 : 2;
    }
    *data = (*data & 1) + (*data & 2) * 5;
    return true;
}

bool caret__buffer_killed(struct caret__txn *t, const uint8_t *key, size_t len, struct caret__one_span *span)
{
    return t->kills != 0 && t->changed && caret__spans_find(&t->killed, key, len, span);
}

/* By itself: a span takes two kilobytes of the stack. */
static __attribute__((noinline)) bool was_killed(struct caret__txn *t, const uint8_t *key, size_t len)
{
    struct caret__one_span span;

    return caret__buffer_killed(t, key, len, &span);
}

static int pile_get(const struct caret__txn *t, const uint8_t *key, size_t len, const uint8_t **val,
                    size_t *vlen)
{
    const struct caret__sought *x = &t->pile.sought;
    uint32_t slot;

    if (!caret__sought_maybe(x, key, len))
        return 0;
    uint32_t at = caret__sought_find(x, &t->list, caret__sought_hash(key, len), key, len, &slot);
    if (at < CARET__REC_HEAD)
        return 0;
    struct caret__op_view op = caret__op_at(t->list.rec, at);
    *val = op.val;
    *vlen = op.vlen;
    return 1;
}

int caret__buffer_get(struct caret__txn *t, const uint8_t *key, size_t len, const uint8_t **val, size_t *vlen)
{
    if (!t->changed)
        return 0;
    if (!t->in_tree)
        return caret__unlikely(t->piled) ? pile_get(t, key, len, val, vlen)
                                         : caret__list_get(t, key, len, val, vlen);
    if (caret__private_get(&t->buffer, key, len, val, vlen) && *vlen > 0) {
        uint8_t flags = (*val)[0];
        *val += 1;
        *vlen -= 1;
        return flags & CARET__TX_SET ? 1 : -1;
    }
    return caret__unlikely(t->kills != 0) && was_killed(t, key, len) ? -1 : 0;
}

/* ------------------------------------------------------------------ to a batch */

/* The long values from `key` on will be written. */
static void expect_values(struct caret__txn *t, const uint8_t *key, size_t len, struct caret__room *room)
{
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    uint8_t k[CARET__KEY_MAX + 1];

    memcpy(k, key, len);
    for (int rc = caret__scan_from(&v, &at, k, &len); rc == CARET_OK;
         rc = caret__scan_next(&v, &at, k, &len)) {
        struct caret__entry en = caret__page_entry(at.page, at.pos);
        const uint8_t *val;
        size_t vlen;
        caret__private_value(&en, &val, &vlen);
        if (vlen > 0 && (val[0] & CARET__TX_SET) && !caret__value_inline(len, vlen - 1))
            caret__room_expect(room, caret__run_pages(vlen - 1));
    }
}

static int batch_entry(struct caret__engine *e, struct caret__txn *t, struct caret__batch *b,
                       const uint8_t *key, size_t len, const uint8_t *val, size_t vlen,
                       struct caret__room *room)
{
    struct caret__runref ref;
    int rc = CARET_OK;

    if (b->size > caret__record_possible(e->sh))
        return caret__record_refused(e, b->size);
    if (val[0] & CARET__TX_GONE)
        rc = caret__batch_add(b, CARET__OP_DELETE, key, len, NULL, 0);
    if (rc != CARET_OK || !(val[0] & CARET__TX_SET))
        return rc;
    if (caret__value_inline(len, vlen - 1))
        return caret__batch_add(b, CARET__OP_SET, key, len, val + 1, vlen - 1);
    if (room->n == 0)
        expect_values(t, key, len, room);
    rc = caret__run_write(e, room, val + 1, vlen - 1, &ref);
    return rc == CARET_OK ? caret__batch_add(b, CARET__OP_SETRUN, key, len, &ref, sizeof ref) : rc;
}

/* Kills that have not been put into the batch yet. */
struct kills {
    bool more;
    struct caret__one_span next;
};

int caret__batch_kill(struct caret__batch *b, const struct caret__span *r)
{
    bool subtree = r->hi_len == r->lo_len + 1 && r->hi[r->lo_len] == CARET__SUB_BEYOND &&
                   memcmp(r->lo, r->hi, r->lo_len) == 0;

    return subtree ? caret__batch_add(b, CARET__OP_KILL, r->lo, r->lo_len, NULL, 0)
                   : caret__batch_add(b, CARET__OP_RANGE, r->lo, r->lo_len, r->hi, r->hi_len);
}

/* Put those that begin at or before the key; key NULL: all. */
static int batch_kills(struct caret__engine *e, struct caret__txn *t, struct caret__batch *b, struct kills *k,
                       const uint8_t *key, size_t len)
{
    int rc = CARET_OK;

    while (rc == CARET_OK && k->more &&
           (key == NULL || caret__bytes_compare(k->next.lo, k->next.span.lo_len, key, len) <= 0)) {
        if (b->size > caret__record_possible(e->sh))
            return caret__record_refused(e, b->size);
        rc = caret__batch_kill(b, &k->next.span);
        k->more = caret__spans_next(&t->killed, &k->next);
    }
    return rc;
}

int caret__buffer_batch(struct caret__engine *e, struct caret__txn *t, struct caret__batch *b,
                        struct caret__room *room)
{
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    struct kills kills;
    uint8_t key[CARET__KEY_MAX + 1];
    size_t len = 0;

    int rc = caret__batch_begin(b);
    if (rc != CARET_OK)
        return rc;
    kills.more = t->kills != 0 && caret__spans_from(&t->killed, key, 0, &kills.next);
    rc = caret__scan_from(&v, &at, key, &len);
    for (; rc == CARET_OK; rc = caret__scan_next(&v, &at, key, &len)) {
        struct caret__entry en = caret__page_entry(at.page, at.pos);
        const uint8_t *val;
        size_t vlen;
        caret__private_value(&en, &val, &vlen);
        int bad = kills.more ? batch_kills(e, t, b, &kills, key, len) : CARET_OK;
        if (bad == CARET_OK && vlen != 0)
            bad = batch_entry(e, t, b, key, len, val, vlen, room);
        if (bad != CARET_OK)
            return bad;
    }
    return rc == CARET_NONE ? batch_kills(e, t, b, &kills, NULL, 0) : rc;
}
