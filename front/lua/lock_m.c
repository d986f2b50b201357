/*
 * lock_m.c - M's rules of locks, for databases of the module yottadb.
 *
 * A level of a transaction can't release what was taken before it: TPLOCK.  And a name is taken 511 times at most:
 * LOCKINCR2HIGH.  The engine releases what is undone; here stands what was taken in the transaction (m/held.h), and the
 * number of all.  Of other databases nothing is noted.
 */
#include "lua/binding.h"
#include "m/error.h"

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

void caret__locks_may_take(lua_State *L, struct caret__ldb *d, const caret_node *n)
{
    char name[CARET_M__NAME_ROOM];
    size_t len = 0;

    if (!d->translated || caret_m__may_lock(d->db, n, d->taken, &d->spare))
        return;
    if (caret_node_zwr(n, 0, name, sizeof name - 1, &len) != CARET_OK)
        len = 0;
    name[len] = '\0';
    caret__raise_m(L, CARET_M__E_LOCKINCR2HIGH, name);
}

static size_t taken_before(const struct caret__ldb *d)
{
    size_t here = caret_m__held_count(d->held, NULL, level_of(d));

    return level_of(d) != 0 && d->taken > here ? d->taken - here : 0;
}

int caret__locks_release(lua_State *L, struct caret__ldb *d, const caret_node *n)
{
    if (taken_before(d) != 0 && !caret_m__held_here(d->held, NULL, level_of(d), n) &&
        caret_m__is_locked(d->db, n))
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
