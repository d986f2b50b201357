/* A log that becomes longer while it is written: when, and what a death at any point of it leaves. */
#include "log/checkpoint.h"
#include "log/flush.h"
#include "log/lengthen.h"
#include "log/writer.h"
#include "support/apart.h"
#include "support/syscalls.h"

#include "support/database.h"

#include <sys/resource.h>

#include "base/fault.h"
#include "base/rand.h"
#include "disk/meta.h"
#include "open/open.h"
#include "shm/lockfile.h"

#define SMALL (CARET__PAGE_SIZE < 1024)
#define NODES (SMALL ? 2000u : 700000u)
#define LEN   (SMALL ? 60u : 100u)
#define CALLS (SMALL ? 200000u : 3000000u) /* more than it takes */

/* Shared with children. */
static struct {
    uint32_t doing;       /* the node that is being set */
    uint32_t last[NODES]; /* what each was set to */
} * known;

static caret_db *db;
static caret_session *s;
static struct caret__engine *e;
static struct caret__rand rng;

static void open_sized(size_t log_size)
{
    caret_options o = options();

    o.log_size = log_size;
    OK(caret_open(path, &o, &db));
    OK(caret_session_open(db, &s));
    OK(caret__engine_open(path, &o, &e));
}

static void close_it(void)
{
    caret_session_close(s);
    OK(caret__engine_close(e));
    OK(caret_close(db));
}

static void set_node(uint32_t i, uint32_t what)
{
    caret_node_buf n;

    node_of(&n, i);
    known->doing = i;
    OK(caret_set(s, &n.node, text, text_of(what, LEN, text)));
    known->last[i] = what;
}

static void fill(void)
{
    for (uint32_t i = 0; i < NODES; i++)
        set_node(i, 1);
    OK(caret_checkpoint(db));
}

/* Sets everywhere, and checkpoints as they become due, until the log is longer; false: it never was. */
static bool set_until_longer(void)
{
    uint64_t size = atomic_load(&e->sh->log_size);

    for (uint32_t i = 0; i < CALLS && atomic_load(&e->sh->log_size) == size; i++) {
        uint32_t k = caret__rand_below(&rng, NODES);
        set_node(k, known->last[k] + 1);
        if (i % 64 == 0 && caret__checkpoint_due(e))
            OK(caret_checkpoint(db));
    }
    return atomic_load(&e->sh->log_size) > size;
}

/* Through all of the log, to where it began; nobody writes where a plan will have another place for it. */
static void go_round(void)
{
    uint64_t end = atomic_load(&e->sh->log_head) + atomic_load(&e->sh->log_size);

    while (atomic_load(&e->sh->log_head) < end) {
        uint32_t k = caret__rand_below(&rng, NODES);
        set_node(k, known->last[k] + 1);
        uint64_t limit = atomic_load(&e->sh->log_limit);
        assert_true(limit == 0 || atomic_load(&e->sh->log_head) <= limit);
    }
}

/* Each node is what it was set to; the one that was being set may be one further. */
static void read_all(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        caret_node_buf n;
        caret_slice v;
        node_of(&n, i);
        OK(caret_get(s, &n.node, &v));
        assert_int_equal(v.len, LEN);
        text_of(known->last[i], LEN, other);
        if (i == known->doing && memcmp(v.data, other, LEN) != 0)
            text_of(++known->last[i], LEN, other);
        assert_memory_equal(v.data, other, LEN);
    }
    check(db);
}

#define ROOM 256u /* MiB: in a smaller arena it is not the log that makes checkpoints due */

static void it_becomes_longer_where_checkpoints_are_dear(void **state)
{
    (void)state;
    need_room(CARET__PAGE_SIZE > 1024 ? ROOM : 0);
    open_sized(0);
    fill();
    assert_int_equal(atomic_load(&e->sh->log_size), CARET__LOG_DEFAULT); /* in order they are cheap */
    assert_true(set_until_longer());
    uint64_t size = atomic_load(&e->sh->log_size);
    assert_true(size > CARET__LOG_DEFAULT && size <= CARET__LOG_MAX);
    struct stat st;
    assert_int_equal(stat(log_path, &st), 0);
    assert_true((uint64_t)st.st_size >= size);
    read_all();
    close_it();
    assert_int_equal(files_in(dir), 1);
    open_sized(0);
    assert_int_equal(atomic_load(&e->sh->log_size), CARET__LOG_DEFAULT);
    read_all();
    close_it();
}

/* Else a recovery would take the longer for nothing. */
/* A plan is made shortly before the end of the old place, where log_room says that there is room beyond it: it says so
 * no longer. */
static void a_plan_counts_at_once(void **state)
{
    (void)state;
    open_sized(0);
    const struct caret__shared *sh = e->sh;
    uint64_t size = atomic_load(&sh->log_size), end = 0;
    for (uint32_t i = 0; end == 0 || sh->log_room <= end; i++) {
        set_node(i % 1000, 1);
        uint64_t head = atomic_load(&sh->log_head);
        end = head + size - (head - atomic_load(&sh->log_base)) % size;
    }
    assert_int_equal(caret__mutex_lock(&e->sh->checkpoint), 0);
    OK(caret__writer_lock(e));
    assert_true(sh->log_room > end);
    caret__log_plan(e, atomic_load(&sh->epoch), 2 * size);
    assert_int_equal(atomic_load(&sh->log_limit), end);
    assert_true(sh->log_room < end);
    atomic_store(&e->sh->log_next_size, 0); /* it is not kept */
    atomic_store(&e->sh->log_limit, 0);
    caret__writer_unlock(e);
    caret__mutex_unlock(&e->sh->checkpoint);
    check(db);
    close_it();
}

static void it_is_not_used_to_its_end_where_checkpoints_are_cheap(void **state)
{
    (void)state;
    open_sized(0);
    fill();
    assert_true(set_until_longer());
    OK(caret_checkpoint(db));
    uint64_t size = atomic_load(&e->sh->log_size);
    assert_int_equal(size, CARET__LOG_MAX);
    while (!caret__checkpoint_due(e))
        set_node(1, known->last[1] + 1);
    uint64_t log = atomic_load(&e->sh->log_head) - atomic_load(&e->sh->checkpoint_lsn);
    assert_true(log > size / 3 && log < size / 2);
    read_all();
    close_it();
}

static void a_size_that_was_asked_for_stays(void **state)
{
    (void)state;
    open_sized(CARET__LOG_DEFAULT);
    fill();
    for (unsigned i = 0; i < (SMALL ? 3u : 1u); i++)
        go_round();
    assert_int_equal(atomic_load(&e->sh->log_size), CARET__LOG_DEFAULT);
    read_all();
    close_it();
}

/* It is read at the place that it has. */
static void while_it_is_replayed_it_stays(void **state)
{
    (void)state;
    open_sized(0);
    fill();
    e->replays = true;
    assert_false(set_until_longer());
    e->replays = false;
    assert_true(set_until_longer());
    read_all();
    close_it();
}

static void a_longer_log_survives_kills(void **state)
{
    (void)state;
    for (unsigned i = 0; i < (SMALL ? 4u : 2u); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            open_sized(0);
            if (i == 0)
                fill();
            if (!set_until_longer() && i < 1)
                _exit(1);
            if (i % 2 == 1)
                go_round();
            kill(getpid(), SIGKILL);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    open_sized(0);
    assert_true(atomic_load(&e->sh->log_size) > CARET__LOG_DEFAULT);
    read_all();
    close_it();
}

/* ------------------------------------------------------------ what can't be had */

static uint64_t log_file_size(void)
{
    struct stat st;

    assert_int_equal(stat(log_path, &st), 0);
    return (uint64_t)st.st_size;
}

/* Sets everywhere until the next checkpoint is due, and would make the log longer. */
static void set_until_due(void)
{
    uint64_t size = atomic_load(&e->sh->log_size);

    do {
        atomic_store(&e->sh->log_kind, CARET__META_ASKED);
        OK(caret_checkpoint(db));
        atomic_store(&e->sh->log_kind, 0);
        while (!caret__checkpoint_due(e)) {
            uint32_t k = caret__rand_below(&rng, NODES);
            set_node(k, known->last[k] + 1);
        }
    } while ((atomic_load(&e->sh->log_head) - atomic_load(&e->sh->log_base)) % size > size / 2);
}

/* The log stays as it is, and so do those who write. */
static void expect_refusal(enum call call, int error, enum effect effect)
{
    uint64_t have = atomic_load(&e->sh->log_size), before = log_file_size(), size = 1;

    failing.effect = effect;
    fail_nth(call, error, 1, true);
    OK(caret__mutex_lock(&e->sh->checkpoint));
    int rc = caret__log_prepare(e, 0, &size);
    caret__mutex_unlock(&e->sh->checkpoint);
    failing.armed = false;
    failing.effect = NOTHING_DONE;
    OK(rc);
    assert_true(failing.failed > 0);
    assert_int_equal(size, 0);
    assert_int_equal(log_file_size(), before);
    assert_int_equal(atomic_load(&e->sh->log_size), have);
    read_all();
}

static void what_the_disk_does_not_have_is_not_missed(void **state)
{
    static const enum call calls[] = {CALL_FALLOCATE, CALL_PWRITE, CALL_STATFS};

    (void)state;
    open_sized(0);
    fill();
    for (unsigned i = 0; i < 6; i++) {
        set_until_due();
        expect_refusal(calls[i % 3], ENOSPC, i < 3 ? NOTHING_DONE : HALF_DONE);
    }
    assert_true(set_until_longer());
    read_all();
    close_it();
}

/* Some process may write no file so long. */
static void the_shortest_limit_of_all_users_counts(void **state)
{
    struct rlimit limit = {2u << 30, RLIM_INFINITY}, before;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    open_sized(0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(atomic_load(&e->slots[e->slot].file_limit), limit.rlim_cur);
    fill();
    atomic_store(&e->slots[e->slot].file_limit, CARET__LOG_DEFAULT + CARET__LOG_DEFAULT / 2);
    for (unsigned i = 0; i < 4; i++)
        go_round();
    assert_int_equal(atomic_load(&e->sh->log_size), CARET__LOG_DEFAULT);
    atomic_store(&e->slots[e->slot].file_limit, CARET__LOG_DEFAULT * 3);
    assert_true(set_until_longer());
    assert_int_equal(atomic_load(&e->sh->log_size), CARET__LOG_DEFAULT * 2);
    read_all();
    close_it();
}

static void a_transaction_may_be_what_the_longest_log_holds(void **state)
{
    (void)state;
    open_sized(0);
    fill();
    uint32_t before = caret__record_possible(e->sh);
    assert_true(set_until_longer());
    assert_int_equal(caret__record_possible(e->sh), before);
    close_it();
    open_sized(CARET__LOG_MAX);
    assert_int_equal(caret__record_limit(e->sh), before);
    close_it();
    open_sized(CARET__LOG_MIN); /* but for a size that was asked for */
    assert_int_equal(caret__record_possible(e->sh), CARET__LOG_MIN / 4 * 3);
    close_it();
}

/* ------------------------------------------------------------ onlookers */

/* The node that was set last is there, in the memory of those who write. */
static bool reads_the_last(void)
{
    caret_options o = {.size = sizeof o, .readonly = 1, .any_fs = 1};
    caret_db *theirs = NULL;
    caret_session *their;
    caret_node_buf n;
    caret_slice v;
    caret_stats st = {.size = sizeof st};

    if (caret_open(path, &o, &theirs) != CARET_OK || caret_session_open(theirs, &their) != CARET_OK)
        return false;
    caret_stat(theirs, &st);
    node_of(&n, known->doing);
    text_of(known->last[known->doing], LEN, other);
    bool same = caret_get(their, &n.node, &v) == CARET_OK && v.len == LEN && memcmp(v.data, other, LEN) == 0;
    caret_session_close(their);
    return caret_close(theirs) == CARET_OK && same && st.view == CARET_VIEW_LIVE;
}

/* A child, made before the database is opened: when the word is odd it looks, and makes it even, until it is 99. */
static pid_t onlooker(bool (*look)(void), bool nobody)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (nobody)
        become_nobody();
    for (uint32_t word = 0; word != 99; word = atomic_load(signal_word)) {
        if (word % 2 == 1) {
            if (!look())
                _exit(1);
            atomic_store(signal_word, word + 1);
        }
        sched_yield();
    }
    _exit(0);
}

static void have_it_look(pid_t pid)
{
    uint32_t word = atomic_fetch_add(signal_word, 1) + 1;

    while (atomic_load(signal_word) == word) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            fail_msg("it saw something else");
        sched_yield();
    }
}

/* Without the right to write there is no lock file: they find the segment by the end of the log. */
static void readers_without_lock_file_find_the_others(void **state)
{
    (void)state;
    if (!may_become_nobody())
        skip();
    chmod(dir, 0755);
    chmod(shm_dir, 0755);
    pid_t pid = onlooker(reads_the_last, true);
    open_sized(0);
    fill();
    have_it_look(pid);
    assert_true(set_until_longer());
    have_it_look(pid);
    go_round();
    have_it_look(pid);
    atomic_store(signal_word, 99);
    join(pid);
    close_it();
}

/* Has it open all the time. */
static bool reads_all(void)
{
    caret_options o = {.size = sizeof o, .readonly = 1, .shm_dir = shm_dir, .any_fs = 1};

    if (db == NULL) {
        OK(caret_open(path, &o, &db));
        OK(caret_session_open(db, &s));
    }
    for (uint32_t i = 0; i < NODES; i++) {
        caret_node_buf n;
        caret_slice v;
        node_of(&n, i);
        OK(caret_get(s, &n.node, &v));
        text_of(known->last[i], LEN, other);
        if (v.len != LEN || memcmp(v.data, other, LEN) != 0)
            return false;
    }
    return true;
}

/* A reader that stays, one who follows the log, a backup and the archive: over the change and the round after it. */
static void those_who_look_on_notice_nothing(void **state)
{
    caret_options o = {.size = sizeof o, .readonly = 1, .shm_dir = shm_dir, .any_fs = 1};
    char backup[160], again[160], archive[160];
    caret_log *log;
    caret_change c = {.size = sizeof c};

    (void)state;
    db = NULL;
    pid_t pid = onlooker(reads_all, false);
    snprintf(backup, sizeof backup, "%s-backup", path);
    snprintf(again, sizeof again, "%s-again", path);
    snprintf(archive, sizeof archive, "%s/archive", shm_dir);
    assert_int_equal(mkdir(archive, 0700), 0);
    caret_options mine = options();
    mine.archive = archive;
    OK(caret_open(path, &mine, &db));
    OK(caret_session_open(db, &s));
    OK(caret__engine_open(path, &mine, &e));
    fill();
    OK(caret_backup(db, backup, NULL));
    have_it_look(pid);
    OK(caret_log_open(db, UINT64_MAX, &log));
    uint64_t end = 0, size = atomic_load(&e->sh->log_size);
    for (uint32_t i = 0; i < CALLS && end == 0; i++) {
        uint32_t k = caret__rand_below(&rng, NODES);
        set_node(k, known->last[k] + 1);
        OK(caret_log_next(log, &c));
        text_of(known->last[k], LEN, other);
        assert_memory_equal(c.value.data, other, LEN);
        if (i % 64 == 0 && caret__checkpoint_due(e))
            OK(caret_checkpoint(db));
        if (atomic_load(&e->sh->log_size) > size && (i + 1) % 4096 == 0)
            end = 1;
    }
    assert_int_equal(caret_log_next(log, &c), CARET_NONE);
    caret_log_close(log);
    have_it_look(pid);
    go_round();
    have_it_look(pid);
    atomic_store(signal_word, 99);
    join(pid);
    uint64_t digest_now = digest(db);
    close_it();
    caret_restore_options from = {.size = sizeof from, .archive = archive, .shm_dir = shm_dir, .any_fs = 1};
    OK(caret_restore(backup, again, &from, NULL));
    o.shm_dir = shm_dir;
    OK(caret_open(again, &o, &db));
    assert_true(digest(db) == digest_now);
    OK(caret_close(db));
}

/* ------------------------------------------------------------ damage */

static void flip_newest_slot(void)
{
    struct caret__meta m[2];
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pread(fd, &m[i], sizeof m[i], (off_t)i * CARET__META_SPACING), sizeof m[i]);
    off_t at = (m[1].epoch > m[0].epoch ? CARET__META_SPACING : 0) + 200;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* Power is lost when commits lie where only the newest slot tells: without it they are not dropped in silence. */
static void a_damaged_slot_that_told_of_it_is_an_error(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        open_sized(0);
        fill();
        do
            set_until_due();
        while ((atomic_load(&e->sh->checkpoint_lsn) - atomic_load(&e->sh->log_base)) % CARET__LOG_DEFAULT >
               CARET__LOG_DEFAULT / 2);
        OK(caret_checkpoint(db));
        if (atomic_load(&e->sh->log_size) == CARET__LOG_DEFAULT)
            _exit(1);
        uint64_t end = atomic_load(&e->sh->log_base) + CARET__LOG_DEFAULT + CARET__RING_SIZE;
        while (atomic_load(&e->sh->log_head) < end)
            set_node(caret__rand_below(&rng, NODES), 5);
        OK(caret__flush(e, 0, false));
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    remove_shared_memory();
    flip_newest_slot(); /* the other one is there again below */
    assert_int_equal(open_code(path), CARET_E_CORRUPT);
    if (strstr(caret_message(), "newest") == NULL)
        fail_msg("%s", caret_message());
    caret_options o = {.size = sizeof o, .readonly = 1, .any_fs = 1};
    assert_int_equal(caret_open(path, &o, &db), CARET_E_CORRUPT);
    flip_newest_slot();
    open_sized(0);
    read_all();
    close_it();
}

#ifdef CARET_FAULTS

static const char *const points[] = {
    "lengthen_made",
    "lengthen_synced",
    "lengthen_limited",
    "lengthen_planned",
    "freeze_half",
    "freeze_record",
    "freeze_epoch",
    "checkpoint_pages_written",
    "checkpoint_data_synced",
    "checkpoint_meta_synced",
    "checkpoint_lsn",
    "checkpoint_durable",
    "lengthen_base",
    "lengthen_size",
    "lengthen_switched",
    "lengthen_done",
    "checkpoint_released",

};
#define POINTS (sizeof points / sizeof points[0])

/* A child that sets until the log is longer, or until it dies. */
static bool dies_at(const char *point)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (e == NULL)
            open_sized(0);
        else /* its own slot */
            caret__rand_seed(&rng, 7);
        uint32_t epoch = atomic_load(&e->sh->epoch);
        while (strncmp(point, "lengthen", 8) != 0 && atomic_load(&e->sh->epoch) < epoch + 1) {
            uint32_t k =
                caret__rand_below(&rng, NODES); /* the next checkpoint is the one that lengthens it */
            set_node(k, known->last[k] + 1);
            if (caret__checkpoint_due(e))
                break;
        }
        caret__fault_arm(point, 1, CARET__FAULT_KILL);
        _exit(set_until_longer() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        fail_msg("%s: the log did not become longer", point);
    return WIFSIGNALED(status);
}

static void start_over(void)
{
    unlink(path);
    open_sized(0);
    fill();
    close_it();
    e = NULL;
}

/* Others are attached: they go on where it died. */
static void a_death_on_the_way_does_not_stop_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < POINTS; i++) {
        start_over();
        open_sized(0);
        if (!dies_at(points[i]))
            fail_msg("%s: nobody died there", points[i]);
        read_all();
        go_round();
        if (atomic_load(&e->sh->log_size) == CARET__LOG_DEFAULT && !set_until_longer())
            fail_msg("%s: it never became longer", points[i]);
        go_round();
        assert_int_equal(atomic_load(&e->sh->log_limit), 0);
        assert_int_equal(atomic_load(&e->sh->log_next_size), 0);
        read_all();
        close_it();
    }
}

/* Commits that follow the freeze, but not the switch, are where the old slot and the new one say. */
static void commits_before_the_switch_survive_a_loss_of_power(void **state)
{
    static const char *const between[] = {"freeze_epoch",           "checkpoint_data_synced",
                                          "checkpoint_meta_synced", "checkpoint_durable",
                                          "lengthen_base",          "lengthen_size"};

    (void)state;
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        int status;
        start_over();
        pid_t pid = fork();
        if (pid == 0) {
            open_sized(0);
            if (!dies_at(between[i]))
                _exit(1);
            for (unsigned k = 0; k < 200; k++)
                set_node(k, 9);
            OK(caret__flush(e, 0, true));
            kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status))
            fail_msg("%s: nobody died there", between[i]);
        remove_shared_memory();
        open_sized(0);
        read_all();
        close_it();
    }
}

/* Nobody else is: the next to open recovers, from the segment's ring or without it. */
static void a_death_of_all_on_the_way_loses_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < POINTS; i++) {
        start_over();
        if (!dies_at(points[i]))
            fail_msg("%s: nobody died there", points[i]);
        open_sized(0);
        read_all();
        if (atomic_load(&e->sh->log_size) == CARET__LOG_DEFAULT)
            assert_true(set_until_longer());
        go_round();
        read_all();
        close_it();
    }
}

#endif

static int setup_known(void **state)
{
    known = mmap(NULL, sizeof *known, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    e = NULL;
    caret__rand_seed(&rng, 1);
    return known != MAP_FAILED ? setup(state) : -1;
}

static int teardown_known(void **state)
{
    munmap(known, sizeof *known);
    return teardown(state);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup_known, teardown_known)

int main(void)
{
    /* with pages of the usual size it takes 70 MB of changes each time */
    const struct CMUnitTest large[] = {LOG_TEST(it_becomes_longer_where_checkpoints_are_dear)};
    const struct CMUnitTest tests[] = {
        LOG_TEST(it_becomes_longer_where_checkpoints_are_dear),
        LOG_TEST(a_plan_counts_at_once),
        LOG_TEST(it_is_not_used_to_its_end_where_checkpoints_are_cheap),
        LOG_TEST(a_size_that_was_asked_for_stays),
        LOG_TEST(while_it_is_replayed_it_stays),
        LOG_TEST(a_longer_log_survives_kills),
        LOG_TEST(what_the_disk_does_not_have_is_not_missed),
        LOG_TEST(the_shortest_limit_of_all_users_counts),
        LOG_TEST(a_transaction_may_be_what_the_longest_log_holds),
        LOG_TEST(readers_without_lock_file_find_the_others),
        LOG_TEST(those_who_look_on_notice_nothing),
        LOG_TEST(a_damaged_slot_that_told_of_it_is_an_error),
#ifdef CARET_FAULTS
        LOG_TEST(a_death_on_the_way_does_not_stop_the_others),
        LOG_TEST(a_death_of_all_on_the_way_loses_nothing),
        LOG_TEST(commits_before_the_switch_survive_a_loss_of_power),
#endif
    };
    return SMALL ? cmocka_run_group_tests_name("lengthen", tests, NULL, NULL)
                 : cmocka_run_group_tests_name("lengthen", large, NULL, NULL);
}
