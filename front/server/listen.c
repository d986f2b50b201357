/*
 * listen.c - the sockets at which workers accept: listen.h.
 */
#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/manager.h"
#include "server/takeover.h"

static const char *text_of(const struct serve__listen *l, int i)
{
    return l->shared->config[i];
}

static int number_of(const struct serve__listen *l, int i)
{
    return atoi(text_of(l, i));
}

bool serve__listen_add(struct serve__start *start, int fd, enum serve__way way, bool is_shared)
{
    if (start->nlisteners == SERVE__LISTENERS_MAX) {
        serve__log("too many addresses to listen at");
        return false;
    }
    start->listeners[start->nlisteners++] =
        (struct serve__listener){{SERVE__SOURCE_LISTENER, fd, NULL}, way, is_shared};
    return true;
}

static bool socket_error(const char *what)
{
    serve__log("%s: %s", what, strerror(errno));
    return false;
}

/* port 0: a unix socket. */
static bool listen_error(const char *at, int port)
{
    char where[300];
    int error = errno;
    snprintf(where, sizeof where, port != 0 ? "%s, port %d" : "%s", at, port);
    errno = error;
    if (error != EADDRINUSE)
        return socket_error(where);
    serve__log("%s: %s: another server listens there; end it, or choose another with %s", where,
               strerror(error), port != 0 ? "--port" : "--unix");
    return false;
}

static int bound_socket(const struct sockaddr *a, socklen_t len, bool reuse)
{
    int yes = 1;
    int fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (reuse)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    if (a->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, a, len) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* An address of `bind`: 127.0.0.1, ::1, * (all of IPv4), ::* or -::1 (no matter if it can't be had). */
static bool parse_address(const char *text, int port, struct sockaddr_storage *a, socklen_t *len)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)a;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;
    memset(a, 0, sizeof *a);
    if (strcmp(text, "*") == 0)
        text = "0.0.0.0";
    if (strcmp(text, "::*") == 0)
        text = "::";
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *len = sizeof *v4;
        return true;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    *len = sizeof *v6;
    return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1;
}

/* SO_REUSEPORT would share the port with another server of the same user: one socket without it tells. */
static bool port_is_free(const struct sockaddr *a, socklen_t len)
{
    int fd = bound_socket(a, len, false);
    if (fd >= 0 && listen(fd, 1) == 0) {
        close(fd);
        return true;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return false;
}

static bool listen_tcp(struct serve__listen *l, const char *text, int port, enum serve__way way)
{
    struct sockaddr_storage a;
    socklen_t len;
    bool optional = *text == '-';
    text += optional;
    if (!parse_address(text, port, &a, &len)) {
        errno = EINVAL;
        return socket_error(text);
    }
    if (!port_is_free((struct sockaddr *)&a, len))
        return (optional && errno != EADDRINUSE) || listen_error(text, port);
    for (int i = 0; i < l->nworkers; i++) {
        int fd = bound_socket((struct sockaddr *)&a, len, true);
        if (fd < 0 || listen(fd, number_of(l, SERVE__CFG_tcp_backlog)) != 0)
            return listen_error(text, port);
        if (!serve__listen_add(&l->start[i], fd, way, false))
            return false;
    }
    return true;
}

static bool listen_unix(struct serve__listen *l)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = text_of(l, SERVE__CFG_unixsocket);
    if (*path == 0)
        return true;
    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return socket_error(path);
    }
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return socket_error(path);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
        errno = EADDRINUSE;
        return listen_error(path, 0);
    }
    struct stat st;
    if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode)) /* nobody answers: a dead server left it */
        unlink(path);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(fd, number_of(l, SERVE__CFG_tcp_backlog)) != 0)
        return socket_error(path);
    long mode = strtol(text_of(l, SERVE__CFG_unixsocketperm), NULL, 8);
    if (mode != 0)
        chmod(path, (mode_t)mode);
    strcpy(l->unix_path, path);
    for (int i = 0; i < l->nworkers; i++)
        if (!serve__listen_add(&l->start[i], fd, SERVE__WAY_UNIX, true))
            return false;
    return true;
}

static bool listen_addresses(struct serve__listen *l, int port, enum serve__way way)
{
    char addresses[SERVE__CONFIG_BYTES];
    strcpy(addresses, text_of(l, SERVE__CFG_bind));
    char *rest = addresses, *one;
    while (port != 0 && (one = strsep(&rest, " ")) != NULL)
        if (*one != 0 && !listen_tcp(l, one, port, way))
            return false;
    return true;
}

/* Sockets that systemd has opened take the place of our own; all workers share them. */
static bool take_sockets(struct serve__listen *l, int n)
{
    for (int fd = SERVE__MANAGER_FIRST; fd < SERVE__MANAGER_FIRST + n; fd++)
        for (int i = 0; i < l->nworkers; i++)
            if (!serve__listen_add(&l->start[i], fd, serve__manager_way(l->shared, fd), true))
                return false;
    return true;
}

/* A server that nobody can reach is a mistake, as in Redis. */
static bool somewhere(const struct serve__listen *l)
{
    if (l->start[0].nlisteners == 0)
        serve__log("nowhere to listen: give a --port other than 0, a --tls-port or --unix PATH");
    return l->start[0].nlisteners != 0;
}

bool serve__listen(struct serve__listen *l)
{
    int given = serve__manager_sockets();
    if (serve__is_takeover())
        return serve__takeover_listen(l);
    if (given > 0)
        return take_sockets(l, given);
    return listen_addresses(l, number_of(l, SERVE__CFG_port), SERVE__WAY_TCP) &&
           listen_addresses(l, number_of(l, SERVE__CFG_tls_port), SERVE__WAY_TLS) && listen_unix(l) &&
           somewhere(l);
}
