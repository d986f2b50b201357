/*
 * sql.c - every statement that the driver sends, but for what makes the schema (schema.c) and sets up a connection.
 *
 * All keys and values go as binary parameters.  There are no functions, triggers, cursors, sequences or savepoints of
 * the server: what is here is understood by whatever speaks PostgreSQL's protocol.  pg_terminate_backend and advisory
 * locks are used only where the profile says so (open.c).
 *
 * Of a commit the last statement inserts the token (commit.c).  If it is one that sets, it does both: a statement less
 * is a tenth of what a commit costs the server.
 *
 * One key next to another is asked for by a statement with as little to be bound and weighed as there can be.
 *
 * Keys alone are read from the index.  Pages give no value over 4,096 bytes, only its length: a walk that wants it
 * asks for it.  `octet_length` of a value that lies outside of its row does not read it.
 */
#include "postgres/link.h"

enum { BYTEA = 17, BYTEAS = 1001, INT4 = 23, INT8 = 20, TEXT = 25 };

#define NODES "%1$s.nodes"
#define KEYS  "k"
#define PAGED "k, octet_length(v)"
#define WITH  "k, octet_length(v), case when octet_length(v) <= 4096 then v end"
#define UP(what, how)                                                                                        \
    "select " what " from " NODES " where k >= $1 and k < $2 order by k limit $3" how,                       \
    {                                                                                                        \
        BYTEA, BYTEA, INT8                                                                                   \
    }
#define DOWN(what, how)                                                                                      \
    "select " what " from " NODES " where k < $1 order by k desc limit $2" how,                              \
    {                                                                                                        \
        BYTEA, INT8                                                                                          \
    }
#define NEXT(what)     "select " what " from " NODES " where k >= $1 order by k limit 1", {BYTEA}, 1
#define PREVIOUS(what) "select " what " from " NODES " where k < $1 order by k desc limit 1", {BYTEA}, 1
#define TOKEN(p)       "insert into %1$s.tokens(t, state) values (" p ", 'c')"
#define OVER           "on conflict (k) do update set v = excluded.v"

const struct caret__sql_text caret__sqls[CARET__SQLS] = {
    [CARET__SQL_BEGIN] = {"caret_b", "begin isolation level serializable", {0}, 0},
    [CARET__SQL_BEGIN_SHORT] = {"caret_b",
                                "begin",
                                {0},
                                0}, /* where connections are serializable by themselves */
    [CARET__SQL_BEGIN_READS] = {"caret_br", "begin isolation level repeatable read read only", {0}, 0},
    [CARET__SQL_BEGIN_SAFE] = {"caret_bs", "begin isolation level serializable read only deferrable", {0}, 0},
    [CARET__SQL_LASTS] = {"caret_la", "set local idle_in_transaction_session_timeout = 0", {0}, 0},
    [CARET__SQL_BEGIN_LOOSE] = {"caret_bl", "begin isolation level read committed", {0}, 0},
    [CARET__SQL_COMMIT] = {"caret_c", "commit", {0}, 0},
    [CARET__SQL_ROLLBACK] = {"caret_r", "rollback", {0}, 0},
    [CARET__SQL_WAIT_DISK] = {"caret_w",
                              "select set_config('synchronous_commit', 'on', true) "
                              "where current_setting('synchronous_commit') in ('off', 'local')",
                              {0},
                              0},
    [CARET__SQL_GET] = {"caret_g", "select v from " NODES " where k = $1", {BYTEA}, 1},
    [CARET__SQL_GET_LOCK] = {"caret_gl", "select v from " NODES " where k = $1 for update", {BYTEA}, 1},
    [CARET__SQL_MANY] = {"caret_m", "select k, v from " NODES " where k = any($1)", {BYTEAS}, 1},
    [CARET__SQL_MANY_LOCK] = {"caret_ml",
                              "select k, v from " NODES " where k = any($1) order by k for update",
                              {BYTEAS},
                              1},
    [CARET__SQL_LOCK_ROWS] = {"caret_lr",
                              "select 1 from " NODES " where k = any($1) order by k for update",
                              {BYTEAS},
                              1},
    [CARET__SQL_NEXT] = {"caret_n", NEXT(KEYS)},
    [CARET__SQL_NEXT_VALUE] = {"caret_nv", NEXT(WITH)},
    [CARET__SQL_PREVIOUS] = {"caret_p", PREVIOUS(KEYS)},
    [CARET__SQL_PREVIOUS_VALUE] = {"caret_pv", PREVIOUS(WITH)},
    [CARET__SQL_UP] = {"caret_u", UP(KEYS, ""), 3},
    [CARET__SQL_UP_LENGTHS] = {"caret_un", UP(PAGED, ""), 3},
    [CARET__SQL_UP_VALUES] = {"caret_uv", UP(WITH, ""), 3},
    [CARET__SQL_UP_LOCK] = {"caret_ul", UP(WITH, " for update"), 3},
    [CARET__SQL_DOWN] = {"caret_d", DOWN(KEYS, ""), 2},
    [CARET__SQL_DOWN_VALUES] = {"caret_dv", DOWN(WITH, ""), 2},
    [CARET__SQL_DOWN_LOCK] = {"caret_dl", DOWN(WITH, " for update"), 2},
    [CARET__SQL_SET] = {"caret_s", "insert into " NODES " values ($1, $2) " OVER, {BYTEA, BYTEA}, 2},
    [CARET__SQL_SETS] = {"caret_ss",
                         "insert into " NODES " select * from unnest($1, $2) " OVER,
                         {BYTEAS, BYTEAS},
                         2},
    [CARET__SQL_SET_LAST] = {"caret_sl",
                             "with t as (" TOKEN("$3") ") insert into " NODES " values ($1, $2) " OVER,
                             {BYTEA, BYTEA, BYTEA},
                             3},
    [CARET__SQL_SETS_LAST] = {"caret_ssl",
                              "with t as (" TOKEN("$3") ") insert into " NODES
                                                        " select * from unnest($1, $2) " OVER,
                              {BYTEAS, BYTEAS, BYTEA},
                              3},
    [CARET__SQL_DELETE] = {"caret_de", "delete from " NODES " where k = any($1)", {BYTEAS}, 1},
    [CARET__SQL_KILL] = {"caret_k", "delete from " NODES " where k >= $1 and k < $2", {BYTEA, BYTEA}, 2},
    [CARET__SQL_TOKEN] = {"caret_t", TOKEN("$1"), {BYTEA}, 1},
    [CARET__SQL_RESOLVE] = {"caret_re",
                            "insert into %1$s.tokens(t, state) values ($1, 'a') on conflict (t) do update "
                            "set at = now() returning state",
                            {BYTEA},
                            1},
    [CARET__SQL_TERMINATE] = {"caret_te",
                              "select pg_terminate_backend(pid) from pg_stat_activity "
                              "where pid = $1 and backend_start::text = $2",
                              {INT4, TEXT},
                              2},
    [CARET__SQL_TOKENS_DONE] = {"caret_td",
                                "delete from %1$s.tokens where t >= $1 and t < $2",
                                {BYTEA, BYTEA},
                                2},
    [CARET__SQL_TOKENS_OLD] = {"caret_to",
                               "delete from %1$s.tokens where t = any(array(select t from %1$s.tokens "
                               "where at < now() - interval '1 day' limit 1000))",
                               {0},
                               0},
    [CARET__SQL_LOCK] = {"caret_l", "select pg_advisory_xact_lock($1)", {INT8}, 1},
    [CARET__SQL_LOCK_SHARED] = {"caret_ls", "select pg_advisory_xact_lock_shared($1)", {INT8}, 1},
    [CARET__SQL_TRY] = {"caret_lt", "select pg_try_advisory_lock($1)", {INT8}, 1},
    [CARET__SQL_TRY_SHARED] = {"caret_lts", "select pg_try_advisory_lock_shared($1)", {INT8}, 1},
    [CARET__SQL_UNLOCK] = {"caret_lu", "select pg_advisory_unlock($1)", {INT8}, 1},
    [CARET__SQL_UNLOCK_SHARED] = {"caret_lus", "select pg_advisory_unlock_shared($1)", {INT8}, 1},
    [CARET__SQL_LOCK_TIMEOUT] = {"caret_lo", "select set_config('lock_timeout', $1, true)", {TEXT}, 1},
};
