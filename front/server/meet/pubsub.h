/*
 * pubsub.h - publish and subscribe over all workers.
 *
 * A topic is a channel, a pattern or a shard channel that clients of this worker listen to (topic.c).  A
 * message goes to them at once, and as a letter (mail.h) to each worker whose directory (directory.h) says
 * that somebody there listens; all of them are counted for the answer of PUBLISH.
 *   A message is sent to each client that listens at most once a topic, in the order in which each client
 * published: none is doubled.  It may be lost when the worker of its sender or receiver is killed, or with
 * a worker that does not take 64 MiB of them.
 *   Within a transaction a message waits for the commit, and is forgotten by a restart.
 */
#ifndef CARET_SERVER_PUBSUB_H
#define CARET_SERVER_PUBSUB_H

#include "server/meet/directory.h"

/* Topics of a connection: c->subscriptions, NULL while there are none. */
struct serve__topic;
struct serve__subscriptions {
    struct serve__topic **topic;
    uint32_t n, cap;
    uint32_t of[3]; /* how many, by serve__topic_kind */
};

/* How many of a kind c listens to. */
uint32_t serve__subscribed(const struct serve__conn *c, enum serve__topic_kind kind);

/* Listen to a topic, or no longer: false, if it did or did not already.  No memory is as if it did. */
bool serve__topic_add(struct serve__worker *w, struct serve__conn *c, enum serve__topic_kind kind,
                      caret_slice name);
bool serve__topic_remove(struct serve__worker *w, struct serve__conn *c, enum serve__topic_kind kind,
                         caret_slice name);

/* The name of the first topic of a kind that c listens to; false: there is none. */
bool serve__topic_first(const struct serve__conn *c, enum serve__topic_kind kind, caret_slice *name);

/* The i-th topic of c, of whatever kind; its name is NULL if it is of another kind.  false: there are no more. */
bool serve__topic_at(const struct serve__conn *c, uint32_t i, enum serve__topic_kind kind, caret_slice *name);

/* Send a message to all clients of this worker that listen: how many. */
uint64_t serve__topics_tell(struct serve__worker *w, enum serve__topic_kind kind, caret_slice channel,
                            caret_slice message);

/* To all of all workers, now: how many. */
uint64_t serve__publish(struct serve__worker *w, enum serve__topic_kind kind, caret_slice channel,
                        caret_slice message);

/* How many different topics of a kind somebody has subscribed to. */
uint64_t serve__topics_count(struct serve__call *q, enum serve__topic_kind kind);

/* Append a message to the output of a client that is not being served: bytes of RESP3, whose first says '>'.
 * A client that does not take its messages is ended (client-output-buffer-limit). */
void serve__push_to(struct serve__worker *w, struct serve__conn *c, const char *bytes, size_t len);

static inline uint64_t serve__topic_hash(enum serve__topic_kind kind, caret_slice name)
{
    uint64_t h = 14695981039346656037u ^ kind;
    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.data[i]) * 1099511628211u;
    return h ^ h >> 32;
}

#endif
