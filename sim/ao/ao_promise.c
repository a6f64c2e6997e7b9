// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_promise.h"

#include "core/memory.h"
#include "sim/ao/ao_mcao.h"
#include "sim/pipelines/factor_device.h"

#include <math.h>

// Targets and wavelengths that a promise is about.
static bb_index scored(bb_index count, int over)
{
    return over == (int)BB_POLICY_OVER_FIRST ? 1 : count;
}

// Strehl ratios of an evaluation, [targets][wavelengths]; NaN of what is not asked for or has none.
static bb_status find_strehls(const bb_ao_promise_task *task, const bb_ao_evaluation *evaluation,
                              int over, double *out)
{
    bb_status status = BB_OK;
    const bb_index targets = scored(task->problem->target_count, over);
    const bb_index wavelengths = scored(task->wavelength_count, over);
    bb_residual_task *tasks = NULL;
    bb_outcome outcome = {0};
    for (bb_index i = 0; i < task->problem->target_count * task->wavelength_count; ++i) {
        out[i] = NAN;
    }
    BB_TRY(BB_ZEROED(targets, &tasks));
    for (bb_index t = 0; t < targets; ++t) {
        const bb_tomography_target *target = &task->problem->targets[t];
        const bb_index m = target->ctm->rows;
        tasks[t] = (bb_residual_task){bb_ao_evaluation_reconstructor(evaluation, t), target->ctm,
                                      target->ctt, NULL};
        BB_TRY(BB_ALLOCATE(m * m, &tasks[t].cee));
    }
    BB_TRY(bb_factor_device_score(task->problem->cmm, task->scores_on_device, targets, tasks));
    for (bb_index t = 0; t < targets; ++t) {
        BB_TRY(bb_tomography_shake(task->problem, t, BB_RESIDUAL_SLOPES, tasks[t].r, tasks[t].cee));
        bb_tomography_score score = {.kind = task->score,
                                     .strehl = out + t * task->wavelength_count};
        BB_TRY(bb_tomography_rate(task->problem, t, tasks[t].cee, wavelengths, task->wavelengths_m,
                                  &score, &outcome));
    }
done:
    for (bb_index t = 0; tasks != NULL && t < targets; ++t) {
        BB_RELEASE(&tasks[t].cee);
    }
    BB_RELEASE(&tasks);
    return status;
}

// What the callback knows.
typedef struct pricing {
    const bb_ao_promise_task *task;
    int over;    // bb_policy_over
    bool shared; // one reconstructor corrects all targets
} pricing;

// The worst loss of what a promise is about, NaN where a Strehl ratio is, and the first one.
static bb_status find_price(void *context, double **r, bb_evaluation *solved, bb_factor_price *out)
{
    bb_status status = BB_OK;
    const pricing *asked = context;
    const bb_ao_promise_task *task = asked->task;
    bb_ao_evaluation tried = {.common = *solved, .r = r, .shared = asked->shared};
    double *strehls = NULL;
    bb_ao_evaluation_share(&tried, task->correction, task->problem);
    BB_TRY(bb_ao_mcao_aim(task->problem, &tried));
    BB_TRY(BB_ALLOCATE(task->problem->target_count * task->wavelength_count, &strehls));
    BB_TRY(find_strehls(task, &tried, asked->over, strehls));
    *out = (bb_factor_price){.price = -INFINITY, .drawn = strehls[0]};
    for (bb_index t = 0; t < scored(task->problem->target_count, asked->over); ++t) {
        for (bb_index w = 0; w < scored(task->wavelength_count, asked->over); ++w) {
            const bb_index i = t * task->wavelength_count + w;
            const double lost = task->reference->strehl[i] - strehls[i];
            out->price = isnan(lost) || isnan(out->price) ? NAN : fmax(out->price, lost);
        }
    }
done:
    tried.r = NULL; // the caller's
    bb_ao_evaluation_release(&tried, task->problem->target_count);
    BB_RELEASE(&strehls);
    return status;
}

bb_status bb_ao_promise_keep(bb_promise_trials *trials, const bb_ao_promise_task *task,
                             bb_index pipeline, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    pricing context = {task, task->pipelines[pipeline].policy.over, evaluation->shared};
    const bb_factor_promise_task promise = {.problem = task->factor_problem,
                                            .pipelines = task->pipelines,
                                            .pipeline = pipeline,
                                            .tile_norms = task->tile_norms,
                                            .quantity = "Strehl ratio",
                                            .context = &context,
                                            .price = find_price};
    if (task->factor_problem->outcome.kind == BB_OUTCOME_OK &&
        isnan(bb_ao_evaluation_headline(task->reference))) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_UNDERDETERMINED,
                       "promise: the reference has no Strehl ratio");
        goto done;
    }
    BB_TRY(bb_factor_promise_keep(&promise, trials, &evaluation->common, evaluation->r,
                                  &evaluation->level));
done:
    return status;
}

static const bb_output outputs[] = {
    {"strehl_loss", "trial", "1", "price: worst Strehl ratio of the reference minus this one's",
     .note = "of ao; over what `policy.over` says and over draws; NaN where a draw failed",
     .member = offsetof(bb_promise_row, price)},
};

const bb_output_table bb_ao_promise_outputs = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(outputs)};

bb_status bb_ao_promises_publish(const bb_promise_trials *trials, const bb_list *pipelines,
                                 bb_results *results)
{
    return bb_factor_promise_publish(trials, pipelines, &bb_ao_promise_outputs, results);
}
