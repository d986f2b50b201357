/*
 * changes.c - what was committed lately, change by change, out of the log (log/follow.c).
 */
#include <stdlib.h>

#include "api/session.h"
#include "base/crc32c.h"
#include "log/follow.h"
#include "open/open.h"

struct caret_log {
    struct caret__tail tail;
    const uint8_t *rec; /* the record in progress, NULL = none */
    uint32_t size, off;
    uint32_t index, count; /* of its changes: those told, and all */
    caret_node_buf node;
    uint8_t *value; /* of the last change, if it is long */
    size_t value_cap;
};

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
    rc = caret__tail_init(&log->tail, e, from);
    if (rc == CARET_OK) {
        caret__engine_ref(e);
        *out = log;
    } else {
        free(log);
    }
    return rc;
}

void caret_log_close(caret_log *log)
{
    if (log == NULL)
        return;
    caret__tail_destroy(&log->tail);
    caret__engine_close(log->tail.e);
    free(log->value);
    free(log);
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

/* The next change of the record in progress.  CARET_NONE: it had no more. */
static int read_change(caret_log *log, caret_change *out)
{
    struct caret__op_view op;
    int more = caret__record_op(log->rec, log->size, &log->off, &op), rc = CARET_OK;

    if (more <= 0)
        return more == 0 ? CARET_NONE
                         : caret__fail(CARET_E_CORRUPT, "%s: a change in the log can't be read",
                                       log->tail.e->log_path);
    *out = (caret_change){
        .lsn = log->tail.lsn, .index = log->index++, .count = log->count, .node = &log->node.node};
    out->kind = op.kind == CARET__OP_DELETE ? CARET_CHANGE_DELETE
                : op.kind == CARET__OP_KILL ? CARET_CHANGE_KILL
                                            : CARET_CHANGE_SET;
    if (op.kind == CARET__OP_SET)
        out->value = (caret_slice){(const char *)op.val, op.vlen};
    else if (op.kind == CARET__OP_SETRUN)
        rc = long_value(log, &op, &out->value);
    return rc == CARET_OK ? caret__node_make(&log->node.node, sizeof log->node, false, op.key, op.klen) : rc;
}

static int next_change(caret_log *log, caret_change *out)
{
    caret_change c;
    int rc = read_change(log, &c);

    if (rc == CARET_OK)
        caret__struct_give(out, &c, sizeof c);
    return rc;
}

static void count_changes(caret_log *log)
{
    log->off = CARET__REC_HEAD;
    log->index = 0;
    memcpy(&log->count, log->rec + 4, sizeof log->count);
}

int caret_log_next(caret_log *log, caret_change *out)
{
    if (log == NULL || out == NULL)
        return caret__null(__func__, log == NULL ? "log" : "change",
                           log == NULL ? "an open log" : "a place for it");
    int rc = caret__struct_check(__func__, "change's", out, sizeof *out);
    if (rc == CARET_OK)
        rc = caret__attached_here(log->tail.e) ? CARET_OK : caret__engine_forked(log->tail.e);
    while (rc == CARET_OK) {
        if (log->rec != NULL && (rc = next_change(log, out)) != CARET_NONE)
            return rc;
        log->rec = NULL;
        rc = caret__tail_next(&log->tail, &log->rec, &log->size);
        if (rc == CARET_OK)
            count_changes(log);
        else
            log->rec = NULL;
    }
    return rc;
}
