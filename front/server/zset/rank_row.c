/*
 * rank_row.c - ZRANKs of a pipeline about one sorted set, as one reading: row.h.
 *
 * Each looks into two places that nothing else has brought near: the member, for its score, and its entry in the
 * index.  So all members are looked for together, then all entries, and a row waits for memory twice.
 */
#include "server/data/row.h"
#include "server/worker.h"
#include "server/zset/zset.h"

enum { ROW = sizeof((struct serve__row_of *)0)->argv / sizeof *((struct serve__row_of *)0)->argv };

struct ranks {
    struct serve__call q; /* first: it is what the transaction is given */
    const struct serve__row_of *row;
    struct serve__key k;
    struct serve__zasked asked[ROW]; /* an entry without data: there is no such member */
    char text[ROW][SERVE__ZENTRY_MAX];
};

/* The entries of all members, by their scores.  CARET_NONE: a name is an odd one, and not looked for here. */
static int find_entries(struct ranks *r)
{
    caret_node_buf *n = r->q.w->nodes;
    caret_node *nodes[ROW];
    caret_slice values[ROW];
    double score;
    for (unsigned i = 0; i < r->row->n; i++) {
        caret_slice name = r->row->argv[i][2];
        int rc = serve__field_is_odd(name) ? CARET_NONE : serve__field_node(&r->q, &r->k, &n[i], name);
        if (rc != CARET_OK)
            return rc;
        nodes[i] = &n[i].node;
    }
    int rc = caret_get_many(r->q.s, nodes, r->row->n, values);
    for (unsigned i = 0; rc == CARET_OK && i < r->row->n; i++) {
        r->asked[i].entry = (caret_slice){NULL, 0};
        if (values[i].data == NULL)
            continue;
        if (!serve__zscore_read(values[i], &score))
            return CARET_E_CORRUPT;
        r->asked[i].entry = (caret_slice){r->text[i], serve__zentry(r->text[i], score, r->row->argv[i][2])};
    }
    return rc;
}

/* The entries that there are; *n: how many.  They are brought near. */
static int ask_for_entries(struct ranks *r, struct serve__zasked **asked, unsigned *n)
{
    caret_node_buf *node = r->q.w->nodes;
    caret_node *nodes[ROW];
    int rc = CARET_OK;
    *n = 0;
    for (unsigned i = 0; rc == CARET_OK && i < r->row->n; i++) {
        if (r->asked[i].entry.data == NULL)
            continue;
        rc = serve__zentry_node(&r->k, &node[*n], r->asked[i].entry);
        nodes[*n] = &node[*n].node;
        asked[(*n)++] = &r->asked[i];
    }
    return rc == CARET_OK ? caret_prefetch(r->q.s, nodes, *n) : rc;
}

static int find_ranks(struct serve__call *q)
{
    struct ranks *r = (struct ranks *)q;
    struct serve__zasked *asked[ROW];
    unsigned n;
    int rc = serve__key_open(q, &r->k, q->argv[1], SERVE__ZSET);
    if (rc == CARET_OK)
        rc = find_entries(r);
    if (rc == CARET_OK)
        rc = ask_for_entries(r, asked, &n);
    return rc == CARET_OK ? serve__zranks(q, &r->k, asked, n) : rc;
}

int serve__zrank_row(struct serve__call *q)
{
    struct ranks r;
    r.q = *q;
    r.row = (struct serve__row_of *)q;
    int rc = serve__atomic(&r.q, find_ranks);
    if (rc != CARET_OK)
        return rc;
    bool reverse = q->cmd->run == serve__cmd_zrevrank;
    for (unsigned i = 0; i < r.row->n; i++) {
        serve__key_looked(q, true);
        if (r.asked[i].entry.data == NULL)
            serve__null(q);
        else
            serve__integer(q, (int64_t)(reverse ? r.k.count - 1 - r.asked[i].rank : r.asked[i].rank));
    }
    return CARET_OK;
}
