/*
 * front.h - a front of test/behaviour that is written in C: it is told lines by the judge, and answers.
 *
 * README.md has the language.  A front is a struct of functions, and its main() is serve().
 */
#ifndef CARET_TEST_BEHAVIOUR_FRONT_H
#define CARET_TEST_BEHAVIOUR_FRONT_H

#include <stdbool.h>
#include <stddef.h>

#define SUBS_MAX  40 /* more than a node can have */
#define NODES_MAX 70 /* more than a list of locks can have */

/* Followed by a NUL that is not counted. */
struct text {
    char *data;
    size_t len;
};

struct place {
    struct text name;
    size_t nsubs;
    struct text subs[SUBS_MAX];
};

/* An operation and its arguments. */
struct told {
    const char *op;
    size_t nnodes;
    struct place nodes[NODES_MAX];
    bool has_value;
    struct text value;
    const char *word; /* "": there is none */
};

/* Why a transaction's body has come to its end. */
enum end { END_COMMIT, END_ROLLBACK, END_FAIL, END_RESTART };

typedef enum end body_fn(void);

struct front {
    const char *names; /* what `only` and `except` of cases say */
    bool (*open)(const char *path, bool readonly);
    void (*close)(void);
    /* Do what is told, and answer by say_...().  false: the transaction in progress is to begin again. */
    bool (*perform)(const struct told *t);
    /* Run the body in a transaction or a snapshot, as often as it takes.  What comes of it: ok, FAILED, a symbol. */
    const char *(*transaction)(const struct told *t, body_fn *body);
};

int serve(const struct front *front, int argc, char **argv);

bool told(const struct told *t, const char *op);

/* The parts of an answer. */
void say_word(const char *word);
void say_value(const void *data, size_t len);
void say_number(long number);
void say_name(const void *name, size_t len); /* of a node, then its subscripts */
void say_subscript(const void *data, size_t len);
void say_its_value(const void *data, size_t len); /* of the node just said */
bool said_anything(void);
void unsay(void); /* all of it */

#endif
