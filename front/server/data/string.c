/*
 * string.c - commands of strings; string_change.c has those that change one in place.
 *
 * A plain string is the value of its node, so GET, SET and INCR are one operation of the engine each.  What
 * they can't answer so (another type, an expiry, a long name) they do as a transaction.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/data/row.h"
#include "server/data/string.h"
#include "server/event.h"
#include "server/keys/expiry_option.h"
#include "server/keys/key.h"
#include "server/keys/map.h"
#include "server/worker.h"

static bool is_header(caret_slice value)
{
    return value.len > 0 && (unsigned char)value.data[0] == SERVE__HEAD_MARK;
}

/* Is the plain string of the key argv[1] the value of its node, as most are? */
static bool has_short_name(const struct serve__call *q)
{
    caret_slice name = q->argv[1];
    return name.len <= SERVE__NAME_MAX && !serve__is_mapped(q, name) &&
           !(name.len >= 2 && memcmp(name.data, "\xffK", 2) == 0);
}

/* ------------------------------------------------------------------- read */

static int answer_string(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__string_read(q, &k, q->argv[1]);
    if (rc == CARET_NONE)
        return serve__null(q);
    return rc == CARET_OK ? serve__bulk(q, k.value.data, k.value.len) : rc;
}

/* One look, also for what is not there: a hash without a header (key.h) has no value, and is null here. */
int serve__cmd_get(struct serve__call *q)
{
    caret_slice value;
    int rc;
    if (!has_short_name(q))
        return serve__atomic(q, answer_string);
    caret_node *n = serve__key_first(q, &rc);
    if (rc == CARET_OK)
        rc = caret_get(q->s, n, &value);
    bool tell = rc == CARET_NONE && (q->w->interest & SERVE__EVENT_MISS);
    if ((rc == CARET_OK && is_header(value)) || tell)
        return serve__atomic(q, answer_string);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__key_looked(q, rc == CARET_OK);
    return rc == CARET_OK ? serve__bulk(q, value.data, value.len) : serve__null(q);
}

int serve__cmd_strlen(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__string_read(q, &k, q->argv[1]);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, (int64_t)k.value.len) : rc;
}

/* A range as Redis counts: negative from the end.  false: it is empty. */
static bool cut_range(int64_t *start, int64_t *end, int64_t len)
{
    if (*start < 0 && *end < 0 && *start > *end)
        return false;
    *start = *start < 0 ? (*start + len < 0 ? 0 : *start + len) : *start;
    *end = *end < 0 ? (*end + len < 0 ? 0 : *end + len) : *end;
    *end = *end >= len ? len - 1 : *end;
    return len > 0 && *start <= *end;
}

int serve__cmd_getrange(struct serve__call *q)
{
    struct serve__key k;
    int64_t start, end;
    int rc = serve__arg_integer(q, 2, &start);
    if (rc == CARET_OK)
        rc = serve__arg_integer(q, 3, &end);
    if (rc == CARET_OK)
        rc = serve__string_read(q, &k, q->argv[1]);
    if (rc == CARET_NONE || (rc == CARET_OK && !cut_range(&start, &end, (int64_t)k.value.len)))
        return serve__text(q, "");
    return rc == CARET_OK ? serve__bulk(q, k.value.data + start, (size_t)(end - start + 1)) : rc;
}

int serve__cmd_substr(struct serve__call *q)
{
    return serve__cmd_getrange(q);
}

int serve__cmd_mget(struct serve__call *q)
{
    struct serve__key k;
    serve__array(q, (size_t)q->argc - 1);
    for (int i = 1; i < q->argc; i++) {
        int rc = serve__string_read(q, &k, q->argv[i]);
        if (rc == CARET_OK)
            serve__bulk(q, k.value.data, k.value.len);
        else if (rc == CARET_NONE || rc == SERVE__E_TYPE)
            serve__null(q);
        else
            return rc;
    }
    return CARET_OK;
}

/* -------------------------------------------------------------------- set */

enum { NX = 1, XX = 2, GET = 4, KEEPTTL = 8, PERSIST = 16 };

struct set_options {
    int flags;
    struct serve__expiry_option expiry;
};

/* The words after SET key value, or GETEX key. */
static int read_set_options(struct serve__call *q, int from, bool getex, struct set_options *o)
{
    *o = (struct set_options){0};
    for (int i = from; i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        int times = o->flags & (KEEPTTL | PERSIST);
        if (!getex && serve__is(word, "nx") && !(o->flags & XX))
            o->flags |= NX;
        else if (!getex && serve__is(word, "xx") && !(o->flags & NX))
            o->flags |= XX;
        else if (!getex && serve__is(word, "get"))
            o->flags |= GET;
        else if (!getex && serve__is(word, "keepttl") && !o->expiry.given && !(times & PERSIST))
            o->flags |= KEEPTTL;
        else if (getex && serve__is(word, "persist") && !o->expiry.given)
            o->flags |= PERSIST;
        else if (times == 0 && i + 1 < q->argc && serve__expiry_word(&o->expiry, word, &q->argv[i + 1]))
            i++;
        else
            return SERVE__E_SYNTAX;
    }
    return CARET_OK;
}

/* Make the key a string, and tell. */
static int store(struct serve__call *q, struct serve__key *k, caret_slice value, int64_t expiry)
{
    int rc = serve__key_set_string(q, k, value.data, value.len, expiry);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STRING, "set", k->name);
    return CARET_OK;
}

/* SET with GET answers what was there; not with a time for a value of another type. */
static int answer_old(struct serve__call *q, struct serve__key *k)
{
    if (!k->exists)
        return serve__null(q);
    return k->type == SERVE__STRING ? serve__bulk(q, k->value.data, k->value.len) : SERVE__E_TYPE;
}

static int set_key(struct serve__call *q)
{
    struct set_options o;
    struct serve__key k;
    int64_t expiry = 0;
    int rc = read_set_options(q, 3, false, &o);
    if (rc == CARET_OK)
        rc = serve__expiry_time(q, &o.expiry, &expiry);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__ANY);
    if (rc == CARET_OK && (o.flags & GET))
        rc = serve__key_seen(q, answer_old(q, &k), &k);
    if (rc != CARET_OK)
        return rc;
    if (((o.flags & NX) && k.exists) || ((o.flags & XX) && !k.exists))
        return o.flags & GET ? CARET_OK : serve__null(q);
    rc = store(q, &k, q->argv[2], o.flags & KEEPTTL ? k.expiry : expiry);
    if (rc == CARET_OK && o.expiry.given)
        serve__changed(q, SERVE__EVENT_GENERIC, "expire", k.name);
    if (rc == CARET_OK && o.expiry.given)
        q->r->dirty--; /* one change, two events */
    return rc != CARET_OK || (o.flags & GET) ? rc : serve__ok(q);
}

/* SET key value alone, of a plain value: one operation, unless there are children. */
static int set_plain(struct serve__call *q)
{
    int rc;
    if (!has_short_name(q) || is_header(q->argv[2]) || (q->w->interest & SERVE__EVENT_NEW))
        return CARET_NONE;
    caret_node *n = serve__key_first(q, &rc);
    if (rc == CARET_OK)
        rc = caret_put(q->s, n, q->argv[2].data, q->argv[2].len, CARET_PUT_CHILDLESS, NULL, NULL);
    return rc;
}

int serve__cmd_set(struct serve__call *q)
{
    int rc = q->argc == 3 ? set_plain(q) : CARET_NONE;
    if (rc == CARET_NONE)
        return serve__atomic(q, set_key);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STRING, "set", q->argv[1]);
    return serve__ok(q);
}

int serve__cmd_setnx(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__ANY);
    if (rc != CARET_OK || k.exists)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    rc = store(q, &k, q->argv[2], 0);
    return rc == CARET_OK ? serve__integer(q, 1) : rc;
}

/* SETEX and PSETEX: key, time, value. */
static int set_with_time(struct serve__call *q, const char *unit)
{
    struct serve__key k;
    struct serve__expiry_option o = {0};
    caret_slice word = {unit, 2};
    int64_t expiry;
    serve__expiry_word(&o, &word, &q->argv[2]);
    int rc = serve__expiry_time(q, &o, &expiry);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__ANY);
    if (rc == CARET_OK)
        rc = store(q, &k, q->argv[3], expiry);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_GENERIC, "expire", k.name);
    q->r->dirty--;
    return serve__ok(q);
}

int serve__cmd_setex(struct serve__call *q)
{
    return set_with_time(q, "ex");
}

int serve__cmd_psetex(struct serve__call *q)
{
    return set_with_time(q, "px");
}

int serve__cmd_getset(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_seen(q, serve__key_change(q, &k, q->argv[1], SERVE__STRING), &k);
    if (rc == CARET_OK)
        rc = answer_old(q, &k);
    return rc == CARET_OK ? store(q, &k, q->argv[2], 0) : rc;
}

int serve__cmd_getdel(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_seen(q, serve__key_change(q, &k, q->argv[1], SERVE__STRING), &k);
    if (rc == CARET_OK)
        rc = answer_old(q, &k);
    if (rc != CARET_OK || !k.exists)
        return rc;
    rc = serve__key_delete(q, &k);
    if (rc == CARET_OK)
        serve__changed(q, SERVE__EVENT_GENERIC, "del", k.name);
    return rc;
}

int serve__cmd_getex(struct serve__call *q)
{
    struct set_options o;
    struct serve__key k;
    int64_t expiry = 0;
    int rc = read_set_options(q, 2, true, &o);
    if (rc == CARET_OK)
        rc = serve__key_seen(q, serve__key_change(q, &k, q->argv[1], SERVE__STRING), &k);
    if (rc == CARET_OK && k.exists)
        rc = serve__expiry_time(q, &o.expiry, &expiry);
    if (rc == CARET_OK)
        rc = answer_old(q, &k);
    if (rc != CARET_OK || !k.exists)
        return rc;
    if (o.expiry.given && expiry <= q->now) {
        if ((rc = serve__key_delete(q, &k)) == CARET_OK)
            serve__changed(q, SERVE__EVENT_GENERIC, "del", k.name);
        return rc;
    }
    if (!o.expiry.given && !((o.flags & PERSIST) && k.expiry != 0))
        return CARET_OK;
    if ((rc = serve__key_expire(q, &k, expiry)) == CARET_OK)
        serve__changed(q, SERVE__EVENT_GENERIC, o.expiry.given ? "expire" : "persist", k.name);
    return rc;
}

static int set_pairs(struct serve__call *q)
{
    for (int i = 1; i < q->argc; i += 2) {
        struct serve__key k;
        int rc = serve__key_change(q, &k, q->argv[i], SERVE__ANY);
        if (rc == CARET_OK)
            rc = store(q, &k, q->argv[i + 1], 0);
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

int serve__cmd_mset(struct serve__call *q)
{
    if (q->argc % 2 == 0)
        return SERVE__E_ARITY;
    int rc = set_pairs(q);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_msetnx(struct serve__call *q)
{
    if (q->argc % 2 == 0)
        return SERVE__E_ARITY;
    for (int i = 1; i < q->argc; i += 2) {
        struct serve__key k;
        int rc = serve__key_open(q, &k, q->argv[i], SERVE__ANY);
        if (rc != CARET_NONE)
            return rc == CARET_OK ? serve__integer(q, 0) : rc;
    }
    int rc = set_pairs(q);
    return rc == CARET_OK ? serve__integer(q, 1) : rc;
}

/* --------------------------------------------------------------- counting */

static int64_t step_of(struct serve__call *q, int *rc)
{
    const char *name = q->cmd->name;
    int64_t by = 1;
    *rc = name[4] == 'b' ? serve__arg_integer(q, 2, &by) : CARET_OK;
    if (*rc == CARET_OK && name[0] == 'd' && by == INT64_MIN)
        *rc = serve__fail(q, "ERR decrement would overflow");
    return *rc != CARET_OK ? 0 : name[0] == 'd' ? -by : by;
}

static int count_in_transaction(struct serve__call *q)
{
    struct serve__key k;
    int64_t n = 0, by;
    char text[24];
    int rc;
    by = step_of(q, &rc);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__STRING);
    if (rc == CARET_OK && k.exists && !serve__read_integer(&k.value, &n))
        rc = SERVE__E_INTEGER;
    if (rc == CARET_OK && __builtin_add_overflow(n, by, &n))
        rc = serve__fail(q, "ERR increment or decrement would overflow");
    if (rc == CARET_OK)
        rc = serve__key_set_string(q, &k, text, (size_t)snprintf(text, sizeof text, "%" PRId64, n), k.expiry);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STRING, "incrby", k.name);
    return serve__integer(q, n);
}

/* INCR, INCRBY, DECR, DECRBY of a plain string: one operation of the engine. */
static int count(struct serve__call *q)
{
    int rc;
    int64_t sum, by = step_of(q, &rc);
    if (rc != CARET_OK)
        return rc;
    if (!has_short_name(q) || (q->w->interest & SERVE__EVENT_NEW))
        return serve__atomic(q, count_in_transaction);
    caret_node *n = serve__key_first(q, &rc);
    if (rc == CARET_OK)
        rc = caret_incr_int(q->s, n, by, CARET_INCR_STRICT, &sum);
    if (rc == CARET_E_INVALID || rc == CARET_E_NUMOFLOW)
        return serve__atomic(q, count_in_transaction);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STRING, "incrby", q->argv[1]);
    return serve__integer(q, sum);
}

/* The step of such a command of a row; false: it has none, or one that a row can't have. */
static bool row_step(const struct serve__row_of *row, unsigned i, int64_t *by)
{
    const char *name = row->q.cmd->name;
    *by = 1;
    if (name[4] == 'b' && (!serve__read_integer(&row->argv[i][2], by) || *by == INT64_MIN))
        return false;
    *by = name[0] == 'd' ? -*by : *by;
    return true;
}

/* All steps, and their sum; false: not all are of one sign.  If they are, and the sum of all does not overflow, that of
 * some does not either. */
static bool row_steps(const struct serve__row_of *row, int64_t *by, int64_t *all)
{
    *all = 0;
    for (unsigned i = 0; i < row->n; i++)
        if (!row_step(row, i, &by[i]) || (by[i] ^ by[0]) < 0 || __builtin_add_overflow(*all, by[i], all))
            return false;
    return true;
}

int serve__count_row(struct serve__call *q)
{
    struct serve__row_of *row = (struct serve__row_of *)q;
    int64_t sum, all, by[sizeof row->argv / sizeof *row->argv];
    int rc;
    if (!has_short_name(q) || (q->w->interest & SERVE__EVENT_NEW) || !row_steps(row, by, &all))
        return CARET_NONE;
    caret_node *n = serve__key_first(q, &rc);
    if (rc == CARET_OK)
        rc = caret_incr_int(q->s, n, all, CARET_INCR_STRICT, &sum);
    if (rc != CARET_OK)
        return rc;
    sum -= all;
    for (unsigned i = 0; i < row->n; i++) {
        sum += by[i];
        serve__changed(q, SERVE__EVENT_STRING, "incrby", q->argv[1]);
        serve__integer(q, sum);
    }
    return CARET_OK;
}

int serve__cmd_incr(struct serve__call *q)
{
    return count(q);
}

int serve__cmd_decr(struct serve__call *q)
{
    return count(q);
}

int serve__cmd_incrby(struct serve__call *q)
{
    return count(q);
}

int serve__cmd_decrby(struct serve__call *q)
{
    return count(q);
}

int serve__cmd_incrbyfloat(struct serve__call *q)
{
    struct serve__key k;
    long double n = 0, by;
    char text[SERVE__LONG_REAL_MAX];
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__STRING);
    if (rc == CARET_OK && k.exists && !serve__read_long_real(&k.value, &n))
        rc = SERVE__E_FLOAT;
    if (rc == CARET_OK && !serve__read_long_real(&q->argv[2], &by))
        rc = SERVE__E_FLOAT;
    if (rc != CARET_OK)
        return rc;
    n += by;
    if (isnan(n) || isinf(n))
        return serve__fail(q, "ERR increment would produce NaN or Infinity");
    size_t len = serve__long_real_text(text, n);
    if ((rc = serve__key_set_text(q, &k, text, len, k.expiry)) != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STRING, "incrbyfloat", k.name);
    return serve__bulk(q, text, len);
}
