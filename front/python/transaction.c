/*
 * transaction.c - transactions: run(), and what blocks (block.c) call.
 *
 * Every form is a frame: it begins, the body runs, and settle() decides what comes of it.  l->depth counts frames, and
 * the engine counts levels; they are the same number, but after a conflict inside of a nested frame, which ends without
 * the engine: the outermost one begins everything again, or rolls all levels back.
 *
 *     body returned                    commit; a conflict there: again
 *     body raised Restart, or was told of a conflict and ate it (trouble PENDING): again, from the outermost frame
 *     body raised Rollback             this frame is rolled back, and ends well
 *     body raised anything else        this frame is rolled back, and the exception goes on
 *     the process was forked inside    nothing of it is the child's: Misuse
 *
 * A frame of `with` may be ended where it must not: a generator that is suspended inside of it is closed by another
 * thread (or by the collector, there), while the thread that began it uses its session, and perhaps is asleep in a call
 * of it.  So each frame has a number, which is in the table of its link as long as it is open; whoever ends it finds
 * the link by that.  If it is another thread's, the frame is only marked as left (0 in the table), and that one is told
 * (trouble LEFT) at its next call, or at the end of a frame: what was done since is rolled back by its own thread, and
 * it gets Misuse, as it counts on it.  Frames may still be open above one that was left: it goes when it is the top.
 *
 * The body of a `with` may await, and other tasks of asyncio run in this thread meanwhile.  As long as the outermost
 * frame is such a task's, the link has the trouble TASK: each call looks which task it is, and tells another one.  A
 * function can't await, so run() has no such look.
 */
#include "python/binding.h"

enum verdict { COMMITTED, ROLLED_BACK, AGAIN, FAILED };

#define NO_LIMIT (-1)

struct frame {
    struct caret__py_owner *o;
    struct caret__py_link *l;
    unsigned level;  /* l->depth while its body runs */
    uint64_t number; /* which it has among those of the core */
    Py_ssize_t most; /* restarts, or NO_LIMIT */
};

/* ----------------------------------------------------------- asyncio */

static PyObject *attribute(const char *module, const char *name)
{
    PyObject *m = PyImport_ImportModule(module);
    PyObject *f = m != NULL ? PyObject_GetAttrString(m, name) : NULL;

    Py_XDECREF(m);
    return f;
}

/* The task of asyncio that runs, as a number; 0: none does. */
static void *task_now(struct caret__py_state *st)
{
    PyObject *modules = PySys_GetObject("modules"); /* borrowed */
    void *task = NULL;

    if (modules == NULL || !PyMapping_HasKeyString(modules, "asyncio"))
        return NULL;
    if (st->running_loop == NULL)
        st->running_loop = attribute("asyncio", "_get_running_loop");
    if (st->current_task == NULL)
        st->current_task = attribute("asyncio", "current_task");
    PyObject *loop = st->running_loop != NULL ? PyObject_CallNoArgs(st->running_loop) : NULL;
    if (loop != NULL && loop != Py_None && st->current_task != NULL) {
        task = PyObject_CallFunctionObjArgs(st->current_task, loop, NULL);
        Py_XDECREF((PyObject *)task); /* only its address counts */
    }
    Py_XDECREF(loop);
    PyErr_Clear();
    return task;
}

bool caret__py_other_task(struct caret__py_owner *o, struct caret__py_link *l)
{
    if (!(l->trouble & CARET__PY_TASK) || l->task == task_now(o->state))
        return false;
    caret__py_raise_text(o->state, CARET_E_INTXN,
                         "INTXN: await inside a transaction: another task of this thread has one open");
    return true;
}

/* ----------------------------------------------------------- frames */

static inline int begin(struct frame *f, int flags)
{
    struct caret__py_link *l = f->l = caret__py_link(f->o);

    if (l == NULL)
        return -1;
    int rc = caret_begin(l->s, flags);
    if (rc != CARET_OK) {
        caret__py_raise(f->o, rc);
        return -1;
    }
    unsigned depth = l->depth;
    f->number = l->frame[depth] = ++l->core->frames;
    f->level = l->depth = depth + 1;
    return 0;
}

/* Is it open? */
static inline bool is_open(const struct frame *f)
{
    return f->l->depth >= f->level && f->l->frame[f->level - 1] == f->number;
}

void caret__py_down_to(struct caret__py_link *l, unsigned depth)
{
    while (depth > 0 && l->frame[depth - 1] == 0)
        depth--;
    l->depth = depth;
    caret__py_here.current = l;
    while (l->s != NULL && !(l->trouble & CARET__PY_CLOSED) && caret_txn_level(l->s) > depth)
        if (caret_rollback(l->s) != CARET_OK)
            break;
    if (depth == 0)
        l->trouble &= ~(unsigned)(CARET__PY_PENDING | CARET__PY_FORKED | CARET__PY_TASK);
}

/* Roll back this frame and what its body left open.  An exception that is set stays. */
static void undo(struct frame *f)
{
    caret__py_down_to(f->l, f->level - 1);
}

static enum verdict failed(struct frame *f, PyObject **result)
{
    Py_CLEAR(*result);
    undo(f);
    return FAILED;
}

/* The outermost frame begins again; a nested one tells those above. */
static enum verdict again(struct frame *f, PyObject **result)
{
    struct caret__py_link *l = f->l;

    Py_CLEAR(*result);
    if (f->level > 1) {
        if (!PyErr_Occurred())
            caret__py_raise_code(f->o->state, CARET_RESTART);
        l->trouble |= CARET__PY_PENDING;
        l->depth = f->level - 1;
        return FAILED;
    }
    PyErr_Clear();
    if (f->most != NO_LIMIT && (Py_ssize_t)caret_txn_restarts(l->s) >= f->most) {
        caret__py_raise_text(f->o->state, CARET_E_BUSY,
                             "BUSY: the transaction has begun again as often as it may, and is to once more: "
                             "others changed what it has read, or caret.restart() asked for it");
        return failed(f, result);
    }
    caret__py_here.current = l;
    int rc = caret_restart(l->s);
    l->depth = 1;
    l->trouble &= ~(unsigned)(CARET__PY_PENDING | CARET__PY_LEFT);
    if (rc != CARET_OK)
        caret__py_raise(f->o, rc);
    return rc != CARET_OK || PyErr_CheckSignals() < 0 ? failed(f, result) : AGAIN;
}

/* The value of the Rollback that is set, which is taken away; NULL with an exception: no memory for it. */
static PyObject *rollback_value(struct caret__py_state *st)
{
    PyObject *kind, *value, *trace, *result = NULL;

    PyErr_Fetch(&kind, &value, &trace);
    PyErr_NormalizeException(&kind, &value, &trace);
    if (!PyErr_GivenExceptionMatches(kind, st->rollback)) {
        PyErr_Restore(kind, value, trace);
        return NULL;
    }
    PyObject *args = PyObject_GetAttrString(value, "args");
    if (args != NULL)
        result = Py_NewRef(PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_None);
    Py_XDECREF(args);
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

static enum verdict rolled_back(struct frame *f, PyObject **result)
{
    *result = rollback_value(f->o->state);
    if (*result == NULL)
        return failed(f, result);
    undo(f);
    return ROLLED_BACK;
}

/* The body raised. */
static enum verdict raised(struct frame *f, PyObject **result)
{
    struct caret__py_state *st = f->o->state;
    bool pending = f->l->trouble & CARET__PY_PENDING;

    if (PyErr_ExceptionMatches(st->restart) || (pending && PyErr_ExceptionMatches(PyExc_Exception)))
        return again(f, result);
    return PyErr_ExceptionMatches(st->rollback) && !pending ? rolled_back(f, result) : failed(f, result);
}

/* ----------------------------------------------------------- frames without a commit */

static void raise_lost(struct frame *f)
{
    if (f->l != NULL && f->l->trouble & CARET__PY_CLOSED)
        caret__py_raise_text(f->o->state, CARET_E_CLOSED,
                             "CLOSED: the database was closed inside a transaction");
    else if (f->l != NULL && f->l->trouble & CARET__PY_FORKED)
        caret__py_raise_text(f->o->state, CARET_E_NOTXN,
                             "NOTXN: the process was forked inside a transaction, which is its parent's");
    else
        caret__py_raise_text(
            f->o->state, CARET_E_NOTXN,
            "NOTXN: this transaction is over already: it was rolled back with one around it, or its thread");
}

/* The session was closed, or is another process's; or the frame has been rolled back. */
static enum verdict lost(struct frame *f, PyObject **result)
{
    Py_CLEAR(*result);
    if (!PyErr_Occurred())
        raise_lost(f);
    if (is_open(f))
        undo(f);
    return FAILED;
}

void *caret__py_tell_left(struct caret__py_owner *o, struct caret__py_link *l)
{
    bool more = false;

    caret__py_down_to(l, l->depth);
    for (unsigned i = 0; i < l->depth; i++)
        more |= l->frame[i] == 0;
    if (!more)
        l->trouble &= ~(unsigned)CARET__PY_LEFT;
    return caret__py_raise_text(
        o->state, CARET_E_INTXN,
        "INTXN: a transaction was left open here, by a generator that another thread has closed, or by a "
        "loop "
        "over attempts() that ended before its commit; what was done since it began is rolled back");
}

/* A frame inside of this one, or around it, was left. */
static enum verdict left(struct frame *f, PyObject **result)
{
    struct caret__py_state *st = f->o->state;
    bool tells =
        *result != NULL || PyErr_ExceptionMatches(st->restart) || PyErr_ExceptionMatches(st->rollback);

    Py_CLEAR(*result);
    undo(f);
    if (tells) {
        PyErr_Clear();
        caret__py_tell_left(f->o, f->l);
    }
    return FAILED;
}

/* ----------------------------------------------------------- the end of a frame */

static inline enum verdict committed(struct frame *f, PyObject **result)
{
    struct caret__py_link *l = f->l;

    if (caret__py_other_task(f->o, l))
        return failed(f, result);
    caret__py_here.current = l;
    int rc = caret_commit(l->s);
    if (__builtin_expect(rc == CARET_OK, 1)) {
        l->depth = f->level - 1;
        if (l->depth == 0 && l->trouble != 0)
            l->trouble &= ~(unsigned)CARET__PY_TASK;
        return COMMITTED;
    }
    if (rc == CARET_RESTART)
        return again(f, result);
    caret__py_raise(f->o, rc);
    return failed(f, result);
}

/* settle() where there is any trouble, or the body left something open. */
static __attribute__((noinline)) enum verdict settle_otherwise(struct frame *f, PyObject **result)
{
    struct caret__py_link *l = f->l;

    if (l->trouble & (CARET__PY_CLOSED | CARET__PY_FORKED) || !is_open(f))
        return lost(f, result);
    if ((l->trouble & (CARET__PY_LEFT | CARET__PY_PENDING)) == CARET__PY_LEFT)
        return left(f, result);
    if (*result == NULL)
        return raised(f, result);
    if (l->trouble & CARET__PY_PENDING)
        return again(f, result);
    if (l->depth == f->level)
        return committed(f, result);
    caret__py_raise_text(f->o->state, CARET_E_INTXN, "INTXN: the body left a transaction open");
    return failed(f, result);
}

/* What comes of a frame.  *result is what the body returned; NULL: an exception is set. */
static inline enum verdict settle(struct frame *f, PyObject **result)
{
    struct caret__py_link *l = f->l;

    if (__builtin_expect(l->trouble == 0 && l->depth == f->level && is_open(f) && *result != NULL, 1))
        return committed(f, result);
    return settle_otherwise(f, result);
}

/* ----------------------------------------------------------- run */

/* What calls of async functions, and of generators, give at once. */
static int load_lazy(struct caret__py_state *st)
{
    static const char *const names[] = {"CoroutineType", "GeneratorType", "AsyncGeneratorType"};

    for (int i = 0; i < 3; i++)
        if (st->lazy[i] == NULL && (st->lazy[i] = attribute("types", names[i])) == NULL)
            return -1;
    return 0;
}

/* Is it one of them?  -1: an exception is set. */
static inline int is_lazy(struct caret__py_state *st, PyObject *result)
{
    PyObject *type = (PyObject *)Py_TYPE(result);

    if (__builtin_expect(st->lazy[2] == NULL, 0) && load_lazy(st) < 0)
        return -1;
    return type == st->lazy[0] || type == st->lazy[1] || type == st->lazy[2];
}

/* Such a body did nothing yet: it would run after the commit.  NULL: so it is refused. */
static inline PyObject *refused(struct caret__py_state *st, PyObject *body, PyObject *result)
{
    int lazy = is_lazy(st, result);

    if (lazy == 0)
        return result;
    PyObject *f = lazy > 0 ? attribute("caret._transactions", "refuse_result") : NULL;
    PyObject *same = f != NULL ? PyObject_CallFunctionObjArgs(f, body, result, NULL) : NULL;
    Py_XDECREF(f);
    Py_DECREF(result);
    return same;
}

static PyObject *run_frame(struct frame *f, int flags, PyObject *body, PyObject *args, PyObject *kw)
{
    PyObject *result;
    enum verdict v;

    if (begin(f, flags) < 0)
        return NULL;
    do {
        result = args == NULL ? PyObject_CallNoArgs(body) : PyObject_Call(body, args, kw);
        if (result != NULL)
            result = refused(f->o->state, body, result);
        v = settle(f, &result);
    } while (v == AGAIN);
    return result;
}

/* What the body is called with; NULL in `args`: nothing at all.  -1: an exception is set. */
static int call_arguments(PyObject *const *given, Py_ssize_t n, PyObject *names, PyObject **args,
                          PyObject **kw)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);

    *args = *kw = NULL;
    if (n == 0 && named == 0)
        return 0;
    if ((*args = PyTuple_New(n)) == NULL || (named != 0 && (*kw = PyDict_New()) == NULL))
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        PyTuple_SetItem(*args, i, Py_NewRef(given[i]));
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyDict_SetItem(*kw, PyTuple_GetItem(names, i), given[n + i]) < 0)
            return -1;
    return 0;
}

/* run(body, *args, **kw): call it in a transaction, as often as it takes; what it returns */
static PyObject *run(PyObject *self, PyObject *const *given, Py_ssize_t n, PyObject *names)
{
    struct frame f = {.o = (struct caret__py_owner *)self, .most = NO_LIMIT};
    PyObject *args, *kw, *result = NULL;

    if (n == 1 && names == NULL)
        return run_frame(&f, 0, given[0], NULL, NULL);
    if (n < 1)
        return caret__py_type_error("run() takes a function, and its arguments");
    if (call_arguments(given + 1, n - 1, names, &args, &kw) == 0)
        result = run_frame(&f, 0, given[0], args, kw);
    Py_XDECREF(args);
    Py_XDECREF(kw);
    return result;
}

/* _run(flags, retries, body, args, kw) */
static PyObject *run_with(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    struct frame f = {.o = (struct caret__py_owner *)self};

    if (nargs != 5)
        return caret__py_type_error("_run() takes five arguments");
    long flags = PyLong_AsLong(args[0]);
    f.most = PyLong_AsSsize_t(args[1]);
    if (PyErr_Occurred())
        return NULL;
    return run_frame(&f, (int)flags, args[2], args[3], args[4] == Py_None ? NULL : args[4]);
}

uint64_t caret__py_begin_frame(struct caret__py_owner *o, int flags)
{
    struct frame f = {.o = o};

    if (begin(&f, flags) < 0)
        return 0;
    if (f.level == 1 && (f.l->task = task_now(o->state)) != NULL)
        f.l->trouble |= CARET__PY_TASK;
    return f.number;
}

/* Is the frame of this number open in the link?  Then it is f's. */
static bool has_frame(struct caret__py_link *l, struct frame *f)
{
    for (unsigned i = l->depth; i > 0; i--)
        if (l->frame[i - 1] == f->number) {
            f->l = l;
            f->level = i;
            return true;
        }
    return false;
}

/* The link that has the frame, whatever its trouble: most likely the one of this thread.  false: none has it. */
static bool find_frame(struct frame *f)
{
    struct caret__py_core *c = f->o->core;
    struct caret__py_recent *r = &caret__py_here.recent[c->id % CARET__PY_RECENT];
    struct caret__py_link *l = f->o->own != NULL ? f->o->own : r->id == c->id ? r->link : NULL;

    if (l != NULL && has_frame(l, f))
        return true;
    f->l = l; /* has its trouble made an end of it? */
    if (f->o->own == NULL)
        for (l = c->links; l != NULL; l = l->next)
            if (has_frame(l, f))
                return true;
    return false;
}

/* Is the frame another thread's, or is another thread in a call with its session? */
static bool is_elsewhere(const struct frame *f)
{
    return f->l->trouble & CARET__PY_SHARED ||
           (f->l->thread != NULL && f->l->thread != caret__py_here.thread);
}

static void leave(struct frame *f)
{
    f->l->frame[f->level - 1] = 0;
    f->l->trouble |= CARET__PY_LEFT;
}

PyObject *caret__py_leave_frame(struct caret__py_owner *o, uint64_t number)
{
    struct frame f = {.o = o, .number = number};

    if (!find_frame(&f))
        Py_RETURN_NONE;
    leave(&f);
    if (!is_elsewhere(&f))
        caret__py_down_to(f.l, f.l->depth);
    return caret__py_raise_text(f.o->state, CARET_E_INTXN,
                                "INTXN: the loop over attempts() ended before its transaction was committed");
}

/* What the end of a frame returns. */
static PyObject *told(enum verdict v, PyObject *const *exception)
{
    PyObject *kind, *value, *trace;

    if (v == AGAIN)
        Py_RETURN_NONE;
    if (v != FAILED)
        Py_RETURN_TRUE;
    PyErr_Fetch(&kind, &value, &trace);
    if (value != exception[1] || exception[0] == Py_None) {
        PyErr_Restore(kind, value, trace);
        return NULL;
    }
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    Py_RETURN_FALSE;
}

PyObject *caret__py_end_frame(struct caret__py_owner *o, uint64_t number, Py_ssize_t most,
                              PyObject *const *exception)
{
    struct frame f = {.o = o, .number = number, .most = most};
    PyObject *result = NULL;

    bool found = find_frame(&f);
    if (found && is_elsewhere(&f)) {
        leave(&f);
        return caret__py_raise_text(
            f.o->state, CARET_E_INTXN,
            "INTXN: this transaction was begun by another thread, which is told, too");
    }
    if (exception[0] != Py_None)
        PyErr_Restore(Py_NewRef(exception[0]), Py_NewRef(exception[1]),
                      exception[2] == Py_None ? NULL : Py_NewRef(exception[2]));
    else
        result = Py_NewRef(Py_None);
    enum verdict v = FAILED;
    if (found)
        v = settle(&f, &result);
    else if (result != NULL)
        raise_lost(&f);
    Py_XDECREF(result);
    return told(v, exception);
}

static PyObject *get_level(PyObject *self, PyObject *none)
{
    struct caret__py_link *l = caret__py_link((struct caret__py_owner *)self);

    (void)none;
    return l == NULL ? NULL : PyLong_FromUnsignedLong(l->depth);
}

static PyObject *get_restarts(PyObject *self, PyObject *none)
{
    caret_session *s = caret__py_enter((struct caret__py_owner *)self);

    (void)none;
    return s == NULL ? NULL : PyLong_FromUnsignedLong(caret_txn_restarts(s));
}

PyObject *caret__py_restore_locals(PyObject *self, PyObject *on)
{
    struct caret__py_owner *o = (struct caret__py_owner *)self;
    caret_session *s = caret__py_enter(o);
    int rc = s == NULL ? CARET__PY_SET : caret_txn_restore_locals(s, PyObject_IsTrue(on) == 1);

    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(o, rc);
}

#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL
PyMethodDef caret__py_transaction_methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS,
     "run(body, *args, **kw): call it in a transaction, as often as it takes"},
    {"_run", FAST(run_with), NULL},
    {"level", get_level, METH_NOARGS, "How many transactions are open here, one within the other."},
    {"restarts", get_restarts, METH_NOARGS, "How often the transaction began again so far."},
    {"_restore_locals", caret__py_restore_locals, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
