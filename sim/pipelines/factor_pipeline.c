// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_pipeline.h"

#include "sim/config/config.h"
#include "sim/pipelines/column_scale.h"
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_storage.h"
#include "sim/pipelines/slope_rounding.h"
#include "sim/pipelines/storage_search.h"
#include "sim/pipelines/sum_rounding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VALUES = 64 }; // size of the matrix laid out for a check

// Key of a storage setting that has no effect without a storage; NULL: none.
static const char *idle_key(const bb_factor_pipeline *pipeline)
{
    return pipeline->row_scale != (int)BB_ROW_SCALE_NONE         ? "scale"
           : pipeline->stored != (int)BB_STORED_SLOPES           ? "operator"
           : pipeline->column_scale != (int)BB_COLUMN_SCALE_NONE ? "column_scale"
           : pipeline->filter != (int)BB_SLOPE_FILTER_NONE       ? "filter"
                                                                 : NULL;
}

// Checks that the codec accepts a matrix without a grid of rows or columns, by laying one out.
static bb_status check_layout(const bb_factor_pipeline *asked, bb_index index,
                              const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline pipeline = bb_storage_search_widest(asked);
    const bb_matrix_layout layout = {.rows = LEAST_VALUES, .columns = LEAST_VALUES, .range = 1.0};
    bb_coded_matrix *matrix = NULL;
    status = bb_coded_matrix_create(&pipeline.storage, (bb_row_scale)pipeline.row_scale, &layout,
                                    &matrix);
    if (status == BB_INVALID) {
        status = bb_study_refuse(true, config, problems, "pipelines[%td].storage: %s", index,
                                 bb_status_message());
        bb_status_clear();
    }
    bb_coded_matrix_destroy(&matrix);
    return status;
}

static bb_status check_storage(const bb_factor_pipeline *pipeline, bb_index index,
                               const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[64];
    char sentence[200];
    if (!bb_factor_storage_is_given(pipeline)) {
        const char *const idle = idle_key(pipeline);
        BB_TRY(bb_study_refuse(idle != NULL, config, problems,
                               "pipelines[%td].%s: no effect without storage", index, idle));
        goto done;
    }
    BB_TRY(bb_study_refuse(
        bb_column_scale_needs_factor((bb_column_scale)pipeline->column_scale) &&
            !bb_codec_sweeps(&pipeline->storage),
        config, problems,
        "pipelines[%td].column_scale: %s needs rounding: sweep; expected none or deviation", index,
        bb_column_scale_names[pipeline->column_scale]));
    const bb_index before = problems->count;
    if (bb_factor_pipeline_finds_storage(pipeline)) {
        BB_TRY(bb_storage_search_check_factor(pipeline, index, config, problems));
    } else if (!bb_codec_check(&pipeline->storage, (bb_row_scale)pipeline->row_scale, sentence,
                               sizeof sentence)) {
        (void)snprintf(path, sizeof path, "pipelines.%td.storage", index);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "pipelines[%td].storage.%s",
                               index, sentence));
    }
    if (problems->count == before) { // required keys are present
        BB_TRY(check_layout(pipeline, index, config, problems));
    }
done:
    return status;
}

// True if a number or choice differs from its default.
static bool changed(const bb_schema *schema, const void *record, const char *name)
{
    const bb_key *key = schema->keys;
    while (strcmp(key->name, name) != 0) {
        ++key;
    }
    const char *member = (const char *)record + key->offset;
    if (key->kind == BB_KEY_DOUBLE) {
        double value;
        memcpy(&value, member, sizeof value);
        return key->default_text == NULL ? !isnan(value) : value != strtod(key->default_text, NULL);
    }
    if (key->kind == BB_KEY_INTEGER) {
        bb_index value;
        memcpy(&value, member, sizeof value);
        return value != strtoll(key->default_text, NULL, 10);
    }
    if (key->kind == BB_KEY_PATH) {
        const char *path;
        memcpy(&path, member, sizeof path);
        return path != NULL;
    }
    if (key->kind == BB_KEY_CHOICES || key->kind == BB_KEY_INTEGERS) {
        bb_list list;
        memcpy(&list, member, sizeof list);
        return list.count > 0;
    }
    int choice;
    memcpy(&choice, member, sizeof choice);
    return strcmp(key->choices[choice], key->default_text) != 0;
}

// Subject of a rule: a group of keys, and the choice on which their effect depends.
typedef struct group {
    const char *name; // path within the pipeline, "" or ending in a dot
    const bb_schema *schema;
    const void *record;
    const char *decider;
    int choice;
    const char *choice_name;
} group;

typedef struct rule {
    const char *key;
    unsigned used; // bit c: key has an effect with choice c
    const char *choices;
} rule;

static bb_status check_group(const group *rows, const rule *rules, int count, bb_index index,
                             const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    for (int r = 0; r < count; ++r) {
        if ((rules[r].used >> rows->choice & 1) != 0 ||
            !changed(rows->schema, rows->record, rules[r].key)) {
            continue;
        }
        BB_TRY(bb_study_refuse(true, config, problems,
                               "pipelines[%td].%s%s: no effect with %s %s, expected %s %s", index,
                               rows->name, rules[r].key, rows->decider, rows->choice_name,
                               rows->decider, rules[r].choices));
    }
done:
    return status;
}

enum {
    LIGHT = 1 << BB_POLICY_SWEEPS_LIGHT,
    REFINED = 1 << BB_REFINE_IR | 1 << BB_REFINE_CG | 1 << BB_REFINE_GMRES
};

static const rule sweep_rules[] = {
    {"sweep_energy", LIGHT, "light"},
};
static const rule refine_rules[] = {
    {"tolerance", REFINED, "ir, cg or gmres"},
    {"iterations", REFINED, "ir, cg or gmres"},
};

enum { NAMES = 128 };

// Lists the policies that use a key as "a, b or c"; returns their bits.
static unsigned list_policies(const char *key, char names[NAMES])
{
    unsigned used = 0;
    int last = -1;
    size_t length = 0;
    names[0] = '\0';
    for (int kind = 0; kind < (int)BB_POLICY_COUNT; ++kind) {
        last = bb_policy_uses_key((bb_policy_kind)kind, key) ? kind : last;
    }
    for (int kind = 0; kind <= last; ++kind) {
        if (bb_policy_uses_key((bb_policy_kind)kind, key)) {
            const char *between = used == 0 ? "" : kind == last ? " or " : ", ";
            const int written = snprintf(names + length, NAMES - length, "%s%s", between,
                                         bb_policy_kind_names[kind]);
            length += written > 0 && (size_t)written < NAMES - length ? (size_t)written : 0;
            used |= 1U << kind;
        }
    }
    return used;
}

// Checks keys that exactly one policy has and requires.
static bb_status check_required(const bb_policy_config *policy, bb_index index,
                                const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    for (bb_index k = 0; k < bb_policy_schema.key_count; ++k) {
        const char *key = bb_policy_schema.keys[k].name;
        int kind = 0;
        while (kind < (int)BB_POLICY_COUNT && !bb_policy_requires((bb_policy_kind)kind, key)) {
            ++kind;
        }
        BB_TRY(bb_study_refuse(
            kind < (int)BB_POLICY_COUNT &&
                changed(&bb_policy_schema, policy, key) != (kind == policy->kind),
            config, problems,
            "pipelines[%td].policy: the key %s is required with kind %s and allowed with no other",
            index, key, bb_policy_kind_names[kind]));
    }
done:
    return status;
}

// Checks keys that only some policies use.
static bb_status check_idle_policy(const group *policies, bb_index index, const bb_config *config,
                                   bb_problems *problems)
{
    bb_status status = BB_OK;
    char names[NAMES];
    for (bb_index k = 0; k < bb_policy_schema.key_count; ++k) {
        const char *key = bb_policy_schema.keys[k].name;
        const rule taken = {key, list_policies(key, names), names};
        if (taken.used != 0) {
            BB_TRY(check_group(policies, &taken, 1, index, config, problems));
        }
    }
done:
    return status;
}

static bb_status check_idle_keys(const bb_factor_pipeline *pipeline, bb_index index,
                                 const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_policy_config *policy = &pipeline->policy;
    const bb_refine_config *refine = &pipeline->refine;
    const group policies = {.name = "policy.",
                            .schema = &bb_policy_schema,
                            .record = policy,
                            .decider = "kind",
                            .choice = policy->kind,
                            .choice_name = bb_policy_kind_names[policy->kind]};
    const group sweeps = {.name = "",
                          .schema = &bb_factor_pipeline_schema,
                          .record = pipeline,
                          .decider = "sweeps",
                          .choice = pipeline->sweeps,
                          .choice_name = bb_policy_sweeps_names[pipeline->sweeps]};
    const group refinement = {.name = "refine.",
                              .schema = &bb_refine_schema,
                              .record = refine,
                              .decider = "method",
                              .choice = refine->method,
                              .choice_name = "none"};
    BB_TRY(check_required(policy, index, config, problems));
    BB_TRY(check_idle_policy(&policies, index, config, problems));
    BB_TRY(check_group(&sweeps, sweep_rules, 1, index, config, problems));
    BB_TRY(check_group(&refinement, refine_rules, 2, index, config, problems));
done:
    return status;
}

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
     .meaning = "Computes the eigenvalues of the covariance, with cubic cost."},
    {.name = "tiles", .kind = BB_KEY_RECORDS, .schema = &tile_schema, .optional = true,
     .offset = offsetof(bb_factor_spectrum, tiles),
     .meaning = "Tiles for which singular values are computed."},
};
const bb_schema bb_factor_spectrum_schema =
    BB_SCHEMA("spectrum", bb_factor_spectrum, spectrum_keys);

static const char *const over_names[] = {"all", "first", NULL};

static const bb_key search_keys[] = {
    {.name = "over", .kind = BB_KEY_CHOICE, .choices = over_names, .default_text = "all",
     .offset = offsetof(bb_factor_search_config, over),
     .meaning = "ao: max_loss bounds the loss of all targets and wavelengths, or of the first."},
    {.name = "variants", .kind = BB_KEY_CHOICES, .choices = bb_variant_names, .optional = true,
     .offset = offsetof(bb_factor_search_config, variants),
     .meaning = "Arithmetic: variants to try throughout or in mixtures; unset: the pipeline's arithmetic, inside, and all from it to dp in cost, the most precise of each cost."},
    {.name = "inside", .kind = BB_KEY_CHOICE, .choices = bb_variant_names, .default_text = "sp",
     .offset = offsetof(bb_factor_search_config, inside),
     .meaning = "Arithmetic: a second variant to try, if variants is unset."},
    {.name = "rounding", .kind = BB_KEY_CHOICE, .choices = bb_policy_rounding_names,
     .offset = offsetof(bb_factor_search_config, rounding), .default_text = "worst",
     .meaning = "Arithmetic: policy.rounding of mixtures by product."},
};
static const bb_schema search_schema = BB_SCHEMA("search", bb_factor_search_config, search_keys);

static const bb_key keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_factor_pipeline, name),
     .meaning = "Unique name of the pipeline, for tables and files."},
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = bb_variant_names,
     .offset = offsetof(bb_factor_pipeline, arithmetic),
     .meaning = "Variant of the matrix product that updates tiles."},
    {.name = "policy", .kind = BB_KEY_GROUP, .schema = &bb_policy_schema, .shorthand = "kind",
     .offset = offsetof(bb_factor_pipeline, policy),
     .meaning = "Assignment of variants to tiles."},
    {.name = "accumulate_k", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 4096.0,
     .offset = offsetof(bb_factor_pipeline, accumulate_k), .default_text = "4",
     .meaning = "hp3: number of products between roundings of the accumulator to fp16."},
    {.name = "accumulate_from", .kind = BB_KEY_CHOICE, .choices = bb_accumulate_from_names,
     .offset = offsetof(bb_factor_pipeline, accumulate_from), .default_text = "zero",
     .meaning = "hp3: initial value of the accumulator: zero, or the tile that it updates (c)."},
    {.name = "sweeps", .kind = BB_KEY_CHOICE, .choices = bb_policy_sweeps_names,
     .offset = offsetof(bb_factor_pipeline, sweeps), .default_text = "sp",
     .meaning = "Sweeps of the solve that use products in the tiles' variants: none, forward, both, or both with the light tiles of the factor; other products are in fp32."},
    {.name = "sweep_energy", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .offset = offsetof(bb_factor_pipeline, sweep_energy), .default_text = "0.003",
     .meaning = "sweeps light: fraction of the energy (sum of squares) of the factor's "
     "off-diagonal tiles in light tiles, the smallest first."},
    {.name = "refine", .kind = BB_KEY_GROUP, .schema = &bb_refine_schema, .shorthand = "method",
     .offset = offsetof(bb_factor_pipeline, refine),
     .meaning = "Refinement of solves with the factor to fp64."},
    {.name = "escalate", .kind = BB_KEY_BOOLEAN, .default_text = "false",
     .offset = offsetof(bb_factor_pipeline, escalate),
     .meaning = "Repeats a failed factorization in x3, then in dp."},
    {.name = "storage", .kind = BB_KEY_GROUP, .schema = &bb_codec_schema, .shorthand = "codec",
     .optional = true, .offset = offsetof(bb_factor_pipeline, storage),
     .meaning = "Storage of the reconstructor after the solve; unset: as solved, in "
     "fp64."},
    {.name = "max_loss", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true, .offset = offsetof(bb_factor_pipeline, max_loss),
     .meaning = "Largest loss relative to the reference, of Strehl ratio (ao) or variance: finds the cheapest arithmetic, or, for a storage without its bits or tolerance, the fewest bytes (ao)."},
    {.name = "search", .kind = BB_KEY_GROUP, .schema = &search_schema,
     .offset = offsetof(bb_factor_pipeline, search),
     .meaning = "max_loss: candidates of the search."},
    {.name = "operator", .kind = BB_KEY_CHOICE, .choices = bb_stored_operator_names,
     .offset = offsetof(bb_factor_pipeline, stored), .default_text = "slopes",
     .meaning = "storage: stored matrix: the reconstructor, or the commands of the "
     "target's mirror, rounded after projection (ao)."},
    {.name = "scale", .kind = BB_KEY_CHOICE, .choices = bb_row_scale_names,
     .offset = offsetof(bb_factor_pipeline, row_scale), .default_text = "none",
     .meaning = "storage: scaling of each row of the reconstructor before it is rounded."},
    {.name = "column_scale", .kind = BB_KEY_CHOICE, .choices = bb_column_scale_names,
     .offset = offsetof(bb_factor_pipeline, column_scale), .default_text = "none",
     .meaning = "storage: scaling of each column before rounding, compensated in its slope: standard deviation of the slope; in the sweep also its conditional deviation given earlier slopes (remainder), or that balanced against the column's values."},
    {.name = "filter", .kind = BB_KEY_CHOICE, .choices = bb_slope_filter_names,
     .offset = offsetof(bb_factor_pipeline, filter), .default_text = "none",
     .meaning = "storage: means: multiply the mean of each sensor's slopes along an "
     "axis separately in fp32, and the remainder by the stored reconstructor "
     "(ao)."},
    {.name = "slopes", .kind = BB_KEY_GROUP, .schema = &bb_slope_schema, .shorthand = "format",
     .optional = true, .offset = offsetof(bb_factor_pipeline, slopes),
     .meaning = "Rounding of slopes before the reconstructor multiplies them."},
    {.name = "multiply", .kind = BB_KEY_CHOICE, .choices = bb_format_names,
     .offset = offsetof(bb_factor_pipeline, multiply), .default_text = "fp64",
     .meaning = "accumulate: format to which products of the reconstructor with slopes are rounded before they are summed; fp64: they are exact, as in a fused multiply-add."},
    {.name = "accumulate", .kind = BB_KEY_CHOICE, .choices = bb_format_names,
     .offset = offsetof(bb_factor_pipeline, accumulate), .default_text = "fp64",
     .meaning = "Format in which products of the reconstructor with slopes are summed."},
    {.name = "accumulate_run", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e6,
     .optional = true, .offset = offsetof(bb_factor_pipeline, accumulate_run),
     .meaning = "accumulate: products per sum before it is added in fp32; unset: the "
     "whole row."},
    BB_DRAWS_KEY(bb_factor_pipeline),
    {.name = "device", .kind = BB_KEY_CHOICE, .choices = bb_device_names, .optional = true,
     .offset = offsetof(bb_factor_pipeline, device), .meaning = "Overrides the study's device."},
};
// clang-format on
const bb_schema bb_factor_pipeline_schema = BB_SCHEMA("pipelines", bb_factor_pipeline, keys);

// Lists facts of the first BB_STUDY_PIPELINES pipelines; returns their number.
static bb_index list_facts(const bb_list *pipelines, bb_pipeline_facts out[BB_STUDY_PIPELINES])
{
    const bb_factor_pipeline *items = pipelines->items;
    bb_index count = pipelines->count < BB_STUDY_PIPELINES ? pipelines->count : BB_STUDY_PIPELINES;
    for (bb_index i = 0; i < count; ++i) {
        bool full =
            bb_variant_describe((bb_variant)items[i].arithmetic)->output == BB_FORMAT_FP64 &&
            bb_policy_describe(&items[i].policy)->is_uniform &&
            !bb_factor_pipeline_finds_arithmetic(&items[i]) &&
            (!bb_factor_storage_is_given(&items[i]) ||
             bb_codec_is_plain(&items[i].storage, BB_FORMAT_FP64));
        out[i] = (bb_pipeline_facts){items[i].name, full};
    }
    return count;
}

bool bb_factor_pipeline_searches(const bb_factor_pipeline *pipeline)
{
    return pipeline->max_loss > 0.0;
}

bool bb_factor_pipeline_finds_arithmetic(const bb_factor_pipeline *pipeline)
{
    return bb_factor_pipeline_searches(pipeline) && pipeline->storage.codec < 0;
}

bool bb_factor_pipeline_finds_storage(const bb_factor_pipeline *pipeline)
{
    return bb_factor_pipeline_searches(pipeline) && pipeline->storage.codec >= 0;
}

bb_factor_pipeline bb_factor_pipeline_planned(const bb_factor_pipeline *pipeline)
{
    bb_factor_pipeline planned = *pipeline;
    if (bb_factor_pipeline_finds_arithmetic(pipeline)) {
        planned.policy = (bb_policy_config){
            .kind = BB_POLICY_TILE_NORM, .inside = pipeline->search.inside, .tolerance = NAN};
    }
    return planned;
}

bool bb_factor_pipeline_solves_alike(const bb_factor_pipeline *a, const bb_factor_pipeline *b)
{
    return bb_policy_describe(&a->policy)->is_uniform &&
           bb_policy_describe(&b->policy)->is_uniform && !bb_factor_pipeline_finds_arithmetic(a) &&
           !bb_factor_pipeline_finds_arithmetic(b) && a->policy.diagonal == b->policy.diagonal &&
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

// Checks a policy's keys against each other.
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

// True if accumulate_from has no effect, because no sums are in fp16.
static bool starts_idly(const bb_factor_pipeline *pipeline)
{
    bb_variant given[BB_VARIANT_COUNT];
    bool half_sums = false;
    const bb_factor_pipeline planned = bb_factor_pipeline_planned(pipeline);
    const int count =
        bb_factor_map_variants(&planned.policy, (bb_variant)planned.arithmetic, given);
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
    BB_TRY(
        bb_study_refuse(solver->scale == (int)BB_FACTOR_SCALE_NONE && given, config, problems,
                        "solver.dither: no effect with scale none, expected scale unit_diagonal"));
done:
    return status;
}

// Checks keys of `search` without effect, and a policy together with a search.
static bb_status check_search(const bb_factor_pipeline *pipeline, bb_index index,
                              const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bool finds_storage = bb_factor_pipeline_finds_storage(pipeline);
    for (bb_index k = 0; k < search_schema.key_count; ++k) {
        const char *key = search_schema.keys[k].name;
        const bool is_idle =
            !bb_factor_pipeline_searches(pipeline) || (finds_storage && strcmp(key, "over") != 0);
        BB_TRY(bb_study_refuse(is_idle && changed(&search_schema, &pipeline->search, key), config,
                               problems, "pipelines[%td].search.%s: no effect %s", index, key,
                               finds_storage ? "with a storage" : "without max_loss"));
    }
    BB_TRY(bb_study_refuse(bb_factor_pipeline_finds_arithmetic(pipeline) &&
                               pipeline->policy.kind != BB_POLICY_UNIFORM,
                           config, problems,
                           "pipelines[%td].policy: remove it, max_loss selects the arithmetic (or "
                           "bits and tolerance of a storage without them)",
                           index));
done:
    return status;
}

// All searches of a study are listed in one table, of arithmetics or of storages.
static bb_status check_searches(const bb_list *pipelines, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *items = pipelines->items;
    bb_index other = 0;
    while (other < pipelines->count && !bb_factor_pipeline_finds_arithmetic(&items[other])) {
        ++other;
    }
    for (bb_index p = 0; p < pipelines->count; ++p) {
        BB_TRY(check_search(&items[p], p, config, problems));
        BB_TRY(
            bb_study_refuse(other < pipelines->count && bb_factor_pipeline_finds_storage(&items[p]),
                            config, problems,
                            "pipelines[%td].max_loss: finds a storage, but that of pipelines[%td] "
                            "finds an arithmetic; expected searches of one kind in a study",
                            p, other));
    }
done:
    return status;
}

bb_status bb_factor_pipelines_check(const bb_list *pipelines, const bb_config *config,
                                    bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    BB_TRY(bb_study_refuse(pipelines->count > BB_STUDY_PIPELINES, config, problems,
                           "pipelines: %td, expected at most %d", pipelines->count,
                           BB_STUDY_PIPELINES));
    for (bb_index p = 0; p < pipelines->count; ++p) {
        const bb_factor_pipeline *items = pipelines->items;
        const bb_index before = problems->count;
        BB_TRY(check_idle_keys(&items[p], p, config, problems));
        if (problems->count == before) { // required keys are present
            BB_TRY(check_policy(pipelines, p, config, problems));
        }
        BB_TRY(check_storage(&items[p], p, config, problems));
        BB_TRY(bb_slope_rounding_check(&items[p], p, config, problems));
        BB_TRY(bb_sum_rounding_check(&items[p], p, config, problems));
        BB_TRY(bb_study_refuse(
            starts_idly(&items[p]), config, problems,
            "pipelines[%td].accumulate_from: no effect with arithmetic %s, expected hp3", p,
            bb_variant_names[items[p].arithmetic]));
    }
    BB_TRY(check_searches(pipelines, config, problems));
    bb_index count = list_facts(pipelines, facts);
    BB_TRY(bb_study_check_pipelines(
        facts, count, "arithmetic dp, a uniform policy, no storage other than fp64 and no max_loss",
        config, problems));
done:
    return status;
}

bb_tile_plan bb_factor_pipeline_tiles(const bb_factor_solver_config *solver,
                                      const bb_factor_pipeline *pipeline)
{
    return (bb_tile_plan){.tile_size = solver->tile,
                          .arithmetic = (bb_variant)pipeline->arithmetic,
                          .policy = bb_factor_pipeline_planned(pipeline).policy,
                          .sweeps = (bb_policy_sweeps)pipeline->sweeps,
                          .sweep_energy = pipeline->sweep_energy,
                          .sums_from_c = pipeline->accumulate_from == (int)BB_ACCUMULATE_FROM_C,
                          .memory_limit = (size_t)(1e9 * solver->memory_limit_gb),
                          .swap_folder = solver->swap_dir};
}
