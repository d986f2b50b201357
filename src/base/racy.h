/*
 * racy.h - reading and writing memory that others may change meanwhile.
 *
 * An optimistic reader copies bytes out of a page while a writer may be changing
 * it, and throws the copy away when the page's version has changed.  The bytes
 * are not atomics: what is read may be torn, never wild, because nothing is done
 * with it before it was clamped or validated.  Everywhere but under
 * ThreadSanitizer these are plain memcpy and loads; there they are relaxed atomic
 * bytes, so that the tool sees that the race is meant and finds the others.
 */
#ifndef CARET_BASE_RACY_H
#define CARET_BASE_RACY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define CARET__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CARET__TSAN 1
#endif
#endif

#ifdef CARET__TSAN

static inline void caret__racy_copy(void *dst, const void *src, size_t n)
{
    uint8_t *d = dst;
    const uint8_t *s = src;
    for (size_t i = 0; i < n; i++)
        __atomic_store_n(d + i, __atomic_load_n(s + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}
static inline void caret__racy_move(void *dst, const void *src, size_t n)
{
    uint8_t *d = dst;
    const uint8_t *s = src;
    if (d <= s) {
        caret__racy_copy(dst, src, n);
        return;
    }
    for (size_t i = n; i-- > 0;)
        __atomic_store_n(d + i, __atomic_load_n(s + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}
static inline int caret__racy_cmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++) {
        int d = (int)__atomic_load_n(x + i, __ATOMIC_RELAXED) - (int)__atomic_load_n(y + i, __ATOMIC_RELAXED);
        if (d != 0)
            return d;
    }
    return 0;
}

#else

static inline void caret__racy_copy(void *dst, const void *src, size_t n)
{
    memcpy(dst, src, n);
}
static inline void caret__racy_move(void *dst, const void *src, size_t n)
{
    memmove(dst, src, n);
}
/*
 * memcmp by words, inline.  Not libc's: for short lengths its newest versions use masked vector loads, and
 * one that reaches into a page which is not mapped yet (keys lie at the end of a page, the next arena slot
 * may be untouched) is suppressed by microcode at the price of 200 ns.
 */
static inline int caret__racy_cmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    if (n >= 8) {
        uint64_t v, w;
        for (size_t i = 0;; i = i + 16 <= n ? i + 8 : n - 8) { /* the last word overlaps the one before */
            memcpy(&v, x + i, 8);
            memcpy(&w, y + i, 8);
            if (v != w)
                return __builtin_bswap64(v) < __builtin_bswap64(w) ? -1 : 1;
            if (i + 8 == n)
                return 0;
        }
    }
    if (n >= 4) {
        uint32_t v, w;
        memcpy(&v, x, 4);
        memcpy(&w, y, 4);
        if (v == w) {
            memcpy(&v, x + n - 4, 4);
            memcpy(&w, y + n - 4, 4);
        }
        return v == w ? 0 : __builtin_bswap32(v) < __builtin_bswap32(w) ? -1 : 1;
    }
    if (n == 0)
        return 0;
    int d = *x - *y;
    if (d != 0 || n == 1)
        return d;
    d = x[1] - y[1];
    return d != 0 ? d : x[n - 1] - y[n - 1];
}

#endif

/*
 * Are the n bytes of a and b the same?  The eight bytes that end where a's end can be read, also those before a, and nb
 * bytes from the beginning of b: so that a few are compared by one word, without a branch for each number of them.
 */
static inline __attribute__((always_inline)) bool caret__racy_same(const uint8_t *a, const uint8_t *b,
                                                                   size_t n, size_t nb)
{
#ifndef CARET__TSAN
    if (n == 0)
        return true;
    if (n <= 8 && nb >= 8) {
        uint64_t v, w;
        memcpy(&v, a + n - 8, 8);
        memcpy(&w, b, 8);
        return (v ^ w << (64 - 8 * n)) >> (64 - 8 * n) == 0;
    }
    if (n <= 4 && nb >= 4) {
        uint32_t v, w;
        memcpy(&v, a + n - 4, 4);
        memcpy(&w, b, 4);
        return (v ^ w << (32 - 8 * n)) >> (32 - 8 * n) == 0;
    }
#endif
    (void)nb;
    return caret__racy_cmp(a, b, n) == 0;
}

/* Two words that are copied by one load and one store. */
struct caret__words {
    uint64_t w[2];
};

/* The same as caret__racy_copy for the length of a key: the compiler makes a `rep movs` of that one when it
 * knows that the length is below a kilobyte, which takes longer to begin than these loops to end. */
static inline void caret__racy_copy_short(void *dst, const void *src, size_t n)
{
#ifdef CARET__TSAN
    caret__racy_copy(dst, src, n);
#else
    uint8_t *d = dst;
    const uint8_t *s = src;
    if (n > 16) {
        struct caret__words v;
        for (size_t i = 0;; i = i + 32 <= n ? i + 16 : n - 16) { /* the last ones overlap those before */
            memcpy(&v, s + i, 16);
            memcpy(d + i, &v, 16);
            if (i + 16 == n)
                return;
        }
    }
    if (n >= 8) {
        uint64_t v, w;
        memcpy(&v, s, 8);
        memcpy(&w, s + n - 8, 8);
        memcpy(d, &v, 8);
        memcpy(d + n - 8, &w, 8);
        return;
    }
    if (n >= 4) {
        uint32_t v, w;
        memcpy(&v, s, 4);
        memcpy(&w, s + n - 4, 4);
        memcpy(d, &v, 4);
        memcpy(d + n - 4, &w, 4);
        return;
    }
    if (n != 0) { /* one to three: first, middle, last */
        uint8_t first = s[0], middle = s[n / 2], last = s[n - 1];
        d[0] = first;
        d[n / 2] = middle;
        d[n - 1] = last;
    }
#endif
}

/* The same for what is mostly short and can be long: a value. */
static inline void caret__racy_copy_value(void *dst, const void *src, size_t n)
{
    if (caret__likely(n <= 32))
        caret__racy_copy_short(dst, src, n);
    else
        caret__racy_copy(dst, src, n);
}

static inline uint8_t caret__racy8(const void *p)
{
    uint8_t v;
    caret__racy_copy(&v, p, sizeof v);
    return v;
}
static inline uint16_t caret__racy16(const void *p)
{
    uint16_t v;
    caret__racy_copy(&v, p, sizeof v);
    return v;
}
static inline uint32_t caret__racy32(const void *p)
{
    uint32_t v;
    caret__racy_copy(&v, p, sizeof v);
    return v;
}
static inline uint64_t caret__racy64(const void *p)
{
    uint64_t v;
    caret__racy_copy(&v, p, sizeof v);
    return v;
}
static inline void caret__racy_put8(void *p, uint8_t v)
{
    caret__racy_copy(p, &v, sizeof v);
}
static inline void caret__racy_put16(void *p, uint16_t v)
{
    caret__racy_copy(p, &v, sizeof v);
}
static inline void caret__racy_put32(void *p, uint32_t v)
{
    caret__racy_copy(p, &v, sizeof v);
}

static inline void caret__racy_put64(void *p, uint64_t v)
{
    caret__racy_copy(p, &v, sizeof v);
}

/* Length of the common prefix. */
static inline size_t caret__common_prefix(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
    size_t n = na < nb ? na : nb, i = 0;
#ifndef CARET__TSAN
    for (uint64_t v, w; i + 8 <= n; i += 8) {
        memcpy(&v, a + i, 8);
        memcpy(&w, b + i, 8);
        if (v != w)
            return i + (unsigned)__builtin_ctzll(v ^ w) / 8; /* little-endian, as all that Caret runs on */
    }
#endif
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

#endif
