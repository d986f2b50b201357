/*
 * changes.c - the log of a database, change by change: the class Log, which caret/changes.py makes changes() of.
 *
 * The engine's log keeps the database open; so the core has a list of those that are open, and closes them before its
 * handle.  One call at a time: `busy`, as a wait lets the GIL go, and the function of a view is code of the program.
 * A fork leaves a log as it was in the child, also busy if it was.
 */
#include "python/binding.h"

struct caret__py_log {
    PyObject ob_base;
    struct caret__py_owner *owner;
    PyTypeObject *class; /* of the nodes that it tells, as `below` is one, */
    PyObject *view;      /* and their view */
    caret_log *log;      /* NULL: closed */
    bool busy;
    struct caret__py_log *next, **place; /* in core->logs, while it is open */
};

static struct caret__py_log *as_log(PyObject *o)
{
    return (struct caret__py_log *)o;
}

static void close_log(struct caret__py_log *l)
{
    caret_log *log = l->log;

    if (log == NULL)
        return;
    l->log = NULL;
    *l->place = l->next;
    if (l->next != NULL)
        l->next->place = l->place;
    caret_log_close(log);
}

void caret__py_close_logs(struct caret__py_core *c)
{
    while (c->logs != NULL)
        close_log(c->logs);
}

static void dealloc(PyObject *self)
{
    struct caret__py_log *l = as_log(self);
    PyTypeObject *type = Py_TYPE(self);

    close_log(l);
    Py_DECREF((PyObject *)l->class);
    Py_XDECREF(l->view);
    Py_DECREF((PyObject *)l->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* The log is in the list of its core from now on. */
static void open_log(struct caret__py_log *l, caret_log *log)
{
    struct caret__py_core *c = l->owner->core;

    l->log = log;
    l->next = c->logs;
    l->place = &c->logs;
    if (l->next != NULL)
        l->next->place = &l->next;
    c->logs = l;
}

static int open_at(struct caret__py_owner *o, uint64_t place, const caret_node *below, caret_log **log)
{
    int rc = caret_log_open(o->core->db, place, log);

    if (rc == CARET_OK && below != NULL) {
        rc = caret_log_below(*log, below);
        if (rc != CARET_OK)
            caret_log_close(*log);
    }
    return rc;
}

/* The place that was told; None: after the last commit.  -1: an exception is set. */
static int read_place(PyObject *o, uint64_t *place)
{
    *place = CARET_LOG_END;
    if (o == Py_None)
        return 0;
    *place = PyLong_AsUnsignedLongLong(o);
    return PyErr_Occurred() ? -1 : 0;
}

/* A node of this database, or None: NULL.  -1: an exception is set. */
static int read_below(struct caret__py_owner *o, PyObject *node, struct caret__py_node **below)
{
    *below = NULL;
    if (node == Py_None)
        return 0;
    *below = caret__py_own_node(o, node, "changes are those below a node");
    return *below != NULL ? 0 : -1;
}

/* It is closed yet. */
static struct caret__py_log *log_object(struct caret__py_owner *o, struct caret__py_node *below)
{
    struct caret__py_log *l = PyObject_New(struct caret__py_log, o->state->log);
    PyTypeObject *class = below != NULL ? Py_TYPE((PyObject *)below) : o->state->node;

    if (l == NULL)
        return NULL;
    l->owner = (struct caret__py_owner *)Py_NewRef((PyObject *)o);
    l->class = (PyTypeObject *)Py_NewRef((PyObject *)class);
    l->view = below != NULL ? Py_XNewRef(below->view) : NULL;
    l->log = NULL;
    l->busy = false;
    return l;
}

/* _log(place, below): a Log */
static PyObject *log_new(PyObject *self, PyObject *args)
{
    struct caret__py_owner *o = (struct caret__py_owner *)self;
    PyObject *at, *node;
    struct caret__py_node *below;
    caret_log *log = NULL;
    uint64_t place;

    if (!PyArg_ParseTuple(args, "OO", &at, &node) || read_place(at, &place) < 0 ||
        read_below(o, node, &below) < 0)
        return NULL;
    struct caret__py_log *l = log_object(o, below);
    if (l == NULL)
        return NULL;
    int rc = caret__py_db(o) == NULL || caret__py_link(o) == NULL
                 ? CARET__PY_SET
                 : open_at(o, place, below != NULL ? &below->node : NULL, &log);
    if (rc == CARET_OK) {
        open_log(l, log);
        return (PyObject *)l;
    }
    Py_DECREF((PyObject *)l);
    return caret__py_raise(o, rc);
}

PyMethodDef caret__py_log_methods[] = {{"_log", log_new, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

/* ----------------------------------------------------------- what it tells */

/* Can it be used now?  Else an exception is set. */
static bool usable(struct caret__py_log *l)
{
    if (caret__py_db(l->owner) == NULL)
        return false;
    if (l->busy)
        caret__py_raise_text(l->owner->state, CARET_E_INVALID,
                             "INVALID: this log is being read, by another thread or around this call");
    else if (l->log == NULL)
        caret__py_raise_text(l->owner->state, CARET_E_CLOSED, "CLOSED: this log was closed");
    return l->log != NULL && !l->busy;
}

static PyObject *bound(caret_slice s)
{
    return s.data == NULL ? Py_NewRef(Py_None) : caret__py_str(s.data, s.len);
}

static PyObject *range(const caret_change *c)
{
    if (c->kind != CARET_CHANGE_KILL_RANGE)
        return Py_NewRef(Py_None);
    return Py_BuildValue("(NNi)", bound(c->from), bound(c->to), c->flags);
}

/* None: there is none, or it is one that was replaced since. */
static PyObject *value(struct caret__py_log *l, const caret_change *c)
{
    if (c->kind != CARET_CHANGE_SET || (c->value.data == NULL && c->value.len != 0))
        return Py_NewRef(Py_None);
    return caret__py_value(l->view, c->value);
}

/* The value comes last: a view's function may close the log, and what the change points to with it. */
static PyObject *change(struct caret__py_log *l, const caret_change *c)
{
    PyObject *node = (PyObject *)caret__py_node_at(l->class, l->owner, l->view, c->node);
    PyObject *killed = node != NULL ? range(c) : NULL;
    PyObject *v = killed != NULL ? value(l, c) : NULL;

    if (v != NULL)
        return Py_BuildValue("(NiNnKIIN)", node, c->kind, v, (Py_ssize_t)c->value.len,
                             (unsigned long long)c->lsn, c->index, c->count, killed);
    Py_XDECREF(node);
    Py_XDECREF(killed);
    return NULL;
}

/* read(): (node, kind, value, length, place, index, count, range), or None: there is none yet */
static PyObject *read_one(PyObject *self, PyObject *none)
{
    struct caret__py_log *l = as_log(self);
    caret_change c = {.size = sizeof c};
    PyObject *made = NULL;

    (void)none;
    if (!usable(l) || caret__py_link(l->owner) == NULL)
        return NULL;
    l->busy = true;
    int rc = caret_log_next(l->log, &c);
    if (rc == CARET_OK)
        made = change(l, &c);
    else if (rc == CARET_NONE)
        made = Py_NewRef(Py_None);
    else
        caret__py_raise(l->owner, rc);
    l->busy = false;
    return made;
}

static int wait_log(const struct caret__py_wait *w, uint64_t ns)
{
    return caret_log_wait(w->s, w->log, ns);
}

/* wait(timeout): is there a change? */
static PyObject *wait(PyObject *self, PyObject *timeout)
{
    struct caret__py_log *l = as_log(self);
    uint64_t ns;

    if (caret__py_timeout(timeout, &ns) < 0 || !usable(l))
        return NULL;
    struct caret__py_wait w = {.o = l->owner, .log = l->log};
    l->busy = true;
    int rc = caret__py_wait_long(&w, wait_log, ns);
    l->busy = false;
    if (rc == CARET_OK || rc == CARET_NONE)
        return PyBool_FromLong(rc == CARET_OK);
    return caret__py_raise(l->owner, rc);
}

static PyObject *get_place(PyObject *self, void *closure)
{
    (void)closure;
    return usable(as_log(self)) ? PyLong_FromUnsignedLongLong(caret_log_place(as_log(self)->log)) : NULL;
}

static PyObject *close_it(PyObject *self, PyObject *none)
{
    struct caret__py_log *l = as_log(self);

    (void)none;
    if (l->log != NULL && !usable(l))
        return NULL;
    close_log(l);
    Py_RETURN_NONE;
}

/* ----------------------------------------------------------- the class */

static PyMethodDef methods[] = {
    {"read", read_one, METH_NOARGS, NULL},
    {"wait", wait, METH_O, NULL},
    {"close", close_it, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getset[] = {{"place", get_place, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};
static PyType_Spec spec = {"caret._core.Log", sizeof(struct caret__py_log), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int caret__py_add_log(PyObject *module, struct caret__py_state *st)
{
    st->log = caret__py_type(module, &spec, "Log");
    return st->log == NULL ? -1 : 0;
}
