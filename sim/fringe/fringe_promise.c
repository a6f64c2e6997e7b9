// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_promise.h"

#include "core/log.h"
#include "sim/fringe/fringe_slots.h"
#include "sim/kernels/slot_search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int widest[BB_UNWRAP_SLOTS] = {0}; // state of the start

// The search of one pipeline.
typedef struct searching {
    bb_fringe_work *work;
    bb_index pipeline;
    bb_fringe_pipeline asked;
    bb_promise_search search;
    bb_fringe_evaluation tried; // the draw that was computed last
    bb_index drawn;             // its number, from 1
    int state[BB_UNWRAP_SLOTS]; // at hand
    int found[BB_UNWRAP_SLOTS];
} searching;

static int most_trials(void)
{
    return bb_slot_search_most(bb_fringe_slots.slot_count, bb_fringe_slots.number_count);
}

bb_index bb_fringe_promises_most(const bb_fringe_study *study)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_index count = 0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        count += bb_fringe_pipeline_promises(&pipelines[p]);
    }
    return count * most_trials();
}

bb_index bb_fringe_promises_draws(const bb_fringe_study *study)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_index count = 0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_index draws = bb_fringe_study_draws(study, &pipelines[p]);
        count = bb_fringe_pipeline_promises(&pipelines[p]) && draws > count ? draws : count;
    }
    return count;
}

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *price)
{
    bb_status status = BB_OK;
    searching *self = context;
    bb_fringe_evaluation_release(&self->tried);
    self->drawn = draw + 1;
    BB_TRY(bb_fringe_work_try(self->work, self->pipeline, pipeline, draw, &self->tried));
    *price = self->tried.common.outcome.kind == BB_OUTCOME_OK
                 ? self->tried.wavefront_error_reference_nm
                 : (double)NAN;
done:
    return status;
}

static double cost(void *context)
{
    const searching *self = context;
    return self->tried.common.operator_bytes;
}

static double wrong(void *context)
{
    const searching *self = context;
    return self->tried.wrong_cycles_reference;
}

static void adopt(void *context)
{
    searching *self = context;
    memcpy(self->found, self->state, sizeof self->found);
}

static bb_status weigh(void *context, const int *state, double *bytes)
{
    const searching *self = context;
    *bytes = bb_fringe_slots_bytes(&self->work->study.physics.size, state);
    return BB_OK;
}

static bb_status attempt(void *context, const int *state, int slot, bool *holds)
{
    bb_status status = BB_OK;
    searching *self = context;
    const bb_fringe_pipeline record = bb_fringe_slots_pipeline(&self->asked, state);
    char name[BB_SLOT_TABLE_STATE];
    const bb_promise_candidate candidate = {name, NAN, &record};
    (void)slot;
    memcpy(self->state, state, sizeof self->state);
    bb_slot_table_describe(&bb_fringe_slots, state, name);
    bb_log_progress_step("searching", self->asked.name, self->search.trial_count, most_trials());
    BB_TRY(bb_promise_try(&self->search, &candidate, holds));
done:
    return status;
}

// What came of a search.
static void report(const searching *self, bb_outcome *outcome)
{
    const bb_promise_search *search = &self->search;
    if (!search->found) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_CONVERGED,
                       "promise of %g nm, %.0f wrong cycles: not kept with %s in every slot, whose "
                       "draw %td comes to %.3g nm, %.0f wrong cycles",
                       search->limit, search->wrong_limit, bb_fringe_slots.numbers[0], self->drawn,
                       self->tried.wavefront_error_reference_nm,
                       self->tried.wrong_cycles_reference);
        return;
    }
    *outcome = (bb_outcome){.kind = BB_OUTCOME_OK};
    (void)snprintf(outcome->detail, sizeof outcome->detail,
                   "promise of %g nm kept: %s; %.3g nm, %.0f wrong cycles, %.4g MB, %td trials",
                   search->limit, search->best.name, search->best.price, search->best.wrong,
                   1e-6 * search->best.cost, search->trial_count);
    bb_log_info("pipeline %s: %s", search->name, outcome->detail);
}

_Static_assert((int)BB_PROMISE_NAME >= (int)BB_SLOT_TABLE_STATE, "a trial's name holds its slots");

bb_status bb_fringe_promise_keep(bb_fringe_work *work, bb_index pipeline, bb_promise_trials *trials,
                                 bb_index *drawn, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    searching self = {.work = work, .pipeline = pipeline, .asked = work->pipelines[pipeline]};
    bb_slot_search slots = {.slots = bb_fringe_slots.slot_count,
                            .numbers = bb_fringe_slots.number_count,
                            .context = &self,
                            .weigh = weigh,
                            .attempt = attempt};
    bool holds = false;
    self.search = (bb_promise_search){.trials = trials,
                                      .pipeline = pipeline,
                                      .name = self.asked.name,
                                      .limit = self.asked.promise.price,
                                      .wrong_limit = (double)self.asked.promise.wrong_cycles,
                                      .draws = bb_fringe_study_draws(&work->study, &self.asked),
                                      .context = &self,
                                      .evaluate = evaluate,
                                      .cost = cost,
                                      .wrong = wrong,
                                      .adopt = adopt};
    BB_TRY(bb_slot_search_run(&slots, &holds));
    report(&self, outcome);
    *drawn = self.drawn;
done:
    work->pipelines[pipeline] =
        self.search.found ? bb_fringe_slots_pipeline(&self.asked, self.found) : self.asked;
    bb_log_progress("searching", most_trials(), most_trials());
    bb_fringe_evaluation_release(&self.tried);
    return status;
}

static const bb_output candidates[] = {
    {"slots", "trial", NULL, "what was tried", .note = "of fringe",
     .member = offsetof(bb_promise_row, candidate)},
    {"operator_bytes", "trial", "byte", "fields as stored", .note = "of fringe",
     .member = offsetof(bb_promise_row, cost)},
};
static const bb_output prices[] = {
    {"wavefront_error_reference_nm", "trial", "nm",
     "price: largest of the draws, until one left the promise",
     .note = "of fringe; NaN where a draw failed", .member = offsetof(bb_promise_row, price)},
    {"wrong_cycles_reference", "trial", "1", "largest of the draws, until one left the promise",
     .note = "of fringe; NaN where a draw failed", .member = offsetof(bb_promise_row, wrong)},
};

const bb_output_table bb_fringe_promise_outputs = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(candidates)};
const bb_output_table bb_fringe_promise_prices = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(prices)};

bb_status bb_fringe_promises_publish(const bb_promise_trials *trials, const bb_fringe_study *study,
                                     bb_results *results)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    const bb_promise_tables tables = {&bb_fringe_promise_outputs, &bb_fringe_promise_prices};
    const char *names[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        names[p] = pipelines[p].name;
    }
    return bb_promise_trials_publish(trials, names, &tables, results);
}

// Seconds to compile the kernels of a pipeline.
static double compile_s(const bb_fringe_study *study)
{
    const bb_unwrap_config config = {.method = study->unwrap};
    return bb_unwrap_need(&config, 0, 0, false).seconds;
}

// Of the widest candidate, with nothing to compile: about half of the trials are made.
bb_status bb_fringe_promise_plan(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline,
                                 bool on_gpu, bb_plan *plan, bb_need *need)
{
    const bb_fringe_config *physics = &study->physics;
    const bb_fringe_size_config *size = &physics->size;
    const bb_fringe_pipeline candidate = bb_fringe_slots_pipeline(pipeline, widest);
    const bb_unwrap_config config = bb_fringe_study_unwrap(study, &candidate);
    const double draws = (double)bb_fringe_study_draws(study, pipeline);
    const double trials = most_trials();
    const bb_need seen = bb_need_together(bb_scene_need(physics), bb_frames_need(physics));
    *need = bb_unwrap_need(&config, size->columns, size->rows, on_gpu);
    need->seconds -= compile_s(study);
    need->seconds += draws > 1.0 ? seen.seconds : 0.0; // each draw anew
    need->seconds *= draws * (0.5 * trials + 1.0);
    return bb_plan_add(plan, pipeline->name,
                       "promise of %g nm and %td wrong cycles in %.0f %s, up to %.0f trials, slots "
                       "at most %.1f MB",
                       pipeline->promise.price, pipeline->promise.wrong_cycles, draws,
                       draws > 1.0 ? "draws" : "draw", trials,
                       1e-6 * bb_fringe_slots_bytes(size, widest));
}

double bb_fringe_promises_compile_s(const bb_fringe_study *study)
{
    return bb_fringe_promises_draws(study) > 0 ? bb_fringe_slots.number_count * compile_s(study)
                                               : 0.0;
}
