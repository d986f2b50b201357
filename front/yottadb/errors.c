/*
 * errors.c - the last error of each thread, and what programs ask about errors.  The table is m/errors.def.
 *
 * Each thread has its last error as YottaDB words it, "150372994,(SimpleAPI),%YDB-E-GVUNDEF, Global variable undefined:
 * ^a(1)", for $ZSTATUS, ydb_zstatus() and errstr.  That a node has no value is an everyday answer: only the node is
 * noted then.  NODEEND and the positive outcomes are not errors in this sense.
 */
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "m/m.h"
#include "m/settings.h"
#include "yottadb/session.h"

/* The headers say what the table says. */
#define M_ERROR(part, name, number, text)     static_assert(YDB_ERR_##name == (number), #name);
#define M_OUTCOME(name, below, shorter, text) static_assert(YDB_##name == CARET_M__OUTCOME(below), #name);
#include "m/errors.def"
#undef M_ERROR
#undef M_OUTCOME
#define M_LIMIT(name, value) static_assert(YDB_##name == (value), #name);
#define M_WIDE(name, value)  static_assert(YDB_##name == (value), #name);
#include "m/constants.def"
#undef M_LIMIT
#undef M_WIDE

/* ------------------------------------------------------------------- noting */

int caret__ydb_fail(struct caret__ydb_call *c, int status, const char *format, ...)
{
    struct caret__ydb_error *e = &c->self->error;
    va_list args;

    e->status = status;
    e->undefined = false;
    size_t n = caret_m__status(e->text, sizeof e->text, status, "");
    va_start(args, format);
    vsnprintf(e->text + n, sizeof e->text - n, format, args);
    va_end(args);
    return status;
}

int caret__ydb_failed(struct caret__ydb_call *c, int rc)
{
    int status = caret_m__code_of(rc);

    if (status > 0 || status == YDB_ERR_NODEEND)
        return status;
    return caret__ydb_fail(c, status, "%s", caret_m__said(rc, caret_message()));
}

int caret__ydb_undefined(struct caret__ydb_call *c, const caret_node *n)
{
    struct caret__ydb_error *e = &c->self->error;

    e->status = caret_node_is_local(n) ? YDB_ERR_LVUNDEF : YDB_ERR_GVUNDEF;
    e->undefined = caret_node_copy(&e->node.node, sizeof e->node, n) == CARET_OK;
    return e->status;
}

/* ------------------------------------------------------------------ telling */

/* Now the node is to be named. */
static void name_node(struct caret__ydb_error *e)
{
    size_t len, n = caret_m__status(e->text, sizeof e->text, e->status, NULL);

    n += (size_t)snprintf(e->text + n, sizeof e->text - n, ": ");
    int rc = caret_node_zwr(&e->node.node, caret_m__utf8(), e->text + n, sizeof e->text - 1 - n, &len);
    e->text[rc == CARET_OK ? n + len : n] = '\0'; /* too long: the name alone is better than nothing */
    if (rc != CARET_OK) {
        char var[CARET_MAX_NAME + 2];
        snprintf(e->text + n, sizeof e->text - n, "%s(...)", caret_node_name(&e->node.node, var).data);
    }
    e->undefined = false;
}

const char *caret__ydb_zstatus_text(struct caret__ydb_thread *t, size_t *len)
{
    if (t->error.undefined)
        name_node(&t->error);
    *len = strlen(t->error.text);
    return t->error.text;
}

void caret__ydb_zstatus_set(struct caret__ydb_thread *t, const char *text, size_t len)
{
    t->error.undefined = false;
    len = len < sizeof t->error.text ? len : sizeof t->error.text - 1;
    if (len != 0)
        memcpy(t->error.text, text, len);
    t->error.text[len] = '\0';
}

int caret__ydb_store(struct caret__ydb_call *c, ydb_buffer_t *ret, const char *bytes, size_t len)
{
    ret->len_used = (unsigned)len;
    if (!caret__ydb_likely(len <= ret->len_alloc))
        return caret__ydb_fail(c, YDB_ERR_INVSTRLEN, "the buffer has %u bytes, %zu are needed",
                               ret->len_alloc, len);
    if (len != 0)
        memcpy(ret->buf_addr, bytes, len);
    return YDB_OK;
}

/* ------------------------------------------------------------------- asking */

static int message(struct caret__ydb_call *c, int status, ydb_buffer_t *ret)
{
    char room[YDB_MAX_ERRORMSG];

    if (!caret__ydb_writable(ret))
        return caret__ydb_fail(c, YDB_ERR_PARAMINVALID, "ydb_message: no buffer for the text");
    size_t n = caret_m__message(room, sizeof room, status, NULL);
    if (n == 0)
        return caret__ydb_fail(c, YDB_ERR_UNKNOWNSYSERR, "there is no text for the number %d", status);
    return caret__ydb_store(c, ret, room, n);
}

int ydb_message(int status, ydb_buffer_t *msg_buff)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, message(&c, status, msg_buff));
}

int ydb_message_t(uint64_t tptoken, ydb_buffer_t *errstr, int status, ydb_buffer_t *msg_buff)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin_st(&c, tptoken, errstr))
        return c.status;
    return caret__ydb_end_st(&c, message(&c, status, msg_buff));
}

/* As it only tells, it works after ydb_exit() too. */
int ydb_zstatus(ydb_char_t *msg, ydb_long_t len)
{
    struct caret__ydb_thread *t = caret__ydb_self;
    size_t n = 0;

    if (msg == NULL || len <= 0)
        return YDB_ERR_PARAMINVALID;
    const char *text = t != NULL ? caret__ydb_zstatus_text(t, &n) : "";
    size_t fits = n < (size_t)len ? n : (size_t)len - 1;
    memcpy(msg, text, fits);
    msg[fits] = '\0';
    return fits == n ? YDB_OK : YDB_ERR_INVSTRLEN;
}
