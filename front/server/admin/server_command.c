/*
 * server_command.c - commands of the server as a whole: TIME, SAVE, SHUTDOWN, ROLE and their kin.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "server/worker.h"

int serve__cmd_time(struct serve__call *q)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    serve__array(q, 2);
    serve__number_text(q, (int64_t)t.tv_sec);
    return serve__number_text(q, t.tv_nsec / 1000);
}

/* A save is a checkpoint: the file holds all that was committed. */
static int save(struct serve__call *q)
{
    struct serve__shared *s = q->w->shared;
    uint64_t dirty = SERVE__SUM(s, dirty);
    int rc = caret_checkpoint(q->w->db);
    if (rc != CARET_OK)
        return rc;
    s->saved_dirty = dirty;
    s->saved = (uint64_t)time(NULL);
    s->saves++;
    return CARET_OK;
}

int serve__cmd_save(struct serve__call *q)
{
    int rc = save(q);
    return rc == CARET_OK ? serve__ok(q) : rc;
}

int serve__cmd_bgsave(struct serve__call *q)
{
    if (q->argc > 2 || (q->argc == 2 && !serve__is(&q->argv[1], "schedule")))
        return SERVE__E_SYNTAX;
    int rc = save(q);
    return rc == CARET_OK ? serve__status(q, "Background saving started") : rc;
}

int serve__cmd_bgrewriteaof(struct serve__call *q)
{
    int rc = save(q);
    return rc == CARET_OK ? serve__status(q, "Background append only file rewriting started") : rc;
}

int serve__cmd_lastsave(struct serve__call *q)
{
    return serve__integer(q, (int64_t)q->w->shared->saved);
}

int serve__cmd_role(struct serve__call *q)
{
    serve__array(q, 3);
    serve__text(q, "master");
    serve__integer(q, 0);
    return serve__array(q, 0);
}

static int no_replication(struct serve__call *q)
{
    return serve__fail(q, "ERR replication is not supported");
}

int serve__cmd_sync(struct serve__call *q)
{
    return no_replication(q);
}

int serve__cmd_psync(struct serve__call *q)
{
    return no_replication(q);
}

int serve__cmd_replconf(struct serve__call *q)
{
    return no_replication(q);
}

int serve__cmd_replicaof(struct serve__call *q)
{
    int64_t port;
    if (serve__is(&q->argv[1], "no") && serve__is(&q->argv[2], "one"))
        return serve__ok(q);
    if (!serve__read_integer(&q->argv[2], &port) || port < 0 || port > 65535)
        return serve__fail(q, "ERR Invalid master port");
    return no_replication(q);
}

int serve__cmd_slaveof(struct serve__call *q)
{
    return serve__cmd_replicaof(q);
}

/* FAILOVER [TO host port] [TIMEOUT ms] [FORCE]: is it told in Redis' way? */
static int check_failover(struct serve__call *q)
{
    bool to = false, timeout = false, force = false;
    int64_t n;
    for (int i = 1; i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        if (!to && i + 2 < q->argc && serve__is(word, "to")) {
            if (serve__arg_integer(q, i += 2, &n) != CARET_OK)
                return SERVE__E_INTEGER;
            to = true;
        } else if (!timeout && i + 1 < q->argc && serve__is(word, "timeout")) {
            if (serve__arg_integer(q, ++i, &n) != CARET_OK)
                return SERVE__E_INTEGER;
            if (n <= 0)
                return serve__fail(q, "ERR FAILOVER timeout must be greater than 0");
            timeout = true;
        } else if (!force && serve__is(word, "force")) {
            force = true;
        } else {
            return SERVE__E_SYNTAX;
        }
    }
    return CARET_OK;
}

int serve__cmd_failover(struct serve__call *q)
{
    if (q->argc == 2 && serve__is(&q->argv[1], "abort"))
        return serve__fail(q, "ERR No failover in progress.");
    int rc = check_failover(q);
    return rc == CARET_OK ? serve__fail(q, "ERR FAILOVER requires connected replicas.") : rc;
}

/* There are no replicas: none has acknowledged. */
int serve__cmd_wait(struct serve__call *q)
{
    int64_t n, timeout;
    if (serve__arg_integer(q, 1, &n) != CARET_OK)
        return SERVE__E_INTEGER;
    if (!serve__read_integer(&q->argv[2], &timeout))
        return serve__fail(q, "ERR timeout is not an integer or out of range");
    return timeout < 0 ? serve__fail(q, "ERR timeout is negative") : serve__integer(q, 0);
}

enum { NOSAVE = 1, SAVE = 2, ABORT = 16 }; /* words of SHUTDOWN */

static int read_words(struct serve__call *q, unsigned *words)
{
    static const char *const names[] = {"nosave", "save", "now", "force", "abort"};
    *words = 0;
    for (int i = 1; i < q->argc; i++) {
        unsigned k = 0;
        while (k < 5 && !serve__is(&q->argv[i], names[k]))
            k++;
        if (k == 5)
            return SERVE__E_SYNTAX;
        *words |= 1u << k;
    }
    bool collide = (*words & ABORT && *words != ABORT) || (*words & NOSAVE && *words & SAVE);
    return collide ? SERVE__E_SYNTAX : CARET_OK;
}

/* The supervisor ends all workers, each of which closes the database; what was committed is there in any
 * case. */
int serve__cmd_shutdown(struct serve__call *q)
{
    enum { LONGEST = 1000 };
    unsigned words;
    int rc = read_words(q, &words);
    if (rc != CARET_OK)
        return rc;
    if (words & ABORT)
        return serve__fail(q, "ERR No shutdown in progress.");
    kill(q->w->shared->supervisor, SIGTERM);
    struct timespec ms = {.tv_nsec = 1000000};
    /* As in Redis the end of the connection is the last. */
    for (int i = 0; i < LONGEST && q->w->shared->stop == 0; i++)
        nanosleep(&ms, NULL);
    q->c->flags |= SERVE__CONN_CLOSE;
    return CARET_OK;
}
