/*
 * How busy the machine is: what every limit of time in the tests is measured by, so that it tells what hangs from what
 * waits for its turn.
 */
#ifndef CARET_TEST_SUPPORT_CROWD_H
#define CARET_TEST_SUPPORT_CROWD_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many threads want to run or wait for a disk, for each processor, now or in the last minute: 1 at least.
 * /proc/loadavg begins with the average of a minute, two others, and "running/all threads". */
static inline double crowd(void)
{
    char line[100];
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    if (fd >= 0)
        close(fd);
    line[len > 0 ? len : 0] = 0;
    char *slash = strchr(line, '/');
    while (slash != NULL && slash > line && slash[-1] != ' ')
        slash--;
    double now = slash != NULL ? strtod(slash, NULL) : 1, minute = strtod(line, NULL);
    double each = (now > minute ? now : minute) / (double)(processors > 0 ? processors : 1);
    return each > 1 ? each : 1;
}

/* SIGALRM after so many seconds of a machine that is one's own; 0: none. */
static inline void patience(unsigned seconds)
{
    alarm((unsigned)(seconds * crowd()));
}

/* Waits until that is so; a minute without it is the end. */
#define UNTIL(condition)                                                                                     \
    do {                                                                                                     \
        patience(60);                                                                                        \
        while (!(condition))                                                                                 \
            usleep(1000);                                                                                    \
        patience(0);                                                                                         \
    } while (0)

#endif
