/*
 * id.c - ids as text and as nodes, and walks: id.h.
 */
#include "server/stream/id.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/codec/number.h"

#define NUMBERS_END 1000000000000000000u /* subscripts from here on are strings */

bool serve__id_after(struct serve__id *id)
{
    if (++id->seq == 0 && ++id->ms == 0) {
        *id = SERVE__ID_MAX;
        return false;
    }
    return true;
}

bool serve__id_before(struct serve__id *id)
{
    if (serve__id_is_zero(*id))
        return false;
    if (id->seq-- == 0)
        id->ms--;
    return true;
}

/* ------------------------------------------------------------------- text */

size_t serve__id_text(char text[SERVE__ID_ROOM], struct serve__id id)
{
    size_t len = caret_codec__print_u64(id.ms, text);
    text[len++] = '-';
    return len + caret_codec__print_u64(id.seq, text + len);
}

int serve__answer_id(struct serve__call *q, struct serve__id id)
{
    char text[SERVE__ID_ROOM];
    return serve__bulk(q, text, serve__id_text(text, id));
}

bool serve__id_parse(caret_slice text, uint64_t seq, bool strict, bool *any, struct serve__id *id)
{
    if (any != NULL)
        *any = false;
    if (text.len == 1 && (text.data[0] == '-' || text.data[0] == '+')) {
        *id = text.data[0] == '-' ? SERVE__ID_MIN : SERVE__ID_MAX;
        return !strict;
    }
    const char *dash = text.len > 0 && text.len < 128 ? memchr(text.data, '-', text.len) : NULL;
    size_t len = dash != NULL ? (size_t)(dash - text.data) : text.len;
    id->seq = seq;
    if (!caret_codec__parse_u64(text.data, len, &id->ms))
        return false;
    if (dash == NULL)
        return true;
    if (any != NULL && text.len - len == 2 && dash[1] == '*') {
        *any = true;
        id->seq = 0;
        return true;
    }
    return caret_codec__parse_u64(dash + 1, text.len - len - 1, &id->seq);
}

int serve__id_read(struct serve__call *q, caret_slice text, uint64_t seq, bool strict, bool *any,
                   struct serve__id *id)
{
    if (serve__id_parse(text, seq, strict, any, id))
        return CARET_OK;
    return serve__fail(q, "ERR Invalid stream ID specified as stream command argument");
}

int serve__id_read_end(struct serve__call *q, caret_slice text, bool first, struct serve__id *id)
{
    bool open = text.len > 1 && text.data[0] == '(';
    if (open)
        text = (caret_slice){text.data + 1, text.len - 1};
    int rc = serve__id_read(q, text, first ? 0 : UINT64_MAX, open, NULL, id);
    if (rc != CARET_OK || !open)
        return rc;
    if (first ? serve__id_after(id) : serve__id_before(id))
        return CARET_OK;
    return serve__fail(q, "ERR invalid %s ID for the interval", first ? "start" : "end");
}

/* ------------------------------------------------------------------ nodes */

/* A number as the text of a subscript, which has 20 bytes; its length. */
static size_t number_text(char *text, uint64_t number)
{
    if (number < NUMBERS_END)
        return caret_codec__print_u64(number, text);
    return (size_t)snprintf(text, 20, "s%016llx", (unsigned long long)number);
}

static int add_number(caret_node_buf *n, const caret_node *parent, uint64_t number)
{
    char text[20];
    if (number < NUMBERS_END)
        return caret_node_child_int(&n->node, sizeof *n, parent, (int64_t)number);
    return caret_node_child(&n->node, sizeof *n, parent, text, number_text(text, number));
}

int serve__id_node(caret_node_buf *n, const caret_node *base, struct serve__id id)
{
    int rc = add_number(n, base, id.ms);
    return rc == CARET_OK ? add_number(n, &n->node, id.seq) : rc;
}

/* The number that a subscript stands for. */
static bool read_number(const caret_node *n, unsigned i, uint64_t *number)
{
    char text[24];
    size_t len;
    if (caret_node_subscript(n, i, text, sizeof text - 1, &len, NULL) != CARET_OK)
        return false;
    text[len] = 0;
    if (text[0] != 's')
        return caret_codec__parse_u64(text, len, number);
    char *end;
    *number = strtoull(text + 1, &end, 16);
    return len == 17 && end == text + len;
}

/* The id of a node below a base of this depth. */
static bool read_id(const caret_node *n, unsigned depth, struct serve__id *id)
{
    int64_t seq;
    if (caret_node_depth(n) != depth + 2 || !read_number(n, depth, &id->ms))
        return false;
    if (caret_node_last_as_int(n, &seq) && seq >= 0) {
        id->seq = (uint64_t)seq;
        return true;
    }
    return read_number(n, depth + 1, &id->seq);
}

/* Kill children from 0 (the empty subscript is not one of ids) to before a number. */
static int kill_before(struct serve__call *q, const caret_node *n, uint64_t number)
{
    char text[20];
    caret_slice from = {"0", 1}, to = {text, number_text(text, number)};
    return number == 0 ? CARET_OK : caret_kill_range(q->s, n, &from, &to, CARET_RANGE_BEFORE);
}

int serve__id_kill(struct serve__call *q, const caret_node *base, const struct serve__id *before)
{
    caret_node_buf n;
    caret_slice from = {"0", 1};
    if (before == NULL)
        return caret_kill_range(q->s, base, &from, NULL, 0);
    int rc = kill_before(q, base, before->ms);
    if (rc == CARET_OK && before->seq > 0) {
        rc = add_number(&n, base, before->ms);
        if (rc == CARET_OK)
            rc = kill_before(q, &n.node, before->seq);
    }
    return rc;
}

/* ------------------------------------------------------------------ walks */

int serve__walk_begin(struct serve__walk *i, const caret_node *base, struct serve__id from,
                      struct serve__id to, bool back)
{
    i->depth = caret_node_depth(base);
    i->back = back;
    i->first = true;
    int rc = serve__id_node(&i->node, base, from);
    return rc == CARET_OK ? serve__id_node(&i->last, base, to) : rc;
}

/* To the node at or after the place where the walk begins. */
static int first_one(struct serve__call *q, struct serve__walk *i, caret_slice *value)
{
    i->first = false;
    int rc = caret_get(q->s, &i->node.node, value);
    if (rc != CARET_NONE)
        return rc;
    return i->back ? caret_node_previous_get(q->s, &i->node.node, value)
                   : caret_node_next_get(q->s, &i->node.node, value);
}

int serve__walk_next(struct serve__call *q, struct serve__walk *i, struct serve__id *id, caret_slice *value)
{
    for (;;) {
        int rc = i->first  ? first_one(q, i, value)
                 : i->back ? caret_node_previous_get(q->s, &i->node.node, value)
                           : caret_node_next_get(q->s, &i->node.node, value);
        if (rc != CARET_OK)
            return rc;
        int side = caret_node_compare(&i->node.node, &i->last.node);
        if (i->back ? side < 0 : side > 0)
            return CARET_NONE;
        if (read_id(&i->node.node, i->depth, id)) /* else a program has put something there */
            return CARET_OK;
    }
}

int serve__walk_one(struct serve__call *q, const caret_node *base, struct serve__id from, struct serve__id to,
                    bool back, struct serve__id *id, caret_slice *value)
{
    struct serve__walk i;
    if (serve__id_compare(from, to) * (back ? -1 : 1) > 0)
        return CARET_NONE;
    int rc = serve__walk_begin(&i, base, from, to, back);
    return rc == CARET_OK ? serve__walk_next(q, &i, id, value) : rc;
}
