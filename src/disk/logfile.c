/*
 * logfile.c - bytes of the log file at an LSN.
 *
 * The log goes round: an LSN lies at (LSN - base) % size, and what is read or written there may be in two
 * pieces, at the end of the file and at its beginning.  A reader whose file lacks what only the ring of the
 * last users has gets that from `tail`, in memory.
 */
#include "disk/logfile.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "shm/write.h"

static int log_error(const struct caret__logfile *f, const char *what, uint64_t lsn)
{
    return caret__fail_errno(caret__write_code(errno), "%s: cannot %s at LSN %llu", f->path, what,
                             (unsigned long long)lsn);
}

/* Bytes that are contiguous in the file from an LSN on, at most len; *off: where. */
static size_t contiguous(const struct caret__logfile *f, uint64_t lsn, size_t len, off_t *off)
{
    uint64_t at = (lsn - f->base) % f->size;

    *off = (off_t)at;
    return caret__min(len, f->size - at);
}

/* Bytes at an LSN that the tail has: copied; 0: the file has them, *most at most before the tail begins. */
static size_t from_tail(const struct caret__logfile *f, uint64_t lsn, uint8_t *p, size_t *most)
{
    if (f->tail_len == 0 || lsn >= f->tail_from + f->tail_len)
        return 0;
    if (lsn < f->tail_from) {
        *most = caret__min(*most, f->tail_from - lsn);
        return 0;
    }
    size_t n = caret__min(*most, f->tail_from + f->tail_len - lsn);
    memcpy(p, f->tail + (lsn - f->tail_from), n);
    return n;
}

int caret__log_read(const struct caret__logfile *f, uint64_t lsn, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len > 0) {
        off_t off;
        size_t most = len, copied = from_tail(f, lsn, p, &most);
        if (copied != 0) {
            p += copied;
            lsn += copied;
            len -= copied;
            continue;
        }
        most = contiguous(f, lsn, most, &off);
        ssize_t n = pread(f->fd, p, most, off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return log_error(f, "read", lsn);
        if (n == 0)
            return caret__fail(CARET_E_CORRUPT, "%s: the log is shorter than it must be", f->path);
        p += n;
        lsn += (uint64_t)n;
        len -= (size_t)n;
    }
    return CARET_OK;
}

const uint8_t *caret__log_map(const struct caret__logfile *f, uint64_t lsn, size_t len,
                              struct caret__mapping *m)
{
    const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
    struct stat st;
    off_t off;
    size_t first = contiguous(f, lsn, len, &off), skip = (size_t)off % unit;

    *m = (struct caret__mapping){NULL, 0};
    if (f->tail_len != 0 || (first < len && f->size % unit != 0) || fstat(f->fd, &st) != 0 ||
        (uint64_t)st.st_size < f->size)
        return NULL;
    uint8_t *p = mmap(NULL, skip + len, PROT_READ, MAP_SHARED, f->fd, off - (off_t)skip);
    if (p == MAP_FAILED)
        return NULL;
    *m = (struct caret__mapping){p, skip + len};
    if (first < len && /* the rest is where the file begins */
        mmap(p + skip + first, len - first, PROT_READ, MAP_SHARED | MAP_FIXED, f->fd, 0) == MAP_FAILED) {
        caret__log_unmap(m);
        return NULL;
    }
    return p + skip;
}

void caret__log_unmap(struct caret__mapping *m)
{
    if (m->at != NULL)
        munmap(m->at, m->len);
    *m = (struct caret__mapping){NULL, 0};
}

int caret__log_write(const struct caret__logfile *f, uint64_t lsn, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    while (len > 0) {
        off_t off;
        size_t most = contiguous(f, lsn, len, &off);
        errno = caret__file_write(f->fd, p, most, (uint64_t)off);
        if (errno != 0)
            return log_error(f, "write", lsn);
        p += most;
        lsn += most;
        len -= most;
    }
    return CARET_OK;
}

void caret__log_set_back(struct caret__shared *sh)
{
    uint64_t written = atomic_load(&sh->log_written), head = atomic_load(&sh->log_head);

    if (written > head && atomic_compare_exchange_strong(&sh->log_written, &written, head))
        atomic_store(&sh->ring_from, head);
}
