/*
 * io.h - what Lua calls of the system for M's devices: file.c, child.c, net.c.  Each function is told beside its code.
 * Every int that may fail is -errno then.
 */
#ifndef CARET_MUMPS_IO_H
#define CARET_MUMPS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARET_MUMPS__WAIT_MAX 1024 /* sockets of one device, more than ydb_max_sockets allows by default */

enum {
    CARET_MUMPS__OPEN_READ = 1,
    CARET_MUMPS__OPEN_WRITE = 2,
    CARET_MUMPS__OPEN_CREATE = 4,
    CARET_MUMPS__OPEN_TRUNCATE = 8,
    CARET_MUMPS__OPEN_NONBLOCK = 16
};

int caret_mumps__io_open(const char *path, int how);
int caret_mumps__io_close(int fd);
int64_t caret_mumps__io_read(int fd, char *room, size_t n);
int caret_mumps__io_write(int fd, const char *text, size_t n, int patience, size_t *done);
double caret_mumps__io_ticks(void);
double caret_mumps__io_coarse_ticks(void);
int caret_mumps__io_wait(const int *fds, int *what, int n, double ms);
void caret_mumps__io_be_woken(void);
void caret_mumps__io_wake(void);
int64_t caret_mumps__io_seek(int fd, int64_t at, int whence);
int caret_mumps__io_truncate(int fd, int64_t size);
int64_t caret_mumps__io_size(int fd);
int caret_mumps__io_kind(int fd);
int caret_mumps__io_path_kind(const char *path);
int caret_mumps__io_is_program(const char *path);
int caret_mumps__io_same(int a, int b);
int caret_mumps__io_unlink(const char *path);
int caret_mumps__io_rename(const char *from, const char *to, int replace);
int caret_mumps__io_chmod(int fd, int mode);
int caret_mumps__io_mode(int fd);
int caret_mumps__io_fifo(const char *path);
int caret_mumps__io_nonblock(int fd, int on);
int caret_mumps__io_become(int from, int to);
int caret_mumps__io_tty_name(int fd, char *room, size_t cap);
int caret_mumps__io_tty_size(int fd, int *columns, int *lines);
int caret_mumps__io_tty_raw(int fd, int pasthru);
void caret_mumps__io_tty_back(void);
void caret_mumps__io_tty_flush(int fd);
int caret_mumps__io_pipe(int *ends);
int caret_mumps__io_spawn(char *args, size_t n, const int *fds, int n_fds, int session);
int caret_mumps__io_reap(int pid, int wait);
int caret_mumps__io_kill(int pid, int signal);
double caret_mumps__io_clock(int which);
void caret_mumps__io_local(double seconds, double *days, double *rest, double *west);
void caret_mumps__io_times(int *out);
size_t caret_mumps__io_glob(const char *pattern, char *room, size_t cap);
int caret_mumps__io_cwd(char *room, size_t cap);
int caret_mumps__io_chdir(const char *path);
int caret_mumps__io_pid(void);
const char *caret_mumps__io_env(const char *name);
const char *caret_mumps__io_strerror(int number);
int caret_mumps__io_bind_tcp(const char *host, const char *port);
int caret_mumps__io_bind_local(const char *path);
int caret_mumps__io_listen(int fd, int depth);
int caret_mumps__io_accept(int fd);
int caret_mumps__io_connect_tcp(const char *host, const char *port, double ms);
int caret_mumps__io_connect_local(const char *path, double ms);
int caret_mumps__io_address(int fd, int peer, char *room, size_t cap, int *port);
int caret_mumps__io_set(int fd, int which, int value);
int caret_mumps__io_get(int fd, int which);
int caret_mumps__io_pass(int fd, int gift, const char *text, size_t n);
int caret_mumps__io_take(int fd, char *room, size_t cap, size_t *n);
int caret_mumps__io_peer_pid(int fd);

#endif
