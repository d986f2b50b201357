/*
 * parse.c - requests: parse.h.
 *
 *     *2 CRLF  $3 CRLF GET CRLF  $5 CRLF hello CRLF          an array of bulks
 *     GET hello LF                                           inline: a line of words
 *
 * State of an array: `left` arguments are missing; `bulk` is -1 until the head of the next has come.
 */
#include "server/parse.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 64 * 1024, FREE_COUNT = 10, FREE_BULK = 16384, REDIS_BULK = 512 * 1024 * 1024 };

bool serve__args_room(struct serve__args *args, size_t more)
{
    if (args->cap - args->n >= more)
        return true;
    size_t cap = args->cap == 0 ? 64 : args->cap * 2;
    while (cap - args->n < more)
        cap *= 2;
    caret_slice *v = realloc(args->v, cap * sizeof *v);
    if (v == NULL)
        return false;
    args->v = v;
    args->cap = cap;
    return true;
}

void serve__args_free(struct serve__args *args)
{
    free(args->v);
    free(args->line);
    *args = (struct serve__args){0};
}

void serve__parse_moved(struct serve__args *args, size_t from, const char *old, const char *now)
{
    if (old != now)
        for (size_t i = from; i < args->n; i++)
            args->v[i].data = (const char *)((uintptr_t)args->v[i].data - (uintptr_t)old + (uintptr_t)now);
}

static enum serve__parsed fail(struct serve__parser *p, const char *error)
{
    p->error = error;
    return SERVE__PARSED_ERROR;
}

/* The number of a head, up to its CR: as Redis reads one. */
static bool number(const char *at, const char *end, int64_t *n)
{
    bool minus = at < end && *at == '-';
    at += minus;
    if (at == end || end - at > 19 || (*at == '0' && (end - at > 1 || minus)))
        return false;
    uint64_t sum = 0; /* 19 digits are less than 2^64 */
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        sum = sum * 10 + (uint64_t)(*at - '0');
    }
    if (sum > (uint64_t)INT64_MAX + minus)
        return false;
    *n = minus ? -(int64_t)(sum - 1) - 1 : (int64_t)sum;
    return true;
}

/* The end of the line that begins at p->at: its CR, of which the LF has come too; NULL: not yet. */
static const char *line_end(struct serve__parser *p, const struct serve__buffer *in)
{
    const char *cr = memchr(in->data + p->at, '\r', in->len - p->at);
    return cr != NULL && cr + 1 < in->data + in->len ? cr : NULL;
}

static enum serve__parsed count_head(struct serve__parser *p, const struct serve__buffer *in,
                                     const struct serve__parse_limits *limits)
{
    const char *cr = line_end(p, in);
    if (cr == NULL)
        return in->len - p->at > LINE_MAX_BYTES ? fail(p, "too big mbulk count string") : SERVE__PARSED_MORE;
    int64_t n;
    if (!number(in->data + p->at + 1, cr, &n) || n > INT_MAX)
        return fail(p, "invalid multibulk length");
    if (n > FREE_COUNT && limits->unauthenticated)
        return fail(p, "unauthenticated multibulk length");
    p->at = (size_t)(cr + 2 - in->data);
    p->left = n > 0 ? n : 0;
    p->bulk = -1;
    return SERVE__PARSED_COMMAND;
}

static enum serve__parsed bulk_head(struct serve__parser *p, const struct serve__buffer *in,
                                    const struct serve__parse_limits *limits)
{
    if (p->at == in->len)
        return SERVE__PARSED_MORE;
    const char *cr = line_end(p, in);
    if (cr == NULL)
        return in->len - p->at > LINE_MAX_BYTES ? fail(p, "too big bulk count string") : SERVE__PARSED_MORE;
    if (in->data[p->at] != '$') {
        snprintf(p->text, sizeof p->text, "expected '$', got '%c'", in->data[p->at]);
        return fail(p, p->text);
    }
    int64_t n;
    bool is_length = number(in->data + p->at + 1, cr, &n) && n >= 0;
    if (is_length && n > FREE_BULK && n <= REDIS_BULK && limits->unauthenticated)
        return fail(p, "unauthenticated bulk length");
    if (!is_length || n > limits->bulk)
        return fail(p, "invalid bulk length");
    p->at = (size_t)(cr + 2 - in->data);
    p->bulk = n;
    return SERVE__PARSED_COMMAND;
}

/* A bulk "$N\r\n" of one or two digits, and its bytes, at `at`: where it ends; NULL: it is not one, or not whole. */
static inline const char *short_bulk(const char *at, const char *end, caret_slice *arg)
{
    if (end - at < 6 || at[0] != '$' || at[1] < '1' || at[1] > '9')
        return NULL;
    size_t n = (size_t)(at[1] - '0');
    at += 2;
    if (*at >= '0' && *at <= '9')
        n = n * 10 + (size_t)(*at++ - '0');
    if (*at != '\r' || (size_t)(end - at) < 2 + n + 2)
        return NULL;
    *arg = (caret_slice){at + 2, n};
    return at + 2 + n + 2;
}

/* The quick way through what is nearly always there: a command of few and short arguments, all of which have come. */
static bool short_command(struct serve__parser *p, const struct serve__buffer *in, struct serve__args *args)
{
    const char *at = in->data + p->at, *end = in->data + in->len;
    if (end - at < 4 || at[1] < '1' || at[1] > '9' || at[2] != '\r')
        return false;
    size_t n = (size_t)(at[1] - '0');
    if (!serve__args_room(args, n))
        return false;
    at += 4;
    for (size_t i = 0; i < n; i++)
        if ((at = short_bulk(at, end, &args->v[args->n + i])) == NULL)
            return false;
    args->n += n;
    p->at = (size_t)(at - in->data);
    return true;
}

static enum serve__parsed arguments(struct serve__parser *p, const struct serve__buffer *in,
                                    struct serve__args *args, const struct serve__parse_limits *limits)
{
    for (; p->left > 0; p->left--) {
        caret_slice arg;
        if (!serve__args_room(args, 1))
            return fail(p, "out of memory");
        const char *next = p->bulk < 0 ? short_bulk(in->data + p->at, in->data + in->len, &arg) : NULL;
        if (next != NULL) {
            args->v[args->n++] = arg;
            p->at = (size_t)(next - in->data);
            continue;
        }
        if (p->bulk < 0) {
            enum serve__parsed done = bulk_head(p, in, limits);
            if (done != SERVE__PARSED_COMMAND)
                return done;
        }
        if (in->len - p->at < (size_t)p->bulk + 2)
            return SERVE__PARSED_MORE;
        args->v[args->n++] = (caret_slice){in->data + p->at, (size_t)p->bulk};
        p->at += (size_t)p->bulk + 2;
        p->bulk = -1;
    }
    return SERVE__PARSED_COMMAND;
}

/* ----------------------------------------------------------------- inline */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* A character after a backslash within "...": bytes read; *c is what it stands for. */
static size_t escaped(const char *at, const char *end, char *c)
{
    if (end - at >= 3 && at[0] == 'x' && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
        *c = (char)(hex(at[1]) * 16 + hex(at[2]));
        return 3;
    }
    static const char from[] = "nrtba", to[] = "\n\r\t\b\a";
    const char *found = *at != 0 ? strchr(from, *at) : NULL;
    *c = found != NULL ? to[found - from] : *at;
    return 1;
}

static bool space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* One word from *at on, written to *to.  false: quotes are not closed, or something follows them. */
static bool word(const char **at, const char *end, char **to)
{
    char quote = 0;
    const char *p = *at;
    char *out = *to;
    for (; p < end; p++) {
        if (quote == '"' && *p == '\\' && p + 1 < end) {
            p += escaped(p + 1, end, out++);
        } else if (quote == '\'' && *p == '\\' && p + 1 < end && p[1] == '\'') {
            *out++ = '\'';
            p++;
        } else if (quote != 0 && *p == quote) {
            if (p + 1 < end && !space(p[1]) && p[1] != 0)
                return false;
            quote = 0;
            p++;
            break;
        } else if (quote == 0 && (space(*p) || *p == 0)) {
            break;
        } else if (quote == 0 && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else {
            *out++ = *p;
        }
    }
    *at = p;
    *to = out;
    return quote == 0;
}

bool serve__split_line(char *line, size_t len, struct serve__args *args)
{
    const char *at = line, *end = line + len;
    for (;;) {
        while (at < end && space(*at))
            at++;
        if (at == end || *at == 0)
            return true;
        char *begin = line + (at - line), *to = begin;
        if (!word(&at, end, &to) || !serve__args_room(args, 1))
            return false;
        args->v[args->n++] = (caret_slice){begin, (size_t)(to - begin)};
    }
}

/* Where the words of a line can be written: words without quotes are what stands there. */
static char *place_of_words(struct serve__args *args, char *begin, size_t len)
{
    if (memchr(begin, '"', len) == NULL && memchr(begin, '\'', len) == NULL)
        return begin;
    char *copy = realloc(args->line, len);
    if (copy == NULL)
        return NULL;
    args->line = copy;
    return memcpy(copy, begin, len);
}

static enum serve__parsed line(struct serve__parser *p, struct serve__buffer *in, struct serve__args *args)
{
    char *begin = in->data + p->at;
    char *lf = memchr(begin, '\n', in->len - p->at);
    if (lf == NULL)
        return in->len - p->at > LINE_MAX_BYTES ? fail(p, "too big inline request") : SERVE__PARSED_MORE;
    p->at = (size_t)(lf + 1 - in->data);
    if (lf > begin && lf[-1] == '\r')
        lf--;
    char *words = place_of_words(args, begin, (size_t)(lf - begin));
    if (words == NULL)
        return fail(p, "out of memory");
    return serve__split_line(words, (size_t)(lf - begin), args) ? SERVE__PARSED_COMMAND
                                                                : fail(p, "unbalanced quotes in request");
}

enum serve__parsed serve__parse(struct serve__parser *p, struct serve__buffer *in, struct serve__args *args,
                                const struct serve__parse_limits *limits, size_t *first, int *argc)
{
    for (;;) {
        enum serve__parsed done = SERVE__PARSED_COMMAND;
        if (p->left == 0) {
            if (p->at == in->len)
                return SERVE__PARSED_MORE;
            p->start = p->at;
            p->first = args->n;
            if (in->data[p->at] != '*' && args->n > 0)
                return SERVE__PARSED_MORE; /* args->line may have words of those before */
            if (in->data[p->at] == '*')
                done = short_command(p, in, args) ? SERVE__PARSED_COMMAND : count_head(p, in, limits);
            else
                done = line(p, in, args);
        }
        if (done == SERVE__PARSED_COMMAND)
            done = arguments(p, in, args, limits);
        if (done != SERVE__PARSED_COMMAND)
            return done;
        if (args->n == p->first) /* "*0", an empty line */
            continue;
        *first = p->first;
        *argc = (int)(args->n - p->first);
        p->first = args->n;
        p->start = p->at;
        return SERVE__PARSED_COMMAND;
    }
}

bool serve__parse_again(struct serve__parser *p, const struct serve__buffer *in, struct serve__args *args,
                        size_t len, int argc)
{
    const char *at = in->data + p->at;
    if (in->len - p->at < len || at[1] != '0' + argc || at[2] != '\r' || memcmp(at, at - len, len) != 0 ||
        !serve__args_room(args, (size_t)argc))
        return false;
    caret_slice *now = args->v + args->n, *before = now - argc;
    for (int i = 0; i < argc; i++)
        now[i] = (caret_slice){before[i].data + len, before[i].len};
    args->n += (size_t)argc;
    p->first = args->n;
    p->at += len;
    p->start = p->at;
    return true;
}
