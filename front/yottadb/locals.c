/*
 * locals.c - local variables: one set for the process, as YottaDB's programs expect, in a session without a
 * database under a mutex, those with long keys in a list (m/long.h).  m/locals.c copies them for transactions that
 * begin again.
 *
 * WHEN M IS CALLED (callin.c) its variables become the process's: `elsewhere` is set once, under the mutex, after all
 * that there was has been handed over; from then on there is no session, the list asks M for every name, and so
 * all calls go the way of long keys (long.c).  A call that came before either is done, or sees it.
 *
 * M's mutex, which `enter` of the table takes, is held while a routine runs, and C that it calls comes here: so that
 * is taken before CARET__YDB_LOCALS, and a thread that has only this one does not wait for the other.
 */
#include "yottadb/session.h"

struct caret_m__locals caret__ydb_all_locals;

static const caret_locals *_Atomic elsewhere;

/* There is no session: M keeps them, or this is the first call of all. */
static int without_session(struct caret__ydb_call *c)
{
    int rc = CARET_OK;

    if (elsewhere != NULL) {
        caret__ydb_give(CARET__YDB_LOCALS);
        return CARET__YDB_LONG;
    }
    rc = caret_session_open(NULL, &caret__ydb_all_locals.s);
    if (rc != CARET_OK) {
        caret__ydb_give(CARET__YDB_LOCALS);
        return caret__ydb_failed(c, rc);
    }
    caret_session_detach(caret__ydb_all_locals.s);
    return YDB_OK;
}

int caret__ydb_locals(struct caret__ydb_call *c)
{
    int status = c->in != NULL ? caret__ydb_tp_check(c) : YDB_OK;

    if (status != YDB_OK)
        return status;
    caret__ydb_take(CARET__YDB_LOCALS);
    return caret__ydb_likely(caret__ydb_all_locals.s != NULL) ? YDB_OK : without_session(c);
}

/* Both mutexes, if M keeps them. */
static void hold(void)
{
    const caret_locals *table = atomic_load(&elsewhere);

    if (table != NULL)
        table->enter(table->who);
    caret__ydb_take(CARET__YDB_LOCALS);
    if (table != atomic_load(&elsewhere)) { /* M has come meanwhile */
        caret__ydb_give(CARET__YDB_LOCALS);
        hold();
    }
}

void caret__ydb_locals_any_done(void)
{
    const caret_locals *table = atomic_load(&elsewhere);

    caret__ydb_give(CARET__YDB_LOCALS);
    if (table != NULL)
        table->leave(table->who);
}

int caret__ydb_locals_any(struct caret__ydb_call *c)
{
    int status = caret__ydb_locals(c);

    if (status != CARET__YDB_LONG)
        return status;
    hold();
    return YDB_OK;
}

int caret__ydb_locals_elsewhere(struct caret__ydb_call *c, const caret_locals *table)
{
    int rc = CARET_OK;

    if (atomic_load(&elsewhere) == table)
        return YDB_OK;
    table->enter(table->who);
    caret__ydb_take(CARET__YDB_LOCALS);
    if (elsewhere == NULL)
        rc = caret_m__long_elsewhere(&caret__ydb_all_locals, table);
    if (rc == CARET_OK)
        elsewhere = table;
    caret__ydb_give(CARET__YDB_LOCALS);
    table->leave(table->who);
    return rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc);
}

/* ----------------------------------------------------------------------- names */

static int not_local(struct caret__ydb_call *c, int status, const ydb_buffer_t *b)
{
    char name[64], call[40];

    snprintf(name, sizeof name, "%.*s", (int)(b->len_used < sizeof name ? b->len_used : sizeof name - 1),
             b->buf_addr);
    snprintf(call, sizeof call, "%s()", c->name);
    return caret__ydb_error(c, status, name, call, NULL);
}

static int bad_namecount(struct caret__ydb_call *c, int namecount)
{
    struct caret__ydb_digits count, most;
    char call[40];

    snprintf(call, sizeof call, "%s()", c->name);
    if (namecount < 0)
        return caret__ydb_error(c, YDB_ERR_INVNAMECOUNT, call, NULL);
    return caret__ydb_error(c, YDB_ERR_NAMECOUNT2HI, call, caret__ydb_digits(&count, namecount),
                            caret__ydb_digits(&most, YDB_MAX_NAMES), NULL);
}

int caret__ydb_namecount_check(struct caret__ydb_call *c, int namecount)
{
    return namecount < 0 || namecount > YDB_MAX_NAMES ? bad_namecount(c, namecount) : YDB_OK;
}

int caret__ydb_names_check(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names, bool star)
{
    if (namecount != 0 && names == NULL)
        return caret__ydb_invalid(c, "NULL varnames");
    for (int i = 0; i < namecount; i++) {
        const ydb_buffer_t *b = &names[i];
        if (!caret__ydb_readable(b))
            return caret__ydb_invalid_at(c, "varname array", i);
        if (b->len_used != 0 && b->buf_addr[0] == '^')
            return not_local(c, YDB_ERR_GVNUNSUPPORTED, b);
        if (star && namecount == 1 && b->len_used == 1 && b->buf_addr[0] == '*')
            continue;
        int status = caret__ydb_name_check(c, b, 0);
        if (status != YDB_OK)
            return status;
    }
    return YDB_OK;
}

int caret__ydb_delete_excl(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names)
{
    caret_slice kept[YDB_MAX_NAMES];
    c->name = "ydb_delete_excl_s";
    int status = caret__ydb_namecount_check(c, namecount);
    if (status == YDB_OK)
        status = caret__ydb_names_check(c, namecount, names, false);
    if (status == YDB_OK)
        status = caret__ydb_locals_any(c);
    if (status != YDB_OK)
        return status;
    for (int i = 0; i < namecount; i++)
        kept[i] = (caret_slice){names[i].buf_addr, names[i].len_used};
    int rc = caret_m__kill_others(&caret__ydb_all_locals, kept, (size_t)namecount);
    caret__ydb_locals_any_done();
    return rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc);
}

int ydb_delete_excl_s(int namecount, const ydb_buffer_t *varnames)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_delete_excl(&c, namecount, varnames));
}

/* ---------------------------------------------------------------------- copies */

static int outcome(struct caret__ydb_call *c, int rc)
{
    if (rc == CARET_E_NOMEM)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "NOMEM: no memory for copies of local variables");
    return rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc);
}

int caret__ydb_locals_save(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names)
{
    struct caret_m__tp *tp = &c->in->tp.m;
    int rc = CARET_OK, status = namecount != 0 ? caret__ydb_locals_any(c) : YDB_OK;

    if (status != YDB_OK || namecount == 0)
        return status;
    for (int i = 0; rc == CARET_OK && i < namecount; i++)
        rc = caret_m__save(&tp->saved, tp->level, &caret__ydb_all_locals, names[i].buf_addr,
                           names[i].len_used);
    caret__ydb_locals_any_done();
    return outcome(c, rc);
}

int caret__ydb_locals_restore(struct caret__ydb_call *c, struct caret_m__tp *tp)
{
    if (tp->saved == NULL)
        return YDB_OK;
    hold();
    int rc = caret_m__tp_restore(tp, &caret__ydb_all_locals);
    caret__ydb_locals_any_done();
    return outcome(c, rc);
}
