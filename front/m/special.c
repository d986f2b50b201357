/*
 * special.c - the special variables, by name.
 */
#include "m/special.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "m/error.h"
#include "m/settings.h"

#define DAYS_TO_1970 47117 /* from the last day of 1840, M's day 0 */

static size_t text(char *room, size_t cap, const char *value)
{
    return (size_t)snprintf(room, cap, "%s", value);
}

static size_t number(char *room, size_t cap, long long value)
{
    return (size_t)snprintf(room, cap, "%lld", value);
}

/* ----------------------------------------------------------------------- time */

/* A moment as the clocks on the wall have it. */
struct wall {
    long long day; /* M's */
    int second;    /* of the day */
    long west;     /* seconds that UTC is ahead */
};

/* The date is counted as if it were one in UTC: no change of clocks matters. */
static struct wall wall_of(time_t when)
{
    struct tm tm;

    localtime_r(&when, &tm);
    struct tm day = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday};
    return (struct wall){.day = (long long)(timegm(&day) / 86400) + DAYS_TO_1970,
                         .second = tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec,
                         .west = -tm.tm_gmtoff};
}

static struct timespec now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t;
}

static size_t get_horolog(const struct caret_m__asker *a, char *room, size_t cap)
{
    struct wall w = wall_of(now().tv_sec);

    (void)a;
    return (size_t)snprintf(room, cap, "%lld,%d", w.day, w.second);
}

static size_t get_zhorolog(const struct caret_m__asker *a, char *room, size_t cap)
{
    struct timespec t = now();
    struct wall w = wall_of(t.tv_sec);

    (void)a;
    return (size_t)snprintf(room, cap, "%lld,%d,%ld,%ld", w.day, w.second, t.tv_nsec / 1000, w.west);
}

static size_t get_zut(const struct caret_m__asker *a, char *room, size_t cap)
{
    struct timespec t = now();

    (void)a;
    return number(room, cap, (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
}

/* ---------------------------------------------------------------------- others */

static size_t get_job(const struct caret_m__asker *a, char *room, size_t cap)
{
    (void)a;
    return number(room, cap, getpid());
}

static size_t get_tlevel(const struct caret_m__asker *a, char *room, size_t cap)
{
    return number(room, cap, a->tlevel(a->who));
}

static size_t get_trestart(const struct caret_m__asker *a, char *room, size_t cap)
{
    return number(room, cap, a->trestart(a->who));
}

static size_t get_zchset(const struct caret_m__asker *a, char *room, size_t cap)
{
    (void)a;
    return text(room, cap, caret_m__utf8() ? "UTF-8" : "M");
}

static size_t get_zgbldir(const struct caret_m__asker *a, char *room, size_t cap)
{
    return a->zgbldir(a->who, room, cap);
}

static size_t get_zmaxtptime(const struct caret_m__asker *a, char *room, size_t cap)
{
    (void)a;
    return number(room, cap, caret_m__maxtptime());
}

static size_t get_zstatus(const struct caret_m__asker *a, char *room, size_t cap)
{
    return a->zstatus(a->who, room, cap);
}

static size_t get_zversion(const struct caret_m__asker *a, char *room, size_t cap)
{
    (void)a;
    return text(room, cap, "GT.M V7.0-005 Linux x86_64");
}

static size_t get_zyrelease(const struct caret_m__asker *a, char *room, size_t cap)
{
    (void)a;
    return text(room, cap, "YottaDB r2.06 Linux x86_64");
}

static const struct caret_m__special specials[] = {
    {"$HOROLOG", 2, CARET_M__NO_SET, get_horolog},   {"$JOB", 2, CARET_M__NO_SET, get_job},
    {"$TLEVEL", 3, CARET_M__NO_SET, get_tlevel},     {"$TRESTART", 3, CARET_M__NO_SET, get_trestart},
    {"$ZCHSET", 4, CARET_M__NO_SET, get_zchset},     {"$ZGBLDIR", 3, CARET_M__ZGBLDIR, get_zgbldir},
    {"$ZHOROLOG", 3, CARET_M__NO_SET, get_zhorolog}, {"$ZMAXTPTIME", 9, CARET_M__ZMAXTPTIME, get_zmaxtptime},
    {"$ZSTATUS", 3, CARET_M__ZSTATUS, get_zstatus},  {"$ZUT", 4, CARET_M__NO_SET, get_zut},
    {"$ZVERSION", 3, CARET_M__NO_SET, get_zversion}, {"$ZYRELEASE", 5, CARET_M__NO_SET, get_zyrelease},
};

/* --------------------------------------------------------------------- by name */

const struct caret_m__special *caret_m__specials(size_t *n)
{
    *n = sizeof specials / sizeof *specials;
    return specials;
}

/* Is it the name in full, in any case, as far as it goes? */
static bool begins(const char *full, const char *name, size_t len)
{
    size_t i = 0;

    while (i < len && full[i] != '\0' &&
           full[i] == (name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]))
        i++;
    return i == len;
}

static const struct caret_m__special *find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (len >= specials[i].shortest && begins(specials[i].name, name, len))
            return &specials[i];
    return NULL;
}

/* What is wrong, in the order in which YottaDB looks. */
static int refusal(size_t len, enum caret_m__use use, int subscripts, const struct caret_m__special *v)
{
    bool fixed = use == CARET_M__SET && v != NULL && v->sets == CARET_M__NO_SET;

    return len < 2                 ? CARET_M__E_INVVARNAME
           : fixed                 ? CARET_M__E_SVNOSET
           : subscripts > 0        ? CARET_M__E_ISVSUBSCRIPTED
           : v == NULL             ? CARET_M__E_INVSVN
           : use == CARET_M__OTHER ? CARET_M__E_ISVUNSUPPORTED
           : subscripts < 0        ? CARET_M__E_MINNRSUBSCRIPTS
                                   : 0;
}

int caret_m__special(const char *name, size_t len, enum caret_m__use use, int subscripts,
                     const char *function, const struct caret_m__special **v, char why[160])
{
    char shown[64], count[16];

    *v = find(name, len);
    int code = refusal(len, use, subscripts, *v);
    if (code == 0)
        return 0;
    snprintf(shown, sizeof shown, "%.*s", (int)(len < sizeof shown ? len : sizeof shown - 1), name);
    snprintf(count, sizeof count, "%d", subscripts);
    caret_m__fill(why, 160, code,
                  (const char *const[]){shown, code == CARET_M__E_ISVSUBSCRIPTED ? count : function, NULL});
    return code;
}

size_t caret_m__special_get(const struct caret_m__special *v, const struct caret_m__asker *asker, char *room,
                            size_t cap)
{
    return v->get(asker, room, cap);
}
