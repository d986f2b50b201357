/*
 * id.h - ids of streams, and what is ordered by them below a node.
 *
 * An id is two numbers of 64 bits, milliseconds and a sequence number.  As a node it is two subscripts,
 * ^redis(key,ms,seq), each a number if it has at most 18 digits, else `s` and 16 hexadecimal digits: strings
 * come after numbers, so the order of nodes is that of ids.
 *   A stream keeps several things by id, and all are walked alike: its entries, its blocks (block.h), and what
 * is pending of a group or of a consumer (group.h).
 */
#ifndef CARET_SERVER_STREAM_ID_H
#define CARET_SERVER_STREAM_ID_H

#include "server/call.h"
#include "server/keys/little.h"

struct serve__id {
    uint64_t ms, seq;
};

#define SERVE__ID_MIN  ((struct serve__id){0, 0})
#define SERVE__ID_MAX  ((struct serve__id){UINT64_MAX, UINT64_MAX})
#define SERVE__ID_ROOM 44u

static inline int serve__id_compare(struct serve__id a, struct serve__id b)
{
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

static inline bool serve__id_is_zero(struct serve__id id)
{
    return id.ms == 0 && id.seq == 0;
}

/* The id after it, and before it.  false: there is none. */
bool serve__id_after(struct serve__id *id);
bool serve__id_before(struct serve__id *id);

size_t serve__id_text(char text[SERVE__ID_ROOM], struct serve__id id);
int serve__answer_id(struct serve__call *q, struct serve__id id);

/*
 * Read an id: "12-3"; "12", which gets the number `seq`; unless `strict` "-" and "+" for the least and the
 * greatest.  With `any` not NULL "12-*" is an id too, and *any tells so.  serve__id_read() fails in Redis' words.
 */
bool serve__id_parse(caret_slice text, uint64_t seq, bool strict, bool *any, struct serve__id *id);
int serve__id_read(struct serve__call *q, caret_slice text, uint64_t seq, bool strict, bool *any,
                   struct serve__id *id);

/* One end of an interval: also "(12-3", which is the id after (`first`) or before that one. */
int serve__id_read_end(struct serve__call *q, caret_slice text, bool first, struct serve__id *id);

/* The node of an id below `base`. */
int serve__id_node(caret_node_buf *n, const caret_node *base, struct serve__id id);

/* A walk over what is below `base`, from one id to another, both included; backward if `from` is greater. */
struct serve__walk {
    caret_node_buf node, last;
    unsigned depth; /* of base */
    bool back, first;
};
int serve__walk_begin(struct serve__walk *i, const caret_node *base, struct serve__id from,
                      struct serve__id to, bool back);
/* The next one: its id, and its value, which lives until the next call with the session.  CARET_NONE: that
 * was all.  It may be deleted on the way. */
int serve__walk_next(struct serve__call *q, struct serve__walk *i, struct serve__id *id, caret_slice *value);

/* The first (or the last, `back`) between two ids. */
int serve__walk_one(struct serve__call *q, const caret_node *base, struct serve__id from, struct serve__id to,
                    bool back, struct serve__id *id, caret_slice *value);

/* Delete all below `base` whose id is less than this one; NULL: all. */
int serve__id_kill(struct serve__call *q, const caret_node *base, const struct serve__id *before);

static inline struct serve__id serve__load_id(const void *at)
{
    return (struct serve__id){serve__load(at, 8), serve__load((const char *)at + 8, 8)};
}
static inline void serve__store_id(void *at, struct serve__id id)
{
    serve__store(at, id.ms, 8);
    serve__store((char *)at + 8, id.seq, 8);
}

#endif
