/*
 * past.h - reading around a writer that does not go on; past.c tells how.
 *
 * A session has one struct caret__past, made when it is needed first: a few pages
 * rebuilt from the undo entries, as of one log_applied.  The words that say
 * whether they still are the present: log_applied and the undo generation.
 */
#ifndef CARET_TREE_PAST_H
#define CARET_TREE_PAST_H

#include "tree/tree.h"

/* Begin a descent through the state of log_applied: CARET_OK; CARET_RESTART when no commit
 * is being applied (any more): the usual way is free; or NOMEM. */
int caret__past_begin(struct caret__view *v);

/* Is log_applied still the one of the descent, with the same undo entries? */
bool caret__past_holds(const struct caret__past *p);

/* LSN that caret__past_begin() found. */
uint64_t caret__past_lsn(const struct caret__past *p);

/* Number of the root, in that state if caret__past_holds() afterwards. */
uint32_t caret__past_root(struct caret__past *p);

/* The page at->pgno, whose version is above caret__past_lsn(), as it was: page, word and version of `at`.
 * CARET_OK; CARET_RESTART: the writer went on; CORRUPT: the undo entries make no sense. */
int caret__past_page(struct caret__view *v, struct caret__at *at);

/* The usual way is blocked by a page of that version: the view's stalled(), at once with what it would
 * say in the end if this commit was read around before. */
int caret__past_stalled(const struct caret__view *v, uint64_t version, unsigned tries);

void caret__past_destroy(struct caret__view *v);

#endif
