/*
 * machine.c - finding and loading caret_m.so.
 */
#include "m/machine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define M_API(name) {#name, (void (*)(void))name},
const struct caret_m__entry caret_m__api[] = {
#include "m/api.def"
    {NULL, NULL},
};
#undef M_API

/* Where it is, seen from the folder that this code was loaded from: beside it, in a build; where it is installed, seen
 * from lib/caret/yottadb, lib/lua/5.4 and bin. */
#ifndef CARET_M__LIBRARIES
#define CARET_M__LIBRARIES "../lib/caret"
#endif
static const char *const places[] = {".", "..", "../..", "../../caret", CARET_M__LIBRARIES, NULL};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const struct caret_m__machine *machine;

static void *load_from(const char *folder, int folder_len, const char *place)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%.*s%s/caret_m.so", folder_len, folder, place);

    return n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* The length of the folder that this code was loaded from, a / after it included.  dladdr() tells of the program itself
 * only what it was called by, such as `caret`, which PATH led to. */
static int own_folder(char path[4096])
{
    Dl_info here, program;
    ssize_t len = -1;

    if (dladdr((void *)caret_m__api, &here) == 0 || here.dli_fname == NULL)
        return 0;
    if (dladdr((void *)getauxval(AT_PHDR), &program) != 0 && program.dli_fbase == here.dli_fbase)
        len = readlink("/proc/self/exe", path, 4095);
    else if (strlen(here.dli_fname) < 4096)
        len = snprintf(path, 4096, "%s", here.dli_fname);
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 0 ? (int)len : 0;
}

static void *load(void)
{
    char folder[4096];
    int len = own_folder(folder);
    void *library = NULL;

    for (const char *const *place = places; len > 0 && *place != NULL && library == NULL; place++)
        library = load_from(folder, len, *place);
    return library;
}

static const struct caret_m__machine *start(char why[256])
{
    void *library = load();
    caret_m_start_function *f = NULL;

    if (library != NULL)
        *(void **)&f = dlsym(library, CARET_M__START);
    if (f != NULL)
        return f(caret_m__api, why);
    const char *text = dlerror();
    snprintf(why, 256, "%s", text != NULL ? text : "caret_m.so is not there");
    return NULL;
}

/* Another thread may have been loading it: caret_m.so has what comes of that. */
static void in_child(void)
{
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void heed_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

const struct caret_m__machine *caret_m__machine(char why[256])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, heed_forks);
    pthread_mutex_lock(&mutex);
    if (machine == NULL)
        machine = start(why);
    const struct caret_m__machine *m = machine;
    pthread_mutex_unlock(&mutex);
    return m;
}
