/*
 * locks.c - locks of two processes, in every order of what can happen to them: what does each say?
 *
 *     locks DATABASE
 *
 * One line for each case, to be compared with those of another database: how the first took its lock, which lock it
 * was, which the second wanted meanwhile, how the first let go, and what the second got before and after.  Then rings
 * of waiting locks, of which one has to be told of the deadlock, whichever, and the other goes on.
 *
 * The second process does what it is told by a pipe, a line for each call, and says what came of it by another one.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caret.h"

#define SHORT UINT64_C(30000000)    /* nanoseconds, for a lock that is not to be had */
#define LONG  UINT64_C(60000000000) /* for one that is to come */

static const char *path;

struct party {
    caret_db *db;
    caret_session *s;
};

/* A process that does what it is told. */
struct other {
    pid_t pid;
    FILE *to, *from;
};

static void check(int rc, const char *what)
{
    if (rc == CARET_OK)
        return;
    fprintf(stderr, "locks: %s: %s\n", what, caret_message());
    exit(2);
}

static void party_begin(struct party *p)
{
    check(caret_open(path, NULL, &p->db), "open");
    check(caret_session_open(p->db, &p->s), "session");
}

static void party_end(struct party *p)
{
    caret_session_close(p->s);
    caret_close(p->db);
}

/* ---- names: of a letter each ---- */

static const char names[] = "vpncs"; /* the variable, a parent, the node, a child, a sibling */

static void name_node(char name, caret_node_buf *n)
{
    static const char *const subs[] = {"", "1", "1 2", "1 2 x", "1 3"};
    char text[8], *save = NULL;

    snprintf(text, sizeof text, "%s", subs[strchr(names, name) - names]);
    check(caret_node_var(&n->node, sizeof *n, "^matrix", 7), "node");
    for (char *sub = strtok_r(text, " ", &save); sub != NULL; sub = strtok_r(NULL, " ", &save))
        check(caret_node_child(&n->node, sizeof *n, &n->node, sub, strlen(sub)), "child");
}

/* ---- calls, by their letters ---- */

static int lock_one(caret_session *s, char name, uint64_t ns)
{
    caret_node_buf n;

    name_node(name, &n);
    return caret_lock(s, &n.node, ns);
}

static int unlock_one(caret_session *s, char name)
{
    caret_node_buf n;

    name_node(name, &n);
    return caret_unlock(s, &n.node);
}

/* Whoever is told of a ring gives all back, so that the other one goes on. */
static int wait_for(caret_session *s, char name)
{
    int rc = lock_one(s, name, LONG);

    if (rc == CARET_DEADLOCK)
        check(caret_unlock_all(s), "unlock all");
    return rc;
}

/* l: lock, t: one try, w: wait for it, u: unlock, b: begin, c: commit, r: roll back, a: unlock all, q: end the
 * session */
static int call(struct party *p, char what, char name)
{
    switch (what) {
    case 'l': return lock_one(p->s, name, SHORT);
    case 't': return lock_one(p->s, name, 0);
    case 'w': return wait_for(p->s, name);
    case 'u': return unlock_one(p->s, name);
    case 'a': return caret_unlock_all(p->s);
    case 'b': return caret_begin(p->s, 0);
    case 'c': return caret_commit(p->s);
    case 'r': return caret_rollback(p->s);
    case 'q': caret_session_close(p->s); return caret_session_open(p->db, &p->s);
    default: exit(2);
    }
}

static _Noreturn void obey(FILE *from, FILE *to)
{
    struct party own;
    char line[8];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    party_begin(&own);
    while (fgets(line, sizeof line, from) != NULL) {
        fprintf(to, "%d\n", call(&own, line[0], line[1]));
        fflush(to);
    }
    party_end(&own);
    exit(0);
}

static void other_begin(struct other *o)
{
    int down[2], up[2];

    if (pipe(down) != 0 || pipe(up) != 0)
        exit(2);
    fflush(NULL);
    o->pid = fork();
    if (o->pid == 0) {
        close(down[1]), close(up[0]);
        obey(fdopen(down[0], "r"), fdopen(up[1], "w"));
    }
    close(down[0]), close(up[1]);
    o->to = fdopen(down[1], "w");
    o->from = fdopen(up[0], "r");
}

static void other_end(struct other *o)
{
    fclose(o->to);
    waitpid(o->pid, NULL, 0);
    fclose(o->from);
}

static void tell(struct other *o, char what, char name)
{
    fprintf(o->to, "%c%c\n", what, name);
    fflush(o->to);
}

static int answer_of(struct other *o)
{
    int rc = 0;

    return fscanf(o->from, "%d", &rc) == 1 ? rc : 999;
}

static int ask(struct other *o, char what, char name)
{
    tell(o, what, name);
    return answer_of(o);
}

/* ---- the cases ---- */

/* How the owner lets go: k: it is killed; the rest are calls. */
static void let_go(struct other *owner, char how, char name)
{
    if (how == 'k') {
        kill(owner->pid, SIGKILL);
        other_end(owner);
        other_begin(owner);
    } else {
        check(ask(owner, how, name), "to let go");
    }
}

/* The owner has `held`, in a transaction or not; the other one tries, waits, and gets it in the end. */
static void one_case(struct other *owner, struct party *own, char in, char held, char wanted, char how)
{
    if (in == 'b')
        check(ask(owner, 'b', ' '), "begin");
    check(ask(owner, 'l', held), "to have");
    check(ask(owner, 't', held), "to have twice");
    check(ask(owner, 'u', held), "and once again");
    int at_once = call(own, 't', wanted), soon = call(own, 'l', wanted);
    if (at_once == CARET_OK)
        check(call(own, 'u', wanted), "unlock");
    if (soon == CARET_OK)
        check(call(own, 'u', wanted), "unlock");
    let_go(owner, how, held);
    int after = call(own, 'w', wanted);
    printf("%c%c then %c, %c: %d %d %d; again %d\n", in, held, wanted, how, at_once, soon, after,
           call(own, 't', wanted));
    check(call(own, 'a', ' '), "unlock all");
    if (in == 'b' && how == 'u') /* the transaction is still there, and ends without a lock */
        check(ask(owner, 'c', ' '), "commit");
}

static void all_cases(struct other *owner, struct party *own)
{
    for (const char *held = names; *held != '\0'; held++)
        for (const char *wanted = names; *wanted != '\0'; wanted++) {
            for (const char *how = "uaqk"; *how != '\0'; how++)
                one_case(owner, own, '-', *held, *wanted, *how);
            for (const char *how = "urqk"; *how != '\0'; how++)
                one_case(owner, own, 'b', *held, *wanted, *how);
        }
}

/* Each has one and waits for the other's: one is told, and gives its own back; the other gets it. */
static void ring(struct other *owner, struct party *own, char a, char b)
{
    check(ask(owner, 'l', a), "ring");
    check(call(own, 'l', b), "ring");
    tell(owner, 'w', b);
    int here = call(own, 'w', a);
    check(call(own, 'a', ' '), "unlock all");
    int there = answer_of(owner);
    check(ask(owner, 'a', ' '), "unlock all");
    printf("ring of %c and %c: %s\n", a, b,
           (here == CARET_DEADLOCK) + (there == CARET_DEADLOCK) == 1 &&
                   here + there == CARET_DEADLOCK + CARET_OK
               ? "one is told"
               : "wrong");
}

int main(int argc, char **argv)
{
    struct other owner;
    struct party own;

    if (argc != 2)
        return fputs("locks DATABASE\n", stderr), 2;
    path = argv[1];
    other_begin(&owner);
    party_begin(&own);
    all_cases(&owner, &own);
    ring(&owner, &own, 'n', 's');
    ring(&owner, &own, 'c', 's');
    other_end(&owner);
    party_end(&own);
    return 0;
}
