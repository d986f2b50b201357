/*
 * reply.h - what commands answer with.
 *
 * A command says what it answers in the words of RESP3: a map, a set, a double.  A *sink* makes of it what
 * the caller understands: the bytes of RESP2 or RESP3 in the output of a connection, or values on the stack
 * of a script.  Sinks are structs of functions, so a command does not know where its answer goes.
 *
 * What is variable in length is opened and closed: serve__open() remembers the place, the elements follow,
 * and serve__close_array() tells their number when it is known.  Opened ones nest.
 *
 * A command that runs again (its transaction met another's) is cut back: serve__reply_mark() before the
 * command, serve__reply_cut() after it.
 *
 * All functions return CARET_OK, so that a command can end with `return serve__integer(q, n);`.  Memory that
 * can't be had is remembered by the buffer, and the connection closed.
 */
#ifndef CARET_SERVER_REPLY_H
#define CARET_SERVER_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/buffer.h"

struct serve__call;
struct serve__reply;

enum serve__kind {
    SERVE__ARRAY = '*',
    SERVE__MAP = '%',
    SERVE__SET = '~',
    SERVE__PUSH = '>',
    SERVE__ATTRIBUTE = '|'
};

struct serve__sink {
    void (*status)(struct serve__reply *, const char *text, size_t len);
    void (*error)(struct serve__reply *, const char *text, size_t len); /* begins with its code: "ERR what" */
    void (*integer)(struct serve__reply *, int64_t);
    void (*bulk)(struct serve__reply *, const void *data, size_t len);
    void (*null)(struct serve__reply *);
    void (*null_array)(struct serve__reply *);
    void (*real)(struct serve__reply *, double);
    void (*boolean)(struct serve__reply *, bool);
    void (*verbatim)(struct serve__reply *, const char *kind, const void *data,
                     size_t len); /* kind: 3 letters */
    void (*big)(struct serve__reply *, const char *digits, size_t len);
    void (*open)(struct serve__reply *, enum serve__kind, size_t n); /* n: elements, or pairs of a map */
    size_t (*later)(struct serve__reply *);                          /* the length comes with `close` */
    void (*close)(struct serve__reply *, enum serve__kind, size_t place, size_t n);
    size_t (*mark)(struct serve__reply *);
    void (*cut)(struct serve__reply *, size_t mark);
};

struct serve__reply {
    const struct serve__sink *sink;
    struct serve__buffer *out; /* of the sinks that write bytes */
    uint64_t errors;           /* errors that were answered, ever */
    int protocol;              /* 2 or 3 */
};

extern const struct serve__sink serve__resp2, serve__resp3;

/* For commands: each writes to the sink of q. */
int serve__status(struct serve__call *q, const char *text);
int serve__ok(struct serve__call *q);
int serve__integer(struct serve__call *q, int64_t n);
int serve__bulk(struct serve__call *q, const void *data, size_t len);
int serve__text(struct serve__call *q, const char *text); /* bulk, of a NUL-terminated text */
int serve__number_text(struct serve__call *q, int64_t n); /* bulk, of an integer */
int serve__null(struct serve__call *q);
int serve__null_array(struct serve__call *q);
int serve__real(struct serve__call *q, double d);
int serve__boolean(struct serve__call *q, bool yes);
int serve__verbatim(struct serve__call *q, const char *kind, const void *data, size_t len);
int serve__array(struct serve__call *q, size_t n);
int serve__map(struct serve__call *q, size_t pairs);
int serve__set(struct serve__call *q, size_t n);
int serve__push(struct serve__call *q, size_t n);
size_t serve__open(struct serve__call *q);
int serve__close_array(struct serve__call *q, size_t place, size_t n);
int serve__close_map(struct serve__call *q, size_t place, size_t pairs);
int serve__close_set(struct serve__call *q, size_t place, size_t n);

/* Lines as HELP of a container: an array of status replies; `lines` ends with NULL. */
int serve__help(struct serve__call *q, const char *const *lines);

/* The error of a container: it has no such subcommand, or not with so many arguments. */
int serve__wrong_subcommand(struct serve__call *q);

size_t serve__reply_mark(struct serve__reply *r);
void serve__reply_cut(struct serve__reply *r, size_t mark);

#endif
