/*
 * locks.c - the locks of one session on a server, as the session counts them; locks.h tells what is kept.
 *
 * A session holds few locks: names are found by going through them.
 */
#include "store/locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

size_t caret__name_find(const struct caret__names *l, const uint8_t *key, size_t len)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->name[i].key != NULL && l->name[i].len == len && memcmp(l->name[i].key, key, len) == 0)
            return i;
    return SIZE_MAX;
}

static int nomem(size_t n)
{
    return caret__fail(CARET_E_NOMEM, "no memory for %zu locks", n);
}

int caret__names_reserve(struct caret__names *l, size_t more)
{
    size_t cap = l->n + more, taken_cap = l->ntaken + more;

    if (cap > l->cap) {
        struct caret__name *name = realloc(l->name, 2 * cap * sizeof *name);
        if (name == NULL)
            return nomem(cap);
        l->name = name;
        l->cap = 2 * cap;
    }
    if (taken_cap > l->taken_cap) {
        struct caret__lock_taken *taken = realloc(l->taken, 2 * taken_cap * sizeof *taken);
        if (taken == NULL)
            return nomem(taken_cap);
        l->taken = taken;
        l->taken_cap = 2 * taken_cap;
    }
    return CARET_OK;
}

int caret__name_add(struct caret__names *l, const uint8_t *key, size_t len)
{
    uint8_t *copy = malloc(len);
    size_t i = 0;

    if (copy == NULL || caret__names_reserve(l, 1) != CARET_OK) {
        free(copy);
        return nomem(l->n + 1);
    }
    while (i < l->n && l->name[i].key != NULL)
        i++;
    l->n += i == l->n;
    memcpy(copy, key, len);
    l->name[i] = (struct caret__name){copy, len, false};
    return CARET_OK;
}

void caret__name_take(struct caret__names *l, size_t name)
{
    for (size_t i = l->ntaken; i > 0 && l->taken[i - 1].level == l->level; i--)
        if (l->taken[i - 1].name == name) {
            l->taken[i - 1].count++;
            return;
        }
    l->taken[l->ntaken++] = (struct caret__lock_taken){name, l->level, 1};
}

/* Take the record out. */
static void drop_taken(struct caret__names *l, size_t i)
{
    memmove(l->taken + i, l->taken + i + 1, (--l->ntaken - i) * sizeof *l->taken);
}

bool caret__name_release(struct caret__names *l, size_t name)
{
    for (size_t i = l->ntaken; i > 0; i--)
        if (l->taken[i - 1].name == name) {
            if (--l->taken[i - 1].count == 0)
                drop_taken(l, i - 1);
            return true;
        }
    return false;
}

void caret__names_drop(struct caret__names *l, uint64_t level, bool carry)
{
    for (; l->ntaken > 0 && l->taken[l->ntaken - 1].level >= level; l->ntaken--)
        l->name[l->taken[l->ntaken - 1].name].carried |= carry;
}

void caret__names_uncarry(struct caret__names *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->name[i].carried = false;
}

bool caret__name_idle(const struct caret__names *l, size_t name)
{
    if (l->name[name].key == NULL || l->name[name].carried)
        return false;
    for (size_t i = 0; i < l->ntaken; i++)
        if (l->taken[i].name == name)
            return false;
    return true;
}

void caret__name_forget(struct caret__names *l, size_t name)
{
    free(l->name[name].key);
    l->name[name].key = NULL;
}

bool caret__names_clear(struct caret__names *l, bool all)
{
    bool some = false;

    for (size_t i = 0; i < l->n; i++) {
        some |= l->name[i].key != NULL;
        free(l->name[i].key);
    }
    l->n = l->ntaken = 0;
    if (all) {
        free(l->name);
        free(l->taken);
        *l = (struct caret__names){.level = l->level};
    }
    return some;
}
