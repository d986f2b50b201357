/*
 * error.c - the table of errors and constants, from errors.def and constants.def, and the wordings.
 */
#include "m/error.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caret.h"
#include "m/limits.h"

#define M_ERROR(part, name, number, text)     {(number), #name, "YDB_ERR_" #name, text},
#define M_OUTCOME(name, below, shorter, text) {CARET_M__OUTCOME(below), #shorter, "YDB_" #name, text},
static const struct caret_m__error errors[] = {
#include "m/errors.def"
};
#undef M_ERROR
#undef M_OUTCOME

#define M_LIMIT(name, value) {"YDB_" #name, (value)},
#define M_WIDE(name, value)  {"YDB_" #name, (value)},
static const struct caret_m__constant constants[] = {
#include "m/constants.def"
};
#undef M_LIMIT
#undef M_WIDE

/* Each error's number is in the range by which programs know errors. */
#define M_ERROR(part, name, number, text)                                                                    \
    static_assert(-(number) >= CARET_M__MIN_YDBERR && -(number) <= CARET_M__MAX_YDBERR, #name);
#define M_OUTCOME(name, below, shorter, text)
#include "m/errors.def"
#undef M_ERROR
#undef M_OUTCOME

const struct caret_m__error *caret_m__errors(size_t *n)
{
    *n = sizeof errors / sizeof *errors;
    return errors;
}

const struct caret_m__constant *caret_m__constants(size_t *n)
{
    *n = sizeof constants / sizeof *constants;
    return constants;
}

/* How many of the table are errors; the outcomes come after them. */
#define M_ERROR(part, name, number, text) +1
#define M_OUTCOME(name, below, shorter, text)
enum {
    ERRORS = 0
#include "m/errors.def"
};
#undef M_ERROR
#undef M_OUTCOME

static int by_magnitude(const void *a, const void *b)
{
    const struct caret_m__error *x = a, *y = b;

    return (x->code < y->code) - (x->code > y->code); /* both are negative */
}

const struct caret_m__error *caret_m__error(int code)
{
    for (size_t i = ERRORS; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return &errors[i];
    const struct caret_m__error wanted = {.code = code > 0 ? -code : code};
    return bsearch(&wanted, errors, ERRORS, sizeof *errors, by_magnitude);
}

char caret_m__severity(int code)
{
    unsigned severity = code > CARET_M__MAX_YDBERR ? CARET_M__SEVERITY_INFORMATIONAL
                                                   : (unsigned)(code < 0 ? -code : code) & 7;

    return severity < 5 ? "WSEIF"[severity] : 'E';
}

/* ------------------------------------------------------------------ from Caret */

int caret_m__code_of(int rc)
{
    switch (rc) {
    case CARET_NONE: return CARET_M__E_NODEEND;
    case CARET_RESTART: return CARET_M__TP_RESTART;
    case CARET_ROLLBACK: return CARET_M__TP_ROLLBACK;
    case CARET_LOCK_TIMEOUT:
    case CARET_DEADLOCK: return CARET_M__LOCK_TIMEOUT;
    case CARET_E_INVALID:
    case CARET_E_SYNTAX: return CARET_M__E_PARAMINVALID;
    case CARET_E_KEY2BIG: return CARET_M__E_KEY2BIG;
    case CARET_E_MAXSUBS: return CARET_M__E_MAXNRSUBSCRIPTS;
    case CARET_E_NAME: return CARET_M__E_INVVARNAME;
    case CARET_E_NUMOFLOW: return CARET_M__E_NUMOFLOW;
    case CARET_E_TXN_TOO_DEEP: return CARET_M__E_TPTOODEEP;
    case CARET_E_VALUE2BIG: return CARET_M__E_REC2BIG;
    case CARET_E_CLOSED: return CARET_M__E_CALLINAFTERXIT;
    default: return CARET_M__E_DBFILERR;
    }
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

int caret_m__name_error(const char *name, size_t len)
{
    size_t up = len != 0 && name[0] == '^';

    if (len == up || (!is_letter(name[up]) && name[up] != '%'))
        return CARET_M__E_INVVARNAME;
    return len > up + CARET_M__MAX_IDENT ? CARET_M__E_VARNAME2LONG : CARET_M__E_INVVARNAME;
}

const char *caret_m__said(int rc, const char *message)
{
    const char *symbol = caret_strerror(rc);
    size_t n = strlen(symbol);

    if (caret_m__code_of(rc) == CARET_M__E_DBFILERR || strncmp(message, symbol, n) != 0 || message[n] != ':')
        return message;
    return message + n + 1 + (message[n + 1] == ' ');
}

/* -------------------------------------------------------------------- wordings */

/* What snprintf() wrote. */
static size_t written(int n, size_t cap)
{
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

size_t caret_m__fill(char *room, size_t cap, int code, const char *const *operands)
{
    const struct caret_m__error *e = caret_m__error(code);
    size_t n = 0;

    for (const char *at = e != NULL ? e->text : ""; *at != '\0' && n + 1 < cap;) {
        if (*at != '!') {
            room[n++] = *at++;
            continue;
        }
        n += written(snprintf(room + n, cap - n, "%s", *operands != NULL ? *operands++ : ""), cap - n);
        at += 3; /* !AD, !UL, !UJ */
    }
    room[n] = '\0';
    return n;
}

size_t caret_m__message(char *room, size_t cap, int code, const char *text)
{
    const struct caret_m__error *e = caret_m__error(code);
    int n = 0;

    room[0] = '\0';
    if (e != NULL)
        n = snprintf(room, cap, "%%YDB-%c-%s, %s", caret_m__severity(code), e->name,
                     text != NULL ? text : e->text);
    else if (code > 0 && code < CARET_M__MIN_YDBERR)
        n = snprintf(room, cap, "%%SYSTEM-E-ENO%d, %s", code, strerror(code));
    return written(n, cap);
}

size_t caret_m__status(char *room, size_t cap, int code, const char *where, const char *text)
{
    size_t n = written(snprintf(room, cap, "%d,(%s),", code < 0 ? -code : code, where), cap);

    return n + caret_m__message(room + n, cap - n, code, text);
}
