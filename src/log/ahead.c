/*
 * ahead.c - room that is made before a writer must wait until it is: arena slots and page numbers.
 *
 * The memory and the disk allocate without the mutex (shm/grow.c says how), then the mutex is taken to publish what
 * there is.  A writer that comes in between makes its own, and then there is nothing left to do here.
 */
#include "log/ahead.h"

#include "log/hollow.h"
#include "log/writer.h"

#define STEPS 4u /* of the arena at a time, before it is looked what else is to be done; arbitrary */

void caret__provide_slots(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t nslots = caret__grow_ahead(e);
        if (nslots == 0 || caret__writer_lock(e) != CARET_OK)
            return;
        (void)caret__grow_arena(e, nslots); /* does nothing if another has done it */
        caret__writer_unlock(e);
    }
}

void caret__provide_pages(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    if (atomic_load(&e->page_wish) == 0 || caret__hollow_ahead(e))
        return;
    uint32_t npages = caret__grow_pages_ahead(e);
    if (npages == 0 || caret__writer_lock(e) != CARET_OK)
        return;
    (void)caret__grow_pages(e, npages);
    caret__writer_unlock(e);
}
