/*
 * salvage_log.c - what the log has after the checkpoint that is salvaged.
 *
 * Replaying needs a whole tree; salvaging has none.  But the log's records are
 * results, so their effect on single nodes can be told without the tree:
 *
 *     set     key -> how it ended: a value, a long value, or deleted
 *     killed  the spans of keys that were killed
 *
 * A node of the checkpoint counts only if neither has its key; then the nodes of the
 * first are added.  A kill takes away what was set in its span before.  Both are trees
 * in private memory, not larger than the log.
 *
 * The chain is followed as far as it holds, as in recovery, and on into the ring of killed users, whose commits
 * may be nowhere else: where the lock file names a segment that still exists.
 */
#include "copy/salvage_log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/key.h"
#include "disk/record.h"
#include "open/open.h"
#include "page/check.h"
#include "shm/lockfile.h"

enum { WAS_SET = 'S', WAS_RUN = 'R', WAS_DELETED = 'D' };

static int note_kill(struct caret__salvage_log *l, const struct caret__op_view *op)
{
    uint8_t end[CARET__PLACE_MAX];
    struct caret__span r = caret__op_span(op, end);

    if (r.hi_len > CARET__PLACE_MAX || caret__bytes_compare(r.lo, r.lo_len, r.hi, r.hi_len) >= 0)
        return CARET_OK;
    int rc = caret__private_kill(&l->set, &r);
    return rc == CARET_OK ? caret__spans_add(&l->killed, &r, NULL, NULL) : rc;
}

static int note(struct caret__salvage_log *l, const struct caret__op_view *op)
{
    char tag = op->kind == CARET__OP_SET ? WAS_SET : op->kind == CARET__OP_SETRUN ? WAS_RUN : WAS_DELETED;
    int rc = CARET_OK;

    l->changes++;
    if (op->klen == 0 || op->klen > CARET__KEY_MAX)
        return CARET_OK;
    if (op->kind == CARET__OP_KILL || op->kind == CARET__OP_RANGE)
        return note_kill(l, op);
    uint32_t vlen = tag == WAS_DELETED ? 0 : op->vlen;
    uint8_t *tagged = malloc((size_t)vlen + 1);
    if (tagged == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for the changes in the log");
    tagged[0] = (uint8_t)tag;
    memcpy(tagged + 1, op->val, vlen);
    rc = caret__private_set(&l->set, op->key, op->klen, tagged, (size_t)vlen + 1);
    free(tagged);
    return rc;
}

static int note_record(struct caret__salvage_log *l, const uint8_t *rec, uint32_t size)
{
    struct caret__op_view op;
    uint32_t off = CARET__REC_HEAD;
    int rc = CARET_OK;

    while (rc == CARET_OK && caret__record_op(rec, size, &off, &op) > 0)
        rc = note(l, &op);
    return rc;
}

/* The records of the chain, one after the other; what can't be read ends it. */
static int follow(struct caret__salvage_log *l, const struct caret__logfile *f, const struct caret__meta *m,
                  uint64_t *end)
{
    uint64_t lsn = m->lsn, seed = m->chain_seed;
    uint8_t head[CARET__REC_HEAD], *rec = NULL;
    int rc = CARET_OK;

    while (rc == CARET_OK && caret__log_read(f, lsn, head, sizeof head) == CARET_OK) {
        uint32_t size = caret__le32(head);
        if (size < CARET__REC_HEAD + CARET__REC_TAIL || size > CARET__RECORD_MAX ||
            lsn + size > m->lsn + f->size)
            break;
        uint8_t *room = realloc(rec, size);
        if (room == NULL) {
            rc = caret__fail(CARET_E_NOMEM, "%s: no memory for a record of %u bytes", f->path, size);
            break;
        }
        rec = room;
        if (caret__log_read(f, lsn, rec, size) != CARET_OK || caret__record_verify(seed, rec, size) == 0)
            break;
        rc = note_record(l, rec, size);
        memcpy(&seed, rec + size - 8, 8);
        lsn += size;
    }
    free(rec);
    *end = lsn;
    return rc;
}

/* What only the memory of killed users has, if that is still there: e->log_tail. */
static int read_tail(struct caret__engine *e, const struct caret__meta *m, uint64_t *reach)
{
    struct caret__start start = {.pair.meta = *m};
    int rc = caret__lockfile_look(e);

    if (rc == CARET_NONE) /* no lock file, or one for writers: the log has its record too */
        rc = CARET_OK;
    if (rc == CARET_OK && fstat(caret__fd(&e->data_fd), &start.st) != 0)
        rc = caret__fail_errno(CARET_E_IO, "%s: can't be looked at", e->path);
    start.id = (struct caret__identity){.dev = start.st.st_dev,
                                        .ino = start.st.st_ino,
                                        .uid = start.st.st_uid,
                                        .gid = start.st.st_gid,
                                        .mode = start.st.st_mode};
    memcpy(start.id.uuid, m->uuid, sizeof start.id.uuid);
    if (rc == CARET_OK)
        rc = caret__log_tail(e, &start, reach);
    caret__lockfile_close(e);
    return rc;
}

static int read_all(struct caret__salvage_log *l, struct caret__engine *e, const struct caret__meta *m,
                    char *report, size_t cap)
{
    uint64_t reach = 0, end = 0;
    int rc = read_tail(e, m, &reach);

    if (rc != CARET_OK) {
        l->lost = true;
        caret__report(report, cap, "commits that were not in the log yet may be lost: %s\n", caret_message());
    }
    struct caret__logfile f = {.fd = caret__fd(&e->log_fd),
                               .path = e->log_path,
                               .base = m->log_base,
                               .size = m->log_size,
                               .tail = e->log_tail,
                               .tail_from = e->log_tail_from,
                               .tail_len = e->log_tail_len};
    rc = follow(l, &f, m, &end);
    if (rc == CARET_OK && end < reach) {
        l->lost = true;
        caret__report(report, cap, "%s: damaged at LSN %llu: what was committed after it is lost\n", f.path,
                      (unsigned long long)end);
    }
    free(e->log_tail);
    return rc;
}

static int open_and_read(struct caret__salvage_log *l, struct caret__engine *e, const struct caret__meta *m,
                         char *report, size_t cap)
{
    if (!caret__fd_set(&e->log_fd,
                       caret__open_high(e->log_path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0))) {
        l->lost = true;
        caret__report(report, cap,
                      "%s: the log is missing: what was committed after the last checkpoint is lost\n",
                      e->log_path);
        return CARET_OK;
    }
    int rc = caret__private_init(&l->set);
    l->read = rc == CARET_OK;
    if (rc == CARET_OK)
        rc = read_all(l, e, m, report, cap);
    caret__fd_close(&e->log_fd);
    return rc;
}

uint64_t caret__salvage_log_size(const char *path)
{
    char name[PATH_MAX];
    struct stat st;

    if (snprintf(name, sizeof name, "%s-log", path) >= (int)sizeof name || stat(name, &st) != 0 ||
        (uint64_t)st.st_size < sizeof(struct caret__lockrec) + CARET__LOG_LEAST)
        return 0;
    return (uint64_t)st.st_size - sizeof(struct caret__lockrec);
}

int caret__salvage_log_read(struct caret__salvage_log *l, const char *path, int fd,
                            const struct caret__meta *m, char *report, size_t cap)
{
    size_t len = strlen(path) + 8;
    char *names = malloc(3 * len);

    if (names == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to salvage its log", path);
    struct caret__engine e = {.path = names,
                              .log_path = names + len,
                              .lock_path = names + 2 * len,
                              .readonly = true,
                              .observes = CARET__OBSERVES_FILE};
    caret__fd_set(&e.data_fd, fd);
    snprintf(e.path, len, "%s", path);
    snprintf(e.log_path, len, "%s-log", path);
    snprintf(e.lock_path, len, "%s-lock", path);
    int rc = open_and_read(l, &e, m, report, cap);
    free(names);
    return rc;
}

void caret__salvage_log_destroy(struct caret__salvage_log *l)
{
    if (!l->read)
        return;
    caret__private_destroy(&l->set);
    caret__spans_destroy(&l->killed);
    l->read = false;
}

bool caret__salvage_log_hides(struct caret__salvage_log *l, const uint8_t *key, size_t len)
{
    struct caret__one_span killed;
    const uint8_t *val;
    size_t vlen;

    return l->read && (caret__private_get(&l->set, key, len, &val, &vlen) ||
                       caret__spans_find(&l->killed, key, len, &killed));
}

int caret__salvage_log_each(struct caret__salvage_log *l, caret__salvage_log_fn *each, void *ctx)
{
    uint8_t key[CARET__KEY_MAX + 2] = {0};
    struct caret__view v = {.pg = &l->set.pg};
    struct caret__at at = {0};
    size_t len = 0;
    int rc = CARET_NONE;

    if (!l->read)
        return CARET_OK;
    v.applied = atomic_load_explicit(&l->set.lsn, memory_order_relaxed);
    for (rc = caret__scan_from(&v, &at, key, &len); rc == CARET_OK;
         rc = caret__scan_next(&v, &at, key, &len)) {
        const uint8_t *val;
        size_t vlen;
        if (!caret__private_get(&l->set, key, len, &val, &vlen) || vlen == 0 || val[0] == WAS_DELETED)
            continue;
        rc = each(ctx, key, len, val + 1, vlen - 1, val[0] == WAS_RUN);
        if (rc != CARET_OK)
            return rc;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}
