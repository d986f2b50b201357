/*
 * pattern.c - patterns from text.
 */
#include "mumps/values/pattern.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "mumps/values/values.h"

enum { A = 1, C = 2, L = 4, N = 8, P = 16, U = 32, ALL = 63 };

static const char code_letters[] = "ACLNPUE";
static const uint8_t code_bits[] = {A, C, L, N, P, U, ALL};

/* The bytes above 127 in M mode: Latin-1 but for a few, as M systems have it. */
static uint8_t high_codes(uint32_t c)
{
    if (c < 160 || c == 255)
        return C;
    if (c == 170 || c == 186)
        return A | L;
    if (c < 192 || c == 208 || c == 222 || c == 240 || c == 254)
        return P;
    return c < 223 ? A | U : A | L;
}

static locale_t unicode;

static void open_unicode(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Characters without a shape that direct what is around them: the ones of format, and those for private use. */
static bool is_format(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0xAD, 0xAD},     {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
                  {0x70F, 0x70F},   {0x180E, 0x180E},   {0x200B, 0x200F},   {0x202A, 0x202E},
                  {0x2060, 0x2064}, {0x2066, 0x206F},   {0xE000, 0xF8FF},   {0xFEFF, 0xFEFF},
                  {0xFFF9, 0xFFFB}, {0xE0001, 0xE007F}, {0xF0000, 0x10FFFF}};

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    }
    return false;
}

/* Letters that are of neither case, and numbers that count as letters, among the first 256. */
static bool is_ordinal(uint32_t c)
{
    return c == 0xAA || c == 0xBA || c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0xBC && c <= 0xBE);
}

static uint8_t unicode_codes(uint32_t c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    wint_t w = (wint_t)c;

    pthread_once(&once, open_unicode);
    if (unicode == (locale_t)0)
        return P;
    if (is_ordinal(c))
        return A;
    if (iswupper_l(w, unicode))
        return A | U;
    if (iswlower_l(w, unicode))
        return A | L;
    if (iswalpha_l(w, unicode))
        return A;
    return is_format(c) || !iswprint_l(w, unicode) ? C : P;
}

uint8_t caret_mumps__codes_of(uint32_t c, bool utf8)
{
    if (c >= 128)
        return utf8 ? unicode_codes(c) : high_codes(c);
    if (c < 32 || c == 127)
        return C;
    if (c >= '0' && c <= '9')
        return N;
    if (c >= 'A' && c <= 'Z')
        return A | U;
    return c >= 'a' && c <= 'z' ? A | L : P;
}

/* -------------------------------------------------------------------- reading */

struct scanner {
    const char *text;
    size_t n, at;
    unsigned depth;
    int error;
    caret_mumps__pattern *p;
};

static int32_t read_sequence(struct scanner *r);

static char peek(const struct scanner *r)
{
    return (char)(r->at < r->n ? r->text[r->at] : '\0');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool starts_atom(const struct scanner *r)
{
    return r->at < r->n && (is_digit(peek(r)) || peek(r) == '.');
}

static int32_t read_count(struct scanner *r, int32_t otherwise)
{
    int32_t count = 0;

    if (!is_digit(peek(r)))
        return otherwise;
    for (; is_digit(peek(r)); r->at++)
        count = count < 100000000 ? count * 10 + (peek(r) - '0') : INT32_MAX;
    return count;
}

static void read_counts(struct scanner *r, struct caret_mumps__atom *a)
{
    a->min = read_count(r, 0);
    a->max = a->min;
    if (peek(r) == '.') {
        r->at++;
        a->max = read_count(r, INT32_MAX);
    }
    if (a->max < a->min)
        r->error = CARET_MUMPS__PATUPPERLIM;
}

static void set_map(const caret_mumps__pattern *p, struct caret_mumps__atom *a)
{
    memset(a->map, 0, sizeof a->map);
    for (unsigned c = 0; c < (p->utf8 ? 128u : 256u); c++) {
        if ((caret_mumps__codes_of(c, p->utf8) & a->codes) != 0 || a->codes == ALL)
            a->map[c >> 5] |= UINT32_C(1) << (c & 31);
    }
}

static void read_codes(struct scanner *r, struct caret_mumps__atom *a)
{
    a->kind = CARET_MUMPS__CLASS;
    for (; r->at < r->n && ((peek(r) | 32) >= 'a' && (peek(r) | 32) <= 'z'); r->at++) {
        char letter = (char)(peek(r) & ~32);
        const char *found = strchr(code_letters, letter);
        if (letter == 'Y' || letter == 'Z') {
            r->error = CARET_MUMPS__PATCLASS;
            return;
        }
        a->codes |= found != NULL ? code_bits[found - code_letters] : 0;
        a->unknown |= found == NULL;
    }
    if (a->codes == 0 && !a->unknown)
        r->error = CARET_MUMPS__PATCLASS;
    a->unknown = a->unknown && a->codes == 0;
    r->p->unknown = (char)(a->unknown ? r->text[r->at - 1] & ~32 : r->p->unknown);
    set_map(r->p, a);
}

static void measure_literal(const caret_mumps__pattern *p, struct caret_mumps__atom *a)
{
    const char *text = p->literals + a->text;
    size_t bad;

    a->len = (uint32_t)(p->n_literals - a->text);
    a->characters = p->utf8 ? (uint32_t)caret_mumps__utf8_length(text, a->len, &bad) : a->len;
    if (a->len == 1)
        a->map[(unsigned char)text[0] >> 5] = UINT32_C(1) << ((unsigned char)text[0] & 31);
}

static void read_literal(struct scanner *r, struct caret_mumps__atom *a)
{
    caret_mumps__pattern *p = r->p;

    a->kind = CARET_MUMPS__LITERAL;
    a->text = (uint32_t)p->n_literals;
    for (r->at++; r->at < r->n; r->at++) {
        if (peek(r) == '"') {
            r->at++;
            if (peek(r) != '"') {
                measure_literal(p, a);
                return;
            }
        }
        p->literals[p->n_literals++] = peek(r);
    }
    r->error = CARET_MUMPS__PATLIT;
}

static int32_t add_option(struct scanner *r, int32_t first)
{
    caret_mumps__pattern *p = r->p;

    if (p->n_options == CARET_MUMPS__ATOMS) {
        r->error = CARET_MUMPS__PATALTER2LARGE;
        return -1;
    }
    p->options[p->n_options] = (struct caret_mumps__option){first, -1};
    return (int32_t)p->n_options++;
}

static int32_t read_options(struct scanner *r)
{
    int32_t first = -1, last = -1;

    do {
        r->at++;
        int32_t atoms = read_sequence(r), option = r->error == 0 ? add_option(r, atoms) : -1;
        if (r->error != 0)
            return -1;
        if (last >= 0)
            r->p->options[last].next = option;
        else
            first = option;
        last = option;
    } while (peek(r) == ',');
    if (peek(r) != ')')
        r->error = r->at == r->n ? CARET_MUMPS__COMMAORRPAREXP : CARET_MUMPS__PATCODE;
    r->at += r->error == 0;
    return first;
}

/* Is every option one character, once?  Then all are one class. */
static bool merge_options(const caret_mumps__pattern *p, struct caret_mumps__atom *a)
{
    struct caret_mumps__atom class = {.kind = CARET_MUMPS__CLASS, .min = a->min, .max = a->max, .next = -1};

    for (int32_t i = a->option; i >= 0; i = p->options[i].next) {
        const struct caret_mumps__atom *o = &p->atoms[p->options[i].first];
        if (o->unknown || o->next >= 0 || o->min != 1 || o->max != 1 || o->kind == CARET_MUMPS__ALTERNATION ||
            (o->kind == CARET_MUMPS__LITERAL && o->len != 1))
            return false;
        for (int w = 0; w < 8; w++)
            class.map[w] |= o->map[w];
        class.codes |= o->codes;
    }
    *a = class;
    return true;
}

static void read_alternation(struct scanner *r, struct caret_mumps__atom *a)
{
    if (++r->depth > CARET_MUMPS__DEPTH) {
        r->error = CARET_MUMPS__PATALTER2LARGE;
        return;
    }
    a->kind = CARET_MUMPS__ALTERNATION;
    a->option = read_options(r);
    r->depth--;
    if (r->error == 0)
        merge_options(r->p, a);
}

/* -1 and r->error, or the atom. */
static int32_t read_atom(struct scanner *r)
{
    struct caret_mumps__atom a = {.next = -1, .option = -1};

    read_counts(r, &a);
    if (r->error != 0)
        return -1;
    if (peek(r) == '"')
        read_literal(r, &a);
    else if (peek(r) == '(')
        read_alternation(r, &a);
    else
        read_codes(r, &a);
    if (r->error == 0 && r->p->n_atoms == CARET_MUMPS__ATOMS)
        r->error = CARET_MUMPS__PATMAXLEN;
    if (r->error != 0)
        return -1;
    r->p->atoms[r->p->n_atoms] = a;
    return (int32_t)r->p->n_atoms++;
}

static int32_t read_sequence(struct scanner *r)
{
    int32_t first = -1, last = -1;

    if (!starts_atom(r))
        r->error = CARET_MUMPS__PATCODE;
    while (r->error == 0 && starts_atom(r)) {
        int32_t atom = read_atom(r);
        if (last >= 0)
            r->p->atoms[last].next = atom;
        else
            first = atom;
        last = atom;
    }
    return first;
}

/* ------------------------------------------------------------------- speed */

static bool apart(const struct caret_mumps__pattern *p, const struct caret_mumps__atom *a,
                  const struct caret_mumps__atom *b)
{
    uint32_t first[8] = {0};
    const uint32_t *map = b->map;

    if (b->kind == CARET_MUMPS__LITERAL && b->len > 0) {
        unsigned c = (unsigned char)p->literals[b->text];
        first[c >> 5] = UINT32_C(1) << (c & 31);
        map = first;
    }
    for (int w = 0; w < 8; w++) {
        if ((a->map[w] & map[w]) != 0)
            return false;
    }
    return true;
}

/* May this atom take as much as it can: is what may follow it different? */
static bool greedy(const caret_mumps__pattern *p, const struct caret_mumps__atom *a)
{
    if (a->min == a->max || a->next < 0)
        return true;
    for (int32_t i = a->next; i >= 0; i = p->atoms[i].next) {
        const struct caret_mumps__atom *b = &p->atoms[i];
        if (!apart(p, a, b))
            return false;
        if (b->min > 0)
            return true;
    }
    return true;
}

static bool is_fast(const caret_mumps__pattern *p)
{
    for (int32_t i = p->first; i >= 0; i = p->atoms[i].next) {
        const struct caret_mumps__atom *a = &p->atoms[i];
        if (a->kind == CARET_MUMPS__ALTERNATION || (a->kind == CARET_MUMPS__LITERAL && a->len == 0))
            return false;
        if (a->kind == CARET_MUMPS__LITERAL && a->len > 1 && a->min != a->max)
            return false;
        if (!greedy(p, a))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------ */

static void shrink(caret_mumps__pattern *p)
{
    struct caret_mumps__atom *atoms = realloc(p->atoms, p->n_atoms * sizeof *atoms);
    struct caret_mumps__option *options = realloc(p->options, (p->n_options + 1) * sizeof *options);

    if (atoms != NULL)
        p->atoms = atoms;
    if (options != NULL)
        p->options = options;
    p->fast = p->unknown == '\0' && is_fast(p);
    for (int32_t i = p->first; i >= 0; i = p->atoms[i].next) {
        const struct caret_mumps__atom *a = &p->atoms[i];
        size_t one = a->kind == CARET_MUMPS__LITERAL ? a->len : a->kind == CARET_MUMPS__CLASS;
        p->shortest += one * (size_t)a->min;
    }
}

/* A pattern with room for what a text of n bytes can become, or NULL. */
static caret_mumps__pattern *empty_pattern(size_t n)
{
    caret_mumps__pattern *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->atoms = malloc(CARET_MUMPS__ATOMS * sizeof *p->atoms);
    p->options = malloc(CARET_MUMPS__ATOMS * sizeof *p->options);
    p->literals = malloc(n + 1);
    if (p->atoms != NULL && p->options != NULL && p->literals != NULL)
        return p;
    caret_mumps__pattern_free(p);
    return NULL;
}

caret_mumps__pattern *caret_mumps__pattern_new(const char *text, size_t n, size_t at, bool utf8, size_t *end,
                                               int *error)
{
    caret_mumps__pattern *p = empty_pattern(n - at);
    struct scanner r = {.text = text, .n = n, .at = at, .p = p};

    *end = at;
    *error = CARET_MUMPS__PATMEMORY;
    if (p == NULL)
        return NULL;
    p->utf8 = utf8;
    p->first = read_sequence(&r);
    *end = r.at;
    *error = r.error;
    if (r.error == 0) {
        shrink(p);
        return p;
    }
    caret_mumps__pattern_free(p);
    return NULL;
}

char caret_mumps__pattern_unknown(const caret_mumps__pattern *p)
{
    return p->unknown;
}

void caret_mumps__pattern_free(caret_mumps__pattern *p)
{
    free(p->atoms);
    free(p->options);
    free(p->literals);
    free(p);
}
