/*
 * pooler.c - is there a pooler between us and the server that gives each transaction to whichever connection is free?
 *
 * With such a one (PgBouncer in its mode `transaction`) nothing that belongs to a connection is ours: settings,
 * advisory locks, prepared statements.  They would be lost, or, worse, be there for somebody else, and transactions
 * would not be serializable without a word.  So it has to be known before anything of the kind is sent.
 *
 *     1  the number of the server's process that the connection was told at its beginning is not the one that
 *        pg_backend_pid() says: somebody is between
 *     2  two connections ask in turns which process serves them.  If each has always the same process, and not
 *        the other's, the pooler gives a connection to one client until it goes, and all is as without it.  A pooler
 *        of transactions takes the process that was given back last, so both have the same one, or others now and then
 *
 * What can't be found out, as there is no second connection to be had, counts as a pooler of transactions: what is done
 * then works with every pooler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "postgres/inside.h"

#define TURNS      8    /* arbitrary */
#define SILENCE_MS 2000 /* that one waits for a process of the server: a pooler may have no other */

/* The server's process that answers; 0: none did. */
static int ask_process(struct caret__link *l)
{
    caret__link_add_text(l, "select pg_catalog.pg_backend_pid()", 0, NULL);
    int rc = caret__link_run(l);
    const struct pg_result *r = caret__link_rows(l, 0);

    return rc == CARET_OK && r != NULL && caret__pq.rows(r) == 1 ? atoi(caret__pq.value(r, 0, 0)) : 0;
}

/* Has each its own? */
static bool keeps_them_apart(struct caret__link *l, struct caret__link *other, int first)
{
    int second = ask_process(other);

    for (int i = 0; i < TURNS; i++)
        if (second == 0 || first == second || ask_process(l) != first || ask_process(other) != second)
            return false;
    return true;
}

int caret__pg_pooler(struct caret__pg_db *db, struct caret__link *l, bool *pooled)
{
    int told = caret__pq.backend(l->pq), process = ask_process(l);

    *pooled = false;
    if (process == 0)
        return l->pq == NULL ? CARET__LINK_LOST : caret__sqlstate_fail(l, db->head.shown);
    if (process == told)
        return CARET_OK;
    struct caret__link_way way = db->way;
    struct caret__link other;
    way.session_text = NULL;
    way.silence_ms = SILENCE_MS;
    caret__link_init(&other, &way);
    *pooled = caret__link_open(&other) != CARET_OK || !keeps_them_apart(l, &other, process);
    caret__link_fini(&other);
    return l->pq == NULL ? CARET__LINK_LOST : CARET_OK;
}
