/*
 * registry.c - the engines of this process, and what fork does to them.
 *
 * A list of engines by the data file's device and inode, under one mutex that is
 * held through opening, closing and re-attaching: record locks do not tell the
 * threads of a process apart.
 *
 * fork: the child has a copy of everything, but not the threads, the record
 * locks and with them the slot.  It must not do anything in its parent's name.
 * A page that the kernel wipes in the child (MADV_WIPEONFORK; older kernels: the
 * handler below) holds a word that is 1 in the process that attached:
 *
 *     word 1   attached here           -> go on                  (one load per call)
 *     word 0   fork of an attached one -> caret__engine_forked   (takes a slot, sets the word)
 *
 * The fork may have come while another thread held the mutex, and that thread does
 * not exist in the child: the child starts with a fresh one.  The list is always
 * whole, since an engine enters and leaves it by one store; an engine that was
 * half opened at the fork is lost to the child, descriptors and all.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "shm/lockfile.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct caret__engine *volatile engines;

static uint32_t *mark_of(struct caret__engine *e)
{
    return (uint32_t *)(uintptr_t)e->fork_mark;
}

static void in_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    for (struct caret__engine *e = engines; e != NULL; e = e->next)
        *mark_of(e) = 0;
}

CARET__AT_LOAD static void mark_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

void caret__registry_lock(void)
{
    caret__local_lock(&mutex);
}

void caret__registry_unlock(void)
{
    caret__local_unlock(&mutex);
}

#ifdef CARET_ASSERTS
bool caret__registry_held(void)
{
    return caret__holds(&mutex);
}
#endif

struct caret__engine *caret__registry_find(dev_t dev, ino_t ino)
{
    CARET__ASSERT(caret__registry_held());
    for (struct caret__engine *e = engines; e != NULL; e = e->next) {
        if (e->dev == dev && e->ino == ino && e->observes == CARET__OBSERVES_NOT)
            return e;
    }
    return NULL;
}

bool caret__registry_has(const char *path)
{
    struct stat st;

    caret__registry_lock();
    bool found = stat(path, &st) == 0 && caret__registry_find(st.st_dev, st.st_ino) != NULL;
    caret__registry_unlock();
    return found;
}

struct caret__engine *caret__registry_next(const struct caret__engine *e)
{
    CARET__ASSERT(caret__registry_held());
    return e == NULL ? engines : e->next;
}

void caret__registry_add(struct caret__engine *e)
{
    CARET__ASSERT(caret__registry_held());
    e->next = engines;
    engines = e;
}

void caret__registry_remove(struct caret__engine *e)
{
    CARET__ASSERT(caret__registry_held());
    if (engines == e) {
        engines = e->next;
        return;
    }
    for (struct caret__engine *p = engines; p != NULL; p = p->next) {
        if (p->next == e)
            p->next = e->next;
    }
}

/* Bytes of the marks' mapping: whole pages are wiped. */
static size_t mark_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int caret__fork_mark_new(struct caret__engine *e)
{
    uint32_t *mark = mmap(NULL, mark_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mark == MAP_FAILED)
        return caret__fail_errno(CARET_E_NOMEM, "%s: no memory to open it", e->path);
    madvise(mark, mark_size(), MADV_WIPEONFORK); /* where it is missing, in_child() does it */
    e->fork_mark = mark;
    return CARET_OK;
}

void caret__fork_mark_set(struct caret__engine *e)
{
    *mark_of(e) = 1;
}

void caret__fork_mark_free(struct caret__engine *e)
{
    if (e->fork_mark != NULL)
        munmap(mark_of(e), mark_size());
    e->fork_mark = NULL;
}
