/* What bench/growth asks of a system: a file each, a table of functions.  They end the program at the first error. */
#ifndef CARET_BENCH_GROWTH_STORE_H
#define CARET_BENCH_GROWTH_STORE_H

#include <stddef.h>
#include <stdint.h>

struct store {
    const char *name;
    void (*open)(const char *folder, uint64_t bytes); /* to have about so many bytes of keys and values */
    void (*set)(uint32_t k, const void *val, size_t len);
    size_t (*get)(uint32_t k); /* length of the value */
    void (*remove)(uint32_t k);
    uint64_t (*scan)(void); /* nodes seen, their values read */
    void (*close)(void);
    /* What not all have is NULL. */
    void (*check)(void);
    void (*backup)(const char *to);                      /* an empty folder */
    void (*compact)(const char *folder, uint64_t bytes); /* it is not open, and is not afterwards */
};

extern const struct store growth_caret, growth_lmdb, growth_sqlite, growth_rocksdb;

/* Say which system failed at what, and end. */
_Noreturn void die(const char *what, const char *why);

/* name below folder; lasts until the second call from now. */
const char *in_folder(const char *folder, const char *name);

#endif
