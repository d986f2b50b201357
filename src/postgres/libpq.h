/*
 * libpq.h - the functions of libpq that the driver calls, found when the first address of a server is opened.
 *
 * Neither the library nor whatever links it depends on libpq: caret__libpq() looks for libpq.so.5 with dlopen(), once
 * in a process, and it stays loaded.  So its header is not needed either; what is declared here is libpq's ABI, which
 * has kept these since PostgreSQL 14 (pipelines).
 */
#ifndef CARET_POSTGRES_LIBPQ_H
#define CARET_POSTGRES_LIBPQ_H

#include <stddef.h>

struct pg_conn;
struct pg_result;

/* PQconninfoOption. */
struct caret__pq_option {
    char *name, *variable, *compiled, *value, *label, *shown;
    int size;
};

/* Numbers of libpq. */
enum {
    CARET__PQ_OK = 0,  /* PQstatus: CONNECTION_OK */
    CARET__PQ_BAD = 1, /* CONNECTION_BAD */

    CARET__PQ_READING = 1, /* PQconnectPoll: PGRES_POLLING_READING */
    CARET__PQ_WRITING = 2,

    CARET__PQ_COMMAND = 1,
    CARET__PQ_TUPLES = 2,
    CARET__PQ_SYNC = 10,    /* PGRES_PIPELINE_SYNC */
    CARET__PQ_ABORTED = 11, /* PGRES_PIPELINE_ABORTED */
};

struct caret__libpq {
    struct pg_conn *(*start)(const char *const *keys, const char *const *values, int expand);
    int (*step)(struct pg_conn *c);
    void (*finish)(struct pg_conn *c);
    struct caret__pq_option *(*options)(struct pg_conn *c); /* all in use; the last one has no name */
    struct caret__pq_option *(*parse)(const char *address, char **why);
    void (*options_done)(struct caret__pq_option *o);
    char *(*host)(const struct pg_conn *c);
    char *(*port)(const struct pg_conn *c);
    int (*status)(const struct pg_conn *c);
    char *(*message)(const struct pg_conn *c);
    int (*socket)(const struct pg_conn *c);
    int (*backend)(const struct pg_conn *c);
    int (*version)(const struct pg_conn *c);
    const char *(*parameter)(const struct pg_conn *c, const char *name);
    void *(*notices)(struct pg_conn *c, void (*take)(void *arg, const struct pg_result *notice), void *arg);
    int (*pipeline)(struct pg_conn *c);
    int (*no_pipeline)(struct pg_conn *c);
    int (*nonblocking)(struct pg_conn *c, int on);
    int (*uses_tls)(struct pg_conn *c);
    int (*uses_gss)(struct pg_conn *c);
    int (*sync)(struct pg_conn *c);
    int (*flush)(struct pg_conn *c);
    int (*consume)(struct pg_conn *c);
    int (*busy)(struct pg_conn *c);
    int (*prepare)(struct pg_conn *c, const char *name, const char *text, int n, const unsigned *types);
    int (*send)(struct pg_conn *c, const char *text, int n, const unsigned *types, const char *const *values,
                const int *lengths, const int *formats, int format);
    int (*send_prepared)(struct pg_conn *c, const char *name, int n, const char *const *values,
                         const int *lengths, const int *formats, int format);
    struct pg_result *(*result)(struct pg_conn *c);
    int (*result_status)(const struct pg_result *r);
    char *(*field)(const struct pg_result *r, int code);
    char *(*result_message)(const struct pg_result *r);
    int (*rows)(const struct pg_result *r);
    char *(*value)(const struct pg_result *r, int row, int column);
    int (*length)(const struct pg_result *r, int row, int column);
    int (*is_null)(const struct pg_result *r, int row, int column);
    char *(*changed)(struct pg_result *r);
    void (*clear)(struct pg_result *r);
    void *(*cancel_of)(struct pg_conn *c);
    int (*cancel)(void *of, char *why, int size);
    void (*cancel_done)(void *of);
    int (*library)(void);
};

extern struct caret__libpq caret__pq; /* to be called after caret__libpq_load() said OK */

/* OPEN: it is not installed, or too old. */
int caret__libpq_load(void);

/* Does this libpq take an error that comes with the answer to Sync?  Else a commit is a statement of its own. */
int caret__libpq_minds_sync(void);

#endif
