/*
 * args.c - what arguments say: numbers and words, as Redis reads them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/call.h"

bool serve__is(const caret_slice *arg, const char *word)
{
    return strncasecmp(arg->data, word, arg->len) == 0 && word[arg->len] == 0 &&
           (arg->len == 0 || memchr(arg->data, 0, arg->len) == NULL);
}

bool serve__read_integer(const caret_slice *text, int64_t *n)
{
    const char *at = text->data, *end = at + text->len;
    bool minus = at < end && *at == '-';
    at += minus;
    if (at == end || (*at == '0' && (end - at > 1 || minus)))
        return false;
    uint64_t sum = 0, most = minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    for (; at < end; at++) {
        unsigned digit = (unsigned char)*at - '0';
        if (digit > 9 || sum > (most - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *n = minus ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

bool serve__read_real(const caret_slice *text, double *d)
{
    char copy[256], *end;
    if (text->len == 0 || text->len >= sizeof copy || text->data[0] == ' ' ||
        (text->data[0] >= '\t' && text->data[0] <= '\r'))
        return false;
    memcpy(copy, text->data, text->len);
    copy[text->len] = 0;
    *d = strtod(copy, &end);
    return end == copy + text->len && !isnan(*d) && !(isinf(*d) && strpbrk(copy, "0123456789") != NULL);
}

bool serve__read_long_real(const caret_slice *text, long double *d)
{
    char copy[256], *end;
    if (text->len == 0 || text->len >= sizeof copy || text->data[0] == ' ' ||
        (text->data[0] >= '\t' && text->data[0] <= '\r'))
        return false;
    memcpy(copy, text->data, text->len);
    copy[text->len] = 0;
    *d = strtold(copy, &end);
    return end == copy + text->len && !isnan(*d) && !(isinf(*d) && strpbrk(copy, "0123456789") != NULL);
}

size_t serve__long_real_text(char *text, long double d)
{
    size_t len = (size_t)snprintf(text, SERVE__LONG_REAL_MAX, "%.17Lf", d);
    if (strchr(text, '.') != NULL) {
        while (text[len - 1] == '0')
            len--;
        if (text[len - 1] == '.')
            len--;
    }
    if (len == 2 && memcmp(text, "-0", 2) == 0) {
        text[0] = '0';
        len = 1;
    }
    return len;
}

int serve__arg_integer(struct serve__call *q, int i, int64_t *n)
{
    return serve__read_integer(&q->argv[i], n) ? CARET_OK : SERVE__E_INTEGER;
}

int serve__arg_between(struct serve__call *q, int i, int64_t least, int64_t most, int64_t *n)
{
    int rc = serve__arg_integer(q, i, n);
    if (rc != CARET_OK || (*n >= least && *n <= most))
        return rc;
    if (least == 0)
        return serve__fail(q, "ERR value is out of range, must be positive");
    return serve__fail(q, "ERR value is out of range, value must between %" PRId64 " and %" PRId64, least,
                       most);
}

int serve__arg_real(struct serve__call *q, int i, double *d)
{
    return serve__read_real(&q->argv[i], d) ? CARET_OK : SERVE__E_FLOAT;
}

/* xorshift128+, seeded by the worker. */
uint64_t serve__random(struct serve__runner *r)
{
    uint64_t a = r->random[0], b = r->random[1];
    r->random[0] = b;
    a ^= a << 23;
    r->random[1] = a ^ b ^ a >> 18 ^ b >> 5;
    return r->random[1] + b;
}
