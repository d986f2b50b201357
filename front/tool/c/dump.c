/*
 * dump.c - all nodes of a database, or those below some, as text.
 *
 * They come out of a snapshot in the order of the database, each parent before what is
 * below it.  A format is a set of three functions: what stands before all nodes, one
 * node, what stands after all.
 *
 * Nested JSON writes a node one step late: only the node that follows tells
 * whether it is an object.  `open` of the path of the last one are objects that
 * are not closed yet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/c/transfer.h"

#define STEP 16384u /* nodes from one report of progress to the next */

const char *const caret__format_names[CARET__FORMATS + 1] = {"zwr", "jsonl", "json", "csv", NULL};

struct writer {
    struct caret__dump *d;
    struct caret__out *o;
    caret_session *s;
    struct caret__dump_path path;
    unsigned columns; /* of CSV: the deepest node's path */
    /* nested JSON: the node that is not written yet, and its value */
    struct caret__dump_path before;
    unsigned open;
    int pending, fresh; /* fresh: nothing stands in the innermost object */
    char *value;
    size_t value_len, value_cap;
};

int caret__dump_path_of(struct caret__dump_path *p, const caret_node *n)
{
    char *to = p->text, *end = p->text + sizeof p->text;
    unsigned depth = caret_node_depth(n);

    p->part[0] = caret_node_name(n, to);
    to += p->part[0].len + 1;
    p->n = depth + 1;
    for (unsigned i = 0; i < depth; i++) {
        size_t len;
        int rc = caret_node_subscript(n, i, to, (size_t)(end - to), &len, NULL);
        if (rc != CARET_OK)
            return rc;
        p->part[i + 1] = (caret_slice){to, len};
        to += len;
    }
    return CARET_OK;
}

/* ------------------------------------------------------------------------ ZWR */

static int begin_zwr(struct writer *w)
{
    static const char *const months[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                         "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
    char text[120];
    struct tm tm = {0};
    time_t now = time(NULL);

    gmtime_r(&now, &tm);
    snprintf(text, sizeof text, "Caret " CARET_VERSION " dump%s\n%02d-%s-%04d  %02d:%02d:%02d ZWR\n",
             w->d->utf8 ? " UTF-8" : "", tm.tm_mday, months[tm.tm_mon % 12], tm.tm_year + 1900, tm.tm_hour,
             tm.tm_min, tm.tm_sec);
    caret__out_text(w->o, text);
    return CARET_OK;
}

/* Put what `text` gives, which says how much room it needs. */
static int put_key(struct writer *w, const caret_node *n)
{
    size_t cap = 2 * CARET_MAX_KEY, len;
    char *to = caret__out_room(w->o, cap);
    int rc = to != NULL ? caret_node_zwr(n, w->d->utf8, to, cap, &len) : CARET_E_NOMEM;

    if (rc == CARET_E_BUFFER) {
        to = caret__out_room(w->o, cap = len);
        rc = to != NULL ? caret_node_zwr(n, w->d->utf8, to, cap, &len) : CARET_E_NOMEM;
    }
    w->o->used += rc == CARET_OK ? len : 0;
    return rc;
}

static int put_zwr(struct writer *w, const caret_slice *v)
{
    size_t cap = v->len + 64, len;
    char *to = caret__out_room(w->o, cap);
    int rc = to != NULL ? caret_str2zwr(v->data, v->len, w->d->utf8, to, cap, &len) : CARET_E_NOMEM;

    if (rc == CARET_E_BUFFER) {
        to = caret__out_room(w->o, cap = len);
        rc = to != NULL ? caret_str2zwr(v->data, v->len, w->d->utf8, to, cap, &len) : CARET_E_NOMEM;
    }
    w->o->used += rc == CARET_OK ? len : 0;
    return rc;
}

static int node_zwr(struct writer *w, const caret_node *n, const caret_slice *v)
{
    int rc = put_key(w, n);

    caret__out_put(w->o, "=", 1);
    if (rc == CARET_OK)
        rc = put_zwr(w, v);
    caret__out_put(w->o, "\n", 1);
    return rc;
}

/* ----------------------------------------------------------------- JSON lines */

static int node_jsonl(struct writer *w, const caret_node *n, const caret_slice *v)
{
    int rc = caret__dump_path_of(&w->path, n);

    caret__out_text(w->o, "{\"node\":[");
    for (unsigned i = 0; i < w->path.n && rc == CARET_OK; i++) {
        if (i > 0)
            caret__out_put(w->o, ",", 1);
        caret__out_json_scalar(w->o, w->path.part[i].data, w->path.part[i].len);
    }
    caret__out_text(w->o, "],\"value\":");
    caret__out_json_scalar(w->o, v->data, v->len);
    caret__out_text(w->o, "}\n");
    return rc;
}

/* ----------------------------------------------------------------------- JSON */

static int begin_json(struct writer *w)
{
    caret__out_put(w->o, "{", 1);
    w->fresh = 1;
    return CARET_OK;
}

static void break_line(struct writer *w, unsigned level)
{
    static const char spaces[] = "\n                                ";

    caret__out_put(w->o, spaces, 1 + level);
}

static int same(caret_slice a, caret_slice b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static unsigned common(const struct caret__dump_path *a, const struct caret__dump_path *b)
{
    unsigned i = 0;

    while (i < a->n && i < b->n && same(a->part[i], b->part[i]))
        i++;
    return i;
}

/* The key of a member; "__" is kept for a node's own value, so "__", "___", ... have one more. */
static void put_member(struct writer *w, unsigned level, caret_slice key)
{
    size_t i = 0;

    if (!w->fresh)
        caret__out_put(w->o, ",", 1);
    w->fresh = 0;
    break_line(w, level);
    caret__out_json(w->o, key.data, key.len);
    while (i < key.len && key.data[i] == '_')
        i++;
    if (i == key.len && i >= 2) {
        w->o->used--; /* the quote: there is room for it */
        caret__out_text(w->o, "_\"");
    }
    caret__out_text(w->o, ": ");
}

static void open_object(struct writer *w, caret_slice key)
{
    put_member(w, w->open + 1, key);
    caret__out_put(w->o, "{", 1);
    w->fresh = 1;
    w->open++;
}

static void close_objects(struct writer *w, unsigned down_to)
{
    for (; w->open > down_to; w->open--) {
        break_line(w, w->open);
        caret__out_put(w->o, "}", 1);
        w->fresh = 0;
    }
}

static void put_own(struct writer *w)
{
    if (!w->fresh)
        caret__out_put(w->o, ",", 1);
    w->fresh = 0;
    break_line(w, w->open + 1);
    caret__out_text(w->o, "\"__\": ");
}

/* Write the node that waits. */
static void put_pending(struct writer *w, int is_object)
{
    const struct caret__dump_path *p = &w->before;

    if (!w->pending)
        return;
    while (w->open < p->n - 1)
        open_object(w, p->part[w->open]);
    if (is_object) {
        open_object(w, p->part[p->n - 1]);
        put_own(w);
    } else {
        put_member(w, p->n, p->part[p->n - 1]);
    }
    caret__out_json_scalar(w->o, w->value, w->value_len);
}

static int keep_value(struct writer *w, const caret_slice *v)
{
    if (v->len > w->value_cap) {
        char *more = realloc(w->value, v->len);
        if (more == NULL)
            return CARET_E_NOMEM;
        w->value = more;
        w->value_cap = v->len;
    }
    if (v->len > 0)
        memcpy(w->value, v->data, v->len);
    w->value_len = v->len;
    return CARET_OK;
}

/* The parts of a path point into it. */
static void keep_path(struct writer *w)
{
    w->before = w->path;
    for (unsigned i = 0; i < w->path.n; i++)
        w->before.part[i].data = w->before.text + (w->path.part[i].data - w->path.text);
}

static int node_json(struct writer *w, const caret_node *n, const caret_slice *v)
{
    int rc = caret__dump_path_of(&w->path, n);
    unsigned shared;

    if (rc != CARET_OK)
        return rc;
    shared = common(&w->before, &w->path);
    put_pending(w, shared == w->before.n);
    if (w->open > shared)
        close_objects(w, shared);
    keep_path(w);
    w->pending = 1;
    return keep_value(w, v);
}

static int end_json(struct writer *w)
{
    put_pending(w, 0);
    close_objects(w, 0);
    caret__out_text(w->o, "\n}\n");
    return CARET_OK;
}

/* ------------------------------------------------------------------------ CSV */

static int begin_csv(struct writer *w)
{
    char text[16];

    caret__out_text(w->o, "global");
    for (unsigned i = 1; i < w->columns; i++) {
        snprintf(text, sizeof text, ",sub%u", i);
        caret__out_text(w->o, text);
    }
    caret__out_text(w->o, ",value\n");
    return CARET_OK;
}

/* A field that is empty and not in quotes stands for a subscript that the node does not have. */
static int node_csv(struct writer *w, const caret_node *n, const caret_slice *v)
{
    int rc = caret__dump_path_of(&w->path, n);

    for (unsigned i = 0; i < w->columns && rc == CARET_OK; i++) {
        if (i < w->path.n)
            caret__out_csv(w->o, w->path.part[i].data, w->path.part[i].len, w->path.part[i].len == 0);
        caret__out_put(w->o, ",", 1);
    }
    caret__out_csv(w->o, v->data, v->len, 0);
    caret__out_put(w->o, "\n", 1);
    return rc;
}

static int count_columns(struct writer *w, const caret_node *n, const caret_slice *v)
{
    unsigned depth = caret_node_depth(n) + 1;

    (void)v;
    w->columns = depth > w->columns ? depth : w->columns;
    return CARET_OK;
}

/* -------------------------------------------------------------------- walking */

typedef int each_fn(struct writer *w, const caret_node *n, const caret_slice *v);

static const struct {
    int (*begin)(struct writer *w);
    each_fn *node;
    int (*end)(struct writer *w);
} formats[CARET__FORMATS] = {{begin_zwr, node_zwr, NULL},
                             {NULL, node_jsonl, NULL},
                             {begin_json, node_json, end_json},
                             {begin_csv, node_csv, NULL}};

static int emit(struct writer *w, caret_node *n, const caret_slice *v, each_fn *each)
{
    int rc = each(w, n, v);

    if (rc == CARET_OK && w->o->error != 0)
        rc = CARET_E_IO;
    if (rc == CARET_OK && each != count_columns && ++w->d->dumped % STEP == 0 && w->d->progress(w->d) != 0)
        rc = CARET_ROLLBACK;
    return rc;
}

/* Make `end` the first place after all that is below n; NONE: nothing is after it in its variable. */
static int behind(struct writer *w, const caret_node *n, caret_node_buf *end)
{
    int rc = CARET_NONE;

    caret_node_copy(&end->node, sizeof *end, n);
    while (caret_node_depth(&end->node) > 0 && (rc = caret_next(w->s, &end->node)) == CARET_NONE)
        caret_node_parent(&end->node, sizeof *end, &end->node);
    return caret_node_depth(&end->node) > 0 ? rc : CARET_NONE;
}

/* n and all that is below it. */
static int walk(struct writer *w, const caret_node *from, each_fn *each)
{
    caret_node_buf at, end;
    caret_slice v;
    int bound = behind(w, from, &end), rc;

    if (bound != CARET_OK && bound != CARET_NONE)
        return bound;
    caret_node_copy(&at.node, sizeof at, from);
    rc = caret_get(w->s, &at.node, &v);
    if (rc == CARET_OK)
        rc = emit(w, &at.node, &v, each);
    else if (rc == CARET_NONE)
        rc = CARET_OK;
    while (rc == CARET_OK && (rc = caret_node_next_get(w->s, &at.node, &v)) == CARET_OK) {
        if (bound == CARET_OK && caret_node_compare(&at.node, &end.node) >= 0)
            return CARET_OK;
        rc = emit(w, &at.node, &v, each);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int walk_globals(struct writer *w, each_fn *each)
{
    caret_node_buf global;
    int rc = caret_first_var(w->s, &global.node, sizeof global, 0);

    while (rc == CARET_OK) {
        rc = walk(w, &global.node, each);
        if (rc == CARET_OK)
            rc = caret_next(w->s, &global.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int walk_all(struct writer *w, each_fn *each)
{
    int rc = CARET_OK;

    if (w->d->count == 0)
        return walk_globals(w, each);
    for (size_t i = 0; i < w->d->count && rc == CARET_OK; i++)
        rc = walk(w, &w->d->nodes[i].node, each);
    return rc;
}

static int dump(struct writer *w)
{
    enum caret__format f = w->d->format;
    int rc = CARET_OK;

    w->columns = 1;
    if (f == CARET__CSV)
        rc = walk_all(w, count_columns);
    if (rc == CARET_OK && formats[f].begin != NULL)
        rc = formats[f].begin(w);
    if (rc == CARET_OK)
        rc = walk_all(w, formats[f].node);
    if (rc == CARET_OK && formats[f].end != NULL)
        rc = formats[f].end(w);
    if (caret__out_flush(w->o) != 0 && rc == CARET_OK)
        rc = CARET_E_IO;
    return rc;
}

int caret__dump(struct caret__dump *d)
{
    struct writer *w = calloc(1, sizeof *w);
    int rc;

    if (w == NULL)
        return CARET_E_NOMEM;
    w->d = d;
    w->o = d->out;
    rc = caret_session_open(d->db, &w->s);
    if (rc == CARET_OK)
        rc = caret_begin(w->s, CARET_TXN_SNAPSHOT);
    if (rc == CARET_E_READONLY) /* of a file that was opened so; a server has snapshots all the same */
        rc = caret_begin(w->s, 0);
    if (rc == CARET_OK) {
        rc = dump(w);
        caret_rollback(w->s);
    }
    caret_session_close(w->s);
    free(w->value);
    free(w);
    return rc;
}
