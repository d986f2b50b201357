/*
 * tracking.h - CLIENT TRACKING: clients keep values that they have read, and are told when these change.
 *
 * Each worker remembers what its own clients have read (tracking_table.c) and which prefixes they want to hear of
 * (tracking_prefix.c).  Whoever changes a key tells, after the commit, its own clients and by letter (mail.h)
 * each worker whose bit in shared->tracked is set: it has clients which track, or keys in its table.  What a client has
 * read that tracks no more stays there until it is changed or the client ends, as the client may track again.
 *
 * No change may be missed:
 *
 *   a client reads, then another changes   the reader is in the table before its worker reads its next letter,
 *                                          and the letter is written after the commit
 *   a transaction reads and changes        reads wait for the commit among its events, in their order, and go into
 *                                          the table when their turn comes to be told (serve__tracking_read()): so the
 *                                          reader is told of what it changed after it read, and, as in Redis, not
 *                                          of what it had changed before.  Nothing that others changed is told
 *                                          between commit and reads: while a transaction of a client that tracks
 *                                          is there, no letter is read and no other change of this worker is made
 *                                          (it keeps the loop, and nothing is evicted or expires by the way)
 *   a script of such a client takes long   it loses the loop (handoff.h), and its reads get into no table: the client
 *                                          is told after the answer that all may have changed
 *   tracking begins while others write     a writer looks at `tracked` after its commit.  A bit that it did not
 *                                          know when the change was made: that worker is told that all may have
 *                                          changed
 *   a writer dies after its commit         its letter is lost: the supervisor has all workers forget all
 *   the reader's worker dies               its clients are cut with it
 *
 * "All may have changed" is the message of FLUSHALL: null.  A worker handles its letters before it serves what came
 * later from clients, so a client that reads what another was told is written is not told of that write.
 *   Messages to another client (REDIRECT) of another worker are letters as well; its row (clients.h) tells where
 * it is, and whether it is.
 */
#ifndef CARET_SERVER_TRACKING_H
#define CARET_SERVER_TRACKING_H

#include "server/worker.h"

struct serve__row;

enum {
    SERVE__TRACK_OPTIN = 1 << 0,
    SERVE__TRACK_OPTOUT = 1 << 1,
    SERVE__TRACK_NOLOOP = 1 << 2,
    SERVE__TRACK_CACHING = 1 << 3 /* CLIENT CACHING, for the next command */
};

/* Of a connection: made by its first CLIENT TRACKING ON, and freed when it ends. */
struct serve__tracking {
    struct serve__conn *c;
    struct serve__row *row; /* of the client `redirect` */
    uint64_t redirect;      /* 0: none */
    unsigned how;           /* SERVE__TRACK_* */
    uint32_t slot, generation;
    size_t prefix_bytes; /* of what it wants by BCAST */
};

/* A text that grows a key at a time: the elements of the array of a message. */
void serve__track_text(struct serve__buffer *b, caret_slice key);

/* Is the client there that t sends its messages to?  false, too, where it sends them to no other. */
bool serve__track_reaches(const struct serve__tracking *t);

/* Send an array of n elements, which `text` holds, to whom the messages of t go.  n 0: null. */
void serve__track_send(struct serve__worker *w, struct serve__tracking *t, unsigned n, caret_slice text);

/* ------------------------------------------------------ tracking_table.c */

/* The i-th of those that ever tracked, of this worker: NULL: it is gone.  And how many there are. */
struct serve__tracking *serve__tracker(uint32_t i);
uint32_t serve__trackers(void);

/* A slot for t; and give it up.  false: no memory. */
bool serve__track_begin(struct serve__tracking *t);
void serve__track_end(struct serve__worker *w, struct serve__tracking *t);

/* t has read a key; a key was changed by `writer` (0: none of ours); forget all. */
void serve__track_add(struct serve__worker *w, struct serve__tracking *t, caret_slice key);
void serve__track_changed(struct serve__worker *w, caret_slice key, const struct serve__conn *writer);
void serve__track_clear(struct serve__worker *w);

/* Give up keys over tracking-table-max-keys: their readers are told. */
void serve__track_limit(struct serve__worker *w);

/* ----------------------------------------------------- tracking_prefix.c */

/* The i-th of the prefixes of this worker's clients, in order; t is NULL or one that has to want it.  false: no
 * more; a prefix that t does not want has the data NULL. */
bool serve__prefix_at(uint32_t i, const struct serve__tracking *t, caret_slice *name);
bool serve__prefix_add(struct serve__worker *w, struct serve__tracking *t, caret_slice name);
void serve__prefixes_end(struct serve__worker *w, const struct serve__tracking *t);

/* A key was changed: it is told by serve__prefixes_send(), once a turn. */
void serve__prefixes_changed(struct serve__worker *w, caret_slice key, const struct serve__conn *writer);
void serve__prefixes_send(struct serve__worker *w);

/* ------------------------------------------------------------ tracking.c */

/* Is this worker told of changes? */
static inline bool serve__tracking_listens(const struct serve__worker *w)
{
    return w->tracked >> w->index & 1;
}

/* Called by the loop and by dispatch.  Others have begun or ended to track; one of ours has, or the table is empty; a
 * command has read keys (what a script reads: as in Redis all keys that it was given count as read, and no others), has
 * ended; the turn ends; after a commit: was there somebody that had just begun? */
void serve__tracking_refresh(struct serve__worker *w);
void serve__tracking_listen(struct serve__worker *w);
void serve__tracking_read(struct serve__call *q);
void serve__tracking_after(struct serve__conn *c, const struct serve__command *cmd);
void serve__tracking_turn(struct serve__worker *w);
void serve__tracking_late(struct serve__worker *w);

#endif
