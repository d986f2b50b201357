/*
 * write.h - writing to files and allocating in them.
 */
#ifndef CARET_SHM_WRITE_H
#define CARET_SHM_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest file that this process may write (ulimit -f); UINT64_MAX: any. */
uint64_t caret__file_size_limit(void);

/* May this process make a file so long (ulimit -f)?  Trying would raise a signal. */
bool caret__file_size_allowed(uint64_t bytes);

/* Write all of it at an offset: 0 or an errno.  EFBIG: the process may not write so far into a file. */
int caret__file_write(int fd, const void *buf, size_t len, uint64_t off);

/* Allocate [off, off + len) in pieces of at most `piece` bytes: 0 or an errno.  Beyond the end of the file only what
 * caret__file_size_allowed() has allowed. */
int caret__file_allocate(int fd, uint64_t off, uint64_t len, uint64_t piece);

/* The same for what others may take and write to meanwhile: where the file system does not allocate nothing
 * is done, while the C library would write zeros then. */
int caret__file_allocate_ahead(int fd, uint64_t off, uint64_t len, uint64_t piece);

/* The outcome for an errno of these: CARET_E_DISKFULL or CARET_E_IO. */
int caret__write_code(int error);

#endif
