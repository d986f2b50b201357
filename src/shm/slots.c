/*
 * slots.c - process slots: taking, reaping, asking which processes are alive.
 *
 *            caret__slot_take                     caret__slot_give_back
 *     FREE ---------------------> USED (nonce + 1) ---------------------> FREE
 *                                   |  process dies: the kernel drops the record lock
 *                                   v
 *                        USED, but its byte can be locked
 *                                   |  the next one that opens
 *                                   v
 *                               REAPING -- reaped --> FREE or USED (nonce + 1)
 *
 * A slot is identified by index and nonce: whoever remembers {slot, nonce} of a
 * process can never mistake a later one for it.  State and nonce are changed under
 * the gate, holding the slot's byte.  While a slot is being reaped its byte is
 * held and the nonce is still the dead one's, so others wait for the dead owner a
 * moment longer; if the reaper dies too, the next one starts again.
 *
 * What reaping means is told by the caller (open/open.c): repair by taking and
 * releasing the writer mutex, then the locks, then the reserved pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "shm/lockfile.h"
#include "shm/write.h"

void (*caret__reap_hook)(struct caret__engine *e, uint32_t slot, uint32_t nonce);

bool caret__fds_ours(const struct caret__engine *e)
{
    const struct caret__fd *all[] = {&e->data_fd, &e->lock_fd, &e->log_fd, &e->shm_fd};

    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (caret__fd_known(all[i]) && caret__fd(all[i]) < 0)
            return false;
    return true;
}

int caret__fds_check(const struct caret__engine *e)
{
    if (caret__fds_ours(e))
        return CARET_OK;
    return caret__fail(CARET_E_EVICTED,
                       "%s: this process has closed the descriptors of the database, as daemons do at their "
                       "start: close the handle, and open it again after that",
                       e->path);
}

bool caret__file_removed(const struct caret__fd *f)
{
    struct stat st;
    int fd = caret__fd(f);

    return !f->nameless && fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* Set or drop the record lock of a slot; false: somebody else has it. */
static bool lock_byte(struct caret__engine *e, uint32_t slot, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = CARET__LOCKBYTE_SLOT0 + (off_t)slot, .l_len = 1};
    int rc;

    do
        rc = fcntl(caret__fd(&e->lock_fd), F_SETLK, &lock);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

bool caret__slot_alive(struct caret__engine *e, uint32_t slot, uint32_t nonce)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = CARET__LOCKBYTE_SLOT0 + (off_t)slot, .l_len = 1};

    if (slot >= CARET__MAX_PROCS || atomic_load(&e->slots[slot].nonce) != nonce ||
        atomic_load(&e->slots[slot].state) == CARET__SLOT_FREE)
        return false;
    if (slot == e->slot && nonce == e->nonce && caret__attached_here(e))
        return true;
    if (fcntl(caret__fd(&e->lock_fd), F_GETLK, &lock) != 0)
        return true; /* can't be known: nothing of it is taken away */
    return lock.l_type != F_UNLCK;
}

/* The byte is ours.  What a dead owner left is cleared away; state is then FREE. */
static int reap(struct caret__engine *e, uint32_t slot, caret__reap_fn *fn)
{
    CARET__HELD(&e->lock_fd);
    struct caret__procslot *s = &e->slots[slot];
    int rc = CARET_OK;

    if (atomic_load(&s->state) != CARET__SLOT_FREE) {
        atomic_store(&s->state, CARET__SLOT_REAPING);
        CARET_FAULT("slot_reaping");
        rc = fn(e, slot, atomic_load(&s->nonce));
        CARET_FAULT("slot_reaped");
    }
    if (rc == CARET_OK)
        atomic_store(&s->state, CARET__SLOT_FREE);
    return rc;
}

static uint64_t wall_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void occupy(struct caret__engine *e, struct caret__procslot *s)
{
    uint32_t nonce = atomic_load(&s->nonce) + 1;

    nonce += nonce == 0;
    memset(s->command, 0, sizeof s->command);
    snprintf(s->command, sizeof s->command, "%s", program_invocation_short_name);
    atomic_store(&s->pid, (uint64_t)getpid());
    atomic_store(&s->start, wall_clock_ns());
    atomic_store(&s->sync_ms, atomic_load(&e->sync_ms));
    atomic_store(&s->flags, 0);
    atomic_store(&s->file_limit, caret__file_size_limit());
    _Atomic uint64_t *counters[] = {&s->gets,       &s->sets,        &s->commits, &s->restarts,
                                    &s->lock_waits, &s->checkpoints, &s->flushes, &s->repairs};
    for (unsigned i = 0; i < sizeof counters / sizeof counters[0]; i++)
        atomic_store(counters[i], 0);
    e->nonce = nonce;
    e->pid = getpid();
    atomic_store(&s->nonce, nonce);
    CARET_FAULT("slot_nonce");
    atomic_store(&s->state, CARET__SLOT_USED);
}

int caret__slot_take(struct caret__engine *e, caret__reap_fn *fn)
{
    CARET__HELD(&e->lock_fd);
    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        if (!lock_byte(e, i, F_WRLCK)) {
            if (errno != EAGAIN && errno != EACCES)
                return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot lock the lock file", e->lock_path);
            continue;
        }
        e->slot = i;
        e->nonce = atomic_load(&e->slots[i].nonce); /* reaping needs a slot to lock in the name of */
        int rc = reap(e, i, fn);
        if (rc != CARET_OK) {
            lock_byte(e, i, F_UNLCK);
            return rc;
        }
        occupy(e, &e->slots[i]);
        return CARET_OK;
    }
    return caret__fail(CARET_E_LIMIT, "%s: it is open in %u processes, which is the limit", e->path,
                       CARET__MAX_PROCS);
}

void caret__slot_give_back(struct caret__engine *e)
{
    if (caret__slot_ours(e))
        atomic_store(&e->slots[e->slot].state, CARET__SLOT_FREE);
    CARET_FAULT("slot_freed");
    lock_byte(e, e->slot, F_UNLCK);
}

/* ---------------------------------------------- page numbers reserved by processes */

void caret__reserved_drop(struct caret__shared *sh, struct caret__reserved *r)
{
    CARET__ASSERT(caret__writer_held(sh));
    __atomic_store_n(&r->count, 0, __ATOMIC_RELEASE);
    CARET_FAULT("run_unreserved");
    atomic_fetch_sub(&sh->nreserved, 1);
}

uint32_t caret__reserved_count(const struct caret__shared *sh)
{
    CARET__ASSERT(caret__writer_held(sh));
    uint32_t n = 0;

    for (unsigned i = 0; i < CARET__MAX_RESERVED; i++)
        n += sh->reserved[i].count != 0;
    return n;
}
