/*
 * tracking.c - which client is told what, and when: tracking.h.
 */
#include "server/meet/tracking.h"

#include <inttypes.h>
#include <stdlib.h>

#include "server/meet/clients.h"
#include "server/meet/mail.h"
#include "server/meet/pubsub.h"

/* ---------------------------------------------------------------- letters */

enum what { KEY, ALL, MESSAGE };

/* Before the name of a key, or the elements of a message. */
struct note {
    uint32_t what, n;
    uint64_t id; /* of the client that gets a message */
};

static void write_note(struct serve__worker *w, int to, struct note note, caret_slice bytes)
{
    caret_slice parts[] = {{(const char *)&note, sizeof note}, bytes};
    serve__mail_write(w, to, SERVE__LETTER_track, parts, 2, false);
}

static void write_to(struct serve__worker *w, uint64_t workers, struct note note, caret_slice bytes)
{
    for (int i = 0; i < w->shared->nworkers; i++)
        if (i != w->index && (workers >> i & 1))
            write_note(w, i, note, bytes);
}

/* --------------------------------------------------------------- messages */

void serve__track_text(struct serve__buffer *b, caret_slice key)
{
    serve__buffer_print(b, "$%zu\r\n", key.len);
    serve__buffer_add(b, key.data, key.len);
    serve__buffer_add(b, "\r\n", 2);
}

/* A client of RESP2 hears of it only as a subscriber that was redirected to. */
static void deliver(struct serve__worker *w, struct serve__conn *c, bool redirected, unsigned n,
                    caret_slice text)
{
    static const char push[] = ">2\r\n$10\r\ninvalidate\r\n",
                      message[] = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n";
    struct serve__buffer b = {0};
    if (c->reply.protocol > 2)
        serve__buffer_add(&b, push, sizeof push - 1);
    else if (redirected && (c->flags & SERVE__CONN_PUBSUB))
        serve__buffer_add(&b, message, sizeof message - 1);
    else
        return;
    if (n > 0)
        serve__buffer_print(&b, "*%u\r\n", n);
    else
        serve__buffer_print(&b, c->reply.protocol > 2 ? "_\r\n" : "$-1\r\n");
    serve__buffer_add(&b, text.data, text.len);
    if (b.failed) { /* a message that is lost must not be */
        c->flags |= SERVE__CONN_DEAD;
        serve__conn_wake(w, c);
    } else {
        serve__conn_add(w, c, b.data, b.len);
    }
    serve__buffer_free(&b);
}

bool serve__track_reaches(const struct serve__tracking *t)
{
    return t->row != NULL && t->row->owner != 0 && t->row->client.id == t->redirect &&
           t->row->dying != t->redirect;
}

static void tell_broken(struct serve__worker *w, struct serve__tracking *t)
{
    struct serve__buffer b = {0};
    t->c->flags |= SERVE__CONN_BROKEN;
    if (t->c->reply.protocol < 3)
        return;
    serve__buffer_print(&b, ">2\r\n$21\r\ntracking-redir-broken\r\n:%" PRIu64 "\r\n", t->redirect);
    serve__conn_add(w, t->c, b.data, b.len);
    serve__buffer_free(&b);
}

void serve__track_send(struct serve__worker *w, struct serve__tracking *t, unsigned n, caret_slice text)
{
    if (t->redirect == 0) {
        deliver(w, t->c, false, n, text);
        return;
    }
    int at = serve__track_reaches(t) ? (int)t->row->owner - 1 : -1;
    struct serve__conn *c = at == w->index ? serve__conn_find(w, t->redirect) : NULL;
    if (c != NULL)
        deliver(w, c, true, n, text);
    else if (at < 0 || at == w->index)
        tell_broken(w, t);
    else
        write_note(w, at, (struct note){MESSAGE, n, t->redirect}, text);
}

/* All may have changed.  What is collected for prefixes goes before it: these keys changed earlier. */
static void forget_all(struct serve__worker *w)
{
    serve__prefixes_send(w);
    for (uint32_t i = 0; i < serve__trackers(); i++) {
        struct serve__tracking *t = serve__tracker(i);
        if (t != NULL && (t->c->flags & SERVE__CONN_TRACKING))
            serve__track_send(w, t, 0, (caret_slice){NULL, 0});
    }
    serve__track_clear(w);
}

static void changed(struct serve__worker *w, caret_slice key, const struct serve__conn *writer)
{
    serve__track_changed(w, key, writer);
    serve__prefixes_changed(w, key, writer);
}

void serve__letter_track(struct serve__worker *w, int from, const char *data, size_t len)
{
    struct note note;
    (void)from;
    memcpy(&note, data, sizeof note);
    caret_slice bytes = {data + sizeof note, len - sizeof note};
    if (note.what == KEY)
        changed(w, bytes, NULL);
    else if (note.what == ALL)
        forget_all(w);
    else {
        struct serve__conn *c = serve__conn_find(w, note.id);
        if (c != NULL)
            deliver(w, c, true, note.n, bytes);
    }
}

/* ----------------------------------------------------------------- events */

static const unsigned classes = SERVE__EVENT_GENERIC | SERVE__EVENT_STRING | SERVE__EVENT_LIST |
                                SERVE__EVENT_SET | SERVE__EVENT_HASH | SERVE__EVENT_ZSET |
                                SERVE__EVENT_EXPIRED | SERVE__EVENT_EVICTED | SERVE__EVENT_STREAM |
                                SERVE__EVENT_MODULE | SERVE__EVENT_FLUSHED | SERVE__EVENT_READ;

void serve__tracking_refresh(struct serve__worker *w)
{
    uint64_t tracked = atomic_load(&w->shared->tracked), restarts = atomic_load(&w->shared->restarts);
    if (tracked != w->tracked)
        serve__interest(w, SERVE__TELL_TRACKING, tracked != 0 ? classes : 0);
    w->tracked = tracked;
    if (restarts != w->restarts && serve__tracking_listens(w))
        forget_all(w);
    w->restarts = restarts;
}

void serve__tracking_listen(struct serve__worker *w)
{
    uint64_t bit = UINT64_C(1) << w->index;
    if (w->stats->trackers > 0 || w->stats->tracked_keys > 0)
        atomic_fetch_or(&w->shared->tracked, bit);
    else
        atomic_fetch_and(&w->shared->tracked, ~bit);
    serve__tracking_refresh(w);
}

void serve__tracking_tell(struct serve__worker *w, unsigned class, const char *event, unsigned db,
                          caret_slice name)
{
    (void)event, (void)db;
    if (class == SERVE__EVENT_READ) {
        if (w->serving != NULL && w->serving->tracking != NULL)
            serve__track_add(w, w->serving->tracking, name);
        return;
    }
    bool all = class == SERVE__EVENT_FLUSHED;
    write_to(w, w->tracked, (struct note){all ? ALL : KEY, 0, 0}, name);
    if (!serve__tracking_listens(w))
        return;
    if (all)
        forget_all(w);
    else
        changed(w, name, w->serving);
}

void serve__tracking_late(struct serve__worker *w)
{
    uint64_t known = w->tracked;
    serve__tracking_refresh(w);
    write_to(w, w->tracked & ~known, (struct note){ALL, 0, 0}, (caret_slice){NULL, 0});
}

/* ------------------------------------------------------------------ reads */

/* Out of a transaction the read is over: nothing that it was before waits to be told.  If there is no memory for it
 * to wait, the client may be told of its own change before. */
static void read_key(void *arg, int index, unsigned flags)
{
    struct serve__call *q = arg;
    caret_slice key = q->argv[index];
    if (flags & SERVE__KEY_NOT_KEY)
        return;
    bool waits = caret_txn_level(q->s) > 0 || q->r->pending.len > 0;
    if (!waits || !serve__event_add(q, SERVE__EVENT_READ, NULL, &key, 1))
        serve__track_add(q->w, q->c->tracking, key);
}

void serve__tracking_read(struct serve__call *q)
{
    const struct serve__tracking *t = q->c->tracking;
    bool caching = t->how & SERVE__TRACK_CACHING;
    if (!(q->c->flags & SERVE__CONN_TRACKING) || (q->c->flags & SERVE__CONN_BCAST) ||
        ((t->how & SERVE__TRACK_OPTIN) && !caching) || ((t->how & SERVE__TRACK_OPTOUT) && caching))
        return;
    serve__command_keys(q->cmd, q->argv, q->argc, read_key, q);
}

void serve__tracking_after(struct serve__conn *c, const struct serve__command *cmd)
{
    if (!(c->flags & SERVE__CONN_MULTI) && (cmd == NULL || strncmp(cmd->full, "client|", 7) != 0))
        c->tracking->how &= ~(unsigned)SERVE__TRACK_CACHING;
}

void serve__tracking_turn(struct serve__worker *w)
{
    serve__prefixes_send(w);
    serve__track_limit(w);
    if (w->stats->trackers == 0 && w->stats->tracked_keys == 0)
        serve__tracking_listen(w);
}
