/*
 * proxy.c - a bad network between a program and PostgreSQL, both on unix sockets.
 *
 *     proxy SOCKET SERVER-SOCKET <commands >events
 *
 * Each line of standard input is a command; at its end the proxy cuts all and ends, so that it never outlives a test.
 *
 *     delay MS     what is sent now arrives so much later, in each direction (a fraction will do)
 *     stall        nothing goes through any more, and nothing is closed; `go` ends that
 *     cut          close all connections
 *     request N    of every Nth batch that writes: the server never gets it, and the connection is cut
 *     reply N      of every Nth ...: the server does it, and its answer never arrives: the connection is cut
 *     late N       of every Nth ...: the connection is cut, and the server gets it a moment later
 *     off          no more of these three
 *     count        print "CONNECTIONS connections, CUTS cuts, BATCHES batches that write"
 *
 * A batch is what the client sends up to a Sync or a simple Query: PostgreSQL acts on COMMIT and on statements outside
 * of transactions there.  It writes if it executes a statement whose text begins with COMMIT, INSERT, UPDATE, DELETE
 * or WITH, be it sent along or prepared by name before.  So nothing needs to be known of the program.
 *
 * A connection has two ways.  Bytes that came in wait in `in` until they are whole batches (only towards the server,
 * and only of a connection that is not encrypted), and then in `out` until they are due.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 2048
#define NAMES       64       /* of prepared statements that write */
#define LATE_NS     20000000 /* arbitrary; longer than it takes to connect again */
#define ENDS                                                                                                 \
    "SQXHcf" /* of a batch: Sync, Query, Terminate; and Flush, CopyDone, CopyFail, which wait for an answer */
#define FULL (64u << 20) /* bytes that wait: then no more is read */

struct chunk {
    struct chunk *next;
    uint64_t due;
    size_t len, sent;
    char data[];
};

struct way {
    int from, to;
    char *in;
    size_t in_len, in_cap, waiting;
    struct chunk *first, **last;
    bool ended; /* nothing more comes */
};

enum { UNHURT, NO_ANSWER, HALF_CUT };

struct connection {
    struct way to_server, to_client;
    bool started, opaque; /* the first message, without a type, has passed; the rest is not to be read */
    int fate;
    char names[NAMES][64];
    unsigned nnames;
};

static struct connection *connections[CONNECTIONS];
static unsigned nconnections;
static struct sockaddr_un server;
static uint64_t delay;
static bool stalled;
static char harm; /* 0, or the first two letters say it: 'q' request, 'p' reply, 'l' late */
static unsigned every, n_connected, n_cuts, n_batches;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *must(void *p)
{
    if (p == NULL) {
        perror("proxy");
        exit(2);
    }
    return p;
}

/* --------------------------------------------------------------------- ways */

static void way_init(struct way *w, int from, int to)
{
    *w = (struct way){.from = from, .to = to};
    w->last = &w->first;
}

static void way_free(struct way *w)
{
    for (struct chunk *c = w->first, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(w->in);
}

/* Take the first bytes of `in`, which are due after the delay and `more`. */
static void way_pass(struct way *w, size_t len, uint64_t more)
{
    struct chunk *c = must(malloc(sizeof *c + len));

    *c = (struct chunk){.due = now() + delay + more, .len = len};
    memcpy(c->data, w->in, len);
    *w->last = c;
    w->last = &c->next;
    w->waiting += len;
    w->in_len -= len;
    memmove(w->in, w->in + len, w->in_len);
}

/* false: the other end is gone. */
static bool way_send(struct way *w)
{
    while (w->first != NULL && w->first->due <= now()) {
        struct chunk *c = w->first;
        ssize_t n = send(w->to, c->data + c->sent, c->len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        c->sent += (size_t)n;
        if (c->sent < c->len)
            return true;
        w->waiting -= c->len;
        w->first = c->next;
        if (w->first == NULL)
            w->last = &w->first;
        free(c);
    }
    return !w->ended || w->first != NULL;
}

static void way_receive(struct way *w)
{
    if (w->in_cap - w->in_len < 65536) {
        w->in_cap = 2 * w->in_cap + 65536;
        w->in = must(realloc(w->in, w->in_cap));
    }
    ssize_t n = recv(w->from, w->in + w->in_len, w->in_cap - w->in_len, MSG_DONTWAIT);
    if (n > 0)
        w->in_len += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        w->ended = true;
}

/* ----------------------------------------------------------------- messages */

static uint32_t number(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Its length with type, or 0 while it is not whole. */
static size_t message_len(const char *p, size_t len)
{
    size_t n = len < 5 ? SIZE_MAX : (size_t)number(p + 1) + 1;
    return n > len ? 0 : n;
}

static bool text_writes(const char *text)
{
    static const char *const words[] = {"commit", "insert", "update", "delete", "with"};

    text += strspn(text, " \n");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static bool name_writes(const struct connection *c, const char *name)
{
    for (unsigned i = 0; i < c->nnames; i++)
        if (strcmp(c->names[i], name) == 0)
            return true;
    return false;
}

/* Parse: a name and a text.  Nameless ones are remembered as well, until the next. */
static void note_statement(struct connection *c, const char *p)
{
    const char *text = p + strlen(p) + 1;

    for (unsigned i = 0; i < c->nnames; i++)
        if (strcmp(c->names[i], p) == 0)
            memcpy(c->names[i], c->names[--c->nnames], sizeof c->names[i]);
    if (text_writes(text) && c->nnames < NAMES && strlen(p) < sizeof c->names[0])
        strcpy(c->names[c->nnames++], p);
}

/* Does the message, which is whole, execute what writes? */
static bool message_writes(struct connection *c, const char *p)
{
    if (p[0] == 'P')
        note_statement(c, p + 5);
    if (p[0] == 'B') /* portal, statement */
        return name_writes(c, p + 5 + strlen(p + 5) + 1);
    return p[0] == 'Q' && text_writes(p + 5);
}

/* The bytes of the first whole batch, 0: there is none yet. */
static size_t find_batch(struct connection *c, bool *writes)
{
    struct way *w = &c->to_server;
    size_t at = 0, len;
    bool whole = false;

    for (*writes = false; !whole && (len = message_len(w->in + at, w->in_len - at)) != 0; at += len)
        whole = strchr(ENDS, w->in[at]) != NULL;
    if (!whole)
        return 0;
    for (size_t i = 0; i < at; i += message_len(w->in + i, at - i))
        *writes = message_writes(c, w->in + i) || *writes;
    return at;
}

/* -------------------------------------------------------------- connections */

static void connection_end(unsigned i)
{
    struct connection *c = connections[i];

    if (c->to_client.to >= 0)
        close(c->to_client.to);
    close(c->to_server.to);
    way_free(&c->to_server);
    way_free(&c->to_client);
    free(c);
    connections[i] = connections[--nconnections];
}

static void cut_client(struct connection *c)
{
    close(c->to_client.to);
    c->to_client.to = c->to_server.from = -1;
    c->fate = HALF_CUT;
    n_cuts++;
}

/* false: the connection is cut. */
static bool pass_batch(struct connection *c, size_t len, bool writes)
{
    bool hurt = writes && ++n_batches % (every == 0 ? 1 : every) == 0 && harm != 0;

    if (hurt && harm == 'q') {
        n_cuts++;
        return false;
    }
    way_pass(&c->to_server, len, hurt && harm == 'l' ? LATE_NS : 0);
    if (hurt && harm == 'p')
        c->fate = NO_ANSWER;
    if (hurt && harm == 'l')
        cut_client(c);
    return true;
}

/* The first message: length, code.  Of a request for TLS nothing is read any more: what follows is encrypted. */
static void pass_startup(struct connection *c)
{
    struct way *w = &c->to_server;

    if (w->in_len < 8 || number(w->in) > w->in_len)
        return;
    bool tls = number(w->in + 4) == 80877103;
    c->opaque = tls;
    c->started = true;
    way_pass(w, number(w->in), 0);
}

/* What the client sent, as far as it is whole.  Messages of the log-in ('p') are batches of their own. */
static bool pass_to_server(struct connection *c)
{
    struct way *w = &c->to_server;
    size_t len;
    bool writes, on = true;

    if (!c->started)
        pass_startup(c);
    while (on && c->started && !c->opaque && c->fate != HALF_CUT && w->in_len != 0) {
        if (w->in[0] == 'p' && (len = message_len(w->in, w->in_len)) != 0)
            way_pass(w, len, 0);
        else if ((len = find_batch(c, &writes)) != 0)
            on = pass_batch(c, len, writes);
        else
            break;
    }
    if ((c->opaque || w->ended) && w->in_len != 0)
        way_pass(w, w->in_len, 0);
    return on;
}

/* What the server sent.  Of a batch without an answer nothing arrives, and it is over at ReadyForQuery. */
static bool pass_to_client(struct connection *c)
{
    struct way *w = &c->to_client;
    size_t len;

    if (c->fate == UNHURT && w->in_len != 0)
        way_pass(w, w->in_len, 0);
    while (c->fate == NO_ANSWER && (len = message_len(w->in, w->in_len)) != 0) {
        if (w->in[0] == 'Z') {
            n_cuts++;
            return false;
        }
        w->in_len -= len;
        memmove(w->in, w->in + len, w->in_len);
    }
    if (c->fate == HALF_CUT)
        w->in_len = 0;
    return true;
}

/* A half cut one lasts until the server has been sent all. */
static bool connection_step(struct connection *c, const struct pollfd *p)
{
    if ((p[0].revents & (POLLIN | POLLHUP)) && c->to_server.from >= 0 && c->to_server.waiting < FULL)
        way_receive(&c->to_server);
    if ((p[1].revents & (POLLIN | POLLHUP)) && c->to_client.waiting < FULL)
        way_receive(&c->to_client);
    if (!pass_to_server(c) || !pass_to_client(c) || !way_send(&c->to_server))
        return false;
    if (c->fate == HALF_CUT)
        return c->to_server.first != NULL;
    return way_send(&c->to_client);
}

static int connect_server(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0)
        return fd;
    close(fd);
    return -1;
}

static void connection_begin(int listener)
{
    int client = accept(listener, NULL, NULL);
    int to = client >= 0 && nconnections < CONNECTIONS ? connect_server() : -1;

    if (to < 0) {
        close(client);
        return;
    }
    struct connection *c = must(calloc(1, sizeof *c));
    way_init(&c->to_server, client, to);
    way_init(&c->to_client, to, client);
    connections[nconnections++] = c;
    n_connected++;
}

/* ----------------------------------------------------------------- commands */

static void set_harm(const char *word, unsigned n)
{
    harm = strcmp(word, "request") == 0 ? 'q' : strcmp(word, "reply") == 0 ? 'p' : 'l';
    every = n;
}

static void obey(char *line)
{
    char word[20] = "";
    double value = 1;

    sscanf(line, "%19s %lf", word, &value);
    if (strcmp(word, "delay") == 0)
        delay = (uint64_t)(value * 1e6);
    else if (strcmp(word, "stall") == 0 || strcmp(word, "go") == 0)
        stalled = word[0] == 's';
    else if (strcmp(word, "request") == 0 || strcmp(word, "reply") == 0 || strcmp(word, "late") == 0)
        set_harm(word, (unsigned)value);
    else if (strcmp(word, "off") == 0)
        harm = 0;
    else if (strcmp(word, "count") == 0)
        printf("%u connections, %u cuts, %u batches that write\n", n_connected, n_cuts, n_batches);
    else if (strcmp(word, "cut") == 0)
        for (n_cuts += nconnections; nconnections != 0;)
            connection_end(0);
    else
        fprintf(stderr, "proxy: what is %s?\n", line);
}

/* false: there are no more. */
static bool obey_all(void)
{
    static char text[4096];
    static size_t len;
    ssize_t n = read(0, text + len, sizeof text - len - 1);

    if (n <= 0)
        return n < 0 && errno == EINTR;
    len += (size_t)n;
    text[len] = '\0';
    for (char *end; (end = strchr(text, '\n')) != NULL; len = strlen(text)) {
        *end = '\0';
        obey(text);
        memmove(text, end + 1, strlen(end + 1) + 1);
    }
    return true;
}

/* --------------------------------------------------------------------- main */

static int listen_at(const char *path)
{
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(here.sun_path, sizeof here.sun_path, "%s", path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) != 0 || listen(fd, 1024) != 0) {
        perror(path);
        exit(2);
    }
    return fd;
}

/* Nanoseconds until the next chunk is due; -1: none waits. */
static int64_t next_due(void)
{
    uint64_t first = UINT64_MAX, t = now();

    for (unsigned i = 0; i < nconnections; i++) {
        const struct chunk *a = connections[i]->to_server.first, *b = connections[i]->to_client.first;
        first = a != NULL && a->due < first ? a->due : first;
        first = b != NULL && b->due < first ? b->due : first;
    }
    return first == UINT64_MAX ? -1 : first <= t ? 0 : (int64_t)(first - t);
}

static short events_of(const struct way *in, const struct way *out)
{
    bool due = out->first != NULL && out->first->due <= now();
    return (short)((in->waiting < FULL && !in->ended ? POLLIN : 0) | (due ? POLLOUT : 0));
}

/* Wait for what comes; p has place for all. */
static void wait_for(struct pollfd *p, int listener)
{
    int64_t due = stalled ? -1 : next_due();
    struct timespec t = {due / 1000000000, due % 1000000000};

    p[0] = (struct pollfd){.fd = 0, .events = POLLIN};
    p[1] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (unsigned i = 0; i < nconnections; i++) {
        struct connection *c = connections[i];
        struct pollfd *q = p + 2 + 2 * (size_t)i;
        q[0] = (struct pollfd){.fd = stalled ? -1 : c->to_server.from};
        q[1] = (struct pollfd){.fd = stalled ? -1 : c->to_client.from};
        q[0].events = events_of(&c->to_server, &c->to_client);
        q[1].events = events_of(&c->to_client, &c->to_server);
    }
    /* What is due and can't be sent yet is waited for by POLLOUT. */
    if (due == 0)
        due = 1000000, t = (struct timespec){0, 1000000};
    ppoll(p, 2 + 2 * (nfds_t)nconnections, due < 0 ? NULL : &t, NULL);
}

static void serve(int listener)
{
    static struct pollfd p[2 + 2 * CONNECTIONS];

    for (;;) {
        wait_for(p, listener);
        unsigned before = nconnections;
        for (unsigned i = before; !stalled && i-- > 0;)
            if (!connection_step(connections[i], p + 2 + 2 * (size_t)i))
                connection_end(i);
        if (p[1].revents != 0)
            connection_begin(listener);
        if (p[0].revents != 0 && !obey_all())
            return;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("proxy SOCKET SERVER-SOCKET <commands\n", stderr);
        return 2;
    }
    server.sun_family = AF_UNIX;
    snprintf(server.sun_path, sizeof server.sun_path, "%s", argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int listener = listen_at(argv[1]);
    puts("ready");
    serve(listener);
    while (nconnections != 0)
        connection_end(0);
    unlink(argv[1]);
    return 0;
}
