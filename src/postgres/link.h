/*
 * link.h - one connection to a server: batches of statements, each a single trip, and what came of them.
 *
 *     struct caret__link l;
 *     caret__link_add(&l, CARET__SQL_GET, values, lengths);  ... more
 *     rc = caret__link_run(&l);                              results: l.rows[0 .. l.nrows)
 *
 * A batch is a pipeline of libpq that ends with Sync: the server does its statements in order, and none after one
 * that failed.  Outside of BEGIN and COMMIT they are one transaction, which ends at Sync.  A batch of one statement
 * that was prepared before is sent without the pipeline (`plain`): the server gets the same, and libpq has less to do.
 *
 * Invariants:
 *   1  `items` has one entry for each statement sent and not yet answered, in the order sent; a run empties it.
 *   2  A statement is prepared with the first batch that uses it, right before it.  Its bit in `prepared` is set when
 *      the server has said so, thus also if the batch fails later.
 *   3  `owed` statements and their Sync were sent before without waiting; what comes of them nobody needs to know.
 *      Their answers come first.
 *   4  pq is NULL from the moment the connection is known to be lost; caret__link_open() makes another.
 *   5  A link is of the process that opened it: in another one caret__link_forget() comes before anything else.
 *   6  Nothing waits for ever for a server that is silent: when no byte comes, or can be sent, for `silence_ms`, the
 *      connection counts as lost, and `silent` says why.  What asks a lock of the server waits as long as it was told.
 *   7  While `stoppable`, a wait that has taken a second is ended when `stop` says so: the connection counts as lost,
 *      and `stopped` says why.  Only what changes nothing is stoppable.
 */
#ifndef CARET_POSTGRES_LINK_H
#define CARET_POSTGRES_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "postgres/libpq.h"
#include "store/store.h"

/* What a run can say, beside CARET_OK. */
enum {
    CARET__LINK_LOST = -2000, /* the connection is gone: what was sent last may have happened or not */
    CARET__LINK_FAILED =
        -2001, /* the server refused a statement: state and text; nothing after it was done */
};

/* The statements: sql.c has their texts. */
enum caret__sql {
    CARET__SQL_BEGIN,
    CARET__SQL_BEGIN_SHORT,
    CARET__SQL_BEGIN_READS,
    CARET__SQL_BEGIN_SAFE,
    CARET__SQL_LASTS,
    CARET__SQL_COMMIT,
    CARET__SQL_ROLLBACK,
    CARET__SQL_WAIT_DISK,
    CARET__SQL_GET,
    CARET__SQL_GET_LOCK,
    CARET__SQL_MANY,
    CARET__SQL_MANY_LOCK,
    CARET__SQL_LOCK_ROWS,
    CARET__SQL_NEXT,
    CARET__SQL_NEXT_VALUE,
    CARET__SQL_PREVIOUS,
    CARET__SQL_PREVIOUS_VALUE,
    CARET__SQL_UP,
    CARET__SQL_UP_LENGTHS,
    CARET__SQL_UP_VALUES,
    CARET__SQL_UP_LOCK,
    CARET__SQL_DOWN,
    CARET__SQL_DOWN_VALUES,
    CARET__SQL_DOWN_LOCK,
    CARET__SQL_SET,
    CARET__SQL_SETS,
    CARET__SQL_SET_LAST,
    CARET__SQL_SETS_LAST,
    CARET__SQL_DELETE,
    CARET__SQL_KILL,
    CARET__SQL_TOKEN,
    CARET__SQL_RESOLVE,
    CARET__SQL_TERMINATE,
    CARET__SQL_TOKENS_DONE,
    CARET__SQL_TOKENS_OLD,
    CARET__SQL_BEGIN_LOOSE,
    CARET__SQL_LOCK,
    CARET__SQL_LOCK_SHARED,
    CARET__SQL_TRY,
    CARET__SQL_TRY_SHARED,
    CARET__SQL_UNLOCK,
    CARET__SQL_UNLOCK_SHARED,
    CARET__SQL_LOCK_TIMEOUT,
    CARET__SQLS
};

struct caret__sql_text {
    const char *name, *text; /* %1$s: the schema */
    unsigned types[4];
    int n;
};
extern const struct caret__sql_text caret__sqls[CARET__SQLS];

/* A parameter: bytes as they are. */
struct caret__param {
    const void *data;
    size_t len;
};

#define CARET__LINK_PREPARES 0x80u /* item: the statement's preparation */

/* How connections are made and statements sent: of a database, the same for all its links. */
struct caret__link_way {
    char *address; /* for libpq, with all it needs */
    char schema[64];
    const char *session_text; /* the statement that sets a new connection up; NULL: none */
    char *texts[CARET__SQLS]; /* with the schema in place */
    bool prepares;            /* named statements: not through a pooler of transactions */
    uint64_t patience_ns;     /* that a lost connection is tried anew */
    int silence_ms;           /* that an answer is waited for; -1: for ever */
    bool read_only;
};

struct caret__link {
    const struct caret__link_way *way;
    struct pg_conn *pq;
    pid_t pid; /* of the process it belongs to */
    int backend;
    char started[40]; /* when the server's process began: with `backend` it is named once and for all */
    uint64_t prepared;
    uint8_t *items;
    size_t nitems, items_cap, owed;
    bool plain;   /* libpq is not in pipeline mode: the batch has one item, or none; nothing is owed */
    bool wrapped; /* encrypted: bytes may have come that the socket does not show */
    bool silent;  /* it was lost as no answer came */
    bool alone;   /* it was given up as a commit was not waited for until a standby had it */
    bool stoppable, stopped;
    caret__store_stop *stop; /* NULL: nothing ends a wait */
    void *ctx;
    size_t done; /* items of the last run that went well, preparations not counted */
    struct pg_result **rows;
    size_t nrows, rows_cap;
    char state[6];  /* SQLSTATE of the last failure */
    char text[512]; /* and what the server, or libpq, said */
    uint64_t trips;
};

_Static_assert(CARET__SQLS <= 64, "prepared: a bit for each");

/* ---- start.c ---- */

/* A new connection of libpq's, made or refused (its status), without a word on standard error; hosts that did not
 * answer are added to l->text.  NULL: no memory. */
struct pg_conn *caret__start(struct caret__link *l, const char *const *keys, const char *const *values);

/* Where what the server says by the way goes: for a link that has moved. */
void caret__start_notices(struct caret__link *l, struct pg_conn *c);

/* The password file that libpq is to be told of instead of its own; NULL: its own. */
const char *caret__start_password_file(const char *address);

/* Where l->text says that a password was wrong or missing: add that the file with it is not used, if that is why. */
void caret__start_explain(struct caret__link *l);

/* ---- connect.c ---- */

void caret__link_init(struct caret__link *l, const struct caret__link_way *way);

/* One try to connect.  OK, LOST (text), LIMIT, NOMEM. */
int caret__link_open(struct caret__link *l);

/* Does a server answer there?  Asks with another connection. */
bool caret__link_answers(const struct caret__link_way *way);

/* Its first trip: the settings.  OK, LOST. */
int caret__link_set_up(struct caret__link *l);

/* Was it refused as there are too many? */
bool caret__link_is_full(const struct caret__link *l);

/* Connect if there is no connection; a lost one is tried again until `until` (caret__now_ns), but not the first
 * one of a session if the server is full.  OK or LOST. */
int caret__link_ensure(struct caret__link *l, uint64_t until);

/* Close it; with all memory. */
void caret__link_close(struct caret__link *l);
void caret__link_fini(struct caret__link *l);

/* In a forked child: close the descriptor, say nothing to the server. */
void caret__link_forget(struct caret__link *l);

/* Add a statement to the batch.  A failure comes out with the run. */
void caret__link_add(struct caret__link *l, enum caret__sql sql, const struct caret__param *params);

/* The same; nothing is added to the batch after it. */
void caret__link_add_last(struct caret__link *l, enum caret__sql sql, const struct caret__param *params);

/* The same of any text, once. */
void caret__link_add_text(struct caret__link *l, const char *text, int n, const char *const *values);

/* Send the batch and wait for what comes of it. */
int caret__link_run(struct caret__link *l);

/* Send it and go on; nobody will know what came of it. */
void caret__link_leave(struct caret__link *l);

/* The same of one statement in a transaction that takes no part in conflicts.  Should it fail, as the role has not the
 * right, the transaction is ended all the same. */
void caret__link_leave_loose(struct caret__link *l, enum caret__sql sql, const struct caret__param *params);

/* The same, and at `until`, or when `stop` says so (stopped), the server is told to cancel: *ended. */
int caret__link_run_until(struct caret__link *l, uint64_t until, bool *ended);

/* poll() for one descriptor until `until`, in slices: between two of them the host may run, and the wait is ended if
 * the link is stopped.  began: since when it is waited.  How many are ready; 0: the time is over, or stopped. */
int caret__link_poll(struct caret__link *l, struct pollfd *p, uint64_t began, uint64_t until);

/* Is what has been waited for since `began` to end? */
bool caret__link_is_stopped(struct caret__link *l, uint64_t began);

/* Has the server closed it?  Looks only. */
bool caret__link_is_lost(struct caret__link *l);

/* A text of several lines as one: breaks, and what they are indented by, become a space; none at the end. */
void caret__link_one_line(char *text);

/* The result of the batch's statement that gave rows, the i-th of such. */
static inline struct pg_result *caret__link_rows(const struct caret__link *l, size_t i)
{
    return i < l->nrows ? l->rows[i] : NULL;
}

/* Take that result out of the link: the caller clears it. */
struct pg_result *caret__link_take(struct caret__link *l, size_t i);
void caret__link_drop_rows(struct caret__link *l);

static inline struct caret__bytes caret__link_bytes(const struct pg_result *r, int row, int column)
{
    if (caret__pq.is_null(r, row, column))
        return (struct caret__bytes){NULL, 0};
    return (struct caret__bytes){(const uint8_t *)caret__pq.value(r, row, column),
                                 (size_t)caret__pq.length(r, row, column)};
}

/* ---- sqlstate.c ---- */

/* What that failure of a statement is to the API: RESTART, IO ...; the text is noted, with `where` before it. */
int caret__sqlstate_fail(const struct caret__link *l, const char *where);

/* May the transaction be tried again?  Does it say that the server is going, or the connection? */
bool caret__sqlstate_again(const char *state);
bool caret__sqlstate_lost(const char *state);

#endif
