/*
 * info.c - INFO: what the server tells about itself, summed over all workers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "server/admin/measure.h"
#include "server/admin/process.h"
#include "server/admin/rates.h"
#include "server/dispatch.h"
#include "server/keys/evict.h"
#include "server/meet/pubsub.h"
#include "server/worker.h"

static void add_server(struct serve__call *q, struct serve__buffer *b)
{
    struct utsname u = {0};
    uint64_t up = (uint64_t)time(NULL) - q->w->shared->started;
    uname(&u);
    serve__buffer_print(
        b,
        "redis_version:%s\r\ncaret_version:%s\r\nredis_git_sha1:00000000\r\nredis_git_dirty:0\r\n"
        "redis_build_id:0\r\nredis_mode:standalone\r\nos:%s %s %s\r\narch_bits:64\r\n"
        "monotonic_clock:POSIX clock_gettime\r\nmultiplexing_api:epoll\r\natomicvar_api:c11-builtin\r\n"
        "gcc_version:%d.%d.%d\r\n",
        SERVE__REDIS_VERSION, caret_version(), u.sysname, u.release, u.machine, __GNUC__, __GNUC_MINOR__,
        __GNUC_PATCHLEVEL__);
    serve__buffer_print(
        b,
        "process_id:%d\r\nprocess_supervised:no\r\nrun_id:%s\r\ntcp_port:%s\r\nserver_time_usec:%" PRId64
        "\r\nuptime_in_seconds:%" PRIu64 "\r\nuptime_in_days:%" PRIu64
        "\r\nhz:%s\r\nconfigured_hz:%s\r\nlru_clock:%" PRIu64 "\r\nexecutable:caret-server\r\n"
        "config_file:%s\r\nio_threads_active:0\r\nworker:%d\r\nworkers:%d\r\nworker_restarts:%" PRIu64 "\r\n",
        (int)q->w->shared->supervisor, q->w->shared->run_id, q->w->config.text[SERVE__CFG_port],
        q->now * 1000, up, up / 86400, q->w->config.text[SERVE__CFG_hz], q->w->config.text[SERVE__CFG_hz],
        (uint64_t)(q->now / 1000) & 0xffffff, q->w->shared->config_file, q->w->index, q->w->shared->nworkers,
        (uint64_t)q->w->shared->restarts);
}

static void add_clients(struct serve__call *q, struct serve__buffer *b)
{
    serve__buffer_print(b,
                        "connected_clients:%" PRIu64 "\r\ncluster_connections:0\r\nmaxclients:%" PRId64
                        "\r\nclient_recent_max_input_buffer:0\r\nclient_recent_max_output_buffer:0\r\n"
                        "blocked_clients:%" PRIu64 "\r\ntracking_clients:%" PRIu64
                        "\r\nclients_in_timeout_table:0\r\n",
                        SERVE__SUM(q->w->shared, connections), q->w->config.n[SERVE__CFG_maxclients],
                        SERVE__SUM(q->w->shared, waiting) + SERVE__SUM(q->w->shared, paused),
                        SERVE__SUM(q->w->shared, trackers));
}

/* "1.50M", as Redis writes bytes for people. */
static const char *human(char text[32], uint64_t bytes)
{
    static const char units[] = "BKMGTP";
    double d = (double)bytes;
    int i = 0;
    while (d >= 1024 && i < 5) {
        d /= 1024;
        i++;
    }
    snprintf(text, 32, i == 0 ? "%.0f%c" : "%.2f%c", d, units[i]);
    return text;
}

/* Fields that Redis has, and of which there is nothing here. */
static void add_zeros(struct serve__buffer *b, const char *names)
{
    for (int len; *names != 0; names += len + strspn(names + len, " ")) {
        len = (int)strcspn(names, " ");
        serve__buffer_print(b, "%.*s:0\r\n", len, names);
    }
}

/* Scripts that workers were given are the children of ^redisL. */
static uint64_t count_scripts(struct serve__call *q)
{
    caret_node_buf n;
    uint64_t count = 0;
    int rc = caret_node_var(&n.node, sizeof n, "^redisL", 7);
    if (rc == CARET_OK)
        rc = caret_node_child(&n.node, sizeof n, &n.node, "", 0);
    while (rc == CARET_OK && (rc = caret_next(q->s, &n.node)) == CARET_OK)
        count++;
    return count;
}

static void add_memory(struct serve__call *q, struct serve__buffer *b)
{
    int64_t libraries = 0, functions = 0;
    if (serve__functions_count != NULL)
        serve__functions_count(q, &libraries, &functions);
    char text[5][32];
    caret_stats s = {.size = sizeof s};
    caret_stat(q->w->db, &s);
    uint64_t used = serve__memory_used(q->w), most = (uint64_t)q->w->config.n[SERVE__CFG_maxmemory];
    uint64_t resident = serve__process_memory(q->w->shared), peak = q->w->shared->peak;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    serve__buffer_print(
        b,
        "used_memory:%" PRIu64 "\r\nused_memory_human:%s\r\nused_memory_rss:%" PRIu64
        "\r\nused_memory_rss_human:%s\r\nused_memory_peak:%" PRIu64
        "\r\nused_memory_peak_human:%s\r\nused_memory_peak_perc:%.2f%%\r\nused_memory_dataset:%" PRIu64
        "\r\ntotal_system_memory:%" PRIu64 "\r\ntotal_system_memory_human:%s\r\nused_memory_lua:0\r\n"
        "used_memory_scripts:0\r\nnumber_of_cached_scripts:%" PRIu64 "\r\nnumber_of_functions:%" PRId64
        "\r\nnumber_of_libraries:%" PRId64 "\r\nmaxmemory:%s\r\nmaxmemory_human:%s\r\nmaxmemory_policy:%s\r\n"
        "mem_fragmentation_ratio:1.00\r\nmem_not_counted_for_evict:0\r\nmem_clients_normal:0\r\n"
        "mem_allocator:libc\r\n"
        "active_defrag_running:0\r\nlazyfree_pending_objects:0\r\nlazyfreed_objects:0\r\n"
        "file_bytes:%" PRIu64 "\r\n",
        used, human(text[0], used), resident, human(text[3], resident), peak, human(text[1], peak),
        peak > 0 ? 100.0 * (double)used / (double)peak : 0.0, (s.pages - s.free_pages) * 4096, machine,
        human(text[4], machine), count_scripts(q), functions, libraries,
        q->w->config.text[SERVE__CFG_maxmemory], human(text[2], most),
        q->w->config.text[SERVE__CFG_maxmemory_policy], s.pages * 4096);
    add_zeros(b, "used_memory_overhead used_memory_startup used_memory_vm_eval used_memory_scripts_eval "
                 "used_memory_vm_functions used_memory_vm_total used_memory_functions allocator_allocated "
                 "allocator_active allocator_resident allocator_frag_bytes allocator_rss_bytes "
                 "rss_overhead_bytes mem_fragmentation_bytes mem_total_replication_buffers "
                 "mem_replication_backlog mem_clients_slaves mem_cluster_links mem_aof_buffer");
    serve__buffer_print(b, "used_memory_dataset_perc:100.00%%\r\nused_memory_lua_human:0B\r\n"
                           "used_memory_vm_total_human:0B\r\nused_memory_scripts_human:0B\r\n"
                           "allocator_frag_ratio:1.00\r\nallocator_rss_ratio:1.00\r\n"
                           "rss_overhead_ratio:1.00\r\n");
}

static void add_persistence(struct serve__call *q, struct serve__buffer *b)
{
    uint64_t durable = 0, committed = 0;
    caret_durable(q->w->db, &durable, &committed);
    serve__buffer_print(
        b,
        "loading:0\r\nasync_loading:0\r\ncurrent_cow_peak:0\r\nrdb_changes_since_last_save:%" PRIu64
        "\r\nrdb_bgsave_in_progress:0\r\nrdb_last_save_time:%" PRIu64
        "\r\nrdb_last_bgsave_status:ok\r\nrdb_last_bgsave_time_sec:0\r\n"
        "rdb_current_bgsave_time_sec:-1\r\nrdb_saves:%" PRIu64 "\r\naof_enabled:1\r\n"
        "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\naof_last_rewrite_time_sec:-1\r\n"
        "aof_current_rewrite_time_sec:-1\r\naof_last_bgrewrite_status:ok\r\n"
        "aof_last_write_status:ok\r\naof_last_cow_size:0\r\nlog_committed:%" PRIu64 "\r\nlog_durable:%" PRIu64
        "\r\nlog_syncs:%" PRIu64 "\r\n",
        SERVE__SUM(q->w->shared, dirty) - q->w->shared->saved_dirty, (uint64_t)q->w->shared->saved,
        (uint64_t)q->w->shared->saves, committed, durable, SERVE__SUM(q->w->shared, syncs));
    add_zeros(b, "current_cow_size current_cow_size_age current_save_keys_processed current_save_keys_total "
                 "rdb_last_cow_size rdb_last_load_keys_expired rdb_last_load_keys_loaded aof_rewrites "
                 "aof_rewrites_consecutive_failures module_fork_in_progress module_fork_last_cow_size");
    serve__buffer_print(b, "current_fork_perc:0.00\r\n");
}

static void add_stats(struct serve__call *q, struct serve__buffer *b)
{
    struct serve__shared *s = q->w->shared;
    struct serve__rates r = serve__rates_now(s, q->now);
    serve__buffer_print(
        b,
        "total_connections_received:%" PRIu64 "\r\ntotal_commands_processed:%" PRIu64
        "\r\ninstantaneous_ops_per_sec:%.0f\r\ntotal_net_input_bytes:%" PRIu64
        "\r\ntotal_net_output_bytes:%" PRIu64 "\r\ninstantaneous_input_kbps:%.2f\r\n"
        "instantaneous_output_kbps:%.2f\r\nrejected_connections:%" PRIu64
        "\r\nsync_full:0\r\nsync_partial_ok:0\r\nsync_partial_err:0\r\nexpired_keys:%" PRIu64
        "\r\nexpired_stale_perc:0.00\r\nexpired_time_cap_reached_count:0\r\nevicted_keys:%" PRIu64
        "\r\nevicted_clients:%" PRIu64 "\r\nkeyspace_hits:%" PRIu64 "\r\nkeyspace_misses:%" PRIu64
        "\r\npubsub_channels:%" PRIu64 "\r\npubsub_patterns:%" PRIu64 "\r\npubsubshard_channels:%" PRIu64
        "\r\nmail_dropped:%" PRIu64 "\r\nlatest_fork_usec:0\r\n"
        "total_forks:0\r\ntracking_total_keys:%" PRIu64 "\r\ntracking_total_items:%" PRIu64
        "\r\ntracking_total_prefixes:%" PRIu64
        "\r\nunexpected_error_replies:0\r\ntotal_error_replies:%" PRIu64
        "\r\ntotal_reads_processed:0\r\ntotal_writes_processed:0\r\n",
        SERVE__SUM(s, accepted), SERVE__SUM(s, commands), r.commands, SERVE__SUM(s, bytes_in),
        SERVE__SUM(s, bytes_out), r.in / 1024, r.out / 1024, SERVE__SUM(s, refused),
        SERVE__SUM(s, expired_keys), SERVE__SUM(s, evicted_keys), SERVE__SUM(s, evicted_clients),
        SERVE__SUM(s, hits), SERVE__SUM(s, misses), serve__topics_count(q, SERVE__CHANNEL),
        serve__topics_count(q, SERVE__PATTERN), serve__topics_count(q, SERVE__SHARD),
        SERVE__SUM(s, mail_dropped), SERVE__SUM(s, tracked_keys), SERVE__SUM(s, tracked_items),
        SERVE__SUM(s, tracked_prefixes), SERVE__SUM(s, errors));
    add_zeros(b, "total_net_repl_input_bytes total_net_repl_output_bytes expire_cycle_cpu_milliseconds "
                 "total_eviction_exceeded_time current_eviction_exceeded_time migrate_cached_sockets "
                 "slave_expires_tracked_keys active_defrag_hits active_defrag_misses active_defrag_key_hits "
                 "active_defrag_key_misses total_active_defrag_time current_active_defrag_time "
                 "dump_payload_sanitizations io_threaded_reads_processed io_threaded_writes_processed "
                 "reply_buffer_shrinks reply_buffer_expands");
    serve__buffer_print(b, "instantaneous_input_repl_kbps:0.00\r\ninstantaneous_output_repl_kbps:0.00\r\n");
}

static void add_replication(struct serve__call *q, struct serve__buffer *b)
{
    serve__buffer_print(
        b,
        "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\nmaster_replid:%s\r\n"
        "master_replid2:0000000000000000000000000000000000000000\r\nmaster_repl_offset:0\r\n"
        "second_repl_offset:-1\r\nrepl_backlog_active:0\r\nrepl_backlog_size:1048576\r\n"
        "repl_backlog_first_byte_offset:0\r\nrepl_backlog_histlen:0\r\n",
        q->w->shared->run_id);
}

/* Of all workers. */
static void add_cpu(struct serve__call *q, struct serve__buffer *b)
{
    double user, kernel;
    serve__process_time(q->w->shared, &user, &kernel);
    serve__buffer_print(b,
                        "used_cpu_sys:%.6f\r\nused_cpu_user:%.6f\r\nused_cpu_sys_children:0.000000\r\n"
                        "used_cpu_user_children:0.000000\r\nused_cpu_sys_main_thread:%.6f\r\n"
                        "used_cpu_user_main_thread:%.6f\r\n",
                        kernel, user, kernel, user);
}

static void add_modules(struct serve__call *q, struct serve__buffer *b)
{
    (void)q;
    (void)b;
}

static void add_commandstats(struct serve__call *q, struct serve__buffer *b)
{
    struct serve__shared *s = q->w->shared;
    for (unsigned i = 0; i < serve__ncommands; i++) {
        uint64_t calls = SERVE__SUM(s, command[i].calls), rejected = SERVE__SUM(s, command[i].rejected);
        uint64_t us = SERVE__SUM(s, command[i].nanoseconds) / 1000;
        if (calls + rejected > 0)
            serve__buffer_print(b,
                                "cmdstat_%s:calls=%" PRIu64 ",usec=%" PRIu64
                                ",usec_per_call=%.2f,rejected_calls=%" PRIu64 ",failed_calls=%" PRIu64 "\r\n",
                                serve__commands[i].full, calls, us,
                                calls > 0 ? (double)us / (double)calls : 0.0, rejected,
                                SERVE__SUM(s, command[i].failed));
    }
}

static void add_errorstats(struct serve__call *q, struct serve__buffer *b)
{
    const struct serve__measures *m = q->w->shared->measures;
    for (uint64_t i = 0; i < m->nerrors; i++)
        if (m->error[i].count > 0)
            serve__buffer_print(b, "errorstat_%s:count=%" PRIu64 "\r\n", m->error[i].name,
                                (uint64_t)m->error[i].count);
}

/* latency-tracking-info-percentiles of each command, in microseconds. */
static void add_latencystats(struct serve__call *q, struct serve__buffer *b)
{
    static struct caret_codec__latency sum;
    struct serve__shared *s = q->w->shared;
    for (unsigned i = 0; i < serve__ncommands && q->w->config.n[SERVE__CFG_latency_tracking]; i++) {
        if (SERVE__SUM(s, command[i].calls) == 0)
            continue;
        memset(&sum, 0, sizeof sum);
        for (int k = 0; k < s->nworkers; k++)
            caret_codec__latency_add(&sum, serve__histogram(s, k, i));
        serve__buffer_print(b, "latency_percentiles_usec_%s:", serve__commands[i].full);
        const char *at = q->w->config.text[SERVE__CFG_latency_tracking_info_percentiles];
        char *end;
        for (double p = strtod(at, &end); end != at; at = end, p = strtod(at, &end)) {
            uint64_t ns = caret_codec__latency_percentile(&sum, p);
            serve__buffer_print(b, "%sp%.6g=%.3f", b->data[b->len - 1] == ':' ? "" : ",", p,
                                (double)ns / 1000);
        }
        serve__buffer_print(b, "\r\n");
    }
}

static void add_cluster(struct serve__call *q, struct serve__buffer *b)
{
    (void)q;
    serve__buffer_print(b, "cluster_enabled:0\r\n");
}

static void add_keyspace(struct serve__call *q, struct serve__buffer *b)
{
    for (unsigned db = 0; db < SERVE__DATABASES; db++) {
        struct serve__keys_count n;
        if (serve__count_keys(q, db, &n) == CARET_OK && n.all > 0)
            serve__buffer_print(b, "db%u:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=%.0f\r\n", db, n.all,
                                n.expire, n.expire > 0 ? n.ttl / (double)n.expire : 0);
    }
}

/* In the order of INFO; `extra`: only if asked for by name, or by "all". */
static const struct section {
    const char *name, *title;
    void (*add)(struct serve__call *q, struct serve__buffer *b);
    bool extra;
} sections[] = {{"server", "Server", add_server, false},
                {"clients", "Clients", add_clients, false},
                {"memory", "Memory", add_memory, false},
                {"persistence", "Persistence", add_persistence, false},
                {"stats", "Stats", add_stats, false},
                {"replication", "Replication", add_replication, false},
                {"cpu", "CPU", add_cpu, false},
                {"modules", "Modules", add_modules, false},
                {"commandstats", "Commandstats", add_commandstats, true},
                {"errorstats", "Errorstats", add_errorstats, false},
                {"latencystats", "Latencystats", add_latencystats, true},
                {"cluster", "Cluster", add_cluster, false},
                {"keyspace", "Keyspace", add_keyspace, false}};

static bool wanted(struct serve__call *q, const struct section *s)
{
    if (q->argc == 1)
        return !s->extra;
    for (int i = 1; i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        if (serve__is(word, s->name) || serve__is(word, "all") || serve__is(word, "everything") ||
            (serve__is(word, "default") && !s->extra))
            return true;
    }
    return false;
}

int serve__cmd_info(struct serve__call *q)
{
    struct serve__buffer *b = &q->r->work;
    b->len = 0;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (wanted(q, &sections[i])) {
            serve__buffer_print(b, "%s# %s\r\n", b->len > 0 ? "\r\n" : "", sections[i].title);
            sections[i].add(q, b);
        }
    return serve__verbatim(q, "txt", b->data, b->len);
}
