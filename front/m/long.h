/*
 * long.h - local variables with keys that are too long for the engine: up to a value's length for each subscript.
 *
 * They are in one list, sorted by encoded keys, as base/key.h makes them for the engine: so it has the same order,
 * and a node comes before all below it.
 *
 *     head -> [3] ----------------------------> [3] ---> NULL        a skip list: each entry is in as many rows as
 *          -> [2] ------------> [2] ----------> [2] ---> NULL        chance says, and each row leaps over those of
 *          -> [1] -> [1] -----> [1] -> [1] ---> [1] ---> NULL        the rows below it.  All else is: find the last
 *             x(1)   x(1,"a..") x(2)   y        y("b..")             entry before a key, and go on from there.
 *
 * A variable is in the session or in the list, never in both.  Whoever needs a key of it that the session can't have
 * moves the variable to the list, by caret_m__lengthen(); when its last node is gone it is in neither, and begins in
 * the session again.
 *
 * Where M runs in the process its variables are those (machine.h): then all of them are in the list, and it asks M for
 * each (long_table.h).
 *
 * Nothing here takes a lock: whoever shares local variables guards the list with them.
 */
#ifndef CARET_M_LONG_H
#define CARET_M_LONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

struct caret_m__long;

/* Local variables: those in a session without a database, and those with long keys; NULL = there are none so far, or
 * somebody else keeps them all (caret_m__long_elsewhere). */
struct caret_m__locals {
    caret_session *s;
    struct caret_m__long *more;
};

/* ---- keys ---- */

/* An encoded key.  Zero is none; to be freed. */
struct caret_m__key {
    uint8_t *bytes;
    size_t len, cap;
};

/* The key of a variable, which has a valid name; of a child; of what `len` bytes of it say.  CARET_OK, NOMEM. */
int caret_m__key_var(struct caret_m__key *k, const char *name, size_t len);
int caret_m__key_child(struct caret_m__key *k, const char *sub, size_t len);
void caret_m__key_free(struct caret_m__key *k);

/* Number of subscripts; where subscript i begins, i at most that number. */
unsigned caret_m__key_depth(const struct caret_m__key *k);
size_t caret_m__key_offset(const struct caret_m__key *k, unsigned i);

/* Subscript i as text: *len is its length in any case.  CARET_OK, BUFFER. */
int caret_m__key_sub(const struct caret_m__key *k, unsigned i, char *buf, size_t cap, size_t *len);

/* Append bytes, or the key of a node of the engine's; where name and subscript end that begin there. */
int caret_m__key_append(struct caret_m__key *k, const void *bytes, size_t n);
int caret_m__key_node(struct caret_m__key *k, const caret_node *n);
size_t caret_m__key_after_name(const uint8_t *key);
size_t caret_m__key_after_sub(const uint8_t *key, size_t len, size_t at);

/* ---- nodes ---- */

/* Is there anything of the variable, of n bytes of name? */
bool caret_m__is_long(const struct caret_m__long *list, const char *name, size_t n);

/* Move the variable to the list, which is made if there is none.  A code of Caret's; what was not moved is where it
 * was. */
int caret_m__lengthen(struct caret_m__locals *locals, const char *name, size_t len);

/* The node's value, until the list is changed: CARET_OK, CARET_NONE. */
int caret_m__long_get(const struct caret_m__long *list, const struct caret_m__key *k, caret_slice *value);

/* CARET_OK, NOMEM. */
int caret_m__long_set(struct caret_m__long *list, const struct caret_m__key *k, const char *value,
                      size_t len);

/* Remove the node's value; the node and all below. */
void caret_m__long_delete(struct caret_m__long *list, const struct caret_m__key *k);
void caret_m__long_kill(struct caret_m__long *list, const struct caret_m__key *k);

/* 0, 1, 10, 11. */
unsigned caret_m__long_data(const struct caret_m__long *list, const struct caret_m__key *k);

/* From the node to its sibling (from a variable to one with another name): k becomes that.  From the empty subscript
 * the way back leads to the last, and the way back ends before it.  CARET_OK, CARET_NONE, NOMEM. */
int caret_m__long_sibling(const struct caret_m__long *list, struct caret_m__key *k, bool back);

/* From the node to the one with a value before or after it in the variable.  CARET_OK, CARET_NONE, NOMEM. */
int caret_m__long_step(const struct caret_m__long *list, struct caret_m__key *k, bool back);

/* ---- variables ---- */

/* Copy a variable, or all of them (name NULL), to another list, which is made if there is none.  A code of Caret's. */
int caret_m__long_copy(const struct caret_m__long *from, struct caret_m__long **to, const char *name,
                       size_t len);

/* Remove a variable; all variables but those n.  A list that is NULL has none. */
void caret_m__long_kill_var(struct caret_m__long *list, const char *name, size_t len);
void caret_m__long_kill_others(struct caret_m__long *list, const caret_slice *names, size_t n);

/* The table keeps them from now on, and those that there are: the session is closed, and all names are in the list,
 * which asks the table.  Whoever works with it has called `enter`.  A code of Caret's, or what `set` said: nothing has
 * changed here then. */
int caret_m__long_elsewhere(struct caret_m__locals *locals, const caret_locals *table);

/* The list is gone.  NULL is ignored. */
void caret_m__long_free(struct caret_m__long *list);

#endif
