/*
 * flush.h - from the ring to the log file.
 */
#ifndef CARET_LOG_FLUSH_H
#define CARET_LOG_FLUSH_H

#include "disk/meta.h"
#include "shm/engine.h"

/* pwrite ring bytes [log_written, upto) to the log file (takes the flush mutex;
 * upto 0 = log_head).  With `sync` also fdatasync: log_durable >= upto afterwards. */
int caret__flush(struct caret__engine *e, uint64_t upto, bool sync);

/* Larger records do not go through the ring (flush.c). */
#define CARET__BIG_RECORD (CARET__RING_SIZE / 4u)

/* The largest record for a log of that size: an eighth is kept for kills, another is left to the others (arbitrary).
 * Memory for one is not to be had without end. */
static inline uint32_t caret__record_most(uint64_t log_size)
{
    return (uint32_t)caret__min64(log_size / 4 * 3, CARET__RECORD_MAX);
}

/* The same for the log as it is. */
static inline uint32_t caret__record_limit(const struct caret__shared *sh)
{
    return caret__record_most(atomic_load_explicit(&sh->log_size, memory_order_relaxed));
}

/* The largest record that can be committed: the log is made longer for it, unless somebody asked for its size. */
static inline uint32_t caret__record_possible(const struct caret__shared *sh)
{
    bool asked = atomic_load_explicit(&sh->log_kind, memory_order_relaxed) == CARET__META_ASKED;
    return asked ? caret__record_limit(sh) : caret__record_most(CARET__LOG_MAX);
}

/* TXN_TOO_BIG: the log is too short for that record, and cannot be longer. */
int caret__record_refused(const struct caret__engine *e, uint64_t size);

/* For the committer of a big record: take the flush mutex, before the writer mutex; under both write the
 * record to the log where log_head is, all before it first; give the flush mutex back. */
int caret__flush_hold(struct caret__engine *e);
int caret__flush_ring(struct caret__engine *e); /* all that the ring has, to the log */
int caret__flush_record(struct caret__engine *e, const uint8_t *rec, uint32_t size);
void caret__flush_release(struct caret__engine *e);

/* File offset of an LSN, and how many bytes are contiguous from there. */
uint64_t caret__log_offset(const struct caret__engine *e, uint64_t lsn, uint64_t *contiguous);

/* Wait until everything up to lsn is on the disk (sync = commit): whoever gets the flush mutex syncs for all. */
int caret__wait_durable(struct caret__engine *e, uint64_t lsn);

#endif
