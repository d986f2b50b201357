/*
 * address.c - what an address says: our own parameters are taken out, the rest is libpq's.
 *
 *     postgresql://user:password@host1,host2:5432/name?caret_prefix=forest&sslmode=require
 *
 *     caret_prefix    the schema: a lower-case name of up to 40 letters, digits and _        (caret)
 *     caret_prepare   0: no prepared statements and no settings of the connection, as with a pooler of transactions.
 *                     1: prepared statements whatever is between      (as is found out: pooler.c)
 *     caret_timeout   seconds that an answer is waited for; 0: for ever                            (60)
 *     caret_changes   1 is refused, so far
 *     connect_timeout is libpq's, and says as well how long a lost connection is tried again  (10 s)
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "postgres/inside.h"
#include "store/address.h"

/* Is the parameter of that name?  Its value then. */
static bool is_param(const char *p, size_t n, const char *name, const char **value, size_t *len)
{
    size_t k = strlen(name);

    if (n <= k || memcmp(p, name, k) != 0 || p[k] != '=')
        return false;
    *value = p + k + 1;
    *len = n - k - 1;
    return true;
}

static int read_schema(struct caret__pg_address *a, const char *v, size_t n)
{
    bool ok = n >= 1 && n <= 40 && (v[0] == '_' || (v[0] >= 'a' && v[0] <= 'z'));

    for (size_t i = 0; i < n && ok; i++)
        ok = v[i] == '_' || (v[i] >= 'a' && v[i] <= 'z') || (v[i] >= '0' && v[i] <= '9');
    if (!ok)
        return caret__fail(CARET_E_INVALID,
                           "caret_prefix=%.*s: up to 40 of a-z, 0-9 and _, not a digit first", (int)n, v);
    snprintf(a->schema, sizeof a->schema, "%.*s", (int)n, v);
    return CARET_OK;
}

static int read_flag(const char *name, const char *v, size_t n, bool *flag)
{
    if (n != 1 || (*v != '0' && *v != '1'))
        return caret__fail(CARET_E_INVALID, "%s=%.*s: 0 or 1", name, (int)n, v);
    *flag = *v == '1';
    return CARET_OK;
}

static int read_silence(struct caret__pg_address *a, const char *v, size_t n)
{
    unsigned long s = strtoul(v, NULL, 10);

    if (n == 0 || n > 5 || strspn(v, "0123456789") != n || s > 86400)
        return caret__fail(CARET_E_INVALID, "caret_timeout=%.*s: seconds, up to 86400", (int)n, v);
    a->silence_ms = s != 0 ? (int)s * 1000 : -1;
    return CARET_OK;
}

/* A parameter that may be ours: NONE, it is not. */
static int read_own(struct caret__pg_address *a, const char *p, size_t n)
{
    const char *v;
    size_t len;
    bool changes = false, prepare = true;
    int rc;

    if (n < 6 || memcmp(p, "caret_", 6) != 0)
        return CARET_NONE;
    if (is_param(p, n, "caret_prefix", &v, &len))
        return read_schema(a, v, len);
    if (is_param(p, n, "caret_prepare", &v, &len)) {
        rc = read_flag("caret_prepare", v, len, &prepare);
        a->prepare = prepare ? CARET__PG_ALWAYS : CARET__PG_NEVER;
        return rc;
    }
    if (is_param(p, n, "caret_timeout", &v, &len))
        return read_silence(a, v, len);
    if (!is_param(p, n, "caret_changes", &v, &len))
        return caret__fail(CARET_E_INVALID, "%.*s: caret_prefix, caret_prepare and caret_timeout are known",
                           (int)n, p);
    rc = read_flag("caret_changes", v, len, &changes);
    if (rc == CARET_OK && changes)
        rc =
            caret__fail(CARET_E_UNSUPPORTED, "caret_changes=1: a log of changes is for a database in a file");
    return rc;
}

/* How long to try again, from libpq's own parameter. */
static int read_patience(struct caret__pg_address *a, const char *p, size_t n)
{
    const char *v;
    size_t len;

    if (!is_param(p, n, "connect_timeout", &v, &len))
        return CARET_OK;
    if (len == 0 || strspn(v, "0123456789") < len)
        return caret__fail(CARET_E_INVALID, "connect_timeout=%.*s: seconds", (int)len, v);
    unsigned long s = strtoul(v, NULL, 10);
    a->patience_ns = caret__min64(s > 0 ? s : 1, 86400) * 1000000000u;
    return CARET_OK;
}

static void append(char *to, char *sep, const char *p, size_t n)
{
    size_t at = strlen(to);

    to[at++] = *sep;
    memcpy(to + at, p, n);
    to[at + n] = '\0';
    *sep = '&';
}

/* The parameters after the question mark. */
static int read_params(struct caret__pg_address *a, const char *p)
{
    char plain = '?';
    size_t n;

    for (; *p != '\0'; p += n + (p[n] == '&')) {
        n = strcspn(p, "&");
        int rc = n != 0 ? read_own(a, p, n) : CARET_OK, bad = rc < 0 ? rc : read_patience(a, p, n);
        if (bad != CARET_OK)
            return bad;
        if (rc == CARET_NONE)
            append(a->plain, &plain, p, n);
    }
    return CARET_OK;
}

/* A colon that a port follows, or nothing: up to the end, or the next host. */
static bool is_port(const char *colon)
{
    const char *end = colon + 1 + strspn(colon + 1, "0123456789");

    return *end == '/' || *end == '?' || *end == ',' || *end == '\0';
}

/* What libpq would take for a part of a host, or not at all, and then show: a password as it is typed elsewhere. */
static int refuse_plain_secrets(const char *url)
{
    const char *user = strstr(url, "://") + 3, *end = user + strcspn(user, "/?"), *p;
    const char *at = memchr(user, '@', (size_t)(end - user)),
               *colon = memchr(user, ':', (size_t)(end - user));

    if (at != NULL && memchr(at + 1, '@', (size_t)(end - at - 1)) != NULL)
        return caret__fail(CARET_E_INVALID, "an address with several @: one in a password is written %%40");
    if (at == NULL && *end == '/' && *user != '[' && colon != NULL && !is_port(colon) &&
        memchr(end, '@', strcspn(end, "?")) != NULL)
        return caret__fail(CARET_E_INVALID,
                           "an address with a / before the @: one in a password is written %%2F");
    for (p = strchr(url, '%'); p != NULL; p = strchr(p + 1, '%'))
        if (strspn(p + 1, "0123456789abcdefABCDEF") < 2 || strncmp(p + 1, "00", 2) == 0)
            return caret__fail(CARET_E_INVALID,
                               "an address with a %% before what is not two hexadecimal digits, "
                               "or is 00: a %% of a password is written %%25");
    return CARET_OK;
}

int caret__pg_address_read(const char *url, struct caret__pg_address *a)
{
    const char *query = caret__address_query(url);
    int rc = CARET_OK;

    *a = (struct caret__pg_address){.schema = "caret",
                                    .prepare = CARET__PG_MAYBE,
                                    .patience_ns = CARET__PG_PATIENCE_NS,
                                    .silence_ms = CARET__PG_SILENCE_S * 1000};
    a->plain = calloc(1, strlen(url) + 2);
    a->shown = caret__address_shown(url);
    if (a->plain == NULL || a->shown == NULL) {
        rc = caret__fail(CARET_E_NOMEM, "no memory for an address");
    } else {
        memcpy(a->plain, url, (size_t)(query - url));
        rc = refuse_plain_secrets(url);
        if (rc == CARET_OK && *query == '?')
            rc = read_params(a, query + 1);
    }
    if (rc != CARET_OK) {
        free(a->plain);
        free(a->shown);
        a->plain = a->shown = NULL;
    }
    return rc;
}
