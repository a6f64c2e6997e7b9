// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_work.h"

#include "core/memory.h"
#include "physics/fringe/detection.h"

#include <math.h>
#include <string.h>

const bb_device_offer bb_fringe_offer = {.work = "unwrapping a phase",
                                         .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                                  BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

void bb_fringe_work_close(bb_fringe_work *work)
{
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        bb_kernel_context_destroy(&work->devices[kind].context);
        bb_device_close(&work->devices[kind].device);
    }
    for (bb_index draw = 0; draw < BB_DRAWS_MOST; ++draw) {
        BB_RELEASE(&work->references[draw]);
    }
    bb_kernel_variants_destroy(&work->variants);
    bb_scene_destroy(&work->scene);
    bb_frames_destroy(&work->frames);
    bb_fringe_input_release(&work->input);
    BB_RELEASE(&work->intensity);
    BB_RELEASE(&work->wrapped);
    BB_RELEASE(&work->phase);
    BB_RELEASE(&work->places);
    BB_RELEASE(&work->pipelines);
}

static bb_status open_device(bb_fringe_work *work, bb_device_kind kind)
{
    bb_status status = BB_OK;
    bb_fringe_device *place = &work->devices[kind];
    if (place->device == NULL) {
        BB_TRY(bb_device_open(kind, 0, &place->device));
        BB_TRY(bb_kernel_context_create(place->device, &place->context));
        BB_TRY(bb_kernel_variants_join(work->variants, place->context));
    }
done:
    return status;
}

bb_status bb_fringe_work_open(const bb_fringe_study *study, const struct bb_kernel_wish *kernels,
                              bb_index kept, bb_fringe_work *out)
{
    bb_status status = BB_OK;
    const bb_index count = study->pipelines.count;
    out->kept = kept;
    BB_TRY(bb_kernel_variants_create(&study->kernels, kernels, &out->variants));
    BB_TRY(bb_fringe_input_open(study, &out->input));
    BB_TRY(BB_ALLOCATE(count, &out->pipelines));
    BB_TRY(BB_ZEROED(count, &out->places));
    memcpy(out->pipelines, study->pipelines.items, (size_t)count * sizeof *out->pipelines);
    out->study = bb_fringe_input_study(study, &out->input);
    out->study.pipelines.items = out->pipelines;
    out->pipeline_count = count;
    out->reference = bb_fringe_study_reference(&out->study);
    out->points = out->study.physics.size.columns * out->study.physics.size.rows;
    bb_device_choice_announce(&bb_fringe_offer, study->common.device, study->common.device);
    for (bb_index p = 0; p < count; ++p) {
        BB_TRY(bb_device_choice_make(&bb_fringe_offer, study->common.device,
                                     out->pipelines[p].device, &out->places[p]));
        BB_TRY(open_device(out, out->places[p]));
    }
    BB_TRY(BB_ALLOCATE(out->points, &out->wrapped));
    BB_TRY(BB_ALLOCATE(out->points, &out->phase));
done:
    return status;
}

bb_status bb_fringe_work_load(bb_fringe_work *work, bb_index draw)
{
    bb_status status = BB_OK;
    const bb_fringe_config *physics = &work->study.physics;
    const uint64_t seed = (uint64_t)work->study.common.seed;
    if (work->scene != NULL && (work->input.columns > 0 || draw == work->draw)) {
        goto done;
    }
    if (work->draw >= work->kept) {
        BB_RELEASE(&work->references[work->draw]);
    }
    bb_scene_destroy(&work->scene);
    bb_frames_destroy(&work->frames);
    work->draw = draw;
    if (work->input.columns > 0) {
        work->scene = work->input.scene;
        work->frames = work->input.frames;
        work->input.scene = NULL;
        work->input.frames = NULL;
    } else {
        BB_TRY(bb_scene_create(physics, seed, draw, &work->scene));
        if (physics->detection.algorithm != BB_DETECTION_NONE) {
            BB_TRY(bb_frames_create(physics, work->scene, seed, draw, &work->frames));
        }
    }
    if (work->frames != NULL && work->intensity == NULL) {
        BB_TRY(BB_ALLOCATE(work->frames->steps * work->points, &work->intensity));
    }
done:
    return status;
}

const double *bb_fringe_work_reference(const bb_fringe_work *work)
{
    return work->references[work->draw];
}

const double *bb_fringe_work_truth(const bb_fringe_work *work)
{
    return work->input.columns == 0 || work->input.has_truth ? work->scene->phase : NULL;
}

// Detects the wrapped phase of a pipeline from frames as its camera stores them. Points of the
// pupil without a phase leave the mask. A pipeline with no points left gets a failed outcome; for
// the reference, which every score needs, that is an error.
static bb_status detect(bb_fringe_work *work, bb_index pipeline, unsigned char *mask,
                        bb_fringe_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index bits = bb_fringe_study_bits(&work->study, pipeline);
    bb_index saturated = 0;
    bb_index inside = 0, valid = 0; // points of the pupil, and points with a phase
    if (work->frames == NULL) {
        const double *phase =
            work->input.wrapped != NULL ? work->input.wrapped : work->scene->phase;
        bb_detection_wrap_all(work->points, phase, work->wrapped);
    } else {
        bb_frames stored = *work->frames;
        if (bits != BB_INTEGER_UNSET) {
            memcpy(work->intensity, stored.intensity,
                   (size_t)(stored.steps * work->points) * sizeof *work->intensity);
            stored.intensity = work->intensity;
            bb_frames_quantise(&stored, bits, &saturated);
            evaluation->bits = (double)bits;
            evaluation->saturated = (double)saturated;
        }
        BB_TRY(bb_detection_run(&work->study.physics.detection, &stored, work->wrapped, NULL));
    }
    for (bb_index p = 0; p < work->points; ++p) { // NaN outside the pupil, for maps too
        mask[p] = work->scene->mask[p] != 0 && isfinite(work->wrapped[p]);
        work->wrapped[p] = mask[p] != 0 ? work->wrapped[p] : (double)NAN;
        inside += work->scene->mask[p] != 0;
        valid += mask[p];
    }
    if (valid == 0 && inside > 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_UNDERDETERMINED,
                       "no point has a phase; constant or saturated frames do not reach "
                       "detection.least_modulation = %g",
                       work->study.physics.detection.least_modulation);
        BB_REQUIRE(pipeline != work->reference, BB_INVALID, "pipeline %s: %s",
                   work->pipelines[pipeline].name, evaluation->common.outcome.detail);
    }
done:
    return status;
}

static void copy_report(const bb_unwrap_report *report, bb_fringe_evaluation *evaluation)
{
    evaluation->scale_rad = report->scale_rad;
    evaluation->limit_rad = report->limit_rad;
    evaluation->rejected_share = report->rejected_share;
    evaluation->cycles = (double)report->cycles;
    evaluation->reweighted = (double)report->reweighted;
    evaluation->changed = (double)report->changed;
    evaluation->common.operator_bytes = report->bytes;
    evaluation->common.fp32_bytes = report->fp32_bytes;
    evaluation->common.solve_seconds = report->solve_seconds;
}

// Unwraps the detected phase. Timed runs unwrap a second time if the first compiled kernels or
// recorded a graph.
static bb_status unwrap(bb_fringe_work *work, bb_unwrap *unwrapper, bool is_timed,
                        bb_fringe_evaluation *evaluation, bool *converged)
{
    bb_status status = BB_OK;
    bb_unwrap_report report = {0};
    bb_kernel_context *context = work->devices[evaluation->common.device].context;
    const bb_index readied = bb_kernel_context_readied(context);
    const bool records = evaluation->common.device == BB_DEVICE_CUDA; // records a graph first
    BB_TRY(bb_unwrap_run(unwrapper, work->wrapped, work->phase, &report));
    if (is_timed && (records || bb_kernel_context_readied(context) > readied)) {
        BB_TRY(bb_unwrap_run(unwrapper, work->wrapped, work->phase, &report));
    }
    BB_TRY(bb_unwrap_verify(unwrapper, work->phase, &report));
    bb_evaluation_note_compiler(&evaluation->common, bb_kernel_context_compiler(context));
    copy_report(&report, evaluation);
    *converged = report.converged;
done:
    return status;
}

// Fails the outcome for a phase with non-finite points or a solve that did not converge.
static void set_outcome(const bb_unwrap_parts *parts, const double *phase, bool converged,
                        bb_outcome *outcome)
{
    for (bb_index p = 0; p < parts->columns * parts->rows; ++p) {
        if (parts->labels[p] >= 0 && !isfinite(phase[p])) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "phase of column %td, row %td",
                           p % parts->columns, p / parts->columns);
            return;
        }
    }
    if (!converged) {
        bb_outcome_set(
            outcome, BB_OUTCOME_NOT_CONVERGED,
            "the least-squares solve of the unwrapping did not converge: check the mask, its "
            "weights and the formats of the slots");
    }
}

static bb_status store_reference(bb_fringe_work *work)
{
    bb_status status = BB_OK;
    double **kept = &work->references[work->draw];
    if (*kept == NULL) {
        BB_TRY(BB_ALLOCATE(work->points, kept));
    }
    memcpy(*kept, work->phase, (size_t)work->points * sizeof **kept);
done:
    return status;
}

bb_status bb_fringe_work_run(bb_fringe_work *work, bb_index pipeline,
                             bb_fringe_evaluation *evaluation, bb_unwrap **unwrapper)
{
    bb_status status = BB_OK;
    const bb_unwrap_config config =
        bb_fringe_study_unwrap(&work->study, &work->pipelines[pipeline]);
    const bb_scene *scene = work->scene;
    bb_unwrap *made = NULL;
    unsigned char *mask = NULL;
    bool converged = false;
    evaluation->common.device = work->places[pipeline];
    BB_TRY(BB_ALLOCATE(work->points, &mask));
    BB_TRY(detect(work, pipeline, mask, evaluation));
    if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(bb_unwrap_create(work->devices[evaluation->common.device].context, &config, mask,
                            scene->columns, scene->rows, &made));
    BB_TRY(unwrap(work, made, unwrapper != NULL, evaluation, &converged));
    const bb_unwrap_parts *parts = bb_unwrap_parts_of(made);
    set_outcome(parts, work->phase, converged, &evaluation->common.outcome);
    if (pipeline == work->reference) {
        BB_TRY(store_reference(work));
    }
    const bb_fringe_answer answer = {work->phase, bb_fringe_work_truth(work),
                                     bb_fringe_work_reference(work), parts};
    BB_TRY(bb_fringe_evaluation_score(&work->study, &answer, evaluation));
    if (unwrapper != NULL) {
        *unwrapper = made;
        made = NULL;
    }
done:
    bb_unwrap_destroy(&made);
    BB_RELEASE(&mask);
    return status;
}

static bb_status run_trial(bb_fringe_work *work, bb_index pipeline, bb_fringe_evaluation *out)
{
    bb_status status = BB_OK;
    bb_fringe_study study = work->study;
    study.zernike_terms = 0;
    BB_TRY(bb_fringe_evaluation_start(&study, work->pipelines[pipeline].name, out));
    BB_TRY(bb_fringe_work_run(work, pipeline, out, NULL));
done:
    return status;
}

bb_status bb_fringe_work_try(bb_fringe_work *work, bb_index pipeline,
                             const bb_fringe_pipeline *record, bb_index draw,
                             bb_fringe_evaluation *out)
{
    bb_status status = BB_OK;
    bb_fringe_evaluation reference = {.zernike_nm = NULL};
    BB_TRY(bb_fringe_work_load(work, draw));
    if (pipeline != work->reference && bb_fringe_work_reference(work) == NULL) {
        BB_TRY(run_trial(work, work->reference, &reference));
    }
    work->pipelines[pipeline] = *record;
    BB_TRY(run_trial(work, pipeline, out));
done:
    bb_fringe_evaluation_release(&reference);
    return status;
}
