#include "support/segment.h"

void engine_init(struct fixture *f, struct caret__engine *e)
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

/* Those that a failed test did not delete, by the process that made them: its end does. */
static struct fixture *all;
static pid_t owner;

static void delete_all(void)
{
    while (owner == getpid() && all != NULL) {
        void *f = all;
        fixture_delete(&f);
    }
}

static int list(struct fixture *f)
{
    static bool asked;

    if (owner != getpid()) /* a child leaves what its parent made */
        all = NULL;
    owner = getpid();
    f->next = all;
    all = f;
    if (!asked && atexit(delete_all) != 0)
        return -1;
    asked = true;
    return 0;
}

static void unlist(const struct fixture *f)
{
    struct fixture **at = &all;

    while (*at != NULL && *at != f)
        at = &(*at)->next;
    if (*at != NULL)
        *at = f->next;
}

int fixture_new(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (f == NULL)
        return -1;
    snprintf(f->dir, sizeof f->dir, "/tmp/caret-test-XXXXXX");
    if (mkdtemp(f->dir) == NULL)
        return -1;
    snprintf(f->path, sizeof f->path, "%s/db.caret", f->dir);
    snprintf(f->lock_path, sizeof f->lock_path, "%s/db.caret-lock", f->dir);
    memset(f->id.uuid, 7, sizeof f->id.uuid);
    engine_init(f, &f->e);
    *state = f;
    return list(f);
}

void engine_done(struct caret__engine *e)
{
    caret__segment_close(e);
    caret__lockfile_close(e);
    caret__fd_close(&e->data_fd);
    caret__fork_mark_free(e);
}

int fixture_delete(void **state)
{
    struct fixture *f = *state;

    unlist(f);
    engine_done(&f->e);
    caret__segment_sweep(&f->id, NULL, NULL);
    unlink(f->path);
    unlink(f->lock_path);
    rmdir(f->dir);
    free(f);
    return 0;
}

void fixture_create(struct fixture *f, uint32_t npages)
{
    assert_int_equal(caret__segment_create(&f->e, &f->id, NULL, npages, 0), CARET_OK);
}

void fixture_small_folder(const struct fixture *f, uint64_t room, char dir[96])
{
    char command[256];

    snprintf(dir, 96, "%s/shm", f->dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(command, sizeof command, "mount -t tmpfs -o size=%llu none %s 2>/dev/null",
             (unsigned long long)room, dir);
    if (system(command) != 0) {
        rmdir(dir);
        print_message("skipped: no tmpfs can be mounted here\n");
        skip();
    }
}

void fixture_small_folder_gone(const char *dir)
{
    char command[256];

    snprintf(command, sizeof command, "umount %s", dir);
    assert_int_equal(system(command), 0);
    rmdir(dir);
}
