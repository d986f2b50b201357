/*
 * hyperloglog.c - PFADD, PFCOUNT, PFMERGE, PFDEBUG, PFSELFTEST: strings that codec/hll.h reads and writes.
 *
 * PFCOUNT of one key notes the estimate in the value, as Redis does, so it may write.
 */
#include <stdio.h>

#include "server/codec/hll.h"
#include "server/data/string.h"
#include "server/event.h"
#include "server/worker.h"

static int damaged(struct serve__call *q)
{
    return serve__fail(q, "INVALIDOBJ Corrupted HLL object detected");
}

static const uint8_t *bytes_of(caret_slice value)
{
    return (const uint8_t *)value.data;
}

static int check(struct serve__call *q, const struct serve__key *k)
{
    if (!k->exists || caret_codec__hll_is(bytes_of(k->value), k->value.len))
        return CARET_OK;
    return serve__fail(q, "WRONGTYPE Key is not a valid HyperLogLog string value.");
}

/* Open one to change it, in q->r->work; an empty one if there is none. */
static int load(struct serve__call *q, struct serve__key *k, caret_slice name, struct caret_codec__hll *hll)
{
    int rc = serve__key_change(q, k, name, SERVE__STRING);
    if (rc == CARET_OK)
        rc = check(q, k);
    if (rc == CARET_OK)
        rc = serve__string_load(q, k, name, 0, CARET_CODEC__HLL_ROOM);
    *hll = (struct caret_codec__hll){(uint8_t *)q->r->work.data, q->r->work.len,
                                     (size_t)q->w->config.n[SERVE__CFG_hll_sparse_max_bytes]};
    if (rc == CARET_OK && !k->exists)
        caret_codec__hll_create(hll);
    return rc;
}

static int store(struct serve__call *q, struct serve__key *k, const struct caret_codec__hll *hll)
{
    q->r->work.len = hll->len;
    return serve__string_store(q, k, "pfadd");
}

int serve__cmd_pfadd(struct serve__call *q)
{
    struct serve__key k;
    struct caret_codec__hll hll;
    uint64_t changes = 0;
    int rc = load(q, &k, q->argv[1], &hll);
    if (rc != CARET_OK)
        return rc;
    changes += !k.exists;
    for (int i = 2; i < q->argc; i++) {
        int raised = caret_codec__hll_add(&hll, q->argv[i].data, q->argv[i].len);
        if (raised < 0)
            return damaged(q);
        changes += (uint64_t)raised;
    }
    if (changes > 0) {
        caret_codec__hll_touch(&hll);
        if ((rc = store(q, &k, &hll)) != CARET_OK)
            return rc;
        q->r->dirty += changes - 1;
    }
    return serve__integer(q, changes > 0);
}

/* ------------------------------------------------------------ PFCOUNT, PFMERGE */

/* Raise the registers to those of the keys from argument i on. *dense: one of them is. */
static int merge(struct serve__call *q, int i, uint8_t *registers, bool *dense)
{
    struct serve__key k;
    memset(registers, 0, CARET_CODEC__HLL_REGISTERS);
    for (; i < q->argc; i++) {
        int rc = serve__string_read(q, &k, q->argv[i]);
        if (rc == CARET_NONE)
            continue;
        if (rc == CARET_OK)
            rc = check(q, &k);
        if (rc != CARET_OK)
            return rc;
        *dense |= caret_codec__hll_is_dense(bytes_of(k.value));
        if (!caret_codec__hll_merge(registers, bytes_of(k.value), k.value.len))
            return damaged(q);
    }
    return CARET_OK;
}

static int count_one(struct serve__call *q)
{
    struct serve__key k;
    struct caret_codec__hll hll;
    uint64_t n;
    bool changed;
    int rc = serve__string_read(q, &k, q->argv[1]);
    if (rc == CARET_NONE)
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = load(q, &k, q->argv[1], &hll);
    if (rc != CARET_OK)
        return rc;
    if (!caret_codec__hll_count(&hll, &n, &changed))
        return damaged(q);
    if (changed) {
        if ((rc = serve__key_set_raw(q, &k, hll.bytes, hll.len, k.expiry)) != CARET_OK)
            return rc;
        q->r->dirty++;
    }
    return serve__integer(q, (int64_t)n);
}

int serve__cmd_pfcount(struct serve__call *q)
{
    uint8_t registers[CARET_CODEC__HLL_REGISTERS];
    bool dense = false;
    if (q->argc == 2)
        return count_one(q);
    int rc = merge(q, 1, registers, &dense);
    return rc == CARET_OK ? serve__integer(q, (int64_t)caret_codec__hll_estimate(registers)) : rc;
}

/* The target is one of what is merged. */
int serve__cmd_pfmerge(struct serve__call *q)
{
    uint8_t registers[CARET_CODEC__HLL_REGISTERS];
    struct serve__key k;
    struct caret_codec__hll hll;
    bool dense = false;
    int rc = merge(q, 1, registers, &dense);
    if (rc == CARET_OK)
        rc = load(q, &k, q->argv[1], &hll);
    if (rc != CARET_OK)
        return rc;
    if ((dense && !caret_codec__hll_is_dense(hll.bytes) && !caret_codec__hll_to_dense(&hll)) ||
        !caret_codec__hll_raise(&hll, registers))
        return damaged(q);
    caret_codec__hll_touch(&hll);
    rc = store(q, &k, &hll);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

/* ---------------------------------------------------------------- PFDEBUG */

static int make_dense(struct serve__call *q, struct serve__key *k, struct caret_codec__hll *hll, bool *done)
{
    *done = !caret_codec__hll_is_dense(hll->bytes);
    if (!*done)
        return CARET_OK;
    if (!caret_codec__hll_to_dense(hll))
        return damaged(q);
    q->r->dirty++;
    return serve__key_set_raw(q, k, hll->bytes, hll->len, k->expiry);
}

static int registers_of(struct serve__call *q, struct serve__key *k, struct caret_codec__hll *hll)
{
    uint8_t registers[CARET_CODEC__HLL_REGISTERS] = {0};
    bool done;
    int rc = make_dense(q, k, hll, &done);
    if (rc != CARET_OK)
        return rc;
    if (!caret_codec__hll_merge(registers, hll->bytes, hll->len))
        return damaged(q);
    serve__array(q, CARET_CODEC__HLL_REGISTERS);
    for (int i = 0; i < CARET_CODEC__HLL_REGISTERS; i++)
        serve__integer(q, registers[i]);
    return CARET_OK;
}

static int decode(struct serve__call *q, const struct caret_codec__hll *hll)
{
    struct caret_codec__hll_run run;
    struct serve__buffer *b = &q->r->scratch;
    size_t at = CARET_CODEC__HLL_HEADER;
    b->len = 0;
    if (caret_codec__hll_is_dense(hll->bytes))
        return serve__fail(q, "ERR HLL encoding is not sparse");
    while (at < hll->len) {
        /* Of a text that SETRANGE made the last run may be half a one. */
        if (!caret_codec__hll_run(hll->bytes, hll->len, &at, &run))
            run.registers = ((run.registers - 1) << 8) + 1;
        if (run.value == 0)
            serve__buffer_print(b, "%c:%u ", run.two_bytes ? 'Z' : 'z', run.registers);
        else
            serve__buffer_print(b, "v:%u,%u ", run.value, run.registers);
    }
    return serve__bulk(q, b->data, b->len > 0 ? b->len - 1 : 0);
}

int serve__cmd_pfdebug(struct serve__call *q)
{
    struct serve__key k;
    struct caret_codec__hll hll;
    const caret_slice *what = &q->argv[1];
    bool done = false;
    int rc = load(q, &k, q->argv[2], &hll);
    if (rc == CARET_OK && !k.exists)
        return serve__fail(q, "ERR The specified key does not exist");
    if (rc != CARET_OK)
        return rc;
    if (serve__is(what, "getreg"))
        return registers_of(q, &k, &hll);
    if (serve__is(what, "decode"))
        return decode(q, &hll);
    if (serve__is(what, "encoding"))
        return serve__status(q, caret_codec__hll_is_dense(hll.bytes) ? "dense" : "sparse");
    if (!serve__is(what, "todense"))
        return serve__fail(q, "ERR Unknown PFDEBUG subcommand '%.*s'", (int)what->len, what->data);
    rc = make_dense(q, &k, &hll, &done);
    return rc == CARET_OK ? serve__integer(q, done) : rc;
}

/* Is a value of n elements as it should be?  Few are sparse, and what is counted is about what there is. */
static int test(struct serve__call *q, struct caret_codec__hll *hll, uint64_t n)
{
    uint64_t counted;
    bool changed;
    if (n < hll->sparse_max / 2 && caret_codec__hll_is_dense(hll->bytes))
        return serve__fail(q, "ERR TESTFAILED sparse encoding not used");
    if (!caret_codec__hll_count(hll, &counted, &changed) || counted * 20 < n * 19 || counted * 20 > n * 21)
        return serve__fail(q, "ERR TESTFAILED Too big error. card:%llu", (unsigned long long)n);
    return CARET_OK;
}

int serve__cmd_pfselftest(struct serve__call *q)
{
    enum { ELEMENTS = 100000 };
    struct serve__buffer *b = &q->r->work;
    int rc = CARET_OK;
    b->len = 0;
    if (!serve__buffer_room(b, CARET_CODEC__HLL_ROOM))
        return CARET_E_NOMEM;
    struct caret_codec__hll hll = {(uint8_t *)b->data, 0,
                                   (size_t)q->w->config.n[SERVE__CFG_hll_sparse_max_bytes]};
    caret_codec__hll_create(&hll);
    for (uint64_t n = 1, next = 1; rc == CARET_OK && n <= ELEMENTS; n++) {
        caret_codec__hll_add(&hll, &n, sizeof n);
        if (n == next) {
            rc = test(q, &hll, n);
            next *= 10;
        }
    }
    return rc == CARET_OK ? serve__ok(q) : rc;
}
