/* Child processes of a test. */
#ifndef CARET_TEST_SUPPORT_CHILDREN_H
#define CARET_TEST_SUPPORT_CHILDREN_H

#include <sys/types.h>

/* Wait for a child, which must exit with status 0. */
void join(pid_t pid);

/* It dies, and is gone when this returns. */
void kill_and_wait(pid_t pid);

/* Memory that children share with their parent; all zero. */
void *shared_memory(size_t bytes);
void shared_memory_free(void *p, size_t bytes);

#endif
