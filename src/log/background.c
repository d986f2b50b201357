/*
 * background.c - the thread that flushes, syncs and checkpoints when due, and makes room ahead of the writers.
 *
 * Every process that writes has one (unless the options say no).  All signals are blocked in it, so the host
 * never sees one handled there.  It sleeps on a futex word of its own process: writers wake it when the ring
 * is a quarter full; else it looks once per sync interval, the smallest that any process attached wants (each
 * notes its own in its slot: one that only reads has no thread, but may want it).  Whatever it does goes
 * through the shared flush and checkpoint mutexes, so it doesn't matter how many processes have one, or none:
 * a writer that finds no room does the work itself.
 *
 * A forked child has no thread: it forgets the struct and starts its own at its
 * first write.
 */
#include "log/background.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "log/checkpoint.h"
#include "log/flush.h"
#include "log/hollow.h"
#include "log/writer.h"
#include "shm/huge.h"

#define STEPS       4u /* of the arena at a time, before it is looked what else is to be done; arbitrary */
#define STACK_BYTES (256u << 10)
#define LOOK_NS     UINT64_C(1000000000) /* it looks at least so often: others may want other intervals */

struct caret__background {
    struct caret__engine *e;
    pthread_t thread;
    _Atomic uint32_t word;    /* raised to wake */
    _Atomic uint32_t pending; /* a wake is underway: others need not */
    _Atomic uint32_t stop;
};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

void caret__background_wants(struct caret__engine *e, const caret_options *options)
{
    double s = options->sync_interval > 0 ? options->sync_interval : 1;
    uint32_t ms = s < 0.001 ? 1 : s < 3600000 ? (uint32_t)(s * 1000) : 3600000000u;

    if (options->sync == CARET_SYNC_OFF)
        return;
    uint64_t never = 0;
    atomic_compare_exchange_strong(&e->synced, &never, caret__now_ns());
    caret__local_lock(&starting);
    uint32_t was = atomic_load(&e->sync_ms);
    if (was == 0 || ms < was) {
        atomic_store(&e->sync_ms, ms);
        atomic_store(&e->slots[e->slot].sync_ms, ms);
    }
    caret__local_unlock(&starting);
    caret__background_wake(e);
}

#define NOBODY UINT64_MAX
#define MS     UINT64_C(1000000) /* nobody wants it more often */

/* The smallest interval of those attached; NOBODY wants the log synced. */
static uint64_t interval_ns(const struct caret__engine *e)
{
    uint32_t least = 0;

    for (uint32_t i = 0; i < CARET__MAX_PROCS; i++) {
        uint32_t ms = atomic_load_explicit(&e->slots[i].sync_ms, memory_order_relaxed);
        if (ms != 0 && (least == 0 || ms < least) && atomic_load(&e->slots[i].state) == CARET__SLOT_USED)
            least = ms;
    }
    return least != 0 ? least * MS : NOBODY;
}

int caret__background_inline(struct caret__engine *e)
{
    uint64_t now = caret__now_ns();

    if (now - atomic_load(&e->looked) < MS) /* each commit asks */
        return CARET_OK;
    atomic_store(&e->looked, now);
    uint64_t last = atomic_load(&e->synced), every = interval_ns(e);
    if (every == NOBODY || now - last < every || !atomic_compare_exchange_strong(&e->synced, &last, now))
        return CARET_OK;
    return caret__flush(e, 0, true);
}

/* Have arena slots at hand before a writer must wait for them to be made. */
static void provide_slots(struct caret__engine *e)
{
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t nslots = caret__grow_ahead(e);
        if (nslots == 0 || caret__writer_lock(e) != CARET_OK)
            return;
        (void)caret__grow_arena(e, nslots); /* does nothing if another has done it */
        caret__writer_unlock(e);
    }
}

/* The same for page numbers: those of holes first, as a writer would take them. */
static void provide_pages(struct caret__engine *e)
{
    if (atomic_load(&e->page_wish) == 0 || caret__hollow_ahead(e))
        return;
    uint32_t npages = caret__grow_pages_ahead(e);
    if (npages == 0 || caret__writer_lock(e) != CARET_OK)
        return;
    (void)caret__grow_pages(e, npages);
    caret__writer_unlock(e);
}

static void look(struct caret__engine *e, bool sync)
{
    struct caret__shared *sh = e->sh;

    if (atomic_load(&sh->io_failed) != 0)
        return;
    provide_slots(e);
    provide_pages(e);
    uint64_t head = atomic_load(&sh->log_head);
    if (head != atomic_load(&sh->log_written) || (sync && head != atomic_load(&sh->log_durable)))
        (void)caret__flush(e, 0, sync);
    if (caret__checkpoint_due(e))
        (void)caret__checkpoint(e);
}

static void *run(void *arg)
{
    struct caret__background *b = arg;
    uint64_t last = caret__now_ns(); /* when it was synced */

    caret__populate(b->e->ring, b->e->sh->ring_size); /* so that committers need not fault it in */

    while (!atomic_load(&b->stop)) {
        uint32_t seen = atomic_load(&b->word);
        atomic_store(&b->pending, 0);
        uint64_t now = caret__now_ns(), every = interval_ns(b->e); /* others come and go */
        bool sync = every != NOBODY && now - last >= every;
        look(b->e, sync);
        if (sync)
            last = now;
        uint64_t left = every == NOBODY || sync ? every : every - (now - last);
        if (caret__huge_settle(b->e))
            left = caret__min64(left, CARET__HUGE_EVERY);
        if (!atomic_load(&b->stop))
            caret__futex_wait(&b->word, seen, caret__min64(left, LOOK_NS));
    }
    return NULL;
}

static int start_thread(struct caret__background *b)
{
    pthread_attr_t attr;
    sigset_t all, before;

    if (pthread_attr_init(&attr) != 0)
        return -1;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&b->thread, &attr, run, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

int caret__background_start(struct caret__engine *e)
{
    int rc = CARET_OK;
    caret__local_lock(&starting);
    if (e->background == NULL) {
        struct caret__background *b = calloc(1, sizeof *b);
        if (b != NULL)
            b->e = e;
        if (b == NULL || start_thread(b) != 0) {
            free(b);
            e->options.no_thread = 1; /* inline from now on */
            rc = CARET_E_SYSTEM;
        } else {
            __atomic_store_n(&e->background, b, __ATOMIC_RELEASE);
        }
    }
    caret__local_unlock(&starting);
    return rc;
}

void caret__background_stop(struct caret__engine *e)
{
    struct caret__background *b = e->background;
    if (b == NULL)
        return;
    atomic_store(&b->stop, 1);
    atomic_fetch_add(&b->word, 1);
    caret__futex_wake(&b->word, 1);
    pthread_join(b->thread, NULL);
    e->background = NULL;
    free(b);
}

void caret__background_wake(struct caret__engine *e)
{
    struct caret__background *b = __atomic_load_n(&e->background, __ATOMIC_ACQUIRE);
    if (b == NULL || atomic_load_explicit(&b->pending, memory_order_relaxed) != 0)
        return;
    if (atomic_exchange(&b->pending, 1) == 0) {
        atomic_fetch_add(&b->word, 1);
        caret__futex_wake(&b->word, 1);
    }
}

void caret__background_forked(struct caret__engine *e)
{
    e->background = NULL; /* the parent's; its memory is a copy that nobody uses */
    pthread_mutex_init(&starting, NULL);
}
