/*
 * changes.c - what was committed lately, change by change, out of the log (log/follow.c).
 *
 * A log that is told a node passes over what does not concern it, by keys, before anything is made of a change.
 */
#include "api/changes.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "log/await.h"
#include "open/open.h"

int caret__log_begin(struct caret_log *log, struct caret__engine *e, uint64_t from)
{
    log->rec = NULL;
    return caret__tail_init(&log->tail, e, from);
}

void caret__log_below(struct caret_log *log, const caret_node *n)
{
    log->below_len = n != NULL ? caret__node_const(n)->key_len : 0;
    if (n != NULL)
        memcpy(log->below, caret__node_key(caret__node_const(n)), log->below_len);
}

void caret__log_free(struct caret_log *log)
{
    if (log == NULL)
        return;
    caret__tail_destroy(&log->tail);
    free(log->value);
    free(log);
}

int caret_log_open(caret_db *db, uint64_t from, caret_log **out)
{
    struct caret__engine *e;

    if (out == NULL)
        return caret__null(__func__, "log", "a place for the handle");
    *out = NULL;
    int rc = caret__db_enter_attached(__func__, db, "log", &e);
    if (rc != CARET_OK)
        return rc;
    caret_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to follow the log of %s", e->path);
    rc = caret__log_begin(log, e, from);
    if (rc == CARET_OK) {
        caret__engine_ref(e);
        *out = log;
    } else {
        caret__log_free(log);
    }
    return rc;
}

void caret_log_close(caret_log *log)
{
    if (log == NULL)
        return;
    caret__engine_close(log->tail.e);
    caret__log_free(log);
}

int caret_log_below(caret_log *log, const caret_node *n)
{
    if (log == NULL)
        return caret__null(__func__, "log", "an open log");
    if (n != NULL && !caret__node_ok(n))
        return caret__not_a_node(__func__, "n", n);
    if (n != NULL && caret_node_is_local(n))
        return caret__fail(CARET_E_INVALID, "caret_log_below: a local variable is in no log");
    caret__log_below(log, n);
    return CARET_OK;
}

uint64_t caret_log_place(const caret_log *log)
{
    if (log == NULL)
        return 0;
    return log->rec != NULL && log->index < log->count ? log->tail.lsn - log->size : log->tail.lsn;
}

/* A value in pages of its own: they may be others' by now, which its crc tells.  NULL then. */
static int long_value(caret_log *log, const struct caret__op_view *op, caret_slice *value)
{
    const struct caret__engine *e = log->tail.e;
    struct caret__runref ref;

    *value = (caret_slice){NULL, 0};
    if (op->vlen != sizeof ref)
        return CARET_OK;
    memcpy(&ref, op->val, sizeof ref);
    value->len = ref.len;
    if (ref.pgno + (uint64_t)ref.len / CARET__PAGE_SIZE >= e->file_pages_mapped)
        return CARET_OK;
    if (ref.len > log->value_cap) {
        uint8_t *more = realloc(log->value, ref.len);
        if (more == NULL)
            return caret__fail(CARET_E_NOMEM, "%s: no memory for a value of %u bytes", e->path, ref.len);
        log->value = more;
        log->value_cap = ref.len;
    }
    memcpy(log->value, e->file_map + (size_t)ref.pgno * CARET__PAGE_SIZE, ref.len);
    if (caret__crc32c(0, log->value, ref.len) == ref.crc)
        value->data = (const char *)log->value;
    return CARET_OK;
}

/* The change at `off`, and where the next one is.  CARET_NONE: the record has no more. */
static int change_at(const caret_log *log, uint32_t *off, struct caret__op_view *op)
{
    int more = caret__record_op(log->rec, log->size, off, op);

    if (more < 0)
        return caret__fail(CARET_E_CORRUPT, "%s: a change in the log can't be read", log->tail.e->log_path);
    return more == 0 ? CARET_NONE : CARET_OK;
}

/* In the record in progress, from `off` on. */
static int find_in_record(caret_log *log)
{
    struct caret__op_view op = {0};
    int rc;

    for (uint32_t next = log->off; (rc = change_at(log, &next, &op)) == CARET_OK; log->off = next) {
        if (caret__concerns(&op, log->below, log->below_len))
            return CARET_OK;
        log->index++;
    }
    return rc;
}

static void begin_record(caret_log *log)
{
    log->off = CARET__REC_HEAD;
    log->index = 0;
    memcpy(&log->count, log->rec + 4, sizeof log->count);
}

int caret__log_find(struct caret_log *log)
{
    int rc = caret__attached_here(log->tail.e) ? CARET_OK : caret__engine_forked(log->tail.e);

    while (rc == CARET_OK) {
        if (log->rec != NULL && (rc = find_in_record(log)) != CARET_NONE)
            return rc;
        log->rec = NULL;
        rc = caret__tail_next(&log->tail, &log->rec, &log->size);
        if (rc == CARET_OK)
            begin_record(log);
        else
            log->rec = NULL;
    }
    return rc;
}

static int take_range(caret_log *log, const struct caret__op_view *op, caret_change *c)
{
    struct caret__span span = {op->key, op->val, op->klen, op->vlen};
    int rc = caret__children_told(&span, &log->node, &log->bounds);

    c->kind = CARET_CHANGE_KILL_RANGE;
    c->from = log->bounds.from;
    c->to = log->bounds.to;
    c->flags = log->bounds.flags;
    return rc;
}

/* The change that the place stands at; the place goes on. */
static int take_change(caret_log *log, caret_change *c)
{
    struct caret__op_view op = {0};
    int rc = change_at(log, &log->off, &op);

    if (rc != CARET_OK)
        return rc;
    *c = (caret_change){
        .lsn = log->tail.lsn, .index = log->index++, .count = log->count, .node = &log->node.node};
    if (op.kind == CARET__OP_RANGE)
        return take_range(log, &op, c);
    c->kind = op.kind == CARET__OP_DELETE ? CARET_CHANGE_DELETE
              : op.kind == CARET__OP_KILL ? CARET_CHANGE_KILL
                                          : CARET_CHANGE_SET;
    if (op.kind == CARET__OP_SET)
        c->value = (caret_slice){(const char *)op.val, op.vlen};
    else if (op.kind == CARET__OP_SETRUN)
        rc = long_value(log, &op, &c->value);
    return rc == CARET_OK ? caret__node_make(&log->node.node, sizeof log->node, false, op.key, op.klen) : rc;
}

int caret_log_next(caret_log *log, caret_change *out)
{
    caret_change c;

    if (log == NULL || out == NULL)
        return caret__null(__func__, log == NULL ? "log" : "change",
                           log == NULL ? "an open log" : "a place for it");
    int rc = caret__struct_check(__func__, "change's", out, sizeof *out);
    if (rc == CARET_OK)
        rc = caret__log_find(log);
    if (rc == CARET_OK)
        rc = take_change(log, &c);
    if (rc == CARET_OK)
        caret__struct_give(out, &c, sizeof c);
    return rc;
}
