/*
 * scan.c - walking keys in order, forwards and backwards, without a lock.
 *
 * Inside a leaf a step is the next slot.  Leaves have no siblings or fences: at
 * the end of a leaf the tree is descended once more for the last key, noting the
 * separators that bound the leaf; the walk goes on at the upper one (downwards:
 * before the lower one).  Two descents per leaf are a few nanoseconds per key, and
 * no page ever has to know its neighbours.
 *
 * Every leaf looked at goes into the read set of a transaction, also the one where
 * nothing was found: there are no phantoms.
 */
#include "base/key.h"
#include "tree/tree.h"

/* Copy the key at at->pos, validate, note.  CARET_NONE here: the leaf changed, seek again. */
static int take_key(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    uint8_t buf[CARET__KEY_MAX];
    unsigned n = caret__page_key(at->page, at->pos, buf);

    if (!caret__at_valid(v, at))
        return CARET_NONE;
    if (n == 0)
        return caret__corrupt_page(v->pg, at->pgno, "a key is too long");
    memcpy(key, buf, n);
    *len = n;
    at->found = true;
    return caret__walk_note(v, at);
}

/*
 * The first key at or after the place, or back: the last before it, leaf by leaf until one has one.  Always inline:
 * each way is code of its own, as if it stood there twice.
 */
static inline __attribute__((always_inline)) int over_leaves(struct caret__view *v, struct caret__at *at,
                                                             uint8_t *key, size_t *len, bool back)
{
    struct caret__range range;
    uint8_t from[CARET__PLACE_MAX];
    size_t from_len = *len;

    memcpy(from, key, from_len);
    for (;;) {
        int rc = back ? caret__seek_before(v, from, from_len, at, &range)
                      : caret__seek_range(v, from, from_len, at, &range);
        if (rc != CARET_OK)
            return rc;
        if (back ? at->pos > 0 : at->pos < caret__page_count(at->page)) {
            at->pos -= back;
            rc = take_key(v, at, key, len);
            if (rc != CARET_NONE)
                return rc;
            continue;
        }
        if (!caret__at_valid(v, at))
            continue;
        rc = caret__walk_note(v, at);
        if (rc != CARET_OK)
            return rc;
        from_len = back ? range.lower_len : range.upper_len;
        if (from_len == 0)
            return CARET_NONE;
        memcpy(from, back ? range.lower : range.upper, from_len);
    }
}

/* From a leaf position at or after the end: the first key of the next leaf that has one. */
static int next_leaf(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    return over_leaves(v, at, key, len, false);
}

int caret__scan_from(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    for (;;) {
        int rc = caret__seek(v, key, *len, at);
        if (rc != CARET_OK)
            return rc;
        if (at->pos >= caret__page_count(at->page))
            return next_leaf(v, at, key, len);
        rc = take_key(v, at, key, len);
        if (rc != CARET_NONE)
            return rc;
    }
}

/* Is the page still where it was?  A private store that grew has moved. */
static bool stays(const struct caret__view *v, const struct caret__at *at)
{
    return v->pg->shared || (const uint8_t *)at->page == v->pg->arena + (size_t)at->pgno * CARET__PAGE_SIZE;
}

int caret__scan_next(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    if (at->pgno != 0 && at->found && stays(v, at) && at->pos + 1 < caret__page_count(at->page)) {
        at->pos++;
        int rc = take_key(v, at, key, len);
        if (rc != CARET_NONE)
            return rc;
    }
    uint8_t from[CARET__PLACE_MAX];
    size_t from_len = *len;
    memcpy(from, key, from_len);
    caret__key_after(from, &from_len);
    int rc = caret__scan_from(v, at, from, &from_len);
    if (rc == CARET_OK) {
        memcpy(key, from, from_len);
        *len = from_len;
    }
    return rc;
}

int caret__scan_before(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    return over_leaves(v, at, key, len, true);
}
