/*
 * commit_sets.c - committing a few sets and deletes at once, mostly in place.
 *
 * Each set finds its leaf.  One that belongs to the current epoch and has room for all sets of
 * the batch that go to it is changed in place, as by a lone set: only the bytes that
 * change are saved, and once for a row of new keys, as items are that are pushed to a list.
 *
 * The sets of other leaves, SLOW_MAX of them at most, go the general way first, which leaves the
 * leaves of the others alone: it changes those of its own keys, their new halves, and pages above
 * them.  All sets of one leaf go the same way, so two of one key stay in order.
 *
 * A delete is done in place, or the whole batch in general: a leaf that it leaves nearly empty is joined with
 * another, which may be one that others change in place.
 *
 * Nothing can fail after the commit point: what the slow ones may need is reserved before, and so is the
 * undo memory for all.  A death there is repaired as ever: what was saved is restored, the last first,
 * and the record redone the general way.
 */
#include <string.h>

#include "log/apply.h"
#include "log/commit_parts.h"
#include "log/reserve.h"

#define SLOW_MAX  4u                  /* sets of a batch that may go the general way alone */
#define ROW_LEAST 4u                  /* new keys of one leaf that are worth a row; arbitrary */
#define LEAVES    (2u * CARET__SPOTS) /* places for leaves: half of them stay free */

_Static_assert(LEAVES <= 256, "a place fits a byte");

/* A leaf that sets of the batch go to. */
struct goal {
    uint32_t pgno; /* 0: the place is free (page 0 is never a leaf) */
    bool slow;
    struct caret__taken taken; /* by the sets so far */
};

/* How the sets are done. */
struct plan {
    struct caret__op_view op[CARET__SPOTS];
    uint8_t goal_of[CARET__SPOTS];
    uint32_t mask; /* places in use - 1 */
    unsigned nslow;
    unsigned strays;   /* sets that were looked for beside the one before, and were not there */
    uint64_t in_place; /* bytes of undo that the sets take at most in place */
    size_t longest;    /* value among those of the sets so far */
    struct goal goals[LEAVES];
};

_Static_assert(CARET__FIRST_PAGE > 0, "no leaf is page 0");

/* The place of that leaf, by hashing. */
static inline uint32_t place_of(const struct plan *plan, uint32_t pgno)
{
    CARET__ASSERT(pgno != 0);
    uint32_t i = pgno * 0x9E3779B1u >> 16 & plan->mask;

    while (plan->goals[i].pgno != 0 && plan->goals[i].pgno != pgno)
        i = (i + 1) & plan->mask;
    return i;
}

static inline bool is_slow(const struct plan *plan, uint32_t i)
{
    return plan->goals[plan->goal_of[i]].slow;
}

static inline const struct caret__page *page_of(const struct caret__engine *e, uint32_t pgno)
{
    return caret__page_at(&e->pg, pgno, atomic_load_explicit(&e->pg.ptab[pgno].word, memory_order_relaxed));
}

/*
 * Bytes of undo that set i takes in place at most: header and slots, or an entry.  A set before it may have put the
 * value that this one replaces, or moved the slots from its position on.
 */
static uint64_t undo_of(const struct caret__engine *e, struct plan *plan, const struct caret__spot *spot,
                        uint32_t i)
{
    const struct caret__op_view *op = &plan->op[i];
    const struct caret__page *p = page_of(e, spot->pgno);
    size_t old = spot->found ? caret__page_entry(p, spot->pos).vlen : 0;
    bool moves = op->kind == CARET__OP_DELETE ? spot->found : !spot->found;
    uint64_t moved = moves ? caret__page_count(p) - spot->pos + i : 0;

    plan->longest = caret__max(plan->longest, op->vlen);
    return CARET__PAGE_HEAD + CARET__EDIT_RANGES * CARET__UNDO_FOOT + op->klen +
           caret__max(old, plan->longest) + sizeof(struct caret__slot) * moved;
}

/* Can op i be done in its leaf? */
static inline bool fits(const struct caret__engine *e, const struct caret__spot *spot,
                        const struct caret__op_view *op, struct caret__taken *taken)
{
    return op->kind == CARET__OP_DELETE ? caret__goes_in_place(e, spot, taken)
                                        : caret__fits_in_place(e, spot, op->key, op->klen, op->vlen, taken);
}

/* How many sets go the general way.  More than may: also where a delete would. */
static unsigned count_slow(const struct plan *plan, uint32_t nops)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < nops; i++)
        if (is_slow(plan, i))
            n += plan->op[i].kind == CARET__OP_DELETE ? SLOW_MAX + 1 : 1;
    return n;
}

/* Find the place of each set and how it is to be done.  false: the whole batch in the general way. */
static bool make_plan(struct caret__engine *e, struct caret__batch *b, struct plan *plan)
{
    uint32_t off = CARET__REC_HEAD;
    bool slow = false;

    plan->in_place = plan->longest = plan->strays = 0;
    plan->mask = 7;
    while (plan->mask + 1 < 2 * b->nops)
        plan->mask = 2 * plan->mask + 1;
    memset(plan->goals, 0, (plan->mask + 1) * sizeof plan->goals[0]);
    for (uint32_t i = 0; i < b->nops; i++) {
        struct caret__spot *spot = &b->spots[i];
        struct caret__op_view *op = &plan->op[i];
        if (i >= b->nspots)
            *spot = (struct caret__spot){0};
        if (caret__record_op(b->rec, b->size + CARET__REC_TAIL, &off, op) != 1 ||
            caret__locate(e, spot, op->key, op->klen) != CARET_OK)
            return false;
        uint32_t at = place_of(plan, spot->pgno);
        struct goal *goal = &plan->goals[at];
        plan->goal_of[i] = (uint8_t)at;
        goal->pgno = spot->pgno;
        plan->in_place += undo_of(e, plan, spot, i);
        if (goal->slow || fits(e, spot, op, &goal->taken))
            continue;
        if (caret__value_check(e, spot) != CARET_OK)
            return false; /* as in general */
        goal->slow = slow = true;
    }
    plan->nslow = slow ? count_slow(plan, b->nops) : 0;
    return plan->nslow <= SLOW_MAX;
}

/* What the sets may need. */
static struct caret__need plan_need(const struct caret__engine *e, const struct plan *plan)
{
    return caret__need_of_sets(plan->nslow * caret__tree_set_pages(&e->sh->ts), plan->in_place);
}

/* After the commit point: the sets that need more than their leaf. */
static void sets_in_general(struct caret__engine *e, const struct caret__batch *b, const struct plan *plan,
                            struct caret__undo *u, uint64_t lsn)
{
    struct caret__w w = {.pg = &e->pg,
                         .sh = e->sh,
                         .undo = u,
                         .lsn = lsn,
                         .epoch = atomic_load_explicit(&e->sh->epoch, memory_order_relaxed)};

    caret__w_begin(&w);
    for (uint32_t i = 0; i < b->nops; i++) {
        const struct caret__op_view *op = &plan->op[i];
        if (is_slow(plan, i))
            caret__tree_set(&w, op->key, op->klen, op->val, op->vlen, 0);
    }
}

/* Find the key of set i anew in its leaf, which sets before it have changed: the last one, most often. */
static inline void find_again(const struct caret__engine *e, const struct caret__batch *b, struct plan *plan,
                              struct caret__spot *spot, uint32_t i)
{
    const struct caret__op_view *op = &plan->op[i];
    const struct caret__page *p = page_of(e, spot->pgno);
    unsigned pos = CARET__PAGE_NOWHERE;
    bool found;

    if (i != 0 && plan->strays < CARET__STRAYS && b->spots[i - 1].pgno == spot->pgno) {
        pos = caret__page_find_around(p, b->spots[i - 1].pos, op->key, op->klen, &found);
        plan->strays += pos == CARET__PAGE_NOWHERE;
    }
    CARET__ASSERT(pos == CARET__PAGE_NOWHERE || pos == caret__page_find(p, op->key, op->klen, &found));
    if (pos == CARET__PAGE_NOWHERE)
        pos = caret__page_find(p, op->key, op->klen, &found);
    spot->pos = (uint16_t)pos;
    spot->found = found;
}

/* Sets from i on that have one leaf, of keys in order that were not in it: how many. */
static unsigned row_at(const struct caret__batch *b, const struct plan *plan, uint32_t i,
                       struct caret__kv kv[CARET__PAGE_ROW])
{
    const struct caret__spot *spot = &b->spots[i];
    const struct caret__op_view *op = &plan->op[i];
    unsigned n = 0;

    for (; i + n < b->nops && n < CARET__PAGE_ROW; n++, op++) {
        if (op->kind != CARET__OP_SET || spot[n].pgno != spot->pgno || spot[n].found ||
            (n > 0 && caret__bytes_compare(op[-1].key, op[-1].klen, op->key, op->klen) >= 0))
            break;
        kv[n] = (struct caret__kv){
            .b = op->key, .val = op->val, .b_len = (uint16_t)op->klen, .vlen = (uint16_t)op->vlen};
    }
    return n;
}

/* May a row begin with set i?  Most sets begin none. */
static inline bool begins_row(const struct caret__batch *b, uint32_t i)
{
    const struct caret__spot *first = &b->spots[i], *other = first + ROW_LEAST - 1;
    return b->nops - i >= ROW_LEAST && other->pgno == first->pgno && !other->found && !first->found;
}

/* Several new keys, the first of which is known to be new and where it belongs: the slots are saved and moved once for
 * all.  How many were set. */
static __attribute__((noinline)) unsigned set_row(struct caret__engine *e, struct caret__batch *b,
                                                  const struct plan *plan, struct caret__undo *u, uint32_t i,
                                                  uint64_t lsn)
{
    struct caret__spot *spot = &b->spots[i];
    struct caret__kv kv[CARET__PAGE_ROW];
    uint16_t pos[CARET__PAGE_ROW];
    unsigned n = row_at(b, plan, i, kv);

    if (n < ROW_LEAST)
        return 0;
    struct caret__edit ed = {u, &e->pg.ptab[spot->pgno].version, lsn};
    struct caret__page *p = (struct caret__page *)(uintptr_t)page_of(e, spot->pgno);
    n = caret__page_insert_row(p, spot->pos, kv, n, pos, &ed);
    for (unsigned k = 0; k < n; k++) {
        spot[k].pos = pos[k];
        spot[k].found = 1;
        spot[k].version = lsn;
    }
    return n;
}

/* Then those in place; their leaves are as they were, but for each other's changes. */
static void sets_in_place(struct caret__engine *e, struct caret__batch *b, struct plan *plan,
                          struct caret__undo *u, uint64_t lsn)
{
    uint32_t n;

    CARET__ASSERT(b->nops <= CARET__SPOTS);
    for (uint32_t i = 0; i < b->nops; i += n != 0 ? n : 1) {
        const struct caret__op_view *op = &plan->op[i];
        struct caret__spot *spot = &b->spots[i];
        const struct caret__pte *pte = &e->pg.ptab[spot->pgno];
        n = 0;
        if (is_slow(plan, i)) {
            spot->version = 0;
            continue;
        }
        if (atomic_load_explicit(&pte->version, memory_order_relaxed) != spot->version) /* by a set before */
            find_again(e, b, plan, spot, i);
        if (begins_row(b, i) && (n = set_row(e, b, plan, u, i, lsn)) > 0)
            continue;
        if (op->kind == CARET__OP_SET)
            caret__change_leaf(e, u, spot, op->key, op->klen, op->val, op->vlen, lsn);
        else if (spot->found)
            caret__leave_leaf(e, u, spot, lsn);
    }
}

int caret__commit_small(struct caret__engine *e, const struct caret__finished *r, uint64_t *lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct plan plan;

    if (!make_plan(e, r->b, &plan))
        return CARET_NONE;
    bool near = plan.nslow == 0 && plan.in_place <= CARET__UNDO_NEAR;
    if (!near) {
        struct caret__need need = plan_need(e, &plan);
        int rc = caret__reserve(e, &need, false);
        if (rc != CARET_OK) /* an error is not the last word: in general the same sets may need less */
            return rc == CARET_RESTART ? rc : CARET_NONE;
    }
    struct caret__undo u = caret__undo_context(e, near ? caret__undo_near(e) : 0);
    caret__publish(e, r->b->rec, r->size, r->crc, lsn);
    if (plan.nslow != 0)
        sets_in_general(e, r->b, &plan, &u, *lsn);
    else
        caret__undo_begin(&u, *lsn);
    sets_in_place(e, r->b, &plan, &u, *lsn);
    caret__make_visible(e, *lsn);
    return CARET_OK;
}
