/* database.c - see database.h. */
#include "support/database.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

char dir[64], path[96], log_path[112], lock_path[112], shm_dir[96];
_Atomic uint32_t *signal_word;
char text[200000], other[200000];

unsigned shm_room(void)
{
    struct statvfs fs;

    return statvfs("/dev/shm", &fs) != 0 ? 0
           : fs.f_blocks == 0            ? UINT32_MAX
                                         : (unsigned)((uint64_t)fs.f_bavail * fs.f_frsize >> 20);
}

void need_room(unsigned mib)
{
    if (shm_room() < mib) {
        print_message("skipped: %u MiB of shared memory are free, %u are needed\n", shm_room(), mib);
        skip();
    }
}

int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/caret-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/db.caret", dir);
    snprintf(log_path, sizeof log_path, "%s-log", path);
    snprintf(lock_path, sizeof lock_path, "%s-lock", path);
    snprintf(shm_dir, sizeof shm_dir, "/dev/shm/%s", strrchr(dir, '/') + 1);
    signal_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return mkdir(shm_dir, 0700);
}

int teardown(void **state)
{
    char command[512];

    (void)state;
    munmap((void *)signal_word, 4096);
    snprintf(command, sizeof command, "rm -rf %s %s", dir, shm_dir);
    return system(command);
}

void assert_ok(int rc, const char *what, int line)
{
    if (rc != CARET_OK)
        fail_msg("line %d: %s = %d (%s)", line, what, rc, caret_message());
}

caret_options options(void)
{
    caret_options o = {
        .size = sizeof o, .shm_dir = shm_dir, .no_thread = 1, .sync = CARET_SYNC_OFF, .any_fs = 1};
    return o;
}

int try_open(caret_db **db)
{
    caret_options o = options();
    return caret_open(path, &o, db);
}

int open_code(const char *name)
{
    caret_options o = options();
    caret_db *db = NULL;
    int rc = caret_open(name, &o, &db);
    caret_close(db);
    return rc;
}

caret_db *open_db(void)
{
    caret_db *db = NULL;
    OK(try_open(&db));
    return db;
}

void node_of(caret_node_buf *n, int64_t i)
{
    OK(caret_node_var(&n->node, sizeof *n, "^t", 2));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, i));
}

size_t text_of(int64_t i, size_t len, char *buf)
{
    char digits[24];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%lld.", (long long)i);

    for (size_t k = 0; k < len; k++)
        buf[k] = digits[k % n];
    return len;
}

void put(caret_db *db, int64_t from, int64_t to, size_t len)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    for (int64_t i = from; i < to; i++) {
        node_of(&n, i);
        OK(caret_set(s, &n.node, text, text_of(i, len, text)));
    }
    caret_session_close(s);
}

int64_t count(caret_db *db, int64_t from, size_t len)
{
    caret_session *s;
    caret_node_buf n;
    int64_t i = from;

    OK(caret_session_open(db, &s));
    for (;; i++) {
        caret_slice v;
        node_of(&n, i);
        int rc = caret_get(s, &n.node, &v);
        if (rc == CARET_NONE)
            break;
        OK(rc);
        assert_int_equal(v.len, len);
        text_of(i, len, other);
        assert_memory_equal(v.data, other, len);
    }
    caret_session_close(s);
    return i - from;
}

void kill_all(caret_db *db)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    OK(caret_kill(s, &n.node));
    caret_session_close(s);
}

uint64_t digest(caret_db *db)
{
    caret_session *s;
    caret_node_buf n;
    caret_slice v;
    uint64_t sum = 0;
    char name[4 * CARET_MAX_KEY];
    size_t len;

    OK(caret_session_open(db, &s));
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    while (caret_node_next(s, &n.node) == CARET_OK) {
        OK(caret_node_zwr(&n.node, 0, name, sizeof name, &len));
        OK(caret_get(s, &n.node, &v));
        for (size_t i = 0; i < len; i++)
            sum = sum * 31 + (uint8_t)name[i];
        for (size_t i = 0; i < v.len; i++)
            sum = sum * 31 + (uint8_t)v.data[i];
    }
    caret_session_close(s);
    return sum;
}

void check(caret_db *db)
{
    char report[4096];
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s: %s", caret_message(), report);
}

unsigned files_in(const char *name)
{
    char command[512], line[32] = "0";
    snprintf(command, sizeof command, "ls -A %s | wc -l", name);
    FILE *p = popen(command, "r");
    assert_non_null(fgets(line, sizeof line, p));
    pclose(p);
    return (unsigned)atoi(line);
}

void until(uint32_t value)
{
    while (atomic_load(signal_word) < value)
        usleep(200);
}

pid_t child_with(int64_t from, int64_t to, size_t len)
{
    uint32_t before = atomic_load(signal_word);
    pid_t pid = fork();

    if (pid == 0) {
        put(open_db(), from, to, len);
        atomic_fetch_add(signal_word, 1);
        for (;;)
            pause();
    }
    until(before + 1);
    return pid;
}

void remove_shared_memory(void)
{
    char command[120];

    snprintf(command, sizeof command, "rm -f %s/*", shm_dir);
    assert_int_equal(system(command), 0);
}

void fill_up(const char *name)
{
    static const char zero[4096];
    int fd = open(name, O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    while (write(fd, zero, sizeof zero) > 0)
        ;
    close(fd);
}
