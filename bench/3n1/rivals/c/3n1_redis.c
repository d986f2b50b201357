/*
 * 3n1_redis.c - the 3n+1 job on a Redis server through hiredis: a call for each operation, as in programs/redis.lua.
 * Lengths are a hash.  A maximum only grows, so it is read first, and again under WATCH, MULTI, EXEC if it is to be
 * raised.  The folder is HOST:PORT.
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

static redisContext *server;

/* The answer to a command, to be freed; errors end the process. */
static redisReply *ask(int argc, const char *argv[])
{
    redisReply *r = redisCommandArgv(server, argc, argv, NULL);

    if (r == NULL || r->type == REDIS_REPLY_ERROR)
        job_fail(argv[0], r == NULL ? server->errstr : r->str);
    return r;
}

#define ASK(...) ask(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *), (const char *[]){__VA_ARGS__})

static void done_with(redisReply *r)
{
    freeReplyObject(r);
}

/* Of a value as text or a number; 0: there is none. */
static uint64_t number(redisReply *r)
{
    uint64_t x = r->type == REDIS_REPLY_INTEGER  ? (uint64_t)r->integer
                 : r->type == REDIS_REPLY_STRING ? strtoull(r->str, NULL, 10)
                                                 : 0;

    freeReplyObject(r);
    return x;
}

static const char *text(char digits[24], uint64_t x)
{
    snprintf(digits, 24, "%" PRIu64, x);
    return digits;
}

static void store_open(const struct job_options *o, int create)
{
    char host[100] = "";
    int port = 0;

    (void)create;
    sscanf(o->folder, "%99[^:]:%d", host, &port);
    server = redisConnect(host, port);
    if (server == NULL || server->err != 0)
        job_fail("connect", server == NULL ? "no memory" : server->errstr);
}

static void store_close(void)
{
    redisFree(server);
}

static int take(unsigned block)
{
    char digits[24];

    return number(ASK("HINCRBY", "taken", text(digits, block), "1")) == 1;
}

static unsigned get(uint64_t n)
{
    char digits[24];

    return (unsigned)number(ASK("HGET", "step", text(digits, n)));
}

static void set(const char *key, uint64_t x)
{
    char digits[24];

    done_with(ASK("SET", key, text(digits, x)));
    job_updates++;
}

static int is_more(const struct job_found *f, int *longer, int *higher)
{
    job_reads += 2;
    *longer = f->total > number(ASK("GET", "longest"));
    *higher = f->highest > number(ASK("GET", "highest"));
    return *longer || *higher;
}

/* false: somebody else changed them meanwhile. */
static int raise_maxima(const struct job_found *f)
{
    int longer, higher;

    done_with(ASK("WATCH", "longest", "highest"));
    is_more(f, &longer, &higher);
    done_with(ASK("MULTI"));
    if (longer)
        set("longest", f->total);
    if (higher)
        set("highest", f->highest);
    redisReply *r = ASK("EXEC");
    int done = r->type != REDIS_REPLY_NIL;
    freeReplyObject(r);
    return done;
}

static void keep(const struct job_found *f)
{
    char number_of[24], length[24];
    int longer, higher;

    if (is_more(f, &longer, &higher))
        while (!raise_maxima(f))
            ;
    for (unsigned i = 0; i < f->count; i++)
        done_with(ASK("HSET", "step", text(number_of, f->path[i]), text(length, f->total - i)));
    job_updates += f->count;
}

static void maxima(uint64_t *longest, uint64_t *highest)
{
    *longest = number(ASK("GET", "longest"));
    *highest = number(ASK("GET", "highest"));
}

#define TEXT(x)    #x
#define VERSION(x) TEXT(x)

const struct job_store job_store = {
    .version = VERSION(HIREDIS_MAJOR) "." VERSION(HIREDIS_MINOR) "." VERSION(HIREDIS_PATCH),
    .open = store_open,
    .close = store_close,
    .take = take,
    .get = get,
    .keep = keep,
    .maxima = maxima};
