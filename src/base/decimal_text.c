/*
 * decimal_text.c - decimal numbers from text, and as text.
 *
 * Most texts have at most 18 digits, perhaps a sign and a point, and nothing else: read_short().  All others are read
 * digit by digit, of which up to as many are kept as the rules allow.
 */
#include <limits.h>
#include <string.h>

#include "base/decimal_parts.h"
#include "base/number.h"

typedef caret__u128 u128;

/* Exponents of texts are cut here, far outside of the range, also after 16 MiB of zeros. */
#define EXP_CLAMP 100000000

/* ------------------------------------------------------------------ from text */

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Digits while they are read. */
struct reading {
    uint64_t first, second; /* the first 19 significant ones, the next 19 */
    unsigned kept, max;
    int64_t exp;
    bool more;
};

/* One after the first 19. */
static void read_late_digit(struct reading *r, unsigned digit, bool fraction)
{
    if (r->kept == r->max) {
        r->more |= digit != 0;
        r->exp += !fraction;
        return;
    }
    r->second = r->second * 10 + digit;
    r->kept++;
    r->exp -= fraction;
}

static size_t read_digits(struct reading *r, const char *s, size_t n, size_t i, bool fraction)
{
    unsigned early = r->max < 19 ? r->max : 19, kept = r->kept;
    uint64_t first = r->first;
    size_t from = i;

    for (; i < n && kept < early && is_digit(s[i]); i++) {
        first = first * 10 + (unsigned)(s[i] - '0');
        kept += first != 0;
    }
    r->first = first;
    r->kept = kept;
    r->exp -= fraction ? (int64_t)(i - from) : 0;
    for (; i < n && is_digit(s[i]); i++)
        read_late_digit(r, (unsigned)(s[i] - '0'), fraction);
    return i;
}

/* The exponent at s[i] == 'E'; returns the place after it, or i where no digit is. */
static size_t read_exponent(const char *s, size_t n, size_t i, int64_t *exp)
{
    size_t at = i + 1;
    bool negative = false;
    int64_t e = 0;

    if (at < n && (s[at] == '+' || s[at] == '-'))
        negative = s[at++] == '-';
    if (at == n || !is_digit(s[at]))
        return i;
    for (; at < n && is_digit(s[at]); at++) {
        if (e < EXP_CLAMP)
            e = e * 10 + (s[at] - '0');
    }
    *exp += negative ? -e : e;
    return at;
}

static int32_t clamp(int64_t exp)
{
    return (int32_t)(exp > EXP_CLAMP ? EXP_CLAMP : exp < -EXP_CLAMP ? -EXP_CLAMP : exp);
}

/*
 * The same as caret__dec_parse() of a text of 1 to 18 digits, before them perhaps a -, among them perhaps a
 * point, and nothing else. False: it is something else.
 */
static inline bool read_short(const char *s, size_t n, struct caret__dec *r)
{
    const char *end = s + n, *first = s + (n > 0 && *s == '-'), *p = first, *point = end;
    uint64_t m = 0;

    if (end - first > 19)
        return false;
    for (; p < end && is_digit(*p); p++)
        m = m * 10 + (unsigned)(*p - '0');
    if (p < end && *p == '.') {
        point = p++;
        for (; p < end && is_digit(*p); p++)
            m = m * 10 + (unsigned)(*p - '0');
    }
    ptrdiff_t digits = end - first - (point < end);
    if (p < end || digits == 0 || digits > 18)
        return false;
    *r = (struct caret__dec){m, m != 0 && point < end ? (int32_t)(point + 1 - end) : 0, m != 0 && first > s};
    return true;
}

static int read_any(struct caret__rules rules, const char *s, size_t n, struct caret__dec *r, size_t *used)
{
    struct reading x = {.max = rules.digits};
    bool negative = false;
    size_t i = 0, first, digits;

    for (; i < n && (s[i] == '+' || s[i] == '-'); i++)
        negative ^= s[i] == '-';
    first = i;
    i = read_digits(&x, s, n, i, false);
    digits = i - first;
    if (i < n && s[i] == '.') {
        first = i + 1;
        i = read_digits(&x, s, n, first, true);
        digits += i - first;
    }
    if (digits != 0 && i < n && s[i] == 'E')
        i = read_exponent(s, n, i, &x.exp);
    if (used != NULL)
        *used = digits != 0 ? i : 0;
    u128 m = x.kept <= 19 ? x.first : x.first * caret__tens[x.kept - 19] + x.second;
    return caret__dec_fit(rules, (struct caret__raw){{0, m}, clamp(x.exp), negative, x.more}, r);
}

int caret__dec_parse(struct caret__rules rules, const char *s, size_t n, struct caret__dec *r, size_t *used)
{
    if (rules.digits < 18 || !read_short(s, n, r))
        return read_any(rules, s, n, r, used);
    if (used != NULL)
        *used = n;
    return CARET__DEC_OK;
}

/* --------------------------------------------------------------------- to text */

/* All digits of a mantissa; returns how many. */
static unsigned put_digits(u128 m, char *out)
{
    unsigned n;
    char *p;

    if (m - 1 < CARET__DEC_SMALL)
        return (unsigned)caret__i64_format((int64_t)m, out);
    n = caret__digits(m);
    p = out + n;
    while (m >> 64 != 0) {
        uint64_t low = (uint64_t)(m % CARET__E19);
        m /= CARET__E19;
        for (int i = 0; i < 19; i++, low /= 10)
            *--p = (char)('0' + low % 10);
    }
    for (uint64_t u = (uint64_t)m; p > out; u /= 10)
        *--p = (char)('0' + u % 10);
    return n;
}

/* Digits, not ending in 0, times 10^exp. */
static size_t put_plain(const char *digits, int n, int exp, char *out)
{
    int point = n + exp; /* digits before the point */

    if (exp >= 0) {
        memcpy(out, digits, (size_t)n);
        memset(out + n, '0', (size_t)exp);
        return (size_t)point;
    }
    if (point < 0) {
        out[0] = '.';
        memset(out + 1, '0', (size_t)-point);
        memcpy(out + 1 - point, digits, (size_t)n);
        return (size_t)(1 - point + n);
    }
    memcpy(out, digits, (size_t)point);
    out[point] = '.';
    memcpy(out + point + 1, digits + point, (size_t)(n - point));
    return (size_t)n + 1;
}

size_t caret__dec_format(struct caret__dec d, char *buf)
{
    char digits[CARET__DEC_DIGITS + 1];
    int n = (int)put_digits(d.mantissa, digits), size = n + d.exp;

    if (n == 0) {
        buf[0] = '0';
        return 1;
    }
    if (size > CARET__DEC_HIGHEST || size < CARET__DEC_LOWEST)
        return 0;
    for (; digits[n - 1] == '0'; n--)
        d.exp++;
    buf[0] = '-';
    return d.negative + put_plain(digits, n, d.exp, buf + d.negative);
}
