/*
 * mhd.c - libmicrohttpd by name.
 */
#include "web/mhd.h"

#include <dlfcn.h>
#include <string.h>

struct caret__mhd caret__mhd;

/* The name that its header belongs to: another number is another binary interface. */
#define LIBRARY "libmicrohttpd.so.12"

static bool take(void *library, const char *name, void *to)
{
    void *f = dlsym(library, name);

    memcpy(to, &f, sizeof f); /* a pointer to data becomes one to a function, as POSIX wants it */
    return f != NULL;
}

const char *caret__mhd_load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return LIBRARY " is not installed: apt install libmicrohttpd12";
#define X(name)                                                                                              \
    if (!take(library, "MHD_" #name, &caret__mhd.name))                                                      \
        return LIBRARY " lacks MHD_" #name;
    CARET__MHD_FUNCTIONS(X)
#undef X
    return NULL;
}
