/*
 * list.c - the sets and deletes of a short transaction, in the order they came: txn.h.
 *
 * The list is the record that it will become, and beside it the hash of each op's key.  A few ops are looked through
 * from the end; of more there is an index: the ops of one hash, the newest first.
 *   A savepoint is a size of the record: rolling back to it takes what comes after off its end, and what that replaced
 * counts again.  So a set may overwrite an op with a value of the same length only if that one is not older than the
 * savepoint that was made last.  Otherwise it is one more op, and before the commit those go that another one has
 * replaced.
 *   All of it is memory of the session.
 */
#include "base/bytes.h"
#include "txn/txn.h"

_Static_assert(CARET__SPOTS < UINT8_MAX, "an op and none fit a byte");

#define INDEXED 6u /* so many ops have an index: with fewer, making it costs more than it saves */

/* Of a key, by its end. */
static inline unsigned hash_of(const uint8_t *key, size_t len)
{
    uint64_t end = 0;
    if (len >= 8)
        memcpy(&end, key + len - 8, 8);
    else
        memcpy(&end, key, len);
    return (unsigned)(end * UINT64_C(0x9E3779B97F4A7C15) >> 50);
}

/* Which chain such a hash is in. */
static inline unsigned chain_of(unsigned hash)
{
    return hash >> 8;
}

static inline bool has_key(const struct caret__txn *t, unsigned i, const uint8_t *key, size_t len,
                           struct caret__op_view *op)
{
    *op = caret__op_at(t->list.rec, t->listed.at[i]);
    return op->klen == len && memcmp(op->key, key, len) == 0;
}

/* The newest op of a key with that hash: its number; -1: none. */
static inline __attribute__((always_inline)) int
find(const struct caret__txn *t, unsigned hash, const uint8_t *key, size_t len, struct caret__op_view *op)
{
    CARET__ASSERT(t->changed && !t->in_tree && !t->piled);
    const struct caret__listed *l = &t->listed;

    if (t->list.nops < INDEXED) {
        for (int i = (int)t->list.nops; --i >= 0;)
            if (caret__unlikely(l->hash[i] == hash) && has_key(t, (unsigned)i, key, len, op))
                return i;
        return -1;
    }
    for (int i = l->first[chain_of(hash)]; --i >= 0; i = l->next[i])
        if (l->hash[i] == hash && has_key(t, (unsigned)i, key, len, op))
            return i;
    return -1;
}

static inline void index_op(struct caret__listed *l, unsigned i)
{
    uint8_t *first = &l->first[chain_of(l->hash[i])];

    l->next[i] = *first;
    *first = (uint8_t)(i + 1);
}

static __attribute__((noinline)) void begin_index(struct caret__listed *l)
{
    memset(l->first, 0, sizeof l->first);
    for (unsigned i = 0; i < INDEXED; i++)
        index_op(l, i);
}

/* The op of a key with that hash stands at `at`, the last one; `replaced`: the op whose key it has; -1: none. */
static inline void note(struct caret__txn *t, uint32_t at, unsigned hash, int replaced)
{
    struct caret__listed *l = &t->listed;
    unsigned i = t->list.nops - 1;

    l->at[i] = (uint16_t)at;
    l->hash[i] = (uint16_t)hash;
    l->replaces[i] = (uint8_t)(replaced + 1);
    l->replaced = (i == 0 ? 0 : l->replaced) + (replaced >= 0);
    if (caret__unlikely(i >= INDEXED))
        index_op(l, i);
    else if (caret__unlikely(i == INDEXED - 1))
        begin_index(l);
}

/* Give the op a value of the same length. */
static int overwrite(struct caret__txn *t, int i, const struct caret__op_view *op, const void *val,
                     const struct caret__spot *spot)
{
    if (op->vlen != 0)
        memcpy((uint8_t *)(uintptr_t)op->val, val, op->vlen);
    t->list.spots[i] = *spot;
    return CARET_OK;
}

static inline __attribute__((always_inline)) int add(struct caret__txn *t, enum caret__op kind,
                                                     const uint8_t *key, size_t len, const void *val,
                                                     size_t vlen, const struct caret__spot *spot)
{
    struct caret__op_view op;
    unsigned hash = hash_of(key, len);
    int i = -1, rc;

    if (t->changed)
        i = find(t, hash, key, len, &op);
    else if ((rc = caret__batch_begin(&t->list)) != CARET_OK)
        return rc;
    t->changed = true;
    if (i >= 0 && t->listed.at[i] >= t->list_marks[t->level - 1] && op.kind == kind && op.vlen == vlen)
        return overwrite(t, i, &op, val, spot);
    uint32_t at = t->list.size;
    rc = caret__batch_add(&t->list, kind, key, len, val, vlen);
    if (rc != CARET_OK)
        return rc;
    caret__batch_spot(&t->list, spot);
    note(t, at, hash, i);
    return CARET_OK;
}

int caret__list_set(struct caret__txn *t, const uint8_t *key, size_t len, const void *val, size_t vlen,
                    const struct caret__spot *spot)
{
    return add(t, CARET__OP_SET, key, len, val, vlen, spot);
}

int caret__list_delete(struct caret__txn *t, const uint8_t *key, size_t len, const struct caret__spot *spot)
{
    return add(t, CARET__OP_DELETE, key, len, "", 0, spot);
}

int caret__list_get(const struct caret__txn *t, const uint8_t *key, size_t len, const uint8_t **val,
                    size_t *vlen)
{
    struct caret__op_view op;

    if (find(t, hash_of(key, len), key, len, &op) < 0)
        return 0;
    *val = op.val;
    *vlen = op.vlen;
    return op.kind == CARET__OP_SET ? 1 : -1;
}

void caret__list_cut(struct caret__txn *t, uint32_t size)
{
    struct caret__batch *b = &t->list;
    struct caret__listed *l = &t->listed;

    if (!t->changed || t->in_tree || t->piled)
        return;
    while (b->nops > 0 && b->size > size) {
        unsigned i = --b->nops;
        struct caret__op_view op = caret__op_at(b->rec, l->at[i]);
        if (i >= INDEXED) /* fewer need no index */
            l->first[chain_of(l->hash[i])] = l->next[i];
        l->replaced -= l->replaces[i] != 0;
        b->values -= op.vlen;
        b->size = l->at[i];
    }
    b->nspots = b->nops;
    t->changed = b->nops != 0;
}

void caret__list_drop_replaced(struct caret__txn *t)
{
    struct caret__batch *b = &t->list;
    struct caret__listed *l = &t->listed;
    bool gone[CARET__SPOTS] = {false};
    unsigned n = b->nops;

    CARET__ASSERT(t->level == 1 && !t->in_tree && !t->piled);
    for (unsigned i = 0; i < n; i++)
        if (l->replaces[i] != 0)
            gone[l->replaces[i] - 1] = true;
    b->size = CARET__REC_HEAD;
    b->nops = b->nspots = 0;
    b->values = 0;
    for (unsigned i = 0; i < n; i++) {
        struct caret__op_view op = caret__op_at(b->rec, l->at[i]);
        uint32_t size = caret__op_size(op.klen, op.vlen), at = b->size;
        if (gone[i])
            continue;
        b->values += op.vlen;
        memmove(b->rec + at, b->rec + l->at[i], size);
        b->size += size;
        b->nops++;
        caret__batch_spot(b, &b->spots[i]);
        note(t, at, l->hash[i], -1);
    }
}
