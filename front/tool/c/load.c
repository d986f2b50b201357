/*
 * load.c - text to nodes: lines of ZWR, JSON lines and CSV; nested JSON is in read_json.c.
 *
 * Each node is set as a commit of its own (nothing waits for the disk), so whatever ends
 * a load leaves the lines before it; or all of them are one transaction.  On a server a
 * commit is a trip, and mostly a disk: there nodes are committed a batch at a time, at
 * the latest before the input is waited for.
 *
 * The database is opened, and so perhaps made, by the first node: an input without one
 * that has a mistake makes none.
 *
 * The input is read in large pieces; a line lies in `buf` as a whole, and what is
 * escaped in it becomes bytes in place, as those are never more.  A bad line is
 * reported with its number and reason, and whoever started the load decides.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/c/host.h"
#include "tool/c/transfer.h"

#define PIECE       (1u << 20)
#define STEP        16384u /* nodes from one report of progress to the next */

/* Of a batch.  A value that is larger is a batch alone, which any server takes. */
#define BATCH_NODES 1000u
#define BATCH_BYTES (1u << 20)

int caret__load_bad(struct caret__load *l, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(l->message, sizeof l->message, format, list);
    va_end(list);
    return CARET_E_SYNTAX;
}

int caret__load_room(struct caret__load *l, size_t n)
{
    if (n <= l->value_cap)
        return CARET_OK;
    char *more = realloc(l->value, n + n / 4);
    if (more == NULL)
        return CARET_E_NOMEM;
    l->value = more;
    l->value_cap = n + n / 4;
    return CARET_OK;
}

/* ------------------------------------------------------------------- the database */

/* Have a session, in the transaction that takes all. */
static int begin(struct caret__load *l)
{
    int rc = l->session == NULL ? l->open(l) : CARET_OK;

    if (rc != CARET_OK || l->session != NULL)
        return rc;
    rc = caret_session_open(l->db, &l->session);
    if (rc != CARET_OK)
        return rc;
    l->batches = !l->atomic && caret_path(l->db)[0] != '/' && strstr(caret_path(l->db), "://") != NULL;
    return l->atomic ? caret_begin(l->session, 0) : CARET_OK;
}

static unsigned level(const struct caret__load *l)
{
    return l->session != NULL ? caret_txn_level(l->session) : 0;
}

/* ------------------------------------------------------------ batches, on a server */

static int end_batch(struct caret__load *l)
{
    unsigned n = l->batch;
    int rc = n != 0 ? caret_commit(l->session) : CARET_OK;

    if (rc != CARET_OK)
        l->nodes -= n;
    if (l->batches && level(l) > 0)
        caret_rollback(l->session);
    l->batch = 0;
    l->batch_bytes = 0;
    return rc;
}

static int set_in_batch(struct caret__load *l, caret_node *n, const char *value, size_t len)
{
    int rc = CARET_OK;

    if (l->batch == BATCH_NODES || l->batch_bytes + len > BATCH_BYTES)
        rc = end_batch(l);
    if (rc == CARET_OK && level(l) == 0)
        rc = caret_begin(l->session, 0);
    if (rc == CARET_OK)
        rc = caret_set(l->session, n, value, len);
    if (rc == CARET_OK) {
        l->batch++;
        l->batch_bytes += len;
    }
    return rc;
}

static int set(struct caret__load *l, caret_node *n, const char *value, size_t len)
{
    int rc = begin(l);

    if (rc != CARET_OK)
        return rc;
    return l->batches ? set_in_batch(l, n, value, len) : caret_set(l->session, n, value, len);
}

int caret__load_set(struct caret__load *l, caret_node *n, const char *value, size_t len)
{
    int rc = CARET_OK;

    if (caret_node_is_local(n))
        return caret__load_bad(l, "a global begins with ^");
    if (!l->dry)
        rc = set(l, n, value, len);
    if (rc == CARET_E_VALUE2BIG)
        return caret__load_bad(l, "%s", caret_message());
    if (rc == CARET_OK && ++l->nodes % STEP == 0 && l->progress(l) != 0)
        rc = CARET_ROLLBACK;
    return rc;
}

/* ---------------------------------------------------------------------- input */

static bool is_waited_for(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 0;
}

/* Have more of the input after what is there. */
static int fill(struct caret__load *l)
{
    ssize_t n;

    if (l->batch != 0 && is_waited_for(l->fd)) {
        int rc = end_batch(l);
        if (rc != CARET_OK)
            return rc;
    }
    if (l->at > 0 && l->end == l->cap) {
        memmove(l->buf, l->buf + l->at, l->end - l->at);
        l->end -= l->at;
        l->at = 0;
    }
    if (l->end == l->cap) {
        char *more = realloc(l->buf, 2 * l->cap + PIECE);
        if (more == NULL)
            return CARET_E_NOMEM;
        l->buf = more;
        l->cap = 2 * l->cap + PIECE;
    }
    do {
        if (!caret__host_wait(l->fd, -1))
            return CARET_ROLLBACK;
        n = read(l->fd, l->buf + l->end, l->cap - l->end);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0) {
        caret__load_bad(l, "the input can't be read: %s", strerror(errno));
        return CARET_E_IO;
    }
    l->ended = n == 0;
    l->end += (size_t)n;
    l->bytes += (size_t)n;
    return CARET_OK;
}

static unsigned count(const char *p, size_t n, char c)
{
    unsigned found = 0;

    for (size_t i = 0; i < n; i++)
        found += p[i] == c;
    return found;
}

struct line {
    char *text;
    size_t len;
    unsigned lines; /* of the input, with those inside of quotes */
};

/* The next line without its end; with `csv` one that ends in quotes goes on.  CARET_NONE: there is none. */
static int next_line(struct caret__load *l, int csv, struct line *line)
{
    size_t seen = 0, len = 0;
    unsigned quotes = 0;

    for (line->lines = 0; len == 0;) {
        char *p = l->buf + l->at + seen, *end = NULL;
        size_t left = l->end - l->at - seen;
        if (left > 0)
            end = memchr(p, '\n', left);
        size_t n = end != NULL ? (size_t)(end - p) : left;
        if (csv)
            quotes += count(p, n, '"');
        seen += n + (end != NULL);
        line->lines += end != NULL;
        if (end != NULL && quotes % 2 == 0) {
            len = seen;
        } else if (end == NULL && l->ended) {
            if (seen == 0)
                return CARET_NONE;
            break;
        } else if (end == NULL) {
            int rc = fill(l);
            if (rc != CARET_OK)
                return rc;
        }
    }
    line->text = l->buf + l->at;
    line->len = len > 0 ? len - 1 : seen;
    line->len -= line->len > 0 && line->text[line->len - 1] == '\r';
    l->at += seen;
    return CARET_OK;
}

/* ------------------------------------------------------------------------ ZWR */

static size_t find_equals(const char *text, size_t len)
{
    int quoted = 0;
    size_t i = 0;

    for (; i < len && (quoted || text[i] != '='); i++)
        quoted ^= text[i] == '"';
    return i;
}

static int line_zwr(struct caret__load *l, char *text, size_t len)
{
    caret_node_buf n;
    size_t node_len = find_equals(text, len), value_len;
    int rc;

    if (node_len + 1 >= len)
        return caret__load_bad(l, "a line is NODE=VALUE, and here is no %s", node_len < len ? "value" : "=");
    if (caret_node_parse(&n.node, sizeof n, text, node_len, l->utf8) != CARET_OK)
        return caret__load_bad(l, "%s", caret_message());
    text += node_len + 1;
    len -= node_len + 1;
    rc = caret__load_room(l, len);
    if (rc != CARET_OK)
        return rc;
    if (caret_zwr2str(text, len, l->utf8, l->value, l->value_cap, &value_len) != CARET_OK)
        return caret__load_bad(l, "%s", caret_message());
    return caret__load_set(l, &n.node, l->value, value_len);
}

static int ends_with(const struct line *line, const char *end)
{
    size_t n = strlen(end);

    return line->len >= n && memcmp(line->text + line->len - n, end, n) == 0;
}

/* The two lines of a header, if there is one: a label, which says UTF-8 in the end or not; time and format. */
static int zwr_header(struct caret__load *l)
{
    struct line line;
    int rc;

    l->utf8 = 1;
    if (l->end == l->at || strchr("^\r\n", l->buf[l->at]) != NULL)
        return CARET_OK;
    rc = next_line(l, 0, &line);
    if (rc != CARET_OK)
        return rc;
    l->utf8 = ends_with(&line, "UTF-8");
    l->line = 1;
    rc = next_line(l, 0, &line);
    if (rc == CARET_OK && ends_with(&line, "ZWR")) {
        l->line = 2;
        return CARET_OK;
    }
    caret__load_bad(
        l, "%s with two lines of a header of which the second ends in ZWR (mupip extract -format=zwr)",
        l->told ? "not ZWR text: that begins with a node, or"
                : "no format that is known: it begins neither with a node, nor as JSON ({) or CSV "
                  "(global,...,value), nor");
    return rc == CARET_OK || rc == CARET_NONE ? CARET_E_INVALID : rc;
}

/* ------------------------------------------------------------------------ CSV */

struct field {
    const char *text;
    size_t len;
    int quoted;
};

#define FIELDS (CARET_MAX_SUBS + 2u) /* global, subscripts, value */

/* One field from *p on, its quotes taken away in place; *p is then after it. */
static int read_field(struct caret__load *l, char **p, char *end, struct field *f)
{
    char *from = *p, *to = from;

    f->text = from;
    f->quoted = from < end && *from == '"';
    if (!f->quoted) {
        char *comma = memchr(from, ',', (size_t)(end - from));
        *p = comma != NULL ? comma : end;
        f->len = (size_t)(*p - from);
        return CARET_OK;
    }
    for (from++;; from++) {
        if (from == end)
            return caret__load_bad(l, "a field has no closing \"");
        if (*from == '"' && (++from == end || *from != '"'))
            break;
        *to++ = *from;
    }
    if (from < end && *from != ',')
        return caret__load_bad(l, "there is something between a field's closing \" and the comma");
    f->len = (size_t)(to - f->text);
    *p = from;
    return CARET_OK;
}

static int read_fields(struct caret__load *l, const struct line *line, struct field *fields, unsigned *n)
{
    char *p = line->text, *end = p + line->len;

    for (*n = 0;; p++) {
        if (*n == FIELDS)
            return caret__load_bad(l, "more than %u fields", FIELDS);
        int rc = read_field(l, &p, end, &fields[(*n)++]);
        if (rc != CARET_OK || p == end)
            return rc;
    }
}

static int set_fields(struct caret__load *l, const struct field *f, unsigned n)
{
    caret_node_buf node;
    unsigned i = 1;

    if (caret_node_var(&node.node, sizeof node, f[0].text, f[0].len) != CARET_OK)
        return caret__load_bad(l, "%s", caret_message());
    for (; i < n - 1 && (f[i].len > 0 || f[i].quoted); i++)
        if (caret_node_child(&node.node, sizeof node, &node.node, f[i].text, f[i].len) != CARET_OK)
            return caret__load_bad(l, "%s", caret_message());
    for (; i < n - 1; i++)
        if (f[i].len > 0 || f[i].quoted)
            return caret__load_bad(
                l, "field %u is a subscript, but one before it is missing (an empty subscript is \"\")",
                i + 1);
    return caret__load_set(l, &node.node, f[n - 1].text, f[n - 1].len);
}

static int is_field(const struct field *f, const char *text)
{
    return f->len == strlen(text) && memcmp(f->text, text, f->len) == 0;
}

static int csv_header(struct caret__load *l, unsigned *columns)
{
    struct field fields[FIELDS];
    struct line line;
    int rc = next_line(l, 1, &line);

    l->line = line.lines;
    if (rc == CARET_OK)
        rc = read_fields(l, &line, fields, columns);
    if (rc == CARET_OK && *columns >= 2 && is_field(&fields[0], "global") &&
        is_field(&fields[*columns - 1], "value"))
        return CARET_OK;
    if (rc == CARET_OK || rc == CARET_NONE || rc == CARET_E_SYNTAX) {
        caret__load_bad(l, "the first line of CSV is global,...,value");
        rc = CARET_E_INVALID;
    }
    return rc;
}

static int line_csv(struct caret__load *l, const struct line *line, unsigned columns)
{
    struct field fields[FIELDS];
    unsigned n;
    int rc = read_fields(l, line, fields, &n);

    if (rc == CARET_OK && n != columns)
        return caret__load_bad(l, "%u fields, where the first line has %u", n, columns);
    return rc == CARET_OK ? set_fields(l, fields, n) : rc;
}

/* --------------------------------------------------------------------- driver */

static int load_line(struct caret__load *l, const struct line *line, unsigned columns)
{
    if (line->len == 0)
        return CARET_OK;
    if (l->format == CARET__ZWR)
        return line_zwr(l, line->text, line->len);
    if (l->format == CARET__CSV)
        return line_csv(l, line, columns);
    return caret__load_jsonl(l, line->text, line->len);
}

static int load_lines(struct caret__load *l)
{
    struct line line;
    unsigned columns = 0;
    int rc = CARET_OK;

    if (l->format == CARET__ZWR)
        rc = zwr_header(l);
    else if (l->format == CARET__CSV)
        rc = csv_header(l, &columns);
    for (uint64_t next = l->line + 1; rc == CARET_OK; next += line.lines) {
        rc = next_line(l, l->format == CARET__CSV, &line);
        l->line = next;
        if (rc == CARET_OK)
            rc = load_line(l, &line, columns);
        if (rc == CARET_E_SYNTAX) {
            l->bad++;
            rc = l->report(l, l->message) == 0 ? CARET_OK : CARET_ROLLBACK;
        }
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int load_document(struct caret__load *l)
{
    int rc = CARET_OK;

    while (rc == CARET_OK && !l->ended)
        rc = fill(l);
    if (rc == CARET_OK)
        rc = caret__load_json(l, l->buf + l->at, l->end - l->at);
    if (rc == CARET_E_SYNTAX) {
        l->bad++;
        l->report(l, l->message);
        rc = CARET_ROLLBACK;
    }
    return rc;
}

/* What does it look like? */
static int detect(struct caret__load *l)
{
    static const char csv[] = "global,";
    const char *p, *end;
    int rc = CARET_OK;

    while (rc == CARET_OK && !l->ended && l->end < 64)
        rc = fill(l);
    if (rc != CARET_OK)
        return rc;
    if (l->end >= 3 && memcmp(l->buf, "\xEF\xBB\xBF", 3) == 0)
        l->at = 3; /* a byte order mark */
    l->told = l->format >= 0;
    if (l->told)
        return CARET_OK;
    p = l->buf + l->at;
    end = l->buf + l->end;
    l->format = CARET__ZWR;
    if ((size_t)(end - p) >= sizeof csv - 1 && memcmp(p, csv, sizeof csv - 1) == 0) {
        l->format = CARET__CSV;
    } else if (p < end && *p == '{') {
        for (p++; p < end && (*p == ' ' || *p == '\t'); p++)
            continue;
        l->format = end - p > 6 && (memcmp(p, "\"node\"", 6) == 0 || memcmp(p, "\"value", 6) == 0)
                        ? CARET__JSONL
                        : CARET__JSON;
    }
    return CARET_OK;
}

static int load(struct caret__load *l)
{
    int rc = detect(l);

    if (rc != CARET_OK)
        return rc;
    rc = l->format == CARET__JSON ? load_document(l) : load_lines(l);
    if (rc == CARET_OK)
        l->line = 0; /* what fails from here on is at none */
    int ended = end_batch(l);
    rc = ended != CARET_OK ? ended : rc;
    if (rc == CARET_OK && !l->dry && l->bad == 0)
        rc = begin(l); /* of nothing comes an empty database */
    if (l->atomic && l->session != NULL && rc == CARET_OK)
        rc = caret_commit(l->session);
    if (level(l) > 0) {
        caret_rollback(l->session);
        l->nodes = 0;
    }
    return rc;
}

int caret__load(struct caret__load *l)
{
    int rc = caret_session_open(NULL, &l->locals);

    if (rc == CARET_OK)
        rc = load(l);
    caret_session_close(l->session);
    caret_session_close(l->locals);
    free(l->buf);
    free(l->value);
    l->buf = l->value = NULL;
    return rc;
}
