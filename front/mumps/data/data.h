/*
 * data.h - what the Lua modules of this folder call: keys of local arrays (keys.c), globals (place.c).
 */
#ifndef CARET_MUMPS_DATA_H
#define CARET_MUMPS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

/* Is this text a canonical number? */
int caret_mumps__is_number(const char *text, size_t len);

/* Which of two canonical numbers is less: -1, 0, 1. */
int caret_mumps__key_compare(const char *a, size_t a_len, const char *b, size_t b_len);

/*
 * A place: where a reference in a program's text points to, a node that moves.  What is told a subscript puts it at
 * `level`, counted from 0, and drops those after it.
 *
 * All functions on places return codes of caret.h, or:
 */
enum {
    CARET_MUMPS__NUMBER = 101,   /* an integer with at most 15 digits, in `number` */
    CARET_MUMPS__TEXT = 102,     /* text in `text` and `len`, until the next call */
    CARET_MUMPS__NULSUBSC = 103, /* an empty subscript, which only $ORDER and $QUERY may have, as the last */
    CARET_MUMPS__CLOSED = 104    /* the place has no session yet */
};

struct caret_mumps__place {
    double number;
    const char *text;
    size_t len;
    caret_session *s;
    uint64_t node[CARET_NODE_MAX / 8];
};
typedef struct caret_mumps__place caret_mumps__place;

int caret_mumps__place_name(caret_mumps__place *p, const char *name, size_t len);
int caret_mumps__place_copy(caret_mumps__place *p, const caret_mumps__place *from);
unsigned caret_mumps__place_depth(const caret_mumps__place *p);

/* Is p below root? */
int caret_mumps__below(const caret_mumps__place *p, const caret_mumps__place *root);

/* Subscript i, as what a program sees. */
int caret_mumps__place_sub(caret_mumps__place *p, unsigned i);

/* Put a subscript; drop those from `level` on.  Text: empty only if `empty`. */
int caret_mumps__aim_i(caret_mumps__place *p, unsigned level, double sub);
int caret_mumps__aim_t(caret_mumps__place *p, unsigned level, const char *sub, size_t len, int empty);
int caret_mumps__cut(caret_mumps__place *p, unsigned level);

/* Values.  With a subscript for the last level, as number (i) or text (t); values to be set the same. */
int caret_mumps__get(caret_mumps__place *p);
int caret_mumps__get_i(caret_mumps__place *p, unsigned level, double sub);
int caret_mumps__get_t(caret_mumps__place *p, unsigned level, const char *sub, size_t len);
int caret_mumps__set_i(caret_mumps__place *p, double value);
int caret_mumps__set_t(caret_mumps__place *p, const char *value, size_t len);
int caret_mumps__set_ii(caret_mumps__place *p, unsigned level, double sub, double value);
int caret_mumps__set_it(caret_mumps__place *p, unsigned level, double sub, const char *value, size_t len);
int caret_mumps__kill(caret_mumps__place *p);
int caret_mumps__zkill(caret_mumps__place *p);
int caret_mumps__incr(caret_mumps__place *p, const char *by, size_t len);

/* $DATA in `number`. */
int caret_mumps__data(caret_mumps__place *p);
int caret_mumps__data_i(caret_mumps__place *p, unsigned level, double sub);

/* To the next or previous sibling, whose subscript is the answer; NONE: the place is where it was. */
int caret_mumps__next(caret_mumps__place *p);
int caret_mumps__next_i(caret_mumps__place *p, unsigned level, double sub);
int caret_mumps__prev(caret_mumps__place *p);

/* The same from the empty subscript at `level`, and after a number before that: to the first one. */
int caret_mumps__first(caret_mumps__place *p, unsigned level);
int caret_mumps__first_i(caret_mumps__place *p, unsigned level, double sub);

/* The first one below where another place stands. */
int caret_mumps__first_of(caret_mumps__place *p, const caret_mumps__place *above);

/* To the next or previous node with a value; of it the value is the answer. */
int caret_mumps__query(caret_mumps__place *p, int back);

/* To the next or previous global that has data: its name is the answer, NONE: there is none.  The name need not be
 * one's. */
int caret_mumps__next_global(caret_mumps__place *p, int back);

/* MERGE, between globals of one database. */
int caret_mumps__merge(caret_mumps__place *to, const caret_mumps__place *from);

/* For tests: the n-th call from now on that is made in a transaction begins it again.  0: none. */
void caret_mumps__inject(double n);

/* How many are to go. */
double caret_mumps__injected(void);

/* Transactions and locks of a session. */
int caret_mumps__begin(caret_session *s, int batch, int alone);
int caret_mumps__commit(caret_session *s);
int caret_mumps__rollback(caret_session *s);
int caret_mumps__restart(caret_session *s);
double caret_mumps__level(caret_session *s);
double caret_mumps__restarts(caret_session *s);
int caret_mumps__lock(caret_session *s, caret_mumps__place *const *places, size_t count, double seconds);
int caret_mumps__unlock(caret_mumps__place *p);
int caret_mumps__unlock_all(caret_session *s);
void caret_mumps__pause(double seconds);
const char *caret_mumps__message(void);

/* In caret_m.so: locks are taken by these, as the caller has an owner of its own for them, perhaps. */
struct caret_mumps__locks {
    int (*take)(caret_session *s, const caret_node *const *nodes, size_t n, uint64_t timeout_ns);
    int (*give)(caret_session *s, const caret_node *n);
    const char *(*held)(caret_session *s);
};
void caret_mumps__locks_of(struct caret_mumps__locks locks);

/* Those that the process holds, lines of count and name, good until the next call; NULL: they are those that M took. */
const char *caret_mumps__locks_held(caret_session *s);

#endif
