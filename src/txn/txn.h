/*
 * txn.h - a transaction as its session keeps it: read set, write buffer, journal.
 *
 * Writes are kept in one of two forms.  Most transactions set and delete a few nodes and do no more
 * to the database: theirs are listed, in the order they came, as the log record
 * they will become; of two writes of one key the later counts (kills come before them where a subtree is copied or
 * moved).  One set too many to be searched makes
 * a list of sets a pile (pile.c): sets are added as before, and put in order for the commit; the first read of one
 * makes an index of it (sought.c).  The first write
 * of another kind, a long value or a walk, and of a pile a delete, has the list moved
 * (caret__buffer_spill) to a private ordered tree, the buffer, and everything goes there
 * until the end.  An entry of the tree says what the transaction did to its key:
 *     byte 0  flags: SET   it has the value that follows
 *                    GONE  its value was deleted
 *     rest    the value
 * What was killed is a set of spans of keys beside it (tree/spans.h).  A kill takes the buffer's entries of its span
 * away; so those that are in a span came later, and the record has each kill before them.
 * Reads look there first: an exact entry decides; else a span that has the key
 * says there is nothing; else the database is read and the leaf noted.
 * Walks merge both in order (merge.c).
 *
 * Nested transactions are savepoints: from level 2 on (or when locals are to be
 * restored) each change of the buffer first notes the old entry in the journal;
 * rolling back plays it in reverse.  Of a list the ops after the savepoint are taken off its end; it has some only
 * while the journal is empty, so that one that is moved to the tree can fill the journal as if it had been there from
 * the beginning.
 */
#ifndef CARET_TXN_TXN_H
#define CARET_TXN_TXN_H

#include "log/commit.h"
#include "log/longvalue.h"
#include "log/snapshot.h"
#include "tree/read_set.h"
#include "tree/spans.h"

enum { CARET__TX_SET = 2, CARET__TX_GONE = 4 };

/* Whose changes the journal has. */
enum caret__journaled { CARET__OF_BUFFER, CARET__OF_LOCALS, CARET__OF_KILLED, CARET__JOURNALED };

struct caret__journal {
    uint8_t *data;
    size_t used, cap;
};

/* The index of a pile: sought.c. */
struct caret__sought {
    struct caret__seek_slot *slot;
    struct caret__replaced *replaced;
    uint8_t *bits;            /* of the ends of keys */
    unsigned shift;           /* what is left of a product is one of them */
    uint32_t size, used;      /* slots; 0: there is no index */
    uint32_t kept;            /* slots that there are then */
    uint32_t nreplaced, room; /* of replaced */
};

/* Of a list that is a pile. */
#define CARET__PILE_TELL (4u << 20) /* arbitrary; again after as many */
struct caret__pile {
    struct caret__sought sought;
    bool in_order;     /* its keys ascend */
    uint32_t last;     /* place of the last op; 0 = none */
    uint32_t check_at; /* size to look at it anew */
    uint32_t tell_at;  /* bytes: the background thread is told of what is gathered */
};

/* The ops of a list, and their index (list.c): numbers of ops are one more than that, 0 is none. */
struct caret__listed {
    uint8_t first[64];              /* by six bits of the key's hash: the newest op */
    uint8_t next[CARET__SPOTS];     /* of the same bits, the one before it */
    uint8_t replaces[CARET__SPOTS]; /* the op before it that has its key */
    uint16_t hash[CARET__SPOTS];    /* fourteen bits, so that few keys are compared */
    uint16_t at[CARET__SPOTS];      /* of the op in the record */
    unsigned replaced;              /* ops whose key comes once more */
};

struct caret__txn {
    unsigned level; /* 0 = no transaction */
    unsigned restarts;
    int flags; /* of the outermost begin */
    bool restore_locals;
    bool broken;     /* a read said CARET_RESTART: so does everything until restart or rollback */
    bool changed;    /* there are writes: */
    bool in_tree;    /* in `buffer`, else in `list` */
    bool piled;      /* the list is a pile */
    bool has_buffer; /* `buffer` was made, in this transaction or an earlier one */
    /* a read-only transaction on the tree of a checkpoint; NULL = an ordinary one */
    struct caret__snapshot *snapshot;
    uint64_t looked;          /* ops that caret__buffer_data() has gone through */
    unsigned kills;           /* so many, or none since: then `killed` is empty */
    unsigned overtaken;       /* restarts since the view was (api/observe.c), */
    uint64_t overtaken_since; /* and when the first of them was */
    struct caret__reads reads;
    struct caret__batch list;
    struct caret__pile pile;
    struct caret__listed listed;
    struct caret__private buffer;
    struct caret__spans killed;
    struct caret__journal journal;
    /* At each begin, always 0 at the outermost one: the journal's length; the size of the list, 0 if it had nothing. */
    size_t marks[CARET_MAX_NEST + 1];
    uint32_t list_marks[CARET_MAX_NEST + 1];
    uint64_t lock_marks[CARET_MAX_NEST + 1]; /* caret__lock_mark at each begin */
};

/* ---- list.c: the list of a transaction that is not piled ---- */
/* Add a set of an inline value, or a delete; there is room. */
int caret__list_set(struct caret__txn *t, const uint8_t *key, size_t len, const void *val, size_t vlen,
                    const struct caret__spot *spot);
int caret__list_delete(struct caret__txn *t, const uint8_t *key, size_t len, const struct caret__spot *spot);

/* What it says of a key, as caret__buffer_get(). */
int caret__list_get(const struct caret__txn *t, const uint8_t *key, size_t len, const uint8_t **val,
                    size_t *vlen);

/* Back to a size that it had, if the changes are a list that is not piled. */
void caret__list_cut(struct caret__txn *t, uint32_t size);

/* Of each key the last op is left. */
void caret__list_drop_replaced(struct caret__txn *t);

/* ---- buffer.c ---- */
/* spot: where the key was seen last, version 0 = unknown; a help for the commit. */
int caret__buffer_set(struct caret__txn *t, const uint8_t *key, size_t len, const void *val, size_t vlen,
                      const struct caret__spot *spot);
int caret__buffer_delete(struct caret__txn *t, const uint8_t *key, size_t len,
                         const struct caret__spot *spot);
int caret__buffer_kill(struct caret__txn *t, const struct caret__span *r);

/* Make ready for caret__buffer_get(): NOMEM. */
int caret__buffer_index(struct caret__txn *t);
static inline int caret__buffer_ready(struct caret__txn *t)
{
    return caret__unlikely(t->piled) && t->pile.sought.size == 0 ? caret__buffer_index(t) : CARET_OK;
}

/* What the buffer says of key: 1 a value, -1 no value, 0 nothing. */
int caret__buffer_get(struct caret__txn *t, const uint8_t *key, size_t len, const uint8_t **val,
                      size_t *vlen);

/* Was the key killed?  *span: what was, with it. */
bool caret__buffer_killed(struct caret__txn *t, const uint8_t *key, size_t len, struct caret__one_span *span);

/* Add a kill to a batch: of a subtree, or of a range. */
int caret__batch_kill(struct caret__batch *b, const struct caret__span *r);

/*
 * Kill key in a transaction that has changed nothing, and will read nothing of what it changes: the list begins with
 * kills then, and goes on with sets in key order, as those of a copied subtree come.
 */
int caret__buffer_kill_first(struct caret__txn *t, const uint8_t *key, size_t len);

/* Has the transaction changed anything at key or below, or killed an ancestor? */
bool caret__buffer_touches(struct caret__txn *t, const uint8_t *key, size_t len);

/* What the transaction has set: 1 at key, 10 below it, 11 both, 0 nothing.  false: it has not only set, or it is not to
 * be told soon: then the changes are to be looked at in order (merge.c). */
bool caret__buffer_data(struct caret__txn *t, const uint8_t *key, size_t len, int *data);

/* Back to a size that the list had, if the changes are one. */
void caret__buffer_cut(struct caret__txn *t, uint32_t size);

/* Have the writes in the tree. */
int caret__buffer_spill(struct caret__txn *t);

/* Forget all writes, but for `changed`, which is the caller's; of a few sets there is nothing to be forgotten: the list
 * is just begun anew. */
void caret__buffer_drop(struct caret__txn *t);
static inline bool caret__buffer_few(const struct caret__txn *t)
{
    return ((unsigned)t->in_tree | (unsigned)t->piled | t->kills) == 0;
}

/* Put what the tree holds into a batch, in key order; room: where long values are written. */
int caret__buffer_batch(struct caret__engine *e, struct caret__txn *t, struct caret__batch *b,
                        struct caret__room *room);

/* Before the commit: what the list has is a record, in key order if it is a large one. */
int caret__buffer_finish(struct caret__txn *t);
/* Is there nothing to be done for that?  Of changes that are not in the tree. */
static inline bool caret__list_ready(const struct caret__txn *t)
{
    return !t->piled && t->listed.replaced == 0;
}

/* ---- pile.c ---- */
/* The list is one from now on.  *p is zeros, or was one; there is no index. */
void caret__pile_begin(struct caret__pile *p, const struct caret__batch *b);

/* Add a set of an inline value.  in_savepoint: all ops stay where they are.  CARET_OK, NOMEM or TXN_TOO_BIG. */
int caret__pile_add(struct caret__pile *p, struct caret__batch *b, const uint8_t *key, size_t len,
                    const void *val, size_t vlen, bool in_savepoint);

/* Back to a size that it had: what came after that goes. */
void caret__pile_cut(struct caret__pile *p, struct caret__batch *b, uint32_t size);

/* Have the sets of a batch, which has nothing else, in key order, of each key the last one.  There is no index of it.
 * NOMEM: it is as it was. */
int caret__pile_order(struct caret__pile *p, struct caret__batch *b);

/* ---- sought.c ---- */
/* Make the index of a pile; NOMEM.  savepoint: the ops from there on may be taken off again; UINT32_MAX: none. */
int caret__sought_make(struct caret__sought *x, const struct caret__batch *b, uint32_t savepoint);
void caret__sought_drop(struct caret__sought *x);    /* there is no index any more */
void caret__sought_destroy(struct caret__sought *x); /* and no memory of one */

uint32_t caret__sought_hash(const uint8_t *key, size_t len);

/* Which bit is that of the key? */
static inline uint64_t caret__sought_bit(const struct caret__sought *x, const uint8_t *key, size_t len)
{
    uint64_t end = 0;
    if (len >= 8)
        memcpy(&end, key + len - 8, 8);
    else
        memcpy(&end, key, len);
    return end * UINT64_C(0x9E3779B97F4A7C15) >> x->shift;
}

/* May there be an op of the key?  false: there is none. */
static inline bool caret__sought_maybe(const struct caret__sought *x, const uint8_t *key, size_t len)
{
    uint64_t at = caret__sought_bit(x, key, len);
    return (x->bits[at / 8] >> at % 8 & 1u) != 0;
}

/* The place of the last op of the key, which has that hash; 0, or anything before the first op: there is none.  *slot:
 * for caret__sought_put(), until anything else is put. */
uint32_t caret__sought_find(const struct caret__sought *x, const struct caret__batch *b, uint32_t hash,
                            const uint8_t *key, size_t len, uint32_t *slot);

/* An op of the key with that hash, which was just looked for, was added at the end of the pile, at that place.  false:
 * no memory, there is no index any more. */
bool caret__sought_put(struct caret__sought *x, const struct caret__batch *b, uint32_t slot, uint32_t hash,
                       uint32_t place, bool in_savepoint);

/* Ops from that size on are about to be taken off. */
void caret__sought_cut(struct caret__sought *x, const struct caret__batch *b, uint32_t size);

/* ---- buffer.c ---- */
/* Note the entry of key in tree t before it changes (nothing if it is absent is noted too). */
int caret__journal_note(struct caret__journal *j, struct caret__private *t, enum caret__journaled which,
                        const uint8_t *key, size_t len);
/* The same for every entry of a span. */
int caret__journal_note_span(struct caret__journal *j, struct caret__private *t, enum caret__journaled which,
                             const struct caret__span *r);
/* Play the journal back down to `mark`.  A tree may be NULL: it is empty, or goes. */
void caret__journal_undo(struct caret__journal *j, size_t mark,
                         struct caret__private *const trees[CARET__JOURNALED]);

/* ---- merge.c: first key >= key, last key < key as the transaction sees it ---- */
int caret__merged_from(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len);
int caret__merged_before(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len);

#endif
