/*
 * long_table.h - the same list (long.h) where somebody else keeps local variables: by a table of caret.h.
 *
 * Keys are those of the list.  Whoever calls has called `enter` of the table.
 */
#ifndef CARET_M_LONG_TABLE_H
#define CARET_M_LONG_TABLE_H

#include "m/long.h"

/* As caret_m__long_... of the same names. */
int caret_m__table_get(const caret_locals *t, const struct caret_m__key *k, caret_slice *value);
int caret_m__table_set(const caret_locals *t, const struct caret_m__key *k, const char *value, size_t len);
void caret_m__table_kill(const caret_locals *t, const struct caret_m__key *k, bool tree);
unsigned caret_m__table_data(const caret_locals *t, const struct caret_m__key *k);
int caret_m__table_sibling(const caret_locals *t, struct caret_m__key *k, bool back);
int caret_m__table_step(const caret_locals *t, struct caret_m__key *k, bool back);
int caret_m__table_copy(const caret_locals *t, struct caret_m__long **to, const char *name, size_t len);
void caret_m__table_kill_others(const caret_locals *t, const caret_slice *names, size_t n);

/* A list, if there is none. */
int caret_m__long_make(struct caret_m__long **list);

/* Copy the nodes of a variable of a session, or all, to the list. */
int caret_m__long_take_var(struct caret_m__long *list, caret_session *s, const caret_node *var);
int caret_m__long_take(struct caret_m__long *list, caret_session *s);

/* Is it one of n names? */
bool caret_m__is_named(const void *name, size_t len, const caret_slice *names, size_t n);

#endif
