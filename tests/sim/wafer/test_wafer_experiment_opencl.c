// SPDX-License-Identifier: Apache-2.0
//
// Wafer study through OpenCL compared with the cpu: products differ only by the order of their
// sums. Skipped without such a device.
#include "core/device/device.h"
#include "tests/first_device.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}, "              \
    "{name: mixed, storage: fp32, multiply: fp32, accumulate: fp64}, "                             \
    "{name: scaled, storage: fp32, scale: row, multiply: fp32, accumulate: fp64}, "                \
    "{name: wide, storage: fp32, multiply: fp64, accumulate: fp64}, "                              \
    "{name: rounded, storage: fp64, multiply: fp32, accumulate: fp64}, "                           \
    "{name: narrow, storage: fp32, multiply: fp32, accumulate: fp32}, "                            \
    "{name: coded, storage: {codec: bfp, bits: 8}, scale: row, multiply: fp32, accumulate: fp64, " \
    "device: cpu}]"
static const driver_case on_cpu = {CONFIG_WAFER_SMALL, {"device=cpu", PIPELINES}};
static const driver_case on_opencl = {CONFIG_WAFER_SMALL, {"device=opencl", PIPELINES}};

static void check_row(const bb_results *cpu_results, const bb_results *opencl_results,
                      const char *name)
{
    const bb_dataset *displacement = driver_dataset(cpu_results, "displacement_nm");
    const bb_index row = displacement->count / displacement->shape[0];
    const double *expected = driver_row(cpu_results, "displacement_nm", name);
    const double *got = driver_row(opencl_results, "displacement_nm", name);
    const bool is_coded = strcmp(name, "coded") == 0;
    double difference = 0.0;
    double norm = 0.0;
    for (bb_index i = 0; i < row; ++i) {
        difference += (got[i] - expected[i]) * (got[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    print_message("%s: %.2g of the norm\n", name, sqrt(difference / norm));
    assert_true(norm > 0.0);
    assert_true(sqrt(difference / norm) <= (strcmp(name, "narrow") == 0 ? 1e-5 : 1e-13));
    assert_string_equal(driver_text(opencl_results, "device", name), is_coded ? "cpu" : "opencl");
    assert_string_equal(driver_text(opencl_results, "status", name), "ok");
}

TEST(displacements_agree_with_the_cpu)
{
    autoptr(bb_results) cpu_results = driver_results(&on_cpu);
    autoptr(bb_results) opencl_results = driver_results(&on_opencl);
    const bb_dataset *names = driver_dataset(cpu_results, "pipeline");
    for (bb_index p = 0; p < names->count; ++p) {
        check_row(cpu_results, opencl_results, names->texts[p]);
    }
    assert_string_equal(bb_results_note_text(opencl_results, "provenance", "device"),
                        "cpu, opencl");
    assert_non_null(strstr(
        bb_results_note_text(opencl_results, "provenance", "device_opencl_compiler"), "-cl-std"));
    assert_null(bb_results_note_text(opencl_results, "provenance", "device_cpu_compiler"));
}

TEST_GROUP(.begin = needs_opencl, .is_quiet = true);
