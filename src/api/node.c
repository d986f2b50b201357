/*
 * node.c - nodes: making, moving and comparing addresses without the database, and their text.
 *
 * A node is a head of 40 bytes and its encoded key, in memory of the caller; node.h
 * has the layout.  Nothing here allocates or keeps a pointer.
 *
 * Every function that makes a node first makes sure that the result fits, in the
 * caller's memory (BUFFER) and in the limit of a key (KEY2BIG), and only then
 * writes: a call that fails leaves the node as it was, also when it is its own
 * parent.  Integers always fit where INT_MAX_BYTES are left, which makes
 * caret_node_set_last_int() little more than the encoding.
 *
 * Hints: a new node has none.  Changing the last subscript keeps the leaf as a
 * guess (CARET__HINT_LEAF), as siblings live together.
 */
#include "api/node.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/key.h"
#include "base/number.h"
#include "base/zwr.h"

/* Longest encoding of an int64: a string of 20 characters. */
#define INT_MAX_BYTES 24u

_Static_assert(CARET__KEY_MAX <= CARET_MAX_KEY, "the public limit is the largest");
_Static_assert(CARET_NODE_MAX >= sizeof(struct caret__node) + CARET__KEY_MAX + CARET__SUB_NUM_MAX,
               "any node fits");

int caret__not_a_node(const char *function, const char *argument, const caret_node *n)
{
    if (n == NULL)
        return caret__null(function, argument, "a node");
    return caret__fail(CARET_E_INVALID, "%s: %s is %s; caret_node_var() and caret_node_parse() make one",
                       function, argument,
                       caret__node_const(n)->magic != CARET__NODE_MAGIC ? "memory that holds no node"
                                                                        : "a node that was overwritten");
}

/* A node is to be made at n, of that one. */
static int check_from(const char *function, const caret_node *n, const char *argument, const caret_node *from)
{
    if (n == NULL)
        return caret__null(function, "n", "memory for a node");
    return caret__node_whole(from) ? CARET_OK : caret__not_a_node(function, argument, from);
}

/* Subscripts that no key has room for, whatever they are: not looked at. */
static int bad_subscript(const char *function, const struct caret__node *base, const char *sub, size_t len)
{
    if (!caret__bytes_ok(sub, len))
        return caret__refuse_bytes(function, "sub", sub, len);
    return caret__fail(
        CARET_E_KEY2BIG, "the key of %s%.*s with a subscript of %zu bytes; the limit of all, encoded, is %u",
        base->local ? "" : "^", base->name_len, (const char *)caret__node_key(base), len, CARET__KEY_MAX);
}

static inline bool may_be_subscript(const char *sub, size_t len)
{
    return len <= CARET__KEY_MAX && (sub != NULL || len == 0);
}

/* Room for a key in `bytes` bytes of memory. */
static inline size_t capacity(size_t bytes)
{
    if (bytes < sizeof(struct caret__node))
        return 0;
    return caret__min(bytes - sizeof(struct caret__node), UINT16_MAX);
}

static int no_room(size_t key_len, size_t bytes)
{
    return caret__fail(CARET_E_BUFFER, "a node with a key of %zu bytes takes %zu bytes, there are %zu",
                       key_len, caret_node_bytes(key_len), bytes);
}

/* A key of base's first `kept` bytes and `added` more does not fit: why? */
static int too_long(const struct caret__node *base, size_t kept, size_t added, size_t bytes)
{
    if (kept + added <= CARET__KEY_MAX)
        return no_room(kept + added, bytes);
    return caret__fail(CARET_E_KEY2BIG,
                       "the key of %s%.*s with this subscript has %zu bytes encoded, the limit is %u",
                       base->local ? "" : "^", base->name_len, (const char *)caret__node_key(base),
                       kept + added, CARET__KEY_MAX);
}

static inline size_t limit(size_t cap)
{
    return caret__min(cap, CARET__KEY_MAX);
}

/* ------------------------------------------------------------------- making */

static inline size_t node_bytes(size_t key_len)
{
    return sizeof(struct caret__node) + (size_t)caret__align_up(key_len, 8);
}

size_t caret_node_bytes(size_t key_len)
{
    /* nothing has more than that: no memory can be had of the sum */
    return key_len <= PTRDIFF_MAX ? node_bytes(key_len) : SIZE_MAX;
}

size_t caret_node_size(const caret_node *n)
{
    return caret__node_ok(n) ? node_bytes(caret__node_const(n)->key_len) : sizeof(struct caret__node);
}

int caret_node_var(caret_node *n, size_t bytes, const char *name, size_t len)
{
    struct caret__node *node = caret__node(n);
    bool local;

    if (n == NULL || name == NULL)
        return caret__null(__func__, n == NULL ? "n" : "name", n == NULL ? "memory for a node" : "a name");
    if (!caret__bytes_ok(name, len))
        return caret__refuse_bytes(__func__, "name", name, len);
    local = len == 0 || name[0] != '^';
    if (!caret__name_valid(name + !local, len - !local))
        return caret__not_a_name(name, len);
    name += !local;
    len -= !local;
    if (capacity(bytes) < len + 1)
        return no_room(len + 1, bytes);
    caret__key_put_name(caret__node_key(node), name, len);
    *node = (struct caret__node){.key_len = (uint16_t)(len + 1),
                                 .key_cap = (uint16_t)capacity(bytes),
                                 .last_off = (uint16_t)(len + 1),
                                 .name_len = (uint8_t)len,
                                 .local = local,
                                 .magic = CARET__NODE_MAGIC};
    return CARET_OK;
}

/* Make n, which may be from, a node with from's key and no hint. */
static inline void adopt(struct caret__node *n, size_t cap, const struct caret__node *from)
{
    if (n != from) {
        caret__copy_short(caret__node_key(n), caret__node_key(from), from->key_len);
        memcpy(n, from, offsetof(struct caret__node, hint));
    }
    n->key_cap = (uint16_t)cap;
    n->hint = (struct caret__hint_words){0};
}

/* The last subscript, `size` bytes at the key's end, was written. */
static inline void grow(struct caret__node *n, size_t size)
{
    n->last_off = n->key_len;
    n->key_len = (uint16_t)(n->key_len + size);
    n->depth++;
}

static int bad_parent(const char *function, const caret_node *n, const caret_node *parent)
{
    int rc = check_from(function, n, "parent", parent);

    if (rc != CARET_OK)
        return rc;
    return caret__fail(CARET_E_MAXSUBS, "a child of a node with %u subscripts would have too many",
                       CARET_MAX_SUBS);
}

static inline int check_parent(const char *function, const caret_node *n, const caret_node *parent)
{
    if (caret__likely(n != NULL && caret__node_ok(parent) &&
                      caret__node_const(parent)->depth < CARET_MAX_SUBS))
        return CARET_OK;
    return bad_parent(function, n, parent);
}

static inline __attribute__((always_inline)) int put_child(const char *function, caret_node *n, size_t bytes,
                                                           const caret_node *parent, const char *sub,
                                                           size_t len)
{
    struct caret__node *node = caret__node(n);
    const struct caret__node *base = caret__node_const(parent);
    size_t cap = capacity(bytes), size, room;
    int rc = check_parent(function, n, parent);

    if (rc != CARET_OK)
        return rc;
    if (caret__unlikely(!may_be_subscript(sub, len)))
        return bad_subscript(function, base, sub, len);
    room = limit(cap) > base->key_len ? limit(cap) - base->key_len : 0;
    if (2 * len + 2 > room) { /* perhaps too long: look closer */
        size = caret__sub_size(sub, len);
        if (size > room)
            return too_long(base, base->key_len, size, bytes);
    }
    adopt(node, cap, base);
    grow(node, caret__sub_put(caret__node_key(node) + node->key_len, room, sub, len));
    return CARET_OK;
}

int caret_node_child(caret_node *n, size_t bytes, const caret_node *parent, const char *sub, size_t len)
{
    return put_child(__func__, n, bytes, parent, sub, len);
}

/* Where few bytes are left: encoded aside. */
static int child_int_tight(caret_node *n, size_t bytes, const caret_node *parent, int64_t sub)
{
    const struct caret__node *base = caret__node_const(parent);
    size_t cap = capacity(bytes), size;
    uint8_t code[INT_MAX_BYTES];
    int rc = check_parent("caret_node_child_int", n, parent);

    if (rc != CARET_OK)
        return rc;
    size = caret__sub_put_i64(code, sizeof code, sub);
    if (base->key_len + size > limit(cap))
        return too_long(base, base->key_len, size, bytes);
    adopt(caret__node(n), cap, base);
    caret__copy_short(caret__node_key(caret__node(n)) + base->key_len, code, size);
    grow(caret__node(n), size);
    return CARET_OK;
}

int caret_node_child_int(caret_node *n, size_t bytes, const caret_node *parent, int64_t sub)
{
    struct caret__node *node = caret__node(n);
    const struct caret__node *base = caret__node_const(parent);
    size_t cap = capacity(bytes);

    if (caret__unlikely(n == NULL || !caret__node_ok(parent) || base->depth >= CARET_MAX_SUBS ||
                        base->key_len + CARET__SUB_SHORT > limit(cap) || !caret__sub_short(sub)))
        return child_int_tight(n, bytes, parent, sub);
    adopt(node, cap, base);
    grow(node, caret__sub_put_i64(caret__node_key(node) + node->key_len, CARET__SUB_SHORT, sub));
    return CARET_OK;
}

int caret_node_child_double(caret_node *n, size_t bytes, const caret_node *parent, double sub)
{
    char text[CARET__NUM_MAX];

    if (!isfinite(sub))
        return caret__fail(CARET_E_INVALID, "%s: %s is not a subscript; a finite number is expected",
                           __func__, isnan(sub) ? "NaN" : "an infinity");
    return put_child(__func__, n, bytes, parent, text, caret__double_format(sub, text));
}

/* ---------------------------------------------------------- last subscript */

static int check_last(const char *function, const caret_node *n)
{
    if (!caret__node_whole(n))
        return caret__not_a_node(function, "n", n);
    if (caret__node_const(n)->depth == 0)
        return caret__fail(CARET_E_INVALID, "%s%s has no subscript to change",
                           caret__node_const(n)->local ? "" : "^",
                           (const char *)caret__node_key(caret__node_const(n)));
    return CARET_OK;
}

static int set_last(const char *function, caret_node *n, const char *sub, size_t len)
{
    struct caret__node *node = caret__node(n);
    size_t room, size;
    int rc = check_last(function, n);

    if (rc != CARET_OK)
        return rc;
    if (!may_be_subscript(sub, len))
        return bad_subscript(function, node, sub, len);
    room = limit(node->key_cap) - node->last_off;
    if (2 * len + 2 > room) {
        size = caret__sub_size(sub, len);
        if (size > room)
            return too_long(node, node->last_off, size, node->key_cap + sizeof *node);
    }
    size = caret__sub_put(caret__node_key(node) + node->last_off, room, sub, len);
    node->key_len = (uint16_t)(node->last_off + size);
    caret__hint_drop(node);
    return CARET_OK;
}

int caret_node_set_last(caret_node *n, const char *sub, size_t len)
{
    return set_last(__func__, n, sub, len);
}

static __attribute__((noinline, cold)) int set_last_int_slow(caret_node *n, int64_t sub)
{
    char text[INT_MAX_BYTES];

    return set_last("caret_node_set_last_int", n, text, caret__i64_format(sub, text));
}

int caret_node_set_last_int(caret_node *n, int64_t sub)
{
    struct caret__node *node = caret__node(n);
    size_t size;

    if (caret__unlikely(!caret__node_ok(n) || node->depth == 0 ||
                        node->last_off + INT_MAX_BYTES > limit(node->key_cap)))
        return set_last_int_slow(n, sub);
    size = caret__sub_put_i64(caret__node_key(node) + node->last_off, INT_MAX_BYTES, sub);
    node->key_len = (uint16_t)(node->last_off + size);
    caret__hint_drop(node);
    return CARET_OK;
}

static __attribute__((noinline)) int last_as_any_int(const struct caret__node *n, int64_t *out)
{
    return caret__sub_get_i64(caret__node_key(n) + n->last_off, (size_t)n->key_len - n->last_off, out);
}

/* A loop over numbers asks at each step: what most of them are is seen without a call. */
__attribute__((flatten)) int caret_node_last_as_int(const caret_node *n, int64_t *out)
{
    const struct caret__node *node = caret__node_const(n);
    int64_t unwanted;

    if (!caret__node_ok(n) || node->depth == 0 || node->last_off > node->key_len)
        return 0;
    const uint8_t *sub = caret__node_key(node) + node->last_off;
    size_t len = (size_t)node->key_len - node->last_off;
    if (out == NULL)
        out = &unwanted;
    if (len >= 3 && node->key_cap >= node->last_off + 5u && caret__sub_get_small(sub, len, out))
        return 1;
    return last_as_any_int(node, out);
}

/* ----------------------------------------------------- from and to other nodes */

int caret_node_parent(caret_node *n, size_t bytes, const caret_node *child)
{
    const struct caret__node *from = caret__node_const(child);
    int rc = check_from(__func__, n, "child", child);

    if (rc != CARET_OK)
        return rc;
    if (from->depth == 0)
        return caret__fail(CARET_E_INVALID, "%s%s is a variable and has no parent", from->local ? "" : "^",
                           (const char *)caret__node_key(from));
    return caret__node_make(n, bytes, from->local, caret__node_key(from), from->last_off);
}

int caret_node_copy(caret_node *n, size_t bytes, const caret_node *from)
{
    const struct caret__node *source = caret__node_const(from);
    size_t cap = capacity(bytes);

    if (caret__unlikely(n == NULL || !caret__node_ok(from)))
        return check_from(__func__, n, "from", from);
    if (cap < source->key_len)
        return no_room(source->key_len, bytes);
    struct caret__node head; /* the hint may change meanwhile: another thread reads through `from` */
    memcpy(&head, from, offsetof(struct caret__node, hint));
    head.key_cap = (uint16_t)cap;
    caret__hint_put(&head, caret__hint_get(source));
    memmove(caret__node_key(caret__node(n)), caret__node_key(source), head.key_len);
    memcpy(n, &head, sizeof head);
    return CARET_OK;
}

/* Set what describes the key, given that it is in place or will be. */
static int describe(struct caret__node *n, const uint8_t *key, size_t key_len)
{
    size_t last_off;
    int depth = caret__key_depth(key, key_len, &last_off);

    if (depth < 0 || depth > (int)CARET_MAX_SUBS || key_len > CARET__KEY_MAX)
        return caret__fail(CARET_E_CORRUPT, "%zu bytes that should be an encoded key are not one", key_len);
    n->key_len = (uint16_t)key_len;
    n->last_off = (uint16_t)last_off;
    n->name_len = (uint8_t)caret__key_name_len(key, key_len);
    n->depth = (uint8_t)depth;
    return CARET_OK;
}

int caret__node_make(caret_node *n, size_t bytes, bool local, const uint8_t *key, size_t key_len)
{
    struct caret__node head = {
        .key_cap = (uint16_t)capacity(bytes), .local = local, .magic = CARET__NODE_MAGIC};
    int rc = describe(&head, key, key_len);

    if (rc != CARET_OK)
        return rc;
    if (head.key_cap < key_len)
        return no_room(key_len, bytes);
    memmove(caret__node_key(caret__node(n)), key, key_len);
    *caret__node(n) = head;
    return CARET_OK;
}

int caret__node_take_key(struct caret__node *n, const uint8_t *key, size_t key_len)
{
    int rc;

    if (key_len > n->key_cap)
        return no_room(key_len, n->key_cap + sizeof *n);
    rc = describe(n, key, key_len);
    if (rc != CARET_OK)
        return rc;
    memmove(caret__node_key(n), key, key_len);
    caret__hint_drop(n);
    return CARET_OK;
}

/* ------------------------------------------------------------------ looking */

unsigned caret_node_depth(const caret_node *n)
{
    return caret__node_ok(n) ? caret__node_const(n)->depth : 0;
}

int caret_node_is_local(const caret_node *n)
{
    return caret__node_ok(n) && caret__node_const(n)->local;
}

int caret_node_equal(const caret_node *a, const caret_node *b)
{
    const struct caret__node *x = caret__node_const(a), *y = caret__node_const(b);

    return caret__node_ok(a) && caret__node_ok(b) && x->local == y->local && x->key_len == y->key_len &&
           memcmp(caret__node_key(x), caret__node_key(y), x->key_len) == 0;
}

int caret_node_is_child(const caret_node *n, const caret_node *parent)
{
    const struct caret__node *x = caret__node_const(n), *y = caret__node_const(parent);

    return caret__node_ok(n) && caret__node_ok(parent) && x->local == y->local && x->depth == y->depth + 1 &&
           x->last_off == y->key_len && x->key_len >= y->key_len &&
           memcmp(caret__node_key(x), caret__node_key(y), y->key_len) == 0;
}

int caret_node_compare(const caret_node *a, const caret_node *b)
{
    const struct caret__node *x = caret__node_const(a), *y = caret__node_const(b);

    if (!caret__node_ok(a) || !caret__node_ok(b))
        return caret__node_ok(a) - caret__node_ok(b);
    if (x->local != y->local)
        return x->local ? -1 : 1;
    return caret__bytes_compare(caret__node_key(x), x->key_len, caret__node_key(y), y->key_len);
}

caret_slice caret_node_name(const caret_node *n, char buf[CARET_MAX_NAME + 2])
{
    const struct caret__node *node = caret__node_const(n);
    size_t at = 0;

    if (buf == NULL)
        return (caret_slice){"", 0};
    if (caret__node_whole(n)) {
        if (!node->local)
            buf[at++] = '^';
        memcpy(buf + at, caret__node_key(node), node->name_len);
        at += node->name_len;
    }
    buf[at] = '\0';
    return (caret_slice){buf, at};
}

/* Offset of subscript i < depth. */
static size_t find_sub(const struct caret__node *n, unsigned i)
{
    const uint8_t *key = caret__node_key(n);
    size_t at = n->name_len + 1u;

    if (i + 1u == n->depth)
        return n->last_off;
    for (; i > 0 && at < n->key_len; i--)
        at += caret__sub_len(key + at, n->key_len - at);
    return at;
}

int caret_node_subscript(const caret_node *n, unsigned i, char *buf, size_t cap, size_t *len, int *is_number)
{
    const struct caret__node *node = caret__node_const(n);
    bool number;
    size_t at;
    int rc;

    if (len == NULL)
        return caret__null(__func__, "len", "a place for the length");
    *len = 0;
    if (!caret__node_whole(n))
        return caret__not_a_node(__func__, "n", n);
    if (!caret__bytes_ok(buf, cap))
        return caret__refuse_bytes(__func__, "buf", buf, cap);
    if (i >= node->depth)
        return caret__fail(CARET_E_INVALID, "%s: i is %u; the node has %u subscripts, from 0 on", __func__, i,
                           node->depth);
    at = find_sub(node, i);
    if (at >= node->key_len)
        return caret__not_a_node(__func__, "n", n);
    rc = caret__sub_get(caret__node_key(node) + at, node->key_len - at, buf, cap, len, &number);
    if (is_number != NULL)
        *is_number = number;
    if (rc == CARET_E_BUFFER)
        return caret__fail(rc, "the subscript has %zu bytes, the buffer %zu", *len, cap);
    return rc == CARET_OK ? rc : caret__fail(rc, "subscript %u of the node is damaged", i);
}

/* ------------------------------------------------------- ZWR text: base/zwr.h */

/* Text in, and room for what comes out. */
static int bytes_check(const char *function, const void *in, size_t n, const char *buf, size_t cap)
{
    if (!caret__bytes_ok(in, n))
        return caret__refuse_bytes(function, "in", in, n);
    return caret__bytes_ok(buf, cap) ? CARET_OK : caret__refuse_bytes(function, "buf", buf, cap);
}

/* The same, and its length. */
static int text_check(const char *function, const void *in, size_t n, const char *buf, size_t cap,
                      const size_t *len)
{
    int rc = bytes_check(function, in, n, buf, cap);

    if (rc != CARET_OK)
        return rc;
    return len != NULL ? CARET_OK : caret__null(function, "len", "a place for the length");
}

int caret_str2zwr(const void *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    int rc = text_check(__func__, in, n, buf, cap, len);

    if (rc != CARET_OK)
        return rc;
    return caret__zwr_put(in, n, utf8 != 0, buf, cap, len);
}

int caret_zwr2str(const char *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    int rc = text_check(__func__, in, n, buf, cap, len);

    if (rc != CARET_OK)
        return rc;
    return caret__zwr_get(in, n, utf8 != 0, buf, cap, len);
}

int caret_shown(const void *in, size_t n, size_t most, char quote, char *buf, size_t cap)
{
    struct caret__shown shown;
    int rc = bytes_check(__func__, in, n, buf, cap);

    _Static_assert(sizeof shown.text == CARET_SHOWN_SIZE, "room for any");
    if (rc != CARET_OK)
        return rc;
    size_t len =
        strlen(caret__shown(&shown, in, n, most < CARET__SHOWN_MOST ? most : CARET__SHOWN_MOST, quote)) + 1;
    if (len > cap)
        return caret__fail(CARET_E_BUFFER, "%s: %zu bytes are needed, buf has %zu", __func__, len, cap);
    memcpy(buf, shown.text, len);
    return CARET_OK;
}

int caret_node_zwr(const caret_node *n, int utf8, char *buf, size_t cap, size_t *len)
{
    const struct caret__node *node = caret__node_const(n);
    int rc = text_check(__func__, "", 0, buf, cap, len);

    if (rc == CARET_OK && !caret__node_whole(n))
        rc = caret__not_a_node(__func__, "n", n);
    if (rc != CARET_OK)
        return rc;
    return caret__zwr_put_key(caret__node_key(node), node->key_len, node->local, utf8 != 0, buf, cap, len);
}

int caret_node_parse(caret_node *n, size_t bytes, const char *text, size_t len, int utf8)
{
    uint8_t key[CARET__KEY_MAX];
    size_t key_len;
    bool local;
    int rc;

    if (n == NULL)
        return caret__null(__func__, "n", "memory for a node");
    if (!caret__bytes_ok(text, len))
        return caret__refuse_bytes(__func__, "text", text, len);
    rc = caret__zwr_get_key(text != NULL ? text : "", len, utf8 != 0, key, &key_len, &local);
    return rc == CARET_OK ? caret__node_make(n, bytes, local, key, key_len) : rc;
}
