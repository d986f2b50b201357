/*
 * answer.c - Lua values as answers: script.h.
 */
#include "server/admin/measure.h"
#include "server/script/script.h"

static void answer(struct serve__call *q, lua_State *L, bool resp3);

/* Push the field of the table on top of the stack, without metamethods; false: it is not of that type, and
 * nothing is pushed. */
static bool field(lua_State *L, const char *name, int type)
{
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == type)
        return true;
    lua_pop(L, 1);
    return false;
}

void serve__script_count_error(struct serve__call *q, lua_State *L, const char *text)
{
    if (!field(L, "ignore_error_stats_update", LUA_TBOOLEAN))
        serve__measure_error(q, text);
    else
        lua_pop(L, 1);
}

/* {err = text}, whose text is on top of the stack. */
static void answer_failure(struct serve__call *q, lua_State *L)
{
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    lua_pushvalue(L, -2);
    serve__script_count_error(q, L, text);
    lua_pop(L, 1);
    q->reply->sink->error(q->reply, text, len);
}

static void answer_status(struct serve__call *q, lua_State *L)
{
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    q->reply->sink->status(q->reply, text, len);
}

/* The table of elements on top of the stack: a map, or a set. */
static void answer_map(struct serve__call *q, lua_State *L, bool map, bool resp3)
{
    size_t n = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        n++;
    if (map)
        serve__map(q, n);
    else
        serve__set(q, n);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        answer(q, L, resp3);
        lua_pop(L, 1);
        if (map)
            answer(q, L, resp3);
    }
}

static void answer_array(struct serve__call *q, lua_State *L, bool resp3)
{
    size_t place = serve__open(q), n = 0;
    for (;; n++) {
        lua_rawgeti(L, -1, (int)n + 1);
        bool last = lua_isnil(L, -1);
        if (!last)
            answer(q, L, resp3);
        lua_pop(L, 1);
        if (last)
            break;
    }
    serve__close_array(q, place, n);
}

/* Any text, of one line: so a blank stands for what ends lines. */
static void answer_big(struct serve__call *q, lua_State *L)
{
    size_t len;
    const char *digits = lua_tolstring(L, -1, &len);
    char *line = lua_newuserdata(L, len + 1);
    for (size_t i = 0; i < len; i++)
        line[i] = digits[i] == '\r' || digits[i] == '\n' ? ' ' : digits[i];
    q->reply->sink->big(q->reply, line, len);
    lua_pop(L, 1);
}

/* A table in the field verbatim_string that has both texts; it is left as it is.  false: there is none. */
static bool answered_verbatim(struct serve__call *q, lua_State *L)
{
    size_t len = 0, kind_len = 0;
    bool fine = false;
    if (!field(L, "verbatim_string", LUA_TTABLE))
        return false;
    if (field(L, "format", LUA_TSTRING)) {
        const char *kind = lua_tolstring(L, -1, &kind_len);
        lua_pop(L, 1); /* the table has it */
        if ((fine = field(L, "string", LUA_TSTRING))) {
            const char *text = lua_tolstring(L, -1, &len);
            char three[4] = "   ";
            memcpy(three, kind, kind_len < 3 ? kind_len : 3);
            serve__verbatim(q, three, text, len);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return fine;
}

static void answer_table(struct serve__call *q, lua_State *L, bool resp3)
{
    if (field(L, "err", LUA_TSTRING)) {
        answer_failure(q, L);
    } else if (field(L, "ok", LUA_TSTRING)) {
        answer_status(q, L);
    } else if (field(L, "double", LUA_TNUMBER)) {
        serve__real(q, lua_tonumber(L, -1));
    } else if (field(L, "map", LUA_TTABLE)) {
        answer_map(q, L, true, resp3);
    } else if (field(L, "set", LUA_TTABLE)) {
        answer_map(q, L, false, resp3);
    } else if (field(L, "big_number", LUA_TSTRING)) {
        answer_big(q, L);
    } else {
        if (!answered_verbatim(q, L))
            answer_array(q, L, resp3);
        return;
    }
    lua_pop(L, 1);
}

static void answer(struct serve__call *q, lua_State *L, bool resp3)
{
    size_t len;
    const char *text;
    if (!lua_checkstack(L, 8) || lua_gettop(L) > 4000) {
        static const char text_of[] = "ERR reached lua stack limit";
        serve__measure_error(q, text_of);
        q->reply->sink->error(q->reply, text_of, sizeof text_of - 1);
        return;
    }
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &len);
        serve__bulk(q, text, len);
        break;
    case LUA_TNUMBER: serve__integer(q, serve__script_integer(lua_tonumber(L, -1))); break;
    case LUA_TBOOLEAN:
        if (resp3)
            serve__boolean(q, lua_toboolean(L, -1));
        else if (lua_toboolean(L, -1))
            serve__integer(q, 1);
        else
            serve__null(q);
        break;
    case LUA_TTABLE: answer_table(q, L, resp3); break;
    default: serve__null(q);
    }
}

void serve__script_answer(struct serve__call *q, lua_State *L, bool resp3)
{
    answer(q, L, resp3);
}
