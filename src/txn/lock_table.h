/*
 * lock_table.h - names in the shared lock table; between the lock_*.c files only.
 *
 * Everything here but caret__lt_hash needs the lock mutex.
 */
#ifndef CARET_TXN_LOCK_TABLE_H
#define CARET_TXN_LOCK_TABLE_H

#include "base/bytes.h"
#include "base/crc32c.h"
#include "shm/engine.h"

static inline struct caret__lock_table *caret__lt(const struct caret__engine *e)
{
    return (struct caret__lock_table *)(void *)e->locks;
}

static inline uint32_t caret__lt_hash(const uint8_t *key, size_t len)
{
    return caret__crc32c_short(0, key, len);
}

static inline uint32_t caret__lt_count(const struct caret__lock_cell *c)
{
    return atomic_load_explicit(&c->count, memory_order_relaxed);
}

static inline bool caret__lt_held_by(const struct caret__lock_cell *c, uint64_t owner)
{
    return caret__lt_count(c) > 0 && c->owner == owner;
}

/* Process slot of a session. */
static inline uint32_t caret__lt_slot(uint64_t owner)
{
    return (uint32_t)(owner >> 32);
}

/* ---- lock_table.c ------------------------------------------------------------ */

/* Cell of a name, 0 = not in the table. */
uint32_t caret__lt_find(struct caret__lock_table *t, const uint8_t *key, size_t len, uint32_t hash);

/* The same, made if need be, with all names above it.  0 = no room, nothing changed.
 * Never frees a cell, so cells got before stay what they are. */
uint32_t caret__lt_ensure(struct caret__engine *e, const uint8_t *key, size_t len, uint32_t hash);

/* Copy the key out; returns its length. */
size_t caret__lt_key(const struct caret__lock_table *t, uint32_t cell, uint8_t key[CARET__KEY_MAX]);

/* Is it a key that a session can have asked for, of a global or of a local variable? */
bool caret__lt_valid(const uint8_t *key, size_t len);

/* Of a name that is longer than its first cell: is the rest of the bytes this? */
bool caret__lt_is_rest(const struct caret__lock_table *t, uint32_t cell, const uint8_t *key, size_t len);

/* Is the cell the name of these bytes? */
static inline bool caret__lt_is(const struct caret__lock_table *t, uint32_t cell, const uint8_t *key,
                                size_t len)
{
    const struct caret__lock_cell *c = &t->cells[cell];

    return c->kind == CARET__CELL_NAME && c->len == len &&
           caret__same_short(c->key, key, caret__min(len, CARET__LOCK_KEY_HEAD)) &&
           (caret__likely(len <= CARET__LOCK_KEY_HEAD) || caret__lt_is_rest(t, cell, key, len));
}

/* Cell of a name that `guess` may be the cell of; 0 = not in the table. */
static inline uint32_t caret__lt_find_at(struct caret__lock_table *t, uint32_t guess, const uint8_t *key,
                                         size_t len)
{
    return caret__lt_is(t, guess, key, len) ? guess : caret__lt_find(t, key, len, caret__lt_hash(key, len));
}

/* Does a lock of another session exclude `owner` from the name? */
bool caret__lt_blocked(struct caret__lock_table *t, uint32_t cell, uint64_t owner);

/* The next held name that does, after `after` (0 = the first); 0 = no more. */
uint32_t caret__lt_conflict(struct caret__lock_table *t, uint32_t cell, uint64_t owner, uint32_t after);

/* Count up.  The caller has seen that the name isn't blocked. */
void caret__lt_hold(struct caret__lock_table *t, uint32_t cell, uint64_t owner, uint32_t nonce,
                    uint64_t since);

/* Count down by n.  True: a waiter may get it now, and must be woken. */
bool caret__lt_let_go(struct caret__lock_table *t, uint32_t cell, uint32_t n);

/* Nobody needs the name for now: keep it among the idle ones if it is neither held nor wanted. */
void caret__lt_rest(struct caret__lock_table *t, uint32_t cell);

/* Free the name and those above it as far as they are neither held, wanted nor idle. */
void caret__lt_drop(struct caret__lock_table *t, uint32_t cell);

/* Free all idle names. */
void caret__lt_drop_idle(struct caret__lock_table *t);

/* A session (record r of table.waiters) waits for the name.  Record + 1, 0 = all in use. */
uint32_t caret__lt_wait(struct caret__lock_table *t, uint32_t cell, uint64_t owner, uint32_t nonce);
void caret__lt_unwait(struct caret__lock_table *t, uint32_t record);

/* Sessions that the holder of the name keeps waiting. */
uint32_t caret__lt_waiting(const struct caret__lock_table *t, uint32_t cell);

/* ---- lock_repair.c ------------------------------------------------------------- */

/* The holder of the lock mutex died: derive everything anew from the held locks. */
void caret__lt_repair(struct caret__engine *e);

/* ---- lock_ring.c ---------------------------------------------------------------- */

/* Process slots to be looked at. */
struct caret__lt_suspects {
    uint64_t in[CARET__MAX_PROCS / 64 + 1]; /* bit per slot */
    uint32_t nonce[CARET__MAX_PROCS];
};

void caret__lt_suspect(struct caret__lt_suspects *s, uint64_t owner, uint32_t nonce);

/* All that are in the owner's way to the name; all that have anything: the table is full. */
void caret__lt_suspect_blockers(struct caret__lock_table *t, uint64_t owner, uint32_t cell,
                                struct caret__lt_suspects *s);
void caret__lt_suspect_all(const struct caret__lock_table *t, struct caret__lt_suspects *s);

/* Does the waiter of `record` (+ 1) close a ring?  Then the ring is told in text, and its processes are suspects. */
bool caret__lt_ring(struct caret__engine *e, uint32_t record, struct caret__lt_suspects *s, char *text,
                    size_t cap);

/* ZWR text of a name, cut with "..." */
void caret__lt_text(const uint8_t *key, size_t len, char *text, size_t cap);
void caret__lt_cell_text(const struct caret__lock_table *t, uint32_t cell, char *text, size_t cap);

/* "pid 12 session 3" */
void caret__lt_who(const struct caret__engine *e, uint64_t owner, char *text, size_t cap);

#endif
