// SPDX-License-Identifier: Apache-2.0
//
// Losses and costs of the pipelines of a result, their Pareto front, and selection by them.
#ifndef BB_SIM_OUTPUT_FRONT_H
#define BB_SIM_OUTPUT_FRONT_H

#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// Quantity to minimise.
typedef enum bb_front_measure {
    BB_FRONT_BYTES,  ///< minimise operator_bytes
    BB_FRONT_TIME,   ///< minimise solve_time_s
    BB_FRONT_JOULES, ///< minimise energy_j
    BB_FRONT_COST,   ///< minimise cost_usd
    BB_FRONT_MEASURES
} bb_front_measure;

/// Costs of a pipeline; infinite if unknown.
typedef struct bb_front_cost {
    bool is_eligible;  ///< status ok, loss known, answer not invalid
    double loss;       ///< largest of the experiment's losses; with draws that of the worst draw
    double magnitude;  ///< magnitude of the loss, as compared by the front
    double plain_loss; ///< loss without draws; NaN if unknown
    double measures[BB_FRONT_MEASURES];
} bb_front_cost;

typedef struct bb_front {
    const bb_dataset *names; ///< names of pipelines, from the results
    bb_front_cost *costs;    ///< [names->count]
    bb_index reference;      ///< row of the reference: the one with that name, else the first
    bool counts;             ///< losses are counts: integers without a unit
    bool timed; ///< all successful pipelines ran on a GPU: times are those of the formats
} bb_front;

/// Finds the costs of the pipelines of results, which are borrowed. Errors: BB_INVALID (results
/// without an axis of pipelines), BB_MEMORY. The caller owns `*out` (bb_front_release).
BB_CHECKED bb_status bb_front_find(const bb_experiment *experiment, const bb_results *results,
                                   bb_front *out);
void bb_front_release(bb_front *front);

/// Magnitude of a loss, since a score raised by rounding is no improvement over the
/// reference; 0 within the rounding error of the reference's `score`.
double bb_front_magnitude(double loss, double score);

/// True if no other pipeline is at most as high in both loss and bytes, and lower in one. If
/// `timed`, time is a third criterion; times that differ by less than 10 % are equal.
bool bb_front_has(const bb_front *front, bb_index row);

/// Eligible pipeline with at most the given loss that minimises a measure; ties in bytes are
/// resolved by time if `timed`. -1 if there is none.
bb_index bb_front_least(const bb_front *front, double max_loss, bb_front_measure measure);

/// Pipeline of the front farthest below the line between its ends in loss and logarithm of bytes:
/// fewer bytes than its own cost more loss. -1 if none is below.
bb_index bb_front_knee(const bb_front *front);

/// Dataset of /results over `count` pipelines only, or NULL.
const bb_dataset *bb_front_column(const bb_results *results, const char *name, bb_index count);

#endif
