/*
 * replay.c - applying the log after the last checkpoint.
 *
 * The log is a chain: each record's crc is seeded with the end of the one before,
 * the first with the meta's chain_seed.  The chain ends at the first record that
 * does not continue it.  What ended it, the end of what was written or damage,
 * the caller tells by how far it should have reached.
 *
 * Two passes, since the records do not say everything that was done:
 *
 *   1  scan    find the end of the chain.  A record with a value out of line
 *              (SETRUN) counts only if the bytes of the run in the data file have
 *              the crc that it names: otherwise the machine stopped before they
 *              were on the disk, and nobody was promised that commit.  Note the runs.
 *   2  apply   with the code of every commit, without undo (nobody watches).  The keys of the records that follow are
 *              looked for ahead, several at once, so that their pages are waited for together (tree/many.h); a set
 *              whose leaf was found and has room is done there, as a commit would.
 *
 * The allocator may hand out other page numbers now than it did then.  So the
 * pages of all noted runs are taken out of the free map before pass 2 (claimed), or
 * a page of the tree could be put where a later record's run lies; each is handed
 * over, as a reservation, just before its own record takes it.  Runs of the chain are disjoint and
 * free in the checkpoint's bitmap: pages are reused only after a checkpoint.
 * Growth of the file is not logged either: it is repeated as far as runs need it.
 *
 * A reader replays in private memory, and others may open the database meanwhile and write to the file.  Once
 * they have, this replay is for nothing (observe.c), but until that is looked at it must come to no harm: the
 * pages of the file that it relies on are kept as they were verified, and records are copied, not mapped.
 *
 * A checkpoint may be needed in between, when pages or slots run out.  It is an
 * ordinary one; during it the claims are lifted, so that its image of the free map
 * is true; should we die, the next one starts from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"
#include "disk/meta.h"
#include "disk/record.h"
#include "log/apply.h"
#include "log/checkpoint.h"
#include "log/flush.h"
#include "log/hollow.h"
#include "log/reserve.h"
#include "log/writer.h"
#include "open/open.h"
#include "page/page.h"
#include "shm/lockfile.h"
#include "shm/write.h"
#include "tree/many.h"

/* A run that a record of the chain refers to. */
struct claim {
    uint64_t lsn; /* end of the record */
    uint32_t pgno, count;
};

/* Keys of the next records and where they were found.  All of these records are in the buffer, which is not filled anew
 * before they are done: so a key is known by where it stands. */
struct ahead {
    uint64_t end; /* of the records */
    unsigned n, next;
    const uint8_t *key[CARET__LANES];
    struct caret__spot spot[CARET__LANES];
};

struct replay {
    struct caret__engine *e;
    struct caret__logfile file;
    uint64_t begin, end; /* of the chain */
    uint64_t reach;      /* it leads to there at least; 0: nothing is known */
    uint8_t *buf;        /* log bytes [at, at + len) */
    size_t cap, len;
    uint64_t at;
    struct ahead ahead;
    struct caret__mapping mapped; /* the record looked at last, if it is larger than the buffer at first */
    struct claim *claims;         /* in log order */
    size_t nclaims, capclaims, done;
    uint64_t told; /* when, last */
    unsigned records;
};

/* ---------------------------------------------------------------- progress */

#define TELL_NS   UINT64_C(1000000000)
#define LOOK_AT   256u /* records between two looks at the clock */
#define SCAN_PART 0.2  /* what pass 1 takes of the time, about */

/* A part of `part` is done: the opener may want to know, but not each time, and not of short recoveries. */
static void tell(struct replay *r, double part)
{
    const caret_options *o = &r->e->options;
    uint64_t every = CARET_SEEDED("slow_recovery") ? 0 : TELL_NS;

    if (o->progress == NULL || (every != 0 && ++r->records % LOOK_AT != 0) ||
        caret__now_ns() - r->told < every)
        return;
    r->told = caret__now_ns();
    o->progress(o->progress_arg, part < 1 ? part : 1);
}

static double part_of(const struct replay *r, uint64_t lsn, uint64_t all)
{
    return all != 0 ? (double)(lsn - r->begin) / (double)all : 0;
}

/* ------------------------------------------------------------------- chain */

/* Have bytes [lsn, lsn + n) in the buffer; *p points to them, or is NULL where the log ends. */
static int peek(struct replay *r, uint64_t lsn, size_t n, const uint8_t **p)
{
    uint64_t last = r->begin + r->file.size; /* a chain goes round once at most */
    int rc;

    *p = NULL;
    if (n > r->cap || lsn + n > last)
        return CARET_OK;
    if (lsn < r->at || lsn + n > r->at + r->len) {
        r->at = lsn;
        r->len = caret__min(r->cap, last - lsn);
        rc = caret__log_read(&r->file, lsn, r->buf, r->len);
        if (rc != CARET_OK) {
            r->len = 0;
            return rc;
        }
    }
    *p = r->buf + (lsn - r->at);
    return CARET_OK;
}

/* Has a record of n bytes at lsn its trailer where it would end?  CARET_NONE: no, so it is none.  What stands after the
 * chain is of older records, and may say any size. */
static int ends_there(const struct replay *r, uint64_t lsn, uint32_t n)
{
    uint64_t trailer;

    if (n > CARET__RECORD_MAX || lsn + n > r->begin + r->file.size)
        return CARET_NONE;
    int rc = caret__log_read(&r->file, lsn + n - sizeof trailer, &trailer, sizeof trailer);
    return rc == CARET_OK && caret__trailer_size(trailer) != n ? CARET_NONE : rc;
}

/* A record that is larger than the buffer: so it says. */
static int grow_buffer(struct replay *r, uint32_t size)
{
    uint8_t *buf = realloc(r->buf, size);
    if (buf == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to recover it (a record of %u bytes)", r->e->path,
                           size);
    r->buf = buf;
    r->cap = size;
    return CARET_OK;
}

/* The record at lsn if it continues the chain; *size 0 at its end. */
static int record_at(struct replay *r, uint64_t lsn, uint64_t seed, const uint8_t **rec, uint32_t *size)
{
    uint32_t n;
    int rc = peek(r, lsn, CARET__REC_HEAD, rec);

    *size = 0;
    if (rc != CARET_OK || *rec == NULL)
        return rc;
    n = caret__le32(*rec);
    if (n < CARET__REC_HEAD + CARET__REC_TAIL)
        return CARET_OK;
    caret__log_unmap(&r->mapped);
    if (n > r->cap && (rc = ends_there(r, lsn, n)) != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    *rec = n > r->cap && !r->e->observes ? caret__log_map(&r->file, lsn, n, &r->mapped) : NULL;
    if (*rec == NULL) {
        rc = n > r->cap ? grow_buffer(r, n) : CARET_OK;
        if (rc == CARET_OK)
            rc = peek(r, lsn, n, rec);
    }
    if (rc == CARET_OK && *rec != NULL)
        *size = caret__record_verify(seed, *rec, n);
    return rc;
}

/* -------------------------------------------------------------------- runs */

/* Are the bytes of a run what its reference says?  CARET_NONE: no.  That ends the chain: a failed read must
 * not say it. */
static int run_is_there(struct caret__engine *e, const struct caret__runref *ref)
{
    uint8_t buf[16384];
    uint64_t off = (uint64_t)ref->pgno * CARET__PAGE_SIZE, left = ref->len;
    uint32_t crc = 0;

    while (left > 0) {
        ssize_t n = pread(caret__fd(&e->data_fd), buf, caret__min(left, sizeof buf), (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return caret__fail_errno(CARET_E_IO, "%s: cannot read a value of %u bytes at page %u", e->path,
                                     ref->len, ref->pgno);
        if (n == 0)
            return CARET_NONE;
        crc = caret__crc32c(crc, buf, (size_t)n);
        off += (uint64_t)n;
        left -= (uint64_t)n;
    }
    return crc == ref->crc ? CARET_OK : CARET_NONE;
}

static bool run_makes_sense(const struct caret__engine *e, const struct caret__runref *ref, uint32_t count)
{
    if (ref->len == 0 || ref->len > CARET_MAX_VALUE || (uint64_t)ref->pgno + count > e->pg.max_pages)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (caret__pgno_reserved(ref->pgno + i))
            return false;
    }
    return true;
}

static int note_claim(struct replay *r, uint64_t lsn, uint32_t pgno, uint32_t count)
{
    if (r->nclaims == r->capclaims) {
        size_t cap = r->capclaims == 0 ? 64 : 2 * r->capclaims;
        struct claim *more = realloc(r->claims, cap * sizeof *more);
        if (more == NULL)
            return caret__fail(CARET_E_NOMEM, "%s: no memory to recover it", r->e->path);
        r->claims = more;
        r->capclaims = cap;
    }
    r->claims[r->nclaims++] = (struct claim){lsn, pgno, count};
    return CARET_OK;
}

/* Note the runs of a record; CARET_NONE: one of them is not there, the chain ends before it. */
static int note_runs(struct replay *r, const uint8_t *rec, uint32_t size, uint64_t lsn)
{
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    size_t before = r->nclaims;
    int rc;

    while ((rc = caret__record_op(rec, size, &off, &op)) > 0) {
        struct caret__runref ref;
        if (op.kind != CARET__OP_SETRUN || op.vlen != sizeof ref)
            continue; /* what makes no sense is found when it is applied */
        memcpy(&ref, op.val, sizeof ref);
        uint32_t count = caret__run_pages(ref.len);
        rc = run_makes_sense(r->e, &ref, count) ? run_is_there(r->e, &ref) : CARET_NONE;
        if (rc == CARET_OK)
            rc = note_claim(r, lsn, ref.pgno, count);
        if (rc == CARET_NONE)
            r->nclaims = before;
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

/* Change the free bits of one claim; false: they were not all the opposite before. */
static bool mark(struct caret__engine *e, const struct claim *c, bool is_free)
{
    _Atomic uint64_t *map = e->pg.maps[CARET__MAP_FREE];

    for (uint32_t i = c->pgno; i < c->pgno + c->count; i++) {
        if (!is_free)
            caret__hollow_take(e, i);
        uint64_t word = atomic_load_explicit(&map[i / 64], memory_order_relaxed), bit = UINT64_C(1) << i % 64;
        if (((word & bit) != 0) == is_free)
            return false;
        atomic_store_explicit(&map[i / 64], word ^ bit, memory_order_relaxed);
        e->sh->ts.free_pages += is_free ? 1u : UINT32_MAX;
    }
    return true;
}

static int mark_rest(struct replay *r, bool is_free)
{
    for (size_t i = r->done; i < r->nclaims; i++) {
        if (!mark(r->e, &r->claims[i], is_free))
            return caret__fail(CARET_E_CORRUPT,
                               "%s: page %u: the log has a value where the free-space bitmap has none",
                               r->e->path, r->claims[i].pgno);
    }
    return CARET_OK;
}

/* The record that ends at lsn is next: its runs may be taken, but by nothing else, so they
 * become reserved as they were when it was committed. */
static int hand_over(struct replay *r, uint64_t lsn)
{
    struct caret__shared *sh = r->e->sh;
    uint32_t n = 0;

    for (; r->done < r->nclaims && r->claims[r->done].lsn <= lsn; r->done++) {
        const struct claim *c = &r->claims[r->done];
        struct caret__reserved *last = n != 0 ? &sh->reserved[n - 1] : NULL;
        if (last != NULL && last->pgno + last->count == c->pgno) { /* they lie in a few reservations */
            mark(r->e, c, true);
            last->count += c->count;
            continue;
        }
        if (n == CARET__MAX_RESERVED)
            return caret__fail(CARET_E_CORRUPT, "%s: a log record before LSN %llu has too many long values",
                               r->e->path, (unsigned long long)lsn);
        mark(r->e, c, true);
        sh->reserved[n++] = (struct caret__reserved){.pgno = c->pgno, .count = c->count, .owner = r->e->slot};
    }
    atomic_store(&sh->nreserved, n);
    return CARET_OK;
}

static void clear_reserved(struct caret__shared *sh)
{
    for (uint32_t i = atomic_load(&sh->nreserved); i > 0; i--)
        sh->reserved[i - 1].count = 0;
    atomic_store(&sh->nreserved, 0);
}

/* -------------------------------------------------------------------- scan */

static int grow_for_claims(struct replay *r)
{
    uint32_t end = 0;

    for (size_t i = 0; i < r->nclaims; i++)
        end = (uint32_t)caret__max(end, r->claims[i].pgno + r->claims[i].count);
    return caret__grow_pages(r->e, end);
}

/*
 * A meta slot is damaged, the other leads to here.  If the damaged one said that the log is longer
 * (log/lengthen.c), the chain goes on where only that one tells.
 */
static int goes_on_elsewhere(struct replay *r, uint64_t seed)
{
    struct caret__logfile file = r->file;
    const uint8_t *rec;
    struct stat st;
    uint32_t size;

    if (fstat(file.fd, &st) != 0 || (uint64_t)st.st_size <= file.size + sizeof(struct caret__lockrec))
        return CARET_OK;
    r->file.base = r->end - (r->end - file.base) % file.size;
    r->file.size = caret__align_down((uint64_t)st.st_size - sizeof(struct caret__lockrec), 65536);
    r->len = 0;
    int rc = record_at(r, r->end, seed, &rec, &size);
    r->file = file;
    r->len = 0;
    if (rc != CARET_OK || size == 0)
        return rc;
    return caret__fail(CARET_E_CORRUPT,
                       "%s: page 0 or %u (meta slots): the newest one is damaged, and only it tells where "
                       "the log goes on after LSN %llu",
                       r->e->path, CARET__META_SPACING / CARET__PAGE_SIZE, (unsigned long long)r->end);
}

static int scan(struct replay *r, uint64_t seed)
{
    const uint8_t *rec;
    uint32_t size;
    int rc;

    for (r->end = r->begin;; r->end += size) {
        rc = record_at(r, r->end, seed, &rec, &size);
        if (rc != CARET_OK || size == 0)
            return rc == CARET_OK && r->reach != 0 ? goes_on_elsewhere(r, seed) : rc;
        memcpy(&seed, rec + size - 8, 8);
        tell(r, SCAN_PART * part_of(r, r->end, r->file.size));
        rc = note_runs(r, rec, size, r->end + size);
        if (rc != CARET_OK)
            return rc == CARET_NONE ? CARET_OK : rc;
    }
}

/* ------------------------------------------------------------------- apply */

/* Make room by a checkpoint; the writer mutex is ours before and after. */
static int make_room(struct replay *r)
{
    CARET__ASSERT(caret__writer_held(r->e->sh));
    int rc = mark_rest(r, true);

    caret__writer_unlock(r->e);
    if (rc == CARET_OK)
        rc = caret__checkpoint(r->e);
    CARET_FAULT("replay_checkpoint");
    int locked = caret__writer_lock(r->e);
    if (rc == CARET_OK)
        rc = locked;
    return rc == CARET_OK ? mark_rest(r, false) : rc;
}

static int reserve(struct replay *r, const uint8_t *rec, uint32_t size, bool *in_rows)
{
    for (unsigned tries = 0;; tries++) {
        struct caret__need need = {0};
        int rc = caret__record_need(r->e, rec, size, &need);
        *in_rows = need.in_rows;
        need.undo_bytes = need.undo_saved = 0; /* nobody looks, and a death here leaves nothing that counts */
        if (rc == CARET_OK)
            rc = caret__reserve(r->e, &need, true);
        if (rc != CARET_RESTART && rc != CARET_E_TXN_TOO_BIG)
            return rc;
        if (r->e->observes && rc == CARET_RESTART) /* a checkpoint would be needed */
            return caret__fail(
                CARET_E_SHM,
                "%s: was not closed cleanly, and its log changes more than %u pages of private "
                "memory hold: let somebody who may write open it once",
                r->e->path, r->e->sh->max_slots);
        if (rc != CARET_RESTART || tries == 2)
            return caret__fail(CARET_E_SHM, "%s: recovery needs a larger arena than %u pages (arena_limit)",
                               r->e->path, r->e->sh->max_slots);
        rc = make_room(r);
        if (rc != CARET_OK)
            return rc;
    }
}

/* Size of the record at lsn, if all of it is in the buffer, or 0. */
static uint32_t size_in_buffer(const struct replay *r, uint64_t lsn)
{
    uint64_t off = lsn - r->at;

    if (lsn < r->at || off + CARET__REC_HEAD + CARET__REC_TAIL > r->len)
        return 0;
    uint32_t size = caret__le32(r->buf + off);
    return size >= CARET__REC_HEAD + CARET__REC_TAIL && size <= r->len - off ? size : 0;
}

/* Look for the keys of the records from lsn on. */
static void look_ahead(struct replay *r, uint64_t lsn)
{
    struct caret__view v = {.pg = &r->e->pg, .applied = atomic_load(&r->e->sh->log_applied)};
    struct caret__lane lane[CARET__LANES];
    struct ahead *a = &r->ahead;
    uint32_t size;

    *a = (struct ahead){.end = lsn};
    while (a->n < CARET__LANES && (size = size_in_buffer(r, a->end)) != 0) {
        const uint8_t *rec = r->buf + (a->end - r->at);
        struct caret__op_view op;
        uint32_t off = CARET__REC_HEAD;
        while (a->n < CARET__LANES && caret__record_op(rec, size, &off, &op) > 0) {
            a->key[a->n] = op.key;
            lane[a->n++] = (struct caret__lane){.key = op.key, .len = op.klen};
        }
        a->end += size;
    }
    caret__seek_many(&v, lane, a->n);
    for (unsigned i = 0; i < a->n; i++) {
        const struct caret__at *at = &lane[i].at;
        if (lane[i].there)
            a->spot[i] = (struct caret__spot){at->version, at->pgno, (uint16_t)at->pos, at->found, 0};
    }
}

/* What is known of the place of a record's first key. */
static struct caret__spot *first_spot(struct replay *r, const uint8_t *rec)
{
    const uint8_t *key = rec + CARET__REC_HEAD + CARET__OP_HEAD;
    struct ahead *a = &r->ahead;

    while (a->next < a->n && a->key[a->next] != key)
        a->next++;
    return a->next < a->n ? &a->spot[a->next] : NULL;
}

/* The record that ends at lsn is in the tree. */
static int end_record(struct caret__shared *sh, uint64_t lsn)
{
    CARET__ASSERT(caret__writer_held(sh));
    atomic_store_explicit(&sh->log_head, lsn, memory_order_relaxed);
    atomic_store_explicit(&sh->log_applied, lsn, memory_order_relaxed);
    atomic_store_explicit(&sh->log_written, lsn, memory_order_relaxed);
    atomic_store_explicit(&sh->log_durable, lsn, memory_order_relaxed);
    CARET_FAULT("replay_applied");
    return CARET_OK;
}

/* One record, from the buffer (through the ring, if it is not big) into the pages. */
static int apply(struct replay *r, const uint8_t *rec, uint32_t size)
{
    CARET__ASSERT(caret__writer_held(r->e->sh));
    struct caret__shared *sh = r->e->sh;
    uint64_t head = atomic_load(&sh->log_head), lsn = head + size;
    struct caret__spot *spot = first_spot(r, rec);
    bool in_rows;
    int rc;

    if (spot != NULL && caret__apply_in_place(r->e, spot, rec, size, lsn)) {
        memcpy(caret__ring_at(r->e, lsn - 8), rec + size - 8, 8);
        return end_record(sh, lsn);
    }
    if (size <= CARET__BIG_RECORD)
        rec = memcpy(caret__ring_at(r->e, head), rec, size);
    else
        memcpy(caret__ring_at(r->e, lsn - 8), rec + size - 8, 8);
    rc = reserve(r, rec, size, &in_rows);
    CARET_FAULT("replay_reserved");
    if (rc == CARET_OK)
        rc = hand_over(r, lsn);
    if (rc != CARET_OK)
        return rc;
    atomic_store(&sh->log_head, lsn);
    rc = caret__apply(r->e, rec, size, lsn, CARET__APPLY_REPLAY, in_rows);
    clear_reserved(sh);
    return rc == CARET_OK ? end_record(sh, lsn) : rc;
}

static int apply_all(struct replay *r)
{
    struct caret__shared *sh = r->e->sh;
    int rc = CARET_OK;

    while (rc == CARET_OK && atomic_load(&sh->log_head) < r->end) {
        uint64_t head = atomic_load(&sh->log_head), seed;
        const uint8_t *rec;
        uint32_t size;
        memcpy(&seed, caret__ring_at(r->e, head - 8), 8);
        rc = record_at(r, head, seed, &rec, &size);
        if (rc == CARET_OK && size == 0)
            rc = caret__fail(CARET_E_IO, "%s: the log changed while it was read", r->e->log_path);
        if (rc == CARET_OK && head >= r->ahead.end)
            look_ahead(r, head);
        if (rc == CARET_OK)
            rc = apply(r, rec, size);
        tell(r, SCAN_PART + (1 - SCAN_PART) * part_of(r, head, r->end - r->begin));
    }
    return rc;
}

/*
 * Does the log go on with a record of the next generation, in place of its end?  Then a session has begun after the
 * checkpoint that is recovered, its slot was the newest one, and is damaged: its commits are not to be left out.
 */
static int no_later_session(struct replay *r)
{
    const uint8_t *rec;
    uint32_t size = 0;
    int rc = record_at(r, r->end, caret__chain_start(r->e->sh->generation + 1), &rec, &size);

    return rc == CARET_OK && size != 0 ? caret__meta_newest_damaged(r->e->path) : rc;
}

int caret__replay(struct caret__engine *e, uint64_t reach, bool part, bool damaged)
{
    struct caret__shared *sh = e->sh;
    struct replay r = {.e = e,
                       .begin = atomic_load(&sh->log_head),
                       .reach = reach,
                       .cap = sh->ring_size / 2,
                       .told = caret__now_ns()};
    uint64_t seed;
    int rc;

    r.file = (struct caret__logfile){caret__fd(&e->log_fd),
                                     e->log_path,
                                     atomic_load(&sh->log_base),
                                     atomic_load(&sh->log_size),
                                     e->log_tail,
                                     e->log_tail_from,
                                     e->log_tail_len};
    r.buf = malloc(r.cap);
    if (r.buf == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to recover it", e->path);
    memcpy(&seed, caret__ring_at(e, r.begin - 8), 8);
    rc = scan(&r, seed);
    if (rc == CARET_OK && r.end < reach)
        rc = caret__fail(
            CARET_E_CORRUPT,
            "%s: the log is damaged, or what tells how far it goes (a meta slot, shared memory): it "
            "ends at LSN %llu, not at %llu or after it",
            e->path, (unsigned long long)r.end, (unsigned long long)reach);
    if (rc == CARET_OK && damaged)
        rc = no_later_session(&r);
    if (rc == CARET_OK && part)
        rc = caret__checkpoint_as(e, true, false);
    CARET_FAULT("replay_parted");
    if (rc == CARET_OK)
        rc = caret__writer_lock(e);
    if (rc == CARET_OK) {
        e->replays = true;
        rc = grow_for_claims(&r);
        if (rc == CARET_OK)
            rc = mark_rest(&r, false);
        if (rc == CARET_OK)
            rc = apply_all(&r);
        e->replays = false;
        caret__writer_unlock(e);
    }
    caret__log_unmap(&r.mapped);
    free(r.claims);
    free(r.buf);
    return rc;
}
