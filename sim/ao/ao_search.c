// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "sim/ao/ao_solve.h"
#include "sim/pipelines/storage_search.h"

#include <math.h>

// Number of targets or wavelengths whose loss is bounded.
static bb_index scored(bb_index count, int over)
{
    return over == (int)BB_LOSS_OVER_FIRST ? 1 : count;
}

// Context of the callbacks.
typedef struct searching {
    bb_ao_solve *run;
    const bb_factor_pipeline *pipeline;
    const bb_ao_evaluation *evaluation; // evaluation of that pipeline
} searching;

static const bb_ao_evaluation *reference_of(const bb_ao_solve *run)
{
    return &run->work->evaluations[run->order[0]];
}

// Computes the largest bounded loss, NaN if any Strehl ratio is NaN, and the first Strehl ratio.
static bb_status find_loss(const searching *self, bb_ao_evaluation *tried, bb_factor_loss *out)
{
    bb_status status = BB_OK;
    bb_ao_scoring *scoring = &self->run->work->scoring;
    const int over = self->pipeline->search.over;
    const bb_index wavelengths = scoring->study->wavelengths_um.count;
    const bb_index target_count = scoring->problem->target_count;
    double *strehls = NULL; // [targets][wavelengths]
    BB_TRY(BB_ALLOCATE(target_count * wavelengths, &strehls));
    BB_TRY(bb_ao_scoring_strehls(scoring, &tried, 1, scored(target_count, over),
                                 scored(wavelengths, over), &strehls));
    *out = (bb_factor_loss){.loss = -INFINITY, .drawn = strehls[0]};
    for (bb_index t = 0; t < scored(target_count, over); ++t) {
        for (bb_index w = 0; w < scored(wavelengths, over); ++w) {
            const bb_index i = t * wavelengths + w;
            const double lost = reference_of(self->run)->strehl[i] - strehls[i];
            out->loss = isnan(lost) || isnan(out->loss) ? NAN : fmax(out->loss, lost);
        }
    }
done:
    BB_RELEASE(&strehls);
    return status;
}

// True if the reference has a Strehl ratio to compare with; if not, sets the outcome.
static bool has_reference(const bb_ao_solve *run, bb_outcome *outcome)
{
    const bool known = !isnan(bb_ao_evaluation_headline(reference_of(run)));
    if (!known) {
        bb_outcome_set(outcome, BB_OUTCOME_UNDERDETERMINED,
                       "max_loss: the reference has no Strehl ratio");
    }
    return known;
}

static bb_status score(void *context, double **r, bb_evaluation *solved, bb_factor_loss *out)
{
    bb_status status = BB_OK;
    const searching *self = context;
    const bb_ao_work *work = self->run->work;
    bb_ao_evaluation tried = {
        .common = *solved, .level = *self->pipeline, .r = r, .shared = self->evaluation->shared};
    bb_ao_evaluation_share(&tried, work->study->correction, work->problem);
    BB_TRY(find_loss(self, &tried, out));
    *solved = tried.common;
done:
    tried.r = NULL; // owned by the caller
    bb_ao_evaluation_release(&tried, work->problem->target_count);
    return status;
}

static bb_status store(void *context, const bb_factor_pipeline *level, bb_index draw,
                       bb_evaluation *common, bb_factor_loss *out)
{
    bb_status status = BB_OK;
    const searching *self = context;
    const bb_ao_work *work = self->run->work;
    bb_ao_evaluation tried = {.common = *common,
                              .level = *level,
                              .kind = self->evaluation->kind,
                              .shared = self->evaluation->shared};
    BB_TRY(BB_ZEROED(work->problem->target_count, &tried.r));
    BB_TRY(bb_ao_storage_copy(work->problem, self->evaluation, tried.r));
    BB_TRY(bb_ao_storage_round(work->scoring.storage, level, draw, &tried));
    BB_TRY(find_loss(self, &tried, out));
    *common = tried.common;
done:
    bb_ao_evaluation_release(&tried, work->problem->target_count);
    return status;
}

static bb_factor_search_task task_of(searching *self)
{
    bb_ao_solve *run = self->run;
    return (bb_factor_search_task){.pipelines = run->pipelines,
                                   .pipeline = self->pipeline - run->pipelines,
                                   .trials = run->work->trials,
                                   .quantity = "Strehl ratio",
                                   .problem = &run->work->factor_problem,
                                   .tile_norms = &run->tile_norms,
                                   .context = self,
                                   .score = score,
                                   .store = store};
}

bb_status bb_ao_solve_find_arithmetic(bb_ao_solve *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = &run->work->evaluations[pipeline];
    searching self = {run, &run->pipelines[pipeline], evaluation};
    const bb_factor_search_task task = task_of(&self);
    if (task.problem->outcome.kind != BB_OUTCOME_OK ||
        has_reference(run, &evaluation->common.outcome)) {
        BB_TRY(bb_factor_search_run(&task, &evaluation->common, evaluation->r, &evaluation->level));
    }
done:
    return status;
}

bb_status bb_ao_solve_find_storage(bb_ao_solve *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_ao_evaluation *evaluation = &run->work->evaluations[pipeline];
    bb_evaluation *common = &evaluation->common;
    searching self = {run, &run->pipelines[pipeline], evaluation};
    const bb_factor_search_task task = task_of(&self);
    if (!bb_factor_pipeline_finds_storage(self.pipeline) || common->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    if (has_reference(run, &common->outcome)) {
        BB_TRY(bb_storage_search_run_factor(&task, common, &evaluation->level));
    }
    if (common->outcome.kind != BB_OUTCOME_OK) { // nothing is stored, so clear the results
        bb_evaluation unset = bb_evaluation_start(common->pipeline);
        unset.device = common->device;
        unset.outcome = common->outcome;
        *common = unset;
    }
done:
    return status;
}

static const bb_output outputs[] = {
    {"strehl_loss", "trial", "1",
     "loss: largest difference of Strehl ratios, reference minus pipeline",
     .note = "ao; over search.over and draws; NaN where a draw failed",
     .member = offsetof(bb_search_row, loss)},
};

static const bb_output_table loss_outputs = BB_SEARCH_TABLE(outputs);

// All searches of a study are of one kind.
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
