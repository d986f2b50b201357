/*
 * Random calls, good and bad, beside a model of what YottaDB answers: the return code, the length, what was written
 * and what was left alone.  The model is a sorted list of nodes and, for what is wrong with the arguments, the order in
 * which they are looked at.  It knows nothing of the library.
 *
 * CARET_YDB_CALLS: how many (make torture: millions).  CARET_SEED: others than the usual ones.
 */
#include "yottadb/api.h"

#define DEEPEST 3
#define NODES   4096
#define ROOM    64
#define LONG    1500 /* bytes that follow the last few words, of locals only, in one of the tests */
#define LEFT    77   /* what len_used is before, and stays if it is left alone */

/* ---------------------------------------------------------------------- dice */

static uint64_t seed = 1;

static unsigned dice(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 24) % n;
}

static bool once_in(unsigned n)
{
    return dice(n) == 0;
}

/* --------------------------------------------------------------------- model */

/* In the order of the database. */
static const char *words[] = {"",   "-10", "-1",  "-.5", "0", ".5", "1", "2",
                              "10", "01",  "1.0", "A",   "a", "aa", "b"};
#define WORDS ((int)(sizeof words / sizeof *words))
#define LAST  11           /* they may be long */
static size_t room = ROOM; /* of results */
static int first_name;

static const char *const names[] = {"^a", "^ab", "a", "ab"};
#define NAMES 4

struct node {
    int name, depth, sub[DEEPEST];
    char value[ROOM];
};

static struct node nodes[NODES];
static int count;

/* By variable, then by subscripts, a node before those below it. */
static int compare(const struct node *x, const struct node *y)
{
    if (x->name != y->name)
        return x->name - y->name;
    for (int i = 0; i < x->depth && i < y->depth; i++)
        if (x->sub[i] != y->sub[i])
            return x->sub[i] - y->sub[i];
    return x->depth - y->depth;
}

/* The first that is not before it. */
static int place(const struct node *n)
{
    int i = 0;

    while (i < count && compare(&nodes[i], n) < 0)
        i++;
    return i;
}

static struct node *found(const struct node *n)
{
    int i = place(n);

    return i < count && compare(&nodes[i], n) == 0 ? &nodes[i] : NULL;
}

static bool is_below(const struct node *n, const struct node *top)
{
    return n->name == top->name && n->depth > top->depth &&
           memcmp(n->sub, top->sub, (size_t)top->depth * sizeof *n->sub) == 0;
}

static void put_value(const struct node *n, const char *value)
{
    int i = place(n);

    if (i == count || compare(&nodes[i], n) != 0) {
        memmove(&nodes[i + 1], &nodes[i], (size_t)(count++ - i) * sizeof *nodes);
        nodes[i] = *n;
    }
    snprintf(nodes[i].value, sizeof nodes[i].value, "%s", value);
}

static void remove_those(const struct node *n, bool tree)
{
    int kept = 0;

    for (int i = 0; i < count; i++)
        if (compare(&nodes[i], n) != 0 && !(tree && is_below(&nodes[i], n)))
            nodes[kept++] = nodes[i];
    count = kept;
}

/* ----------------------------------------------------------------- arguments */

enum use { GET, SET, OTHER };

struct call {
    ydb_buffer_t name, sub[DEEPEST + 1];
    const ydb_buffer_t *v, *s;
    int n;
    struct node node;
    int wrong_name, wrong_subs; /* 0: nothing */
};

static void name_of(struct call *c, enum use use)
{
    static const struct {
        const char *name;
        int get, set, other;
    } bad[] = {
        {"", YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME},
        {"1a", YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME},
        {"^", YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME},
        {"a-b", YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME},
        {"$", YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME, YDB_ERR_INVVARNAME},
        {"^abcdefghijklmnopqrstuvwxyz01234567", YDB_ERR_VARNAME2LONG, YDB_ERR_VARNAME2LONG,
         YDB_ERR_VARNAME2LONG},
        {"$nosuch", YDB_ERR_INVSVN, YDB_ERR_INVSVN, YDB_ERR_INVSVN},
        {"$JOB", 0, YDB_ERR_SVNOSET, YDB_ERR_ISVUNSUPPORTED},
    };

    c->v = &c->name;
    c->wrong_name = 0;
    c->node.name = first_name + (int)dice(NAMES - (unsigned)first_name);
    c->name = b(names[c->node.name]);
    if (!once_in(12))
        return;
    unsigned i = dice(10);
    if (i >= 8) {
        c->name = i == 8 ? (ydb_buffer_t){1, 2, c->name.buf_addr} : (ydb_buffer_t){2, 2, NULL};
        c->wrong_name = YDB_ERR_INVVARNAME;
        return;
    }
    if (i == 7 && use == GET) /* it has a value that differs from run to run */
        return;
    c->name = b(bad[i].name);
    c->wrong_name = use == GET ? bad[i].get : use == SET ? bad[i].set : bad[i].other;
    if (i >= 6 && c->n > 0 && c->wrong_name != YDB_ERR_SVNOSET)
        c->wrong_name = YDB_ERR_ISVSUBSCRIPTED;
}

static void subs_of(struct call *c)
{
    c->n = (int)dice(DEEPEST + 1);
    c->s = c->sub;
    c->wrong_subs = 0;
    c->node.depth = c->n;
    for (int i = 0; i < c->n; i++) {
        c->node.sub[i] = (int)dice(WORDS);
        c->sub[i] = b(words[c->node.sub[i]]);
    }
    if (c->n == 0 && once_in(2))
        c->s = NULL;
    if (c->n == 0 || !once_in(12))
        return;
    unsigned bad = dice(4), at = dice((unsigned)c->n);
    if (bad == 0)
        c->s = NULL;
    else
        c->sub[at] = bad == 1 ? (ydb_buffer_t){1, 2, c->sub[at].buf_addr} : (ydb_buffer_t){2, 2, NULL};
    c->wrong_subs = bad == 0 ? YDB_ERR_SUBSARRAYNULL : YDB_ERR_PARAMINVALID;
}

/* The number of them comes between the name and the buffers. */
static int wrong_number(struct call *c)
{
    if (!once_in(30))
        return 0;
    c->n = once_in(2) ? -1 - (int)dice(3) : YDB_MAX_SUBS + 1 + (int)dice(3);
    return c->n < 0 ? YDB_ERR_MINNRSUBSCRIPTS : YDB_ERR_MAXNRSUBSCRIPTS;
}

/* What is wrong, `other` being what there is to say between the number of subscripts and the buffers. */
static int wrong(struct call *c, enum use use, int other)
{
    int number;

    subs_of(c);
    number = wrong_number(c);
    name_of(c, use);
    return c->wrong_name != 0 ? c->wrong_name : number != 0 ? number : other != 0 ? other : c->wrong_subs;
}

/* ------------------------------------------------------------------- results */

struct result {
    ydb_buffer_t buf;
    char room[LONG + ROOM];
};

static ydb_buffer_t *result(struct result *r)
{
    memset(r->room, '#', room);
    r->buf = (ydb_buffer_t){once_in(3) ? dice(4) : (unsigned)room, LEFT, once_in(20) ? NULL : r->room};
    return &r->buf;
}

/* What storing it answers. */
static int storing(const struct result *r, size_t len)
{
    return len > r->buf.len_alloc                ? YDB_ERR_INVSTRLEN
           : len != 0 && r->buf.buf_addr == NULL ? YDB_ERR_PARAMINVALID
                                                 : YDB_OK;
}

/* Nothing was written from there on. */
static void blank(const struct result *r, size_t from)
{
    assert_int_equal(r->room[from], '#');
    assert_memory_equal(r->room + from, r->room + from + 1, room - from - 1);
}

static void left_alone(const struct result *r)
{
    assert_int_equal(r->buf.len_used, LEFT);
    blank(r, 0);
}

static void stored(const struct result *r, int rc, const char *text)
{
    size_t len = strlen(text), written = rc == YDB_OK ? len : 0;

    assert_int_equal(r->buf.len_used, len);
    assert_memory_equal(r->room, text, written);
    blank(r, written);
}

static int undefined(const struct call *c)
{
    return names[c->node.name][0] == '^' ? YDB_ERR_GVUNDEF : YDB_ERR_LVUNDEF;
}

/* --------------------------------------------------------------------- calls */

static void try_get(struct call *c)
{
    struct result r;
    ydb_buffer_t *ret = once_in(20) ? NULL : result(&r);
    int expected = wrong(c, GET, ret == NULL ? YDB_ERR_PARAMINVALID : 0), rc = get(c->v, c->n, c->s, ret);
    const struct node *n = expected == 0 ? found(&c->node) : NULL;

    if (expected == 0 && n == NULL)
        expected = undefined(c);
    if (n != NULL) {
        assert_int_equal(rc, storing(&r, strlen(n->value)));
        stored(&r, rc, n->value);
        return;
    }
    assert_int_equal(rc, expected);
    if (ret != NULL)
        left_alone(&r);
}

static void try_set(struct call *c)
{
    static const char *const values[] = {"", "5", "-3", "x", "12 apples", "longer than a few", "1E2"};
    const char *text = values[dice(7)];
    ydb_buffer_t value = b(text);
    bool bad = once_in(30);

    if (bad)
        value = once_in(2) ? (ydb_buffer_t){0, 1, value.buf_addr} : (ydb_buffer_t){3, 3, NULL};
    bool null = !bad && once_in(10);
    int expected = wrong(c, SET, 0);
    if (expected == 0 && bad)
        expected = YDB_ERR_PARAMINVALID;
    assert_int_equal(set(c->v, c->n, c->s, null ? NULL : &value), expected);
    if (expected == 0)
        put_value(&c->node, null ? "" : text);
}

static void try_data(struct call *c)
{
    unsigned got = 99, *ret = once_in(20) ? NULL : &got, model = 0;
    int expected = wrong(c, OTHER, ret == NULL ? YDB_ERR_PARAMINVALID : 0);

    assert_int_equal(data(c->v, c->n, c->s, ret), expected);
    if (expected == 0) {
        for (int i = 0; i < count; i++)
            if (is_below(&nodes[i], &c->node))
                model = 10;
        model += found(&c->node) != NULL;
    }
    assert_int_equal(got, expected == 0 ? model : 99);
}

static void try_delete(struct call *c)
{
    int type = once_in(15) ? (int)dice(2) * 3 : 1 + (int)dice(2);
    int expected = wrong(c, OTHER, type != 1 && type != 2 ? YDB_ERR_UNIMPLOP : 0);

    assert_int_equal(delete (c->v, c->n, c->s, type), expected);
    if (expected == 0)
        remove_those(&c->node, type == YDB_DEL_TREE);
}

/* Of the values and increments here. */
static long number(const char *text)
{
    return strcmp(text, "1E2") == 0 ? 100 : strtol(text, NULL, 10);
}

static void try_incr(struct call *c)
{
    static const char *const steps[] = {"", "7", "-100", "apples", "3 pears"};
    struct result r;
    unsigned which = dice(6);
    ydb_buffer_t step = b(steps[which % 5]), *by = which == 5 ? NULL : &step;
    ydb_buffer_t *ret = once_in(20) ? NULL : result(&r);
    bool bad = once_in(30);
    char sum[ROOM];

    if (bad)
        step = (ydb_buffer_t){3, 3, NULL}, by = &step;
    int expected = wrong(c, OTHER, ret == NULL ? YDB_ERR_PARAMINVALID : 0);
    if (expected == 0 && bad)
        expected = YDB_ERR_PARAMINVALID;
    int rc = incr(c->v, c->n, c->s, by, ret);
    if (expected != 0) {
        assert_int_equal(rc, expected);
        if (ret != NULL)
            left_alone(&r);
        return;
    }
    const struct node *n = found(&c->node);
    long more = by == NULL || which == 0 ? 1 : number(steps[which]);
    snprintf(sum, sizeof sum, "%ld", (n != NULL ? number(n->value) : 0) + more);
    assert_int_equal(rc, storing(&r, strlen(sum)));
    stored(&r, rc, sum);
    if (rc == YDB_OK) /* what can't be told is not stored either */
        put_value(&c->node, sum);
}

/* The subscript of the next or previous sibling in the model, -1: there is none. */
static int sibling(const struct node *n, bool back)
{
    struct node top = *n;
    int best = -1, from = n->sub[n->depth - 1];

    top.depth--;
    if (back && from == 0)
        from = WORDS;
    for (int i = 0; i < count; i++) {
        if (!is_below(&nodes[i], &top))
            continue;
        int sub = nodes[i].sub[top.depth];
        if (sub != 0 && (back ? sub < from && sub > best : sub > from && (best < 0 || sub < best)))
            best = sub;
    }
    return best;
}

/* Variables of the same kind. */
static int variable(const struct node *n, bool back)
{
    int best = -1;

    for (int i = 0; i < count; i++) {
        int name = nodes[i].name;
        if (name / 2 == n->name / 2 &&
            (back ? name < n->name && name > best : name > n->name && (best < 0 || name < best)))
            best = name;
    }
    return best;
}

static void try_sibling(struct call *c, bool back)
{
    struct result r;
    ydb_buffer_t *ret = once_in(20) ? NULL : result(&r);
    int expected = wrong(c, OTHER, ret == NULL ? YDB_ERR_PARAMINVALID : 0);
    int rc = back ? sub_previous(c->v, c->n, c->s, ret) : sub_next(c->v, c->n, c->s, ret);
    int next = expected != 0 ? -1 : c->n == 0 ? variable(&c->node, back) : sibling(&c->node, back);

    if (next < 0) {
        assert_int_equal(rc, expected != 0 ? expected : YDB_ERR_NODEEND);
        if (ret != NULL)
            left_alone(&r);
        return;
    }
    const char *text = c->n == 0 ? names[next] : words[next];
    assert_int_equal(rc, storing(&r, strlen(text)));
    stored(&r, rc, text);
}

/* The node of the model that is next or previous, NULL: there is none. */
static const struct node *neighbour(const struct node *n, bool back)
{
    int i = place(n);

    if (!back && i < count && compare(&nodes[i], n) == 0)
        i++;
    if (back)
        i--;
    return i >= 0 && i < count && nodes[i].name == n->name ? &nodes[i] : NULL;
}

/* The subscripts up to the one that can't be stored. */
static void path_stored(const struct result *r, const struct node *next, int rc, int n)
{
    int i = 0, status = YDB_OK;

    for (; i < next->depth && status == YDB_OK; i++) {
        status = storing(&r[i], strlen(words[next->sub[i]]));
        stored(&r[i], status, words[next->sub[i]]);
    }
    assert_int_equal(rc, status);
    assert_int_equal(n, status == YDB_OK ? next->depth : i - 1);
    for (; i < DEEPEST + 1; i++)
        left_alone(&r[i]);
}

static void try_step(struct call *c, bool back)
{
    struct result r[DEEPEST + 1];
    ydb_buffer_t bufs[DEEPEST + 1], *ret = once_in(20) ? NULL : bufs;
    int most = once_in(3) ? (int)dice(4) - 1 : DEEPEST + 1, n = most, *ret_n = once_in(20) ? NULL : &n;

    for (int i = 0; i < DEEPEST + 1; i++)
        bufs[i] = *result(&r[i]);
    int expected = wrong(c, OTHER, ret_n == NULL ? YDB_ERR_PARAMINVALID : 0);
    int rc = back ? node_previous(c->v, c->n, c->s, ret_n, ret) : node_next(c->v, c->n, c->s, ret_n, ret);
    for (int i = 0; i < DEEPEST + 1; i++)
        r[i].buf = bufs[i];
    const struct node *next = expected == 0 ? neighbour(&c->node, back) : NULL;
    if (next != NULL && next->depth <= most && (ret != NULL || next->depth == 0)) {
        path_stored(r, next, rc, n);
        return;
    }
    for (int i = 0; i < DEEPEST + 1; i++)
        left_alone(&r[i]);
    if (expected != 0) {
        assert_int_equal(rc, expected);
        assert_int_equal(n, most);
    } else {
        assert_int_equal(rc, next == NULL         ? YDB_ERR_NODEEND
                             : next->depth > most ? YDB_ERR_INSUFFSUBS
                                                  : YDB_ERR_PARAMINVALID);
        assert_int_equal(n, next == NULL ? 0 : next->depth);
    }
}

static void try_one(void)
{
    struct call c;

    mode = once_in(2) ? &modes[0] : &modes[2]; /* ..._s and ..._st in turn; the name says what it is */
    switch (dice(12)) {
    case 0: try_get(&c); break;
    case 1:
    case 2:
    case 3: try_set(&c); break;
    case 4: try_data(&c); break;
    case 5:
        if (once_in(3))
            try_delete(&c);
        break;
    case 6:
    case 7: try_incr(&c); break;
    case 8: try_sibling(&c, false); break;
    case 9: try_sibling(&c, true); break;
    case 10: try_step(&c, false); break;
    default: try_step(&c, true);
    }
}

static void try_many(long n)
{
    const char *other = getenv("CARET_SEED");

    seed = other != NULL ? 2 * strtoull(other, NULL, 10) + 1 : 20261122;
    print_message("seed %llu, %ld calls\n", (unsigned long long)seed, n);
    for (long i = 0; i < n; i++) {
        if (count > 300 || (first_name != 0 && once_in(300))) {
            struct node top = {.name = first_name + (int)dice(NAMES - (unsigned)first_name)};
            ydb_buffer_t v = b(names[top.name]);
            assert_int_equal(ydb_delete_s(&v, 0, NULL, YDB_DEL_TREE), YDB_OK);
            remove_those(&top, true);
        }
        try_one();
    }
}

static long calls(void)
{
    const char *calls = getenv("CARET_YDB_CALLS");

    return calls != NULL ? strtol(calls, NULL, 10) : 100000;
}

static void answers_as_the_model_does(void **state)
{
    (void)state;
    try_many(calls());
}

/* Variables go from the engine to the list, and begin again in the engine when they were killed. */
static void answers_so_about_long_keys_of_locals(void **state)
{
    static char longer[WORDS - LAST][LONG + 8];

    (void)state;
    count = 0;
    first_name = 2;
    room = LONG + ROOM;
    for (int i = LAST; i < WORDS; i++) {
        char *word = longer[i - LAST];
        size_t len = strlen(words[i]);
        memcpy(word, words[i], len);
        memset(word + len, '!', LONG); /* it keeps their order */
        words[i] = word;
    }
    try_many(calls() / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ONCE(answers_as_the_model_does),
                                       ONCE(answers_so_about_long_keys_of_locals)};

    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
