/*
 * spans.c - a set of spans of keys: what was killed.
 *
 *     keys    a   b   c   d   e   f   g   h
 *     set         [-------)       [---)            in a private tree: b -> d, f -> g
 *     find    -   b   b   -   -   f   -   -        the last that begins at or before the key, if it ends after it
 *     add                 [-----------)            begins where the set has d: adjacent spans stay two
 *             [-----------)                        overlaps: becomes one with [b, d), and begins and ends
 *                                                  where the outermost of them do
 *
 * So spans of the set never overlap, and one search tells of a key.  Subtrees lie in each other or apart: a kill of a
 * node becomes one with kills below it, and with nothing else.
 *
 * Adding notes all entries that will change, then sets the one that is to be, which may fail; to take out those that it
 * has overlapped can't.
 */
#include "tree/spans.h"

#include "base/error.h"

static struct caret__view view_of(struct caret__spans *t)
{
    return (struct caret__view){.pg = &t->at.pg};
}

/* The span of the entry that one->lo has come to. */
static bool take(struct caret__one_span *one, size_t lo_len)
{
    struct caret__entry e = caret__page_entry(one->at.page, one->at.pos);
    size_t hi_len;
    const uint8_t *hi;

    caret__private_value(&e, &hi, &hi_len);
    one->span = (struct caret__span){one->lo, hi, lo_len, hi_len};
    return true;
}

bool caret__spans_from(struct caret__spans *t, const uint8_t *key, size_t len, struct caret__one_span *found)
{
    struct caret__view v = view_of(t);

    if (!t->there)
        return false;
    memcpy(found->lo, key, len);
    return caret__scan_from(&v, &found->at, found->lo, &len) == CARET_OK && take(found, len);
}

bool caret__spans_next(struct caret__spans *t, struct caret__one_span *found)
{
    struct caret__view v = view_of(t);
    size_t len = found->span.lo_len;

    return caret__scan_next(&v, &found->at, found->lo, &len) == CARET_OK && take(found, len);
}

/* The last span that begins at or before the key. */
static bool at_or_before(struct caret__spans *t, const uint8_t *key, size_t len,
                         struct caret__one_span *found)
{
    struct caret__view v = view_of(t);

    if (!t->there || caret__seek(&v, key, len, &found->at) != CARET_OK)
        return false;
    if (found->at.found || found->at.pos > 0) {
        found->at.pos -= !found->at.found;
        return take(found, caret__page_key(found->at.page, found->at.pos, found->lo));
    }
    memcpy(found->lo, key, len);
    return caret__scan_before(&v, &found->at, found->lo, &len) == CARET_OK && take(found, len);
}

bool caret__spans_find(struct caret__spans *t, const uint8_t *key, size_t len, struct caret__one_span *found)
{
    return at_or_before(t, key, len, found) &&
           caret__bytes_compare(key, len, found->span.hi, found->span.hi_len) < 0;
}

bool caret__spans_touch(struct caret__spans *t, const struct caret__span *s)
{
    struct caret__one_span one;

    if (caret__spans_find(t, s->lo, s->lo_len, &one))
        return true;
    return caret__spans_from(t, s->lo, s->lo_len, &one) && caret__span_has(s, one.lo, one.span.lo_len);
}

/* --------------------------------------------------------------------- adding */

/* The next span that begins after s->lo, and before s->hi. */
static bool next_within(struct caret__spans *t, const struct caret__span *s, struct caret__one_span *one,
                        bool first)
{
    uint8_t from[CARET__PLACE_MAX];
    size_t len = s->lo_len;
    bool more;

    if (first) {
        memcpy(from, s->lo, len);
        caret__key_after(from, &len);
        more = caret__spans_from(t, from, len, one);
    } else {
        more = caret__spans_next(t, one);
    }
    return more && caret__span_has(s, one->lo, one->span.lo_len);
}

/* Let `all` reach as far as the spans that begin within it, and note what will change. */
static int gather(struct caret__spans *t, struct caret__span *all, uint8_t *end, caret__spans_note *note,
                  void *ctx)
{
    struct caret__one_span one;
    struct caret__span within = *all;
    int rc = note != NULL ? note(ctx, &t->at, all->lo, all->lo_len) : CARET_OK;

    for (bool more = next_within(t, &within, &one, true); more && rc == CARET_OK;
         more = next_within(t, &within, &one, false)) {
        if (caret__bytes_compare(one.span.hi, one.span.hi_len, all->hi, all->hi_len) > 0) {
            memcpy(end, one.span.hi, one.span.hi_len);
            all->hi = end;
            all->hi_len = one.span.hi_len;
        }
        if (note != NULL)
            rc = note(ctx, &t->at, one.lo, one.span.lo_len);
    }
    return rc;
}

static int begin(struct caret__spans *t)
{
    int rc = t->there ? CARET_OK : caret__private_init(&t->at);

    t->there = rc == CARET_OK;
    return rc;
}

int caret__spans_add(struct caret__spans *t, const struct caret__span *s, caret__spans_note *note, void *ctx)
{
    CARET__ASSERT_CMP(s->lo_len, <=, CARET__KEY_MAX);
    struct caret__one_span before, one;
    struct caret__span all = *s;
    uint8_t end[CARET__PLACE_MAX];
    int rc = begin(t);

    if (rc != CARET_OK)
        return rc;
    if (caret__spans_find(t, s->lo, s->lo_len, &before)) {
        if (caret__bytes_compare(before.span.hi, before.span.hi_len, s->hi, s->hi_len) >= 0)
            return CARET_OK;
        all.lo = before.lo;
        all.lo_len = before.span.lo_len;
    }
    rc = gather(t, &all, end, note, ctx);
    if (rc == CARET_OK)
        rc = caret__private_set(&t->at, all.lo, all.lo_len, all.hi, all.hi_len);
    while (rc == CARET_OK && next_within(t, &all, &one, true))
        rc = caret__private_delete(&t->at, one.lo, one.span.lo_len);
    return rc;
}

/* ---------------------------------------------------------------------- the end */

void caret__spans_clear(struct caret__spans *t)
{
    if (t->there)
        caret__private_clear(&t->at);
}

void caret__spans_destroy(struct caret__spans *t)
{
    if (t->there)
        caret__private_destroy(&t->at);
    t->there = false;
}
