/*
 * measure.c - the Lua module caret.measure: operations timed one by one, for percentiles.
 *
 * Times are counted as an HdrHistogram does (http://hdrhistogram.org): exactly up to 63 ns, and in 32 steps for each
 * power of two above, so that any percentile is right to 3 % and a histogram is a small array which others
 * can be added to.  What asking the clock costs is measured first and taken off each time.
 *
 * Operations are made through caret.h by this file, or are a Lua function called from here.
 */
#include "tool/c/measure.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>

#include "caret.h"
#include "tool/c/host.h"

#define EXACT   64u /* nanoseconds that have a bucket of their own */
#define STEPS   32u /* for each power of two above */
#define BUCKETS (EXACT + 58u * STEPS)

struct histogram {
    uint64_t count[BUCKETS];
};

static unsigned bucket_of(uint64_t ns)
{
    if (ns < EXACT)
        return (unsigned)ns;
    unsigned power = 63u - (unsigned)__builtin_clzll(ns); /* 6 or more */
    return EXACT + (power - 6u) * STEPS + (unsigned)(ns >> (power - 5u)) - STEPS;
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned bucket)
{
    if (bucket < EXACT)
        return bucket;
    unsigned power = (bucket - EXACT) / STEPS + 6u, step = (bucket - EXACT) % STEPS;
    return ((uint64_t)(STEPS + step) << (power - 5u)) + ((uint64_t)1 << (power - 5u)) / 2;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What asking the clock costs: the least of many. */
static uint64_t clock_cost(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 2000; i++) {
        uint64_t a = now(), d = now() - a;
        least = d < least ? d : least;
    }
    return least;
}

static void record(struct histogram *h, uint64_t begin, uint64_t cost)
{
    uint64_t ns = now() - begin;
    h->count[bucket_of(ns > cost ? ns - cost : 0)]++;
}

/* A table {[nanoseconds] = count}. */
static void push_histogram(lua_State *L, const struct histogram *h)
{
    lua_newtable(L);
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (h->count[i] == 0)
            continue;
        lua_pushinteger(L, (lua_Integer)h->count[i]);
        lua_rawseti(L, -2, (lua_Integer)value_of(i));
    }
}

/* calls(function, count) -> histogram: of f(1), f(2), ... */
static int measure_calls(lua_State *L)
{
    lua_Integer count = luaL_checkinteger(L, 2);
    struct histogram *h = memset(lua_newuserdata(L, sizeof *h), 0, sizeof *h);
    uint64_t cost = clock_cost();

    for (lua_Integer i = 1; i <= count; i++) {
        uint64_t begin = now();
        lua_pushvalue(L, 1);
        lua_pushinteger(L, i);
        lua_call(L, 1, 0);
        record(h, begin, cost);
    }
    push_histogram(L, h);
    return 1;
}

/* -------------------------------------------------------------- the database */

struct user {
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
};

static void close_user(struct user *u)
{
    caret_session_close(u->s);
    caret_close(u->db);
}

/* An operation failed, or the user wants an end. */
static int fail(lua_State *L, struct user *u, const char *what)
{
    if (caret__interrupted != 0) {
        close_user(u);
        return caret__host_stop(L);
    }
    lua_pushfstring(L, "%s: %s", what, caret_fact());
    close_user(u);
    return lua_error(L);
}

/* The database at index 1, and a node ^name(1). */
static void open_user(lua_State *L, struct user *u, const char *name, int sync)
{
    caret_options options = {.size = sizeof options, .sync = sync};
    memset(u, 0, sizeof *u);
    if (caret_open(luaL_checkstring(L, 1), &options, &u->db) != CARET_OK)
        luaL_error(L, "%s", caret_fact());
    if (caret_session_open(u->db, &u->s) != CARET_OK ||
        caret_node_var(&u->n.node, sizeof u->n, name, strlen(name)) != CARET_OK ||
        caret_node_child_int(&u->n.node, sizeof u->n, &u->n.node, 1) != CARET_OK)
        fail(L, u, "open");
}

/* A number that follows from i alone, spread over all (splitmix64). */
static uint64_t spread(uint64_t i)
{
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    return i ^ (i >> 31);
}

/* ---------------------------------------------------------- single operations */

enum { SEQUENTIAL_SET, RANDOM_GET, RANDOM_UPDATE, GET, SET, NEXT, INCR, LOCK, TRANSACTION, OPERATIONS };
static const char *const operations[OPERATIONS + 1] = {
    "sequential set", "random get", "random update", "get, one node",          "set, one node",
    "next",           "incr",       "lock, unlock",  "transaction (get, set)", NULL};

static int get_and_set(caret_session *s, void *node)
{
    caret_slice v;
    int rc = caret_get(s, node, &v);
    return rc < 0 || rc == CARET_RESTART ? rc : caret_set(s, node, "0123456789", 10);
}

static int operate(struct user *u, int what)
{
    caret_node *n = &u->n.node;
    caret_slice v;
    int64_t sum;

    switch (what) {
    case RANDOM_GET:
    case GET: return caret_get(u->s, n, &v);
    case NEXT: return caret_next(u->s, n);
    case INCR: return caret_incr_int(u->s, n, 1, 0, &sum);
    case LOCK: {
        int rc = caret_lock(u->s, n, 0);
        return rc != CARET_OK ? rc : caret_unlock(u->s, n);
    }
    case TRANSACTION: return caret_transaction(u->s, get_and_set, n, 0);
    default: return caret_set(u->s, n, "0123456789", 10);
    }
}

/* operation(path, name, nodes, count) -> histogram: so often on ^BCAT(1..nodes), which "sequential set" makes */
static int measure_operation(lua_State *L)
{
    int what = luaL_checkoption(L, 2, NULL, operations);
    lua_Integer nodes = luaL_checkinteger(L, 3), count = luaL_checkinteger(L, 4);
    struct histogram *h = memset(lua_newuserdata(L, sizeof *h), 0, sizeof *h);
    uint64_t cost = clock_cost();
    struct user u;

    open_user(L, &u, "^BCAT", CARET_SYNC_INTERVAL);
    for (lua_Integer i = 0; i < count; i++) {
        uint64_t begin = now();
        if (what == SEQUENTIAL_SET)
            caret_node_set_last_int(&u.n.node, i + 1);
        else if (what == RANDOM_GET || what == RANDOM_UPDATE)
            caret_node_set_last_int(&u.n.node, (int64_t)(spread((uint64_t)i) % (uint64_t)nodes) + 1);
        int rc = operate(&u, what);
        record(h, begin, cost);
        if (rc == CARET_NONE && what == NEXT)
            caret_node_set_last_int(&u.n.node, 1);
        else if (rc != CARET_OK || caret__interrupted != 0)
            return fail(L, &u, operations[what]);
    }
    close_user(&u);
    push_histogram(L, h);
    return 1;
}

/* ---------------------------------------------------------------------- mixes */

/*
 * The workloads A to F of YCSB (Cooper et al., Benchmarking Cloud Serving Systems with YCSB, 2010), in per cent;
 * what is left are reads.
 */
enum { READ, UPDATE, INSERT, SCAN, CHANGE, KINDS };
static const char *const kinds[KINDS] = {"read", "update", "insert", "scan", "read, modify, write"};
static const struct mix {
    char letter;
    unsigned update, insert, scan, change;
    int latest; /* reads prefer what was inserted last */
} mixes[] = {{'A', 50, 0, 0, 0, 0}, {'B', 5, 0, 0, 0, 0},  {'C', 0, 0, 0, 0, 0},
             {'D', 0, 5, 0, 0, 1},  {'E', 0, 5, 95, 0, 0}, {'F', 0, 0, 0, 50, 0}};

#define RECORD   100 /* bytes of a value */
#define SCAN_MAX 100 /* records of a scan: 1 to so many */
#define THETA    0.99

/*
 * Zipfian numbers (Gray et al., Quickly Generating Billion-Record Synthetic Databases, 1994): item 0 is asked for most.
 * The sum is that of the records there are at the beginning.
 */
struct zipf {
    double n, zeta, alpha, eta;
};

static struct zipf make_zipf(uint64_t n)
{
    struct zipf z = {(double)n, 0, 1 / (1 - THETA), 0};
    for (uint64_t i = 1; i <= n; i++)
        z.zeta += 1 / pow((double)i, THETA);
    double two = 1 + pow(0.5, THETA);
    z.eta = (1 - pow(2 / z.n, 1 - THETA)) / (1 - two / z.zeta);
    return z;
}

static uint64_t next_zipf(const struct zipf *z, uint64_t random)
{
    double u = (double)(random >> 11) * 0x1p-53, uz = u * z->zeta;
    if (uz < 1)
        return 0;
    if (uz < 1 + pow(0.5, THETA))
        return 1;
    uint64_t i = (uint64_t)(z->n * pow(z->eta * u - z->eta + 1, z->alpha));
    return i < (uint64_t)z->n ? i : (uint64_t)z->n - 1;
}

struct load {
    struct user u;
    const struct mix *mix;
    struct zipf zipf;
    int zipfian;
    uint64_t records, random;
    char value[RECORD];
};

static uint64_t draw(struct load *l)
{
    return l->random = spread(l->random);
}

static int choose_kind(struct load *l)
{
    unsigned r = (unsigned)(draw(l) % 100);
    const struct mix *m = l->mix;
    return r < m->update                                     ? UPDATE
           : r < m->update + m->insert                       ? INSERT
           : r < m->update + m->insert + m->scan             ? SCAN
           : r < m->update + m->insert + m->scan + m->change ? CHANGE
                                                             : READ;
}

/* A record from 1 on. */
static int64_t choose_record(struct load *l)
{
    if (!l->zipfian && !l->mix->latest)
        return (int64_t)(draw(l) % l->records) + 1;
    uint64_t i = next_zipf(&l->zipf, draw(l));
    if (l->mix->latest)
        return (int64_t)(l->records - i % l->records);
    return (int64_t)(spread(i) % l->records) + 1; /* the popular are spread over all */
}

static int insert(struct load *l)
{
    caret_node_buf count;
    int64_t n;
    caret_node_parent(&count.node, sizeof count, &l->u.n.node);
    int rc = caret_incr_int(l->u.s, &count.node, 1, 0, &n);
    caret_node_set_last_int(&l->u.n.node, n);
    if (rc == CARET_OK)
        rc = caret_set(l->u.s, &l->u.n.node, l->value, RECORD);
    l->records = (uint64_t)n;
    return rc;
}

static int scan(struct load *l, unsigned count)
{
    caret_slice v;
    int rc = CARET_OK;
    for (unsigned i = 0; i < count && rc == CARET_OK; i++) {
        rc = caret_get(l->u.s, &l->u.n.node, &v);
        if (rc >= 0)
            rc = caret_next(l->u.s, &l->u.n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Its first ten bytes become another number. */
static int change(caret_session *s, void *arg)
{
    struct load *l = arg;
    caret_slice v;
    char copy[RECORD];
    int rc = caret_get(s, &l->u.n.node, &v);
    if (rc != CARET_OK || v.len != RECORD)
        return rc == CARET_NONE ? CARET_OK : rc;
    memcpy(copy, v.data, RECORD);
    copy[0] = (char)('0' + (copy[0] + 1) % 10);
    return caret_set(s, &l->u.n.node, copy, RECORD);
}

static int perform(struct load *l, int kind)
{
    caret_node *n = &l->u.n.node;
    caret_slice v;
    int rc;

    if (kind != INSERT)
        caret_node_set_last_int(n, choose_record(l));
    switch (kind) {
    case UPDATE: return caret_set(l->u.s, n, l->value, RECORD);
    case INSERT: return insert(l);
    case SCAN: return scan(l, (unsigned)(draw(l) % SCAN_MAX) + 1);
    case CHANGE: return caret_transaction(l->u.s, change, l, 0);
    default:
        rc = caret_get(l->u.s, n, &v);
        return rc == CARET_NONE ? CARET_OK : rc; /* counted by an insert that is not done yet */
    }
}

/* load(path, records): ^record(1..records), and their number in ^record */
static int measure_load(lua_State *L)
{
    lua_Integer records = luaL_checkinteger(L, 2);
    struct load l = {.mix = mixes};
    memset(l.value, 'x', RECORD);
    open_user(L, &l.u, "^record", CARET_SYNC_INTERVAL);
    for (lua_Integer i = 0; i < records; i++)
        if (insert(&l) != CARET_OK || caret__interrupted != 0)
            return fail(L, &l.u, "load");
    close_user(&l.u);
    return 0;
}

/* mix(path, letter, zipfian, records, count, seed) -> {[kind] = histogram} */
static int measure_mix(lua_State *L)
{
    const char *letter = luaL_checkstring(L, 2);
    struct load l = {.mix = mixes, .zipfian = lua_toboolean(L, 3)};
    l.records = (uint64_t)luaL_checkinteger(L, 4);
    lua_Integer count = luaL_checkinteger(L, 5);
    l.random = spread((uint64_t)luaL_checkinteger(L, 6));
    struct histogram *h = memset(lua_newuserdata(L, KINDS * sizeof *h), 0, KINDS * sizeof *h);
    uint64_t cost = clock_cost();

    while (l.mix->letter != letter[0])
        if (++l.mix == mixes + sizeof mixes / sizeof *mixes)
            return luaL_error(L, "no mix '%s'", letter);
    memset(l.value, 'y', RECORD);
    l.zipf = make_zipf(l.records);
    open_user(L, &l.u, "^record", CARET_SYNC_INTERVAL);
    for (lua_Integer i = 0; i < count; i++) {
        int kind = choose_kind(&l);
        uint64_t begin = now();
        int rc = perform(&l, kind);
        record(&h[kind], begin, cost);
        if (rc != CARET_OK || caret__interrupted != 0)
            return fail(L, &l.u, kinds[kind]);
    }
    close_user(&l.u);
    lua_newtable(L);
    for (int k = 0; k < KINDS; k++) {
        push_histogram(L, &h[k]);
        lua_setfield(L, -2, kinds[k]);
    }
    return 1;
}

int caret__open_measure(lua_State *L)
{
    static const luaL_Reg functions[] = {{"calls", measure_calls},
                                         {"operation", measure_operation},
                                         {"load", measure_load},
                                         {"mix", measure_mix},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_newtable(L);
    for (int i = 0; i < OPERATIONS; i++) {
        lua_pushstring(L, operations[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "operations");
    return 1;
}
