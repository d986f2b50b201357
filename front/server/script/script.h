/*
 * script.h - scripts: EVAL, and what it is made of.
 *
 *   eval.c       EVAL and its kin, SCRIPT: texts, the cache of compiled ones
 *   run.c        a run: KEYS and ARGV, the transaction, errors
 *   row.c        requests of a pipeline for the same script, as one run
 *   api.c        the table `redis` of a script
 *   quick.c      its usual commands by LuaJIT's FFI, in what it compiles; quick.lua
 *   node.c       the table `caret`: nodes; quick_node.c by the FFI
 *   memo.c       the hash that a script uses again and again
 *   sink.c       answers of commands as Lua values
 *   answer.c     Lua values as answers
 *   state.c      the Lua state of a worker; sandbox.lua what its scripts see
 *   memory.c     how much memory a state takes
 *   source.c     texts, as LuaJIT has to get them
 *   kill.c       SCRIPT KILL
 *   debugger.c   SCRIPT DEBUG: debugger.h
 *   library.c, register.c, function.c   libraries of functions: library.h
 *   none.c       instead of all of these where there is no Lua
 *
 * A worker has one Lua state, and more when scripts take long (handoff.h).  The scripts of a state are compiled
 * once and kept.  A script runs in one transaction, of a session of the state's.
 * When that meets others, the command that notices sets `restart` and raises an error; `pcall` and its kin
 * hand it on as long as `restart` is set, so the script ends, and is run again from its first line.
 *   A script that reads once, or not at all, needs no transaction: the command is one.  So a script that was so in
 * its last runs, `calm` of quick.h, is run without, *alone*; at the second use of data, or the first that may write,
 * serve__script_uses() has it begin again, in a transaction.  What alone has been until then is one read, so nothing
 * is to be undone; and the next time more calm runs are wanted.
 *   What a script can reach is read-only, so nothing of a run is left for the next one: globals and modules
 * are empty tables whose metatables point to the true ones, and KEYS and ARGV are emptied.
 *   The text of a script is kept at ^redisL(sha1), where all workers find it; `scripts` of shared.h counts
 * how often all were forgotten.
 */
#ifndef CARET_SERVER_SCRIPT_H
#define CARET_SERVER_SCRIPT_H

#include <lauxlib.h>
#include <lua.h>
#include <setjmp.h>

#include "server/call.h"
#include "server/codec/digest.h"
#include "server/handoff.h"
#include "server/script/memo.h"
#include "server/script/quick.h"

enum {
    SERVE__SHA = 2 * CARET_CODEC__SHA1_LEN,
    SERVE__SCRIPT_SLOTS = 1024,
    SERVE__SCRIPT_DEPTH = 128, /* of nested answers */
    SERVE__SCRIPT_SEEN = 64,
    SERVE__SCRIPT_KEYS = 16,
    SERVE__SCRIPT_KEY_BYTES = 64,
    SERVE__SCRIPT_DIGITS = 32,
    SERVE__SCRIPT_ARGS = 8100 /* values that a call may have on the stack of Lua */
};

enum { /* flags of a script */
       SERVE__SCRIPT_NO_WRITES = 1 << 0,
       SERVE__SCRIPT_ALLOW_OOM = 1 << 1,
       SERVE__SCRIPT_ALLOW_STALE = 1 << 2,
       SERVE__SCRIPT_NO_CLUSTER = 1 << 3,
       SERVE__SCRIPT_CROSS_SLOT = 1 << 4,
       SERVE__SCRIPT_OLD = 1 << 5 /* no shebang: no flags were given */
};

/* What is run: a script, or a function of a library. */
struct serve__code {
    const char *name;
    unsigned flags;
    int ref;                      /* of the Lua function */
    int lines;                    /* of its text; of a function, where it ends */
    bool function;                /* it gets its keys and arguments as parameters */
    struct serve__driver *driver; /* of a script */
};

struct serve__script {
    struct serve__code code;
    struct serve__driver driver;
    struct serve__script *by_text, *by_sha; /* chains */
    uint64_t hash;                          /* of the text */
    char sha[SERVE__SHA + 1];
    size_t len;
    char text[];
};

/* A name that a script used for a command, by the address of its text, which Lua has once. */
struct serve__seen {
    const char *text;
    const struct serve__command *cmd;
};

/* The same of a key, with its node. */
struct serve__seen_key {
    const char *text;
    unsigned db, len;
    char name[SERVE__SCRIPT_KEY_BYTES];
    caret_node_buf node;
};

/* A table that is being filled by an answer. */
struct serve__nest {
    enum serve__kind kind;
    size_t left, n; /* elements to come; 0 and `open`: until it is closed */
    bool open;
};

/* Requests that are one run: row.c. */
struct serve__script_row {
    const struct serve__pipeline *p; /* NULL: there is no row */
    unsigned at, end;                /* the request that runs; where the row ends */
    uint64_t begin;                  /* of that request, nanoseconds; */
    uint64_t since;                  /* and of the row */
    bool stopped;                    /* the one before was answered, and `at` was not begun */
};

/* What a Lua state may take: a constant, so that no script takes all memory of the machine. */
#define SERVE__SCRIPT_MEMORY ((size_t)1 << 30)

struct serve__script_memory {
    size_t bytes, peak; /* that it has, and had */
    size_t next;        /* with more than that, garbage is collected at the end of a script */
    bool worn;          /* it is to be dropped, as it had much more than it needs */
    lua_Alloc behind;   /* what it was made with */
    void *behind_ud;
};

struct serve__scripts {
    lua_State *L;          /* the state; */
    lua_State *now;        /* of the coroutine that answers are pushed to */
    struct serve__call *q; /* of the script that runs; NULL: none */
    const struct serve__code *code;
    struct serve__reply reply; /* to Lua */
    struct serve__nest nest[SERVE__SCRIPT_DEPTH];
    int depth;
    bool restart, readonly, used;
    bool alone;               /* there is no transaction, */
    unsigned uses;            /* as it has used data so often: 0; 1: it read once; more */
    struct serve__runner run; /* its own: other threads use the worker's while the script runs */
    struct serve__lease lease;
    const struct serve__code *wanted;
    bool wanted_readonly;
    unsigned attempts;  /* of the transaction, short ones; */
    bool holds, yields; /* this one keeps the turn; none of the others will */
    bool only_reads;
    int64_t began;                    /* when this one began */
    atomic_bool killed;               /* the run is to end, */
    atomic_bool jumps;                /* and be jumped out of */
    sigjmp_buf out;                   /* of a run that does not: kill.c */
    struct serve__debugger *debugger; /* of what runs, SCRIPT DEBUG; NULL mostly */
    struct serve__scripts *next;
    int broken;                                   /* what the engine said that ends the script; CARET_OK */
    int keys, argv, handler, body, clear, caller; /* references */
    int functions;                                /* of the globals of functions, */
    int64_t load_began;                           /* a library is being loaded: since then */
    int loading;                    /* and of what makes them ready to load a library, or to run */
    struct serve__library *library; /* all; */
    struct serve__library *loaded;  /* the one that is being loaded */
    uint64_t libraries;             /* version of `library` */
    uint64_t generation, seed;
    struct serve__script *by_text[SERVE__SCRIPT_SLOTS], *by_sha[SERVE__SCRIPT_SLOTS];
    struct serve__script *last; /* of by_text, that was looked for last */
    struct serve__seen seen[SERVE__SCRIPT_SEEN];
    struct serve__seen_key seen_key[SERVE__SCRIPT_KEYS];
    caret_slice args[SERVE__SCRIPT_ARGS];
    char numbers[SERVE__SCRIPT_ARGS][SERVE__SCRIPT_DIGITS];
    bool unprinted; /* numbers[2] is not the text of args[2] yet */
    struct serve__quick quick;
    struct serve__memo memo;
    struct serve__script_row row;
    struct serve__script_memory memory; /* of L */
};

/* A state for the call: the one that it runs in already, or one that is free.  NULL: no memory. */
struct serve__scripts *serve__scripts_of(struct serve__call *q);

/* Forget all scripts and libraries of a state; it is gone if its Lua state is NULL. */
void serve__scripts_forget(struct serve__scripts *x);

/* Run fn in a transaction of the state's runner. */
int serve__script_atomic(struct serve__call *q, struct serve__scripts *x, serve__run *fn, int flags);

/* As luaL_loadbuffer: compile a text, which need not end with a NUL; the function, or what is wrong, is pushed. */
int serve__script_load(lua_State *L, caret_slice text, const char *name);
/* For sandbox.lua: the text that LuaJIT has to get for a text. */
int serve__script_mend(lua_State *L);

/* Make the state.  NULL: no memory. */
lua_State *serve__script_state(struct serve__scripts *x);

/* From now on it gets no more than SERVE__SCRIPT_MEMORY; what it asks for beyond is its error "not enough memory". */
void serve__script_bound(lua_State *L, struct serve__script_memory *m);
void serve__script_close(lua_State *L, const struct serve__script_memory *m);

/* A script has ended, and what it returns is on the stack: give back what it took, if that is much.  May take long. */
void serve__script_collect(lua_State *L, struct serve__script_memory *m);

/* Close it: what came from it is forgotten. */
void serve__script_drop(struct serve__scripts *x);

/* The script of a text, or of its hash, if the state has compiled it; NULL: it has not. */
struct serve__script *serve__script_known(struct serve__scripts *x, const caret_slice *name, bool sha);

/* Run x->wanted, or x->row, without a transaction, if it is known to need none (above).  CARET_RESTART: it is to be run
 * in one. */
int serve__script_run_alone(struct serve__call *q, struct serve__scripts *x);

/* Run a script on the arguments of q, from argv[2] on, in a transaction. */
int serve__script_run(struct serve__call *q, struct serve__scripts *x, const struct serve__code *code,
                      bool readonly);

/* The same in one that is there. */
int serve__script_run_in(struct serve__call *q, struct serve__scripts *x, const struct serve__code *code,
                         bool readonly);

/* Do others wait for its transaction, and too long? */
bool serve__script_holds_long(const struct serve__scripts *x);

/* The run uses data; `reads`: by one command that only reads.  false: it is to begin again, as it is alone. */
static inline bool serve__script_uses(struct serve__scripts *x, bool reads)
{
    x->uses = reads && x->uses == 0 ? 1 : 2;
    if (x->alone && x->uses > 1)
        x->restart = true;
    return !x->restart;
}

/* kill.c: be ready to end runs of this thread; what l->end does. */
void serve__script_killable(struct serve__scripts *x);
void serve__script_end(struct serve__lease *l, int ms);
bool serve__script_is_killed(const struct serve__scripts *x);
void serve__script_running(struct serve__call *q); /* answer what runs for longest, for FUNCTION STATS */
void serve__script_not_killed(struct serve__scripts *x); /* it is over */

/* What a run calls, in a protected call, with the scripts as its argument. */
int serve__script_body(lua_State *L);

/* Lua's function that empties KEYS and ARGV. */
int serve__script_clear(lua_State *L);

/* Check the number of keys in argv[2]; `what` is said if it is none. */
int serve__script_keys(struct serve__call *q, const char *what);

/* The flag of a name, added to *flags.  false: there is none of it. */
bool serve__script_flag(const char *word, size_t len, unsigned *flags);
extern const char *const serve__script_flags[]; /* by bit; ends with NULL */

/* redis.register_function */
int serve__script_register(lua_State *L);

/* The scripts of a state, from a function of it. */
struct serve__scripts *serve__scripts_here(lua_State *L);

/* The node of the first key to *ahead and q, made once for keys that are used again: of commands that take it from
 * q->ahead, which leave it where it is. */
void serve__script_look_ahead(struct serve__scripts *x, struct serve__call *q, struct serve__ahead *ahead);

/* Is the text of the number, as an argument of a command, that of a whole one?  Not of -0. */
static inline bool serve__script_whole(double d)
{
    return d >= -1e15 && d <= 1e15 && d == (double)(int64_t)d && (d != 0 || 1 / d > 0);
}

/* A number as an argument of a command. */
caret_slice serve__script_digits(double d, char room[SERVE__SCRIPT_DIGITS]);

/* Functions of the table `redis`, as {name, function} pairs that end with NULL. */
extern const luaL_Reg serve__script_api[];

extern const struct serve__sink serve__lua_sink;

/* A number of Lua as the integer that it is answered as. */
static inline int64_t serve__script_integer(double d)
{
    return d >= -9223372036854775808.0 && d < 9223372036854775808.0 ? (int64_t)d : INT64_MIN;
}

/* Answer the value on top of the stack, which stays. */
void serve__script_answer(struct serve__call *q, lua_State *L, bool resp3);

/* Push the table `caret` of scripts: node.c.  And its functions for quick.lua. */
void serve__script_push_nodes(lua_State *L);
void serve__script_quick_nodes(struct serve__quick *k);
void serve__script_quick_row(struct serve__quick *k); /* row.c */

/* Push the error {err = text}.  `counted`: it is in INFO errorstats already, so it will not be when the script
 * answers it. */
void serve__script_push_error(lua_State *L, const char *text, size_t len, bool counted);

/* The script answers the error, the table on top of the stack: count it, unless it was. */
void serve__script_count_error(struct serve__call *q, lua_State *L, const char *text);

#endif
