/*
 * text.c - ZWR text by M's rules, characters, and text that grows.
 */
#include "m/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "caret.h"

int caret_m__str2zwr(const char *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len)
{
    if (!caret__num_canonical(in, n))
        return caret_str2zwr(in, n, utf8, buf, cap, len);
    *len = n;
    if (n > cap)
        return CARET_E_BUFFER;
    memcpy(buf, in, n);
    return CARET_OK;
}

size_t caret_m__character_put(uint32_t code, char bytes[4])
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    bytes[0] = (char)code;
    if (n > 1) {
        for (size_t i = n; --i > 0; code >>= 6)
            bytes[i] = (char)(0x80 | (code & 0x3F));
        bytes[0] = (char)((0xF00u >> n) | code);
    }
    return n;
}

bool caret_m__grow(struct caret_m__growing *t, const char *bytes, size_t n)
{
    if (t->cap - t->len <= n) { /* the NUL */
        size_t cap = (t->len + n + 1) * 2;
        char *more = realloc(t->bytes, cap);
        if (more == NULL)
            return false;
        t->bytes = more;
        t->cap = cap;
    }
    if (n > 0)
        memcpy(t->bytes + t->len, bytes, n);
    t->len += n;
    t->bytes[t->len] = '\0';
    return true;
}

/* ------------------------------------------------------------------- reading */

struct reader {
    const char *at, *end;
    bool utf8;
    char *out;
    size_t cap, len; /* what is needed */
};

static void put(struct reader *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, r->len++)
        if (r->len < r->cap)
            r->out[r->len] = bytes[i];
}

static void put_code(struct reader *r, uint32_t code, bool byte)
{
    char c[4] = {(char)code};

    put(r, c, byte ? 1 : caret_m__character_put(code, c));
}

static bool skip(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* The word, which is given in capitals. */
static bool skip_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(r->end - r->at) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (word[i] != (r->at[i] >= 'a' && r->at[i] <= 'z' ? r->at[i] - 'a' + 'A' : r->at[i]))
            return false;
    r->at += n;
    return true;
}

/* After the first quote.  If there is no last one, what comes after the last there is is lost. */
static bool quoted(struct reader *r)
{
    for (;;) {
        const char *quote = memchr(r->at, '"', (size_t)(r->end - r->at));
        if (quote == NULL) {
            r->at = r->end;
            return true;
        }
        put(r, r->at, (size_t)(quote - r->at));
        r->at = quote + 1;
        if (!skip(r, '"'))
            return true;
        put(r, "\"", 1);
    }
}

/* Surrogates, and what Unicode keeps for other uses than text. */
static bool is_no_character(uint32_t code)
{
    return (code >= 0xD800 && code <= 0xDFFF) || (code & 0xFFFE) == 0xFFFE ||
           (code >= 0xFDD0 && code <= 0xFDEF);
}

static bool code(struct reader *r, bool byte)
{
    const char *from = r->at;
    uint32_t v = 0;

    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if ((v = v * 10 + (uint32_t)(*r->at - '0')) > (byte ? 255 : 0x10FFFF))
            return false;
    if (!byte && is_no_character(v))
        return false;
    put_code(r, v, byte);
    return r->at > from;
}

static bool codes(struct reader *r, bool byte)
{
    do {
        if (r->at == r->end) /* M does not mind */
            return true;
        if (!code(r, byte))
            return false;
    } while (skip(r, ','));
    return skip(r, ')');
}

/* Whatever may look like a number, up to the end: nothing at all too. */
static bool number(struct reader *r)
{
    const char *from = r->at;
    bool point = false;

    skip(r, '-');
    while (r->at < r->end && ((*r->at >= '0' && *r->at <= '9') || (*r->at == '.' && !point)))
        point |= *r->at++ == '.';
    put(r, from, (size_t)(r->at - from));
    return r->at == r->end;
}

static bool part(struct reader *r)
{
    if (skip(r, '"'))
        return quoted(r);
    if (skip_word(r, "$C("))
        return codes(r, !r->utf8);
    if (skip_word(r, "$ZCH("))
        return codes(r, true);
    return number(r);
}

int caret_m__zwr2str(const char *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len)
{
    struct reader r = {.at = in, .end = in + n, .utf8 = utf8, .out = buf, .cap = cap};
    bool good;

    do
        good = part(&r);
    while (good && r.at < r.end && (good = skip(&r, '_')));
    /* a `_` at the end is before a number of no digits */
    *len = good ? r.len : 0;
    return !good ? CARET_E_SYNTAX : r.len > cap ? CARET_E_BUFFER : CARET_OK;
}

/* -------------------------------------------------------------------- UTF-8 */

size_t caret_m__character(const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;

    if (len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    /* longer than it has to be, half of a pair, beyond U+10FFFF */
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return len;
}
