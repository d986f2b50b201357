/* caret_lock_all and caret_lock_more: all of a list or none, and what becomes of the locks held before; what
 * caret_check says of locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/session.h"
#include "caret.h"
#include "txn/lock_table.h"

static caret_db *db;
static caret_session *mine, *other;
static caret_node_buf a, b, c;

static int is_free(const caret_node_buf *n)
{
    int rc = caret_lock(other, &n->node, 0);

    if (rc == CARET_OK)
        assert_int_equal(caret_unlock(other, &n->node), CARET_OK);
    return rc == CARET_OK;
}

static int setup(void **state)
{
    (void)state;
    caret_node_var(&a.node, sizeof a, "^a", 2);
    caret_node_var(&b.node, sizeof b, "^b", 2);
    caret_node_var(&c.node, sizeof c, "c", 1);
    caret_unlock_all(mine);
    caret_unlock_all(other);
    return caret_lock(mine, &a.node, 0);
}

static void all_gives_back_the_rest(void **state)
{
    const caret_node *list[] = {&b.node, &c.node};

    (void)state;
    assert_int_equal(caret_lock_all(mine, list, 2, 0), CARET_OK);
    assert_true(is_free(&a));
    assert_false(is_free(&b));
    assert_false(is_free(&c));
}

static void more_keeps_the_rest(void **state)
{
    const caret_node *list[] = {&a.node, &b.node, &c.node};

    (void)state;
    assert_int_equal(caret_lock_more(mine, list, 3, 0), CARET_OK);
    assert_int_equal(caret_unlock(mine, &a.node), CARET_OK);
    assert_false(is_free(&a)); /* it was held twice */
    assert_int_equal(caret_unlock(mine, &a.node), CARET_OK);
    assert_true(is_free(&a));
    assert_false(is_free(&b));
    assert_false(is_free(&c));
}

static void none_is_taken_if_one_is_not_free(void **state)
{
    const caret_node *list[] = {&b.node, &c.node};

    (void)state;
    assert_int_equal(caret_lock(other, &c.node, 0), CARET_OK);
    assert_int_equal(caret_lock_more(mine, list, 2, 1000000), CARET_LOCK_TIMEOUT);
    assert_true(is_free(&b));
    assert_false(is_free(&a));
    assert_int_equal(caret_lock_all(mine, list, 2, 0), CARET_LOCK_TIMEOUT);
    assert_true(is_free(&b));
    assert_true(is_free(&a));
    assert_int_equal(caret_lock_more(mine, NULL, 1, 0), CARET_E_INVALID);
    assert_int_equal(caret_lock_more(mine, list, 65, 0), CARET_E_INVALID);
    assert_int_equal(caret_lock_more(mine, NULL, 0, 0), CARET_OK);
}

static void a_lock_on_a_local_variable_is_sound(void **state)
{
    char report[500];

    (void)state;
    assert_int_equal(caret_lock(mine, &c.node, 0), CARET_OK);
    int rc = caret_check(db, report, sizeof report);
    assert_string_equal(report, "");
    assert_int_equal(rc, CARET_OK);
}

static void findings_among_locks_are_told_and_counted(void **state)
{
    char report[500];

    (void)state;
    caret__lt(db->e)->held++;
    int rc = caret_check(db, report, sizeof report);
    caret__lt(db->e)->held--;
    assert_int_equal(rc, CARET_E_CORRUPT);
    assert_string_equal(report, "locks: 2 names are counted as held, there are 1\n");
    assert_non_null(strstr(caret_message(), " 1 findings"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_gives_back_the_rest, setup),
        cmocka_unit_test_setup(more_keeps_the_rest, setup),
        cmocka_unit_test_setup(none_is_taken_if_one_is_not_free, setup),
        cmocka_unit_test_setup(a_lock_on_a_local_variable_is_sound, setup),
        cmocka_unit_test_setup(findings_among_locks_are_told_and_counted, setup),
    };
    char folder[] = "/tmp/caret-locks-XXXXXX", path[64], command[80];

    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/t.caret", folder);
    if (caret_open(path, NULL, &db) || caret_session_open(db, &mine) || caret_session_open(db, &other))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    caret_session_close(mine);
    caret_session_close(other);
    caret_close(db);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? failed : 1;
}
