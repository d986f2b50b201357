/*
 * range.c - ranges of sorted sets, by rank, score or member: reading their bounds, and walking through them.
 *
 * A range of members supposes that all have one score, and is found by one look then.  If they have several Redis
 * answers what its structures happen to find; we walk from the end, as it does through a listpack.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/zset/zset.h"

/* ---------------------------------------------------------------- reading */

/* As strtod(3) takes it, spaces before it too; not nan. */
static bool read_score(struct serve__call *q, caret_slice text, struct serve__zbound *b)
{
    struct serve__buffer *copy = &q->r->work;
    char *end;
    b->open = text.len > 0 && text.data[0] == '(';
    if (b->open) {
        text.data++;
        text.len--;
    }
    copy->len = 0;
    serve__buffer_add(copy, text.data, text.len);
    serve__buffer_add(copy, "", 1);
    if (copy->failed)
        return false;
    b->score = strtod(copy->data, &end);
    return *end == 0 && !isnan(b->score);
}

static bool read_member(caret_slice text, struct serve__zbound *b)
{
    if (text.len == 0)
        return false;
    b->open = text.data[0] == '(';
    b->end = text.data[0] == '-' ? -1 : text.data[0] == '+' ? 1 : 0;
    b->lex = (caret_slice){text.data + 1, text.len - 1};
    if (b->end != 0)
        return text.len == 1 || text.data[1] == 0;
    return b->open || text.data[0] == '[';
}

int serve__zrange_read(struct serve__call *q, int i, struct serve__zrange *r)
{
    const caret_slice *a = &q->argv[i];
    if (r->by == SERVE__ZBY_RANK) {
        int rc = serve__arg_integer(q, i, &r->start);
        return rc == CARET_OK ? serve__arg_integer(q, i + 1, &r->stop) : rc;
    }
    bool reversed = r->reverse;
    struct serve__zbound *first = reversed ? &r->max : &r->min, *second = reversed ? &r->min : &r->max;
    if (r->by == SERVE__ZBY_SCORE)
        return read_score(q, a[0], first) && read_score(q, a[1], second)
                   ? CARET_OK
                   : serve__fail(q, "ERR min or max is not a float");
    return read_member(a[0], first) && read_member(a[1], second)
               ? CARET_OK
               : serve__fail(q, "ERR min or max not valid string range item");
}

/* ---------------------------------------------------------------- bounds */

static int compare(caret_slice a, caret_slice b)
{
    int c = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

/* Of two bounds: -1, 0, 1 as compare(). */
static int compare_bounds(const struct serve__zbound *a, const struct serve__zbound *b)
{
    return a->end != 0 || b->end != 0 ? a->end - b->end : compare(a->lex, b->lex);
}

static bool after_min(const struct serve__zrange *r, double score, caret_slice member)
{
    if (r->by == SERVE__ZBY_SCORE)
        return r->min.open ? score > r->min.score : score >= r->min.score;
    if (r->min.end != 0)
        return r->min.end < 0;
    int c = compare(member, r->min.lex);
    return r->min.open ? c > 0 : c >= 0;
}

static bool before_max(const struct serve__zrange *r, double score, caret_slice member)
{
    if (r->by == SERVE__ZBY_SCORE)
        return r->max.open ? score < r->max.score : score <= r->max.score;
    if (r->max.end != 0)
        return r->max.end > 0;
    int c = compare(member, r->max.lex);
    return r->max.open ? c < 0 : c <= 0;
}

/* Is there nothing between the bounds, whatever the set has? */
static bool empty(const struct serve__zrange *r)
{
    bool open = r->min.open || r->max.open;
    if (r->by == SERVE__ZBY_SCORE)
        return r->min.score > r->max.score || (r->min.score == r->max.score && open);
    int c = compare_bounds(&r->min, &r->max);
    return c > 0 || (c == 0 && (open || r->min.end != 0));
}

/* ---------------------------------------------------------------- walking */

static bool inside(const struct serve__zrange *r, const struct serve__zwalk *w)
{
    return r->by == SERVE__ZBY_RANK ||
           (r->reverse ? after_min(r, w->score, w->member) : before_max(r, w->score, w->member));
}

static int first_by_rank(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                         struct serve__zwalk *w)
{
    int64_t n = (int64_t)k->count, start = r->start < 0 ? r->start + n : r->start;
    int64_t stop = r->stop < 0 ? r->stop + n : r->stop;
    if (start < 0)
        start = 0;
    if (stop >= n)
        stop = n - 1;
    if (start > stop || start >= n)
        return CARET_NONE;
    r->left = (uint64_t)(stop - start);
    return serve__zrank_seek(q, k, w, r->reverse, (uint64_t)(r->reverse ? n - 1 - start : start));
}

/* Where the walk begins by score: what it comes to is beyond the first bound. */
static int seek_score(struct serve__call *q, const struct serve__key *k, const struct serve__zrange *r,
                      struct serve__zwalk *w)
{
    char code[SERVE__ZCODE_MAX];
    uint64_t order =
        r->reverse ? serve__zorder(r->max.score) + !r->max.open : serve__zorder(r->min.score) + r->min.open;
    caret_slice from = {code, serve__zcode(code, order)};
    return serve__zwalk_seek(q, k, w, r->reverse, &from);
}

/* By member, in a set of one score. */
static int seek_member(struct serve__call *q, const struct serve__key *k, const struct serve__zrange *r,
                       struct serve__zwalk *w)
{
    char text[SERVE__ZENTRY_MAX + 1];
    const struct serve__zbound *b = r->reverse ? &r->max : &r->min;
    size_t n = serve__zcode(text, serve__zorder(w->score) + (b->end > 0));
    size_t len = b->end != 0 ? 0 : b->lex.len < SERVE__FIELD_MAX ? b->lex.len : SERVE__FIELD_MAX;
    memcpy(text + n, b->lex.data, len);
    n += len;
    if (r->reverse && b->end == 0) { /* after the bound itself, and after all long ones that begin so */
        bool lengthy = b->lex.len > SERVE__FIELD_MAX;
        size_t more = lengthy ? sizeof text - n : 1;
        memset(text + n, lengthy ? 0xff : 0, more);
        n += more;
    }
    caret_slice from = {text, n};
    return serve__zwalk_seek(q, k, w, r->reverse, &from);
}

/* Do the bounds fit what is there?  w: at the first entry then. */
static int first_by_member(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                           struct serve__zwalk *w)
{
    int rc = serve__zwalk_seek(q, k, w, true, NULL);
    double last = w->score;
    if (rc == CARET_OK && !after_min(r, w->score, w->member))
        return CARET_NONE;
    if (rc == CARET_OK)
        rc = serve__zwalk_seek(q, k, w, false, NULL);
    if (rc == CARET_OK && !before_max(r, w->score, w->member))
        return CARET_NONE;
    if (rc != CARET_OK)
        return rc;
    return w->score == last ? seek_member(q, k, r, w) : serve__zwalk_seek(q, k, w, r->reverse, NULL);
}

/* LIMIT's first number: so many are passed over. */
static int pass_over(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                     struct serve__zwalk *w)
{
    enum { FEW = 128 };
    if (r->offset < 0)
        return CARET_NONE;
    int64_t n = r->offset;
    int rc = CARET_OK;
    if (r->by == SERVE__ZBY_SCORE && n > FEW) {
        uint64_t rank;
        rc = serve__zrank(q, k, (caret_slice){w->text, w->len}, &rank);
        if (rc != CARET_OK)
            return rc;
        if ((uint64_t)n >= (r->reverse ? rank + 1 : k->count - rank))
            return CARET_NONE;
        rc = serve__zrank_seek(q, k, w, r->reverse, r->reverse ? rank - (uint64_t)n : rank + (uint64_t)n);
        n = 0;
    }
    while (rc == CARET_OK && n-- > 0)
        rc = serve__zwalk_next(q, w);
    return rc == CARET_OK && !inside(r, w) ? CARET_NONE : rc;
}

int serve__zrange_first(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                        struct serve__zwalk *w)
{
    if (r->by == SERVE__ZBY_RANK)
        return first_by_rank(q, k, r, w);
    if (empty(r) || r->limit == 0)
        return CARET_NONE;
    r->left = r->limit < 0 ? UINT64_MAX : (uint64_t)r->limit - 1;
    int rc = r->by == SERVE__ZBY_SCORE ? seek_score(q, k, r, w) : first_by_member(q, k, r, w);
    while (rc == CARET_OK && r->by == SERVE__ZBY_LEX &&
           !(r->reverse ? before_max(r, w->score, w->member) : after_min(r, w->score, w->member)))
        rc = serve__zwalk_next(q, w);
    if (rc == CARET_OK && !inside(r, w))
        rc = CARET_NONE;
    return rc == CARET_OK ? pass_over(q, k, r, w) : rc;
}

int serve__zrange_next(struct serve__call *q, struct serve__zrange *r, struct serve__zwalk *w)
{
    if (r->left-- == 0)
        return CARET_NONE;
    int rc = serve__zwalk_next(q, w);
    return rc == CARET_OK && !inside(r, w) ? CARET_NONE : rc;
}
