/*
 * background.c - daemonize, logfile and pidfile: background.h.
 */
#include "server/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/takeover.h"

static bool yes(const struct serve__shared *s, int i)
{
    return strcasecmp(s->config[i], "yes") == 0;
}

static bool log_to(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        serve__log("%s: %s", path, strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

/* Another process goes on, without a terminal. */
static bool leave(struct serve__shared *s)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid > 0)
        _exit(0);
    int fd = pid == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || setsid() < 0 || dup2(fd, STDIN_FILENO) < 0) {
        serve__log("daemonize: %s", strerror(errno));
        return false;
    }
    close(fd);
    s->supervisor = getpid();
    return true;
}

bool serve__background_begin(struct serve__shared *s)
{
    const char *path = s->config[SERVE__CFG_logfile];
    bool daemonize = yes(s, SERVE__CFG_daemonize);
    if (daemonize && !serve__is_takeover() && !leave(s))
        return false;
    if (*path == 0 && !daemonize)
        return true;
    return log_to(*path != 0 ? path : "/dev/null");
}

static const char *pidfile(const struct serve__shared *s)
{
    const char *path = s->config[SERVE__CFG_pidfile];
    return *path == 0 && yes(s, SERVE__CFG_daemonize) ? "/var/run/redis.pid" : path;
}

void serve__background_ready(const struct serve__shared *s)
{
    const char *path = pidfile(s);
    FILE *f = *path != 0 ? fopen(path, "we") : NULL;
    if (f != NULL) {
        fprintf(f, "%d\n", (int)s->supervisor);
        fclose(f);
    } else if (*path != 0) {
        serve__log("%s: %s", path, strerror(errno));
    }
}

/* Unless another server has written it meanwhile. */
void serve__background_end(const struct serve__shared *s)
{
    const char *path = pidfile(s);
    int pid = 0;
    FILE *f = *path != 0 ? fopen(path, "re") : NULL;
    if (f == NULL)
        return;
    bool ours = fscanf(f, "%d", &pid) == 1 && pid == (int)s->supervisor;
    fclose(f);
    if (ours)
        unlink(path);
}
