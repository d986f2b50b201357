/* Log records: what was put in comes out, what was changed is noticed, what is hostile stays inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/rand.h"
#include "disk/record.h"
#include "log/commit.h"
#include "page/page.h"

#define OPS 40

static struct caret__rand rng;
static uint8_t keys[OPS][CARET__KEY_MAX], vals[OPS][CARET__INLINE_MAX];
static unsigned klens[OPS], vlens[OPS], kinds[OPS];

static unsigned below(unsigned n)
{
    return caret__rand_below(&rng, n);
}

static void random_bytes(uint8_t *p, unsigned len)
{
    for (unsigned i = 0; i < len; i++)
        p[i] = (uint8_t)below(256);
}

/* A record of n random operations after `seed`, in b->rec; its size. */
static uint32_t make(struct caret__batch *b, unsigned n, uint64_t seed)
{
    uint64_t first, tail;

    assert_int_equal(caret__batch_begin(b), CARET_OK);
    for (unsigned i = 0; i < n; i++) {
        kinds[i] = CARET__OP_SET + below(3);
        klens[i] = 1 + below(below(5) == 0 ? CARET__KEY_MAX : 20);
        vlens[i] = kinds[i] == CARET__OP_SET ? below(below(5) == 0 ? CARET__INLINE_MAX : 30) : 0;
        random_bytes(keys[i], klens[i]);
        random_bytes(vals[i], vlens[i]);
        assert_int_equal(caret__batch_add(b, (enum caret__op)kinds[i], keys[i], klens[i], vals[i], vlens[i]),
                         CARET_OK);
    }
    uint32_t size = b->size + CARET__REC_TAIL;
    first = size | (uint64_t)n << 32;
    memcpy(b->rec, &first, 8);
    tail = caret__record_trailer(seed, caret__record_crc(b->rec, size), size);
    memcpy(b->rec + b->size, &tail, 8);
    return size;
}

static void operations_come_out_as_they_went_in(void **state)
{
    struct caret__batch b = {0};

    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        unsigned n = 1 + below(OPS), i = 0;
        uint64_t seed = caret__rand_next(&rng);
        uint32_t size = make(&b, n, seed), off = CARET__REC_HEAD;
        struct caret__op_view op;
        int rc;

        assert_int_equal(size % 8, 0);
        assert_int_equal(caret__record_verify(seed, b.rec, size), size);
        assert_int_equal(caret__record_verify(seed, b.rec, size + 100u), size); /* others may follow */
        for (; (rc = caret__record_op(b.rec, size, &off, &op)) > 0; i++) {
            assert_true(i < n);
            assert_int_equal(op.kind, kinds[i]);
            assert_int_equal(op.klen, klens[i]);
            assert_int_equal(op.vlen, vlens[i]);
            assert_memory_equal(op.key, keys[i], klens[i]);
            assert_memory_equal(op.val, vals[i], vlens[i]);
        }
        assert_int_equal(rc, 0);
        assert_int_equal(i, n);
    }
    caret__batch_destroy(&b);
}

static void every_changed_bit_is_noticed(void **state)
{
    struct caret__batch b = {0};
    uint32_t size = make(&b, 6, 99);

    (void)state;
    for (uint32_t bit = 0; bit < 8 * size; bit++) {
        b.rec[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(caret__record_verify(99, b.rec, size), 0);
        b.rec[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(caret__record_verify(99, b.rec, size), size);
    caret__batch_destroy(&b);
}

static void a_record_that_is_not_there_whole_is_none(void **state)
{
    struct caret__batch b = {0};
    uint32_t size = make(&b, 3, 7);

    (void)state;
    for (uint32_t have = 0; have < size; have++) {
        uint8_t *part = malloc(have + 1); /* a sanitizer sees what is read beyond */
        assert_non_null(part);
        memcpy(part, b.rec, have);
        assert_int_equal(caret__record_verify(7, part, have), 0);
        free(part);
    }
    caret__batch_destroy(&b);
}

static void a_record_continues_its_own_chain_only(void **state)
{
    struct caret__batch b = {0};

    (void)state;
    for (uint32_t g = 1; g < 2000; g++)
        assert_true(caret__chain_start(g) != caret__chain_start(g - 1));
    for (unsigned round = 0; round < 200; round++) {
        uint64_t seed = caret__chain_start(round), other = seed ^ UINT64_C(1) << below(64);
        uint32_t size = make(&b, 2, seed);
        assert_int_equal(caret__record_verify(seed, b.rec, size), size);
        assert_int_equal(caret__record_verify(other, b.rec, size), 0);
        assert_int_equal(caret__record_verify(caret__chain_start(round + 1), b.rec, size), 0);
    }
    caret__batch_destroy(&b);
}

/* A right crc over bytes that mean nothing: operations never reach beyond the record, and end. */
static void hostile_records_are_read_inside_their_bounds(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t size = 8 * (2 + below(20)), off = CARET__REC_HEAD;
        uint8_t *rec = malloc(size);
        struct caret__op_view op;
        unsigned ops = 0;
        int rc;

        assert_non_null(rec);
        random_bytes(rec, size);
        for (uint32_t i = 0; i < size; i++) /* many zeros: small lengths */
            if (below(3) != 0)
                rec[i] = 0;
        while ((rc = caret__record_op(rec, size, &off, &op)) > 0) {
            assert_true(op.key >= rec && op.key + op.klen == op.val);
            assert_true(op.val + op.vlen <= rec + size - CARET__REC_TAIL);
            assert_true(++ops <= size / 8);
        }
        (void)caret__record_verify(0, rec, size);
        free(rec);
    }
}

/* A batch of nearly 4 GiB whose first operations nobody has written: of that memory a few pages are touched. */
static struct caret__batch nearly_full(uint32_t room)
{
    const uint32_t most = UINT32_MAX & ~UINT32_C(4095);
    struct caret__batch b = {.cap = most, .room = most};

    b.rec = mmap(NULL, b.cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b.rec == MAP_FAILED) {
        print_message("skipped: no 4 GiB of address space\n");
        skip();
    }
    b.size = b.cap - room;
    return b;
}

static void a_batch_over_the_limit_is_refused_and_stays_whole(void **state)
{
    static uint8_t value[CARET__INLINE_MAX];
    struct caret__batch b = nearly_full(10 * sizeof value);
    uint32_t off = b.size, ops = 0, count = 0, cap = b.cap;
    struct caret__op_view op;
    int rc;

    (void)state;
    while ((rc = caret__batch_add(&b, CARET__OP_SET, keys[0], 10, value, sizeof value)) == CARET_OK)
        ops++;
    assert_int_equal(rc, CARET_E_TXN_TOO_BIG);
    assert_in_range(ops, 1, 9);
    assert_int_equal(b.nops, ops);
    assert_true((uint64_t)b.size + CARET__REC_TAIL <= b.cap);
    while (caret__record_op(b.rec, b.size + CARET__REC_TAIL, &off, &op) > 0)
        count++;
    assert_int_equal(count, ops);
    munmap(b.rec, cap);
}

static void a_batch_keeps_its_ops_as_it_grows(void **state)
{
    uint8_t value[CARET__INLINE_MAX];
    struct caret__batch b = {0};
    uint32_t off = CARET__REC_HEAD, ops = 0, count = 0;
    struct caret__op_view op;

    (void)state;
    assert_int_equal(caret__batch_begin(&b), CARET_OK);
    for (; b.size < 5u << 20; ops++) { /* several times longer, and mapped in several steps */
        memset(value, (int)(ops % 251), sizeof value);
        memcpy(value, &ops, sizeof ops);
        assert_int_equal(caret__batch_add(&b, CARET__OP_SET, keys[0], 10, value, sizeof value - ops % 3),
                         CARET_OK);
        assert_in_range(b.size + CARET__REC_TAIL, 1, b.cap);
        assert_in_range(b.cap, 1, b.room);
    }
    for (; caret__record_op(b.rec, b.size + CARET__REC_TAIL, &off, &op) > 0; count++) {
        memset(value, (int)(count % 251), sizeof value);
        memcpy(value, &count, sizeof count);
        assert_int_equal(op.vlen, sizeof value - count % 3);
        assert_memory_equal(op.val, value, op.vlen);
    }
    assert_int_equal(count, ops);
    uint32_t crc = caret__batch_finish(&b);
    assert_int_equal(crc, caret__record_crc(b.rec, b.size + CARET__REC_TAIL));
    assert_int_equal(caret__batch_add(&b, CARET__OP_SET, keys[0], 10, value, 7), CARET_OK); /* it goes on */
    crc = caret__batch_finish(&b);
    assert_int_equal(crc, caret__record_crc(b.rec, b.size + CARET__REC_TAIL));
    caret__batch_destroy(&b);
}

static int seed_it(void **state)
{
    (void)state;
    caret__rand_seed(&rng, 42);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(operations_come_out_as_they_went_in, seed_it),
        cmocka_unit_test_setup(every_changed_bit_is_noticed, seed_it),
        cmocka_unit_test_setup(a_record_that_is_not_there_whole_is_none, seed_it),
        cmocka_unit_test_setup(a_record_continues_its_own_chain_only, seed_it),
        cmocka_unit_test_setup(hostile_records_are_read_inside_their_bounds, seed_it),
        cmocka_unit_test_setup(a_batch_keeps_its_ops_as_it_grows, seed_it),
        cmocka_unit_test_setup(a_batch_over_the_limit_is_refused_and_stays_whole, seed_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
