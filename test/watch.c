/*
 * Runs a test, and sees to it that nothing of it remains.  Every test is started by this (cmake/tests.cmake).
 *
 *   watch SECONDS NAME COMMAND...
 *
 * Time: the test may take SECONDS of a machine that is its own: where ten times as many threads want to run
 * as there are processors, a second counts a tenth (crowd.h).  After it, all processes of the test are ended,
 * and the exit status is 124.
 *
 * Processes: whoever is left behind by its parent becomes our child, in whatever process group it is.  Those still
 * there when the test has ended have GRACE seconds (by the same clock) to end, too; then they are named and killed, and
 * the test has failed.
 *
 * Files: what nobody had made in /dev/shm and the folder for temporary files when it began, but is there at its end,
 * is noted in the file that CARET_LEAVINGS names; tools/test.sh looks at that when all is over.
 *
 * Cost: a last line tells how long the test took, and how many seconds of a processor it and all its
 * processes used: that number does not depend on what else the machine does.  tools/test.sh sorts them.
 *
 * The test itself is in a process group of its own.  SIGHUP, SIGINT and SIGTERM end it with all its processes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/crowd.h"

#define GRACE 5
#define MANY  4096 /* processes, files */

static double limit;
static const char *name;
static pid_t test;
static int test_status = -1; /* as of wait(); -1: it runs */
static double cost;          /* seconds of a processor, of those that have ended */
static sigset_t awaited;

/* --------------------------------------------------------------------- files */

struct names {
    size_t count;
    char *at[MANY];
};

static bool of_a_test(const char *file)
{
    return strncmp(file, "caret", 5) == 0 || strncmp(file, "lua_", 4) == 0;
}

static void list(struct names *names, const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d != NULL && names->count < MANY && (e = readdir(d)) != NULL) {
        char *path;
        if (of_a_test(e->d_name) && asprintf(&path, "%s/%s", folder, e->d_name) > 0)
            names->at[names->count++] = path;
    }
    if (d != NULL)
        closedir(d);
}

static void list_leavings(struct names *names)
{
    const char *folder = getenv("TMPDIR");

    if (getenv("CARET_LEAVINGS") == NULL)
        return;
    list(names, "/dev/shm");
    list(names, folder != NULL ? folder : "/tmp");
}

static bool has(const struct names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->at[i], path) == 0)
            return true;
    }
    return false;
}

static void note_leavings(const struct names *before)
{
    static struct names after;
    const char *notes = getenv("CARET_LEAVINGS");
    int fd = notes != NULL ? open(notes, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;

    list_leavings(&after);
    for (size_t i = 0; i < after.count && fd >= 0; i++) {
        if (!has(before, after.at[i]))
            dprintf(fd, "%s %s\n", after.at[i], name);
    }
    if (fd >= 0)
        close(fd);
}

/* ----------------------------------------------------------------- processes */

struct processes {
    size_t count;
    pid_t pid[MANY], parent[MANY];
    char state[MANY];
};

/* "pid (name) state parent ...", where the name may hold anything */
static void add_process(struct processes *all, const char *pid)
{
    char path[64], line[512];
    int fd = -1;
    ssize_t len = 0;

    if (snprintf(path, sizeof path, "/proc/%.20s/stat", pid) > 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, line, sizeof line - 1);
        close(fd);
    }
    line[len > 0 ? len : 0] = 0;
    const char *rest = strrchr(line, ')');
    if (rest != NULL && sscanf(rest, ") %c %d", &all->state[all->count], &all->parent[all->count]) == 2)
        all->pid[all->count++] = (pid_t)atoi(pid);
}

static void list_processes(struct processes *all)
{
    DIR *d = opendir("/proc");
    struct dirent *e;

    all->count = 0;
    while (d != NULL && all->count < MANY && (e = readdir(d)) != NULL) {
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            add_process(all, e->d_name);
    }
    if (d != NULL)
        closedir(d);
}

static bool descends(const struct processes *all, size_t i, pid_t ancestor)
{
    for (pid_t parent = all->parent[i]; parent != ancestor;) {
        size_t k = 0;
        while (k < all->count && all->pid[k] != parent)
            k++;
        if (k == all->count || all->parent[k] == parent)
            return false;
        parent = all->parent[k];
    }
    return true;
}

static void say_who(pid_t pid)
{
    char path[64], line[200] = "";
    int fd;
    ssize_t len = 0;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, line, sizeof line - 1);
        close(fd);
    }
    for (ssize_t i = 0; i + 1 < len; i++)
        line[i] = line[i] == 0 || line[i] == '\n' ? ' ' : line[i];
    printf("FAILED: %s left a process running: %d %s\n", name, (int)pid, line);
}

/* A signal to all that descend from us; how many there are. */
static unsigned signal_all(int sig, bool say)
{
    static struct processes all;
    unsigned count = 0;

    list_processes(&all);
    for (size_t i = 0; i < all.count; i++) {
        if (all.state[i] == 'Z' || !descends(&all, i, getpid()))
            continue;
        if (say)
            say_who(all.pid[i]);
        kill(all.pid[i], sig);
        count++;
    }
    return count;
}

/* ---------------------------------------------------------------------- time */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double used(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
}

/* Takes the status and the cost of whoever has ended. */
static bool any_children(void)
{
    struct rusage usage;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        cost += used(&usage);
        if (pid == test)
            test_status = status;
    }
    return pid == 0;
}

/* Until a child has ended, or for a second: how long that was, by our clock.  Other signals end everything. */
static double wait_a_second(void)
{
    struct timespec second = {.tv_sec = 1};
    double begin = now();
    int sig = sigtimedwait(&awaited, NULL, &second);

    if (sig > 0 && sig != SIGCHLD) {
        while (signal_all(SIGKILL, false) > 0)
            (void)any_children();
        exit(128 + sig);
    }
    double time = now() - begin;
    return time < 0.1 ? time : time / crowd();
}

/* ---------------------------------------------------------------------- main */

static void start(char **command)
{
    test = fork();
    if (test == 0) {
        sigprocmask(SIG_UNBLOCK, &awaited, NULL);
        setpgid(0, 0);
        execvp(command[0], command);
        fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    if (test < 0) {
        perror("fork");
        exit(125);
    }
}

/* SIGTERM first, so that a shell removes its files. */
static void end_all(void)
{
    double time = 0;

    signal_all(SIGTERM, false);
    signal_all(SIGCONT, false);
    while (any_children()) {
        time += wait_a_second();
        if (time > GRACE)
            signal_all(SIGKILL, false);
    }
}

/* When the test has ended: true if nobody of it is there, or ends soon. */
static bool alone(void)
{
    double time = 0;
    bool ok = true;

    while (any_children()) {
        if (time > GRACE) {
            signal_all(SIGKILL, ok);
            ok = false;
        }
        time += wait_a_second();
    }
    return ok;
}

static int watch(void)
{
    double time = 0, begin = now();

    while (any_children() && test_status < 0) {
        if (time > limit) {
            printf("FAILED: %s took %.0f s, %.0f s of a machine of its own: it was ended\n", name,
                   now() - begin, time);
            fflush(stdout);
            end_all();
            return 124;
        }
        time += wait_a_second();
    }
    int status = WIFEXITED(test_status) ? WEXITSTATUS(test_status) : 128 + WTERMSIG(test_status);
    if (WIFSIGNALED(test_status))
        printf("%s was ended by signal %d\n", name, WTERMSIG(test_status));
    return alone() ? status : 1;
}

int main(int argc, char **argv)
{
    static struct names before;

    if (argc < 4) {
        fprintf(stderr, "usage: watch seconds name command...\n");
        return 125;
    }
    limit = strtod(argv[1], NULL);
    name = argv[2];
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGHUP);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    list_leavings(&before);
    double begin = now();
    start(argv + 3);
    int status = watch();
    note_leavings(&before);
    printf("watch: %s took %.1f s, %.1f s of a processor\n", name, now() - begin, cost);
    return status;
}
