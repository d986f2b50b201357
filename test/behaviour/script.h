/*
 * script.h - the files of test/behaviour, read.
 *
 * README.md has the language.  All lines are parsed before any is run: what is wrong ends the program with status 2.
 */
#ifndef CARET_TEST_BEHAVIOUR_SCRIPT_H
#define CARET_TEST_BEHAVIOUR_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* Text that grows; always ended by a NUL that is not counted. */
struct out {
    char *data;
    size_t len, cap;
};

struct line {
    const char *file;
    unsigned number;
    unsigned run;                           /* only in that run of the transaction; 0 = in each */
    bool maybe;                             /* and that run need not come */
    int session;                            /* 1 to SESSIONS - 1; READER */
    const char *op;                         /* of the table in script.c */
    struct out text;                        /* of the operation and its arguments, as they are written */
    struct out asked;                       /* the same as fronts are told it: see README.md */
    struct out answer, wanted;              /* what is expected, as it is written, and as fronts say it */
    struct out asked_locals, wanted_locals; /* the same for local variables */
};

enum { READER = 10, SESSIONS }; /* READER, "r:", has opened the database for reading */

struct test {
    const char *file, *name, *tags; /* "only a b", "except a", "" */
    bool locals_too;
    size_t nlines;
    struct line *lines;
};

struct script {
    size_t ntests;
    struct test *tests;
};

void script_load(struct script *s, const char *file);
void script_free(struct script *s);

bool line_is(const struct line *l, const char *op);
bool line_begins(const struct line *l); /* a transaction or a snapshot */
bool line_ends(const struct line *l);

void out_add(struct out *o, const void *data, size_t len);
void out_free(struct out *o);

#endif
