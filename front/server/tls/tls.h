/*
 * tls.h - TLS for connections of `tls-port`: OpenSSL, or nothing where the server was built without it (none.c).
 *
 * A connection has a stream, which reads and writes as recv() and send() do: bytes, 0 at the end, -1 with EAGAIN if it
 * has to wait.  The handshake is done by reading.  What a stream promises to the loop, which waits for the socket by
 * epoll, level-triggered:
 *   T1  after a read that is not followed by another nothing is left in OpenSSL that could be read: either it
 *       has_more(), and is read again at once, or it said EAGAIN and the socket tells when there is more.
 *   T2  a write that could not be done is done again with the same bytes, and perhaps more after them: OpenSSL has
 *       made a record of the first.  Output of a connection is only added to, so that is what happens.
 *   T3  wants_out(), waits_for_in(): what the socket is to be waited for, where that is not what the loop would wait
 *       for by itself.
 *   A stream belongs to its connection, so it is used by the thread that has the turn (handoff.h).
 *
 * The context (certificates, ciphers) is one of each worker, made from the parameters before it is forked, and anew
 * when `tls_version` of shared.h has moved.  Streams keep the one that they began with.  Session tickets are
 * sealed with keys that all workers share, so a client resumes its session with whichever it comes to.
 *
 * A client that connects costs the stream below until its first byte, then OpenSSL's state; it has SERVE__TLS_LIMIT
 * milliseconds for the handshake, or `timeout` if that is less.
 */
#ifndef CARET_SERVER_TLS_H
#define CARET_SERVER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct serve__shared;
struct serve__tls;

enum { SERVE__TLS_LIMIT = 10000, SERVE__TLS_KEY_BYTES = 80 };

/* Was the server built with it? */
bool serve__tls_built(void);

/* What parameters `tls-port` needs beside those that are set; NULL: none. */
const char *serve__tls_lacks(const struct serve__shared *s);

/* Is it a parameter of the context? */
bool serve__tls_parameter(int i);

/* Make the context from the parameters in shared memory: NULL, or what is wrong, and the old one stays. */
const char *serve__tls_configure(struct serve__shared *s, char *error, size_t cap);

/* CONFIG SET: the same, and the other workers follow. */
const char *serve__tls_change(struct serve__shared *s, char *error, size_t cap);

/* In a worker, when the configuration has changed: follow. */
void serve__tls_refresh(struct serve__shared *s);

/* The stream of a socket that was accepted; NULL: no memory. */
struct serve__tls *serve__tls_new(int fd);

/* Say goodbye, if the socket takes it, and free it.  The socket is closed after that. */
void serve__tls_free(struct serve__tls *t);

ssize_t serve__tls_read(struct serve__tls *t, void *to, size_t len);
ssize_t serve__tls_write(struct serve__tls *t, const void *from, size_t len);

bool serve__tls_has_more(const struct serve__tls *t);
bool serve__tls_wants_out(const struct serve__tls *t);
bool serve__tls_waits_for_in(const struct serve__tls *t);

/* Is the handshake still to be done? */
bool serve__tls_shakes(const struct serve__tls *t);

#endif
