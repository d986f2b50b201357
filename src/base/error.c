/*
 * error.c - symbols of outcomes, and the thread's last message.
 *
 * The message is either composed in a thread-local buffer or, for standard
 * texts, only pointed at.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

struct outcome {
    int code;
    const char *symbol, *text; /* text starts with the symbol */
};

#define OUTCOME(code, symbol, text)                                                                          \
    {                                                                                                        \
        code, symbol, symbol ": " text                                                                       \
    }

static const struct outcome outcomes[] = {
    OUTCOME(CARET_OK, "OK", "no error"),
    OUTCOME(CARET_NONE, "NONE", "no such node or value"),
    OUTCOME(CARET_RESTART, "RESTART", "the transaction must be run again"),
    OUTCOME(CARET_ROLLBACK, "ROLLBACK", "the transaction was rolled back"),
    OUTCOME(CARET_LOCK_TIMEOUT, "LOCK_TIMEOUT", "the lock was not obtained in time"),
    OUTCOME(CARET_DEADLOCK, "DEADLOCK", "waiting for the lock would never end"),
    OUTCOME(CARET_E_INVALID, "INVALID", "an argument makes no sense"),
    OUTCOME(CARET_E_NAME, "NAME", "bad variable name"),
    OUTCOME(CARET_E_MAXSUBS, "MAXSUBS", "too many subscripts"),
    OUTCOME(CARET_E_KEY2BIG, "KEY2BIG", "the encoded key is too long"),
    OUTCOME(CARET_E_VALUE2BIG, "VALUE2BIG", "the value is too long"),
    OUTCOME(CARET_E_NUMOFLOW, "NUMOFLOW", "numeric overflow"),
    OUTCOME(CARET_E_BUFFER, "BUFFER", "the buffer is too small"),
    OUTCOME(CARET_E_CLOSED, "CLOSED", "the database is closed"),
    OUTCOME(CARET_E_READONLY, "READONLY", "the database was opened read-only"),
    OUTCOME(CARET_E_NOTXN, "NOTXN", "no transaction in progress"),
    OUTCOME(CARET_E_TXN_TOO_DEEP, "TXN_TOO_DEEP", "too many nested transactions"),
    OUTCOME(CARET_E_TXN_TOO_BIG, "TXN_TOO_BIG", "too many changes in one transaction"),
    OUTCOME(CARET_E_NOTLOCKED, "NOTLOCKED", "the lock is not held"),
    OUTCOME(CARET_E_INTXN, "INTXN", "not allowed inside a transaction"),
    OUTCOME(CARET_E_SYNTAX, "SYNTAX", "not ZWR text"),
    OUTCOME(CARET_E_NOTFOUND, "NOTFOUND", "no such database file"),
    OUTCOME(CARET_E_OPEN, "OPEN", "the file cannot be opened"),
    OUTCOME(CARET_E_FOREIGN, "FOREIGN", "not a Caret database"),
    OUTCOME(CARET_E_VERSION, "VERSION", "unknown version of the format"),
    OUTCOME(CARET_E_CORRUPT, "CORRUPT", "the database is damaged"),
    OUTCOME(CARET_E_NETFS, "NETFS", "the file is on a network file system"),
    OUTCOME(CARET_E_BUSY, "BUSY", "the database is in use in a way that excludes this process"),
    OUTCOME(CARET_E_EVICTED, "EVICTED", "this process is no longer attached"),
    OUTCOME(CARET_E_SHM, "SHM", "shared memory is full or unusable"),
    OUTCOME(CARET_E_DISKFULL, "DISKFULL", "no room in the file system"),
    OUTCOME(CARET_E_IO, "IO", "input or output failed"),
    OUTCOME(CARET_E_IO_FAILED, "IO_FAILED", "an earlier write failed; reopen the database"),
    OUTCOME(CARET_E_NOMEM, "NOMEM", "out of memory"),
    OUTCOME(CARET_E_LIMIT, "LIMIT", "a table is full"),
    OUTCOME(CARET_E_SYSTEM, "SYSTEM", "a system call failed"),
    OUTCOME(CARET_E_EXISTS, "EXISTS", "there is a file of that name"),
    OUTCOME(CARET_E_UNKNOWN, "UNKNOWN", "it could not be found out whether it was done"),
    OUTCOME(CARET_E_UNSUPPORTED, "UNSUPPORTED", "this database has it not"),
    OUTCOME(CARET_E_INTERRUPTED, "INTERRUPTED", "caret_interrupt() ended the wait"),
};

enum { ADVICE_MAX = 80 };

/* A fact, and after it the advice.  caret_fact() writes a NUL between them, caret_message() a blank: one buffer for
 * both, as there is little room for variables of threads in programs that load the library by dlopen(). */
static _Thread_local char composed[CARET__MESSAGE_MAX + ADVICE_MAX];
static _Thread_local const char *message;
static _Thread_local const char *advice; /* of `composed`: a literal; NULL: none */
static _Thread_local size_t fact_len;    /* where there is advice */
static _Thread_local int because;        /* the errno that `composed` is about; 0: none */

static const struct outcome *find(int code)
{
    static const struct outcome unknown = OUTCOME(0, "NO_OUTCOME", "no outcome has this code");

    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        if (outcomes[i].code == code)
            return &outcomes[i];
    }
    return &unknown;
}

/* Composed aside first, as an argument may be the message that is replaced. */
static void compose(int code, int why, const char *cause, const char *fmt, va_list args)
{
    char text[CARET__MESSAGE_MAX - 24];
    int n;

    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        strcpy(text, "(the message cannot be formatted)");
    n = snprintf(composed, CARET__MESSAGE_MAX, "%s: %s", find(code)->symbol, text);
    if (cause != NULL && n > 0 && (size_t)n < CARET__MESSAGE_MAX)
        snprintf(composed + n, CARET__MESSAGE_MAX - (size_t)n, ": %s", cause);
    message = composed;
    because = why;
    advice = NULL;
}

int caret__fail(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    compose(code, 0, NULL, fmt, args);
    va_end(args);
    return code;
}

int caret__fail_for(int why, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    compose(code, why, NULL, fmt, args);
    va_end(args);
    return code;
}

/* What the system says of an error: glibc gives the text, other libraries put it into the buffer. */
static const char *system_text(int number, char *buf, size_t room)
{
#ifdef __GLIBC__
    return strerror_r(number, buf, room);
#else
    return strerror_r(number, buf, room) == 0 ? buf : "unknown error";
#endif
}

int caret__fail_errno(int code, const char *fmt, ...)
{
    int saved = errno;
    char buf[128];
    va_list args;

    va_start(args, fmt);
    compose(code, saved,
            saved == EFBIG ? "larger than a file of this process may be (ulimit -f), or of the file system"
                           : system_text(saved, buf, sizeof buf),
            fmt, args);
    va_end(args);
    errno = saved;
    return code;
}

int caret__null(const char *function, const char *argument, const char *expected)
{
    return caret__fail(CARET_E_INVALID, "%s: %s is NULL; %s is expected", function, argument, expected);
}

int caret__empty_path(const char *function, const char *argument)
{
    return caret__fail(CARET_E_INVALID, "%s: %s is empty; the path of a file is expected", function,
                       argument);
}

int caret__refuse_bytes(const char *function, const char *argument, const void *bytes, size_t len)
{
    if (bytes == NULL)
        return caret__fail(CARET_E_INVALID, "%s: %s is NULL, but its length is %zu; NULL has the length 0",
                           function, argument, len);
    return caret__fail(CARET_E_INVALID, "%s: the length of %s is %zu, which is more than memory can have",
                       function, argument, len);
}

int caret__outcome(int code)
{
    message = find(code)->text;
    return code;
}

const char *caret_strerror(int code)
{
    return find(code)->symbol;
}

int caret__advise(int code, const char *option_and_what_it_does)
{
    advice = option_and_what_it_does;
    fact_len = strlen(composed);
    snprintf(composed + fact_len, sizeof composed - fact_len, " (option %s)", advice);
    return code;
}

const char *caret_advice(void)
{
    return message == composed && advice != NULL ? advice : "";
}

/* The length of "caret_open: ", if such a name of a function is at p; else 0. */
static size_t name_len(const char *p)
{
    size_t n = strncmp(p, "caret_", 6) == 0 ? strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;

    return n != 0 && strncmp(p + n, ": ", 2) == 0 ? n + 2 : 0;
}

/* Let the first n bytes of `composed` and the m after them change places. */
static void swap(size_t n, size_t m)
{
    char first[CARET__MESSAGE_MAX];

    memcpy(first, composed, n);
    memmove(composed, composed + n, m);
    memcpy(composed + m, first, n);
}

static size_t symbol_len(const char *p)
{
    return strcspn(p, ":") + 2;
}

static const char *text_with(char between)
{
    size_t n = message == composed ? name_len(composed) : 0;

    if (n != 0)
        swap(n, symbol_len(composed + n)); /* as caret_fact() left it */
    if (*caret_advice() != '\0')
        composed[fact_len] = between;
    return message != NULL ? message : outcomes[0].text;
}

/* "INVALID: caret_open: ..." becomes "caret_open: INVALID: ...", and what is told begins after the name. */
const char *caret_fact(void)
{
    const char *text = text_with('\0');

    if (text != composed)
        return text;
    size_t symbol = symbol_len(composed), n = name_len(composed + symbol);
    swap(symbol, n);
    return composed + n;
}

const char *caret_message(void)
{
    return text_with(' ');
}

int caret_errno(void)
{
    return message == composed ? because : 0;
}
