/*
 * random.c - a child of a node, each of them equally likely.
 *
 *   1  draw an entry of the subtree, each equally likely (tree/read.c)
 *   2  take the child that it belongs to if it is the first entry of that child, else draw again
 * Each child has one first entry, so each is as likely as another, however much is below it.  Where few entries are
 * first ones, or others than those of the tree count (a transaction's own, local variables), the children are
 * gone through, and each takes the place of the one before with the likelihood that is its due.
 *
 * An entry that is as likely as another takes many draws where pages have few, as large values make them.
 * caret_any_child() takes what comes with the first; it does step 2 too, as else a child with much below it came all
 * the time, but not for long.
 */
#include "api/session.h"
#include "base/key.h"
#include "base/rand.h"

#define DRAWS 400u /* before the children are gone through; arbitrary */
#define FEW   16u  /* of caret_any_child(), before it takes any entry's; arbitrary */

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

/* Through all of them; `n` is the first. */
static int reservoir(caret_session *s, caret_node *n, struct caret__rand *r)
{
    caret_node_buf at;
    int rc = caret_node_copy(&at.node, sizeof at, n);

    for (uint32_t i = 2; rc == CARET_OK; i++) {
        rc = caret_next(s, &at.node);
        if (rc == CARET_OK && caret__rand_below(r, i) == 0)
            rc = caret_node_copy(n, sizeof *n + caret__node(n)->key_cap, &at.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* From the entries of the tree, if these are what counts. */
static int drawn(caret_session *s, caret_node *n, caret_node *child, struct caret__rand *r, bool fair)
{
    int rc = CARET_NONE;

    if (caret__node(n)->local || s->observes || s->remote != NULL || s->txn.snapshot != NULL ||
        s->txn.changed)
        return CARET_NONE;
    for (unsigned i = 0; rc == CARET_NONE && i < (fair ? DRAWS : FEW + FEW); i++) {
        caret__node_take_key(caret__node(child), caret__node_key(caret__node(n)), caret__node(n)->key_len);
        rc = draw(s, caret__node(child), r, fair ? FAIR : i < FEW ? ROUGH : WHATEVER);
    }
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
    rc = drawn(s, n, &child.node, &rand, fair);
    if (rc == CARET_NONE) {
        rc = caret_node_copy(&child.node, sizeof child, n);
        if (rc == CARET_OK)
            rc = caret_first(s, &child.node);
        if (rc == CARET_OK)
            rc = reservoir(s, &child.node, &rand);
    }
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
