/*
 * directory.h - what is listened to: the subscriptions of all workers, in shared memory.
 *
 * A worker that publishes has to know how many clients of other workers get the message, before any of them
 * has it; so each worker keeps a directory of its channels and patterns where all others can read it.  Only
 * the worker itself writes to its own.
 *
 *   writer   makes `version` odd, changes, makes it even again
 *   reader   looks, and believes it if `version` was even, and the same before and after.  After
 *            many vain looks it takes the worker for one that listens to everything, with no clients
 *
 * A worker that dies leaves a directory that is wrong, or odd: the supervisor empties it, and so does the
 * successor.  Until then messages to clients that are gone are counted.
 *   There is room for SERVE__CHANNELS channels and SERVE__PATTERNS patterns of a worker, and for so many bytes of
 * their names.  A worker that has more says so (`overflow`): it gets all messages, but those of its clients
 * that are not in the directory are not counted.
 */
#ifndef CARET_SERVER_DIRECTORY_H
#define CARET_SERVER_DIRECTORY_H

#include "server/call.h"
#include "server/shared.h"

enum {
    SERVE__CHANNELS = 24576,
    SERVE__CHANNEL_SLOTS = 32768,
    SERVE__PATTERNS = 4096,
    SERVE__NAMES = 4 << 20
};

enum serve__topic_kind { SERVE__CHANNEL, SERVE__PATTERN, SERVE__SHARD };

struct serve__directory;

/* Map those of all workers.  In the supervisor, before the first fork.  false: errno tells. */
bool serve__directory_make(struct serve__shared *s);

/* Of a worker: empty, whatever it was. */
void serve__directory_reset(struct serve__directory *d);

/* Of this worker: a topic has so many clients now, 0: it is taken out.  `place` is 0 before the first call,
 * and belongs to the directory.  false: there is no room. */
bool serve__directory_set(struct serve__directory *d, enum serve__topic_kind kind, caret_slice name,
                          uint64_t hash, uint32_t count, uint32_t *place);

/* Some topics have no room: messages are sent to the worker in any case. */
void serve__directory_overflow(struct serve__directory *d, bool yes);

/* How many clients of the worker listen to a channel, patterns too; *send: it has to have the message. */
uint64_t serve__directory_listeners(const struct serve__directory *d, enum serve__topic_kind kind,
                                    caret_slice name, uint64_t hash, bool *send);

/* How many have subscribed to exactly this. */
uint64_t serve__directory_count(const struct serve__directory *d, enum serve__topic_kind kind,
                                caret_slice name, uint64_t hash);

/* Append the names of all of a kind to `to`: length (4 bytes) and bytes of each. */
void serve__directory_names(const struct serve__directory *d, enum serve__topic_kind kind,
                            struct serve__buffer *to);

#endif
