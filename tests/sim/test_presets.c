// SPDX-License-Identifier: Apache-2.0
//
// Shipped configurations through the built program: memory announced by `check`, exit codes, and
// result files against golden numbers.
#include "core/device/device.h"
#include "tests/sim/preset.h"

TEST(ao_quick)
{
    autoptr(bb_results) results = run_preset(BB_SOURCE_DIR "/configs/ao/quick.yaml");
    golden_check(results, "ao-quick.txt");
}

TEST(ao_nx456)
{
    autoptr(bb_results) results = run_preset(CONFIG_NX456);
    golden_check(results, "ao-nx456.txt");
    assert_string_equal(driver_text(results, "status", "bf16"), "not_spd");
    assert_true(isnan(driver_number(results, "strehl", "bf16")));
}

TEST(wafer_quick)
{
    autoptr(bb_results) results = run_preset(BB_SOURCE_DIR "/configs/wafer/quick.yaml");
    golden_check(results, "wafer-quick.txt");
    assert_true(driver_number(results, "qoi_relative_error", "fp16-unscaled") == 1.0);
}

TEST(fringe_quick)
{
    autoptr(bb_results) results = run_preset(BB_SOURCE_DIR "/configs/fringe/quick.yaml");
    golden_check(results, "fringe-quick.txt");
}

TEST(fringe_max_loss)
{
    autoptr(bb_results) results = run_preset(BB_SOURCE_DIR "/configs/fringe/max-loss.yaml");
    golden_check(results, "fringe-max-loss.txt");
}

// In small runs the program itself dominates the memory.
TEST(estimates_hold_elsewhere)
{
    autoptr(bb_results) results = run_preset(CONFIG_AO_SMALL);
    bb_results_destroy(&results);
    results = run_preset(CONFIG_WAFER_SMALL);
}

// A factorization that loses definiteness is a recorded result, not a program failure.
TEST(a_numerical_failure_exits_with_0)
{
    CALL_EXPECT(
        0, "pipeline hp2: not_spd, tile (", "run", CONFIG_NX456, "solver.scale=none", "device=cpu",
        "solver.lgs_tilt=constant_block",
        "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}, {name: "
        "hp1, arithmetic: hp1, policy: {kind: band, width: 1, inside: sp}}, {name: hp3, "
        "arithmetic: hp3}]",
        "--force", "-o", "failed.h5");
    autoptr(bb_results) results = read_results("failed.h5");
    assert_string_equal(driver_text(results, "status", "hp2"), "not_spd");
    assert_string_equal(driver_text(results, "status", "hp3"), "not_spd");
    assert_true(isnan(driver_number(results, "strehl", "hp3")));
    assert_true(driver_number(results, "strehl", "hp1") > 0.8);
}

static void need_no_gpu(void)
{
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0) {
        print_message("skipped: this host has a CUDA device\n");
        skip();
    }
}

TEST(an_absent_device_exits_with_5)
{
    static const char *const wishes[] = {"device=cuda", "pipelines.1.device=cuda", "--device=cuda"};
    need_no_gpu();
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; ++i) {
        CALL_EXPECT(5, "device cuda is absent: ", "run", CONFIG_AO_SMALL, wishes[i], "-o",
                    "absent.h5");
        CALL_EXPECT(5, "device cuda is absent: ", "run", CONFIG_WAFER_SMALL, wishes[i], "-o",
                    "absent.h5");
        assert_int_equal(access("absent.h5", F_OK), -1);
    }
}

static void expect_absent_alone(const program_run *call)
{
    static const char first[] = "bitbudget: device cuda is absent: ";
    program_expect(call, 5, first);
    const char *end = strchr(call->printed, '\n');
    if (strncmp(call->printed, first, sizeof first - 1) != 0 || end == NULL || end[1] != '\0') {
        print_error("expected one line, got:\n%s", call->printed);
        fail();
    }
}

// An absent device is reported on a single line, before problems of the study, its file, options or
// operands.
TEST(an_absent_device_is_said_first_and_alone)
{
    need_no_gpu();
    CALL("run", CONFIG_AO_SMALL, "solver.tile=none", "--device=cuda");
    expect_absent_alone(&run);
    CALL("run", CONFIG_AO_SMALL, "solver.tile=none", "device=cuda");
    expect_absent_alone(&run);
    CALL("live", "none.yaml", "--device=cuda");
    expect_absent_alone(&run);
    CALL("realtime", CONFIG_WAFER_SMALL, "--device=cuda", "--force");
    expect_absent_alone(&run);
    CALL("sweep", "none.yaml", "--device=cuda");
    expect_absent_alone(&run);
    CALL("tune", "none.kernel", "--device=cuda");
    expect_absent_alone(&run);
    CALL("tune", "--for", "none.yaml", "--device=cuda");
    expect_absent_alone(&run);
    CALL("kernel", "run", "none.kernel", "--device=cuda");
    expect_absent_alone(&run);
    CALL("kernel", "explain", "none.kernel", "--device=cuda");
    expect_absent_alone(&run);
    CALL_EXPECT(2, "solver.tile = none: ", "run", CONFIG_AO_SMALL, "device=cuda", "device=cpu",
                "solver.tile=none");
}

// The same applies to a device named in the study file.
TEST(an_absent_device_of_a_file_is_said_first_and_alone)
{
    need_no_gpu();
    FILE *file = fopen("on_cuda.yaml", "w");
    assert_non_null(file);
    assert_true(fprintf(file, "base: %s\ndevice: cuda\nnonsense: 1\nsolver: {tile: none}\n",
                        CONFIG_AO_SMALL) > 0);
    assert_int_equal(fclose(file), 0);
    static const char *const commands[] = {"run", "realtime", "sweep"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        CALL(commands[i], "on_cuda.yaml");
        expect_absent_alone(&run);
    }
    CALL("run", "on_cuda.yaml", "device=cpu");
    program_expect(&run, 2, "nonsense: unknown key");
    CALL("check", "on_cuda.yaml");
    program_expect(&run, 2, "; assuming a host that has it\non_cuda.yaml");
}

// A plan may be for another host, so `check` continues.
TEST(check_says_first_that_a_device_is_absent)
{
    need_no_gpu();
    CALL_EXPECT(0, "; assuming a host that has it\nao: ", "check", CONFIG_AO_SMALL,
                "--device=cuda");
}

// The choice of `auto` is printed once, with the reason for not using a faster device: these
// studies are small.
TEST(auto_prints_its_choice)
{
    CALL_EXPECT(0, "device auto: cpu, ", "run", CONFIG_AO_SMALL, "device=auto", "--force", "-o",
                "auto.h5");
    const char *said = strstr(run.printed, "device auto: ");
    assert_null(strstr(said + 1, "device auto: "));
    CALL_EXPECT(0, "device auto: cpu, ", "run", CONFIG_WAFER_SMALL, "device=auto", "--force", "-o",
                "auto.h5");
    CALL_EXPECT(0, "results: auto.h5", "run", CONFIG_AO_SMALL, "--force", "-o", "auto.h5");
    assert_null(strstr(run.printed, "device auto"));
}

TEST(a_bad_study_exits_with_2)
{
    CALL_EXPECT(2, "mesh.step_ms = 200: expected at most 47.63 ms", "run", CONFIG_WAFER_SMALL,
                "mesh.step_ms=200.0", "-o", "bad.h5");
    assert_int_equal(access("bad.h5", F_OK), -1);
}

// Figures 3 and 11 of Bamakhrama et al., from the sizes in the configurations. By hand: the
// deformation takes 3 x 34 x 378 x (2 x 256000 - 1) operations, 19.74 GFLOP; the matrix of a field
// takes 2.215 GB.
TEST(plans_state_what_is_required)
{
    CALL_EXPECT(0, "in 50 ms: T 292202 with 15.5 entries per row, S 256000, M 378", "check",
                BB_SOURCE_DIR "/configs/wafer/bamakhrama-fast.yaml", "device=cpu");
    program_expect(&run, 0, "20.40 GFLOP per field, 407.9 GFLOP/s; per axis 144.7 GFLOP/s");
    program_expect(&run, 0, "2112 MiB per field and axis, 44.3 GB/s");
    program_expect(&run, 0, "period 197.8 ms, latency 231.0 ms, over the budget of 50 ms");
    program_expect(&run, 0, "49 % less, decoding 66.7 ms is 57 % of it");
    CALL_EXPECT(0, "in 110 ms: ", "check", BB_SOURCE_DIR "/configs/wafer/bamakhrama-slow.yaml",
                "machine.link_gb_per_s=100", "machine.budget_ms=0");
    program_expect(&run, 0, "decoding is slower than the link");
}

// Finite elements need a factor and per-thread workspaces in addition to the matrices.
#define KERNEL "response.generator=kernel"

// By hand: six matrices of 2163 x 256000 with one byte per value take 3322.4 MB; low_rank is
// encoded from a single fp64 matrix of 4430 MB.
TEST(plans_hold_the_loop_in_real_time)
{
    static const char key[] = "realtime, device memory";
    CALL_EXPECT(0, "e4m3, 2 sets of 3 axes on the device, 3322.4 MB", "check",
                BB_SOURCE_DIR "/configs/wafer/realtime-slow.yaml", "device=cpu", KERNEL);
    double device = strtod(strstr(run.printed, key) + strlen(key), NULL);
    assert_true(device > 3322.4 && device < 1.05 * 3322.4);
    const char *host = strstr(run.printed, "realtime, host memory");
    assert_non_null(host);
    // The host holds one matrix at a time.
    assert_true(strtod(host + strlen("realtime, host memory"), NULL) < 1500.0);
    // The host holds all six, and each GPU those of one axis: two slots, and one in transfer to the
    // host.
    CALL_EXPECT(0, "e4m3, 2 sets of 3 axes streamed from the host, 3322.4 MB", "check",
                BB_SOURCE_DIR "/configs/wafer/realtime-slow.yaml", "realtime.matrices=streamed",
                "realtime.gpus=3", KERNEL);
    device = strtod(strstr(run.printed, key) + strlen(key), NULL);
    assert_true(device > 3.0 * 553.7 && device < 1.05 * 3.0 * 553.7 + 40.0);
    program_expect(&run, 0, "MB on each of 3");
    host = strstr(run.printed, "realtime, host memory");
    assert_non_null(host);
    double held = strtod(host + strlen("realtime, host memory"), NULL);
    assert_true(held > 3322.4 + 553.7 && held < 3322.4 + 1500.0);
    CALL("check", BB_SOURCE_DIR "/configs/wafer/realtime-slow.yaml", "realtime.pipeline=low-rank",
         KERNEL);
    host = strstr(run.printed, "realtime, host memory");
    assert_non_null(host);
    assert_true(strtod(strstr(host, "at most ") + strlen("at most "), NULL) > 4430.0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
