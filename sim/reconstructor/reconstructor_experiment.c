// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "precision/error_norms.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"
#include "sim/pipelines/factor_plan.h"
#include "sim/pipelines/factor_search.h"
#include "sim/pipelines/factor_spectrum.h"
#include "sim/pipelines/factor_storage.h"
#include "sim/pipelines/factor_tiles.h"
#include "sim/pipelines/pipeline_restart.h"
#include "sim/pipelines/slope_rounding.h"
#include "sim/pipelines/sum_rounding.h"
#include "sim/reconstructor/reconstructor_inputs.h"
#include "sim/reconstructor/reconstructor_study.h"
#include "sim/run/dump.h"
#include "sim/run/experiment.h"
#include "sim/run/part.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const bb_device_offer offer = {.work = "the tile Cholesky",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

// Results of one pipeline.
typedef struct estimate {
    const bb_factor_pipeline *pipeline;
    bb_evaluation common;
    double *r;    // [m][n]; NULL if the pipeline failed earlier
    double trace; // trace of the residual covariance; Ctt is omitted if it is not given
} estimate;

typedef struct reconstructor_run {
    const char *dump;                    // names of operators to dump, NULL: none
    bb_reconstructor_study resolved;     // study with `auto` resolved
    const bb_reconstructor_study *study; // points to `resolved`
    const bb_factor_pipeline *pipelines;
    bb_index pipeline_count, reference;
    bb_reconstructor_inputs in;
    const bb_matrix_source *side; // source of Ctm
    bb_factor_engine engine;
    bb_factor_problem factor_problem;
    bb_factor_storage storage;
    estimate *estimates; // [pipeline_count]
    bb_search_trials *trials;
    double *tile_norms; // spectrum of Cmm, NULL until a search needs it
    bb_restart restart;
} reconstructor_run;

static void finish(reconstructor_run *run)
{
    for (bb_index p = 0; run->estimates != NULL && p < run->pipeline_count; ++p) {
        BB_RELEASE(&run->estimates[p].r);
    }
    BB_RELEASE(&run->estimates);
    bb_search_trials_destroy(&run->trials);
    BB_RELEASE(&run->tile_norms);
    bb_factor_storage_release(&run->storage);
    bb_factor_problem_release(&run->factor_problem);
    bb_reconstructor_inputs_close(&run->in);
    bb_restart_release(&run->restart);
}

// Copies a study of n measurements and resolves its `auto` values.
static bb_reconstructor_study resolve(const bb_reconstructor_study *study, bb_index n)
{
    bb_reconstructor_study out = *study;
    out.common.device =
        bb_device_choice_by_size(study->common.device, (double)n, BB_DEVICE_CHOICE_ORDER);
    bb_factor_device_resolve_tile(&out.pipelines, out.common.device, n, &out.solver.common);
    return out;
}

static bb_status start(const bb_reconstructor_study *asked, reconstructor_run *run)
{
    bb_status status = BB_OK;
    const bb_reconstructor_study *study = &run->resolved;
    BB_TRY(bb_reconstructor_inputs_open(asked, &run->in));
    run->resolved = resolve(asked, bb_matrix_file_source(run->in.cmm)->rows);
    BB_TRY(bb_pipeline_restart_restore_tile(&run->restart, &asked->pipelines, study->common.device,
                                            asked->solver.common.tile == BB_INTEGER_UNSET,
                                            &run->resolved.solver.common));
    run->study = study;
    run->pipelines = study->pipelines.items;
    run->pipeline_count = study->pipelines.count;
    run->reference = bb_factor_pipelines_reference(&study->pipelines);
    bb_device_choice_announce(&offer, asked->common.device, study->common.device);
    BB_TRY(bb_factor_device_print_tile(&asked->solver.common, &study->solver.common, NULL));
    BB_TRY(bb_factor_device_print_single(&study->pipelines, study->solver.common.tile,
                                         bb_matrix_file_source(run->in.cmm)->rows, NULL));
    BB_TRY(bb_factor_engine_open(&study->solver.common, &run->engine));
    BB_TRY(bb_search_trials_create(BB_FACTOR_SEARCH_TRIALS * run->pipeline_count, &run->trials));
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->estimates));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        run->estimates[p].pipeline = &run->pipelines[p];
        run->estimates[p].common = bb_evaluation_start(run->pipelines[p].name);
        run->estimates[p].trace = NAN;
        BB_TRY(bb_factor_device_choose(&offer, study->common.device, &study->solver.common,
                                       &run->pipelines[p], &run->estimates[p].common.device));
    }
    run->side = bb_matrix_file_source(run->in.ctm);
    run->factor_problem =
        (bb_factor_problem){.solver = &study->solver.common,
                            .matrix = bb_matrix_file_source(run->in.cmm),
                            .part = {run->in.columns, run->in.vectors, run->in.weights},
                            .engine = &run->engine,
                            .seed = (uint64_t)study->common.seed,
                            .target_count = 1,
                            .sides = &run->side};
    BB_TRY(bb_factor_problem_prepare(&run->factor_problem));
    const bb_low_rank modes = {0};
    const bb_slope_groups groups = {0};
    bb_factor_storage_open(&run->factor_problem, study->common.device, run->side->rows, &modes,
                           &groups, &run->storage);
    bb_log_info("%td measurements, %td estimates, %td pipeline(s)", run->side->columns,
                run->side->rows, run->pipeline_count);
done:
    return status;
}

// Computes the traces of the residual covariances of all available estimates, in one pass over Cmm.
static bb_status score(reconstructor_run *run, estimate *estimates, bb_index estimate_count)
{
    bb_status status = BB_OK;
    bb_index m = run->side->rows;
    bb_index count = 0;
    bool on_device = false;
    bb_residual_task *tasks = NULL;
    estimate **scored = NULL;
    BB_TRY(BB_ZEROED(estimate_count, &tasks));
    BB_TRY(BB_ZEROED(estimate_count, &scored));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        on_device = on_device || run->estimates[p].common.device == BB_DEVICE_CUDA;
    }
    for (bb_index e = 0; e < estimate_count; ++e) {
        if (estimates[e].r != NULL && estimates[e].common.outcome.kind == BB_OUTCOME_OK) {
            tasks[count] =
                (bb_residual_task){.r = estimates[e].r, .ctm = run->side, .ctt = run->in.truth};
            scored[count] = &estimates[e];
            BB_TRY(BB_ALLOCATE(m * m, &tasks[count].cee));
            ++count;
        }
    }
    BB_TRY(bb_factor_device_score(&run->in.sum, on_device ? run->factor_problem.solver->gpus : 0,
                                  count, tasks));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(
            bb_slope_rounding_add(&run->storage, scored[i]->pipeline, m, tasks[i].r, tasks[i].cee));
        BB_TRY(bb_sum_rounding_add(&run->storage, scored[i]->pipeline, m, tasks[i].r, tasks[i].cee,
                                   &scored[i]->common.outcome));
        bb_index bad = bb_stage_find_nonfinite("residual", tasks[i].cee, m * m);
        if (bad >= 0) {
            bb_outcome_set(&scored[i]->common.outcome, BB_OUTCOME_NON_FINITE,
                           "residual covariance, row %td, column %td", bad / m, bad % m);
            continue;
        }
        scored[i]->trace = 0.0;
        for (bb_index row = 0; row < m; ++row) {
            scored[i]->trace += tasks[i].cee[row * m + row];
        }
    }
done:
    for (bb_index i = 0; tasks != NULL && i < estimate_count; ++i) {
        BB_RELEASE(&tasks[i].cee);
    }
    BB_RELEASE(&tasks);
    BB_RELEASE(&scored);
    return status;
}

// Relative Frobenius error ||R - R_ref|| / ||R_ref||; NaN without R. After a failed solve the
// contents of `r` are undefined.
static double relative_error(const reconstructor_run *run, const double *r)
{
    const estimate *reference = &run->estimates[run->reference];
    const bool known = r != NULL && reference->common.outcome.kind == BB_OUTCOME_OK;
    return known ? bb_error_norms_relative(r, reference->r, run->side->rows * run->side->columns)
                 : NAN;
}

static bb_status trace_of_truth(const reconstructor_run *run, double *out)
{
    bb_status status = BB_OK;
    double *diagonal = NULL;
    *out = 0.0;
    BB_TRY(BB_ALLOCATE(run->in.truth->rows, &diagonal));
    BB_TRY(bb_matrix_source_diagonal(run->in.truth, diagonal));
    for (bb_index i = 0; i < run->in.truth->rows; ++i) {
        *out += diagonal[i];
    }
done:
    BB_RELEASE(&diagonal);
    return status;
}

typedef struct score_row {
    double loss, trace;
} score_row;

static const bb_output outputs[] = {
    {"variance_loss", "pipeline", "1",
     "loss: fraction of the variance explained by the reference but not by this reconstructor",
     .member = offsetof(score_row, loss)},
    {"residual_trace", "pipeline", "<of Ctt>",
     "trace of the residual covariance; NaN without truth_covariance",
     .member = offsetof(score_row, trace)},
};

static const bb_output_table reconstructor_outputs = {.title = "/results, reconstructor",
                                                      .group = "results",
                                                      .axes = "pipeline",
                                                      BB_OUTPUT_ROWS(outputs)};

static const bb_output loss_rows[] = {
    {"variance_loss", "trial", "1",
     "loss: largest fraction of the variance explained by the reference but not by this one",
     .note = "of reconstructor; over draws; NaN if one failed",
     .member = offsetof(bb_search_row, loss)},
};

static const bb_output_table loss_outputs = BB_SEARCH_TABLE(loss_rows);

static bb_status publish(void *work, bb_results *results)
{
    bb_status status = BB_OK;
    const reconstructor_run *run = work;
    const bb_output_fill fill = {.unit = run->in.truth->unit};
    const bb_evaluations all_evaluations = {&run->estimates->common, sizeof *run->estimates,
                                            run->pipeline_count, &run->study->machine.price};
    score_row rows[BB_STUDY_PIPELINES];
    double total = 0.0;
    double best = run->estimates[run->reference].trace;
    BB_TRY(trace_of_truth(run, &total));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        estimate *trial = &run->estimates[p];
        bool failed = trial->common.outcome.kind != BB_OUTCOME_OK;
        trial->common.qoi_relative_error = failed ? NAN : relative_error(run, trial->r);
        rows[p] = (score_row){(trial->trace - best) / (total - best),
                              run->in.ctt != NULL ? trial->trace : NAN};
        bb_draws_relate(&trial->common.draws, best, total - best);
    }
    BB_TRY(bb_evaluations_publish(&all_evaluations, "1", results));
    BB_TRY(bb_evaluations_publish_factors(&all_evaluations, results));
    BB_TRY(bb_output_table_publish_records(&reconstructor_outputs, rows, sizeof *rows,
                                           run->pipeline_count, &fill, results));
done:
    return status;
}

// Context of score_arithmetic.
typedef struct search_context {
    reconstructor_run *run;
    const bb_factor_pipeline *pipeline;
    double best, whole; // traces of the reference and of the truth
} search_context;

static bb_status score_arithmetic(void *context, double **r, bb_evaluation *solved,
                                  bb_factor_loss *out)
{
    bb_status status = BB_OK;
    const search_context *asked = context;
    estimate tried = {asked->pipeline, *solved, r[0], NAN};
    BB_TRY(score(asked->run, &tried, 1));
    *solved = tried.common;
    *out =
        (bb_factor_loss){(tried.trace - asked->best) / (asked->whole - asked->best), tried.trace};
done:
    return status;
}

// Finds the cheapest arithmetic of pipeline p within its max_loss, once the reference has been
// scored.
static bb_status search(reconstructor_run *run, bb_index p)
{
    bb_status status = BB_OK;
    estimate *found = &run->estimates[p];
    search_context context = {
        .run = run, .pipeline = found->pipeline, .best = run->estimates[run->reference].trace};
    const bb_factor_search_task task = {.problem = &run->factor_problem,
                                        .pipelines = run->pipelines,
                                        .pipeline = p,
                                        .trials = run->trials,
                                        .tile_norms = &run->tile_norms,
                                        .quantity = "residual covariance",
                                        .context = &context,
                                        .score = score_arithmetic};
    if (run->factor_problem.outcome.kind == BB_OUTCOME_OK && isnan(context.best)) {
        bb_outcome_set(&found->common.outcome, BB_OUTCOME_UNDERDETERMINED,
                       "max_loss: the reference has no residual covariance");
        goto done;
    }
    BB_TRY(trace_of_truth(run, &context.whole));
    BB_TRY(bb_factor_search_run(&task, &found->common, &found->r, NULL));
    BB_TRY(score(run, found, 1));
done:
    return status;
}

static bb_status solve_and_store(reconstructor_run *run, const bb_factor_problem *factor_problem,
                                 bb_index p, estimate *out)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = &run->pipelines[p];
    bb_factor_storage_release_device(&run->storage);
    BB_TRY(bb_factor_problem_solve(factor_problem, pipeline, &out->r, &out->common));
    BB_TRY(bb_factor_storage_apply(&run->storage, pipeline, factor_problem->draw, run->side->rows,
                                   out->r, &out->common));
done:
    return status;
}

// Traces of the draws of a pipeline, the unperturbed one first; a search has computed its draws
// already.
static bb_status draw(reconstructor_run *run, bb_index p)
{
    bb_status status = BB_OK;
    estimate drawn = {0};
    bb_factor_problem factor_problem = run->factor_problem;
    estimate *plain = &run->estimates[p];
    bb_draws *draws = &plain->common.draws;
    const bb_index count =
        bb_factor_pipeline_searches(&run->pipelines[p]) ? 1 : run->pipelines[p].draws;
    if (draws->tried == 0) {
        bb_draws_add(draws, &plain->common.outcome, plain->trace);
    }
    for (factor_problem.draw = 1; factor_problem.draw < count; ++factor_problem.draw) {
        bb_log_progress_step("drawing", run->pipelines[p].name, factor_problem.draw - 1, count - 1);
        drawn = (estimate){plain->pipeline, bb_evaluation_start(plain->common.pipeline), NULL, NAN};
        drawn.common.device = plain->common.device;
        BB_TRY(solve_and_store(run, &factor_problem, p, &drawn));
        BB_TRY(score(run, &drawn, 1));
        bb_draws_add(draws, &drawn.common.outcome, drawn.trace);
        BB_RELEASE(&drawn.r);
    }
    bb_log_progress("drawing", 1, 1);
done:
    BB_RELEASE(&drawn.r);
    return status;
}

// Reconstructors for the dump; they outlive the run.
typedef struct kept {
    bb_index count;
    double *values[BB_STUDY_PIPELINES]; // [m][n]
    bb_view views[BB_STUDY_PIPELINES];
    bb_matrix_source sources[BB_STUDY_PIPELINES];
} kept;

static void release_kept(void *object)
{
    kept *all = object;
    for (bb_index i = 0; i < all->count; ++i) {
        BB_RELEASE(&all->values[i]);
    }
    BB_RELEASE(&all);
}

// Dumps R_<pipeline>_0 of every pipeline with a reconstructor, named as in ao.
static bb_status dump(void *work, bb_results *results)
{
    bb_status status = BB_OK;
    reconstructor_run *run = work;
    kept *all = NULL;
    char name[64];
    char long_name[192];
    if (!bb_dump_wanted(run->dump, "R")) {
        return BB_OK;
    }
    BB_TRY(BB_ZEROED(1, &all));
    BB_TRY(bb_results_own(results, all, release_kept));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        estimate *trial = &run->estimates[p];
        const bb_index index = all->count;
        if (trial->common.outcome.kind != BB_OUTCOME_OK) {
            continue;
        }
        all->values[index] = trial->r;
        trial->r = NULL;
        all->count += 1;
        all->views[index] = bb_view_matrix(all->values[index], run->side->rows, run->side->columns);
        all->sources[index] = bb_matrix_source_dense(&all->views[index], "R", "1");
        (void)snprintf(name, sizeof name, "R_%td_0", p);
        (void)snprintf(long_name, sizeof long_name, "reconstructor of pipeline %.120s",
                       trial->common.pipeline);
        BB_TRY(bb_results_operator(results, name, long_name, &all->sources[index]));
    }
done:
    return status;
}

// Arrays of a pipeline in a checkpoint, in addition to its evaluation. `r` is allocated when the
// checkpoint is read.
static bb_index list_kept(const void *context, bb_index p, bb_store_piece *pieces)
{
    const reconstructor_run *run = context;
    const estimate *trial = &run->estimates[p];
    const bb_index bytes = run->side->rows * run->side->columns * (bb_index)sizeof *trial->r;
    pieces[0] = (bb_store_piece){&trial->trace, sizeof trial->trace};
    pieces[1] = (bb_store_piece){trial->r, bytes};
    return trial->common.outcome.kind == BB_OUTCOME_OK ? 2 : 1;
}

// Orders pipelines so that searches, which need the reference, run last.
static void order_pipelines(const reconstructor_run *run, bb_index order[BB_STUDY_PIPELINES])
{
    bb_index count = 0;
    for (int searching = 0; searching <= 1; ++searching) {
        for (bb_index p = 0; p < run->pipeline_count; ++p) {
            if (bb_factor_pipeline_searches(&run->pipelines[p]) == (searching == 1)) {
                order[count++] = p;
            }
        }
    }
}

static bb_status resume(reconstructor_run *run, const char *path, bb_pipeline_state *state)
{
    bb_status status = BB_OK;
    const bb_index values = run->side->rows * run->side->columns;
    for (bb_index p = 0; run->restart.resumed != NULL && p < run->pipeline_count; ++p) {
        BB_TRY(BB_ALLOCATE(values, &run->estimates[p].r));
    }
    BB_TRY(bb_pipeline_restart_load(&run->restart, path, state));
    for (bb_index i = state->finished; i < run->pipeline_count; ++i) {
        BB_RELEASE(&run->estimates[state->order[i]].r);
    }
done:
    return status;
}

// Runs every pipeline from its factorization to its draws.
static bb_status solve(reconstructor_run *run, const bb_run_options *options)
{
    bb_status status = BB_OK;
    const bb_index count = run->pipeline_count;
    bb_index order[BB_STUDY_PIPELINES];
    bb_pipeline_state state = {.order = order,
                               .first = &run->estimates->common,
                               .stride = sizeof *run->estimates,
                               .count = count,
                               .tile = &run->resolved.solver.common.tile,
                               .trials = run->trials,
                               .context = run,
                               .list = list_kept};
    order_pipelines(run, order);
    BB_TRY(resume(run, options->resume, &state));
    while (state.finished < count) {
        const bb_index p = order[state.finished];
        bb_log_progress_step("solving", run->pipelines[p].name, state.finished, count);
        if (bb_factor_pipeline_searches(&run->pipelines[p])) {
            BB_TRY(search(run, p));
        } else {
            BB_TRY(solve_and_store(run, &run->factor_problem, p, &run->estimates[p]));
            BB_TRY(score(run, &run->estimates[p], 1));
        }
        BB_TRY(draw(run, p));
        ++state.finished;
        BB_TRY(bb_pipeline_restart_save(&run->restart, &state));
    }
    bb_log_progress("solving", count, count);
done:
    return status;
}

static const bb_part results_part = {
    .name = "results",
    .run = publish,
    .outputs = BB_OUTPUTS(&bb_evaluation_outputs, &reconstructor_outputs, &bb_factor_report_axes,
                          &bb_factor_report_outputs),
};

static bb_status publish_search(void *work, bb_results *results)
{
    const reconstructor_run *run = work;
    return bb_search_trials_publish(run->trials, &run->pipelines->name, sizeof *run->pipelines,
                                    &bb_factor_search_outputs, &loss_outputs, results);
}

static const bb_part search_part = {
    .name = "search",
    .run = publish_search,
    .outputs = BB_OUTPUTS(&bb_search_outputs, &bb_factor_search_outputs, &loss_outputs),
};

static bb_status publish_spectrum(void *work, bb_results *results)
{
    return bb_factor_spectrum_publish(&((reconstructor_run *)work)->factor_problem, results);
}

static const bb_part spectrum = {
    .name = "spectrum",
    .run = publish_spectrum,
    .outputs = BB_OUTPUTS(&bb_factor_spectrum_formats, &bb_factor_spectrum_matrix,
                          &bb_factor_spectrum_places, &bb_factor_spectrum_tiles),
};

static bb_status publish_tiles(void *work, bb_results *results)
{
    const reconstructor_run *run = work;
    return bb_factor_tiles_publish(&run->factor_problem, run->pipelines, run->pipeline_count,
                                   results);
}

static const bb_part tiles = {
    .name = "tiles",
    .run = publish_tiles,
    .outputs = BB_OUTPUTS(&bb_factor_tiles_outputs),
};

static const bb_part operators = {.name = "operators", .run = dump};

static const bb_part *const parts[] = {&results_part, &search_part, &spectrum,
                                       &tiles,        &operators,   NULL};

static bb_status run_reconstructor(const void *study, const bb_run_options *options,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    reconstructor_run run = {.dump = options->dump};
    BB_TRY(bb_pipeline_restart_open(&bb_reconstructor_study_schema, study, options, &run.restart));
    BB_TRY(start(study, &run));
    BB_TRY(solve(&run, options));
    BB_TRY(bb_factor_engine_note(&run.engine, results));
    BB_TRY(bb_parts_run(parts, study, &run, results));
done:
    bb_factor_engine_close(&run.engine, status);
    finish(&run);
    return status;
}

// Memory of the estimates and their residuals, and of the largest step: each factorization, the
// joint scoring pass, the spectrum.
static bb_status sum(const bb_reconstructor_study *study, const bb_factor_extent *solved,
                     bb_plan *plan, bb_need *out)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const double n = (double)solved->n;
    const double m = (double)solved->rows;
    double scores = 0.0;
    double drawing = 0.0; // one estimate in addition to those of the pipelines
    bool device = false;  // a device scores all estimates
    bb_need need = {.seconds = 0.5};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const double trials = bb_factor_pipeline_trials(&pipelines[p]);
        double operator_bytes;
        bb_need solving;
        BB_TRY(bb_factor_pipeline_need(&study->solver.common, &pipelines[p], study->common.device,
                                       solved, plan, &solving, &operator_bytes));
        need = bb_need_in_turn(need, solving);
        scores += trials;
        drawing = trials > 1.0 ? 1.0 : drawing;
        device = device || bb_factor_device_supports(&study->solver.common, &pipelines[p],
                                                     study->common.device);
        BB_TRY(bb_plan_add(plan, pipelines[p].name, "operator %.1f MB", 1e-6 * operator_bytes));
    }
    const double estimated = (double)study->pipelines.count + drawing;
    const bb_residual_extent one = {
        .n = solved->n, .rows = m, .squared_rows = m * m, .most_rows = m};
    const bb_residual_extent score = {
        .n = solved->n, .rows = estimated * m, .squared_rows = estimated * m * m, .most_rows = m};
    bb_need scoring = bb_residual_covariance_need(&score, solved->threads);
    scoring.seconds = scores * bb_residual_covariance_need(&one, solved->threads).seconds;
    if (device) {
        scoring = bb_need_repeated(bb_residual_covariance_device_need(
                                       study->solver.common.gpus, solved->n, solved->rows, 0, 0),
                                   scores);
    }
    need = bb_need_in_turn(need, scoring);
    need = bb_need_in_turn(need, bb_factor_spectrum_need(&study->solver.common, solved->n));
    const bb_need estimates = {.host_bytes = sizeof(double) * estimated * (n * m + m * m)};
    need =
        bb_need_in_turn(need, bb_factor_storage_need(&study->pipelines, &study->solver.common,
                                                     study->common.device, solved, solved->rows));
    *out = bb_need_together(estimates, need);
done:
    return status;
}

static bb_status plan_reconstructor(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_reconstructor_study *asked = study;
    bb_reconstructor_inputs data = {0};
    bb_need need;
    BB_TRY(bb_reconstructor_inputs_open(asked, &data));
    const bb_index n = bb_matrix_file_source(data.cmm)->rows;
    const bb_reconstructor_study resolved = resolve(asked, n);
    const bb_reconstructor_study *request = &resolved;
    const bb_index m = bb_matrix_file_source(data.ctm)->rows;
    const bb_factor_extent solved = {
        .n = n, .rows = m, .part = data.columns, .threads = (double)options->threads};
    const double values = (double)request->pipelines.count * (double)n * (double)m;
    BB_TRY(sum(request, &solved, plan, &need));
    BB_TRY(bb_plan_add(plan, "covariance", "%td measurements, %td estimates", n, m));
    BB_TRY(bb_factor_device_print_tile(&asked->solver.common, &request->solver.common, plan));
    BB_TRY(
        bb_factor_device_print_single(&request->pipelines, request->solver.common.tile, n, plan));
    bb_plan_set(plan, need);
    plan->gpus = request->solver.common.gpus;
    plan->output_bytes = 1000.0 * (double)request->pipelines.count +
                         (bb_dump_wanted(options->dump, "R") ? sizeof(double) * values : 0.0);
done:
    bb_reconstructor_inputs_close(&data);
    return status;
}

static const bb_column columns[] = {
    {"variance_loss", "variance loss", 1.0},   {"qoi_relative_error", "relative error", 1.0},
    {"operator_bytes", "operator [MB]", 1e-6}, {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},       {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},           {"cost_usd", "cost [USD]", 1.0},
};
static const char *const losses[] = {"variance_loss"};

const bb_experiment bb_reconstructor_experiment = {
    .name = "reconstructor",
    .schema = &bb_reconstructor_study_schema,
    .starter = bb_reconstructor_study_starter,
    .check = bb_reconstructor_study_check,
    .plan = plan_reconstructor,
    .run = run_reconstructor,
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .parts = parts,
    .losses = losses,
    .loss_count = sizeof losses / sizeof losses[0],
    .loss_name = "variance loss",
    .tolerance = 1e-3,
    .checkpoint_help = "pipelines, a tenth of the time at most",
    .operators = "R",
};
