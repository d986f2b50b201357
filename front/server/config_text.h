/*
 * config_text.h - parameters whose text has a form of its own: classes of events, limits of output, times of
 * saves, percentiles, adjustments of the OOM killer, names of hosts, titles of processes.
 */
#ifndef CARET_SERVER_CONFIG_TEXT_H
#define CARET_SERVER_CONFIG_TEXT_H

#include "server/config.h"

/* Bring a text into the form in which CONFIG GET gives it back; `old` is what counts now.  NULL, or what is
 * wrong with it.  `text` has SERVE__CONFIG_BYTES bytes. */
const char *serve__events_text(char *text, const char *old);
const char *serve__limits_text(char *text, const char *old);
const char *serve__saves_text(char *text, const char *old);
const char *serve__percentiles_text(char *text, const char *old);
const char *serve__adjustments_text(char *text, const char *old);
const char *serve__host_text(char *text, const char *old);

/* Of notify-keyspace-events: SERVE__EVENT_* with SERVE__NOTIFY_KEYSPACE and SERVE__NOTIFY_KEYEVENT.  -1: there
 * is another letter. */
enum { SERVE__NOTIFY_KEYSPACE = 1 << 24, SERVE__NOTIFY_KEYEVENT = 1 << 25 };
int64_t serve__events_of(const char *text);

/* Of proc-title-template, in a server with such a unixsocket ("": none). */
const char *serve__title_wrong(const char *text, const char *unixsocket);

/* Of client-output-buffer-limit: for normal clients, and for those of pub/sub. */
void serve__limits_of(const char *text, struct serve__limit limit[2]);

#endif
