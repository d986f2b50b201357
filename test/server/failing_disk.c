/*
 * A disk that fails, for tests of the server: loaded by LD_PRELOAD, it has pwrite, fdatasync or fsync of files with
 * ".caret" in their names fail with EIO, for as long as the file $FAILING_DISK has that call's name in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool named(const char *call)
{
    char text[32] = "";
    const char *path = getenv("FAILING_DISK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 && strncmp(text, call, strlen(call)) == 0;
}

static bool fails(const char *call, int fd)
{
    char link[64], file[1024];
    int before = errno;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, file, sizeof file - 1);
    file[n > 0 ? n : 0] = 0;
    bool found = strstr(file, ".caret") != NULL && named(call);
    errno = found ? EIO : before;
    return found;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return fails("pwrite", fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at)
{
    return pwrite(fd, bytes, len, at);
}

int fdatasync(int fd)
{
    return fails("sync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return fails("sync", fd) ? -1 : (int)syscall(SYS_fsync, fd);
}
