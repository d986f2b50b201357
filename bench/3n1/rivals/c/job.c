/*
 * job.c - see job.h.
 *
 * Time is measured by the parent from the moment at which it lets the workers go, all of them ready, to the moment
 * at which the last has finished.  Opening, forking and closing are not in it.
 */
#include "job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST           4096 /* no sequence below 10^18 has as many new numbers */
#define BLOCKS_PER_WORKER 10

uint64_t job_reads, job_updates;

static struct job_options o = {.n = 100000, .workers = 1};
static int ready[2], start[2], finished[2];
static struct counts {
    _Atomic uint64_t reads, updates;
} * counts; /* shared with the workers */

void job_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sequence(uint64_t first)
{
    static uint64_t path[LONGEST];
    struct job_found f = {.path = path};
    uint64_t n = first;
    unsigned known = 0;

    while (n > 1 && (job_reads++, known = job_store.get(n)) == 0) {
        if (f.count == LONGEST)
            job_fail("sequence", "too long");
        path[f.count++] = n;
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        if (n > f.highest)
            f.highest = n;
    }
    f.total = f.count + (n > 1 ? known : 0);
    if (f.count > 0)
        job_store.keep(&f);
    else if (job_store.nothing != NULL)
        job_store.nothing();
}

static void compute(unsigned block)
{
    uint64_t last = o.n * (block + 1) / o.blocks;
    for (uint64_t n = o.n * block / o.blocks + 1; n <= last; n++) {
        do {
            if (job_store.begin != NULL)
                job_store.begin();
            sequence(n);
        } while (job_store.again != NULL && job_store.again());
    }
}

/* --------------------------------------------------- start and end by pipes */

static void pipe_queue(void)
{
    char c;
    if (write(ready[1], "r", 1) != 1 || read(start[0], &c, 1) != 0) /* the end of it is the start */
        _exit(1);
}

static void pipe_wait_queued(void)
{
    char c;
    for (unsigned i = 0; i < o.workers; i++)
        if (read(ready[0], &c, 1) != 1)
            job_fail("start", "a worker died");
}

static void pipe_let_go(void)
{
    close(start[1]);
}

static void pipe_finish(void)
{
    if (write(finished[1], "f", 1) != 1)
        _exit(1);
}

static void pipe_wait_finished(void)
{
    char c;
    for (unsigned i = 0; i < o.workers; i++)
        if (read(finished[0], &c, 1) != 1)
            job_fail("end", "a worker died");
}

static void (*const by_pipe[])(void) = {pipe_queue,  pipe_wait_queued,   pipe_let_go,
                                        pipe_finish, pipe_wait_finished, NULL};

/* ------------------------------------------------------------------ processes */

static _Noreturn void work(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close(ready[0]), close(start[1]), close(finished[0]);
    job_store.open(&o, 0);
    (job_store.queue != NULL ? job_store.queue : by_pipe[0])();
    for (unsigned i = 0; i < o.blocks; i++)
        if (job_store.take(i))
            compute(i);
    counts->reads += job_reads;
    counts->updates += job_updates;
    (job_store.finish != NULL ? job_store.finish : by_pipe[3])();
    job_store.close();
    exit(0);
}

static void fork_workers(pid_t *pids)
{
    pid_t self = getpid();
    if (pipe(ready) != 0 || pipe(start) != 0 || pipe(finished) != 0)
        job_fail("pipe", "no descriptors");
    fflush(NULL);
    for (unsigned i = 0; i < o.workers; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            job_fail("fork", "no process");
        if (pids[i] == 0)
            work(self);
    }
    close(ready[1]), close(start[0]), close(finished[1]);
}

static void reap(const pid_t *pids)
{
    for (unsigned i = 0; i < o.workers; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
            job_fail("a worker", "died");
    }
}

static void run(void)
{
    pid_t pids[256];
    uint64_t longest, highest;
    int locks = job_store.hold != NULL;

    job_store.open(&o, 1);
    if (locks)
        job_store.hold();
    else
        job_store.close(); /* not to be inherited */
    fork_workers(pids);
    (locks ? job_store.wait_queued : by_pipe[1])();
    double begin = now();
    (locks ? job_store.let_go : by_pipe[2])();
    (locks ? job_store.wait_finished : by_pipe[4])();
    double seconds = now() - begin;
    reap(pids);
    if (!locks)
        job_store.open(&o, 0);
    job_store.maxima(&longest, &highest);
    job_store.close();
    printf("{\"seconds\":%.6f,\"longest\":%" PRIu64 ",\"highest\":%" PRIu64 ",\"reads\":%" PRIu64
           ",\"updates\":%" PRIu64 ",\"n\":%" PRIu64 ",\"workers\":%u}\n",
           seconds, longest, highest, counts->reads, counts->updates, o.n, o.workers);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--version") == 0)
            return puts(job_store.version) < 0;
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            o.n = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "-w") == 0 && i + 1 < argc)
            o.workers = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--tuned") == 0)
            o.tuned = 1;
        else
            o.folder = argv[i];
    }
    if (o.folder == NULL || o.n < 1 || o.workers < 1 || o.workers > 256)
        return fprintf(stderr, "usage: %s -n N -w W FOLDER [--tuned]\n", argv[0]), 2;
    o.blocks = BLOCKS_PER_WORKER * o.workers < o.n ? BLOCKS_PER_WORKER * o.workers : (unsigned)o.n;
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        job_fail("mmap", "no memory");
    run();
    return 0;
}
