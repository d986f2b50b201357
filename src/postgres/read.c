/*
 * read.c - reads of keys that are known, and of ranges; walks are in step.c.
 *
 * What is handed out lies in the results of the link, which stay until its next batch.
 *
 * A range of one state.  In a transaction its pages, of 4,096 rows, have the transaction's state.  Outside the first
 * page is a transaction of its own, and mostly there is no more.  If there is, nothing has been told yet: all begins
 * again in a transaction that is READ ONLY DEFERRABLE: the server gives it a state in which it can't conflict, so
 * that what was told remains right to the end.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "postgres/inside.h"

#define FIRST_ROWS 1024u
#define PAGE_ROWS  4096u

/* ---- one ---- */

int caret__pg_get(void *conn, struct caret__bytes key, struct caret__bytes *value)
{
    struct caret__pg_conn *c = conn;
    int rc = caret__pg_enter(c);

    caret__pg_note(c, key);
    if (rc == CARET_OK)
        rc = caret__pg_read(c, caret__pg_add_get, &key);
    if (rc != CARET_OK)
        return rc;
    const struct pg_result *r = caret__link_rows(&c->data, 0);
    if (r == NULL || caret__pq.rows(r) == 0)
        return CARET_NONE;
    *value = caret__link_bytes(r, 0, 0);
    return CARET_OK;
}

/* ---- many ---- */

struct many {
    const struct caret__bytes *keys;
    size_t n;
};

static int add_many(struct caret__pg_conn *c, void *arg)
{
    const struct many *m = arg;

    for (size_t i = 0; i < m->n;) {
        size_t end = caret__min(m->n, i + CARET__PG_ROWS_MOST);
        caret__pg_array_begin(&c->a);
        for (; i < end; i++)
            caret__pg_array_add(&c->a, m->keys[i]);
        struct caret__param list = caret__pg_array_end(&c->a);
        if (list.data == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for %zu keys", m->n);
        caret__link_add(&c->data, c->alone ? CARET__SQL_MANY_LOCK : CARET__SQL_MANY, &list);
    }
    return CARET_OK;
}

/* Which of the keys is it? */
static size_t find_key(const struct many *m, struct caret__bytes key)
{
    size_t lo = 0, hi = m->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (caret__bytes_compare(m->keys[mid].data, m->keys[mid].len, key.data, key.len) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int caret__pg_get_many(void *conn, const struct caret__bytes *keys, size_t n, caret__store_each *each,
                       void *ctx)
{
    struct caret__pg_conn *c = conn;
    struct many m = {keys, n};
    int rc = caret__pg_enter(c);

    if (rc != CARET_OK || n == 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        caret__pg_note(c, keys[i]);
    rc = caret__pg_read(c, add_many, &m);
    for (size_t i = 0; rc == CARET_OK && i < c->data.nrows; i++) {
        const struct pg_result *r = c->data.rows[i];
        int rows = caret__pq.rows(r);
        for (int row = 0; rc == CARET_OK && row < rows; row++) {
            size_t at = find_key(&m, caret__link_bytes(r, row, 0));
            if (at < n)
                rc = each(ctx, at, keys[at], caret__link_bytes(r, row, 1));
        }
    }
    return rc;
}

/* ---- ranges ---- */

struct part {
    uint8_t lo[CARET__PLACE_MAX + 1];
    size_t lo_len;
    struct caret__bytes hi;
    size_t rows;
    bool values;
};

static int add_part(struct caret__pg_conn *c, void *arg)
{
    const struct part *p = arg;
    const uint8_t end = 0xff;
    uint64_t rows = __builtin_bswap64(p->rows);
    enum caret__sql sql = c->alone    ? CARET__SQL_UP_LOCK
                          : p->values ? CARET__SQL_UP_VALUES
                                      : CARET__SQL_UP_LENGTHS;

    caret__link_add_last(
        &c->data, sql,
        (const struct caret__param[]){{p->lo, p->lo_len},
                                      {p->hi.len != 0 ? p->hi.data : &end, p->hi.len != 0 ? p->hi.len : 1},
                                      {&rows, 8}});
    return CARET_OK;
}

/* A value that a page did not have: too long for it. */
static int long_value(struct caret__pg_conn *c, struct caret__bytes key, struct caret__bytes *value)
{
    int rc = caret__pg_read(c, caret__pg_add_get, &key);
    const struct pg_result *r = caret__link_rows(&c->data, 0);

    if (rc == CARET_OK && (r == NULL || caret__pq.rows(r) == 0))
        return CARET_NONE;
    if (rc == CARET_OK)
        *value = caret__link_bytes(r, 0, 0);
    return rc;
}

/* Tell a page's row. */
static int tell_row(struct caret__pg_conn *c, const struct part *p, const struct pg_result *r, int row,
                    size_t index, caret__store_each *each, void *ctx)
{
    struct caret__bytes key = caret__link_bytes(r, row, 0), len = caret__link_bytes(r, row, 1), value = {0};

    value.len = caret__be32(len.data);
    if (p->values) {
        size_t whole = value.len;
        value = caret__link_bytes(r, row, 2);
        if (value.data == NULL && whole > 0) {
            int rc = long_value(c, key, &value);
            if (rc != CARET_OK)
                return rc == CARET_NONE ? CARET_OK : rc;
        }
    }
    return each(ctx, index, key, value);
}

/* A page's rows; the part begins after them then. */
static int tell_page(struct caret__pg_conn *c, struct part *p, struct pg_result *r, size_t *index,
                     caret__store_each *each, void *ctx)
{
    int rc = CARET_OK, rows = caret__pq.rows(r);

    for (int row = 0; rc == CARET_OK && row < rows; row++)
        rc = tell_row(c, p, r, row, (*index)++, each, ctx);
    if (rc == CARET_OK && rows > 0) {
        struct caret__bytes last = caret__link_bytes(r, rows - 1, 0);
        memcpy(p->lo, last.data, last.len);
        p->lo[last.len] = 0;
        p->lo_len = last.len + 1;
    }
    return rc;
}

/* Page after page to the end. */
static int tell_pages(struct caret__pg_conn *c, struct part *p, size_t most, caret__store_each *each,
                      void *ctx)
{
    size_t index = 0;

    for (;;) {
        p->rows = most != 0 ? caret__min(most - index, PAGE_ROWS) : PAGE_ROWS;
        int rc = p->rows != 0 ? caret__pg_read(c, add_part, p) : CARET_NONE;
        if (rc != CARET_OK)
            return rc == CARET_NONE ? CARET_OK : rc;
        struct pg_result *r = caret__link_take(&c->data, 0);
        bool last = r == NULL || (size_t)caret__pq.rows(r) < p->rows;
        if (r != NULL) {
            rc = tell_page(c, p, r, &index, each, ctx);
            caret__pq.clear(r);
        }
        if (rc != CARET_OK || last)
            return rc;
    }
}

/* A transaction of its own for many pages. */
static int tell_alone(struct caret__pg_conn *c, struct part *p, size_t most, caret__store_each *each,
                      void *ctx)
{
    int rc = CARET_RESTART;

    caret__link_add(&c->data,
                    c->db->product == CARET__PG_POSTGRES ? CARET__SQL_BEGIN_SAFE : CARET__SQL_BEGIN_READS,
                    NULL);
    c->begun = c->reading = true;
    rc = tell_pages(c, p, most, each, ctx);
    caret__pg_rollback(c);
    if (rc == CARET_RESTART) /* the connection was lost on the way */
        rc =
            caret__fail(CARET_E_IO, "%s: the connection was lost in the midst of a range", c->db->head.shown);
    return rc;
}

/* Has the page all that is wanted: the rows, and their values? */
static bool is_whole(const struct part *p, const struct pg_result *r, size_t most)
{
    size_t rows = r != NULL ? (size_t)caret__pq.rows(r) : 0;

    for (size_t row = 0; p->values && row < rows; row++)
        if (caret__pq.is_null(r, (int)row, 2))
            return false;
    return rows < p->rows || p->rows == most;
}

int caret__pg_range(void *conn, struct caret__bytes lo, struct caret__bytes hi, size_t most, bool values,
                    caret__store_each *each, void *ctx)
{
    struct caret__pg_conn *c = conn;
    struct part p = {.lo_len = lo.len, .hi = hi, .values = values};
    int rc = caret__pg_enter(c);

    if (rc != CARET_OK)
        return rc;
    memcpy(p.lo, lo.data, lo.len);
    if (c->begun)
        return tell_pages(c, &p, most, each, ctx);
    p.rows = most != 0 ? caret__min(most, FIRST_ROWS) : FIRST_ROWS;
    rc = caret__pg_read(c, add_part, &p);
    if (rc != CARET_OK)
        return rc;
    struct pg_result *r = caret__link_rows(&c->data, 0);
    if (!is_whole(&p, r, most))
        return tell_alone(c, &p, most, each, ctx);
    size_t index = 0;
    r = caret__link_take(&c->data, 0);
    rc = r != NULL ? tell_page(c, &p, r, &index, each, ctx) : CARET_OK;
    caret__pq.clear(r);
    return rc;
}
