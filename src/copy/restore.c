/*
 * restore.c - a backup, and what was logged since, become a database again.
 *
 *   1  copy the backup to TO-partial-XXXXXXXX, with a new UUID: another history begins
 *   2  open it, and commit each record of the archive anew, in order, up to the LSN or
 *      the time that is wanted; long values come out of the archive files
 *   3  close it: one file; give it its name
 *
 * A record brings log_head from A to L.  The copy begins at the backup's LSN, each
 * record is as long as it was, so every commit must end at the LSN that it had: this
 * is compared, and the chain of checksums as well.  A file that is missing in the middle
 * cannot be passed over: where the archive ends, or begins a new chain, is told by the
 * names and seeds of the files.
 *
 * Times are those of the files: each tells when its last commit was there.
 *
 * The archive ends at the LSN for which there is no file.  If files of later LSNs are
 * there, what is between is lost, and with it all after it: that is an error, unless
 * what is wanted is not after it.  If there are none, nobody can tell whether
 * anything was committed between there and a wanted time: the result is made, and
 * that is said.
 *
 * Whoever is killed leaves files TO-partial-..., a database of some moment in between;
 * TO itself appears when it is complete.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"
#include "disk/record.h"
#include "log/archive.h"
#include "log/commit.h"
#include "log/longvalue.h"
#include "open/open.h"
#include "shm/lockfile.h"
#include "shm/write.h"

#define GENERATIONS 1000000u /* that may have begun between two files; arbitrary */

struct restore {
    const caret_restore_options *o;
    char *to, *archive; /* resolved */
    char temp[4096];
    struct caret__meta meta; /* of the backup */
    uint64_t backup_time; /* when its last commit was there; 0: the archive does not tell, or nobody asks */
    struct caret__engine *e;
    uint64_t lsn, seed; /* the chain has come so far */
    struct caret__batch batch;
    /* the archive file in hand */
    int fd;
    char name[300];
    struct caret__archive_head head;
    uint64_t value_at; /* offset of the next long value */
    uint8_t *rec;
    size_t cap;
};

static int cannot(const char *path, const char *what)
{
    return caret__fail_errno(caret__write_code(errno), "%s: cannot %s", path, what);
}

/* ------------------------------------------------------------------- the copy */

static int copy_bytes(const struct restore *r, int from, int to, const char *backup)
{
    uint8_t *buf = malloc(1u << 20);
    off_t at = 0;
    ssize_t n;
    int rc = CARET_OK;

    if (buf == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to restore it", backup);
    while (rc == CARET_OK && (n = pread(from, buf, 1u << 20, at)) != 0) {
        if (n < 0)
            rc = cannot(backup, "read the backup");
        errno = rc == CARET_OK ? caret__file_write(to, buf, (size_t)n, (uint64_t)at) : 0;
        if (errno != 0)
            rc = cannot(r->temp, "write the copy");
        at += n;
    }
    free(buf);
    return rc;
}

static int new_uuid(struct restore *r, int fd)
{
    struct caret__meta m = r->meta;

    if (getrandom(m.uuid, sizeof m.uuid, 0) != (ssize_t)sizeof m.uuid)
        return caret__fail_errno(CARET_E_SYSTEM, "%s: no random numbers for its identity", r->to);
    m.uuid[6] = (uint8_t)((m.uuid[6] & 0x0f) | 0x40);
    m.uuid[8] = (uint8_t)((m.uuid[8] & 0x3f) | 0x80);
    int rc = caret__meta_write(fd, r->temp, &m);
    if (rc != CARET_OK)
        return rc;
    m.epoch--; /* the other slot too, as in a backup */
    return caret__meta_write(fd, r->temp, &m);
}

static int read_meta(struct restore *r, int fd, const char *backup)
{
    struct caret__meta_pair pair;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return cannot(backup, "read the backup");
    if (!S_ISREG(st.st_mode))
        return caret__fail_for(S_ISDIR(st.st_mode) ? EISDIR : EINVAL, CARET_E_OPEN, "%s: %s", backup,
                               S_ISDIR(st.st_mode) ? "a folder, not a backup" : "not a regular file");
    int rc = caret__meta_read(fd, backup, (uint64_t)st.st_size, &pair);
    if (rc != CARET_OK)
        return rc;
    r->meta = pair.meta;
    r->lsn = pair.meta.lsn;
    r->seed = pair.meta.chain_seed;
    if ((pair.meta.flags & CARET__META_CLEAN) != 0)
        return CARET_OK;
    return caret__fail(CARET_E_INVALID,
                       "%s: a database that is open, or was not closed cleanly, is not a backup", backup);
}

/* Step 1. */
static int make_copy(struct restore *r, const char *backup)
{
    int to = -1, rc;

    if (caret__registry_has(backup))
        return caret__fail(CARET_E_INVALID, "%s: a database that is open here is not a backup", backup);
    int from = caret__open_high(backup, O_RDONLY | O_NOCTTY, 0);
    if (from < 0)
        return caret__fail_errno(errno == ENOENT ? CARET_E_NOTFOUND : CARET_E_OPEN, "%s: the backup", backup);
    rc = read_meta(r, from, backup);
    if (rc == CARET_OK) {
        to = caret__open_high(r->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (to < 0)
            rc = caret__fail_errno(CARET_E_OPEN, "%s: cannot be created", r->temp);
    }
    if (rc == CARET_OK)
        rc = copy_bytes(r, from, to, backup);
    if (rc == CARET_OK)
        rc = new_uuid(r, to);
    CARET_FAULT("restore_copied");
    close(from);
    if (to >= 0)
        close(to);
    return rc;
}

/* ------------------------------------------------------------- the archive files */

static int damaged(const struct restore *r, const char *what)
{
    return caret__fail(CARET_E_CORRUPT, "%s: LSN %llu: %s", r->name, (unsigned long long)r->lsn, what);
}

/* Does the file continue the chain, or begin that of a later generation? */
static bool continues(const struct restore *r)
{
    if (r->head.start_seed == r->seed)
        return true;
    for (uint32_t g = r->meta.generation; g < r->meta.generation + GENERATIONS; g++)
        if (caret__chain_start(g) == r->head.start_seed)
            return true;
    return false;
}

/* Open the file that begins where we are.  CARET_NONE: there is none. */
static int next_file(struct restore *r)
{
    if (!caret__archive_name(r->name, sizeof r->name, r->archive, r->meta.uuid, r->lsn))
        return caret__fail(CARET_E_OPEN, "%s: the path of the archive is too long", r->archive);
    r->fd = caret__open_high(r->name, O_RDONLY | O_NOCTTY, 0);
    if (r->fd < 0)
        return errno == ENOENT ? CARET_NONE : caret__fail_errno(CARET_E_OPEN, "%s: cannot be read", r->name);
    int rc = caret__archive_read_head(r->fd, r->name, &r->head);
    if (rc == CARET_OK &&
        (r->head.start != r->lsn || memcmp(r->head.uuid, r->meta.uuid, 16) != 0 || !continues(r)))
        rc = damaged(r, "this file does not continue the one before");
    r->seed = r->head.start_seed;
    r->value_at = sizeof r->head + (r->head.end - r->head.start);
    return rc;
}

static int read_file(struct restore *r, void *buf, size_t len, uint64_t at)
{
    ssize_t n = pread(r->fd, buf, len, (off_t)at);

    if (n == (ssize_t)len)
        return CARET_OK;
    return n < 0 ? cannot(r->name, "read the archive") : damaged(r, "the file is too short");
}

/* The record at r->lsn into r->rec. */
static int read_record(struct restore *r, uint32_t *size)
{
    uint64_t at = sizeof r->head + (r->lsn - r->head.start);
    uint8_t head[CARET__REC_HEAD];
    int rc = read_file(r, head, sizeof head, at);

    if (rc != CARET_OK)
        return rc;
    *size = caret__le32(head);
    if (*size < CARET__REC_HEAD + CARET__REC_TAIL || *size > r->head.end - r->lsn ||
        *size > CARET__RECORD_MAX)
        return damaged(r, "the record there makes no sense");
    if (*size > r->cap) {
        uint8_t *rec = realloc(r->rec, *size);
        if (rec == NULL)
            return caret__fail(CARET_E_NOMEM, "%s: no memory for a record of %u bytes", r->name, *size);
        r->rec = rec;
        r->cap = *size;
    }
    rc = read_file(r, r->rec, *size, at);
    if (rc == CARET_OK && caret__record_verify(r->seed, r->rec, *size) != *size)
        rc = damaged(r, "the record there is damaged");
    return rc;
}

/* ------------------------------------------------------------------- committing */

/* A long value from the archive file to pages of the copy. */
static int take_value(struct restore *r, const struct caret__op_view *op, struct caret__room *room,
                      struct caret__runref *ref)
{
    struct caret__runref was;

    memcpy(&was, op->val, sizeof was);
    if (was.len > CARET_MAX_VALUE)
        return damaged(r, "a long value makes no sense");
    uint8_t *value = malloc(was.len + 1u);
    if (value == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory for a value of %u bytes", r->name, was.len);
    int rc = read_file(r, value, was.len, r->value_at);
    if (rc == CARET_OK && caret__crc32c(0, value, was.len) != was.crc)
        rc = damaged(r, "a long value is damaged");
    if (rc == CARET_OK)
        rc = caret__run_write(r->e, room, value, was.len, ref);
    r->value_at += was.len;
    free(value);
    return rc;
}

static int add_op(struct restore *r, const struct caret__op_view *op, struct caret__room *room)
{
    const void *val = op->val;
    struct caret__runref ref;
    int rc = CARET_OK;

    if (op->kind == CARET__OP_SETRUN) {
        if (op->vlen != sizeof ref)
            return damaged(r, "a long value makes no sense");
        rc = take_value(r, op, room, &ref);
        val = &ref;
    }
    return rc == CARET_OK
               ? caret__batch_add(&r->batch, (enum caret__op)op->kind, op->key, op->klen, val, op->vlen)
               : rc;
}

/* The long values of the record will be written. */
static void expect_values(const struct restore *r, uint32_t size, struct caret__room *room)
{
    struct caret__runref ref;
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;

    while (caret__record_op(r->rec, size, &off, &op) > 0) {
        if (op.kind != CARET__OP_SETRUN || op.vlen != sizeof ref)
            continue;
        memcpy(&ref, op.val, sizeof ref);
        caret__room_expect(room, caret__run_pages(ref.len));
    }
}

/* Commit what the record says. */
static int commit(struct restore *r, uint32_t size)
{
    struct caret__room room = {0};
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    uint64_t lsn = 0;
    int rc = caret__batch_begin(&r->batch), more = 1;

    expect_values(r, size, &room);
    while (rc == CARET_OK && (more = caret__record_op(r->rec, size, &off, &op)) > 0)
        rc = add_op(r, &op, &room);
    if (rc == CARET_OK && more < 0)
        rc = damaged(r, "the record there can't be read");
    if (rc == CARET_OK)
        rc = caret__commit(r->e, &r->batch, NULL, NULL, &lsn);
    caret__room_done(r->e, &room);
    if (rc == CARET_OK && lsn != r->lsn + size)
        rc = damaged(r, "the record there does not take the place that it took");
    return rc;
}

/* ------------------------------------------------------------ where the archive ends */

/* The LSN at which the first file after r->lsn begins, or the last one before it; 0: there is none. */
static int file_beside(const struct restore *r, bool behind, uint64_t *lsn)
{
    DIR *dir = opendir(r->archive);
    const struct dirent *entry;
    char name[300];

    *lsn = 0;
    if (dir == NULL)
        return caret__fail_errno(CARET_E_OPEN, "%s: folder of the archive", r->archive);
    while ((entry = readdir(dir)) != NULL) {
        const char *dash = strchr(entry->d_name, '-');
        uint64_t at = dash != NULL ? strtoull(dash + 1, NULL, 16) : 0;
        bool nearer = behind ? at > r->lsn && (*lsn == 0 || at < *lsn) : at < r->lsn && at > *lsn;
        if (nearer && caret__archive_name(name, sizeof name, r->archive, r->meta.uuid, at) &&
            strcmp(strrchr(name, '/') + 1, entry->d_name) == 0)
            *lsn = at;
    }
    closedir(dir);
    return CARET_OK;
}

/* When was the last commit of the backup there?  0: the archive does not tell. */
static int time_of_backup(struct restore *r, uint64_t *time)
{
    struct caret__archive_head head;
    uint64_t start;
    int rc = file_beside(r, false, &start);

    *time = 0;
    if (rc != CARET_OK || start == 0 ||
        !caret__archive_name(r->name, sizeof r->name, r->archive, r->meta.uuid, start))
        return rc;
    int fd = caret__open_high(r->name, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return errno == ENOENT ? CARET_OK : caret__fail_errno(CARET_E_OPEN, "%s: cannot be read", r->name);
    if (caret__archive_read_head(fd, r->name, &head) == CARET_OK && head.end == r->lsn)
        *time = head.time;
    close(fd);
    return CARET_OK;
}

/* A backup leads to what came after it, not to what was before. */
static int not_before_backup(struct restore *r, const char *backup)
{
    int rc = r->o->time != 0 ? time_of_backup(r, &r->backup_time) : CARET_OK;

    if (rc == CARET_OK && r->o->lsn != 0 && r->lsn > r->o->lsn)
        rc =
            caret__fail(CARET_E_NOTFOUND, "%s: this backup is of LSN %llu, after LSN %llu: take an older one",
                        backup, (unsigned long long)r->lsn, (unsigned long long)r->o->lsn);
    if (rc == CARET_OK && r->backup_time > r->o->time)
        rc = caret__fail(CARET_E_NOTFOUND,
                         "%s: this backup has commits after the time that was asked for: take an older one",
                         backup);
    return rc;
}

/* There is no file that begins at r->lsn, and more is wanted.  CARET_NONE: perhaps nothing is missing. */
static int archive_ends(const struct restore *r)
{
    char when[40] = "with the backup";
    uint64_t next;
    struct tm tm;
    time_t seconds = (time_t)(r->head.time / UINT64_C(1000000000));
    int rc = file_beside(r, true, &next);

    if (rc != CARET_OK)
        return rc;
    if (next != 0)
        return caret__fail(CARET_E_NOTFOUND,
                           "%s is missing: the log from LSN %llu to %llu; without it nothing after LSN %llu "
                           "can be restored (ask for that LSN to have what is before)",
                           r->name, (unsigned long long)r->lsn, (unsigned long long)next,
                           (unsigned long long)r->lsn);
    if (r->head.time != 0 && gmtime_r(&seconds, &tm) != NULL)
        strftime(when, sizeof when, "at %Y-%m-%d %H:%M:%S UTC", &tm);
    if (r->o->lsn != 0)
        return caret__fail(CARET_E_NOTFOUND, "%s: the archive ends %s, at LSN %llu, before LSN %llu",
                           r->archive, when, (unsigned long long)r->lsn, (unsigned long long)r->o->lsn);
    if (r->o->time == 0)
        return CARET_OK;
    return caret__fail(CARET_NONE, "%s: the archive ends %s, at LSN %llu, %s", r->archive, when,
                       (unsigned long long)r->lsn,
                       r->head.time != 0 || r->backup_time != 0
                           ? "before the time that was asked for: what was committed between is not in it"
                           : "and does not tell when that was: before or after the time that was asked for");
}

/* The records of the file in hand, up to the LSN that is wanted. */
static int take_file(struct restore *r)
{
    int rc = CARET_OK;

    while (rc == CARET_OK && r->lsn < r->head.end) {
        uint32_t size;
        rc = read_record(r, &size);
        if (rc == CARET_OK && r->o->lsn != 0 && r->lsn + size > r->o->lsn)
            return CARET_NONE;
        if (rc == CARET_OK)
            rc = commit(r, size);
        if (rc != CARET_OK)
            break;
        memcpy(&r->seed, r->rec + size - 8, 8);
        r->lsn += size;
        CARET_FAULT("restore_record");
    }
    return rc;
}

/* The next file; CARET_NONE: what is wanted is reached, or the archive ends. */
static int replay_file(struct restore *r, bool *ends)
{
    int rc = next_file(r);

    *ends = rc == CARET_NONE;
    if (rc == CARET_OK && r->o->time != 0 && r->head.time > r->o->time)
        rc = CARET_NONE;
    if (rc == CARET_OK)
        rc = take_file(r);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    if (rc == CARET_OK && r->o->progress != NULL &&
        r->o->progress(r->o->progress_arg, r->lsn, r->head.time) != 0)
        rc = caret__fail(CARET_ROLLBACK, "%s: restoring was stopped by its caller", r->to);
    return rc;
}

static int replay(struct restore *r)
{
    bool ends = false;
    int rc = CARET_OK;

    while (rc == CARET_OK && r->archive != NULL && (r->o->lsn == 0 || r->lsn < r->o->lsn))
        rc = replay_file(r, &ends);
    if (rc == CARET_NONE)
        rc = ends ? archive_ends(r) : CARET_OK;
    if (rc == CARET_OK && r->o->lsn > r->lsn)
        rc = caret__fail(CARET_E_NOTFOUND, "%s: no commit ends at LSN %llu; one ends at %llu",
                         r->archive != NULL ? r->archive : r->to, (unsigned long long)r->o->lsn,
                         (unsigned long long)r->lsn);
    return rc;
}

/* Step 2. */
static int bring_forward(struct restore *r)
{
    caret_options options = {.no_create = 1, .no_thread = 1, .sync = CARET_SYNC_OFF};

    /* whatever size the log had been asked to have: this one becomes as long as a record wants it */
    options.shm_dir = r->o->shm_dir;
    options.any_fs = r->o->any_fs;
    int rc = caret__engine_open_alone(r->temp, &options, &r->e);
    if (rc != CARET_OK)
        return rc;
    rc = replay(r);
    CARET_FAULT("restore_replayed");
    int closed = caret__engine_close(r->e);
    return closed != CARET_OK && (rc == CARET_OK || rc == CARET_NONE) ? closed : rc;
}

/* --------------------------------------------------------------------- the name */

/* What is beside the copy, of which nobody else knows. */
static void remove_beside(const struct restore *r)
{
    static const char *const suffixes[] = {"-log", "-lock"};
    char name[4200];

    for (unsigned i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", r->temp, suffixes[i]);
        unlink(name);
    }
}

static void remove_temp(const struct restore *r)
{
    unlink(r->temp);
    remove_beside(r);
}

/* Step 3. */
static int publish(struct restore *r)
{
    int rc = (int)syscall(SYS_renameat2, AT_FDCWD, r->temp, AT_FDCWD, r->to, 1u /* RENAME_NOREPLACE */);

    if (rc != 0 && (errno == EINVAL || errno == ENOSYS))
        rc = link(r->temp, r->to) == 0 ? unlink(r->temp) : -1;
    if (rc != 0)
        return errno == EEXIST ? caret__fail(CARET_E_EXISTS, "%s: there is a file of this name", r->to)
                               : cannot(r->to, "rename it");
    char *slash = strrchr(r->to, '/');
    *slash = '\0';
    int dir = caret__open_high(slash == r->to ? "/" : r->to, O_RDONLY | O_DIRECTORY, 0);
    *slash = '/';
    rc = dir >= 0 && caret__fsync(dir) == 0 ? CARET_OK : cannot(r->to, "sync its directory");
    if (dir >= 0)
        close(dir);
    return rc;
}

static int prepare(struct restore *r, const char *to)
{
    struct stat st;
    uint32_t number = (uint32_t)caret__now_ns() ^ (uint32_t)getpid() << 16;
    int rc = caret__path_resolve(to, &r->to);

    if (rc != CARET_OK)
        return rc;
    if (lstat(r->to, &st) == 0)
        return caret__fail(CARET_E_EXISTS, "%s: %s", r->to,
                           S_ISDIR(st.st_mode) ? "a folder: name a file in it"
                                               : "there is a file of this name");
    if (snprintf(r->temp, sizeof r->temp, "%s-partial-%08x", r->to, number) >= (int)sizeof r->temp)
        return caret__fail(CARET_E_OPEN, "%s: the path is too long", r->to);
    return r->o->archive != NULL ? caret__archive_resolve(r->o->archive, &r->archive) : CARET_OK;
}

int caret__restore(const char *backup, const char *to, const caret_restore_options *options,
                   uint64_t *reached)
{
    struct restore *r = calloc(1, sizeof *r);

    if (r == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to restore it", to);
    r->o = options;
    r->fd = -1;
    int rc = prepare(r, to);
    bool made = rc == CARET_OK;
    if (rc == CARET_OK)
        rc = make_copy(r, backup);
    if (rc == CARET_OK)
        rc = not_before_backup(r, backup);
    if (rc == CARET_OK)
        rc = bring_forward(r);
    if (rc == CARET_OK || rc == CARET_NONE) {
        remove_beside(r); /* closed cleanly: at most a lock file that could not be removed */
        int named = publish(r);
        rc = named == CARET_OK ? rc : named;
    }
    bool done = rc == CARET_OK || rc == CARET_NONE;
    if (done && reached != NULL)
        *reached = r->lsn;
    if (!done && made)
        remove_temp(r);
    caret__batch_destroy(&r->batch);
    free(r->rec);
    free(r->to);
    free(r->archive);
    free(r);
    return rc;
}
