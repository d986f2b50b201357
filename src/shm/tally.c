/*
 * tally.c - counts by key, in the segment, for people to look at.
 *
 * A tally is an array of places, in groups of some, by a hash of the key:
 *
 *     sum | count | time | pid | length, above?, key ... (words)        sum = crc32c of the words, and a bit
 *
 *     the writer                                   the reader
 *     1  sum, and the words, are mine?             a  s = sum; 0: nothing
 *          count + n, time, pid: done              b  the words, count, time, pid
 *     2  else the place in the group that          c  sum is still s, and that of these words?
 *        was noted longest ago: sum = 0                else there is nothing to read
 *     3  words, count = n, time, pid
 *     4  sum
 *
 * There is no lock, and nobody waits.  Any number may write one place at the same time, and die between any two
 * stores: what comes of that is a place without a sum, or words that are not those of the sum.  The reader passes it
 * over (c), and the next process that writes there does not take it for its own (1): where the sum is its own and the
 * words are not, 2 takes this place.  A count can be lost, or be of the key that was there before; these
 * are figures for people, and nothing is decided by them.  What a reader takes for a key may still be the work of a
 * wild process, so that it is checked as all keys of the segment are (base/key.h).
 */
#include "shm/tally.h"

#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/key.h"

#define WAYS 4u /* places of a group; arbitrary */

_Static_assert(CARET__TALLY_KEY <= UINT8_MAX, "a length fits a byte");

/* As the words are filled; bytes after the key are 0. */
struct name {
    uint8_t len, above;
    uint8_t key[CARET__TALLY_KEY];
};
union words {
    struct name name;
    uint64_t word[CARET__TALLY_WORDS];
};
_Static_assert(sizeof(union words) == CARET__TALLY_WORDS * 8u, "words");

static uint64_t sum_of(const union words *w)
{
    return (uint64_t)1 << 32 | caret__crc32c(0, w, sizeof *w);
}

static void load_words(const struct caret__tally *c, union words *w)
{
    for (unsigned i = 0; i < CARET__TALLY_WORDS; i++)
        w->word[i] = atomic_load_explicit(&c->words[i], memory_order_relaxed);
}

/* The key, or as much of it as has room: that of a node above. */
static void name_of(const uint8_t *key, size_t len, union words *w)
{
    size_t n = len;

    memset(w, 0, sizeof *w);
    if (len > CARET__TALLY_KEY) {
        size_t next = caret__key_name_len(key, len) + 1;
        for (n = next; n < len && (next = caret__sub_len(key + n, len - n)) != 0; n += next)
            if (n + next > CARET__TALLY_KEY)
                break;
        w->name.above = 1;
    }
    w->name.len = (uint8_t)n;
    memcpy(w->name.key, key, n);
}

/* The place of this key in its group, or the one to be taken for it. */
static struct caret__tally *place_of(struct caret__tally *tally, uint32_t places, uint64_t sum,
                                     const union words *w, bool *mine)
{
    struct caret__tally *group = &tally[sum % (places / WAYS) * WAYS], *oldest = group;
    union words there;

    for (struct caret__tally *c = group; c < group + WAYS; c++) {
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

void caret__tally_note(struct caret__tally *tally, uint32_t places, const uint8_t *key, size_t len,
                       uint64_t n, uint64_t pid)
{
    union words w;
    bool mine;

    CARET__ASSERT(places != 0 && places % WAYS == 0);
    name_of(key, len, &w);
    uint64_t sum = sum_of(&w);
    struct caret__tally *c = place_of(tally, places, sum, &w, &mine);
    if (!mine) {
        atomic_store_explicit(&c->sum, 0, memory_order_relaxed);
        CARET_FAULT("tally_emptied");
        for (unsigned i = 0; i < CARET__TALLY_WORDS; i++) {
            atomic_store_explicit(&c->words[i], w.word[i], memory_order_relaxed);
            CARET_FAULT("tally_word");
        }
        atomic_store_explicit(&c->count, 0, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&c->count, n, memory_order_relaxed);
    atomic_store_explicit(&c->time, now(), memory_order_relaxed);
    atomic_store_explicit(&c->pid, pid, memory_order_relaxed);
    CARET_FAULT("tally_filled");
    if (!mine)
        atomic_store_explicit(&c->sum, sum, memory_order_release);
}

bool caret__tally_read(const struct caret__tally *c, struct caret__tallied *out)
{
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
        w.name.len > CARET__TALLY_KEY || !caret__key_valid(w.name.key, w.name.len))
        return false;
    out->above = w.name.above != 0;
    out->len = w.name.len;
    memcpy(out->key, w.name.key, sizeof out->key);
    return true;
}
