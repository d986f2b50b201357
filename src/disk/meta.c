/*
 * meta.c - what the data file says about itself: meta slots, bitmap images.
 *
 *     byte 0        meta slot of even epochs      (struct caret__meta, 512 bytes used)
 *     byte 16 KiB   meta slot of odd epochs
 *     byte 32 KiB   page CARET__FIRST_PAGE: bitmap image of group 0, even epochs
 *                   the next page: the same, odd epochs
 *                   pages of the tree, values out of line
 *                   ...
 *     page g * CARET__GROUP_PAGES, and the next: the images of group g
 *
 * A checkpoint of epoch e writes the images and the slot of parity e & 1, and
 * never touches those of e - 1: at any moment one slot is good and all that it
 * refers to is on the disk.  An image page is
 *
 *     | u32 crc | u32 pgno | u32 epoch | u32 group | 16 spare | bits, 1 = free |
 *
 * Reading believes nothing: magic, crc, versions, sizes against the file's
 * length, page numbers against the number of pages.  Of two good slots the newer
 * counts.  When one is damaged, it may be the newer one, torn while it was written
 * (then the log goes on from the older), or one that rotted after the log before
 * it was overwritten (then data is lost, and that must not pass in silence).  Its
 * LSN tells: the log must reach at least as far (`reach`), else it is an error.
 */

#include "disk/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"
#include "shm/fail.h"
#include "shm/write.h"

static const char magic[8] = "CARETDB\n";

_Static_assert(sizeof(struct caret__meta) == 512, "meta slot");
_Static_assert(offsetof(struct caret__meta, epoch) == 40, "meta slot");
_Static_assert(offsetof(struct caret__meta, root) == 80, "meta slot");
_Static_assert(offsetof(struct caret__meta, created) == 104, "meta slot");
_Static_assert(offsetof(struct caret__meta, crc) == 508, "meta slot");
_Static_assert((CARET__PAGE_SIZE - 32u) % 8 == 0, "an image holds whole words");

/* ------------------------------------------------------------------ slots */

enum verdict { SLOT_GOOD, SLOT_EMPTY, SLOT_BAD };

static bool all_zero(const void *p, size_t n)
{
    const uint8_t *b = p;

    while (n > 0 && b[n - 1] == 0)
        n--;
    return n == 0;
}

static uint32_t meta_crc(const struct caret__meta *m)
{
    return caret__crc32c(0, m, offsetof(struct caret__meta, crc));
}

/* pread all of it; what is after the end of the file reads as zero. */
static int read_at(int fd, const char *path, void *buf, size_t len, uint64_t off)
{
    uint8_t *p = buf;

    while (len > 0) {
        ssize_t n = pread(fd, p, len, (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return caret__fail_errno(CARET_E_IO, "%s: cannot read %zu bytes at %llu", path, len,
                                     (unsigned long long)off);
        if (n == 0) {
            memset(p, 0, len);
            return CARET_OK;
        }
        p += n;
        len -= (size_t)n;
        off += (uint64_t)n;
    }
    return CARET_OK;
}

static int read_slot(int fd, const char *path, unsigned slot, struct caret__meta *m, enum verdict *verdict)
{
    int rc = read_at(fd, path, m, sizeof *m, slot * CARET__META_SPACING);

    if (rc != CARET_OK)
        return rc;
    if (all_zero(m, sizeof *m))
        *verdict = SLOT_EMPTY;
    else if (memcmp(m->magic, magic, sizeof magic) != 0 || m->crc != meta_crc(m) || (m->epoch & 1u) != slot)
        *verdict = SLOT_BAD;
    else
        *verdict = SLOT_GOOD;
    return CARET_OK;
}

static const char *nonsense(const struct caret__meta *m, uint64_t file_size)
{
    if ((uint64_t)m->npages * CARET__PAGE_SIZE > file_size)
        return "the file is shorter than its number of pages: it was cut off";
    if (m->npages > CARET__MAX_PAGES || m->npages < CARET__FIRST_PAGE + 3)
        return "the number of pages makes no sense";
    if (m->root >= m->npages || caret__pgno_reserved(m->root))
        return "the number of the root page makes no sense";
    if (m->depth < 1 || m->depth > CARET__MAX_DEPTH)
        return "the depth of the tree makes no sense";
    if (m->lsn < CARET__FIRST_LSN || m->lsn % 8 != 0 || m->epoch == 0)
        return "its log position or epoch makes no sense";
    if ((m->flags & CARET__META_CLEAN) == 0 && (m->log_size < CARET__LOG_LEAST || m->log_size % 65536 != 0 ||
                                                m->log_size > CARET__LOG_MAX || m->log_base > m->lsn))
        return "the size of its log makes no sense";
    return NULL;
}

/* A slot with a right crc: is it for us, and does it make sense? */
static int check(const struct caret__meta *m, const char *path, uint64_t file_size)
{
    const char *wrong;

    if (m->min_reader > CARET__FORMAT)
        return caret__fail(CARET_E_VERSION,
                           "%s: written by a newer version: format %u, readable from %u on, this is %u", path,
                           m->format, m->min_reader, CARET__FORMAT);
    if (m->page_size != CARET__PAGE_SIZE)
        return caret__fail(CARET_E_VERSION, "%s: its pages have %u bytes, this build uses %u", path,
                           m->page_size, CARET__PAGE_SIZE);
    wrong = nonsense(m, file_size);
    if (wrong != NULL)
        return caret__fail(CARET_E_CORRUPT, "%s: page %u (meta slot): %s", path,
                           (m->epoch & 1u) * CARET__META_SPACING / CARET__PAGE_SIZE, wrong);
    return CARET_OK;
}

int caret__meta_read(int fd, const char *path, uint64_t file_size, struct caret__meta_pair *pair)
{
    struct caret__meta m[2];
    enum verdict v[2];
    struct stat st;
    int rc = read_slot(fd, path, 0, &m[0], &v[0]);

    if (rc == CARET_OK)
        rc = read_slot(fd, path, 1, &m[1], &v[1]);
    if (rc != CARET_OK)
        return rc;
    if (v[0] != SLOT_GOOD && v[1] != SLOT_GOOD) {
        bool ours = memcmp(m[0].magic, magic, 8) == 0 || memcmp(m[1].magic, magic, 8) == 0;
        return ours ? caret__fail(CARET_E_CORRUPT, "%s: pages 0 and %u (meta slots): both are damaged", path,
                                  CARET__META_SPACING / CARET__PAGE_SIZE)
                    : caret__fail(CARET_E_FOREIGN, "%s: not a Caret database", path);
    }
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size > file_size) /* it grew, and then a slot was written */
        file_size = (uint64_t)st.st_size;
    unsigned best = v[0] != SLOT_GOOD || (v[1] == SLOT_GOOD && m[1].epoch > m[0].epoch);
    if (v[!best] == SLOT_EMPTY) /* creation writes both: it may have been the newer one */
        return caret__fail(CARET_E_CORRUPT,
                           "%s: page %u (meta slot): nothing but zeros, where a checkpoint was", path,
                           !best * CARET__META_SPACING / CARET__PAGE_SIZE);
    pair->meta = m[best];
    pair->reach = v[!best] == SLOT_BAD ? caret__max64(m[!best].lsn, 1) : 0;
    pair->older = m[!best].epoch + 1 == m[best].epoch && m[!best].lsn <= m[best].lsn;
    return check(&pair->meta, path, file_size);
}

int caret__meta_newest_damaged(const char *path)
{
    return caret__fail(CARET_E_CORRUPT, "%s: page 0 or %u (meta slots): the newest one is damaged", path,
                       CARET__META_SPACING / CARET__PAGE_SIZE);
}

bool caret__meta_slot(int fd, unsigned slot, struct caret__meta *m)
{
    enum verdict v;
    struct stat st;

    return fstat(fd, &st) == 0 && read_slot(fd, "", slot, m, &v) == CARET_OK && v == SLOT_GOOD &&
           m->min_reader <= CARET__FORMAT && m->page_size == CARET__PAGE_SIZE &&
           nonsense(m, UINT64_MAX) == NULL;
}

static void meta_seal(struct caret__meta *m)
{
    memcpy(m->magic, magic, sizeof m->magic);
    m->format = CARET__FORMAT;
    m->min_reader = (m->flags & CARET__META_CLEAN) != 0 ? CARET__FORMAT_CLEAN : CARET__FORMAT;
    m->page_size = CARET__PAGE_SIZE;
    m->crc = meta_crc(m);
}

int caret__meta_write(int fd, const char *path, struct caret__meta *m)
{
    meta_seal(m);
    errno = caret__file_write(fd, m, sizeof *m, (m->epoch & 1u) * CARET__META_SPACING);
    if (errno == 0)
        return CARET_OK;
    return caret__fail_errno(caret__write_code(errno), "%s: cannot write its meta slot", path);
}

uint32_t caret__log_place(const struct caret__shared *sh, uint32_t epoch, uint64_t *base, uint64_t *size)
{
    uint64_t next = atomic_load(&sh->log_next_size);
    bool planned = next != 0 && epoch >= sh->log_next_epoch;

    *base = planned ? sh->log_next_base : atomic_load(&sh->log_base);
    *size = planned ? next : atomic_load(&sh->log_size);
    return planned ? CARET__META_LONGER : atomic_load(&sh->log_kind);
}

int caret__meta_write_frozen(struct caret__engine *e, bool clean)
{
    const struct caret__shared *sh = e->sh;
    const struct caret__frozen *f = &sh->frozen;
    struct caret__meta m;
    int error;

    memset(&m, 0, sizeof m);
    memcpy(m.uuid, sh->uuid, sizeof m.uuid);
    m.epoch = f->epoch;
    m.generation = sh->generation;
    m.lsn = f->lsn;
    m.chain_seed = f->chain_seed;
    m.flags = caret__log_place(sh, f->epoch, &m.log_base, &m.log_size) | (clean ? CARET__META_CLEAN : 0);
    m.root = f->root;
    m.depth = f->depth;
    m.npages = f->npages;
    m.has_runs = f->has_runs;
    m.nodes = f->nodes;
    m.created = sh->created;
    meta_seal(&m);
    e->meta_written = true;
    error = caret__file_write(caret__fd(&e->data_fd), &m, sizeof m, (m.epoch & 1u) * CARET__META_SPACING);
    return error == 0 ? CARET_OK : caret__io_failed(e, error, "writing a meta slot");
}

/* ----------------------------------------------------------------- images */

#define IMAGE_HEAD  32u
#define GROUP_WORDS (CARET__GROUP_PAGES / 64u)
_Static_assert(CARET__GROUP_PAGES % 64 == 0, "groups consist of whole words");

struct image_head {
    uint32_t crc; /* of the bytes after it */
    uint32_t pgno;
    uint32_t epoch;
    uint32_t group;
    uint8_t spare[16];
};
_Static_assert(sizeof(struct image_head) == IMAGE_HEAD, "head of an image page");

static uint32_t image_crc(const uint8_t *page)
{
    return caret__crc32c(0, page + 4, CARET__PAGE_SIZE - 4);
}

/* Bits of a word that stand for page numbers below npages. */
static uint64_t word_mask(uint64_t word, uint32_t npages)
{
    uint64_t first = word * 64;

    if (first + 64 <= npages)
        return UINT64_MAX;
    return first >= npages ? 0 : (UINT64_C(1) << (npages - first)) - 1;
}

void caret__image_fill(uint8_t *page, uint32_t epoch, uint32_t group, const _Atomic uint64_t *map,
                       uint32_t npages)
{
    struct image_head head = {.pgno = caret__image_pgno(epoch, group), .epoch = epoch, .group = group};
    uint64_t first = (uint64_t)group * GROUP_WORDS;

    memcpy(page, &head, sizeof head);
    for (uint64_t i = 0; i < GROUP_WORDS; i++) {
        uint64_t mask = word_mask(first + i, npages);
        uint64_t word = mask != 0 ? atomic_load_explicit(&map[first + i], memory_order_relaxed) & mask : 0;
        caret__put_le64(page + IMAGE_HEAD + i * 8, word);
    }
    head.crc = image_crc(page);
    memcpy(page, &head.crc, sizeof head.crc);
}

static uint32_t groups(uint32_t npages)
{
    return (npages + CARET__GROUP_PAGES - 1) / CARET__GROUP_PAGES;
}

int caret__images_write(struct caret__engine *e, uint32_t epoch, uint32_t npages)
{
    uint64_t page[CARET__PAGE_SIZE / 8];

    for (uint32_t g = 0; g < groups(npages); g++) {
        caret__image_fill((uint8_t *)page, epoch, g, e->pg.maps[CARET__MAP_IMAGE], npages);
        int error = caret__file_write(caret__fd(&e->data_fd), page, sizeof page,
                                      (uint64_t)caret__image_pgno(epoch, g) * CARET__PAGE_SIZE);
        if (error != 0)
            return caret__io_failed(e, error, "writing the free-space bitmap");
        CARET_FAULT("image_written");
    }
    return CARET_OK;
}

/* The bits of a group go into the free map; reserved numbers are never free. */
static uint32_t take_group(struct caret__engine *e, const uint8_t *page, uint32_t group, uint32_t npages)
{
    _Atomic uint64_t *map = e->pg.maps[CARET__MAP_FREE];
    uint64_t first = (uint64_t)group * GROUP_WORDS;
    uint32_t count = 0;

    for (uint64_t i = 0; i < GROUP_WORDS && word_mask(first + i, npages) != 0; i++) {
        uint64_t word = caret__le64(page + IMAGE_HEAD + i * 8) & word_mask(first + i, npages);
        for (uint32_t bit = 0; i < 2 && bit < 64; bit++) { /* reserved ones are the first of a group */
            if (caret__pgno_reserved((uint32_t)((first + i) * 64) + bit))
                word &= ~(UINT64_C(1) << bit);
        }
        count += (uint32_t)__builtin_popcountll(word);
        atomic_store_explicit(&map[first + i], word, memory_order_relaxed);
    }
    return count;
}

bool caret__image_good(const uint8_t *page, uint32_t pgno, uint32_t group, uint32_t *epoch)
{
    struct image_head head;

    memcpy(&head, page, sizeof head);
    *epoch = head.epoch;
    return head.crc == image_crc(page) && head.pgno == pgno && head.group == group;
}

bool caret__image_bit(const uint8_t *page, uint32_t i)
{
    return (caret__le64(page + IMAGE_HEAD + i / 64 * 8) >> i % 64 & 1u) != 0;
}

int caret__images_read(struct caret__engine *e, uint32_t epoch, uint32_t npages, uint32_t *count)
{
    uint64_t page[CARET__PAGE_SIZE / 8];
    struct image_head head;

    *count = 0;
    for (uint32_t g = 0; g < groups(npages); g++) {
        uint32_t pgno = caret__image_pgno(epoch, g);
        int rc =
            read_at(caret__fd(&e->data_fd), e->path, page, sizeof page, (uint64_t)pgno * CARET__PAGE_SIZE);
        if (rc != CARET_OK)
            return rc;
        memcpy(&head, page, sizeof head);
        if (head.crc != image_crc((uint8_t *)page) || head.pgno != pgno || head.epoch != epoch ||
            head.group != g)
            return caret__fail(CARET_E_CORRUPT, "%s: page %u (free-space bitmap) is damaged", e->path, pgno);
        *count += take_group(e, (uint8_t *)page, g, npages);
    }
    return CARET_OK;
}
