/*
 * crc32c.h - the Castagnoli checksum of pages, meta slots and log records.
 *
 * The routine is chosen at run time, once: SSE4.2 on x86-64, the crc extension
 * on ARMv8, else tables.  Chaining holds for all of them:
 *     crc32c(crc32c(seed, a), b) == crc32c(seed, a followed by b)
 * and crc32c(0, "123456789") == 0xE3069283, the standard's check value.
 */
#ifndef CARET_BASE_CRC32C_H
#define CARET_BASE_CRC32C_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CARET__CRC_SHORT 512u /* bytes: more in three lanes at once; arbitrary */

typedef uint32_t caret__crc32c_fn(uint32_t seed, const void *p, size_t n);

/* Starts as a routine which looks at the processor and replaces itself. */
extern _Atomic(caret__crc32c_fn *) caret__crc32c_chosen;

static inline uint32_t caret__crc32c(uint32_t seed, const void *p, size_t n)
{
    return atomic_load_explicit(&caret__crc32c_chosen, memory_order_acquire)(seed, p, n);
}

/* The form that uses instructions for it; only for processors that were found to have them. */
caret__crc32c_fn caret__crc32c_hardware;

#if defined(__x86_64__)
/* May the instructions be used in line?  Not for much: then the three lanes of the call are quicker. */
static inline bool caret__crc32c_in_line(size_t n)
{
    return __builtin_expect(atomic_load_explicit(&caret__crc32c_chosen, memory_order_relaxed) ==
                                    caret__crc32c_hardware &&
                                n <= CARET__CRC_SHORT,
                            1);
}

/* The last bytes, fewer than eight, in three steps at most.  c: complemented. */
static inline uint32_t caret__crc32c_tail(uint32_t c, const uint8_t *at, size_t n)
{
    uint32_t four;
    uint16_t two;

    if (n & 4) {
        memcpy(&four, at, 4);
        __asm__("crc32l %1, %0" : "+r"(c) : "rm"(four));
        at += 4;
    }
    if (n & 2) {
        memcpy(&two, at, 2);
        __asm__("crc32w %1, %0" : "+r"(c) : "rm"(two));
        at += 2;
    }
    if (n & 1)
        __asm__("crc32b %1, %0" : "+r"(c) : "rm"(*at));
    return c;
}
#endif

/* The same in line, for a few words: a record; n is a multiple of 8.  On x86-64 the call would take as long as the
 * instructions. */
static inline uint32_t caret__crc32c_words(uint32_t seed, const void *p, size_t n)
{
#if defined(__x86_64__)
    if (caret__crc32c_in_line(n)) {
        const uint8_t *at = p;
        uint64_t c = (uint32_t)~seed, word;
        for (; n >= 8; n -= 8, at += 8) {
            memcpy(&word, at, 8);
            __asm__("crc32q %1, %0" : "+r"(c) : "rm"(word));
        }
        return ~(uint32_t)c;
    }
#endif
    return caret__crc32c(seed, p, n);
}

/* The same of any short length: a name. */
static inline uint32_t caret__crc32c_short(uint32_t seed, const void *p, size_t n)
{
#if defined(__x86_64__)
    if (caret__crc32c_in_line(n)) {
        size_t words = n & ~(size_t)7;
        uint32_t c = caret__crc32c_words(seed, p, words);
        return ~caret__crc32c_tail(~c, (const uint8_t *)p + words, n - words);
    }
#endif
    return caret__crc32c(seed, p, n);
}

/* crc32c(seed, a followed by b) from crc32c(seed, a), crc32c(0, b) and the length of b. */
uint32_t caret__crc32c_join(uint32_t a, uint32_t b, uint64_t b_len);

/* The table form, on any machine: the reference for tests. */
uint32_t caret__crc32c_portable(uint32_t seed, const void *p, size_t n);

#endif
