/*
 * process.h - what the kernel tells of the workers, summed.
 */
#ifndef CARET_SERVER_PROCESS_H
#define CARET_SERVER_PROCESS_H

#include "server/shared.h"

/* Bytes in memory: each process' own, and once what they share. */
uint64_t serve__process_memory(struct serve__shared *s);

/* Seconds of a processor that the workers which live have used, in the program and in the kernel. */
void serve__process_time(struct serve__shared *s, double *user, double *kernel);

#endif
