/*
 * collide.c - where transactions collide.
 *
 * A transaction knows the leaves that it read, and when it can't go on which of them has changed.  What a person wants
 * to know is a node: the first one that the transaction itself changes in that leaf, as counters and queues collide
 * at what they write; if it changes none there, the first node of the leaf.  It is noted when the transaction begins
 * again, outside of all mutexes; transactions that are not restarted pay nothing.
 *
 * The notes are a table of places in the segment, in groups of some, by a hash of the key:
 *
 *     sum | count | time | pid | length, above?, key ... (words)        sum = crc32c of the words, and a bit
 *
 *     the writer                                   the reader
 *     1  sum, and the words, are mine?             a  s = sum; 0: nothing
 *          count + 1, time, pid: done              b  the words, count, time, pid
 *     2  else the place in the group that          c  sum is still s, and that of these words?
 *        collided longest ago: sum = 0                  else there is nothing to read
 *     3  words, count = 1, time, pid
 *     4  sum
 *
 * There is no lock, and nobody waits.  Any number may write one place at the same time, and die between any two
 * stores: what comes of that is a place without a sum, or words that are not those of the sum.  The reader passes it
 * over (c), and the next process that writes there does not take it for its own (1): where the sum is its own and the
 * words are not, 2 takes this place.  A count can be lost, or be of the key that was there before; these
 * are figures for people, and nothing is decided by them.  What a reader takes for a key may still be the work of a
 * wild process, so that it is checked as all keys of the segment are (base/key.h).
 */
#include "txn/collide.h"

#include <time.h>

#include "base/crc32c.h"
#include "base/key.h"
#include "disk/record.h"

#define WAYS   4u  /* places of a group */
#define LEAVES 8u  /* changed ones that are looked at */
#define OPS    64u /* of the transaction that are looked at, for each; all three are arbitrary */

_Static_assert(CARET__COLLISIONS % WAYS == 0, "groups are full");
_Static_assert(CARET__COLLISION_KEY <= UINT8_MAX, "a length fits a byte");

/* As the words are filled; bytes after the key are 0. */
struct name {
    uint8_t len, above;
    uint8_t key[CARET__COLLISION_KEY];
};
union words {
    struct name name;
    uint64_t word[CARET__COLLISION_WORDS];
};
_Static_assert(sizeof(union words) == CARET__COLLISION_WORDS * 8u, "words");

/* ------------------------------------------------------------------ the table */

static uint64_t sum_of(const union words *w)
{
    return (uint64_t)1 << 32 | caret__crc32c(0, w, sizeof *w);
}

static void load_words(const struct caret__collision *c, union words *w)
{
    for (unsigned i = 0; i < CARET__COLLISION_WORDS; i++)
        w->word[i] = atomic_load_explicit(&c->words[i], memory_order_relaxed);
}

/* The key, or as much of it as has room: that of a node above. */
static void name_of(const uint8_t *key, size_t len, union words *w)
{
    size_t n = len;

    memset(w, 0, sizeof *w);
    if (len > CARET__COLLISION_KEY) {
        size_t next = caret__key_name_len(key, len) + 1;
        for (n = next; n < len && (next = caret__sub_len(key + n, len - n)) != 0; n += next)
            if (n + next > CARET__COLLISION_KEY)
                break;
        w->name.above = 1;
    }
    w->name.len = (uint8_t)n;
    memcpy(w->name.key, key, n);
}

/* The place of this key in its group, or the one to be taken for it. */
static struct caret__collision *place_of(struct caret__shared *sh, uint64_t sum, const union words *w,
                                         bool *mine)
{
    struct caret__collision *group = &sh->collisions[sum % (CARET__COLLISIONS / WAYS) * WAYS],
                            *oldest = group;
    union words there;

    for (struct caret__collision *c = group; c < group + WAYS; c++) {
        uint64_t s = atomic_load_explicit(&c->sum, memory_order_acquire);
        if (s == sum) {
            load_words(c, &there);
            *mine = memcmp(&there, w, sizeof there) == 0;
            return c;
        }
        if (s == 0 || (atomic_load_explicit(&oldest->sum, memory_order_relaxed) != 0 &&
                       atomic_load_explicit(&c->time, memory_order_relaxed) <
                           atomic_load_explicit(&oldest->time, memory_order_relaxed)))
            oldest = c;
    }
    *mine = false;
    return oldest;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(struct caret__shared *sh, const uint8_t *key, size_t len, uint64_t pid)
{
    union words w;
    bool mine;

    name_of(key, len, &w);
    uint64_t sum = sum_of(&w);
    struct caret__collision *c = place_of(sh, sum, &w, &mine);
    if (!mine) {
        atomic_store_explicit(&c->sum, 0, memory_order_relaxed);
        CARET_FAULT("collide_emptied");
        for (unsigned i = 0; i < CARET__COLLISION_WORDS; i++) {
            atomic_store_explicit(&c->words[i], w.word[i], memory_order_relaxed);
            CARET_FAULT("collide_word");
        }
        atomic_store_explicit(&c->count, 0, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed);
    atomic_store_explicit(&c->time, now(), memory_order_relaxed);
    atomic_store_explicit(&c->pid, pid, memory_order_relaxed);
    CARET_FAULT("collide_filled");
    if (!mine)
        atomic_store_explicit(&c->sum, sum, memory_order_release);
}

bool caret__collide_read(const struct caret__shared *sh, uint32_t i, struct caret__collided *out)
{
    const struct caret__collision *c = &sh->collisions[i];
    union words w;
    uint64_t sum = atomic_load_explicit(&c->sum, memory_order_acquire);

    if (sum == 0)
        return false;
    load_words(c, &w);
    out->count = atomic_load_explicit(&c->count, memory_order_relaxed);
    out->time = atomic_load_explicit(&c->time, memory_order_relaxed);
    out->pid = atomic_load_explicit(&c->pid, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&c->sum, memory_order_relaxed) != sum || sum_of(&w) != sum ||
        w.name.len > CARET__COLLISION_KEY || !caret__key_valid(w.name.key, w.name.len))
        return false;
    out->above = w.name.above != 0;
    out->len = w.name.len;
    memcpy(out->key, w.name.key, sizeof out->key);
    return true;
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
    struct caret__at at = {.version = atomic_load_explicit(&pte->version, memory_order_acquire),
                           .word = atomic_load_explicit(&pte->word, memory_order_acquire),
                           .pgno = pgno};

    if (!caret__bytes_known(v->pg, pgno, at.word))
        return false;
    at.page = caret__page_at(v->pg, pgno, at.word);
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
    for (uint32_t i = 0, looked = 0; r->count != 0 && i < r->size && looked < LEAVES; i++) {
        const struct caret__read *read = &r->set[i];
        if (read->pgno == 0 || caret__page_unchanged(v->pg, read->pgno, read->version))
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
