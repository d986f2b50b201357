/*
 * segment.c - the shared segment: place its regions, create it, map it.
 *
 *     0                                                             seg_size
 *     | header | process slots | locks | bitmaps | page table | owners | undo | ring | arena |
 *
 * One sparse file, as large as all of its regions may become: the arena up to a
 * quarter of the memory there is, the page table 1 GiB.  Only what is in use is
 * allocated: header, process slots, the ring and the first steps of the others at
 * creation, further steps by shm/grow.c.  A region starts at a multiple of 64 KiB,
 * the largest machine page, so that each step can be allocated, and the ring
 * mapped, by itself; the arena at one of 2 MiB, so that it can be in huge pages
 * (shm/huge.c).
 *
 * Each process has four mappings, made once and never moved:
 *     segment     whole, read and write                     e->base
 *     ring        twice in a row, so that a record which    e->ring
 *                 wraps can still be read and written in one piece
 *     data file   read-only, as long as max_pages; what is  e->file_map
 *                 after the end of the file must not be touched, and isn't:
 *                 page numbers below ts.npages are allocated before they exist
 *     verified    private bits: file pages whose checksum was seen to be right
 * They need address space, not memory.  Where that is limited (ulimit -v), or the
 * size of files is (ulimit -f), the creator halves its limits until they fit;
 * everybody after takes the sizes from the header.
 *
 * A segment is trusted no more than a file: at attach its owner and mode, then
 * identity, layout signature and every offset are compared with what they must
 * be; offsets are a pure function of max_pages and max_slots
 * (caret__segment_place).
 *
 * Invariants: a segment is created under the opening gate, under a name that did
 * not exist (random, O_EXCL, O_NOFOLLOW), with the data file's owner and mode; it
 * becomes known to others only by the record in the lock file, written when it is
 * complete; its magic is stored last.
 */
#include "shm/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "shm/huge.h"
#include "shm/lockfile.h"
#include "shm/memory.h"
#include "shm/undo.h"
#include "shm/write.h"

#define REGION_ALIGN (64u << 10)
#define MIN_SLOTS    (CARET__ARENA_STEP > 256u ? CARET__ARENA_STEP : 256u) /* arbitrary: several large commits */
#define MIN_PAGES    (1u << 15) /* fewest page numbers that the limits are halved to; arbitrary */
#define HOLD_TRIES   1000       /* naps of a millisecond; arbitrary: a sweeper looks for less than one */

/* Undo bytes backed at creation: the small areas and a few pages' worth; commits that need more make it grow. */
#define UNDO_INITIAL (CARET__UNDO_FRONT + (uint64_t)224 * CARET__PAGE_SIZE)

/* ------------------------------------------------------------------ placing */

static caret__segoff place(uint64_t *end, uint64_t size)
{
    uint64_t at = caret__align_up(*end, REGION_ALIGN);

    *end = at + size;
    return at;
}

void caret__segment_place(struct caret__shared *sh)
{
    uint64_t end = sizeof(struct caret__shared);
    uint64_t page_map = (uint64_t)CARET__BITMAP_WORDS(sh->max_pages) * 8;

    sh->page_size = CARET__PAGE_SIZE;
    sh->max_procs = CARET__MAX_PROCS;
    sh->ring_size = CARET__RING_SIZE;
    sh->undo_max = CARET__UNDO_MAX;
    sh->locks_size = CARET__LOCKS_SIZE;
    sh->off_slots = place(&end, sizeof(struct caret__procslot) * sh->max_procs);
    sh->off_locks = place(&end, sh->locks_size);
    sh->off_bitmaps =
        place(&end, CARET__MAP_SLOTS * page_map + (uint64_t)CARET__BITMAP_WORDS(sh->max_slots) * 8);
    sh->off_ptab = place(&end, sizeof(struct caret__pte) * sh->max_pages);
    sh->off_owners = place(&end, sizeof(uint32_t) * (uint64_t)sh->max_slots);
    sh->off_undo = place(&end, sh->undo_max);
    sh->off_ring = place(&end, sh->ring_size);
    end = caret__align_up(end, CARET__HUGE);
    sh->off_arena = place(&end, (uint64_t)CARET__PAGE_SIZE * sh->max_slots);
    sh->seg_size = caret__align_up(end, REGION_ALIGN);
}

/* Could so many bytes of address space be mapped?  What sets a limit can be ulimit -v, but also a small machine's
 * page tables, or a tool like valgrind. */
static bool address_space_has(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    munmap(p, bytes);
    return true;
}

/* What the segment has for each page of the data file: its entry in the page table, and a bit in each bitmap. */
static uint64_t bytes_of_pages(uint64_t npages)
{
    return npages * sizeof(struct caret__pte) + npages * CARET__MAP_SLOTS / 8;
}

/* The arena takes this only if so much is changed between two checkpoints; what a small database changes is small.
 * Where room is short it leaves as much again to a database that grows, beside what its pages need now. */
static uint64_t memory_to_use(const struct caret__engine *e, const char *dir, uint32_t npages)
{
    if (e->memory_limit != 0)
        return e->memory_limit / 4;
    uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = caret__min64(ram, caret__memory_available("")) / 4;
    struct statvfs fs;

    if (dir != NULL && statvfs(dir, &fs) == 0 && fs.f_blocks != 0) { /* f_blocks 0: a tmpfs without limit */
        uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
        limit = caret__min64(limit, (room - caret__min64(room, bytes_of_pages(npages))) / 2);
    }
    return limit;
}

/* The least that a segment takes does not fit: of which limit. */
static int refuse_sizes(const struct caret__engine *e, const struct caret__shared *sh, uint64_t space)
{
    if (!caret__file_size_allowed(sh->seg_size))
        return caret__fail(CARET_E_SHM,
                           "%s: its shared memory is a file of %llu MiB at least, and this process may write "
                           "none so long (ulimit -f)",
                           e->path, (unsigned long long)((sh->seg_size + (1u << 20) - 1) >> 20));
    return caret__fail(CARET_E_SHM,
                       "%s: a limit of this process (ulimit -v) leaves too little address space: "
                       "%llu MiB more than it has now are the least for this database",
                       e->path, (unsigned long long)(space >> 20) + 1);
}

/* Choose max_pages and max_slots, and place the regions. */
static int choose_sizes(struct caret__engine *e, struct caret__shared *sh, const char *dir, uint32_t npages,
                        uint32_t least_slots)
{
    uint64_t arena = e->options.arena_limit != 0 ? e->options.arena_limit : memory_to_use(e, dir, npages);
    uint64_t slots = caret__align_down(arena / CARET__PAGE_SIZE, 64);

    if (e->options.arena_limit == 0)
        slots = caret__max64(slots, least_slots);
    slots = caret__min64(slots, CARET__ARENA_SLOTS_MAX);
    sh->max_slots = (uint32_t)caret__max64(slots, MIN_SLOTS);
    sh->max_pages = CARET__MAX_PAGES;
    while (e->memory_limit != 0 && sh->max_pages / 2 >= MIN_PAGES &&
           (uint64_t)sh->max_pages / 2 * CARET__PAGE_SIZE >= e->memory_limit)
        sh->max_pages /= 2; /* address space is for others */
    for (;;) {
        caret__segment_place(sh);
        uint64_t space = sh->seg_size + 2 * sh->ring_size + (uint64_t)sh->max_pages * CARET__PAGE_SIZE;
        space += space / 2; /* for the host */
        if (caret__file_size_allowed(sh->seg_size) && address_space_has(space))
            return CARET_OK;
        if (sh->max_pages / 2 >= MIN_PAGES && sh->max_pages / 2 >= npages + npages / 4)
            sh->max_pages /= 2;
        else if (sh->max_slots / 2 >= MIN_SLOTS)
            sh->max_slots = (uint32_t)caret__align_down(sh->max_slots / 2, 64);
        else
            return refuse_sizes(e, sh, space);
    }
}

/* ------------------------------------------------------------------ mapping */

uint64_t caret__store_id(void)
{
    static _Atomic uint64_t last;

    return caret__spread_id(atomic_fetch_add(&last, 1) + 1, false);
}

static void point_into(struct caret__engine *e)
{
    struct caret__shared *sh = e->sh;
    struct caret__pager *pg = &e->pg;
    _Atomic uint64_t *map = (_Atomic uint64_t *)(e->base + sh->off_bitmaps);

    e->slots = (struct caret__procslot *)(e->base + sh->off_slots);
    e->locks = e->base + sh->off_locks;
    e->undo = e->base + sh->off_undo;
    pg->ptab = (struct caret__pte *)(e->base + sh->off_ptab);
    pg->arena = e->base + sh->off_arena;
    pg->ts = &sh->ts;
    pg->applied = &sh->log_applied;
    for (unsigned i = 0; i < CARET__MAPS; i++)
        pg->maps[i] = map + (size_t)i * CARET__BITMAP_WORDS(sh->max_pages);
    pg->owners = (uint32_t *)(e->base + sh->off_owners);
    pg->max_pages = sh->max_pages;
    pg->shared = true;
    pg->file_pages_mapped = &e->file_pages_mapped;
    pg->id = caret__store_id();
    pg->path = e->path;
}

/* Its length was chosen by whoever made it, under other limits perhaps. */
static int no_space(struct caret__engine *e, const char *what, uint64_t bytes)
{
    return caret__fail_errno(
        e->observes ? CARET_E_NOMEM : CARET_E_SHM,
        "%s: cannot map the %s, %llu MiB; a limit of this process (ulimit -v) may leave too "
        "little address space",
        e->path, what, (unsigned long long)(bytes >> 20) + 1);
}

/* What may this process do with the shared memory? */
static int protection(const struct caret__engine *e)
{
    return e->observes == CARET__OBSERVES_LIVE ? PROT_READ : PROT_READ | PROT_WRITE;
}

static int map_ring(struct caret__engine *e, const struct caret__shared *sh)
{
    uint8_t *p = mmap(NULL, 2 * sh->ring_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return no_space(e, "log ring", 2 * sh->ring_size);
    e->ring = p;
    for (unsigned i = 0; i < 2; i++) {
        void *half = mmap(p + i * sh->ring_size, sh->ring_size, protection(e), MAP_SHARED | MAP_FIXED,
                          caret__fd(&e->shm_fd), (off_t)sh->off_ring);
        if (half == MAP_FAILED)
            return no_space(e, "log ring", 2 * sh->ring_size);
    }
    return CARET_OK;
}

/* Map the segment as `sizes` (a checked copy of its header) says. */
static int map_segment(struct caret__engine *e, const struct caret__shared *sizes)
{
    int fd = caret__fd(&e->shm_fd);
    void *p = e->options.no_huge_pages
                  ? mmap(NULL, sizes->seg_size, protection(e), MAP_SHARED | MAP_NORESERVE, fd, 0)
                  : caret__huge_map(sizes->seg_size, protection(e), fd);

    if (p == MAP_FAILED)
        return no_space(e, "shared segment", sizes->seg_size);
    e->base = p;
    e->map_len = sizes->seg_size;
    e->sh = p;
    return map_ring(e, sizes);
}

/* Bytes of the private bitmaps: verified file pages, then arena slots saved in a redo. */
static size_t private_bits(const struct caret__engine *e)
{
    return (CARET__BITMAP_WORDS(e->pg.max_pages) + CARET__BITMAP_WORDS(e->sh->max_slots)) * sizeof(uint64_t);
}

int caret__file_map(struct caret__engine *e)
{
    uint64_t len = (uint64_t)e->pg.max_pages * CARET__PAGE_SIZE;
    size_t bits = private_bits(e);
    void *p = mmap(NULL, len, PROT_READ, MAP_SHARED | MAP_NORESERVE, caret__fd(&e->data_fd), 0);

    if (p == MAP_FAILED)
        return no_space(e, "data file", len);
    e->file_map = e->pg.file = p;
    e->file_map_len = len;
    e->file_pages_mapped = e->pg.max_pages;
    p = mmap(NULL, bits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return no_space(e, "bits of verified pages", bits);
    e->pg.verified = p;
    e->pg.redo_saved = e->pg.verified + CARET__BITMAP_WORDS(e->pg.max_pages);
    return CARET_OK;
}

static bool map_again(struct caret__engine *e, size_t len, int protection, int flags)
{
    void *at = (void *)(uintptr_t)e->file_map;

    return mmap(at, len, protection, flags | MAP_FIXED | MAP_NORESERVE, caret__fd(&e->data_fd), 0) == at;
}

int caret__file_keep(struct caret__engine *e)
{
    struct stat st;
    uint64_t pages = fstat(caret__fd(&e->data_fd), &st) == 0 ? (uint64_t)st.st_size / CARET__PAGE_SIZE : 0;
    size_t len = caret__min64(pages, e->file_pages_mapped) * CARET__PAGE_SIZE;

    if (len == 0)
        return CARET_OK;
    if (map_again(e, len, PROT_READ | PROT_WRITE, MAP_PRIVATE))
        e->pg.kept = (uint32_t)(len / CARET__PAGE_SIZE);
    else if (!map_again(e, len, PROT_READ, MAP_SHARED)) /* what was there before may be gone */
        return no_space(e, "data file", len);
    return CARET_OK;
}

void caret__file_kept(struct caret__engine *e)
{
    if (e->pg.kept != 0)
        mprotect((void *)(uintptr_t)e->file_map, (size_t)e->pg.kept * CARET__PAGE_SIZE, PROT_READ);
    e->pg.kept = 0;
}

void caret__segment_close(struct caret__engine *e)
{
    if (e->sh != NULL)
        caret__segment_shared(e->sh);
    if (e->pg.verified != NULL)
        munmap(e->pg.verified, private_bits(e));
    if (e->file_map != NULL)
        munmap((void *)(uintptr_t)e->file_map, e->file_map_len);
    if (e->ring != NULL)
        munmap(e->ring, 2 * (size_t)CARET__RING_SIZE);
    if (e->base != NULL)
        munmap(e->base, e->map_len);
    caret__fd_close(&e->shm_fd);
    free(e->seg_path);
    memset(&e->pg, 0, sizeof e->pg);
    e->file_map = NULL;
    e->file_pages_mapped = 0;
    e->ring = e->base = e->locks = e->undo = NULL;
    e->sh = NULL;
    e->slots = NULL;
    e->seg_path = NULL;
}

/* ----------------------------------------------------------------- creating */

/* FNV-1a of (uuid, device, inode): the part of the name that all segments of a data file share. */
static uint64_t name_hash(const struct caret__identity *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), place[2] = {id->dev, id->ino};
    uint8_t bytes[32];

    memcpy(bytes, id->uuid, 16);
    memcpy(bytes + 16, place, 16);
    for (unsigned i = 0; i < sizeof bytes; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/*
 * Say that somebody has it: 1, or 0 if a sweeper (open/orphan.c) is looking at it, or -1, errno.  The lock is
 * that of the open file, so forks share it.  Where there are no such locks, nobody sweeps.
 */
static int hold(const struct caret__engine *e)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};

    if (fcntl(caret__fd(&e->shm_fd), F_OFD_SETLK, &lock) == 0 || errno == EINVAL || errno == EOPNOTSUPP)
        return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

/* A path that nobody has; malloc'ed. */
static char *new_path(const struct caret__identity *id, const char *real)
{
    uint64_t number;
    size_t len = strlen(real) + 64;
    char *path = malloc(len);

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = caret__now_ns() ^ (uint64_t)getpid() << 40;
    if (path != NULL)
        snprintf(path, len, "%s/caret-%016llx-%016llx" CARET__SEG_SUFFIX, strcmp(real, "/") == 0 ? "" : real,
                 (unsigned long long)name_hash(id), (unsigned long long)number);
    return path;
}

/* CARET_NONE: a sweeper took it for one whose maker has died, between its creation and our lock. */
static int make_held(struct caret__engine *e, const struct caret__identity *id, const char *real)
{
    struct stat st;

    e->seg_path = new_path(id, real);
    if (e->seg_path == NULL)
        return caret__fail(CARET_E_NOMEM, "%s: no memory to open it", e->path);
    int rc = CARET_NONE, fd = caret__open_high(e->seg_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    int held = caret__fd_set(&e->shm_fd, fd) ? hold(e) : -1;
    if (held < 0 || fstat(caret__fd(&e->shm_fd), &st) != 0)
        rc = caret__fail_errno(CARET_E_SHM, "%s: cannot create the shared segment", e->seg_path);
    else if (held > 0 && st.st_nlink != 0)
        return CARET_OK;
    if (fd >= 0) /* it was made, but can't be used */
        unlink(e->seg_path);
    caret__fd_close(&e->shm_fd);
    free(e->seg_path);
    e->seg_path = NULL;
    return rc;
}

static int make_file(struct caret__engine *e, const struct caret__identity *id, const char *dir)
{
    char *real = realpath(dir, NULL);
    int rc = CARET_NONE;

    if (real == NULL)
        return caret__fail_errno(CARET_E_SHM, "%s: directory for shared memory", dir);
    for (int i = 0; i < HOLD_TRIES && rc == CARET_NONE; i++)
        rc = make_held(e, id, real);
    free(real);
    if (rc == CARET_NONE)
        rc = caret__fail(CARET_E_SHM, "%s: what is made there is removed at once", dir);
    if (rc == CARET_OK)
        caret__file_rights(caret__fd(&e->shm_fd), id->uid, id->gid, id->mode);
    return rc;
}

void caret__segment_unlink(const struct caret__engine *e)
{
    if (e->seg_path != NULL && e->seg_path[0] == '/')
        unlink(e->seg_path);
}

static int init_mutexes(struct caret__shared *sh)
{
    int rc = caret__mutex_init(&sh->writer);

    for (unsigned i = 0; i < CARET__WRITER_MUTEXES - 1; i++)
        rc |= caret__mutex_init(&sh->spare_writer[i]);
    rc |= caret__mutex_init(&sh->flush);
    rc |= caret__mutex_init(&sh->checkpoint);
    rc |= caret__mutex_init(&sh->lock_mutex);
    return rc == 0 ? CARET_OK : caret__fail(CARET_E_SYSTEM, "no robust mutexes on this system");
}

static void copy_sizes(struct caret__shared *to, const struct caret__shared *from)
{
    to->max_pages = from->max_pages;
    to->max_slots = from->max_slots;
    caret__segment_place(to);
}

static int fill_header(struct caret__engine *e, const struct caret__shared *sizes,
                       const struct caret__identity *id)
{
    int rc = caret__segment_back(e, 0, caret__align_up(sizeof *e->sh, REGION_ALIGN));
    struct caret__shared *sh = e->sh;

    if (rc != CARET_OK)
        return rc;
    copy_sizes(sh, sizes);
    memcpy(sh->uuid, id->uuid, sizeof sh->uuid);
    sh->dev = id->dev;
    sh->ino = id->ino;
    if (strlen(e->path) < sizeof sh->data_path)
        snprintf(sh->data_path, sizeof sh->data_path, "%s", e->path);
    sh->signature = caret__layout_signature();
    point_into(e);
    return init_mutexes(sh);
}

/* Back and fill what every segment has from the start. */
static int fill(struct caret__engine *e, const struct caret__shared *sizes, const struct caret__identity *id,
                uint32_t npages)
{
    int rc = fill_header(e, sizes, id);

    if (rc == CARET_OK)
        rc = caret__segment_back(e, sizes->off_slots, sizeof(struct caret__procslot) * sizes->max_procs);
    if (rc == CARET_OK)
        rc = caret__segment_back(e, sizes->off_locks, CARET__LOCKS_INITIAL);
    if (rc == CARET_OK)
        rc = caret__segment_back(e, sizes->off_ring, sizes->ring_size);
    if (rc == CARET_OK)
        rc = caret__grow_undo(e, UNDO_INITIAL);
    if (rc == CARET_OK)
        rc = caret__grow_arena(e, CARET__ARENA_STEP);
    if (rc == CARET_OK)
        rc = caret__file_map(e);
    if (rc == CARET_OK)
        rc = caret__keep_file(e, npages);
    if (rc == CARET_OK)
        rc = caret__grow_pages(e, npages);
    return rc;
}

int caret__segment_create(struct caret__engine *e, const struct caret__identity *id, const char *dir,
                          uint32_t npages, uint32_t slots)
{
    struct caret__shared sizes = {0};
    int rc;

    dir = dir != NULL ? dir : CARET__SEG_DIR;
    rc = choose_sizes(e, &sizes, dir, npages, slots);
    if (rc == CARET_OK)
        rc = make_file(e, id, dir);
    if (rc != CARET_OK)
        goto close_segment;
    CARET_FAULT("segment_made");
    if (ftruncate(caret__fd(&e->shm_fd), (off_t)sizes.seg_size) != 0)
        rc = caret__fail_errno(CARET_E_SHM, "%s: cannot make it %llu MiB long", e->seg_path,
                               (unsigned long long)(sizes.seg_size >> 20));
    else
        rc = map_segment(e, &sizes);
    if (e->sh != NULL)
        caret__segment_alone(e->sh);
    if (rc == CARET_OK)
        rc = fill(e, &sizes, id, npages);
    if (rc == CARET_OK) {
        e->sh->magic = CARET__SEG_MAGIC;
        CARET_FAULT("segment_filled");
        return CARET_OK;
    }
    caret__segment_unlink(e);
close_segment:
    caret__segment_close(e);
    return rc;
}

/* The page table of a file that nobody changes here: zeros, not even allocated. */
static int fill_for_reading(struct caret__engine *e, const struct caret__shared *sizes,
                            const struct caret__identity *id, uint32_t npages)
{
    int rc = fill_header(e, sizes, id);

    if (rc == CARET_OK)
        rc = caret__file_map(e);
    if (rc == CARET_OK) {
        atomic_store(&e->sh->ts.npages, npages);
        atomic_store(&e->sh->ptab_pages, npages);
    }
    return rc;
}

int caret__segment_private(struct caret__engine *e, const struct caret__identity *id, uint32_t npages,
                           bool build)
{
    struct caret__shared sizes = {0};
    int rc = choose_sizes(e, &sizes, NULL, npages, 0);

    if (rc != CARET_OK)
        return rc;
    e->seg_path = strdup("private memory");
    if (!caret__fd_memory(&e->shm_fd) || e->seg_path == NULL ||
        ftruncate(caret__fd(&e->shm_fd), (off_t)sizes.seg_size) != 0)
        rc = caret__fail_errno(CARET_E_SHM, "%s: memory for its pages", e->path);
    else
        rc = map_segment(e, &sizes);
    if (e->sh != NULL)
        caret__segment_alone(e->sh);
    if (rc == CARET_OK)
        rc = build ? fill(e, &sizes, id, npages) : fill_for_reading(e, &sizes, id, npages);
    if (rc != CARET_OK)
        caret__segment_close(e);
    return rc;
}

/* ---------------------------------------------------------------- attaching */

/* May this file be trusted as far as the data file is?  What its owner may do, and which users may read it, does not
 * matter to that: such rights may have been taken back from the data file without anybody's having come by since. */
static bool rights_ok(const struct stat *st, const struct caret__identity *id)
{
    return S_ISREG(st->st_mode) && caret__owner_trusted(st, id->uid, id->gid, id->mode) &&
           (st->st_mode & 0022 & ~id->mode) == 0;
}

/* Compare the header with what it must be; *sizes gets a copy that can be relied on. */
static int verify(struct caret__engine *e, const struct caret__identity *id, const char *path,
                  struct caret__shared *sizes, uint64_t file_size)
{
    static const char foreign[] = "%s: shared segment %s: it belongs to another database or is damaged (%s)";
    struct caret__shared *seen = sizes + 1;

    ssize_t n = pread(caret__fd(&e->shm_fd), seen, sizeof *seen, 0);

    if (n < 0)
        return caret__fail_errno(CARET_E_IO, "%s: shared segment %s: cannot be read", e->path, path);
    if (file_size < sizeof *seen || n != (ssize_t)sizeof *seen)
        return caret__fail(CARET_E_CORRUPT, foreign, e->path, path, "size");
    if (seen->magic != CARET__SEG_MAGIC)
        return caret__fail(CARET_E_CORRUPT, foreign, e->path, path, "magic number");
    if (seen->signature != caret__layout_signature())
        return caret__fail(
            CARET_E_VERSION,
            "%s: in use by another build of the library, whose shared memory is laid out otherwise", e->path);
    if (memcmp(seen->uuid, id->uuid, 16) != 0 || seen->dev != id->dev || seen->ino != id->ino)
        return caret__fail(CARET_E_CORRUPT, foreign, e->path, path, "identity");
    if (seen->max_pages < MIN_PAGES || seen->max_pages > CARET__MAX_PAGES || seen->max_slots < MIN_SLOTS ||
        seen->max_slots > CARET__ARENA_SLOTS_MAX || seen->max_slots % 64 != 0)
        return caret__fail(CARET_E_CORRUPT, foreign, e->path, path, "limits");
    copy_sizes(sizes, seen);
    if (memcmp(&sizes->seg_size, &seen->seg_size,
               offsetof(struct caret__shared, generation) - offsetof(struct caret__shared, seg_size)) != 0 ||
        sizes->seg_size != file_size)
        return caret__fail(CARET_E_CORRUPT, foreign, e->path, path, "offsets");
    if (atomic_load(&seen->nslots) > sizes->max_slots || atomic_load(&seen->ptab_pages) > sizes->max_pages ||
        atomic_load(&seen->undo_cap) > sizes->undo_max || atomic_load(&seen->ts.npages) > sizes->max_pages)
        return caret__fail(CARET_E_CORRUPT, foreign, e->path, path, "allocated sizes");
    return CARET_OK;
}

static int cannot_use(const struct caret__engine *e, int code, const char *path)
{
    return caret__fail_errno(code, "%s: shared segment %s", e->path, path);
}

static int open_segment(struct caret__engine *e, const struct caret__identity *id, const char *path,
                        struct caret__shared *sizes)
{
    struct stat st;

    bool open = caret__fd_set(
        &e->shm_fd,
        caret__open_high(path, (e->observes ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0));
    if (!open && errno == ENOENT)
        return CARET_NONE;
    if (!open ||
        fstat(caret__fd(&e->shm_fd), &st) != 0) { /* what fails now is not a sign that it is out of reach */
        bool reach = open || (errno != EACCES && errno != EPERM && errno != ELOOP && errno != ENOTDIR);
        return cannot_use(e, reach ? CARET_E_SYSTEM : CARET_E_SHM, path);
    }
    if (!e->observes &&
        (st.st_mode & 0777 & ~id->mode) != 0) { /* the data file's were taken back meanwhile */
        caret__rights_follow(e);
        if (fstat(caret__fd(&e->shm_fd), &st) != 0)
            return cannot_use(e, CARET_E_SYSTEM, path);
    }
    if (!rights_ok(&st, id))
        return caret__fail(CARET_E_SHM,
                           "%s: shared segment %s: its owner or mode is not the data file's: if that was "
                           "changed, change this file too, or open the database as its owner",
                           e->path, path);
    int held = hold(e);
    for (int i = 0; i < HOLD_TRIES && held == 0; i++, held = hold(e))
        caret__nap(1000000);
    if (held < 0)
        return cannot_use(e, CARET_E_SYSTEM, path);
    return verify(e, id, path, sizes, (uint64_t)st.st_size);
}

int caret__segment_attach(struct caret__engine *e, const struct caret__identity *id, const char *path)
{
    struct caret__shared *sizes = calloc(2, sizeof *sizes); /* too large for a small stack */
    int rc;

    e->seg_path = strdup(path);
    if (sizes == NULL || e->seg_path == NULL)
        rc = caret__fail(CARET_E_NOMEM, "%s: no memory to open it", e->path);
    else
        rc = open_segment(e, id, path, sizes);
    if (rc == CARET_OK)
        rc = map_segment(e, sizes);
    if (rc == CARET_OK) {
        point_into(e);
        rc = caret__file_map(e);
    }
    free(sizes);
    if (rc != CARET_OK)
        caret__segment_close(e);
    return rc;
}

/* ----------------------------------------------------------------- sweeping */

void caret__segment_sweep(const struct caret__identity *id, const char *dir, const char *keep)
{
    char prefix[32], path[4096];
    struct dirent *entry;
    DIR *d;

    dir = dir != NULL ? dir : CARET__SEG_DIR;
    d = opendir(dir);
    if (d == NULL)
        return;
    snprintf(prefix, sizeof prefix, "caret-%016llx-", (unsigned long long)name_hash(id));
    while ((entry = readdir(d)) != NULL) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        const char *base = keep != NULL ? strrchr(keep, '/') : NULL;
        if (base != NULL && strcmp(base + 1, entry->d_name) == 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) < (int)sizeof path)
            unlink(path);
    }
    closedir(d);
}
