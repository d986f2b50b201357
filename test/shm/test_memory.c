/* How much memory there is: as the files of /proc and of the control groups say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm/memory.h"

#define MIB (UINT64_C(1) << 20)

static char root[64];

static void put(const char *file, const char *text)
{
    char command[512];

    snprintf(command, sizeof command, "mkdir -p $(dirname %s/%s) && printf '%s' >%s/%s", root, file, text,
             root, file);
    assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/caret-test-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void the_machine_is_the_most(void **state)
{
    (void)state;
    assert_true(caret__memory_available(root) == UINT64_MAX);
    put("proc/meminfo", "MemTotal: 4194304 kB\\nMemFree: 1 kB\\nMemAvailable: 1048576 kB\\n");
    assert_true(caret__memory_available(root) == 1024 * MIB);
    put("proc/self/cgroup", "0::/\\n");
    put("sys/fs/cgroup/memory.max", "max\\n");
    assert_true(caret__memory_available(root) == 1024 * MIB);
    assert_true(caret__memory_available("") < UINT64_MAX); /* of this machine */
}

static void a_group_and_those_above_set_bounds(void **state)
{
    (void)state;
    put("proc/meminfo", "MemAvailable: 1048576 kB\\n");
    put("proc/self/cgroup", "12:cpu:/x\\n0::/a/b\\n");
    put("sys/fs/cgroup/a/b/memory.max", "536870912\\n");
    put("sys/fs/cgroup/a/b/memory.current", "104857600\\n");
    assert_true(caret__memory_available(root) == 412 * MIB);
    put("sys/fs/cgroup/a/b/memory.stat", "anon 5\\ninactive_file 52428800\\n"); /* can be had */
    assert_true(caret__memory_available(root) == 462 * MIB);
    put("sys/fs/cgroup/a/memory.max", "209715200\\n");
    put("sys/fs/cgroup/a/memory.current", "104857600\\n");
    assert_true(caret__memory_available(root) == 100 * MIB);
    put("sys/fs/cgroup/memory.max", "104857600\\n"); /* as a container sees its own */
    put("sys/fs/cgroup/memory.current", "204857600\\n");
    assert_true(caret__memory_available(root) == 0);
}

static void the_first_version_is_understood(void **state)
{
    (void)state;
    put("proc/meminfo", "MemAvailable: 1048576 kB\\n");
    put("proc/self/cgroup", "5:cpu,cpuacct:/x\\n4:memory:/docker/y\\n");
    put("sys/fs/cgroup/memory/docker/y/memory.limit_in_bytes", "67108864\\n");
    put("sys/fs/cgroup/memory/docker/y/memory.usage_in_bytes", "1048576\\n");
    assert_true(caret__memory_available(root) == 63 * MIB);
    put("proc/self/cgroup", "nonsense\\n4:memory\\n");
    assert_true(caret__memory_available(root) == 1024 * MIB);
}

#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {MEMORY_TEST(the_machine_is_the_most),
                                       MEMORY_TEST(a_group_and_those_above_set_bounds),
                                       MEMORY_TEST(the_first_version_is_understood)};
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
