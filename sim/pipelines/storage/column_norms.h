// SPDX-License-Identifier: Apache-2.0
//
// Norms of runs of columns for codecs that ask for them (bb_codec_norm_width): with A_JJ the block
// of the covariance that a reconstructor is rounded in (rounding_norm.h) of the columns J, and L
// its factor, errors E of those columns alone leave tr(E A_JJ E^T) = ||E L||^2 of an estimate.
#ifndef BB_SIM_PIPELINES_STORAGE_COLUMN_NORMS_H
#define BB_SIM_PIPELINES_STORAGE_COLUMN_NORMS_H

#include "sim/pipelines/storage/rounding_norm.h"

/// L of every `width` columns of n, [blocks][width][width], lower triangular; of columns times
/// `scales` [n], NULL for 1. A block that has none sets `outcome`, and `out` is NULL then. Blocks
/// by the threads. Errors: BB_MEMORY, the source's. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_column_norms_make(bb_rounding_norm *norm, bb_index width,
                                          const double *scales, bb_outcome *outcome, double **out);

/// What they take of n columns; nothing for a width of 0.
bb_need bb_column_norms_need(bb_index n, bb_index width, double threads);

#endif
