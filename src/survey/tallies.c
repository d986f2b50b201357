/*
 * tallies.c - what was counted by key: where transactions collide, which globals are read.
 */
#include <stdlib.h>

#include "api/session.h"
#include "base/zwr.h"
#include "shm/tally.h"

static char *name_of(const struct caret__tallied *t)
{
    size_t len = 0;

    caret__zwr_put_key(t->key, t->len, false, true, NULL, 0, &len);
    char *text = malloc(len + 1);
    if (text != NULL && caret__zwr_put_key(t->key, t->len, false, true, text, len, &len) == CARET_OK)
        text[len] = '\0';
    return text;
}

/* ----------------------------------------------------------------- collisions */

/* The same node may have two places, if two processes came with it at once: then it is told once. */
static int add_collision(caret_collision_list *list, const struct caret__tallied *c)
{
    char *name = name_of(c);
    size_t i = 0;

    if (name == NULL)
        return CARET_E_NOMEM;
    while (i < list->count && strcmp(list->collision[i].name, name) != 0)
        i++;
    caret_collision *to = &list->collision[i];
    if (i < list->count) {
        free(name);
        to->count += c->count;
        to->above &= c->above;
        return CARET_OK;
    }
    *to = (caret_collision){name, c->above, c->count, c->time, c->pid};
    list->count++;
    return CARET_OK;
}

static int by_restarts(const void *a, const void *b)
{
    const caret_collision *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int list_collisions(const struct caret__shared *sh, caret_collision_list *list)
{
    struct caret__tallied c;
    int rc = CARET_OK;

    list->size = sizeof *list->collision;
    for (uint32_t i = 0; i < CARET__COLLISIONS && rc == CARET_OK; i++)
        if (caret__tally_read(&sh->collisions[i], &c))
            rc = add_collision(list, &c);
    qsort(list->collision, list->count, sizeof *list->collision, by_restarts);
    return rc;
}

int caret_collisions_get(caret_db *db, caret_collision_list **out)
{
    struct caret__engine *e;

    if (out == NULL)
        return caret__null(__func__, "list", "a place for the list");
    *out = NULL;
    int rc = caret__db_enter_attached(__func__, db, "list of collisions", &e);
    if (rc != CARET_OK)
        return rc;
    caret_collision_list *list = calloc(1, sizeof *list);
    if (list != NULL)
        list->collision = calloc(CARET__COLLISIONS, sizeof *list->collision);
    if (list == NULL || list->collision == NULL || list_collisions(e->sh, list) != CARET_OK) {
        caret_collisions_free(list);
        return caret__fail(CARET_E_NOMEM, "no memory to list the collisions");
    }
    *out = list;
    return CARET_OK;
}

void caret_collisions_free(caret_collision_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        free((char *)(uintptr_t)list->collision[i].name);
    free(list->collision);
    free(list);
}

/* ------------------------------------------------------------------- readings */

static int add_reading(caret_reading_list *list, const struct caret__tallied *t)
{
    char *name = name_of(t);
    size_t i = 0;

    if (name == NULL)
        return CARET_E_NOMEM;
    while (i < list->count && strcmp(list->reading[i].name, name) != 0)
        i++;
    caret_reading *to = &list->reading[i];
    if (i < list->count) {
        free(name);
        to->gets += t->count;
        return CARET_OK;
    }
    *to = (caret_reading){name, t->count, t->time, t->pid};
    list->count++;
    return CARET_OK;
}

static int by_gets(const void *a, const void *b)
{
    const caret_reading *x = a, *y = b;

    if (x->gets != y->gets)
        return x->gets > y->gets ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int list_readings(const struct caret__shared *sh, caret_reading_list *list)
{
    struct caret__tallied t;
    int rc = CARET_OK;

    list->size = sizeof *list->reading;
    for (uint32_t i = 0; i < CARET__GLOBALS_READ && rc == CARET_OK; i++)
        if (caret__tally_read(&sh->globals_read[i], &t))
            rc = add_reading(list, &t);
    qsort(list->reading, list->count, sizeof *list->reading, by_gets);
    return rc;
}

int caret_readings_get(caret_db *db, caret_reading_list **out)
{
    struct caret__engine *e;

    if (out == NULL)
        return caret__null(__func__, "list", "a place for the list");
    *out = NULL;
    int rc = caret__db_enter_attached(__func__, db, "list of globals that are read", &e);
    if (rc != CARET_OK)
        return rc;
    caret_reading_list *list = calloc(1, sizeof *list);
    if (list != NULL)
        list->reading = calloc(CARET__GLOBALS_READ, sizeof *list->reading);
    if (list == NULL || list->reading == NULL || list_readings(e->sh, list) != CARET_OK) {
        caret_readings_free(list);
        return caret__fail(CARET_E_NOMEM, "no memory to list the globals that are read");
    }
    *out = list;
    return CARET_OK;
}

void caret_readings_free(caret_reading_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++)
        free((char *)(uintptr_t)list->reading[i].name);
    free(list->reading);
    free(list);
}
