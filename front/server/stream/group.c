/*
 * group.c - groups, consumers, and what is pending: group.h.
 */
#include "server/stream/group.h"

#include "server/event.h"
#include "server/sha256.h"

#ifdef CARET_SMALL /* encoded keys are short there */
#define NAME_MAX_LEN 8u
#define NAME_KEPT    0u
#else
#define NAME_MAX_LEN 100u
#define NAME_KEPT    NAME_MAX_LEN
#endif
#define SHA_LEN 32u

enum { GROUP_HEAD = 32, CONSUMER_HEAD = 12, PENDING_LEN = 20 };

static int child(caret_node_buf *n, const caret_node *parent, const void *sub, size_t len)
{
    return caret_node_child(&n->node, sizeof *n, parent, sub, len);
}

/* ^redis(key,"",...) */
static int index_node(caret_node_buf *n, const struct serve__stream *x)
{
    return child(n, &x->k.node.node, "", 0);
}

static int group_base(caret_node_buf *n, const struct serve__stream *x, uint32_t number)
{
    int rc = index_node(n, x);
    return rc == CARET_OK ? caret_node_child_int(&n->node, sizeof *n, &n->node, number) : rc;
}

/* A name as a subscript.  That of a long one is longer than that of any other. */
static int named(caret_node_buf *n, const caret_node *parent, caret_slice name)
{
    char sub[1 + NAME_MAX_LEN + SHA_LEN] = "n";
    bool whole = name.len <= NAME_MAX_LEN;
    size_t kept = whole ? name.len : NAME_KEPT;
    memcpy(sub + 1, kept > 0 ? name.data : "", kept);
    if (!whole)
        serve__sha256((unsigned char *)sub + 1 + kept, name.data, name.len);
    return child(n, parent, sub, 1 + kept + (whole ? 0 : SHA_LEN));
}

/* A record of `head` bytes and a name, put together in the runner's scratch buffer. */
static int save_record(struct serve__call *q, caret_node_buf *n, const void *bytes, size_t head,
                       caret_slice name)
{
    struct serve__buffer *b = &q->r->scratch;
    b->len = 0;
    if (!serve__buffer_room(b, head + name.len))
        return CARET_E_NOMEM;
    serve__buffer_add(b, bytes, head);
    serve__buffer_add(b, name.data, name.len);
    return caret_set(q->s, &n->node, b->data, b->len);
}

/* ----------------------------------------------------------------- groups */

static int read_group(const struct serve__stream *x, struct serve__group *g, caret_slice value)
{
    if (value.len < GROUP_HEAD)
        return CARET_E_CORRUPT;
    g->number = (uint32_t)serve__load(value.data, 4);
    g->last = serve__load_id(value.data + 4);
    g->read = (int64_t)serve__load(value.data + 20, 8);
    g->consumers = (uint32_t)serve__load(value.data + 28, 4);
    g->name = (caret_slice){value.data + GROUP_HEAD, value.len - GROUP_HEAD};
    return group_base(&g->base, x, g->number);
}

static int groups_node(const struct serve__stream *x, caret_node_buf *n)
{
    int rc = index_node(n, x);
    return rc == CARET_OK ? child(n, &n->node, "g", 1) : rc;
}

int serve__group_open(struct serve__call *q, const struct serve__stream *x, struct serve__group *g,
                      caret_slice name)
{
    caret_slice value;
    int rc = groups_node(x, &g->node);
    if (rc == CARET_OK)
        rc = named(&g->node, &g->node.node, name);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &g->node.node, &value);
    if (rc == CARET_OK)
        rc = read_group(x, g, value);
    g->name = name;
    return rc;
}

int serve__group_save(struct serve__call *q, struct serve__group *g)
{
    unsigned char bytes[GROUP_HEAD];
    serve__store(bytes, g->number, 4);
    serve__store_id(bytes + 4, g->last);
    serve__store(bytes + 20, (uint64_t)g->read, 8);
    serve__store(bytes + 28, g->consumers, 4);
    return save_record(q, &g->node, bytes, sizeof bytes, g->name);
}

int serve__group_make(struct serve__call *q, struct serve__stream *x, struct serve__group *g,
                      caret_slice name)
{
    int rc = groups_node(x, &g->node);
    if (rc == CARET_OK)
        rc = named(&g->node, &g->node.node, name);
    g->number = ++x->groups;
    g->consumers = 0;
    g->name = name;
    if (rc == CARET_OK)
        rc = group_base(&g->base, x, g->number);
    return rc == CARET_OK ? serve__group_save(q, g) : rc;
}

int serve__group_delete(struct serve__call *q, struct serve__group *g)
{
    int rc = caret_kill(q->s, &g->base.node);
    return rc == CARET_OK ? caret_delete(q->s, &g->node.node) : rc;
}

/* -------------------------------------------------------------- consumers */

static int consumers_node(const struct serve__group *g, caret_node_buf *n)
{
    return child(n, &g->base.node, "c", 1);
}

/* The node of what is below ("q",C) or at ("i",C). */
static int numbered(const struct serve__group *g, caret_node_buf *n, const char *kind, uint32_t number)
{
    int rc = child(n, &g->base.node, kind, 1);
    return rc == CARET_OK ? caret_node_child_int(&n->node, sizeof *n, &n->node, number) : rc;
}

static int read_consumer(const struct serve__group *g, struct serve__consumer *c, caret_slice value)
{
    if (value.len < CONSUMER_HEAD)
        return CARET_E_CORRUPT;
    c->number = (uint32_t)serve__load(value.data, 4);
    c->seen = (int64_t)serve__load(value.data + 4, 8);
    c->name = (caret_slice){value.data + CONSUMER_HEAD, value.len - CONSUMER_HEAD};
    return numbered(g, &c->mine, "q", c->number);
}

int serve__consumer_open(struct serve__call *q, const struct serve__group *g, struct serve__consumer *c,
                         caret_slice name)
{
    caret_slice value;
    int rc = consumers_node(g, &c->node);
    if (rc == CARET_OK)
        rc = named(&c->node, &c->node.node, name);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &c->node.node, &value);
    if (rc == CARET_OK)
        rc = read_consumer(g, c, value);
    c->name = name;
    return rc;
}

static int save_consumer(struct serve__call *q, struct serve__consumer *c)
{
    unsigned char bytes[CONSUMER_HEAD];
    serve__store(bytes, c->number, 4);
    serve__store(bytes + 4, (uint64_t)c->seen, 8);
    return save_record(q, &c->node, bytes, sizeof bytes, c->name);
}

int serve__consumer_new(struct serve__call *q, struct serve__group *g, struct serve__consumer *c,
                        caret_slice name, int64_t seen)
{
    caret_node_buf n;
    c->number = ++g->consumers;
    c->seen = seen;
    c->name = name;
    int rc = numbered(g, &c->mine, "q", c->number);
    if (rc == CARET_OK)
        rc = numbered(g, &n, "i", c->number);
    if (rc == CARET_OK)
        rc = caret_set(q->s, &n.node, name.data, name.len);
    if (rc == CARET_OK)
        rc = save_consumer(q, c);
    return rc == CARET_OK ? serve__group_save(q, g) : rc;
}

int serve__consumer_make(struct serve__call *q, struct serve__stream *x, struct serve__group *g,
                         struct serve__consumer *c, caret_slice name)
{
    int rc = serve__consumer_new(q, g, c, name, q->now);
    serve__changed(q, SERVE__EVENT_STREAM, "xgroup-createconsumer", x->k.name);
    return rc;
}

int serve__consumer_see(struct serve__call *q, struct serve__stream *x, struct serve__group *g,
                        struct serve__consumer *c, caret_slice name)
{
    int rc = serve__consumer_open(q, g, c, name);
    if (rc == CARET_NONE)
        return serve__consumer_make(q, x, g, c, name);
    if (rc != CARET_OK || c->seen == q->now)
        return rc;
    c->seen = q->now;
    return save_consumer(q, c);
}

int serve__consumer_delete(struct serve__call *q, struct serve__group *g, struct serve__consumer *c)
{
    struct serve__walk i;
    struct serve__id id;
    caret_node_buf base, n;
    caret_slice value;
    int rc = serve__pending_base(g, &base);
    if (rc == CARET_OK)
        rc = serve__walk_begin(&i, &c->mine.node, SERVE__ID_MIN, SERVE__ID_MAX, false);
    while (rc == CARET_OK && (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        rc = serve__id_node(&n, &base.node, id);
        if (rc == CARET_OK)
            rc = caret_delete(q->s, &n.node);
    }
    if (rc == CARET_NONE)
        rc = caret_kill(q->s, &c->mine.node);
    if (rc == CARET_OK)
        rc = numbered(g, &n, "i", c->number);
    if (rc == CARET_OK)
        rc = caret_delete(q->s, &n.node);
    return rc == CARET_OK ? caret_delete(q->s, &c->node.node) : rc;
}

int serve__consumer_name(struct serve__call *q, const struct serve__group *g, uint32_t number,
                         caret_slice *name)
{
    caret_node_buf n;
    int rc = numbered(g, &n, "i", number);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n.node, name);
    return rc == CARET_NONE ? CARET_E_CORRUPT : rc;
}

/* ------------------------------------------------------------------ names */

int serve__names_begin(struct serve__names *i, const struct serve__stream *x, const struct serve__group *g)
{
    i->begun = false;
    return g == NULL ? groups_node(x, &i->node) : consumers_node(g, &i->node);
}

static int next_name(struct serve__call *q, struct serve__names *i, caret_slice *value)
{
    if (i->begun)
        return caret_next_get(q->s, &i->node.node, value);
    int rc = caret_first(q->s, &i->node.node);
    i->begun = true;
    return rc == CARET_OK ? caret_get(q->s, &i->node.node, value) : rc;
}

int serve__groups_next(struct serve__call *q, const struct serve__stream *x, struct serve__names *i,
                       struct serve__group *g)
{
    caret_slice value;
    int rc = next_name(q, i, &value);
    return rc == CARET_OK ? read_group(x, g, value) : rc;
}

int serve__consumers_next(struct serve__call *q, const struct serve__group *g, struct serve__names *i,
                          struct serve__consumer *c)
{
    caret_slice value;
    int rc = next_name(q, i, &value);
    return rc == CARET_OK ? read_consumer(g, c, value) : rc;
}

int serve__names_count(struct serve__call *q, struct serve__names *i, int64_t *n)
{
    return serve__pending_count(q, &i->node.node, n);
}

/* ---------------------------------------------------------------- pending */

int serve__pending_base(const struct serve__group *g, caret_node_buf *n)
{
    return child(n, &g->base.node, "p", 1);
}

void serve__pending_read(struct serve__pending *p, struct serve__id id, caret_slice value)
{
    bool whole = value.len == PENDING_LEN;
    p->id = id;
    p->when = whole ? (int64_t)serve__load(value.data, 8) : 0;
    p->times = whole ? serve__load(value.data + 8, 8) : 0;
    p->consumer = whole ? (uint32_t)serve__load(value.data + 16, 4) : 0;
}

int serve__pending_open(struct serve__call *q, const struct serve__group *g, struct serve__pending *p,
                        struct serve__id id)
{
    caret_slice value;
    int rc = serve__pending_base(g, &p->node);
    if (rc == CARET_OK)
        rc = serve__id_node(&p->node, &p->node.node, id);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &p->node.node, &value);
    serve__pending_read(p, id, rc == CARET_OK ? value : (caret_slice){"", 0});
    return rc;
}

int serve__pending_save(struct serve__call *q, struct serve__pending *p)
{
    unsigned char bytes[PENDING_LEN];
    serve__store(bytes, (uint64_t)p->when, 8);
    serve__store(bytes + 8, p->times, 8);
    serve__store(bytes + 16, p->consumer, 4);
    return caret_set(q->s, &p->node.node, bytes, sizeof bytes);
}

/* Delete it among those of its consumer. */
static int disown(struct serve__call *q, const struct serve__group *g, const struct serve__pending *p)
{
    caret_node_buf n;
    if (p->consumer == 0)
        return CARET_OK;
    int rc = numbered(g, &n, "q", p->consumer);
    if (rc == CARET_OK)
        rc = serve__id_node(&n, &n.node, p->id);
    return rc == CARET_OK ? caret_delete(q->s, &n.node) : rc;
}

int serve__pending_move(struct serve__call *q, const struct serve__group *g, struct serve__pending *p,
                        const struct serve__consumer *c)
{
    caret_node_buf n;
    if (p->consumer == c->number)
        return CARET_OK;
    int rc = disown(q, g, p);
    p->consumer = c->number;
    if (rc == CARET_OK)
        rc = serve__id_node(&n, &c->mine.node, p->id);
    return rc == CARET_OK ? caret_set(q->s, &n.node, "", 0) : rc;
}

int serve__pending_delete(struct serve__call *q, const struct serve__group *g, struct serve__pending *p)
{
    int rc = disown(q, g, p);
    return rc == CARET_OK ? caret_delete(q->s, &p->node.node) : rc;
}

int serve__pending_count(struct serve__call *q, caret_node *n, int64_t *count)
{
    uint64_t found = 0;
    int rc = caret_count(q->s, n, &found);
    *count = (int64_t)found;
    return rc;
}
