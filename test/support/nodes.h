/*
 * nodes.h - steps of a test that can't fail, and the nodes most tests make.
 *
 * must() may be used wherever a test's code runs: in the test itself it fails the test, in a forked child it ends the
 * child with status 99, in another thread it aborts, each with what went wrong.
 */
#ifndef CARET_TEST_NODES_H
#define CARET_TEST_NODES_H

#include <stdint.h>

#include "caret.h"

/* Anything but CARET_OK is a failure of the step named `what`. */
void must(int rc, const char *what);

/* name(i); returns &n->node. */
caret_node *node_at(caret_node_buf *n, const char *name, int64_t i);

#endif
