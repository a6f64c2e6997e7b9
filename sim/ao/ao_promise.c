// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_promise.h"

#include "core/memory.h"
#include "sim/ao/ao_run.h"
#include "sim/pipelines/storage/promised_storage.h"

#include <math.h>
#include <string.h>

// Targets and wavelengths that a promise is about.
static bb_index scored(bb_index count, int over)
{
    return over == (int)BB_POLICY_OVER_FIRST ? 1 : count;
}

// The worst loss of what a promise is about, NaN where a Strehl ratio is, and the first one.
static bb_status find_price(const bb_ao_promise_task *task, int over, bb_ao_evaluation *tried,
                            bb_factor_price *out)
{
    bb_status status = BB_OK;
    const bb_index wavelengths = task->scoring->study->wavelengths_um.count;
    const bb_index target_count = task->scoring->problem->target_count;
    double *strehls = NULL; // [targets][wavelengths]
    BB_TRY(BB_ALLOCATE(target_count * wavelengths, &strehls));
    BB_TRY(bb_ao_scoring_strehls(task->scoring, &tried, 1, scored(target_count, over),
                                 scored(wavelengths, over), &strehls));
    *out = (bb_factor_price){.price = -INFINITY, .drawn = strehls[0]};
    for (bb_index t = 0; t < scored(target_count, over); ++t) {
        for (bb_index w = 0; w < scored(wavelengths, over); ++w) {
            const bb_index i = t * wavelengths + w;
            const double lost = task->reference->strehl[i] - strehls[i];
            out->price = isnan(lost) || isnan(out->price) ? NAN : fmax(out->price, lost);
        }
    }
done:
    BB_RELEASE(&strehls);
    return status;
}

// Whether there is something to promise against, else why not.
static bool has_reference(const bb_ao_promise_task *task, bb_outcome *outcome)
{
    const bool known = !isnan(bb_ao_evaluation_headline(task->reference));
    if (!known) {
        bb_outcome_set(outcome, BB_OUTCOME_UNDERDETERMINED,
                       "promise: the reference has no Strehl ratio");
    }
    return known;
}

// What the callback of an arithmetic knows.
typedef struct pricing {
    const bb_ao_promise_task *task;
    const bb_factor_pipeline *pipeline;
    bool shared; // one reconstructor corrects all targets
} pricing;

static bb_status price_arithmetic(void *context, double **r, bb_evaluation *solved,
                                  bb_factor_price *out)
{
    bb_status status = BB_OK;
    const pricing *asked = context;
    const bb_tomography *problem = asked->task->scoring->problem;
    bb_ao_evaluation tried = {
        .common = *solved, .level = *asked->pipeline, .r = r, .shared = asked->shared};
    bb_ao_evaluation_share(&tried, asked->task->scoring->study->correction, problem);
    BB_TRY(find_price(asked->task, asked->pipeline->policy.over, &tried, out));
    *solved = tried.common;
done:
    tried.r = NULL; // the caller's
    bb_ao_evaluation_release(&tried, problem->target_count);
    return status;
}

bb_status bb_ao_promise_keep(bb_promise_trials *trials, const bb_ao_promise_task *task,
                             bb_index pipeline, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = task->scoring->study->pipelines.items;
    pricing context = {task, &pipelines[pipeline], evaluation->shared};
    const bb_factor_promise_task promise = {.problem = task->factor_problem,
                                            .pipelines = pipelines,
                                            .pipeline = pipeline,
                                            .tile_norms = task->tile_norms,
                                            .quantity = "Strehl ratio",
                                            .context = &context,
                                            .price = price_arithmetic};
    if (task->factor_problem->outcome.kind != BB_OUTCOME_OK ||
        has_reference(task, &evaluation->common.outcome)) {
        BB_TRY(bb_factor_promise_keep(&promise, trials, &evaluation->common, evaluation->r,
                                      &evaluation->level));
    }
done:
    return status;
}

// What the callback of a storage knows.
typedef struct storing {
    const bb_ao_promise_task *task;
    const bb_ao_evaluation *solved;
} storing;

static bb_status price_storage(void *context, const bb_factor_pipeline *level, bb_index draw,
                               bb_evaluation *common, bb_factor_price *out)
{
    bb_status status = BB_OK;
    const storing *asked = context;
    const bb_ao_promise_task *task = asked->task;
    const bb_tomography *problem = task->scoring->problem;
    bb_ao_evaluation tried = {.common = *common,
                              .level = *level,
                              .kind = asked->solved->kind,
                              .shared = asked->solved->shared};
    BB_TRY(BB_ZEROED(problem->target_count, &tried.r));
    BB_TRY(bb_ao_storage_copy(problem, asked->solved, tried.r));
    BB_TRY(bb_ao_storage_round(task->scoring->storage, level, draw, &tried));
    BB_TRY(find_price(task, level->promise.over, &tried, out));
    *common = tried.common;
done:
    bb_ao_evaluation_release(&tried, problem->target_count);
    return status;
}

bb_status bb_ao_promise_store(bb_promise_trials *trials, const bb_ao_promise_task *task,
                              bb_index pipeline, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = task->scoring->study->pipelines.items;
    storing context = {task, evaluation};
    const bb_promised_storage_task promise = {.pipelines = pipelines,
                                              .pipeline = pipeline,
                                              .quantity = "Strehl ratio",
                                              .context = &context,
                                              .price = price_storage};
    bb_evaluation *common = &evaluation->common;
    if (!bb_promised_storage_is_given(&pipelines[pipeline]) ||
        common->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    if (has_reference(task, &common->outcome)) {
        BB_TRY(bb_promised_storage_keep(&promise, trials, common, &evaluation->level));
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
    {"strehl_loss", "trial", "1", "price: worst Strehl ratio of the reference minus this one's",
     .note = "of ao; over what `over` says and over draws; NaN where a draw failed",
     .member = offsetof(bb_promise_row, price)},
};

static const bb_output_table promise_outputs = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(outputs)};

// One row a trial; nothing where nothing was tried.
static bb_status run(void *all, bb_results *results)
{
    const bb_ao_work *work = all;
    const bb_list *pipelines = &work->study->pipelines;
    const bb_factor_pipeline *items = pipelines->items;
    const char *names[BB_STUDY_PIPELINES];
    bool stores = false; // a study has promises of one kind
    for (bb_index p = 0; p < pipelines->count; ++p) {
        names[p] = items[p].name;
        stores = stores || bb_promised_storage_is_given(&items[p]);
    }
    const bb_promise_tables tables = {stores ? &bb_promise_storages : &bb_factor_promise_outputs,
                                      &promise_outputs};
    return bb_promise_trials_publish(work->promises, names, &tables, results);
}

const bb_part bb_ao_promise_part = {
    .name = "promise",
    .run = run,
    .outputs = BB_OUTPUTS(&bb_promise_outputs, &bb_factor_promise_outputs, &bb_promise_storages,
                          &promise_outputs),
};
