/* Children that are somewhere else: with mounts of their own, or as somebody without rights. */
#ifndef CARET_TEST_LOG_APART_H
#define CARET_TEST_LOG_APART_H

#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "child.h"

#define NOBODY 65534

/* Mounts that nobody else sees, and that go with this process. */
static inline bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
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
