/*
 * calls.c - calls that do in one step what would take several, beside the one call that they are nearest to.
 *
 *   calls [-n NODES] [-r RUNS] [--json]
 *
 * Nodes ^BCAT("lvd",1,k) with values of 10 bytes.  In turns, ns a call, in no order but where one is said: a get, get2
 * of the node and a child that it may have; a set, put that tells what was there, put that is refused as there is a
 * value; a random child, beside the next sibling; incr of one node, and of one that must be an integer; and what was
 * set, read from the log by a follower.
 */
#include "workload.h"

static void die(const char *what)
{
    fprintf(stderr, "calls: %s: %s\n", what, caret_message());
    exit(1);
}

enum { GET, GET2, SET, PUT, REFUSED, NEXT, RANDOM_CHILD, INCR, INCR_STRICT, SETS, CHANGES, WORKS };
static const struct {
    const char *name;
    int beside; /* the work that it is compared with */
} works[WORKS] = {{"random get", GET},
                  {"get2 with a child", GET},
                  {"random update", SET},
                  {"put, and what was there", SET},
                  {"put where there is one, refused", GET},
                  {"next sibling, in order", NEXT},
                  {"random child", GET},
                  {"incr by an integer", INCR},
                  {"incr of integers only", INCR},
                  {"set, in order", SETS},
                  {"a change, read from the log", SETS}};

static struct handles o;

static unsigned count_of(int work)
{
    return (work == SETS || work == CHANGES) && nodes > 200000 ? 200000 : nodes; /* the log has them all */
}

static void get2(void)
{
    caret_node_buf child;
    caret_slice v, w;

    caret_node_child(&child.node, sizeof child, &o.n.node, "x", 1);
    must(caret_get2(o.s, &o.n.node, &child.node, &v, &w), "get2");
}

static void put(int flags, int rc)
{
    caret_slice old;
    int had;

    if (caret_put(o.s, &o.n.node, "0123456789", 10, flags, &had, &old) != rc)
        die("put");
}

static void random_child(unsigned i)
{
    caret_node_buf n;

    caret_node_parent(&n.node, sizeof n, &o.n.node);
    must(caret_random_child(o.s, &n.node, i * UINT64_C(0x9E3779B97F4A7C15)), "random child");
}

static void incr(int flags)
{
    static caret_node_buf n;
    static int made;

    if (!made++)
        must(caret_node_var(&n.node, sizeof n, "^count", 6), "count");
    must(caret_incr_int(o.s, &n.node, 1, flags, NULL), "incr");
}

static void call(int work, unsigned i)
{
    caret_slice v;

    if (work == NEXT) {
        if (caret_next(o.s, &o.n.node) != CARET_OK)
            caret_node_set_last_int(&o.n.node, 1);
        return;
    }
    caret_node_set_last_int(&o.n.node, work == SETS ? i + 1 : shuffled(i));
    switch (work) {
    case GET: must(caret_get(o.s, &o.n.node, &v), "get"); break;
    case GET2: get2(); break;
    case PUT: put(0, CARET_OK); break;
    case REFUSED: put(CARET_PUT_ABSENT, CARET_NONE); break;
    case RANDOM_CHILD: random_child(i); break;
    case INCR: incr(0); break;
    case INCR_STRICT: incr(CARET_INCR_STRICT); break;
    default: must(caret_set(o.s, &o.n.node, "9876543210", 10), "set");
    }
}

/* What was set since `place`. */
static void read_changes(uint64_t place)
{
    caret_log *log;
    caret_change c = {.size = sizeof c};
    unsigned n = 0;

    must(caret_log_open(o.db, place, &log), "log");
    while (caret_log_next(log, &c) == CARET_OK)
        n++;
    if (n != count_of(CHANGES))
        die("not every change was told");
    caret_log_close(log);
}

static void one_turn(double ns[WORKS])
{
    uint64_t place = 0;

    for (int work = 0; work < WORKS; work++) {
        if (work == SETS)
            must(caret_durable(o.db, NULL, &place), "durable");
        double t = now_ns();
        if (work == CHANGES)
            read_changes(place);
        for (unsigned i = 0; work != CHANGES && i < count_of(work); i++)
            call(work, i);
        ns[work] = (now_ns() - t) / count_of(work);
    }
}

int main(int argc, char **argv)
{
    static double ns[WORKS][MAX_RUNS];
    char path[80];
    int rc = workload_begin(argc, argv);

    if (rc != 0)
        return rc;
    snprintf(path, sizeof path, "%s/db.caret", dir);
    handles_open(&o, path);
    handles_at(&o, "^BCAT");
    handles_run(&o, SEQ_SET);
    for (unsigned r = 0; r < runs; r++) {
        double turn[WORKS];
        one_turn(turn);
        for (int w = 0; w < WORKS; w++)
            ns[w][r] = turn[w];
    }
    handles_close(&o);
    remove(path);
    rmdir(dir);
    for (int w = 0; w < WORKS; w++) {
        double v = median(ns[w], runs), beside = median(ns[works[w].beside], runs);
        printf(json ? "{\"work\":\"calls, %s\",\"ns\":%.1f,\"beside\":\"%s\",\"ratio\":%.3f}\n"
                    : "calls, %s: %.1f ns, beside %s %.3f\n",
               works[w].name, v, works[works[w].beside].name, v / beside);
    }
    return 0;
}
