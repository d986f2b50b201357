/*
 * postgres.c - the driver's functions, as store/store.h wants them; which file does what.
 *
 *     postgres.c   this table            address.c    what an address says
 *     open.c       a database            schema.c     its tables
 *     conn.c       a session's state     read.c       get, get_many, range
 *     step.c       walks                 commit.c     changes, and what became of them
 *     lock.c       names                 array.c      lists as parameters
 *     link.c       batches               connect.c    connections
 *     sql.c        statements            sqlstate.c   failures
 *     libpq.c      the library
 */
#include "postgres/postgres.h"

#include "postgres/inside.h"

const struct caret__store caret__postgres = {
    .schemes = {"postgresql", "postgres"},
    .open = caret__pg_open,
    .close = caret__pg_close,
    .attach = caret__pg_attach,
    .detach = caret__pg_detach,
    .forget = caret__pg_forget,
    .begin = caret__pg_begin,
    .get = caret__pg_get,
    .get_many = caret__pg_get_many,
    .step = caret__pg_step,
    .range = caret__pg_range,
    .commit = caret__pg_commit,
    .rollback = caret__pg_rollback,
    .sync = caret__pg_sync,
    .lock = caret__pg_lock,
    .unlock = caret__pg_unlock,
};
