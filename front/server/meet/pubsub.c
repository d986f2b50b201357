/*
 * pubsub.c - SUBSCRIBE, PUBLISH, PUBSUB and their kin: pubsub.h.
 */
#include "server/meet/pubsub.h"

#include <stdlib.h>

#include "server/dispatch.h"
#include "server/meet/mail.h"

/* -------------------------------------------------------------- subscribe */

static const struct words {
    const char *subscribe, *unsubscribe;
} words[] = {[SERVE__CHANNEL] = {"subscribe", "unsubscribe"},
             [SERVE__PATTERN] = {"psubscribe", "punsubscribe"},
             [SERVE__SHARD] = {"ssubscribe", "sunsubscribe"}};

/* Channels and patterns are counted together. */
static int64_t counted(const struct serve__conn *c, enum serve__topic_kind kind)
{
    if (kind == SERVE__SHARD)
        return serve__subscribed(c, kind);
    return (int64_t)serve__subscribed(c, SERVE__CHANNEL) + serve__subscribed(c, SERVE__PATTERN);
}

static int answer(struct serve__call *q, const char *word, enum serve__topic_kind kind,
                  const caret_slice *name)
{
    if (serve__conn_silent(q->c))
        q->c->flags |= SERVE__CONN_PUSHED;
    serve__push(q, 3);
    serve__text(q, word);
    if (name != NULL)
        serve__bulk(q, name->data, name->len);
    else
        serve__null(q);
    return serve__integer(q, counted(q->c, kind));
}

static int subscribe(struct serve__call *q, enum serve__topic_kind kind)
{
    for (int i = 1; i < q->argc; i++) {
        serve__topic_add(q->w, q->c, kind, q->argv[i]);
        answer(q, words[kind].subscribe, kind, &q->argv[i]);
    }
    return CARET_OK;
}

static int unsubscribe_all(struct serve__call *q, enum serve__topic_kind kind)
{
    caret_slice name;
    if (serve__subscribed(q->c, kind) == 0)
        return answer(q, words[kind].unsubscribe, kind, NULL);
    while (serve__topic_first(q->c, kind, &name)) {
        struct serve__buffer *b = &q->r->work;
        b->len = 0;
        serve__buffer_add(b, name.data, name.len);
        name.data = b->data;
        serve__topic_remove(q->w, q->c, kind, name);
        answer(q, words[kind].unsubscribe, kind, &name);
    }
    return CARET_OK;
}

static int unsubscribe(struct serve__call *q, enum serve__topic_kind kind)
{
    if (q->argc == 1)
        return unsubscribe_all(q, kind);
    for (int i = 1; i < q->argc; i++) {
        serve__topic_remove(q->w, q->c, kind, q->argv[i]);
        answer(q, words[kind].unsubscribe, kind, &q->argv[i]);
    }
    return CARET_OK;
}

int serve__cmd_subscribe(struct serve__call *q)
{
    return subscribe(q, SERVE__CHANNEL);
}

int serve__cmd_psubscribe(struct serve__call *q)
{
    return subscribe(q, SERVE__PATTERN);
}

int serve__cmd_ssubscribe(struct serve__call *q)
{
    if (q->c->flags & SERVE__CONN_IN_EXEC) /* the others may be there, in Redis too */
        return serve__fail(q, "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
    return subscribe(q, SERVE__SHARD);
}

int serve__cmd_unsubscribe(struct serve__call *q)
{
    return unsubscribe(q, SERVE__CHANNEL);
}

int serve__cmd_punsubscribe(struct serve__call *q)
{
    return unsubscribe(q, SERVE__PATTERN);
}

int serve__cmd_sunsubscribe(struct serve__call *q)
{
    return unsubscribe(q, SERVE__SHARD);
}

/* In RESP2 a client that listens can do little else: what it reads are messages. */
bool serve__pubsub_refuses(struct serve__call *q)
{
    static serve__function *const allowed[] = {
        serve__cmd_subscribe,    serve__cmd_unsubscribe, serve__cmd_psubscribe,
        serve__cmd_punsubscribe, serve__cmd_ssubscribe,  serve__cmd_sunsubscribe,
        serve__cmd_ping,         serve__cmd_quit,        serve__cmd_reset};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (q->cmd->run == allowed[i])
            return false;
    if (q->c->reply.protocol > 2)
        return false;
    serve__reject(q,
                  "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                  "allowed in this context",
                  q->cmd->full);
    return true;
}

/* ---------------------------------------------------------------- publish */

/* As a letter, and as an event that waits for its commit: the length of the channel, channel, message. */
struct message {
    uint32_t kind, len;
};

uint64_t serve__publish(struct serve__worker *w, enum serve__topic_kind kind, caret_slice channel,
                        caret_slice message)
{
    struct message m = {kind, (uint32_t)channel.len};
    caret_slice parts[] = {{(const char *)&m, sizeof m}, channel, message};
    uint64_t n = serve__topics_tell(w, kind, channel, message);
    uint64_t hash = serve__topic_hash(kind, channel);
    for (int i = 0; i < w->shared->nworkers; i++) {
        bool send = false;
        if (i != w->index)
            n += serve__directory_listeners(w->shared->directory[i], kind, channel, hash, &send);
        if (send)
            serve__mail_write(w, i, SERVE__LETTER_message, parts, 3, true);
    }
    return n;
}

void serve__letter_message(struct serve__worker *w, int from, const char *data, size_t len)
{
    struct message m;
    (void)from;
    memcpy(&m, data, sizeof m);
    data += sizeof m;
    serve__topics_tell(w, m.kind, (caret_slice){data, m.len},
                       (caret_slice){data + m.len, len - sizeof m - m.len});
}

/* How many would get it, if it were sent now. */
static uint64_t listeners(struct serve__worker *w, enum serve__topic_kind kind, caret_slice channel)
{
    uint64_t n = 0, hash = serve__topic_hash(kind, channel);
    bool send;
    for (int i = 0; i < w->shared->nworkers; i++)
        n += serve__directory_listeners(w->shared->directory[i], kind, channel, hash, &send);
    return n;
}

/* The transaction of a message was committed. */
void serve__publish_tell(struct serve__worker *w, unsigned class, const char *event, unsigned db,
                         caret_slice data)
{
    struct message m;
    (void)class, (void)event, (void)db;
    memcpy(&m, data.data, sizeof m);
    const char *channel = data.data + sizeof m;
    serve__publish(w, m.kind, (caret_slice){channel, m.len},
                   (caret_slice){channel + m.len, data.len - sizeof m - m.len});
}

static int publish(struct serve__call *q, enum serve__topic_kind kind)
{
    caret_slice channel = q->argv[1], message = q->argv[2];
    if (caret_txn_level(q->s) == 0 && q->reply == &q->c->reply && !serve__conn_silent(q->c))
        return serve__integer(q, (int64_t)serve__publish(q->w, kind, channel, message));
    struct message m = {kind, (uint32_t)channel.len};
    caret_slice parts[] = {{(const char *)&m, sizeof m}, channel, message};
    serve__interest(q->w, SERVE__TELL_PUBLISH, SERVE__EVENT_PUBLISH);
    serve__event_add(q, SERVE__EVENT_PUBLISH, NULL, parts, 3);
    return serve__integer(q, (int64_t)listeners(q->w, kind, channel));
}

int serve__cmd_publish(struct serve__call *q)
{
    return publish(q, SERVE__CHANNEL);
}

int serve__cmd_spublish(struct serve__call *q)
{
    return publish(q, SERVE__SHARD);
}

/* ----------------------------------------------------------------- PUBSUB */

static int by_name(const void *a, const void *b)
{
    const caret_slice *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* The names of all topics of a kind, each once: an array to be freed, whose bytes are in q->r->scratch.  NULL: no
 * memory. */
static caret_slice *all_names(struct serve__call *q, enum serve__topic_kind kind, size_t *n)
{
    struct serve__buffer *b = &q->r->scratch;
    size_t found = 0, kept = 0;
    b->len = 0;
    for (int i = 0; i < q->w->shared->nworkers; i++)
        serve__directory_names(q->w->shared->directory[i], kind, b);
    caret_slice *names = malloc((b->len / 4 + 1) * sizeof *names);
    for (size_t at = 0; names != NULL && at < b->len;) {
        uint32_t len;
        memcpy(&len, b->data + at, sizeof len);
        names[found++] = (caret_slice){b->data + at + sizeof len, len};
        at += sizeof len + len;
    }
    if (found > 1)
        qsort(names, found, sizeof *names, by_name);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || by_name(&names[i], &names[i - 1]) != 0)
            names[kept++] = names[i];
    *n = kept;
    return names;
}

static int channels(struct serve__call *q, enum serve__topic_kind kind)
{
    size_t n, matching = 0;
    if (q->argc > 3)
        return serve__wrong_subcommand(q);
    caret_slice *names = all_names(q, kind, &n);
    if (names == NULL)
        return CARET_E_NOMEM;
    size_t place = serve__open(q);
    for (size_t i = 0; i < n; i++)
        if (q->argc == 2 ||
            serve__glob(q->argv[2].data, q->argv[2].len, names[i].data, names[i].len, false)) {
            serve__bulk(q, names[i].data, names[i].len);
            matching++;
        }
    free(names);
    return serve__close_array(q, place, matching);
}

int serve__cmd_pubsub_channels(struct serve__call *q)
{
    return channels(q, SERVE__CHANNEL);
}

int serve__cmd_pubsub_shardchannels(struct serve__call *q)
{
    return channels(q, SERVE__SHARD);
}

static int numsub(struct serve__call *q, enum serve__topic_kind kind)
{
    serve__array(q, 2 * (size_t)(q->argc - 2));
    for (int i = 2; i < q->argc; i++) {
        uint64_t n = 0, hash = serve__topic_hash(kind, q->argv[i]);
        for (int k = 0; k < q->w->shared->nworkers; k++)
            n += serve__directory_count(q->w->shared->directory[k], kind, q->argv[i], hash);
        serve__bulk(q, q->argv[i].data, q->argv[i].len);
        serve__integer(q, (int64_t)n);
    }
    return CARET_OK;
}

int serve__cmd_pubsub_numsub(struct serve__call *q)
{
    return numsub(q, SERVE__CHANNEL);
}

int serve__cmd_pubsub_shardnumsub(struct serve__call *q)
{
    return numsub(q, SERVE__SHARD);
}

uint64_t serve__topics_count(struct serve__call *q, enum serve__topic_kind kind)
{
    size_t n = 0;
    free(all_names(q, kind, &n));
    return n;
}

int serve__cmd_pubsub_numpat(struct serve__call *q)
{
    return serve__integer(q, (int64_t)serve__topics_count(q, SERVE__PATTERN));
}

int serve__cmd_pubsub_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CHANNELS [<pattern>]",
        "    Return the channels that somebody has subscribed to, or those that fit a <pattern> (default: "
        "'*').",
        "NUMPAT",
        "    Return the number of patterns that somebody has subscribed to.",
        "NUMSUB [<channel> ...]",
        "    Return how many have subscribed to each <channel>, patterns not counted.",
        "SHARDCHANNELS [<pattern>]",
        "    Return the shard channels that somebody has subscribed to, or those that fit a <pattern>.",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Return how many have subscribed to each <shardchannel>.",
        "HELP",
        "    Print this help.",
        NULL};
    return serve__help(q, lines);
}

/* ----------------------------------------------------------------- output */

void serve__push_to(struct serve__worker *w, struct serve__conn *c, const char *bytes, size_t len)
{
    if (c->reply.protocol > 2) {
        serve__conn_add(w, c, bytes, len);
        return;
    }
    serve__conn_add(w, c, "*", 1);
    serve__conn_add(w, c, bytes + 1, len - 1);
}
