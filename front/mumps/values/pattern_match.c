/*
 * pattern_match.c - does a text match a pattern?
 *
 * A set of places is a byte for each of the n + 1 places of the text, and the range that its members are in.  A step
 * makes the set after an atom of the set before it:
 *
 *   class    place j is reached if the last place i <= j - min of the set before is no more than `max` characters back,
 *            and all characters between are of the class, which is to say: i is not before the start of the run
 *            of such characters that ends at j.
 *   literal  the same in steps of its length; run and last place are kept for each place, as there are as many
 *            runs as the literal is long.
 *   options  the union of the options' steps, `min` times; then what is new goes on, at most to `max`.
 *
 * In UTF-8 mode a text that is not ASCII alone is made an array of codes first.
 *
 * Memory is taken as from a stack: each function gives back what it has taken, by dropping to where it began.  Where
 * there is none, need() leaves everything by longjmp to pattern_sets(), which drops all.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "mumps/values/pattern.h"
#include "mumps/values/values.h"

/* ------------------------------------------------------------ without any set */

static const char *take_class(const struct caret_mumps__atom *a, const char *s, const char *end)
{
    const char *most = end - s > a->max ? s + a->max : end, *at = s;

    while (at < most && caret_mumps__in_map(a->map, (unsigned char)*at))
        at++;
    return at - s >= a->min ? at : NULL;
}

static const char *take_literal(const caret_mumps__pattern *p, const struct caret_mumps__atom *a,
                                const char *s, const char *end)
{
    for (int32_t k = 0; k < a->min; k++) {
        if ((size_t)(end - s) < a->len || memcmp(s, p->literals + a->text, a->len) != 0)
            return NULL;
        s += a->len;
    }
    return s;
}

static bool pattern_fast(const caret_mumps__pattern *p, const char *s, size_t n)
{
    const char *end = s + n;

    for (int32_t i = p->first; i >= 0 && s != NULL; i = p->atoms[i].next) {
        const struct caret_mumps__atom *a = &p->atoms[i];
        if (a->kind == CARET_MUMPS__LITERAL && a->len > 1)
            s = take_literal(p, a, s, end);
        else
            s = take_class(a, s, end);
    }
    return s == end;
}

/* ---------------------------------------------------------------- sets of places */

struct block {
    struct block *below;
    max_align_t bytes[];
};

struct memory {
    struct block *top;
    jmp_buf none;
};

struct set {
    uint8_t *in;
    size_t low, high; /* low > high: empty */
};

struct matcher {
    const caret_mumps__pattern *p;
    const char *s;
    uint32_t *codes; /* of each character */
    size_t n;
    bool utf8;
    bool *unknown; /* it came upon such a class */
    struct memory *memory;
};

static void *need(struct memory *m, size_t bytes)
{
    struct block *b = calloc(1, sizeof *b + bytes);

    if (b == NULL)
        longjmp(m->none, 1);
    b->below = m->top;
    m->top = b;
    return b->bytes;
}

/* Give back what was taken after `mark` was the top. */
static void drop(struct memory *m, const struct block *mark)
{
    while (m->top != mark) {
        struct block *b = m->top;
        m->top = b->below;
        free(b);
    }
}

static struct set new_set(const struct matcher *m)
{
    return (struct set){need(m->memory, m->n + 1), 1, 0};
}

static bool empty(const struct set *s)
{
    return s->low > s->high;
}

static void clear(struct set *s)
{
    if (!empty(s))
        memset(s->in + s->low, 0, s->high - s->low + 1);
    s->low = 1;
    s->high = 0;
}

static void include(struct set *s, size_t place)
{
    bool first = empty(s);

    s->in[place] = 1;
    s->low = first || place < s->low ? place : s->low;
    s->high = first || place > s->high ? place : s->high;
}

static void swap(struct set *a, struct set *b)
{
    struct set c = *a;

    *a = *b;
    *b = c;
}

/* ----------------------------------------------------------------------- steps */

static bool in_class(const struct matcher *m, const struct caret_mumps__atom *a, size_t i)
{
    uint32_t c = m->codes[i];

    if (c < 128 || !m->utf8)
        return caret_mumps__in_map(a->map, c & 255);
    return (caret_mumps__codes_of(c, true) & a->codes) != 0;
}

static void step_class(const struct matcher *m, const struct caret_mumps__atom *a, const struct set *from,
                       struct set *to)
{
    int64_t start = (int64_t)from->low, last = -1, high = (int64_t)from->high;

    for (int64_t j = start; j <= (int64_t)m->n; j++) {
        if (j > (int64_t)from->low && !in_class(m, a, (size_t)j - 1))
            start = j;
        int64_t i = j - a->min;
        if (i >= 0 && i <= high && from->in[i])
            last = i;
        if (last >= start && last >= j - a->max)
            include(to, (size_t)j);
        else if (i >= high || start > high)
            return;
    }
}

static bool literal_at(const struct matcher *m, const struct caret_mumps__atom *a, const uint32_t *literal,
                       size_t i)
{
    return memcmp(m->codes + i, literal, a->characters * sizeof *literal) == 0;
}

static uint32_t *codes_of(struct memory *m, const char *s, size_t n, bool utf8, size_t *characters)
{
    uint32_t *codes = need(m, (n + 1) * sizeof *codes);
    size_t count = 0, size = 1;

    for (size_t i = 0; i < n; i += size) {
        int32_t code = utf8 ? caret_mumps__utf8_code(s, n, i, &size) : (int32_t)(unsigned char)s[i];
        codes[count++] = code >= 0 ? (uint32_t)code : 0x80000000u | (unsigned char)s[i];
    }
    *characters = count;
    return codes;
}

/* start[j] and last[j]: of the run and of the set before, in steps of the literal's length. */
static void step_literal(const struct matcher *m, const struct caret_mumps__atom *a, const struct set *from,
                         struct set *to)
{
    const int64_t len = a->characters, low = (int64_t)from->low, high = (int64_t)from->high;
    const struct block *mark = m->memory->top;
    int64_t *start = need(m->memory, (m->n + 1) * sizeof *start);
    int64_t *last = need(m->memory, (m->n + 1) * sizeof *last);
    size_t count;
    uint32_t *literal = codes_of(m->memory, m->p->literals + a->text, a->len, m->utf8, &count);

    for (int64_t j = low; j <= (int64_t)m->n; j++) {
        bool joins = j - len >= low && literal_at(m, a, literal, (size_t)(j - len));
        int64_t i = j - a->min * len;
        start[j] = joins ? start[j - len] : j;
        last[j] = i >= low && i <= high && from->in[i] ? i : j - len >= low ? last[j - len] : -1;
        if (last[j] >= start[j] && (a->max == INT32_MAX || last[j] >= j - a->max * len))
            include(to, (size_t)j);
    }
    drop(m->memory, mark);
}

static void step_sequence(const struct matcher *m, int32_t first, const struct set *from, struct set *to);

static void step_options(const struct matcher *m, const struct caret_mumps__atom *a, const struct set *from,
                         struct set *to)
{
    const struct block *mark = m->memory->top;
    struct set one = new_set(m);

    for (int32_t i = a->option; i >= 0; i = m->p->options[i].next) {
        step_sequence(m, m->p->options[i].first, from, &one);
        for (size_t j = one.low; !empty(&one) && j <= one.high; j++) {
            if (one.in[j])
                include(to, j);
        }
        clear(&one);
    }
    drop(m->memory, mark);
}

static void copy(const struct set *from, struct set *to)
{
    clear(to);
    if (!empty(from))
        memcpy(to->in + from->low, from->in + from->low, from->high - from->low + 1);
    to->low = from->low;
    to->high = from->high;
}

static bool same(const struct set *a, const struct set *b)
{
    return a->low == b->low && a->high == b->high &&
           (empty(a) || memcmp(a->in + a->low, b->in + a->low, a->high - a->low + 1) == 0);
}

/* What is in `wave` and not in `all`, added to it; only that stays in `wave`. */
static void only_new(struct set *wave, struct set *all)
{
    struct set old = *wave;

    wave->low = 1;
    wave->high = 0;
    for (size_t j = old.low; !empty(&old) && j <= old.high; j++) {
        bool news = old.in[j] && !all->in[j];
        old.in[j] = 0;
        if (news) {
            include(all, j);
            include(wave, j);
        }
    }
}

static void step_alternation(const struct matcher *m, const struct caret_mumps__atom *a,
                             const struct set *from, struct set *to)
{
    const struct block *mark = m->memory->top;
    struct set wave = new_set(m), next = new_set(m);

    copy(from, &wave);
    for (int32_t k = 0; k < a->min && !empty(&wave); k++) {
        clear(&next);
        step_options(m, a, &wave, &next);
        swap(&wave, &next);
        if (same(&wave, &next))
            break;
    }
    copy(&wave, to);
    for (int32_t k = a->min; k < a->max && !empty(&wave); k++) {
        clear(&next);
        step_options(m, a, &wave, &next);
        only_new(&next, to);
        swap(&wave, &next);
    }
    drop(m->memory, mark);
}

static void step(const struct matcher *m, const struct caret_mumps__atom *a, const struct set *from,
                 struct set *to)
{
    if (a->kind == CARET_MUMPS__ALTERNATION)
        step_alternation(m, a, from, to);
    else if (a->kind == CARET_MUMPS__LITERAL && a->characters == 0)
        copy(from, to);
    else if (a->kind == CARET_MUMPS__LITERAL)
        step_literal(m, a, from, to);
    else
        step_class(m, a, from, to);
    *m->unknown |= a->unknown;
}

static void step_sequence(const struct matcher *m, int32_t first, const struct set *from, struct set *to)
{
    const struct block *mark = m->memory->top;
    struct set now = new_set(m);
    const uint8_t *theirs = to->in;

    copy(from, &now);
    for (int32_t i = first; i >= 0 && !empty(&now); i = m->p->atoms[i].next) {
        clear(to);
        step(m, &m->p->atoms[i], &now, to);
        swap(&now, to);
    }
    if (now.in == theirs)
        swap(&now, to);
    else
        copy(&now, to);
    drop(m->memory, mark);
}

static bool reaches_end(struct matcher *m, size_t n)
{
    m->codes = codes_of(m->memory, m->s, n, m->utf8, &m->n);
    struct set from = new_set(m), to = new_set(m);
    include(&from, 0);
    step_sequence(m, m->p->first, &from, &to);
    return to.in[m->n] != 0;
}

static int pattern_sets(const caret_mumps__pattern *p, const char *s, size_t n, bool utf8)
{
    bool unknown = false;
    struct memory memory = {0};
    struct matcher m = {.p = p, .s = s, .utf8 = utf8, .unknown = &unknown, .memory = &memory};

    if (setjmp(memory.none) != 0) {
        drop(&memory, NULL);
        return CARET_MUMPS__NO_MEMORY;
    }
    bool matches = reaches_end(&m, n);
    drop(&memory, NULL);
    return unknown && !matches ? CARET_MUMPS__NO_SUCH_CLASS : matches;
}

static bool ascii(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] >= 128)
            return false;
    }
    return true;
}

int caret_mumps__pattern_match(const caret_mumps__pattern *p, const char *s, size_t n)
{
    if (n < p->shortest)
        return 0;
    if (p->utf8 && !ascii(s, n))
        return pattern_sets(p, s, n, true);
    return p->fast ? pattern_fast(p, s, n) : pattern_sets(p, s, n, p->utf8);
}

int caret_mumps__pattern_match_integer(const caret_mumps__pattern *p, double v)
{
    char text[24];

    return caret_mumps__pattern_match(p, text, caret_mumps__integer_text(v, text));
}
