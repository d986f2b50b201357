/* A database, processes that use it, and sessions with locks. */
#ifndef CARET_TEST_TXN_LOCKS_H
#define CARET_TEST_TXN_LOCKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/rand.h"
#include "base/zwr.h"
#include "open/open.h"
#include "txn/lock.h"
#include "txn/lock_table.h"

#define FOREVER (UINT64_C(100) * 1000000000) /* longer than a test may run */

struct fixture {
    struct caret__engine *e;
    char dir[40], path[60];
};

static inline int locks_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    caret_options options = {.size = sizeof options, .no_thread = 1, .sync = CARET_SYNC_OFF};

    snprintf(f->dir, sizeof f->dir, "/tmp/caret-lock-XXXXXX");
    if (mkdtemp(f->dir) == NULL)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/db.caret", f->dir);
    if (caret__engine_open(f->path, &options, &f->e) != CARET_OK) {
        fprintf(stderr, "%s\n", caret_message());
        return -1;
    }
    *state = f;
    return 0;
}

static inline int locks_teardown(void **state)
{
    struct fixture *f = *state;
    char command[80];
    int rc = caret__engine_close(f->e);

    snprintf(command, sizeof command, "rm -r %s", f->dir);
    rc |= system(command);
    free(f);
    return rc;
}

/* In a forked child: become a process of our own. */
static inline struct caret__engine *attach_child(struct fixture *f)
{
    if (caret__engine_forked(f->e) != CARET_OK) {
        fprintf(stderr, "%s\n", caret_message());
        _exit(99);
    }
    return f->e;
}

struct name {
    uint8_t key[CARET__KEY_MAX];
    size_t len;
};

static inline struct name name(const char *zwr)
{
    struct name n;
    bool local;

    if (caret__zwr_get_key(zwr, strlen(zwr), false, n.key, &n.len, &local) != CARET_OK) {
        fprintf(stderr, "%s\n", caret_message());
        abort();
    }
    n.key[0] |= local ? CARET__LOCK_LOCAL : 0;
    return n;
}

static inline int take(struct caret__engine *e, struct caret__locker *s, const char *zwr, uint64_t timeout)
{
    struct name n = name(zwr);

    return caret__lock_take(e, s, n.key, n.len, timeout);
}

static inline int give(struct caret__engine *e, struct caret__locker *s, const char *zwr)
{
    struct name n = name(zwr);

    return caret__lock_release(e, s, n.key, n.len);
}

static inline int take_all(struct caret__engine *e, struct caret__locker *s, const char *const zwr[],
                           size_t n, uint64_t timeout)
{
    struct name names[8];
    const uint8_t *keys[8];
    size_t lens[8];

    for (size_t i = 0; i < n; i++) {
        names[i] = name(zwr[i]);
        keys[i] = names[i].key;
        lens[i] = names[i].len;
    }
    return caret__lock_take_all(e, s, keys, lens, n, timeout);
}

static inline void check_locks(struct caret__engine *e)
{
    char report[4000] = "";
    unsigned found = 0;

    assert_int_equal(caret__locks_check(e, report, sizeof report, &found), CARET_OK);
    assert_string_equal(report, "");
    assert_int_equal(found, 0);
}

/* Let a name that `s` may take be the idle one that leaves next. */
static inline void make_next_idle(struct caret__engine *e, struct caret__locker *s, const char *zwr)
{
    static unsigned serial;
    char text[32];

    for (unsigned i = 0; i < CARET__LOCK_IDLE; i++) {
        snprintf(text, sizeof text, "^idle(%u)", serial++);
        assert_int_equal(take(e, s, i == 0 ? zwr : text, 0), CARET_OK);
        assert_int_equal(give(e, s, i == 0 ? zwr : text), CARET_OK);
    }
}

/* Number of locks held, and of sessions that wait for one of them. */
struct totals {
    unsigned held, waiting;
};

static inline bool add_to_totals(void *arg, const struct caret__lock_info *lock)
{
    struct totals *totals = arg;

    totals->held += !lock->waits;
    totals->waiting += lock->waiting;
    return true;
}

static inline struct totals lock_totals(struct caret__engine *e)
{
    struct totals totals = {0, 0};

    assert_int_equal(caret__lock_list(e, add_to_totals, &totals), CARET_OK);
    return totals;
}

/* Until so many sessions wait. */
static inline void await_waiters(struct caret__engine *e, unsigned n)
{
    while (lock_totals(e).waiting < n)
        usleep(1000);
}

#endif
