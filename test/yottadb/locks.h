/*
 * locks.h - what another process finds locked.
 */
#ifndef CARET_TEST_YOTTADB_LOCKS_H
#define CARET_TEST_YOTTADB_LOCKS_H

#include "yottadb/api.h"

/* Can another process get that lock now?  1 yes, 0 no. */
static inline int is_free(const char *name, const char *sub)
{
    ydb_buffer_t v = *var(name), s = b(sub != NULL ? sub : "");
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int rc = ydb_lock_incr_s(0, &v, sub != NULL, &s);
        _exit(rc == YDB_OK ? 1 : rc == YDB_LOCK_TIMEOUT ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_in_range(WEXITSTATUS(status), 0, 1);
    return WEXITSTATUS(status);
}

/* Another process that holds a lock until it is told not to any more. */
struct holder {
    pid_t pid;
    int in, out;
};

static inline void hold(struct holder *h, const char *name, const char *sub)
{
    ydb_buffer_t v = *var(name), s = b(sub != NULL ? sub : "");
    int there[2], back[2];
    char ch = 'x';

    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    h->pid = fork();
    if (h->pid == 0) {
        close(there[1]);
        int rc = ydb_lock_incr_s(0, &v, sub != NULL, &s);
        if (rc == YDB_OK && write(back[1], &ch, 1) == 1 && read(there[0], &ch, 1) == 0)
            _exit(0);
        _exit(1);
    }
    close(there[0]);
    close(back[1]);
    h->in = back[0];
    h->out = there[1];
    assert_int_equal(read(h->in, &ch, 1), 1);
}

/* It ends without releasing: the database does that. */
static inline void let_go(struct holder *h)
{
    close(h->out);
    close(h->in);
    assert_int_equal(waitpid(h->pid, NULL, 0), h->pid);
}

static inline uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#endif
