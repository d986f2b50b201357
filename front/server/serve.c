/*
 * serve.c - the supervisor: options, workers.
 *
 *     supervisor    opens the sockets (listen.c), forks workers, starts one anew that dies; has no database open
 *        +- worker 0 .. N-1    worker.c
 *
 * Each worker has TCP sockets of its own with one port (SO_REUSEPORT), which the supervisor opens and keeps:
 * what waits in the queue of a dead worker is served by its successor.  A unix socket is shared by all.
 *   SIGTERM and SIGINT end the workers, each of which sends what it has to, and then the supervisor.  If that
 * is killed the workers end by themselves.
 *   SIGUSR2 starts another server that takes over: takeover.h.
 *
 * Exit status: 0 it was told to stop; 2 what is said is wrong: the command line, redis.conf and the files that it
 * includes; 3 what they name can't be used: the database, an address, a certificate, a cipher, a file of users.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/admin/acl.h"
#include "server/admin/measure.h"
#include "server/background.h"
#include "server/config_file.h"
#include "server/listen.h"
#include "server/manager.h"
#include "server/meet/clients.h"
#include "server/meet/directory.h"
#include "server/meet/mail.h"
#include "server/relisten.h"
#include "server/takeover.h"

struct options {
    const char *file, *shm_dir;
    int missing; /* list commands that are not there yet */
};

struct supervisor {
    struct serve__shared *shared;
    struct options o;
    int nworkers;
    struct serve__start start[SERVE__WORKERS_MAX];
    pid_t pid[SERVE__WORKERS_MAX];
    time_t began[SERVE__WORKERS_MAX];
    struct serve__listen listen;
    bool stopping, ready;
    pid_t successor; /* 0: none takes over */
};

static const char usage[] =
    "caret-server [FILE] [--port N] [--unix PATH] [--workers N] [--config redis.conf] [--NAME VALUE...]";

static const char help[] = "\n"
                           "Serves a Caret database to clients of Redis, as `caret serve` does.\n"
                           "\n"
                           "  FILE             the database; else $CARET_DB, else ./data.caret\n"
                           "  --port N         TCP port, 6379 if not given; 0: none\n"
                           "  --tls-port N     the same, with TLS (--tls-cert-file, --tls-key-file)\n"
                           "  --unix PATH      a unix socket to listen at\n"
                           "  --workers N      processes that serve, 1 if not given\n"
                           "  --config FILE    redis.conf; of it and options, what comes later counts\n"
                           "  --shm-dir FOLDER where shared memory is, /dev/shm if not given\n"
                           "  --NAME VALUE     any other parameter of redis.conf\n"
                           "  --missing        list the commands of Redis that are not there yet\n"
                           "  --help, --version\n";

/* ---------------------------------------------------------------- options */

static bool fail(const char *text)
{
    serve__log("%s", text);
    return false;
}

static bool system_error(const char *what)
{
    serve__log("%s: %s", what, strerror(errno));
    return false;
}

/* --name value, as a line of redis.conf. */
static bool set_option(struct serve__shared *s, const char *name, const char *value)
{
    char error[1024];
    const char *wrong = serve__config_option(s, name, value);
    if (wrong == NULL)
        return true;
    snprintf(error, sizeof error, "--%s %s: %s", name, value, wrong);
    return fail(error);
}

static bool read_option(struct supervisor *v, const char *name, const char *value)
{
    char error[1024];
    if (strcmp(name, "config") == 0)
        return serve__config_file(v->shared, value, error, sizeof error) || fail(error);
    if (strcmp(name, "shm-dir") == 0) {
        v->o.shm_dir = value;
        return true;
    }
    return set_option(v->shared, strcmp(name, "unix") == 0 ? "unixsocket" : name, value);
}

static bool misused(const char *argument, const char *why)
{
    serve__log("%s: %s; usage: %s", argument, why, usage);
    return false;
}

/* Something beginning with one hyphen, or an option without a value. */
static const char *misuse_of(const char *argument)
{
    static const char *const others[] = {"config",         "shm-dir", "unix",      "include",
                                         "rename-command", "user",    "map-prefix"};
    const char *name = argument + 2;
    if (strncmp(argument, "--", 2) != 0)
        return "options begin with two hyphens";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return "it needs a value";
    return serve__config_find(name, strlen(name)) >= 0 ? "it needs a value" : "there is no such option";
}

static bool read_arguments(struct supervisor *v, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--missing") == 0) {
            v->o.missing = 1;
        } else if (strncmp(argv[i], "-", 1) == 0) {
            if (strncmp(argv[i], "--", 2) != 0 || i + 1 == argc)
                return misused(argv[i], misuse_of(argv[i]));
            if (!read_option(v, argv[i] + 2, argv[i + 1]))
                return false;
            i++;
        } else if (v->o.file != NULL) {
            return misused(argv[i], "one database at a time");
        } else {
            v->o.file = argv[i];
        }
    }
    return true;
}

static const char *text_of(const struct supervisor *v, int i)
{
    return v->shared->config[i];
}

static int number_of(const struct supervisor *v, int i)
{
    return atoi(text_of(v, i));
}

/* ---------------------------------------------------------------- workers */

static void start_worker(struct supervisor *v, int i)
{
    fflush(NULL);
    v->began[i] = time(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve__worker_main(&v->start[i]));
    v->pid[i] = pid;
    if (pid < 0)
        serve__log("fork: %s", strerror(errno));
}

static int index_of(const struct supervisor *v, pid_t pid)
{
    for (int i = 0; i < v->nworkers; i++)
        if (v->pid[i] == pid)
            return i;
    return -1;
}

/* Another server is to take over, or has. */
static bool is_taken_over(const struct supervisor *v)
{
    return v->successor != 0 || v->shared->drain;
}

/* In this order: a client that sees the end of its connection can connect no more. */
static void stop(struct supervisor *v)
{
    if (!v->stopping)
        serve__manager_tell("STOPPING=1\nSTATUS=Ending");
    v->stopping = true;
    if (!is_taken_over(v) && !v->listen.given)
        serve__listen_end(&v->listen);
    v->shared->stop = 1;
    if (v->successor != 0 && !v->shared->drain)
        kill(v->successor, SIGTERM);
    for (int i = 0; i < v->nworkers; i++)
        if (v->pid[i] > 0)
            kill(v->pid[i], SIGTERM);
}

/* A worker has ended: 0, or the exit status of the supervisor. */
static int worker_ended(struct supervisor *v, int i, int status)
{
    v->pid[i] = 0;
    v->shared->stats[i].turned = 0;
    v->shared->stats[i].connections = 0;
    v->shared->stats[i].blocked = v->shared->stats[i].lock_waits = 0;
    v->shared->stats[i].paused = v->shared->stats[i].monitors = 0;
    v->shared->late[i].since = 0;
    serve__directory_reset(v->shared->directory[i]);
    serve__rows_free(v->shared, i);
    serve__relisten_died(&v->listen, i, is_taken_over(v));
    if (v->stopping || v->shared->drain) /* its connections are elsewhere, or gone */
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) { /* it said why */
        stop(v);
        return WEXITSTATUS(status);
    }
    serve__log("worker %d ended by signal %d: it is started anew", i,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    v->shared->restarts++;
    if (time(NULL) - v->began[i] < 1) /* one that dies at once must not take the processor */
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    start_worker(v, i);
    return 0;
}

static bool any_left(const struct supervisor *v)
{
    for (int i = 0; i < v->nworkers; i++)
        if (v->pid[i] > 0)
            return true;
    return false;
}

/* All workers serve for the first time: whoever waits for that is told. */
static void ready(struct supervisor *v)
{
    for (int i = 0; i < v->nworkers; i++)
        if (v->shared->stats[i].turned == 0)
            return;
    if (!v->ready) {
        serve__log("Ready to accept connections"); /* in Redis' words: many wait for them */
        serve__manager_tell("READY=1\nSTATUS=%d workers", v->nworkers);
        serve__takeover_ready();
    }
    v->ready = true;
}

/* Somebody wants another server to take over. */
static void begin_takeover(struct supervisor *v)
{
    if (is_taken_over(v) || v->stopping)
        return;
    pid_t pid = serve__takeover_start(&v->listen);
    v->successor = pid > 0 ? pid : 0;
}

/* It serves. */
static void end_takeover(struct supervisor *v, pid_t from)
{
    if (from != v->successor || v->shared->drain)
        return;
    serve__manager_tell("MAINPID=%d", (int)from);
    v->listen.unix_path[0] = 0; /* it is not ours any more */
    v->shared->drain = 1;
    serve__log("process %d has taken over", (int)from);
}

static void successor_ended(struct supervisor *v)
{
    if (!v->shared->drain)
        serve__log("process %d has not taken over: this server goes on", (int)v->successor);
    v->successor = 0;
}

/* SIGHUP: certificates are read anew. */
static void reload(struct supervisor *v)
{
    char error[512];
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    serve__manager_tell("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    if (serve__tls_change(v->shared, error, sizeof error) != NULL)
        serve__log("the certificates before stay in use: %s", error);
    serve__manager_tell("READY=1\nSTATUS=%d workers", v->nworkers);
}

/* The next signal; 0: it is time for the watchdog. */
static int next_signal(const sigset_t *signals, siginfo_t *info)
{
    int ms = serve__manager_wait();
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
    int which = ms < 0 ? sigwaitinfo(signals, info) : sigtimedwait(signals, info, &limit);
    return which < 0 && errno == EAGAIN ? 0 : which;
}

static void got_signal(struct supervisor *v, int which, pid_t from)
{
    if (which == SIGTERM || which == SIGINT)
        stop(v);
    if (which == SIGUSR1) {
        ready(v);
        serve__relisten_look(&v->listen, is_taken_over(v));
    }
    if (which == SIGHUP)
        reload(v);
    if (which == SIGUSR2)
        begin_takeover(v);
    if (which == SIGRTMIN)
        end_takeover(v, from);
    if (which == 0)
        serve__manager_watch(v->shared);
}

static int supervise(struct supervisor *v, const sigset_t *signals)
{
    int exit_status = 0;
    while (any_left(v)) {
        int status;
        siginfo_t info = {0};
        int which = next_signal(signals, &info);
        got_signal(v, which, info.si_pid);
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            int i = index_of(v, pid);
            if (pid == v->successor)
                successor_ended(v);
            int rc = i >= 0 ? worker_ended(v, i, status) : 0;
            exit_status = rc != 0 ? rc : exit_status;
        }
    }
    return exit_status;
}

static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGUSR2);
    sigaddset(set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* where it was ignored nobody would tell that a worker has ended */
}

/* Whoever started us may have closed them.  A socket or a file of ours with such a number would get the log. */
static void hold_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", O_RDWR);
}

/* As many descriptors as clients may come. */
static void raise_limit(const struct supervisor *v)
{
    struct rlimit l;
    rlim_t want = (rlim_t)number_of(v, SERVE__CFG_maxclients) + 64;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0 || l.rlim_cur >= want)
        return;
    l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
}

static int sync_mode(const struct supervisor *v)
{
    const char *fsync = text_of(v, SERVE__CFG_appendfsync);
    if (strcmp(fsync, "always") == 0)
        return CARET_SYNC_COMMIT;
    return strcmp(fsync, "no") == 0 ? CARET_SYNC_OFF : CARET_SYNC_INTERVAL;
}

/* ------------------------------------------------------------------- dir */

/* `path` as it is from any folder: itself, or *text, PATH_MAX bytes. */
static const char *from_anywhere(const char *path, char *text)
{
    char folder[PATH_MAX];
    if (*path == '/' || strchr(path, ':') != NULL || getcwd(folder, sizeof folder) == NULL ||
        snprintf(text, PATH_MAX, "%s/%s", folder, path) >= PATH_MAX)
        return path;
    return text;
}

/* CONFIG GET tells where the server is, whatever `dir` said. */
static void tell_folder(struct supervisor *v)
{
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) != NULL)
        serve__config_set(v->shared, SERVE__CFG_dir, here, strlen(here), true);
}

/* Programs that routines of M start, by JOB and ZSYSTEM, find the same database. */
static void tell_programs(const struct supervisor *v)
{
    char text[PATH_MAX];
    if (v->o.file != NULL)
        setenv("CARET_DB", from_anywhere(v->o.file, text), 1);
    unsetenv("ydb_gbldir"); /* which they would take first */
}

/* As in Redis: paths in redis.conf count from `dir`.  The database's, and that of shared memory, do not. */
static void enter_folder(struct supervisor *v)
{
    static char file[PATH_MAX], shm_dir[PATH_MAX];
    const char *db = getenv("CARET_DB");
    if (strcmp(text_of(v, SERVE__CFG_dir), serve__config_default(SERVE__CFG_dir)) == 0)
        return;
    if (v->o.file == NULL)
        v->o.file = db != NULL && *db != 0 ? db : "data.caret";
    v->o.file = from_anywhere(v->o.file, file);
    if (v->o.shm_dir != NULL)
        v->o.shm_dir = from_anywhere(v->o.shm_dir, shm_dir);
    if (chdir(text_of(v, SERVE__CFG_dir)) != 0)
        serve__log("dir %s: %s: paths count from where the server was started", text_of(v, SERVE__CFG_dir),
                   strerror(errno));
}

static void settle(struct supervisor *v)
{
    enter_folder(v);
    tell_folder(v);
    tell_programs(v);
}

static bool make_shared(struct supervisor *v)
{
    return serve__mail_make(v->shared) && serve__acl_make(v->shared) && serve__directory_make(v->shared) &&
           serve__rows_make(v->shared) && serve__measures_make(v->shared) &&
           serve__takeover_prepare(v->shared);
}

/* What is wrong in what was said: the text, or NULL. */
static const char *refused(const struct supervisor *v, char *error, size_t cap)
{
    const char *wrong = serve__config_refused(v->shared, error, cap);
    return wrong != NULL ? wrong : serve__listen_refused(&v->listen);
}

static int run(struct supervisor *v)
{
    sigset_t signals;
    char error[512];
    serve__takeover_configure(v->shared);
    v->nworkers = number_of(v, SERVE__CFG_workers);
    v->shared->nworkers = v->nworkers;
    v->listen.shared = v->shared;
    const char *wrong = refused(v, error, sizeof error);
    if (wrong != NULL)
        return fail(wrong) ? 0 : 2;
    settle(v);
    if (!serve__background_begin(v->shared))
        return 3;
    raise_limit(v);
    v->shared->never_syncs = sync_mode(v) == CARET_SYNC_OFF;
    if (!make_shared(v))
        return system_error("mailboxes") ? 0 : 3;
    wrong = serve__acl_start(v->shared, serve__config_value(v->shared, SERVE__CFG_requirepass),
                             text_of(v, SERVE__CFG_aclfile), error);
    if (wrong != NULL)
        return fail(wrong) ? 0 : 3;
    if (serve__tls_configure(v->shared, error, sizeof error) != NULL)
        return fail(error) ? 0 : 3;
    v->listen.start = v->start;
    v->listen.nworkers = v->nworkers;
    if (!serve__listen(&v->listen))
        return 3;
    if (!serve__relisten_prepare(&v->listen))
        return system_error("channels") ? 0 : 3;
    block_signals(&signals);
    for (int i = 0; i < v->nworkers; i++) {
        struct serve__start *start = &v->start[i];
        start->shared = v->shared;
        start->file = v->o.file;
        start->shm_dir = v->o.shm_dir;
        start->sync = sync_mode(v);
        start->index = i;
        start->channel = serve__takeover_channel();
        start_worker(v, i);
    }
    int tls = number_of(v, SERVE__CFG_tls_port);
    serve__log("%d worker%s, port %s%s%.0d%s%s", v->nworkers, v->nworkers == 1 ? "" : "s",
               text_of(v, SERVE__CFG_port), tls != 0 ? ", with TLS " : "", tls,
               *v->listen.unix_path ? ", " : "", v->listen.unix_path);
    serve__background_ready(v->shared);
    int status = supervise(v, &signals);
    serve__background_end(v->shared);
    if (*v->listen.unix_path != 0)
        unlink(v->listen.unix_path);
    return status;
}

/* The exit status of what only prints. */
static int after_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno != EPIPE)
        fprintf(stderr, "caret serve: standard output: %s\n", strerror(errno));
    return 3;
}

static int list_missing(void)
{
    int missing = 0;
    for (unsigned i = 0; i < serve__ncommands; i++)
        if (serve__commands[i].run == NULL && serve__commands[i].nsub == 0) {
            printf("%-12s %s\n", serve__commands[i].group, serve__commands[i].full);
            missing++;
        }
    printf("%d of %u are not there yet\n", missing, serve__ncommands);
    return after_output();
}

static int print_help(void)
{
    printf("usage: %s\n%s", usage, help);
    return after_output();
}

static int print_version(void)
{
    printf("caret-server %s\n", caret_version());
    return after_output();
}

int serve__main(int argc, char **argv)
{
    static struct supervisor v;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return print_help();
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return print_version();
    hold_standard();
    serve__manager_begin();
    if (!serve__takeover_begin(argv))
        return 3;
    serve__command_init();
    v.shared = serve__shared_new(1);
    if (v.shared == NULL)
        return system_error("shared memory") ? 0 : 3;
    serve__takeover_settle(v.shared);
    serve__config_init(v.shared);
    if (!read_arguments(&v, argc, argv))
        return 2;
    return v.o.missing ? list_missing() : run(&v);
}
