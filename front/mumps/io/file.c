/*
 * file.c - files, pipes and terminals as descriptors: what the devices of M ask of the system.
 *
 * Thin: every function is one question or one action, and says what went wrong as -errno.  What a device is in M's
 * eyes is written in Lua, beside this file.  No signal handler is set.  A pipe whose reader is gone is EPIPE, not a
 * death: SIGPIPE is blocked around the write and taken back by this thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "mumps/io/io.h"

static int outcome(int rc)
{
    return rc < 0 ? -errno : rc;
}

/* How a file is to be opened: the bits of CARET_MUMPS__OPEN_. */
int caret_mumps__io_open(const char *path, int how)
{
    int both = CARET_MUMPS__OPEN_READ | CARET_MUMPS__OPEN_WRITE;
    int flags = (how & both) == both ? O_RDWR : (how & CARET_MUMPS__OPEN_WRITE) != 0 ? O_WRONLY : O_RDONLY;
    if ((how & CARET_MUMPS__OPEN_CREATE) != 0)
        flags |= O_CREAT;
    if ((how & CARET_MUMPS__OPEN_TRUNCATE) != 0)
        flags |= O_TRUNC;
    if ((how & CARET_MUMPS__OPEN_NONBLOCK) != 0)
        flags |= O_NONBLOCK;
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
    return fd < 0 ? -errno : fd;
}

int caret_mumps__io_close(int fd)
{
    return outcome(close(fd));
}

int64_t caret_mumps__io_read(int fd, char *room, size_t n)
{
    ssize_t got;
    do {
        got = read(fd, room, n);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* What SIGPIPE does to this thread while it writes: nothing.  True: it was pending before, so leave it. */
static bool quiet_pipe(sigset_t *before)
{
    sigset_t pending, pipe_set;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_set, before);
    return sigismember(&pending, SIGPIPE) == 1;
}

static void loud_pipe(const sigset_t *before, bool was_pending)
{
    if (!was_pending) {
        const struct timespec none = {0, 0};
        sigset_t pipe_set;
        sigemptyset(&pipe_set);
        sigaddset(&pipe_set, SIGPIPE);
        while (sigtimedwait(&pipe_set, NULL, &none) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Writes all of it; waits at most `patience` milliseconds at a time for room if fd does not block (-1: without end).
 * *done tells how much was written. */
static int write_all(int fd, const char *text, size_t n, int patience, size_t *done)
{
    for (*done = 0; *done < n;) {
        ssize_t put = write(fd, text + *done, n - *done);
        if (put >= 0) {
            *done += (size_t)put;
        } else if (errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            int ready = poll(&p, 1, patience);
            if (ready == 0)
                return -EAGAIN;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int caret_mumps__io_write(int fd, const char *text, size_t n, int patience, size_t *done)
{
    sigset_t before;
    bool was_pending = quiet_pipe(&before);
    int rc = write_all(fd, text, n, patience, done);
    loud_pipe(&before, was_pending || rc != -EPIPE);
    return rc;
}

/* Milliseconds of a clock that nobody sets. */
double caret_mumps__io_ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1000.0 + (double)t.tv_nsec / 1e6;
}

/* The same clock as it was some milliseconds ago at most: a question that costs next to nothing. */
double caret_mumps__io_coarse_ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (double)t.tv_sec * 1000.0 + (double)t.tv_nsec / 1e6;
}

/* Readable after caret_mumps__io_wake(), until a wait has told it; -1: nobody wakes. */
static atomic_int waker = -1;

/* From now on waits can be ended by caret_mumps__io_wake(). */
void caret_mumps__io_be_woken(void)
{
    if (waker < 0)
        waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* Ends a wait, or the next one: for other threads and handlers of signals. */
void caret_mumps__io_wake(void)
{
    const uint64_t one = 1;
    int before = errno;
    if (waker >= 0 && write(waker, &one, sizeof one) < 0)
        errno = before;
}

static bool woken(const struct pollfd *p)
{
    uint64_t n;
    return p->revents != 0 && read(p->fd, &n, sizeof n) == (ssize_t)sizeof n;
}

static struct timespec left_of(double end)
{
    double left = fmin(fmax(end - caret_mumps__io_ticks(), 0), 1e12);
    double seconds = floor(left / 1e3);
    return (struct timespec){(time_t)seconds, (long)((left - seconds * 1e3) * 1e6)};
}

/* Waits until one of the descriptors is ready, or for so many milliseconds (negative: without end): the number that
 * are, 0, or -errno.  what[i] is what is wanted (1 read, 2 write), and then what is.  -EINTR: woken; nothing changed.
 */
int caret_mumps__io_wait(const int *fds, int *what, int n, double ms)
{
    struct pollfd p[CARET_MUMPS__WAIT_MAX + 1];
    if (n > CARET_MUMPS__WAIT_MAX)
        return -EINVAL;
    for (int i = 0; i < n; i++)
        p[i] = (struct pollfd){
            .fd = fds[i],
            .events = (short)(((what[i] & 1) != 0 ? POLLIN : 0) | ((what[i] & 2) != 0 ? POLLOUT : 0))};
    p[n] = (struct pollfd){.fd = waker, .events = POLLIN};
    double end = ms < 0 ? 0 : caret_mumps__io_ticks() + ms;
    int ready;
    do {
        struct timespec left = left_of(end);
        ready = ppoll(p, (nfds_t)n + 1, ms < 0 ? NULL : &left, NULL);
    } while ((ready < 0 && errno == EINTR) || (ready == 0 && ms > 0 && caret_mumps__io_ticks() < end));
    if (ready > 0 && woken(&p[n]))
        return -EINTR;
    for (int i = 0; i < n; i++)
        what[i] = ((p[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 ? 1 : 0) |
                  ((p[i].revents & POLLOUT) != 0 ? 2 : 0);
    return outcome(ready);
}

int64_t caret_mumps__io_seek(int fd, int64_t at, int whence)
{
    off_t now = lseek(fd, at, whence == 0 ? SEEK_SET : whence == 1 ? SEEK_CUR : SEEK_END);
    return now < 0 ? -errno : now;
}

int caret_mumps__io_truncate(int fd, int64_t size)
{
    return outcome(ftruncate(fd, size));
}

int64_t caret_mumps__io_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) < 0 ? -errno : st.st_size;
}

static int kind_of(const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return 'f';
    if (S_ISFIFO(st->st_mode))
        return 'p';
    if (S_ISSOCK(st->st_mode))
        return 's';
    if (S_ISDIR(st->st_mode))
        return 'd';
    if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3))
        return 'n';
    return 'c';
}

/* f file, p pipe, s socket, t terminal, n /dev/null, d folder, c another device; -errno. */
int caret_mumps__io_kind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    int kind = kind_of(&st);
    return kind == 'c' && isatty(fd) ? 't' : kind;
}

int caret_mumps__io_path_kind(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? -errno : kind_of(&st);
}

/* A file that may be executed. */
int caret_mumps__io_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The same file, of two descriptors. */
int caret_mumps__io_same(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           x.st_rdev == y.st_rdev;
}

int caret_mumps__io_unlink(const char *path)
{
    return outcome(unlink(path));
}

/* Without `replace` a file that is there stays: a link takes no name that is taken. Errors are those of the link. */
int caret_mumps__io_rename(const char *from, const char *to, int replace)
{
    if (link(from, to) == 0)
        return outcome(unlink(from));
    int why = errno;
    bool can_replace = why == EEXIST && replace;
    bool no_links = why == EPERM && (replace || access(to, F_OK) != 0);
    return (can_replace || no_links) && rename(from, to) == 0 ? 0 : -why;
}

int caret_mumps__io_chmod(int fd, int mode)
{
    return outcome(fchmod(fd, (mode_t)mode));
}

int caret_mumps__io_mode(int fd)
{
    struct stat st;
    return fstat(fd, &st) < 0 ? -errno : (int)(st.st_mode & 07777);
}

int caret_mumps__io_fifo(const char *path)
{
    return outcome(mkfifo(path, 0666));
}

int caret_mumps__io_nonblock(int fd, int on)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -errno;
    return outcome(fcntl(fd, F_SETFL, on != 0 ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

/* Descriptor `to` becomes what `from` is. */
int caret_mumps__io_become(int from, int to)
{
    if (from == to)
        return outcome(fcntl(from, F_SETFD, 0));
    return outcome(dup2(from, to));
}

/* The name of the terminal that fd is; "" if there is none. */
int caret_mumps__io_tty_name(int fd, char *room, size_t cap)
{
    return ttyname_r(fd, room, cap) == 0 ? 0 : -ENOTTY;
}

int caret_mumps__io_tty_size(int fd, int *columns, int *lines)
{
    struct winsize w;
    if (ioctl(fd, TIOCGWINSZ, &w) < 0)
        return -errno;
    *columns = w.ws_col;
    *lines = w.ws_row;
    return 0;
}

static struct termios tty_before;
static int tty_fd = -1;

/* The terminal gives each character as it comes, unechoed (M echoes itself); until ..._tty_back. */
int caret_mumps__io_tty_raw(int fd, int pasthru)
{
    if (tty_fd < 0) {
        if (tcgetattr(fd, &tty_before) < 0)
            return -errno;
        tty_fd = fd;
    }
    struct termios raw = tty_before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ECHOE | ECHOK | ECHONL);
    raw.c_iflag &= (tcflag_t) ~(ICRNL | INLCR);
    if (pasthru != 0)
        raw.c_lflag &= (tcflag_t)~ISIG;
    raw.c_cc[VINTR] =
        _POSIX_VDISABLE; /* it comes as a character: CTRAP wants it, or it interrupts from there */
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return outcome(tcsetattr(fd, TCSADRAIN, &raw));
}

void caret_mumps__io_tty_back(void)
{
    if (tty_fd >= 0)
        tcsetattr(tty_fd, TCSADRAIN, &tty_before);
    tty_fd = -1;
}

void caret_mumps__io_tty_flush(int fd)
{
    tcflush(fd, TCIFLUSH);
}
