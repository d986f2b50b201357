/*
 * host.c - databases by name, files inside the program, errors one by one.
 */
#include "mumps/host/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "m/error.h"
#include "m/settings.h"

struct opened {
    struct opened *next;
    char *name;   /* as it was asked for */
    caret_db *db; /* NULL: its file is that of one that was opened before, under another name */
    caret_session *session;
};

static struct opened *opened;
static caret_session *(*outside)(const char *name, size_t len); /* NULL in a program of its own */
static char *selected;                                          /* what $ZGBLDIR was set to, or NULL */
static const char *of_call; /* the name of a caller's own database, or NULL */
static char why[512];

const char *caret_mumps__why(void)
{
    return why;
}

static caret_session *fail(const char *text)
{
    snprintf(why, sizeof why, "%s", text);
    return NULL;
}

static const char *(*gbldir_outside)(void); /* NULL, or it returns NULL: it is our own */
static const char *(*select_outside)(const char *name, size_t len);

void caret_mumps__gbldir_of(const char *(*get)(void), const char *(*set)(const char *name, size_t len))
{
    gbldir_outside = get;
    select_outside = set;
}

static const char *of_outside(void)
{
    return gbldir_outside != NULL ? gbldir_outside() : NULL;
}

bool caret_mumps__gbldir_outside(void)
{
    return of_outside() != NULL;
}

const char *caret_mumps__gbldir(void)
{
    const char *name = of_outside(), *given = of_call != NULL ? of_call : caret_m__gbldir();

    return name != NULL ? name : selected != NULL ? selected : given;
}

void caret_mumps__gbldir_is(const char *name)
{
    of_call = name;
}

bool caret_mumps__select(const char *name, size_t len)
{
    char *copy = len != 0 ? strndup(name, len) : NULL, *before = selected;

    if (of_outside() != NULL) {
        free(copy);
        const char *reason = select_outside(name, len);
        return reason == NULL || fail(reason) != NULL;
    }
    selected = copy;
    bool done = (len == 0 || copy != NULL) && caret_mumps__session("", 0) != NULL;
    if (!done)
        selected = before;
    free(done ? before : copy);
    return done;
}

/* The one of the same file, if there is one: sessions of one process would wait for each other's locks. */
static const struct opened *same_file(const struct opened *o)
{
    const struct opened *other = opened;

    while (other != NULL && (other->db == NULL || strcmp(caret_path(other->db), caret_path(o->db)) != 0))
        other = other->next;
    return other;
}

static bool open_file(struct opened *o, const char *file)
{
    caret_options options = {.size = sizeof options, .readonly = caret_m__only_read(file)};

    if (caret_open(file, &options, &o->db) != CARET_OK)
        return false;
    const struct opened *other = same_file(o);
    if (other == NULL && caret_session_open(o->db, &o->session) == CARET_OK)
        return true;
    caret_close(o->db);
    o->db = NULL;
    o->session = other != NULL ? other->session : NULL;
    return other != NULL;
}

static void drop(struct opened *o)
{
    free(o->name);
    free(o);
}

/* Takes the name. */
static caret_session *open_name(char *name)
{
    struct opened *o = calloc(1, sizeof *o);
    char *file = caret_m__file_of(name);

    if (o == NULL || file == NULL) {
        free(o);
        free(file);
        free(name);
        return fail("no memory for a database");
    }
    o->name = name;
    bool done = open_file(o, file);
    free(file);
    if (!done) {
        fail(caret_fact());
        drop(o);
        return NULL;
    }
    o->next = opened;
    opened = o;
    return o->session;
}

void caret_mumps__sessions_of(caret_session *(*session)(const char *name, size_t len))
{
    outside = session;
}

static caret_session *of_caller(const char *name, size_t len)
{
    if (len == 0 && selected != NULL && of_outside() == NULL) {
        name = selected;
        len = strlen(selected);
    }
    caret_session *s = outside(name, len);
    return s != NULL ? s : fail(caret_fact());
}

caret_session *caret_mumps__session(const char *name, size_t len)
{
    if (outside != NULL)
        return of_caller(name, len);
    char *copy = len != 0 ? strndup(name, len) : strdup(caret_mumps__gbldir());

    if (copy == NULL)
        return fail("no memory for the name of a database");
    for (struct opened *o = opened; o != NULL; o = o->next)
        if (strcmp(o->name, copy) == 0) {
            free(copy);
            return o->session;
        }
    return open_name(copy);
}

double caret_mumps__pages(int unused)
{
    caret_stats stats = {.size = sizeof stats};
    const caret_session *s = outside == NULL ? caret_mumps__session("", 0) : NULL;
    const struct opened *o = opened;

    while (o != NULL && (o->session != s || o->db == NULL))
        o = o->next;
    if (s == NULL || o == NULL || caret_stat(o->db, &stats) != CARET_OK)
        return 0;
    return (double)(unused ? stats.free_pages : stats.pages);
}

void caret_mumps__close(void)
{
    while (opened != NULL) {
        struct opened *o = opened;
        opened = o->next;
        if (o->db != NULL) {
            caret_session_close(o->session);
            caret_close(o->db);
        }
        drop(o);
    }
}

const caret_mumps__file *caret_mumps__embedded(const char *name)
{
    for (const caret_mumps__file *f = caret_mumps__files; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* Entries that come later count before others of the same name or number. */
static bool error_that(bool (*fits)(const struct caret_m__error *, const void *), const void *wanted,
                       caret_mumps__error *e)
{
    size_t n;
    const struct caret_m__error *table = caret_m__errors(&n);

    while (n > 0 && !fits(&table[n - 1], wanted))
        n--;
    if (n == 0)
        return false;
    const struct caret_m__error *found = &table[n - 1];
    *e = (caret_mumps__error){found->name, found->text, found->code, caret_m__severity(found->code)};
    return true;
}

static bool has_name(const struct caret_m__error *e, const void *name)
{
    return strcmp(e->name, name) == 0;
}

static bool has_number(const struct caret_m__error *e, const void *number)
{
    return abs(e->code) == *(const int *)number;
}

bool caret_mumps__error_named(const char *name, caret_mumps__error *e)
{
    return error_that(has_name, name, e);
}

bool caret_mumps__error_numbered(int number, caret_mumps__error *e)
{
    return error_that(has_number, &number, e);
}

int caret_mumps__stat(const char *path, caret_mumps__found *to)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno;
    to->folder = S_ISDIR(st.st_mode);
    to->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    to->size = st.st_size;
    return 0;
}

int caret_mumps__chdir(const char *path)
{
    return chdir(path) == 0 ? 0 : errno;
}

int caret_mumps__setenv(const char *name, const char *value, int is_set)
{
    int rc = is_set ? setenv(name, value, 1) : unsetenv(name);

    return rc != 0 ? errno : 0;
}

void caret_mumps__syslog(const char *text)
{
    syslog(LOG_USER | LOG_INFO, "YDB-%s", text);
}
