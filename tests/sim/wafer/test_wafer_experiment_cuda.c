// SPDX-License-Identifier: Apache-2.0
//
// Wafer study on a GPU compared with the cpu: products differ only by the order of their sums.
#include "core/device/device.h"
#include "tests/first_device.h"
#include "tests/sim/driver.h"

static const driver_case on_cpu = {CONFIG_WAFER_SMALL, {"device=cpu"}};
static const driver_case on_gpu = {CONFIG_WAFER_SMALL, {"device=cuda"}};

#define CODED                                                                                      \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: bfp8, storage: {codec: bfp, bits: 8}, scale: row, multiply: fp32, accumulate: fp64}, " \
    "{name: quantiser, storage: {codec: quantiser, tolerance_of_range: 1.0e-4}, multiply: fp32, "  \
    "accumulate: fp64}, {name: runs, storage: {codec: bfp, bits: 6}, scale: row, "                 \
    "multiply: fp32, accumulate: fp64, accumulate_run: 32}]"
static const driver_case coded_on_cpu = {CONFIG_WAFER_SMALL, {"device=cpu", CODED}};
static const driver_case coded_on_gpu = {CONFIG_WAFER_SMALL, {"device=cuda", CODED}};

static double norm_of_difference(const double *a, const double *b, bb_index count, double *norm)
{
    double difference = 0.0;
    *norm = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        *norm += b[i] * b[i];
    }
    *norm = sqrt(*norm);
    return sqrt(difference);
}

static void compare(const driver_case *here, const driver_case *there)
{
    autoptr(bb_results) cpu = driver_results(here);
    autoptr(bb_results) gpu = driver_results(there);
    const bb_dataset *names = driver_dataset(cpu, "pipeline");
    const bb_dataset *displacement = driver_dataset(cpu, "displacement_nm");
    bb_index row = displacement->count / displacement->shape[0];
    for (bb_index p = 0; p < names->count; ++p) {
        const char *name = names->texts[p];
        double norm = 0.0;
        double difference =
            norm_of_difference(driver_row(gpu, "displacement_nm", name),
                               driver_row(cpu, "displacement_nm", name), row, &norm);
        // fp32 accumulates in fp32, partly in runs; all others in fp64.
        bool narrow = strcmp(name, "fp32") == 0 || strcmp(name, "runs") == 0;
        double bound = narrow ? 1e-5 : 1e-12;
        print_message("%s: %.2g of the norm\n", name, difference / norm);
        assert_true(difference <= bound * norm);
        assert_string_equal(driver_text(gpu, "device", name), "cuda");
        assert_string_equal(driver_text(gpu, "status", name), "ok");
    }
}

TEST(displacements_agree_with_the_cpu)
{
    compare(&on_cpu, &on_gpu);
}

TEST(coded_storages_agree_with_the_cpu)
{
    compare(&coded_on_cpu, &coded_on_gpu);
}

TEST(a_second_run_has_the_same_bits)
{
    autoptr(bb_results) first = driver_results(&on_gpu);
    autoptr(bb_results) second = driver_results(&on_gpu);
    check_same_digest(first, second);
}

// Each GPU computes its own fields and axes, which are added in order.
TEST(two_gpus_have_the_bits_of_one)
{
    static const driver_case by_two = {CONFIG_WAFER_SMALL,
                                       {"device=cuda", CODED, "response.gpus=2"}};
    if (bb_device_count(BB_DEVICE_CUDA, NULL, 0) < 2) {
        skip();
    }
    autoptr(bb_results) one = driver_results(&coded_on_gpu);
    autoptr(bb_results) two = driver_results(&by_two);
    check_same_digest(one, two);
}

// Storage without an encoder on the GPU is encoded from a copy of the GPU's rows.
TEST(host_codecs_take_the_rows_of_the_gpu)
{
#define ZFP                                                                                        \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: zfp, storage: {codec: zfp, mode: reversible, dimensions: 2}, multiply: fp32, "         \
    "accumulate: fp64}, {name: narrow, heat: fp32, rows: {storage: fp32, arithmetic: fp64}, "      \
    "storage: fp32, multiply: fp32, accumulate: fp64}]"
    static const driver_case here = {CONFIG_WAFER_SMALL, {"device=cpu", ZFP}};
    static const driver_case there = {CONFIG_WAFER_SMALL, {"device=cuda", ZFP}};
    compare(&here, &there);
}

// sm_90 or portable, as reported by the device.
TEST(the_file_names_the_kernels)
{
    bb_device *device = NULL;
    bb_device_report report;
    check_ok(bb_device_open(BB_DEVICE_CUDA, 0, &device));
    check_ok(bb_device_describe(device, &report));
    bb_device_close(&device);
    autoptr(bb_results) results = driver_results(&on_gpu);
    const char *note = bb_results_note_text(results, "provenance", "device_cuda_kernels");
    assert_non_null(note);
    assert_string_equal(note, report.kernels);
}

TEST_GROUP(.begin = needs_cuda);
