/*
 * brake.h - writers become slower before the log is full.
 */
#ifndef CARET_LOG_BRAKE_H
#define CARET_LOG_BRAKE_H

#include "shm/engine.h"

/* Must a commit that brings log_head to `head` wait a little first? */
static inline bool caret__braked(const struct caret__shared *sh, uint64_t head)
{
    return head - 1 >= atomic_load_explicit(&sh->log_brake, memory_order_relaxed) - 1; /* 0: there is none */
}

/* More of the log is written: set the brake, if there is none and it is time. */
void caret__brake_look(struct caret__engine *e);

/* Whoever came to the brake waits, without any mutex, some milliseconds at most, and moves it. */
void caret__brake_wait(struct caret__engine *e);

#endif
