/*
 * aim.h - which lines of a leaf a search will look at, guessed before the leaf has come.
 *
 * A leaf has sixty-four lines, and a core waits for no more than some twenty at once: to ask for the whole leaf
 * takes longer than to wait for one line of it.  A search looks at few: header, hints, prefix, two lines of slots,
 * one or two of the entry.  Where the leaves below an inner page were filled in order, with keys at even distances,
 * the place of a key between the separators before and after its leaf tells which: the slot is as far from the first
 * one, and the entry from the first entry, as entries lie one below the other from the end of the page.
 *
 * So a way (ways.h) of the lowest level notes how many entries the leaf looked at last has, and where its first and
 * last lie.  Each look-up by it tells whether the aim was right; while it mostly is, what was aimed at is asked for,
 * else all of the leaf.  Where it mostly is not, nobody aims for a while.  Nothing is read by an aim: it only asks.
 */
#ifndef CARET_TREE_AIM_H
#define CARET_TREE_AIM_H

#include "page/page.h"

#define CARET__AIM_SURE  5  /* more often right than that: by the aim */
#define CARET__AIM_MOST  12 /* counted at most */
#define CARET__AIM_WRONG 4  /* so many times an error counts */
#define CARET__AIM_PAUSE 64 /* look-ups without an aim, after too many errors; all arbitrary */
#define CARET__AIM_LEAST 8  /* entries of a leaf: of fewer each has many lines, and all are asked for */

/* What a way notes. */
struct caret__aims {
    uint16_t entries;     /* of the leaf that was looked at last */
    uint16_t first, last; /* where its first and its last entry lie */
    int8_t right;         /* so many times, less the errors; below 0: so many look-ups without an aim */
};

/* Places in the page.  slot 0: there is no aim; entry 0: there is none but to learn. */
struct caret__aim {
    uint32_t slot, entry;
};

/* Four bytes as digits of a number to the base 100, which they are in numbers, two decimal digits each
 * (docs/format.md); of texts they are not, but nearly tell how far these are from each other. */
static inline uint32_t caret__aim_number(uint32_t head)
{
    uint32_t pairs = (head & 0xff00ff) + 100 * (head >> 8 & 0xff00ff);

    return (pairs & 0xffff) + 10000 * (pairs >> 16);
}

/* Of a key between two separators; all are the heads of what follows the same prefix. */
static inline __attribute__((always_inline)) struct caret__aim
caret__aim_at(struct caret__aims *a, uint32_t before, uint32_t key, uint32_t after)
{
    if (a->right < 0) {
        a->right++;
        return (struct caret__aim){0, 0};
    }
    uint32_t from = caret__aim_number(before);
    float f = (float)(caret__aim_number(key) - from) / (float)(caret__aim_number(after) - from);
    if (a->entries < CARET__AIM_LEAST)
        return (struct caret__aim){CARET__PAGE_HEAD, 0};
    if (!(f >= 0 && f <= 1))
        return (struct caret__aim){0, 0};
    uint32_t i = (uint32_t)(f * (float)a->entries + 0.25f); /* as a float may be a little less than exact */
    int32_t below = ((int32_t)a->last - a->first) * (int32_t)i / (a->entries - 1);
    return (struct caret__aim){CARET__PAGE_HEAD + 8 * i, a->first + (uint32_t)below};
}

/* Ask for a leaf, by the aim if it is any good. */
static inline __attribute__((always_inline)) void
caret__aim_ask(const struct caret__aims *a, struct caret__aim aim, const struct caret__page *p)
{
    if (aim.entry == 0 || a->right < CARET__AIM_SURE) {
        caret__page_ask(p);
        return;
    }
    const char *at = (const char *)p;
    caret__page_ask_head(p);
    for (unsigned i = 0; i <= 128; i += 64) {
        __builtin_prefetch(at + (aim.slot + i - 64) % CARET__PAGE_SIZE);
        __builtin_prefetch(at + (aim.entry + i - 64) % CARET__PAGE_SIZE);
    }
    __builtin_prefetch(at + (aim.entry + 128) % CARET__PAGE_SIZE);
}

static inline bool caret__aim_near(uint32_t x, uint32_t y)
{
    return x - y + 64 <= 128;
}

/* The key was looked for, and its place is pos: was it aimed at? */
static inline __attribute__((always_inline)) void
caret__aim_told(struct caret__aims *a, struct caret__aim aim, const struct caret__page *p, unsigned pos)
{
    unsigned n = caret__page_count(p);

    if (aim.slot == 0 || pos >= n)
        return;
    if (caret__aim_near(aim.slot, CARET__PAGE_HEAD + 8 * pos) &&
        caret__aim_near(aim.entry, caret__racy16(&p->slot[pos].off))) {
        a->right = (int8_t)(a->right < CARET__AIM_MOST ? a->right + 1 : CARET__AIM_MOST);
        return;
    }
    if (a->entries != 0)
        a->right = (int8_t)(a->right >= CARET__AIM_WRONG ? a->right - CARET__AIM_WRONG : -CARET__AIM_PAUSE);
    a->entries = (uint16_t)n;
    a->first = caret__racy16(&p->slot[0].off);
    a->last = caret__racy16(&p->slot[n - 1].off);
}

#endif
