// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_run.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/fringe/detection.h"
#include "physics/fringe/interferogram.h"
#include "physics/fringe/wavefront.h"
#include "sim/device_choice.h"
#include "sim/energy.h"
#include "sim/fringe/fringe_dump.h"
#include "sim/fringe/fringe_input.h"
#include "sim/fringe/fringe_maps.h"
#include "sim/fringe/fringe_score.h"
#include "sim/fringe/live/live_table.h"
#include "sim/kernels/kernel_variants.h"
#include "solvers/kernels/objects/kernel_context.h"
#include "solvers/unwrap/unwrap_quality.h"

#include <math.h>
#include <string.h>

static const bb_device_offer offer = {.work = "unwrapping a phase",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

// One device and the kernels that were compiled for it.
typedef struct fringe_device {
    bb_device *device;
    bb_kernel_context *context;
} fringe_device;

typedef struct fringe_run {
    bb_fringe_study fitted; // the study with the sizes of its input
    const bb_fringe_study *study;
    bb_fringe_input input; // what the first draw has not taken of it yet
    const bb_fringe_pipeline *pipelines;
    bb_index pipeline_count, reference, points;
    fringe_device devices[BB_DEVICE_KIND_COUNT];
    bb_kernel_variants *variants;
    bb_scene *scene;         // of the draw at hand
    bb_frames *frames;       // likewise, as the reference sees them; NULL without
    double *intensity;       // what a camera stored, the frames' own aside
    double *wrapped;         // [rows][columns] that the pipeline at hand sees
    double *phase;           // [rows][columns] of the pipeline at hand
    double *reference_phase; // [rows][columns] of the draw at hand
    bb_fringe_facts facts;
    bb_fringe_dump *dump;        // NULL for none; the results'
    bb_fringe_maps *maps;        // of draw 0
    bb_fringe_evaluation *plain; // [pipeline_count] of draw 0
} fringe_run;

const bb_output_table *const bb_fringe_outputs[] = {
    &bb_evaluation_outputs,  &bb_fringe_pipeline_outputs, &bb_fringe_fact_outputs,
    &bb_fringe_zernike_axes, &bb_fringe_zernike_outputs,  &bb_fringe_map_axes,
    &bb_fringe_map_outputs,  &bb_fringe_part_axes,        &bb_fringe_part_outputs,
    &bb_live_stream_outputs, &bb_live_pipeline_outputs,   &bb_live_latency_outputs,
    &bb_kernel_ledger_axes,  &bb_kernel_ledger_outputs,   NULL,
};

static void finish(fringe_run *run)
{
    for (bb_index p = 0; run->plain != NULL && p < run->pipeline_count; ++p) {
        bb_fringe_evaluation_release(&run->plain[p]);
    }
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        bb_kernel_context_destroy(&run->devices[kind].context);
        bb_device_close(&run->devices[kind].device);
    }
    bb_kernel_variants_destroy(&run->variants);
    bb_scene_destroy(&run->scene);
    bb_frames_destroy(&run->frames);
    bb_fringe_maps_destroy(&run->maps);
    bb_fringe_input_release(&run->input);
    BB_RELEASE(&run->intensity);
    BB_RELEASE(&run->wrapped);
    BB_RELEASE(&run->phase);
    BB_RELEASE(&run->reference_phase);
    BB_RELEASE(&run->plain);
}

static bb_status open_device(fringe_run *run, bb_device_kind kind)
{
    bb_status status = BB_OK;
    fringe_device *place = &run->devices[kind];
    if (place->device == NULL) {
        BB_TRY(bb_device_open(kind, 0, &place->device));
        BB_TRY(bb_kernel_context_create(place->device, &place->context));
        BB_TRY(bb_kernel_variants_join(run->variants, place->context));
    }
done:
    return status;
}

static bb_status start(const bb_fringe_study *request, fringe_run *run)
{
    bb_status status = BB_OK;
    BB_TRY(bb_fringe_input_open(request, &run->input));
    run->fitted = bb_fringe_input_study(request, &run->input);
    const bb_fringe_study *study = run->study = &run->fitted;
    run->pipelines = study->pipelines.items;
    run->pipeline_count = study->pipelines.count;
    run->reference = bb_fringe_study_reference(study);
    run->points = study->physics.size.columns * study->physics.size.rows;
    bb_device_choice_announce(&offer, study->common.device);
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->plain));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        bb_fringe_evaluation *plain = &run->plain[p];
        BB_TRY(bb_fringe_evaluation_start(study, run->pipelines[p].name, plain));
        BB_TRY(bb_device_choice_make(&offer, study->common.device, run->pipelines[p].device,
                                     &plain->common.device));
        BB_TRY(open_device(run, plain->common.device));
    }
    BB_TRY(BB_ALLOCATE(run->points, &run->wrapped));
    BB_TRY(BB_ALLOCATE(run->points, &run->phase));
    BB_TRY(BB_ALLOCATE(run->points, &run->reference_phase));
    BB_TRY(bb_fringe_maps_create(study, study->physics.size.columns, study->physics.size.rows,
                                 &run->maps));
done:
    return status;
}

// The scene of a draw, and its frames; those of an input are of its only draw.
static bb_status look(fringe_run *run, bb_index draw)
{
    bb_status status = BB_OK;
    const bb_fringe_config *physics = &run->study->physics;
    const uint64_t seed = (uint64_t)run->study->common.seed;
    if (run->input.columns > 0 && run->scene != NULL) {
        goto done; // trials look at it again and again
    }
    bb_scene_destroy(&run->scene);
    bb_frames_destroy(&run->frames);
    if (run->input.columns > 0) {
        run->scene = run->input.scene;
        run->frames = run->input.frames;
        run->input.scene = NULL;
        run->input.frames = NULL;
    } else {
        BB_TRY(bb_scene_create(physics, seed, draw, &run->scene));
        if (physics->detection.algorithm != BB_DETECTION_NONE) {
            BB_TRY(bb_frames_create(physics, run->scene, seed, draw, &run->frames));
        }
    }
    if (run->frames != NULL && run->intensity == NULL) {
        BB_TRY(BB_ALLOCATE(run->frames->steps * run->points, &run->intensity));
    }
done:
    return status;
}

// The wrapped phase that a pipeline sees, from frames as its camera stores them. A point of the
// pupil without a phase is taken out of its mask.
static bb_status detect(fringe_run *run, bb_index pipeline, unsigned char *mask,
                        bb_fringe_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index bits = bb_fringe_study_bits(run->study, pipeline);
    bb_index saturated = 0;
    bb_index lit = 0, seen = 0; // points of the pupil, and those with a phase
    if (run->frames == NULL) {
        const double *phase = run->input.wrapped != NULL ? run->input.wrapped : run->scene->phase;
        bb_detection_wrap_all(run->points, phase, run->wrapped);
    } else {
        bb_frames stored = *run->frames;
        if (bits != BB_INTEGER_UNSET) {
            memcpy(run->intensity, stored.intensity,
                   (size_t)(stored.steps * run->points) * sizeof *run->intensity);
            stored.intensity = run->intensity;
            bb_frames_quantise(&stored, bits, &saturated);
            evaluation->bits = (double)bits;
            evaluation->saturated = (double)saturated;
        }
        BB_TRY(bb_detection_run(&run->study->physics.detection, &stored, run->wrapped, NULL));
    }
    for (bb_index p = 0; p < run->points; ++p) { // outside nothing was measured, for maps too
        mask[p] = run->scene->mask[p] != 0 && isfinite(run->wrapped[p]);
        run->wrapped[p] = mask[p] != 0 ? run->wrapped[p] : (double)NAN;
        lit += run->scene->mask[p] != 0;
        seen += mask[p];
    }
    BB_REQUIRE(seen > 0 || lit == 0, BB_INVALID,
               "pipeline %s: no point has a phase; frames that are constant or saturated have no "
               "modulation of at least detection.least_modulation = %g",
               run->pipelines[pipeline].name, run->study->physics.detection.least_modulation);
done:
    return status;
}

static void take_report(const bb_unwrap_report *report, bb_fringe_evaluation *evaluation)
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

// Unwraps once more, for joules.
typedef struct repetition {
    bb_unwrap *unwrap;
    const double *wrapped;
    double *phase;
} repetition;

static bb_status unwrap_again(void *context)
{
    const repetition *work = context;
    bb_unwrap_report report;
    return bb_unwrap_run(work->unwrap, work->wrapped, work->phase, &report);
}

// Unwraps what is detected: once to have everything compiled, then timed.
static bb_status unwrap(fringe_run *run, bb_unwrap *unwrapper, bb_fringe_evaluation *evaluation)
{
    bb_status status = BB_OK;
    bb_unwrap_report report = {0};
    repetition again = {unwrapper, run->wrapped, run->phase};
    const fringe_device *place = &run->devices[evaluation->common.device];
    const bb_index compiled = bb_kernel_context_compiled(place->context);
    BB_TRY(bb_unwrap_run(unwrapper, run->wrapped, run->phase, &report));
    if (bb_kernel_context_compiled(place->context) > compiled) {
        BB_TRY(bb_unwrap_run(unwrapper, run->wrapped, run->phase, &report));
    }
    BB_TRY(bb_energy_measure(evaluation->common.device, unwrap_again, &again, &evaluation->common));
    bb_evaluation_note_compiler(&evaluation->common, bb_kernel_context_compiler(place->context));
    take_report(&report, evaluation);
done:
    return status;
}

// Of the scene, or NULL where what was measured came without one.
static const double *truth_of(const fringe_run *run)
{
    return run->input.columns == 0 || run->input.has_truth ? run->scene->phase : NULL;
}

// What the reference saw, and how far its unwrapping can be trusted.
static bb_status show_sight(fringe_run *run, bb_unwrap *unwrapper)
{
    bb_status status = BB_OK;
    bb_unwrap_doubt doubt = {0};
    double *quality = NULL; // [rows][columns]
    BB_TRY(BB_ALLOCATE(run->points, &quality));
    BB_TRY(bb_unwrap_quality_map(unwrapper, quality));
    const bb_fringe_sight sight = {.interferogram =
                                       run->frames == NULL ? NULL : run->frames->intensity,
                                   .wrapped = run->wrapped,
                                   .truth = truth_of(run),
                                   .quality = quality,
                                   .parts = bb_unwrap_parts_of(unwrapper)};
    BB_TRY(bb_fringe_maps_see(run->maps, &sight));
    BB_TRY(bb_fringe_dump_sight(run->dump, &sight));
    BB_TRY(bb_unwrap_quality_doubt(unwrapper, &doubt));
    run->facts = (bb_fringe_facts){
        (double)sight.parts->point_count, (double)sight.parts->count, doubt.steep_share,
        doubt.hanging_share,
        run->frames == NULL || run->input.columns == 0 ? (double)NAN : run->input.full_scale};
    bb_fringe_score_warn(&run->facts);
done:
    BB_RELEASE(&quality);
    return status;
}

// The maps of a pipeline, thinned, and whole where they are asked for.
static bb_status show(fringe_run *run, bb_index pipeline, bb_unwrap *unwrapper)
{
    bb_status status = BB_OK;
    const bool of_reference = pipeline == run->reference;
    const bb_unwrap_parts *parts = bb_unwrap_parts_of(unwrapper);
    if (of_reference) {
        BB_TRY(show_sight(run, unwrapper));
    }
    const double *truth = truth_of(run);
    BB_TRY(bb_fringe_maps_take(run->maps, pipeline, of_reference, parts, run->phase,
                               truth == NULL ? run->reference_phase : truth));
    BB_TRY(bb_fringe_dump_phase(run->dump, run->pipelines[pipeline].name, pipeline, parts->columns,
                                parts->rows, run->phase));
done:
    return status;
}

// What cannot be answered is an outcome.
static void judge(const bb_unwrap_parts *parts, const double *phase, bb_outcome *outcome)
{
    for (bb_index p = 0; p < parts->columns * parts->rows; ++p) {
        if (parts->labels[p] >= 0 && !isfinite(phase[p])) {
            bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "phase of column %td, row %td",
                           p % parts->columns, p / parts->columns);
            return;
        }
    }
}

static bb_status run_pipeline(fringe_run *run, bb_index pipeline, bb_fringe_evaluation *evaluation,
                              bool is_plain)
{
    bb_status status = BB_OK;
    const bb_unwrap_config config = bb_fringe_study_unwrap(run->study, &run->pipelines[pipeline]);
    const bb_scene *scene = run->scene;
    bb_unwrap *unwrapper = NULL;
    unsigned char *mask = NULL;
    BB_TRY(BB_ALLOCATE(run->points, &mask));
    BB_TRY(detect(run, pipeline, mask, evaluation));
    BB_TRY(bb_unwrap_create(run->devices[evaluation->common.device].context, &config, mask,
                            scene->columns, scene->rows, &unwrapper));
    BB_TRY(unwrap(run, unwrapper, evaluation));
    const bb_unwrap_parts *parts = bb_unwrap_parts_of(unwrapper);
    judge(parts, run->phase, &evaluation->common.outcome);
    if (pipeline == run->reference) {
        memcpy(run->reference_phase, run->phase, (size_t)run->points * sizeof *run->phase);
    }
    const bb_fringe_answer answer = {run->phase, truth_of(run), run->reference_phase, parts};
    BB_TRY(bb_fringe_score(run->study, &answer, evaluation));
    if (is_plain) {
        BB_TRY(show(run, pipeline, unwrapper));
    }
done:
    bb_unwrap_destroy(&unwrapper);
    BB_RELEASE(&mask);
    return status;
}

// A draw of a pipeline: other noise of scene, frames and vibration. The reference is computed for
// every draw that a pipeline has.
static bb_status run_draw(fringe_run *run, bb_index pipeline, bb_index draw)
{
    bb_status status = BB_OK;
    bb_fringe_evaluation *plain = &run->plain[pipeline];
    bb_fringe_evaluation drawn = {.zernike_nm = NULL};
    bb_fringe_evaluation *evaluation = draw == 0 ? plain : &drawn;
    const bool counts = draw < run->pipelines[pipeline].draws;
    if (!counts && pipeline != run->reference) {
        goto done;
    }
    if (draw > 0) {
        BB_TRY(bb_fringe_evaluation_start(run->study, run->pipelines[pipeline].name, &drawn));
        drawn.common.device = plain->common.device;
    }
    BB_TRY(run_pipeline(run, pipeline, evaluation, draw == 0));
    if (counts) {
        bb_draws_add(&plain->common.draws, &evaluation->common.outcome,
                     evaluation->wrong_cycles_reference);
    }
done:
    bb_fringe_evaluation_release(&drawn);
    return status;
}

static bb_index count_draws(const bb_fringe_study *study)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_index draws = 1;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        draws = pipelines[p].draws > draws ? pipelines[p].draws : draws;
    }
    return study->input.file != NULL ? 1 : draws; // what was measured has no other noise
}

bb_status bb_fringe_run(const void *study, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    fringe_run run = {0};
    const bb_index draws = count_draws(study);
    BB_TRY(bb_fringe_dump_create(results, options->dump, &run.dump));
    BB_TRY(bb_kernel_variants_create(&((const bb_fringe_study *)study)->kernels, options->kernels,
                                     &run.variants));
    BB_TRY(start(study, &run));
    const bb_index steps = draws * run.pipeline_count;
    for (bb_index draw = 0; draw < draws; ++draw) {
        BB_TRY(look(&run, draw));
        for (bb_index i = 0; i < run.pipeline_count; ++i) { // the reference first
            const bb_index p = i == 0 ? run.reference : i - (i <= run.reference);
            bb_log_progress_step("unwrapping", run.pipelines[p].name, draw * run.pipeline_count + i,
                                 steps);
            BB_TRY(run_draw(&run, p, draw));
        }
    }
    bb_log_progress("unwrapping", steps, steps);
    BB_TRY(bb_fringe_score_publish(run.study, &run.facts, run.plain, run.pipeline_count, results));
    BB_TRY(bb_fringe_maps_publish(run.maps, results));
    BB_TRY(bb_kernel_variants_publish(run.variants, results));
done:
    finish(&run);
    return status;
}

struct bb_fringe_trials {
    bb_fringe_study study;
    bb_fringe_pipeline pipelines[2]; // the reference, and the one at hand
    fringe_run run;
};

bb_status bb_fringe_trials_create(const bb_fringe_study *study, const bb_run_options *options,
                                  bb_fringe_trials **out)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_fringe_trials *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    made->study = *study;
    made->study.zernike_terms = 0;
    made->study.pipelines = (bb_list){made->pipelines, 2};
    made->pipelines[0] = pipelines[bb_fringe_study_reference(study)];
    made->pipelines[1] = made->pipelines[0];
    made->pipelines[1].name = "candidate";
    BB_TRY(bb_kernel_variants_create(&study->kernels, options->kernels, &made->run.variants));
    BB_TRY(start(&made->study, &made->run));
    *out = made;
    made = NULL;
done:
    bb_fringe_trials_destroy(&made);
    return status;
}

void bb_fringe_trials_destroy(bb_fringe_trials **trials)
{
    if (*trials == NULL) {
        return;
    }
    finish(&(*trials)->run);
    BB_RELEASE(trials);
}

bb_status bb_fringe_trials_run(bb_fringe_trials *trials, const bb_fringe_pipeline *pipeline,
                               bb_index draw, bb_fringe_evaluation *out)
{
    bb_status status = BB_OK;
    fringe_run *run = &trials->run;
    trials->pipelines[1] = *pipeline;
    BB_TRY(look(run, draw));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        bb_fringe_evaluation_release(out);
        BB_TRY(bb_fringe_evaluation_start(&trials->study, run->pipelines[p].name, out));
        out->common.device = run->plain[p].common.device;
        BB_TRY(run_pipeline(run, p, out, false));
    }
done:
    return status;
}

// Scene, frames as they are and as they are stored, and one unwrapper at a time.
bb_status bb_fringe_run_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    bb_fringe_input input;
    BB_TRY(bb_fringe_input_inspect(study, &input));
    const bb_fringe_study fitted = bb_fringe_input_study(study, &input);
    const bb_fringe_study *fringe = &fitted;
    const bb_fringe_config *physics = &fringe->physics;
    const bb_fringe_pipeline *pipelines = fringe->pipelines.items;
    const double points = (double)physics->size.columns * (double)physics->size.rows;
    const bool has_frames = physics->detection.algorithm != BB_DETECTION_NONE;
    const bool is_measured = input.columns > 0;
    bb_need scene = is_measured ? bb_fringe_input_need(&input) : bb_scene_need(physics);
    bb_need unwraps = {0};
    BB_TRY(
        bb_plan_add(plan, "phase", "%td x %td pixels", physics->size.columns, physics->size.rows));
    if (is_measured) {
        BB_TRY(bb_plan_add(plan, "input", "'%s', dataset '%s': %s", fringe->input.file,
                           fringe->input.dataset, input.steps > 0 ? "frames" : "a wrapped phase"));
    }
    for (bb_index p = 0; p < fringe->pipelines.count; ++p) {
        const bb_unwrap_config config = bb_fringe_study_unwrap(fringe, &pipelines[p]);
        const int wish = bb_device_choice_wish(fringe->common.device, pipelines[p].device);
        const bool on_gpu = bb_device_choice_resolve(&offer, wish) == BB_DEVICE_CUDA;
        bb_need unwrap = bb_unwrap_need(&config, physics->size.columns, physics->size.rows, on_gpu);
        plan->gpus = on_gpu ? 1 : plan->gpus;
        BB_TRY(bb_plan_add(plan, pipelines[p].name, "%s, storage %s",
                           bb_format_describe(config.slots[0].arithmetic)->name,
                           bb_format_describe(config.slots[BB_UNWRAP_SMOOTHER].storage)->name));
        unwrap = bb_need_repeated(unwrap, is_measured ? 1.0 : (double)pipelines[p].draws);
        unwraps = bb_need_in_turn(unwraps, unwrap);
    }
    if (has_frames) {
        const bb_need stored = {.host_bytes = 8.0 * points * (double)physics->detection.steps};
        const bb_need drawn = is_measured ? (bb_need){0} : bb_frames_need(physics);
        scene = bb_need_together(scene, bb_need_together(drawn, stored));
    }
    if (fringe->zernike_terms > 0) {
        unwraps =
            bb_need_in_turn(unwraps, bb_wavefront_need(physics->size.columns, physics->size.rows,
                                                       fringe->zernike_terms));
    }
    const double dumped =
        bb_fringe_dump_bytes(options->dump, (double)fringe->pipelines.count, points);
    const bb_need thinned =
        bb_fringe_maps_need(physics->size.columns, physics->size.rows, fringe->pipelines.count);
    const bb_need maps = {.host_bytes = 33.0 * points + thinned.host_bytes + dumped};
    unwraps = bb_need_together(unwraps,
                               bb_unwrap_quality_need(physics->size.columns, physics->size.rows));
    bb_plan_set(plan, bb_need_together(maps, bb_need_together(scene, unwraps)));
    plan->output_bytes = 2000.0 * (double)fringe->pipelines.count + thinned.host_bytes + dumped;
done:
    return status;
}
