/* Many processes on a server while connections are ended: what was acknowledged is stored, once. */
#include "store/server.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "base/fault.h"
#include "shm/engine.h"

#define S       caret__postgres
#define WORKERS 4
#define TXNS    150
#define LISTS   4
#define IDS     (WORKERS * TXNS)

static const char *url;
static char address[600];

/* Of all processes. */
static struct shared {
    _Atomic uint32_t acked[IDS];
    _Atomic uint32_t nacked, most_restarts, restarts, failed;
} * shared;

/* ---- what a worker does ---- */

/* Append the number to the list: OK, RESTART, an error. */
static int append(void *c, const char *key, uint32_t id, unsigned restarts)
{
    static uint8_t list[4 * IDS + 4];
    struct caret__bytes v = {NULL, 0};
    int rc = S.begin(c, CARET__STORE_SERIAL, restarts);

    if (rc == CARET_OK)
        rc = S.get(c, bytes(key), &v);
    if (rc < 0 || rc == CARET_RESTART) {
        S.rollback(c);
        return rc;
    }
    size_t len = rc == CARET_OK ? v.len : 0;
    if (len + 4 > sizeof list)
        return CARET_E_VALUE2BIG; /* numbers were stored more than once */
    if (len != 0)
        memcpy(list, v.data, len);
    memcpy(list + len, &id, 4);
    struct caret__store_op op = {CARET__STORE_SET, bytes(key), {list, len + 4}};
    return S.commit(c, &op, 1, 0);
}

static void note_restarts(unsigned n)
{
    uint32_t most = atomic_load(&shared->most_restarts);

    atomic_fetch_add(&shared->restarts, n);
    while (n > most && !atomic_compare_exchange_weak(&shared->most_restarts, &most, n))
        ;
}

static int work(uint32_t w, unsigned lists)
{
    struct caret__store_db *db;
    void *c;
    char key[16];
    int rc = S.open(address, NULL, &db);

    if (rc == CARET_OK)
        rc = S.attach(db, NULL, NULL, &c);
    for (uint32_t i = 0; rc == CARET_OK && i < TXNS; i++) {
        unsigned restarts = 0;
        snprintf(key, sizeof key, "l%u", i % lists);
        while ((rc = append(c, key, w * TXNS + i, restarts)) == CARET_RESTART)
            restarts++;
        note_restarts(restarts);
        if (rc == CARET_OK) {
            atomic_store(&shared->acked[w * TXNS + i], 1);
            atomic_fetch_add(&shared->nacked, 1);
        }
    }
    if (rc != CARET_OK)
        fprintf(stderr, "%s\n", caret_message());
    return rc;
}

/* ---- what the others do ---- */

static void end_a_backend(struct caret__link *l)
{
    caret__link_add_text(
        l,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'caret' "
        "and pid <> pg_backend_pid() order by random() limit 1",
        0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
}

/* How often each number is in the lists: lost ones, and those that are there more than once. */
static void count(void *c, unsigned lists, unsigned *lost, unsigned *twice)
{
    static uint32_t seen[IDS];
    struct caret__bytes v;
    char key[16];

    memset(seen, 0, sizeof seen);
    for (unsigned l = 0; l < lists; l++) {
        snprintf(key, sizeof key, "l%u", l);
        assert_int_equal(S.get(c, bytes(key), &v), CARET_OK);
        for (size_t i = 0; i < v.len; i += 4) {
            uint32_t id;
            memcpy(&id, v.data + i, 4);
            assert_in_range(id, 0, IDS - 1);
            seen[id]++;
        }
    }
    *lost = *twice = 0;
    for (uint32_t id = 0; id < IDS; id++) {
        *lost += seen[id] == 0 && shared->acked[id] != 0;
        *twice += seen[id] > 1;
    }
}

/* Run the workers; the backends of some end meanwhile if `ends`. */
static void run(unsigned lists, bool ends, const char *seed, unsigned *lost, unsigned *twice)
{
    static unsigned n;
    struct caret__store_db *db;
    void *c;
    pid_t pids[WORKERS];
    char prefix[40], text[128];

    memset(shared, 0, sizeof *shared);
    snprintf(prefix, sizeof prefix, "l%d_%u", (int)getpid(), n++);
    server_address(address, sizeof address, url, prefix);
    assert_int_equal(S.open(address, NULL, &db), CARET_OK);
    assert_int_equal(S.attach(db, NULL, NULL, &c), CARET_OK);
    for (uint32_t w = 0; w < WORKERS; w++)
        if ((pids[w] = fork()) == 0) {
            caret__fault_seed(seed);
            _exit(work(w, lists) != CARET_OK);
        }
    struct caret__link *l = &((struct caret__pg_conn *)c)->data;
    for (uint32_t at = 20; ends && at < IDS; at += 20) {
        while (atomic_load(&shared->nacked) < at && waitpid(-1, NULL, WNOHANG | WNOWAIT) == 0)
            caret__nap(1000000);
        end_a_backend(l);
    }
    for (int w = 0; w < WORKERS; w++) {
        int status;
        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        shared->failed += status != 0;
    }
    count(c, lists, lost, twice);
    snprintf(text, sizeof text, "drop schema %s cascade", prefix);
    caret__link_add_text(l, text, 0, NULL);
    assert_int_equal(caret__link_run(l), CARET_OK);
    S.detach(c);
    S.close(db);
}

static void when_backends_end_nothing_is_lost_or_twice(void **state)
{
    unsigned lost, twice;

    (void)state;
    run(LISTS, true, NULL, &lost, &twice);
    assert_int_equal(shared->failed, 0);
    assert_int_equal(shared->nacked, IDS);
    assert_int_equal(lost, 0);
    assert_int_equal(twice, 0);
}

/* The connection is cut between what is sent and its answer, in one of 17 trips. */
static void when_answers_are_lost_nothing_is_lost_or_twice(void **state)
{
    unsigned lost, twice;

    (void)state;
    run(LISTS, false, "store_cut", &lost, &twice);
    assert_int_equal(shared->failed, 0);
    assert_int_equal(shared->nacked, IDS);
    assert_int_equal(lost, 0);
    assert_int_equal(twice, 0);
}

static void one_key_of_all_is_appended_to_by_all(void **state)
{
    unsigned lost, twice;

    (void)state;
    run(1, false, NULL, &lost, &twice);
    print_message("%u restarts of %u transactions; one had %u\n", shared->restarts, IDS,
                  shared->most_restarts);
    assert_int_equal(shared->nacked, IDS);
    assert_int_equal(lost + twice, 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    url = server_url(argv);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_backends_end_nothing_is_lost_or_twice),
        cmocka_unit_test(when_answers_are_lost_nothing_is_lost_or_twice),
        cmocka_unit_test(one_key_of_all_is_appended_to_by_all),
    };
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
