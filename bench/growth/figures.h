/* What bench/growth measures with: how long calls took, what was written, memory and files. */
#ifndef CARET_BENCH_GROWTH_FIGURES_H
#define CARET_BENCH_GROWTH_FIGURES_H

#include <stdint.h>

/* Counts of calls by their nanoseconds: sixteen steps an octave. */
#define STEPS 16u
struct times {
    uint64_t n, count[64 * STEPS];
    uint64_t longest;
};

uint64_t ns(void);
double cpu_ns(void); /* that all threads of the process have had */
void note(struct times *t, uint64_t took);

/* Milliseconds: the longest call; what 99.999 % of the calls stay below.  -1: there was none. */
double longest_ms(const struct times *t);
double most_ms(const struct times *t);

/* Bytes that the device of a folder has written since it was started, others' too; 0: not known. */
double disk_written(const char *folder);

/* The number after a name in a file of /proc. */
double proc_number(const char *path, const char *name);

/* Bytes of the files in a folder: their lengths, and what they take. */
struct sizes {
    double length, takes;
};
struct sizes folder_sizes(const char *folder);

/* Remove a folder of files, if there is one. */
void folder_remove(const char *folder);

#endif
