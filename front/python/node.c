/*
 * node.c - the class Node: how nodes are made, children and neighbours.
 *
 * A node is one piece of memory: head, owner, view, caret_node, key.  It never changes its address; what moves is a
 * copy.  Memory for a child is guessed from its subscript, so that the key is written where it stays; a guess that was
 * too small is made good by way of the stack.
 */
#include "python/binding.h"

#include <stdlib.h>
#include <string.h>

#define INT_ROOM   12 /* the encoded form of an integer */
#define STR_ROOM   4  /* the ends of one of a string */
#define OTHER_ROOM 24 /* of floats; others may need more */

bool caret__py_is_node(struct caret__py_state *st, PyObject *o)
{
    return PyObject_TypeCheck(o, st->node);
}

static size_t key_bytes(const caret_node *n)
{
    return caret_node_size(n) - sizeof *n;
}

static size_t node_room(struct caret__py_node *n)
{
    return sizeof n->node + (size_t)((PyVarObject *)n)->ob_size;
}

/* ----------------------------------------------------------- made and dropped */

/* A node without address, with room for a key of so many bytes. */
struct caret__py_node *caret__py_node_new(PyTypeObject *type, struct caret__py_owner *o, PyObject *view,
                                          size_t room)
{
    struct caret__py_node *n;

    if (type == o->state->node) {
        n = PyObject_NewVar(struct caret__py_node, type, (Py_ssize_t)room);
    } else { /* a class of the program's: it may have a __dict__ */
        allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
        n = (struct caret__py_node *)alloc(type, (Py_ssize_t)room);
    }
    if (n == NULL)
        return NULL;
    Py_INCREF((PyObject *)o);
    n->owner = o;
    Py_XINCREF(view);
    n->view = view;
    return n;
}

struct caret__py_node *caret__py_node_at(PyTypeObject *type, struct caret__py_owner *o, PyObject *view,
                                         const caret_node *at)
{
    struct caret__py_node *n = caret__py_node_new(type, o, view, key_bytes(at));

    if (n != NULL)
        caret_node_copy(&n->node, node_room(n), at);
    return n;
}

static void dealloc(PyObject *self)
{
    struct caret__py_node *n = caret__py_as(self);
    PyTypeObject *type = Py_TYPE(self);
    struct caret__py_owner *o = n->owner;
    bool plain = o != NULL && type == o->state->node;

    Py_XDECREF(n->view);
    if (plain)
        PyObject_Free(self);
    else
        ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_XDECREF((PyObject *)o);
    Py_DECREF(type);
}

/* Node(node): the same address, as one of this class */
static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kw)
{
    PyObject *from = NULL;

    if (kw != NULL && PyDict_Size(kw) > 0)
        return caret__py_type_error("Node() takes no arguments by name");
    if (!PyArg_ParseTuple(args, "O:Node", &from))
        return NULL;
    for (PyTypeObject *t = Py_TYPE(from); t != NULL; t = PyType_GetSlot(t, Py_tp_base))
        if ((destructor)PyType_GetSlot(t, Py_tp_dealloc) == dealloc)
            return (PyObject *)caret__py_node_at(type, caret__py_as(from)->owner, caret__py_as(from)->view,
                                                 &caret__py_as(from)->node);
    return caret__py_type_error("Node() takes a node: Oak(db['^oaks'])");
}

/* ----------------------------------------------------------- children */

static int child_of_text(struct caret__py_state *st, caret_node *n, size_t bytes, const caret_node *parent,
                         PyObject *sub)
{
    struct caret__py_text t;

    if (caret__py_text(st, sub, &t, "subscript") < 0)
        return CARET__PY_SET;
    int rc = caret_node_child(n, bytes, parent, t.data, (size_t)t.len);
    caret__py_drop(&t);
    return rc;
}

static inline int child(struct caret__py_state *st, caret_node *n, size_t bytes, const caret_node *parent,
                        PyObject *sub)
{
    if (PyLong_CheckExact(sub)) {
        int over = 0;
        long long v = PyLong_AsLongLongAndOverflow(sub, &over);
        if (over == 0)
            return caret_node_child_int(n, bytes, parent, v);
    }
    return child_of_text(st, n, bytes, parent, sub);
}

int caret__py_child(struct caret__py_state *st, caret_node *n, size_t bytes, const caret_node *parent,
                    PyObject *sub)
{
    return child(st, n, bytes, parent, sub);
}

/* A path of subscripts below a node. */
static int descend(struct caret__py_state *st, caret_node_buf *at, PyObject *path, Py_ssize_t from)
{
    Py_ssize_t count = PyTuple_Size(path);
    int rc = CARET_OK;

    for (Py_ssize_t i = from; i < count && rc == CARET_OK; i++)
        rc = child(st, &at->node, sizeof *at, &at->node, PyTuple_GetItem(path, i));
    return rc;
}

/* By way of the stack: a path, or what a guess did not have room for. */
static PyObject *child_slow(struct caret__py_node *n, PyObject *sub)
{
    struct caret__py_state *st = n->owner->state;
    caret_node_buf at;
    int rc;

    caret_node_copy(&at.node, sizeof at, &n->node);
    if (PyTuple_Check(sub))
        rc = descend(st, &at, sub, 0);
    else
        rc = child(st, &at.node, sizeof at, &at.node, sub);
    if (rc != CARET_OK)
        return caret__py_raise(n->owner, rc);
    return (PyObject *)caret__py_node_at(Py_TYPE((PyObject *)n), n->owner, n->view, &at.node);
}

static size_t guess(PyObject *sub)
{
    if (PyLong_CheckExact(sub))
        return INT_ROOM;
    return OTHER_ROOM;
}

/* The child, in memory that was guessed; NULL with *rc: it had no room, or an error. */
static inline struct caret__py_node *child_made(struct caret__py_node *n, PyObject *sub, int *rc)
{
    PyTypeObject *type = Py_TYPE((PyObject *)n);
    size_t room = key_bytes(&n->node);
    const char *text = NULL;
    Py_ssize_t len = 0;

    if (PyUnicode_CheckExact(sub)) {
        text = PyUnicode_AsUTF8AndSize(sub, &len);
        if (text == NULL)
            PyErr_Clear(); /* another try is made below */
    }
    room += text != NULL && len < (Py_ssize_t)CARET_MAX_KEY ? (size_t)len + STR_ROOM : guess(sub);
    struct caret__py_node *made = caret__py_node_new(type, n->owner, n->view, room);
    *rc = CARET__PY_SET;
    if (made == NULL)
        return NULL;
    if (text != NULL)
        *rc = caret_node_child(&made->node, node_room(made), &n->node, text, (size_t)len);
    else
        *rc = child(n->owner->state, &made->node, node_room(made), &n->node, sub);
    if (__builtin_expect(*rc == CARET_OK, 1))
        return made;
    Py_DECREF((PyObject *)made);
    return NULL;
}

PyObject *caret__py_node_get(PyObject *self, PyObject *key)
{
    struct caret__py_node *n = caret__py_as(self);
    int rc;

    if (!PyUnicode_CheckExact(key) && !PyLong_CheckExact(key)) {
        if (PyTuple_Check(key))
            return child_slow(n, key);
        if (PySlice_Check(key))
            return caret__py_range(n, key);
    }
    struct caret__py_node *made = child_made(n, key, &rc);
    if (made != NULL)
        return (PyObject *)made;
    return rc == CARET_E_BUFFER ? child_slow(n, key) : caret__py_raise(n->owner, rc);
}

/* owner[name] or owner[name, sub, ...] */
PyObject *caret__py_node_path(struct caret__py_owner *o, PyTypeObject *type, PyObject *view, PyObject *key)
{
    bool many = PyTuple_Check(key);
    PyObject *name = many && PyTuple_Size(key) > 0 ? PyTuple_GetItem(key, 0) : key;
    struct caret__py_text t;
    caret_node_buf at;

    if (!PyUnicode_Check(name) && !PyBytes_Check(name))
        return caret__py_type_error("a variable has a name: db['^oaks'], or db['^oaks', 1, 'shadow']");
    if (caret__py_text(o->state, name, &t, "name") < 0)
        return NULL;
    int rc = caret_node_var(&at.node, sizeof at, t.data, (size_t)t.len);
    caret__py_drop(&t);
    if (rc == CARET_OK && many)
        rc = descend(o->state, &at, key, 1);
    if (rc != CARET_OK)
        return caret__py_raise(o, rc);
    return (PyObject *)caret__py_node_at(type, o, view, &at.node);
}

/* ----------------------------------------------------------- neighbours */

static PyObject *like(PyObject *self, const caret_node *at)
{
    return (PyObject *)caret__py_node_at(Py_TYPE(self), caret__py_as(self)->owner, caret__py_as(self)->view,
                                         at);
}

static PyObject *get_parent(PyObject *self, void *closure)
{
    caret_node_buf at;

    (void)closure;
    if (caret_node_depth(&caret__py_as(self)->node) == 0)
        Py_RETURN_NONE;
    int rc = caret_node_parent(&at.node, sizeof at, &caret__py_as(self)->node);
    return rc == CARET_OK ? like(self, &at.node) : caret__py_raise(caret__py_as(self)->owner, rc);
}

static PyObject *get_variable(PyObject *self, void *closure)
{
    caret_node_buf at;

    (void)closure;
    caret_node_copy(&at.node, sizeof at, &caret__py_as(self)->node);
    while (caret_node_depth(&at.node) > 0)
        caret_node_parent(&at.node, sizeof at, &at.node);
    return like(self, &at.node);
}

typedef int move(caret_session *s, caret_node *n);

static PyObject *moved(PyObject *self, move *f)
{
    caret_session *s = caret__py_enter(caret__py_as(self)->owner);
    caret_node_buf at;

    if (s == NULL)
        return NULL;
    caret_node_copy(&at.node, sizeof at, &caret__py_as(self)->node);
    int rc = f(s, &at.node);
    if (rc == CARET_NONE)
        Py_RETURN_NONE;
    return rc == CARET_OK ? like(self, &at.node) : caret__py_raise(caret__py_as(self)->owner, rc);
}

static move *const moves[] = {caret_first,    caret_last,      caret_next,
                              caret_previous, caret_node_next, caret_node_previous};
static const int places[] = {0, 1, 2, 3, 4, 5};

static PyObject *get_moved(PyObject *self, void *closure)
{
    return moved(self, moves[*(const int *)closure]);
}

/* _with(view): the same address with another view; None: str */
static PyObject *with_view(PyObject *self, PyObject *view)
{
    struct caret__py_node *n = caret__py_as(self);

    if (view != Py_None && Py_TYPE(view) != n->owner->state->view)
        return caret__py_type_error("_with() takes a View");
    return (PyObject *)caret__py_node_at(Py_TYPE(self), n->owner, view == Py_None ? NULL : view, &n->node);
}

/* ----------------------------------------------------------- the class */

static PyMethodDef own_methods[] = {
    {"_with", with_view, METH_O, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     "caret.Node[str], as the type of an argument"},
    {NULL, NULL, 0, NULL},
};

#define PLACE(i) (void *)(uintptr_t)&places[i]
static PyGetSetDef own_getset[] = {
    {"value", caret__py_get_value, caret__py_set_value, "The value, or None; to be set and deleted.", NULL},
    {"bytes", caret__py_get_bytes, NULL, "The value as bytes, or None.", NULL},
    {"data", caret__py_get_data, NULL, "0 nothing, 1 a value, 10 children, 11 both.", PLACE(0)},
    {"has_value", caret__py_get_data, NULL, "Is there a value?", PLACE(1)},
    {"has_children", caret__py_get_data, NULL, "Is there anything below?", PLACE(2)},
    {"parent", get_parent, NULL, "The node above; None at a variable.", NULL},
    {"variable", get_variable, NULL, "The node without subscripts.", NULL},
    {"first", get_moved, NULL, "The first child, or None.", PLACE(0)},
    {"last", get_moved, NULL, "The last child, or None.", PLACE(1)},
    {"next", get_moved, NULL, "The next sibling, or None.", PLACE(2)},
    {"previous", get_moved, NULL, "The sibling before, or None.", PLACE(3)},
    {"next_node", get_moved, NULL, "The next node with a value, depth first, or None.", PLACE(4)},
    {"previous_node", get_moved, NULL, "The node with a value before, or None.", PLACE(5)},
    {NULL, NULL, NULL, NULL, NULL},
};

/* An AttributeError is set.  If there is no such name, a child was meant: node.shadow = 15. */
static void tell_children(PyObject *self, PyObject *name)
{
    PyObject *type, *error, *trace;

    PyErr_Fetch(&type, &error, &trace);
    PyObject *there = PyObject_GetAttr((PyObject *)Py_TYPE(self), name); /* read-only, then */
    if (there == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_AttributeError, "a node has no attribute '%U'; its child is node['%U']", name,
                     name);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return;
    }
    Py_XDECREF(there);
    PyErr_Clear();
    PyErr_Restore(type, error, trace);
}

/* `node.value = x` goes straight to the value: the search for it in the class took a tenth of a set.  So whoever wants
 * another `value` derives a class; one that is put into Node itself is not asked at sets.  Getting has no function of
 * its own: with one the interpreter makes an object of each method that is called.  `node.value` took 13 % fewer
 * instructions so, and an unknown name that is read could say that children are node['name'], as one that is set does;
 * but node.get() took 65 % more, and incr() 20 %. */
static int set_attribute(PyObject *self, PyObject *name, PyObject *value)
{
    struct caret__py_state *st = caret__py_as(self)->owner->state;

    if (name == st->value_name && Py_TYPE(self) == st->node)
        return caret__py_set_value(self, value, NULL);
    int rc = PyObject_GenericSetAttr(self, name, value);
    if (rc < 0 && value != NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        tell_children(self, name);
    return rc;
}

static PyObject *iterate(PyObject *self)
{
    return caret__py_iterate(caret__py_as(self), CARET__PY_KEYS, NULL);
}

/* One table of several. */
static PyMethodDef methods[64];
static PyGetSetDef getset[32];

static void join_methods(PyMethodDef *const *tables)
{
    unsigned n = 0;

    for (; *tables != NULL; tables++)
        for (const PyMethodDef *m = *tables; m->ml_name != NULL && n + 1 < sizeof methods / sizeof *methods;
             m++)
            methods[n++] = *m;
}

static void join_getset(PyGetSetDef *const *tables)
{
    unsigned n = 0;

    for (; *tables != NULL; tables++)
        for (const PyGetSetDef *g = *tables; g->name != NULL && n + 1 < sizeof getset / sizeof *getset; g++)
            getset[n++] = *g;
}

static PyType_Slot slots[] = {
    {Py_tp_new, new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, caret__py_repr},
    {Py_tp_str, caret__py_node_str},
    {Py_tp_hash, caret__py_hash},
    {Py_tp_richcompare, caret__py_compare},
    {Py_tp_iter, iterate},
    {Py_tp_getset, getset},
    {Py_tp_setattro, set_attribute},
    {Py_tp_methods, methods},
    {Py_mp_subscript, caret__py_node_get},
    {Py_mp_ass_subscript, caret__py_assign},
    {Py_sq_contains, caret__py_contains},
    {Py_nb_inplace_add, caret__py_add},
    {Py_nb_inplace_subtract, caret__py_subtract},
    {Py_tp_doc, "A node: an address in a database.  db['^oaks'][1]"},
    {0, NULL},
};
static PyType_Spec spec = {"caret.Node", sizeof(struct caret__py_node), 1,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

static void join(void)
{
    PyMethodDef *const method_tables[] = {own_methods, caret__py_data_methods, caret__py_sum_methods,
                                          caret__py_node_lock_methods, NULL};
    PyGetSetDef *const getset_tables[] = {own_getset, caret__py_name_getset, NULL};

    join_methods(method_tables);
    join_getset(getset_tables);
}

int caret__py_add_node(PyObject *module, struct caret__py_state *st)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* interpreters may come side by side */

    pthread_once(&once, join);
    st->node = caret__py_type(module, &spec, "Node");
    return st->node == NULL ? -1 : 0;
}
