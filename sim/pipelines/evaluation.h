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

/// Results of a pipeline; NaN after a failure or where not measured.
typedef struct bb_evaluation {
    const char *pipeline; ///< name, borrowed
    bb_outcome outcome;
    bb_device_kind device;
    char compiler[320]; ///< compiler of kernels built during the run, or ""
    double qoi_relative_error;
    double operator_bytes, fp32_bytes;
    double flops, flops_dense;
    double encode_seconds, solve_seconds;
    double energy_joules,
        idle_watts;      ///< gross energy of a solve, and power before it (sim/pipelines/energy.h)
    double wall_seconds; ///< seconds from the pipeline's start to its checked result in host memory
    bb_factor_report factor; ///< report of the factorization, for experiments that factor a
                             ///< covariance
    bb_draws draws;          ///< the members above are draw 0's
} bb_evaluation;

/// Evaluation with all values NaN.
bb_evaluation bb_evaluation_start(const char *pipeline);

/// Stores the compiler of a pipeline's kernels for provenance; no effect with "".
void bb_evaluation_note_compiler(bb_evaluation *evaluation, const char *compiler);

/// `fp32_bytes` over `operator_bytes`; NaN for a matrix of zeros that stores nothing, because its
/// ratio is undefined.
double bb_evaluation_compression(double fp32_bytes, double operator_bytes);

/// Cost of a result on a machine with a price, USD, by straight-line depreciation and measured
/// electricity:
///
///     cost = price t / (lifetime 365.25 d) + tariff E
///
/// with t the seconds of the solve, during which the machine does nothing else, and E its joules if
/// there is a tariff. NaN without a price, or where t or E is unknown.
double bb_evaluation_cost(const bb_machine_price *machine, double seconds, double joules);

/// Evaluations of a study in its order, each inside a record of its experiment.
typedef struct bb_evaluations {
    const bb_evaluation *first;
    size_t stride; ///< distance in bytes between two evaluations
    bb_index count;
    const bb_machine_price *machine; ///< prices for the costs of results; NULL: none
} bb_evaluations;

/// Results table of bb_evaluations_publish, for all experiments.
extern const bb_output_table bb_evaluation_outputs;

/// Writes the axis /results/pipeline, status, status_detail, device, the values above, and
/// statistics of draws with losses in `loss_unit`. A pipeline is `unsafe` if only some of its
/// draws failed. Errors: from bb_output_table_publish.
BB_CHECKED bb_status bb_evaluations_publish(const bb_evaluations *evaluations,
                                            const char *loss_unit, bb_results *results);

/// Writes the reports of the factorizations (bb_factor_report_outputs), after
/// bb_evaluations_publish.
BB_CHECKED bb_status bb_evaluations_publish_factors(const bb_evaluations *evaluations,
                                                    bb_results *results);

/// Allocates `count` doubles, all NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_evaluation_unset(bb_index count, double **out);

#endif
