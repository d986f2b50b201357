/*
 * held.c - locks that were taken in a transaction.
 */
#include "m/held.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct caret_m__held *caret_m__held_new(caret_session *locks, unsigned level, const caret_node *n)
{
    size_t size = caret_node_size(n);
    struct caret_m__held *held = malloc(offsetof(struct caret_m__held, node) + size);

    if (held == NULL)
        return NULL;
    *held = (struct caret_m__held){.locks = locks, .level = level};
    if (caret_node_copy(&held->node, size, n) == CARET_OK)
        return held;
    free(held);
    return NULL;
}

void caret_m__held_add(struct caret_m__held **list, struct caret_m__held *held)
{
    held->next = *list;
    *list = held;
}

/* The one taken last; the link to it. */
static struct caret_m__held **find(struct caret_m__held **list, const caret_session *locks,
                                   const caret_node *n, bool carried)
{
    for (; *list != NULL; list = &(*list)->next)
        if ((*list)->locks == locks && (*list)->carried == carried && caret_node_equal(&(*list)->node, n))
            return list;
    return NULL;
}

static void drop(struct caret_m__held **link)
{
    struct caret_m__held *held = *link;

    *link = held->next;
    free(held);
}

bool caret_m__held_again(struct caret_m__held **list, const caret_session *locks, unsigned level,
                         const caret_node *n)
{
    struct caret_m__held **link = find(list, locks, n, true);

    if (link == NULL)
        return false;
    (*link)->carried = false;
    (*link)->level = level;
    return true;
}

void caret_m__held_drop(struct caret_m__held **list, const caret_session *locks, const caret_node *n)
{
    struct caret_m__held **link = find(list, locks, n, false);

    if (link != NULL)
        drop(link);
}

size_t caret_m__held_count(const struct caret_m__held *list, const caret_session *locks, unsigned level)
{
    size_t count = 0;

    for (; list != NULL; list = list->next)
        count += list->locks == locks && (list->carried || list->level == level);
    return count;
}

bool caret_m__held_here(struct caret_m__held *list, const caret_session *locks, unsigned level,
                        const caret_node *n)
{
    for (; list != NULL; list = list->next)
        if (list->locks == locks && (list->carried || list->level == level) &&
            caret_node_equal(&list->node, n))
            return true;
    return false;
}

/* Release and forget those of that level and above, or those carried. */
static size_t release(struct caret_m__held **list, unsigned level, bool carried)
{
    size_t count = 0;

    while (*list != NULL)
        if (carried ? (*list)->carried : (*list)->level >= level) {
            caret_session *locks = (*list)->locks;
            count += locks == NULL || caret_unlock(locks, &(*list)->node) == CARET_OK;
            drop(list);
        } else {
            list = &(*list)->next;
        }
    return count;
}

size_t caret_m__held_undo(struct caret_m__held **list, unsigned level)
{
    return release(list, level, false);
}

size_t caret_m__held_commit(struct caret_m__held **list, unsigned level)
{
    size_t count = 0;

    if (level == 1) {
        count = release(list, 0, true);
        caret_m__held_forget(list);
    }
    for (struct caret_m__held *held = *list; held != NULL; held = held->next)
        if (held->level == level)
            held->level--;
    return count;
}

void caret_m__held_carry(struct caret_m__held *list)
{
    for (; list != NULL; list = list->next) {
        list->carried = true;
        list->level = 1;
    }
}

void caret_m__held_forget(struct caret_m__held **list)
{
    while (*list != NULL)
        drop(list);
}

/* ------------------------------------------------------------------- counts */

struct counts {
    uint32_t of_name, most;
};

/* How often this process has taken the name, and the one that it has taken most.  false: it can't be told. */
static bool count_locks(caret_db *db, const caret_node *n, struct counts *counts)
{
    char name[CARET_M__NAME_ROOM];
    caret_lock_list *list;
    size_t len;

    *counts = (struct counts){0};
    if (caret_node_zwr(n, 0, name, sizeof name - 1, &len) != CARET_OK ||
        caret_locks_get(db, &list) != CARET_OK)
        return false;
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
    return true;
}

bool caret_m__is_locked(caret_db *db, const caret_node *n)
{
    struct counts counts;

    return !count_locks(db, n, &counts) || counts.of_name != 0;
}

bool caret_m__may_lock(caret_db *db, const caret_node *n, size_t taken, size_t *spare)
{
    const size_t most = CARET_M__LOCKS_MOST;
    struct counts counts;

    if (*spare == 0 && taken < most) {
        *spare = most - taken;
    } else if (*spare == 0 && count_locks(db, n, &counts)) {
        if (counts.of_name >= most)
            return false;
        *spare = counts.most < most ? most - counts.most : 1;
    }
    *spare -= *spare != 0;
    return true;
}
