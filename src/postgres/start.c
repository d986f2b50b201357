/*
 * start.c - libpq's connection is made here, so that nobody hears of it: libpq's own loop writes to standard error.
 *
 * Two things are written there.  What the server has to say while a connection is made (that a database was sorted by
 * another version of the C library, for one): so the connection is begun, told where notices go, and then made step by
 * step.  And that a password file is not used as others may read it: so libpq is not told of such a file, and if a
 * password is missing then, the error says why.
 *
 * What libpq's loop has beside that is here too: an address that does not answer for connect_timeout is given up by
 * shutting its socket, upon which libpq goes on to the next one.  So is a connection that the session does not wait for
 * any more (stopped), which is then not tried with the others.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/away.h"
#include "base/bytes.h"
#include "postgres/link.h"
#include "shm/engine.h"

#define NO_FILE "/dev/null/none" /* is never there, and libpq says nothing of that */

/* ---- the password file ---- */

/* The option's value is copied, if it has one. */
static bool copy_option(const struct caret__pq_option *all, const char *name, char *to, size_t cap)
{
    for (const struct caret__pq_option *o = all; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, name) == 0 && o->value != NULL && *o->value != '\0') {
            snprintf(to, cap, "%s", o->value);
            return true;
        }
    return false;
}

static void find_home(char *to, size_t cap)
{
    const char *home = getenv("HOME");
    struct passwd entry, *found = NULL;
    char room[1024];

    if ((home == NULL || *home == '\0') && getpwuid_r(geteuid(), &entry, room, sizeof room, &found) == 0)
        home = found != NULL ? found->pw_dir : NULL;
    snprintf(to, cap, "%s/.pgpass", home != NULL ? home : "");
}

/* The file in which libpq would look. */
static void find_password_file(const char *address, char *to, size_t cap)
{
    struct caret__pq_option *all = caret__pq.parse(address, NULL);
    const char *set = getenv("PGPASSFILE");

    if (!copy_option(all, "passfile", to, cap)) {
        if (set != NULL && *set != '\0')
            snprintf(to, cap, "%s", set);
        else
            find_home(to, cap);
    }
    if (all != NULL)
        caret__pq.options_done(all);
}

/* Why libpq would not use it, and say so; NULL: it would, or it is not there. */
static const char *flaw_of(const char *file)
{
    struct stat st;

    if (stat(file, &st) != 0)
        return NULL;
    return !S_ISREG(st.st_mode)                      ? "is not a plain file"
           : (st.st_mode & (S_IRWXG | S_IRWXO)) != 0 ? "is open to others: chmod 600"
                                                     : NULL;
}

const char *caret__start_password_file(const char *address)
{
    char file[4096];

    find_password_file(address, file, sizeof file);
    return flaw_of(file) != NULL ? NO_FILE : NULL;
}

static void say(struct caret__link *l, const char *format, const char *a, const char *b)
{
    size_t n = strlen(l->text);

    snprintf(l->text + n, sizeof l->text - n, "%s", n != 0 ? " " : "");
    n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, format, a, b);
}

void caret__start_explain(struct caret__link *l)
{
    char file[4096];
    const char *flaw;

    if (strstr(l->text, "password") == NULL)
        return;
    find_password_file(l->way->address, file, sizeof file);
    flaw = flaw_of(file);
    if (flaw != NULL)
        say(l, "(%s %s)", file, flaw);
}

/* ---- step by step ---- */

/* Nobody hears of a notice.  But one says that a commit was not waited for any more (pg_cancel_backend): it is done on
 * the server, and not known to be on its standby.  Its text is in the server's language, its function's name is not. */
static void take_notice(void *arg, const struct pg_result *notice)
{
    struct caret__link *l = arg;
    const char *from = caret__pq.field(notice, 'R');

    if (from != NULL && strcmp(from, "SyncRepWaitForLSN") == 0)
        l->alone = true;
}

void caret__start_notices(struct caret__link *l, struct pg_conn *c)
{
    caret__pq.notices(c, take_notice, l);
}

/* Seconds, as libpq takes it; 0: for ever. */
static unsigned long timeout_of(struct pg_conn *c)
{
    struct caret__pq_option *all = caret__pq.options(c);
    char text[24];
    bool told = copy_option(all, "connect_timeout", text, sizeof text);

    if (all != NULL)
        caret__pq.options_done(all);
    return told ? caret__min64(strtoul(text, NULL, 10), 86400) : 0;
}

static uint64_t deadline(unsigned long seconds)
{
    return seconds != 0 ? caret__now_ns() + seconds * UINT64_C(1000000000) : UINT64_MAX;
}

/* Until it is connected or refused; each host has its time. */
static void make(struct caret__link *l, struct pg_conn *c)
{
    unsigned long seconds = timeout_of(c);
    uint64_t began = caret__now_ns(), until = deadline(seconds);
    const char *host = caret__pq.host(c);
    char text[24];

    for (int step = CARET__PQ_WRITING;
         !l->stopped && (step == CARET__PQ_WRITING || step == CARET__PQ_READING); step = caret__pq.step(c)) {
        struct pollfd p = {.fd = caret__pq.socket(c), .events = step == CARET__PQ_READING ? POLLIN : POLLOUT};
        if (caret__pq.host(c) != host)
            until = deadline(seconds);
        host = caret__pq.host(c);
        if (caret__link_poll(l, &p, began, until) == 0 && !l->stopped) {
            snprintf(text, sizeof text, "%lu", seconds);
            say(l, "%s: no answer for %s seconds;", host != NULL ? host : "", text);
            shutdown(p.fd, SHUT_RDWR);
            until = deadline(seconds);
        }
    }
}

struct pg_conn *caret__start(struct caret__link *l, const char *const *keys, const char *const *values)
{
    struct pg_conn *c;

    caret__away();
    c = caret__pq.start(keys, values, 1);
    if (c != NULL)
        caret__start_notices(l, c);
    if (c != NULL && caret__pq.status(c) != CARET__PQ_BAD)
        make(l, c);
    caret__back();
    return c;
}
