// SPDX-License-Identifier: Apache-2.0
//
// Rounding samples (draws): repetitions of a computation with independent rounding errors. Rows are
// multiplied by factors before they are rounded and divided by them afterwards, which changes
// nothing in exact arithmetic but every rounding. Draw 0 has no factors.
//
// A factor is random by its address (core/random.h): the same on any machine and in any order.
#ifndef BB_PRECISION_DRAW_H
#define BB_PRECISION_DRAW_H

#include "core/random.h"

/// Row factors of a factorization are drawn from [0.96, 1]: wide enough that roundings to 11 bits
/// are independent, narrow enough that entries near 1 stay where a narrow format is finest.
#define BB_DRAW_LEAST 0.96

/// Multiplies scale [count] by independent factors, uniform on [minimum, 1], from the addresses
/// (seed, stream, draw, i).
void bb_draw_scale(uint64_t seed, bb_stream stream, bb_index draw, double minimum, bb_index count,
                   double *scale);

/// Interval of the factors of coded rows. least == most: no factor changes a rounding.
typedef struct {
    double least, most;
} bb_draw_range;

/// One factor for every `band` rows that are rounded together, log-uniform on `range`
/// (bb_codec_draw_range): for the rows from `first` on, counted over all matrices of a pipeline.
/// factors [count].
void bb_draw_bands(uint64_t seed, bb_index draw, bb_draw_range range, bb_index first, bb_index band,
                   bb_index count, double *factors);

#endif
