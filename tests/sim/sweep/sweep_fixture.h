// SPDX-License-Identifier: Apache-2.0
//
// Collected sweep, written manually like a file of 'sweep collect': two values of r0 by three
// widths of a pipeline's key, and texts that are markup unless escaped.
#ifndef BB_TESTS_SIM_SWEEP_SWEEP_FIXTURE_H
#define BB_TESTS_SIM_SWEEP_SWEEP_FIXTURE_H

#include "core/file.h"
#include "core/memory.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"
#include "sim/output/results.h"
#include "tests/sim/fixture.h"

#define SWEEP_FIXTURE_TITLE "</script><img src=x onerror=alert(1)>"
#define SWEEP_FIXTURE_NAME  "h'\"<b>&3"

/// Points in the order r0, width; pipelines reference, sp and the one with a hostile name, which
/// has the key width, the loss 0.001 (1 + r0 number + width), and fails at r0 0.2 and width 0.
static inline bb_status sweep_fixture_fill(bb_results *results)
{
    bb_status status = BB_OK;
    static const double r0[] = {0.1, 0.2};
    static const double widths[] = {0, 2, 4};
    static const char *const names[] = {"reference", "sp", SWEEP_FIXTURE_NAME};
    static const double points[] = {0, 1, 2, 3, 4, 5};
    const char *states[6];
    const char *ends[18];
    double losses[18];
    double bytes[18];
    double ratios[18];
    for (int p = 0; p < 6; ++p) {
        states[p] = "done";
        for (int i = 0; i < 3; ++i) {
            const bool failed = i == 2 && p == 3;
            ends[3 * p + i] = failed ? "not_spd" : "ok";
            losses[3 * p + i] = failed   ? NAN
                                : i == 2 ? 1e-3 * (1 + (p >= 3) + widths[p % 3])
                                         : 1e-6 * i * (1 + p);
            bytes[3 * p + i] = failed ? NAN : i == 2 ? 1e6 * (1 + p % 3) : 8e6 / (1 + i);
            ratios[3 * p + i] = failed ? NAN : i == 2 ? 2.0 : 0.5 * (1 + i);
        }
    }
    BB_TRY(results_axis(results, "r0_m", "m", "Fried parameter", 2, r0));
    BB_TRY(results_axis(results, "width", "tiles", "band", 3, widths));
    BB_TRY(results_text_axis(results, "pipeline", "names", 3, names));
    BB_TRY(bb_results_note(results, "r0_m", "key", "atmosphere.r0_m"));
    BB_TRY(
        bb_results_note(results, "width", "key", "pipelines." SWEEP_FIXTURE_NAME ".policy.width"));
    BB_TRY(results_values(results, "results/point_number", "1", "number", "r0_m, width", points));
    BB_TRY(results_texts(results, "results/point_status", "state", "r0_m, width", states));
    BB_TRY(results_texts(results, "results/status", "outcome", "r0_m, width, pipeline", ends));
    BB_TRY(results_values(results, "results/strehl_loss", "1", "loss", "r0_m, width, pipeline",
                          losses));
    BB_TRY(results_values(results, "results/operator_bytes", "byte", "stored",
                          "r0_m, width, pipeline", bytes));
    BB_TRY(results_values(results, "results/compression_ratio", "1", "ratio",
                          "r0_m, width, pipeline", ratios));
    BB_TRY(bb_results_note(results, "", "title", SWEEP_FIXTURE_TITLE));
    BB_TRY(bb_results_note(results, "", "experiment", "ao"));
    BB_TRY(bb_results_note(results, "", "sweep_plan", "0123456789abcdef"));
    BB_TRY(bb_results_note(results, "provenance", "sweep_plan", "{\"plan\": \"of </script>\"}"));
done:
    return status;
}

/// Adds /statistics of the same sweep with five choices.
static inline bb_status sweep_fixture_judge(bb_results *results)
{
    bb_status status = BB_OK;
    static const double index[] = {0, 1, 2, 3, 4};
    static const char *const who[] = {"reference", "sp", SWEEP_FIXTURE_NAME, SWEEP_FIXTURE_NAME,
                                      SWEEP_FIXTURE_NAME};
    static const char *const how[] = {"", "", "width 0", "width 2", "width 4"};
    static const struct {
        const char *path;
        double values[5];
    } columns[] = {
        {"statistics/points", {6, 6, 2, 2, 2}},
        {"statistics/points_failed", {0, 0, 1, 0, 0}},
        {"statistics/share_failed_bound", {0.39, 0.39, 0.97, 0.78, 0.78}},
        {"statistics/loss_median", {0, 3.5e-6, 1e-3, 3.5e-3, 5.5e-3}},
        {"statistics/loss_p99", {0, 6e-6, 1e-3, 4e-3, 6e-3}},
        {"statistics/loss_most", {0, 6e-6, 1e-3, 4e-3, 6e-3}},
        {"statistics/bits_per_value", {64, 32, 16, 16, 16}},
        {"statistics/operator_bytes", {8e6, 4e6, 1e6, 2e6, 3e6}},
        {"statistics/worst_point", {0, 5, 0, 4, 5}},
    };
    BB_TRY(results_axis(results, "statistics/choice", "1", "index", 5, index));
    BB_TRY(results_texts(results, "statistics/choice_pipeline", "pipeline", "choice", who));
    BB_TRY(results_texts(results, "statistics/setting", "setting", "choice", how));
    for (size_t c = 0; c < sizeof columns / sizeof *columns; ++c) {
        BB_TRY(results_values(results, columns[c].path, "1", "statistic", "choice",
                              columns[c].values));
    }
done:
    return status;
}

static bb_results *results; // of the group

/// Both parts, as results and as the file s.h5 of the working folder.
static inline int sweep_fixture_begin(void)
{
    check_ok(bb_hdf5_library_start());
    results = empty_results();
    check_ok(sweep_fixture_fill(results));
    check_ok(sweep_fixture_judge(results));
    check_ok(bb_provenance_end(results));
    write_results(results, "s.h5");
    return 0;
}

static inline void sweep_fixture_end(void)
{
    bb_results_destroy(&results);
}

#endif
