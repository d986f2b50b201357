/*
 * hash.c - commands of hashes.
 *
 * A field is a node below that of the key (field.h), the header has their number.  HGET and its kin are one look at
 * both. SERVE__HEAD_LARGE is set when Redis would turn a listpack into a table: by the parameters
 * hash-max-listpack-entries and -value.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "server/data/row.h"
#include "server/event.h"
#include "server/keys/cursor.h"
#include "server/keys/pick.h"
#include "server/worker.h"

static int open_hash(struct serve__call *q, struct serve__key *k)
{
    return serve__key_read(q, k, q->argv[1], SERVE__HASH);
}

/* ------------------------------------------------------------- one field */

/* Read a field of the key: CARET_NONE if there is none, or no such key. */
static int read_field(struct serve__call *q, caret_slice *value)
{
    struct serve__key k;
    int rc = serve__field_open(q, &k, q->argv[1], SERVE__HASH, q->argv[2], value);
    return serve__key_seen(q, rc, &k);
}

static int get(struct serve__call *q)
{
    caret_slice value;
    int rc = read_field(q, &value);
    if (rc == CARET_NONE)
        return serve__null(q);
    return rc == CARET_OK ? serve__bulk(q, value.data, value.len) : rc;
}

static int exists(struct serve__call *q)
{
    caret_slice value;
    int rc = read_field(q, &value);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, rc == CARET_OK) : rc;
}

static int length(struct serve__call *q)
{
    caret_slice value = {NULL, 0};
    int rc = read_field(q, &value);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, rc == CARET_OK ? (int64_t)value.len : 0)
                                              : rc;
}

/* One operation of the engine, unless the field has an odd name. */
static int look(struct serve__call *q, serve__run *fn)
{
    return serve__field_is_odd(q->argv[2]) ? serve__atomic(q, fn) : fn(q);
}

int serve__cmd_hget(struct serve__call *q)
{
    return look(q, get);
}

int serve__cmd_hexists(struct serve__call *q)
{
    return look(q, exists);
}

int serve__cmd_hstrlen(struct serve__call *q)
{
    return look(q, length);
}

int serve__cmd_hmget(struct serve__call *q)
{
    struct serve__key k;
    caret_slice value;
    int rc = open_hash(q, &k);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++) {
        rc = k.exists ? serve__field_get(q, &k, q->argv[i], &value) : CARET_NONE;
        if (rc == CARET_OK)
            serve__bulk(q, value.data, value.len);
        else if (rc == CARET_NONE)
            serve__null(q);
        else
            return rc;
    }
    return CARET_OK;
}

/* ------------------------------------------------------------ all fields */

int serve__cmd_hlen(struct serve__call *q)
{
    struct serve__key k;
    int rc = open_hash(q, &k);
    if (rc == CARET_OK)
        rc = serve__key_count(q, &k);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, (int64_t)k.count) : rc;
}

enum { NAMES = 1, VALUES = 2, PAIRS = 4 }; /* what is answered of each; PAIRS: as arrays */

struct answer {
    int what;
    size_t n;
};

static int add(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    struct answer *a = arg;
    a->n++;
    if (a->what & PAIRS)
        serve__array(q, 2);
    if (a->what & NAMES)
        serve__bulk(q, name.data, name.len);
    if (a->what & VALUES)
        serve__bulk(q, value.data, value.len);
    return CARET_OK;
}

static int answer_all(struct serve__call *q, int what)
{
    struct serve__key k;
    struct answer a = {what, 0};
    size_t place = serve__open(q);
    int rc = open_hash(q, &k);
    if (rc == CARET_OK)
        rc = serve__pick_all(q, &k, add, &a);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    return what == (NAMES | VALUES) ? serve__close_map(q, place, a.n) : serve__close_array(q, place, a.n);
}

int serve__cmd_hkeys(struct serve__call *q)
{
    return answer_all(q, NAMES);
}

int serve__cmd_hvals(struct serve__call *q)
{
    return answer_all(q, VALUES);
}

int serve__cmd_hgetall(struct serve__call *q)
{
    return answer_all(q, NAMES | VALUES);
}

int serve__cmd_hscan(struct serve__call *q)
{
    return serve__scan_fields(q, SERVE__HASH, serve__found_add);
}

/* Of `count` fields; below 0: the same one may come again. */
static int answer_random(struct serve__call *q, struct serve__key *k, int64_t count, bool values)
{
    struct answer a = {values ? NAMES | VALUES | (q->reply->protocol > 2 ? PAIRS : 0) : NAMES, 0};
    size_t place = serve__open(q);
    int rc;
    if (count < 0)
        rc = serve__pick_any(q, k, 0 - (uint64_t)count, add, &a);
    else if ((uint64_t)count < k->count)
        rc = serve__pick_some(q, k, (uint64_t)count, add, &a);
    else
        rc = serve__pick_all(q, k, add, &a);
    return rc == CARET_OK ? serve__close_array(q, place, a.what == (NAMES | VALUES) ? 2 * a.n : a.n) : rc;
}

int serve__cmd_hrandfield(struct serve__call *q)
{
    struct serve__key k;
    int64_t count = 0;
    int rc = q->argc > 2 ? serve__arg_between(q, 2, -INT64_MAX, INT64_MAX, &count) : CARET_OK;
    bool values = q->argc == 4;
    if (rc == CARET_OK && (q->argc > 4 || (values && !serve__is(&q->argv[3], "withvalues"))))
        return SERVE__E_SYNTAX;
    if (rc == CARET_OK && values && (count < -INT64_MAX / 2 || count > INT64_MAX / 2))
        return serve__fail(q, "ERR value is out of range");
    if (rc == CARET_OK)
        rc = open_hash(q, &k);
    if (rc == CARET_OK)
        rc = serve__key_count(q, &k);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (q->argc > 2)
        return rc == CARET_NONE || count == 0 ? serve__array(q, 0) : answer_random(q, &k, count, values);
    struct answer a = {NAMES, 0};
    return rc == CARET_OK ? serve__pick_any(q, &k, 1, add, &a) : serve__null(q);
}

/* ---------------------------------------------------------------- change */

/* Was it ever too large for the encoding of small ones? */
static void note_size(const struct serve__call *q, struct serve__key *k, size_t name, size_t value)
{
    const int64_t *most = q->w->config.n;
    uint64_t len = name > value ? name : value;
    if (len > (uint64_t)most[SERVE__CFG_hash_max_listpack_value] ||
        k->count > (uint64_t)most[SERVE__CFG_hash_max_listpack_entries])
        k->flags |= SERVE__HEAD_LARGE;
}

int serve__hash_put(struct serve__call *q, struct serve__key *k, caret_slice name, caret_slice value,
                    bool *fresh)
{
    int rc = serve__field_put(q, k, name, value.data, value.len, fresh);
    note_size(q, k, name.len, value.len);
    return rc;
}

int serve__hash_put_new(struct serve__call *q, struct serve__key *k, caret_slice name, caret_slice value)
{
    caret_node_buf n;
    int rc = serve__field_is_odd(name) ? CARET_E_INVALID : serve__field_node(q, k, &n, name);
    if (rc == CARET_OK)
        rc = caret_set(q->s, &n.node, value.data, value.len);
    k->count += rc == CARET_OK;
    note_size(q, k, name.len, value.len);
    return rc;
}

/* What a key was when it was opened. */
struct before {
    uint64_t count;
    unsigned flags;
};

static int change_hash(struct serve__call *q, struct serve__key *k, struct before *was)
{
    int rc = serve__key_change(q, k, q->argv[1], SERVE__HASH);
    *was = (struct before){k->count, k->flags};
    return rc;
}

/* Save the header if it is another now. */
static int save_header(struct serve__call *q, struct serve__key *k, const struct before *was)
{
    return k->count != was->count || k->flags != was->flags ? serve__key_save(q, k) : CARET_OK;
}

/* And tell. */
static int save(struct serve__call *q, struct serve__key *k, const struct before *was, const char *event)
{
    int rc = save_header(q, k, was);
    if (rc == CARET_OK)
        serve__changed(q, SERVE__EVENT_HASH, event, k->name);
    return rc;
}

/* Fields and values from argument 2 on: the number of new ones. */
static int put_pairs(struct serve__call *q, struct serve__key *k, const caret_slice *argv, int argc,
                     int64_t *n)
{
    bool fresh;
    int rc = argc % 2 == 0 ? CARET_OK : SERVE__E_ARITY;
    *n = 0;
    for (int i = 2; rc == CARET_OK && i < argc; i += 2) {
        rc = serve__hash_put(q, k, argv[i], argv[i + 1], &fresh);
        *n += fresh;
    }
    return rc;
}

/* HSET and HMSET: the number of new fields. */
static int set_fields(struct serve__call *q, int64_t *n)
{
    struct serve__key k;
    struct before was = {0};
    if (q->argc % 2 != 0)
        return SERVE__E_ARITY;
    int rc = change_hash(q, &k, &was);
    if (rc == CARET_OK)
        rc = put_pairs(q, &k, q->argv, q->argc, n);
    if (rc == CARET_OK)
        rc = save(q, &k, &was, "hset");
    if (rc == CARET_OK)
        q->r->dirty += (uint64_t)(q->argc / 2 - 2);
    return rc;
}

int serve__cmd_hset(struct serve__call *q)
{
    int64_t n;
    int rc = set_fields(q, &n);
    return rc == CARET_OK ? serve__integer(q, n) : rc;
}

int serve__hash_row(struct serve__call *q)
{
    struct serve__row_of *row = (struct serve__row_of *)q;
    struct serve__key k;
    struct before was = {0};
    int64_t n;
    int rc = change_hash(q, &k, &was);
    for (unsigned i = 0; rc == CARET_OK && i < row->n; i++) {
        rc = put_pairs(q, &k, row->argv[i], row->argc[i], &n);
        if (rc == CARET_OK && !k.exists) /* that it is new is told first */
            rc = serve__key_save(q, &k);
        serve__changed(q, SERVE__EVENT_HASH, "hset", k.name);
        q->r->dirty += (uint64_t)(row->argc[i] / 2 - 2);
        serve__integer(q, n);
    }
    return rc == CARET_OK ? save_header(q, &k, &was) : rc;
}

int serve__cmd_hmset(struct serve__call *q)
{
    int64_t n;
    int rc = set_fields(q, &n);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_hsetnx(struct serve__call *q)
{
    struct serve__key k;
    struct before was = {0};
    caret_slice value;
    bool fresh;
    int rc = change_hash(q, &k, &was);
    if (rc == CARET_OK)
        rc = serve__field_get(q, &k, q->argv[2], &value);
    if (rc != CARET_NONE)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    rc = serve__hash_put(q, &k, q->argv[2], q->argv[3], &fresh);
    if (rc == CARET_OK)
        rc = save(q, &k, &was, "hset");
    return rc == CARET_OK ? serve__integer(q, 1) : rc;
}

int serve__cmd_hdel(struct serve__call *q)
{
    struct serve__key k;
    struct before was = {0};
    bool gone;
    int64_t n = 0;
    int rc = change_hash(q, &k, &was);
    for (int i = 2; rc == CARET_OK && k.count > 0 && i < q->argc; i++) {
        rc = serve__field_delete(q, &k, q->argv[i], &gone);
        n += gone;
    }
    if (rc != CARET_OK || n == 0)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    if ((rc = save(q, &k, &was, "hdel")) != CARET_OK)
        return rc;
    if (k.count == 0)
        serve__changed(q, SERVE__EVENT_GENERIC, "del", k.name);
    q->r->dirty += (uint64_t)(n - 1) - (k.count == 0);
    return serve__integer(q, n);
}

/* Set the field to a number's text, and answer it as such or as text. */
static int put_number(struct serve__call *q, struct serve__key *k, const struct before *was, caret_slice text,
                      const char *event)
{
    bool fresh;
    int rc = serve__hash_put(q, k, q->argv[2], text, &fresh);
    return rc == CARET_OK ? save(q, k, was, event) : rc;
}

int serve__cmd_hincrby(struct serve__call *q)
{
    struct serve__key k;
    struct before was = {0};
    caret_slice value;
    char text[24];
    int64_t by, n = 0;
    int rc = serve__arg_integer(q, 3, &by);
    if (rc == CARET_OK)
        rc = change_hash(q, &k, &was);
    if (rc == CARET_OK)
        rc = serve__field_get(q, &k, q->argv[2], &value);
    if (rc == CARET_OK && !serve__read_integer(&value, &n))
        return serve__fail(q, "ERR hash value is not an integer");
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (__builtin_add_overflow(n, by, &n))
        return serve__fail(q, "ERR increment or decrement would overflow");
    caret_slice sum = {text, (size_t)snprintf(text, sizeof text, "%" PRId64, n)};
    rc = put_number(q, &k, &was, sum, "hincrby");
    return rc == CARET_OK ? serve__integer(q, n) : rc;
}

int serve__cmd_hincrbyfloat(struct serve__call *q)
{
    struct serve__key k;
    struct before was = {0};
    caret_slice value;
    char text[SERVE__LONG_REAL_MAX];
    long double by, n = 0;
    if (!serve__read_long_real(&q->argv[3], &by))
        return SERVE__E_FLOAT;
    if (isinf(by))
        return serve__fail(q, "ERR value is NaN or Infinity");
    int rc = change_hash(q, &k, &was);
    if (rc == CARET_OK)
        rc = serve__field_get(q, &k, q->argv[2], &value);
    if (rc == CARET_OK && !serve__read_long_real(&value, &n))
        return serve__fail(q, "ERR hash value is not a float");
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    n += by;
    if (isnan(n) || isinf(n))
        return serve__fail(q, "ERR increment would produce NaN or Infinity");
    caret_slice sum = {text, serve__long_real_text(text, n)};
    rc = put_number(q, &k, &was, sum, "hincrbyfloat");
    return rc == CARET_OK ? serve__bulk(q, sum.data, sum.len) : rc;
}
