// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a sweep for each choice of an engineer: a pipeline, with the values of the swept
// keys that are its own (pipelines.NAME....). All other axes are conditions, which nobody chooses:
// over them a choice is safe where it finished at each, and its price is a distribution.
#ifndef BB_SIM_SWEEP_CHOICE_STATISTICS_H
#define BB_SIM_SWEEP_CHOICE_STATISTICS_H

#include "sim/sweep/collection.h"

/// A row of bb_choice_outputs. Prices are in the unit of the experiment's, NaN where no point
/// finished.
typedef struct bb_choice {
    double index;
    const char *name; ///< of the pipeline
    char *setting;    ///< values of its own keys, "width 2"; "" where none is swept
    double points, failed;
    double unpriced;                    ///< points where it finished and has no price
    double share_failed, failure_bound; ///< bb_failure_bound
    double safe;                        ///< 0, 1, NaN: so far
    double price_median, price_p99, price_worst;
    double worst_point;    ///< where the price is that; NaN: none
    double bits_per_value; ///< median of 32 / compression_ratio
    double operator_bytes; ///< median
} bb_choice;

typedef struct bb_choices {
    bb_index count;
    bb_choice *choices;    ///< [count], a pipeline's together
    bool partial;          ///< points are to do; of a search: it is not at its end
    bb_index planned, run; ///< points
} bb_choices;

/// Errors: BB_MEMORY; of a search BB_IO. Release with bb_choices_release.
BB_CHECKED bb_status bb_choices_find(const bb_collection *collection, bb_choices *out);
void bb_choices_release(bb_choices *choices);

/// Price of a pipeline at a point: the largest of the experiment's prices, of draws the worst; NaN
/// where it failed or has none.
double bb_choice_price(const bb_collection *collection, bb_index slot, bb_index pipeline);

/// Whether a swept key is a pipeline's own: pipelines.NAME. or pipelines.NUMBER.
bool bb_choice_owns(const bb_collection *collection, const char *path, bb_index pipeline);

extern const bb_output_table bb_choice_outputs;

/// Adds the group /statistics. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_choices_publish(const bb_choices *choices, const char *price_unit,
                                        bb_results *results);

/// Appends the table, and the answer in a sentence: which choices are safe, and with a limit
/// `within` (NaN: none) the one of fewest bytes whose price is at most that everywhere. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_choices_list(const bb_choices *choices, const bb_collection *collection,
                                     double max_loss, bb_text *out);

#endif
