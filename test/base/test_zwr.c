#include "support.h"

#include "base/key.h"
#include "base/zwr.h"
#include "caret.h"

struct sample {
    const char *bytes;
    size_t n;
    const char *in_bytes, *in_utf8; /* the text in either mode */
};

#define SAMPLE(s, b, u)                                                                                      \
    {                                                                                                        \
        s, sizeof s - 1, b, u                                                                                \
    }

static const struct sample samples[] = {
    SAMPLE("", "\"\"", "\"\""),
    SAMPLE("shadow", "\"shadow\"", "\"shadow\""),
    SAMPLE("say \"hi\"", "\"say \"\"hi\"\"\"", "\"say \"\"hi\"\"\""),
    SAMPLE("\"", "\"\"\"\"", "\"\"\"\""),
    SAMPLE("ab\n\1c", "\"ab\"_$C(10,1)_\"c\"", "\"ab\"_$C(10,1)_\"c\""),
    SAMPLE("\0", "$C(0)", "$C(0)"),
    SAMPLE("\0a", "$C(0)_\"a\"", "$C(0)_\"a\""),
    SAMPLE("a\x7f", "\"a\"_$C(127)", "\"a\"_$C(127)"),
    SAMPLE("\xc3\xa4", "\"\xc3\xa4\"", "\"\xc3\xa4\""),
    SAMPLE("\xc2\x85", "\"\xc2\"_$C(133)", "$C(133)"),
    SAMPLE("\xc2\xa0", "\"\xc2\xa0\"", "\"\xc2\xa0\""),
    SAMPLE("\xe4\xbd\xa0\xe5", "\"\xe4\xbd\xa0\xe5\"", "\"\xe4\xbd\xa0\"_$ZCH(229)"),
    SAMPLE("\xe5\xa5\xbd\xe4\xb8\x96", "\"\xe5\xa5\xbd\xe4\xb8\"_$C(150)", "\"\xe5\xa5\xbd\xe4\xb8\x96\""),
    SAMPLE("\x85\xff", "$C(133,255)", "$ZCH(133,255)"),
    SAMPLE("\n\xff\n", "$C(10,255,10)", "$C(10)_$ZCH(255)_$C(10)"),
    SAMPLE("\xc0\x80", "\"\xc0\"_$C(128)", "$ZCH(192,128)"),                  /* overlong */
    SAMPLE("\xe0\x9f\xbf", "\"\xe0\"_$C(159)_\"\xbf\"", "$ZCH(224,159,191)"), /* overlong */
    SAMPLE("\xed\xa0\x80", "\"\xed\xa0\"_$C(128)", "$ZCH(237,160,128)"),      /* surrogate */
    SAMPLE("\xf0\x9f\x98\x80", "\"\xf0\"_$C(159,152,128)", "\"\xf0\x9f\x98\x80\""),
    SAMPLE("\xf4\x90\x80\x80", "\"\xf4\"_$C(144,128,128)", "$ZCH(244,144,128,128)"), /* over U+10FFFF */
};

static void texts_are_as_in_the_data_model(void **state)
{
    char text[200], back[200];
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            const char *want = utf8 ? samples[i].in_utf8 : samples[i].in_bytes;

            assert_int_equal(caret_str2zwr(samples[i].bytes, samples[i].n, utf8, text, sizeof text, &len),
                             CARET_OK);
            text[len] = '\0';
            assert_string_equal(text, want);
            assert_int_equal(caret_zwr2str(text, len, utf8, back, sizeof back, &len), CARET_OK);
            assert_int_equal(len, samples[i].n);
            assert_memory_equal(back, samples[i].bytes, len);
        }
    }
}

static void any_bytes_round_trip_in_either_mode(void **state)
{
    struct caret__rand r = seeded(__func__);
    char bytes[64], text[64 * 12], back[64];
    size_t len, back_len;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        size_t n = i < 512 ? 1 : caret__rand_below(&r, 40);
        int utf8 = i & 1;

        caret__rand_bytes(&r, bytes, n);
        for (size_t k = 0; k < n; k++) {
            if (caret__rand_below(&r, 2))
                bytes[k] = "\"\0\xc2\x85\xc3\xa4\xff_$C(1),\n\xf0\x9f\x98\x80"[caret__rand_below(&r, 19)];
        }
        if (i < 512)
            bytes[0] = (char)(i / 2);
        assert_int_equal(caret__zwr_put(bytes, n, utf8, text, sizeof text, &len), CARET_OK);
        assert_int_equal(caret__zwr_get(text, len, utf8, back, sizeof back, &back_len), CARET_OK);
        assert_int_equal(back_len, n);
        assert_memory_equal(back, bytes, n);
    }
}

static void the_needed_length_is_told_and_nothing_written_beyond_the_buffer(void **state)
{
    char text[64], back[8];
    size_t len;

    (void)state;
    for (size_t cap = 0; cap < 13; cap++) {
        memset(text, '#', sizeof text);
        assert_int_equal(caret_str2zwr("ab\n\"", 4, 1, cap ? text : NULL, cap, &len), CARET_E_BUFFER);
        assert_int_equal(len, 16);
        for (size_t i = cap; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
    }
    assert_int_equal(caret_str2zwr("ab\n\"", 4, 1, text, 16, &len), CARET_OK);
    memset(back, '#', sizeof back);
    assert_int_equal(caret_zwr2str(text, 16, 1, back, 3, &len), CARET_E_BUFFER);
    assert_int_equal(len, 4);
    assert_memory_equal(back, "ab\n#", 4);
    assert_string_equal(caret_strerror(CARET_E_BUFFER), "BUFFER");
    assert_memory_equal(caret_message(), "BUFFER: ", 8);
}

static void the_reader_takes_the_other_spellings_too(void **state)
{
    static const char *const cases[][3] = {{"$c(65)_$zch(66)", "AB", "AB"},
                                           {"$CHAR(65,66)_$ZChar(67)", "ABC", "ABC"},
                                           {"\"a\"_\"b\"", "ab", "ab"},
                                           {"\"\"_\"b\"_\"\"", "b", "b"},
                                           {"-12.5", "-12.5", "-12.5"},
                                           {"0", "0", "0"},
                                           {"$C(228)", "\xe4", "\xc3\xa4"},
                                           {"$C(8364)", "\xe2\x82\xac", "\xe2\x82\xac"},
                                           {"$C(128512)", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                                           {"$ZCH(228)", "\xe4", "\xe4"},
                                           {"$C(0065)", "A", "A"}};
    char back[32];
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            assert_int_equal(caret_zwr2str(cases[i][0], strlen(cases[i][0]), utf8, back, sizeof back, &len),
                             CARET_OK);
            assert_int_equal(len, strlen(cases[i][1 + utf8]));
            assert_memory_equal(back, cases[i][1 + utf8], len);
        }
    }
    assert_int_equal(caret_zwr2str("", 0, 1, back, sizeof back, &len), CARET_OK);
    assert_int_equal(len, 0);
}

static void bad_texts_are_refused_with_the_place(void **state)
{
    static const char *const bad[] = {"a",
                                      "\"a",
                                      "\"a\"b",
                                      "\"a\"_",
                                      "_\"a\"",
                                      "$C()",
                                      "$C(",
                                      "$C(1",
                                      "$C(1,)",
                                      "$C(x)",
                                      "$C(-1)",
                                      "$ZCH(256)",
                                      "$C(1114112)",
                                      "$C(99999999999999999999)",
                                      "$C(55296)_\"\"",
                                      "$D(1)",
                                      "$",
                                      "01",
                                      "1.0",
                                      "1E3",
                                      "--1",
                                      "\"a\"__\"b\"",
                                      "1_2",
                                      " \"a\"",
                                      "\"a\" ",
                                      "$C(1)$C(2)",
                                      "1,2",
                                      "1)",
                                      ","};
    char back[32];
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (caret_zwr2str(bad[i], strlen(bad[i]), 1, back, sizeof back, &len) != CARET_E_SYNTAX)
            fail_msg("'%s' was read", bad[i]);
        assert_memory_equal(caret_message(), "SYNTAX: ", 8);
        assert_non_null(strstr(caret_message(), "at byte "));
    }
}

/* No NUL cuts a message off, and no control character reaches a terminal. */
static void texts_in_messages_can_be_read(void **state)
{
    caret_node_buf n;
    char back[32];
    size_t len;

    (void)state;
    assert_int_equal(caret_node_var(&n.node, sizeof n, "^x\0\33y", 5), CARET_E_NAME);
    assert_non_null(strstr(caret_message(), "NAME: \"^x\"_$C(0,27)_\"y\" is not a variable name (%"));
    assert_int_equal(caret_node_var(&n.node, sizeof n,
                                    "^stra\xc3\x9f"
                                    "e",
                                    8),
                     CARET_E_NAME);
    assert_non_null(strstr(caret_message(), "NAME: '^stra\xc3\x9f"
                                            "e' is not a variable name (%"));
    assert_int_equal(caret_node_parse(&n.node, sizeof n, "^x\0y(1)", 7, 1), CARET_E_NAME);
    assert_non_null(strstr(caret_message(), "NAME: \"^x\"_$C(0)_\"y\" is not a variable name (%"));
    assert_int_equal(caret_zwr2str("1\0", 2, 1, back, sizeof back, &len), CARET_E_SYNTAX);
    assert_non_null(strstr(caret_message(), "at byte 0 of \"1\"_$C(0)"));
}

static void long_texts_in_messages_are_cut_between_characters(void **state)
{
    struct caret__shown s;
    char bytes[400];

    (void)state;
    assert_string_equal(caret__shown(&s,
                                     "ab\xc3\x9f"
                                     "c",
                                     5, 3, '\''),
                        "'ab...'");
    assert_string_equal(caret__shown(&s,
                                     "ab\xc3\x9f"
                                     "c",
                                     5, 4, '\''),
                        "'ab\xc3\x9f...'");
    assert_string_equal(caret__shown(&s,
                                     "ab\xc3\x9f"
                                     "c",
                                     5, 5, 0),
                        "ab\xc3\x9f"
                        "c");
    assert_string_equal(caret__shown(&s, "\x9f\x9f\x9f\x9f\x9f", 5, 4, 0), "$ZCH(159,159,159,159)...");
    assert_string_equal(caret__shown(&s, "", 0, 4, '\''), "''");
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i % 2 == 0 ? '\xff' : '"'); /* the longest text */
    for (size_t n = 0; n <= sizeof bytes; n++)
        assert_true(strlen(caret__shown(&s, bytes, n, CARET__SHOWN_MOST, 0)) < sizeof s.text);
}

static void check_node(const char *text, int utf8, const char *again)
{
    caret_node_buf n;
    char back[300];
    size_t len;

    if (caret_node_parse(&n.node, sizeof n, text, strlen(text), utf8) != CARET_OK)
        fail_msg("%s: %s", text, caret_message());
    assert_int_equal(caret_node_zwr(&n.node, utf8, back, sizeof back, &len), CARET_OK);
    back[len] = '\0';
    assert_string_equal(back, again);
}

static void nodes_print_and_read(void **state)
{
    static const char *const same[] = {"^oaks(1,\"shadow\")",
                                       "^oaks",
                                       "oaks",
                                       "%x(\"\")",
                                       "^a(-12.5,.5,0,\"07\",\"1E3\")",
                                       "^a($C(0),\"a\"_$C(10,1)_\"b\")",
                                       "^a(\"say \"\"hi\"\"\",\"),(\")"};

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        check_node(same[i], 0, same[i]);
        check_node(same[i], 1, same[i]);
    }
    check_node("^a(\"7\",\"x\")", 1, "^a(7,\"x\")");
    check_node("^a(\"\xc3\xa4\xff\")", 1, "^a(\"\xc3\xa4\"_$ZCH(255))");
    check_node("^a(\"\xc3\xa4\xff\")", 0, "^a(\"\xc3\xa4\"_$C(255))");
    check_node("^a($C(55))", 1, "^a(7)");
}

static void bad_nodes_are_refused(void **state)
{
    static const struct {
        const char *text;
        int rc;
    } bad[] = {{"", CARET_E_NAME},
               {"^", CARET_E_NAME},
               {"^1", CARET_E_NAME},
               {"^a b", CARET_E_NAME},
               {"(1)", CARET_E_NAME},
               {"^a_b(1)", CARET_E_NAME},
               {"^a23456789012345678901234567890123(1)", CARET_E_NAME},
               {"^a(", CARET_E_SYNTAX},
               {"^a()", CARET_E_SYNTAX},
               {"^a(1", CARET_E_SYNTAX},
               {"^a(1,", CARET_E_SYNTAX},
               {"^a(1,)", CARET_E_SYNTAX},
               {"^a(01)", CARET_E_SYNTAX},
               {"^a(x)", CARET_E_SYNTAX},
               {"^a(1)x", CARET_E_SYNTAX},
               {"^a(1))", CARET_E_SYNTAX},
               {"^a(\"x)", CARET_E_SYNTAX},
               {"^a(1)=2", CARET_E_SYNTAX},
               {"^a( 1)", CARET_E_SYNTAX},
               {"^a(\"x\" )", CARET_E_SYNTAX},
               {"^a(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", CARET_E_MAXSUBS}};
    caret_node_buf n;
    char text[3000];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (caret_node_parse(&n.node, sizeof n, bad[i].text, strlen(bad[i].text), 1) != bad[i].rc)
            fail_msg("%s: %s", bad[i].text, caret_message());
    }
    memset(text, 'x', sizeof text);
    memcpy(text, "^a(\"", 4);
    memcpy(text + sizeof text - 2, "\")", 2);
    assert_int_equal(caret_node_parse(&n.node, sizeof n, text, sizeof text, 1), CARET_E_KEY2BIG);
    assert_int_equal(caret_node_parse(&n.node, sizeof(caret_node) + 16, "^a(\"0123456789012345\")", 22, 1),
                     CARET_E_BUFFER);
}

static void any_key_round_trips_as_text_in_either_mode(void **state)
{
    struct caret__rand r = seeded(__func__);
    char sub[64], text[4000];
    uint8_t key[CARET__KEY_MAX], back[CARET__KEY_MAX];

    (void)state;
    for (int i = 0; i < 50000; i++) {
        size_t n = caret__key_put_name(key, "oaks", 4), len, back_n, add;
        unsigned subs = caret__rand_below(&r, 5);
        bool local;

        for (; subs > 0; subs--, n += add) {
            add = caret__sub_put(key + n, sizeof key - n, sub, rand_sub(&r, sub));
            if (add == 0)
                break;
        }
        assert_int_equal(caret__zwr_put_key(key, n, i % 3 == 0, i & 1, text, sizeof text, &len), CARET_OK);
        assert_int_equal(caret__zwr_get_key(text, len, i & 1, back, &back_n, &local), CARET_OK);
        assert_int_equal(local, i % 3 == 0);
        assert_int_equal(back_n, n);
        assert_memory_equal(back, key, n);
    }
}

static void readers_survive_damaged_text_and_keys(void **state)
{
    static const char start[] = "^oaks(1,\"sh\"\"w\"_$C(10,1)_$ZCH(200),-.5)";
    struct caret__rand r = seeded(__func__);
    char out[64];
    uint8_t key[CARET__KEY_MAX];
    size_t len;
    bool local;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        size_t n = caret__rand_below(&r, sizeof start);
        char *text = malloc(n ? n : 1);

        memcpy(text, start, n);
        for (unsigned k = caret__rand_below(&r, 4); k > 0 && n > 0; k--)
            text[caret__rand_below(&r, (uint32_t)n)] = "\"(),_$C1Z^\xff"[caret__rand_below(&r, 11)];
        (void)caret__zwr_get_key(text, n, i & 1, key, &len, &local);
        (void)caret__zwr_get(text, n, i & 1, out, sizeof out, &len);
        caret__rand_bytes(&r, text, n);
        if (n > 2)
            text[1] = '\0';
        (void)caret__zwr_put_key((const uint8_t *)text, n, false, i & 1, out, sizeof out, &len);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_in_the_data_model),
        cmocka_unit_test(any_bytes_round_trip_in_either_mode),
        cmocka_unit_test(the_needed_length_is_told_and_nothing_written_beyond_the_buffer),
        cmocka_unit_test(the_reader_takes_the_other_spellings_too),
        cmocka_unit_test(bad_texts_are_refused_with_the_place),
        cmocka_unit_test(texts_in_messages_can_be_read),
        cmocka_unit_test(long_texts_in_messages_are_cut_between_characters),
        cmocka_unit_test(nodes_print_and_read),
        cmocka_unit_test(bad_nodes_are_refused),
        cmocka_unit_test(any_key_round_trips_as_text_in_either_mode),
        cmocka_unit_test(readers_survive_damaged_text_and_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
