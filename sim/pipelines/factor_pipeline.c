// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_pipeline.h"

#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/idle_keys.h"
#include "sim/pipelines/storage/promised_storage.h"
#include "sim/pipelines/storage/slope_rounding.h"
#include "sim/pipelines/storage/storage_rules.h"
#include "sim/pipelines/storage/sum_rounding.h"

#include <stdio.h>

const char *const bb_factor_scale_names[] = {"unit_diagonal", "none", NULL};
const char *const bb_accumulate_from_names[] = {"zero", "c", NULL};

// clang-format off
static const bb_key tile_keys[] = {
    {.name = "row", .kind = BB_KEY_INTEGER, .unit = "tiles", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_factor_tile, row), .meaning = "Row of the tile, from 0."},
    {.name = "column", .kind = BB_KEY_INTEGER, .unit = "tiles", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_factor_tile, column), .meaning = "Column of the tile, from 0."},
};
static const bb_schema tile_schema = BB_SCHEMA("tiles", bb_factor_tile, tile_keys);

static const bb_key spectrum_keys[] = {
    {.name = "matrix", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_factor_spectrum, matrix),
     .meaning = "Whether the eigenvalues of the covariance are found: its cube in operations."},
    {.name = "tiles", .kind = BB_KEY_RECORDS, .schema = &tile_schema, .optional = true,
     .offset = offsetof(bb_factor_spectrum, tiles),
     .meaning = "Tiles whose singular values are found."},
};
const bb_schema bb_factor_spectrum_schema =
    BB_SCHEMA("spectrum", bb_factor_spectrum, spectrum_keys);

static const bb_key promise_keys[] = {
    {.name = "price", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .offset = offsetof(bb_loss_promise, price),
     .meaning = "The largest loss of Strehl ratio allowed."},
    {.name = "over", .kind = BB_KEY_CHOICE, .choices = bb_policy_over_names, .default_text = "all",
     .offset = offsetof(bb_loss_promise, over),
     .meaning = "Targets and wavelengths that the loss is of: the worst of all, or the first."},
};
static const bb_schema promise_schema = BB_SCHEMA("promise", bb_loss_promise, promise_keys);

static const bb_key keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_factor_pipeline, name),
     .meaning = "Of the pipeline, in tables and files; unique."},
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = bb_variant_names,
     .offset = offsetof(bb_factor_pipeline, arithmetic),
     .meaning = "Variant of the matrix product that updates tiles."},
    {.name = "policy", .kind = BB_KEY_GROUP, .schema = &bb_policy_schema, .shorthand = "kind",
     .offset = offsetof(bb_factor_pipeline, policy),
     .meaning = "Which tiles take another variant."},
    {.name = "accumulate_k", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 4096.0,
     .offset = offsetof(bb_factor_pipeline, accumulate_k), .default_text = "4",
     .meaning = "hp3: products between two roundings of the accumulator to fp16."},
    {.name = "accumulate_from", .kind = BB_KEY_CHOICE, .choices = bb_accumulate_from_names,
     .offset = offsetof(bb_factor_pipeline, accumulate_from), .default_text = "zero",
     .meaning = "hp3: what the accumulator starts from: zero, or the tile that it updates (c)."},
    {.name = "sweeps", .kind = BB_KEY_CHOICE, .choices = bb_policy_sweeps_names,
     .offset = offsetof(bb_factor_pipeline, sweeps), .default_text = "sp",
     .meaning = "Products of the solves with the factor in its tiles' variants: of neither sweep, of the "
                "forward one, of both, of both with the light tiles of the factor; else in fp32."},
    {.name = "sweep_energy", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .offset = offsetof(bb_factor_pipeline, sweep_energy), .default_text = "0.003",
     .meaning = "sweeps light: part of the energy (sum of squares) of the factor's tiles below its "
                "diagonal that the light ones hold, the least first."},
    {.name = "refine", .kind = BB_KEY_GROUP, .schema = &bb_refine_schema, .shorthand = "method",
     .offset = offsetof(bb_factor_pipeline, refine),
     .meaning = "Whether and how solves with the factor are refined to fp64."},
    {.name = "escalate", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_factor_pipeline, escalate),
     .meaning = "Whether a factorization that fails is repeated in x3, then in dp."},
    {.name = "storage", .kind = BB_KEY_GROUP, .schema = &bb_codec_schema, .shorthand = "codec",
     .optional = true, .offset = offsetof(bb_factor_pipeline, storage),
     .meaning = "How the reconstructor is held once it is solved; unset: as it was solved, in fp64."},
    {.name = "promise", .kind = BB_KEY_GROUP, .schema = &promise_schema, .optional = true,
     .offset = offsetof(bb_factor_pipeline, promise),
     .meaning = "storage without its bits or tolerance: a loss, and what is found is the storage of fewest "
                "bytes that keeps it (ao)."},
    {.name = "operator", .kind = BB_KEY_CHOICE, .choices = bb_stored_operator_names,
     .offset = offsetof(bb_factor_pipeline, stored), .default_text = "slopes",
     .meaning = "storage: what is held: the reconstructor, or the commands of the target's mirror that it "
                "makes, rounded after projecting (ao)."},
    {.name = "scale", .kind = BB_KEY_CHOICE, .choices = bb_row_scale_names,
     .offset = offsetof(bb_factor_pipeline, row_scale), .default_text = "none",
     .meaning = "storage: scale of a row of the reconstructor before it is narrowed."},
    {.name = "column_scale", .kind = BB_KEY_CHOICE, .choices = bb_column_scale_names,
     .offset = offsetof(bb_factor_pipeline, column_scale), .default_text = "none",
     .meaning = "storage: scale of a column of the reconstructor before it is narrowed, by which its slope is "
                "divided: the slope's deviation; in the sweep also what is left of it once the slopes before "
                "are known (remainder), and that balanced against the column's values."},
    {.name = "filter", .kind = BB_KEY_CHOICE, .choices = bb_slope_filter_names,
     .offset = offsetof(bb_factor_pipeline, filter), .default_text = "none",
     .meaning = "storage: means: the mean of each sensor's slopes along an axis is multiplied apart, in "
                "fp32, and the stored reconstructor by what is left (ao)."},
    {.name = "slopes", .kind = BB_KEY_GROUP, .schema = &bb_slope_schema, .shorthand = "format",
     .optional = true, .offset = offsetof(bb_factor_pipeline, slopes),
     .meaning = "How slopes are rounded before the reconstructor multiplies them."},
    {.name = "multiply", .kind = BB_KEY_CHOICE, .choices = bb_format_names,
     .offset = offsetof(bb_factor_pipeline, multiply), .default_text = "fp64",
     .meaning = "accumulate: format in which products of the reconstructor with slopes are rounded before they are "
                "summed; fp64: they are exact, as in a fused multiply and add."},
    {.name = "accumulate", .kind = BB_KEY_CHOICE, .choices = bb_format_names,
     .offset = offsetof(bb_factor_pipeline, accumulate), .default_text = "fp64",
     .meaning = "Format in which products of the reconstructor with slopes are summed."},
    {.name = "accumulate_run", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e6,
     .optional = true, .offset = offsetof(bb_factor_pipeline, accumulate_run),
     .meaning = "accumulate: products of a sum before fp32 takes it; unset: the whole row."},
    BB_DRAWS_KEY(bb_factor_pipeline),
    {.name = "device", .kind = BB_KEY_CHOICE, .choices = bb_device_names, .optional = true,
     .offset = offsetof(bb_factor_pipeline, device), .meaning = "Overrides the study's device."},
};
// clang-format on
const bb_schema bb_factor_pipeline_schema = BB_SCHEMA("pipelines", bb_factor_pipeline, keys);

// Facts of the first BB_STUDY_PIPELINES pipelines; returns how many.
static bb_index list_facts(const bb_list *pipelines, bb_pipeline_facts out[BB_STUDY_PIPELINES])
{
    const bb_factor_pipeline *items = pipelines->items;
    bb_index count = pipelines->count < BB_STUDY_PIPELINES ? pipelines->count : BB_STUDY_PIPELINES;
    for (bb_index i = 0; i < count; ++i) {
        bool full =
            bb_variant_describe((bb_variant)items[i].arithmetic)->output == BB_FORMAT_FP64 &&
            bb_policy_describe(&items[i].policy)->is_uniform &&
            (!bb_factor_storage_is_given(&items[i]) ||
             bb_codec_is_plain(&items[i].storage, BB_FORMAT_FP64));
        out[i] = (bb_pipeline_facts){items[i].name, full};
    }
    return count;
}

bool bb_factor_pipeline_promises(const bb_factor_pipeline *pipeline)
{
    return bb_policy_describe(&pipeline->policy)->is_search ||
           bb_promised_storage_is_given(pipeline);
}

bool bb_factor_pipeline_solves_alike(const bb_factor_pipeline *a, const bb_factor_pipeline *b)
{
    return bb_policy_describe(&a->policy)->is_uniform &&
           bb_policy_describe(&b->policy)->is_uniform && a->policy.diagonal == b->policy.diagonal &&
           a->arithmetic == b->arithmetic && a->accumulate_k == b->accumulate_k &&
           a->accumulate_from == b->accumulate_from && a->sweeps == b->sweeps &&
           a->sweep_energy == b->sweep_energy && a->refine.method == b->refine.method &&
           a->refine.tolerance == b->refine.tolerance &&
           a->refine.iterations == b->refine.iterations && a->escalate == b->escalate &&
           a->device == b->device;
}

bool bb_factor_pipelines_repeat(const bb_list *pipelines, bb_index index)
{
    const bb_factor_pipeline *items = pipelines->items;
    bool repeats = false;
    for (bb_index p = 0; p < index; ++p) {
        repeats = repeats || bb_factor_pipeline_solves_alike(&items[p], &items[index]);
    }
    return repeats;
}

bb_index bb_factor_pipelines_reference(const bb_list *pipelines)
{
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    bb_index count = list_facts(pipelines, facts);
    return bb_study_reference(facts, count);
}

// The rules between a policy's keys.
static bb_status check_policy(const bb_list *pipelines, bb_index index, const bb_config *config,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[64];
    const bb_factor_pipeline *pipeline = (const bb_factor_pipeline *)pipelines->items + index;
    if (bb_policy_check(&pipeline->policy, (bb_variant)pipeline->arithmetic) != BB_OK) {
        (void)snprintf(path, sizeof path, "pipelines.%td.policy", index);
        status = bb_problems_add(problems, bb_config_place(config, path), "pipelines[%td]: %s",
                                 index, bb_status_message());
        bb_status_clear();
    }
    return status;
}

// A start of sums that are not in fp16 does nothing.
static bool starts_idly(const bb_factor_pipeline *pipeline)
{
    bb_variant given[BB_VARIANT_COUNT];
    bool half_sums = false;
    const int count =
        bb_factor_map_variants(&pipeline->policy, (bb_variant)pipeline->arithmetic, given);
    for (int v = 0; v < count; ++v) {
        half_sums = half_sums || bb_variant_describe(given[v])->accumulator == BB_FORMAT_FP16;
    }
    return pipeline->accumulate_from == (int)BB_ACCUMULATE_FROM_C && !half_sums;
}

const char *const bb_factor_engine_names[] = {"auto", "own", "starpu", NULL};

bb_status bb_factor_pipeline_solver_check(const bb_factor_solver_config *solver,
                                          const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    bool given = solver->dither != BB_FACTOR_DITHER && solver->dither != 0.0;
    if (solver->scale == (int)BB_FACTOR_SCALE_NONE && given) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "solver.dither"),
                               "solver.dither: of no effect with scale none, expected scale "
                               "unit_diagonal"));
    }
done:
    return status;
}

// What a study searches is listed in one table: arithmetic or storages.
static bb_status check_promises(const bb_list *pipelines, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *items = pipelines->items;
    char path[64];
    bb_index other = 0;
    while (other < pipelines->count && !bb_policy_describe(&items[other].policy)->is_search) {
        ++other;
    }
    for (bb_index p = 0; other < pipelines->count && p < pipelines->count; ++p) {
        if (bb_promised_storage_is_given(&items[p])) {
            (void)snprintf(path, sizeof path, "pipelines.%td.promise", p);
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "pipelines[%td].promise: of a storage, beside policy promise of "
                                   "pipelines[%td], expected promises of one kind in a study",
                                   p, other));
        }
    }
done:
    return status;
}

bb_status bb_factor_pipelines_check(const bb_list *pipelines, const bb_config *config,
                                    bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    if (pipelines->count > BB_STUDY_PIPELINES) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "pipelines"),
                               "pipelines: %td, expected at most %d", pipelines->count,
                               BB_STUDY_PIPELINES));
    }
    for (bb_index p = 0; p < pipelines->count; ++p) {
        const bb_factor_pipeline *items = pipelines->items;
        const bb_index before = problems->count;
        BB_TRY(bb_idle_keys_check(&items[p], p, config, problems));
        if (problems->count == before) { // the keys that it needs are there
            BB_TRY(check_policy(pipelines, p, config, problems));
        }
        BB_TRY(bb_storage_rules_check(&items[p], p, config, problems));
        BB_TRY(bb_slope_rounding_check(&items[p], p, config, problems));
        BB_TRY(bb_sum_rounding_check(&items[p], p, config, problems));
        if (starts_idly(&items[p])) {
            char path[64];
            (void)snprintf(path, sizeof path, "pipelines.%td.accumulate_from", p);
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "pipelines[%td].accumulate_from: of no effect with arithmetic "
                                   "%s, expected hp3",
                                   p, bb_variant_names[items[p].arithmetic]));
        }
    }
    BB_TRY(check_promises(pipelines, config, problems));
    bb_index count = list_facts(pipelines, facts);
    BB_TRY(bb_study_check_pipelines(
        facts, count, "arithmetic dp, a uniform policy and no storage but fp64", config, problems));
done:
    return status;
}

bb_tile_plan bb_factor_pipeline_tiles(const bb_factor_solver_config *solver,
                                      const bb_factor_pipeline *pipeline)
{
    return (bb_tile_plan){.tile_size = solver->tile,
                          .arithmetic = (bb_variant)pipeline->arithmetic,
                          .policy = pipeline->policy,
                          .sweeps = (bb_policy_sweeps)pipeline->sweeps,
                          .sweep_energy = pipeline->sweep_energy,
                          .sums_from_c = pipeline->accumulate_from == (int)BB_ACCUMULATE_FROM_C,
                          .memory_limit = (size_t)(1e9 * solver->memory_limit_gb),
                          .swap_folder = solver->swap_dir};
}
