/*
 * dispatch.c - what happens to a request, in the order in which Redis 7.0 checks:
 *
 *   1. is there such a command, with so many arguments?
 *   2. has the connection given its password?  may it do that?  (ACL)
 *   3. is there memory for it?
 *   4. does the state of the connection allow it: subscriptions of RESP2, MULTI?
 *   5. queue it (MULTI, CLIENT PAUSE), or run it
 *
 * Running: an atomic command in a transaction, which is run again as long as it meets others (call.h).  A
 * command that fails is rolled back to where it began, and its answer cut off, before the error is answered.
 */
#include "server/dispatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "server/admin/acl.h"
#include "server/admin/measure.h"
#include "server/event.h"
#include "server/meet/blocked.h"
#include "server/meet/tracking.h"
#include "server/multi.h"
#include "server/node/m.h"
#include "server/worker.h"

/* ----------------------------------------------------------------- errors */

static void answer_error(struct serve__call *q, const char *format, va_list args)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, format, args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    serve__reply_cut(q->reply, q->mark);
    text[len] = 0;
    q->reply->sink->error(q->reply, text, len);
    serve__measure_error(q, text);
}

int serve__fail(struct serve__call *q, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    answer_error(q, format, args);
    va_end(args);
    return SERVE__FAILED;
}

void serve__reject(struct serve__call *q, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (serve__multi_refused == NULL || !serve__multi_refused(q, text))
        serve__fail(q, "%s", text);
    if ((q->c->flags & SERVE__CONN_MULTI) && q->script == NULL)
        q->c->flags |= SERVE__CONN_DIRTY_EXEC;
    if (q->cmd != NULL)
        serve__add(&q->w->stats->command[q->cmd->id].rejected, 1);
}

static const char *common_error(int rc)
{
    switch (rc) {
    case SERVE__E_TYPE: return "WRONGTYPE Operation against a key holding the wrong kind of value";
    case SERVE__E_SYNTAX: return "ERR syntax error";
    case SERVE__E_INTEGER: return "ERR value is not an integer or out of range";
    case SERVE__E_FLOAT: return "ERR value is not a valid float";
    case SERVE__E_NOKEY: return "ERR no such key";
    case SERVE__E_RANGE: return "ERR index out of range";
    case CARET_E_VALUE2BIG:
    case SERVE__E_TOOBIG: return "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    case SERVE__E_DBINDEX: return "ERR DB index is out of range";
    case CARET_E_SHM:
    case CARET_E_NOMEM: return "OOM command not allowed when used memory > 'maxmemory'.";
    case CARET_E_TXN_TOO_BIG: return "ERR the command changes more than one transaction can hold";
    default: return NULL;
    }
}

#define SERVE__MISCONF "MISCONF Errors writing to the database: "

/* What the database refused.  Of EXEC it is said that nothing of the transaction was done. */
static void refused(struct serve__call *q, const char *kind, const char *why)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s", kind, why);
    if (serve__multi_refused == NULL || !serve__multi_refused(q, text))
        serve__fail(q, "%s", text);
}

void serve__answer_code(struct serve__call *q, int rc)
{
    const char *text = common_error(rc);
    if (rc == SERVE__FAILED)
        return;
    if (text != NULL)
        refused(q, "", text);
    else if (rc == SERVE__E_EXPIRE)
        serve__fail(q, "ERR invalid expire time in '%s' command", q->cmd->full);
    else if (rc == SERVE__E_ARITY)
        serve__fail(q, "ERR wrong number of arguments for '%s' command", q->cmd->full);
    else if (rc == CARET_E_IO_FAILED)
        refused(q, SERVE__MISCONF, "a write failed earlier: restart the server once the disk is well");
    else if (rc == CARET_E_DISKFULL || rc == CARET_E_IO)
        refused(q, SERVE__MISCONF, caret_fact());
    else if (rc == CARET_NONE)
        serve__null(q);
    else
        refused(q, "ERR ", caret_fact());
}

/* ---------------------------------------------------------------- running */

int serve__atomic(struct serve__call *q, serve__run *fn)
{
    return serve__atomic_as(q, fn, 0);
}

/* What the outermost transaction told is not so. */
static void forget(struct serve__call *q, struct serve__event_place place)
{
    serve__events_forget(q->r, place);
    if (q->r->meets != 0)
        serve__blocked_forget(q->r);
}

/* Commit the outermost transaction; clients that wait for what it made ready are served in it. */
static int commit_and_meet(struct serve__call *q, size_t events)
{
    int rc = q->r->meets & SERVE__MEETS_READY ? serve__blocked_serve(q, events) : CARET_OK;
    if (rc == CARET_OK)
        rc = caret_commit(q->s);
    if (rc == CARET_OK && q->r->meets != 0)
        serve__blocked_committed(q->r);
    return rc;
}

/* It will not be run again: its errors count. */
static int over(struct serve__call *q, bool outermost, int rc)
{
    if (outermost && q->r->errors.len > 0)
        serve__measure_errors(q->r);
    return rc;
}

int serve__atomic_as(struct serve__call *q, serve__run *fn, int flags)
{
    struct serve__event_place place = serve__events_place(q->r);
    bool outermost = caret_txn_level(q->s) == 0;
    int rc = caret_begin(q->s, flags);
    if (rc != CARET_OK)
        return rc;
    for (;;) {
        rc = fn(q);
        if (rc == CARET_OK || rc == CARET_NONE) {
            int committed = outermost ? commit_and_meet(q, place.len) : caret_commit(q->s);
            if (committed == CARET_OK)
                return over(q, outermost, rc);
            rc = committed;
        }
        if (rc != CARET_RESTART || !outermost)
            break;
        if ((rc = q->r->again != NULL ? q->r->again(q) : caret_restart(q->s)) != CARET_OK)
            break;
        if (q->reply != NULL)
            serve__reply_cut(q->reply, q->mark);
        q->r->errors.len = 0;
        forget(q, place);
    }
    if (rc == CARET_RESTART) /* of the outer transaction: whoever began it runs it again */
        return rc;
    place.len = serve__events_missed(q->r, place.len);
    if (outermost)
        forget(q, place);
    else
        serve__events_forget(q->r, place);
    if (caret_txn_level(q->s) > 0)
        caret_rollback(q->s);
    return over(q, outermost, rc);
}

/* Does it read keys itself?  EVAL_RO and its like do not: what their scripts call does. */
static bool reads(const struct serve__call *q)
{
    return (q->cmd->flags & (SERVE__READONLY | SERVE__NO_MANDATORY_KEYS)) == SERVE__READONLY;
}

/* When it begins, for its time; 0: that is not taken. A script's quick commands are in the time of the script alone. */
static uint64_t begin_of(struct serve__call *q)
{
    if (q->script == NULL)
        return serve__measure_begin(q->w);
    return q->cmd->flags & SERVE__FAST ? 0 : serve__measure_clock();
}

/* EVAL, FCALL and their kin. */
static bool is_script(const struct serve__command *cmd)
{
    return (cmd->flags & SERVE__SKIP_MONITOR) && cmd->run != serve__cmd_exec;
}

int serve__execute(struct serve__call *q)
{
    uint64_t errors = q->reply->errors, begin = begin_of(q);
    bool watched = q->w->monitors > 0 && !(q->cmd->flags & SERVE__ADMIN);
    bool first = is_script(q->cmd); /* it is told before what it runs; others after their answer */
    q->mark = serve__reply_mark(q->reply);
    if (watched && first)
        serve__monitor_tell(q);
    int rc = q->cmd->flags & SERVE__PLAIN ? q->cmd->run(q) : serve__atomic(q, q->cmd->run);
    if (rc == CARET_RESTART)
        return rc;
    if (rc != CARET_OK)
        serve__answer_code(q, rc);
    struct serve__command_stats *stats = &q->w->stats->command[q->cmd->id];
    serve__add(&stats->calls, 1);
    if (q->cmd->run == serve__cmd_exec ? rc != CARET_OK : q->reply->errors != errors)
        serve__add(&stats->failed, 1);
    if (begin != 0)
        serve__measure_end(q, begin);
    if (q->c != NULL && q->c->tracking != NULL && reads(q))
        serve__tracking_read(q->script != NULL ? q->script : q);
    if (watched && !first)
        serve__monitor_tell(q);
    return CARET_OK;
}

/* ----------------------------------------------------------------- checks */

static void unknown_command(struct serve__call *q)
{
    char args[160];
    size_t n = 0;
    args[0] = 0;
    for (int i = 1; i < q->argc && n < 128; i++) {
        size_t most = 128 - n;
        const caret_slice *a = &q->argv[i];
        n += (size_t)snprintf(args + n, sizeof args - n, "'%.*s' ", (int)(a->len < most ? a->len : most),
                              a->data);
    }
    serve__reject(q, "ERR unknown command '%.*s', with args beginning with: %s",
                  (int)(q->argv[0].len < 128 ? q->argv[0].len : 128), q->argv[0].data, args);
}

static void unknown_subcommand(struct serve__call *q)
{
    char name[SERVE__COMMAND_BYTES + 1];
    const caret_slice *sub = &q->argv[1];
    for (size_t n = 0; n < q->argv[0].len; n++) {
        char c = q->argv[0].data[n];
        name[n] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
    }
    serve__reject(q, "ERR unknown subcommand '%.*s'. Try %.*s HELP.", (int)(sub->len < 128 ? sub->len : 128),
                  sub->data, (int)q->argv[0].len, name);
}

/* Find the command: q->cmd.  false: it was answered that there is none. */
static bool find(struct serve__call *q)
{
    const struct serve__command *parent = NULL;
    if (q->ahead != NULL && q->ahead->cmd != NULL && q->ahead->cmd->nsub == 0)
        q->cmd = q->ahead->cmd;
    else
        q->cmd = serve__command_of(q->argv, q->argc, &parent);
    if (q->cmd == NULL && parent != NULL)
        unknown_subcommand(q);
    else if (q->cmd == NULL && (serve__is(&q->argv[0], "post") || serve__is(&q->argv[0], "host:")))
        q->c->flags |= SERVE__CONN_DEAD; /* HTTP: a page that a browser was made to send here */
    else if (q->cmd == NULL)
        unknown_command(q);
    else if (q->cmd->arity > 0 ? q->cmd->arity != q->argc : q->argc < -q->cmd->arity)
        serve__reject(q, "ERR wrong number of arguments for '%s' command", q->cmd->full);
    else if (q->cmd->run == NULL)
        serve__reject(q, "ERR the command '%s' is not there yet", q->cmd->full);
    else
        return !(q->cmd->flags & SERVE__ADMIN) || !serve__protected_refuses(q);
    return false;
}

bool serve__auth_required(const struct serve__worker *w, const struct serve__conn *c)
{
    (void)w;
    return !(c->flags & SERVE__CONN_AUTHENTICATED) && !serve__auth_open();
}

/* A monitor asks for no keys: to Redis it is a replica. */
static bool monitor_refuses(struct serve__call *q)
{
    if (!(q->c->flags & SERVE__CONN_MONITOR) ||
        !(q->cmd->flags & (SERVE__WRITE | SERVE__READONLY | SERVE__MAY_REPLICATE)))
        return false;
    serve__reject(q, "ERR Replica can't interact with the keyspace");
    return true;
}

/* Do rights and the state of connection and server allow it? */
static bool allowed(struct serve__call *q)
{
    if (!(q->cmd->flags & SERVE__NO_AUTH) && serve__auth_required(q->w, q->c)) {
        serve__reject(q, "NOAUTH Authentication required.");
        return false;
    }
    if ((q->c->flags & SERVE__CONN_MULTI) && (q->cmd->flags & SERVE__NO_MULTI)) {
        serve__reject(q, "ERR Command not allowed inside a transaction");
        return false;
    }
    return !((q->c->user != NULL || q->w->limits != NULL) && serve__acl_refuses(q)) &&
           !serve__replicas_refuse(q) &&
           !(q->w->config.n[SERVE__CFG_maxmemory] != 0 && serve__memory_refuses != NULL &&
             serve__memory_refuses(q)) &&
           !(q->w->config.n[SERVE__CFG_busy_reply_threshold] != SERVE__BUSY_USUAL &&
             serve__busy_refuses != NULL && serve__busy_refuses(q)) &&
           !(serve__pubsub_refuses != NULL && (q->c->flags & SERVE__CONN_PUBSUB) &&
             serve__pubsub_refuses(q)) &&
           !monitor_refuses(q);
}

/* Is it taken by somebody who runs it later? */
static bool taken(struct serve__call *q)
{
    return (q->w->shared->pause_until != 0 && serve__pause_takes != NULL && serve__pause_takes(q)) ||
           ((q->c->flags & SERVE__CONN_MULTI) && serve__multi_takes != NULL && serve__multi_takes(q)) ||
           (q->cmd->run == serve__cmd_caret_m && serve__m_takes(q));
}

/* CLIENT REPLY OFF and SKIP: the answer is made, and dropped, unless it is pushes (SUBSCRIBE). */
static void silence(struct serve__conn *c, size_t mark)
{
    if (serve__conn_silent(c) && !(c->flags & SERVE__CONN_PUSHED))
        serve__reply_cut(&c->reply, mark);
    c->flags &= ~(unsigned)(SERVE__CONN_REPLY_SKIP | SERVE__CONN_PUSHED);
    if (c->flags & SERVE__CONN_REPLY_SKIP_NEXT)
        c->flags = (c->flags & ~(unsigned)SERVE__CONN_REPLY_SKIP_NEXT) | SERVE__CONN_REPLY_SKIP;
}

void serve__dispatch(struct serve__worker *w, struct serve__conn *c, const caret_slice *argv, int argc,
                     const struct serve__ahead *ahead)
{
    struct serve__call q = {.w = w,
                            .r = &w->run,
                            .c = c,
                            .s = w->run.s,
                            .reply = &c->reply,
                            .argv = argv,
                            .argc = argc,
                            .db = c->db,
                            .now = w->now,
                            .ahead = ahead};
    q.mark = serve__reply_mark(&c->reply);
    size_t mark = q.mark;
    serve__add(&w->stats->commands, 1);
    bool found = find(&q);
    c->last = q.cmd;
    if (found && allowed(&q) && !taken(&q))
        serve__execute(&q);
    if (c->flags & (SERVE__CONN_REPLY_OFF | SERVE__CONN_REPLY_SKIP | SERVE__CONN_REPLY_SKIP_NEXT))
        silence(c, mark);
    if (w->run.dirty != 0 || w->run.expired != 0 || w->run.pending.len != 0)
        serve__events_send(&w->run);
    if (c->tracking != NULL)
        serve__tracking_after(c, q.cmd);
}
