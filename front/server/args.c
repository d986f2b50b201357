/*
 * args.c - what arguments say: numbers and words, as Redis reads them.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "server/call.h"
#include "server/codec/number.h"

bool serve__is(const caret_slice *arg, const char *word)
{
    return strncasecmp(arg->data, word, arg->len) == 0 && word[arg->len] == 0 &&
           (arg->len == 0 || memchr(arg->data, 0, arg->len) == NULL);
}

bool serve__read_integer(const caret_slice *text, int64_t *n)
{
    return caret_codec__parse_i64(text->data, text->len, n);
}

bool serve__read_long_real(const caret_slice *text, long double *d)
{
    return caret_codec__parse_long_double(text->data, text->len, d);
}

size_t serve__long_real_text(char *text, long double d)
{
    return caret_codec__print_human(d, text);
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

/* xorshift128+, seeded by the worker. */
uint64_t serve__random(struct serve__runner *r)
{
    uint64_t a = r->random[0], b = r->random[1];
    r->random[0] = b;
    a ^= a << 23;
    r->random[1] = a ^ b ^ a >> 18 ^ b >> 5;
    return r->random[1] + b;
}
