/*
 * slowlog.c - SLOWLOG: commands that took long, of all workers (measure.h).
 */
#include "server/admin/measure.h"
#include "server/worker.h"

/* How many entries there are. */
static uint64_t length(const struct serve__worker *w)
{
    const struct serve__measures *m = w->shared->measures;
    uint64_t n = m->next_slow - m->first_slow, most = (uint64_t)w->config.n[SERVE__CFG_slowlog_max_len];
    most = most < SERVE__SLOW_ENTRIES ? most : SERVE__SLOW_ENTRIES;
    return n < most ? n : most;
}

void serve__slowlog_trim(struct serve__worker *w)
{
    struct serve__measures *m = w->shared->measures;
    serve__shared_lock(w->shared);
    m->first_slow = m->next_slow - length(w);
    serve__shared_unlock(w->shared);
}

static void answer(struct serve__call *q, const struct serve__slow *e)
{
    serve__array(q, 6);
    serve__integer(q, (int64_t)e->id - 1);
    serve__integer(q, e->time);
    serve__integer(q, e->us);
    serve__array(q, e->argc);
    for (uint32_t i = 0; i < e->argc; i++)
        serve__bulk(q, e->arg[i], e->len[i]);
    serve__text(q, e->addr);
    serve__text(q, e->name);
}

/* From the last on. */
int serve__cmd_slowlog_get(struct serve__call *q)
{
    const struct serve__measures *m = q->w->shared->measures;
    int64_t count = 10;
    uint64_t told = 0;
    if (q->argc > 3)
        return serve__wrong_subcommand(q);
    if (q->argc == 3 && (!serve__read_integer(&q->argv[2], &count) || count < -1))
        return serve__fail(q, "ERR count should be greater than or equal to -1");
    size_t place = serve__open(q);
    serve__shared_lock(q->w->shared);
    uint64_t n = length(q->w);
    n = count >= 0 && (uint64_t)count < n ? (uint64_t)count : n;
    for (uint64_t i = 0; i < n; i++) {
        const struct serve__slow *e = &m->slow[(m->next_slow - 1 - i) % SERVE__SLOW_ENTRIES];
        if (e->id != m->next_slow - i)
            continue;
        answer(q, e);
        told++;
    }
    serve__shared_unlock(q->w->shared);
    return serve__close_array(q, place, told);
}

int serve__cmd_slowlog_len(struct serve__call *q)
{
    return serve__integer(q, (int64_t)length(q->w));
}

int serve__cmd_slowlog_reset(struct serve__call *q)
{
    struct serve__measures *m = q->w->shared->measures;
    serve__shared_lock(q->w->shared);
    m->first_slow = m->next_slow;
    serve__shared_unlock(q->w->shared);
    return serve__ok(q);
}

int serve__cmd_slowlog_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GET [<count>]",
        "    Return the last <count> entries (default: 10, -1 means all). An entry has:",
        "    id, time, microseconds, arguments, address of the client, its name",
        "LEN",
        "    Return how many entries there are.",
        "RESET",
        "    Forget all entries.",
        "HELP",
        "    Print this help.",
        NULL};
    return serve__help(q, lines);
}
