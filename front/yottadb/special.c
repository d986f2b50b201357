/*
 * special.c - special variables for programs: what the library of M's semantics (m/special.h) asks about the
 * calling thread.
 */
#include "m/special.h"
#include "m/m.h"
#include "m/settings.h"
#include "yottadb/session.h"

static unsigned tlevel(void *who)
{
    const struct caret__ydb_call *c = who;

    return c->in != NULL ? c->in->tp.m.level : 0;
}

static unsigned trestart(void *who)
{
    const struct caret__ydb_call *c = who;

    return c->in != NULL ? (unsigned)caret_txn_restarts(c->in->s) : 0;
}

static size_t zgbldir(void *who, char *room, size_t cap)
{
    (void)who;
    return caret__ydb_gbldir(room, cap);
}

static size_t zstatus(void *who, char *room, size_t cap)
{
    const struct caret__ydb_call *c = who;
    size_t len;

    return (size_t)snprintf(room, cap, "%s", caret__ydb_zstatus_text(c->self, &len));
}

/* The variable of that name, if it can be used so. */
static int check(struct caret__ydb_call *c, const ydb_buffer_t *name, enum caret_m__use use, int subs_used,
                 const struct caret_m__special **v)
{
    char why[160], call[40];

    snprintf(call, sizeof call, "%s()", c->name);
    int status = caret_m__special(name->buf_addr, name->len_used, use, subs_used, call, v, why);

    return status == 0 ? YDB_OK : caret__ydb_fail(c, status, "%s", why);
}

int caret__ydb_special_refuse(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used)
{
    const struct caret_m__special *v;

    return check(c, name, CARET_M__OTHER, subs_used, &v);
}

int caret__ydb_special_get(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used,
                           ydb_buffer_t *ret)
{
    const struct caret_m__asker asker = {c, tlevel, trestart, zgbldir, zstatus};
    char room[CARET_M__SPECIAL_MAX];
    const struct caret_m__special *v;
    int status = check(c, name, CARET_M__GET, subs_used, &v);

    if (status == YDB_OK && ret == NULL)
        status = caret__ydb_invalid(c, "NULL ret_value");
    if (status != YDB_OK)
        return status;
    size_t len = caret_m__special_get(v, &asker, room, sizeof room);
    return caret__ydb_store(c, ret, room, len < sizeof room ? len : sizeof room - 1);
}

int caret__ydb_special_set(struct caret__ydb_call *c, const ydb_buffer_t *name, int subs_used,
                           const ydb_buffer_t *value)
{
    const struct caret_m__special *v;
    int status = check(c, name, CARET_M__SET, subs_used, &v);

    if (status == YDB_OK && value != NULL && !caret__ydb_readable(value))
        status = caret__ydb_invalid(c, "Invalid value");
    if (status != YDB_OK)
        return status;
    const char *text = value != NULL && value->len_used != 0 ? value->buf_addr : "";
    size_t len = value != NULL ? value->len_used : 0;
    switch (v->sets) {
    case CARET_M__ZGBLDIR: return caret__ydb_gbldir_set(c, text, len);
    case CARET_M__ZMAXTPTIME: caret_m__maxtptime_set(text, len); break;
    default: caret__ydb_zstatus_set(c->self, text, len);
    }
    return YDB_OK;
}
