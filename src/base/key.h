/*
 * key.h - encoded keys: byte strings whose memcmp order is the order of nodes.
 *
 *   key       := name 0x00 subscript*          (the name without its '^')
 *   subscript := 0x01                          the empty string
 *              | 0x80-k  (FF-b)* 0xFF          negative number, k = e + 22
 *              | 0x80                          zero
 *              | 0x80+k  b* 0x00               positive number
 *              | 0xFE    escaped bytes 0x00    string; 00 is written 01 01, 01 is written 01 02
 *
 * A number is 0.P1P2P3... * 100^e, P1 != 0, with pairs of decimal digits P from
 * 0 to 99 stored as b = P + 1; the last pair is never 0.  e is -21..24, so k is
 * 1..46 and the first bytes are 0x52..0x7F and 0x81..0xAE.
 *
 * What follows from it, and what the layers above rely on:
 *   - memcmp with the shorter prefix first is M collation, and a parent comes
 *     before its children;
 *   - no encoded subscript is a prefix of another, so a key that starts with the
 *     bytes of a node is that node or a descendant;
 *   - no subscript starts with 0xFF: [key, key 0xFF) is exactly the subtree;
 *   - one node has one key: a canonical number is never stored as a string.
 *
 * Decoders take any bytes (a key may come from a damaged file), never read
 * beyond n and answer "malformed".  Encoders may scribble over dst up to cap
 * after what they return, so that they can store words.
 */
#ifndef CARET_BASE_KEY_H
#define CARET_BASE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"

/* Most bytes of an encoded number. */
#define CARET__SUB_NUM_MAX 12u

enum {
    CARET__SUB_EMPTY = 0x01,
    CARET__SUB_LOWEST = 0x52, /* of numbers */
    CARET__SUB_ZERO = 0x80,
    CARET__SUB_HIGHEST = 0xAE,
    CARET__SUB_STRING = 0xFE,
    CARET__SUB_BEYOND = 0xFF /* greater than any subscript's first byte */
};

/* '%' or a letter, then letters and digits, 1..31 bytes; ASCII, whatever the locale. */
bool caret__name_valid(const char *name, size_t len);

/* Name and its 0x00; dst has room for len + 1.  Returns len + 1. */
size_t caret__key_put_name(uint8_t *dst, const char *name, size_t len);

/* From a key to the smallest string after it: a place (base/limits.h), in a buffer of CARET__PLACE_MAX bytes. */
static inline void caret__key_after(uint8_t *key, size_t *len)
{
    CARET__ASSERT_CMP(*len, <=, CARET__KEY_MAX);
    key[(*len)++] = 0;
}

/* Keys from lo on that are before hi. */
struct caret__span {
    const uint8_t *lo, *hi;
    size_t lo_len, hi_len;
};

/* All keys that begin with `key`: of a node, that one and all below it.  `end` is for the bound after them. */
static inline struct caret__span caret__span_below(const uint8_t *key, size_t len,
                                                   uint8_t end[CARET__PLACE_MAX])
{
    CARET__ASSERT_CMP(len, <=, CARET__KEY_MAX);
    memcpy(end, key, len);
    end[len] = CARET__SUB_BEYOND;
    return (struct caret__span){key, end, len, len + 1};
}

static inline bool caret__span_has(const struct caret__span *s, const uint8_t *key, size_t len)
{
    return caret__bytes_compare(key, len, s->lo, s->lo_len) >= 0 &&
           caret__bytes_compare(key, len, s->hi, s->hi_len) < 0;
}

/* Bytes that caret__sub_put() needs for sub. */
size_t caret__sub_size(const char *sub, size_t len);

/* Append a subscript given as text: a number if it is canonical, else a string.
 * Returns its encoded length, 0 if that is over cap (dst may be scribbled on). */
size_t caret__sub_put(uint8_t *dst, size_t cap, const char *sub, size_t len);

/* The same, as a string whatever it is, also the empty one.  Of a number's text no node has that subscript: it is a
 * bound, after all numbers. */
size_t caret__sub_put_string(uint8_t *dst, size_t cap, const char *sub, size_t len);

/* The same as caret__sub_put() of the integer's text, quicker.  An integer that is caret__sub_short() takes no
 * more than CARET__SUB_SHORT bytes, and needs no more room. */
#define CARET__SUB_SHORT 10u
static inline bool caret__sub_short(int64_t v)
{
    return (uint64_t)v + UINT64_C(9999999999999999) <= UINT64_C(19999999999999998);
}
size_t caret__sub_put_i64(uint8_t *dst, size_t cap, int64_t v);

/* Bytes of the encoded subscript at p, 0 = malformed.  Finds the end only;
 * it does not look at what is inside. */
size_t caret__sub_len(const uint8_t *p, size_t n);

/*
 * Do the n bytes at the front of `end`, 1 to 8 of them, complete a subscript of that type, and nothing more?  `before`
 * bytes of it come before them, the type first, which did not end it; 0: they begin with the type.  The word is
 * little-endian, and what is in it after the n bytes does not matter.  As caret__sub_len() says it: what ends a number
 * or a string comes at no other place in it.
 */
static inline __attribute__((always_inline)) bool caret__sub_ends(uint8_t type, uint64_t end, size_t n,
                                                                  size_t before)
{
    uint64_t w = type < CARET__SUB_ZERO ? ~end : end;
    uint64_t zero = (w - UINT64_C(0x0101010101010101)) & ~w & UINT64_C(0x8080808080808080);

    if (type != CARET__SUB_STRING && (type < CARET__SUB_LOWEST || type > CARET__SUB_HIGHEST ||
                                      type == CARET__SUB_ZERO || n + before > CARET__SUB_NUM_MAX))
        return false;
    return zero != 0 && (size_t)__builtin_ctzll(zero) / 8 == n - 1; /* the lowest flag is exact */
}

/* Decode the subscript at p.  *len is set to the needed length also when cap is
 * too small.  Bare codes: CARET_OK, CARET_E_BUFFER, CARET_E_CORRUPT. */
int caret__sub_get(const uint8_t *p, size_t n, char *buf, size_t cap, size_t *len, bool *is_number);

/* True and *out if the subscript at p is a number, an integer, and fits. */
bool caret__sub_get_i64(const uint8_t *p, size_t n, int64_t *out);

/* The same of integers from 1 to 99999999, which most are, at once and without a turn for each pair; false: it is none,
 * or nothing that caret__sub_put_i64() makes.  The subscript ends at n >= 3; five bytes of it can be read. */
bool caret__sub_get_small(const uint8_t *p, size_t n, int64_t *out);

/* Length of the name (without the 0x00) of a key, 0 = malformed. */
size_t caret__key_name_len(const uint8_t *key, size_t n);

/* Walk a key: number of subscripts, -1 if malformed.  *last_off (may be NULL) is
 * the offset of the last subscript, n if there is none. */
int caret__key_depth(const uint8_t *key, size_t n, size_t *last_off);

/* Is this a key that the encoders above could have made?  (All rules, length too.) */
bool caret__key_valid(const uint8_t *key, size_t n);

#endif
