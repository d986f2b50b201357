/*
 * special.c - intrinsic special variables: $ZSTATUS, $ZGBLDIR and so on, to be read, some to be set.
 *
 * A name may be in any case, and abbreviated as far as the capitals of `name` here.
 */
#include <ctype.h>
#include <strings.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "yottadb/session.h"

/* The value into room; what does not fit is cut, and its length returned all the same. */
typedef size_t getter(struct caret__ydb_call *c, char *room, size_t cap);
typedef int setter(struct caret__ydb_call *c, const char *value, size_t len);

struct special {
    const char *name; /* with a '[' where it may end */
    getter *get;
    setter *set; /* NULL: it can't be */
};

#define DAYS_TO_1970 47117 /* from the last day of 1840, M's day 0 */

static size_t text(char *room, size_t cap, const char *value)
{
    return (size_t)snprintf(room, cap, "%s", value);
}

static size_t number(char *room, size_t cap, long long value)
{
    return (size_t)snprintf(room, cap, "%lld", value);
}

/* ---------------------------------------------------------------------- values */

static size_t get_horolog(struct caret__ydb_call *c, char *room, size_t cap)
{
    time_t now = time(NULL);
    struct tm tm;

    (void)c;
    localtime_r(&now, &tm);
    struct tm day = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday};
    return (size_t)snprintf(room, cap, "%lld,%d", (long long)(timegm(&day) / 86400 + DAYS_TO_1970),
                            tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec);
}

static size_t get_job(struct caret__ydb_call *c, char *room, size_t cap)
{
    (void)c;
    return number(room, cap, getpid());
}

static size_t get_tlevel(struct caret__ydb_call *c, char *room, size_t cap)
{
    return number(room, cap, c->in != NULL ? c->in->tp.level : 0);
}

static size_t get_trestart(struct caret__ydb_call *c, char *room, size_t cap)
{
    return number(room, cap, c->in != NULL ? caret_txn_restarts(c->in->s) : 0);
}

static size_t get_zchset(struct caret__ydb_call *c, char *room, size_t cap)
{
    (void)c;
    return text(room, cap, caret__ydb_utf8() ? "UTF-8" : "M");
}

static size_t get_zgbldir(struct caret__ydb_call *c, char *room, size_t cap)
{
    (void)c;
    return caret__ydb_gbldir(room, cap);
}

static size_t get_zmaxtptime(struct caret__ydb_call *c, char *room, size_t cap)
{
    (void)c;
    return number(room, cap, caret__ydb_maxtptime());
}

static size_t get_zstatus(struct caret__ydb_call *c, char *room, size_t cap)
{
    size_t len;

    return text(room, cap, caret__ydb_zstatus_text(c->self, &len));
}

static size_t get_zut(struct caret__ydb_call *c, char *room, size_t cap)
{
    struct timeval t;

    (void)c;
    gettimeofday(&t, NULL);
    return number(room, cap, (long long)t.tv_sec * 1000000 + t.tv_usec);
}

static size_t get_zversion(struct caret__ydb_call *c, char *room, size_t cap)
{
    (void)c;
    return text(room, cap, "GT.M V7.0-005 Linux x86_64");
}

static size_t get_zyrelease(struct caret__ydb_call *c, char *room, size_t cap)
{
    (void)c;
    return text(room, cap, "YottaDB r2.06 Linux x86_64");
}

static int set_zmaxtptime(struct caret__ydb_call *c, const char *value, size_t len)
{
    char room[32];

    (void)c;
    snprintf(room, sizeof room, "%.*s", (int)(len < sizeof room ? len : sizeof room - 1), value);
    caret__ydb_maxtptime_set(strtol(room, NULL, 10));
    return YDB_OK;
}

static int set_zstatus(struct caret__ydb_call *c, const char *value, size_t len)
{
    caret__ydb_zstatus_set(c->self, value, len);
    return YDB_OK;
}

static const struct special specials[] = {
    {"$H[OROLOG", get_horolog, NULL},
    {"$J[OB", get_job, NULL},
    {"$TL[EVEL", get_tlevel, NULL},
    {"$TR[ESTART", get_trestart, NULL},
    {"$ZCH[SET", get_zchset, NULL},
    {"$ZG[BLDIR", get_zgbldir, caret__ydb_gbldir_set},
    {"$ZMAXTPTI[ME", get_zmaxtptime, set_zmaxtptime},
    {"$ZS[TATUS", get_zstatus, set_zstatus},
    {"$ZUT[", get_zut, NULL},
    {"$ZV[ERSION", get_zversion, NULL},
    {"$ZYRE[LEASE", get_zyrelease, NULL},
};

/* --------------------------------------------------------------------- by name */

static bool is_name(const char *full, const char *name, size_t len)
{
    size_t i = 0, at = 0;

    for (; i < len && full[at] != '\0'; i++, at++) {
        at += full[at] == '[';
        if (toupper((unsigned char)name[i]) != full[at])
            return false;
    }
    return i == len && (full[at] == '\0' || full[at] == '[' || memchr(full, '[', at) != NULL);
}

static const struct special *find(const ydb_buffer_t *name)
{
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (is_name(specials[i].name, name->buf_addr, name->len_used))
            return &specials[i];
    return NULL;
}

static int unknown(struct caret__ydb_call *c, const ydb_buffer_t *name)
{
    return caret__ydb_fail(c, YDB_ERR_INVSVN, "there is no special variable %.*s",
                           (int)(name->len_used < 64 ? name->len_used : 64), name->buf_addr);
}

static int check(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used, const struct special **v)
{
    *v = find(name);
    if (*v == NULL)
        return unknown(c, name);
    if (subs_used != 0)
        return caret__ydb_fail(c, YDB_ERR_UNIMPLOP, "%.*s has no subscripts", (int)name->len_used,
                               name->buf_addr);
    return YDB_OK;
}

int caret__ydb_special_refuse(struct caret__ydb_call *c, const ydb_buffer_t *name)
{
    if (find(name) == NULL)
        return unknown(c, name);
    return caret__ydb_fail(c, YDB_ERR_UNIMPLOP, "%.*s is no variable with nodes: it can be read or set",
                           (int)name->len_used, name->buf_addr);
}

int caret__ydb_special_get(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used,
                           ydb_buffer_t *ret)
{
    char room[4200]; /* a path at most */
    const struct special *v;
    int status = check(c, name, subs_used, &v);

    if (status != YDB_OK)
        return status;
    size_t len = v->get(c, room, sizeof room);
    return caret__ydb_store(c, ret, room, len < sizeof room ? len : sizeof room - 1);
}

int caret__ydb_special_set(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used,
                           const ydb_buffer_t *value)
{
    const struct special *v;
    int status = check(c, name, subs_used, &v);

    if (status != YDB_OK)
        return status;
    if (v->set == NULL)
        return caret__ydb_fail(c, YDB_ERR_SVNOSET, "%.*s can't be set", (int)name->len_used, name->buf_addr);
    return v->set(c, value != NULL && value->len_used != 0 ? value->buf_addr : "",
                  value != NULL ? value->len_used : 0);
}
