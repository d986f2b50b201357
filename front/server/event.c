/*
 * event.c - events wait for the commit of what made them: event.h.
 */
#include "server/event.h"

#include <limits.h>
#include <time.h>

#include "server/meet/blocked.h"
#include "server/meet/tracking.h"

/* In the runner's buffer: this, and the bytes of the key's name. */
struct waiting {
    const char *event;
    unsigned class, db;
    size_t len;
};

/* false: there is no memory. */
static bool add(struct serve__call *q, struct waiting e, const caret_slice *parts, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        e.len += parts[i].len;
    if (!serve__buffer_room(&q->r->pending, sizeof e + e.len))
        return false;
    serve__buffer_add(&q->r->pending, &e, sizeof e);
    for (unsigned i = 0; i < n; i++)
        serve__buffer_add(&q->r->pending, parts[i].data, parts[i].len);
    return true;
}

bool serve__event_add(struct serve__call *q, unsigned class, const char *event, const caret_slice *parts,
                      unsigned n)
{
    return (q->w->interest & class) && add(q, (struct waiting){event, class, q->db, 0}, parts, n);
}

void serve__changed(struct serve__call *q, unsigned class, const char *event, caret_slice name)
{
    if (class == SERVE__EVENT_EXPIRED)
        q->r->expired++;
    else
        q->r->dirty++;
    if (q->w->interest & class)
        add(q, (struct waiting){event, class, q->db, 0}, &name, 1);
}

void serve__ready(struct serve__call *q, caret_slice name)
{
    bool anybody = serve__anybody_blocked(q->w);
    q->r->meets |= anybody ? SERVE__MEETS_READY : SERVE__MEETS_MISSED;
    if (anybody)
        add(q, (struct waiting){NULL, SERVE__EVENT_READY, q->db, 0}, &name, 1);
}

bool serve__event_at(const struct serve__runner *r, size_t *at, struct serve__event *e)
{
    struct waiting w;
    if (*at >= r->pending.len)
        return false;
    memcpy(&w, r->pending.data + *at, sizeof w);
    *e = (struct serve__event){w.class, w.db, {r->pending.data + *at + sizeof w, w.len}};
    *at += sizeof w + w.len;
    return true;
}

void serve__flushed(struct serve__call *q, int db)
{
    q->r->dirty++;
    q->r->meets |= SERVE__MEETS_READY;
    add(q, (struct waiting){NULL, SERVE__EVENT_FLUSHED, (unsigned)db, 0}, NULL, 0);
}

struct serve__event_place serve__events_place(const struct serve__runner *r)
{
    return (struct serve__event_place){r->pending.len, r->dirty, r->expired};
}

size_t serve__events_missed(struct serve__runner *r, size_t from)
{
    size_t kept = from;
    for (size_t at = from; at < r->pending.len;) {
        struct waiting w;
        memcpy(&w, r->pending.data + at, sizeof w);
        size_t len = sizeof w + w.len;
        if (w.class == SERVE__EVENT_MISS) {
            memmove(r->pending.data + kept, r->pending.data + at, len);
            kept += len;
        }
        at += len;
    }
    return kept;
}

void serve__events_forget(struct serve__runner *r, struct serve__event_place place)
{
    r->pending.len = place.len;
    r->dirty = place.dirty;
    r->expired = place.expired;
}

static serve__tell_fn *const tellers[SERVE__TELLS] = {serve__monitored_tell, serve__publish_tell,
                                                      serve__notify_tell, serve__blocked_tell,
                                                      serve__tracking_tell};

void serve__interest(struct serve__worker *w, enum serve__listener_of who, unsigned classes)
{
    w->wanted[who] = classes;
    w->interest = 0;
    for (int i = 0; i < SERVE__TELLS; i++)
        w->interest |= w->wanted[i];
}

/* FLUSHALL is a save where there are any, as in Redis: no change is left but those that came after it. */
static void saved(struct serve__shared *s, uint64_t after)
{
    s->saved_dirty = SERVE__SUM(s, dirty) - after;
    s->saved = (uint64_t)time(NULL);
    s->saves++;
}

static void tell(struct serve__worker *w, const struct waiting *e, caret_slice name, uint64_t dirty)
{
    if (e->class == SERVE__EVENT_FLUSHED && e->db == UINT_MAX && *w->config.text[SERVE__CFG_save] != 0)
        saved(w->shared, dirty);
    for (int i = 0; i < SERVE__TELLS; i++)
        if ((w->wanted[i] & e->class) && tellers[i] != NULL)
            tellers[i](w, e->class, e->event, e->db, name);
}

void serve__events_send(struct serve__runner *r)
{
    struct serve__worker *w = r->w;
    if (r->dirty == 0 && r->expired == 0 && r->pending.len == 0)
        return;
    atomic_thread_fence(memory_order_seq_cst); /* the commit is seen before we look */
    if (w->shared->tracked & ~w->tracked)
        serve__tracking_late(w);
    if (r->dirty != 0)
        serve__add(&w->stats->dirty, r->dirty);
    if (r->expired != 0)
        serve__add(&w->stats->expired_keys, r->expired);
    uint64_t dirty = r->dirty;
    r->dirty = r->expired = 0;
    if (r->pending.len == 0)
        return;
    struct serve__buffer events = r->pending; /* whoever is told may run commands */
    r->pending = (struct serve__buffer){0};
    for (size_t at = 0; at < events.len;) {
        struct waiting e;
        memcpy(&e, events.data + at, sizeof e);
        at += sizeof e;
        tell(w, &e, (caret_slice){events.data + at, e.len}, dirty);
        at += e.len;
    }
    serve__buffer_free(&events);
}
