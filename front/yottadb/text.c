/*
 * text.c - bytes to ZWR text and back.
 */
#include "m/settings.h"
#include "yottadb/session.h"

int caret__ydb_convert(struct caret__ydb_call *c, const ydb_buffer_t *in, ydb_buffer_t *out, bool to_zwr)
{
    size_t len = 0;

    if (!caret__ydb_readable(in) || !caret__ydb_writable(out))
        return caret__ydb_fail(c, YDB_ERR_PARAMINVALID, "a buffer is NULL, or makes no sense");
    const char *from = in->len_used != 0 ? in->buf_addr : "";
    int rc = to_zwr ? caret_str2zwr(from, in->len_used, caret_m__utf8(), out->buf_addr, out->len_alloc, &len)
                    : caret_zwr2str(from, in->len_used, caret_m__utf8(), out->buf_addr, out->len_alloc, &len);
    if (rc != CARET_OK && rc != CARET_E_BUFFER)
        return caret__ydb_failed(c, rc);
    out->len_used = (unsigned)len;
    if (rc == CARET_OK)
        return YDB_OK;
    return caret__ydb_fail(c, YDB_ERR_INVSTRLEN, "the buffer has %u bytes, %zu are needed", out->len_alloc,
                           len);
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
