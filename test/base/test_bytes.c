#include "support.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"

/* Two pieces of memory with nothing after them. */
static uint8_t *before_nothing(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED && size <= page);
    assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
    return p + page - size;
}

static void short_bytes_are_compared_and_copied_like_long_ones(void **state)
{
    struct caret__rand r = seeded(__func__);
    uint8_t *a = before_nothing(80), *b = before_nothing(80);

    (void)state;
    for (size_t n = 0; n <= 80; n++) {
        uint8_t *p = a + 80 - n, *q = b + 80 - n;
        caret__rand_bytes(&r, p, n);
        caret__copy_short(q, p, n);
        assert_memory_equal(p, q, n);
        assert_true(caret__same_short(p, q, n));
        for (size_t i = 0; i < n; i++) {
            q[i] ^= (uint8_t)(1u << caret__rand_below(&r, 8));
            assert_false(caret__same_short(p, q, n));
            q[i] = p[i];
        }
        if (n < 80)
            q[-1] = (uint8_t)~p[-1];
        assert_true(caret__same_short(p, q, n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_bytes_are_compared_and_copied_like_long_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
