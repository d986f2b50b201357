/*
 * changes.h - what reads the log, change by change; for caret_log and for caret_wait().
 */
#ifndef CARET_API_CHANGES_H
#define CARET_API_CHANGES_H

#include "api/range.h"
#include "log/follow.h"

struct caret_log {
    struct caret__tail tail;
    const uint8_t *rec; /* the record in progress, NULL = none */
    uint32_t size, off;
    uint32_t index, count; /* of its changes: those told or passed over, and all */
    caret_node_buf node;
    struct caret__bounds bounds; /* of the last change, if it is a kill of a range */
    uint8_t *value;              /* of the last change, if it is long */
    size_t value_cap;
    size_t below_len; /* only what concerns this key; 0 = all */
    uint8_t below[CARET__KEY_MAX];
};

/* Begin at a place, anew if it was in use.  Its memory is to be freed in any case. */
int caret__log_begin(struct caret_log *log, struct caret__engine *e, uint64_t from);

/* Only what concerns that node; NULL: everything. */
void caret__log_below(struct caret_log *log, const caret_node *n);

/* Be at the next change that is wanted.  CARET_NONE: there is none yet; NOTFOUND and more as the log says. */
int caret__log_find(struct caret_log *log);

/* The same, and sleep until there is one, up to timeout_ns.  alarm may be NULL; INTERRUPTED: it was raised. */
int caret__log_await(struct caret_log *log, struct caret__alarm *alarm, uint64_t timeout_ns);

/* Free it and its memory; NULL is ignored. */
void caret__log_free(struct caret_log *log);

#endif
