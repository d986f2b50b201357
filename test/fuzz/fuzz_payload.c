/* Any bytes as what RESTORE is given, with a seal that fits: they are read as restore.c reads them, nothing outside of
 * them is, what they announce takes no more memory than they can fill, and what is written of it reads back the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "server/codec/pack.h"
#include "server/codec/rdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 /* bytes that a text is unpacked to */ };

static void check(int yes)
{
    if (!yes)
        abort();
}

/* The bytes of a text, to be freed; NULL: they are damaged. */
static uint8_t *bytes_of(const struct caret_codec__rdb_text *t)
{
    uint8_t *bytes = malloc(t->len + 1);
    if (t->packed == 0) {
        memcpy(bytes, t->is_digits ? (const uint8_t *)t->digits : t->bytes, t->len);
        return bytes;
    }
    if (caret_codec__lzf_unpack(t->bytes, t->packed, bytes, t->len))
        return bytes;
    free(bytes);
    return NULL;
}

static size_t write_element(uint8_t *out, const struct caret_codec__rdb_text *t)
{
    if (t->is_digits)
        return caret_codec__listpack_integer(out, strtoll(t->digits, NULL, 10));
    size_t n = caret_codec__listpack_before(out, t->len);
    if (t->len > 0)
        memcpy(out + n, t->bytes, t->len);
    return n + t->len + caret_codec__listpack_after(out + n + t->len, n + t->len);
}

/* An element that was read, written alone and read again. */
static void same_again(const struct caret_codec__rdb_text *t)
{
    struct caret_codec__reader r;
    struct caret_codec__rdb_text again;
    size_t room = CARET_CODEC__LISTPACK_HEAD + t->len + CARET_CODEC__LISTPACK_ROOM + 1;
    uint8_t *out = malloc(room), *was = bytes_of(t);
    size_t n = CARET_CODEC__LISTPACK_HEAD + write_element(out + CARET_CODEC__LISTPACK_HEAD, t);
    check(n < room && was != NULL);
    out[n++] = 0xff;
    caret_codec__listpack_head(out, n, 1);
    caret_codec__listpack_begin(&r, out, n);
    check(caret_codec__listpack_next(&r, &again) && again.len == t->len && again.packed == 0);
    uint8_t *is = bytes_of(&again);
    check(memcmp(is, was, t->len) == 0);
    check(!caret_codec__listpack_next(&r, &again) && !r.bad);
    free(is);
    free(was);
    free(out);
}

static void as_listpack(const uint8_t *bytes, size_t len)
{
    struct caret_codec__reader r;
    struct caret_codec__rdb_text t;
    size_t n = 0;
    caret_codec__listpack_begin(&r, bytes, len);
    while (!r.bad && caret_codec__listpack_next(&r, &t)) {
        check(++n <= len && t.packed == 0 && t.len <= len + sizeof t.digits);
        same_again(&t);
    }
}

static void as_integers(const uint8_t *bytes, size_t len)
{
    uint64_t n;
    if (!caret_codec__intset_count(bytes, len, &n))
        return;
    check(n <= len / 2);
    for (uint64_t i = 0; i < n; i++)
        (void)caret_codec__intset_at(bytes, i);
}

/* The next text, and what it may be in turn. */
static void one_text(struct caret_codec__reader *r)
{
    struct caret_codec__rdb_text t = caret_codec__rdb_get_text(r);
    if (r->bad || t.len > MOST)
        return;
    uint8_t *bytes = bytes_of(&t);
    if (bytes == NULL)
        return;
    as_listpack(bytes, t.len);
    as_integers(bytes, t.len);
    free(bytes);
}

static void as_body(struct caret_codec__reader r)
{
    const uint8_t *type = caret_codec__get_raw(&r, 1);
    if (type == NULL)
        return;
    struct caret_codec__reader numbers = r;
    uint64_t n = *type == CARET_CODEC__RDB_STRING ? 1 : caret_codec__rdb_get_length(&r);
    for (uint64_t i = 0; i < n && !r.bad && r.at < r.end; i++) {
        one_text(&r);
        if (*type == CARET_CODEC__RDB_ZSET)
            (void)caret_codec__rdb_get_double(&r);
        if (*type == CARET_CODEC__RDB_ZSET_TEXT)
            (void)caret_codec__rdb_get_score(&r);
    }
    one_text(&numbers); /* a container that is one text */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct caret_codec__reader r;
    uint8_t *sealed = malloc(size + CARET_CODEC__RDB_TAIL);
    (void)caret_codec__rdb_open(data, size, &r); /* with its own seal, which is wrong mostly */
    if (size > 0)
        memcpy(sealed, data, size);
    caret_codec__rdb_seal(sealed + size, sealed, size);
    check(caret_codec__rdb_open(sealed, size + CARET_CODEC__RDB_TAIL, &r));
    check(r.at == sealed && r.end == sealed + size);
    as_body(r);
    if (size > 0) { /* a bit that differs is noticed */
        sealed[size / 2] ^= 4;
        check(!caret_codec__rdb_open(sealed, size + CARET_CODEC__RDB_TAIL, &r));
    }
    free(sealed);
    return 0;
}
