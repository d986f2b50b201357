/*
 * process.c - process.h, from /proc.
 */
#include "server/admin/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *open_of(struct serve__shared *s, int worker, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/%s", (uint64_t)s->stats[worker].pid, name);
    return s->stats[worker].pid != 0 ? fopen(path, "re") : NULL;
}

/* "RssAnon:   123 kB": to *n, as bytes. */
static void field(const char *line, const char *name, uint64_t *n)
{
    uint64_t kib;
    size_t len = strlen(name);
    if (strncmp(line, name, len) == 0 && sscanf(line + len, " %" SCNu64, &kib) == 1)
        *n = kib * 1024;
}

uint64_t serve__process_memory(struct serve__shared *s)
{
    uint64_t own = 0, most = 0;
    for (int i = 0; i < s->nworkers; i++) {
        uint64_t anonymous = 0, of_files = 0, of_memory = 0;
        char line[256];
        FILE *f = open_of(s, i, "status");
        while (f != NULL && fgets(line, sizeof line, f) != NULL) {
            field(line, "RssAnon:", &anonymous);
            field(line, "RssFile:", &of_files);
            field(line, "RssShmem:", &of_memory);
        }
        if (f != NULL)
            fclose(f);
        own += anonymous;
        most = of_files + of_memory > most ? of_files + of_memory : most;
    }
    return own + most;
}

void serve__process_time(struct serve__shared *s, double *user, double *kernel)
{
    double ticks = (double)sysconf(_SC_CLK_TCK);
    *user = *kernel = 0;
    for (int i = 0; i < s->nworkers; i++) {
        char line[1024];
        uint64_t in_user, in_kernel;
        FILE *f = open_of(s, i, "stat");
        const char *at = f != NULL && fgets(line, sizeof line, f) != NULL ? strrchr(line, ')') : NULL;
        if (at != NULL && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
                                 &in_user, &in_kernel) == 2) {
            *user += (double)in_user / ticks;
            *kernel += (double)in_kernel / ticks;
        }
        if (f != NULL)
            fclose(f);
    }
}
