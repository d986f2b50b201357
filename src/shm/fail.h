/*
 * fail.h - what everybody is told of.
 */
#ifndef CARET_SHM_FAIL_H
#define CARET_SHM_FAIL_H

#include "shm/engine.h"

/* Record an I/O failure for everybody: IO_FAILED from now on.  Returns CARET_E_IO. */
int caret__io_failed(struct caret__engine *e, int errnum, const char *what);

/* Shared memory is damaged, for everybody.  Returns CARET_E_CORRUPT. */
int caret__damaged(struct caret__engine *e, const char *what);

#endif
