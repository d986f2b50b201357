/*
 * line.c - requests, lines and mailboxes of clients that wait, as nodes: line.h.
 */
#include "server/meet/line.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 1024 * 1024 };

/* --------------------------------------------------------------- requests */

static bool room_for(struct serve__line_request *x, size_t argc)
{
    if (argc <= x->cap)
        return true;
    caret_slice *argv = realloc(x->argv, argc * sizeof *argv);
    if (argv == NULL)
        return false;
    x->argv = argv;
    x->cap = argc;
    return true;
}

/* The arguments as slices of the bytes. */
static bool find_arguments(struct serve__line_request *x)
{
    size_t at = sizeof x->head;
    if (x->head.argc < 1 || !room_for(x, (size_t)x->head.argc))
        return false;
    for (int i = 0; i < x->head.argc; i++) {
        uint32_t len;
        if (x->bytes.len - at < sizeof len)
            return false;
        memcpy(&len, x->bytes.data + at, sizeof len);
        at += sizeof len;
        if (x->bytes.len - at < len)
            return false;
        x->argv[i] = (caret_slice){x->bytes.data + at, len};
        at += len;
    }
    return true;
}

bool serve__line_pack(struct serve__line_request *x, const struct serve__line_head *head,
                      const caret_slice *argv)
{
    x->bytes.len = 0;
    x->head = *head;
    serve__buffer_add(&x->bytes, head, sizeof *head);
    for (int i = 0; i < head->argc; i++) {
        uint32_t len = (uint32_t)argv[i].len;
        serve__buffer_add(&x->bytes, &len, sizeof len);
        serve__buffer_add(&x->bytes, argv[i].data, len);
    }
    return !x->bytes.failed && find_arguments(x);
}

bool serve__line_unpack(struct serve__line_request *x, caret_slice bytes)
{
    x->bytes.len = 0;
    serve__buffer_add(&x->bytes, bytes.data, bytes.len);
    if (x->bytes.failed || x->bytes.len < sizeof x->head)
        return false;
    memcpy(&x->head, x->bytes.data, sizeof x->head);
    const struct serve__line_head *h = &x->head;
    return h->first >= 1 && h->n >= 1 && h->n <= h->argc - h->first && find_arguments(x);
}

/* ------------------------------------------------------------------ nodes */

static int below(caret_node_buf *n, const caret_node *base, const char *kind, const int64_t *subs, int count)
{
    int rc = caret_node_child(&n->node, sizeof *n, base, kind, 1);
    for (int i = 0; rc == CARET_OK && i < count; i++)
        rc = caret_node_child_int(&n->node, sizeof *n, &n->node, subs[i]);
    return rc;
}

int serve__line_owner_node(const caret_node *base, caret_node_buf *n, const struct serve__line_owner *o)
{
    return below(n, base, "o", (const int64_t[]){o->server, o->worker, o->birth}, 3);
}

int serve__line_request_node(const caret_node *base, caret_node_buf *n, int64_t server, int64_t client)
{
    return below(n, base, "w", (const int64_t[]){server, client}, 2);
}

int serve__line_answers_node(const caret_node *base, caret_node_buf *n, const struct serve__line_owner *o)
{
    return below(n, base, "a", (const int64_t[]){o->server, o->worker, o->birth}, 3);
}

int serve__line_key_node(struct serve__call *q, const caret_node *base, caret_node_buf *n, unsigned db,
                         caret_slice name)
{
    char subscript[SERVE__SUBSCRIPT_MAX];
    size_t len;
    unsigned here = q->db;
    q->db = db;
    int rc = serve__key_node(q, n, name);
    q->db = here;
    if (rc == CARET_OK)
        rc = caret_node_subscript(&n->node, 0, subscript, sizeof subscript, &len, NULL);
    if (rc == CARET_OK)
        rc = below(n, base, "q", (const int64_t[]){db}, 1);
    return rc == CARET_OK ? caret_node_child(&n->node, sizeof *n, &n->node, subscript, len) : rc;
}

static int place_node(struct serve__call *q, const caret_node *base, caret_node_buf *n,
                      const struct serve__line_request *x, int i)
{
    int rc = serve__line_key_node(q, base, n, x->head.db, x->argv[x->head.first + i]);
    return rc == CARET_OK ? caret_node_child_int(&n->node, sizeof *n, &n->node, x->head.ticket) : rc;
}

/* ------------------------------------------------------------------ lines */

/* Stand before the key i.  CARET_NONE: another has that ticket. */
static int take_place(struct serve__call *q, const caret_node *base, const struct serve__line_request *x,
                      int i)
{
    caret_node_buf n;
    caret_slice old;
    struct serve__line_place p = {x->head.owner.server, x->head.client, x->head.first + i, 0}, was;
    int rc = place_node(q, base, &n, x, i);
    if (rc == CARET_OK)
        rc = caret_put(q->s, &n.node, &p, sizeof p, 0, NULL, &old);
    if (rc != CARET_OK || old.data == NULL || old.len != sizeof was)
        return rc;
    memcpy(&was, old.data, sizeof was);
    if (was.server == p.server && was.client == p.client) /* the same key twice */
        return CARET_OK;
    rc = caret_put(q->s, &n.node, &was, sizeof was, 0, NULL, NULL);
    return rc == CARET_OK ? CARET_NONE : rc;
}

static int delete_places(struct serve__call *q, const caret_node *base, const struct serve__line_request *x,
                         int n)
{
    caret_node_buf place;
    int rc = CARET_OK;
    for (int i = 0; rc == CARET_OK && i < n; i++)
        if ((rc = place_node(q, base, &place, x, i)) == CARET_OK)
            rc = caret_delete(q->s, &place.node);
    return rc;
}

int serve__line_write(struct serve__call *q, const caret_node *base, struct serve__line_request *x)
{
    caret_node_buf n;
    int rc = CARET_OK;
    for (int i = 0; rc == CARET_OK && i < x->head.n; i++) {
        if ((rc = take_place(q, base, x, i)) == CARET_NONE) {
            rc = delete_places(q, base, x, i);
            x->head.ticket++;
            i = -1;
        }
    }
    if (rc == CARET_OK)
        rc = serve__line_request_node(base, &n, x->head.owner.server, x->head.client);
    memcpy(x->bytes.data, &x->head, sizeof x->head);
    return rc == CARET_OK ? caret_set(q->s, &n.node, x->bytes.data, x->bytes.len) : rc;
}

int serve__line_read(struct serve__call *q, const caret_node *base, int64_t server, int64_t client,
                     struct serve__line_request *x)
{
    caret_node_buf n;
    caret_slice bytes;
    int rc = serve__line_request_node(base, &n, server, client);
    if (rc == CARET_OK)
        rc = caret_get(q->s, &n.node, &bytes);
    return rc != CARET_OK || serve__line_unpack(x, bytes) ? rc : CARET_E_CORRUPT;
}

int serve__line_delete(struct serve__call *q, const caret_node *base, const struct serve__line_request *x)
{
    caret_node_buf n;
    int rc = delete_places(q, base, x, x->head.n);
    if (rc == CARET_OK)
        rc = serve__line_request_node(base, &n, x->head.owner.server, x->head.client);
    return rc == CARET_OK ? caret_delete(q->s, &n.node) : rc;
}

/* ---------------------------------------------------------------- answers */

int serve__line_answer(struct serve__call *q, const caret_node *base, const struct serve__line_head *to,
                       caret_slice bytes)
{
    caret_node_buf n;
    int rc = serve__line_answers_node(base, &n, &to->owner);
    if (rc == CARET_OK)
        rc = caret_node_child_int(&n.node, sizeof n, &n.node, to->client);
    if (rc == CARET_OK)
        rc = caret_node_child_int(&n.node, sizeof n, &n.node, 0);
    for (size_t at = 0, i = 0; rc == CARET_OK && (at < bytes.len || i == 0); at += CHUNK, i++) {
        size_t left = bytes.len - at;
        if ((rc = caret_node_set_last_int(&n.node, (int64_t)i)) == CARET_OK)
            rc = caret_set(q->s, &n.node, bytes.data + at, left < CHUNK ? left : CHUNK);
    }
    return rc;
}

bool serve__line_alive(caret_session *session, const caret_node *base, const struct serve__line_owner *o)
{
    caret_node_buf n;
    if (serve__line_owner_node(base, &n, o) != CARET_OK || caret_lock(session, &n.node, 0) != CARET_OK)
        return true;
    caret_unlock(session, &n.node);
    return false;
}

int64_t serve__line_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
