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
#ifndef CARET_TEST_LOG_SYSCALLS_H
#define CARET_TEST_LOG_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ------------------------------------------------------------- failing */

enum call {
    CALL_OPEN,
    CALL_PWRITE,
    CALL_FDATASYNC, /* and fsync */
    CALL_FALLOCATE,
    CALL_FTRUNCATE,
    CALL_RENAME,
    CALL_MMAP,
    CALL_MALLOC, /* calloc, realloc and what libc itself allocates, too */
    CALLS
};

/* What fails: calls of `kind` from the nth on (1 = the next), all of them or that one. */
static struct {
    _Atomic bool armed;
    enum call kind;
    int error;
    bool for_ever;
    _Atomic unsigned nth, seen, failed;
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
    if (!atomic_load_explicit(&failing.armed, memory_order_relaxed) || failing.kind != kind)
        return 0;
    unsigned n = atomic_fetch_add(&failing.seen, 1) + 1;
    if (n < failing.nth || (n > failing.nth && !failing.for_ever))
        return 0;
    atomic_fetch_add(&failing.failed, 1);
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

int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    int error = calls_fail(CALL_OPEN);
    if (error != 0)
        return failed_with(error);
    return path_on_tape(path) ? tape_hooks.open(path, flags, mode) : real_open(path, flags, mode);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    int error = calls_fail(CALL_PWRITE);

    if (error != 0)
        return failed_with(error);
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
        return failed_with(error);
    return on_tape(fd) ? tape_hooks.sync(fd) : maybe_sync(fd, SYS_fdatasync);
}

int fsync(int fd)
{
    int error = calls_fail(CALL_FDATASYNC);

    if (error != 0)
        return failed_with(error);
    return on_tape(fd) ? tape_hooks.sync(fd) : maybe_sync(fd, SYS_fsync);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    int error = calls_fail(CALL_FALLOCATE);

    if (error != 0)
        return failed_with(error);
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
        return failed_with(error);
    return on_tape(fd) ? tape_hooks.ftruncate(fd, len) : (int)syscall(SYS_ftruncate, fd, len);
}

int rename(const char *from, const char *to)
{
    int error = calls_fail(CALL_RENAME);

    if (error != 0)
        return failed_with(error);
    return path_on_tape(to) ? tape_hooks.rename(from, to)
                            : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Of a file, or with AT_SYMLINK_FOLLOW of a descriptor's link in /proc, as one without a name gets one. */
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
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
    return path_on_tape(path) ? tape_hooks.unlink(path) : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    int error = fd >= 0 ? calls_fail(CALL_MMAP) : 0;

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
