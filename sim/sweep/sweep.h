// SPDX-License-Identifier: Apache-2.0
//
// Sweep: a study and the axes along which its keys vary, from one YAML file. That file is a study
// (usually with a `base:`) with the additional key `sweep:`.
//
// Points are all combinations, numbered from 0 with the last axis fastest. They are not stored: the
// values of a point follow from its number. Excluded points keep their numbers.
//
// The id of a point is independent of machine and process: XXH3-128 over the resolved study without
// its title, with its device resolved, the contents of its files in place of their paths, and
// BB_NUMERICS. Points with equal ids have equal results except times.
//
// Ranges of a swept key, and space-filling sample plans: Latin hypercubes (McKay, Beckman and
// Conover, Technometrics 21, 1979) and Sobol's sequence (GSL's), shifted by a seed (Cranley and
// Patterson, SIAM J. Numer. Anal. 13, 1976).
//
// The axes of a sweep, keys of the study and their values, under `sweep:` of a plan:
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
// keys vary together; so is `seeds`, for the key `seed`. Points are all combinations.
//
// `exclude:` of a sweep lists combinations to omit: rules, each a map of swept keys to a value, a
// list of values or {from, to}.
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

/// Reads `from`, `to` and, as the word true, `log`; false unless they are two different numbers.
bool bb_sweep_range_read(const bb_node *map, bb_sweep_range *out);

/// Value at a fraction in [0, 1] of the range; the ends are exact.
double bb_sweep_range_value(const bb_sweep_range *range, double share);

/// Shortest decimal within `slack` of a value, as a user would write it.
double bb_sweep_range_tidy(double value, double slack);

typedef struct bb_sweep_samples {
    bool sobol; ///< true: Sobol's sequence; false: a Latin hypercube
    bb_index samples, dimensions;
    uint64_t seed; ///< seed of the samples; for a sequence 0: unshifted
} bb_sweep_samples;

/// Computes coordinate `dimension` of all samples in [0, 1), `out` [samples], independent of the
/// machine. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_samples_draw(const bb_sweep_samples *plan, bb_index dimension,
                                           double *out);

enum { BB_SWEEP_AXES = 12, BB_SWEEP_AXIS_VALUES = 100000, BB_SWEEP_POINTS = 10000000 };

/// Key of the study and its values along its axis.
typedef struct bb_sweep_key {
    const char *path;   ///< "pipelines.hp2.policy.width"
    const char *name;   ///< name of its coordinate: "width", or the path if that name is in use
    const bb_key *key;  ///< row of the schema, NULL if the schema has none
    const char **texts; ///< [count of the axis] in the form of overrides
    double *numbers;    ///< [count of the axis], NULL if one value is not a number
} bb_sweep_key;

/// Keys that vary together.
typedef struct bb_sweep_axis {
    const char *name; ///< name of the dimension: its key's, or zip, condition, lhs, sobol
    bb_place place;
    bb_index count;
    bb_index key_count;
    bb_sweep_key *keys; ///< [key_count]
} bb_sweep_axis;

/// Axes of a plan, slowest first. Allocated in an arena.
typedef struct bb_sweep_axes {
    bb_index count;
    bb_sweep_axis axes[BB_SWEEP_AXES];
} bb_sweep_axes;

/// True if a name is used by results, so that it cannot be a coordinate.
typedef bool (*bb_sweep_name_test)(const void *context, const char *name);

/// Context of reading the axes: the study's schema, and names in use.
typedef struct bb_sweep_subjects {
    const bb_schema *schema;
    bb_sweep_name_test is_taken;
    const void *context;
} bb_sweep_subjects;

/// Reads the axes from the map `sweep`, ignoring its other keys, and finally an axis of the single
/// key of the map `search`, NULL for none. A table's path is relative to the file that names it;
/// the table is read and replaced in the map by {key: [values]}, which is also accepted. Problems
/// are added to `problems`: no values, duplicate values, a step that does not divide the range, a
/// duplicate key. Errors: BB_MEMORY, BB_IO (a table).
BB_CHECKED bb_status bb_sweep_axes_read(bb_arena *arena, const bb_sweep_subjects *subjects,
                                        bb_node *sweep, const bb_node *search,
                                        bb_problems *problems, bb_sweep_axes *out);

enum { BB_SWEEP_EXCLUSIONS = 64 };

/// Values of a key that match a rule of `exclude`.
typedef struct bb_sweep_exclusion_key {
    bb_index axis;
    bool *matches; ///< [count of the axis]
} bb_sweep_exclusion_key;

/// Rule: points that match all of its keys are excluded.
typedef struct bb_sweep_exclusion {
    bb_index count;
    bb_sweep_exclusion_key *keys; ///< [count]
} bb_sweep_exclusion;

/// All rules. Allocated in an arena.
typedef struct bb_sweep_exclusions {
    bb_index count;
    bb_sweep_exclusion rules[BB_SWEEP_EXCLUSIONS];
} bb_sweep_exclusions;

/// Reads the rules from `list`, NULL for none. Problems are added to `problems`. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_exclusions_read(bb_arena *arena, const bb_sweep_axes *axes,
                                              const bb_node *list, bb_problems *problems,
                                              bb_sweep_exclusions *out);

/// Increment it with any change of computed results, so that ids differ.
enum { BB_NUMERICS = 1 };

enum { BB_POINT_FILES = 32, BB_POINT_PATH_BYTES = 4096 };

/// File named by studies, and the digest of its bytes.
typedef struct bb_point_file {
    char path[BB_POINT_PATH_BYTES];
    bb_file_stamp stamp; ///< stamp when it was read
    char digest[BB_DIGEST_BYTES];
} bb_point_file;

/// Files with known digests. Zero-initialise.
typedef struct bb_point_files {
    bb_index count;
    bb_point_file files[BB_POINT_FILES];
} bb_point_files;

/// Computes the digests of all files named by a study, unless they are known and the file is
/// unchanged. Errors: BB_IO (an unreadable file), BB_INVALID (more than BB_POINT_FILES), BB_MEMORY.
BB_CHECKED bb_status bb_point_files_add(const bb_config *config, bb_point_files *files);

/// Id of a study with `device: auto` resolved to `device`. Adds to `files`. Errors: those of
/// bb_point_files_add.
BB_CHECKED bb_status bb_sweep_point_id(const bb_config *config, bb_device_kind device,
                                       bb_point_files *files, char out[BB_DIGEST_BYTES]);

/// Treatment of conditions, i.e. all other axes, by a search.
typedef enum bb_sweep_across {
    BB_SWEEP_ACROSS_ALL, ///< one answer that is within the limit at all conditions
    BB_SWEEP_ACROSS_EACH ///< an answer for each condition
} bb_sweep_across;

/// Keys of `sweep.search` other than `over`, which is the last axis.
typedef struct bb_sweep_search_config {
    const char *minimise; ///< bits_per_value, or a dataset of /results over `pipeline`
    double max_loss;      ///< limit of the loss, in the unit of the experiment
    int across;           ///< bb_sweep_across
} bb_sweep_search_config;

/// Keys of `sweep` other than its axes.
typedef struct bb_sweep_config {
    bb_index shards;      ///< number of shards; BB_INTEGER_UNSET: by the estimated time
    double point_limit_s; ///< limit of the time of a point; NaN: none
    bb_index retries;     ///< number of retries of a point that failed by memory, device or a file
} bb_sweep_config;

enum { BB_SWEEP_KEEP = 32 };

/// Sweep as read from a plan; read-only for users.
typedef struct bb_sweep {
    bb_arena arena;
    bb_config_base *base;
    const bb_experiment_table *experiments;
    const bb_experiment *experiment;
    bb_node *node; ///< the map `sweep`, with tables read
    bb_sweep_axes axes;
    bb_sweep_config config;
    bool searches;
    bb_sweep_search_config search; ///< settings of a search along the last axis
    bool keeps_files;              ///< one result file for each point
    bb_index keep_count;
    const char *keep[BB_SWEEP_KEEP]; ///< datasets in addition to scalars
    bb_sweep_exclusions exclusions;
    bb_index point_count;    ///< number of all combinations
    bb_index excluded_count; ///< number of excluded combinations
} bb_sweep;

/// Keys of `sweep:` with schema tables.
extern const bb_schema bb_sweep_schema, bb_sweep_search_schema;

/// Reads a plan; the schemas of `request` are set to those of `experiments`, which are borrowed.
/// `sealed` is the map `sweep` when the plan was made, NULL: that of the file. Points are not
/// bound, so that values may still be invalid. Errors: as bb_config_base_read; BB_INVALID with
/// problems. The caller owns `*out`.
BB_CHECKED bb_status bb_sweep_read(const bb_experiment_table *experiments,
                                   const bb_config_request *request, const char *sealed,
                                   bb_problems *problems, bb_sweep **out);
void bb_sweep_destroy(bb_sweep **sweep);

/// Distance of the numbers of neighbouring points along an axis, and the coordinate of a point
/// along it.
bb_index bb_sweep_stride(const bb_sweep *sweep, bb_index axis);
bb_index bb_sweep_coordinate(const bb_sweep *sweep, bb_index point, bb_index axis);

/// True if a rule of `exclude` excludes a point.
bool bb_sweep_is_excluded(const bb_sweep *sweep, bb_index point);

/// Binds the study of a point and checks its experiment's rules. It borrows the sweep. Errors: as
/// bb_experiment_base_bind. The caller owns `*out`.
BB_CHECKED bb_status bb_sweep_bind(const bb_sweep *sweep, bb_index point, bb_problems *problems,
                                   bb_config **out);

/// Appends the values of a point along the first `count` axes: "r0_m 0.08, zenith_angle_deg 30".
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_describe(const bb_sweep *sweep, bb_index point, bb_index count,
                                       bb_text *out);

#endif
