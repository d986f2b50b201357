/*
 * kill.c - what takes away: delete, kill, kill of a range.
 *
 * Each takes away the keys of a span (base/key.h): a node alone is [key, key 00), a node with all below it
 * [key, key FF), and range.c says what a range of children is.  Outside of a transaction it is looked first whether
 * there is anything: if not, nothing is committed.
 */
#include "api/range.h"

/* Is there anything of the span? */
static int exists(caret_session *s, bool local, const struct caret__span *r)
{
    uint8_t key[CARET__PLACE_MAX];
    size_t len = r->lo_len;
    struct caret__at at;

    memcpy(key, r->lo, len);
    int rc = caret__session_from(s, local, key, &len, &at);
    return rc == CARET_OK && !caret__span_has(r, key, len) ? CARET_NONE : rc;
}

/* alone: it is a node without what is below it. */
static int remove_local(caret_session *s, const struct caret__span *r, bool alone)
{
    int rc = caret__session_locals(s);
    if (rc == CARET_OK && !s->has_locals)
        return caret__elsewhere_kill(s, r, alone);
    if (rc == CARET_OK && s->txn.level != 0 && s->txn.restore_locals)
        rc = caret__journal_note_span(&s->txn.journal, &s->locals, CARET__OF_LOCALS, r);
    if (rc == CARET_OK)
        rc = exists(s, true, r);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    return alone ? caret__private_delete(&s->locals, r->lo, r->lo_len) : caret__private_kill(&s->locals, r);
}

/* alone: the node, without what is below it; NULL: all of the span. */
static int remove_global(caret_session *s, const struct caret__span *r, const struct caret__node *alone)
{
    uint64_t lsn;
    int rc = caret__enter_writer(s);

    if (rc != CARET_OK)
        return rc == CARET__REMOTE ? caret__remote_remove(s, r, alone != NULL) : rc;
    if (s->txn.level != 0 && alone != NULL) {
        struct caret__spot spot = caret__spot_of(s, alone);
        return caret__buffer_delete(&s->txn, r->lo, r->lo_len, &spot);
    }
    if (s->txn.level != 0)
        return caret__buffer_kill(&s->txn, r);
    rc = exists(s, false, r);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    rc = caret__batch_begin(&s->batch);
    if (rc == CARET_OK)
        rc = alone != NULL ? caret__batch_add(&s->batch, CARET__OP_DELETE, r->lo, r->lo_len, NULL, 0)
                           : caret__batch_kill(&s->batch, r);
    if (rc == CARET_OK)
        rc = caret__commit(s->e, &s->batch, NULL, NULL, &lsn);
    return rc == CARET_OK ? caret__session_committed(s, lsn, 0) : rc;
}

/* The node with what is below it, or alone. */
static int take_away(const char *function, caret_session *s, const caret_node *node, bool alone)
{
    uint8_t end[CARET__PLACE_MAX];
    int rc = caret__args_check(function, s, node);

    if (rc != CARET_OK)
        return rc;
    const struct caret__node *n = caret__node_const(node);
    struct caret__span r = caret__span_below(caret__node_key(n), n->key_len, end);
    if (alone)
        end[n->key_len] = 0;
    return n->local ? remove_local(s, &r, alone) : remove_global(s, &r, alone ? n : NULL);
}

int caret_delete(caret_session *s, caret_node *node)
{
    return take_away(__func__, s, node, true);
}

int caret_kill(caret_session *s, caret_node *node)
{
    return take_away(__func__, s, node, false);
}

int caret_kill_range(caret_session *s, const caret_node *node, const caret_slice *from, const caret_slice *to,
                     int flags)
{
    struct caret__children c;
    int rc = caret__args_check(__func__, s, node);

    if (rc == CARET_OK && !caret__node_whole(node))
        rc = caret__not_a_node(__func__, "n", node);
    if (rc != CARET_OK)
        return rc;
    const struct caret__node *n = caret__node_const(node);
    rc = caret__children(__func__, n, from, to, flags, &c);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    return n->local ? remove_local(s, &c.span, false) : remove_global(s, &c.span, NULL);
}
