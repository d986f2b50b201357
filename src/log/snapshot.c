/*
 * snapshot.c - the readers of the tree of a checkpoint, and what is kept for them.
 *
 * The tree of a checkpoint lies in the data file and is never written again as
 * long as none of its page numbers is reused.  So a snapshot is nothing but a
 * promise of the others to leave those pages alone; it is read from the file
 * mapping, without page table, versions or retries, and costs writers nothing but
 * room.
 *
 * Which pages?  Those born in the snapshot's epoch s or before, and not dead by
 * then.  A page's word tells its epoch of birth, also when it is dead, and its
 * version is the LSN of the commit that it died in.  So a dead page belongs to s
 * if and only if
 *
 *     birth <= s   and   version > lsn(s)
 *
 * whatever became of it since.  Pages born after s are not kept: a snapshot keeps
 * as much room as its tree has, not as much as the writers write meanwhile.
 *
 *   begin    in the checkpoint role, after a checkpoint s: durable = released = s.
 *            In the own process slot: snap_epoch = s, then snap_lsn = lsn(s).
 *   release  in the role too (release.c): a page that died goes from `pending` to
 *            `held` if somebody keeps it, else to `free`.
 *   end      snap_lsn = the oldest one still read, 0 = none.  Without any mutex of
 *            the database: nobody is waited for.
 *   settle   the next checkpoint moves from `held` to `free` what nobody keeps any more.
 *
 * A process has one pair of words for all its snapshots: the oldest one's LSN and
 * the newest one's epoch.  Between the two more may be kept than is needed, never
 * less.  Ending stores them one after the other; every mixture of old and new is
 * a wider range than that of the snapshots left.  Beginning is in the role, so no
 * release sees half of it.
 *
 * Why in the role: pages that died in epoch s itself are not the snapshot's and
 * may be free already; those that die later must find the words.  Between the
 * end of the release of s and the begin of that of s + 1 both is true, and the role
 * is what keeps it so.
 *
 * Death.  The words stay.  Whoever looks for keepers asks, of each process that
 * has some, whether it is alive (its record lock), and stores 0 for the dead; so
 * does whoever reaps or takes the slot.  "Can't be known" counts as alive.  With
 * the death of all the segment is gone, and the words with it: in the images of the
 * bitmap held pages are free.
 *
 * A process that is alive but has lost its record locks (it closed all its
 * descriptors) is taken for dead; so its reads are checked afterwards: are the
 * words still there?  They are cleared before any page is freed, so what was read
 * before that is right (caret__snapshot_check).  It must not store them again, when
 * one of its snapshots ends: it changes them only from what it stored before.
 *
 * Invariants: no page of a snapshot whose words stand is in `free`; snap_lsn != 0
 * only in the slot of a process that holds a snapshot, or died with one.
 */
#include "log/snapshot.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/fault.h"
#include "log/background.h"
#include "log/checkpoint.h"
#include "shm/segment.h"

/* ------------------------------------------------------------- this process's */

/*
 * The own list changed, and is locked: what is its range?  False: what we stored is not there any more, we were
 * taken for dead; then it must not come back, for the pages may be gone.
 */
static bool store_words(struct caret__engine *e)
{
    struct caret__procslot *p = &e->slots[e->slot];
    uint64_t oldest = 0, was = e->snapshots_word;
    uint32_t newest = 0;

    for (const struct caret__snapshot *s = e->snapshots; s != NULL; s = s->next) {
        uint64_t lsn = atomic_load(&s->lsn);
        oldest = oldest == 0 || lsn < oldest ? lsn : oldest;
        newest = s->epoch > newest ? s->epoch : newest;
    }
    if (newest != 0)
        atomic_store(&p->snap_epoch, newest);
    CARET_FAULT("snapshot_epoch");
    bool stood = atomic_compare_exchange_strong(&p->snap_lsn, &was, oldest);
    if (stood || oldest == 0)
        e->snapshots_word = oldest;
    CARET_FAULT("snapshot_lsn");
    return stood;
}

static bool attached_as_then(const struct caret__snapshot *s)
{
    const struct caret__engine *e = s->e;
    return e->pg.id == s->attach && e->slot == s->slot && e->nonce == s->nonce && caret__attached_here(e);
}

/* In the checkpoint role; the checkpoint in sh->frozen is durable and released. */
static int enlist(struct caret__engine *e, void *arg)
{
    CARET__HELD(&e->sh->checkpoint);
    struct caret__snapshot *s = arg;
    const struct caret__frozen *f = &e->sh->frozen;

    s->epoch = f->epoch;
    s->chain_seed = f->chain_seed;
    atomic_store(&s->lsn, f->lsn);
    s->pages_mapped = f->npages;
    atomic_store(&s->ts.root, f->root);
    atomic_store(&s->ts.npages, f->npages);
    s->ts.depth = f->depth;
    s->ts.has_runs = f->has_runs;
    s->attach = e->pg.id;
    s->slot = e->slot;
    s->nonce = e->nonce;
    CARET_FAULT("snapshot_role");
    caret__local_lock(&e->snapshots_lock);
    s->next = e->snapshots;
    e->snapshots = s;
    bool ours = caret__slot_ours(e) && store_words(e);
    if (!ours)
        e->snapshots = s->next;
    caret__local_unlock(&e->snapshots_lock);
    return ours ? CARET_OK
                : caret__fail(CARET_E_EVICTED,
                              "%s: this process was taken for dead (were its descriptors closed?); end its "
                              "snapshots, or open again",
                              e->path);
}

/* Memory that reads as a page table in which nothing has ever happened, and bits of verified pages. */
static int make_pager(struct caret__snapshot *s)
{
    size_t table = s->pages_mapped * sizeof(struct caret__pte);
    void *p;

    s->map_len = table + CARET__BITMAP_WORDS(s->pages_mapped) * sizeof(uint64_t);
    p = mmap(NULL, s->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        s->map_len = 0;
        return caret__fail_errno(CARET_E_NOMEM, "%s: no memory for a snapshot", s->e->path);
    }
    s->pg = (struct caret__pager){.ptab = p,
                                  .file = s->e->pg.file,
                                  .ts = &s->ts,
                                  .applied = &s->lsn,
                                  .verified = (uint64_t *)((uint8_t *)p + table),
                                  .file_pages_mapped = &s->pages_mapped,
                                  .max_pages = (uint32_t)s->pages_mapped,
                                  .shared = true,
                                  .id = caret__store_id(),
                                  .path = s->e->path};
    return CARET_OK;
}

int caret__snapshot_open(struct caret__engine *e, struct caret__snapshot **out)
{
    struct caret__snapshot *s = calloc(1, sizeof *s);

    if (s == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory for a snapshot", e->path);
    s->e = e;
    int rc = caret__checkpoint_then(e, 0, enlist, s);
    if (rc != CARET_OK) {
        free(s);
        return rc;
    }
    rc = make_pager(s);
    if (rc != CARET_OK) {
        caret__snapshot_close(s);
        return rc;
    }
    *out = s;
    return CARET_OK;
}

static void delist(struct caret__snapshot *s)
{
    struct caret__engine *e = s->e;
    struct caret__snapshot **p;

    caret__local_lock(&e->snapshots_lock);
    for (p = &e->snapshots; *p != NULL && *p != s; p = &(*p)->next)
        continue;
    if (*p == s)
        *p = s->next;
    if (caret__slot_ours(e)) /* an evicted one's slot may be somebody else's */
        store_words(e);
    caret__local_unlock(&e->snapshots_lock);
    CARET_FAULT("snapshot_ended");
    caret__background_wake(e);
}

void caret__snapshot_close(struct caret__snapshot *s)
{
    if (attached_as_then(s))
        delist(s);
    if (s->map_len != 0)
        munmap(s->pg.ptab, s->map_len);
    free(s);
}

int caret__snapshot_check(const struct caret__snapshot *s)
{
    const struct caret__engine *e = s->e;

    if (!attached_as_then(s))
        return caret__fail(CARET_E_EVICTED,
                           "%s: the snapshot was begun by another process, the parent of this one; end it",
                           e->path);
    atomic_thread_fence(memory_order_acquire); /* the bytes were read before the words */
    uint64_t oldest = atomic_load_explicit(&e->slots[s->slot].snap_lsn, memory_order_relaxed);
    if (caret__slot_ours(e) && oldest != 0 && oldest <= atomic_load_explicit(&s->lsn, memory_order_relaxed))
        return CARET_OK;
    return caret__fail(
        CARET_E_EVICTED,
        "%s: this process was taken for dead (were its descriptors closed?), its snapshot is lost", e->path);
}

void caret__snapshots_forked(struct caret__engine *e)
{
    pthread_mutex_init(&e->snapshots_lock, NULL);
    e->snapshots = NULL;
    e->snapshots_word = 0;
}
