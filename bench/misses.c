/*
 * misses.c - what a look-up waits for: the machine's memory, and the operations beside it.
 *
 *   misses [-n NODES] [-r RUNS] [--json]
 *
 * There are no hardware counters in a guest, so misses are counted by arithmetic (docs/memory.md) and priced
 * by measuring.  First the memory: loads that depend on each other, each of another line, over as many pages
 * as fit a cache or do not.  "lines" reads all lines of a page before it goes to the next, at a stride that
 * the processor sees, so that it fetches them before they are asked for; "pages" goes to any line of all, so
 * that each load misses the translation too, once the pages are too many for its buffers; "huge" is the same
 * ring of lines in pages of 2 MiB, whose translations are at hand (0: the system has none), so that its
 * difference from "pages" is the price of the translation; "16 pages" is "pages" in 16 chains at once.  Then
 * operations on NODES nodes ^BCAT("lvd",n): among a few neighbours, whose pages are in the caches, and among
 * all.  The difference is what is waited for; in waits of one page each it tells how many are not hidden. CPU
 * time, as waiting for the processor is not ours; medians of runs.
 */
#include <sys/mman.h>

#include "workload.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define PAGE     4096u
#define LINE     64u
#define HUGE     (2u << 20)
#define LOADS    200000u
#define CHAINS   16u
#define FEW      1000u /* nodes: their leaves are in the second-level cache */
#define ARENA_OF 27u   /* bytes of the tree for a node of 10 bytes, filled in order */

static void die(const char *what)
{
    fprintf(stderr, "misses: %s: %s\n", what, caret_message());
    exit(1);
}

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---------------------------------------------------------------------- memory */

static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed % n);
}

/* Link places into one ring in random order; place i is at at(i). */
static void **ring(char *memory, uint32_t n, size_t (*at)(uint32_t))
{
    uint32_t *order = malloc(n * sizeof *order);

    if (order == NULL)
        die("no memory");
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t k = below(i + 1), o = order[i];
        order[i] = order[k];
        order[k] = o;
    }
    for (uint32_t i = 0; i < n; i++)
        *(void **)(memory + at(order[i])) = memory + at(order[(i + 1) % n]);
    void **first = (void **)(memory + at(order[0]));
    free(order);
    return first;
}

static size_t page_at(uint32_t i)
{
    return (size_t)i * PAGE;
}

static size_t line_at(uint32_t i)
{
    return (size_t)i * LINE;
}

/* All lines of a page, page after page in random order. */
static void **ring_of_lines(char *memory, uint32_t pages)
{
    void **first = ring(memory, pages, page_at), **at = first;

    for (uint32_t i = 0; i < pages; i++) {
        void **next = *at;
        char *page = (char *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));
        for (uint32_t k = 1; k < PAGE / LINE; k++) { /* 29 and 64 have no factor in common */
            void **line = (void **)(page + ((uintptr_t)at + (size_t)k * 29u * LINE) % PAGE);
            *at = line;
            at = line;
        }
        *at = next;
        at = next;
    }
    return first;
}

/* Nanoseconds for each load of `chains` chains. */
static double chase(void **first, unsigned chains)
{
    void **at[CHAINS];
    double v[MAX_RUNS];

    for (unsigned c = 0; c < chains; c++) {
        at[c] = first;
        for (unsigned i = 0; i < c * 97u; i++)
            at[c] = *at[c];
    }
    for (unsigned r = 0; r < runs; r++) {
        double t = cpu_ns();
        for (unsigned i = 0; i < LOADS / chains; i++)
            for (unsigned c = 0; c < chains; c++)
                at[c] = *at[c];
        v[r] = (cpu_ns() - t) / (LOADS / chains * chains);
        __asm__ volatile("" : : "r"(at) : "memory");
    }
    return median(v, runs);
}

/* Memory in huge pages; NULL: there are none. */
static char *huge_memory(size_t len, char **all)
{
    *all = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*all == MAP_FAILED)
        die("no memory");
    char *p = (char *)(((uintptr_t)*all + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    memset(p, 0, len);
    return madvise(p, len, MADV_COLLAPSE) == 0 ? p : NULL;
}

/* The ring of "pages" there; 0: there are none. */
static double huge_wait(uint32_t pages)
{
    char *all;
    size_t len = ((size_t)pages * PAGE + HUGE - 1) & ~(size_t)(HUGE - 1);
    char *memory = huge_memory(len, &all);
    double ns = memory != NULL ? chase(ring(memory, pages * (PAGE / LINE), line_at), 1) : 0;

    munmap(all, len + HUGE);
    return ns;
}

/* The wait for a page among as many as the tree has. */
static double memory_table(void)
{
    static const uint32_t kib[] = {32, 1024, 8192, 0 /* the tree's size */, 262144};
    double wait = 0;

    if (!json)
        printf("%-34s %9s %9s %9s %9s\n", "ns for each load, by KiB", "lines", "pages", "huge", "16 pages");
    for (unsigned i = 0; i < sizeof kib / sizeof *kib; i++) {
        uint32_t size = kib[i] != 0 ? kib[i] : (uint32_t)((uint64_t)nodes * ARENA_OF / 1024);
        uint32_t pages = size / (PAGE / 1024) > 1 ? size / (PAGE / 1024) : 2;
        char *memory =
            mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            die("no memory");
        double lines = chase(ring_of_lines(memory, pages), 1);
        void **first = ring(memory, pages * (PAGE / LINE), line_at);
        double page = chase(first, 1), many = chase(first, CHAINS);
        munmap(memory, (size_t)pages * PAGE);
        double huge = huge_wait(pages);
        if (kib[i] == 0)
            wait = page;
        printf(json ? "{\"work\":\"misses memory %u "
                      "KiB\",\"lines_ns\":%.1f,\"pages_ns\":%.1f,\"huge_ns\":%.1f,\"many_ns\":%.1f}\n"
                    : "%-34u %9.1f %9.1f %9.1f %9.1f\n",
               size, lines, page, huge, many);
    }
    return wait;
}

/* ------------------------------------------------------------------ operations */

enum { GET, UPDATE, NEXT, STEP, GET_MANY, INSERT, WORKS }; /* the last one changes the tree */
static const char *const works[WORKS] = {"get",          "update",          "next",
                                         "step of 3n+1", "get, 16 at once", "insert"};

static struct handles ours;
static caret_node_buf many[CHAINS];

static uint32_t key_of(unsigned i, unsigned among)
{
    return (uint32_t)((uint64_t)i * 2654435761u % among) + 1;
}

static void get_sixteen(unsigned i, unsigned among)
{
    caret_node *list[CHAINS];
    caret_slice v[CHAINS];

    for (unsigned k = 0; k < CHAINS; k++) {
        list[k] = &many[k].node;
        caret_node_set_last_int(list[k], key_of(i + k, among));
    }
    if (caret_get_many(ours.s, list, CHAINS, v) != CARET_OK)
        die("get many");
}

/* A child that its node has not had: it goes into the leaf of the node, which splits now and then. */
static int insert_child(void)
{
    static int64_t last;
    caret_node_buf child;
    int rc = caret_node_child_int(&child.node, sizeof child, &ours.n.node, ++last);

    return rc == CARET_OK ? caret_set(ours.s, &child.node, "9876543210", 10) : rc;
}

/* One operation; a step of 3n+1 from *n on. */
static void operate(int work, unsigned i, unsigned among, uint64_t *n)
{
    caret_slice v;
    int rc = CARET_OK;

    if (work == STEP) {
        *n = *n < 2 ? key_of(i, among) : *n % 2 == 0 ? *n / 2 : 3 * *n + 1;
        while (*n > among)
            *n /= 2;
    }
    caret_node_set_last_int(&ours.n.node, work == STEP ? (int64_t)*n : key_of(i, among));
    if (work == GET || work == STEP)
        rc = caret_get(ours.s, &ours.n.node, &v);
    else if (work == UPDATE)
        rc = caret_set(ours.s, &ours.n.node, "9876543210", 10);
    else if (work == INSERT)
        rc = insert_child();
    else
        rc = caret_next(ours.s, &ours.n.node);
    if (rc != CARET_OK && rc != CARET_NONE)
        die(works[work]);
}

static double among(int work, unsigned n)
{
    double v[MAX_RUNS];
    uint64_t at = 0;

    for (unsigned r = 0; r < runs; r++) {
        unsigned from = r * LOADS;
        double t = cpu_ns();
        for (unsigned i = from; i < from + LOADS; i += work == GET_MANY ? CHAINS : 1) {
            if (work == GET_MANY)
                get_sixteen(i, n);
            else
                operate(work, i, n, &at);
        }
        v[r] = (cpu_ns() - t) / LOADS;
    }
    return median(v, runs);
}

static void operations_table(double wait)
{
    char path[96];

    snprintf(path, sizeof path, "%s/ours.caret", dir);
    handles_open(&ours, path);
    handles_at(&ours, "^BCAT");
    handles_run(&ours, SEQ_SET);
    for (unsigned k = 0; k < CHAINS; k++)
        caret_node_copy(&many[k].node, sizeof many[k], &ours.n.node);
    if (!json)
        printf("\n%-34s %9s %9s %9s\n", "ns for each operation", "in cache", "random", "waits");
    for (int w = 0; w < WORKS; w++) {
        among(w, FEW);
        double few = among(w, FEW), all = among(w, nodes);
        printf(json ? "{\"work\":\"misses %s\",\"cached_ns\":%.1f,\"random_ns\":%.1f,\"waits\":%.2f}\n"
                    : "%-34s %9.1f %9.1f %9.2f\n",
               works[w], few, all, (all - few) / wait);
    }
    handles_close(&ours);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
}

int main(int argc, char **argv)
{
    int rc = workload_begin(argc, argv);

    if (rc != 0)
        return rc;
    double wait = memory_table();
    operations_table(wait);
    rmdir(dir);
    return 0;
}
