/*
 * hollow.h - free page numbers without room on the disk.
 */
#ifndef CARET_LOG_HOLLOW_H
#define CARET_LOG_HOLLOW_H

#include "shm/engine.h"

/* At opening, nobody else is attached: where the file has holes, free
 * numbers become hollow. */
void caret__hollow_look(struct caret__engine *e);

/* Under the writer mutex: have room on the disk for so many hollow numbers, if there are so many, which are free then.
 * DISKFULL: some may be. */
int caret__hollow_fill(struct caret__engine *e, uint32_t pages);

/* Without the mutex, when page numbers are wished for (caret__grow_pages_wanted): have room for some hollow
 * ones, and make them free. false: there is none. */
bool caret__hollow_ahead(struct caret__engine *e);

/* At opening: that number has room, for it has contents. */
void caret__hollow_take(struct caret__engine *e, uint32_t pgno);

/* After the last checkpoint of all, which says that the file was closed cleanly: punch holes where many pages
 * are free. */
void caret__hollow_punch(struct caret__engine *e);

#endif
