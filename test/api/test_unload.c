/* Hosts that unload the library, or leave without a word, while its background thread lives. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "caret.h"
#include "support/crowd.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__has_feature)
/* What a host leaves open when it goes is what these tests are about. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static char path[80];

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/caret-unload-%d.caret", (int)getpid());
    return 0;
}

static int teardown(void **state)
{
    static const char *const suffixes[] = {"", "-lock", "-log"};
    char name[100];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
    return 0;
}

/* Run in a child, which must end by itself and well. */
static void in_child(void (*run)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        patience(60);
        run();
        exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ^t(1..1000) are there. */
static void all_is_there(void)
{
    caret_options options = {.size = sizeof options, .no_create = 1, .no_thread = 1};
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    caret_slice v;

    assert_int_equal(caret_open(path, &options, &db), CARET_OK);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    for (int i = 1; i <= 1000; i++) {
        caret_node_var(&n.node, sizeof n, "^t", 2);
        caret_node_child_int(&n.node, sizeof n, &n.node, i);
        assert_int_equal(caret_get(s, &n.node, &v), CARET_OK);
        assert_memory_equal(v.data, "value", 5);
    }
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

static void must(int yes, const char *what)
{
    if (!yes) {
        fprintf(stderr, "%s failed\n", what);
        _exit(1);
    }
}

/* The library as the host finds it; NULL: not built. */
static void *library(const char *name)
{
    const char *build = getenv("CARET_BUILD");
    char file[600];
    snprintf(file, sizeof file, "%s/%s", build != NULL ? build : "build", name);
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/* The address of a function in it. */
static void find(void *lib, const char *name, void *function)
{
    void *p = dlsym(lib, name);
    must(p != NULL, name);
    memcpy(function, &p, sizeof p);
}

/* ---------------------------------------------------------------- the C library */

static void write_with(void *lib)
{
    int (*open_db)(const char *, const caret_options *, caret_db **);
    int (*open_session)(caret_db *, caret_session **);
    int (*var)(caret_node *, size_t, const char *, size_t);
    int (*child)(caret_node *, size_t, const caret_node *, int64_t);
    int (*set)(caret_session *, caret_node *, const void *, size_t);
    caret_options options = {.size = sizeof options, .sync_interval = 0.02};
    caret_db *db;
    caret_session *s;
    caret_node_buf n;

    find(lib, "caret_open", &open_db);
    find(lib, "caret_session_open", &open_session);
    find(lib, "caret_node_var", &var);
    find(lib, "caret_node_child_int", &child);
    find(lib, "caret_set", &set);
    must(open_db(path, &options, &db) == CARET_OK, "open");
    must(open_session(db, &s) == CARET_OK, "session");
    for (int i = 1; i <= 1000; i++) {
        var(&n.node, sizeof n, "^t", 2);
        child(&n.node, sizeof n, &n.node, i);
        must(set(s, &n.node, "value", 5) == CARET_OK, "set");
    }
}

static void write_and_unload(void)
{
    void *lib = library("libcaret.so");
    must(lib != NULL, "dlopen");
    write_with(lib);
    must(dlclose(lib) == 0, "dlclose");
    usleep(300000); /* the background thread syncs a few times in between */
}

static void a_library_unloaded_under_its_thread_goes_on_quietly(void **state)
{
    (void)state;
    void *lib = library("libcaret.so");
    if (lib == NULL) {
        print_message("skipped: %s\n", dlerror());
        skip();
    }
    dlclose(lib);
    in_child(write_and_unload);
    all_is_there();
}

static void write_and_exit(void)
{
    write_with(library("libcaret.so"));
    exit(0);
}

static void exit_without_close_loses_nothing(void **state)
{
    (void)state;
    void *lib = library("libcaret.so");
    if (lib == NULL) {
        print_message("skipped: %s\n", dlerror());
        skip();
    }
    in_child(write_and_exit);
    all_is_there();
}

/* ---------------------------------------------------------------- the Lua module */

typedef struct lua_State lua_State;
static void *lua;

static lua_State *run_lua(const char *script)
{
    lua_State *(*new_state)(void), *L;
    void (*open_libs)(lua_State *);
    int (*load)(lua_State *, const char *);
    int (*call)(lua_State *, int, int, int, long, void *);

    find(lua, "luaL_newstate", &new_state);
    find(lua, "luaL_openlibs", &open_libs);
    find(lua, "luaL_loadstring", &load);
    find(lua, "lua_pcallk", &call);
    L = new_state();
    open_libs(L);
    must(load(L, script) == 0, "loading the script");
    must(call(L, 0, 0, 0, 0, NULL) == 0, "the script");
    return L;
}

static lua_State *write_from_lua(void)
{
    static const char form[] =
        "package.cpath, package.path = '%s/lua/5.4/?.so', '%s/lua/5.4/?.lua;%s/lua/5.4/?/init.lua'\n"
        "local db = assert(require 'caret'.open('%s', {sync_interval = 0.02}))\n"
        "for i = 1, 1000 do db.node('^t', i).__ = 'value' end\n"
        "kept = db\n";
    const char *build = getenv("CARET_BUILD");
    char script[3000];

    if (build == NULL)
        build = "build";
    snprintf(script, sizeof script, form, build, build, build, path);
    return run_lua(script);
}

static void close_state(lua_State *L)
{
    void (*close)(lua_State *);
    find(lua, "lua_close", &close);
    close(L); /* unloads the module */
}

static void write_and_close_states(void)
{
    lua_State *first = write_from_lua(), *second = write_from_lua();
    close_state(first);
    usleep(100000);
    close_state(second);
    usleep(100000);
    close_state(write_from_lua()); /* and again from the start */
}

static void a_lua_module_unloaded_with_its_state_can_come_back(void **state)
{
    (void)state;
    void *module = NULL;
    lua = dlopen("liblua5.4.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (lua == NULL || (module = library("lua/5.4/caret.so")) == NULL) {
        print_message("skipped: %s\n", dlerror());
        skip();
    }
    dlclose(module);
    in_child(write_and_close_states);
    all_is_there();
}

/* ------------------------------------------------------------------ threads */

static void *leave_a_session_open(void *arg)
{
    caret_session *s;
    caret_node_buf n;
    if (caret_session_open(arg, &s) != CARET_OK)
        return arg;
    caret_node_var(&n.node, sizeof n, "^u", 2);
    if (caret_begin(s, 0) != CARET_OK || caret_set(s, &n.node, "x", 1) != CARET_OK)
        return arg;
    return NULL; /* its transaction open */
}

static void a_thread_that_ends_with_its_session_open_blocks_nobody(void **state)
{
    (void)state;
    pthread_t t;
    void *failed = NULL;
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    caret_slice v;

    assert_int_equal(caret_open(path, NULL, &db), CARET_OK);
    assert_int_equal(pthread_create(&t, NULL, leave_a_session_open, db), 0);
    pthread_join(t, &failed);
    assert_null(failed);
    assert_int_equal(caret_session_open(db, &s), CARET_OK);
    caret_node_var(&n.node, sizeof n, "^u", 2);
    assert_int_equal(caret_get(s, &n.node, &v), CARET_NONE);
    assert_int_equal(caret_set(s, &n.node, "mine", 4), CARET_OK);
    caret_session_close(s);
    assert_int_equal(caret_close(db), CARET_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_library_unloaded_under_its_thread_goes_on_quietly, setup, teardown),
        cmocka_unit_test_setup_teardown(exit_without_close_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lua_module_unloaded_with_its_state_can_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_with_its_session_open_blocks_nobody, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
