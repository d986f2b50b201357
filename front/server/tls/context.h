/*
 * context.h - the context of this process, for stream.c.
 */
#ifndef CARET_SERVER_TLS_CONTEXT_H
#define CARET_SERVER_TLS_CONTEXT_H

#include <openssl/ssl.h>

/* NULL: there is none. */
SSL_CTX *serve__tls_context(void);

/* The reason of OpenSSL's first error of this thread, and forget them all. */
const char *serve__tls_reason(void);

#endif
