/*
 * block.c - what stands after `with`: blocks of transactions, and of locks.
 *
 * They are in C for Ctrl-C's sake.  Python handles signals between the steps of functions that are written in it.
 * So an __enter__ in Python may have begun a transaction, or taken a lock, and be left before the block knows of it;
 * and an __exit__ may be left before its first step.  Nobody ended them then.  Functions in C are not left so.  The
 * ends allocate nothing before they have done what they must, as then they would leave it undone.
 */
#include "python/binding.h"

/* Both classes. */
struct block {
    PyObject ob_base;
    PyObject *of;      /* Database or Session; of one lock its Node */
    PyObject *nodes;   /* of locks: a tuple, or None: the one */
    PyObject *timeout; /* of locks */
    uint64_t frame;    /* the number of what is open, or 0 */
    long flags;
    Py_ssize_t most; /* restarts */
    int nested;      /* a savepoint */
    int again;       /* attempts: the frame may stay open from one to the next */
    int locals;      /* they restore local variables */
    bool inside, over;
};

static struct block *as_block(PyObject *o)
{
    return (struct block *)o;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(as_block(self)->of);
    Py_VISIT(as_block(self)->nodes);
    Py_VISIT(as_block(self)->timeout);
    return 0;
}

static int clear(PyObject *self)
{
    Py_CLEAR(as_block(self)->of);
    Py_CLEAR(as_block(self)->nodes);
    Py_CLEAR(as_block(self)->timeout);
    return 0;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static struct block *block_new(PyTypeObject *type, PyObject *of)
{
    struct block *b = (struct block *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);

    if (b != NULL)
        b->of = Py_NewRef(of);
    return b;
}

/* What a method gives that has no use for its answer. */
static PyObject *dropped(PyObject *answer, PyObject *instead)
{
    Py_XDECREF(answer);
    return answer == NULL ? NULL : Py_NewRef(instead);
}

/* What it was made of is what it stands for; else an exception is set. */
static bool fits(struct caret__py_state *st, struct block *b, bool one_lock)
{
    PyTypeObject *type = Py_TYPE(b->of);

    if (one_lock ? caret__py_is_node(st, b->of) : type == st->database || type == st->session)
        return true;
    caret__py_type_error("a block is one of a database, a session or a node");
    return false;
}

/* ----------------------------------------------------------- of a transaction */

/* Frame(owner, flags, retries, nested, again, locals) */
static PyObject *frame_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    struct block read = {.of = NULL};

    (void)kw;
    if (!PyArg_ParseTuple(args, "Olnppp:Frame", &read.of, &read.flags, &read.most, &read.nested, &read.again,
                          &read.locals))
        return NULL;
    struct block *b = block_new(type, read.of);
    if (b == NULL)
        return NULL;
    b->flags = read.flags;
    b->most = read.most;
    b->nested = read.nested;
    b->again = read.again;
    b->locals = read.locals;
    return (PyObject *)b;
}

static struct caret__py_owner *owner(struct block *b)
{
    return (struct caret__py_owner *)b->of;
}

/* It can be begun; else an exception is set. */
static bool may_begin(struct caret__py_state *st, struct block *b)
{
    if (!fits(st, b, false))
        return false;
    struct caret__py_link *l = b->nested ? caret__py_link(owner(b)) : NULL;
    if (b->again ? b->over || b->inside : b->frame != 0)
        caret__py_raise_text(st, CARET_E_INTXN, "INTXN: this block has begun already, or is over");
    else if (l != NULL && l->depth == 0)
        caret__py_raise_text(st, CARET_E_NOTXN, "NOTXN: a savepoint is one of a transaction");
    else
        return !b->nested || l != NULL;
    return false;
}

static int begin(struct block *b)
{
    b->frame = caret__py_begin_frame(owner(b), (int)b->flags);
    if (b->frame == 0 || !b->locals)
        return b->frame == 0 ? -1 : 0;
    struct caret__py_link *l = caret__py_link(owner(b));
    PyObject *none = l == NULL       ? NULL
                     : l->depth == 1 ? caret__py_restore_locals(b->of, Py_True)
                                     : Py_NewRef(Py_None);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

static PyObject *frame_enter(PyObject *self, PyTypeObject *class, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *names)
{
    struct block *b = as_block(self);

    (void)args, (void)nargs, (void)names;
    if (!may_begin(PyType_GetModuleState(class), b) || (b->frame == 0 && begin(b) < 0))
        return NULL;
    b->inside = true;
    return Py_NewRef(b->again ? self : b->of);
}

static PyObject *frame_exit(PyObject *self, PyTypeObject *class, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names)
{
    struct block *b = as_block(self);
    uint64_t number = b->frame;

    (void)names;
    if (nargs != 3 || number == 0 || !b->inside)
        return caret__py_raise_text(PyType_GetModuleState(class), CARET_E_NOTXN,
                                    "NOTXN: this block has not begun");
    b->frame = 0;
    b->inside = false;
    b->over = true; /* also if what follows raises */
    PyObject *result = caret__py_end_frame(owner(b), number, b->most, args);
    if (result != Py_None || !b->again)
        return result;
    b->frame = number;
    b->over = false;
    return dropped(result, Py_True);
}

/* _ended(): no more attempts; one that is open, though its block is not, is left: that raises */
static PyObject *frame_ended(PyObject *self, PyObject *none)
{
    struct block *b = as_block(self);

    (void)none;
    b->over = true;
    if (b->frame == 0 || b->inside)
        Py_RETURN_NONE;
    return caret__py_leave_frame(owner(b), b->frame);
}

static PyObject *get_over(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(as_block(self)->over);
}

static PyObject *get_begun(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(as_block(self)->frame != 0);
}

#define METHOD(f) (PyCFunction)(void (*)(void)) f, METH_METHOD | METH_FASTCALL | METH_KEYWORDS
static PyMethodDef frame_methods[] = {
    {"__enter__", METHOD(frame_enter), NULL},
    {"__exit__", METHOD(frame_exit), NULL},
    {"_ended", frame_ended, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef frame_getset[] = {
    {"_over", get_over, NULL, NULL, NULL},
    {"_begun", get_begun, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ----------------------------------------------------------- of locks */

/* Held(of, nodes, timeout) */
static PyObject *held_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    PyObject *of, *nodes, *timeout;

    (void)kw;
    if (!PyArg_ParseTuple(args, "OOO:Held", &of, &nodes, &timeout))
        return NULL;
    struct block *b = block_new(type, of);
    if (b != NULL) {
        b->nodes = nodes == Py_None ? Py_NewRef(nodes) : PySequence_Tuple(nodes);
        b->timeout = Py_NewRef(timeout);
    }
    if (b == NULL || b->nodes != NULL)
        return (PyObject *)b;
    Py_DECREF((PyObject *)b);
    return NULL;
}

static PyObject *too_late(struct caret__py_state *st, struct block *b)
{
    PyObject *text = PyUnicode_FromFormat("LOCK_TIMEOUT: not all of %zd locks in %S s",
                                          PyTuple_Size(b->nodes), b->timeout);
    const char *bytes = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

    if (bytes != NULL)
        caret__py_raise_text(st, CARET_LOCK_TIMEOUT, bytes);
    Py_XDECREF(text);
    return NULL;
}

static PyObject *held_enter(PyObject *self, PyTypeObject *class, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *names)
{
    struct block *b = as_block(self);

    (void)args, (void)nargs, (void)names;
    if (!fits(PyType_GetModuleState(class), b, b->nodes == Py_None))
        return NULL;
    if (b->nodes == Py_None)
        return dropped(caret__py_lock(b->of, b->timeout), b->of);
    PyObject *got = caret__py_lock_nodes(owner(b), b->nodes, b->timeout);
    if (got != Py_False)
        return dropped(got, b->nodes);
    Py_DECREF(got);
    return too_late(PyType_GetModuleState(class), b);
}

static PyObject *held_exit(PyObject *self, PyTypeObject *class, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names)
{
    struct block *b = as_block(self);

    (void)args, (void)nargs, (void)names;
    if (!fits(PyType_GetModuleState(class), b, b->nodes == Py_None))
        return NULL;
    return b->nodes == Py_None ? caret__py_release(b->of, NULL) : caret__py_release_nodes(owner(b), b->nodes);
}

static PyMethodDef held_methods[] = {
    {"__enter__", METHOD(held_enter), NULL},
    {"__exit__", METHOD(held_exit), NULL},
    {NULL, NULL, 0, NULL},
};

/* ----------------------------------------------------------- the classes */

#define COMMON                                                                                               \
    {Py_tp_dealloc, dealloc}, {Py_tp_traverse, traverse},                                                    \
    {                                                                                                        \
        Py_tp_clear, clear                                                                                   \
    }
#define FLAGS Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC
static PyType_Slot frame_slots[] = {
    {Py_tp_new, frame_new}, {Py_tp_methods, frame_methods}, {Py_tp_getset, frame_getset}, COMMON, {0, NULL}};
static PyType_Slot held_slots[] = {{Py_tp_new, held_new}, {Py_tp_methods, held_methods}, COMMON, {0, NULL}};
static PyType_Spec frame_spec = {"caret._core.Frame", sizeof(struct block), 0, FLAGS | Py_TPFLAGS_BASETYPE,
                                 frame_slots};
static PyType_Spec held_spec = {"caret._core.Held", sizeof(struct block), 0, FLAGS, held_slots};

int caret__py_add_blocks(PyObject *module)
{
    PyTypeObject *frame = caret__py_type(module, &frame_spec, "Frame");
    PyTypeObject *held = frame != NULL ? caret__py_type(module, &held_spec, "Held") : NULL;
    bool made = held != NULL;

    Py_XDECREF((PyObject *)frame);
    Py_XDECREF((PyObject *)held);
    return made ? 0 : -1;
}
