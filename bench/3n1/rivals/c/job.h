/*
 * job.h - the 3n+1 job in C for several stores, each a program of its own:
 *
 *     3n1_STORE -n N -w W FOLDER [--tuned]    (Caret's: or postgresql://...; Redis's: HOST:PORT)
 *
 * prints what `caret 3n1 --json` prints.  job.c has the sequences, the processes and the options; a store says how
 * it keeps lengths and maxima, and how one worker gets a block that no other gets.
 */
#ifndef CARET_BENCH_JOB_H
#define CARET_BENCH_JOB_H

#include <stdint.h>

struct job_options {
    const char *folder; /* an existing one, for the store's files */
    uint64_t n;
    unsigned workers, blocks;
    int tuned; /* the second row: settings that suit the job */
};

/* What one sequence found. */
struct job_found {
    const uint64_t *path; /* the numbers whose length was not known, from the start on */
    unsigned count;
    unsigned total;   /* length of path[0]; of path[i]: total - i */
    uint64_t highest; /* number after the start */
};

/*
 * A store, one for each process.  Functions end the process when something fails (job_fail).
 * The parent opens it first; after fork each worker opens it again, and the parent may keep its own.
 */
struct job_store {
    const char *version;
    void (*open)(const struct job_options *o, int create);
    void (*close)(void);
    int (*take)(unsigned block);             /* 1: nobody had it before */
    void (*begin)(void);                     /* before a sequence is read; may be NULL */
    unsigned (*get)(uint64_t n);             /* length of n, 0 = not known */
    void (*keep)(const struct job_found *f); /* raise the maxima, store the lengths; ends what begin began */
    void (*nothing)(void);                   /* there was nothing to keep; may be NULL */
    int (*again)(void); /* what was read for this sequence does not count: do it again; may be NULL */
    void (*maxima)(uint64_t *longest, uint64_t *highest);

    /* Start and end, all NULL: by pipes, as the store has nothing to wait for. */
    void (*hold)(void);          /* parent, before it forks */
    void (*queue)(void);         /* worker: ready, wait for the start */
    void (*wait_queued)(void);   /* parent: until all are */
    void (*let_go)(void);        /* parent: start them, */
    void (*wait_finished)(void); /* and wait until the last has finished */
    void (*finish)(void);        /* worker */
};

extern const struct job_store job_store; /* the program's */

/* Print what failed and why, end the process with status 1. */
_Noreturn void job_fail(const char *what, const char *why);

/* These count what the worker reads and updates. */
extern uint64_t job_reads, job_updates;

#endif
