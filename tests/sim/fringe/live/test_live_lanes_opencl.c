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

static void phases_do_not_depend_on_how_many_are_on_their_way(void **state)
{
    (void)state;
    skip_without_device();
    lanes_check_overlap("opencl");
}

static void phases_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    skip_without_device();
    const driver_case studies[] = {{LANES_CONFIG, {lanes_few, lanes_odd}},
                                   {LANES_CONFIG, {lanes_few, lanes_odd, "device=opencl"}}};
    const lanes_answer cpu = lanes_run(&studies[0], 1), opencl = lanes_run(&studies[1], 2);
    assert_memory_equal(opencl.phases, cpu.phases,
                        (size_t)(LANES_PHASES * cpu.points) * sizeof *cpu.phases);
    free(cpu.phases);
    free(opencl.phases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_do_not_depend_on_how_many_are_on_their_way),
        cmocka_unit_test(phases_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, lanes_enter, driver_leave);
}
