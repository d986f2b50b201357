/*
 * mail.c - messages between workers: mail.h.
 */
#include "server/meet/mail.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/meet/tracking.h"

/* Bytes of a packet; how many are read in one turn; and before it: more than the kernel keeps in a box. */
enum { PACKET = 32 * 1024, PACKETS = 64, PACKETS_FIRST = 1024 };

struct packet {
    uint32_t from, pid;
    uint64_t rest; /* so many bytes belong to a letter that began in a packet before */
};

struct letter {
    uint32_t kind, reserved;
    uint64_t len; /* without this */
};

/* What is on its way to one worker, and from it. */
struct box {
    struct serve__source source; /* the end that is written to; in epoll while it is full */
    struct serve__buffer out, in;
    size_t sent;   /* of `out` */
    uint64_t rest; /* of the letter in which the place `sent` is */
    uint32_t pid;  /* of the sender of what is in `in` */
    bool full;
};

struct serve__mail {
    struct serve__source source; /* our own box */
    struct box box[SERVE__WORKERS_MAX];
    char packet[PACKET];
};

static serve__letter_fn *const readers[] = {
#define X(name) serve__letter_##name,
    SERVE__LETTERS(X)
#undef X
};

bool serve__mail_make(struct serve__shared *s)
{
    for (int i = 0; i < s->nworkers; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
            return false;
        s->mail[i].in = pair[0];
        s->mail[i].out = pair[1];
    }
    return true;
}

/* ---------------------------------------------------------------- reading */

static void read_letter(struct serve__worker *w, uint32_t from, const struct letter *l, const char *data)
{
    if (l->kind < SERVE__LETTER_COUNT && readers[l->kind] != NULL)
        readers[l->kind](w, (int)from, data, l->len);
}

/* Read the letters that are whole; what is left of the bytes. */
static size_t read_letters(struct serve__worker *w, uint32_t from, const char *data, size_t len)
{
    struct letter l;
    while (len >= sizeof l) {
        memcpy(&l, data, sizeof l);
        if (len - sizeof l < l.len)
            break;
        read_letter(w, from, &l, data + sizeof l);
        data += sizeof l + l.len;
        len -= sizeof l + l.len;
    }
    return len;
}

static void read_packet(struct serve__worker *w, const struct packet *p, const char *data, size_t len)
{
    struct box *b = &w->mail->box[p->from];
    if (b->pid != p->pid) { /* another process since: the letter it was in is lost */
        b->in.len = 0;
        b->pid = p->pid;
    }
    if (p->rest > 0 && b->in.len == 0) { /* we came into the middle of a letter */
        size_t skip = p->rest < len ? p->rest : len;
        data += skip;
        len -= skip;
    }
    if (b->in.len == 0) {
        size_t left = read_letters(w, p->from, data, len);
        serve__buffer_add(&b->in, data + len - left, left);
        return;
    }
    serve__buffer_add(&b->in, data, len);
    if (b->in.failed) { /* no memory: that letter is lost */
        serve__buffer_free(&b->in);
        return;
    }
    size_t left = read_letters(w, p->from, b->in.data, b->in.len);
    memmove(b->in.data, b->in.data + b->in.len - left, left);
    b->in.len = left;
    if (left == 0 && b->in.cap > 4 * (size_t)PACKET)
        serve__buffer_free(&b->in);
}

static void read_packets(struct serve__worker *w, int most)
{
    for (int i = 0; i < most; i++) {
        struct packet p;
        ssize_t n = recv(w->mail->source.fd, w->mail->packet, sizeof w->mail->packet, 0);
        if (n < (ssize_t)sizeof p)
            return;
        memcpy(&p, w->mail->packet, sizeof p);
        if (p.from < SERVE__WORKERS_MAX)
            read_packet(w, &p, w->mail->packet + sizeof p, (size_t)n - sizeof p);
    }
}

static void box_ready(struct serve__worker *w, struct serve__source *s)
{
    (void)s;
    read_packets(w, PACKETS);
}

void serve__mail_first(struct serve__worker *w)
{
    if (serve__tracking_listens(w) || w->stats->monitors > 0)
        read_packets(w, PACKETS_FIRST);
}

/* ---------------------------------------------------------------- writing */

/* Go on by n bytes of `out`: how much of a letter is left then. */
static void advance(struct box *b, size_t n)
{
    size_t end = b->sent + n, at = b->sent + b->rest;
    struct letter l;
    while (at < end) {
        memcpy(&l, b->out.data + at, sizeof l);
        at += sizeof l + l.len;
    }
    b->sent = end;
    b->rest = at - end;
}

/* The next packet: true if it was taken. */
static bool send_packet(struct serve__worker *w, struct box *b)
{
    size_t n = b->out.len - b->sent;
    if (n > PACKET - sizeof(struct packet))
        n = PACKET - sizeof(struct packet);
    struct packet p = {(uint32_t)w->index, (uint32_t)w->stats->pid, b->rest};
    struct iovec parts[] = {{&p, sizeof p}, {b->out.data + b->sent, n}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t rc;
    do
        rc = sendmsg(b->source.fd, &m, MSG_NOSIGNAL);
    while (rc < 0 && errno == EINTR);
    if (rc > 0)
        advance(b, n);
    return rc > 0;
}

static void watch_box(struct serve__worker *w, struct box *b, bool full)
{
    struct epoll_event e = {.events = EPOLLOUT, .data.ptr = &b->source};
    if (b->full != full)
        epoll_ctl(w->epoll, full ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, b->source.fd, &e);
    b->full = full;
}

static void send_box(struct serve__worker *w, struct box *b)
{
    while (b->sent < b->out.len)
        if (!send_packet(w, b))
            break;
    bool left = b->sent < b->out.len;
    watch_box(w, b, left);
    if (left && b->sent < b->out.len / 2)
        return;
    memmove(b->out.data, b->out.data + b->sent, b->out.len - b->sent);
    b->out.len -= b->sent;
    b->sent = 0;
    if (!left && b->out.cap > 4 * (size_t)PACKET)
        serve__buffer_free(&b->out);
}

void serve__mail_send(struct serve__worker *w)
{
    w->mail_waits = false;
    for (int i = 0; i < w->shared->nworkers; i++)
        if (w->mail->box[i].out.len > 0 && !w->mail->box[i].full)
            send_box(w, &w->mail->box[i]);
}

static void box_has_room(struct serve__worker *w, struct serve__source *s)
{
    send_box(w, (struct box *)s);
}

void serve__mail_write(struct serve__worker *w, int to, enum serve__letter kind, const caret_slice *parts,
                       unsigned n, bool droppable)
{
    struct box *b = &w->mail->box[to];
    struct letter l = {kind, 0, 0};
    for (unsigned i = 0; i < n; i++)
        l.len += parts[i].len;
    bool fits = !droppable || b->out.len - b->sent < SERVE__MAIL_MOST;
    if (!fits || !serve__buffer_room(&b->out, sizeof l + l.len)) {
        serve__add(&w->stats->mail_dropped, 1);
        b->out.failed = false;
        return;
    }
    serve__buffer_add(&b->out, &l, sizeof l);
    for (unsigned i = 0; i < n; i++)
        serve__buffer_add(&b->out, parts[i].data, parts[i].len);
    w->mail_waits = true;
}

void serve__mail_write_all(struct serve__worker *w, enum serve__letter kind, const caret_slice *parts,
                           unsigned n, bool droppable)
{
    for (int i = 0; i < w->shared->nworkers; i++)
        if (i != w->index)
            serve__mail_write(w, i, kind, parts, n, droppable);
}

/* ------------------------------------------------------------------ begin */

bool serve__mail_open(struct serve__worker *w)
{
    struct serve__mail *m = w->mail = calloc(1, sizeof *m);
    if (m == NULL)
        return false;
    m->source = (struct serve__source){SERVE__SOURCE_OTHER, w->shared->mail[w->index].in, box_ready};
    for (int i = 0; i < w->shared->nworkers; i++)
        m->box[i].source = (struct serve__source){SERVE__SOURCE_OTHER, w->shared->mail[i].out, box_has_room};
    while (recv(m->source.fd, m->packet, sizeof m->packet, 0) > 0) /* to our predecessor */
        ;
    return serve__watch(w, &m->source, EPOLLIN);
}
