/*
 * worker.c - the loop of a worker: worker.h.
 *
 * epoll, level-triggered.  Each socket that is ready is read once a turn, 64 KiB at most, so that nobody
 * waits for one that sends without end.
 */
#include "server/worker.h"
#include "server/admin/rates.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/admin/acl.h"
#include "server/disk.h"
#include "server/handoff.h"
#include "server/keys/expire.h"
#include "server/meet/blocked.h"
#include "server/meet/clients.h"
#include "server/meet/ending.h"
#include "server/meet/mail.h"
#include "server/meet/tracking.h"
#include "server/moving.h"
#include "server/node/lock.h"
#include "server/node/m.h"
#include "server/relisten.h"

enum { EVENTS = 256, TICK = 100 /* milliseconds between looks when nothing happens */, ACCEPTS = 64 };

void serve__log(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "caret serve[%d]: %s\n", (int)getpid(), text);
}

bool serve__watch(struct serve__worker *w, struct serve__source *s, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = s};
    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, s->fd, &e) == 0;
}

int64_t serve__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void serve__worker_clock(struct serve__worker *w)
{
    w->now = serve__now();
    bool off = w->shared->no_expire || w->shared->no_cron;
    bool keep = (off && !w->saw_expired) || serve__paused(w) != SERVE__PAUSE_NONE;
    w->saw_expired = w->saw_expired && keep;
    w->due = w->now + (keep ? TICK : serve__expire_sweep(&w->run, w->now, TICK));
}

/* -------------------------------------------------------------- accepting */

/* Too many: say so, and close; with TLS nothing can be said yet. */
static void refuse(struct serve__worker *w, int fd, enum serve__way way)
{
    static const char text[] = "-ERR max number of clients reached\r\n";
    if (way != SERVE__WAY_TLS && send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        serve__log("a client over maxclients was gone already");
    close(fd);
    serve__add(&w->stats->refused, 1);
}

/* No descriptor is left: use the spare one to take a connection off the queue, and refuse it. */
static void refuse_for_want(struct serve__worker *w, const struct serve__listener *l)
{
    close(w->spare_fd);
    int fd = accept4(l->source.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        refuse(w, fd, l->way);
    w->spare_fd = dup(STDERR_FILENO);
}

/* Protected mode: without a password only this machine is served. */
static bool is_stranger(const struct serve__worker *w, const struct sockaddr_storage *from)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    if (!w->config.n[SERVE__CFG_protected_mode] || !serve__auth_open())
        return false;
    if (from->ss_family == AF_INET)
        return (ntohl(v4->sin_addr.s_addr) >> 24) != 127;
    if (from->ss_family != AF_INET6)
        return false;
    return !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) &&
           !(IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
}

static void refuse_stranger(int fd, enum serve__way way)
{
    static const char text[] =
        "-DENIED the server runs in protected mode: it has no password, so it serves this machine only. Set "
        "a "
        "password (requirepass), or protected-mode no, or connect from this machine.\r\n";
    if (way != SERVE__WAY_TLS && send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        serve__log("a client from another machine was gone already");
    close(fd);
}

static void accepted(struct serve__worker *w, int fd, const struct sockaddr_storage *from,
                     enum serve__way way)
{
    int yes = 1;
    if (is_stranger(w, from)) {
        refuse_stranger(fd, way);
        return;
    }
    if ((int64_t)SERVE__SUM(w->shared, connections) >= w->config.n[SERVE__CFG_maxclients]) {
        refuse(w, fd, way);
        return;
    }
    if (way != SERVE__WAY_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        int seconds = (int)w->config.n[SERVE__CFG_tcp_keepalive];
        if (seconds > 0) {
            setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
            setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
        }
    }
    serve__conn_new(w, fd, way);
}

/* false: there are none any more. */
static bool accept_some(struct serve__worker *w, struct serve__listener *l)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof from;
        int fd = accept4(l->source.fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accepted(w, fd, &from, l->way);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE)
            refuse_for_want(w, l);
        if (errno != EINTR && errno != ECONNABORTED)
            return false;
    }
    return true;
}

void serve__accept_all(struct serve__worker *w, struct serve__listener *l)
{
    enum { MOST = 1024 /* so that it ends, however many come */ };
    for (int i = 0; i < MOST && accept_some(w, l); i++)
        ;
}

/* ------------------------------------------------------------------ turns */

/* Connections that were woken: those that come while they are served wait for the next turn. */
static void serve_ready(struct serve__worker *w)
{
    unsigned handoffs = serve__handoffs(w);
    if (w->served == NULL) {
        w->served = w->ready;
        w->ready = NULL;
    }
    while (w->served != NULL && handoffs == serve__handoffs(w)) {
        struct serve__conn *c = w->served;
        w->served = c->ready_next;
        c->flags &= ~(unsigned)SERVE__CONN_READY;
        serve__conn_serve(w, c);
    }
}

/* A client that connected and does not get on with the handshake of TLS. */
static bool shakes_too_long(const struct serve__worker *w, const struct serve__conn *c, int64_t limit)
{
    int64_t most = limit > 0 && limit < SERVE__TLS_LIMIT ? limit : SERVE__TLS_LIMIT;
    return c->tls != NULL && serve__tls_shakes(c->tls) && w->now - c->created > most;
}

/* Once a second: end connections that were idle for too long, or that take nothing. */
static void sweep_idle(struct serve__worker *w)
{
    int64_t limit = w->config.n[SERVE__CFG_timeout] * 1000;
    if (w->now - w->swept < 1000 || w->shared->no_cron)
        return;
    w->swept = w->now;
    for (struct serve__conn *c = w->conns, *next; c != NULL; c = next) {
        bool waits = c->flags & (SERVE__CONN_BLOCKED | SERVE__CONN_PUBSUB | SERVE__CONN_MONITOR);
        next = c->next;
        if ((limit > 0 && w->now - c->active > limit && !waits) || shakes_too_long(w, c, limit) ||
            serve__output_over(w, c, 0))
            serve__conn_free(w, c);
    }
}

static void got_signal(struct serve__worker *w, struct serve__source *s)
{
    struct signalfd_siginfo info;
    if (read(s->fd, &info, sizeof info) == sizeof info)
        w->stopping = true;
}

static void source_ready(struct serve__worker *w, struct serve__source *s, uint32_t events)
{
    struct serve__conn *c = (struct serve__conn *)s;
    if (s->kind == SERVE__SOURCE_LISTENER)
        accept_some(w, (struct serve__listener *)s);
    else if (s->kind != SERVE__SOURCE_CONN)
        s->ready(w, s);
    else if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || (c->tls != NULL && serve__tls_wants_out(c->tls)))
        serve__conn_readable(w, c);
    else
        serve__conn_serve(w, c);
}

void serve__worker_turn(struct serve__worker *w)
{
    struct epoll_event events[EVENTS];
    serve__send_unsent(w); /* they are there if the turn was taken from a script */
    bool more = w->ready != NULL || w->served != NULL || w->unsaved != NULL ||
                (w->saw_expired && serve__paused(w) == SERVE__PAUSE_NONE);
    int64_t due = more ? 0 : w->due - w->now;
    int wait = serve__handoff_wait(w, due < 0 ? 0 : due > TICK ? TICK : (int)due);
    if (wait < 0)
        return;
    unsigned handoffs = serve__handoffs(w);
    int n = epoll_wait(w->epoll, events, EVENTS, wait);
    serve__tracking_refresh(w);
    serve__config_refresh(w); /* before the clock: keys that are due may be told of */
    serve__worker_clock(w);
    atomic_store_explicit(&w->stats->turned, (uint64_t)w->now, memory_order_relaxed);
    serve__rates_turn(w);
    serve__disk_mode(w);
    int wakes = serve__blocked_turn(w, TICK);
    w->due = w->now + wakes < w->due ? w->now + wakes : w->due;
    serve__acl_refresh(w);
    w->monitors = SERVE__SUM(w->shared, monitors);
    if (w->stats->paused > 0)
        serve__pause_look(w);
    if (w->held > 0)
        serve__ending_look(w);
    serve__mail_first(w);
    if (serve__tracking_listens(w)) /* before anything else is answered */
        serve__tracking_turn(w);
    wakes = serve__locks_turn(w, TICK);
    w->due = w->now + wakes < w->due ? w->now + wakes : w->due;
    serve__m_turn(w);
    for (int i = 0; i < n && handoffs == serve__handoffs(w); i++)
        source_ready(w, events[i].data.ptr, events[i].events);
    if (handoffs == serve__handoffs(w) && serve__tracking_listens(w))
        serve__tracking_turn(w);
    if (handoffs == serve__handoffs(w) && (w->ready != NULL || w->served != NULL))
        serve_ready(w);
    if (handoffs == serve__handoffs(w))
        serve__send_unsent(w);
    if (handoffs != serve__handoffs(w)) /* this thread was away: its turn was gone on with */
        return;
    sweep_idle(w);
    serve__clients_turn(w);
    serve__ending_tell_users(w);
    serve__disk_turn(w);
    if (w->mail_waits)
        serve__mail_send(w);
    if (w->shared->drain)
        serve__moving_turn(w);
    if (w->shared->stop)
        w->stopping = true;
}

/* ---------------------------------------------------------- begin and end */

int serve__runner_open(struct serve__worker *w, struct serve__runner *r)
{
    r->w = w;
    int rc = caret_session_open(w->db, &r->s);
    if (rc == CARET_OK && w->start->sync == CARET_SYNC_COMMIT)
        rc = caret_session_batch(r->s, 1);
    for (unsigned i = 0; rc == CARET_OK && i < SERVE__DATABASES; i++) {
        char name[16];
        int n = i == 0 ? snprintf(name, sizeof name, "^redis") : snprintf(name, sizeof name, "^redis%u", i);
        rc = caret_node_var(&r->base[i].node, sizeof r->base[i], name, (size_t)n);
    }
    if (rc == CARET_OK)
        rc = caret_node_var(&r->expiry.node, sizeof r->expiry, "^redisX", 7);
    if (getrandom(r->random, sizeof r->random, 0) != sizeof r->random)
        r->random[0] = (uint64_t)serve__now() + (uint64_t)getpid();
    return rc;
}

static bool open_signals(struct serve__worker *w)
{
    static struct serve__source source = {SERVE__SOURCE_SIGNAL, -1, got_signal};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* it is for the supervisor */
    source.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return source.fd >= 0 && serve__watch(w, &source, EPOLLIN);
}

static bool open_all(struct serve__worker *w)
{
    struct serve__start *start = w->start;
    caret_options o = {.size = sizeof o, .sync = start->sync, .shm_dir = start->shm_dir};
    int rc = caret_open(start->file, &o, &w->db);
    if (rc == CARET_OK)
        rc = serve__runner_open(w, &w->run);
    if (rc != CARET_OK) {
        serve__log("%s", caret_fact());
        return false;
    }
    if (!serve__blocked_open(w)) {
        serve__log("no memory or no session for clients that wait");
        return false;
    }
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->spare_fd = dup(STDERR_FILENO);
    if (w->epoll < 0 || w->spare_fd < 0 || !open_signals(w) || !serve__mail_open(w)) {
        serve__log("epoll, signalfd or mail: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < start->nlisteners; i++)
        if (!serve__watch(w, &start->listeners[i].source,
                          start->listeners[i].is_shared ? EPOLLIN | EPOLLEXCLUSIVE : EPOLLIN)) {
            serve__log("epoll: %s", strerror(errno));
            return false;
        }
    return serve__relisten_open(w) && serve__moving_open(w);
}

static void close_all(struct serve__worker *w)
{
    serve__disk_end(w);
    while (w->conns != NULL) {
        serve__conn_send(w, w->conns);
        serve__conn_free(w, w->conns);
    }
    serve__blocked_close(w);
    caret_session_close(w->run.s);
    if (caret_close(w->db) != CARET_OK)
        serve__log("closing the database: %s", caret_fact());
}

int serve__worker_main(struct serve__start *start)
{
    struct serve__worker *w = calloc(1, sizeof *w);
    if (w == NULL)
        return 3;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    w->start = start;
    w->index = start->index;
    w->shared = start->shared;
    w->stats = &start->shared->stats[start->index];
    w->stats->pid = (uint64_t)getpid();
    w->stats->connections = 0; /* those of a predecessor died with it */
    w->stats->blocked = w->stats->waiting = w->stats->paused = w->stats->monitors = 0;
    w->stats->client_memory = 0;
    w->stats->trackers = w->stats->tracked_keys = w->stats->tracked_items = w->stats->tracked_prefixes = 0;
    atomic_fetch_and(&w->shared->tracked, ~(UINT64_C(1) << w->index));
    w->shared->late[w->index].since = 0;
    w->runs = (uint32_t)w->shared->late[w->index].number; /* none of ours has a number of theirs */
    w->acl_loads = w->shared->acl->loads;
    serve__locks_open(w);
    serve__config_refresh(w);
    serve__disk_mode(w);
    if (!open_all(w))
        return 3;
    if (getppid() != w->shared->supervisor) /* it died before prctl() */
        w->stopping = true;
    serve__acl_refresh(w);
    serve__worker_clock(w);
    w->stats->turned = (uint64_t)w->now;
    kill(w->shared->supervisor, SIGUSR1); /* it waits for that to say that all is ready */
    while (!w->stopping)
        serve__worker_turn(w);
    serve__handoff_end(w);
    close_all(w);
    return 0;
}
