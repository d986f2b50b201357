/*
 * trim.c - delete entries from the beginning of a stream: XTRIM, and what XADD is told of it.
 *
 *   1. Whole blocks (block.h), as long as that keeps what is to be kept: their counts are added up, and then all of
 *      their entries are killed as one range, however many they are.
 *   2. Unless it is to be done about so (~): entries of the block that is the first then, one by one.
 */
#include "server/stream/block.h"
#include "server/stream/stream.h"

static bool is_enough(const struct serve__stream *x, const struct serve__trim *t)
{
    return x->k.count == 0 || (t->kind == SERVE__TRIM_MAXLEN && x->k.count <= t->len);
}

/* Is all of block b, which ends before `next`, to be deleted? */
static int wholly(struct serve__call *q, const struct serve__stream *x, const struct serve__trim *t,
                  const struct serve__block *b, const struct serve__id *next, bool *yes)
{
    struct serve__id last = next != NULL ? *next : x->last;
    caret_slice value;
    *yes = false;
    if (t->kind == SERVE__TRIM_MAXLEN) {
        *yes = x->k.count >= b->live && x->k.count - b->live >= t->len;
        return CARET_OK;
    }
    if (serve__id_compare(b->first, t->id) >= 0)
        return CARET_OK;
    if (next != NULL)
        serve__id_before(&last);
    int rc = serve__walk_one(q, &x->k.node.node, last, b->first, true, &last, &value);
    *yes = rc == CARET_NONE || serve__id_compare(last, t->id) < 0;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The block after b; CARET_NONE: b is the last. */
static int block_after(struct serve__call *q, const struct serve__stream *x, const struct serve__block *b,
                       struct serve__block *next)
{
    struct serve__id from = b->first;
    return b->open || !serve__id_after(&from) ? CARET_NONE : serve__block_first(q, x, from, next);
}

/* Kill what was before `next`, entries and closed blocks; NULL: all. */
static int kill_before(struct serve__call *q, struct serve__stream *x, const struct serve__id *next)
{
    caret_node_buf base;
    int rc = serve__id_kill(q, &x->k.node.node, next);
    if (rc == CARET_OK)
        rc = serve__block_base(x, &base);
    return rc == CARET_OK ? serve__id_kill(q, &base.node, next) : rc;
}

static int whole_blocks(struct serve__call *q, struct serve__stream *x, const struct serve__trim *t,
                        uint64_t *n)
{
    struct serve__block b, next;
    uint64_t before = *n;
    int rc = serve__block_first(q, x, SERVE__ID_MIN, &b);
    while (rc == CARET_OK && !is_enough(x, t) && (t->limit == 0 || *n + b.live <= t->limit)) {
        bool yes;
        int more = block_after(q, x, &b, &next);
        if (more != CARET_OK && more != CARET_NONE)
            return more;
        if ((rc = wholly(q, x, t, &b, more == CARET_OK ? &next.first : NULL, &yes)) != CARET_OK || !yes)
            break;
        *n += b.live;
        x->k.count -= b.live;
        if (b.open)
            x->open = (struct serve__open_block){.added = 0};
        else
            x->closed--;
        b = next;
        rc = more;
    }
    if (*n == before || (rc != CARET_OK && rc != CARET_NONE))
        return rc == CARET_NONE ? CARET_OK : rc;
    return kill_before(q, x, rc == CARET_OK ? &b.first : NULL);
}

static int single_entries(struct serve__call *q, struct serve__stream *x, const struct serve__trim *t,
                          uint64_t *n)
{
    struct serve__walk i;
    struct serve__id id, block = SERVE__ID_MIN;
    caret_slice value;
    uint32_t gone = 0;
    int rc = serve__walk_begin(&i, &x->k.node.node, SERVE__ID_MIN, x->last, false);
    while (rc == CARET_OK && !is_enough(x, t) && (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        if (t->kind == SERVE__TRIM_MINID && serve__id_compare(id, t->id) >= 0)
            break;
        rc = caret_delete(q->s, &i.node.node);
        block = id;
        x->k.count--;
        gone++;
    }
    *n += gone;
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return gone > 0 ? serve__block_remove(q, x, block, gone) : CARET_OK;
}

int serve__stream_trim(struct serve__call *q, struct serve__stream *x, const struct serve__trim *t,
                       uint64_t *n)
{
    *n = 0;
    if (t->kind == SERVE__TRIM_NONE || is_enough(x, t))
        return CARET_OK;
    int rc = whole_blocks(q, x, t, n);
    return rc == CARET_OK && !t->about && !is_enough(x, t) ? single_entries(q, x, t, n) : rc;
}
