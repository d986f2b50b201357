/*
 * client_pause.c - CLIENT PAUSE and UNPAUSE: for all workers, by a time in shared memory.
 *
 * A command that has to wait is not run: its connection waits as one that is blocked, and parses the command
 * again when the pause is over.  Commands within EXEC and scripts are not stopped; EXEC and scripts as a whole
 * are: scripts, by WRITE too, unless they have the flag no-writes.
 */
#include "server/dispatch.h"
#include "server/meet/clients.h"
#include "server/multi.h"
#include "server/worker.h"

static bool is_script(const struct serve__command *cmd)
{
    return cmd->run == serve__cmd_eval || cmd->run == serve__cmd_evalsha || cmd->run == serve__cmd_fcall;
}

static bool may_write(struct serve__call *q)
{
    if (is_script(q->cmd) && serve__script_no_writes != NULL && serve__script_no_writes(q))
        return false;
    return q->cmd->flags & (SERVE__WRITE | SERVE__MAY_REPLICATE);
}

static bool writes(struct serve__call *q)
{
    return q->cmd->run == serve__cmd_exec ? serve__multi_any(q, may_write) : may_write(q);
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
        return serve__wrong_subcommand(q);
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
