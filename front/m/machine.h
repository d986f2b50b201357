/*
 * machine.h - M in programs that are not caret-m: the M machine, caret_m.so.
 *
 * libyottadb.so, the Lua modules and the server call M through it.  It is loaded at the first call, from the folder of
 * the library or program that this code is in, or where it is installed beside that.  It loads LuaJIT's library, of
 * which nothing can be seen from outside: the program may have a Lua of its own.
 *
 * THE ENGINE is the program's: caret_m.so has none, as two in one process may not open the same database.  It is handed
 * the functions of caret.h as a table (api.def); if that has less than it needs it refuses.
 *
 * ONE MACHINE serves the process, under a mutex of its own, which is recursive: M may call C that calls M.  A call from
 * another thread waits.  A call brings the session in which M works, so a transaction that the caller is in counts.
 * M's restarts of that transaction end the call with CARET_M__TP_RESTART.
 *
 * LOCAL VARIABLES of M are those of the process: whoever calls M hands over what it has, and asks the machine from then
 * on (`locals`).  Its `enter` takes the machine's mutex.
 *
 * Locks: the machine's mutex is taken first; with it held `session` of the host is called, which may take mutexes.
 */
#ifndef CARET_M_MACHINE_H
#define CARET_M_MACHINE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

struct caret_m__entry {
    const char *name;
    void (*function)(void);
};

/* The program's engine; ends with a NULL name. */
extern const struct caret_m__entry caret_m__api[];

/* Locks of a process that has one owner for all of them: M takes and gives back that owner's.  They are told by the
 * session of the database in which M works.  Codes of Caret's. */
struct caret_m__locks {
    int (*take)(void *who, caret_session *s, const caret_node *const *nodes, size_t n, uint64_t timeout_ns);
    int (*give)(void *who, caret_session *s, const caret_node *n);
    /* Those that are held: a line for each, with its count and its name; to be freed.  NULL: no memory. */
    char *(*held)(void *who, caret_session *s);
};

/* $ZGBLDIR of a process that has one for all of its languages. */
struct caret_m__gbldir {
    size_t (*get)(void *who, char *room, size_t cap); /* its length; it is cut at cap and ends with a NUL */
    const char *(*set)(void *who, const char *name, size_t len); /* NULL, or why it can't be */
};

#define CARET_M__ENDED 2147483600 /* a status: the call was ended by ask_end(); none of YottaDB's */

/* A call in progress, and what becomes of it. */
struct caret_m__call {
    const struct caret_m__locks *locks;   /* NULL: locks are those of the session */
    const struct caret_m__gbldir *gbldir; /* NULL: M has its own */
    _Atomic long *maxtptime;              /* $ZMAXTPTIME stands there (m/settings.h); NULL: M has its own */
    void *who;
    /* The session of the database of that name; empty: of the caller's own.  NULL: there is none. */
    caret_session *(*session)(void *who, const char *name, size_t len);
    /* The caller's own, as $ZGBLDIR and errors name it; NULL: as the environment does. */
    const char *database;
    /* Of the functions of the host that C which M called has called: what the last that failed says, as $ZSTATUS has
     * it; once.  NULL: none has.  May be NULL. */
    const char *(*said)(void *who);
    /* `run`: the program's standard output is not M's: $PRINCIPAL is empty, and what a DO writes to it is its value.
     * Nothing of the call is left for the next one but what it wrote to the database (mumps/bridge/fresh.lua). */
    bool collects;
    int status;      /* 0, an M error (negative) or an outcome (positive) */
    char text[2048]; /* of an error, as $ZSTATUS has it; terminated */
};

/* All of these return c->status. */
struct caret_m__machine {
    size_t size; /* of this struct */
    /* A routine of a call-in table, by the name that it has there.  *entry is what the name stands for, if it is not 0;
     * it is set.  Arguments are as the table tells. */
    int (*ci)(struct caret_m__call *c, const char *name, size_t len, uintptr_t *entry, va_list args);
    /* Call-in tables: open one; make one the current one, 0: that of the environment. */
    int (*open)(struct caret_m__call *c, const char *file, uintptr_t *table);
    int (*use)(struct caret_m__call *c, uintptr_t table, uintptr_t *before);
    /* Which arguments of such a routine go in, and which come out: one bit for each. */
    int (*masks)(struct caret_m__call *c, const char *name, size_t len, unsigned *in, unsigned *out);
    /* LABEL^ROUTINE, or $$LABEL^ROUTINE for its value, with n arguments, as texts; those of `references`, the first is
     * the lowest bit, are passed by reference.  values[0] becomes what it quits with, data NULL if nothing; values[i]
     * what argument i is then.  Their memory is the machine's, good until the next call; there is room for n + 1. */
    int (*run)(struct caret_m__call *c, const char *entry, const caret_slice *args, size_t n,
               unsigned references, caret_slice *values);
    /* The call that runs is to end, in the next 1,000 turns of a loop of M: with CARET_M__ENDED, and no trap sees it.
     * For any thread, while that call lasts; `false` takes back what no loop has seen, when it is over. */
    void (*ask_end)(bool asks);
    /* For a handler of a signal, in the thread in which that call runs: after ask_end(true) the call ends also at the
     * next line of M, be it in no loop. */
    void (*end_here)(void);
    /* M's local variables, which are those of the process from now on. */
    const caret_locals *locals;
};

/* The machine, loaded if it isn't.  NULL: it can't be, and `why` tells. */
const struct caret_m__machine *caret_m__machine(char why[256]);

/* In caret_m.so, the only symbol of it: what caret_m__machine() looks up. */
typedef const struct caret_m__machine *caret_m_start_function(const struct caret_m__entry *api,
                                                              char why[256]);
#define CARET_M__START "caret_m_start"

#endif
