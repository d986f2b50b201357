/* An engine on a temporary data file, without log and recovery: for tests of the layers shm and tree. */
#ifndef CARET_TEST_SUPPORT_SEGMENT_H
#define CARET_TEST_SUPPORT_SEGMENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/lockfile.h"
#include "shm/segment.h"
#include "support/children.h"

struct fixture {
    struct caret__engine e;
    struct caret__identity id;
    char dir[64];
    char path[96], lock_path[96];
    struct fixture *next; /* of those that were not deleted */
};

/* The engine before it has a segment, and the end of one. */
void engine_init(struct fixture *f, struct caret__engine *e);
void engine_done(struct caret__engine *e);

/* For cmocka: *state is a struct fixture, its engine without a segment; nothing is left of it, not even after a test
 * that failed before it was deleted. */
int fixture_new(void **state);
int fixture_delete(void **state);

/* A segment of the fixture's engine with so many page numbers. */
void fixture_create(struct fixture *f, uint32_t npages);

/* A folder for segments that has room for so many bytes, or the test is skipped; and the end of it. */
void fixture_small_folder(const struct fixture *f, uint64_t room, char dir[96]);
void fixture_small_folder_gone(const char *dir);

#endif
