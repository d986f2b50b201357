/* ydb_exit, the end of the process, fork and exec, and which database is used: each in a process of its own. */
#include "yottadb/api.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

static void in_child(int (*f)(void), int want)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        exit(f()); /* with what is called at exit */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), want);
}

/* Expressions that should be true, in a child. */
#define NEED(x)                                                                                              \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            print_error("%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                                    \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

static char room[4200];
static ydb_buffer_t ret = {sizeof room, 0, room};

static bool says(const char *name, const char *want)
{
    ydb_buffer_t v = b(name);

    return ydb_get_s(&v, 0, NULL, &ret) == YDB_OK && ret.len_used == strlen(want) &&
           memcmp(room, want, ret.len_used) == 0;
}

static int set_text(const char *name, const char *value)
{
    ydb_buffer_t v = b(name), buf = b(value);

    return ydb_set_s(&v, 0, NULL, &buf);
}

static bool exists(const char *name)
{
    char path[200];

    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return access(path, F_OK) == 0;
}

/* ------------------------------------------------------------------------ exit */

static int nothing_after_exit(void)
{
    char text[200];
    ydb_buffer_t v = b("^a"), err = {sizeof text, 0, text};

    NEED(ydb_exit() == YDB_OK); /* before anything else it does nothing */
    NEED(ydb_init() == YDB_OK && ydb_thread_is_main() == YDB_OK);
    NEED(set_text("^a", "1") == YDB_OK && set_text("a", "1") == YDB_OK);
    NEED(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_OK);
    NEED(ydb_exit() == YDB_OK && ydb_exit() == YDB_OK && ydb_thread_is_main() == YDB_NOTOK);
    NEED(ydb_get_s(&v, 0, NULL, &ret) == YDB_ERR_CALLINAFTERXIT);
    NEED(ydb_get_st(YDB_NOTTP, &err, &v, 0, NULL, &ret) == YDB_ERR_CALLINAFTERXIT);
    NEED(err.len_used > 40 && memcmp(text, "150381530,(SimpleThreadAPI),%YDB-E-CALLINAFTERXIT, ", 51) == 0);
    NEED(ydb_zstatus(text, sizeof text) == YDB_OK && strstr(text, "CALLINAFTERXIT") != NULL);
    NEED(set_text("a", "1") == YDB_ERR_CALLINAFTERXIT);
    NEED(ydb_lock_s(0, 0) == YDB_ERR_CALLINAFTERXIT && ydb_init() == -YDB_ERR_CALLINAFTERXIT);
    NEED(ydb_tp_s((ydb_tpfnptr_t)abort, NULL, "", 0, NULL) == YDB_ERR_CALLINAFTERXIT);
    NEED(ydb_child_init(NULL) == YDB_ERR_CALLINAFTERXIT);
    return 7;
}

static int write_and_end(void)
{
    NEED(set_text("^end", "written") == YDB_OK);
    return 7;
}

static atomic_int writers; /* threads whose first call has come back */

/* Until n threads have. */
static void wait_for_writers(int n)
{
    while (atomic_load(&writers) < n)
        usleep(1000);
}

static void *write_on(void *arg)
{
    ydb_buffer_t v = b("^busy"), s, value = b("x");
    char text[16];
    int rc = YDB_OK;

    for (int i = 0; rc == YDB_OK; i++) {
        s = bytes(text, (size_t)snprintf(text, sizeof text, "%d", i % 1000));
        rc = ydb_set_s(&v, 1, &s, &value);
        if (i == 0)
            atomic_fetch_add(&writers, 1);
    }
    *(int *)arg = rc;
    return NULL;
}

/* In its function until the process has called ydb_exit(), or has ended. */
static int hold_on(void *arg)
{
    (void)arg;
    for (int i = 0; set_text("^busy", "in a transaction") != YDB_ERR_CALLINAFTERXIT; i++) {
        if (i == 0)
            atomic_fetch_add(&writers, 1);
        usleep(1000);
    }
    return YDB_OK;
}

static void *transact_on(void *arg)
{
    *(int *)arg = ydb_tp_s(hold_on, NULL, "", 0, NULL);
    return NULL;
}

/* While threads are in the middle of calls, and of a transaction's function. */
static int exit_beside_threads(void)
{
    pthread_t t[4];
    int rc[4] = {0};

    for (int i = 0; i < 4; i++)
        NEED(pthread_create(&t[i], NULL, i < 3 ? write_on : transact_on, &rc[i]) == 0);
    wait_for_writers(4);
    NEED(ydb_exit() == YDB_OK);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        NEED(rc[i] == YDB_ERR_CALLINAFTERXIT);
    }
    return 7;
}

static int end_beside_threads(void)
{
    pthread_t t;
    static int rc;

    for (int i = 0; i < 4; i++)
        NEED(pthread_create(&t, NULL, i < 3 ? write_on : transact_on, &rc) == 0);
    wait_for_writers(4);
    return 7;
}

/* ------------------------------------------------------------------------ fork */

static int used_in_child(void)
{
    NEED(says("^parent", "set"));
    NEED(says("local", "of the parent"));
    NEED(says("$TLEVEL", "0"));
    NEED(set_text("^child", "set") == YDB_OK);
    ydb_buffer_t v = b("^lock");
    NEED(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_LOCK_TIMEOUT);      /* its parent's */
    NEED(ydb_set_st(YDB_NOTTP, NULL, &v, 0, NULL, NULL) == YDB_OK); /* as the parent used none of these */
    return 7;
}

static int without_st(void)
{
    ydb_buffer_t v = b("^lock");

    NEED(set_text("^parent", "set") == YDB_OK && set_text("local", "of the parent") == YDB_OK);
    NEED(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_OK);
    in_child(used_in_child, 7);
    NEED(says("^child", "set"));
    return 7;
}

static int no_st_in_child(void)
{
    char text[200];
    ydb_buffer_t v = b("^a"), err = {sizeof text, 0, text};

    NEED(ydb_set_st(YDB_NOTTP, &err, &v, 0, NULL, NULL) == YDB_ERR_STAPIFORKEXEC);
    NEED(memcmp(text, "151027962,(SimpleThreadAPI),%YDB-E-STAPIFORKEXEC, ", 50) == 0);
    NEED(ydb_child_init(NULL) == YDB_OK);
    NEED(set_text("^a", "1") == YDB_OK);
    return 7;
}

static int with_st(void)
{
    ydb_buffer_t v = b("^a");

    NEED(ydb_set_st(YDB_NOTTP, NULL, &v, 0, NULL, NULL) == YDB_OK);
    in_child(no_st_in_child, 7);
    return 7;
}

static int in_no_transaction(void)
{
    NEED(says("$TLEVEL", "0"));
    NEED(set_text("^forked", "by the child") == YDB_OK);
    return 7;
}

static int fork_inside(void *arg)
{
    NEED(set_text("^inside", "1") == YDB_OK);
    in_child(in_no_transaction, 7);
    NEED(says("$TLEVEL", "1"));
    return *(int *)arg;
}

static int fork_in_transaction(void)
{
    int code = YDB_TP_ROLLBACK;

    NEED(ydb_tp_s(fork_inside, &code, "", 0, NULL) == YDB_TP_ROLLBACK);
    NEED(says("^forked", "by the child"));
    ydb_buffer_t v = b("^inside");
    NEED(ydb_get_s(&v, 0, NULL, &ret) == YDB_ERR_GVUNDEF);
    return 7;
}

/* A child that comes back from the function of its parent's transaction. */
static int come_back(void *arg)
{
    pid_t *child = arg;

    NEED(set_text("^back", "1") == YDB_OK);
    *child = fork();
    return YDB_OK;
}

static int children_come_back(void)
{
    pid_t child = -1;
    int status = -1, rc = ydb_tp_s(come_back, &child, "", 0, NULL);

    if (child == 0) {
        NEED(rc == YDB_ERR_INVTPTRANS);
        exit(7);
    }
    NEED(rc == YDB_OK && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    NEED(says("^back", "1"));
    return 7;
}

static void *one_set(void *arg)
{
    *(int *)arg = set_text("^thread", "x") | set_text("local", "x");
    return NULL;
}

/* A fork beside threads that work: the child finds nothing half done and no mutex taken. */
static int fork_beside_threads(void)
{
    pthread_t t[3];
    int rc[3];

    for (int i = 0; i < 3; i++)
        NEED(pthread_create(&t[i], NULL, write_on, &rc[i]) == 0);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            pthread_t own;
            int own_rc = -1;
            NEED(set_text("^busy", "child") == YDB_OK);
            NEED(pthread_create(&own, NULL, one_set, &own_rc) == 0 && pthread_join(own, NULL) == 0);
            exit(own_rc == YDB_OK ? 7 : 8);
        }
        NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    NEED(ydb_exit() == YDB_OK);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 7;
}

/* -------------------------------------------------------------------- database */

static int of_gbldir(void)
{
    NEED(says("$ZGBLDIR", getenv("ydb_gbldir")));
    NEED(set_text("^where", "gld") == YDB_OK);
    NEED(exists("app.caret"));
    return 7;
}

static int in_current_folder(void)
{
    unsetenv("CARET_DB");
    NEED(chdir(test_folder) == 0);
    NEED(says("$ZGBLDIR", "./data.caret"));
    NEED(set_text("^where", "here") == YDB_OK);
    NEED(exists("data.caret"));
    return 7;
}

static int several(void)
{
    char one[100], two[100];
    ydb_buffer_t v = b("^a");

    snprintf(one, sizeof one, "%s/one.caret", test_folder);
    snprintf(two, sizeof two, "%s/two.gld", test_folder);
    NEED(set_text("$ZGBLDIR", one) == YDB_OK && set_text("^a", "one") == YDB_OK);
    NEED(set_text("local", "of all") == YDB_OK);
    NEED(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_OK);
    NEED(set_text("$ZGBLDIR", two) == YDB_OK && says("$ZGBLDIR", two));
    NEED(ydb_get_s(&v, 0, NULL, &ret) == YDB_ERR_GVUNDEF);
    NEED(set_text("^a", "two") == YDB_OK && says("local", "of all"));
    NEED(exists("two.caret") && !exists("two.gld"));
    NEED(set_text("$ZGBLDIR", "/nowhere/at/all.caret") == YDB_ERR_ZGBLDIRACC);
    NEED(says("^a", "two") && says("$ZGBLDIR", two)); /* all is as before */
    NEED(set_text("$ZGBLDIR", one) == YDB_OK && says("^a", "one"));
    /* The same file by another name. */
    NEED(set_text("$ZGBLDIR", "./one.gld") == YDB_OK && says("^a", "one"));
    NEED(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_OK);
    NEED(mkdir("below", 0700) == 0 && chdir("below") == 0);
    NEED(set_text("$ZGBLDIR", "./one.gld") == YDB_OK); /* and another file by the same one */
    NEED(ydb_get_s(&v, 0, NULL, &ret) == YDB_ERR_GVUNDEF);
    NEED(set_text("$ZGBLDIR", "") == YDB_OK && says("$ZGBLDIR", getenv("CARET_DB")));
    return 7;
}

static int nowhere(void)
{
    char text[400];

    setenv("CARET_DB", "/nowhere/at/all.caret", 1);
    NEED(set_text("^a", "1") == YDB_ERR_ZGBLDIRACC);
    NEED(ydb_zstatus(text, sizeof text) == YDB_OK && strstr(text, "/nowhere/at/all.caret") != NULL);
    NEED(set_text("local", "works") == YDB_OK);
    return 7;
}

/* Somebody else's. */
static int of_others(void)
{
    char text[400];
    ydb_buffer_t v = b("^end");

    NEED(geteuid() != 0 || seteuid(65534) == 0);
    NEED(says("^end", "written"));
    NEED(set_text("^end", "again") == YDB_ERR_DBFILERR);
    NEED(ydb_zstatus(text, sizeof text) == YDB_OK && strstr(text, "READONLY") != NULL);
    NEED(ydb_lock_incr_s(0, &v, 0, NULL) == YDB_ERR_DBFILERR);
    NEED(says("^end", "written") && set_text("local", "works") == YDB_OK);
    /* LeakSanitizer looks at its own process. */
    NEED(seteuid(getuid()) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    return 7;
}

/* ------------------------------------------------------------------------ main */

/* A new process for each: this program with the name of a case. */
static const struct {
    const char *name;
    int (*f)(void);
} cases[] = {
    {"exit", nothing_after_exit},
    {"write", write_and_end},
    {"exit threads", exit_beside_threads},
    {"end threads", end_beside_threads},
    {"fork", without_st},
    {"fork st", with_st},
    {"fork tp", fork_in_transaction},
    {"fork back", children_come_back},
    {"fork threads", fork_beside_threads},
    {"gbldir", of_gbldir},
    {"folder", in_current_folder},
    {"several", several},
    {"nowhere", nowhere},
    {"others", of_others},
};

static const char *program;

static void try_case(const char *name, const char *settings)
{
    char command[800];

    snprintf(command, sizeof command, "cd '%s' && %s '%s' '%s' '%s'", test_folder, settings, program, name,
             test_folder);
    int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void log_files_are_gone(void)
{
    DIR *dir = opendir(test_folder);

    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        assert_null(strstr(e->d_name, "-log"));
    closedir(dir);
}

static void nothing_works_after_exit(void **state)
{
    (void)state;
    try_case("exit", "");
    log_files_are_gone();
}

static void the_end_of_the_process_closes(void **state)
{
    (void)state;
    try_case("write", "");
    log_files_are_gone();
}

static void exit_waits_for_calls_of_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        try_case("exit threads", "");
        log_files_are_gone();
    }
}

static void the_process_may_end_beside_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        try_case("end threads", "");
}

static void a_child_goes_on(void **state)
{
    (void)state;
    may_fork();
    try_case("fork", "");
}

static void a_child_has_to_exec_for_threads(void **state)
{
    (void)state;
    may_fork();
    try_case("fork st", "");
}

static void a_child_is_in_no_transaction(void **state)
{
    (void)state;
    may_fork();
    try_case("fork tp", "");
    try_case("fork back", "");
}

static void a_child_of_threads_goes_on(void **state)
{
    (void)state;
    may_fork();
    try_case("fork threads", "");
}

static void the_database_is_that_of_the_environment(void **state)
{
    (void)state;
    try_case("gbldir", "ydb_gbldir=$PWD/app.gld");
    try_case("folder", "");
    try_case("nowhere", "");
}

static void the_database_is_that_of_zgbldir(void **state)
{
    (void)state;
    try_case("several", "");
}

static void what_may_not_be_written_can_be_read(void **state)
{
    const char *file = getenv("CARET_DB");

    (void)state;
    try_case("write", "");
    assert_int_equal(chmod(test_folder, 0755) | chmod(file, 0444), 0);
    try_case("others", "");
    assert_int_equal(chmod(test_folder, 0700) | chmod(file, 0600), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_works_after_exit),
        cmocka_unit_test(the_end_of_the_process_closes),
        cmocka_unit_test(exit_waits_for_calls_of_threads),
        cmocka_unit_test(the_process_may_end_beside_threads),
        cmocka_unit_test(a_child_goes_on),
        cmocka_unit_test(a_child_has_to_exec_for_threads),
        cmocka_unit_test(a_child_is_in_no_transaction),
        cmocka_unit_test(a_child_of_threads_goes_on),
        cmocka_unit_test(the_database_is_that_of_the_environment),
        cmocka_unit_test(the_database_is_that_of_zgbldir),
        cmocka_unit_test(what_may_not_be_written_can_be_read),
    };
    if (argc > 2) {
        snprintf(test_folder, sizeof test_folder, "%s", argv[2]);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (strcmp(cases[i].name, argv[1]) == 0)
                return cases[i].f();
        return 1;
    }
    static char self[PATH_MAX];
    program = realpath(argv[0], self) != NULL ? self : argv[0];
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
