/*
 * follow.c - following the log of a database that is in use, without anybody noticing.
 *
 * Commits that are visible lie below log_applied, and their bytes do not change.
 * Where they are:
 *
 *     given up     in the file, needed      in the ring        being made
 *   -----------|------------------------|-------------------|------------>
 *         checkpoint_lsn           log_written         log_applied
 *
 * No writer waits for a follower or keeps data for it, so bytes may be
 * overwritten while it reads them:
 *
 *   ring   bytes from log_written on are not reused: they are copied, and count if
 *          log_written is not beyond their beginning afterwards
 *   file   reused after checkpoint_lsn once the log has gone round
 *
 * Both are only there to know what a bad record means, for each is verified: its crc
 * covers the 8 bytes before it, so a chain from a record that was right leads to
 * right ones only.  A bad one after checkpoint_lsn was overwritten: whoever follows
 * was too slow, and is told so.
 *
 * The chain begins at checkpoint_lsn, with checkpoint_seed.  The two are not stored
 * at once, so the pair may be mixed.  If a first record is not right with it, it is
 * looked at again.  If it is, or there is none yet, checkpoints may come: the pair is kept.
 *
 * A reader that begins at a place need not go there from the checkpoint: the 8 bytes before it
 * are the trailer of the record that ends there, and the seed of the next.  They count
 * if they look like a trailer and checkpoint_lsn is not beyond the place afterwards; else
 * the way is gone after all, and tells why not.
 */

#include "log/follow.h"

#include <sched.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/racy.h"
#include "disk/logfile.h"
#include "disk/record.h"
#include "log/flush.h"

#define FIRST 4096u /* bytes of the first buffer; it grows while there is more to be read */
#define CHUNK (256u << 10)
#define TRIES 1000u /* arbitrary: of a pair that is being stored */

static int lost(const struct caret__tail *t, uint64_t lsn)
{
    return caret__fail(CARET_E_NOTFOUND, "%s: place %llu is not in its log any more, which begins at %llu",
                       t->e->path, (unsigned long long)lsn,
                       (unsigned long long)atomic_load(&t->e->sh->checkpoint_lsn));
}

static int read_file(struct caret__tail *t, uint64_t lsn, uint8_t *to, size_t n)
{
    struct caret__logfile file = {.fd = caret__fd(&t->e->log_fd),
                                  .path = t->e->log_path,
                                  .base = atomic_load(&t->e->sh->log_base),
                                  .size = atomic_load(&t->e->sh->log_size)};

    return caret__log_read(&file, lsn, to, n);
}

/* *n log bytes at `lsn`, or fewer; all of them are below log_applied. */
static int read_log(struct caret__tail *t, uint64_t lsn, uint8_t *to, size_t *n)
{
    struct caret__shared *sh = t->e->sh;
    uint64_t written = atomic_load(&sh->log_written);

    if (lsn >= written) {
        caret__racy_copy(to, caret__ring_at(t->e, lsn), *n);
        atomic_thread_fence(memory_order_acquire);
        written = atomic_load(&sh->log_written);
        if (lsn >= written)
            return CARET_OK;
    }
    *n = (size_t)caret__min64(*n, written - lsn);
    return read_file(t, lsn, to, *n);
}

/* Room for so many bytes. */
static int widen(struct caret__tail *t, size_t want)
{
    uint8_t *more = realloc(t->buf, want);

    if (more == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory for a record of %zu bytes", t->e->path, want);
    t->buf = more;
    t->cap = want;
    return CARET_OK;
}

/* Have more bytes after those in the buffer, `want` in all.  CARET_NONE: there are no more. */
static int fill(struct caret__tail *t, size_t want)
{
    uint64_t next = t->lsn + t->len, applied = atomic_load(&t->e->sh->log_applied);
    int rc = CARET_OK;
    size_t n;

    if (next >= applied)
        return CARET_NONE;
    memmove(t->buf, t->buf + t->at, t->len);
    t->at = 0;
    if (applied - next > t->cap && t->cap < CHUNK) /* there is much to be read */
        want = caret__max(want, caret__min(4 * t->cap, CHUNK));
    if (want > t->cap)
        rc = widen(t, want);
    if (rc != CARET_OK)
        return rc;
    n = (size_t)caret__min64(caret__min64(t->cap - t->len, applied - next), CARET__RING_SIZE / 2);
    rc = read_log(t, next, t->buf + t->len, &n);
    t->len += rc == CARET_OK ? n : 0;
    return rc;
}

/* The seed at `from`, if a record that is still needed ends there. */
static bool near(struct caret__tail *t)
{
    struct caret__shared *sh = t->e->sh;
    uint64_t lsn = t->from, from = atomic_load(&sh->checkpoint_lsn), trailer;
    size_t n = sizeof trailer;

    if (lsn % 8 != 0 || lsn <= from + CARET__REC_HEAD || lsn > atomic_load(&sh->log_applied) ||
        read_log(t, lsn - n, (uint8_t *)&trailer, &n) != CARET_OK || n != sizeof trailer)
        return false;
    uint32_t size = caret__trailer_size(trailer);
    if (size < CARET__REC_HEAD + CARET__REC_TAIL || size % 8 != 0 || size > lsn - from ||
        atomic_load(&sh->checkpoint_lsn) > lsn)
        return false;
    t->seed = trailer;
    return true;
}

/* Begin, or begin anew: at `from`, else where the log begins.  One that is lost stays where it was. */
static int begin(struct caret__tail *t)
{
    struct caret__shared *sh = t->e->sh;
    uint64_t lsn, seed;

    t->at = t->len = 0;
    if (!t->far && near(t)) {
        t->lsn = t->from;
        return CARET_OK;
    }
    do {
        lsn = atomic_load(&sh->checkpoint_lsn);
        seed = caret__racy64(&sh->checkpoint_seed);
        atomic_thread_fence(memory_order_acquire);
    } while (atomic_load(&sh->checkpoint_lsn) != lsn);
    if (t->from != 0 && lsn > t->from)
        return lost(t, t->from);
    t->lsn = lsn;
    t->seed = seed;
    return CARET_OK;
}

/* The record at the front of the buffer is bad. */
static int bad(struct caret__tail *t)
{
    if (t->lsn < atomic_load(&t->e->sh->checkpoint_lsn))
        return lost(t, t->lsn);
    return caret__fail(CARET_E_CORRUPT, "%s: the record at LSN %llu does not continue the log",
                       t->e->log_path, (unsigned long long)t->lsn);
}

/* Bytes of the record at lsn, as far as is known. */
static size_t record_size(const struct caret__tail *t)
{
    return t->len < CARET__REC_HEAD ? CARET__REC_HEAD : caret__le32(t->buf + t->at);
}

/* The record at lsn; *size 0: it is bad. */
static int take(struct caret__tail *t, const uint8_t **rec, uint32_t *size)
{
    const size_t most = caret__record_limit(t->e->sh) + CARET__REC_HEAD + CARET__REC_TAIL;
    int rc = CARET_OK;

    for (size_t want = record_size(t); rc == CARET_OK && t->len < want && want <= most; want = record_size(t))
        rc = fill(t, want);
    if (rc != CARET_OK && !(rc == CARET_NONE && t->len > 0)) /* a record ends where the log does */
        return rc;
    *rec = t->buf + t->at;
    *size = caret__record_verify(t->seed, *rec, t->len);
    return CARET_OK;
}

static void pass(struct caret__tail *t, uint32_t size)
{
    memcpy(&t->seed, t->buf + t->at + size - 8, 8);
    t->at += size;
    t->len -= size;
    t->lsn += size;
    t->sure = true;
}

static int next(struct caret__tail *t, const uint8_t **rec, uint32_t *size)
{
    int rc = take(t, rec, size);

    for (unsigned i = 0; rc == CARET_OK && *size == 0 && !t->sure && i < TRIES; i++) {
        sched_yield();
        t->far = true;
        rc = begin(t);
        if (rc == CARET_OK)
            rc = take(t, rec, size);
    }
    if (rc != CARET_OK)
        return rc;
    if (*size == 0)
        return bad(t);
    pass(t, *size);
    return CARET_OK;
}

int caret__tail_next(struct caret__tail *t, const uint8_t **rec, uint32_t *size)
{
    if (t->len == 0 && t->lsn >= atomic_load(&t->e->sh->log_applied))
        return CARET_NONE;
    int rc;

    while ((rc = next(t, rec, size)) == CARET_OK)
        if (t->lsn - *size >= t->from)
            break;
    return rc;
}

/* To `from`, so that from now on a checkpoint may come.  The commit that ends there may be on the disk and not visible
 * yet, as its writer sleeps or is dead: then it is passed over when it is. */
static int skip(struct caret__tail *t)
{
    const uint8_t *rec;
    uint32_t size;
    int rc = begin(t);

    while (rc == CARET_OK && t->lsn < t->from)
        rc = next(t, &rec, &size);
    if (rc == CARET_OK && t->lsn != t->from && t->from != 0)
        return caret__fail(CARET_E_NOTFOUND, "%s: no commit of its log ends at place %llu", t->e->path,
                           (unsigned long long)t->from);
    if (rc == CARET_NONE && t->from <= atomic_load(&t->e->sh->log_head))
        return CARET_OK;
    return rc == CARET_NONE ? caret__fail(CARET_E_NOTFOUND, "%s: its log ends before place %llu", t->e->path,
                                          (unsigned long long)t->from)
                            : rc;
}

int caret__tail_init(struct caret__tail *t, struct caret__engine *e, uint64_t from)
{
    *t = (struct caret__tail){.e = e, .from = from, .buf = t->buf, .cap = t->cap};
    if (from == UINT64_MAX)
        t->from = atomic_load(&e->sh->log_applied);
    int rc = t->buf == NULL ? widen(t, FIRST) : CARET_OK;
    if (rc == CARET_OK)
        rc = skip(t);
    /* a checkpoint came while we were on the way to the end: begin there */
    for (unsigned i = 0; rc == CARET_E_NOTFOUND && from == UINT64_MAX && i < TRIES; i++) {
        t->from = atomic_load(&e->sh->log_applied);
        t->sure = false;
        rc = skip(t);
    }
    if (rc != CARET_OK)
        caret__tail_destroy(t);
    else if (from == 0)
        t->from = t->lsn; /* the oldest at that moment: no later one will do */
    return rc;
}

void caret__tail_destroy(struct caret__tail *t)
{
    free(t->buf);
    t->buf = NULL;
    t->cap = 0;
}
