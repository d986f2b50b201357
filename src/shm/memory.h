/*
 * memory.h - how much memory there is for us.
 */
#ifndef CARET_SHM_MEMORY_H
#define CARET_SHM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of memory that are available now: of the machine, and of the control groups this process is in.  root: ""; a
 * test's folder with proc and sys in it. UINT64_MAX if nothing tells. */
uint64_t caret__memory_available(const char *root);

/* Are so many bytes to be had, and some more?  Little always is: that is not asked for. */
bool caret__memory_has(uint64_t bytes);

#endif
