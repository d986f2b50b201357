/*
 * huge.c - the arena in huge pages, where the system has such.
 *
 * A page of the arena is somewhere in up to a quarter of the memory, so that each look-up in a
 * large database waits for an address translation, too.  Huge pages (2 MiB) need 512 times fewer
 * of them, and are allocated in half the time that as many small ones take.  They are a matter of how
 * memory is mapped: nothing depends on them, and processes that have them mapped so share them with
 * others that do not.
 *
 *     segment   | ... | ring |      | arena: piece | piece | ...
 *                             ^ a multiple of 2 MiB, in the file and in memory
 *
 * What makes a piece is MADV_COLLAPSE (Linux 6.1), which needs no setting of the mount; with huge=always
 * fallocate does it.  It is asked at two times, both without the writer mutex, as it may wait for the kernel to
 * find 2 MiB in a row:
 *
 *     make     a piece that was not allocated: one small page of it is, the rest comes with the
 *              huge one, in some 300 us.  The arena grows like this in the background (log/background.c).
 *     settle   a piece that was allocated in small pages, by a writer that could not wait.
 *              The kernel copies it, which takes some 6 ms, and whoever touches it waits as long.  So only a
 *              piece whose slots are all free is put together, four a second at most, the last of the arena
 *              first, as slots are taken from the beginning; only in an arena of some size; and
 *              only with memory to spare.
 *
 * Memory is taken in the steps that it is always taken in, so no more of it is used.  Whether the kernel did what
 * it was asked for matters to nobody: fallocate follows in any case and tells whether there is room
 * (shm/grow.c).  An error ends these attempts for a second; EINVAL, which an older kernel says, and one that was
 * told to have no such pages, for good.
 *
 * sh->huge has a bit for each piece that was made so.  It is only a note: set after the fact, by whoever did
 * it, never cleared, and wrong if the kernel took the piece apart again since (when it swaps).
 */
#include "shm/huge.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "shm/memory.h"

#define PIECE_SLOTS ((uint32_t)(CARET__HUGE / CARET__PAGE_SIZE))
#define FOR_GOOD    UINT64_MAX
#define AFTER_ERROR UINT64_C(1000000000) /* arbitrary, ns */
#define SPARE       (UINT64_C(64) << 20) /* arbitrary: what is left to others when a piece is settled */

void *caret__huge_map(size_t len, int prot, int fd)
{
    uint8_t *room =
        mmap(NULL, len + CARET__HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED)
        return mmap(NULL, len, prot, MAP_SHARED | MAP_NORESERVE, fd, 0);
    size_t before = (size_t)(caret__align_up((uintptr_t)room, CARET__HUGE) - (uintptr_t)room);
    void *p = mmap(room + before, len, prot, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    int error = errno;
    if (p == MAP_FAILED) {
        munmap(room, len + CARET__HUGE);
        errno = error;
        return p;
    }
    if (before != 0)
        munmap(room, before);
    size_t end = caret__align_up(before + len, 4096); /* where the mapping ends */
    munmap(room + end, len + CARET__HUGE - end);
    return p;
}

static bool is_huge(const struct caret__shared *sh, uint32_t piece)
{
    return (atomic_load_explicit(&sh->huge[piece / 64u], memory_order_relaxed) >> piece % 64u & 1u) != 0;
}

static bool allowed(const struct caret__engine *e)
{
    return !e->options.no_huge_pages && e->observes == CARET__OBSERVES_NOT &&
           caret__now_ns() >= atomic_load_explicit(&e->huge_after, memory_order_relaxed);
}

static void pause_for(struct caret__engine *e, uint64_t ns)
{
    uint64_t until = ns == FOR_GOOD ? FOR_GOOD : caret__now_ns() + ns;

    atomic_store_explicit(&e->huge_after, until, memory_order_relaxed);
}

static bool collapse(struct caret__engine *e, uint32_t piece)
{
    if (madvise(e->pg.arena + (uint64_t)piece * CARET__HUGE, CARET__HUGE, MADV_COLLAPSE) != 0) {
        pause_for(e, errno == EINVAL ? FOR_GOOD : AFTER_ERROR);
        return false;
    }
    atomic_fetch_or(&e->sh->huge[piece / 64u], UINT64_C(1) << piece % 64u);
    return true;
}

/* Is nothing of it allocated?  (Somebody who was quicker may have done it.) */
static bool is_hole(int fd, uint64_t off)
{
    off_t data = lseek(fd, (off_t)off, SEEK_DATA); /* the place in the file is used by nobody */

    return data < 0 ? errno == ENXIO : (uint64_t)data >= off + CARET__HUGE;
}

void caret__huge_make(struct caret__engine *e, uint32_t from, uint32_t to)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    int before = errno, fd = caret__fd(&e->shm_fd);
    uint32_t piece = (uint32_t)(caret__align_up(from, PIECE_SLOTS) / PIECE_SLOTS);

    for (; (piece + 1) * PIECE_SLOTS <= to && fd >= 0 && allowed(e); piece++) {
        uint64_t off = e->sh->off_arena + (uint64_t)piece * CARET__HUGE;
        if (!is_hole(fd, off) || posix_fallocate(fd, (off_t)off, 4096) != 0 || !collapse(e, piece))
            break;
    }
    errno = before;
}

static bool all_free(const struct caret__engine *e, uint32_t piece)
{
    const _Atomic uint64_t *map = e->pg.maps[CARET__MAP_SLOTS] + piece * (PIECE_SLOTS / 64u);

    for (uint32_t i = 0; i < PIECE_SLOTS / 64u; i++)
        if (atomic_load_explicit(&map[i], memory_order_relaxed) != UINT64_MAX)
            return false;
    return true;
}

/* The last piece that is free and not huge; UINT32_MAX: none. */
static uint32_t find_settled(const struct caret__engine *e)
{
    uint32_t pieces = atomic_load(&e->sh->nslots) / PIECE_SLOTS;

    if (pieces < CARET__HUGE_LEAST / CARET__HUGE)
        return UINT32_MAX;
    while (pieces-- > 0)
        if (!is_huge(e->sh, pieces) && all_free(e, pieces))
            return pieces;
    return UINT32_MAX;
}

bool caret__huge_settle(struct caret__engine *e)
{
    CARET__ASSERT(!caret__writer_held(e->sh));
    int before = errno;
    uint32_t piece = allowed(e) ? find_settled(e) : UINT32_MAX;
    bool done = false;

    if (piece == UINT32_MAX)
        return false;
    if (!caret__memory_has(SPARE))
        pause_for(e, AFTER_ERROR);
    else if (collapse(e, piece)) {
        pause_for(e, CARET__HUGE_EVERY);
        done = true;
    }
    errno = before;
    return done;
}

uint64_t caret__huge_bytes(const struct caret__engine *e)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < CARET__HUGE_WORDS; i++)
        n += (uint64_t)__builtin_popcountll(atomic_load_explicit(&e->sh->huge[i], memory_order_relaxed));
    return n * CARET__HUGE;
}
