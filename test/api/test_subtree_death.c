/*
 * Deaths in merges, copies and moves: whatever point of one a process dies at, and whoever dies repairing it, what it
 * did is there whole or not at all.
 *
 * Below ^t, node 1 is the source and node 2 the target of each kind of call.  A child that comes to the end tells which
 * fault points are on its way.  Then others die at each of them, at its first and at a later hit; what is seen
 * afterwards must be the contents before the call or those after it, with others attached and after the death of all.
 */
#include "support/database.h"

#ifdef CARET_FAULTS

#include "base/fault.h"
#include "page/page.h"

#define NODES 70u /* of the source, one in 30 of them out of line */
#define MANY  1500u
#define NAMES 128u

/* Forks are dear with a sanitizer, which has seen the way with the first of two hits; each of the two builds takes half
 * of the points. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1u
#else
#define SANITIZED 0u
#endif
#ifdef CARET_SMALL
#define HALF 0u
#else
#define HALF 1u
#endif

enum kind { MERGE, MERGE_OVER, COPY_OVER, MOVE_OVER, FROM_LOCAL, IN_TRANSACTION, LARGE, KINDS };

static struct way {
    uint32_t names;
    char name[NAMES][40];
    uint32_t hits[NAMES];
} * way; /* shared with children */

static void node_at(caret_node_buf *n, int64_t tree)
{
    OK(caret_node_var(&n->node, sizeof *n, "^t", 2));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, tree));
}

static void plant(caret_session *session, const caret_node *top, unsigned from, unsigned to)
{
    caret_node_buf n;

    for (unsigned i = from; i < to; i++) {
        size_t len = i % 30 == 7 ? 3 * CARET__PAGE_SIZE : CARET__PAGE_SIZE / 8;
        OK(caret_node_child_int(&n.node, sizeof n, top, i / 5));
        OK(caret_node_child_int(&n.node, sizeof n, &n.node, i % 5));
        OK(caret_set(session, &n.node, text, text_of((int64_t)i + 7 * from, len, text)));
    }
}

/* The contents before each call. */
static void prepare(caret_session *session, enum kind kind)
{
    caret_node_buf n;

    OK(caret_begin(session, CARET_TXN_ALONE));
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    OK(caret_kill(session, &n.node));
    node_at(&n, 1);
    plant(session, &n.node, 0, kind == LARGE ? MANY : NODES);
    node_at(&n, 2);
    if (kind != MERGE)
        plant(session, &n.node, NODES / 2, NODES + 20);
    OK(caret_commit(session));
}

static int all_of_it(caret_session *session, void *unused)
{
    caret_node_buf from, to, count;

    (void)unused;
    node_at(&from, 1);
    node_at(&to, 2);
    node_at(&count, 3);
    int rc = caret_incr(session, &count.node, "1", 1, NULL);
    if (rc == CARET_OK)
        rc = caret_merge(session, &to.node, &from.node);
    return rc == CARET_OK ? caret_move(session, &from.node, &to.node) : rc;
}

static int perform(caret_session *session, enum kind kind)
{
    caret_node_buf from, to;

    node_at(&from, 1);
    node_at(&to, 2);
    if (kind == IN_TRANSACTION)
        return caret_transaction(session, all_of_it, NULL, 0);
    if (kind == FROM_LOCAL) {
        OK(caret_node_var(&from.node, sizeof from, "a", 1));
        plant(session, &from.node, 3, NODES);
    }
    return kind == COPY_OVER                    ? caret_copy(session, &to.node, &from.node)
           : kind == MOVE_OVER || kind == LARGE ? caret_move(session, &to.node, &from.node)
                                                : caret_merge(session, &to.node, &from.node);
}

/* ------------------------------------------------------------------ what is seen */

static int sum_up(caret_session *session, void *arg)
{
    uint64_t *sum = arg;
    caret_node_buf n;
    caret_slice v;
    char name[64];
    size_t len;
    int rc;

    *sum = 0;
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    while ((rc = caret_node_next_get(session, &n.node, &v)) == CARET_OK) {
        OK(caret_node_zwr(&n.node, 0, name, sizeof name, &len));
        for (size_t i = 0; i < len; i++)
            *sum = *sum * 31 + (uint8_t)name[i];
        for (size_t i = 0; i < v.len; i++)
            *sum = *sum * 31 + (uint8_t)v.data[i];
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Of one state. */
static uint64_t contents(caret_session *session)
{
    uint64_t sum;

    OK(caret_transaction(session, sum_up, &sum, 0));
    return sum;
}

static void have_it_repaired(caret_session *session)
{
    caret_node_buf n;

    OK(caret_node_var(&n.node, sizeof n, "^other", 6));
    OK(caret_set(session, &n.node, "", 0));
}

/* -------------------------------------------------------------------- children */

static void note_the_way(void)
{
    const char *names[NAMES];
    size_t n = caret__fault_names(names, NAMES);

    way->names = 0;
    for (size_t i = 0; i < n && i < NAMES; i++) {
        uint64_t hits = caret__fault_hits(names[i]);
        if (hits == 0)
            continue;
        snprintf(way->name[way->names], sizeof *way->name, "%s", names[i]);
        way->hits[way->names++] = (uint32_t)hits;
    }
}

/* A child that does it, and dies at that hit of the point; NULL: it notes the way.  Has it died? */
static bool child(enum kind kind, const char *point, unsigned hit)
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_session *session;
        caret_db *mine = open_db();
        OK(caret_session_open(mine, &session));
        caret__fault_reset();
        if (point != NULL)
            caret__fault_arm(point, hit, CARET__FAULT_KILL);
        int rc = perform(session, kind);
        if (point == NULL)
            note_the_way();
        caret__fault_disarm();
        _exit(rc == CARET_OK ? 0 : 3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        fail_msg("kind %u, %s: status %x", (unsigned)kind, point, (unsigned)status);
    return WIFSIGNALED(status);
}

/* Whoever comes next repairs, and dies of it. */
static void die_repairing(const char *point)
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        caret_session *session;
        caret__fault_arm(point, 1, CARET__FAULT_KILL);
        caret_db *mine = open_db();
        OK(caret_session_open(mine, &session));
        have_it_repaired(session);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* --------------------------------------------------------------------- the test */

static unsigned undone, done;
static uint64_t before, after; /* contents, of this kind */
static caret_session *s;
static caret_db *db;

static void come(void)
{
    db = open_db();
    OK(caret_session_open(db, &s));
}

static void go(void)
{
    caret_session_close(s);
    OK(caret_close(db));
}

static void compare(const char *what)
{
    uint64_t first = contents(s); /* perhaps before it is repaired */

    have_it_repaired(s);
    uint64_t now = contents(s);
    if ((now != before && now != after) || (first != before && first != now))
        fail_msg("%s: the contents are neither those before nor those after it", what);
    done += now == after;
    undone += now == before;
}

/* Beside us, or with nobody else there. */
static void die_at(enum kind kind, const char *point, unsigned hit, bool attached)
{
    static const char *const later[] = {NULL, "repair_undone", "repair_redone", "repair_restored"};
    static unsigned turn;
    const char *second = later[turn++ % 4];
    char what[100];

    snprintf(what, sizeof what, "kind %u, %s:%u%s", (unsigned)kind, point, hit, attached ? "" : ", all dead");
    prepare(s, kind);
    if (!attached)
        go();
    bool died = child(kind, point, hit);
    if (died && second != NULL)
        die_repairing(second);
    if (!attached)
        come();
    if (died)
        compare(what);
    check(db);
}

static void find_way(enum kind kind)
{
    prepare(s, kind);
    before = contents(s);
    assert_false(child(kind, NULL, 0));
    after = contents(s);
    assert_true(before != after);
    assert_true(way->names > 10);
}

static void the_dead_leave_all_of_it_or_nothing(void **state)
{
    static struct way found;

    (void)state;
    way = shared_memory(sizeof *way);
    undone = done = 0;
    come();
    for (enum kind kind = MERGE; kind < KINDS; kind++) {
        find_way(kind);
        found = *way;
        for (unsigned i = 0; i < found.names; i++) {
            unsigned n = i + kind;
            if (SANITIZED && n % 4 != 2 * HALF)
                continue;
            die_at(kind, found.name[i], 1, n % 8 < 6);
            if (!SANITIZED && found.hits[i] > 2 && kind != LARGE)
                die_at(kind, found.name[i], found.hits[i] / 2 + 1, n % 8 > 0);
        }
    }
    go();
    print_message("%u deaths left nothing, %u left all\n", undone, done);
    assert_true(undone > 3 && done > 3);
    shared_memory_free(way, sizeof *way);
}

#else

static void the_dead_leave_all_of_it_or_nothing(void **state)
{
    (void)state;
    need_points();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(the_dead_leave_all_of_it_or_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
