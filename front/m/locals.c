/*
 * locals.c - copies of local variables.
 */
#include "m/locals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "m/long_table.h"

/* Of one level.  A name that has no nodes in `copy` had none. */
struct caret_m__saved {
    struct caret_m__saved *outer;
    unsigned level;
    bool all;
    unsigned count;
    char (*names)[CARET_MAX_NAME + 2];
    struct caret_m__locals copy;
};

/* --------------------------------------------------------------------- copying */

/* Copy all nodes of a variable. */
static int copy_var(caret_session *from, caret_session *to, const caret_node *var)
{
    caret_node_buf n;
    caret_slice value;
    int rc = caret_node_copy(&n.node, sizeof n, var);

    if (rc == CARET_OK)
        rc = caret_get(from, &n.node, &value);
    if (rc == CARET_NONE)
        rc = caret_node_next_get(from, &n.node, &value);
    while (rc == CARET_OK) {
        rc = caret_set(to, &n.node, value.data, value.len);
        if (rc == CARET_OK)
            rc = caret_node_next_get(from, &n.node, &value);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int copy_session(caret_session *from, caret_session *to)
{
    caret_node_buf n;
    int rc = caret_first_var(from, &n.node, sizeof n, 1);

    while (rc == CARET_OK) {
        rc = copy_var(from, to, &n.node);
        if (rc == CARET_OK)
            rc = caret_next(from, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int copy_all(const struct caret_m__locals *from, struct caret_m__locals *to)
{
    int rc = from->s == NULL ? CARET_OK
             : to->s == NULL ? caret_m__long_take(to->more, from->s)
                             : copy_session(from->s, to->s);

    return rc == CARET_OK ? caret_m__long_copy(from->more, &to->more, NULL, 0) : rc;
}

static int kill_others(caret_session *s, const caret_slice *names, size_t n)
{
    char room[CARET_MAX_NAME + 2];
    caret_node_buf var;
    int rc = caret_first_var(s, &var.node, sizeof var, 1);

    while (rc == CARET_OK) {
        caret_slice name = caret_node_name(&var.node, room);
        if (!caret_m__is_named(name.data, name.len, names, n))
            rc = caret_kill(s, &var.node);
        if (rc == CARET_OK)
            rc = caret_next(s, &var.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

int caret_m__kill_others(struct caret_m__locals *locals, const caret_slice *names, size_t n)
{
    int rc = locals->s != NULL ? kill_others(locals->s, names, n) : CARET_OK;

    caret_m__long_kill_others(locals->more, names, n);
    return rc;
}

/* ---------------------------------------------------------------------- saving */

/* What is saved for the level; made if nothing was so far. */
static int of_level(struct caret_m__saved **saved, unsigned level, struct caret_m__saved **own)
{
    *own = *saved;
    if (*own != NULL && (*own)->level == level)
        return CARET_OK;
    *own = calloc(1, sizeof **own);
    if (*own == NULL)
        return CARET_E_NOMEM;
    int rc = caret_session_open(NULL, &(*own)->copy.s);
    if (rc != CARET_OK) {
        free(*own);
        return rc;
    }
    caret_session_detach((*own)->copy.s);
    (*own)->level = level;
    (*own)->outer = *saved;
    *saved = *own;
    return CARET_OK;
}

static bool has(const struct caret_m__saved *own, const char *name, size_t len)
{
    for (unsigned i = 0; i < own->count; i++)
        if (strlen(own->names[i]) == len && memcmp(own->names[i], name, len) == 0)
            return true;
    return own->all;
}

/* Note the name, which is a valid one. */
static int note(struct caret_m__saved *own, const char *name, size_t len)
{
    void *names = realloc(own->names, (own->count + 1) * sizeof *own->names);

    if (names == NULL)
        return CARET_E_NOMEM;
    own->names = names;
    memcpy(own->names[own->count], name, len);
    own->names[own->count++][len] = '\0';
    return CARET_OK;
}

int caret_m__save(struct caret_m__saved **saved, unsigned level, const struct caret_m__locals *locals,
                  const char *name, size_t len)
{
    bool all = len == 1 && name[0] == '*';
    struct caret_m__saved *own;
    caret_node_buf var;
    int rc = all ? CARET_OK : caret_node_var(&var.node, sizeof var, name, len);

    if (rc == CARET_OK)
        rc = of_level(saved, level, &own);
    if (rc != CARET_OK || has(own, name, len))
        return rc;
    if (all) {
        own->all = true;
        return copy_all(locals, &own->copy);
    }
    rc = note(own, name, len);
    if (rc == CARET_OK && locals->s != NULL)
        rc = copy_var(locals->s, own->copy.s, &var.node);
    return rc == CARET_OK ? caret_m__long_copy(locals->more, &own->copy.more, name, len) : rc;
}

/* -------------------------------------------------------------------- restoring */

static int kill(struct caret_m__locals *locals, const char *name)
{
    caret_node_buf var;
    int rc = caret_node_var(&var.node, sizeof var, name, strlen(name));

    caret_m__long_kill_var(locals->more, name, strlen(name));
    return rc == CARET_OK && locals->s != NULL ? caret_kill(locals->s, &var.node) : rc;
}

static int restore_level(const struct caret_m__saved *own, struct caret_m__locals *locals)
{
    int rc = own->all ? caret_m__kill_others(locals, NULL, 0) : CARET_OK;

    for (unsigned i = 0; rc == CARET_OK && i < own->count; i++)
        rc = kill(locals, own->names[i]);
    return rc == CARET_OK ? copy_all(&own->copy, locals) : rc;
}

int caret_m__restore(const struct caret_m__saved *saved, unsigned level, struct caret_m__locals *locals)
{
    int rc = CARET_OK;

    for (; rc == CARET_OK && saved != NULL && saved->level >= level; saved = saved->outer)
        rc = restore_level(saved, locals);
    return rc;
}

void caret_m__forget(struct caret_m__saved **saved, unsigned level)
{
    while (*saved != NULL && (*saved)->level >= level) {
        struct caret_m__saved *own = *saved;
        *saved = own->outer;
        caret_session_close(own->copy.s);
        caret_m__long_free(own->copy.more);
        free(own->names);
        free(own);
    }
}
