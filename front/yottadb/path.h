/*
 * path.h - nodes from the strings that callers pass, and the last few of them.
 *
 * A caller names a node by strings in each call.  Encoding them costs more than the rest of the call, and a
 * node that is new has no idea where it is in the tree (caret.h).  But programs go through siblings, and come
 * back to the same few variables.  So each thread keeps the last CARET__YDB_PATHS nodes:
 *
 *     raw: name and all subscripts but the last, as they were passed | lens of each | last: the last subscript
 *     node: the whole, ready for use
 *
 * A call that passes the same number of subscripts, all but the last the same, gets that node; a last one that
 * differs is changed in place, which keeps the leaf it was found in as a guess.  Each time bytes are compared with
 * bytes: nothing can be stale.  What was used comes to the front, the last one is given up.
 * Paths that don't fit in `raw` are made anew each time.
 *
 * Invariant: `node` is what raw, lens and last say, or `last_len` is CARET__YDB_UNKNOWN (a last subscript that
 * can't be equal to any), or depth is CARET__YDB_EMPTY.
 */
#ifndef CARET_YOTTADB_PATH_H
#define CARET_YOTTADB_PATH_H

#include <caret.h>

#include "yottadb/libyottadb.h"

#define CARET__YDB_PATHS   6u
#define CARET__YDB_RAW     224u
#define CARET__YDB_LAST    64u
#define CARET__YDB_UNKNOWN UINT32_MAX
#define CARET__YDB_EMPTY   (-1)

struct caret__ydb_path {
    int depth;
    uint32_t last_len;
    uint32_t used;                     /* of raw; more than there is: they don't fit */
    uint32_t lens[CARET_MAX_SUBS + 1]; /* name, subscripts but the last */
    char raw[CARET__YDB_RAW];
    char last[CARET__YDB_LAST];
    caret_node_buf node;
};

struct caret__ydb_paths {
    struct caret__ydb_path *order[CARET__YDB_PATHS]; /* used last, first */
    struct caret__ydb_path path[CARET__YDB_PATHS];
};

struct caret__ydb_call;

void caret__ydb_paths_init(struct caret__ydb_paths *paths);

/* The node; it belongs to the thread and lives until its next call.  A status of YDB, or CARET__YDB_LONG. */
int caret__ydb_node(struct caret__ydb_call *c, const ydb_buffer_t *varname, int subs_used,
                    const ydb_buffer_t *subs, struct caret__ydb_path **path);

/* Is that a name, and a number of subscripts that there can be?  For those who complain about something else, which
 * comes after these. */
int caret__ydb_name_check(struct caret__ydb_call *c, const ydb_buffer_t *varname, int subs_used);

/* GVSUBOFLOW, with the name of the variable as GVIS has it. */
int caret__ydb_too_long(struct caret__ydb_call *c, const ydb_buffer_t *varname);

/* The node's last subscript was changed: to what was stored in `ret`, or to something else (NULL). */
void caret__ydb_moved(struct caret__ydb_path *path, const ydb_buffer_t *ret);

/* The node is another one of the variable.  Begin, keep its n subscripts in order, each while its buffer says
 * what it is, and end; without the end the path is empty. */
void caret__ydb_keep_begin(struct caret__ydb_path *path);
void caret__ydb_keep(struct caret__ydb_path *path, int i, int n, const ydb_buffer_t *sub);
void caret__ydb_keep_end(struct caret__ydb_path *path, int n);

/* The node of these strings without keeping it.  The same. */
int caret__ydb_node_make(struct caret__ydb_call *c, const ydb_buffer_t *varname, int subs_used,
                         const ydb_buffer_t *subs, caret_node_buf *node);

#endif
