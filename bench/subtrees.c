/*
 * subtrees.c - whole subtrees beside what a program would do without them.
 *
 *   subtrees [-n NODES] [-r RUNS] [--json]
 *
 * Nodes ^BCAT("lvd",k) with values of 10 bytes, in order.  In turns, ns a node: setting them, a commit each; setting
 * them in one transaction; merging them to another variable; moving that one on; copying over what is there;
 * counting them; a kill, in all; and a kill of as many once more, as a range of the children of ^ON("lvd").
 */
#include "workload.h"

static void die(const char *what)
{
    fprintf(stderr, "subtrees: %s: %s\n", what, caret_message());
    exit(1);
}

enum { SETS, SETS_IN_ONE, MERGE_ALL, MOVE_ALL, COPY_OVER, COUNT_ALL, KILL_ALL, KILL_RANGE, WORKS };
static const char *const works[WORKS] = {
    "sequential set", "sequential set in one transaction", "merge", "move", "copy over", "count", "kill",
    "kill of a range"};

static caret_node_buf var(const char *name)
{
    caret_node_buf n;

    must(caret_node_var(&n.node, sizeof n, name, strlen(name)), name);
    return n;
}

static void kill_var(caret_session *s, const char *name)
{
    caret_node_buf n = var(name);

    must(caret_kill(s, &n.node), "kill");
}

static void kill_range(caret_session *s, caret_node *on)
{
    const caret_slice first = {"0", 1};
    caret_node_buf n;

    must(caret_node_child(&n.node, sizeof n, on, "lvd", 3), "lvd");
    must(caret_kill_range(s, &n.node, &first, NULL, 0), "range");
}

static int set_all(caret_session *s, void *arg)
{
    (void)s;
    handles_run(arg, SEQ_SET);
    return CARET_OK;
}

static void count_them(caret_session *s, caret_node *n, unsigned want)
{
    uint64_t count;

    must(caret_count(s, n, &count), "count");
    if (count != want)
        die("a wrong count");
}

static void one_turn(struct handles *o, double ns[WORKS])
{
    caret_node_buf from = var("^BCAT"), to = var("^TO"), on = var("^ON");
    double t[WORKS + 1];

    kill_var(o->s, "^BCAT");
    kill_var(o->s, "^ON");
    must(caret_checkpoint(o->db), "checkpoint");
    t[0] = now_ns();
    handles_run(o, SEQ_SET);
    t[1] = now_ns();
    kill_var(o->s, "^BCAT");
    must(caret_checkpoint(o->db), "checkpoint");
    double gap = now_ns();
    must(caret_transaction(o->s, set_all, o, 0), "transaction");
    t[2] = now_ns();
    must(caret_merge(o->s, &to.node, &from.node), "merge");
    t[3] = now_ns();
    must(caret_move(o->s, &on.node, &to.node), "move");
    t[4] = now_ns();
    must(caret_copy(o->s, &on.node, &from.node), "copy");
    t[5] = now_ns();
    count_them(o->s, &on.node, nodes);
    t[6] = now_ns();
    must(caret_kill(o->s, &on.node), "kill");
    t[7] = now_ns();
    must(caret_merge(o->s, &on.node, &from.node), "merge");
    double again = now_ns();
    kill_range(o->s, &on.node);
    t[8] = now_ns();
    count_them(o->s, &on.node, 0);
    for (int w = 0; w < WORKS; w++)
        ns[w] = (t[w + 1] - (w == SETS_IN_ONE ? gap : w == KILL_RANGE ? again : t[w])) / nodes;
}

int main(int argc, char **argv)
{
    static double ns[WORKS][MAX_RUNS];
    struct handles o;
    char path[80];
    int rc = workload_begin(argc, argv);

    if (rc != 0)
        return rc;
    snprintf(path, sizeof path, "%s/db.caret", dir);
    handles_open(&o, path);
    handles_at(&o, "^BCAT");
    for (unsigned r = 0; r < runs; r++) {
        double turn[WORKS];
        one_turn(&o, turn);
        for (int w = 0; w < WORKS; w++)
            ns[w][r] = turn[w];
    }
    handles_close(&o);
    remove(path);
    rmdir(dir);
    double set = median(ns[SETS], runs);
    for (int w = 0; w < WORKS; w++) {
        double v = median(ns[w], runs);
        printf(json ? "{\"work\":\"subtrees, %s\",\"ns\":%.2f,\"of_a_set\":%.3f}\n"
                    : "subtrees, %s: %.2f ns a node, %.3f of a sequential set\n",
               works[w], v, v / set);
    }
    return 0;
}
