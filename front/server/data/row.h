/*
 * row.h - commands of a pipeline that follow one another, the same one about the same key: run as one change.
 *
 * The header of the key is read once and written once, and there is one savepoint.  Each command is answered, and
 * tells what it changed, as if it were alone.  What goes wrong is of none of them: the row is undone as a whole, and
 * each is run by itself (together.c).
 *   INCR and its kin need no transaction for that: one operation of the engine adds all their steps.
 *   ZRANKs are one reading transaction.
 */
#ifndef CARET_SERVER_ROW_H
#define CARET_SERVER_ROW_H

#include "server/call.h"

struct serve__row_of {
    struct serve__call q; /* first: that of the first command */
    unsigned n;
    const caret_slice *argv[32];
    int argc[32];
};

/* Of LPUSH, RPUSH, and LPOP and RPOP without a count; HSET; SADD; ZADD of one member without options.  None of them
 * calls serve__fail(), which counts what it answers.  q is a struct serve__row_of. */
int serve__list_row(struct serve__call *q);
int serve__hash_row(struct serve__call *q);
int serve__set_row(struct serve__call *q);
int serve__zset_row(struct serve__call *q);

/* Of INCR, DECR, INCRBY or DECRBY, without a transaction.  CARET_OK; any other code: nothing was done, as a step is
 * none, steps are of either sign, the value is not a number, or the sum overflows. */
int serve__count_row(struct serve__call *q);

/* Of ZRANK or ZREVRANK.  CARET_OK; any other code: nothing was answered, as there is no such set, or a member's name is
 * empty or long. */
int serve__zrank_row(struct serve__call *q);

#endif
