/*
 * sort.c - SORT and SORT_RO, of lists, sets and sorted sets.
 *
 * The elements, and what they are sorted by, are copied first, then sorted, then answered or stored: a target
 * may be the source, and what GET looks up needs the session.  All bytes lie in one buffer, elements name them
 * by their places, so nothing moves while the buffer grows.
 *   A SORT is one transaction, which reads all elements: of a million that is some hundred milliseconds and as
 * many MiB as they have.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "server/array.h"
#include "server/data/list.h"
#include "server/dispatch.h"
#include "server/keys/field.h"
#include "server/zset/zset.h"

/* ----------------------------------------------------------------- options */

struct sort_options {
    const caret_slice *by, *store; /* NULL: none */
    int64_t offset, count;         /* count -1: all */
    int gets;                      /* how many GET there are; they are looked for again */
    bool desc, alpha, unsorted;
};

/* What BY and GET look up are keys that no argument names: only a user that may read all of them has these. */
static int may_look_up(struct serve__call *q, const char *option)
{
    if (serve__acl_reads_all == NULL || serve__acl_reads_all(q))
        return CARET_OK;
    return serve__fail(q, "ERR %s option of SORT denied due to insufficient ACL permissions.", option);
}

static int read_option(struct serve__call *q, int *i, bool readonly, struct sort_options *o)
{
    const caret_slice *word = &q->argv[*i];
    int left = q->argc - *i - 1;
    if (serve__is(word, "asc") || serve__is(word, "desc")) {
        o->desc = serve__is(word, "desc");
    } else if (serve__is(word, "alpha")) {
        o->alpha = true;
    } else if (serve__is(word, "limit") && left >= 2) {
        int rc = serve__arg_integer(q, *i + 1, &o->offset);
        *i += 2;
        return rc == CARET_OK ? serve__arg_integer(q, *i, &o->count) : rc;
    } else if (serve__is(word, "store") && left >= 1 && !readonly) {
        o->store = &q->argv[++*i];
    } else if (serve__is(word, "by") && left >= 1) {
        o->by = &q->argv[++*i];
        bool looks_up = memchr(o->by->data, '*', o->by->len) != NULL;
        o->unsorted = o->unsorted || !looks_up; /* another BY does not take it back */
        return looks_up ? may_look_up(q, "BY") : CARET_OK;
    } else if (serve__is(word, "get") && left >= 1) {
        o->gets++;
        ++*i;
        return may_look_up(q, "GET");
    } else {
        return SERVE__E_SYNTAX;
    }
    return CARET_OK;
}

static int read_options(struct serve__call *q, bool readonly, struct sort_options *o)
{
    *o = (struct sort_options){.count = -1};
    int rc = CARET_OK;
    for (int i = 2; rc == CARET_OK && i < q->argc; i++)
        rc = read_option(q, &i, readonly, o);
    return rc;
}

/* ---------------------------------------------------------------- patterns */

/* Look up what a pattern means for an element: *value, which lives until the next call with the session.
 * CARET_NONE: nothing. */
static int look_up(struct serve__call *q, caret_slice pattern, caret_slice element, caret_slice *value)
{
    struct serve__key k;
    struct serve__buffer *b = &q->r->work;
    const char *star = memchr(pattern.data, '*', pattern.len), *end = pattern.data + pattern.len;
    if (pattern.len == 1 && pattern.data[0] == '#') {
        *value = element;
        return CARET_OK;
    }
    if (star == NULL)
        return CARET_NONE;
    const char *arrow = memmem(star + 1, (size_t)(end - star - 1), "->", 2);
    bool field = arrow != NULL && arrow + 2 < end;
    const char *stop = field ? arrow : end;
    b->len = 0;
    serve__buffer_add(b, pattern.data, (size_t)(star - pattern.data));
    serve__buffer_add(b, element.data, element.len);
    serve__buffer_add(b, star + 1, (size_t)(stop - star - 1));
    if (b->failed)
        return CARET_E_NOMEM;
    caret_slice name = {b->data, b->len}, sub = {arrow + 2, field ? (size_t)(end - arrow - 2) : 0};
    int rc = serve__key_read(q, &k, name, field ? SERVE__HASH : SERVE__STRING);
    if (rc == CARET_OK && field)
        rc = serve__field_get(q, &k, sub, value);
    else if (rc == CARET_OK)
        *value = k.value;
    return rc == SERVE__E_TYPE ? CARET_NONE : rc;
}

/* --------------------------------------------------------------- elements */

struct sort_item {
    size_t at, len;   /* of the element in the bytes */
    size_t by, bylen; /* of what it is sorted by, as text; bylen SIZE_MAX: nothing */
    double score;
};

struct sorting {
    struct sort_options o;
    struct sort_item *item;
    size_t n, cap;
    struct serve__buffer bytes;
    enum serve__type type;
};

static caret_slice text_of(const struct sorting *s, const struct sort_item *e)
{
    return (caret_slice){s->bytes.data + e->at, e->len};
}

static int add_item(struct sorting *s, caret_slice element)
{
    struct sort_item *item = serve__array_room(s->item, &s->cap, s->n + 1, sizeof *item);
    if (item == NULL)
        return CARET_E_NOMEM;
    s->item = item;
    s->item[s->n++] = (struct sort_item){s->bytes.len, element.len, 0, SIZE_MAX, 0};
    serve__buffer_add(&s->bytes, element.data, element.len);
    return s->bytes.failed ? CARET_E_NOMEM : CARET_OK;
}

static int load_element(struct serve__call *q, void *arg, caret_slice value)
{
    (void)q;
    return add_item(arg, value);
}

static int load_names(struct serve__call *q, const struct serve__key *k, struct sorting *s)
{
    struct serve__fields i;
    caret_slice name, value;
    int rc = serve__fields_begin(q, &i, k);
    while (rc == CARET_OK && (rc = serve__fields_next(q, &i, &name, &value)) == CARET_OK)
        rc = add_item(s, name);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The members in order of their scores. */
static int load_ranked(struct serve__call *q, const struct serve__key *k, struct sorting *s)
{
    struct serve__zwalk w;
    int rc = serve__zwalk_seek(q, k, &w, s->o.desc, NULL);
    for (; rc == CARET_OK; rc = serve__zwalk_next(q, &w))
        if ((rc = add_item(s, w.member)) != CARET_OK)
            return rc;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The elements in their order, which BY nosort keeps; DESC turns it round. */
static int load_list(struct serve__call *q, struct sorting *s)
{
    int rc = serve__list_each(q, q->argv[1], load_element, s);
    for (size_t i = 0, n = s->n; rc == CARET_OK && s->o.unsorted && s->o.desc && i < n / 2; i++) {
        struct sort_item kept = s->item[i];
        s->item[i] = s->item[n - 1 - i];
        s->item[n - 1 - i] = kept;
    }
    return rc;
}

static int load(struct serve__call *q, struct sorting *s)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ANY);
    s->type = k.type;
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    /* A set has no order: one that is stored is the same on all machines. */
    if (k.type == SERVE__SETTYPE && s->o.unsorted && s->o.store != NULL) {
        s->o.unsorted = false;
        s->o.alpha = true;
        s->o.by = NULL;
    }
    switch (k.type) {
    case SERVE__LIST: return load_list(q, s);
    case SERVE__SETTYPE: return load_names(q, &k, s);
    case SERVE__ZSET: return s->o.unsorted ? load_ranked(q, &k, s) : load_names(q, &k, s);
    default: return SERVE__E_TYPE;
    }
}

/* ------------------------------------------------------------------ order */

/* A number as strtod() reads it; bytes after a 0 do not count. */
static int read_score(struct serve__call *q, caret_slice text, double *score)
{
    struct serve__buffer *b = &q->r->work;
    char *end;
    b->len = 0;
    serve__buffer_add(b, text.data, text.len);
    serve__buffer_add(b, "", 1);
    if (b->failed)
        return CARET_E_NOMEM;
    errno = 0;
    *score = strtod(b->data, &end);
    if (*end == 0 && errno != ERANGE && !isnan(*score))
        return CARET_OK;
    return serve__fail(q, "ERR One or more scores can't be converted into double");
}

static int weigh(struct serve__call *q, struct sorting *s, struct sort_item *e)
{
    caret_slice value = text_of(s, e);
    int rc = s->o.by != NULL ? look_up(q, *s->o.by, value, &value) : CARET_OK;
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    if (!s->o.alpha)
        return read_score(q, value, &e->score);
    e->by = s->o.by != NULL ? s->bytes.len : e->at;
    e->bylen = value.len;
    if (s->o.by != NULL)
        serve__buffer_add(&s->bytes, value.data, value.len);
    return s->bytes.failed ? CARET_E_NOMEM : CARET_OK;
}

static int compare_bytes(const char *a, size_t alen, const char *b, size_t blen)
{
    size_t len = alen < blen ? alen : blen;
    int order = len > 0 ? memcmp(a, b, len) : 0; /* no bytes: no place either */
    return order != 0 ? order : (alen > blen) - (alen < blen);
}

static int compare(const void *a, const void *b, void *of)
{
    const struct sort_item *x = a, *y = b;
    const struct sorting *s = of;
    const char *bytes = s->bytes.data;
    int order;
    if (!s->o.alpha) {
        order = (x->score > y->score) - (x->score < y->score);
        if (order == 0)
            order = compare_bytes(bytes + x->at, x->len, bytes + y->at, y->len);
    } else if (x->bylen == SIZE_MAX || y->bylen == SIZE_MAX) {
        order = (y->bylen == SIZE_MAX) - (x->bylen == SIZE_MAX);
    } else {
        order = compare_bytes(bytes + x->by, x->bylen, bytes + y->by, y->bylen);
    }
    return s->o.desc ? -order : order;
}

static int put_in_order(struct serve__call *q, struct sorting *s)
{
    int rc = CARET_OK;
    if (s->o.unsorted)
        return CARET_OK;
    for (size_t i = 0; rc == CARET_OK && i < s->n; i++)
        rc = weigh(q, s, &s->item[i]);
    if (rc == CARET_OK && s->n > 1)
        qsort_r(s->item, s->n, sizeof *s->item, compare, s);
    return rc;
}

/* What LIMIT leaves: n elements from `from` on. */
static size_t limited(const struct sorting *s, size_t *from)
{
    int64_t n = (int64_t)s->n, start = s->o.offset < 0 ? 0 : s->o.offset;
    *from = 0;
    if (start >= n || s->o.count == 0)
        return 0;
    *from = (size_t)start;
    return (size_t)(s->o.count < 0 || s->o.count > n - start ? n - start : s->o.count);
}

/* ----------------------------------------------------------------- answers */

/* What an element is answered with: `each` is called for it, or for each of its GETs. */
static int give(struct serve__call *q, const struct sorting *s, caret_slice element,
                int (*each)(struct serve__call *, void *, const caret_slice *), void *of)
{
    int rc = CARET_OK;
    if (s->o.gets == 0)
        return each(q, of, &element);
    for (int i = 2; rc == CARET_OK && i < q->argc; i++) {
        caret_slice value;
        if (serve__is(&q->argv[i], "get")) {
            rc = look_up(q, q->argv[++i], element, &value);
            if (rc == CARET_OK || rc == CARET_NONE)
                rc = each(q, of, rc == CARET_OK ? &value : NULL);
        } else if (serve__is(&q->argv[i], "by") || serve__is(&q->argv[i], "store")) {
            i++;
        } else if (serve__is(&q->argv[i], "limit")) {
            i += 2;
        }
    }
    return rc;
}

static int answer_one(struct serve__call *q, void *of, const caret_slice *value)
{
    (void)of;
    return value != NULL ? serve__bulk(q, value->data, value->len) : serve__null(q);
}

static int store_one(struct serve__call *q, void *of, const caret_slice *value)
{
    caret_slice bytes = value != NULL ? *value : (caret_slice){"", 0};
    int rc = caret_keep(q->s, &bytes);
    return rc == CARET_OK ? serve__list_push(q, of, SERVE__RIGHT, bytes) : rc;
}

static int give_all(struct serve__call *q, const struct sorting *s,
                    int (*each)(struct serve__call *, void *, const caret_slice *), void *of)
{
    size_t from, n = limited(s, &from);
    int rc = CARET_OK;
    for (size_t i = from; rc == CARET_OK && i < from + n; i++)
        rc = give(q, s, text_of(s, &s->item[i]), each, of);
    return rc;
}

/* The target becomes a list of what is found; if that is nothing it is deleted. */
static int store(struct serve__call *q, const struct sorting *s)
{
    struct serve__key old;
    struct serve__list to;
    int rc = serve__key_change(q, &old, *s->o.store, SERVE__ANY);
    bool was = old.exists;
    if (rc == CARET_OK && was)
        rc = serve__key_delete(q, &old);
    if (rc == CARET_OK)
        rc = serve__list_change(q, &to, *s->o.store);
    if (rc == CARET_OK)
        rc = give_all(q, s, store_one, &to);
    to.k.exists = was && to.k.count > 0; /* then it only has another value */
    if (rc == CARET_OK)
        rc = serve__list_save(q, &to);
    if (rc != CARET_OK)
        return rc;
    if (to.k.count > 0) {
        serve__changed(q, SERVE__EVENT_LIST, "sortstore", to.k.name);
        q->r->dirty += to.k.count - 1;
        serve__ready(q, to.k.name);
    } else if (was) {
        serve__changed(q, SERVE__EVENT_GENERIC, "del", to.k.name);
    }
    return serve__integer(q, (int64_t)to.k.count);
}

static int sort(struct serve__call *q, bool readonly)
{
    struct sorting s = {.n = 0};
    size_t from;
    int rc = read_options(q, readonly, &s.o);
    if (rc == CARET_OK)
        rc = load(q, &s);
    if (rc == CARET_OK)
        rc = put_in_order(q, &s);
    if (rc == CARET_OK && s.o.store != NULL) {
        rc = store(q, &s);
    } else if (rc == CARET_OK) {
        serve__array(q, limited(&s, &from) * (size_t)(s.o.gets > 0 ? s.o.gets : 1));
        rc = give_all(q, &s, answer_one, NULL);
    }
    free(s.item);
    serve__buffer_free(&s.bytes);
    return rc;
}

int serve__cmd_sort(struct serve__call *q)
{
    return sort(q, false);
}

int serve__cmd_sort_ro(struct serve__call *q)
{
    return sort(q, true);
}
