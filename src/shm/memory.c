/*
 * memory.c - how much memory there is for us.
 *
 * The least of what these say:
 *
 *   /proc/meminfo                       MemAvailable: what could be had without swapping
 *   control groups, version 2           memory.max less memory.current, of the group named "0::" in
 *                                       /proc/self/cgroup and of each above it
 *   version 1                           memory.limit_in_bytes less memory.usage_in_bytes, of the group
 *                                       of the controller "memory"
 *
 * What a group uses counts the page cache, most of which can be had: so inactive_file of
 * its memory.stat is not counted as used.  In a container the files of its group may lie at the root of the
 * mount, whatever /proc says, so that is looked at too.  What can't be read says nothing.
 */
#include "shm/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define PATH_BYTES 1024
#define LITTLE     (UINT64_C(16) << 20) /* arbitrary; to ask takes a tenth of a millisecond */
#define FOLDER     "/sys/fs/cgroup"

/* The number after `name` at the beginning of a line; name "": the first number of the file.  false: there is none. */
static bool number_in(const char *path, const char *name, uint64_t *number)
{
    char line[256];
    bool found = false;
    FILE *f = fopen(path, "re");

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found =
            strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%" SCNu64, number) == 1;
    if (f != NULL)
        fclose(f);
    return found;
}

static bool number_of(const char *folder, const char *file, const char *name, uint64_t *number)
{
    char path[PATH_BYTES + 64];

    snprintf(path, sizeof path, "%s/%s", folder, file);
    return number_in(path, name, number);
}

/* What a group leaves. */
static uint64_t left_in(const char *folder, const char *limit, const char *usage)
{
    uint64_t most, used, cache = 0;

    if (!number_of(folder, limit, "", &most) || !number_of(folder, usage, "", &used))
        return UINT64_MAX;
    (void)number_of(folder, "memory.stat", "inactive_file ", &cache);
    used -= caret__min64(used, cache);
    return most > used ? most - used : 0;
}

/* Of a group and those above it; `folder` is used up, `keep` bytes of it are where the groups are mounted. */
static uint64_t left_upwards(char *folder, size_t keep, const char *limit, const char *usage)
{
    uint64_t least = UINT64_MAX;

    for (;;) {
        least = caret__min64(least, left_in(folder, limit, usage));
        char *slash = strrchr(folder, '/');
        if (slash == NULL || strlen(folder) <= keep)
            return least;
        *(slash >= folder + keep ? slash : folder + keep) = '\0';
    }
}

/* The group of one line of /proc/self/cgroup, NUMBER:CONTROLLERS:PATH. */
static uint64_t left_of_line(const char *root, char *line)
{
    char folder[PATH_BYTES], *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

    if (path == NULL)
        return UINT64_MAX;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    bool second = controllers[1] == '\0';
    if (!second && strstr(controllers + 1, "memory") == NULL)
        return UINT64_MAX;
    int keep = snprintf(folder, sizeof folder, "%s%s", root, second ? FOLDER : FOLDER "/memory");
    if (keep < 0 || (size_t)snprintf(folder + keep, sizeof folder - (size_t)keep, "%s", path) >=
                        sizeof folder - (size_t)keep)
        return UINT64_MAX;
    return left_upwards(folder, (size_t)keep, second ? "memory.max" : "memory.limit_in_bytes",
                        second ? "memory.current" : "memory.usage_in_bytes");
}

static uint64_t left_in_groups(const char *root)
{
    char line[PATH_BYTES];
    uint64_t least = UINT64_MAX;

    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *f = fopen(line, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        least = caret__min64(least, left_of_line(root, line));
    if (f != NULL)
        fclose(f);
    return least;
}

uint64_t caret__memory_available(const char *root)
{
    char path[PATH_BYTES];
    uint64_t kib;

    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t here = number_in(path, "MemAvailable:", &kib) ? kib << 10 : UINT64_MAX;
    return caret__min64(here, left_in_groups(root));
}

bool caret__memory_has(uint64_t bytes)
{
    return bytes <= LITTLE || bytes + bytes / 8 <= caret__memory_available("");
}
