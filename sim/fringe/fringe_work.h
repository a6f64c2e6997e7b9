// SPDX-License-Identifier: Apache-2.0
//
// State of a fringe run, shared by its parts (sim/run/part.h): input, devices and compiled kernels,
// scene of a draw, reference phase, and scores.
//
// Only one draw is loaded at a time: bb_fringe_work_load, then the reference, then the other
// pipelines.
#ifndef BB_SIM_FRINGE_FRINGE_WORK_H
#define BB_SIM_FRINGE_FRINGE_WORK_H

#include "physics/fringe/interferogram.h"
#include "sim/fringe/fringe_study.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/pipelines/draws.h"
#include "sim/pipelines/evaluation.h"
#include "sim/pipelines/search.h"
#include "sim/run/device_choice.h"
#include "sim/run/part.h"
#include "solvers/unwrap/unwrap.h"

/// Data of `input:`. Zero-initialised: no input.
typedef struct bb_fringe_input {
    bb_index columns, rows; ///< 0: no input
    bb_index steps;         ///< number of frames; 0: a wrapped phase
    bool has_truth;
    bb_scene *scene;   ///< phase: the truth, NaN without one; mask: user's mask and finite data
    double *wrapped;   ///< [rows][columns], rad; NULL for frames
    bb_frames *frames; ///< divided by full scale; NULL for a wrapped phase
    double full_scale; ///< value of full scale in the frames
} bb_fringe_input;

/// Reads the sizes and steps of the input file, without its values, and checks them against the
/// study. A study without `input.file` has no input. Errors: from bb_map_file_inspect;
/// BB_INVALID (size of a mask or truth, number of steps_rad or of Carre's frames, pipeline bits
/// without frames).
BB_CHECKED bb_status bb_fringe_input_inspect(const bb_fringe_study *study, bb_fringe_input *out);

/// Inspects an input as bb_fringe_input_inspect does, and reads the values. Errors: also BB_INVALID
/// (no finite point within the mask, a truth without a value there), BB_MEMORY. Release whatever
/// the status.
BB_CHECKED bb_status bb_fringe_input_open(const bb_fringe_study *study, bb_fringe_input *out);
void bb_fringe_input_release(bb_fringe_input *input);

/// Returns a copy of the study with the sizes of the input.
bb_fringe_study bb_fringe_input_study(const bb_fringe_study *study, const bb_fringe_input *input);

/// Resources for reading an input; seconds assume a disk of 200 MB/s.
bb_need bb_fringe_input_need(const bb_fringe_input *input);

/// Results of one pipeline: draw 0, except for the statistics over draws.
typedef struct bb_fringe_evaluation {
    bb_evaluation common;
    double wrong_cycles, wrong_cycles_reference, missing;
    double wavefront_rms_nm, wavefront_pv_nm;
    double wavefront_error_nm;           ///< rms of phase - truth
    double wavefront_error_reference_nm; ///< rms of phase - reference phase
    double scale_rad, limit_rad, rejected_share, cycles, reweighted, changed;
    double bits, saturated;
    double *zernike_nm; ///< [zernike_terms]; owned, NULL without terms
} bb_fringe_evaluation;

/// Sets all results to NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_evaluation_start(const bb_fringe_study *study, const char *pipeline,
                                                bb_fringe_evaluation *out);
void bb_fringe_evaluation_release(bb_fringe_evaluation *evaluation);

/// A phase and the phases that it is scored against, all [rows][columns] in rad; truth NULL if
/// unknown.
typedef struct bb_fringe_answer {
    const double *phase, *truth, *reference;
    const bb_unwrap_parts *parts;
} bb_fringe_answer;

/// Scores a phase. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_evaluation_score(const bb_fringe_study *study,
                                                const bb_fringe_answer *answer,
                                                bb_fringe_evaluation *evaluation);

/// Results of the study outside its pipelines.
typedef struct bb_fringe_facts {
    double points, parts;
    double steep_share, hanging_share; ///< shares of the reference, see bb_unwrap_doubt
    double full_scale;                 ///< full scale of measured frames; NaN without
} bb_fringe_facts;

/// Devices on which a fringe study can unwrap.
extern const bb_device_offer bb_fringe_offer;

/// One device and its compiled kernels.
typedef struct bb_fringe_device {
    bb_device *device;
    bb_kernel_context *context;
} bb_fringe_device;

/// State of a run. Zero-initialise; release with bb_fringe_work_close.
typedef struct bb_fringe_work {
    bb_fringe_study study;         ///< study with the sizes of its input; lists `pipelines`
    bb_fringe_pipeline *pipelines; ///< [pipeline_count] copy of the study's pipelines
    bb_index pipeline_count, reference, points;
    bb_device_kind *places; ///< [pipeline_count] device of each pipeline
    bb_fringe_device devices[BB_DEVICE_KIND_COUNT];
    bb_kernel_variants *variants;
    bb_fringe_input input;             ///< input data not yet moved to the first draw
    bb_index draw;                     ///< loaded draw
    bb_scene *scene;                   ///< scene of the loaded draw; NULL if none is loaded
    bb_frames *frames;                 ///< frames of `scene` before quantisation; NULL without
    double *intensity;                 ///< intensities as quantised by the current camera
    double *wrapped;                   ///< [rows][columns] wrapped phase of the last pipeline
    double *phase;                     ///< [rows][columns] unwrapped phase of the last pipeline
    bb_index kept;                     ///< number of first draws whose reference phase is cached
    double *references[BB_DRAWS_MOST]; ///< [draw][rows][columns]; NULL: not computed
} bb_fringe_work;

/// Reads the input of a study and opens devices and kernel variants for its pipelines. `study` is
/// borrowed until close; reference phases of draws below `kept` are cached. Errors: those of
/// bb_fringe_input_open, bb_kernel_variants_create and bb_device_open.
BB_CHECKED bb_status bb_fringe_work_open(const bb_fringe_study *study,
                                         const struct bb_kernel_wish *kernels, bb_index kept,
                                         bb_fringe_work *out);
void bb_fringe_work_close(bb_fringe_work *work);

/// Loads the scene and the frames of a draw; an input has only one draw. Errors: those of
/// bb_scene_create and bb_frames_create.
BB_CHECKED bb_status bb_fringe_work_load(bb_fringe_work *work, bb_index draw);

/// Reference phase of the loaded draw; NULL: not computed.
const double *bb_fringe_work_reference(const bb_fringe_work *work);

/// True phase of the loaded draw; NULL for measured data without a truth.
const double *bb_fringe_work_truth(const bb_fringe_work *work);

/// Computes a pipeline of the loaded draw into `phase` and scores it against the reference phase;
/// for the reference, stores that phase. `evaluation` is started by the caller. `*unwrapper`
/// receives the solver, owned by the caller; with NULL the solver is freed, and its time is not
/// measured because it may include compilation. If no point has a phase, the outcome fails and
/// `*unwrapper` stays unchanged. Errors: BB_INVALID (the reference has no phase), those of
/// bb_unwrap_create, bb_unwrap_run and bb_fringe_evaluation_score.
BB_CHECKED bb_status bb_fringe_work_run(bb_fringe_work *work, bb_index pipeline,
                                        bb_fringe_evaluation *evaluation, bb_unwrap **unwrapper);

/// Replaces pipeline `pipeline` by `record` and computes it in a draw, for searches: polynomials
/// are not fitted, and the reference is computed unless its phase is cached. Errors: those of
/// bb_fringe_work_run. The caller owns the contents of `*out`.
BB_CHECKED bb_status bb_fringe_work_try(bb_fringe_work *work, bb_index pipeline,
                                        const bb_fringe_pipeline *record, bb_index draw,
                                        bb_fringe_evaluation *out);

enum { BB_FRINGE_MAPS_EDGE = 128, BB_FRINGE_MAPS_PARTS = 64 };

/// Maps of the first draw, being collected.
typedef struct bb_fringe_maps bb_fringe_maps;

/// Data of the reference, all [rows][columns].
typedef struct bb_fringe_sight {
    const double *interferogram; ///< first frame, divided by full scale; NULL without frames
    const double *wrapped;       ///< rad, NaN at points without a phase
    const double *truth;         ///< rad; NULL without a truth
    const double *quality;       ///< values of bb_unwrap_quality_map
    const bb_unwrap_parts *parts;
} bb_fringe_sight;

/// Creates empty maps of `columns` x `rows` points. The study must outlive them. Errors: BB_MEMORY.
/// Owner: the caller.
BB_CHECKED bb_status bb_fringe_maps_create(const bb_fringe_study *study, bb_index columns,
                                           bb_index rows, bb_fringe_maps **out);
void bb_fringe_maps_destroy(bb_fringe_maps **maps);

/// Stores the data of the reference; call once. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_maps_set_data(bb_fringe_maps *maps, const bb_fringe_sight *sight);

/// Stores a pipeline's phase and its error against `datum`, the truth or the reference phase; both
/// [rows][columns] in rad. The piston of a part is the mean difference over its points of the most
/// frequent cycle (cycles.h). With `of_reference` the pistons are written to /parts. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_fringe_maps_add(bb_fringe_maps *maps, bb_index pipeline, bool of_reference,
                                        const bb_unwrap_parts *parts, const double *phase,
                                        const double *datum);

/// Writes /maps and /parts. Errors: from bb_output_table_publish.
BB_CHECKED bb_status bb_fringe_maps_publish(const bb_fringe_maps *maps, bb_results *results);

/// State of the driver; parts read it and write results.
typedef struct bb_fringe_run {
    bb_fringe_work work;
    const char *dump; ///< names of full-size maps to dump, NULL: none
    bb_fringe_facts facts;
    bb_fringe_maps *maps;        ///< maps of draw 0
    bb_fringe_evaluation *plain; ///< [pipelines] results of draw 0
    bb_search_trials *trials;    ///< NULL without searches
} bb_fringe_run;

/// Runs a pipeline in the loaded draw; draws differ in the noise of scene, frames and vibration.
/// The reference is computed in every draw of any pipeline. Draw 0 fills `plain` and the maps.
/// Errors: from bb_fringe_work_run.
BB_CHECKED bb_status bb_fringe_run_draw(bb_fringe_run *run, bb_index pipeline);

/// Sizes for a plan.
typedef struct bb_fringe_extent {
    bb_fringe_input input;
    double points;
    const char *dump; ///< as bb_fringe_run.dump
} bb_fringe_extent;

extern const bb_part *const bb_fringe_parts[]; ///< NULL-terminated

/// Parts that are defined in other files.
extern const bb_part bb_fringe_input_part, bb_fringe_unwrapping_part, bb_fringe_search_part,
    bb_fringe_score_part, bb_fringe_maps_part, bb_live_part;

/// Slots of unwrapping for `tune --for` and max_loss: no wrong cycles, and a wavefront within a
/// tolerance of the reference's.
extern const bb_slot_table bb_fringe_slots;

#endif
