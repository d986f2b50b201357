/*
 * row.c - requests of a pipeline for the same script: one run.
 *
 * Beginning and ending a run takes longer than a short script does.  So EVALs that follow one another, with the same
 * text and as many keys and arguments, are a *row*, if the script is one that is run alone (script.h).  One call of Lua
 * runs them all: a function of quick.lua sets KEYS and ARGV, calls the script, and hands its answer to a function
 * below, which writes it to the client and has the next request ready.
 *   Nothing else is different: each request makes its own read, is measured, and may end in its own error.  The row
 * ends
 *
 *     with a table as the answer, and with an error     which run.c answers, as without a row
 *     where a script begins again                       that request is run as usual, in a transaction
 *     when the thread has lost the turn, or is told to end, or the client takes no answers
 *     after half a millisecond                          so it is not taken for a script that takes long
 */
#include "server/admin/measure.h"
#include "server/dispatch.h"
#include "server/pipeline.h"
#include "server/script/script.h"

enum { ROW_NS = 500000 };

/* The request r->at is what the call is about. */
static void begin_request(struct serve__scripts *x, struct serve__call *q)
{
    const struct serve__script_row *r = &x->row;
    q->argv = &r->p->args[r->p->first[r->at]];
    q->mark = serve__reply_mark(q->reply);
}

/* The request r->at was answered. */
static void end_request(struct serve__script_row *r, struct serve__call *q)
{
    serve__measure_end(q, r->begin);
    r->begin = q->w->stamp;
    r->at++;
}

/* It was, by a script that did not fail: is there another one to be run? */
static int next_request(struct serve__scripts *x)
{
    struct serve__script_row *r = &x->row;
    struct serve__call *q = x->q;
    end_request(r, q);
    if (r->at == r->end || r->begin - r->since > ROW_NS || x->lease.away || !serve__conn_has_room(q->c)) {
        r->stopped = true;
        return 0;
    }
    begin_request(x, q);
    atomic_store_explicit(&x->lease.argv, q->argv, memory_order_relaxed);
    x->quick.argv = q->argv + 3;
    x->memo.last = NULL;
    x->uses = 0;
    x->reply.protocol = 2;
    return 1;
}

/* Have the turn, to answer.  false: the run is to end, or to begin again.  One that was told to end, and came to its
 * end before it noticed, has only read: it is answered. */
static bool may_answer(struct serve__scripts *x)
{
    serve__unlend(x->run.w->handoff, &x->lease);
    return !x->restart && x->broken == CARET_OK;
}

static int go_on(struct serve__scripts *x, int more)
{
    serve__lend(x->run.w->handoff, &x->lease);
    return more;
}

static int row_text(void *scripts, const char *text, int len)
{
    struct serve__scripts *x = scripts;
    if (!may_answer(x))
        return go_on(x, 0);
    serve__bulk(x->q, text, (size_t)len);
    return go_on(x, next_request(x));
}

static int row_number(void *scripts, double number)
{
    struct serve__scripts *x = scripts;
    if (!may_answer(x))
        return go_on(x, 0);
    serve__integer(x->q, serve__script_integer(number));
    return go_on(x, next_request(x));
}

static int row_null(void *scripts, int is_false)
{
    struct serve__scripts *x = scripts;
    if (!may_answer(x))
        return go_on(x, 0);
    if (is_false && x->reply.protocol == 3)
        serve__boolean(x->q, false);
    else
        serve__null(x->q);
    return go_on(x, next_request(x));
}

void serve__script_quick_row(struct serve__quick *k)
{
    k->row_text = row_text;
    k->row_number = row_number;
    k->row_null = row_null;
}

/* ----------------------------------------------------------------- finding */

static bool same(const caret_slice *a, const caret_slice *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* The end of the requests from i on that have its command, script and number of keys and arguments. */
static unsigned end_of_row(const struct serve__pipeline *p, unsigned i)
{
    const struct serve__command *cmd = serve__command_ahead(p, i);
    const caret_slice *a = &p->args[p->first[i]];
    unsigned end = i + 1;
    for (; end < p->n && serve__command_ahead(p, end) == cmd && p->argc[end] == p->argc[i]; end++) {
        const caret_slice *b = &p->args[p->first[end]];
        if (!same(&a[1], &b[1]) || !same(&a[2], &b[2]))
            break;
    }
    return end;
}

/* Is it a script that was run often enough, by itself, with so many keys and arguments? */
static bool runs_alone(const struct serve__script *s, const struct serve__call *q)
{
    const struct serve__driver *d = &s->driver;
    int64_t keys;
    return d->row != LUA_NOREF && d->calm >= d->wanted &&
           (s->code.flags & (SERVE__SCRIPT_OLD | SERVE__SCRIPT_NO_WRITES)) &&
           serve__read_integer(&q->argv[2], &keys) && keys == d->keys && q->argc - 3 - keys == d->args;
}

/* Run x->row, from the request of the call on.  false: the request at the end of it is to be run as usual. */
static bool run_row(struct serve__call *q, struct serve__scripts *x)
{
    uint64_t errors = q->reply->errors;
    struct serve__script_row *r = &x->row;
    r->stopped = false;
    r->begin = r->since = serve__measure_begin(q->w);
    int rc = serve__script_run_alone(q, x);
    if (rc == CARET_RESTART)
        return false;
    if (r->stopped)
        return true;
    begin_request(x, q); /* of which run.c has answered the table, or the error */
    if (rc != CARET_OK)
        serve__answer_code(q, rc);
    if (q->reply->errors != errors)
        serve__add(&q->w->stats->command[q->cmd->id].failed, 1);
    end_request(r, q);
    return true;
}

/* The row that begins with the request i; x->row.p stays NULL if there is none. */
static void find_row(struct serve__scripts *x, const struct serve__call *q, const struct serve__pipeline *p,
                     unsigned i)
{
    serve__run *run = q->cmd->run;
    const struct serve__script *s =
        serve__script_known(x, &q->argv[1], run == serve__cmd_evalsha || run == serve__cmd_evalsha_ro);
    if (s == NULL || !runs_alone(s, q))
        return;
    x->wanted = &s->code;
    x->wanted_readonly = run == serve__cmd_eval_ro || run == serve__cmd_evalsha_ro;
    x->only_reads = x->wanted_readonly || (s->code.flags & SERVE__SCRIPT_NO_WRITES);
    x->row = (struct serve__script_row){.p = p, .at = i, .end = end_of_row(p, i)};
}

/* The command i, if it is one that runs a script, and so does the next. */
static const struct serve__command *evals(const struct serve__pipeline *p, unsigned i)
{
    const struct serve__command *cmd = i >= p->alone && i + 1 < p->n ? serve__command_ahead(p, i) : NULL;
    if (cmd == NULL || serve__command_ahead(p, i + 1) != cmd || p->argc[i] < 3)
        return NULL;
    serve__run *run = cmd->run;
    return run == serve__cmd_eval || run == serve__cmd_evalsha || run == serve__cmd_eval_ro ||
                   run == serve__cmd_evalsha_ro
               ? cmd
               : NULL;
}

unsigned serve__script_row(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                           unsigned i)
{
    const struct serve__command *cmd = evals(p, i);
    if (cmd == NULL || (c->flags & SERVE__CONN_DEBUG) || w->config.n[SERVE__CFG_maxmemory] != 0)
        return 0;
    struct serve__call q = {.w = w,
                            .r = &w->run,
                            .c = c,
                            .s = w->run.s,
                            .reply = &c->reply,
                            .cmd = cmd,
                            .argv = &p->args[p->first[i]],
                            .argc = p->argc[i],
                            .db = c->db,
                            .now = w->now};
    struct serve__scripts *x = serve__scripts_of(&q);
    if (x != NULL)
        find_row(x, &q, p, i);
    if (x == NULL || x->row.p == NULL)
        return 0;
    q.mark = serve__reply_mark(q.reply);
    c->last = cmd;
    if (!run_row(&q, x))
        p->alone = x->row.at + 1;
    unsigned ran = x->row.at - i;
    x->row = (struct serve__script_row){0};
    serve__add(&w->stats->commands, ran);
    serve__add(&w->stats->command[cmd->id].calls, ran);
    return ran;
}
