/*
 * bytes.h - small inline helpers: unaligned little-endian access, alignment,
 * minimum and maximum, branch hints, assertions.
 *
 * Everything stored or shared between processes is little-endian, whatever the
 * machine; on little-endian ones these helpers are plain loads and stores.
 */
#ifndef CARET_BASE_BYTES_H
#define CARET_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Have the cache line of p fetched for writing: one trip from the core that has it, not two. */
static inline void caret__will_write(const void *p)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
    __builtin_prefetch(p, 1);
#endif
}

#define caret__likely(x)   __builtin_expect(!!(x), 1)
#define caret__unlikely(x) __builtin_expect(!!(x), 0)

/* Structures in the file and in shared memory are used as they lie there. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "only machines with the low byte first");

static inline uint32_t caret__le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t caret__le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void caret__put_le32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void caret__put_le64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* The first four / eight bytes as a number that compares like memcmp. */
static inline uint32_t caret__be32(const void *p)
{
    return __builtin_bswap32(caret__le32(p));
}

static inline uint64_t caret__be64(const void *p)
{
    return __builtin_bswap64(caret__le64(p));
}

static inline size_t caret__min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t caret__max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline uint64_t caret__min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t caret__max64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* `align` must be a power of two. */
static inline uint64_t caret__align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}

static inline uint64_t caret__align_down(uint64_t v, uint64_t align)
{
    return v & ~(align - 1);
}

/* memcpy of what is mostly short: a node's key, a number. */
static inline void caret__copy_short(void *dst, const void *src, size_t n)
{
    uint64_t a, b;

    if (n >= 8 && n <= 16) {
        memcpy(&a, src, 8);
        memcpy(&b, (const uint8_t *)src + n - 8, 8);
        memcpy(dst, &a, 8);
        memcpy((uint8_t *)dst + n - 8, &b, 8);
    } else if (n >= 4 && n < 8) {
        uint32_t c, d;
        memcpy(&c, src, 4);
        memcpy(&d, (const uint8_t *)src + n - 4, 4);
        memcpy(dst, &c, 4);
        memcpy((uint8_t *)dst + n - 4, &d, 4);
    } else if (n >= 2 && n < 4) {
        uint16_t e, f;
        memcpy(&e, src, 2);
        memcpy(&f, (const uint8_t *)src + n - 2, 2);
        memcpy(dst, &e, 2);
        memcpy((uint8_t *)dst + n - 2, &f, 2);
    } else {
        memcpy(dst, src, n);
    }
}

/* memcmp(a, b, n) == 0 of what is mostly short: a node's key. */
static inline bool caret__same_short(const void *a, const void *b, size_t n)
{
    const uint8_t *p = a, *q = b;

    if (n < 8 || n > 32)
        return memcmp(a, b, n) == 0;
    uint64_t differ = caret__le64(p + n - 8) ^ caret__le64(q + n - 8);
    for (size_t i = 0; i + 8 < n; i += 8)
        differ |= caret__le64(p + i) ^ caret__le64(q + i);
    return differ == 0;
}

/* memcmp order with the shorter prefix first: the order of encoded keys. */
static inline int caret__bytes_compare(const void *a, size_t an, const void *b, size_t bn)
{
    int c = memcmp(a, b, an < bn ? an : bn);
    return c != 0 ? c : (an > bn) - (an < bn);
}

/*
 * Assertions.  ASSERT is for builds with CARET_ASSERTS; ASSERT_CMP prints both
 * integers.  ASSERT_ALWAYS is for cheap checks of what must hold whatever other
 * processes do to shared memory.  All print one line and abort.
 */
__attribute__((noreturn, cold)) void caret__assert_failed(const char *file, int line, const char *what);
__attribute__((noreturn, cold)) void caret__assert_cmp_failed(const char *file, int line, const char *what,
                                                              long long a, long long b);

#define CARET__ASSERT_ALWAYS(cond)                                                                           \
    (caret__likely(cond) ? (void)0 : caret__assert_failed(__FILE__, __LINE__, #cond))

#define CARET__ASSERT_ALWAYS_CMP(a, op, b)                                                                   \
    (caret__likely((a)op(b))                                                                                 \
         ? (void)0                                                                                           \
         : caret__assert_cmp_failed(__FILE__, __LINE__, #a " " #op " " #b, (long long)(a), (long long)(b)))

#ifdef CARET_ASSERTS
#define CARET__ASSERT(cond)         (caret__likely(cond) ? (void)0 : caret__assert_failed(__FILE__, __LINE__, #cond))
#define CARET__ASSERT_CMP(a, op, b) CARET__ASSERT_ALWAYS_CMP(a, op, b)
#else
#define CARET__ASSERT(cond)         ((void)sizeof((cond) ? 1 : 0))
#define CARET__ASSERT_CMP(a, op, b) ((void)sizeof(((a)op(b)) ? 1 : 0))
#endif

#endif
