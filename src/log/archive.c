/*
 * archive.c - copying the log out before it is overwritten.
 *
 * A backup and all that was logged since give the database of any later moment.
 * So with an archive no checkpoint gives log up that is not in it:
 *
 *   checkpoint e: long values and log synced --> archive [checkpoint_lsn, frozen.lsn) --> pages, meta e
 *                 --> checkpoint_lsn = frozen.lsn
 *
 * One file for each checkpoint, named by UUID and first LSN, so that each file's end is the next one's name.
 * It is written under another name, synced, renamed, and the folder synced, before the meta is written: what a
 * meta does not need any more is in the archive, on the disk.  Log and data file (long values are there) are
 * synced before: no loss of power takes from the database what is in the archive, and has it write another
 * history in its place.
 *
 * Long values are in the data file, not in the log; they go into the file too.
 * They are all still there: a run that was logged in epoch e or freed in it is not
 * reused before e is durable and released.
 *
 * Death anywhere: the checkpoint is made again, by a successor or after a recovery,
 * from the same LSN on, and replaces the file.  It may be longer then (more was
 * committed), or shorter (the disk had lied, and lost the end of the log): one
 * is the beginning of the other.  If it is not, the folder holds the history of
 * another copy of this database, and the checkpoint fails rather than mix them.
 *
 * A new generation begins a new chain at the same LSN: the seed of a file need not be
 * the end of the one before.
 *
 * Errors fail the checkpoint.  Nothing is lost: the log stays; when it is full,
 * writers are refused with that error until there is room.
 */

#include "log/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"
#include "disk/logfile.h"
#include "disk/record.h"
#include "log/checkpoint.h"
#include "log/flush.h"
#include "shm/fail.h"
#include "shm/lockfile.h"
#include "shm/write.h"

static const char magic[8] = "CARETARC";

_Static_assert(sizeof(struct caret__archive_head) == 128, "head of an archive file");
_Static_assert(offsetof(struct caret__archive_head, crc) == 124, "head of an archive file");

#define BUFFER (1u << 20)

/* A file in the making. */
struct writer {
    struct caret__engine *e;
    char *dir;
    int fd;
    char temp[300], name[300];
    struct caret__archive_head head;
    uint64_t at;  /* bytes written */
    uint8_t *buf; /* records, `len` bytes of them from LSN `lsn` on */
    size_t cap, len;
    uint64_t lsn;
    struct caret__runref *refs; /* long values met */
    size_t nrefs, caprefs;
};

/* ------------------------------------------------------------------ the folder */

int caret__archive_resolve(const char *dir, char **resolved)
{
    struct stat st;

    *resolved = realpath(dir, NULL);
    if (*resolved == NULL)
        return caret__fail_errno(CARET_E_OPEN, "%s: folder of the archive", dir);
    if (stat(*resolved, &st) == 0 && S_ISDIR(st.st_mode) && strlen(*resolved) < CARET__ARCHIVE_PATH)
        return CARET_OK;
    free(*resolved);
    *resolved = NULL;
    return caret__fail(CARET_E_INVALID, "%s: no folder for an archive, or its name has over %u bytes", dir,
                       CARET__ARCHIVE_PATH - 1);
}

void caret__archive_set(struct caret__shared *sh, const char *dir)
{
    size_t len = strlen(dir);

    memcpy(sh->archive, dir, len + 1);
    atomic_store(&sh->archive_time, caret__now_ns());
    atomic_store(&sh->archive_len, (uint32_t)len); /* last: now there is one */
}

static bool is_archive(const struct caret__shared *sh, const char *dir)
{
    uint32_t len = atomic_load(&sh->archive_len);

    return len == strlen(dir) && memcmp(sh->archive, dir, len) == 0;
}

/* In the checkpoint role, everything committed before is in the file. */
static int set_in_role(struct caret__engine *e, void *dir)
{
    CARET__HELD(&e->sh->checkpoint);
    if (atomic_load(&e->sh->archive_len) != 0 && !is_archive(e->sh, dir))
        return caret__fail(CARET_E_INVALID, "%s: its log is archived in %s already, not in %s", e->path,
                           e->sh->archive, (const char *)dir);
    if (atomic_load(&e->sh->archive_len) == 0)
        caret__archive_set(e->sh, dir);
    return CARET_OK;
}

int caret__archive_begin(struct caret__engine *e, const char *dir)
{
    char *resolved;
    int rc = caret__archive_resolve(dir, &resolved);

    if (rc == CARET_OK && !is_archive(e->sh, resolved))
        rc = caret__checkpoint_then(e, 0, set_in_role, resolved);
    free(resolved);
    return rc;
}

bool caret__archive_name(char *name, size_t size, const char *dir, const uint8_t uuid[16], uint64_t start)
{
    char hex[33];

    for (unsigned i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", uuid[i]);
    return snprintf(name, size, "%s/%s-%016llx.caret-archive", dir, hex, (unsigned long long)start) <
           (int)size;
}

/* ----------------------------------------------------------------- reading back */

int caret__archive_read_head(int fd, const char *name, struct caret__archive_head *h)
{
    ssize_t n = pread(fd, h, sizeof *h, 0);

    if (n < 0)
        return caret__fail_errno(CARET_E_IO, "%s: cannot be read", name);
    if (n != (ssize_t)sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0 ||
        h->crc != caret__crc32c(0, h, offsetof(struct caret__archive_head, crc)) || h->end <= h->start ||
        h->start % 8 != 0 || h->end % 8 != 0)
        return caret__fail(CARET_E_CORRUPT, "%s: the head of this archive file is damaged", name);
    if (h->format > CARET__ARCHIVE_FORMAT)
        return caret__fail(CARET_E_VERSION, "%s: an archive file of format %u; this build knows %u", name,
                           h->format, CARET__ARCHIVE_FORMAT);
    return CARET_OK;
}

/* Are the first `len` bytes of log the same in both files?  1 yes, 0 no, -1 they can't be read (errno). */
static int same_log(int a, int b, uint64_t len)
{
    uint8_t x[8192], y[8192];

    for (uint64_t at = sizeof(struct caret__archive_head), n; len > 0; at += n, len -= n) {
        n = caret__min64(len, sizeof x);
        ssize_t in_a = pread(a, x, n, (off_t)at), in_b = in_a < 0 ? -1 : pread(b, y, n, (off_t)at);
        if (in_a < 0 || in_b < 0)
            return -1;
        if (in_a != (ssize_t)n || in_b != (ssize_t)n || memcmp(x, y, n) != 0)
            return 0;
    }
    return 1;
}

/* There may be a file of that name: it must be of the same history.  A damaged one may be replaced. */
static int compare_old(const struct writer *w)
{
    struct caret__archive_head old;
    int fd = caret__open_high(w->name, O_RDONLY | O_NOFOLLOW, 0), rc = CARET_OK;

    if (fd < 0)
        return errno == ENOENT ? CARET_OK : caret__fail_errno(CARET_E_OPEN, "%s: cannot be read", w->name);
    rc = caret__archive_read_head(fd, w->name, &old);
    int same = 1;
    if (rc == CARET_OK)
        same = old.start_seed == w->head.start_seed &&
               same_log(fd, w->fd, caret__min64(old.end, w->head.end) - old.start);
    rc = rc == CARET_E_IO ? rc : CARET_OK;
    if (same < 0)
        rc = caret__fail_errno(CARET_E_IO, "%s: cannot be read", w->name);
    if (same == 0)
        rc = caret__fail(
            CARET_E_EXISTS,
            "%s: holds the history of another copy of this database; give this one an archive of its own",
            w->name);
    close(fd);
    return rc;
}

/* -------------------------------------------------------------------- writing */

static int failed(const struct writer *w, const char *what)
{
    return caret__fail_errno(caret__write_code(errno), "%s: cannot %s the archive of the log", w->temp, what);
}

static int put(struct writer *w, const void *bytes, size_t len)
{
    errno = caret__file_write(w->fd, bytes, len, w->at);
    if (errno != 0)
        return failed(w, "write");
    w->at += len;
    CARET_FAULT("archive_written");
    return CARET_OK;
}

static int note_value(struct writer *w, const struct caret__op_view *op)
{
    if (w->nrefs == w->caprefs) {
        size_t cap = w->caprefs == 0 ? 64 : 2 * w->caprefs;
        struct caret__runref *more = realloc(w->refs, cap * sizeof *more);
        if (more == NULL)
            return caret__fail(CARET_E_NOMEM, "%s: no memory to archive its log", w->e->path);
        w->refs = more;
        w->caprefs = cap;
    }
    memcpy(&w->refs[w->nrefs], op->val, sizeof *w->refs);
    w->head.values += w->refs[w->nrefs++].len;
    return CARET_OK;
}

static int note_values(struct writer *w, const uint8_t *rec, uint32_t size)
{
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    int rc = CARET_OK;

    while (rc == CARET_OK && caret__record_op(rec, size, &off, &op) > 0)
        if (op.kind == CARET__OP_SETRUN && op.vlen == sizeof(struct caret__runref))
            rc = note_value(w, &op);
        else if (op.kind == CARET__OP_RANGE)
            w->head.format = CARET__ARCHIVE_FORMAT;
    return rc;
}

/* Have more of the log in the buffer, room for `size` bytes at least. */
static int fill_buffer(struct writer *w, size_t size)
{
    struct caret__engine *e = w->e;
    struct caret__logfile file = {.fd = caret__fd(&e->log_fd),
                                  .path = e->log_path,
                                  .base = atomic_load(&e->sh->log_base),
                                  .size = atomic_load(&e->sh->log_size)};
    uint64_t next = w->lsn + w->len;

    if (size > w->cap) {
        uint8_t *buf = realloc(w->buf, size);
        if (buf == NULL)
            return caret__fail(CARET_E_NOMEM, "%s: no memory to archive a record of %zu bytes", e->path,
                               size);
        w->buf = buf;
        w->cap = size;
    }
    size_t n = (size_t)caret__min64(w->cap - w->len, w->head.end - next);
    int rc = n == 0 ? CARET_OK : caret__log_read(&file, next, w->buf + w->len, n);
    w->len += rc == CARET_OK ? n : 0;
    return rc;
}

/* The whole records at the front of the buffer: verified, looked through, written. */
static int take_records(struct writer *w, size_t *wanted)
{
    size_t at = 0;
    int rc = CARET_OK;

    *wanted = BUFFER;
    while (rc == CARET_OK && w->len - at >= CARET__REC_HEAD) {
        uint32_t size = caret__le32(w->buf + at);
        if (size > w->len - at && size <= w->head.end - (w->lsn + at)) {
            *wanted = size;
            break;
        }
        if (caret__record_verify(w->head.end_seed, w->buf + at, w->len - at) == 0)
            return caret__fail(CARET_E_CORRUPT,
                               "%s: the record at LSN %llu does not continue the log: not archived",
                               w->e->log_path, (unsigned long long)(w->lsn + at));
        rc = note_values(w, w->buf + at, size);
        at += size;
        memcpy(&w->head.end_seed, w->buf + at - 8, 8);
    }
    if (rc == CARET_OK)
        rc = put(w, w->buf, at);
    memmove(w->buf, w->buf + at, w->len - at);
    w->len -= at;
    w->lsn += at;
    return rc;
}

static int put_log(struct writer *w)
{
    size_t wanted = BUFFER;
    int rc = CARET_OK;

    w->lsn = w->head.start;
    while (rc == CARET_OK && w->lsn < w->head.end) {
        rc = fill_buffer(w, wanted);
        if (rc == CARET_OK)
            rc = take_records(w, &wanted);
    }
    return rc;
}

static int put_values(struct writer *w)
{
    int rc = CARET_OK;

    for (size_t i = 0; rc == CARET_OK && i < w->nrefs; i++) {
        const struct caret__runref *ref = &w->refs[i];
        const uint8_t *value = w->e->file_map + (size_t)ref->pgno * CARET__PAGE_SIZE;
        if (!caret__run_below(ref->pgno, ref->len, w->e->file_pages_mapped) ||
            caret__crc32c(0, value, ref->len) != ref->crc)
            return caret__fail(CARET_E_CORRUPT,
                               "%s: page %u: the long value there is damaged: the log is not archived",
                               w->e->path, ref->pgno);
        rc = put(w, value, ref->len);
    }
    return rc;
}

static int put_head(struct writer *w)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    w->head.time = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    w->head.crc = caret__crc32c(0, &w->head, offsetof(struct caret__archive_head, crc));
    w->at = 0;
    return put(w, &w->head, sizeof w->head);
}

/* It gets its name. */
static int publish(struct writer *w)
{
    int rc = compare_old(w);

    if (rc != CARET_OK)
        return rc;
    if (caret__fsync(w->fd) != 0)
        return failed(w, "sync");
    CARET_FAULT("archive_synced");
    if (rename(w->temp, w->name) != 0)
        return failed(w, "rename");
    CARET_FAULT("archive_named");
    int dir = caret__open_high(w->dir, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0 || caret__fsync(dir) != 0)
        rc = failed(w, "sync the folder of");
    if (dir >= 0)
        close(dir);
    return rc;
}

static int write_file(struct writer *w)
{
    struct stat st;

    unlink(w->temp); /* of one that died: there is one checkpointer at a time */
    w->fd = caret__open_high(w->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (w->fd < 0)
        return failed(w, "create");
    if (fstat(caret__fd(&w->e->data_fd), &st) == 0)
        caret__file_rights(w->fd, st.st_uid, st.st_gid, st.st_mode);
    CARET_FAULT("archive_created");
    w->at = sizeof w->head;
    int rc = put_log(w);
    if (rc == CARET_OK)
        rc = put_values(w);
    if (rc == CARET_OK)
        rc = put_head(w);
    if (rc == CARET_OK)
        rc = publish(w);
    if (rc != CARET_OK)
        unlink(w->temp);
    close(w->fd);
    return rc;
}

/* What will be in the archive is on the disk: long values first.  Under the flush mutex, as failed syncs are
 * noted there. */
static int sync_first(struct caret__engine *e, uint64_t to)
{
    CARET__HELD(&e->sh->checkpoint);
    int rc = caret__flush(e, to, false);

    if (rc == CARET_OK)
        rc = caret__flush_hold(e);
    if (rc != CARET_OK)
        return rc;
    if (caret__fdatasync(caret__fd(&e->data_fd)) != 0)
        rc = caret__io_failed(e, errno, "syncing the data file");
    else if (caret__fdatasync(caret__fd(&e->log_fd)) != 0)
        rc = caret__io_failed(e, errno, "syncing the log");
    caret__flush_release(e);
    return rc;
}

int caret__archive_log(struct caret__engine *e, uint64_t to)
{
    CARET__HELD(&e->sh->checkpoint);
    struct caret__shared *sh = e->sh;
    struct writer w = {.e = e, .dir = sh->archive, .fd = -1};
    uint64_t from = atomic_load(&sh->checkpoint_lsn);

    if (atomic_load(&sh->archive_len) == 0 || to <= from)
        return CARET_OK;
    memcpy(w.head.magic, magic, sizeof magic);
    w.head.format = CARET__ARCHIVE_FIRST;
    memcpy(w.head.uuid, sh->uuid, sizeof w.head.uuid);
    w.head.start = from;
    w.head.end = to;
    w.head.start_seed = w.head.end_seed = sh->checkpoint_seed;
    if (!caret__archive_name(w.name, sizeof w.name, w.dir, sh->uuid, from) ||
        snprintf(w.temp, sizeof w.temp, "%s-partial", w.name) >= (int)sizeof w.temp)
        return caret__fail_for(ENAMETOOLONG, CARET_E_OPEN, "%s: the path of the archive is too long", w.dir);
    int rc = sync_first(e, to);
    if (rc == CARET_OK)
        rc = write_file(&w);
    if (rc == CARET_OK)
        atomic_store(&sh->archive_time, caret__now_ns());
    free(w.buf);
    free(w.refs);
    return rc;
}
