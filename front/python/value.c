/*
 * value.c - Python objects as bytes, and back.
 *
 * In: str by UTF-8 (what came from bytes that are not UTF-8 goes back as it was: surrogateescape), bytes, int of any
 * size, float and Decimal.  Numbers become canonical text, the same as value and as subscript.  Whatever else there is,
 * bool and None too, is a TypeError: nothing is guessed.  Out: str; or what the view of a node says.
 */
#include "python/binding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------- in */

static int bytes_text(struct caret__py_text *t, PyObject *o)
{
    char *data;

    if (PyBytes_AsStringAndSize(o, &data, &t->len) < 0)
        return -1;
    t->data = data;
    return 0;
}

/* Made for this: it is held. */
static int held_bytes(struct caret__py_text *t, PyObject *o)
{
    t->hold = o;
    return o == NULL ? -1 : bytes_text(t, o);
}

static int str_text(struct caret__py_text *t, PyObject *o)
{
    t->data = PyUnicode_AsUTF8AndSize(o, &t->len);
    if (t->data != NULL)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return -1;
    PyErr_Clear();
    return held_bytes(t, PyUnicode_AsEncodedString(o, "utf-8", "surrogateescape"));
}

static int big_text(struct caret__py_text *t, PyObject *o)
{
    PyObject *exact = PyNumber_ToBase(o, 10); /* also of a subclass with a __str__ of its own */
    int rc = exact == NULL ? -1 : held_bytes(t, PyUnicode_AsEncodedString(exact, "ascii", NULL));

    Py_XDECREF(exact);
    return rc;
}

static int int_text(struct caret__py_text *t, PyObject *o)
{
    int over = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &over);

    if (over != 0)
        return big_text(t, o);
    if (v == -1 && PyErr_Occurred())
        return -1;
    t->len = snprintf(t->small, sizeof t->small, "%lld", v);
    t->data = t->small;
    return 0;
}

static int float_text(struct caret__py_state *st, struct caret__py_text *t, PyObject *o, const char *what)
{
    double v = PyFloat_AsDouble(o);
    caret_node_buf n;
    size_t len = 0;
    char text[80];

    if (v == -1 && PyErr_Occurred())
        return -1;
    if (!isfinite(v)) {
        snprintf(text, sizeof text, "INVALID: %s can't be a %s", isnan(v) ? "NaN" : "an infinity", what);
        caret__py_raise_text(st, CARET_E_INVALID, text);
        return -1;
    }
    int rc = caret_node_var(&n.node, sizeof n, "x", 1);
    if (rc == CARET_OK)
        rc = caret_node_child_double(&n.node, sizeof n, &n.node, v);
    if (rc == CARET_OK)
        rc = caret_node_subscript(&n.node, 0, t->small, sizeof t->small, &len, NULL);
    t->data = t->small;
    t->len = (Py_ssize_t)len;
    return rc == CARET_OK ? 0 : (caret__py_raise_code(st, rc), -1);
}

/* The class Decimal, if there can be one of its objects; borrowed. */
static PyObject *decimal(struct caret__py_state *st)
{
    if (st->decimal == NULL) {
        PyObject *module = PyImport_ImportModule("decimal");
        if (module != NULL)
            st->decimal = PyObject_GetAttrString(module, "Decimal");
        Py_XDECREF(module);
    }
    return st->decimal;
}

/* Is the module loaded?  -1: an exception is set. */
static int has_decimal(void)
{
    PyObject *name = PyUnicode_FromString("decimal");
    PyObject *module = name != NULL ? PyImport_GetModule(name) : NULL;
    int there = module != NULL ? 1 : PyErr_Occurred() ? -1 : 0;

    Py_XDECREF(name);
    Py_XDECREF(module);
    return there;
}

/* The text of a Decimal without an exponent, and without needless zeros, as far as it is not absurdly long. */
static int decimal_text(struct caret__py_state *st, struct caret__py_text *t, PyObject *o, const char *what)
{
    PyObject *canonical = PyImport_ImportModule("caret._numbers");
    PyObject *text =
        canonical != NULL ? PyObject_CallMethod(canonical, "text_of_decimal", "Os", o, what) : NULL;
    int rc = text == NULL ? -1 : held_bytes(t, PyUnicode_AsEncodedString(text, "ascii", NULL));

    (void)st;
    Py_XDECREF(canonical);
    Py_XDECREF(text);
    return rc;
}

static int other_text(struct caret__py_state *st, PyObject *o, struct caret__py_text *t, const char *what)
{
    int is_decimal = has_decimal();

    if (is_decimal > 0) {
        PyObject *class = decimal(st);
        is_decimal = class == NULL ? -1 : PyObject_IsInstance(o, class);
    }
    if (is_decimal != 0)
        return is_decimal < 0 ? -1 : decimal_text(st, t, o, what);
    PyObject *type = PyType_GetName(Py_TYPE(o));
    if (type != NULL && o == Py_None && what[0] == 'v')
        caret__py_type_error("a value can't be None; `del node.value` takes the value away");
    else if (type != NULL)
        PyErr_Format(PyExc_TypeError, "a %s must be str, bytes, int, float or Decimal, not %U", what, type);
    Py_XDECREF(type);
    return -1;
}

int caret__py_text(struct caret__py_state *st, PyObject *o, struct caret__py_text *t, const char *what)
{
    t->hold = NULL;
    t->data = NULL;
    t->len = 0;
    if (PyUnicode_CheckExact(o) || PyUnicode_Check(o)) /* the first calls nothing */
        return str_text(t, o);
    if (PyLong_Check(o) && !PyBool_Check(o))
        return int_text(t, o);
    if (PyBytes_Check(o))
        return bytes_text(t, o);
    if (PyFloat_Check(o))
        return float_text(st, t, o, what);
    return other_text(st, o, t, what);
}

int caret__py_value_text(struct caret__py_node *n, PyObject *o, struct caret__py_text *t)
{
    struct caret__py_view *view = (struct caret__py_view *)n->view;

    if (view == NULL || view->encode == NULL)
        return caret__py_text(n->owner->state, o, t, "value");
    PyObject *made = PyObject_CallFunctionObjArgs(view->encode, o, NULL);
    if (made == NULL)
        return -1;
    int rc = caret__py_text(n->owner->state, made, t, "value");
    if (rc == 0 && t->hold == NULL)
        t->hold = made;
    else
        Py_DECREF(made);
    return rc;
}

/* ----------------------------------------------------------- out */

PyObject *caret__py_str(const char *data, size_t len)
{
    return PyUnicode_DecodeUTF8(data, (Py_ssize_t)len, "surrogateescape");
}

/*
 * Short values that come again.  Making a str of a few bytes, and freeing it, took a third of `node.value`; what is as
 * short is often the same again: a flag, a state, a count.  So each interpreter has a table of the short values read
 * lately, by their bytes: a value that comes first leaves these in its place, and takes that of another; when it comes
 * again, its str is made and stays; from then on that one is given out.  Values that never repeat leave no objects
 * there, and where most are of that kind, the table rests now and then: to look there in vain takes an eighth of a get.
 * The GIL protects the table; without one it is not used.
 */
#define MISSED_MOST 128  /* that were not there; one that was makes good for two */
#define REST        1024 /* so many are not looked for then: both arbitrary */

#ifdef Py_GIL_DISABLED
#define NO_GIL 1
#else
#define NO_GIL 0
#endif

struct short_bytes {
    uint64_t first, last;
    size_t len;
};

/* Of 2 to 16 bytes, in the pieces in which the engine has just written most of them: a piece of another size would
 * have to wait until the processor has those in its cache. */
static inline struct short_bytes short_bytes(const char *data, size_t len)
{
    struct short_bytes b = {0, 0, len};
    uint32_t first, last;

    if (len >= 8) {
        memcpy(&b.first, data, 8);
        memcpy(&b.last, data + len - 8, 8);
    } else if (len >= 4) {
        memcpy(&first, data, 4);
        memcpy(&last, data + len - 4, 4);
        b.first = first;
        b.last = last;
    } else {
        b.first = (uint8_t)data[0];
        b.last = (uint64_t)(uint8_t)data[len / 2] << 8 | (uint8_t)data[len - 1];
    }
    return b;
}

static inline struct caret__py_lately *place_of(struct caret__py_known *k, struct short_bytes b)
{
    uint64_t mixed =
        (b.first ^ b.last * 0xff51afd7ed558ccdU) * 0x9e3779b97f4a7c15U; /* arbitrary odd numbers */

    return &k->lately[mixed >> 32 & (CARET__PY_LATELY - 1)];
}

/* It is this short one's turn at the place: the one that was there goes.  Its own str is made when it comes again. */
static PyObject *str_first(struct caret__py_known *k, struct caret__py_lately *place, struct short_bytes b,
                           const char *data)
{
    PyObject *other = place->str;

    *place = (struct caret__py_lately){b.first, b.last, b.len, NULL};
    Py_XDECREF(other);
    if (++k->missed >= MISSED_MOST) {
        k->missed = 0;
        k->rest = REST;
    }
    return caret__py_str(data, b.len);
}

PyObject *caret__py_str_again(struct caret__py_known *k, const char *data, size_t len)
{
    if (NO_GIL || len < 2 || len > 16) /* of one, Python has all */
        return caret__py_str(data, len);
    if (k->rest > 0) {
        k->rest--;
        return caret__py_str(data, len);
    }
    const struct short_bytes b = short_bytes(data, len);
    struct caret__py_lately *place = place_of(k, b);
    uint64_t differs = (place->first ^ b.first) | (place->last ^ b.last) | (place->len ^ len);
    if (__builtin_expect(differs != 0, 0))
        return str_first(k, place, b, data);
    if (__builtin_expect(place->str == NULL, 0)) {
        place->str = caret__py_str(data, len);
        if (place->str == NULL)
            return NULL;
    }
    k->missed -= k->missed > 1 ? 2 : k->missed;
    return Py_NewRef(place->str);
}

PyObject *caret__py_value(PyObject *view, caret_slice v)
{
    struct caret__py_view *how = (struct caret__py_view *)view;
    const char *data = v.data != NULL ? v.data : "";

    if (how == NULL)
        return PyUnicode_DecodeUTF8(data, (Py_ssize_t)v.len, "surrogateescape");
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)v.len);
    if (bytes == NULL || how->decode == NULL)
        return bytes;
    PyObject *made = PyObject_CallFunctionObjArgs(how->decode, bytes, NULL);
    Py_DECREF(bytes);
    return made;
}

/* Up to 18 digits with a sign: no overflow is possible.  false: it is something else. */
static bool small_integer(const char *data, size_t len, long long *v)
{
    size_t i = len > 0 && data[0] == '-';
    unsigned long long sum = 0;

    if (len == i || len - i > 18)
        return false;
    for (; i < len; i++) {
        if (data[i] < '0' || data[i] > '9')
            return false;
        sum = sum * 10 + (unsigned)(data[i] - '0');
    }
    *v = data[0] == '-' ? -(long long)sum : (long long)sum;
    return true;
}

static PyObject *by_class(PyObject *class, const char *data, size_t len)
{
    PyObject *text = caret__py_str(data, len);
    PyObject *made = text != NULL && class != NULL ? PyObject_CallFunctionObjArgs(class, text, NULL) : NULL;

    Py_XDECREF(text);
    return made;
}

PyObject *caret__py_integer(struct caret__py_state *st, const char *data, size_t len)
{
    long long v;

    (void)st;
    return small_integer(data, len, &v) ? PyLong_FromLongLong(v)
                                        : by_class((PyObject *)&PyLong_Type, data, len);
}

/* An int if it is integral, else a Decimal. */
PyObject *caret__py_number(struct caret__py_state *st, const char *data, size_t len)
{
    long long v;

    if (small_integer(data, len, &v))
        return PyLong_FromLongLong(v);
    PyObject *numbers = PyImport_ImportModule("caret._numbers");
    PyObject *text = numbers != NULL ? caret__py_str(data, len) : NULL;
    PyObject *made = text != NULL ? PyObject_CallMethod(numbers, "number", "O", text) : NULL;

    (void)st;
    Py_XDECREF(numbers);
    Py_XDECREF(text);
    return made;
}

int caret__py_timeout(PyObject *o, uint64_t *ns)
{
    *ns = CARET_FOREVER;
    if (o == NULL || o == Py_None)
        return 0;
    double t = PyFloat_AsDouble(o);
    if (t == -1 && PyErr_Occurred())
        return -1;
    if (isnan(t)) {
        PyErr_SetString(PyExc_ValueError, "a timeout is a number of seconds, not NaN");
        return -1;
    }
    if (t < 1e9)
        *ns = t <= 0 ? 0 : (uint64_t)(t * 1e9);
    return 0;
}

/* ----------------------------------------------------------- views */

/* View(how, encode, decode); None for both: bytes */
static PyObject *view_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    PyObject *how, *encode, *decode;

    (void)kw;
    if (!PyArg_ParseTuple(args, "OOO", &how, &encode, &decode))
        return NULL;
    struct caret__py_view *v = PyObject_New(struct caret__py_view, type);
    if (v == NULL)
        return NULL;
    v->how = Py_NewRef(how);
    v->encode = encode == Py_None ? NULL : Py_NewRef(encode);
    v->decode = decode == Py_None ? NULL : Py_NewRef(decode);
    return (PyObject *)v;
}

static void view_dealloc(PyObject *self)
{
    struct caret__py_view *v = (struct caret__py_view *)self;
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(v->how);
    Py_XDECREF(v->encode);
    Py_XDECREF(v->decode);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *view_how(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((struct caret__py_view *)self)->how);
}

static PyGetSetDef view_getset[] = {{"how", view_how, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot view_slots[] = {
    {Py_tp_new, view_new},
    {Py_tp_dealloc, view_dealloc},
    {Py_tp_getset, view_getset},
    {0, NULL},
};
static PyType_Spec view_spec = {"caret._core.View", sizeof(struct caret__py_view), 0, Py_TPFLAGS_DEFAULT,
                                view_slots};

int caret__py_add_view(PyObject *module, struct caret__py_state *st)
{
    st->view = caret__py_type(module, &view_spec, "View");
    return st->view == NULL ? -1 : 0;
}
