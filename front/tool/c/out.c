/*
 * out.c - buffered output, and what is written as JSON strings and CSV fields.
 *
 * A write that fails is remembered, and nothing is written after it: the writer looks once
 * in a while.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/c/host.h"
#include "tool/c/transfer.h"

#define BUFFER (1u << 18)

int caret__out_init(struct caret__out *o, int fd)
{
    *o = (struct caret__out){.fd = fd, .cap = BUFFER, .buf = malloc(BUFFER)};
    return o->buf != NULL ? 0 : -1;
}

int caret__out_flush(struct caret__out *o)
{
    size_t at = 0;

    while (at < o->used && o->error == 0) {
        ssize_t n = write(o->fd, o->buf + at, o->used - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR || caret__interrupted != 0)
            o->error = n == 0 ? EIO : errno;
    }
    o->used = 0;
    return o->error == 0 ? 0 : -1;
}

void caret__out_free(struct caret__out *o)
{
    free(o->buf);
    o->buf = NULL;
}

char *caret__out_room(struct caret__out *o, size_t n)
{
    if (n <= o->cap - o->used)
        return o->buf + o->used;
    caret__out_flush(o);
    if (n > o->cap) {
        char *more = realloc(o->buf, n);
        if (more == NULL) {
            o->error = ENOMEM;
            return NULL;
        }
        o->buf = more;
        o->cap = n;
    }
    return o->buf;
}

void caret__out_put(struct caret__out *o, const char *bytes, size_t n)
{
    char *to = caret__out_room(o, n);

    if (to != NULL && n > 0) {
        memcpy(to, bytes, n);
        o->used += n;
    }
}

void caret__out_text(struct caret__out *o, const char *text)
{
    caret__out_put(o, text, strlen(text));
}

/* ----------------------------------------------------------------------- JSON */

/* Length of the valid UTF-8 character at p, whose first byte is above 127; 0 = there is none. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    size_t len = p[0] >= 0xC2 && p[0] < 0xE0   ? 2
                 : p[0] >= 0xE0 && p[0] < 0xF0 ? 3
                 : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                               : 0;
    unsigned char low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;

    if (len == 0 || len > n || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

/* A lone surrogate U+DC80 to U+DCFF for a byte that is not UTF-8, \u00XX for a control character. */
static char *put_escape(char *to, unsigned char c)
{
    static const char digits[] = "0123456789abcdef", shorts[] = "btn?fr";
    const char *high = c < 0x80 ? "00" : "dc";

    *to++ = '\\';
    if (c == '"' || c == '\\') {
        *to++ = (char)c;
    } else if (c >= 8 && c <= 13 && c != 11) {
        *to++ = shorts[c - 8];
    } else {
        *to++ = 'u';
        *to++ = high[0];
        *to++ = high[1];
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    return to;
}

#define STRETCH 4096u /* bytes escaped at once: that much is sure to fit */

void caret__out_json(struct caret__out *o, const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes, *end = p + n;

    caret__out_put(o, "\"", 1);
    while (p < end) {
        char *start = caret__out_room(o, 6 * STRETCH + 8), *to = start;
        if (start == NULL)
            return;
        for (const unsigned char *stop = (size_t)(end - p) > STRETCH ? p + STRETCH : end; p < stop;) {
            size_t len = *p < 0x80 ? *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7F
                                   : utf8_length(p, (size_t)(end - p));
            if (len == 0)
                to = put_escape(to, *p++);
            for (; len > 0; len--)
                *to++ = (char)*p++;
        }
        o->used += (size_t)(to - start);
    }
    caret__out_put(o, "\"", 1);
}

/* A whole number of at most 15 digits, as every JSON library reads and writes it. */
static int is_safe_number(const char *p, size_t n)
{
    size_t i = n > 0 && p[0] == '-';

    if (n - i == 0 || n - i > 15 || (p[i] == '0' && n > 1))
        return 0;
    for (; i < n; i++)
        if (p[i] < '0' || p[i] > '9')
            return 0;
    return 1;
}

void caret__out_json_scalar(struct caret__out *o, const char *bytes, size_t n)
{
    if (is_safe_number(bytes, n))
        caret__out_put(o, bytes, n);
    else
        caret__out_json(o, bytes, n);
}

/* ------------------------------------------------------------------------ CSV */

static int needs_quotes(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == '"' || p[i] == ',' || p[i] == '\n' || p[i] == '\r')
            return 1;
    return n > 0 && (p[0] == ' ' || p[n - 1] == ' ');
}

void caret__out_csv(struct caret__out *o, const char *bytes, size_t n, int quoted)
{
    const char *quote;

    if (!quoted && !needs_quotes(bytes, n)) {
        caret__out_put(o, bytes, n);
        return;
    }
    caret__out_put(o, "\"", 1);
    while (n > 0 && (quote = memchr(bytes, '"', n)) != NULL) {
        size_t len = (size_t)(quote - bytes) + 1;
        caret__out_put(o, bytes, len);
        caret__out_put(o, "\"", 1);
        bytes += len;
        n -= len;
    }
    caret__out_put(o, bytes, n);
    caret__out_put(o, "\"", 1);
}
