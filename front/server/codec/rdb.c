/*
 * rdb.c - values as Redis writes them: rdb.h.
 */
#include "server/codec/rdb.h"

#include <math.h>
#include <string.h>

#include "server/codec/digest.h"
#include "server/codec/number.h"

enum { PACKED_RATIO = 300 }; /* LZF makes at most 264 bytes of 3 */

static uint64_t little(const uint8_t *at, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = n; i-- > 0;)
        v = v << 8 | at[i];
    return v;
}

static void put_little(uint8_t *out, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        out[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t big(const uint8_t *at, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | at[i];
    return v;
}

/* The low `n` bytes as a number with a sign. */
static int64_t with_sign(uint64_t v, unsigned n)
{
    unsigned spare = 64 - 8 * n;
    return n >= 8 ? (int64_t)v : (int64_t)(v << spare) >> spare;
}

/* The next bytes; NULL: they are not there. */
static const uint8_t *take(struct caret_codec__reader *r, size_t n)
{
    const uint8_t *at = caret_codec__get_raw(r, n);
    return r->bad ? NULL : at;
}

size_t caret_codec__rdb_length(uint8_t out[9], uint64_t n)
{
    unsigned bytes = n < 64 ? 0 : n < 16384 ? 1 : n <= UINT32_MAX ? 4 : 8;
    out[0] = (uint8_t)(bytes == 0 ? n : bytes == 1 ? 0x40 | n >> 8 : bytes == 4 ? 0x80 : 0x81);
    for (unsigned i = 0; i < bytes; i++)
        out[1 + i] = (uint8_t)(n >> 8 * (bytes - 1 - i));
    return 1 + bytes;
}

void caret_codec__rdb_seal(uint8_t tail[CARET_CODEC__RDB_TAIL], const uint8_t *bytes, size_t len)
{
    tail[0] = CARET_CODEC__RDB_VERSION;
    tail[1] = 0;
    uint64_t crc = caret_codec__crc64(caret_codec__crc64(0, bytes, len), tail, 2);
    put_little(tail + 2, crc, 8);
}

bool caret_codec__rdb_open(const uint8_t *bytes, size_t len, struct caret_codec__reader *r)
{
    if (len < CARET_CODEC__RDB_TAIL)
        return false;
    const uint8_t *tail = bytes + len - CARET_CODEC__RDB_TAIL;
    *r = (struct caret_codec__reader){bytes, tail, false};
    return little(tail, 2) <= CARET_CODEC__RDB_VERSION &&
           little(tail + 2, 8) == caret_codec__crc64(0, bytes, len - 8);
}

/* A length, or *form of a text that is not one. */
static uint64_t get_length(struct caret_codec__reader *r, int *form)
{
    const uint8_t *at = take(r, 1);
    if (form != NULL)
        *form = -1;
    if (at == NULL)
        return 0;
    unsigned first = at[0];
    if (first < 0x40)
        return first;
    if (first < 0x80)
        return (at = take(r, 1)) != NULL ? (first & 63u) << 8 | at[0] : 0;
    if (first == 0x80 || first == 0x81) {
        unsigned n = first == 0x80 ? 4 : 8;
        return (at = take(r, n)) != NULL ? big(at, n) : 0;
    }
    if (first >= 0xc0 && first <= 0xc3 && form != NULL)
        *form = (int)(first & 3);
    else
        r->bad = true;
    return 0;
}

uint64_t caret_codec__rdb_get_length(struct caret_codec__reader *r)
{
    return get_length(r, NULL);
}

double caret_codec__rdb_get_double(struct caret_codec__reader *r)
{
    const uint8_t *at = take(r, 8);
    uint64_t bits = at != NULL ? little(at, 8) : 0;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

double caret_codec__rdb_get_score(struct caret_codec__reader *r)
{
    const uint8_t *at = take(r, 1);
    unsigned len = at != NULL ? at[0] : 0;
    double d = 0;
    if (len >= 253)
        return len == 253 ? (double)NAN : len == 254 ? (double)INFINITY : -(double)INFINITY;
    at = take(r, len);
    if (at == NULL || !caret_codec__parse_double((const char *)at, len, &d))
        r->bad = true;
    return d;
}

static struct caret_codec__rdb_text digits_of(int64_t n)
{
    struct caret_codec__rdb_text t = {.is_digits = true};
    t.len = caret_codec__print_i64(n, t.digits);
    return t;
}

static struct caret_codec__rdb_text bytes_of(struct caret_codec__reader *r, uint64_t len)
{
    struct caret_codec__rdb_text t = {.len = (size_t)len};
    t.bytes = take(r, (size_t)len);
    if (r->bad)
        t.len = 0;
    return t;
}

static struct caret_codec__rdb_text integer_of(struct caret_codec__reader *r, unsigned n)
{
    const uint8_t *at = take(r, n);
    return digits_of(at != NULL ? with_sign(little(at, n), n) : 0);
}

struct caret_codec__rdb_text caret_codec__rdb_get_text(struct caret_codec__reader *r)
{
    int form;
    uint64_t len = get_length(r, &form);
    if (form < 0)
        return bytes_of(r, len);
    if (form < 3)
        return integer_of(r, 1u << form);
    uint64_t packed = caret_codec__rdb_get_length(r);
    len = caret_codec__rdb_get_length(r);
    struct caret_codec__rdb_text t = bytes_of(r, packed);
    t.packed = t.len;
    t.len = (size_t)len;
    if (t.packed == 0 || len / PACKED_RATIO > t.packed) {
        r->bad = true;
        return (struct caret_codec__rdb_text){.len = 0};
    }
    return t;
}

/* 000nnnnn: n + 1 bytes follow.  nnnddddd dddddddd: n + 2 bytes from d + 1 bytes back; n 7: a byte more of n is
 * between. */
bool caret_codec__lzf_unpack(const uint8_t *packed, size_t packed_len, uint8_t *out, size_t len)
{
    size_t i = 0, o = 0;
    while (i < packed_len) {
        size_t n = packed[i] >> 5, back = (size_t)(packed[i] & 31) << 8;
        if (n == 0) {
            n = (size_t)(packed[i++] & 31) + 1;
            if (n > packed_len - i || n > len - o)
                return false;
            memcpy(out + o, packed + i, n);
            i += n;
            o += n;
            continue;
        }
        i++;
        if (n == 7)
            n += i < packed_len ? packed[i++] : 0;
        n += 2;
        if (i >= packed_len || (back += (size_t)packed[i++] + 1) > o || n > len - o)
            return false;
        for (; n > 0; n--, o++)
            out[o] = out[o - back];
    }
    return o == len;
}

/* -------------------------------------------------------------- listpacks */

void caret_codec__listpack_begin(struct caret_codec__reader *r, const uint8_t *bytes, size_t len)
{
    *r = (struct caret_codec__reader){bytes, bytes + len, false};
    const uint8_t *at = take(r, 6);
    if (at == NULL || little(at, 4) != len || bytes[len - 1] != 0xff)
        r->bad = true;
}

/* Of integers of the forms F1 to F4. */
static const uint8_t widths[] = {2, 3, 4, 8};

size_t caret_codec__listpack_back(size_t len)
{
    return len < 128 ? 1 : len < 16383 ? 2 : len < 2097151 ? 3 : len < 268435455 ? 4 : 5;
}

/* What the first byte, and those that it asks for, say of an element. */
static struct caret_codec__rdb_text element(struct caret_codec__reader *r, unsigned first)
{
    const uint8_t *at;
    if (first < 0x80)
        return digits_of(first);
    if (first < 0xc0)
        return bytes_of(r, first & 63);
    if (first < 0xf0) {
        at = take(r, 1);
        uint64_t low = at != NULL ? at[0] : 0;
        return first < 0xe0 ? digits_of((int64_t)((uint64_t)(first & 31) << 59 | low << 51) >> 51)
                            : bytes_of(r, (uint64_t)(first & 15) << 8 | low);
    }
    if (first == 0xf0) {
        at = take(r, 4);
        return bytes_of(r, at != NULL ? little(at, 4) : 0);
    }
    if (first <= 0xf4)
        return integer_of(r, widths[first - 0xf1]);
    r->bad = true;
    return (struct caret_codec__rdb_text){.len = 0};
}

bool caret_codec__listpack_next(struct caret_codec__reader *r, struct caret_codec__rdb_text *text)
{
    const uint8_t *begin = take(r, 1);
    *text = (struct caret_codec__rdb_text){.len = 0};
    if (begin == NULL || begin[0] == 0xff) {
        r->bad |= begin == NULL || r->at != r->end;
        return false;
    }
    *text = element(r, begin[0]);
    size_t len = r->bad ? 0 : (size_t)(r->at - begin);
    take(r, caret_codec__listpack_back(len));
    return !r->bad;
}

size_t caret_codec__listpack_head(uint8_t out[CARET_CODEC__LISTPACK_HEAD], size_t len, uint64_t n)
{
    put_little(out, len, 4);
    put_little(out + 4, n < UINT16_MAX ? n : UINT16_MAX, 2); /* the greatest: to be counted */
    return CARET_CODEC__LISTPACK_HEAD;
}

size_t caret_codec__listpack_before(uint8_t out[5], size_t len)
{
    if (len < 64) {
        out[0] = (uint8_t)(0x80 | len);
        return 1;
    }
    if (len < 4096) {
        out[0] = (uint8_t)(0xe0 | len >> 8);
        out[1] = (uint8_t)len;
        return 2;
    }
    out[0] = 0xf0;
    put_little(out + 1, len, 4);
    return 5;
}

/* 7 bits a byte, the high ones first; all but the first byte have their top bit set. */
size_t caret_codec__listpack_after(uint8_t out[5], size_t len)
{
    size_t n = caret_codec__listpack_back(len);
    for (size_t i = n; i-- > 0; len >>= 7)
        out[i] = (uint8_t)((len & 127) | (i > 0 ? 128 : 0));
    return n;
}

/* An integer without what comes after it. */
static size_t put_integer(uint8_t *out, int64_t n)
{
    if (n >= 0 && n <= 127) {
        out[0] = (uint8_t)n;
        return 1;
    }
    if (n >= -4096 && n <= 4095) {
        out[0] = (uint8_t)(0xc0 | ((uint64_t)n >> 8 & 31));
        out[1] = (uint8_t)n;
        return 2;
    }
    unsigned form = n >= INT16_MIN && n <= INT16_MAX   ? 1
                    : n >= -(1 << 23) && n < 1 << 23   ? 2
                    : n >= INT32_MIN && n <= INT32_MAX ? 3
                                                       : 4;
    out[0] = (uint8_t)(0xf0 | form);
    put_little(out + 1, (uint64_t)n, widths[form - 1]);
    return 1u + widths[form - 1];
}

size_t caret_codec__listpack_integer(uint8_t out[CARET_CODEC__LISTPACK_ROOM], int64_t n)
{
    size_t len = put_integer(out, n);
    return len + caret_codec__listpack_after(out + len, len);
}

/* --------------------------------------------------------------- integers */

bool caret_codec__intset_count(const uint8_t *bytes, size_t len, uint64_t *n)
{
    uint64_t width = len >= 8 ? little(bytes, 4) : 0;
    *n = len >= 8 ? little(bytes + 4, 4) : 0;
    return (width == 2 || width == 4 || width == 8) && len == 8 + *n * width;
}

int64_t caret_codec__intset_at(const uint8_t *bytes, uint64_t i)
{
    unsigned width = bytes[0];
    return with_sign(little(bytes + 8 + i * width, width), width);
}
