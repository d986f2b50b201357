/*
 * pipeline.h - commands of one connection that came together: looked up ahead, so that they wait for memory
 * at once.
 */
#ifndef CARET_SERVER_PIPELINE_H
#define CARET_SERVER_PIPELINE_H

#include "server/worker.h"

struct serve__pipeline {
    unsigned n;
    size_t first[SERVE__BATCH]; /* index of the first argument of each */
    int argc[SERVE__BATCH];
    size_t end[SERVE__BATCH]; /* of each in the input */
    const caret_slice *args;
    struct serve__ahead ahead[SERVE__BATCH]; /* of the commands from `looked` ... */
    unsigned looked_from, looked_to;         /* ... to before this one */
    unsigned alone;                          /* those before it are run one by one */
    unsigned alike; /* those before it are the one before them, byte for byte, but for the first two */
};

enum { /* flags of a connection that is to run no more for now */
       SERVE__PIPELINE_STOPS =
           SERVE__CONN_CLOSE | SERVE__CONN_DEAD | SERVE__CONN_BLOCKED | SERVE__CONN_AWAY | SERVE__CONN_HELD
};

/* The command i, if it has been looked up; NULL: it has not, or there is none of its name. */
static inline const struct serve__command *serve__command_ahead(const struct serve__pipeline *p, unsigned i)
{
    return i >= p->looked_from && i < p->looked_to ? p->ahead[i].cmd : NULL;
}

/* Is the command i known to be the one before it, byte for byte? */
static inline bool serve__alike(const struct serve__pipeline *p, unsigned i)
{
    return i < p->alike && i >= 2;
}

/* Run them in order, as far as the connection goes on: how many. */
unsigned serve__pipeline_run(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p);

/* Has the command i the key of the one before it? */
bool serve__same_key(const struct serve__pipeline *p, unsigned i);

/* Run the small changes from i on together (together.c): how many, or 0. */
unsigned serve__together(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                         unsigned i);

/* Run the EVALs from i on that have the same script, as one run (script/row.c): how many, or 0. */
unsigned serve__script_row(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                           unsigned i);

#endif
