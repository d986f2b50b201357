/*
 * data.c - what nodes do with data: get, set, kill, subtrees.
 *
 * Arguments become bytes first, and then the session is asked for: making bytes may run code of the program's, which
 * may use the same session.  What a call answers points to memory of the session, and becomes an object at once.
 */
#include "python/binding.h"

#include <string.h>

/* ----------------------------------------------------------- reading */

static inline PyObject *value_of(struct caret__py_node *n, caret_slice v)
{
    if (n->view == NULL)
        return caret__py_str_again(&n->owner->state->known, v.data, v.len);
    return caret__py_value(n->view, v);
}

PyObject *caret__py_get_value(PyObject *self, void *closure)
{
    struct caret__py_node *n = caret__py_as(self);
    caret_session *s = caret__py_enter(n->owner);
    caret_slice v;

    (void)closure;
    if (s == NULL)
        return NULL;
    int rc = caret_get(s, &n->node, &v);
    if (__builtin_expect(rc == CARET_OK, 1))
        return value_of(n, v);
    if (rc == CARET_NONE)
        Py_RETURN_NONE;
    return caret__py_raise(n->owner, rc);
}

/* The value: 1 there is one, 0 there is none, -1 an exception. */
static int look(struct caret__py_node *n, caret_slice *v)
{
    caret_session *s = caret__py_enter(n->owner);
    int rc = s == NULL ? CARET__PY_SET : caret_get(s, &n->node, v);

    if (rc != CARET_OK && rc != CARET_NONE)
        caret__py_raise(n->owner, rc);
    return rc == CARET_OK ? 1 : rc == CARET_NONE ? 0 : -1;
}

PyObject *caret__py_get_bytes(PyObject *self, void *closure)
{
    caret_slice v;
    int there = look(caret__py_as(self), &v);

    (void)closure;
    if (there == 0)
        Py_RETURN_NONE;
    return there < 0 ? NULL : PyBytes_FromStringAndSize(v.data, (Py_ssize_t)v.len);
}

bool caret__py_few(Py_ssize_t nargs, const char *name)
{
    if (nargs > 1)
        caret__py_type_error("%s() takes at most one argument, not %zd", name, nargs);
    return nargs <= 1;
}

static PyObject *otherwise(PyObject *const *args, Py_ssize_t nargs)
{
    return Py_NewRef(nargs > 0 ? args[0] : Py_None);
}

static PyObject *get(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    caret_slice v;

    if (!caret__py_few(nargs, "get"))
        return NULL;
    int there = look(caret__py_as(self), &v);
    if (there == 0)
        return otherwise(args, nargs);
    return there < 0 ? NULL : value_of(caret__py_as(self), v);
}

static PyObject *get_int(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    caret_slice v;

    if (!caret__py_few(nargs, "int"))
        return NULL;
    int there = look(caret__py_as(self), &v);
    if (there == 0)
        return otherwise(args, nargs);
    return there < 0 ? NULL : caret__py_integer(caret__py_as(self)->owner->state, v.data, v.len);
}

static PyObject *get_number(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    caret_slice v;

    if (!caret__py_few(nargs, "number"))
        return NULL;
    int there = look(caret__py_as(self), &v);
    if (there == 0)
        return otherwise(args, nargs);
    return there < 0 ? NULL : caret__py_number(caret__py_as(self)->owner->state, v.data, v.len);
}

static PyObject *get_float(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    caret_slice v;

    if (!caret__py_few(nargs, "float"))
        return NULL;
    int there = look(caret__py_as(self), &v);
    if (there == 0)
        return otherwise(args, nargs);
    PyObject *text = there < 0 ? NULL : caret__py_str(v.data, v.len);
    PyObject *made = text == NULL ? NULL : PyFloat_FromString(text);
    Py_XDECREF(text);
    return made;
}

/* As of $DATA; -1: an exception is set. */
static int data_of(struct caret__py_owner *o, caret_node *n)
{
    caret_session *s = caret__py_enter(o);
    int data = 0, rc = s == NULL ? CARET__PY_SET : caret_data(s, n, &data);

    if (rc == CARET_OK)
        return data;
    caret__py_raise(o, rc);
    return -1;
}

PyObject *caret__py_get_data(PyObject *self, void *closure)
{
    int data = data_of(caret__py_as(self)->owner, &caret__py_as(self)->node), what = *(const int *)closure;

    if (data < 0)
        return NULL;
    return what == 0 ? PyLong_FromLong(data) : PyBool_FromLong(what == 1 ? data % 10 : data >= 10);
}

/* A subscript, or a path of them. */
static int child_at(struct caret__py_node *n, caret_node_buf *at, PyObject *sub)
{
    struct caret__py_state *st = n->owner->state;

    if (!PyTuple_Check(sub))
        return caret__py_child(st, &at->node, sizeof *at, &n->node, sub);
    int rc = caret_node_copy(&at->node, sizeof *at, &n->node);
    for (Py_ssize_t i = 0; i < PyTuple_Size(sub) && rc == CARET_OK; i++)
        rc = caret__py_child(st, &at->node, sizeof *at, &at->node, PyTuple_GetItem(sub, i));
    return rc;
}

int caret__py_contains(PyObject *self, PyObject *sub)
{
    struct caret__py_node *n = caret__py_as(self);
    caret_node_buf at;
    int rc = child_at(n, &at, sub);

    if (rc != CARET_OK) {
        caret__py_raise(n->owner, rc);
        return -1;
    }
    int data = data_of(n->owner, &at.node);
    return data < 0 ? -1 : data != 0;
}

static PyObject *count(PyObject *self, PyObject *none)
{
    caret_session *s = caret__py_enter(caret__py_as(self)->owner);
    uint64_t nodes = 0;
    int rc = s == NULL ? CARET__PY_SET : caret_count(s, &caret__py_as(self)->node, &nodes);

    (void)none;
    return rc == CARET_OK ? PyLong_FromUnsignedLongLong(nodes)
                          : caret__py_raise(caret__py_as(self)->owner, rc);
}

/* ----------------------------------------------------------- writing */

static PyObject *done(struct caret__py_node *n, int rc)
{
    if (rc == CARET_OK)
        Py_RETURN_NONE;
    return caret__py_raise(n->owner, rc);
}

static inline int set_at(struct caret__py_node *n, caret_node *at, PyObject *value)
{
    struct caret__py_text t;

    if (n->view == NULL && PyUnicode_CheckExact(value)) { /* most of them */
        t.data = PyUnicode_AsUTF8AndSize(value, &t.len);
        if (__builtin_expect(t.data != NULL, 1)) {
            caret_session *s = caret__py_enter(n->owner);
            return s == NULL ? CARET__PY_SET : caret_set(s, at, t.data, (size_t)t.len);
        }
        PyErr_Clear(); /* made in another way below */
    }
    if (caret__py_value_text(n, value, &t) < 0)
        return CARET__PY_SET;
    caret_session *s = caret__py_enter(n->owner);
    int rc = s == NULL ? CARET__PY_SET : caret_set(s, at, t.data, (size_t)t.len);
    caret__py_drop(&t);
    return rc;
}

typedef int change(caret_session *s, caret_node *n);

static int change_at(struct caret__py_node *n, caret_node *at, change *f)
{
    caret_session *s = caret__py_enter(n->owner);
    return s == NULL ? CARET__PY_SET : f(s, at);
}

int caret__py_set_value(PyObject *self, PyObject *value, void *closure)
{
    struct caret__py_node *n = caret__py_as(self);
    int rc = value != NULL ? set_at(n, &n->node, value) : change_at(n, &n->node, caret_delete);

    (void)closure;
    if (__builtin_expect(rc == CARET_OK, 1))
        return 0;
    caret__py_raise(n->owner, rc);
    return -1;
}

static PyObject *set(PyObject *self, PyObject *value)
{
    return done(caret__py_as(self), set_at(caret__py_as(self), &caret__py_as(self)->node, value));
}

static PyObject *delete (PyObject *self, PyObject *none)
{
    (void)none;
    return done(caret__py_as(self), change_at(caret__py_as(self), &caret__py_as(self)->node, caret_delete));
}

static PyObject *kill(PyObject *self, PyObject *none)
{
    (void)none;
    return done(caret__py_as(self), change_at(caret__py_as(self), &caret__py_as(self)->node, caret_kill));
}

/* n[sub] += 1 ends by n[sub] = the node itself. */
static int assign_node(struct caret__py_node *n, caret_node *at, struct caret__py_node *value)
{
    int same = caret__py_same_database(n->owner, value->owner);

    if (same > 0 && caret_node_equal(at, &value->node))
        return CARET_OK;
    if (same >= 0)
        caret__py_type_error("a node is not a value; did you mean its .value?");
    return CARET__PY_SET;
}

int caret__py_assign(PyObject *self, PyObject *sub, PyObject *value)
{
    struct caret__py_node *n = caret__py_as(self);
    caret_node_buf at;
    int rc;

    if (PySlice_Check(sub)) {
        if (value == NULL)
            return caret__py_kill_slice(n, sub);
        caret__py_type_error("values can't be assigned to a range");
        return -1;
    }
    rc = child_at(n, &at, sub);
    if (rc == CARET_OK && value == NULL)
        rc = change_at(n, &at.node, caret_kill);
    else if (rc == CARET_OK && caret__py_is_node(n->owner->state, value))
        rc = assign_node(n, &at.node, caret__py_as(value));
    else if (rc == CARET_OK)
        rc = set_at(n, &at.node, value);
    if (rc != CARET_OK)
        caret__py_raise(n->owner, rc);
    return rc == CARET_OK ? 0 : -1;
}

/* ----------------------------------------------------------- both at once */

/* (was it put, what was there as of $DATA, the value before) */
static PyObject *put_result(struct caret__py_node *n, int rc, int had, caret_slice old)
{
    PyObject *was = old.data == NULL ? Py_NewRef(Py_None) : value_of(n, old);
    return was == NULL ? NULL : Py_BuildValue("(NiN)", PyBool_FromLong(rc == CARET_OK), had, was);
}

/* _put(value, flags[, old]): with CARET_PUT_SAME `old` is what must be there, None for no value */
static PyObject *put(PyObject *self, PyObject *args)
{
    struct caret__py_node *n = caret__py_as(self);
    struct caret__py_text t, expected = {NULL, 0, NULL, ""};
    PyObject *value, *before = Py_None;
    caret_slice old = {NULL, 0};
    int flags, had = 0, rc = CARET__PY_SET;

    if (!PyArg_ParseTuple(args, "Oi|O", &value, &flags, &before) || caret__py_value_text(n, value, &t) < 0)
        return NULL;
    if (before == Py_None || caret__py_value_text(n, before, &expected) == 0) {
        old = (caret_slice){expected.data, (size_t)expected.len};
        caret_session *s = caret__py_enter(n->owner);
        rc = s == NULL ? CARET__PY_SET : caret_put(s, &n->node, t.data, (size_t)t.len, flags, &had, &old);
    }
    caret__py_drop(&t);
    caret__py_drop(&expected);
    return rc == CARET_OK || rc == CARET_NONE ? put_result(n, rc, had, old) : caret__py_raise(n->owner, rc);
}

/* ----------------------------------------------------------- subtrees */

typedef int subtree(caret_session *s, const caret_node *to, const caret_node *from);

/* `to` and `from` of one session. */
static PyObject *subtrees(PyObject *to, PyObject *from, subtree *f)
{
    struct caret__py_owner *o = caret__py_as(to)->owner;

    if (!caret__py_is_node(o->state, to) || !caret__py_is_node(o->state, from))
        return caret__py_type_error("the other one must be a node");
    struct caret__py_link *a = caret__py_link(caret__py_as(from)->owner);
    struct caret__py_link *b = a != NULL ? caret__py_link(o) : NULL;
    if (b == NULL)
        return NULL;
    if (a != b)
        return caret__py_raise_text(o->state, CARET_E_INVALID,
                                    "INVALID: both nodes must be of one database and session");
    return done(caret__py_as(to), f(b->s, &caret__py_as(to)->node, &caret__py_as(from)->node));
}

static PyObject *merge(PyObject *self, PyObject *from)
{
    return subtrees(self, from, caret_merge);
}

static PyObject *copy_to(PyObject *self, PyObject *to)
{
    if (!caret__py_is_node(caret__py_as(self)->owner->state, to))
        return caret__py_type_error("copy_to() takes a node");
    return subtrees(to, self, caret_copy);
}

static PyObject *move_to(PyObject *self, PyObject *to)
{
    if (!caret__py_is_node(caret__py_as(self)->owner->state, to))
        return caret__py_type_error("move_to() takes a node");
    return subtrees(to, self, caret_move);
}

/* _random(r): any child, or None */
static PyObject *random_child(PyObject *self, PyObject *r)
{
    struct caret__py_node *n = caret__py_as(self);
    unsigned long long number = PyLong_AsUnsignedLongLongMask(r);
    caret_node_buf at;

    if (number == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    caret_session *s = caret__py_enter(n->owner);
    caret_node_copy(&at.node, sizeof at, &n->node);
    int rc = s == NULL ? CARET__PY_SET : caret_random_child(s, &at.node, number);
    if (rc == CARET_NONE)
        Py_RETURN_NONE;
    if (rc != CARET_OK)
        return caret__py_raise(n->owner, rc);
    return (PyObject *)caret__py_node_at(Py_TYPE(self), n->owner, n->view, &at.node);
}

/* ----------------------------------------------------------- loops */

static PyObject *keys(PyObject *self, PyObject *none)
{
    (void)none;
    return caret__py_iterate(caret__py_as(self), CARET__PY_KEYS, NULL);
}

static PyObject *values(PyObject *self, PyObject *none)
{
    (void)none;
    return caret__py_iterate(caret__py_as(self), CARET__PY_VALUES, NULL);
}

static PyObject *items(PyObject *self, PyObject *none)
{
    (void)none;
    return caret__py_iterate(caret__py_as(self), CARET__PY_ITEMS, NULL);
}

static PyObject *nodes(PyObject *self, PyObject *none)
{
    (void)none;
    return caret__py_iterate(caret__py_as(self), CARET__PY_NODES, NULL);
}

static PyObject *reversed(PyObject *self, PyObject *none)
{
    const struct caret__py_bounds b = {.back = true, .limit = -1};

    (void)none;
    return caret__py_iterate(caret__py_as(self), CARET__PY_KEYS, &b);
}

static PyObject *walk(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"depth", NULL};
    PyObject *depth = Py_None;
    Py_ssize_t levels = CARET_MAX_SUBS;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O:walk", names, &depth))
        return NULL;
    if (depth != Py_None) {
        levels = PyNumber_AsSsize_t(depth, NULL);
        if (levels == -1 && PyErr_Occurred())
            return NULL;
        if (levels < 0) {
            PyErr_SetString(PyExc_ValueError, "walk() takes a number of levels, 0 or more");
            return NULL;
        }
    }
    return caret__py_walk(caret__py_as(self), levels);
}

#define FAST(f) (PyCFunction)(void (*)(void)) f
PyMethodDef caret__py_data_methods[] = {
    {"get", FAST(get), METH_FASTCALL, "get(default=None): the value"},
    {"int", FAST(get_int), METH_FASTCALL, "int(default=None): the value as an int"},
    {"float", FAST(get_float), METH_FASTCALL, "float(default=None): the value as a float"},
    {"number", FAST(get_number), METH_FASTCALL,
     "number(default=None): the value, exactly, as int or Decimal"},
    {"set", set, METH_O, "set(value)"},
    {"delete", delete, METH_NOARGS, "Take the value away; children stay."},
    {"kill", kill, METH_NOARGS, "Take the value away, and everything below."},
    {"count", count, METH_NOARGS, "How many nodes have a value, it and all below."},
    {"_put", put, METH_VARARGS, NULL},
    {"merge", merge, METH_O, "merge(source): set here what is at source and below"},
    {"copy_to", copy_to, METH_O, "copy_to(target): make target, and what is below, like this"},
    {"move_to", move_to, METH_O, "move_to(target): copy, then kill this"},
    {"_random", random_child, METH_O, NULL},
    {"keys", keys, METH_NOARGS, "The subscripts of the children."},
    {"values", values, METH_NOARGS, "The values of the children; None where there is none."},
    {"items", items, METH_NOARGS, "Pairs of subscript and value, of the children."},
    {"nodes", nodes, METH_NOARGS, "The children."},
    {"walk", FAST(walk), METH_VARARGS | METH_KEYWORDS, "walk(depth=None): all nodes below that have a value"},
    {"prefix", caret__py_prefix, METH_O,
     "prefix(text): the children whose subscripts are strings that begin so"},
    {"__reversed__", reversed, METH_NOARGS, "The subscripts of the children, from the last to the first."},
    {NULL, NULL, 0, NULL},
};
