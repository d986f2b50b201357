/*
 * open.c - open a database on a server: which product is it, does it do what we need, are the tables there?
 *
 *     connect -> version() -> set up -> is SERIALIZABLE what it says? are bytes ordered as bytes? -> tables
 *
 * A profile says what is used of a product.  PostgreSQL from 14 on is what all this was tested with.  CockroachDB and
 * YugabyteDB are written for and were not run: they get the common part, no locks, smaller transactions, and each
 * batch has its own BEGIN and COMMIT.  So does any other server.  One that is not serializable is refused: the
 * transactions of this library would be a pretence there.
 *
 * The connection that asked all this is kept, `spare`, for the first session that attaches, under `lock`; a forked
 * child finds it to be its parent's and leaves it alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "postgres/inside.h"
#include "shm/engine.h"

#define TXN_MOST       (64u << 20)
#define TXN_MOST_OTHER (4u << 20)
#define OLDEST         140000
#define AGAIN_NS       20000000u

/* ---- statements of this database ---- */

static int make_texts(struct caret__pg_db *db)
{
    for (int i = 0; i < CARET__SQLS; i++) {
        int from = i;
        if (i == CARET__SQL_BEGIN && db->product == CARET__PG_POSTGRES && !db->pooled)
            from = CARET__SQL_BEGIN_SHORT;
        else if (db->standby && (i == CARET__SQL_BEGIN || i == CARET__SQL_BEGIN_SAFE))
            from = CARET__SQL_BEGIN_READS; /* there is no other way to read there */
        free(db->way.texts[i]);
        if (asprintf(&db->way.texts[i], caret__sqls[from].text, db->way.schema) < 0) {
            db->way.texts[i] = NULL;
            return caret__fail(CARET_E_NOMEM, "no memory for statements");
        }
    }
    return CARET_OK;
}

/*
 * What a new connection is told.  The first two columns name the server's process; libpq knows a pooler's number.  A
 * role or a database may have settings of its own: what we rely on is told, and first of all where `=` and the
 * functions are looked for.  One that only reads may come to a standby later on, where there is no SERIALIZABLE.
 *
 * A client whose machine is gone is noticed by the server after 11 seconds, as it is with us (connect.c): its locks are
 * others' then.  Of the connection that holds locks that is so also while an answer is on its way; the other one may
 * be slow to take a long one.
 */
static void write_session(struct caret__pg_db *db, char *text, size_t cap, const char *isolation, bool names)
{
    snprintf(text, cap,
             "select (select backend_start::pg_catalog.text from pg_catalog.pg_stat_activity "
             "where pid operator(pg_catalog.=) pg_catalog.pg_backend_pid()), pg_catalog.pg_backend_pid(), "
             "pg_catalog.set_config(name, value, false) from (values ('search_path', 'pg_catalog'), "
             "('default_transaction_isolation', %s), ('default_transaction_read_only', '%s'), "
             "('synchronous_commit', case when '%s' operator(pg_catalog.=) 'off' then 'off' "
             "when pg_catalog.current_setting('synchronous_commit') operator(pg_catalog.=) 'off' then 'on' "
             "else pg_catalog.current_setting('synchronous_commit') end), "
             "('lock_timeout', '%ums'), ('idle_in_transaction_session_timeout', '60s'), "
             "('idle_session_timeout', '0'), ('client_connection_check_interval', '1s'), "
             "('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'), "
             "('tcp_user_timeout', '%s'), ('enable_indexscan', 'on'), ('enable_indexonlyscan', 'on'), "
             "('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), "
             "('plan_cache_mode', 'force_generic_plan'), ('jit', 'off')) settings(name, value)",
             isolation, db->read_only ? "on" : "off", db->waits_disk ? "on" : "off", caret__pg_locked_ms(db),
             names ? "10s" : "0");
}

/* The connection that holds locks waits in transactions: those are to take no part in conflicts. */
static void make_sessions(struct caret__pg_db *db)
{
    db->names_way = db->way;
    if (db->pooled)
        return;
    db->way.session_text = db->session;
    db->names_way.session_text = db->names_session;
    if (db->product != CARET__PG_POSTGRES) {
        snprintf(db->session, sizeof db->session, "set default_transaction_isolation = 'serializable'");
        memcpy(db->names_session, db->session, sizeof db->session);
        return;
    }
    write_session(
        db, db->session, sizeof db->session,
        db->read_only
            ? "case when pg_catalog.pg_is_in_recovery() then 'repeatable read' else 'serializable' end"
            : "'serializable'",
        false);
    write_session(db, db->names_session, sizeof db->names_session, "'read committed'", true);
}

/* ---- what it is ---- */

static int ask_text(struct caret__pg_db *db, struct caret__link *l, const char *text, char *out, size_t cap)
{
    caret__link_add_text(l, text, 0, NULL);
    int rc = caret__link_run(l);
    const struct pg_result *r = caret__link_rows(l, 0);

    if (rc != CARET_OK)
        return rc == CARET__LINK_LOST ? rc : caret__sqlstate_fail(l, db->head.shown);
    snprintf(out, cap, "%s", r != NULL && caret__pq.rows(r) == 1 ? caret__pq.value(r, 0, 0) : "");
    return CARET_OK;
}

static void note_product(struct caret__pg_db *db, const char *version)
{
    char name[40] = "";

    db->product = strstr(version, "CockroachDB") != NULL     ? CARET__PG_COCKROACH
                  : strstr(version, "-YB-") != NULL          ? CARET__PG_YUGABYTE
                  : strncmp(version, "PostgreSQL ", 11) == 0 ? CARET__PG_POSTGRES
                                                             : CARET__PG_OTHER;
    sscanf(version, "%*s %39s", name);
    if (db->product == CARET__PG_POSTGRES || db->product == CARET__PG_YUGABYTE)
        snprintf(db->server, sizeof db->server, "%s %s",
                 db->product == CARET__PG_POSTGRES ? "PostgreSQL" : "YugabyteDB", name);
    else
        snprintf(db->server, sizeof db->server, "%.*s", (int)strcspn(version, "(,"), version);
    for (char *p = db->server; *p != '\0'; p++) /* it goes into a statement */
        if (*p == '\'' || *p == '\\')
            *p = ' ';
    for (size_t n = strlen(db->server); n > 0 && db->server[n - 1] == ' ';)
        db->server[--n] = '\0';
    db->head.server = db->server;
}

static void choose_profile(struct caret__pg_db *db)
{
    bool postgres = db->product == CARET__PG_POSTGRES;

    db->one_trip = postgres && !db->pooled && caret__libpq_minds_sync();
    db->head.txn_most = postgres ? TXN_MOST : TXN_MOST_OTHER;
    db->head.has = CARET__STORE_SNAPSHOT;
    if (postgres && !db->pooled && !db->standby)
        db->head.has |= CARET__STORE_LOCKS;
}

static int find_product(struct caret__pg_db *db, struct caret__link *l)
{
    char text[256];
    int rc = ask_text(db, l, "select pg_catalog.version()", text, sizeof text);

    if (rc != CARET_OK)
        return rc;
    note_product(db, text);
    if (db->product == CARET__PG_POSTGRES && caret__pq.version(l->pq) < OLDEST)
        return caret__fail(CARET_E_VERSION, "%s: it is %s; 14 is the oldest", db->head.shown, db->server);
    if (db->product == CARET__PG_POSTGRES)
        rc = ask_text(db, l, "select pg_catalog.pg_is_in_recovery()", text, sizeof text);
    db->standby = rc == CARET_OK && db->product == CARET__PG_POSTGRES && text[0] == 't';
    if (db->standby && !db->read_only)
        rc = caret__fail(CARET_E_READONLY, "%s: it is a standby, which can only be opened for reading",
                         db->head.shown);
    return rc;
}

/* What may be sent that belongs to a connection? */
static int find_pooler(struct caret__pg_db *db, struct caret__link *l)
{
    int rc = CARET_OK;

    db->pooled = db->prepare == CARET__PG_NEVER;
    if (db->product == CARET__PG_POSTGRES && !db->pooled)
        rc = caret__pg_pooler(db, l, &db->pooled);
    db->way.prepares = db->prepare == CARET__PG_ALWAYS || !db->pooled;
    if (db->pooled && rc == CARET_OK)
        snprintf(db->server + strlen(db->server), sizeof db->server - strlen(db->server),
                 " through a pooler of transactions");
    return rc;
}

/* Citus says of itself that it is PostgreSQL, and SERIALIZABLE; but a table that it has distributed over machines is
 * not so across them, and it may be distributed at any time. */
static int refuse_citus(struct caret__pg_db *db, struct caret__link *l)
{
    char there[8] = "";
    int rc = ask_text(db, l, "select exists (select from pg_extension where extname = 'citus')", there,
                      sizeof there);

    if (rc != CARET_OK || there[0] != 't')
        return rc;
    return caret__fail(CARET_E_VERSION,
                       "%s: this database has Citus, whose transactions are not serializable over several "
                       "machines: use one without the extension",
                       db->head.shown);
}

/* Does it do what transactions need? */
static int probe(struct caret__pg_db *db, struct caret__link *l)
{
    char order[8] = "", isolation[40] = "";
    int rc = ask_text(db, l,
                      "select E'\\\\x00ff'::bytea < E'\\\\x01'::bytea and "
                      "E'\\\\x7f'::bytea < E'\\\\x80'::bytea",
                      order, sizeof order);

    if (rc == CARET_OK && order[0] != 't')
        return caret__fail(CARET_E_VERSION, "%s: %s does not order bytes as bytes", db->head.shown,
                           db->server);
    if (rc == CARET_OK && db->product == CARET__PG_POSTGRES)
        rc = refuse_citus(db, l);
    if (rc != CARET_OK || db->standby)
        return rc;
    caret__link_add_text(l, "begin isolation level serializable", 0, NULL);
    rc = ask_text(db, l, "show transaction_isolation", isolation, sizeof isolation);
    caret__link_add_text(l, "rollback", 0, NULL);
    caret__link_leave(l);
    if (rc == CARET_OK && strcmp(isolation, "serializable") != 0)
        rc = caret__fail(CARET_E_VERSION,
                         "%s: %s gives %s where SERIALIZABLE was asked for: transactions would not be",
                         db->head.shown, db->server, isolation);
    return rc;
}

/* ---- open and close ---- */

static int connect_first(struct caret__pg_db *db, struct caret__link *l)
{
    if (caret__link_open(l) == CARET_OK)
        return CARET_OK;
    char *whole =
        strstr(l->text, l->way->address); /* with its password, in what libpq says of some addresses */
    if (whole != NULL)
        *whole = '\0';
    return caret__fail(caret__link_is_full(l) ? CARET_E_LIMIT : CARET_E_OPEN, "%s: %s", db->head.shown,
                       l->text);
}

static int set_up(struct caret__pg_db *db, struct caret__link *l)
{
    int rc = connect_first(db, l);

    if (rc == CARET_OK)
        rc = find_product(db, l);
    if (rc == CARET_OK)
        rc = find_pooler(db, l);
    if (rc != CARET_OK)
        return rc;
    choose_profile(db);
    rc = make_texts(db);
    make_sessions(db);
    if (rc == CARET_OK)
        rc = caret__link_set_up(l);
    if (rc == CARET_OK)
        rc = probe(db, l);
    if (rc == CARET_OK)
        rc = caret__pg_schema(db, l);
    if (rc == CARET_OK && !db->read_only && db->one_trip) /* tokens that nobody asks for any more */
        caret__link_leave_loose(l, CARET__SQL_TOKENS_OLD, NULL);
    return rc;
}

/* What the server itself has ended, by a statement_timeout for one: there is no database, whichever of them it was. */
static int opening_failed(struct caret__pg_db *db, const struct caret__link *l, int rc)
{
    if (rc == CARET__LINK_LOST)
        return caret__fail(CARET_E_OPEN, "%s: %s", db->head.shown, l->text);
    if (rc == CARET_E_IO && strcmp(l->state, "57014") == 0)
        return caret__fail(CARET_E_OPEN, "%s: %s (SQLSTATE %s)", db->head.shown, l->text, l->state);
    return rc;
}

/* All of it once more if the connection is lost on the way: the server was restarted, or another one is to follow. */
static int set_up_again(struct caret__pg_db *db, struct caret__link *l)
{
    uint64_t until = caret__now_ns() + db->way.patience_ns;
    bool again = false; /* then a refusal is part of the same trouble */
    int rc;

    while (((rc = set_up(db, l)) == CARET__LINK_LOST || (again && rc == CARET_E_OPEN && l->pq == NULL)) &&
           caret__now_ns() < until) {
        again = true;
        caret__link_close(l);
        db->way.session_text = NULL;
        caret__nap(AGAIN_NS);
    }
    return opening_failed(db, l, rc);
}

void caret__pg_close(struct caret__store_db *head)
{
    struct caret__pg_db *db = (struct caret__pg_db *)head;

    if (db->spare != NULL && db->spare->pid == getpid())
        caret__link_fini(db->spare);
    else if (db->spare != NULL)
        caret__link_forget(db->spare);
    free(db->spare);
    for (int i = 0; i < CARET__SQLS; i++)
        free(db->way.texts[i]);
    free(db->way.address);
    free(db->head.shown);
    pthread_mutex_destroy(&db->lock);
    free(db);
}

static void take_options(struct caret__pg_db *db, struct caret__pg_address *a, const caret_options *o)
{
    db->head.store = &caret__postgres;
    db->head.shown = a->shown;
    db->way.address = a->plain;
    db->prepare = a->prepare;
    db->way.patience_ns = a->patience_ns;
    db->way.silence_ms = a->silence_ms;
    memcpy(db->way.schema, a->schema, sizeof a->schema);
    db->read_only = db->way.read_only = o != NULL && o->readonly != 0;
    db->no_create = o != NULL && o->no_create != 0;
    db->waits_disk = o == NULL || o->sync != CARET_SYNC_OFF;
    pthread_mutex_init(&db->lock, NULL);
}

int caret__pg_open(const char *url, const caret_options *o, struct caret__store_db **out)
{
    struct caret__pg_address a;
    int rc = caret__libpq_load();

    if (rc == CARET_OK)
        rc = caret__pg_address_read(url, &a);
    if (rc != CARET_OK)
        return rc;
    struct caret__pg_db *db = calloc(1, sizeof *db);
    struct caret__link *l = calloc(1, sizeof *l);
    if (db == NULL || l == NULL) {
        free(a.plain);
        free(a.shown);
        free(db);
        free(l);
        return caret__fail(CARET_E_NOMEM, "no memory for a database");
    }
    take_options(db, &a, o);
    caret__link_init(l, &db->way);
    db->spare = l;
    rc = set_up_again(db, l);
    if (rc != CARET_OK)
        caret__pg_close(&db->head);
    else
        *out = &db->head;
    return rc;
}
