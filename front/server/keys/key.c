/*
 * key.c - keys as nodes: headers, long names, expiry.  key.h has the layout.
 */
#include "server/keys/key.h"

#include <stdio.h>
#include <string.h>

#include "server/event.h"
#include "server/keys/access.h"
#include "server/keys/expire.h"
#include "server/keys/inner.h"
#include "server/keys/little.h"
#include "server/keys/map.h"
#include "server/sha256.h"
#include "server/worker.h"

const char *serve__type_name(enum serve__type type)
{
    switch (type) {
    case SERVE__STRING: return "string";
    case SERVE__LIST: return "list";
    case SERVE__SETTYPE: return "set";
    case SERVE__ZSET: return "zset";
    case SERVE__HASH: return "hash";
    case SERVE__STREAM: return "stream";
    case SERVE__ANY: break;
    }
    return "none";
}

/* ------------------------------------------------------------------ names */

bool serve__key_is_long(caret_slice name)
{
    return name.len > SERVE__NAME_MAX || (name.len >= 2 && memcmp(name.data, "\xffK", 2) == 0);
}

static void hashed(char subscript[SERVE__HASHED], caret_slice name)
{
    memcpy(subscript, "\xffK", 2);
    serve__sha256((unsigned char *)subscript + 2, name.data, name.len);
}

caret_node *serve__key_first(struct serve__call *q, int *rc)
{
    const struct serve__ahead *a = q->ahead;
    *rc = CARET_OK;
    if (a != NULL && a->argv == q->argv && a->db == q->db && a->node != NULL)
        return a->node;
    *rc = serve__key_node(q, &q->r->first, q->argv[1]);
    return &q->r->first.node;
}

int serve__key_node(struct serve__call *q, caret_node_buf *node, caret_slice name)
{
    const caret_node *base = &q->r->base[q->db].node;
    if (q->w->access != NULL)
        serve__access_note(q, name);
    if (!serve__key_is_long(name))
        return caret_node_child(&node->node, sizeof *node, base, name.data, name.len);
    char subscript[SERVE__HASHED];
    hashed(subscript, name);
    return caret_node_child(&node->node, sizeof *node, base, subscript, sizeof subscript);
}

/* ----------------------------------------------------------------- header */

static void store(struct serve__buffer *b, uint64_t n, unsigned bytes)
{
    serve__store(b->data + b->len, n, bytes);
    b->len += bytes;
}

static int damaged(void)
{
    return CARET_E_CORRUPT;
}

/* Take `bytes` bytes from the front of what is left. */
static const unsigned char *take(caret_slice *left, size_t bytes)
{
    if (left->len < bytes)
        return NULL;
    const unsigned char *at = (const unsigned char *)left->data;
    left->data += bytes;
    left->len -= bytes;
    return at;
}

/* The name that the header of a long key holds: it must be ours; *name gets it if that is NULL. */
static int read_name(struct serve__key *k, caret_slice *left)
{
    const unsigned char *at = take(left, 4);
    size_t len = at != NULL ? serve__load(at, 4) : 0;
    const char *name = at != NULL ? (const char *)take(left, len) : NULL;
    if (name == NULL)
        return damaged();
    if (k->name.data == NULL)
        k->name = (caret_slice){name, len};
    return k->name.len == len && memcmp(k->name.data, name, len) == 0 ? CARET_OK : damaged();
}

/* Read the header `value` into k. */
static int read_header(struct serve__key *k, caret_slice value)
{
    caret_slice left = value;
    const unsigned char *at = take(&left, 3);
    if (at == NULL || memchr("slezhx", at[1], 6) == NULL)
        return damaged();
    k->type = (enum serve__type)at[1];
    k->flags = at[2];
    if (k->flags & SERVE__HEAD_EXPIRES) {
        if ((at = take(&left, 8)) == NULL)
            return damaged();
        k->expiry = (int64_t)serve__load(at, 8);
    }
    if (k->type != SERVE__STRING) {
        if ((at = take(&left, 8)) == NULL)
            return damaged();
        k->count = serve__load(at, 8);
    }
    if (k->flags & SERVE__HEAD_LONG) {
        int rc = read_name(k, &left);
        if (rc != CARET_OK)
            return rc;
    }
    if (k->type == SERVE__STRING) {
        k->value = left;
        return CARET_OK;
    }
    if (left.len > SERVE__STATE_MAX)
        return damaged();
    k->state_len = left.len;
    memcpy(k->state, left.data, left.len);
    return CARET_OK;
}

/* The header of k, without what comes after it, to the runner's scratch buffer. */
static struct serve__buffer *write_header(struct serve__call *q, struct serve__key *k, size_t more)
{
    struct serve__buffer *b = &q->r->scratch;
    b->len = 0;
    if (!serve__buffer_room(b, 24 + k->name.len + more))
        return NULL;
    bool lengthy = serve__key_is_long(k->name);
    k->flags =
        (k->flags & ~3u) | (k->expiry != 0 ? SERVE__HEAD_EXPIRES : 0u) | (lengthy ? SERVE__HEAD_LONG : 0u);
    store(b, SERVE__HEAD_MARK, 1);
    store(b, (uint64_t)k->type, 1);
    store(b, k->flags, 1);
    if (k->expiry != 0)
        store(b, (uint64_t)k->expiry, 8);
    if (k->type != SERVE__STRING)
        store(b, k->count, 8);
    if (lengthy) {
        store(b, k->name.len, 4);
        serve__buffer_add(b, k->name.data, k->name.len);
    }
    return b;
}

int serve__key_put_header(struct serve__call *q, struct serve__key *k, const void *rest, size_t len)
{
    struct serve__buffer *b = write_header(q, k, len);
    if (b == NULL)
        return CARET_E_NOMEM;
    serve__buffer_add(b, rest, len);
    return caret_set(q->s, &k->node.node, b->data, b->len);
}

/* ---------------------------------------------------------------- opening */

void serve__key_nothing(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    k->name = name;
    k->type = SERVE__ANY;
    k->flags = 0;
    k->db = q->db;
    k->exists = false;
    k->mapped = false;
    k->counted = true;
    k->count = 0;
    k->expiry = 0;
    k->state_len = 0;
    k->value = (caret_slice){NULL, 0};
}

/* It begins as a header does, and is not one. */
static int tell_damage(struct serve__call *q, const caret_node *n)
{
    char node[200];
    size_t len;
    if (q->reply == NULL) /* nobody asked */
        return damaged();
    if (caret_node_zwr(n, 1, node, sizeof node, &len) != CARET_OK)
        len = 0;
    return serve__fail(
        q,
        "ERR the value of node %.*s begins with byte C1, as what the server writes, and is not of "
        "the server: SET another, or kill the node with `caret kill`",
        (int)len, node);
}

/* What the value that was found at n says. */
int serve__key_read_value(struct serve__call *q, struct serve__key *k, const caret_node *n, caret_slice value)
{
    k->exists = true;
    if (value.len > 0 && (unsigned char)value.data[0] == SERVE__HEAD_MARK) {
        int rc = read_header(k, value);
        return rc == CARET_E_CORRUPT ? tell_damage(q, n) : rc;
    }
    k->type = SERVE__STRING;
    k->value = value;
    return CARET_OK;
}

int serve__key_glance(caret_slice subscript, caret_slice value, int64_t *expiry)
{
    struct serve__key k;
    int rc = CARET_OK;
    k.name = serve__key_is_long(subscript) ? (caret_slice){NULL, 0} : subscript;
    k.expiry = 0;
    if (value.len > 0 && (unsigned char)value.data[0] == SERVE__HEAD_MARK)
        rc = read_header(&k, value);
    *expiry = k.expiry;
    return rc == CARET_OK && k.name.data == NULL ? CARET_NONE : rc;
}

/* The node has children, and no value: a hash without a header. */
static void read_bare(struct serve__key *k)
{
    k->exists = true;
    k->type = SERVE__HASH;
    k->counted = false;
}

/* A string at a node of a program's; CARET_NONE: there is none. */
static int look_mapped(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    caret_slice value;
    if (!serve__mapped_node(q, &k->node, name))
        return CARET_NONE;
    int rc = caret_get(q->s, &k->node.node, &value);
    if (rc == CARET_OK)
        rc = serve__key_read_value(q, k, &k->node.node, value);
    if (rc == CARET_OK && k->type != SERVE__STRING)
        rc = tell_damage(q, &k->node.node);
    k->mapped = rc == CARET_OK;
    return rc;
}

static int look(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    caret_slice value;
    serve__key_nothing(q, k, name);
    int data = 11, rc = look_mapped(q, k, name);
    if (rc != CARET_NONE)
        return rc;
    rc = serve__key_node(q, &k->node, name);
    /* Outside of a transaction it may get a value, and children, between the two looks: once more then. */
    while (rc == CARET_OK && data == 11) {
        rc = caret_get(q->s, &k->node.node, &value);
        if (rc == CARET_OK)
            return serve__key_read_value(q, k, &k->node.node, value);
        if (rc == CARET_NONE)
            rc = caret_data(q->s, &k->node.node, &data);
    }
    if (rc == CARET_OK && data == 10)
        read_bare(k);
    return rc;
}

int serve__key_of_subscript(struct serve__call *q, struct serve__key *k, caret_slice subscript)
{
    serve__key_nothing(q, k, serve__key_is_long(subscript) ? (caret_slice){NULL, 0} : subscript);
    int rc = look_mapped(q, k, subscript);
    if (rc != CARET_NONE)
        return rc;
    rc = caret_node_child(&k->node.node, sizeof k->node, &q->r->base[q->db].node, subscript.data,
                          subscript.len);
    caret_slice value;
    if (rc == CARET_OK)
        rc = caret_get(q->s, &k->node.node, &value);
    return rc == CARET_OK ? serve__key_read_value(q, k, &k->node.node, value) : rc;
}

bool serve__key_expired(const struct serve__call *q, const struct serve__key *k)
{
    bool is = k->exists && k->expiry != 0 && k->expiry <= q->now;
    if (is)
        q->w->saw_expired = true;
    return is;
}

int serve__key_open(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type)
{
    int rc = look(q, k, name);
    if (rc != CARET_OK)
        return rc;
    if (serve__key_expired(q, k))
        serve__key_nothing(q, k, name);
    if (!k->exists)
        return CARET_NONE;
    return type == SERVE__ANY || type == k->type ? CARET_OK : SERVE__E_TYPE;
}

void serve__key_looked(struct serve__call *q, bool hit)
{
    serve__add(hit ? &q->w->stats->hits : &q->w->stats->misses, 1);
}

int serve__key_seen(struct serve__call *q, int rc, const struct serve__key *k)
{
    if (rc != CARET_OK && rc != CARET_NONE && rc != SERVE__E_TYPE)
        return rc;
    serve__key_looked(q, k->exists);
    if (!k->exists)
        serve__event_add(q, SERVE__EVENT_MISS, "keymiss", &k->name, 1);
    return rc;
}

int serve__key_read(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type)
{
    return serve__key_seen(q, serve__key_open(q, k, name, type), k);
}

int serve__key_open2(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type,
                     caret_node_buf *below, caret_slice *value)
{
    caret_slice head;
    serve__key_nothing(q, k, name);
    int rc = caret_get2(q->s, &k->node.node, &below->node, &head, value);
    if (rc != CARET_OK)
        return rc;
    if (head.data == NULL && value->data == NULL)
        return serve__key_open(q, k, name, type); /* it may be another type, or have no header */
    if (head.data != NULL) {
        if ((rc = serve__key_read_value(q, k, &k->node.node, head)) != CARET_OK)
            return rc;
    } else {
        read_bare(k);
    }
    if (serve__key_expired(q, k)) {
        serve__key_nothing(q, k, name);
        return CARET_NONE;
    }
    return type == k->type ? CARET_OK : SERVE__E_TYPE;
}

int serve__key_change(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type)
{
    int rc = look(q, k, name);
    if (rc != CARET_OK)
        return rc;
    if (serve__key_expired(q, k)) {
        if ((rc = serve__key_delete(q, k)) != CARET_OK)
            return rc;
        serve__expired(q, name);
        serve__key_nothing(q, k, name);
    }
    if (!k->exists)
        k->type = type;
    if (!k->counted && (type == SERVE__ANY || type == SERVE__HASH) &&
        (rc = serve__key_count(q, k)) != CARET_OK)
        return rc;
    return type == SERVE__ANY || type == k->type ? CARET_OK : SERVE__E_TYPE;
}

int serve__key_count(struct serve__call *q, struct serve__key *k)
{
    if (k->counted)
        return CARET_OK;
    caret_node_buf n;
    caret_slice value;
    uint64_t count = 0;
    int rc = caret_node_child(&n.node, sizeof n, &k->node.node, "", 0);
    while (rc == CARET_OK && (rc = caret_next_get(q->s, &n.node, &value)) == CARET_OK)
        count += value.data != NULL;
    if (rc != CARET_NONE)
        return rc;
    k->count = count;
    k->counted = true;
    return CARET_OK;
}
