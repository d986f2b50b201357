/*
 * A small database whose files are damaged and then used: what the fuzzers of files share.
 *
 * The template is made once, in a child: MODE_FILE closes it well, so that the data file is all; MODE_LOG
 * leaves data file and log, as after a loss of power; MODE_SEGMENT leaves the segment of the dead too.
 * For each input the files are laid anew, damaged as the input says, opened, walked, checked, changed and
 * closed.  Whatever the answers are: no crash, no byte out of bounds, no hang.
 *
 * An input is a byte of flags and then damages {u16 page, u16 offset, u8 length, bytes}; places are taken
 * modulo the size of the file.  Flag 1: checksums are made right again, so that the damage gets further.
 */
#ifndef CARET_TEST_FUZZ_DATABASE_H
#define CARET_TEST_FUZZ_DATABASE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caret.h"

enum { MODE_FILE, MODE_LOG, MODE_SEGMENT };

struct file {
    char path[200];
    uint8_t *bytes;
    size_t size;
};

static char dir[64];
static struct file data_file, log_file, lock_file, segment_file;

#define MUST(x)                                                                                              \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            fprintf(stderr, "%s: %s\n", #x, caret_message());                                                \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static inline void read_file(struct file *f)
{
    struct stat st;
    int fd = open(f->path, O_RDONLY);
    MUST(fd >= 0 && fstat(fd, &st) == 0);
    f->size = (size_t)st.st_size;
    f->bytes = malloc(f->size + 1);
    MUST(f->bytes != NULL && read(fd, f->bytes, f->size) == (ssize_t)f->size);
    close(fd);
}

/* In place: the lock file keeps its inode, as the library keeps its descriptor. */
static inline void write_file(const struct file *f, const uint8_t *bytes)
{
    static const uint8_t zeros[4096];
    int fd = open(f->path, O_RDWR | O_CREAT, 0600);

    MUST(fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)f->size) == 0);
    for (size_t at = 0; at < f->size; at += sizeof zeros) { /* holes stay holes: a segment has many */
        size_t n = f->size - at < sizeof zeros ? f->size - at : sizeof zeros;
        MUST(memcmp(bytes + at, zeros, n) == 0 || pwrite(fd, bytes + at, n, (off_t)at) == (ssize_t)n);
    }
    close(fd);
}

static inline void remove_all(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (dir[0] != 0 && system(command) != 0)
        fprintf(stderr, "%s is left\n", dir);
}

static inline caret_options fuzz_options(void)
{
    return (caret_options){
        .size = sizeof(caret_options), .no_thread = 1, .shm_dir = dir, .sync = CARET_SYNC_OFF};
}

/* Records of ranges: numbers, strings with a prefix, and all that is after. */
static inline int kill_ranges(caret_session *s, void *arg)
{
    const int *i = arg;
    caret_slice numbers[] = {{"20", 2}, {*i % 2 != 0 ? "24" : "70", 2}}, prefix = {"na", 2};
    caret_node_buf n;
    int rc = caret_node_var(&n.node, sizeof n, "^a", 2);

    if (rc == CARET_OK)
        rc = caret_kill_range(s, &n.node, &numbers[0], &numbers[1], CARET_RANGE_BEFORE);
    if (rc == CARET_OK)
        rc = caret_node_child_int(&n.node, sizeof n, &n.node, *i);
    if (rc == CARET_OK)
        rc = caret_kill_range(s, &n.node, &prefix, NULL, CARET_RANGE_PREFIX);
    return rc == CARET_OK ? caret_kill_range(s, &n.node, &numbers[1], NULL, 0) : rc;
}

static inline void fill(int rounds)
{
    static char big[3000];
    caret_options options = fuzz_options();
    caret_db *db;
    caret_session *s;
    caret_node_buf n;

    MUST(caret_open(data_file.path, &options, &db) == CARET_OK);
    MUST(caret_session_open(db, &s) == CARET_OK);
    for (int i = 0; i < rounds; i++) {
        caret_node_var(&n.node, sizeof n, i % 3 != 0 ? "^a" : "^b", 2);
        caret_node_child_int(&n.node, sizeof n, &n.node, i * 7 % 90);
        caret_node_child(&n.node, sizeof n, &n.node, "name", 4);
        memset(big, 'a' + i % 26, sizeof big);
        MUST(caret_set(s, &n.node, big, i % 40 == 7 ? sizeof big : (size_t)(i % 60)) == CARET_OK);
        if (i % 30 == 11)
            MUST(caret_transaction(s, kill_ranges, &i, 0) == CARET_OK);
        if (i == rounds / 2)
            MUST(caret_checkpoint(db) == CARET_OK);
    }
    MUST(caret_sync(db) == CARET_OK);
}

static inline void make_template(int mode)
{
    snprintf(dir, sizeof dir, "/dev/shm/caret-fuzz-XXXXXX");
    MUST(mkdtemp(dir) != NULL);
    atexit(remove_all);
    snprintf(data_file.path, sizeof data_file.path, "%s/db.caret", dir);
    snprintf(log_file.path, sizeof log_file.path, "%s-log", data_file.path);
    snprintf(lock_file.path, sizeof lock_file.path, "%s-lock", data_file.path);
    pid_t pid = fork();
    if (pid == 0) {
        fill(200);
        _exit(0); /* no close */
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    if (mode == MODE_FILE) {
        caret_options options = fuzz_options();
        caret_db *db;
        MUST(caret_open(data_file.path, &options, &db) == CARET_OK);
        MUST(caret_close(db) == CARET_OK);
    }
    DIR *d = opendir(dir);
    MUST(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && strncmp(e->d_name, "db.caret", 8) != 0)
            snprintf(segment_file.path, sizeof segment_file.path, "%s/%.80s", dir, e->d_name);
    closedir(d);
    read_file(&data_file);
    if (mode != MODE_FILE) {
        read_file(&lock_file);
        read_file(&log_file);
    }
    if (mode == MODE_SEGMENT)
        read_file(&segment_file);
    else if (segment_file.path[0] != 0)
        unlink(segment_file.path);
}

/* The flags; damages are applied to a copy of f's bytes. touched(copy, size, offset) is told each place. */
static inline uint8_t *damage(const struct file *f, const uint8_t *in, size_t n, size_t unit,
                              void (*touched)(uint8_t *, size_t, size_t))
{
    uint8_t *copy = malloc(f->size + 1);
    size_t places[64], count = 0;

    MUST(copy != NULL);
    memcpy(copy, f->bytes, f->size);
    for (size_t at = 1; at + 5 <= n && count < 64; count++) {
        size_t place =
            ((size_t)(in[at] | in[at + 1] << 8) * unit + (size_t)(in[at + 2] | in[at + 3] << 8) % unit);
        size_t len = in[at + 4];
        at += 5;
        for (size_t i = 0; i < len && at < n; i++, at++)
            copy[(place + i) % f->size] = in[at];
        places[count] = place % f->size;
    }
    for (size_t i = 0; i < count && n != 0 && (in[0] & 1) != 0; i++)
        touched(copy, f->size, places[i]);
    return copy;
}

/* Walk there and back, and check. */
static inline void read_all(caret_db *db, caret_session *s)
{
    static char report[65536];
    caret_node_buf n;
    caret_slice v;

    int rc = caret_first_var(s, &n.node, sizeof n, 0);
    for (int i = 0; i < 2000 && rc == CARET_OK; i++) {
        (void)caret_get(s, &n.node, &v);
        rc = caret_node_next(s, &n.node);
    }
    caret_node_var(&n.node, sizeof n, "^zzz", 4);
    for (int i = 0; i < 50 && (rc = caret_previous(s, &n.node)) == CARET_OK; i++)
        continue;
    (void)caret_check(db, report, sizeof report);
}

/* What the log tells of its changes. */
static inline void read_log(caret_db *db)
{
    caret_change change = {.size = sizeof change};
    caret_log *log;

    if (caret_log_open(db, 0, &log) != CARET_OK)
        return;
    for (int i = 0; i < 2000 && caret_log_next(log, &change) == CARET_OK; i++)
        continue;
    caret_log_close(log);
}

/* What needs no right to write: salvage, and read it in private memory. */
static inline void look(void)
{
    static char report[65536];
    caret_options options = fuzz_options();
    char out[200];
    caret_db *db;
    caret_session *s;

    snprintf(out, sizeof out, "%s/out.zwr", dir);
    unlink(out);
    (void)caret_salvage(data_file.path, out, 0, NULL, report, sizeof report);
    options.readonly = 1;
    if (caret_open(data_file.path, &options, &db) != CARET_OK)
        return;
    if (caret_session_open(db, &s) == CARET_OK) {
        read_all(db, s);
        caret_session_close(s);
    }
    (void)caret_close(db);
}

/* Open, and if that is possible walk, check, change, close. */
static inline void use(void)
{
    caret_options options = fuzz_options();
    caret_db *db;
    caret_session *s;
    caret_node_buf n;

    look();
    options.no_create = 1;
    if (caret_open(data_file.path, &options, &db) != CARET_OK)
        return;
    MUST(caret_session_open(db, &s) == CARET_OK);
    read_all(db, s);
    read_log(db);
    caret_node_var(&n.node, sizeof n, "^a", 2);
    caret_node_child_int(&n.node, sizeof n, &n.node, 7);
    if (caret_set(s, &n.node, "new", 3) == CARET_OK)
        (void)caret_kill(s, &n.node);
    caret_session_close(s);
    (void)caret_close(db);
}

#endif
