/*
 * key.c - encoding and decoding of keys; key.h has the layout.
 *
 * Text becomes a number in three steps: the significant digits are found in the
 * text, the point is moved to an even place (so that pairs of digits have whole
 * powers of 100), and the pairs are packed.
 *
 * Integers have a shorter way.  Eight digits are split into four pairs at once
 * inside one 64-bit word, which then has only to be shifted over its leading zero
 * pairs, incremented per pair, complemented if negative, and stored.
 *
 * Decoding never trusts: pairs are bounded, digits counted, ends checked.
 */
#include "base/key.h"

#include <string.h>

#include "base/bytes.h"
#include "base/decimal.h"
#include "base/number.h"
#include "caret.h"

#define EXP_MIN        (-21) /* of 100 */
#define EXP_MAX        24
#define EXP_BIAS       22
#define FIRST_NEGATIVE (CARET__SUB_ZERO - EXP_BIAS - EXP_MAX)
#define LAST_POSITIVE  (CARET__SUB_ZERO + EXP_BIAS + EXP_MAX)
#define PAIRS_MAX      10u /* 18 digits that start in the middle of a pair */
#define END_POSITIVE   0x00
#define END_NEGATIVE   0xFF
#define ESCAPE         0x01

_Static_assert(FIRST_NEGATIVE == CARET__SUB_LOWEST && LAST_POSITIVE == CARET__SUB_HIGHEST,
               "types of numbers");
_Static_assert(FIRST_NEGATIVE > CARET__SUB_EMPTY && LAST_POSITIVE < CARET__SUB_STRING, "types don't overlap");
_Static_assert(CARET__SUB_NUM_MAX == 1 + PAIRS_MAX + 1, "type, pairs, end");

static inline bool is_number_type(uint8_t type)
{
    return type >= FIRST_NEGATIVE && type <= LAST_POSITIVE;
}

/* ------------------------------------------------------------------- names */

static bool is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

bool caret__name_valid(const char *name, size_t len)
{
    if (len == 0 || len > CARET_MAX_NAME || !(name[0] == '%' || is_letter(name[0])))
        return false;
    for (size_t i = 1; i < len; i++) {
        if (!is_letter(name[i]) && (unsigned char)(name[i] - '0') > 9)
            return false;
    }
    return true;
}

size_t caret__key_put_name(uint8_t *dst, const char *name, size_t len)
{
    memcpy(dst, name, len);
    dst[len] = 0;
    return len + 1;
}

/* ----------------------------------------------------------- text to number */

/* The significant digits of a canonical number that is not 0. */
struct digits {
    const char *text;
    unsigned skip;  /* where in the text the point interrupts the digits; `count` = nowhere */
    unsigned count; /* digits */
    int exp;        /* value = 0.DDD... * 10^exp */
    bool negative;
};

static struct digits find_digits(const char *s, size_t n)
{
    struct digits d = {.negative = s[0] == '-'};
    const char *point;
    size_t whole;

    s += d.negative;
    n -= d.negative;
    point = memchr(s, '.', n);
    whole = point != NULL ? (size_t)(point - s) : n;
    d.exp = (int)whole;
    d.text = s;
    d.count = (unsigned)(n - (point != NULL));
    d.skip = (unsigned)whole;
    if (whole == 0) { /* .00123 */
        d.text++;
        for (d.skip = d.count; *d.text == '0'; d.text++, d.count--, d.skip--)
            d.exp--;
    }
    if (point == NULL) { /* 12300 */
        while (d.text[d.count - 1] == '0')
            d.count--;
        d.skip = d.count;
    }
    return d;
}

static inline unsigned digit_at(const struct digits *d, unsigned i)
{
    return i < d->count ? (unsigned)(d->text[i + (i >= d->skip)] - '0') : 0;
}

/* 100^e with e rounded up: an odd power of ten starts in the middle of a pair. */
static int pair_exp(int exp)
{
    return exp > 0 ? (exp + 1) / 2 : -(-exp / 2);
}

static uint8_t type_of(int exp, bool negative)
{
    return (uint8_t)(negative ? CARET__SUB_ZERO - EXP_BIAS - exp : CARET__SUB_ZERO + EXP_BIAS + exp);
}

/* Bytes between type and end. */
static size_t count_pairs(const struct digits *d)
{
    return (d->count + (unsigned)(2 * pair_exp(d->exp) - d->exp) + 1) / 2;
}

static size_t put_number(uint8_t *dst, const struct digits *d)
{
    int exp = pair_exp(d->exp);
    uint8_t flip = d->negative ? 0xFF : 0;
    size_t n = count_pairs(d);
    unsigned i = 0;

    dst[0] = type_of(exp, d->negative);
    for (size_t k = 1; k <= n; k++) {
        /* The first pair has only one digit if the power of ten was odd. */
        unsigned tens = k == 1 && 2 * exp != d->exp ? 0 : digit_at(d, i++);
        unsigned ones = digit_at(d, i++);

        dst[k] = (uint8_t)(tens * 10 + ones + 1) ^ flip;
    }
    dst[n + 1] = END_POSITIVE ^ flip;
    return n + 2;
}

/* ---------------------------------------------------------------- encoding */

static size_t string_size(const char *sub, size_t len)
{
    size_t n = len + 2;

    for (size_t i = 0; i < len; i++)
        n += (uint8_t)sub[i] <= ESCAPE;
    return n;
}

/* Is any of the eight bytes 00 or 01? */
static inline bool has_escape(uint64_t w)
{
    return ((w - UINT64_C(0x0202020202020202)) & ~w & UINT64_C(0x8080808080808080)) != 0;
}

size_t caret__sub_put_string(uint8_t *dst, size_t cap, const char *sub, size_t len)
{
    uint8_t *p = dst;
    size_t i = 0;

    if (2 * len + 2 > cap && string_size(sub, len) > cap)
        return 0;
    *p++ = CARET__SUB_STRING;
    for (; i < len; i++) {
        uint8_t c;

        for (; len - i >= 8 && !has_escape(caret__le64(sub + i)); i += 8, p += 8)
            memcpy(p, sub + i, 8);
        if (i == len)
            break;
        c = (uint8_t)sub[i];
        if (caret__unlikely(c <= ESCAPE)) {
            *p++ = ESCAPE;
            c++;
        }
        *p++ = c;
    }
    *p++ = 0;
    return (size_t)(p - dst);
}

static size_t put_byte(uint8_t *dst, size_t cap, uint8_t type)
{
    if (cap == 0)
        return 0;
    dst[0] = type;
    return 1;
}

size_t caret__sub_size(const char *sub, size_t len)
{
    struct digits d;

    if (len == 0 || (len == 1 && sub[0] == '0'))
        return 1;
    if (!caret__num_canonical(sub, len))
        return string_size(sub, len);
    d = find_digits(sub, len);
    return count_pairs(&d) + 2;
}

size_t caret__sub_put(uint8_t *dst, size_t cap, const char *sub, size_t len)
{
    struct digits d;

    if (len == 0)
        return put_byte(dst, cap, CARET__SUB_EMPTY);
    if (!caret__num_canonical(sub, len))
        return caret__sub_put_string(dst, cap, sub, len);
    if (len == 1 && sub[0] == '0')
        return put_byte(dst, cap, CARET__SUB_ZERO);
    d = find_digits(sub, len);
    return count_pairs(&d) + 2 <= cap ? put_number(dst, &d) : 0;
}

/* u < 10^8 as four pairs of digits, the highest in the lowest byte. */
static inline uint64_t split4(uint32_t u)
{
    uint64_t high = u / 10000, both = high | (uint64_t)(u - (uint32_t)high * 10000) << 32;
    uint64_t hundreds = (both * 10486 >> 20) & UINT64_C(0x7F0000007F);
    uint64_t lanes = hundreds | (both - 100 * hundreds) << 16; /* four 16-bit lanes */

    lanes = (lanes | lanes >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (lanes | lanes >> 16) & UINT64_C(0xFFFFFFFF);
}

/* Store type, pairs and end, given the pairs of the digits of 0 < u < 10^16, right-aligned
 * in `width` bytes of w.  Writes 10 bytes. */
static inline size_t put_pairs(uint8_t *dst, uint64_t w, unsigned width, bool negative)
{
    unsigned leading = (unsigned)__builtin_ctzll(w) / 8;
    unsigned kept = 8 - (unsigned)__builtin_clzll(w) / 8 - leading;
    uint64_t flip = negative ? UINT64_MAX : 0;

    w = (w >> 8 * leading) + (UINT64_C(0x0101010101010101) >> 8 * (8 - kept));
    dst[0] = type_of((int)(width - leading), negative);
    caret__put_le64(dst + 1, w ^ flip);
    dst[9] = (uint8_t)flip; /* the end of eight pairs; fewer have theirs in the word */
    return kept + 2;
}

/* One that is zero, or has more than 16 digits, or of which there may be no room for the words of put_pairs(). */
static __attribute__((noinline)) size_t put_any_i64(uint8_t *dst, size_t cap, int64_t v)
{
    char text[CARET__NUM_MAX];

    return caret__sub_put(dst, cap, text, caret__i64_format(v, text));
}

size_t caret__sub_put_i64(uint8_t *dst, size_t cap, int64_t v)
{
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;

    if (caret__likely(cap >= CARET__SUB_SHORT && u - 1 < 9999999999999999u)) {
        if (caret__likely(u < 100000000))
            return put_pairs(dst, split4((uint32_t)u), 4, v < 0);
        return put_pairs(dst, split4((uint32_t)(u / 100000000)) | split4((uint32_t)(u % 100000000)) << 32, 8,
                         v < 0);
    }
    return put_any_i64(dst, cap, v);
}

/* ---------------------------------------------------------------- decoding */

/* Offset of the byte `end` within the first PAIRS_MAX + 2 of p[0..n), 0 = not there. */
static inline size_t find_end(const uint8_t *p, size_t n, uint8_t end)
{
    size_t i = 1;

    if (caret__likely(n >= 9)) {
        uint64_t w = caret__le64(p + 1) ^ (end == 0 ? 0 : UINT64_MAX);
        uint64_t zero = (w - UINT64_C(0x0101010101010101)) & ~w & UINT64_C(0x8080808080808080);

        if (caret__likely(zero != 0)) /* the lowest flag is exact */
            return 1 + (size_t)__builtin_ctzll(zero) / 8;
        i = 9;
    }
    for (n = caret__min(n, CARET__SUB_NUM_MAX); i < n; i++) {
        if (p[i] == end)
            return i;
    }
    return 0;
}

size_t caret__sub_len(const uint8_t *p, size_t n)
{
    const uint8_t *end;
    size_t at;

    if (n == 0)
        return 0;
    if (p[0] == CARET__SUB_STRING) {
        end = memchr(p, 0, n);
        return end != NULL ? (size_t)(end - p) + 1 : 0;
    }
    if (p[0] == CARET__SUB_EMPTY || p[0] == CARET__SUB_ZERO)
        return 1;
    if (!is_number_type(p[0]))
        return 0;
    at = find_end(p, n, p[0] > CARET__SUB_ZERO ? END_POSITIVE : END_NEGATIVE);
    return at != 0 ? at + 1 : 0;
}

/* An encoded number taken apart. */
struct number {
    uint64_t high; /* all pairs but the last, as an integer: at most 18 digits */
    unsigned last; /* the last pair */
    unsigned pairs;
    int exp; /* of 100 */
    bool negative;
};

/* One pass: the end is where the pairs stop. */
static inline bool get_pairs(const uint8_t *p, size_t n, struct number *out)
{
    uint8_t flip = p[0] < CARET__SUB_ZERO ? 0xFF : 0;
    uint64_t high = 0;
    unsigned last = 0, i = 1;

    for (n = caret__min(n, CARET__SUB_NUM_MAX); i < n; i++) {
        unsigned pair = (unsigned)(p[i] ^ flip) - 1;

        if (pair > 99)
            break;
        high = high * 100 + last;
        last = pair;
    }
    if (i == 1 || i == n || (p[i] ^ flip) != 0)
        return false;
    out->negative = flip != 0;
    out->exp = (out->negative ? CARET__SUB_ZERO - p[0] : p[0] - CARET__SUB_ZERO) - EXP_BIAS;
    out->pairs = i - 1;
    out->high = high;
    out->last = last;
    return true;
}

/* Is it an integer of less than 10^18? */
static inline bool is_short_integer(const struct number *number)
{
    return number->exp >= (int)number->pairs && number->exp < (int)PAIRS_MAX;
}

static inline int64_t short_integer(const struct number *number)
{
    static const int64_t pow100[PAIRS_MAX] = {INT64_C(1),
                                              INT64_C(100),
                                              INT64_C(10000),
                                              INT64_C(1000000),
                                              INT64_C(100000000),
                                              INT64_C(10000000000),
                                              INT64_C(1000000000000),
                                              INT64_C(100000000000000),
                                              INT64_C(10000000000000000),
                                              INT64_C(1000000000000000000)};
    int64_t v = (int64_t)(number->high * 100 + number->last) * pow100[number->exp - (int)number->pairs];

    return number->negative ? -v : v;
}

/*
 * 1E47 was the last number until the range of numbers came to end below it; now that text is a
 * string.  A key of that time keeps its place after all other numbers, and is still read and moved to.
 */
#define OLD_LAST_EXP 24

static inline bool is_old_last(const struct number *number)
{
    return number->exp == OLD_LAST_EXP && number->pairs == 1 && number->last == 10;
}

static size_t put_old_last(bool negative, char *text)
{
    text[0] = '-';
    text[negative] = '1';
    memset(text + negative + 1, '0', 47);
    return negative + 48u;
}

/* A number to text.  What is not canonical then was not made by our encoder. */
static size_t format_number(const struct number *number, char *text)
{
    struct caret__dec d = {0, 2 * (number->exp - (int)number->pairs), number->negative};
    unsigned tail = number->last;

    if (is_old_last(number))
        return put_old_last(number->negative, text);
    if (tail % 10 == 0) {
        /* 18 digits in 10 pairs start and end in the middle of one. */
        if (number->high >= UINT64_C(100000000000000000))
            return 0;
        d.mantissa = number->high * 10 + tail / 10;
        d.exp++;
    } else {
        if (number->high >= UINT64_C(10000000000000000))
            return 0;
        d.mantissa = number->high * 100 + tail;
    }
    return caret__dec_format(d, text);
}

/* Two digits of each of the four pairs in the low bytes of w, as text, the lowest byte's first. */
static inline uint64_t spell4(uint64_t w)
{
    uint64_t lanes = (w | w << 16) & UINT64_C(0x0000FFFF0000FFFF);

    lanes = (lanes | lanes << 8) & UINT64_C(0x00FF00FF00FF00FF);
    uint64_t tens = (lanes * 103 >> 10) & UINT64_C(0x000F000F000F000F);
    return (tens | (lanes - 10 * tens) << 8) + UINT64_C(0x3030303030303030);
}

/* Integers from 1 to 99999999, which most are: the text in the low bytes of *text, and its length; 0 =
 * something else. */
static inline unsigned get_small(const uint8_t *p, size_t n, uint64_t *text)
{
    unsigned exp = p[0] - (unsigned)(CARET__SUB_ZERO + EXP_BIAS), i = 0, pair = 0;
    uint64_t w = 0;

    if (exp - 1 > 3)
        return 0;
    for (; i < exp && i + 1 < n && (pair = p[i + 1] - 1u) <= 99; i++)
        w |= (uint64_t)pair << 8 * i;
    if (i == 0 || i + 1 >= n || p[i + 1] != END_POSITIVE)
        return 0;
    unsigned skip = (w & 0xFF) < 10;
    *text = spell4(w) >> 8 * skip;
    return 2 * exp - skip;
}

/* The low n bytes of w, 1 to 8, and no more. */
static inline void put_text(char *buf, uint64_t w, unsigned n)
{
    if (n >= 4) {
        caret__put_le32(buf, (uint32_t)w);
        caret__put_le32(buf + n - 4, (uint32_t)(w >> 8 * (n - 4)));
    } else {
        buf[0] = (char)w;
        buf[n / 2] = (char)(w >> 8 * (n / 2));
        buf[n - 1] = (char)(w >> 8 * (n - 1));
    }
}

static int get_number(const uint8_t *p, size_t n, char *text, size_t *len)
{
    struct number number;

    if (p[0] == CARET__SUB_ZERO) {
        text[0] = '0';
        *len = 1;
        return CARET_OK;
    }
    if (!get_pairs(p, n, &number))
        return CARET_E_CORRUPT;
    *len = is_short_integer(&number) ? caret__i64_format(short_integer(&number), text)
                                     : format_number(&number, text);
    return *len != 0 ? CARET_OK : CARET_E_CORRUPT;
}

/* Between p and end, with escapes: the needed length, and as much as fits. */
static int unescape(const uint8_t *p, const uint8_t *end, char *buf, size_t cap, size_t *len)
{
    size_t out = 0;

    for (; p < end; p++) {
        uint8_t c = *p;

        if (caret__unlikely(c == ESCAPE)) {
            c = (uint8_t)(*++p - 1); /* 255 at the end */
            if (c > ESCAPE)
                return CARET_E_CORRUPT;
        }
        if (out < cap)
            buf[out] = (char)c;
        out++;
    }
    *len = out;
    return out <= cap ? CARET_OK : CARET_E_BUFFER;
}

static int get_string(const uint8_t *p, size_t n, char *buf, size_t cap, size_t *len)
{
    const uint8_t *end = memchr(p, 0, n);

    if (end == NULL)
        return CARET_E_CORRUPT;
    *len = (size_t)(end - ++p);
    if (memchr(p, ESCAPE, *len) != NULL)
        return unescape(p, end, buf, cap, len);
    if (*len > cap)
        return CARET_E_BUFFER;
    memcpy(buf, p, *len);
    return CARET_OK;
}

int caret__sub_get(const uint8_t *p, size_t n, char *buf, size_t cap, size_t *len, bool *is_number)
{
    char text[CARET__NUM_MAX];
    uint64_t small;
    int rc;

    *len = 0;
    *is_number = false;
    if (n == 0)
        return CARET_E_CORRUPT;
    if (p[0] == CARET__SUB_STRING)
        return get_string(p, n, buf, cap, len);
    *len = get_small(p, n, &small);
    *is_number = *len != 0;
    if (*is_number && *len <= cap)
        put_text(buf, small, (unsigned)*len);
    if (*is_number)
        return *len <= cap ? CARET_OK : CARET_E_BUFFER;
    if (p[0] == CARET__SUB_EMPTY)
        return CARET_OK;
    rc = is_number_type(p[0]) ? get_number(p, n, text, len) : CARET_E_CORRUPT;
    if (rc != CARET_OK)
        return rc;
    *is_number = *len < 48 || caret__num_canonical(text, *len); /* or it is the last one of old */
    if (*len > cap)
        return CARET_E_BUFFER;
    memcpy(buf, text, *len);
    return CARET_OK;
}

/* Integers of ten pairs (10^18 and more) go through text. */
static bool get_long_integer(const uint8_t *p, size_t n, int64_t *out)
{
    char text[CARET__NUM_MAX];
    size_t len;

    return get_number(p, n, text, &len) == CARET_OK && caret__i64_parse(text, len, out);
}

bool caret__sub_get_small(const uint8_t *p, size_t n, int64_t *out)
{
    unsigned exp = p[0] - (unsigned)(CARET__SUB_ZERO + EXP_BIAS), pairs = (unsigned)n - 2,
             mask = UINT32_MAX >> (8 * (4 - pairs) & 31);

    if (exp - 1 > 3 || pairs - 1 >= exp || p[n - 1] != END_POSITIVE)
        return false;
    uint32_t w = (caret__le32(p + 1) & mask) - (UINT32_C(0x01010101) & mask);
    if (((w + UINT32_C(0x1c1c1c1c)) | w) & UINT32_C(0x80808080)) /* a pair above 99 */
        return false;
    w <<= 8 * (4 - exp);
    uint32_t fours = (w & UINT32_C(0x00FF00FF)) * 100 + (w >> 8 & UINT32_C(0x00FF00FF));
    *out = (int64_t)((fours & 0xFFFF) * 10000 + (fours >> 16));
    return true;
}

bool caret__sub_get_i64(const uint8_t *p, size_t n, int64_t *out)
{
    struct number number;

    if (n == 0 || !is_number_type(p[0]))
        return false;
    if (p[0] == CARET__SUB_ZERO) {
        *out = 0;
        return true;
    }
    if (!get_pairs(p, n, &number))
        return false;
    if (number.exp == (int)PAIRS_MAX)
        return get_long_integer(p, n, out);
    if (!is_short_integer(&number))
        return false;
    *out = short_integer(&number);
    return true;
}

/* -------------------------------------------------------------- whole keys */

size_t caret__key_name_len(const uint8_t *key, size_t n)
{
    const uint8_t *end = memchr(key, 0, caret__min(n, CARET_MAX_NAME + 1));

    return end != NULL ? (size_t)(end - key) : 0;
}

int caret__key_depth(const uint8_t *key, size_t n, size_t *last_off)
{
    size_t at = caret__key_name_len(key, n) + 1, last = n;
    int depth = 0;

    if (at == 1)
        return -1;
    for (size_t len; at < n; at += len, depth++) {
        len = caret__sub_len(key + at, n - at);
        if (len == 0)
            return -1;
        last = at;
    }
    if (last_off != NULL)
        *last_off = last;
    return depth;
}

/* Encoding what was decoded must give the same bytes. */
static bool sub_valid(const uint8_t *p, size_t len)
{
    struct number number;
    char text[CARET__KEY_MAX];
    uint8_t again[CARET__KEY_MAX + CARET__SUB_NUM_MAX];
    size_t n;
    bool is_number;

    if (len > CARET__KEY_MAX || caret__sub_get(p, len, text, sizeof text, &n, &is_number) != CARET_OK)
        return false;
    if (is_number_type(p[0]) && p[0] != CARET__SUB_ZERO && get_pairs(p, len, &number) && is_old_last(&number))
        return true;
    return caret__sub_put(again, sizeof again, text, n) == len && memcmp(again, p, len) == 0;
}

bool caret__key_valid(const uint8_t *key, size_t n)
{
    size_t at = caret__key_name_len(key, n) + 1;
    unsigned depth = 0;

    if (n > CARET__KEY_MAX || at == 1 || !caret__name_valid((const char *)key, at - 1))
        return false;
    for (size_t len; at < n; at += len, depth++) {
        len = caret__sub_len(key + at, n - at);
        if (len == 0 || !sub_valid(key + at, len))
            return false;
    }
    return depth <= CARET_MAX_SUBS;
}
