/*
 * background.h - daemonize, logfile and pidfile, as in Redis.
 */
#ifndef CARET_SERVER_BACKGROUND_H
#define CARET_SERVER_BACKGROUND_H

#include <stdbool.h>

struct serve__shared;

/* Before the first socket: the log goes where it is told, and with daemonize another process goes on.  false: what is
 * wrong was said. */
bool serve__background_begin(struct serve__shared *s);

/* Everything is there: write the pidfile.  It goes again at the end. */
void serve__background_ready(const struct serve__shared *s);
void serve__background_end(const struct serve__shared *s);

#endif
