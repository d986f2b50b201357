/*
 * step.c - walks: one key after the other, read ahead in pages that learn.
 *
 * A trip to the server takes as long as a hundred rows of a page, or a thousand over a network; but rows that are
 * passed over, as they lie below a node whose sibling is wanted, cost as much as those that are told.  So:
 *
 *     the first step, and one that stands alone      a seek: one row
 *     a step that goes on where the last one ended   pages of 8, 64, 512, 4,096 rows
 *     a page of which less was told than one row in  seeks again; a page of 8 after 16 of them, as the tree may look
 *     as many as a trip costs                        otherwise further on
 *
 * What a trip and a row cost is learnt, by a moving average: a seek's time is a trip's, what a page takes beyond that
 * is its rows'.  Pages of long rows are shorter: at most 1 MiB by the size of the last one's.  Values over 4,096
 * bytes are not in pages; a step that tells such a one gets it by a trip of its own.
 *
 * A page holds all keys there are from `from` to its last row (to the end of all, if it was not full); backwards all
 * before `from`.  A place in that stretch is answered from it.  When does it count?
 *   - In a transaction always: all its reads are of one state, and so is the page.
 *   - Outside of one only for a step that goes on where the last one ended, for 0.1 s, and not after this process
 *     has committed anything to the database.
 * In a transaction that makes others wait nothing is read ahead: it would lock what nobody asked for.
 */
#include <time.h>

#include "base/bytes.h"
#include "postgres/inside.h"
#include "shm/engine.h"

#define FIRST_ROWS  8u
#define GROWTH      8u
#define MOST_ROWS   4096u
#define SEEKS       16u
#define MOST_BYTES  (1u << 20)
#define FRESH_NS    UINT64_C(90000000) /* and 10 ms of about_now() */
#define TRIP_NS     20000.0            /* until it is learnt: of a local socket */
#define ROW_NS      300.0
#define LEARN       0.1
#define LEAST_RATIO 8.0
#define MOST_RATIO  4096.0

void caret__pg_page_drop(struct caret__pg_conn *c)
{
    if (c->page.rows != NULL)
        caret__pq.clear(c->page.rows);
    c->page.rows = NULL;
    c->page.told.data = NULL;
}

/* ---- is the answer in the page? ---- */

/* Does the place follow what was told last: the key and a byte after it, or backwards the key itself? */
static bool goes_on(const struct caret__pg_page *p, struct caret__bytes from, bool back)
{
    return p->told.data != NULL && p->back == back && from.len == p->told.len + !back &&
           memcmp(from.data, p->told.data, p->told.len) == 0;
}

/* Late by 10 ms at most, and a tenth of the price of an exact one: it is asked for each step. */
static uint64_t about_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool counts(const struct caret__pg_conn *c, bool follows)
{
    const struct caret__pg_page *p = &c->page;

    if (c->begun)
        return !c->alone;
    return follows && p->writes == atomic_load_explicit(&c->db->writes, memory_order_relaxed) &&
           about_now() - p->read_at < FRESH_NS;
}

/* Is the place in the stretch that the page holds, on its nearer side? */
static bool covers(const struct caret__pg_page *p, struct caret__bytes from)
{
    if (p->back && p->from_len == 0)
        return true;
    if (p->back && from.len == 0)
        return false;
    int order = caret__bytes_compare(from.data, from.len, p->from, p->from_len);
    return p->back ? order <= 0 : order >= 0;
}

/* A key is never null, so libpq is not asked. */
static struct caret__bytes row_key(const struct caret__pg_page *p, int row)
{
    return (struct caret__bytes){(const uint8_t *)caret__pq.value(p->rows, row, 0),
                                 (size_t)caret__pq.length(p->rows, row, 0)};
}

/* Does the key answer?  Of a step that goes on all keys after the one told last do, but for those below it. */
static bool answers(const struct caret__pg_page *p, struct caret__bytes k, struct caret__bytes from,
                    bool follows)
{
    if (follows && (p->back || k.len <= p->told.len))
        return true;
    int order = p->back && from.len == 0 ? -1 : caret__bytes_compare(k.data, k.len, from.data, from.len);
    return p->back ? order < 0 : order >= 0;
}

/* The page's row that answers, and its key; nrows: none does.  A place that does not go on is looked for from the
 * front. */
static int find_row(const struct caret__pg_page *p, struct caret__bytes from, bool follows,
                    struct caret__bytes *key)
{
    int row = follows ? p->row + 1 : 0;

    for (; row < p->nrows; row++) {
        *key = row_key(p, row);
        if (answers(p, *key, from, follows))
            break;
    }
    return row;
}

/* ---- reading one ---- */

struct ask {
    struct caret__bytes from;
    bool back, values;
    uint64_t rows;
};

/* Which parameters it has: where to begin; up: a bound, rows; down: rows. */
static enum caret__sql statement_of(const struct ask *a, bool alone)
{
    static const enum caret__sql sqls[2][3][2] = {
        {{CARET__SQL_UP, CARET__SQL_UP_VALUES},
         {CARET__SQL_NEXT, CARET__SQL_NEXT_VALUE},
         {CARET__SQL_UP_LOCK, CARET__SQL_UP_LOCK}},
        {{CARET__SQL_DOWN, CARET__SQL_DOWN_VALUES},
         {CARET__SQL_PREVIOUS, CARET__SQL_PREVIOUS_VALUE},
         {CARET__SQL_DOWN_LOCK, CARET__SQL_DOWN_LOCK}},
    };

    return sqls[a->back][alone ? 2 : a->rows == 1][a->values];
}

static int add_page(struct caret__pg_conn *c, void *arg)
{
    const struct ask *a = arg;
    static const uint8_t end = 0xff;
    uint64_t rows = __builtin_bswap64(a->rows);
    struct caret__param from = {a->from.data, a->from.len}, up[] = {from, {&end, 1}, {&rows, 8}};
    struct caret__param down[] = {a->from.len != 0 ? from : (struct caret__param){&end, 1}, {&rows, 8}};

    caret__link_add_last(&c->data, statement_of(a, c->alone), a->back ? down : up);
    return CARET_OK;
}

static void learn(struct caret__pg_page *p, unsigned rows, uint64_t took)
{
    double *what = rows <= 1 ? &p->trip : &p->row_ns;
    double seen = rows <= 1 ? (double)took : ((double)took - p->trip) / rows;

    if (p->trip == 0) {
        p->trip = TRIP_NS;
        p->row_ns = ROW_NS;
    }
    if (rows <= 1 || rows >= 32)
        *what += LEARN * ((seen > 10.0 ? seen : 10.0) - *what);
}

/* From how many rows for one that is told on is a seek cheaper? */
static double ratio_most(const struct caret__pg_page *p)
{
    double ratio = p->row_ns > 0 ? p->trip / p->row_ns : 64;

    return ratio < LEAST_RATIO ? LEAST_RATIO : ratio > MOST_RATIO ? MOST_RATIO : ratio;
}

static unsigned rows_by_bytes(const struct caret__pg_page *p)
{
    size_t bytes = 0;

    if (p->rows == NULL || p->nrows == 0)
        return MOST_ROWS;
    for (int row = 0; row < p->nrows && row < 16; row++)
        bytes += row_key(p, row).len + (p->values ? caret__be32(caret__link_bytes(p->rows, row, 1).data) : 0);
    bytes = bytes / (size_t)(p->nrows < 16 ? p->nrows : 16) + 32;
    return (unsigned)caret__min(MOST_ROWS, caret__max(FIRST_ROWS, MOST_BYTES / bytes));
}

/* How many rows the next page is to have: 1 is a seek. */
static unsigned next_size(struct caret__pg_page *p)
{
    if (p->size <= 1) {
        bool try_page = p->seeks == 0 || p->seeks >= SEEKS;
        p->seeks = try_page ? 1 : p->seeks + 1;
        return try_page ? FIRST_ROWS : 1;
    }
    if ((double)p->nrows > ratio_most(p) * (p->used > 0 ? p->used : 1)) {
        p->seeks = 1;
        return 1;
    }
    return (unsigned)caret__min(p->size * GROWTH, rows_by_bytes(p));
}

static int read_page(struct caret__pg_conn *c, struct ask *a)
{
    struct caret__pg_page *p = &c->page;
    uint64_t began = caret__now_ns(), writes = atomic_load(&c->db->writes);
    int rc = caret__pg_read(c, add_page, a);

    caret__pg_page_drop(c);
    if (rc != CARET_OK)
        return rc;
    p->rows = caret__link_take(&c->data, 0);
    p->nrows = p->rows != NULL ? caret__pq.rows(p->rows) : 0;
    p->row = -1;
    p->back = a->back;
    p->values = a->values;
    p->size = (unsigned)a->rows;
    p->to_end = p->nrows < (int)a->rows;
    p->from_len = a->from.len;
    if (a->from.len != 0)
        memcpy(p->from, a->from.data, a->from.len);
    p->used = 0;
    p->writes = writes;
    p->read_at = about_now();
    learn(p, (unsigned)p->nrows, caret__now_ns() - began);
    return CARET_OK;
}

/* ---- a step ---- */

/* The value of the row; NONE: it was not in the page, and is gone. */
static int row_value(struct caret__pg_conn *c, struct caret__bytes key, struct caret__bytes *value)
{
    struct caret__pg_page *p = &c->page;

    *value = caret__link_bytes(p->rows, p->row, 2);
    if (value->data != NULL)
        return CARET_OK;
    int rc = caret__pg_read(c, caret__pg_add_get, &key);
    const struct pg_result *r = caret__link_rows(&c->data, 0);

    if (rc != CARET_OK || r == NULL || caret__pq.rows(r) == 0)
        return rc != CARET_OK ? rc : CARET_NONE;
    *value = caret__link_bytes(r, 0, 0);
    return CARET_OK;
}

static int tell(struct caret__pg_conn *c, int row, unsigned flags, struct caret__bytes *key,
                struct caret__bytes *value)
{
    struct caret__pg_page *p = &c->page;

    p->row = row;
    p->used++;
    if (caret__unlikely(key->len >= CARET__PLACE_MAX))
        return caret__fail(CARET_E_CORRUPT, "%s: a key of %zu bytes", c->db->head.shown, key->len);
    p->told = *key;
    return (flags & CARET__STORE_VALUE) != 0 ? row_value(c, *key, value) : CARET_OK;
}

/* From the page there is, if row < nrows with its key: false, it does not say. */
static bool from_page(struct caret__pg_conn *c, struct caret__bytes from, unsigned flags, bool follows,
                      int *row, struct caret__bytes *key)
{
    struct caret__pg_page *p = &c->page;

    if (p->rows == NULL || p->back != ((flags & CARET__STORE_BACK) != 0) || !counts(c, follows) ||
        (!follows && !covers(p, from)))
        return false;
    if ((flags & CARET__STORE_VALUE) != 0 && !p->values)
        return false;
    *row = find_row(p, from, follows, key);
    return *row < p->nrows || p->to_end;
}

int caret__pg_step(void *conn, struct caret__bytes from, unsigned flags, struct caret__bytes *key,
                   struct caret__bytes *value)
{
    struct caret__pg_conn *c = conn;
    struct ask a = {from, (flags & CARET__STORE_BACK) != 0, (flags & CARET__STORE_VALUE) != 0, 1};
    bool follows = goes_on(&c->page, from, a.back);
    int row, rc = caret__pg_enter(c);

    if (rc != CARET_OK)
        return rc;
    if (!from_page(c, from, flags, follows, &row, key)) {
        bool walks = (flags & CARET__STORE_ONCE) == 0 && !c->alone && follows;
        a.rows = walks ? next_size(&c->page) : 1;
        rc = read_page(c, &a);
        row = 0;
        if (rc != CARET_OK)
            return rc;
        if (!walks)
            c->page.seeks = 0;
        if (c->page.nrows > 0)
            *key = row_key(&c->page, 0);
    }
    if (row >= c->page.nrows)
        return CARET_NONE;
    rc = tell(c, row, flags, key, value);
    if (rc != CARET_NONE)
        return rc;
    caret__pg_page_drop(c); /* a long value that went while we looked: look again */
    return caret__pg_step(conn, from, flags, key, value);
}
