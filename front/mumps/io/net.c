/*
 * net.c - sockets: TCP by name or number, v4 and v6, and sockets that are files.
 *
 * Descriptors are non-blocking: a reader or writer waits with caret_mumps__io_wait.  An address is told as text: the
 * number of a TCP peer, the path of a local one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mumps/io/io.h"

#define RESOLVE_FAILED (-100000) /* less getaddrinfo's code, which is negative, too */

static int resolve(const char *host, const char *port, int passive, struct addrinfo **found)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    hints.ai_flags = passive != 0 ? AI_PASSIVE : AI_ADDRCONFIG;
    int rc = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, found);
    return rc == 0 ? 0 : RESOLVE_FAILED + rc;
}

static int tcp_socket(const struct addrinfo *a)
{
    return socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Binds to the first address that takes it; prefers v6, which takes v4 as well. */
static int bind_any(const struct addrinfo *list, int family)
{
    int on = 1;
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
        if (a->ai_family != family)
            continue;
        int fd = tcp_socket(a);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        int why = errno;
        close(fd);
        errno = why;
    }
    return -1;
}

/* A socket bound to a port of all addresses or of one; not yet listening. */
int caret_mumps__io_bind_tcp(const char *host, const char *port)
{
    struct addrinfo *list;
    int rc = resolve(host, port, 1, &list);
    if (rc != 0)
        return rc;
    int fd = bind_any(list, AF_INET6);
    if (fd < 0 && errno != EADDRINUSE)
        fd = bind_any(list, AF_INET);
    rc = fd < 0 ? -errno : fd;
    freeaddrinfo(list);
    return rc;
}

static int local_address(struct sockaddr_un *a, const char *path, socklen_t *len)
{
    size_t n = strlen(path);
    if (n >= sizeof a->sun_path)
        return -ENAMETOOLONG;
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    memcpy(a->sun_path, path, n);
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
    return 0;
}

int caret_mumps__io_bind_local(const char *path)
{
    struct sockaddr_un a;
    socklen_t len;
    int rc = local_address(&a, path, &len);
    if (rc != 0)
        return rc;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&a, len) == 0)
        return fd;
    rc = -errno;
    close(fd);
    return rc;
}

int caret_mumps__io_listen(int fd, int depth)
{
    return listen(fd, depth) < 0 ? -errno : 0;
}

/* A connection that waits at fd, or -errno (EAGAIN: none). */
int caret_mumps__io_accept(int fd)
{
    int got;
    do {
        got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Waits for a connection that has begun: 0, or -errno. */
static int connected(int fd, double ms)
{
    int what = 2, why = 0;
    socklen_t len = sizeof why;
    int ready = caret_mumps__io_wait(&fd, &what, 1, ms);
    if (ready <= 0)
        return ready == 0 ? -ETIMEDOUT : ready;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len);
    return -why;
}

static int connect_one(int fd, const struct sockaddr *a, socklen_t len, double ms)
{
    if (fd < 0)
        return -errno;
    int rc = connect(fd, a, len) == 0 ? 0 : -errno;
    if (rc == -EINPROGRESS)
        rc = connected(fd, ms);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

int caret_mumps__io_connect_tcp(const char *host, const char *port, double ms)
{
    struct addrinfo *list;
    int rc = resolve(host, port, 0, &list);
    if (rc != 0)
        return rc;
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
        rc = connect_one(tcp_socket(a), a->ai_addr, a->ai_addrlen, ms);
        if (rc >= 0)
            break;
    }
    freeaddrinfo(list);
    return rc;
}

int caret_mumps__io_connect_local(const char *path, double ms)
{
    struct sockaddr_un a;
    socklen_t len;
    int rc = local_address(&a, path, &len);
    if (rc != 0)
        return rc;
    return connect_one(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), (struct sockaddr *)&a,
                       len, ms);
}

static int told(const struct sockaddr_storage *a, socklen_t len, char *room, size_t cap, int *port)
{
    char service[16];
    *port = 0;
    if (a->ss_family == AF_UNIX) {
        const struct sockaddr_un *u = (const struct sockaddr_un *)a;
        snprintf(room, cap, "%s", len > offsetof(struct sockaddr_un, sun_path) ? u->sun_path : "");
        return 0;
    }
    if (getnameinfo((const struct sockaddr *)a, len, room, (socklen_t)cap, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -EINVAL;
    *port = (int)strtol(service, NULL, 10);
    return 0;
}

/* The address of this end (peer 0) or of the other (1), as text, and its port. */
int caret_mumps__io_address(int fd, int peer, char *room, size_t cap, int *port)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    int rc = peer != 0 ? getpeername(fd, (struct sockaddr *)&a, &len)
                       : getsockname(fd, (struct sockaddr *)&a, &len);
    return rc < 0 ? -errno : told(&a, len, room, cap, port);
}

/* Settings of a socket, by a letter: k keepalive, c its count, i idle, v interval, d nodelay, r and s buffers. */
static int setting(int which, int *level)
{
    *level = which == 'k' || which == 'r' || which == 's' ? SOL_SOCKET : IPPROTO_TCP;
    switch (which) {
    case 'k': return SO_KEEPALIVE;
    case 'c': return TCP_KEEPCNT;
    case 'i': return TCP_KEEPIDLE;
    case 'v': return TCP_KEEPINTVL;
    case 'd': return TCP_NODELAY;
    case 'r': return SO_RCVBUF;
    default: return SO_SNDBUF;
    }
}

int caret_mumps__io_set(int fd, int which, int value)
{
    int level, name = setting(which, &level);
    return setsockopt(fd, level, name, &value, sizeof value) < 0 ? -errno : 0;
}

int caret_mumps__io_get(int fd, int which)
{
    int value = 0, level, name = setting(which, &level);
    socklen_t len = sizeof value;
    return getsockopt(fd, level, name, &value, &len) < 0 ? -errno : value;
}

/* Hands descriptor `gift` and a text to the process at the other end of a local socket. */
int caret_mumps__io_pass(int fd, int gift, const char *text, size_t n)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)text, n};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &gift, sizeof gift);
    return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Receives one: the descriptor, with the text in room (*n bytes); -errno, -ENOMSG if none came with it. */
int caret_mumps__io_take(int fd, char *room, size_t cap, size_t *n)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {room, cap};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof control.room};
    ssize_t got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    if (got < 0)
        return -errno;
    *n = (size_t)got;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int gift = -ENOMSG;
    if (c != NULL && c->cmsg_type == SCM_RIGHTS)
        memcpy(&gift, CMSG_DATA(c), sizeof gift);
    return gift;
}

/* The process at the other end of a local socket; 0: unknown. */
int caret_mumps__io_peer_pid(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ? 0 : who.pid;
}
