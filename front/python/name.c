/*
 * name.c - what a node is called: its name and subscripts, its text, equality and order.
 *
 * Nothing here looks at data, and no session is asked.
 */
#include "python/binding.h"

#include <string.h>

#define ZWR_ROOM 512 /* most nodes; else memory is allocated */

static PyObject *subscript(const caret_node *n, unsigned i)
{
    char text[CARET_MAX_KEY + 1];
    size_t len = 0;
    int number = 0, rc = caret_node_subscript(n, i, text, sizeof text, &len, &number);

    if (rc != CARET_OK) {
        PyErr_SetString(PyExc_SystemError, "caret: a subscript that is none");
        return NULL;
    }
    if (number && memchr(text, '.', len) == NULL)
        return caret__py_integer(NULL, text, len);
    return caret__py_str(text, len);
}

PyObject *caret__py_last_sub(const caret_node *n)
{
    int64_t v;

    if (caret_node_last_as_int(n, &v))
        return PyLong_FromLongLong(v);
    return subscript(n, caret_node_depth(n) - 1);
}

PyObject *caret__py_zwr(const caret_node *n)
{
    char small[ZWR_ROOM], *text = small;
    size_t len = 0;
    int rc = caret_node_zwr(n, 1, small, sizeof small, &len);

    if (rc == CARET_E_BUFFER) {
        text = PyMem_Malloc(len);
        rc = text == NULL ? CARET_E_NOMEM : caret_node_zwr(n, 1, text, len, &len);
    }
    PyObject *made = rc == CARET_OK ? caret__py_str(text, len) : PyErr_NoMemory();
    if (text != small)
        PyMem_Free(text);
    return made;
}

PyObject *caret__py_node_str(PyObject *self)
{
    return caret__py_zwr(&caret__py_as(self)->node);
}

PyObject *caret__py_repr(PyObject *self)
{
    PyObject *text = caret__py_node_str(self), *type = PyType_GetName(Py_TYPE(self)), *made = NULL;

    if (text != NULL && type != NULL && Py_TYPE(self) == caret__py_as(self)->owner->state->node)
        made = PyUnicode_FromFormat("caret.%U(%R)", type, text);
    else if (text != NULL && type != NULL)
        made = PyUnicode_FromFormat("%U(%R)", type, text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    return made;
}

Py_hash_t caret__py_hash(PyObject *self)
{
    PyObject *text = caret__py_node_str(self);
    Py_hash_t h = text == NULL ? -1 : PyObject_Hash(text);

    Py_XDECREF(text);
    return h;
}

int caret__py_same_database(struct caret__py_owner *a, struct caret__py_owner *b)
{
    if (a->core == b->core)
        return 1;
    if (a->core->db == NULL || b->core->db == NULL ||
        PyUnicode_CompareWithASCIIString(a->path, ":memory:") == 0)
        return 0;
    int order = PyUnicode_Compare(a->path, b->path);
    return order == -1 && PyErr_Occurred() ? -1 : order == 0;
}

struct caret__py_node *caret__py_own_node(struct caret__py_owner *o, PyObject *node, const char *otherwise)
{
    if (!caret__py_is_node(o->state, node)) {
        caret__py_type_error("%s", otherwise);
        return NULL;
    }
    int same = caret__py_same_database(o, caret__py_as(node)->owner);
    if (same == 0)
        caret__py_raise_text(o->state, CARET_E_INVALID, "INVALID: a node of another database");
    return same > 0 ? caret__py_as(node) : NULL;
}

static bool holds(int order, int op)
{
    switch (op) {
    case Py_LT: return order < 0;
    case Py_LE: return order <= 0;
    case Py_EQ: return order == 0;
    case Py_NE: return order != 0;
    case Py_GT: return order > 0;
    default: return order >= 0;
    }
}

PyObject *caret__py_compare(PyObject *a, PyObject *b, int op)
{
    struct caret__py_state *st = caret__py_as(a)->owner->state;

    if (!caret__py_is_node(st, b))
        return Py_NewRef(Py_NotImplemented);
    int same = caret__py_same_database(caret__py_as(a)->owner, caret__py_as(b)->owner);
    if (same < 0)
        return NULL;
    if (same)
        return PyBool_FromLong(holds(caret_node_compare(&caret__py_as(a)->node, &caret__py_as(b)->node), op));
    if (op == Py_EQ || op == Py_NE)
        return PyBool_FromLong(op == Py_NE);
    return Py_NewRef(Py_NotImplemented);
}

static PyObject *get_name(PyObject *self, void *closure)
{
    char buf[CARET_MAX_NAME + 2];
    caret_slice name = caret_node_name(&caret__py_as(self)->node, buf);

    (void)closure;
    return caret__py_str(name.data, name.len);
}

static PyObject *get_subs(PyObject *self, void *closure)
{
    const caret_node *n = &caret__py_as(self)->node;
    unsigned depth = caret_node_depth(n);
    PyObject *tuple = PyTuple_New(depth);

    (void)closure;
    for (unsigned i = 0; tuple != NULL && i < depth; i++) {
        PyObject *sub = subscript(n, i);
        if (sub == NULL || PyTuple_SetItem(tuple, i, sub) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_sub(PyObject *self, void *closure)
{
    const caret_node *n = &caret__py_as(self)->node;

    (void)closure;
    return caret_node_depth(n) == 0 ? Py_NewRef(Py_None) : caret__py_last_sub(n);
}

static PyObject *get_depth(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(caret_node_depth(&caret__py_as(self)->node));
}

static PyObject *get_local(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(caret_node_is_local(&caret__py_as(self)->node));
}

static PyObject *get_db(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)caret__py_as(self)->owner);
}

static PyObject *get_view(PyObject *self, void *closure)
{
    PyObject *view = caret__py_as(self)->view;

    (void)closure;
    return Py_NewRef(view != NULL ? view : Py_None);
}

PyGetSetDef caret__py_name_getset[] = {
    {"name", get_name, NULL, "The name of the variable, with its ^.", NULL},
    {"subs", get_subs, NULL, "The subscripts, a tuple.", NULL},
    {"sub", get_sub, NULL, "The last subscript; None at a variable.", NULL},
    {"depth", get_depth, NULL, "How many subscripts.", NULL},
    {"is_local", get_local, NULL, "Is it a variable of the session, not of the database?", NULL},
    {"db", get_db, NULL, "The Database, or Session, it was made from.", NULL},
    {"_view", get_view, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
