/*
 * meta.h - the meta slots and the bitmap images of the data file.
 */
#ifndef CARET_LOG_META_H
#define CARET_LOG_META_H

#include <stdbool.h>

#include "shm/engine.h"

/*
 * The format that is written.  What is closed cleanly can be read by CARET__FORMAT_CLEAN and later; else a log belongs
 * to it, and that may have what only later ones understand.
 *   2: the log may have kills of ranges (CARET__OP_RANGE)
 */
#define CARET__FORMAT       2u
#define CARET__FORMAT_CLEAN 1u
#define CARET__META_SPACING 16384u /* bytes from one slot to the other */
#define CARET__META_CLEAN   1u     /* flag: no log is needed */
#define CARET__META_ASKED   2u     /* flag: somebody asked for this log_size: it stays */
#define CARET__META_LONGER  4u     /* flag: log_size was chosen by us (log/lengthen.c) */
#define CARET__FIRST_LSN    4096u  /* of a new database; 0 is not an LSN, and 8 bytes lie before each */

/* A meta slot: what a checkpoint says about the tree.  512 bytes, one sector: written whole or not. */
struct caret__meta {
    char magic[8];       /*   0: "CARETDB\n" */
    uint32_t format;     /*   8: version of the format it was written in */
    uint32_t min_reader; /*  12: oldest version that can read it */
    uint32_t page_size;  /*  16 */
    uint32_t flags;      /*  20: CARET__META_* */
    uint8_t uuid[16];    /*  24: of the database, made at creation */
    uint32_t epoch;      /*  40: of the checkpoint; slot epoch & 1 */
    uint32_t generation; /*  44: of the log; mixed into its chain */
    uint64_t lsn;        /*  48: the log from here on is not in the pages */
    uint64_t chain_seed; /*  56: the 8 bytes before lsn in the log */
    uint64_t log_base;   /*  64: LSN x lies at (x - log_base) mod log_size */
    uint64_t log_size;   /*  72 */
    uint32_t root;       /*  80 */
    uint32_t depth;      /*  84 */
    uint32_t npages;     /*  88 */
    uint32_t has_runs;   /*  92 */
    uint64_t nodes;      /*  96: 0 = not counted */
    uint64_t created;    /* 104: nanoseconds since 1970 */
    uint8_t spare[396];  /* 112 */
    uint32_t crc;        /* 508: crc32c of the bytes before */
};

/* What the two slots say together. */
struct caret__meta_pair {
    struct caret__meta meta; /* the newest good one */
    /* a damaged slot claims to be as new as this LSN: the log must reach it; 0 = none is damaged */
    uint64_t reach;
    bool older; /* what can be read of the damaged one is of the checkpoint before */
};

/* Read and check both slots.  FOREIGN, VERSION, CORRUPT, IO. */
int caret__meta_read(int fd, const char *path, uint64_t file_size, struct caret__meta_pair *pair);

/* Where a slot has its epoch, with the generation of the log after it: 8 bytes that every checkpoint changes. */
#define CARET__META_WORD 40u

/* CORRUPT: the newest slot is damaged, and the other one is not enough. */
int caret__meta_newest_damaged(const char *path);

/* Write a slot (crc is filled in); the caller syncs.  CARET_OK, or IO / DISKFULL with a message. */
int caret__meta_write(int fd, const char *path, struct caret__meta *m);

/* The meta slot of the frozen epoch (sh->frozen), for the checkpoint; I/O errors are final. */
int caret__meta_write_frozen(struct caret__engine *e, bool clean);

/* The bitmap images of an epoch for all page numbers below npages, from CARET__MAP_IMAGE; the same. */
int caret__images_write(struct caret__engine *e, uint32_t epoch, uint32_t npages);

/* Read the images of an epoch into CARET__MAP_FREE: CORRUPT names the page. *count: bits set. */
int caret__images_read(struct caret__engine *e, uint32_t epoch, uint32_t npages, uint32_t *count);

/* One slot, for salvage: is it good and of a format that this build reads? */
bool caret__meta_slot(int fd, unsigned slot, struct caret__meta *m);

/* An image page, for salvage: is it the one of that group, and of which epoch?  Is page i of the group free? */
bool caret__image_good(const uint8_t *page, uint32_t pgno, uint32_t group, uint32_t *epoch);
bool caret__image_bit(const uint8_t *page, uint32_t i);

/* Fill one image page of `epoch` for group `group` from bits (words of the whole map). */
void caret__image_fill(uint8_t *page, uint32_t epoch, uint32_t group, const _Atomic uint64_t *map,
                       uint32_t npages);

/* Where the image of a group lies. */
static inline uint32_t caret__image_pgno(uint32_t epoch, uint32_t group)
{
    return group * CARET__GROUP_PAGES + (group == 0 ? CARET__FIRST_PAGE : 0) + (epoch & 1u);
}

/* Where the log lies, as the meta slot of that epoch is to say; the flags for it (CARET__META_ASKED, _LONGER). */
uint32_t caret__log_place(const struct caret__shared *sh, uint32_t epoch, uint64_t *base, uint64_t *size);

#endif
