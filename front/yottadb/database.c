/*
 * database.c - which database: the one of $ZGBLDIR.
 *
 * What $ZGBLDIR was set to, else what the environment says (m/settings.h).  It is opened when it is first used: made if
 * there is none, for reading only if the process may not write to it.
 *
 * All that were opened stay open, as their locks do.  `current` is read without a mutex by each call; lists and names
 * are under CARET__YDB_DATABASES.
 */
#include <string.h>

#include "m/settings.h"
#include "yottadb/session.h"

static struct caret__ydb_database *_Atomic current; /* NULL: that of name(), to be opened */
static struct caret__ydb_database *_Atomic opened;
static char *selected; /* what $ZGBLDIR was set to, or NULL */

static const char *name(void)
{
    return selected != NULL ? selected : caret_m__gbldir();
}

size_t caret__ydb_gbldir(char *room, size_t cap)
{
    caret__ydb_take(CARET__YDB_DATABASES);
    int n = snprintf(room, cap, "%s", name());
    caret__ydb_give(CARET__YDB_DATABASES);
    return (size_t)n;
}

struct caret__ydb_database *caret__ydb_databases(void)
{
    return atomic_load(&opened);
}

/* ------------------------------------------------------------------------ open */

/* The one that was opened from that file, if there is one. */
static struct caret__ydb_database *of_file(const char *resolved)
{
    struct caret__ydb_database *d = atomic_load(&opened);

    while (d != NULL && strcmp(caret_path(d->db), resolved) != 0)
        d = d->next;
    return d;
}

/* Open a file.  It may be another name of one that was opened: then that is it, with its locks. */
static int open_file(struct caret__ydb_call *c, const char *n, const char *file,
                     struct caret__ydb_database **database)
{
    struct caret__ydb_database *d = calloc(1, sizeof *d), *old;
    caret_options options = {.size = sizeof options, .readonly = caret_m__only_read(file)};

    if (d == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for a database");
    if (caret_open(file, &options, &d->db) != CARET_OK) {
        free(d);
        return caret__ydb_fail(c, YDB_ERR_ZGBLDIRACC,
                               "Cannot access global directory %s.  Cannot continue.,%s", n, caret_fact());
    }
    old = of_file(caret_path(d->db));
    if (old != NULL) {
        caret_close(d->db);
        free(d);
    } else {
        d->next = atomic_load(&opened);
        atomic_store(&opened, d);
    }
    *database = old != NULL ? old : d;
    return YDB_OK;
}

/* The database of that name, opened if it isn't. */
static int find(struct caret__ydb_call *c, const char *n, struct caret__ydb_database **database)
{
    char *file = caret_m__file_of(n);

    if (file == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for the name of a database");
    *database = of_file(file);
    int status = *database != NULL ? YDB_OK : open_file(c, n, file, database);
    free(file);
    return status;
}

static int open_current(struct caret__ydb_call *c, struct caret__ydb_database **database)
{
    int status = YDB_OK;

    caret__ydb_take(CARET__YDB_DATABASES);
    *database = atomic_load(&current);
    if (*database == NULL)
        status = find(c, name(), database);
    if (status == YDB_OK)
        atomic_store(&current, *database);
    caret__ydb_give(CARET__YDB_DATABASES);
    return status;
}

int caret__ydb_database_of(struct caret__ydb_call *c, struct caret__ydb_database **database)
{
    *database = c->in != NULL ? c->in->database : atomic_load_explicit(&current, memory_order_acquire);
    return *database != NULL ? YDB_OK : open_current(c, database);
}

int caret__ydb_gbldir_set(struct caret__ydb_call *c, const char *value, size_t len)
{
    struct caret__ydb_database *d;
    char *copy = len != 0 ? strndup(value, len) : NULL;

    if (c->in != NULL) {
        free(copy);
        return caret__ydb_fail(c, YDB_ERR_UNIMPLOP,
                               "$ZGBLDIR can't be set in a transaction, which is of one database");
    }
    if (len != 0 && copy == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for a name");
    caret__ydb_take(CARET__YDB_DATABASES);
    char *old = selected;
    selected = copy;
    int status = find(c, name(), &d);
    if (status == YDB_OK)
        atomic_store(&current, d);
    else
        selected = old;
    caret__ydb_give(CARET__YDB_DATABASES);
    free(status == YDB_OK ? old : copy);
    return status;
}

/* -------------------------------------------------------------------- sessions */

/* The thread's session of the database becomes its current one. */
static int use(struct caret__ydb_call *c, struct caret__ydb_database *d)
{
    struct caret__ydb_thread *t = c->self;
    struct caret__ydb_own *own = t->sessions;

    while (own != NULL && own->database != d)
        own = own->next;
    if (own == NULL) {
        own = calloc(1, sizeof *own);
        if (own == NULL)
            return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for a session");
        int rc = caret_session_open(d->db, &own->s);
        if (rc != CARET_OK) {
            free(own);
            return caret__ydb_failed(c, rc);
        }
        caret_session_detach(own->s); /* thread.c ends it */
        own->database = d;
        own->next = t->sessions;
        t->sessions = own;
    }
    t->database = d;
    t->s = own->s;
    return YDB_OK;
}

int caret__ydb_session(struct caret__ydb_call *c, caret_session **s)
{
    struct caret__ydb_database *d;
    struct caret__ydb_thread *t = c->self;

    if (c->in != NULL) {
        *s = c->in->s;
        return caret__ydb_tp_check(c);
    }
    d = atomic_load_explicit(&current, memory_order_acquire);
    if (!caret__ydb_likely(d != NULL && t->database == d)) {
        int status = caret__ydb_database_of(c, &d);
        if (status == YDB_OK)
            status = use(c, d);
        if (status != YDB_OK)
            return status;
    }
    *s = t->s;
    return YDB_OK;
}

int caret__ydb_session_named(struct caret__ydb_call *c, const char *name, size_t len, caret_session **s)
{
    struct caret__ydb_database *d;
    struct caret__ydb_thread *t = c->self;

    if (len == 0)
        return caret__ydb_session(c, s);
    char *copy = strndup(name, len);
    if (copy == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for the name of a database");
    caret__ydb_take(CARET__YDB_DATABASES);
    int status = find(c, copy, &d);
    caret__ydb_give(CARET__YDB_DATABASES);
    free(copy);
    if (status != YDB_OK)
        return status;
    struct caret__ydb_database *before = t->database;
    caret_session *current_session = t->s;
    status = use(c, d);
    *s = t->s;
    t->database = before;
    t->s = current_session;
    return status;
}

void caret__ydb_close_sessions(struct caret__ydb_thread *t)
{
    while (t->sessions != NULL) {
        struct caret__ydb_own *own = t->sessions;
        t->sessions = own->next;
        caret_session_close(own->s);
        free(own);
    }
    t->database = NULL;
    t->s = NULL;
}

void caret__ydb_close_databases(void)
{
    for (struct caret__ydb_database *d = atomic_load(&opened); d != NULL; d = d->next)
        caret_close(d->db);
}
