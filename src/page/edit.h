/*
 * edit.h - how a change of bytes in a page is made known; and the shortest of them, which is done in line.
 *
 *   1  save     the old bytes of each range into the undo area (only with undo)
 *   2  go       these count from now on; the page's version is raised; a fence
 *   3  change   the bytes
 */
#ifndef CARET_PAGE_EDIT_H
#define CARET_PAGE_EDIT_H

#include "page/page.h"

static inline void caret__edit_save(const struct caret__edit *ed, const void *p, unsigned len)
{
    if (ed->undo != NULL && len != 0)
        caret__undo_save(ed->undo, p, len);
}

/* Note ranges with save() (only with undo), then call this before the first change. */
static inline void caret__edit_go(const struct caret__edit *ed)
{
    if (ed->undo != NULL)
        caret__undo_publish(ed->undo);
    atomic_store_explicit(ed->version, ed->lsn, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    CARET_FAULT("edit_go");
}

/* Overwrite the value of an entry of the page by one as long, in line or out of line as that: it has room. */
static inline void caret__page_overwrite(const struct caret__entry *e, const void *val,
                                         const struct caret__edit *ed)
{
    uint8_t *at = (uint8_t *)(uintptr_t)e->val;

    if (ed != NULL) {
        caret__edit_save(ed, at, e->vlen);
        caret__edit_go(ed);
    }
    caret__racy_copy_value(at, val, e->vlen);
    CARET_FAULT("page_replace_same");
}

#endif
