/*
 * bytecode.c - a program of the build: bytecode FOLDER NAME PATH [NAME PATH ...]
 *
 * Writes the Lua files, as bytecode of the LuaJIT that it is linked with, into FOLDER under their names.  caret-m has
 * the same LuaJIT, so it need not compile its own modules each time it is started; other libraries may have another.
 */
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "bytecode: %s: %s\n", path, what);
    exit(1);
}

static int write_part(lua_State *L, const void *data, size_t len, void *file)
{
    (void)L;
    return fwrite(data, 1, len, file) != len;
}

/* The text of a file, which is left on the stack. */
static const char *read_text(lua_State *L, const char *path, size_t *len)
{
    char part[LUAL_BUFFERSIZE];
    luaL_Buffer text;
    FILE *f = fopen(path, "rb");

    if (f == NULL)
        stop("can't be read", path);
    luaL_buffinit(L, &text);
    for (size_t n = fread(part, 1, sizeof part, f); n != 0; n = fread(part, 1, sizeof part, f))
        luaL_addlstring(&text, part, n);
    luaL_pushresult(&text);
    fclose(f);
    return lua_tolstring(L, -1, len);
}

/* Names of places are those that vm.c gives to a module's text. */
static void compile(lua_State *L, const char *name, const char *path, const char *out)
{
    size_t len;
    const char *text = read_text(L, path, &len), *place = lua_pushfstring(L, "@%s", name);

    if (luaL_loadbuffer(L, text, len, place) != 0)
        stop(lua_tostring(L, -1), path);
    FILE *f = fopen(out, "wb");
    if (f == NULL || lua_dump(L, write_part, f) != 0 || fclose(f) != 0)
        stop("can't be written", out);
    lua_settop(L, 0);
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();

    if (L == NULL || argc < 2)
        stop("no memory, or no folder", argv[0]);
    luaL_openlibs(L); /* numbers of C, 1LL, want ffi */
    for (int i = 2; i + 1 < argc; i += 2) {
        char out[4096];
        snprintf(out, sizeof out, "%s/%s", argv[1], argv[i]);
        compile(L, argv[i], argv[i + 1], out);
    }
    lua_close(L);
    return 0;
}
