/*
 * lock.c - locks on names, and other waits that may take long.
 *
 * The engine lets the GIL go while it sleeps.  Signals are handled by the main thread alone, between two steps of its
 * program: so there a wait is cut into slices, and after each the handlers run.  A handler may do anything, also close
 * the database or the session; so each slice asks for the session anew.
 *
 * A server finds a deadlock when somebody has waited for a second, and a slice that ends leaves the queue.  So slices
 * are longer there; SIGINT ends one (session.c), and other signals wait for its end.
 */
#include "python/binding.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE     50000000u            /* ns: how long Ctrl-C may take to be noticed */
#define AT_SERVER UINT64_C(5000000000) /* a slice of a wait at a server, where SIGINT ends it */
#define LOCKS_MAX 64                   /* of one call, as caret.h says */

/* Does it say that the time is over, or that a signal came (session.c)? */
static bool is_slice(const struct caret__py_wait *w, int rc)
{
    return rc == CARET_LOCK_TIMEOUT || rc == CARET_NONE ||
           (rc == CARET_E_INTERRUPTED && !w->o->core->closing);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int caret__py_wait_long(struct caret__py_wait *w, caret__py_waiter *f, uint64_t ns)
{
    w->s = caret__py_enter(w->o);
    int rc = w->s == NULL ? CARET__PY_SET : f(w, 0);

    if (!is_slice(w, rc) || ns == 0)
        return rc;
    if (syscall(SYS_gettid) != getpid())
        return f(w, ns);
    while (is_slice(w, rc) && ns > 0) {
        uint64_t most = w->o->core->remote ? AT_SERVER : SLICE, began = now_ns();
        if (PyErr_CheckSignals() < 0 || (w->s = caret__py_enter(w->o)) == NULL)
            return CARET__PY_SET;
        rc = f(w, ns < most ? ns : most);
        uint64_t took = now_ns() - began;
        ns -= ns == CARET_FOREVER ? 0 : took < ns ? took : ns;
    }
    return rc;
}

static int wait_lock(const struct caret__py_wait *w, uint64_t ns)
{
    return caret_lock(w->s, w->n, ns);
}

static int wait_locks(const struct caret__py_wait *w, uint64_t ns)
{
    return caret_lock_more(w->s, w->nodes, w->count, ns);
}

static int wait_change(const struct caret__py_wait *w, uint64_t ns)
{
    return caret_wait(w->s, w->n, w->place, ns);
}

/* ----------------------------------------------------------- of a node */

static PyObject *got(struct caret__py_owner *o, int rc, int timeout)
{
    if (rc == CARET_OK || rc == timeout)
        return PyBool_FromLong(rc == CARET_OK);
    return caret__py_raise(o, rc);
}

/* acquire(timeout=None) -> bool; a block raises instead */
static PyObject *take(PyObject *self, PyObject *const *args, Py_ssize_t nargs, int timeout)
{
    struct caret__py_node *n = caret__py_as(self);
    uint64_t ns;

    if (nargs > 1)
        return caret__py_type_error("a lock takes a timeout, and nothing else");
    if (caret__py_timeout(nargs > 0 ? args[0] : NULL, &ns) < 0)
        return NULL;
    struct caret__py_wait w = {.o = n->owner, .n = &n->node};
    return got(n->owner, caret__py_wait_long(&w, wait_lock, ns), timeout);
}

static PyObject *acquire(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return take(self, args, nargs, CARET_LOCK_TIMEOUT);
}

PyObject *caret__py_lock(PyObject *self, PyObject *timeout)
{
    return take(self, &timeout, 1, CARET_OK);
}

PyObject *caret__py_release(PyObject *self, PyObject *none)
{
    struct caret__py_node *n = caret__py_as(self);
    caret_session *s = caret__py_enter(n->owner);
    int rc = s == NULL ? CARET__PY_SET : caret_unlock(s, &n->node);

    (void)none;
    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(n->owner, rc);
}

/* wait(timeout=None, place=None): True if something was committed at the node or below it, after the place */
static PyObject *wait(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"timeout", "place", NULL};
    struct caret__py_node *n = caret__py_as(self);
    PyObject *timeout = NULL, *place = Py_None;
    struct caret__py_wait w = {.o = n->owner, .n = &n->node, .place = CARET_LOG_END};
    uint64_t ns;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:wait", names, &timeout, &place))
        return NULL;
    if (place != Py_None)
        w.place = PyLong_AsUnsignedLongLong(place);
    if (PyErr_Occurred() || caret__py_timeout(timeout, &ns) < 0)
        return NULL;
    if (place == Py_None) { /* what comes between two slices counts */
        caret_db *db = caret__py_db(n->owner);
        if (db == NULL)
            return NULL;
        PyThreadState *ts = caret__py_unlock(n->owner->core);
        int rc = caret_durable(db, NULL, &w.place);
        caret__py_relock(n->owner->core, ts);
        if (rc != CARET_OK)
            return caret__py_raise(n->owner, rc);
    }
    return got(n->owner, caret__py_wait_long(&w, wait_change, ns), CARET_NONE);
}

#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL
PyMethodDef caret__py_node_lock_methods[] = {
    {"acquire", FAST(acquire), "acquire(timeout=None): take the lock on this name; False: not in time"},
    {"release", caret__py_release, METH_NOARGS, "Give the lock back, once."},
    {"wait", (PyCFunction)(void (*)(void))wait, METH_VARARGS | METH_KEYWORDS,
     "wait(timeout=None, place=None): sleep until something is committed here or below; False: not in time"},
    {NULL, NULL, 0, NULL},
};

/* ----------------------------------------------------------- of an owner */

/* The addresses in a tuple of nodes; they live as long as it. */
static int read_nodes(struct caret__py_owner *o, PyObject *tuple, const caret_node **nodes)
{
    Py_ssize_t n = PyTuple_Size(tuple);

    if (n > LOCKS_MAX) {
        caret__py_raise_text(o->state, CARET_E_INVALID, "INVALID: 64 locks at once are the most");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        struct caret__py_node *node =
            caret__py_own_node(o, PyTuple_GetItem(tuple, i), "locks are taken on nodes");
        if (node == NULL)
            return -1;
        nodes[i] = &node->node;
    }
    return 0;
}

PyObject *caret__py_lock_nodes(struct caret__py_owner *o, PyObject *tuple, PyObject *timeout)
{
    const caret_node *nodes[LOCKS_MAX];
    uint64_t ns;

    if (read_nodes(o, tuple, nodes) < 0 || caret__py_timeout(timeout, &ns) < 0)
        return NULL;
    struct caret__py_wait w = {.o = o, .nodes = nodes, .count = (size_t)PyTuple_Size(tuple)};
    return got(o, caret__py_wait_long(&w, wait_locks, ns), CARET_LOCK_TIMEOUT);
}

/* acquire_all(nodes, timeout=None): all of these or none */
static PyObject *acquire_all(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"nodes", "timeout", NULL};
    PyObject *list, *timeout = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|O:acquire_all", names, &list, &timeout))
        return NULL;
    PyObject *tuple = PySequence_Tuple(list);
    PyObject *made =
        tuple != NULL ? caret__py_lock_nodes((struct caret__py_owner *)self, tuple, timeout) : NULL;
    Py_XDECREF(tuple);
    return made;
}

PyObject *caret__py_release_nodes(struct caret__py_owner *o, PyObject *tuple)
{
    const caret_node *nodes[LOCKS_MAX];
    int first = CARET_OK;

    caret_session *s = read_nodes(o, tuple, nodes) == 0 ? caret__py_enter(o) : NULL;
    for (Py_ssize_t i = 0; s != NULL && i < PyTuple_Size(tuple); i++) {
        int rc = caret_unlock(s, nodes[i]);
        first = first == CARET_OK ? rc : first;
    }
    if (s == NULL)
        return NULL;
    return first == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(o, first);
}

static PyObject *release_all(PyObject *self, PyObject *none)
{
    struct caret__py_owner *o = (struct caret__py_owner *)self;
    caret_session *s = caret__py_enter(o);
    int rc = s == NULL ? CARET__PY_SET : caret_unlock_all(s);

    (void)none;
    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(o, rc);
}

PyMethodDef caret__py_lock_methods[] = {
    {"acquire_all", (PyCFunction)(void (*)(void))acquire_all, METH_VARARGS | METH_KEYWORDS,
     "acquire_all(nodes, timeout=None): take these locks, all or none; False: not in time"},
    {"release_all", release_all, METH_NOARGS, "Give all locks back."},
    {NULL, NULL, 0, NULL},
};
