/*
 * salvage.c - what copy/salvage.c finds, as a ZWR file.
 *
 * The file has the two lines of a header that ZWR files have, then a line
 * ^name(subscripts)=value for each node.  It is made anew, never overwritten:
 * whoever salvages has lost enough.
 */
#include "copy/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/session.h"
#include "base/error.h"
#include "base/zwr.h"
#include "caret.h"
#include "shm/lockfile.h"
#include "shm/write.h"
#include "store/address.h"

#define OUT_BYTES (256u << 10)

struct writer {
    const char *path;
    int fd;
    uint64_t written;
    size_t used;
    char *out;  /* OUT_BYTES of them */
    char *line; /* a node's text */
    size_t line_cap;
    uint64_t nodes;
    uint64_t bad_keys;
};

static int flush(struct writer *w)
{
    errno = caret__file_write(w->fd, w->out, w->used, w->written);
    if (errno != 0)
        return caret__fail_errno(caret__write_code(errno), "%s: cannot be written", w->path);
    w->written += w->used;
    w->used = 0;
    return CARET_OK;
}

static int put(struct writer *w, const char *text, size_t len)
{
    while (len > 0) {
        size_t n = len < OUT_BYTES - w->used ? len : OUT_BYTES - w->used;
        memcpy(w->out + w->used, text, n);
        w->used += n;
        text += n;
        len -= n;
        if (w->used == OUT_BYTES) {
            int rc = flush(w);
            if (rc != CARET_OK)
                return rc;
        }
    }
    return CARET_OK;
}

static int put_header(struct writer *w, const char *from)
{
    static const char *const months[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                         "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
    char text[120];
    struct tm tm = {0};
    time_t now = time(NULL);

    gmtime_r(&now, &tm);
    int n = snprintf(text, sizeof text, "\n%02d-%s-%04d  %02d:%02d:%02d ZWR\n", tm.tm_mday,
                     months[tm.tm_mon % 12], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    int rc = put(w, "caret salvage of ", 17);
    if (rc == CARET_OK)
        rc = put(w, from, strcspn(from, "\n"));
    return rc == CARET_OK ? put(w, text, (size_t)n) : rc;
}

static int grow_line(struct writer *w, size_t len)
{
    char *more = realloc(w->line, len);

    if (more == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a line of %zu bytes", len);
    w->line = more;
    w->line_cap = len;
    return CARET_OK;
}

static int put_node(void *ctx, const struct caret__salvaged_node *node)
{
    struct writer *w = ctx;
    size_t klen = 0, vlen = 0;

    if (node->val == NULL)
        return CARET_OK;
    for (;;) {
        int rc = caret__zwr_put_key(node->key, node->klen, false, false, w->line, w->line_cap, &klen);
        if (rc == CARET_E_CORRUPT) {
            w->bad_keys++;
            return CARET_OK;
        }
        size_t left = klen + 1 < w->line_cap ? w->line_cap - klen - 1 : 0;
        int vrc = caret__zwr_put(node->val, node->vlen, false, w->line + w->line_cap - left, left, &vlen);
        if (rc == CARET_OK && vrc == CARET_OK && left > vlen)
            break;
        rc = grow_line(w, klen + vlen + 64);
        if (rc != CARET_OK)
            return rc;
    }
    w->line[klen] = '=';
    w->line[klen + 1 + vlen] = '\n';
    w->nodes++;
    return put(w, w->line, klen + vlen + 2);
}

static int salvage(struct writer *w, const char *path, int flags, caret_salvaged *out, char *report,
                   size_t cap)
{
    struct caret__salvage_counts c;
    int rc = put_header(w, path);

    if (rc == CARET_OK)
        rc = caret__salvage(path, (flags & CARET_SALVAGE_SURE) != 0, put_node, w, &c, report, cap);
    if (rc == CARET_OK)
        rc = flush(w);
    if (rc == CARET_OK && caret__fsync(w->fd) != 0)
        rc = caret__fail_errno(CARET_E_IO, "%s: cannot be synced", w->path);
    if (rc != CARET_OK)
        return rc;
    *out = (caret_salvaged){.nodes = w->nodes,
                            .pages = c.pages,
                            .leaves = c.leaves,
                            .lost_pages = c.lost_pages,
                            .lost_values = c.lost_values + w->bad_keys,
                            .stale_leaves = c.stale,
                            .doubtful_leaves = c.doubtful,
                            .logged = c.logged,
                            .epoch = c.epoch};
    if (c.complete && w->bad_keys == 0)
        return CARET_OK;
    return caret__fail(CARET_E_CORRUPT, "%s: %llu pages and %llu values are lost, or it can't be known", path,
                       (unsigned long long)out->lost_pages, (unsigned long long)out->lost_values);
}

static int check_paths(const char *function, const char *path, const char *out)
{
    if (path == NULL || out == NULL)
        return caret__null(function, path == NULL ? "path" : "out",
                           path == NULL ? "the path of a database" : "the path of a file to be made");
    if (*path == '\0' || *out == '\0')
        return caret__empty_path(function, *path == '\0' ? "path" : "out");
    if (caret__address_is(path))
        return caret__address_refused(function, "path", path);
    return caret__address_is(out) ? caret__address_refused(function, "out", out) : CARET_OK;
}

int caret_salvage(const char *path, const char *out, int flags, caret_salvaged *counts, char *report,
                  size_t cap)
{
    struct writer w = {.path = out, .fd = -1};
    caret_salvaged found = {.size = sizeof found};
    char nothing[1];
    int rc = check_paths(__func__, path, out);

    if (rc != CARET_OK)
        return rc;
    if ((flags & ~CARET_SALVAGE_SURE) != 0)
        return caret__fail(CARET_E_INVALID, "%s: flags are CARET_SALVAGE_SURE or 0, not 0x%x", __func__,
                           (unsigned)flags);
    if (counts != NULL && (rc = caret__struct_check(__func__, "counts'", counts, sizeof *counts)) != CARET_OK)
        return rc;
    if (report != NULL && !caret__bytes_ok(report, cap))
        return caret__refuse_bytes(__func__, "report", report, cap);
    if (report == NULL || cap == 0) {
        report = nothing;
        cap = sizeof nothing;
    }
    report[0] = 0;
    w.out = malloc(OUT_BYTES);
    if (w.out == NULL || grow_line(&w, 4096) != CARET_OK) {
        free(w.out);
        return caret__fail(CARET_E_NOMEM, "no memory to salvage %s", path);
    }
    w.fd = caret__open_high(out, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0666);
    if (w.fd < 0) {
        rc = caret__fail_errno(CARET_E_OPEN, "%s: cannot be created", out);
    } else {
        rc = salvage(&w, path, flags, &found, report, cap);
        close(w.fd);
        if (rc != CARET_OK && rc != CARET_E_CORRUPT)
            unlink(out);
    }
    free(w.line);
    free(w.out);
    if (counts != NULL)
        caret__struct_give(counts, &found, sizeof found);
    return rc;
}
