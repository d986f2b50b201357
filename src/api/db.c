/*
 * db.c - opening, closing, and what concerns a database as a whole.
 *
 * All handles of the process are in one list, for fork: the child's copies of the
 * sessions hold transactions and locks that are the parent's.  When the child
 * attaches an engine, every session over it, of whatever handle, forgets them; it
 * is not enough to do so for the one that was used first.
 */
#include <stdlib.h>

#include "api/session.h"
#include "copy/backup.h"
#include "disk/meta.h"
#include "log/archive.h"
#include "log/background.h"
#include "log/checkpoint.h"
#include "log/flush.h"
#include "log/writer.h"
#include "open/open.h"
#include "shm/huge.h"
#include "shm/lockfile.h"
#include "shm/memory.h"
#include "store/address.h"
#include "tree/past.h"

#define MEMORY_LEAST (32u << 20)           /* in caret.h; arbitrary */
#define MEMORY_MOST  (UINT64_C(256) << 30) /* as a file, if nothing tells how much there is */
#define SYNC_INTERVAL_MOST                                                                                   \
    1000000.0 /* seconds, eleven days: what is asked for is kept in milliseconds, 32 bits of them */

_Static_assert(CARET_VIEW_LIVE == (int)CARET__OBSERVES_LIVE && CARET_VIEW_FILE == (int)CARET__OBSERVES_FILE,
               "what caret_stat says");

/* --------------------------------------------------------------------- handles */

static caret_db *volatile handles; /* changed under the registry's mutex, always whole */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a child: the thread that held one of these mutexes at the fork does not exist there. */
static void in_child(void)
{
    for (caret_db *db = handles; db != NULL; db = db->next)
        pthread_mutex_init(&db->lock, NULL);
}

/* The registry is locked: this process, a fork, has attached the engine. */
static void attached_in_child(struct caret__engine *e)
{
    CARET__ASSERT(caret__registry_held());
    for (caret_db *db = handles; db != NULL; db = db->next) {
        if (db->e != e || db->closed)
            continue;
        for (caret_session *s = db->sessions; s != NULL; s = s->next) {
            if (s->e == NULL)
                continue;
            caret__session_disown(s);
            caret__session_bind(s, e);
        }
    }
}

static void install(void)
{
    pthread_atfork(NULL, NULL, in_child);
    caret__forked_hook = attached_in_child;
}

static void handle_add(caret_db *db)
{
    caret__registry_lock();
    db->next = handles;
    handles = db;
    caret__registry_unlock();
}

static void handle_remove(const caret_db *db)
{
    caret__registry_lock();
    if (handles == db)
        handles = db->next;
    for (caret_db *p = handles; p != NULL; p = p->next)
        if (p->next == db)
            p->next = db->next;
    caret__registry_unlock();
}

/* ------------------------------------------------------------------ open, close */

static void db_unref(caret_db *db)
{
    caret__local_lock(&db->lock);
    unsigned left = --db->refs;
    caret__local_unlock(&db->lock);
    if (left == 0) {
        handle_remove(db);
        pthread_mutex_destroy(&db->lock);
        if (db->store != NULL)
            caret__remote_db_free(db);
        free(db->path);
        free(db);
    }
}

/* A yes or no in structs of options: anything else tells of one that was not zeroed. */
static int check_flag(const char *function, const char *option, int flag)
{
    if (flag == 0 || flag == 1)
        return CARET_OK;
    return caret__fail(CARET_E_INVALID, "%s: option %s is %d; 0 or 1 is expected (zero the struct first)",
                       function, option, flag);
}

static int check_sync(const char *function, const caret_options *o)
{
    if (o->sync < CARET_SYNC_INTERVAL || o->sync > CARET_SYNC_OFF)
        return caret__fail(CARET_E_INVALID,
                           "%s: option sync is %d; CARET_SYNC_INTERVAL, _COMMIT or _OFF is expected",
                           function, o->sync);
    if (!(o->sync_interval >= 0 && o->sync_interval <= SYNC_INTERVAL_MOST))
        return caret__fail(
            CARET_E_INVALID,
            "%s: option sync_interval is %.15g; seconds from 0 (which means 1) to %.0f are expected",
            function, o->sync_interval, SYNC_INTERVAL_MOST);
    return CARET_OK;
}

/* Options of opening as they were given, which may be NULL, as `o`. */
static int take_options(const char *function, const caret_options *given, caret_options *o)
{
    *o = (caret_options){.size = sizeof *o};
    int rc = given != NULL ? caret__struct_take(function, o, sizeof *o, given) : CARET_OK;

    if (rc == CARET_OK)
        rc = check_sync(function, o);
    if (rc == CARET_OK)
        rc = check_flag(function, "no_create", o->no_create);
    if (rc == CARET_OK)
        rc = check_flag(function, "readonly", o->readonly);
    if (rc == CARET_OK)
        rc = check_flag(function, "no_thread", o->no_thread);
    if (rc == CARET_OK)
        rc = check_flag(function, "any_fs", o->any_fs);
    if (rc == CARET_OK)
        rc = check_flag(function, "no_huge_pages", o->no_huge_pages);
    if (rc != CARET_OK)
        return rc;
    if (o->log_size != 0 && (o->log_size < CARET__LOG_MIN || o->log_size > CARET__LOG_MAX))
        return caret__fail(CARET_E_INVALID, "%s: option log_size is %zu; %u to %u bytes are expected",
                           function, o->log_size, CARET__LOG_MIN, CARET__LOG_MAX);
    if (o->arena_limit > PTRDIFF_MAX)
        return caret__fail(CARET_E_INVALID, "%s: option arena_limit is %zu, more than memory can have",
                           function, o->arena_limit);
    if ((o->shm_dir != NULL && *o->shm_dir == '\0') || (o->archive != NULL && *o->archive == '\0'))
        return caret__fail(CARET_E_INVALID, "%s: option %s is empty; a folder is expected", function,
                           o->shm_dir != NULL && *o->shm_dir == '\0' ? "shm_dir" : "archive");
    if (o->readonly && o->archive != NULL)
        return caret__fail(CARET_E_INVALID, "%s: option archive with readonly, which archives nothing",
                           function);
    return CARET_OK;
}

static const char *default_path(void)
{
    const char *path = getenv("CARET_DB");

    return path == NULL || *path == '\0' ? "./data.caret" : path;
}

static bool is_memory(const char *path)
{
    return strcmp(path, CARET__MEMORY) == 0;
}

/* What makes no sense without a file. */
static int check_for_memory(const caret_options *o)
{
    const char *what = o->readonly          ? "readonly"
                       : o->no_create       ? "no_create (create = false)"
                       : o->archive != NULL ? "archive"
                       : o->shm_dir != NULL ? "shm_dir"
                                            : NULL;

    if (what != NULL)
        return caret__fail(CARET_E_INVALID,
                           "caret_open: option %s with the path '" CARET__MEMORY
                           "', which is a new database in memory, without a file",
                           what);
    if (o->memory_limit < MEMORY_LEAST || o->memory_limit > PTRDIFF_MAX ||
        o->memory_limit / 2 < o->arena_limit || o->memory_limit / 4 < o->log_size)
        return caret__fail(
            CARET_E_INVALID,
            "caret_open: option memory_limit is %zu; %u bytes at least are expected, twice arena_limit, "
            "and four times log_size, and %td at most (half of the memory that is available, if it is not "
            "given)",
            o->memory_limit, MEMORY_LEAST, PTRDIFF_MAX);
    return CARET_OK;
}

static int check_path(const char *function, const char *argument, const char *path)
{
    if (path == NULL)
        return caret__null(function, argument, "the path of a file");
    if (caret__address_is(path))
        return caret__address_refused(function, argument, path);
    if (*path == '\0')
        return caret__empty_path(function, argument);
    if (is_memory(path))
        return caret__fail(CARET_E_INVALID,
                           "%s: %s is '" CARET__MEMORY
                           "', which is not a file; one of that name is './" CARET__MEMORY "'",
                           function, argument);
    return CARET_OK;
}

static int open_memory(caret_options *o, struct caret__engine **e)
{
    if (o->memory_limit == 0)
        o->memory_limit = caret__min64(caret__memory_available(""), MEMORY_MOST) / 2;
    o->sync = CARET_SYNC_OFF;
    int rc = check_for_memory(o);
    return rc == CARET_OK ? caret__engine_open_memory(o, e) : rc;
}

static int open_engine(const char *path, caret_options *o, struct caret__engine **e)
{
    if (is_memory(path))
        return open_memory(o, e);
    if (o->memory_limit != 0)
        return caret__fail(CARET_E_INVALID,
                           "caret_open: option memory_limit is of the path '" CARET__MEMORY "' alone");
    return caret__engine_open(path, o, e);
}

/* The database in a file, or in memory. */
static int open_here(const char *path, caret_options *options, caret_db *db)
{
    int rc = open_engine(path, options, &db->e);
    if (rc == CARET_OK && options->archive != NULL && !db->e->observes) {
        rc = caret__archive_begin(db->e, options->archive);
        if (rc != CARET_OK)
            caret__engine_close(db->e);
    }
    if (rc == CARET_OK && (db->path = strdup(db->e->path)) == NULL) {
        caret__engine_close(db->e);
        rc = caret__fail(CARET_E_NOMEM, "no memory for a database handle");
    }
    return rc;
}

/* The handle; `options` were checked, those that the path decides are changed. */
static int open_db(const char *path, caret_options *options, caret_db **out)
{
    caret_db *db = calloc(1, sizeof *db);
    if (db == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a database handle");
    int rc =
        caret__address_is(path) ? caret__remote_db_open(path, options, db) : open_here(path, options, db);
    if (rc != CARET_OK) {
        free(db);
        return rc;
    }
    pthread_once(&once, install);
    pthread_mutex_init(&db->lock, NULL);
    db->options = *options;
    db->options.shm_dir = db->options.archive = NULL;
    db->options.progress = NULL;
    db->refs = 1;
    if (db->store == NULL && !db->e->observes)
        caret__background_wants(db->e, options);
    handle_add(db);
    *out = db;
    return CARET_OK;
}

int caret_open(const char *path, const caret_options *options, caret_db **out)
{
    caret_options o;

    if (out == NULL)
        return caret__null(__func__, "db", "a place for the handle");
    *out = NULL;
    if (path != NULL && *path == '\0')
        return caret__empty_path(__func__, "path");
    int rc = take_options(__func__, options, &o);
    return rc == CARET_OK ? open_db(path != NULL ? path : default_path(), &o, out) : rc;
}

int caret_close(caret_db *db)
{
    if (db == NULL || db->closed)
        return CARET_OK;
    caret__threads_lock();
    for (caret_session *s = db->sessions; s != NULL; s = s->next)
        caret__session_stop(s);
    db->closed = true;
    caret__threads_unlock();
    int rc = db->store != NULL ? CARET_OK : caret__engine_close(db->e);
    db_unref(db);
    return rc;
}

const char *caret_path(const caret_db *db)
{
    return db != NULL && !db->closed ? db->path : "";
}

/* The view of a handle is over: open the database anew.  The handle is locked. */
static int renew(caret_db *db)
{
    struct caret__engine *e;
    int rc = caret__engine_open(db->path, &db->options, &e);

    if (rc != CARET_OK)
        return rc;
    if (e->dev != db->e->dev || e->ino != db->e->ino) {
        caret__engine_close(e);
        return caret__fail(CARET_E_EVICTED, "%s: the data file was replaced while it was open", db->path);
    }
    caret__engine_close(db->e);
    db->e = e;
    return CARET_OK;
}

int caret__db_engine(caret_db *db, struct caret__engine **e)
{
    int rc = CARET_OK;

    caret__local_lock(&db->lock);
    if (db->e->observes && caret__observed_over(db->e))
        rc = renew(db);
    *e = db->e;
    if (rc == CARET_OK && db->e->observes)
        caret__engine_ref(db->e);
    caret__local_unlock(&db->lock);
    return rc;
}

/* Only a handle that was opened read-only has an engine that observes, or changes it for another. */
int caret__db_enter(const char *function, caret_db *db, struct caret__engine **e)
{
    int rc = CARET_OK;

    if (db == NULL)
        return caret__null(function, "db", "an open database");
    if (db->closed)
        return caret__fail(CARET_E_CLOSED, "the database was closed");
    if (db->store != NULL)
        return caret__unsupported(function, db);
    if (db->options.readonly)
        rc = caret__db_engine(db, e);
    else
        *e = db->e;
    return rc == CARET_OK && *(*e)->fork_mark == 0 ? caret__engine_forked(*e) : rc;
}

void caret__db_leave(struct caret__engine *e)
{
    if (e->observes)
        caret__engine_close(e);
}

int caret__db_enter_attached(const char *function, caret_db *db, const char *what, struct caret__engine **e)
{
    int rc = caret__db_enter(function, db, e);

    if (rc != CARET_OK || !(*e)->observes)
        return rc;
    rc = caret__fail(CARET_E_READONLY, "%s: opened read-only: no %s", db->path, what);
    caret__db_leave(*e);
    return rc;
}

static int enter_attached(const char *function, caret_db *db, const char *what)
{
    struct caret__engine *e;

    return caret__db_enter_attached(function, db, what, &e);
}

/* For what a database on a server has too. */
static int enter_any(const char *function, caret_db *db, struct caret__engine **e)
{
    if (db == NULL || db->closed || db->store == NULL)
        return caret__db_enter(function, db, e);
    *e = db->e;
    return CARET_OK;
}

int caret_sync(caret_db *db)
{
    if (db != NULL && !db->closed && db->store != NULL)
        return caret__remote_sync(db);
    int rc = enter_attached(__func__, db, "sync");
    return rc == CARET_OK ? caret__flush(db->e, 0, true) : rc;
}

int caret_durable(caret_db *db, uint64_t *durable, uint64_t *committed)
{
    struct caret__engine *e;
    if (db != NULL && !db->closed && db->store != NULL) { /* there are no places */
        if (durable != NULL)
            *durable = 0;
        if (committed != NULL)
            *committed = 0;
        return CARET_OK;
    }
    int rc = caret__db_enter(__func__, db, &e);
    if (rc != CARET_OK)
        return rc;
    /* in this order: what is durable was committed */
    uint64_t upto = atomic_load(caret__in_memory(e) ? &e->sh->log_applied : &e->sh->log_durable);
    if (durable != NULL)
        *durable = upto;
    if (committed != NULL)
        *committed = caret__max64(atomic_load(&e->sh->log_applied), upto);
    caret__db_leave(e);
    return CARET_OK;
}

int caret_compact(const char *path, const caret_options *options, caret_backup_progress *progress,
                  void *progress_arg)
{
    const caret_backup_options how = {.compact = 1, .progress = progress, .progress_arg = progress_arg};
    caret_options o;
    caret_db *db;
    int rc = take_options(__func__, options, &o);

    if (rc != CARET_OK)
        return rc;
    if (o.readonly)
        return caret__fail(CARET_E_READONLY, "caret_compact: not of a database opened read-only");
    path = path != NULL ? path : default_path();
    rc = check_path(__func__, "path", path);
    if (rc != CARET_OK)
        return rc;
    o.no_create = 1;
    rc = open_db(path, &o, &db);
    if (rc != CARET_OK)
        return rc;
    rc = caret__engine_compact(db->e, caret__backup, &how);
    int closed = caret_close(db);
    return rc == CARET_OK ? closed : rc;
}

int caret_checkpoint(caret_db *db)
{
    int rc = enter_attached(__func__, db, "checkpoint");
    return rc == CARET_OK ? caret__checkpoint(db->e) : rc;
}

int caret_backup(caret_db *db, const char *path, const caret_backup_options *options)
{
    caret_backup_options o = {.size = sizeof o};
    int rc = enter_attached(__func__, db, "backup");

    if (rc == CARET_OK)
        rc = check_path(__func__, "path", path);
    if (rc == CARET_OK && options != NULL)
        rc = caret__struct_take(__func__, &o, sizeof o, options);
    if (rc == CARET_OK)
        rc = check_flag(__func__, "compact", o.compact);
    if (rc == CARET_OK)
        rc = check_flag(__func__, "overwrite", o.overwrite);
    if (rc != CARET_OK)
        return rc;
    struct caret__engine *e = db->e;
    caret__engine_ref(e); /* the callback may close the handle */
    rc = caret__backup(e, path, &o);
    int closed = caret__engine_close(e);
    return rc != CARET_OK ? rc : closed;
}

int caret_restore(const char *backup, const char *path, const caret_restore_options *options,
                  uint64_t *reached)
{
    caret_restore_options o = {.size = sizeof o};
    int rc = check_path(__func__, "backup", backup);

    if (rc == CARET_OK)
        rc = check_path(__func__, "path", path);
    if (rc == CARET_OK && options != NULL)
        rc = caret__struct_take(__func__, &o, sizeof o, options);
    if (rc == CARET_OK)
        rc = check_flag(__func__, "any_fs", o.any_fs);
    if (rc != CARET_OK)
        return rc;
    if (o.archive == NULL && (o.lsn != 0 || o.time != 0))
        return caret__fail(CARET_E_INVALID,
                           "caret_restore: option %s without archive: a later moment than that of the backup "
                           "needs one",
                           o.lsn != 0 ? "lsn" : "time");
    return caret__restore(backup, path, &o, reached);
}

/* What the sessions of this handle have counted and not yet added up. */
static void add_unpublished(caret_db *db, caret_stats *out)
{
    caret__local_lock(&db->lock);
    for (const caret_session *s = db->sessions; s != NULL; s = s->next)
        caret__counts_add(s, out);
    caret__local_unlock(&db->lock);
}

/* What a process has counted. */
static void add_slot(struct caret__procslot *p, caret_stats *st)
{
    st->processes += atomic_load(&p->state) == CARET__SLOT_USED;
    st->snapshots += atomic_load(&p->snap_lsn) != 0;
    st->gets += atomic_load(&p->gets);
    st->sets += atomic_load(&p->sets);
    st->commits += atomic_load(&p->commits);
    st->restarts += atomic_load(&p->restarts);
    st->lock_waits += atomic_load(&p->lock_waits);
}

/* What the shared memory tells. */
static caret_stats stats_of(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;
    caret_stats st = {.pages = sh->ts.npages,
                      .free_pages = sh->ts.free_pages + atomic_load(&sh->hollow_pages),
                      .arena_slots = atomic_load(&sh->nslots),
                      .arena_used = atomic_load(&sh->nslots) - sh->ts.free_slots,
                      .depth = sh->ts.depth,
                      .log_head = atomic_load(&sh->log_head),
                      .log_durable = atomic_load(&sh->log_durable),
                      .checkpoint_lsn = atomic_load(&sh->checkpoint_lsn),
                      .epoch = atomic_load(&sh->epoch),
                      .checkpoints = atomic_load(&sh->checkpoints),
                      .repairs = atomic_load(&sh->repairs),
                      .held_pages = atomic_load(&sh->held_pages),
                      .view = e->observes,
                      .arena_huge = caret__huge_bytes(e),
                      .dead_pages = sh->ts.dead_pages};

    for (uint32_t i = 0; i < sh->max_procs; i++)
        add_slot(&e->slots[i], &st);
    return st;
}

int caret_stat(caret_db *db, caret_stats *out)
{
    struct caret__engine *e;
    if (out == NULL)
        return caret__null(__func__, "out", "a place for the numbers");
    int rc = caret__struct_check(__func__, "out's", out, sizeof *out);
    if (rc == CARET_OK)
        rc = enter_any(__func__, db, &e);
    if (rc != CARET_OK)
        return rc;
    caret_stats st = db->store != NULL ? (caret_stats){.processes = 1} : stats_of(e);
    if (db->store != NULL)
        add_slot(&e->slots[0], &st);
    add_unpublished(db, &st);
    caret__db_leave(e);
    caret__struct_give(out, &st, sizeof st);
    return CARET_OK;
}

/* ------------------------------------------------------------------ sessions */

static int bind_engine(caret_session *s, struct caret__engine *e)
{
    if (s->db->store != NULL)
        return caret__session_bind_remote(s);
    caret__session_bind(s, e); /* keeps the reference to one that observes */
    return CARET_OK;
}

static caret_session *new_session(void)
{
    caret_session *s = calloc(1, sizeof *s);

    if (s != NULL && caret__session_out(s, 1) == CARET_OK) /* an empty value has an address too */
        return s;
    free(s);
    return NULL;
}

int caret_session_open(caret_db *db, caret_session **out)
{
    if (out == NULL)
        return caret__null(__func__, "s", "a place for the session");
    *out = NULL;
    struct caret__engine *e = NULL;
    int rc = db != NULL ? enter_any(__func__, db, &e) : CARET_OK;
    if (rc != CARET_OK)
        return rc;
    caret_session *s = new_session();
    if (s != NULL)
        s->db = db;
    if (s == NULL || (db != NULL && bind_engine(s, e) != CARET_OK)) {
        if (s != NULL)
            free(s->out);
        free(s);
        if (e != NULL)
            caret__db_leave(e);
        return caret__fail(CARET_E_NOMEM, "no memory for a session");
    }
    if (db != NULL) {
        caret__local_lock(&db->lock);
        db->refs++;
        s->next = db->sessions;
        if (s->next != NULL)
            s->next->prev = s;
        db->sessions = s;
        caret__local_unlock(&db->lock);
        caret__thread_join(s);
    }
    *out = s;
    return CARET_OK;
}

void caret_session_close(caret_session *s)
{
    if (s == NULL)
        return;
    caret__thread_leave(s);
    caret__session_end(s);
    if (s->db != NULL) {
        caret__local_lock(&s->db->lock);
        if (s->prev != NULL)
            s->prev->next = s->next;
        else
            s->db->sessions = s->next;
        if (s->next != NULL)
            s->next->prev = s->prev;
        caret__local_unlock(&s->db->lock);
        db_unref(s->db);
    }
    free(s);
}
