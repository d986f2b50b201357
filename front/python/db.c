/*
 * db.c - the classes Database and Session, and caret.open().
 *
 * Both are owners: what a node keeps, and what a call finds its session by.  A Database has one for each thread; a
 * Session has its own, which belongs to no thread (locks of asyncio, requests that one thread serves).
 */
#include "python/binding.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

static struct caret__py_owner *as_owner(PyObject *o)
{
    return (struct caret__py_owner *)o;
}

static struct caret__py_owner *owner_new(struct caret__py_state *st, PyTypeObject *type)
{
    struct caret__py_owner *o = PyObject_New(struct caret__py_owner, type);

    if (o == NULL)
        return NULL;
    memset((char *)o + sizeof o->ob_base, 0, sizeof *o - sizeof o->ob_base);
    o->state = st;
    return o;
}

/* ----------------------------------------------------------- open */

static int read_sync(const char *text, int *sync)
{
    static const char *const names[] = {"interval", "commit", "off"};

    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *sync = i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "sync is 'interval', 'commit' or 'off', not '%s'", text);
    return -1;
}

/* A path or None: what is held in *bytes. */
static int read_path(PyObject *o, PyObject **bytes, const char **path)
{
    char *data;
    Py_ssize_t len;

    if (o == NULL || o == Py_None)
        return 0;
    if (!PyUnicode_FSConverter(o, bytes) || PyBytes_AsStringAndSize(*bytes, &data, &len) < 0)
        return -1;
    *path = data;
    return 0;
}

/* What open() was told; the paths are held. */
struct wish {
    caret_options options;
    PyObject *path_held, *shm_held, *archive_held;
    const char *path;
};

static void wish_drop(struct wish *w)
{
    Py_XDECREF(w->path_held);
    Py_XDECREF(w->shm_held);
    Py_XDECREF(w->archive_held);
}

/* They were read as numbers with a sign. */
static int check_sizes(const caret_options *o)
{
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {
        {"log_size", o->log_size}, {"arena_limit", o->arena_limit}, {"memory_limit", o->memory_limit}};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if ((Py_ssize_t)sizes[i].value < 0) {
            PyErr_Format(PyExc_ValueError, "%s is a number of bytes, not %zd", sizes[i].name,
                         (Py_ssize_t)sizes[i].value);
            return -1;
        }
    return 0;
}

static int wish_read(struct wish *w, PyObject *args, PyObject *kw)
{
    static char *names[] = {"path",     "create",      "readonly",     "sync",    "sync_interval",
                            "log_size", "arena_limit", "thread",       "shm_dir", "any_fs",
                            "archive",  "huge_pages",  "memory_limit", NULL};
    PyObject *path = NULL, *shm = NULL, *archive = NULL;
    caret_options *o = &w->options;
    const char *sync = "interval";
    int create = 1, thread = 1, huge = 1;

    o->size = sizeof *o;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O$ppsdnnpOpOpn:open", names, &path, &create, &o->readonly,
                                     &sync, &o->sync_interval, &o->log_size, &o->arena_limit, &thread, &shm,
                                     &o->any_fs, &archive, &huge, &o->memory_limit))
        return -1;
    o->no_create = !create;
    o->no_thread = !thread;
    o->no_huge_pages = !huge;
    if (path == Py_None) { /* a setting that is not there */
        PyErr_SetString(PyExc_TypeError, "the path of a database is None: caret.open() without it opens "
                                         "$CARET_DB, else data.caret");
        return -1;
    }
    if (check_sizes(o) < 0 || read_sync(sync, &o->sync) < 0 || read_path(path, &w->path_held, &w->path) < 0)
        return -1;
    if (read_path(shm, &w->shm_held, &o->shm_dir) < 0 ||
        read_path(archive, &w->archive_held, &o->archive) < 0)
        return -1;
    return 0;
}

static PyObject *database(struct caret__py_state *st, caret_db *db, PyObject *kw, bool readonly)
{
    struct caret__py_owner *o = owner_new(st, st->database);
    const char *path = db != NULL ? caret_path(db) : "";

    if (o != NULL && caret__py_core_new(st, db, &o->core) == CARET_OK) {
        o->path = PyUnicode_DecodeFSDefault(path);
        o->options = kw != NULL ? PyDict_Copy(kw) : PyDict_New();
        o->readonly = readonly;
        o->core->owner = (PyObject *)o;
        o->core->remote = path[0] != '/' && strstr(path, "://") != NULL;
    } else {
        if (o != NULL)
            PyErr_NoMemory();
        caret_close(db);
    }
    if (o != NULL && (o->path == NULL || o->options == NULL))
        Py_CLEAR(o);
    return (PyObject *)o;
}

/* local(): without a database */
PyObject *caret__py_local(PyObject *module, PyObject *none)
{
    (void)none;
    return database(caret__py_state(module), NULL, NULL, false);
}

/* open([path], **options) */
PyObject *caret__py_open(PyObject *module, PyObject *args, PyObject *kw)
{
    struct caret__py_state *st = caret__py_state(module);
    struct wish w = {.path = NULL};
    caret_db *db = NULL;
    int rc = CARET__PY_SET;

    if (wish_read(&w, args, kw) == 0) {
        PyThreadState *ts = caret__py_unlock(NULL);
        rc = caret_open(w.path, &w.options, &db);
        caret__py_relock(NULL, ts);
        caret__py_park(st);
    }
    wish_drop(&w);
    /* a server may take seconds to say no */
    if (rc != CARET_OK && rc != CARET__PY_SET && PyErr_CheckSignals() < 0)
        return NULL;
    if (rc != CARET_OK)
        return caret__py_raise_code(st, rc);
    return database(st, db, kw, w.options.readonly);
}

/* find(path): the open Database of this path, or None */
PyObject *caret__py_find(PyObject *module, PyObject *path)
{
    if (!PyUnicode_CheckExact(path)) /* what it is compared with would be code of the program's */
        return caret__py_type_error("find() takes a str");
    for (struct caret__py_core *c = caret__py_state(module)->cores; c != NULL; c = c->next)
        if (!c->closing && c->owner != NULL) {
            int same = PyObject_RichCompareBool(as_owner(c->owner)->path, path, Py_EQ);
            if (same != 0)
                return same < 0 ? NULL : Py_NewRef(c->owner);
        }
    Py_RETURN_NONE;
}

/* ----------------------------------------------------------- close */

static PyObject *close_database(PyObject *self, PyObject *none)
{
    int rc;

    (void)none;
    if (caret__py_here.telling == as_owner(self)->core)
        return caret__py_raise_text(
            as_owner(self)->state, CARET_E_INVALID,
            "INVALID: close() in the function that is told of the progress of a backup");
    caret__py_core_close(as_owner(self)->core, false, &rc);
    return rc == CARET_OK ? Py_NewRef(Py_None) : caret__py_raise_code(as_owner(self)->state, rc);
}

static PyObject *close_session(PyObject *self, PyObject *none)
{
    struct caret__py_owner *o = as_owner(self);

    (void)none;
    if (o->own->busy > 0)
        return caret__py_raise_text(o->state, CARET_E_INVALID,
                                    "INVALID: another thread is in a call with this session");
    if (!o->core->closing)
        caret__py_link_close(o->own);
    Py_RETURN_NONE;
}

static PyObject *enter(PyObject *self, PyObject *none)
{
    (void)none;
    return Py_NewRef(self);
}

static PyObject *leave_database(PyObject *self, PyObject *args)
{
    (void)args;
    return close_database(self, NULL);
}

static PyObject *leave_session(PyObject *self, PyObject *args)
{
    (void)args;
    return close_session(self, NULL);
}

static void dealloc(PyObject *self)
{
    struct caret__py_owner *o = as_owner(self);
    PyTypeObject *type = Py_TYPE(self);
    int rc;

    if (o->db == NULL && o->core != NULL)
        o->core->owner = NULL; /* before others are told: it is not to be found any more */
    if (o->weak != NULL)
        PyObject_ClearWeakRefs(self);
    if (o->own != NULL && !o->core->closing) {
        caret__py_link_close(o->own);
        o->own->spare = true;
    }
    if (o->db == NULL && o->core != NULL) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        caret__py_core_close(o->core, false, &rc);
        caret__py_core_free(o->core);
        PyErr_Restore(kind, value, trace);
    }
    Py_XDECREF(o->db);
    Py_XDECREF(o->path);
    Py_XDECREF(o->options);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ----------------------------------------------------------- sessions */

static PyObject *session(PyObject *self, PyObject *none)
{
    struct caret__py_owner *db = as_owner(self);
    int rc;

    (void)none;
    if (db->core->closing)
        return caret__py_raise_text(db->state, CARET_E_CLOSED, "CLOSED: the database was closed");
    struct caret__py_owner *o = owner_new(db->state, db->state->session);
    if (o == NULL)
        return NULL;
    o->db = Py_NewRef(self);
    o->core = db->core;
    o->path = Py_NewRef(db->path);
    o->options = Py_NewRef(db->options);
    o->readonly = db->readonly;
    o->own = caret__py_link_new(db->core, true, &rc);
    if (o->own != NULL)
        return (PyObject *)o;
    Py_DECREF((PyObject *)o);
    return caret__py_raise_code(db->state, rc);
}

/* ----------------------------------------------------------- what it has */

static PyObject *subscript(PyObject *self, PyObject *key)
{
    return caret__py_node_path(as_owner(self), as_owner(self)->state->node, NULL, key);
}

/* db["^x"] = 1, del db["^x"], and the end of db["^x"] += 1 */
static int assign(PyObject *self, PyObject *key, PyObject *value)
{
    PyObject *node = subscript(self, key);
    int rc = -1;

    if (node == NULL)
        return -1;
    if (value != NULL && caret__py_is_node(as_owner(self)->state, value)) {
        rc = PyObject_RichCompareBool(node, value, Py_EQ) - 1;
        if (rc < 0 && !PyErr_Occurred())
            caret__py_type_error("a node is not a value; did you mean its .value?");
    } else if (value != NULL) {
        rc = caret__py_set_value(node, value, NULL);
    } else {
        PyObject *none = PyObject_CallMethod(node, "kill", NULL);
        rc = none != NULL ? 0 : -1;
        Py_XDECREF(none);
    }
    Py_DECREF(node);
    return rc;
}

static int contains(PyObject *self, PyObject *key)
{
    static const int all = 0;
    PyObject *node = subscript(self, key);
    PyObject *data = node != NULL ? caret__py_get_data(node, (void *)(uintptr_t)&all) : NULL;
    int there = data != NULL ? PyObject_IsTrue(data) : -1;

    Py_XDECREF(node);
    Py_XDECREF(data);
    return there;
}

static PyObject *iterate(PyObject *self)
{
    struct caret__py_core *c = as_owner(self)->core;

    return caret__py_names(as_owner(self), c->db == NULL && !c->closing); /* caret.local() has no others */
}

static PyObject *names(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *words[] = {"local", NULL};
    int local = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|p:names", words, &local))
        return NULL;
    return caret__py_names(as_owner(self), local);
}

static PyObject *repr(PyObject *self)
{
    struct caret__py_owner *o = as_owner(self);
    PyObject *type = PyType_GetName(Py_TYPE(self));
    const char *how = o->core->closed ? ", closed" : o->readonly ? ", readonly" : "";
    PyObject *text = type == NULL ? NULL : PyUnicode_FromFormat("<caret.%U %R%s>", type, o->path, how);

    Py_XDECREF(type);
    return text;
}

static PyObject *get_path(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(as_owner(self)->path);
}

static PyObject *get_options(PyObject *self, void *closure)
{
    (void)closure;
    return PyDict_Copy(as_owner(self)->options);
}

static PyObject *get_closed(PyObject *self, void *closure)
{
    struct caret__py_owner *o = as_owner(self);

    (void)closure;
    return PyBool_FromLong(o->core->closing || (o->own != NULL && o->own->s == NULL));
}

static PyObject *get_readonly(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(as_owner(self)->readonly);
}

static PyObject *get_database(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(as_owner(self)->db != NULL ? as_owner(self)->db : self);
}

/* ----------------------------------------------------------- the classes */

static PyGetSetDef getset[] = {
    {"path", get_path, NULL, "The file, as an absolute path.", NULL},
    {"options", get_options, NULL, "What caret.open() was told.", NULL},
    {"closed", get_closed, NULL, "Was it closed?", NULL},
    {"readonly", get_readonly, NULL, "Was it opened for reading only?", NULL},
    {"database", get_database, NULL, "The Database: of a Session the one it is of.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* So that both can be in a WeakKeyDictionary. */
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct caret__py_owner, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define WITH_NAMES(f) (PyCFunction)(void (*)(void)) f, METH_VARARGS | METH_KEYWORDS
static const PyMethodDef own_methods[] = {
    {"close", close_database, METH_NOARGS, "Close it; calls that sleep end with caret.Closed."},
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave_database, METH_VARARGS, NULL},
    {"names", WITH_NAMES(names), "names(local=False): the names of the variables"},
    {"session", session, METH_NOARGS, "A Session: an owner of locks and transactions beside this thread's."},
    {NULL, NULL, 0, NULL},
};
static const PyMethodDef session_own_methods[] = {
    {"close", close_session, METH_NOARGS, "End it: its transaction is rolled back, its locks are released."},
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave_session, METH_VARARGS, NULL},
    {"names", WITH_NAMES(names), "names(local=False): the names of the variables"},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[64], session_methods[64];

static void join_methods(PyMethodDef *to, const PyMethodDef *own)
{
    const PyMethodDef *tables[] = {own, caret__py_transaction_methods, caret__py_lock_methods,
                                   caret__py_admin_methods, caret__py_log_methods};
    unsigned n = 0;

    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const PyMethodDef *m = tables[i]; m->ml_name != NULL && n + 1 < 64; m++)
            to[n++] = *m;
}

#define COMMON                                                                                               \
    {Py_tp_dealloc, dealloc}, {Py_tp_repr, repr}, {Py_tp_iter, iterate}, {Py_tp_getset, getset},             \
        {Py_tp_members, members}, {Py_mp_subscript, subscript}, {Py_mp_ass_subscript, assign},               \
        {Py_sq_contains, contains},                                                                          \
    {                                                                                                        \
        0, NULL                                                                                              \
    }
static PyType_Slot slots[] = {
    {Py_tp_methods, methods}, {Py_tp_doc, "A database; caret.open() makes it."}, COMMON};
static PyType_Slot session_slots[] = {
    {Py_tp_methods, session_methods},
    {Py_tp_doc, "An owner of locks and transactions; db.session() makes it."},
    COMMON};
static PyType_Spec spec = {"caret.Database", sizeof(struct caret__py_owner), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
static PyType_Spec session_spec = {"caret.Session", sizeof(struct caret__py_owner), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, session_slots};

static void join(void)
{
    join_methods(methods, own_methods);
    join_methods(session_methods, session_own_methods);
}

int caret__py_add_owners(PyObject *module, struct caret__py_state *st)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* interpreters may come side by side */

    pthread_once(&once, join);
    st->database = caret__py_type(module, &spec, "Database");
    st->session = caret__py_type(module, &session_spec, "Session");
    return st->database == NULL || st->session == NULL ? -1 : 0;
}
