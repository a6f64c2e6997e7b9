// SPDX-License-Identifier: Apache-2.0
//
// What pipelines of a fringe study are computed on: devices and their compiled kernels, the scene
// of a draw, and the reference's phase.
//
// One draw is at hand at a time: bb_fringe_work_look, then the reference, then the others.
#ifndef BB_SIM_FRINGE_FRINGE_WORK_H
#define BB_SIM_FRINGE_FRINGE_WORK_H

#include "physics/fringe/interferogram.h"
#include "sim/device_choice.h"
#include "sim/fringe/fringe_input.h"
#include "sim/fringe/fringe_score.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/pipelines/draws.h"
#include "solvers/kernels/objects/kernel_context.h"

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
BB_CHECKED bb_status bb_fringe_work_look(bb_fringe_work *work, bb_index draw);

/// Phase of the reference in the draw at hand; NULL: not computed.
const double *bb_fringe_work_reference(const bb_fringe_work *work);

/// True phase of the draw at hand; NULL where what was measured came without one.
const double *bb_fringe_work_truth(const bb_fringe_work *work);

/// Computes a pipeline in the draw at hand into `phase` and scores it against the reference's, or,
/// where it is the reference, keeps that. `evaluation` is started. What did the work goes to
/// `*unwrapper`, the caller's; NULL: it is of no use, and neither is the time, in which kernels are
/// compiled then. Where no point has a phase that is its outcome, and `*unwrapper` is left as it
/// is. Errors: BB_INVALID (the reference has no phase), those of bb_unwrap_create, bb_unwrap_run
/// and bb_fringe_score.
BB_CHECKED bb_status bb_fringe_work_run(bb_fringe_work *work, bb_index pipeline,
                                        bb_fringe_evaluation *evaluation, bb_unwrap **unwrapper);

/// Puts `record` in the place of pipeline `pipeline` and computes it in a draw, as who searches
/// does: no polynomials are fitted, the reference is computed where its phase is not kept. Errors:
/// as above. Owner of what `*out` holds: the caller.
BB_CHECKED bb_status bb_fringe_work_try(bb_fringe_work *work, bb_index pipeline,
                                        const bb_fringe_pipeline *record, bb_index draw,
                                        bb_fringe_evaluation *out);

#endif
