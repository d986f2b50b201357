/*
 * many.c - the values of many nodes at once.
 *
 *   prefetch   sixteen at a time: those whose hints hold have their entries asked for,
 *              the others are looked for in step (tree/many.c), and get hints
 *   get        caret_get() of each, which now finds them by their hints
 *
 * All that counts is read by caret_get(): a transaction's own changes and its read set,
 * locals, long values, snapshots, views that are overtaken.  The prefetch adds hints only,
 * and a hint is believed only while the version of its page is the one in it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/session.h"
#include "tree/many.h"

#define COUNT_MAX ((size_t)PTRDIFF_MAX / sizeof(caret_slice)) /* of an array that memory can hold */

__attribute__((cold)) static int not_a_node(const char *function, const caret_node *n, size_t i)
{
    char argument[40];

    snprintf(argument, sizeof argument, "nodes[%zu]", i);
    return caret__not_a_node(function, argument, n);
}

static int check_nodes(const char *function, caret_session *s, caret_node *const *nodes, size_t count)
{
    if (s == NULL)
        return caret__null(function, "s", "a session");
    if (nodes == NULL && count != 0)
        return caret__null(function, "nodes", "an array of nodes");
    if (count > COUNT_MAX)
        return caret__fail(CARET_E_INVALID, "%s: count is %zu: there can't be so many nodes", function,
                           count);
    for (size_t i = 0; i < count; i++)
        if (!caret__node_ok(nodes[i]))
            return not_a_node(function, nodes[i], i);
    return CARET_OK;
}

/* Does the node's hint hold?  Then its entry is asked for. */
static inline bool is_known(const struct caret__view *v, const struct caret__node *n)
{
    const struct caret__hint *h = &n->hint;
    struct caret__at at;

    if (h->version == 0 || h->found == CARET__HINT_LEAF || h->owner != v->pg->id ||
        !caret__at_recall(v, &at, h->pgno, h->version))
        return false;
    if (h->found)
        caret__page_ask_entry(at.page, h->pos);
    return true;
}

static void prefetch_some(caret_session *s, caret_node *const *nodes, size_t count)
{
    struct caret__view *v = &s->global;
    struct caret__lane lane[CARET__LANES];
    struct caret__node *of[CARET__LANES];
    unsigned n = 0;

    for (size_t i = 0; i < count; i++) {
        struct caret__node *node = caret__node(nodes[i]);
        if (node->local || is_known(v, node))
            continue;
        lane[n].key = caret__node_key(node);
        lane[n].len = node->key_len;
        of[n++] = node;
    }
    if (n == 0)
        return;
    caret__seek_many(v, lane, n);
    for (unsigned i = 0; i < n; i++) {
        const struct caret__at *at = &lane[i].at;
        if (lane[i].there)
            of[i]->hint =
                (struct caret__hint){at->version, v->pg->id, at->pgno, (uint16_t)at->pos, at->found};
    }
}

/* Those of the nodes that are globals, if the session can read them as they are: else caret_get() says why not. */
static void prefetch(caret_session *s, caret_node *const *nodes, size_t count)
{
    if (s->e == NULL || s->guarded || caret__session_enter_read(s) != CARET_OK ||
        caret__session_saw(s, CARET_OK) != CARET_OK)
        return;
    prefetch_some(s, nodes, count);
}

int caret_prefetch(caret_session *s, caret_node *const *nodes, size_t count)
{
    int rc = check_nodes(__func__, s, nodes, count);

    for (size_t i = 0; rc == CARET_OK && i < count; i += CARET__LANES)
        prefetch(s, nodes + i, caret__min(count - i, CARET__LANES));
    return rc;
}

/* Put a value behind `used` bytes of the session's. */
static int keep(caret_session *s, size_t used, const caret_slice *value)
{
    if (used + value->len + 1 > s->many_cap) {
        size_t cap = used + value->len + (used + value->len) / 2 + 1024;
        uint8_t *many = realloc(s->many, cap);
        if (many == NULL)
            return caret__fail(CARET_E_NOMEM, "no memory for values of %zu bytes", used + value->len);
        s->many = many;
        s->many_cap = cap;
    }
    if (value->len != 0)
        caret__racy_copy_value(s->many + used, value->data, value->len);
    return CARET_OK;
}

/* The values of some nodes: their lengths, SIZE_MAX for none. */
static int get_some(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values,
                    size_t *used)
{
    prefetch(s, nodes, count);
    for (size_t i = 0; i < count; i++) {
        caret_slice value;
        int rc = caret_get(s, nodes[i], &value);
        if (rc == CARET_OK)
            rc = keep(s, *used, &value);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        values[i].len = rc == CARET_OK ? value.len : SIZE_MAX;
        *used += rc == CARET_OK ? value.len : 0;
    }
    return CARET_OK;
}

int caret_get_many(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values)
{
    int rc = check_nodes(__func__, s, nodes, count);
    size_t used = 0;

    if (rc == CARET_OK && values == NULL && count != 0)
        rc = caret__null(__func__, "values", "an array for the values");
    for (size_t i = 0; rc == CARET_OK && i < count; i += CARET__LANES)
        rc = get_some(s, nodes + i, caret__min(count - i, CARET__LANES), values + i, &used);
    if (rc != CARET_OK)
        return rc;
    const char *at = (const char *)s->many; /* it has moved while it grew */
    for (size_t i = 0; i < count; i++) {
        bool none = values[i].len == SIZE_MAX;
        values[i] = (caret_slice){none ? NULL : at, none ? 0 : values[i].len};
        at += values[i].len;
    }
    return CARET_OK;
}
