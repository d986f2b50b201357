/*
 * json.c - CARET.JSON: a node and what is below it as JSON, as n:json() of the Lua module writes it.
 *
 *     number             a value that is a number in canonical form: 5, -1.5, .5 (0.5 in JSON), 1.5E300
 *     true false null    these values
 *     string             any other value, or one with the mark "string"
 *     array              children 1..n and no value, or the mark "array"
 *     object             other children.  The member "__" is the node's own value
 *
 * A mark is the value of the child "__json" (front/lua/caret/json.lua has the rules).  Bytes that are not UTF-8 are
 * written as a lone surrogate each: FF is "\udcff".  A tree has at most 31 levels below a global, which bounds the
 * recursion.
 */
#include <ctype.h>

#include "server/node/node.h"

struct writer {
    struct serve__call *q;
    struct serve__buffer *b;
};

static int write_node(struct writer *w, caret_node *n);

static void add(struct writer *w, const char *text)
{
    serve__buffer_add(w->b, text, strlen(text));
}

/* ---------------------------------------------------------------- numbers */

static size_t digits_at(const char *text, size_t i, size_t len)
{
    size_t n = 0;
    while (i + n < len && isdigit((unsigned char)text[i + n]))
        n++;
    return n;
}

/* "E5", "E-400" at the end of a canonical number with `whole` digits before its point. */
static bool has_exponent(const char *text, size_t i, size_t len, size_t whole)
{
    bool minus = i + 1 < len && text[i + 1] == '-';
    size_t from = i + 1 + minus, n = digits_at(text, from, len);
    int64_t e = 0;
    if (n == 0 || n > 9 || from + n != len || text[from] == '0' || whole != 1)
        return false;
    for (size_t k = from; k < len; k++)
        e = e * 10 + (text[k] - '0');
    return minus ? e > 43 : e > 46; /* nearer to 0 there is none: the point is written */
}

/* Is it the canonical text of a number?  Any number of digits. */
static bool is_number(const char *text, size_t len)
{
    size_t i = len > 0 && text[0] == '-', zeros = 0;
    size_t whole = digits_at(text, i, len), fraction = 0, at = i + whole;
    if (len == 1 && text[0] == '0')
        return true;
    if (whole > 0 && text[i] == '0')
        return false;
    if (at < len && text[at] == '.') {
        fraction = digits_at(text, at + 1, len);
        while (zeros < fraction && text[at + 1 + zeros] == '0')
            zeros++;
        at += 1 + fraction;
        if (fraction == 0 || text[at - 1] == '0')
            return false;
    }
    if (at < len)
        return text[at] == 'E' && has_exponent(text, at, len, whole);
    return whole > 0 ? whole <= 47 : fraction > 0 && zeros <= 42;
}

/* ---------------------------------------------------------------- strings */

/* Length of the UTF-8 character at s; 0: there is none. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t len = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                 : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                : 0;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xf0)
        low = 0x90;
    if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf4)
        high = 0x8f;
    if (len == 0 || left < len || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return len;
}

static void add_control(struct writer *w, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c != 0 ? strchr(from, c) : NULL;
    if (at != NULL)
        serve__buffer_print(w->b, "\\%c", to[at - from]);
    else
        serve__buffer_print(w->b, "\\u%04x", c);
}

static void add_quoted(struct writer *w, const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    add(w, "\"");
    for (size_t i = 0; i < len;) {
        size_t n = s[i] < 0x80 ? 1 : utf8_length(s + i, len - i);
        if (n == 0)
            serve__buffer_print(w->b, "\\udc%02x", s[i]);
        else if (s[i] < 32 || s[i] == '"' || s[i] == '\\' || s[i] == 127)
            add_control(w, s[i]);
        else
            serve__buffer_add(w->b, s + i, n);
        i += n > 0 ? n : 1;
    }
    add(w, "\"");
}

static bool is_text(const caret_slice *s, const char *text)
{
    return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

static void add_value(struct writer *w, const caret_slice *value, bool is_string)
{
    bool word = is_text(value, "true") || is_text(value, "false") || is_text(value, "null");
    if (is_string || (!word && !is_number(value->data, value->len))) {
        add_quoted(w, value->data, value->len);
        return;
    }
    size_t minus = value->data[0] == '-';
    serve__buffer_add(w->b, value->data, minus);
    if (value->len > minus && value->data[minus] == '.')
        add(w, "0");
    serve__buffer_add(w->b, value->data + minus, value->len - minus);
}

/* ------------------------------------------------------------------ trees */

enum { MARK_ARRAY = 1, MARK_OBJECT = 2, MARK_STRING = 4 };
static const char mark_name[] = "__json";

static int mark_of(struct writer *w, const caret_node *n, int *mark)
{
    static const struct {
        const char *text;
        int mark;
    } marks[] = {{"array", MARK_ARRAY},
                 {"object", MARK_OBJECT},
                 {"string", MARK_STRING},
                 {"object string", MARK_OBJECT | MARK_STRING}};
    caret_node_buf child;
    caret_slice text;
    *mark = 0;
    int rc = caret_node_child(&child.node, sizeof child, n, mark_name, sizeof mark_name - 1);
    if (rc == CARET_OK)
        rc = caret_get(w->q->s, &child.node, &text);
    if (rc == CARET_NONE || rc == CARET_E_MAXSUBS || rc == CARET_E_KEY2BIG)
        return CARET_OK;
    for (size_t i = 0; rc == CARET_OK && i < sizeof marks / sizeof *marks; i++)
        if (is_text(&text, marks[i].text))
            *mark = marks[i].mark;
    return rc == CARET_OK && *mark == 0
               ? serve__fail(w->q, "ERR a child __json is a mark: array, object, string, object string")
               : rc;
}

/* The subscript of n; false: it is the mark. */
static bool last_of(const caret_node *n, char text[CARET_NODE_MAX], size_t *len)
{
    *len = 0;
    caret_node_subscript(n, caret_node_depth(n) - 1, text, CARET_NODE_MAX, len, NULL);
    return !(*len == sizeof mark_name - 1 && memcmp(text, mark_name, *len) == 0);
}

/* How many elements an array of the children has; -1: it is none. */
static int length_of(struct writer *w, const caret_node *n, bool marked, int64_t *length)
{
    char text[CARET_NODE_MAX];
    size_t len;
    caret_node_buf child;
    int64_t count = 0, highest = 0, sub;
    *length = -1;
    int rc = caret_node_copy(&child.node, sizeof child, n);
    if (rc == CARET_OK)
        rc = caret_first(w->q->s, &child.node);
    for (; rc == CARET_OK; rc = caret_next(w->q->s, &child.node)) {
        if (!last_of(&child.node, text, &len))
            continue;
        if (!caret_node_last_as_int(&child.node, &sub) || sub < 1 || (!marked && sub != count + 1))
            return CARET_OK;
        count++;
        highest = sub;
    }
    if (rc == CARET_NONE && highest <= 2 * count + 8)
        *length = highest;
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int write_array(struct writer *w, const caret_node *n)
{
    caret_node_buf child;
    int64_t sub, expected = 1;
    add(w, "[");
    int rc = caret_node_copy(&child.node, sizeof child, n);
    if (rc == CARET_OK)
        rc = caret_first(w->q->s, &child.node);
    while (rc == CARET_OK && caret_node_last_as_int(&child.node, &sub)) {
        for (; expected < sub; expected++)
            add(w, expected > 1 ? ",null" : "null");
        add(w, expected++ > 1 ? "," : "");
        if ((rc = write_node(w, &child.node)) == CARET_OK)
            rc = caret_next(w->q->s, &child.node);
    }
    add(w, "]");
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* A subscript as a key: "__" and its like get one more "_", "___json" and its like one less. */
static void add_key(struct writer *w, const char *text, size_t len)
{
    size_t bars = 0;
    while (bars < len && text[bars] == '_')
        bars++;
    if (bars == len && len >= 2) {
        char longer[CARET_NODE_MAX + 1];
        memset(longer, '_', len + 1);
        add_quoted(w, longer, len + 1);
    } else if (bars >= 3 && len == bars + 4 && memcmp(text + bars, "json", 4) == 0) {
        add_quoted(w, text + 1, len - 1);
    } else {
        add_quoted(w, text, len);
    }
    add(w, ":");
}

static int write_object(struct writer *w, caret_node *n, bool own, bool is_string)
{
    char text[CARET_NODE_MAX];
    caret_node_buf child;
    caret_slice value;
    size_t len, opened;
    int rc = CARET_OK;
    add(w, "{");
    opened = w->b->len;
    if (own && (rc = caret_get(w->q->s, n, &value)) == CARET_OK) {
        add(w, "\"__\":");
        add_value(w, &value, is_string);
    }
    if (rc == CARET_OK && (rc = caret_node_copy(&child.node, sizeof child, n)) == CARET_OK)
        rc = caret_first(w->q->s, &child.node);
    for (; rc == CARET_OK; rc = caret_next(w->q->s, &child.node)) {
        if (!last_of(&child.node, text, &len))
            continue;
        add(w, w->b->len > opened ? "," : "");
        add_key(w, text, len);
        if ((rc = write_node(w, &child.node)) != CARET_OK)
            return rc;
    }
    add(w, "}");
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int write_value(struct writer *w, caret_node *n, bool is_string)
{
    caret_slice value;
    int rc = caret_get(w->q->s, n, &value);
    if (rc == CARET_OK)
        add_value(w, &value, is_string);
    return rc;
}

static int write_children(struct writer *w, caret_node *n, bool own)
{
    int mark;
    int64_t length;
    int rc = mark_of(w, n, &mark);
    if (rc == CARET_OK)
        rc = length_of(w, n, mark == MARK_ARRAY, &length);
    if (rc != CARET_OK)
        return rc;
    if (length == 0 && !(mark & MARK_OBJECT) && (own || mark != MARK_ARRAY)) {
        if (own)
            return write_value(w, n, mark & MARK_STRING);
        add(w, "null");
        return CARET_OK;
    }
    return length >= 0 && !own && !(mark & MARK_OBJECT) ? write_array(w, n)
                                                        : write_object(w, n, own, mark & MARK_STRING);
}

static int write_node(struct writer *w, caret_node *n)
{
    int data;
    int rc = caret_data(w->q->s, n, &data);
    if (rc != CARET_OK)
        return rc;
    return data < 10 ? write_value(w, n, false) : write_children(w, n, data == 11);
}

/* CARET.JSON name [sub ...] */
int serve__cmd_caret_json(struct serve__call *q)
{
    caret_node_buf n;
    int data;
    struct writer w = {q, &q->r->work};
    w.b->len = 0;
    int rc = serve__node_of(q, &n, 1, q->argc);
    if (rc == CARET_OK)
        rc = caret_data(q->s, &n.node, &data);
    if (rc == CARET_OK && data == 0)
        return serve__null(q);
    if (rc == CARET_OK)
        rc = write_node(&w, &n.node);
    if (rc == CARET_OK && w.b->failed)
        rc = CARET_E_NOMEM;
    return rc == CARET_OK ? serve__bulk(q, w.b->data, w.b->len) : rc;
}
