/* A database in a temporary directory, children that use it and die. */
#ifndef CARET_TEST_SUPPORT_DATABASE_H
#define CARET_TEST_SUPPORT_DATABASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caret.h"
#include "support/children.h"
#include "support/points.h"

extern char dir[64], path[96], log_path[112], lock_path[112], shm_dir[96];
extern _Atomic uint32_t *signal_word;    /* shared with children */
extern char text[200000], other[200000]; /* values */

/* MiB that are free in shared memory: a container has 64, and some tests need more. */
unsigned shm_room(void);

/* Else the test is skipped.  The arena has half of what is free; a transaction may need half of that. */
void need_room(unsigned mib);

/* For cmocka: an empty folder for the database, and nothing of it left. */
int setup(void **state);
int teardown(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define OK(call)   assert_ok((call), #call, __LINE__)
void assert_ok(int rc, const char *what, int line);

/* Opening it, with a folder of its own for shared memory, without the thread and without syncs. */
caret_options options(void);
int try_open(caret_db **db);
caret_db *open_db(void);

/* What opening, and closing again, says. */
int open_code(const char *name);

/* ^t(i). */
void node_of(caret_node_buf *n, int64_t i);

/* Value of node i: i as text, repeated to len bytes. */
size_t text_of(int64_t i, size_t len, char *buf);

/* Nodes [from, to), each a commit with a value of len bytes. */
void put(caret_db *db, int64_t from, int64_t to, size_t len);

/* How many nodes from `from` on are there, each as put() left it. */
int64_t count(caret_db *db, int64_t from, size_t len);

void kill_all(caret_db *db);

/* Everything below ^t in one number. */
uint64_t digest(caret_db *db);

/* The database is whole. */
void check(caret_db *db);

unsigned files_in(const char *name);

/* Until signal_word has at least the value. */
void until(uint32_t value);

/* A child that has put nodes [from, to) and then waits to be killed. */
pid_t child_with(int64_t from, int64_t to, size_t len);

/* As a reboot, or another container, has it. */
void remove_shared_memory(void);

/* Take what is left of the file system, with a file of that name. */
void fill_up(const char *name);

#endif
