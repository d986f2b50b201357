/*
 * glob.c - patterns of KEYS, SCAN, PSUBSCRIBE and CONFIG GET.
 *
 * A star remembers where it stands; what does not fit goes back to the last one only, as an earlier star can
 * take no more than that one could.  So the time is at most the product of both lengths, and nothing is
 * nested.
 */
#include "server/call.h"

static unsigned char lower(unsigned char c, bool nocase)
{
    return nocase && c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* [a-c], [^x], [\]]: does c fit?  *p is after it then. */
static bool in_class(const char **p, const char *end, unsigned char c, bool nocase)
{
    const char *at = *p + 1;
    bool negated = at < end && *at == '^', found = false;
    at += negated;
    c = lower(c, nocase);
    for (; at < end && *at != ']'; at++) {
        if (*at == '\\' && end - at >= 2) {
            at++;
            found |= (unsigned char)*at == c;
        } else if (end - at >= 3 && at[1] == '-') {
            unsigned char a = lower((unsigned char)at[0], nocase), b = lower((unsigned char)at[2], nocase);
            found |= a <= b ? a <= c && c <= b : b <= c && c <= a;
            at += 2;
        } else {
            found |= lower((unsigned char)*at, nocase) == c;
        }
    }
    *p = at < end ? at + 1 : end;
    return found != negated;
}

/* Does one character of the pattern, which is not a star, fit c?  *p is after it then. */
static bool one(const char **p, const char *end, unsigned char c, bool nocase)
{
    if (**p == '[')
        return in_class(p, end, c, nocase);
    if (**p == '?') {
        (*p)++;
        return true;
    }
    if (**p == '\\' && end - *p >= 2)
        (*p)++;
    return lower((unsigned char)*(*p)++, nocase) == lower(c, nocase);
}

bool serve__glob(const char *pattern, size_t plen, const char *text, size_t len, bool nocase)
{
    const char *p = pattern, *end = pattern + plen, *t = text, *stop = text + len;
    const char *star = NULL, *from = NULL;
    while (t < stop) {
        const char *next = p;
        if (p < end && *p == '*') {
            star = ++p;
            from = t;
        } else if (p < end && one(&next, end, (unsigned char)*t, nocase)) {
            p = next;
            t++;
        } else if (star != NULL) {
            p = star;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < end && *p == '*')
        p++;
    return p == end;
}
