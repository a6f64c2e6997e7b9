// SPDX-License-Identifier: Apache-2.0
//
// Product of a real-time computer with one vector of slopes, for simulations in time. With filtered
// means their part a is removed first, slopes are rounded by `slopes` (slope_rounding.h, clipped to
// the range of their bits), and sums are as narrow as the pipeline's (narrow_sum.h),
//     y = R x + (R V) a,   x = round(s - V a),
// with all else in fp64.
#ifndef BB_SIM_PIPELINES_STORED_PRODUCT_H
#define BB_SIM_PIPELINES_STORED_PRODUCT_H

#include "sim/pipelines/factor_storage.h"
#include "sim/pipelines/narrow_sum.h"

/// Product of a pipeline with rounded slopes and sums. Zero-initialise; release with
/// bb_stored_product_release.
typedef struct bb_stored_product {
    bb_index m, n;
    const double *r;        ///< [m][n], borrowed
    bb_slope_groups groups; ///< groups whose means are filtered, borrowed; count 0: none
    bb_slope_config slopes;
    double step;    ///< rounding step of slopes with `bits`; 0: none
    bool is_narrow; ///< use `sum` for narrow sums
    bb_narrow_sum sum;
    double *columns; ///< [n][m] transposed R, for narrow sums
    double *sums;    ///< [m][groups] R V
} bb_stored_product;

/// True if a pipeline's product differs from the product in fp64.
bool bb_stored_product_is_given(const bb_factor_pipeline *pipeline);

/// Creates the product for the decoded r [m][n], borrowed like the storage. Errors: BB_MEMORY, the
/// source's.
BB_CHECKED bb_status bb_stored_product_create(bb_factor_storage *storage,
                                              const bb_factor_pipeline *pipeline, bb_index m,
                                              const double *r, bb_stored_product *out);
void bb_stored_product_release(bb_stored_product *self);

/// Number of doubles of workspace for a product.
bb_index bb_stored_product_work(const bb_stored_product *self);

/// Computes y [m] from slopes [n]; `context` is a bb_stored_product. Writes only `out` and `work`.
void bb_stored_product_multiply(const void *context, const double *slopes, double *work,
                                double *out);

#endif
