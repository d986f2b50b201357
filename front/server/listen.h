/*
 * listen.h - the sockets at which workers accept.
 *
 * The supervisor opens them before it forks and keeps them open.  Each worker has a TCP socket of its own for each
 * address (SO_REUSEPORT); a unix socket, and sockets that systemd has opened, are shared by all.  relisten.h has how
 * ports and addresses change while workers serve.
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
    bool given;                         /* systemd has opened what listens: it does not change */
    uint64_t round;                     /* how often it has changed: relisten.h */
    int channel[SERVE__WORKERS_MAX][2]; /* to each worker; its end is the second */
    char at[3][SERVE__CONFIG_BYTES];    /* port, tls-port and bind of what listens */
};

/* Give a worker another. */
bool serve__listen_add(struct serve__start *start, int fd, enum serve__way way, bool is_shared);

/* Why nobody could reach a server of these parameters, which is a mistake, as in Redis; NULL: it has a door.  `shared`
 * of l is all that is looked at. */
const char *serve__listen_refused(const struct serve__listen *l);

/* Open what the parameters say, or take what systemd has opened.  False: that was logged. */
bool serve__listen(struct serve__listen *l);

/* The same for other parameters: what is wanted and not there is opened, then what is not wanted any more is closed.
 * False: that was logged, and all is as it was. */
bool serve__listen_change(struct serve__listen *l);

/* The server ends: nobody gets in from now on, whichever process has the sockets open.  Not for sockets that another
 * server goes on with. */
void serve__listen_end(struct serve__listen *l);

#endif
