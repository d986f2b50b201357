/*
 * process.h - a number for this process, without a system call: what belongs to a process is told from what a forked
 * child has of its parent.
 */
#ifndef CARET_BASE_PROCESS_H
#define CARET_BASE_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

/* 0 in a process that has not asked for its number yet. */
extern const _Atomic uint32_t *caret__process_mark;
uint32_t caret__process_number(void);

/* Never 0, and another one than in any process that this one was forked from. */
static inline uint32_t caret__process(void)
{
    uint32_t number = atomic_load_explicit(caret__process_mark, memory_order_relaxed);

    return __builtin_expect(number != 0, 1) ? number : caret__process_number();
}

#endif
