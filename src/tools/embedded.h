/*
 * The Lua files inside the tool: everything below src/lua and src/tools, put
 * into a table by the build (cmake/embed.cmake), so that the tool runs from any
 * folder without an installation.
 */
#ifndef CARET_EMBEDDED_H
#define CARET_EMBEDDED_H

#include <stddef.h>

struct caret__embedded {
    const char *name;          /* path relative to src/, e.g. "tools/3n1.lua" */
    const unsigned char *data; /* the file's bytes, followed by a NUL */
    size_t len;                /* without the NUL */
};

/* Sorted by name, ends with a NULL name. */
extern const struct caret__embedded caret__embedded[];

#endif
