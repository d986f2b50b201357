/*
 * connect.c - a link's connection: opened, set up, tried anew after it was lost, left to the parent after a fork.
 *
 *     none --open--> open --(lose, in link.c)--> none
 *     open --close--> none;   open --forget (a forked child)--> none, and the parent's goes on
 *
 * What libpq is told comes in three layers, later ones over earlier: our defaults, the address, what must be.  libpq
 * tries the hosts of the address in order until one is as target_session_attrs wants it; by default one that writes,
 * so that after a failover the new primary is found.  Hosts that it passes over are tried by us.
 *
 * A host that does not answer is given up after connect_timeout; a dead network is noticed by TCP: what was sent and
 * is not acknowledged after 10 seconds, or no answer to a keepalive for 11.  What is silent although its machine
 * acknowledges is the business of link.c.
 *
 * A new connection is set up in one trip: serializable transactions, plans that use the index (a scan of the whole
 * table would conflict with every writer), limits on how long others can be kept waiting, and the time the server's
 * process began.  That time and its number name the process: commit.c may have to end it, and must not end another
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "postgres/link.h"
#include "shm/engine.h"

/* Hosts that are to be tried: lists with commas; host NULL: those of the address. */
struct hosts {
    char *host, *addr, *port;
};

#define PARAMS 14

static const char *const keys[PARAMS] = {"connect_timeout",
                                         "tcp_user_timeout",
                                         "keepalives_idle",
                                         "keepalives_interval",
                                         "keepalives_count",
                                         "target_session_attrs",
                                         "fallback_application_name",
                                         "dbname",
                                         "client_encoding",
                                         "host",
                                         "hostaddr",
                                         "port",
                                         "passfile",
                                         NULL};

/* A value that is NULL counts as not told. */
static void fill_values(const struct caret__link_way *way, const struct hosts *h, const char *values[PARAMS])
{
    static const char *const plain[PARAMS] = {"10", "10000", "5",  "2",  "3",  NULL, "caret",
                                              NULL, "UTF8",  NULL, NULL, NULL, NULL, NULL};

    memcpy(values, plain, sizeof plain);
    values[5] = way->read_only ? "any" : "read-write";
    values[7] = way->address;
    values[9] = h->host;
    values[10] = h->addr;
    values[11] = h->port;
    values[12] = caret__start_password_file(way->address);
}

/* ---- the hosts that libpq did not come to ---- */

static void hosts_free(struct hosts *h)
{
    free(h->host);
    free(h->addr);
    free(h->port);
    *h = (struct hosts){0};
}

static bool take_option(char **to, const char *value)
{
    *to = value != NULL && *value != '\0' ? strdup(value) : NULL;
    return *to != NULL || value == NULL || *value == '\0';
}

static void hosts_of(struct pg_conn *c, struct hosts *h)
{
    struct caret__pq_option *all = caret__pq.options(c);
    bool ok = all != NULL;

    for (struct caret__pq_option *o = all; ok && o->name != NULL; o++)
        if (strcmp(o->name, "host") == 0)
            ok = take_option(&h->host, o->value);
        else if (strcmp(o->name, "hostaddr") == 0)
            ok = take_option(&h->addr, o->value);
        else if (strcmp(o->name, "port") == 0)
            ok = take_option(&h->port, o->value);
    if (all != NULL)
        caret__pq.options_done(all);
    if (!ok)
        hosts_free(h);
}

/* Is it the first of the list?  One port alone is that of all hosts. */
static bool is_first(const char *list, const char *item)
{
    size_t n = list != NULL ? strcspn(list, ",") : 0;

    return n == 0 || (strlen(item) == n && memcmp(item, list, n) == 0);
}

static void drop_first(char *list)
{
    char *comma = list != NULL ? strchr(list, ',') : NULL;

    if (comma != NULL)
        memmove(list, comma + 1, strlen(comma + 1) + 1);
}

/* Those after the one that was tried last; false: there are none. */
static bool hosts_after(struct pg_conn *c, struct hosts *h)
{
    const char *host = caret__pq.host(c), *port = caret__pq.port(c);
    bool found = false;

    hosts_free(h);
    hosts_of(c, h);
    for (char *list;
         !found && (list = h->host != NULL ? h->host : h->addr) != NULL && strchr(list, ',') != NULL;) {
        found = host != NULL && port != NULL && is_first(list, host) && is_first(h->port, port);
        drop_first(h->host);
        drop_first(h->addr);
        drop_first(h->port);
    }
    /* a port that is not told is one for libpq, but not to the list that it has of the address */
    if (found && h->port != NULL && *h->port == '\0') {
        free(h->port);
        h->port = strdup("5432");
    }
    return found;
}

static void add_message(struct caret__link *l)
{
    size_t n = strlen(l->text);

    snprintf(l->text + n, sizeof l->text - n, "%s%s", n != 0 ? " " : "",
             l->pq != NULL ? caret__pq.message(l->pq) : "out of memory");
    caret__link_one_line(l->text + n);
}

/* libpq goes on to the next host when one does not take a connection, and not when one takes it and then ends it, as
 * what stands before a dead server may do (a balancer, a pooler, a proxy): then we do. */
static bool connect_any(struct caret__link *l)
{
    const char *values[PARAMS];
    struct hosts h = {0};
    bool more = true;

    l->text[0] = '\0';
    while (more) {
        fill_values(l->way, &h, values);
        l->pq = caret__start(l, keys, values);
        if (l->pq != NULL && caret__pq.status(l->pq) == CARET__PQ_OK)
            break;
        add_message(l);
        more = l->pq != NULL && !l->stopped && hosts_after(l->pq, &h);
        caret__pq.finish(l->pq);
        l->pq = NULL;
    }
    hosts_free(&h);
    if (l->pq == NULL)
        caret__start_explain(l);
    return l->pq != NULL;
}

bool caret__link_answers(const struct caret__link_way *way)
{
    struct caret__link l = {.way = way};
    bool connected = connect_any(&l);

    if (connected)
        caret__pq.finish(l.pq);
    return connected || caret__link_is_full(&l);
}

static int refused(struct caret__link *l)
{
    l->state[0] = '\0';
    if (l->pq != NULL)
        add_message(l);
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
    if (r != NULL && caret__pq.rows(r) > 0 && !caret__pq.is_null(r, 0, 0))
        snprintf(l->started, sizeof l->started, "%s", caret__pq.value(r, 0, 0));
    l->backend = l->started[0] != '\0' ? atoi(caret__pq.value(r, 0, 1)) : 0;
    caret__link_drop_rows(l);
}

int caret__link_open(struct caret__link *l)
{
    CARET__ASSERT(l->pq == NULL);
    l->plain = false;
    l->nitems = l->owed = 0;
    l->prepared = 0;
    l->backend = 0;
    l->pid = getpid();
    l->silent = l->stopped = l->alone = false;
    if (!connect_any(l) || caret__pq.pipeline(l->pq) != 1 || caret__pq.nonblocking(l->pq, 1) != 0)
        return refused(l);
    l->wrapped = caret__pq.uses_tls(l->pq) != 0 || caret__pq.uses_gss(l->pq) != 0;
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
    uint64_t began = caret__now_ns();
    for (uint64_t wait = 5000000; caret__link_open(l) != CARET_OK; wait = caret__min64(wait * 2, 200000000)) {
        if (caret__now_ns() + wait >= until || (l->trips == 0 && caret__link_is_full(l)) || l->stopped ||
            caret__link_is_stopped(l, began))
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
