/*
 * absent.c - what this server has not: a cluster, modules, replicas, MIGRATE.  The answers are those of Redis without
 * them.
 */
#include "server/dispatch.h"
#include "server/multi.h"
#include "server/worker.h"

static bool writes(const struct serve__call *q)
{
    const struct serve__queue *u = q->c != NULL ? q->c->queue : NULL;
    bool does = q->cmd->flags & SERVE__WRITE;
    for (size_t i = 0; q->cmd->run == serve__cmd_exec && u != NULL && i < u->n; i++)
        does |= (u->command[i].cmd->flags & SERVE__WRITE) != 0;
    return does;
}

bool serve__replicas_refuse(struct serve__call *q)
{
    if (q->w->config.n[SERVE__CFG_min_replicas_to_write] == 0 || !writes(q))
        return false;
    serve__reject(q, "NOREPLICAS Not enough good replicas to write.");
    return true;
}

static int no_cluster(struct serve__call *q)
{
    return serve__fail(q, "ERR This instance has cluster support disabled");
}

#define NO_CLUSTER(name)                                                                                     \
    int serve__cmd_##name(struct serve__call *q)                                                             \
    {                                                                                                        \
        return no_cluster(q);                                                                                \
    }

NO_CLUSTER(asking)
NO_CLUSTER(readonly)
NO_CLUSTER(readwrite)
NO_CLUSTER(cluster_addslots)
NO_CLUSTER(cluster_addslotsrange)
NO_CLUSTER(cluster_bumpepoch)
NO_CLUSTER(cluster_count_failure_reports)
NO_CLUSTER(cluster_countkeysinslot)
NO_CLUSTER(cluster_delslots)
NO_CLUSTER(cluster_delslotsrange)
NO_CLUSTER(cluster_failover)
NO_CLUSTER(cluster_flushslots)
NO_CLUSTER(cluster_forget)
NO_CLUSTER(cluster_getkeysinslot)
NO_CLUSTER(cluster_help)
NO_CLUSTER(cluster_info)
NO_CLUSTER(cluster_keyslot)
NO_CLUSTER(cluster_links)
NO_CLUSTER(cluster_meet)
NO_CLUSTER(cluster_myid)
NO_CLUSTER(cluster_nodes)
NO_CLUSTER(cluster_replicas)
NO_CLUSTER(cluster_replicate)
NO_CLUSTER(cluster_reset)
NO_CLUSTER(cluster_saveconfig)
NO_CLUSTER(cluster_set_config_epoch)
NO_CLUSTER(cluster_setslot)
NO_CLUSTER(cluster_shards)
NO_CLUSTER(cluster_slaves)
NO_CLUSTER(cluster_slots)

int serve__cmd_module_list(struct serve__call *q)
{
    return serve__array(q, 0);
}

static int no_module(struct serve__call *q)
{
    return serve__fail(q, "ERR modules are not supported by this server");
}

int serve__cmd_module_load(struct serve__call *q)
{
    return no_module(q);
}

int serve__cmd_module_loadex(struct serve__call *q)
{
    return no_module(q);
}

int serve__cmd_module_unload(struct serve__call *q)
{
    return no_module(q);
}

int serve__cmd_module_help(struct serve__call *q)
{
    static const char *const lines[] = {"MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                                        "LIST",
                                        "    Return a list of loaded modules: none, this server loads none.",
                                        "HELP",
                                        "    Print this help.",
                                        NULL};
    return serve__help(q, lines);
}

int serve__cmd_migrate(struct serve__call *q)
{
    return serve__fail(
        q, "ERR MIGRATE is not supported by this server: DUMP and RESTORE, or redis-cli --pipe, take keys "
           "elsewhere");
}
