/*
 * wake.c - what sleeping until something changes costs.
 *
 *   wake-up   from before a set in one process until a process that slept in caret_wait() for it goes on
 *   hand-over there and back: two processes, each sleeping until the other has set a node
 *   asleep    processor time of the waiter while nothing happens
 *   beside    a set of one node over and over: nobody waits; somebody waits for another node; for a node below it
 *
 * wake [-n SETS] [-r RUNS] [--json]: the file is made in /tmp.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define WAKES     500
#define HANDS     5000
#define MOST_RUNS 20

static char path[100];
static int sets = 2000000;

struct user {
    caret_db *db;
    caret_session *s;
};

static struct user attach(void)
{
    struct user u;

    must(caret_open(path, &(caret_options){.size = sizeof(caret_options), .sync = CARET_SYNC_OFF}, &u.db),
         "open");
    must(caret_session_open(u.db, &u.s), "session");
    return u;
}

static void leave(struct user u)
{
    caret_session_close(u.s);
    caret_close(u.db);
}

static caret_node_buf node_of(const char *name)
{
    caret_node_buf n;

    must(caret_node_var(&n.node, sizeof n, name, strlen(name)), "node");
    return n;
}

static uint64_t place_of(struct user u)
{
    uint64_t place;

    must(caret_durable(u.db, NULL, &place), "place");
    return place;
}

/* The value of a node, once it is not what it was. */
static double await_change(struct user u, caret_node_buf *n, double was)
{
    for (;;) {
        uint64_t place = place_of(u);
        caret_slice v;
        double is = was;
        if (caret_get(u.s, &n->node, &v) == CARET_OK)
            memcpy(&is, v.data, sizeof is);
        if (is != was)
            return is;
        must(caret_wait(u.s, &n->node, place, CARET_FOREVER), "wait");
    }
}

static void tell(struct user u, caret_node_buf *n, double what)
{
    must(caret_set(u.s, &n->node, &what, sizeof what), "set");
}

/* Median microseconds of a wake-up: each set tells when it began. */
static double wake_up(void)
{
    static double us[WAKES];
    caret_node_buf ping = node_of("^ping"), seen = node_of("^seen");
    pid_t pid = fork();
    struct user u = attach();

    if (pid == 0) {
        for (int i = 0; i < WAKES; i++) {
            usleep(1000); /* the other one sleeps by then */
            tell(u, &ping, now());
            await_change(u, &seen, i);
        }
        leave(u);
        _exit(0);
    }
    double last = 0;
    for (int i = 0; i < WAKES; i++) {
        last = await_change(u, &ping, last);
        us[i] = (now() - last) * 1e6;
        tell(u, &seen, i + 1);
    }
    waitpid(pid, NULL, 0);
    tell(u, &ping, 0);
    tell(u, &seen, 0);
    leave(u);
    return median(us, WAKES);
}

/* Microseconds of one way. */
static double hand_over(void)
{
    caret_node_buf ping = node_of("^to"), pong = node_of("^fro");
    pid_t pid = fork();
    struct user u = attach();

    if (pid == 0) {
        for (double i = 1; i <= HANDS; i++) {
            await_change(u, &ping, i - 1);
            tell(u, &pong, i);
        }
        leave(u);
        _exit(0);
    }
    double begin = now();
    for (double i = 1; i <= HANDS; i++) {
        tell(u, &ping, i);
        await_change(u, &pong, i - 1);
    }
    double us = (now() - begin) * 1e6 / (2 * HANDS);
    waitpid(pid, NULL, 0);
    tell(u, &ping, 0);
    tell(u, &pong, 0);
    leave(u);
    return us;
}

/* Milliseconds of a processor for each second of sleep. */
static double asleep(void)
{
    caret_node_buf n = node_of("^nothing");
    struct rusage before, after;
    struct user u = attach();

    getrusage(RUSAGE_THREAD, &before);
    caret_wait(u.s, &n.node, CARET_LOG_END, UINT64_C(3000000000));
    getrusage(RUSAGE_THREAD, &after);
    leave(u);
    double us = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
                         before.ru_stime.tv_sec) *
                    1e6 +
                (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                         before.ru_stime.tv_usec);
    return us / 1000 / 3;
}

/* Nanoseconds of a set, while another process waits for `waited`; NULL: nobody does. */
static double set_beside(const char *waited)
{
    caret_node_buf hot = node_of("^hot");
    pid_t pid = waited != NULL ? fork() : 0;
    struct user u = attach();

    if (waited != NULL && pid == 0) {
        caret_node_buf n = node_of(waited);
        for (;;)
            caret_wait(u.s, &n.node, place_of(u), CARET_FOREVER);
    }
    usleep(20000);
    double begin = now();
    for (int i = 0; i < sets; i++)
        must(caret_set(u.s, &hot.node, "0123456789", 10), "set");
    double ns = (now() - begin) * 1e9 / sets;
    if (waited != NULL) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    leave(u);
    return ns;
}

static void remove_it(void)
{
    char name[120];

    unlink(path);
    snprintf(name, sizeof name, "%s-lock", path);
    unlink(name);
}

int main(int argc, char **argv)
{
    double v[6][MOST_RUNS], m[6];
    unsigned runs = 5;
    int json = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            sets = atoi(argv[++i]);
        else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
            runs = (unsigned)atoi(argv[++i]);
    }
    sets = sets < 1 ? 1 : sets;
    runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : runs;
    snprintf(path, sizeof path, "/tmp/caret-wake-%d.caret", (int)getpid());
    for (unsigned r = 0; r < runs; r++) {
        v[0][r] = wake_up();
        v[1][r] = hand_over();
        v[2][r] = asleep();
        v[3][r] = set_beside(NULL);
        v[4][r] = set_beside("^other");
        v[5][r] = set_beside("^hot");
    }
    remove_it();
    for (int i = 0; i < 6; i++)
        m[i] = median(v[i], runs);
    if (json)
        printf("{\"work\":\"wake-up\",\"us\":%.1f,\"hand_over_us\":%.1f,\"bar_us\":100}\n"
               "{\"work\":\"asleep\",\"cpu_ms_per_s\":%.3f}\n"
               "{\"work\":\"set beside a waiter\",\"alone_ns\":%.1f,\"for_another_ns\":%.1f,"
               "\"for_it_ns\":%.1f}\n",
               m[0], m[1], m[2], m[3], m[4], m[5]);
    else
        printf("wake-up %.1f us (bar 100), hand-over %.1f us; asleep: %.3f ms of a processor a second\n"
               "a set: %.1f ns while nobody waits, %.1f while somebody waits for another node, %.1f for it\n",
               m[0], m[1], m[2], m[3], m[4], m[5]);
    return 0;
}
