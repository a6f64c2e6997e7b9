// SPDX-License-Identifier: Apache-2.0
//
// A sealed plan, DIR/plan.json: texts of the files that it was made from, digests of those that
// they name, the axes, the shards and the device. It is written once, its id is a digest of it all,
// and what is run, asked and collected later follows from it alone.
#ifndef BB_SIM_SWEEP_SWEEP_PLAN_H
#define BB_SIM_SWEEP_SWEEP_PLAN_H

#include "core/file.h"
#include "sim/sweep/sweep.h"

enum { BB_SWEEP_PLAN_VERSION = 1, BB_SWEEP_OVERRIDES = 256 };

/// What is known of the work before it is done, from a number of points spread over all.
typedef struct bb_sweep_need {
    bb_index sampled;    ///< points that were planned
    double seconds;      ///< of a point on average, on this machine
    double host_bytes;   ///< largest of a point
    double device_bytes; ///< likewise
    double output_bytes; ///< of a point on average
} bb_sweep_need;

/// Read-only to users.
typedef struct bb_sweep_plan {
    bb_sweep *sweep;
    char id[BB_DIGEST_BYTES];
    char *folder;          ///< where it stands; NULL: not written yet
    char *text;            ///< of plan.json
    bb_index shards;       ///< at least 1
    bb_device_kind device; ///< what `auto` comes to
    bb_sweep_need need;
    bb_point_files files; ///< that studies name
    bool is_other_build;  ///< it was made by another version than this program
} bb_sweep_plan;

/// How a plan is made. Zero-initialise.
typedef struct bb_sweep_plan_request {
    const char *path;
    const char *const *overrides; ///< [override_count] of the study
    bb_index override_count;
    const char *device; ///< as --device; NULL: what the study says
    bb_index shards;    ///< in the place of the plan's `shards: auto`; 0: by the estimated time
    bb_index threads;
    bb_status (*begin)(const char *device); ///< that of bb_config_request
} bb_sweep_plan_request;

/// Reads and checks a plan: every value of every axis and as many points as it takes to know what
/// they need. Nothing is written. Errors: as bb_sweep_read, the points' with `problems`. Owner of
/// `*out`: the caller.
BB_CHECKED bb_status bb_sweep_plan_make(const bb_experiment_table *experiments,
                                        const bb_sweep_plan_request *request, bb_problems *problems,
                                        bb_sweep_plan **out);
void bb_sweep_plan_destroy(bb_sweep_plan **plan);

/// Digest of a json_t object, whatever the order of its keys. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_seal(const void *json, char id[BB_DIGEST_BYTES]);

/// Writes it to `folder`, which is made, its last part, unless it is there. A folder that has the
/// same plan is taken as it is. Errors: BB_IO (it has another plan, it cannot be written).
BB_CHECKED bb_status bb_sweep_plan_write(bb_sweep_plan *plan, const char *folder);

/// Reads the plan in a folder and holds it to its seal. Errors: BB_IO (none, damaged, of a newer
/// program or other numerics).
BB_CHECKED bb_status bb_sweep_plan_open(const bb_experiment_table *experiments, const char *folder,
                                        bb_sweep_plan **out);

/// Whether the files that the studies name are as they were. Errors: BB_INVALID with the file.
BB_CHECKED bb_status bb_sweep_plan_check_files(const bb_sweep_plan *plan);

/// Adds the files that a plan was made from: its layers, tables and the files that studies name.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_inputs(const bb_sweep_plan *plan, bb_file_list *inputs);

/// Adds the files of a sweep's folder that later calls read: plan, generations, records and results
/// of points. Nothing for a folder that is absent. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_folder_inputs(const char *folder, bb_file_list *inputs);

/// Points to be computed.
bb_index bb_sweep_plan_points(const bb_sweep_plan *plan);

/// Appends what `--list` says: points, axes, time, memory and bytes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_list(const bb_sweep_plan *plan, bb_text *out);

#endif
