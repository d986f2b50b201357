/*
 * command.h - the table of commands: what is known about each, and the function that runs it.
 *
 * The table is written in commands/GROUP.lua, one row a command; commands.lua makes the C of it at build
 * time.  It is the one home of names, arities, flags, categories and places of keys: dispatch, COMMAND, ACL
 * and the documents read it.  A command whose function is not defined anywhere is known, and answers that it
 * is not there yet.
 */
#ifndef CARET_SERVER_COMMAND_H
#define CARET_SERVER_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

struct serve__call;
typedef int serve__function(struct serve__call *q);

/* Flags, in the order in which COMMAND names them; commands.lua has the same list. */
enum {
    SERVE__WRITE = 1 << 0,
    SERVE__READONLY = 1 << 1,
    SERVE__DENYOOM = 1 << 2,
    SERVE__MODULE = 1 << 3,
    SERVE__ADMIN = 1 << 4,
    SERVE__PUBSUB = 1 << 5,
    SERVE__NOSCRIPT = 1 << 6,
    SERVE__BLOCKING = 1 << 7,
    SERVE__LOADING = 1 << 8,
    SERVE__STALE = 1 << 9,
    SERVE__SKIP_MONITOR = 1 << 10,
    SERVE__SKIP_SLOWLOG = 1 << 11,
    SERVE__ASKING = 1 << 12,
    SERVE__FAST = 1 << 13,
    SERVE__NO_AUTH = 1 << 14,
    SERVE__MAY_REPLICATE = 1 << 15,
    SERVE__NO_MANDATORY_KEYS = 1 << 16,
    SERVE__NO_ASYNC_LOADING = 1 << 17,
    SERVE__NO_MULTI = 1 << 18,
    SERVE__MOVABLE = 1 << 19,
    SERVE__ALLOW_BUSY = 1 << 20,
    SERVE__PLAIN = 1 << 30 /* ours: not called in a transaction */
};

extern const char *const serve__flag_names[];     /* by bit, up to SERVE__ALLOW_BUSY */
extern const char *const serve__category_names[]; /* by bit, ends with NULL: without the '@' */
enum { SERVE__CATEGORY_NODES = 21 };              /* "caret", the last of them */
extern const char *const serve__keyflag_names[];  /* by bit, ends with NULL */

enum serve__begin { SERVE__BEGIN_UNKNOWN, SERVE__BEGIN_INDEX, SERVE__BEGIN_KEYWORD };
enum serve__find { SERVE__FIND_UNKNOWN, SERVE__FIND_RANGE, SERVE__FIND_KEYNUM };

enum { /* of keys; the order of serve__keyflag_names */
       SERVE__KEY_RO = 1 << 0,
       SERVE__KEY_RW = 1 << 1,
       SERVE__KEY_OW = 1 << 2,
       SERVE__KEY_RM = 1 << 3,
       SERVE__KEY_ACCESS = 1 << 4,
       SERVE__KEY_UPDATE = 1 << 5,
       SERVE__KEY_INSERT = 1 << 6,
       SERVE__KEY_DELETE = 1 << 7,
       SERVE__KEY_NOT_KEY = 1 << 8,
       SERVE__KEY_INCOMPLETE = 1 << 9,
       SERVE__KEY_VARIABLE = 1 << 10
};

/* Where keys are among the arguments. */
struct serve__keyspec {
    unsigned flags; /* SERVE__KEY_* */
    enum serve__begin begin;
    enum serve__find find;
    const char *keyword;
    int from; /* index of the first, or where the keyword is looked for; negative: from the end */
    int find1, find2, find3; /* last key, step, limit; or index of the number, first key, step */
};

enum { /* of an argument */
       SERVE__ARGUMENT_OPTIONAL = 1,
       SERVE__ARGUMENT_MULTIPLE = 2,
       SERVE__ARGUMENT_EACH_TOKEN = 4
};

/* How an argument is written, for COMMAND DOCS. */
struct serve__argument {
    const char *name;                              /* NULL: the list ends */
    const char *type, *token, *since, *deprecated; /* but for the type, or NULL */
    int key;                                       /* number of its keyspec; -1: it has none */
    unsigned flags;
    const struct serve__argument *parts; /* of the types oneof and block */
};

struct serve__command {
    const char *name;     /* "get", "list": of a subcommand the last part */
    const char *full;     /* "get", "client|list" */
    serve__function *run; /* NULL: not there yet */
    int arity;            /* with the name; negative: at least so many */
    unsigned flags;
    uint64_t categories;
    const struct serve__keyspec *keys;
    unsigned nkeys;
    int first, last, step;   /* of the keys, as COMMAND tells them */
    const char *const *tips; /* ends with NULL */
    const struct serve__command *parent;
    const struct serve__command *sub; /* subcommands */
    unsigned nsub;
    unsigned id; /* 0..serve__ncommands - 1: for counters and bits of rights */
    const char *group, *since, *time, *summary;
    const char *doc_flags, *deprecated, *replaced; /* or NULL */
    const struct serve__argument *arguments;       /* or NULL */
};

extern const struct serve__command serve__commands[]; /* the commands, then all subcommands */
extern const unsigned serve__nmain, serve__ncommands; /* how many commands; and with subcommands */

/* Build the index of names.  Once, before the first look. */
void serve__command_init(void);

/* The command that clients call by a name, in any case; NULL: there is none. */
const struct serve__command *serve__command_find(const char *name, size_t len);

/* The one whose own name that is, whatever clients call it: for users of an ACL. */
const struct serve__command *serve__command_named(const char *name, size_t len);

/* rename-command, before workers are forked: from now on clients call it `to`, or if that is empty not at all.
 * NULL, or what is wrong. */
enum { SERVE__COMMAND_BYTES = 128 };
const char *serve__command_rename(caret_slice from, caret_slice to);

/* Can clients call it? */
bool serve__command_called(const struct serve__command *c);
extern bool serve__get_renamed; /* "get" is not GET */

const struct serve__command *serve__subcommand_find(const struct serve__command *c, const char *name,
                                                    size_t len);

/* The command that arguments call, which may be a subcommand: NULL if there is none.  Of a container with an
 * unknown subcommand *parent is the container. */
const struct serve__command *serve__command_of(const caret_slice *argv, int argc,
                                               const struct serve__command **parent);

/* The keys among the arguments: calls `each` with the index of each and its flags. false: the arguments make
 * no sense for this command. */
typedef void serve__key_fn(void *arg, int index, unsigned flags);
bool serve__command_keys(const struct serve__command *c, const caret_slice *argv, int argc,
                         serve__key_fn *each, void *arg);

#endif
