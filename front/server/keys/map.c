/*
 * map.c - keys that are nodes of a program's globals: map.h.
 */
#include "server/keys/map.h"

#include <stdlib.h>
#include <string.h>

#include "server/keys/pick.h"

enum { MAPS = 16, TRIES = 100 };

struct map {
    caret_slice prefix, separator;
    caret_node_buf top;
};

int serve__maps;
static struct map *maps;

static bool copy(caret_slice *to, caret_slice from)
{
    char *text = malloc(from.len + 1);
    if (text == NULL)
        return false;
    memcpy(text, from.data, from.len);
    *to = (caret_slice){text, from.len};
    return true;
}

static bool begins_with(caret_slice name, caret_slice prefix)
{
    return name.len >= prefix.len && memcmp(name.data, prefix.data, prefix.len) == 0;
}

const char *serve__map_add(caret_slice prefix, caret_slice global, caret_slice separator)
{
    struct map *grown = realloc(maps, MAPS * sizeof *maps);
    if (grown == NULL)
        return "no memory";
    maps = grown;
    if (serve__maps == MAPS)
        return "there are 16 at most";
    struct map *m = &maps[serve__maps];
    if (prefix.len == 0 || prefix.len >= SERVE__NAME_MAX)
        return "the prefix has a byte at least, and is shorter than the longest name";
    if (global.len < 2 || global.data[0] != '^' || begins_with(global, (caret_slice){"^redis", 6}) ||
        caret_node_var(&m->top.node, sizeof m->top, global.data, global.len) != CARET_OK)
        return "the second word is the name of a global, as ^user, and not one of the server's";
    if (!copy(&m->prefix, prefix) || !copy(&m->separator, separator))
        return "no memory";
    serve__maps++;
    return NULL;
}

/* ------------------------------------------------------------------ names */

static const char *find(caret_slice in, caret_slice what)
{
    return what.len > 0 && in.len > 0 ? memmem(in.data, in.len, what.data, what.len) : NULL;
}

static bool node_of(const struct map *m, caret_node_buf *n, caret_slice name)
{
    caret_slice left = {name.data + m->prefix.len, name.len - m->prefix.len};
    *n = m->top;
    for (;;) {
        const char *stop = find(left, m->separator);
        size_t len = stop != NULL ? (size_t)(stop - left.data) : left.len;
        if (caret_node_child(&n->node, sizeof *n, &n->node, left.data, len) != CARET_OK)
            return false;
        if (stop == NULL)
            return true;
        left = (caret_slice){stop + m->separator.len, left.len - len - m->separator.len};
    }
}

int serve__map_index(caret_slice name)
{
    for (int i = 0; i < serve__maps; i++)
        if (begins_with(name, maps[i].prefix))
            return i;
    return -1;
}

bool serve__mapped_node_slow(const struct serve__call *q, caret_node_buf *n, caret_slice name)
{
    int i = q->db == 0 && name.len <= SERVE__NAME_MAX ? serve__map_index(name) : -1;
    return i >= 0 && node_of(&maps[i], n, name);
}

static bool add(char *text, size_t *len, caret_slice part)
{
    if (part.len > SERVE__NAME_MAX - *len)
        return false;
    memcpy(text + *len, part.data, part.len);
    *len += part.len;
    return true;
}

/* The name of a node; CARET_NONE: it is not that of a key (M4). */
static int name_of(const struct map *m, const caret_node *n, char *text, size_t *len)
{
    char part[CARET_NODE_MAX];
    size_t part_len;
    *len = 0;
    bool fine = add(text, len, m->prefix);
    for (unsigned i = 0; fine && i < caret_node_depth(n); i++) {
        int rc = caret_node_subscript(n, i, part, sizeof part, &part_len, NULL);
        if (rc != CARET_OK)
            return rc;
        caret_slice one = {part, part_len};
        fine = (i == 0 || add(text, len, m->separator)) && find(one, m->separator) == NULL &&
               add(text, len, one);
    }
    bool alone = m->separator.len > 0 || caret_node_depth(n) == 1;
    return fine && alone && caret_node_depth(n) > 0 && serve__map_index((caret_slice){text, *len}) == m - maps
               ? CARET_OK
               : CARET_NONE;
}

/* -------------------------------------------------------------------- all */

void serve__map_base(int i, caret_node_buf *n)
{
    *n = maps[i].top;
}

static bool is_below(const caret_node *n, const caret_node *top)
{
    char a[CARET_NODE_MAX], b[CARET_NODE_MAX];
    caret_slice x = caret_node_name(n, a), y = caret_node_name(top, b);
    return x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

int serve__map_next(struct serve__call *q, int i, caret_node_buf *n, char *text, size_t *len,
                    caret_slice *value)
{
    int rc;
    while ((rc = caret_node_next_get(q->s, &n->node, value)) == CARET_OK) {
        if (!is_below(&n->node, &maps[i].top.node))
            return CARET_NONE;
        if ((rc = name_of(&maps[i], &n->node, text, len)) != CARET_NONE)
            return rc;
    }
    return rc;
}

/* Down from the top, where it ends at a node with a value, or goes on, by chance. */
static int draw(struct serve__call *q, const struct map *m, char *text, size_t *len)
{
    caret_node_buf n = m->top;
    int rc, data = 10;
    while (data == 10 || (data == 11 && serve__random(q->r) % 2 == 0)) {
        rc = caret_random_child(q->s, &n.node, serve__random(q->r));
        if (rc == CARET_OK)
            rc = caret_data(q->s, &n.node, &data);
        if (rc != CARET_OK)
            return rc;
    }
    return data == 0 ? CARET_NONE : name_of(m, &n.node, text, len);
}

int serve__map_random(struct serve__call *q, char *text, size_t *len)
{
    int rc = CARET_NONE;
    for (int tries = 0; rc == CARET_NONE && tries < TRIES; tries++)
        rc = draw(q, &maps[serve__random(q->r) % (uint64_t)serve__maps], text, len);
    return rc;
}
