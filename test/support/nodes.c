/* nodes.c - see nodes.h. */
#include "support/nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t home; /* the process of the test */

__attribute__((constructor)) static void note_home(void)
{
    home = getpid();
}

void must(int rc, const char *what)
{
    if (rc == CARET_OK)
        return;
    if (getpid() == home && (pid_t)syscall(SYS_gettid) == home)
        fail_msg("%s: %d %s", what, rc, caret_message());
    fprintf(stderr, "%s: %d %s\n", what, rc, caret_message());
    if (getpid() != home)
        _exit(99);
    abort();
}

caret_node *node_at(caret_node_buf *n, const char *name, int64_t i)
{
    must(caret_node_var(&n->node, sizeof *n, name, strlen(name)), "variable");
    must(caret_node_child_int(&n->node, sizeof *n, &n->node, i), "child");
    return &n->node;
}
