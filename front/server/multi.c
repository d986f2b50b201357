/*
 * multi.c - MULTI, EXEC, DISCARD: multi.h.
 */
#include "server/multi.h"

#include <stdlib.h>

#include "server/array.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/watch.h"
#include "server/worker.h"

/* ------------------------------------------------------------------ queue */

/* The last queue that was given back, if it is not large: a MULTI needs no malloc then. */
static struct serve__queue *spare;
enum { SPARE_BYTES = 64 * 1024, SPARE_COMMANDS = 1024 };

enum { SILENT = SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP | SERVE__CONN_REPLY_SKIP_NEXT };

static struct serve__queue *queue_new(void)
{
    struct serve__queue *u = spare;
    spare = NULL;
    return u != NULL ? u : calloc(1, sizeof *u);
}

static void queue_free(struct serve__queue *u)
{
    u->n = u->nends = u->bytes.len = 0;
    u->scripts = u->denyoom = false;
    if (spare == NULL && u->bytes.cap <= SPARE_BYTES && u->ends_cap <= SPARE_COMMANDS && !u->bytes.failed) {
        spare = u;
        return;
    }
    serve__buffer_free(&u->bytes);
    free(u->command);
    free(u->end);
    free(u->argv);
    free(u);
}

static bool queue_add(struct serve__queue *u, const struct serve__call *q)
{
    size_t argc = (size_t)q->argc, bytes = 0;
    for (size_t i = 0; i < argc; i++)
        bytes += q->argv[i].len;
    struct serve__queued *command = serve__array_room(u->command, &u->cap, u->n + 1, sizeof *command);
    if (command == NULL)
        return false;
    u->command = command;
    size_t *ends = serve__array_room(u->end, &u->ends_cap, u->nends + argc, sizeof *ends);
    if (ends == NULL)
        return false;
    u->end = ends;
    if (!serve__buffer_room(&u->bytes, bytes + 1))
        return false;
    u->command[u->n++] = (struct serve__queued){q->cmd, u->nends, q->argc};
    for (size_t i = 0; i < argc; i++) {
        serve__buffer_add(&u->bytes, q->argv[i].data, q->argv[i].len);
        u->end[u->nends++] = u->bytes.len;
    }
    return true;
}

/* The arguments of all commands as slices. */
static bool queue_arguments(struct serve__queue *u)
{
    caret_slice *argv = serve__array_room(u->argv, &u->argv_cap, u->nends, sizeof *argv);
    if (argv == NULL)
        return u->nends == 0;
    u->argv = argv;
    size_t at = 0;
    for (size_t i = 0; i < u->nends; i++) {
        u->argv[i] = (caret_slice){u->bytes.data + at, u->end[i] - at};
        at = u->end[i];
    }
    return true;
}

/* ------------------------------------------------------------------ state */

/* The connection leaves MULTI, and watches nothing any more. */
static void end(struct serve__conn *c)
{
    c->flags &= ~(unsigned)(SERVE__CONN_MULTI | SERVE__CONN_DIRTY_EXEC | SERVE__CONN_IN_EXEC);
    serve__unwatch(c);
    if (c->queue != NULL)
        queue_free(c->queue);
    c->queue = NULL;
}

void serve__conn_gone_multi(struct serve__worker *w, struct serve__conn *c)
{
    (void)w;
    end(c);
}

int serve__multi_count(const struct serve__conn *c)
{
    return c->flags & SERVE__CONN_MULTI && c->queue != NULL ? (int)c->queue->n : -1;
}

bool serve__multi_takes_room(const struct serve__conn *c)
{
    return (c->flags & SERVE__CONN_MULTI) && c->queue->denyoom;
}

static bool runs_at_once(const struct serve__command *cmd)
{
    return cmd->run == serve__cmd_exec || cmd->run == serve__cmd_discard || cmd->run == serve__cmd_multi ||
           cmd->run == serve__cmd_watch || cmd->run == serve__cmd_quit || cmd->run == serve__cmd_reset;
}

bool serve__is_script(const struct serve__command *cmd)
{
    return cmd->run == serve__cmd_eval || cmd->run == serve__cmd_eval_ro || cmd->run == serve__cmd_evalsha ||
           cmd->run == serve__cmd_evalsha_ro || cmd->run == serve__cmd_fcall ||
           cmd->run == serve__cmd_fcall_ro;
}

static bool script_takes_room(struct serve__call *q)
{
    return serve__is_script(q->cmd) && serve__script_takes_room != NULL && serve__script_takes_room(q);
}

bool serve__multi_takes(struct serve__call *q)
{
    struct serve__conn *c = q->c;
    if (c->flags & SERVE__CONN_IN_EXEC || runs_at_once(q->cmd))
        return false;
    if (!(c->flags & SERVE__CONN_DIRTY_EXEC)) { /* what EXEC refuses anyway is not kept */
        if (!queue_add(c->queue, q)) {
            serve__reject(q, "OOM command not allowed when used memory > 'maxmemory'.");
            return true;
        }
        c->queue->scripts = c->queue->scripts || serve__is_script(q->cmd);
        c->queue->denyoom = c->queue->denyoom || (q->cmd->flags & SERVE__DENYOOM) || script_takes_room(q);
        if (c->queue->bytes.len > (size_t)q->w->config.n[SERVE__CFG_client_query_buffer_limit])
            c->flags |= SERVE__CONN_DEAD;
    }
    serve__status(q, "QUEUED");
    return true;
}

bool serve__multi_refused(struct serve__call *q, const char *text)
{
    if (q->cmd == NULL || q->cmd->run != serve__cmd_exec)
        return false;
    end(q->c);
    const char *reason = strncmp(text, "ERR ", 4) == 0 ? text + 4 : text;
    serve__fail(q, "EXECABORT Transaction discarded because of: %s", reason);
    return true;
}

/* --------------------------------------------------------------- commands */

int serve__cmd_multi(struct serve__call *q)
{
    if (q->c->flags & SERVE__CONN_MULTI)
        return serve__fail(q, "ERR MULTI calls can not be nested");
    if ((q->c->queue = queue_new()) == NULL)
        return CARET_E_NOMEM;
    q->c->flags |= SERVE__CONN_MULTI;
    return serve__ok(q);
}

int serve__cmd_discard(struct serve__call *q)
{
    if (!(q->c->flags & SERVE__CONN_MULTI))
        return serve__fail(q, "ERR DISCARD without MULTI");
    end(q->c);
    return serve__ok(q);
}

static struct serve__call call_of(const struct serve__call *q, const struct serve__queued *one)
{
    struct serve__call inner = *q;
    inner.cmd = one->cmd;
    inner.argv = q->c->queue->argv + one->first;
    inner.argc = one->argc;
    inner.db = q->c->db;
    inner.mark = serve__reply_mark(q->reply);
    return inner;
}

bool serve__multi_any(struct serve__call *q, bool (*is)(struct serve__call *q))
{
    struct serve__queue *u = q->c->queue;
    if (u == NULL || !queue_arguments(u))
        return u != NULL;
    for (size_t i = 0; i < u->n; i++) {
        struct serve__call inner = call_of(q, &u->command[i]);
        if (is(&inner))
            return true;
    }
    return false;
}

static int run_one(struct serve__call *q, const struct serve__queued *one)
{
    struct serve__call inner = call_of(q, one);
    if (serve__acl_refuses_queued != NULL && serve__acl_refuses_queued(&inner))
        return CARET_OK;
    return serve__execute(&inner);
}

/* CLIENT REPLY holds for the head of the answers and for each command apart.  What subscribed goes out in any case. */
static void silence(struct serve__conn *c, size_t mark)
{
    if (serve__conn_silent(c) && !(c->flags & SERVE__CONN_PUSHED))
        serve__reply_cut(&c->reply, mark);
    c->flags &= ~(unsigned)SERVE__CONN_PUSHED;
}

/* The connection is as it was before EXEC. */
static void begin(struct serve__conn *c, const struct serve__queue *u)
{
    c->db = u->db;
    if (c->reply.protocol != u->protocol)
        serve__conn_protocol(c, u->protocol);
    c->flags = (c->flags & ~(unsigned)(SILENT | SERVE__CONN_PUSHED)) | u->silent;
}

/* The answers, which end where it ends itself by CLIENT KILL. */
static int run_queued(struct serve__call *q, const struct serve__queue *u)
{
    struct serve__conn *c = q->c;
    size_t mark = serve__reply_mark(q->reply), last = SIZE_MAX;
    serve__array(q, u->n);
    silence(c, mark);
    int rc = CARET_OK;
    for (size_t i = 0; rc == CARET_OK && i < u->n; i++) {
        mark = serve__reply_mark(q->reply);
        rc = run_one(q, &u->command[i]);
        silence(c, mark);
        if (last == SIZE_MAX && u->command[i].cmd->run == serve__cmd_client_kill &&
            c->flags & SERVE__CONN_CLOSE)
            last = serve__reply_mark(q->reply);
    }
    if (rc == CARET_OK && last != SIZE_MAX)
        serve__reply_cut(q->reply, last);
    return rc;
}

/* In the transaction; it may be run again. */
static int run_all(struct serve__call *q)
{
    struct serve__conn *c = q->c;
    bool changed;
    begin(c, c->queue);
    int rc = serve__watched_changed(q, &changed);
    if (rc != CARET_OK)
        return rc;
    if (changed)
        return serve__null_array(q);
    rc = run_queued(q, c->queue);
    if (serve__conn_silent(c)) /* what is left is to go out */
        c->flags |= SERVE__CONN_PUSHED;
    return rc;
}

int serve__cmd_exec(struct serve__call *q)
{
    struct serve__conn *c = q->c;
    if (!(c->flags & SERVE__CONN_MULTI))
        return serve__fail(q, "ERR EXEC without MULTI");
    if (c->flags & SERVE__CONN_DIRTY_EXEC) {
        end(c);
        return serve__fail(q, "EXECABORT Transaction discarded because of previous errors.");
    }
    int rc = CARET_E_NOMEM;
    if (queue_arguments(c->queue)) {
        c->queue->db = c->db;
        c->queue->protocol = c->reply.protocol;
        c->queue->silent = c->flags & SILENT;
        c->flags |= SERVE__CONN_IN_EXEC;
        bool elsewhere = c->queue->scripts && serve__exec_elsewhere != NULL;
        rc = (elsewhere ? serve__exec_elsewhere : serve__atomic_as)(q, run_all, serve__watched_flags(c));
    }
    end(c);
    return rc;
}
