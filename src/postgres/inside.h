/*
 * inside.h - a database on a server, and a session's connections to it.
 */
#ifndef CARET_POSTGRES_INSIDE_H
#define CARET_POSTGRES_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/rand.h"
#include "postgres/link.h"
#include "postgres/postgres.h"

#define CARET__PG_PATIENCE_NS                                                                                \
    UINT64_C(10000000000)           /* for a lost connection, without connect_timeout in the address */
#define CARET__PG_SILENCE_S  60u    /* for an answer, without caret_timeout in the address; arbitrary */
#define CARET__PG_LOCKED_MS  10000u /* that a statement waits for rows or a table, then it is tried again */
#define CARET__PG_ROWS_MOST  10000u /* keys in one statement: what CockroachDB advises */
#define CARET__PG_BYTES_MOST (8u << 20) /* of keys and values in one statement, arbitrary */

/* Which product it is: what may be used of it. */
enum caret__pg_product { CARET__PG_POSTGRES, CARET__PG_COCKROACH, CARET__PG_YUGABYTE, CARET__PG_OTHER };

/* caret_prepare in the address: 0, 1, not told. */
enum caret__pg_prepare { CARET__PG_NEVER, CARET__PG_ALWAYS, CARET__PG_MAYBE };

struct caret__pg_db {
    struct caret__store_db head;
    struct caret__link_way way,
        names_way; /* names_way: of connections that hold locks; it borrows from `way` */
    enum caret__pg_product product;
    char server[120];
    char session[2048], names_session[2048]; /* their session_text */
    bool standby;                            /* opened read-only on a server that follows another */
    bool one_trip;                           /* a batch without BEGIN is one transaction */
    bool read_only;
    bool no_create;
    bool pooled;                    /* its connections are those of others as well (pooler.c) */
    enum caret__pg_prepare prepare; /* as the address says; */
    bool waits_disk;                /* sync is "at commit" */
    uint64_t names_seed;            /* of lock numbers: the uuid's hash */
    _Atomic uint64_t writes;        /* commits of this process: what was read ahead before is not trusted */
    pthread_mutex_t lock;           /* of `spare` */
    struct caret__link *spare;      /* the connection that open() used; its process's */
};

/* Bytes that grow. */
struct caret__pg_array {
    uint8_t *data;
    size_t len, cap;
    uint32_t n;
    bool failed;
};

/* What was read ahead (step.c). */
struct caret__pg_page {
    struct pg_result *rows;
    int row, nrows; /* the row told last; -1: none yet */
    bool back, values;
    bool to_end;                    /* there is nothing after the last row */
    uint8_t from[CARET__PLACE_MAX]; /* the rows are all there is from here on */
    size_t from_len;                /* backwards: before here; 0: the end */
    struct caret__bytes told;       /* its key was told last, from `rows`; data NULL: none yet */
    uint64_t read_at, writes;
    unsigned used;       /* rows told */
    unsigned size;       /* of the page */
    unsigned seeks;      /* since the last page */
    double trip, row_ns; /* learnt */
};

struct caret__pg_conn {
    struct caret__pg_db *db;
    struct caret__link data, names; /* names: the connection that holds locks */
    bool begun;                     /* begin() was called */
    bool reading;                   /* BEGIN was sent: there is something to be ended */
    bool broken;                    /* the transaction is over, by a conflict or a lost connection */
    bool alone;                     /* reads wait for others' writes */
    bool snapshot;
    unsigned waits;    /* for what others have locked: of one call, or of all attempts of a transaction */
    unsigned restarts; /* of the transaction */
    bool ordered;      /* the first statement of the batch locks what was noted */
    struct caret__pg_array noted; /* keys that earlier attempts read and set */
    size_t held;                  /* names */
    bool evicted;                 /* to be told */
    uint8_t token[16];            /* the next one: eight random bytes of the connection, eight that count */
    uint64_t tokens, tokens_done;
    struct caret__rand rand;
    struct caret__pg_array a, b;
    struct caret__pg_page page;
};

/* ---- address.c ---- */
struct caret__pg_address {
    char *plain; /* without our own parameters */
    char *shown; /* and without passwords */
    char schema[64];
    enum caret__pg_prepare prepare;
    uint64_t patience_ns;
    int silence_ms; /* -1: for ever */
};
int caret__pg_address_read(const char *url, struct caret__pg_address *a);

/* ---- pooler.c: does a pooler give each transaction to another connection?  OK, LOST, why not. ---- */
int caret__pg_pooler(struct caret__pg_db *db, struct caret__link *l, bool *pooled);

/* ---- schema.c: is it there, of our layout?  Made if not.  OK or why not. ---- */
int caret__pg_schema(struct caret__pg_db *db, struct caret__link *l);

/* ---- conn.c ---- */

/* A new name for the tokens of this connection: nobody has used it. */
void caret__pg_token_new(struct caret__pg_conn *c);

/* Is it time to say EVICTED?  The first thing that a call does. */
int caret__pg_enter(struct caret__pg_conn *c);

/* Send what was added, as a transaction's read or one of its own.  OK; FAILED (again: begin anew), LOST. */
int caret__pg_read(struct caret__pg_conn *c, int (*add)(struct caret__pg_conn *c, void *arg), void *arg);

/* For it: the value of one key, `arg` a struct caret__bytes; others' writes wait for a transaction that is alone. */
static inline int caret__pg_add_get(struct caret__pg_conn *c, void *arg)
{
    const struct caret__bytes *key = arg;

    caret__link_add_last(&c->data, c->alone ? CARET__SQL_GET_LOCK : CARET__SQL_GET,
                         &(struct caret__param){key->data, key->len});
    return CARET_OK;
}

/* Before the first statement of a batch: BEGIN, if it is due; a batch that is none of a transaction: the same as far as
 * the server needs it.  close: COMMIT after it. */
void caret__pg_open_batch(struct caret__pg_conn *c);
void caret__pg_close_batch(struct caret__pg_conn *c);

/* A key that the transaction reads or sets: when it is alone, after more restarts, it is locked with the others. */
void caret__pg_note(struct caret__pg_conn *c, struct caret__bytes key);

/* End the transaction, without a word; or with ROLLBACK, not waited for. */
void caret__pg_idle(struct caret__pg_conn *c);
void caret__pg_abandon(struct caret__pg_conn *c);

/* A pause before the n-th try: longer each time, never the same. */
void caret__pg_pause(struct caret__pg_conn *c, unsigned n);

/* Have a connection again after a loss.  *until (0 before the first one): a loss after that is not made good any more;
 * but a connection that was had, however late, is used.  False: why is in the link. */
bool caret__pg_reconnect(struct caret__pg_conn *c, uint64_t *until);

/* How long a statement waits for what another session has locked: sooner than the server counts as silent. */
static inline unsigned caret__pg_locked_ms(const struct caret__pg_db *db)
{
    unsigned most = (unsigned)db->way.silence_ms / 2; /* for ever: large */

    return most < CARET__PG_LOCKED_MS ? most : CARET__PG_LOCKED_MS;
}

/* Is what the server refused to be tried again?  Waits for what another session has locked end after as long as a
 * silent server is given, whether the transaction began again meanwhile or not. */
bool caret__pg_again(struct caret__pg_conn *c);

/* Why the last run of the link failed, for the caller. */
int caret__pg_fail(struct caret__pg_conn *c, const struct caret__link *l, int rc);

/* ---- array.c: bytea[] as a parameter ---- */
void caret__pg_array_begin(struct caret__pg_array *a);
void caret__pg_array_add(struct caret__pg_array *a, struct caret__bytes b);
struct caret__param caret__pg_array_end(struct caret__pg_array *a);

/* ---- the driver's functions ---- */
int caret__pg_open(const char *url, const caret_options *o, struct caret__store_db **db);
void caret__pg_close(struct caret__store_db *db);
int caret__pg_attach(struct caret__store_db *db, caret__store_stop *stop, void *ctx, void **conn);
void caret__pg_detach(void *conn);
void caret__pg_forget(void *conn);
int caret__pg_begin(void *conn, enum caret__store_begin how, unsigned restarts);
int caret__pg_get(void *conn, struct caret__bytes key, struct caret__bytes *value);
int caret__pg_get_many(void *conn, const struct caret__bytes *keys, size_t n, caret__store_each *each,
                       void *ctx);
int caret__pg_step(void *conn, struct caret__bytes from, unsigned flags, struct caret__bytes *key,
                   struct caret__bytes *value);
int caret__pg_range(void *conn, struct caret__bytes lo, struct caret__bytes hi, size_t most, bool values,
                    caret__store_each *each, void *ctx);
int caret__pg_commit(void *conn, const struct caret__store_op *ops, size_t n, unsigned flags);
void caret__pg_rollback(void *conn);
int caret__pg_sync(void *conn);
int caret__pg_lock(void *conn, const struct caret__bytes *names, size_t n, uint64_t timeout_ns);
int caret__pg_unlock(void *conn, const struct caret__bytes *names, size_t n);

/* step.c: what was read ahead counts no more. */
void caret__pg_page_drop(struct caret__pg_conn *c);

/* lock.c: the server has given the names away, or is to. */
void caret__pg_names_drop(struct caret__pg_conn *c);

#endif
