/*
 * random.c - a child of a node, each of them equally likely.
 *
 *   1  draw an entry of the subtree, each equally likely (tree/read.c)
 *   2  take the child that it belongs to if it is the first entry of that child, else draw again
 * Each child has one first entry, so each is as likely as another, however much is below it.  But an entry that is as
 * likely as another takes many draws where pages have few, as large values make them, and so does a first one among
 * many.  So after some draws the children are gone through, too, and each takes the place of the one before with the
 * likelihood that is its due: some draws, some children, in turns, until one or the other has come to its end.  Which
 * of them that is has nothing to do with the child that it has found, so that each is as likely as it was.  Where
 * others than the entries of the tree count (a transaction's own, local variables) nothing is drawn.
 *
 * caret_any_child() takes what comes with the first draw; it does step 2 too, as else a child with much below it came
 * all the time, but not for long.
 */
#include "api/session.h"
#include "base/key.h"
#include "base/rand.h"

#define DRAWS 64u /* before the children are gone through, too; arbitrary, as are both below */
#define TURN  16u /* draws, or children, at a time */
#define FEW   16u /* of caret_any_child(), before it takes any entry's */

enum how { FAIR, ROUGH, WHATEVER };

/* Is the entry, whose key is in `key`, the first of the child that ends after `end` bytes?  Drawn from one state or
 * not: the child was there when the entry was found. */
static int is_first(caret_session *s, const uint8_t *key, size_t len, size_t end)
{
    uint8_t before[CARET__KEY_MAX + 2];
    struct caret__at at;
    size_t n = len;

    if (len == end)
        return CARET_OK;
    memcpy(before, key, len);
    int rc = caret__session_before(s, CARET__IN_DATABASE, before, &n, &at);
    if (rc == CARET_NONE)
        return CARET_OK;
    if (rc != CARET_OK)
        return rc;
    return n >= end && memcmp(before, key, end) == 0 ? CARET_NONE : CARET_OK;
}

/* CARET_NONE: none was drawn that counts. */
static int draw(caret_session *s, struct caret__node *n, struct caret__rand *r, enum how how)
{
    struct caret__draw d = {.r = r, .len = n->key_len, .rough = how != FAIR};
    uint8_t key[CARET__KEY_MAX + 2];
    struct caret__at at;

    memcpy(d.from, caret__node_key(n), n->key_len);
    memcpy(d.to, d.from, n->key_len);
    d.from[d.len] = 0x01; /* the lowest first byte of a subscript */
    d.to[d.len++] = 0xff;
    int rc = caret__seek_drawn(&s->global, &d, &at);
    if (rc != CARET_OK)
        return rc;
    size_t len = caret__page_key(at.page, at.pos, key);
    if (!caret__at_valid(&s->global, &at))
        return CARET_NONE;
    size_t sub = len > n->key_len ? caret__sub_len(key + n->key_len, len - n->key_len) : 0;
    if (sub == 0 || n->key_len + sub > n->key_cap)
        return CARET_NONE; /* the long way says why */
    rc = how == WHATEVER ? CARET_OK : is_first(s, key, len, n->key_len + sub);
    if (rc == CARET_OK)
        rc = caret__reads_note(&s->global, &at);
    return rc == CARET_OK ? caret__node_take_key(n, key, n->key_len + sub) : rc;
}

/* From the entries of the tree, if these are what counts; *drawn: so many times until now. */
static int draw_some(caret_session *s, caret_node *n, caret_node *child, struct caret__rand *r, bool fair,
                     unsigned *drawn, unsigned most)
{
    int rc = CARET_NONE;

    if (caret__node(n)->local || s->observes || s->remote != NULL || s->txn.snapshot != NULL ||
        s->txn.changed)
        return CARET_NONE;
    for (unsigned i = 0; rc == CARET_NONE && i < most; i++, ++*drawn) {
        caret__node_take_key(caret__node(child), caret__node_key(caret__node(n)), caret__node(n)->key_len);
        rc = draw(s, caret__node(child), r, fair ? FAIR : *drawn < FEW ? ROUGH : WHATEVER);
    }
    return rc;
}

/* A way through all children: where it is, the one that was taken, and the number of the next. */
struct all {
    caret_node_buf at, taken;
    uint32_t next;
};

static int begin_all(caret_session *s, const caret_node *n, struct all *a)
{
    int rc = caret_node_copy(&a->at.node, sizeof a->at, n);

    if (rc == CARET_OK)
        rc = caret_first(s, &a->at.node);
    a->next = 2;
    return rc == CARET_OK ? caret_node_copy(&a->taken.node, sizeof a->taken, &a->at.node) : rc;
}

/* Some further.  CARET_NONE: that is not all. */
static int go_through_some(caret_session *s, struct all *a, struct caret__rand *r)
{
    int rc = CARET_OK;

    for (unsigned i = 0; rc == CARET_OK && i < TURN; i++, a->next++) {
        rc = caret_next(s, &a->at.node);
        if (rc == CARET_OK && caret__rand_below(r, a->next) == 0)
            rc = caret_node_copy(&a->taken.node, sizeof a->taken, &a->at.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc == CARET_OK ? CARET_NONE : rc;
}

static int take_turns(caret_session *s, caret_node *n, caret_node_buf *child, struct caret__rand *r,
                      bool fair)
{
    struct all all;
    unsigned drawn = 0;
    int rc = draw_some(s, n, &child->node, r, fair, &drawn, DRAWS);

    if (rc != CARET_NONE)
        return rc;
    rc = begin_all(s, n, &all);
    if (rc != CARET_OK)
        return rc;
    do {
        rc = go_through_some(s, &all, r);
        if (rc == CARET_OK)
            return caret_node_copy(&child->node, sizeof *child, &all.taken.node);
        if (rc == CARET_NONE)
            rc = draw_some(s, n, &child->node, r, fair, &drawn, TURN);
    } while (rc == CARET_NONE);
    return rc;
}

static int random_child(const char *function, caret_session *s, caret_node *n, uint64_t r, bool fair)
{
    struct caret__rand rand;
    caret_node_buf child;
    int rc = caret__args_check(function, s, n);

    if (rc == CARET_OK)
        rc = caret_node_copy(&child.node, sizeof child, n);
    if (rc == CARET_OK)
        rc = caret_first(s, &child.node); /* as this does, NONE among them */
    if (rc != CARET_OK)
        return rc;
    caret__rand_seed(&rand, r);
    rc = take_turns(s, n, &child, &rand, fair);
    if (rc == CARET_RESTART)
        s->txn.broken = true;
    return rc == CARET_OK ? caret_node_copy(n, sizeof *n + caret__node(n)->key_cap, &child.node) : rc;
}

int caret_random_child(caret_session *s, caret_node *n, uint64_t r)
{
    return random_child(__func__, s, n, r, true);
}

int caret_any_child(caret_session *s, caret_node *n, uint64_t r)
{
    return random_child(__func__, s, n, r, false);
}
