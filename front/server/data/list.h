/*
 * list.h - lists: elements below a key, by number.
 *
 *     ^redis(key)     header; state: the number of the first element, 8 bytes
 *     ^redis(key,i)   an element; i is first, first + 1, ... first + count - 1
 *
 * Numbers go on in either direction and are dense, so an element is found by its index at once, and a push or
 * a pop changes the header and one node.  What changes the middle moves the elements of the shorter side.
 *   A program that reads a list as nodes walks from one number to the next.  One that deletes a number leaves
 * an element that is empty.
 */
#ifndef CARET_SERVER_LIST_H
#define CARET_SERVER_LIST_H

#include "server/event.h"
#include "server/keys/key.h"

enum serve__end { SERVE__LEFT, SERVE__RIGHT };

struct serve__list {
    struct serve__key k;
    int64_t first;
};

/* Open to look into, to read, or to change: as serve__key_open(), serve__key_read() and serve__key_change() of a
 * list. */
int serve__list_open(struct serve__call *q, struct serve__list *l, caret_slice name);
int serve__list_read(struct serve__call *q, struct serve__list *l, caret_slice name);
int serve__list_change(struct serve__call *q, struct serve__list *l, caret_slice name);

/* Write the header after a change; an empty list is deleted, which is told. */
int serve__list_save(struct serve__call *q, struct serve__list *l);

static inline int64_t serve__list_len(const struct serve__list *l)
{
    return (int64_t)l->k.count;
}

/* The element at `index`, 0 ... len - 1.  It lives until the next call with the session. */
int serve__list_get(struct serve__call *q, const struct serve__list *l, int64_t index, caret_slice *value);
/* `value` may be what the session's last call gave. */
int serve__list_set(struct serve__call *q, const struct serve__list *l, int64_t index, caret_slice value);

/* One more at an end, of bytes that no call of the session moves; n fewer.  The caller saves. */
int serve__list_push(struct serve__call *q, struct serve__list *l, enum serve__end end, caret_slice value);
int serve__list_drop(struct serve__call *q, struct serve__list *l, enum serve__end end, int64_t n);

/* Answer n elements from `index` on, downwards if `step` is -1: no more than there are. */
int serve__list_answer(struct serve__call *q, const struct serve__list *l, int64_t index, int64_t n,
                       int step);

/* A walk from one element to the next: begin, then next as often as there are elements.  A value lives until
 * the next call with the session. */
struct serve__elements {
    caret_node_buf node;
    int64_t at; /* number of the one that comes next */
    int step;
    bool gap; /* numbers are missing: each is looked for */
};
int serve__elements_begin(struct serve__call *q, struct serve__elements *i, const struct serve__list *l,
                          int64_t index, int step);
int serve__elements_next(struct serve__call *q, struct serve__elements *i, caret_slice *value);

/* Call `each` with all elements of the list `name`, in order, until it returns another code than CARET_OK.  The errors
 * of serve__list_open() and of `each`. */
typedef int serve__element(struct serve__call *q, void *arg, caret_slice value);
int serve__list_each(struct serve__call *q, caret_slice name, serve__element *each, void *arg);

/* LEFT or RIGHT; SERVE__E_SYNTAX. */
int serve__list_end(struct serve__call *q, int i, enum serve__end *end);

/* Pop n elements and answer them as an array; tell what changed, and save. */
int serve__list_pop(struct serve__call *q, struct serve__list *l, enum serve__end end, int64_t n);
/* Pop one and answer it. */
int serve__list_pop_one(struct serve__call *q, struct serve__list *l, enum serve__end end);

#endif
