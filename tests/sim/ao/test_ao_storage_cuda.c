// SPDX-License-Identifier: Apache-2.0
//
// Reconstructors of nx456 rounded in the sweep with products on a GPU, against the CPU and known
// traces of residual covariances over the exact one.
#include "tests/first_device.h"
#include "tests/sim/driver.h"

static const char *const names[] = {"int8", "both", "quantiser", "bfp6", "commands"};
enum { NAMES = sizeof names / sizeof *names };

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp, storage: fp64}, "                                \
    "{name: int8, arithmetic: dp, storage: {codec: integer, bits: 8, rounding: sweep}}, "          \
    "{name: both, arithmetic: dp, filter: means, storage: {codec: integer, bits: 8, rounding: "    \
    "sweep}}, {name: quantiser, arithmetic: dp, column_scale: remainder, storage: {codec: "        \
    "quantiser, tolerance: 1e-4, rounding: sweep}}, {name: bfp6, arithmetic: dp, storage: "        \
    "{codec: "                                                                                     \
    "bfp, bits: 6, rounding: sweep}}, {name: commands, arithmetic: dp, operator: commands, "       \
    "storage: {codec: integer, bits: 6, rounding: sweep}}]"

static bb_results *results_on(const char *device)
{
    return driver_results(
        &(driver_case){CONFIG_NX456,
                       {device, "solver.tile=128", "score=stationary", "error_terms.fitting=false",
                        "rounding_inflation.tilt_arcsec2=0", PIPELINES}});
}

static double excess_of(const bb_results *results, const char *name)
{
    const double exact = driver_row(results, "residual_trace_arcsec2", "reference")[0];
    return driver_row(results, "residual_trace_arcsec2", name)[0] / exact - 1.0;
}

TEST(sweeps_pay_what_those_of_the_cpu_pay)
{
    autoptr(bb_results) cpu = results_on("device=cpu");
    autoptr(bb_results) gpu = results_on("device=cuda");
    for (int p = 0; p < NAMES; ++p) {
        const double loss = driver_number(gpu, "strehl_loss", names[p]);
        assert_string_equal(driver_text(gpu, "device", names[p]), "cuda");
        assert_string_equal(driver_text(gpu, "status", names[p]), "ok");
        print_message("%s: loss %.4e, on the cpu %.4e\n", names[p], loss,
                      driver_number(cpu, "strehl_loss", names[p]));
        check_relative(loss, driver_number(cpu, "strehl_loss", names[p]), 0.01);
        check_relative(driver_number(gpu, "reconstructor_bytes", names[p]),
                       driver_number(cpu, "reconstructor_bytes", names[p]), 0.01);
    }
    for (int p = 0; p < NAMES - 1; ++p) { // commands have no trace
        print_message("%s: x %.6f, on the cpu x %.6f\n", names[p], 1.0 + excess_of(gpu, names[p]),
                      1.0 + excess_of(cpu, names[p]));
        check_relative(excess_of(gpu, names[p]), excess_of(cpu, names[p]), 0.01);
    }
    check_relative(excess_of(gpu, "int8"), 0.00719, 0.01);
}

// Sweeps with one factor give the same bits again.
TEST(sweeps_repeat_bit_for_bit)
{
    autoptr(bb_results) first = results_on("device=cuda");
    autoptr(bb_results) second = results_on("device=cuda");
    for (int p = 0; p < NAMES; ++p) {
        assert_true(driver_number(first, "strehl_loss", names[p]) ==
                    driver_number(second, "strehl_loss", names[p]));
    }
}

TEST_GROUP(.begin = needs_cuda);
