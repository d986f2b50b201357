/*
 * json_read.c - JSON into a subtree.
 *
 * The text is gone through twice: without a node, to see whether it is JSON, and with one, to store it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "m/json.h"
#include "m/limits.h"
#include "m/number.h"
#include "m/text.h"

struct parser {
    struct caret_m__tree *t;
    struct caret_m__json_error *e;
    const char *start, *at, *end;
    unsigned depth;
    struct caret_m__growing text; /* the string or number read last */
};

static bool failed(struct parser *p, int rc)
{
    p->e->code = 0;
    p->e->rc = rc;
    return false;
}

static bool refused(struct parser *p, int code, const char *why)
{
    size_t line = 1, column = 1;

    for (const char *c = p->start; c < p->at; c++) {
        line += *c == '\n';
        column = *c == '\n' ? 1 : column + 1;
    }
    p->e->code = code;
    snprintf(p->e->why, sizeof p->e->why, "%s at line %zu, column %zu", why, line, column);
    return false;
}

static bool invalid(struct parser *p, const char *why)
{
    return refused(p, CARET_M__E_JANSSONINVALIDJSON, why);
}

/* ---------------------------------------------------------------------- tokens */

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static bool skip(struct parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool keep(struct parser *p, const char *bytes, size_t n)
{
    return caret_m__grow(&p->text, bytes, n) || failed(p, CARET_E_NOMEM);
}

static bool keep_code(struct parser *p, uint32_t code)
{
    char c[4];

    return keep(p, c, caret_m__character_put(code, c));
}

static bool hex4(struct parser *p, uint32_t *code)
{
    *code = 0;
    if (p->end - p->at < 4)
        return invalid(p, "invalid escape");
    for (int i = 0; i < 4; i++) {
        char c = *p->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return invalid(p, "invalid escape");
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

/* After \u: one, or two that are a pair. */
static bool unicode(struct parser *p)
{
    uint32_t code, low;

    if (!hex4(p, &code))
        return false;
    if (code >= 0xDC00 && code <= 0xDFFF)
        return invalid(p, "invalid Unicode escape");
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
            return invalid(p, "invalid Unicode escape");
        p->at += 2;
        if (!hex4(p, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return invalid(p, "invalid Unicode escape");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    return keep_code(p, code);
}

static bool escape(struct parser *p)
{
    static const char known[] = "\"\"\\\\//b\bf\fn\nr\rt\t";

    if (p->at == p->end)
        return invalid(p, "premature end of input");
    char c = *p->at++;
    if (c == 'u')
        return unicode(p);
    for (const char *k = known; *k != '\0'; k += 2)
        if (*k == c)
            return keep(p, k + 1, 1);
    return invalid(p, "invalid escape");
}

/* After the first quote. */
static bool string(struct parser *p)
{
    p->text.len = 0;
    for (;;) {
        if (p->at == p->end)
            return invalid(p, "premature end of input");
        if (*p->at == '"') {
            p->at++;
            return true;
        }
        size_t len = caret_m__character(p->at, (size_t)(p->end - p->at));
        if (len == 0)
            return invalid(p, "unable to decode a byte: it is not UTF-8");
        if ((unsigned char)*p->at < 0x20)
            return invalid(p, "control character");
        if (*p->at == '\\') {
            p->at++;
            if (!escape(p))
                return false;
        } else {
            if (!keep(p, p->at, len))
                return false;
            p->at += len;
        }
    }
}

static bool digits(struct parser *p)
{
    const char *from = p->at;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > from || invalid(p, "invalid token");
}

/* As JSON has it; in p->text as M has it. */
static bool number(struct parser *p)
{
    struct caret__dec v;
    const char *from = p->at;

    p->at += *p->at == '-';
    const char *first = p->at;
    if (!digits(p))
        return false;
    if (*first == '0' && p->at - first > 1)
        return invalid(p, "invalid token");
    if (p->at < p->end && *p->at == '.' && (p->at++, !digits(p)))
        return false;
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        p->at += p->at < p->end && (*p->at == '+' || *p->at == '-');
        if (!digits(p))
            return false;
    }
    p->text.len = 0;
    if (!keep(p, from, (size_t)(p->at - from)))
        return false;
    for (size_t i = 0; i < p->text.len; i++)
        p->text.bytes[i] = p->text.bytes[i] == 'e' ? 'E' : p->text.bytes[i];
    if (caret_m__number(p->text.bytes, p->text.len, &v) != 0)
        return refused(p, CARET_M__E_NUMOFLOW, "a number is too large");
    char text[CARET__DEC_MAX];
    size_t n = caret__dec_format(v, text);
    p->text.len = 0;
    return keep(p, text, n);
}

/* ---------------------------------------------------------------------- values */

static bool value(struct parser *p, struct caret_m__place *n);

static bool store(struct parser *p, struct caret_m__place *n)
{
    int rc = n != NULL ? caret_m__place_set(p->t, n, p->text.bytes, p->text.len) : CARET_OK;

    return rc == CARET_OK || failed(p, rc);
}

/* What is not M's is marked with $C(0): words, and strings that are numbers. */
static bool store_marked(struct parser *p, struct caret_m__place *n)
{
    if (!keep(p, "", 1))
        return false;
    memmove(p->text.bytes + 1, p->text.bytes, p->text.len - 1);
    p->text.bytes[0] = '\0';
    return store(p, n);
}

static bool word(struct parser *p, struct caret_m__place *n)
{
    static const char *const words[] = {"true", "false", "null"};

    for (int i = 0; i < 3; i++) {
        size_t len = strlen(words[i]);
        if ((size_t)(p->end - p->at) < len || memcmp(p->at, words[i], len) != 0)
            continue;
        p->at += len;
        p->text.len = 0;
        return keep(p, words[i], len) && store_marked(p, n);
    }
    return invalid(p, p->at == p->end ? "premature end of input" : "invalid token");
}

/* The value of a subscript: p->text, or the number i. */
static bool member(struct parser *p, struct caret_m__place *n, bool named, int64_t i)
{
    struct caret_m__place child;
    char digits[24];

    if (n == NULL)
        return value(p, NULL);
    size_t len = named ? p->text.len : caret__i64_format(i, digits);
    const char *sub = !named ? digits : len != 0 ? p->text.bytes : "";
    int rc = caret_m__place_child(p->t, &child, n, sub, len);
    return rc == CARET_OK ? value(p, &child) : failed(p, rc);
}

/* After the brace.  A member without a name is the node's own value, if it has one. */
static bool object(struct parser *p, struct caret_m__place *n)
{
    if (skip(p, '}'))
        return true;
    do {
        if (!skip(p, '"'))
            return invalid(p, "string or '}' expected");
        if (!string(p))
            return false;
        if (!skip(p, ':'))
            return invalid(p, "':' expected");
        skip_space(p);
        bool own = p->text.len == 0 && p->at < p->end && *p->at != '{' && *p->at != '[';
        if (!(own ? value(p, n) : member(p, n, true, 0)))
            return false;
    } while (skip(p, ','));
    return skip(p, '}') || invalid(p, "'}' expected");
}

static bool array(struct parser *p, struct caret_m__place *n)
{
    int64_t i = 0;

    if (skip(p, ']'))
        return true;
    do
        if (!member(p, n, false, i++))
            return false;
    while (skip(p, ','));
    return skip(p, ']') || invalid(p, "']' expected");
}

static bool inside(struct parser *p, struct caret_m__place *n,
                   bool (*what)(struct parser *p, struct caret_m__place *n))
{
    if (++p->depth > CARET_M__MAX_SUBS + 1)
        return refused(p, CARET_M__E_MAXNRSUBSCRIPTS, "too deep");
    bool good = what(p, n);
    p->depth--;
    return good;
}

static bool value(struct parser *p, struct caret_m__place *n)
{
    if (skip(p, '{'))
        return inside(p, n, object);
    if (skip(p, '['))
        return inside(p, n, array);
    if (skip(p, '"'))
        return string(p) &&
               (caret__num_canonical(p->text.bytes, p->text.len) ? store_marked(p, n) : store(p, n));
    if (p->at < p->end && (*p->at == '-' || (*p->at >= '0' && *p->at <= '9')))
        return number(p) && store(p, n);
    return word(p, n);
}

static bool document(struct parser *p, struct caret_m__place *n)
{
    p->at = p->start;
    skip_space(p);
    if (p->at == p->end || (*p->at != '{' && *p->at != '['))
        return invalid(p, "'[' or '{' expected");
    if (!value(p, n))
        return false;
    skip_space(p);
    return p->at == p->end || invalid(p, "end of file expected");
}

int caret_m__json_decode(struct caret_m__tree *t, struct caret_m__place *n, const char *text, size_t len,
                         struct caret_m__json_error *e)
{
    struct parser p = {.t = t, .e = e, .start = text, .end = text + len};

    *e = (struct caret_m__json_error){0};
    bool good = document(&p, NULL) && document(&p, n);
    free(p.text.bytes);
    return good ? 0 : -1;
}
