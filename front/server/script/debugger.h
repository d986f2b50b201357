/*
 * debugger.h - SCRIPT DEBUG: the Lua debugger of Redis, as `redis-cli --ldb` speaks to it.
 *
 *   debugger.c          a session: its beginning and end, where the script stops
 *   debugger_talk.c     what the client says while the script has stopped, and what is said to it
 *   debugger_command.c  what it may say: step, print, eval ...
 *   debugger_show.c     values of Lua, and answers of commands, as text
 *
 * After SCRIPT DEBUG YES or SYNC the EVALs of a client are debugged: the script stops at its first line.  From there on
 * the connection is the debugger's: it reads requests, which are its commands, and answers each with an array of lines.
 * At the script's end comes a last array, with <endsession>; then the answer of EVAL; then the connection is closed.
 *
 * Redis stops for SYNC, and forks for YES.  Here nobody waits:
 *   - A session is a run of a script that takes long (handoff.h).  Its thread waits for the client *in Lua*, so the
 *     loop goes on with a stand-in as soon as it is late.  There are SERVE__STANDINS of these in a worker, so it has
 *     SERVE__DEBUGGERS sessions at most.
 *   - A script that waits is not one that runs for long: its lease rests, so SCRIPT KILL and the BUSY of other clients
 *     do not know of it.  The thread itself looks ten times a second whether the worker ends, or its client is to.
 *   - It is one transaction, which is thrown away at the end (YES) or committed (SYNC).  That holds no lock: when it
 *     meets another's the script begins again, and hears what its client has said so far once more.  As long as it says
 *     what it has said before, the client is told nothing of that; at the first difference it is, and goes on there.
 *   - It has a Lua state of its own, without the compiler of LuaJIT, whose code looks at no hook, and without
 *     quick.lua: the state that was there is closed, and made anew by the next script.
 *   - In MULTI it is refused.
 * A client that goes away lets the script run to its end, as in Redis: with SYNC it is committed.
 *
 * The socket is read and written by the thread of the script, with the turn: nobody else does that while it runs.
 */
#ifndef CARET_SERVER_DEBUGGER_H
#define CARET_SERVER_DEBUGGER_H

#include "server/buffer.h"
#include "server/script/script.h"

enum {
    SERVE__DEBUGGER_DEPTH = 256,  /* of calls that it keeps account of; arbitrary */
    SERVE__DEBUGGERS = 4,         /* of a worker; arbitrary */
    SERVE__DEBUGGER_POINTS = 64,  /* the limits of Redis */
    SERVE__DEBUGGER_ARGS = 1024,  /* of a request; and */
    SERVE__DEBUGGER_BYTES = 1024, /* of each of them */
    SERVE__DEBUGGER_MAXLEN = 256, /* of a value, from the start; */
    SERVE__DEBUGGER_MAXLEN_LEAST = 60
};

struct serve__debugger {
    struct serve__scripts *x;
    struct serve__conn *c;
    bool sync;
    bool step;    /* stop at the next line, and tell of commands until there */
    bool called;  /* redis.breakpoint() was */
    bool hinted;  /* at maxlen */
    int line;     /* where it is */
    lua_State *L; /* and in which coroutine; how deep in calls there, */
    int depth;
    int line_at[SERVE__DEBUGGER_DEPTH]; /* and of each depth the line */
    int64_t since;
    int points[SERVE__DEBUGGER_POINTS], npoints;
    int maxlen;
    caret_slice *source; /* lines of the script */
    int nsource;
    struct serve__buffer in;    /* what the client has said */
    struct serve__buffer said;  /* lines for it, in the protocol; */
    unsigned nsaid;             /* so many */
    struct serve__buffer text;  /* the line that is being put together */
    struct serve__buffer heard; /* all that it has said, each after the hash of what was said to it before; */
    size_t at;                  /* of that: this attempt has heard it up to here */
    uint64_t hash;              /* of what was said last */
    caret_slice argv[SERVE__DEBUGGER_ARGS];
    int argc;
};

/* EVAL of a client that debugs; what it runs: eval.c. */
int serve__debugger_eval(struct serve__call *q, bool readonly);
int serve__script_eval_text(struct serve__call *q, struct serve__scripts *x, bool readonly);

/* An attempt of the transaction of a script that is debugged: serve__script_run_in(), and what is done with it. */
int serve__debugger_attempt(struct serve__call *q, struct serve__scripts *x);

/* Be ready for an attempt.  In the run, before its first line. */
void serve__debugger_ready(struct serve__scripts *x);

/* Are commands of the script told, as it steps? */
static inline bool serve__debugger_tells(const struct serve__scripts *x)
{
    return x->debugger != NULL && x->debugger->step;
}

/* The script calls a command; it has got the answer, or an error without one, on top of the stack. */
void serve__debugger_tell_call(struct serve__debugger *d, const caret_slice *argv, int argc);
void serve__debugger_tell_reply(struct serve__debugger *d, lua_State *L);
void serve__debugger_tell_error(struct serve__debugger *d, const char *text);

/* redis.breakpoint(), redis.debug(). */
int serve__debugger_breakpoint(lua_State *L);
int serve__debugger_debug(lua_State *L);

/* The client's request: true, in d->argv.  false: it is gone, or `*error` says what is wrong. */
bool serve__debugger_listen(struct serve__debugger *d, const char **error);

/* Add a line: a short one; d->text, which is forgotten; the same, cut off at maxlen.  Send all lines as one array. */
void serve__debugger_say(struct serve__debugger *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void serve__debugger_say_whole(struct serve__debugger *d);
void serve__debugger_say_text(struct serve__debugger *d);
void serve__debugger_send(struct serve__debugger *d);

/* Do what d->argv says.  true: the script goes on. */
bool serve__debugger_command(struct serve__debugger *d, lua_State *L);
void serve__debugger_say_line(struct serve__debugger *d, int line);
bool serve__debugger_has_point(const struct serve__debugger *d, int line);

/* Append the value at a place of the stack, as Lua would write it; the answer of a command on top of it. */
void serve__debugger_show(struct serve__buffer *to, lua_State *L, int index, int depth);
void serve__debugger_show_answer(struct serve__buffer *to, lua_State *L, bool resp3, int depth);
void serve__debugger_show_string(struct serve__buffer *to, const char *text, size_t len);

#endif
