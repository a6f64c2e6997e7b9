// SPDX-License-Identifier: Apache-2.0
#include "tests/first_device.h"
#include "tests/sim/fringe/live/lanes.h"

TEST_FULL(phases_do_not_depend_on_how_many_are_on_their_way)
{
    lanes_check_overlap("device=opencl");
}

TEST_FULL(phases_have_the_bits_of_the_cpu)
{
    autorelease(lanes_answer) cpu = lanes_run(CASE(CONFIG_FRINGE_SMALL, {lanes_few, lanes_odd}), 1);
    autorelease(lanes_answer) opencl =
        lanes_run(CASE(CONFIG_FRINGE_SMALL, {lanes_few, lanes_odd, "device=opencl"}), 2);
    assert_memory_equal(opencl.phases, cpu.phases,
                        (size_t)(LANES_PHASES * cpu.points) * sizeof *cpu.phases);
}

TEST_GROUP(.begin = needs_opencl, .is_quiet = true, .threads = 2);
