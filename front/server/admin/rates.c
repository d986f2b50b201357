/*
 * rates.c - rates.h.
 */
#include "server/admin/rates.h"

enum { PERIOD = 100 }; /* milliseconds */

void serve__rates_turn(struct serve__worker *w)
{
    struct serve__shared *s = w->shared;
    uint64_t last = atomic_load_explicit(&s->rated, memory_order_relaxed), now = (uint64_t)w->now;
    if (now - last < PERIOD || !atomic_compare_exchange_strong(&s->rated, &last, now))
        return;
    struct serve__rate *r = &s->rate[now / PERIOD % SERVE__RATES];
    r->at = 0;
    r->commands = SERVE__SUM(s, commands);
    r->in = SERVE__SUM(s, bytes_in);
    r->out = SERVE__SUM(s, bytes_out);
    r->at = now;
}

/* The oldest note that is not too old; NULL: there is none. */
static const struct serve__rate *oldest(const struct serve__shared *s, uint64_t now)
{
    const struct serve__rate *found = NULL;
    for (int i = 0; i < SERVE__RATES; i++) {
        const struct serve__rate *r = &s->rate[i];
        uint64_t at = r->at;
        if (at != 0 && at < now && now - at <= SERVE__RATES * PERIOD && (found == NULL || at < found->at))
            found = r;
    }
    return found;
}

/* CONFIG RESETSTAT may have been in between. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
    return now > before ? (double)(now - before) / seconds : 0;
}

struct serve__rates serve__rates_now(struct serve__shared *s, int64_t now)
{
    const struct serve__rate *r = oldest(s, (uint64_t)now);
    if (r == NULL)
        return (struct serve__rates){0};
    double seconds = (double)(now - (int64_t)r->at) / 1000;
    return (struct serve__rates){rate(SERVE__SUM(s, commands), r->commands, seconds),
                                 rate(SERVE__SUM(s, bytes_in), r->in, seconds),
                                 rate(SERVE__SUM(s, bytes_out), r->out, seconds)};
}
