/*
 * context.c - certificates, protocols and ciphers: tls.h.  As Redis makes them of the same parameters.
 */
#include "server/tls/context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "server/shared.h"
#include "server/tls/tls.h"
#include "server/worker.h"

static SSL_CTX *context;
static uint64_t version; /* shared->tls_version of it */

SSL_CTX *serve__tls_context(void)
{
    return context;
}

bool serve__tls_built(void)
{
    return true;
}

bool serve__tls_parameter(int i)
{
    return strncmp(serve__config_name(i), "tls-", 4) == 0 && i != SERVE__CFG_tls_port;
}

const char *serve__tls_reason(void)
{
    unsigned long error = ERR_peek_error();
    const char *reason =
        ERR_GET_LIB(error) == ERR_LIB_SYS ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);
    ERR_clear_error();
    return reason != NULL ? reason : "it can't be read";
}

/* ------------------------------------------------------------------- parts */

/* What goes wrong, into `error` of `cap` bytes. */
struct making {
    SSL_CTX *ctx;
    const struct serve__shared *s;
    char *error;
    size_t cap;
};

static const char *text(const struct making *m, int i)
{
    return m->s->config[i];
}

static bool yes(const struct making *m, int i)
{
    return strcasecmp(text(m, i), "yes") == 0;
}

/* The newest error is that of a file that is something else: "no start line", "unsupported". */
static bool is_not_pem(unsigned long error)
{
#ifdef ERR_LIB_OSSL_DECODER
    if (ERR_GET_LIB(error) == ERR_LIB_OSSL_DECODER)
        return true;
#endif
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static bool wrong(struct making *m, int i)
{
    bool not_pem = is_not_pem(ERR_peek_error());
    const char *why = serve__tls_reason();
    snprintf(m->error, m->cap, "%s %.300s: %s", serve__config_name(i), text(m, i),
             not_pem ? "it is not PEM, or of a kind that OpenSSL does not read" : why);
    return false;
}

static bool set_protocols(struct making *m)
{
    static const struct {
        const char *name;
        uint64_t off;
    } all[] = {{"TLSv1", SSL_OP_NO_TLSv1},
               {"TLSv1.1", SSL_OP_NO_TLSv1_1},
               {"TLSv1.2", SSL_OP_NO_TLSv1_2},
               {"TLSv1.3", SSL_OP_NO_TLSv1_3}};
    char words[SERVE__CONFIG_BYTES];
    uint64_t off = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_TLSv1_2 | SSL_OP_NO_TLSv1_3;
    snprintf(words, sizeof words, "%s", text(m, SERVE__CFG_tls_protocols));
    if (strspn(words, " ") == strlen(words))
        strcpy(words, "TLSv1.2 TLSv1.3");
    for (char *rest = words, *one; (one = strsep(&rest, " ")) != NULL;) {
        unsigned i = 0;
        while (i < 4 && strcasecmp(one, all[i].name) != 0)
            i++;
        if (i == 4 && *one != 0) {
            snprintf(m->error, m->cap,
                     "tls-protocols: '%.40s' is none of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3", one);
            return false;
        }
        off &= i < 4 ? ~all[i].off : off;
    }
    SSL_CTX_set_options(m->ctx, off | SSL_OP_NO_SSLv3);
    return true;
}

static bool set_ciphers(struct making *m)
{
    const char *ciphers = text(m, SERVE__CFG_tls_ciphers), *suites = text(m, SERVE__CFG_tls_ciphersuites);
    if (yes(m, SERVE__CFG_tls_prefer_server_ciphers))
        SSL_CTX_set_options(m->ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
    if (*ciphers != 0 && SSL_CTX_set_cipher_list(m->ctx, ciphers) != 1)
        return wrong(m, SERVE__CFG_tls_ciphers);
    if (*suites != 0 && SSL_CTX_set_ciphersuites(m->ctx, suites) != 1)
        return wrong(m, SERVE__CFG_tls_ciphersuites);
    return true;
}

static int give_password(char *to, int cap, int rwflag, void *password)
{
    (void)rwflag;
    size_t len = strlen(password);
    if (len > (size_t)cap)
        return -1;
    memcpy(to, password, len);
    return (int)len;
}

static bool set_own(struct making *m)
{
    const char *cert = text(m, SERVE__CFG_tls_cert_file), *key = text(m, SERVE__CFG_tls_key_file);
    SSL_CTX_set_default_passwd_cb(m->ctx, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(m->ctx, (void *)(uintptr_t)text(m, SERVE__CFG_tls_key_file_pass));
    if (SSL_CTX_use_certificate_chain_file(m->ctx, cert) != 1)
        return wrong(m, SERVE__CFG_tls_cert_file);
    if (SSL_CTX_use_PrivateKey_file(m->ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(m->ctx) != 1)
        return wrong(m, SERVE__CFG_tls_key_file);
    return true;
}

/* Whose certificates of clients count. */
static bool set_authorities(struct making *m)
{
    const char *file = text(m, SERVE__CFG_tls_ca_cert_file), *dir = text(m, SERVE__CFG_tls_ca_cert_dir);
    const char *clients = text(m, SERVE__CFG_tls_auth_clients);
    bool must = strcasecmp(clients, "yes") == 0, may = strcasecmp(clients, "optional") == 0;
    if ((*file != 0 || *dir != 0) &&
        SSL_CTX_load_verify_locations(m->ctx, *file != 0 ? file : NULL, *dir != 0 ? dir : NULL) != 1)
        return wrong(m, *file != 0 ? SERVE__CFG_tls_ca_cert_file : SERVE__CFG_tls_ca_cert_dir);
    SSL_CTX_set_verify(m->ctx,
                       must  ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                       : may ? SSL_VERIFY_PEER
                             : SSL_VERIFY_NONE,
                       NULL);
    return true;
}

static bool set_dh(struct making *m)
{
    const char *path = text(m, SERVE__CFG_tls_dh_params_file);
    if (*path == 0) {
        SSL_CTX_set_dh_auto(m->ctx, 1);
        return true;
    }
    BIO *file = BIO_new_file(path, "r");
    EVP_PKEY *key = file != NULL ? PEM_read_bio_Parameters(file, NULL) : NULL;
    BIO_free(file);
    if (key != NULL && SSL_CTX_set0_tmp_dh_pkey(m->ctx, key) == 1)
        return true;
    EVP_PKEY_free(key);
    return wrong(m, SERVE__CFG_tls_dh_params_file);
}

static bool set_sessions(struct making *m)
{
    unsigned char keys[SERVE__TLS_KEY_BYTES];
    if (!yes(m, SERVE__CFG_tls_session_caching)) {
        SSL_CTX_set_session_cache_mode(m->ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(m->ctx, SSL_OP_NO_TICKET);
        return SSL_CTX_set_num_tickets(m->ctx, 0) == 1;
    }
    memcpy(keys, m->s->tls_keys, sizeof keys);
    SSL_CTX_set_session_cache_mode(m->ctx, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(m->ctx, strtol(text(m, SERVE__CFG_tls_session_cache_size), NULL, 10));
    SSL_CTX_set_timeout(m->ctx, strtol(text(m, SERVE__CFG_tls_session_cache_timeout), NULL, 10));
    if (SSL_CTX_set_session_id_context(m->ctx, (const unsigned char *)"caret", 5) == 1 &&
        SSL_CTX_set_tlsext_ticket_keys(m->ctx, keys, sizeof keys) == 1)
        return true;
    return wrong(m, SERVE__CFG_tls_session_caching);
}

/* ------------------------------------------------------------------- whole */

const char *serve__tls_lacks(const struct serve__shared *s)
{
    const struct making m = {.s = s};
    if (strcmp(text(&m, SERVE__CFG_tls_port), "0") == 0)
        return NULL;
    if (*text(&m, SERVE__CFG_tls_cert_file) == 0 || *text(&m, SERVE__CFG_tls_key_file) == 0)
        return "tls-port needs tls-cert-file and tls-key-file";
    if (yes(&m, SERVE__CFG_tls_auth_clients) && *text(&m, SERVE__CFG_tls_ca_cert_file) == 0 &&
        *text(&m, SERVE__CFG_tls_ca_cert_dir) == 0)
        return "tls-auth-clients yes (it is, if not said) needs tls-ca-cert-file or tls-ca-cert-dir";
    return NULL;
}

static SSL_CTX *make(struct serve__shared *s, char *error, size_t cap)
{
    const char *lacks = serve__tls_lacks(s);
    if (lacks != NULL) {
        snprintf(error, cap, "%s", lacks);
        return NULL;
    }
    struct making m = {SSL_CTX_new(TLS_server_method()), s, error, cap};
    ERR_clear_error();
    if (m.ctx == NULL) {
        snprintf(error, cap, "no memory for TLS");
        return NULL;
    }
    SSL_CTX_set_options(m.ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_SINGLE_DH_USE);
    SSL_CTX_set_mode(m.ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(m.ctx, 1);
    if (set_protocols(&m) && set_ciphers(&m) && set_own(&m) && set_authorities(&m) && set_dh(&m) &&
        set_sessions(&m)) {
        SSL_CTX_set_default_passwd_cb_userdata(m.ctx, NULL);
        SSL_CTX_set_default_passwd_cb(m.ctx, NULL);
        return m.ctx;
    }
    SSL_CTX_free(m.ctx);
    return NULL;
}

const char *serve__tls_configure(struct serve__shared *s, char *error, size_t cap)
{
    if (strcmp(s->config[SERVE__CFG_tls_port], "0") == 0)
        return NULL;
    serve__shared_lock(s);
    uint64_t made = s->tls_version;
    SSL_CTX *ctx = make(s, error, cap);
    serve__shared_unlock(s);
    if (ctx == NULL)
        return error;
    SSL_CTX_free(context); /* streams have references */
    context = ctx;
    version = made;
    return NULL;
}

const char *serve__tls_change(struct serve__shared *s, char *error, size_t cap)
{
    unsigned char keys[SERVE__TLS_KEY_BYTES];
    if (getrandom(keys, sizeof keys, 0) != sizeof keys)
        return "there are no random numbers";
    const char *why = serve__tls_configure(s, error, cap);
    if (why != NULL)
        return why;
    serve__shared_lock(s);
    memcpy(s->tls_keys, keys, sizeof keys);
    version = ++s->tls_version;
    s->version++; /* so that others look */
    serve__shared_unlock(s);
    return context != NULL ? serve__tls_configure(s, error, cap) : NULL; /* with the new keys */
}

void serve__tls_refresh(struct serve__shared *s)
{
    char error[512];
    if (version == s->tls_version)
        return;
    version = s->tls_version;
    if (serve__tls_configure(s, error, sizeof error) != NULL)
        serve__log("the certificates before stay in use: %s", error);
}
