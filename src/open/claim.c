/*
 * claim.c - record locks on the data file itself.
 *
 *     byte CLAIM + i        write-locked by the process in slot i
 *     byte CLAIM + slots    write-locked while somebody opens it first or closes it last
 *
 * No file is so long that it has these bytes.  They serve two processes that can't
 * ask the lock file: one that came by another path (a second mount of the file
 * alone) has another lock file, and one that may only read the data file has none.
 *
 *   first opener   locks all of them, and reads the meta pages after that; gives back all but its slot's
 *                  when it is open
 *   joiner         locks the byte of its slot
 *   last closer    locks the last byte; all go with the descriptor
 *   reader         locks nothing: it asks which are *write*-locked
 *
 * A process that may only read a file can put read locks on it, and so keep others from
 * write-locking.  The kernel knows no lock that would be stronger.  So a claim is made
 * if it can be made, and nobody waits for a read lock: to ask for a read lock (F_GETLK)
 * tells of write locks alone, which are those of writers.  What such a reader takes
 * away is what claims are for: opening by a second path is then refused for its log is
 * missing there, not for the claim, and other readers without the lock file can't tell
 * who is alive (open/observe.c says what they do then).
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "base/error.h"
#include "open/open.h"
#include "shm/layout.h"
#include "shm/lockfile.h"

#define CLAIM      ((off_t)1 << 62)
#define CLAIM_GATE (CLAIM + CARET__MAX_PROCS)
#define ALL        (CARET__MAX_PROCS + 1)
#define TRIES      2000 /* two seconds: arbitrary */

/* 0 or errno. */
static int lock(const struct caret__engine *e, short type, off_t start, off_t len)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
    int rc;

    do
        rc = fcntl(caret__fd(&e->data_fd), F_SETLK, &lock);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

static int answer(int rc, const struct flock *lock, pid_t *pid)
{
    if (rc != 0 || lock->l_type == F_UNLCK)
        return rc != 0 ? -1 : 0;
    *pid = lock->l_pid;
    return 1;
}

/* Would another process's lock be in the way of one of that type?  1, 0, -1: that can't be known (errno). */
static int in_the_way(const struct caret__engine *e, short type, off_t start, off_t len, pid_t *pid)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

    return answer(fcntl(caret__fd(&e->data_fd), F_GETLK, &lock), &lock, pid);
}

int caret__data_claimed(const struct caret__engine *e, pid_t *pid)
{
    return in_the_way(e, F_RDLCK, CLAIM, ALL, pid);
}

int caret__data_obstructed(const struct caret__engine *e)
{
    pid_t pid;

    return in_the_way(e, F_WRLCK, CLAIM, ALL, &pid);
}

int caret__data_gate_busy(const struct caret__engine *e, pid_t *pid)
{
    return in_the_way(e, F_RDLCK, CLAIM_GATE, 1, pid);
}

static int cannot_lock(const struct caret__engine *e, int error)
{
    errno = error;
    return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot lock it", e->path);
}

/* Is all that is in the way a reader's lock?  1, 0, -1 (errno). */
static int only_readers(const struct caret__engine *e, off_t start, off_t len)
{
    pid_t pid;
    int writer = in_the_way(e, F_RDLCK, start, len, &pid);

    return writer == 0 ? caret__data_obstructed(e) : writer > 0 ? 0 : -1;
}

/* Wait for a write lock that is in the way, not for a read lock: CARET_NONE. */
static int claim(const struct caret__engine *e, off_t start, off_t len)
{
    for (int i = 0; i < TRIES; i++) {
        int error = lock(e, F_WRLCK, start, len);
        if (error == 0)
            return CARET_OK;
        if (error != EAGAIN && error != EACCES)
            return cannot_lock(e, error);
        int readers = only_readers(e, start, len);
        if (readers != 0)
            return readers > 0 ? CARET_NONE : cannot_lock(e, errno);
        caret__nap(1000000); /* one that is dying: the kernel takes its locks back one by one */
    }
    return caret__fail(CARET_E_BUSY,
                       "%s: in use by a process that has another lock file: through another path (a second "
                       "mount of the file?), or %s was removed",
                       e->path, e->lock_path);
}

int caret__data_claimed_by_any(int fd, pid_t *pid)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = CLAIM, .l_len = ALL};

    return answer(fcntl(fd, F_OFD_GETLK, &lock), &lock, pid);
}

int caret__data_claim(const struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    int rc = claim(e, CLAIM, ALL);

    if (rc == CARET_NONE) /* a reader's lock: what can be had of the rest */
        rc = claim(e, CLAIM_GATE, 1);
    return rc == CARET_NONE ? CARET_OK : rc;
}

int caret__data_claim_slot(const struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    off_t own = CLAIM + (off_t)e->slot;
    int rc = claim(e, own, 1);

    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    int error = own > CLAIM ? lock(e, F_UNLCK, CLAIM, own - CLAIM) : 0;
    if (error == 0)
        error = lock(e, F_UNLCK, own + 1, CLAIM_GATE - own);
    return error == 0 ? CARET_OK
                      : cannot_lock(e, error); /* what is left of ours would keep the next from joining */
}

void caret__data_gate(const struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    lock(e, F_WRLCK, CLAIM_GATE, 1);
}
