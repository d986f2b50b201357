/*
 * json_write.c - a subtree as JSON.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "m/error.h"
#include "m/json.h"
#include "m/text.h"

struct writer {
    struct caret_m__tree *t;
    struct caret_m__json_error *e;
    struct caret_m__growing text;
    char *key; /* room for a subscript */
    size_t key_cap;
};

static bool failed(struct writer *w, int rc)
{
    w->e->code = 0;
    w->e->rc = rc;
    return false;
}

/* ------------------------------------------------------------------------ text */

static bool put(struct writer *w, const char *bytes, size_t n)
{
    return caret_m__grow(&w->text, bytes, n) || failed(w, CARET_E_NOMEM);
}

static bool put_text(struct writer *w, const char *text)
{
    return put(w, text, strlen(text));
}

static bool put_escape(struct writer *w, unsigned char c)
{
    static const char known[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    char text[8];

    for (const char *k = known; *k != '\0'; k += 2)
        if (*k == (char)c)
            return put(w, (const char[]){'\\', k[1]}, 2);
    snprintf(text, sizeof text, "\\u%04X", c);
    return put(w, text, 6);
}

static bool put_string(struct writer *w, const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t from = 0;

    if (!put(w, "\"", 1))
        return false;
    for (size_t i = 0; i < n;) {
        size_t len = caret_m__character(bytes + i, n - i);
        if (len == 0) {
            w->e->code = CARET_M__E_JANSSONENCODEERROR;
            snprintf(w->e->why, sizeof w->e->why, "byte %zu of %zu is not UTF-8 (%d)", i + 1, n, p[i]);
            return false;
        }
        if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\') {
            if (!put(w, bytes + from, i - from) || !put_escape(w, p[i]))
                return false;
            from = i + 1;
        }
        i += len;
    }
    return put(w, bytes + from, n - from) && put(w, "\"", 1);
}

/* A canonical number of M: as JSON has it, with a digit before the point. */
static bool put_number(struct writer *w, const char *text, size_t n)
{
    size_t minus = text[0] == '-', point = text[minus] == '.';

    return put(w, text, minus) && put(w, "0", point) && put(w, text + minus, n - minus);
}

static bool is(caret_slice v, const char *word)
{
    return v.len == strlen(word) && memcmp(v.data, word, v.len) == 0;
}

static bool put_value(struct writer *w, caret_slice v)
{
    if (caret__num_canonical(v.data, v.len))
        return put_number(w, v.data, v.len);
    if (v.len == 0 || v.data[0] != '\0')
        return put_string(w, v.data, v.len);
    v.data++;
    v.len--;
    if (is(v, "true") || is(v, "false") || is(v, "null"))
        return put(w, v.data, v.len);
    if (caret__num_canonical(v.data, v.len))
        return put_string(w, v.data, v.len);
    return put_string(w, v.data - 1, v.len + 1); /* a NUL of the program's own */
}

/* ------------------------------------------------------------------------ tree */

static bool put_tree(struct writer *w, struct caret_m__place *n);

/* n is where its first child would be before: the empty subscript. */
static int before_children(struct writer *w, struct caret_m__place *n, struct caret_m__place *child)
{
    return caret_m__place_child(w->t, child, n, "", 0);
}

/* To the next child: the one of the empty subscript comes first, if it is there. */
static int next_child(struct writer *w, struct caret_m__place *child, bool *begun)
{
    int data = 0, rc = CARET_OK;

    if (!*begun) {
        *begun = true;
        rc = caret_m__place_data(w->t, child, &data);
        if (rc != CARET_OK || data != 0)
            return rc;
    }
    return caret_m__place_next(w->t, child);
}

/* The last subscript, in w->key. */
static int last_sub(struct writer *w, struct caret_m__place *n, size_t *len)
{
    int rc;

    while ((rc = caret_m__place_sub(w->t, n, w->key, w->key_cap, len)) == CARET_E_BUFFER) {
        char *key = realloc(w->key, *len);
        if (key == NULL)
            return CARET_E_NOMEM;
        w->key = key;
        w->key_cap = *len;
    }
    return rc;
}

/* Are the children 0, 1, 2 and so on?  CARET_OK, CARET_NONE, or what went wrong. */
static int is_array(struct writer *w, struct caret_m__place *n)
{
    struct caret_m__place child;
    char expected[24];
    bool begun = false;
    size_t len, i = 0;
    int rc = before_children(w, n, &child);

    while (rc == CARET_OK && (rc = next_child(w, &child, &begun)) == CARET_OK) {
        rc = last_sub(w, &child, &len);
        if (rc == CARET_OK && (len != (size_t)snprintf(expected, sizeof expected, "%zu", i++) ||
                               memcmp(w->key, expected, len) != 0))
            return CARET_NONE;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The children, with their names in an object. */
static bool put_children(struct writer *w, struct caret_m__place *n, bool named, bool first)
{
    struct caret_m__place child;
    bool begun = false;
    size_t len;
    int rc = before_children(w, n, &child);

    while (rc == CARET_OK && (rc = next_child(w, &child, &begun)) == CARET_OK) {
        if (!first && !put_text(w, ", "))
            return false;
        first = false;
        rc = named ? last_sub(w, &child, &len) : CARET_OK;
        if (rc != CARET_OK)
            break;
        if (named && !(put_string(w, w->key, len) && put_text(w, ": ")))
            return false;
        if (!put_tree(w, &child))
            return false;
    }
    return rc == CARET_NONE || failed(w, rc);
}

static bool put_object(struct writer *w, struct caret_m__place *n, bool value)
{
    caret_slice v;

    if (!put_text(w, "{"))
        return false;
    if (value) {
        int rc = caret_m__place_get(w->t, n, &v);
        if (rc != CARET_OK)
            return failed(w, rc);
        if (!put_text(w, "\"\": ") || !put_value(w, v))
            return false;
    }
    return put_children(w, n, true, !value) && put_text(w, "}");
}

static bool put_tree(struct writer *w, struct caret_m__place *n)
{
    caret_slice v;
    int data, rc = caret_m__place_data(w->t, n, &data);

    if (rc == CARET_OK && data == 1) {
        rc = caret_m__place_get(w->t, n, &v);
        return rc == CARET_OK ? put_value(w, v) : failed(w, rc);
    }
    bool value = rc == CARET_OK && data == 11;
    if (rc == CARET_OK)
        rc = value ? CARET_NONE : is_array(w, n);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? put_object(w, n, value) : failed(w, rc);
    return put_text(w, "[") && put_children(w, n, false, true) && put_text(w, "]");
}

int caret_m__json_encode(struct caret_m__tree *t, struct caret_m__place *n, char **text, size_t *len,
                         struct caret_m__json_error *e)
{
    struct writer w = {.t = t, .e = e};
    int data, rc = caret_m__place_data(t, n, &data);
    bool good = rc == CARET_OK && data != 0;

    *e = (struct caret_m__json_error){.rc = rc == CARET_OK ? CARET_NONE : rc};
    if (good)
        good = data == 1 ? put_object(&w, n, true) : put_tree(&w, n);
    free(w.key);
    if (!good) {
        free(w.text.bytes);
        return -1;
    }
    *text = w.text.bytes;
    *len = w.text.len;
    return 0;
}
