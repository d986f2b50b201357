/*
 * lock_m.c - M's rules of locks, for databases of the module yottadb.
 *
 * A level of a transaction can't release what was taken before it: TPLOCK.  And a name is taken 511 times at most:
 * LOCKINCR2HIGH.  The engine releases what is undone; here stands what was taken in the transaction (m/held.h), and the
 * number of all.  Of other databases nothing is noted.
 */
#include <string.h>
#include <unistd.h>

#include "lua/binding.h"
#include "m/error.h"

#define MOST         511
#define NAME_MAX_ZWR 8192

static unsigned level_of(const struct caret__ldb *d)
{
    return d->translated ? d->tp.level : 0;
}

void caret__locks_undo(struct caret__ldb *d, unsigned level)
{
    d->taken -= caret_m__held_undo(&d->held, level);
}

void caret__locks_commit(struct caret__ldb *d, unsigned level)
{
    d->taken -= caret_m__held_commit(&d->held, level);
}

/* These were taken. */
static int note(struct caret__ldb *d, const caret_node *const *nodes, size_t count)
{
    unsigned level = level_of(d);

    for (size_t i = 0; i < count; i++) {
        if (level != 0 && caret_m__held_again(&d->held, NULL, level, nodes[i]))
            continue;
        struct caret_m__held *held = level != 0 ? caret_m__held_new(NULL, level, nodes[i]) : NULL;
        if (level != 0 && held == NULL)
            return CARET_E_NOMEM;
        if (held != NULL)
            caret_m__held_add(&d->held, held);
        d->taken++;
    }
    return CARET_OK;
}

int caret__locks_taken(struct caret__ldb *d, int rc, const caret_node *const *nodes, size_t count)
{
    return rc == CARET_OK && d->translated ? note(d, nodes, count) : rc;
}

struct counts {
    uint32_t of_name, most;
};

/* How often this process has taken the name, "" if it can't be told, and the one that it has taken most.  All locks
 * are looked through: it is asked before a refusal, and when one can have been taken MOST times. */
static int count_locks(const struct caret__ldb *d, const caret_node *n, char name[NAME_MAX_ZWR],
                       struct counts *counts)
{
    caret_lock_list *list;
    size_t len;

    *counts = (struct counts){0};
    if (caret_node_zwr(n, 0, name, NAME_MAX_ZWR - 1, &len) != CARET_OK ||
        caret_locks_get(d->db, &list) != CARET_OK)
        return 0;
    name[len] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const caret_lock_info *lock = &list->lock[i];
        if (lock->pid != (uint64_t)getpid() || lock->waits)
            continue;
        if (strcmp(lock->name, name) == 0)
            counts->of_name = lock->count;
        counts->most = lock->count > counts->most ? lock->count : counts->most;
    }
    caret_locks_free(list);
    return 1;
}

static int is_held(const struct caret__ldb *d, const caret_node *n)
{
    char name[NAME_MAX_ZWR];
    struct counts counts;

    return !count_locks(d, n, name, &counts) || counts.of_name != 0;
}

static void check_count(lua_State *L, struct caret__ldb *d, const caret_node *n)
{
    char name[NAME_MAX_ZWR];
    struct counts counts;

    if (d->spare == 0 && d->taken < MOST) {
        d->spare = MOST - d->taken;
    } else if (d->spare == 0 && count_locks(d, n, name, &counts)) {
        if (counts.of_name >= MOST)
            caret__raise_m(L, CARET_M__E_LOCKINCR2HIGH, name);
        d->spare = counts.most < MOST ? MOST - counts.most : 1;
    }
    d->spare -= d->spare != 0;
}

void caret__locks_may_take(lua_State *L, struct caret__ldb *d, const caret_node *n)
{
    if (d->translated)
        check_count(L, d, n);
}

static size_t taken_before(const struct caret__ldb *d)
{
    size_t here = caret_m__held_count(d->held, NULL, level_of(d));

    return level_of(d) != 0 && d->taken > here ? d->taken - here : 0;
}

int caret__locks_release(lua_State *L, struct caret__ldb *d, const caret_node *n)
{
    if (taken_before(d) != 0 && !caret_m__held_here(d->held, NULL, level_of(d), n) && is_held(d, n))
        return caret__raise_m(L, CARET_M__E_TPLOCK, "");
    caret_m__held_drop(&d->held, NULL, n);
    int rc = caret_unlock(d->s, n);
    d->taken -= rc == CARET_OK && d->taken != 0;
    return rc;
}

int caret__locks_are_apart(lua_State *L, const struct caret__ldb *d)
{
    if (!d->translated || d->barred == 0 || !caret__is_barred(d))
        return 0;
    if (d->taken != 0)
        caret__raise_m(L, CARET_M__E_TPLOCK, "");
    return 1;
}

void caret__locks_release_all(lua_State *L, struct caret__ldb *d)
{
    if (taken_before(d) != 0)
        caret__raise_m(L, CARET_M__E_TPLOCK, "");
    caret_m__held_forget(&d->held);
    d->taken = d->spare = 0;
}
