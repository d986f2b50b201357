/*
 * shm.c - what lies in shared memory.
 */
#include "base/error.h"
#include "caret.h"
#include "open/orphan.h"
#include "shm/lockfile.h"

int caret_shm(const char *dir, int flags, caret_shm_each *each, void *arg)
{
    if ((flags & ~(CARET_SHM_REMOVE | CARET_SHM_REMOVE_LOST)) != 0)
        return caret__fail(CARET_E_INVALID, "caret_shm: unknown flags %d", flags);
    caret__registry_lock();
    int rc = caret__shm_visit(dir, flags, each, arg);
    caret__registry_unlock();
    return rc;
}
