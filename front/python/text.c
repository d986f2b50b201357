/*
 * text.c - nodes and bytes as ZWR text, and back.
 */
#include "python/binding.h"

/* parse(owner, text): a node */
PyObject *caret__py_parse(PyObject *module, PyObject *args)
{
    struct caret__py_state *st = caret__py_state(module);
    struct caret__py_owner *o;
    PyObject *owner, *text;
    struct caret__py_text t;
    caret_node_buf at;

    if (!PyArg_ParseTuple(args, "OO:parse", &owner, &text))
        return NULL;
    if (Py_TYPE(owner) != st->database && Py_TYPE(owner) != st->session)
        return caret__py_type_error("parse() takes a database and a text");
    if (!PyUnicode_Check(text) && !PyBytes_Check(text))
        return caret__py_type_error("parse() takes a database and a text");
    o = (struct caret__py_owner *)owner;
    if (caret__py_text(st, text, &t, "text") < 0)
        return NULL;
    int rc = caret_node_parse(&at.node, sizeof at, t.data, (size_t)t.len, 1);
    caret__py_drop(&t);
    if (rc != CARET_OK)
        return caret__py_raise_code(st, rc);
    return (PyObject *)caret__py_node_at(st->node, o, NULL, &at.node);
}

typedef int translate(const void *in, size_t n, int utf8, char *buf, size_t cap, size_t *len);

static int from_zwr(const void *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    return caret_zwr2str(in, n, utf8, buf, cap, len);
}

/* str becomes str, by the form that leaves UTF-8 readable; bytes become bytes, by the other. */
static PyObject *translated(PyObject *module, PyObject *o, translate *f)
{
    struct caret__py_state *st = caret__py_state(module);
    int utf8 = PyUnicode_Check(o);
    struct caret__py_text t;
    PyObject *made = NULL;
    size_t len = 0;

    if (!utf8 && !PyBytes_Check(o))
        return caret__py_type_error("it takes str or bytes");
    if (caret__py_text(st, o, &t, "text") < 0)
        return NULL;
    int rc = f(t.data, (size_t)t.len, utf8, NULL, 0, &len);
    char *buf = rc == CARET_E_BUFFER || rc == CARET_OK ? PyMem_Malloc(len + 1) : NULL;
    if (buf != NULL)
        rc = f(t.data, (size_t)t.len, utf8, buf, len, &len);
    else if (rc == CARET_OK || rc == CARET_E_BUFFER)
        rc = CARET_E_NOMEM;
    if (rc != CARET_OK)
        caret__py_raise_code(st, rc);
    else
        made = utf8 ? caret__py_str(buf, len) : PyBytes_FromStringAndSize(buf, (Py_ssize_t)len);
    PyMem_Free(buf);
    caret__py_drop(&t);
    return made;
}

PyObject *caret__py_str2zwr(PyObject *module, PyObject *o)
{
    return translated(module, o, caret_str2zwr);
}

PyObject *caret__py_zwr2str(PyObject *module, PyObject *o)
{
    return translated(module, o, from_zwr);
}
