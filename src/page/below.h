/*
 * below.h - how many of sixteen numbers in ascending order are below another one?
 *
 * What a search in a page mostly is (page.c), without a branch: a search among pages of all sizes would mispredict any
 * loop with a number of turns.  Numbers in no order, as in a torn page: any of 0 to 16.
 */
#ifndef CARET_PAGE_BELOW_H
#define CARET_PAGE_BELOW_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/racy.h"

#define CARET__BELOW 16u

/* A number whose order among signed ones is that of h among others. */
static inline int32_t caret__signed(uint32_t h)
{
    return (int32_t)(h ^ 0x80000000u);
}

static inline uint32_t caret__unsigned(int32_t h)
{
    return (uint32_t)h ^ 0x80000000u;
}

#if !defined(CARET__TSAN) && defined(__SSE2__)
#include <emmintrin.h>

/* The first one that is not below tells it: to count the bits of the mask takes an instruction that not each x86-64
 * has. */
static inline __attribute__((always_inline)) unsigned caret__below_signs(__m128i a, __m128i b, __m128i c,
                                                                         __m128i d, int32_t h)
{
    const __m128i bound = _mm_set1_epi32(h);
    __m128i ab = _mm_packs_epi32(_mm_cmplt_epi32(a, bound), _mm_cmplt_epi32(b, bound));
    __m128i cd = _mm_packs_epi32(_mm_cmplt_epi32(c, bound), _mm_cmplt_epi32(d, bound));

    return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(_mm_packs_epi16(ab, cd)));
}

static inline __attribute__((always_inline)) unsigned caret__below_of(__m128i a, __m128i b, __m128i c,
                                                                      __m128i d, uint32_t h)
{
    const __m128i sign = _mm_set1_epi32(INT32_MIN); /* the comparison is signed */

    return caret__below_signs(_mm_xor_si128(a, sign), _mm_xor_si128(b, sign), _mm_xor_si128(c, sign),
                              _mm_xor_si128(d, sign), caret__signed(h));
}

static inline __attribute__((always_inline)) unsigned caret__below(const uint32_t *sixteen, uint32_t h)
{
    const __m128i *four = (const void *)sixteen;

    return caret__below_of(_mm_loadu_si128(four), _mm_loadu_si128(four + 1), _mm_loadu_si128(four + 2),
                           _mm_loadu_si128(four + 3), h);
}

/* The same of numbers that are kept as caret__signed() makes them, in a line of the caches. */
static inline __attribute__((always_inline)) unsigned caret__below_in_line(const int32_t *sixteen, int32_t h)
{
    const __m128i *four = (const void *)sixteen;

    return caret__below_signs(_mm_load_si128(four), _mm_load_si128(four + 1), _mm_load_si128(four + 2),
                              _mm_load_si128(four + 3), h);
}

#else /* vectors as the compiler has them, or none */

#if !defined(CARET__TSAN) && defined(__ARM_NEON)
#define CARET__VECTORS 1
typedef int32_t caret__v4 __attribute__((vector_size(16)));
#endif

static inline unsigned caret__below(const uint32_t *sixteen, uint32_t h)
{
#ifdef CARET__VECTORS
    const int32_t flip = INT32_MIN, bound = caret__signed(h); /* the comparison is signed */
    const caret__v4 sign = {flip, flip, flip, flip}, limit = {bound, bound, bound, bound};
    caret__v4 sum = {0, 0, 0, 0}, four;

#pragma GCC unroll 4
    for (unsigned i = 0; i < CARET__BELOW; i += 4) {
        memcpy(&four, sixteen + i, 16);
        sum -= (four ^ sign) < limit;
    }
    return (unsigned)(sum[0] + sum[1] + sum[2] + sum[3]);
#else
    unsigned below = 0;
    for (unsigned i = 0; i < CARET__BELOW; i++)
        below += caret__racy32(sixteen + i) < h;
    return below;
#endif
}

static inline unsigned caret__below_in_line(const int32_t *sixteen, int32_t h)
{
    unsigned below = 0;

    for (unsigned i = 0; i < CARET__BELOW; i++)
        below += sixteen[i] < h;
    return below;
}

#endif

#endif
