/*
 * manager.c - systemd: manager.h.
 */
#include "server/manager.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/worker.h"

static struct {
    struct sockaddr_un to; /* sun_family 0: nobody is to be told */
    socklen_t len;
    int nsockets;
    char names[512];      /* of the sockets, with a ':' between */
    int64_t milliseconds; /* of the watchdog; 0: none */
} manager;

/* Of a variable that counts for this process alone; 0: there is none. */
static int64_t number_for_us(const char *name, const char *pid_name)
{
    const char *value = getenv(name), *pid = getenv(pid_name);
    if (value == NULL || (pid != NULL && strtol(pid, NULL, 10) != getpid()))
        return 0;
    int64_t n = strtoll(value, NULL, 10);
    return n > 0 ? n : 0;
}

static void find_socket(const char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;
    if (len < 2 || len >= sizeof manager.to.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(manager.to.sun_path, path, len);
    if (*path == '@') /* a name without a file */
        manager.to.sun_path[0] = 0;
    manager.to.sun_family = AF_UNIX;
    manager.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void serve__manager_begin(void)
{
    static const char *const names[] = {"NOTIFY_SOCKET",  "LISTEN_PID",    "LISTEN_FDS",
                                        "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID"};
    find_socket(getenv("NOTIFY_SOCKET"));
    manager.milliseconds = number_for_us("WATCHDOG_USEC", "WATCHDOG_PID") / 1000;
    int64_t n = getenv("LISTEN_PID") != NULL ? number_for_us("LISTEN_FDS", "LISTEN_PID") : 0;
    manager.nsockets = n < SERVE__LISTENERS_MAX ? (int)n : SERVE__LISTENERS_MAX;
    const char *text = getenv("LISTEN_FDNAMES");
    snprintf(manager.names, sizeof manager.names, "%s", text != NULL ? text : "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

void serve__manager_tell(const char *format, ...)
{
    char text[256];
    va_list args;
    if (manager.to.sun_family == 0)
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || n < 0)
        return;
    size_t len = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (sendto(fd, text, len, MSG_NOSIGNAL, (struct sockaddr *)&manager.to, manager.len) < 0)
        serve__log("the manager of services can't be told: %s", text);
    close(fd);
}

void serve__manager_hand_over(void)
{
    char text[sizeof manager.to.sun_path + 1] = "";
    memcpy(text, manager.to.sun_path, sizeof manager.to.sun_path);
    if (manager.to.sun_family != 0 && *text == 0)
        *text = '@';
    if (manager.to.sun_family != 0)
        setenv("NOTIFY_SOCKET", text, 1);
    snprintf(text, sizeof text, "%lld", (long long)manager.milliseconds * 1000);
    if (manager.milliseconds != 0)
        setenv("WATCHDOG_USEC", text, 1);
}

/* ------------------------------------------------------------------ sockets */

int serve__manager_sockets(void)
{
    for (int fd = SERVE__MANAGER_FIRST; fd < SERVE__MANAGER_FIRST + manager.nsockets; fd++) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    return manager.nsockets;
}

static bool is_named_tls(int fd)
{
    const char *name = manager.names;
    for (int i = SERVE__MANAGER_FIRST; i < fd && name != NULL; i++)
        name = (name = strchr(name, ':')) != NULL ? name + 1 : NULL;
    return name != NULL && strncmp(name, "tls", 3) == 0 && (name[3] == ':' || name[3] == 0);
}

enum serve__way serve__manager_way(const struct serve__shared *s, int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &len);
    if (a.ss_family == AF_UNIX)
        return SERVE__WAY_UNIX;
    int port = ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                             : ((struct sockaddr_in *)&a)->sin_port);
    long tls = strtol(s->config[SERVE__CFG_tls_port], NULL, 10);
    return tls != 0 && (port == tls || is_named_tls(fd)) ? SERVE__WAY_TLS : SERVE__WAY_TCP;
}

/* ----------------------------------------------------------------- watchdog */

int serve__manager_wait(void)
{
    if (manager.milliseconds == 0)
        return -1;
    return manager.milliseconds < 120000 ? (int)manager.milliseconds / 2 : 60000;
}

void serve__manager_watch(const struct serve__shared *s)
{
    int64_t now = serve__now();
    for (int i = 0; i < s->nworkers; i++) {
        int64_t turned = (int64_t)s->stats[i].turned;
        if (turned != 0 && now - turned > manager.milliseconds) {
            serve__log("worker %d had no turn for %d ms: the watchdog is not told", i, (int)(now - turned));
            return;
        }
    }
    serve__manager_tell("WATCHDOG=1");
}
