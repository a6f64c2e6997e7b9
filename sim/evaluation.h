// SPDX-License-Identifier: Apache-2.0
//
// What every experiment says of one pipeline, and the part of /results that all experiments share.
#ifndef BB_SIM_EVALUATION_H
#define BB_SIM_EVALUATION_H

#include "core/device/device.h"
#include "core/outcome.h"
#include "sim/output/results.h"
#include "sim/pipelines/draws.h"
#include "sim/pipelines/factor_report.h"

/// Numbers are NaN where a failed or unmeasured pipeline has none.
typedef struct bb_evaluation {
    const char *pipeline; ///< name, borrowed
    bb_outcome outcome;
    bb_device_kind device;
    double qoi_relative_error;
    double operator_bytes, fp32_bytes;
    double flops, flops_dense;
    double encode_seconds, solve_seconds, energy_joules;
    double wall_seconds;     ///< from the pipeline's start to its result, looked at, in host memory
    bb_factor_report factor; ///< of experiments that factor a covariance
    bb_draws draws;          ///< what is above is draw 0's
} bb_evaluation;

/// All NaN.
bb_evaluation bb_evaluation_start(const char *pipeline);

/// `fp32_bytes` over `operator_bytes`; NaN of an operator that stores nothing, since a matrix of
/// zeros is no ratio smaller.
double bb_evaluation_compression(double fp32_bytes, double operator_bytes);

/// Writes the axis /results/pipeline, status, status_detail, device and the numbers above, for
/// `count` evaluations in the study's order. A pipeline of which some draws failed and some did not
/// is `unsafe`.
BB_CHECKED bb_status bb_evaluations_publish(bb_results *results, bb_index count,
                                            const bb_evaluation *const *evaluations);

/// Writes what is known of the factorizations (bb_factor_report_publish), after the above.
BB_CHECKED bb_status bb_evaluations_publish_factors(bb_results *results, bb_index count,
                                                    const bb_evaluation *const *evaluations);

/// Writes what the draws gave (bb_draws_publish), after the above.
BB_CHECKED bb_status bb_evaluations_publish_draws(bb_results *results, const char *unit,
                                                  bb_index count,
                                                  const bb_evaluation *const *evaluations);

/// Writes one number a pipeline as results/<name>.
BB_CHECKED bb_status bb_evaluations_publish_number(bb_results *results, const char *name,
                                                   const char *unit, const char *long_name,
                                                   const double *values);

/// Allocates `count` doubles, all NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_evaluation_unset(bb_index count, double **out);

#endif
