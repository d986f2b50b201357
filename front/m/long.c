/*
 * long.c - local variables with long keys; long.h has the idea.
 */
#include "m/long.h"

#include <stdlib.h>
#include <string.h>

#include "base/key.h"

#define ROWS 20u /* a quarter of the entries of each row is in the next one: enough for 4^20 */

struct entry {
    char *value;
    size_t len, key_len;
    unsigned rows;
    struct entry *next[]; /* one for each row, and after them the key */
};

struct caret_m__long {
    struct entry *first[ROWS];
    uint64_t chance;
};

/* ------------------------------------------------------------------------ keys */

/* Room for n bytes more. */
static int reserve(struct caret_m__key *k, size_t n)
{
    if (k->cap - k->len >= n)
        return CARET_OK;
    size_t cap = k->len + n + k->len / 2;
    uint8_t *bytes = realloc(k->bytes, cap);
    if (bytes == NULL)
        return CARET_E_NOMEM;
    k->bytes = bytes;
    k->cap = cap;
    return CARET_OK;
}

static int append(struct caret_m__key *k, const void *bytes, size_t n)
{
    int rc = reserve(k, n);

    if (rc == CARET_OK && n != 0) {
        memcpy(k->bytes + k->len, bytes, n);
        k->len += n;
    }
    return rc;
}

int caret_m__key_var(struct caret_m__key *k, const char *name, size_t len)
{
    k->len = 0;
    int rc = append(k, name, len);

    return rc == CARET_OK ? append(k, "", 1) : rc;
}

int caret_m__key_child(struct caret_m__key *k, const char *sub, size_t len)
{
    int rc = reserve(k, caret__max(caret__sub_size(sub, len), 2 * CARET__SUB_NUM_MAX));

    if (rc == CARET_OK)
        k->len += caret__sub_put(k->bytes + k->len, k->cap - k->len, sub, len);
    return rc;
}

void caret_m__key_free(struct caret_m__key *k)
{
    free(k->bytes);
    *k = (struct caret_m__key){0};
}

/* Where the name ends. */
static size_t after_name(const uint8_t *key)
{
    return strlen((const char *)key) + 1;
}

/* The end of the subscript that begins there. */
static size_t after_sub(const uint8_t *key, size_t len, size_t at)
{
    return at + caret__sub_len(key + at, len - at);
}

unsigned caret_m__key_depth(const struct caret_m__key *k)
{
    unsigned depth = 0;

    for (size_t at = after_name(k->bytes); at < k->len; at = after_sub(k->bytes, k->len, at))
        depth++;
    return depth;
}

size_t caret_m__key_offset(const struct caret_m__key *k, unsigned i)
{
    size_t at = after_name(k->bytes);

    while (i-- != 0)
        at = after_sub(k->bytes, k->len, at);
    return at;
}

int caret_m__key_sub(const struct caret_m__key *k, unsigned i, char *buf, size_t cap, size_t *len)
{
    size_t at = caret_m__key_offset(k, i);
    bool is_number;

    return caret__sub_get(k->bytes + at, k->len - at, buf, cap, len, &is_number);
}

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

static int make(struct caret_m__long **list)
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

    if (list == NULL || list->first[0] == NULL || n > CARET_MAX_NAME)
        return false;
    size_t len = caret__key_put_name(key, name, n);
    return begins(find(list, key, len, NULL, NULL), key, len);
}

int caret_m__long_get(const struct caret_m__long *list, const struct caret_m__key *k, caret_slice *value)
{
    const struct entry *e = exactly(list, k, NULL);

    if (e == NULL)
        return CARET_NONE;
    *value = (caret_slice){e->value, e->len};
    return CARET_OK;
}

int caret_m__long_set(struct caret_m__long *list, const struct caret_m__key *k, const char *value, size_t len)
{
    return put(list, k->bytes, k->len, value, len);
}

void caret_m__long_delete(struct caret_m__long *list, const struct caret_m__key *k)
{
    struct entry **links[ROWS], *e = exactly(list, k, links);

    if (e != NULL)
        take_out(links, e);
}

void caret_m__long_kill(struct caret_m__long *list, const struct caret_m__key *k)
{
    struct entry **links[ROWS], *e = find(list, k->bytes, k->len, links, NULL);

    while (begins(e, k->bytes, k->len)) {
        struct entry *next = e->next[0];
        take_out(links, e);
        e = next;
    }
}

unsigned caret_m__long_data(const struct caret_m__long *list, const struct caret_m__key *k)
{
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
    return append(k, key_of(e) + n, end - n);
}

/* The first entry after k and all below it; the last before k. */
static int neighbour(const struct caret_m__long *list, struct caret_m__key *k, bool back,
                     const struct entry **found)
{
    struct entry *before, *after;
    size_t len = k->len;
    int rc = back ? CARET_OK : append(k, &(uint8_t){CARET__SUB_BEYOND}, 1);

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

    return rc == CARET_OK ? become(k, 0, e, after_name(key_of(e))) : rc;
}

int caret_m__long_sibling(const struct caret_m__long *list, struct caret_m__key *k, bool back)
{
    unsigned depth = caret_m__key_depth(k);
    const struct entry *e;
    int rc = CARET_OK;

    if (depth == 0)
        return next_name(list, k, back);
    size_t parent = caret_m__key_offset(k, depth - 1);
    if (back && k->bytes[parent] == CARET__SUB_EMPTY) { /* from beyond the last */
        k->len = parent;
        rc = append(k, &(uint8_t){CARET__SUB_BEYOND}, 1);
    }
    if (rc == CARET_OK)
        rc = neighbour(list, k, back, &e);
    if (rc != CARET_OK)
        return rc;
    if (!begins(e, k->bytes, parent) || e->key_len == parent ||
        (back && key_of(e)[parent] == CARET__SUB_EMPTY))
        return CARET_NONE;
    return become(k, parent, e, after_sub(key_of(e), e->key_len, parent));
}

int caret_m__long_step(const struct caret_m__long *list, struct caret_m__key *k, bool back)
{
    size_t name = after_name(k->bytes);
    struct entry *before, *e = find(list, k->bytes, k->len, NULL, &before);

    if (back)
        e = before;
    else if (begins(e, k->bytes, k->len) && e->key_len == k->len)
        e = e->next[0];
    return begins(e, k->bytes, name) ? become(k, name, e, e->key_len) : CARET_NONE;
}

/* ------------------------------------------------------------------- variables */

/* The key of a node. */
static int key_of_node(struct caret_m__key *k, const caret_node *n)
{
    char name[CARET_MAX_NAME + 2], sub[CARET_MAX_KEY];
    caret_slice var = caret_node_name(n, name);
    int rc = caret_m__key_var(k, var.data, var.len);
    unsigned depth = caret_node_depth(n);
    size_t len;

    for (unsigned i = 0; rc == CARET_OK && i < depth; i++) {
        rc = caret_node_subscript(n, i, sub, sizeof sub, &len, NULL);
        if (rc == CARET_OK)
            rc = caret_m__key_child(k, sub, len);
    }
    return rc;
}

/* Copy the nodes of a variable from the session to the list. */
static int copy_nodes(struct caret_m__locals *locals, const caret_node *var)
{
    struct caret_m__key k = {0};
    caret_node_buf n;
    caret_slice value;
    int rc = caret_node_copy(&n.node, sizeof n, var);

    if (rc == CARET_OK)
        rc = caret_get(locals->s, &n.node, &value);
    if (rc == CARET_NONE)
        rc = caret_node_next_get(locals->s, &n.node, &value);
    while (rc == CARET_OK) {
        rc = key_of_node(&k, &n.node);
        if (rc == CARET_OK)
            rc = caret_m__long_set(locals->more, &k, value.data, value.len);
        if (rc == CARET_OK)
            rc = caret_node_next_get(locals->s, &n.node, &value);
    }
    caret_m__key_free(&k);
    return rc == CARET_NONE ? CARET_OK : rc;
}

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
    int rc = make(&locals->more);

    if (rc != CARET_OK || caret_m__is_long(locals->more, name, len))
        return rc;
    rc = caret_node_var(&var.node, sizeof var, name, len);
    if (rc == CARET_OK)
        rc = copy_nodes(locals, &var.node);
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
    size_t n = name != NULL ? caret__key_put_name(key, name, len) : 0;
    const struct entry *e = from != NULL ? find(from, key, n, NULL, NULL) : NULL;
    int rc = CARET_OK;

    for (; rc == CARET_OK && begins(e, key, n); e = e->next[0]) {
        rc = make(to);
        if (rc == CARET_OK)
            rc = put(*to, key_of(e), e->key_len, e->value, e->len);
    }
    return rc;
}

static bool is_named(const uint8_t *key, const caret_slice *names, size_t n)
{
    size_t len = after_name(key) - 1;

    for (size_t i = 0; i < n; i++)
        if (names[i].len == len && memcmp(names[i].data, key, len) == 0)
            return true;
    return false;
}

void caret_m__long_kill_others(struct caret_m__long *list, const caret_slice *names, size_t n)
{
    uint8_t key[CARET_MAX_NAME + 2];
    const struct entry *e = list != NULL ? list->first[0] : NULL;

    while (e != NULL) {
        size_t len = after_name(key_of(e));
        memcpy(key, key_of(e), len);
        if (!is_named(key, names, n))
            caret_m__long_kill(list, &(struct caret_m__key){.bytes = key, .len = len});
        key[len] = CARET__SUB_BEYOND;
        e = find(list, key, len + 1, NULL, NULL);
    }
}

void caret_m__long_free(struct caret_m__long *list)
{
    if (list == NULL)
        return;
    caret_m__long_kill_others(list, NULL, 0);
    free(list);
}
