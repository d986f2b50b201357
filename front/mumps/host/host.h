/*
 * host.h - what Lua calls in C for the program itself: databases by name, files in the program, the table of errors.
 *
 * A virtual machine belongs to one thread at a time, and so does all of this.
 */
#ifndef CARET_MUMPS_HOST_H
#define CARET_MUMPS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

/* The session of the database of that name; empty: of $ZGBLDIR.  It is opened when it is first asked for, and the same
 * later.  NULL: it can't be opened, caret_mumps__why() tells. */
caret_session *caret_mumps__session(const char *name, size_t len);
const char *caret_mumps__why(void);

/* In caret_m.so: sessions are those of the caller.  They are asked for with each use of a name. */
void caret_mumps__sessions_of(caret_session *(*session)(const char *name, size_t len));

/* And so is $ZGBLDIR, if get() has one, and set() gives a reason why it can't be changed, or NULL. */
void caret_mumps__gbldir_of(const char *(*get)(void), const char *(*set)(const char *name, size_t len));

/* $ZGBLDIR: the name of the database, as the environment has it, or as it was set.  Set it: empty is that of the
 * environment; the database is opened, and if that fails nothing changes. */
const char *caret_mumps__gbldir(void);

/* In caret_m.so: what the environment says is not the database of this caller; NULL: it is. */
void caret_mumps__gbldir_is(const char *name);

bool caret_mumps__select(const char *name, size_t len);

/* Is it the caller's, so that the empty name is it as well? */
bool caret_mumps__gbldir_outside(void);

/* How many pages the database of $ZGBLDIR has, or how many of them are unused.  0: it is that of a caller. */
double caret_mumps__pages(int unused);

/* Close all of them. */
void caret_mumps__close(void);

/* A file that was put into the program by the build: "mumps/host/main.lua".  Ends with a NULL name. */
typedef struct caret_mumps__file {
    const char *name;
    const unsigned char *data; /* followed by a NUL */
    size_t len;                /* without it */
} caret_mumps__file;

extern const caret_mumps__file caret_mumps__files[];

/* NULL: there is none. */
const caret_mumps__file *caret_mumps__embedded(const char *name);

/* An error of m/errors.def by its name, or by its number, which is positive: false if there is none. */
typedef struct caret_mumps__error {
    const char *name;
    const char *text;
    int code; /* as in the table: negative */
    int severity;
} caret_mumps__error;

bool caret_mumps__error_named(const char *name, caret_mumps__error *e);
bool caret_mumps__error_numbered(int number, caret_mumps__error *e);

/* What a path leads to: errno if there is nothing. */
typedef struct caret_mumps__found {
    bool folder;
    int64_t mtime, size; /* ns since 1970; bytes */
} caret_mumps__found;

int caret_mumps__stat(const char *path, caret_mumps__found *to);

/* 0 or errno. */
int caret_mumps__chdir(const char *path);

/* A line to the log of the system. */
void caret_mumps__syslog(const char *text);

/* Set a variable of the environment, or take it away: 0, or the number of the error. */
int caret_mumps__setenv(const char *name, const char *value, int is_set);

/* What Lua is given: a struct of pointers, and its declaration. */
const void *caret_mumps__exports(const char **declaration, size_t *len);

#endif
