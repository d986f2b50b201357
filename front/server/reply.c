/*
 * reply.c - answers as the bytes of RESP2 and RESP3, written in place into the output of a connection.
 */
#include "server/reply.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/call.h"
#include "server/codec/number.h"

enum { HEAD = 24 }; /* bytes of the longest ":-9223372036854775808\r\n" */

/* Digits of n to `to`, which has 20 bytes; their number.  Most are lengths of one or two. */
static inline size_t digits(char *to, uint64_t n)
{
    if (n < 10) {
        to[0] = (char)('0' + n);
        return 1;
    }
    if (n < 100) {
        to[0] = (char)('0' + n / 10);
        to[1] = (char)('0' + n % 10);
        return 2;
    }
    return caret_codec__print_u64(n, to);
}

/* A letter, a number and CRLF to `to`, which has HEAD bytes. */
static size_t head(char *to, char letter, int64_t n)
{
    size_t len = 0;
    to[len++] = letter;
    if (n < 0)
        to[len++] = '-';
    len += digits(to + len, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
    to[len++] = '\r';
    to[len++] = '\n';
    return len;
}

static void add_head(struct serve__buffer *b, char letter, int64_t n)
{
    if (serve__buffer_room(b, HEAD))
        b->len += head(b->data + b->len, letter, n);
}

/* A line: no CR or LF may be in it. */
static void add_line(struct serve__buffer *b, char letter, const char *text, size_t len)
{
    if (!serve__buffer_room(b, len + 3))
        return;
    char *to = b->data + b->len;
    *to++ = letter;
    for (size_t i = 0; i < len; i++)
        *to++ = text[i] == '\r' || text[i] == '\n' ? ' ' : text[i];
    memcpy(to, "\r\n", 2);
    b->len += len + 3;
}

static void resp_status(struct serve__reply *r, const char *text, size_t len)
{
    add_line(r->out, '+', text, len);
}

static void resp_error(struct serve__reply *r, const char *text, size_t len)
{
    r->errors++;
    add_line(r->out, '-', text, len);
}

static void resp_integer(struct serve__reply *r, int64_t n)
{
    add_head(r->out, ':', n);
}

static void resp_bulk(struct serve__reply *r, const void *data, size_t len)
{
    struct serve__buffer *b = r->out;
    if (!serve__buffer_room(b, len + HEAD + 2))
        return;
    char *to = b->data + b->len;
    if (len < 10) {
        memcpy(to, "$0\r\n", 4);
        to[1] = (char)('0' + len);
        to += 4;
    } else {
        to += head(to, '$', (int64_t)len);
    }
    if (len > 0)
        memcpy(to, data, len);
    memcpy(to + len, "\r\n", 2);
    b->len = (size_t)(to + len + 2 - b->data);
}

static void resp2_null(struct serve__reply *r)
{
    serve__buffer_add(r->out, "$-1\r\n", 5);
}

static void resp2_null_array(struct serve__reply *r)
{
    serve__buffer_add(r->out, "*-1\r\n", 5);
}

static void resp3_null(struct serve__reply *r)
{
    serve__buffer_add(r->out, "_\r\n", 3);
}

static void resp2_real(struct serve__reply *r, double d)
{
    char text[CARET_CODEC__DOUBLE_ROOM];
    resp_bulk(r, text, caret_codec__print_double(d, text));
}

static void resp3_real(struct serve__reply *r, double d)
{
    char text[CARET_CODEC__DOUBLE_ROOM];
    add_line(r->out, ',', text, caret_codec__print_double(d, text));
}

static void resp2_boolean(struct serve__reply *r, bool yes)
{
    resp_integer(r, yes);
}

static void resp3_boolean(struct serve__reply *r, bool yes)
{
    serve__buffer_add(r->out, yes ? "#t\r\n" : "#f\r\n", 4);
}

static void resp2_verbatim(struct serve__reply *r, const char *kind, const void *data, size_t len)
{
    (void)kind;
    resp_bulk(r, data, len);
}

static void resp3_verbatim(struct serve__reply *r, const char *kind, const void *data, size_t len)
{
    add_head(r->out, '=', (int64_t)len + 4);
    serve__buffer_add(r->out, kind, 3);
    serve__buffer_add(r->out, ":", 1);
    serve__buffer_add(r->out, data, len);
    serve__buffer_add(r->out, "\r\n", 2);
}

static void resp2_big(struct serve__reply *r, const char *text, size_t len)
{
    resp_bulk(r, text, len);
}

static void resp3_big(struct serve__reply *r, const char *text, size_t len)
{
    add_line(r->out, '(', text, len);
}

static void resp2_open(struct serve__reply *r, enum serve__kind kind, size_t n)
{
    add_head(r->out, '*', (int64_t)(kind == SERVE__MAP ? n * 2 : n));
}

static void resp3_open(struct serve__reply *r, enum serve__kind kind, size_t n)
{
    add_head(r->out, (char)kind, (int64_t)n);
}

static size_t resp_mark(struct serve__reply *r)
{
    return r->out->len;
}

static void resp_cut(struct serve__reply *r, size_t mark)
{
    r->out->len = mark;
}

/* Move what was written since `place` on, to make room for the head of `n` elements. */
static void insert_head(struct serve__reply *r, char letter, size_t place, size_t n)
{
    char text[HEAD];
    size_t len = head(text, letter, (int64_t)n);
    struct serve__buffer *b = r->out;
    if (place > b->len || !serve__buffer_room(b, len))
        return;
    memmove(b->data + place + len, b->data + place, b->len - place);
    memcpy(b->data + place, text, len);
    b->len += len;
}

static void resp2_close(struct serve__reply *r, enum serve__kind kind, size_t place, size_t n)
{
    insert_head(r, '*', place, kind == SERVE__MAP ? n * 2 : n);
}

static void resp3_close(struct serve__reply *r, enum serve__kind kind, size_t place, size_t n)
{
    insert_head(r, (char)kind, place, n);
}

const struct serve__sink serve__resp2 = {resp_status,    resp_error,       resp_integer, resp_bulk,
                                         resp2_null,     resp2_null_array, resp2_real,   resp2_boolean,
                                         resp2_verbatim, resp2_big,        resp2_open,   resp_mark,
                                         resp2_close,    resp_mark,        resp_cut};

const struct serve__sink serve__resp3 = {resp_status, resp_error, resp_integer,  resp_bulk,      resp3_null,
                                         resp3_null,  resp3_real, resp3_boolean, resp3_verbatim, resp3_big,
                                         resp3_open,  resp_mark,  resp3_close,   resp_mark,      resp_cut};

/* ------------------------------------------------------------ for commands */

int serve__status(struct serve__call *q, const char *text)
{
    q->reply->sink->status(q->reply, text, strlen(text));
    return CARET_OK;
}

int serve__ok(struct serve__call *q)
{
    q->reply->sink->status(q->reply, "OK", 2);
    return CARET_OK;
}

int serve__integer(struct serve__call *q, int64_t n)
{
    q->reply->sink->integer(q->reply, n);
    return CARET_OK;
}

int serve__bulk(struct serve__call *q, const void *data, size_t len)
{
    q->reply->sink->bulk(q->reply, data, len);
    return CARET_OK;
}

int serve__text(struct serve__call *q, const char *text)
{
    return serve__bulk(q, text, strlen(text));
}

int serve__number_text(struct serve__call *q, int64_t n)
{
    char text[HEAD];
    return serve__bulk(q, text, (size_t)snprintf(text, sizeof text, "%" PRId64, n));
}

int serve__null(struct serve__call *q)
{
    q->reply->sink->null(q->reply);
    return CARET_OK;
}

int serve__null_array(struct serve__call *q)
{
    q->reply->sink->null_array(q->reply);
    return CARET_OK;
}

int serve__real(struct serve__call *q, double d)
{
    q->reply->sink->real(q->reply, d);
    return CARET_OK;
}

int serve__boolean(struct serve__call *q, bool yes)
{
    q->reply->sink->boolean(q->reply, yes);
    return CARET_OK;
}

int serve__verbatim(struct serve__call *q, const char *kind, const void *data, size_t len)
{
    q->reply->sink->verbatim(q->reply, kind, data, len);
    return CARET_OK;
}

static int open_kind(struct serve__call *q, enum serve__kind kind, size_t n)
{
    q->reply->sink->open(q->reply, kind, n);
    return CARET_OK;
}

static int close_kind(struct serve__call *q, enum serve__kind kind, size_t place, size_t n)
{
    q->reply->sink->close(q->reply, kind, place, n);
    return CARET_OK;
}

int serve__array(struct serve__call *q, size_t n)
{
    return open_kind(q, SERVE__ARRAY, n);
}

int serve__map(struct serve__call *q, size_t pairs)
{
    return open_kind(q, SERVE__MAP, pairs);
}

int serve__set(struct serve__call *q, size_t n)
{
    return open_kind(q, SERVE__SET, n);
}

int serve__push(struct serve__call *q, size_t n)
{
    return open_kind(q, SERVE__PUSH, n);
}

size_t serve__open(struct serve__call *q)
{
    return q->reply->sink->later(q->reply);
}

int serve__close_array(struct serve__call *q, size_t place, size_t n)
{
    return close_kind(q, SERVE__ARRAY, place, n);
}

int serve__close_map(struct serve__call *q, size_t place, size_t pairs)
{
    return close_kind(q, SERVE__MAP, place, pairs);
}

int serve__close_set(struct serve__call *q, size_t place, size_t n)
{
    return close_kind(q, SERVE__SET, place, n);
}

int serve__help(struct serve__call *q, const char *const *lines)
{
    size_t n = 0;
    while (lines[n] != NULL)
        n++;
    serve__array(q, n);
    for (size_t i = 0; i < n; i++)
        serve__status(q, lines[i]);
    return CARET_OK;
}

int serve__wrong_subcommand(struct serve__call *q)
{
    char name[SERVE__COMMAND_BYTES];
    size_t len = 0;
    for (; len < q->argv[0].len && len < sizeof name; len++)
        name[len] = (char)toupper((unsigned char)q->argv[0].data[len]);
    const caret_slice *sub = &q->argv[1];
    return serve__fail(q, "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try %.*s HELP.",
                       (int)(sub->len < 128 ? sub->len : 128), sub->data, (int)len, name);
}

size_t serve__reply_mark(struct serve__reply *r)
{
    return r->sink->mark(r);
}

void serve__reply_cut(struct serve__reply *r, size_t mark)
{
    r->sink->cut(r, mark);
}
