/*
 * version.c - what lets a program and a library of different versions meet.
 *
 * Structs that programs fill in begin with their size, as the program knows it.  The library copies as much of
 * one as there is into its own, which is zeroed: options that the program does not know are 0, as if it had not
 * chosen.  Of options that the library does not know none may be chosen.  Numbers it gives are cut the same way.
 *
 *     program, older     | size | a | b |              its b is the last there is
 *     library, newer     | size | a | b | c = 0 |
 *
 *     program, newer     | size | a | b | c | d |      d must be 0, or is answered 0
 *     library, older     | size | a | b | c |
 */
#include "api/session.h"

#define STRUCT_MOST    4096u /* bytes; above it the size was never set */

#define TEXT_OF(x)     #x
#define TEXT(x)        TEXT_OF(x)
#define VERSION_DOTTED TEXT(CARET_VERSION_MAJOR) "." TEXT(CARET_VERSION_MINOR) "." TEXT(CARET_VERSION_PATCH)

_Static_assert(sizeof VERSION_DOTTED == sizeof CARET_VERSION, "one version");

const char *caret_version(void)
{
    return VERSION_DOTTED;
}

unsigned caret_version_number(void)
{
    return CARET_VERSION_NUMBER;
}

int caret__struct_check(const char *function, const char *what, const void *given, size_t own)
{
    size_t size = *(const size_t *)given;

    if (size >= sizeof size && size <= STRUCT_MOST)
        return CARET_OK;
    return caret__fail(
        CARET_E_INVALID,
        "%s: %s size is %zu; the sizeof of the struct is expected, %zu in this version (zero the "
        "struct first)",
        function, what, size, own);
}

int caret__struct_take(const char *function, void *own, size_t own_size, const void *given)
{
    int rc = caret__struct_check(function, "option", given, own_size);
    if (rc != CARET_OK)
        return rc;

    size_t size = *(const size_t *)given;
    for (size_t i = own_size; i < size; i++)
        if (((const uint8_t *)given)[i] != 0)
            return caret__fail(CARET_E_INVALID,
                               "%s: an option is set that version " CARET_VERSION
                               " does not know (in byte %zu of %zu; it knows %zu)",
                               function, i, size, own_size);
    memset(own, 0, own_size);
    memcpy(own, given, caret__min(size, own_size));
    return CARET_OK;
}

void caret__struct_give(void *to, const void *own, size_t own_size)
{
    size_t size = *(const size_t *)to;
    uint8_t *bytes = to;

    for (size_t i = sizeof size; i < size; i++)
        bytes[i] = i < own_size ? ((const uint8_t *)own)[i] : 0;
}
