/*
 * check.h - findings of the _check functions, collected as text.
 */
#ifndef CARET_PAGE_CHECK_H
#define CARET_PAGE_CHECK_H

#include "page/page.h"

/* Append a line to report, which is cut at cap and always NUL-terminated. */
__attribute__((format(printf, 3, 4))) void caret__report(char *report, size_t cap, const char *fmt, ...);

#endif
