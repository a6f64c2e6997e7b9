// SPDX-License-Identifier: Apache-2.0
//
// The axes of a sweep: keys of the study and the values that they take, as `sweep:` of a plan says:
//
//     axes:  {atmosphere.r0_m: [0.08, 0.1], telescope.zenith_angle_deg: {from: 0, to: 45, step: 5},
//             pipelines.q.storage.tolerance_of_range: {from: 1.0e-6, to: 1.0e-2, log: 20}}
//     zip:   {atmosphere.r0_m: [0.08, 0.1], atmosphere.outer_scale_m: [20, 30]}
//     table: conditions.csv                    keys by the names of its columns
//     lhs:   {samples: 64, seed: 1, keys: {atmosphere.r0_m: {from: 0.08, to: 0.2}}}
//     sobol: {samples: 64, keys: {...}}
//     seeds: 1..16
//
// Every key of `axes` is an axis; zip, table, lhs and sobol are one axis each, along which their
// keys vary together; so is `seeds`, of the key `seed`. Points are all combinations.
//
// `exclude:` of a sweep, combinations that are left out: a list of rules, each a map of swept keys
// to a value, a list of values or {from, to}.
#ifndef BB_SIM_SWEEP_SWEEP_AXIS_H
#define BB_SIM_SWEEP_SWEEP_AXIS_H

#include "core/schema.h"
#include "sim/config/node.h"

enum { BB_SWEEP_AXES = 12, BB_SWEEP_AXIS_VALUES = 100000, BB_SWEEP_POINTS = 10000000 };

/// A key of the study and the values that it takes along its axis.
typedef struct bb_sweep_key {
    const char *path;   ///< "pipelines.hp2.policy.width"
    const char *name;   ///< of its coordinate: "width", or the path where that name is taken
    const bb_key *key;  ///< its row, NULL where the schema has none
    const char **texts; ///< [count of the axis] as an override takes them
    double *numbers;    ///< [count of the axis], NULL where one value is no number
} bb_sweep_key;

/// Keys that vary together.
typedef struct bb_sweep_axis {
    const char *name; ///< of the dimension: its key's, or zip, condition, lhs, sobol
    bb_place place;
    bb_index count;
    bb_index key_count;
    bb_sweep_key *keys; ///< [key_count]
} bb_sweep_axis;

/// All of a plan, slowest first. Lives in an arena.
typedef struct bb_sweep_axes {
    bb_index count;
    bb_sweep_axis axes[BB_SWEEP_AXES];
} bb_sweep_axes;

/// Points whose numbers differ by it are neighbours along an axis, and the place of one along it.
bb_index bb_sweep_axes_stride(const bb_sweep_axes *axes, bb_index axis);
bb_index bb_sweep_axes_coordinate(const bb_sweep_axes *axes, bb_index point, bb_index axis);

/// Whether a name stands for something else in results, so that no coordinate may have it.
typedef bool (*bb_sweep_name_test)(const void *context, const char *name);

/// What the axes are read for: the study's schema, and names that are taken.
typedef struct bb_sweep_subjects {
    const bb_schema *schema;
    bb_sweep_name_test is_taken;
    const void *context;
} bb_sweep_subjects;

/// Reads the axes from the map `sweep`, whose other keys are not looked at, and last an axis of the
/// one key of the map `search`, NULL for none. A table's path is relative
/// to the file that names it; it is read here and stands in the map as {key: [values]} from then
/// on, which is read too. What is wrong is added to `problems`: no values, a value twice, a step
/// that does not lead from one end to the other, a key twice. Errors: BB_MEMORY, BB_IO (a table).
BB_CHECKED bb_status bb_sweep_axes_read(bb_arena *arena, const bb_sweep_subjects *subjects,
                                        bb_node *sweep, const bb_node *search,
                                        bb_problems *problems, bb_sweep_axes *out);

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
