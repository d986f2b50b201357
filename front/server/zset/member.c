/*
 * member.c - members of sorted sets and their entries in the index: zset.h has the layout.
 */
#include <math.h>
#include <string.h>

#include "server/codec/number.h"
#include "server/sha256.h"
#include "server/worker.h"
#include "server/zset/zset.h"

bool serve__zscore_read(caret_slice value, double *score)
{
    int64_t n;
    if (caret_codec__parse_i64(value.data, value.len, &n)) {
        *score = (double)n;
        return true;
    }
    return caret_codec__parse_double(value.data, value.len, score);
}

int serve__zscore_arg(struct serve__call *q, int i, double *score)
{
    return serve__zscore_read(q->argv[i], score) ? CARET_OK : SERVE__E_FLOAT;
}

size_t serve__zentry(char entry[SERVE__ZENTRY_MAX], double score, caret_slice name)
{
    size_t n = serve__zcode(entry, serve__zorder(score));
    size_t len = name.len < SERVE__FIELD_MAX ? name.len : SERVE__FIELD_MAX;
    memcpy(entry + n, name.data, len);
    n += len;
    if (name.len > SERVE__FIELD_MAX) {
        serve__sha256((unsigned char *)entry + n, name.data, name.len);
        n += 32;
    }
    return n;
}

/* ------------------------------------------------------------------ index */

int serve__zentry_node(const struct serve__key *k, caret_node_buf *n, caret_slice entry)
{
    int rc = caret_node_child(&n->node, sizeof *n, &k->node.node, "", 0);
    return rc == CARET_OK ? caret_node_child(&n->node, sizeof *n, &n->node, entry.data, entry.len) : rc;
}

/* The value of an entry: empty mostly. */
static int put_entry(struct serve__call *q, caret_node_buf *n, double score, caret_slice name)
{
    bool minus = score == 0 && signbit(score), lengthy = name.len > SERVE__FIELD_MAX;
    if (!lengthy)
        return caret_set(q->s, &n->node, "-", minus);
    struct serve__buffer *b = &q->r->scratch;
    b->len = 0;
    if (!serve__buffer_room(b, 1 + name.len))
        return CARET_E_NOMEM;
    serve__buffer_add(b, minus ? "L" : "l", 1);
    serve__buffer_add(b, name.data, name.len);
    return caret_set(q->s, &n->node, b->data, b->len);
}

/* A change of the index: what goes and what comes, NULL: nothing. */
struct change {
    caret_slice entry;
    struct serve__zparts parts;
    char text[SERVE__ZENTRY_MAX];
};

static int prepare(struct serve__call *q, const struct serve__key *k, struct change *c, double score,
                   caret_slice name)
{
    c->entry = (caret_slice){c->text, serve__zentry(c->text, score, name)};
    return serve__zrank_find(q, k, &c->parts, c->entry);
}

static int index_add(struct serve__call *q, const struct serve__key *k, const struct change *c, double score,
                     caret_slice name)
{
    caret_node_buf n;
    int rc = serve__zentry_node(k, &n, c->entry);
    return rc == CARET_OK ? put_entry(q, &n, score, name) : rc;
}

static int index_remove(struct serve__call *q, const struct serve__key *k, const struct change *c)
{
    caret_node_buf n;
    int rc = serve__zentry_node(k, &n, c->entry);
    return rc == CARET_OK ? caret_delete(q->s, &n.node) : rc;
}

/* ---------------------------------------------------------------- members */

int serve__zmember_find(struct serve__call *q, const struct serve__key *k, struct serve__zmember *m,
                        caret_slice name)
{
    caret_slice value;
    m->name = name;
    m->there = false;
    m->score = 0;
    int rc = CARET_NONE;
    if (serve__field_is_odd(name)) {
        if (k->count > 0)
            rc = serve__field_get(q, k, name, &value);
    } else {
        rc = serve__field_node(q, k, &m->node, name);
        if (rc == CARET_OK)
            rc = k->count > 0 ? caret_get(q->s, &m->node.node, &value) : CARET_NONE;
    }
    if (rc == CARET_NONE)
        return CARET_OK;
    if (rc == CARET_OK && !serve__zscore_read(value, &m->score))
        return CARET_E_CORRUPT;
    m->there = rc == CARET_OK;
    return rc;
}

static int put_score(struct serve__call *q, struct serve__key *k, struct serve__zmember *m, double score)
{
    char text[CARET_CODEC__DOUBLE_ROOM];
    size_t len = caret_codec__print_shortest(score, text);
    if (!serve__field_is_odd(m->name)) {
        int rc = caret_set(q->s, &m->node.node, text, len);
        k->count += rc == CARET_OK && !m->there;
        return rc;
    }
    bool fresh;
    return serve__field_put(q, k, m->name, text, len, &fresh);
}

int serve__zmember_put(struct serve__call *q, struct serve__key *k, struct serve__zmember *m, double score)
{
    struct change go, come;
    int rc = CARET_OK;
    if (m->there && m->score == score)
        return CARET_OK;
    if (!m->there)
        serve__zset_grow(q, k, k->count + 1, m->name.len);
    if (!(k->flags & SERVE__HEAD_LARGE))
        score += 0.0; /* a listpack has no -0 */
    if (m->there)
        rc = prepare(q, k, &go, m->score, m->name);
    if (rc == CARET_OK)
        rc = prepare(q, k, &come, score, m->name);
    if (rc == CARET_OK && m->there)
        rc = index_remove(q, k, &go);
    if (rc == CARET_OK)
        rc = put_score(q, k, m, score);
    if (rc == CARET_OK)
        rc = index_add(q, k, &come, score, m->name);
    if (rc == CARET_OK)
        rc = serve__zrank_changed(q, k, m->there ? &go.parts : NULL, &come.parts);
    m->there = true;
    m->score = score;
    return rc;
}

int serve__zmember_remove(struct serve__call *q, struct serve__key *k, struct serve__zmember *m)
{
    struct change go;
    bool was = true;
    int rc = prepare(q, k, &go, m->score, m->name);
    if (rc == CARET_OK)
        rc = index_remove(q, k, &go);
    if (rc == CARET_OK && serve__field_is_odd(m->name)) {
        rc = serve__field_delete(q, k, m->name, &was);
    } else if (rc == CARET_OK) {
        rc = caret_delete(q->s, &m->node.node);
        k->count--;
    }
    m->there = false;
    return rc == CARET_OK ? serve__zrank_changed(q, k, &go.parts, NULL) : rc;
}

void serve__zset_grow(struct serve__call *q, struct serve__key *k, uint64_t count, size_t longest)
{
    const int64_t *n = q->w->config.n;
    if ((int64_t)count > n[SERVE__CFG_zset_max_listpack_entries] ||
        (int64_t)longest > n[SERVE__CFG_zset_max_listpack_value])
        k->flags |= SERVE__HEAD_LARGE;
}
