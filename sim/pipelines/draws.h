// SPDX-License-Identifier: Apache-2.0
//
// The draws of one pipeline: N computations of the same problem whose roundings are independent
// (precision/draw.h), so that a price is a distribution and a breakdown a frequency. Draw 0 is the
// pipeline as it is without draws.
#ifndef BB_SIM_PIPELINES_DRAWS_H
#define BB_SIM_PIPELINES_DRAWS_H

#include "core/outcome.h"
#include "core/schema.h"

enum { BB_DRAWS_MOST = 256 };

/// Row of a pipeline's table; `type` has a bb_index called `draws`.
#define BB_DRAWS_KEY(type)                                                                         \
    {                                                                                              \
        .name = "draws", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0,                      \
        .maximum = BB_DRAWS_MOST, .offset = offsetof(type, draws), .default_text = "1",            \
        .meaning = "Computations with roundings of their own, for mean, spread and worst price."   \
    }

typedef struct bb_draws {
    bb_index tried, failed;
    double prices[BB_DRAWS_MOST]; ///< [tried] in order, NaN where a draw failed
    bb_outcome failure;           ///< of the first draw that failed
    bb_index failure_draw;        ///< its number
} bb_draws;

/// Takes the next draw; its price counts where its outcome is ok.
void bb_draws_add(bb_draws *draws, const bb_outcome *outcome, double price);

/// price <- (price - from) / over, for prices that are known when all is computed.
void bb_draws_relate(bb_draws *draws, double start, double over);

/// Whether some draws failed and some did not.
bool bb_draws_differ(const bb_draws *draws);

/// Largest price of all draws; NaN where one failed or has none.
double bb_draws_worst(const bb_draws *draws);

/// Upper bound, one-sided with 95 % confidence, on the probability that a draw fails, by Clopper
/// and Pearson (Biometrika 26, 1934): the 0.95 quantile of Beta(failed + 1, tried - failed); 1
/// where all failed, NaN where none was tried.
double bb_draws_failure_bound(const bb_draws *draws);

/// What the result table says of draws; NaN where there is none.
typedef struct bb_draws_summary {
    double tried, failed;
    double mean, deviation, worst; ///< of the prices; deviation over their number - 1
    double failure_bound;          ///< bb_draws_failure_bound
} bb_draws_summary;

bb_draws_summary bb_draws_summarise(const bb_draws *draws);

#endif
