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
#include "page/check.h"
#include "shm/lockfile.h"
#include "tree/past.h"

/* --------------------------------------------------------------------- handles */

static caret_db *volatile handles; /* changed under the registry's mutex, always whole */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a child: the thread that held the mutex at the fork does not exist there. */
static void in_child(void)
{
    for (caret_db *db = handles; db != NULL; db = db->next)
        pthread_mutex_init(&db->lock, NULL);
}

/* The registry is locked: this process, a fork, has attached the engine. */
static void attached_in_child(struct caret__engine *e)
{
    for (caret_db *db = handles; db != NULL; db = db->next) {
        if (db->e != e || db->closed)
            continue;
        for (caret_session *s = db->sessions; s != NULL; s = s->next) {
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
    pthread_mutex_lock(&db->lock);
    unsigned left = --db->refs;
    pthread_mutex_unlock(&db->lock);
    if (left == 0) {
        handle_remove(db);
        pthread_mutex_destroy(&db->lock);
        free(db);
    }
}

int caret_open(const char *path, const caret_options *options, caret_db **out)
{
    static const caret_options defaults;
    if (out == NULL)
        return caret__fail(CARET_E_INVALID, "caret_open: no place for the result");
    *out = NULL;
    if (options == NULL)
        options = &defaults;
    if (options->sync < 0 || options->sync > CARET_SYNC_OFF || options->sync_interval < 0)
        return caret__fail(CARET_E_INVALID, "caret_open: no such sync mode or interval");
    if (options->log_size != 0 && (options->log_size < CARET__LOG_MIN || options->log_size > CARET__LOG_MAX))
        return caret__fail(CARET_E_INVALID, "caret_open: a log of %zu bytes; %u to %u are possible",
                           options->log_size, CARET__LOG_MIN, CARET__LOG_MAX);
    if (path == NULL)
        path = getenv("CARET_DB");
    if (path == NULL || *path == 0)
        path = "./data.caret";
    caret_db *db = calloc(1, sizeof *db);
    if (db == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a database handle");
    int rc = caret__engine_open(path, options, &db->e);
    if (rc != CARET_OK) {
        free(db);
        return rc;
    }
    pthread_once(&once, install);
    pthread_mutex_init(&db->lock, NULL);
    db->options = *options;
    db->options.shm_dir = NULL;
    db->refs = 1;
    caret__background_wants(db->e, options);
    handle_add(db);
    *out = db;
    return CARET_OK;
}

int caret_close(caret_db *db)
{
    if (db == NULL || db->closed)
        return CARET_OK;
    for (caret_session *s = db->sessions; s != NULL; s = s->next)
        caret__session_stop(s);
    db->closed = true;
    int rc = caret__engine_close(db->e);
    db_unref(db);
    return rc;
}

const char *caret_path(const caret_db *db)
{
    return db != NULL && !db->closed ? db->e->path : "";
}

static int db_enter(caret_db *db)
{
    if (db == NULL || db->closed)
        return caret__fail(CARET_E_CLOSED, "the database was closed");
    return *db->e->fork_mark != 0 ? CARET_OK : caret__engine_forked(db->e);
}

int caret_sync(caret_db *db)
{
    int rc = db_enter(db);
    return rc == CARET_OK ? caret__flush(db->e, 0, true) : rc;
}

int caret_durable(caret_db *db, uint64_t *durable, uint64_t *committed)
{
    int rc = db_enter(db);
    if (rc != CARET_OK)
        return rc;
    /* in this order: what is durable was committed */
    uint64_t upto = atomic_load(&db->e->sh->log_durable);
    if (durable != NULL)
        *durable = upto;
    if (committed != NULL)
        *committed = caret__max64(atomic_load(&db->e->sh->log_applied), upto);
    return CARET_OK;
}

int caret_checkpoint(caret_db *db)
{
    int rc = db_enter(db);
    return rc == CARET_OK ? caret__checkpoint(db->e) : rc;
}

/* Every page number is exactly one of: in the tree, free, waiting to be free, reserved by the format. */
static unsigned check_space(struct caret__engine *e, const uint64_t *seen, char *report, size_t cap)
{
    const struct caret__tstate *ts = &e->sh->ts;
    unsigned findings = 0;
    uint32_t nfree = 0;

    for (uint32_t p = 0; p < ts->npages; p++) {
        uint64_t bit = UINT64_C(1) << (p % 64u);
        bool is_free = (e->pg.maps[CARET__MAP_FREE][p / 64u] & bit) != 0;
        bool pending =
            ((e->pg.maps[CARET__MAP_PENDING0][p / 64u] | e->pg.maps[CARET__MAP_PENDING1][p / 64u]) & bit) !=
            0;
        bool used = (seen[p / 64u] & bit) != 0, fixed = caret__pgno_reserved(p);
        nfree += is_free;
        if (is_free + pending + used + fixed == 1)
            continue;
        findings++;
        caret__report(report, cap, "page %u: %s%s%s%s\n", p,
                      is_free + pending + used + fixed == 0 ? "leaked" : "", is_free ? "free " : "",
                      pending ? "pending " : "", used ? "in the tree" : "");
    }
    if (nfree != ts->free_pages) {
        findings++;
        caret__report(report, cap, "space: %u free pages, the state block says %u\n", nfree, ts->free_pages);
    }
    return findings;
}

/* Every arena slot is free or belongs to one page. */
static unsigned check_slots(struct caret__engine *e, char *report, size_t cap)
{
    uint32_t n = atomic_load(&e->sh->nslots), nfree = 0;
    unsigned findings = 0;

    for (uint32_t s = 0; s < n; s++) {
        bool is_free = (e->pg.maps[CARET__MAP_SLOTS][s / 64u] >> (s % 64u) & 1u) != 0;
        uint32_t p = e->pg.owners[s];
        bool owned = p != 0 && p < e->sh->ts.npages && caret__pte_slot(atomic_load(&e->pg.ptab[p].word)) == s;
        nfree += is_free;
        if (is_free && owned) {
            findings++;
            caret__report(report, cap, "arena slot %u: free, but page %u is in it\n", s, p);
        }
    }
    if (nfree != e->sh->ts.free_slots) {
        findings++;
        caret__report(report, cap, "arena: %u free slots, the state block says %u\n", nfree,
                      e->sh->ts.free_slots);
    }
    return findings;
}

int caret_check(caret_db *db, char *report, size_t cap)
{
    if (report == NULL || cap == 0)
        return caret__fail(CARET_E_INVALID, "caret_check: no room for a report");
    report[0] = 0;
    int rc = db_enter(db);
    if (rc == CARET_OK)
        rc = caret__writer_lock(db->e);
    if (rc != CARET_OK)
        return rc;
    struct caret__engine *e = db->e;
    uint64_t *seen = calloc(CARET__BITMAP_WORDS(e->sh->ts.npages), 8);
    unsigned findings = 0;
    if (seen != NULL) {
        findings = caret__tree_check(&e->pg, seen, report, cap);
        findings += check_space(e, seen, report, cap);
        findings += check_slots(e, report, cap);
        if (atomic_load(&e->sh->log_head) != atomic_load(&e->sh->log_applied)) {
            findings++;
            caret__report(report, cap, "log: head and applied differ under the writer mutex\n");
        }
    }
    caret__writer_unlock(e);
    if (seen == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to check %u pages", e->sh->ts.npages);
    free(seen);
    findings += (unsigned)caret__locks_check(e, report + strlen(report), cap - strlen(report));
    return findings == 0 ? CARET_OK : caret__fail(CARET_E_CORRUPT, "%s: %u findings", e->path, findings);
}

/* What the sessions of this handle have counted and not yet added up. */
static void add_unpublished(caret_db *db, caret_stats *out)
{
    pthread_mutex_lock(&db->lock);
    for (const caret_session *s = db->sessions; s != NULL; s = s->next) {
        out->gets += atomic_load_explicit(&s->counts[CARET__GETS], memory_order_relaxed);
        out->sets += atomic_load_explicit(&s->counts[CARET__SETS], memory_order_relaxed);
        out->commits += atomic_load_explicit(&s->counts[CARET__COMMITS], memory_order_relaxed);
        out->restarts += atomic_load_explicit(&s->counts[CARET__RESTARTS], memory_order_relaxed);
    }
    pthread_mutex_unlock(&db->lock);
}

int caret_stat(caret_db *db, caret_stats *out)
{
    int rc = db_enter(db);
    if (rc != CARET_OK)
        return rc;
    struct caret__shared *sh = db->e->sh;
    *out = (caret_stats){.pages = sh->ts.npages,
                         .free_pages = sh->ts.free_pages,
                         .arena_slots = atomic_load(&sh->nslots),
                         .arena_used = atomic_load(&sh->nslots) - sh->ts.free_slots,
                         .depth = sh->ts.depth,
                         .log_head = atomic_load(&sh->log_head),
                         .log_durable = atomic_load(&sh->log_durable),
                         .checkpoint_lsn = atomic_load(&sh->checkpoint_lsn),
                         .epoch = atomic_load(&sh->epoch),
                         .checkpoints = atomic_load(&sh->checkpoints),
                         .repairs = atomic_load(&sh->repairs)};
    for (uint32_t i = 0; i < sh->max_procs; i++) {
        struct caret__procslot *p = &db->e->slots[i];
        out->processes += atomic_load(&p->state) == CARET__SLOT_USED;
        out->gets += atomic_load(&p->gets);
        out->sets += atomic_load(&p->sets);
        out->commits += atomic_load(&p->commits);
        out->restarts += atomic_load(&p->restarts);
        out->lock_waits += atomic_load(&p->lock_waits);
    }
    add_unpublished(db, out);
    return CARET_OK;
}

/* ------------------------------------------------------------------ sessions */

int caret_session_open(caret_db *db, caret_session **out)
{
    if (out == NULL)
        return caret__fail(CARET_E_INVALID, "caret_session_open: no place for the result");
    *out = NULL;
    int rc = db != NULL ? db_enter(db) : CARET_OK;
    if (rc != CARET_OK)
        return rc;
    caret_session *s = calloc(1, sizeof *s);
    if (s == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for a session");
    if (db != NULL) {
        s->db = db;
        caret__session_bind(s, db->e);
        pthread_mutex_lock(&db->lock);
        db->refs++;
        s->next = db->sessions;
        if (s->next != NULL)
            s->next->prev = s;
        db->sessions = s;
        pthread_mutex_unlock(&db->lock);
    }
    *out = s;
    return CARET_OK;
}

void caret_session_close(caret_session *s)
{
    if (s == NULL)
        return;
    caret__session_stop(s);
    if (s->db != NULL) {
        pthread_mutex_lock(&s->db->lock);
        if (s->prev != NULL)
            s->prev->next = s->next;
        else
            s->db->sessions = s->next;
        if (s->next != NULL)
            s->next->prev = s->prev;
        pthread_mutex_unlock(&s->db->lock);
        caret__locker_fini(&s->locker);
        db_unref(s->db);
    }
    if (s->has_locals)
        caret__private_destroy(&s->locals);
    if (s->txn.has_buffer)
        caret__private_destroy(&s->txn.buffer);
    caret__past_destroy(&s->global);
    caret__reads_destroy(&s->txn.reads);
    caret__batch_destroy(&s->batch);
    free(s->txn.journal.data);
    free(s->out);
    free(s);
}
