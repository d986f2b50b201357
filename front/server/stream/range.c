/*
 * range.c - XRANGE and XREVRANGE.
 */
#include "server/stream/stream.h"

static int answer_range(struct serve__call *q, const struct serve__stream *x, struct serve__id from,
                        struct serve__id to, bool back, int64_t most)
{
    struct serve__walk i;
    struct serve__id id;
    caret_slice value;
    size_t n = 0, place = serve__open(q);
    int rc = serve__walk_begin(&i, &x->k.node.node, back ? to : from, back ? from : to, back);
    while (rc == CARET_OK && (most < 0 || n < (size_t)most)) {
        if ((rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
            rc = serve__answer_entry(q, id, value);
            n++;
        }
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

static int range(struct serve__call *q, bool back)
{
    struct serve__stream x;
    struct serve__id from, to;
    int64_t most = -1;
    int rc = serve__id_read_end(q, q->argv[back ? 3 : 2], true, &from);
    if (rc == CARET_OK)
        rc = serve__id_read_end(q, q->argv[back ? 2 : 3], false, &to);
    for (int i = 4; i < q->argc && rc == CARET_OK; i += 2) {
        if (i + 1 == q->argc || !serve__is(&q->argv[i], "count"))
            return SERVE__E_SYNTAX;
        rc = serve__arg_integer(q, i + 1, &most);
        most = most < 0 ? 0 : most;
    }
    if (rc == CARET_OK)
        rc = serve__stream_read(q, &x, q->argv[1]);
    if (rc == CARET_NONE)
        return serve__array(q, 0);
    if (rc == CARET_OK && most == 0)
        return serve__null_array(q);
    return rc == CARET_OK ? answer_range(q, &x, from, to, back, most) : rc;
}

int serve__cmd_xrange(struct serve__call *q)
{
    return range(q, false);
}

int serve__cmd_xrevrange(struct serve__call *q)
{
    return range(q, true);
}
