// SPDX-License-Identifier: Apache-2.0
//
// Data of a collected sweep for its readers: the keys of every point, the results of the pipelines,
// and the choices.
#ifndef BB_SIM_SWEEP_SWEPT_H
#define BB_SIM_SWEEP_SWEPT_H

#include "sim/output/grid.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

enum { BB_SWEPT_MOST_VALUES = 60, BB_SWEPT_RANGES = 24 };

/// Swept key with its values in ascending order, texts in order of appearance. A key with more than
/// BB_SWEPT_MOST_VALUES numbers is divided into BB_SWEPT_RANGES equal ranges.
typedef struct bb_swept_key {
    const char *name; ///< "r0_m"
    bool is_text, ranges;
    bb_index count;
    double *numbers;    ///< [count]; for ranges their centres; for texts 0, 1, ..
    const char **texts; ///< [count] for texts, else NULL
    bb_index *places;   ///< [points] index of a point's value
} bb_swept_key;

/// Pipeline with its settings, from /statistics.
typedef struct bb_swept_choice {
    const char *pipeline, *setting;
    char *name;  ///< "hp3, width 2"
    char *count; ///< number of failures of all points, "1/60"
    double points, failed, failure_bound;
    double without_loss; ///< number of points where the pipeline succeeded but its loss is unknown
    double loss_median, loss_p99, loss_most, bits, bytes;
    bb_index worst_point; ///< index along the points, -1: none
} bb_swept_choice;

/// Everything is borrowed from the results unless they created it.
typedef struct bb_swept {
    const bb_results *results;
    const bb_experiment *experiment;
    const bb_dataset *pipelines;
    bb_index point_count;
    bb_swept_key *keys; ///< [key_count]
    bb_index key_count;
    bb_swept_choice *choices; ///< [choice_count]
    bb_index choice_count;
} bb_swept;

/// Sentence "3 of 6 planned points were run", or that a search has not ended; NULL if complete.
const char *bb_swept_partial(const bb_results *results);

/// Reads a collected sweep. Errors: BB_IO (not the structure of a collection), BB_MEMORY. Release
/// with bb_swept_release.
BB_CHECKED bb_status bb_swept_read(const bb_results *results, const bb_experiment *experiment,
                                   bb_swept *out);
void bb_swept_release(bb_swept *swept);

/// True if a choice is safe and no other safe choice has at most its worst loss and at most its
/// bytes, and less of one.
bool bb_swept_is_front(const bb_swept *swept, bb_index choice);

/// Appends the answer: the number of safe choices, and the one with fewest bytes, with or without a
/// limit. One line without line end. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_swept_answer(const bb_swept *swept, double max_loss, bb_text *out);

/// Fills a grid with the choices of a sweep, one row each, marked if they are safe and no other
/// safe one has at most their worst loss and bytes, and less of one; for people (`for_people`)
/// only losses, bits and MB. It borrows from `swept`. Errors: BB_MEMORY. Release with
/// bb_grid_release.
BB_CHECKED bb_status bb_swept_fill_grid(const bb_swept *swept, bool for_people, bb_grid *out);

#endif
