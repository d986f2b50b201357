/*
 * protected.c - commands that Redis refuses unless its configuration allows them: DEBUG, and those that load
 * modules; and parameters that CONFIG SET leaves alone.
 */
#include <arpa/inet.h>

#include "server/dispatch.h"
#include "server/worker.h"

enum { NO, YES, LOCAL }; /* as in config.def */

/* Does it come from this machine, as Redis sees it: by a unix socket, or from the first of the loopback addresses? */
static bool is_local(const struct serve__conn *c)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof from;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from;
    if (c->flags & SERVE__CONN_UNIX)
        return true;
    if (getpeername(c->source.fd, (struct sockaddr *)&from, &len) != 0)
        return false;
    return (from.ss_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK)) ||
           (from.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
}

bool serve__protected_allows(int64_t allowed, const struct serve__conn *c)
{
    return allowed == YES || (allowed == LOCAL && is_local(c));
}

bool serve__protected_refuses(struct serve__call *q)
{
    bool debug = q->cmd->run == serve__cmd_debug;
    if (!debug && q->cmd->run != serve__cmd_module_load && q->cmd->run != serve__cmd_module_loadex &&
        q->cmd->run != serve__cmd_module_unload)
        return false;
    int64_t allowed =
        q->w->config.n[debug ? SERVE__CFG_enable_debug_command : SERVE__CFG_enable_module_command];
    if (serve__protected_allows(allowed, q->c))
        return false;
    serve__reject(q,
                  "ERR %s command not allowed. If the %s option is set to \"local\", you can run it from a "
                  "local connection, otherwise you need to set this option in the configuration file, and "
                  "then restart the server.",
                  debug ? "DEBUG" : "MODULE", debug ? "enable-debug-command" : "enable-module-command");
    return true;
}
