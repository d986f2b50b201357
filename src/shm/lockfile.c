/*
 * lockfile.c - NAME.caret-lock: rights to open, living processes, the place of the segment.
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
 * Whoever can open a file for reading can put read locks on it, and so keep the gate and the slots
 * from others for ever.  So the file can only be opened by those who may write the data file; one that
 * somebody else made is refused.  Readers do without (open/observe.c).
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

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"
#include "shm/layout.h"
#include "shm/write.h"

#define RIGHTS_TRIES 200  /* a second: arbitrary */
#define MEETINGS     1000 /* arbitrary: as many others may have removed it, one after the other */

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
    struct stat st;

    mode &= 0666;
    if (fstat(fd, &st) == 0 && (st.st_mode & 0777 & ~mode) != 0)
        fchmod(fd, st.st_mode & mode); /* before it is another group's */
    if (fchown(fd, uid, gid) != 0 && fchown(fd, (uid_t)-1, gid) != 0)
        mode &= ~(mode_t)0060; /* the group is another one than the data file's */
    if (fchmod(fd, mode) != 0)
        return; /* it stays as it was created: stricter */
}

/* Whoever may write the data file may read and write the lock file; others may not even lock it. */
static mode_t for_writers(mode_t mode)
{
    return 0600 | ((mode & S_IWGRP) != 0 ? 0060 : 0) | ((mode & S_IWOTH) != 0 ? 0006 : 0);
}

static void follow(const struct caret__fd *f, const struct stat *like, mode_t mode)
{
    struct stat st;
    int fd = caret__fd(f);

    if (fd >= 0 && fstat(fd, &st) == 0 &&
        (st.st_uid != like->st_uid || st.st_gid != like->st_gid || (st.st_mode & 0777) != (mode & 0666)))
        caret__file_rights(fd, like->st_uid, like->st_gid, mode);
}

void caret__rights_follow(const struct caret__engine *e)
{
    struct stat like;
    int fd = caret__fd(&e->data_fd);

    if (fd < 0 || fstat(fd, &like) != 0)
        return;
    follow(&e->lock_fd, &like, for_writers(like.st_mode));
    follow(&e->log_fd, &like, like.st_mode);
    follow(&e->shm_fd, &like, like.st_mode);
}

bool caret__owner_trusted(const struct stat *st, uid_t uid, gid_t gid, mode_t mode)
{
    return st->st_uid == uid || st->st_uid == 0 || st->st_uid == geteuid() ||
           ((mode & S_IWGRP) != 0 && st->st_gid == gid) || (mode & S_IWOTH) != 0;
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
    int rc, error;

    caret__away();
    while ((rc = fcntl(fd, F_SETLKW, &lock)) != 0 && (errno == EDEADLK || errno == EINTR))
        if (errno == EDEADLK) /* the kernel sees rings by process, not by thread: not a real one */
            caret__nap(1000000);
    error = errno;
    caret__back();
    errno = error;
    return rc;
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

/* 1, or 0: it was removed or replaced, or -1: that can't be told (errno). */
static int is_at_path(const struct caret__engine *e)
{
    struct stat st;

    if (caret__in_memory(e))
        return 1;
    if (lstat(e->lock_path, &st) != 0)
        return errno == ENOENT ? 0 : -1;
    return st.st_dev == e->lock_fd.dev && st.st_ino == e->lock_fd.ino;
}

/* CARET_NONE: it was removed or replaced.  SYSTEM: that can't be told. */
static int at_path(const struct caret__engine *e)
{
    int there = is_at_path(e);

    if (there < 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot be looked at", e->lock_path);
    return there > 0 ? CARET_OK : CARET_NONE;
}

/*
 * Open what is there; -1 with errno.  It may not be ours to open for the moment that its maker takes from creating
 * it to giving it the rights of the data file: so long it is empty.
 */
static int open_there(const char *path, int access)
{
    for (int i = 0;; i++) {
        struct stat st;
        int fd = caret__open_high(path, access | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
        if (fd >= 0 || errno != EACCES || i == RIGHTS_TRIES)
            return fd;
        if (lstat(path, &st) == 0 && st.st_size != 0) {
            errno = EACCES;
            return -1;
        }
        caret__nap(5000000);
    }
}

/* It is ours and new.  Without a data file to be like, its mode says what the umask left of the right to write. */
static void give_rights(int fd, const struct stat *like)
{
    struct stat st;

    if (like == NULL && fstat(fd, &st) == 0)
        like = &st;
    if (like != NULL)
        caret__file_rights(fd, like->st_uid, like->st_gid, for_writers(like->st_mode));
}

/* Open or create; -1 with errno. */
static int open_file(const char *path, const struct stat *like)
{
    for (int i = 0;; i++) {
        int fd = open_there(path, O_RDWR);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = caret__open_high(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, like == NULL ? 0622 : 0600);
        if (fd >= 0)
            give_rights(fd, like);
        if (fd >= 0 || errno != EEXIST || i == MEETINGS)
            return fd;
    }
}

/* The file is open (or -1, errno): take it over. */
static int begin(struct caret__engine *e, int fd)
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
        return caret__fail_for(EINVAL, CARET_E_OPEN, "%s: lock file: not a regular file", e->lock_path);
    return CARET_OK;
}

/* Whoever may write the folder could have put it there, to keep the gate shut for ever or to tell of a false
 * segment. */
static int trust(const struct caret__engine *e, const struct stat *like)
{
    struct stat st;

    if (fstat(caret__fd(&e->lock_fd), &st) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot be looked at", e->lock_path);
    if (caret__owner_trusted(&st, like->st_uid, like->st_gid, like->st_mode))
        return CARET_OK;
    return caret__fail(
        CARET_E_OPEN,
        "%s: belongs to user %u, and that user may not write the database: if that was given to another "
        "user, give this file, its log and its shared memory (caret shm) to the same; else, "
        "if nobody uses it, remove this file",
        e->lock_path, (unsigned)st.st_uid);
}

static int take_gate(struct caret__engine *e)
{
    CARET__NOT_HELD(&e->lock_fd);
    if (gate_lock(caret__fd(&e->lock_fd), F_WRLCK) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot lock the lock file", e->lock_path);
    caret__held_note(&e->lock_fd);
    return CARET_OK;
}

int caret__lockfile_memory(struct caret__engine *e)
{
    CARET__NOT_HELD(&e->lock_fd);
    if (!caret__fd_memory(&e->lock_fd))
        return caret__fail_errno(CARET_E_SHM, "%s: cannot be made", e->lock_path);
    int rc = take_gate(e);
    if (rc != CARET_OK)
        caret__lockfile_close(e);
    return rc;
}

/* Open it and take the gate.  CARET_NONE: it was removed meanwhile. */
static int open_and_lock(struct caret__engine *e, const struct stat *like)
{
    CARET__NOT_HELD(&e->lock_fd);
    struct stat here = {.st_uid = geteuid(), .st_gid = getegid(), .st_mode = S_IWOTH};
    int rc = begin(e, open_file(e->lock_path, like));

    if (rc == CARET_OK)
        rc = trust(e, like != NULL ? like : &here); /* no data file: once there is one it is asked again */
    if (rc == CARET_OK)
        rc = take_gate(e);
    return rc == CARET_OK ? at_path(e) : rc;
}

int caret__lockfile_open(struct caret__engine *e, const struct stat *like)
{
    CARET__NOT_HELD(&e->lock_fd);
    int rc = CARET_NONE;

    for (int i = 0; i < MEETINGS && rc == CARET_NONE; i++) {
        rc = open_and_lock(e, like);
        if (rc != CARET_OK)
            caret__lockfile_close(e);
    }
    if (rc == CARET_NONE)
        return caret__fail(CARET_E_BUSY, "%s: was removed or replaced each time that it was opened",
                           e->lock_path);
    return rc;
}

int caret__lockfile_trust(const struct caret__engine *e)
{
    struct stat like;

    if (fstat(caret__fd(&e->data_fd), &like) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot be looked at", e->path);
    return trust(e, &like);
}

int caret__lockfile_look(struct caret__engine *e)
{
    int fd = caret__open_high(e->lock_path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);

    if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM))
        return CARET_NONE;
    int rc = begin(e, fd);
    if (rc != CARET_OK)
        caret__lockfile_close(e);
    return rc;
}

/* Is a lock of another process in the way?  1, 0, -1: that can't be known (errno). */
static int in_the_way(const struct caret__engine *e, struct flock lock, pid_t *pid)
{
    *pid = 0;
    if (fcntl(caret__fd(&e->lock_fd), F_GETLK, &lock) != 0)
        return -1;
    if (lock.l_type == F_UNLCK)
        return 0;
    *pid = lock.l_pid;
    return 1;
}

int caret__gate_busy(const struct caret__engine *e, pid_t *pid)
{
    CARET__NOT_HELD(&e->lock_fd);
    return in_the_way(e, range(F_RDLCK, CARET__LOCKBYTE_GATE, 1), pid);
}

int caret__gate_take(struct caret__engine *e)
{
    CARET__NOT_HELD(&e->lock_fd);
    int rc = caret__fds_check(e);

    if (rc == CARET_OK)
        rc = take_gate(e);
    if (rc != CARET_OK)
        return rc;
    rc = at_path(e);
    if (rc == CARET_OK)
        return rc;
    if (rc != CARET_NONE) {
        caret__gate_release(e);
        return rc;
    }
    return caret__fail(CARET_E_EVICTED, "%s: the lock file was removed while the database was open",
                       e->lock_path);
}

void caret__gate_release(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    struct flock lock = range(F_UNLCK, CARET__LOCKBYTE_GATE, 1);

    caret__held_drop(&e->lock_fd);
    fcntl(caret__fd(&e->lock_fd), F_SETLK, &lock);
}

void caret__lockfile_close(struct caret__engine *e)
{
    caret__held_drop(&e->lock_fd);
    caret__fd_close(&e->lock_fd);
}

void caret__lockfile_remove(struct caret__engine *e)
{
    CARET__HELD(&e->lock_fd);
    if (!caret__in_memory(e) && is_at_path(e) > 0)
        unlink(e->lock_path);
}

int caret__others_alive(struct caret__engine *e, pid_t *pid)
{
    CARET__ASSERT(e->observes || caret__holds(&e->lock_fd));
    return in_the_way(e, range(F_WRLCK, CARET__LOCKBYTE_SLOT0, CARET__MAX_PROCS), pid);
}

/* ---------------------------------------------------------------- record */

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/*
 * A string that differs after each boot; "" on a system that can't tell it: no such file, or not for us.  An error if
 * it only can't be told now: whoever took that for a reboot would drop commits that are in the segment.
 */
static int boot_id(const char *path, char id[40])
{
    int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    bool never = fd < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM);
    ssize_t n = fd >= 0 ? read(fd, id, 36) : 0;
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    if ((fd < 0 && !never) || n < 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: cannot read the identity of the boot (" BOOT_ID ")",
                                 path);
    memset(id + n, 0, (size_t)(40 - n));
    return CARET_OK;
}

static uint32_t record_crc(const struct caret__lockrec *rec)
{
    return caret__crc32c(0, rec, offsetof(struct caret__lockrec, crc));
}

static bool makes_sense(const struct caret__lockrec *rec)
{
    return memcmp(rec->magic, magic, 8) == 0 && rec->crc == record_crc(rec) && rec->seg_path[0] == '/' &&
           memchr(rec->seg_path, '\0', sizeof rec->seg_path) != NULL;
}

/* Whole, and of this boot?  CARET_NONE: no.  SYSTEM: the boot can't be told. */
static int is_of_this_boot(const char *path, const struct caret__lockrec *rec)
{
    char boot[40];

    if (!makes_sense(rec))
        return CARET_NONE;
    int rc = boot_id(path, boot);
    if (rc != CARET_OK)
        return rc;
    if (boot[0] == '\0' && rec->boot[0] != '\0')
        return caret__fail(
            CARET_E_SYSTEM,
            "%s: its shared memory %s may hold commits, unless the machine was restarted since, "
            "which can't be told here, without " BOOT_ID ": open it where that can be read",
            path, rec->seg_path);
    return boot[0] != '\0' && memcmp(boot, rec->boot, sizeof boot) == 0 ? CARET_OK : CARET_NONE;
}

int caret__lockrec_read(struct caret__engine *e, struct caret__lockrec *rec)
{
    CARET__ASSERT(e->observes || caret__holds(&e->lock_fd));
    bool near = caret__fd_known(&e->lock_fd);

    if (!near && (e->log_end == 0 || !caret__fd_known(&e->log_fd)))
        return CARET_NONE;
    ssize_t n = pread(caret__fd(near ? &e->lock_fd : &e->log_fd), rec, sizeof *rec,
                      near ? CARET__LOCKREC_OFFSET : (off_t)e->log_end);
    if (n < 0)
        return caret__fail_errno(CARET_E_IO, "%s: cannot be read", near ? e->lock_path : e->log_path);
    if (n != (ssize_t)sizeof *rec)
        return CARET_NONE;
    return is_of_this_boot(e->path, rec);
}

int caret__lockrec_parse(int fd, const char *name, struct caret__lockrec *rec)
{
    ssize_t n = pread(fd, rec, sizeof *rec, CARET__LOCKREC_OFFSET);

    if (n < 0)
        return caret__fail_errno(CARET_E_IO, "%s: cannot be read", name);
    return n == (ssize_t)sizeof *rec ? is_of_this_boot(name, rec) : CARET_NONE;
}

static int put_record(const struct caret__fd *f, const char *path, off_t at, const struct caret__lockrec *rec)
{
    errno = caret__file_write(caret__fd(f), rec, sizeof *rec, (uint64_t)at);
    return errno == 0 ? CARET_OK : caret__fail_errno(caret__write_code(errno), "%s: cannot write", path);
}

int caret__lockrec_make(struct caret__engine *e, const uint8_t uuid[16], struct caret__lockrec *rec)
{
    struct stat st;

    memset(rec, 0, sizeof *rec);
    if (fstat(caret__fd(&e->shm_fd), &st) != 0)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: shared segment", e->seg_path);
    if (strlen(e->seg_path) >= sizeof rec->seg_path)
        return caret__fail(CARET_E_SHM, "%s: the path of shm_dir is too long", e->seg_path);
    memcpy(rec->magic, magic, sizeof rec->magic);
    memcpy(rec->uuid, uuid, sizeof rec->uuid);
    rec->dev = e->dev;
    rec->ino = e->ino;
    rec->seg_dev = st.st_dev;
    rec->seg_ino = st.st_ino;
    int rc = boot_id(e->path, rec->boot);
    if (rc != CARET_OK)
        return rc;
    snprintf(rec->seg_path, sizeof rec->seg_path, "%s", e->seg_path);
    rec->crc = record_crc(rec);
    return CARET_OK;
}

int caret__lockrec_write(struct caret__engine *e, const struct caret__lockrec *rec)
{
    CARET__HELD(&e->lock_fd);
    int rc = CARET_OK;

    if (caret__fd_known(&e->log_fd)) /* for readers, first: whoever sees it sees the other one */
        rc = put_record(&e->log_fd, e->log_path, (off_t)atomic_load(&e->sh->log_size), rec);
    return rc == CARET_OK ? put_record(&e->lock_fd, e->lock_path, CARET__LOCKREC_OFFSET, rec) : rc;
}

int caret__lockrec_repeat(struct caret__engine *e, uint64_t end)
{
    struct caret__lockrec rec;
    int rc = caret__in_memory(e) ? CARET_NONE : caret__lockrec_make(e, e->sh->uuid, &rec);

    if (rc == CARET_NONE) /* nobody else can come */
        return CARET_OK;

    return rc == CARET_OK ? put_record(&e->log_fd, e->log_path, (off_t)end, &rec) : rc;
}

/* The length of the file says whether a record was ever written: it stays. */
int caret__lockrec_reserve(struct caret__engine *e)
{
    int rc;

    if (!caret__file_size_allowed(CARET__LOCKREC_OFFSET + sizeof(struct caret__lockrec)))
        return caret__fail(CARET_E_DISKFULL, "%s: larger than this process may write (ulimit -f)",
                           e->lock_path);
    do
        rc = fallocate(caret__fd(&e->lock_fd), FALLOC_FL_KEEP_SIZE, CARET__LOCKREC_OFFSET,
                       sizeof(struct caret__lockrec));
    while (rc != 0 && errno == EINTR);
    if (rc == 0 || caret__write_code(errno) != CARET_E_DISKFULL) /* not all file systems can */
        return CARET_OK;
    return caret__fail_errno(CARET_E_DISKFULL, "%s: no room for a record of 1 KiB", e->lock_path);
}
