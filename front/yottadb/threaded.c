/*
 * threaded.c - the functions ..._st on nodes: the same as ..._s in the transaction of the tptoken, which
 * session.h explains.  Those of locks and transactions are with their ..._s.
 */
#include "yottadb/session.h"

int ydb_get_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
               const ydb_buffer_t *subsarray, ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_get(&c, varname, subs_used, subsarray, ret_value));
}

int ydb_set_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
               const ydb_buffer_t *subsarray, const ydb_buffer_t *value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_set(&c, varname, subs_used, subsarray, value));
}

int ydb_data_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                const ydb_buffer_t *subsarray, unsigned int *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_data(&c, varname, subs_used, subsarray, ret_value));
}

int ydb_delete_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                  const ydb_buffer_t *subsarray, int deltype)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_delete(&c, varname, subs_used, subsarray, deltype));
}

int ydb_delete_excl_st(uint64_t tptoken, ydb_buffer_t *errstr, int namecount, const ydb_buffer_t *varnames)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_delete_excl(&c, namecount, varnames));
}

int ydb_incr_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                const ydb_buffer_t *subsarray, const ydb_buffer_t *increment, ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_incr(&c, varname, subs_used, subsarray, increment, ret_value));
}

int ydb_subscript_next_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                          const ydb_buffer_t *subsarray, ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_sibling(&c, varname, subs_used, subsarray, ret_value, false));
}

int ydb_subscript_previous_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname,
                              int subs_used, const ydb_buffer_t *subsarray, ydb_buffer_t *ret_value)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_sibling(&c, varname, subs_used, subsarray, ret_value, true));
}

int ydb_node_next_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                     const ydb_buffer_t *subsarray, int *ret_subs_used, ydb_buffer_t *ret_subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(
        &c, caret__ydb_step(&c, varname, subs_used, subsarray, ret_subs_used, ret_subsarray, false));
}

int ydb_node_previous_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                         const ydb_buffer_t *subsarray, int *ret_subs_used, ydb_buffer_t *ret_subsarray)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(
        &c, caret__ydb_step(&c, varname, subs_used, subsarray, ret_subs_used, ret_subsarray, true));
}

int ydb_str2zwr_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *str, ydb_buffer_t *zwr)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_convert(&c, str, zwr, true));
}

int ydb_zwr2str_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *zwr, ydb_buffer_t *str)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, caret__ydb_convert(&c, zwr, str, false));
}
