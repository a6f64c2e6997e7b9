// SPDX-License-Identifier: Apache-2.0
//
// `exclude:` of a sweep, combinations that are left out: a list of rules, each a map of swept keys
// to a value, a list of values or {from, to}.
#ifndef BB_SIM_SWEEP_SWEEP_EXCLUSION_H
#define BB_SIM_SWEEP_SWEEP_EXCLUSION_H

#include "sim/sweep/sweep_axis.h"

enum { BB_SWEEP_EXCLUSIONS = 64 };

/// Values of an axis' key that a rule of `exclude` is about.
typedef struct bb_sweep_exclusion_key {
    bb_index axis;
    bool *matches; ///< [count of the axis]
} bb_sweep_exclusion_key;

/// One rule: points that match all of its keys are left out.
typedef struct bb_sweep_exclusion {
    bb_index count;
    bb_sweep_exclusion_key *keys; ///< [count]
} bb_sweep_exclusion;

/// All rules. Lives in an arena.
typedef struct bb_sweep_exclusions {
    bb_index count;
    bb_sweep_exclusion rules[BB_SWEEP_EXCLUSIONS];
} bb_sweep_exclusions;

/// Reads the rules from `list`, NULL for none. What is wrong is added to `problems`. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_sweep_exclusions_read(bb_arena *arena, const bb_sweep_axes *axes,
                                              const bb_node *list, bb_problems *problems,
                                              bb_sweep_exclusions *out);

/// Whether a rule leaves a point out.
bool bb_sweep_exclusions_match(const bb_sweep_exclusions *exclusions, const bb_sweep_axes *axes,
                               bb_index point);

#endif
