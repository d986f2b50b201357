/*
 * collide.c - where transactions collide.
 *
 * A transaction knows the leaves that it read, and when it can't go on which of them has changed.  What a person wants
 * to know is a node: the first one that the transaction itself changes in that leaf, as counters and queues collide
 * at what they write; if it changes none there, the first node of the leaf.  It is noted (shm/tally.h) when the
 * transaction begins again, outside of all mutexes; transactions that are not restarted pay nothing.
 */
#include "txn/collide.h"

#include "base/key.h"
#include "disk/record.h"
#include "shm/tally.h"

#define LEAVES 8u  /* changed ones that are looked at */
#define OPS    64u /* of the transaction that are looked at, for each; both are arbitrary */

static void note(struct caret__shared *sh, const uint8_t *key, size_t len, uint64_t pid)
{
    caret__tally_note(sh->collisions, CARET__COLLISIONS, key, len, 1, pid);
}

/* ----------------------------------------------------------- where it collided */

/* Where a leaf is in the database: its keys, as bounds, and the first key that it has. */
struct leaf {
    struct caret__range range;
    unsigned len;
    uint8_t key[CARET__KEY_MAX];
};

static bool in_leaf(const struct leaf *l, const uint8_t *key, size_t len)
{
    return caret__bytes_compare(key, len, l->range.lower, l->range.lower_len) >= 0 &&
           (l->range.upper_len == 0 ||
            caret__bytes_compare(key, len, l->range.upper, l->range.upper_len) < 0);
}

/* The leaf that has now what was in that page; it may have got another number, or several may share it. */
static bool find_leaf(struct caret__view *v, uint32_t pgno, struct leaf *l)
{
    const struct caret__pte *pte = &v->pg->ptab[pgno];
    struct caret__at at = {.pgno = pgno};

    at.version = atomic_load_explicit(&pte->version, memory_order_acquire);
    at.word = atomic_load_explicit(&pte->word, memory_order_acquire);
    if (!caret__bytes_known(v->pg, pgno, at.word))
        return false;
    at.page = caret__page_at(v->pg, pgno, at.word);
    CARET_DOZE();
    l->len = caret__page_count(at.page) != 0 ? caret__page_key(at.page, 0, l->key) : 0;
    return l->len != 0 && caret__at_unchanged(v, &at) &&
           caret__seek_range(v, l->key, l->len, &at, &l->range) == CARET_OK;
}

/* The first node in the leaf that the transaction's record changes. */
static bool listed_in(const struct caret__batch *b, struct leaf *l)
{
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;

    for (unsigned i = 0; i < OPS && caret__record_op(b->rec, b->size + CARET__REC_TAIL, &off, &op) == 1; i++)
        if (in_leaf(l, op.key, op.klen)) {
            l->len = op.klen;
            memcpy(l->key, op.key, op.klen);
            return true;
        }
    return false;
}

/* The same of a transaction that has its changes in a tree; of what it kills, where that begins. */
static bool buffered_in(const struct caret__txn *t, struct leaf *l)
{
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    struct caret__one_span killed;
    uint8_t key[CARET__PLACE_MAX];
    size_t len = l->range.lower_len;

    memcpy(key, l->range.lower, len);
    bool found = caret__scan_from(&v, &at, key, &len) == CARET_OK && in_leaf(l, key, len);
    if (!found && caret__buffer_killed((struct caret__txn *)(uintptr_t)t, l->key, l->len, &killed)) {
        found = true;
        len = killed.span.lo_len;
        memcpy(key, killed.lo, len);
    }
    if (found) {
        l->len = (unsigned)len;
        memcpy(l->key, key, len);
    }
    return found;
}

static bool changed_in(const struct caret__txn *t, struct leaf *l)
{
    if (!t->changed)
        return false;
    return t->in_tree ? buffered_in(t, l) : listed_in(&t->list, l);
}

void caret__collide_note(struct caret__shared *sh, const struct caret__txn *t, struct caret__view *v,
                         uint64_t pid)
{
    const struct caret__reads *r = &t->reads;
    struct leaf first, l;

    first.len = 0;

    CARET__ASSERT(!caret__writer_held(sh));
    for (uint32_t i = 0, looked = 0; i < r->count && looked < LEAVES; i++) {
        const struct caret__read *read = &r->set[i];
        if (caret__page_unchanged(v->pg, read->pgno, read->version))
            continue;
        looked++;
        if (!find_leaf(v, read->pgno, &l))
            continue;
        if (changed_in(t, &l)) {
            note(sh, l.key, l.len, pid);
            return;
        }
        if (first.len == 0)
            first = l;
    }
    if (first.len != 0)
        note(sh, first.key, first.len, pid);
}
