/*
 * pack.c - bounded writing and reading.
 */
#include "server/codec/pack.h"

#include <string.h>

/* ---------------------------------------------------------------- writing */

void caret_codec__put_raw(struct caret_codec__writer *w, const void *bytes, size_t len)
{
    if (w->len <= w->room && len <= w->room - w->len && len > 0)
        memcpy(w->bytes + w->len, bytes, len);
    if (__builtin_add_overflow(w->len, len, &w->len))
        w->len = SIZE_MAX;
}

void caret_codec__put_u64(struct caret_codec__writer *w, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    caret_codec__put_raw(w, bytes, n);
}

void caret_codec__put_i64(struct caret_codec__writer *w, int64_t v)
{
    caret_codec__put_u64(w, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void caret_codec__put_text(struct caret_codec__writer *w, const void *bytes, size_t len)
{
    caret_codec__put_u64(w, len);
    caret_codec__put_raw(w, bytes, len);
}

/* ---------------------------------------------------------------- reading */

static size_t left(const struct caret_codec__reader *r)
{
    return r->bad ? 0 : (size_t)(r->end - r->at);
}

const uint8_t *caret_codec__get_raw(struct caret_codec__reader *r, size_t len)
{
    const uint8_t *at = r->at;

    if (len > left(r)) {
        r->bad = true;
        return at;
    }
    if (len > 0)
        r->at += len;
    return at;
}

uint64_t caret_codec__get_u64(struct caret_codec__reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; left(r) > 0 && shift < 64; shift += 7) {
        uint64_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        v |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    r->bad = true;
    return 0;
}

int64_t caret_codec__get_i64(struct caret_codec__reader *r)
{
    uint64_t v = caret_codec__get_u64(r);

    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

const uint8_t *caret_codec__get_text(struct caret_codec__reader *r, size_t *len)
{
    uint64_t n = caret_codec__get_u64(r);

    if (n > left(r)) {
        r->bad = true;
        n = 0;
    }
    *len = (size_t)n;
    return caret_codec__get_raw(r, *len);
}

uint64_t caret_codec__get_count(struct caret_codec__reader *r, size_t least_len)
{
    uint64_t n = caret_codec__get_u64(r);

    if (least_len > 0 && n > left(r) / least_len) {
        r->bad = true;
        return 0;
    }
    return n;
}

bool caret_codec__read_all(const struct caret_codec__reader *r)
{
    return !r->bad && r->at == r->end;
}

/* ---------------------------------------------------------------- entries */

bool caret_codec__entry_check(const uint8_t *bytes, size_t len, uint64_t *n_pairs)
{
    struct caret_codec__reader r = {bytes, bytes + len, false};
    size_t n;

    *n_pairs = caret_codec__get_count(&r, 2);
    for (uint64_t i = 0; i < 2 * *n_pairs && !r.bad; i++)
        (void)caret_codec__get_text(&r, &n);
    return caret_codec__read_all(&r);
}
