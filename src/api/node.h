/*
 * node.h - what is inside a caret_node.
 *
 * A node is a fixed head, which fills `opaque[5]` of the public struct, and the
 * encoded key right after it.  The head's second part is the hint: where the
 * key was found last.  A hint is never trusted before the version of its page
 * has been compared (tree/tree.h), so a stale or foreign one costs only time.
 *
 *   offset 0        16              40
 *          | key    | hint          | encoded key, key_cap bytes |
 *
 * Programs make nodes by the million: every byte here is written for each.
 */
#ifndef CARET_API_NODE_H
#define CARET_API_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "caret.h"

/* What is known of pos, if the version still holds. */
enum {
    CARET__HINT_ABSENT = 0, /* the key is not there and would be inserted at pos */
    CARET__HINT_FOUND = 1   /* the key is at pos */
};

/* A hint, as the functions on data handle it. */
struct caret__hint {
    uint64_t version; /* of the page when the position was noted; 0: unchanged since opening */
    uint64_t owner;   /* which tree it was: the id of its pager; 0 = no hint */
    uint32_t pgno;    /* leaf */
    uint16_t pos;     /* slot in the leaf */
    uint16_t found;   /* CARET__HINT_* */
};

/* The same, as a node has it. */
struct caret__hint_words {
    uint64_t version, check, place; /* place: pgno, pos << 32, found << 48; check: see caret__hint_sum() */
};

struct caret__node {
    uint16_t key_len;  /* bytes of the encoded key */
    uint16_t key_cap;  /* bytes there is room for */
    uint16_t last_off; /* offset of the last subscript's encoding; key_len if there is none */
    uint8_t name_len;  /* bytes of the name, without '^' and the 0x00 after it */
    uint8_t depth;     /* number of subscripts */
    uint8_t local;     /* 1: local variable */
    uint8_t pad[3];
    uint32_t magic; /* CARET__NODE_MAGIC: made by caret_node_var() or a copy of such */
    struct caret__hint_words hint;
};

#define CARET__NODE_MAGIC 0x65646f6eu

_Static_assert(sizeof(struct caret__hint_words) == 24, "no holes");
_Static_assert(sizeof(struct caret__node) == sizeof(struct caret_node), "head is the public size");

static inline struct caret__node *caret__node(caret_node *n)
{
    return (struct caret__node *)n;
}
static inline const struct caret__node *caret__node_const(const caret_node *n)
{
    return (const struct caret__node *)n;
}
static inline uint8_t *caret__node_key(const struct caret__node *n)
{
    return (uint8_t *)(uintptr_t)(n + 1);
}

/*
 * Several threads may read and write data through one node, each in its own session: none changes its key then, but
 * each notes where it found it.  So the three words are read and written one by one, and a reader may see some of one
 * hint and some of another.  `check` tells: it is the owner plus a sum of the other two, in which the place counts a
 * large odd number of times.
 *   the place of one hint, the rest of another: no two places times an odd number are the same
 *   the version of one: the sum differs as versions do; and ids of stores lie further apart (shm/pager.h)
 *   the check of one: version and place are of one hint, which is a true one if the owner is the same
 *   one word of each of three: as good as never, for the products of places are spread over 64 bits
 */
#define CARET__HINT_SPREAD UINT64_C(0x9E3779B97F4A7C15) /* 2^64 divided by the golden ratio */

static inline uint64_t caret__hint_sum(uint64_t version, uint64_t place)
{
    return version + place * CARET__HINT_SPREAD;
}

static inline struct caret__hint_words caret__hint_words(const struct caret__node *n)
{
    return (struct caret__hint_words){__atomic_load_n(&n->hint.version, __ATOMIC_RELAXED),
                                      __atomic_load_n(&n->hint.check, __ATOMIC_RELAXED),
                                      __atomic_load_n(&n->hint.place, __ATOMIC_RELAXED)};
}

static inline struct caret__hint caret__hint_of(struct caret__hint_words w)
{
    return (struct caret__hint){w.version, w.check - caret__hint_sum(w.version, w.place), (uint32_t)w.place,
                                (uint16_t)(w.place >> 32), (uint16_t)(w.place >> 48)};
}

static inline struct caret__hint caret__hint_get(const struct caret__node *n)
{
    return caret__hint_of(caret__hint_words(n));
}

/* Has it a hint of that tree?  Most nodes that have just moved have none: their check is 0. */
static inline __attribute__((always_inline)) bool
caret__hint_words_within(const struct caret__node *n, uint64_t owner, struct caret__hint_words *w)
{
    if (__atomic_load_n(&n->hint.check, __ATOMIC_RELAXED) == 0)
        return false;
    *w = caret__hint_words(n);
    return w->check - caret__hint_sum(w->version, w->place) == owner;
}

static inline __attribute__((always_inline)) bool caret__hint_within(const struct caret__node *n,
                                                                     uint64_t owner, struct caret__hint *h)
{
    struct caret__hint_words w;

    if (!caret__hint_words_within(n, owner, &w))
        return false;
    *h = caret__hint_of(w);
    return true;
}

static inline void caret__hint_write(struct caret__node *n, uint64_t version, uint64_t place, uint64_t owner)
{
    __atomic_store_n(&n->hint.version, version, __ATOMIC_RELAXED);
    __atomic_store_n(&n->hint.check, owner + caret__hint_sum(version, place), __ATOMIC_RELAXED);
    __atomic_store_n(&n->hint.place, place, __ATOMIC_RELAXED);
}

static inline void caret__hint_put(struct caret__node *n, struct caret__hint h)
{
    caret__hint_write(n, h.version, h.pgno | (uint64_t)h.pos << 32 | (uint64_t)h.found << 48, h.owner);
}

/* The hint `from`, `by` slots further in its leaf.  The words that the node has now are returned, as they are not to be
 * read again at once: a processor that reads two of them together waits until both have been written. */
static inline __attribute__((always_inline)) struct caret__hint_words
caret__hint_shift(struct caret__node *n, const struct caret__hint_words *from, int by)
{
    const uint64_t slots = (uint64_t)(int64_t)by << 32;
    const struct caret__hint_words to = {from->version, from->check + slots * CARET__HINT_SPREAD,
                                         from->place + slots};

    __atomic_store_n(&n->hint.check, to.check, __ATOMIC_RELAXED);
    __atomic_store_n(&n->hint.place, to.place, __ATOMIC_RELAXED);
    return to;
}

/* The key changes: there is no hint any more, whatever the other words are. */
static inline void caret__hint_drop(struct caret__node *n)
{
    __atomic_store_n(&n->hint.check, 0, __ATOMIC_RELAXED);
}

/* Is it a node whose key can be read?  The head is the caller's memory, and may have been overwritten.  A key has two
 * bytes at least: a byte of a name, and its end. */
static inline bool caret__node_ok(const caret_node *n)
{
    return n != NULL && caret__node_const(n)->magic == CARET__NODE_MAGIC &&
           (unsigned)caret__node_const(n)->key_len - 2u <= CARET__KEY_MAX - 2u;
}

/* The same, and all that its head says of the key is possible. */
static inline bool caret__node_whole(const caret_node *n)
{
    const struct caret__node *p = caret__node_const(n);

    return caret__node_ok(n) && p->key_len <= p->key_cap && p->last_off <= p->key_len &&
           p->name_len < p->last_off && p->name_len <= CARET_MAX_NAME && p->depth <= CARET_MAX_SUBS &&
           (p->depth == 0) == (p->last_off == p->key_len);
}

/* INVALID: that argument of a public function is not a node. */
int caret__not_a_node(const char *function, const char *argument, const caret_node *n);

/* Make `n`, in `bytes` bytes, the node of an encoded key, without a hint.  The key may come
 * from anywhere, n's own included.  CORRUPT, BUFFER; n is then unchanged. */
int caret__node_make(caret_node *n, size_t bytes, bool local, const uint8_t *key, size_t key_len);

/* Replace the key of a node, in its room: how a node moves.  A hint is of the key before, so it is dropped; whoever
 * knows where the new one is puts another.  CORRUPT, BUFFER. */
int caret__node_take_key(struct caret__node *n, const uint8_t *key, size_t key_len);

#endif
