/*
 * library.h - libraries of functions, as a worker has them loaded: script.h, library.c.
 */
#ifndef CARET_SERVER_SCRIPT_LIBRARY_H
#define CARET_SERVER_SCRIPT_LIBRARY_H

#include "server/script/script.h"

enum { SERVE__LIBRARY_NAME = 128 };

struct serve__function {
    struct serve__function *next;
    struct serve__code code;
    char *description; /* or NULL */
    char name[];
};

struct serve__library {
    struct serve__library *next;
    struct serve__function *function;
    bool seen;
    char name[SERVE__LIBRARY_NAME];
    size_t len;
    char text[];
};

void serve__library_free(struct serve__scripts *x, struct serve__library *l);
struct serve__library *serve__library_find(struct serve__scripts *x, const char *name);
struct serve__function *serve__function_in(const struct serve__library *l, const char *name, size_t len);
struct serve__function *serve__function_find(struct serve__scripts *x, caret_slice name);

/* Is this a name of a library or a function?  What to say if not. */
bool serve__library_name_valid(const char *name, size_t len);
#define SERVE__BAD_LIBRARY_NAME                                                                              \
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one "       \
    "character long"

/* The first line of a library, "#!lua name=...": the name to `name`, of SERVE__LIBRARY_NAME bytes. */
int serve__library_metadata(struct serve__call *q, caret_slice text, char *name);

/* Compile and run the code of a library, without regard to others. */
int serve__library_load(struct serve__call *q, struct serve__scripts *x, caret_slice text,
                        struct serve__library **out);

/* Flags of the function that FCALL would run, SERVE__SCRIPT_...; _OLD: there is none, or it can't be known. */
unsigned serve__function_flags(struct serve__call *q);

/* Have the libraries that the database has.  In a transaction. */
int serve__libraries_refresh(struct serve__call *q, struct serve__scripts **out);

/* Store a library that was tried out; its name to `name`.  Words of the error differ between LOAD and RESTORE. */
int serve__library_store(struct serve__call *q, struct serve__scripts *x, caret_slice text, bool replace,
                         bool restore, char *name);
void serve__libraries_forget(struct serve__scripts *x); /* those that are loaded */
int serve__library_kill(struct serve__call *q, const char *name);
int serve__libraries_kill(struct serve__call *q);

#endif
