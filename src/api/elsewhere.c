/*
 * elsewhere.c - a session's local variables that somebody else keeps: caret_session_locals().
 *
 * All that sessions do with local variables comes down to four things with encoded keys: get, put, kill, and the
 * search for the first key from one on, or the last before one.  Here each becomes a call of the table, in terms of
 * names and subscripts, and its answer a key again.  The rest of the engine knows no difference; nodes of such
 * variables have no hints, as there are no pages.
 *
 * A search key is the key of an address and perhaps one byte more, which makes it a place: 00 is just after the
 * address (base/key.h), FF beyond all below it.  Others are bounds of ranges, which no address has.  Then the search
 * goes on from the place before them, node by node, until the key is on the right side.
 *
 * Threads: a session is one thread's.  `enter` and `leave` of the table exclude the others.
 */
#include "api/session.h"
#include "base/key.h"
#include "base/number.h"

#define TEXTS (CARET__KEY_MAX + CARET_MAX_SUBS * 64u) /* bytes: numbers are shorter in keys */

struct address {
    caret_slice part[CARET_MAX_SUBS + 1];
    size_t count;
    size_t used; /* of the key */
    char texts[TEXTS];
};

/* Is it a bound alone: after all numbers, the encoding as a string of what no string among subscripts is? */
static bool is_bound(const uint8_t *sub, const caret_slice *text)
{
    return *sub == CARET__SUB_STRING && (text->len == 0 || caret__num_canonical(text->data, text->len));
}

/* The address that the key begins with, as far as it is one. */
static void read_key(struct address *a, const uint8_t *key, size_t len)
{
    const uint8_t *zero = len != 0 ? memchr(key, 0, len) : NULL;
    size_t n, taken = 0;
    bool number;

    a->count = a->used = 0;
    if (zero == NULL)
        return;
    a->part[a->count++] = (caret_slice){(const char *)key, (size_t)(zero - key)};
    a->used = (size_t)(zero - key) + 1;
    while (a->used < len && a->count <= CARET_MAX_SUBS &&
           (n = caret__sub_len(key + a->used, len - a->used)) != 0) {
        caret_slice *sub = &a->part[a->count];
        sub->data = a->texts + taken;
        if (caret__sub_get(key + a->used, n, a->texts + taken, TEXTS - taken, &sub->len, &number) !=
                CARET_OK ||
            is_bound(key + a->used, sub))
            return;
        taken += sub->len;
        a->used += n;
        a->count++;
    }
}

static int too_long(const caret_slice *found)
{
    return caret__fail(CARET_E_KEY2BIG, "a node of the local variable %.*s has a key longer than %u bytes",
                       (int)found->len, found->data, CARET__KEY_MAX);
}

/* The key of what was found; there is room for CARET__PLACE_MAX bytes. */
static int write_key(uint8_t *key, size_t *len, const caret_slice *found, size_t count)
{
    size_t at = caret__key_put_name(key, found[0].data, found[0].len);

    for (size_t i = 1; i < count; i++) {
        size_t n = caret__sub_put(key + at, CARET__KEY_MAX - at, found[i].data, found[i].len);
        if (n == 0)
            return too_long(found);
        at += n;
    }
    *len = at;
    return CARET_OK;
}

/* ----------------------------------------------------------------- one node */

static int get(caret_session *s, const struct address *a, caret_slice *value)
{
    caret_slice v;
    int rc = s->elsewhere->get(s->elsewhere->who, a->part, a->count, &v);

    if (rc == CARET_OK)
        rc = caret__session_out(s, v.len);
    if (rc != CARET_OK)
        return rc;
    if (v.len != 0)
        memcpy(s->out, v.data, v.len);
    *value = (caret_slice){(const char *)s->out, v.len};
    return CARET_OK;
}

int caret__elsewhere_get(caret_session *s, const struct caret__node *n, caret_slice *value)
{
    struct address a;

    read_key(&a, caret__node_key(n), n->key_len);
    s->elsewhere->enter(s->elsewhere->who);
    int rc = get(s, &a, value);
    s->elsewhere->leave(s->elsewhere->who);
    return rc;
}

int caret__elsewhere_put(caret_session *s, const uint8_t *key, size_t klen, const void *value, size_t len)
{
    struct address a;

    read_key(&a, key, klen);
    s->elsewhere->enter(s->elsewhere->who);
    int rc = s->elsewhere->set(s->elsewhere->who, a.part, a.count, (caret_slice){value, len});
    s->elsewhere->leave(s->elsewhere->who);
    return rc;
}

/* ------------------------------------------------------------------- search */

/* Just before the address, after it, beyond it?  false: a bound comes after it. */
static bool place_of(const struct address *a, const uint8_t *key, size_t len, int *place)
{
    size_t more = len - a->used;

    *place = more == 0 ? CARET_AT : key[a->used] == CARET__SUB_BEYOND ? CARET_BEYOND : CARET_AFTER;
    return more == 0 || (more == 1 && (key[a->used] == 0 || key[a->used] == CARET__SUB_BEYOND));
}

/* From key to key as the table says, until one is on the right side of `bound`. */
static int seek(const caret_locals *t, const uint8_t *bound, size_t bound_len, uint8_t *key, size_t *len,
                bool back)
{
    caret_slice found[CARET_MAX_SUBS + 1];
    struct address a;
    size_t count;
    int place;

    read_key(&a, bound, bound_len);
    if (!place_of(&a, bound, bound_len, &place))
        place = back ? CARET_BEYOND : CARET_AFTER;
    for (;;) {
        int rc = t->seek(t->who, a.part, a.count, place, back, found, &count);
        if (rc == CARET_OK)
            rc = write_key(key, len, found, count);
        if (rc != CARET_OK || (caret__bytes_compare(key, *len, bound, bound_len) < 0) == back)
            return rc;
        read_key(&a, key, *len);
        place = back ? CARET_AT : CARET_AFTER;
    }
}

int caret__elsewhere_seek(caret_session *s, uint8_t *key, size_t *len, bool back)
{
    uint8_t bound[CARET__PLACE_MAX];
    size_t bound_len = *len;

    memcpy(bound, key, bound_len);
    s->elsewhere->enter(s->elsewhere->who);
    int rc = seek(s->elsewhere, bound, bound_len, key, len, back);
    s->elsewhere->leave(s->elsewhere->who);
    return rc;
}

/* --------------------------------------------------------------------- kill */

static int kill_one(caret_session *s, const uint8_t *key, size_t len, bool tree)
{
    struct address a;

    read_key(&a, key, len);
    return s->elsewhere->kill(s->elsewhere->who, a.part, a.count, tree);
}

/* What is in the span, node by node: a range of children. */
static int kill_each(caret_session *s, const struct caret__span *r)
{
    uint8_t key[CARET__PLACE_MAX];
    size_t len;
    int rc;

    while ((rc = seek(s->elsewhere, r->lo, r->lo_len, key, &len, false)) == CARET_OK &&
           caret__span_has(r, key, len))
        if ((rc = kill_one(s, key, len, false)) != CARET_OK)
            break;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Is it an address with all below it? */
static bool is_tree(const struct caret__span *r)
{
    return r->hi_len == r->lo_len + 1 && memcmp(r->lo, r->hi, r->lo_len) == 0 &&
           r->hi[r->lo_len] == CARET__SUB_BEYOND;
}

int caret__elsewhere_kill(caret_session *s, const struct caret__span *r, bool alone)
{
    s->elsewhere->enter(s->elsewhere->who);
    int rc = alone || is_tree(r) ? kill_one(s, r->lo, r->lo_len, !alone) : kill_each(s, r);
    s->elsewhere->leave(s->elsewhere->who);
    return rc;
}

/* -------------------------------------------------------------------- begin */

/* All nodes that the session has, given to the table. */
static int hand_over(caret_session *s, const caret_locals *t)
{
    struct caret__view v = {.pg = &s->locals.pg};
    uint8_t key[CARET__PLACE_MAX];
    const uint8_t *value;
    struct caret__at at;
    struct address a;
    size_t len = 0, value_len;
    int rc;

    while ((rc = caret__scan_from(&v, &at, key, &len)) == CARET_OK) {
        read_key(&a, key, len);
        if (caret__private_get(&s->locals, key, len, &value, &value_len))
            rc = t->set(t->who, a.part, a.count, (caret_slice){(const char *)value, value_len});
        if (rc != CARET_OK)
            return rc;
        caret__key_after(key, &len);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* The name of a function that the table lacks; NULL: it has all. */
static const char *lacks(const caret_locals *t)
{
    return t->enter == NULL   ? "table->enter"
           : t->leave == NULL ? "table->leave"
           : t->get == NULL   ? "table->get"
           : t->set == NULL   ? "table->set"
           : t->kill == NULL  ? "table->kill"
           : t->seek == NULL  ? "table->seek"
                              : NULL;
}

int caret_session_locals(caret_session *s, const caret_locals *table)
{
    if (s == NULL || table == NULL)
        return caret__null(__func__, s == NULL ? "s" : "table", s == NULL ? "a session" : "a table");
    if (table->size < sizeof *table || s->db != NULL)
        return caret__fail(CARET_E_INVALID, "%s: %s", __func__,
                           s->db != NULL ? "the session has a database" : "the table's size is too small");
    if (lacks(table) != NULL)
        return caret__null(__func__, lacks(table), "a function");
    if (s->elsewhere == table)
        return CARET_OK;
    table->enter(table->who);
    int rc = s->has_locals ? hand_over(s, table) : CARET_OK;
    table->leave(table->who);
    if (rc != CARET_OK)
        return rc;
    if (s->has_locals)
        caret__private_destroy(&s->locals);
    s->has_locals = false;
    s->elsewhere = table;
    return CARET_OK;
}
