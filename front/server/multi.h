/*
 * multi.h - MULTI: commands wait in a queue until EXEC runs them as one transaction of the engine.
 *
 * A queue is made by MULTI and given back by EXEC and DISCARD.  It holds the bytes of the arguments one after
 * another, and where each ends; the input they came from is gone when they are run.
 *   EXEC runs all in one transaction.  What fails in it answers its error and is undone alone; the rest
 * stays, as in Redis.  If the transaction meets others it is run again, all of it: so everything that queued
 * commands change outside of the database (the number of the database, the protocol, CLIENT REPLY) is put back first.
 */
#ifndef CARET_SERVER_MULTI_H
#define CARET_SERVER_MULTI_H

#include "server/call.h"

/* A command that is queued. */
struct serve__queued {
    const struct serve__command *cmd;
    size_t first; /* of its arguments among all */
    int argc;
};

struct serve__queue {
    struct serve__queued *command;
    size_t n, cap;
    size_t *end; /* of each argument, within `bytes` */
    size_t nends, ends_cap;
    struct serve__buffer bytes;
    caret_slice *argv; /* made by EXEC, when the bytes no longer move */
    size_t argv_cap;
    unsigned db; /* when EXEC began */
    int protocol;
    unsigned silent; /* flags of CLIENT REPLY */
    bool scripts;    /* there are some among the commands */
    bool denyoom;    /* some take memory */
};

/* Commands that wait in the queue of a connection; -1: it is not in MULTI. */
int serve__multi_count(const struct serve__conn *c);

/* Does `is` say yes of one of the queued commands?  Of EXEC, before it runs.  Without memory to look: yes. */
bool serve__multi_any(struct serve__call *q, bool (*is)(struct serve__call *q));

/* Is it EVAL, FCALL or one of their kin? */
bool serve__is_script(const struct serve__command *cmd);

/* Does one of the queued commands take memory? */
bool serve__multi_takes_room(const struct serve__conn *c);

/* EXEC itself is refused, for the reason `text`: the transaction ends.  true: answered. */
bool serve__multi_refused(struct serve__call *q, const char *text) __attribute__((weak));

/* Run fn in a transaction where scripts have their own session: script/run.c. */
int serve__exec_elsewhere(struct serve__call *q, int (*fn)(struct serve__call *), int flags)
    __attribute__((weak));

#endif
