// SPDX-License-Identifier: Apache-2.0
//
// Sealed plan, DIR/plan.json: texts of its source files, digests of the files named by them, the
// axes, the shards and the device. It is written once, and its id is a digest of its content; run,
// status and collect depend on it alone.
#ifndef BB_SIM_SWEEP_SWEEP_PLAN_H
#define BB_SIM_SWEEP_SWEEP_PLAN_H

#include "core/file.h"
#include "sim/sweep/sweep.h"

enum { BB_SWEEP_PLAN_VERSION = 1, BB_SWEEP_OVERRIDES = 256 };

/// Estimated need, from a number of points spread over all.
typedef struct bb_sweep_need {
    bb_index sampled;    ///< number of points that were planned
    double seconds;      ///< average time of a point, on this machine
    double host_bytes;   ///< maximum memory of a point
    double device_bytes; ///< maximum GPU memory of a point
    double output_bytes; ///< average size of a point's results
} bb_sweep_need;

/// Sealed plan; read-only to users.
typedef struct bb_sweep_plan {
    bb_sweep *sweep;
    char id[BB_DIGEST_BYTES];
    char *folder;          ///< folder of the plan; NULL: not yet written
    char *text;            ///< text of plan.json
    bb_index shards;       ///< number of shards, at least 1
    bb_device_kind device; ///< device selected by `auto`
    bb_sweep_need need;
    bb_point_files files; ///< files named by studies
    bool is_other_build;  ///< made by another version of the program
} bb_sweep_plan;

/// Options of planning. Zero-initialise.
typedef struct bb_sweep_plan_request {
    const char *path;
    const char *const *overrides; ///< [override_count] overrides of the study
    bb_index override_count;
    const char *device; ///< as for --device; NULL: the study's
    bb_index shards;    ///< number of shards instead of the plan's `shards: auto`; 0: by the
                        ///< estimated time
    bb_index threads;
    bb_status (*begin)(const char *device); ///< as in bb_config_request
} bb_sweep_plan_request;

/// Reads and checks a plan: every value of every axis and enough points to estimate their need.
/// Nothing is written. Errors: as bb_sweep_read, those of points with `problems`. The caller owns
/// `*out`.
BB_CHECKED bb_status bb_sweep_plan_make(const bb_experiment_table *experiments,
                                        const bb_sweep_plan_request *request, bb_problems *problems,
                                        bb_sweep_plan **out);
void bb_sweep_plan_destroy(bb_sweep_plan **plan);

/// Digest of a json_t object, independent of the order of its keys. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_seal(const void *json, char id[BB_DIGEST_BYTES]);

/// Writes the plan to `folder`, whose last component is created if needed. If the folder has the
/// same plan, that one is used. Errors: BB_IO (it has another plan, it cannot be written).
BB_CHECKED bb_status bb_sweep_plan_write(bb_sweep_plan *plan, const char *folder);

/// Reads the plan in a folder and verifies its id. Errors: BB_IO (missing, damaged, of a newer
/// program or other numerics).
BB_CHECKED bb_status bb_sweep_plan_open(const bb_experiment_table *experiments, const char *folder,
                                        bb_sweep_plan **out);

/// Checks that the files named by the studies are unchanged. Errors: BB_INVALID with the file.
BB_CHECKED bb_status bb_sweep_plan_check_files(const bb_sweep_plan *plan);

/// Adds the source files of a plan: its layers, tables and the files named by studies. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_inputs(const bb_sweep_plan *plan, bb_file_list *inputs);

/// Adds the files in a sweep's folder that later calls read: plan, generations, records and results
/// of points. Nothing if the folder is absent. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_folder_inputs(const char *folder, bb_file_list *inputs);

/// Number of points that are not excluded.
bb_index bb_sweep_plan_points(const bb_sweep_plan *plan);

/// Appends the output of `--list`: points, axes, time, memory and bytes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_sweep_plan_list(const bb_sweep_plan *plan, bb_text *out);

#endif
