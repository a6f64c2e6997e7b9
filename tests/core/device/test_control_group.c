// SPDX-License-Identifier: Apache-2.0
//
// Memory limits of control groups, on file trees created here.
#include "core/device/control_group.h"
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
    char command[256];
    (void)snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", path);
    assert_int_equal(system(command), 0);
    write_text(path, text);
}

TEST(the_least_limit_on_the_way_up_holds)
{
    write_file("two", "0::/batch/job_7/step\n");
    write_file("v2/batch/job_7/step/memory.max", "max\n");
    write_file("v2/batch/job_7/memory.max", "2147483648\n");
    write_file("v2/batch/memory.max", "4294967296\n");
    assert_true(bb_control_group_memory("two", "v2") == 2147483648.0);
    write_file("v2/batch/memory.max", "1048576\n");
    assert_true(bb_control_group_memory("two", "v2") == 1048576.0);
}

TEST(the_first_version_names_its_controller)
{
    write_file("one", "5:cpu,memorytag:/other\n4:hugetlb,memory:/job\n1:cpu:/job\n0::/\n");
    write_file("v1/memory/other/memory.limit_in_bytes", "4096\n");
    write_file("v1/memory/job/memory.limit_in_bytes", "8000000000\n");
    write_file("v1/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_true(bb_control_group_memory("one", "v1") == 8e9);
}

TEST(a_container_sees_its_group_as_the_root)
{
    write_file("container", "4:memory:/host/path/that/is/not/here\n");
    write_file("c/memory/memory.limit_in_bytes", "123456789\n");
    assert_true(bb_control_group_memory("container", "c") == 123456789.0);
}

TEST(no_limit_is_infinite)
{
    write_file("none", "0::/\ngarbage\n:\n::\n");
    assert_true(isinf(bb_control_group_memory("none", "nowhere")));
    assert_true(isinf(bb_control_group_memory("no-such-file", "nowhere")));
    write_file("n/memory.max", "max\n");
    assert_true(isinf(bb_control_group_memory("none", "n")));
    write_file("n/memory.max", "-5\n");
    assert_true(isinf(bb_control_group_memory("none", "n")));
    write_file("n/memory.max", "9223372036854771712\n");
    assert_true(isinf(bb_control_group_memory("none", "n")));
}

TEST_GROUP(.has_folder = true);
