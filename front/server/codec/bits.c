/*
 * bits.c - counting and searching eight bytes at a time; fields through one window of nine bytes.
 */
#include "server/codec/bits.h"

#include <string.h>

#include "server/codec/number.h"

/* ---------------------------------------------------------------- ranges */

/* Eight bytes, in whatever order. */
static uint64_t load(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The ones of n words, at most 31: each byte of the sum counts those of its column. */
static uint64_t ones(const uint8_t *bytes, uint64_t n)
{
    const uint64_t pairs = 0x5555555555555555, fours = 0x3333333333333333, eights = 0x0f0f0f0f0f0f0f0f;
    const uint64_t halves = 0x00ff00ff00ff00ff;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = load(bytes + 8 * i);
        v -= v >> 1 & pairs;
        v = (v & fours) + (v >> 2 & fours);
        sum += (v + (v >> 4)) & eights;
    }
    sum = (sum & halves) + (sum >> 8 & halves);
    return sum * 0x0001000100010001 >> 48;
}

/* One byte without its bits before `from` and from `to` on; the byte begins at bit 8 * i. */
static unsigned byte_within(const uint8_t *bytes, uint64_t i, uint64_t from, uint64_t to)
{
    unsigned byte = bytes[i];

    if (8 * i < from)
        byte &= 0xffU >> (from - 8 * i);
    if (8 * i + 8 > to)
        byte &= 0xffU << (8 * i + 8 - to);
    return byte & 0xff;
}

uint64_t caret_codec__bits_count(const uint8_t *bytes, uint64_t from, uint64_t to)
{
    uint64_t i = from / 8, last = to == 0 ? 0 : (to - 1) / 8, n = 0;

    if (from >= to)
        return 0;
    n = (uint64_t)__builtin_popcount(byte_within(bytes, i, from, to));
    if (i == last)
        return n;
    for (i++; i + 8 <= last;) {
        uint64_t words = (last - i) / 8;
        words = words > 31 ? 31 : words;
        n += ones(bytes + i, words);
        i += 8 * words;
    }
    for (; i <= last; i++)
        n += (uint64_t)__builtin_popcount(byte_within(bytes, i, from, to));
    return n;
}

int64_t caret_codec__bits_find(const uint8_t *bytes, uint64_t from, uint64_t to, bool bit)
{
    uint64_t skip = bit ? 0 : UINT64_MAX, at = from;

    while (at < to) {
        if (at % 8 == 0 && to - at >= 64 && load(bytes + at / 8) == skip) {
            at += 64;
        } else {
            unsigned byte = bytes[at / 8] ^ (bit ? 0 : 0xffU);
            byte &= 0xffU >> at % 8;
            if (byte != 0) {
                at = at / 8 * 8 + (unsigned)__builtin_clz(byte << 24);
                return at < to ? (int64_t)at : -1;
            }
            at = at / 8 * 8 + 8;
        }
    }
    return -1;
}

/* ---------------------------------------------------------------- strings */

static void combine_one(enum caret_codec__bits_operation operation, uint8_t *out, const uint8_t *bytes,
                        size_t n_bytes)
{
    switch (operation) {
    case CARET_CODEC__AND:
        for (size_t i = 0; i < n_bytes; i++)
            out[i] &= bytes[i];
        break;
    case CARET_CODEC__OR:
        for (size_t i = 0; i < n_bytes; i++)
            out[i] |= bytes[i];
        break;
    case CARET_CODEC__XOR:
        for (size_t i = 0; i < n_bytes; i++)
            out[i] ^= bytes[i];
        break;
    case CARET_CODEC__NOT: break;
    }
}

/* Blocks stay in the nearest cache while all strings are read; a block is copied before out may be overwritten. */
void caret_codec__bits_combine(enum caret_codec__bits_operation operation,
                               const struct caret_codec__bytes *strings, size_t n, uint8_t *out,
                               size_t n_bytes)
{
    uint8_t block[1024];

    for (size_t at = 0; at < n_bytes; at += sizeof block) {
        size_t wanted = n_bytes - at < sizeof block ? n_bytes - at : sizeof block;
        for (size_t i = 0; i < n; i++) {
            const struct caret_codec__bytes *s = &strings[i];
            size_t here = s->n_bytes <= at ? 0 : s->n_bytes - at < wanted ? s->n_bytes - at : wanted;
            if (i > 0)
                combine_one(operation, block, s->bytes + (here > 0 ? at : 0), here);
            else if (here > 0)
                memcpy(block, s->bytes + at, here);
            if (i == 0 || operation == CARET_CODEC__AND)
                memset(block + here, 0, wanted - here);
        }
        for (size_t i = 0; operation == CARET_CODEC__NOT && i < wanted; i++)
            block[i] = (uint8_t)~block[i];
        memcpy(out + at, block, wanted);
    }
}

/* ---------------------------------------------------------------- fields */

bool caret_codec__field_parse(const char *text, size_t len, struct caret_codec__field *field)
{
    int64_t width;

    if (len < 2 || (text[0] != 'u' && text[0] != 'i') || !caret_codec__parse_i64(text + 1, len - 1, &width))
        return false;
    field->is_signed = text[0] == 'i';
    field->width = (unsigned)width;
    return width >= 1 && width <= (field->is_signed ? 64 : 63);
}

static uint64_t mask_of(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

int64_t caret_codec__field_get(const uint8_t *bytes, size_t n_bytes, uint64_t at,
                               struct caret_codec__field field)
{
    uint64_t first = at / 8, v = 0;
    unsigned skip = (unsigned)(at % 8), last = (skip + field.width - 1) / 8; /* of up to nine bytes */

    for (unsigned i = 0; i <= last; i++) {
        unsigned byte = first + i < n_bytes ? bytes[first + i] : 0;
        unsigned wanted = 8 * i + 8 <= skip + field.width ? 8 : (skip + field.width) % 8;
        v = v << wanted | byte >> (8 - wanted);
    }
    v &= mask_of(field.width);
    if (field.is_signed && field.width < 64 && v >> (field.width - 1) != 0)
        v |= ~mask_of(field.width);
    return (int64_t)v;
}

void caret_codec__field_put(uint8_t *bytes, uint64_t at, struct caret_codec__field field, int64_t value)
{
    uint64_t end = at + field.width, v = (uint64_t)value;

    while (end > at) { /* byte by byte from the end */
        uint64_t byte = (end - 1) / 8;
        unsigned low = (unsigned)(8 * byte + 8 - end); /* bits after the field */
        unsigned n = byte == at / 8 ? (unsigned)(end - at) : 8 - low;
        unsigned mask = (unsigned)mask_of(n) << low;
        bytes[byte] = (uint8_t)((bytes[byte] & ~mask) | ((unsigned)(v << low) & mask));
        v >>= n;
        end -= n;
    }
}

/* -1: below what the field can hold, 1: above. */
static int side(struct caret_codec__field field, int64_t value, int64_t increment)
{
    uint64_t bits = (uint64_t)value;

    if (!field.is_signed) {
        uint64_t max = mask_of(field.width);
        if (bits > max || (increment > 0 && (uint64_t)increment > max - bits))
            return 1;
        return increment < 0 && increment < -value ? -1 : 0;
    }
    int64_t max = (int64_t)(mask_of(field.width) >> 1), min = -max - 1;
    int64_t room = (int64_t)((uint64_t)max - bits), depth = (int64_t)((uint64_t)min - bits);
    if (value > max || ((field.width != 64 || (value >= 0 && increment > 0)) && increment > room))
        return 1;
    return value < min || ((field.width != 64 || (value < 0 && increment < 0)) && increment < depth) ? -1 : 0;
}

/* The largest or smallest value of the field. */
static int64_t end_of(struct caret_codec__field field, int which)
{
    int64_t max = (int64_t)(mask_of(field.width) >> (field.is_signed ? 1 : 0));

    return which > 0 ? max : field.is_signed ? -max - 1 : 0;
}

bool caret_codec__field_add(struct caret_codec__field field, int64_t value, int64_t increment,
                            enum caret_codec__overflow mode, int64_t *sum)
{
    int out = side(field, value, increment);
    uint8_t bytes[8] = {0};

    if (out != 0 && mode == CARET_CODEC__FAIL)
        return false;
    if (out != 0 && mode == CARET_CODEC__SAT) {
        *sum = end_of(field, out);
    } else { /* the low bits, as the field would keep them */
        caret_codec__field_put(bytes, 0, field, (int64_t)((uint64_t)value + (uint64_t)increment));
        *sum = caret_codec__field_get(bytes, sizeof bytes, 0, field);
    }
    return true;
}
