/*
 * module.c - the extension module caret._core: its state, and its functions.
 */
#include "python/binding.h"

#include <stdarg.h>
#include <stdio.h>

struct caret__py_state *caret__py_state(PyObject *module)
{
    return PyModule_GetState(module);
}

PyTypeObject *caret__py_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    if (type != NULL && PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

PyObject *caret__py_type_error(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    PyErr_SetString(PyExc_TypeError, text);
    return NULL;
}

/* The name of a code, for the test that compares them. */
static PyObject *symbol(PyObject *module, PyObject *code)
{
    long value = PyLong_AsLong(code);

    (void)module;
    return value == -1 && PyErr_Occurred() ? NULL : PyUnicode_FromString(caret_strerror((int)value));
}

static PyMethodDef functions[] = {
    {"open", (PyCFunction)(void (*)(void))caret__py_open, METH_VARARGS | METH_KEYWORDS, NULL},
    {"local", caret__py_local, METH_NOARGS, NULL},
    {"find", caret__py_find, METH_O, NULL},
    {"parse", caret__py_parse, METH_VARARGS, NULL},
    {"str2zwr", caret__py_str2zwr, METH_O, NULL},
    {"zwr2str", caret__py_zwr2str, METH_O, NULL},
    {"symbol", symbol, METH_O, NULL},
    {"after_fork", caret__py_after_fork, METH_NOARGS, NULL},
    {"at_exit", caret__py_at_exit, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    struct caret__py_state *st = caret__py_state(module);

    if (caret__py_start_sessions() < 0 || PyModule_AddStringConstant(module, "VERSION", caret_version()) < 0)
        return -1;
    st->value_name = PyUnicode_InternFromString("value");
    if (st->value_name == NULL || caret__py_add_errors(module, st) < 0 || caret__py_add_view(module, st) < 0)
        return -1;
    if (caret__py_add_node(module, st) < 0 || caret__py_add_iter(module, st) < 0)
        return -1;
    if (caret__py_add_range(module, st) < 0 || caret__py_add_log(module, st) < 0)
        return -1;
    if (caret__py_add_blocks(module) < 0)
        return -1;
    return caret__py_add_owners(module, st);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct caret__py_state *st = caret__py_state(module);

    Py_VISIT(st->database);
    Py_VISIT(st->session);
    Py_VISIT(st->node);
    Py_VISIT(st->view);
    Py_VISIT(st->iter);
    Py_VISIT(st->range);
    Py_VISIT(st->log);
    for (int i = 0; i < CARET__PY_ERRORS; i++)
        Py_VISIT(st->error[i]);
    Py_VISIT(st->restart);
    Py_VISIT(st->rollback);
    Py_VISIT(st->decimal);
    Py_VISIT(st->current_task);
    Py_VISIT(st->running_loop);
    for (int i = 0; i < 3; i++)
        Py_VISIT(st->lazy[i]);
    Py_VISIT(st->value_name);
    return 0;
}

static int clear(PyObject *module)
{
    struct caret__py_state *st = caret__py_state(module);

    Py_CLEAR(st->database);
    Py_CLEAR(st->session);
    Py_CLEAR(st->node);
    Py_CLEAR(st->view);
    Py_CLEAR(st->iter);
    Py_CLEAR(st->range);
    Py_CLEAR(st->log);
    for (int i = 0; i < CARET__PY_ERRORS; i++)
        Py_CLEAR(st->error[i]);
    Py_CLEAR(st->restart);
    Py_CLEAR(st->rollback);
    Py_CLEAR(st->decimal);
    Py_CLEAR(st->current_task);
    Py_CLEAR(st->running_loop);
    for (int i = 0; i < 3; i++)
        Py_CLEAR(st->lazy[i]);
    Py_CLEAR(st->value_name);
    for (unsigned i = 0; i < CARET__PY_LATELY; i++)
        Py_CLEAR(st->known.lately[i].str); /* nothing to traverse: they are of the very class str */
    return 0;
}

/* What Python 3.12 asks, and 3.11 does not know: may interpreters with a GIL of their own load it?  They may: all that
 * is shared between them is memory of threads, and numbers that are atomic. */
#define MULTIPLE_INTERPRETERS 3
#define OWN_GIL               ((void *)2)

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "caret._core",
    .m_doc = "The C part of the package caret.",
    .m_size = sizeof(struct caret__py_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    if (Py_Version >= 0x030C0000)
        slots[1] = (PyModuleDef_Slot){MULTIPLE_INTERPRETERS, OWN_GIL};
    return PyModuleDef_Init(&definition);
}
