// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_solve.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/store.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_evaluation.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_quantities.h"
#include "sim/ao/realtime/ao_realtime.h"
#include "sim/output/subject.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"
#include "sim/pipelines/storage_search.h"
#include "sim/run/dump.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// Next pipeline that is not listed yet and has the same solve as pipeline `like` (-1: any solve);
// -1 if there is none.
static bb_index find_unlisted(const bb_ao_solve *run, const bool *listed, bb_index like)
{
    const bb_factor_pipeline *pipelines = run->pipelines;
    for (int searched = 0; searched <= 1; ++searched) {
        for (bb_index p = 0; p < run->pipeline_count; ++p) {
            const bool searches = bb_factor_pipeline_searches(&pipelines[p]);
            const bool alike =
                like < 0 || bb_factor_pipeline_solves_alike(&pipelines[like], &pipelines[p]);
            if (!listed[p] && alike && searches == (searched == 1)) {
                return p;
            }
        }
    }
    return -1;
}

// Orders the pipelines. The reference comes first, because searches and draws compare with it.
// Pipelines with the same solve follow each other, to reuse it. Searches come last.
static void put_in_order(const bb_ao_solve *run)
{
    bool listed[BB_STUDY_PIPELINES] = {false};
    bb_index count = 0;
    bb_index first = bb_factor_pipelines_reference(&run->work->study->pipelines);
    while (count < run->pipeline_count) {
        const bb_index head = first;
        for (bb_index p = head; p >= 0; p = find_unlisted(run, listed, head)) {
            run->order[count++] = p;
            listed[p] = true;
        }
        first = find_unlisted(run, listed, -1);
    }
}

static bb_status create_evaluation(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                   bb_ao_evaluation *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_ao_evaluation_create(pipeline->name, study->targets.count,
                                   study->wavelengths_um.count, study->ensquared_mas.count,
                                   bb_ao_study_images(study), out));
    out->level = *pipeline;
done:
    return status;
}

bb_status bb_ao_solve_open(bb_ao_work *work, bb_restart *restart, const bb_device_offer *offer,
                           bb_ao_solve *out)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    *out = (bb_ao_solve){.work = work,
                         .restart = restart,
                         .pipelines = study->pipelines.items,
                         .pipeline_count = study->pipelines.count,
                         .keeps = bb_ao_evaluation_is_reused(study, work->dump)};
    BB_TRY(BB_ALLOCATE(out->pipeline_count, &out->order));
    BB_TRY(BB_ZEROED(out->pipeline_count, &out->warm));
    put_in_order(out);
    work->reference = out->order[0];
    BB_TRY(bb_search_trials_create(BB_FACTOR_SEARCH_TRIALS * BB_STUDY_PIPELINES, &work->trials));
    BB_TRY(BB_ZEROED(out->pipeline_count, &work->evaluations));
    for (bb_index p = 0; p < out->pipeline_count; ++p) {
        bb_ao_evaluation *evaluation = &work->evaluations[p];
        BB_TRY(create_evaluation(study, &out->pipelines[p], evaluation));
        evaluation->shared = study->correction == (int)BB_AO_CORRECTION_LTAO ||
                             study->correction == (int)BB_AO_CORRECTION_GLAO;
        BB_TRY(bb_factor_device_choose(offer, study->common.device, &study->solver.common,
                                       &out->pipelines[p], &evaluation->common.device));
        work->on_device = work->on_device || evaluation->common.device == BB_DEVICE_CUDA;
    }
done:
    return status;
}

// Warms pipelines in their order, at least one. A search warms the arithmetics that it tries.
static bb_status warm_pipelines(void *context, bb_index unused)
{
    bb_status status = BB_OK;
    bb_ao_solve *run = context;
    (void)unused;
    do {
        const bb_index p = run->order[run->warmed++];
        if (!bb_factor_pipeline_finds_arithmetic(&run->pipelines[p])) {
            BB_TRY(bb_factor_problem_warm(&run->work->study->solver.common, &run->pipelines[p],
                                          run->work->evaluations[p].common.device));
        }
    } while (run->warmed < run->pipeline_count && !atomic_load(&run->awaited));
done:
    return status;
}

bb_status bb_ao_solve_warm(bb_ao_solve *run)
{
    run->warmed = run->warmed > run->solved ? run->warmed : run->solved;
    atomic_store(&run->awaited, false);
    return run->work->on_device && run->warmed < run->pipeline_count
               ? bb_side_thread_start(warm_pipelines, run, &run->warming)
               : BB_OK;
}

void bb_ao_solve_await(bb_ao_solve *run)
{
    bb_status_record record; // preserves an error that the caller is about to return
    bb_status_save(&record);
    atomic_store(&run->awaited, true);
    if (bb_side_thread_join(&run->warming) != BB_OK) {
        bb_status_restore(&record);
    }
}

void bb_ao_solve_release(bb_ao_solve *run)
{
    if (run->work == NULL) { // never opened
        return;
    }
    bb_ao_solve_await(run);
    for (bb_index p = 0; run->work->evaluations != NULL && p < run->pipeline_count; ++p) {
        bb_ao_evaluation_release(&run->work->evaluations[p], run->work->study->targets.count);
    }
    BB_RELEASE(&run->work->evaluations);
    bb_search_trials_destroy(&run->work->trials);
    BB_RELEASE(&run->order);
    BB_RELEASE(&run->warm);
    BB_RELEASE(&run->tile_norms);
}

// True if the results of a pipeline are cached for later studies in this process (core/store.h). A
// cached pipeline returns the same bits, times included, if nothing that it depends on differs. A
// sweep over the keys of one pipeline thus computes the others once per condition. Excluded are
// reconstructors read later by frames, steps shared by pipelines (learning, a spectrum), and search
// results and escalation.
static bool is_cacheable(const bb_ao_study *study, const char *dump, bb_index pipeline)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    return bb_store_has_room(1.0) && dump == NULL && !bb_ao_study_frames(study) &&
           study->learn.source == (int)BB_AO_LEARN_OFF &&
           study->solver.common.spectrum.tiles.count == 0 &&
           !bb_factor_pipeline_searches(&pipelines[pipeline]) && !pipelines[pipeline].escalate;
}

// Cache key of a pipeline: the study with only it and the reference, and the devices of solve and
// score. On a GPU, scores also depend on whether any pipeline stores a reconstructor.
static bb_status write_cache_key(const bb_ao_solve *run, bb_index pipeline, bb_text *out)
{
    bb_status status = BB_OK;
    static const char *const others[] = {"title", "device", "machine", NULL};
    const bb_ao_study *study = run->work->study;
    const bb_index reference = run->order[0];
    const bb_device_kind device = run->work->evaluations[pipeline].common.device;
    const bool traces = run->work->on_device && bb_ao_storage_any_modified(study);
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    bb_factor_pipeline pair[2] = {pipelines[reference], pipelines[pipeline]};
    bb_ao_study alone = *study;
    alone.pipelines = (bb_list){pair, pipeline == reference ? 1 : 2};
    BB_TRY(bb_subject_write_key("pipeline", &bb_ao_study_schema, &alone, others, out));
    BB_TRY(bb_text_add(out, "on %s%s%s\n", bb_device_names[device],
                       run->work->on_device ? ", scored on a GPU" : "",
                       traces ? " with traces" : ""));
done:
    return status;
}

static bb_index list_cached(const bb_ao_study *study, bb_ao_evaluation *evaluation,
                            bb_store_piece pieces[BB_AO_EVALUATION_ARRAYS + 1])
{
    bb_index bytes = 0;
    pieces[0] = (bb_store_piece){&evaluation->common, sizeof evaluation->common};
    bb_ao_evaluation_list(study, evaluation, pieces + 1);
    for (int p = 0; p <= BB_AO_EVALUATION_ARRAYS; ++p) {
        bytes += pieces[p].bytes;
    }
    return bytes;
}

static bb_status restore_cached(const bb_ao_solve *run, bb_index pipeline, bool *found)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = run->work->study;
    bb_ao_evaluation *evaluation = &run->work->evaluations[pipeline];
    bb_text key = {0};
    bb_index bytes = 0;
    const char *name = evaluation->common.pipeline;
    bb_store_piece pieces[BB_AO_EVALUATION_ARRAYS + 1];
    BB_TRY(write_cache_key(run, pipeline, &key));
    const char *rest = bb_store_find(bb_text_string(&key), &bytes);
    *found = rest != NULL;
    if (rest == NULL) {
        goto done;
    }
    BB_REQUIRE(list_cached(study, evaluation, pieces) == bytes, BB_INTERNAL,
               "pipeline %s: unexpected size of its cached results, %td bytes", name, bytes);
    for (int p = 0; p <= BB_AO_EVALUATION_ARRAYS; ++p) {
        // The list is shared by readers and writers; these are the evaluation's own arrays.
        if (pieces[p].bytes > 0) {
            memcpy((void *)(uintptr_t)pieces[p].data, rest, (size_t)pieces[p].bytes);
        }
        rest += pieces[p].bytes;
    }
    evaluation->common.pipeline = name;
done:
    bb_text_release(&key);
    return status;
}

static bb_status cache_results(const bb_ao_solve *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = run->work->study;
    bb_ao_evaluation *evaluation = &run->work->evaluations[pipeline];
    bb_text key = {0};
    char *block = NULL;
    bb_store_piece pieces[BB_AO_EVALUATION_ARRAYS + 1];
    const bb_index bytes = list_cached(study, evaluation, pieces);
    BB_TRY(write_cache_key(run, pipeline, &key));
    BB_TRY(BB_ALLOCATE(bytes, &block));
    char *rest = block;
    for (int p = 0; p <= BB_AO_EVALUATION_ARRAYS; ++p) {
        if (pieces[p].bytes > 0) {
            memcpy(rest, pieces[p].data, (size_t)pieces[p].bytes);
        }
        rest += pieces[p].bytes;
    }
    (void)bb_store_insert(bb_text_string(&key), (void **)&block, bytes);
done:
    BB_RELEASE(&block);
    bb_text_release(&key);
    return status;
}

// True if refilling Cmm is cheap, on a device or over processes. Pipelines are then scored one by
// one, to free estimates early.
static bool fills_fast(const bb_ao_solve *run)
{
    return run->work->on_device || bb_factor_engine_is_spread(&run->work->study->solver.common);
}

// Solves, stores and scores one draw of a pipeline.
static bb_status draw_once(bb_ao_solve *run, const bb_factor_problem *factor_problem,
                           bb_index pipeline, bb_draws *draws)
{
    bb_status status = BB_OK;
    bb_ao_evaluation drawn = {0};
    BB_TRY(create_evaluation(run->work->study, &run->pipelines[pipeline], &drawn));
    drawn.shared = run->work->evaluations[pipeline].shared;
    drawn.common.device = run->work->evaluations[pipeline].common.device;
    BB_TRY(bb_ao_storage_solve(&run->work->storage, factor_problem, &run->pipelines[pipeline],
                               run->work->study->correction, &drawn));
    BB_TRY(bb_ao_storage_apply(&run->work->storage, &run->pipelines[pipeline], factor_problem->draw,
                               &drawn));
    bb_ao_evaluation *const one = &drawn;
    BB_TRY(bb_ao_scoring_run(&run->work->scoring, &one, 1));
    bb_draws_add(draws, &drawn.common.outcome, bb_ao_evaluation_headline(&drawn));
done:
    bb_ao_evaluation_release(&drawn, run->work->problem->target_count);
    return status;
}

// Collects the Strehl ratios of a pipeline's draws, starting with draw 0. Further draws need a
// successful reference. A search has computed its own draws.
static bb_status draw(bb_ao_solve *run, bb_index p)
{
    bb_status status = BB_OK;
    const bb_ao_evaluation *reference = &run->work->evaluations[run->order[0]];
    const bool compares = reference->common.outcome.kind == BB_OUTCOME_OK;
    const bool searches = bb_factor_pipeline_searches(&run->pipelines[p]);
    const bb_index draws = run->pipelines[p].draws;
    bb_evaluation *common = &run->work->evaluations[p].common;
    bb_factor_problem factor_problem = run->work->factor_problem;
    if (common->draws.tried == 0) {
        bb_draws_add(&common->draws, &common->outcome,
                     bb_ao_evaluation_headline(&run->work->evaluations[p]));
    }
    for (bb_index d = 1; compares && !searches && d < draws; ++d) {
        bb_log_progress_step("drawing", run->pipelines[p].name, d - 1, draws - 1);
        factor_problem.draw = d;
        BB_TRY(draw_once(run, &factor_problem, p, &common->draws));
    }
    bb_log_progress("drawing", 1, 1);
done:
    return status;
}

// Scores the pipelines solved since the last call in one pass over Cmm, frees reconstructors that
// are no longer needed, and computes the draws.
static bb_status score_pending(bb_ao_solve *run)
{
    bb_status status = BB_OK;
    const bb_index first = run->scored;
    const bb_index reference = run->order[0];
    double begin = bb_clock_seconds();
    bb_index count = 0;
    bb_ao_evaluation *evaluations[BB_STUDY_PIPELINES] = {NULL};
    for (bb_index i = first; i < run->solved; ++i) {
        if (!run->warm[run->order[i]]) {
            evaluations[count] = &run->work->evaluations[run->order[i]];
            bb_ao_learning_apply_outcome(run->work->learning, evaluations[count++]);
        }
    }
    BB_TRY(bb_ao_solve_warm(run));
    BB_TRY(bb_ao_scoring_run(&run->work->scoring, evaluations, count));
    bb_parts_log_phase("scores", &begin);
    if (first == 0 && run->solved > 0 && !run->warm[reference]) {
        BB_TRY(bb_ao_quantities_noise(&run->work->scoring, &run->work->evaluations[reference]));
        bb_parts_log_phase("noise of the reference", &begin);
    }
    bb_ao_solve_await(run);
    for (bb_index e = 0; e < count && !run->keeps; ++e) {
        bb_ao_evaluation_free_estimates(evaluations[e], run->work->problem->target_count);
    }
    for (bb_index i = first; i < run->solved; ++i) {
        const bb_index p = run->order[i];
        if (!run->warm[p]) {
            BB_TRY(draw(run, p));
        }
        if (!run->warm[p] && is_cacheable(run->work->study, run->work->dump, p)) {
            BB_TRY(cache_results(run, p));
        }
    }
    run->scored = run->solved;
done:
    return status;
}

// True if a later pipeline has the same solve.
static bool is_solved_again(const bb_ao_solve *run, bb_index p)
{
    bool again = false;
    for (bb_index i = run->solved + 1; i < run->pipeline_count; ++i) {
        again = again ||
                bb_factor_pipeline_solves_alike(&run->pipelines[p], &run->pipelines[run->order[i]]);
    }
    return again;
}

// Applies the influence matrix to the commands of mcao, if frames need slopes per target.
static bb_status project_commands(const bb_ao_solve *run, bb_ao_evaluation *evaluation)
{
    return bb_ao_study_frames(run->work->study)
               ? bb_ao_mcao_project_commands(run->work->problem, evaluation)
               : BB_OK;
}

static bb_status solve(bb_ao_solve *run, bb_index p)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = &run->work->evaluations[p];
    double begin = bb_clock_seconds();
    if (is_cacheable(run->work->study, run->work->dump, p)) {
        BB_TRY(restore_cached(run, p, &run->warm[p]));
    }
    if (run->warm[p]) {
        goto done;
    }
    if (bb_factor_pipeline_finds_arithmetic(&run->pipelines[p])) {
        bb_factor_storage_release_device(&run->work->storage.common);
        BB_TRY(bb_ao_solve_find_arithmetic(run, p));
    } else {
        BB_TRY(bb_ao_storage_solve_once(&run->work->storage, &run->work->factor_problem,
                                        &run->pipelines[p], run->work->study->correction,
                                        is_solved_again(run, p), evaluation));
        BB_TRY(
            bb_ao_commands_replace_estimates(run->work->problem, &run->pipelines[p], evaluation));
        BB_TRY(bb_ao_solve_find_storage(run, p));
        BB_TRY(bb_ao_realtime_store_timed(run->work->study, &run->work->storage, evaluation));
    }
    BB_TRY(project_commands(run, evaluation));
    bb_parts_log_phase(run->pipelines[p].name, &begin);
done:
    return status;
}

// Solves restored pipelines again, because checkpoints contain no reconstructors.
static bb_status resolve_restored(bb_ao_solve *run, bb_index count)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        bb_ao_evaluation *evaluation = &run->work->evaluations[run->order[i]];
        bb_ao_evaluation again = *evaluation; // shares the arrays of estimates
        if (evaluation->common.outcome.kind != BB_OUTCOME_OK) {
            continue;
        }
        bb_log_progress_step("solving", again.common.pipeline, i, count);
        bb_ao_evaluation_free_estimates(evaluation, run->work->problem->target_count);
        again.common = bb_evaluation_start(evaluation->common.pipeline);
        again.common.device = evaluation->common.device;
        BB_TRY(bb_ao_storage_solve(&run->work->storage, &run->work->factor_problem,
                                   &evaluation->level, run->work->study->correction, &again));
        BB_REQUIRE(again.common.outcome.kind == BB_OUTCOME_OK, BB_INTERNAL,
                   "pipeline %s: ok in the checkpoint, but %s when solved again",
                   evaluation->common.pipeline, bb_outcome_name(again.common.outcome.kind));
        BB_TRY(bb_ao_storage_apply(&run->work->storage, &evaluation->level, 0, &again));
        evaluation->kind = again.kind;
        BB_TRY(project_commands(run, evaluation));
    }
    bb_log_progress("solving", count, count);
done:
    return status;
}

static bool is_within(int value, int last)
{
    return value >= 0 && value <= last;
}

// True if a search can have found this pipeline. The bool is compared as a byte, because a
// checkpoint may contain any value.
static bool is_found(const bb_factor_pipeline *level)
{
    static const bool no = false;
    const bb_policy_config *policy = &level->policy;
    return is_within(policy->kind, BB_POLICY_COUNT - 1) && bb_policy_describe(policy)->is_found &&
           is_within(level->arithmetic, BB_VARIANT_COUNT - 1) &&
           is_within(policy->inside, BB_VARIANT_COUNT - 1) &&
           is_within(policy->diagonal, BB_POLICY_FOLLOW) &&
           is_within(level->sweeps, BB_POLICY_SWEEPS_LIGHT) &&
           memcmp(&level->escalate, &no, 1) == 0 &&
           (isnan(policy->tolerance) || (policy->tolerance >= 0.0 && isfinite(policy->tolerance)));
}

// Members of a pipeline that a candidate changes.
enum { CHANGES = 7 };

static void list_changes(const bb_factor_pipeline *level, bb_store_piece pieces[CHANGES])
{
    const bb_policy_config *policy = &level->policy;
    const bb_store_piece all[CHANGES] = {{&level->arithmetic, sizeof level->arithmetic},
                                         {&policy->kind, sizeof policy->kind},
                                         {&policy->inside, sizeof policy->inside},
                                         {&policy->diagonal, sizeof policy->diagonal},
                                         {&level->sweeps, sizeof level->sweeps},
                                         {&policy->tolerance, sizeof policy->tolerance},
                                         {&level->escalate, 1}};
    memcpy(pieces, all, sizeof all);
}

static bool is_same(const bb_factor_pipeline *a, const bb_factor_pipeline *b)
{
    bb_store_piece changes[2][CHANGES];
    bool same = true;
    list_changes(a, changes[0]);
    list_changes(b, changes[1]);
    for (int i = 0; i < CHANGES; ++i) {
        const bb_store_piece *change = &changes[0][i];
        same = same && memcmp(change->data, changes[1][i].data, (size_t)change->bytes) == 0;
    }
    return same;
}

// Lists the pieces of a checkpoint for a pipeline, in addition to its evaluation. Reconstructors
// may take gigabytes and are left out; frames and `--dump R` solve a restored pipeline again.
static bb_index list_kept(const void *context, bb_index p, bb_store_piece *pieces)
{
    const bb_ao_work *work = context;
    list_changes(&work->evaluations[p].level, pieces);
    bb_ao_evaluation_list(work->study, &work->evaluations[p], pieces + CHANGES);
    return CHANGES + BB_AO_EVALUATION_ARRAYS;
}

static bb_index list_learned(const void *context, bb_store_piece *pieces)
{
    return bb_ao_learning_list(((const bb_ao_work *)context)->learning, pieces);
}

// Validates a restored level: the study's pipeline, or the result of its search, which is an
// arithmetic or the step of a storage.
static bool adopt(void *context, bb_index p)
{
    const bb_ao_work *work = context;
    const bb_factor_pipeline *pipelines = work->study->pipelines.items;
    const bb_evaluation *common = &work->evaluations[p].common;
    bb_factor_pipeline *level = &work->evaluations[p].level;
    const bool ok = common->outcome.kind == BB_OUTCOME_OK;
    const bool searches = bb_factor_pipeline_finds_arithmetic(&pipelines[p]);
    if (bb_factor_pipeline_finds_storage(&pipelines[p]) && ok &&
        !bb_storage_search_at(&pipelines[p], common->factor.stored_step, &level->storage)) {
        return false;
    }
    if (is_same(&pipelines[p], level)) {
        return !searches || !ok;
    }
    level->max_loss = NAN;
    level->policy.rounding = pipelines[p].search.rounding;
    return searches && is_found(level);
}

bb_pipeline_state bb_ao_solve_state(bb_ao_work *work, const bb_index *order)
{
    return (bb_pipeline_state){.order = order,
                               .first = &work->evaluations->common,
                               .stride = sizeof *work->evaluations,
                               .count = work->study->pipelines.count,
                               .tile = &work->study->solver.common.tile,
                               .trials = work->trials,
                               .context = work,
                               .list_head = list_learned,
                               .list = list_kept,
                               .adopt = adopt};
}

// Solves, scores and draws every pipeline. Contract in ao_solve.h.
bb_status bb_ao_solve_all(bb_ao_solve *run, const bb_run_options *options)
{
    bb_status status = BB_OK;
    bb_pipeline_state state = bb_ao_solve_state(run->work, run->order);
    const bool learned = run->work->learning != NULL && options->resume == NULL;
    BB_TRY(bb_pipeline_restart_load(run->restart, options->resume, &state));
    const bb_index restored = state.finished;
    run->solved = run->scored = restored;
    if (learned) {
        BB_TRY(bb_pipeline_restart_save(run->restart, &state));
    }
    while (run->solved < run->pipeline_count) {
        const bb_index p = run->order[run->solved];
        bb_log_progress_step("solving", run->pipelines[p].name, run->solved, run->pipeline_count);
        if (run->scored == 0 && bb_factor_pipeline_searches(&run->pipelines[p])) {
            BB_TRY(score_pending(run));
        }
        BB_TRY(solve(run, p));
        ++run->solved;
        if (options->checkpoint != NULL || (fills_fast(run) && !run->keeps)) {
            BB_TRY(score_pending(run));
        }
        if (options->checkpoint != NULL) {
            state.finished = run->scored;
            BB_TRY(bb_pipeline_restart_save(run->restart, &state));
        }
    }
    bb_log_progress("solving", run->solved, run->pipeline_count);
    BB_TRY(score_pending(run));
    bb_factor_storage_release_device(
        &run->work->storage.common); // nights and learning also factor on the device
    if (restored > 0 &&
        (bb_ao_study_frames(run->work->study) || bb_dump_wanted(options->dump, "R"))) {
        BB_TRY(resolve_restored(run, restored));
    }
done:
    return status;
}
