/*
 * memory.c - MEMORY and LOLWUT.
 *
 * What a key takes is an estimate: pages are shared by neighbours, so a key has no size of its own.
 */
#include "server/keys/evict.h"
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

int serve__cmd_memory_stats(struct serve__call *q)
{
    caret_stats s = {.size = sizeof s};
    int rc = caret_stat(q->w->db, &s);
    if (rc != CARET_OK)
        return rc;
    uint64_t used = serve__memory_used(q->w);
    const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {{"peak.allocated", q->w->shared->peak},
                {"total.allocated", used},
                {"startup.allocated", 0},
                {"replication.backlog", 0},
                {"clients.slaves", 0},
                {"clients.normal", 0},
                {"aof.buffer", 0},
                {"dataset.bytes", s.pages * 4096}};
    size_t n = sizeof rows / sizeof *rows;
    serve__map(q, n);
    for (size_t i = 0; i < n; i++) {
        serve__text(q, rows[i].name);
        serve__integer(q, (int64_t)rows[i].bytes);
    }
    return CARET_OK;
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

int serve__cmd_lolwut(struct serve__call *q)
{
    static const char text[] = "Redis ver. " SERVE__REDIS_VERSION "\n";
    int64_t version;
    if (q->argc >= 3 && serve__is(&q->argv[1], "version") && !serve__read_integer(&q->argv[2], &version))
        return SERVE__E_INTEGER;
    return serve__verbatim(q, "txt", text, sizeof text - 1);
}
