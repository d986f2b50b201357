/*
 * number.c - texts as integers.
 */
#include "m/number.h"

int64_t caret_m__integer(const char *text, size_t len)
{
    struct caret__dec number, whole;
    int64_t v;

    if (caret_m__number(text, len, &number) != 0) { /* too large, of either sign */
        size_t i = 0, minuses = 0;
        for (; i < len && (text[i] == '-' || text[i] == '+'); i++)
            minuses += text[i] == '-';
        return minuses % 2 != 0 ? INT64_MIN : INT64_MAX;
    }
    if (caret__dec_idiv(CARET_M__RULES, number, caret__dec_from_int(1), &whole) == CARET__DEC_OK &&
        caret__dec_to_int(whole, &v))
        return v;
    return number.negative ? INT64_MIN : INT64_MAX;
}

int caret_m__sum(caret_slice value, caret_slice by, char *sum, size_t *len)
{
    struct caret__dec a, b;
    int code = caret_m__number(value.data, value.len, &a);

    if (code == 0)
        code = caret_m__number(by.data, by.len, &b);
    if (code == 0)
        code = caret_m__outcome(caret__dec_add(CARET_M__RULES, a, b, &a));
    if (code == 0)
        *len = caret__dec_format(a, sum);
    return code;
}
