/*
 * Salvage: whatever is damaged, every node of a leaf that is not comes back, and nothing that never was.  A database
 * with a history (copies from before all over the file) is damaged in many ways; what is written is compared line by
 * line with what was in it, and with all that ever was.
 */
#include "support/database.h"

#include <stdbool.h>

#include "base/zwr.h"
#include "disk/meta.h"
#include "page/page.h"

/* ------------------------------------------------------------- sets of lines */

struct lines {
    char **list;
    size_t n, cap;
};

static void add_line(struct lines *l, const char *line)
{
    if (l->n == l->cap) {
        l->cap = l->cap * 2 + 1024;
        l->list = realloc(l->list, l->cap * sizeof *l->list);
    }
    l->list[l->n++] = strdup(line);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct lines *l)
{
    if (l->n != 0)
        qsort(l->list, l->n, sizeof *l->list, by_text);
}

static bool has(const struct lines *l, const char *line)
{
    return l->n != 0 && bsearch(&line, l->list, l->n, sizeof *l->list, by_text) != NULL;
}

static void drop(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i]);
    free(l->list);
    *l = (struct lines){0};
}

static struct lines lines_of_file(const char *name)
{
    struct lines l = {0};
    char *line = NULL;
    size_t cap = 0;
    FILE *f = fopen(name, "r");
    int n = 0;

    assert_non_null(f);
    for (ssize_t len; (len = getline(&line, &cap, f)) > 0; n++) {
        if (line[len - 1] == '\n')
            line[len - 1] = 0;
        if (n == 1)
            assert_non_null(strstr(line, "ZWR"));
        if (n > 1)
            add_line(&l, line);
    }
    free(line);
    fclose(f);
    sort(&l);
    for (size_t i = 1; i < l.n; i++) /* no node twice */
        if (strncmp(l.list[i - 1], l.list[i], strcspn(l.list[i], "=") + 1) == 0)
            fail_msg("twice: %s", l.list[i]);
    return l;
}

/* --------------------------------------------------------------- a history */

static struct lines history, truth;
static unsigned random_state;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 8) % n;
}

static void numbered(caret_node_buf *n, unsigned a, unsigned b)
{
    OK(caret_node_var(&n->node, sizeof *n, "^t", 2));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, a));
    OK(caret_node_child_int(&n->node, sizeof *n, &n->node, b));
}

static void set_some(caret_session *s, unsigned a, unsigned b)
{
    static char value[9000], line[9100];
    size_t len = random_below(40) == 0 ? 500 + random_below(8000) : random_below(60);
    caret_node_buf n;

    for (size_t i = 0; i < len; i++)
        value[i] = (char)('a' + random_below(26));
    numbered(&n, a, b);
    OK(caret_set(s, &n.node, value, len));
    snprintf(line, sizeof line, "^t(%u,%u)=\"%.*s\"", a, b, (int)len, value);
    add_line(&history, line);
}

/* The siblings from that node on, some of them. */
static void kill_some(caret_session *s, caret_node *n)
{
    char subs[2][24];
    size_t len;
    caret_slice bounds[2];

    OK(caret_node_subscript(n, 1, subs[0], sizeof subs[0], &len, NULL));
    bounds[0] = (caret_slice){subs[0], len};
    bounds[1] = (caret_slice){subs[1], (size_t)sprintf(subs[1], "%ld", strtol(subs[0], NULL, 10) + 9)};
    OK(caret_node_parent(n, sizeof(caret_node_buf), n));
    OK(caret_kill_range(s, n, &bounds[0], &bounds[1], CARET_RANGE_BEFORE));
}

static void live_through(caret_db *db, unsigned rounds, bool checkpoints)
{
    caret_session *s;
    caret_node_buf n;

    OK(caret_session_open(db, &s));
    for (unsigned i = 0; i < rounds; i++) {
        unsigned what = random_below(100);
        numbered(&n, random_below(20), random_below(120));
        if (what < 2)
            OK(caret_node_parent(&n.node, sizeof n, &n.node));
        if (what == 7)
            kill_some(s, &n.node);
        else if (what < 6)
            OK(caret_kill(s, &n.node));
        else
            set_some(s, random_below(20), random_below(120));
        if (checkpoints && random_below(150) == 0)
            OK(caret_checkpoint(db));
    }
    caret_session_close(s);
}

static char file_name[128], out_name[128];
static uint8_t *image; /* of the file, undamaged */
static size_t image_size;
static uint8_t *damaged; /* by page */

static void load_image(void)
{
    struct stat st;
    int fd = open(path, O_RDONLY);

    assert_int_equal(fstat(fd, &st), 0);
    image_size = (size_t)st.st_size;
    image = malloc(image_size);
    assert_int_equal(read(fd, image, image_size), (ssize_t)image_size);
    close(fd);
    damaged = calloc(image_size / CARET__PAGE_SIZE + 1, 1);
}

static struct lines salvaged(const char *from, int flags, int *rc, caret_salvaged *counts)
{
    static char report[65536];

    unlink(out_name);
    *rc = caret_salvage(from, out_name, flags, counts, report, sizeof report);
    struct lines l = {0};
    if (*rc == CARET_OK || *rc == CARET_E_CORRUPT) {
        l = lines_of_file(out_name);
        assert_int_equal(l.n, counts->nodes);
        assert_true(*rc == CARET_OK || report[0] != 0);
    } else {
        assert_int_equal(access(out_name, F_OK), -1);
    }
    return l;
}

static void make_history(unsigned seed)
{
    random_state = seed;
    for (int i = 0; i < 3; i++) {
        caret_db *db = open_db();
        live_through(db, 1500, true);
        check(db);
        OK(caret_close(db));
    }
    snprintf(file_name, sizeof file_name, "%s/damaged", dir);
    snprintf(out_name, sizeof out_name, "%s/out.zwr", dir);
    sort(&history);
    load_image();
}

static void forget_history(void)
{
    drop(&history);
    drop(&truth);
    free(image);
    free(damaged);
}

static void write_damaged(size_t size)
{
    int fd = open(file_name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

    for (size_t p = 0; p * CARET__PAGE_SIZE < size; p++) {
        uint8_t page[CARET__PAGE_SIZE];
        memcpy(page, image + p * CARET__PAGE_SIZE, sizeof page);
        if (damaged[p] == 1)
            memset(page, 0, sizeof page);
        else if (damaged[p] == 2)
            for (unsigned i = 0; i < 8; i++)
                page[random_below(sizeof page)] ^= (uint8_t)(1 + random_below(255));
        assert_int_equal(write(fd, page, sizeof page), sizeof page);
    }
    close(fd);
}

/* ------------------------------------------- what is on leaves that are whole */

static const struct caret__page *page_of(uint32_t pgno)
{
    return (const struct caret__page *)(const void *)(image + (size_t)pgno * CARET__PAGE_SIZE);
}

static bool run_is_whole(const struct caret__entry *e)
{
    uint32_t ref[2];

    memcpy(ref, e->val, sizeof ref);
    for (uint32_t k = 0; k < caret__run_pages(ref[1]); k++)
        if (damaged[ref[0] + k])
            return false;
    return true;
}

/* The lines of the tree's leaves that are not damaged must all be in `found`. */
static void expect_leaves(uint32_t pgno, const struct lines *found, size_t *expected)
{
    const struct caret__page *p = page_of(pgno);

    for (unsigned i = 0; p->level > 0 && i <= caret__page_count(p); i++)
        expect_leaves(caret__page_child(p, i), found, expected);
    if (p->level > 0 || damaged[pgno])
        return;
    for (unsigned i = 0; i < caret__page_count(p); i++) {
        uint8_t key[CARET__KEY_MAX];
        char line[300];
        size_t len;
        struct caret__entry e = caret__page_entry(p, i);
        if (e.run && !run_is_whole(&e))
            continue;
        unsigned klen = caret__page_key(p, i, key);
        OK(caret__zwr_put_key(key, klen, false, false, line, sizeof line - 2, &len));
        line[len] = '=';
        line[len + 1] = 0;
        size_t at = 0, end = truth.n;
        while (at < end) { /* the line of that node in the truth */
            size_t mid = (at + end) / 2;
            if (strcmp(truth.list[mid], line) < 0)
                at = mid + 1;
            else
                end = mid;
        }
        assert_true(at < truth.n && strncmp(truth.list[at], line, len + 1) == 0);
        if (!has(found, truth.list[at]))
            fail_msg("not found: %.80s of page %u", truth.list[at], pgno);
        ++*expected;
    }
}

static uint32_t root_of_image(void)
{
    struct caret__meta m[2];
    int fd = open(path, O_RDONLY);

    for (unsigned i = 0; i < 2; i++)
        assert_true(caret__meta_slot(fd, i, &m[i]));
    close(fd);
    return m[m[1].epoch > m[0].epoch].root;
}

/* Lines that are not the truth; all of them must have been true once. */
static size_t from_before(const struct lines *found)
{
    size_t n = 0;

    for (size_t i = 0; i < found->n; i++) {
        if (has(&truth, found->list[i]))
            continue;
        n++;
        if (!has(&history, found->list[i]))
            fail_msg("never was: %.80s", found->list[i]);
    }
    return n;
}

/* ---------------------------------------------------------------- the tests */

static void tell_truth(void)
{
    caret_salvaged counts = {.size = sizeof counts};
    int rc;

    truth = salvaged(path, 0, &rc, &counts);
    assert_int_equal(rc, CARET_OK);
    assert_int_equal(counts.lost_pages + counts.lost_values + counts.doubtful_leaves, 0);
    assert_true(counts.stale_leaves > 0); /* there is something to be mistaken about */
}

/* What is salvaged of a whole database is the database. */
static void whole_database_is_salvaged_whole(void **state)
{
    caret_session *s;
    caret_node_buf n;

    (void)state;
    make_history(1);
    tell_truth();
    assert_true(truth.n > 500);
    caret_db *db = open_db();
    OK(caret_session_open(db, &s));
    for (size_t i = 0; i < truth.n; i++) {
        static char value[10000];
        size_t name = strcspn(truth.list[i], "="), len;
        caret_slice v;
        OK(caret_node_parse(&n.node, sizeof n, truth.list[i], name, 0));
        OK(caret_zwr2str(truth.list[i] + name + 1, strlen(truth.list[i] + name + 1), 0, value, sizeof value,
                         &len));
        OK(caret_get(s, &n.node, &v));
        assert_int_equal(v.len, len);
        assert_memory_equal(v.data, value, len);
    }
    size_t nodes = 0;
    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    while (caret_node_next(s, &n.node) == CARET_OK)
        nodes++;
    assert_int_equal(nodes, truth.n);
    caret_session_close(s);
    int rc;
    caret_salvaged counts = {.size = sizeof counts};
    struct lines l = salvaged(path, 0, &rc, &counts);
    assert_int_equal(rc, CARET_E_BUSY);
    drop(&l);
    pid_t pid = fork();
    if (pid == 0) {
        unlink(out_name);
        _exit(caret_salvage(path, out_name, 0, NULL, NULL, 0) == CARET_E_BUSY ? 0 : 1);
    }
    join(pid);
    OK(caret_close(db));
    forget_history();
}

enum damage {
    SOME_PAGES = 1,  /* zeroed or with wrong bytes */
    INNER_PAGES = 2, /* all of them, roots too */
    METAS = 4,
    NEWEST_META = 8,
    IMAGES = 16, /* of both checkpoints */
    MANY_PAGES = 32,
    NEWEST_IMAGES = 64,
    ALL_KINDS = 128 /* combinations */
};

static unsigned newest_slot(void)
{
    const struct caret__meta *m[2] = {(const void *)image, (const void *)(image + CARET__META_SPACING)};

    return m[1]->epoch > m[0]->epoch;
}

static void choose_damage(unsigned kinds)
{
    uint32_t pages = (uint32_t)(image_size / CARET__PAGE_SIZE);

    memset(damaged, 0, pages);
    for (uint32_t p = 0; p < pages; p++) {
        const struct caret__page *page = page_of(p);
        bool is_meta = p == 0 || p == CARET__META_SPACING / CARET__PAGE_SIZE;
        bool is_image = caret__pgno_reserved(p) && p >= CARET__FIRST_PAGE;
        bool is_newest = is_image && (p == caret__image_pgno(newest_slot(), p / CARET__GROUP_PAGES));
        bool is_inner = !caret__pgno_reserved(p) && page->pgno == p && page->level > 0;
        if ((is_meta && (kinds & METAS)) || (is_image && (kinds & IMAGES)) ||
            (is_newest && (kinds & NEWEST_IMAGES)) || (is_inner && (kinds & INNER_PAGES)))
            damaged[p] = (uint8_t)(1 + random_below(2));
        if (!is_meta && !is_image && (kinds & SOME_PAGES) && random_below(20) == 0)
            damaged[p] = (uint8_t)(1 + random_below(2));
        if (!is_meta && !is_image && (kinds & MANY_PAGES) && random_below(2) == 0)
            damaged[p] = (uint8_t)(1 + random_below(2));
    }
    if (kinds & NEWEST_META)
        damaged[newest_slot() * CARET__META_SPACING / CARET__PAGE_SIZE] = (uint8_t)(1 + random_below(2));
}

static void whatever_is_damaged_the_rest_comes_back(void **state)
{
    const char *seed = getenv("CARET_SEED"), *times = getenv("CARET_SALVAGES");
    unsigned rounds = times != NULL ? (unsigned)atoi(times) : 2;
    size_t cases = 0, nodes = 0, before = 0;

    (void)state;
    for (unsigned round = 0; round < rounds; round++) {
        make_history(round + (seed != NULL ? (unsigned)atoi(seed) : 7));
        tell_truth();
        uint32_t root = root_of_image();
        for (unsigned kinds = 1; kinds < ALL_KINDS; kinds++, cases++) {
            caret_salvaged counts = {.size = sizeof counts};
            int rc;
            choose_damage(kinds);
            write_damaged(image_size);
            struct lines found = salvaged(file_name, 0, &rc, &counts);
            size_t expected = 0, old;
            if (rc == CARET_OK) /* the bitmap alone: all is there */
                assert_true(found.n == truth.n && from_before(&found) == 0);
            else
                assert_int_equal(rc, CARET_E_CORRUPT);
            expect_leaves(root, &found, &expected);
            old = from_before(&found);
            /* the bitmap is there, and one of the slots that say which: nothing of before */
            if (!(kinds & (IMAGES | NEWEST_IMAGES)))
                assert_int_equal(old, 0);
            assert_true(old == 0 || counts.doubtful_leaves > 0);
            nodes += expected;
            before += old;
            drop(&found);
            found = salvaged(file_name, CARET_SALVAGE_SURE, &rc, &counts);
            assert_int_equal(from_before(&found), 0);
            drop(&found);
        }
        forget_history();
        unlink(path);
    }
    print_message("%zu damaged databases, %zu nodes back, %zu of an earlier state, told as doubtful\n", cases,
                  nodes, before);
}

static void cut_off_file(void **state)
{
    (void)state;
    make_history(99);
    tell_truth();
    uint32_t root = root_of_image(), pages = (uint32_t)(image_size / CARET__PAGE_SIZE);
    for (uint32_t keep = pages - 1; keep > pages / 4; keep -= pages / 9 + 1) {
        caret_salvaged counts = {.size = sizeof counts};
        int rc;
        memset(damaged, 0, keep);
        memset(damaged + keep, 1, pages - keep);
        write_damaged((size_t)keep * CARET__PAGE_SIZE);
        struct lines found = salvaged(file_name, 0, &rc, &counts);
        size_t expected = 0;
        expect_leaves(root, &found, &expected);
        assert_int_equal(from_before(&found), 0);
        if (rc == CARET_OK) /* what was cut off was free */
            assert_int_equal(found.n, truth.n);
        drop(&found);
    }
    forget_history();
}

/* Killed: what the log has after the checkpoint is in the file that is written, too. */
static void changes_in_the_log_are_salvaged(void **state)
{
    char command[600];
    caret_salvaged counts = {.size = sizeof counts};
    int rc;

    (void)state;
    make_history(5);
    pid_t pid = fork();
    if (pid == 0) {
        caret_db *db = open_db();
        live_through(db, 800, true);
        OK(caret_checkpoint(db));
        live_through(db, 140, false); /* less than what would ask for a checkpoint */
        OK(caret_sync(db));
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    snprintf(command, sizeof command, "cp %s %s; cp %s-log %s-log", path, file_name, path, file_name);
    assert_int_equal(system(command), 0);
    struct lines found = salvaged(file_name, 0, &rc, &counts);
    assert_int_equal(rc, CARET_OK);
    assert_true(counts.logged > 50);
    OK(caret_close(open_db())); /* recovers */
    truth = salvaged(path, 0, &rc, &counts);
    assert_int_equal(found.n, truth.n);
    for (size_t i = 0; i < truth.n; i++)
        assert_string_equal(found.list[i], truth.list[i]);
    drop(&found);
    snprintf(command, sizeof command, "%s-log", file_name);
    unlink(command);
    found = salvaged(file_name, 0, &rc, &counts); /* without it something is lost, and told */
    assert_int_equal(rc, CARET_E_CORRUPT);
    drop(&found);
    forget_history();
}

/* Killed, nothing synced: the commits are in shared memory, and come back as long as that is there. */
static void commits_in_the_memory_of_the_dead_are_salvaged(void **state)
{
    char command[600], report[600];
    caret_salvaged counts = {.size = sizeof counts};
    int rc;

    (void)state;
    snprintf(out_name, sizeof out_name, "%s/out.zwr", dir);
    kill_and_wait(child_with(0, 100, 40));
    truth = salvaged(path, 0, &rc, &counts);
    OK(rc);
    assert_int_equal(truth.n, 100);
    snprintf(file_name, sizeof file_name, "%s/copy", dir);
    snprintf(command, sizeof command, "cp %s %s; cp %s-log %s-log", path, file_name, path, file_name);
    assert_int_equal(system(command), 0);
    struct lines found = salvaged(file_name, 0, &rc, &counts); /* a copy has no memory */
    assert_true(found.n < 100);
    drop(&found);
    snprintf(command, sizeof command,
             "for f in %s/*; do head -c 100 /dev/zero | tr '\\0' 'x' | dd of=$f bs=1 seek=8 conv=notrunc; "
             "done 2>/dev/null",
             shm_dir);
    assert_int_equal(system(command), 0);
    snprintf(out_name, sizeof out_name, "%s/out2.zwr", dir);
    assert_int_equal(caret_salvage(path, out_name, 0, &counts, report, sizeof report), CARET_E_CORRUPT);
    assert_non_null(strstr(report, "commits that were not in the log yet may be lost"));
    assert_true(counts.nodes < 100);
    drop(&truth);
}

/* Creation writes both slots: one of zeros is damaged, in the first session too. */
static void zeros_are_no_slot_that_was_never_written(void **state)
{
    caret_salvaged counts = {.size = sizeof counts};
    int rc;

    (void)state;
    kill_and_wait(child_with(0, 1, 8));
    snprintf(file_name, sizeof file_name, "%s/damaged", dir);
    snprintf(out_name, sizeof out_name, "%s/out.zwr", dir);
    load_image();
    unsigned newest = newest_slot();
    const struct caret__meta *begun = (const void *)(image + newest * CARET__META_SPACING);
    for (unsigned slot = 0; slot < 2; slot++) {
        damaged[slot * CARET__META_SPACING / CARET__PAGE_SIZE] = 1;
        write_damaged(image_size);
        struct lines found = salvaged(file_name, 0, &rc, &counts);
        assert_int_equal(rc, CARET_E_CORRUPT);
        assert_int_equal(counts.epoch, begun->epoch);
        drop(&found);
        damaged[slot * CARET__META_SPACING / CARET__PAGE_SIZE] = 0;
    }
    forget_history();
}

/* Its commits are all in the log, or in the memory of the killed, and the slot of the closing before tells where. */
static void commits_beside_a_damaged_first_slot_come_back(void **state)
{
    caret_salvaged counts = {.size = sizeof counts};
    uint8_t rubble[sizeof(struct caret__meta)];
    int rc;

    (void)state;
    memset(rubble, 0xa5, sizeof rubble);
    snprintf(out_name, sizeof out_name, "%s/out.zwr", dir);
    for (unsigned i = 0; i < 6; i++) {
        caret_db *db = open_db();
        if (i / 3 == 1) /* it is not the first session, and has changed what it found */
            put(db, 50, 150, 10);
        OK(caret_close(db));
        kill_and_wait(child_with(0, 100, 40));
        size_t expected = i / 3 == 1 ? 150 : 100;
        struct lines before = salvaged(path, 0, &rc, &counts);
        OK(rc);
        assert_int_equal(before.n, expected);
        load_image();
        int fd = open(path, O_WRONLY);
        off_t at = newest_slot() * CARET__META_SPACING;
        size_t n = i % 3 == 0 ? 1 : i % 3 == 1 ? 100 : sizeof rubble;
        assert_int_equal(pwrite(fd, rubble, n, at + (off_t)(sizeof rubble - n)), n);
        close(fd);
        struct lines found = salvaged(path, 0, &rc, &counts);
        assert_int_equal(rc, CARET_E_CORRUPT); /* a slot is damaged */
        assert_int_equal(found.n, expected);
        for (size_t k = 0; k < found.n; k++)
            assert_string_equal(found.list[k], before.list[k]);
        drop(&before);
        drop(&found);
        forget_history();
        unlink(path);
    }
}

static void what_is_no_database_gives_no_file(void **state)
{
    caret_salvaged counts = {.size = sizeof counts};
    int rc;

    (void)state;
    snprintf(file_name, sizeof file_name, "%s/none", dir);
    snprintf(out_name, sizeof out_name, "%s/out.zwr", dir);
    salvaged(file_name, 0, &rc, &counts);
    assert_int_equal(rc, CARET_E_OPEN);
    int fd = open(file_name, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, text, 100000), 100000);
    close(fd);
    salvaged(file_name, 0, &rc, &counts);
    assert_int_equal(rc, CARET_E_FOREIGN);
    assert_int_equal(files_in(dir), 1);
    salvaged(dir, 0, &rc, &counts);
    assert_int_equal(rc, CARET_E_OPEN);
    OK(caret_close(open_db()));
    assert_int_equal(caret_salvage(path, file_name, 0, &counts, NULL, 0), CARET_E_OPEN); /* exists */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_database_is_salvaged_whole),
        TEST(whatever_is_damaged_the_rest_comes_back),
        TEST(cut_off_file),
        TEST(changes_in_the_log_are_salvaged),
        TEST(commits_in_the_memory_of_the_dead_are_salvaged),
        TEST(zeros_are_no_slot_that_was_never_written),
        TEST(commits_beside_a_damaged_first_slot_come_back),
        TEST(what_is_no_database_gives_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
