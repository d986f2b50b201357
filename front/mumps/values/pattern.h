/*
 * pattern.h - M's patterns: `v?1.3N1"-".A` and the like.
 *
 *     pattern := atom atom...
 *     atom    := count (codes | "literal" | (pattern,pattern...))
 *     count   := 3 | 1.3 | 1. | .3 | .
 *     codes   := letters of A C E L N P U, in any case: one of these classes
 *
 * A pattern becomes atoms, linked in the order in which they match.  It matches by sets: which places of the text can
 * be reached after the first atom, the second, ...: each step is one pass over the text, so that no pattern explodes;
 * only a repeated alternation takes a pass for each repetition.  Where every atom can be taken as often as
 * possible without trying less (nearly always), one pass without any set does: pattern_fast in pattern_match.c.
 *
 * A pattern is written once, and read by any thread after that.
 */
#ifndef CARET_MUMPS_VALUES_PATTERN_H
#define CARET_MUMPS_VALUES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct caret_mumps__pattern caret_mumps__pattern;

/* What is wrong with a text, as M's errors are called. */
enum caret_mumps__pattern_error {
    CARET_MUMPS__PATCODE = 1,
    CARET_MUMPS__PATCLASS,
    CARET_MUMPS__PATNOTFOUND, /* never of a text: only of a match */
    CARET_MUMPS__PATUPPERLIM,
    CARET_MUMPS__PATLIT,
    CARET_MUMPS__COMMAORRPAREXP,
    CARET_MUMPS__PATMAXLEN,
    CARET_MUMPS__PATALTER2LARGE,
    CARET_MUMPS__PATMEMORY /* MEMORY */
};

/* The pattern that begins at text[at].  *end: the place after it.  NULL: *error, and *end where it was found. */
caret_mumps__pattern *caret_mumps__pattern_new(const char *text, size_t n, size_t at, bool utf8, size_t *end,
                                               int *error);
char caret_mumps__pattern_unknown(const caret_mumps__pattern *p);
void caret_mumps__pattern_free(caret_mumps__pattern *p);

enum { CARET_MUMPS__NO_SUCH_CLASS = -1, CARET_MUMPS__NO_MEMORY = -2 };

/* Does the whole text match?  NO_SUCH_CLASS: PATNOTFOUND, it came upon a class of letters that nothing is in. */
int caret_mumps__pattern_match(const caret_mumps__pattern *p, const char *s, size_t n);

/* The same of an integer's text. */
int caret_mumps__pattern_match_integer(const caret_mumps__pattern *p, double v);

/* ---------------------------------------------------------- between the two files */

#define CARET_MUMPS__ATOMS 1024
#define CARET_MUMPS__DEPTH 32

enum caret_mumps__atom_kind { CARET_MUMPS__CLASS, CARET_MUMPS__LITERAL, CARET_MUMPS__ALTERNATION };

struct caret_mumps__atom {
    uint8_t kind;
    bool unknown;  /* a class without any known letter */
    uint8_t codes; /* of a class: bits of pattern_codes, for characters above 127 in UTF-8 */
    int32_t min, max;
    int32_t next;        /* atom, or -1 */
    int32_t option;      /* of an alternation: its first option, or -1 */
    uint32_t map[8];     /* of a class: which bytes; of a literal of one character: that one */
    uint32_t text, len;  /* of a literal: bytes in p->literals */
    uint32_t characters; /* of a literal */
};

struct caret_mumps__option {
    int32_t first, next;
};

struct caret_mumps__pattern {
    struct caret_mumps__atom *atoms;
    struct caret_mumps__option *options;
    char *literals;
    size_t n_atoms, n_options, n_literals;
    int32_t first;
    size_t shortest; /* what matches has so many bytes at least */
    bool utf8, fast;
    char unknown; /* a letter that is not a class, or NUL */
};

/* Bits of the classes that a byte of M mode, or a character, belongs to. */
uint8_t caret_mumps__codes_of(uint32_t character, bool utf8);

static inline bool caret_mumps__in_map(const uint32_t map[8], unsigned byte)
{
    return map[byte >> 5] >> (byte & 31) & 1;
}

#endif
