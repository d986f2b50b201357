/*
 * What a process has to map of the arena when another one has made it: sixteen slots at a time, not one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/racy.h"
#include "caret.h"
#include "shm/layout.h"
#include "support/nodes.h"

#define EACH   4 /* values of a leaf, in order: 800 bytes each */
#define LEAVES (CARET__ARENA_STEP / 2)

static char path[80];

static long faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used); /* not those of the background thread, which makes more slots */
    return used.ru_minflt;
}

static const char value[800];

static void set(caret_session *s, int64_t i)
{
    caret_node_buf n;

    must(caret_set(s, node_at(&n, "^leaf", i), value, sizeof value), "set");
}

/* A process that comes when the arena is there: page faults while it makes LEAVES leaves. */
static void come(int told)
{
    caret_db *db;
    caret_session *s;

    must(caret_open(path, NULL, &db), "open");
    must(caret_session_open(db, &s), "session");
    for (size_t i = 0; i < CARET__RING_SIZE / sizeof value; i++) /* then all of the ring is mapped */
        set(s, 0);
    long before = faults();
    for (int64_t i = 1; i < LEAVES * EACH; i++)
        set(s, i);
    long n = faults() - before;
    must(write(told, &n, sizeof n) == (ssize_t)sizeof n ? CARET_OK : CARET_E_IO, "write");
    caret_session_close(s);
    must(caret_close(db), "close");
    _exit(0);
}

static bool can_populate(void)
{
#if defined(MADV_POPULATE_WRITE) && !defined(__SANITIZE_ADDRESS__) && !defined(CARET__TSAN)
    long size = sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can = p != MAP_FAILED && madvise(p, (size_t)size, MADV_POPULATE_WRITE) == 0;
    munmap(p, (size_t)size);
    return can;
#else
    return false;
#endif
}

static void slots_are_mapped_by_sixteen(void **state)
{
    caret_db *db;
    int pipes[2], status;
    long n = 0;

    (void)state;
    if (!can_populate()) {
        print_message("skipped: a kernel before 5.14, or a sanitizer, which has faults of its own\n");
        skip();
    }
    must(caret_open(path, NULL, &db), "create");
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0)
        come(pipes[1]);
    assert_int_equal(read(pipes[0], &n, sizeof n), sizeof n);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    must(caret_close(db), "close");
    print_message("%ld page faults for %u leaves\n", n, LEAVES);
    assert_true(n < (long)LEAVES / 2);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_are_mapped_by_sixteen)};

    snprintf(path, sizeof path, "%.40s/caret-mapping-%d.caret", tmp != NULL ? tmp : "/tmp", (int)getpid());
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
    return rc;
}
