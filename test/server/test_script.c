/* Modules of scripts: what they write and read, errors at any point, memory that runs out, no garbage.  How they
 * compare with those of Redis is test/run/server_codec.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "server/script/modules.h"

static void open_module(lua_State *L, lua_CFunction open, const char *name)
{
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);
    lua_setglobal(L, name);
}

static int open_all(lua_State *L)
{
    luaL_openlibs(L);
    open_module(L, caret_codec__open_cjson, "cjson");
    open_module(L, caret_codec__open_cmsgpack, "cmsgpack");
    open_module(L, caret_codec__open_struct, "struct");
    open_module(L, caret_codec__open_bit, "bit");
    return 0;
}

/* Runs a script that raises an error if something is wrong. */
static void run(const char *script)
{
    lua_State *L = luaL_newstate();

    assert_non_null(L);
    lua_pushcfunction(L, open_all);
    lua_call(L, 0, 0);
    if (luaL_dostring(L, script) != 0)
        fail_msg("%s", lua_tostring(L, -1));
    lua_close(L);
}

static void json_is_written_and_read(void **state)
{
    (void)state;
    run("assert(cjson.encode({1, 'a/\"\\n\\127', true, cjson.null}) == "
        "'[1,\"a\\\\/\\\\\"\\\\n\\\\u007f\",true,null]')\n"
        "assert(cjson.encode({}) == '{}' and cjson.encode({a = {b = 0.1}}) == '{\"a\":{\"b\":0.1}}')\n"
        "local t = cjson.decode('{\"a\":[1,2.5,null,\"\\\\u00e9\\\\ud83d\\\\ude00\"],\"b\":{}}')\n"
        "assert(t.a[2] == 2.5 and t.a[3] == cjson.null and t.a[4] == '\\195\\169\\240\\159\\152\\128' and "
        "next(t.b) == nil)\n"
        "local function wrong(text) local ok, e = pcall(cjson.decode, text) assert(not ok) return e end\n"
        "assert(wrong('[1,') == 'Expected value but found T_END at character 4')\n"
        "assert(wrong('{\"a\" 1}') == 'Expected colon but found T_NUMBER at character 6')\n"
        "assert(wrong('\"\\\\ud800\"') == 'Expected value but found invalid unicode escape code at character "
        "2')\n"
        "local ok, e = pcall(cjson.encode, {[1e7] = 1})\n"
        "assert(e == 'Cannot serialise table: excessively sparse array')\n"
        "local other = cjson.new() other.encode_sparse_array(true)\n"
        "assert(other.encode({[100] = 1}) == '{\"100\":1}' and not pcall(cjson.encode, {[100] = 1}))\n");
}

static void messages_are_packed_in_their_shortest_form(void **state)
{
    (void)state;
    run("local function hex(...) return (cmsgpack.pack(...):gsub('.', function(c) return "
        "('%02x'):format(c:byte()) end)) end\n"
        "assert(hex(1, -1, 128, -129, 65536, 2^32, 1.5, 0.1) ==\n"
        "    '01ffcc80d1ff7fce00010000cf0000000100000000ca3fc00000cb3fb999999999999a')\n"
        "assert(hex({1, {a = true}}, nil, '') == '920181a161c3c0a0')\n"
        "local deep = {} local at = deep for i = 1, 20 do at[1] = {} at = at[1] end\n"
        "assert(hex(deep) == ('91'):rep(16) .. 'c0')\n"
        "local offset, a, b = cmsgpack.unpack_limit('\\1\\2\\3', 2) assert(offset == 2 and a == 1 and b == "
        "2)\n"
        "assert(cmsgpack.unpack_one('\\1') == -1)\n"
        "local ok, e = pcall(cmsgpack.unpack, '\\221\\255\\255\\255\\255') assert(e == 'Missing bytes in "
        "input.')\n"
        "local ok, e = pcall(cmsgpack.unpack, '\\193') assert(e == 'Bad data format in input.')\n");
}

static void structures_have_their_sizes_and_gaps(void **state)
{
    (void)state;
    run("assert(struct.pack('>HI3s', 258, 5, 'ab') == '\\1\\2\\0\\0\\5ab\\0')\n"
        "assert(struct.size('!bd') == 16 and #struct.pack('!bd', 1, 2) == 16)\n"
        "local a, b, c = struct.unpack('<i2Bc0', '\\254\\255\\3abcd') assert(a == -2 and b == 'abc' and c == "
        "7)\n"
        "assert(not pcall(struct.unpack, 'i4', 'abc') and not pcall(struct.pack, 'i33', 1))\n"
        "assert(bit.band(0xff, 0x10f) == 15 and bit.tohex(-1) == 'ffffffff' and bit.arshift(-8, 1) == -4)\n");
}

/* 100,000 brackets: an error, not a stack that is used up; whatever the script has set. */
static void nesting_is_bounded(void **state)
{
    (void)state;
    run("cjson.decode_max_depth(2^31 - 1) cjson.encode_max_depth(2^31 - 1)\n"
        "assert(not pcall(cjson.decode, ('['):rep(100000)))\n"
        "assert(not pcall(cmsgpack.unpack, ('\\145'):rep(100000) .. '\\1'))\n"
        "local deep = {} local at = deep for i = 1, 100000 do at[1] = {} at = at[1] end\n"
        "assert(not pcall(cjson.encode, deep) and #cmsgpack.pack(deep) == 17)\n"
        "assert(cjson.decode(('['):rep(1000) .. (']'):rep(1000)))\n");
}

/* All memory that a call needs beyond its result is the module's, and stays there. */
static void calls_make_no_garbage(void **state)
{
    (void)state;
    run("local value = {1, 'two', {three = 3.5}}\n"
        "local text, packed = cjson.encode(value), cmsgpack.pack(value)\n"
        "local bytes = struct.pack('>i4d', 7, 2.5)\n"
        "local function calls()\n"
        "    for i = 1, 1000 do\n"
        "        cjson.encode(value) cmsgpack.pack(value) struct.pack('>i4d', 7, 2.5) struct.unpack('>i4d', "
        "bytes)\n"
        "    end\n" /* the results are strings that are there already */
        "end\n"
        "calls() calls()\n" /* LuaJIT gives up compiling them */
        "collectgarbage() collectgarbage() collectgarbage('stop')\n"
        "local before = collectgarbage('count')\n"
        "calls()\n"
        "assert(collectgarbage('count') - before < 1, collectgarbage('count') - before)\n");
}

struct limited {
    long left;
};

static void *allocate(void *data, void *p, size_t old, size_t size)
{
    struct limited *limited = data;

    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (limited->left == 0)
        return NULL;
    limited->left--;
    return realloc(p, size);
}

/* Each allocation of Lua fails once: an error of memory, nothing is lost (AddressSanitizer looks) and all works
 * again. */
static void memory_may_run_out_anywhere(void **state)
{
    static const char script[] =
        "local t = cjson.decode('{\"a\":[1,2,{\"b\":\"c\"}],\"d\":\"e\"}')\n"
        "t = cmsgpack.unpack(cmsgpack.pack(t))\n"
        "return cjson.encode(t) .. struct.pack('s', 'x') .. struct.unpack('s', 'y\\0')\n";
    struct limited limited = {-1};
    lua_State *L = lua_newstate(allocate, &limited);
    int failures = 0;

    (void)state;
    if (L == NULL) { /* LuaJIT of 64 bits had its own allocator once */
        print_message("skipped: this Lua takes no allocator\n");
        return;
    }
    lua_pushcfunction(L, open_all);
    lua_call(L, 0, 0);
    for (long n = 0;; n++) {
        assert_int_equal(luaL_loadstring(L, script), 0);
        limited.left = n;
        int rc = lua_pcall(L, 0, 1, 0);
        limited.left = -1;
        lua_settop(L, 0);
        if (rc == 0)
            break;
        assert_int_equal(rc, LUA_ERRMEM);
        failures++;
    }
    assert_in_range(failures, 5, 1000);
    lua_close(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_written_and_read),
        cmocka_unit_test(messages_are_packed_in_their_shortest_form),
        cmocka_unit_test(structures_have_their_sizes_and_gaps),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(calls_make_no_garbage),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
