/*
 * function.c - FCALL and FUNCTION: library.h.
 */
#include <stdio.h>

#include "server/codec/glob.h"
#include "server/data/text.h"
#include "server/dispatch.h"
#include "server/multi.h"
#include "server/script/library.h"
#include "server/worker.h"

/* --------------------------------------------------------------- commands */

/* In a transaction of the state's. */
static int fcall(struct serve__call *q, bool readonly)
{
    struct serve__scripts *x;
    int rc = serve__libraries_refresh(q, &x);
    if (rc != CARET_OK)
        return rc;
    struct serve__function *f = serve__function_find(x, q->argv[1]);
    if (f == NULL)
        return serve__fail(q, "ERR Function not found");
    if ((rc = serve__script_keys(q, "ERR Bad number of keys provided")) != CARET_OK)
        return rc;
    if (readonly && !(f->code.flags & SERVE__SCRIPT_NO_WRITES))
        return serve__fail(q, "ERR Can not execute a script with write flag using *_ro command.");
    return serve__script_run_in(q, x, &f->code, readonly);
}

static int fcall_any(struct serve__call *q)
{
    return fcall(q, false);
}

static int fcall_ro(struct serve__call *q)
{
    return fcall(q, true);
}

int serve__cmd_fcall(struct serve__call *q)
{
    return serve__exec_elsewhere(q, fcall_any, 0);
}

int serve__cmd_fcall_ro(struct serve__call *q)
{
    return serve__exec_elsewhere(q, fcall_ro, 0);
}

static int refresh(struct serve__call *q)
{
    struct serve__scripts *x;
    return serve__libraries_refresh(q, &x);
}

unsigned serve__function_flags(struct serve__call *q)
{
    struct serve__scripts *x = serve__scripts_of(q);
    if (x == NULL || serve__exec_elsewhere(q, refresh, 0) != CARET_OK) {
        serve__reply_cut(q->reply, q->mark);
        return SERVE__SCRIPT_OLD;
    }
    const struct serve__function *f = serve__function_find(x, q->argv[1]);
    return f != NULL ? f->code.flags : SERVE__SCRIPT_OLD;
}

int serve__cmd_function_load(struct serve__call *q)
{
    struct serve__scripts *x;
    char name[SERVE__LIBRARY_NAME];
    bool replace = false;
    for (int i = 2; i < q->argc - 1; i++) {
        if (!serve__is(&q->argv[i], "replace"))
            return serve__fail(q, "ERR Unknown option given: %.*s",
                               (int)(q->argv[i].len < 450 ? q->argv[i].len : 450), q->argv[i].data);
        replace = true;
    }
    int rc = serve__libraries_refresh(q, &x);
    if (rc == CARET_OK)
        rc = serve__library_store(q, x, q->argv[q->argc - 1], replace, false, name);
    return rc == CARET_OK ? serve__text(q, name) : rc;
}

int serve__cmd_function_delete(struct serve__call *q)
{
    struct serve__scripts *x;
    char name[SERVE__LIBRARY_NAME];
    int rc = serve__libraries_refresh(q, &x);
    if (rc != CARET_OK)
        return rc;
    snprintf(name, sizeof name, "%.*s",
             (int)(q->argv[2].len < SERVE__LIBRARY_NAME ? q->argv[2].len : SERVE__LIBRARY_NAME - 1),
             q->argv[2].data);
    if (strlen(name) != q->argv[2].len || serve__library_find(x, name) == NULL)
        return serve__fail(q, "ERR Library not found");
    rc = serve__library_kill(q, name);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_function_flush(struct serve__call *q)
{
    if (q->argc > 3)
        return serve__wrong_subcommand(q);
    if (q->argc == 3 && !serve__is(&q->argv[2], "sync") && !serve__is(&q->argv[2], "async"))
        return serve__fail(q, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
    int rc = serve__libraries_kill(q);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

static void list_function(struct serve__call *q, const struct serve__function *f)
{
    serve__map(q, 3);
    serve__text(q, "name");
    serve__text(q, f->name);
    serve__text(q, "description");
    if (f->description != NULL)
        serve__text(q, f->description);
    else
        serve__null(q);
    serve__text(q, "flags");
    size_t place = serve__open(q), n = 0;
    for (unsigned i = 0; serve__script_flags[i] != NULL; i++)
        if (f->code.flags & 1u << i) {
            serve__status(q, serve__script_flags[i]);
            n++;
        }
    serve__close_set(q, place, n);
}

static void list_library(struct serve__call *q, const struct serve__library *l, bool code)
{
    size_t n = 0;
    for (struct serve__function *f = l->function; f != NULL; f = f->next)
        n++;
    serve__map(q, code ? 4 : 3);
    serve__text(q, "library_name");
    serve__text(q, l->name);
    serve__text(q, "engine");
    serve__text(q, "LUA");
    serve__text(q, "functions");
    serve__array(q, n);
    for (struct serve__function *f = l->function; f != NULL; f = f->next)
        list_function(q, f);
    if (code) {
        serve__text(q, "library_code");
        serve__bulk(q, l->text, l->len);
    }
}

static int list(struct serve__call *q)
{
    struct serve__scripts *x;
    const caret_slice *pattern = NULL;
    bool code = false;
    for (int i = 2; i < q->argc; i++) {
        if (!code && serve__is(&q->argv[i], "withcode")) {
            code = true;
        } else if (pattern == NULL && serve__is(&q->argv[i], "libraryname")) {
            if (i + 1 == q->argc)
                return serve__fail(q, "ERR library name argument was not given");
            pattern = &q->argv[++i];
        } else {
            return serve__fail(q, "ERR Unknown argument %.*s",
                               (int)(q->argv[i].len < 450 ? q->argv[i].len : 450), q->argv[i].data);
        }
    }
    int rc = serve__libraries_refresh(q, &x);
    if (rc != CARET_OK)
        return rc;
    size_t place = serve__open(q), n = 0;
    for (struct serve__library *l = x->library; l != NULL; l = l->next)
        if (pattern == NULL || serve__glob(pattern->data, pattern->len, l->name, strlen(l->name), true)) {
            list_library(q, l, code);
            n++;
        }
    return serve__close_array(q, place, n);
}

int serve__cmd_function_list(struct serve__call *q)
{
    return serve__atomic(q, list);
}

int serve__functions_count(struct serve__call *q, int64_t *libraries, int64_t *functions)
{
    struct serve__scripts *x;
    int rc = serve__libraries_refresh(q, &x);
    *libraries = *functions = 0;
    for (struct serve__library *l = rc == CARET_OK ? x->library : NULL; l != NULL; l = l->next, ++*libraries)
        for (struct serve__function *f = l->function; f != NULL; f = f->next)
            ++*functions;
    return rc;
}

static int stats(struct serve__call *q)
{
    int64_t libraries, functions;
    int rc = serve__functions_count(q, &libraries, &functions);
    if (rc != CARET_OK)
        return rc;
    serve__map(q, 2);
    serve__text(q, "running_script");
    serve__script_running(q);
    serve__text(q, "engines");
    serve__map(q, 1);
    serve__text(q, "LUA");
    serve__map(q, 2);
    serve__text(q, "libraries_count");
    serve__integer(q, libraries);
    serve__text(q, "functions_count");
    return serve__integer(q, functions);
}

int serve__cmd_function_stats(struct serve__call *q)
{
    return serve__atomic(q, stats);
}

/* ------------------------------------------------------------ dump, restore */

/* Each library is a byte and its text; one seal is after all of them (codec/rdb.h). */
static int dump(struct serve__call *q)
{
    struct serve__scripts *x;
    struct serve__buffer *b = &q->r->work;
    uint8_t tail[CARET_CODEC__RDB_TAIL], type = CARET_CODEC__RDB_FUNCTION;
    int rc = serve__libraries_refresh(q, &x);
    if (rc != CARET_OK)
        return rc;
    b->len = 0;
    for (struct serve__library *l = x->library; l != NULL; l = l->next) {
        serve__buffer_add(b, &type, 1);
        serve__add_text(b, (caret_slice){l->text, l->len});
    }
    caret_codec__rdb_seal(tail, (const uint8_t *)b->data, b->len);
    serve__buffer_add(b, tail, sizeof tail);
    return b->failed ? CARET_E_NOMEM : serve__bulk(q, b->data, b->len);
}

int serve__cmd_function_dump(struct serve__call *q)
{
    return serve__atomic(q, dump);
}

enum policy { APPEND, REPLACE, FLUSH };

/* The next library of a payload; its text lives until the next is read. */
static int read_library(struct serve__call *q, struct caret_codec__reader *r, caret_slice *text)
{
    struct serve__text t;
    if (*caret_codec__get_raw(r, 1) != CARET_CODEC__RDB_FUNCTION)
        return serve__fail(q, "ERR given type is not a function");
    struct caret_codec__reader ahead = *r;
    caret_codec__rdb_get_text(&ahead);
    if (ahead.bad)
        return serve__fail(q, "ERR Failed loading library payload");
    q->r->work.len = 0;
    int rc = serve__text_read(q, r, &t);
    *text = rc == CARET_OK ? serve__text_slice(q, &t) : (caret_slice){"", 0};
    return rc;
}

/* Delete those that the payload has too: what replaces one may have a function of another that goes as well. */
static int delete_replaced(struct serve__call *q, struct caret_codec__reader r)
{
    int rc = CARET_OK;
    while (rc == CARET_OK && r.at < r.end) {
        struct serve__scripts *x;
        caret_slice text;
        char name[SERVE__LIBRARY_NAME];
        if ((rc = read_library(q, &r, &text)) == CARET_OK &&
            (rc = serve__library_metadata(q, text, name)) == CARET_OK &&
            (rc = serve__libraries_refresh(q, &x)) == CARET_OK && serve__library_find(x, name) != NULL)
            rc = serve__library_kill(q, name);
    }
    return rc;
}

/* Libraries one after the other; each sees those before it. */
static int restore_all(struct serve__call *q, struct caret_codec__reader *r, enum policy policy)
{
    int rc = policy == FLUSH     ? serve__libraries_kill(q)
             : policy == REPLACE ? delete_replaced(q, *r)
                                 : CARET_OK;
    while (rc == CARET_OK && r->at < r->end) {
        struct serve__scripts *x;
        caret_slice text;
        char name[SERVE__LIBRARY_NAME];
        if ((rc = read_library(q, r, &text)) == CARET_OK &&
            (rc = serve__libraries_refresh(q, &x)) == CARET_OK)
            rc = serve__library_store(q, x, text, false, policy == APPEND, name);
    }
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_function_restore(struct serve__call *q)
{
    struct caret_codec__reader r;
    enum policy policy = APPEND;
    if (q->argc > 4)
        return serve__wrong_subcommand(q);
    if (q->argc == 4 && serve__is(&q->argv[3], "replace"))
        policy = REPLACE;
    else if (q->argc == 4 && serve__is(&q->argv[3], "flush"))
        policy = FLUSH;
    else if (q->argc == 4 && !serve__is(&q->argv[3], "append"))
        return serve__fail(
            q, "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
    if (!caret_codec__rdb_open((const uint8_t *)q->argv[2].data, q->argv[2].len, &r))
        return serve__fail(q, "ERR DUMP payload version or checksum are wrong");
    return restore_all(q, &r, policy);
}

int serve__cmd_function_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "LOAD [REPLACE] <FUNCTION CODE>",
        "    Create a new library with the given library name and code.",
        "DELETE <LIBRARY NAME>",
        "    Delete the given library.",
        "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
        "    Return general information on all the libraries:",
        "    * Library name",
        "    * The engine used to run the Library",
        "    * Library description",
        "    * Functions list",
        "    * Library code (if WITHCODE is given)",
        "    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
        "STATS",
        "    Return information about the current function running:",
        "    * Function name",
        "    * Command used to run the function",
        "    * Duration in MS that the function is running",
        "    If no function is running, return nil",
        "    In addition, returns a list of available engines.",
        "KILL",
        "    Kill the current running function.",
        "FLUSH [ASYNC|SYNC]",
        "    Delete all the libraries.",
        "    When called without the optional mode argument, the behavior is determined by the",
        "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
        "    * ASYNC: Asynchronously flush the libraries.",
        "    * SYNC: Synchronously flush the libraries.",
        "DUMP",
        "    Return a serialized payload representing the current libraries, can be restored using FUNCTION "
        "RESTORE "
        "command",
        "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
        "    Restore the libraries represented by the given payload, it is possible to give a restore policy "
        "to",
        "    control how to handle existing libraries (default APPEND):",
        "    * FLUSH: delete all existing libraries.",
        "    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
        "    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the "
        "old",
        "      libraries with the new libraries (notice that even on this option there is a chance of "
        "failure",
        "      in case of functions name collision with another library).",
        "HELP",
        "    Prints this help.",
        NULL,
    };
    return serve__help(q, lines);
}
