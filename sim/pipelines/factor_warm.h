// SPDX-License-Identifier: Apache-2.0
//
// Warm-up of a device's kernels, to exclude it from times: a module is loaded when its first kernel
// is launched, and a library selects algorithms and allocates at its first call.
#ifndef BB_SIM_PIPELINES_FACTOR_WARM_H
#define BB_SIM_PIPELINES_FACTOR_WARM_H

#include "sim/pipelines/factor_pipeline.h"

/// Key of the kernels that a pipeline launches on a device.
typedef struct bb_factor_kernels {
    int count, diagonal, sweeps;
    /// [count] variants that tiles may get; a single one without a policy
    bb_variant variants[BB_VARIANT_COUNT];
} bb_factor_kernels;

bb_factor_kernels bb_factor_kernels_of(const bb_factor_pipeline *pipeline);
bool bb_factor_kernels_same(const bb_factor_kernels *a, const bb_factor_kernels *b);

/// Warms up the kernels of a pipeline once per process, on an identity of six tiles. Later times
/// thus exclude their first use, except for library kernels of larger shapes only. Errors: those of
/// bb_factor_device_solve.
BB_CHECKED bb_status bb_factor_warm(const bb_factor_solver_config *solver,
                                    const bb_factor_pipeline *pipeline);

#endif
