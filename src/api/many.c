/*
 * many.c - the values of many nodes at once.
 *
 *   prefetch   sixteen at a time: those whose hints hold have their entries asked for,
 *              the others are looked for in step (tree/many.c), and get hints
 *   get        the value of each that was found so, copied and then validated as caret_get()
 *              does it; of the others, and of all in a transaction, by caret_get(), which
 *              now finds them by their hints
 *
 * So what is special is read by caret_get(): a transaction's own changes and its read set,
 * locals, long values, views that are overtaken, pages that were being changed.  A hint
 * is believed only while the version of its page is the one in it.
 *
 * And the values of a range of children in a row, below.
 *
 * And values that stay valid to the end of a transaction:
 *
 *     s->kept -> | chunk | value, value, ... free | -> | chunk | value, ... | -> NULL
 *
 * A value goes to the first chunk, or to a new one before it if there is no room; none ever moves.  The end of the
 * outermost transaction, and its restart, drop all chunks but one of the usual size, which the next transaction
 * begins with.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/range.h"
#include "tree/many.h"

#define COUNT_MAX ((size_t)PTRDIFF_MAX / sizeof(caret_slice)) /* of an array that memory can hold */

__attribute__((cold)) static int not_a_node(const char *function, const caret_node *n, size_t i)
{
    char argument[40];

    snprintf(argument, sizeof argument, "nodes[%zu]", i);
    return caret__not_a_node(function, argument, n);
}

static int check_nodes(const char *function, caret_session *s, caret_node *const *nodes, size_t count)
{
    if (s == NULL)
        return caret__null(function, "s", "a session");
    if (nodes == NULL && count != 0)
        return caret__null(function, "nodes", "an array of nodes");
    if (count > COUNT_MAX)
        return caret__fail(CARET_E_INVALID, "%s: count is %zu: there can't be so many nodes", function,
                           count);
    for (size_t i = 0; i < count; i++)
        if (!caret__node_ok(nodes[i]))
            return not_a_node(function, nodes[i], i);
    return CARET_OK;
}

/* Does the node's hint hold?  Then its entry is asked for. */
static inline bool is_known(const struct caret__view *v, const struct caret__node *n)
{
    struct caret__hint h;
    struct caret__at at;

    if (!caret__hint_within(n, v->pg->id, &h) || !caret__at_recall(v, &at, h.pgno, h.version))
        return false;
    if (h.found)
        caret__page_ask_entry(at.page, h.pos);
    return true;
}

/* Some nodes, and what is known of them. */
struct some {
    struct caret__lane lane[CARET__LANES];
    struct caret__node *of[CARET__LANES]; /* the node of a lane */
    unsigned n;
    uint8_t lane_of[CARET__LANES]; /* of a node, or NO_LANE */
};
#define NO_LANE UINT8_MAX

static void seek_some(caret_session *s, caret_node *const *nodes, size_t count, struct some *k)
{
    struct caret__view *v = &s->global;

    for (size_t i = 0; i < count; i++) {
        struct caret__node *node = caret__node(nodes[i]);
        k->lane_of[i] = NO_LANE;
        if (node->local || is_known(v, node))
            continue;
        k->lane_of[i] = (uint8_t)k->n;
        k->lane[k->n].key = caret__node_key(node);
        k->lane[k->n].len = node->key_len;
        k->of[k->n++] = node;
    }
    if (k->n == 0)
        return;
    caret__seek_many(v, k->lane, k->n);
    for (unsigned i = 0; i < k->n; i++) {
        const struct caret__at *at = &k->lane[i].at;
        if (k->lane[i].there)
            caret__hint_put(k->of[i], (struct caret__hint){at->version, v->pg->id, at->pgno,
                                                           (uint16_t)at->pos, at->found});
    }
}

/* Look for those of the nodes that are globals, if the session can read them as they are; else (false) caret_get() says
 * why not. */
static bool prefetch(caret_session *s, caret_node *const *nodes, size_t count, struct some *k)
{
    k->n = 0;
    if (s->e == NULL || s->observes || caret__session_enter_read(s) != CARET_OK ||
        caret__session_saw(s, CARET_OK) != CARET_OK)
        return false;
    seek_some(s, nodes, count, k);
    return true;
}

int caret_prefetch(caret_session *s, caret_node *const *nodes, size_t count)
{
    int rc = check_nodes(__func__, s, nodes, count);
    struct some k;

    for (size_t i = 0; rc == CARET_OK && i < count; i += CARET__LANES)
        prefetch(s, nodes + i, caret__min(count - i, CARET__LANES), &k);
    return rc;
}

/* Room for a value of that length after `used` bytes of the session's. */
static __attribute__((noinline)) int grow_room(caret_session *s, size_t used, size_t len)
{
    size_t cap = used + len + (used + len) / 2 + 1024;
    uint8_t *many = realloc(s->many, cap);
    if (many == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for values of %zu bytes", used + len);
    s->many = many;
    s->many_cap = cap;
    return CARET_OK;
}

static inline int make_room(caret_session *s, size_t used, size_t len)
{
    return caret__likely(used + len + 1 <= s->many_cap) ? CARET_OK : grow_room(s, used, len);
}

/* The value that a lane found, after `used` bytes; *len: SIZE_MAX for none.  CARET_RESTART: not to be had so. */
static inline int take(caret_session *s, const struct caret__lane *l, size_t used, size_t *len)
{
    *len = SIZE_MAX;
    if (!l->there)
        return CARET_RESTART;
    if (l->at.found) {
        int rc = l->run ? CARET_RESTART : make_room(s, used, l->vlen);
        if (rc != CARET_OK)
            return rc;
        CARET_FAULT("many_found"); /* until it is validated the value may be anything */
        caret__racy_copy_value(s->many + used, l->val, l->vlen);
        *len = l->vlen;
    }
    if (!caret__at_valid(&s->global, &l->at))
        return CARET_RESTART;
    if (caret__count_one(s, CARET__GETS))
        caret__gets_publish(s, l->key, l->len);
    return CARET_OK;
}

/* The same by caret_get(), of any node. */
static int get_one(caret_session *s, caret_node *n, size_t used, size_t *len)
{
    caret_slice value;
    int rc = caret_get(s, n, &value);

    *len = rc == CARET_OK ? value.len : SIZE_MAX;
    if (rc == CARET_OK)
        rc = make_room(s, used, value.len);
    if (rc == CARET_OK && value.len != 0)
        memcpy(s->many + used, value.data, value.len);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The values of some nodes: their lengths, SIZE_MAX for none. */
static int get_some(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values,
                    size_t *used)
{
    struct some k;
    bool direct = prefetch(s, nodes, count, &k) && s->txn.level == 0;

    for (size_t i = 0; i < count; i++) {
        size_t *len = &values[i].len;
        int rc = CARET_RESTART;
        if (direct && k.lane_of[i] != NO_LANE)
            rc = take(s, &k.lane[k.lane_of[i]], *used, len);
        if (rc == CARET_RESTART)
            rc = get_one(s, nodes[i], *used, len);
        if (rc != CARET_OK)
            return rc;
        *used += *len != SIZE_MAX ? *len : 0;
    }
    return CARET_OK;
}

int caret_get_many(caret_session *s, caret_node *const *nodes, size_t count, caret_slice *values)
{
    int rc = check_nodes(__func__, s, nodes, count);
    size_t used = 0;

    if (rc == CARET_OK && values == NULL && count != 0)
        rc = caret__null(__func__, "values", "an array for the values");
    if (rc == CARET_OK && s->remote != NULL)
        return caret__remote_get_nodes(s, nodes, count, values);
    for (size_t i = 0; rc == CARET_OK && i < count; i += CARET__LANES)
        rc = get_some(s, nodes + i, caret__min(count - i, CARET__LANES), values + i, &used);
    if (rc != CARET_OK)
        return rc;
    const char *at = (const char *)s->many; /* it has moved while it grew */
    for (size_t i = 0; i < count; i++) {
        bool none = values[i].len == SIZE_MAX;
        values[i] = (caret_slice){none ? NULL : at, none ? 0 : values[i].len};
        at += values[i].len;
    }
    return CARET_OK;
}

/* ---------------------------------------------------------------------- keep */

#define CHUNK_BYTES 4064u /* with its head, and that of malloc, a page */

struct caret__kept {
    struct caret__kept *next;
    size_t size, used; /* of bytes */
    char bytes[];
};

static char *room_for(caret_session *s, size_t len)
{
    struct caret__kept *k = s->kept;

    if (k == NULL || k->size - k->used < len) {
        size_t size = caret__max(len, CHUNK_BYTES);
        k = malloc(sizeof *k + size);
        if (k == NULL)
            return NULL;
        *k = (struct caret__kept){.next = s->kept, .size = size};
        s->kept = k;
    }
    k->used += len;
    return k->bytes + k->used - len;
}

void caret__kept_drop(caret_session *s, bool all)
{
    struct caret__kept *usual = NULL;

    while (s->kept != NULL) {
        struct caret__kept *k = s->kept;
        s->kept = k->next;
        if (all || usual != NULL || k->size != CHUNK_BYTES)
            free(k);
        else
            usual = k;
    }
    s->kept = usual;
    if (usual != NULL)
        *usual = (struct caret__kept){.size = usual->size};
}

static int check_txn(const char *function, caret_session *s)
{
    int rc = s != NULL ? caret__if_remote(caret__session_enter(s), CARET_OK)
                       : caret__null(function, "s", "a session");

    if (rc == CARET_OK && s->txn.level == 0)
        rc =
            caret__fail(CARET_E_NOTXN,
                        "%s: values are kept to the end of a transaction, and none is in progress", function);
    return rc;
}

static int keep(caret_session *s, caret_slice *value)
{
    if (value->data == NULL) /* no value */
        return CARET_OK;
    char *kept = room_for(s, value->len);
    if (kept == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to keep a value of %zu bytes", value->len);
    if (value->len != 0)
        memcpy(kept, value->data, value->len);
    value->data = kept;
    return CARET_OK;
}

int caret_keep(caret_session *s, caret_slice *value)
{
    int rc = check_txn(__func__, s);

    if (rc == CARET_OK && value == NULL)
        rc = caret__null(__func__, "value", "a value that a call has given");
    if (rc == CARET_OK && value->len > CARET_MAX_VALUE)
        rc = caret__fail(CARET_E_VALUE2BIG, "a value of %zu bytes; %u is the limit", value->len,
                         CARET_MAX_VALUE);
    return rc == CARET_OK ? keep(s, value) : rc;
}

int caret_get_kept(caret_session *s, caret_node *n, caret_slice *value)
{
    int rc = caret__args_check(__func__, s, n);

    if (rc == CARET_OK && value == NULL)
        rc = caret__null(__func__, "value", "a place for the value");
    if (rc == CARET_OK)
        rc = check_txn(__func__, s);
    if (rc == CARET_OK)
        rc = caret_get(s, n, value);
    return rc == CARET_OK ? keep(s, value) : rc;
}

/* ------------------------------------------------------- values of a range */
/*
 * From a copy of each leaf, which nothing changes while the program looks at it; of keys only the last one is made.
 */

struct telling {
    caret_session *s;
    const struct caret__span *span;
    caret_value_fn *each;
    void *arg;
    bool any, local;
    struct caret__at at; /* of what was told last, by a leaf; pgno 0: it is not known */
    size_t len;          /* its key */
    uint8_t key[CARET__KEY_MAX];
};

/* The value of an entry whose value is not in its leaf. */
static int value_elsewhere(const struct telling *t, const struct caret__part *part, unsigned i,
                           caret_slice *value)
{
    struct caret__entry e = caret__page_entry(part->page, i);
    caret_node_buf n;
    uint8_t key[CARET__KEY_MAX];
    const uint8_t *data;

    if (t->local) {
        caret__private_value(&e, &data, &value->len);
        value->data = (const char *)data;
        return CARET_OK;
    }
    int rc = caret__node_make(&n.node, sizeof n, false, key, caret__page_key(part->page, i, key));
    if (rc == CARET_OK)
        rc = caret__get_committed(t->s, &n.node, value);
    return rc == CARET_NONE ? CARET_RESTART : rc; /* it has gone since: its leaf has changed */
}

static int tell_part(void *arg, const struct caret__part *part)
{
    struct telling *t = arg;
    caret_slice value;
    int rc = CARET_OK;
    unsigned i = part->from;

    if (i == part->to)
        return CARET_OK;
    for (; i < part->to && rc == CARET_OK; i++) {
        struct caret__entry e = caret__page_entry(part->page, i);
        value = (caret_slice){(const char *)e.val, e.vlen};
        if (caret__unlikely(e.run))
            rc = value_elsewhere(t, part, i, &value);
        if (rc == CARET_OK)
            rc = t->each(t->arg, value);
    }
    t->any = true;
    t->at = part->at;
    t->at.pos = i - 1;
    t->at.found = true;
    t->len = caret__page_key(part->page, i - 1, t->key);
    return rc;
}

/* As the transaction sees it, node by node. */
static int tell_merged(struct telling *t)
{
    caret_node_buf n;
    caret_slice value;
    uint8_t key[CARET__PLACE_MAX];
    struct caret__at at;
    size_t len = t->span->lo_len;

    memcpy(key, t->span->lo, len);
    int rc = caret__session_from(t->s, caret__place_of(t->s, t->local), key, &len, &at);
    if (rc == CARET_OK && !caret__span_has(t->span, key, len))
        return CARET_OK;
    if (rc == CARET_OK)
        rc = caret__node_make(&n.node, sizeof n, t->local, key, len);
    if (rc == CARET_OK)
        rc = caret_get(t->s, &n.node, &value);
    while (rc == CARET_OK) {
        const struct caret__node *k = caret__node_const(&n.node);
        if (!caret__span_has(t->span, caret__node_key(k), k->key_len))
            return CARET_OK;
        t->any = true;
        memcpy(t->key, caret__node_key(k), t->len = k->key_len);
        rc = t->each(t->arg, value);
        if (rc != CARET_OK)
            return rc;
        rc = caret_node_next_get(t->s, &n.node, &value);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int tell(caret_session *s, caret_node *n, void *arg)
{
    struct telling *t = arg;
    struct caret__node *k = caret__node(n);
    bool plain = caret__is_plain(s, k) && (k->local || s->remote == NULL);
    int rc = plain ? caret__each_leaf(s, t->span, k->local, true, tell_part, t) : tell_merged(t);

    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (!t->any)
        return CARET_NONE;
    rc = caret__node_take_key(k, t->key, t->len);
    if (rc == CARET_OK)
        caret__session_found(s, k, &t->at);
    return rc;
}

int caret_values_in(caret_session *s, caret_node *n, const caret_slice *from, const caret_slice *to,
                    int flags, caret_value_fn *each, void *arg)
{
    struct caret__children c;
    int rc = each != NULL ? caret__range_args(__func__, s, n, from, to, flags, &c)
                          : caret__null(__func__, "each", "a function");

    if (rc != CARET_OK)
        return rc;
    struct telling t; /* not the key, which is long */
    t.s = s;
    t.span = &c.span;
    t.each = each;
    t.arg = arg;
    t.any = false;
    t.local = caret__node(n)->local;
    t.at.pgno = 0;
    if (t.local) {
        rc = caret__session_locals(s);
        return rc == CARET_OK ? tell(s, n, &t) : rc;
    }
    if (s->txn.level == 0)
        return caret__fail(CARET_E_NOTXN, "%s: values are told in a transaction, and none is in progress",
                           __func__);
    return caret__read_in_txn(s, n, tell, &t);
}
