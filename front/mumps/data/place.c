/*
 * place.c - globals: what a program's text refers to, and what is done there.
 *
 * A place belongs to one thread, as its session does.  What is returned as text belongs to the session, or to this file
 * where it is a subscript: it is to be taken before the next call.
 */
#include <string.h>

#include "base/number.h"
#include "mumps/data/data.h"

#define LEVEL_ROOM 1152 /* bytes of a subscript or a name */

static char subscript[LEVEL_ROOM];
static uint64_t to_inject;

_Static_assert(CARET_NODE_MAX / 8 == 144, "exports.def says 144");

static inline caret_node *node(const caret_mumps__place *p)
{
    return (caret_node *)(uintptr_t)p->node;
}

/* Before each call on data: may it be made? */
static inline int enter(const caret_mumps__place *p)
{
    if (p->s == NULL)
        return CARET_MUMPS__CLOSED;
    if (to_inject != 0 && caret_txn_level(p->s) != 0 && --to_inject == 0)
        return CARET_RESTART;
    return CARET_OK;
}

void caret_mumps__inject(double n)
{
    to_inject = (uint64_t)n;
}

double caret_mumps__injected(void)
{
    return (double)to_inject;
}

/* ------------------------------------------------------------------ answers */

/* Is it an integer as a program writes it, with at most 15 digits? */
static inline bool plain(const char *s, size_t n, double *out)
{
    bool negative = n > 1 && s[0] == '-';
    size_t i = negative;
    int64_t v = 0;

    if (n == 0 || n > 15 + i || (s[i] == '0' && n > 1))
        return false;
    for (; i < n; i++) {
        unsigned digit = (unsigned)((unsigned char)s[i] - '0');
        if (digit > 9)
            return false;
        v = v * 10 + (int)digit;
    }
    *out = (double)(negative ? -v : v);
    return true;
}

static inline int answer(caret_mumps__place *p, const char *data, size_t len)
{
    if (plain(data, len, &p->number))
        return CARET_MUMPS__NUMBER;
    p->text = data;
    p->len = len;
    return CARET_MUMPS__TEXT;
}

static inline int answer_value(caret_mumps__place *p, int rc, const caret_slice *v)
{
    return rc == CARET_OK ? answer(p, v->data, v->len) : rc;
}

static int answer_last(caret_mumps__place *p)
{
    int64_t v;
    unsigned depth = caret_node_depth(node(p));

    if (caret_node_last_as_int(node(p), &v) && v <= INT64_C(999999999999999) &&
        v >= -INT64_C(999999999999999)) {
        p->number = (double)v;
        return CARET_MUMPS__NUMBER;
    }
    p->text = subscript;
    int rc = caret_node_subscript(node(p), depth - 1, subscript, sizeof subscript, &p->len, NULL);
    return rc == CARET_OK ? CARET_MUMPS__TEXT : rc;
}

/* ------------------------------------------------------------------- places */

int caret_mumps__place_name(caret_mumps__place *p, const char *name, size_t len)
{
    return caret_node_var(node(p), sizeof p->node, name, len);
}

int caret_mumps__place_copy(caret_mumps__place *p, const caret_mumps__place *from)
{
    p->s = from->s;
    return caret_node_copy(node(p), sizeof p->node, node(from));
}

unsigned caret_mumps__place_depth(const caret_mumps__place *p)
{
    return caret_node_depth(node(p));
}

int caret_mumps__place_sub(caret_mumps__place *p, unsigned i)
{
    int rc = caret_node_subscript(node(p), i, subscript, sizeof subscript, &p->len, NULL);

    return rc == CARET_OK ? answer(p, subscript, p->len) : rc;
}

int caret_mumps__below(const caret_mumps__place *p, const caret_mumps__place *root)
{
    caret_node_buf up;
    unsigned depth = caret_node_depth(node(root));

    if (caret_node_depth(node(p)) <= depth || caret_node_copy(&up.node, sizeof up, node(p)) != CARET_OK)
        return 0;
    caret_node_cut(&up.node, depth);
    return caret_node_equal(&up.node, node(root));
}

static inline int aim(caret_mumps__place *p, unsigned level, double sub)
{
    unsigned depth = caret_node_depth(node(p));

    if (depth == level + 1)
        return caret_node_set_last_int(node(p), (int64_t)sub);
    if (depth > level)
        caret_node_cut(node(p), level);
    return caret_node_child_int(node(p), sizeof p->node, node(p), (int64_t)sub);
}

static inline int aim_text(caret_mumps__place *p, unsigned level, const char *sub, size_t len)
{
    unsigned depth = caret_node_depth(node(p));

    if (depth == level + 1)
        return caret_node_set_last(node(p), sub, len);
    if (depth > level)
        caret_node_cut(node(p), level);
    return caret_node_child(node(p), sizeof p->node, node(p), sub, len);
}

int caret_mumps__aim_i(caret_mumps__place *p, unsigned level, double sub)
{
    return aim(p, level, sub);
}

int caret_mumps__aim_t(caret_mumps__place *p, unsigned level, const char *sub, size_t len, int empty)
{
    return len == 0 && !empty ? CARET_MUMPS__NULSUBSC : aim_text(p, level, sub, len);
}

int caret_mumps__cut(caret_mumps__place *p, unsigned level)
{
    return caret_node_cut(node(p), level);
}

/* ------------------------------------------------------------------- values */

static inline int get(caret_mumps__place *p)
{
    caret_slice v;
    int rc = enter(p);

    return rc == CARET_OK ? answer_value(p, caret_get(p->s, node(p), &v), &v) : rc;
}

int caret_mumps__get(caret_mumps__place *p)
{
    return get(p);
}

int caret_mumps__get_i(caret_mumps__place *p, unsigned level, double sub)
{
    int rc = aim(p, level, sub);

    return rc == CARET_OK ? get(p) : rc;
}

int caret_mumps__get_t(caret_mumps__place *p, unsigned level, const char *sub, size_t len)
{
    int rc = caret_mumps__aim_t(p, level, sub, len, 0);

    return rc == CARET_OK ? get(p) : rc;
}

int caret_mumps__set_t(caret_mumps__place *p, const char *value, size_t len)
{
    int rc = enter(p);

    return rc == CARET_OK ? caret_set(p->s, node(p), value, len) : rc;
}

int caret_mumps__set_i(caret_mumps__place *p, double value)
{
    char text[CARET__NUM_MAX];

    return caret_mumps__set_t(p, text, caret__i64_format((int64_t)value, text));
}

int caret_mumps__set_ii(caret_mumps__place *p, unsigned level, double sub, double value)
{
    int rc = aim(p, level, sub);

    return rc == CARET_OK ? caret_mumps__set_i(p, value) : rc;
}

int caret_mumps__set_it(caret_mumps__place *p, unsigned level, double sub, const char *value, size_t len)
{
    int rc = aim(p, level, sub);

    return rc == CARET_OK ? caret_mumps__set_t(p, value, len) : rc;
}

int caret_mumps__kill(caret_mumps__place *p)
{
    int rc = enter(p);

    return rc == CARET_OK ? caret_kill(p->s, node(p)) : rc;
}

int caret_mumps__zkill(caret_mumps__place *p)
{
    int rc = enter(p);

    return rc == CARET_OK ? caret_delete(p->s, node(p)) : rc;
}

int caret_mumps__incr(caret_mumps__place *p, const char *by, size_t len)
{
    caret_slice v;
    int rc = enter(p);

    return rc == CARET_OK ? answer_value(p, caret_incr_m(p->s, node(p), by, len, &v), &v) : rc;
}

int caret_mumps__data(caret_mumps__place *p)
{
    int data, rc = enter(p);

    if (rc == CARET_OK)
        rc = caret_data(p->s, node(p), &data);
    if (rc == CARET_OK)
        p->number = data;
    return rc;
}

int caret_mumps__data_i(caret_mumps__place *p, unsigned level, double sub)
{
    int rc = aim(p, level, sub);

    return rc == CARET_OK ? caret_mumps__data(p) : rc;
}

int caret_mumps__merge(caret_mumps__place *to, const caret_mumps__place *from)
{
    int rc = enter(to);

    return rc == CARET_OK ? caret_merge(to->s, node(to), node(from)) : rc;
}

/* ------------------------------------------------------------------- moving */

int caret_mumps__next(caret_mumps__place *p)
{
    int rc = enter(p);

    if (rc == CARET_OK)
        rc = caret_next(p->s, node(p));
    return rc == CARET_OK ? answer_last(p) : rc;
}

int caret_mumps__next_i(caret_mumps__place *p, unsigned level, double sub)
{
    int rc = aim(p, level, sub);

    return rc == CARET_OK ? caret_mumps__next(p) : rc;
}

int caret_mumps__first(caret_mumps__place *p, unsigned level)
{
    int rc = aim_text(p, level, "", 0);

    return rc == CARET_OK ? caret_mumps__next(p) : rc;
}

int caret_mumps__first_i(caret_mumps__place *p, unsigned level, double sub)
{
    int rc = aim(p, level, sub);

    return rc == CARET_OK ? caret_mumps__first(p, level + 1) : rc;
}

/* Whether there is one is seen beside the node above, without a search, as that was found by a step. */
int caret_mumps__first_of(caret_mumps__place *p, const caret_mumps__place *above)
{
    int data, rc = enter(above);

    if (rc == CARET_OK)
        rc = caret_data(above->s, node(above), &data);
    if (rc == CARET_OK)
        rc = caret_node_child(node(p), sizeof p->node, node(above), "", 0);
    if (rc == CARET_OK)
        rc = data < 10 ? CARET_NONE : caret_next(p->s, node(p));
    return rc == CARET_OK ? answer_last(p) : rc;
}

/* Is the last subscript the empty one? */
static bool ends_empty(const caret_mumps__place *p)
{
    char none;
    size_t len;
    unsigned depth = caret_node_depth(node(p));

    return depth > 0 && caret_node_subscript(node(p), depth - 1, &none, 0, &len, NULL) == CARET_OK;
}

/* Before the empty subscript is the last one. */
static int previous(caret_mumps__place *p)
{
    if (!ends_empty(p))
        return caret_previous(p->s, node(p));
    caret_node_cut(node(p), caret_node_depth(node(p)) - 1);
    int rc = caret_last(p->s, node(p));
    return rc == CARET_NONE ? caret_node_child(node(p), sizeof p->node, node(p), "", 0) == CARET_OK
                                  ? CARET_NONE
                                  : CARET_E_INVALID
                            : rc;
}

int caret_mumps__prev(caret_mumps__place *p)
{
    int rc = enter(p);

    if (rc == CARET_OK)
        rc = previous(p);
    return rc == CARET_OK ? answer_last(p) : rc;
}

/* On the way back from the empty subscript: the last node below the parent, which is the parent if it has none. */
static int last_of_all(caret_mumps__place *p, caret_slice *v)
{
    unsigned above = caret_node_depth(node(p)) - 1;
    int rc;

    caret_node_cut(node(p), above);
    do
        rc = caret_last(p->s, node(p));
    while (rc == CARET_OK);
    if (rc != CARET_NONE)
        return rc;
    rc = caret_get(p->s, node(p), v);
    return rc == CARET_NONE && above != 0 && caret_node_depth(node(p)) == above
               ? caret_node_previous_get(p->s, node(p), v)
               : rc;
}

int caret_mumps__query(caret_mumps__place *p, int back)
{
    caret_slice v;
    int rc = enter(p);

    if (rc != CARET_OK)
        return rc;
    if (back && ends_empty(p))
        return answer_value(p, last_of_all(p, &v), &v);
    rc = back ? caret_node_previous_get(p->s, node(p), &v) : caret_node_next_get(p->s, node(p), &v);
    return answer_value(p, rc, &v);
}

int caret_mumps__next_global(caret_mumps__place *p, int back)
{
    int rc = enter(p);

    if (rc == CARET_OK)
        rc = back ? caret_previous(p->s, node(p)) : caret_next(p->s, node(p));
    if (rc != CARET_OK)
        return rc;
    p->len = caret_node_name(node(p), subscript).len;
    p->text = subscript;
    return CARET_MUMPS__TEXT;
}
