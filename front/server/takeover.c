/*
 * takeover.c - the supervisors' part: takeover.h.
 */
#include "server/takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/manager.h"
#include "server/moving.h"

enum {
    FIRST = SERVE__MANAGER_FIRST,
    MOST = SERVE__WORKERS_MAX * SERVE__LISTENERS_MAX,
    GAP = 1 << 20, /* numbers of clients that the old server may give yet */
    ENVIRONMENT = MOST + 128
};

static const char variable[] = "CARET_TAKEOVER";
static const char at_variable[] = "CARET_TAKEOVER_AT"; /* 1 if systemd opened it, port, tls-port, bind */
static const char kinds[] = {'T', 'U', 'S', 0};        /* by enum serve__way */

static struct {
    char program[PATH_MAX];
    char **argv;
    char ways[MOST + 1]; /* of what was inherited, a letter each */
    int n, channel;
    int folder; /* in which it was started: arguments count from there */
    pid_t old;  /* 0: nothing is taken over */
    uint64_t next_id;
    int given, port, tls_port;
    char bind[SERVE__CONFIG_BYTES];
    bool has_texts; /* given to bind are known: the old server told them */
} takeover = {.channel = -1};

/* ---------------------------------------------------------------- the new */

static bool parse(const char *text)
{
    int format = 0;
    int n = sscanf(text, "%d %d %" SCNu64, &format, &takeover.old, &takeover.next_id);
    const char *ways = strrchr(text, ' ');
    if (n != 3 || ways == NULL || format != SERVE__MOVING_FORMAT || strlen(ways + 1) > MOST ||
        strspn(ways + 1, kinds) != strlen(ways + 1)) {
        serve__log("the server that runs can't be taken over by this one: end it, and start this one");
        return false;
    }
    strcpy(takeover.ways, ways + 1);
    takeover.n = (int)strlen(takeover.ways);
    takeover.channel = FIRST + takeover.n;
    for (int fd = FIRST; fd <= takeover.channel; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
}

static void parse_texts(const char *text)
{
    int at = 0;
    takeover.has_texts =
        text != NULL &&
        sscanf(text, "%d %d %d%n", &takeover.given, &takeover.port, &takeover.tls_port, &at) == 3 &&
        text[at] == ' ';
    if (takeover.has_texts)
        snprintf(takeover.bind, sizeof takeover.bind, "%s", text + at + 1);
}

bool serve__takeover_begin(char **argv)
{
    const char *text = getenv(variable);
    ssize_t len = readlink("/proc/self/exe", takeover.program, sizeof takeover.program - 1);
    takeover.program[len > 0 ? len : 0] =
        0; /* the path: when it is started again another file may be there */
    takeover.argv = argv;
    takeover.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool fine = text == NULL || parse(text);
    parse_texts(getenv(at_variable));
    unsetenv(variable);
    unsetenv(at_variable);
    return fine;
}

bool serve__is_takeover(void)
{
    return takeover.old != 0;
}

int serve__takeover_channel(void)
{
    return takeover.channel;
}

static bool same_address(int a, int b)
{
    struct sockaddr_storage x = {0}, y = {0};
    socklen_t x_len = sizeof x, y_len = sizeof y;
    return getsockname(a, (struct sockaddr *)&x, &x_len) == 0 &&
           getsockname(b, (struct sockaddr *)&y, &y_len) == 0 && x_len == y_len && memcmp(&x, &y, x_len) == 0;
}

/* How many sockets of this address there are, and how many of them before this one. */
static int group_of(int fd, int *before)
{
    int n = 0;
    for (int other = FIRST; other < FIRST + takeover.n; other++) {
        *before = other == fd ? n : *before;
        n += same_address(fd, other);
    }
    return n;
}

static void find_unix_path(struct serve__listen *l, int fd)
{
    struct sockaddr_un a = {0};
    socklen_t len = sizeof a - 1;
    if (getsockname(fd, (struct sockaddr *)&a, &len) == 0)
        memcpy(l->unix_path, a.sun_path, sizeof l->unix_path);
}

void serve__takeover_configure(struct serve__shared *s)
{
    char port[16];
    if (takeover.old == 0 || !takeover.has_texts)
        return;
    snprintf(port, sizeof port, "%d", takeover.port);
    serve__config_set(s, SERVE__CFG_port, port, strlen(port), true);
    snprintf(port, sizeof port, "%d", takeover.tls_port);
    serve__config_set(s, SERVE__CFG_tls_port, port, strlen(port), true);
    serve__config_set(s, SERVE__CFG_bind, takeover.bind, strlen(takeover.bind), true);
}

/* Each worker has sockets of its own, if there are enough; else all have all. */
bool serve__takeover_listen(struct serve__listen *l)
{
    l->given = takeover.given != 0;
    for (int fd = FIRST; fd < FIRST + takeover.n; fd++) {
        enum serve__way way = (enum serve__way)(strchr(kinds, takeover.ways[fd - FIRST]) - kinds);
        int before = 0, n = group_of(fd, &before);
        bool shared = n < l->nworkers || way == SERVE__WAY_UNIX;
        if (way == SERVE__WAY_UNIX)
            find_unix_path(l, fd);
        for (int i = 0; i < l->nworkers; i++)
            if ((shared || before % l->nworkers == i) && !serve__listen_add(&l->start[i], fd, way, shared))
                return false;
    }
    return true;
}

void serve__takeover_settle(struct serve__shared *s)
{
    if (takeover.old != 0)
        s->next_id = takeover.next_id + GAP;
}

void serve__takeover_ready(void)
{
    if (takeover.old != 0 && getppid() == takeover.old)
        kill(takeover.old, SIGRTMIN); /* it is queued, also if SIGUSR2 comes again */
}

/* ---------------------------------------------------------------- the old */

bool serve__takeover_prepare(struct serve__shared *s)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    s->channel_in = pair[0];
    s->channel_out = pair[1];
    return true;
}

/* What listens, each once, and the kinds of them. */
static int collect(const struct serve__listen *l, int *fds, char *ways)
{
    int n = 0;
    for (int i = 0; i < l->nworkers; i++)
        for (int k = 0; k < l->start[i].nlisteners; k++) {
            const struct serve__listener *one = &l->start[i].listeners[k];
            int at = 0;
            while (at < n && fds[at] != one->source.fd)
                at++;
            if (at < n)
                continue;
            ways[n] = kinds[one->way];
            fds[n++] = one->source.fd;
        }
    ways[n] = 0;
    return n;
}

/* To the places from FIRST on, where one of them may be already. */
static bool place(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        if ((fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST + n)) < 0)
            return false;
    for (int i = 0; i < n; i++)
        if (dup2(fds[i], FIRST + i) < 0)
            return false;
    return true;
}

static void be_another(const struct serve__listen *l, pid_t old)
{
    static int fds[MOST + 1];
    static char ways[MOST + 1], text[ENVIRONMENT], texts[4 * SERVE__CONFIG_BYTES];
    sigset_t none;
    int n = collect(l, fds, ways);
    fds[n] = l->shared->channel_in;
    snprintf(text, sizeof text, "%d %d %" PRIu64 " %s", SERVE__MOVING_FORMAT, (int)old,
             (uint64_t)l->shared->next_id, ways);
    snprintf(texts, sizeof texts, "%d %s %s %s", l->given, l->at[0], l->at[1], l->at[2]);
    if (takeover.folder >= 0 && fchdir(takeover.folder) != 0)
        return;
    if (!place(fds, n + 1) || setenv(variable, text, 1) != 0 || setenv(at_variable, texts, 1) != 0)
        return;
    serve__manager_hand_over();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(takeover.program, takeover.argv);
}

pid_t serve__takeover_start(const struct serve__listen *l)
{
    pid_t old = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        be_another(l, old);
        serve__log("%s: %s", takeover.program, strerror(errno));
        _exit(3);
    }
    if (pid < 0)
        serve__log("fork: %s", strerror(errno));
    else
        serve__log("process %d is to take over", (int)pid);
    return pid;
}
