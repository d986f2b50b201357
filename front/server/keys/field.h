/*
 * field.h - what has a name below a key: fields of hashes, members of sets and sorted sets.
 *
 *     ^redis(key,name)             value
 *     ^redis(key,"","e")           value of the empty name
 *     ^redis(key,"","l",SHA-256)   of a name over SERVE__FIELD_MAX bytes: length, 4 bytes, name, value
 *     ^redis(key,"",...)           else: indexes of the type
 *
 * A header has the flag SERVE__HEAD_ODD once the key had a name of the second or third kind, so that others
 * need not look for them.
 */
#ifndef CARET_SERVER_FIELD_H
#define CARET_SERVER_FIELD_H

#include "server/keys/key.h"

#ifdef CARET_SMALL
#define SERVE__FIELD_MAX 24u
#else
#define SERVE__FIELD_MAX 250u
#endif

enum { SERVE__HEAD_ODD = 8 };

/* Is the field stored below ""? */
static inline bool serve__field_is_odd(caret_slice name)
{
    return name.len == 0 || name.len > SERVE__FIELD_MAX;
}

/* The node of a field; nothing is read. */
int serve__field_node(struct serve__call *q, const struct serve__key *k, caret_node_buf *n, caret_slice name);

/* The value of a field of a key that was opened; CARET_NONE.  It lives until the next call with the session.
 * */
int serve__field_get(struct serve__call *q, const struct serve__key *k, caret_slice name, caret_slice *value);

/* Open a key of this type and read a field of it, by one look mostly: HGET, SISMEMBER, ZSCORE.  CARET_NONE:
 * there is no such key, or no such field. */
int serve__field_open(struct serve__call *q, struct serve__key *k, caret_slice key, enum serve__type type,
                      caret_slice name, caret_slice *value);

/* Set a field. *fresh: it was not there, and k->count is one more; the caller saves the key
 * (serve__key_save). */
int serve__field_put(struct serve__call *q, struct serve__key *k, caret_slice name, const void *value,
                     size_t len, bool *fresh);

/* The same of a hash, with what Redis' parameters say of its encoding. */
int serve__hash_put(struct serve__call *q, struct serve__key *k, caret_slice name, caret_slice value,
                    bool *fresh);
/* The same of a field that is not there. */
int serve__hash_put_new(struct serve__call *q, struct serve__key *k, caret_slice name, caret_slice value);

/* Add a member, which has no value: nothing is written if it is there. */
int serve__field_add(struct serve__call *q, struct serve__key *k, caret_slice name, bool *fresh);

/* Delete a field.  *was: it was there, and k->count is one less; the caller saves the key. */
int serve__field_delete(struct serve__call *q, struct serve__key *k, caret_slice name, bool *was);

/* All fields of a key: begin, then next until CARET_NONE. *name and
 * *value live until the next call with the session.  Fields may be deleted on the way. */
struct serve__fields {
    caret_node_buf node;
    bool odd, plain;
    char text[SERVE__FIELD_MAX + 8];
};
int serve__fields_begin(struct serve__call *q, struct serve__fields *i, const struct serve__key *k);
int serve__fields_next(struct serve__call *q, struct serve__fields *i, caret_slice *name, caret_slice *value);

/* Keep a name that was found beyond the next calls with the session: to the end of the transaction, or to the next
 * step of i. */
int serve__fields_keep(struct serve__call *q, const struct serve__fields *i, caret_slice *name);

/* Where it is, after a field was found, as bytes; and go on after such a place, which a client may have brought. */
#define SERVE__FIELD_PLACE_MAX (SERVE__FIELD_MAX + 10) /* a letter and 32 bytes at least */
int serve__fields_place(struct serve__fields *i, char place[SERVE__FIELD_PLACE_MAX], size_t *len);
int serve__fields_after(struct serve__call *q, struct serve__fields *i, const struct serve__key *k,
                        caret_slice place);

/* Any field, each equally likely.  CARET_NONE: there is none. */
int serve__fields_random(struct serve__call *q, struct serve__fields *i, const struct serve__key *k,
                         caret_slice *name, caret_slice *value);

#endif
