// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_search.h"

#include "core/memory.h"
#include "sim/ao/ao_run.h"
#include "sim/pipelines/storage_search.h"

#include <math.h>
#include <string.h>

// Targets and wavelengths whose loss is bounded.
static bb_index scored(bb_index count, int over)
{
    return over == (int)BB_LOSS_OVER_FIRST ? 1 : count;
}

// The worst loss that is bounded, NaN where a Strehl ratio is, and the first Strehl ratio.
static bb_status find_loss(const bb_ao_search_task *task, int over, bb_ao_evaluation *tried,
                           bb_factor_loss *out)
{
    bb_status status = BB_OK;
    const bb_index wavelengths = task->scoring->study->wavelengths_um.count;
    const bb_index target_count = task->scoring->problem->target_count;
    double *strehls = NULL; // [targets][wavelengths]
    BB_TRY(BB_ALLOCATE(target_count * wavelengths, &strehls));
    BB_TRY(bb_ao_scoring_strehls(task->scoring, &tried, 1, scored(target_count, over),
                                 scored(wavelengths, over), &strehls));
    *out = (bb_factor_loss){.loss = -INFINITY, .drawn = strehls[0]};
    for (bb_index t = 0; t < scored(target_count, over); ++t) {
        for (bb_index w = 0; w < scored(wavelengths, over); ++w) {
            const bb_index i = t * wavelengths + w;
            const double lost = task->reference->strehl[i] - strehls[i];
            out->loss = isnan(lost) || isnan(out->loss) ? NAN : fmax(out->loss, lost);
        }
    }
done:
    BB_RELEASE(&strehls);
    return status;
}

// Whether the reference can be compared with, else why not.
static bool has_reference(const bb_ao_search_task *task, bb_outcome *outcome)
{
    const bool known = !isnan(bb_ao_evaluation_headline(task->reference));
    if (!known) {
        bb_outcome_set(outcome, BB_OUTCOME_UNDERDETERMINED,
                       "max_loss: the reference has no Strehl ratio");
    }
    return known;
}

// Context of score_arithmetic.
typedef struct scoring {
    const bb_ao_search_task *task;
    const bb_factor_pipeline *pipeline;
    bool shared; // one reconstructor corrects all targets
} scoring;

static bb_status score_arithmetic(void *context, double **r, bb_evaluation *solved,
                                  bb_factor_loss *out)
{
    bb_status status = BB_OK;
    const scoring *asked = context;
    const bb_tomography *problem = asked->task->scoring->problem;
    bb_ao_evaluation tried = {
        .common = *solved, .level = *asked->pipeline, .r = r, .shared = asked->shared};
    bb_ao_evaluation_share(&tried, asked->task->scoring->study->correction, problem);
    BB_TRY(find_loss(asked->task, asked->pipeline->search.over, &tried, out));
    *solved = tried.common;
done:
    tried.r = NULL; // the caller's
    bb_ao_evaluation_release(&tried, problem->target_count);
    return status;
}

bb_status bb_ao_search_arithmetic(bb_search_trials *trials, const bb_ao_search_task *task,
                                  bb_index pipeline, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = task->scoring->study->pipelines.items;
    scoring context = {task, &pipelines[pipeline], evaluation->shared};
    const bb_factor_search_task search = {.problem = task->factor_problem,
                                          .pipelines = pipelines,
                                          .pipeline = pipeline,
                                          .tile_norms = task->tile_norms,
                                          .quantity = "Strehl ratio",
                                          .context = &context,
                                          .score = score_arithmetic};
    if (task->factor_problem->outcome.kind != BB_OUTCOME_OK ||
        has_reference(task, &evaluation->common.outcome)) {
        BB_TRY(bb_factor_search_run(&search, trials, &evaluation->common, evaluation->r,
                                    &evaluation->level));
    }
done:
    return status;
}

// Context of score_storage.
typedef struct storing {
    const bb_ao_search_task *task;
    const bb_ao_evaluation *solved;
} storing;

static bb_status score_storage(void *context, const bb_factor_pipeline *level, bb_index draw,
                               bb_evaluation *common, bb_factor_loss *out)
{
    bb_status status = BB_OK;
    const storing *asked = context;
    const bb_ao_search_task *task = asked->task;
    const bb_tomography *problem = task->scoring->problem;
    bb_ao_evaluation tried = {.common = *common,
                              .level = *level,
                              .kind = asked->solved->kind,
                              .shared = asked->solved->shared};
    BB_TRY(BB_ZEROED(problem->target_count, &tried.r));
    BB_TRY(bb_ao_storage_copy(problem, asked->solved, tried.r));
    BB_TRY(bb_ao_storage_round(task->scoring->storage, level, draw, &tried));
    BB_TRY(find_loss(task, level->search.over, &tried, out));
    *common = tried.common;
done:
    bb_ao_evaluation_release(&tried, problem->target_count);
    return status;
}

bb_status bb_ao_search_storage(bb_search_trials *trials, const bb_ao_search_task *task,
                               bb_index pipeline, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = task->scoring->study->pipelines.items;
    storing context = {task, evaluation};
    const bb_storage_search_factor_task search = {.pipelines = pipelines,
                                                  .pipeline = pipeline,
                                                  .quantity = "Strehl ratio",
                                                  .context = &context,
                                                  .score = score_storage};
    bb_evaluation *common = &evaluation->common;
    if (!bb_factor_pipeline_finds_storage(&pipelines[pipeline]) ||
        common->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    if (has_reference(task, &common->outcome)) {
        BB_TRY(bb_storage_search_run_factor(&search, trials, common, &evaluation->level));
    }
    if (common->outcome.kind != BB_OUTCOME_OK) { // nothing is stored, so that there are no numbers
        bb_evaluation unset = bb_evaluation_start(common->pipeline);
        unset.device = common->device;
        unset.outcome = common->outcome;
        *common = unset;
    }
done:
    return status;
}

static const bb_output outputs[] = {
    {"strehl_loss", "trial", "1", "loss: worst Strehl ratio of the reference minus this one's",
     .note = "of ao; over search.over and draws; NaN where a draw failed",
     .member = offsetof(bb_search_row, loss)},
};

static const bb_output_table loss_outputs = BB_SEARCH_TABLE(outputs);

// The searches of a study are of one kind.
static bb_status run(void *all, bb_results *results)
{
    const bb_ao_work *work = all;
    const bb_list *pipelines = &work->study->pipelines;
    const bb_factor_pipeline *items = pipelines->items;
    bool stores = false;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        stores = stores || bb_factor_pipeline_finds_storage(&items[p]);
    }
    return bb_search_trials_publish(work->trials, &items->name, sizeof *items,
                                    stores ? &bb_storage_search_outputs : &bb_factor_search_outputs,
                                    &loss_outputs, results);
}

const bb_part bb_ao_search_part = {
    .name = "search",
    .run = run,
    .outputs = BB_OUTPUTS(&bb_search_outputs, &bb_factor_search_outputs, &bb_storage_search_outputs,
                          &loss_outputs),
};
