/*
 * engine.c - what caret_m.so has from elsewhere: each function is a jump to the true one.
 *
 * Those of caret.h are those of whatever loaded caret_m.so (m/machine.h).  Those of Lua are those of LuaJIT's library,
 * which is opened so that it finds its own functions first: the program may have another Lua, whose functions have the
 * same names.  (LuaJIT's static library can't be part of a shared one: it was not compiled for that.)
 *
 * The program caret-m is linked with both, and without this file.
 */
#include "mumps/bridge/engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Arguments are left where they are, however many there are. */
#define BEGIN(name) ".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n"
#if defined(__x86_64__)
#define JUMP(name) __asm__(BEGIN(name) "    jmp *caret_mumps__to_" #name "(%rip)\n")
#elif defined(__aarch64__)
#define JUMP(name)                                                                                           \
    __asm__(BEGIN(name) "    adrp x16, caret_mumps__to_" #name "\n"                                          \
                        "    ldr x16, [x16, :lo12:caret_mumps__to_" #name "]\n    br x16\n")
#else
#error "caret_m.so is for x86-64 and aarch64"
#endif

#define M_API(name)                                                                                          \
    __attribute__((visibility("hidden"), used)) void (*caret_mumps__to_##name)(void);                        \
    JUMP(name);
#include "m/api.def"
#include "mumps/bridge/lua.def"
#undef M_API

struct jump {
    const char *name;
    void (**to)(void);
};

#define M_API(name) {#name, &caret_mumps__to_##name},
static const struct jump engine[] = {
#include "m/api.def"
};
static const struct jump lua[] = {
#include "mumps/bridge/lua.def"
};
#undef M_API

static bool take(const struct jump *j, const struct caret_m__entry *api)
{
    while (api->name != NULL && strcmp(api->name, j->name) != 0)
        api++;
    *j->to = api->function;
    return api->function != NULL;
}

bool caret_mumps__engine_set(const struct caret_m__entry *api, char why[256])
{
    for (size_t i = 0; i < sizeof engine / sizeof *engine; i++)
        if (!take(&engine[i], api)) {
            snprintf(why, 256, "caret_m.so is of another version: %s is missing", engine[i].name);
            return false;
        }
    return true;
}

bool caret_mumps__lua_set(char why[256])
{
    void *library = dlopen("libluajit-5.1.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    for (size_t i = 0; i < sizeof lua / sizeof *lua && library != NULL; i++) {
        *(void **)lua[i].to = dlsym(library, lua[i].name);
        if (*lua[i].to == NULL)
            library = NULL;
    }
    if (library == NULL) {
        const char *text = dlerror();
        snprintf(why, 256, "M needs LuaJIT: %s", text != NULL ? text : "libluajit-5.1.so.2");
    }
    return library != NULL;
}
