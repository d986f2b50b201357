/*
 * crc32c.c - CRC-32C three ways: tables, SSE4.2, ARMv8.
 *
 * The instructions take 8 bytes per step but three cycles until the result can
 * be used.  Pages are therefore done in three lanes at once: with the message cut
 * in blocks A B C of LANE bytes each,
 *     state(A B C) = shift(shift(state(A)) ^ zero-state(B)) ^ zero-state(C)
 * where shift() advances a state over LANE zero bytes.  shift is linear in the 32
 * bits of the state, so four tables of 256 words do it.
 *
 * Inside, a state is the inverted crc, as the instructions want it.
 */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

/* x86-64 has the instruction since 2008; ARMv8 since 8.1 (before: optional). */
#if defined(__x86_64__)
#include <nmmintrin.h>
#define CRC_HW 1
#if defined(__clang__) &&                                                                                    \
    __clang_major__ >= 14 /* a feature of its own since then, part of the other in gcc */
#define CRC_TARGET __attribute__((target("sse4.2,crc32")))
#else
#define CRC_TARGET __attribute__((target("sse4.2")))
#endif
#define CRC_STEP64(c, v) ((uint32_t)_mm_crc32_u64((c), (v)))
#define CRC_STEP8(c, v)  _mm_crc32_u8((c), (v))
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define CRC_HW 1
#if defined(__clang__)
#define CRC_TARGET __attribute__((target("crc")))
#else
#define CRC_TARGET __attribute__((target("+crc")))
#endif
#define CRC_STEP64(c, v) __crc32cd((c), (v))
#define CRC_STEP8(c, v)  __crc32cb((c), (v))
#else
#define CRC_HW 0
#endif

/* The polynomial, bits reversed. */
#define POLY 0x82F63B78u

/* tables[k][b]: state after byte b and k zero bytes. */
static uint32_t tables[8][256];
static atomic_bool tables_ready;

/* Two threads may both fill them: they store the same words, atomically. */
static void fill_tables(void)
{
    for (unsigned b = 0; b < 256; b++) {
        uint32_t c = b;

        for (int k = 0; k < 8; k++)
            c = (c >> 1) ^ (c & 1 ? POLY : 0);
        __atomic_store_n(&tables[0][b], c, __ATOMIC_RELAXED);
    }
    for (unsigned b = 0; b < 256; b++) {
        uint32_t c = tables[0][b];

        for (int k = 1; k < 8; k++) {
            c = (c >> 8) ^ tables[0][c & 0xFF];
            __atomic_store_n(&tables[k][b], c, __ATOMIC_RELAXED);
        }
    }
    atomic_store_explicit(&tables_ready, true, memory_order_release);
}

static uint32_t step8_table(uint32_t c, const uint8_t *p)
{
    uint64_t v = caret__le64(p) ^ c;

    return tables[7][v & 0xFF] ^ tables[6][v >> 8 & 0xFF] ^ tables[5][v >> 16 & 0xFF] ^
           tables[4][v >> 24 & 0xFF] ^ tables[3][v >> 32 & 0xFF] ^ tables[2][v >> 40 & 0xFF] ^
           tables[1][v >> 48 & 0xFF] ^ tables[0][v >> 56];
}

uint32_t caret__crc32c_portable(uint32_t seed, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t c = ~seed;

    if (!atomic_load_explicit(&tables_ready, memory_order_acquire))
        fill_tables();
    for (; n >= 8; n -= 8, p += 8)
        c = step8_table(c, p);
    for (; n > 0; n--, p++)
        c = (c >> 8) ^ tables[0][(c ^ *p) & 0xFF];
    return ~c;
}

/* Of two polynomials modulo POLY, bits reversed: bit 31 is x^0. */
static uint32_t product(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;

    for (uint32_t bit = UINT32_C(1) << 31; bit != 0; bit >>= 1) {
        if ((a & bit) != 0)
            sum ^= b;
        b = (b >> 1) ^ ((b & 1) != 0 ? POLY : 0);
    }
    return sum;
}

/* A crc is moved over n zero bytes by x^(8 n); what its inversions add is in both and cancels. */
uint32_t caret__crc32c_join(uint32_t a, uint32_t b, uint64_t b_len)
{
    uint32_t power = UINT32_C(1) << 31, square = UINT32_C(1) << 23; /* x^0, x^8 */

    for (; b_len != 0; b_len >>= 1) {
        if ((b_len & 1) != 0)
            power = product(power, square);
        square = product(square, square);
    }
    return product(a, power) ^ b;
}

#if CRC_HW

/* Three lanes of 448 bytes, three times over, are 4,032 of a page's 4,096 bytes. */
#define LANE 448u

static uint32_t shifts[4][256];

static inline uint32_t shift(uint32_t c)
{
    return shifts[0][c & 0xFF] ^ shifts[1][c >> 8 & 0xFF] ^ shifts[2][c >> 16 & 0xFF] ^ shifts[3][c >> 24];
}

/* Runs before the hardware routine is published, perhaps in two threads at once. */
CRC_TARGET static void fill_shifts(void)
{
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned b = 0; b < 256; b++) {
            uint32_t c = (uint32_t)b << (8 * k);

            for (unsigned i = 0; i < LANE; i += 8)
                c = CRC_STEP64(c, 0);
            __atomic_store_n(&shifts[k][b], c, __ATOMIC_RELAXED);
        }
    }
}

CRC_TARGET static uint32_t three_lanes(uint32_t c, const uint8_t *p)
{
    uint32_t c1 = 0, c2 = 0;

    for (unsigned i = 0; i < LANE; i += 8, p += 8) {
        c = CRC_STEP64(c, caret__le64(p));
        c1 = CRC_STEP64(c1, caret__le64(p + LANE));
        c2 = CRC_STEP64(c2, caret__le64(p + 2 * LANE));
    }
    return shift(shift(c) ^ c1) ^ c2;
}

CRC_TARGET uint32_t caret__crc32c_hardware(uint32_t seed, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t c = ~seed;

    for (; n >= 3 * LANE; n -= 3 * LANE, p += 3 * LANE)
        c = three_lanes(c, p);
    for (; n >= 8; n -= 8, p += 8)
        c = CRC_STEP64(c, caret__le64(p));
    for (; n > 0; n--, p++)
        c = CRC_STEP8(c, *p);
    return ~c;
}

static bool has_hardware(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2");
#else
    return (getauxval(AT_HWCAP) & (1ul << 7)) != 0; /* HWCAP_CRC32 */
#endif
}

#endif

static uint32_t choose(uint32_t seed, const void *p, size_t n)
{
    caret__crc32c_fn *fn = caret__crc32c_portable;

#if CRC_HW
    if (has_hardware()) {
        fill_shifts();
        fn = caret__crc32c_hardware;
    }
#endif
    atomic_store_explicit(&caret__crc32c_chosen, fn, memory_order_release);
    return fn(seed, p, n);
}

_Atomic(caret__crc32c_fn *) caret__crc32c_chosen = choose;
