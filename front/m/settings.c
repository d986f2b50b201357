/*
 * settings.c - the environment, and files of databases.
 */
#include "m/settings.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "m/number.h"

#define MOST_OF_ENVIRONMENT 60 /* seconds; a program may set more */

/* The first of the variables that says something, or NULL. */
static const char *first_of(const char *name, const char *other)
{
    const char *value = getenv(name);

    if (value == NULL || *value == '\0')
        value = getenv(other);
    return value != NULL && *value != '\0' ? value : NULL;
}

bool caret_m__utf8(void)
{
    static _Atomic int mode = -1;
    int m = atomic_load_explicit(&mode, memory_order_relaxed);

    if (m < 0) {
        const char *set = first_of("ydb_chset", "gtm_chset");
        m = set != NULL && strcasecmp(set, "UTF-8") == 0;
        atomic_store_explicit(&mode, m, memory_order_relaxed);
    }
    return m;
}

/* ------------------------------------------------------------------ $ZMAXTPTIME */

#define UNKNOWN LONG_MIN

/* Seconds, 0 and less = any; UNKNOWN: that of the environment. */
static _Atomic long own_maxtptime = UNKNOWN;
static _Atomic long *_Atomic maxtptime = &own_maxtptime;

static long seconds(const char *text, size_t len, int64_t least, int64_t most)
{
    int64_t v = caret_m__integer(text, len);

    return (long)(v < least ? least : v < most ? v : most);
}

_Atomic long *caret_m__maxtptime_place(void)
{
    return atomic_load_explicit(&maxtptime, memory_order_relaxed);
}

void caret_m__maxtptime_use(_Atomic long *place)
{
    atomic_store_explicit(&maxtptime, place != NULL ? place : &own_maxtptime, memory_order_relaxed);
}

long caret_m__maxtptime(void)
{
    _Atomic long *place = caret_m__maxtptime_place();
    long limit = atomic_load_explicit(place, memory_order_relaxed);

    if (limit == UNKNOWN) {
        const char *text = first_of("ydb_maxtptime", "gtm_zmaxtptime");
        limit = text != NULL ? seconds(text, strlen(text), 0, MOST_OF_ENVIRONMENT) : 0;
        atomic_store_explicit(place, limit, memory_order_relaxed);
    }
    return limit;
}

void caret_m__maxtptime_set(const char *text, size_t len)
{
    atomic_store_explicit(caret_m__maxtptime_place(), seconds(text, len, INT32_MIN, INT32_MAX),
                          memory_order_relaxed);
}

/* -------------------------------------------------------------------- databases */

const char *caret_m__gbldir(void)
{
    const char *name = first_of("ydb_gbldir", "CARET_DB");

    return name != NULL ? name : "./data.caret";
}

char *caret_m__file_of(const char *name)
{
    size_t len = strlen(name);
    char *file = malloc(len + 3);

    if (file == NULL)
        return NULL;
    memcpy(file, name, len + 1);
    if (len > 4 && strcmp(name + len - 4, ".gld") == 0)
        memcpy(file + len - 4, ".caret", 7);
    return file;
}

bool caret_m__only_read(const char *file)
{
    return faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) != 0 &&
           faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) == 0;
}
