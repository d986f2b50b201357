/*
 * write.c - writing to files and allocating in them, within the limits of the process.
 *
 * A process that writes beyond the largest file that it may have (ulimit -f) gets SIGXFSZ, which ends the process.  A
 * library must not do that to its host, and can't handle the signal either, as signals are the host's.  The file may be
 * larger than the limit though we never wrote so far: others, without a limit, grew it.  And the limit may have been
 * lowered since we looked.  So each write asks before it is made: getrlimit, 100 ns beside a write of microseconds.
 *
 *     over the limit   nothing is written; EFBIG, which becomes CARET_E_DISKFULL.  It concerns this process
 *                      only: the database is not marked as failed, another process can write the same.
 *
 * A write of which the kernel does a part is gone on with; EINTR is tried again.
 *
 * Much is written in pieces.  The page cache of some file systems takes memory in blocks as large as the
 * write, and those of 2 MiB have to be looked for: 600 MB took 0.13 s in pieces of 256 KiB, 0.2 to 0.4 s in
 * pieces of 1 MiB, and 0.5 to 2.7 s at once.
 */
#include "shm/write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "caret.h"

#define PIECE ((size_t)256 << 10)

uint64_t caret__file_size_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
                                                                                   : limit.rlim_cur;
}

bool caret__file_size_allowed(uint64_t bytes)
{
    return bytes <= caret__file_size_limit();
}

int caret__file_write(int fd, const void *buf, size_t len, uint64_t off)
{
    const uint8_t *p = buf;

    if (!caret__file_size_allowed(off + len))
        return EFBIG;
    while (len > 0) {
        ssize_t n = pwrite(fd, p, len < PIECE ? len : PIECE, (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        p += n;
        len -= (size_t)n;
        off += (uint64_t)n;
    }
    return 0;
}

static int allocate(int fd, uint64_t off, uint64_t len)
{
    return posix_fallocate(fd, (off_t)off, (off_t)len);
}

static int allocate_ahead(int fd, uint64_t off, uint64_t len)
{
    return fallocate(fd, 0, (off_t)off, (off_t)len) == 0 ? 0 : errno;
}

static int in_pieces(int fd, uint64_t off, uint64_t len, uint64_t piece,
                     int (*one)(int fd, uint64_t off, uint64_t len))
{
    while (len > 0) {
        uint64_t n = caret__min64(len, piece);
        int rc;
        do
            rc = one(fd, off, n);
        while (rc == EINTR);
        if (rc != 0)
            return rc;
        off += n;
        len -= n;
    }
    return 0;
}

int caret__file_allocate(int fd, uint64_t off, uint64_t len, uint64_t piece)
{
    return in_pieces(fd, off, len, piece, allocate);
}

int caret__file_allocate_ahead(int fd, uint64_t off, uint64_t len, uint64_t piece)
{
    return in_pieces(fd, off, len, piece, allocate_ahead);
}

int caret__write_code(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG ? CARET_E_DISKFULL : CARET_E_IO;
}
