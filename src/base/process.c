/*
 * process.c - a number for this process.
 *
 *     mark    a page that the kernel wipes in a forked child: 0 there, until the child asks
 *     newest  the highest number so far; a child has its parent's
 *
 * So a child's number is above those of all it comes from, and nothing of theirs passes for its own.  Its siblings may
 * have the same one: they have nothing in common.  Where the kernel can't wipe, and for what is forked before the page
 * is there, a handler of fork() does the same.  Without memory for a page it is the handler alone.
 */
#include "base/process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/held.h"

static _Atomic uint32_t plain, newest;
static _Atomic uint32_t *mark = &plain;
const _Atomic uint32_t *caret__process_mark = &plain;

static void in_child(void)
{
    atomic_store(mark, 0);
}

CARET__AT_LOAD static void make_mark(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page != MAP_FAILED) {
        madvise(page, size, MADV_WIPEONFORK);
        mark = page;
        caret__process_mark = mark;
    }
    pthread_atfork(NULL, NULL, in_child);
}

uint32_t caret__process_number(void)
{
    uint32_t none = 0, number = atomic_fetch_add(&newest, 1) + 1;

    return atomic_compare_exchange_strong(mark, &none, number) ? number : none;
}
