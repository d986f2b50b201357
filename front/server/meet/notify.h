/*
 * notify.h - keyspace notifications: events (event.h) as messages of publish and subscribe.
 *
 * For those of the classes that notify-keyspace-events names, after their commit, by the worker that ran the
 * command: __keyspace@DB__:KEY gets the event, __keyevent@DB__:EVENT the key.  As messages they may be lost
 * with a worker that is killed.
 */
#ifndef CARET_SERVER_NOTIFY_H
#define CARET_SERVER_NOTIFY_H

struct serve__worker;

/* notify-keyspace-events may have changed. */
void serve__notify_configure(struct serve__worker *w);

#endif
