#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "support/children.h"

void join(pid_t pid)
{
    int status;

    assert_true(pid > 0);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("child: status %x", (unsigned)status);
}

void kill_and_wait(pid_t pid)
{
    assert_true(pid > 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

void shared_memory_free(void *p, size_t bytes)
{
    munmap(p, bytes);
}
