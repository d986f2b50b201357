/*
 * main.c - the program caret-m, which `caret m` is: M, compiled to Lua, on LuaJIT.
 *
 * All of it is Lua but what stands in exports.def; front/mumps/host/main.lua reads the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lua.h>

#include "mumps/host/host.h"
#include "mumps/host/vm.h"

/* A standard descriptor that is closed must not become that of a database: it is taken by one that can be neither read
 * (0) nor written (1, 2). */
static void fill_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(CARET_MUMPS__BROKEN);
}

/* The exit status, also of words of the command line that print (the devices of M write by themselves). */
static int after_output(int status)
{
    errno = EIO;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno != EPIPE)
        fprintf(stderr, "caret m: standard output: %s\n", strerror(errno));
    return status != 0 ? status : 1;
}

int main(int argc, char **argv)
{
    fill_descriptors();
    signal(SIGCHLD, SIG_DFL); /* ignored, as a parent may have it, the status of ZSYSTEM and pipes is lost */
    lua_State *L = caret_mumps__vm();
    if (L == NULL) {
        fputs("caret-m: no memory\n", stderr);
        return CARET_MUMPS__BROKEN;
    }
    caret_mumps__add_interrupts(L);
    int status = caret_mumps__main(L, "mumps.host.main", argc, argv);
    caret_mumps__vm_close(L);
    caret_mumps__close();
    return after_output(status);
}
