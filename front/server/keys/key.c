/*
 * key.c - keys as nodes: headers, long names, expiry.  key.h has the layout.
 */
#include "server/keys/key.h"

#include <stdio.h>
#include <string.h>

#include "server/event.h"
#include "server/keys/access.h"
#include "server/keys/expire.h"
#include "server/keys/little.h"
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

static bool is_long(caret_slice name)
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
    if (!is_long(name))
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
    bool lengthy = is_long(k->name);
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

static int put_header(struct serve__call *q, struct serve__key *k, const void *rest, size_t len)
{
    struct serve__buffer *b = write_header(q, k, len);
    if (b == NULL)
        return CARET_E_NOMEM;
    serve__buffer_add(b, rest, len);
    return caret_set(q->s, &k->node.node, b->data, b->len);
}

/* ---------------------------------------------------------------- opening */

static void nothing(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    k->name = name;
    k->type = SERVE__ANY;
    k->flags = 0;
    k->db = q->db;
    k->exists = false;
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
static int read_value(struct serve__call *q, struct serve__key *k, const caret_node *n, caret_slice value)
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

/* The node has children, and no value: a hash without a header. */
static void read_bare(struct serve__key *k)
{
    k->exists = true;
    k->type = SERVE__HASH;
    k->counted = false;
}

static int look(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    caret_slice value;
    nothing(q, k, name);
    int data = 11, rc = serve__key_node(q, &k->node, name);
    /* Outside of a transaction it may get a value, and children, between the two looks: once more then. */
    while (rc == CARET_OK && data == 11) {
        rc = caret_get(q->s, &k->node.node, &value);
        if (rc == CARET_OK)
            return read_value(q, k, &k->node.node, value);
        if (rc == CARET_NONE)
            rc = caret_data(q->s, &k->node.node, &data);
    }
    if (rc == CARET_OK && data == 10)
        read_bare(k);
    return rc;
}

int serve__key_of_subscript(struct serve__call *q, struct serve__key *k, caret_slice subscript)
{
    nothing(q, k, is_long(subscript) ? (caret_slice){NULL, 0} : subscript);
    int rc = caret_node_child(&k->node.node, sizeof k->node, &q->r->base[q->db].node, subscript.data,
                              subscript.len);
    caret_slice value;
    if (rc == CARET_OK)
        rc = caret_get(q->s, &k->node.node, &value);
    return rc == CARET_OK ? read_value(q, k, &k->node.node, value) : rc;
}

static bool expired(const struct serve__call *q, const struct serve__key *k)
{
    return k->exists && k->expiry != 0 && k->expiry <= q->now;
}

int serve__key_open(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type)
{
    int rc = look(q, k, name);
    if (rc != CARET_OK)
        return rc;
    if (expired(q, k))
        nothing(q, k, name);
    if (!k->exists) {
        if (q->cmd != NULL && (q->cmd->flags & SERVE__READONLY))
            serve__event_add(q, SERVE__EVENT_MISS, "keymiss", &name, 1);
        return CARET_NONE;
    }
    return type == SERVE__ANY || type == k->type ? CARET_OK : SERVE__E_TYPE;
}

void serve__key_seen(struct serve__call *q, bool hit)
{
    serve__add(hit ? &q->w->stats->hits : &q->w->stats->misses, 1);
}

int serve__key_read(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type)
{
    int rc = serve__key_open(q, k, name, type);
    if (rc == CARET_OK || rc == CARET_NONE)
        serve__key_seen(q, rc == CARET_OK);
    return rc;
}

int serve__key_open2(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type,
                     caret_node_buf *below, caret_slice *value)
{
    caret_slice head;
    nothing(q, k, name);
    int rc = caret_get2(q->s, &k->node.node, &below->node, &head, value);
    if (rc != CARET_OK)
        return rc;
    if (head.data == NULL && value->data == NULL)
        return serve__key_open(q, k, name, type); /* it may be another type, or have no header */
    if (head.data != NULL) {
        if ((rc = read_value(q, k, &k->node.node, head)) != CARET_OK)
            return rc;
    } else {
        read_bare(k);
    }
    if (expired(q, k)) {
        nothing(q, k, name);
        return CARET_NONE;
    }
    return type == k->type ? CARET_OK : SERVE__E_TYPE;
}

int serve__key_change(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type)
{
    int rc = look(q, k, name);
    if (rc != CARET_OK)
        return rc;
    if (expired(q, k)) {
        if ((rc = serve__key_delete(q, k)) != CARET_OK)
            return rc;
        serve__expired(q, name);
        nothing(q, k, name);
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

/* --------------------------------------------------------------- changing */

static void tell_new(struct serve__call *q, const struct serve__key *k)
{
    if (!k->exists)
        serve__event_add(q, SERVE__EVENT_NEW, "new", &k->name, 1);
}

int serve__key_save(struct serve__call *q, struct serve__key *k)
{
    if (k->count == 0 && k->type != SERVE__STREAM)
        return k->exists ? serve__key_delete(q, k) : CARET_OK;
    tell_new(q, k);
    k->exists = true;
    return put_header(q, k, k->state, k->state_len);
}

/* It is not that stream any more: clients of its groups that wait for entries have to be told. */
static void tell_gone(struct serve__call *q, const struct serve__key *k)
{
    if (k->exists && k->type == SERVE__STREAM)
        serve__ready(q, k->name);
}

static int set_bytes(struct serve__call *q, struct serve__key *k, const void *data, size_t len,
                     int64_t expiry, unsigned flags)
{
    if (k->exists && k->type != SERVE__STRING) {
        tell_gone(q, k);
        int rc = caret_kill(q->s, &k->node.node);
        if (rc != CARET_OK)
            return rc;
    }
    int rc = serve__expiry_change(q, k, expiry);
    if (rc != CARET_OK)
        return rc;
    tell_new(q, k);
    k->exists = true;
    k->type = SERVE__STRING;
    k->flags = flags;
    bool plain = expiry == 0 && flags == 0 && !is_long(k->name) &&
                 (len == 0 || *(const unsigned char *)data != SERVE__HEAD_MARK);
    return plain ? caret_set(q->s, &k->node.node, data, len) : put_header(q, k, data, len);
}

int serve__key_set_string(struct serve__call *q, struct serve__key *k, const void *data, size_t len,
                          int64_t expiry)
{
    return set_bytes(q, k, data, len, expiry, 0);
}

int serve__key_set_text(struct serve__call *q, struct serve__key *k, const char *text, size_t len,
                        int64_t expiry)
{
    int64_t n;
    bool is_integer = serve__read_integer(&(caret_slice){text, len}, &n);
    return set_bytes(q, k, text, len, expiry, is_integer ? SERVE__HEAD_TEXT : 0);
}

int serve__key_set_raw(struct serve__call *q, struct serve__key *k, const void *data, size_t len,
                       int64_t expiry)
{
    return set_bytes(q, k, data, len, expiry, len <= SERVE__EMBEDDED_MAX ? SERVE__HEAD_LARGE : 0);
}

int serve__key_expire(struct serve__call *q, struct serve__key *k, int64_t expiry)
{
    if (k->expiry == expiry)
        return CARET_OK;
    if (k->type != SERVE__STRING) {
        int rc = serve__expiry_change(q, k, expiry);
        return rc == CARET_OK ? put_header(q, k, k->state, k->state_len) : rc;
    }
    caret_slice value;
    int rc = caret_get(q->s, &k->node.node, &value);
    if (rc == CARET_OK)
        rc = caret_keep(q->s, &value);
    if (rc == CARET_OK)
        rc = read_value(q, k, &k->node.node, value);
    return rc == CARET_OK ? set_bytes(q, k, k->value.data, k->value.len, expiry, k->flags & SERVE__HEAD_KEPT)
                          : rc;
}

int serve__key_delete(struct serve__call *q, struct serve__key *k)
{
    tell_gone(q, k);
    int rc = serve__expiry_change(q, k, 0);
    if (rc == CARET_OK)
        rc = caret_kill(q->s, &k->node.node);
    if (rc == CARET_OK)
        k->exists = false;
    return rc;
}

/* The header of `to` is that of `from`, but for the name of a long key. */
static int rename_header(struct serve__call *q, struct serve__key *to, struct serve__key *from)
{
    if (!is_long(to->name) && !is_long(from->name))
        return CARET_OK;
    if (from->type != SERVE__STRING)
        return put_header(q, to, to->state, to->state_len);
    caret_slice value = {NULL, 0};
    struct serve__key now = *from;
    now.name = (caret_slice){NULL, 0};
    int rc = caret_get(q->s, &to->node.node, &value);
    if (rc == CARET_OK)
        rc = caret_keep(q->s, &value);
    if (rc == CARET_OK)
        rc = read_value(q, &now, &to->node.node, value);
    return rc == CARET_OK
               ? set_bytes(q, to, now.value.data, now.value.len, to->expiry, now.flags & SERVE__HEAD_KEPT)
               : rc;
}

int serve__key_move(struct serve__call *q, struct serve__key *to, struct serve__key *from, bool copy)
{
    int64_t expiry = from->expiry;
    int rc = serve__expiry_change(q, to, expiry);
    if (rc == CARET_OK && !copy)
        rc = serve__expiry_change(q, from, 0);
    if (rc == CARET_OK)
        rc = copy ? caret_copy(q->s, &to->node.node, &from->node.node)
                  : caret_move(q->s, &to->node.node, &from->node.node);
    if (rc != CARET_OK)
        return rc;
    unsigned here = q->db;
    to->type = from->type;
    to->exists = false; /* another key from now on, even if there was one */
    q->db = to->db;
    tell_new(q, to);
    q->db = here;
    to->exists = true;
    to->flags = from->flags;
    to->count = from->count;
    to->counted = from->counted;
    to->state_len = from->state_len;
    memcpy(to->state, from->state, from->state_len);
    if (!copy) {
        tell_gone(q, from);
        from->exists = false;
    }
    return rename_header(q, to, from);
}

/* --------------------------------------------------------------- all keys */

void serve__keys_begin(struct serve__call *q, struct serve__keys *i, unsigned db)
{
    i->node = q->r->base[db];
    i->db = db;
    i->begun = false;
}

int serve__keys_after(struct serve__call *q, struct serve__keys *i, unsigned db, caret_slice subscript)
{
    i->db = db;
    i->begun = true;
    return caret_node_child(&i->node.node, sizeof i->node, &q->r->base[db].node, subscript.data,
                            subscript.len);
}

/* To the next node of depth 1; the data of *value are NULL if it has none. */
static int step(struct serve__call *q, struct serve__keys *i, caret_slice *value)
{
    if (i->begun)
        return caret_next_get(q->s, &i->node.node, value);
    int rc = caret_first(q->s, &i->node.node);
    if (rc != CARET_OK)
        return rc;
    i->begun = true;
    *value = (caret_slice){NULL, 0};
    rc = caret_get(q->s, &i->node.node, value);
    return rc == CARET_NONE ? CARET_OK : rc;
}

int serve__keys_next(struct serve__call *q, struct serve__keys *i, struct serve__key *key)
{
    for (;;) {
        caret_slice value;
        size_t len;
        int rc = step(q, i, &value);
        if (rc == CARET_OK)
            rc = caret_node_subscript(&i->node.node, 0, i->subscript, sizeof i->subscript, &len, NULL);
        if (rc != CARET_OK)
            return rc;
        caret_slice name = {i->subscript, i->subscript_len = len};
        bool lengthy = is_long(name);
        nothing(q, key, lengthy ? (caret_slice){NULL, 0} : name);
        key->db = i->db;
        key->exists = true;
        key->type = SERVE__HASH;
        key->counted = value.data != NULL;
        if (value.data != NULL && (rc = read_value(q, key, &i->node.node, value)) != CARET_OK)
            return rc;
        if (!expired(q, key) && key->name.data != NULL)
            return CARET_OK;
    }
}
