/* An engine on a temporary data file, without log and recovery: for tests of the shm layer. */
#ifndef CARET_TEST_SHM_FIXTURE_H
#define CARET_TEST_SHM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/lockfile.h"
#include "shm/segment.h"

struct fixture {
    struct caret__engine e;
    struct caret__identity id;
    char dir[64];
    char path[96], lock_path[96];
};

static inline void engine_init(struct fixture *f, struct caret__engine *e)
{
    struct stat st;

    memset(e, 0, sizeof *e);
    e->path = f->path;
    e->lock_path = f->lock_path;
    e->options.arena_limit = 16u << 20;
    caret__fd_set(&e->data_fd, caret__open_high(f->path, O_RDWR | O_CREAT, 0600));
    assert_true(caret__fd(&e->data_fd) > 2);
    assert_int_equal(fstat(caret__fd(&e->data_fd), &st), 0);
    e->dev = f->id.dev = st.st_dev;
    e->ino = f->id.ino = st.st_ino;
    f->id.uid = st.st_uid;
    f->id.gid = st.st_gid;
    f->id.mode = st.st_mode;
    assert_int_equal(caret__fork_mark_new(e), CARET_OK);
}

static inline int fixture_new(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    snprintf(f->dir, sizeof f->dir, "/tmp/caret-test-XXXXXX");
    if (mkdtemp(f->dir) == NULL)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/db.caret", f->dir);
    snprintf(f->lock_path, sizeof f->lock_path, "%s/db.caret-lock", f->dir);
    memset(f->id.uuid, 7, sizeof f->id.uuid);
    engine_init(f, &f->e);
    *state = f;
    return 0;
}

static inline void engine_done(struct caret__engine *e)
{
    caret__segment_close(e);
    caret__lockfile_close(e);
    caret__fd_close(&e->data_fd);
    caret__fork_mark_free(e);
}

static inline int fixture_delete(void **state)
{
    struct fixture *f = *state;

    engine_done(&f->e);
    caret__segment_sweep(&f->id, NULL, NULL);
    unlink(f->path);
    unlink(f->lock_path);
    rmdir(f->dir);
    free(f);
    return 0;
}

/* Wait for a child to exit with status 0. */
static inline void join(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void kill_and_wait(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

#endif
