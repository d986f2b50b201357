/*
 * tp.c - CARET.TP: several commands of nodes as one transaction, in one request.
 *
 *     CARET.TP 3 GET ^oaks 1   5 INCR ^oaks 1 shadow 2   4 SET ^oaks 2 x
 *
 * Before each command stands how many arguments it has, its name counted, with or without "CARET.".  Their answers
 * are an array.  If one fails nothing is changed, and its error is the answer.  Two more can be said here alone,
 * conditions:
 *
 *     IS name [sub ...] value      the node has this value
 *     NONE name [sub ...]          it has no value
 *
 * One that does not hold ends the transaction, nothing is changed, and the answer is null; else its answer is 1.
 */
#include <stdio.h>
#include <strings.h>

#include "server/dispatch.h"
#include "server/node/node.h"

enum { UNTRUE = -1100 }; /* a condition does not hold */

static int condition(struct serve__call *q, bool is)
{
    caret_node_buf n;
    caret_slice value;
    const caret_slice *wanted = &q->argv[q->argc - 1];
    int rc = serve__node_of(q, &n, 1, is ? q->argc - 1 : q->argc);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n.node, &value);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    bool same =
        rc == CARET_OK && value.len == wanted->len && memcmp(value.data, wanted->data, value.len) == 0;
    return (is ? same : rc == CARET_NONE) ? serve__integer(q, 1) : UNTRUE;
}

const struct serve__command *serve__node_part(const caret_slice *name)
{
    char full[32];
    int n =
        strncasecmp(name->data, "caret.", name->len < 6 ? name->len : 6) == 0 && name->len > 6
            ? snprintf(full, sizeof full, "%.*s", (int)(name->len < 31 ? name->len : 31), name->data)
            : snprintf(full, sizeof full, "caret.%.*s", (int)(name->len < 20 ? name->len : 20), name->data);
    const struct serve__command *c = serve__command_find(full, (size_t)n);
    bool fits = c != NULL && c->run != NULL && !(c->flags & SERVE__NO_MULTI) &&
                c->run != serve__cmd_caret_tp && strcmp(c->group, "caret") == 0;
    return fits ? c : NULL;
}

static int run_part(struct serve__call *q)
{
    bool is = serve__is(&q->argv[0], "is");
    if (is || serve__is(&q->argv[0], "none"))
        return q->argc < (is ? 3 : 2) ? SERVE__E_SYNTAX : condition(q, is);
    if ((q->cmd = serve__node_part(&q->argv[0])) == NULL)
        return serve__fail(q, "ERR '%.*s' can't be a part of CARET.TP",
                           (int)(q->argv[0].len < 64 ? q->argv[0].len : 64), q->argv[0].data);
    if (q->argc < -q->cmd->arity)
        return serve__fail(q, "ERR wrong number of arguments for '%s' command", q->cmd->full);
    if (serve__acl_refuses != NULL && serve__acl_refuses(q))
        return SERVE__FAILED;
    return q->cmd->run(q);
}

static int run_parts(struct serve__call *q)
{
    size_t place = serve__open(q), parts = 0;
    int rc = CARET_OK;
    for (int i = 1; rc == CARET_OK && i < q->argc; parts++) {
        int64_t n;
        if (!serve__read_integer(&q->argv[i], &n) || n < 1 || n > q->argc - i - 1)
            return serve__fail(q, "ERR before each command stands how many arguments it has");
        struct serve__call part = *q;
        part.argv = q->argv + i + 1;
        part.argc = (int)n;
        part.ahead = NULL;
        rc = run_part(&part);
        i += (int)n + 1;
    }
    return rc == CARET_OK ? serve__close_array(q, place, parts) : rc;
}

int serve__cmd_caret_tp(struct serve__call *q)
{
    int rc = serve__atomic(q, run_parts);
    if (rc != UNTRUE)
        return rc;
    serve__reply_cut(q->reply, q->mark);
    return serve__null_array(q);
}
