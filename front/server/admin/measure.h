/*
 * measure.h - how long commands take and what goes wrong: histograms, the slow log, spikes, errors.
 *
 * All of it is in shared memory, so each worker tells of all.
 *
 * | part      | written by                    | what a killed writer costs |
 * | histogram | its worker                    | nothing (codec/latency.h)  |
 * | slow log  | a worker that has the lock of shared.h; `id` last | that entry |
 * | spikes    | a worker that has the lock    | that sample                |
 * | errors    | names: a worker that has the lock, `used` last; counts: all, by fetch_add | nothing |
 *
 * A clock is read once a command, or a row of them: the end of one is the beginning of the next of the same batch.
 */
#ifndef CARET_SERVER_MEASURE_H
#define CARET_SERVER_MEASURE_H

#include "server/call.h"
#include "server/codec/latency.h"
#include "server/shared.h"

enum {
    SERVE__SLOW_ENTRIES = 1024, /* that are kept at most, whatever slowlog-max-len says */
    SERVE__SLOW_ARGS = 32,
    SERVE__SLOW_BYTES = 128, /* of an argument */
    SERVE__SPIKES = 160,
    SERVE__ERRORS = 128
};

struct serve__slow {
    uint64_t id; /* from 1 on; 0: none */
    int64_t time, us;
    uint32_t argc;
    uint32_t len[SERVE__SLOW_ARGS];
    char arg[SERVE__SLOW_ARGS][SERVE__SLOW_BYTES + 32];
    char addr[200], name[64];
};

/* Of LATENCY: the largest of each second, in a ring. */
struct serve__spike {
    int64_t time, ms;
};
enum serve__spike_event { SERVE__SPIKE_COMMAND, SERVE__SPIKE_FAST, SERVE__SPIKE_EXPIRE, SERVE__SPIKE_EVENTS };
struct serve__spikes {
    uint32_t n, next; /* next: where the next one goes */
    int64_t most;
    struct serve__spike at[SERVE__SPIKES];
};

struct serve__measures {
    uint64_t next_slow, first_slow; /* ids: the next; the first that is kept */
    struct serve__slow slow[SERVE__SLOW_ENTRIES];
    struct serve__spikes spikes[SERVE__SPIKE_EVENTS];
    serve__counter nerrors;
    struct {
        serve__counter count;
        char name[32];
    } error[SERVE__ERRORS];
};

/* Map it, with the histograms of all workers.  In the supervisor, before the first fork. */
bool serve__measures_make(struct serve__shared *s);

/* The histogram of a command of a worker. */
struct caret_codec__latency *serve__histogram(struct serve__shared *s, int worker, unsigned id);

/* Something other than a command, which began at that time of a clock: it is told if it took long. */
uint64_t serve__measure_clock(void);
void serve__measure_spike(struct serve__worker *w, enum serve__spike_event event, uint64_t begin);

/* When a command begins, in nanoseconds of a clock that never goes back; and what it took. */
uint64_t serve__measure_begin(struct serve__worker *w);
void serve__measure_end(struct serve__call *q, uint64_t begin);

/* n commands were done as one, of which the call is the first: each took its part of the time, which is returned.
 * Those that are slow are to be given to serve__measure_log_slow(). */
uint64_t serve__measure_row(struct serve__call *q, uint64_t begin, unsigned n);
void serve__measure_log_slow(struct serve__call *q, uint64_t ns);

/* Is a command that took so long one for the slow log?  Its entry, but for the client.  And add that: of a client that
 * waited, when its answer is committed. */
bool serve__measure_is_slow(const struct serve__call *q, uint64_t ns);
void serve__measure_slow(struct serve__call *q, uint64_t ns, struct serve__slow *e);
void serve__measure_add_slow(struct serve__shared *s, const struct serve__slow *e);

/* slowlog-max-len was set: what is too old now does not come back when that grows again. */
void serve__slowlog_trim(struct serve__worker *w);

/* An error was answered, or a script has met it: "ERR what".  It is counted, by its first word too: at once, or, within
 * a transaction, by serve__measure_errors() when that is over, once however often it began. */
void serve__measure_error(struct serve__call *q, const char *text);
void serve__measure_errors(struct serve__runner *r);
/* The same of what no command answers. */
void serve__measure_error_now(struct serve__worker *w, const char *text);

/* CONFIG RESETSTAT. */
void serve__measures_reset(struct serve__shared *s);

#endif
