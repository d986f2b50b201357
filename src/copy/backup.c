/*
 * backup.c - a copy of the database as it is at one moment, in one file.
 *
 *   1  look      at the name: is something there already?
 *   2  snapshot  (log/snapshot.c) begun, so that what is copied stays as it is
 *   3  verify    every page of its tree and every long value, by checksum and structure
 *   4  copy      the pages, at their places or packed (compact.c)
 *   5  image     of the free space; fdatasync
 *   6  meta      clean: no log is needed; fsync
 *   7  name      only now; fsync of the folder
 *
 * Opening the copy is restoring it: it is a database that was closed cleanly.
 *
 * Until step 7 the file has no name (O_TMPFILE), so whoever is killed leaves
 * nothing.  Where the file system has no files without a name it is called
 * NAME-partial-XXXXXXXXXXXXXXXX; until step 6 such a file has no meta slot and is
 * not a database.  An existing file is never replaced unasked: link() and
 * renameat2(RENAME_NOREPLACE) fail then, however late it appeared.  With `overwrite`
 * it is replaced by rename(), whole or not at all.
 *
 * The UUID stays: the copy is the same database at an earlier time, and its LSN and
 * generation say which.  Two copies that are used side by side do not get into each
 * other's way, since segments are known by device and inode too.
 */
#include "copy/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "open/open.h"
#include "page/check.h"
#include "shm/lockfile.h"
#include "shm/write.h"
#include "tree/tree.h"

#define CHUNK (256u << 10) /* written between two looks at the snapshot; arbitrary */

/* The file that becomes the backup. */
struct target {
    char *path;          /* resolved */
    char temp[PATH_MAX]; /* its name until then, "" = none */
    int fd, dir_fd;
    bool there;
};

/* ------------------------------------------------------------------ writing */

int caret__copy_write(const struct caret__copy *c, const void *bytes, size_t len, uint64_t off)
{
    errno = caret__file_write(c->fd, bytes, len, off);
    if (errno != 0)
        return caret__fail_errno(caret__write_code(errno), "%s: cannot write the backup", c->path);
    CARET_FAULT("backup_written");
    return CARET_OK;
}

int caret__copy_step(struct caret__copy *c, uint64_t bytes)
{
    int rc = caret__snapshot_check(c->from);

    c->done += bytes;
    if (rc == CARET_OK && c->options->progress != NULL &&
        c->options->progress(c->options->progress_arg, c->done, c->total) != 0)
        rc = caret__fail(CARET_ROLLBACK, "%s: the backup was stopped by its caller", c->path);
    return rc;
}

/* Room for the first `pages` pages of the copy. */
static int allocate(const struct caret__copy *c, uint64_t pages)
{
    uint64_t len = pages * CARET__PAGE_SIZE;

    if (!caret__file_size_allowed(len))
        return caret__fail(CARET_E_DISKFULL, "%s: larger than this process may write (ulimit -f)", c->path);
    errno = caret__file_allocate(c->fd, 0, len, len);
    if (errno == 0)
        return CARET_OK;
    return caret__fail_errno(caret__write_code(errno), "%s: no room for a copy of %llu KiB", c->path,
                             (unsigned long long)len >> 10);
}

static bool is_used(const struct caret__copy *c, uint32_t pgno)
{
    return (c->used[pgno / 64u] >> (pgno % 64u) & 1u) != 0;
}

/* Each page to where it was. */
static int copy_pages(struct caret__copy *c)
{
    const uint8_t *file = c->from->pg.file;
    int rc = allocate(c, c->npages);

    for (uint32_t at = 0, n; rc == CARET_OK && at < c->npages; at += n) {
        for (n = 0; at + n < c->npages && is_used(c, at + n) && n < CHUNK / CARET__PAGE_SIZE; n++)
            continue;
        if (n == 0) {
            n = 1;
            continue;
        }
        uint64_t off = (uint64_t)at * CARET__PAGE_SIZE, len = (uint64_t)n * CARET__PAGE_SIZE;
        rc = caret__copy_write(c, file + off, len, off);
        if (rc == CARET_OK)
            rc = caret__copy_step(c, len);
    }
    return rc;
}

/* The same page numbers: root, size and free space of the copy. */
static void keep_numbers(struct caret__copy *c)
{
    c->root = atomic_load(&c->from->ts.root);
    c->npages = CARET__FIRST_PAGE + 3;
    for (uint32_t p = 0; p < c->from->pages_mapped; p++)
        if (is_used(c, p) && p >= c->npages)
            c->npages = p + 1;
    for (uint32_t p = 0; p < c->npages; p++)
        if (!is_used(c, p) && !caret__pgno_reserved(p))
            c->free[p / 64u] |= UINT64_C(1) << (p % 64u);
}

/* ------------------------------------------------------------ what it consists of */

/* Step 3; fills c->used. */
static int verify(struct caret__copy *c)
{
    const struct caret__snapshot *s = c->from;
    char report[300] = "";
    unsigned findings = caret__tree_check(&s->pg, c->used, report, sizeof report);
    int rc = caret__snapshot_check(s);

    if (rc != CARET_OK || findings == 0)
        return rc;
    report[strcspn(report, "\n")] = '\0';
    return caret__fail(CARET_E_CORRUPT, "%s: damaged, so no copy of it is made: %s (findings: %u)",
                       s->e->path, report, findings);
}

static int write_images(const struct caret__copy *c)
{
    uint64_t page[CARET__PAGE_SIZE / 8];
    int rc = CARET_OK;

    for (uint32_t g = 0; rc == CARET_OK && g * CARET__GROUP_PAGES < c->npages; g++) {
        caret__image_fill((uint8_t *)page, c->from->epoch, g, c->free, c->npages);
        rc = caret__copy_write(c, page, sizeof page,
                               (uint64_t)caret__image_pgno(c->from->epoch, g) * CARET__PAGE_SIZE);
    }
    return rc;
}

static int write_meta(const struct caret__copy *c)
{
    const struct caret__snapshot *s = c->from;
    const struct caret__shared *sh = s->e->sh;
    struct caret__meta m = {.flags = CARET__META_CLEAN,
                            .epoch = s->epoch,
                            .generation = sh->generation,
                            .lsn = atomic_load(&s->lsn),
                            .chain_seed = s->chain_seed,
                            .log_base = atomic_load(&sh->log_base),
                            .log_size = atomic_load(&sh->log_size),
                            .root = c->root,
                            .depth = s->ts.depth,
                            .npages = c->npages,
                            .has_runs = s->ts.has_runs,
                            .created = sh->created};

    memcpy(m.uuid, sh->uuid, sizeof m.uuid);
    int rc = caret__meta_write(c->fd, c->path, &m);
    if (rc != CARET_OK)
        return rc;
    m.epoch--; /* and the other slot: zeros there are damage */
    return caret__meta_write(c->fd, c->path, &m);
}

static int sync_copy(const struct caret__copy *c)
{
    return caret__fsync(c->fd) == 0 ? CARET_OK
                                    : caret__fail_errno(CARET_E_IO, "%s: cannot sync the backup", c->path);
}

/* Steps 3 to 6. */
static int fill(struct caret__copy *c)
{
    int rc = verify(c);

    if (rc != CARET_OK)
        return rc;
    for (uint32_t i = 0; i < CARET__BITMAP_WORDS(c->from->pages_mapped); i++)
        c->total += (uint64_t)__builtin_popcountll(c->used[i]) * CARET__PAGE_SIZE;
    CARET_FAULT("backup_verified");
    rc = allocate(c, c->total / CARET__PAGE_SIZE);
    if (rc == CARET_OK && c->options->compact) {
        rc = caret__copy_compact(c);
        if (rc == CARET_OK)
            rc = allocate(c, c->npages);
    } else if (rc == CARET_OK) {
        keep_numbers(c);
        rc = copy_pages(c);
    }
    if (rc == CARET_OK)
        rc = write_images(c);
    if (rc == CARET_OK)
        rc = sync_copy(c);
    CARET_FAULT("backup_synced");
    if (rc == CARET_OK)
        rc = write_meta(c);
    if (rc == CARET_OK)
        rc = sync_copy(c);
    CARET_FAULT("backup_meta");
    return rc;
}

static int copy_snapshot(const struct target *t, const struct caret__snapshot *s,
                         const caret_backup_options *options)
{
    uint64_t words = CARET__BITMAP_WORDS(s->pages_mapped);
    struct caret__copy c = {.from = s, .options = options, .path = t->path, .fd = t->fd};
    int rc;

    c.used = calloc(words, 8);
    c.free = calloc(words + 64, 8); /* a packed copy may have a few pages more at its end, see compact.c */
    if (c.used != NULL && c.free != NULL)
        rc = fill(&c);
    else
        rc = caret__fail(CARET_E_NOMEM, "%s: no memory for a backup", t->path);
    free(c.used);
    free((void *)c.free);
    return rc;
}

/* ------------------------------------------------------------------- the name */

static int cannot_create(const struct target *t)
{
    bool full = caret__write_code(errno) == CARET_E_DISKFULL;

    return caret__fail_errno(full ? CARET_E_DISKFULL : CARET_E_OPEN, "%s: cannot be created", t->path);
}

/* Something has that name. */
static int exists(const struct target *t)
{
    struct stat st;

    if (lstat(t->path, &st) == 0 && !S_ISREG(st.st_mode))
        return caret__fail(CARET_E_OPEN, "%s: %s", t->path,
                           S_ISDIR(st.st_mode) ? "a folder: name a file in it"
                                               : "not a regular file, so it is not replaced");
    return caret__advise(caret__fail(CARET_E_EXISTS, "%s: there is a file of this name", t->path),
                         "overwrite replaces it");
}

/* Somebody uses the database that is to be replaced, or may. */
static bool in_use(const struct target *t, const struct stat *st)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    caret__registry_lock();
    bool here = caret__registry_find(st->st_dev, st->st_ino) != NULL;
    caret__registry_unlock();
    if (here) /* closing a descriptor of it would drop our locks */
        return true;
    int fd = caret__open_high(t->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    bool locked = fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK; /* or can't be told */
    if (fd >= 0)
        close(fd);
    return locked;
}

/* Step 1. */
static int look(struct target *t, const struct caret__engine *e, bool overwrite)
{
    struct stat st;

    if (strcmp(t->path, e->log_path) == 0 || strcmp(t->path, e->lock_path) == 0)
        return caret__fail(CARET_E_INVALID, "%s: a file of the database itself", t->path);
    t->there = lstat(t->path, &st) == 0;
    if (!t->there)
        return CARET_OK;
    if (st.st_dev == e->dev && st.st_ino == e->ino)
        return caret__fail(CARET_E_INVALID, "%s: a database cannot be its own backup", t->path);
    if (!overwrite || !S_ISREG(st.st_mode))
        return exists(t);
    if (in_use(t, &st))
        return caret__fail(CARET_E_BUSY, "%s: in use, so it is not replaced", t->path);
    return CARET_OK;
}

/* Give t->temp a name that nobody has. */
static int invent_name(struct target *t)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = caret__now_ns() ^ (uint64_t)getpid() << 40;
    int n = snprintf(t->temp, sizeof t->temp, "%s-partial-%016llx", t->path, (unsigned long long)number);
    if (n < (int)sizeof t->temp)
        return CARET_OK;
    t->temp[0] = '\0';
    return caret__fail(CARET_E_OPEN, "%s: the path is too long", t->path);
}

/* A file without a name, if the file system and /proc can. */
static int make_nameless(const char *dir)
{
    char link[40];
    int fd = caret__open_high(dir, O_TMPFILE | O_RDWR, 0600);

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fd >= 0 && access(link, F_OK) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int make_file(struct target *t, const char *dir)
{
    t->fd = make_nameless(dir);
    if (t->fd >= 0)
        return CARET_OK;
    int rc = invent_name(t);
    if (rc != CARET_OK)
        return rc;
    t->fd = caret__open_high(t->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (t->fd >= 0 && caret__file_size_allowed(CARET__PAGE_SIZE) &&
        ftruncate(t->fd, CARET__PAGE_SIZE) == 0) /* an empty file would be a new database */
        return CARET_OK;
    if (t->fd < 0)
        t->temp[0] = '\0';
    return cannot_create(t);
}

static int open_target(struct target *t, const struct caret__engine *e)
{
    char *copy = strdup(t->path);
    struct stat st;
    int rc = CARET_OK;

    if (copy == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory for a backup", t->path);
    const char *dir = dirname(copy);
    t->dir_fd = caret__open_high(dir, O_RDONLY | O_DIRECTORY, 0);
    if (t->dir_fd < 0 || fstat(caret__fd(&e->data_fd), &st) != 0)
        rc = caret__fail_errno(CARET_E_OPEN, "%s: its directory", t->path);
    else
        rc = make_file(t, dir);
    free(copy);
    if (rc == CARET_OK)
        caret__file_rights(t->fd, st.st_uid, st.st_gid, st.st_mode);
    return rc;
}

/* The nameless file gets a name: the right one, or one from which it can be renamed. */
static int link_nameless(struct target *t, bool overwrite)
{
    char link[40];

    snprintf(link, sizeof link, "/proc/self/fd/%d", t->fd);
    if (overwrite) {
        int rc = invent_name(t);
        if (rc != CARET_OK)
            return rc;
    }
    if (linkat(AT_FDCWD, link, AT_FDCWD, overwrite ? t->temp : t->path, AT_SYMLINK_FOLLOW) == 0)
        return CARET_OK;
    int error = errno;
    if (error != EEXIST && t->temp[0] != '\0')
        unlink(t->temp);
    t->temp[0] = '\0';
    errno = error;
    return errno == EEXIST ? exists(t) : cannot_create(t);
}

static int rename_temp(struct target *t, bool overwrite)
{
    int rc;

    if (overwrite) {
        rc = rename(t->temp, t->path);
    } else {
        rc = (int)syscall(SYS_renameat2, AT_FDCWD, t->temp, AT_FDCWD, t->path, 1u /* RENAME_NOREPLACE */);
        if (rc != 0 && (errno == EINVAL || errno == ENOSYS)) /* this file system can't */
            rc = link(t->temp, t->path) == 0 ? unlink(t->temp) : -1;
    }
    if (rc != 0)
        return errno == EEXIST ? exists(t) : cannot_create(t);
    t->temp[0] = '\0';
    return CARET_OK;
}

/* Step 7. */
static int publish(struct target *t, bool overwrite)
{
    int rc = CARET_OK;

    if (t->temp[0] == '\0')
        rc = link_nameless(t, overwrite);
    CARET_FAULT("backup_linked");
    if (rc == CARET_OK && t->temp[0] != '\0')
        rc = rename_temp(t, overwrite);
    CARET_FAULT("backup_named");
    if (rc == CARET_OK && caret__fsync(t->dir_fd) != 0)
        rc = caret__fail_errno(CARET_E_IO, "%s: the backup is there, but its directory cannot be synced",
                               t->path);
    return rc;
}

static void close_target(struct target *t)
{
    if (t->temp[0] != '\0')
        unlink(t->temp);
    if (t->fd >= 0)
        close(t->fd);
    if (t->dir_fd >= 0)
        close(t->dir_fd);
    free(t->path);
}

int caret__backup(struct caret__engine *e, const char *path, const caret_backup_options *options)
{
    struct target t = {.fd = -1, .dir_fd = -1};
    struct caret__snapshot *s = NULL;
    int rc = caret__path_resolve(path, &t.path);

    if (rc != CARET_OK)
        return rc;
    rc = look(&t, e, options->overwrite != 0);
    if (rc == CARET_OK)
        rc = caret__snapshot_open(e, &s);
    if (rc == CARET_OK)
        rc = open_target(&t, e);
    if (rc == CARET_OK)
        rc = copy_snapshot(&t, s, options);
    if (rc == CARET_OK)
        rc = publish(&t, options->overwrite != 0);
    if (s != NULL)
        caret__snapshot_close(s);
    close_target(&t);
    return rc;
}
