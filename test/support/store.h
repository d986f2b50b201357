/*
 * A tree beside a model that says what must be in it: on private memory, or shared, in a segment without log, where
 * one process plays the writer: begin, changes, commit; a freeze makes all pages those of an older epoch.
 */
#ifndef CARET_TEST_SUPPORT_STORE_H
#define CARET_TEST_SUPPORT_STORE_H

#include "base/key.h"
#include "support/model.h"
#include "support/segment.h"
#include "tree/tree.h"

struct store {
    struct caret__pager *pg;
    struct model model;
    struct caret__rand rng;
    struct caret__private own; /* private */
    struct fixture *f;         /* shared, else NULL */
    struct caret__w w;         /* shared: of the commit in progress */
    struct caret__undo undo;
    bool open; /* there is one */
};

void store_private(struct store *s, uint64_t seed);
void store_shared(struct store *s, uint64_t seed);
void store_close(struct store *s);

/* Shared: a commit.  A change outside of one is a commit of its own. */
void store_begin(struct store *s);
void store_commit(struct store *s);
/* From now on every page is an older epoch's: copied before it is changed.  What died before may be used again. */
void store_freeze(struct store *s);

/* Change tree and model. */
void store_set(struct store *s, const uint8_t *key, size_t len, const void *val, size_t vlen);
void store_delete(struct store *s, const uint8_t *key, size_t len);
void store_kill(struct store *s, const uint8_t *key, size_t len);
void store_kill_span(struct store *s, const struct caret__span *r);
/* n keys "prefix" + number in `width` digits, from `from` on, with values of vlen bytes that tell the number. */
void store_fill(struct store *s, const char *prefix, unsigned width, unsigned from, unsigned n, size_t vlen);
unsigned number_key(uint8_t *key, const char *prefix, unsigned width, unsigned i);

/* Some random change: a set six times of ten. */
void store_change(struct store *s, unsigned most, unsigned kill_one_in);

/* How a session reads it. */
struct caret__view store_view(struct store *s);
/* The value of an entry, wherever it is. */
void store_value(const struct store *s, const struct caret__entry *e, const uint8_t **val, size_t *vlen);

/* The tree is what tree.h says, and each page number is either in it, or free, or waits to be. */
void store_check(struct store *s);
/* The key is there or not, with its value, as the model says. */
void store_compare_get(struct store *s, const uint8_t *key, size_t len);
/* Walks both ways meet what the model has. */
void store_compare_walk(struct store *s, struct caret__view *v, const struct model *m);
void store_same(struct store *s); /* all of that */

/* Leaves, and pages in all, of the tree. */
unsigned store_leaves(struct store *s);
unsigned store_pages(struct store *s);
/* Page with that number, as the writer sees it. */
const struct caret__page *store_page(const struct store *s, uint32_t pgno);
uint64_t store_version(const struct store *s, uint32_t pgno);
uint32_t store_root(const struct store *s);

#endif
