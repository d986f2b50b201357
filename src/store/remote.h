/*
 * remote.h - a session's part of a database on a server: its connection, its transaction there, its locks.
 *
 * Between the API, which knows nodes and sessions, and a driver (store/store.h), which knows keys.
 */
#ifndef CARET_STORE_REMOTE_H
#define CARET_STORE_REMOTE_H

#include "base/process.h"
#include "store/locks.h"
#include "store/store.h"
#include "txn/txn.h"

struct caret__remote {
    struct caret__store_db *db;
    const struct caret__store *store;
    void *conn;             /* NULL: not attached yet */
    uint32_t process;       /* whose conn and locks are (base/process.h) */
    struct caret__txn *txn; /* the session's */
    struct caret__alarm *alarm;
    bool begun;       /* the driver was told of the transaction */
    bool reads;       /* the transaction is a snapshot */
    bool wants_value; /* the next step is to bring the value along */
    bool has_value;   /* of the key that was stepped to last: */
    uint8_t *value;
    size_t value_len, value_cap;
    size_t key_len;
    uint8_t key[CARET__KEY_MAX];
    struct caret__names locks;
};

/* ---- remote.c ---- */
void caret__remote_init(struct caret__remote *r, struct caret__store_db *db, struct caret__txn *txn,
                        struct caret__alarm *alarm);

/* Is this a forked child, which has neither its parent's connection nor its locks?  Then that is forgotten. */
bool caret__remote_disown(struct caret__remote *r);
static inline bool caret__remote_forked(struct caret__remote *r)
{
    return r->process != caret__process() && caret__remote_disown(r);
}

/* Have a connection.  CARET_OK or why not. */
int caret__remote_attach(struct caret__remote *r);

/* Let go of it: locks are given back.  A child forgets it. */
void caret__remote_detach(struct caret__remote *r);

/* The value of a key, in the driver's memory; CARET_NONE.  Not what the transaction's buffer says. */
int caret__remote_get(struct caret__remote *r, struct caret__bytes key, struct caret__bytes *value);

/* Those of many, ascending, none twice. */
int caret__remote_get_many(struct caret__remote *r, const struct caret__bytes *keys, size_t n,
                           caret__store_each *each, void *ctx);

/* The first key at or after, or the last before: the key is replaced.  ctx is the caret__remote. */
int caret__remote_step(void *ctx, uint8_t *key, size_t *len, bool back);

/* The next steps are to bring the value along, for a get of it that follows; over: no get has it after this. */
static inline void caret__remote_want_value(struct caret__remote *r, bool wanted)
{
    r->wants_value = wanted;
    r->has_value = false;
}

/* The same as the transaction sees it. */
int caret__remote_step_merged(struct caret__remote *r, struct caret__view *v, uint8_t *key, size_t *len,
                              bool back);

/* Up to `most` keys of the span, 0 = all: how many are there. */
int caret__remote_count(struct caret__remote *r, const struct caret__span *span, size_t most,
                        uint64_t *count);

/* What is there: 0, 1, 10, 11. */
int caret__remote_data(struct caret__remote *r, const uint8_t *key, size_t len, int *data);

/* ---- remote_commit.c ---- */
/* One change outside of a transaction. */
int caret__remote_change(struct caret__remote *r, const struct caret__store_op *op, int flags);

/* The transaction's changes; flags are those of caret_begin().  Whatever comes of it, the driver has none then. */
int caret__remote_commit(struct caret__remote *r, int flags);
void caret__remote_rollback(struct caret__remote *r);

/* The transaction that begins is a snapshot.  UNSUPPORTED. */
int caret__remote_snapshot(struct caret__remote *r);

/* What a driver's call said: what follows for the transaction and the locks.  Returns rc. */
int caret__remote_said(struct caret__remote *r, int rc);

/* ---- remote_lock.c: as the functions of txn/lock.h ---- */
/* level: the mark of the innermost transaction */
int caret__remote_lock(struct caret__remote *r, uint64_t level, const uint8_t *const keys[],
                       const size_t lens[], size_t n, uint64_t timeout_ns);
int caret__remote_unlock(struct caret__remote *r, const uint8_t *key, size_t len);
int caret__remote_unlock_all(struct caret__remote *r);
int caret__remote_lock_rollback(struct caret__remote *r, uint64_t mark);
int caret__remote_lock_restart(struct caret__remote *r, uint64_t mark);
int caret__remote_lock_commit(struct caret__remote *r, uint64_t mark);

#endif
