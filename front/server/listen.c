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
    if (error == EADDRNOTAVAIL) {
        serve__log("%s: this machine has no such address: give one that it has with --bind", where);
        return false;
    }
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

/* ---------------------------------------------------------- TCP addresses */

/* What is to be listened at. */
struct address {
    struct sockaddr_storage a;
    socklen_t len;
    enum serve__way way;
    int port;
    bool optional, there; /* there: it is already */
    char text[64];
};

enum { ADDRESSES = SERVE__LISTENERS_MAX };

/* The addresses of `bind` with this port, after n others: how many there are then, -1: one is none. */
static int add_addresses(const struct serve__listen *l, int port, enum serve__way way, struct address *v,
                         int n)
{
    char texts[SERVE__CONFIG_BYTES];
    strcpy(texts, text_of(l, SERVE__CFG_bind));
    char *rest = texts, *one;
    while (port != 0 && (one = strsep(&rest, " ")) != NULL) {
        if (*one == 0)
            continue;
        struct address *a = &v[n];
        if (n++ == ADDRESSES) {
            serve__log("too many addresses to listen at");
            return -1;
        }
        *a = (struct address){.way = way, .port = port, .optional = *one == '-'};
        snprintf(a->text, sizeof a->text, "%s", one + a->optional);
        if (!parse_address(a->text, port, &a->a, &a->len)) {
            serve__log("%s: no IP address: --bind takes those of this machine, such as 127.0.0.1 or ::1",
                       a->text);
            return -1;
        }
    }
    return n;
}

static int all_addresses(const struct serve__listen *l, struct address *v)
{
    int n = add_addresses(l, number_of(l, SERVE__CFG_port), SERVE__WAY_TCP, v, 0);
    return n < 0 ? n : add_addresses(l, number_of(l, SERVE__CFG_tls_port), SERVE__WAY_TLS, v, n);
}

/* A socket for each worker. */
static bool listen_tcp(struct serve__listen *l, const struct address *a, bool probed)
{
    if (!probed && !port_is_free((const struct sockaddr *)&a->a, a->len))
        return (a->optional && errno != EADDRINUSE) || listen_error(a->text, a->port);
    for (int i = 0; i < l->nworkers; i++) {
        int fd = bound_socket((const struct sockaddr *)&a->a, a->len, true);
        if (fd < 0 && a->optional && errno != EADDRINUSE)
            return true;
        if (fd >= 0 && listen(fd, number_of(l, SERVE__CFG_tcp_backlog)) == 0 &&
            serve__listen_add(&l->start[i], fd, a->way, false))
            continue;
        listen_error(a->text, a->port);
        if (fd >= 0)
            close(fd);
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
    bool there = stat(path, &st) == 0;
    if (there && S_ISSOCK(st.st_mode)) /* nobody answers: a dead server left it */
        unlink(path);
    else if (there) {
        serve__log("%s: a file that is not a socket: choose another with --unix", path);
        return false;
    }
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

static bool listen_addresses(struct serve__listen *l)
{
    static struct address v[ADDRESSES];
    int n = all_addresses(l, v);
    for (int i = 0; i < n; i++)
        if (!listen_tcp(l, &v[i], false))
            return false;
    return n >= 0;
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

const char *serve__listen_refused(const struct serve__listen *l)
{
    bool somewhere = number_of(l, SERVE__CFG_port) != 0 || number_of(l, SERVE__CFG_tls_port) != 0 ||
                     *text_of(l, SERVE__CFG_unixsocket) != 0;
    return somewhere || serve__is_takeover() || serve__manager_sockets() > 0
               ? NULL
               : "nowhere to listen: give a --port other than 0, a --tls-port or --unix PATH";
}

/* Each of `bind` may be optional, and none be there. */
static bool somewhere(const struct serve__listen *l)
{
    if (l->start[0].nlisteners == 0)
        serve__log("nowhere to listen: no address of `bind` is there, and there is no --unix PATH");
    return l->start[0].nlisteners != 0;
}

bool serve__listen(struct serve__listen *l)
{
    int given = serve__manager_sockets();
    if (serve__is_takeover())
        return serve__takeover_listen(l);
    l->given |= given > 0;
    if (given > 0)
        return take_sockets(l, given);
    return listen_addresses(l) && listen_unix(l) && somewhere(l);
}

void serve__listen_end(struct serve__listen *l)
{
    for (int i = 0; i < l->nworkers; i++)
        for (int k = 0; k < l->start[i].nlisteners; k++)
            shutdown(l->start[i].listeners[k].source.fd, SHUT_RDWR);
}

/* ------------------------------------------------- others, while it serves */

static bool is_any(const struct sockaddr_storage *a)
{
    static const struct in6_addr any = IN6ADDR_ANY_INIT;
    return a->ss_family == AF_INET
               ? ((const struct sockaddr_in *)a)->sin_addr.s_addr == INADDR_ANY
               : memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &any, sizeof any) == 0;
}

/* Sockets of our own may share an address (SO_REUSEPORT): what the kernel tells of two at the start is found here. */
static bool collide(const struct address *v, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (v[i].port == v[k].port && v[i].a.ss_family == v[k].a.ss_family &&
                (is_any(&v[i].a) || is_any(&v[k].a) || memcmp(&v[i].a, &v[k].a, v[i].len) == 0)) {
                errno = EADDRINUSE;
                return !listen_error(v[i].text, v[i].port);
            }
    return false;
}

static bool bound_to(const struct serve__listener *one, struct sockaddr_storage *a, socklen_t *len)
{
    memset(a, 0, sizeof *a);
    *len = sizeof *a;
    return getsockname(one->source.fd, (struct sockaddr *)a, len) == 0;
}

static bool is_at(const struct serve__listener *one, const struct address *a)
{
    struct sockaddr_storage b;
    socklen_t len;
    return one->way == a->way && bound_to(one, &b, &len) && len == a->len && memcmp(&b, &a->a, len) == 0;
}

/* Has one of our sockets that port?  Then no other server has it, and to ask whether it is free would find ours. */
static bool has_port(const struct serve__start *start, const struct address *a)
{
    for (int i = 0; i < start->nlisteners; i++) {
        struct sockaddr_storage b;
        socklen_t len;
        if (bound_to(&start->listeners[i], &b, &len) && b.ss_family == a->a.ss_family &&
            ((struct sockaddr_in *)&b)->sin_port == ((const struct sockaddr_in *)&a->a)->sin_port)
            return true;
    }
    return false;
}

/* One that all workers share is in the list of each: it is closed with that of the first, which is looked at last. */
static void drop(struct serve__start *start, int at)
{
    struct serve__listener *v = start->listeners;
    if (!v[at].is_shared || start->index == 0)
        close(v[at].source.fd);
    start->nlisteners--;
    memmove(&v[at], &v[at + 1], (size_t)(start->nlisteners - at) * sizeof *v);
}

static bool is_wanted(const struct serve__listener *one, const struct address *v, int n)
{
    bool wanted = one->way == SERVE__WAY_UNIX;
    for (int i = 0; i < n && !wanted; i++)
        wanted = is_at(one, &v[i]);
    return wanted;
}

static bool open_missing(struct serve__listen *l, struct address *v, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < l->start[0].nlisteners; k++)
            v[i].there |= is_at(&l->start[0].listeners[k], &v[i]);
    for (int i = 0; i < n; i++)
        if (!v[i].there && !listen_tcp(l, &v[i], has_port(&l->start[0], &v[i])))
            return false;
    return true;
}

bool serve__listen_change(struct serve__listen *l)
{
    static struct address v[ADDRESSES];
    int before[SERVE__WORKERS_MAX];
    for (int i = 0; i < l->nworkers; i++)
        before[i] = l->start[i].nlisteners;
    int n = all_addresses(l, v);
    bool fine = n >= 0 && !collide(v, n) && open_missing(l, v, n);
    for (int i = l->nworkers - 1; i >= 0; i--)
        for (int k = l->start[i].nlisteners - 1; k >= 0; k--)
            if (fine ? !is_wanted(&l->start[i].listeners[k], v, n) : k >= before[i])
                drop(&l->start[i], k);
    return fine;
}
