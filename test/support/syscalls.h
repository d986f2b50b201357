/*
 * syscalls.h - the system calls of a test program, seen and made to fail.
 *
 * A function of libc that the program defines itself is the one that the engine,
 * linked into the program, calls.  So those below stand between the engine and the
 * kernel, without privileges and in every build.  Each asks first whether it shall
 * fail (calls_fail); those that change files are handed to a tape, if one is
 * recording (tape.h).  They make the system call itself; nothing is taken from libc.
 *
 * For test programs of one source file: everything but the replaced functions is static.
 */
#ifndef CARET_TEST_SUPPORT_SYSCALLS_H
#define CARET_TEST_SUPPORT_SYSCALLS_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ------------------------------------------------------------- failing */

enum call {
    CALL_OPEN,
    CALL_PWRITE,
    CALL_FDATASYNC, /* and fsync */
    CALL_FALLOCATE,
    CALL_FTRUNCATE,
    CALL_RENAME, /* and renameat2 */
    CALL_MMAP,   /* of a file */
    CALL_MALLOC, /* calloc, realloc and what libc itself allocates, too */
    CALL_PREAD,
    CALL_READ,
    CALL_LINK, /* and linkat */
    CALL_UNLINK,
    CALL_FSTAT,
    CALL_STAT,   /* and lstat */
    CALL_STATFS, /* fstatfs, statvfs */
    CALL_ACCESS,
    CALL_LOCK, /* fcntl: F_SETLK and the like */
    CALL_DUP,
    CALL_FCHMOD,
    CALL_FCHOWN,
    CALL_RANDOM,
    CALL_MEMFD,
    CALL_OPENDIR,
    CALL_REALPATH,
    CALL_MMAP_ANON,
    CALLS
};

static const char *const call_names[CALLS] = {
    "open",   "pwrite", "fdatasync", "fallocate", "ftruncate", "rename",   "mmap",    "malloc", "pread",
    "read",   "link",   "unlink",    "fstat",     "stat",      "statfs",   "access",  "lock",   "dup",
    "fchmod", "fchown", "getrandom", "memfd",     "opendir",   "realpath", "mmap(-1)"};

/* What the call that fails has done all the same. */
enum effect { NOTHING_DONE, HALF_DONE /* a write */, ALL_DONE, KILLED_THERE /* the process */ };

/* What fails: calls of `kind` from the nth on (1 = the next), all of them or that one. */
static struct {
    _Atomic bool armed, counting;
    enum call kind;
    enum effect effect;
    int error;
    bool for_ever;
    _Atomic unsigned nth, seen, failed;
    _Atomic unsigned count[CALLS]; /* of each kind, while `counting` */
} failing;

static inline void fail_nth(enum call kind, int error, unsigned nth, bool for_ever)
{
    failing.kind = kind;
    failing.error = error;
    failing.for_ever = for_ever;
    failing.nth = nth;
    failing.seen = 0;
    failing.failed = 0;
    failing.armed = true;
}

/* The errno with which this call fails, or 0. */
static inline int calls_fail(enum call kind)
{
    if (atomic_load_explicit(&failing.counting, memory_order_relaxed))
        atomic_fetch_add(&failing.count[kind], 1);
    if (!atomic_load_explicit(&failing.armed, memory_order_relaxed) || failing.kind != kind)
        return 0;
    unsigned n = atomic_fetch_add(&failing.seen, 1) + 1;
    if (n < failing.nth || (n > failing.nth && !failing.for_ever))
        return 0;
    atomic_fetch_add(&failing.failed, 1);
    if (failing.effect == KILLED_THERE)
        kill(getpid(), SIGKILL);
    return failing.error;
}

/* ----------------------------------------------------------- recording */

/* What a tape wants to see; each makes the call and returns its result.  NULL: no tape. */
static struct tape_hooks {
    bool (*wants_fd)(int fd);
    bool (*wants_path)(const char *path);
    int (*open)(const char *path, int flags, mode_t mode);
    ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t off);
    int (*sync)(int fd);
    int (*fallocate)(int fd, int mode, off_t off, off_t len);
    int (*ftruncate)(int fd, off_t len);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*link)(const char *from, const char *to);
} tape_hooks;

static inline bool on_tape(int fd)
{
    return tape_hooks.wants_fd != NULL && tape_hooks.wants_fd(fd);
}

static inline bool path_on_tape(const char *path)
{
    return tape_hooks.wants_path != NULL && tape_hooks.wants_path(path);
}

/* --------------------------------------------------- the calls themselves */

static inline int real_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int failed_with(int error)
{
    errno = error;
    return -1;
}

/* The result of a call that fails with `error`; `made` makes it, as some fail that have done their work. */
#define FAILED_WITH(error, made)                                                                             \
    do {                                                                                                     \
        if (failing.effect == ALL_DONE)                                                                      \
            (void)(made);                                                                                    \
        return failed_with(error);                                                                           \
    } while (0)

/* The function of that name that ours stands before. */
#define BEHIND(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_NEXT, #name))

long syscall(long number, ...)
{
    static __typeof__(&syscall) behind;
    long a[6];
    va_list ap;

    va_start(ap, number);
    for (unsigned i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    int error = number == SYS_renameat2 ? calls_fail(CALL_RENAME) : 0;
    if (behind == NULL)
        behind = BEHIND(syscall);
    if (error != 0)
        FAILED_WITH(error, behind(number, a[0], a[1], a[2], a[3], a[4], a[5]));
    return behind(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    int error = calls_fail(CALL_OPEN);
    if (error != 0)
        FAILED_WITH(error, 0);
    return path_on_tape(path) ? tape_hooks.open(path, flags, mode) : real_open(path, flags, mode);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    int error = calls_fail(CALL_PWRITE);

    if (error != 0 && failing.effect == HALF_DONE)
        (void)syscall(SYS_pwrite64, fd, buf, len / 2, off);
    if (error != 0)
        FAILED_WITH(error, syscall(SYS_pwrite64, fd, buf, len, off));
    return on_tape(fd) ? tape_hooks.pwrite(fd, buf, len, off) : syscall(SYS_pwrite64, fd, buf, len, off);
}

/* The power is only lost on tapes: waiting for a real disk, thousands of times, would prove nothing.
 * But a file system that records must be told. */
static bool sync_for_real;

static inline int maybe_sync(int fd, long number)
{
    if (sync_for_real)
        return (int)syscall(number, fd);
    return fcntl(fd, F_GETFD) >= 0 ? 0 : -1;
}

int fdatasync(int fd)
{
    int error = calls_fail(CALL_FDATASYNC);

    if (error != 0)
        FAILED_WITH(error, 0);
    return on_tape(fd) ? tape_hooks.sync(fd) : maybe_sync(fd, SYS_fdatasync);
}

int fsync(int fd)
{
    int error = calls_fail(CALL_FDATASYNC);

    if (error != 0)
        FAILED_WITH(error, 0);
    return on_tape(fd) ? tape_hooks.sync(fd) : maybe_sync(fd, SYS_fsync);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    int error = calls_fail(CALL_FALLOCATE);

    if (error != 0)
        FAILED_WITH(error, syscall(SYS_fallocate, fd, mode, off, len));
    return on_tape(fd) ? tape_hooks.fallocate(fd, mode, off, len)
                       : (int)syscall(SYS_fallocate, fd, mode, off, len);
}

int posix_fallocate(int fd, off_t off, off_t len)
{
    return fallocate(fd, 0, off, len) == 0 ? 0 : errno;
}

int ftruncate(int fd, off_t len)
{
    int error = calls_fail(CALL_FTRUNCATE);

    if (error != 0)
        FAILED_WITH(error, syscall(SYS_ftruncate, fd, len));
    return on_tape(fd) ? tape_hooks.ftruncate(fd, len) : (int)syscall(SYS_ftruncate, fd, len);
}

static inline int real_rename(const char *from, const char *to)
{
    bool armed = atomic_exchange(&failing.armed, false), counting = atomic_exchange(&failing.counting, false);
    int rc = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); /* was asked already */

    failing.armed = armed;
    failing.counting = counting;
    return rc;
}

int rename(const char *from, const char *to)
{
    int error = calls_fail(CALL_RENAME);

    if (error != 0)
        FAILED_WITH(error, real_rename(from, to));
    return path_on_tape(to) ? tape_hooks.rename(from, to) : real_rename(from, to);
}

/* Of a file, or with AT_SYMLINK_FOLLOW of a descriptor's link in /proc, as one without a name gets one. */
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    int error = calls_fail(CALL_LINK);

    if (error != 0)
        FAILED_WITH(error, syscall(SYS_linkat, from_dir, from, to_dir, to, flags));
    return path_on_tape(to) && tape_hooks.link != NULL
               ? tape_hooks.link(from, to)
               : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    int error = calls_fail(CALL_UNLINK);

    if (error != 0)
        FAILED_WITH(error, syscall(SYS_unlinkat, AT_FDCWD, path, 0));
    return path_on_tape(path) ? tape_hooks.unlink(path) : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* Those below only look, or change what is not the content of a file: a tape does not want them. */

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    int error = calls_fail(CALL_PREAD);

    if (error != 0)
        FAILED_WITH(error, 0);
    return syscall(SYS_pread64, fd, buf, len, off);
}

ssize_t read(int fd, void *buf, size_t len)
{
    int error = calls_fail(CALL_READ);

    if (error != 0)
        FAILED_WITH(error, 0);
    return syscall(SYS_read, fd, buf, len);
}

int fstat(int fd, struct stat *st)
{
    int error = calls_fail(CALL_FSTAT);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

int stat(const char *path, struct stat *st)
{
    int error = calls_fail(CALL_STAT);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
    int error = calls_fail(CALL_STAT);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int statfs(const char *path, struct statfs *fs)
{
    int error = calls_fail(CALL_STATFS);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_statfs, path, fs);
}

int fstatfs(int fd, struct statfs *fs)
{
    int error = calls_fail(CALL_STATFS);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_fstatfs, fd, fs);
}

int statvfs(const char *path, struct statvfs *fs)
{
    int error = calls_fail(CALL_STATFS);

    if (error != 0)
        FAILED_WITH(error, 0);
    return BEHIND(statvfs)(path, fs);
}

int fstatvfs(int fd, struct statvfs *fs)
{
    int error = calls_fail(CALL_STATFS);

    if (error != 0)
        FAILED_WITH(error, 0);
    return BEHIND(fstatvfs)(fd, fs);
}

int access(const char *path, int mode)
{
    int error = calls_fail(CALL_ACCESS);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int fcntl(int fd, int what, ...)
{
    va_list ap;

    va_start(ap, what);
    long arg = va_arg(ap, long);
    va_end(ap);
    bool lock =
        what == F_SETLK || what == F_SETLKW || what == F_GETLK || what == F_OFD_GETLK || what == F_OFD_SETLK;
    int error = lock ? calls_fail(CALL_LOCK) : what == F_DUPFD_CLOEXEC ? calls_fail(CALL_DUP) : 0;
    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_fcntl, fd, what, arg);
}

int fchmod(int fd, mode_t mode)
{
    int error = calls_fail(CALL_FCHMOD);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_fchmod, fd, mode);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
    int error = calls_fail(CALL_FCHOWN);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_fchown, fd, uid, gid);
}

ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
    int error = calls_fail(CALL_RANDOM);

    if (error != 0)
        FAILED_WITH(error, 0);
    return syscall(SYS_getrandom, buf, len, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    int error = calls_fail(CALL_MEMFD);

    if (error != 0)
        FAILED_WITH(error, 0);
    return (int)syscall(SYS_memfd_create, name, flags);
}

DIR *opendir(const char *path)
{
    int error = calls_fail(CALL_OPENDIR);

    errno = error != 0 ? error : errno;
    return error != 0 ? NULL : BEHIND(opendir)(path);
}

char *realpath(const char *path, char *resolved)
{
    int error = calls_fail(CALL_REALPATH);

    errno = error != 0 ? error : errno;
    return error != 0 ? NULL : BEHIND(realpath)(path, resolved);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    int error = calls_fail(fd >= 0 ? CALL_MMAP : CALL_MMAP_ANON);

    if (error != 0) {
        errno = error;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off); // NOLINT
}

/* -------------------------------------------------------------- memory */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CALLS_SEE_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CALLS_SEE_MALLOC 0
#endif
#endif
#ifndef CALLS_SEE_MALLOC
#define CALLS_SEE_MALLOC 1

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t n)
{
    int error = calls_fail(CALL_MALLOC);

    errno = error != 0 ? error : errno;
    return error != 0 ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    int error = calls_fail(CALL_MALLOC);

    errno = error != 0 ? error : errno;
    return error != 0 ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    int error = calls_fail(CALL_MALLOC);

    errno = error != 0 ? error : errno;
    return error != 0 ? NULL : __libc_realloc(p, n);
}
#endif

#endif
