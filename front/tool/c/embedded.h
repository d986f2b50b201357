/*
 * The files inside the tool: its own Lua files, those of the modules caret and yottadb, and the 3n+1 job with
 * the programs of its rivals (bench/3n1), put into a table by the build (cmake/embed.cmake), so that the tool
 * runs from any folder without an installation.
 */
#ifndef CARET_EMBEDDED_H
#define CARET_EMBEDDED_H

#include <stddef.h>

struct caret__embedded {
    const char *name;          /* the module with slashes: "tool/cmd/get.lua", "3n1/job.lua" */
    const unsigned char *data; /* the file's bytes, followed by a NUL */
    size_t len;                /* without the NUL */
};

/* Sorted by name, ends with a NULL name. */
extern const struct caret__embedded caret__embedded[];

#endif
