/*
 * together.c - small changes of a pipeline, run as one transaction.
 *
 * A commit costs more than what most commands change.  So commands with the flags `write` and `fast` that came
 * together are run in one transaction, each in a savepoint of it: each is as atomic as it was, and what it
 * answers is sent after the commit.  Those that are the same command about the same key are one change even: row.h.
 *   Commands that count the same key are one operation of the engine, without a transaction; those that ask for
 * ranks of the same sorted set look for all of them at once.
 *   Where a client waits for a key nothing may come between a push and it, so commands are run one by one then.
 * So they are if the transaction fails as a whole, as each alone may not.
 */
#include <string.h>

#include "server/admin/measure.h"
#include "server/data/row.h"
#include "server/dispatch.h"
#include "server/meet/blocked.h"
#include "server/pipeline.h"

bool serve__same_key(const struct serve__pipeline *p, unsigned i)
{
    const caret_slice *a = &p->args[p->first[i]] + 1, *b = &p->args[p->first[i - 1]] + 1;
    return p->argc[i] > 1 && p->argc[i - 1] > 1 && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Small changes that follow one another: the call of all, and what they are. */
struct together {
    struct serve__call q; /* first: it is what the transaction is given */
    const struct serve__pipeline *p;
    unsigned from, n;
    uint64_t errors; /* of the reply, before them */
    const struct serve__command *cmd[SERVE__BATCH];
};

/* The command i, if it is a small change of a key: one that may be run in a transaction with others. */
static const struct serve__command *small_change(const struct serve__pipeline *p, unsigned i)
{
    const unsigned small = SERVE__WRITE | SERVE__FAST, not = SERVE__PLAIN | SERVE__NOSCRIPT | SERVE__BLOCKING;
    const struct serve__command *cmd = serve__command_ahead(p, i);
    if (cmd == NULL || cmd->run == NULL || cmd->first != 1 ||
        ((cmd->flags & (small | not )) != small && cmd->run != serve__cmd_sadd))
        return NULL;
    return (cmd->arity > 0 ? cmd->arity == p->argc[i] : p->argc[i] >= -cmd->arity) ? cmd : NULL;
}

static void call_of(const struct together *t, unsigned i, struct serve__call *one)
{
    *one = t->q;
    one->cmd = t->cmd[i];
    one->argv = &t->p->args[t->p->first[t->from + i]];
    one->argc = t->p->argc[t->from + i];
    one->ahead = &t->p->ahead[t->from + i];
    one->mark = serve__reply_mark(t->q.reply);
}

/* The commands of a row took so long together. */
static void measured(struct together *t, unsigned i, struct serve__row_of *row, uint64_t begin)
{
    uint64_t ns = serve__measure_row(&row->q, begin, row->n);
    struct serve__call one;
    for (unsigned k = 0; k < row->n && serve__measure_is_slow(&row->q, ns); k++) {
        call_of(t, i + k, &one);
        serve__measure_log_slow(&one, ns);
    }
}

/* What runs a row of such commands; NULL: nothing does. */
static serve__run *row_of(const struct serve__command *cmd)
{
    serve__run *run = cmd->run;
    return run == serve__cmd_hset   ? serve__hash_row
           : run == serve__cmd_sadd ? serve__set_row
           : run == serve__cmd_zadd ? serve__zset_row
           : run == serve__cmd_lpush || run == serve__cmd_rpush || run == serve__cmd_lpop ||
                   run == serve__cmd_rpop
               ? serve__list_row
               : NULL;
}

/* So many arguments a command of a row has; 0: any number. */
static int row_argc(const struct serve__command *cmd)
{
    return cmd->run == serve__cmd_zadd                                  ? 4
           : cmd->run == serve__cmd_lpop || cmd->run == serve__cmd_rpop ? 2
                                                                        : 0;
}

/* The commands of a row from i on. */
static void gather(const struct together *t, unsigned i, struct serve__row_of *row)
{
    const struct serve__command *cmd = t->cmd[i];
    int argc = row_argc(cmd);
    for (row->n = 0; i + row->n < t->n && t->cmd[i + row->n] == cmd; row->n++) {
        unsigned at = t->from + i + row->n;
        row->argv[row->n] = &t->p->args[t->p->first[at]];
        row->argc[row->n] = t->p->argc[at];
        if ((row->n > 0 && !serve__same_key(t->p, at)) || (argc != 0 && row->argc[row->n] != argc))
            break;
    }
}

/* Commands from i on that are a row.  *n: how many were run. */
static int run_alike(struct together *t, unsigned i, unsigned *n)
{
    struct serve__row_of row;
    serve__run *run = row_of(t->cmd[i]);
    *n = 0;
    if (run == NULL)
        return CARET_OK;
    gather(t, i, &row);
    if (row.n < 2)
        return CARET_OK;
    call_of(t, i, &row.q);
    uint64_t begin = serve__measure_begin(t->q.w);
    int rc = serve__atomic(&row.q, run);
    *n = rc == CARET_OK ? row.n : 0;
    if (rc == CARET_OK)
        measured(t, i, &row, begin);
    if (rc == CARET_OK || rc > SERVE__FAILED)
        return rc;
    serve__reply_cut(t->q.reply, row.q.mark); /* each answers what is wrong */
    return CARET_OK;
}

static int run_one(struct together *t, unsigned i)
{
    struct serve__call one;
    uint64_t begin = serve__measure_begin(t->q.w);
    call_of(t, i, &one);
    int rc = serve__atomic(&one, one.cmd->run);
    if (rc != CARET_OK && rc != CARET_NONE && rc > SERVE__FAILED)
        return rc;
    if (rc != CARET_OK)
        serve__answer_code(&one, rc);
    serve__measure_end(&one, begin);
    return CARET_OK;
}

/* In the transaction: each in a savepoint.  An error of a command is its answer; one of the engine is of all. */
static int run_all(struct serve__call *q)
{
    struct together *t = (struct together *)q;
    unsigned alike;
    t->q.c->reply.errors = t->errors;
    for (unsigned i = 0; i<t->n; i += alike> 0 ? alike : 1) {
        int rc = run_alike(t, i, &alike);
        if (rc == CARET_OK && alike == 0)
            rc = run_one(t, i);
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static void count_together(struct together *t)
{
    struct serve__worker *w = t->q.w;
    struct serve__conn *c = t->q.c;
    serve__add(&w->stats->commands, t->n);
    for (unsigned i = 0; i < t->n; i++)
        serve__add(&w->stats->command[t->cmd[i]->id].calls, 1);
    c->last = t->cmd[t->n - 1];
    serve__events_send(&w->run);
}

/* What runs a row of such commands by itself, without together's transaction; NULL: nothing does. */
static serve__run *alone_row_of(const struct serve__command *cmd)
{
    serve__run *run = cmd->run;
    return run == serve__cmd_incr || run == serve__cmd_incrby || run == serve__cmd_decr ||
                   run == serve__cmd_decrby
               ? serve__count_row
           : run == serve__cmd_zrank || run == serve__cmd_zrevrank ? serve__zrank_row
                                                                   : NULL;
}

/* The command i, if there is such a row of it, with the arguments that it is to have. */
static const struct serve__command *of_a_row(const struct serve__pipeline *p, unsigned i)
{
    const struct serve__command *cmd = serve__command_ahead(p, i);
    return cmd != NULL && cmd->arity == p->argc[i] && alone_row_of(cmd) != NULL ? cmd : NULL;
}

static void begin_together(struct together *t, struct serve__worker *w, struct serve__conn *c,
                           const struct serve__pipeline *p, unsigned i)
{
    t->p = p;
    t->from = i;
    t->n = 0;
    t->errors = c->reply.errors;
    t->q = (struct serve__call){
        .w = w, .r = &w->run, .c = c, .s = w->run.s, .reply = &c->reply, .db = c->db, .now = w->now};
    t->q.mark = serve__reply_mark(&c->reply);
}

/* Commands from i on that count one key, or ask for ranks in one: how many were run as one. */
static unsigned run_one_key(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                            unsigned i)
{
    const struct serve__command *cmd = i >= p->alone && i + 1 < p->n ? of_a_row(p, i) : NULL;
    if (cmd == NULL || of_a_row(p, i + 1) != cmd || !serve__same_key(p, i + 1))
        return 0;
    struct together t;
    struct serve__row_of row;
    begin_together(&t, w, c, p, i);
    while (i + t.n < p->n && of_a_row(p, i + t.n) == cmd)
        t.cmd[t.n++] = cmd;
    gather(&t, 0, &row);
    t.n = row.n;
    call_of(&t, 0, &row.q);
    uint64_t begin = serve__measure_begin(w);
    if (alone_row_of(cmd)(&row.q) != CARET_OK) {
        p->alone = i + t.n;
        return 0;
    }
    measured(&t, 0, &row, begin);
    count_together(&t);
    return t.n;
}

/* Are there two, at least, that may be run so?  Most often not. */
static bool two_small_changes(const struct serve__pipeline *p, unsigned i)
{
    return i >= p->alone && i + 1 < p->n && small_change(p, i) != NULL && small_change(p, i + 1) != NULL;
}

unsigned serve__together(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                         unsigned i)
{
    unsigned n = w->config.n[SERVE__CFG_maxmemory] == 0 ? run_one_key(w, c, p, i) : 0;
    if (n > 0 || !two_small_changes(p, i) || serve__anybody_blocked(w) ||
        w->config.n[SERVE__CFG_maxmemory] != 0)
        return n;
    struct together t;
    begin_together(&t, w, c, p, i);
    while (i + t.n < p->n && (t.cmd[t.n] = small_change(p, i + t.n)) != NULL)
        t.n++;
    if (serve__atomic(&t.q, run_all) != CARET_OK) {
        serve__reply_cut(&c->reply, t.q.mark);
        c->reply.errors = t.errors;
        p->alone = i + t.n;
        return 0;
    }
    count_together(&t);
    return t.n;
}
