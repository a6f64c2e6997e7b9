// SPDX-License-Identifier: Apache-2.0
//
// A sweep: a study and the axes along which its keys vary, from one YAML file. That file is a study
// of its own (with a `base:`, as a rule) that has `sweep:` beside its keys.
//
// Points are all combinations, numbered from 0 with the last axis fastest, and never listed: what a
// point sets follows from its number. Excluded points keep their numbers.
//
// The id of a point, wherever and by whom it is computed: XXH3-128 over
// the resolved study without its title, its device resolved, the contents of the files that it
// names in the place of their paths, and BB_NUMERICS. Points of equal ids have equal results but
// for times.
//
// Ranges of a swept key, and plans of samples that fill the unit cube: Latin hypercubes (McKay,
// Beckman and Conover, Technometrics 21, 1979) and Sobol's sequence (GSL's),
// which a seed shifts (Cranley and Patterson, SIAM J. Numer. Anal. 13, 1976).
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
#ifndef BB_SIM_SWEEP_SWEEP_H
#define BB_SIM_SWEEP_SWEEP_H

#include "core/device/device.h"
#include "core/digest.h"
#include "core/file.h"
#include "sim/config/config.h"
#include "sim/config/node.h"
#include "sim/run/experiment.h"

#include <stdint.h>

enum { BB_SWEEP_DIMENSIONS = 40 };

typedef struct bb_sweep_range {
    double first, last;
    bool logarithmic;
} bb_sweep_range;

/// Reads `from`, `to` and, as the word true, `log`; false where they are not numbers that differ.
bool bb_sweep_range_read(const bb_node *map, bb_sweep_range *out);

/// Value at a share in [0, 1] of the way, the ends exactly.
double bb_sweep_range_value(const bb_sweep_range *range, double share);

/// The shortest decimal within `slack` of a value: what a user would have written.
double bb_sweep_range_tidy(double value, double slack);

typedef struct bb_sweep_samples {
    bool sobol; ///< else a Latin hypercube
    bb_index samples, dimensions;
    uint64_t seed; ///< of a sequence: 0, as it is
} bb_sweep_samples;

/// Coordinate `dimension` of all samples in [0, 1), `out` [samples]. The same numbers whatever the
/// machine. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_samples_draw(const bb_sweep_samples *plan, bb_index dimension,
                                           double *out);

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

/// Raised by who changes what any study computes: ids of before and after differ then.
enum { BB_NUMERICS = 1 };

enum { BB_POINT_FILES = 32, BB_POINT_PATH_BYTES = 4096 };

/// A file that studies name, and the digest of its bytes.
typedef struct bb_point_file {
    char path[BB_POINT_PATH_BYTES];
    bb_file_stamp stamp; ///< as it was when it was read
    char digest[BB_DIGEST_BYTES];
} bb_point_file;

/// Files whose digests are known. Zero-initialise.
typedef struct bb_point_files {
    bb_index count;
    bb_point_file files[BB_POINT_FILES];
} bb_point_files;

/// Digests all files that a study names, unless they are known and did not change. Errors: BB_IO
/// (one that cannot be read), BB_INVALID (over BB_POINT_FILES of them), BB_MEMORY.
BB_CHECKED bb_status bb_point_files_add(const bb_config *config, bb_point_files *files);

/// The id of a study whose `device: auto` is `device`. `files` are added to. Errors: those of
/// bb_point_files_add.
BB_CHECKED bb_status bb_sweep_point_id(const bb_config *config, bb_device_kind device,
                                       bb_point_files *files, char out[BB_DIGEST_BYTES]);

/// How a search looks at its conditions, all the other axes.
typedef enum bb_sweep_across {
    BB_SWEEP_ACROSS_ALL, ///< one answer that keeps the limit at each
    BB_SWEEP_ACROSS_EACH ///< an answer for each
} bb_sweep_across;

/// Keys of `sweep.search` beside `over`, which is the last axis.
typedef struct bb_sweep_search_config {
    const char *minimise; ///< bits_per_value, or a dataset of /results over `pipeline`
    double max_loss;      ///< in the unit of the experiment
    int across;           ///< bb_sweep_across
} bb_sweep_search_config;

/// Keys of `sweep` beside its axes.
typedef struct bb_sweep_config {
    bb_index shards;      ///< BB_INTEGER_UNSET: by the estimated time
    double point_limit_s; ///< NaN: none
    bb_index retries;     ///< of a point that failed by memory, device or a file
} bb_sweep_config;

enum { BB_SWEEP_KEEP = 32 };

/// Read-only to users.
typedef struct bb_sweep {
    bb_arena arena;
    bb_config_base *base;
    const bb_experiment_table *experiments;
    const bb_experiment *experiment;
    bb_node *node; ///< the map `sweep`, tables read in
    bb_sweep_axes axes;
    bb_sweep_config config;
    bool searches;
    bb_sweep_search_config search; ///< where it searches, along the last axis
    bool keeps_files;              ///< a result file a point
    bb_index keep_count;
    const char *keep[BB_SWEEP_KEEP]; ///< datasets beside the scalars
    bb_sweep_exclusions exclusions;
    bb_index point_count;    ///< all combinations
    bb_index excluded_count; ///< of which so many are left out
} bb_sweep;

/// Keys of `sweep:` as tables, for those that have a place in one.
extern const bb_schema bb_sweep_schema, bb_sweep_search_schema;

/// Reads a plan; of `request` the schemas are those of `experiments`, which are borrowed. `sealed`
/// is the map `sweep` as it was when the plan was made, NULL: the file's. Points are not bound, so
/// that values may still be wrong. Errors: as bb_config_base_read; BB_INVALID with problems. Owner
/// of `*out`: the caller.
BB_CHECKED bb_status bb_sweep_read(const bb_experiment_table *experiments,
                                   const bb_config_request *request, const char *sealed,
                                   bb_problems *problems, bb_sweep **out);
void bb_sweep_destroy(bb_sweep **sweep);

/// Points whose numbers differ by it are neighbours along an axis, and the place of one along it.
bb_index bb_sweep_stride(const bb_sweep *sweep, bb_index axis);
bb_index bb_sweep_coordinate(const bb_sweep *sweep, bb_index point, bb_index axis);

/// Whether a rule of `exclude` leaves a point out.
bool bb_sweep_is_excluded(const bb_sweep *sweep, bb_index point);

/// The study of a point, held to its experiment's rules. It borrows the sweep. Errors: as
/// bb_experiment_base_bind. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_sweep_bind(const bb_sweep *sweep, bb_index point, bb_problems *problems,
                                   bb_config **out);

/// Appends what a point sets along the first `count` axes: "r0_m 0.08, zenith_angle_deg 30".
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_describe(const bb_sweep *sweep, bb_index point, bb_index count,
                                       bb_text *out);

#endif
