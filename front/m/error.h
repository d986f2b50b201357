/*
 * error.h - M's errors: their names, numbers and texts (errors.def), and how they are worded.
 *
 *     message   %YDB-E-GVUNDEF, Global variable undefined
 *     status    150372994,(SimpleAPI),%YDB-E-GVUNDEF, Global variable undefined: ^a(1)      as $ZSTATUS has it
 *
 * Everything here may be called by any thread at any time.
 */
#ifndef CARET_M_ERROR_H
#define CARET_M_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#define CARET_M__OUTCOME(below)               (0x7fffffff - (below))

/* CARET_M__E_GVUNDEF and so on, negative; CARET_M__TP_RESTART and so on, positive. */
#define M_ERROR(part, name, number, text)     CARET_M__E_##name = (number),
#define M_OUTCOME(name, below, shorter, text) CARET_M__##name = CARET_M__OUTCOME(below),
enum caret_m__code {
#include "m/errors.def"
};
#undef M_ERROR
#undef M_OUTCOME

struct caret_m__error {
    int code;
    const char *name;   /* in messages: GVUNDEF, TPRESTART */
    const char *symbol; /* in programs: YDB_ERR_GVUNDEF, YDB_TP_RESTART */
    const char *text;
};

/* The whole table; the entry of that number, which may be negative or not.  NULL: there is none. */
const struct caret_m__error *caret_m__errors(size_t *n);
const struct caret_m__error *caret_m__error(int code);

/* The letter of an error's severity: W, S, E, I or F. */
char caret_m__severity(int code);

/* What Caret's code rc is to M: an outcome, NODEEND, or an error; the outside world's are DBFILERR. */
int caret_m__code_of(int rc);

/* What is wrong with a name that Caret calls NAME: VARNAME2LONG or INVVARNAME. */
int caret_m__name_error(const char *name, size_t len);

/* The text for such an error: `message`, which caret_message() gave with rc, without the symbol in front;
 * whole if it is a DBFILERR. */
const char *caret_m__said(int rc, const char *message);

/* An error's text with its operands where it has !AD, !UL, !UJ: strings, NULL after the last; what is missing is
 * empty. */
size_t caret_m__fill(char *room, size_t cap, int code, const char *const *operands);

/* The wordings, into room, with `text` instead of the error's own if it is not NULL; always terminated, cut if
 * need be; the length.  caret_m__message takes errno's numbers as well; 0: there is no text for that number.
 * `where` is the entry that $ZSTATUS names, SimpleAPI for one. */
size_t caret_m__message(char *room, size_t cap, int code, const char *text);
size_t caret_m__status(char *room, size_t cap, int code, const char *where, const char *text);

#endif
