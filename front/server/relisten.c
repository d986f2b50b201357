/*
 * relisten.c - other ports while workers serve: relisten.h has the protocol.
 */
#include "server/relisten.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NONE, ASKED, BEGUN, DONE, FAILED }; /* shared->relisten.state */
enum { ANSWER = 5000, ALL = 1000 }; /* milliseconds that are waited for the supervisor, for the others */

static const int parameters[] = {SERVE__CFG_port, SERVE__CFG_tls_port, SERVE__CFG_bind};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

struct packet {
    uint64_t round;
    uint32_t n;
    unsigned char way[SERVE__LISTENERS_MAX], is_shared[SERVE__LISTENERS_MAX];
};

/* A packet with its sockets, for sendmsg() and recvmsg(). */
struct message {
    struct packet packet;
    int fds[SERVE__LISTENERS_MAX];
    struct iovec part;
    struct msghdr head;
    union {
        struct cmsghdr first;
        char bytes[CMSG_SPACE(sizeof(int) * SERVE__LISTENERS_MAX)];
    } control;
};

static struct msghdr *prepare(struct message *m)
{
    m->part = (struct iovec){&m->packet, sizeof m->packet};
    m->head = (struct msghdr){.msg_iov = &m->part,
                              .msg_iovlen = 1,
                              .msg_control = &m->control,
                              .msg_controllen = sizeof m->control};
    return &m->head;
}

/* ----------------------------------------------------------- the supervisor */

static bool texts_differ(const struct serve__listen *l)
{
    for (int i = 0; i < PARAMETERS; i++)
        if (strcmp(l->at[i], l->shared->config[parameters[i]]) != 0)
            return true;
    return false;
}

static void remember(struct serve__listen *l)
{
    for (int i = 0; i < PARAMETERS; i++)
        strcpy(l->at[i], l->shared->config[parameters[i]]);
}

static void put_back(struct serve__listen *l)
{
    serve__shared_lock(l->shared);
    for (int i = 0; i < PARAMETERS; i++)
        strcpy(l->shared->config[parameters[i]], l->at[i]);
    l->shared->version++;
    serve__shared_unlock(l->shared);
}

bool serve__relisten_prepare(struct serve__listen *l)
{
    for (int i = 0; i < l->nworkers; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, l->channel[i]) != 0)
            return false;
        l->start[i].relisten = l->channel[i][1];
    }
    remember(l);
    return true;
}

static void send_sockets(const struct serve__listen *l, int worker)
{
    static struct message m;
    const struct serve__start *start = &l->start[worker];
    size_t bytes = sizeof *m.fds * (size_t)start->nlisteners;
    m.packet = (struct packet){.round = l->round, .n = (uint32_t)start->nlisteners};
    for (int i = 0; i < start->nlisteners; i++) {
        m.packet.way[i] = (unsigned char)start->listeners[i].way;
        m.packet.is_shared[i] = start->listeners[i].is_shared;
        m.fds[i] = start->listeners[i].source.fd;
    }
    struct msghdr *head = prepare(&m);
    m.control.first = (struct cmsghdr){CMSG_LEN(bytes), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&m.control.first), m.fds, bytes);
    head->msg_controllen = bytes > 0 ? CMSG_SPACE(bytes) : 0;
    if (sendmsg(l->channel[worker][0], head, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        serve__log("worker %d does not hear of other ports: %s", worker, strerror(errno));
}

/* 4, 5 */
static bool change(struct serve__listen *l, bool refuse)
{
    if (!texts_differ(l))
        return true;
    if (refuse || l->given)
        serve__log("ports stay as they are: %s",
                   refuse ? "another server takes over" : "the manager of services has opened them");
    if (refuse || l->given || !serve__listen_change(l)) {
        put_back(l);
        return false;
    }
    remember(l);
    l->shared->relisten.round = ++l->round;
    for (int i = 0; i < l->nworkers; i++) {
        l->start[i].round = l->round;
        send_sockets(l, i);
    }
    serve__log("port %s, with TLS %s, bind %s", l->at[0], l->at[1], l->at[2]);
    return true;
}

void serve__relisten_look(struct serve__listen *l, bool refuse)
{
    uint64_t asked = ASKED;
    if (atomic_compare_exchange_strong(&l->shared->relisten.state, &asked, BEGUN))
        l->shared->relisten.state = change(l, refuse) ? DONE : FAILED;
}

void serve__relisten_died(struct serve__listen *l, int worker, bool refuse)
{
    if (l->shared->relisten.owner != (uint64_t)worker + 1)
        return;
    change(l, refuse);
    l->shared->relisten.state = NONE;
    l->shared->relisten.owner = 0;
}

/* ----------------------------------------------------------------- a worker */

static void close_all(const int *fds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        close(fds[i]);
}

/* Serve what waits at a socket that was ours, and close it. */
static void leave(struct serve__worker *w, struct serve__listener *l)
{
    serve__accept_all(w, l);
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, l->source.fd, NULL); /* others may have it open */
    close(l->source.fd);
}

static bool listen_at(struct serve__worker *w, struct serve__listener *l)
{
    return serve__watch(w, &l->source, l->is_shared ? EPOLLIN | EPOLLEXCLUSIVE : EPOLLIN);
}

/* 6 */
static void take(struct serve__worker *w, const struct message *m)
{
    static struct serve__listener old[SERVE__LISTENERS_MAX];
    struct serve__start *start = w->start;
    int nold = start->nlisteners;
    memcpy(old, start->listeners, sizeof old);
    for (int i = 0; i < SERVE__LISTENERS_MAX; i++)
        start->listeners[i].source.fd = -1;
    start->nlisteners = 0;
    for (uint32_t i = 0; i < m->packet.n; i++)
        serve__listen_add(start, m->fds[i], (enum serve__way)m->packet.way[i], m->packet.is_shared[i] != 0);
    for (int i = 0; i < start->nlisteners; i++)
        if (!listen_at(w, &start->listeners[i]))
            serve__log("epoll: %s", strerror(errno));
    for (int i = 0; i < nold; i++)
        leave(w, &old[i]);
    w->stats->listens = m->packet.round;
}

/* false: there is none now. */
static bool take_next(struct serve__worker *w)
{
    static struct message m;
    struct msghdr *head = prepare(&m);
    ssize_t len = recvmsg(w->start->relisten, head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (len != sizeof m.packet)
        return false;
    struct cmsghdr *first = CMSG_FIRSTHDR(head);
    uint32_t n = first != NULL ? (uint32_t)((first->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
    if (n > 0)
        memcpy(m.fds, CMSG_DATA(first), n * sizeof(int));
    if (n == m.packet.n && m.packet.round > w->stats->listens) {
        take(w, &m);
        return true;
    }
    if (n != m.packet.n)
        serve__log("no descriptors for other ports: this worker stays with those it has");
    close_all(m.fds, n);
    return true;
}

static void take_packets(struct serve__worker *w)
{
    serve__tls_refresh(w->shared); /* before anybody comes to a tls-port */
    while (take_next(w))
        ;
}

static void channel_ready(struct serve__worker *w, struct serve__source *s)
{
    (void)s;
    take_packets(w);
}

/* R5 */
static void close_others(const struct serve__start *mine)
{
    const struct serve__start *all = mine - mine->index;
    for (int i = 0; i < mine->shared->nworkers; i++)
        for (int k = 0; i != mine->index && k < all[i].nlisteners; k++)
            if (!all[i].listeners[k].is_shared)
                close(all[i].listeners[k].source.fd);
}

bool serve__relisten_open(struct serve__worker *w)
{
    static struct serve__source source;
    source = (struct serve__source){SERVE__SOURCE_OTHER, w->start->relisten, channel_ready};
    close_others(w->start);
    w->stats->listens = w->start->round;
    return serve__watch(w, &source, EPOLLIN);
}

/* -------------------------------------------------------------- CONFIG SET */

/* A millisecond, or until a packet is there. */
static void wait_a_little(struct serve__worker *w)
{
    struct pollfd p = {.fd = w->start->relisten, .events = POLLIN};
    poll(&p, 1, 1);
    take_packets(w);
}

bool serve__relisten_begin(struct serve__worker *w)
{
    for (int i = 0; i < ANSWER + ALL; i++) {
        uint64_t nobody = 0;
        if (atomic_compare_exchange_strong(&w->shared->relisten.owner, &nobody, (uint64_t)w->index + 1))
            return true;
        wait_a_little(w);
    }
    serve__log("ports stay as they are: another worker changes them");
    return false;
}

static bool all_have_it(const struct serve__shared *s)
{
    for (int i = 0; i < s->nworkers; i++)
        if (s->stats[i].turned != 0 && s->stats[i].listens < s->relisten.round)
            return false;
    return true;
}

bool serve__relisten(struct serve__worker *w)
{
    struct serve__shared *s = w->shared;
    uint64_t asked = ASKED;
    s->relisten.state = ASKED;
    kill(s->supervisor, SIGUSR1);
    for (int i = 0; s->relisten.state == ASKED && i < ANSWER; i++)
        wait_a_little(w);
    if (atomic_compare_exchange_strong(&s->relisten.state, &asked, NONE)) {
        serve__log("ports stay as they are: the first process does not answer");
        return false;
    }
    while (s->relisten.state == BEGUN && getppid() == s->supervisor)
        wait_a_little(w);
    bool fine = s->relisten.state == DONE;
    for (int i = 0; fine && !all_have_it(s) && i < ALL; i++)
        wait_a_little(w);
    return fine;
}

void serve__relisten_end(struct serve__worker *w)
{
    w->shared->relisten.state = NONE;
    w->shared->relisten.owner = 0;
}
