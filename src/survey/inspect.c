/*
 * inspect.c - which processes have a database open, which locks are held and waited for.
 */
#include <stdlib.h>

#include "api/session.h"
#include "base/zwr.h"
#include "txn/lock_table.h"

#define NAME_MAX_TEXT 4096u /* of a lock's name as text; it is cut there */

/* A process slot's command may be changing: it is copied, and ended. */
static void copy_command(char to[32], const struct caret__procslot *p)
{
    memcpy(to, p->command, 31);
    to[31] = 0;
}

/* ---------------------------------------------------------------------- locks */

struct locks {
    struct caret__engine *e;
    caret_lock_list *list;
    size_t cap;
    int rc;
};

static char *lock_name(const struct caret__lock_info *lock)
{
    char text[NAME_MAX_TEXT];

    caret__lt_text(lock->key, lock->len, text, sizeof text);
    return strdup(text);
}

static bool add_lock(void *arg, const struct caret__lock_info *lock)
{
    struct locks *l = arg;
    caret_lock_list *list = l->list;

    if (list->count == l->cap) {
        size_t cap = l->cap * 2 + 16;
        caret_lock_info *more = realloc(list->lock, cap * sizeof *more);
        if (more == NULL) {
            l->rc = CARET_E_NOMEM;
            return false;
        }
        list->lock = more;
        l->cap = cap;
    }
    caret_lock_info *to = &list->lock[list->count];
    *to = (caret_lock_info){.name = lock_name(lock),
                            .waits = lock->waits,
                            .alive = caret__slot_alive(l->e, lock->slot, lock->nonce),
                            .pid = lock->pid,
                            .session = (uint32_t)lock->owner,
                            .count = lock->count,
                            .waiting = lock->waiting,
                            .age_ns = lock->age_ns};
    if (to->name == NULL) {
        l->rc = CARET_E_NOMEM;
        return false;
    }
    if (lock->slot < CARET__MAX_PROCS)
        copy_command(to->command, &l->e->slots[lock->slot]);
    list->count++;
    return true;
}

int caret_locks_get(caret_db *db, caret_lock_list **out)
{
    struct locks l = {.rc = CARET_OK};

    if (out == NULL)
        return caret__null(__func__, "list", "a place for the list");
    *out = NULL;
    int rc = caret__db_enter_attached(__func__, db, "locks", &l.e);
    if (rc != CARET_OK)
        return rc;
    l.list = calloc(1, sizeof *l.list);
    if (l.list != NULL) {
        l.list->size = sizeof *l.list->lock;
        rc = caret__lock_list(l.e, add_lock, &l);
    }
    if (l.list == NULL || l.rc != CARET_OK)
        rc = caret__fail(CARET_E_NOMEM, "no memory to list the locks");
    if (rc == CARET_OK)
        *out = l.list;
    else
        caret_locks_free(l.list);
    return rc;
}

void caret_locks_free(caret_lock_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        free((char *)(uintptr_t)list->lock[i].name);
    free(list->lock);
    free(list);
}

int caret_locks_clear(caret_db *db, uint64_t pid, unsigned *cleared)
{
    struct caret__engine *e;
    unsigned found = 0;
    int rc = caret__db_enter_attached(__func__, db, "locks to be cleared", &e);

    if (rc == CARET_OK)
        rc = caret__locks_bury(e, pid, &found);
    if (cleared != NULL)
        *cleared = found;
    return rc;
}

/* ------------------------------------------------------------------ processes */

static void copy_process(struct caret__engine *e, uint32_t slot, caret_process *to)
{
    const struct caret__procslot *p = &e->slots[slot];

    *to = (caret_process){.pid = atomic_load(&p->pid),
                          .alive = caret__slot_alive(e, slot, atomic_load(&p->nonce)),
                          .self = slot == e->slot,
                          .opened = atomic_load(&p->start),
                          .gets = atomic_load(&p->gets),
                          .sets = atomic_load(&p->sets),
                          .commits = atomic_load(&p->commits),
                          .restarts = atomic_load(&p->restarts),
                          .lock_waits = atomic_load(&p->lock_waits),
                          .checkpoints = atomic_load(&p->checkpoints),
                          .flushes = atomic_load(&p->flushes),
                          .repairs = atomic_load(&p->repairs),
                          .snapshot = atomic_load(&p->snap_lsn)};
    copy_command(to->command, p);
}

int caret_processes_get(caret_db *db, caret_process_list **out)
{
    struct caret__engine *e;

    if (out == NULL)
        return caret__null(__func__, "list", "a place for the list");
    *out = NULL;
    int rc = caret__db_enter_attached(__func__, db, "list of processes", &e);
    if (rc != CARET_OK)
        return rc;
    caret_process_list *list = calloc(1, sizeof *list);
    if (list != NULL)
        list->process = calloc(e->sh->max_procs, sizeof *list->process);
    if (list == NULL || list->process == NULL) {
        free(list);
        return caret__fail(CARET_E_NOMEM, "no memory to list the processes");
    }
    list->size = sizeof *list->process;
    for (uint32_t slot = 0; slot < e->sh->max_procs; slot++)
        if (atomic_load(&e->slots[slot].state) != CARET__SLOT_FREE)
            copy_process(e, slot, &list->process[list->count++]);
    *out = list;
    return CARET_OK;
}

void caret_processes_free(caret_process_list *list)
{
    if (list == NULL)
        return;
    free(list->process);
    free(list);
}
