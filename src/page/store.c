/*
 * store.c - allocation, first-touch copies and undo; store.h has the rules.
 *
 * Order of the stores for a page that comes to life: bitmap bits and state block
 * saved, its old page-table word saved, published; version = L; word = {slot,
 * epoch}; bytes.  If the process dies in between, the words are restored in reverse; versions
 * stay at L, which is right, for the redo changes the same or other pages under
 * the same L.
 *
 * A page that dies is not in the undo area: however many pages a commit gives up, its
 * undo does not grow, so a kill of any size finds room when memory is full.  The
 * page itself tells all:
 *
 *     version = L  ->  pending bit of this epoch  ->  obsolete flag
 *
 * No byte of it changes, and its slot and number stay its own until a checkpoint releases
 * them.  "Pending, of version L" therefore says that L killed it: a page that is pending
 * from an earlier commit has that one's version, and is never touched again.  Repair takes
 * these deaths back (caret__take_back) before it redoes L: flag, then bit, so that a page
 * with the flag is always found by its bit.  A page that was born in L, too, is free or
 * lent by then, its word restored: only the bit goes.
 */
#include "page/store.h"

#include "shm/engine.h"

#ifdef CARET_ASSERTS
bool caret__w_held(const struct caret__w *w)
{
    return w->sh == NULL || caret__state_held(w->sh);
}
#endif

/* ------------------------------------------------------------------- saving */

static inline void save(struct caret__w *w, const void *p, uint32_t len)
{
    if (w->undo != NULL)
        caret__undo_save(w->undo, p, len);
}

static inline void publish(struct caret__w *w)
{
    if (w->undo != NULL)
        caret__undo_publish(w->undo);
}

static inline void set_version(struct caret__w *w, uint32_t pgno)
{
    atomic_store_explicit(&w->pg->ptab[pgno].version, w->lsn, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    CARET_FAULT("version_set");
}

/*
 * Is the page saved (or new) in this application of the record?  In a commit its version tells: it is L.
 * In a redo that is not a sign: the dead writer raised versions, which are never restored, but its undo
 * entries were used up.  There a private bit per arena slot tells.
 */
static inline bool is_saved(const struct caret__w *w, const struct caret__pte *pte)
{
    if (caret__likely(!w->redo))
        return atomic_load_explicit(&pte->version, memory_order_relaxed) == w->lsn;
    uint32_t slot = caret__pte_slot(atomic_load_explicit(&pte->word, memory_order_relaxed));
    return (w->pg->redo_saved[slot / 64u] >> (slot % 64u) & 1u) != 0;
}

static inline void note_saved(struct caret__w *w, uint32_t slot)
{
    if (caret__unlikely(w->redo))
        w->pg->redo_saved[slot / 64u] |= UINT64_C(1) << (slot % 64u);
}

void caret__w_begin(struct caret__w *w)
{
    CARET__ASSERT(caret__w_held(w));
    if (w->redo)
        memset(w->pg->redo_saved, 0, CARET__BITMAP_WORDS(atomic_load(&w->sh->nslots)) * sizeof(uint64_t));
    w->state_saved = false;
    w->saved_word[0] = w->saved_word[1] = NULL;
    if (w->undo != NULL)
        caret__undo_begin(w->undo, w->lsn);
}

void caret__w_save_state(struct caret__w *w)
{
    CARET__ASSERT(caret__w_held(w));
    if (w->state_saved)
        return;
    w->state_saved = true;
    save(w, w->pg->ts, sizeof *w->pg->ts);
    publish(w);
}

static void save_word(struct caret__w *w, _Atomic uint64_t *word, unsigned which)
{
    if (w->undo == NULL || w->saved_word[which] == (const void *)word)
        return;
    w->saved_word[which] = (const void *)word;
    save(w, (const void *)word, 8);
    publish(w);
}

/* --------------------------------------------------------------- allocation */

static inline bool bit_reserved(const struct caret__shared *sh, uint32_t pgno)
{
    if (sh == NULL || atomic_load_explicit(&sh->nreserved, memory_order_relaxed) == 0)
        return false;
    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++) {
        const struct caret__reserved *r = &sh->reserved[i];
        if (r->count != 0 && pgno >= r->pgno && pgno < r->pgno + r->count)
            return true;
    }
    return false;
}

/* First set bit at or after `hint` in one of two maps of `bits` bits, the second NULL or not, going round once;
 * UINT32_MAX if none. */
static inline uint32_t find_bit(_Atomic uint64_t *map, _Atomic uint64_t *other, uint32_t bits, uint32_t hint,
                                const struct caret__shared *skip)
{
    uint32_t words = CARET__BITMAP_WORDS(bits), at = hint / 64u < words ? hint / 64u : 0;
    uint64_t mask = ~UINT64_C(0) << (hint % 64u);

    for (uint32_t i = 0; i <= words; i++, mask = ~UINT64_C(0)) {
        uint64_t v = atomic_load_explicit(&map[at], memory_order_relaxed);
        if (other != NULL)
            v |= atomic_load_explicit(&other[at], memory_order_relaxed);
        for (v &= mask; v != 0; v &= v - 1) {
            uint32_t bit = at * 64u + (uint32_t)__builtin_ctzll(v);
            if (bit < bits && !bit_reserved(skip, bit))
                return bit;
        }
        at = at + 1 < words ? at + 1 : 0;
    }
    return UINT32_MAX;
}

uint32_t caret__map_count(const _Atomic uint64_t *map, uint32_t bits)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bits / 64u; i++)
        n += (uint32_t)__builtin_popcountll(atomic_load_explicit(&map[i], memory_order_relaxed));
    for (uint32_t i = bits & ~63u; i < bits; i++)
        n += (uint32_t)(atomic_load_explicit(&map[i / 64u], memory_order_relaxed) >> (i % 64u) & 1u);
    return n;
}

static bool is_set(const _Atomic uint64_t *map, uint32_t bit)
{
    return (atomic_load_explicit(&map[bit / 64u], memory_order_relaxed) >> (bit % 64u) & 1u) != 0;
}

static void clear_bit(struct caret__w *w, unsigned map, uint32_t bit)
{
    _Atomic uint64_t *word = &w->pg->maps[map][bit / 64u];
    save_word(w, word, map == CARET__MAP_SLOTS);
    uint64_t v = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, v & ~(UINT64_C(1) << (bit % 64u)), memory_order_relaxed);
}

/* Not saved: of a page that died, see above. */
static void set_bit(_Atomic uint64_t *map, uint32_t bit)
{
    _Atomic uint64_t *word = &map[bit / 64u];
    uint64_t v = atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(word, v | UINT64_C(1) << (bit % 64u), memory_order_relaxed);
}

static uint32_t take_page(struct caret__w *w)
{
    CARET__ASSERT(caret__w_held(w));
    struct caret__tstate *ts = w->pg->ts;
    unsigned lent = caret__lent_map(w->epoch);
    _Atomic uint64_t *fm = w->pg->maps[CARET__MAP_FREE];
    uint32_t pgno =
        find_bit(fm, ts->lent_pages != 0 ? w->pg->maps[lent] : NULL, ts->npages, ts->page_hint, w->sh);

    CARET__ASSERT_ALWAYS(pgno != UINT32_MAX);
    ts->page_hint = pgno + 1;
    if (is_set(fm, pgno)) {
        clear_bit(w, CARET__MAP_FREE, pgno);
        ts->free_pages--;
    } else {
        clear_bit(w, lent, pgno);
        CARET_FAULT("page_lent");
        ts->lent_pages--;
        caret__racy_put32(&ts->dead_pages, ts->dead_pages - 1);
    }
    return pgno;
}

static uint32_t take_slot(struct caret__w *w, uint32_t pgno)
{
    if (!w->pg->shared)
        return pgno;
    struct caret__tstate *ts = w->pg->ts;
    uint32_t nslots = atomic_load_explicit(&w->sh->nslots, memory_order_relaxed);
    uint32_t slot = find_bit(w->pg->maps[CARET__MAP_SLOTS], NULL, nslots, ts->slot_hint, NULL);

    CARET__ASSERT_ALWAYS(slot != UINT32_MAX);
    clear_bit(w, CARET__MAP_SLOTS, slot);
    ts->slot_hint = slot + 1;
    caret__racy_put32(&ts->free_slots, ts->free_slots - 1);
    __atomic_store_n(&w->pg->owners[slot], pgno, __ATOMIC_RELAXED); /* a checkpointer may look */
    return slot;
}

/* Where this process has not mapped a slot yet, a read maps sixteen that there are, writable, in 0.3 us each; a write
 * maps the one, in 1.8 us, and others wait for the mutex meanwhile. */
static inline void map_around(const struct caret__page *p)
{
    (void)*(const volatile uint8_t *)p;
}

/* A number and a slot; the page's version is L and its word says where it is. */
static struct caret__page *new_page(struct caret__w *w, uint32_t *pgno)
{
    CARET__ASSERT(caret__w_held(w));
    caret__w_save_state(w);
    uint32_t n = take_page(w), slot = take_slot(w, n);
    struct caret__pte *pte = &w->pg->ptab[n];

    CARET_FAULT("page_taken");
    save(w, (const void *)&pte->word, 8);
    publish(w);
    set_version(w, n);
    atomic_store_explicit(&pte->word, caret__pte_make(slot, w->epoch), memory_order_release);
    note_saved(w, slot);
    CARET_FAULT("page_born");
    *pgno = n;
    struct caret__page *p = (struct caret__page *)(w->pg->arena + (size_t)slot * CARET__PAGE_SIZE);
    if (w->pg->shared)
        map_around(p);
    return p;
}

struct caret__page *caret__w_alloc(struct caret__w *w, unsigned level, uint32_t *pgno)
{
    struct caret__page *p = new_page(w, pgno);
    caret__page_init(p, *pgno, level);
    return p;
}

/* ---------------------------------------------------------------------- death */

/* Its number waits for the checkpoint; that of a private page is free at once.  The counters are derived. */
static void release_number(struct caret__w *w, uint32_t pgno)
{
    if (w->pg->shared) {
        set_bit(w->pg->maps[CARET__MAP_PENDING0 + (w->epoch & 1u)], pgno);
        CARET_FAULT("page_pending");
        caret__racy_put32(&w->pg->ts->dead_pages, w->pg->ts->dead_pages + 1);
    } else {
        set_bit(w->pg->maps[CARET__MAP_FREE], pgno);
        w->pg->ts->free_pages++;
    }
}

void caret__w_free(struct caret__w *w, uint32_t pgno)
{
    CARET__ASSERT(caret__w_held(w));
    struct caret__pte *pte = &w->pg->ptab[pgno];
    uint64_t word = atomic_load_explicit(&pte->word, memory_order_relaxed);

    set_version(w, pgno);
    release_number(w, pgno);
    atomic_store_explicit(&pte->word, word | CARET__PTE_OBSOLETE, memory_order_release);
    CARET_FAULT("page_obsolete");
}

/* Those of one word of the map. */
static void take_back_word(struct caret__pager *pg, _Atomic uint64_t *pending, uint64_t is_free,
                           uint32_t first, uint64_t lsn)
{
    uint64_t dead = atomic_load_explicit(pending, memory_order_relaxed);

    for (uint64_t left = dead; left != 0; left &= left - 1) {
        struct caret__pte *pte = &pg->ptab[first + (uint32_t)__builtin_ctzll(left)];
        uint64_t bit = left & -left, word = atomic_load_explicit(&pte->word, memory_order_relaxed);
        if (atomic_load_explicit(&pte->version, memory_order_relaxed) != lsn)
            continue;
        if ((is_free & bit) == 0)
            atomic_store_explicit(&pte->word, word & ~CARET__PTE_OBSOLETE, memory_order_release);
        CARET_FAULT("repair_unflagged");
        dead &= ~bit;
        atomic_store_explicit(pending, dead, memory_order_release);
        CARET_FAULT("repair_unpended");
    }
}

void caret__take_back(struct caret__pager *pg, uint32_t epoch, uint64_t lsn)
{
    _Atomic uint64_t *pending = pg->maps[CARET__MAP_PENDING0 + (epoch & 1u)], *fm = pg->maps[CARET__MAP_FREE];
    const _Atomic uint64_t *lent = pg->maps[caret__lent_map(epoch)];

    for (uint32_t i = 0; i < CARET__BITMAP_WORDS(pg->ts->npages); i++)
        take_back_word(pg, &pending[i],
                       atomic_load_explicit(&fm[i], memory_order_relaxed) |
                           atomic_load_explicit(&lent[i], memory_order_relaxed),
                       i * 64u, lsn);
}

void caret__w_take_run(struct caret__w *w, uint32_t pgno, uint32_t count)
{
    CARET__ASSERT(caret__w_held(w));
    caret__w_save_state(w);
    for (uint32_t i = pgno; i < pgno + count; i++) {
        struct caret__pte *pte = &w->pg->ptab[i];
        clear_bit(w, CARET__MAP_FREE, i);
        save(w, (const void *)&pte->word, 8);
        publish(w);
        set_version(w, i);
        atomic_store_explicit(&pte->word, w->epoch, memory_order_release);
    }
    w->pg->ts->free_pages -= count;
    w->pg->ts->has_runs = 1;
}

void caret__w_free_run(struct caret__w *w, uint32_t pgno, uint32_t count)
{
    for (uint32_t i = pgno; i < pgno + count; i++)
        caret__w_free(w, i);
}

/* --------------------------------------------------------------------- change */

struct caret__page *caret__w_dirty(struct caret__w *w, uint32_t pgno)
{
    CARET__ASSERT(caret__w_held(w));
    struct caret__pte *pte = &w->pg->ptab[pgno];
    struct caret__page *p = (struct caret__page *)(uintptr_t)caret__w_page(w, pgno);

    CARET__ASSERT(caret__w_current(w, pgno));
    if (!is_saved(w, pte)) {
        note_saved(w, caret__pte_slot(atomic_load_explicit(&pte->word, memory_order_relaxed)));
        if (w->undo != NULL) {
            caret__undo_save(w->undo, p, CARET__PAGE_SIZE);
            publish(w);
        }
        set_version(w, pgno);
    }
    return p;
}

struct caret__page *caret__w_copy(struct caret__w *w, uint32_t *pgno)
{
    uint32_t old = *pgno;
    const struct caret__page *from = caret__w_page(w, old);
    struct caret__page *p = new_page(w, pgno);

    caret__racy_copy(p, from, CARET__PAGE_SIZE);
    caret__racy_put32(&p->pgno, *pgno);
    CARET_FAULT("page_copied");
    caret__w_free(w, old);
    return p;
}

void caret__w_bump(struct caret__w *w, uint32_t pgno)
{
    if (caret__w_current(w, pgno))
        caret__w_dirty(w, pgno); /* saved: with version L it counts as such */
    else
        set_version(w, pgno);
}

/* --------------------------------------------------------------------- runs */

static bool run_is_free(const struct caret__pager *pg, const struct caret__shared *sh, uint32_t pgno,
                        uint32_t count)
{
    for (uint32_t i = pgno; i < pgno + count; i++) {
        uint64_t v = atomic_load_explicit(&pg->maps[CARET__MAP_FREE][i / 64u], memory_order_relaxed);
        if ((v >> (i % 64u) & 1u) == 0 || bit_reserved(sh, i))
            return false;
    }
    return true;
}

uint32_t caret__find_run(const struct caret__pager *pg, const struct caret__shared *sh, uint32_t count)
{
    uint32_t n = pg->ts->npages, at = CARET__FIRST_PAGE, len = 0;

    for (; at < n; at++) {
        uint64_t v = atomic_load_explicit(&pg->maps[CARET__MAP_FREE][at / 64u], memory_order_relaxed);
        if (v == 0) {
            at |= 63u;
            len = 0;
            continue;
        }
        len = (v >> (at % 64u) & 1u) != 0 ? len + 1 : 0;
        if (len == count) {
            if (run_is_free(pg, sh, at - count + 1, count))
                return at - count + 1;
            len--;
        }
    }
    return 0;
}
