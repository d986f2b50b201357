/*
 * parse.h - requests of RESP2 and inline commands, out of a buffer that grows.
 *
 * Nothing is copied but an inline command that has quotes: arguments point into the input, which is never changed, so
 * that a command can be parsed again.  The parser can stop at every byte and goes on from
 * there, so that a bulk of which a part has come is not looked at again.  Memory grows with what has come,
 * never with what was announced.  Limits and errors are those of Redis 7.0.
 */
#ifndef CARET_SERVER_PARSE_H
#define CARET_SERVER_PARSE_H

#include "caret.h"
#include "server/buffer.h"

#include <stdint.h>

/* Arguments of one or more commands, one after the other. */
struct serve__args {
    caret_slice *v;
    size_t n, cap;
    char *line; /* words of an inline command that has quotes; NULL: there was none */
};

struct serve__parser {
    size_t at;         /* place in the input */
    size_t first;      /* index of the first argument of the command that is being read */
    size_t start;      /* where that begins in the input */
    int64_t left;      /* arguments that it lacks; 0: no command has begun */
    int64_t bulk;      /* bytes of the next argument; -1: its head has not come */
    const char *error; /* of SERVE__PARSED_ERROR */
    char text[64];
};

struct serve__parse_limits {
    int64_t bulk;         /* proto-max-bulk-len */
    bool unauthenticated; /* at most 10 arguments of 16 KiB then */
};

enum serve__parsed {
    SERVE__PARSED_MORE, /* the input ends within a command, or before one; or an inline command follows others */
    SERVE__PARSED_COMMAND, /* args->v[first] ... are a command; `first` is where the next begins */
    SERVE__PARSED_ERROR    /* parser->error: answer it and close */
};

/* Read one command more.  Its arguments are appended to args; *first, *argc say which.  An inline command is read to
 * empty args only, as there is one place for words that had quotes. */
enum serve__parsed serve__parse(struct serve__parser *p, struct serve__buffer *in, struct serve__args *args,
                                const struct serve__parse_limits *limits, size_t *first, int *argc);

/* The command before, of argc arguments and, in the input, of the last `len` bytes, has just been read. Are the bytes
 * that follow the same? Then it is read once more, without looking at what they say: a client that sends one command
 * again and again. Only an array says at its beginning how many arguments it has; "*0" and an inline command do not,
 * so that no other is taken for one. */
bool serve__parse_again(struct serve__parser *p, const struct serve__buffer *in, struct serve__args *args,
                        size_t len, int argc);

/* The bytes of the input were moved from `old` to `now`: arguments of the command that is being read follow.
 * */
void serve__parse_moved(struct serve__args *args, size_t from, const char *old, const char *now);

bool serve__args_room(struct serve__args *args, size_t more);
void serve__args_free(struct serve__args *args);

/* Split a line into words as a shell does, with "..." (and \n \xff in it) and '...'.  The words are written
 * over the line. false: quotes are not closed. */
bool serve__split_line(char *line, size_t len, struct serve__args *args);

#endif
