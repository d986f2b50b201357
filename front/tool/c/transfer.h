/*
 * transfer.h - nodes to text and back: what `caret dump` writes and `caret load` reads.
 *
 * Formats, each exact for any names, subscripts and values (pages.lua tells users of them):
 *
 *   zwr    two lines of a header, then NODE=VALUE
 *   jsonl  a line {"node":["^oaks",1,"shadow"],"value":10} for each node
 *   json   one object of globals, in which nodes with children are objects
 *   csv    a row global,sub1,...,value for each node
 *
 * In JSON a subscript or value is a number if it is a whole one of at most 15 digits in canonical form, as all
 * JSON libraries keep those; any other is a string, in which a byte that is not UTF-8 is a lone surrogate.
 */
#ifndef CARET_TOOLS_TRANSFER_H
#define CARET_TOOLS_TRANSFER_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

#include "caret.h"

enum caret__format { CARET__ZWR, CARET__JSONL, CARET__JSON, CARET__CSV, CARET__FORMATS };

extern const char *const caret__format_names[CARET__FORMATS + 1]; /* ends with NULL */

/* ------------------------------------------------------------- out.c: writing */

struct caret__out {
    int fd;
    int error; /* errno of the first write that failed; nothing is written after it */
    char *buf;
    size_t used, cap;
};

int caret__out_init(struct caret__out *o, int fd);
int caret__out_flush(struct caret__out *o); /* 0, or -1 and o->error */
void caret__out_free(struct caret__out *o);

/* Memory for `n` bytes more, which count when o->used is raised.  NULL: no memory. */
char *caret__out_room(struct caret__out *o, size_t n);

void caret__out_put(struct caret__out *o, const char *bytes, size_t n);
void caret__out_text(struct caret__out *o, const char *text);

/* As a JSON string; as a number where that is the same. */
void caret__out_json(struct caret__out *o, const char *bytes, size_t n);
void caret__out_json_scalar(struct caret__out *o, const char *bytes, size_t n);

/* As a field of CSV, in quotes if need be. */
void caret__out_csv(struct caret__out *o, const char *bytes, size_t n, int quoted);

/* ------------------------------------------------------------ dump.c: the nodes */

/* A node taken apart: path[0] is its global. */
struct caret__dump_path {
    unsigned n;
    caret_slice part[CARET_MAX_SUBS + 1];
    char text[CARET_MAX_NAME + 2 + 3 * CARET_MAX_KEY]; /* numbers are longer than their code */
};

int caret__dump_path_of(struct caret__dump_path *p, const caret_node *n);

struct caret__dump {
    caret_db *db;
    struct caret__out *out;
    enum caret__format format;
    int utf8; /* zwr: printable UTF-8 stays readable */
    const caret_node_buf *nodes;
    size_t count;    /* of them; 0: all globals */
    uint64_t dumped; /* nodes so far */
    /* Told now and then; not 0: stop. */
    int (*progress)(struct caret__dump *d);
    void *arg;
};

/* Write all of it.  CARET_OK; CARET_ROLLBACK: stopped; CARET_E_IO: out->error; else caret_message(). */
int caret__dump(struct caret__dump *d);

/* ----------------------------------------------------------- load.c: the lines */

struct caret__load {
    caret_db *db;           /* NULL before the first node is set */
    caret_session *session; /* on it */
    caret_session *locals;  /* of no database, to reckon with */
    int fd;
    int format; /* enum caret__format, or -1: to be seen from the beginning */
    int told;   /* format was not -1 */
    int atomic; /* all in one transaction */
    int dry;    /* nothing is set */
    /* line 0: before the first, or after the last */
    uint64_t nodes, bytes, line, bad;
    /* Line `line` is bad: go on (0)? */
    int (*report)(struct caret__load *l, const char *reason);
    /* The database is needed: l->db.  An error, and l->message. */
    int (*open)(struct caret__load *l);
    int (*progress)(struct caret__load *l);
    void *arg;
    char *buf; /* read and not yet done with: from `at` to `end` */
    size_t at, end, cap;
    int ended; /* of the input */
    int utf8;  /* zwr: what $C(128) to $C(255) mean */
    char *value;
    size_t value_cap;
    int batches;    /* nodes are committed in batches */
    unsigned batch; /* set, and not yet committed; bytes of their values */
    size_t batch_bytes;
    char message[300];
};

/* Read all of it.  CARET_OK; CARET_ROLLBACK: stopped at a bad line or by progress; else caret_message(). */
int caret__load(struct caret__load *l);

/* A bad line: keeps the reason, and returns CARET_E_SYNTAX. */
int caret__load_bad(struct caret__load *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Set the node.  CARET_OK, or an error of the database. */
int caret__load_set(struct caret__load *l, caret_node *n, const char *value, size_t len);

/* Memory for a value of n bytes, l->value.  CARET_E_NOMEM. */
int caret__load_room(struct caret__load *l, size_t n);

/* --------------------------------------------------------------- read_json.c */

/* One line {"node":[...],"value":...}; the whole of a nested object.  CARET_OK, SYNTAX (bad), or an error. */
int caret__load_jsonl(struct caret__load *l, char *text, size_t len);
int caret__load_json(struct caret__load *l, char *text, size_t len);

/* ---------------------------------------------------------------- transfer.c */

/* The Lua module caret.transfer, for package.preload. */
int caret__open_transfer(lua_State *L);

#endif
