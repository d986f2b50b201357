/* What a session remembers of where keys were found: never taken for that of another store, and not lost at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/session.h"
#include "base/rand.h"
#include "support/nodes.h"

#define SESSIONS 6
#define NODES    3000

static char path[80];

static void expect(caret_session *s, caret_node_buf *n, const char *text)
{
    caret_slice v;

    assert_int_equal(caret_get(s, &n->node, &v), CARET_OK);
    assert_int_equal(v.len, strlen(text));
    assert_memory_equal(v.data, text, v.len);
}

/* The same subscripts below a global and a local variable of one name, in turns: the keys are the same bytes. */
static void locals_and_globals_of_one_name_are_kept_apart(void **state)
{
    caret_db *db;
    caret_session *s[SESSIONS];
    caret_node_buf n;

    (void)state;
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    for (int k = 0; k < SESSIONS; k++) { /* one after the other: their locals are the stores 1, 2, ... */
        assert_int_equal(caret_session_open(db, &s[k]), CARET_OK);
        node_at(&n, "a", 1);
        assert_int_equal(caret_set(s[k], &n.node, "local", 5), CARET_OK);
        assert_true(s[k]->locals.pg.id != s[k]->global.pg->id);
        for (int i = 0; k == 0 && i < NODES; i++) {
            node_at(&n, "^a", i);
            assert_int_equal(caret_set(s[k], &n.node, "global", 6), CARET_OK);
        }
    }
    for (int k = 0; k < SESSIONS; k++) {
        for (int i = NODES - 1; i > 0; i -= 7) {
            node_at(&n, "^a", i);
            expect(s[k], &n, "global");
            node_at(&n, "a", i);
            caret_slice v;
            assert_int_equal(caret_get(s[k], &n.node, &v), i == 1 ? CARET_OK : CARET_NONE);
        }
        caret_session_close(s[k]);
    }
    assert_int_equal(caret_close(db), CARET_OK);
}

/* Groups that lie side by side have places of their own: they are needed at the same time. */
static void groups_side_by_side_have_places_of_their_own(void **state)
{
    static struct caret__leaves leaves;
    caret_node_buf n;
    unsigned used = 0;

    (void)state;
    for (int i = 1000; i < 21000; i += 100) {
        node_at(&n, "^neighbours", i + 1);
        uint32_t tag =
            caret__near_tag(7, caret__node_key(caret__node(&n.node)), caret__node(&n.node)->key_len);
        struct caret__leaf *l = caret__leaf_of(&leaves, tag);
        used += l->tag == 0;
        l->tag = tag;
    }
    assert_true(used > 170); /* of 200; at random it would be 190 */
}

/* Where guesses are wrong few are made; all are again when they are right. */
static void guesses_are_made_where_they_are_right(void **state)
{
    static struct caret__leaves leaves;
    unsigned made = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        bool now = caret__shall_guess(&leaves);
        made += now;
        if (now)
            caret__guessed(&leaves, i % 8 == 0);
    }
    assert_in_range(made, 60, 150);
    for (int i = 0; i < 1000; i++)
        if (caret__shall_guess(&leaves))
            caret__guessed(&leaves, i % 5 != 0);
    for (int i = 0; i < 100; i++)
        assert_true(caret__shall_guess(&leaves));
}

/* One session appends between the keys of another, leaf after leaf, whose last key is followed by another leaf's bound;
 * the other changes the same leaves now and then.  A third one finds everything where it belongs. */
static void appended_keys_are_in_their_leaf(void **state)
{
    caret_db *db;
    caret_session *s[3];
    caret_node_buf n;
    char report[400];

    (void)state;
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    for (int k = 0; k < 3; k++)
        assert_int_equal(caret_session_open(db, &s[k]), CARET_OK);
    for (int i = 0; i < NODES; i += 3) {
        node_at(&n, "^b", i);
        assert_int_equal(caret_set(s[0], &n.node, "first", 5), CARET_OK);
    }
    for (int i = 0; i < 2 * NODES; i++) {
        node_at(&n, "^b", i);
        if (i % 3 != 0 || i >= NODES)
            assert_int_equal(caret_set(s[1], &n.node, "append", 6), CARET_OK);
        node_at(&n, "^b", i + 40);
        if (i >= NODES && i % 41 == 0)
            assert_int_equal(caret_set(s[0], &n.node, "other", 5), CARET_OK);
    }
    for (int i = 0; i < 2 * NODES; i++) {
        node_at(&n, "^b", i);
        expect(s[2], &n, i % 3 == 0 && i < NODES ? "first" : "append");
    }
    assert_int_equal(caret_check(db, report, sizeof report), CARET_OK);
    for (int k = 0; k < 3; k++)
        caret_session_close(s[k]);
    assert_int_equal(caret_close(db), CARET_OK);
}

/* Keys that are read and set in order, one after the other, each twice, or over again, are found beside the last. */
static void keys_in_order_are_found_beside_the_last(void **state)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    unsigned beside = 0;

    (void)state;
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (int i = 0; i < 4 * NODES; i++) {
        struct caret__last before = s->leaves.last;
        caret_slice v;
        node_at(&n, "^c", i / 4 + 10000 * (i % 4 == 3));
        if (i % 2 == 0)
            assert_int_equal(caret_set(s, &n.node, "v", 1), CARET_OK);
        else
            assert_int_equal(caret_get(s, &n.node, &v), i % 4 == 1 ? CARET_OK : CARET_NONE);
        beside += before.pgno == s->leaves.last.pgno && s->leaves.last.in_order;
    }
    for (int i = 0; i < NODES; i++) {
        node_at(&n, "^c", i);
        expect(s, &n, "v");
    }
    assert_true(beside > NODES);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

/* Keys that are appended in order raise no doubt about guesses, which would mean a descent for each. */
static void keys_in_order_raise_no_doubt(void **state)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;

    (void)state;
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (int i = 0; i < 8 * NODES; i++) {
        node_at(&n, "^e", i);
        assert_int_equal(caret_set(s, &n.node, "v", 1), CARET_OK);
        assert_in_range(s->leaves.doubt, 0, CARET__DOUBT);
    }
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

#define KEYS 1500

/* Two sessions go on in order, here and there, read, set and delete, also by the same keys of a local
 * variable: all that they read is what is there. */
static void what_is_found_beside_the_last_is_the_key(void **state)
{
    static int model[2][KEYS + 8], at[2];
    struct caret__rand r;
    caret_db *db;
    caret_session *s[2];
    caret_node_buf n;

    (void)state;
    caret__rand_seed(&r, 5);
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(caret_session_open(db, &s[k]), CARET_OK);
    for (int i = 1; i < 60000; i++) {
        unsigned k = caret__rand_below(&r, 40) == 0, way = caret__rand_below(&r, 100);
        bool local = k == 0 && caret__rand_below(&r, 5) == 0;
        int *here = &model[local][0], *to = &at[k];
        *to = way < 80 ? *to + 1 : way < 95 ? *to : way < 97 ? *to - 1 : (int)caret__rand_below(&r, KEYS);
        *to = (*to + KEYS) % KEYS;
        node_at(&n, local ? "d" : "^d", *to);
        unsigned what = caret__rand_below(&r, 10);
        char text[16];
        if (what < 4) {
            here[*to] = i;
            assert_int_equal(caret_set(s[k], &n.node, text, (size_t)sprintf(text, "%d", i)), CARET_OK);
        } else if (what < 5) {
            here[*to] = 0;
            assert_int_equal(caret_delete(s[k], &n.node), CARET_OK);
        } else if (here[*to] != 0) {
            sprintf(text, "%d", here[*to]);
            expect(s[k], &n, text);
        } else {
            caret_slice v;
            assert_int_equal(caret_get(s[k], &n.node, &v), CARET_NONE);
        }
    }
    char report[400];
    assert_int_equal(caret_check(db, report, sizeof report), CARET_OK);
    for (int k = 0; k < 2; k++)
        caret_session_close(s[k]);
    assert_int_equal(caret_close(db), CARET_OK);
}

/* A transaction sets the node; before it commits, another session inserts one. */
static void set_in_txn(caret_session *s, caret_node_buf *n, const char *text, caret_session *other,
                       int inserts)
{
    caret_node_buf in;
    caret_slice v;

    assert_int_equal(caret_begin(s, 0), CARET_OK);
    if (other == NULL)
        assert_true(caret_get(s, &n->node, &v) >= CARET_OK);
    assert_int_equal(caret_set(s, &n->node, text, strlen(text)), CARET_OK);
    if (other != NULL) {
        node_at(&in, "^places", inserts);
        assert_int_equal(caret_set(other, &in.node, "x", 1), CARET_OK);
    }
    assert_int_equal(caret_commit(s), CARET_OK);
}

/* A hint of before an own commit is still used after it, but only if that has moved no key, and nobody else has. */
static void a_hint_of_before_a_commit_leads_to_its_key(void **state)
{
    caret_db *db;
    caret_session *s, *other;
    caret_node_buf a, b, n;

    (void)state;
    unlink(path);
    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    assert_int_equal(caret_session_open(db, &other), CARET_OK);
    for (int i = 10; i <= 30; i += 10) {
        char text[8];
        node_at(&n, "^places", i);
        assert_int_equal(caret_set(s, &n.node, text, (size_t)snprintf(text, sizeof text, "%d", i)), CARET_OK);
    }
    node_at(&a, "^places", 20);
    node_at(&b, "^places", 30);
    for (int i = 0; i < 4; i++) { /* nothing moves; a key is inserted; the other inserts one; nothing moves */
        expect(s, &a, "20");
        expect(s, &b, "30");
        node_at(&n, "^places", 15);
        set_in_txn(s, i == 1 ? &n : &a, i == 1 ? "15" : "20", i == 2 ? other : NULL, 12);
        assert_int_equal(s->leaves.last.before != 0, i == 0 || i == 3);
        expect(s, &b, "30");
        expect(s, &a, "20");
    }
    caret_session_close(other);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/caret-leaves-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locals_and_globals_of_one_name_are_kept_apart),
        cmocka_unit_test(groups_side_by_side_have_places_of_their_own),
        cmocka_unit_test(guesses_are_made_where_they_are_right),
        cmocka_unit_test(appended_keys_are_in_their_leaf),
        cmocka_unit_test(keys_in_order_are_found_beside_the_last),
        cmocka_unit_test(keys_in_order_raise_no_doubt),
        cmocka_unit_test(what_is_found_beside_the_last_is_the_key),
        cmocka_unit_test(a_hint_of_before_a_commit_leads_to_its_key),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    char lock[96];
    unlink(path);
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
    return rc;
}
