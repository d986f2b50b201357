/* The driver for PostgreSQL: reads, walks, commits, transactions, and what it says when it can't. */
#include "store/fixture.h"

#include <pthread.h>

#include "shm/engine.h"

/* ---- single calls ---- */

static void a_value_set_is_read_by_others(void **state)
{
    struct fixture *f = *state;

    assert_value(f->b, "a", NULL);
    assert_int_equal(put(f->a, "a", "1"), CARET_OK);
    assert_value(f->b, "a", "1");
    assert_int_equal(put(f->b, "a", ""), CARET_OK);
    assert_value(f->a, "a", "");
}

static void a_commit_kills_deletes_and_sets_in_this_order(void **state)
{
    struct fixture *f = *state;
    struct caret__store_op ops[] = {set_op("a1", "x"), set_op("a2", "x"), set_op("b1", "x"),
                                    set_op("c", "x")};
    struct caret__store_op changes[] = {{CARET__STORE_KILL, bytes("a"), bytes("b")},
                                        {CARET__STORE_DELETE, bytes("b1"), {NULL, 0}},
                                        set_op("a2", "y"),
                                        set_op("d", "y")};

    assert_int_equal(S.commit(f->a, ops, 4, 0), CARET_OK);
    assert_int_equal(S.commit(f->a, changes, 4, 0), CARET_OK);
    assert_value(f->b, "a1", NULL);
    assert_value(f->b, "a2", "y");
    assert_value(f->b, "b1", NULL);
    assert_value(f->b, "c", "x");
    assert_value(f->b, "d", "y");
}

static void a_value_of_16_mib_comes_back(void **state)
{
    struct fixture *f = *state;
    size_t n = 16u << 20;
    uint8_t *big = malloc(n);
    struct caret__rand r;
    struct caret__store_op op = {CARET__STORE_SET, bytes("big"), {big, n}};
    struct caret__bytes v;

    caret__rand_seed(&r, 7);
    caret__rand_bytes(&r, big, n);
    assert_int_equal(S.commit(f->a, &op, 1, 0), CARET_OK);
    assert_int_equal(S.get(f->b, bytes("big"), &v), CARET_OK);
    assert_int_equal(v.len, n);
    assert_memory_equal(v.data, big, n);
    free(big);
}

/* ---- many, ranges, walks ---- */

#define NODES 3000

static void fill(struct fixture *f)
{
    static char keys[NODES][16];
    struct caret__store_op *ops = calloc(NODES, sizeof *ops);

    for (int i = 0; i < NODES; i++) {
        snprintf(keys[i], sizeof keys[i], "k%05d", i);
        ops[i] = set_op(keys[i], keys[i]);
    }
    assert_int_equal(S.commit(f->a, ops, NODES, 0), CARET_OK);
    free(ops);
}

static int count_each(void *ctx, size_t index, struct caret__bytes key, struct caret__bytes value)
{
    size_t *n = ctx;
    char expected[16];

    snprintf(expected, sizeof expected, "k%05zu", index);
    assert_int_equal(index, *n);
    assert_memory_equal(key.data, expected, 6);
    assert_int_equal(value.len, 6);
    if (value.data != NULL)
        assert_memory_equal(value.data, expected, 6);
    (*n)++;
    return CARET_OK;
}

static void a_range_tells_each_key_once_in_order(void **state)
{
    struct fixture *f = *state;
    static const size_t most[] = {0, 1, 500, 1024, 2500}, told[] = {NODES, 1, 500, 1024, 2500};

    fill(f);
    for (int txn = 0; txn < 2; txn++)
        for (int i = 0; i < 5; i++) {
            size_t n = 0;
            if (txn)
                assert_int_equal(S.begin(f->b, CARET__STORE_SERIAL, 0), CARET_OK);
            assert_int_equal(S.range(f->b, bytes("k"), bytes("l"), most[i], i % 2 == 0, count_each, &n),
                             CARET_OK);
            assert_int_equal(n, told[i]);
            if (txn)
                assert_int_equal(S.commit(f->b, NULL, 0, 0), CARET_OK);
        }
}

static int mark_each(void *ctx, size_t index, struct caret__bytes key, struct caret__bytes value)
{
    int *seen = ctx;

    assert_int_equal(key.len, value.len);
    seen[index]++;
    return CARET_OK;
}

static void many_are_told_by_their_index(void **state)
{
    struct fixture *f = *state;
    struct caret__bytes keys[] = {bytes("a"), bytes("k00001"), bytes("k00002"), bytes("k1"), bytes("k02999")};
    struct caret__bytes swap = keys[3];
    int seen[5] = {0};

    keys[3] = keys[4];
    keys[4] = swap;
    fill(f);
    assert_int_equal(S.get_many(f->b, keys, 5, mark_each, seen), CARET_OK);
    assert_int_equal(seen[0] + seen[4], 0);
    assert_int_equal(seen[1] + seen[2] + seen[3], 3);
}

/* Walk all, forth or back; how many there were. */
static size_t walk(void *conn, unsigned flags)
{
    uint8_t from[32] = "k";
    size_t len = (flags & CARET__STORE_BACK) != 0 ? 0 : 1, n = 0;
    struct caret__bytes key, value;
    char expected[16];
    int rc;

    while ((rc = S.step(conn, (struct caret__bytes){from, len}, flags, &key, &value)) == CARET_OK) {
        snprintf(expected, sizeof expected, "k%05zu", (flags & CARET__STORE_BACK) != 0 ? NODES - 1 - n : n);
        assert_int_equal(key.len, 6);
        assert_memory_equal(key.data, expected, 6);
        if ((flags & CARET__STORE_VALUE) != 0)
            assert_memory_equal(value.data, expected, 6);
        memcpy(from, key.data, key.len);
        from[key.len] = n % 2 != 0 ? 0xff : 0;
        len = key.len + ((flags & CARET__STORE_BACK) == 0);
        n++;
    }
    assert_int_equal(rc, CARET_NONE);
    return n;
}

static void walks_meet_each_key_and_take_few_trips(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *c = f->b;

    fill(f);
    for (unsigned i = 0; i < 8; i++) {
        unsigned flags = (i & 1 ? CARET__STORE_BACK : 0) | (i & 2 ? CARET__STORE_VALUE : 0);
        uint64_t trips = c->data.trips;
        if (i & 4)
            assert_int_equal(S.begin(c, CARET__STORE_SERIAL, 0), CARET_OK);
        assert_int_equal(walk(c, flags), NODES);
        if (i & 4)
            S.rollback(c);
        if (i & 4) /* outside, what was read ahead is soon too old */
            assert_in_range(c->data.trips - trips, 1, 40);
    }
}

static void a_walk_over_wide_children_seeks(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *c = f->b;
    enum { PARENTS = 100, CHILDREN = 500 };
    struct caret__store_op *ops = calloc(PARENTS * CHILDREN, sizeof *ops);
    char(*keys)[16] = calloc(PARENTS * CHILDREN, sizeof *keys);

    for (int i = 0; i < PARENTS * CHILDREN; i++) {
        snprintf(keys[i], sizeof keys[i], "k%03d%c%03d", i / CHILDREN, i % CHILDREN ? 1 : 0, i % CHILDREN);
        ops[i] = set_op(keys[i], "x");
    }
    assert_int_equal(S.commit(f->a, ops, PARENTS * CHILDREN, 0), CARET_OK);
    uint64_t trips = c->data.trips;
    uint8_t from[32] = "k";
    size_t len = 1, n = 0;
    struct caret__bytes key;
    while (S.step(c, (struct caret__bytes){from, len}, 0, &key, NULL) == CARET_OK) {
        memcpy(from, key.data, 4);
        from[4] = 0xff;
        len = 5;
        n++;
    }
    assert_int_equal(n, PARENTS);
    assert_in_range(c->data.trips - trips, 1, PARENTS + 10);
    free(ops);
    free(keys);
}

static void what_was_read_ahead_ends_with_a_write(void **state)
{
    struct fixture *f = *state;
    struct caret__bytes key;
    struct caret__store_op kill = {CARET__STORE_KILL, bytes("k"), bytes("k01000")};

    fill(f);
    assert_int_equal(S.step(f->b, bytes("k"), 0, &key, NULL), CARET_OK);
    for (char next[8] = "k00000"; next[5] < '9'; next[5]++) {
        char from[8];
        snprintf(from, sizeof from, "%.6s\xff", next);
        assert_int_equal(S.step(f->b, bytes(from), 0, &key, NULL), CARET_OK);
        assert_int_equal(key.data[5], next[5] + 1);
    }
    assert_int_equal(S.commit(f->a, &kill, 1, 0), CARET_OK);
    assert_int_equal(S.step(f->b, bytes("k00009\xff"), 0, &key, NULL), CARET_OK);
    assert_memory_equal(key.data, "k01000", 6);
}

/* ---- transactions ---- */

static void a_transaction_reads_one_state(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(put(f->a, "a", "1"), CARET_OK);
    assert_int_equal(put(f->a, "b", "1"), CARET_OK);
    for (int how = 0; how <= CARET__STORE_READS; how += CARET__STORE_READS) {
        assert_int_equal(S.begin(f->b, how, 0), CARET_OK);
        assert_value(f->b, "a", "1");
        assert_int_equal(put(f->a, "b", "2"), CARET_OK);
        assert_value(f->b, "b", "1");
        assert_int_equal(S.commit(f->b, NULL, 0, 0), CARET_OK);
        assert_value(f->b, "b", "2");
        assert_int_equal(put(f->a, "b", "1"), CARET_OK);
    }
}

/* Write skew: each reads what the other writes. */
static void of_two_that_read_what_the_other_writes_one_restarts(void **state)
{
    struct fixture *f = *state;
    struct caret__store_op a = set_op("a", "0"), b = set_op("b", "0");

    assert_int_equal(put(f->a, "a", "1"), CARET_OK);
    assert_int_equal(put(f->a, "b", "1"), CARET_OK);
    assert_int_equal(S.begin(f->a, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_int_equal(S.begin(f->b, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_value(f->a, "a", "1");
    assert_value(f->a, "b", "1");
    assert_value(f->b, "a", "1");
    assert_value(f->b, "b", "1");
    int one = S.commit(f->a, &a, 1, 0), two = S.commit(f->b, &b, 1, 0);
    if (one < 0 || two < 0)
        print_message("%s\n", caret_message());
    assert_int_equal(one + two, CARET_RESTART);
}

static void a_restarted_one_makes_others_wait(void **state)
{
    struct fixture *f = *state;
    struct caret__store_op op = set_op("a", "2");

    assert_int_equal(put(f->a, "a", "1"), CARET_OK);
    assert_int_equal(S.begin(f->b, CARET__STORE_SERIAL, 3), CARET_OK);
    assert_value(f->b, "a", "1");
    struct caret__link *l = &((struct caret__pg_conn *)f->a)->data;
    char text[160];
    snprintf(text, sizeof text, "select 1 from %s.nodes where k = 'a' for update nowait", l->way->schema);
    caret__link_add_text(l, text, 0, NULL);
    assert_int_equal(caret__link_run(l), CARET__LINK_FAILED);
    assert_string_equal(l->state, "55P03");
    assert_int_equal(S.commit(f->b, &op, 1, 0), CARET_OK);
    assert_value(f->a, "a", "2");
}

static void a_transaction_given_up_leaves_nothing(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(put(f->a, "a", "1"), CARET_OK);
    assert_int_equal(S.begin(f->b, CARET__STORE_ALONE, 0), CARET_OK);
    assert_value(f->b, "a", "1");
    S.rollback(f->b);
    assert_int_equal(put(f->a, "a", "2"), CARET_OK);
    assert_value(f->b, "a", "2");
}

/* ---- connections that are lost ---- */

static void outside_of_transactions_a_lost_connection_is_not_noticed(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *a = f->a, *b = f->b;

    assert_int_equal(put(b, "a", "1"), CARET_OK);
    cut(&a->data, &b->data);
    assert_value(b, "a", "1");
    cut(&a->data, &b->data);
    assert_int_equal(put(b, "a", "2"), CARET_OK);
    assert_value(a, "a", "2");
}

static void within_one_it_is_a_restart(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *a = f->a, *b = f->b;
    struct caret__store_op op = set_op("a", "2");
    struct caret__bytes v;

    assert_int_equal(put(b, "a", "1"), CARET_OK);
    for (int at_commit = 0; at_commit < 2; at_commit++) {
        assert_int_equal(S.begin(b, CARET__STORE_SERIAL, 0), CARET_OK);
        assert_value(b, "a", "1");
        cut(&a->data, &b->data);
        if (!at_commit) {
            assert_int_equal(S.get(b, bytes("b"), &v), CARET_RESTART);
            assert_int_equal(S.get(b, bytes("b"), &v), CARET_RESTART);
            S.rollback(b);
        } else {
            assert_int_equal(S.commit(b, &op, 1, 0), CARET_RESTART);
        }
        assert_value(a, "a", "1");
        assert_value(b, "a", "1");
    }
}

/* A commit whose answer is lost: the transaction is done by hand, up to `done`, then the driver asks. */
static void the_token_tells_what_became_of_a_commit(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *a = f->a, *b = f->b;
    const struct caret__param token = {"0123456789abcdef", 16}, other = {"0123456789abcdeg", 16};

    assert_int_equal(put(b, "x", "1"), CARET_OK);
    caret__link_add(&b->data, CARET__SQL_TOKEN, &token);
    assert_int_equal(caret__link_run(&b->data), CARET_OK);
    caret__link_add(&a->data, CARET__SQL_RESOLVE, &token);
    assert_int_equal(caret__link_run(&a->data), CARET_OK);
    assert_int_equal(*caret__pq.value(caret__link_rows(&a->data, 0), 0, 0), 'c');
    caret__link_add(&a->data, CARET__SQL_RESOLVE, &other);
    assert_int_equal(caret__link_run(&a->data), CARET_OK);
    assert_int_equal(*caret__pq.value(caret__link_rows(&a->data, 0), 0, 0), 'a');
    caret__link_add(&b->data, CARET__SQL_TOKEN, &other); /* fenced */
    assert_int_equal(caret__link_run(&b->data), CARET__LINK_FAILED);
    assert_string_equal(b->data.state, "23505");
}

static void tokens_that_were_answered_are_swept(void **state)
{
    struct fixture *f = *state;
    struct caret__link *l = &((struct caret__pg_conn *)f->a)->data;
    char text[128];

    for (int i = 0; i < 2200; i++)
        assert_int_equal(put(f->b, "a", "1"), CARET_OK);
    assert_value(f->b, "a", "1"); /* what was left to itself before is done then */
    snprintf(text, sizeof text, "select count(*) from %s.tokens", l->way->schema);
    caret__link_add_text(l, text, 0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
    assert_in_range(atoi(caret__pq.value(caret__link_rows(l, 0), 0, 0)), 1, 1100);
}

/* Nothing answers any more: whether the commit was done can't be found out, and nobody guesses. */
static void what_can_not_be_found_out_is_unknown(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_conn *a = f->a, *b = f->b;
    struct caret__link_way nowhere = a->db->way;
    struct caret__store_op op = set_op("a", "2");

    assert_int_equal(put(b, "a", "1"), CARET_OK);
    nowhere.address = "postgresql://nobody@%2Fnowhere/none";
    a->db->way.patience_ns = 50000000;
    assert_int_equal(S.begin(b, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_value(b, "a", "1");
    cut(&a->data, &b->data);
    b->data.way = &nowhere;
    assert_int_equal(S.commit(b, &op, 1, 0), CARET_E_UNKNOWN);
    assert_non_null(strstr(caret_message(), "could not be found out"));
    b->data.way = &a->db->way;
    assert_value(b, "a", "1");
}

static void a_commit_can_wait_for_the_disk(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_db *own = (struct caret__pg_db *)f->db;
    struct caret__store_op op = set_op("a", "2");
    char address[600];
    struct caret__store_db *db;
    void *c;

    server_address(address, sizeof address, url, own->way.schema);
    assert_int_equal(S.open(address, &(caret_options){.sync = CARET_SYNC_OFF}, &db), CARET_OK);
    assert_int_equal(S.attach(db, NULL, NULL, &c), CARET_OK);
    assert_int_equal(S.commit(c, &op, 1, CARET__STORE_SYNC), CARET_OK);
    assert_int_equal(S.commit(c, &op, 1, CARET__STORE_BATCH), CARET_OK);
    assert_int_equal(S.sync(c), CARET_OK);
    assert_value(f->a, "a", "2");
    S.detach(c);
    S.close(db);
}

static void opened_for_reading_it_writes_nothing(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_db *own = (struct caret__pg_db *)f->db;
    char address[600];
    struct caret__store_db *db;
    void *c;

    assert_int_equal(put(f->a, "a", "1"), CARET_OK);
    server_address(address, sizeof address, url, own->way.schema);
    assert_int_equal(S.open(address, &(caret_options){.readonly = 1}, &db), CARET_OK);
    assert_int_equal(S.attach(db, NULL, NULL, &c), CARET_OK);
    assert_value(c, "a", "1");
    assert_int_equal(put(c, "a", "2"), CARET_E_READONLY);
    assert_int_equal(S.begin(c, CARET__STORE_ALONE, 4), CARET_OK);
    assert_value(c, "a", "1");
    assert_int_equal(S.commit(c, NULL, 0, 0), CARET_OK);
    S.detach(c);
    S.close(db);
}

/* ---- reads that take long ---- */

/* Nobody else can read or write until the transaction of this one is rolled back. */
static void shut(void *conn)
{
    struct caret__link *l = &((struct caret__pg_conn *)conn)->data;
    char text[128];

    snprintf(text, sizeof text, "lock table %s.nodes in access exclusive mode", l->way->schema);
    assert_int_equal(caret__link_ensure(l, UINT64_MAX), CARET_OK);
    caret__link_add_text(l, "begin", 0, NULL);
    caret__link_add_text(l, text, 0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
}

static void open_again(void *conn)
{
    struct caret__link *l = &((struct caret__pg_conn *)conn)->data;

    caret__link_add_text(l, "rollback", 0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
}

static void a_read_that_takes_long_can_be_ended(void **state)
{
    struct fixture *f = *state;
    struct caret__bytes v, key;
    int asked = 0;
    void *c;

    assert_int_equal(S.attach(f->db, says_stop, &asked, &c), CARET_OK);
    assert_int_equal(put(c, "k", "v"), CARET_OK);
    shut(f->b);
    assert_int_equal(S.get(c, bytes("k"), &v), CARET_E_INTERRUPTED);
    asked = 0;
    assert_int_equal(S.step(c, bytes("a"), 0, &key, &v), CARET_E_INTERRUPTED);
    asked = 0;
    assert_int_equal(S.begin(c, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_int_equal(S.get(c, bytes("k"), &v), CARET_E_INTERRUPTED);
    assert_int_equal(S.get(c, bytes("k"), &v), CARET_RESTART);
    S.rollback(c);
    open_again(f->b);
    assert_value(c, "k", "v");
    S.detach(c);
}

static void *puts_one(void *conn)
{
    return (void *)(intptr_t)put(conn, "k", "v");
}

static void a_commit_is_waited_for(void **state)
{
    struct fixture *f = *state;
    int asked = 1; /* it would be ended at once */
    pthread_t thread;
    void *c, *rc;

    assert_int_equal(S.attach(f->db, says_stop, &asked, &c), CARET_OK);
    shut(f->b);
    assert_int_equal(pthread_create(&thread, NULL, puts_one, c), 0);
    caret__nap(1500000000);
    open_again(f->b);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal((int)(intptr_t)rc, CARET_OK);
    assert_int_equal(asked, 1);
    assert_value(c, "k", "v");
    S.detach(c);
}

/* ---- addresses ---- */

static void assert_refused(const char *more, int code, const char *text)
{
    char address[600];
    struct caret__store_db *db;

    snprintf(address, sizeof address, "%s%c%s", url, strchr(url, '?') != NULL ? '&' : '?', more);
    assert_int_equal(S.open(address, NULL, &db), code);
    if (strstr(caret_message(), text) == NULL)
        print_message("%s\n", caret_message());
    assert_non_null(strstr(caret_message(), text));
}

static void what_an_address_can_not_say_is_refused(void **state)
{
    (void)state;
    assert_refused("caret_prefix=A", CARET_E_INVALID, "caret_prefix=A");
    assert_refused("caret_prepare=2", CARET_E_INVALID, "0 or 1");
    assert_refused("caret_changes=1", CARET_E_UNSUPPORTED, "caret_changes");
    assert_refused("connect_timeout=1m", CARET_E_INVALID, "connect_timeout=1m");
    assert_refused("caret_color=1", CARET_E_INVALID, "caret_color=1");
    assert_refused("color=1", CARET_E_OPEN, "color");
    assert_refused("user=nobody_at_all", CARET_E_OPEN, "nobody_at_all");
}

static void assert_address(const char *address, const char *shown, const char *plain)
{
    struct caret__pg_address a;

    assert_int_equal(caret__pg_address_read(address, &a), CARET_OK);
    assert_string_equal(a.shown, shown);
    assert_string_equal(a.plain, plain);
    assert_string_equal(a.schema, "f");
    free(a.plain);
    free(a.shown);
}

static void passwords_are_not_shown(void **state)
{
    (void)state;
    assert_address("postgresql://u:p%40x@h1,h2:5/d?password=s&caret_prefix=f&sslmode=require",
                   "postgresql://u@h1,h2:5/d?password=&caret_prefix=f&sslmode=require",
                   "postgresql://u:p%40x@h1,h2:5/d?password=s&sslmode=require");
    static const char *const plain[] = {"u:sec%zzret@h/d",      "u:se@cret@h/d",   "u:se/cret@h/d",
                                        "u@h?password=secret%", "u:secret%00@h/d", "u:secret@[h/d",
                                        "u:secret@[h]x/d"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        struct caret__store_db *none = NULL;
        char address[100];
        snprintf(address, sizeof address, "postgresql://%s", plain[i]);
        assert_true(S.open(address, NULL, &none) < 0);
        if (strstr(caret_message(), "sec") != NULL || strstr(caret_message(), "cret") != NULL)
            fail_msg("%s", caret_message());
    }
    assert_address("postgresql://u@h:1,i:2/d@e?caret_prefix=f", "postgresql://u@h:1,i:2/d@e?caret_prefix=f",
                   "postgresql://u@h:1,i:2/d@e");
    assert_address("postgresql://u:p?caret_x=1@h/d?caret_prefix=f", "postgresql://u@h/d?caret_prefix=f",
                   "postgresql://u:p?caret_x=1@h/d");
}

static void a_database_that_is_not_there_is_not_made(void **state)
{
    char address[600];
    struct caret__store_db *db;
    caret_options o = {.size = sizeof o, .no_create = 1};

    (void)state;
    server_address(address, sizeof address, url, "never_made");
    assert_int_equal(S.open(address, &o, &db), CARET_E_NOTFOUND);
    assert_int_equal(S.open(address, &(caret_options){.size = sizeof o, .readonly = 1}, &db),
                     CARET_E_NOTFOUND);
}

/* The same without prepared statements and settings, as through a pooler of transactions. */
static void without_prepared_statements_it_is_the_same(void **state)
{
    struct fixture *f = *state;
    struct caret__pg_db *own = (struct caret__pg_db *)f->db;
    char address[600];
    struct caret__store_db *db;
    void *c;

    server_address(address, sizeof address, url, own->way.schema);
    strcat(address, "&caret_prepare=0");
    assert_int_equal(S.open(address, NULL, &db), CARET_OK);
    assert_int_equal(S.attach(db, NULL, NULL, &c), CARET_OK);
    assert_int_equal(put(c, "a", "1"), CARET_OK);
    assert_value(f->a, "a", "1");
    assert_int_equal(S.begin(c, CARET__STORE_SERIAL, 0), CARET_OK);
    assert_value(c, "a", "1");
    assert_int_equal(put(c, "a", "2"), CARET_OK);
    assert_value(c, "a", "2");
    assert_int_equal(lock(c, NODE, 0), CARET_E_UNSUPPORTED);
    S.detach(c);
    S.close(db);
}

int main(int argc, char **argv)
{
    (void)argc;
    url = server_url(argv);
    const struct CMUnitTest tests[] = {
        T(a_value_set_is_read_by_others),
        T(a_commit_kills_deletes_and_sets_in_this_order),
        T(a_value_of_16_mib_comes_back),
        T(a_range_tells_each_key_once_in_order),
        T(many_are_told_by_their_index),
        T(walks_meet_each_key_and_take_few_trips),
        T(a_walk_over_wide_children_seeks),
        T(what_was_read_ahead_ends_with_a_write),
        T(a_transaction_reads_one_state),
        T(of_two_that_read_what_the_other_writes_one_restarts),
        T(a_restarted_one_makes_others_wait),
        T(a_transaction_given_up_leaves_nothing),
        T(outside_of_transactions_a_lost_connection_is_not_noticed),
        T(within_one_it_is_a_restart),
        T(the_token_tells_what_became_of_a_commit),
        T(tokens_that_were_answered_are_swept),
        T(what_can_not_be_found_out_is_unknown),
        T(a_commit_can_wait_for_the_disk),
        T(opened_for_reading_it_writes_nothing),
        T(a_read_that_takes_long_can_be_ended),
        T(a_commit_is_waited_for),
        cmocka_unit_test(what_an_address_can_not_say_is_refused),
        cmocka_unit_test(passwords_are_not_shown),
        cmocka_unit_test(a_database_that_is_not_there_is_not_made),
        T(without_prepared_statements_it_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
