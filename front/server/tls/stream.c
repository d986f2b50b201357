/*
 * stream.c - TLS on one connection: tls.h.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/tls/context.h"
#include "server/tls/tls.h"
#include "server/worker.h"

struct serve__tls {
    SSL *ssl; /* NULL: nothing came yet */
    int fd;
    bool shaken, failed;
    bool wants_out;    /* the last read, or handshake, waits for room in the socket */
    bool waits_for_in; /* the last write waits for input */
};

struct serve__tls *serve__tls_new(int fd)
{
    struct serve__tls *t = calloc(1, sizeof *t);
    if (t != NULL)
        t->fd = fd;
    return t;
}

void serve__tls_free(struct serve__tls *t)
{
    if (t == NULL)
        return;
    ERR_clear_error();
    if (t->ssl != NULL && t->shaken && !t->failed && SSL_shutdown(t->ssl) < 0)
        ERR_clear_error(); /* no room for it in the socket */
    SSL_free(t->ssl);
    free(t);
}

bool serve__tls_shakes(const struct serve__tls *t)
{
    return !t->shaken;
}

bool serve__tls_wants_out(const struct serve__tls *t)
{
    return t->wants_out;
}

bool serve__tls_waits_for_in(const struct serve__tls *t)
{
    return t->waits_for_in;
}

bool serve__tls_has_more(const struct serve__tls *t)
{
    return t->ssl != NULL && SSL_has_pending(t->ssl);
}

static ssize_t refused(int error)
{
    errno = error;
    return -1;
}

/* What OpenSSL says of a call that did not do it, as recv() and send() would. */
static ssize_t told(struct serve__tls *t, int rc)
{
    int what = SSL_get_error(t->ssl, rc);
    if (what == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE)
        return refused(EAGAIN);
    t->failed = true;
    return refused(ECONNRESET);
}

/* 1: it is done. */
static ssize_t shake(struct serve__tls *t)
{
    if (t->ssl == NULL) {
        t->ssl = serve__tls_context() != NULL ? SSL_new(serve__tls_context()) : NULL;
        if (t->ssl == NULL || SSL_set_fd(t->ssl, t->fd) != 1)
            return refused(ENOMEM);
        SSL_set_accept_state(t->ssl);
    }
    int rc = SSL_do_handshake(t->ssl);
    if (rc == 1) {
        t->shaken = true;
        return 1;
    }
    ssize_t n = told(t, rc);
    t->wants_out = !t->failed && SSL_want_write(t->ssl);
    return n == 0 ? refused(ECONNRESET) : n;
}

ssize_t serve__tls_read(struct serve__tls *t, void *to, size_t len)
{
    size_t n = 0;
    ERR_clear_error();
    t->wants_out = false;
    if (t->failed)
        return refused(ECONNRESET);
    if (!t->shaken) {
        ssize_t done = shake(t);
        if (done != 1)
            return done;
    }
    int rc = SSL_read_ex(t->ssl, to, len, &n);
    if (rc == 1)
        return (ssize_t)n;
    ssize_t said = told(t, rc);
    t->wants_out = !t->failed && SSL_want_write(t->ssl);
    if (said == 0)
        shutdown(t->fd, SHUT_RD); /* so that epoll tells of the end */
    return said;
}

ssize_t serve__tls_write(struct serve__tls *t, const void *from, size_t len)
{
    size_t n = 0;
    t->waits_for_in = false;
    if (t->failed)
        return refused(ECONNRESET);
    if (!t->shaken)
        return refused(EAGAIN);
    ERR_clear_error();
    int rc = SSL_write_ex(t->ssl, from, len, &n);
    if (rc == 1)
        return (ssize_t)n;
    ssize_t said = told(t, rc);
    t->waits_for_in = !t->failed && SSL_want_read(t->ssl);
    return said == 0 ? refused(EPIPE) : said;
}
