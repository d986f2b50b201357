/*
 * client_pause.c - CLIENT PAUSE and UNPAUSE: for all workers, by a time in shared memory.
 *
 * A command that has to wait is not run: its connection waits as one that is blocked, and parses the command
 * again when the pause is over.  Commands within EXEC and scripts are not stopped; EXEC and scripts as a whole
 * are.
 */
#include "server/dispatch.h"
#include "server/meet/clients.h"
#include "server/multi.h"
#include "server/worker.h"

static bool writes(const struct serve__call *q)
{
    unsigned flags = SERVE__WRITE | SERVE__MAY_REPLICATE;
    const struct serve__queue *u = q->c->queue;
    if (q->cmd->flags & flags)
        return true;
    for (size_t i = 0; q->cmd->run == serve__cmd_exec && u != NULL && i < u->n; i++)
        if (u->command[i].cmd->flags & flags)
            return true;
    return false;
}

bool serve__pause_takes(struct serve__call *q)
{
    enum serve__pause pause = serve__paused(q->w);
    if (pause == SERVE__PAUSE_NONE || (pause == SERVE__PAUSE_WRITE && !writes(q)) ||
        (q->c->flags & SERVE__CONN_IN_EXEC))
        return false;
    q->c->flags |= SERVE__CONN_PAUSED | SERVE__CONN_BLOCKED;
    serve__add(&q->w->stats->paused, 1);
    serve__pause_look(q->w);
    return true;
}

int serve__cmd_client_pause(struct serve__call *q)
{
    struct serve__shared *s = q->w->shared;
    int64_t ms;
    bool all = true;
    if (q->argc > 4)
        return SERVE__E_ARITY;
    if (q->argc == 4) {
        all = serve__is(&q->argv[3], "all");
        if (!all && !serve__is(&q->argv[3], "write"))
            return serve__fail(q, "ERR CLIENT PAUSE mode must be WRITE or ALL");
    }
    if (!serve__read_integer(&q->argv[2], &ms))
        return serve__fail(q, "ERR timeout is not an integer or out of range");
    if (ms < 0)
        return serve__fail(q, "ERR timeout is negative");
    if (__builtin_add_overflow(ms, q->now, &ms))
        return serve__fail(q, "ERR timeout is out of range");
    bool before = serve__paused(q->w) != SERVE__PAUSE_NONE;
    s->pause_all = all || (before && s->pause_all);
    if (!before || (uint64_t)ms > s->pause_until)
        s->pause_until = (uint64_t)ms;
    return serve__ok(q);
}

int serve__cmd_client_unpause(struct serve__call *q)
{
    serve__pause_end(q->w);
    return serve__ok(q);
}
