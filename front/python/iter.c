/*
 * iter.c - loops over children, over subtrees, and over the names of variables.
 *
 * An iterator has a cursor with room for any key.  What it hands out are fresh objects, so that nothing moves under the
 * program.  Changing what is being walked is allowed: a step goes to what comes next then.  A step may let the GIL go
 * while it waits, and calls the function of a view; another step meanwhile is refused (`busy`).  A step that fails
 * leaves the cursor where it was: the next one is the same step again.
 *
 *     BEFORE --first step--> AMONG --none is left--> OVER
 */
#include "python/binding.h"

#include <string.h>

enum stage { BEFORE, AMONG, OVER };

struct iter {
    PyObject ob_base;
    struct caret__py_owner *owner;
    PyObject *view;      /* of the node; NULL: str */
    PyTypeObject *class; /* of nodes */
    PyObject *pair;      /* that items() gave last: it is given again if nobody else has it */
    enum caret__py_what what;
    enum stage stage;
    bool busy, bounded;
    bool quick; /* subscripts forward, without bounds or limit, and not the first one: most steps */
    unsigned top, deepest; /* of a walk: levels */
    struct caret__py_bounds bounds;
    caret_slice from, to; /* of the bounds */
    Py_ssize_t left;      /* steps; -1: no limit */
    caret_node_buf at;
};

static struct iter *as_iter(PyObject *o)
{
    return (struct iter *)o;
}

static struct iter *iter_new(struct caret__py_owner *o, PyTypeObject *class, PyObject *view,
                             enum caret__py_what what)
{
    struct iter *it = PyObject_New(struct iter, o->state->iter);

    if (it == NULL)
        return NULL;
    memset(&it->owner, 0, offsetof(struct iter, at) - offsetof(struct iter, owner));
    it->owner = (struct caret__py_owner *)Py_NewRef((PyObject *)o);
    it->class = (PyTypeObject *)Py_XNewRef((PyObject *)class);
    it->view = Py_XNewRef(view);
    it->what = what;
    it->left = -1;
    return it;
}

static void dealloc(PyObject *self)
{
    struct iter *it = as_iter(self);
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(it->bounds.from);
    Py_XDECREF(it->bounds.to);
    Py_XDECREF(it->view);
    Py_XDECREF(it->pair);
    Py_XDECREF((PyObject *)it->class);
    Py_XDECREF((PyObject *)it->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *caret__py_iterate(struct caret__py_node *n, enum caret__py_what what,
                            const struct caret__py_bounds *b)
{
    struct iter *it = iter_new(n->owner, Py_TYPE((PyObject *)n), n->view, what);

    if (it == NULL)
        return NULL;
    caret_node_copy(&it->at.node, sizeof it->at, &n->node);
    if (b != NULL) {
        it->bounds = *b;
        Py_XINCREF(b->from);
        Py_XINCREF(b->to);
        caret__py_slices(&it->bounds, &it->from, &it->to);
        it->bounded = b->from != NULL || b->to != NULL;
        it->left = b->limit;
    }
    return (PyObject *)it;
}

PyObject *caret__py_walk(struct caret__py_node *n, Py_ssize_t levels)
{
    struct iter *it = (struct iter *)caret__py_iterate(n, CARET__PY_WALK, NULL);

    if (it == NULL)
        return NULL;
    it->top = caret_node_depth(&n->node);
    it->deepest =
        levels < (Py_ssize_t)(CARET_MAX_SUBS - it->top) ? it->top + (unsigned)levels : CARET_MAX_SUBS;
    it->stage = levels == 0 ? OVER : AMONG;
    return (PyObject *)it;
}

PyObject *caret__py_names(struct caret__py_owner *o, int local)
{
    struct iter *it = iter_new(o, NULL, NULL, CARET__PY_NAMES);

    if (it != NULL)
        it->top = local != 0;
    return (PyObject *)it;
}

/* ----------------------------------------------------------- steps */

/* The value at a place that was come to without it: data NULL if there is none. */
static int value_here(caret_session *s, struct iter *it, caret_slice *value)
{
    int rc = caret_get(s, &it->at.node, value);

    if (rc == CARET_NONE)
        *value = (caret_slice){NULL, 0};
    else if (rc == CARET_OK && value->data == NULL)
        value->data = ""; /* an empty one */
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int first_step(caret_session *s, struct iter *it)
{
    const caret_slice *from = it->bounds.from != NULL ? &it->from : NULL;
    const caret_slice *to = it->bounds.to != NULL ? &it->to : NULL;

    if (it->bounded)
        return (it->bounds.back ? caret_last_in : caret_first_in)(s, &it->at.node, from, to,
                                                                  it->bounds.flags);
    return (it->bounds.back ? caret_last : caret_first)(s, &it->at.node);
}

static bool inside(struct iter *it)
{
    return !it->bounded || caret_node_in(&it->at.node, it->bounds.from != NULL ? &it->from : NULL,
                                         it->bounds.to != NULL ? &it->to : NULL, it->bounds.flags);
}

/* Among children; `value` is wanted unless it is NULL. */
static inline int sibling_step(caret_session *s, struct iter *it, caret_slice *value)
{
    int rc;

    if (it->stage == BEFORE) {
        rc = first_step(s, it);
        if (rc == CARET_OK && value != NULL && (rc = value_here(s, it, value)) != CARET_OK)
            caret_node_parent(&it->at.node, sizeof it->at, &it->at.node);
        if (rc == CARET_OK)
            it->stage = AMONG;
        return rc;
    }
    if (it->bounds.back)
        rc = value != NULL ? caret_previous_get(s, &it->at.node, value) : caret_previous(s, &it->at.node);
    else
        rc = value != NULL ? caret_next_get(s, &it->at.node, value) : caret_next(s, &it->at.node);
    return rc == CARET_OK && !inside(it) ? CARET_NONE : rc;
}

/* To the next sibling of the node, or of the nearest node above that has one; its value, if it has one. */
static int beyond(caret_session *s, struct iter *it, caret_slice *value)
{
    while (caret_node_depth(&it->at.node) > it->top) {
        int rc = caret_next_get(s, &it->at.node, value);
        if (rc != CARET_NONE)
            return rc;
        caret_node_parent(&it->at.node, sizeof it->at, &it->at.node);
    }
    return CARET_NONE;
}

/* Is the cursor below the node at which the walk began, whose level is `top`?  `before` was. */
static bool below(struct iter *it, const caret_node *before)
{
    caret_node_buf a, b;

    if (caret_node_depth(&it->at.node) <= it->top)
        return false;
    caret_node_copy(&a.node, sizeof a, &it->at.node);
    while (caret_node_depth(&a.node) > it->top)
        caret_node_parent(&a.node, sizeof a, &a.node);
    caret_node_copy(&b.node, sizeof b, before);
    while (caret_node_depth(&b.node) > it->top)
        caret_node_parent(&b.node, sizeof b, &b.node);
    return caret_node_equal(&a.node, &b.node);
}

/* To the next node with a value that is not too deep. */
static int walk_step(caret_session *s, struct iter *it, caret_slice *value)
{
    caret_node_buf before;
    int rc;

    for (;;) {
        caret_node_copy(&before.node, sizeof before, &it->at.node);
        if (caret_node_depth(&it->at.node) >= it->deepest) {
            rc = beyond(s, it, value);
            if (rc != CARET_OK && rc != CARET_NONE)
                caret_node_copy(&it->at.node, sizeof it->at, &before.node);
            if (rc != CARET_OK || value->data != NULL)
                return rc;
        }
        rc = caret_node_next_get(s, &it->at.node, value);
        if (rc != CARET_OK || !below(it, &before.node))
            return rc == CARET_OK ? CARET_NONE : rc;
        if (caret_node_depth(&it->at.node) <= it->deepest)
            return CARET_OK;
        while (caret_node_depth(&it->at.node) > it->deepest)
            caret_node_parent(&it->at.node, sizeof it->at, &it->at.node);
    }
}

static int names_step(caret_session *s, struct iter *it)
{
    int rc = it->stage == BEFORE ? caret_first_var(s, &it->at.node, sizeof it->at, (int)it->top)
                                 : caret_next(s, &it->at.node);
    if (rc == CARET_OK)
        it->stage = AMONG;
    return rc;
}

static inline int step(caret_session *s, struct iter *it, caret_slice *value)
{
    switch (it->what) {
    case CARET__PY_WALK: return walk_step(s, it, value);
    case CARET__PY_NAMES: return names_step(s, it);
    case CARET__PY_KEYS:
    case CARET__PY_NODES: return sibling_step(s, it, NULL);
    default: return sibling_step(s, it, value);
    }
}

/* ----------------------------------------------------------- what is handed out */

static PyObject *value_made(struct iter *it, caret_slice v)
{
    return v.data == NULL ? Py_NewRef(Py_None) : caret__py_value(it->view, v);
}

/* Has nobody the pair that was given last?  Then it can be filled again, as Python's own iterators of pairs do.  Not
 * with a view: what that makes might have a cycle through the pair, of which the collector would not know. */
static inline bool pair_free(const struct iter *it)
{
#ifdef Py_GIL_DISABLED
    (void)it;
    return false; /* the count is not all there is */
#else
    return it->pair != NULL && Py_REFCNT(it->pair) == 1;
#endif
}

/* The value first: it is the session's, and what comes after may use that. */
static PyObject *item_made(struct iter *it, caret_slice v)
{
    PyObject *value = value_made(it, v), *sub = value != NULL ? caret__py_last_sub(&it->at.node) : NULL;
    bool again = pair_free(it);
    PyObject *pair = sub == NULL ? NULL : again ? it->pair : PyTuple_New(2);

    if (pair == NULL) {
        Py_XDECREF(value);
        Py_XDECREF(sub);
        return NULL;
    }
    PyTuple_SetItem(pair, 0, sub);
    PyTuple_SetItem(pair, 1, value);
    if (again)
        Py_INCREF(pair);
    else if (it->pair == NULL && it->view == NULL)
        it->pair = Py_NewRef(pair);
    return pair;
}

static PyObject *made(struct iter *it, caret_slice v)
{
    char name[CARET_MAX_NAME + 2];
    caret_slice text;

    switch (it->what) {
    case CARET__PY_KEYS: return caret__py_last_sub(&it->at.node);
    case CARET__PY_VALUES: return value_made(it, v);
    case CARET__PY_ITEMS: return item_made(it, v);
    case CARET__PY_NODES:
    case CARET__PY_WALK: return (PyObject *)caret__py_node_at(it->class, it->owner, it->view, &it->at.node);
    default: break;
    }
    text = caret_node_name(&it->at.node, name);
    return caret__py_str(text.data, text.len);
}

static PyObject *no_step(struct iter *it, int rc)
{
    if (rc != CARET_NONE)
        return caret__py_raise(it->owner, rc);
    it->stage = OVER;
    return NULL;
}

static PyObject *any_step(struct iter *it, caret_session *s)
{
    caret_slice v = {NULL, 0};

    it->busy = true;
    int rc = step(s, it, &v);
    PyObject *result =
        rc == CARET_OK ? made(it, v) : no_step(it, rc); /* a view's function may come here again */
    it->busy = false;
    if (rc != CARET_OK)
        return result;
    it->left -= it->left > 0;
    it->quick = it->what == CARET__PY_KEYS && !it->bounded && !it->bounds.back && it->left < 0;
    return result;
}

/* It is not quick while it is taken: so another one meanwhile comes to see that this one is busy. */
static inline PyObject *quick_step(struct iter *it, caret_session *s)
{
    int64_t v;

    it->quick = false;
    it->busy = true;
    int rc = caret_next(s, &it->at.node);
    it->busy = false;
    if (__builtin_expect(rc == CARET_NONE, 0))
        return no_step(it, rc);
    it->quick = true;
    if (__builtin_expect(rc != CARET_OK, 0))
        return no_step(it, rc);
    return caret_node_last_as_int(&it->at.node, &v) ? PyLong_FromLongLong(v)
                                                    : caret__py_last_sub(&it->at.node);
}

static __attribute__((noinline)) PyObject *other_next(struct iter *it)
{
    if (it->stage == OVER || it->left == 0)
        return NULL;
    if (it->busy) {
        PyErr_SetString(PyExc_ValueError,
                        "a step of this iterator is being taken, by another thread or around this call");
        return NULL;
    }
    caret_session *s = caret__py_enter(it->owner);
    return s == NULL ? NULL : any_step(it, s);
}

static PyObject *next(PyObject *self)
{
    struct iter *it = as_iter(self);

    if (__builtin_expect(!it->quick, 0))
        return other_next(it);
    caret_session *s = caret__py_enter(it->owner);
    return s == NULL ? NULL : quick_step(it, s);
}

static PyObject *itself(PyObject *self)
{
    return Py_NewRef(self);
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_iter, itself},
    {Py_tp_iternext, next},
    {0, NULL},
};
static PyType_Spec spec = {"caret._core.Iter", sizeof(struct iter), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int caret__py_add_iter(PyObject *module, struct caret__py_state *st)
{
    st->iter = caret__py_type(module, &spec, "Iter");
    return st->iter == NULL ? -1 : 0;
}
