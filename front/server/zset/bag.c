/*
 * bag.c - members and scores that a command has put together, to be answered or stored.
 *
 * The bytes of the members are in the runner's buffer `work`, one after another; the items and the table in which
 * they are found are memory of the command, which frees it in any case.
 */
#include <stdlib.h>
#include <string.h>

#include "server/array.h"
#include "server/event.h"
#include "server/zset/zset.h"

void serve__zbag_begin(struct serve__call *q, struct serve__zbag *b)
{
    *b = (struct serve__zbag){0};
    q->r->work.len = 0;
}

void serve__zbag_free(struct serve__zbag *b)
{
    free(b->item);
    free(b->slot);
    *b = (struct serve__zbag){0};
}

int serve__zbag_add(struct serve__call *q, struct serve__zbag *b, caret_slice member, double score)
{
    struct serve__buffer *work = &q->r->work;
    struct serve__zitem *item = serve__array_room(b->item, &b->cap, b->n + 1, sizeof *item);
    if (item == NULL)
        return CARET_E_NOMEM;
    b->item = item;
    b->item[b->n++] = (struct serve__zitem){score, work->len, member.len, 0};
    serve__buffer_add(work, member.data, member.len);
    if (member.len > b->longest)
        b->longest = member.len;
    return work->failed ? CARET_E_NOMEM : CARET_OK;
}

caret_slice serve__zbag_member(const struct serve__call *q, const struct serve__zitem *item)
{
    return (caret_slice){item->len > 0 ? q->r->work.data + item->at : "", item->len};
}

/* ------------------------------------------------------------------ table */

static uint32_t hash_of(caret_slice text)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ text.len;
    for (size_t i = 0; i < text.len; i++)
        h = (h ^ (unsigned char)text.data[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

/* The slot where it is, or would be. */
static uint32_t *slot_of(struct serve__call *q, const struct serve__zbag *b, caret_slice member,
                         uint32_t hash)
{
    for (size_t i = hash & (b->slots - 1);; i = (i + 1) & (b->slots - 1)) {
        const struct serve__zitem *item = b->slot[i] > 0 ? &b->item[b->slot[i] - 1] : NULL;
        if (item == NULL || (item->hash == hash && item->len == member.len &&
                             memcmp(serve__zbag_member(q, item).data, member.data, member.len) == 0))
            return &b->slot[i];
    }
}

static int more_slots(struct serve__zbag *b)
{
    size_t slots = b->slots > 0 ? 2 * b->slots : 128;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL || b->n >= UINT32_MAX / 2) {
        free(slot);
        return CARET_E_NOMEM;
    }
    for (uint32_t n = 0; n < b->n; n++) {
        size_t i = b->item[n].hash & (slots - 1);
        while (slot[i] != 0)
            i = (i + 1) & (slots - 1);
        slot[i] = n + 1;
    }
    free(b->slot);
    b->slot = slot;
    b->slots = slots;
    return CARET_OK;
}

struct serve__zitem *serve__zbag_find(struct serve__call *q, const struct serve__zbag *b, caret_slice member)
{
    if (b->slots == 0)
        return NULL;
    uint32_t n = *slot_of(q, b, member, hash_of(member));
    return n > 0 ? &b->item[n - 1] : NULL;
}

int serve__zbag_put(struct serve__call *q, struct serve__zbag *b, caret_slice member, double score)
{
    uint32_t hash = hash_of(member);
    if (2 * b->n >= b->slots && more_slots(b) != CARET_OK)
        return CARET_E_NOMEM;
    uint32_t *slot = slot_of(q, b, member, hash);
    int rc = serve__zbag_add(q, b, member, score);
    if (rc != CARET_OK)
        return rc;
    b->item[b->n - 1].hash = hash;
    *slot = (uint32_t)b->n;
    return CARET_OK;
}

/* ---------------------------------------------------------------- sorting */

static int by_score_and_member(const void *one, const void *other, void *arg)
{
    const struct serve__zitem *a = one, *b = other;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    const char *bytes = arg;
    int c = memcmp(bytes + a->at, bytes + b->at, a->len < b->len ? a->len : b->len);
    return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

void serve__zbag_sort(struct serve__call *q, struct serve__zbag *b)
{
    free(b->slot); /* which has numbers of items */
    b->slot = NULL;
    b->slots = 0;
    if (b->n > 1)
        qsort_r(b->item, b->n, sizeof *b->item, by_score_and_member, q->r->work.data);
}

/* -------------------------------------------------------------- answering */

bool serve__zpairs(const struct serve__call *q)
{
    return q->reply->protocol == 3;
}

void serve__zpair(struct serve__call *q, caret_slice member, double score)
{
    if (serve__zpairs(q))
        serve__array(q, 2);
    serve__bulk(q, member.data, member.len);
    serve__real(q, score);
}

int serve__zbag_answer(struct serve__call *q, const struct serve__zbag *b, bool scores)
{
    serve__array(q, scores && !serve__zpairs(q) ? 2 * b->n : b->n);
    for (size_t i = 0; i < b->n; i++) {
        caret_slice member = serve__zbag_member(q, &b->item[i]);
        if (scores)
            serve__zpair(q, member, b->item[i].score);
        else
            serve__bulk(q, member.data, member.len);
    }
    return CARET_OK;
}

/* The key that was there is gone, and there is one of nothing: *was tells. */
static int clear(struct serve__call *q, struct serve__key *k, caret_slice name, bool *was)
{
    int rc = serve__key_change(q, k, name, SERVE__ANY);
    *was = k->exists;
    if (rc == CARET_OK && k->exists)
        rc = serve__key_delete(q, k);
    return rc == CARET_OK ? serve__key_change(q, k, name, SERVE__ZSET) : rc;
}

int serve__zbag_store(struct serve__call *q, const struct serve__zbag *b, uint64_t count, size_t longest,
                      caret_slice name, const char *event)
{
    struct serve__key k;
    bool was;
    int rc = clear(q, &k, name, &was);
    serve__zset_grow(q, &k, count, longest);
    for (size_t i = 0; rc == CARET_OK && i < b->n; i++) {
        struct serve__zmember m;
        rc = serve__zmember_find(q, &k, &m, serve__zbag_member(q, &b->item[i]));
        if (rc == CARET_OK)
            rc = serve__zmember_put(q, &k, &m, b->item[i].score);
    }
    k.exists = was; /* then it only has another value */
    if (rc == CARET_OK && b->n > 0)
        rc = serve__key_save(q, &k);
    if (rc != CARET_OK)
        return rc;
    if (b->n > 0) {
        serve__changed(q, SERVE__EVENT_ZSET, event, name);
        serve__ready(q, name);
    } else if (was) {
        serve__changed(q, SERVE__EVENT_GENERIC, "del", name);
    }
    return serve__integer(q, (int64_t)b->n);
}
