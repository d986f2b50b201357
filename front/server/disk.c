/*
 * disk.c - answers that wait for the disk: disk.h.
 */
#include "server/disk.h"

static bool all_saved(const struct serve__worker *w)
{
    uint64_t durable, committed;
    return caret_durable(w->db, &durable, &committed) == CARET_OK && durable >= committed;
}

void serve__disk_mode(struct serve__worker *w)
{
    bool always = w->config.n[SERVE__CFG_appendfsync] == 1; /* the second of its choices */
    if (always != w->always) /* else it stays as it is: it may have been given up (D3) */
        w->saves = always;
    w->always = always;
}

bool serve__disk_waits(struct serve__worker *w, struct serve__conn *c)
{
    if (c->flags & SERVE__CONN_UNSAVED)
        return true;
    if ((c->sent == c->out.len && !w->mail_waits) || all_saved(w))
        return false;
    c->flags |= SERVE__CONN_UNSAVED;
    c->unsaved_next = w->unsaved;
    w->unsaved = c;
    return true;
}

void serve__disk_forget(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__conn **p = &w->unsaved;
    if (!(c->flags & SERVE__CONN_UNSAVED))
        return;
    while (*p != c)
        p = &(*p)->unsaved_next;
    *p = c->unsaved_next;
    c->flags &= ~(unsigned)SERVE__CONN_UNSAVED;
}

/* Put the list in the order in which the connections were served. */
static struct serve__conn *reversed(struct serve__conn *list)
{
    struct serve__conn *to = NULL;
    for (struct serve__conn *c = list, *next; c != NULL; c = next) {
        next = c->unsaved_next;
        c->unsaved_next = to;
        to = c;
    }
    return to;
}

/* D3. */
static void lost(struct serve__worker *w, int rc)
{
    serve__log("answers are dropped: %s", caret_fact());
    for (struct serve__conn *c = w->unsaved; c != NULL; c = c->unsaved_next) {
        c->sent = c->out.len;
        c->flags |= SERVE__CONN_DEAD;
    }
    if (rc == CARET_E_IO || rc == CARET_E_IO_FAILED)
        w->saves = false;
}

static void sync_log(struct serve__worker *w)
{
    int rc = caret_sync(w->db);
    serve__add(&w->stats->syncs, 1);
    if (rc != CARET_OK)
        lost(w, rc);
}

void serve__disk_turn(struct serve__worker *w)
{
    if (w->unsaved == NULL)
        return;
    if (!all_saved(w))
        sync_log(w);
    bool saves = w->saves;
    w->saves = false; /* what is committed from here on is in no output that waits */
    w->unsaved = reversed(w->unsaved);
    while (w->unsaved != NULL) {
        struct serve__conn *c = w->unsaved;
        serve__disk_forget(w, c);
        if (!(c->flags & SERVE__CONN_AWAY)) /* it is sent when its script has ended */
            serve__conn_settle(w, c);
    }
    w->saves = saves;
}

void serve__disk_end(struct serve__worker *w)
{
    serve__disk_turn(w);
    w->saves = false;
}
