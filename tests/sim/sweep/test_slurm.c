// SPDX-License-Identifier: Apache-2.0
//
// Slurm scripts as texts; tests/cluster submits them to a real Slurm.
#include "sim/sweep/slurm.h"
#include "tests/sim/sweep/toy_sweep.h"

static bb_text printed(const bb_slurm_request *request)
{
    bb_text text = {0};
    check_ok(bb_slurm_submit(request, &text));
    return text;
}

static void expect(const bb_text *text, const char *part, bool is_there)
{
    if ((strstr(bb_text_string(text), part) != NULL) != is_there) {
        print_error("%s '%s':\n%s\n", is_there ? "no" : "there is", part, bb_text_string(text));
        fail();
    }
}

TEST(a_worker_has_its_processor_and_memory)
{
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..8, shards: 4}\n", "plain");
    plan->need.host_bytes = 3e9;
    bb_slurm_request request = {
        .plan = plan, .output = "all.h5", .max_loss = NAN, .nodes = 3, .print_only = true};
    autorelease(bb_text) text = printed(&request);
    expect(&text, "#SBATCH --array=1-3\n", true);
    expect(&text, "#SBATCH --mem-per-cpu=4500M\n", true);
    expect(&text, "--jobs \"${SLURM_CPUS_PER_TASK:-1}\"", true);
    expect(&text, "--max-loss", false);
    bb_text_release(&text);
    plan->device = BB_DEVICE_CUDA;
    request.max_loss = 0.25;
    text = printed(&request);
    expect(&text, "#SBATCH --gpus=1\n#SBATCH --mem-per-gpu=4500M\n", true);
    expect(&text, "--jobs \"${SLURM_GPUS_ON_NODE:-1}\"", true);
    expect(&text, "-o 'all.h5' --max-loss 0.25\n", true);
}

// `auto` is resolved by a run's plan, independent of the planning host: points may be too small for
// a device.
TEST(auto_is_the_device_that_a_run_takes)
{
    static const struct {
        const char *keys;
        bb_device_kind device;
    } cases[] = {{"device: auto", BB_DEVICE_CPU},
                 {"device: auto\ndevice_mb: 1.0", BB_DEVICE_CUDA},
                 {"device: cpu\ndevice_mb: 1.0", BB_DEVICE_CPU}};
    for (int i = 0; i < 3; ++i) {
        char base[128];
        char folder[16];
        autoptr(bb_sweep_plan) plan = NULL;
        (void)snprintf(base, sizeof base, "experiment: toy\n%s\npipelines: [{name: a}]\n",
                       cases[i].keys);
        (void)snprintf(folder, sizeof folder, "auto%d", i);
        check_ok(toy_try_plan(base, "sweep: {seeds: 1..8}\n", folder, &plan));
        assert_int_equal(plan->device, cases[i].device);
        const bb_slurm_request request = {
            .plan = plan, .output = "all.h5", .max_loss = NAN, .print_only = true};
        autorelease(bb_text) text = printed(&request);
        expect(&text, "#SBATCH --gpus=1\n", cases[i].device == BB_DEVICE_CUDA);
    }
}

// sbatch refuses two kinds of memory option.
TEST(memory_of_the_user_stands_alone)
{
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..8}\n", "mem");
    const char *const extras[] = {"--mem=5G"};
    const bb_slurm_request request = {.plan = plan,
                                      .output = "all.h5",
                                      .max_loss = NAN,
                                      .extras = extras,
                                      .extra_count = 1,
                                      .print_only = true};
    autorelease(bb_text) text = printed(&request);
    expect(&text, "#SBATCH --mem", false);
    expect(&text, "'--mem=5G' '", true);
    bb_text_release(&text);
    const char *const bound[] = {"--mem-bind=local"};
    const bb_slurm_request others = {.plan = plan,
                                     .output = "all.h5",
                                     .max_loss = NAN,
                                     .extras = bound,
                                     .extra_count = 1,
                                     .print_only = true};
    text = printed(&others);
    expect(&text, "#SBATCH --mem-per-cpu=", true);
}

TEST(who_pays_pays_for_the_job_after_too)
{
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..8}\n", "pay");
    const char *const extras[] = {"-p",         "big",     "--account=me", "--cpus-per-task=4",
                                  "--qos",      "high",    "-pshort",      "--partitions=no",
                                  "--gres=gpu", "--time=5"};
    const bb_slurm_request request = {.plan = plan,
                                      .output = "all.h5",
                                      .max_loss = NAN,
                                      .extras = extras,
                                      .extra_count = 10,
                                      .print_only = true};
    autorelease(bb_text) text = printed(&request);
    expect(&text, "--dependency=afterany:JOB '-p' 'big' '--account=me' '--qos' 'high' '-pshort' '",
           true);
}

TEST(folders_may_have_any_name)
{
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..8}\n", "a \"b\" 5%A's");
    const bb_slurm_request request = {
        .plan = plan, .output = "o'o.h5", .max_loss = NAN, .print_only = true};
    autorelease(bb_text) text = printed(&request);
    expect(&text, "/a \\\"b\\\" 5%%A's/log/%A_%a.out\"\n", true);
    expect(&text, "/a \\\"b\\\" 5%%A's/log/collect.out\"\n", true);
    expect(&text, "-o 'o'\\''o.h5'\n", true);
    bb_text_release(&text);
    bb_sweep_plan_destroy(&plan);
    plan = toy_planned("sweep: {seeds: 1..8}\n", "line\nbreak");
    const bb_slurm_request broken = {
        .plan = plan, .output = "o.h5", .max_loss = NAN, .print_only = true};
    text = (bb_text){0};
    check_fails(bb_slurm_submit(&broken, &text), BB_INVALID, "line break");
}

TEST(a_job_says_what_memory_it_has)
{
    static const char *const names[] = {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU",
                                        "SLURM_MEM_PER_GPU", "SLURM_CPUS_ON_NODE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    assert_true(isinf(bb_slurm_memory()));
    assert_int_equal(setenv("SLURM_MEM_PER_NODE", "2048", 1), 0);
    assert_true(bb_slurm_memory() == 2048.0 * 0x1p20);
    assert_int_equal(setenv("SLURM_MEM_PER_NODE", "0", 1), 0);
    assert_true(isinf(bb_slurm_memory()));
    assert_int_equal(unsetenv("SLURM_MEM_PER_NODE"), 0);
    assert_int_equal(setenv("SLURM_MEM_PER_CPU", "100", 1), 0);
    assert_true(bb_slurm_memory() == 100.0 * 0x1p20);
    assert_int_equal(setenv("SLURM_CPUS_ON_NODE", "4", 1), 0);
    assert_true(bb_slurm_memory() == 400.0 * 0x1p20);
    assert_int_equal(unsetenv("SLURM_MEM_PER_CPU"), 0);
    assert_int_equal(unsetenv("SLURM_CPUS_ON_NODE"), 0);
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);
