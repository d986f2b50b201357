/*
 * group.h - groups of consumers of a stream, and what is pending of them.
 *
 *     ^redis(key,"","g",GROUP)          a group: its number N, 4 bytes; last id delivered, 16; entries read, 8
 *                                       (-1: not known); number of the next consumer, 4; its name
 *     ^redis(key,"",N,"c",CONSUMER)     a consumer: its number C, 4; when it was seen, 8; its name
 *     ^redis(key,"",N,"i",C)            the name of a consumer
 *     ^redis(key,"",N,"p",ms,seq)       a pending entry: when it was delivered, 8; how often, 8; to which C, 4
 *     ^redis(key,"",N,"q",C,ms,seq)     the same by consumer: empty
 *
 *   GROUP and CONSUMER are names as subscripts: `n` and the name, so that all are strings and in order of bytes; of a
 * long name its first 100 bytes, and its SHA-256.  Times are milliseconds since 1970.
 *   What is pending is not counted but by a walk over it, for those who ask: so XACK deletes two nodes and changes no
 * others, and consumers on several workers do not meet.
 */
#ifndef CARET_SERVER_STREAM_GROUP_H
#define CARET_SERVER_STREAM_GROUP_H

#include "server/stream/stream.h"

struct serve__group {
    caret_node_buf node; /* its record */
    caret_node_buf base; /* ^redis(key,"",N) */
    uint32_t number, consumers;
    struct serve__id last;
    int64_t read;
    caret_slice name; /* of whoever asks for it */
};

struct serve__consumer {
    caret_node_buf node; /* its record */
    caret_node_buf mine; /* ^redis(key,"",N,"q",C) */
    uint32_t number;
    int64_t seen;
    caret_slice name;
};

struct serve__pending {
    caret_node_buf node;
    struct serve__id id;
    int64_t when;
    uint64_t times;
    uint32_t consumer;
};

/* CARET_NONE: there is no such group, or consumer. */
int serve__group_open(struct serve__call *q, const struct serve__stream *x, struct serve__group *g,
                      caret_slice name);
int serve__group_save(struct serve__call *q, struct serve__group *g);
/* A new group; the caller saves the stream. */
int serve__group_make(struct serve__call *q, struct serve__stream *x, struct serve__group *g,
                      caret_slice name);
int serve__group_delete(struct serve__call *q, struct serve__group *g);

int serve__consumer_open(struct serve__call *q, const struct serve__group *g, struct serve__consumer *c,
                         caret_slice name);
/* The same, which is seen now, and made if it is not there. */
int serve__consumer_see(struct serve__call *q, struct serve__stream *x, struct serve__group *g,
                        struct serve__consumer *c, caret_slice name);
int serve__consumer_make(struct serve__call *q, struct serve__stream *x, struct serve__group *g,
                         struct serve__consumer *c, caret_slice name);
/* The same without an event, last seen then; c->node has been made by serve__consumer_open(). */
int serve__consumer_new(struct serve__call *q, struct serve__group *g, struct serve__consumer *c,
                        caret_slice name, int64_t seen);
/* With all that is pending of it. */
int serve__consumer_delete(struct serve__call *q, struct serve__group *g, struct serve__consumer *c);
/* The name that belongs to a number; it lives until the next call with the session. */
int serve__consumer_name(struct serve__call *q, const struct serve__group *g, uint32_t number,
                         caret_slice *name);

/* All groups of a stream, or consumers of a group (g not NULL), by name; the names live until the next call. */
struct serve__names {
    caret_node_buf node;
    bool begun;
};
int serve__names_begin(struct serve__names *i, const struct serve__stream *x, const struct serve__group *g);
int serve__groups_next(struct serve__call *q, const struct serve__stream *x, struct serve__names *i,
                       struct serve__group *g);
int serve__consumers_next(struct serve__call *q, const struct serve__group *g, struct serve__names *i,
                          struct serve__consumer *c);
/* How many there are. */
int serve__names_count(struct serve__call *q, struct serve__names *i, int64_t *n);

/* ---------------------------------------------------------------- pending */

/* The node below which a group has what is pending. */
int serve__pending_base(const struct serve__group *g, caret_node_buf *n);

int serve__pending_open(struct serve__call *q, const struct serve__group *g, struct serve__pending *p,
                        struct serve__id id);
/* Of a walk below serve__pending_base(): what its value says. */
void serve__pending_read(struct serve__pending *p, struct serve__id id, caret_slice value);
/* Write p->when, times, consumer: of one that is there already, or p->node has been made for it. */
int serve__pending_save(struct serve__call *q, struct serve__pending *p);
/* It is c's, whose else it was (p->consumer, 0: nobody's); it is not saved. */
int serve__pending_move(struct serve__call *q, const struct serve__group *g, struct serve__pending *p,
                        const struct serve__consumer *c);
int serve__pending_delete(struct serve__call *q, const struct serve__group *g, struct serve__pending *p);
/* How many are below a node: serve__pending_base(), or a consumer's `mine`. */
int serve__pending_count(struct serve__call *q, caret_node *n, int64_t *count);

#endif
