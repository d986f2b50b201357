/*
 * moving.c - connections on the way to another server: moving.h.
 */
#include "server/moving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/admin/acl.h"
#include "server/dispatch.h"
#include "server/meet/clients.h"
#include "server/meet/pubsub.h"
#include "server/meet/tracking.h"
#include "server/node/lock.h"
#include "server/watch.h"

enum {
    MOST = 96 * 1024, /* bytes of a packet, which the kernel takes whole */
    CARRIED = SERVE__CONN_AUTHENTICATED | SERVE__CONN_UNIX | SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP |
              SERVE__CONN_NO_EVICT | SERVE__CONN_MONITOR | SERVE__CONN_TRACKING | SERVE__CONN_BCAST |
              SERVE__CONN_DEBUG | SERVE__CONN_DEBUG_SYNC,
    BUSY = SERVE__CONN_CLOSE | SERVE__CONN_DEAD | SERVE__CONN_MULTI | SERVE__CONN_BLOCKED |
           SERVE__CONN_IN_EXEC | SERVE__CONN_PAUSED | SERVE__CONN_AWAY | SERVE__CONN_UNSAVED |
           SERVE__CONN_HELD | SERVE__CONN_READY,
    LOOK = 10,       /* milliseconds between looks whether another connection has moved */
    MOST_LOOKS = 100 /* at a worker that has died, or does not run */
};

struct moved {
    uint32_t flags, db, protocol, how; /* how: SERVE__TRACK_* */
    uint64_t id, redirect;
    int64_t created;
    uint32_t ntopics, nprefixes;
};

/* ------------------------------------------------------------------ leaving */

static void add_text(struct serve__buffer *b, caret_slice text)
{
    uint32_t len = (uint32_t)text.len;
    serve__buffer_add(b, &len, sizeof len);
    serve__buffer_add(b, text.data, text.len);
}

static void add_name(struct serve__buffer *b, const char *text)
{
    add_text(b, (caret_slice){text, text != NULL ? strlen(text) : 0});
}

static uint32_t add_topics(struct serve__buffer *b, const struct serve__conn *c)
{
    uint32_t n = 0;
    for (int kind = 0; kind < 3; kind++) {
        caret_slice name;
        for (uint32_t i = 0; serve__topic_at(c, i, (enum serve__topic_kind)kind, &name); i++) {
            char byte = (char)kind;
            if (name.data == NULL)
                continue;
            serve__buffer_add(b, &byte, 1);
            add_text(b, name);
            n++;
        }
    }
    return n;
}

static uint32_t add_prefixes(struct serve__buffer *b, const struct serve__conn *c)
{
    uint32_t n = 0;
    caret_slice name;
    for (uint32_t i = 0; (c->flags & SERVE__CONN_BCAST) && serve__prefix_at(i, c->tracking, &name); i++)
        if (name.data != NULL) {
            add_text(b, name);
            n++;
        }
    return n;
}

/* What has come and was not run. */
static caret_slice input_of(const struct serve__conn *c)
{
    size_t start = c->parser.left > 0 ? c->parser.start : c->parser.at;
    return (caret_slice){c->in.data + start, c->in.len - start};
}

/* V5: its messages go to another connection that is here. */
static bool follows(const struct serve__conn *c)
{
    return (c->flags & SERVE__CONN_TRACKING) && c->tracking->redirect != c->id &&
           serve__track_reaches(c->tracking);
}

static void describe(const struct serve__conn *c, struct serve__buffer *b)
{
    struct moved m = {.flags = c->flags & CARRIED,
                      .db = c->db,
                      .protocol = (uint32_t)c->reply.protocol,
                      .how = c->tracking != NULL ? c->tracking->how : 0,
                      .redirect = c->tracking != NULL ? c->tracking->redirect : 0,
                      .id = c->id,
                      .created = c->created};
    serve__buffer_add(b, &m, sizeof m);
    add_name(b, c->name);
    add_name(b, c->lib_name);
    add_name(b, c->lib_ver);
    add_name(b, c->user != NULL ? serve__user_name(c) : NULL);
    m.ntopics = add_topics(b, c);
    m.nprefixes = add_prefixes(b, c);
    add_text(b, input_of(c));
    if (!b->failed)
        memcpy(b->data, &m, sizeof m);
}

/* V1, V2 */
static bool can_move(const struct serve__conn *c)
{
    return !(c->flags & BUSY) && c->tls == NULL && c->sent == c->out.len && serve__watched_count(c) == 0 &&
           serve__locks_idle(c) && c->blocked == NULL && c->queue == NULL && !follows(c);
}

static bool send_packet(int to, int fd, const struct serve__buffer *b)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {b->data, b->len};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
    ssize_t n;
    do
        n = sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)b->len;
}

/* V3.  false: it stays. */
static bool move(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__buffer b = {0};
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &c->source};
    describe(c, &b);
    bool fine = !b.failed && b.len <= MOST && epoll_ctl(w->epoll, EPOLL_CTL_DEL, c->source.fd, NULL) == 0;
    bool sent = fine && send_packet(w->shared->channel_out, c->source.fd, &b);
    if (fine && !sent)
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, c->source.fd, &e);
    if (sent)
        serve__conn_free(w, c);
    serve__buffer_free(&b);
    return sent;
}

static void accept_no_more(struct serve__worker *w)
{
    struct serve__start *start = w->start;
    for (int i = 0; i < start->nlisteners; i++) {
        epoll_ctl(w->epoll, EPOLL_CTL_DEL, start->listeners[i].source.fd, NULL);
        close(start->listeners[i].source.fd);
    }
    start->nlisteners = 0;
}

void serve__moving_turn(struct serve__worker *w)
{
    if (!w->drains)
        accept_no_more(w);
    w->drains = true;
    for (struct serve__conn *c = w->conns, *next; c != NULL; c = next) {
        next = c->next;
        if (can_move(c))
            move(w, c);
        else if (follows(c) && w->due > w->now + LOOK)
            w->due = w->now + LOOK;
    }
    if (w->conns == NULL && w->start->channel < 0)
        w->stopping = true;
}

/* ----------------------------------------------------------------- arriving */

struct packet {
    const char *at, *end;
    bool bad;
};

static caret_slice take(struct packet *p, size_t len)
{
    caret_slice bytes = {p->at, len};
    p->bad = p->bad || (size_t)(p->end - p->at) < len;
    if (p->bad)
        return (caret_slice){"", 0};
    p->at += len;
    return bytes;
}

static caret_slice take_text(struct packet *p)
{
    uint32_t len = 0;
    caret_slice n = take(p, sizeof len);
    if (!p->bad)
        memcpy(&len, n.data, sizeof len);
    return take(p, len);
}

static void take_name(struct packet *p, char **to)
{
    caret_slice text = take_text(p);
    if (text.len > 0)
        serve__client_set(to, &text);
}

/* V4.  false: there is no such user. */
static bool take_user(struct packet *p, struct serve__conn *c)
{
    caret_slice name = take_text(p);
    if (name.len > 0)
        c->user = serve__user_find(name);
    return name.len == 0 || c->user != NULL;
}

static void pass_topics(struct packet *p, uint32_t n)
{
    for (uint32_t i = 0; i < n && !p->bad; i++) {
        take(p, 1);
        take_text(p);
    }
}

static void take_topics(struct serve__worker *w, struct packet *p, struct serve__conn *c, uint32_t n)
{
    for (uint32_t i = 0; i < n && !p->bad; i++) {
        caret_slice kind = take(p, 1), name = take_text(p);
        if (!p->bad && *kind.data >= 0 && *kind.data < 3)
            serve__topic_add(w, c, (enum serve__topic_kind) * kind.data, name);
    }
}

/* As if it had sent this command, whose answer is dropped. */
static bool run(struct serve__worker *w, struct serve__conn *c, const caret_slice *argv, int argc)
{
    uint64_t errors = c->reply.errors;
    size_t mark = serve__reply_mark(&c->reply);
    serve__dispatch(w, c, argv, argc, NULL);
    serve__reply_cut(&c->reply, mark);
    return c->reply.errors == errors;
}

static caret_slice word(const char *text)
{
    return (caret_slice){text, strlen(text)};
}

enum { WORDS = 256 };

/* CLIENT TRACKING ON with its options, but for REDIRECT. */
static int tracking_words(struct packet *p, const struct moved *m, caret_slice argv[WORDS])
{
    int n = 0;
    argv[n++] = word("client");
    argv[n++] = word("tracking");
    argv[n++] = word("on");
    if (m->flags & SERVE__CONN_BCAST)
        argv[n++] = word("bcast");
    if (m->how & SERVE__TRACK_OPTIN)
        argv[n++] = word("optin");
    if (m->how & SERVE__TRACK_OPTOUT)
        argv[n++] = word("optout");
    if (m->how & SERVE__TRACK_NOLOOP)
        argv[n++] = word("noloop");
    for (uint32_t i = 0; i < m->nprefixes; i++) {
        caret_slice prefix = take_text(p);
        if (n + 2 > WORDS || prefix.len == 0) /* all keys, which is what BCAST says alone */
            continue;
        argv[n++] = word("prefix");
        argv[n++] = prefix;
    }
    return n;
}

/* This worker reads the next packet; and the row of what came in it is there, or nothing came. */
static void take_begin(struct serve__worker *w)
{
    atomic_fetch_or(&w->stats->taking, 1);
}

static void take_end(struct serve__worker *w)
{
    if (w->stats->taking & 1)
        atomic_fetch_add(&w->stats->taking, 1);
}

/* The row of a client that has moved before: its packet was read before this one, maybe by a worker that has not
 * written the row yet.  NULL: it is gone. */
static struct serve__row *row_of(struct serve__worker *w, const struct moved *m)
{
    for (int i = 0; i < w->shared->nworkers; i++) {
        serve__counter *taking = &w->shared->stats[i].taking;
        uint64_t then = *taking;
        for (int n = 0; (then & 1) && *taking == then && n < MOST_LOOKS; n++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return serve__client_row(w->shared, m->redirect);
}

/* V5 */
static void take_tracking(struct serve__worker *w, struct packet *p, struct serve__conn *c,
                          const struct moved *m)
{
    caret_slice argv[WORDS];
    if (!(m->flags & SERVE__CONN_TRACKING))
        return;
    int n = tracking_words(p, m, argv);
    if (p->bad || !run(w, c, argv, n)) {
        c->flags |= SERVE__CONN_DEAD;
    } else if (m->redirect != 0) {
        c->tracking->redirect = m->redirect;
        c->tracking->row = row_of(w, m);
    }
}

static void settle(struct serve__worker *w, struct serve__conn *c, struct packet *p, const struct moved *m)
{
    c->id = m->id;
    c->created = m->created;
    c->db = m->db;
    serve__conn_protocol(c, (int)m->protocol);
    c->flags |= m->flags & (SERVE__CONN_AUTHENTICATED | SERVE__CONN_NO_EVICT | SERVE__CONN_DEBUG |
                            SERVE__CONN_DEBUG_SYNC);
    take_name(p, &c->name);
    take_name(p, &c->lib_name);
    take_name(p, &c->lib_ver);
    bool known = take_user(p, c);
    serve__row_write(w, c);
    take_end(w);
    struct packet topics = *p; /* a connection of RESP2 that has some may send few commands: they come last */
    pass_topics(p, m->ntopics);
    take_tracking(w, p, c, m);
    if (m->flags & SERVE__CONN_MONITOR)
        run(w, c, (caret_slice[]){word("monitor")}, 1);
    take_topics(w, &topics, c, m->ntopics);
    if (c->flags & SERVE__CONN_TRACKING)
        serve__track_send(w, c->tracking, 0, (caret_slice){NULL, 0});
    c->flags |= m->flags & (SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP);
    caret_slice input = take_text(p);
    serve__buffer_add(&c->in, input.data, input.len);
    if (!known || p->bad || c->in.failed)
        c->flags |= SERVE__CONN_DEAD;
    serve__row_write(w, c);
    serve__conn_wake(w, c);
}

static void arrived(struct serve__worker *w, int fd, const char *bytes, size_t len)
{
    struct packet p = {bytes, bytes + len, false};
    struct moved m = {0};
    caret_slice head = take(&p, sizeof m);
    if (!p.bad)
        memcpy(&m, head.data, sizeof m);
    if (p.bad || m.db >= SERVE__DATABASES) {
        close(fd);
        return;
    }
    struct serve__conn *c =
        serve__conn_new(w, fd, m.flags & SERVE__CONN_UNIX ? SERVE__WAY_UNIX : SERVE__WAY_TCP);
    if (c != NULL)
        settle(w, c, &p, &m);
}

/* The next packet: 1, 0 at the end, -1 none now.  *fd is -1 if none came with it. */
static int receive(int from, char *bytes, size_t *len, int *fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {bytes, MOST};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do
        n = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    *fd = -1;
    if (n > 0 && h != NULL && h->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(h), sizeof *fd);
    *len = n > 0 ? (size_t)n : 0;
    return n > 0 ? 1 : n == 0 ? 0 : -1;
}

static void channel_ready(struct serve__worker *w, struct serve__source *s)
{
    enum { AT_ONCE = 16 /* so that all workers get some */ };
    static char bytes[MOST];
    size_t len;
    int fd, rc = 1;
    for (int i = 0; i < AT_ONCE && rc > 0; i++) {
        take_begin(w);
        rc = receive(s->fd, bytes, &len, &fd);
        if (fd >= 0)
            arrived(w, fd, bytes, len);
        take_end(w);
    }
    if (rc == 0) { /* the old server has ended */
        epoll_ctl(w->epoll, EPOLL_CTL_DEL, s->fd, NULL);
        close(s->fd);
        w->start->channel = -1;
    }
}

bool serve__moving_open(struct serve__worker *w)
{
    static struct serve__source source;
    if (w->start->channel < 0)
        return true;
    take_end(w); /* of the one that died in this place */
    source = (struct serve__source){SERVE__SOURCE_OTHER, w->start->channel, channel_ready};
    return serve__watch(w, &source, EPOLLIN | EPOLLEXCLUSIVE);
}
