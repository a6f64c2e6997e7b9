// SPDX-License-Identifier: Apache-2.0
//
// Search along the last axis of a sweep for the step that minimises a quantity within a limit of
// the loss, for all conditions together or for each separately.
//
// It proceeds in generations, so that shards on many machines agree on the next points: the first
// consists of both ends of the axis; every later one divides the gap between the last step within
// the limit and the first beyond it into as many parts as needed for all shards. A generation is a
// file, DIR/generation.N.json, which is determined by earlier records and written once. The answer
// is the best step that was run and is within the limit. It is verified; the absence of a better
// step in between relies on the loss being monotone along the axis, and the answer mentions
// evidence against that.
#ifndef BB_SIM_SWEEP_SWEEP_SEARCH_H
#define BB_SIM_SWEEP_SWEEP_SEARCH_H

#include "sim/sweep/collection.h"

/// Marks the points of the generations so far, `wanted` [combinations], and returns the number of
/// the newest, from 0. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_wanted(const bb_sweep_plan *plan, bool *wanted,
                                            bb_index *generation);

/// Writes the next generation if the newest one is complete; `*finished`: there is none, the search
/// has ended. `*open` is the number of pending points; if they belong to the newest generation,
/// nothing was written (`*advanced` is false). Errors: BB_IO, BB_MEMORY, those of
/// bb_collection_read.
BB_CHECKED bb_status bb_sweep_search_next(const bb_sweep_plan *plan, bb_index *open, bool *advanced,
                                          bool *finished);

/// Number of pending points of the newest generation; nothing is written. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_open(const bb_sweep_plan *plan, bb_index *open);

/// True if no generation is left to run or to plan; nothing is written. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_is_finished(const bb_collection *collection, bool *out);

extern const bb_output_table bb_sweep_search_outputs;

/// Adds the group /search, one row for each group of conditions. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_publish(const bb_collection *collection, const char *loss_unit,
                                             bb_results *results);

/// Appends the current answer, one sentence for each group of conditions. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_answer(const bb_collection *collection, bb_text *out);

#endif
