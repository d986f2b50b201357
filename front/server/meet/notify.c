/*
 * notify.c - keyspace notifications: notify.h.
 */
#include "server/meet/notify.h"

#include <stdio.h>

#include "server/config_text.h"
#include "server/meet/pubsub.h"
#include "server/worker.h"

static struct serve__buffer channel;

void serve__notify_configure(struct serve__worker *w)
{
    unsigned how = SERVE__NOTIFY_KEYSPACE | SERVE__NOTIFY_KEYEVENT;
    unsigned classes = (unsigned)w->config.n[SERVE__CFG_notify_keyspace_events];
    serve__interest(w, SERVE__TELL_NOTIFY, classes & how ? classes & ~how : 0);
}

static void publish(struct serve__worker *w, const char *kind, unsigned db, caret_slice name,
                    caret_slice message)
{
    channel.len = 0;
    serve__buffer_print(&channel, "__%s@%u__:", kind, db);
    serve__buffer_add(&channel, name.data, name.len);
    if (!channel.failed)
        serve__publish(w, SERVE__CHANNEL, (caret_slice){channel.data, channel.len}, message);
    else
        serve__buffer_free(&channel);
}

void serve__notify_tell(struct serve__worker *w, unsigned class, const char *event, unsigned db,
                        caret_slice name)
{
    unsigned how = (unsigned)w->config.n[SERVE__CFG_notify_keyspace_events];
    caret_slice word = {event, strlen(event)};
    (void)class;
    if (how & SERVE__NOTIFY_KEYSPACE)
        publish(w, "keyspace", db, name, word);
    if (how & SERVE__NOTIFY_KEYEVENT)
        publish(w, "keyevent", db, word, name);
}
