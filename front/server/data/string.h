/*
 * string.h - strings that are changed in place: APPEND, SETRANGE, SETBIT, BITFIELD, PFADD.
 *
 * Their bytes are copied to q->r->work, changed there, and stored as a whole.
 */
#ifndef CARET_SERVER_STRING_H
#define CARET_SERVER_STRING_H

#include "server/keys/key.h"

/* Open a string for reading, and count whether it was there; k->value is empty if not: CARET_NONE. */
int serve__string_read(struct serve__call *q, struct serve__key *k, caret_slice name);

/* Open a string to change it: its bytes to q->r->work, with zeros up to `least` bytes, and memory for `room`.
 * SERVE__E_TOOBIG beyond proto-max-bulk-len. */
int serve__string_load(struct serve__call *q, struct serve__key *k, caret_slice name, uint64_t least,
                       size_t room);

/* Nothing was changed after all: OBJECT ENCODING calls it raw from now on, and it may have got zeros. */
int serve__string_touch(struct serve__call *q, struct serve__key *k);

/* Store what is in q->r->work, with the expiry that the key has; and tell. */
int serve__string_store(struct serve__call *q, struct serve__key *k, const char *event);

#endif
