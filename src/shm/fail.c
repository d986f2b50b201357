/*
 * fail.c - failures that end the writing of everybody: the disk's, and damage of what is shared.
 */
#include "shm/fail.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "shm/write.h"

int caret__io_failed(struct caret__engine *e, int errnum, const char *what)
{
    uint32_t none = 0;

    if (caret__fds_check(e) != CARET_OK) /* that concerns this process only */
        return CARET_E_EVICTED;
    if (errnum != EFBIG) /* a limit of this process: nothing was written, others can */
        atomic_compare_exchange_strong(&e->sh->io_failed, &none, (uint32_t)errnum);
    errno = errnum;
    return caret__fail_errno(caret__write_code(errnum), "%s: %s", e->path, what);
}

int caret__damaged(struct caret__engine *e, const char *what)
{
    atomic_store(&e->sh->io_failed, (uint32_t)EUCLEAN);
    return caret__fail(CARET_E_CORRUPT, "%s: shared memory is damaged: %s; close all users and open again",
                       e->path, what);
}
