/*
 * settings.h - what the environment of a process says, and which file a database is in.
 *
 *     $ydb_chset, else $gtm_chset   UTF-8: text is characters, not bytes
 *     $ydb_maxtptime, else $gtm_zmaxtptime
 *                                   seconds that a transaction may take, $ZMAXTPTIME; 60 at most
 *     $ydb_gbldir, else $CARET_DB   the database, $ZGBLDIR; else ./data.caret
 *
 * The first two are looked at once.  All functions may be called by any thread at any time.
 */
#ifndef CARET_M_SETTINGS_H
#define CARET_M_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* Is text characters? */
bool caret_m__utf8(void);

/* $ZMAXTPTIME, for the process: seconds, 0 and less = any; to be set to what a text is as a number. */
long caret_m__maxtptime(void);
void caret_m__maxtptime_set(const char *text, size_t len);

/* Where it stands, for another copy of this file in the process, which uses that place then; NULL: its own. */
_Atomic long *caret_m__maxtptime_place(void);
void caret_m__maxtptime_use(_Atomic long *place);

/* The name of the database as long as $ZGBLDIR was not set; belongs to the environment. */
const char *caret_m__gbldir(void);

/* The file that a name stands for, to be freed: one that ends with .gld is that of a global directory of
 * YottaDB, and the database is the file beside it with .caret instead.  NULL: there is no memory. */
char *caret_m__file_of(const char *name);

/* Is it there, and may only be read by this process?  Then it is to be opened for reading. */
bool caret_m__only_read(const char *file);

#endif
