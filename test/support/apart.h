/* Children that are somewhere else: with mounts of their own, or as somebody without rights. */
#ifndef CARET_TEST_SUPPORT_APART_H
#define CARET_TEST_SUPPORT_APART_H

#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/child.h"

#define NOBODY 65534

/* Mounts that nobody else sees, and that go with this process. */
static inline bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static inline bool own_pids(void)
{
    return unshare(CLONE_NEWPID) == 0;
}

/* May a child do that?  Ask before there are others: a test that is skipped leaves no child. */
static inline bool permitted(bool (*in_child)(void), const char *what)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(in_child() ? 0 : 77);
    waitpid(pid, &status, 0);
    if (status != 0)
        printf("skipped: %s can't be made here\n", what);
    return status == 0;
}

static inline bool may_have_own_mounts(void)
{
    return permitted(own_mounts, "mount namespaces");
}

static inline bool may_have_own_pids(void)
{
    return permitted(own_pids, "pid namespaces");
}

/* In a child: somebody without any rights. */
static inline void become_nobody(void)
{
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(77);
}

static inline bool may_become_nobody(void)
{
    if (geteuid() == 0)
        return true;
    printf("skipped: only root can become somebody else\n");
    return false;
}

#endif
