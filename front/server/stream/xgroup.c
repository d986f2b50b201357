/*
 * xgroup.c - XGROUP: make, change and delete groups and consumers.
 */
#include "server/event.h"
#include "server/stream/group.h"

static int no_group(struct serve__call *q)
{
    return serve__fail(q, "NOGROUP No such consumer group '%.*s' for key name '%.*s'", (int)q->argv[3].len,
                       q->argv[3].data, (int)q->argv[2].len, q->argv[2].data);
}

/* Open the stream, which has to be there; and, unless g is NULL, the group. */
static int open_both(struct serve__call *q, struct serve__stream *x, struct serve__group *g)
{
    int rc = serve__stream_change(q, x, q->argv[2]);
    if (rc == CARET_OK && !x->k.exists)
        return serve__fail(q, "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you "
                              "may want to use the MKSTREAM option to create an empty stream automatically.");
    if (rc == CARET_OK && g != NULL && (rc = serve__group_open(q, x, g, q->argv[3])) == CARET_NONE)
        return no_group(q);
    return rc;
}

/* ---------------------------------------------------- groups: CREATE, SETID */

struct options {
    bool makes; /* MKSTREAM */
    int64_t read;
};

static int read_options(struct serve__call *q, struct options *o, bool creates)
{
    *o = (struct options){false, -1};
    for (int i = 5; i < q->argc; i++) {
        if (creates && serve__is(&q->argv[i], "mkstream")) {
            o->makes = true;
        } else if (serve__is(&q->argv[i], "entriesread") && i + 1 < q->argc) {
            int rc = serve__arg_integer(q, ++i, &o->read);
            if (rc != CARET_OK)
                return rc;
            if (o->read < -1)
                return serve__fail(q, "ERR value for ENTRIESREAD must be positive or -1");
        } else
            return serve__wrong_subcommand(q);
    }
    return CARET_OK;
}

/* Argument 4: an id, or $ for the last one. */
static int read_place(struct serve__call *q, const struct serve__stream *x, bool strict, struct serve__id *id)
{
    *id = x->last;
    if (q->argv[4].len == 1 && *q->argv[4].data == '$')
        return CARET_OK;
    return serve__id_read(q, q->argv[4], 0, strict, NULL, id);
}

int serve__cmd_xgroup_create(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__id id;
    struct options o;
    int rc = read_options(q, &o, true);
    if (rc == CARET_OK)
        rc = o.makes ? serve__stream_change(q, &x, q->argv[2]) : open_both(q, &x, NULL);
    if (rc == CARET_OK)
        rc = q->argc > 8 ? serve__wrong_subcommand(q) : read_place(q, &x, true, &id);
    if (rc == CARET_OK && (rc = serve__group_open(q, &x, &g, q->argv[3])) == CARET_OK)
        return serve__fail(q, "BUSYGROUP Consumer Group name already exists");
    if (rc != CARET_NONE)
        return rc;
    g.last = id;
    g.read = o.read;
    rc = serve__group_make(q, &x, &g, q->argv[3]);
    if (rc == CARET_OK)
        rc = serve__stream_save(q, &x);
    serve__changed(q, SERVE__EVENT_STREAM, "xgroup-create", x.k.name);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_xgroup_setid(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct options o;
    int rc = read_options(q, &o, false);
    if (rc == CARET_OK)
        rc = open_both(q, &x, &g);
    if (rc == CARET_OK)
        rc = q->argc > 7 ? serve__wrong_subcommand(q) : read_place(q, &x, false, &g.last);
    if (rc != CARET_OK)
        return rc;
    g.read = o.read;
    rc = serve__group_save(q, &g);
    serve__changed(q, SERVE__EVENT_STREAM, "xgroup-setid", x.k.name);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_xgroup_destroy(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    int rc = open_both(q, &x, NULL);
    if (rc == CARET_OK)
        rc = serve__group_open(q, &x, &g, q->argv[3]);
    if (rc == CARET_NONE)
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = serve__group_delete(q, &g);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STREAM, "xgroup-destroy", x.k.name);
    serve__ready(q, x.k.name); /* those who wait for it are told that it is gone */
    return serve__integer(q, 1);
}

/* -------------------------------------------------------------- consumers */

int serve__cmd_xgroup_createconsumer(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__consumer c;
    int rc = open_both(q, &x, &g);
    if (rc == CARET_OK && (rc = serve__consumer_open(q, &g, &c, q->argv[4])) == CARET_OK)
        return serve__integer(q, 0);
    if (rc == CARET_NONE)
        rc = serve__consumer_make(q, &x, &g, &c, q->argv[4]);
    return rc == CARET_OK ? serve__integer(q, 1) : rc;
}

int serve__cmd_xgroup_delconsumer(struct serve__call *q)
{
    struct serve__stream x;
    struct serve__group g;
    struct serve__consumer c;
    int64_t n = 0;
    int rc = open_both(q, &x, &g);
    if (rc == CARET_OK && (rc = serve__consumer_open(q, &g, &c, q->argv[4])) == CARET_NONE)
        return serve__integer(q, 0);
    if (rc == CARET_OK)
        rc = serve__pending_count(q, &c.mine.node, &n);
    if (rc == CARET_OK)
        rc = serve__consumer_delete(q, &g, &c);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_STREAM, "xgroup-delconsumer", x.k.name);
    return serve__integer(q, n);
}

int serve__cmd_xgroup_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CREATE <key> <groupname> <id|$> [option]",
        "    Create a new consumer group. Options are:",
        "    * MKSTREAM",
        "      Create the empty stream if it does not exist.",
        "    * ENTRIESREAD entries_read",
        "      Set the group's entries_read counter (internal use).",
        "CREATECONSUMER <key> <groupname> <consumer>",
        "    Create a new consumer in the specified group.",
        "DELCONSUMER <key> <groupname> <consumer>",
        "    Remove the specified consumer.",
        "DESTROY <key> <groupname>",
        "    Remove the specified group.",
        "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
        "    Set the current group ID and entries_read counter.",
        "HELP",
        "    Prints this help.",
        NULL,
    };
    return serve__help(q, lines);
}
