/*
 * errors.c - from Caret's errors to YottaDB's, and their texts.
 *
 * Each thread has its last error as YottaDB words it, "150372994,(SimpleAPI),%YDB-E-GVUNDEF, Global variable undefined:
 * ^a(1)", for $ZSTATUS, ydb_zstatus() and errstr.  That a node has no value is an everyday answer: only the node is
 * noted then.  NODEEND and the positive outcomes are no errors in this sense.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "yottadb/session.h"

#define E(name, text)                                                                                        \
    {                                                                                                        \
        YDB_ERR_##name, #name, text                                                                          \
    }

static const struct {
    int status;
    const char *name, *text;
} known[] = {
    E(CALLINAFTERXIT, "ydb_exit() was called: nothing can be called any more"),
    E(CINOENTRY, "There is no such entry in the call-in table"),
    E(CITABOPN, "The call-in table can't be opened"),
    E(DBFILERR, "Error of the database"),
    E(DIVZERO, "Division by zero"),
    E(FATALERROR2, "Fatal error"),
    E(FILENOTFND, "File not found"),
    E(GVNUNSUPPORTED, "Global variables are not supported here"),
    E(GVSUBOFLOW, "The subscripts are too long"),
    E(GVUNDEF, "Global variable undefined"),
    E(INSUFFSUBS, "Too few buffers for subscripts"),
    E(INVNAMECOUNT, "The number of names is not valid"),
    E(INVSTRLEN, "The buffer is too short"),
    E(INVSVN, "There is no such intrinsic special variable"),
    E(INVTPTRANS, "The tptoken is not that of a transaction in progress"),
    E(INVVARNAME, "Not a valid name of a variable"),
    E(INVYDBEXIT, "ydb_exit() is not possible here"),
    E(ISVUNSUPPORTED, "Intrinsic special variables are not supported here"),
    E(KEY2BIG, "The key is too long"),
    E(LVNULLSUBS, "Empty subscript of a local variable"),
    E(LVUNDEF, "Undefined local variable"),
    E(MAXARGCNT, "Too many arguments"),
    E(MAXNRSUBSCRIPTS, "Too many subscripts"),
    E(MAXSTRLEN, "The string is too long"),
    E(NAMECOUNT2HI, "Too many names"),
    E(NOCANONICNAME, "Not a canonical name"),
    E(NODEEND, "End of the list of nodes or subscripts"),
    E(NULSUBSC, "Empty subscript"),
    E(NUMOFLOW, "Numeric overflow"),
    E(PARAMINVALID, "Invalid parameter"),
    E(REC2BIG, "The value is too long"),
    E(SIMPLEAPINEST, "A nested call is not allowed"),
    E(SIMPLEAPINOTALLOWED, "Functions that are not for threads can't be mixed with those that are"),
    E(STAPIFORKEXEC, "A child of a process that used functions for threads has to call exec first"),
    E(SVNOSET, "The intrinsic special variable can't be set"),
    E(THREADEDAPINOTALLOWED, "Functions for threads can't be mixed with those that are not"),
    E(TIME2LONG, "The time is too long"),
    E(TPCALLBACKINVRETVAL, "A transaction's function returned what it may not"),
    E(TPRETRY, "The transaction begins again"),
    E(TPTIMEOUT, "The transaction took too long"),
    E(TPTOODEEP, "Too many transactions within each other"),
    E(UNIMPLOP, "This operation is not possible"),
    E(UNKNOWNSYSERR, "There is no text for this number"),
    E(VARNAME2LONG, "The name of the variable is too long"),
    E(VERSION, "Wrong version"),
    E(ZGBLDIRACC, "The database of $ZGBLDIR can't be opened"),
    {YDB_TP_RESTART, "TPRESTART", "The transaction is to begin again"},
    {YDB_TP_ROLLBACK, "TPROLLBACK", "The transaction was rolled back"},
    {YDB_LOCK_TIMEOUT, "LOCKTIMEOUT", "The lock was not got in time"},
    {YDB_NOTOK, "NOTOK", "No"},
    {YDB_DEFER_HANDLER, "DEFERHANDLER", "The handler is to be deferred"},
};

bool caret__ydb_error_known(int status, const char **name, const char **text)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status || (status > 0 && known[i].status == -status)) {
            *name = known[i].name;
            *text = known[i].text;
            return true;
        }
    return false;
}

/* ------------------------------------------------------------------- noting */

static size_t head(char *room, size_t cap, int status, const char *name, const char *text)
{
    return (size_t)snprintf(room, cap, "%d,(SimpleAPI),%%YDB-%c-%s, %s", -status, "WSEIF"[-status & 7], name,
                            text);
}

int caret__ydb_fail(struct caret__ydb_call *c, int status, const char *format, ...)
{
    struct caret__ydb_error *e = &c->self->error;
    const char *name = "?", *text = "";
    va_list args;

    e->status = status;
    e->undefined = false;
    caret__ydb_error_known(status, &name, &text);
    size_t n = head(e->text, sizeof e->text, status, name, "");
    va_start(args, format);
    vsnprintf(e->text + n, sizeof e->text - n, format, args);
    va_end(args);
    return status;
}

/* Caret's message without the symbol that it begins with. */
static const char *said(int rc)
{
    const char *symbol = caret_strerror(rc), *message = caret_message();
    size_t n = strlen(symbol);

    return strncmp(message, symbol, n) == 0 && message[n] == ':' ? message + n + 2 : message;
}

int caret__ydb_failed(struct caret__ydb_call *c, int rc)
{
    static const struct {
        int rc, status;
    } as[] = {
        {CARET_E_INVALID, YDB_ERR_PARAMINVALID},    {CARET_E_KEY2BIG, YDB_ERR_KEY2BIG},
        {CARET_E_MAXSUBS, YDB_ERR_MAXNRSUBSCRIPTS}, {CARET_E_NAME, YDB_ERR_INVVARNAME},
        {CARET_E_NUMOFLOW, YDB_ERR_NUMOFLOW},       {CARET_E_SYNTAX, YDB_ERR_PARAMINVALID},
        {CARET_E_TXN_TOO_DEEP, YDB_ERR_TPTOODEEP},  {CARET_E_VALUE2BIG, YDB_ERR_REC2BIG},
        {CARET_E_CLOSED, YDB_ERR_CALLINAFTERXIT},
    };
    switch (rc) {
    case CARET_NONE: return YDB_ERR_NODEEND;
    case CARET_RESTART: return YDB_TP_RESTART;
    case CARET_ROLLBACK: return YDB_TP_ROLLBACK;
    case CARET_LOCK_TIMEOUT:
    case CARET_DEADLOCK: return YDB_LOCK_TIMEOUT;
    default: break;
    }
    for (size_t i = 0; i < sizeof as / sizeof *as; i++)
        if (as[i].rc == rc)
            return caret__ydb_fail(c, as[i].status, "%s", said(rc));
    return caret__ydb_fail(c, YDB_ERR_DBFILERR, "%s: %s", caret_strerror(rc), said(rc));
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
    const char *name = "?", *text = "";
    size_t len;

    caret__ydb_error_known(e->status, &name, &text);
    size_t n = head(e->text, sizeof e->text, e->status, name, text);
    n += (size_t)snprintf(e->text + n, sizeof e->text - n, ": ");
    int rc = caret_node_zwr(&e->node.node, caret__ydb_utf8(), e->text + n, sizeof e->text - 1 - n, &len);
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
    const char *name, *text;
    char room[YDB_MAX_ERRORMSG];
    int n;

    if (!caret__ydb_writable(ret))
        return caret__ydb_fail(c, YDB_ERR_PARAMINVALID, "ydb_message: no buffer for the text");
    if (caret__ydb_error_known(status, &name, &text)) {
        int letter =
            status > YDB_MAX_YDBERR ? YDB_SEVERITY_INFORMATIONAL : (status < 0 ? -status : status) & 7;
        n = snprintf(room, sizeof room, "%%YDB-%c-%s, %s", "WSEIF"[letter], name, text);
    } else if (status > 0 && status < YDB_MIN_YDBERR) {
        n = snprintf(room, sizeof room, "%%SYSTEM-E-ENO%d, %s", status, strerror(status));
    } else {
        return caret__ydb_fail(c, YDB_ERR_UNKNOWNSYSERR, "there is no text for the number %d", status);
    }
    return caret__ydb_store(c, ret, room, (size_t)n);
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
