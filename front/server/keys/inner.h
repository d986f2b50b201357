/*
 * inner.h - what key.c, change.c, count.c and walk.c share: headers of keys.
 */
#ifndef CARET_SERVER_INNER_H
#define CARET_SERVER_INNER_H

#include "server/keys/key.h"

/* Does its header hold the name? */
bool serve__key_is_long(caret_slice name);

/* No key, of this name. */
void serve__key_nothing(struct serve__call *q, struct serve__key *k, caret_slice name);

/* What the value that was found at n says; one that is damaged is told. */
int serve__key_read_value(struct serve__call *q, struct serve__key *k, const caret_node *n,
                          caret_slice value);

/* Is a node of this subscript and value a key, and when does it expire?  CARET_NONE, CARET_E_CORRUPT. */
int serve__key_glance(caret_slice subscript, caret_slice value, int64_t *expiry);

/* Write the header of k, and what comes after it. */
int serve__key_put_header(struct serve__call *q, struct serve__key *k, const void *rest, size_t len);

bool serve__key_expired(const struct serve__call *q, const struct serve__key *k);

#endif
