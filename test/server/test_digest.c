/* Hashes against the vectors of their definitions, in one piece and in many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/digest.h"

static void check_sha(const char *text, size_t len, const char *sha1, const char *sha256)
{
    uint8_t digest[32];
    char hex[64];

    caret_codec__sha1_of(text, len, digest);
    caret_codec__hex(digest, 20, hex);
    assert_memory_equal(hex, sha1, 40);
    caret_codec__sha256_of(text, len, digest);
    caret_codec__hex(digest, 32, hex);
    assert_memory_equal(hex, sha256, 64);
}

static void digests_are_those_of_the_standard(void **state)
{
    const char *long_text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char *million = malloc(1000000);

    (void)state;
    assert_non_null(million);
    memset(million, 'a', 1000000);
    check_sha("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709",
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d",
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha(long_text, 56, "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha(million, 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void pieces_make_the_same_digest(void **state)
{
    uint8_t bytes[300], whole[32], pieces[32];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t len = 0; len <= sizeof bytes; len++)
        for (size_t step = 1; step < 130; step += 9) {
            struct caret_codec__sha1 one;
            struct caret_codec__sha256 two;
            caret_codec__sha1_init(&one);
            caret_codec__sha256_init(&two);
            for (size_t at = 0; at < len; at += step) {
                size_t n = len - at < step ? len - at : step;
                caret_codec__sha1_add(&one, bytes + at, n);
                caret_codec__sha256_add(&two, bytes + at, n);
            }
            caret_codec__sha1_of(bytes, len, whole);
            caret_codec__sha1_end(&one, pieces);
            assert_memory_equal(whole, pieces, 20);
            caret_codec__sha256_of(bytes, len, whole);
            caret_codec__sha256_end(&two, pieces);
            assert_memory_equal(whole, pieces, 32);
        }
}

static void checksums_are_those_of_redis(void **state)
{
    (void)state;
    assert_true(caret_codec__crc64(0, "123456789", 9) == 0xe9c6d914c4b8d9ca);
    assert_true(caret_codec__crc64(caret_codec__crc64(0, "1234", 4), "56789", 5) == 0xe9c6d914c4b8d9ca);
    assert_true(caret_codec__crc64(0, "", 0) == 0);
}

/* Every byte counts, also those of the tail. */
static void murmur_depends_on_every_byte(void **state)
{
    char text[20] = "abcdefghijklmnopqrs";

    (void)state;
    for (size_t len = 1; len < 20; len++)
        for (size_t i = 0; i < len; i++) {
            uint64_t before = caret_codec__murmur64a(text, len, 0xadc83b19);
            text[i] ^= 0x40;
            assert_true(caret_codec__murmur64a(text, len, 0xadc83b19) != before);
            text[i] ^= 0x40;
            assert_true(caret_codec__murmur64a(text, len, 0xadc83b19) == before);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(pieces_make_the_same_digest),
        cmocka_unit_test(checksums_are_those_of_redis),
        cmocka_unit_test(murmur_depends_on_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
