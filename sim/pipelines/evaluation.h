// SPDX-License-Identifier: Apache-2.0
//
// Results of one pipeline common to all experiments, and their part of /results.
#ifndef BB_SIM_PIPELINES_EVALUATION_H
#define BB_SIM_PIPELINES_EVALUATION_H

#include "core/device/device.h"
#include "core/outcome.h"
#include "sim/output/output_table.h"
#include "sim/pipelines/draws.h"
#include "sim/pipelines/factor_report.h"
#include "sim/run/study.h"

/// Numbers are NaN where a failed or unmeasured pipeline has none.
typedef struct bb_evaluation {
    const char *pipeline; ///< name, borrowed
    bb_outcome outcome;
    bb_device_kind device;
    char compiler[320]; ///< of what was compiled during the run; ""
    double qoi_relative_error;
    double operator_bytes, fp32_bytes;
    double flops, flops_dense;
    double encode_seconds, solve_seconds;
    double energy_joules,
        idle_watts;          ///< of a solve, gross, and drawn before it (sim/pipelines/energy.h)
    double wall_seconds;     ///< from the pipeline's start to its result, looked at, in host memory
    bb_factor_report factor; ///< of experiments that factor a covariance
    bb_draws draws;          ///< what is above is draw 0's
} bb_evaluation;

/// All NaN.
bb_evaluation bb_evaluation_start(const char *pipeline);

/// Keeps what compiled a pipeline's kernels, for provenance; "" changes nothing.
void bb_evaluation_note_compiler(bb_evaluation *evaluation, const char *compiler);

/// `fp32_bytes` over `operator_bytes`; NaN of an operator that stores nothing, since a matrix of
/// zeros is no ratio smaller.
double bb_evaluation_compression(double fp32_bytes, double operator_bytes);

/// What a result costs on a machine that has a price, USD: by straight-line depreciation and the
/// electricity that was counted,
///
///     cost = price t / (lifetime 365.25 d) + tariff E
///
/// with t the seconds of the solve, for which the machine serves nothing else, and E its joules
/// where there is a tariff. NaN without a price, and where what is needed is unknown.
double bb_evaluation_cost(const bb_machine_price *machine, double seconds, double joules);

/// The evaluations of a study in its order, each within a record of an experiment's own.
typedef struct bb_evaluations {
    const bb_evaluation *first;
    size_t stride; ///< bytes from one to the next
    bb_index count;
    const bb_machine_price *machine; ///< by which results have a cost; NULL: none
} bb_evaluations;

/// What bb_evaluations_publish writes: of every experiment.
extern const bb_output_table bb_evaluation_outputs;

/// Writes the axis /results/pipeline, status, status_detail, device, the numbers above, and what
/// the draws gave, of prices in `price_unit`. A pipeline of which some draws failed and some did
/// not is `unsafe`. Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_evaluations_publish(const bb_evaluations *evaluations,
                                            const char *price_unit, bb_results *results);

/// Writes what is known of the factorizations (bb_factor_report_outputs), after the above.
BB_CHECKED bb_status bb_evaluations_publish_factors(const bb_evaluations *evaluations,
                                                    bb_results *results);

/// Allocates `count` doubles, all NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_evaluation_unset(bb_index count, double **out);

#endif
