/*
 * child.c - other programs: PIPE devices, ZSYSTEM and JOB; and clocks.
 *
 * A child is made by posix_spawn, never by a bare fork: the caller's process has a VM, perhaps threads, and a database
 * whose engine knows which process it is.  A child begins with no signal blocked and SIGPIPE as it is by default.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mumps/io/io.h"

extern char **environ;

/* Two descriptors of a new pipe, closed in children unless they are handed on. */
int caret_mumps__io_pipe(int *ends)
{
    return pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
}

static int attributes(posix_spawnattr_t *attr, int session)
{
    sigset_t none, broken;
    sigemptyset(&none);
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigaddset(&broken, SIGINT);
    sigaddset(&broken, SIGQUIT);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#ifdef POSIX_SPAWN_SETSID
    if (session != 0)
        flags |= POSIX_SPAWN_SETSID;
#endif
    int rc = posix_spawnattr_init(attr);
    if (rc == 0)
        rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &broken);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, flags);
    return rc;
}

#define FDS_MAX 8

/* Descriptors above those of the child, so that none is overwritten before it is handed on. */
static void lift(const int *fds, int n, int *high)
{
    for (int i = 0; i < n; i++)
        high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, FDS_MAX);
}

static void drop(const int *high, int n)
{
    for (int i = 0; i < n; i++)
        if (high[i] >= 0)
            close(high[i]);
}

/* fds[i] becomes descriptor i of the child; -1: it stays as it is. */
static int wiring(posix_spawn_file_actions_t *acts, const int *fds, int n)
{
    int rc = posix_spawn_file_actions_init(acts);
    for (int i = 0; rc == 0 && i < n; i++)
        if (fds[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(acts, fds[i], i);
    return rc;
}

#define ARGS_MAX 64

/* The words of a text that has a 0 after each. */
static int words(char *text, size_t n, char **argv)
{
    int count = 0;
    for (size_t at = 0; at < n && count < ARGS_MAX - 1; at += strlen(text + at) + 1)
        argv[count++] = text + at;
    argv[count] = NULL;
    return count;
}

/* Starts the first of `args` (each ended by a 0, n bytes in all), named in its messages as its last part: the process,
   or -errno. */
int caret_mumps__io_spawn(char *args, size_t n, const int *fds, int n_fds, int session)
{
    char *argv[ARGS_MAX];
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t acts;
    pid_t pid = -1;
    int high[FDS_MAX];
    if (words(args, n, argv) == 0 || n_fds > FDS_MAX)
        return -EINVAL;
    int rc = attributes(&attr, session);
    if (rc != 0)
        return -rc;
    lift(fds, n_fds, high);
    rc = wiring(&acts, high, n_fds);
    if (rc == 0) {
        const char *path = argv[0], *slash = strrchr(path, '/');
        if (slash != NULL)
            argv[0] += slash + 1 - path;
        rc = posix_spawnp(&pid, path, &acts, &attr, argv, environ);
        posix_spawn_file_actions_destroy(&acts);
    }
    drop(high, n_fds);
    posix_spawnattr_destroy(&attr);
    return rc != 0 ? -rc : pid;
}

/* What became of a child: its exit status, 256 + its signal, -1 while it runs (only if `wait` is 0), -2: no child. */
int caret_mumps__io_reap(int pid, int wait)
{
    int status;
    pid_t got;
    do {
        got = waitpid(pid, &status, wait != 0 ? 0 : WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        return -1;
    if (got < 0)
        return -2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int caret_mumps__io_kill(int pid, int signal)
{
    return kill(pid, signal) < 0 ? -errno : 0;
}

/* Microseconds: 0 since 1970, 1 of the monotonic clock, 2 of this process's processor time. */
double caret_mumps__io_clock(int which)
{
    struct timespec t;
    clock_gettime(which == 0 ? CLOCK_REALTIME : which == 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)(t.tv_nsec / 1000);
}

/* Local time: days since 31 December 1840, seconds of the day, seconds west of Greenwich. */
void caret_mumps__io_local(double seconds, double *days, double *rest, double *west)
{
    time_t t = (time_t)seconds;
    struct tm tm;
    localtime_r(&t, &tm);
    time_t local = t + tm.tm_gmtoff;
    *days = (double)(local / 86400 + 47117);
    *rest = (double)(local % 86400);
    *west = (double)-tm.tm_gmtoff;
}

/* Hundredths of a second of processor time: user, system, children's user, children's system. */
void caret_mumps__io_times(int *out)
{
    struct tms t;
    times(&t);
    long hz = sysconf(_SC_CLK_TCK);
    const clock_t all[4] = {t.tms_utime, t.tms_stime, t.tms_cutime, t.tms_cstime};
    for (int i = 0; i < 4; i++)
        out[i] = (int)((long)all[i] * 100 / hz);
}

/* The files that a pattern names, each with a newline, sorted; how long it is, 0 for none; cut at cap. */
size_t caret_mumps__io_glob(const char *pattern, char *room, size_t cap)
{
    glob_t g;
    size_t n = 0;
    if (glob(pattern, GLOB_NOESCAPE, NULL, &g) != 0)
        return 0;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        size_t len = strlen(g.gl_pathv[i]);
        if (n + len + 1 > cap)
            break;
        memcpy(room + n, g.gl_pathv[i], len);
        room[n + len] = '\n';
        n += len + 1;
    }
    globfree(&g);
    return n;
}

int caret_mumps__io_cwd(char *room, size_t cap)
{
    return getcwd(room, cap) == NULL ? -errno : 0;
}

int caret_mumps__io_chdir(const char *path)
{
    return chdir(path) < 0 ? -errno : 0;
}

int caret_mumps__io_pid(void)
{
    return getpid();
}

const char *caret_mumps__io_env(const char *name)
{
    return getenv(name);
}

const char *caret_mumps__io_strerror(int number)
{
    return strerror(number);
}
