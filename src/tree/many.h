/*
 * many.h - several keys looked for at once; many.c tells how.
 */
#ifndef CARET_TREE_MANY_H
#define CARET_TREE_MANY_H

#include "page/search.h"
#include "tree/ways.h"

#define CARET__LANES 16u /* a core has so many cache misses in flight, or a few less */

/* What a lane does next; many.c tells what that is. */
enum caret__lane_step {
    CARET__LANE_ENDED,
    CARET__LANE_WAY_CHOOSE,
    CARET__LANE_WAY_DOWN,
    CARET__LANE_NARROW,
    CARET__LANE_LOCATE,
    CARET__LANE_CHOOSE,
    CARET__LANE_DOWN,
};

/* A key that is looked for. */
struct caret__lane {
    const uint8_t *key;
    size_t len;
    struct caret__at at; /* where it is, or would be, if there: that was so at at.version */
    const uint8_t *val;  /* the value that was there at that version, as its entry tells it */
    uint16_t vlen;
    bool run;
    struct caret__at met;          /* the first inner page that it has read; page NULL: none */
    struct caret__search search;   /* in the page it is at */
    struct caret__way *way;        /* it is there instead */
    struct caret__way *next;       /* of the child, not yet looked at; or NULL */
    struct caret__way_place place; /* in the way */
    uint32_t *guess;               /* where the child is */
    uint32_t child;                /* where the descent goes on */
    enum caret__lane_step step;
    unsigned depth;  /* pages it has gone down */
    unsigned shared; /* bytes of the key that all keys in the range of the page have, as far as is known */
    bool there;
};

/* Find the leaves of up to CARET__LANES keys, as far as nothing is in the way, and have their entries fetched.
 * Lanes that are not `there` afterwards say nothing of their keys. */
void caret__seek_many(struct caret__view *v, struct caret__lane *lane, unsigned n);

#endif
