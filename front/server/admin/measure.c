/*
 * measure.c - times, slow commands, spikes and errors: measure.h.
 */
#include "server/admin/measure.h"

#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "server/admin/secret.h"
#include "server/meet/clients.h"
#include "server/worker.h"

static void *map(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

bool serve__measures_make(struct serve__shared *s)
{
    s->measures = map(sizeof *s->measures);
    s->latency = map(sizeof *s->latency * SERVE__COMMANDS_MAX * (size_t)s->nworkers);
    return s->measures != MAP_FAILED && s->latency != MAP_FAILED;
}

struct caret_codec__latency *serve__histogram(struct serve__shared *s, int worker, unsigned id)
{
    return &s->latency[(size_t)worker * SERVE__COMMANDS_MAX + id];
}

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t serve__measure_begin(struct serve__worker *w)
{
    return w->stamp != 0 ? w->stamp : clock_ns();
}

/* --------------------------------------------------------------- slow log */

static void slow_argument(struct serve__call *q, struct serve__slow *e, uint32_t i)
{
    caret_slice a = serve__argument_told(q, (int)i);
    size_t most = sizeof e->arg[0];
    bool last = i == SERVE__SLOW_ARGS - 1 && q->argc > SERVE__SLOW_ARGS;
    if (last) {
        e->len[i] =
            (uint32_t)snprintf(e->arg[i], most, "... (%d more arguments)", q->argc - SERVE__SLOW_ARGS + 1);
        return;
    }
    size_t len = a.len < SERVE__SLOW_BYTES ? a.len : SERVE__SLOW_BYTES;
    memcpy(e->arg[i], a.data, len);
    e->len[i] = (uint32_t)len;
    if (a.len > len)
        e->len[i] += (uint32_t)snprintf(e->arg[i] + len, most - len, "... (%zu more bytes)", a.len - len);
}

bool serve__measure_is_slow(const struct serve__call *q, uint64_t ns)
{
    const int64_t *n = q->w->config.n;
    int64_t slow = n[SERVE__CFG_slowlog_log_slower_than];
    return slow >= 0 && ns / 1000 >= (uint64_t)slow && n[SERVE__CFG_slowlog_max_len] > 0 &&
           !(q->cmd->flags & SERVE__SKIP_SLOWLOG);
}

void serve__measure_slow(struct serve__call *q, uint64_t ns, struct serve__slow *e)
{
    e->time = q->now / 1000;
    e->us = (int64_t)(ns / 1000);
    e->argc = q->argc < SERVE__SLOW_ARGS ? (uint32_t)q->argc : SERVE__SLOW_ARGS;
    for (uint32_t i = 0; i < e->argc; i++)
        slow_argument(q, e, i);
}

void serve__measure_add_slow(struct serve__shared *s, const struct serve__slow *e)
{
    struct serve__measures *m = s->measures;
    serve__shared_lock(s);
    uint64_t id = m->next_slow;
    struct serve__slow *to = &m->slow[id % SERVE__SLOW_ENTRIES];
    to->id = 0;
    *to = *e;
    to->id = id + 1;
    m->next_slow = id + 1;
    serve__shared_unlock(s);
}

void serve__measure_log_slow(struct serve__call *q, uint64_t ns)
{
    struct serve__slow e;
    serve__measure_slow(q, ns, &e);
    e.id = 0;
    serve__client_address(q->w, q->c, e.addr, sizeof e.addr);
    snprintf(e.name, sizeof e.name, "%s", q->c != NULL && q->c->name != NULL ? q->c->name : "");
    serve__measure_add_slow(q->w->shared, &e);
}

/* ----------------------------------------------------------------- spikes */

static void add_spike(struct serve__worker *w, enum serve__spike_event event, int64_t ms)
{
    struct serve__spikes *s = &w->shared->measures->spikes[event];
    int64_t now = w->now / 1000;
    serve__shared_lock(w->shared);
    struct serve__spike *last = &s->at[(s->next + SERVE__SPIKES - 1) % SERVE__SPIKES];
    if (ms > s->most)
        s->most = ms;
    if (s->n > 0 && last->time == now) {
        last->ms = ms > last->ms ? ms : last->ms;
    } else {
        s->at[s->next] = (struct serve__spike){now, ms};
        s->next = (s->next + 1) % SERVE__SPIKES;
        s->n += s->n < SERVE__SPIKES;
    }
    serve__shared_unlock(w->shared);
}

void serve__measure_spike(struct serve__worker *w, enum serve__spike_event event, uint64_t begin)
{
    int64_t ms = (int64_t)((clock_ns() - begin) / 1000000),
            spike = w->config.n[SERVE__CFG_latency_monitor_threshold];
    if (spike > 0 && ms >= spike)
        add_spike(w, event, ms);
}

uint64_t serve__measure_clock(void)
{
    return clock_ns();
}

/* --------------------------------------------------------------- commands */

uint64_t serve__measure_row(struct serve__call *q, uint64_t begin, unsigned n)
{
    struct serve__worker *w = q->w;
    uint64_t end = clock_ns(), ns = (end - begin) / n;
    int64_t spike = w->config.n[SERVE__CFG_latency_monitor_threshold];
    w->stamp = end;
    serve__add(&w->stats->command[q->cmd->id].nanoseconds, ns * n);
    if (w->config.n[SERVE__CFG_latency_tracking])
        caret_codec__latency_count_many(serve__histogram(w->shared, w->index, q->cmd->id), ns, n);
    if (spike > 0 && ns / 1000000 >= (uint64_t)spike)
        add_spike(w, q->cmd->flags & SERVE__FAST ? SERVE__SPIKE_FAST : SERVE__SPIKE_COMMAND,
                  (int64_t)(ns / 1000000));
    return ns;
}

void serve__measure_end(struct serve__call *q, uint64_t begin)
{
    uint64_t ns = serve__measure_row(q, begin, 1);
    if (serve__measure_is_slow(q, ns) && !(q->c != NULL && (q->c->flags & SERVE__CONN_BLOCKED)))
        serve__measure_log_slow(q, ns);
}

/* ----------------------------------------------------------------- errors */

static int find_error(const struct serve__measures *m, const char *name)
{
    for (int i = 0; i < (int)m->nerrors; i++)
        if (strcmp(m->error[i].name, name) == 0)
            return i;
    return -1;
}

enum { WORD = sizeof((struct serve__measures *)0)->error[0].name };

static void first_word(const char *text, char word[WORD])
{
    size_t len = strcspn(text, " ");
    memset(word, 0, WORD);
    memcpy(word, text, len < WORD ? len : WORD - 1);
}

static void count_error(struct serve__worker *w, const char word[WORD])
{
    struct serve__measures *m = w->shared->measures;
    int i = find_error(m, word);
    serve__add(&w->stats->errors, 1);
    if (i < 0) {
        serve__shared_lock(w->shared);
        i = find_error(m, word);
        if (i < 0 && m->nerrors < SERVE__ERRORS) {
            i = (int)m->nerrors;
            memcpy(m->error[i].name, word, WORD);
            m->error[i].count = 0;
            m->nerrors++;
        }
        serve__shared_unlock(w->shared);
    }
    if (i >= 0)
        m->error[i].count++;
}

void serve__measure_error_now(struct serve__worker *w, const char *text)
{
    char word[WORD];
    first_word(text, word);
    count_error(w, word);
}

void serve__measure_error(struct serve__call *q, const char *text)
{
    char word[WORD];
    first_word(text, word);
    if (caret_txn_level(q->s) > 0 && serve__buffer_room(&q->r->errors, WORD))
        serve__buffer_add(&q->r->errors, word, WORD);
    else
        count_error(q->w, word);
}

void serve__measure_errors(struct serve__runner *r)
{
    for (size_t at = 0; at < r->errors.len; at += WORD)
        count_error(r->w, r->errors.data + at);
    r->errors.len = 0;
    r->errors.failed = false;
}

void serve__measures_reset(struct serve__shared *s)
{
    s->measures->nerrors = 0;
    for (int w = 0; w < s->nworkers; w++)
        for (unsigned id = 0; id < serve__ncommands; id++)
            if (s->stats[w].command[id].calls > 0)
                memset(serve__histogram(s, w, id), 0, sizeof(struct caret_codec__latency));
}
