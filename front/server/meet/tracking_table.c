/*
 * tracking_table.c - which client of this worker has read which keys: tracking.h.
 *
 * A hash table of the names of keys, of whatever database, each with the slots of its readers.  A slot is used
 * again when its client is gone, with another generation, so what is left of a client in the table is nobody.
 */
#include <stdlib.h>

#include "server/meet/pubsub.h"
#include "server/meet/tracking.h"

struct reader {
    uint32_t slot, generation;
};

struct entry {
    struct entry *next;
    uint64_t hash;
    struct reader *reader;
    uint32_t n, cap;
    size_t len;
    char name[];
};

static struct serve__tracking **slots;
static uint32_t nslots, generation;
static struct entry **table;
static size_t size, hand;

/* ------------------------------------------------------------------ slots */

struct serve__tracking *serve__tracker(uint32_t i)
{
    return slots[i];
}

uint32_t serve__trackers(void)
{
    return nslots;
}

bool serve__track_begin(struct serve__tracking *t)
{
    uint32_t i = 0;
    while (i < nslots && slots[i] != NULL)
        i++;
    if (i == nslots) {
        uint32_t more = nslots > 0 ? 2 * nslots : 16;
        struct serve__tracking **grown = realloc(slots, more * sizeof(struct serve__tracking *));
        if (grown == NULL)
            return false;
        memset(grown + nslots, 0, (more - nslots) * sizeof(struct serve__tracking *));
        slots = grown;
        nslots = more;
    }
    t->slot = i;
    t->generation = ++generation;
    slots[i] = t;
    return true;
}

void serve__track_end(struct serve__worker *w, struct serve__tracking *t)
{
    slots[t->slot] = NULL;
    for (uint32_t i = 0; i < nslots; i++)
        if (slots[i] != NULL)
            return;
    serve__track_clear(w);
}

/* ------------------------------------------------------------------ table */

static void count(struct serve__worker *w, int64_t keys, int64_t items)
{
    serve__add(&w->stats->tracked_keys, (uint64_t)keys);
    serve__add(&w->stats->tracked_items, (uint64_t)items);
}

static struct entry **place_of(caret_slice key, uint64_t hash)
{
    struct entry **p = &table[hash & (size - 1)];
    while (*p != NULL &&
           ((*p)->hash != hash || (*p)->len != key.len || memcmp((*p)->name, key.data, key.len) != 0))
        p = &(*p)->next;
    return p;
}

static void grow(void)
{
    size_t more = size > 0 ? 2 * size : 1024;
    struct entry **grown = calloc(more, sizeof(struct entry *));
    if (grown == NULL)
        return;
    for (size_t i = 0; i < size; i++)
        for (struct entry *e = table[i], *next; e != NULL; e = next) {
            next = e->next;
            e->next = grown[e->hash & (more - 1)];
            grown[e->hash & (more - 1)] = e;
        }
    free(table);
    table = grown;
    size = more;
}

static struct entry *add_entry(struct serve__worker *w, struct entry **at, caret_slice key, uint64_t hash)
{
    struct entry *e = malloc(sizeof *e + key.len);
    if (e == NULL)
        return NULL;
    *e = (struct entry){.hash = hash, .len = key.len};
    memcpy(e->name, key.data, key.len);
    *at = e;
    count(w, 1, 0);
    return e;
}

static bool add_reader(struct serve__worker *w, struct entry *e, const struct serve__tracking *t)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (e->reader[i].slot == t->slot) {
            e->reader[i].generation = t->generation;
            return true;
        }
    if (e->n == e->cap) {
        uint32_t more = e->cap > 0 ? 2 * e->cap : 1;
        struct reader *grown = realloc(e->reader, more * sizeof *grown);
        if (grown == NULL)
            return false;
        e->reader = grown;
        e->cap = more;
    }
    e->reader[e->n++] = (struct reader){t->slot, t->generation};
    count(w, 0, 1);
    return true;
}

static void send_one(struct serve__worker *w, struct serve__tracking *t, caret_slice key)
{
    struct serve__buffer b = {0};
    serve__track_text(&b, key);
    serve__track_send(w, t, 1, (caret_slice){b.data, b.len});
    serve__buffer_free(&b);
}

void serve__track_add(struct serve__worker *w, struct serve__tracking *t, caret_slice key)
{
    uint64_t hash = serve__topic_hash(SERVE__CHANNEL, key);
    if (w->stats->tracked_keys >= size)
        grow();
    struct entry **at = size > 0 ? place_of(key, hash) : NULL;
    struct entry *e = at == NULL ? NULL : *at != NULL ? *at : add_entry(w, at, key, hash);
    if (e == NULL || !add_reader(w, e, t))
        send_one(w, t, key); /* no memory: it is not to keep it */
}

static void tell_readers(struct serve__worker *w, const struct entry *e, const struct serve__conn *writer)
{
    for (uint32_t i = 0; i < e->n; i++) {
        struct serve__tracking *t = slots[e->reader[i].slot];
        if (t != NULL && t->generation == e->reader[i].generation && (t->c->flags & SERVE__CONN_TRACKING) &&
            !(t->c->flags & SERVE__CONN_BCAST) && !((t->how & SERVE__TRACK_NOLOOP) && t->c == writer))
            send_one(w, t, (caret_slice){e->name, e->len});
    }
}

static void remove_at(struct serve__worker *w, struct entry **at)
{
    struct entry *e = *at;
    *at = e->next;
    count(w, -1, -(int64_t)e->n);
    free(e->reader);
    free(e);
}

void serve__track_changed(struct serve__worker *w, caret_slice key, const struct serve__conn *writer)
{
    struct entry **at = size > 0 ? place_of(key, serve__topic_hash(SERVE__CHANNEL, key)) : NULL;
    if (at == NULL || *at == NULL)
        return;
    tell_readers(w, *at, writer);
    remove_at(w, at);
}

void serve__track_clear(struct serve__worker *w)
{
    for (size_t i = 0; i < size; i++)
        while (table[i] != NULL)
            remove_at(w, &table[i]);
    free(table);
    table = NULL;
    size = 0;
}

void serve__track_limit(struct serve__worker *w)
{
    uint64_t most = (uint64_t)w->config.n[SERVE__CFG_tracking_table_max_keys];
    while (most > 0 && w->stats->tracked_keys > most) {
        struct entry **at = &table[hand++ & (size - 1)];
        if (*at != NULL) {
            tell_readers(w, *at, NULL);
            remove_at(w, at);
        }
    }
}
