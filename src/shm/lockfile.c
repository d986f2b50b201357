/*
 * lockfile.c - NAME.caret-lock: who may open, who is alive, where the segment is.
 *
 *     byte 0              the gate: held exclusively while opening, recovering, closing
 *     byte 1024 + i       held exclusively by the process in slot i for as long as it lives
 *     bytes 4096..5119    the record: path of the live segment (struct caret__lockrec)
 *
 * The locks are POSIX record locks.  The kernel drops them when their process
 * dies, however it dies, in whatever pid namespace; that is the one truth about
 * life and death here.  Three of their properties matter:
 *
 *   - They belong to the process: a second lock by the same process never
 *     conflicts.  So threads are kept apart by the registry's mutex, one engine
 *     stands for all openings in a process, and nobody asks about its own slot.
 *   - Closing *any* descriptor of the file drops all of the process's locks on it.
 *     So it is opened once, and closed only when this process is through with the
 *     database.  A second copy of the library in the process (one linked
 *     statically, one loaded) does not know of the first: it finds out, as an open
 *     file description's view (F_OFD_GETLK) shows the own process's locks too.  It
 *     then refuses, and leaves its descriptor open for ever.
 *   - A forked child inherits none.
 *
 * The last to close removes the file.  Whoever waited at the gate meanwhile has
 * locked a file without a name: it compares and starts again.
 *
 * The record is written with one pwrite inside one page, so a killed writer leaves
 * the old or the new one; a crc tells what is neither.
 */
#include "shm/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"

#define RIGHTS_TRIES 200 /* a second: arbitrary */

static const char magic[8] = "CARETLK\n";

/* ---------------------------------------------------------------- files */

int caret__open_high(const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 || fd > 2)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int error = errno;
    close(fd);
    errno = error;
    return high;
}

void caret__file_rights(int fd, uid_t uid, gid_t gid, mode_t mode)
{
    mode &= 0666;
    if (fchown(fd, uid, gid) != 0 && fchown(fd, (uid_t)-1, gid) != 0)
        mode &= ~(mode_t)0060; /* the group is another one than the data file's */
    if (fchmod(fd, mode) != 0)
        return; /* it stays as it was created: stricter */
}

/* ---------------------------------------------------------- record locks */

static struct flock range(short type, off_t start, off_t len)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

    return lock;
}

static int gate_lock(int fd, short type)
{
    struct flock lock = range(type, CARET__LOCKBYTE_GATE, 1);
    struct timespec nap = {0, 1000000};

    while (fcntl(fd, F_SETLKW, &lock) != 0) {
        if (errno == EDEADLK) /* the kernel sees rings by process, not by thread: not a real one */
            nanosleep(&nap, NULL);
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

/* Does another copy of the library in this process hold locks on the file? */
static bool held_by_own_process(int fd)
{
    off_t end = CARET__LOCKBYTE_SLOT0 + CARET__MAX_PROCS, at = 0;

    while (at < end) {
        struct flock lock = range(F_WRLCK, at, end - at);
        if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
            return false;
        if (lock.l_pid == getpid())
            return true;
        if (lock.l_len == 0)
            return false;
        at = caret__max64((uint64_t)at + 1, (uint64_t)(lock.l_start + lock.l_len));
    }
    return false;
}

/* ------------------------------------------------------------ open, gate */

static bool is_at_path(const struct caret__engine *e)
{
    struct stat st;

    return lstat(e->lock_path, &st) == 0 && st.st_dev == e->lock_fd.dev && st.st_ino == e->lock_fd.ino;
}

/*
 * Open what is there; -1 with errno.  It may not be ours to open for the moment that its maker takes from creating
 * it to giving it the rights of the data file: so long it is empty.
 */
static int open_there(const char *path, int access)
{
    struct timespec nap = {0, 5000000};

    for (int i = 0;; i++) {
        struct stat st;
        int fd = caret__open_high(path, access | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
        if (fd >= 0 || errno != EACCES || i == RIGHTS_TRIES)
            return fd;
        if (lstat(path, &st) == 0 && st.st_size != 0) {
            errno = EACCES;
            return -1;
        }
        nanosleep(&nap, NULL);
    }
}

/* Open or create; -1 with errno. */
static int open_file(const char *path, const struct stat *like)
{
    for (;;) {
        int fd = open_there(path, O_RDWR);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = caret__open_high(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, like == NULL ? 0666 : 0600);
        if (fd >= 0 && like != NULL)
            caret__file_rights(fd, like->st_uid, like->st_gid, like->st_mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
}

/* The file is open (or -1, errno): take the gate.  CARET_NONE: the file was removed meanwhile. */
static int begin(struct caret__engine *e, int fd, short type)
{
    struct stat st;

    e->lock_fd = (struct caret__fd){0};
    if (fd < 0)
        return caret__fail_errno(CARET_E_OPEN, "%s: lock file", e->lock_path);
    if (held_by_own_process(fd)) /* not closed: that would drop the other copy's locks */
        return caret__fail(CARET_E_BUSY,
                           "%s: in use by another copy of the library in this process, "
                           "or its data file was replaced while in use",
                           e->path);
    if (!caret__fd_set(&e->lock_fd, fd) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return caret__fail(CARET_E_OPEN, "%s: lock file: not a regular file", e->lock_path);
    if (gate_lock(fd, type) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot lock the lock file", e->lock_path);
    return is_at_path(e) ? CARET_OK : CARET_NONE;
}

int caret__lockfile_open(struct caret__engine *e, const struct stat *like)
{
    struct stat st;
    int rc;

    while ((rc = begin(e, open_file(e->lock_path, like), F_WRLCK)) == CARET_NONE)
        caret__lockfile_close(e);
    if (rc != CARET_OK)
        caret__lockfile_close(e);
    else if (like != NULL && fstat(caret__fd(&e->lock_fd), &st) == 0 &&
             st.st_size == 0) /* its maker may have died before */
        caret__file_rights(caret__fd(&e->lock_fd), like->st_uid, like->st_gid, like->st_mode);
    return rc;
}

int caret__lockfile_look(struct caret__engine *e)
{
    for (;;) {
        int fd = open_there(e->lock_path, O_RDONLY);
        if (fd < 0 && errno == ENOENT)
            return CARET_NONE;
        int rc = begin(e, fd, F_RDLCK);
        if (rc == CARET_OK)
            return rc;
        caret__lockfile_close(e);
        if (rc != CARET_NONE)
            return rc;
    }
}

int caret__gate_take(struct caret__engine *e)
{
    int rc = caret__fds_check(e);

    if (rc != CARET_OK)
        return rc;
    if (gate_lock(caret__fd(&e->lock_fd), F_WRLCK) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot lock the lock file", e->lock_path);
    if (is_at_path(e))
        return CARET_OK;
    return caret__fail(CARET_E_EVICTED, "%s: the lock file was removed while the database was open",
                       e->lock_path);
}

void caret__gate_release(struct caret__engine *e)
{
    struct flock lock = range(F_UNLCK, CARET__LOCKBYTE_GATE, 1);

    fcntl(caret__fd(&e->lock_fd), F_SETLK, &lock);
}

void caret__lockfile_close(struct caret__engine *e)
{
    caret__fd_close(&e->lock_fd);
}

void caret__lockfile_remove(struct caret__engine *e)
{
    if (is_at_path(e))
        unlink(e->lock_path);
}

bool caret__others_alive(struct caret__engine *e, pid_t *pid)
{
    struct flock lock = range(F_WRLCK, CARET__LOCKBYTE_SLOT0, CARET__MAX_PROCS);

    *pid = 0;
    if (fcntl(caret__fd(&e->lock_fd), F_GETLK, &lock) != 0)
        return true; /* can't be known: assume the worst */
    if (lock.l_type == F_UNLCK)
        return false;
    *pid = lock.l_pid;
    return true;
}

/* ---------------------------------------------------------------- record */

/*
 * A string that differs after each boot; "" on a system that can't tell it.  An error if it only
 * can't be told now: who took that for a reboot would drop commits that are in the segment.
 */
static int boot_id(const struct caret__engine *e, char id[40])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, id, 36) : 0;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR))
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot read the identity of the boot", e->path);
    memset(id + (n > 0 ? n : 0), 0, (size_t)(40 - (n > 0 ? n : 0)));
    if (fd >= 0)
        close(fd);
    return CARET_OK;
}

static uint32_t record_crc(const struct caret__lockrec *rec)
{
    return caret__crc32c(0, rec, offsetof(struct caret__lockrec, crc));
}

int caret__lockrec_read(struct caret__engine *e, struct caret__lockrec *rec)
{
    char boot[40];

    ssize_t n = pread(caret__fd(&e->lock_fd), rec, sizeof *rec, CARET__LOCKREC_OFFSET);
    if (n < 0)
        return caret__fail_errno(CARET_E_IO, "%s: cannot be read", e->lock_path);
    if (n != (ssize_t)sizeof *rec)
        return CARET_NONE;
    if (memcmp(rec->magic, magic, 8) != 0 || rec->crc != record_crc(rec))
        return CARET_NONE;
    int rc = boot_id(e, boot);
    if (rc != CARET_OK)
        return rc;
    if (boot[0] == '\0' || memcmp(boot, rec->boot, sizeof boot) != 0)
        return CARET_NONE;
    if (rec->seg_path[0] != '/' || memchr(rec->seg_path, '\0', sizeof rec->seg_path) == NULL)
        return CARET_NONE;
    return CARET_OK;
}

static int put_record(struct caret__engine *e, const struct caret__lockrec *rec)
{
    ssize_t n;

    do
        n = pwrite(caret__fd(&e->lock_fd), rec, sizeof *rec, CARET__LOCKREC_OFFSET);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *rec)
        return CARET_OK;
    return caret__fail_errno(n < 0 && errno != ENOSPC && errno != EDQUOT ? CARET_E_IO : CARET_E_DISKFULL,
                             "%s: cannot write", e->lock_path);
}

int caret__lockrec_write(struct caret__engine *e, const uint8_t uuid[16])
{
    struct caret__lockrec rec;
    struct stat st;

    memset(&rec, 0, sizeof rec);
    if (fstat(caret__fd(&e->shm_fd), &st) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: shared segment", e->seg_path);
    if (strlen(e->seg_path) >= sizeof rec.seg_path)
        return caret__fail(CARET_E_SHM, "%s: the path of shm_dir is too long", e->seg_path);
    memcpy(rec.magic, magic, sizeof rec.magic);
    memcpy(rec.uuid, uuid, sizeof rec.uuid);
    rec.dev = e->dev;
    rec.ino = e->ino;
    rec.seg_dev = st.st_dev;
    rec.seg_ino = st.st_ino;
    int rc = boot_id(e, rec.boot);
    if (rc != CARET_OK)
        return rc;
    snprintf(rec.seg_path, sizeof rec.seg_path, "%s", e->seg_path);
    rec.crc = record_crc(&rec);
    return put_record(e, &rec);
}

int caret__lockrec_clear(struct caret__engine *e)
{
    struct caret__lockrec rec;

    memset(&rec, 0, sizeof rec);
    return put_record(e, &rec);
}
