// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_run.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_promise.h"
#include "sim/ao/ao_pupil.h"
#include "sim/ao/ao_restart.h"
#include "sim/ao/ao_warm.h"
#include "sim/ao/ao_work.h"
#include "sim/ao/mirrors/influence_file.h"
#include "sim/ao/realtime/frame_times.h"
#include "sim/dump.h"
#include "sim/pipelines/engine/factor_engine.h"
#include "sim/pipelines/factor_device.h"

static const bb_device_offer offer = {.work = "the tile Cholesky of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

typedef struct ao_run {
    bb_ao_work work;
    bb_factor_engine engine;
    bb_ao_storage storage;
    const bb_factor_pipeline *pipelines;
    bb_index pipeline_count, target_count;
    double *mask;                  // of the pupil, NULL: the annulus
    bb_influence_cube *influences; // [mirrors], NULL: all Gaussian
    double *noise;                 // [n] lower bounds of the variances
    const bb_matrix_source **ctm;  // [target_count]
    bb_ao_mcao *mcao;              // NULL: one mirror a target
    bb_index *order;               // [pipeline_count] the reference, others, those that promise
    bb_index solved;               // so many of that order
    bb_index settled;              // so many of them scored and drawn, too
    bool *warm;                    // [pipeline_count] known from a study before
    bool keeps;                    // reconstructors, which are read again when all are scored
    bb_restart restart;
    double *tile_norms; // of Cmm, NULL until a search asks for them
} ao_run;

// The next pipeline to compute, of those that are solved as pipeline `like` is (-1: of all); -1:
// none is left.
static bb_index find_unlisted(const ao_run *run, const bool *listed, bb_index like)
{
    const bb_factor_pipeline *pipelines = run->pipelines;
    for (int promising = 0; promising <= 1; ++promising) {
        for (bb_index p = 0; p < run->pipeline_count; ++p) {
            const bool promises = bb_factor_pipeline_promises(&pipelines[p]);
            const bool alike =
                like < 0 || bb_factor_pipeline_solves_alike(&pipelines[like], &pipelines[p]);
            if (!listed[p] && alike && promises == (promising == 1)) {
                return p;
            }
        }
    }
    return -1;
}

// The order in which pipelines are computed: the reference, which promises are held to and draws
// are nothing without; after each pipeline those that are solved alike, which is kept for them; and
// those that promise after those that do not.
static void put_in_order(const ao_run *run)
{
    bool listed[BB_STUDY_PIPELINES] = {false};
    bb_index count = 0;
    bb_index first = bb_factor_pipelines_reference(&run->work.study->pipelines);
    while (count < run->pipeline_count) {
        const bb_index head = first;
        for (bb_index p = head; p >= 0; p = find_unlisted(run, listed, head)) {
            run->order[count++] = p;
            listed[p] = true;
        }
        first = find_unlisted(run, listed, -1);
    }
}

// `asked` is the study as it is written, `study` with what `auto` came to.
static bb_status start(const bb_ao_study *asked, const bb_ao_study *study, ao_run *run)
{
    bb_status status = BB_OK;
    run->work.study = study;
    run->pipelines = study->pipelines.items;
    run->pipeline_count = study->pipelines.count;
    run->target_count = study->targets.count;
    bb_device_choice_announce(&offer, asked->common.device, study->common.device);
    BB_TRY(bb_factor_device_tell_tile(&asked->solver.common, &study->solver.common, NULL));
    BB_TRY(bb_factor_engine_open(&study->solver.common, &run->engine));
    BB_TRY(BB_ALLOCATE(run->pipeline_count, &run->order));
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->warm));
    put_in_order(run);
    run->work.reference = run->order[0];
    run->keeps = bb_ao_evaluation_is_kept(study, run->work.dump);
    BB_TRY(bb_promise_trials_create(BB_FACTOR_PROMISE_TRIALS * BB_STUDY_PIPELINES,
                                    &run->work.promises));
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->work.evaluations));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        BB_TRY(bb_ao_evaluation_create(run->pipelines[p].name, run->target_count,
                                       study->wavelengths_um.count, study->ensquared_mas.count,
                                       bb_ao_study_images(study), &run->work.evaluations[p]));
        run->work.evaluations[p].level = run->pipelines[p];
        run->work.evaluations[p].shared = study->correction == (int)BB_AO_CORRECTION_LTAO ||
                                          study->correction == (int)BB_AO_CORRECTION_GLAO;
        BB_TRY(bb_factor_device_choose(&offer, study->common.device, &study->solver.common,
                                       &run->pipelines[p],
                                       &run->work.evaluations[p].common.device));
    }
done:
    return status;
}

static void finish(ao_run *run)
{
    for (bb_index p = 0; run->work.evaluations != NULL && p < run->pipeline_count; ++p) {
        bb_ao_evaluation_release(&run->work.evaluations[p], run->target_count);
    }
    BB_RELEASE(&run->work.evaluations);
    BB_RELEASE(&run->order);
    BB_RELEASE(&run->warm);
    bb_restart_release(&run->restart);
    bb_promise_trials_destroy(&run->work.promises);
    BB_RELEASE(&run->tile_norms);
    BB_RELEASE(&run->ctm);
    bb_ao_scoring_release(&run->work.scoring);
    bb_ao_storage_release(&run->storage);
    bb_factor_problem_release(&run->work.factor_problem);
    bb_ao_learning_destroy(&run->work.learning);
    bb_ao_mcao_destroy(&run->mcao);
    bb_tomography_destroy(&run->work.problem);
    bb_influence_file_release(run->work.study, &run->influences);
    BB_RELEASE(&run->mask);
    BB_RELEASE(&run->noise);
}

// A line of -v about a phase that began at *begin; the next one begins now.
static void tell_phase(const char *phase, double *begin)
{
    const double now = bb_clock_seconds();
    bb_log_detail("phase %s: %.3f s", phase, now - *begin);
    *begin = now;
}

static bool uses_device(const ao_run *run)
{
    bool uses = false;
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        uses = uses || run->work.evaluations[p].common.device == BB_DEVICE_CUDA;
    }
    return uses;
}

// Cmm is filled in no time, by a device or by all processes, and estimates are better not held.
static bool fills_fast(const ao_run *run)
{
    return uses_device(run) || bb_factor_engine_is_spread(&run->work.study->solver.common);
}

// Names the first of the sensors with point differences over large lenslets, and counts the others.
static void caution_slopes(const bb_ao_config *physics, const bb_tomography *problem)
{
    const bb_sensor *first = NULL;
    bb_index name = 0;
    bb_index others = 0;
    const bb_index stars = physics->guide_star_count;
    for (bb_index s = 0; s < stars + physics->target_count; ++s) {
        const bb_guide_star_config *guide = s < stars ? &physics->guide_stars[s] : NULL;
        const bb_sensor *sensor =
            s < stars ? &problem->guides.sensors[s] : &problem->targets[s - stars].truth.sensors[0];
        if (bb_sensor_averages(sensor) || !bb_ao_config_coarse(physics, sensor->lenslets, guide)) {
            continue;
        }
        others += first != NULL ? 1 : 0;
        name = first == NULL ? s : name;
        first = first == NULL ? sensor : first;
    }
    if (first != NULL) {
        bb_log_warning("slope_model: point_difference over %td lenslets of %.3g m in %s[%td] and "
                       "%td other sensor(s): the difference of two points is a poor slope over "
                       "more than 1 m; leave slope_model out or set averaged_gradient",
                       first->lenslets, first->size_m, name < stars ? "guide_stars" : "targets",
                       name < stars ? name : name - stars, others);
    }
}

static bb_status build_problem(ao_run *run, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_lgs_tilt tilt = (bb_lgs_tilt)run->work.study->solver.lgs_tilt;
    double begin = bb_clock_seconds();
    run->work.physics = bb_ao_study_physics(run->work.study);
    BB_TRY(bb_ao_pupil_load(run->work.study, &run->work.physics, &run->mask));
    BB_TRY(bb_influence_file_load(run->work.study, &run->work.physics, &run->influences));
    BB_TRY(bb_ao_pupil_note(&run->work.physics, results));
    BB_TRY(bb_tomography_create(&run->work.physics, tilt, &run->work.problem));
    tell_phase("sensors, mirrors and tables", &begin);
    bb_log_info("%td measurements, %td target(s), %td pipeline(s)", run->work.problem->cmm->rows,
                run->target_count, run->pipeline_count);
    BB_TRY(bb_factor_device_tell_single(&run->work.study->pipelines,
                                        run->work.study->solver.common.tile,
                                        run->work.problem->cmm->rows, NULL));
    BB_TRY(BB_ALLOCATE(run->target_count, &run->ctm));
    for (bb_index t = 0; t < run->target_count; ++t) {
        run->ctm[t] = run->work.problem->targets[t].ctm;
    }
    BB_TRY(bb_measurement_noise_bounds(&run->work.problem->guides, &run->work.problem->noise,
                                       &run->noise));
    const bb_tilt_vectors *tilts = &run->work.problem->tilts;
    run->work.factor_problem = (bb_factor_problem){
        .solver = &run->work.study->solver.common,
        .matrix = run->work.problem->cmm_core,
        .part = {tilts->columns, tilts->vectors, tilts->variance},
        .target_count =
            run->work.study->correction == (int)BB_AO_CORRECTION_LTAO ? 1 : run->target_count,
        .sides = run->ctm,
        .noise = run->noise,
        .engine = &run->engine,
        .seed = (uint64_t)run->work.study->common.seed};
    BB_TRY(bb_ao_mcao_create(run->work.problem, run->ctm, &run->mcao));
    bb_ao_mcao_pose(run->mcao, &run->work.factor_problem);
    caution_slopes(&run->work.physics, run->work.problem);
    BB_TRY(bb_ao_mcao_caution(run->work.problem));
    run->work.resumed = run->restart.resumed;
    BB_TRY(bb_parts_start(bb_ao_parts, run->work.study, &run->work, results));
    BB_TRY(bb_factor_problem_prepare(&run->work.factor_problem));
    BB_TRY(bb_ao_storage_open(&run->work.factor_problem, run->work.study->common.device,
                              run->work.problem, &run->work.study->inflation, &run->storage));
    BB_TRY(bb_ao_scoring_open(run->work.study, run->work.problem, &run->storage, uses_device(run),
                              &run->work.scoring));
    tell_phase("scales and right-hand sides", &begin);
done:
    return status;
}

// One draw of a pipeline from its factorization to its price.
static bb_status draw_once(ao_run *run, const bb_factor_problem *factor_problem, bb_index pipeline,
                           bb_draws *draws)
{
    bb_status status = BB_OK;
    bb_ao_evaluation drawn = {0};
    BB_TRY(bb_ao_evaluation_create(
        run->pipelines[pipeline].name, run->target_count, run->work.study->wavelengths_um.count,
        run->work.study->ensquared_mas.count, bb_ao_study_images(run->work.study), &drawn));
    drawn.level = run->pipelines[pipeline];
    drawn.shared = run->work.evaluations[pipeline].shared;
    drawn.common.device = run->work.evaluations[pipeline].common.device;
    BB_TRY(bb_ao_storage_solve(&run->storage, factor_problem, &run->pipelines[pipeline],
                               run->work.study->correction, &drawn));
    BB_TRY(bb_ao_storage_apply(&run->storage, &run->pipelines[pipeline], factor_problem->draw,
                               &drawn));
    bb_ao_evaluation *const one = &drawn;
    BB_TRY(bb_ao_scoring_run(&run->work.scoring, &one, 1));
    bb_draws_add(draws, &drawn.common.outcome, bb_ao_evaluation_headline(&drawn));
done:
    bb_ao_evaluation_release(&drawn, run->target_count);
    return status;
}

// Strehl ratios of a pipeline's draws, the plain one first; none but that where there is nothing to
// compare with. A promise has drawn on its way.
static bb_status draw(ao_run *run, bb_index p)
{
    bb_status status = BB_OK;
    const bb_ao_evaluation *reference = &run->work.evaluations[run->order[0]];
    const bool compares = reference->common.outcome.kind == BB_OUTCOME_OK;
    const bool promises = bb_factor_pipeline_promises(&run->pipelines[p]);
    const bb_index draws = run->pipelines[p].draws;
    bb_evaluation *common = &run->work.evaluations[p].common;
    bb_factor_problem factor_problem = run->work.factor_problem;
    if (common->draws.tried == 0) {
        bb_draws_add(&common->draws, &common->outcome,
                     bb_ao_evaluation_headline(&run->work.evaluations[p]));
    }
    for (bb_index d = 1; compares && !promises && d < draws; ++d) {
        bb_log_progress_step("drawing", run->pipelines[p].name, d - 1, draws - 1);
        factor_problem.draw = d;
        BB_TRY(draw_once(run, &factor_problem, p, &common->draws));
    }
    bb_log_progress("drawing", 1, 1);
done:
    return status;
}

// Scores what was solved since the last time, in one pass over Cmm for all of it, forgets the
// reconstructors that nothing reads again, and draws.
static bb_status settle(ao_run *run)
{
    bb_status status = BB_OK;
    const bb_index first = run->settled;
    const bb_index reference = run->order[0];
    double begin = bb_clock_seconds();
    bb_index count = 0;
    bb_ao_evaluation *evaluations[BB_STUDY_PIPELINES] = {NULL};
    for (bb_index i = first; i < run->solved; ++i) {
        if (!run->warm[run->order[i]]) {
            evaluations[count] = &run->work.evaluations[run->order[i]];
            bb_ao_learning_hold(run->work.learning, evaluations[count++]);
        }
    }
    BB_TRY(bb_ao_scoring_run(&run->work.scoring, evaluations, count));
    tell_phase("scores", &begin);
    if (first == 0 && run->solved > 0 && !run->warm[reference]) {
        BB_TRY(bb_ao_quantities_noise(&run->work.scoring, &run->work.evaluations[reference]));
        tell_phase("noise of the reference", &begin);
    }
    for (bb_index e = 0; e < count && !run->keeps; ++e) {
        bb_ao_evaluation_forget(evaluations[e], run->target_count);
    }
    for (bb_index i = first; i < run->solved; ++i) {
        const bb_index p = run->order[i];
        if (!run->warm[p]) {
            BB_TRY(draw(run, p));
        }
        if (!run->warm[p] && bb_ao_warm_serves(run->work.study, run->work.dump, p)) {
            BB_TRY(bb_ao_warm_keep(run->work.study, reference, p, &run->work.evaluations[p]));
        }
    }
    run->settled = run->solved;
done:
    return status;
}

// Whether a pipeline after the one at work is solved as it is.
static bool is_solved_again(const ao_run *run, bb_index p)
{
    bool again = false;
    for (bb_index i = run->solved + 1; i < run->pipeline_count; ++i) {
        again = again ||
                bb_factor_pipeline_solves_alike(&run->pipelines[p], &run->pipelines[run->order[i]]);
    }
    return again;
}

// What every target gets of commands of mirrors that correct together, where frames are to see it.
static bb_status aim(const ao_run *run, bb_ao_evaluation *evaluation)
{
    return bb_ao_study_frames(run->work.study) ? bb_ao_mcao_aim(run->work.problem, evaluation)
                                               : BB_OK;
}

static bb_status solve(ao_run *run, bb_index p)
{
    bb_status status = BB_OK;
    const bb_ao_promise_task task = {.scoring = &run->work.scoring,
                                     .factor_problem = &run->work.factor_problem,
                                     .tile_norms = &run->tile_norms,
                                     .reference = &run->work.evaluations[run->order[0]]};
    bb_ao_evaluation *evaluation = &run->work.evaluations[p];
    double begin = bb_clock_seconds();
    if (bb_ao_warm_serves(run->work.study, run->work.dump, p)) {
        BB_TRY(bb_ao_warm_find(run->work.study, run->order[0], p, evaluation, &run->warm[p]));
    }
    if (run->warm[p]) {
        goto done;
    }
    if (bb_policy_describe(&run->pipelines[p].policy)->is_search) {
        bb_factor_storage_rest(&run->storage.common);
        BB_TRY(bb_ao_promise_keep(run->work.promises, &task, p, evaluation));
    } else {
        BB_TRY(bb_ao_storage_solve_once(&run->storage, &run->work.factor_problem,
                                        &run->pipelines[p], run->work.study->correction,
                                        is_solved_again(run, p), evaluation));
        BB_TRY(bb_ao_commands_take(run->work.problem, &run->pipelines[p], evaluation));
        BB_TRY(bb_ao_promise_store(run->work.promises, &task, p, evaluation));
        BB_TRY(bb_frame_times_store(run->work.study, &run->storage, evaluation));
    }
    BB_TRY(aim(run, evaluation));
    tell_phase(run->pipelines[p].name, &begin);
done:
    return status;
}

// The reconstructors of pipelines that came from a checkpoint, for what reads them at the end.
static bb_status solve_again(ao_run *run, bb_index count)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        bb_ao_evaluation *evaluation = &run->work.evaluations[run->order[i]];
        bb_ao_evaluation again = *evaluation; // shares what holds the estimates
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
            continue;
        }
        bb_log_progress_step("solving", again.common.pipeline, i, count);
        bb_ao_evaluation_forget(evaluation, run->target_count);
        again.common = bb_evaluation_start(evaluation->common.pipeline);
        again.common.device = evaluation->common.device;
        BB_TRY(bb_ao_storage_solve(&run->storage, &run->work.factor_problem, &evaluation->level,
                                   run->work.study->correction, &again));
        BB_REQUIRE(again.common.outcome.kind == BB_OUTCOME_OK, BB_INTERNAL,
                   "pipeline %s, ok in the checkpoint, is %s when it is solved again",
                   evaluation->common.pipeline, bb_outcome_name(again.common.outcome.kind));
        BB_TRY(bb_ao_storage_apply(&run->storage, &evaluation->level, 0, &again));
        evaluation->kind = again.kind;
        BB_TRY(aim(run, evaluation));
    }
    bb_log_progress("solving", count, count);
done:
    return status;
}

// Every pipeline from its factorization to its price. With checkpoints each is settled by itself,
// so that it can be kept, and so it is on a device and over processes, which fill Cmm in no time
// and would only hold estimates; else all share one pass over Cmm, but for what a promise is held
// to.
static bb_status solve_all(ao_run *run, const bb_run_options *options)
{
    bb_status status = BB_OK;
    bb_ao_state state = {run->work.study,       run->order,         0,
                         run->work.evaluations, run->work.promises, run->work.learning};
    const bool learned = run->work.learning != NULL && options->resume == NULL;
    BB_TRY(bb_ao_restart_load(&run->restart, options->resume, &state));
    const bb_index restored = state.finished;
    run->solved = run->settled = restored;
    if (learned) {
        BB_TRY(bb_ao_restart_save(&run->restart, &state));
    }
    while (run->solved < run->pipeline_count) {
        const bb_index p = run->order[run->solved];
        bb_log_progress_step("solving", run->pipelines[p].name, run->solved, run->pipeline_count);
        if (run->settled == 0 && bb_factor_pipeline_promises(&run->pipelines[p])) {
            BB_TRY(settle(run));
        }
        BB_TRY(solve(run, p));
        ++run->solved;
        if (options->checkpoint != NULL || (fills_fast(run) && !run->keeps)) {
            BB_TRY(settle(run));
        }
        if (options->checkpoint != NULL) {
            state.finished = run->settled;
            BB_TRY(bb_ao_restart_save(&run->restart, &state));
        }
    }
    bb_log_progress("solving", run->solved, run->pipeline_count);
    BB_TRY(settle(run));
    bb_factor_storage_rest(&run->storage.common); // nights and what was learned factor, too
    if (restored > 0 &&
        (bb_ao_study_frames(run->work.study) || bb_dump_wanted(options->dump, "R"))) {
        BB_TRY(solve_again(run, restored));
    }
done:
    return status;
}

bb_status bb_ao_run(const void *asked, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_study study;
    ao_run run = {.work = {.study = &study, .dump = options->dump}};
    BB_TRY(bb_ao_restart_open(asked, options, &run.restart));
    BB_TRY(bb_ao_extent_resolve(asked, &study));
    BB_TRY(bb_ao_restart_take_tile(&run.restart, asked, &study));
    BB_TRY(start(asked, &study, &run));
    BB_TRY(build_problem(&run, results));
    BB_TRY(solve_all(&run, options));
    BB_TRY(bb_factor_engine_note(&run.engine, results));
    BB_TRY(bb_parts_run(bb_ao_parts, &study, &run.work, results));
done:
    bb_factor_engine_close(&run.engine, status);
    finish(&run);
    return status;
}
