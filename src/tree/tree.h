/*
 * tree.h - the B+tree over a store: optimistic reading, writing, walking.
 *
 * Readers (read.c, scan.c) take no lock.  A reader notes a page's version and
 * place, reads, and looks whether both are still the same; a child's version is
 * taken before its parent's is looked at again, the root's page number counts as
 * the parent of the root.  Everything read before that look is hostile.
 *
 * Writers (write.c, shrink.c) hold the writer mutex (or own the private store)
 * and have reserved what they need; they see only whole states.
 */
#ifndef CARET_TREE_TREE_H
#define CARET_TREE_TREE_H

#include "base/fault.h"
#include "caret.h"
#include "page/store.h"

/* ------------------------------------------------------------------ reading */

struct caret__reads; /* read set of a transaction (tree/read_set.h) */
struct caret__past;  /* tree/past.h */
struct caret__walk;  /* tree/walk.h */
struct caret__ways;  /* tree/ways.h */

#define CARET__WARM 4u

/* How one session reads one store. */
struct caret__view {
    const struct caret__pager *pg;
    uint64_t applied;           /* log_applied as last seen: never newer than it is */
    struct caret__reads *reads; /* transaction in progress, or NULL */
    /* A page with a version above log_applied stays so: wait, repair after a dead writer.
     * CARET_OK: look again.  CARET_NONE: the writer lives and does not go on, read around it (past.c);
     * that is, or CARET_OK, what is said when tries is CARET__STALL_TRIES.  NULL for private stores. */
    int (*stalled)(void *ctx, uint64_t version, unsigned tries);
    void *ctx; /* the engine */
    /* page numbers that the last descent came to, by depth: those are in the caches */
    uint32_t warm[CARET__WARM];
    struct caret__past *past; /* pages rebuilt beside a stopped writer, NULL before the first */
    struct caret__ways *ways; /* of the session; NULL: every descent begins at the root */
    struct caret__walk *walk; /* of the session; NULL: nothing is remembered */
    /* Not NULL: the store is on a server.  The first key at or after, or the last one before; only a transaction that
     * has changed something looks at such a view (txn/merge.c). */
    int (*elsewhere)(void *ctx, uint8_t *key, size_t *len, bool back);
};
#define CARET__STALL_TRIES 64u

/* A place in a leaf, as it was at a version. */
struct caret__at {
    const struct caret__page *page;
    uint64_t version;
    uint64_t word; /* of the page table: place and flags */
    uint32_t pgno;
    unsigned pos;
    bool found;
};

/* The key range of a leaf: lower <= key < upper; a length of 0 means no bound. */
struct caret__range {
    unsigned lower_len, upper_len;
    uint8_t lower[CARET__KEY_MAX], upper[CARET__KEY_MAX];
};

/* Find the leaf and position of key (first entry >= key).  Validated, but what is read
 * through `at` afterwards must be validated again with caret__at_valid(). CARET_OK or an error. */
int caret__seek(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at);

/* The same, and a walk can go on beside the leaf (tree/walk.h). */
int caret__seek_walk(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at);

/* The same as caret__seek(), and the range of the leaf. */
int caret__seek_range(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at,
                      struct caret__range *range);

/* Find the leaf whose range ends at or after key and starts before it: for going backwards. */
int caret__seek_before(struct caret__view *v, const uint8_t *key, size_t len, struct caret__at *at,
                       struct caret__range *range);

/* An entry with a key from `from` (not before it) to before `to`, keys of `len` bytes, any of them equally likely.
 * CARET_NONE: none was drawn this time, ask again; or there is none. */
struct caret__rand;
struct caret__draw {
    struct caret__rand *r;
    size_t len;
    bool rough;    /* no draw is in vain: what is in pages with few comes too often */
    bool branched; /* the way so far is one of several */
    uint8_t from[CARET__KEY_MAX + 1], to[CARET__KEY_MAX + 1];
};
int caret__seek_drawn(struct caret__view *v, struct caret__draw *d, struct caret__at *at);

/* Is `at` in a rebuilt page, and is that page still what is committed? */
bool caret__past_valid(const struct caret__view *v, const struct caret__at *at);

/* Is the page in the place where `at` found it, and in the same version? */
static inline bool caret__at_unchanged(const struct caret__view *v, const struct caret__at *at)
{
    CARET__ASSERT_CMP(at->pgno, <, v->pg->max_pages);
    const struct caret__pte *pte = &v->pg->ptab[at->pgno];
    atomic_thread_fence(memory_order_acquire);
    return caret__likely(atomic_load_explicit(&pte->version, memory_order_relaxed) == at->version &&
                         atomic_load_explicit(&pte->word, memory_order_relaxed) == at->word);
}

/* Is everything read through `at` since it was made what was committed? */
static inline bool caret__at_valid(const struct caret__view *v, const struct caret__at *at)
{
    return caret__at_unchanged(v, at) || (caret__unlikely(v->past != NULL) && caret__past_valid(v, at));
}

/* Is the page in the arena, or in the file and found good by this process?  A private store has no file: a page of it
 * that was never used is nowhere, and only a hint of another store can name it. */
static inline bool caret__bytes_known(const struct caret__pager *pg, uint32_t pgno, uint64_t word)
{
    return caret__likely(caret__pte_slot(word) != CARET__SLOT_NONE) ||
           (pg->shared &&
            (__atomic_load_n(&pg->verified[pgno / 64u], __ATOMIC_RELAXED) >> (pgno % 64u) & 1u) != 0);
}

/* Has the page the version that was remembered? */
static inline bool caret__page_unchanged(const struct caret__pager *pg, uint32_t pgno, uint64_t version)
{
    return atomic_load_explicit(&pg->ptab[pgno].version, memory_order_acquire) == version;
}

/* Take up a remembered leaf: true if its version is still the remembered one. */
static inline bool caret__at_recall(const struct caret__view *v, struct caret__at *at, uint32_t pgno,
                                    uint64_t version)
{
    CARET__ASSERT_CMP(pgno, <, v->pg->max_pages);
    const struct caret__pte *pte = &v->pg->ptab[pgno];
    if (!caret__page_unchanged(v->pg, pgno, version))
        return false;
    at->word = atomic_load_explicit(&pte->word, memory_order_acquire);
    if (at->word & CARET__PTE_OBSOLETE || !caret__bytes_known(v->pg, pgno, at->word))
        return false;
    at->page = caret__page_at(v->pg, pgno, at->word);
    at->version = version;
    at->pgno = pgno;
    CARET_DOZE();
    return true;
}

/* Version, word and place of a page, if it can be read just so; else a descent has to wait, repair, or verify. */
static inline bool caret__at_meet(struct caret__view *v, uint32_t pgno, struct caret__at *at)
{
    const struct caret__pte *pte = &v->pg->ptab[pgno];

    uint64_t version = atomic_load_explicit(&pte->version, memory_order_acquire);
    uint64_t word = atomic_load_explicit(&pte->word, memory_order_acquire);
    if (caret__unlikely(version > v->applied)) {
        v->applied = atomic_load_explicit(v->pg->applied, memory_order_acquire);
        if (version > v->applied)
            return false;
    }
    if (word & CARET__PTE_OBSOLETE || !caret__bytes_known(v->pg, pgno, word))
        return false;
    at->pgno = pgno;
    at->version = version;
    at->word = word;
    at->page = caret__page_at(v->pg, pgno, word);
    CARET_DOZE();
    return true;
}

/* Note a validated leaf in the read set of the transaction, moving its read point if the leaf
 * is newer: CARET_OK, or CARET_RESTART when what was read before is no longer one state with it. */
int caret__reads_note_slow(struct caret__view *v, const struct caret__at *at);
static inline int caret__reads_note(struct caret__view *v, const struct caret__at *at)
{
    return caret__likely(v->reads == NULL) ? CARET_OK : caret__reads_note_slow(v, at);
}
/* The same for a leaf that a walk met. */
static inline int caret__walk_note(struct caret__view *v, const struct caret__at *at)
{
    return CARET_SEEDED("walk_unnoted") ? CARET_OK : caret__reads_note(v, at);
}

/*
 * Walking (scan.c).  key/len is replaced by the next key in order (buffer of CARET__KEY_MAX bytes).
 * at: where the walk is; at->pgno 0 = not known.  CARET_NONE at the end.
 */
int caret__scan_next(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len);
/* First key >= key. */
int caret__scan_from(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len);
/* Last key < key. */
int caret__scan_before(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len);

/* ------------------------------------------------------------------ writing */

int caret__corrupt_page(const struct caret__pager *pg, uint32_t pgno, const char *why);

/* Stable bytes of a page in the file, inside what is mapped: have they the right crc?  Remembered if so. */
bool caret__file_page_ok(const struct caret__pager *pg, uint32_t pgno);

/* Set key; the value is in the page, or (vflag CARET__VLEN_RUN) a struct caret__runref. */
void caret__tree_set(struct caret__w *w, const uint8_t *key, size_t len, const void *val, size_t vlen,
                     unsigned vflag);

/* Delete the value of key; children stay.  Nothing happens if it is not there. */
void caret__tree_delete(struct caret__w *w, const uint8_t *key, size_t len);

/* Remove every key of a span. */
struct caret__span;
void caret__tree_kill(struct caret__w *w, const struct caret__span *r);

/* Make an empty tree: a root leaf. */
void caret__tree_create(struct caret__w *w);

/* What setting (or deleting) a key can take at most, and what a kill takes. */
struct caret__need;
uint32_t caret__tree_set_pages(const struct caret__tstate *ts);
/* Pages that several changes, one after the other, may have to copy: each once, in key order. */
struct caret__edges {
    uint32_t last[CARET__MAX_DEPTH]; /* the page of each level that was met last, the root's first */
    uint64_t pages;
};
/* Note one; true if it differs from the last of its level. */
static inline bool caret__edge_note(struct caret__edges *edges, uint32_t pgno, unsigned d)
{
    CARET__ASSERT_CMP(d, <, CARET__MAX_DEPTH);
    bool differs = edges->last[d] != pgno;
    edges->last[d] = pgno;
    edges->pages += differs;
    return differs;
}

/* Before a kill: look at all pages that it will read, and note those that it will copy; nothing else takes
 * a page.  0, or the number of a damaged page. */
uint32_t caret__tree_kill_look(const struct caret__pager *pg, const struct caret__span *r,
                               struct caret__edges *edges);

/* Is a value out of line, if this is one, where values can be?  Else it can't be freed. */
bool caret__tree_run_ok(const struct caret__pager *pg, const struct caret__entry *e);

/* Descent of a writer. */
struct caret__path {
    uint32_t pgno[CARET__MAX_DEPTH];
    uint16_t idx[CARET__MAX_DEPTH]; /* child index taken; in the leaf: position */
    unsigned leaf;                  /* index of the leaf = levels - 1 */
    bool found;
};
/* 0, or the number of a damaged page on the way: the path can't be used then.  After the commit point
 * there is none: whoever reserves for a change goes its way first. */
uint32_t caret__descend(const struct caret__w *w, const uint8_t *key, size_t len, struct caret__path *path);
/* The same with no look where in the leaf the key is: path->idx of it, and path->found, are not told. */
uint32_t caret__descend_to_leaf(const struct caret__w *w, const uint8_t *key, size_t len,
                                struct caret__path *path);

/* May a writer or a walk rely on this page as one of that level: in use, and its bytes in the file found good? */
bool caret__page_trusted(const struct caret__pager *pg, uint32_t pgno, unsigned level);
void caret__touch_path(struct caret__w *w, struct caret__path *path);

/* ---- row.c: many sets in key order ---- */

/* The leaf that a row of keys has come to. */
struct caret__cursor {
    bool there; /* what follows is known */
    struct caret__path path;
    unsigned upper_len; /* of the bound that the keys of the leaf lie below; 0 = none */
    uint8_t upper[CARET__KEY_MAX];
};
static inline bool caret__cursor_holds(const struct caret__cursor *c, const uint8_t *key, size_t len)
{
    return c->there && (c->upper_len == 0 || caret__bytes_compare(key, len, c->upper, c->upper_len) < 0);
}
/* Go to the leaf of a key: 0, or the number of a damaged page. */
uint32_t caret__cursor_seek(const struct caret__w *w, struct caret__cursor *c, const uint8_t *key,
                            size_t len);

/* Set n keys in ascending order, each of which is kv.b alone.  The cursor is where the sets before, in the same
 * order, have left it; anything else that changes the tree must clear c->there. */
#define CARET__ROW 512u
void caret__tree_set_row(struct caret__w *w, struct caret__cursor *c, const struct caret__kv *kv, unsigned n);

/* What sets in ascending order may need, counted leaf by leaf; see row.c.  Most leaves have room for all of their sets
 * even if none replaces a value; so whether they do is looked for only where that matters. */
#define CARET__ROW_WAITING 64u
struct caret__row_set {
    const uint8_t *key;
    uint16_t klen, vlen;
};
struct caret__row_need {
    struct caret__cursor at;
    const struct caret__page *leaf; /* of `at` */
    unsigned next;                  /* slot of it: the keys before that are below all sets to come */
    unsigned longest;               /* entry of the group */
    uint64_t bytes, inserts;        /* of the group: whole entries, without prefix, */
    unsigned nwaiting;              /* but for these, */
    unsigned waiting_bytes;         /* which are so long */
    const uint8_t *first, *last;    /* its keys */
    size_t first_len, last_len;
    uint64_t leaves;           /* new ones, of the groups so far */
    uint64_t above;            /* bytes of the pages above that the row meets, */
    struct caret__edges inner; /* and their number */
    unsigned key_max;          /* the longest that may become a separator, or is one */
    struct caret__row_set waiting[CARET__ROW_WAITING];
};
/* The next set.  Pages it will meet are noted in *edges.  0, or the number of a damaged page. */
uint32_t caret__row_look(const struct caret__w *w, struct caret__row_need *r, const uint8_t *key, size_t klen,
                         size_t vlen, struct caret__edges *edges);
/* After the last: new pages at most.  UINT64_MAX: no bound is known, the sets must go the general way. */
uint64_t caret__row_pages(struct caret__row_need *r, const struct caret__tstate *ts);

/* ---- the other ways ---- */

void caret__free_value(struct caret__w *w, const struct caret__entry *e);

/* shrink.c: the leaf at the end of path became empty, or nearly so. */
void caret__shrink(struct caret__w *w, struct caret__path *path);

/* ------------------------------------------------------------------- checks */

/* Walk the whole tree: every page, order, ranges, levels; `seen` (bit per page number, may be NULL) collects
 * the pages reached, values out of line included.  Number of findings. */
unsigned caret__tree_check(const struct caret__pager *pg, uint64_t *seen, char *report, size_t cap);

/* ------------------------------------------------------------ private stores */

/* A tree on private memory: locals, write buffers. */
struct caret__private {
    struct caret__pager pg;
    struct caret__tstate ts;
    _Atomic uint64_t lsn; /* raised with each change: hints work as in the shared store */
    uint64_t *freemap;
    uint32_t pages; /* allocated */
};

int caret__private_init(struct caret__private *t);
void caret__private_destroy(struct caret__private *t);
/* Empty it, keeping the memory of a few pages. */
void caret__private_clear(struct caret__private *t);
/* A value too long for a page is a block of its own: {pointer, length} in the entry. */
int caret__private_set(struct caret__private *t, const uint8_t *key, size_t len, const void *val,
                       size_t vlen);
int caret__private_delete(struct caret__private *t, const uint8_t *key, size_t len);
int caret__private_kill(struct caret__private *t, const struct caret__span *r);

/* The value of a key; false if there is none.  Points into the store, until its next change. */
bool caret__private_get(struct caret__private *t, const uint8_t *key, size_t len, const uint8_t **val,
                        size_t *vlen);
void caret__private_value(const struct caret__entry *e, const uint8_t **val, size_t *vlen);
void caret__private_free_value(const uint8_t *entry_value);

#endif
