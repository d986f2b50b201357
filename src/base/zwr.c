/*
 * zwr.c - ZWR text, written and read; zwr.h has the grammar.
 *
 * Writing classifies one character after the other and opens and closes parts as
 * the class changes: quoted, $C(...), $ZCH(...).  Neighbours of one class share a
 * part.  All output goes through a sink that counts everything and stores what
 * fits, so that the needed length is known even when the buffer is too small.
 *
 * Reading is a cursor with one function per grammar rule.  The first mistake is
 * reported with its offset; the others only hand the code on.
 */
#include "base/zwr.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/key.h"
#include "base/number.h"

struct sink {
    char *buf;
    size_t cap, len;
};

static inline void put_char(struct sink *sink, char c)
{
    if (sink->len < sink->cap)
        sink->buf[sink->len] = c;
    sink->len++;
}

static void put_bytes(struct sink *sink, const void *p, size_t n)
{
    if (n > 0 && sink->len < sink->cap)
        memcpy(sink->buf + sink->len, p, caret__min(n, sink->cap - sink->len));
    sink->len += n;
}

static void put_text(struct sink *sink, const char *text)
{
    put_bytes(sink, text, strlen(text));
}

static int finish(const struct sink *sink, size_t *len)
{
    *len = sink->len;
    if (sink->len > sink->cap)
        return caret__fail(CARET_E_BUFFER, "%zu bytes are needed, the buffer has %zu", sink->len, sink->cap);
    return CARET_OK;
}

/* -------------------------------------------------------------------- UTF-8 */

/* Length of the valid UTF-8 character at p, 0 if there is none (overlong forms,
 * surrogates and all above U+10FFFF are invalid).  n > 0. */
static size_t utf8_get(const uint8_t *p, size_t n, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;

    if (len == 0 || len > n)
        return 0;
    *code = len == 1 ? p[0] : p[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3Fu);
    }
    if (*code < least[len] || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF))
        return 0;
    return len;
}

static void utf8_put(struct sink *sink, uint32_t code)
{
    if (code < 0x80) {
        put_char(sink, (char)code);
        return;
    }
    if (code < 0x800) {
        put_char(sink, (char)(0xC0 | code >> 6));
    } else {
        if (code < 0x10000) {
            put_char(sink, (char)(0xE0 | code >> 12));
        } else {
            put_char(sink, (char)(0xF0 | code >> 18));
            put_char(sink, (char)(0x80 | (code >> 12 & 0x3F)));
        }
        put_char(sink, (char)(0x80 | (code >> 6 & 0x3F)));
    }
    put_char(sink, (char)(0x80 | (code & 0x3F)));
}

/* ------------------------------------------------------------------ writing */

enum part { PART_NONE, PART_QUOTED, PART_C, PART_ZCH };

static inline bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/* Class, length and code of the character at p. */
static enum part classify(const uint8_t *p, size_t n, bool utf8, size_t *len, uint32_t *code)
{
    *len = 1;
    *code = p[0];
    if (!utf8)
        return is_control(p[0]) || p[0] == 0xFF ? PART_C : PART_QUOTED;
    *len = utf8_get(p, n, code);
    if (*len == 0) {
        *len = 1;
        *code = p[0];
        return PART_ZCH;
    }
    return is_control(*code) ? PART_C : PART_QUOTED;
}

static void close_part(struct sink *sink, enum part part)
{
    if (part != PART_NONE)
        put_char(sink, part == PART_QUOTED ? '"' : ')');
}

/* End the open part if it is another, and begin `part` or go on in it. */
static void open_part(struct sink *sink, enum part open, enum part part)
{
    if (open == part) {
        if (part != PART_QUOTED)
            put_char(sink, ',');
        return;
    }
    close_part(sink, open);
    if (open != PART_NONE)
        put_char(sink, '_');
    put_text(sink, part == PART_QUOTED ? "\"" : part == PART_C ? "$C(" : "$ZCH(");
}

static void put_number(struct sink *sink, int64_t v)
{
    char text[24];

    put_bytes(sink, text, caret__i64_format(v, text));
}

static void put_string(struct sink *sink, const uint8_t *p, size_t n, bool utf8)
{
    enum part open = PART_NONE;
    size_t len;
    uint32_t code;

    if (n == 0)
        put_text(sink, "\"\"");
    for (; n > 0; p += len, n -= len) {
        enum part part = classify(p, n, utf8, &len, &code);

        open_part(sink, open, part);
        open = part;
        if (part != PART_QUOTED)
            put_number(sink, code);
        else
            put_bytes(sink, p, len);
        if (*p == '"')
            put_char(sink, '"');
    }
    close_part(sink, open);
}

/* ----------------------------------------------------------------- messages */

static bool is_readable(const uint8_t *p, size_t n)
{
    size_t len;
    uint32_t code;

    for (; n > 0; p += len, n -= len)
        if (classify(p, n, true, &len, &code) != PART_QUOTED)
            return false;
    return true;
}

/* As much of `most` bytes as has no half of a UTF-8 character at its end. */
static size_t whole_characters(const uint8_t *p, size_t most)
{
    size_t n = most;

    while (n > 0 && most - n < 3 && (p[n] & 0xC0) == 0x80)
        n--;
    return (p[n] & 0xC0) == 0x80 ? most : n;
}

const char *caret__shown(struct caret__shown *s, const void *bytes, size_t n, size_t most, char quote)
{
    struct sink sink = {s->text, sizeof s->text, 0};
    size_t shown = n <= most ? n : whole_characters(bytes, most);
    const char *dots = shown < n ? "..." : "";

    CARET__ASSERT_CMP(most, <=, CARET__SHOWN_MOST);
    if (!is_readable(bytes, shown)) {
        put_string(&sink, bytes, shown, true);
        put_text(&sink, dots);
    } else {
        put_bytes(&sink, &quote, quote != 0);
        put_bytes(&sink, bytes, shown);
        put_text(&sink, dots);
        put_bytes(&sink, &quote, quote != 0);
    }
    put_char(&sink, '\0');
    CARET__ASSERT_CMP(sink.len, <=, sizeof s->text);
    return s->text;
}

int caret__zwr_put(const void *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len)
{
    struct sink sink = {buf, cap, 0};

    put_string(&sink, in, n, utf8);
    return finish(&sink, len);
}

static int put_sub(struct sink *sink, const uint8_t *p, size_t n, bool utf8)
{
    char text[CARET__KEY_MAX > CARET__NUM_MAX ? CARET__KEY_MAX : CARET__NUM_MAX];
    size_t len;
    bool is_number;

    if (caret__sub_get(p, n, text, sizeof text, &len, &is_number) != CARET_OK)
        return CARET_E_CORRUPT;
    if (is_number)
        put_bytes(sink, text, len);
    else
        put_string(sink, (const uint8_t *)text, len, utf8);
    return CARET_OK;
}

int caret__zwr_put_key(const uint8_t *key, size_t n, bool local, bool utf8, char *buf, size_t cap,
                       size_t *len)
{
    struct sink sink = {buf, cap, 0};
    size_t at = caret__key_name_len(key, n) + 1, sub_len;
    const char *between = "(";

    *len = 0;
    if (at == 1)
        return caret__fail(CARET_E_CORRUPT, "an encoded key of %zu bytes has no name", n);
    if (!local)
        put_char(&sink, '^');
    put_bytes(&sink, key, at - 1);
    for (; at < n; at += sub_len, between = ",") {
        sub_len = caret__sub_len(key + at, n - at);
        put_text(&sink, between);
        if (sub_len == 0 || put_sub(&sink, key + at, sub_len, utf8) != CARET_OK)
            return caret__fail(CARET_E_CORRUPT, "an encoded key has no subscript at byte %zu of %zu", at, n);
    }
    if (*between == ',')
        put_char(&sink, ')');
    return finish(&sink, len);
}

/* ------------------------------------------------------------------ reading */

struct cursor {
    const char *text;
    size_t at, end;
    bool utf8;
};

static int syntax(const struct cursor *c, const char *what)
{
    struct caret__shown shown;

    return caret__fail(CARET_E_SYNTAX, "%s at byte %zu of %s", what, c->at,
                       caret__shown(&shown, c->text, c->end, CARET__SHOWN_MOST, '\0'));
}

static inline bool at_char(const struct cursor *c, char want)
{
    return c->at < c->end && c->text[c->at] == want;
}

static inline bool takes(struct cursor *c, char want)
{
    bool ok = at_char(c, want);

    c->at += ok;
    return ok;
}

/* Upper case of `word` in any case. */
static bool accept_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);

    if (c->end - c->at < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char have = c->text[c->at + i];

        if (have >= 'a' && have <= 'z')
            have = (char)(have - 'a' + 'A');
        if (have != word[i])
            return false;
    }
    c->at += n;
    return true;
}

static int get_quoted(struct cursor *c, struct sink *sink)
{
    for (;;) {
        const char *from = c->text + c->at, *quote = memchr(from, '"', c->end - c->at);

        if (quote == NULL) {
            c->at = c->end;
            return syntax(c, "a closing \" is missing");
        }
        put_bytes(sink, from, (size_t)(quote - from));
        c->at += (size_t)(quote - from) + 1;
        if (!takes(c, '"'))
            return CARET_OK;
        put_char(sink, '"');
    }
}

/* One number of a list, below 2^21. */
static int get_code(struct cursor *c, uint32_t *code)
{
    size_t start = c->at;

    for (*code = 0; c->at < c->end && (unsigned char)(c->text[c->at] - '0') < 10; c->at++) {
        *code = *code * 10 + (uint32_t)(c->text[c->at] - '0');
        if (*code > 0x10FFFF)
            return syntax(c, "a character code is too large");
    }
    return c->at > start ? CARET_OK : syntax(c, "a character code is missing");
}

static int put_code(struct cursor *c, struct sink *sink, uint32_t code, bool byte)
{
    if (byte || (!c->utf8 && code < 256)) {
        if (code > 255)
            return syntax(c, "$ZCH takes 0 to 255 only");
        put_char(sink, (char)code);
        return CARET_OK;
    }
    if (code >= 0xD800 && code <= 0xDFFF)
        return syntax(c, "a surrogate is not a character");
    utf8_put(sink, code);
    return CARET_OK;
}

/* What is inside $C(...) and $ZCH(...), with the closing parenthesis. */
static int get_codes(struct cursor *c, struct sink *sink, bool byte)
{
    uint32_t code;
    int rc;

    do {
        rc = get_code(c, &code);
        if (rc == CARET_OK)
            rc = put_code(c, sink, code, byte);
        if (rc != CARET_OK)
            return rc;
    } while (takes(c, ','));
    return takes(c, ')') ? CARET_OK : syntax(c, "a ) is missing");
}

static int get_part(struct cursor *c, struct sink *sink)
{
    if (takes(c, '"'))
        return get_quoted(c, sink);
    if (accept_word(c, "$C(") || accept_word(c, "$CHAR("))
        return get_codes(c, sink, false);
    if (accept_word(c, "$ZCH(") || accept_word(c, "$ZCHAR("))
        return get_codes(c, sink, true);
    return syntax(c, "\", $C( or $ZCH( is missing");
}

/* A bare number up to a comma, a parenthesis or the end. */
static int get_number(struct cursor *c, struct sink *sink)
{
    size_t start = c->at, n = 0;

    while (start + n < c->end && c->text[start + n] != ',' && c->text[start + n] != ')')
        n++;
    if (!caret__num_canonical(c->text + start, n))
        return syntax(c, "neither a string nor a canonical number");
    put_bytes(sink, c->text + start, n);
    c->at += n;
    return CARET_OK;
}

static int get_string(struct cursor *c, struct sink *sink)
{
    int rc;

    if (!at_char(c, '"') && !at_char(c, '$'))
        return get_number(c, sink);
    do {
        rc = get_part(c, sink);
    } while (rc == CARET_OK && takes(c, '_'));
    return rc;
}

int caret__zwr_get(const char *in, size_t n, bool utf8, char *buf, size_t cap, size_t *len)
{
    struct cursor c = {in, 0, n, utf8};
    struct sink sink = {buf, cap, 0};
    int rc = n == 0 ? CARET_OK : get_string(&c, &sink);

    *len = 0;
    if (rc == CARET_OK && c.at < n)
        rc = syntax(&c, "the text goes on after its end");
    return rc == CARET_OK ? finish(&sink, len) : rc;
}

int caret__not_a_name(const char *name, size_t len)
{
    struct caret__shown shown;

    return caret__fail(CARET_E_NAME,
                       "%s is not a variable name (%% or a letter, then letters and digits, %u at most)",
                       caret__shown(&shown, name, len, 80, '\''), CARET_MAX_NAME);
}

static int get_name(struct cursor *c, uint8_t *key, size_t *key_len)
{
    const char *from = c->text + c->at, *end = memchr(from, '(', c->end - c->at);
    size_t n = end != NULL ? (size_t)(end - from) : c->end - c->at;
    size_t caret = c->at > 0 && from[-1] == '^'; /* which is shown with the name */

    if (!caret__name_valid(from, n))
        return caret__not_a_name(from - caret, n + caret);
    c->at += n;
    *key_len = caret__key_put_name(key, from, n);
    return CARET_OK;
}

static int get_sub(struct cursor *c, uint8_t *key, size_t *key_len)
{
    char text[CARET__KEY_MAX];
    struct sink sink = {text, sizeof text, 0};
    int rc = get_string(c, &sink);
    size_t n;

    if (rc != CARET_OK)
        return rc;
    n = sink.len > sizeof text ? 0
                               : caret__sub_put(key + *key_len, CARET__KEY_MAX - *key_len, text, sink.len);
    if (n == 0)
        return caret__fail(CARET_E_KEY2BIG, "the encoded key of a node text of %zu bytes is over %u bytes",
                           c->end, CARET__KEY_MAX);
    *key_len += n;
    return CARET_OK;
}

static int get_subs(struct cursor *c, uint8_t *key, size_t *key_len)
{
    unsigned depth = 0;
    int rc;

    do {
        if (depth++ == CARET_MAX_SUBS)
            return caret__fail(CARET_E_MAXSUBS, "a node text has more than %u subscripts", CARET_MAX_SUBS);
        rc = get_sub(c, key, key_len);
        if (rc != CARET_OK)
            return rc;
    } while (takes(c, ','));
    return takes(c, ')') ? CARET_OK : syntax(c, "a ) is missing");
}

int caret__zwr_get_key(const char *text, size_t n, bool utf8, uint8_t key[], size_t *key_len, bool *local)
{
    struct cursor c = {text, 0, n, utf8};
    int rc;

    *local = !takes(&c, '^');
    rc = get_name(&c, key, key_len);
    if (rc == CARET_OK && takes(&c, '('))
        rc = get_subs(&c, key, key_len);
    if (rc == CARET_OK && c.at < n)
        rc = syntax(&c, "the node goes on after its end");
    return rc;
}
