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

#define OPERANDS                              4 /* that a text has at most */

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

/* "code,(where),%YDB-E-NAME, " is in the thread's record; the room after it. */
static char *begin_text(struct caret__ydb_call *c, int status, size_t *cap)
{
    struct caret__ydb_error *e = &c->self->error;

    e->status = status;
    e->undefined = false;
    e->unheard = true;
    size_t n = caret_m__status(e->text, sizeof e->text, status, c->where, "");
    *cap = sizeof e->text - n;
    return e->text + n;
}

int caret__ydb_fail(struct caret__ydb_call *c, int status, const char *format, ...)
{
    size_t cap;
    char *room = begin_text(c, status, &cap);
    va_list args;

    va_start(args, format);
    vsnprintf(room, cap, format, args);
    va_end(args);
    return status;
}

int caret__ydb_error(struct caret__ydb_call *c, int status, ...)
{
    const char *operands[OPERANDS + 1] = {NULL};
    size_t cap;
    char *room = begin_text(c, status, &cap);
    va_list args;

    va_start(args, status);
    for (int i = 0; i < OPERANDS && (operands[i] = va_arg(args, const char *)) != NULL;)
        i++;
    va_end(args);
    caret_m__fill(room, cap, status, operands);
    return status;
}

int caret__ydb_invalid(struct caret__ydb_call *c, const char *what)
{
    char call[40];

    snprintf(call, sizeof call, "%s()", c->name);
    return caret__ydb_error(c, YDB_ERR_PARAMINVALID, what, call, NULL);
}

int caret__ydb_invalid_at(struct caret__ydb_call *c, const char *array, int index)
{
    char what[64];

    snprintf(what, sizeof what, "Invalid %s (index %d)", array, index);
    return caret__ydb_invalid(c, what);
}

const char *caret__ydb_digits(struct caret__ydb_digits *room, long long number)
{
    snprintf(room->text, sizeof room->text, "%lld", number);
    return room->text;
}

/* Those of Caret's that YottaDB has words for; they have no operands. */
static bool has_words(int status)
{
    return status == YDB_ERR_NUMOFLOW || status == YDB_ERR_MAXNRSUBSCRIPTS || status == YDB_ERR_TPTOODEEP ||
           status == YDB_ERR_CALLINAFTERXIT;
}

int caret__ydb_failed(struct caret__ydb_call *c, int rc)
{
    int status = caret_m__code_of(rc);

    if (status > 0 || status == YDB_ERR_NODEEND)
        return status;
    if (has_words(status))
        return caret__ydb_error(c, status, NULL);
    return caret__ydb_fail(c, status, "%s", caret_m__said(rc, caret_message()));
}

int caret__ydb_undefined(struct caret__ydb_call *c, const caret_node *n)
{
    struct caret__ydb_error *e = &c->self->error;

    e->where = c->where;
    e->unheard = true;
    e->status = caret_node_is_local(n) ? YDB_ERR_LVUNDEF : YDB_ERR_GVUNDEF;
    e->undefined = caret_node_copy(&e->node.node, sizeof e->node, n) == CARET_OK;
    return e->status;
}

/* ------------------------------------------------------------------ telling */

/* Of a local variable, subscripts come as they are, without quotes, and the whole is cut. */
#define LOCAL_NAME 512

struct local_name {
    char text[LOCAL_NAME + 1];
    size_t len;
};

static void put(struct local_name *name, const char *bytes, size_t n)
{
    n = n < LOCAL_NAME - name->len ? n : LOCAL_NAME - name->len;
    if (n != 0)
        memcpy(name->text + name->len, bytes, n);
    name->len += n;
    name->text[name->len] = '\0';
}

static void put_sub(struct local_name *name, int i, int n, const char *bytes, size_t len)
{
    put(name, i == 0 ? "(" : ",", 1);
    put(name, bytes, len);
    if (i + 1 == n)
        put(name, ")", 1);
}

static void name_local(const caret_node *n, struct local_name *name)
{
    char room[CARET_MAX_NAME + 2], sub[CARET_MAX_KEY];
    caret_slice var = caret_node_name(n, room);
    int depth = (int)caret_node_depth(n);
    size_t len;

    put(name, var.data, var.len);
    for (int i = 0; i < depth; i++)
        if (caret_node_subscript(n, (unsigned)i, sub, sizeof sub, &len, NULL) == CARET_OK)
            put_sub(name, i, depth, sub, len);
}

int caret__ydb_undefined_long(struct caret__ydb_call *c)
{
    struct local_name name = {.len = 0};

    put(&name, c->v->buf_addr, c->v->len_used);
    for (int i = 0; i < c->n; i++)
        put_sub(&name, i, c->n, c->subs[i].buf_addr, c->subs[i].len_used);
    return caret__ydb_error(c, YDB_ERR_LVUNDEF, name.text, NULL);
}

static void name_global(const caret_node *n, char *name, size_t cap)
{
    char var[CARET_MAX_NAME + 2];
    size_t len;

    if (caret_node_zwr(n, caret_m__utf8(), name, cap - 1, &len) == CARET_OK)
        name[len] = '\0';
    else /* too long: the name alone is better than nothing */
        snprintf(name, cap, "%s(...)", caret_node_name(n, var).data);
}

/* Now the node is to be named. */
static void name_node(struct caret__ydb_error *e)
{
    char global[YDB_MAX_ERRORMSG];
    struct local_name local = {.len = 0};
    const char *operands[] = {local.text, NULL};
    size_t n = caret_m__status(e->text, sizeof e->text, e->status, e->where, "");

    if (caret_node_is_local(&e->node.node)) {
        name_local(&e->node.node, &local);
    } else {
        name_global(&e->node.node, global, sizeof global);
        operands[0] = global;
    }
    caret_m__fill(e->text + n, sizeof e->text - n, e->status, operands);
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

int caret__ydb_fits(struct caret__ydb_call *c, ydb_buffer_t *ret, size_t len, const char *what)
{
    struct caret__ydb_digits needed, most;
    char at[64];

    ret->len_used = (unsigned)len;
    if (len > ret->len_alloc)
        return caret__ydb_error(c, YDB_ERR_INVSTRLEN, caret__ydb_digits(&needed, (long long)len),
                                caret__ydb_digits(&most, ret->len_alloc), NULL);
    if (len == 0 || ret->buf_addr != NULL)
        return YDB_OK;
    snprintf(at, sizeof at, "NULL %s->buf_addr", what);
    return caret__ydb_invalid(c, at);
}

/* ------------------------------------------------------------------- asking */

static int message(struct caret__ydb_call *c, int status, ydb_buffer_t *ret)
{
    struct caret__ydb_digits number;
    char room[YDB_MAX_ERRORMSG];

    c->name = "ydb_message";
    if (ret == NULL)
        return caret__ydb_invalid(c, "NULL msg_buff");
    size_t n = caret_m__message(room, sizeof room, status, NULL);
    if (n == 0)
        return caret__ydb_error(c, YDB_ERR_UNKNOWNSYSERR, caret__ydb_digits(&number, status), NULL);
    int rc = caret__ydb_fits(c, ret, n, "msg_buff");
    if (rc == YDB_OK)
        memcpy(ret->buf_addr, room, n);
    return rc;
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

    if (len <= 0)
        return YDB_ERR_INVSTRLEN; /* not even the 0 in the end fits */
    if (msg == NULL)
        return YDB_ERR_PARAMINVALID;
    const char *text = t != NULL ? caret__ydb_zstatus_text(t, &n) : "";
    size_t fits = n < (size_t)len ? n : (size_t)len - 1;
    memcpy(msg, text, fits);
    msg[fits] = '\0';
    return fits == n ? YDB_OK : YDB_ERR_INVSTRLEN;
}
