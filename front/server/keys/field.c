/*
 * field.c - fields and members below a key: field.h.
 */
#include "server/keys/field.h"

#include "server/keys/little.h"
#include "server/sha256.h"

enum { LENGTH = 4, TRIES = 64 };

/* A child, of n itself too. */
static int child(caret_node_buf *n, const caret_node *parent, const void *sub, size_t len)
{
    return caret_node_child(&n->node, sizeof *n, parent, sub, len);
}

int serve__field_node(struct serve__call *q, const struct serve__key *k, caret_node_buf *n, caret_slice name)
{
    const struct serve__ahead *a = q->ahead;
    unsigned char hash[32];
    if (a != NULL && a->digits != NULL && a->digits == name.data)
        return caret_node_child_int(&n->node, sizeof *n, &k->node.node, a->number);
    if (!serve__field_is_odd(name))
        return child(n, &k->node.node, name.data, name.len);
    int rc = child(n, &k->node.node, "", 0);
    if (rc == CARET_OK)
        rc = child(n, &n->node, name.len == 0 ? "e" : "l", 1);
    if (rc != CARET_OK || name.len == 0)
        return rc;
    serve__sha256(hash, name.data, name.len);
    return child(n, &n->node, hash, sizeof hash);
}

/* Of what is stored for a long name: the name and the value. */
static bool split(caret_slice stored, caret_slice *name, caret_slice *value)
{
    if (stored.len < LENGTH)
        return false;
    size_t len = serve__load(stored.data, LENGTH);
    if (len > stored.len - LENGTH)
        return false;
    *name = (caret_slice){stored.data + LENGTH, len};
    *value = (caret_slice){stored.data + LENGTH + len, stored.len - LENGTH - len};
    return true;
}

/* The value of a node that was read for a name. */
static int value_of(caret_slice wanted, caret_slice *value)
{
    caret_slice name;
    if (wanted.len <= SERVE__FIELD_MAX)
        return CARET_OK;
    return split(*value, &name, value) && name.len == wanted.len &&
                   memcmp(name.data, wanted.data, name.len) == 0
               ? CARET_OK
               : CARET_E_CORRUPT;
}

int serve__field_get(struct serve__call *q, const struct serve__key *k, caret_slice name, caret_slice *value)
{
    caret_node_buf n;
    int rc = serve__field_node(q, k, &n, name);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n.node, value);
    return rc == CARET_OK ? value_of(name, value) : rc;
}

int serve__field_open(struct serve__call *q, struct serve__key *k, caret_slice key, enum serve__type type,
                      caret_slice name, caret_slice *value)
{
    caret_node_buf n;
    /* In a transaction two looks see one state. */
    if (serve__field_is_odd(name) || caret_txn_level(q->s) > 0) {
        int rc = serve__key_open(q, k, key, type);
        return rc == CARET_OK ? serve__field_get(q, k, name, value) : rc;
    }
    int rc = serve__key_node(q, &k->node, key);
    if (rc == CARET_OK)
        rc = child(&n, &k->node.node, name.data, name.len);
    if (rc == CARET_OK)
        rc = serve__key_open2(q, k, key, type, &n, value);
    return rc != CARET_OK || value->data != NULL ? rc : CARET_NONE;
}

static int put_long(struct serve__call *q, caret_node_buf *n, caret_slice name, const void *value, size_t len,
                    int flags, caret_slice *old)
{
    struct serve__buffer *b = &q->r->scratch;
    b->len = 0;
    if (!serve__buffer_room(b, LENGTH + name.len + len))
        return CARET_E_NOMEM;
    serve__store(b->data + b->len, name.len, LENGTH);
    b->len += LENGTH;
    serve__buffer_add(b, name.data, name.len);
    serve__buffer_add(b, value, len);
    return caret_put(q->s, &n->node, b->data, b->len, flags, NULL, old);
}

int serve__field_put(struct serve__call *q, struct serve__key *k, caret_slice name, const void *value,
                     size_t len, bool *fresh)
{
    caret_node_buf n;
    caret_slice old = {NULL, 0};
    int rc = serve__field_node(q, k, &n, name);
    if (rc != CARET_OK)
        return rc;
    rc = name.len > SERVE__FIELD_MAX ? put_long(q, &n, name, value, len, 0, &old)
                                     : caret_put(q->s, &n.node, value, len, 0, NULL, &old);
    *fresh = rc == CARET_OK && old.data == NULL;
    k->count += *fresh;
    if (serve__field_is_odd(name))
        k->flags |= SERVE__HEAD_ODD;
    return rc;
}

int serve__field_add(struct serve__call *q, struct serve__key *k, caret_slice name, bool *fresh)
{
    caret_node_buf n;
    int rc = serve__field_node(q, k, &n, name);
    *fresh = false;
    if (rc == CARET_OK)
        rc = name.len > SERVE__FIELD_MAX ? put_long(q, &n, name, "", 0, CARET_PUT_ABSENT, NULL)
                                         : caret_put(q->s, &n.node, "", 0, CARET_PUT_ABSENT, NULL, NULL);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    *fresh = true;
    k->count++;
    if (serve__field_is_odd(name))
        k->flags |= SERVE__HEAD_ODD;
    return CARET_OK;
}

int serve__field_delete(struct serve__call *q, struct serve__key *k, caret_slice name, bool *was)
{
    caret_node_buf n;
    caret_slice value;
    *was = false;
    int rc = serve__field_node(q, k, &n, name);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n.node, &value);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    *was = true;
    k->count--;
    return caret_kill(q->s, &n.node);
}

/* ------------------------------------------------------------- all fields */

int serve__fields_begin(struct serve__call *q, struct serve__fields *i, const struct serve__key *k)
{
    (void)q;
    i->plain = true;
    i->odd = (k->flags & SERVE__HEAD_ODD) != 0;
    return child(&i->node, &k->node.node, "", 0);
}

/* A letter for the kind of the field, then the last subscript of its node. */
int serve__fields_place(struct serve__fields *i, char place[SERVE__FIELD_PLACE_MAX], size_t *len)
{
    size_t depth = caret_node_depth(&i->node.node);
    place[0] = depth == 2 ? 'p' : depth == 3 ? 'e' : 'l';
    *len = 0;
    int rc = caret_node_subscript(&i->node.node, depth - 1, place + 1, SERVE__FIELD_PLACE_MAX - 1, len, NULL);
    ++*len;
    return rc;
}

int serve__fields_after(struct serve__call *q, struct serve__fields *i, const struct serve__key *k,
                        caret_slice place)
{
    int rc = serve__fields_begin(q, i, k);
    char kind = place.len > 0 ? *place.data : 'p';
    i->plain = kind == 'p';
    if (!i->plain) {
        i->odd = true;
        if (rc == CARET_OK && kind != 'e')
            rc = child(&i->node, &i->node.node, "l", 1);
        return rc == CARET_OK ? child(&i->node, &i->node.node, place.data + 1, place.len - 1) : rc;
    }
    return rc == CARET_OK && place.len > 1 ? caret_node_set_last(&i->node.node, place.data + 1, place.len - 1)
                                           : rc;
}

/* From the last plain field to before the first odd one: ("","") is before ("","e"). */
static int to_odd(struct serve__fields *i)
{
    i->plain = false;
    int rc = caret_node_parent(&i->node.node, sizeof i->node, &i->node.node);
    if (rc == CARET_OK)
        rc = child(&i->node, &i->node.node, "", 0);
    return rc == CARET_OK ? child(&i->node, &i->node.node, "", 0) : rc;
}

/* The next of ("","e") and ("","l",...). */
static int next_odd(struct serve__call *q, struct serve__fields *i, caret_slice *name, caret_slice *value)
{
    caret_slice stored;
    if (caret_node_depth(&i->node.node) == 3) {
        char text[4] = "";
        size_t len = 0;
        int rc = caret_node_subscript(&i->node.node, 2, text, sizeof text, &len, NULL);
        if (rc != CARET_OK)
            return rc;
        if (len == 0) { /* before all: is there an empty name? */
            if ((rc = caret_node_set_last(&i->node.node, "e", 1)) != CARET_OK)
                return rc;
            rc = caret_get(q->s, &i->node.node, value);
            *name = (caret_slice){"", 0};
            if (rc != CARET_NONE)
                return rc;
        }
        rc = caret_node_set_last(&i->node.node, "l", 1);
        if (rc == CARET_OK)
            rc = caret_first(q->s, &i->node.node);
        if (rc == CARET_OK)
            rc = caret_get(q->s, &i->node.node, &stored);
        return rc != CARET_OK ? rc : split(stored, name, value) ? CARET_OK : CARET_E_CORRUPT;
    }
    int rc = caret_next_get(q->s, &i->node.node, &stored);
    return rc != CARET_OK ? rc : split(stored, name, value) ? CARET_OK : CARET_E_CORRUPT;
}

/* The name of the plain field where the node is. */
static int plain_name(struct serve__fields *i, caret_slice *name)
{
    size_t len;
    int rc = caret_node_subscript(&i->node.node, 1, i->text, sizeof i->text, &len, NULL);
    *name = (caret_slice){i->text, len};
    return rc;
}

int serve__fields_next(struct serve__call *q, struct serve__fields *i, caret_slice *name, caret_slice *value)
{
    while (i->plain) {
        int rc = caret_next_get(q->s, &i->node.node, value);
        if (rc == CARET_NONE && i->odd) {
            if ((rc = to_odd(i)) != CARET_OK)
                return rc;
            break;
        }
        if (rc != CARET_OK)
            return rc;
        if (value->data != NULL) /* else a program has made nodes below it */
            return plain_name(i, name);
    }
    return i->odd ? next_odd(q, i, name, value) : CARET_NONE;
}

int serve__fields_keep(struct serve__call *q, const struct serve__fields *i, caret_slice *name)
{
    return name->data == i->text || name->len == 0 ? CARET_OK : caret_keep(q->s, name);
}

int serve__fields_random(struct serve__call *q, struct serve__fields *i, const struct serve__key *k,
                         caret_slice *name, caret_slice *value)
{
    int rc = CARET_NONE;
    for (int tries = 0; !(k->flags & SERVE__HEAD_ODD) && tries < TRIES; tries++) {
        i->node = k->node;
        if ((rc = caret_random_child(q->s, &i->node.node, serve__random(q->r))) != CARET_OK)
            return rc;
        if ((rc = caret_get(q->s, &i->node.node, value)) == CARET_OK)
            return plain_name(i, name);
        if (rc != CARET_NONE) /* that was the index, or a node without a value */
            return rc;
    }
    uint64_t steps = k->count > 0 ? serve__random(q->r) % k->count : 0;
    rc = serve__fields_begin(q, i, k);
    for (uint64_t n = 0; rc == CARET_OK && n <= steps; n++)
        rc = serve__fields_next(q, i, name, value);
    return rc;
}
