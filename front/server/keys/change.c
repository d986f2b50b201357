/*
 * change.c - keys are made, set, moved and deleted: key.h.
 */
#include "server/event.h"
#include "server/keys/expire.h"
#include "server/keys/inner.h"
#include "server/keys/map.h"
#include "server/worker.h"

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
    return serve__key_put_header(q, k, k->state, k->state_len);
}

static bool map_in(struct serve__call *q, unsigned db, caret_node_buf *n, caret_slice name)
{
    unsigned here = q->db;
    q->db = db;
    bool mapped = serve__mapped_node(q, n, name);
    q->db = here;
    return mapped;
}

/* It is not that stream any more: clients of its groups that wait for entries have to be told. */
static void tell_gone(struct serve__call *q, const struct serve__key *k)
{
    if (k->exists && k->type == SERVE__STREAM)
        serve__ready(q, k->name);
}

/* It becomes a string: what is there of another type goes, and what is not where its string is to be. */
static int make_way(struct serve__call *q, struct serve__key *k)
{
    caret_node_buf mapped;
    bool moves = !k->mapped && serve__maps > 0 && map_in(q, k->db, &mapped, k->name);
    int rc = CARET_OK;
    if (k->exists && (k->type != SERVE__STRING || moves)) {
        tell_gone(q, k);
        rc = caret_kill(q->s, &k->node.node);
    }
    if (rc == CARET_OK && moves) {
        k->node = mapped;
        k->mapped = true;
    }
    return rc;
}

enum { LARGE = 4096 }; /* by a small request, maybe: there may be no room now */

static int set_bytes(struct serve__call *q, struct serve__key *k, const void *data, size_t len,
                     int64_t expiry, unsigned flags)
{
    int rc = make_way(q, k);
    if (rc == CARET_OK)
        rc = serve__expiry_change(q, k, expiry);
    if (rc != CARET_OK)
        return rc;
    tell_new(q, k);
    if (len > LARGE)
        q->w->memory_at = 0;
    k->exists = true;
    k->type = SERVE__STRING;
    k->flags = k->mapped ? 0 : flags; /* a program's value has a header for its expiry alone */
    bool plain = expiry == 0 && k->flags == 0 && !serve__key_is_long(k->name) &&
                 (len == 0 || *(const unsigned char *)data != SERVE__HEAD_MARK);
    return plain ? caret_set(q->s, &k->node.node, data, len) : serve__key_put_header(q, k, data, len);
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
        return rc == CARET_OK ? serve__key_put_header(q, k, k->state, k->state_len) : rc;
    }
    caret_slice value;
    int rc = caret_get(q->s, &k->node.node, &value);
    if (rc == CARET_OK)
        rc = caret_keep(q->s, &value);
    if (rc == CARET_OK)
        rc = serve__key_read_value(q, k, &k->node.node, value);
    return rc == CARET_OK ? set_bytes(q, k, k->value.data, k->value.len, expiry, k->flags & SERVE__HEAD_KEPT)
                          : rc;
}

/* The value of a program's node; a key of another type is made below ^redis then. */
static int delete_mapped(struct serve__call *q, struct serve__key *k)
{
    unsigned here = q->db;
    int rc = caret_delete(q->s, &k->node.node);
    q->db = k->db;
    if (rc == CARET_OK)
        rc = serve__key_node(q, &k->node, k->name);
    q->db = here;
    k->mapped = false;
    return rc;
}

int serve__key_delete(struct serve__call *q, struct serve__key *k)
{
    tell_gone(q, k);
    int rc = serve__expiry_change(q, k, 0);
    if (rc == CARET_OK)
        rc = k->mapped ? delete_mapped(q, k) : caret_kill(q->s, &k->node.node);
    if (rc == CARET_OK)
        k->exists = false;
    return rc;
}

/* The header of `to` is that of `from`, but for the name of a long key. */
static int rename_header(struct serve__call *q, struct serve__key *to, struct serve__key *from)
{
    if (!serve__key_is_long(to->name) && !serve__key_is_long(from->name))
        return CARET_OK;
    if (from->type != SERVE__STRING)
        return serve__key_put_header(q, to, to->state, to->state_len);
    caret_slice value = {NULL, 0};
    struct serve__key now = *from;
    now.name = (caret_slice){NULL, 0};
    int rc = caret_get(q->s, &to->node.node, &value);
    if (rc == CARET_OK)
        rc = caret_keep(q->s, &value);
    if (rc == CARET_OK)
        rc = serve__key_read_value(q, &now, &to->node.node, value);
    return rc == CARET_OK
               ? set_bytes(q, to, now.value.data, now.value.len, to->expiry, now.flags & SERVE__HEAD_KEPT)
               : rc;
}

/* A string that is mapped, or will be: its value alone. */
static int move_string(struct serve__call *q, struct serve__key *to, struct serve__key *from, bool copy)
{
    caret_slice value;
    struct serve__key now = *from;
    int rc = caret_get(q->s, &from->node.node, &value);
    if (rc == CARET_OK)
        rc = caret_keep(q->s, &value);
    if (rc == CARET_OK)
        rc = serve__key_read_value(q, &now, &from->node.node, value);
    if (rc == CARET_OK && !copy)
        rc = serve__key_delete(q, from);
    if (rc == CARET_OK && to->exists)
        rc = serve__key_delete(q, to);
    return rc == CARET_OK
               ? set_bytes(q, to, now.value.data, now.value.len, now.expiry, now.flags & SERVE__HEAD_KEPT)
               : rc;
}

int serve__key_move(struct serve__call *q, struct serve__key *to, struct serve__key *from, bool copy)
{
    int64_t expiry = from->expiry;
    caret_node_buf n;
    if (serve__maps > 0 && from->type == SERVE__STRING && (from->mapped || map_in(q, to->db, &n, to->name)))
        return move_string(q, to, from, copy);
    if (to->mapped) {
        int gone = serve__key_delete(q, to);
        if (gone != CARET_OK)
            return gone;
    }
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
