/*
 * fuseserver.h - a file system that hands everything on to a folder, while a tape
 * records what it does there: writes, syncs and names as the kernel issues them.
 *
 * The server is a child of the test.  It calls the functions of syscalls.h like
 * anybody else, so the tape sees the calls on the folder below.  The test itself uses
 * the mounted folder, and only puts marks on the tape.  Needs libfuse3 to build,
 * /dev/fuse and the right to mount to run: else fuse_start says no.
 */
#ifndef CARET_TEST_LOG_FUSESERVER_H
#define CARET_TEST_LOG_FUSESERVER_H

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "support/apart.h"
#include "tape.h"

#ifdef HAVE_FUSE3
#define FUSE_USE_VERSION 31
#include <fuse.h>

static char behind[192]; /* the folder */

/* The path below for a path of the file system. */
static const char *at(const char *name, char buf[320])
{
    snprintf(buf, 320, "%s%s", behind, name);
    return buf;
}

static int result(int rc)
{
    return rc < 0 ? -errno : 0;
}

static void *fs_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
    (void)conn;
    config->use_ino = 1; /* the engine knows files by their numbers */
    config->nullpath_ok = 0;
    config->attr_timeout = 0; /* a file with two names has two nodes, with a number of links in each */
    return NULL;
}

static int fs_getattr(const char *name, struct stat *st, struct fuse_file_info *fi)
{
    char buf[320];

    return result(fi != NULL ? fstat((int)fi->fh, st) : lstat(at(name, buf), st));
}

static int opened(int fd, struct fuse_file_info *fi)
{
    fi->fh = (uint64_t)fd;
    return result(fd);
}

static int fs_open(const char *name, struct fuse_file_info *fi)
{
    char buf[320];

    return opened(open(at(name, buf), fi->flags & ~O_NOFOLLOW), fi);
}

static int fs_create(const char *name, mode_t mode, struct fuse_file_info *fi)
{
    char buf[320];

    return opened(open(at(name, buf), fi->flags | O_CREAT, mode), fi);
}

static int fs_opendir(const char *name, struct fuse_file_info *fi)
{
    char buf[320];

    return opened(open(at(name, buf), O_RDONLY | O_DIRECTORY), fi);
}

static int fs_release(const char *name, struct fuse_file_info *fi)
{
    (void)name;
    close((int)fi->fh);
    return 0;
}

static int fs_read(const char *name, char *buf, size_t len, off_t off, struct fuse_file_info *fi)
{
    (void)name;
    ssize_t n = pread((int)fi->fh, buf, len, off);
    return n < 0 ? -errno : (int)n;
}

static int fs_write(const char *name, const char *buf, size_t len, off_t off, struct fuse_file_info *fi)
{
    (void)name;
    ssize_t n = pwrite((int)fi->fh, buf, len, off);
    return n < 0 ? -errno : (int)n;
}

static int fs_sync(const char *name, int data_only, struct fuse_file_info *fi)
{
    (void)name;
    return result(data_only ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static int fs_truncate(const char *name, off_t len, struct fuse_file_info *fi)
{
    char buf[320];

    if (fi != NULL)
        return result(ftruncate((int)fi->fh, len));
    int fd = open(at(name, buf), O_WRONLY), rc = fd < 0 ? -errno : result(ftruncate(fd, len));
    if (fd >= 0)
        close(fd);
    return rc;
}

static int fs_fallocate(const char *name, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
    (void)name;
    return result(fallocate((int)fi->fh, mode, off, len));
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
    char a[320], b[320];

    return flags != 0 ? -EINVAL : result(rename(at(from, a), at(to, b)));
}

static int fs_link(const char *from, const char *to)
{
    char a[320], b[320];

    return result(link(at(from, a), at(to, b)));
}

static int fs_unlink(const char *name)
{
    char buf[320];

    return result(unlink(at(name, buf)));
}

static int fs_chmod(const char *name, mode_t mode, struct fuse_file_info *fi)
{
    char buf[320];

    (void)fi;
    return result(chmod(at(name, buf), mode));
}

static int fs_chown(const char *name, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
    char buf[320];

    (void)fi;
    return result(lchown(at(name, buf), uid, gid));
}

static const struct fuse_operations fs_operations = {
    .init = fs_init,
    .getattr = fs_getattr,
    .open = fs_open,
    .create = fs_create,
    .opendir = fs_opendir,
    .release = fs_release,
    .releasedir = fs_release,
    .read = fs_read,
    .write = fs_write,
    .fsync = fs_sync,
    .fsyncdir = fs_sync,
    .truncate = fs_truncate,
    .fallocate = fs_fallocate,
    .rename = fs_rename,
    .link = fs_link,
    .unlink = fs_unlink,
    .chmod = fs_chmod,
    .chown = fs_chown,
};

static void serve(const char *where, int ready)
{
    char program[] = "caret-test";
    char *argv[] = {program, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    struct fuse *f = fuse_new(&args, &fs_operations, sizeof fs_operations, NULL);

    if (f == NULL || fuse_mount(f, where) != 0)
        _exit(1);
    if (write(ready, "y", 1) != 1)
        _exit(1);
    _exit(fuse_loop(f) == 0 ? 0 : 1);
}

/* Mount the folder `back` at `where`; 0: not possible here.  The tape records in the server only. */
static pid_t fuse_start(const char *where, const char *back)
{
    int ready[2];
    char byte = 0;

    snprintf(behind, sizeof behind, "%s", back);
    if (pipe(ready) != 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        close(ready[0]);
        serve(where, ready[1]);
    }
    close(ready[1]);
    ssize_t n = read(ready[0], &byte, 1);
    close(ready[0]);
    if (n == 1) {
        memset(&tape_hooks, 0, sizeof tape_hooks);
        sync_for_real = true;
        return pid;
    }
    waitpid(pid, NULL, 0);
    return 0;
}

static void fuse_end(pid_t pid, const char *where)
{
    sync_for_real = false;
    umount2(where, MNT_DETACH);
    waitpid(pid, NULL, 0);
}

#else
static pid_t fuse_start(const char *where, const char *back)
{
    (void)where;
    (void)back;
    return 0;
}

static void fuse_end(pid_t pid, const char *where)
{
    (void)pid;
    (void)where;
}
#endif

#endif
