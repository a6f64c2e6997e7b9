// SPDX-License-Identifier: Apache-2.0
//
// A search along the last axis of a sweep: which of its steps minimises something and keeps the
// price, at every condition together or at each by itself.
//
// It goes in generations, so that shards on many machines agree on what is to be done: the first
// has both ends of the axis, every later one cuts the gap between the last step that keeps the
// limit and the first that does not, in so many parts as there are shards to be fed. What a
// generation wants is a file, DIR/generation.N.json, which follows from the lines before it alone
// and is written once. The answer is the best of the steps that were run and kept the limit: it is
// verified, and that nothing between is better is as sure as the price is monotone along the axis;
// where what was run shows that it is not, the answer says so.
#ifndef BB_SIM_SWEEP_SWEEP_SEARCH_H
#define BB_SIM_SWEEP_SWEEP_SEARCH_H

#include "sim/sweep/collection.h"

/// Marks the points that the generations so far want, `wanted` [combinations], and gives the number
/// of the newest, from 0. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_wanted(const bb_sweep_plan *plan, bool *wanted,
                                            bb_index *generation);

/// Writes the next generation where the newest one is done; `*finished`: there is none, the search
/// is at its end. `*open` are points that are then to do; where they are those of the newest one,
/// nothing was written (`*advanced` is false).
/// Errors: BB_IO, BB_MEMORY, those of bb_collection_read.
BB_CHECKED bb_status bb_sweep_search_next(const bb_sweep_plan *plan, bb_index *open, bool *advanced,
                                          bool *finished);

/// Points of the newest generation that are to do; nothing is written. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_open(const bb_sweep_plan *plan, bb_index *open);

/// Whether no generation is left to run or to plan; nothing is written. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_is_finished(const bb_collection *collection, bool *out);

extern const bb_output_table bb_sweep_search_outputs;

/// Adds the group /search, a row a group of conditions. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_publish(const bb_collection *collection,
                                             const char *price_unit, bb_results *results);

/// Appends the answer as it stands, a sentence a group of conditions. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_search_answer(const bb_collection *collection, bb_text *out);

#endif
