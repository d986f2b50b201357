/*
 * dispatch.h - from arguments to a command: checks, then the run.
 */
#ifndef CARET_SERVER_DISPATCH_H
#define CARET_SERVER_DISPATCH_H

#include "server/call.h"
#include "server/conn.h"

/* Run one request of a connection, and answer it.  `ahead`: what is known of it, or NULL. */
void serve__dispatch(struct serve__worker *w, struct serve__conn *c, const caret_slice *argv, int argc,
                     const struct serve__ahead *ahead);

/* Hooks of features, all weak.  A check answers and returns true if the command is refused; a queue takes it.
 * */
bool serve__acl_refuses(struct serve__call *q) __attribute__((weak));
/* The same of one that EXEC runs, whose user's rights may have changed since it was queued. */
bool serve__acl_refuses_queued(struct serve__call *q) __attribute__((weak));
/* May its user read every key, with this command? */
bool serve__acl_reads_all(const struct serve__call *q) __attribute__((weak));
bool serve__protected_refuses(struct serve__call *q); /* of those with the flag `admin` */
/* May a client do what a parameter of "no|yes|local" allows?  Its value is `allowed`. */
bool serve__protected_allows(int64_t allowed, const struct serve__conn *c);
bool serve__memory_refuses(struct serve__call *q) __attribute__((weak));
bool serve__replicas_refuse(struct serve__call *q); /* what writes, while min-replicas-to-write is set */
bool serve__pubsub_refuses(struct serve__call *q) __attribute__((weak));
bool serve__busy_refuses(struct serve__call *q) __attribute__((weak));
bool serve__pause_takes(struct serve__call *q) __attribute__((weak));
bool serve__multi_takes(struct serve__call *q) __attribute__((weak));
void serve__monitor_tell(struct serve__call *q);

/* Of EVAL, EVALSHA and FCALL: has what it would run the flag no-writes? */
bool serve__script_no_writes(struct serve__call *q) __attribute__((weak));
/* Of these and their read-only kin: has it flags, and neither no-writes nor allow-oom? */
bool serve__script_takes_room(struct serve__call *q) __attribute__((weak));

/* How many libraries and functions there are. */
int serve__functions_count(struct serve__call *q, int64_t *libraries, int64_t *functions)
    __attribute__((weak));

/* A command is refused before it is run: the error, and MULTI is spoiled, unless a script calls it. */
void serve__reject(struct serve__call *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Has the connection still to give a password? */
bool serve__auth_required(const struct serve__worker *w, const struct serve__conn *c);

#endif
