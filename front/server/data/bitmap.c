/*
 * bitmap.c - strings as arrays of bits: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP; bitfield.c has BITFIELD.
 *
 * The arithmetic is that of codec/bits.h.
 */
#include "server/data/bitmap.h"

#include "server/codec/bits.h"
#include "server/data/string.h"
#include "server/event.h"
#include "server/worker.h"

int serve__bit_offset(struct serve__call *q, caret_slice text, unsigned width, uint64_t *at)
{
    int64_t n;
    bool times = width > 0 && text.len > 0 && *text.data == '#';
    caret_slice digits = {text.data + times, text.len - times};
    if (!serve__read_integer(&digits, &n) || n < 0 ||
        (times && __builtin_mul_overflow(n, (int64_t)width, &n)) ||
        n >> 3 >= q->w->config.n[SERVE__CFG_proto_max_bulk_len])
        return serve__fail(q, "ERR bit offset is not an integer or out of range");
    *at = (uint64_t)n;
    return CARET_OK;
}

static const uint8_t *bytes_of(caret_slice value)
{
    return (const uint8_t *)value.data;
}

static unsigned bit_of(const void *bytes, uint64_t at)
{
    return ((const uint8_t *)bytes)[at >> 3] >> (7 - (at & 7)) & 1u;
}

int serve__cmd_setbit(struct serve__call *q)
{
    struct serve__key k;
    uint64_t at;
    int64_t on;
    int rc = serve__bit_offset(q, q->argv[2], 0, &at);
    if (rc == CARET_OK && (!serve__read_integer(&q->argv[3], &on) || (on & ~1) != 0))
        return serve__fail(q, "ERR bit is not an integer or out of range");
    if (rc == CARET_OK)
        rc = serve__string_load(q, &k, q->argv[1], (at >> 3) + 1, 0);
    if (rc != CARET_OK)
        return rc;
    char *byte = q->r->work.data + (at >> 3);
    unsigned old = bit_of(q->r->work.data, at);
    *byte = (char)((*byte & ~(1 << (7 - (at & 7)))) | (int)on << (7 - (at & 7)));
    if (old != on || !k.exists || q->r->work.len > k.value.len)
        rc = serve__string_store(q, &k, "setbit");
    else
        rc = serve__string_touch(q, &k);
    return rc == CARET_OK ? serve__integer(q, old) : rc;
}

int serve__cmd_getbit(struct serve__call *q)
{
    struct serve__key k;
    uint64_t at;
    int rc = serve__bit_offset(q, q->argv[2], 0, &at);
    if (rc == CARET_OK)
        rc = serve__string_read(q, &k, q->argv[1]);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return serve__integer(q, at >> 3 < k.value.len ? bit_of(k.value.data, at) : 0);
}

/* ----------------------------------------------------------------- ranges */

/* Two arguments, with BYTE or BIT after them; then bits `from` to `to` - 1 of a string, none if from >= to. */
struct range {
    int64_t from, to; /* as given, then in bits */
    bool bits;        /* BIT */
};

/* Argument i, if it is there. */
static int read_end(struct serve__call *q, int i, int64_t *end)
{
    return i < q->argc ? serve__arg_integer(q, i, end) : CARET_OK;
}

static int read_unit(struct serve__call *q, int i, struct range *r)
{
    r->bits = i < q->argc && serve__is(&q->argv[i], "bit");
    if (i + 1 < q->argc || (i < q->argc && !r->bits && !serve__is(&q->argv[i], "byte")))
        return SERVE__E_SYNTAX;
    return CARET_OK;
}

/* To bits of a string of len bytes; both ends count from its end if they are negative. */
static void cut_range(struct range *r, size_t len)
{
    int64_t n = (int64_t)len * (r->bits ? 8 : 1);
    r->from = r->from < 0 ? (r->from + n < 0 ? 0 : r->from + n) : r->from;
    r->to = r->to < 0 ? (r->to + n < 0 ? 0 : r->to + n) : r->to;
    r->to = r->to >= n ? n - 1 : r->to;
    if (r->from > r->to) {
        r->from = r->to = 0;
        return;
    }
    r->to++;
    if (!r->bits) {
        r->from *= 8;
        r->to *= 8;
    }
}

int serve__cmd_bitcount(struct serve__call *q)
{
    struct serve__key k;
    struct range r = {0, -1, false};
    int rc = serve__string_read(q, &k, q->argv[1]);
    if (rc == CARET_NONE)
        return serve__integer(q, 0);
    if (rc == CARET_OK && (q->argc == 3 || q->argc > 5))
        return SERVE__E_SYNTAX;
    if (rc == CARET_OK)
        rc = read_end(q, 2, &r.from);
    if (rc == CARET_OK)
        rc = read_end(q, 3, &r.to);
    if (rc == CARET_OK && r.from < 0 && r.to < 0 && r.from > r.to)
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = read_unit(q, 4, &r);
    if (rc != CARET_OK)
        return rc;
    cut_range(&r, k.value.len);
    if (r.from >= r.to)
        return serve__integer(q, 0);
    return serve__integer(
        q, (int64_t)caret_codec__bits_count(bytes_of(k.value), (uint64_t)r.from, (uint64_t)r.to));
}

int serve__cmd_bitpos(struct serve__call *q)
{
    struct serve__key k;
    struct range r = {0, -1, false};
    int64_t bit;
    int rc = serve__arg_integer(q, 2, &bit);
    if (rc == CARET_OK && (bit & ~1) != 0)
        return serve__fail(q, "ERR The bit argument must be 1 or 0.");
    if (rc == CARET_OK)
        rc = serve__string_read(q, &k, q->argv[1]);
    if (rc == CARET_NONE)
        return serve__integer(q, bit ? -1 : 0);
    if (rc == CARET_OK && q->argc > 6)
        return SERVE__E_SYNTAX;
    if (rc == CARET_OK)
        rc = read_end(q, 3, &r.from);
    if (rc == CARET_OK)
        rc = read_unit(q, 5, &r);
    if (rc == CARET_OK)
        rc = read_end(q, 4, &r.to);
    if (rc != CARET_OK)
        return rc;
    cut_range(&r, k.value.len);
    if (r.from >= r.to)
        return serve__integer(q, -1);
    int64_t at = caret_codec__bits_find(bytes_of(k.value), (uint64_t)r.from, (uint64_t)r.to, bit == 1);
    if (at < 0 && bit == 0 && q->argc < 5) /* after the end all bits are 0 */
        at = (int64_t)k.value.len * 8;
    return serve__integer(q, at);
}

/* ------------------------------------------------------------------ BITOP */

static int read_operation(struct serve__call *q, enum caret_codec__bits_operation *op)
{
    static const char *const names[] = {"and", "or", "xor", "not"};
    for (int i = 0; i < 4; i++)
        if (serve__is(&q->argv[1], names[i])) {
            *op = (enum caret_codec__bits_operation)i;
            return i == 3 && q->argc != 4
                       ? serve__fail(q, "ERR BITOP NOT must be called with a single source key.")
                       : CARET_OK;
        }
    return SERVE__E_SYNTAX;
}

/* The strings to q->r->scratch, the result to q->r->work. */
static int combine(struct serve__call *q, enum caret_codec__bits_operation op)
{
    struct serve__buffer *list = &q->r->scratch, *out = &q->r->work;
    struct serve__key k;
    size_t len = 0;
    list->len = out->len = 0;
    for (int i = 3; i < q->argc; i++) {
        int rc = serve__string_read(q, &k, q->argv[i]);
        if (rc == CARET_OK)
            rc = caret_keep(q->s, &k.value);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        struct caret_codec__bytes one = {bytes_of(k.value), k.value.len};
        serve__buffer_add(list, &one, sizeof one);
        len = len > one.n_bytes ? len : one.n_bytes;
    }
    if (list->failed || !serve__buffer_room(out, len))
        return CARET_E_NOMEM;
    caret_codec__bits_combine(op, (const struct caret_codec__bytes *)(const void *)list->data,
                              (size_t)q->argc - 3, (uint8_t *)out->data, len);
    out->len = len;
    return CARET_OK;
}

int serve__cmd_bitop(struct serve__call *q)
{
    struct serve__key k;
    enum caret_codec__bits_operation op;
    int rc = read_operation(q, &op);
    if (rc == CARET_OK)
        rc = combine(q, op);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[2], SERVE__ANY);
    if (rc != CARET_OK)
        return rc;
    size_t len = q->r->work.len;
    bool was = k.exists;
    if (len > 0)
        rc = serve__key_set_raw(q, &k, q->r->work.data, len, 0);
    else if (was)
        rc = serve__key_delete(q, &k);
    if (rc != CARET_OK)
        return rc;
    if (len > 0)
        serve__changed(q, SERVE__EVENT_STRING, "set", q->argv[2]);
    else if (was)
        serve__changed(q, SERVE__EVENT_GENERIC, "del", q->argv[2]);
    return serve__integer(q, (int64_t)len);
}
