/*
 * split.h - what both ways of setting keys share (write.c, row.c): changing a leaf, splitting the pages above it.
 *
 * The path is one that caret__touch_path() has made current.
 */
#ifndef CARET_TREE_SPLIT_H
#define CARET_TREE_SPLIT_H

#include "tree/tree.h"

/* A new root above the old one. */
void caret__grow_root(struct caret__w *w);

/* Split the leaf of the path for a key that shall go to its position, or a page above it that has no room for that. */
void caret__split_leaf(struct caret__w *w, struct caret__path *path, const uint8_t *key, size_t len);

/* The leaf is split for a key at that position: how many bytes fit in the fuller part then, of entries after the
 * leaf's prefix? */
unsigned caret__cut_room(const struct caret__page *p, unsigned pos);

/* Split inner page d of the path, or one above it that has no room for that. */
void caret__split_inner(struct caret__w *w, struct caret__path *path, unsigned d);

/* The shortest separator s with left < s <= right; its length. */
unsigned caret__separator(const uint8_t *left, size_t left_len, const uint8_t *right, size_t right_len,
                          uint8_t *sep);

/* Put {sep, left} in front of the parent's entry for left, which from now on leads to right. */
void caret__link_split(struct caret__page *parent, unsigned i, const uint8_t *sep, unsigned sep_len,
                       uint32_t left, uint32_t right);

/* Values out of line may be below every page of the path from now on. */
void caret__mark_runs(struct caret__w *w, const struct caret__path *path);

/* Try to change the leaf at the end of the path; false: no room. */
bool caret__set_in_leaf(struct caret__w *w, struct caret__path *path, const uint8_t *key, size_t len,
                        const void *val, size_t vlen, unsigned vflag);

#endif
