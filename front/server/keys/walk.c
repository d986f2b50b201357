/*
 * walk.c - all keys of a database, those of programs' nodes (map.h) among them: key.h.
 */
#include "server/keys/inner.h"
#include "server/keys/map.h"

void serve__keys_begin(struct serve__call *q, struct serve__keys *i, unsigned db)
{
    i->node = q->r->base[db];
    i->db = db;
    i->map = -1;
    i->begun = i->expired_too = false;
}

void serve__keys_begin_mapped(struct serve__call *q, struct serve__keys *i)
{
    serve__keys_begin(q, i, 0);
    i->map = 0;
    serve__map_base(0, &i->node);
}

int serve__keys_after(struct serve__call *q, struct serve__keys *i, unsigned db, bool mapped,
                      caret_slice subscript)
{
    i->db = db;
    i->begun = true;
    i->expired_too = false;
    i->map = mapped ? serve__map_index(subscript) : -1;
    if (mapped && (i->map < 0 || !serve__mapped_node(q, &i->node, subscript)))
        return CARET_NONE; /* it is not mapped any more */
    return mapped ? CARET_OK
                  : caret_node_child(&i->node.node, sizeof i->node, &q->r->base[db].node, subscript.data,
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

/* The same of those of programs: to the next global when one ends. */
static int step_mapped(struct serve__call *q, struct serve__keys *i, caret_slice *value)
{
    int rc = CARET_NONE;
    if (i->db != 0)
        return CARET_NONE;
    while (i->map < serve__maps) {
        if (i->map >= 0 &&
            (rc = serve__map_next(q, i->map, &i->node, i->subscript, &i->subscript_len, value)) != CARET_NONE)
            return rc;
        if (++i->map < serve__maps)
            serve__map_base(i->map, &i->node);
    }
    return CARET_NONE;
}

static int step_any(struct serve__call *q, struct serve__keys *i, caret_slice *value)
{
    size_t len;
    int rc = i->map < 0 ? step(q, i, value) : CARET_NONE;
    if (rc == CARET_NONE && serve__maps > 0)
        return step_mapped(q, i, value);
    if (rc == CARET_OK)
        rc = caret_node_subscript(&i->node.node, 0, i->subscript, sizeof i->subscript, &len, NULL);
    if (rc == CARET_OK)
        i->subscript_len = len;
    return rc;
}

int serve__keys_next(struct serve__call *q, struct serve__keys *i, struct serve__key *key)
{
    for (;;) {
        caret_slice value;
        int rc = step_any(q, i, &value);
        if (rc != CARET_OK)
            return rc;
        caret_slice name = {i->subscript, i->subscript_len};
        bool lengthy = i->map < 0 && serve__key_is_long(name);
        serve__key_nothing(q, key, lengthy ? (caret_slice){NULL, 0} : name);
        key->db = i->db;
        key->exists = true;
        key->mapped = i->map >= 0;
        key->type = SERVE__HASH;
        key->counted = value.data != NULL;
        if (value.data != NULL && (rc = serve__key_read_value(q, key, &i->node.node, value)) != CARET_OK)
            return rc;
        if (key->name.data != NULL && (i->expired_too || !serve__key_expired(q, key)))
            return CARET_OK;
    }
}
