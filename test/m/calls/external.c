/* What calls.m calls by calls.xc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    unsigned long length;
    char *address;
} string;

typedef struct {
    unsigned len_alloc, len_used;
    char *buf_addr;
} buffer;

int add(int n, int32_t a, int64_t *b, double *c, char *d, string *e, buffer *f);
int add(int n, int32_t a, int64_t *b, double *c, char *d, string *e, buffer *f)
{
    *b += a;
    *c *= 2;
    strcat(d, "!");
    memcpy(e->address, "STR", 3);
    e->length = 3;
    memcpy(f->buf_addr + f->len_used, "++", 2);
    f->len_used += 2;
    return n;
}

int fails(int n);
int fails(int n)
{
    return n + 7;
}

void nothing(int n, char **p);
void nothing(int n, char **p)
{
    (void)n;
    *p = (char *)(uintptr_t) "char**";
}

int64_t *ret(int n, uint64_t x);
int64_t *ret(int n, uint64_t x)
{
    int64_t *p = malloc(sizeof *p);

    (void)n;
    *p = (int64_t)x;
    return p;
}

char *rets(int n);
char *rets(int n)
{
    (void)n;
    return strdup("hello");
}

int again(int n, int x);
int again(int n, int x)
{
    return 10 * n + x;
}

/* ydb_exit() of the program's libyottadb.so. */
int leave(int n);
int leave(int n)
{
    int (*leaves)(void);

    *(void **)&leaves = dlsym(RTLD_DEFAULT, "ydb_exit");
    return leaves != NULL ? leaves() : n;
}

/* The value of a local variable, as the program's libyottadb.so has it. */
char *look(int n, char *name);
char *look(int n, char *name)
{
    int (*get)(const buffer *, int, const buffer *, buffer *);
    char *room = malloc(100);
    buffer v = {(unsigned)strlen(name), (unsigned)strlen(name), name}, to = {99, 0, room};

    (void)n;
    *(void **)&get = dlsym(RTLD_DEFAULT, "ydb_get_s");
    strcpy(room, "none");
    if (get != NULL && get(&v, 0, NULL, &to) == 0)
        room[to.len_used] = '\0';
    return room;
}

/* Says to one pipe that M is here, and leaves when something comes from the other. */
void stay(int n, int32_t to, int32_t from);
void stay(int n, int32_t to, int32_t from)
{
    char byte = (char)n;

    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
        abort();
}

/* M again, which calls this again; what it says, or the error's status. */
char *deeper(int n, int32_t x);
char *deeper(int n, int32_t x)
{
    int (*ci)(const char *, ...);
    char *room = malloc(100);

    (void)n;
    *(void **)&ci = dlsym(RTLD_DEFAULT, "ydb_ci");
    int status = ci != NULL ? ci("deep", room, x) : -1;
    if (status != 0)
        snprintf(room, 100, "%d", status);
    return room;
}

/* ---- those of tables.list ---- */

int count(int n);
int count(int n)
{
    return n;
}

int twice(int n, int x);
int twice(int n, int x)
{
    (void)n;
    return (int)(2 * (int64_t)x);
}

char *what(int n, string *s);
char *what(int n, string *s)
{
    (void)n;
    if (s->address == NULL)
        return strdup("NULL");
    return s->length > 0 ? strndup(s->address, s->length) : strdup("-");
}

int grow(int n, string *s, int len);
int grow(int n, string *s, int len)
{
    (void)n;
    memset(s->address, 'x', len < 5 ? (size_t)len : 5);
    s->length = (unsigned long)len;
    return 0;
}

int own(int n, string *s, int len);
int own(int n, string *s, int len)
{
    (void)n;
    s->address = memset(malloc((size_t)len), 'y', (size_t)len);
    s->length = (unsigned long)len;
    return 0;
}

void *null(int n);
void *null(int n)
{
    (void)n;
    return NULL;
}

void bye(void);
void bye(void)
{
    puts("bye");
}

/* $GTM_CALLIN_START has the callbacks: the fifth one is malloc. */
char *told(int n);
char *told(int n)
{
    const char *start = getenv("GTM_CALLIN_START");
    void *(*allocate)(size_t);

    (void)n;
    if (start == NULL)
        return strdup("no");
    *(void **)&allocate = ((void **)strtoul(start, NULL, 10))[4];
    return strcpy(allocate(4), "yes");
}
