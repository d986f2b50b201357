/*
 * address.c - names of databases that are not files.
 *
 *     postgresql://user:secret@host:5432/name?sslmode=require&password=secret
 *                       ------                                         ------   not shown
 *
 * What is before the first '/' after the scheme may have a password: from its first ':' to its last '@'.  A password is
 * meant to have '/', '?' and '@' as %2F, %3F and %40; people forget it.
 */
#include "store/address.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define AFTER_SCHEME "://"

/* Bytes of the scheme, 0: there is none. */
static size_t scheme_len(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

    return strncmp(text + n, AFTER_SCHEME, strlen(AFTER_SCHEME)) == 0 ? n : 0;
}

bool caret__address_is(const char *text)
{
    return scheme_len(text) != 0;
}

bool caret__address_of(const char *text, const struct caret__store *driver)
{
    size_t n = scheme_len(text);

    for (const char *const *s = driver->schemes; n != 0 && *s != NULL; s++)
        if (strlen(*s) == n && memcmp(*s, text, n) == 0)
            return true;
    return false;
}

/* Take out bytes [from, to). */
static void cut(char *from, const char *to)
{
    memmove(from, to, strlen(to) + 1);
}

/* The last '@' before any of `ends`; NULL: there is none. */
static char *last_at(char *from, const char *ends)
{
    return memrchr(from, '@', strcspn(from, ends));
}

static void cut_user_password(char *after_scheme)
{
    char *at = last_at(after_scheme, "/");

    if (at == NULL) /* a / in the password? */
        at = last_at(after_scheme, "?");
    char *colon = at != NULL ? memchr(after_scheme, ':', (size_t)(at - after_scheme)) : NULL;
    if (colon != NULL)
        cut(colon, at);
}

/* Parameters whose name ends so are secrets: password, sslpassword. */
static bool is_secret(const char *name, size_t len)
{
    static const char secret[] = "password";

    return len >= strlen(secret) && strncmp(name + len - strlen(secret), secret, strlen(secret)) == 0;
}

static void cut_secret_parameters(char *query)
{
    while (*query != '\0') {
        char *name = query + 1, *value = name + strcspn(name, "=&");
        char *end = value + strcspn(value, "&");
        if (*value == '=' && is_secret(name, (size_t)(value - name)))
            cut(value + 1, end), end = value + 1;
        query = end;
    }
}

char *caret__address_shown(const char *text)
{
    char *shown = strdup(text);
    size_t n = scheme_len(text);

    if (shown == NULL || n == 0)
        return shown;
    char *after = shown + n + strlen(AFTER_SCHEME);
    cut_user_password(after);
    cut_secret_parameters(after + strcspn(after, "?"));
    return shown;
}

int caret__address_refused(const char *function, const char *argument, const char *text)
{
    char *shown = caret__address_shown(text);
    int rc = caret__fail(
        CARET_E_UNSUPPORTED,
        "%s: that is for a database in a file; %s is the address of one on a server, whose own tools do "
        "that; `caret dump` and `caret load` copy it",
        function, shown != NULL ? shown : argument);

    free(shown);
    return rc;
}

const char *caret__address_query(const char *text)
{
    size_t n = scheme_len(text);
    const char *after = n != 0 ? text + n + strlen(AFTER_SCHEME) : text, *at = after + strcspn(after, "/@");

    after = *at == '@' ? at : after;
    return after + strcspn(after, "?");
}
