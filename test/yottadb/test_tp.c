/* ydb_tp_s, ydb_tp_st: commit, rollback, restart, nesting, local variables, locks, time. */
#include "yottadb/locks.h"

static int runs;

static int other_set(const char *name, const char *value)
{
    ydb_buffer_t v = *var(name), buf = b(value);
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(ydb_set_s(&v, 0, NULL, &buf) == YDB_OK ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* ----------------------------------------------------------------- one level */

static int set_and_return(void *arg)
{
    put("a", NULL, "inside");
    assert_string_equal(value_of("a", NULL), "inside");
    assert_string_equal(special("$TLEVEL"), "1");
    runs++;
    return *(int *)arg;
}

static void commits(void **state)
{
    int ok = YDB_OK;

    (void)state;
    put("a", NULL, "before");
    assert_int_equal(tp(set_and_return, &ok), YDB_OK);
    assert_string_equal(value_of("a", NULL), "inside");
    assert_string_equal(special("$TLEVEL"), "0");
    assert_int_equal(tp_names(set_and_return, &ok, "BATCH", 0, NULL), YDB_OK);
    assert_int_equal(tp_names(set_and_return, &ok, "ba", 0, NULL), YDB_OK);
    assert_int_equal(tp_names(set_and_return, &ok, NULL, 0, NULL), YDB_OK);
}

/* Whatever it is, it is returned; local variables keep what they got. */
static void undoes_globals_on_anything_else(void **state)
{
    static const int codes[] = {YDB_TP_ROLLBACK,
                                YDB_ERR_GVUNDEF,
                                YDB_ERR_TPCALLBACKINVRETVAL,
                                YDB_NOTOK,
                                YDB_LOCK_TIMEOUT,
                                1,
                                -1,
                                12345};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        int code = codes[i];
        put("a", NULL, "before");
        assert_int_equal(tp(set_and_return, &code), code);
        assert_string_equal(value_of("a", NULL), mode->caret[0] != '\0' ? "before" : "inside");
        assert_string_equal(special("$TLEVEL"), "0");
    }
}

static int restart_twice(void *arg)
{
    char n[8];

    snprintf(n, sizeof n, "%d", runs);
    assert_string_equal(special("$TRESTART"), n);
    put("a", special("$TRESTART"), "mark");
    return runs++ < 2 ? *(int *)arg : YDB_OK;
}

static void begins_again_when_told(void **state)
{
    int codes[] = {YDB_TP_RESTART, YDB_ERR_TPRETRY};

    (void)state;
    for (int i = 0; i < 2; i++) {
        runs = 0;
        assert_int_equal(tp(restart_twice, &codes[i]), YDB_OK);
        assert_int_equal(runs, 3);
        assert_string_equal(value_of("a", "2"), "mark");
        if (mode->caret[0] != '\0')
            assert_string_equal(value_of("a", "0"), "(undefined)");
        assert_string_equal(special("$TRESTART"), "0");
    }
}

/* Another process changes what was read: the commit fails, and the function runs again. */
static int read_then_write(void *arg)
{
    char next[64];

    snprintf(next, sizeof next, "%.60s+", value_of("a", NULL));
    if (runs++ == 0)
        assert_int_equal(other_set("a", "theirs"), 0);
    put("b", NULL, next);
    return *(int *)arg;
}

static void begins_again_on_a_conflict(void **state)
{
    int ok = YDB_OK;

    (void)state;
    may_fork();
    put("a", NULL, "mine");
    runs = 0;
    assert_int_equal(tp(read_then_write, &ok), YDB_OK);
    assert_int_equal(runs, 2);
    assert_string_equal(value_of("b", NULL), "theirs+");
}

/* Once it is known, each call says so. */
static int notice_conflict(void *arg)
{
    static struct out o;

    (void)arg;
    value_of("a", NULL);
    if (runs++ != 0)
        return YDB_OK;
    assert_int_equal(other_set("a", "theirs"), 0);
    int rc = get(var("a"), 0, NULL, out(&o));
    assert_int_equal(rc, YDB_TP_RESTART);
    assert_int_equal(set(var("b"), 0, NULL, NULL), YDB_TP_RESTART);
    return rc;
}

static void calls_say_that_there_is_a_conflict(void **state)
{
    (void)state;
    may_fork();
    put("a", NULL, "mine");
    runs = 0;
    assert_int_equal(tp(notice_conflict, NULL), YDB_OK);
    assert_int_equal(runs, 2);
}

/* --------------------------------------------------------------------- nested */

struct nest {
    unsigned depth, to;
    int said; /* what the innermost returns, and */
    int got;  /* what the one around it saw */
    bool pass_on;
};

static int nest(void *arg)
{
    struct nest *n = arg;
    char text[16];

    n->depth++;
    runs += n->depth == 1;
    snprintf(text, sizeof text, "%u", n->depth);
    assert_string_equal(special("$TLEVEL"), text);
    put("a", text, text);
    int rc = YDB_OK;
    if (n->depth < n->to) {
        rc = n->got = tp(nest, n);
        assert_true(rc != YDB_OK || strcmp(special("$TLEVEL"), text) == 0);
    } else {
        rc = runs > 1 ? YDB_OK : n->said;
    }
    n->depth--;
    return n->depth + 1 == n->to || n->pass_on ? rc : YDB_OK;
}

static void nests_to_126(void **state)
{
    struct nest n = {.to = 126}, deep = {.to = 127, .pass_on = true};

    (void)state;
    runs = 0;
    assert_int_equal(tp(nest, &n), YDB_OK);
    assert_string_equal(value_of("a", "126"), "126");
    assert_int_equal(n.got, YDB_OK);
    put("a", "126", "kept");
    assert_int_equal(tp(nest, &deep), YDB_ERR_TPTOODEEP);
    fails(deep.got, TPTOODEEP, "$TLEVEL cannot exceed 127");
    assert_string_equal(special("$TLEVEL"), "0");
    if (mode->caret[0] != '\0')
        assert_string_equal(value_of("a", "126"), "kept");
}

static void undoes_the_inner_level_alone(void **state)
{
    struct nest n = {.to = 3, .said = YDB_TP_ROLLBACK};

    (void)state;
    runs = 0;
    n.got = 0;
    assert_int_equal(tp(nest, &n), YDB_OK);
    assert_string_equal(value_of("a", "2"), "2");
    if (mode->caret[0] != '\0')
        assert_string_equal(value_of("a", "3"), "(undefined)");
}

/* Whether or not those around pass it on. */
static void begins_all_again_from_the_inside(void **state)
{
    (void)state;
    for (int pass_on = 0; pass_on < 2; pass_on++) {
        struct nest n = {.to = 3, .said = YDB_TP_RESTART, .pass_on = pass_on};
        runs = 0;
        assert_int_equal(tp(nest, &n), YDB_OK);
        assert_int_equal(runs, 2);
        assert_string_equal(value_of("a", "3"), "3");
    }
}

/* --------------------------------------------------------- local variables */

static int change_locals(void *arg)
{
    static const struct mode *const local = &modes[1];
    const struct mode *own = mode;

    (void)arg;
    if (runs == 1) { /* the second time */
        mode = local;
        put("seen", "x", value_of("x", "1"));
        put("seen", "y", value_of("y", NULL));
        put("seen", "new", value_of("new", NULL));
        mode = own;
    }
    mode = local;
    put("x", "1", "changed");
    put("x", "2", "added");
    put("y", NULL, "changed");
    put("new", NULL, "made");
    mode = own;
    return runs++ == 0 ? YDB_TP_RESTART : YDB_OK;
}

/* names -> what the second run sees of x(1), y, new. */
static void try_locals(int n, const ydb_buffer_t *names, const char *x, const char *y, const char *new)
{
    const struct mode *own = mode;

    ydb_delete_excl_s(0, NULL);
    mode = &modes[1];
    put("x", "1", "before");
    put("y", NULL, "before");
    mode = own;
    runs = 0;
    assert_int_equal(tp_names(change_locals, NULL, "", n, names), YDB_OK);
    mode = &modes[1];
    assert_string_equal(value_of("seen", "x"), x);
    assert_string_equal(value_of("seen", "y"), y);
    assert_string_equal(value_of("seen", "new"), new);
    assert_string_equal(value_of("x", "1"), "changed"); /* the commit keeps what the last run did */
    mode = own;
}

static void gives_local_variables_back_when_it_begins_again(void **state)
{
    ydb_buffer_t x = b("x"), all = b("*"), two[2] = {b("x"), b("new")};

    (void)state;
    try_locals(0, NULL, "changed", "changed", "made");
    try_locals(1, &x, "before", "changed", "made");
    try_locals(2, two, "before", "changed", "(undefined)");
    ydb_delete_excl_s(0, NULL);
    runs = 0;
    const struct mode *own = mode;
    mode = &modes[1];
    put("x", "1", "before");
    put("y", NULL, "before");
    mode = own;
    assert_int_equal(tp_names(change_locals, NULL, "", 1, &all), YDB_OK);
    mode = &modes[1];
    assert_string_equal(value_of("seen", "x"), "before");
    assert_string_equal(value_of("seen", "y"), "before");
    assert_string_equal(value_of("seen", "new"), "(undefined)");
    mode = own;
}

static void refuses_names_that_are_none(void **state)
{
    ydb_buffer_t names[36];
    int ok = YDB_OK;

    (void)state;
    for (int i = 0; i < 36; i++)
        names[i] = b("same");
    runs = 0;
    assert_int_equal(tp_names(set_and_return, &ok, "", 35, names), YDB_OK);
    assert_int_equal(runs, 1);
    fails(tp_names(set_and_return, &ok, "", 36, names), NAMECOUNT2HI,
          "in a ydb_tp_s() call (36) exceeds the maximum (35)");
    fails(tp_names(set_and_return, &ok, "", -1, names), INVNAMECOUNT, "in a ydb_tp_s() call");
    fails(tp_names(set_and_return, &ok, "", 1, NULL), PARAMINVALID, "NULL varnames parameter");
    names[0] = b("^g");
    fails(tp_names(set_and_return, &ok, "", 1, names), GVNUNSUPPORTED,
          "Global variable name ^g not supported in ydb_tp_s() call");
    names[0] = b("$JOB");
    fails(tp_names(set_and_return, &ok, "", 1, names), ISVUNSUPPORTED,
          "ISV variable name $JOB not supported in ydb_tp_s() call");
    names[0] = b("1");
    fails(tp_names(set_and_return, &ok, "", 1, names), INVVARNAME, "variable name 1 supplied");
    int rc =
        mode->st ? ydb_tp_st(token, &errstr, NULL, NULL, "", 0, NULL) : ydb_tp_s(NULL, NULL, "", 0, NULL);
    fails(rc, PARAMINVALID, "NULL tpfn parameter specified in ydb_tp_s() call");
    rc = mode->st ? ydb_tp_st(token, &errstr, NULL, NULL, "", 36, NULL) : ydb_tp_s(NULL, NULL, "", 36, NULL);
    fails(rc, NAMECOUNT2HI, "(36)");
    names[0] = names[1] = b("*"); /* only one that is alone means all */
    assert_int_equal(tp_names(set_and_return, &ok, "", 1, names), YDB_OK);
    runs--;
    fails(tp_names(set_and_return, &ok, "", 2, names), INVVARNAME, "variable name * supplied");
    assert_int_equal(runs, 1);
}

/* ----------------------------------------------------------------------- locks */

static int take_locks(void *arg)
{
    ydb_buffer_t one = b("1");

    assert_int_equal(lock_incr(0, var("l"), 1, &one), YDB_OK);
    if (runs == 0)
        assert_int_equal(lock_incr(0, var("first"), 0, NULL), YDB_OK);
    assert_false(is_free("l", "1"));
    runs++;
    return runs == 1 ? *(int *)arg : YDB_OK;
}

static void gives_locks_back_when_undone(void **state)
{
    int code = YDB_TP_ROLLBACK;

    (void)state;
    may_fork();
    assert_int_equal(lock_incr(0, var("l"), 0, NULL), YDB_OK); /* was held before */
    runs = 0;
    assert_int_equal(tp(take_locks, &code), YDB_TP_ROLLBACK);
    assert_false(is_free("l", NULL));
    assert_true(is_free("first", NULL));
    assert_int_equal(lock_decr(var("l"), 0, NULL), YDB_OK);
    assert_true(is_free("l", NULL));
}

/* They count once, and what the last run did not take is given back. */
static void keeps_locks_when_it_begins_again(void **state)
{
    int code = YDB_TP_RESTART;
    ydb_buffer_t one = b("1");

    (void)state;
    may_fork();
    runs = 0;
    assert_int_equal(tp(take_locks, &code), YDB_OK);
    assert_int_equal(runs, 2);
    assert_false(is_free("l", "1"));
    assert_true(is_free("first", NULL));
    assert_int_equal(lock_decr(var("l"), 1, &one), YDB_OK);
    assert_true(is_free("l", "1"));
}

static int lock_list(const char *name)
{
    if (mode->st)
        return name == NULL ? ydb_lock_st(token, &errstr, 0, 0)
                            : ydb_lock_st(token, &errstr, 0, 1, var(name), 0, NULL);
    return name == NULL ? ydb_lock_s(0, 0) : ydb_lock_s(0, 1, var(name), 0, NULL);
}

static const char tplock[] = "Cannot release LOCK(s) held prior to current TSTART";

static int keep_those_of_before(void *arg)
{
    assert_int_equal(lock_incr(0, var("l"), 0, NULL), YDB_OK);
    assert_int_equal(lock_decr(var("l"), 0, NULL), YDB_OK);
    fails(lock_decr(var("l"), 0, NULL), TPLOCK, tplock); /* that of before */
    assert_int_equal(lock_decr(var("other"), 0, NULL), YDB_OK);
    fails(lock_list("m"), TPLOCK, tplock);
    fails(lock_list(NULL), TPLOCK, tplock);
    assert_int_equal(lock_incr(0, var("n"), 0, NULL), YDB_OK);
    fails(lock_list(NULL), TPLOCK, tplock);
    return *(int *)arg;
}

/* As GT.M has it: a level releases what it took, neither what was held before nor what is of a level around it. */
static void what_is_of_before_is_not_released(void **state)
{
    int code = YDB_TP_ROLLBACK, commit = YDB_OK;

    (void)state;
    may_fork();
    assert_int_equal(lock_incr(0, var("l"), 0, NULL), YDB_OK);
    assert_int_equal(tp(keep_those_of_before, &code), YDB_TP_ROLLBACK);
    assert_false(is_free("l", NULL));
    assert_true(is_free("n", NULL));
    assert_true(is_free("m", NULL));
    assert_int_equal(tp(keep_those_of_before, &commit), YDB_OK);
    assert_false(is_free("n", NULL));
    assert_int_equal(lock_list(NULL), YDB_OK);
    assert_true(is_free("l", NULL));
}

static int inner_lists(void *arg)
{
    (void)arg;
    fails(lock_list("b"), TPLOCK, tplock);
    fails(lock_decr(var("a"), 0, NULL), TPLOCK, tplock);
    assert_int_equal(lock_incr(0, var("c"), 0, NULL), YDB_OK);
    fails(lock_list(NULL), TPLOCK, tplock);
    return YDB_OK;
}

static int lists(void *arg)
{
    assert_int_equal(lock_list("z"), YDB_OK);
    assert_int_equal(lock_list("a"), YDB_OK); /* its own may go */
    assert_true(is_free("z", NULL));
    assert_int_equal(tp(inner_lists, NULL), YDB_OK);
    assert_int_equal(lock_decr(var("c"), 0, NULL), YDB_OK); /* the inner level's are this one's now */
    if (runs++ == 0)
        return *(int *)arg;
    return YDB_OK;
}

static void a_list_releases_what_its_level_took(void **state)
{
    int codes[] = {YDB_OK, YDB_TP_RESTART, YDB_TP_ROLLBACK};

    (void)state;
    may_fork();
    for (int i = 0; i < 3; i++) {
        runs = 0;
        assert_int_equal(tp(lists, &codes[i]), i == 2 ? YDB_TP_ROLLBACK : YDB_OK);
        assert_true(is_free("a", NULL) == (i == 2));
        assert_true(is_free("c", NULL));
        assert_int_equal(lock_list(NULL), YDB_OK);
        assert_true(is_free("a", NULL));
    }
}

/* ------------------------------------------------------------------------ time */

static int take_too_long(void *arg)
{
    static struct out o;

    put("a", NULL, "inside");
    usleep(1050000);
    if (*(int *)arg == 0)
        return YDB_OK;
    int rc = get(var("a"), 0, NULL, out(&o));
    fails(rc, TPTIMEOUT, "Transaction timeout");
    return rc;
}

static void ends_after_maxtptime(void **state)
{
    ydb_buffer_t limit = b("$ZMAXTPTIME"), one = b("1"), zero = b("0");

    (void)state;
    put("a", NULL, "before");
    assert_int_equal(set(&limit, 0, NULL, &one), YDB_OK);
    for (int asks = 0; asks < 2; asks++)
        fails(tp(take_too_long, &asks), TPTIMEOUT, "Transaction timeout");
    assert_int_equal(set(&limit, 0, NULL, &zero), YDB_OK);
    assert_string_equal(value_of("a", NULL), "before");
}

/* ---------------------------------------------------------------------- tokens */

static uint64_t kept;

static int keep_token(void *arg)
{
    static struct out o;
    uint64_t mine = token;

    (void)arg;
    assert_true(mine != YDB_NOTTP);
    if (runs != 0) { /* that of the run before is worth nothing now */
        token = kept;
        fails(get(var("a"), 0, NULL, out(&o)), INVTPTRANS, "either invalid TP token or");
    }
    kept = mine;
    token = YDB_NOTTP;
    fails(get(var("a"), 0, NULL, out(&o)), INVTPTRANS, "either invalid TP token or");
    token = mine + 1;
    fails(get(var("a"), 0, NULL, out(&o)), INVTPTRANS, "either invalid TP token or");
    token = mine;
    return runs++ == 0 ? YDB_TP_RESTART : YDB_OK;
}

static int inner_token(void *arg)
{
    static struct out o;
    uint64_t mine = token;

    (void)arg;
    token = kept;
    fails(get(var("a"), 0, NULL, out(&o)), INVTPTRANS, "either invalid TP token or");
    token = mine;
    return YDB_OK;
}

static int outer_token(void *arg)
{
    (void)arg;
    kept = token;
    return tp(inner_token, NULL);
}

static void tokens_are_of_one_run_and_level(void **state)
{
    struct out o;
    uint64_t first;

    (void)state;
    runs = 0;
    assert_int_equal(tp(keep_token, NULL), YDB_OK);
    first = kept;
    token = first;
    fails(get(var("a"), 0, NULL, out(&o)), INVTPTRANS, "either invalid TP token or");
    token = ~0ull;
    fails(get(var("a"), 0, NULL, out(&o)), INVTPTRANS, "either invalid TP token or");
    token = YDB_NOTTP;
    assert_int_equal(tp(outer_token, NULL), YDB_OK);
    assert_true(kept != first);
}

static int exit_inside(void *arg)
{
    ydb_buffer_t dir = b("$ZGBLDIR"), other = b("/nowhere/x.gld");

    (void)arg;
    fails(-ydb_exit(), INVYDBEXIT, "Inappropriate invocation of ydb_exit()");
    fails(set(&dir, 0, NULL, &other), UNIMPLOP, "transaction");
    return YDB_OK;
}

static void can_not_end_the_process_or_change_the_database(void **state)
{
    (void)state;
    bool st = mode->st;
    mode = st ? &modes[2] : &modes[0];
    if (!st) /* the text goes to errstr of one kind only */
        assert_int_equal(tp(exit_inside, NULL), YDB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(commits),
        EACH(undoes_globals_on_anything_else),
        EACH(begins_again_when_told),
        BOTH(begins_again_on_a_conflict),
        BOTH(calls_say_that_there_is_a_conflict),
        EACH(nests_to_126),
        EACH(undoes_the_inner_level_alone),
        EACH(begins_all_again_from_the_inside),
        BOTH(gives_local_variables_back_when_it_begins_again),
        BOTH(refuses_names_that_are_none),
        EACH(gives_locks_back_when_undone),
        EACH(keeps_locks_when_it_begins_again),
        EACH(what_is_of_before_is_not_released),
        EACH(a_list_releases_what_its_level_took),
        ONCE(ends_after_maxtptime),
        ONE_(tokens_are_of_one_run_and_level, "", &modes[2]),
        ONCE(can_not_end_the_process_or_change_the_database),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
