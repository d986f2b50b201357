/*
 * Processes that sleep in the middle of what they read (CARET_DOZE of base/fault.h), while others change the same
 * leaves, and checkpoints give the leaves' memory to others.  Each process has nodes of its own, among those of the
 * others, and knows what is in them: what it reads is compared.  CARET_DOZE_ROUNDS: rounds of each process; CARET_SEED:
 * others.
 */
#include "stopped.h"

#ifdef CARET_FAULTS

#define CROWD 3u
#define OWN   120u /* nodes of each */
#define MOST  6u   /* of one call */
#define ODDS  100u

static uint32_t model[OWN]; /* 0: not there; else the number in its value */
static unsigned self, done; /* the process, its rounds */
static struct caret__rand r;

static void differs(unsigned i, const char *what)
{
    fprintf(stderr, "process %u, round %u, node %u: %s, not %u\n", self, done, i, what, model[i]);
    abort();
}

/* Some keys are appended, by all in turns; the others are among each other. */
static caret_node *own(caret_node_buf *n, unsigned i)
{
    return node(n, i % 2 == 0 ? "^doze" : "^late", (int64_t)(i * CROWD + self), -1);
}

static size_t value_of(uint32_t number, char text[60])
{
    return (size_t)snprintf(text, 60, "%0*u", (int)(number % 40 + 4), number);
}

static void compare(unsigned i, int rc, const caret_slice *v)
{
    char text[60];
    size_t len = value_of(model[i], text);

    if (rc == CARET_NONE && model[i] != 0)
        differs(i, "none");
    else if (rc == CARET_OK && model[i] == 0)
        differs(i, "there");
    else if (rc == CARET_OK && (v->len != len || memcmp(v->data, text, len) != 0))
        differs(i, "another value");
    else if (rc != CARET_OK && rc != CARET_NONE)
        differs(i, caret_message());
}

/* ---------------------------------------------------------------- what is done */

static caret_node_buf kept[OWN]; /* these remember where they were */

static void get_one(unsigned i)
{
    caret_node_buf anew;
    caret_slice v;
    int rc = caret_get(s, caret__rand_below(&r, 2) == 0 ? own(&anew, i) : &kept[i].node, &v);

    compare(i, rc, &v);
}

static void get_some(unsigned i)
{
    caret_node_buf n[MOST];
    caret_node *nodes[MOST];
    caret_slice v[MOST];

    for (unsigned k = 0; k < MOST; k++)
        nodes[k] = own(&n[k], (i + k * 7) % OWN);
    must(caret_get_many(s, nodes, MOST, v), "get_many");
    for (unsigned k = 0; k < MOST; k++)
        compare((i + k * 7) % OWN, v[k].data != NULL ? CARET_OK : CARET_NONE, &v[k]);
}

/* From a node to the last one of its kind: all own ones that are there are met, with their values. */
static void walk(unsigned i)
{
    caret_node_buf n;
    caret_slice v;
    int64_t at = 0;
    unsigned next = i + 2;

    must(caret_node_copy(&n.node, sizeof n, own(&kept[i], i)), "copy");
    for (;;) {
        int rc = caret_next_get(s, &n.node, &v);
        if (rc != CARET_NONE)
            must(rc, "next");
        if (rc == CARET_OK && (caret_node_last_as_int(&n.node, &at) != 1 || at % CROWD != self))
            continue;
        for (; next < OWN && (rc == CARET_NONE || next < at / CROWD); next += 2)
            compare(next, CARET_NONE, NULL);
        if (rc == CARET_NONE)
            return;
        compare(next, CARET_OK, &v);
        next += 2;
    }
}

struct change {
    unsigned first, n, by;
    uint32_t to[MOST];
};

static int change_all(caret_session *session, void *arg)
{
    const struct change *c = arg;
    char text[60];
    caret_node_buf anew;

    for (unsigned k = 0; k < c->n; k++) {
        unsigned i = (c->first + k * c->by) % OWN;
        caret_node *n = (c->to[k] & 1) != 0 ? own(&anew, i) : &kept[i].node;
        int rc =
            c->to[k] == 0 ? caret_delete(session, n) : caret_set(session, n, text, value_of(c->to[k], text));
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
    }
    return CARET_OK;
}

/* One set or delete by itself, or several in one transaction. */
static void change(unsigned i)
{
    struct change c = {
        i, 1 + caret__rand_below(&r, 2) * caret__rand_below(&r, MOST), 1 + caret__rand_below(&r, 9), {0}};

    for (unsigned k = 0; k < c.n; k++)
        c.to[k] = caret__rand_below(&r, 5) == 0 ? 0 : 1 + caret__rand_below(&r, 1000000);
    must(c.n == 1 ? change_all(s, &c) : caret_transaction(s, change_all, &c, 0), "change");
    for (unsigned k = 0; k < c.n; k++)
        model[(c.first + k * c.by) % OWN] = c.to[k];
}

/* A queue of its own: what is appended is in a leaf that it changes alone, and whose end it remembers. */
static uint32_t head, tail;

static caret_node *place(caret_node_buf *n, uint32_t i)
{
    static const char *const queue[CROWD] = {"^queue0", "^queue1", "^queue2"};
    return node(n, queue[self], i, -1);
}

static int push(caret_session *session, void *arg)
{
    caret_node_buf n;
    char text[60];

    for (unsigned k = 0; k < *(unsigned *)arg; k++)
        DO(caret_set(session, place(&n, tail + k), text, value_of(tail + k, text)));
    return CARET_OK;
}

static void look_into_queue(uint32_t i)
{
    caret_node_buf n;
    caret_slice v;
    char text[60];
    int rc = caret_get(s, place(&n, i), &v);

    if (i < head || i >= tail
            ? rc == CARET_NONE
            : rc == CARET_OK && v.len == value_of(i, text) && memcmp(v.data, text, v.len) == 0)
        return;
    fprintf(stderr, "process %u, round %u: %u of a queue of %u to %u: %d\n", self, done, i, head, tail, rc);
    abort();
}

static void queue_some(void)
{
    unsigned n = 1 + caret__rand_below(&r, 2) * caret__rand_below(&r, MOST);
    caret_node_buf gone;

    must(n == 1 ? push(s, &n) : caret_transaction(s, push, &n, 0), "push");
    tail += n;
    look_into_queue(tail - 1 - caret__rand_below(&r, 3));
    look_into_queue(tail - caret__rand_below(&r, 2));
    look_into_queue(head + caret__rand_below(&r, tail - head));
    while (tail - head > 200)
        must(caret_delete(s, place(&gone, head++)), "delete");
}

static unsigned rounds(void)
{
    const char *text = getenv("CARET_DOZE_ROUNDS");
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 800;
}

static void take_part(void)
{
    const char *seed = getenv("CARET_SEED");

    caret__rand_seed(&r, (seed != NULL ? strtoull(seed, NULL, 10) : 20261130) * CROWD + self);
    open_both();
    /* as if it had read each page from the file before, one that had its number */
    for (uint32_t i = 0; i < 4000; i++)
        caret__page_is_known(&s->e->pg, i);
    for (unsigned i = 0; i < OWN; i++)
        own(&kept[i], i);
    caret__fault_doze_at(ODDS);
    for (; done < rounds(); done++) {
        unsigned i = caret__rand_below(&r, OWN);
        switch (caret__rand_below(&r, 9)) {
        case 0: get_some(i); break;
        case 1: walk(i); break;
        case 2:
        case 3: get_one(i); break;
        case 4:
        case 5: queue_some(); break;
        default: change(i); break;
        }
    }
    caret__fault_doze_at(0);
    close_both();
}

/* ------------------------------------------------------------------------ test */

/* The leaves' slots are given back, again and again, and others get them. */
static void what_is_read_asleep_is_not_believed(void **state)
{
    pid_t pid[CROWD];
    char report[1000];
    int status;

    (void)state;
    open_both();
    for (self = 0; self < CROWD; self++)
        pid[self] = start(take_part);
    for (unsigned left = CROWD; left > 0;) {
        must(caret_checkpoint(db), "checkpoint");
        for (unsigned i = 0; i < CROWD; i++) {
            if (pid[i] == 0 || waitpid(pid[i], &status, WNOHANG) == 0)
                continue;
            pid[i] = 0;
            left--;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("a process ended with 0x%x", (unsigned)status);
        }
    }
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s", report);
    close_both();
}

static int run(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_read_asleep_is_not_believed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return with_database(run);
}

#else

int main(void)
{
    puts("[  SKIPPED ] this build has no places to sleep at");
    return 0;
}

#endif
