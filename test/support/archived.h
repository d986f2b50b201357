/* A database whose log is archived, a backup of it, and what it was at some moments. */
#ifndef CARET_TEST_SUPPORT_ARCHIVED_H
#define CARET_TEST_SUPPORT_ARCHIVED_H

#include "support/database.h"

#define MOMENTS 400

extern char archive_dir[96], backup[112], restored[112]; /* in the folder of the database */
extern struct moment {                                   /* shared with children */
    uint64_t lsn, digest;
} * moments;
extern _Atomic uint32_t *n_moments;

int setup_archive(void **state);
#define ARCHIVE(name) cmocka_unit_test_setup_teardown(name, setup_archive, teardown)

/* With the shortest log. */
caret_db *open_archived(void);

void note_moment(caret_db *db);

/* Changes of every kind; a moment is noted every `every` of them. */
void work(caret_db *db, uint64_t seed, unsigned rounds, unsigned every);

void remove_restored(void);
caret_restore_options from_archive(uint64_t lsn);

#endif
