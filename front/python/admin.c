/*
 * admin.c - what is done to a whole database: sync, checkpoints, copies, checks, numbers.
 *
 * All but the numbers let the GIL go for as long as they take.
 */
#include "python/binding.h"

#include <stddef.h>

#define REPORT 65536 /* bytes of findings that are told */

typedef int task(caret_db *db);

static struct caret__py_owner *as_owner(PyObject *o)
{
    return (struct caret__py_owner *)o;
}

static PyObject *perform(PyObject *self, task *f)
{
    struct caret__py_owner *o = as_owner(self);
    caret_db *db = caret__py_db(o);

    if (db == NULL)
        return NULL;
    PyThreadState *ts = caret__py_unlock(o->core);
    int rc = f(db);
    caret__py_relock(o->core, ts);
    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(o, rc);
}

static PyObject *sync_all(PyObject *self, PyObject *none)
{
    (void)none;
    return perform(self, caret_sync);
}

static PyObject *checkpoint(PyObject *self, PyObject *none)
{
    (void)none;
    return perform(self, caret_checkpoint);
}

static PyObject *durable(PyObject *self, PyObject *none)
{
    struct caret__py_owner *o = as_owner(self);
    caret_db *db = caret__py_db(o);
    uint64_t durable = 0, committed = 0;

    (void)none;
    if (db == NULL)
        return NULL;
    PyThreadState *ts = caret__py_unlock(o->core);
    int rc = caret_durable(db, &durable, &committed);
    caret__py_relock(o->core, ts);
    if (rc != CARET_OK)
        return caret__py_raise(o, rc);
    return Py_BuildValue("(KK)", (unsigned long long)durable, (unsigned long long)committed);
}

/* ----------------------------------------------------------- backup */

struct progress {
    PyThreadState *ts;
    struct caret__py_core *core;
    PyObject *f; /* NULL: nobody is told */
    bool raised;
};

static int told(void *arg, uint64_t done, uint64_t total)
{
    struct progress *p = arg;
    struct caret__py_core *outer = caret__py_here.telling;

    PyEval_RestoreThread(p->ts);
    caret__py_here.unlocked--;
    caret__py_here.telling = p->core;
    PyObject *answer = PyObject_CallFunction(p->f, "KK", (unsigned long long)done, (unsigned long long)total);
    p->raised = answer == NULL;
    Py_XDECREF(answer);
    caret__py_here.telling = outer;
    caret__py_here.unlocked++;
    p->ts = PyEval_SaveThread();
    return p->raised;
}

static int copy(struct caret__py_owner *o, caret_db *db, const char *path, caret_backup_options *options,
                PyObject *f)
{
    struct progress p = {.core = o->core, .f = f == Py_None ? NULL : f};

    if (p.f != NULL) {
        options->progress = told;
        options->progress_arg = &p;
    }
    p.ts = caret__py_unlock(o->core);
    int rc = caret_backup(db, path, options);
    caret__py_relock(o->core, p.ts);
    return p.raised ? CARET__PY_SET : rc;
}

/* backup(path, compact=False, overwrite=False, progress=None) */
static PyObject *backup(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"path", "compact", "overwrite", "progress", NULL};
    caret_backup_options options = {.size = sizeof options};
    struct caret__py_owner *o = as_owner(self);
    PyObject *path = NULL, *f = Py_None;
    char *text;
    Py_ssize_t len;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O&|ppO:backup", names, PyUnicode_FSConverter, &path,
                                     &options.compact, &options.overwrite, &f))
        return NULL;
    caret_db *db = caret__py_db(o);
    int rc = CARET__PY_SET;
    if (db != NULL && PyBytes_AsStringAndSize(path, &text, &len) == 0)
        rc = copy(o, db, text, &options, f);
    Py_DECREF(path);
    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(o, rc);
}

/* ----------------------------------------------------------- checks and numbers */

/* check(online=False): the findings, a list of lines; empty: all is well */
static PyObject *check(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"online", NULL};
    struct caret__py_owner *o = as_owner(self);
    int online = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|p:check", names, &online))
        return NULL;
    caret_db *db = caret__py_db(o);
    char *report = db != NULL ? PyMem_Malloc(REPORT) : NULL;
    if (report == NULL)
        return db == NULL ? NULL : PyErr_NoMemory();
    report[0] = '\0';
    PyThreadState *ts = caret__py_unlock(o->core);
    int rc = (online ? caret_check_online : caret_check)(db, report, REPORT);
    caret__py_relock(o->core, ts);
    PyObject *text =
        rc == CARET_OK || rc == CARET_E_CORRUPT ? PyUnicode_FromString(report) : caret__py_raise(o, rc);
    PyMem_Free(report);
    PyObject *lines = text != NULL ? PyUnicode_Splitlines(text, 0) : NULL;
    Py_XDECREF(text);
    return lines;
}

/* Those of caret_stats, by their names. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
#define NUMBER(field)                                                                                        \
    {                                                                                                        \
#field, offsetof(caret_stats, field)                                                                 \
    }
    NUMBER(pages),      NUMBER(free_pages),  NUMBER(arena_slots),    NUMBER(arena_used), NUMBER(depth),
    NUMBER(log_head),   NUMBER(log_durable), NUMBER(checkpoint_lsn), NUMBER(epoch),      NUMBER(checkpoints),
    NUMBER(repairs),    NUMBER(gets),        NUMBER(sets),           NUMBER(commits),    NUMBER(restarts),
    NUMBER(lock_waits), NUMBER(processes),   NUMBER(view),           NUMBER(held_pages), NUMBER(snapshots),
    NUMBER(arena_huge), NUMBER(dead_pages),
#undef NUMBER
};

static int put_number(PyObject *dict, const char *name, uint64_t v)
{
    PyObject *number = PyLong_FromUnsignedLongLong(v);
    int rc = number == NULL ? -1 : PyDict_SetItemString(dict, name, number);

    Py_XDECREF(number);
    return rc;
}

/* stat(): a dict of numbers, named as in caret.h */
static PyObject *stat_all(PyObject *self, PyObject *none)
{
    struct caret__py_owner *o = as_owner(self);
    caret_db *db = caret__py_db(o);
    caret_stats st = {.size = sizeof st};
    int bad = 0;

    (void)none;
    if (db == NULL)
        return NULL;
    PyThreadState *ts = caret__py_unlock(o->core);
    int rc = caret_stat(db, &st);
    caret__py_relock(o->core, ts);
    if (rc != CARET_OK)
        return caret__py_raise(o, rc);
    PyObject *dict = PyDict_New();
    if (dict == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        bad |= put_number(dict, numbers[i].name, *(uint64_t *)((char *)&st + numbers[i].offset));
    if (bad)
        Py_CLEAR(dict);
    return dict;
}

/* batch(on=True): whether commits of this thread do not wait for the disk, whatever the mode */
static PyObject *batch(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = {"on", NULL};
    int on = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|p:batch", names, &on))
        return NULL;
    caret_session *s = caret__py_enter(as_owner(self));
    int rc = s == NULL ? CARET__PY_SET : caret_session_batch(s, on);
    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise(as_owner(self), rc);
}

#define WITH_NAMES(f) (PyCFunction)(void (*)(void)) f, METH_VARARGS | METH_KEYWORDS
PyMethodDef caret__py_admin_methods[] = {
    {"sync", sync_all, METH_NOARGS, "Make everything committed so far durable."},
    {"checkpoint", checkpoint, METH_NOARGS, "Bring everything committed into the data file."},
    {"durable", durable, METH_NOARGS,
     "(durable, committed): places in the log; equal: a power cut takes nothing"},
    {"backup", WITH_NAMES(backup), "backup(path, compact=False, overwrite=False, progress=None)"},
    {"check", WITH_NAMES(check), "check(online=False): findings, a list of lines"},
    {"stat", stat_all, METH_NOARGS, "Numbers, a dict."},
    {"batch", WITH_NAMES(batch), "batch(on=True): commits of this thread do not wait for the disk"},
    {NULL, NULL, 0, NULL},
};
