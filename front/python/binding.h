/*
 * binding.h - what the C files of the Python binding share.
 *
 * The extension module is caret._core; caret/__init__.py makes the package of it.  Objects:
 *
 *   Database  an owner: a handle of the engine (struct caret__py_core), and for each thread that uses it a link
 *   Session   an owner with a link of its own, which any thread may use; it keeps its Database
 *   Node      an address, immutable, with the caret_node inline: no __dict__, not tracked by the collector.  It keeps
 *             its owner, and its view (how values are read and written) if it has one
 *   View      bytes, or a pair of functions
 *   Iter      a cursor; what it hands out are fresh objects
 *   Range     some of the children of a node
 *
 *     Node --> owner --> core --> link of this thread --> caret_session
 *
 * Which thread, which session.  A link is found by a table in the thread's own memory, keyed by the number of the core,
 * which is never used again (session.c).  So a call costs one look there, and one at link->trouble, which tells all
 * that may be wrong with it.
 *
 * The lock of the interpreter (GIL) protects everything here.  It is kept for what takes some nanoseconds.  The engine
 * tells us when it is about to sleep (caret_wait_hooks), and only then is it let go; so what a call was given must stay
 * as it is: nodes are immutable, cursors are marked as in use.  Calls that compute long let it go by themselves
 * (caret__py_unlock).  A long value is not a reason: to copy 64 KiB takes 20 us, and the longest not more than the
 * 5 ms that a thread may wait until it gets the GIL again.  Beside a thread that computes, sets of 64 KiB that let it
 * go were 687 in a second, and 4,909 with it; the other thread gained nothing.
 *
 * Only the limited API of Python is used, so that one binary serves all versions from 3.11 on: Debian 12 has 3.11.
 */
#ifndef CARET_PYTHON_BINDING_H
#define CARET_PYTHON_BINDING_H

#include <pyconfig.h> /* Py_GIL_DISABLED, if there is none */

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED /* builds without a GIL have no limited API before 3.15 */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "caret.h"

#define CARET__PY_ERRORS 48  /* room for the classes of errors */
#define CARET__PY_NEST   127 /* transactions within each other: caret.h */
#define CARET__PY_LATELY 64u /* short values that are known again, in 2 KiB: arbitrary, a power of 2 */

struct caret__py_core;
struct caret__py_owner;
struct caret__py_log;

/* Why a link can't be used at the moment: bits of `trouble`. */
enum {
    CARET__PY_CLOSED = 1,  /* the database or the session was closed */
    CARET__PY_PENDING = 2, /* a conflict was told, and the transaction did not begin again yet */
    CARET__PY_FORKED = 4,  /* a transaction of the parent process was open */
    CARET__PY_SHARED = 8,  /* asleep in a call of another thread */
    CARET__PY_LEFT = 16,   /* a frame of it was left, which is to be told: transaction.c */
    CARET__PY_TASK = 32 /* a task of asyncio has a transaction open, and others may run: only it may go on */
};

/* A thread, as long as something knows it. */
struct caret__py_thread {
    _Atomic int ended;
    _Atomic unsigned refs;
};

/* A session of the engine. Its memory lasts as long as the core, so that a thread may look at it at any time. */
struct caret__py_link {
    caret_session *s; /* NULL: it was closed */
    unsigned trouble; /* CARET__PY_* */
    unsigned depth;   /* frames that are open: transactions that this process has begun and not ended */
    unsigned busy;    /* calls that sleep in it */
    bool spare;       /* it may become another thread's, or Session's */
    struct caret__py_core *core;
    struct caret__py_link *next;
    struct caret__py_thread *thread; /* NULL: it is of no thread */
    void *task; /* of asyncio, in which its transaction was begun: with the trouble TASK */
    uint64_t frame[CARET__PY_NEST]; /* the numbers of those that are open; 0: it was left */
};

struct caret__py_core {
    uint64_t id;
    caret_db *db; /* NULL: there is none, or it was closed */
    struct caret__py_link *links;
    struct caret__py_log *logs; /* that are open */
    unsigned busy;              /* calls that have let the GIL go */
    uint64_t frames;            /* that were ever begun: their numbers */
    bool closing, closed;
    bool remote; /* the database is on a server */
    struct caret__py_state *state;
    PyObject *owner;                      /* the Database, as long as it lives; borrowed */
    struct caret__py_core *next, **place; /* in state->cores */
};

/* Database and Session begin so. */
struct caret__py_owner {
    PyObject ob_base;
    struct caret__py_core *core;
    struct caret__py_link *own; /* of a Session */
    struct caret__py_state *state;
    PyObject *db;      /* of a Session: its Database */
    PyObject *path;    /* str */
    PyObject *options; /* dict, as they were given */
    PyObject *weak;    /* weak references to it */
    bool readonly;
};

struct caret__py_view {
    PyObject ob_base;
    PyObject *encode, *decode; /* NULL: bytes */
    PyObject *how;             /* what it was made of: str, bytes, a module, a pair */
};

struct caret__py_node {
    PyVarObject ob_base; /* its size: bytes of key that there is room for */
    struct caret__py_owner *owner;
    PyObject *view; /* NULL: str */
    caret_node node;
    /* the key follows */
};

static inline struct caret__py_node *caret__py_as(PyObject *node)
{
    return (struct caret__py_node *)node;
}

/* A short value that was read lately: its bytes, and its str if it came again, else NULL.  value.c tells why. */
struct caret__py_lately {
    uint64_t first, last;
    size_t len;
    PyObject *str;
};

struct caret__py_known {
    unsigned missed, rest; /* how many were not there of late; how many more are not to be looked for */
    struct caret__py_lately lately[CARET__PY_LATELY];
};

/* Of the module; one for each interpreter. */
struct caret__py_state {
    PyTypeObject *database, *session, *node, *view, *iter, *range, *log;
    PyObject *error[CARET__PY_ERRORS]; /* as the table in error.c has them */
    PyObject *restart, *rollback;
    PyObject *decimal; /* the class, once it was needed */
    PyObject *current_task, *running_loop;
    PyObject *lazy[3]; /* classes: of coroutines and generators, once they were needed */
    PyObject *value_name;
    struct caret__py_known known;
    struct caret__py_core *cores;
    bool exiting;
    pthread_t exit_thread; /* which is the one that exits */
};

/* ----------------------------------------------------------- error.c */

/* Outcomes of our own beside the engine's: an exception is set already. */
#define CARET__PY_SET (-1000)

int caret__py_add_errors(PyObject *module, struct caret__py_state *st);
/* Raise what came of a call.  Both return NULL. */
PyObject *caret__py_raise(struct caret__py_owner *o, int rc);
PyObject *caret__py_raise_text(struct caret__py_state *st, int rc, const char *text);
PyObject *caret__py_raise_code(struct caret__py_state *st, int rc);

/* ----------------------------------------------------------- session.c */

/* How many databases a thread finds at once: arbitrary. */
#define CARET__PY_RECENT 4u

struct caret__py_recent {
    uint64_t id;
    struct caret__py_link *link;
};
struct caret__py_here {
    struct caret__py_recent recent[CARET__PY_RECENT];
    struct caret__py_link *current; /* whose call this thread is in; stale between calls */
    struct caret__py_thread *thread;
    int unlocked;                   /* the GIL was let go by caret__py_unlock */
    struct caret__py_core *telling; /* in a function of the program that a call with this core has called */
};
extern _Thread_local struct caret__py_here caret__py_here;

int caret__py_start_sessions(void);
struct caret__py_link *caret__py_link_slow(struct caret__py_owner *o);
void caret__py_link_close(struct caret__py_link *l);
void caret__py_core_close(struct caret__py_core *c, bool exiting, int *rc);
struct caret__py_link *caret__py_link_new(struct caret__py_core *c, bool detached, int *rc);
int caret__py_core_new(struct caret__py_state *st, caret_db *db, struct caret__py_core **made);
void caret__py_core_free(struct caret__py_core *c);
PyObject *caret__py_after_fork(PyObject *module, PyObject *none);
PyObject *caret__py_at_exit(PyObject *module, PyObject *none);

/* What this thread knows: looked up once, not again at each use. */
static inline struct caret__py_here *caret__py_here_once(void)
{
    struct caret__py_here *here = &caret__py_here;

    __asm__("" : "+r"(here));
    return here;
}

/* The link to use, or NULL with an exception set. */
static inline struct caret__py_link *caret__py_link(struct caret__py_owner *o)
{
    struct caret__py_here *here = caret__py_here_once();
    struct caret__py_recent *r = &here->recent[o->core->id % CARET__PY_RECENT];
    struct caret__py_link *l = o->own != NULL ? o->own : r->id == o->core->id ? r->link : NULL;

    if (__builtin_expect(l == NULL || l->trouble != 0, 0))
        return caret__py_link_slow(o);
    here->current = l;
    return l;
}

/* The session to use, or NULL with an exception set. */
static inline caret_session *caret__py_enter(struct caret__py_owner *o)
{
    struct caret__py_link *l = caret__py_link(o);
    return l != NULL ? l->s : NULL;
}

/* At exit other threads do not come back to Python from here. */
void caret__py_park(struct caret__py_state *st);

/* Around what takes long: the GIL is free meanwhile, and the core is not closed. */
PyThreadState *caret__py_unlock(struct caret__py_core *c);
void caret__py_relock(struct caret__py_core *c, PyThreadState *ts);

/* The handle of an open database, or NULL with an exception set. */
caret_db *caret__py_db(struct caret__py_owner *o);

/* ----------------------------------------------------------- value.c */

/* Bytes that some Python object stands for; to be dropped, unless `hold` is NULL. */
struct caret__py_text {
    const char *data;
    Py_ssize_t len;
    PyObject *hold;
    char small[64];
};

/* -1: an exception is set.  `what` is "value" or "subscript". */
int caret__py_text(struct caret__py_state *st, PyObject *o, struct caret__py_text *t, const char *what);
/* The same as the view writes values. */
int caret__py_value_text(struct caret__py_node *n, PyObject *o, struct caret__py_text *t);
static inline void caret__py_drop(struct caret__py_text *t)
{
    Py_XDECREF(t->hold);
}

PyObject *caret__py_str(const char *data, size_t len);
/* The same; the result may be an object that was given out before. */
PyObject *caret__py_str_again(struct caret__py_known *k, const char *data, size_t len);
PyObject *caret__py_value(PyObject *view, caret_slice v);
PyObject *caret__py_number(struct caret__py_state *st, const char *data, size_t len);
PyObject *caret__py_integer(struct caret__py_state *st, const char *data, size_t len);
/* Seconds, or None for ever; -1: an exception is set. */
int caret__py_timeout(PyObject *o, uint64_t *ns);

int caret__py_add_view(PyObject *module, struct caret__py_state *st);

/* ----------------------------------------------------------- node.c */

struct caret__py_node *caret__py_node_new(PyTypeObject *type, struct caret__py_owner *o, PyObject *view,
                                          size_t room);
struct caret__py_node *caret__py_node_at(PyTypeObject *type, struct caret__py_owner *o, PyObject *view,
                                         const caret_node *at);
/* n becomes a child of parent: an outcome, or CARET__PY_SET. */
int caret__py_child(struct caret__py_state *st, caret_node *n, size_t bytes, const caret_node *parent,
                    PyObject *sub);
PyObject *caret__py_node_path(struct caret__py_owner *o, PyTypeObject *type, PyObject *view, PyObject *key);
bool caret__py_is_node(struct caret__py_state *st, PyObject *o);
int caret__py_add_node(PyObject *module, struct caret__py_state *st);
PyObject *caret__py_node_get(PyObject *self, PyObject *key);

/* ----------------------------------------------------------- name.c */

extern PyGetSetDef caret__py_name_getset[];
/* Of the same database?  -1: an exception is set. */
int caret__py_same_database(struct caret__py_owner *a, struct caret__py_owner *b);
/* `node`, if it is a node of the database of o; else NULL, and an exception is set: `otherwise` says what other objects
 * are told. */
struct caret__py_node *caret__py_own_node(struct caret__py_owner *o, PyObject *node, const char *otherwise);
PyObject *caret__py_last_sub(const caret_node *n);
PyObject *caret__py_zwr(const caret_node *n);
PyObject *caret__py_node_str(PyObject *self);
PyObject *caret__py_repr(PyObject *self);
Py_hash_t caret__py_hash(PyObject *self);
PyObject *caret__py_compare(PyObject *a, PyObject *b, int op);

/* ----------------------------------------------------------- data.c, sum.c */

extern PyMethodDef caret__py_data_methods[], caret__py_sum_methods[];
/* No more than one argument?  Else an exception is set. */
bool caret__py_few(Py_ssize_t nargs, const char *name);
PyObject *caret__py_get_value(PyObject *self, void *closure);
int caret__py_set_value(PyObject *self, PyObject *value, void *closure);
PyObject *caret__py_get_bytes(PyObject *self, void *closure);
PyObject *caret__py_get_data(PyObject *self, void *closure);
PyObject *caret__py_add(PyObject *self, PyObject *by);
PyObject *caret__py_subtract(PyObject *self, PyObject *by);
/* Like sq_contains and mp_ass_subscript. */
int caret__py_contains(PyObject *self, PyObject *sub);
int caret__py_assign(PyObject *self, PyObject *sub, PyObject *value);

/* ----------------------------------------------------------- iter.c, range.c */

enum caret__py_what {
    CARET__PY_KEYS,
    CARET__PY_VALUES,
    CARET__PY_ITEMS,
    CARET__PY_NODES,
    CARET__PY_WALK,
    CARET__PY_NAMES
};

/* Some of the children of a node; `from` and `to` are bytes or NULL. */
struct caret__py_bounds {
    PyObject *from, *to;
    int flags; /* CARET_RANGE_* */
    bool back;
    Py_ssize_t limit; /* -1: none */
};

PyObject *caret__py_iterate(struct caret__py_node *n, enum caret__py_what what,
                            const struct caret__py_bounds *b);
PyObject *caret__py_walk(struct caret__py_node *n, Py_ssize_t levels);
PyObject *caret__py_names(struct caret__py_owner *o, int local);
PyObject *caret__py_range(struct caret__py_node *n, PyObject *slice);
PyObject *caret__py_prefix(PyObject *self, PyObject *text);
int caret__py_kill_slice(struct caret__py_node *n, PyObject *slice);
PyObject *caret__py_range_of(struct caret__py_node *n, struct caret__py_bounds *b);
void caret__py_slices(const struct caret__py_bounds *b, caret_slice *from, caret_slice *to);
int caret__py_add_iter(PyObject *module, struct caret__py_state *st);
int caret__py_add_range(PyObject *module, struct caret__py_state *st);

/* ----------------------------------------------------------- lock.c, changes.c */

/* What waits, and for what: it is told for how long. */
struct caret__py_wait {
    struct caret__py_owner *o;
    caret_session *s; /* NULL: there is none, and an exception is set */
    const caret_node *n;
    const caret_node *const *nodes;
    size_t count;
    uint64_t place;
    caret_log *log;
};
typedef int caret__py_waiter(const struct caret__py_wait *w, uint64_t ns);

/* Call f until it says something else than that the time is over, or it is; signals are handled meanwhile. */
int caret__py_wait_long(struct caret__py_wait *w, caret__py_waiter *f, uint64_t ns);

extern PyMethodDef caret__py_log_methods[];
void caret__py_close_logs(struct caret__py_core *c);
int caret__py_add_log(PyObject *module, struct caret__py_state *st);

/* ----------------------------------------------------------- db.c, transaction.c, lock.c, text.c */

extern PyMethodDef caret__py_transaction_methods[], caret__py_lock_methods[], caret__py_node_lock_methods[];
extern PyMethodDef caret__py_admin_methods[];
/* The trouble TASK: does another task run, or none?  Then it is told. */
bool caret__py_other_task(struct caret__py_owner *o, struct caret__py_link *l);
/* The trouble LEFT: roll back what can be, and tell it. */
void *caret__py_tell_left(struct caret__py_owner *o, struct caret__py_link *l);
/* No frame above `depth` is open any more, nor one that was left at the top of the others. */
void caret__py_down_to(struct caret__py_link *l, unsigned depth);
int caret__py_add_owners(PyObject *module, struct caret__py_state *st);

/* ----------------------------------------------------------- block.c */

int caret__py_add_blocks(PyObject *module);
/* Begin a frame: its number; 0: an exception is set. */
uint64_t caret__py_begin_frame(struct caret__py_owner *o, int flags);
/* End it; `exception` is what __exit__ was given.  True: it is over, and the exception, if any, is swallowed; False:
 * the exception goes on; None: the body is to run again; NULL: an exception is set. */
PyObject *caret__py_end_frame(struct caret__py_owner *o, uint64_t number, Py_ssize_t most,
                              PyObject *const *exception);
/* A loop over attempts() ends, though this frame is open: None, or NULL with an exception that says so. */
PyObject *caret__py_leave_frame(struct caret__py_owner *o, uint64_t number);
PyObject *caret__py_restore_locals(PyObject *owner, PyObject *on);
/* Take the lock on a node: NULL if it is not to be had.  The locks of a tuple: True, or False: not in time. */
PyObject *caret__py_lock(PyObject *node, PyObject *timeout);
PyObject *caret__py_release(PyObject *node, PyObject *none);
PyObject *caret__py_lock_nodes(struct caret__py_owner *o, PyObject *tuple, PyObject *timeout);
/* Of several errors the first is told. */
PyObject *caret__py_release_nodes(struct caret__py_owner *o, PyObject *tuple);
PyObject *caret__py_open(PyObject *module, PyObject *args, PyObject *kw);
PyObject *caret__py_local(PyObject *module, PyObject *none);
PyObject *caret__py_find(PyObject *module, PyObject *path);
PyObject *caret__py_parse(PyObject *module, PyObject *args);
PyObject *caret__py_str2zwr(PyObject *module, PyObject *o);
PyObject *caret__py_zwr2str(PyObject *module, PyObject *o);

/* ----------------------------------------------------------- module.c */

struct caret__py_state *caret__py_state(PyObject *module);
/* A class of this module: made, put into it, and borrowed from it. */
PyTypeObject *caret__py_type(PyObject *module, PyType_Spec *spec, const char *name);
/* Bad use of a function: TypeError; returns NULL. */
PyObject *caret__py_type_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
