/*
 * shared.c - the mapping of all workers: shared.h.
 */
#include "server/shared.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct serve__shared *serve__shared_new(int nworkers)
{
    struct serve__shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return NULL;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    /* Recursive: an error that is answered may have to be counted. */
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    unsigned char bytes[20];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes ||
        getrandom(s->tls_keys, sizeof s->tls_keys, 0) != sizeof s->tls_keys)
        return NULL;
    for (unsigned i = 0; i < sizeof bytes; i++)
        snprintf(s->run_id + i * 2, 3, "%02x", bytes[i]);
    enum { ACCESS = (1 << 20) * sizeof *s->access };
    s->access = mmap(NULL, ACCESS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->access == MAP_FAILED)
        return NULL;
    s->next_id = 1;
    s->started = s->saved = (uint64_t)time(NULL);
    s->nworkers = nworkers;
    s->supervisor = getpid();
    return s;
}

void serve__shared_lock(struct serve__shared *s)
{
    if (pthread_mutex_lock(&s->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&s->lock);
}

void serve__shared_unlock(struct serve__shared *s)
{
    pthread_mutex_unlock(&s->lock);
}

uint64_t serve__sum(struct serve__shared *s, size_t offset)
{
    uint64_t sum = 0;
    for (int i = 0; i < s->nworkers; i++)
        sum += *(serve__counter *)((char *)&s->stats[i] + offset);
    return sum;
}
