/*
 * call.h - one command that is being run, and what it may do.
 *
 * A command is `int serve__cmd_NAME(struct serve__call *q)`: it reads q->argv (argv[0] is its name), reads
 * and writes by q->s, answers by reply.h, and returns
 *
 *     CARET_OK          it has answered
 *     CARET_RESTART     pass it on: its transaction is run again, what it answered is cut off
 *     SERVE__E_...      one of the common errors below, which is answered in its words
 *     serve__fail(...)  any other error
 *     CARET_E_...       what the engine said: answered as -OOM, -MISCONF or -ERR
 *
 * In all cases but CARET_OK what it wrote to the database and answered so far is undone.
 *
 * A command is *atomic* unless its row in the table says `plain`: it is called in a transaction, and may be
 * called several times.  A plain one makes one operation of the engine, or none; if it finds that it needs
 * more it calls serve__atomic().  Within MULTI or a script both run in the transaction that is there.
 */
#ifndef CARET_SERVER_CALL_H
#define CARET_SERVER_CALL_H

#include "caret.h"
#include "server/codec/glob.h"
#include "server/command.h"
#include "server/functions.h"
#include "server/reply.h"

struct serve__call;
struct serve__conn;
struct serve__worker;

#define SERVE__DATABASES     16u
#define SERVE__REDIS_VERSION "7.0.15" /* whose answers these are */

enum {
    SERVE__FAILED = -1000,    /* serve__fail() has answered */
    SERVE__E_TYPE = -1001,    /* WRONGTYPE Operation against a key holding the wrong kind of value */
    SERVE__E_SYNTAX = -1002,  /* ERR syntax error */
    SERVE__E_INTEGER = -1003, /* ERR value is not an integer or out of range */
    SERVE__E_FLOAT = -1004,   /* ERR value is not a valid float */
    SERVE__E_NOKEY = -1005,   /* ERR no such key */
    SERVE__E_RANGE = -1006,   /* ERR index out of range */
    SERVE__E_TOOBIG = -1007,  /* ERR string exceeds maximum allowed size (proto-max-bulk-len) */
    SERVE__E_EXPIRE = -1008,  /* ERR invalid expire time in '...' command */
    SERVE__E_ARITY = -1009,   /* ERR wrong number of arguments for '...' command */
    SERVE__E_DBINDEX = -1010  /* ERR DB index is out of range */
};

/* What is remembered to count the keys of a database: keys/count.c. */
struct serve__counting {
    caret_sums *sums; /* NULL: nobody has asked yet */
    int64_t since;    /* expiries are summed up from here on, in milliseconds */
};

/* What a thread needs to run commands: a session, and memory that is used again. */
struct serve__runner {
    struct serve__worker *w;
    caret_session *s;
    caret_node_buf base[SERVE__DATABASES]; /* ^redis, ^redis1, ... */
    caret_node_buf expiry;                 /* ^redisX */
    caret_node_buf first;                  /* of serve__key_first() */
    struct serve__buffer scratch; /* for one function at a time: it may be used until another is called */
    struct serve__buffer work;    /* for one command at a time: to put a value together in */
    struct serve__buffer pending; /* events of the command that runs: event.h */
    struct serve__buffer errors;  /* first words of errors of the transaction: admin/measure.h */
    uint64_t dirty, expired;      /* changes of the command that runs; keys that it found expired */
    uint64_t random[2];
    struct serve__counting counting[SERVE__DATABASES];
    unsigned meets; /* what the transaction has to do with clients that wait: meet/blocked.c */
    int (*again)(struct serve__call *q); /* instead of caret_restart(); NULL: none */
};

enum {
    SERVE__MEETS_READY = 1,  /* a key became ready, and somebody waits */
    SERVE__MEETS_MISSED = 2, /* a key became ready, and nobody waited then */
    SERVE__MEETS_DONE = 4    /* there is something to do after the commit */
};

/* What the pipeline has found out about a command before it is run. */
struct serve__ahead {
    const struct serve__command *cmd; /* NULL: there is none of this name */
    const caret_slice *argv;          /* its arguments: a script that it runs has calls of its own */
    caret_node *node;                 /* of the key argv[1] in the database `db`; NULL: none */
    unsigned db;
    /* the argument whose text begins here is `number`; NULL: none is known to be one */
    const char *digits;
    int64_t number;
};

struct serve__call {
    struct serve__worker *w;
    struct serve__runner *r;
    struct serve__conn *c;      /* scripts run for the connection that asked for them */
    caret_session *s;           /* r->s */
    struct serve__reply *reply; /* NULL: of the server's own work, which answers nobody */
    const struct serve__command *cmd;
    const caret_slice *argv;
    int argc;
    unsigned db;
    int64_t now;                      /* milliseconds since 1970: of the turn */
    size_t mark;                      /* of the reply, before this command */
    const struct serve__ahead *ahead; /* NULL: nothing is known */
    struct serve__call *script;       /* of a script: what runs that, and takes the time.  NULL mostly */
    const caret_slice *ready; /* a client that waited is served: the key that is ready.  NULL mostly */
};

/* Answer an error, as of printf: "ERR what".  What was answered by this command before is cut off.
 * SERVE__FAILED. */
int serve__fail(struct serve__call *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Run fn in a transaction until it could be committed; within one, in a savepoint of it. */
typedef int serve__run(struct serve__call *q);
int serve__atomic(struct serve__call *q, serve__run *fn);
int serve__atomic_as(struct serve__call *q, serve__run *fn, int flags); /* CARET_TXN_* */

/* Answer what a command returned, if it has not: the error of this code. */
void serve__answer_code(struct serve__call *q, int rc);

/* Run the command q->cmd and answer, whatever comes: CARET_OK, or CARET_RESTART within a transaction. */
int serve__execute(struct serve__call *q);

/* ------------------------------------------------------------ arguments */

/* Is the argument this word, in any case?  `word` is in lower case. */
bool serve__is(const caret_slice *arg, const char *word);

/* A whole number as Redis reads one: "12", "-3"; not " 1", "+1", "01", "1e3". */
bool serve__read_integer(const caret_slice *text, int64_t *n);

/* A number of INCRBYFLOAT and HINCRBYFLOAT, which are kept as text of at most 17 digits after the point,
 * without zeros at its end. */
#define SERVE__LONG_REAL_MAX 5200u
bool serve__read_long_real(const caret_slice *text, long double *d);
size_t serve__long_real_text(char *text, long double d); /* of SERVE__LONG_REAL_MAX bytes */

/* The same of argument i, with the usual error: SERVE__E_INTEGER. */
int serve__arg_integer(struct serve__call *q, int i, int64_t *n);
/* A whole number within bounds: INT32_MIN and INT32_MAX where Redis has an int; least 0: "must be positive".
 * */
int serve__arg_between(struct serve__call *q, int i, int64_t least, int64_t most, int64_t *n);

/* Names that CLIENT SETNAME and HELLO take; and such a text of a connection, which is replaced. */
bool serve__client_name_valid(const caret_slice *name);
void serve__client_set(char **to, const caret_slice *value);

/* A random number of 64 bits. */
uint64_t serve__random(struct serve__runner *r);

/* Glob as KEYS and PSUBSCRIBE know it: codec/glob.h. */
static inline bool serve__glob(const char *pattern, size_t plen, const char *text, size_t len, bool nocase)
{
    return caret_codec__glob(pattern, plen, text, len, nocase);
}

#endif
