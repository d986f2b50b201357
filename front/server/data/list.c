/*
 * list.c - commands of lists that use their ends and indexes; list.h has the layout.
 */
#include "server/data/list.h"

#include <stdio.h>

#include "server/data/row.h"
#include "server/keys/little.h"
#include "server/worker.h"

/* ----------------------------------------------------------------- header */

enum { STATE = 8 };

static int64_t load_first(const struct serve__key *k)
{
    return (int64_t)serve__load(k->state, k->state_len < STATE ? (unsigned)k->state_len : STATE);
}

int serve__list_open(struct serve__call *q, struct serve__list *l, caret_slice name)
{
    int rc = serve__key_open(q, &l->k, name, SERVE__LIST);
    l->first = load_first(&l->k);
    return rc;
}

int serve__list_read(struct serve__call *q, struct serve__list *l, caret_slice name)
{
    return serve__key_seen(q, serve__list_open(q, l, name), &l->k);
}

int serve__list_change(struct serve__call *q, struct serve__list *l, caret_slice name)
{
    int rc = serve__key_change(q, &l->k, name, SERVE__LIST);
    l->first = load_first(&l->k);
    return rc;
}

int serve__list_save(struct serve__call *q, struct serve__list *l)
{
    bool ends = l->k.count == 0 && l->k.exists;
    l->k.state_len = STATE;
    serve__store(l->k.state, (uint64_t)l->first, STATE);
    int rc = serve__key_save(q, &l->k);
    if (rc == CARET_OK && ends) {
        serve__changed(q, SERVE__EVENT_GENERIC, "del", l->k.name);
        q->r->dirty--; /* the change was what emptied it */
    }
    return rc;
}

/* --------------------------------------------------------------- elements */

static int element(const struct serve__list *l, caret_node_buf *n, int64_t index)
{
    return caret_node_child_int(&n->node, sizeof *n, &l->k.node.node, l->first + index);
}

/* A number that a program deleted is an empty element. */
static int found(int rc, caret_slice *value)
{
    if (rc == CARET_NONE || (rc == CARET_OK && value->data == NULL))
        *value = (caret_slice){"", 0};
    return rc == CARET_NONE ? CARET_OK : rc;
}

int serve__list_get(struct serve__call *q, const struct serve__list *l, int64_t index, caret_slice *value)
{
    caret_node_buf n;
    int rc = element(l, &n, index);
    return rc == CARET_OK ? found(caret_get(q->s, &n.node, value), value) : rc;
}

int serve__list_set(struct serve__call *q, const struct serve__list *l, int64_t index, caret_slice value)
{
    caret_node_buf n;
    int rc = element(l, &n, index);
    return rc == CARET_OK ? caret_put(q->s, &n.node, value.data, value.len, 0, NULL, NULL) : rc;
}

/* Set an element that is not there yet. */
static int set_new(struct serve__call *q, const struct serve__list *l, int64_t index, caret_slice value)
{
    caret_node_buf n;
    int rc = element(l, &n, index);
    return rc == CARET_OK ? caret_set(q->s, &n.node, value.data, value.len) : rc;
}

/* Make room for n more at an end: the index of the first of them. */
static int64_t lengthen(struct serve__list *l, enum serve__end end, int64_t n)
{
    int64_t len = serve__list_len(l);
    l->first -= end == SERVE__LEFT ? n : 0;
    l->k.count += (uint64_t)n;
    return end == SERVE__LEFT ? 0 : len;
}

int serve__list_push(struct serve__call *q, struct serve__list *l, enum serve__end end, caret_slice value)
{
    int64_t at = lengthen(l, end, 1);
    return set_new(q, l, at, value);
}

int serve__list_drop(struct serve__call *q, struct serve__list *l, enum serve__end end, int64_t n)
{
    enum { FEW = 4 };
    int64_t at = end == SERVE__LEFT ? 0 : serve__list_len(l) - n;
    int rc = CARET_OK;
    if (n == serve__list_len(l)) { /* saving deletes the key, with all that is below it */
        l->k.count = 0;
        return CARET_OK;
    }
    if (n > FEW) {
        char from[24], to[24];
        caret_slice a = {from, (size_t)snprintf(from, sizeof from, "%lld", (long long)(l->first + at))};
        caret_slice b = {to, (size_t)snprintf(to, sizeof to, "%lld", (long long)(l->first + at + n - 1))};
        rc = caret_kill_range(q->s, &l->k.node.node, &a, &b, 0);
    }
    for (int64_t i = 0; rc == CARET_OK && n <= FEW && i < n; i++) {
        caret_node_buf one;
        if ((rc = element(l, &one, at + i)) == CARET_OK)
            rc = caret_delete(q->s, &one.node);
    }
    l->first += end == SERVE__LEFT ? n : 0;
    l->k.count -= (uint64_t)n;
    return rc;
}

/* ------------------------------------------------------------------- walk */

int serve__elements_begin(struct serve__call *q, struct serve__elements *i, const struct serve__list *l,
                          int64_t index, int step)
{
    (void)q;
    i->at = l->first + index;
    i->step = step;
    i->gap = false;
    return element(l, &i->node, index - step);
}

/* Its number is missing: look for each from now on. */
static int next_by_number(struct serve__call *q, struct serve__elements *i, caret_slice *value)
{
    i->gap = true;
    int rc = caret_node_set_last_int(&i->node.node, i->at);
    i->at += i->step;
    return rc == CARET_OK ? found(caret_get(q->s, &i->node.node, value), value) : rc;
}

int serve__elements_next(struct serve__call *q, struct serve__elements *i, caret_slice *value)
{
    int64_t at;
    if (i->gap)
        return next_by_number(q, i, value);
    int rc = i->step > 0 ? caret_next_get(q->s, &i->node.node, value)
                         : caret_previous_get(q->s, &i->node.node, value);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (rc == CARET_NONE || !caret_node_last_as_int(&i->node.node, &at) || at != i->at)
        return next_by_number(q, i, value);
    i->at += i->step;
    return found(rc, value);
}

int serve__list_each(struct serve__call *q, caret_slice name, serve__element *each, void *arg)
{
    struct serve__list l;
    struct serve__elements i;
    caret_slice value;
    int rc = serve__list_open(q, &l, name);
    if (rc == CARET_OK)
        rc = serve__elements_begin(q, &i, &l, 0, 1);
    for (int64_t n = 0; rc == CARET_OK && n < serve__list_len(&l); n++)
        if ((rc = serve__elements_next(q, &i, &value)) == CARET_OK)
            rc = each(q, arg, value);
    return rc;
}

int serve__list_answer(struct serve__call *q, const struct serve__list *l, int64_t index, int64_t n, int step)
{
    struct serve__elements i;
    caret_slice value;
    if (n == 0) /* the index may be any number then */
        return serve__array(q, 0);
    int rc = serve__elements_begin(q, &i, l, index, step);
    serve__array(q, (size_t)n);
    for (; rc == CARET_OK && n > 0; n--)
        if ((rc = serve__elements_next(q, &i, &value)) == CARET_OK)
            serve__bulk(q, value.data, value.len);
    return rc;
}

/* ------------------------------------------------------------ push and pop */

int serve__list_end(struct serve__call *q, int i, enum serve__end *end)
{
    if (!serve__is(&q->argv[i], "left") && !serve__is(&q->argv[i], "right"))
        return SERVE__E_SYNTAX;
    *end = serve__is(&q->argv[i], "left") ? SERVE__LEFT : SERVE__RIGHT;
    return CARET_OK;
}

static void tell_push(struct serve__call *q, const struct serve__list *l, enum serve__end end, int n)
{
    serve__changed(q, SERVE__EVENT_LIST, end == SERVE__LEFT ? "lpush" : "rpush", l->k.name);
    q->r->dirty += (uint64_t)n - 1;
    serve__ready(q, l->k.name);
}

/* Set the arguments of a push, from the third on, as the elements from *at on.  Those of the left end are set from the
 * last one on: each comes after the one before it then, where the engine looks first, and not before all of a page. */
static int set_pushed(struct serve__call *q, const struct serve__list *l, enum serve__end end, int64_t *at,
                      int argc, const caret_slice *argv)
{
    int rc = CARET_OK;
    for (int i = 2; rc == CARET_OK && i < argc; i++)
        rc = set_new(q, l, (*at)++, argv[end == SERVE__LEFT ? argc + 1 - i : i]);
    return rc;
}

static int push(struct serve__call *q, enum serve__end end, bool only_there)
{
    struct serve__list l;
    int rc = serve__list_change(q, &l, q->argv[1]);
    if (rc == CARET_OK && only_there && !l.k.exists)
        return serve__integer(q, 0);
    if (rc != CARET_OK)
        return rc;
    int64_t at = lengthen(&l, end, q->argc - 2);
    rc = set_pushed(q, &l, end, &at, q->argc, q->argv);
    if (rc == CARET_OK)
        rc = serve__list_save(q, &l);
    if (rc != CARET_OK)
        return rc;
    tell_push(q, &l, end, q->argc - 2);
    return serve__integer(q, serve__list_len(&l));
}

int serve__cmd_lpush(struct serve__call *q)
{
    return push(q, SERVE__LEFT, false);
}

int serve__cmd_rpush(struct serve__call *q)
{
    return push(q, SERVE__RIGHT, false);
}

int serve__cmd_lpushx(struct serve__call *q)
{
    return push(q, SERVE__LEFT, true);
}

int serve__cmd_rpushx(struct serve__call *q)
{
    return push(q, SERVE__RIGHT, true);
}

static int popped(struct serve__call *q, struct serve__list *l, enum serve__end end, int64_t n)
{
    int rc = serve__list_drop(q, l, end, n);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_LIST, end == SERVE__LEFT ? "lpop" : "rpop", l->k.name);
    q->r->dirty += (uint64_t)n - 1;
    return serve__list_save(q, l);
}

int serve__list_pop(struct serve__call *q, struct serve__list *l, enum serve__end end, int64_t n)
{
    int64_t len = serve__list_len(l);
    n = n < len ? n : len;
    int rc =
        end == SERVE__LEFT ? serve__list_answer(q, l, 0, n, 1) : serve__list_answer(q, l, len - 1, n, -1);
    return rc == CARET_OK && n > 0 ? popped(q, l, end, n) : rc;
}

int serve__list_pop_one(struct serve__call *q, struct serve__list *l, enum serve__end end)
{
    caret_slice value;
    int rc = serve__list_get(q, l, end == SERVE__LEFT ? 0 : serve__list_len(l) - 1, &value);
    if (rc != CARET_OK)
        return rc;
    serve__bulk(q, value.data, value.len);
    return popped(q, l, end, 1);
}

static int pop(struct serve__call *q, enum serve__end end)
{
    struct serve__list l;
    int64_t n = 0;
    if (q->argc > 3)
        return SERVE__E_ARITY;
    if (q->argc == 3 && (!serve__read_integer(&q->argv[2], &n) || n < 0))
        return serve__fail(q, "ERR value is out of range, must be positive");
    int rc = serve__list_change(q, &l, q->argv[1]);
    if (rc != CARET_OK)
        return rc;
    if (!l.k.exists)
        return q->argc == 3 ? serve__null_array(q) : serve__null(q);
    return q->argc == 3 ? serve__list_pop(q, &l, end, n) : serve__list_pop_one(q, &l, end);
}

int serve__cmd_lpop(struct serve__call *q)
{
    return pop(q, SERVE__LEFT);
}

int serve__cmd_rpop(struct serve__call *q)
{
    return pop(q, SERVE__RIGHT);
}

/* --------------------------------------------------------------- many of them */

static int64_t pushed(const struct serve__row_of *m)
{
    int64_t n = 0;
    for (unsigned i = 0; i < m->n; i++)
        n += m->argc[i] - 2;
    return n;
}

static int push_many(struct serve__row_of *m, struct serve__list *l, enum serve__end end)
{
    int64_t len = serve__list_len(l), at = lengthen(l, end, pushed(m));
    int rc = CARET_OK;
    for (unsigned i = 0; rc == CARET_OK && i < m->n; i++) {
        unsigned next = end == SERVE__LEFT ? m->n - 1 - i : i;
        rc = set_pushed(&m->q, l, end, &at, m->argc[next], m->argv[next]);
    }
    if (rc == CARET_OK) /* that it is new is told first */
        rc = serve__list_save(&m->q, l);
    for (unsigned i = 0; rc == CARET_OK && i < m->n; i++) {
        tell_push(&m->q, l, end, m->argc[i] - 2);
        serve__integer(&m->q, len += m->argc[i] - 2);
    }
    return rc;
}

static int pop_many(struct serve__row_of *m, struct serve__list *l, enum serve__end end)
{
    struct serve__elements i;
    caret_slice value;
    int64_t len = serve__list_len(l), n = len < (int64_t)m->n ? len : (int64_t)m->n;
    int rc =
        serve__elements_begin(&m->q, &i, l, end == SERVE__LEFT ? 0 : len - 1, end == SERVE__LEFT ? 1 : -1);
    for (unsigned k = 0; rc == CARET_OK && k < m->n; k++) {
        if (k >= n)
            serve__null(&m->q);
        else if ((rc = serve__elements_next(&m->q, &i, &value)) == CARET_OK)
            serve__bulk(&m->q, value.data, value.len);
        if (rc == CARET_OK && k < n)
            serve__changed(&m->q, SERVE__EVENT_LIST, end == SERVE__LEFT ? "lpop" : "rpop", l->k.name);
    }
    if (rc == CARET_OK && n > 0 && (rc = serve__list_drop(&m->q, l, end, n)) == CARET_OK)
        rc = serve__list_save(&m->q, l);
    return rc;
}

int serve__list_row(struct serve__call *q)
{
    struct serve__row_of *m = (struct serve__row_of *)q;
    struct serve__list l;
    int rc = serve__list_change(q, &l, q->argv[1]);
    if (rc != CARET_OK)
        return rc;
    enum serve__end end = q->cmd->name[0] == 'l' ? SERVE__LEFT : SERVE__RIGHT;
    return q->cmd->name[2] == 'u' ? push_many(m, &l, end) : pop_many(m, &l, end);
}

/* ---------------------------------------------------------------- by index */

int serve__cmd_llen(struct serve__call *q)
{
    struct serve__list l;
    int rc = serve__list_read(q, &l, q->argv[1]);
    return rc == CARET_OK || rc == CARET_NONE ? serve__integer(q, serve__list_len(&l)) : rc;
}

/* The index that an argument means: negative ones count from the end. */
static int read_index(struct serve__call *q, int i, const struct serve__list *l, int64_t *index)
{
    int rc = serve__arg_integer(q, i, index);
    if (rc == CARET_OK && *index < 0)
        *index += serve__list_len(l);
    return rc;
}

int serve__cmd_lindex(struct serve__call *q)
{
    struct serve__list l;
    int64_t index;
    caret_slice value;
    int rc = serve__list_read(q, &l, q->argv[1]);
    if (rc == CARET_OK)
        rc = read_index(q, 2, &l, &index);
    if (rc == CARET_NONE || (rc == CARET_OK && (index < 0 || index >= serve__list_len(&l))))
        return serve__null(q);
    if (rc == CARET_OK)
        rc = serve__list_get(q, &l, index, &value);
    return rc == CARET_OK ? serve__bulk(q, value.data, value.len) : rc;
}

int serve__cmd_lset(struct serve__call *q)
{
    struct serve__list l;
    int64_t index;
    int rc = serve__list_change(q, &l, q->argv[1]);
    if (rc == CARET_OK && !l.k.exists)
        rc = SERVE__E_NOKEY;
    if (rc == CARET_OK)
        rc = read_index(q, 2, &l, &index);
    if (rc == CARET_OK && (index < 0 || index >= serve__list_len(&l)))
        rc = SERVE__E_RANGE;
    if (rc == CARET_OK)
        rc = serve__list_set(q, &l, index, q->argv[3]);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_LIST, "lset", l.k.name);
    return serve__ok(q);
}

/* The arguments 2 and 3 as a range of indexes. */
static int read_range(struct serve__call *q, int64_t *start, int64_t *end)
{
    int rc = serve__arg_integer(q, 2, start);
    return rc == CARET_OK ? serve__arg_integer(q, 3, end) : rc;
}

/* Cut it to what is there: how many elements that are. */
static int64_t cut_range(int64_t *start, int64_t *end, int64_t len)
{
    *start = *start < 0 ? (*start + len < 0 ? 0 : *start + len) : *start;
    *end = *end < 0 ? *end + len : *end < len ? *end : len - 1;
    return *start > *end || *start >= len ? 0 : *end - *start + 1;
}

int serve__cmd_lrange(struct serve__call *q)
{
    struct serve__list l;
    int64_t start, end;
    int rc = read_range(q, &start, &end);
    if (rc == CARET_OK)
        rc = serve__list_read(q, &l, q->argv[1]);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? serve__array(q, 0) : rc;
    int64_t n = cut_range(&start, &end, serve__list_len(&l));
    return serve__list_answer(q, &l, start, n, 1);
}

int serve__cmd_ltrim(struct serve__call *q)
{
    struct serve__list l;
    int64_t start, end;
    int rc = read_range(q, &start, &end);
    if (rc == CARET_OK)
        rc = serve__list_change(q, &l, q->argv[1]);
    if (rc != CARET_OK)
        return rc;
    if (!l.k.exists)
        return serve__ok(q);
    int64_t len = serve__list_len(&l), n = cut_range(&start, &end, len);
    int64_t left = n == 0 ? len : start, right = n == 0 ? 0 : len - 1 - end;
    if (left > 0)
        rc = serve__list_drop(q, &l, SERVE__LEFT, left);
    if (rc == CARET_OK && right > 0)
        rc = serve__list_drop(q, &l, SERVE__RIGHT, right);
    if (rc == CARET_OK) {
        serve__changed(q, SERVE__EVENT_LIST, "ltrim", l.k.name);
        q->r->dirty += (uint64_t)(left + right) - 1;
        rc = serve__list_save(q, &l);
    }
    return rc == CARET_OK ? serve__ok(q) : rc;
}
