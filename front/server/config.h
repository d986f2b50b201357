/*
 * config.h - parameters: CONFIG GET and SET, redis.conf and the command line.
 *
 * The texts are in shared memory (shared.h), so that a change counts for all workers from their next turn on;
 * each worker keeps a copy, and the numbers of those that are numbers. config.def is the table.
 */
#ifndef CARET_SERVER_CONFIG_H
#define CARET_SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

struct serve__shared;
struct serve__worker;

enum {
#define PARAMETER(id, name, kind, value, least, most, choices, flags, alias) SERVE__CFG_##id,
#include "server/config.def"
#undef PARAMETER
    SERVE__CFG_COUNT
};

enum { SERVE__CFG_IMMUTABLE = 1, SERVE__CFG_PROTECTED = 2, SERVE__CFG_HIDDEN = 4 /* no pattern finds it */ };

enum serve__config_kind {
    SERVE__KIND_BOOL,
    SERVE__KIND_INTEGER,
    SERVE__KIND_OCTAL,
    SERVE__KIND_MEMORY,
    SERVE__KIND_TEXT,
    SERVE__KIND_BYTES, /* a text that may have NUL bytes */
    SERVE__KIND_HOST,
    SERVE__KIND_TITLE,
    SERVE__KIND_ENUM,
    SERVE__KIND_WORDS, /* any of some words; the first stands for none of the others */
    SERVE__KIND_EVENTS,
    SERVE__KIND_LIMITS,
    SERVE__KIND_SAVES,
    SERVE__KIND_ADJUSTMENTS,
    SERVE__KIND_PERCENTILES
};

/* Bytes of output that wait for a client, 0: any number; the soft limit may be exceeded for so many seconds. */
struct serve__limit {
    uint64_t hard, soft;
    int64_t seconds;
};

/* w->config: n[SERVE__CFG_maxclients], text[SERVE__CFG_requirepass].  A yes or no is 1 or 0, a choice its
 * index. */
struct serve__config {
    int64_t n[SERVE__CFG_COUNT];
    char *text[SERVE__CFG_COUNT];
    size_t len[SERVE__CFG_COUNT]; /* of the text */
    struct serve__limit limit[2]; /* of ordinary clients, of those that listen */
};

/* "10", "1k", "1kb", "2Gb": bytes, of which 64 bits are kept, as Redis does.  Nothing, or a unit alone, is 0. */
bool serve__config_memory(const char *text, uint64_t *n);

/* The defaults, into shared memory. */
void serve__config_init(struct serve__shared *s);

/* The value of a parameter there. */
caret_slice serve__config_value(const struct serve__shared *s, int i);

/* Index of a name in any case, of the parameter that it is another name for if it is one; -1: there is none.
 * */
int serve__config_find(const char *name, size_t len);
unsigned serve__config_flags(int i); /* SERVE__CFG_IMMUTABLE, _PROTECTED */
const char *serve__config_name(int i);
int serve__config_resolve(int i); /* the one that it is another name for, or itself */
enum serve__config_kind serve__config_kind(int i);
const char *serve__config_default(int i);

/* Set one: NULL, or what is wrong with the value.  Immutable ones only while the server starts. */
const char *serve__config_set(struct serve__shared *s, int i, const char *value, size_t len, bool starting);

/* Copy what is in shared memory, if it has changed. */
void serve__config_refresh(struct serve__worker *w);

#endif
