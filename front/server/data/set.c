/*
 * set.c - commands of one set; set_algebra.c has those of several.
 */
#include "server/data/set.h"

#include "server/data/row.h"
#include "server/event.h"
#include "server/keys/cursor.h"
#include "server/keys/pick.h"
#include "server/worker.h"

static int open_set(struct serve__call *q, struct serve__key *k)
{
    return serve__key_read(q, k, q->argv[1], SERVE__SETTYPE);
}

bool serve__set_is_large(const struct serve__call *q, caret_slice member, uint64_t count)
{
    int64_t n;
    return count > (uint64_t)q->w->config.n[SERVE__CFG_set_max_intset_entries] ||
           !serve__read_integer(&member, &n);
}

int serve__set_put(struct serve__call *q, struct serve__key *k, caret_slice member, bool *fresh)
{
    int rc = serve__field_add(q, k, member, fresh);
    if (rc == CARET_OK && *fresh && !(k->flags & SERVE__HEAD_LARGE) &&
        serve__set_is_large(q, member, k->count))
        k->flags |= SERVE__HEAD_LARGE;
    return rc;
}

/* ------------------------------------------------------------------ read */

/* 1: argument i is a member of an opened set. */
static int has(struct serve__call *q, const struct serve__key *k, int i)
{
    caret_slice value;
    int rc = k->exists ? serve__field_get(q, k, q->argv[i], &value) : CARET_NONE;
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, rc == CARET_OK) : rc;
}

static int is_member(struct serve__call *q)
{
    struct serve__key k;
    caret_slice value;
    int rc = serve__field_open(q, &k, q->argv[1], SERVE__SETTYPE, q->argv[2], &value);
    serve__key_seen(q, rc, &k);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, rc == CARET_OK) : rc;
}

/* One operation of the engine, unless the member has an odd name. */
int serve__cmd_sismember(struct serve__call *q)
{
    return serve__field_is_odd(q->argv[2]) ? serve__atomic(q, is_member) : is_member(q);
}

int serve__cmd_smismember(struct serve__call *q)
{
    struct serve__key k;
    int rc = open_set(q, &k);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    rc = serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; rc == CARET_OK && i < q->argc; i++)
        rc = has(q, &k, i);
    return rc;
}

int serve__cmd_scard(struct serve__call *q)
{
    struct serve__key k;
    int rc = open_set(q, &k);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, (int64_t)k.count) : rc;
}

static int answer(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    size_t *n = arg;
    (void)value;
    ++*n;
    return serve__bulk(q, name.data, name.len);
}

int serve__cmd_smembers(struct serve__call *q)
{
    struct serve__key k;
    size_t place = serve__open(q), n = 0;
    int rc = open_set(q, &k);
    if (rc == CARET_OK)
        rc = serve__pick_all(q, &k, answer, &n);
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_set(q, place, n) : rc;
}

int serve__cmd_sscan(struct serve__call *q)
{
    return serve__scan_fields(q, SERVE__SETTYPE, NULL);
}

int serve__cmd_srandmember(struct serve__call *q)
{
    struct serve__key k;
    int64_t count = 1;
    size_t n = 0;
    if (q->argc > 3)
        return SERVE__E_SYNTAX;
    int rc = q->argc == 3 ? serve__arg_between(q, 2, -INT64_MAX, INT64_MAX, &count) : CARET_OK;
    if (rc == CARET_OK)
        rc = open_set(q, &k);
    if (rc == CARET_NONE || (rc == CARET_OK && count == 0))
        return q->argc == 3 ? serve__array(q, 0) : serve__null(q);
    if (rc == CARET_OK && q->argc == 2)
        return serve__pick_any(q, &k, 1, answer, &n);
    size_t place = serve__open(q);
    if (rc == CARET_OK && count < 0)
        rc = serve__pick_any(q, &k, 0 - (uint64_t)count, answer, &n);
    else if (rc == CARET_OK)
        rc = (uint64_t)count < k.count ? serve__pick_some(q, &k, (uint64_t)count, answer, &n)
                                       : serve__pick_all(q, &k, answer, &n);
    return rc == CARET_OK ? serve__close_array(q, place, n) : rc;
}

/* ---------------------------------------------------------------- change */

static int change_set(struct serve__call *q, struct serve__key *k, caret_slice name)
{
    return serve__key_change(q, k, name, SERVE__SETTYPE);
}

/* Tell that n members were added. */
static void tell_added(struct serve__call *q, const struct serve__key *k, uint64_t n)
{
    serve__changed(q, SERVE__EVENT_SET, "sadd", k->name);
    q->r->dirty += n - 1;
}

/* Save a set that has changed, and tell: n members more or less are as many changes. */
static int save(struct serve__call *q, struct serve__key *k, const char *event, uint64_t n)
{
    int rc = serve__key_save(q, k);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_SET, event, k->name);
    q->r->dirty += n - 1;
    if (k->count == 0) {
        serve__changed(q, SERVE__EVENT_GENERIC, "del", k->name);
        q->r->dirty--;
    }
    return CARET_OK;
}

/* Members from argument 2 on: the number of new ones. */
static int put_members(struct serve__call *q, struct serve__key *k, const caret_slice *argv, int argc,
                       uint64_t *n)
{
    bool fresh;
    int rc = CARET_OK;
    *n = 0;
    for (int i = 2; rc == CARET_OK && i < argc; i++) {
        rc = serve__set_put(q, k, argv[i], &fresh);
        *n += fresh;
    }
    return rc;
}

int serve__set_row(struct serve__call *q)
{
    struct serve__row_of *row = (struct serve__row_of *)q;
    struct serve__key k;
    uint64_t n;
    int rc = change_set(q, &k, q->argv[1]);
    uint64_t count = k.count;
    for (unsigned i = 0; rc == CARET_OK && i < row->n; i++) {
        rc = put_members(q, &k, row->argv[i], row->argc[i], &n);
        if (rc == CARET_OK && !k.exists) /* that it is new is told first */
            rc = serve__key_save(q, &k);
        if (n > 0)
            tell_added(q, &k, n);
        serve__integer(q, (int64_t)n);
    }
    return rc == CARET_OK && k.count != count ? serve__key_save(q, &k) : rc;
}

static int add(struct serve__call *q)
{
    struct serve__key k;
    uint64_t n = 0;
    int rc = change_set(q, &k, q->argv[1]);
    if (rc == CARET_OK)
        rc = put_members(q, &k, q->argv, q->argc, &n);
    if (rc == CARET_OK && n > 0)
        rc = save(q, &k, "sadd", n);
    return rc == CARET_OK ? serve__integer(q, (int64_t)n) : rc;
}

/* One look, if it is a member already. */
int serve__cmd_sadd(struct serve__call *q)
{
    struct serve__key k;
    caret_slice value;
    int rc = CARET_NONE;
    if (q->argc == 3 && !serve__field_is_odd(q->argv[2]))
        rc = serve__field_open(q, &k, q->argv[1], SERVE__SETTYPE, q->argv[2], &value);
    return rc == CARET_OK ? serve__integer(q, 0) : rc == CARET_NONE ? serve__atomic(q, add) : rc;
}

int serve__cmd_srem(struct serve__call *q)
{
    struct serve__key k;
    bool gone;
    uint64_t n = 0;
    int rc = change_set(q, &k, q->argv[1]);
    for (int i = 2; rc == CARET_OK && k.count > 0 && i < q->argc; i++) {
        rc = serve__field_delete(q, &k, q->argv[i], &gone);
        n += gone;
    }
    if (rc == CARET_OK && n > 0)
        rc = save(q, &k, "srem", n);
    return rc == CARET_OK ? serve__integer(q, (int64_t)n) : rc;
}

/* Take the member from one set and put it into the other. */
static int move(struct serve__call *q, struct serve__key *from, struct serve__key *to)
{
    bool was, fresh;
    int rc = serve__field_delete(q, from, q->argv[3], &was);
    if (rc != CARET_OK || !was)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    rc = save(q, from, "srem", 1);
    if (rc == CARET_OK)
        rc = serve__set_put(q, to, q->argv[3], &fresh);
    if (rc == CARET_OK && fresh)
        rc = save(q, to, "sadd", 1);
    return rc == CARET_OK ? serve__integer(q, 1) : rc;
}

int serve__cmd_smove(struct serve__call *q)
{
    struct serve__key from, to;
    int rc = serve__key_change(q, &from, q->argv[1], SERVE__ANY);
    if (rc != CARET_OK || !from.exists)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    if (from.type != SERVE__SETTYPE)
        return SERVE__E_TYPE;
    rc = change_set(q, &to, q->argv[2]);
    if (rc != CARET_OK)
        return rc;
    bool same = from.name.len == to.name.len && memcmp(from.name.data, to.name.data, to.name.len) == 0;
    return same ? has(q, &from, 3) : move(q, &from, &to);
}

/* ------------------------------------------------------------------ SPOP */

static int collect(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    (void)arg;
    (void)value;
    serve__found_add(q, name);
    return q->r->work.failed ? CARET_E_NOMEM : CARET_OK;
}

/* Answer what was collected, and delete it. */
static int pop_found(struct serve__call *q, struct serve__key *k)
{
    caret_slice name;
    bool was;
    uint64_t n = 0;
    int rc = CARET_OK;
    for (size_t at = 0; rc == CARET_OK && serve__found_next(q, &at, &name); n++) {
        serve__bulk(q, name.data, name.len);
        rc = serve__field_delete(q, k, name, &was);
    }
    return rc == CARET_OK ? save(q, k, "spop", n) : rc;
}

/* All of it: answered on a walk, and killed at once. To Redis that is a look at it. */
static int pop_all(struct serve__call *q, struct serve__key *k)
{
    uint64_t count = k->count;
    serve__key_looked(q, true);
    size_t n = 0, place = serve__open(q);
    int rc = serve__pick_all(q, k, answer, &n);
    serve__close_set(q, place, n);
    k->count = 0;
    return rc == CARET_OK ? save(q, k, "spop", count) : rc;
}

static int pop_some(struct serve__call *q, struct serve__key *k, uint64_t count)
{
    serve__found_begin(q);
    int rc = serve__pick_some(q, k, count, collect, NULL);
    size_t place = serve__open(q);
    if (rc == CARET_OK)
        rc = pop_found(q, k);
    return rc == CARET_OK ? serve__close_set(q, place, (size_t)count) : rc;
}

static int pop_one(struct serve__call *q)
{
    struct serve__key k;
    int rc = change_set(q, &k, q->argv[1]);
    if (rc != CARET_OK || !k.exists)
        return rc == CARET_OK ? serve__null(q) : rc;
    serve__found_begin(q);
    rc = serve__pick_any(q, &k, 1, collect, NULL);
    return rc == CARET_OK ? pop_found(q, &k) : rc;
}

int serve__cmd_spop(struct serve__call *q)
{
    struct serve__key k;
    int64_t count;
    if (q->argc > 3)
        return SERVE__E_SYNTAX;
    if (q->argc == 2)
        return pop_one(q);
    if (!serve__read_integer(&q->argv[2], &count) || count < 0)
        return serve__fail(q, "ERR value is out of range, must be positive");
    int rc = change_set(q, &k, q->argv[1]);
    if (rc != CARET_OK)
        return rc;
    if (!k.exists || count == 0)
        return serve__set(q, 0);
    return (uint64_t)count < k.count ? pop_some(q, &k, (uint64_t)count) : pop_all(q, &k);
}
