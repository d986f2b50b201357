/*
 * generic.c - commands of keys, whatever their type: DEL, EXISTS, TYPE, RENAME, COPY, MOVE, OBJECT.
 */
#include <stdio.h>

#include "server/event.h"
#include "server/keys/access.h"
#include "server/keys/key.h"
#include "server/worker.h"

/* ------------------------------------------------------- one or more keys */

int serve__cmd_del(struct serve__call *q)
{
    int64_t n = 0;
    for (int i = 1; i < q->argc; i++) {
        struct serve__key k;
        int rc = serve__key_change(q, &k, q->argv[i], SERVE__ANY);
        if (rc == CARET_OK && k.exists) {
            rc = serve__key_delete(q, &k);
            if (rc == CARET_OK)
                serve__changed(q, SERVE__EVENT_GENERIC, "del", k.name);
            n++;
        }
        if (rc != CARET_OK)
            return rc;
    }
    return serve__integer(q, n);
}

int serve__cmd_unlink(struct serve__call *q)
{
    return serve__cmd_del(q);
}

int serve__cmd_exists(struct serve__call *q)
{
    int64_t n = 0;
    for (int i = 1; i < q->argc; i++) {
        struct serve__key k;
        int rc = serve__key_read(q, &k, q->argv[i], SERVE__ANY);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        n += rc == CARET_OK;
    }
    return serve__integer(q, n);
}

int serve__cmd_touch(struct serve__call *q)
{
    return serve__cmd_exists(q);
}

int serve__cmd_type(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ANY);
    return rc == CARET_OK || rc == CARET_NONE ? serve__status(q, serve__type_name(k.type)) : rc;
}

/* ----------------------------------------------------- from here to there */

/* Open both; q->db is that of the first again.  SERVE__E_NOKEY: there is no first. */
static int open_both(struct serve__call *q, struct serve__key *from, struct serve__key *to, unsigned db)
{
    unsigned here = q->db;
    int rc = serve__key_change(q, from, q->argv[1], SERVE__ANY);
    if (q->cmd->name[0] == 'c')
        serve__key_seen(q, rc, from);
    if (rc == CARET_OK && !from->exists)
        rc = SERVE__E_NOKEY;
    if (rc != CARET_OK)
        return rc;
    q->db = db;
    rc = serve__key_change(q, to, q->cmd->name[0] == 'm' ? q->argv[1] : q->argv[2], SERVE__ANY);
    q->db = here;
    return rc;
}

/* Tell two events of one change, of keys in two databases. */
static void tell_both(struct serve__call *q, const char *event, const struct serve__key *from,
                      const char *other, const struct serve__key *to)
{
    unsigned here = q->db;
    if (event != NULL)
        serve__changed(q, SERVE__EVENT_GENERIC, event, from->name);
    q->db = to->db;
    serve__changed(q, SERVE__EVENT_GENERIC, other, to->name);
    serve__ready(q, to->name);
    q->db = here;
    if (event != NULL)
        q->r->dirty--;
}

static int rename_key(struct serve__call *q, bool over, bool *done)
{
    struct serve__key from, to;
    *done = false;
    int rc = open_both(q, &from, &to, q->db);
    bool same =
        q->argv[1].len == q->argv[2].len && memcmp(q->argv[1].data, q->argv[2].data, q->argv[1].len) == 0;
    if (rc != CARET_OK || (same && over) || (to.exists && !over))
        return rc;
    if ((rc = serve__key_move(q, &to, &from, false)) != CARET_OK)
        return rc;
    *done = true;
    tell_both(q, "rename_from", &from, "rename_to", &to);
    return CARET_OK;
}

int serve__cmd_rename(struct serve__call *q)
{
    bool done;
    int rc = rename_key(q, true, &done);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_renamenx(struct serve__call *q)
{
    bool done;
    int rc = rename_key(q, false, &done);
    return rc == CARET_OK ? serve__integer(q, done) : rc;
}

/* The number of a database. */
static int read_db(struct serve__call *q, int i, unsigned *db)
{
    int64_t n;
    int rc = serve__arg_between(q, i, INT32_MIN, INT32_MAX, &n);
    if (rc != CARET_OK)
        return rc;
    if (n < 0 || n >= q->w->config.n[SERVE__CFG_databases])
        return SERVE__E_DBINDEX;
    *db = (unsigned)n;
    return CARET_OK;
}

int serve__cmd_move(struct serve__call *q)
{
    struct serve__key from, to;
    unsigned db;
    int rc = read_db(q, 2, &db);
    if (rc == CARET_OK && db == q->db)
        return serve__fail(q, "ERR source and destination objects are the same");
    if (rc == CARET_OK)
        rc = open_both(q, &from, &to, db);
    if (rc == SERVE__E_NOKEY || (rc == CARET_OK && to.exists))
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = serve__key_move(q, &to, &from, false);
    if (rc != CARET_OK)
        return rc;
    tell_both(q, "move_from", &from, "move_to", &to);
    return serve__integer(q, 1);
}

int serve__cmd_copy(struct serve__call *q)
{
    struct serve__key from, to;
    unsigned db = q->db;
    bool replace = false;
    int rc = CARET_OK;
    for (int i = 3; i < q->argc && rc == CARET_OK; i++) {
        if (serve__is(&q->argv[i], "replace"))
            replace = true;
        else if (serve__is(&q->argv[i], "db") && i + 1 < q->argc)
            rc = read_db(q, ++i, &db);
        else
            rc = SERVE__E_SYNTAX;
    }
    bool same =
        q->argv[1].len == q->argv[2].len && memcmp(q->argv[1].data, q->argv[2].data, q->argv[1].len) == 0;
    if (rc == CARET_OK && db == q->db && same)
        return serve__fail(q, "ERR source and destination objects are the same");
    if (rc == CARET_OK)
        rc = open_both(q, &from, &to, db);
    if (rc == SERVE__E_NOKEY || (rc == CARET_OK && to.exists && !replace))
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = serve__key_move(q, &to, &from, true);
    if (rc != CARET_OK)
        return rc;
    tell_both(q, NULL, &from, "copy_to", &to);
    return serve__integer(q, 1);
}

/* ----------------------------------------------------------------- object */

static const char *string_encoding(const struct serve__key *k)
{
    int64_t n;
    if (k->flags & SERVE__HEAD_LARGE)
        return "raw";
    if (!(k->flags & SERVE__HEAD_TEXT) && k->value.len <= 20 && serve__read_integer(&k->value, &n))
        return "int";
    return k->value.len <= SERVE__EMBEDDED_MAX ? "embstr" : "raw";
}

/* What the encoding of a type is called while it is small, and after; its type decides when that is
 * (SERVE__HEAD_LARGE), as Redis never goes back. */
const char *serve__key_encoding(const struct serve__key *k)
{
    bool large = (k->flags & SERVE__HEAD_LARGE) != 0;
    switch (k->type) {
    case SERVE__STRING: return string_encoding(k);
    case SERVE__LIST: return "quicklist";
    case SERVE__HASH: return large ? "hashtable" : "listpack";
    case SERVE__SETTYPE: return large ? "hashtable" : "intset";
    case SERVE__ZSET: return large ? "skiplist" : "listpack";
    case SERVE__STREAM: return "stream";
    case SERVE__ANY: break;
    }
    return "unknown";
}

/* The key that OBJECT asks for: it counts as read, but its absence is told to nobody. */
static int look_at(struct serve__call *q, struct serve__key *k)
{
    int rc = serve__key_open(q, k, q->argv[2], SERVE__ANY);
    if (rc == CARET_OK || rc == CARET_NONE)
        serve__key_looked(q, k->exists);
    return rc;
}

int serve__cmd_object_encoding(struct serve__call *q)
{
    struct serve__key k;
    int rc = look_at(q, &k);
    return rc == CARET_OK ? serve__text(q, serve__key_encoding(&k)) : rc;
}

int serve__cmd_object_refcount(struct serve__call *q)
{
    struct serve__key k;
    int64_t n;
    int rc = look_at(q, &k);
    if (rc != CARET_OK)
        return rc;
    bool alone =
        q->w->access != NULL && q->w->config.n[SERVE__CFG_maxmemory] != 0; /* as each has its own age */
    bool small = k.type == SERVE__STRING && serve__read_integer(&k.value, &n) && n >= 0 && n < 10000;
    return serve__integer(q, small && !alone ? INT32_MAX : 1);
}

/* A look at it is not a use: what was, before the key is opened, is so after it. */
int serve__cmd_object_idletime(struct serve__call *q)
{
    struct serve__key k;
    uint32_t idle = serve__access_idle(q, q->argv[2]);
    int rc = look_at(q, &k);
    serve__access_set_idle(q, q->argv[2], idle);
    if (rc == CARET_OK && serve__access_counts(q->w))
        return serve__fail(q,
                           "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that "
                           "when switching between policies at runtime LRU and LFU data will take some time "
                           "to adjust.");
    return rc == CARET_OK ? serve__integer(q, idle) : rc;
}

int serve__cmd_object_freq(struct serve__call *q)
{
    struct serve__key k;
    unsigned freq = serve__access_freq(q, q->argv[2]);
    int rc = look_at(q, &k);
    if (rc != CARET_OK)
        return rc;
    serve__access_set_freq(q, q->argv[2], freq);
    if (serve__access_counts(q->w))
        return serve__integer(q, freq);
    return serve__fail(
        q, "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when "
           "switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

int serve__cmd_object_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "ENCODING <key>",
        "    Return how Redis would store the value of a <key>.",
        "FREQ <key>",
        "    Return how often the <key> is used, if the policy is one of lfu.",
        "IDLETIME <key>",
        "    Return how long the <key> was not used, if the policy is one of lru.",
        "REFCOUNT <key>",
        "    Return how many references there are to the value of a <key>.",
        "HELP",
        "    Print this help.",
        NULL};
    return serve__help(q, lines);
}
