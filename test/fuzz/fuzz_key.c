/* Any bytes as a key or as text: decoders stay inside; what is valid survives the way there and back. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/key.h"
#include "base/number.h"
#include "base/zwr.h"
#include "caret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int yes)
{
    if (!yes)
        abort();
}

/* As an encoded key: walk it, write it as text, read that again. */
static void as_key(const uint8_t *key, size_t n)
{
    static char text[8 * CARET__KEY_MAX + 100];
    uint8_t again[CARET__KEY_MAX + 16];
    size_t off, len, back;
    bool number, local;
    char sub[64];
    int64_t v;
    int depth = caret__key_depth(key, n, &off);

    for (size_t at = caret__key_name_len(key, n) + 1; depth > 0 && at < n; at += len) {
        len = caret__sub_len(key + at, n - at);
        if (len == 0)
            break;
        (void)caret__sub_get(key + at, n - at, sub, sizeof sub, &back, &number);
        (void)caret__sub_get_i64(key + at, n - at, &v);
    }
    for (int utf8 = 0; utf8 < 2 && caret__key_valid(key, n); utf8++) {
        check(n <= CARET__KEY_MAX);
        check(caret__zwr_put_key(key, n, false, utf8, text, sizeof text, &len) == CARET_OK);
        check(caret__zwr_get_key(text, len, utf8, again, &back, &local) == CARET_OK);
        check(!local && back == n && memcmp(again, key, n) == 0);
    }
}

/* As text: a subscript, a value, a node. */
static void as_text(const char *text, size_t n)
{
    uint8_t key[CARET__KEY_MAX + 16];
    static char buf[70000], again[70000];
    size_t len, back;
    bool number, local;

    size_t size = caret__sub_put(key, sizeof key - 16, text, n);
    if (size != 0) {
        check(size == caret__sub_size(text, n) && caret__sub_len(key, size) == size);
        check(caret__sub_get(key, size, buf, sizeof buf, &len, &number) == CARET_OK);
        check(len == n && memcmp(buf, text, n) == 0);
        check(number == caret__num_canonical(text, n));
    }
    for (int utf8 = 0; utf8 < 2 && n < 4096; utf8++) {
        check(caret__zwr_put(text, n, utf8, buf, sizeof buf, &len) == CARET_OK);
        check(caret__zwr_get(buf, len, utf8, again, sizeof again, &back) == CARET_OK);
        check(back == n && memcmp(again, text, n) == 0);
        (void)caret__zwr_get(text, n, utf8, again, sizeof again, &back);
        if (caret__zwr_get_key(text, n, utf8, key, &back, &local) == CARET_OK)
            check(caret__key_valid(key, back));
    }
}

/* Decimal arithmetic on the two halves. */
static void as_numbers(const char *text, size_t n)
{
    const struct caret__rules rules[] = {CARET__EXACT38, CARET__M18};
    int (*const run[])(struct caret__rules, struct caret__dec, struct caret__dec, struct caret__dec *) = {
        caret__dec_add,  caret__dec_sub, caret__dec_mul, caret__dec_div,
        caret__dec_idiv, caret__dec_mod, caret__dec_pow};
    struct caret__dec a, b, r;
    char out[CARET__DEC_MAX];

    for (int m = 0; m < 2; m++) {
        if (caret__dec_parse(rules[m], text, n / 2, &a, NULL) != CARET__DEC_OK ||
            caret__dec_parse(rules[m], text + n / 2, n - n / 2, &b, NULL) != CARET__DEC_OK)
            continue;
        for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
            if (run[i](rules[m], a, b, &r) != CARET__DEC_OK)
                continue;
            size_t len = caret__dec_format(r, out);
            check(len != 0 && len <= 82 && (m == 0 || caret__num_canonical(out, len)));
            check(caret__dec_parse(rules[m], out, len, &a, NULL) == CARET__DEC_OK &&
                  caret__dec_compare(a, r) == 0);
            check(caret__dec_parse(rules[m], text, n / 2, &a, NULL) == CARET__DEC_OK);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + !size);

    if (text == NULL)
        abort();
    memcpy(text, data, size);
    as_key((const uint8_t *)text, size);
    as_text(text, size);
    as_numbers(text, size);
    free(text);
    return 0;
}
