// SPDX-License-Identifier: Apache-2.0
//
// Plans held against a machine that a file describes.
#include "sim/machine.h"
#include "tests/check.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

static program_run run;

static void write_machine(const char *text)
{
    FILE *file = fopen("machine.yaml", "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_file_describes_a_machine(void **state)
{
    (void)state;
    bb_problems problems = {0};
    bb_machine machine;
    write_machine("name: node\nmemory_gb: 2.5\ngpus: 4\ngpu_memory_gb: 80\n");
    check_ok(bb_machine_load("machine.yaml", &problems, &machine));
    assert_string_equal(machine.name, "node");
    check_close(machine.host_bytes, 2.5e9, 0.0, 1.0);
    check_close(machine.gpu_bytes, 80e9, 0.0, 1.0);
    assert_int_equal(machine.gpus, 4);
    write_machine("name: node\nmemory_gb: 2.5\ngpu: 4\n");
    assert_int_equal(bb_machine_load("machine.yaml", &problems, &machine), BB_INVALID);
    assert_non_null(strstr(bb_text_string(&problems.lines), "unknown key (did you mean gpus?)"));
    bb_problems_release(&problems);
}

// Each limit by itself, and what just fits.
static void what_it_lacks_is_refused(void **state)
{
    (void)state;
    const bb_machine machine = {.name = "node", .host_bytes = 10e9, .gpus = 2, .gpu_bytes = 80e9};
    static const struct {
        double host_bytes, device_bytes;
        bb_index gpus;
        bb_status status;
        const char *text;
    } cases[] = {
        {10e9, 0.0, 0, BB_OK, ""},
        {11e9, 0.0, 0, BB_MEMORY, "node: 10.0 GB of memory, the plan needs 11.0 GB"},
        {1e9, 80e9, 2, BB_OK, ""},
        {1e9, 81e9, 1, BB_MEMORY, "node: GPUs of 80.0 GB, the largest pipeline needs 81.0 GB"},
        {1e9, 1e9, 3, BB_DEVICE, "node: 2 GPUs, the plan needs 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_plan plan = {.host_bytes = cases[i].host_bytes,
                              .device_bytes = cases[i].device_bytes,
                              .gpus = cases[i].gpus};
        assert_int_equal(bb_machine_require(&machine, &plan), cases[i].status);
        if (cases[i].status != BB_OK) {
            assert_string_equal(bb_status_message(), cases[i].text);
        }
    }
}

// A study for a GPU is planned on a host without one, for a machine that has it.
static void check_plans_for_another_machine(void **state)
{
    (void)state;
    static const char shipped[] = BB_SOURCE_DIR "/configs/machines/h200-node.yaml";
    static const char study[] = BB_SOURCE_DIR "/configs/ao/mosaic-100368.yaml";
    const char *const fits[PROGRAM_ARGUMENTS] = {"check",     study,   "--device", "cuda",
                                                 "--machine", shipped, NULL};
    const char *const lacks[PROGRAM_ARGUMENTS] = {"check",     study,          "--device", "cuda",
                                                  "--machine", "machine.yaml", NULL};
    program_call(fits, &run);
    program_expect(&run, 0, "memory on the device");
    write_machine("name: desk\nmemory_gb: 256\ngpus: 1\ngpu_memory_gb: 24\n");
    program_call(lacks, &run);
    program_expect(&run, 4, "desk: GPUs of 24.0 GB, the largest pipeline needs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_describes_a_machine),
        cmocka_unit_test(what_it_lacks_is_refused),
        cmocka_unit_test(check_plans_for_another_machine),
    };
    if (fixture_enter() != 0) {
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("machine", tests, NULL, NULL);
    return fixture_leave() + failed;
}
