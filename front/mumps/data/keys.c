/*
 * keys.c - what order.lua asks of subscripts that look like numbers.
 *
 * Pure functions.
 */
#include "base/decimal.h"
#include "base/number.h"
#include "mumps/data/data.h"

int caret_mumps__is_number(const char *text, size_t len)
{
    return caret__num_canonical(text, len);
}

int caret_mumps__key_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct caret__dec x, y;

    if (caret__dec_parse(CARET__EXACT38, a, a_len, &x, NULL) != CARET__DEC_OK ||
        caret__dec_parse(CARET__EXACT38, b, b_len, &y, NULL) != CARET__DEC_OK)
        return 0;
    return caret__dec_compare(x, y);
}
