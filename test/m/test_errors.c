/* The table of errors and constants, and how errors are worded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "caret.h"
#include "m/m.h"

static void numbers_and_names_are_unique(void **state)
{
    size_t n;
    const struct caret_m__error *e = caret_m__errors(&n);

    (void)state;
    assert_int_equal(n, 1619 + 5);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(caret_m__error(e[i].code), &e[i]);
        assert_ptr_equal(caret_m__error(e[i].code < 0 ? -e[i].code : e[i].code), &e[i]);
        for (size_t j = 0; j < i; j++) {
            if (e[i].code < 0) /* TPRESTART is both an error and an outcome */
                assert_string_not_equal(e[i].name, e[j].name);
            assert_string_not_equal(e[i].symbol, e[j].symbol);
        }
    }
}

static void a_number_is_known_with_either_sign(void **state)
{
    (void)state;
    assert_string_equal(caret_m__error(150372994)->name, "GVUNDEF");
    assert_string_equal(caret_m__error(-150372994)->symbol, "YDB_ERR_GVUNDEF");
    assert_string_equal(caret_m__error(CARET_M__TP_RESTART)->name, "TPRESTART");
    assert_null(caret_m__error(-CARET_M__TP_RESTART));
    assert_null(caret_m__error(0));
    assert_null(caret_m__error(INT32_MIN));
}

static void the_letter_is_the_severity(void **state)
{
    (void)state;
    assert_int_equal(caret_m__severity(CARET_M__E_GVUNDEF), 'E');
    assert_int_equal(caret_m__severity(CARET_M__E_FATALERROR2), 'F');
    assert_int_equal(caret_m__severity(CARET_M__TP_ROLLBACK), 'I');
    assert_int_equal(caret_m__severity(-(CARET_M__MIN_YDBERR + 7)), 'E'); /* there is no such */
}

static void wordings_fit_their_room(void **state)
{
    static const char whole[] = "150373210,(Somewhere),%YDB-E-DIVZERO, Attempt to divide by zero";
    char room[100];

    (void)state;
    for (size_t cap = 1; cap <= sizeof room; cap++) {
        memset(room, '#', sizeof room);
        size_t len = caret_m__status(room, cap, CARET_M__E_DIVZERO, "Somewhere", NULL);
        assert_int_equal(len, strlen(room));
        assert_int_equal(len, cap <= strlen(whole) ? cap - 1 : strlen(whole));
        assert_memory_equal(room, whole, len);
        assert_true(cap == sizeof room || room[cap] == '#');
    }
    caret_m__message(room, sizeof room, 150373210, "1/0");
    assert_string_equal(room, "%YDB-E-DIVZERO, 1/0");
    caret_m__message(room, sizeof room, -150375522, NULL);
    assert_string_equal(room, "%YDB-E-INVSTRLEN, Invalid string length !UL: max !UL");
    caret_m__message(room, sizeof room, 2, NULL);
    assert_string_equal(room, "%SYSTEM-E-ENO2, No such file or directory");
    assert_int_equal(caret_m__message(room, sizeof room, -150379999, NULL), 0);
    assert_string_equal(room, "");
}

static void operands_stand_where_the_text_says(void **state)
{
    static const char whole[] = "Invalid string length 49: max 48";
    const char *const operands[] = {"49", "48", NULL};
    char room[100];

    (void)state;
    for (size_t cap = 1; cap <= sizeof room; cap++) {
        memset(room, '#', sizeof room);
        size_t len = caret_m__fill(room, cap, CARET_M__E_INVSTRLEN, operands);
        assert_int_equal(len, cap <= strlen(whole) ? cap - 1 : strlen(whole));
        assert_memory_equal(room, whole, len);
        assert_int_equal(room[len], '\0');
        assert_true(cap == sizeof room || room[cap] == '#');
    }
    caret_m__fill(room, sizeof room, CARET_M__E_INVSTRLEN, operands + 1);
    assert_string_equal(room, "Invalid string length 48: max ");
    caret_m__fill(room, sizeof room, CARET_M__E_UNIMPLOP, operands);
    assert_string_equal(room, "Unimplemented construct encountered");
    assert_int_equal(caret_m__fill(room, sizeof room, 7, operands), 0);
}

/* Whatever Caret returns is an outcome or an error of the table, and only the outside world's are DBFILERR. */
static void every_code_of_caret_has_one(void **state)
{
    (void)state;
    for (int rc = CARET_E_UNSUPPORTED; rc <= CARET_DEADLOCK; rc++)
        if (rc != CARET_OK)
            assert_non_null(caret_m__error(caret_m__code_of(rc)));
    assert_int_equal(caret_m__code_of(CARET_DEADLOCK), CARET_M__LOCK_TIMEOUT);
    assert_int_equal(caret_m__code_of(CARET_E_KEY2BIG), CARET_M__E_KEY2BIG);
    assert_int_equal(caret_m__code_of(CARET_E_IO), CARET_M__E_DBFILERR);
    assert_string_equal(caret_m__said(CARET_E_IO, "IO: no disk"), "IO: no disk");
    assert_string_equal(caret_m__said(CARET_E_SYNTAX, "SYNTAX: what"), "what");
    assert_string_equal(caret_m__said(CARET_E_SYNTAX, "SYNTAX"), "SYNTAX");
    assert_string_equal(caret_m__said(CARET_E_SYNTAX, "other"), "other");
}

static int of_name(const char *name)
{
    return caret_m__name_error(name, strlen(name));
}

static void names_are_too_long_or_wrong(void **state)
{
    (void)state;
    assert_int_equal(of_name("^%abcdefghijklmnopqrstuvwxyz01234"), CARET_M__E_VARNAME2LONG);
    assert_int_equal(of_name("abcdefghijklmnopqrstuvwxyz012345"), CARET_M__E_VARNAME2LONG);
    assert_int_equal(of_name("abcdefghijklmnopqrstuvwxyz01234_"), CARET_M__E_VARNAME2LONG);
    assert_int_equal(of_name("1abcdefghijklmnopqrstuvwxyz012345"), CARET_M__E_INVVARNAME);
    assert_int_equal(of_name("a%"), CARET_M__E_INVVARNAME);
    assert_int_equal(of_name("^"), CARET_M__E_INVVARNAME);
    assert_int_equal(of_name(""), CARET_M__E_INVVARNAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_names_are_unique),
        cmocka_unit_test(a_number_is_known_with_either_sign),
        cmocka_unit_test(the_letter_is_the_severity),
        cmocka_unit_test(wordings_fit_their_room),
        cmocka_unit_test(operands_stand_where_the_text_says),
        cmocka_unit_test(every_code_of_caret_has_one),
        cmocka_unit_test(names_are_too_long_or_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
