/*
 * event.c - events wait for the commit of what made them: event.h.
 */
#include "server/event.h"

#include "server/worker.h"

/* In the runner's buffer: this, and the bytes of the key's name. */
struct waiting {
    const char *event;
    unsigned class, db;
    size_t len;
};

static void add(struct serve__call *q, unsigned class, const char *event, unsigned db, caret_slice name)
{
    struct waiting e = {event, class, db, name.len};
    if (!(q->w->interest & class))
        return;
    serve__buffer_add(&q->r->pending, &e, sizeof e);
    serve__buffer_add(&q->r->pending, name.data, name.len);
}

void serve__changed(struct serve__call *q, unsigned class, const char *event, caret_slice name)
{
    if (class == SERVE__EVENT_EXPIRED)
        q->r->expired++;
    else
        q->r->dirty++;
    add(q, class, event, q->db, name);
}

void serve__ready(struct serve__call *q, caret_slice name)
{
    add(q, SERVE__EVENT_READY, NULL, q->db, name);
}

void serve__flushed(struct serve__call *q, int db)
{
    q->r->dirty++;
    add(q, SERVE__EVENT_FLUSHED, NULL, (unsigned)db, (caret_slice){"", 0});
}

struct serve__event_place serve__events_place(const struct serve__runner *r)
{
    return (struct serve__event_place){r->pending.len, r->dirty, r->expired};
}

void serve__events_forget(struct serve__runner *r, struct serve__event_place place)
{
    r->pending.len = place.len;
    r->dirty = place.dirty;
    r->expired = place.expired;
}

void serve__events_send(struct serve__runner *r)
{
    struct serve__worker *w = r->w;
    if (r->dirty != 0)
        serve__add(&w->stats->dirty, r->dirty);
    if (r->expired != 0)
        serve__add(&w->stats->expired_keys, r->expired);
    r->dirty = r->expired = 0;
    if (r->pending.len == 0)
        return;
    struct serve__buffer events = r->pending; /* whoever is told may run commands */
    r->pending = (struct serve__buffer){0};
    for (size_t at = 0; at < events.len && serve__event_tell != NULL;) {
        struct waiting e;
        memcpy(&e, events.data + at, sizeof e);
        at += sizeof e;
        serve__event_tell(w, e.class, e.event, e.db, (caret_slice){events.data + at, e.len});
        at += e.len;
    }
    serve__buffer_free(&events);
}
