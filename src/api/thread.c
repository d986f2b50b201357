/*
 * thread.c - the end of a thread ends its sessions.
 *
 * A session belongs to the thread that opened it.  A thread that ends with a
 * transaction in progress, or with locks, would keep others waiting until its
 * process ends.  So each thread has a list of its sessions, under a key whose
 * destructor ends them:
 *
 *     open --> in the list of the thread --close--> gone
 *                   |  caret_session_detach
 *                   |-----------------------> of no thread: only closing ends it
 *                   |  the thread ends
 *                   v
 *              ended: rolled back, locks released, memory freed but for the handle,
 *              which answers CLOSED and still wants to be closed
 *
 * The handle stays, as whoever has the pointer cannot know.  Returning from main()
 * and exit() end no threads in this sense, and nothing has to be done then.
 *
 * One mutex for all lists.  It is held while a session is ended, so that nobody
 * closes the session, or its database, at the same time; it is the first in the
 * order of locks.
 */
#include "api/session.h"

#include <stdlib.h>

struct caret__thread {
    caret_session *first;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

void caret__threads_lock(void)
{
    caret__local_lock(&mutex);
}

void caret__threads_unlock(void)
{
    caret__local_unlock(&mutex);
}

/* The mutex is locked. */
static void leave(caret_session *s)
{
    CARET__HELD(&mutex);
    if (s->thread == NULL)
        return;
    if (s->prev_in_thread != NULL)
        s->prev_in_thread->next_in_thread = s->next_in_thread;
    else
        s->thread->first = s->next_in_thread;
    if (s->next_in_thread != NULL)
        s->next_in_thread->prev_in_thread = s->prev_in_thread;
    s->next_in_thread = s->prev_in_thread = NULL;
    s->thread = NULL;
}

static void thread_ends(void *arg)
{
    struct caret__thread *t = arg;

    caret__threads_lock();
    while (t->first != NULL) {
        caret_session *s = t->first;
        leave(s);
        caret__session_end(s);
    }
    caret__threads_unlock();
    free(t);
}

static void in_child(void)
{
    pthread_mutex_init(&mutex, NULL); /* lists of threads that the child does not have are never looked at */
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, thread_ends) == 0;
    pthread_atfork(NULL, NULL, in_child);
}

void caret__thread_join(caret_session *s)
{
    pthread_once(&once, make_key);
    struct caret__thread *t = has_key ? pthread_getspecific(key) : NULL;
    if (t == NULL && has_key) {
        t = calloc(1, sizeof *t);
        if (t != NULL && pthread_setspecific(key, t) != 0) {
            free(t);
            t = NULL;
        }
    }
    if (t == NULL) /* no memory, no key: then it is of no thread */
        return;
    caret__threads_lock();
    s->thread = t;
    s->next_in_thread = t->first;
    if (t->first != NULL)
        t->first->prev_in_thread = s;
    t->first = s;
    caret__threads_unlock();
}

void caret__thread_leave(caret_session *s)
{
    caret__threads_lock();
    leave(s);
    caret__threads_unlock();
}

int caret_session_detach(caret_session *s)
{
    if (s == NULL)
        return caret__null(__func__, "s", "a session");
    caret__thread_leave(s);
    return CARET_OK;
}
