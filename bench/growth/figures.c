/* figures.c - times of calls, bytes written, sizes of files. */
#include "figures.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

uint64_t ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void note(struct times *t, uint64_t took)
{
    unsigned octave = 63u - (unsigned)__builtin_clzll(took | STEPS);

    t->n++;
    t->count[octave * STEPS + (took >> (octave - 4) & (STEPS - 1))]++;
    if (took > t->longest)
        t->longest = took;
}

double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double longest_ms(const struct times *t)
{
    return t->n != 0 ? (double)t->longest * 1e-6 : -1;
}

double most_ms(const struct times *t)
{
    uint64_t above = t->n / 100000, seen = 0;

    for (unsigned i = 64 * STEPS; i-- > 0;) {
        seen += t->count[i];
        if (seen > above)
            return (double)((STEPS + i % STEPS + 1) << (i / STEPS - 4)) * 1e-6;
    }
    return -1;
}

double disk_written(const char *folder)
{
    unsigned long long sectors = 0;
    struct stat st;
    char line[512];
    FILE *f = fopen("/proc/diskstats", "r");

    if (f == NULL || stat(folder, &st) != 0)
        return 0;
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned major, minor;
        unsigned long long written;
        if (sscanf(line, "%u %u %*s %*u %*u %*u %*u %*u %*u %llu", &major, &minor, &written) == 3 &&
            major == major(st.st_dev) && minor == minor(st.st_dev))
            sectors = written;
    }
    fclose(f);
    return (double)sectors * 512;
}

double proc_number(const char *path, const char *name)
{
    char line[256];
    double v = 0;
    FILE *f = fopen(path, "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            v = strtod(line + strlen(name), NULL);
    if (f != NULL)
        fclose(f);
    return v;
}

struct sizes folder_sizes(const char *folder)
{
    struct sizes s = {0};
    struct dirent *entry;
    struct stat st;
    DIR *d = opendir(folder);

    while (d != NULL && (entry = readdir(d)) != NULL)
        if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode)) {
            s.length += (double)st.st_size;
            s.takes += (double)st.st_blocks * 512;
        }
    if (d != NULL)
        closedir(d);
    return s;
}

void folder_remove(const char *folder)
{
    struct dirent *entry;
    DIR *d = opendir(folder);

    while (d != NULL && (entry = readdir(d)) != NULL)
        unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        closedir(d);
    rmdir(folder);
}
