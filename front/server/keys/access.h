/*
 * access.h - when keys were used last, or how often: for the policies of maxmemory that ask, and OBJECT.
 *
 * A table in shared memory, of 2^20 entries, has a number for all keys of one hash; nothing of it is on the disk.  Two
 * keys of one entry count as one that is used as both are.  Workers store without a lock: what is lost is one use.
 *
 *   lru  the second since 1970 of the last use; 0: none since the server started
 *   lfu  minutes << 8 | count: the count grows by one with a probability that falls as it grows (lfu-log-factor), and
 *        falls by one each lfu-decay-time minutes without a use, as in Redis
 *
 * It is kept while maxmemory-policy is one of lru or lfu: w->access is NULL otherwise, which is all that a command
 * looks at then.
 */
#ifndef CARET_SERVER_ACCESS_H
#define CARET_SERVER_ACCESS_H

#include "server/worker.h"

enum { SERVE__ACCESSES = 1 << 20, SERVE__FREQ_NEW = 5, SERVE__FREQ_MOST = 255 };

/* After a change of the configuration. */
void serve__access_choose(struct serve__worker *w);
bool serve__access_counts(const struct serve__worker *w); /* lfu */

/* The key is used now. */
void serve__access_note(struct serve__call *q, caret_slice name);

/* Seconds since it was used; how often. */
uint32_t serve__access_idle(struct serve__call *q, caret_slice name);
unsigned serve__access_freq(struct serve__call *q, caret_slice name);

/* RESTORE IDLETIME, FREQ. */
void serve__access_set_idle(struct serve__call *q, caret_slice name, int64_t seconds);
void serve__access_set_freq(struct serve__call *q, caret_slice name, int64_t freq);

#endif
