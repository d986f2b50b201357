/*
 * rank.c - how many members are before one, and which is the n-th: counts of parts of the index.
 *
 *     ^redis(key,"","#",level,from)   8 bytes: entries of the index from `from` to before the next node of the level
 *
 * Level 1 has parts of about `base` entries, each further level parts of FAN of those below it; the first part of
 * each has an empty `from`, and what begins a part begins one on each level below.  A rank is found from the top: on
 * each level add the counts of the parts from where the one above begins to that where the entry is, but for the last;
 * then count the entries of that one before it.  The n-th entry is found the other way round.
 *
 *     level 2    |"" 5                    |m 6
 *     level 1    |"" 2      |f 3          |m 3        |t 3       what begins a part need not be an entry: it is the
 *     index       b   d      f   g   k     ma  n  s    t  u  z   shortest that parts its neighbours
 *
 * So a level takes one descent and some instructions a part, none of which makes a key (caret_values_in), and the
 * entries of the last part are counted by leaves (caret_count_in).  What a transaction has changed is gone through node
 * by node.  Where ranks of several entries are asked for, the highest level is walked through once for all of them, in
 * the order of the index: it has as many parts as two ranks pass over there.
 *
 * The counts are made by the first command that needs them, if the set has more than ALL_MAX members, or for an n-th
 * entry that is more than STEPS from both ends, and kept by every change: a part that becomes twice as large is parted,
 * one that becomes a quarter is joined to the one before it.  Once the set has twice as many members as when they were
 * made, or half as many, they are forgotten, so that the number of levels fits.  Parts of other sizes, as earlier
 * versions made them, are as right, and go with that.  So a member costs some steps a doubling, and nothing in sets
 * whose ranks nobody asks for.
 *
 * The state in the header: nothing, if there are no counts, or
 *     0  1  levels      1  4  base      5  8  members when they were made
 */
#include <stdlib.h>
#include <string.h>

#include "server/keys/little.h"
#include "server/zset/zset.h"

enum {
    ALL_MAX = 512,
    STEPS = 192,
    BASE = 128,
    FAN = 64,
    PARTS_MAX = 100000,
    STATE = 13,
    FROM = 4,
    TOGETHER = 4
};

static bool counted(const struct serve__key *k)
{
    return k->state_len == STATE && k->state[0] <= SERVE__ZLEVELS;
}

static unsigned levels(const struct serve__key *k)
{
    return k->state[0];
}

/* How many entries a part of this level has when it is made. */
static uint64_t size_of(const struct serve__key *k, unsigned level)
{
    uint64_t n = serve__load(k->state + 1, 4);
    while (--level > 0)
        n *= FAN;
    return n;
}

/* ------------------------------------------------------------------ parts */

/* The node above the levels, and the one above the parts of a level. */
static int top_node(const struct serve__key *k, caret_node_buf *top)
{
    int rc = caret_node_child(&top->node, sizeof *top, &k->node.node, "", 0);
    return rc == CARET_OK ? caret_node_child(&top->node, sizeof *top, &top->node, "#", 1) : rc;
}

static int part_node(const caret_node_buf *top, caret_node_buf *n, unsigned level, caret_slice from)
{
    int rc = caret_node_child_int(&n->node, sizeof *n, &top->node, level);
    return rc == CARET_OK ? caret_node_child(&n->node, sizeof *n, &n->node, from.data, from.len) : rc;
}

static int put_count(struct serve__call *q, caret_node_buf *n, uint64_t count)
{
    char value[8];
    serve__store(value, count, sizeof value);
    return caret_set(q->s, &n->node, value, sizeof value);
}

static int read_count(caret_slice value, uint64_t *count)
{
    if (value.len != 8)
        return CARET_E_CORRUPT;
    *count = serve__load(value.data, 8);
    return CARET_OK;
}

static int read_from(struct serve__zpart *p)
{
    return caret_node_subscript(&p->node.node, FROM, p->from, sizeof p->from, &p->len, NULL);
}

/* To the part of a level where the entry is, and its count. */
static int find_part(struct serve__call *q, const caret_node_buf *top, struct serve__zpart *p, unsigned level,
                     caret_slice entry)
{
    caret_slice value;
    int rc = caret_node_child_int(&p->node.node, sizeof p->node, &top->node, level);
    if (rc == CARET_OK)
        rc = caret_last_in(q->s, &p->node.node, NULL, &entry, 0);
    if (rc == CARET_OK)
        rc = read_from(p);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &p->node.node, &value);
    if (rc == CARET_OK)
        rc = read_count(value, &p->count);
    return rc == CARET_NONE ? CARET_E_CORRUPT : rc;
}

/* ----------------------------------------------------------------- making */

/* The shortest beginning of `entry` that comes after `before`. */
static size_t separator(caret_slice before, caret_slice entry)
{
    size_t n = 0;
    while (n < before.len && n < entry.len && before.data[n] == entry.data[n])
        n++;
    return n < entry.len ? n + 1 : n;
}

/* One walk over the index: where each part of level 1 begins, in a row: length, bytes.  The count of the last. */
static int find_parts(struct serve__call *q, const struct serve__key *k, uint64_t base,
                      struct serve__buffer *parts, uint64_t *last)
{
    struct serve__zwalk w;
    char before[SERVE__ZENTRY_MAX];
    size_t len = 0, before_len = 0;
    uint64_t n = 0;
    int rc = serve__zwalk_seek(q, k, &w, false, NULL);
    for (; rc == CARET_OK; rc = caret_next(q->s, &w.node.node), n++) {
        if (n % base == base - 1)
            rc = caret_node_subscript(&w.node.node, 2, before, sizeof before, &before_len, NULL);
        if (rc != CARET_OK)
            return rc;
        if (n % base != 0)
            continue;
        rc = caret_node_subscript(&w.node.node, 2, w.text, sizeof w.text, &w.len, NULL);
        if (rc != CARET_OK)
            return rc;
        len = n > 0 ? separator((caret_slice){before, before_len}, (caret_slice){w.text, w.len}) : 0;
        serve__buffer_add(parts, &len, sizeof len);
        serve__buffer_add(parts, w.text, len);
    }
    *last = n % base != 0 ? n % base : base;
    return rc != CARET_NONE ? rc : parts->failed ? CARET_E_NOMEM : CARET_OK;
}

/* The nodes of a level, of which each is made of `step` parts of level 1. */
static int write_level(struct serve__call *q, struct serve__key *k, unsigned level, uint64_t step,
                       const struct serve__buffer *parts, uint64_t last)
{
    caret_node_buf top, n;
    uint64_t base = size_of(k, 1), i = 0, whole = 0;
    int rc = top_node(k, &top);
    if (rc != CARET_OK)
        return rc;
    size_t len;
    for (size_t at = 0; at < parts->len; at += sizeof len + len, i++) {
        memcpy(&len, parts->data + at, sizeof len);
        if (i % step == 0) {
            if (i > 0)
                rc = put_count(q, &n, whole);
            if (rc == CARET_OK)
                rc = part_node(&top, &n, level, (caret_slice){parts->data + at + sizeof len, len});
            if (rc != CARET_OK)
                return rc;
            whole = 0;
        }
        whole += at + sizeof len + len < parts->len ? base : last;
    }
    return i > 0 ? put_count(q, &n, whole) : CARET_OK;
}

static int make_counts(struct serve__call *q, struct serve__key *k)
{
    struct serve__buffer parts = {0};
    uint64_t base = k->count / PARTS_MAX > BASE ? k->count / PARTS_MAX : BASE, last, step = 1;
    unsigned top = 1;
    for (uint64_t n = k->count / base; n > 2 * FAN; n /= FAN)
        top++;
    int rc = find_parts(q, k, base, &parts, &last);
    k->state[0] = (unsigned char)top;
    serve__store(k->state + 1, base, 4);
    serve__store(k->state + 5, k->count, 8);
    k->state_len = STATE;
    for (unsigned level = 1; rc == CARET_OK && level <= top; level++, step *= FAN)
        rc = write_level(q, k, level, step, &parts, last);
    serve__buffer_free(&parts);
    return rc == CARET_OK ? serve__key_save(q, k) : rc;
}

int serve__zrank_forget(struct serve__call *q, struct serve__key *k)
{
    caret_node_buf n;
    if (!counted(k))
        return CARET_OK;
    k->state_len = 0;
    int rc = top_node(k, &n);
    return rc == CARET_OK ? caret_kill(q->s, &n.node) : rc;
}

/* ---------------------------------------------------------------- keeping */

/* Where to part a part of level 1: in the middle of its entries. *left: how many are before that. */
static int middle_entry(struct serve__call *q, const struct serve__key *k, const struct serve__zpart *p,
                        char *from, size_t *len, uint64_t *left)
{
    struct serve__zwalk w;
    char before[SERVE__ZENTRY_MAX];
    *left = p->count / 2;
    int rc = serve__zwalk_nth(q, k, &w, (caret_slice){p->from, p->len}, *left - 1);
    size_t before_len = w.len;
    if (rc != CARET_OK)
        return rc;
    memcpy(before, w.text, before_len);
    rc = serve__zwalk_next(q, &w);
    *len = separator((caret_slice){before, before_len}, (caret_slice){w.text, w.len});
    memcpy(from, w.text, *len);
    return rc;
}

/* Of one of a level above: where the first part begins that is after half of it. */
static int middle_part(struct serve__call *q, const caret_node_buf *top, const struct serve__zpart *p,
                       unsigned level, char *from, size_t *len, uint64_t *left)
{
    struct serve__zpart below;
    caret_slice value;
    int rc = part_node(top, &below.node, level - 1, (caret_slice){p->from, p->len});
    if (rc == CARET_OK)
        rc = caret_get(q->s, &below.node.node, &value);
    for (*left = 0; rc == CARET_OK && *left < p->count / 2;) {
        rc = read_count(value, &below.count);
        *left += below.count;
        if (rc == CARET_OK)
            rc = caret_next_get(q->s, &below.node.node, &value);
    }
    if (rc == CARET_OK)
        rc = read_from(&below);
    if (rc != CARET_OK)
        return rc;
    *len = below.len;
    memcpy(from, below.from, below.len);
    return CARET_OK;
}

/* Part the one of this level where the entry is, if it is too large. */
static int split(struct serve__call *q, struct serve__key *k, const caret_node_buf *top, unsigned level,
                 caret_slice entry)
{
    struct serve__zpart p;
    char from[SERVE__ZENTRY_MAX];
    size_t len = 0;
    uint64_t left = 0;
    int rc = find_part(q, top, &p, level, entry);
    if (rc != CARET_OK || p.count <= 2 * size_of(k, level))
        return rc;
    rc = level == 1 ? middle_entry(q, k, &p, from, &len, &left)
                    : middle_part(q, top, &p, level, from, &len, &left);
    if (rc == CARET_NONE || left >= p.count) /* all of it is in its last part */
        return CARET_OK;
    if (rc == CARET_OK)
        rc = put_count(q, &p.node, left);
    if (rc == CARET_OK)
        rc = part_node(top, &p.node, level, (caret_slice){from, len});
    return rc == CARET_OK ? put_count(q, &p.node, p.count - left) : rc;
}

/* A part that has become small: it is joined to the one before it, if both are not too large. p is that then. */
static int join(struct serve__call *q, const struct serve__key *k, unsigned level, struct serve__zpart *p)
{
    caret_slice value;
    caret_node_buf old = p->node;
    uint64_t before;
    int rc = caret_previous_get(q->s, &p->node.node, &value);
    if (rc == CARET_OK)
        rc = read_count(value, &before);
    if (rc != CARET_OK)
        return rc;
    if (before + p->count > size_of(k, level) * 3 / 2)
        return CARET_OK;
    p->count += before;
    rc = caret_delete(q->s, &old.node);
    if (rc == CARET_OK)
        rc = read_from(p);
    return rc == CARET_OK ? put_count(q, &p->node, p->count) : rc;
}

/* The number of members is out of what the levels were made for. */
static bool outgrown(const struct serve__key *k)
{
    uint64_t made = serve__load(k->state + 5, 8);
    return k->count > 2 * made || k->count < made / 2;
}

int serve__zrank_find(struct serve__call *q, const struct serve__key *k, struct serve__zparts *parts,
                      caret_slice entry)
{
    caret_node_buf top;
    parts->n = 0;
    parts->fits = true;
    parts->entry = entry;
    if (!counted(k))
        return CARET_OK;
    int rc = top_node(k, &top);
    for (unsigned level = levels(k); rc == CARET_OK && level > 0; level--, parts->n++)
        rc = find_part(q, &top, &parts->at[level], level, entry);
    return rc;
}

/* Join those that have become small, from the top, as one that begins a part above has to stay. */
static int join_small(struct serve__call *q, struct serve__key *k, const caret_node_buf *top,
                      caret_slice entry)
{
    struct serve__zpart p, above;
    int rc = CARET_OK;
    above.len = 0;
    for (unsigned level = levels(k); rc == CARET_OK && level > 0; level--) {
        rc = find_part(q, top, &p, level, entry);
        if (rc != CARET_OK)
            break;
        bool first = p.len == above.len && memcmp(p.from, above.from, p.len) == 0;
        if (!first && p.count < size_of(k, level) / 4)
            rc = join(q, k, level, &p);
        memcpy(above.from, p.from, above.len = p.len);
    }
    return rc;
}

static bool same_part(const struct serve__zpart *a, const struct serve__zpart *b)
{
    return a->len == b->len && memcmp(a->from, b->from, a->len) == 0;
}

/* Parts that both are in count as many as before. */
static int move(struct serve__call *q, struct serve__key *k, struct serve__zparts *from,
                struct serve__zparts *to)
{
    int rc = CARET_OK;
    for (unsigned level = 1; rc == CARET_OK && level <= levels(k); level++) {
        if (from != NULL && to != NULL && same_part(&from->at[level], &to->at[level]))
            continue;
        if (from != NULL) {
            rc = put_count(q, &from->at[level].node, --from->at[level].count);
            from->fits = from->fits && from->at[level].count >= size_of(k, level) / 4;
        }
        if (rc == CARET_OK && to != NULL) {
            rc = put_count(q, &to->at[level].node, ++to->at[level].count);
            to->fits = to->fits && to->at[level].count <= 2 * size_of(k, level);
        }
    }
    return rc;
}

int serve__zrank_changed(struct serve__call *q, struct serve__key *k, struct serve__zparts *from,
                         struct serve__zparts *to)
{
    caret_node_buf top;
    if (!counted(k))
        return CARET_OK;
    if (outgrown(k))
        return serve__zrank_forget(q, k);
    int rc = move(q, k, from, to);
    if (rc == CARET_OK)
        rc = top_node(k, &top);
    if (rc == CARET_OK && from != NULL && !from->fits)
        rc = join_small(q, k, &top, from->entry);
    for (unsigned level = 1; rc == CARET_OK && to != NULL && !to->fits && level <= levels(k); level++)
        rc = split(q, k, &top, level, to->entry);
    return rc;
}

/* ----------------------------------------------------------------- asking */

/* Counts of parts in a row. */
struct passing {
    uint64_t left;       /* an entry is looked for that has so many before it */
    uint64_t sum, count; /* of those that were passed; of the last one */
    bool wrong;
};

/* To the end of the row. */
static int pass_all(void *arg, caret_slice value)
{
    struct passing *p = arg;
    p->sum += p->count;
    p->wrong |= read_count(value, &p->count) != CARET_OK;
    return CARET_OK;
}

static int pass_one(void *arg, caret_slice value)
{
    struct passing *p = arg;
    p->sum += p->count;
    p->wrong |= read_count(value, &p->count) != CARET_OK;
    return p->left - p->sum >= p->count ? CARET_OK : CARET_NONE;
}

/* From the part of a level that begins as p, one of the level above, to the one where the entry is, or, without one, to
 * the one that has the entry with `left` others before it; p becomes that.  The counts of those before it are
 * added. */
static int pass_parts(struct serve__call *q, const caret_node_buf *top, unsigned level,
                      struct serve__zpart *p, const caret_slice *entry, struct passing *c)
{
    const caret_slice from = {p->from, p->len};
    c->count = 0;
    int rc = caret_node_child_int(&p->node.node, sizeof p->node, &top->node, level);
    if (rc == CARET_OK)
        rc = caret_values_in(q->s, &p->node.node, &from, entry, 0, entry != NULL ? pass_all : pass_one, c);
    if (rc == CARET_NONE || (rc == CARET_OK && c->wrong))
        return CARET_E_CORRUPT;
    return rc == CARET_OK ? read_from(p) : rc;
}

/* Add the number of entries from `from` to before `entry`. */
static int entries_before(struct serve__call *q, const struct serve__key *k, caret_slice from,
                          caret_slice entry, uint64_t *sum)
{
    caret_node_buf n;
    uint64_t count = 0;
    if (from.len == 0)
        from = (caret_slice){"n", 1};
    int rc = caret_node_child(&n.node, sizeof n, &k->node.node, "", 0);
    if (rc == CARET_OK)
        rc = caret_count_in(q->s, &n.node, &from, &entry, CARET_RANGE_BEFORE, &count);
    *sum += count;
    return rc;
}

/* How many entries are before this one, which is in the part p of the level after `level`, `before` of all those before
 * that; without levels: in all. */
static int rank_within(struct serve__call *q, const struct serve__key *k, const caret_node_buf *top,
                       unsigned level, struct serve__zpart *p, uint64_t before, caret_slice entry,
                       uint64_t *rank)
{
    struct passing c = {.sum = before};
    int rc = CARET_OK;
    for (; rc == CARET_OK && level > 0; level--)
        rc = pass_parts(q, top, level, p, &entry, &c);
    *rank = c.sum;
    return rc == CARET_OK ? entries_before(q, k, (caret_slice){p->from, p->len}, entry, rank) : rc;
}

int serve__zrank(struct serve__call *q, struct serve__key *k, caret_slice entry, uint64_t *rank)
{
    struct serve__zpart p;
    caret_node_buf top;
    p.len = 0;
    if (!counted(k) && k->count > ALL_MAX) {
        int rc = make_counts(q, k);
        if (rc != CARET_OK)
            return rc;
    }
    int rc = top_node(k, &top);
    return rc == CARET_OK ? rank_within(q, k, &top, counted(k) ? levels(k) : 0, &p, 0, entry, rank) : rc;
}

/* A walk through the parts of the highest level: where it is, and the part after that, of which only the node is
 * known. */
struct high {
    struct serve__zpart at;
    caret_node_buf next, entry;
    uint64_t next_count, before; /* before: entries of the parts before it */
    bool last;                   /* there is no next one */
};

static int read_next(struct serve__call *q, struct high *h)
{
    caret_slice value;
    int rc = caret_next_get(q->s, &h->next.node, &value);
    h->last = rc == CARET_NONE;
    return rc == CARET_OK ? read_count(value, &h->next_count) : h->last ? CARET_OK : rc;
}

static int begin_high(struct serve__call *q, const struct serve__key *k, const caret_node_buf *top,
                      struct high *h)
{
    caret_slice value;
    h->at.len = 0;
    h->before = 0;
    int rc = part_node(top, &h->next, levels(k), (caret_slice){"", 0});
    if (rc == CARET_OK)
        rc = caret_node_copy(&h->entry.node, sizeof h->entry, &h->next.node);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &h->next.node, &value);
    if (rc == CARET_OK)
        rc = read_count(value, &h->at.count);
    if (rc == CARET_NONE)
        return CARET_E_CORRUPT;
    return rc == CARET_OK ? read_next(q, h) : rc;
}

/* To the part where the entry is, which is not before that of the last call. */
static int go_high(struct serve__call *q, struct high *h, caret_slice entry)
{
    bool moved = false;
    int rc = caret_node_set_last(&h->entry.node, entry.data, entry.len);
    for (; rc == CARET_OK && !h->last && caret_node_compare(&h->next.node, &h->entry.node) <= 0;
         moved = true) {
        h->before += h->at.count;
        h->at.count = h->next_count;
        rc = caret_node_copy(&h->at.node.node, sizeof h->at.node, &h->next.node);
        if (rc == CARET_OK)
            rc = read_next(q, h);
    }
    return rc == CARET_OK && moved ? read_from(&h->at) : rc;
}

static int by_entry(const void *a, const void *b)
{
    const caret_slice x = (*(const struct serve__zasked *const *)a)->entry;
    const caret_slice y = (*(const struct serve__zasked *const *)b)->entry;
    int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
    return order != 0 ? order : (x.len > y.len) - (x.len < y.len);
}

/* The counts are there. */
static int ranks_in_order(struct serve__call *q, const struct serve__key *k, struct serve__zasked **asked,
                          unsigned n)
{
    struct serve__zpart p;
    caret_node_buf top;
    struct high h;
    int rc = top_node(k, &top);
    if (rc == CARET_OK)
        rc = begin_high(q, k, &top, &h);
    for (unsigned i = 0; rc == CARET_OK && i < n; i++) {
        rc = go_high(q, &h, asked[i]->entry);
        memcpy(p.from, h.at.from, p.len = h.at.len);
        if (rc == CARET_OK)
            rc = rank_within(q, k, &top, levels(k) - 1, &p, h.before, asked[i]->entry, &asked[i]->rank);
    }
    return rc;
}

int serve__zranks(struct serve__call *q, struct serve__key *k, struct serve__zasked **asked, unsigned n)
{
    unsigned i = 0;
    int rc = CARET_OK;
    for (; rc == CARET_OK && i < n && (!counted(k) || n < TOGETHER); i++)
        rc = serve__zrank(q, k, asked[i]->entry, &asked[i]->rank); /* the first one makes the counts */
    if (i == n || rc != CARET_OK)
        return rc;
    qsort(asked + i, n - i, sizeof *asked, by_entry);
    return ranks_in_order(q, k, asked + i, n - i);
}

/* By steps from the nearer end. */
static int seek_from_end(struct serve__call *q, const struct serve__key *k, struct serve__zwalk *w,
                         uint64_t rank)
{
    bool back = rank > k->count / 2;
    int rc = serve__zwalk_seek(q, k, w, back, NULL);
    return rc == CARET_OK ? serve__zwalk_skip(q, w, back ? k->count - 1 - rank : rank) : rc;
}

int serve__zrank_seek(struct serve__call *q, struct serve__key *k, struct serve__zwalk *w, bool back,
                      uint64_t rank)
{
    struct serve__zpart p;
    struct passing c = {.left = rank};
    caret_node_buf top;
    int rc = CARET_OK;
    p.len = 0;
    if (rank >= k->count)
        return CARET_NONE;
    if (rank <= STEPS || k->count - 1 - rank <= STEPS) {
        rc = seek_from_end(q, k, w, rank);
        w->back = back;
        return rc;
    }
    if (!counted(k))
        rc = make_counts(q, k);
    if (rc == CARET_OK)
        rc = top_node(k, &top);
    for (unsigned level = levels(k); rc == CARET_OK && level > 0; level--)
        rc = pass_parts(q, &top, level, &p, NULL, &c);
    if (rc == CARET_OK)
        rc = serve__zwalk_nth(q, k, w, (caret_slice){p.from, p.len}, rank - c.sum);
    w->back = back;
    return rc;
}
