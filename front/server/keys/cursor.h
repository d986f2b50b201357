/*
 * cursor.h - where SCAN, HSCAN, SSCAN and ZSCAN go on.
 *
 * A cursor is the number of a place that is remembered in shared memory, so that any worker can go on from
 * it: the last name that was answered.  The walk is in the order of nodes, so each element that is there
 * throughout is answered exactly once.  The places are a ring; one that was overwritten since is an error,
 * not a walk from the beginning, which might never end.  With a number that was not given yet (a client goes on after
 * the server was started anew) it is the walk from the beginning: so nothing is missed.
 *
 *   writer   takes a number (fetch_add), marks the slot as being written (id 0), writes, then stores the id
 *   reader   copies the slot, and believes it if the id was the one it wants before and after
 *
 * A writer that dies leaves id 0: that cursor is forgotten.
 */
#ifndef CARET_SERVER_CURSOR_H
#define CARET_SERVER_CURSOR_H

#include "server/keys/key.h"

#define SERVE__PLACE_MAX 264u

/* Remember a place of a database: its number, never 0. */
uint64_t serve__cursor_new(struct serve__call *q, caret_slice place);

/* The place of a cursor; false: it is not known (any more). */
bool serve__cursor_find(struct serve__call *q, uint64_t id, char place[SERVE__PLACE_MAX], size_t *len);

/* What SCAN and its kin are asked: the cursor, then options. */
struct serve__scan {
    uint64_t cursor;
    int64_t count;
    const caret_slice *match, *type; /* NULL: all */
    char place[SERVE__PLACE_MAX];    /* after which it goes on, if cursor is not 0 */
    size_t len;
};

/* Read the cursor (argument `at`); the options after it, TYPE only if `keys`; and find the place. In Redis the key
 * of HSCAN is looked up after the first, and a small collection is answered whole, whatever the cursor.  Each
 * may answer the usual errors. */
int serve__scan_cursor(struct serve__call *q, int at, struct serve__scan *s);
int serve__scan_options(struct serve__call *q, int at, bool keys, struct serve__scan *s);
int serve__scan_place(struct serve__call *q, struct serve__scan *s);

static inline bool serve__scan_fits(const struct serve__scan *s, caret_slice name)
{
    return s->match == NULL || serve__glob(s->match->data, s->match->len, name.data, name.len, false);
}

/* The answer: what is found is collected in q->r->work, as the cursor, which comes first, is known last. */
void serve__found_begin(struct serve__call *q);
void serve__found_add(struct serve__call *q, caret_slice text);
int serve__found_answer(struct serve__call *q, uint64_t cursor);
/* The next of what was found; *at is 0 at first, or the length of work when the collecting began.  false: no more. */
bool serve__found_next(struct serve__call *q, size_t *at, caret_slice *text);

/* HSCAN, SSCAN, ZSCAN: `value` adds what is answered of a field's value (serve__found_add: as it is), NULL nothing. */
int serve__scan_fields(struct serve__call *q, enum serve__type type,
                       void (*value)(struct serve__call *q, caret_slice value));

#endif
