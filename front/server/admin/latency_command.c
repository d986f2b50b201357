/*
 * latency_command.c - LATENCY: histograms of commands, and spikes, of all workers (measure.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/admin/measure.h"
#include "server/worker.h"

static const char *const names[] = {[SERVE__SPIKE_COMMAND] = "command",
                                    [SERVE__SPIKE_FAST] = "fast-command",
                                    [SERVE__SPIKE_EXPIRE] = "expire-cycle"};

static struct serve__spikes *spikes_of(struct serve__call *q, const caret_slice *name)
{
    for (int i = 0; i < SERVE__SPIKE_EVENTS; i++)
        if (name->len == strlen(names[i]) && memcmp(name->data, names[i], name->len) == 0)
            return &q->w->shared->measures->spikes[i];
    return NULL;
}

/* The i-th of a ring, from the oldest on. */
static const struct serve__spike *spike_at(const struct serve__spikes *s, uint32_t i)
{
    return &s->at[(s->next + SERVE__SPIKES - s->n + i) % SERVE__SPIKES];
}

int serve__cmd_latency_latest(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    for (int i = 0; i < SERVE__SPIKE_EVENTS; i++) {
        const struct serve__spikes *s = &q->w->shared->measures->spikes[i];
        if (s->n == 0)
            continue;
        serve__array(q, 4);
        serve__text(q, names[i]);
        serve__integer(q, spike_at(s, s->n - 1)->time);
        serve__integer(q, spike_at(s, s->n - 1)->ms);
        serve__integer(q, s->most);
        n++;
    }
    return serve__close_array(q, place, n);
}

int serve__cmd_latency_history(struct serve__call *q)
{
    const struct serve__spikes *s = spikes_of(q, &q->argv[2]);
    uint32_t n = s != NULL ? s->n : 0;
    serve__array(q, n);
    for (uint32_t i = 0; i < n; i++) {
        serve__array(q, 2);
        serve__integer(q, spike_at(s, i)->time);
        serve__integer(q, spike_at(s, i)->ms);
    }
    return CARET_OK;
}

/* A column for each sample: a bar of at most four lines, below it how long ago. */
int serve__cmd_latency_graph(struct serve__call *q)
{
    const struct serve__spikes *s = spikes_of(q, &q->argv[2]);
    struct serve__buffer *b = &q->r->work;
    int64_t high = 0, low = INT64_MAX;
    if (s == NULL || s->n == 0)
        return serve__fail(q, "ERR No samples available for event '%.*s'", (int)q->argv[2].len,
                           q->argv[2].data);
    for (uint32_t i = 0; i < s->n; i++) {
        high = spike_at(s, i)->ms > high ? spike_at(s, i)->ms : high;
        low = spike_at(s, i)->ms < low ? spike_at(s, i)->ms : low;
    }
    b->len = 0;
    serve__buffer_print(
        b, "%.*s - high %" PRId64 " ms, low %" PRId64 " ms (all time high %" PRId64 " ms)\n%080d\n",
        (int)q->argv[2].len, q->argv[2].data, high, low, s->most, 0);
    memset(b->data + b->len - 81, '-', 80);
    for (int level = 4; level > 0; level--) {
        for (uint32_t i = 0; i < s->n; i++) {
            int64_t height = high > low ? (spike_at(s, i)->ms - low) * 3 / (high - low) + 1 : 1;
            serve__buffer_add(b, height == level ? "_" : height > level ? "|" : " ", 1);
        }
        serve__buffer_add(b, "\n", 1);
    }
    for (uint32_t i = 0; i < s->n; i++)
        serve__buffer_print(b, "%" PRId64, (q->now / 1000 - spike_at(s, i)->time) % 10);
    serve__buffer_add(b, "\n", 1);
    return serve__verbatim(q, "txt", b->data, b->len);
}

int serve__cmd_latency_reset(struct serve__call *q)
{
    int64_t n = 0;
    serve__shared_lock(q->w->shared);
    for (int e = 0; e < SERVE__SPIKE_EVENTS; e++) {
        struct serve__spikes *s = &q->w->shared->measures->spikes[e];
        bool named = q->argc == 2;
        for (int i = 2; i < q->argc; i++)
            named |= spikes_of(q, &q->argv[i]) == s;
        if (!named || s->n == 0)
            continue;
        s->n = s->next = 0;
        s->most = 0;
        n++;
    }
    serve__shared_unlock(q->w->shared);
    return serve__integer(q, n);
}

int serve__cmd_latency_doctor(struct serve__call *q)
{
    struct serve__buffer *b = &q->r->work;
    b->len = 0;
    if (q->w->config.n[SERVE__CFG_latency_monitor_threshold] == 0)
        serve__buffer_print(
            b, "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis "
               "instance. You may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in "
               "order to enable it.\n");
    for (int i = 0; i < SERVE__SPIKE_EVENTS; i++) {
        const struct serve__spikes *s = &q->w->shared->measures->spikes[i];
        if (s->n > 0)
            serve__buffer_print(
                b, "%s%s: %u latency spikes. Worst all time event %" PRId64 "ms.\n",
                b->len == 0 ? "Dave, I have observed latency spikes in this Redis instance.\n\n" : "",
                names[i], s->n, s->most);
    }
    if (b->len == 0)
        serve__buffer_print(
            b, "Dave, no latency spike was observed during the lifetime of this Redis instance, not "
               "in the slightest bit.\n");
    return serve__verbatim(q, "txt", b->data, b->len);
}

/* -------------------------------------------------------------- histogram */

static size_t answer_command(struct serve__call *q, const struct serve__command *c)
{
    static struct caret_codec__latency sum;
    struct caret_codec__latency_step steps[CARET_CODEC__LATENCY_STEPS];
    struct serve__shared *s = q->w->shared;
    if (SERVE__SUM(s, command[c->id].calls) == 0)
        return 0;
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < s->nworkers; i++)
        caret_codec__latency_add(&sum, serve__histogram(s, i, c->id));
    uint64_t calls = caret_codec__latency_total(&sum);
    if (calls == 0)
        return 0;
    unsigned n = caret_codec__latency_steps(&sum, steps);
    serve__text(q, c->full);
    serve__map(q, 2);
    serve__text(q, "calls");
    serve__integer(q, (int64_t)calls);
    serve__text(q, "histogram_usec");
    serve__map(q, n);
    for (unsigned i = 0; i < n; i++) {
        serve__integer(q, (int64_t)steps[i].us);
        serve__integer(q, (int64_t)steps[i].count);
    }
    return 1;
}

/* Of a container: its subcommands. */
static size_t answer_named(struct serve__call *q, const caret_slice *name)
{
    const char *bar = memchr(name->data, '|', name->len);
    size_t len = bar != NULL ? (size_t)(bar - name->data) : name->len, n = 0;
    const struct serve__command *c = serve__command_find(name->data, len);
    if (c != NULL && bar != NULL)
        c = serve__subcommand_find(c, bar + 1, name->len - len - 1);
    if (c == NULL)
        return 0;
    n += answer_command(q, c);
    for (unsigned i = 0; i < c->nsub; i++)
        n += answer_command(q, &c->sub[i]);
    return n;
}

int serve__cmd_latency_histogram(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    for (unsigned i = 0; q->argc == 2 && i < serve__ncommands; i++)
        n += answer_command(q, &serve__commands[i]);
    for (int i = 2; i < q->argc; i++)
        n += answer_named(q, &q->argv[i]);
    return serve__close_map(q, place, n);
}

int serve__cmd_latency_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "DOCTOR",
        "    Return what there is to say about spikes.",
        "GRAPH <event>",
        "    Return a picture of the spikes of an <event>.",
        "HISTORY <event>",
        "    Return the samples of an <event>: times and milliseconds.",
        "LATEST",
        "    Return the latest sample of each event.",
        "RESET [<event> ...]",
        "    Forget the samples of some events.",
        "    (default: of all)",
        "HISTOGRAM [COMMAND ...]",
        "    Return how many calls of commands took no longer than so many microseconds.",
        "    If no commands are named those of all are returned.",
        "HELP",
        "    Prints this help.",
        NULL};
    return serve__help(q, lines);
}
