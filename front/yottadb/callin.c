/*
 * callin.c - calls of routines written in M: by the M machine, m/machine.h, which is loaded when it is needed.
 *
 * As long as there is no call-in table, neither of the environment nor opened, no routine has an entry, and nothing is
 * loaded to say so.
 */
#include <stdlib.h>
#include <unistd.h>

#include "m/machine.h"
#include "m/settings.h"
#include "yottadb/session.h"

#define SHOWN 128

static _Atomic bool opened; /* a table was */

/* ------------------------------------------------------------------ the machine */

static caret_session *session_of(void *who, const char *name, size_t len)
{
    struct caret__ydb_call *c = who;
    caret_session *s = NULL;

    return caret__ydb_session_named(c, name, len, &s) == YDB_OK ? s : NULL;
}

static size_t gbldir(void *who, char *room, size_t cap)
{
    (void)who;
    return caret__ydb_gbldir(room, cap);
}

static const char *gbldir_set(void *who, const char *name, size_t len)
{
    struct caret__ydb_call *c = who;
    int status = caret__ydb_gbldir_set(c, name, len);

    c->self->error.unheard = false; /* M says it in its words */
    return status == YDB_OK               ? NULL
           : status == YDB_ERR_ZGBLDIRACC ? caret_fact()
                                          : "it can't be set in a transaction";
}

static const struct caret_m__gbldir of_the_process = {gbldir, gbldir_set};

/* The thread's error, if it is news to M. */
static const char *said(void *who)
{
    struct caret__ydb_thread *t = ((struct caret__ydb_call *)who)->self;
    bool news = t->error.unheard;
    size_t len;

    t->error.unheard = false;
    return news ? caret__ydb_zstatus_text(t, &len) : NULL;
}

static const struct caret_m__machine *machine_of(struct caret__ydb_call *c, struct caret_m__call *call)
{
    char why[256];
    const struct caret_m__machine *m = caret_m__machine(why);

    *call = (struct caret_m__call){.who = c,
                                   .session = session_of,
                                   .said = said,
                                   .locks = &caret__ydb_locks_of_m,
                                   .gbldir = &of_the_process,
                                   .maxtptime = caret_m__maxtptime_place()};
    if (m == NULL)
        caret__ydb_fail(c, YDB_ERR_DLLNOOPEN, "Failed to load external dynamic library caret_m.so: %s", why);
    return m;
}

/* ------------------------------------------------------------------- interrupts
 *
 * The machine while a routine runs, for ydb_ci_interrupt(), and how many calls are in it, or wait for it, under
 * CARET__YDB_CALLS.  What came too late for a call is taken back when the last one ends, or the next one begins. */

static const struct caret_m__machine *_Atomic running;
static unsigned calls;

static void begin(struct caret__ydb_call *c, const struct caret_m__machine *m)
{
    c->self->error.unheard = false;
    atomic_fetch_add(&c->self->in_m, 1);
    caret__ydb_take(CARET__YDB_CALLS);
    if (calls++ == 0)
        m->ask_end(false);
    atomic_store(&running, m);
    caret__ydb_give(CARET__YDB_CALLS);
}

/* A routine whose C called one that was interrupted ends, too. */
static void finish(struct caret__ydb_call *c, const struct caret_m__machine *m, bool interrupted)
{
    bool within = atomic_fetch_sub(&c->self->in_m, 1) > 1;

    caret__ydb_take(CARET__YDB_CALLS);
    if (--calls == 0) {
        atomic_store(&running, NULL);
        m->ask_end(false);
    } else if (interrupted && within) {
        m->ask_end(true);
    }
    caret__ydb_give(CARET__YDB_CALLS);
}

void ydb_ci_interrupt(void)
{
    const struct caret_m__machine *m = atomic_load(&running);

    if (m != NULL)
        m->ask_end(true);
}

void caret__ydb_calls_in_child(void)
{
    struct caret__ydb_thread *t = caret__ydb_self;

    calls = t != NULL ? atomic_load(&t->in_m) : 0;
    if (calls == 0)
        atomic_store(&running, NULL);
}

/* The status of a call that ended, and its text as the thread's last error.  A caller that does not pass on M's
 * TRESTART can't commit either. */
static int ended(struct caret__ydb_call *c, const struct caret_m__call *call)
{
    if (call->status == CARET_M__ENDED)
        return caret__ydb_error(c, YDB_ERR_CTRLC, NULL);
    if (call->status == YDB_TP_RESTART && c->in != NULL)
        c->in->tp.m.restarting = true;
    if (call->status < 0) {
        c->self->error.status = call->status;
        caret__ydb_zstatus_set(c->self, call->text, strlen(call->text));
    }
    return call->status;
}

/* ------------------------------------------------------------------------ calls */

static bool any_table(void)
{
    const char *own = getenv("ydb_ci"), *old = getenv("GTMCI");

    return atomic_load(&opened) || (own != NULL && *own != '\0') || (old != NULL && *old != '\0');
}

static int no_entry(struct caret__ydb_call *c, const char *routine, size_t len)
{
    char name[SHOWN];

    snprintf(name, sizeof name, "%.*s", (int)(len < SHOWN ? len : SHOWN), routine);
    return caret__ydb_error(c, YDB_ERR_CINOENTRY, name, NULL);
}

static int call_entry(struct caret__ydb_call *c, const char *routine, size_t len, uintptr_t *entry,
                      va_list args)
{
    struct caret_m__call call;

    c->name = "ydb_ci";
    if (routine == NULL)
        return caret__ydb_error(c, YDB_ERR_CIRCALLNAME, NULL);
    if (!any_table())
        return no_entry(c, routine, len);
    const struct caret_m__machine *m = machine_of(c, &call);
    if (m == NULL)
        return YDB_ERR_DLLNOOPEN;
    int status = caret__ydb_locals_elsewhere(c, m->locals);
    if (status != YDB_OK)
        return status;
    begin(c, m);
    m->ci(&call, routine, len, entry, args);
    finish(c, m, call.status == CARET_M__ENDED);
    return ended(c, &call);
}

static int call_routine(struct caret__ydb_call *c, const char *routine, va_list args)
{
    uintptr_t entry = 0;

    return call_entry(c, routine, routine != NULL ? strlen(routine) : 0, &entry, args);
}

/* The handle of a descriptor is the entry's number; its name ends by a NUL, the length does not count. */
static int call_described(struct caret__ydb_call *c, ci_name_descriptor *ci, va_list args)
{
    c->name = "ydb_cip";
    if (ci == NULL)
        return caret__ydb_invalid(c, "NULL ci_info");
    uintptr_t entry = (uintptr_t)ci->handle;
    const char *name = ci->rtn_name.address;
    int status = call_entry(c, name, name != NULL ? strlen(name) : 0, &entry, args);

    ci->handle = (void *)entry;
    return status;
}

static int get_info(struct caret__ydb_call *c, const char *routine, ci_parm_type *pptype)
{
    struct caret_m__call call;

    c->name = "ydb_ci_get_info";
    if (routine == NULL || pptype == NULL)
        return caret__ydb_invalid(c, routine == NULL ? "NULL rtnname" : "NULL pptype");
    if (!any_table())
        return no_entry(c, routine, strlen(routine));
    const struct caret_m__machine *m = machine_of(c, &call);
    if (m == NULL)
        return YDB_ERR_DLLNOOPEN;
    m->masks(&call, routine, strlen(routine), &pptype->input_mask, &pptype->output_mask);
    return ended(c, &call);
}

/* ----------------------------------------------------------------------- tables */

static int tab_open(struct caret__ydb_call *c, const char *fname, uintptr_t *ret)
{
    struct caret_m__call call;

    c->name = "ydb_ci_tab_open";
    if (fname == NULL || ret == NULL)
        return caret__ydb_invalid(c, fname == NULL ? "NULL fname" : "NULL ret_value");
    if (*fname != '$' && access(fname, R_OK) != 0)
        return caret__ydb_error(c, YDB_ERR_CITABOPN, fname, NULL);
    const struct caret_m__machine *m = machine_of(c, &call);
    if (m == NULL)
        return YDB_ERR_DLLNOOPEN;
    if (m->open(&call, fname, ret) == 0)
        atomic_store(&opened, true);
    return ended(c, &call);
}

/* 0 is the table of the environment. */
static int tab_switch(struct caret__ydb_call *c, uintptr_t new_handle, uintptr_t *old)
{
    struct caret_m__call call;

    c->name = "ydb_ci_tab_switch";
    if (old == NULL || (new_handle != 0 && !atomic_load(&opened)))
        return caret__ydb_invalid(c, old == NULL ? "NULL ret_old_handle" : "Invalid new_handle");
    *old = 0;
    if (!atomic_load(&opened))
        return YDB_OK;
    const struct caret_m__machine *m = machine_of(c, &call);
    if (m == NULL)
        return YDB_ERR_DLLNOOPEN;
    m->use(&call, new_handle, old);
    return ended(c, &call);
}

/* ------------------------------------------------------------------------- ABI */

int ydb_ci(const char *c_rtn_name, ...)
{
    struct caret__ydb_call c;
    va_list args;

    if (!caret__ydb_begin(&c))
        return c.status;
    va_start(args, c_rtn_name);
    int status = call_routine(&c, c_rtn_name, args);
    va_end(args);
    return caret__ydb_end(&c, status);
}

int ydb_ci_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *c_rtn_name, ...)
{
    struct caret__ydb_call c;
    va_list args;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    va_start(args, c_rtn_name);
    int status = call_routine(&c, c_rtn_name, args);
    va_end(args);
    return caret__ydb_end_st(&c, status);
}

int ydb_cip(ci_name_descriptor *ci_info, ...)
{
    struct caret__ydb_call c;
    va_list args;

    if (!caret__ydb_begin(&c))
        return c.status;
    va_start(args, ci_info);
    int status = call_described(&c, ci_info, args);
    va_end(args);
    return caret__ydb_end(&c, status);
}

int ydb_cip_t(uint64_t tptoken, ydb_buffer_t *errstr, ci_name_descriptor *ci_info, ...)
{
    struct caret__ydb_call c;
    va_list args;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    va_start(args, ci_info);
    int status = call_described(&c, ci_info, args);
    va_end(args);
    return caret__ydb_end_st(&c, status);
}

/* For Java's interface, which tells types beside the arguments; the table tells them here. */
int ydb_cij(const char *c_rtn_name, char **arglist, int count, int *plist, ...)
{
    struct caret__ydb_call c;
    va_list args;

    (void)arglist;
    (void)count;
    if (!caret__ydb_begin(&c))
        return c.status;
    va_start(args, plist);
    int status = call_routine(&c, c_rtn_name, args);
    va_end(args);
    return caret__ydb_end(&c, status);
}

int ydb_ci_tab_open(const char *fname, uintptr_t *ret_value)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, tab_open(&c, fname, ret_value)) : c.status;
}

int ydb_ci_tab_open_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *fname, uintptr_t *ret_value)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, tab_open(&c, fname, ret_value))
                                                    : c.status;
}

int ydb_ci_tab_switch(uintptr_t new_handle, uintptr_t *ret_old_handle)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, tab_switch(&c, new_handle, ret_old_handle)) : c.status;
}

int ydb_ci_tab_switch_t(uint64_t tptoken, ydb_buffer_t *errstr, uintptr_t new_handle,
                        uintptr_t *ret_old_handle)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr)
               ? caret__ydb_end_st(&c, tab_switch(&c, new_handle, ret_old_handle))
               : c.status;
}

int ydb_ci_get_info(const char *rtnname, ci_parm_type *pptype)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, get_info(&c, rtnname, pptype)) : c.status;
}

int ydb_ci_get_info_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *rtnname, ci_parm_type *pptype)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, get_info(&c, rtnname, pptype))
                                                    : c.status;
}
