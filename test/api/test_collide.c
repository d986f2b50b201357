/*
 * Where transactions collide: the node that is told is the one; whoever dies while it is noted, in whatever order
 * several do so, only whole names are told, and the next collision is noted again.
 */
#include "support/database.h"

#include "support/crowd.h"

#include <time.h>

#include "api/session.h"
#include "base/fault.h"
#include "base/rand.h"
#include "shm/tally.h"

#ifdef CARET_SMALL
enum { NODES = 2000, DEATHS = 30, NOISE = 3000 };
#else
enum { NODES = 20000, DEATHS = 10, NOISE = 20000 };
#endif

static caret_node *at(caret_node_buf *n, const char *zwr)
{
    OK(caret_node_parse(&n->node, sizeof *n, zwr, strlen(zwr), 0));
    return &n->node;
}

static int set(caret_session *s, const char *zwr)
{
    caret_node_buf n;

    return caret_set(s, at(&n, zwr), "x", 1);
}

static int look(caret_session *s, const char *zwr)
{
    caret_node_buf n;
    int data;

    return caret_data(s, at(&n, zwr), &data);
}

/* One that collides, and one that it collides with. */
struct two {
    caret_db *db;
    caret_session *s, *by;
};

static struct two open_two(void)
{
    struct two t = {.db = open_db()};

    OK(caret_session_open(t.db, &t.s));
    OK(caret_session_open(t.db, &t.by));
    return t;
}

static void close_two(struct two *t)
{
    caret_session_close(t->s);
    caret_session_close(t->by);
    OK(caret_close(t->db));
}

/* The same while others are at work: it may collide sooner, and at what they set. */
static void collide_among_others(struct two *t, const char *zwr)
{
    OK(caret_begin(t->s, 0));
    int rc = look(t->s, zwr);
    if (rc == CARET_OK)
        rc = set(t->s, zwr);
    OK(set(t->by, zwr));
    if (rc == CARET_OK)
        rc = caret_commit(t->s);
    if (rc == CARET_RESTART) {
        OK(caret_restart(t->s));
        rc = caret_rollback(t->s);
    }
    OK(rc);
}

/* It has read and set one node, and somebody else has set it meanwhile. */
static void collide_at(struct two *t, const char *zwr)
{
    OK(caret_begin(t->s, 0));
    OK(look(t->s, zwr));
    OK(set(t->s, zwr));
    OK(set(t->by, zwr));
    assert_int_equal(caret_commit(t->s), CARET_RESTART);
    OK(caret_restart(t->s));
    OK(caret_rollback(t->s));
}

/* So often at that name; -1: it is not told. */
static int64_t told(caret_db *db, const char *name)
{
    caret_collision_list *list;
    int64_t found = -1;

    OK(caret_collisions_get(db, &list));
    assert_int_equal(list->size, sizeof *list->collision);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            assert_true(list->collision[i - 1].count >= list->collision[i].count);
        if (strcmp(list->collision[i].name, name) == 0) {
            assert_int_equal(found, -1);
            found = (int64_t)list->collision[i].count;
        }
    }
    caret_collisions_free(list);
    return found;
}

static size_t how_many(caret_db *db)
{
    caret_collision_list *list;

    OK(caret_collisions_get(db, &list));
    size_t n = list->count;
    caret_collisions_free(list);
    return n;
}

static void what_it_would_have_set_is_told(void **state)
{
    struct two t = open_two();
    caret_collision_list *list;
    struct timespec now;

    (void)state;
    OK(set(t.by, "^a"));
    OK(set(t.by, "^z"));
    assert_int_equal(how_many(t.db), 0);
    collide_at(&t, "^counter(\"x y\",5)");
    OK(caret_collisions_get(t.db, &list));
    assert_int_equal(list->count, 1);
    const caret_collision *c = list->collision;
    assert_string_equal(c->name, "^counter(\"x y\",5)");
    assert_int_equal(c->count, 1);
    assert_int_equal(c->above, 0);
    assert_int_equal(c->pid, getpid());
    clock_gettime(CLOCK_REALTIME, &now);
    assert_true(c->time / 1000000000u + 60 >= (uint64_t)now.tv_sec &&
                c->time / 1000000000u <= (uint64_t)now.tv_sec);
    caret_collisions_free(list);
    for (int i = 0; i < 9; i++)
        collide_at(&t, "^counter(\"x y\",5)");
    collide_at(&t, "^other");
    assert_int_equal(told(t.db, "^counter(\"x y\",5)"), 10);
    assert_int_equal(told(t.db, "^other"), 1);
    assert_int_equal(how_many(t.db), 2);
    close_two(&t);
}

/* Where no node was in the leaf, or it comes after all of them, as in a queue. */
static void a_new_last_node_is_told(void **state)
{
    struct two t = open_two();

    (void)state;
    OK(set(t.by, "^queue(1)"));
    OK(caret_begin(t.s, 0));
    OK(look(t.s, "^queue(2)"));
    OK(set(t.s, "^queue(2)"));
    OK(set(t.by, "^queue(1,1)"));
    assert_int_equal(caret_commit(t.s), CARET_RESTART);
    OK(caret_restart(t.s));
    OK(caret_rollback(t.s));
    assert_int_equal(told(t.db, "^queue(2)"), 1);
    close_two(&t);
}

/* Of the leaf that changed, not of another one where it has set something. */
static void it_is_of_the_leaf_that_changed(void **state)
{
    struct two t = open_two();

    (void)state;
    put(t.db, 0, NODES, 10);
    OK(caret_begin(t.s, 0));
    OK(look(t.s, "^t(1)"));
    OK(look(t.s, "^t(1000)"));
    OK(set(t.s, "^t(1)"));
    OK(set(t.s, "^t(1000)"));
    OK(set(t.by, "^t(1000)"));
    assert_int_equal(caret_commit(t.s), CARET_RESTART);
    OK(caret_restart(t.s));
    OK(caret_rollback(t.s));
    assert_int_equal(told(t.db, "^t(1000)"), 1);
    assert_int_equal(how_many(t.db), 1);
    close_two(&t);
}

static void of_one_that_only_reads_the_first_node_is_told(void **state)
{
    struct two t = open_two();

    (void)state;
    OK(set(t.by, "^first"));
    OK(set(t.by, "^second"));
    OK(caret_begin(t.s, 0));
    OK(look(t.s, "^second"));
    OK(set(t.by, "^third"));
    assert_int_equal(look(t.s, "^third"), CARET_RESTART); /* it is found while it reads */
    OK(caret_restart(t.s));
    OK(look(t.s, "^third"));
    OK(caret_commit(t.s));
    assert_int_equal(told(t.db, "^first"), 1);
    close_two(&t);
}

/* The collision of a transaction that has its changes in a tree, not in a list. */
static void collide_in_tree(struct two *t, void change(caret_session *s))
{
    OK(caret_begin(t->s, 0));
    OK(look(t->s, "^m(5)"));
    change(t->s);
    OK(set(t->by, "^m(5)"));
    assert_int_equal(caret_commit(t->s), CARET_RESTART);
    OK(caret_restart(t->s));
    OK(caret_rollback(t->s));
}

static void set_long(caret_session *s)
{
    caret_node_buf n;

    OK(caret_set(s, at(&n, "^m(7)"), text, sizeof text / 2));
}

static void kill_all_of_it(caret_session *s)
{
    caret_node_buf n;

    OK(caret_kill(s, at(&n, "^m")));
}

static void set_very_many(caret_session *s)
{
    caret_node_buf n;

    for (int64_t i = 0; i < 3 * (int64_t)CARET__SPOTS; i++) {
        OK(caret_node_child_int(&n.node, sizeof n, at(&n, "^m"), i * 10));
        OK(caret_set(s, &n.node, "x", 1));
    }
}

static void changes_of_all_forms_are_found(void **state)
{
    struct two t = open_two();

    (void)state;
    OK(set(t.by, "^a"));
    OK(set(t.by, "^m(5)"));
    collide_in_tree(&t, set_long);
    assert_int_equal(told(t.db, "^m(7)"), 1);
    collide_in_tree(&t, set_very_many);
    assert_int_equal(told(t.db, "^m(0)"), 1);
    OK(caret_delete(t.by, at(&(caret_node_buf){0}, "^a"))); /* the first node of the leaf is below ^m */
    collide_in_tree(&t, kill_all_of_it);
    assert_int_equal(told(t.db, "^m"), 1);
    close_two(&t);
}

static void what_is_no_collision_is_not_told(void **state)
{
    struct two t = open_two();

    (void)state;
    OK(caret_begin(t.s, 0)); /* restarted by its program */
    OK(look(t.s, "^a"));
    OK(set(t.s, "^a"));
    OK(caret_restart(t.s));
    OK(set(t.s, "^a"));
    OK(caret_commit(t.s));
    OK(caret_begin(t.s, 0)); /* another leaf would do, but it has not read: it only sets */
    OK(set(t.s, "^b"));
    OK(set(t.by, "^b"));
    OK(caret_commit(t.s));
    assert_int_equal(how_many(t.db), 0);
    close_two(&t);
}

/* Names as long as can be are cut where a subscript ends. */
static void of_a_long_name_a_node_above_is_told(void **state)
{
    struct two t = open_two();
    char name[110] = "^long(1,\"";

    (void)state;
    OK(set(t.by, "^a"));
    memset(name + strlen(name), 'x', 94);
    strcpy(name + 9 + 94, "\")");
    collide_at(&t, name);
    caret_collision_list *list;
    OK(caret_collisions_get(t.db, &list));
    assert_int_equal(list->count, 1);
    assert_string_equal(list->collision->name, "^long(1)");
    assert_int_equal(list->collision->above, 1);
    caret_collisions_free(list);
    close_two(&t);
}

/* Many others come and go: the one that goes on to collide stays, with all its restarts. */
static void those_of_the_last_collisions_stay(void **state)
{
    struct two t = open_two();
    char name[32];

    (void)state;
    for (int i = 0; i < 40 * (int)CARET__COLLISIONS; i++) {
        snprintf(name, sizeof name, "^cold(%d)", i);
        collide_at(&t, name);
        if (i % 2 == 0)
            continue;
        struct timespec before, now; /* so that this one is later, by the coarse clock */
        clock_gettime(CLOCK_REALTIME_COARSE, &before);
        if (i < 8 * (int)CARET__COLLISIONS)
            do
                clock_gettime(CLOCK_REALTIME_COARSE, &now);
            while (now.tv_nsec == before.tv_nsec);
        collide_at(&t, "^hot");
    }
    assert_true(how_many(t.db) <= CARET__COLLISIONS);
    assert_true(told(t.db, "^hot") > 0);
    close_two(&t);
}

/* ------------------------------------------------------------------ deaths, noise */

/* All names that are told are among those that were noted: ^c(0) to ^c(99), or the first node of their leaf. */
static void only_names_that_were(caret_db *db)
{
    caret_collision_list *list;

    OK(caret_collisions_get(db, &list));
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->collision[i].name;
        char *end;
        assert_true(strncmp(name, "^c(", 3) == 0);
        long n = strtol(name + 3, &end, 10);
        assert_true(n >= 0 && n < 100 && strcmp(end, ")") == 0);
        assert_int_equal(list->collision[i].above, 0);
    }
    caret_collisions_free(list);
}

static void collide_at_number(struct two *t, unsigned i)
{
    char name[32];

    snprintf(name, sizeof name, "^c(%u)", i);
    collide_at(t, name);
}

/* A child that collides until it dies at that point. */
static pid_t dies_at(const char *point, unsigned nth, unsigned node)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    struct two t = open_two();
    caret__fault_arm(point, nth, CARET__FAULT_KILL);
    collide_at_number(&t, node);
    print_message("%s was not met\n", point);
    _exit(1);
}

static void ends(pid_t pid, int signal)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status), signal);
}

static void a_death_between_any_two_steps_is_survived(void **state)
{
    static const char *const points[] = {"tally_emptied", "tally_word", "tally_filled"};
    struct two t;

    (void)state;
    need_points();
    t = open_two();
    OK(set(t.by, "^c(0)"));
    for (unsigned i = 0; i < 3; i++)
        for (unsigned nth = 1; nth <= (i == 1 ? CARET__TALLY_WORDS : 1); nth++) {
            unsigned node = (i * 31 + nth * 7) % 100;
            char name[32];
            snprintf(name, sizeof name, "^c(%u)", node);
            ends(dies_at(points[i], nth, node), SIGKILL);
            assert_int_equal(told(t.db, name), -1);
            only_names_that_were(t.db);
            collide_at(&t, name);
            collide_at(&t, name);
            assert_int_equal(told(t.db, name), 2);
        }
    close_two(&t);
}

/* A child that collides here and there for ever. */
static pid_t collides(uint64_t seed)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    struct two t = open_two();
    struct caret__rand rng;
    char name[32];
    caret__rand_seed(&rng, seed);
    atomic_fetch_add(signal_word, 1);
    for (;;) {
        snprintf(name, sizeof name, "^c(%u)", caret__rand_below(&rng, 100));
        collide_among_others(&t, name);
    }
}

static void several_that_are_killed_leave_whole_names(void **state)
{
    caret_db *db = open_db();
    caret_session *s;
    pid_t pids[3];
    uint32_t n = 0;

    (void)state;
    OK(caret_session_open(db, &s));
    OK(set(s, "^c(0)"));
    caret_session_close(s);
    for (unsigned i = 0; i < 3; i++)
        pids[i] = collides(i + 1);
    until(n = 3);
    for (unsigned i = 0; i < DEATHS; i++) {
        UNTIL(how_many(db) > 0);
        for (unsigned k = 0; k < 20; k++)
            only_names_that_were(db);
        kill(pids[i % 3], SIGKILL);
        ends(pids[i % 3], SIGKILL);
        only_names_that_were(db);
        pids[i % 3] = collides(i + 100);
        until(++n);
    }
    for (unsigned i = 0; i < 3; i++) {
        kill(pids[i], SIGKILL);
        ends(pids[i], SIGKILL);
    }
    only_names_that_were(db);
    OK(caret_close(db));
}

/* Memory that somebody wrote over: nothing of it is told but what has a sum, and the table is used on. */
static void noise_is_not_told(void **state)
{
    struct two t = open_two();
    struct caret__rand rng;
    struct caret__shared *sh = t.s->e->sh;

    (void)state;
    caret__rand_seed(&rng, 1);
    for (unsigned i = 0; i < NOISE; i++) {
        struct caret__tally *c = &sh->collisions[caret__rand_below(&rng, CARET__COLLISIONS)];
        _Atomic uint64_t *word = &c->sum + caret__rand_below(&rng, sizeof *c / 8);
        atomic_store(word, atomic_load(word) ^ (UINT64_C(1) << caret__rand_below(&rng, 64)));
        if (i % 16 == 0) {
            collide_at_number(&t, i / 16 % 100);
            only_names_that_were(t.db);
        }
    }
    collide_at(&t, "^c(5)");
    assert_true(told(t.db, "^c(5)") > 0);
    close_two(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_it_would_have_set_is_told),
        TEST(a_new_last_node_is_told),
        TEST(it_is_of_the_leaf_that_changed),
        TEST(of_one_that_only_reads_the_first_node_is_told),
        TEST(changes_of_all_forms_are_found),
        TEST(what_is_no_collision_is_not_told),
        TEST(of_a_long_name_a_node_above_is_told),
        TEST(those_of_the_last_collisions_stay),
        TEST(a_death_between_any_two_steps_is_survived),
        TEST(several_that_are_killed_leave_whole_names),
        TEST(noise_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
