// SPDX-License-Identifier: Apache-2.0
//
// Prices and costs of the pipelines of a result, their Pareto front, and what is chosen by them.
#ifndef BB_SIM_OUTPUT_FRONT_H
#define BB_SIM_OUTPUT_FRONT_H

#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// What is to be least.
typedef enum bb_front_measure {
    BB_FRONT_BYTES,  ///< operator_bytes
    BB_FRONT_TIME,   ///< solve_time_s
    BB_FRONT_JOULES, ///< energy_j
    BB_FRONT_COST,   ///< cost_usd
    BB_FRONT_MEASURES
} bb_front_measure;

/// What a pipeline costs; infinite where it is unknown.
typedef struct bb_front_cost {
    bool takes_part;    ///< it is ok, its price known and its answer not lost
    double price;       ///< the largest of the experiment's prices; of draws the worst one's
    double loss;        ///< of the price, as the front compares it (bb_front_loss)
    double plain_price; ///< of the pipeline as it is; NaN where unknown
    double measures[BB_FRONT_MEASURES];
} bb_front_cost;

typedef struct bb_front {
    const bb_dataset *names; ///< of the pipelines; the results'
    bb_front_cost *costs;    ///< [names->count]
    bb_index reference;      ///< its row: the one of that name, else the first
    bool counts;             ///< prices are counts: whole, without a unit
    bool timed;              ///< all that finished computed on a GPU: time is the format's
} bb_front;

/// Costs of the pipelines of results, which are borrowed. Errors: BB_INVALID (results without an
/// axis of pipelines), BB_MEMORY. Owner: the caller (bb_front_release).
BB_CHECKED bb_status bb_front_find(const bb_experiment *experiment, const bb_results *results,
                                   bb_front *out);
void bb_front_release(bb_front *front);

/// Loss of a price: its magnitude, since rounding that happens to raise the score is no gain over
/// the reference; 0 within the rounding of the reference's `score`.
double bb_front_loss(double price, double score);

/// Whether no other pipeline is at most as high in loss and bytes, and lower in one. Time joins
/// them where `timed`, times that differ by less than 10 % being equal.
bool bb_front_has(const bb_front *front, bb_index row);

/// The pipeline that takes part, is within a price and has the least of a measure; bytes are
/// followed by time where it counts. -1 where there is none.
bb_index bb_front_least(const bb_front *front, double max_loss, bb_front_measure measure);

/// The pipeline of the front farthest below the line between its ends in loss and logarithm of
/// bytes: from it on, fewer bytes cost more. -1 where none lies below.
bb_index bb_front_knee(const bb_front *front);

/// A dataset of /results over pipelines alone, `count` of them; NULL where there is none.
const bb_dataset *bb_front_column(const bb_results *results, const char *name, bb_index count);

#endif
