/* Locks: which excludes which, counts, transactions, limits.  One process, several sessions. */
#include "txn/locks.h"

#define OK      CARET_OK
#define BLOCKED CARET_LOCK_TIMEOUT

static void end_sessions(struct caret__engine *e, struct caret__locker *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(caret__lock_release_all(e, &s[i]), OK);
        caret__locker_fini(&s[i]);
    }
    assert_int_equal(lock_totals(e).held, 0);
    check_locks(e);
}

static void a_lock_excludes_ancestors_and_descendants_and_nothing_else(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(take(e, &s[0], "^a(1,\"x\")", 0), OK);
    assert_int_equal(take(e, &s[1], "^a(1,\"x\")", 0), BLOCKED);
    assert_int_equal(take(e, &s[1], "^a(1)", 0), BLOCKED);
    assert_int_equal(take(e, &s[1], "^a", 0), BLOCKED);
    assert_int_equal(take(e, &s[1], "^a(1,\"x\",\"\")", 0), BLOCKED);
    assert_int_equal(take(e, &s[1], "^a(1,\"x\",2,3)", 0), BLOCKED);
    assert_int_equal(take(e, &s[1], "^a(1,\"xy\")", 0), OK);
    assert_int_equal(take(e, &s[1], "^a(1,2)", 0), OK);
    assert_int_equal(take(e, &s[1], "^a(11)", 0), OK);
    assert_int_equal(take(e, &s[1], "^aa", 0), OK);
    assert_int_equal(take(e, &s[0], "^a(1)", 0), BLOCKED);
    assert_int_equal(take(e, &s[0], "^a(1,\"x\",7)", 0), OK);
    assert_int_equal(give(e, &s[0], "^a(1,\"x\")"), OK);
    assert_int_equal(take(e, &s[1], "^a(1,\"x\")", 0), BLOCKED);
    assert_int_equal(give(e, &s[0], "^a(1,\"x\",7)"), OK);
    assert_int_equal(take(e, &s[1], "^a(1,\"x\")", 0), OK);
    assert_int_equal(take(e, &s[1], "^a", 0), OK);
    check_locks(e);
    end_sessions(e, s, 2);
}

static void locks_count_and_are_released_by_their_holder_only(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(give(e, &s[0], "^c"), CARET_E_NOTLOCKED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(e, &s[0], "^c", 0), OK);
    assert_int_equal(give(e, &s[1], "^c"), CARET_E_NOTLOCKED);
    assert_non_null(strstr(caret_message(), "^c"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take(e, &s[1], "^c", 0), BLOCKED);
        assert_int_equal(give(e, &s[0], "^c"), OK);
    }
    assert_int_equal(give(e, &s[0], "^c"), CARET_E_NOTLOCKED);
    assert_int_equal(take(e, &s[1], "^c", 0), OK);

    assert_int_equal(take(e, &s[0], "^x", 0), OK);
    assert_int_equal(take(e, &s[0], "^y", 0), OK);
    assert_int_equal(give(e, &s[0], "^x"), OK); /* leaves a dead record, first in the list */
    assert_int_equal(give(e, &s[1], "^c"), OK);
    assert_int_equal(take(e, &s[1], "^x", 0), OK); /* the same cell, first in the other list */
    assert_int_equal(give(e, &s[0], "^x"), CARET_E_NOTLOCKED);
    assert_int_equal(give(e, &s[1], "^x"), OK);
    end_sessions(e, s, 2);
}

static void several_are_taken_all_or_none(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    const char *const wanted[] = {"^a(1)", "^b", "^a(1)", "^c(1,2,3)", "^a(1,2)"};

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(take(e, &s[1], "^c(1,2)", 0), OK);
    assert_int_equal(take(e, &s[0], "^z", 0), OK);
    assert_int_equal(take_all(e, &s[0], wanted, 5, 0), BLOCKED);
    assert_int_equal(lock_totals(e).held, 2);
    assert_int_equal(take_all(e, &s[0], wanted, 5, 20000000), BLOCKED);
    assert_non_null(strstr(caret_message(), "^c(1,2)"));
    assert_int_equal(lock_totals(e).held, 2);
    check_locks(e);
    assert_int_equal(give(e, &s[1], "^c(1,2)"), OK);
    assert_int_equal(take_all(e, &s[0], wanted, 5, 0), OK);
    assert_int_equal(give(e, &s[0], "^a(1)"), OK);
    assert_int_equal(give(e, &s[0], "^a(1)"), OK);
    assert_int_equal(give(e, &s[0], "^a(1)"), CARET_E_NOTLOCKED);
    end_sessions(e, s, 2);
}

static void rollback_releases_what_was_taken_since_the_mark(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    uint64_t outer, inner;

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(take(e, &s[0], "^before", 0), OK);
    assert_int_equal(take(e, &s[0], "^gone", 0), OK);
    outer = caret__lock_mark(&s[0]);
    assert_int_equal(take(e, &s[0], "^before", 0), OK);
    assert_int_equal(take(e, &s[0], "^outer", 0), OK);
    assert_int_equal(give(e, &s[0], "^gone"), OK);
    inner = caret__lock_mark(&s[0]);
    assert_int_equal(take(e, &s[0], "^outer", 0), OK);
    assert_int_equal(take(e, &s[0], "^inner", 0), OK);
    assert_int_equal(caret__lock_rollback(e, &s[0], inner), OK);
    assert_int_equal(take(e, &s[1], "^inner", 0), OK);
    assert_int_equal(take(e, &s[1], "^outer", 0), BLOCKED);
    inner = caret__lock_mark(&s[0]);
    assert_int_equal(take(e, &s[0], "^kept", 0), OK); /* inner commits, outer rolls back */
    assert_int_equal(caret__lock_rollback(e, &s[0], outer), OK);
    assert_int_equal(take(e, &s[1], "^kept", 0), OK);
    assert_int_equal(take(e, &s[1], "^outer", 0), OK);
    assert_int_equal(take(e, &s[1], "^gone", 0), OK);
    assert_int_equal(give(e, &s[0], "^before"), OK);
    assert_int_equal(give(e, &s[0], "^before"), CARET_E_NOTLOCKED);
    end_sessions(e, s, 2);
}

static void a_restart_keeps_locks_and_counts_them_once(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    uint64_t mark;

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    mark = caret__lock_mark(&s[0]);
    assert_int_equal(take(e, &s[0], "^a", 0), OK);
    assert_int_equal(take(e, &s[0], "^b", 0), OK);
    assert_int_equal(caret__lock_restart(e, &s[0], mark), OK);
    assert_int_equal(take(e, &s[1], "^a(1)", 0), BLOCKED);
    assert_int_equal(give(e, &s[0], "^a"), CARET_E_NOTLOCKED);
    assert_int_equal(take(e, &s[0], "^a", 0), OK);
    assert_int_equal(caret__lock_commit(e, &s[0], mark), OK);
    assert_int_equal(take(e, &s[1], "^b", 0), OK); /* the last run didn't take it */
    assert_int_equal(give(e, &s[0], "^a"), OK);
    assert_int_equal(give(e, &s[0], "^a"), CARET_E_NOTLOCKED);
    end_sessions(e, s, 2);
}

static void a_local_variable_and_a_global_are_two_names(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(take(e, &s[0], "a(1)", 0), OK);
    assert_int_equal(take(e, &s[1], "^a(1)", 0), OK);
    assert_int_equal(take(e, &s[1], "a", 0), BLOCKED);
    check_locks(e);
    end_sessions(e, s, 2);
}

/* Names of all lengths up to the limit, over several cells. */
static void long_names_are_told_apart(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    struct name n = name("^long");
    unsigned step = CARET__KEY_MAX / 12, taken = 0;

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    memset(n.key + 5, 'x', sizeof n.key - 5);
    n.key[5] = 0xFE; /* a string */
    for (n.len = 8; n.len <= CARET__KEY_MAX; n.len += step, taken++) {
        n.key[n.len - 1] = 0;
        assert_int_equal(caret__lock_take(e, &s[0], n.key, n.len, 0), OK);
        assert_int_equal(caret__lock_take(e, &s[1], n.key, n.len, 0), BLOCKED);
        n.key[n.len - 2]++;
        assert_int_equal(caret__lock_take(e, &s[1], n.key, n.len, 0), OK);
        n.key[n.len - 2] = n.key[n.len - 1] = 'x';
    }
    assert_int_equal(lock_totals(e).held, 2 * taken);
    check_locks(e);
    n.len = CARET__KEY_MAX + 1;
    assert_int_equal(caret__lock_take(e, &s[0], n.key, n.len, 0), CARET_E_INVALID);
    end_sessions(e, s, 2);
}

static struct name tailed(unsigned i)
{
    char text[110];

    snprintf(text, sizeof text, "^a(\"%070d\",\"x%08u\")", 0, i);
    return name(text);
}

struct hashed {
    uint32_t hash;
    unsigned i;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;

    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* They differ after their first cell only. */
static void names_of_the_same_hash_are_told_apart(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    unsigned n = 400000, same = 1;
    struct hashed *all = malloc(n * sizeof *all);
    struct name a, b;

    for (unsigned i = 0; i < n; i++) {
        a = tailed(i * 7919 % 100000000);
        all[i] = (struct hashed){caret__lt_hash(a.key, a.len), i * 7919 % 100000000};
    }
    qsort(all, n, sizeof *all, by_hash);
    while (same < n && all[same].hash != all[same - 1].hash)
        same++;
    assert_true(same < n);
    a = tailed(all[same - 1].i);
    b = tailed(all[same].i);
    free(all);
    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(caret__lock_take(e, &s[0], a.key, a.len, 0), OK);
    assert_int_equal(caret__lock_take(e, &s[1], b.key, b.len, 0), OK);
    end_sessions(e, s, 2);
}

static uint32_t cell_of(struct caret__engine *e, const char *zwr)
{
    struct name n = name(zwr);

    caret__held_note(caret__lt(e)); /* nobody else is there */
    uint32_t cell = caret__lt_find(caret__lt(e), n.key, n.len, caret__lt_hash(n.key, n.len));
    caret__held_drop(caret__lt(e));
    return cell;
}

/* Each of some names, a global's and a local's: cut off in its subscript it is told, and gone after a repair. */
static void a_damaged_name_is_told_and_goes_with_a_repair(void **state)
{
    static const char *const damaged[] = {"^d(1)",
                                          "d(\"and one that goes on in further cells of the table\")"};
    struct caret__engine *e = ((struct fixture *)*state)->e;
    char report[4000] = "";
    unsigned found = 0;

    for (unsigned i = 0; i < 2; i++) {
        struct caret__locker s[2];
        caret__locker_init(e, &s[0]);
        caret__locker_init(e, &s[1]);
        assert_int_equal(take(e, &s[0], "^sound(1)", 0), OK);
        assert_int_equal(take(e, &s[0], damaged[i], 0), OK);
        caret__lt(e)->cells[cell_of(e, damaged[i])].len--;
        assert_int_equal(caret__locks_check(e, report, sizeof report, &found), OK);
        assert_non_null(strstr(report, "has a malformed key"));
        assert_int_equal(caret__mutex_lock(&e->sh->lock_mutex), 0);
        caret__held_note(caret__lt(e));
        caret__lt_repair(e);
        caret__held_drop(caret__lt(e));
        caret__mutex_unlock(&e->sh->lock_mutex);
        check_locks(e);
        assert_int_equal(lock_totals(e).held, 1);
        assert_int_equal(take(e, &s[1], "^sound", 0), BLOCKED);
        assert_int_equal(take(e, &s[1], damaged[i], 0), OK);
        assert_int_equal(caret__lock_release_all(e, &s[0]), OK);
        assert_int_equal(lock_totals(e).held, 1);
        end_sessions(e, s, 2);
    }
}

static struct name numbered(unsigned i)
{
    char text[40];

    snprintf(text, sizeof text, "^n(%u,\"end\")", i);
    return name(text);
}

static void a_full_table_refuses_and_leaves_nothing_behind(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    struct name n[2];
    unsigned taken = 0;
    int rc;

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    for (;; taken++) {
        n[0] = numbered(taken);
        rc = caret__lock_take(e, &s[0], n[0].key, n[0].len, 0);
        if (rc != OK)
            break;
    }
    assert_int_equal(rc, CARET_E_LIMIT);
    assert_in_range(taken, CARET__MAX_LOCKS / 2 - 2, CARET__MAX_LOCKS / 2);
    assert_int_equal(lock_totals(e).held, taken);
    check_locks(e);
    n[0] = numbered(5);
    assert_int_equal(caret__lock_release(e, &s[0], n[0].key, n[0].len), OK);
    n[1] = numbered(taken);
    const uint8_t *keys[] = {n[0].key, n[1].key};
    size_t lens[] = {n[0].len, n[1].len};
    assert_int_equal(caret__lock_take_all(e, &s[1], keys, lens, 2, 1000000), CARET_E_LIMIT);
    assert_int_equal(lock_totals(e).held, taken - 1);
    check_locks(e);
    assert_int_equal(caret__lock_take(e, &s[1], n[1].key, n[1].len, 0), OK);
    end_sessions(e, s, 2);
}

/* The name that is blocked was idle, and the next to leave the ring of idle names. */
static void a_blocked_name_does_not_leave_with_the_idle_ones(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    const char *const both[] = {"^new(1)", "^c(1)"};

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(take(e, &s[1], "^c", 0), OK);
    make_next_idle(e, &s[1], "^c(1)");
    assert_int_equal(take_all(e, &s[0], both, 2, 0), BLOCKED);
    check_locks(e);
    make_next_idle(e, &s[1], "^c(1)");
    assert_int_equal(take_all(e, &s[0], both, 2, 2000000), BLOCKED);
    check_locks(e);
    end_sessions(e, s, 2);
}

/* A name leaves the table, and the one above it: its cell, which is the second of the free ones, is returned. */
static uint32_t let_leave(struct caret__engine *e, struct caret__locker s[2], const char *zwr)
{
    assert_int_equal(take(e, &s[0], zwr, 0), OK);
    assert_int_equal(give(e, &s[0], zwr), OK);
    const uint32_t cell = s[0].last;
    for (unsigned i = 0; caret__lt(e)->cells[cell].kind != CARET__CELL_FREE; i++) {
        char other[32];
        snprintf(other, sizeof other, "^other%u", i);
        assert_in_range(i, 0, CARET__LOCK_IDLE);
        assert_int_equal(take(e, &s[1], other, 0), OK);
        assert_int_equal(give(e, &s[1], other), OK);
    }
    assert_int_equal(s[0].last, cell);
    return cell;
}

/* The cell of a name that left is one of another name by now, and then one that a long name goes on in, with the same
 * bytes where the name had its own.  Its session still remembers it. */
static void a_cell_that_serves_others_is_not_believed(void **state)
{
    static const char *const text = "^remembered(1)";
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    char longer[300];

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    assert_int_equal(take(e, &s[1], "^x", 0), OK);
    /* ^x has 2 bytes, a string one before its own */
    snprintf(longer, sizeof longer, "^x(\"%0*d%s\")", (int)(CARET__LOCK_KEY_MORE - 3), 0, "remembered");
    for (int kind = CARET__CELL_NAME; kind <= CARET__CELL_MORE; kind++) {
        const uint32_t cell = let_leave(e, s, text);
        assert_int_equal(take(e, &s[1], kind == CARET__CELL_NAME ? "^membername(1)" : longer, 0), OK);
        assert_int_equal(caret__lt(e)->cells[cell].kind, kind);
        assert_int_equal(caret__lt(e)->cells[cell].len, name(text).len);
        assert_int_equal(take(e, &s[0], text, 0), OK);
        assert_int_equal(take(e, &s[1], text, 0), BLOCKED);
        check_locks(e);
        assert_int_equal(give(e, &s[0], text), OK);
        assert_int_equal(caret__lock_release_all(e, &s[1]), OK);
        assert_int_equal(take(e, &s[1], "^x", 0), OK);
    }
    end_sessions(e, s, 2);
}

/* ------------------------------------------------------------------ random operations and a model */

#define SESSIONS 4
#define NAMES    80
#define TAKES    400

struct model {
    struct name names[NAMES];
    struct model_session {
        struct {
            int name;
            uint64_t txn;
        } takes[TAKES];
        unsigned n;
        unsigned carried[NAMES], ncarried;
        uint64_t mark[4], txn[4];
        unsigned depth;
    } s[SESSIONS];
    uint64_t txns;
};

static void make_names(struct model *m)
{
    static const char *const subs[] = {"1", "12", "\"a long subscript, which takes more than one cell\""};
    char text[300];
    int n = 0;

    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < 40; i++) {
            int a = i - 1, b = i - 4, c = i - 13; /* 1 + 3 + 9 + 27 names */

            if (i == 0)
                snprintf(text, sizeof text, "^%c", 'a' + v);
            else if (i < 4)
                snprintf(text, sizeof text, "^%c(%s)", 'a' + v, subs[a]);
            else if (i < 13)
                snprintf(text, sizeof text, "^%c(%s,%s)", 'a' + v, subs[b / 3], subs[b % 3]);
            else
                snprintf(text, sizeof text, "^%c(%s,%s,%s)", 'a' + v, subs[c / 9], subs[c / 3 % 3],
                         subs[c % 3]);
            if (strlen(text) < CARET__KEY_MAX) /* small build: not three long ones */
                m->names[n++] = name(text);
            else
                m->names[n++] = name("^a");
        }
    }
}

static bool related(const struct name *a, const struct name *b)
{
    return memcmp(a->key, b->key, a->len < b->len ? a->len : b->len) == 0;
}

static bool same_name(const struct name *a, const struct name *b)
{
    return a->len == b->len && related(a, b);
}

static bool holds_related(const struct model *m, int session, int n)
{
    const struct model_session *s = &m->s[session];

    for (unsigned i = 0; i < s->n; i++) {
        if (related(&m->names[s->takes[i].name], &m->names[n]))
            return true;
    }
    for (unsigned i = 0; i < s->ncarried; i++) {
        if (related(&m->names[s->carried[i]], &m->names[n]))
            return true;
    }
    return false;
}

static bool free_for(const struct model *m, int session, int n)
{
    for (int i = 0; i < SESSIONS; i++) {
        if (i != session && holds_related(m, i, n))
            return false;
    }
    return true;
}

static void model_take(struct model *m, int session, int n)
{
    struct model_session *s = &m->s[session];

    for (unsigned i = 0; i < s->ncarried; i++) {
        if (same_name(&m->names[s->carried[i]], &m->names[n])) {
            s->carried[i] = s->carried[--s->ncarried];
            break;
        }
    }
    s->takes[s->n].name = n;
    s->takes[s->n++].txn = m->txns;
}

static int model_release(struct model *m, int session, int n)
{
    struct model_session *s = &m->s[session];

    for (unsigned i = s->n; i-- > 0;) {
        if (same_name(&m->names[s->takes[i].name], &m->names[n])) {
            memmove(&s->takes[i], &s->takes[i + 1], (s->n - i - 1) * sizeof s->takes[0]);
            s->n--;
            return OK;
        }
    }
    return CARET_E_NOTLOCKED;
}

static void model_pop(struct model_session *s, uint64_t txn, bool carry)
{
    for (; s->n > 0 && s->takes[s->n - 1].txn >= txn; s->n--) {
        if (carry)
            s->carried[s->ncarried++] = (unsigned)s->takes[s->n - 1].name;
    }
}

static void random_transaction_step(struct caret__engine *e, struct model *m, struct caret__locker *me, int i,
                                    unsigned dice)
{
    struct model_session *s = &m->s[i];

    if (s->depth == 0 || (dice == 0 && s->depth < 4)) {
        s->txn[s->depth] = ++m->txns;
        s->mark[s->depth++] = caret__lock_mark(me);
        return;
    }
    if (dice <= 1) { /* commit */
        s->depth--;
        assert_int_equal(s->depth == 0 ? caret__lock_commit(e, me, s->mark[0]) : OK, OK);
    } else if (dice == 2) {
        s->depth--;
        assert_int_equal(caret__lock_rollback(e, me, s->mark[s->depth]), OK);
        model_pop(s, s->txn[s->depth], false);
    } else {
        s->depth = 1;
        assert_int_equal(caret__lock_restart(e, me, s->mark[0]), OK);
        model_pop(s, s->txn[0], true);
    }
    if (s->depth == 0)
        s->ncarried = 0;
}

static void random_take_all(struct caret__engine *e, struct model *m, struct caret__locker *me, int i,
                            struct caret__rand *rand)
{
    const uint8_t *keys[5];
    size_t lens[5], n = 2 + caret__rand_below(rand, 4);
    int names[5];
    bool free = true;

    for (size_t k = 0; k < n; k++) {
        names[k] = (int)caret__rand_below(rand, NAMES);
        keys[k] = m->names[names[k]].key;
        lens[k] = m->names[names[k]].len;
        free = free && free_for(m, i, names[k]);
    }
    assert_int_equal(caret__lock_take_all(e, me, keys, lens, n, 0), free ? OK : BLOCKED);
    for (size_t k = 0; free && k < n; k++)
        model_take(m, i, names[k]);
}

static void random_step(struct caret__engine *e, struct model *m, struct caret__locker *s,
                        struct caret__rand *rand)
{
    int i = (int)caret__rand_below(rand, SESSIONS), n = (int)caret__rand_below(rand, NAMES);
    unsigned dice = (unsigned)caret__rand_below(rand, 100);
    const struct name *name = &m->names[n];

    if (m->s[i].n > TAKES - 10 || m->s[i].ncarried > TAKES / 8 || dice == 0) {
        assert_int_equal(caret__lock_release_all(e, &s[i]), OK);
        m->s[i].n = m->s[i].ncarried = 0;
    } else if (dice < 40) {
        bool free = free_for(m, i, n);

        assert_int_equal(caret__lock_take(e, &s[i], name->key, name->len, 0), free ? OK : BLOCKED);
        if (free)
            model_take(m, i, n);
    } else if (dice < 85) {
        if (m->s[i].n > 0 && dice > 50)
            n = m->s[i].takes[caret__rand_below(rand, m->s[i].n)].name;
        name = &m->names[n];
        assert_int_equal(caret__lock_release(e, &s[i], name->key, name->len), model_release(m, i, n));
    } else if (dice < 95) {
        random_transaction_step(e, m, &s[i], i, (unsigned)caret__rand_below(rand, 4));
    } else {
        random_take_all(e, m, &s[i], i, rand);
    }
}

struct against {
    struct model *m;
    struct caret__locker *s;
    unsigned counts;
};

/* A lock held is held so often by the model's session. */
static bool compare_lock(void *arg, const struct caret__lock_info *lock)
{
    struct against *a = arg;
    struct name n = {.len = lock->len};
    unsigned count = 0;

    memcpy(n.key, lock->key, lock->len);
    for (int i = 0; i < SESSIONS; i++) {
        const struct model_session *s = &a->m->s[i];

        if (a->s[i].id != lock->owner)
            continue;
        for (unsigned k = 0; k < s->n; k++)
            count += same_name(&a->m->names[s->takes[k].name], &n);
        for (unsigned k = 0; k < s->ncarried; k++)
            count += same_name(&a->m->names[s->carried[k]], &n);
    }
    assert_int_equal(lock->count, count);
    a->counts += count;
    return true;
}

static void compare_all(struct caret__engine *e, struct model *m, struct caret__locker *s)
{
    struct against a = {m, s, 0};
    unsigned counts = 0;

    for (int i = 0; i < SESSIONS; i++)
        counts += m->s[i].n + m->s[i].ncarried;
    assert_int_equal(caret__lock_list(e, compare_lock, &a), OK);
    assert_int_equal(a.counts, counts);
    check_locks(e);
}

static void random_operations_agree_with_a_model(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[SESSIONS];
    struct model *m = calloc(1, sizeof *m);
    struct caret__rand rand;
    const char *seed = getenv("CARET_SEED");

    caret__rand_seed(&rand, seed != NULL ? strtoull(seed, NULL, 0) : 42);
    make_names(m);
    for (int i = 0; i < SESSIONS; i++)
        caret__locker_init(e, &s[i]);
    for (int step = 0; step < 60000; step++) {
        random_step(e, m, s, &rand);
        if (step % 50 == 0)
            compare_all(e, m, s);
    }
    end_sessions(e, s, SESSIONS);
    free(m);
}

/* ---- several threads in one session: what others do while one sleeps is done in its hook */

struct meanwhile {
    struct caret__engine *e;
    struct caret__locker *s;
    unsigned sleeps;
};

static void fill_the_list(void *arg)
{
    struct meanwhile *m = arg;
    char zwr[20];

    if (m->sleeps++ != 0)
        return;
    for (unsigned i = 0; m->s[0].n < m->s[0].cap; i++) {
        snprintf(zwr, sizeof zwr, "^many(%u)", i);
        assert_int_equal(take(m->e, &m->s[0], zwr, 0), OK);
    }
    assert_int_equal(give(m->e, &m->s[1], "^held"), OK);
}

static void has_slept(void *arg)
{
    (void)arg;
}

static void others_use_a_session_that_sleeps(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[2];
    struct meanwhile m = {e, s, 0};
    const struct caret__lock_hooks hooks = {fill_the_list, has_slept, &m};

    caret__locker_init(e, &s[0]);
    caret__locker_init(e, &s[1]);
    s[0].hooks = &hooks;
    assert_int_equal(take(e, &s[1], "^held", 0), OK);
    assert_int_equal(take(e, &s[0], "^held", FOREVER), OK);
    assert_int_not_equal(m.sleeps, 0);
    assert_in_range(s[0].n, 2, s[0].cap);
    check_locks(e);
    end_sessions(e, s, 2);
}

/* s[0] waits for s[1], and in another thread for s[2], which waits for s[0]. */
static void wait_beside(void *arg)
{
    struct meanwhile *m = arg;

    switch (m->sleeps++) {
    case 0:
        assert_int_equal(take(m->e, &m->s[0], "^c", FOREVER), OK);
        assert_int_equal(give(m->e, &m->s[1], "^b"), OK);
        break;
    case 1:
        assert_int_equal(take(m->e, &m->s[2], "^a", 50000000), CARET_DEADLOCK);
        assert_int_equal(give(m->e, &m->s[2], "^c"), OK);
        break;
    default: break;
    }
}

static void a_ring_goes_through_each_wait_of_a_session(void **state)
{
    struct caret__engine *e = ((struct fixture *)*state)->e;
    struct caret__locker s[3];
    struct meanwhile m = {e, s, 0};
    const struct caret__lock_hooks hooks = {wait_beside, has_slept, &m};

    for (int i = 0; i < 3; i++)
        caret__locker_init(e, &s[i]);
    s[0].hooks = &hooks;
    assert_int_equal(take(e, &s[0], "^a", 0), OK);
    assert_int_equal(take(e, &s[1], "^b", 0), OK);
    assert_int_equal(take(e, &s[2], "^c", 0), OK);
    assert_int_equal(take(e, &s[0], "^b", FOREVER), OK);
    assert_in_range(m.sleeps, 2, UINT32_MAX);
    check_locks(e);
    end_sessions(e, s, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_excludes_ancestors_and_descendants_and_nothing_else),
        cmocka_unit_test(locks_count_and_are_released_by_their_holder_only),
        cmocka_unit_test(several_are_taken_all_or_none),
        cmocka_unit_test(rollback_releases_what_was_taken_since_the_mark),
        cmocka_unit_test(a_restart_keeps_locks_and_counts_them_once),
        cmocka_unit_test(a_local_variable_and_a_global_are_two_names),
        cmocka_unit_test(long_names_are_told_apart),
        cmocka_unit_test(names_of_the_same_hash_are_told_apart),
        cmocka_unit_test(a_damaged_name_is_told_and_goes_with_a_repair),
        cmocka_unit_test(a_full_table_refuses_and_leaves_nothing_behind),
        cmocka_unit_test(a_blocked_name_does_not_leave_with_the_idle_ones),
        cmocka_unit_test(a_cell_that_serves_others_is_not_believed),
        cmocka_unit_test(others_use_a_session_that_sleeps),
        cmocka_unit_test(a_ring_goes_through_each_wait_of_a_session),
        cmocka_unit_test(random_operations_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, locks_setup, locks_teardown);
}
