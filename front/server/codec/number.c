/*
 * number.c - integers by hand, as they are on every path; floating point by the C library.
 *
 * Integers among the doubles, which most scores are, do not go through printf: below 10^17 all their digits fit into
 * %.17g, which then prints an integer and nothing else.
 */
#include "server/codec/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- integers */

/* Digits without a needless zero: "0", or what begins with 1 to 9. */
static bool parse_digits(const char *text, size_t len, uint64_t *value)
{
    uint64_t v = 0;

    if (len == 0 || len > 20 || (text[0] == '0' && len > 1))
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return false;
        v = 10 * v + digit;
    }
    *value = v;
    return true;
}

bool caret_codec__parse_i64(const char *text, size_t len, int64_t *value)
{
    bool negative = len > 0 && text[0] == '-';
    uint64_t v;

    if (len == 1 && text[0] >= '0' && text[0] <= '9') { /* most often: how many keys or elements */
        *value = text[0] - '0';
        return true;
    }
    if (!parse_digits(text + negative, len - negative, &v))
        return false;
    if (negative && (v == 0 || v > (uint64_t)1 << 63))
        return false;
    if (!negative && v > INT64_MAX)
        return false;
    *value = (int64_t)(negative ? 0 - v : v);
    return true;
}

bool caret_codec__parse_u64(const char *text, size_t len, uint64_t *value)
{
    char copy[128];
    char *end;
    int64_t v;

    if (caret_codec__parse_i64(text, len, &v)) {
        *value = (uint64_t)v;
        return v >= 0;
    }
    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    errno = 0;
    *value = strtoull(copy, &end, 10);
    return errno == 0 && end == copy + len;
}

size_t caret_codec__print_u64(uint64_t value, char out[CARET_CODEC__I64_ROOM])
{
    char digits[CARET_CODEC__I64_ROOM];
    size_t n = 0;

    for (; value >= 100; value /= 100, n += 2) { /* two at a time: divisions are what it costs */
        unsigned pair = (unsigned)(value % 100);
        digits[sizeof digits - n - 1] = (char)('0' + pair % 10);
        digits[sizeof digits - n - 2] = (char)('0' + pair / 10);
    }
    digits[sizeof digits - ++n] = (char)('0' + value % 10);
    if (value >= 10)
        digits[sizeof digits - ++n] = (char)('0' + value / 10);
    memcpy(out, digits + sizeof digits - n, n);
    return n;
}

size_t caret_codec__print_i64(int64_t value, char out[CARET_CODEC__I64_ROOM])
{
    if (value >= 0)
        return caret_codec__print_u64((uint64_t)value, out);
    out[0] = '-';
    char digits[CARET_CODEC__I64_ROOM];
    size_t n = caret_codec__print_u64(0 - (uint64_t)value, digits);
    memcpy(out + 1, digits, n);
    return n + 1;
}

/* ---------------------------------------------------------------- reading floating point */

/* strtod() needs a terminator: a copy, in `room` where it fits. */
static char *terminated(const char *text, size_t len, char *room, size_t size)
{
    char *copy = len < size ? room : malloc(len + 1);

    if (copy == NULL)
        return NULL;
    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool caret_codec__parse_double(const char *text, size_t len, double *value)
{
    char room[512];
    char *copy = terminated(text, len, room, sizeof room), *end;
    double v;
    bool good;

    if (copy == NULL)
        return false;
    errno = 0;
    v = strtod(copy, &end);
    good = len > 0 && !is_space(copy[0]) && end == copy + len && !isnan(v);
    if (errno == ERANGE && (v == 0 || isinf(v)))
        good = false;
    if (copy != room)
        free(copy);
    if (good)
        *value = v;
    return good;
}

bool caret_codec__parse_long_double(const char *text, size_t len, long double *value)
{
    char copy[CARET_CODEC__HUMAN_ROOM];
    char *end;
    long double v;

    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    errno = 0;
    v = strtold(copy, &end);
    if (is_space(copy[0]) || end != copy + len || isnan(v) || (errno == ERANGE && (v == 0 || isinf(v))))
        return false;
    *value = v;
    return true;
}

/* ---------------------------------------------------------------- printing it */

/* inf, nan and small integers; 0 if it is none of them. */
static size_t print_simple(double value, char *out)
{
    if (isnan(value)) {
        memcpy(out, "nan", 3);
        return 3;
    }
    if (isinf(value)) {
        memcpy(out, value < 0 ? "-inf" : "inf", 4);
        return value < 0 ? 4 : 3;
    }
    if (fabs(value) < 1e17 && value == (double)(int64_t)value && !(value == 0 && signbit(value)))
        return caret_codec__print_i64((int64_t)value, out);
    return 0;
}

size_t caret_codec__print_double(double value, char out[CARET_CODEC__DOUBLE_ROOM])
{
    size_t n = print_simple(value, out);

    return n > 0 ? n : (size_t)snprintf(out, CARET_CODEC__DOUBLE_ROOM, "%.17g", value);
}

size_t caret_codec__print_shortest(double value, char out[CARET_CODEC__DOUBLE_ROOM])
{
    size_t n = print_simple(value, out);

    for (int digits = 15; n == 0; digits++) {
        int len = snprintf(out, CARET_CODEC__DOUBLE_ROOM, "%.*g", digits, value);
        if (digits == 17 || strtod(out, NULL) == value)
            n = (size_t)len;
    }
    return n;
}

size_t caret_codec__print_human(long double value, char out[CARET_CODEC__HUMAN_ROOM])
{
    size_t n;

    if (isnan(value) || isinf(value))
        return print_simple((double)value, out);
    n = (size_t)snprintf(out, CARET_CODEC__HUMAN_ROOM, "%.17Lf", value);
    while (out[n - 1] == '0')
        n--;
    if (out[n - 1] == '.')
        n--;
    if (n == 2 && out[0] == '-' && out[1] == '0') {
        out[0] = '0';
        n = 1;
    }
    return n;
}
