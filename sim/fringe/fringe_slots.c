// SPDX-License-Identifier: Apache-2.0
//
// Number formats of the unwrapping slots, found by `tune --for` and by max_loss, and the resources
// that pipelines need.
//
// Pipelines with `max_loss: x` get the formats of fewest bytes, slot by slot, that satisfy two
// limits in every draw: at most search.wrong_cycles points (default 0) are on another cycle than
// the reference's, and the rms difference from the reference's wavefront is at most x nm. The
// search is greedy (sim/pipelines/search.h), so a smaller solution may exist. The cost is the bytes
// of all fields.
#include "core/log.h"
#include "core/memory.h"
#include "sim/config/emission.h"
#include "sim/fringe/fringe_work.h"
#include "sim/pipelines/search.h"
#include "solvers/unwrap/unwrap_descent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Orders pairs of formats: of pairs with equal bytes, the one with cheaper arithmetic comes first.
static const bb_unwrap_numbers pairs[] = {
    {BB_FORMAT_FP64, BB_FORMAT_FP64}, {BB_FORMAT_FP32, BB_FORMAT_FP32},
    {BB_FORMAT_FP64, BB_FORMAT_FP32}, {BB_FORMAT_FP32, BB_FORMAT_FP16},
    {BB_FORMAT_FP32, BB_FORMAT_BF16}, {BB_FORMAT_FP32, BB_FORMAT_E4M3},
    {BB_FORMAT_FP32, BB_FORMAT_E5M2},
};
static const char *const pair_names[] = {"DP", "SP", "SP, sums DP", "fp16", "bf16", "e4m3", "e5m2"};
static const char candidate_name[] = "candidate";
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

// Repeatability of interferometers is about a thousandth of a wave; a smaller loss is not
// measurable.
static double tolerance(const void *study)
{
    const bb_fringe_study *fringe = study;
    return 1e-3 * fringe->physics.wavelength_nm;
}

static bool has_draws(const void *study)
{
    return ((const bb_fringe_study *)study)->input.file == NULL;
}

// Copy of a pipeline with the formats of a state in its slots and without max_loss.
static bb_fringe_pipeline fill_slots(const bb_fringe_pipeline *asked, const int *state)
{
    bb_fringe_pipeline pipeline = *asked;
    pipeline.arithmetic = BB_FORMAT_FP64;
    pipeline.storage = -1;
    pipeline.max_loss = NAN;
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        const bb_unwrap_numbers *numbers = &pairs[state[slot]];
        pipeline.slots[slot] = (bb_fringe_slot){-1, -1};
        if (state[slot] > 0) {
            pipeline.slots[slot] =
                (bb_fringe_slot){(int)numbers->arithmetic, (int)numbers->storage};
        }
    }
    return pipeline;
}

static bb_fringe_pipeline pipeline_of(const int *state, const char *name)
{
    const bb_fringe_pipeline plain = {
        .name = name, .bits = BB_INTEGER_UNSET, .device = -1, .draws = 1};
    return fill_slots(&plain, state);
}

// Study with two pipelines: the reference and the candidate under test.
typedef struct candidate_trials {
    bb_fringe_pipeline pipelines[2];
    bb_fringe_study study;
    bb_fringe_work work;
} candidate_trials;

static void close_trials(void **opened)
{
    candidate_trials *self = *opened;
    if (self == NULL) {
        return;
    }
    bb_fringe_work_close(&self->work);
    BB_RELEASE(&self);
    *opened = NULL;
}

static bb_status open_trials(const void *study, const bb_run_options *options, void **out)
{
    bb_status status = BB_OK;
    const bb_fringe_study *fringe = study;
    const bb_fringe_pipeline *pipelines = fringe->pipelines.items;
    candidate_trials *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    *out = made;
    made->pipelines[0] = pipelines[bb_fringe_study_reference(fringe)];
    made->pipelines[1] = made->pipelines[0];
    made->pipelines[1].name = candidate_name;
    made->study = *fringe;
    made->study.pipelines = (bb_list){made->pipelines, 2};
    BB_TRY(bb_fringe_work_open(&made->study, options->kernels, BB_DRAWS_MOST, &made->work));
done:
    if (status != BB_OK) {
        close_trials(out);
    }
    return status;
}

// Bytes of the fields of a state. The number of values of each slot follows from the memory that a
// plan saves with fp32 storage in that slot, at 4 bytes per value.
static double slots_bytes(const void *study, const int *state)
{
    const bb_fringe_size_config *size = &((const bb_fringe_study *)study)->physics.size;
    const bb_unwrap_config wide = bb_unwrap_config_plain(BB_FORMAT_FP64);
    const double total = bb_unwrap_need(&wide, size->columns, size->rows, true).device_bytes;
    double bytes = 0.0;
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        bb_unwrap_config narrow = wide;
        narrow.slots[slot].storage = BB_FORMAT_FP32;
        const double half =
            total - bb_unwrap_need(&narrow, size->columns, size->rows, true).device_bytes;
        bytes += half / 4.0 * bb_format_describe(pairs[state[slot]].storage)->bytes;
    }
    return bytes;
}

static bb_status score_trial(void *opened, const int *state, bb_index draw, bb_slot_score *out)
{
    bb_status status = BB_OK;
    candidate_trials *self = opened;
    const bb_fringe_pipeline pipeline = pipeline_of(state, candidate_name);
    bb_fringe_evaluation evaluation = {.zernike_nm = NULL};
    BB_TRY(bb_fringe_work_try(&self->work, 1, &pipeline, draw, &evaluation));
    const bool failed = evaluation.common.outcome.kind != BB_OUTCOME_OK;
    *out = (bb_slot_score){failed ? NAN : evaluation.wrong_cycles_reference,
                           failed ? NAN : evaluation.wavefront_error_reference_nm,
                           evaluation.common.operator_bytes};
done:
    bb_fringe_evaluation_release(&evaluation);
    return status;
}

static bb_status write_study(const void *study, const int *state, const char *name,
                             const char *wisdom, bool may_reorder, bb_text *out)
{
    bb_fringe_study chosen = *(const bb_fringe_study *)study;
    const bb_fringe_pipeline *given = chosen.pipelines.items;
    bb_fringe_pipeline pipelines[] = {given[bb_fringe_study_reference(study)],
                                      pipeline_of(state, name)};
    chosen.pipelines = (bb_list){pipelines, 2};
    if (wisdom != NULL) {
        chosen.kernels = (bb_kernel_keys){may_reorder, wisdom};
    }
    return bb_emission_write(&bb_fringe_study_schema, &chosen, false, out);
}

static bb_status find_number(const bb_results *results, const char *path, const char *name,
                             double *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    const bb_dataset *values = bb_results_find(results, path);
    bb_index p = 0;
    BB_REQUIRE(names != NULL && names->is_text && values != NULL && values->numbers != NULL &&
                   values->count == names->count,
               BB_INTERNAL, "the results have no %s", path);
    while (p < names->count && strcmp(names->texts[p], name) != 0) {
        ++p;
    }
    BB_REQUIRE(p < names->count, BB_INTERNAL, "the results have no pipeline %s", name);
    *out = values->numbers[p];
done:
    return status;
}

static bb_status read_score(const bb_results *results, const char *name, bb_slot_score *out)
{
    bb_status status = BB_OK;
    BB_TRY(find_number(results, "results/wrong_cycles_reference", name, &out->wrong));
    BB_TRY(find_number(results, "results/wavefront_error_reference_nm", name, &out->error));
    BB_TRY(find_number(results, "results/operator_bytes", name, &out->bytes));
done:
    return status;
}

const bb_slot_table bb_fringe_slots = {
    .slots = bb_unwrap_slot_names,
    .slot_count = BB_UNWRAP_SLOTS,
    .numbers = pair_names,
    .number_count = PAIRS,
    .wrong = "wrong cycles",
    .error = "rms",
    .unit = "nm",
    .tolerance = tolerance,
    .has_draws = has_draws,
    .open = open_trials,
    .close = close_trials,
    .bytes = slots_bytes,
    .score = score_trial,
    .write = write_study,
    .read = read_score,
};

static const int widest[BB_UNWRAP_SLOTS] = {0}; // initial state

// Search of one pipeline.
typedef struct searching {
    bb_fringe_work *work;
    bb_index pipeline;
    bb_fringe_pipeline asked;
    bb_search search;
    bb_fringe_evaluation tried; // last computed draw
    bb_index drawn;             // number of that draw, from 1
} searching;

static int most_trials(void)
{
    return bb_search_slots_most(&bb_fringe_slots);
}

// Number of draws whose reference phase the searches reuse; 0 without searches.
static bb_index count_draws(const bb_fringe_study *study)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_index count = 0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_index draws = bb_fringe_study_draws(study, &pipelines[p]);
        count = bb_fringe_pipeline_searches(&pipelines[p]) && draws > count ? draws : count;
    }
    return count;
}

static bb_status evaluate(void *context, const void *state, bb_index draw, double *loss)
{
    bb_status status = BB_OK;
    searching *self = context;
    const bb_fringe_pipeline record = fill_slots(&self->asked, state);
    if (draw == 0) {
        bb_log_progress_step("searching", self->asked.name, self->search.trial_count,
                             most_trials());
    }
    bb_fringe_evaluation_release(&self->tried);
    self->drawn = draw + 1;
    BB_TRY(bb_fringe_work_try(self->work, self->pipeline, &record, draw, &self->tried));
    *loss = self->tried.common.outcome.kind == BB_OUTCOME_OK
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

// Searches the formats of a pipeline and replaces it by the result: ok with a detail, or
// not_converged. `drawn` is the number of draws in the last trial.
static bb_status search(bb_fringe_work *work, bb_index pipeline, bb_search_trials *trials,
                        bb_index *drawn, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    searching self = {.work = work, .pipeline = pipeline, .asked = work->pipelines[pipeline]};
    bb_search_slots slots = {.table = &bb_fringe_slots, .study = &work->study};
    char rest[64];
    self.search = (bb_search){.trials = trials,
                              .pipeline = pipeline,
                              .name = self.asked.name,
                              .max_loss = self.asked.max_loss,
                              .max_wrong = (double)self.asked.search.wrong_cycles,
                              .draws = bb_fringe_study_draws(&work->study, &self.asked),
                              .context = &self,
                              .evaluate = evaluate,
                              .cost = cost,
                              .wrong = wrong};
    BB_TRY(bb_search_run_slots(&self.search, &slots));
    const bb_search_trial *reported = self.search.found ? &self.search.best : &self.search.last;
    (void)snprintf(rest, sizeof rest, ", %.0f wrong cycles, %.4g MB", reported->wrong,
                   1e-6 * reported->cost);
    bb_search_report(&self.search, " nm", rest, outcome);
    *drawn = self.drawn;
done:
    work->pipelines[pipeline] =
        self.search.found ? fill_slots(&self.asked, slots.state) : self.asked;
    bb_log_progress("searching", most_trials(), most_trials());
    bb_fringe_evaluation_release(&self.tried);
    return status;
}

// Computes the result of a search like any other pipeline; without a result its values stay NaN.
static bb_status run_search(bb_fringe_run *run, bb_index pipeline)
{
    bb_status status = BB_OK;
    bb_fringe_work *work = &run->work;
    bb_evaluation *common = &run->plain[pipeline].common;
    const bb_index draws = bb_fringe_study_draws(&work->study, &work->pipelines[pipeline]);
    bb_index drawn = 0; // draws of the search's last trial
    bb_outcome outcome = {0};
    BB_TRY(search(work, pipeline, run->trials, &drawn, &outcome));
    const bool is_found = outcome.kind == BB_OUTCOME_OK;
    for (bb_index draw = 0; draw < (is_found ? draws : drawn); ++draw) {
        if (is_found) {
            BB_TRY(bb_fringe_work_load(work, draw));
            BB_TRY(bb_fringe_run_draw(run, pipeline));
        } else {
            bb_draws_add(&common->draws, &outcome, NAN);
        }
    }
    if (!is_found || common->outcome.kind == BB_OUTCOME_OK) {
        common->outcome = outcome;
    }
done:
    return status;
}

static const bb_output candidates[] = {
    {"slots", "trial", NULL, "number formats of the trial's slots", .note = "of fringe",
     .member = offsetof(bb_search_row, candidate)},
    {"operator_bytes", "trial", "byte", "bytes of the fields in their storage formats",
     .note = "of fringe", .member = offsetof(bb_search_row, cost)},
};
static const bb_output losses[] = {
    {"wavefront_error_reference_nm", "trial", "nm",
     "loss: maximum over the draws up to the first one above a limit",
     .note = "of fringe; NaN where a draw failed", .member = offsetof(bb_search_row, loss)},
    {"wrong_cycles_reference", "trial", "1",
     "maximum over the draws up to the first one above a "
     "limit",
     .note = "of fringe; NaN where a draw failed", .member = offsetof(bb_search_row, wrong)},
};

static const bb_output_table candidate_outputs = BB_SEARCH_TABLE(candidates);
static const bb_output_table loss_outputs = BB_SEARCH_TABLE(losses);

static bb_status run_searches(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    bb_fringe_run *run = all;
    const bb_fringe_pipeline *pipelines = run->work.pipelines;
    for (bb_index p = 0; p < run->work.pipeline_count; ++p) {
        if (bb_fringe_pipeline_searches(&pipelines[p])) {
            BB_TRY(run_search(run, p));
        }
    }
    BB_TRY(bb_search_trials_publish(run->trials, &pipelines->name, sizeof *pipelines,
                                    &candidate_outputs, &loss_outputs, results));
done:
    return status;
}

// Refuses number formats next to max_loss, which selects them, and `search` without max_loss. The
// reference has explicit formats and no max_loss.
static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_fringe_study *study = all;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    const bb_index reference = bb_fringe_study_reference(study);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_fringe_pipeline *pipeline = &pipelines[p];
        const bool searches = bb_fringe_pipeline_searches(pipeline);
        bool has_numbers = pipeline->storage >= 0 || pipeline->arithmetic != (int)BB_FORMAT_FP32;
        for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
            has_numbers = has_numbers || pipeline->slots[slot].arithmetic >= 0 ||
                          pipeline->slots[slot].storage >= 0;
        }
        BB_TRY(bb_study_refuse(searches && has_numbers && p != reference, config, problems,
                               "pipelines.%td.max_loss selects all number formats: remove "
                               "arithmetic other than fp32, storage and slots of pipelines.%td",
                               p, p));
        BB_TRY(bb_study_refuse(!searches && pipeline->search.wrong_cycles > 0, config, problems,
                               "pipelines.%td.search: has no effect without "
                               "pipelines.%td.max_loss, the largest loss in nm",
                               p, p));
    }
done:
    return status;
}

static bool wanted(const void *study)
{
    return count_draws(study) > 0;
}

static bb_status start(void *all, bb_results *results)
{
    bb_fringe_run *run = all;
    const bb_index draws = count_draws(&run->work.study);
    bb_index searches = 0;
    (void)results;
    for (bb_index p = 0; p < run->work.pipeline_count; ++p) {
        searches += bb_fringe_pipeline_searches(&run->work.pipelines[p]);
    }
    run->work.kept = draws;
    return bb_search_trials_create(searches * most_trials(), &run->trials);
}

// Seconds to compile the kernels of a pipeline.
static double compile_s(const bb_fringe_study *study)
{
    const bb_unwrap_config config = {.method = study->unwrap};
    return bb_unwrap_need(&config, 0, 0, false).seconds;
}

// Adds the cached phases of the reference, and one kernel compilation for each pair of formats.
static bb_status plan_kept(const void *study, const void *extent, bb_plan *plan)
{
    const double points = ((const bb_fringe_extent *)extent)->points;
    plan->host_bytes += 8.0 * points * ((double)count_draws(study) - 1.0);
    plan->estimated_seconds += bb_fringe_slots.number_count * compile_s(study);
    return BB_OK;
}

const bb_part bb_fringe_search_part = {
    .name = "search",
    .wanted = wanted,
    .check = check,
    .plan_lines = plan_kept,
    .start = start,
    .run = run_searches,
    .outputs = BB_OUTPUTS(&bb_search_outputs, &candidate_outputs, &loss_outputs),
};

// Resources of the widest candidate, without compilation; about half of the trials are expected to
// run.
static bb_need search_need(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline,
                           bool on_gpu)
{
    const bb_fringe_config *physics = &study->physics;
    const bb_fringe_pipeline candidate = fill_slots(pipeline, widest);
    const bb_unwrap_config config = bb_fringe_study_unwrap(study, &candidate);
    const double draws = (double)bb_fringe_study_draws(study, pipeline);
    const bb_need scene = bb_need_together(bb_scene_need(physics), bb_frames_need(physics));
    bb_need need = bb_unwrap_need(&config, physics->size.columns, physics->size.rows, on_gpu);
    need.seconds -= compile_s(study);
    need.seconds += draws > 1.0 ? scene.seconds : 0.0; // the reference is recomputed for each draw
    need.seconds *= draws * (0.5 * most_trials() + 1.0);
    return need;
}

static bb_status list_search(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline,
                             bb_plan *plan)
{
    const double draws = (double)bb_fringe_study_draws(study, pipeline);
    return bb_plan_add(plan, pipeline->name,
                       "max_loss %g nm and %td wrong cycles in %.0f %s, up to %d trials, slots "
                       "at most %.1f MB",
                       pipeline->max_loss, pipeline->search.wrong_cycles, draws,
                       draws > 1.0 ? "draws" : "draw", most_trials(),
                       1e-6 * slots_bytes(study, widest));
}

static bool is_on_gpu(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline)
{
    const int wish = bb_device_choice_wish(study->common.device, pipeline->device);
    return bb_device_choice_resolve(&bb_fringe_offer, wish) == BB_DEVICE_CUDA;
}

// Only one unwrapper exists at a time.
static bb_status need_unwrapping(const void *all, const void *extent, bb_need *out)
{
    const bb_fringe_study *study = all;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    const bb_fringe_size_config *size = &study->physics.size;
    (void)extent;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_fringe_pipeline *pipeline = &pipelines[p];
        const bool on_gpu = is_on_gpu(study, pipeline);
        const bb_unwrap_config config = bb_fringe_study_unwrap(study, pipeline);
        const bb_need need =
            bb_fringe_pipeline_searches(pipeline)
                ? search_need(study, pipeline, on_gpu)
                : bb_need_repeated(bb_unwrap_need(&config, size->columns, size->rows, on_gpu),
                                   (double)bb_fringe_study_draws(study, pipeline));
        *out = bb_need_in_turn(*out, need);
    }
    return BB_OK;
}

static bb_status plan_unwrapping(const void *all, const void *extent, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_fringe_study *study = all;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    (void)extent;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_fringe_pipeline *pipeline = &pipelines[p];
        const bb_unwrap_config config = bb_fringe_study_unwrap(study, pipeline);
        plan->gpus = is_on_gpu(study, pipeline) ? 1 : plan->gpus;
        BB_TRY(
            bb_fringe_pipeline_searches(pipeline)
                ? list_search(study, pipeline, plan)
                : bb_plan_add(plan, pipeline->name, "%s, storage %s",
                              bb_format_describe(config.slots[0].arithmetic)->name,
                              bb_format_describe(config.slots[BB_UNWRAP_SMOOTHER].storage)->name));
    }
    BB_TRY(bb_plan_add(plan, "conjugate gradients",
                       "not included in the time: up to %d steps per least-squares solve, if "
                       "V-cycles converge slowly or a part of the pupil has winding paths",
                       BB_UNWRAP_DESCENT_STEPS));
done:
    return status;
}

const bb_part bb_fringe_unwrapping_part = {
    .name = "unwrapping", .need = need_unwrapping, .plan_lines = plan_unwrapping};
