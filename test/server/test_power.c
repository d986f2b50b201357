/*
 * Power loss under a server in commit mode (appendfsync always): whatever part of the unsynced writes survived, what
 * clients were answered is there, and what a step of theirs does is there as a whole or not at all.
 *
 * The server runs in children of the test: the supervisor, and its workers.  Each client is a process that counts its
 * steps in a key; steps of some kinds push their number to a list in the same transaction.  It sends one step, or
 * several as a pipeline.  Another one hears of the steps of the first: what it was told counts as answered too.
 *   log/powerstates.h records what the server does to its files, makes states of it, and looks into them.
 */
#include "log/powerstates.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

int serve__main(int argc, char **argv);

enum { CLIENTS = 3, LISTENER = CLIENTS, STEPS = 60, PIPELINE = 6 };

/* -------------------------------------------------------------------- client */

struct client {
    int fd;
    char in[65536];
    size_t at, len;
};

static char socket_path[128];

/* false: nobody listens yet. */
static bool connect_to(struct client *c)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    snprintf(a.sun_path, sizeof a.sun_path, "%.100s", socket_path);
    *c = (struct client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (connect(c->fd, (struct sockaddr *)&a, sizeof a) == 0)
        return true;
    close(c->fd);
    return false;
}

static void client_dies(const char *what)
{
    print_error("a client: %s\n", what);
    _exit(1);
}

static void send_all(struct client *c, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            client_dies("the server does not read");
        bytes += n;
        len -= (size_t)n;
    }
}

static const char *read_line(struct client *c)
{
    for (;;) {
        char *line = c->in + c->at, *end = memchr(line, '\n', c->len - c->at);
        if (end != NULL) {
            end[-1] = 0;
            c->at = (size_t)(end + 1 - c->in);
            return line;
        }
        memmove(c->in, line, c->len - c->at);
        c->len -= c->at;
        c->at = 0;
        ssize_t n = recv(c->fd, c->in + c->len, sizeof c->in - c->len, 0);
        if (n <= 0)
            client_dies("the server has ended the connection");
        c->len += (size_t)n;
    }
}

/* An answer with all that is in it; its first line is returned, or that of its last element. */
static const char *read_answer(struct client *c)
{
    const char *line = read_line(c);
    long n = line[0] == '*' ? strtol(line + 1, NULL, 10) : 0;

    if (line[0] == '-')
        client_dies(line);
    if (line[0] == '$')
        return read_line(c);
    while (n-- > 0)
        line = read_answer(c);
    return line;
}

/* ---------------------------------------------------------------- workload */

enum kind { COUNTS, IN_EXEC, IN_SCRIPT, KINDS };

static enum kind kind_of(uint32_t client, uint64_t k)
{
#ifdef HAVE_SCRIPTS
    return (client + k) % KINDS;
#else
    return (client + k) % IN_SCRIPT;
#endif
}

/* Its commands, as inline requests; how many answers they have. */
static int print_step(char *to, size_t room, uint32_t client, uint64_t k)
{
    switch (kind_of(client, k)) {
    case COUNTS: snprintf(to, room, "INCR n%u\r\n", client); return 1;
    case IN_EXEC:
        snprintf(to, room,
                 "MULTI\r\nINCR n%u\r\nRPUSH l%u %" PRIu64 "\r\nPUBLISH c%u %" PRIu64 "\r\nEXEC\r\n", client,
                 client, k, client, k);
        return 5;
    default:
        snprintf(
            to, room,
            "EVAL \"redis.call('incr', KEYS[1]) return redis.call('rpush', KEYS[2], ARGV[1])\" 2 n%u l%u "
            "%" PRIu64 "\r\n",
            client, client, k);
        return 1;
    }
}

/* Steps from k on, at once. */
static void do_steps(struct client *c, uint32_t client, uint64_t k, uint64_t n)
{
    char bytes[512 * PIPELINE];
    int answers[PIPELINE];
    size_t len = 0;

    for (uint64_t i = 0; i < n; i++) {
        answers[i] = print_step(bytes + len, sizeof bytes - len, client, k + i);
        len += strlen(bytes + len);
    }
    tape_mark(OP_BEGUN, client, k + n - 1);
    send_all(c, bytes, len);
    for (uint64_t i = 0; i < n; i++) {
        while (answers[i]-- > 0)
            read_answer(c);
        tape_mark(OP_DURABLE, client, k + i);
    }
}

static void work_as_client(uint32_t client)
{
    struct client *c = malloc(sizeof *c);
    struct caret__rand r;

    caret__rand_seed(&r, world->seed * 100 + client);
    if (!connect_to(c))
        client_dies("nobody listens");
    for (uint64_t k = 1, n; k <= world->steps; k += n) {
        n = caret__rand_below(&r, 3) == 0 ? 1 + caret__rand_below(&r, PIPELINE) : 1;
        n = n < world->steps - k + 1 ? n : world->steps - k + 1;
        do_steps(c, client, k, n);
        if (client == 1 && caret__rand_below(&r, 20) == 0) {
            send_all(c, "SAVE\r\n", 6);
            read_answer(c);
        }
    }
    _exit(0);
}

/* Hears of the steps of client 0 until the last of them. */
static void work_as_listener(int ready)
{
    struct client *c = malloc(sizeof *c);
    uint64_t last = 0, k;

    for (k = 1; k <= world->steps; k++)
        last = kind_of(0, k) == IN_EXEC ? k : last;
    if (!connect_to(c))
        client_dies("nobody listens");
    send_all(c, "SUBSCRIBE c0\r\n", 14);
    read_answer(c);
    if (write(ready, "", 1) != 1)
        client_dies("nobody waits for the listener");
    do {
        k = strtoull(read_answer(c), NULL, 10);
        tape_mark(OP_DURABLE, LISTENER, k);
    } while (k != last);
    _exit(0);
}

static void expect_end_of(pid_t pid, const char *what)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: status %x", what, (unsigned)status);
}

static unsigned workers; /* of the server */

static pid_t start_server(void)
{
    char count[12];
    char *argv[] = {"caret-server",  path,        "--shm-dir", shm_dir, "--port", "0",
                    "--unix",        socket_path, "--workers", count,   "--dir",  shm_dir,
                    "--appendfsync", "always",    NULL};

    snprintf(socket_path, sizeof socket_path, "%s/s", shm_dir);
    snprintf(count, sizeof count, "%u", workers);
    pid_t pid = fork();
    if (pid == 0)
        _exit(serve__main((int)(sizeof argv / sizeof *argv) - 1, argv));
    struct client *c = malloc(sizeof *c);
    while (!connect_to(c)) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            fail_msg("the server has ended");
        poll(NULL, 0, 5);
    }
    send_all(c, "PING\r\n", 6);
    read_answer(c);
    close(c->fd);
    free(c);
    return pid;
}

static void work_with_server(void)
{
    pid_t server = start_server(), pids[CLIENTS + 1];
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pids[LISTENER] = fork();
    if (pids[LISTENER] == 0)
        work_as_listener(ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            work_as_client(i);
    }
    for (uint32_t i = 0; i <= CLIENTS; i++)
        expect_end_of(pids[i], "a client");
    kill(server, SIGTERM);
    expect_end_of(server, "the server");
}

/* ----------------------------------------------------------------- checking */

/* The node ^redis(letter client). */
static void key_node(caret_node_buf *n, char letter, uint32_t client)
{
    char name[8];
    int len = snprintf(name, sizeof name, "%c%u", letter, client);

    OK(caret_node_var(&n->node, sizeof *n, "^redis", 6));
    OK(caret_node_child(&n->node, sizeof *n, &n->node, name, (size_t)len));
}

static uint64_t value_of(caret_session *s, caret_node *n)
{
    char digits[24];
    size_t len;

    if (caret_get_copy(s, n, digits, sizeof digits - 1, &len) != CARET_OK)
        return 0;
    digits[len] = '\0';
    return strtoull(digits, NULL, 10);
}

/* The steps up to n that push, in their order, and no others. */
static void check_list(caret_session *s, uint32_t client, uint64_t n)
{
    caret_node_buf at;
    uint64_t k = 0;

    key_node(&at, 'l', client);
    int rc = caret_first(s, &at.node);
    for (; rc == CARET_OK; rc = caret_next(s, &at.node)) {
        do
            k++;
        while (k <= n && kind_of(client, k) == COUNTS);
        if (value_of(s, &at.node) != k || k > n)
            complain("client %u, of %" PRIu64 " steps: the list has %" PRIu64 ", not %" PRIu64, client, n,
                     value_of(s, &at.node), k);
    }
    for (k++; k <= n; k++)
        if (kind_of(client, k) != COUNTS)
            complain("client %u, of %" PRIu64 " steps: %" PRIu64 " is not in the list", client, n, k);
}

static void check_clients(caret_session *s, const struct player *p)
{
    caret_node_buf node;

    for (uint32_t i = 0; i < CLIENTS; i++) {
        key_node(&node, 'n', i);
        uint64_t n = value_of(s, &node.node);
        if (n < p->durable[i] || n > p->begun[i])
            complain("client %u did %" PRIu64 " steps, was answered %" PRIu64 ", and sent %" PRIu64, i, n,
                     p->durable[i], p->begun[i]);
        if (i == 0 && n < p->durable[LISTENER])
            complain("%" PRIu64 " steps are there, and %" PRIu64 " were told of", n, p->durable[LISTENER]);
        check_list(s, i, n);
    }
}

/* -------------------------------------------------------------------- tests */

static void lose_power_of_server(unsigned n)
{
    memset(world, 0, sizeof *world);
    workers = n;
    world->sync = CARET_SYNC_COMMIT;
    world->steps = STEPS;
    world->work = work_with_server;
    world->check = check_clients;
    lose_power(50);
}

static void what_one_worker_answered_is_there(void **state)
{
    (void)state;
    lose_power_of_server(1);
}

static void what_two_workers_answered_is_there(void **state)
{
    (void)state;
    lose_power_of_server(2);
}

int main(void)
{
    may_mount = false;
    names_init();
    const struct CMUnitTest tests[] = {POWER_TEST(what_one_worker_answered_is_there),
                                       POWER_TEST(what_two_workers_answered_is_there)};
    cmocka_set_test_filter(getenv("CARET_POWER_TEST"));
    return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
