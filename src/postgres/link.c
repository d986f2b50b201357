/*
 * link.c - batches of statements on one connection (link.h has the invariants).
 *
 *     add, add ... --run--> Sync is sent --> answers, one for each item and one for Sync --> all was read
 *                  \-leave-> Sync is sent;  the next run reads these answers before its own
 *
 * Answers are read in the order sent; of a statement there is a result and a NULL after it, of Sync a result alone.  A
 * failure at Sync itself (a commit that conflicts) comes as one more result before that of Sync.  In plain mode, where
 * libpq sends Sync with the statement, there are the results of both, and a NULL.
 *
 * A connection counts as lost when libpq says so, when the server says that it is going (57P01 ...), for then what
 * comes next is its end, or when the server has been silent for too long.  It is closed at once: `pq` is NULL from
 * then on.  So libpq never waits: it does not block, and an answer is asked for after poll() has seen it come.
 */
#include "postgres/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/away.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "shm/engine.h"

#define MOST_PARAMS 4
#define SLICE_MS    50
#define LONG_NS     UINT64_C(1000000000) /* what takes longer can be ended */

void caret__link_init(struct caret__link *l, const struct caret__link_way *way)
{
    *l = (struct caret__link){.way = way};
}

/* ---- what came of a batch ---- */

void caret__link_drop_rows(struct caret__link *l)
{
    for (size_t i = 0; i < l->nrows; i++)
        caret__pq.clear(l->rows[i]);
    l->nrows = 0;
}

struct pg_result *caret__link_take(struct caret__link *l, size_t i)
{
    if (i >= l->nrows)
        return NULL;
    struct pg_result *r = l->rows[i];
    memmove(l->rows + i, l->rows + i + 1, (l->nrows - i - 1) * sizeof *l->rows);
    l->nrows--;
    return r;
}

static void note_text(struct caret__link *l, const char *text)
{
    size_t n = strcspn(text, "\n");

    snprintf(l->text, sizeof l->text, "%.*s", (int)caret__min(n, sizeof l->text - 1), text);
}

/* The connection is gone. */
static int lose(struct caret__link *l)
{
    if (l->alone)
        note_text(l, "the wait for a standby was ended");
    else if (l->state[0] == '\0' && !l->silent)
        note_text(l, caret__pq.message(l->pq));
    caret__pq.finish(l->pq);
    l->pq = NULL;
    l->nitems = l->owed = 0;
    l->prepared = 0;
    return CARET__LINK_LOST;
}

/* Take what has come.  Of what is encrypted a part may be left that the socket does not show: at most two rooms. */
static bool take_in(struct caret__link *l)
{
    for (int i = 0; i < (l->wrapped ? 3 : 1); i++)
        if (caret__pq.consume(l->pq) != 1)
            return false;
    return true;
}

static bool give_up(struct caret__link *l)
{
    snprintf(l->text, sizeof l->text, "no answer for %d seconds", l->way->silence_ms / 1000);
    l->silent = true;
    return false;
}

/* ---- waiting ---- */

static bool asks_to_stop(struct caret__link *l)
{
    l->stopped = l->stopped || (l->stop != NULL && l->stop(l->ctx));
    return l->stopped;
}

bool caret__link_is_stopped(struct caret__link *l, uint64_t began)
{
    return l->stoppable && caret__now_ns() - began >= LONG_NS && asks_to_stop(l);
}

int caret__link_poll(struct caret__link *l, struct pollfd *p, uint64_t began, uint64_t until)
{
    for (;;) {
        uint64_t now = caret__now_ns();
        int n = poll(p, 1, now < until ? (int)caret__min64((until - now) / 1000000 + 1, SLICE_MS) : 0);
        if (n > 0 || now >= until || caret__link_is_stopped(l, began))
            return n > 0 ? n : 0;
        caret__away_still();
    }
}

/* The rest of a wait that has taken `ms` so far. */
static int await_long(struct caret__link *l, struct pollfd *p, int ms)
{
    uint64_t began = caret__now_ns() - (uint64_t)ms * 1000000;
    uint64_t until = l->way->silence_ms >= 0 ? began + (uint64_t)l->way->silence_ms * 1000000 : UINT64_MAX;

    return caret__link_poll(l, p, began, until);
}

/* Sleep until something came, or can be sent.  Mostly that is soon, and nobody need look at a clock. */
static bool await(struct caret__link *l, int unsent)
{
    struct pollfd p = {.fd = caret__pq.socket(l->pq), .events = (short)(unsent ? POLLIN | POLLOUT : POLLIN)};
    int n = poll(&p, 1, SLICE_MS);

    if (caret__unlikely(n <= 0))
        n = await_long(l, &p, n == 0 ? SLICE_MS : 0);
    if (n <= 0)
        return l->stopped ? false : give_up(l);
    return (p.revents & ~POLLOUT) == 0 || take_in(l);
}

/* Wait until a result is there; false: the connection is lost. */
static bool has_come(struct caret__link *l)
{
    while (caret__pq.busy(l->pq)) {
        int unsent = caret__pq.flush(l->pq);
        if (unsent < 0 || !await(l, unsent))
            return false;
    }
    return true;
}

void caret__link_one_line(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++)
        if (*p != '\n' && *p != '\t')
            *to++ = *p;
        else if (to != text && to[-1] != ' ')
            *to++ = ' ';
    while (to != text && to[-1] == ' ')
        to--;
    *to = '\0';
}

/* Remember why it failed: the first one counts. */
static void note_failure(struct caret__link *l, const struct pg_result *r)
{
    const char *state = caret__pq.field(r, 'C'), *text = caret__pq.field(r, 'M'), *detail;

    if (l->state[0] != '\0')
        return;
    snprintf(l->state, sizeof l->state, "%s", state != NULL ? state : "08006");
    note_text(l, text != NULL ? text : caret__pq.result_message(r));
    detail = caret__pq.field(r, 'D');
    if (detail != NULL && strcmp(l->state, "40P01") == 0) {
        size_t n = strlen(l->text);
        snprintf(l->text + n, sizeof l->text - n, ": %s", detail);
        caret__link_one_line(l->text);
    }
}

static bool keep_rows(struct caret__link *l, struct pg_result *r)
{
    if (l->nrows == l->rows_cap) {
        size_t cap = l->rows_cap * 2 + 4;
        struct pg_result **more = realloc(l->rows, cap * sizeof *more);
        if (more == NULL)
            return false;
        l->rows = more;
        l->rows_cap = cap;
    }
    l->rows[l->nrows++] = r;
    return true;
}

/* One result of an item: is it well?  Rows are kept. */
static bool take_result(struct caret__link *l, struct pg_result *r, bool wanted)
{
    int status = caret__pq.result_status(r);

    if (status == CARET__PQ_TUPLES && wanted) {
        if (keep_rows(l, r))
            return true;
        snprintf(l->state, sizeof l->state, "53200");
        snprintf(l->text, sizeof l->text, "no memory for an answer");
    } else if (status != CARET__PQ_COMMAND && status != CARET__PQ_TUPLES && status != CARET__PQ_ABORTED) {
        note_failure(l, r);
    }
    caret__pq.clear(r);
    return status == CARET__PQ_COMMAND || (status == CARET__PQ_TUPLES && !wanted);
}

/* The answer to one statement, with the NULL after it. */
static bool take_item(struct caret__link *l, bool *well, bool wanted)
{
    struct pg_result *r = has_come(l) ? caret__pq.result(l->pq) : NULL;

    if (r == NULL)
        return false;
    *well = take_result(l, r, wanted);
    while ((r = caret__pq.result(l->pq)) != NULL) {
        take_result(l, r, false);
        if (caret__pq.status(l->pq) != CARET__PQ_OK)
            return false;
    }
    return caret__pq.status(l->pq) == CARET__PQ_OK;
}

/* And to Sync. */
static bool take_sync(struct caret__link *l)
{
    for (int nothing = 0; nothing < 2 && has_come(l);) {
        struct pg_result *r = caret__pq.result(l->pq);
        if (r == NULL) {
            nothing++;
            continue;
        }
        bool ended = caret__pq.result_status(r) == CARET__PQ_SYNC;
        if (!ended)
            note_failure(l, r);
        caret__pq.clear(r);
        if (ended)
            return true;
        if (caret__pq.status(l->pq) != CARET__PQ_OK)
            return false;
    }
    return false;
}

/* The items from `from` to `to`. */
static bool take_items(struct caret__link *l, size_t from, size_t to, bool wanted)
{
    bool well;

    l->done = 0;
    for (size_t i = from; i < to; i++) {
        if (!take_item(l, &well, wanted))
            return false;
        if (well && (l->items[i] & CARET__LINK_PREPARES) != 0)
            l->prepared |= UINT64_C(1) << (l->items[i] & ~CARET__LINK_PREPARES);
        else if (well)
            l->done++;
    }
    return take_sync(l);
}

/* What was left to itself before. */
static bool take_owed(struct caret__link *l)
{
    if (caret__likely(l->owed == 0))
        return true;
    bool all = take_items(l, 0, l->owed, false) && !caret__sqlstate_lost(l->state);
    if (all)
        l->state[0] = '\0';
    memmove(l->items, l->items + l->owed, l->nitems - l->owed);
    l->nitems -= l->owed;
    l->owed = 0;
    return all;
}

/* All that comes of a batch in plain mode. */
static bool take_plain(struct caret__link *l)
{
    l->done = 0;
    while (has_come(l)) {
        struct pg_result *r = caret__pq.result(l->pq);
        if (r == NULL)
            return caret__pq.status(l->pq) == CARET__PQ_OK;
        l->done += take_result(l, r, true);
    }
    return false;
}

static int answer(struct caret__link *l)
{
    bool all = l->plain ? take_plain(l) : take_owed(l) && take_items(l, 0, l->nitems, true);

    if (!all || l->alone || (l->state[0] != '\0' && caret__sqlstate_lost(l->state)))
        return lose(l);
    l->nitems = 0;
    return l->state[0] == '\0' ? CARET_OK : CARET__LINK_FAILED;
}

static int begin_run(struct caret__link *l)
{
    CARET__ASSERT(l->pid == getpid());
    if (l->pq == NULL)
        return CARET__LINK_LOST;
    caret__link_drop_rows(l);
    l->state[0] = '\0';
    l->silent = l->stopped = l->alone = false;
    l->trips++;
    if (!l->plain && caret__pq.sync(l->pq) != 1)
        return lose(l);
    if (CARET_SEEDED("store_cut") && l->trips % 17 == 0)
        shutdown(caret__pq.socket(l->pq), SHUT_RDWR);
    return CARET_OK;
}

int caret__link_run(struct caret__link *l)
{
    int rc = begin_run(l);

    if (rc != CARET_OK)
        return rc;
    caret__away();
    rc = answer(l);
    caret__back();
    return rc;
}

/* Why the last run failed stays to be told. */
void caret__link_leave(struct caret__link *l)
{
    char state[sizeof l->state];

    memcpy(state, l->state, sizeof state);
    l->state[0] = '\0';
    if (l->pq != NULL && take_owed(l) && caret__pq.sync(l->pq) == 1)
        l->owed = l->nitems;
    else if (l->pq != NULL)
        lose(l);
    memcpy(l->state, state, sizeof state);
}

/* ---- what is sent ---- */

static void note_item(struct caret__link *l, uint8_t item, int sent)
{
    if (l->nitems == l->items_cap) {
        size_t cap = l->items_cap * 2 + 32;
        uint8_t *more = realloc(l->items, cap);
        if (more == NULL) {
            lose(l);
            return;
        }
        l->items = more;
        l->items_cap = cap;
    }
    l->items[l->nitems++] = item;
    if (sent != 1)
        lose(l);
}

/* Was it prepared, or will it be by this batch? */
static bool is_prepared(const struct caret__link *l, enum caret__sql sql)
{
    if ((l->prepared >> sql & 1) != 0)
        return true;
    for (size_t i = 0; i < l->nitems; i++)
        if (l->items[i] == (sql | CARET__LINK_PREPARES))
            return true;
    return false;
}

/* The statement itself, whichever way. */
static void send_item(struct caret__link *l, enum caret__sql sql, const struct caret__param *params)
{
    const struct caret__sql_text *t = &caret__sqls[sql];
    const char *values[MOST_PARAMS];
    int lengths[MOST_PARAMS], binary[MOST_PARAMS];

    for (int i = 0; i < t->n; i++) {
        values[i] = params[i].data != NULL ? params[i].data : "";
        lengths[i] = (int)params[i].len;
        binary[i] = 1;
    }
    note_item(l, (uint8_t)sql,
              l->way->prepares
                  ? caret__pq.send_prepared(l->pq, t->name, t->n, values, lengths, binary, 1)
                  : caret__pq.send(l->pq, l->way->texts[sql], t->n, t->types, values, lengths, binary, 1));
}

/* Whatever comes next is of a pipeline. */
static void leave_plain(struct caret__link *l)
{
    CARET__ASSERT(!l->plain || l->nitems == 0);
    if (l->plain && l->pq != NULL && caret__pq.pipeline(l->pq) != 1)
        lose(l);
    l->plain = false;
}

void caret__link_add(struct caret__link *l, enum caret__sql sql, const struct caret__param *params)
{
    const struct caret__sql_text *t = &caret__sqls[sql];

    leave_plain(l);
    if (l->pq != NULL && l->way->prepares && caret__unlikely(!is_prepared(l, sql)))
        note_item(l, (uint8_t)(sql | CARET__LINK_PREPARES),
                  caret__pq.prepare(l->pq, t->name, l->way->texts[sql], t->n, t->types));
    if (l->pq != NULL)
        send_item(l, sql, params);
}

void caret__link_add_last(struct caret__link *l, enum caret__sql sql, const struct caret__param *params)
{
    bool alone = l->pq != NULL && l->nitems == 0 && (l->prepared >> sql & 1) != 0;

    if (alone && !l->plain)
        l->plain = caret__pq.no_pipeline(l->pq) == 1;
    if (alone && l->plain)
        send_item(l, sql, params);
    else
        caret__link_add(l, sql, params);
}

void caret__link_add_text(struct caret__link *l, const char *text, int n, const char *const *values)
{
    leave_plain(l);
    if (l->pq != NULL)
        note_item(l, 0, caret__pq.send(l->pq, text, n, NULL, values, NULL, NULL, 0));
}

/* After a failure the server passes over all up to Sync, COMMIT too: so there is a second batch, which means nothing
 * after a COMMIT. */
void caret__link_leave_loose(struct caret__link *l, enum caret__sql sql, const struct caret__param *params)
{
    caret__link_add(l, CARET__SQL_BEGIN_LOOSE, NULL);
    caret__link_add(l, sql, params);
    caret__link_add(l, CARET__SQL_COMMIT, NULL);
    caret__link_leave(l);
    caret__link_add(l, CARET__SQL_ROLLBACK, NULL);
    caret__link_leave(l);
}

/* ---- waiting with an eye on something else ---- */

/* Is there an answer to be read without waiting?  Sleeps up to 50 ms. */
static bool wait_a_little(struct caret__link *l)
{
    struct pollfd p = {.fd = caret__pq.socket(l->pq), .events = POLLIN};

    if (!caret__pq.busy(l->pq) || caret__pq.flush(l->pq) < 0)
        return true;
    if (poll(&p, 1, 50) > 0 && !take_in(l))
        return true; /* lost: the answer will say so */
    return !caret__pq.busy(l->pq);
}

/* Have the server end what it does.  It comes back as a failure 57014, or it was done before.  libpq waits for the
 * end of that without a limit, so a server that does not answer is not asked: then the answer is waited for, which
 * has one. */
static void cancel(struct caret__link *l)
{
    char why[256];
    void *of = caret__link_answers(l->way) ? caret__pq.cancel_of(l->pq) : NULL;

    if (of == NULL)
        return;
    caret__pq.cancel(of, why, sizeof why);
    caret__pq.cancel_done(of);
}

int caret__link_run_until(struct caret__link *l, uint64_t until, bool *ended)
{
    int rc = begin_run(l);

    *ended = false;
    if (rc != CARET_OK)
        return rc;
    caret__away();
    while (!*ended && !wait_a_little(l)) {
        caret__away_still();
        if (caret__now_ns() >= until || asks_to_stop(l)) {
            *ended = true;
            cancel(l);
        }
    }
    rc = answer(l);
    caret__back();
    return rc;
}

/* What the server says when it ends a connection comes first, then the end. */
bool caret__link_is_lost(struct caret__link *l)
{
    struct pollfd p = {.events = POLLIN};

    if (l->pq == NULL)
        return true;
    p.fd = caret__pq.socket(l->pq);
    while (poll(&p, 1, 0) > 0)
        if (caret__pq.consume(l->pq) != 1 || caret__pq.status(l->pq) != CARET__PQ_OK) {
            l->state[0] = '\0';
            lose(l);
            return true;
        }
    return false;
}
