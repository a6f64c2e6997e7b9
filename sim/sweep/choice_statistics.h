// SPDX-License-Identifier: Apache-2.0
//
// Statistics of a sweep for each choice: a pipeline with the values of its swept keys
// (pipelines.NAME....). All other axes are conditions, which are not a choice: a choice is safe if
// it succeeds at each of them, and its loss is a distribution over them.
#ifndef BB_SIM_SWEEP_CHOICE_STATISTICS_H
#define BB_SIM_SWEEP_CHOICE_STATISTICS_H

#include "sim/sweep/collection.h"

/// Row of bb_choice_outputs. Losses are in the experiment's unit, NaN if all points failed.
typedef struct bb_choice {
    double index;
    const char *name; ///< name of the pipeline
    char *setting;    ///< values of its swept keys, "width 2"; "" if none is swept
    double points, failed;
    double without_loss;                ///< points where the pipeline succeeded but its loss is
                                        ///< unknown
    double share_failed, failure_bound; ///< share of failed points, and bb_failure_bound
    double safe;                        ///< 0 or 1; NaN: safe at all points so far
    double loss_median, loss_p99, loss_worst;
    double worst_point;    ///< point with the worst loss; NaN: none
    double bits_per_value; ///< median of 32 / compression_ratio
    double operator_bytes; ///< median of the bytes
} bb_choice;

typedef struct bb_choices {
    bb_index count;
    bb_choice *choices;    ///< [count] grouped by pipeline
    bool partial;          ///< points are pending; for a search: it has not ended
    bb_index planned, run; ///< numbers of points
} bb_choices;

/// Computes the statistics of every choice of a collection. Errors: BB_MEMORY; for a search BB_IO.
/// Release with bb_choices_release.
BB_CHECKED bb_status bb_choices_find(const bb_collection *collection, bb_choices *out);
void bb_choices_release(bb_choices *choices);

/// Loss of a pipeline at a point: the largest of the experiment's losses, with draws the worst;
/// NaN if it failed or has none.
double bb_choice_loss(const bb_collection *collection, bb_index slot, bb_index pipeline);

/// True if a swept key belongs to a pipeline: pipelines.NAME. or pipelines.NUMBER.
bool bb_choice_owns(const bb_collection *collection, const char *path, bb_index pipeline);

extern const bb_output_table bb_choice_outputs;

/// Adds the group /statistics. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_choices_publish(const bb_choices *choices, const char *loss_unit,
                                        bb_results *results);

/// Appends the table and a sentence with the answer: the safe choices, and with a limit `max_loss`
/// (NaN: none) the one with the fewest bytes whose loss is within it everywhere. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_choices_list(const bb_choices *choices, const bb_collection *collection,
                                     double max_loss, bb_text *out);

#endif
