/*
 * memory.c - MEMORY and LOLWUT.
 *
 * What a key takes is an estimate: pages are shared by neighbours, so a key has no size of its own.
 */
#include <stdio.h>

#include "server/keys/evict.h"
#include "server/keys/key.h"
#include "server/worker.h"

/* Bytes of all values below a node are not read: a collection is as many nodes as it counts. */
int serve__cmd_memory_usage(struct serve__call *q)
{
    struct serve__key k;
    int64_t samples;
    for (int i = 3; i < q->argc; i += 2)
        if (!serve__is(&q->argv[i], "samples") || i + 1 == q->argc)
            return SERVE__E_SYNTAX;
        else if (!serve__read_integer(&q->argv[i + 1], &samples))
            return SERVE__E_INTEGER;
        else if (samples < 0)
            return SERVE__E_SYNTAX;
    int rc = serve__key_open(q, &k, q->argv[2], SERVE__ANY);
    if (rc == CARET_NONE)
        return serve__null(q);
    if (rc == CARET_OK && k.type != SERVE__STRING)
        rc = serve__key_count(q, &k);
    if (rc != CARET_OK)
        return rc;
    return serve__integer(q, (int64_t)serve__key_bytes(&k));
}

int serve__cmd_memory_purge(struct serve__call *q)
{
    return serve__ok(q);
}

int serve__cmd_memory_malloc_stats(struct serve__call *q)
{
    static const char text[] =
        "The data is in pages of the database: INFO memory. There is no allocator of its own.";
    return serve__verbatim(q, "txt", text, sizeof text - 1);
}

int serve__cmd_memory_doctor(struct serve__call *q)
{
    static const char text[] =
        "Hi Sam, I can't find any memory issue in your instance. I can only account for what "
        "occurs on this base.\n";
    return serve__verbatim(q, "txt", text, sizeof text - 1);
}

/* One of MEMORY STATS. */
struct figure {
    const char *name;
    double n;
    bool real; /* not a whole number */
};

static void add_figures(struct serve__call *q, const struct figure *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        serve__text(q, f[i].name);
        if (f[i].real)
            serve__real(q, f[i].n);
        else
            serve__integer(q, (int64_t)f[i].n);
    }
}

/* The databases that have keys, with hash tables that they do not have here; *keys is how many keys they have. */
static size_t add_databases(struct serve__call *q, double *keys)
{
    static const struct figure none[] = {{"overhead.hashtable.main", 0, false},
                                         {"overhead.hashtable.expires", 0, false},
                                         {"overhead.hashtable.slot-to-keys", 0, false}};
    size_t n = 0;
    *keys = 0;
    for (unsigned db = 0; db < SERVE__DATABASES; db++) {
        struct serve__keys_count count;
        char name[16];
        if (serve__count_keys(q, db, &count) != CARET_OK || count.all == 0)
            continue;
        snprintf(name, sizeof name, "db.%u", db);
        serve__text(q, name);
        serve__map(q, sizeof none / sizeof *none);
        add_figures(q, none, sizeof none / sizeof *none);
        *keys += (double)count.all;
        n++;
    }
    return n;
}

/* All that Redis tells, in its order, for programs that look for a name: 0, or the ratio 1, of what is not here. */
int serve__cmd_memory_stats(struct serve__call *q)
{
    double used = (double)serve__memory_used(q->w), peak = (double)q->w->shared->peak, keys;
    const struct figure before[] = {{"peak.allocated", peak, false}, {"total.allocated", used, false},
                                    {"startup.allocated", 0, false}, {"replication.backlog", 0, false},
                                    {"clients.slaves", 0, false},    {"clients.normal", 0, false},
                                    {"cluster.links", 0, false},     {"aof.buffer", 0, false},
                                    {"lua.caches", 0, false},        {"functions.caches", 0, false}};
    enum { BEFORE = sizeof before / sizeof *before };
    size_t place = serve__open(q);
    add_figures(q, before, BEFORE);
    size_t n = add_databases(q, &keys);
    const struct figure after[] = {{"overhead.total", 0, false},
                                   {"keys.count", keys, false},
                                   {"keys.bytes-per-key", keys > 0 ? used / keys : 0, false},
                                   {"dataset.bytes", used, false},
                                   {"dataset.percentage", 100, true},
                                   {"peak.percentage", peak > 0 ? 100 * used / peak : 100, true},
                                   {"allocator.allocated", 0, false},
                                   {"allocator.active", 0, false},
                                   {"allocator.resident", 0, false},
                                   {"allocator-fragmentation.ratio", 1, true},
                                   {"allocator-fragmentation.bytes", 0, false},
                                   {"allocator-rss.ratio", 1, true},
                                   {"allocator-rss.bytes", 0, false},
                                   {"rss-overhead.ratio", 1, true},
                                   {"rss-overhead.bytes", 0, false},
                                   {"fragmentation", 1, true},
                                   {"fragmentation.bytes", 0, false}};
    enum { AFTER = sizeof after / sizeof *after };
    add_figures(q, after, AFTER);
    return serve__close_map(q, place, BEFORE + n + AFTER);
}

int serve__cmd_memory_help(struct serve__call *q)
{
    static const char *const lines[] = {"MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                                        "DOCTOR",
                                        "    Return what there is to say about memory.",
                                        "MALLOC-STATS",
                                        "    Return what the allocator tells.",
                                        "PURGE",
                                        "    Do nothing: pages that are not used leave memory by themselves.",
                                        "STATS",
                                        "    Return how much memory is used for what.",
                                        "USAGE <key> [SAMPLES <count>]",
                                        "    Return an estimate of the bytes of a key and its value.",
                                        "HELP",
                                        "    Prints this help.",
                                        NULL};
    return serve__help(q, lines);
}

/* The pictures of versions 5 and 6 have three and two numbers, which are read. */
int serve__cmd_lolwut(struct serve__call *q)
{
    static const char text[] = "Redis ver. " SERVE__REDIS_VERSION "\n";
    int64_t version = 0, n;
    bool told = q->argc >= 3 && serve__is(&q->argv[1], "version");
    if (told && !serve__read_integer(&q->argv[2], &version))
        return SERVE__E_INTEGER;
    int numbers = version == 5 ? 3 : version == 6 ? 2 : 0;
    for (int i = 3; told && i < q->argc && i < 3 + numbers; i++)
        if (!serve__read_integer(&q->argv[i], &n))
            return SERVE__E_INTEGER;
    return serve__verbatim(q, "txt", text, sizeof text - 1);
}
