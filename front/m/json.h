/*
 * json.h - a subtree as JSON text, and back, as ZYENCODE and ydb_encode_s() have it.
 *
 *     node with a value only            that value; at the root {"": value}
 *     children 0, 1, 2 ... n and no     an array
 *       others, and no value beside them
 *     any other children                an object; the node's own value is its member ""
 *
 *     value             JSON            and back
 *     number (of M)     -0.5            -.5; digits after the 18th are cut off
 *     $C(0)_"true"      true            the same; false and null alike
 *     $C(0)_text        "text"          $C(0)_text if the text is a number of M, else text
 *     any other         "text"
 *
 * Text is UTF-8, whatever $ydb_chset says.  Reading stores the values that there are and removes nothing; empty arrays
 * and objects leave no trace.  What is not JSON is noticed before anything is stored.  The parser is the project's own,
 * as M's numbers have more digits than the doubles of libraries.
 *
 * The tree is the caller's: these run in its thread, and in its transaction if there is one.
 */
#ifndef CARET_M_JSON_H
#define CARET_M_JSON_H

#include <stddef.h>

#include "caret.h"
#include "m/place.h"

/* Why it failed: the M error, 0 if it is a code of Caret's, `rc`; and what to say about the text. */
struct caret_m__json_error {
    int code;
    int rc;
    char why[160];
};

/* The text of n and all below: *text is to be freed, *len bytes and a NUL.  0; -1: *e says why: JANSSONENCODEERROR
 * (not UTF-8), or Caret's (NONE: there is nothing; NOMEM). */
int caret_m__json_encode(struct caret_m__tree *t, struct caret_m__place *n, char **text, size_t *len,
                         struct caret_m__json_error *e);

/* Store what the text says at n and below.  0; -1: JANSSONINVALIDJSON, MAXNRSUBSCRIPTS, NUMOFLOW, or Caret's. */
int caret_m__json_decode(struct caret_m__tree *t, struct caret_m__place *n, const char *text, size_t len,
                         struct caret_m__json_error *e);

#endif
