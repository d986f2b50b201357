/*
 * walk.c - through the index of a sorted set, in either direction.
 */
#include <string.h>

#include "server/zset/zset.h"

/* What the entry says where the walk is; value: of its node. */
static int take(struct serve__zwalk *w, caret_slice value)
{
    size_t used;
    int rc = caret_node_subscript(&w->node.node, 2, w->text, sizeof w->text, &w->len, NULL);
    if (rc != CARET_OK)
        return rc;
    if (w->len == 0 || (w->text[0] != 'n' && (unsigned char)w->text[0] < 0x80))
        return CARET_NONE; /* that is before the index */
    if (!serve__zcode_read((caret_slice){w->text, w->len}, &w->score, &used))
        return CARET_E_CORRUPT;
    w->member = (caret_slice){w->text + used, w->len - used};
    if (value.len == 0)
        return CARET_OK;
    if (value.data[0] == '-' || value.data[0] == 'L')
        w->score = -0.0;
    if (value.data[0] != '-')
        w->member = (caret_slice){value.data + 1, value.len - 1};
    return CARET_OK;
}

static const caret_slice least = {"n", 1}; /* all other names there are before it */

int serve__zwalk_seek(struct serve__call *q, const struct serve__key *k, struct serve__zwalk *w, bool back,
                      const caret_slice *from)
{
    caret_slice value;
    w->back = back;
    int rc = caret_node_child(&w->node.node, sizeof w->node, &k->node.node, "", 0);
    if (rc != CARET_OK)
        return rc;
    if (back)
        rc = caret_last_in(q->s, &w->node.node, &least, from, from != NULL ? CARET_RANGE_BEFORE : 0);
    else
        rc = caret_first_in(q->s, &w->node.node, from != NULL ? from : &least, NULL, 0);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &w->node.node, &value);
    return rc == CARET_OK ? take(w, value) : rc;
}

int serve__zwalk_next(struct serve__call *q, struct serve__zwalk *w)
{
    caret_slice value;
    int rc = w->back ? caret_previous_get(q->s, &w->node.node, &value)
                     : caret_next_get(q->s, &w->node.node, &value);
    if (rc != CARET_OK)
        return rc;
    return value.data != NULL ? take(w, value) : CARET_NONE;
}

int serve__zwalk_skip(struct serve__call *q, struct serve__zwalk *w, uint64_t n)
{
    int rc = CARET_OK;
    if (n == 0)
        return CARET_OK;
    while (--n > 0 && rc == CARET_OK)
        rc = w->back ? caret_previous(q->s, &w->node.node) : caret_next(q->s, &w->node.node);
    return rc == CARET_OK ? serve__zwalk_next(q, w) : rc;
}

static int pass_entry(void *arg, caret_slice value)
{
    uint64_t *left = arg;
    (void)value;
    return (*left)-- > 0 ? CARET_OK : CARET_NONE;
}

int serve__zwalk_nth(struct serve__call *q, const struct serve__key *k, struct serve__zwalk *w,
                     caret_slice from, uint64_t n)
{
    caret_slice value;
    w->back = false;
    w->len = 0;
    int rc = caret_node_child(&w->node.node, sizeof w->node, &k->node.node, "", 0);
    if (rc == CARET_OK)
        rc = caret_values_in(q->s, &w->node.node, from.len > 0 ? &from : &least, NULL, 0, pass_entry, &n);
    if (rc == CARET_OK && n != UINT64_MAX)
        return CARET_NONE;
    if (rc == CARET_OK)
        rc = caret_get(q->s, &w->node.node, &value);
    return rc == CARET_OK ? take(w, value) : rc;
}
