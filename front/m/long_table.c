/*
 * long_table.c - local variables that somebody else keeps, seen as the list of long.h.
 *
 * A key becomes an address, `seek` of the table finds another one, and that becomes a key: what is asked of the list is
 * answered by comparing the two.
 */
#include "m/long_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/key.h"

struct address {
    caret_slice part[CARET_MAX_SUBS + 1];
    size_t count;
    char *texts;
};

/* Numbers are shorter in keys than as texts, by less than that. */
#define LONGER 64u

static int read_key(struct address *a, const struct caret_m__key *k)
{
    size_t cap = k->len + CARET_MAX_SUBS * LONGER, used = 0;
    unsigned depth = k->len != 0 ? caret_m__key_depth(k) : 0;

    *a = (struct address){.texts = malloc(cap)};
    if (a->texts == NULL)
        return CARET_E_NOMEM;
    if (k->len == 0)
        return CARET_OK;
    a->part[a->count++] = (caret_slice){(const char *)k->bytes, caret_m__key_after_name(k->bytes) - 1};
    for (unsigned i = 0; i < depth; i++) {
        caret_slice *sub = &a->part[a->count++];
        sub->data = a->texts + used;
        int rc = caret_m__key_sub(k, i, a->texts + used, cap - used, &sub->len);
        if (rc != CARET_OK) {
            free(a->texts);
            return rc;
        }
        used += sub->len;
    }
    return CARET_OK;
}

static int write_key(struct caret_m__key *k, const caret_slice *part, size_t count)
{
    int rc = caret_m__key_var(k, part->data, part->len);

    for (size_t i = 1; rc == CARET_OK && i < count; i++)
        rc = caret_m__key_child(k, part[i].data, part[i].len);
    return rc;
}

/* What is found from there, as a key of its own: to be freed in any case. */
static int seek(const caret_locals *t, const struct caret_m__key *k, int place, bool back,
                struct caret_m__key *found)
{
    caret_slice part[CARET_MAX_SUBS + 1];
    struct address a;
    size_t count;
    int rc = read_key(&a, k);

    *found = (struct caret_m__key){0};
    if (rc != CARET_OK)
        return rc;
    rc = t->seek(t->who, a.part, a.count, place, back, part, &count);
    free(a.texts);
    return rc == CARET_OK ? write_key(found, part, count) : rc;
}

static bool begins(const struct caret_m__key *found, const struct caret_m__key *k, size_t n)
{
    return found->len >= n && memcmp(found->bytes, k->bytes, n) == 0;
}

/* k becomes the first n bytes of another key, which is freed. */
static int become(struct caret_m__key *k, struct caret_m__key *found, size_t n)
{
    k->len = 0;
    int rc = caret_m__key_append(k, found->bytes, n);

    caret_m__key_free(found);
    return rc;
}

static int none(struct caret_m__key *found, int rc)
{
    caret_m__key_free(found);
    return rc != CARET_OK ? rc : CARET_NONE;
}

/* ---------------------------------------------------------------------- nodes */

int caret_m__table_get(const caret_locals *t, const struct caret_m__key *k, caret_slice *value)
{
    struct address a;
    int rc = read_key(&a, k);

    if (rc != CARET_OK)
        return rc;
    rc = t->get(t->who, a.part, a.count, value);
    free(a.texts);
    return rc;
}

int caret_m__table_set(const caret_locals *t, const struct caret_m__key *k, const char *value, size_t len)
{
    struct address a;
    int rc = read_key(&a, k);

    if (rc != CARET_OK)
        return rc;
    rc = t->set(t->who, a.part, a.count, (caret_slice){value, len});
    free(a.texts);
    return rc;
}

void caret_m__table_kill(const caret_locals *t, const struct caret_m__key *k, bool tree)
{
    struct address a;

    if (read_key(&a, k) != CARET_OK)
        return;
    t->kill(t->who, a.part, a.count, tree);
    free(a.texts);
}

unsigned caret_m__table_data(const caret_locals *t, const struct caret_m__key *k)
{
    struct caret_m__key found;
    unsigned data = 0;

    if (seek(t, k, CARET_AT, false, &found) == CARET_OK && begins(&found, k, k->len))
        data = found.len == k->len ? 1 : 10;
    caret_m__key_free(&found);
    if (data != 1)
        return data;
    if (seek(t, k, CARET_AFTER, false, &found) == CARET_OK && begins(&found, k, k->len))
        data = 11;
    caret_m__key_free(&found);
    return data;
}

/* --------------------------------------------------------------------- moving */

static int next_name(const caret_locals *t, struct caret_m__key *k, bool back)
{
    struct caret_m__key found;
    int rc = seek(t, k, back ? CARET_AT : CARET_BEYOND, back, &found);

    return rc == CARET_OK ? become(k, &found, caret_m__key_after_name(found.bytes)) : none(&found, rc);
}

int caret_m__table_sibling(const caret_locals *t, struct caret_m__key *k, bool back)
{
    unsigned depth = caret_m__key_depth(k);
    struct caret_m__key found;

    if (depth == 0)
        return next_name(t, k, back);
    size_t parent = caret_m__key_offset(k, depth - 1);
    bool last = back && k->bytes[parent] == CARET__SUB_EMPTY; /* from beyond the last */
    if (last)
        k->len = parent;
    int rc = seek(t, k, back && !last ? CARET_AT : CARET_BEYOND, back, &found);
    if (rc != CARET_OK || !begins(&found, k, parent) || found.len == parent ||
        (back && found.bytes[parent] == CARET__SUB_EMPTY))
        return none(&found, rc);
    return become(k, &found, caret_m__key_after_sub(found.bytes, found.len, parent));
}

int caret_m__table_step(const caret_locals *t, struct caret_m__key *k, bool back)
{
    struct caret_m__key found;
    int rc = seek(t, k, back ? CARET_AT : CARET_AFTER, back, &found);

    if (rc != CARET_OK || !begins(&found, k, caret_m__key_after_name(k->bytes)))
        return none(&found, rc);
    return become(k, &found, found.len);
}

/* ------------------------------------------------------------------ variables */

/* One after the other, from k on; of those that begin with n bytes of it. */
static int copy_each(const caret_locals *t, struct caret_m__key *k, size_t n, struct caret_m__long *to)
{
    struct caret_m__key found;
    caret_slice value;
    int rc, place = CARET_AT;

    while ((rc = seek(t, k, place, false, &found)) == CARET_OK && begins(&found, k, n)) {
        rc = become(k, &found, found.len);
        if (rc == CARET_OK)
            rc = caret_m__table_get(t, k, &value);
        if (rc == CARET_OK)
            rc = caret_m__long_set(to, k, value.data, value.len);
        if (rc != CARET_OK)
            return rc;
        place = CARET_AFTER;
    }
    caret_m__key_free(&found);
    return rc == CARET_NONE ? CARET_OK : rc;
}

int caret_m__table_copy(const caret_locals *t, struct caret_m__long **to, const char *name, size_t len)
{
    struct caret_m__key k = {0};
    int rc = caret_m__long_make(to);

    if (rc == CARET_OK && name != NULL)
        rc = caret_m__key_var(&k, name, len);
    if (rc == CARET_OK)
        rc = copy_each(t, &k, k.len, *to);
    caret_m__key_free(&k);
    return rc;
}

bool caret_m__is_named(const void *name, size_t len, const caret_slice *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (names[i].len == len && memcmp(names[i].data, name, len) == 0)
            return true;
    return false;
}

void caret_m__table_kill_others(const caret_locals *t, const caret_slice *names, size_t n)
{
    struct caret_m__key k = {0};
    int rc = caret_m__key_var(&k, "%", 1); /* the first name that there can be */

    if (rc == CARET_OK && caret_m__table_data(t, &k) == 0)
        rc = next_name(t, &k, false);
    while (rc == CARET_OK) {
        if (!caret_m__is_named(k.bytes, k.len - 1, names, n))
            caret_m__table_kill(t, &k, true);
        rc = next_name(t, &k, false);
    }
    caret_m__key_free(&k);
}

/* ------------------------------------------------------------------- sessions */

int caret_m__long_take_var(struct caret_m__long *list, caret_session *s, const caret_node *var)
{
    struct caret_m__key k = {0};
    caret_node_buf n;
    caret_slice value;
    int rc = caret_node_copy(&n.node, sizeof n, var);

    if (rc == CARET_OK)
        rc = caret_get(s, &n.node, &value);
    if (rc == CARET_NONE)
        rc = caret_node_next_get(s, &n.node, &value);
    while (rc == CARET_OK) {
        rc = caret_m__key_node(&k, &n.node);
        if (rc == CARET_OK)
            rc = caret_m__long_set(list, &k, value.data, value.len);
        if (rc == CARET_OK)
            rc = caret_node_next_get(s, &n.node, &value);
    }
    caret_m__key_free(&k);
    return rc == CARET_NONE ? CARET_OK : rc;
}

int caret_m__long_take(struct caret_m__long *list, caret_session *s)
{
    caret_node_buf n;
    int rc = caret_first_var(s, &n.node, sizeof n, 1);

    while (rc == CARET_OK) {
        rc = caret_m__long_take_var(list, s, &n.node);
        if (rc == CARET_OK)
            rc = caret_next(s, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}
