/*
 * connect.c - a link's connection: opened, set up, tried anew after it was lost, left to the parent after a fork.
 *
 *     none --open--> open --(lose, in link.c)--> none
 *     open --close--> none;   open --forget (a forked child)--> none, and the parent's goes on
 *
 * What libpq is told comes in three layers, later ones over earlier: our defaults, the address, what must be.  libpq
 * tries the hosts of the address in order until one is as target_session_attrs wants it; by default one that writes,
 * so that after a failover the new primary is found.
 *
 * A new connection is set up in one trip: serializable transactions, plans that use the index (a scan of the whole
 * table would conflict with every writer), limits on how long others can be kept waiting, and the time the server's
 * process began.  That time and its number name the process: commit.c may have to end it, and must not end another
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/away.h"
#include "base/bytes.h"
#include "base/error.h"
#include "postgres/link.h"
#include "shm/engine.h"

static void say_nothing(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static struct pg_conn *connect_now(const struct caret__link_way *way)
{
    const char *const keys[] = {"connect_timeout",           "tcp_user_timeout",
                                "keepalives_idle",           "keepalives_interval",
                                "keepalives_count",          "target_session_attrs",
                                "fallback_application_name", "dbname",
                                "client_encoding",           NULL};
    const char *const values[] = {
        "10",    "10000",      "5",    "2", "3", way->read_only ? "any" : "read-write",
        "caret", way->address, "UTF8", NULL};
    struct pg_conn *c;

    caret__away();
    c = caret__pq.connect(keys, values, 1);
    caret__back();
    return c;
}

static int refused(struct caret__link *l)
{
    const char *text = l->pq != NULL ? caret__pq.message(l->pq) : "out of memory";

    l->state[0] = '\0';
    snprintf(l->text, sizeof l->text, "%s", text);
    for (char *p = l->text; (p = strchr(p, '\n')) != NULL;)
        *p = p[1] != '\0' ? ' ' : '\0';
    if (l->pq != NULL)
        caret__pq.finish(l->pq);
    l->pq = NULL;
    return CARET__LINK_LOST;
}

/* What the set-up's answer tells. */
static void note_started(struct caret__link *l)
{
    const struct pg_result *r = caret__link_rows(l, 0);

    l->started[0] = '\0';
    if (r != NULL && caret__pq.rows(r) == 1 && !caret__pq.is_null(r, 0, 0))
        snprintf(l->started, sizeof l->started, "%s", caret__pq.value(r, 0, 0));
    l->backend = l->started[0] != '\0' ? caret__pq.backend(l->pq) : 0;
    caret__link_drop_rows(l);
}

int caret__link_open(struct caret__link *l)
{
    CARET__ASSERT(l->pq == NULL);
    l->nitems = l->owed = 0;
    l->prepared = 0;
    l->backend = 0;
    l->pid = getpid();
    l->pq = connect_now(l->way);
    if (l->pq == NULL || caret__pq.status(l->pq) != CARET__PQ_OK || caret__pq.pipeline(l->pq) != 1)
        return refused(l);
    caret__pq.notices(l->pq, say_nothing, NULL);
    return caret__link_set_up(l);
}

int caret__link_set_up(struct caret__link *l)
{
    if (l->way->session_text == NULL)
        return CARET_OK;
    caret__link_add_text(l, l->way->session_text, 0, NULL);
    int rc = caret__link_run(l);

    if (rc == CARET_OK)
        note_started(l);
    else if (l->pq != NULL)
        caret__link_close(l);
    return rc == CARET_OK ? CARET_OK : CARET__LINK_LOST;
}

bool caret__link_is_full(const struct caret__link *l)
{
    return strstr(l->text, "too many") != NULL || strstr(l->text, "connection slots") != NULL;
}

int caret__link_ensure(struct caret__link *l, uint64_t until)
{
    if (caret__likely(l->pq != NULL))
        return CARET_OK;
    for (uint64_t wait = 5000000; caret__link_open(l) != CARET_OK; wait = caret__min64(wait * 2, 200000000)) {
        if (caret__now_ns() + wait >= until || (l->trips == 0 && caret__link_is_full(l)))
            return CARET__LINK_LOST;
        caret__nap(wait);
    }
    return CARET_OK;
}

void caret__link_close(struct caret__link *l)
{
    if (l->pq != NULL)
        caret__pq.finish(l->pq);
    l->pq = NULL;
    l->nitems = l->owed = 0;
    l->prepared = 0;
}

void caret__link_fini(struct caret__link *l)
{
    caret__link_drop_rows(l);
    caret__link_close(l);
    free(l->rows);
    free(l->items);
    *l = (struct caret__link){.way = l->way};
}

/* libpq's struct stays: freeing it would say good-bye to the server, in the parent's name. */
void caret__link_forget(struct caret__link *l)
{
    if (l->pq != NULL)
        close(caret__pq.socket(l->pq));
    l->pq = NULL;
    caret__link_fini(l);
}
