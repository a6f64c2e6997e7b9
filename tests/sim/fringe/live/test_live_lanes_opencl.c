// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/fringe/live/lanes.h"

static void skip_without_device(void)
{
    char reason[256] = "";
    if (bb_device_count(BB_DEVICE_OPENCL, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        skip();
    }
}

TEST_FULL(phases_do_not_depend_on_how_many_are_on_their_way)
{
    skip_without_device();
    lanes_check_overlap("opencl");
}

TEST_FULL(phases_have_the_bits_of_the_cpu)
{
    skip_without_device();
    const driver_case studies[] = {{LANES_CONFIG, {lanes_few, lanes_odd}},
                                   {LANES_CONFIG, {lanes_few, lanes_odd, "device=opencl"}}};
    const lanes_answer cpu = lanes_run(&studies[0], 1), opencl = lanes_run(&studies[1], 2);
    assert_memory_equal(opencl.phases, cpu.phases,
                        (size_t)(LANES_PHASES * cpu.points) * sizeof *cpu.phases);
    free(cpu.phases);
    free(opencl.phases);
}

TEST_GROUP(.enter = lanes_enter, .leave = driver_leave);
