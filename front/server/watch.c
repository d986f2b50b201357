/*
 * watch.c - keys that are watched: watch.h.
 */
#include "server/watch.h"

#include <stdlib.h>

#include "server/conn.h"
#include "server/keys/key.h"
#include "server/keys/map.h"
#include "server/worker.h"

/* What a look at a key tells. */
struct look {
    bool exists, simple; /* simple: no key, or a string, so the header is all there is */
    bool stream;
};

struct serve__watched {
    struct serve__watched *next;
    uint64_t place; /* of the log */
    unsigned db;
    struct look then;
    size_t len;
    char name[];
};

static bool is_watched(const struct serve__conn *c, unsigned db, caret_slice name)
{
    for (const struct serve__watched *k = c->watched; k != NULL; k = k->next)
        if (k->db == db && k->len == name.len && memcmp(k->name, name.data, name.len) == 0)
            return true;
    return false;
}

/* The header first, then what may be below it: a key that is a collection is read whole. */
static int look(struct serve__call *q, const struct serve__watched *k, struct look *seen)
{
    struct serve__key key;
    uint64_t nodes;
    int rc = serve__key_open(q, &key, (caret_slice){k->name, k->len}, SERVE__ANY);
    seen->exists = rc == CARET_OK;
    seen->simple = rc == CARET_NONE || key.type == SERVE__STRING;
    seen->stream = rc == CARET_OK && key.type == SERVE__STREAM;
    if (rc == CARET_NONE)
        return CARET_OK;
    if (rc == CARET_OK && !seen->simple && caret_txn_level(q->s) > 0)
        rc = caret_count(q->s, &key.node.node, &nodes);
    return rc;
}

static int watch(struct serve__call *q, caret_slice name, uint64_t place)
{
    struct serve__watched *k = malloc(sizeof *k + name.len);
    if (k == NULL)
        return CARET_E_NOMEM;
    *k = (struct serve__watched){.next = q->c->watched, .place = place, .db = q->db, .len = name.len};
    memcpy(k->name, name.data, name.len);
    int rc = look(q, k, &k->then);
    if (rc != CARET_OK) {
        free(k);
        return rc;
    }
    q->c->watched = k;
    q->c->watched_bytes += sizeof *k + k->len;
    return CARET_OK;
}

int serve__cmd_watch(struct serve__call *q)
{
    uint64_t place;
    if (q->c->flags & SERVE__CONN_MULTI)
        return serve__fail(q, "ERR WATCH inside MULTI is not allowed");
    int rc = caret_durable(q->w->db, NULL, &place); /* before the first look at a key */
    for (int i = 1; rc == CARET_OK && i < q->argc; i++)
        if (!is_watched(q->c, q->db, q->argv[i]))
            rc = watch(q, q->argv[i], place);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

void serve__unwatch(struct serve__conn *c)
{
    while (c->watched != NULL) {
        struct serve__watched *k = c->watched;
        c->watched = k->next;
        free(k);
    }
    c->watched_bytes = 0;
}

int serve__cmd_unwatch(struct serve__call *q)
{
    serve__unwatch(q->c);
    return serve__ok(q);
}

unsigned serve__watched_count(const struct serve__conn *c)
{
    unsigned n = 0;
    for (const struct serve__watched *k = c->watched; k != NULL; k = k->next)
        n++;
    return n;
}

int serve__watched_flags(const struct serve__conn *c)
{
    for (const struct serve__watched *k = c->watched; k != NULL; k = k->next)
        if (!k->then.simple)
            return CARET_TXN_ALONE;
    return 0;
}

/* Is it a change of a stream's groups?  Redis counts none of these as one of the key: XREADGROUP, XACK ... */
static bool is_of_groups(const caret_node *key, const caret_node *changed)
{
    char sub[1];
    size_t len;
    unsigned at = caret_node_depth(key);
    return caret_node_depth(changed) > at &&
           caret_node_subscript(changed, at, sub, sizeof sub, &len, NULL) == CARET_OK && len == 0;
}

/* Is there a change of k, which may be at this node, in the log? */
static int read_log(const struct serve__watched *k, const caret_node *node, caret_log *log, bool *changed)
{
    caret_change change = {.size = sizeof change};
    int rc = caret_log_below(log, node);
    while (rc == CARET_OK && !*changed && (rc = caret_log_next(log, &change)) == CARET_OK)
        *changed = (k->then.exists || change.kind == CARET_CHANGE_SET) &&
                   !(k->then.stream && is_of_groups(node, change.node));
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int logged_at(struct serve__call *q, const struct serve__watched *k, const caret_node *node,
                     bool *changed)
{
    caret_log *log;
    int rc = caret_log_open(q->w->db, k->place, &log);
    if (rc == CARET_OK) {
        rc = read_log(k, node, log, changed);
        caret_log_close(log);
    }
    if (rc != CARET_E_NOTFOUND)
        return rc;
    *changed = true; /* overwritten: it may have been */
    return CARET_OK;
}

static int logged(struct serve__call *q, const struct serve__watched *k, bool *changed)
{
    caret_slice name = {k->name, k->len};
    caret_node_buf node;
    uint64_t place;
    int rc = caret_durable(q->w->db, NULL, &place);
    if (rc != CARET_OK || place == k->place)
        return rc;
    if (serve__mapped_node(q, &node, name))
        rc = logged_at(q, k, &node.node, changed);
    if (rc == CARET_OK && !*changed)
        rc = serve__key_node(q, &node, name);
    return rc == CARET_OK && !*changed ? logged_at(q, k, &node.node, changed) : rc;
}

int serve__watched_changed(struct serve__call *q, bool *changed)
{
    unsigned db = q->db;
    int rc = CARET_OK;
    *changed = false;
    for (const struct serve__watched *k = q->c->watched; rc == CARET_OK && !*changed && k != NULL;
         k = k->next) {
        struct look now;
        q->db = k->db;
        rc = look(q, k, &now);
        if (rc == CARET_OK &&
            (now.exists != k->then.exists || now.simple != k->then.simple || now.stream != k->then.stream))
            *changed = true;
        else if (rc == CARET_OK)
            rc = logged(q, k, changed);
    }
    q->db = db;
    return rc;
}
