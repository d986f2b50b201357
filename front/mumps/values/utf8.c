/*
 * utf8.c - characters of UTF-8 for M's UTF-8 mode.
 */
#include <locale.h>
#include <pthread.h>
#include <wchar.h>
#include <wctype.h>

#include "m/text.h"
#include "mumps/values/values.h"

static size_t size_at(const char *s, size_t n, size_t at)
{
    return (unsigned char)s[at] < 128 ? 1 : caret_m__character(s + at, n - at);
}

size_t caret_mumps__utf8_length(const char *s, size_t n, size_t *bad)
{
    size_t count = 0;

    *bad = 0;
    for (size_t at = 0; at < n; count++) {
        size_t size = size_at(s, n, at);
        if (size == 0 && *bad == 0)
            *bad = at + 1;
        at += size != 0 ? size : 1;
    }
    return count;
}

size_t caret_mumps__utf8_offset(const char *s, size_t n, size_t at, size_t nth)
{
    for (; nth > 0 && at < n; nth--) {
        size_t size = size_at(s, n, at);
        at += size != 0 ? size : 1;
    }
    return at < n ? at : n;
}

int32_t caret_mumps__utf8_code(const char *s, size_t n, size_t at, size_t *size)
{
    static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    int32_t code;

    *size = size_at(s, n, at);
    if (*size == 0) {
        *size = 1;
        return -1;
    }
    code = (unsigned char)s[at] & first[*size];
    for (size_t i = 1; i < *size; i++)
        code = code << 6 | ((unsigned char)s[at + i] & 0x3F);
    return code;
}

static locale_t unicode;

static void open_unicode(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static locale_t with_unicode(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_unicode);
    return unicode;
}

uint32_t caret_mumps__utf8_case(uint32_t code, int to)
{
    locale_t locale = with_unicode();

    if (locale == (locale_t)0)
        return code;
    return (uint32_t)(to == 0 ? towlower_l((wint_t)code, locale) : towupper_l((wint_t)code, locale));
}

bool caret_mumps__utf8_letter(uint32_t code)
{
    locale_t locale = with_unicode();

    return locale != (locale_t)0 && iswalpha_l((wint_t)code, locale);
}

int caret_mumps__utf8_width(uint32_t code)
{
    locale_t locale = with_unicode(), before;
    int width;

    if (locale == (locale_t)0)
        return 1;
    before = uselocale(locale);
    width = wcwidth((wchar_t)code);
    uselocale(before);
    return width;
}
