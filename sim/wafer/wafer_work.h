// SPDX-License-Identifier: Apache-2.0
//
// State of a run of a wafer study, as its parts see it (sim/run/part.h): the results of its
// pipelines, the sizes of its plan, and the table of parts.
#ifndef BB_SIM_WAFER_WAFER_WORK_H
#define BB_SIM_WAFER_WAFER_WORK_H

#include "core/device/transfer.h"
#include "physics/wafer/device_rows.h"
#include "precision/row_certificate.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/product_coding.h"
#include "sim/pipelines/storage_search.h"
#include "sim/run/part.h"
#include "sim/wafer/heat/wafer_heating.h"
#include "sim/wafer/wafer_rows.h"

enum { BB_WAFER_AXES = 3, BB_WAFER_PLACED = 4, BB_WAFER_GPUS = BB_RESPONSE_GPUS };

enum {
    BB_CERTIFICATE_PER_OCTAVE = 64,
    BB_CERTIFICATE_OCTAVES = 64,
    BB_CERTIFICATE_BINS = BB_CERTIFICATE_PER_OCTAVE * BB_CERTIFICATE_OCTAVES,
};

/// Over the slit points and light steps of one pipeline and axis; zero-initialise.
typedef struct bb_certificate_tally {
    double bound, coding, error;        ///< largest, m; of the bounds that are finite
    double unbounded;                   ///< displacements without one: values that are not finite
    double violations;                  ///< errors above their bound: never
    double counts[BB_CERTIFICATE_BINS]; ///< of bound / error by 64ths of an octave, from 1 on
} bb_certificate_tally;

/// Adds what another tally counted.
void bb_certificate_tally_merge(bb_certificate_tally *tally, const bb_certificate_tally *more);

/// Row norms of the matrices at work, what the rows meet, and what came of it; borrowed.
typedef struct bb_wafer_certificate {
    const bb_product_pipeline *pipeline, *reference;
    const bb_row_certificate *rows, *reference_rows; ///< [field points]
    const bb_vector_norms *inputs;                   ///< [steps] of the field
    bb_index columns;
    bb_index steps, points;           ///< light steps, points of a window
    const bb_index *first_row;        ///< [steps] of the window
    const double *windows, *expected; ///< [steps][points] of the pipeline, of the reference
} bb_wafer_certificate;

/// Compares the windows of all light steps with their bounds, into the tally. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_certificate_check(const bb_wafer_certificate *certificate,
                                                bb_certificate_tally *tally);

/// Displacements of a wafer by axis (bb_axis): NULL for axes that the study leaves out. The
/// BB_WAFER_PLACED arrays of an axis stand one behind the other, the mean first, which owns them.
typedef struct bb_wafer_displacements {
    double squared_error, squared_norm;        ///< of u over x and y, scored points and steps
    double *mean[BB_WAFER_AXES];               ///< [points] MA over the dwell, m
    double *deviation[BB_WAFER_AXES];          ///< [points] MSD over the dwell, m
    double *residual[BB_WAFER_AXES];           ///< [points] the same of what the corrections in
    double *residual_deviation[BB_WAFER_AXES]; ///< force leave, m
} bb_wafer_displacements;

typedef struct bb_wafer_evaluation {
    bb_evaluation common;
    double live_values;                     ///< of the operator without masked columns
    bb_coding_report coding[BB_WAFER_AXES]; ///< over the scored fields
    bb_certificate_tally certificate[BB_WAFER_AXES];
    bb_index wafer_count;           ///< scored ones
    bb_wafer_displacements *wafers; ///< [wafer_count] the last one is what is reported on at length
    bb_index drawn_count;           ///< draws after the plain one
    struct bb_wafer_evaluation *drawn; ///< [drawn_count] without draws of their own
} bb_wafer_evaluation;

/// Makes room for the study's axes and the scored wafers and sets sums to zero, of `drawn_count`
/// more draws too; `common` is started already. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_evaluation_create(const bb_wafer_study *study,
                                                const bb_wafer_problem *problem,
                                                bb_index drawn_count, bb_wafer_evaluation *out);
void bb_wafer_evaluation_release(bb_wafer_evaluation *evaluation);

/// Takes every number from an evaluation whose outcome is a failure of the whole pipeline: all NaN,
/// `points` scored ones of a wafer included.
void bb_wafer_evaluation_unset(bb_wafer_evaluation *evaluation, bb_index points);

/// Where the last wafer's points went.
const bb_wafer_displacements *bb_wafer_evaluation_last(const bb_wafer_evaluation *evaluation);

/// Sizes of a study, counted as doubles, and the need of its problem.
typedef struct bb_wafer_extent {
    double cells, points, window; ///< inputs of a row, points of a field and of a slit window
    double nodes, steps;          ///< of the mesh with the ring; time steps in all
    double unknowns, clamp;       ///< of the heat in all; nodes of the clamp
    double modes;                 ///< of temperature through the thickness
    double fields, exposed, scored;
    double wafers, scored_wafers;
    double samples;          ///< rows of the probes
    double metrology;        ///< points of all scored fields, on a wafer
    double matrices;         ///< of all scored fields and axes
    bb_matrix_layout layout; ///< of each
    bb_need making, held;    ///< the problem
    bb_need rows;            ///< those of one field along every axis
    double threads;
    const char *dump; ///< operators that are wanted, NULL: none
    int device;       ///< of the study as written, `auto` too
    /// Computed pipelines: a study whose searches are the largest candidates of their ladders, each
    /// with the draws of all trials of its ladder.
    bb_wafer_study tried;
    bb_product_pipeline *pipelines; ///< of that; release with BB_RELEASE
    double passes;                  ///< through the rows
    double held_draws;              ///< evaluations at a time
    double input_sets;              ///< at a time beside the reference's
    bool searches;
} bb_wafer_extent;

/// A copy of a study, which has to outlive it, with the device that `auto` comes to by the size of
/// its matrices. Errors: those of the study's layout, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_extent_resolve(const bb_wafer_study *study, bb_wafer_study *out);

/// Sets `tried` and the members behind it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_extent_list(const bb_wafer_study *study, bb_wafer_extent *out);

/// Overlay errors of a pipeline by stages of its chain, nm: of each stage alone, and last of the
/// product alone.
typedef struct bb_chain_errors {
    double alone[BB_CHAIN_STAGES + 1];
} bb_chain_errors;

/// The driver's; parts read it and write results. The dump, the last part, takes `problem` and
/// `heating`. Zero-initialise; release with bb_wafer_work_release.
typedef struct bb_wafer_work {
    bb_wafer_study study; ///< with what `auto` came to and, once computed, the storages found
    const char *dump;     ///< operators that are wanted, NULL: none
    bb_product_pipeline *pipelines; ///< of the study, a copy
    bb_product_devices devices;
    bb_restart *restart; ///< the driver's
    bb_storage_search *search;
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
    bb_wafer_evaluation *evaluations;     ///< [pipelines of the study]
    bb_chain_errors *chain;               ///< [pipelines of the study]
    const bb_wafer_evaluation *reference; ///< of them
    double *x, *y;                        ///< [problem->point_count] scored points, m
    double *field_x, *field_y;            ///< likewise: centre of the point's field, m
    double *field;                        ///< likewise: exposure index
} bb_wafer_work;

/// Opens the devices of the pipelines, which keep their places, and starts their evaluations.
/// Errors: those of bb_product_devices_open, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_work_open(const bb_wafer_study *study, bb_wafer_work *out);
void bb_wafer_work_release(bb_wafer_work *work);

/// Computes every pipeline into its evaluation, once the heating is there; those with max_loss by
/// search (sim/pipelines/storage_search.h): with a detail about the result, or not_converged.
/// Errors: those of bb_wafer_pass_run.
BB_CHECKED bb_status bb_wafer_work_compute(bb_wafer_work *work);

/// A computation, borrowed: a pipeline, and the place of its results.
typedef struct bb_wafer_task {
    const bb_product_pipeline *pipeline;
    bb_wafer_evaluation *evaluation; ///< created, with its device
    bool exact; ///< the product is the reference's: nothing is coded, nothing reported on coding
} bb_wafer_task;

/// Products of a pass as a checkpoint keeps them; borrowed.
typedef struct bb_wafer_products {
    const bb_wafer_study *study;
    bb_index points;             ///< scored ones of a wafer
    bb_index count;              ///< evaluations, draws included
    bb_wafer_evaluation **items; ///< [count]
    bb_index done, all;          ///< fields and axes
} bb_wafer_products;

/// Writes a checkpoint where one is due, or `now`. Errors: those of bb_store_write, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_products_save(bb_restart *restart, bool now,
                                            bb_wafer_products *products);

/// Reads evaluations and `done`, where the checkpoint that is resumed has them; results of
/// other pipelines are left, with a warning. Errors: those of bb_store_read, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_products_load(bb_restart *restart, bb_wafer_products *products);

/// GPU memory of a pass (wafer_gpu.c): the rows of a field and axis, inputs of its light steps
/// and windows of displacements. Zero-initialise; release with bb_wafer_gpu_release.
typedef struct bb_wafer_gpu {
    bb_device *device; ///< borrowed; NULL: rows are made on the host
    bb_device_rows *rows;
    void *values;           ///< [field_points][input_count]
    void *wide, *narrow;    ///< [light_steps][stride] inputs in fp64 and in fp32
    void *windows;          ///< [light_steps][window_points]
    float *narrowed;        ///< [light_steps][stride] the inputs in fp32 on the host
    bb_transfer *transfer;  ///< of inputs
    bb_index stride;        ///< of inputs
    bb_index steps, points; ///< light_steps, window_points
    const double *inputs;   ///< address on the host of the inputs above; NULL: none
} bb_wafer_gpu;

/// Makes room and copies what rows need. Errors: those of bb_device_rows_create.
BB_CHECKED bb_status bb_wafer_gpu_open(const bb_wafer_problem *problem, bb_device *device,
                                       bb_wafer_gpu *out);
void bb_wafer_gpu_release(bb_wafer_gpu *gpu);

/// What it takes, beside coded matrices.
bb_need bb_wafer_gpu_need(const bb_wafer_study *study, double nodes, double points, double cells,
                          double window);

/// Copies inputs [light_steps][cells], K, unless those of this address are there. Errors:
/// BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_wafer_gpu_upload_inputs(bb_wafer_gpu *gpu, const double *inputs,
                                                bb_index cells);

/// Products of an operator on the GPU with those inputs, from row `rows[step]` on: windows
/// [light_steps][window_points] on the host. `seconds` grows by their time on the GPU. Errors:
/// those of bb_coded_operator_queue.
BB_CHECKED bb_status bb_wafer_gpu_multiply(bb_wafer_gpu *gpu, bb_coded_operator *operation,
                                           const bb_index *rows, double *windows, double *seconds);

/// Passes through the response rows (wafer_pass.c). Zero-initialise; release with
/// bb_wafer_pass_release.
typedef struct bb_wafer_pass {
    const bb_wafer_study *study;
    const bb_product_pipeline *reference; ///< of the study
    bb_wafer_problem *problem;
    const bb_wafer_heating *heating; ///< referred
    const bb_product_devices *devices;
    bb_restart *restart;       ///< NULL: products are not kept
    bb_wafer_gpu gpu;          ///< where the reference computes there and rows are made there
    bool repeats;              ///< there will be several
    bool referred;             ///< the reference is computed
    double *reference_windows; ///< [axes, fields if it repeats, else 1][scored_wafers]
                               ///< [light_steps][window_points] of the reference, m
    double *windows;           ///< [light_steps][window_points] of another, of a wafer, m
    bb_vector_norms *inputs;   ///< [scored_wafers][scored][light_steps] of the inputs
    bb_row_certificate *rows, *reference_rows; ///< [field_points] of one axis and field
    bb_index *window_rows;                     ///< [light_steps] first row of a window
    bb_narrow_problems narrow;
    struct bb_wafer_pass *others; ///< [other_count] by further GPUs
    bb_index other_count;
    bb_product_devices *own_devices; ///< of one of those
} bb_wafer_pass;

/// Makes room. The work stays the caller's, and in place. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_pass_open(bb_wafer_work *work, bool repeats, bb_wafer_pass *out);
void bb_wafer_pass_release(bb_wafer_pass *pass);

/// Computes `count` tasks, all their draws. The study's own reference is among those of the first
/// call and of no other. Errors: those of the rows, codecs and devices, BB_INTERNAL where it is
/// not so.
BB_CHECKED bb_status bb_wafer_pass_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                       bb_index count);

/// A computation of one stage alone.
typedef struct bb_chain_task {
    bb_index pipeline; ///< of the study
    int stage;         ///< bb_chain_stage; BB_CHAIN_STAGES: the product
    bb_product_pipeline record;
    bb_wafer_evaluation evaluation;
} bb_chain_task;

/// Zero-initialise; release with bb_chain_tasks_release.
typedef struct bb_chain_tasks {
    bb_index count;
    bb_chain_task *items; ///< [count]
} bb_chain_tasks;

/// Lists what shows the errors by stages of the pipelines with narrow stages: those whose storage
/// is given or, `found`, those whose storage was searched and found. Errors: BB_MEMORY, those of
/// bb_product_devices_open.
BB_CHECKED bb_status bb_chain_tasks_list(bb_wafer_work *work, bool found, bb_chain_tasks *out);

/// The tasks at the end of others: `*count` grows.
void bb_chain_tasks_append(const bb_chain_tasks *tasks, bb_wafer_task *list, bb_index *count);

/// Errors of computed tasks into the work; certificates of a pipeline become those of its product
/// alone, which is what they bound. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_chain_tasks_score(const bb_chain_tasks *tasks, bb_wafer_work *work);
void bb_chain_tasks_release(bb_chain_tasks *tasks);

/// Bytes of the coefficients and results of a pipeline's stage.
double bb_wafer_work_stage_bytes(const bb_wafer_work *work, const bb_product_pipeline *pipeline,
                                 bb_chain_stage stage);

/// Sets of inputs beside the reference's that a pass of the study has at most. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_extent_count_inputs(const bb_wafer_study *study, double *out);

extern const bb_part *const bb_wafer_parts[]; ///< NULL ends them

/// The rows of that table that stand in files of their own.
extern const bb_part bb_wafer_product_part, bb_wafer_evaluation_part, bb_wafer_overlay_part,
    bb_wafer_delivery_part, bb_lot_overlay_part, bb_wafer_view_part, bb_wafer_coding_part,
    bb_wafer_search_part, bb_wafer_chain_part, bb_wafer_certificate_part, bb_wafer_heating_part,
    bb_wafer_probes_part, bb_wafer_convergence_part, bb_wafer_sizes_part, bb_wafer_cautions_part,
    bb_wafer_realtime_part, bb_wafer_requirements_part, bb_wafer_rows_part, bb_wafer_dump_part;

/// Writes /temperature: the grid S in the last light step of each scored exposure. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_work_publish_heating(const bb_wafer_problem *problem,
                                                   const bb_wafer_heating *heating,
                                                   bb_results *results);

/// Of scored points within two l_s of the rim, where rows of the closed-form kernel lack the edge.
typedef struct bb_wafer_edge_loss {
    bb_index points; ///< scored ones of all scored fields
    bb_index near;   ///< of them within two l_s
    double reach;    ///< two l_s, m
    double radius;   ///< of the outermost, m
    double part;     ///< of the displacement in the plane at the outermost, bb_disc_edge_part
    double height;   ///< of the height there
} bb_wafer_edge_loss;

/// Errors: those of the study's layout, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_edge_loss_find(const bb_wafer_study *study, bb_wafer_edge_loss *out);

#endif
