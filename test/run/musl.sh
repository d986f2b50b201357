#!/bin/sh
# The engine with musl, Alpine's C library: two files of it compile without a warning, and a short program sets,
# counts, runs transactions, locks and waits in several processes and threads, one of which is killed.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need lua5.4 musl-gcc
cd "$dir" || exit 1

lua5.4 "$source/tools/amalgamate.lua" "$dir" >out 2>&1
note $? "tools/amalgamate.lua"
cat >program.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caret.h"

#define MUST(what)                                                                                                     \
    do {                                                                                                               \
        int rc = (what);                                                                                               \
        if (rc != CARET_OK) {                                                                                          \
            fprintf(stderr, "line %d: %d: %s\n", __LINE__, rc, caret_message());                                       \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { PROCESSES = 3, TIMES = 2000 };

static caret_db *db;
static caret_node_buf count, sum, job;

static void *work(void *unused)
{
    caret_session *s;
    caret_slice text;

    MUST(caret_session_open(db, &s));
    for (int i = 0; i < TIMES; i++) {
        int64_t now;
        MUST(caret_incr_int(s, &count.node, 1, 0, &now));
        int rc = caret_begin(s, 0);
        while (rc == CARET_OK) {
            rc = caret_incr(s, &sum.node, "0.5", 3, &text);
            if (rc == CARET_OK)
                rc = caret_commit(s);
            if (rc != CARET_RESTART)
                break;
            rc = caret_restart(s);
        }
        MUST(rc);
    }
    caret_session_close(s);
    return unused;
}

static void run_process(const char *path)
{
    pthread_t thread;

    MUST(caret_open(path, NULL, &db));
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        _exit(1);
    work(NULL);
    pthread_join(thread, NULL);
    MUST(caret_close(db));
    _exit(0);
}

/* A process that dies with a lock. */
static void run_victim(const char *path)
{
    caret_session *s;

    MUST(caret_open(path, NULL, &db));
    MUST(caret_session_open(db, &s));
    MUST(caret_lock(s, &job.node, 1000000000));
    raise(SIGKILL);
}

static pid_t start(void (*run)(const char *), const char *path)
{
    pid_t pid = fork();
    if (pid == 0)
        run(path);
    return pid;
}

int main(int argc, char **argv)
{
    caret_session *s;
    caret_slice text;
    int status, bad = argc != 2;

    caret_node_var(&count.node, sizeof count, "^count", 6);
    caret_node_var(&sum.node, sizeof sum, "^sum", 4);
    caret_node_var(&job.node, sizeof job, "^job", 4);
    start(run_victim, argv[1]);
    for (int i = 0; i < PROCESSES; i++)
        start(run_process, argv[1]);
    while (wait(&status) > 0)
        bad += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    MUST(caret_open(argv[1], NULL, &db));
    MUST(caret_session_open(db, &s));
    MUST(caret_lock(s, &job.node, 1000000000));
    MUST(caret_get(s, &count.node, &text));
    printf("%.*s", (int)text.len, text.data);
    MUST(caret_get(s, &sum.node, &text));
    printf(" %.*s %d\n", (int)text.len, text.data, bad);
    caret_session_close(s);
    MUST(caret_close(db));
    return 0;
}
END
# The kernel's headers, which Debian's musl has not, without glibc's beside them.
mkdir kernel
for folder in linux asm-generic "$(gcc -print-multiarch)/asm"; do ln -s "/usr/include/$folder" kernel/; done
musl-gcc -isystem kernel -std=gnu17 -O0 -Wall -Wextra -Werror -c caret.c >out 2>&1
note $? "caret.c compiles with musl, without a warning"
musl-gcc -std=gnu17 -O1 -Wall -I. program.c caret.o -o program -lm -pthread >out 2>&1
note $? "a program links with it"
timeout "$patience" ./program "$dir/m.caret" >out 2>&1
[ "$(cat out)" = "12000 6000 1" ]
note $? "three processes of two threads count, one that was killed is the one that failed"
if [ -x "$caret" ]; then
    [ "$("$caret" get '^count' --db "$dir/m.caret")" = 12000 ] && "$caret" check --db "$dir/m.caret" >out 2>&1
    note $? "the file is the same to a build with another C library"
fi
finish
