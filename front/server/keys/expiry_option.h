/*
 * expiry_option.h - EX, PX, EXAT, PXAT of SET and GETEX, and the times of EXPIRE and its kin.
 */
#ifndef CARET_SERVER_EXPIRY_OPTION_H
#define CARET_SERVER_EXPIRY_OPTION_H

#include "server/call.h"

struct serve__expiry_option {
    bool given, seconds, absolute;
    const caret_slice *time;
};

/* Is it one of these words, and no other was given?  Then *o is it, with its time: of the same word the last counts. */
bool serve__expiry_word(struct serve__expiry_option *o, const caret_slice *word, const caret_slice *time);

/* The time in milliseconds since 1970; 0 if none was given.  Not positive, or too large: SERVE__E_EXPIRE. */
int serve__expiry_time(struct serve__call *q, const struct serve__expiry_option *o, int64_t *expiry);

#endif
