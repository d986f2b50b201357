/*
 * acl_log.c - ACL LOG: what users were refused, by all workers.  A ring in shared memory, under the lock of
 * shared.h; a worker that is killed while it writes costs that entry.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/admin/acl.h"
#include "server/meet/clients.h"
#include "server/worker.h"

enum { LOOKED_AT = 10 }; /* of the last entries, for one that is like a new one: as many as in Redis */

static uint64_t length(const struct serve__worker *w)
{
    uint64_t most = (uint64_t)w->config.n[SERVE__CFG_acllog_max_len], n = w->shared->acl->nentries;
    most = most < SERVE__ACL_ENTRIES ? most : SERVE__ACL_ENTRIES;
    return n < most ? n : most;
}

/* The i-th from the last on. */
static struct serve__acl_entry *entry_at(struct serve__acl *a, uint64_t i)
{
    return &a->entry[(a->nentries - 1 - i) % SERVE__ACL_ENTRIES];
}

static bool alike(const struct serve__acl_entry *a, const struct serve__acl_entry *b)
{
    return strcmp(a->reason, b->reason) == 0 && strcmp(a->context, b->context) == 0 &&
           a->object_hash == b->object_hash && a->user_hash == b->user_hash &&
           a->object_len == b->object_len && memcmp(a->object, b->object, a->object_len) == 0 &&
           a->user_len == b->user_len && memcmp(a->user, b->user, a->user_len) == 0 &&
           b->time - a->time <= 60000;
}

static uint16_t set_text(char *to, size_t size, caret_slice s)
{
    size_t len = s.len < size ? s.len : size - 1;
    memcpy(to, s.data, len);
    to[len] = 0;
    return (uint16_t)len;
}

/* FNV-1a.  Names that are too long for an entry, and agree in what fits, are told apart by it. */
static uint64_t hash(caret_slice s)
{
    uint64_t h = UINT64_C(14695981039346656037) ^ s.len;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.data[i]) * UINT64_C(1099511628211);
    return h;
}

static void add(struct serve__worker *w, const struct serve__acl_entry *e)
{
    struct serve__acl *a = w->shared->acl;
    serve__shared_lock(w->shared);
    uint64_t n = length(w);
    for (uint64_t i = 0; i < n && i < LOOKED_AT; i++) {
        struct serve__acl_entry *old = entry_at(a, i);
        if (!alike(old, e))
            continue;
        struct serve__acl_entry again = *old; /* it moves to the front */
        again.count++;
        again.time = e->time;
        memcpy(again.client, e->client, sizeof again.client);
        for (; i > 0; i--)
            *entry_at(a, i) = *entry_at(a, i - 1);
        *entry_at(a, 0) = again;
        serve__shared_unlock(w->shared);
        return;
    }
    a->entry[a->nentries % SERVE__ACL_ENTRIES] = *e;
    a->nentries++;
    serve__shared_unlock(w->shared);
}

void serve__acl_note(struct serve__call *q, const char *reason, caret_slice object, caret_slice user)
{
    struct serve__acl_entry e = {
        .count = 1, .time = q->now, .object_hash = hash(object), .user_hash = hash(user)};
    struct serve__buffer b = {0};
    bool multi = q->c->flags & (SERVE__CONN_MULTI | SERVE__CONN_IN_EXEC);
    const char *context = q->reply != &q->c->reply ? "lua" : multi ? "multi" : "toplevel";
    if (q->w->config.n[SERVE__CFG_acllog_max_len] == 0)
        return;
    set_text(e.reason, sizeof e.reason, (caret_slice){reason, strlen(reason)});
    set_text(e.context, sizeof e.context, (caret_slice){context, strlen(context)});
    e.object_len = set_text(e.object, sizeof e.object, object);
    e.user_len = set_text(e.user, sizeof e.user, user);
    serve__client_line(q->w, q->c, &b);
    set_text(e.client, sizeof e.client, (caret_slice){b.data, b.len});
    serve__buffer_free(&b);
    add(q->w, &e);
}

static void answer(struct serve__call *q, const struct serve__acl_entry *e)
{
    const struct {
        const char *name;
        caret_slice value;
    } pairs[] = {{"reason", {e->reason, strlen(e->reason)}},
                 {"context", {e->context, strlen(e->context)}},
                 {"object", {e->object, e->object_len}},
                 {"username", {e->user, e->user_len}}};
    serve__map(q, 7);
    serve__text(q, "count");
    serve__integer(q, (int64_t)e->count);
    for (int i = 0; i < 4; i++) {
        serve__text(q, pairs[i].name);
        serve__bulk(q, pairs[i].value.data, pairs[i].value.len);
    }
    serve__text(q, "age-seconds");
    serve__real(q, (double)(q->now - e->time) / 1000);
    serve__text(q, "client-info");
    serve__text(q, e->client);
}

int serve__cmd_acl_log(struct serve__call *q)
{
    struct serve__acl *a = q->w->shared->acl;
    int64_t count = 10;
    if (q->argc > 3)
        return serve__wrong_subcommand(q);
    if (q->argc == 3 && serve__is(&q->argv[2], "reset")) {
        serve__shared_lock(q->w->shared);
        a->nentries = 0;
        serve__shared_unlock(q->w->shared);
        return serve__ok(q);
    }
    int rc = q->argc == 3 ? serve__arg_integer(q, 2, &count) : CARET_OK;
    if (rc != CARET_OK)
        return rc;
    serve__shared_lock(q->w->shared);
    uint64_t n = length(q->w);
    n = count < 0 ? 0 : (uint64_t)count < n ? (uint64_t)count : n;
    serve__array(q, n);
    for (uint64_t i = 0; i < n; i++)
        answer(q, entry_at(a, i));
    serve__shared_unlock(q->w->shared);
    return CARET_OK;
}
