// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the slots of unwrapping, and trials of them for `tune --for`.
#include "core/memory.h"
#include "sim/config/emission.h"
#include "sim/fringe/fringe_work.h"

#include <math.h>
#include <string.h>

// Of equal bytes the one of less work first.
static const bb_unwrap_numbers pairs[] = {
    {BB_FORMAT_FP64, BB_FORMAT_FP64}, {BB_FORMAT_FP32, BB_FORMAT_FP32},
    {BB_FORMAT_FP64, BB_FORMAT_FP32}, {BB_FORMAT_FP32, BB_FORMAT_FP16},
    {BB_FORMAT_FP32, BB_FORMAT_BF16}, {BB_FORMAT_FP32, BB_FORMAT_E4M3},
    {BB_FORMAT_FP32, BB_FORMAT_E5M2},
};
static const char *const pair_names[] = {"DP", "SP", "SP, sums DP", "fp16", "bf16", "e4m3", "e5m2"};
static const char candidate_name[] = "candidate";
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

// Interferometers repeat to about a thousandth of a wave: what is lost below is not seen.
static double tolerance(const void *study)
{
    const bb_fringe_study *fringe = study;
    return 1e-3 * fringe->physics.wavelength_nm;
}

static bool has_draws(const void *study)
{
    return ((const bb_fringe_study *)study)->input.file == NULL;
}

bb_fringe_pipeline bb_fringe_slots_pipeline(const bb_fringe_pipeline *asked, const int *state)
{
    bb_fringe_pipeline pipeline = *asked;
    pipeline.arithmetic = BB_FORMAT_FP64;
    pipeline.storage = -1;
    pipeline.promise = (bb_fringe_promise_config){.price = NAN};
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
    return bb_fringe_slots_pipeline(&plain, state);
}

// The reference and, second, the candidate at hand.
typedef struct trials {
    bb_fringe_pipeline pipelines[2];
    bb_fringe_study study;
    bb_fringe_work work;
} trials;

static void close_trials(void **opened)
{
    trials *self = *opened;
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
    trials *made = NULL;
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

// By what a plan counts of each slot in words of 4 bytes more or less.
double bb_fringe_slots_bytes(const bb_fringe_size_config *size, const int *state)
{
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

static bb_status weigh(void *opened, const int *state, double *bytes)
{
    const trials *self = opened;
    *bytes = bb_fringe_slots_bytes(&self->study.physics.size, state);
    return BB_OK;
}

static bb_status score(void *opened, const int *state, bb_index draw, bb_slot_score *out)
{
    bb_status status = BB_OK;
    trials *self = opened;
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
               BB_INTERNAL, "results without %s", path);
    while (p < names->count && strcmp(names->texts[p], name) != 0) {
        ++p;
    }
    BB_REQUIRE(p < names->count, BB_INTERNAL, "results without pipeline %s", name);
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
    .weigh = weigh,
    .score = score,
    .write = write_study,
    .read = read_score,
};
