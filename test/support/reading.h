/* A database that is opened read-only. */
#ifndef CARET_TEST_SUPPORT_READING_H
#define CARET_TEST_SUPPORT_READING_H

#include <stdbool.h>

#include "support/database.h"

/* With the folder for shared memory that the system has: a reader finds that of the database in its lock file. */
caret_options reading(void);
caret_db *open_reading(void);

/* Which view a handle has: CARET_VIEW_... */
uint64_t view_of(caret_db *db);

/* Everybody may read; as a file that its owner alone may write usually is. */
void let_read(bool segment_too);

#endif
