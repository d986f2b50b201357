/*
 * event.h - what commands changed, told after their commit.
 *
 * A command that changes a key says so: serve__changed().  The events of a command, of an EXEC or of a script
 * wait in the runner until their transaction is committed; a restart forgets them.  Then they are counted
 * (rdb_changes_...) and handed to whoever wants to know: keyspace notifications, clients that are blocked on
 * a key, tracking.
 *   An event costs an addition while nobody is interested in its class (worker.h: `interest`).
 */
#ifndef CARET_SERVER_EVENT_H
#define CARET_SERVER_EVENT_H

#include "server/call.h"

/* Classes; those with a letter are what notify-keyspace-events names. */
enum {
    SERVE__EVENT_GENERIC = 1 << 0,  /* g */
    SERVE__EVENT_STRING = 1 << 1,   /* $ */
    SERVE__EVENT_LIST = 1 << 2,     /* l */
    SERVE__EVENT_SET = 1 << 3,      /* s */
    SERVE__EVENT_HASH = 1 << 4,     /* h */
    SERVE__EVENT_ZSET = 1 << 5,     /* z */
    SERVE__EVENT_EXPIRED = 1 << 6,  /* x */
    SERVE__EVENT_EVICTED = 1 << 7,  /* e */
    SERVE__EVENT_STREAM = 1 << 8,   /* t */
    SERVE__EVENT_MISS = 1 << 9,     /* m */
    SERVE__EVENT_NEW = 1 << 10,     /* n */
    SERVE__EVENT_MODULE = 1 << 11,  /* d */
    SERVE__EVENT_MONITOR = 1 << 23, /* ours: a line of MONITOR, in place of a name */
    SERVE__EVENT_PUBLISH = 1 << 22, /* ours: a message, in place of a name */
    SERVE__EVENT_FLUSHED = 1 << 21, /* ours: of serve__flushed(), the name is empty */
    SERVE__EVENT_READY = 1 << 20,   /* ours: a key has got elements that a blocked client may wait for */
    SERVE__EVENT_READ = 1 << 19     /* ours: the client that is served, which tracks, has read a key */
};

/* The command changed the key `name` of the database q->db: event "lpush" of a class.  One change of the
 * count of changes; q->r->dirty may be added to for more. */
void serve__changed(struct serve__call *q, unsigned class, const char *event, caret_slice name);

/* All of a database was deleted, or replaced: -1 all of them.  One change. */
void serve__flushed(struct serve__call *q, int db);

/* A key may have become one that a blocked client can take from: no change, no notification. */
void serve__ready(struct serve__call *q, caret_slice name);

/* Something of a class is to be told after the commit, which is not a change: a key that was missed, a message.
 * The parts, one after another, are its name.  false: it will not be: nobody asked for its class, or there is no
 * memory. */
bool serve__event_add(struct serve__call *q, unsigned class, const char *event, const caret_slice *parts,
                      unsigned n);

/* The event at a place of those that wait for the commit, and the next place; false: there are no more.  The
 * name lives until the next one comes. */
struct serve__event {
    unsigned class, db;
    caret_slice name;
};
bool serve__event_at(const struct serve__runner *r, size_t *at, struct serve__event *e);

/* After the commit: tell all that waits.  And forget it: after a restart or a rollback, from `place` on. */
void serve__events_send(struct serve__runner *r);
struct serve__event_place {
    size_t len;
    uint64_t dirty, expired;
};
struct serve__event_place serve__events_place(const struct serve__runner *r);
void serve__events_forget(struct serve__runner *r, struct serve__event_place place);
/* A command fails: of what it told from this place on, only the keys that it missed are so.  They move there; where
 * they end. */
size_t serve__events_missed(struct serve__runner *r, size_t from);

/* Those that are told, each of the classes that it has asked for. */
enum serve__listener_of {
    SERVE__TELL_MONITOR,
    SERVE__TELL_PUBLISH,
    SERVE__TELL_NOTIFY,
    SERVE__TELL_BLOCKED,
    SERVE__TELL_TRACKING,
    SERVE__TELLS
};

/* From now on tell it of these classes, 0: of none. */
void serve__interest(struct serve__worker *w, enum serve__listener_of who, unsigned classes);

/* Called for each event of their classes, after the commit, in this order (all weak). `event` is NULL for the
 * two that are ours; db is UINT_MAX for all. */
typedef void serve__tell_fn(struct serve__worker *w, unsigned class, const char *event, unsigned db,
                            caret_slice name);
serve__tell_fn serve__monitored_tell __attribute__((weak));
serve__tell_fn serve__publish_tell __attribute__((weak));
serve__tell_fn serve__notify_tell __attribute__((weak));
serve__tell_fn serve__blocked_tell __attribute__((weak));
serve__tell_fn serve__tracking_tell __attribute__((weak));

#endif
