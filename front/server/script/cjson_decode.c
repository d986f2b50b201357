/*
 * cjson_decode.c - JSON as Lua values.
 *
 * A reader of tokens and, on top of it, one function for each structure.  A byte 0 ends the text, wherever it is.
 * Numbers are what strtod(3) takes, unless they are not JSON and decode_invalid_numbers is off.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "server/script/cjson.h"

enum token {
    OBJECT_BEGIN,
    OBJECT_END,
    ARRAY_BEGIN,
    ARRAY_END,
    STRING,
    NUMBER,
    BOOLEAN,
    NUL,
    COLON,
    COMMA,
    END,
    ERROR,
};

static const char *const token_names[] = {"T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END",
                                          "T_STRING",    "T_NUMBER",  "T_BOOLEAN",   "T_NULL",
                                          "T_COLON",     "T_COMMA",   "T_END"};

struct decoder {
    lua_State *L;
    struct caret_codec__json *json;
    const char *text, *at; /* with a byte 0 at its end */
    int depth;
    enum token token;
    const char *token_at;
    double number;      /* of NUMBER, BOOLEAN; a STRING is in the buffer */
    const char *reason; /* of ERROR */
};

/* ---------------------------------------------------------------- tokens */

static void wrong(struct decoder *d, const char *reason)
{
    d->token = ERROR;
    d->token_at = d->at;
    d->reason = reason;
}

/* Four hexadecimal digits; -1: they are not. */
static int hex4(const char *at)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* The code point at \u, of two of them where it has to be; -1: wrong.  *n: the bytes it has. */
static int32_t code_point(const char *at, int *n)
{
    int32_t high = hex4(at + 2), low;

    *n = 6;
    if (high < 0 || (high & 0xf800) != 0xd800)
        return high;
    if ((high & 0x400) != 0 || at[6] != '\\' || at[7] != 'u')
        return -1;
    low = hex4(at + 8);
    *n = 12;
    if (low < 0 || (low & 0xfc00) != 0xdc00)
        return -1;
    return ((high & 0x3ff) << 10 | (low & 0x3ff)) + 0x10000;
}

static char *put_utf8(char *out, int32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 63));
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}

static char unescaped(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* What the backslash at d->at stands for, to *out; false: wrong. */
static bool escape(struct decoder *d, char **out)
{
    int n = 2;

    if (d->at[1] == 'u') {
        int32_t c = code_point(d->at, &n);
        if (c < 0) {
            wrong(d, "invalid unicode escape code");
            return false;
        }
        *out = put_utf8(*out, c);
    } else {
        char c = unescaped(d->at[1]);
        if (c == 0) {
            wrong(d, "invalid escape code");
            return false;
        }
        *(*out)++ = c;
    }
    d->at += n;
    return true;
}

/* A string, d->at at its quote; the buffer has room for all of the text. */
static void read_string(struct decoder *d)
{
    struct caret_codec__out *buffer = &d->json->out;
    char *out = buffer->bytes;

    for (d->at++; *d->at != '"';) {
        if (*d->at == 0) {
            wrong(d, "unexpected end of string");
            return;
        }
        if (*d->at != '\\')
            *out++ = *d->at++;
        else if (!escape(d, &out))
            return;
    }
    d->at++;
    buffer->len = (size_t)(out - buffer->bytes);
    d->token = STRING;
}

/* What strtod() takes, but JSON does not: hexadecimal, zeros in front, inf, nan, a plus. */
static bool is_odd_number(const char *at)
{
    if (*at == '+')
        return true;
    if (*at == '-')
        at++;
    if (*at == '0')
        return (at[1] | 32) == 'x' || (at[1] >= '0' && at[1] <= '9');
    if (*at <= '9')
        return false;
    return strncasecmp(at, "inf", 3) == 0 || strncasecmp(at, "nan", 3) == 0;
}

static void read_number(struct decoder *d)
{
    char *end;

    d->number = strtod(d->at, &end);
    if (end == d->at) {
        wrong(d, "invalid number");
        return;
    }
    d->at = end;
    d->token = NUMBER;
}

static bool read_word(struct decoder *d, const char *word, enum token token, double value)
{
    size_t len = strlen(word);

    if (strncmp(d->at, word, len) != 0)
        return false;
    d->at += len;
    d->token = token;
    d->number = value;
    return true;
}

static bool read_mark(struct decoder *d)
{
    static const char marks[] = "{}[]:,";
    static const enum token tokens[] = {OBJECT_BEGIN, OBJECT_END, ARRAY_BEGIN, ARRAY_END, COLON, COMMA};
    const char *mark = *d->at != 0 ? strchr(marks, *d->at) : NULL;

    if (mark == NULL)
        return false;
    d->token = tokens[mark - marks];
    d->at++;
    return true;
}

static void next(struct decoder *d)
{
    bool odd = d->json->decode_invalid != CARET_CODEC__JSON_REFUSE;
    char c;

    while (*d->at == ' ' || *d->at == '\t' || *d->at == '\n' || *d->at == '\r')
        d->at++;
    d->token_at = d->at;
    c = *d->at;
    if (read_mark(d))
        return;
    if (c == 0)
        d->token = END;
    else if (c == '"')
        read_string(d);
    else if (c == '-' || (c >= '0' && c <= '9')) {
        if (!odd && is_odd_number(d->at))
            wrong(d, "invalid number");
        else
            read_number(d);
    } else if (!read_word(d, "true", BOOLEAN, 1) && !read_word(d, "false", BOOLEAN, 0) &&
               !read_word(d, "null", NUL, 0)) {
        if (odd && is_odd_number(d->at))
            read_number(d);
        else
            wrong(d, "invalid token");
    }
}

static void expected(struct decoder *d, const char *what)
{
    const char *found = d->token == ERROR ? d->reason : token_names[d->token];

    luaL_error(d->L, "Expected %s but found %s at character %d", what, found,
               (int)(d->token_at - d->text) + 1);
}

/* ---------------------------------------------------------------- values */

static void push_value(struct decoder *d);

static void descend(struct decoder *d)
{
    d->depth++;
    if (d->depth > d->json->decode_depth || d->depth > CARET_CODEC__JSON_DEPTH || !lua_checkstack(d->L, 3))
        luaL_error(d->L, "Found too many nested data structures (%d) at character %d", d->depth,
                   (int)(d->at - d->text));
    lua_newtable(d->L);
    next(d);
}

static void push_object(struct decoder *d)
{
    descend(d);
    while (d->token != OBJECT_END) {
        if (d->token != STRING)
            expected(d, "object key string");
        lua_pushlstring(d->L, d->json->out.bytes, d->json->out.len);
        next(d);
        if (d->token != COLON)
            expected(d, "colon");
        next(d);
        push_value(d);
        lua_rawset(d->L, -3);
        next(d);
        if (d->token == OBJECT_END)
            break;
        if (d->token != COMMA)
            expected(d, "comma or object end");
        next(d);
        if (d->token == OBJECT_END)
            expected(d, "object key string");
    }
    d->depth--;
}

static void push_array(struct decoder *d)
{
    descend(d);
    for (int i = 1; i > 1 || d->token != ARRAY_END; i++) {
        push_value(d);
        lua_rawseti(d->L, -2, i);
        next(d);
        if (d->token == ARRAY_END)
            break;
        if (d->token != COMMA)
            expected(d, "comma or array end");
        next(d);
    }
    d->depth--;
}

/* The value that begins with the token that was read. */
static void push_value(struct decoder *d)
{
    switch (d->token) {
    case STRING: lua_pushlstring(d->L, d->json->out.bytes, d->json->out.len); break;
    case NUMBER: lua_pushnumber(d->L, d->number); break;
    case BOOLEAN: lua_pushboolean(d->L, d->number != 0); break;
    case NUL: lua_pushlightuserdata(d->L, NULL); break;
    case OBJECT_BEGIN: push_object(d); break;
    case ARRAY_BEGIN: push_array(d); break;
    default: expected(d, "value");
    }
}

int caret_codec__json_decode(lua_State *L)
{
    struct decoder d = {.L = L, .json = caret_codec__json(L)};
    size_t len;

    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    d.text = d.at = luaL_checklstring(L, 1, &len);
    if (len >= 2 && (d.text[0] == 0 || d.text[1] == 0))
        luaL_error(L, "JSON parser does not support UTF-16 or UTF-32");
    caret_codec__out_room(L, caret_codec__out(L), len + 4);
    next(&d);
    push_value(&d);
    next(&d);
    if (d.token != END)
        expected(&d, "the end");
    return 1;
}
