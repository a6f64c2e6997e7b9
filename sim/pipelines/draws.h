// SPDX-License-Identifier: Apache-2.0
//
// Draws of one pipeline: N computations of the same problem with independent rounding
// (precision/draw.h). They turn a loss into a distribution and a breakdown into a frequency. Draw
// 0 is the pipeline without added randomness.
#ifndef BB_SIM_PIPELINES_DRAWS_H
#define BB_SIM_PIPELINES_DRAWS_H

#include "core/outcome.h"
#include "core/schema.h"

enum { BB_DRAWS_MOST = 256 };

/// Row of a pipeline's table; `type` has a bb_index member `draws`.
#define BB_DRAWS_KEY(type)                                                                         \
    {                                                                                              \
        .name = "draws", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0,                      \
        .maximum = BB_DRAWS_MOST, .offset = offsetof(type, draws), .default_text = "1",            \
        .meaning = "Number of computations with independent random rounding, for mean, spread "    \
                   "and worst loss."                                                               \
    }

typedef struct bb_draws {
    bb_index tried, failed;
    double losses[BB_DRAWS_MOST]; ///< [tried] in order, NaN where a draw failed
    bb_outcome failure;           ///< outcome of the first draw that failed
    bb_index failure_draw;        ///< number of that draw
} bb_draws;

/// Adds the next draw; its loss counts if its outcome is ok.
void bb_draws_add(bb_draws *draws, const bb_outcome *outcome, double loss);

/// loss <- (loss - start) / over, once all losses are known.
void bb_draws_relate(bb_draws *draws, double start, double over);

/// True if some draws failed and some did not.
bool bb_draws_differ(const bb_draws *draws);

/// Largest loss of all draws; NaN if one failed or has no loss.
double bb_draws_worst(const bb_draws *draws);

/// Upper bound, one-sided with 95 % confidence, on the probability that a draw fails, by Clopper
/// and Pearson (Biometrika 26, 1934): the 0.95 quantile of Beta(failed + 1, tried - failed); 1
/// where all failed, NaN where none was tried.
double bb_draws_failure_bound(const bb_draws *draws);

/// Statistics of draws for the result table; NaN if undefined.
typedef struct bb_draws_summary {
    double tried, failed;
    double mean, deviation, worst; ///< statistics of the losses; the deviation has the divisor
                                   ///< count - 1
    double failure_bound;          ///< bb_draws_failure_bound
} bb_draws_summary;

bb_draws_summary bb_draws_summarise(const bb_draws *draws);

#endif
