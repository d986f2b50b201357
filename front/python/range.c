/*
 * range.c - some of the children of a node: node[2:10], node["ab":], node.prefix("ab").
 *
 * As in all of Python the end of a slice is not in it.  A step is not allowed, but -1, which goes backwards: the range
 * is the same then, node[2:10:-1] is node[2:10].reversed().
 */
#include "python/binding.h"

struct range {
    PyObject ob_base;
    struct caret__py_node *node;
    struct caret__py_bounds bounds;
};

static struct range *as_range(PyObject *o)
{
    return (struct range *)o;
}

void caret__py_slices(const struct caret__py_bounds *b, caret_slice *from, caret_slice *to)
{
    char *data;
    Py_ssize_t len;

    if (b->from != NULL && PyBytes_AsStringAndSize(b->from, &data, &len) == 0)
        *from = (caret_slice){data, (size_t)len};
    if (b->to != NULL && PyBytes_AsStringAndSize(b->to, &data, &len) == 0)
        *to = (caret_slice){data, (size_t)len};
}

static void drop(struct caret__py_bounds *b)
{
    Py_CLEAR(b->from);
    Py_CLEAR(b->to);
}

/* One bound as bytes; None: there is none. */
static int bound(struct caret__py_state *st, PyObject *o, PyObject **bytes)
{
    struct caret__py_text t;

    if (o == Py_None)
        return 0;
    if (caret__py_text(st, o, &t, "subscript") < 0)
        return -1;
    *bytes = PyBytes_FromStringAndSize(t.data, t.len);
    caret__py_drop(&t);
    return *bytes != NULL ? 0 : -1;
}

static int step_of(PyObject *step, bool *back)
{
    if (step == Py_None)
        return 0;
    Py_ssize_t v = PyNumber_AsSsize_t(step, NULL);
    if (v == -1 && PyErr_Occurred())
        return -1;
    *back = v == -1;
    if (v != 1 && v != -1)
        PyErr_SetString(PyExc_ValueError, "a range has no step, but 1 and -1");
    return v == 1 || v == -1 ? 0 : -1;
}

static int read_part(PyObject *slice, const char *name, PyObject **part)
{
    *part = PyObject_GetAttrString(slice, name);
    return *part != NULL ? 0 : -1;
}

static int bounds_of(struct caret__py_state *st, PyObject *slice, struct caret__py_bounds *b)
{
    PyObject *start = NULL, *stop = NULL, *step = NULL;
    int rc = -1;

    *b = (struct caret__py_bounds){.limit = -1};
    if (read_part(slice, "start", &start) == 0 && read_part(slice, "stop", &stop) == 0 &&
        read_part(slice, "step", &step) == 0 && bound(st, start, &b->from) == 0 &&
        bound(st, stop, &b->to) == 0)
        rc = step_of(step, &b->back);
    if (b->to != NULL)
        b->flags = CARET_RANGE_BEFORE;
    Py_XDECREF(start);
    Py_XDECREF(stop);
    Py_XDECREF(step);
    if (rc < 0)
        drop(b);
    return rc;
}

/* It takes the references of the bounds. */
PyObject *caret__py_range_of(struct caret__py_node *n, struct caret__py_bounds *b)
{
    struct range *r = PyObject_New(struct range, n->owner->state->range);

    if (r == NULL) {
        drop(b);
        return NULL;
    }
    r->node = (struct caret__py_node *)Py_NewRef((PyObject *)n);
    r->bounds = *b;
    return (PyObject *)r;
}

PyObject *caret__py_range(struct caret__py_node *n, PyObject *slice)
{
    struct caret__py_bounds b;
    return bounds_of(n->owner->state, slice, &b) < 0 ? NULL : caret__py_range_of(n, &b);
}

PyObject *caret__py_prefix(PyObject *self, PyObject *text)
{
    struct caret__py_node *n = (struct caret__py_node *)self;
    struct caret__py_bounds b = {.limit = -1, .flags = CARET_RANGE_PREFIX};

    if (!PyUnicode_Check(text) && !PyBytes_Check(text))
        return caret__py_type_error("a prefix is str or bytes");
    return bound(n->owner->state, text, &b.from) < 0 ? NULL : caret__py_range_of(n, &b);
}

static int kill_bounds(struct caret__py_node *n, const struct caret__py_bounds *b)
{
    caret_slice from, to;
    caret_session *s = caret__py_enter(n->owner);

    caret__py_slices(b, &from, &to);
    int rc = s == NULL ? CARET__PY_SET
                       : caret_kill_range(s, &n->node, b->from != NULL ? &from : NULL,
                                          b->to != NULL ? &to : NULL, b->flags);
    if (rc == CARET_OK)
        return 0;
    caret__py_raise(n->owner, rc);
    return -1;
}

int caret__py_kill_slice(struct caret__py_node *n, PyObject *slice)
{
    struct caret__py_bounds b;

    if (bounds_of(n->owner->state, slice, &b) < 0)
        return -1;
    int rc = kill_bounds(n, &b);
    drop(&b);
    return rc;
}

/* ----------------------------------------------------------- the class */

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    drop(&as_range(self)->bounds);
    Py_DECREF((PyObject *)as_range(self)->node);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *loop(PyObject *self, enum caret__py_what what)
{
    return caret__py_iterate(as_range(self)->node, what, &as_range(self)->bounds);
}

static PyObject *iterate(PyObject *self)
{
    return loop(self, CARET__PY_KEYS);
}

static PyObject *keys(PyObject *self, PyObject *none)
{
    (void)none;
    return loop(self, CARET__PY_KEYS);
}

static PyObject *values(PyObject *self, PyObject *none)
{
    (void)none;
    return loop(self, CARET__PY_VALUES);
}

static PyObject *items(PyObject *self, PyObject *none)
{
    (void)none;
    return loop(self, CARET__PY_ITEMS);
}

static PyObject *nodes(PyObject *self, PyObject *none)
{
    (void)none;
    return loop(self, CARET__PY_NODES);
}

/* The same children with another limit, and perhaps the other way round. */
static PyObject *another(PyObject *self, PyObject *args, PyObject *kw, bool turn)
{
    static char *names[] = {"limit", NULL};
    struct caret__py_bounds b = as_range(self)->bounds;
    PyObject *limit = Py_None;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O", names, &limit))
        return NULL;
    if (limit != Py_None) {
        b.limit = PyNumber_AsSsize_t(limit, NULL);
        if (b.limit == -1 && PyErr_Occurred())
            return NULL;
        if (b.limit < 0) {
            PyErr_SetString(PyExc_ValueError, "a limit is 0 or more");
            return NULL;
        }
    }
    b.back ^= turn;
    Py_XINCREF(b.from);
    Py_XINCREF(b.to);
    return caret__py_range_of(as_range(self)->node, &b);
}

static PyObject *reversed(PyObject *self, PyObject *args, PyObject *kw)
{
    return another(self, args, kw, true);
}

static PyObject *limit(PyObject *self, PyObject *args, PyObject *kw)
{
    return another(self, args, kw, false);
}

static PyObject *backwards(PyObject *self, PyObject *none)
{
    struct caret__py_bounds b = as_range(self)->bounds;

    (void)none;
    b.back = !b.back;
    return caret__py_iterate(as_range(self)->node, CARET__PY_KEYS, &b);
}

static PyObject *kill(PyObject *self, PyObject *none)
{
    (void)none;
    if (as_range(self)->bounds.limit >= 0) {
        PyErr_SetString(PyExc_ValueError, "a range with a limit can't be killed");
        return NULL;
    }
    return kill_bounds(as_range(self)->node, &as_range(self)->bounds) < 0 ? NULL : Py_NewRef(Py_None);
}

/* How many children; each is looked at. */
static PyObject *count(PyObject *self, PyObject *none)
{
    PyObject *all = loop(self, CARET__PY_KEYS), *one;
    Py_ssize_t n = 0;

    (void)none;
    if (all == NULL)
        return NULL;
    for (; (one = PyIter_Next(all)) != NULL; n++)
        Py_DECREF(one);
    Py_DECREF(all);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(n);
}

/* What makes it again: node, begin, end, is it a prefix, backwards, limit */
static PyObject *get_bounds(PyObject *self, void *closure)
{
    const struct caret__py_bounds *b = &as_range(self)->bounds;
    PyObject *limit_or_none = b->limit < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(b->limit);

    (void)closure;
    if (limit_or_none == NULL)
        return NULL;
    return Py_BuildValue("(OOOiiN)", (PyObject *)as_range(self)->node, b->from != NULL ? b->from : Py_None,
                         b->to != NULL ? b->to : Py_None, b->flags == CARET_RANGE_PREFIX, (int)b->back,
                         limit_or_none);
}

static PyGetSetDef getset[] = {{"_bounds", get_bounds, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {
    {"keys", keys, METH_NOARGS, "The subscripts."},
    {"values", values, METH_NOARGS, "The values; None where there is none."},
    {"items", items, METH_NOARGS, "Pairs of subscript and value."},
    {"nodes", nodes, METH_NOARGS, "The nodes."},
    {"reversed", (PyCFunction)(void (*)(void))reversed, METH_VARARGS | METH_KEYWORDS,
     "reversed(limit=None): the same from the end"},
    {"limit", (PyCFunction)(void (*)(void))limit, METH_VARARGS | METH_KEYWORDS,
     "limit(limit): so many at most"},
    {"kill", kill, METH_NOARGS, "Kill these children, with all below them: one atomic change."},
    {"count", count, METH_NOARGS, "How many children there are."},
    {"__reversed__", backwards, METH_NOARGS, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     "caret.Range[str], as the type of an argument"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_iter, iterate},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, "Some of the children of a node, in order.  node[2:10], node.prefix('ab')"},
    {0, NULL},
};
static PyType_Spec spec = {"caret.Range", sizeof(struct range), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int caret__py_add_range(PyObject *module, struct caret__py_state *st)
{
    st->range = caret__py_type(module, &spec, "Range");
    return st->range == NULL ? -1 : 0;
}
