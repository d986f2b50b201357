/*
 * monitor.c - MONITOR: each command that is run, by any worker, as a line to those that want to see it.
 *
 * Each worker counts its monitors in its row of shared memory; the sum is taken once a turn.  The lines go as
 * letters (mail.h), which may be dropped.  What runs within a transaction is told after its commit, once.
 *
 * Order: a command that is sent after another was answered has its line after the other's.  Letters go out before the
 * answer, and a worker with monitors reads what came (serve__mail_first) before it serves clients, whose lines it adds
 * itself.  A monitor's own commands have their lines after their answers, but for scripts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "server/admin/secret.h"
#include "server/dispatch.h"
#include "server/meet/clients.h"
#include "server/meet/mail.h"

enum { MOST = 1024 };
static struct serve__conn *monitor[MOST];
static unsigned nmonitors;

static void tell_ours(struct serve__worker *w, const char *line, size_t len)
{
    for (unsigned i = 0; i < nmonitors; i++)
        serve__conn_add(w, monitor[i], line, len);
}

void serve__letter_monitor(struct serve__worker *w, int from, const char *line, size_t len)
{
    (void)from;
    tell_ours(w, line, len);
}

void serve__monitored_tell(struct serve__worker *w, unsigned class, const char *event, unsigned db,
                           caret_slice line)
{
    (void)class, (void)event, (void)db;
    tell_ours(w, line.data, line.len);
    for (int i = 0; i < w->shared->nworkers; i++)
        if (i != w->index && w->shared->stats[i].monitors > 0)
            serve__mail_write(w, i, SERVE__LETTER_monitor, &line, 1, true);
}

/* ------------------------------------------------------------------- line */

static void add_quoted(struct serve__buffer *b, const caret_slice *s)
{
    static const char special[] = "\n\r\t\a\b\"\\", letters[] = "nrtab\"\\";
    serve__buffer_add(b, " \"", 2);
    for (size_t i = 0; i < s->len; i++) {
        const char *at = s->data[i] != 0 ? strchr(special, s->data[i]) : NULL;
        if (at != NULL)
            serve__buffer_print(b, "\\%c", letters[at - special]);
        else if (s->data[i] >= ' ' && s->data[i] <= '~')
            serve__buffer_add(b, &s->data[i], 1);
        else
            serve__buffer_print(b, "\\x%02x", (unsigned char)s->data[i]);
    }
    serve__buffer_add(b, "\"", 1);
}

static void add_line(struct serve__call *q, struct serve__buffer *b)
{
    struct timespec t;
    char addr[200];
    clock_gettime(CLOCK_REALTIME, &t);
    serve__buffer_print(b, "+%" PRId64 ".%06ld [%u ", (int64_t)t.tv_sec, t.tv_nsec / 1000, q->db);
    if (q->c != NULL && q->reply == &q->c->reply) {
        serve__client_address(q->w, q->c, addr, sizeof addr);
        bool is_unix = q->c->flags & SERVE__CONN_UNIX;
        serve__buffer_print(b, "%s%.*s]", is_unix ? "unix:" : "", (int)(strlen(addr) - (is_unix ? 2 : 0)),
                            addr);
    } else {
        serve__buffer_print(b, "lua]");
    }
    for (int i = 0; i < q->argc; i++) {
        caret_slice told = serve__argument_told(q, i);
        add_quoted(b, &told);
    }
    serve__buffer_add(b, "\r\n", 2);
}

void serve__monitor_tell(struct serve__call *q)
{
    struct serve__buffer b = {0}; /* not a static one: scripts may run in other threads (handoff.h) */
    add_line(q, &b);
    caret_slice line = {b.data, b.len};
    serve__interest(q->w, SERVE__TELL_MONITOR, SERVE__EVENT_MONITOR);
    if (caret_txn_level(q->s) > 0 || q->cmd->run == serve__cmd_exec)
        serve__event_add(q, SERVE__EVENT_MONITOR, NULL, &line, 1);
    else
        serve__monitored_tell(q->w, 0, NULL, 0, line);
    serve__buffer_free(&b);
}

/* --------------------------------------------------------------- monitors */

void serve__conn_gone_monitor(struct serve__worker *w, struct serve__conn *c)
{
    unsigned kept = 0;
    if (!(c->flags & SERVE__CONN_MONITOR))
        return;
    for (unsigned i = 0; i < nmonitors; i++)
        if (monitor[i] != c)
            monitor[kept++] = monitor[i];
    nmonitors = kept;
    w->stats->monitors = nmonitors;
    c->flags &= ~(unsigned)SERVE__CONN_MONITOR;
}

int serve__cmd_monitor(struct serve__call *q)
{
    struct serve__conn *c = q->c;
    if (c->flags & SERVE__CONN_IN_EXEC)
        return serve__fail(q, "ERR MONITOR isn't allowed for DENY BLOCKING client");
    if (c->flags & SERVE__CONN_MONITOR) /* as in Redis: no answer */
        return CARET_OK;
    if (nmonitors == MOST)
        return serve__fail(q, "ERR too many clients are in MONITOR");
    monitor[nmonitors++] = c;
    c->flags |= SERVE__CONN_MONITOR;
    q->w->stats->monitors = nmonitors;
    q->w->monitors++;
    return serve__ok(q);
}
