/*
 * Transfers between accounts by processes with threads, in transactions of ydb_tp_s and of ydb_tp_st, some
 * rolled back, some processes killed: whoever looks, in a transaction, finds the same total.
 */
#include "yottadb/api.h"

#include <pthread.h>
#include <signal.h>

#define ACCOUNTS  12
#define EACH_HAS  1000
#define PROCESSES 4
#define THREADS   2
#ifdef CARET_ASSERTS
#define TRANSFERS 1000
#else
#define TRANSFERS 8000
#endif

struct teller {
    uint32_t random;
    uint64_t token;
    bool st;
    bool audit;
};

static uint32_t draw(struct teller *t, uint32_t below)
{
    t->random = t->random * 1664525u + 1013904223u;
    return (t->random >> 8) % below;
}

static int balance(struct teller *t, int account, long *n)
{
    char sub[12], room[32];
    ydb_buffer_t v = b("^bank"), s = bytes(sub, (size_t)snprintf(sub, sizeof sub, "%d", account)),
                 ret = {sizeof room - 1, 0, room};
    int rc = t->st ? ydb_get_st(t->token, NULL, &v, 1, &s, &ret) : ydb_get_s(&v, 1, &s, &ret);

    if (rc != YDB_OK)
        return rc;
    room[ret.len_used] = '\0';
    *n = strtol(room, NULL, 10);
    return rc;
}

static int put_balance(struct teller *t, int account, long n)
{
    char sub[12], room[32];
    ydb_buffer_t v = b("^bank"), s = bytes(sub, (size_t)snprintf(sub, sizeof sub, "%d", account)),
                 value = bytes(room, (size_t)snprintf(room, sizeof room, "%ld", n));

    return t->st ? ydb_set_st(t->token, NULL, &v, 1, &s, &value) : ydb_set_s(&v, 1, &s, &value);
}

static int transfer(struct teller *t)
{
    int from = (int)draw(t, ACCOUNTS), to = (from + 1 + (int)draw(t, ACCOUNTS - 1)) % ACCOUNTS;
    long amount = draw(t, 50), x = 0, y = 0;
    int rc = balance(t, from, &x);

    if (rc == YDB_OK)
        rc = balance(t, to, &y);
    if (rc == YDB_OK)
        rc = put_balance(t, from, x - amount);
    if (rc == YDB_OK && draw(t, 10) == 0)
        return YDB_TP_ROLLBACK;
    return rc == YDB_OK ? put_balance(t, to, y + amount) : rc;
}

static int audit(struct teller *t)
{
    long sum = 0, n = 0;

    for (int i = 0; i < ACCOUNTS; i++) {
        int rc = balance(t, i, &n);
        if (rc != YDB_OK)
            return rc;
        sum += n;
    }
    return sum == (long)ACCOUNTS * EACH_HAS ? YDB_OK : YDB_NOTOK;
}

static int work(void *arg)
{
    struct teller *t = arg;

    return t->audit ? audit(t) : transfer(t);
}

static int work_st(uint64_t tptoken, ydb_buffer_t *unused, void *arg)
{
    (void)unused;
    ((struct teller *)arg)->token = tptoken;
    return work(arg);
}

static void *serve(void *arg)
{
    struct teller t = {.random = (uint32_t)(uintptr_t)arg * 7919u + (uint32_t)getpid()};

    for (int i = 0; i < TRANSFERS; i++) {
        t.st = i % 2 == 0;
        t.audit = i % 8 == 0;
        int rc = t.st ? ydb_tp_st(YDB_NOTTP, NULL, work_st, &t, "BATCH", 0, NULL)
                      : ydb_tp_s(work, &t, "", 0, NULL);
        if (rc != YDB_OK && rc != YDB_TP_ROLLBACK)
            return "wrong";
    }
    return NULL;
}

static pid_t start(int number)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    pthread_t threads[THREADS];
    bool good = true;
    void *said;
    for (int i = 0; i < THREADS; i++)
        good &= pthread_create(&threads[i], NULL, serve, (void *)(uintptr_t)(number * THREADS + i + 1)) == 0;
    for (int i = 0; i < THREADS; i++)
        good &= pthread_join(threads[i], &said) == 0 && said == NULL;
    _exit(good ? 0 : 1);
}

static void open_accounts(void)
{
    struct teller t = {0};

    for (int i = 0; i < ACCOUNTS; i++)
        assert_int_equal(put_balance(&t, i, EACH_HAS), YDB_OK);
}

static void the_total_never_changes(void **state)
{
    pid_t pids[PROCESSES];
    struct teller t = {.audit = true};
    int status;

    (void)state;
    may_fork();
    open_accounts();
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(i);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(ydb_tp_s(work, &t, "", 0, NULL), YDB_OK);
}

static void nor_when_processes_are_killed(void **state)
{
    pid_t pids[PROCESSES];
    struct teller t = {.audit = true, .random = 1};
    int status;

    (void)state;
    may_fork();
    open_accounts();
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(i);
    for (int i = 0; i < PROCESSES; i++) {
        usleep(2000 + draw(&t, 20000));
        kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(ydb_tp_s(work, &t, "", 0, NULL), YDB_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONCE(the_total_never_changes),
        ONCE(nor_when_processes_are_killed),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
