/*
 * long.c - local variables with long keys; long.h has the idea.
 */
#include "m/long.h"

#include <stdlib.h>
#include <string.h>

#include "base/key.h"
#include "m/long_table.h"

#define ROWS 20u /* a quarter of the entries of each row is in the next one: enough for 4^20 */

struct entry {
    char *value;
    size_t len, key_len;
    unsigned rows;
    struct entry *next[]; /* one for each row, and after them the key */
};

struct caret_m__long {
    const caret_locals *table; /* NULL: they are here */
    struct entry *first[ROWS];
    uint64_t chance;
};

/* -------------------------------------------------------------------- the list */

static const uint8_t *key_of(const struct entry *e)
{
    return (const uint8_t *)&e->next[e->rows];
}

/* Does the entry come before that key; do these bytes begin it? */
static bool comes_before(const struct entry *e, const uint8_t *key, size_t len)
{
    int order = memcmp(key_of(e), key, caret__min(e->key_len, len));

    return order < 0 || (order == 0 && e->key_len < len);
}

static bool begins(const struct entry *e, const uint8_t *key, size_t len)
{
    return e != NULL && e->key_len >= len && memcmp(key_of(e), key, len) == 0;
}

/*
 * The first entry that does not come before the key.  `links`, unless NULL: in each row what leads there, for whoever
 * adds or removes entries; `last`, unless NULL: the entry before.
 */
static struct entry *find(const struct caret_m__long *list, const uint8_t *key, size_t len,
                          struct entry **links[ROWS], struct entry **last)
{
    struct entry *const *row = list->first;
    struct entry *before = NULL;

    for (unsigned i = ROWS; i-- != 0;) {
        while (row[i] != NULL && comes_before(row[i], key, len)) {
            before = row[i];
            row = before->next;
        }
        if (links != NULL)
            links[i] = (struct entry **)&row[i];
    }
    if (last != NULL)
        *last = before;
    return row[0];
}

static struct entry *exactly(const struct caret_m__long *list, const struct caret_m__key *k,
                             struct entry **links[ROWS])
{
    struct entry *e = find(list, k->bytes, k->len, links, NULL);

    return begins(e, k->bytes, k->len) && e->key_len == k->len ? e : NULL;
}

/* A node is in one row, and with a chance of a quarter each in one more. */
static unsigned chance_of_rows(struct caret_m__long *list)
{
    uint64_t x = list->chance;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    list->chance = x;
    unsigned rows = 1 + (unsigned)__builtin_ctzll(x | UINT64_C(1) << 63) / 2;
    return rows < ROWS ? rows : ROWS;
}

static int put_value(struct entry *e, const char *value, size_t len)
{
    char *copy = malloc(len != 0 ? len : 1);

    if (copy == NULL)
        return CARET_E_NOMEM;
    if (len != 0)
        memcpy(copy, value, len);
    free(e->value);
    e->value = copy;
    e->len = len;
    return CARET_OK;
}

static struct entry *new_entry(const uint8_t *key, size_t key_len, unsigned rows, const char *value,
                               size_t len)
{
    struct entry *e = malloc(sizeof *e + rows * sizeof e->next[0] + key_len);

    if (e == NULL)
        return NULL;
    *e = (struct entry){.key_len = key_len, .rows = rows};
    memcpy(&e->next[rows], key, key_len);
    if (put_value(e, value, len) == CARET_OK)
        return e;
    free(e);
    return NULL;
}

static int put(struct caret_m__long *list, const uint8_t *key, size_t key_len, const char *value, size_t len)
{
    const struct caret_m__key k = {.bytes = (uint8_t *)key, .len = key_len};
    struct entry **links[ROWS], *e = exactly(list, &k, links);

    if (e != NULL)
        return put_value(e, value, len);
    e = new_entry(key, key_len, chance_of_rows(list), value, len);
    if (e == NULL)
        return CARET_E_NOMEM;
    for (unsigned i = 0; i < e->rows; i++) {
        e->next[i] = *links[i];
        *links[i] = e;
    }
    return CARET_OK;
}

/* The entry that all rows of `links` lead to goes. */
static void take_out(struct entry **links[ROWS], struct entry *e)
{
    for (unsigned i = 0; i < e->rows; i++)
        *links[i] = e->next[i];
    free(e->value);
    free(e);
}

int caret_m__long_make(struct caret_m__long **list)
{
    if (*list != NULL)
        return CARET_OK;
    *list = calloc(1, sizeof **list);
    if (*list == NULL)
        return CARET_E_NOMEM;
    (*list)->chance = UINT64_C(0x9E3779B97F4A7C15);
    return CARET_OK;
}

/* ----------------------------------------------------------------------- nodes */

bool caret_m__is_long(const struct caret_m__long *list, const char *name, size_t n)
{
    uint8_t key[CARET_MAX_NAME + 1];

    if (list != NULL && list->table != NULL)
        return true;
    if (list == NULL || list->first[0] == NULL || n > CARET_MAX_NAME)
        return false;
    size_t len = caret__key_put_name(key, name, n);
    return begins(find(list, key, len, NULL, NULL), key, len);
}

int caret_m__long_get(const struct caret_m__long *list, const struct caret_m__key *k, caret_slice *value)
{
    if (list->table != NULL)
        return caret_m__table_get(list->table, k, value);
    const struct entry *e = exactly(list, k, NULL);
    if (e == NULL)
        return CARET_NONE;
    *value = (caret_slice){e->value, e->len};
    return CARET_OK;
}

int caret_m__long_set(struct caret_m__long *list, const struct caret_m__key *k, const char *value, size_t len)
{
    return list->table != NULL ? caret_m__table_set(list->table, k, value, len)
                               : put(list, k->bytes, k->len, value, len);
}

void caret_m__long_delete(struct caret_m__long *list, const struct caret_m__key *k)
{
    if (list->table != NULL)
        return caret_m__table_kill(list->table, k, false);
    struct entry **links[ROWS], *e = exactly(list, k, links);
    if (e != NULL)
        take_out(links, e);
}

void caret_m__long_kill(struct caret_m__long *list, const struct caret_m__key *k)
{
    if (list->table != NULL)
        return caret_m__table_kill(list->table, k, true);
    struct entry **links[ROWS], *e = find(list, k->bytes, k->len, links, NULL);
    while (begins(e, k->bytes, k->len)) {
        struct entry *next = e->next[0];
        take_out(links, e);
        e = next;
    }
}

unsigned caret_m__long_data(const struct caret_m__long *list, const struct caret_m__key *k)
{
    if (list->table != NULL)
        return caret_m__table_data(list->table, k);
    const struct entry *e = find(list, k->bytes, k->len, NULL, NULL);
    unsigned data = 0;
    if (begins(e, k->bytes, k->len) && e->key_len == k->len) {
        data = 1;
        e = e->next[0];
    }
    return begins(e, k->bytes, k->len) ? data + 10 : data;
}

/* ---------------------------------------------------------------------- moving */

/* The first n bytes of k, and then the part of the entry's key up to `end`. */
static int become(struct caret_m__key *k, size_t n, const struct entry *e, size_t end)
{
    k->len = n;
    return caret_m__key_append(k, key_of(e) + n, end - n);
}

/* The first entry after k and all below it; the last before k. */
static int neighbour(const struct caret_m__long *list, struct caret_m__key *k, bool back,
                     const struct entry **found)
{
    struct entry *before, *after;
    size_t len = k->len;
    int rc = back ? CARET_OK : caret_m__key_append(k, &(uint8_t){CARET__SUB_BEYOND}, 1);

    if (rc != CARET_OK)
        return rc;
    after = find(list, k->bytes, k->len, NULL, &before);
    k->len = len;
    *found = back ? before : after;
    return *found != NULL ? CARET_OK : CARET_NONE;
}

static int next_name(const struct caret_m__long *list, struct caret_m__key *k, bool back)
{
    const struct entry *e;
    int rc = neighbour(list, k, back, &e);

    return rc == CARET_OK ? become(k, 0, e, caret_m__key_after_name(key_of(e))) : rc;
}

int caret_m__long_sibling(const struct caret_m__long *list, struct caret_m__key *k, bool back)
{
    unsigned depth = caret_m__key_depth(k);
    const struct entry *e;
    int rc = CARET_OK;

    if (list->table != NULL)
        return caret_m__table_sibling(list->table, k, back);
    if (depth == 0)
        return next_name(list, k, back);
    size_t parent = caret_m__key_offset(k, depth - 1);
    if (back && k->bytes[parent] == CARET__SUB_EMPTY) { /* from beyond the last */
        k->len = parent;
        rc = caret_m__key_append(k, &(uint8_t){CARET__SUB_BEYOND}, 1);
    }
    if (rc == CARET_OK)
        rc = neighbour(list, k, back, &e);
    if (rc != CARET_OK)
        return rc;
    if (!begins(e, k->bytes, parent) || e->key_len == parent ||
        (back && key_of(e)[parent] == CARET__SUB_EMPTY))
        return CARET_NONE;
    return become(k, parent, e, caret_m__key_after_sub(key_of(e), e->key_len, parent));
}

int caret_m__long_step(const struct caret_m__long *list, struct caret_m__key *k, bool back)
{
    if (list->table != NULL)
        return caret_m__table_step(list->table, k, back);
    size_t name = caret_m__key_after_name(k->bytes);
    struct entry *before, *e = find(list, k->bytes, k->len, NULL, &before);
    if (back)
        e = before;
    else if (begins(e, k->bytes, k->len) && e->key_len == k->len)
        e = e->next[0];
    return begins(e, k->bytes, name) ? become(k, name, e, e->key_len) : CARET_NONE;
}

/* ------------------------------------------------------------------- variables */

void caret_m__long_kill_var(struct caret_m__long *list, const char *name, size_t len)
{
    uint8_t key[CARET_MAX_NAME + 1];
    const struct caret_m__key k = {.bytes = key, .len = caret__key_put_name(key, name, len)};

    if (list != NULL)
        caret_m__long_kill(list, &k);
}

int caret_m__lengthen(struct caret_m__locals *locals, const char *name, size_t len)
{
    caret_node_buf var;
    int rc = caret_m__long_make(&locals->more);

    if (rc != CARET_OK || caret_m__is_long(locals->more, name, len))
        return rc;
    rc = caret_node_var(&var.node, sizeof var, name, len);
    if (rc == CARET_OK)
        rc = caret_m__long_take_var(locals->more, locals->s, &var.node);
    if (rc == CARET_OK)
        rc = caret_kill(locals->s, &var.node);
    if (rc != CARET_OK)
        caret_m__long_kill_var(locals->more, name, len);
    return rc;
}

int caret_m__long_copy(const struct caret_m__long *from, struct caret_m__long **to, const char *name,
                       size_t len)
{
    uint8_t key[CARET_MAX_NAME + 1];
    if (from != NULL && from->table != NULL)
        return caret_m__table_copy(from->table, to, name, len);
    size_t n = name != NULL ? caret__key_put_name(key, name, len) : 0;
    const struct entry *e = from != NULL ? find(from, key, n, NULL, NULL) : NULL;
    int rc = CARET_OK;

    for (; rc == CARET_OK && begins(e, key, n); e = e->next[0]) {
        rc = caret_m__long_make(to);
        if (rc == CARET_OK)
            rc = caret_m__long_set(*to, &(struct caret_m__key){(uint8_t *)key_of(e), e->key_len, 0}, e->value,
                                   e->len);
    }
    return rc;
}

void caret_m__long_kill_others(struct caret_m__long *list, const caret_slice *names, size_t n)
{
    uint8_t key[CARET_MAX_NAME + 2];
    if (list != NULL && list->table != NULL)
        return caret_m__table_kill_others(list->table, names, n);
    const struct entry *e = list != NULL ? list->first[0] : NULL;

    while (e != NULL) {
        size_t len = caret_m__key_after_name(key_of(e));
        memcpy(key, key_of(e), len);
        if (!caret_m__is_named(key, len - 1, names, n))
            caret_m__long_kill(list, &(struct caret_m__key){.bytes = key, .len = len});
        key[len] = CARET__SUB_BEYOND;
        e = find(list, key, len + 1, NULL, NULL);
    }
}

void caret_m__long_free(struct caret_m__long *list)
{
    if (list != NULL && list->table == NULL)
        caret_m__long_kill_others(list, NULL, 0);
    free(list);
}

int caret_m__long_elsewhere(struct caret_m__locals *locals, const caret_locals *table)
{
    struct caret_m__long *there = NULL;
    int rc = caret_m__long_make(&there);

    if (rc != CARET_OK)
        return rc;
    there->table = table;
    if (locals->s != NULL)
        rc = caret_m__long_take(there, locals->s);
    if (rc == CARET_OK)
        rc = caret_m__long_copy(locals->more, &there, NULL, 0);
    if (rc != CARET_OK) {
        caret_m__long_free(there);
        return rc;
    }
    caret_m__long_free(locals->more);
    caret_session_close(locals->s);
    *locals = (struct caret_m__locals){.more = there};
    return CARET_OK;
}
