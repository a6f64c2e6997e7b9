// SPDX-License-Identifier: Apache-2.0
//
// Sums of products in narrow formats, by `multiply`, `accumulate` and `accumulate_run` of a
// pipeline. A run of products, each rounded to `product` (fp64: exact, as in a fused multiply-add),
// is summed in `sum` in order, and the sums of runs are added in fp32.
#ifndef BB_SIM_PIPELINES_NARROW_SUM_H
#define BB_SIM_PIPELINES_NARROW_SUM_H

#include "precision/format.h"
#include "sim/pipelines/factor_pipeline.h"

typedef struct bb_narrow_sum {
    bb_format product, sum;
    bb_index run; ///< products per narrow sum
} bb_narrow_sum;

enum { BB_NARROW_SUM_LANES = 128 }; ///< largest number of simultaneous sums

/// True if a pipeline's sums are narrow, that is in a format other than fp64.
bool bb_narrow_sum_is_given(const bb_factor_pipeline *pipeline);

/// Narrow sums of a pipeline, over rows of n products.
bb_narrow_sum bb_narrow_sum_of(const bb_factor_pipeline *pipeline, bb_index n);

/// Computes sum_j a_j b_jd for `lanes` sums d: a [n], b [n] rows of `stride` values, total [lanes].
void bb_narrow_sum_lanes(const bb_narrow_sum *self, bb_index n, const double *a, const double *b,
                         bb_index stride, int lanes, float *total);

#endif
