// SPDX-License-Identifier: Apache-2.0
//
// Configuration of a wafer study: physics groups and the compared pipelines.
#ifndef BB_SIM_WAFER_WAFER_STUDY_H
#define BB_SIM_WAFER_WAFER_STUDY_H

#include "physics/wafer/wafer_problem.h"
#include "sim/pipelines/product_pipeline.h"

typedef enum bb_dump_filter { BB_DUMP_PLAIN, BB_DUMP_ZFP } bb_dump_filter;

/// Keys of `dump:`.
typedef struct bb_dump_config {
    int filter; ///< bb_dump_filter of the response rows
    double tolerance_m_per_k;
} bb_dump_config;

extern const bb_schema bb_dump_schema;

typedef enum bb_release {
    BB_RELEASE_FIXED,        ///< step k starts at t0 + k period
    BB_RELEASE_BACK_TO_BACK, ///< a step starts when the previous one has ended
} bb_release;

typedef enum bb_loop_mode {
    BB_LOOP_RESIDENT, ///< matrices of all scored fields are on the device
    BB_LOOP_STREAMED, ///< matrices are in pinned host memory and sent field by field
} bb_loop_mode;

enum { BB_LOOP_GPUS = 3, BB_LOOP_AHEAD_MOST = 200, BB_LOOP_AHEAD_MOST_MS = 1000 };

/// Keys of `realtime:`, the measurement of `bitbudget realtime`: steps of one pipeline, released at
/// fixed times or back to back.
typedef struct bb_realtime_config {
    const char *pipeline; ///< NULL: the first pipeline that is not the reference
    int release;          ///< bb_release
    bb_index steps;
    double period_ms;
    double deadline_ms;
    bb_index warm_up_steps;
    bb_index ahead; ///< steps queued in advance, 0 to BB_LOOP_AHEAD_MOST
    int matrices;   ///< bb_loop_mode
    bb_index gpus;  ///< 1 to BB_LOOP_GPUS
} bb_realtime_config;

extern const bb_schema bb_realtime_schema;
extern const char *const bb_release_names[];
extern const char *const bb_loop_mode_names[];

/// Keys of `machine:`. Rates are NaN if not given.
typedef struct bb_machine_config {
    double budget_ms; ///< 0: the duration of the field's light and dark steps
    double link_gb_per_s;
    double decode_gb_per_s;
    double product_gflop_per_s;
    double compression_ratio;
    bb_machine_price price;
} bb_machine_config;

extern const bb_schema bb_machine_schema;

typedef struct bb_wafer_study {
    bb_study common;
    bb_wafer_material_config wafer;
    bb_clamp_config clamp;
    bb_hood_config hood;
    bb_ring_config ring;
    bb_mesh_config mesh;
    bb_scan_config scan;
    bb_response_config response;
    bb_metrology_config metrology;
    bb_lot_config wafers;
    bb_list probes; ///< list of bb_probe_config
    bb_realtime_config realtime;
    bb_machine_config machine;
    bb_kernel_keys kernels;
    bb_dump_config dump;
    bb_list pipelines; ///< list of bb_product_pipeline
} bb_wafer_study;

extern const bb_schema bb_wafer_study_schema;

/// Example study with every required key, for `bitbudget new`.
extern const char bb_wafer_study_starter[];

/// Part of a study that the physics reads; it points into the study.
bb_wafer_config bb_wafer_study_physics(const bb_wafer_study *study);

/// True if a bb_wafer_study has probes.
bool bb_wafer_study_has_probes(const void *study);
/// True if the closed-form kernel computes the rows of axis z, as with generators kernel and fem.
bool bb_wafer_study_has_kernel_height(const bb_wafer_study *study);

/// Index of the pipeline that `realtime` runs; -1 if the study has no pipeline of that name.
bb_index bb_wafer_study_realtime(const bb_wafer_study *study);

/// Checks the rules between keys of a bb_wafer_study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_study_check(const void *study, const bb_config *config,
                                          bb_problems *problems);

#endif
