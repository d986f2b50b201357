/*
 * error.c - outcomes of the engine as exceptions: one table.
 *
 * Each class has the attributes `code` and `name`, the symbol that caret.h has for it, and derives from what Python
 * programs expect as well (ValueError, OSError with its errno, ...).  The text is that of caret_fact().
 */
#include "python/binding.h"

#include <errno.h>
#include <string.h>

#define GROUP 1000 /* codes of rows that are classes of several */

struct row {
    int code;
    int of; /* code of the class that it derives from; 0: Error */
    const char *name;
    PyObject **also; /* NULL: nothing else */
    int number;      /* errno, for those that are OSErrors, where caret_errno() does not know a better one */
};

enum { INVALID = CARET_E_INVALID, MISUSE = GROUP, STORAGE = GROUP + 1 };

static const struct row rows[] = {
    {INVALID, 0, "InvalidError", &PyExc_ValueError, 0},
    {CARET_E_NAME, INVALID, "BadName", NULL, 0},
    {CARET_E_MAXSUBS, INVALID, "MaxSubs", NULL, 0},
    {CARET_E_KEY2BIG, INVALID, "Key2Big", NULL, 0},
    {CARET_E_VALUE2BIG, INVALID, "Value2Big", NULL, 0},
    {CARET_E_SYNTAX, INVALID, "BadSyntax", NULL, 0},
    {CARET_E_BUFFER, INVALID, "BufferTooSmall", NULL, 0},
    {CARET_E_NUMOFLOW, 0, "NumericOverflow", &PyExc_OverflowError, 0},
    {MISUSE, 0, "Misuse", &PyExc_RuntimeError, 0},
    {CARET_E_CLOSED, MISUSE, "Closed", NULL, 0},
    {CARET_E_NOTXN, MISUSE, "NoTransaction", NULL, 0},
    {CARET_E_INTXN, MISUSE, "InTransaction", NULL, 0},
    {CARET_E_NOTLOCKED, MISUSE, "NotLocked", NULL, 0},
    {CARET_E_TXN_TOO_DEEP, MISUSE, "TooDeep", NULL, 0},
    {CARET_E_TXN_TOO_BIG, 0, "TooBig", NULL, 0},
    {CARET_E_NOTFOUND, 0, "NotFound", &PyExc_FileNotFoundError, ENOENT},
    {CARET_E_EXISTS, 0, "Exists", &PyExc_FileExistsError, EEXIST},
    {CARET_E_OPEN, 0, "OpenError", &PyExc_OSError, EACCES},
    {CARET_E_READONLY, 0, "ReadOnly", &PyExc_PermissionError, EROFS},
    {STORAGE, 0, "StorageError", &PyExc_OSError, EIO},
    {CARET_E_DISKFULL, STORAGE, "DiskFull", NULL, ENOSPC},
    {CARET_E_IO, STORAGE, "IOFailure", NULL, EIO},
    {CARET_E_IO_FAILED, STORAGE, "WritesRefused", NULL, EIO},
    {CARET_E_SHM, STORAGE, "SharedMemoryError", NULL, ENOMEM},
    {CARET_E_SYSTEM, STORAGE, "SystemFailure", NULL, EIO},
    {CARET_E_FOREIGN, 0, "Foreign", NULL, 0},
    {CARET_E_VERSION, 0, "Version", NULL, 0},
    {CARET_E_CORRUPT, 0, "Corrupt", NULL, 0},
    {CARET_E_NETFS, 0, "NetFS", NULL, 0},
    {CARET_E_BUSY, 0, "Busy", NULL, 0},
    {CARET_E_EVICTED, 0, "Evicted", NULL, 0},
    {CARET_E_LIMIT, 0, "Limit", NULL, 0},
    {CARET_E_UNKNOWN, STORAGE, "UnknownOutcome", NULL, EIO},
    {CARET_E_UNSUPPORTED, 0, "Unsupported", &PyExc_NotImplementedError, 0},
    {CARET_E_INTERRUPTED, 0, "Interrupted", NULL, 0},
    {CARET_LOCK_TIMEOUT, 0, "LockTimeout", &PyExc_TimeoutError, ETIMEDOUT},
    {CARET_DEADLOCK, 0, "Deadlock", NULL, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert(ROWS < CARET__PY_ERRORS, "the first is Error itself");

/* The place of a code among state->error: 0 is Error. */
static int place(int code)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].code == code)
            return i + 1;
    return 0;
}

static int is_os(const struct row *r)
{
    return r->number != 0;
}

static PyObject *class_dict(int code)
{
    return code >= GROUP ? PyDict_New()
                         : Py_BuildValue("{s:i,s:s}", "code", code, "name", caret_strerror(code));
}

/* A class caret.NAME, in the module. */
static PyObject *make(PyObject *module, const char *name, PyObject *bases, PyObject *dict)
{
    char full[64] = "caret.";
    PyObject *class = NULL;

    strncat(full, name, sizeof full - 7);
    if (bases != NULL && dict != NULL)
        class = PyErr_NewException(full, bases, dict);
    if (class != NULL && PyModule_AddObjectRef(module, name, class) < 0)
        Py_CLEAR(class);
    Py_XDECREF(bases);
    Py_XDECREF(dict);
    return class;
}

static PyObject *bases_of(struct caret__py_state *st, const struct row *r)
{
    PyObject *parent = st->error[place(r->of)];
    return r->also != NULL ? PyTuple_Pack(2, parent, *r->also) : PyTuple_Pack(1, parent);
}

int caret__py_add_errors(PyObject *module, struct caret__py_state *st)
{
    st->error[0] = make(module, "Error", PyTuple_Pack(1, PyExc_Exception),
                        Py_BuildValue("{s:O,s:O}", "code", Py_None, "name", Py_None));
    if (st->error[0] == NULL)
        return -1;
    for (int i = 0; i < ROWS; i++) {
        st->error[i + 1] = make(module, rows[i].name, bases_of(st, &rows[i]), class_dict(rows[i].code));
        if (st->error[i + 1] == NULL)
            return -1;
    }
    st->restart = make(module, "Restart", PyTuple_Pack(1, PyExc_BaseException), class_dict(CARET_RESTART));
    st->rollback = make(module, "Rollback", PyTuple_Pack(1, PyExc_BaseException), class_dict(CARET_ROLLBACK));
    return st->restart == NULL || st->rollback == NULL ? -1 : 0;
}

/* The exception; an option that would help is a note, which a traceback shows below the text (PEP 678). */
static void set(PyObject *class, PyObject *args, const char *advice)
{
    PyObject *made = PyObject_CallObject(class, args);
    PyObject *noted =
        made != NULL && *advice != '\0' ? PyObject_CallMethod(made, "add_note", "s", advice) : NULL;

    if (made != NULL && (noted != NULL || *advice == '\0'))
        PyErr_SetObject(class, made);
    Py_XDECREF(noted);
    Py_XDECREF(made);
}

/* `number`: the errno, if it is known.  What exit has closed no thread is told of but the one that exits. */
static PyObject *raise_with(struct caret__py_state *st, int rc, const char *text, const char *advice,
                            int number)
{
    if (rc == CARET_E_CLOSED)
        caret__py_park(st);
    int i = place(rc);
    PyObject *class = rc == CARET_RESTART ? st->restart : rc == CARET_ROLLBACK ? st->rollback : st->error[i];
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *args = NULL;

    if (message != NULL && i > 0 && is_os(&rows[i - 1]))
        args = Py_BuildValue("(iO)", number != 0 ? number : rows[i - 1].number, message);
    else if (message != NULL)
        args = PyTuple_Pack(1, message);
    if (args != NULL)
        set(class, args, advice);
    Py_XDECREF(message);
    Py_XDECREF(args);
    return NULL;
}

PyObject *caret__py_raise_text(struct caret__py_state *st, int rc, const char *text)
{
    return raise_with(st, rc, text, "", 0);
}

PyObject *caret__py_raise_code(struct caret__py_state *st, int rc)
{
    if (rc == CARET__PY_SET)
        return NULL;
    if (rc == CARET_E_NOMEM)
        return PyErr_NoMemory();
    if (rc == CARET_RESTART)
        return caret__py_raise_text(st, rc, "RESTART: somebody changed what the transaction has read");
    return raise_with(st, rc, caret_fact(), caret_advice(), caret_errno());
}

PyObject *caret__py_raise(struct caret__py_owner *o, int rc)
{
    struct caret__py_link *l = caret__py_here.current;

    if (rc == CARET_RESTART && l != NULL)
        l->trouble |= CARET__PY_PENDING;
    if (rc == CARET_E_INTERRUPTED && o->core->closing)
        return caret__py_raise_text(o->state, CARET_E_CLOSED, "CLOSED: the database was closed meanwhile");
    if (rc == CARET_E_INTERRUPTED && PyErr_CheckSignals() < 0)
        return NULL;
    return caret__py_raise_code(o->state, rc);
}
