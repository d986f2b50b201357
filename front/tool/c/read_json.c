/*
 * read_json.c - nodes from JSON: a line of JSON lines, or one nested document.
 *
 * A cursor goes over the text with one function for each rule of the grammar.  Strings
 * become bytes in place: what an escape stands for is never longer.  No library
 * takes lone surrogates as bytes, nor leaves numbers as they are written.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/c/transfer.h"

struct cursor {
    struct caret__load *l;
    char *start, *p, *end;
};

/* The column of the place; its line, in a document of many, is noted. */
static size_t note_place(struct cursor *c)
{
    size_t column = 1;

    if (c->l->format == CARET__JSON) {
        c->l->line = 1;
        for (const char *p = c->start; p < c->p; p++, column++)
            if (*p == '\n') {
                c->l->line++;
                column = 0;
            }
    } else {
        column = (size_t)(c->p - c->start) + 1;
    }
    return column;
}

static int bad(struct cursor *c, const char *what)
{
    return caret__load_bad(c->l, "column %zu: %s", note_place(c), what);
}

static int set(struct cursor *c, caret_node_buf *n, caret_slice value)
{
    int rc = caret__load_set(c->l, &n->node, value.data, value.len);

    if (rc == CARET_E_SYNTAX)
        note_place(c);
    return rc;
}

static void skip(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
        c->p++;
}

/* Is that the next sign?  Then it has been read. */
static int accept(struct cursor *c, char sign)
{
    skip(c);
    if (c->p == c->end || *c->p != sign)
        return 0;
    c->p++;
    return 1;
}

static int expect(struct cursor *c, char sign)
{
    char text[] = "'.' is missing";

    text[1] = sign;
    return accept(c, sign) ? CARET_OK : bad(c, text);
}

/* -------------------------------------------------------------------- strings */

static int hex4(struct cursor *c, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, c->p++) {
        char h = c->p < c->end ? *c->p : 0;
        unsigned digit = h >= '0' && h <= '9'                 ? (unsigned)(h - '0')
                         : (h | 32) >= 'a' && (h | 32) <= 'f' ? (unsigned)((h | 32) - 'a') + 10
                                                              : 16;
        if (digit == 16)
            return bad(c, "four hexadecimal digits are missing");
        *code = *code * 16 + digit;
    }
    return CARET_OK;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xE0 | code >> 12);
        } else {
            *to++ = (char)(0xF0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (code & 0x3F));
    return to;
}

/* After \u: a character, a pair of surrogates, or a lone one that stands for a byte. */
static int read_u(struct cursor *c, char **to)
{
    unsigned code, low;
    int rc = hex4(c, &code);

    if (rc != CARET_OK)
        return rc;
    if (code >= 0xDC80 && code <= 0xDCFF) {
        *(*to)++ = (char)(code - 0xDC00);
        return CARET_OK;
    }
    if (code >= 0xD800 && code <= 0xDFFF) {
        if (code >= 0xDC00 || c->end - c->p < 6 || c->p[0] != '\\' || c->p[1] != 'u')
            return bad(c, "half of a surrogate pair");
        c->p += 2;
        rc = hex4(c, &low);
        if (rc != CARET_OK)
            return rc;
        if (low < 0xDC00 || low > 0xDFFF)
            return bad(c, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *to = put_utf8(*to, code);
    return CARET_OK;
}

static int read_escape(struct cursor *c, char **to)
{
    static const char signs[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *sign = c->p < c->end && *c->p != 0 ? strchr(signs, *c->p) : NULL;

    if (sign != NULL) {
        *(*to)++ = meanings[sign - signs];
        c->p++;
        return CARET_OK;
    }
    if (c->p == c->end || *c->p != 'u')
        return bad(c, "no such escape");
    c->p++;
    return read_u(c, to);
}

/* The string whose quote has been read. */
static int read_string(struct cursor *c, caret_slice *s)
{
    char *to = c->p;

    s->data = to;
    while (c->p < c->end && *c->p != '"') {
        if ((unsigned char)*c->p < 0x20)
            return bad(c, "a control character in a string");
        if (*c->p != '\\') {
            *to++ = *c->p++;
            continue;
        }
        c->p++;
        int rc = read_escape(c, &to);
        if (rc != CARET_OK)
            return rc;
    }
    if (c->p == c->end)
        return bad(c, "a string has no end");
    c->p++;
    s->len = (size_t)(to - s->data);
    return CARET_OK;
}

/* -------------------------------------------------------------------- numbers */

static size_t digits(struct cursor *c)
{
    char *from = c->p;

    while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
        c->p++;
    return (size_t)(c->p - from);
}

/* As the database writes it: what comes of adding it to nothing, in a local variable. */
static int canonical(struct cursor *c, caret_slice *s)
{
    caret_node_buf n;
    int rc = caret_node_var(&n.node, sizeof n, "n", 1);

    if (rc == CARET_OK)
        rc = caret_kill(c->l->locals, &n.node);
    if (rc == CARET_OK)
        rc = caret_incr(c->l->locals, &n.node, s->data, s->len, s);
    return rc == CARET_E_NUMOFLOW ? bad(c, "the number is not from 1E-43 to below 1E47: write it as a string")
                                  : rc;
}

static int read_number(struct cursor *c, caret_slice *s)
{
    char *from = c->p;
    size_t whole, fraction = 0;
    int plain = 1;

    c->p += *c->p == '-';
    char *first = c->p;
    whole = digits(c);
    if (whole == 0 || (whole > 1 && *first == '0')) {
        c->p = from;
        return bad(c, "neither a string, a number, true, false nor null");
    }
    if (c->p < c->end && *c->p == '.') {
        c->p++;
        fraction = digits(c);
        plain = 0;
        if (fraction == 0)
            return bad(c, "no digit after the point");
    }
    if (c->p < c->end && (*c->p | 32) == 'e') {
        *c->p++ = 'E'; /* as the database reads it */
        c->p += c->p < c->end && (*c->p == '+' || *c->p == '-');
        plain = 0;
        if (digits(c) == 0)
            return bad(c, "no digit in the exponent");
    }
    if (whole + fraction > 18)
        return bad(c, "a number of over 18 digits: write it as a string");
    *s = (caret_slice){from, (size_t)(c->p - from)};
    return plain && !(*first == '0' && from < first) ? CARET_OK : canonical(c, s);
}

static int read_scalar(struct cursor *c, caret_slice *s)
{
    static const char *const words[] = {"true", "false", "null"};

    if (accept(c, '"'))
        return read_string(c, s);
    if (c->p == c->end)
        return bad(c, "a value is missing");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->p) >= n && memcmp(c->p, words[i], n) == 0) {
            *s = (caret_slice){c->p, n};
            c->p += n;
            return CARET_OK;
        }
    }
    return read_number(c, s);
}

/* A value; if it is not a part of the text it is kept in l->value: a number lives until the session's next
 * call only. */
static int read_value(struct cursor *c, caret_slice *value)
{
    int rc = read_scalar(c, value);

    if (rc == CARET_OK && (value->data < c->start || value->data > c->end)) {
        rc = caret__load_room(c->l, value->len);
        if (rc == CARET_OK)
            value->data = memcpy(c->l->value, value->data, value->len);
    }
    return rc;
}

/* ----------------------------------------------------------------- JSON lines */

static int append(struct cursor *c, caret_node_buf *n, caret_slice s, unsigned i)
{
    int rc = i == 0 ? caret_node_var(&n->node, sizeof *n, s.data, s.len)
                    : caret_node_child(&n->node, sizeof *n, &n->node, s.data, s.len);

    return rc == CARET_OK ? CARET_OK : bad(c, caret_message());
}

static int read_path(struct cursor *c, caret_node_buf *n)
{
    caret_slice s;
    unsigned i = 0;
    int rc = expect(c, '[');

    do {
        if (rc == CARET_OK)
            rc = read_scalar(c, &s);
        if (rc == CARET_OK)
            rc = append(c, n, s, i++);
    } while (rc == CARET_OK && accept(c, ','));
    return rc == CARET_OK ? expect(c, ']') : rc;
}

static int is_key(caret_slice s, const char *name)
{
    return s.len == strlen(name) && memcmp(s.data, name, s.len) == 0;
}

int caret__load_jsonl(struct caret__load *l, char *text, size_t len)
{
    struct cursor c = {l, text, text, text + len};
    caret_node_buf n;
    caret_slice key, value = {NULL, 0};
    int has_node = 0, has_value = 0, rc = expect(&c, '{');

    do {
        if (rc == CARET_OK)
            rc = expect(&c, '"');
        if (rc == CARET_OK)
            rc = read_string(&c, &key);
        if (rc == CARET_OK)
            rc = expect(&c, ':');
        if (rc != CARET_OK)
            return rc;
        if (is_key(key, "node") && !has_node) {
            has_node = 1;
            rc = read_path(&c, &n);
        } else if (is_key(key, "value") && !has_value) {
            has_value = 1;
            rc = read_value(&c, &value);
        } else {
            return bad(&c, "members are node and value, each once");
        }
    } while (rc == CARET_OK && accept(&c, ','));
    if (rc == CARET_OK)
        rc = expect(&c, '}');
    skip(&c);
    if (rc == CARET_OK && c.p < c.end)
        rc = bad(&c, "nothing was expected after it");
    if (rc == CARET_OK && !(has_node && has_value))
        rc = bad(&c, has_node ? "there is no value" : "there is no node");
    return rc == CARET_OK ? set(&c, &n, value) : rc;
}

/* ----------------------------------------------------------------------- JSON */

static int read_tree(struct cursor *c, caret_node_buf *n);

static int read_array(struct cursor *c, const caret_node_buf *n)
{
    caret_node_buf child;
    int64_t i = 0;
    int rc = CARET_OK;

    if (accept(c, ']'))
        return CARET_OK;
    do {
        if (caret_node_child_int(&child.node, sizeof child, &n->node, ++i) != CARET_OK)
            return bad(c, caret_message());
        rc = read_tree(c, &child);
    } while (rc == CARET_OK && accept(c, ','));
    return rc == CARET_OK ? expect(c, ']') : rc;
}

/* One member below n; n is NULL: a global.  "__" is n's own value, "___" the subscript "__", and so on. */
static int read_member(struct cursor *c, caret_node_buf *n)
{
    caret_node_buf child;
    caret_slice key, value;
    size_t underscores = 0;
    int rc = expect(c, '"');

    if (rc == CARET_OK)
        rc = read_string(c, &key);
    if (rc == CARET_OK)
        rc = expect(c, ':');
    if (rc != CARET_OK)
        return rc;
    while (underscores < key.len && key.data[underscores] == '_')
        underscores++;
    if (n != NULL && key.len == 2 && underscores == 2) {
        rc = read_value(c, &value);
        return rc == CARET_OK ? set(c, n, value) : rc;
    }
    if (n != NULL && key.len > 2 && underscores == key.len)
        key.len--;
    if (n != NULL)
        caret_node_copy(&child.node, sizeof child, &n->node);
    rc = append(c, &child, key, n != NULL);
    return rc == CARET_OK ? read_tree(c, &child) : rc;
}

static int read_object(struct cursor *c, caret_node_buf *n)
{
    int rc = CARET_OK;

    if (accept(c, '}'))
        return CARET_OK;
    do
        rc = read_member(c, n);
    while (rc == CARET_OK && accept(c, ','));
    return rc == CARET_OK ? expect(c, '}') : rc;
}

static int read_tree(struct cursor *c, caret_node_buf *n)
{
    caret_slice value;
    int rc;

    if (accept(c, '{'))
        return read_object(c, n);
    if (accept(c, '['))
        return read_array(c, n);
    rc = read_value(c, &value);
    return rc == CARET_OK ? set(c, n, value) : rc;
}

int caret__load_json(struct caret__load *l, char *text, size_t len)
{
    struct cursor c = {l, text, text, text + len};
    int rc = expect(&c, '{');

    if (rc == CARET_OK)
        rc = read_object(&c, NULL);
    skip(&c);
    if (rc == CARET_OK && c.p < c.end)
        rc = bad(&c, "nothing was expected after it");
    return rc;
}
