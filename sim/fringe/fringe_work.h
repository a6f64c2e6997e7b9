// SPDX-License-Identifier: Apache-2.0
//
// State of a run of a fringe study, as its parts see it (sim/run/part.h): its input, devices and
// their compiled kernels, the scene of a draw, the reference's phase, and the scores.
//
// One draw is at hand at a time: bb_fringe_work_load, then the reference, then the others.
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

/// What `input:` gives. Zero-initialised it is none.
typedef struct bb_fringe_input {
    bb_index columns, rows; ///< 0: no input
    bb_index steps;         ///< frames; 0: a wrapped phase
    bool has_truth;
    bb_scene *scene;   ///< phase: the truth, NaN without; mask: where it is 1 and data are finite
    double *wrapped;   ///< [rows][columns], rad; NULL of frames
    bb_frames *frames; ///< over full scale; NULL of a wrapped phase
    double full_scale; ///< of the frames' numbers
} bb_fringe_input;

/// Looks at what the file of a study holds, without its values: sizes, steps, and what of the study
/// does not fit them. A study without `input.file` gives none. Errors: those of
/// bb_map_file_inspect; BB_INVALID (a mask or truth of another size, a number of steps_rad or of
/// Carre's frames, bits of a pipeline where there are no frames).
BB_CHECKED bb_status bb_fringe_input_inspect(const bb_fringe_study *study, bb_fringe_input *out);

/// The same with the values. Errors: also BB_INVALID (no point has data and lies in the mask, a
/// truth without a value there), BB_MEMORY. Release whatever the status.
BB_CHECKED bb_status bb_fringe_input_open(const bb_fringe_study *study, bb_fringe_input *out);
void bb_fringe_input_release(bb_fringe_input *input);

/// The study with the input's sizes in the place of those of its own.
bb_fringe_study bb_fringe_input_study(const bb_fringe_study *study, const bb_fringe_input *input);

/// What an input takes while it is read; seconds are those of a disk of 200 MB/s.
bb_need bb_fringe_input_need(const bb_fringe_input *input);

/// Results of one pipeline; draw 0's, but for the draws.
typedef struct bb_fringe_evaluation {
    bb_evaluation common;
    double wrong_cycles, wrong_cycles_reference, missing;
    double wavefront_rms_nm, wavefront_pv_nm;
    double wavefront_error_nm;           ///< rms of phase - truth
    double wavefront_error_reference_nm; ///< rms of phase - the reference's phase
    double scale_rad, limit_rad, rejected_share, cycles, reweighted, changed;
    double bits, saturated;
    double *zernike_nm; ///< [zernike_terms]; owner: this, NULL without terms
} bb_fringe_evaluation;

/// All NaN. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_evaluation_start(const bb_fringe_study *study, const char *pipeline,
                                                bb_fringe_evaluation *out);
void bb_fringe_evaluation_release(bb_fringe_evaluation *evaluation);

/// A phase and what it is held to: all [rows][columns], in rad; truth NULL: not known.
typedef struct bb_fringe_answer {
    const double *phase, *truth, *reference;
    const bb_unwrap_parts *parts;
} bb_fringe_answer;

/// Scores a phase. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_evaluation_score(const bb_fringe_study *study,
                                                const bb_fringe_answer *answer,
                                                bb_fringe_evaluation *evaluation);

/// Of the study, beside its pipelines.
typedef struct bb_fringe_facts {
    double points, parts;
    double steep_share, hanging_share; ///< of the reference, as bb_unwrap_doubt
    double full_scale;                 ///< of frames that were measured; NaN without
} bb_fringe_facts;

/// Where phases of a study can be unwrapped.
extern const bb_device_offer bb_fringe_offer;

/// One device and the kernels that were compiled for it.
typedef struct bb_fringe_device {
    bb_device *device;
    bb_kernel_context *context;
} bb_fringe_device;

/// Zero-initialise; release with bb_fringe_work_close.
typedef struct bb_fringe_work {
    bb_fringe_study study;         ///< with the sizes of its input, and `pipelines`
    bb_fringe_pipeline *pipelines; ///< [pipeline_count] of the study, a copy
    bb_index pipeline_count, reference, points;
    bb_device_kind *places; ///< [pipeline_count]
    bb_fringe_device devices[BB_DEVICE_KIND_COUNT];
    bb_kernel_variants *variants;
    bb_fringe_input input; ///< what the first draw has not taken of it yet
    bb_index draw;         ///< at hand
    bb_scene *scene;       ///< of that draw; NULL: none is at hand
    bb_frames *frames;     ///< likewise, as the reference sees them; NULL without
    double *intensity;     ///< what a camera stored, the frames' own aside
    double *wrapped;       ///< [rows][columns] that the last pipeline saw
    double *phase;         ///< [rows][columns] of the last pipeline
    bb_index kept;         ///< draws from the first on whose phase of the reference stays
    double *references[BB_DRAWS_MOST]; ///< [rows][columns] a draw; NULL: not computed
} bb_fringe_work;

/// Reads the input of a study and opens devices and variants of kernels for its pipelines. `study`
/// is borrowed until it is closed; the reference's phases of draws below `kept` stay. Errors: those
/// of bb_fringe_input_open, bb_kernel_variants_create and bb_device_open.
BB_CHECKED bb_status bb_fringe_work_open(const bb_fringe_study *study,
                                         const struct bb_kernel_wish *kernels, bb_index kept,
                                         bb_fringe_work *out);
void bb_fringe_work_close(bb_fringe_work *work);

/// Brings the scene of a draw to hand, and its frames; those of an input are of its only draw.
/// Errors: those of bb_scene_create and bb_frames_create.
BB_CHECKED bb_status bb_fringe_work_load(bb_fringe_work *work, bb_index draw);

/// Phase of the reference in the draw at hand; NULL: not computed.
const double *bb_fringe_work_reference(const bb_fringe_work *work);

/// True phase of the draw at hand; NULL where what was measured came without one.
const double *bb_fringe_work_truth(const bb_fringe_work *work);

/// Computes a pipeline in the draw at hand into `phase` and scores it against the reference's, or,
/// where it is the reference, keeps that. `evaluation` is started. What did the work goes to
/// `*unwrapper`, the caller's; NULL: it is of no use, and neither is the time, in which kernels are
/// compiled then. Where no point has a phase that is its outcome, and `*unwrapper` is left as it
/// is. Errors: BB_INVALID (the reference has no phase), those of bb_unwrap_create, bb_unwrap_run
/// and bb_fringe_evaluation_score.
BB_CHECKED bb_status bb_fringe_work_run(bb_fringe_work *work, bb_index pipeline,
                                        bb_fringe_evaluation *evaluation, bb_unwrap **unwrapper);

/// Puts `record` in the place of pipeline `pipeline` and computes it in a draw, as who searches
/// does: no polynomials are fitted, the reference is computed where its phase is not kept. Errors:
/// as above. Owner of what `*out` holds: the caller.
BB_CHECKED bb_status bb_fringe_work_try(bb_fringe_work *work, bb_index pipeline,
                                        const bb_fringe_pipeline *record, bb_index draw,
                                        bb_fringe_evaluation *out);

enum { BB_FRINGE_MAPS_EDGE = 128, BB_FRINGE_MAPS_PARTS = 64 };

/// Maps of the first draw, while they are gathered.
typedef struct bb_fringe_maps bb_fringe_maps;

/// What the reference saw, all [rows][columns].
typedef struct bb_fringe_sight {
    const double *interferogram; ///< first frame, over full scale; NULL without frames
    const double *wrapped;       ///< rad, NaN where there is none
    const double *truth;         ///< rad; NULL without
    const double *quality;       ///< bb_unwrap_quality_map
    const bb_unwrap_parts *parts;
} bb_fringe_sight;

/// Maps without a value yet, of `columns` x `rows` points. The study outlives them. Errors:
/// BB_MEMORY. Owner: the caller.
BB_CHECKED bb_status bb_fringe_maps_create(const bb_fringe_study *study, bb_index columns,
                                           bb_index rows, bb_fringe_maps **out);
void bb_fringe_maps_destroy(bb_fringe_maps **maps);

/// Takes what the reference saw, once. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_maps_set_data(bb_fringe_maps *maps, const bb_fringe_sight *sight);

/// Takes the phase of a pipeline and what it is held to, the truth or the reference's phase; both
/// [rows][columns] in rad. The piston of a part is the mean of their difference over its points of
/// the most frequent cycle (cycles.h). `of_reference`: its pistons are those of the parts that are
/// listed. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_fringe_maps_add(bb_fringe_maps *maps, bb_index pipeline, bool of_reference,
                                        const bb_unwrap_parts *parts, const double *phase,
                                        const double *datum);

/// Writes /maps and /parts. Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_fringe_maps_publish(const bb_fringe_maps *maps, bb_results *results);

/// The driver's; parts read it and write results.
typedef struct bb_fringe_run {
    bb_fringe_work work;
    const char *dump; ///< maps that are wanted whole, NULL: none
    bb_fringe_facts facts;
    bb_fringe_maps *maps;        ///< of draw 0
    bb_fringe_evaluation *plain; ///< [pipelines] of draw 0
    bb_search_trials *trials;    ///< NULL: nothing is searched
} bb_fringe_run;

/// A pipeline in the draw at hand: other noise of scene, frames and vibration. The reference is
/// computed for every draw that a pipeline has. Draw 0 fills `plain` and the maps. Errors: those of
/// bb_fringe_work_run.
BB_CHECKED bb_status bb_fringe_run_draw(bb_fringe_run *run, bb_index pipeline);

/// Sizes of a plan.
typedef struct bb_fringe_extent {
    bb_fringe_input input;
    double points;
    const char *dump; ///< as bb_fringe_run.dump
} bb_fringe_extent;

extern const bb_part *const bb_fringe_parts[]; ///< NULL ends them

/// The rows of that table that stand in files of their own.
extern const bb_part bb_fringe_input_part, bb_fringe_unwrapping_part, bb_fringe_search_part,
    bb_fringe_score_part, bb_fringe_maps_part, bb_live_part;

/// The slots of unwrapping, whose numbers `tune --for` and max_loss find: wrong cycles 0 and the
/// wavefront within a tolerance of the reference's.
extern const bb_slot_table bb_fringe_slots;

#endif
