// SPDX-License-Identifier: Apache-2.0
//
// A requested device is used or refused with a reason, without silent fallback. Cases that need a
// GPU, or need its absence, are skipped otherwise with a message.
#include "sim/run/device_choice.h"
#include "sim/wafer/wafer_work.h"
#include "tests/sim/driver.h"

static const bb_device_offer both = {.work = "the work of a test",
                                     .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};
static const bb_device_offer cpu_only = {.work = "the work of a test", .kinds = 0};

static bool has_gpu(void)
{
    return bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0;
}

static void need_gpu(bool wanted)
{
    if (has_gpu() != wanted) {
        print_message("skipped: this host has %s\n", wanted ? "no CUDA device" : "a CUDA device");
        skip();
    }
}

// `auto` gives the cpu if only opencl has the kernels, whether it is present or not.
TEST(auto_never_takes_opencl)
{
    const bb_device_offer offer = {.work = "the work of a test",
                                   .kinds = BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};
    bb_device_kind kind = BB_DEVICE_CUDA;
    check_ok(bb_device_choice_make(&offer, BB_DEVICE_AUTO, -1, &kind));
    assert_int_equal(kind, BB_DEVICE_CPU);
    const bool present = bb_device_count(BB_DEVICE_OPENCL, NULL, 0) > 0;
    const bb_status status = bb_device_choice_make(&offer, BB_DEVICE_OPENCL, -1, &kind);
    assert_int_equal(status, present ? BB_OK : BB_DEVICE);
    assert_int_equal(kind, present ? BB_DEVICE_OPENCL : BB_DEVICE_CPU);
}

TEST(cpu_is_taken_everywhere)
{
    bb_device_kind kind = BB_DEVICE_CUDA;
    check_ok(bb_device_choice_make(&both, BB_DEVICE_CPU, -1, &kind));
    assert_int_equal(kind, BB_DEVICE_CPU);
    // A pipeline's own device has priority over the study's, which then need not be present.
    kind = BB_DEVICE_CUDA;
    check_ok(bb_device_choice_make(&both, BB_DEVICE_CUDA, BB_DEVICE_CPU, &kind));
    assert_int_equal(kind, BB_DEVICE_CPU);
}

TEST(auto_takes_what_has_kernels)
{
    bb_device_kind kind = BB_DEVICE_CUDA;
    check_ok(bb_device_choice_make(&cpu_only, BB_DEVICE_AUTO, -1, &kind));
    assert_int_equal(kind, BB_DEVICE_CPU);
    check_ok(bb_device_choice_make(&both, BB_DEVICE_AUTO, -1, &kind));
    assert_int_equal(kind, has_gpu() ? BB_DEVICE_CUDA : BB_DEVICE_CPU);
}

TEST(only_what_runs_is_offered)
{
    // Wafer pipelines 4 to 7 have storages without opencl kernels, for one reason.
    static const struct {
        driver_case study;
        const char *text;
    } cases[] = {
        {{CONFIG_WAFER_SMALL, {"device=opencl"}}, "1 problem"},
        {{CONFIG_AO_SMALL, {"device=opencl"}}, "1 problem"},
        {{CONFIG_AO_SMALL, {"pipelines.2.device=opencl"}}, "1 problem"},
        {{CONFIG_WAFER_SMALL, {"pipelines.4.device=opencl"}}, "1 problem"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        bb_results *results = NULL;
        check_fails(driver_run(&cases[i].study, 1, &results), BB_INVALID, cases[i].text);
        assert_null(results);
    }
    bb_device_kind kind = BB_DEVICE_CUDA;
    if (has_gpu()) {
        check_fails(bb_device_choice_make(&cpu_only, BB_DEVICE_CUDA, -1, &kind), BB_UNSUPPORTED,
                    "has no cuda kernels");
        assert_int_equal(kind, BB_DEVICE_CPU);
    }
}

TEST(an_absent_gpu_is_an_error_with_a_reason)
{
    need_gpu(false);
    static const driver_case cases[] = {
        {CONFIG_AO_SMALL, {"device=cuda", "solver.tile=128"}},
        {CONFIG_WAFER_SMALL, {"device=cuda"}},
        {CONFIG_AO_SMALL, {"pipelines.2.device=cuda", "solver.tile=128"}},
        {CONFIG_WAFER_SMALL, {"pipelines.2.device=cuda"}},
    };
    char reason[256] = "";
    bb_index blocks = bb_memory_blocks();
    assert_int_equal(bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason), 0);
    assert_true(strlen(reason) > 10);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        bb_results *results = NULL;
        check_fails(driver_run(&cases[i], 1, &results), BB_DEVICE, "device cuda is absent: ");
        assert_non_null(strstr(bb_status_message(), reason));
        assert_null(results);
        assert_int_equal(bb_status_exit_code(BB_DEVICE), 5);
        assert_int_equal(bb_memory_blocks(), blocks);
    }
    print_message("%s\n", bb_status_message());
}

// Adds the name of a pipeline with a reason.
static void put_gap(bb_device_gaps *gaps, const char *name, const char *reason)
{
    gaps->names[gaps->count] = name;
    (void)snprintf(gaps->reasons[gaps->count++], sizeof gaps->reasons[0], "%s", reason);
}

// One line for each reason, with at most six names, in the order of the first pipelines.
TEST(pipelines_without_a_form_are_refused_by_reason)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    autoptr(bb_config) config = driver_config(CASE(CONFIG_AO_SMALL, {NULL}));
    autorelease(bb_problems) problems = {0};
    bb_device_gaps gaps = {.count = 0};
    put_gap(&gaps, "reference", "");
    for (size_t i = 0; i < 8; ++i) {
        put_gap(&gaps, names[i], i == 1 ? "no y" : "no x");
    }
    check_ok(bb_device_choice_refuse(&gaps, config, &problems));
    assert_int_equal(problems.count, 2);
    const char *text = bb_text_string(&problems.lines);
    const char *first = strstr(text, "pipelines a, c, d, e, f, g and 1 more: no x");
    const char *second = strstr(text, "pipeline b: no y");
    assert_non_null(first);
    assert_non_null(second);
    assert_true(first < second);
}

TEST(auto_leaves_small_work_on_the_cpu)
{
    const double least = BB_DEVICE_CHOICE_ORDER;
    const int small = bb_device_choice_by_size(BB_DEVICE_AUTO, least - 1.0, least);
    const int large = bb_device_choice_by_size(BB_DEVICE_AUTO, least, least);
    const int named = bb_device_choice_by_size(BB_DEVICE_CUDA, 1.0, least);
    assert_int_equal(bb_device_choice_wish(small, -1), BB_DEVICE_CPU);
    assert_int_equal(bb_device_choice_wish(large, -1), BB_DEVICE_AUTO);
    assert_int_equal(bb_device_choice_wish(named, -1), BB_DEVICE_CUDA);
    // A pipeline's own auto depends on the size too; a named device is used.
    assert_int_equal(bb_device_choice_wish(small, BB_DEVICE_AUTO), BB_DEVICE_CPU);
    assert_int_equal(bb_device_choice_wish(named, BB_DEVICE_AUTO), BB_DEVICE_CPU);
    assert_int_equal(bb_device_choice_wish(large, BB_DEVICE_AUTO), BB_DEVICE_AUTO);
    assert_int_equal(bb_device_choice_wish(small, BB_DEVICE_CUDA), BB_DEVICE_CUDA);
}

// 2.6e7 and 7.9e7 values of all matrices.
TEST(wafers_know_their_size)
{
    static const char *const cases[][2] = {{"quick", "scan.fields=[6]"}, {"quick", "seed=1"}};
    for (size_t i = 0; i < 2; ++i) {
        char path[512];
        bb_wafer_study resolved;
        (void)snprintf(path, sizeof path, BB_SOURCE_DIR "/configs/wafer/%s.yaml", cases[i][0]);
        autoptr(bb_config) config = driver_config(CASE(path, {"device=auto", cases[i][1]}));
        check_ok(bb_wafer_extent_resolve(bb_config_study(config), &resolved));
        assert_int_equal(bb_device_choice_wish(resolved.common.device, -1),
                         i == 0 ? BB_DEVICE_CPU : BB_DEVICE_AUTO);
    }
}

TEST(an_absent_device_is_refused_by_name)
{
    check_ok(bb_device_choice_require(NULL));
    check_ok(bb_device_choice_require("cpu"));
    check_ok(bb_device_choice_require("auto"));
    check_ok(bb_device_choice_require("a word that the study refuses"));
    need_gpu(false);
    check_fails(bb_device_choice_require("cuda"), BB_DEVICE, "device cuda is absent: ");
}

// A host and a device pipeline in one study: each records its device, and the overlay agrees within
// the effect of the order of summation.
TEST(wafer_computes_on_a_gpu)
{
    need_gpu(true);
    const driver_case study = {CONFIG_WAFER_SMALL, {"pipelines.1.device=cuda"}};
    autoptr(bb_results) results = driver_results(&study);
    assert_string_equal(driver_text(results, "device", "reference"), "cpu");
    assert_string_equal(driver_text(results, "device", "fp64 again"), "cuda");
    assert_true(driver_number(results, "qoi_relative_error", "fp64 again") < 1e-13);
}

TEST(results_say_which_device_computed)
{
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_AO_SMALL, {"device=auto", "targets=[{x_arcsec: 0, y_arcsec: 0}]"}));
    assert_string_equal(driver_text(results, "device", "reference"), "cpu");
}

TEST_GROUP(.is_quiet = true);
