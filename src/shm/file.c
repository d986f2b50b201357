/*
 * file.c - descriptors that outlive a call.
 *
 * A host may close every descriptor it finds (closefrom(3), a program that makes
 * itself a daemon), and open files of its own, which get the same numbers.  To write
 * to, allocate in or close such a number would destroy what belongs to the host.  So
 * a descriptor that is kept from one call to the next is never used as a number:
 *
 *     caret__fd_set    remembers number, device and inode
 *     caret__fd        asks fstat whether the number is still that file; else -1
 *     caret__fd_close  asks too, and leaves alone what is not ours
 *     caret__fd_memory  makes a file that only its descriptor leads to
 *
 * The field with the number is named here only (tools/style.sh looks).  One fstat
 * costs some 150 ns and no use is on a hot path: growing, flushing, checkpoints,
 * values out of line, opening and closing.
 *
 * What can't be told: a thread that closes descriptors between the question and the
 * use, and a host that opens the very same file under the old number.
 */
#include "shm/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool caret__fd_set(struct caret__fd *f, int fd)
{
    struct stat st;

    *f = (struct caret__fd){0};
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return false;
    }
    *f = (struct caret__fd){.unasked = fd + 1, .dev = st.st_dev, .ino = st.st_ino};
    return true;
}

bool caret__fd_memory(struct caret__fd *f)
{
    int fd = memfd_create("caret", MFD_CLOEXEC), high = fd;

    if (fd >= 0 && fd <= 2) {
        high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        close(fd);
    }
    if (!caret__fd_set(f, high))
        return false;
    f->nameless = true;
    return true;
}

int caret__fd(const struct caret__fd *f)
{
    struct stat st;
    int before = errno;

    if (f->unasked != 0 && fstat(f->unasked - 1, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino) {
        errno = before;
        return f->unasked - 1;
    }
    errno = EBADF;
    return -1;
}

bool caret__fd_known(const struct caret__fd *f)
{
    return f->unasked != 0;
}

/* Is the number another file's, or nobody's?  Asked once: a second answer could contradict the first. */
static bool is_lost(const struct caret__fd *f)
{
    struct stat st;

    if (fstat(f->unasked - 1, &st) != 0)
        return errno == EBADF;
    return st.st_dev != f->dev || st.st_ino != f->ino;
}

void caret__fd_close(struct caret__fd *f)
{
    int before = errno;

    /* only EBADF tells that it is not open any more; whatever else fstat fails with, it must not stay open */
    if (f->unasked != 0 && !is_lost(f))
        close(f->unasked - 1);
    *f = (struct caret__fd){0};
    errno = before;
}
