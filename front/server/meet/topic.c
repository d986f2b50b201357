/*
 * topic.c - what the clients of this worker listen to: pubsub.h.
 *
 * Topics are in a hash table, patterns in a list as well.  A topic has the list of its clients, and each
 * client the list of its topics; to look for one in the other the shorter is walked.
 */
#include <stdlib.h>

#include "server/conn.h"
#include "server/meet/pubsub.h"
#include "server/worker.h"

struct serve__topic {
    struct serve__topic *chain; /* of its bucket */
    struct serve__topic *next_pattern, **back_pattern;
    struct serve__conn **client;
    uint32_t n, cap, place; /* place: in our directory, 0: it had no room */
    enum serve__topic_kind kind;
    uint64_t hash;
    size_t len;
    char name[];
};

static struct serve__topic **bucket; /* a power of two of them */
static size_t nbuckets, ntopics;
static struct serve__topic *patterns, **last_pattern = &patterns;

/* -------------------------------------------------------------- directory */

static caret_slice name_of(const struct serve__topic *t)
{
    return (caret_slice){t->name, t->len};
}

/* It is full, also of topics that were: write it anew. */
static void write_anew(struct serve__directory *d)
{
    bool all = true;
    serve__directory_reset(d);
    for (size_t i = 0; i < nbuckets; i++)
        for (struct serve__topic *t = bucket[i]; t != NULL; t = t->chain) {
            t->place = 0;
            all = serve__directory_set(d, t->kind, name_of(t), t->hash, t->n, &t->place) && all;
        }
    serve__directory_overflow(d, !all);
}

static void tell_directory(struct serve__worker *w, struct serve__topic *t)
{
    struct serve__directory *d = w->shared->directory[w->index];
    if (!serve__directory_set(d, t->kind, name_of(t), t->hash, t->n, &t->place))
        write_anew(d);
}

/* ------------------------------------------------------------------ table */

static bool more_buckets(void)
{
    size_t n = nbuckets > 0 ? nbuckets * 2 : 64;
    struct serve__topic **more = calloc(n, sizeof *more);
    if (more == NULL)
        return false;
    for (size_t i = 0; i < nbuckets; i++)
        for (struct serve__topic *t = bucket[i], *next; t != NULL; t = next) {
            next = t->chain;
            t->chain = more[t->hash & (n - 1)];
            more[t->hash & (n - 1)] = t;
        }
    free(bucket);
    bucket = more;
    nbuckets = n;
    return true;
}

static struct serve__topic *find(enum serve__topic_kind kind, caret_slice name, uint64_t hash)
{
    struct serve__topic *t = ntopics > 0 ? bucket[hash & (nbuckets - 1)] : NULL;
    for (; t != NULL; t = t->chain)
        if (t->hash == hash && t->kind == kind && t->len == name.len &&
            memcmp(t->name, name.data, name.len) == 0)
            break;
    return t;
}

static struct serve__topic *make(enum serve__topic_kind kind, caret_slice name, uint64_t hash)
{
    if (ntopics >= nbuckets && !more_buckets() && nbuckets == 0)
        return NULL;
    struct serve__topic *t = calloc(1, sizeof *t + name.len);
    if (t == NULL)
        return NULL;
    t->kind = kind;
    t->hash = hash;
    t->len = name.len;
    memcpy(t->name, name.data, name.len);
    t->chain = bucket[hash & (nbuckets - 1)];
    bucket[hash & (nbuckets - 1)] = t;
    ntopics++;
    if (kind == SERVE__PATTERN) {
        t->back_pattern = last_pattern;
        *last_pattern = t;
        last_pattern = &t->next_pattern;
    }
    return t;
}

static void end_topic(struct serve__topic *t)
{
    struct serve__topic **p = &bucket[t->hash & (nbuckets - 1)];
    while (*p != t)
        p = &(*p)->chain;
    *p = t->chain;
    ntopics--;
    if (t->kind == SERVE__PATTERN) {
        *t->back_pattern = t->next_pattern;
        if (t->next_pattern != NULL)
            t->next_pattern->back_pattern = t->back_pattern;
        else
            last_pattern = t->back_pattern;
    }
    free(t->client);
    free(t);
}

/* ---------------------------------------------------------------- clients */

static bool listens(const struct serve__conn *c, const struct serve__topic *t)
{
    const struct serve__subscriptions *s = c->subscriptions;
    if (s == NULL)
        return false;
    if (s->n <= t->n) {
        for (uint32_t i = 0; i < s->n; i++)
            if (s->topic[i] == t)
                return true;
        return false;
    }
    for (uint32_t i = 0; i < t->n; i++)
        if (t->client[i] == c)
            return true;
    return false;
}

/* Room for one more in a list. */
static bool make_room(void *list, uint32_t n, uint32_t *cap)
{
    void **p = list;
    if (n < *cap)
        return true;
    uint32_t more = *cap > 0 ? *cap * 2 : 4;
    void *grown = realloc(*p, more * sizeof(void *));
    if (grown == NULL)
        return false;
    *p = grown;
    *cap = more;
    return true;
}

uint32_t serve__subscribed(const struct serve__conn *c, enum serve__topic_kind kind)
{
    return c->subscriptions != NULL ? c->subscriptions->of[kind] : 0;
}

bool serve__topic_add(struct serve__worker *w, struct serve__conn *c, enum serve__topic_kind kind,
                      caret_slice name)
{
    uint64_t hash = serve__topic_hash(kind, name);
    struct serve__topic *t = find(kind, name, hash);
    if (t != NULL && listens(c, t))
        return false;
    if (c->subscriptions == NULL && (c->subscriptions = calloc(1, sizeof *c->subscriptions)) == NULL)
        return false;
    struct serve__subscriptions *s = c->subscriptions;
    if (t == NULL && (t = make(kind, name, hash)) == NULL)
        return false;
    if (!make_room(&t->client, t->n, &t->cap) || !make_room(&s->topic, s->n, &s->cap)) {
        if (t->n == 0)
            end_topic(t);
        return false;
    }
    t->client[t->n++] = c;
    s->topic[s->n++] = t;
    s->of[kind]++;
    c->flags |= SERVE__CONN_PUBSUB;
    tell_directory(w, t);
    return true;
}

/* Order is kept: messages go out in the order of subscription. */
static void take_out(void *list, uint32_t *n, const void *what)
{
    void **p = list;
    uint32_t i = *n;
    while (i > 0 && p[i - 1] != what)
        i--;
    if (i == 0)
        return;
    memmove(p + i - 1, p + i, (*n - i) * sizeof *p);
    --*n;
}

static void leave(struct serve__worker *w, struct serve__conn *c, struct serve__topic *t)
{
    struct serve__subscriptions *s = c->subscriptions;
    take_out(t->client, &t->n, c);
    take_out(s->topic, &s->n, t);
    s->of[t->kind]--;
    tell_directory(w, t);
    if (t->n == 0)
        end_topic(t);
    if (s->n == 0) {
        free(s->topic);
        free(s);
        c->subscriptions = NULL;
        c->flags &= ~(unsigned)SERVE__CONN_PUBSUB;
    }
}

bool serve__topic_remove(struct serve__worker *w, struct serve__conn *c, enum serve__topic_kind kind,
                         caret_slice name)
{
    struct serve__topic *t = find(kind, name, serve__topic_hash(kind, name));
    if (t == NULL || !listens(c, t))
        return false;
    leave(w, c, t);
    return true;
}

bool serve__topic_first(const struct serve__conn *c, enum serve__topic_kind kind, caret_slice *name)
{
    const struct serve__subscriptions *s = c->subscriptions;
    for (uint32_t i = 0; s != NULL && i < s->n; i++)
        if (s->topic[i]->kind == kind) {
            *name = name_of(s->topic[i]);
            return true;
        }
    return false;
}

bool serve__topic_at(const struct serve__conn *c, uint32_t i, enum serve__topic_kind kind, caret_slice *name)
{
    const struct serve__subscriptions *s = c->subscriptions;
    if (s == NULL || i >= s->n)
        return false;
    *name = s->topic[i]->kind == kind ? name_of(s->topic[i]) : (caret_slice){NULL, 0};
    return true;
}

void serve__conn_gone_pubsub(struct serve__worker *w, struct serve__conn *c)
{
    while (c->subscriptions != NULL)
        leave(w, c, c->subscriptions->topic[c->subscriptions->n - 1]);
}

/* --------------------------------------------------------------- messages */

static struct serve__buffer text; /* a message as RESP3 */

static void add_bulk(caret_slice s)
{
    serve__buffer_print(&text, "$%zu\r\n", s.len);
    serve__buffer_add(&text, s.data, s.len);
    serve__buffer_add(&text, "\r\n", 2);
}

static uint64_t send_to(struct serve__worker *w, const struct serve__topic *t)
{
    for (uint32_t i = 0; i < t->n && !text.failed; i++)
        serve__push_to(w, t->client[i], text.data, text.len);
    if (text.failed || text.cap > 1024 * 1024)
        serve__buffer_free(&text);
    return t->n;
}

static uint64_t tell_channel(struct serve__worker *w, enum serve__topic_kind kind, caret_slice channel,
                             caret_slice message)
{
    struct serve__topic *t = find(kind, channel, serve__topic_hash(kind, channel));
    if (t == NULL)
        return 0;
    const char *word = kind == SERVE__SHARD ? "smessage" : "message";
    text.len = 0;
    serve__buffer_print(&text, ">3\r\n$%zu\r\n%s\r\n", strlen(word), word);
    add_bulk(channel);
    add_bulk(message);
    return send_to(w, t);
}

static uint64_t tell_pattern(struct serve__worker *w, struct serve__topic *t, caret_slice channel,
                             caret_slice message)
{
    if (!serve__glob(t->name, t->len, channel.data, channel.len, false))
        return 0;
    text.len = 0;
    serve__buffer_print(&text, ">4\r\n$8\r\npmessage\r\n");
    add_bulk(name_of(t));
    add_bulk(channel);
    add_bulk(message);
    return send_to(w, t);
}

uint64_t serve__topics_tell(struct serve__worker *w, enum serve__topic_kind kind, caret_slice channel,
                            caret_slice message)
{
    uint64_t n = ntopics > 0 ? tell_channel(w, kind, channel, message) : 0;
    if (kind == SERVE__CHANNEL)
        for (struct serve__topic *t = patterns; t != NULL; t = t->next_pattern)
            n += tell_pattern(w, t, channel, message);
    return n;
}
