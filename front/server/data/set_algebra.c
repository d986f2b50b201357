/*
 * set_algebra.c - commands of several sets: SINTER, SUNION, SDIFF, their STORE forms, SINTERCARD.
 *
 * No set is copied: each member of one is looked up in the others.  A STORE form collects the members first, as its
 * target may be one of the sets.  q->r->work holds the opened keys, and after them what was collected.
 */
#include "server/data/set.h"
#include "server/event.h"
#include "server/keys/cursor.h"
#include "server/worker.h"

struct algebra {
    int first, n;   /* arguments that are sets */
    bool store;     /* collect */
    bool quiet;     /* only count */
    uint64_t limit; /* stop then; 0: never */
    uint64_t found;
    bool large; /* the target is to be a table, whatever is in it */
};

/* Key i; until something is collected. */
static struct serve__key *key(struct serve__call *q, int i)
{
    return (struct serve__key *)(void *)q->r->work.data + i;
}

static int open_all(struct serve__call *q, const struct algebra *a)
{
    struct serve__buffer *b = &q->r->work;
    b->len = 0;
    if (!serve__buffer_room(b, (size_t)a->n * sizeof(struct serve__key)))
        return CARET_E_NOMEM;
    b->len = (size_t)a->n * sizeof(struct serve__key);
    for (int i = 0; i < a->n; i++) {
        int rc = serve__key_read(q, key(q, i), q->argv[a->first + i], SERVE__SETTYPE);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    return CARET_OK;
}

static int emit(struct serve__call *q, struct algebra *a, caret_slice name)
{
    a->found++;
    if (a->store)
        serve__found_add(q, name);
    else if (!a->quiet)
        serve__bulk(q, name.data, name.len);
    return q->r->work.failed ? CARET_E_NOMEM : CARET_OK;
}

/* *in: is the name in (wanted: in all, else: in any) of the keys from .. to - 1 but `except`? */
static int look_up(struct serve__call *q, caret_slice name, int from, int to, int except, bool all, bool *in)
{
    caret_slice value;
    *in = all;
    for (int i = from; i < to && *in == all; i++) {
        int rc = CARET_NONE;
        if (i == except)
            continue;
        if (key(q, i)->exists)
            rc = serve__field_get(q, key(q, i), name, &value);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        *in = rc == CARET_OK;
    }
    return CARET_OK;
}

static bool all_there(struct serve__call *q, const struct algebra *a)
{
    for (int i = 0; i < a->n; i++)
        if (!key(q, i)->exists)
            return false;
    return true;
}

static int intersect(struct serve__call *q, struct algebra *a)
{
    struct serve__fields i;
    caret_slice name, value;
    int least = 0, rc = CARET_OK;
    bool in;
    if (!all_there(q, a))
        return CARET_OK;
    for (int k = 1; k < a->n; k++)
        least = key(q, k)->count < key(q, least)->count ? k : least;
    rc = serve__fields_begin(q, &i, key(q, least));
    while (rc == CARET_OK && (a->limit == 0 || a->found < a->limit)) {
        rc = serve__fields_next(q, &i, &name, &value);
        if (rc == CARET_OK)
            rc = serve__fields_keep(q, &i, &name);
        if (rc == CARET_OK)
            rc = look_up(q, name, 0, a->n, least, true, &in);
        if (rc == CARET_OK && in)
            rc = emit(q, a, name);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The members of set k that are in none of the sets from .. to - 1. */
static int only_in(struct serve__call *q, struct algebra *a, int k, int from, int to, bool look)
{
    struct serve__fields i;
    caret_slice name, value;
    bool in;
    int rc = key(q, k)->exists ? serve__fields_begin(q, &i, key(q, k)) : CARET_NONE;
    while (rc == CARET_OK) {
        rc = serve__fields_next(q, &i, &name, &value);
        if (rc == CARET_OK)
            rc = serve__fields_keep(q, &i, &name);
        if (rc == CARET_OK)
            rc = look_up(q, name, from, to, -1, false, &in);
        if (rc == CARET_OK && look)
            a->large |= serve__set_is_large(q, name, key(q, k)->count);
        if (rc == CARET_OK && !in)
            rc = emit(q, a, name);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int unite(struct serve__call *q, struct algebra *a)
{
    int rc = CARET_OK;
    for (int k = 0; rc == CARET_OK && k < a->n; k++)
        rc = only_in(q, a, k, 0, k, false);
    return rc;
}

/* Where Redis puts all of the first set into the target, to take the others out, what the target becomes by that
 * stays. */
static bool puts_all(struct serve__call *q, const struct algebra *a)
{
    uint64_t one = 0, two = 0;
    for (int i = 0; i < a->n; i++) {
        if (!key(q, i)->exists)
            continue;
        one += key(q, 0)->count;
        two += key(q, i)->count;
    }
    return one / 2 > two;
}

static int subtract(struct serve__call *q, struct algebra *a)
{
    return only_in(q, a, 0, 1, a->n, puts_all(q, a));
}

/* --------------------------------------------------------------- commands */

typedef int operation(struct serve__call *q, struct algebra *a);

static int answer(struct serve__call *q, operation *run)
{
    struct algebra a = {.first = 1, .n = q->argc - 1};
    size_t place = serve__open(q);
    int rc = open_all(q, &a);
    if (rc == CARET_OK)
        rc = run(q, &a);
    return rc == CARET_OK ? serve__close_set(q, place, (size_t)a.found) : rc;
}

int serve__cmd_sinter(struct serve__call *q)
{
    return answer(q, intersect);
}

int serve__cmd_sunion(struct serve__call *q)
{
    return answer(q, unite);
}

int serve__cmd_sdiff(struct serve__call *q)
{
    return answer(q, subtract);
}

/* Make the target of what was collected, which begins at `at`. */
static int make(struct serve__call *q, const struct algebra *a, size_t at, bool was)
{
    struct serve__key to;
    caret_slice name;
    bool fresh;
    int rc = serve__key_change(q, &to, q->argv[1], SERVE__SETTYPE);
    if (rc == CARET_OK && a->large)
        to.flags |= SERVE__HEAD_LARGE;
    while (rc == CARET_OK && serve__found_next(q, &at, &name))
        rc = serve__set_put(q, &to, name, &fresh);
    to.exists = was; /* then it only has another value */
    return rc == CARET_OK ? serve__key_save(q, &to) : rc;
}

static int store(struct serve__call *q, operation *run, const char *event)
{
    struct algebra a = {.first = 2, .n = q->argc - 2, .store = true};
    struct serve__key old;
    int rc = open_all(q, &a);
    size_t begin = q->r->work.len;
    if (rc == CARET_OK)
        rc = run(q, &a);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &old, q->argv[1], SERVE__ANY);
    bool was = rc == CARET_OK && old.exists;
    if (was)
        rc = serve__key_delete(q, &old);
    if (rc == CARET_OK && a.found > 0)
        rc = make(q, &a, begin, was);
    if (rc != CARET_OK)
        return rc;
    if (a.found > 0)
        serve__changed(q, SERVE__EVENT_SET, event, q->argv[1]);
    else if (was)
        serve__changed(q, SERVE__EVENT_GENERIC, "del", q->argv[1]);
    return serve__integer(q, (int64_t)a.found);
}

int serve__cmd_sinterstore(struct serve__call *q)
{
    return store(q, intersect, "sinterstore");
}

int serve__cmd_sunionstore(struct serve__call *q)
{
    return store(q, unite, "sunionstore");
}

int serve__cmd_sdiffstore(struct serve__call *q)
{
    return store(q, subtract, "sdiffstore");
}

int serve__cmd_sintercard(struct serve__call *q)
{
    int64_t n, limit = 0;
    if (!serve__read_integer(&q->argv[1], &n) || n < 1)
        return serve__fail(q, "ERR numkeys should be greater than 0");
    if (n > q->argc - 2)
        return serve__fail(q, "ERR Number of keys can't be greater than number of args");
    for (int i = 2 + (int)n; i < q->argc; i += 2) {
        if (!serve__is(&q->argv[i], "limit") || i + 1 == q->argc)
            return SERVE__E_SYNTAX;
        if (!serve__read_integer(&q->argv[i + 1], &limit) || limit < 0)
            return serve__fail(q, "ERR LIMIT can't be negative");
    }
    struct algebra a = {.first = 2, .n = (int)n, .quiet = true, .limit = (uint64_t)limit};
    int rc = open_all(q, &a);
    if (rc == CARET_OK)
        rc = intersect(q, &a);
    return rc == CARET_OK ? serve__integer(q, (int64_t)a.found) : rc;
}
