/*
 * apply.c - changing the tree as a record says; what that can take at most.
 *
 * One code path for a commit, for repair's redo and for replay at opening; only
 * the latter keeps no undo, for nobody else is attached.
 *
 * Needs are counted under the writer mutex on the tree as it is.  One set may copy its
 * path, split each level, and cut a leaf of huge entries several times
 * (caret__tree_set_pages).  A large batch comes in key order, so paths are shared: each
 * page that differs from the previous op's path at its level is counted once (in a small
 * batch, in any order, more than once); a touched leaf may be cut in three, and every
 * quarter page of new bytes may make another leaf; every new leaf may need half an inner
 * page.  Beside an unlinked leaf one or two neighbours are saved without being copied
 * (caret__w_bump).
 */
#include "log/apply.h"

#include "base/error.h"
#include "log/commit_parts.h"
#include "tree/tree.h"

static inline bool is_set(const struct caret__op_view *op)
{
    return op->kind == CARET__OP_SET || op->kind == CARET__OP_SETRUN;
}

static void take_run(struct caret__w *w, const struct caret__op_view *op)
{
    uint32_t ref[2];

    memcpy(ref, op->val, sizeof ref);
    caret__w_take_run(w, ref[0], caret__run_pages(ref[1]));
}

static void kill_span(struct caret__w *w, const struct caret__op_view *op)
{
    uint8_t end[CARET__PLACE_MAX];
    struct caret__span r = caret__op_span(op, end);

    caret__tree_kill(w, &r);
}

static void apply_op(struct caret__w *w, const struct caret__op_view *op)
{
    switch (op->kind) {
    case CARET__OP_SET: caret__tree_set(w, op->key, op->klen, op->val, op->vlen, 0); break;
    case CARET__OP_SETRUN:
        take_run(w, op);
        caret__tree_set(w, op->key, op->klen, op->val, op->vlen, CARET__VLEN_RUN);
        break;
    case CARET__OP_DELETE: caret__tree_delete(w, op->key, op->klen); break;
    case CARET__OP_KILL:
    case CARET__OP_RANGE: kill_span(w, op); break;
    }
}

/* Does the op make sense?  Records come from logs, which may be damaged in spite of a right crc. */
static bool op_ok(const struct caret__engine *e, const struct caret__op_view *op)
{
    if (op->klen == 0 || op->klen > CARET__KEY_MAX || op->kind < CARET__OP_SET || op->kind > CARET__OP_RANGE)
        return false;
    if (op->kind == CARET__OP_SET)
        return caret__value_inline(op->klen, op->vlen);
    if (op->kind == CARET__OP_RANGE)
        return op->vlen <= CARET__PLACE_MAX && caret__bytes_compare(op->key, op->klen, op->val, op->vlen) < 0;
    if (op->kind == CARET__OP_SETRUN) {
        uint32_t ref[2];
        if (op->vlen != sizeof(struct caret__runref))
            return false;
        memcpy(ref, op->val, sizeof ref);
        return ref[0] != 0 && ref[1] <= CARET_MAX_VALUE && caret__run_below(ref[0], ref[1], e->sh->ts.npages);
    }
    return true;
}

/* Sets in key order that wait to be done at once. */
struct row {
    struct caret__cursor at;
    unsigned n;
    struct caret__kv kv[CARET__ROW];
};

static void end_row(struct caret__w *w, struct row *row)
{
    if (row->n != 0)
        caret__tree_set_row(w, &row->at, row->kv, row->n);
    row->n = 0;
}

static void apply_in_row(struct caret__w *w, struct row *row, const struct caret__op_view *op)
{
    if (!is_set(op)) {
        end_row(w, row);
        apply_op(w, op);
        row->at.there = false;
        return;
    }
    if (op->kind == CARET__OP_SETRUN)
        take_run(w, op);
    row->kv[row->n++] = (struct caret__kv){.b = op->key,
                                           .val = op->val,
                                           .b_len = op->klen,
                                           .vlen = (uint16_t)op->vlen,
                                           .vflag = op->kind == CARET__OP_SETRUN ? CARET__VLEN_RUN : 0};
    if (row->n == CARET__ROW)
        end_row(w, row);
}

/* 0, or -1: an op can't be read. */
static int apply_ops(struct caret__w *w, const uint8_t *rec, uint32_t size)
{
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    int rc;

    while ((rc = caret__record_op(rec, size, &off, &op)) > 0)
        apply_op(w, &op);
    return rc;
}

static __attribute__((noinline)) int apply_rows(struct caret__w *w, const uint8_t *rec, uint32_t size)
{
    struct caret__op_view op;
    struct row row;
    uint32_t off = CARET__REC_HEAD;
    int rc;

    row.n = 0;
    row.at.there = false;
    while ((rc = caret__record_op(rec, size, &off, &op)) > 0)
        apply_in_row(w, &row, &op);
    end_row(w, &row);
    return rc;
}

int caret__apply(struct caret__engine *e, const uint8_t *rec, uint32_t size, uint64_t lsn,
                 enum caret__apply_mode mode, bool in_rows)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__shared *sh = e->sh;
    struct caret__undo u = caret__undo_context(e, 0);
    struct caret__w w = {.pg = &e->pg,
                         .sh = sh,
                         .undo = mode != CARET__APPLY_REPLAY ? &u : NULL,
                         .redo = mode == CARET__APPLY_REDO,
                         .lsn = lsn,
                         .epoch = atomic_load_explicit(&sh->epoch, memory_order_relaxed)};

    caret__w_begin(&w);
    int rc = in_rows ? apply_rows(&w, rec, size) : apply_ops(&w, rec, size);
    return rc == 0 ? CARET_OK
                   : caret__fail(CARET_E_CORRUPT, "%s: the record before LSN %llu can't be read", e->path,
                                 (unsigned long long)lsn);
}

bool caret__apply_in_place(struct caret__engine *e, struct caret__spot *spot, const uint8_t *rec,
                           uint32_t size, uint64_t lsn)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct caret__op_view op, more;
    struct caret__taken taken = {0};
    uint32_t off = CARET__REC_HEAD;

    bool one = caret__record_op(rec, size, &off, &op) == 1 && caret__record_op(rec, size, &off, &more) == 0;
    if (!one || op.kind != CARET__OP_SET || !op_ok(e, &op) || !caret__believe(e, spot, op.key, op.klen) ||
        !caret__fits_in_place(e, spot, op.key, op.klen, op.vlen, &taken))
        return false;
    caret__change_leaf(e, NULL, spot, op.key, op.klen, op.val, op.vlen, lsn);
    return true;
}

/* ------------------------------------------------------------------- needs */

struct tally {
    struct caret__edges edges; /* pages that the ops find and may copy */
    uint64_t leaves, bytes, taken;
    unsigned sets, deletes, kills;
    bool in_rows;               /* the sets come in key order: */
    unsigned nrow;              /* how many the row has, */
    uint64_t rows;              /* and how many rows were before */
    struct caret__op_view last; /* the op before */
    struct caret__row_need row;
};

/* Is the op where it has to be for the sets to be done in rows? */
static bool in_order(const struct tally *t, const struct caret__op_view *op)
{
    if (t->last.key == NULL)
        return true;
    int c = caret__bytes_compare(t->last.key, t->last.klen, op->key, op->klen);
    return c < 0 || (c == 0 && !is_set(&t->last));
}

/* 0, or the number of a damaged page that the change would meet. */
static uint32_t tally_path(struct caret__engine *e, const struct caret__op_view *op, struct tally *t)
{
    struct caret__w w = {.pg = &e->pg, .sh = e->sh};
    struct caret__path path;

    uint32_t bad = caret__descend(&w, op->key, op->klen, &path);
    if (bad != 0)
        return bad;
    for (unsigned d = 0; d <= path.leaf; d++)
        if (caret__edge_note(&t->edges, path.pgno[d], d))
            t->leaves += d == path.leaf;
    if (e->sh->ts.has_runs && path.found) {
        struct caret__entry en =
            caret__page_entry(caret__w_page(&w, path.pgno[path.leaf]), path.idx[path.leaf]);
        if (!caret__tree_run_ok(&e->pg, &en))
            return path.pgno[path.leaf];
    }
    return 0;
}

/* As apply_in_row() does. */
static void count_rows(struct tally *t, bool set)
{
    t->nrow += set;
    if (t->nrow != 0 && (!set || t->nrow == CARET__ROW)) {
        t->rows++;
        t->nrow = 0;
    }
}

static uint32_t tally_op(struct caret__engine *e, const struct caret__op_view *op, struct tally *t)
{
    count_rows(t, is_set(op));
    if (op->kind == CARET__OP_KILL || op->kind == CARET__OP_RANGE) {
        uint8_t end[CARET__PLACE_MAX];
        struct caret__span r = caret__op_span(op, end);
        t->kills++;
        return caret__tree_kill_look(&e->pg, &r, &t->edges);
    }
    if (op->kind == CARET__OP_DELETE) {
        t->deletes++;
        return tally_path(e, op, t);
    }
    t->sets++;
    if (op->kind == CARET__OP_SETRUN)
        t->taken += caret__run_pages(caret__racy32(op->val + 4));
    if (t->in_rows) {
        struct caret__w w = {.pg = &e->pg, .sh = e->sh, .ask = true};
        return caret__row_look(&w, &t->row, op->key, op->klen, op->vlen, &t->edges);
    }
    t->bytes += caret__entry_room(op->klen, op->vlen);
    return tally_path(e, op, t);
}

/*
 * What is copied besides what was found, where there are kills among sets: a set whose leaf was unlinked by a kill
 * finds a neighbour, by two pages a level, of a tree that the sets make higher.  A kill copies nothing else: joins go
 * to a page that is current already.  So the lesser number tells, and many kills with one set (SREM) take little.
 */
static uint64_t pages_of_kills(const struct tally *t, const struct caret__tstate *ts)
{
    return (uint64_t)caret__min(t->kills, t->sets) * 2u * (ts->depth + 2u);
}

/* In rows: each leaf that a kill or delete joins with another may be cut once more. */
static uint64_t pages_of_rows(const struct tally *t, const struct caret__tstate *ts, uint64_t made)
{
    uint64_t joins = caret__min64(2u * (uint64_t)t->deletes, 2 * t->edges.pages);

    return t->edges.pages + made + t->rows + joins + pages_of_kills(t, ts) + caret__tree_set_pages(ts);
}

/* New pages of sets, not in rows. */
#define CUTS_OF_LEAF  2u                        /* a leaf may be cut in three: two new ones */
#define BYTES_OF_LEAF (CARET__PAGE_USABLE / 4u) /* new bytes that may make another one */
#define WITH_INNER    2u                        /* each new one with half an inner page, rounded up */

_Static_assert(CARET__PAGE_USABLE % 4 == 0, "a quarter of a page");

/* Page numbers, each with a slot.  Kills and deletes copy what they find, and no more. */
static uint64_t pages_of(const struct tally *t, const struct caret__tstate *ts)
{
    uint64_t pages = t->edges.pages, one = caret__tree_set_pages(ts);

    if (t->sets == 0)
        return pages + ts->depth;
    uint64_t leaves = CUTS_OF_LEAF * t->leaves + t->bytes / BYTES_OF_LEAF, cuts = WITH_INNER * leaves;
    if (t->sets == 1 && cuts + pages < one)
        cuts = one;
    return pages + cuts + one + pages_of_kills(t, ts);
}

/*
 * Pages that are saved whole at most: what the ops find, and neighbours: those that are joined, up to two a
 * level, and those at the seams (caret__w_bump).  All belong to the current epoch, so each has a slot.
 */
static uint64_t saved_of(const struct tally *t, const struct caret__shared *sh)
{
    uint64_t pages = t->edges.pages + (t->sets != 0 ? caret__tree_set_pages(&sh->ts) : 0);

    pages += (uint64_t)t->kills * (2u * sh->ts.depth + 8u);
    pages += t->deletes != 0 ? 2 * t->edges.pages + 2u * sh->ts.depth : 0;
    if (sh->frozen.epoch + 1 == atomic_load_explicit(&sh->epoch, memory_order_relaxed) &&
        sh->frozen.lsn == atomic_load_explicit(&sh->log_applied, memory_order_relaxed))
        return 0; /* the epoch has only begun */
    return caret__min64(pages, atomic_load_explicit(&sh->nslots, memory_order_relaxed) - sh->ts.free_slots);
}

/* CARET_NONE: the sets are not in order. */
static int tally_ops(struct caret__engine *e, const uint8_t *rec, uint32_t size, struct tally *t)
{
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    int rc;

    while ((rc = caret__record_op(rec, size, &off, &op)) > 0) {
        if (!op_ok(e, &op))
            return caret__fail(CARET_E_CORRUPT, "%s: a log record holds an operation that makes no sense",
                               e->path);
        if (t->in_rows && !in_order(t, &op))
            return CARET_NONE;
        uint32_t bad = tally_op(e, &op, t);
        t->last = op;
        if (bad != 0)
            return caret__corrupt_page(&e->pg, bad, "damaged, or not where it belongs");
    }
    return rc < 0 ? caret__fail(CARET_E_CORRUPT, "%s: a log record can't be read", e->path) : CARET_OK;
}

/* Bytes of a record.  Shorter ones are lists (src/txn/txn.h), whose sets come in any order: a pile has more than
 * CARET__SPOTS ops, of 16 bytes at least.  Longer ones may be lists, too, which is noticed soon. */
#define ROWS_FROM (CARET__RING_SIZE / 64u < 2048u ? CARET__RING_SIZE / 64u : 2048u)

int caret__record_need(struct caret__engine *e, const uint8_t *rec, uint32_t size, struct caret__need *need)
{
    CARET__ASSERT(caret__writer_held(e->sh));
    struct tally t = {.in_rows = size >= ROWS_FROM};
    uint64_t made = 0;
    int rc = tally_ops(e, rec, size, &t);

    if (t.in_rows && rc == CARET_OK)
        made = caret__row_pages(&t.row, &e->sh->ts);
    if (rc == CARET_NONE || made == UINT64_MAX) {
        t = (struct tally){.in_rows = false};
        rc = tally_ops(e, rec, size, &t);
    }
    if (rc != CARET_OK)
        return rc;
    need->in_rows = t.in_rows && t.sets != 0;
    uint64_t pages = need->in_rows ? pages_of_rows(&t, &e->sh->ts, made) : pages_of(&t, &e->sh->ts);
    need->pages = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
    need->undo_saved = saved_of(&t, e->sh) * CARET__UNDO_PAGE;
    need->undo_bytes =
        need->undo_saved + pages * CARET__UNDO_BORN + t.taken * CARET__UNDO_RUN + CARET__UNDO_ONCE;
    return CARET_OK;
}
