/*
 * salvage_log.h - the log of a database that is salvaged.
 */
#ifndef CARET_COPY_SALVAGE_LOG_H
#define CARET_COPY_SALVAGE_LOG_H

#include "disk/meta.h"
#include "tree/spans.h"

struct caret__salvage_log {
    struct caret__private set;
    struct caret__spans killed;
    uint64_t changes;
    bool read; /* the trees are there */
    bool lost; /* something that was committed is missing, or that can't be known */
};

/* How long is the log of the data file `path` by its file?  0: there is none. */
uint64_t caret__salvage_log_size(const char *path);

/* Read the log of the data file `path` (open as fd) after the checkpoint of a meta slot, as far as its chain
 * holds, and what only the memory of killed users has.  What is lost is noted in l->lost and in the report.
 * NOMEM.  To be destroyed, whatever is returned. */
int caret__salvage_log_read(struct caret__salvage_log *l, const char *path, int fd,
                            const struct caret__meta *m, char *report, size_t cap);
void caret__salvage_log_destroy(struct caret__salvage_log *l);

/* Does the log say otherwise about this node of the checkpoint? */
bool caret__salvage_log_hides(struct caret__salvage_log *l, const uint8_t *key, size_t len);

/* The nodes that the log ends with, in order; run: the value is a struct caret__runref. */
typedef int caret__salvage_log_fn(void *ctx, const uint8_t *key, size_t len, const uint8_t *val, size_t vlen,
                                  bool run);
int caret__salvage_log_each(struct caret__salvage_log *l, caret__salvage_log_fn *each, void *ctx);

#endif
