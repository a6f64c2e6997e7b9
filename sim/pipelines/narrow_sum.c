// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/narrow_sum.h"

bool bb_narrow_sum_is_given(const bb_factor_pipeline *pipeline)
{
    return pipeline->accumulate != (int)BB_FORMAT_FP64;
}

bb_narrow_sum bb_narrow_sum_of(const bb_factor_pipeline *pipeline, bb_index n)
{
    return (bb_narrow_sum){
        .product = (bb_format)pipeline->multiply,
        .sum = (bb_format)pipeline->accumulate,
        .run = pipeline->accumulate_run == BB_INTEGER_UNSET ? n : pipeline->accumulate_run};
}

void bb_narrow_sum_lanes(const bb_narrow_sum *self, bb_index n, const double *a, const double *b,
                         bb_index stride, int lanes, float *total)
{
    const bool exact = self->product == BB_FORMAT_FP64;
    float runs[BB_NARROW_SUM_LANES] = {0.0F};
    float products[BB_NARROW_SUM_LANES];
    double wide[BB_NARROW_SUM_LANES];
    for (int d = 0; d < lanes; ++d) {
        total[d] = 0.0F;
    }
    for (bb_index j = 0; j < n; ++j) {
        for (int d = 0; d < lanes; ++d) {
            wide[d] = a[j] * b[j * stride + d];
        }
        if (!exact) {
            (void)bb_format_narrow(self->product, wide, lanes, products);
        }
        for (int d = 0; d < lanes; ++d) {
            wide[d] = (double)runs[d] + (exact ? wide[d] : (double)products[d]);
        }
        (void)bb_format_narrow(self->sum, wide, lanes, runs);
        for (int d = 0; ((j + 1) % self->run == 0 || j + 1 == n) && d < lanes; ++d) {
            total[d] += runs[d];
            runs[d] = 0.0F;
        }
    }
}
