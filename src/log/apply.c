/*
 * apply.c - changing the tree as a record says; what that can take at most.
 *
 * One code path for a commit, for repair's redo and for replay at opening; only
 * the latter keeps no undo, for nobody else is attached.
 *
 * Needs are counted under the writer mutex on the tree as it is.  One set may copy
 * its path, split each level, and cut a leaf of huge entries several times
 * (caret__tree_set_pages).  A large batch comes in key order, so paths are shared: each
 * page that differs from the previous op's path at its level is counted once (in a small
 * batch, in any order, more than once); a
 * touched leaf may be cut in three, and every quarter page of new bytes may make
 * another leaf; every new leaf may need half an inner page.  Beside an unlinked leaf
 * one or two neighbours are saved without being copied (caret__w_bump).
 */
#include "base/error.h"
#include "log/log.h"
#include "tree/tree.h"

static void apply_op(struct caret__w *w, const struct caret__op_view *op)
{
    uint32_t ref[2];

    switch (op->kind) {
    case CARET__OP_SET: caret__tree_set(w, op->key, op->klen, op->val, op->vlen, 0); break;
    case CARET__OP_SETRUN:
        memcpy(ref, op->val, sizeof ref);
        caret__w_take_run(w, ref[0], (ref[1] + CARET__PAGE_SIZE - 1) / CARET__PAGE_SIZE);
        caret__tree_set(w, op->key, op->klen, op->val, op->vlen, CARET__VLEN_RUN);
        break;
    case CARET__OP_DELETE: caret__tree_delete(w, op->key, op->klen); break;
    case CARET__OP_KILL: caret__tree_kill(w, op->key, op->klen); break;
    }
}

/* Does the op make sense?  Records come from logs, which may be damaged in spite of a right crc. */
static bool op_ok(const struct caret__engine *e, const struct caret__op_view *op)
{
    if (op->klen == 0 || op->klen > CARET__KEY_MAX || op->kind < CARET__OP_SET || op->kind > CARET__OP_SETRUN)
        return false;
    if (op->kind == CARET__OP_SET)
        return caret__value_inline(op->klen, op->vlen);
    if (op->kind == CARET__OP_SETRUN) {
        uint32_t ref[2];
        if (op->vlen != sizeof(struct caret__runref))
            return false;
        memcpy(ref, op->val, sizeof ref);
        return ref[0] != 0 && ref[1] <= CARET_MAX_VALUE && caret__run_below(ref[0], ref[1], e->sh->ts.npages);
    }
    return true;
}

int caret__apply(struct caret__engine *e, const uint8_t *rec, uint32_t size, uint64_t lsn,
                 enum caret__apply_mode mode)
{
    struct caret__shared *sh = e->sh;
    struct caret__undo u = caret__undo_context(e, 0);
    struct caret__w w = {.pg = &e->pg,
                         .sh = sh,
                         .undo = mode != CARET__APPLY_REPLAY ? &u : NULL,
                         .redo = mode == CARET__APPLY_REDO,
                         .lsn = lsn,
                         .epoch = atomic_load_explicit(&sh->epoch, memory_order_relaxed)};
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    int rc;

    caret__w_begin(&w);
    while ((rc = caret__record_op(rec, size, &off, &op)) > 0)
        apply_op(&w, &op);
    return rc == 0 ? CARET_OK
                   : caret__fail(CARET_E_CORRUPT, "%s: the record before LSN %llu can't be read", e->path,
                                 (unsigned long long)lsn);
}

/* ------------------------------------------------------------------- needs */

struct tally {
    struct caret__path before;
    bool has_before;
    uint64_t pages, leaves, bytes, freed, bumps;
    unsigned sets, deletes;
};

/* 0, or the number of a damaged page that the change would meet. */
static uint32_t tally_path(struct caret__engine *e, const struct caret__op_view *op, struct tally *t)
{
    struct caret__w w = {.pg = &e->pg, .sh = e->sh};
    struct caret__path path;

    uint32_t bad = caret__descend(&w, op->key, op->klen, &path);
    if (bad != 0)
        return bad;
    for (unsigned d = 0; d <= path.leaf; d++) {
        if (t->has_before && d <= t->before.leaf && path.pgno[d] == t->before.pgno[d])
            continue;
        t->pages++;
        t->leaves += d == path.leaf;
    }
    t->before = path;
    t->has_before = true;
    if (e->sh->ts.has_runs && path.found) {
        struct caret__entry en =
            caret__page_entry(caret__w_page(&w, path.pgno[path.leaf]), path.idx[path.leaf]);
        if (en.run && en.vlen >= 8)
            t->freed += 1 + caret__racy32(en.val + 4) / CARET__PAGE_SIZE;
    }
    return 0;
}

static uint32_t tally_op(struct caret__engine *e, const struct caret__op_view *op, struct tally *t)
{
    uint32_t bad;

    if (op->kind == CARET__OP_KILL) {
        t->freed += caret__tree_kill_pages(&e->pg, op->key, op->klen, &bad);
        t->pages += 4u * (e->sh->ts.depth + 2u);
        t->bumps += 4u * (e->sh->ts.depth + 2u);
        return bad;
    }
    bad = tally_path(e, op, t);
    t->deletes += op->kind == CARET__OP_DELETE;
    t->sets++;
    t->bytes += 10u + op->klen + op->vlen;
    if (op->kind == CARET__OP_SETRUN)
        t->freed += 1 + caret__racy32(op->val + 4) / CARET__PAGE_SIZE;
    return bad;
}

int caret__record_need(struct caret__engine *e, const uint8_t *rec, uint32_t size, struct caret__need *need)
{
    struct tally t = {0};
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    int rc;

    while ((rc = caret__record_op(rec, size, &off, &op)) > 0) {
        if (!op_ok(e, &op))
            return caret__fail(CARET_E_CORRUPT, "%s: a log record holds an operation that makes no sense",
                               e->path);
        uint32_t bad = tally_op(e, &op, &t);
        if (bad != 0)
            return caret__corrupt_page(bad, "damaged, or not where it belongs");
    }
    if (rc < 0)
        return caret__fail(CARET_E_CORRUPT, "%s: a log record can't be read", e->path);
    uint32_t one = caret__tree_set_pages(&e->sh->ts);
    uint64_t cuts = t.sets == 0 ? 0 : 2 * (2 * t.leaves + 4 * t.bytes / CARET__PAGE_USABLE);
    uint64_t pages = t.pages + (t.sets == 1 && cuts + t.pages < one ? one : cuts) + one;
    need->pages = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
    t.bumps += t.deletes != 0 ? 2 * t.leaves : 0;
    need->undo_bytes =
        (t.pages + t.bumps + one) * (CARET__PAGE_SIZE + 64u) + pages * 128u + t.freed * 96u + 4096u;
    return CARET_OK;
}

/* --------------------------------------------------------------- reservation */

#define KILL_PAGES 64u /* kept so that a full database can be emptied */

static uint32_t free_unreserved(const struct caret__shared *sh)
{
    uint32_t n = sh->ts.free_pages, held = 0;
    if (atomic_load_explicit(&sh->nreserved, memory_order_relaxed) == 0)
        return n;
    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++)
        held += sh->reserved[i].count;
    return n > held ? n - held : 0;
}

/* With the disk or shared memory full, what died since the last checkpoint is still to be had: kills make room that way. */
static int reserve_pages(struct caret__engine *e, uint32_t want)
{
    struct caret__shared *sh = e->sh;
    uint32_t have = free_unreserved(sh), n = sh->ts.npages;
    if (have >= want)
        return CARET_OK;
    uint32_t more = n / 8 > 256 ? n / 8 : 256;
    if (more < want - have + 8)
        more = want - have + 8; /* bitmap images may lie in between */
    int rc = caret__grow_pages(e, n + more);
    if (rc != CARET_OK && more > want - have + 8)
        rc = caret__grow_pages(e, n + want - have + 8); /* near the end of the disk, or of the page numbers */
    if (rc != CARET_OK && free_unreserved(sh) + 8 >= want)
        return CARET_OK;
    return (rc == CARET_E_DISKFULL || rc == CARET_E_SHM) && caret__checkpoint_frees(e) ? CARET_RESTART : rc;
}

/* Could a checkpoint free so many slots? */
static bool checkpoint_helps(const struct caret__engine *e, uint32_t want)
{
    return want <= atomic_load(&e->sh->nslots) && caret__checkpoint_frees(e);
}

static int reserve_slots(struct caret__engine *e, uint32_t want)
{
    struct caret__shared *sh = e->sh;
    uint32_t n = atomic_load_explicit(&sh->nslots, memory_order_relaxed);

    if (sh->ts.free_slots >= want)
        return CARET_OK;
    if (want > sh->max_slots / 2)
        return caret__fail(CARET_E_TXN_TOO_BIG, "%s: the transaction may change %u pages, the arena holds %u",
                           e->path, want, sh->max_slots);
    if (n < sh->max_slots) {
        uint32_t more = want > CARET__ARENA_STEP ? want : CARET__ARENA_STEP;
        int rc = caret__grow_arena(e, n + more < sh->max_slots ? n + more : sh->max_slots);
        if (rc == CARET_OK && sh->ts.free_slots >= want)
            return CARET_OK;
        if (rc != CARET_OK && !checkpoint_helps(e, want))
            return rc; /* shared memory is full: writers that would wait for ever are refused */
    }
    return CARET_RESTART;
}

int caret__reserve(struct caret__engine *e, const struct caret__need *need, bool is_kill)
{
    struct caret__shared *sh = e->sh;
    uint32_t spare = is_kill ? 0 : KILL_PAGES;

    if (need->undo_bytes > sh->undo_max - CARET__UNDO_FRONT)
        return caret__fail(CARET_E_TXN_TOO_BIG, "%s: the change needs %llu bytes of undo, %llu is the limit",
                           e->path, (unsigned long long)need->undo_bytes,
                           (unsigned long long)(sh->undo_max - CARET__UNDO_FRONT));
    if (need->undo_bytes + CARET__UNDO_FRONT > atomic_load_explicit(&sh->undo_cap, memory_order_relaxed)) {
        int rc = caret__grow_undo(e, need->undo_bytes + CARET__UNDO_FRONT);
        if (rc != CARET_OK)
            return rc;
    }
    int rc = reserve_slots(e, need->pages + spare);
    return rc == CARET_OK ? reserve_pages(e, need->pages + spare) : rc;
}
