// SPDX-License-Identifier: Apache-2.0
//
// State of a wafer run, shared by its parts (sim/run/part.h): results of the pipelines, sizes for
// the plan, and the table of parts.
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

/// Certificate statistics over the slit points and light steps of one pipeline and axis;
/// zero-initialise.
typedef struct bb_certificate_tally {
    double bound, coding, error; ///< largest values, m, of finite bounds
    double unbounded;            ///< displacements without a bound, because of non-finite values
    double violations;           ///< errors above their bound; expected 0
    double counts[BB_CERTIFICATE_BINS]; ///< histogram of bound / error from 1 on, in 64ths of an
                                        ///< octave
} bb_certificate_tally;

/// Adds another tally.
void bb_certificate_tally_merge(bb_certificate_tally *tally, const bb_certificate_tally *more);

/// Row norms of the current matrices, norms of their inputs, and resulting displacements; borrowed.
typedef struct bb_wafer_certificate {
    const bb_product_pipeline *pipeline, *reference;
    const bb_row_certificate *rows, *reference_rows; ///< [field points]
    const bb_vector_norms *inputs;                   ///< [steps] inputs of the field
    bb_index columns;
    bb_index steps, points;           ///< light steps, points of a window
    const bb_index *first_row;        ///< [steps] first row of each window
    const double *windows, *expected; ///< [steps][points] of the pipeline, of the reference
} bb_wafer_certificate;

/// Compares the windows of all light steps with their bounds and adds them to the tally. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_certificate_check(const bb_wafer_certificate *certificate,
                                                bb_certificate_tally *tally);

/// Displacements of a wafer by axis (bb_axis); NULL for axes outside the study. The BB_WAFER_PLACED
/// arrays of an axis are contiguous; the first, `mean`, owns them.
typedef struct bb_wafer_displacements {
    double squared_error, squared_norm;        ///< sums of u over x and y, scored points and steps
    double *mean[BB_WAFER_AXES];               ///< [points] moving average (MA) over the dwell, m
    double *deviation[BB_WAFER_AXES];          ///< [points] moving standard deviation (MSD), m
    double *residual[BB_WAFER_AXES];           ///< [points] MA of the feed-forward residual, m
    double *residual_deviation[BB_WAFER_AXES]; ///< [points] MSD of the residual, m
} bb_wafer_displacements;

typedef struct bb_wafer_evaluation {
    bb_evaluation common;
    double live_values;                     ///< operator values without masked columns
    bb_coding_report coding[BB_WAFER_AXES]; ///< sums over the scored fields
    bb_certificate_tally certificate[BB_WAFER_AXES];
    bb_index wafer_count;              ///< number of scored wafers
    bb_wafer_displacements *wafers;    ///< [wafer_count] displacements of each wafer; the full
                                       ///< report covers the last one
    bb_index drawn_count;              ///< number of draws after the unperturbed one
    struct bb_wafer_evaluation *drawn; ///< [drawn_count] evaluations of those draws, which have no
                                       ///< draws of their own
} bb_wafer_evaluation;

/// Allocates the displacements of the study's axes and scored wafers, also for `drawn_count` more
/// draws, and sets sums to zero; `common` must be started. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_evaluation_create(const bb_wafer_study *study,
                                                const bb_wafer_problem *problem,
                                                bb_index drawn_count, bb_wafer_evaluation *out);
void bb_wafer_evaluation_release(bb_wafer_evaluation *evaluation);

/// Sets all results of a failed pipeline to NaN, including `points` scored points of a wafer.
void bb_wafer_evaluation_unset(bb_wafer_evaluation *evaluation, bb_index points);

/// Displacements of the last wafer.
const bb_wafer_displacements *bb_wafer_evaluation_last(const bb_wafer_evaluation *evaluation);

/// Sizes of a study as doubles, and the resources of its problem.
typedef struct bb_wafer_extent {
    double cells, points, window; ///< inputs of a row; points of a field, of a slit window
    double nodes, steps;          ///< nodes of the mesh with the ring; number of time steps
    double unknowns, clamp;       ///< unknowns of the heat; nodes of the clamp
    double modes;                 ///< temperature modes through the thickness
    double fields, exposed, scored;
    double wafers, scored_wafers;
    double samples;          ///< number of rows of the probes
    double metrology;        ///< points of all scored fields of a wafer
    double matrices;         ///< number of matrices, over scored fields and axes
    bb_matrix_layout layout; ///< layout of each matrix
    bb_need making, held;    ///< resources for creating and for keeping the problem
    bb_need rows;            ///< resources for the rows of one field along every axis
    double threads;
    const char *dump; ///< names of operators to dump, NULL: none
    int device;       ///< device of the study as written, maybe `auto`
    /// Computed pipelines: a study in which each search is replaced by the largest candidates of
    /// its ladders, with the draws of all trials of the ladder.
    bb_wafer_study tried;
    bb_product_pipeline *pipelines; ///< pipelines of `tried`; release with BB_RELEASE
    double passes;                  ///< passes through the rows
    double held_draws;              ///< evaluations in memory at a time
    double input_sets;              ///< narrow input sets at a time
    bool searches;
} bb_wafer_extent;

/// Copies a study and resolves device `auto` by the size of its matrices; the original must outlive
/// the copy. Errors: from the study's layout, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_extent_resolve(const bb_wafer_study *study, bb_wafer_study *out);

/// Sets `tried` and the members after it. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_extent_list(const bb_wafer_study *study, bb_wafer_extent *out);

/// Overlay errors of a pipeline, nm, with only one of its chain's stages narrow; the last is the
/// product alone.
typedef struct bb_chain_errors {
    double alone[BB_CHAIN_STAGES + 1];
} bb_chain_errors;

/// State of the driver; parts read it and write results. The dump, the last part, takes ownership
/// of `problem` and `heating`. Zero-initialise; release with bb_wafer_work_release.
typedef struct bb_wafer_work {
    bb_wafer_study study;           ///< study with resolved `auto` and, finally, the storages found
    const char *dump;               ///< names of operators to dump, NULL: none
    bb_product_pipeline *pipelines; ///< copy of the study's pipelines
    bb_product_devices devices;
    bb_restart *restart; ///< borrowed from the driver
    bb_storage_search *search;
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
    bb_wafer_evaluation *evaluations;     ///< [pipelines of the study]
    bb_chain_errors *chain;               ///< [pipelines of the study]
    const bb_wafer_evaluation *reference; ///< one of `evaluations`
    double *x, *y;                        ///< [problem->point_count] scored points, m
    double *field_x, *field_y;            ///< [problem->point_count] centre of the point's field, m
    double *field;                        ///< [problem->point_count] exposure index
} bb_wafer_work;

/// Opens the devices of the pipelines and starts their evaluations, in the order of the study.
/// Errors: from bb_product_devices_open, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_work_open(const bb_wafer_study *study, bb_wafer_work *out);
void bb_wafer_work_release(bb_wafer_work *work);

/// Computes every pipeline into its evaluation, after the heating. Pipelines with max_loss are
/// searched (sim/pipelines/storage_search.h) and get a detail about the result, or not_converged.
/// Errors: from bb_wafer_pass_run.
BB_CHECKED bb_status bb_wafer_work_compute(bb_wafer_work *work);

/// Task of a pass: a pipeline and the destination of its results; borrowed.
typedef struct bb_wafer_task {
    const bb_product_pipeline *pipeline;
    bb_wafer_evaluation *evaluation; ///< created, with its device
    bool exact; ///< use the reference's product: nothing is encoded, no encoding losses
} bb_wafer_task;

/// Products of a pass as stored in a checkpoint; borrowed.
typedef struct bb_wafer_products {
    const bb_wafer_study *study;
    bb_index points;             ///< number of scored points of a wafer
    bb_index count;              ///< number of evaluations, draws included
    bb_wafer_evaluation **items; ///< [count]
    bb_index done, all;          ///< number of fields and axes
} bb_wafer_products;

/// Writes a checkpoint if one is due or if `now` is true. Errors: from bb_store_write,
/// BB_MEMORY.
BB_CHECKED bb_status bb_wafer_products_save(bb_restart *restart, bool now,
                                            bb_wafer_products *products);

/// Reads evaluations and `done` from the resumed checkpoint, if it has them; results of other
/// pipelines are ignored with a warning. Errors: from bb_store_read, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_products_load(bb_restart *restart, bb_wafer_products *products);

/// GPU memory of a pass (wafer_gpu.c): rows of a field and axis, inputs of its light steps, and
/// displacement windows. Zero-initialise; release with bb_wafer_gpu_release.
typedef struct bb_wafer_gpu {
    bb_device *device; ///< borrowed; NULL: the host generates rows
    bb_device_rows *rows;
    void *values;           ///< [field_points][input_count]
    void *wide, *narrow;    ///< [light_steps][stride] inputs in fp64 and in fp32
    void *windows;          ///< [light_steps][window_points]
    float *narrowed;        ///< [light_steps][stride] fp32 inputs on the host
    bb_transfer *transfer;  ///< transfer of the inputs
    bb_index stride;        ///< distance between inputs
    bb_index steps, points; ///< light_steps, window_points
    const double *inputs;   ///< host address of the uploaded inputs; NULL: none
} bb_wafer_gpu;

/// Allocates GPU memory and copies the data that the row generator needs. Errors: those of
/// bb_device_rows_create.
BB_CHECKED bb_status bb_wafer_gpu_open(const bb_wafer_problem *problem, bb_device *device,
                                       bb_wafer_gpu *out);
void bb_wafer_gpu_release(bb_wafer_gpu *gpu);

/// Resources of a bb_wafer_gpu, without encoded matrices.
bb_need bb_wafer_gpu_need(const bb_wafer_study *study, double nodes, double points, double cells,
                          double window);

/// Uploads inputs [light_steps][cells], K, unless those at this address are already uploaded.
/// Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_wafer_gpu_upload_inputs(bb_wafer_gpu *gpu, const double *inputs,
                                                bb_index cells);

/// Multiplies an operator on the GPU with the uploaded inputs, from row `rows[step]` on, into
/// `windows` [light_steps][window_points] on the host. Adds the GPU time to `seconds`. Errors:
/// those of bb_coded_operator_queue.
BB_CHECKED bb_status bb_wafer_gpu_multiply(bb_wafer_gpu *gpu, bb_coded_operator *operation,
                                           const bb_index *rows, double *windows, double *seconds);

/// Pass through the response rows (wafer_pass.c). Zero-initialise; release with
/// bb_wafer_pass_release.
typedef struct bb_wafer_pass {
    const bb_wafer_study *study;
    const bb_product_pipeline *reference; ///< reference of the study
    bb_wafer_problem *problem;
    const bb_wafer_heating *heating; ///< heating with the reference subtracted
    const bb_product_devices *devices;
    bb_restart *restart; ///< NULL: no checkpoints of products
    bb_wafer_gpu gpu;    ///< used if the reference computes on a GPU that can generate rows
    bool repeats;        ///< several passes will be made
    bool has_reference;  ///< the reference has been computed
    /// [axes, fields if it repeats, else 1][scored_wafers][light_steps][window_points] windows of
    /// the reference, m
    double *reference_windows;
    double *windows;         ///< [light_steps][window_points] of one task and wafer, m
    bb_vector_norms *inputs; ///< [scored_wafers][scored][light_steps] norms of the inputs
    bb_row_certificate *rows, *reference_rows; ///< [field_points] of one axis and field
    bb_index *window_rows;                     ///< [light_steps] first row of each window
    bb_narrow_problems narrow;
    struct bb_wafer_pass *others; ///< [other_count] passes on further GPUs
    bb_index other_count;
    bb_product_devices *own_devices; ///< devices of a pass on a further GPU
} bb_wafer_pass;

/// Allocates the pass. The caller owns `work`, which must not move. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_pass_open(bb_wafer_work *work, bool repeats, bb_wafer_pass *out);
void bb_wafer_pass_release(bb_wafer_pass *pass);

/// Computes all draws of `count` tasks. The study's reference must be a task of the first call and
/// of no other. Errors: from the rows, codecs and devices; BB_INTERNAL if the reference is
/// misplaced.
BB_CHECKED bb_status bb_wafer_pass_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                       bb_index count);

/// Task with one narrow stage only.
typedef struct bb_chain_task {
    bb_index pipeline; ///< index in the study
    int stage;         ///< narrow stage, bb_chain_stage; BB_CHAIN_STAGES: the product
    bb_product_pipeline record;
    bb_wafer_evaluation evaluation;
} bb_chain_task;

/// List of single-stage tasks. Zero-initialise; release with bb_chain_tasks_release.
typedef struct bb_chain_tasks {
    bb_index count;
    bb_chain_task *items; ///< [count]
} bb_chain_tasks;

/// Lists the single-stage tasks of the pipelines with narrow stages: those with a given storage or,
/// with `found`, those whose storage was found by a search. Errors: BB_MEMORY, those of
/// bb_product_devices_open.
BB_CHECKED bb_status bb_chain_tasks_list(bb_wafer_work *work, bool found, bb_chain_tasks *out);

/// Appends the tasks to `list` and increases `*count`.
void bb_chain_tasks_append(const bb_chain_tasks *tasks, bb_wafer_task *list, bb_index *count);

/// Scores the computed tasks into `work`; replaces a pipeline's certificates by those of its
/// product alone, because certificates bound only the product. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_chain_tasks_score(const bb_chain_tasks *tasks, bb_wafer_work *work);
void bb_chain_tasks_release(bb_chain_tasks *tasks);

/// Bytes of the coefficients and results of a stage of a pipeline.
double bb_wafer_work_stage_bytes(const bb_wafer_work *work, const bb_product_pipeline *pipeline,
                                 bb_chain_stage stage);

/// Largest number of narrow input sets in a pass of the study. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_extent_count_inputs(const bb_wafer_study *study, double *out);

extern const bb_part *const bb_wafer_parts[]; ///< NULL-terminated

/// Parts that are defined in other files.
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

/// Loss of closed-form rows, which ignore the wafer edge, at scored points within two l_s of the
/// rim.
typedef struct bb_wafer_edge_loss {
    bb_index points; ///< number of scored points in all scored fields
    bb_index near;   ///< number of these within two l_s
    double reach;    ///< two l_s, m
    double radius;   ///< radius of the outermost point, m
    double part;     ///< lost part of its in-plane displacement, bb_disc_edge_part
    double height;   ///< lost part of its height
} bb_wafer_edge_loss;

/// Estimates the loss for a study. Errors: from the study's layout, BB_MEMORY.
BB_CHECKED bb_status bb_wafer_edge_loss_find(const bb_wafer_study *study, bb_wafer_edge_loss *out);

#endif
