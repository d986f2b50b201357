/*
 * pick.c - elements by chance: pick.h.
 */
#include "server/keys/pick.h"

#include "server/codec/digest.h"
#include "server/conn.h"

enum { SMALL = 256, SPARSE = 16 }; /* a walk, up to so many elements, or from one in so many on */

static bool by_walk(const struct serve__call *q, const struct serve__key *k, uint64_t n)
{
    return k->count <= SMALL || n >= k->count / SPARSE || (k->flags & SERVE__HEAD_ODD) ||
           caret_txn_level(q->s) > 1;
}

int serve__pick_all(struct serve__call *q, const struct serve__key *k, serve__picked *each, void *arg)
{
    struct serve__fields i;
    caret_slice name, value;
    int rc = serve__fields_begin(q, &i, k);
    while (rc == CARET_OK && (rc = serve__fields_next(q, &i, &name, &value)) == CARET_OK)
        rc = each(q, arg, name, value);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Of those that are left, each is taken with the chance that it is among those still wanted. */
static int walk(struct serve__call *q, const struct serve__key *k, uint64_t n, serve__picked *each, void *arg)
{
    struct serve__fields i;
    caret_slice name, value;
    uint64_t left = k->count;
    int rc = serve__fields_begin(q, &i, k);
    for (; rc == CARET_OK && n > 0 && left > 0; left--) {
        rc = serve__fields_next(q, &i, &name, &value);
        if (rc == CARET_OK && serve__random(q->r) % left < n) {
            n--;
            rc = each(q, arg, name, value);
        }
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Has the name not been seen yet?  `seen` is a table of hashes, at most half full. */
static bool is_new(uint64_t *seen, uint64_t size, caret_slice name)
{
    uint64_t hash = caret_codec__murmur64a(name.data, name.len, 0) | 1;
    uint64_t at = (hash >> 1) & (size - 1);
    for (; seen[at] != 0; at = (at + 1) & (size - 1))
        if (seen[at] == hash)
            return false;
    seen[at] = hash;
    return true;
}

/* One by one; one that was chosen already does not count. */
static int look_up(struct serve__call *q, const struct serve__key *k, uint64_t n, serve__picked *each,
                   void *arg)
{
    struct serve__buffer *b = &q->r->scratch;
    struct serve__fields i;
    caret_slice name, value;
    uint64_t size = 4;
    while (size < 2 * n)
        size *= 2;
    b->len = 0;
    if (!serve__buffer_room(b, size * sizeof size))
        return CARET_E_NOMEM;
    memset(b->data, 0, size * sizeof size);
    int rc = CARET_OK;
    while (rc == CARET_OK && n > 0) {
        rc = serve__fields_random(q, &i, k, &name, &value);
        if (rc == CARET_OK && is_new((uint64_t *)(void *)b->data, size, name)) {
            n--;
            rc = each(q, arg, name, value);
        }
    }
    return rc;
}

int serve__pick_some(struct serve__call *q, const struct serve__key *k, uint64_t n, serve__picked *each,
                     void *arg)
{
    return by_walk(q, k, n) ? walk(q, k, n, each, arg) : look_up(q, k, n, each, arg);
}

/* ---------------------------------------------------- the same one again */

/* An element that was loaded: in q->r->work, of which q->r->scratch has the places. */
struct loaded {
    size_t at, name_len, value_len;
};

static int load(struct serve__call *q, void *arg, caret_slice name, caret_slice value)
{
    struct serve__buffer *texts = &q->r->work, *list = &q->r->scratch;
    struct loaded one = {texts->len, name.len, value.len};
    (void)arg;
    serve__buffer_add(list, &one, sizeof one);
    serve__buffer_add(texts, name.data, name.len);
    serve__buffer_add(texts, value.data, value.len);
    return list->failed || texts->failed ? CARET_E_NOMEM : CARET_OK;
}

/* Of elements that may come again there is no end: more than a string may have in Redis is refused, or a number would
 * take all memory. */
enum { MOST = 512 << 20, FRAME = 8 /* bytes of one in the answer beside its text, about */ };

/* One more, of `taken` bytes so far. */
static int add_one(struct serve__call *q, serve__picked *each, void *arg, caret_slice name, caret_slice value,
                   size_t *taken)
{
    *taken += name.len + value.len + FRAME;
    return *taken > MOST ? serve__fail(q, "ERR value is out of range") : each(q, arg, name, value);
}

static int from_loaded(struct serve__call *q, uint64_t n, serve__picked *each, void *arg)
{
    const struct loaded *list = (const struct loaded *)(void *)q->r->scratch.data;
    uint64_t count = q->r->scratch.len / sizeof *list;
    size_t taken = 0;
    int rc = CARET_OK;
    for (; rc == CARET_OK && n > 0 && count > 0 && !serve__reply_over(q); n--) {
        const struct loaded *one = &list[serve__random(q->r) % count];
        const char *text = q->r->work.data + one->at;
        rc = add_one(q, each, arg, (caret_slice){text, one->name_len},
                     (caret_slice){text + one->name_len, one->value_len}, &taken);
    }
    return rc;
}

int serve__pick_any(struct serve__call *q, const struct serve__key *k, uint64_t n, serve__picked *each,
                    void *arg)
{
    struct serve__fields i;
    caret_slice name, value;
    size_t taken = 0;
    int rc = CARET_OK;
    if (n == 1 || !by_walk(q, k, n)) {
        for (; rc == CARET_OK && n > 0 && !serve__reply_over(q); n--)
            if ((rc = serve__fields_random(q, &i, k, &name, &value)) == CARET_OK)
                rc = add_one(q, each, arg, name, value, &taken);
        return rc;
    }
    q->r->work.len = q->r->scratch.len = 0;
    rc = serve__pick_all(q, k, load, NULL);
    return rc == CARET_OK ? from_loaded(q, n, each, arg) : rc;
}
