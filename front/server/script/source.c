/*
 * source.c - the text of a script, made such that LuaJIT reads it as Lua 5.1 does.
 *
 * After a backslash in a quoted string Lua 5.1 takes any character that has no meaning there for itself: '\.' is a dot,
 * and '\x41' is x41.  LuaJIT refuses most of these, and has a meaning of its own for \x, \z and \u; so such a backslash
 * is left out.  Lines stay what they are.
 */
#include <stdlib.h>
#include <string.h>

#include "server/script/script.h"

struct text {
    const char *at, *end;
    char *out;
};

static void copy(struct text *t, size_t n)
{
    n = n < (size_t)(t->end - t->at) ? n : (size_t)(t->end - t->at);
    memcpy(t->out, t->at, n);
    t->out += n;
    t->at += n;
}

static bool is(const struct text *t, size_t i, char c)
{
    return (size_t)(t->end - t->at) > i && t->at[i] == c;
}

/* At a "[[" or "[==[": bytes of it, else 0. */
static size_t bracket(const struct text *t)
{
    size_t n = 1;
    while (is(t, n, '='))
        n++;
    return is(t, 0, '[') && is(t, n, '[') ? n + 1 : 0;
}

/* From a bracket of so many bytes to the end of the one that closes it. */
static void copy_long(struct text *t, size_t open)
{
    copy(t, open);
    while (t->at < t->end) {
        size_t n = 1;
        while (is(t, n, '='))
            n++;
        bool closes = is(t, 0, ']') && n == open - 1 && is(t, n, ']');
        copy(t, closes ? open : 1);
        if (closes)
            return;
    }
}

/* After "--". */
static void copy_comment(struct text *t)
{
    size_t open = bracket(t);
    if (open > 0) {
        copy_long(t, open);
        return;
    }
    const char *line = memchr(t->at, '\n', (size_t)(t->end - t->at));
    copy(t, (size_t)((line != NULL ? line : t->end) - t->at));
}

/* At a backslash. */
static void copy_escape(struct text *t)
{
    static const char known[] = "abfnrtv\\\"'0123456789\r\n";
    bool kept = t->end - t->at < 2 || memchr(known, t->at[1], sizeof known - 1) != NULL;
    if (!kept)
        t->at++;
    size_t n = kept ? 2 : 1;
    if ((is(t, 1, '\r') && is(t, 2, '\n')) || (is(t, 1, '\n') && is(t, 2, '\r')))
        n = 3; /* one end of a line */
    copy(t, n);
}

static void copy_quoted(struct text *t, char quote)
{
    copy(t, 1);
    while (t->at < t->end && *t->at != quote && *t->at != '\n') {
        if (*t->at == '\\')
            copy_escape(t);
        else
            copy(t, 1);
    }
    copy(t, 1);
}

/* Bytes that are in `out`, which has room for as many as were there. */
static size_t mend(const char *text, size_t len, char *out)
{
    struct text t = {text, text + len, out};
    while (t.at < t.end) {
        size_t open = bracket(&t);
        if (open > 0) {
            copy_long(&t, open);
        } else if (is(&t, 0, '-') && is(&t, 1, '-')) {
            copy(&t, 2);
            copy_comment(&t);
        } else if (is(&t, 0, '"') || is(&t, 0, '\'')) {
            copy_quoted(&t, *t.at);
        } else {
            copy(&t, 1);
        }
    }
    return (size_t)(t.out - out);
}

int serve__script_load(lua_State *L, caret_slice text, const char *name)
{
    if (text.len == 0 || memchr(text.data, '\\', text.len) == NULL)
        return luaL_loadbuffer(L, text.data, text.len, name);
    char *mended = malloc(text.len);
    if (mended == NULL) {
        lua_pushliteral(L, "not enough memory");
        return LUA_ERRMEM;
    }
    int rc = luaL_loadbuffer(L, mended, mend(text.data, text.len, mended), name);
    free(mended);
    return rc;
}

int serve__script_mend(lua_State *L)
{
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    if (memchr(text, '\\', len) == NULL) {
        lua_settop(L, 1);
        return 1;
    }
    char *mended = lua_newuserdata(L, len);
    lua_pushlstring(L, mended, mend(text, len, mended));
    return 1;
}
