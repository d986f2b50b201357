/*
 * tracking_prefix.c - clients that hear of all keys of a prefix (BCAST): tracking.h.
 *
 * What changes in a turn is told at its end: one message a client and prefix, of all keys in order.
 */
#include <stdlib.h>

#include "server/meet/tracking.h"

/* A key that changed: this, and its bytes. */
struct changed {
    uint64_t writer; /* number of a client; 0: none of ours */
    uint32_t len;
};

struct prefix {
    struct serve__tracking **t;
    uint32_t n, cap, nkeys;
    struct serve__buffer keys;
    size_t len;
    char *name;
};

static struct prefix *prefix;
static uint32_t nprefixes, cap;

static int order(caret_slice a, caret_slice b)
{
    int rc = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return rc != 0 ? rc : (a.len > b.len) - (a.len < b.len);
}

static bool wants(const struct prefix *p, const struct serve__tracking *t)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->t[i] == t)
            return true;
    return false;
}

bool serve__prefix_at(uint32_t i, const struct serve__tracking *t, caret_slice *name)
{
    if (i >= nprefixes)
        return false;
    *name = (caret_slice){t == NULL || wants(&prefix[i], t) ? prefix[i].name : NULL, prefix[i].len};
    return true;
}

/* ---------------------------------------------------------- begin and end */

/* Those of a name; made if there are none.  NULL: no memory. */
static struct prefix *prefix_of(struct serve__worker *w, caret_slice name)
{
    uint32_t i = 0;
    while (i < nprefixes && order((caret_slice){prefix[i].name, prefix[i].len}, name) < 0)
        i++;
    if (i < nprefixes && order((caret_slice){prefix[i].name, prefix[i].len}, name) == 0)
        return &prefix[i];
    if (nprefixes == cap) {
        uint32_t more = cap > 0 ? 2 * cap : 8;
        struct prefix *grown = realloc(prefix, more * sizeof *grown);
        if (grown == NULL)
            return NULL;
        prefix = grown;
        cap = more;
    }
    char *copy = malloc(name.len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, name.data, name.len);
    memmove(&prefix[i + 1], &prefix[i], (nprefixes - i) * sizeof *prefix);
    prefix[i] = (struct prefix){.name = copy, .len = name.len};
    w->stats->tracked_prefixes = ++nprefixes;
    return &prefix[i];
}

static void end_unwanted(struct serve__worker *w)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < nprefixes; i++) {
        if (prefix[i].n > 0) {
            prefix[kept++] = prefix[i];
            continue;
        }
        serve__buffer_free(&prefix[i].keys);
        free(prefix[i].t);
        free(prefix[i].name);
    }
    w->stats->tracked_prefixes = nprefixes = kept;
}

bool serve__prefix_add(struct serve__worker *w, struct serve__tracking *t, caret_slice name)
{
    struct prefix *p = prefix_of(w, name);
    if (p == NULL || wants(p, t))
        return p != NULL;
    if (p->n == p->cap) {
        uint32_t more = p->cap > 0 ? 2 * p->cap : 4;
        struct serve__tracking **grown = realloc(p->t, more * sizeof(struct serve__tracking *));
        if (grown == NULL) {
            end_unwanted(w);
            return false;
        }
        p->t = grown;
        p->cap = more;
    }
    p->t[p->n++] = t;
    t->prefix_bytes += sizeof(struct prefix) + name.len;
    return true;
}

void serve__prefixes_end(struct serve__worker *w, const struct serve__tracking *t)
{
    for (uint32_t i = 0; i < nprefixes; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < prefix[i].n; k++)
            if (prefix[i].t[k] != t)
                prefix[i].t[kept++] = prefix[i].t[k];
        prefix[i].n = kept;
    }
    end_unwanted(w);
}

/* ---------------------------------------------------------------- changes */

void serve__prefixes_changed(struct serve__worker *w, caret_slice key, const struct serve__conn *writer)
{
    struct changed e = {writer != NULL ? writer->id : 0, (uint32_t)key.len};
    (void)w;
    for (uint32_t i = 0; i < nprefixes; i++) {
        struct prefix *p = &prefix[i];
        if (key.len < p->len || memcmp(key.data, p->name, p->len) != 0 ||
            !serve__buffer_room(&p->keys, sizeof e + key.len))
            continue;
        serve__buffer_add(&p->keys, &e, sizeof e);
        serve__buffer_add(&p->keys, key.data, key.len);
        p->nkeys++;
    }
}

struct told {
    caret_slice name;
    uint64_t writer;
};

/* By name; of the same name the first change is the first. */
static int by_name(const void *a, const void *b)
{
    const struct told *x = a, *y = b;
    int rc = order(x->name, y->name);
    return rc != 0 ? rc : (x->name.data > y->name.data) - (x->name.data < y->name.data);
}

/* The keys that changed, each once: an array to be freed; NULL: no memory. */
static struct told *told_of(const struct prefix *p, uint32_t *n)
{
    struct told *list = malloc((p->nkeys + 1) * sizeof *list);
    uint32_t found = 0, kept = 0;
    for (size_t at = 0; list != NULL && at < p->keys.len;) {
        struct changed e;
        memcpy(&e, p->keys.data + at, sizeof e);
        at += sizeof e;
        list[found++] = (struct told){{p->keys.data + at, e.len}, e.writer};
        at += e.len;
    }
    if (found > 1)
        qsort(list, found, sizeof *list, by_name);
    for (uint32_t i = 0; i < found; i++)
        if (kept == 0 || order(list[kept - 1].name, list[i].name) != 0)
            list[kept++] = list[i];
    *n = kept;
    return list;
}

/* All keys but those that `without` has written. */
static void send_list(struct serve__worker *w, struct serve__tracking *t, const struct told *list, uint32_t n,
                      uint64_t without)
{
    struct serve__buffer b = {0};
    unsigned told = 0;
    for (uint32_t i = 0; i < n; i++)
        if (without == 0 || list[i].writer != without) {
            serve__track_text(&b, list[i].name);
            told++;
        }
    if (b.failed)
        serve__track_send(w, t, 0, (caret_slice){NULL, 0});
    else if (told > 0)
        serve__track_send(w, t, told, (caret_slice){b.data, b.len});
    serve__buffer_free(&b);
}

static void send_prefix(struct serve__worker *w, struct prefix *p)
{
    uint32_t n = 0;
    struct told *list = p->keys.failed ? NULL : told_of(p, &n);
    for (uint32_t i = 0; i < p->n; i++) {
        struct serve__tracking *t = p->t[i];
        if (list == NULL) /* no memory: all may have changed */
            serve__track_send(w, t, 0, (caret_slice){NULL, 0});
        else
            send_list(w, t, list, n, t->how & SERVE__TRACK_NOLOOP ? t->c->id : 0);
    }
    free(list);
    serve__buffer_free(&p->keys);
    p->keys = (struct serve__buffer){0};
    p->nkeys = 0;
}

void serve__prefixes_send(struct serve__worker *w)
{
    for (uint32_t i = 0; i < nprefixes; i++)
        if (prefix[i].nkeys > 0 || prefix[i].keys.failed)
            send_prefix(w, &prefix[i]);
}
