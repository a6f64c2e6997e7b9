// SPDX-License-Identifier: Apache-2.0
//
// A collected sweep as its readers ask it: what every point set, what a pipeline gave there, and
// the choices that an engineer has.
#ifndef BB_SIM_REPORT_SWEPT_H
#define BB_SIM_REPORT_SWEPT_H

#include "sim/output/grid.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

enum { BB_SWEPT_MOST_VALUES = 60, BB_SWEPT_RANGES = 24 };

/// A swept key with its values in rising order, texts in the order in which they came. A key of
/// over BB_SWEPT_MOST_VALUES numbers has BB_SWEPT_RANGES equal ranges of them in their place.
typedef struct bb_swept_key {
    const char *name; ///< "r0_m"
    const char *path; ///< "atmosphere.r0_m"
    const char *unit;
    bool is_text, ranges;
    bb_index count;
    double *numbers;    ///< [count]; of ranges their middles; of texts 0, 1, ..
    const char **texts; ///< [count] of texts, NULL
    bb_index *places;   ///< [points] which of them a point has
} bb_swept_key;

/// A pipeline with its own settings, from /statistics.
typedef struct bb_swept_choice {
    const char *pipeline, *setting;
    char *name;  ///< "hp3, width 2"
    char *count; ///< failed of points, "1/60"
    double points, failed, failure_bound;
    double unpriced; ///< points where it finished and has no price
    double price_median, price_p99, price_most, bits, bytes;
    bb_index worst_point; ///< along the points, -1: none
} bb_swept_choice;

/// Everything is borrowed from the results unless they made it.
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

/// Whether results are a sweep's.
bool bb_swept_is(const bb_results *results);

/// "3 of 6 planned points were run", or that a search is not at its end; NULL where all is done.
const char *bb_swept_partial(const bb_results *results);

/// Errors: BB_IO (not as a collection is), BB_MEMORY. Release with bb_swept_release.
BB_CHECKED bb_status bb_swept_read(const bb_results *results, const bb_experiment *experiment,
                                   bb_swept *out);
void bb_swept_release(bb_swept *swept);

/// Key by its name or path, -1 where there is none.
bb_index bb_swept_find_key(const bb_swept *swept, const char *name);

/// Whether a key belongs to a pipeline, so that it is chosen.
bool bb_swept_is_own(const bb_swept_key *key);

/// Whether a pipeline finished at a point.
bool bb_swept_finished(const bb_swept *swept, bb_index point, bb_index pipeline);

/// Whether a point was run to an end: it may have failed.
const char *bb_swept_state(const bb_swept *swept, bb_index point);

/// Number of a dataset of /results over points and pipelines, or over points alone; "price" is the
/// largest of the experiment's prices, of draws the worst. NaN where there is none or the pipeline
/// did not finish.
double bb_swept_number(const bb_swept *swept, const char *name, bb_index point, bb_index pipeline);

/// Whether a dataset can be asked for so.
bool bb_swept_has(const bb_swept *swept, const char *name);

/// Appends what a point sets: "r0_m 0.12, zenith_angle_deg 20". Errors: BB_MEMORY.
BB_CHECKED bb_status bb_swept_describe(const bb_swept *swept, bb_index point, bb_text *out);

/// Appends a value of a key as people read it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_swept_add_value(const bb_swept_key *key, bb_index value, bb_text *out);

/// The safe choice of fewest bytes whose price is at most `within` everywhere, NaN: at all; -1
/// where there is none.
bb_index bb_swept_best(const bb_swept *swept, double max_loss);

/// Whether a choice is safe and no other safe one has at most its worst price and bytes, and less
/// of one.
bool bb_swept_is_front(const bb_swept *swept, bb_index choice);

/// Appends the answer: which choices are safe, and the one of fewest bytes, with a limit or
/// without. One line, no line end. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_swept_answer(const bb_swept *swept, double max_loss, bb_text *out);

/// Fills a grid with the choices of a sweep, a row each, marked where they are safe and no other
/// safe one has at most their worst price and bytes, and less of one; for people (`for_people`)
/// with prices, bits and MB alone. It borrows from `swept`. Errors: BB_MEMORY. Release with
/// bb_grid_release.
BB_CHECKED bb_status bb_swept_fill_grid(const bb_swept *swept, bool for_people, bb_grid *out);

#endif
