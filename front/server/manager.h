/*
 * manager.h - what systemd, or another manager of services, is told, and the sockets that it hands over.
 *
 * A datagram to $NOTIFY_SOCKET, and descriptors from 3 on that $LISTEN_FDS counts: protocols of 20 lines each, which
 * are kept stable, so there is no library for them.  All is done by the supervisor; without the variables nothing is.
 */
#ifndef CARET_SERVER_MANAGER_H
#define CARET_SERVER_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/conn.h"

struct serve__shared;

enum { SERVE__MANAGER_FIRST = 3 };

/* First of all: read the variables, and take them out of the environment. */
void serve__manager_begin(void);

/* Tell a state as of sd_notify(3): "READY=1". */
void serve__manager_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In a process that takes over: the variables are as they were, but for the sockets. */
void serve__manager_hand_over(void);

/* How many sockets were handed over; they take the place of port, tls-port and unixsocket. */
int serve__manager_sockets(void);

/* What is spoken at one of them: TLS at that named `tls`, or with the port of tls-port. */
enum serve__way serve__manager_way(const struct serve__shared *s, int fd);

/* Milliseconds to wait before serve__manager_watch() is called again; -1: no watchdog. */
int serve__manager_wait(void);

/* Tell the watchdog that all is well: each worker that there is had a turn within its time. */
void serve__manager_watch(const struct serve__shared *s);

#endif
