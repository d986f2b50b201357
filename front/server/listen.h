/*
 * listen.h - the sockets at which workers accept.
 *
 * The supervisor opens them before it forks and keeps them open.  Each worker has a TCP socket of its own for each
 * address (SO_REUSEPORT); a unix socket, and sockets that systemd has opened, are shared by all.
 */
#ifndef CARET_SERVER_LISTEN_H
#define CARET_SERVER_LISTEN_H

#include <sys/un.h>

#include "server/worker.h"

struct serve__listen {
    struct serve__shared *shared;
    struct serve__start *start; /* of each worker: gets its listeners */
    int nworkers;
    char unix_path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* bound here; the caller unlinks it */
};

/* Give a worker another. */
bool serve__listen_add(struct serve__start *start, int fd, enum serve__way way, bool is_shared);

/* Open what the parameters say, or take what systemd has opened.  False: that was logged. */
bool serve__listen(struct serve__listen *l);

#endif
