// SPDX-License-Identifier: Apache-2.0
//
// What is known of the steps of a searched axis, the last one of a sweep.
#ifndef BB_SIM_SWEEP_SEARCH_SEARCH_STEPS_H
#define BB_SIM_SWEEP_SEARCH_SEARCH_STEPS_H

#include "sim/sweep/collection.h"

/// A step at the conditions of a group.
typedef struct bb_search_step {
    bool run;             ///< at all of them
    bool keeps;           ///< the limit, at all of them
    double price;         ///< the largest, NaN: one failed
    double value;         ///< the largest of what is minimised
    bb_index worst_point; ///< where the price is that, or where it failed; -1: not run
} bb_search_step;

/// Conditions that have one answer: `count` of them from `first`.
typedef struct bb_search_group {
    bb_index first, count;
} bb_search_group;

bb_index bb_search_step_count(const bb_sweep *sweep);
bb_index bb_search_group_count(const bb_sweep *sweep);
bb_search_group bb_search_group_at(const bb_sweep *sweep, bb_index index);

bb_search_step bb_search_step_at(const bb_collection *collection, bb_search_group conditions,
                                 bb_index index);

/// The best step of a group that was run and keeps the limit, -1: none; `*run` of them were.
bb_index bb_search_steps_best(const bb_collection *collection, bb_search_group conditions,
                              bb_search_step *found, bb_index *run);

#endif
