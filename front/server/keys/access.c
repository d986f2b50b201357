/*
 * access.c - when keys were used, and how often: access.h.
 */
#include "server/keys/access.h"

void serve__access_choose(struct serve__worker *w)
{
    const char *policy = w->config.text[SERVE__CFG_maxmemory_policy];
    bool used = strstr(policy, "lru") != NULL || strstr(policy, "lfu") != NULL;
    w->access = used ? w->shared->access : NULL;
}

bool serve__access_counts(const struct serve__worker *w)
{
    return strstr(w->config.text[SERVE__CFG_maxmemory_policy], "lfu") != NULL;
}

static _Atomic uint32_t *entry(const struct serve__call *q, caret_slice name)
{
    uint64_t h = 0xcbf29ce484222325u + q->db;
    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.data[i]) * 0x100000001b3u;
    return &q->w->access[(h ^ h >> 32) % SERVE__ACCESSES];
}

/* The count of an entry as it is now. */
static unsigned freq_of(const struct serve__call *q, uint32_t value)
{
    uint32_t now = (uint32_t)(q->now / 60000) & 0xffffff, then = value >> 8, count = value & 255;
    int64_t decay = q->w->config.n[SERVE__CFG_lfu_decay_time];
    uint32_t fall = decay > 0 ? (uint32_t)(((now - then) & 0xffffff) / decay) : 0;
    if (value == 0)
        return SERVE__FREQ_NEW;
    return fall < count ? count - fall : 0;
}

static uint32_t with_freq(const struct serve__call *q, unsigned count)
{
    return ((uint32_t)(q->now / 60000) & 0xffffff) << 8 | count;
}

/* Does a count of this height grow by a use? */
static bool grows(struct serve__call *q, unsigned count)
{
    double above = count > SERVE__FREQ_NEW ? count - SERVE__FREQ_NEW : 0;
    double one_in = above * (double)q->w->config.n[SERVE__CFG_lfu_log_factor] + 1;
    return count < SERVE__FREQ_MOST && (double)(serve__random(q->r) >> 11) * 0x1p-53 * one_in < 1;
}

void serve__access_note(struct serve__call *q, caret_slice name)
{
    _Atomic uint32_t *e = entry(q, name);
    uint32_t value = atomic_load_explicit(e, memory_order_relaxed), now = (uint32_t)(q->now / 1000);
    if (serve__access_counts(q->w)) {
        unsigned count = freq_of(q, value);
        now = with_freq(q, count + grows(q, count));
    }
    if (value != now)
        atomic_store_explicit(e, now, memory_order_relaxed);
}

uint32_t serve__access_idle(struct serve__call *q, caret_slice name)
{
    if (q->w->access == NULL || serve__access_counts(q->w))
        return 0;
    uint32_t then = atomic_load_explicit(entry(q, name), memory_order_relaxed);
    uint32_t now = (uint32_t)(q->now / 1000), from = then != 0 ? then : (uint32_t)q->w->shared->started;
    return now > from ? now - from : 0;
}

unsigned serve__access_freq(struct serve__call *q, caret_slice name)
{
    if (q->w->access == NULL)
        return 0;
    return freq_of(q, atomic_load_explicit(entry(q, name), memory_order_relaxed));
}

void serve__access_set_idle(struct serve__call *q, caret_slice name, int64_t seconds)
{
    int64_t then = q->now / 1000 - seconds;
    if (q->w->access != NULL && !serve__access_counts(q->w))
        atomic_store_explicit(entry(q, name), then > 1 ? (uint32_t)then : 1, memory_order_relaxed);
}

void serve__access_set_freq(struct serve__call *q, caret_slice name, int64_t freq)
{
    if (q->w->access != NULL && serve__access_counts(q->w))
        atomic_store_explicit(entry(q, name), with_freq(q, (unsigned)freq), memory_order_relaxed);
}
