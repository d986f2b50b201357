/*
 * text.c - bytes to ZWR text and back.
 */
#include "m/text.h"
#include "m/settings.h"
#include "yottadb/session.h"

int caret__ydb_convert(struct caret__ydb_call *c, const ydb_buffer_t *in, ydb_buffer_t *out, bool to_zwr)
{
    size_t len = 0;

    c->name = to_zwr ? "ydb_str2zwr_s" : "ydb_zwr2str_s";
    if (!caret__ydb_readable(in))
        return caret__ydb_invalid(c, to_zwr ? "Invalid str" : "Invalid zwr");
    if (out == NULL)
        return caret__ydb_invalid(c, to_zwr ? "NULL zwr" : "NULL str");
    const char *from = in->len_used != 0 ? in->buf_addr : "";
    size_t cap = out->buf_addr != NULL ? out->len_alloc : 0;
    int rc = (to_zwr ? caret_m__str2zwr : caret_m__zwr2str)(from, in->len_used, caret_m__utf8(),
                                                            out->buf_addr, cap, &len);
    if (rc != CARET_OK && rc != CARET_E_BUFFER && rc != CARET_E_SYNTAX)
        return caret__ydb_failed(c, rc);
    /* what is not ZWR text is the empty string */
    return caret__ydb_fits(c, out, rc == CARET_E_SYNTAX ? 0 : len, to_zwr ? "zwr" : "str");
}

int ydb_str2zwr_s(const ydb_buffer_t *str, ydb_buffer_t *zwr)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_convert(&c, str, zwr, true));
}

int ydb_zwr2str_s(const ydb_buffer_t *zwr, ydb_buffer_t *str)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_convert(&c, zwr, str, false));
}
