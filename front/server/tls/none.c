/*
 * none.c - a server that was built without OpenSSL: tls.h.  `tls-port` is refused, so there are no streams.
 */
#include "server/tls/tls.h"

#include <string.h>

#include "server/config.h"
#include "server/shared.h"

bool serve__tls_built(void)
{
    return false;
}

const char *serve__tls_lacks(const struct serve__shared *s)
{
    (void)s;
    return NULL;
}

bool serve__tls_parameter(int i)
{
    (void)i;
    return false;
}

const char *serve__tls_configure(struct serve__shared *s, char *error, size_t cap)
{
    (void)s, (void)error, (void)cap;
    return NULL;
}

const char *serve__tls_change(struct serve__shared *s, char *error, size_t cap)
{
    (void)error, (void)cap;
    return strcmp(s->config[SERVE__CFG_tls_port], "0") == 0 ? NULL : "the server was built without TLS";
}

void serve__tls_refresh(struct serve__shared *s)
{
    (void)s;
}

struct serve__tls *serve__tls_new(int fd)
{
    (void)fd;
    return NULL;
}

void serve__tls_free(struct serve__tls *t)
{
    (void)t;
}

ssize_t serve__tls_read(struct serve__tls *t, void *to, size_t len)
{
    (void)t, (void)to, (void)len;
    return 0;
}

ssize_t serve__tls_write(struct serve__tls *t, const void *from, size_t len)
{
    (void)t, (void)from, (void)len;
    return -1;
}

bool serve__tls_has_more(const struct serve__tls *t)
{
    (void)t;
    return false;
}

bool serve__tls_wants_out(const struct serve__tls *t)
{
    (void)t;
    return false;
}

bool serve__tls_waits_for_in(const struct serve__tls *t)
{
    (void)t;
    return false;
}

bool serve__tls_shakes(const struct serve__tls *t)
{
    (void)t;
    return false;
}
