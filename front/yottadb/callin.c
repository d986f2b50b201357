/*
 * callin.c - calls of routines written in M, of which there are none: each is an error that says so.  The arguments
 * after the routine's name are not looked at.
 */
#include "yottadb/session.h"

#define SHOWN 128

static int no_entry(struct caret__ydb_call *c, const char *routine, size_t len)
{
    char name[SHOWN];

    c->name = "ydb_ci";
    if (routine == NULL)
        return caret__ydb_invalid(c, "NULL c_rtn_name");
    snprintf(name, sizeof name, "%.*s", (int)(len < SHOWN ? len : SHOWN), routine);
    return caret__ydb_error(c, YDB_ERR_CINOENTRY, name, NULL);
}

static int no_routine(struct caret__ydb_call *c, const char *routine)
{
    return no_entry(c, routine, routine != NULL ? strlen(routine) : 0);
}

static int no_described(struct caret__ydb_call *c, const ci_name_descriptor *ci)
{
    return no_entry(c, ci != NULL ? ci->rtn_name.address : NULL, ci != NULL ? ci->rtn_name.length : 0);
}

static int tab_open(struct caret__ydb_call *c, const char *fname, const uintptr_t *ret)
{
    c->name = "ydb_ci_tab_open";
    if (fname == NULL || ret == NULL)
        return caret__ydb_invalid(c, fname == NULL ? "NULL fname" : "NULL ret_value");
    return caret__ydb_error(c, YDB_ERR_CITABOPN, fname, NULL);
}

/* There is the default one only, 0. */
static int tab_switch(struct caret__ydb_call *c, uintptr_t new_handle, uintptr_t *old)
{
    c->name = "ydb_ci_tab_switch";
    if (old == NULL || new_handle != 0)
        return caret__ydb_invalid(c, old == NULL ? "NULL ret_old_handle" : "Invalid new_handle");
    *old = 0;
    return YDB_OK;
}

/* ------------------------------------------------------------------------- ABI */

int ydb_ci(const char *c_rtn_name, ...)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, no_routine(&c, c_rtn_name)) : c.status;
}

int ydb_ci_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *c_rtn_name, ...)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, no_routine(&c, c_rtn_name))
                                                    : c.status;
}

int ydb_cip(ci_name_descriptor *ci_info, ...)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, no_described(&c, ci_info)) : c.status;
}

int ydb_cip_t(uint64_t tptoken, ydb_buffer_t *errstr, ci_name_descriptor *ci_info, ...)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, no_described(&c, ci_info))
                                                    : c.status;
}

int ydb_cij(const char *c_rtn_name, char **arglist, int count, int *plist, ...)
{
    struct caret__ydb_call c;

    (void)arglist;
    (void)count;
    (void)plist;
    return caret__ydb_begin(&c) ? caret__ydb_end(&c, no_routine(&c, c_rtn_name)) : c.status;
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

    (void)pptype;
    return caret__ydb_begin(&c) ? caret__ydb_end(&c, no_routine(&c, rtnname)) : c.status;
}

int ydb_ci_get_info_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *rtnname, ci_parm_type *pptype)
{
    struct caret__ydb_call c;

    (void)pptype;
    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, no_routine(&c, rtnname))
                                                    : c.status;
}
