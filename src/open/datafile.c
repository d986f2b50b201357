/*
 * datafile.c - finding, checking and creating NAME.caret.
 *
 * Whoever opens a database may have typed anything, so a path is looked at before
 * anything is created beside it: a directory, a device, a hard-linked file (whose
 * lock file would have two names), a network file system (whose locks and mappings
 * are not coherent), a file of somebody else: each has its own error.
 *
 * A new database is made whole under another name and renamed, so a death while
 * creating leaves no half of one:
 *
 *     NAME.caret-new:  allocate, bitmap images, empty root, both meta slots (clean), fsync
 *     rename to NAME.caret, fsync of the directory
 *
 * It is then opened as any database that was closed cleanly: there is one way in.
 * All this happens under the gate, so two creators don't meet.
 *
 *     page 0 .. FIRST_PAGE - 1    meta slots of epochs 2 and 1, which say the same
 *     FIRST_PAGE, + 1             their bitmap images
 *     FIRST_PAGE + 2              the root, an empty leaf
 *
 * So a slot is never zero, and one that is has lost a checkpoint, in the first session too.
 */
#include "open/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"
#include "page/page.h"
#include "shm/lockfile.h"
#include "shm/write.h"

/* Page numbers of a new database: 1 MiB, and as many in small builds. */
#define NEW_PAGES 256u
#define NEW_ROOT  (CARET__FIRST_PAGE + 2u)
#define NEW_EPOCH 2u /* both slots and both images are written */

/* ------------------------------------------------------------------- path */

static int no_memory(const char *path)
{
    return caret__fail(CARET_E_NOMEM, "%s: no memory to open it", path);
}

/* The file does not exist, or did not a moment ago (somebody else creates it): the directory must. */
static int resolve_new(const char *path, char **resolved)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char *dir, *real;
    struct stat st;
    size_t len;

    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return caret__fail_for(ENOENT, CARET_E_OPEN, "%s: a symbolic link that leads nowhere", path);
    if (*base == '\0')
        return caret__fail_for(ENOENT, CARET_E_OPEN, "%s: no such directory", path);
    dir = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (dir == NULL)
        return no_memory(path);
    real = realpath(dir, NULL);
    free(dir);
    if (real == NULL)
        return caret__fail_errno(CARET_E_OPEN, "%s: its directory can't be reached", path);
    len = strlen(real) + strlen(base) + 2;
    *resolved = malloc(len);
    if (*resolved != NULL)
        snprintf(*resolved, len, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
    free(real);
    return *resolved != NULL ? CARET_OK : no_memory(path);
}

int caret__path_resolve(const char *path, char **resolved)
{
    *resolved = realpath(path, NULL);
    if (*resolved != NULL)
        return CARET_OK;
    if (errno == ENOENT)
        return resolve_new(path, resolved);
    return caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", path);
}

/* ----------------------------------------------------------------- checks */

/* f_type of file systems on other machines' disks (<linux/magic.h> and their own headers). */
static const struct {
    uint32_t magic;
    const char *name;
} remote[] = {{0x6969, "NFS"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},
              {0x517b, "SMB"},        {0x564c, "NCP"},        {0x73757245, "Coda"},
              {0x5346414f, "AFS"},    {0x6b414653, "AFS"},    {0x00c36400, "Ceph"},
              {0x01021997, "9P"},     {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},
              {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},   {0x786f4256, "VirtualBox shared folder"},
              {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},  {0x20030528, "OrangeFS"},
              {0x65735546, "FUSE"}};

static int check_file_system(const struct caret__engine *e, const struct statfs *fs)
{
    for (size_t i = 0; i < sizeof remote / sizeof remote[0] && !e->options.any_fs; i++) {
        if ((uint32_t)fs->f_type == remote[i].magic)
            return caret__advise(caret__fail(CARET_E_NETFS,
                                             "%s: on a network file system (%s); it must be on a local one",
                                             e->path, remote[i].name),
                                 "any_fs opens it all the same");
    }
    return CARET_OK;
}

/* The folder of the shared memory too: a mapping there must be one memory for all. */
int caret__shm_dir_look(const struct caret__engine *e)
{
    struct statfs fs;

    if (e->options.shm_dir == NULL)
        return CARET_OK;
    if (statfs(e->options.shm_dir, &fs) != 0)
        return caret__fail_errno(CARET_E_SHM, "%s: shm_dir", e->options.shm_dir);
    return check_file_system(e, &fs);
}

static int check_kind(const char *path, const struct stat *st)
{
    if (S_ISDIR(st->st_mode))
        return caret__fail_for(EISDIR, CARET_E_OPEN, "%s: a directory, not a database file", path);
    if (!S_ISREG(st->st_mode))
        return caret__fail_for(EINVAL, CARET_E_OPEN, "%s: not a regular file", path);
    if (st->st_nlink > 1)
        return caret__fail_for(EMLINK, CARET_E_OPEN, "%s: has %lu hard links; a database must have one name",
                               path, (unsigned long)st->st_nlink);
    return CARET_OK;
}

/* There is no file, or an empty one: may there be a database? */
static int look_new(const struct caret__engine *e)
{
    const char *slash = strrchr(e->path, '/');
    char *dir = strndup(e->path, slash == e->path ? 1 : (size_t)(slash - e->path));
    struct statfs fs;
    int rc = CARET_OK;

    if (dir == NULL)
        return no_memory(e->path);
    if (e->options.no_create || e->readonly)
        rc = caret__fail(CARET_E_NOTFOUND, "%s: no such database, and it is not to be created", e->path);
    else if (statfs(dir, &fs) != 0)
        rc = caret__fail_errno(CARET_E_OPEN, "%s: its directory", e->path);
    else
        rc = check_file_system(e, &fs);
    if (rc == CARET_OK && access(dir, W_OK | X_OK) != 0)
        rc = caret__fail_errno(CARET_E_OPEN, "%s: cannot be created", e->path);
    free(dir);
    return rc == CARET_OK ? CARET_NONE : rc;
}

/* The file is open: everything that can be said whoever opens or closes it meanwhile. */
static int look_open(const struct caret__engine *e, int fd, struct stat *st)
{
    struct caret__meta_pair pair;
    struct statfs fs;
    int rc;

    if (fstat(fd, st) != 0 || fstatfs(fd, &fs) != 0)
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", e->path);
    rc = check_kind(e->path, st);
    if (rc == CARET_OK)
        rc = check_file_system(e, &fs);
    if (rc != CARET_OK)
        return rc;
    if (st->st_size == 0)
        return look_new(e);
    return caret__meta_read(fd, e->path, (uint64_t)st->st_size, &pair);
}

static int open_data(const struct caret__engine *e)
{
    return caret__open_high(e->path, (e->readonly ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
                            0);
}

/* errno is kept */
static int may_read(const char *path)
{
    int error = errno, may = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;

    errno = error;
    return may;
}

static int cannot_open(const struct caret__engine *e)
{
    if (!e->readonly && (errno == EACCES || errno == EPERM || errno == EROFS) && may_read(e->path))
        return caret__advise(caret__fail_errno(CARET_E_OPEN, "%s: may not be written here", e->path),
                             "readonly opens it for reading");
    return caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened for reading%s", e->path,
                             e->readonly ? "" : " and writing");
}

int caret__data_look(const struct caret__engine *e, struct stat *st)
{
    int fd, rc;

    memset(st, 0, sizeof *st);
    if (stat(e->path, st) != 0)
        return errno == ENOENT ? look_new(e)
                               : caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", e->path);
    rc = check_kind(e->path, st); /* before opening: that could do things to a device */
    if (rc != CARET_OK)
        return rc;
    fd = open_data(e);
    if (fd < 0)
        return cannot_open(e);
    rc = look_open(e, fd, st);
    close(fd);
    return rc;
}

/* ---------------------------------------------------------------- creation */

static uint64_t wall_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int put(const struct caret__engine *e, int fd, const void *buf, size_t len, uint64_t off)
{
    errno = caret__file_write(fd, buf, len, off);
    return errno == 0
               ? CARET_OK
               : caret__fail_errno(caret__write_code(errno), "%s: cannot write the new database", e->path);
}

static int put_pages(const struct caret__engine *e, int fd)
{
    uint64_t page[CARET__PAGE_SIZE / 8] = {0};
    _Atomic uint64_t map[CARET__BITMAP_WORDS(NEW_PAGES)];
    struct caret__page *root = (struct caret__page *)page;
    int rc;

    for (uint32_t i = 0; i < CARET__BITMAP_WORDS(NEW_PAGES); i++)
        atomic_init(&map[i], 0);
    for (uint32_t i = NEW_ROOT + 1; i < NEW_PAGES; i++)
        map[i / 64] |= UINT64_C(1) << i % 64;
    for (uint32_t epoch = 1; epoch <= NEW_EPOCH; epoch++) {
        caret__image_fill((uint8_t *)page, epoch, 0, map, NEW_PAGES);
        rc = put(e, fd, page, sizeof page, (uint64_t)caret__image_pgno(epoch, 0) * CARET__PAGE_SIZE);
        if (rc != CARET_OK)
            return rc;
    }
    memset(page, 0, sizeof page);
    caret__page_init(root, NEW_ROOT, 0);
    root->epoch = 1;
    root->crc = caret__crc32c(0, (uint8_t *)page + 4, CARET__PAGE_SIZE - 4);
    return put(e, fd, page, sizeof page, (uint64_t)NEW_ROOT * CARET__PAGE_SIZE);
}

static int put_metas(const struct caret__engine *e, int fd)
{
    struct caret__meta m;
    int rc = CARET_OK;

    memset(&m, 0, sizeof m);
    m.flags = CARET__META_CLEAN;
    m.generation = 1;
    m.lsn = CARET__FIRST_LSN;
    m.root = NEW_ROOT;
    m.depth = 1;
    m.npages = NEW_PAGES;
    m.created = wall_clock_ns();
    if (getrandom(m.uuid, sizeof m.uuid, 0) != (ssize_t)sizeof m.uuid)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: no random numbers for its identity", e->path);
    m.uuid[6] = (uint8_t)((m.uuid[6] & 0x0f) | 0x40); /* version and variant: RFC 4122, random */
    m.uuid[8] = (uint8_t)((m.uuid[8] & 0x3f) | 0x80);
    for (m.epoch = 1; rc == CARET_OK && m.epoch <= NEW_EPOCH; m.epoch++)
        rc = caret__meta_write(fd, e->path, &m);
    return rc;
}

static int allocate(const struct caret__engine *e, int fd)
{
    if (!caret__file_size_allowed((uint64_t)NEW_PAGES * CARET__PAGE_SIZE))
        return caret__fail(CARET_E_DISKFULL, "%s: larger than this process may write (ulimit -f)", e->path);
    errno = caret__file_allocate(fd, 0, (uint64_t)NEW_PAGES * CARET__PAGE_SIZE, UINT64_MAX);
    return errno == 0 ? CARET_OK
                      : caret__fail_errno(caret__write_code(errno), "%s: cannot be created", e->path);
}

/* Everything into the new file, and to the disk. */
static int fill(const struct caret__engine *e, int fd)
{
    int rc = allocate(e, fd);

    CARET_FAULT("create_allocated");
    if (rc == CARET_OK)
        rc = put_pages(e, fd);
    CARET_FAULT("create_pages");
    if (rc == CARET_OK)
        rc = put_metas(e, fd);
    if (rc == CARET_OK && caret__fsync(fd) != 0)
        rc = caret__fail_errno(CARET_E_IO, "%s: cannot sync the new database", e->path);
    CARET_FAULT("create_synced");
    return rc;
}

/* `empty`: the empty file that is replaced, or one without inode. */
static int create(struct caret__engine *e, const struct stat *empty)
{
    char name[PATH_MAX];
    int fd, rc;

    if (snprintf(name, sizeof name, "%s-new", e->path) >= (int)sizeof name)
        return caret__fail(CARET_E_OPEN, "%s: the path is too long", e->path);
    unlink(name); /* of a creator that died */
    fd = caret__open_high(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0)
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot be created", e->path);
    if (empty->st_ino != 0)
        caret__file_rights(fd, empty->st_uid, empty->st_gid, empty->st_mode);
    rc = fill(e, fd);
    close(fd);
    if (rc == CARET_OK && rename(name, e->path) != 0)
        rc = caret__fail_errno(CARET_E_OPEN, "%s: cannot be created", e->path);
    CARET_FAULT("create_renamed");
    if (rc != CARET_OK)
        unlink(name);
    else if (caret__fsync(caret__fd(&e->dir_fd)) != 0) {
        rc = caret__fail_errno(CARET_E_IO, "%s: cannot sync its directory", e->path);
        if (empty->st_ino == 0)
            unlink(e->path);
    }
    return rc;
}

/* ------------------------------------------------------------------- open */

static int open_dir(struct caret__engine *e)
{
    const char *slash = strrchr(e->path, '/');
    char *dir = strndup(e->path, slash == e->path ? 1 : (size_t)(slash - e->path));

    if (dir == NULL)
        return no_memory(e->path);
    bool open = caret__fd_set(&e->dir_fd, caret__open_high(dir, O_RDONLY | O_DIRECTORY, 0));
    free(dir);
    return open ? CARET_OK : caret__fail_errno(CARET_E_OPEN, "%s: its directory", e->path);
}

/* What is at the path, or a new one. */
static int open_at_path(struct caret__engine *e, struct caret__start *start)
{
    struct stat *st = &start->st;
    int rc = e->readonly ? CARET_OK : open_dir(e);

    if (rc == CARET_OK)
        rc = caret__data_look(e, st);
    if (rc == CARET_NONE) {
        bool replaces = st->st_ino != 0;
        rc = create(e, st);
        start->created = rc == CARET_OK && !replaces;
    }
    if (rc == CARET_OK && !caret__fd_set(&e->data_fd, open_data(e)))
        rc = caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", e->path);
    return rc;
}

/* A new one without a name, which nobody else can open. */
static int make_in_memory(struct caret__engine *e)
{
    if (!caret__fd_memory(&e->data_fd) || fchmod(caret__fd(&e->data_fd), 0600) != 0)
        return caret__fail_errno(CARET_E_SHM, "%s: cannot be made", e->path);
    return fill(e, caret__fd(&e->data_fd));
}

int caret__data_read(struct caret__engine *e, struct caret__start *start)
{
    CARET__ASSERT(e->observes || caret__holds(&e->lock_fd));
    struct stat *st = &start->st;

    if (fstat(caret__fd(&e->data_fd), st) != 0)
        return caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", e->path);
    int rc = caret__meta_read(caret__fd(&e->data_fd), e->path, (uint64_t)st->st_size, &start->pair);
    if (rc != CARET_OK)
        return rc;
    e->dev = start->id.dev = st->st_dev;
    e->ino = start->id.ino = st->st_ino;
    start->id.uid = st->st_uid;
    start->id.gid = st->st_gid;
    start->id.mode = st->st_mode;
    memcpy(start->id.uuid, start->pair.meta.uuid, sizeof start->id.uuid);
    return CARET_OK;
}

int caret__data_open(struct caret__engine *e, struct caret__start *start)
{
    CARET__ASSERT(e->observes || caret__holds(&e->lock_fd));

    start->created = false;
    int rc = caret__in_memory(e) ? make_in_memory(e) : open_at_path(e, start);
    return rc == CARET_OK ? caret__data_read(e, start) : rc;
}
