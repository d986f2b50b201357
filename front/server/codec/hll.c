/*
 * hll.c - HyperLogLog with 2^14 registers: the values.  hll_estimate.c computes what they say.
 *
 * An element's hash gives a register (its low 14 bits) and a rank: the number of zeros before the first 1 in the
 * other 50 bits, and 1; a register keeps the largest rank it saw (Flajolet, Fusy, Gandouet and Meunier, 2007).
 *
 * Sparse values have to be those of Redis byte for byte, so the way to change them is part of the format.  Raising
 * register i:
 *
 *   1. The run with i is looked for from the front.  If its value is as large already, nothing happens.
 *   2. A run of one register is replaced.  A longer one is split in up to three runs: before i, i, after i.
 *   3. If the value becomes longer than sparse_max by that, or the rank is above 32, it becomes dense instead.
 *   4. From the run before, five runs are looked at: neighbours of the same value, which together have at most four
 *      registers, become one.
 */
#include "server/codec/hll.h"

#include <string.h>

#include "server/codec/digest.h"

enum { RUN_ZERO = 64, RUN_TWO_BYTES = 16384, RUN_VALUE = 4, VALUE_MAX = 32, MERGED = 5 };

#define HEADER    CARET_CODEC__HLL_HEADER
#define REGISTERS CARET_CODEC__HLL_REGISTERS
#define SEED      0xadc83b19

static uint8_t *registers_of(struct caret_codec__hll *hll)
{
    return hll->bytes + HEADER;
}

bool caret_codec__hll_is(const uint8_t *bytes, size_t len)
{
    if (len < HEADER || memcmp(bytes, "HYLL", 4) != 0)
        return false;
    if (bytes[4] == 0)
        return len == CARET_CODEC__HLL_DENSE_LEN;
    return bytes[4] == 1 && len <= CARET_CODEC__HLL_LONGEST;
}

bool caret_codec__hll_is_dense(const uint8_t *bytes)
{
    return bytes[4] == 0;
}

void caret_codec__hll_touch(struct caret_codec__hll *hll)
{
    hll->bytes[15] |= 0x80;
}

/* ---------------------------------------------------------------- dense */

static unsigned dense_get(const uint8_t *registers, unsigned i)
{
    unsigned byte = i * 6 / 8, shift = i * 6 % 8, v = registers[byte] >> shift;

    if (shift > 2)
        v |= (unsigned)registers[byte + 1] << (8 - shift);
    return v & 63;
}

static void dense_put(uint8_t *registers, unsigned i, unsigned value)
{
    unsigned byte = i * 6 / 8, shift = i * 6 % 8;

    registers[byte] = (uint8_t)((registers[byte] & ~(63U << shift)) | value << shift);
    if (shift > 2)
        registers[byte + 1] = (uint8_t)((registers[byte + 1] & ~(63U >> (8 - shift))) | value >> (8 - shift));
}

static int dense_raise(uint8_t *registers, unsigned i, unsigned rank)
{
    if (dense_get(registers, i) >= rank)
        return 0;
    dense_put(registers, i, rank);
    return 1;
}

/* ---------------------------------------------------------------- runs */

bool caret_codec__hll_run(const uint8_t *bytes, size_t len, size_t *at, struct caret_codec__hll_run *run)
{
    if (*at >= len)
        return false;
    unsigned first = bytes[(*at)++];
    run->two_bytes = (first & 0xc0) == 0x40;
    run->value = first & 0x80 ? (first >> 2 & 31) + 1 : 0;
    run->registers = (first & (first & 0x80 ? 3 : 63)) + 1;
    if (run->two_bytes) {
        if (*at >= len)
            return false;
        run->registers = ((first & 63) << 8 | bytes[(*at)++]) + 1;
    }
    return true;
}

static size_t put_zeros(uint8_t *out, unsigned registers)
{
    if (registers == 0)
        return 0;
    if (registers <= RUN_ZERO) {
        out[0] = (uint8_t)(registers - 1);
        return 1;
    }
    out[0] = (uint8_t)(0x40 | (registers - 1) >> 8);
    out[1] = (uint8_t)(registers - 1);
    return 2;
}

static size_t put_values(uint8_t *out, unsigned value, unsigned registers)
{
    if (registers == 0)
        return 0;
    out[0] = (uint8_t)(0x80 | (value - 1) << 2 | (registers - 1));
    return 1;
}

static size_t put_run(uint8_t *out, unsigned value, unsigned registers)
{
    return value == 0 ? put_zeros(out, registers) : put_values(out, value, registers);
}

void caret_codec__hll_create(struct caret_codec__hll *hll)
{
    memset(hll->bytes, 0, HEADER);
    memcpy(hll->bytes, "HYLL\1", 5);
    hll->len = HEADER + put_zeros(registers_of(hll), REGISTERS);
}

/* ---------------------------------------------------------------- sparse: raise a register */

struct place {
    size_t before; /* where the run before it begins, or the first run */
    size_t at, end;
    unsigned first; /* its first register */
    struct caret_codec__hll_run run;
};

/* Step 1; false: the runs end before register i. */
static bool find(const struct caret_codec__hll *hll, unsigned i, struct place *place)
{
    size_t next = HEADER;

    place->at = HEADER;
    for (place->first = 0;; place->first += place->run.registers) {
        place->before = place->at;
        place->at = next;
        if (!caret_codec__hll_run(hll->bytes, hll->len, &next, &place->run))
            return false;
        if (i < place->first + place->run.registers)
            break;
    }
    place->end = next;
    return place->first + place->run.registers <= REGISTERS;
}

/* Step 4. */
static void join(struct caret_codec__hll *hll, size_t at)
{
    for (int left = MERGED; left > 0 && at < hll->len; left--) {
        struct caret_codec__hll_run one, two;
        size_t second = at, end;
        if (!caret_codec__hll_run(hll->bytes, hll->len, &second, &one))
            return;
        end = second;
        if (one.value != 0 && caret_codec__hll_run(hll->bytes, hll->len, &end, &two) &&
            one.value == two.value && one.registers + two.registers <= RUN_VALUE) {
            put_values(hll->bytes + at, one.value, one.registers + two.registers);
            memmove(hll->bytes + second, hll->bytes + end, hll->len - end);
            hll->len -= end - second;
        } else {
            at = second;
        }
    }
}

static int become_dense(struct caret_codec__hll *hll, unsigned i, unsigned rank)
{
    if (!caret_codec__hll_to_dense(hll))
        return -1;
    return dense_raise(registers_of(hll), i, rank);
}

static int sparse_raise(struct caret_codec__hll *hll, unsigned i, unsigned rank)
{
    struct place place;
    uint8_t runs[5];
    size_t n, old;

    if (rank > VALUE_MAX)
        return become_dense(hll, i, rank);
    if (!find(hll, i, &place))
        return -1;
    if (place.run.value >= rank)
        return 0;
    n = put_run(runs, place.run.value, i - place.first);
    n += put_values(runs + n, rank, 1);
    n += put_run(runs + n, place.run.value, place.first + place.run.registers - 1 - i);
    old = place.end - place.at;
    if (n > old && (hll->len + n - old > hll->sparse_max || hll->len + n - old > CARET_CODEC__HLL_ROOM))
        return become_dense(hll, i, rank);
    memmove(hll->bytes + place.at + n, hll->bytes + place.end, hll->len - place.end);
    memcpy(hll->bytes + place.at, runs, n);
    hll->len = hll->len + n - old;
    join(hll, place.before);
    return 1;
}

/* ---------------------------------------------------------------- both */

static int raise_register(struct caret_codec__hll *hll, unsigned i, unsigned rank)
{
    return caret_codec__hll_is_dense(hll->bytes) ? dense_raise(registers_of(hll), i, rank)
                                                 : sparse_raise(hll, i, rank);
}

int caret_codec__hll_add(struct caret_codec__hll *hll, const void *element, size_t len)
{
    uint64_t hash = caret_codec__murmur64a(element, len, SEED);
    uint64_t rest = hash >> 14 | (uint64_t)1 << 50; /* so that there is a 1 */
    int changed = raise_register(hll, hash % REGISTERS, (unsigned)__builtin_ctzll(rest) + 1);

    if (changed == 1)
        caret_codec__hll_touch(hll);
    return changed;
}

bool caret_codec__hll_merge(uint8_t registers[CARET_CODEC__HLL_REGISTERS], const uint8_t *bytes, size_t len)
{
    struct caret_codec__hll_run run;
    unsigned i = 0;
    size_t at = HEADER;

    if (caret_codec__hll_is_dense(bytes)) {
        for (; i < REGISTERS; i++) {
            unsigned v = dense_get(bytes + HEADER, i);
            registers[i] = (uint8_t)(v > registers[i] ? v : registers[i]);
        }
        return true;
    }
    while (at < len) {
        if (!caret_codec__hll_run(bytes, len, &at, &run) || i + run.registers > REGISTERS)
            return false;
        for (unsigned end = i + run.registers; i < end; i++)
            if (registers[i] < run.value)
                registers[i] = (uint8_t)run.value;
    }
    return i == REGISTERS;
}

bool caret_codec__hll_to_dense(struct caret_codec__hll *hll)
{
    uint8_t registers[REGISTERS] = {0};

    if (caret_codec__hll_is_dense(hll->bytes))
        return true;
    if (!caret_codec__hll_merge(registers, hll->bytes, hll->len))
        return false;
    hll->len = CARET_CODEC__HLL_DENSE_LEN;
    hll->bytes[4] = 0;
    memset(registers_of(hll), 0, hll->len - HEADER);
    for (unsigned i = 0; i < REGISTERS; i++)
        dense_put(registers_of(hll), i, registers[i]);
    return true;
}

bool caret_codec__hll_raise(struct caret_codec__hll *hll, const uint8_t registers[CARET_CODEC__HLL_REGISTERS])
{
    for (unsigned i = 0; i < REGISTERS; i++)
        if (registers[i] != 0 && raise_register(hll, i, registers[i]) < 0)
            return false;
    caret_codec__hll_touch(hll);
    return true;
}

bool caret_codec__hll_count(struct caret_codec__hll *hll, uint64_t *count, bool *changed)
{
    uint8_t registers[REGISTERS] = {0};

    *changed = (hll->bytes[15] & 0x80) != 0;
    if (*changed) {
        if (!caret_codec__hll_merge(registers, hll->bytes, hll->len))
            return false;
        *count = caret_codec__hll_estimate(registers);
        for (int i = 0; i < 8; i++)
            hll->bytes[8 + i] = (uint8_t)(*count >> (8 * i));
        return true;
    }
    *count = 0;
    for (int i = 0; i < 8; i++)
        *count |= (uint64_t)hll->bytes[8 + i] << (8 * i);
    return true;
}
