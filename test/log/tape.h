/*
 * tape.h - everything that was done to the files of a database, and the states in
 * which a loss of power may leave them.
 *
 * The tape lies in memory shared with all children.  Each call that changes a file
 * of the database is made and noted under one mutex, so the tape has the order in
 * which the kernel saw them; between them lie marks of the workload: "commit k has
 * begun", "commit k was promised to be durable".
 *
 * Replaying keeps what is certainly on the disk (struct image) and the operations
 * that are not yet (pending):
 *
 *     write, allocate, truncate   pending until a sync of that file
 *     create, link, rename, unlink  pending until a sync of the directory
 *
 * After each operation the power may go.  Then the disk has the image and any part
 * of what is pending, in its order: nothing, all, all but one, one, any, and of any
 * write some of its sectors only.  Names are weaker than on real file systems: each
 * change of one may be lost alone, and syncing a new file does not keep its name.
 */
#ifndef CARET_TEST_LOG_TAPE_H
#define CARET_TEST_LOG_TAPE_H

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rand.h"
#include "support/syscalls.h"

#define TAPE_OPS   200000u
#define TAPE_BYTES (UINT64_C(3) << 30) /* of address space */
#define TAPE_FILES 2048u
#define SECTOR     512u

enum op_kind {
    OP_WRITE,
    OP_ALLOCATE,
    OP_TRUNCATE,
    OP_SYNC,
    OP_CREATE,
    OP_LINK,
    OP_RENAME,
    OP_UNLINK,
    OP_SYNC_DIR,
    OP_BEGUN,  /* mark: worker `file` has begun its commit `len` */
    OP_DURABLE /* mark: worker `file` was promised its commits up to `len` */
};

static const char *const op_names[] = {"write",  "allocate", "truncate", "sync",  "create", "link",
                                       "rename", "unlink",   "sync dir", "begun", "durable"};

/* The names in the folder of the database; a file is known by a number, names point to numbers.  What begins with the
 * name of the database is kept as a suffix to it, else as "/name".  The same for all tapes. */
#define NAMES_MAX 2048u
#define NAMES     4u /* that each database uses */
static struct names {
    uint32_t n;
    char name[NAMES_MAX][96];
} * names;

struct op {
    uint8_t kind;
    uint16_t name, to;
    uint32_t file;
    uint64_t off, len;
    uint64_t data; /* where in the tape's bytes */
};

/* Two file systems may have the same numbers: shared memory lies on another one. */
struct inode {
    uint64_t dev, ino;
};

struct tape {
    pthread_mutex_t lock;
    char dir[192], path[192];
    struct inode folder;
    _Atomic bool recording;
    uint32_t nops, nfiles;
    uint64_t used;
    struct inode inode[TAPE_FILES]; /* of a file; the newest counts, numbers are used again */
    struct op ops[TAPE_OPS];
    uint8_t data[];
};

static struct tape *tape; /* the one that records */

/* ------------------------------------------------------------- recording */

static void tape_die(const char *what)
{
    fprintf(stderr, "tape: %s\n", what);
    abort();
}

static bool is_inode(const struct stat *st, const struct inode *i)
{
    return st->st_dev == i->dev && st->st_ino == i->ino;
}

static uint32_t file_of(const struct stat *st)
{
    for (uint32_t i = tape->nfiles; i > 0; i--)
        if (is_inode(st, &tape->inode[i - 1]))
            return i - 1;
    return UINT32_MAX;
}

/* Is it of the folder? */
static bool in_dir(const char *path)
{
    size_t n = strlen(tape->dir);

    return strncmp(path, tape->dir, n) == 0 && path[n] == '/' && strchr(path + n + 1, '/') == NULL;
}

/* Of a path in the folder; a new one under the lock. */
static uint16_t name_of(const char *path)
{
    size_t n = strlen(tape->path);
    const char *name = strncmp(path, tape->path, n) == 0 ? path + n : strrchr(path, '/');

    for (uint32_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], name) == 0)
            return (uint16_t)i;
    if (names->n == NAMES_MAX || strlen(name) >= sizeof names->name[0])
        tape_die("too many names");
    strcpy(names->name[names->n], name);
    return (uint16_t)names->n++;
}

/* The path of a name beside the database at `path`. */
static const char *path_of(const char *path, uint32_t name, char buf[320])
{
    const char *slash = strrchr(path, '/'), *text = names->name[name];

    snprintf(buf, 320, "%.*s%s", *text == '/' ? (int)(slash - path) : (int)strlen(path), path, text);
    return buf;
}

/* The folder too: a file without a name is made there. */
static bool tape_wants_path(const char *path)
{
    return tape != NULL && atomic_load(&tape->recording) && (in_dir(path) || strcmp(path, tape->dir) == 0);
}

static bool tape_wants_fd(int fd)
{
    struct stat st;

    if (tape == NULL || !atomic_load(&tape->recording) || fstat(fd, &st) != 0)
        return false;
    return is_inode(&st, &tape->folder) || (S_ISREG(st.st_mode) && file_of(&st) != UINT32_MAX);
}

/* Under the lock. */
static struct op *note(enum op_kind kind, uint32_t file)
{
    if (tape->nops == TAPE_OPS)
        tape_die("too many operations");
    struct op *op = &tape->ops[tape->nops++];
    *op = (struct op){.kind = (uint8_t)kind, .file = file};
    return op;
}

static uint32_t file_of_fd(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        tape_die("fstat");
    return is_inode(&st, &tape->folder) ? UINT32_MAX : file_of(&st);
}

static uint32_t new_file(const struct stat *st)
{
    if (tape->nfiles == TAPE_FILES)
        tape_die("too many files");
    tape->inode[tape->nfiles] = (struct inode){st->st_dev, st->st_ino};
    return tape->nfiles++;
}

static void tape_lock(void)
{
    if (pthread_mutex_lock(&tape->lock) == EOWNERDEAD) /* by tape_kill(): nothing was underway */
        pthread_mutex_consistent(&tape->lock);
}

/* Kill this process, but no other thread of it between an operation and its note, and with the lock in its hand. */
static inline void tape_kill(void)
{
    tape_lock();
    kill(getpid(), SIGKILL);
}

static int tape_open(const char *path, int flags, mode_t mode)
{
    struct stat st;

    tape_lock();
    bool nameless = (flags & O_TMPFILE) == O_TMPFILE, existed = !nameless && stat(path, &st) == 0;
    int fd = real_open(path, flags, mode);
    if (fd >= 0 && !existed && fstat(fd, &st) == 0) {
        uint32_t file = new_file(&st);
        if (!nameless)
            note(OP_CREATE, file)->name = name_of(path);
    }
    pthread_mutex_unlock(&tape->lock);
    return fd;
}

/* So many bytes were written there; they are to be stored where it says. */
static uint8_t *note_bytes(uint32_t file, uint64_t off, uint64_t len)
{
    if (tape->used + len > TAPE_BYTES - sizeof *tape)
        tape_die("too many bytes");
    struct op *op = note(OP_WRITE, file);
    op->off = off;
    op->len = len;
    op->data = tape->used;
    tape->used += len;
    return tape->data + op->data;
}

static ssize_t tape_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    tape_lock();
    ssize_t n = syscall(SYS_pwrite64, fd, buf, len, off);
    if (n > 0)
        memcpy(note_bytes(file_of_fd(fd), (uint64_t)off, (uint64_t)n), buf, (size_t)n);
    pthread_mutex_unlock(&tape->lock);
    return n;
}

static int tape_sync(int fd)
{
    tape_lock();
    uint32_t file = file_of_fd(fd);
    note(file == UINT32_MAX ? OP_SYNC_DIR : OP_SYNC, file);
    pthread_mutex_unlock(&tape->lock);
    return 0;
}

static int tape_fallocate(int fd, int mode, off_t off, off_t len)
{
    tape_lock();
    int rc = (int)syscall(SYS_fallocate, fd, mode, off, len);
    if (rc == 0 && mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) {
        memset(note_bytes(file_of_fd(fd), (uint64_t)off, (uint64_t)len), 0, (size_t)len);
    } else if (rc == 0 && mode != FALLOC_FL_KEEP_SIZE) { /* that changes nothing that can be read */
        if (mode != 0)
            tape_die("fallocate with a mode");
        struct op *op = note(OP_ALLOCATE, file_of_fd(fd));
        op->off = (uint64_t)off;
        op->len = (uint64_t)len;
    }
    pthread_mutex_unlock(&tape->lock);
    return rc;
}

static int tape_ftruncate(int fd, off_t len)
{
    tape_lock();
    int rc = (int)syscall(SYS_ftruncate, fd, len);
    if (rc == 0)
        note(OP_TRUNCATE, file_of_fd(fd))->len = (uint64_t)len;
    pthread_mutex_unlock(&tape->lock);
    return rc;
}

static int tape_rename(const char *from, const char *to)
{
    tape_lock();
    int rc = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (rc == 0) {
        struct stat st;
        if (stat(to, &st) != 0 || file_of(&st) == UINT32_MAX || !in_dir(from))
            tape_die("rename of an unknown file");
        struct op *op = note(OP_RENAME, file_of(&st));
        op->name = name_of(from);
        op->to = name_of(to);
    }
    pthread_mutex_unlock(&tape->lock);
    return rc;
}

static int tape_link(const char *from, const char *to)
{
    tape_lock();
    int rc = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
    if (rc == 0) {
        struct stat st;
        if (stat(to, &st) != 0 || file_of(&st) == UINT32_MAX)
            tape_die("link of an unknown file");
        note(OP_LINK, file_of(&st))->name = name_of(to);
    }
    pthread_mutex_unlock(&tape->lock);
    return rc;
}

static int tape_unlink(const char *path)
{
    tape_lock();
    int rc = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (rc == 0)
        note(OP_UNLINK, 0)->name = name_of(path);
    pthread_mutex_unlock(&tape->lock);
    return rc;
}

static void tape_mark(enum op_kind kind, uint32_t worker, uint64_t commit)
{
    tape_lock();
    note(kind, worker)->len = commit;
    pthread_mutex_unlock(&tape->lock);
}

/* The names, before the first tape is made. */
static void names_init(void)
{
    static const char *const first[NAMES] = {"", "-new", "-log", "-lock"};

    names = mmap(NULL, sizeof *names, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (names == MAP_FAILED)
        tape_die("no memory");
    for (; names->n < NAMES; names->n++)
        strcpy(names->name[names->n], first[names->n]);
}

static struct tape *tape_new(void)
{
    struct tape *t =
        mmap(NULL, TAPE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_mutexattr_t attr;

    if (t == MAP_FAILED)
        tape_die("no memory");
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&t->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return t;
}

static void tape_delete(struct tape *t)
{
    munmap(t, TAPE_BYTES);
}

/* Record from now on, in this process and its children, what happens to the database at path in dir.
 * Files that are there already get the numbers 0 and up, in the order of the names. */
static void tape_record(struct tape *t, const char *dir, const char *path)
{
    struct stat st;

    t->nops = t->nfiles = 0;
    t->used = 0;
    snprintf(t->dir, sizeof t->dir, "%s", dir);
    snprintf(t->path, sizeof t->path, "%s", path);
    if (stat(dir, &st) != 0)
        tape_die(dir);
    t->folder = (struct inode){st.st_dev, st.st_ino};
    tape = t;
    for (uint32_t i = 0; i < names->n; i++) {
        char name[320];
        if (stat(path_of(path, i, name), &st) == 0)
            new_file(&st);
    }
    tape_hooks = (struct tape_hooks){tape_wants_fd,  tape_wants_path, tape_open,   tape_pwrite, tape_sync,
                                     tape_fallocate, tape_ftruncate,  tape_rename, tape_unlink, tape_link};
    atomic_store(&t->recording, true);
}

static void tape_stop(void)
{
    atomic_store(&tape->recording, false);
    tape = NULL;
}

/* ----------------------------------------------------------------- image */

struct bytes {
    uint8_t *p;
    uint64_t len, cap;
};

/* Files by number, and what the names point to (file + 1; 0 = nothing). */
struct image {
    struct bytes files[TAPE_FILES];
    uint32_t names[NAMES_MAX];
    uint32_t nfiles;
};

static void bytes_extend(struct bytes *b, uint64_t len)
{
    if (len > b->cap) {
        uint64_t cap = len > 2 * b->cap ? len : 2 * b->cap;
        b->p = realloc(b->p, cap);
        memset(b->p + b->cap, 0, cap - b->cap);
        b->cap = cap;
    }
    if (len > b->len)
        b->len = len;
}

static void bytes_copy(struct bytes *to, const struct bytes *from)
{
    bytes_extend(to, from->len);
    if (from->len > 0)
        memcpy(to->p, from->p, from->len);
    if (to->len > from->len)
        memset(to->p + from->len, 0, to->len - from->len);
    to->len = from->len;
}

/* Those files that `wanted` has a bit for; the others become empty. */
static void image_copy(struct image *to, const struct image *from, const bool *wanted)
{
    for (uint32_t i = 0; i < from->nfiles || i < to->nfiles; i++)
        if (i < from->nfiles && wanted[i])
            bytes_copy(&to->files[i], &from->files[i]);
        else
            to->files[i].len = 0;
    memcpy(to->names, from->names, sizeof to->names);
    to->nfiles = from->nfiles;
}

static void image_clear(struct image *m)
{
    for (uint32_t i = 0; i < TAPE_FILES; i++)
        free(m->files[i].p);
    memset(m, 0, sizeof *m);
}

/* A write, or with r only some of its sectors. */
static void write_sectors(struct bytes *b, const struct op *op, const uint8_t *data, struct caret__rand *r)
{
    uint64_t end = op->off + op->len;

    for (uint64_t at = op->off, n; at < end; at += n) {
        n = SECTOR - at % SECTOR < end - at ? SECTOR - at % SECTOR : end - at;
        if (r != NULL && (caret__rand_next(r) >> 20 & 1) != 0)
            continue;
        bytes_extend(b, at + n);
        memcpy(b->p + at, data + (at - op->off), n);
    }
}

/* r: torn. */
static void image_apply(struct image *m, const struct tape *t, const struct op *op, struct caret__rand *r)
{
    if (op->kind < OP_SYNC || op->kind == OP_CREATE || op->kind == OP_LINK || op->kind == OP_RENAME)
        m->nfiles = m->nfiles > op->file + 1 ? m->nfiles : op->file + 1;
    switch (op->kind) {
    case OP_WRITE: write_sectors(&m->files[op->file], op, t->data + op->data, r); break;
    case OP_ALLOCATE: bytes_extend(&m->files[op->file], op->off + op->len); break;
    case OP_TRUNCATE: {
        struct bytes *b = &m->files[op->file];
        if (b->len > op->len)
            memset(b->p + op->len, 0, b->len - op->len);
        bytes_extend(b, op->len);
        b->len = op->len;
        break;
    }
    case OP_CREATE:
    case OP_LINK: m->names[op->name] = op->file + 1; break;
    case OP_RENAME:
        m->names[op->to] = op->file + 1;
        m->names[op->name] = 0;
        break;
    case OP_UNLINK: m->names[op->name] = 0; break;
    default: break;
    }
}

#define HOLE 4096u

static void put_file(const char *path, const struct bytes *b)
{
    static const uint8_t zero[HOLE];
    int fd = real_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || syscall(SYS_ftruncate, fd, b->len) != 0)
        tape_die(path);
    for (uint64_t at = 0, n; at < b->len; at += n) {
        n = b->len - at < HOLE ? b->len - at : HOLE;
        if (memcmp(b->p + at, zero, n) != 0 && syscall(SYS_pwrite64, fd, b->p + at, n, at) != (long)n)
            tape_die("cannot write a state");
    }
    close(fd);
}

static void empty_folder(const char *name)
{
    DIR *folder = opendir(name);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        syscall(SYS_unlinkat, dirfd(folder), entry->d_name, 0);
    closedir(folder);
}

/* Make the files in the folder of `path` those of the image. */
static void image_put(const struct image *m, const char *path)
{
    char name[320];

    snprintf(name, sizeof name, "%.*s", (int)(strrchr(path, '/') - path), path);
    empty_folder(name);
    for (uint32_t i = 0; i < names->n; i++)
        if (m->names[i] != 0)
            put_file(path_of(path, i, name), &m->files[m->names[i] - 1]);
}

/* The image with files numbered as tape_record numbers those that image_put made. */
static void image_renumber(struct image *to, const struct image *from)
{
    for (uint32_t i = 0; i < names->n; i++) {
        if (from->names[i] == 0)
            continue;
        bytes_copy(&to->files[to->nfiles], &from->files[from->names[i] - 1]);
        to->names[i] = ++to->nfiles;
    }
}

/* ---------------------------------------------------------------- player */

#define PENDING_MAX 4096u
#define WORKERS     8u

/* The tape up to an operation. */
struct player {
    const struct tape *t;
    struct image disk; /* what is certainly there */
    uint32_t pending[PENDING_MAX], npending;
    uint32_t next; /* operation */
    uint64_t begun[WORKERS], durable[WORKERS];
};

static void player_begin(struct player *p, const struct tape *t, const struct image *base)
{
    memset(p, 0, sizeof *p);
    p->t = t;
    if (base != NULL)
        image_renumber(&p->disk, base);
}

static bool is_of_names(const struct op *op)
{
    return op->kind >= OP_CREATE && op->kind <= OP_UNLINK;
}

/* What `sync` covers is on the disk now. */
static void settle(struct player *p, const struct op *sync)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < p->npending; i++) {
        const struct op *op = &p->t->ops[p->pending[i]];
        if (sync->kind == OP_SYNC_DIR ? is_of_names(op) : !is_of_names(op) && op->file == sync->file)
            image_apply(&p->disk, p->t, op, NULL);
        else
            p->pending[left++] = p->pending[i];
    }
    p->npending = left;
}

/* Play one operation; false: it was only a mark. */
static bool player_step(struct player *p)
{
    const struct op *op = &p->t->ops[p->next];

    switch (op->kind) {
    case OP_BEGUN: p->begun[op->file] = op->len; break;
    case OP_DURABLE: p->durable[op->file] = op->len; break;
    case OP_SYNC:
    case OP_SYNC_DIR: settle(p, op); break;
    default:
        if (p->npending == PENDING_MAX)
            tape_die("too many pending operations");
        p->pending[p->npending++] = p->next;
    }
    p->next++;
    return op->kind < OP_BEGUN;
}

enum loss { LOSS_NONE_KEPT, LOSS_ALL_KEPT, LOSS_ALL_BUT_ONE, LOSS_ONLY_ONE, LOSS_RANDOM, LOSS_TORN, LOSSES };
static const char *const loss_names[LOSSES] = {"none", "all", "all but one", "only one", "random", "torn"};

/* The state of the disk if the power goes now. */
static void player_state(const struct player *p, struct image *out, enum loss loss, uint32_t one,
                         struct caret__rand *r)
{
    bool wanted[TAPE_FILES] = {false};

    for (uint32_t i = 0; i < names->n; i++)
        if (p->disk.names[i] != 0)
            wanted[p->disk.names[i] - 1] = true;
    for (uint32_t i = 0; i < p->npending; i++)
        if (is_of_names(&p->t->ops[p->pending[i]]))
            wanted[p->t->ops[p->pending[i]].file] = true;
    image_copy(out, &p->disk, wanted);
    for (uint32_t i = 0; i < p->npending; i++) {
        bool keep = loss == LOSS_ALL_KEPT || (loss == LOSS_ALL_BUT_ONE && i != one) ||
                    (loss == LOSS_ONLY_ONE && i == one) ||
                    (loss >= LOSS_RANDOM && (caret__rand_next(r) >> 20 & 3) != 0);
        if (keep)
            image_apply(out, p->t, &p->t->ops[p->pending[i]], loss == LOSS_TORN ? r : NULL);
    }
}

#endif
