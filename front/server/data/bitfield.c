/*
 * bitfield.c - integers of any width within a string: BITFIELD, BITFIELD_RO.
 *
 * All operations are read before the first is done: a mistake in one leaves the string as it is.  They are kept in
 * q->r->scratch.
 */
#include "server/codec/bits.h"
#include "server/data/bitmap.h"
#include "server/data/string.h"
#include "server/event.h"

enum what { GET, SET, INCRBY };

struct operation {
    enum what what;
    enum caret_codec__overflow overflow;
    struct caret_codec__field field;
    uint64_t at;
    int64_t value;
};

struct fields {
    uint64_t end; /* bytes that the string has to have for what is written; 0: nothing is */
    bool readonly;
};

static int read_overflow(struct serve__call *q, const caret_slice *word, enum caret_codec__overflow *mode)
{
    static const char *const names[] = {"wrap", "sat", "fail"};
    for (int i = 0; i < 3; i++)
        if (serve__is(word, names[i])) {
            *mode = (enum caret_codec__overflow)i;
            return CARET_OK;
        }
    return serve__fail(q, "ERR Invalid OVERFLOW type specified");
}

/* The operation that begins at argument *i, which goes to the next. */
static int read_one(struct serve__call *q, struct fields *f, int *i, struct operation *op)
{
    const caret_slice *a = &q->argv[*i];
    op->what = serve__is(a, "get") ? GET : serve__is(a, "set") ? SET : INCRBY;
    int left = q->argc - *i - 1, wanted = op->what == GET ? 2 : 3;
    if ((op->what == INCRBY && !serve__is(a, "incrby")) || left < wanted)
        return SERVE__E_SYNTAX;
    if (!caret_codec__field_parse(a[1].data, a[1].len, &op->field))
        return serve__fail(q, "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not "
                              "supported but i64 is.");
    int rc = serve__bit_offset(q, a[2], op->field.width, &op->at);
    if (rc != CARET_OK)
        return rc;
    if (op->what != GET) {
        uint64_t end = (op->at + op->field.width - 1) / 8 + 1;
        f->end = end > f->end ? end : f->end;
        rc = serve__arg_integer(q, *i + 3, &op->value);
    }
    *i += 1 + wanted;
    return rc;
}

static int read_all(struct serve__call *q, struct fields *f)
{
    struct serve__buffer *b = &q->r->scratch;
    enum caret_codec__overflow mode = CARET_CODEC__WRAP;
    int rc = CARET_OK;
    b->len = 0;
    for (int i = 2; rc == CARET_OK && i < q->argc;) {
        struct operation op = {.overflow = mode};
        if (i + 1 < q->argc && serve__is(&q->argv[i], "overflow")) {
            rc = read_overflow(q, &q->argv[i + 1], &mode);
            i += 2;
            continue;
        }
        if ((rc = read_one(q, f, &i, &op)) == CARET_OK)
            serve__buffer_add(b, &op, sizeof op);
    }
    if (rc == CARET_OK && f->readonly && f->end != 0)
        return serve__fail(q, "ERR BITFIELD_RO only supports the GET subcommand");
    return rc == CARET_OK && b->failed ? CARET_E_NOMEM : rc;
}

/* Do one in the bytes, which may have `grown` for them.  true: it counts as a change, as in Redis. */
static bool run_one(struct serve__call *q, const struct operation *op, uint8_t *bytes, size_t len, bool grown)
{
    int64_t old = caret_codec__field_get(bytes, len, op->at, op->field), now = 0;
    if (op->what == GET) {
        serve__integer(q, old);
        return false;
    }
    bool fits = op->what == SET ? caret_codec__field_add(op->field, op->value, 0, op->overflow, &now)
                                : caret_codec__field_add(op->field, old, op->value, op->overflow, &now);
    if (!fits) {
        serve__null(q);
        return false;
    }
    caret_codec__field_put(bytes, op->at, op->field, now);
    serve__integer(q, op->what == SET ? old : now);
    return op->what != SET || grown || old != now;
}

static uint64_t run_all(struct serve__call *q, uint8_t *bytes, size_t len, bool grown)
{
    const struct operation *op = (const struct operation *)(const void *)q->r->scratch.data;
    size_t n = q->r->scratch.len / sizeof *op;
    uint64_t changes = 0;
    serve__array(q, n);
    for (size_t i = 0; i < n; i++)
        changes += run_one(q, &op[i], bytes, len, grown);
    return changes;
}

static int only_read(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__string_read(q, &k, q->argv[1]);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    run_all(q, (uint8_t *)(uintptr_t)k.value.data, k.value.len, false); /* nothing is written: all are GET */
    return CARET_OK;
}

static int bitfield(struct serve__call *q, bool readonly)
{
    struct serve__key k;
    struct fields f = {.readonly = readonly};
    int rc = read_all(q, &f);
    if (rc != CARET_OK)
        return rc;
    if (f.end == 0)
        return only_read(q);
    if ((rc = serve__string_load(q, &k, q->argv[1], f.end, 0)) != CARET_OK)
        return rc;
    uint64_t changes = run_all(q, (uint8_t *)q->r->work.data, q->r->work.len, q->r->work.len > k.value.len);
    if (changes > 0 && (rc = serve__string_store(q, &k, "setbit")) == CARET_OK)
        q->r->dirty += changes - 1;
    else if (changes == 0)
        rc = serve__string_touch(q, &k);
    return rc;
}

int serve__cmd_bitfield(struct serve__call *q)
{
    return bitfield(q, false);
}

int serve__cmd_bitfield_ro(struct serve__call *q)
{
    return bitfield(q, true);
}
