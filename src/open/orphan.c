/*
 * orphan.c - segments in shared memory that nobody uses any more.
 *
 * The death of all users leaves their segment, as the next opening recovers from it
 * what the log does not have.  Whoever opens a database removes older segments of that
 * database.  But if it is never opened again, since its files were deleted, its memory
 * would be lost for ever.  So the first to open any database looks at all segments:
 *
 *     held      a lock is on the file (shm/segment.c)               in use
 *     otherwise its header tells path, device and inode of the data file, and
 *       the file is there, and claimed (claim.c), or open here  in use
 *       the file is there:
 *         another UUID, closed cleanly, a newer generation,
 *         or its lock file names another segment              orphaned
 *         its lock file names this one                        needed
 *       the file is not there:
 *         the log has all that is in the ring                 orphaned
 *         it has not                                          lost
 *       that can't be known                                   unknown
 *     no magic number: its maker died                          orphaned
 *
 * A data file that is not at its path may be deleted, but also moved, or on a file
 * system of another container.  Nobody can tell.  So what is "lost" keeps header and
 * ring, which are all that a recovery reads, and gives the rest of its memory back; it is
 * removed by command only.  What is "orphaned" is never needed, wherever the database may
 * be: a recovery would ignore it, or find all of it in the log.
 *
 * Interleavings.  Whoever judges holds a write lock on the file, as far as there is no other
 * lock; whoever makes or maps one takes a read lock, and looks whether the file still has a
 * name, else begins again.  So nothing is removed under its maker's hands.  Names that do not
 * end in .held are of builds that took no such locks: they are left alone, as are layouts of
 * other builds.
 *
 * To open a data file or a lock file and to close it drops the record locks of this process.
 * So nothing of a database that is open here, or is being opened, is opened: the registry, which must be locked,
 * knows; of another copy of the library in this process an open file description's view tells.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "open/open.h"
#include "open/orphan.h"
#include "shm/layout.h"
#include "shm/lockfile.h"

/* What is to be done with each of them. */
struct task {
    int flags;
    caret_shm_each *each;
    void *arg;
    const struct caret__identity *opening; /* not in the registry yet; NULL = none */
    const char *keep;                      /* its segment that the record names */
};

struct judged {
    caret_shm_info info;
    char file[PATH_MAX];
    char path[CARET__SEG_PATH];
    uint64_t pids[CARET__MAX_PROCS];
    struct caret__shared sh; /* as it was read */
    struct stat st;
    int fd;
    const struct task *task;
};

static void judge(struct judged *j, int state, const char *why)
{
    j->info.state = state;
    j->info.why = why;
}

/* ------------------------------------------------------------------ database */

/* The lock file's record.  CARET_NONE: there is none of this boot.  Else it can't be told. */
static int read_record(const struct judged *j, struct caret__lockrec *rec)
{
    char name[CARET__SEG_PATH + 8];

    snprintf(name, sizeof name, "%s-lock", j->path);
    int fd = caret__open_high(name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? CARET_NONE : caret__fail_errno(CARET_E_OPEN, "%s: cannot be opened", name);
    int rc = caret__lockrec_parse(fd, name, rec);
    close(fd);
    return rc;
}

static void judge_known(struct judged *j, const struct caret__meta *m)
{
    struct caret__lockrec rec;
    int rc = CARET_OK;

    if (memcmp(m->uuid, j->sh.uuid, sizeof m->uuid) != 0)
        judge(j, CARET_SHM_ORPHANED, "another database is in the place of its own");
    else if ((m->flags & CARET__META_CLEAN) != 0)
        judge(j, CARET_SHM_ORPHANED, "its database was closed cleanly");
    else if (m->generation > j->sh.generation)
        judge(j, CARET_SHM_ORPHANED, "its database was recovered since");
    else if ((rc = read_record(j, &rec)) == CARET_NONE)
        judge(j, CARET_SHM_LOST, "the lock file that would name it is not there or has no record");
    else if (rc != CARET_OK)
        judge(j, CARET_SHM_UNKNOWN, "the lock file that would name it can't be read");
    else if (rec.seg_dev != j->st.st_dev || rec.seg_ino != j->st.st_ino)
        judge(j, CARET_SHM_ORPHANED, "its database does not know it");
    else
        judge(j, CARET_SHM_NEEDED, "the next opening recovers from it");
}

/* The data file is at its path. */
static void judge_database(struct judged *j)
{
    struct caret__meta_pair pair;
    struct stat st;
    pid_t pid;
    int fd = caret__open_high(j->path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
    int claimed = fd >= 0 ? caret__data_claimed_by_any(fd, &pid) : -1;

    if (claimed < 0 || fstat(fd, &st) != 0) {
        judge(j, CARET_SHM_UNKNOWN, "its database can't be opened");
    } else if (claimed > 0) {
        judge(j, CARET_SHM_USED, "its database is in use");
        if (pid == getpid())
            return; /* by another copy of the library: closing would drop its locks */
    } else if (caret__meta_read(fd, j->path, (uint64_t)st.st_size, &pair) != CARET_OK) {
        judge(j, CARET_SHM_UNKNOWN, "its database can't be read");
    } else {
        judge_known(j, &pair.meta);
    }
    if (fd >= 0)
        close(fd);
}

/* Does the log file have all that was committed? */
static bool log_has_all(const struct caret__shared *sh)
{
    return sh->log_written == sh->log_head && sh->io_failed == 0 && sh->sync_in_progress == 0;
}

/* The data file is the one that is being opened here, or its inode was that of another.  What the record does not name
 * was never used, or can't be: a recovery ignores it. */
static void judge_opening(struct judged *j, bool there)
{
    bool same = memcmp(j->task->opening->uuid, j->sh.uuid, sizeof j->sh.uuid) == 0;

    if (same && strcmp(j->file, j->task->keep) == 0)
        judge(j, CARET_SHM_USED, "its database is being opened");
    else if (!same && there)
        judge(j, CARET_SHM_ORPHANED, "another database is in the place of its own");
    else if (log_has_all(&j->sh))
        judge(j, CARET_SHM_ORPHANED, "its database does not know it, and the log has all that is in it");
    else
        judge(j, CARET_SHM_LOST, "its database does not know it; commits that were not in the log are in it");
}

static bool is_opening(const struct judged *j)
{
    const struct caret__identity *id = j->task->opening;

    return id != NULL && id->dev == j->sh.dev && id->ino == j->sh.ino;
}

static void judge_owner(struct judged *j)
{
    struct stat st;
    int error = stat(j->path, &st) == 0 ? 0 : errno;
    bool there = error == 0 && st.st_dev == j->sh.dev && st.st_ino == j->sh.ino;
    const struct caret__engine *here = caret__registry_find((dev_t)j->sh.dev, (ino_t)j->sh.ino);

    if (is_opening(j))
        judge_opening(j, there);
    else if (here != NULL &&
             (here->base == NULL || memcmp(here->sh->uuid, j->sh.uuid, sizeof j->sh.uuid) == 0))
        judge(j, CARET_SHM_USED, "its database is open in this process");
    else if (there && here != NULL)
        judge(j, CARET_SHM_ORPHANED, "another database is in the place of its own");
    else if (there)
        judge_database(j);
    else if (error != 0 && error != ENOENT && error != ENOTDIR)
        judge(j, CARET_SHM_UNKNOWN, "its database can't be looked at");
    else if (log_has_all(&j->sh))
        judge(j, CARET_SHM_ORPHANED, "its database is not at its path, and the log has all that is in it");
    else
        judge(j, CARET_SHM_LOST,
              "its database is not at its path; commits that were not in the log yet are in it");
}

/* ------------------------------------------------------------------- segment */

/* Lock it, if nobody has: CARET_SHM_USED: somebody has.  CARET_SHM_UNKNOWN: that can't be told. */
static int lock_segment(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? CARET_SHM_USED : CARET_SHM_UNKNOWN;
}

/* The processes that registered in it, as far as they can be seen from here. */
static void list_pids(struct judged *j)
{
    struct caret__procslot slot;

    for (unsigned i = 0; i < CARET__MAX_PROCS; i++) {
        off_t at = (off_t)(j->sh.off_slots + i * sizeof slot);
        if (pread(j->fd, &slot, sizeof slot, at) != (ssize_t)sizeof slot)
            return;
        pid_t pid = (pid_t)slot.pid;
        if (slot.state == CARET__SLOT_USED && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM))
            j->pids[j->info.pids++] = slot.pid;
    }
}

static void judge_header(struct judged *j, int held)
{
    ssize_t n = pread(j->fd, &j->sh, sizeof j->sh, 0);
    bool whole = n == (ssize_t)sizeof j->sh;

    if (n < 0 || held == CARET_SHM_UNKNOWN) {
        judge(j, CARET_SHM_UNKNOWN, "it can't be read or locked");
        return;
    }
    if (whole && j->sh.magic == CARET__SEG_MAGIC && j->sh.signature != caret__layout_signature()) {
        judge(j, CARET_SHM_UNKNOWN, "of another build of the library");
        return;
    }
    bool finished = whole && j->sh.magic == CARET__SEG_MAGIC;
    if (finished)
        memcpy(j->path, j->sh.data_path, sizeof j->path - 1);
    if (held == CARET_SHM_USED)
        judge(j, CARET_SHM_USED, finished ? "in use" : "is being made");
    else if (!finished)
        judge(j, CARET_SHM_ORPHANED, "whoever made it died before it was used");
    else if (j->path[0] != '/')
        judge(j, CARET_SHM_LOST, "it does not tell of which database it is");
    else
        judge_owner(j);
    if (finished && j->info.state == CARET_SHM_USED)
        list_pids(j);
}

/* Opens it; the write lock is ours unless it is held. */
static void judge_file(struct judged *j)
{
    bool ours = strcmp(j->file + strlen(j->file) - strlen(CARET__SEG_SUFFIX), CARET__SEG_SUFFIX) == 0;

    j->fd = caret__open_high(j->file, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
    if (j->fd < 0)
        judge(j, CARET_SHM_UNKNOWN, "may not be opened by this user");
    else if (!ours)
        judge(j, CARET_SHM_UNKNOWN, "of another build of the library");
    else
        judge_header(j, lock_segment(j->fd));
}

/* ------------------------------------------------------------------ removing */

/* It stays, with what a recovery would read of it; readers are sent away (observe.c). */
static void shrink(struct judged *j)
{
    struct caret__shared place = {.max_pages = j->sh.max_pages, .max_slots = j->sh.max_slots};
    uint32_t ended = 1;

    caret__segment_place(&place);
    if (place.seg_size != j->sh.seg_size || place.seg_size != (uint64_t)j->st.st_size ||
        pwrite(j->fd, &ended, sizeof ended, offsetof(struct caret__shared, ended)) != (ssize_t)sizeof ended)
        return;
    off_t ptab = (off_t)place.off_ptab, ring = (off_t)place.off_ring, arena = (off_t)place.off_arena;
    fallocate(j->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, ptab, ring - ptab);
    fallocate(j->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, arena, j->st.st_size - arena);
}

/* A process that does not own it may not remove it from a folder like /dev/shm, but can empty it. */
static void act(struct judged *j, int flags)
{
    bool orphaned = j->info.state == CARET_SHM_ORPHANED, lost = j->info.state == CARET_SHM_LOST;

    if ((orphaned && (flags & CARET_SHM_REMOVE) != 0) || (lost && (flags & CARET_SHM_REMOVE_LOST) != 0))
        j->info.removed = unlink(j->file) == 0 || ftruncate(j->fd, 0) == 0;
    else if (lost && (flags & CARET__SHM_SHRINK) != 0)
        shrink(j);
}

/* ---------------------------------------------------------------------- list */

static bool is_name(const char *name)
{
    return strncmp(name, "caret-", 6) == 0 && strspn(name + 6, "0123456789abcdef") == 16 && name[22] == '-' &&
           strspn(name + 23, "0123456789abcdef") == 16 &&
           (name[39] == '\0' || strcmp(name + 39, CARET__SEG_SUFFIX) == 0);
}

static int visit(const char *dir, const char *name, const struct task *t)
{
    struct judged *j = calloc(1, sizeof *j);
    int rc = CARET_OK;

    if (j == NULL)
        return caret__fail(CARET_E_NOMEM, "%s/%s: no memory to look at it", dir, name);
    snprintf(j->file, sizeof j->file, "%s/%s", dir, name);
    j->task = t;
    j->info = (caret_shm_info){.file = j->file, .path = j->path, .pid = j->pids};
    if (lstat(j->file, &j->st) == 0 && S_ISREG(j->st.st_mode)) {
        j->info.bytes = (uint64_t)j->st.st_blocks * 512;
        judge_file(j);
        if (j->fd >= 0) {
            act(j, t->flags);
            close(j->fd);
        }
        rc = t->each != NULL ? t->each(t->arg, &j->info) : CARET_OK;
    }
    free(j);
    return rc;
}

static int visit_all(const char *dir, const struct task *t)
{
    struct dirent *entry;
    int rc = CARET_OK;

    dir = dir != NULL ? dir : CARET__SEG_DIR;
    DIR *d = opendir(dir);
    if (d == NULL)
        return caret__fail_errno(CARET_E_SHM, "%s: directory for shared memory", dir);
    while (rc == CARET_OK && (entry = readdir(d)) != NULL)
        if (is_name(entry->d_name))
            rc = visit(dir, entry->d_name, t);
    closedir(d);
    return rc;
}

int caret__shm_visit(const char *dir, int flags, caret_shm_each *each, void *arg)
{
    CARET__ASSERT(caret__registry_held());
    return visit_all(dir, &(struct task){.flags = flags, .each = each, .arg = arg});
}

void caret__shm_sweep(const struct caret__identity *opening, const char *dir, const char *keep)
{
    CARET__ASSERT(caret__registry_held());
    int before = errno;

    (void)visit_all(
        dir, &(struct task){.flags = CARET_SHM_REMOVE | CARET__SHM_SHRINK, .opening = opening, .keep = keep});
    errno = before;
}
