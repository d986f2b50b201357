/*
 * memo.h - the hash that a script uses again and again: its header is read once, and written once.
 *
 * HGET and HSET of a hash look at its header, or change its count, each time; that is more work than the field is.  So
 * the header of the hash that HGET or HSET had the second time is kept, and its count is written when it has to be
 * seen:
 *
 *     before these of another hash, and any other command, but the usual ones of one other key    by redis.call()
 *     before any use of a node                                                    by node.c and quick_node.c
 *     at the end of the run, also of one that failed                              by run.c
 *
 * The header was read in the transaction of the script, which is run again if others change it.  A run that begins
 * again, or is killed, has it no more.  Hashes that expire or have no header, and odd fields, are left to the usual
 * way; so are clients that track.
 *   HSET is one operation of the engine so, and needs no savepoint: if it fails, nothing was done.
 *   A script often looks for a field, does not find it, and sets it then.  Which fields it missed last is kept, too, of
 * those that it names by whole numbers, so that HSET need not look whether it is new: that look is most of its work.
 * What the script read is in its transaction, so others who set the field meanwhile have it run again.
 */
#ifndef CARET_SERVER_SCRIPT_MEMO_H
#define CARET_SERVER_SCRIPT_MEMO_H

#include "server/keys/key.h"

enum { SERVE__MEMO_NAME = 64, SERVE__MEMO_MISSED = 256 /* a power of two; arbitrary */ };

struct serve__memo {
    bool valid, dirty;
    const char *text, *last; /* of the key's name in Lua; and of the one that was used last */
    size_t len;
    char name[SERVE__MEMO_NAME];
    struct serve__key k;
    uint32_t generation; /* of what was missed: another one for each hash that is kept, and never 0 */
    struct serve__missed {
        int64_t field;
        uint32_t generation; /* another than the memo's: nothing */
    } missed[SERVE__MEMO_MISSED];
};

struct serve__scripts;

/* Run HGET or HSET so, and answer.  false: it is to be run as usual, and nothing is kept unless it is for the same
 * hash.  x->restart and x->broken tell what the engine said. */
bool serve__memo_run(struct serve__scripts *x, struct serve__call *q);

/* If that has the call's hash, will it do without the text of a field whose name is a whole number? */
bool serve__memo_prints_not(const struct serve__memo *m, const struct serve__call *q);

/* Keep nothing.  What was kept is written. */
void serve__memo_flush(struct serve__scripts *x);
static inline void serve__memo_end(struct serve__scripts *x, const struct serve__memo *m)
{
    if (m->valid)
        serve__memo_flush(x);
}

#endif
