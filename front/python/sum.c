/*
 * sum.c - adding to values: incr(), += and -=.
 *
 * An int of 64 bits goes as such; all else as text, so that sums are exact.
 */
#include "python/binding.h"

#include <string.h>

typedef PyObject *sum_made(struct caret__py_node *n, caret_slice sum);

/* May it be a number?  One sign at most before its digits, and nothing that no number has. */
static bool like_number(const char *text, Py_ssize_t len, bool has_sign)
{
    for (Py_ssize_t i = has_sign; i < len; i++)
        if (memchr("0123456789.E+-", text[i], i == has_sign ? 11 : 14) == NULL)
            return false;
    return len > has_sign;
}

/* The text of a number gets the other sign; what is none stays, as a message shows it.  -1: an exception is set, and
 * nothing is held. */
static int negate(struct caret__py_text *t)
{
    bool has_sign = t->len > 0 && (*t->data == '-' || *t->data == '+');
    char sign = has_sign && *t->data == '-' ? '+' : '-';
    Py_ssize_t rest = t->len - has_sign;

    if (!like_number(t->data, t->len, has_sign))
        return 0;
    PyObject *made = PyBytes_FromStringAndSize(NULL, rest + 1);
    char *to = made != NULL ? PyBytes_AsString(made) : NULL;

    if (to != NULL) {
        to[0] = sign;
        memcpy(to + 1, t->data + has_sign, (size_t)rest);
        t->data = to;
        t->len = rest + 1;
    }
    caret__py_drop(t);
    t->hold = made;
    return made != NULL ? 0 : -1;
}

/* By text; the sum becomes what `made` makes of it. */
static PyObject *incr_text(struct caret__py_node *n, PyObject *by, bool minus, sum_made *made)
{
    struct caret__py_text t;
    caret_slice sum;

    if (caret__py_text(n->owner->state, by, &t, "number to add") < 0 || (minus && negate(&t) < 0))
        return NULL;
    caret_session *s = caret__py_enter(n->owner);
    int rc = s == NULL ? CARET__PY_SET : caret_incr(s, &n->node, t.data, (size_t)t.len, &sum);
    caret__py_drop(&t);
    return rc == CARET_OK ? made(n, sum) : caret__py_raise(n->owner, rc);
}

static PyObject *number_made(struct caret__py_node *n, caret_slice sum)
{
    return caret__py_number(n->owner->state, sum.data, sum.len);
}

static PyObject *self_made(struct caret__py_node *n, caret_slice sum)
{
    (void)sum;
    return Py_NewRef((PyObject *)n);
}

/* An int of 64 bits, by the call for these: 1 and *sum; 0: it takes text; -1: an exception is set. */
static int incr_int(struct caret__py_node *n, PyObject *by, bool minus, int64_t *sum)
{
    int over = 0;

    if (!PyLong_CheckExact(by))
        return 0;
    long long v = PyLong_AsLongLongAndOverflow(by, &over);
    if (over != 0 || v == INT64_MIN)
        return 0;
    caret_session *s = caret__py_enter(n->owner);
    int rc = s == NULL ? CARET__PY_SET : caret_incr_int(s, &n->node, minus ? -v : v, 0, sum);
    if (rc == CARET_OK)
        return 1;
    if (rc == CARET_E_NUMOFLOW)
        return 0;
    caret__py_raise(n->owner, rc);
    return -1;
}

static PyObject *incr_by(struct caret__py_node *n, PyObject *by)
{
    int64_t sum;
    int rc = incr_int(n, by, false, &sum);

    if (rc > 0)
        return PyLong_FromLongLong(sum);
    return rc < 0 ? NULL : incr_text(n, by, false, number_made);
}

static PyObject *incr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (!caret__py_few(nargs, "incr"))
        return NULL;
    if (nargs == 1)
        return incr_by(caret__py_as(self), args[0]);
    PyObject *one = PyLong_FromLong(1);
    PyObject *sum = one != NULL ? incr_by(caret__py_as(self), one) : NULL;
    Py_XDECREF(one);
    return sum;
}

/* _incr_m(by): by the rules of M; bytes */
static PyObject *incr_m(PyObject *self, PyObject *by)
{
    struct caret__py_node *n = caret__py_as(self);
    struct caret__py_text t;
    caret_slice sum;

    if (caret__py_text(n->owner->state, by, &t, "number to add") < 0)
        return NULL;
    caret_session *s = caret__py_enter(n->owner);
    int rc = s == NULL ? CARET__PY_SET : caret_incr_m(s, &n->node, t.data, (size_t)t.len, &sum);
    caret__py_drop(&t);
    return rc == CARET_OK ? PyBytes_FromStringAndSize(sum.data, (Py_ssize_t)sum.len)
                          : caret__py_raise(n->owner, rc);
}

static PyObject *in_place(PyObject *self, PyObject *by, bool minus)
{
    int64_t sum;
    int rc = incr_int(caret__py_as(self), by, minus, &sum);

    if (rc > 0)
        return Py_NewRef(self);
    return rc < 0 ? NULL : incr_text(caret__py_as(self), by, minus, self_made);
}

PyObject *caret__py_add(PyObject *self, PyObject *by)
{
    return in_place(self, by, false);
}

PyObject *caret__py_subtract(PyObject *self, PyObject *by)
{
    return in_place(self, by, true);
}

PyMethodDef caret__py_sum_methods[] = {
    {"incr", (PyCFunction)(void (*)(void))incr, METH_FASTCALL, "incr(by=1): add, and tell the exact sum"},
    {"_incr_m", incr_m, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
