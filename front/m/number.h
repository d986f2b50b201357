/*
 * number.h - M's decimal arithmetic: the engine's (base/decimal.h), with M's parameters.
 *
 * A number has 18 significant digits, cut off toward zero, and a magnitude from 1E-43 to below 1E47.  That is what
 * caret_incr_m() counts by, too.  Operations are caret__dec_add(CARET_M__RULES, a, b, &result) and so on: -,
 * *, /, \ (idiv), # (mod), ** (pow) and comparison.  Their outcome is an M error by caret_m__outcome().
 *
 * All functions are pure.
 */
#ifndef CARET_M_NUMBER_H
#define CARET_M_NUMBER_H

#include "base/decimal.h"
#include "base/number.h"
#include "caret.h"
#include "m/error.h"

#define CARET_M__RULES CARET__M18

/* The M error of an operation's outcome, or 0. */
static inline int caret_m__outcome(int outcome)
{
    switch (outcome) {
    case CARET__DEC_OK: return 0;
    case CARET__DEC_DIVZERO: return CARET_M__E_DIVZERO;
    case CARET__DEC_NEGFRACPWR: return CARET_M__E_NEGFRACPWR;
    default: return CARET_M__E_NUMOFLOW;
    }
}

/* What a text is as a number: as far as its beginning looks like one.  0, or NUMOFLOW. */
static inline int caret_m__number(const char *text, size_t len, struct caret__dec *number)
{
    return caret_m__outcome(caret__dec_parse(CARET_M__RULES, text, len, number, NULL));
}

/* What two texts are together, as text of at most CARET__DEC_MAX bytes.  0, or NUMOFLOW. */
int caret_m__sum(caret_slice value, caret_slice by, char *sum, size_t *len);

/* What it is as an integer, without its fraction; beyond the range of an int64 its nearest end. */
int64_t caret_m__integer(const char *text, size_t len);

#endif
