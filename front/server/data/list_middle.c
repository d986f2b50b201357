/*
 * list_middle.c - commands that look for elements of lists: LPOS, LINSERT, LREM.
 *
 * What comes or goes in the middle moves the elements on its shorter side by their numbers, one after the
 * other.  One transaction holds some hundred thousand of them; what would move more is refused by the engine.
 */
#include "server/data/list.h"

static bool same(caret_slice a, caret_slice b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* ------------------------------------------------------------------- LPOS */

struct lpos {
    int64_t rank, count, most; /* count -1: none was given */
};

static int read_rank(struct serve__call *q, int i, int64_t *rank)
{
    int rc = serve__arg_integer(q, i, rank);
    if (rc == CARET_OK && *rank == 0)
        return serve__fail(q, "ERR RANK can't be zero: use 1 to start from the first match, 2 from the "
                              "second ... or use negative to start from the end of the list");
    return rc;
}

/* A number that is not negative. */
static int read_most(struct serve__call *q, int i, const char *word, int64_t *n)
{
    if (serve__read_integer(&q->argv[i], n) && *n >= 0)
        return CARET_OK;
    return serve__fail(q, "ERR %s can't be negative", word);
}

static int read_lpos(struct serve__call *q, struct lpos *o)
{
    *o = (struct lpos){1, -1, 0};
    for (int i = 3; i < q->argc; i += 2) {
        int rc = SERVE__E_SYNTAX;
        if (i + 1 >= q->argc)
            return rc;
        if (serve__is(&q->argv[i], "rank"))
            rc = read_rank(q, i + 1, &o->rank);
        else if (serve__is(&q->argv[i], "count"))
            rc = read_most(q, i + 1, "COUNT", &o->count);
        else if (serve__is(&q->argv[i], "maxlen"))
            rc = read_most(q, i + 1, "MAXLEN", &o->most);
        if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

/* Answer the places; how many they are. */
static int find_places(struct serve__call *q, const struct serve__list *l, const struct lpos *o, size_t *n)
{
    struct serve__elements i;
    caret_slice value;
    int64_t len = serve__list_len(l), skip = o->rank < 0 ? -(o->rank + 1) : o->rank - 1;
    if (o->rank == INT64_MIN) /* Redis takes its negative, which is itself, for passed at once */
        skip = 0;
    int64_t most = o->most > 0 && o->most < len ? o->most : len;
    int step = o->rank < 0 ? -1 : 1;
    size_t wanted = o->count < 0 ? 1 : o->count > 0 ? (size_t)o->count : SIZE_MAX;
    int rc = serve__elements_begin(q, &i, l, step > 0 ? 0 : len - 1, step);
    for (int64_t at = 0; rc == CARET_OK && at < most && *n < wanted; at++) {
        if ((rc = serve__elements_next(q, &i, &value)) != CARET_OK || !same(value, q->argv[2]) || skip-- > 0)
            continue;
        serve__integer(q, step > 0 ? at : len - 1 - at);
        ++*n;
    }
    return rc;
}

int serve__cmd_lpos(struct serve__call *q)
{
    struct lpos o;
    struct serve__list l;
    size_t n = 0;
    int rc = read_lpos(q, &o);
    if (rc == CARET_OK)
        rc = serve__list_read(q, &l, q->argv[1]);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    size_t place = o.count >= 0 ? serve__open(q) : 0;
    if (rc == CARET_OK && (rc = find_places(q, &l, &o, &n)) != CARET_OK)
        return rc;
    if (o.count >= 0)
        return serve__close_array(q, place, n);
    return n == 0 ? serve__null(q) : CARET_OK;
}

/* ----------------------------------------------------------------- moving */

/* Move n elements from the index `at` on by one place: to the left (step -1) or to the right. */
static int move_by_one(struct serve__call *q, struct serve__list *l, int64_t at, int64_t n, int step)
{
    int rc = CARET_OK;
    for (int64_t i = 0; rc == CARET_OK && i < n; i++) {
        caret_slice value;
        int64_t from = step < 0 ? at + i : at + n - 1 - i;
        if ((rc = serve__list_get(q, l, from, &value)) == CARET_OK)
            rc = serve__list_set(q, l, from + step, value);
    }
    return rc;
}

/* The index of the first element that is the same; -1: none. */
static int find(struct serve__call *q, const struct serve__list *l, caret_slice wanted, int64_t *index)
{
    struct serve__elements i;
    caret_slice value;
    int rc = serve__elements_begin(q, &i, l, 0, 1);
    *index = -1;
    for (int64_t at = 0; rc == CARET_OK && at < serve__list_len(l); at++) {
        if ((rc = serve__elements_next(q, &i, &value)) == CARET_OK && same(value, wanted)) {
            *index = at;
            break;
        }
    }
    return rc;
}

/* Make room before the element at `index`, and put the value there. */
static int insert(struct serve__call *q, struct serve__list *l, int64_t index, caret_slice value)
{
    int64_t len = serve__list_len(l);
    int rc;
    l->k.count++;
    if (index < len / 2) {
        l->first--; /* what was at i is at i + 1 now */
        rc = move_by_one(q, l, 1, index, -1);
    } else {
        rc = move_by_one(q, l, index, len - index, 1);
    }
    return rc == CARET_OK ? serve__list_set(q, l, index, value) : rc;
}

int serve__cmd_linsert(struct serve__call *q)
{
    struct serve__list l;
    int64_t index;
    bool after = serve__is(&q->argv[2], "after");
    if (!after && !serve__is(&q->argv[2], "before"))
        return SERVE__E_SYNTAX;
    int rc = serve__list_change(q, &l, q->argv[1]);
    if (rc == CARET_OK && !l.k.exists)
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = find(q, &l, q->argv[3], &index);
    if (rc == CARET_OK && index < 0)
        return serve__integer(q, -1);
    if (rc == CARET_OK)
        rc = insert(q, &l, index + after, q->argv[4]);
    if (rc == CARET_OK)
        rc = serve__list_save(q, &l);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_LIST, "linsert", l.k.name);
    return serve__integer(q, serve__list_len(&l));
}

/* ------------------------------------------------------------------- LREM */

/* What a walk found: how many to remove, and between which of its steps. */
struct found {
    int64_t n, first, last; /* steps of the first and the last */
};

static int look_for(struct serve__call *q, const struct serve__list *l, int step, int64_t most,
                    struct found *f)
{
    struct serve__elements i;
    caret_slice value;
    int64_t len = serve__list_len(l);
    int rc = serve__elements_begin(q, &i, l, step > 0 ? 0 : len - 1, step);
    *f = (struct found){0, 0, 0};
    for (int64_t at = 0; rc == CARET_OK && at < len && f->n < most; at++) {
        if ((rc = serve__elements_next(q, &i, &value)) != CARET_OK || !same(value, q->argv[3]))
            continue;
        f->first = f->n++ == 0 ? at : f->first;
        f->last = at;
    }
    return rc;
}

/* Go from the index `from` to `end` (not with it) and move what stays together, to begin at `to`; the first n
 * that are the same as the argument don't stay. */
static int close_gaps(struct serve__call *q, struct serve__list *l, int64_t from, int64_t end, int step,
                      int64_t n)
{
    int64_t to = from;
    int rc = CARET_OK;
    for (int64_t at = from; rc == CARET_OK && at != end; at += step) {
        caret_slice value;
        if ((rc = serve__list_get(q, l, at, &value)) != CARET_OK)
            break;
        if (n > 0 && same(value, q->argv[3])) {
            n--;
            continue;
        }
        rc = serve__list_set(q, l, to, value);
        to += step;
    }
    return rc;
}

/* Remove f->n elements that a walk in the direction `step` found: what is on the shorter side moves. */
static int remove_found(struct serve__call *q, struct serve__list *l, int step, const struct found *f)
{
    int64_t len = serve__list_len(l);
    int64_t a = step > 0 ? f->first : len - 1 - f->last, b = step > 0 ? f->last : len - 1 - f->first;
    bool left = b < len - 1 - a; /* what is before the last of them is less than what is after the first */
    int rc = left ? close_gaps(q, l, b, -1, -1, f->n) : close_gaps(q, l, a, len, 1, f->n);
    return rc == CARET_OK ? serve__list_drop(q, l, left ? SERVE__LEFT : SERVE__RIGHT, f->n) : rc;
}

int serve__cmd_lrem(struct serve__call *q)
{
    struct serve__list l;
    struct found f;
    int64_t count;
    int rc = serve__arg_integer(q, 2, &count);
    if (rc == CARET_OK)
        rc = serve__list_change(q, &l, q->argv[1]);
    if (rc == CARET_OK && !l.k.exists)
        return serve__integer(q, 0);
    int step = count < 0 ? -1 : 1;
    if (rc == CARET_OK)
        rc = look_for(q, &l, step,
                      count == 0           ? INT64_MAX
                      : count == INT64_MIN ? INT64_MAX
                                           : count * step,
                      &f);
    if (rc == CARET_OK && f.n == 0)
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = remove_found(q, &l, step, &f);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_LIST, "lrem", l.k.name);
    q->r->dirty += (uint64_t)f.n - 1;
    rc = serve__list_save(q, &l);
    return rc == CARET_OK ? serve__integer(q, f.n) : rc;
}
