/*
 * debugger_talk.c - what the client says while its script has stopped, and what is said to it: debugger.h.
 *
 * Requests are read as Redis reads them there: arrays of bulk strings, from the first '*'; what comes together with
 * a request is dropped.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/conn.h"
#include "server/handoff.h"
#include "server/script/debugger.h"
#include "server/tls/tls.h"
#include "server/worker.h"

enum {
    LOOK_MS = 100,
    PATIENCE = 50 /* of these, for a client that takes nothing */,
    INPUT_MOST = 1024 * 1024,
    HEARD_MOST = 16 * INPUT_MOST
};

/* ---------------------------------------------------------------- the wire */

/* Wait for the socket.  false: nobody is to be waited for any more.  A run whose worker ends is killed. */
static bool wait_for(struct serve__debugger *d, short events)
{
    struct serve__scripts *x = d->x;
    struct serve__worker *w = x->run.w;
    struct serve__conn *c = d->c;
    struct pollfd p = {.fd = c->source.fd, .events = events};
    poll(&p, 1, LOOK_MS);
    serve__unlend(w->handoff, &x->lease);
    bool stops = w->stopping || w->shared->stop,
         ends = (c->flags & (SERVE__CONN_CLOSE | SERVE__CONN_DEAD)) != 0;
    serve__lend(w->handoff, &x->lease);
    if (stops)
        atomic_store(&x->killed, true);
    return !stops && !ends && !serve__script_is_killed(x);
}

/* Read, or write if `from` is given, what the socket has or takes now. */
static ssize_t transfer(struct serve__debugger *d, void *to, const void *from, size_t len)
{
    struct serve__scripts *x = d->x;
    struct serve__conn *c = d->c;
    serve__unlend(x->run.w->handoff, &x->lease);
    ssize_t n = from == NULL
                    ? (c->tls != NULL ? serve__tls_read(c->tls, to, len) : recv(c->source.fd, to, len, 0))
                : c->tls != NULL ? serve__tls_write(c->tls, from, len)
                                 : send(c->source.fd, from, len, MSG_NOSIGNAL);
    int error = errno;
    serve__lend(x->run.w->handoff, &x->lease);
    errno = error;
    return n;
}

static bool would_wait(ssize_t n)
{
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* false: the client is gone. */
static bool read_more(struct serve__debugger *d)
{
    ssize_t n;
    if (!serve__buffer_room(&d->in, SERVE__DEBUGGER_BYTES))
        return false;
    while (would_wait(n = transfer(d, d->in.data + d->in.len, NULL, SERVE__DEBUGGER_BYTES)))
        if (!wait_for(d, POLLIN))
            return false;
    d->in.len += n > 0 ? (size_t)n : 0;
    return n > 0;
}

static void write_all(struct serve__debugger *d, const char *data, size_t len)
{
    for (int waited = 0; len > 0 && waited < PATIENCE;) {
        ssize_t n = transfer(d, NULL, data, len);
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        } else if (!would_wait(n) || !wait_for(d, POLLOUT)) {
            return;
        }
        waited = n > 0 ? 0 : waited + 1;
    }
}

/* Before each request in `heard`. */
struct heard {
    uint64_t hash;
    size_t len;
};

/* Has it been said by an earlier attempt? */
static bool said_before(const struct serve__debugger *d)
{
    struct heard next;
    if (d->at == d->heard.len)
        return false;
    memcpy(&next, d->heard.data + d->at, sizeof next);
    return next.hash == d->hash;
}

void serve__debugger_send(struct serve__debugger *d)
{
    static const char changed[] = "+* The data was changed by others: the script began again\r\n";
    char head[sizeof changed + 32];
    d->hash = caret_codec__murmur64a(d->said.data, d->said.len, 0);
    bool known = said_before(d), differs = !known && d->at < d->heard.len;
    int n = snprintf(head, sizeof head, "*%u\r\n%s", d->nsaid + differs, differs ? changed : "");
    if (!known && d->nsaid > 0) {
        d->heard.len = d->at;
        write_all(d, head, (size_t)n);
        write_all(d, d->said.data, d->said.len);
    }
    d->nsaid = 0;
    d->said.len = 0;
}

/* ---------------------------------------------------------------- requests */

enum { COMPLETE, MORE, WRONG };

/* "*12\r\n" or "$12\r\n": the number. */
static int read_head(char **at, const char *end, char kind, int most, int *n)
{
    if (*at == end)
        return MORE;
    if (**at != kind)
        return WRONG;
    char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *n = atoi(*at + 1); /* a NUL follows what was read */
    *at = stop != NULL ? stop + 1 : *at;
    return stop == NULL ? MORE : *n <= 0 || *n > most ? WRONG : COMPLETE;
}

static int read_argument(char **at, const char *end, caret_slice *out)
{
    int len;
    int got = read_head(at, end, '$', SERVE__DEBUGGER_BYTES, &len);
    if (got != COMPLETE)
        return got;
    if (end - *at < len + 2)
        return MORE;
    *out = (caret_slice){*at, (size_t)len};
    *at += len;
    if (memcmp(*at, "\r\n", 2) != 0)
        return WRONG;
    *at += 2;
    return COMPLETE;
}

/* A NUL follows each argument of a request that is complete. */
static void end_arguments(struct serve__debugger *d)
{
    for (int i = 0; i < d->argc; i++)
        d->in.data[d->argv[i].data - d->in.data + (ptrdiff_t)d->argv[i].len] = 0;
}

static int parse(struct serve__debugger *d)
{
    char *end = d->in.data + d->in.len;
    char *at = memchr(d->in.data, '*', d->in.len);
    if (at == NULL)
        return WRONG;
    int got = read_head(&at, end, '*', SERVE__DEBUGGER_ARGS, &d->argc);
    for (int i = 0; got == COMPLETE && i < d->argc; i++)
        got = read_argument(&at, end, &d->argv[i]);
    return got;
}

/* What an earlier attempt has heard here.  false: nothing. */
static bool hear_again(struct serve__debugger *d)
{
    struct heard h;
    if (d->at == d->heard.len)
        return false;
    memcpy(&h, d->heard.data + d->at, sizeof h);
    d->in.len = 0;
    serve__buffer_add(&d->in, d->heard.data + d->at + sizeof h, h.len);
    d->at += sizeof h + h.len;
    return true;
}

static void remember(struct serve__debugger *d)
{
    struct heard h = {d->hash, d->in.len};
    if (!serve__buffer_room(&d->heard, sizeof h + h.len))
        return;
    serve__buffer_add(&d->heard, &h, sizeof h);
    serve__buffer_add(&d->heard, d->in.data, h.len);
    d->at = d->heard.len;
}

/* WRONG with no *error: the client is gone. */
static int hear(struct serve__debugger *d, const char **error)
{
    int got = MORE;
    d->in.len = 0;
    while (got == MORE && *error == NULL) {
        if (!read_more(d) || !serve__buffer_room(&d->in, 1))
            return WRONG;
        d->in.data[d->in.len] = 0;
        got = parse(d);
        if (got == WRONG)
            *error = "ERR protocol error";
        else if (d->in.len > INPUT_MOST || d->heard.len > HEARD_MOST)
            *error = "ERR max client buffer reached";
    }
    if (got == COMPLETE)
        remember(d);
    return got;
}

bool serve__debugger_listen(struct serve__debugger *d, const char **error)
{
    *error = NULL;
    bool again = hear_again(d) && serve__buffer_room(&d->in, 1);
    if (again)
        d->in.data[d->in.len] = 0;
    if ((again ? parse(d) : hear(d, error)) != COMPLETE || *error != NULL)
        return false;
    end_arguments(d);
    return true;
}

/* ------------------------------------------------------------------ lines */

/* A line of the protocol has no ends of lines in it. */
static void add_line(struct serve__debugger *d, const char *text, size_t len, const char *more)
{
    serve__buffer_add(&d->said, "+", 1);
    size_t begin = d->said.len;
    serve__buffer_add(&d->said, text, len);
    serve__buffer_add(&d->said, more, strlen(more));
    for (size_t i = begin; i < d->said.len; i++)
        if (d->said.data[i] == '\r' || d->said.data[i] == '\n')
            d->said.data[i] = ' ';
    serve__buffer_add(&d->said, "\r\n", 2);
    d->nsaid++;
}

void serve__debugger_say(struct serve__debugger *d, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_line(d, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1, "");
}

void serve__debugger_say_whole(struct serve__debugger *d)
{
    add_line(d, d->text.data, d->text.len, "");
    d->text.len = 0;
}

void serve__debugger_say_text(struct serve__debugger *d)
{
    bool cut = d->maxlen > 0 && d->text.len > (size_t)d->maxlen;
    add_line(d, d->text.data, cut ? (size_t)d->maxlen : d->text.len, cut ? " ..." : "");
    d->text.len = 0;
    if (!cut || d->hinted)
        return;
    d->hinted = true;
    serve__debugger_say(d, "<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.");
}
