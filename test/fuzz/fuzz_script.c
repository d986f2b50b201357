/* Any bytes for the modules of scripts: whatever they are given, they answer or raise an error, and what one of them
 * wrote it reads back as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "server/script/modules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* The buffers of the modules belong to userdata, in memory of LuaJIT's in which the sanitizer sees no pointers.  That
 * they are given back with the state, test_script.c shows. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:caret_codec__out_grow\n";
}

/* fuzz(which, text, other): texts are the two halves. */
static const char program[] =
    "local cjson, cmsgpack, struct = ...\n"
    "local tests = {}\n"
    "tests[0] = function(text)\n"
    "    local value = cjson.decode(text)\n"
    "    cjson.encode_invalid_numbers(true)\n"
    "    local again = cjson.encode(value)\n"
    "    assert(cjson.encode(cjson.decode(again)):len() > 0)\n"
    "end\n"
    "tests[1] = function(text)\n"
    "    local values = {cmsgpack.unpack_limit(text, 20)}\n"
    "    local again = cmsgpack.pack(unpack(values))\n"
    "    assert(cmsgpack.pack(cmsgpack.unpack(again)):len() > 0)\n"
    "end\n"
    "tests[2] = function(text, other)\n"
    "    pcall(struct.size, text)\n"
    "    local values = {struct.unpack(text, other)}\n"
    "    struct.pack(text, unpack(values))\n"
    "end\n"
    "tests[3] = function(text, other) struct.pack(text, other, 1, other, 2.5) end\n"
    "tests[4] = function(text, other) cjson.encode({text, {[other] = text}}) cmsgpack.unpack_one(text, "
    "#other) end\n"
    "return function(which, text, other) return pcall(tests[which % 5], text, other) end\n";

static lua_State *opened(void)
{
    static lua_State *L;

    if (L != NULL)
        return L;
    L = luaL_newstate();
    luaL_openlibs(L);
    if (luaL_loadstring(L, program) != 0)
        abort();
    lua_pushcfunction(L, caret_codec__open_cjson);
    lua_call(L, 0, 1);
    lua_pushcfunction(L, caret_codec__open_cmsgpack);
    lua_call(L, 0, 1);
    lua_pushcfunction(L, caret_codec__open_struct);
    lua_call(L, 0, 1);
    lua_call(L, 3, 1);
    return L;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lua_State *L = opened();
    size_t half = size < 2 ? 0 : data[1] % size;

    if (size < 2)
        return 0;
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, data[0]);
    lua_pushlstring(L, (const char *)data + 2, data[0] % 5 < 2 ? size - 2 : half < 2 ? 0 : half - 2);
    lua_pushlstring(L, (const char *)data + (half < 2 ? 2 : half), size - (half < 2 ? 2 : half));
    lua_call(L, 3, 2);
    if (!lua_toboolean(L, -2) && lua_isstring(L, -1) &&
        strstr(lua_tostring(L, -1), "assertion failed") != NULL)
        abort();
    return 0;
}
