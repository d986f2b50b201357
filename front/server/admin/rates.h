/*
 * rates.h - how much is done a second, as INFO tells it.
 *
 * Each worker has a turn ten times a second at least.  Whoever is first after a tenth of a second, which a
 * compare-and-swap of `rated` tells, notes the sums of all workers, in the place of the oldest note.  A note has its
 * time last, so one that is being written, or whose writer was killed, is none.
 */
#ifndef CARET_SERVER_RATES_H
#define CARET_SERVER_RATES_H

#include "server/worker.h"

void serve__rates_turn(struct serve__worker *w);

/* A second, of about the last one and a half. */
struct serve__rates {
    double commands, in, out; /* in, out: bytes */
};
struct serve__rates serve__rates_now(struct serve__shared *s, int64_t now);

#endif
