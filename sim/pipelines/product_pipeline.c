// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/product_pipeline.h"

#include "core/team.h"
#include "sim/kernels/kernel_variants.h"

#include <math.h>
#include <stdio.h>

const char *const bb_chain_stage_names[] = {"heat", "interpolation", "rows", NULL};
const char *const bb_stage_format_names[] = {"fp64", "fp32", "tf32", "bf16", "fp16", NULL};

// clang-format off
static const bb_key stage_keys[] = {
    {.name = "storage", .kind = BB_KEY_CHOICE, .choices = bb_stage_format_names,
     .offset = offsetof(bb_stage_formats, storage), .default_text = "fp64",
     .meaning = "Format of coefficients and results: fp64, fp32, tf32, bf16, fp16."},
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = bb_stage_format_names, .optional = true,
     .offset = offsetof(bb_stage_formats, arithmetic),
     .meaning = "Format of operands; sums are in fp32, or fp64 for fp64; unset: the storage, for rows fp32 or fp64."},
};
// clang-format on
static const bb_schema stage_schema = BB_SCHEMA("stage", bb_stage_formats, stage_keys);

// clang-format off
static const bb_key search_keys[] = {
    {.name = "codecs", .kind = BB_KEY_RECORDS, .schema = &bb_codec_schema, .shorthand = "codec",
     .optional = true, .offset = offsetof(bb_product_search_config, codecs),
     .meaning = "wafer: storages to try, along their tolerance or bits if these are "
     "unset; default: all codecs."},
    {.name = "stages", .kind = BB_KEY_CHOICES, .choices = bb_chain_stage_names, .optional = true,
     .offset = offsetof(bb_product_search_config, stages),
     .meaning = "wafer: stages before the product to search as well: heat, interpolation, rows."},
};
// clang-format on
static const bb_schema search_schema = BB_SCHEMA("search", bb_product_search_config, search_keys);

// clang-format off
#define STAGE_KEY(stage, word, text)                                                               \
    {.name = (word), .kind = BB_KEY_GROUP, .schema = &stage_schema, .shorthand = "storage",        \
     .offset = offsetof(bb_product_pipeline, stages) + (stage) * sizeof(bb_stage_formats),         \
     .meaning = (text)}

static const bb_key keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_product_pipeline, name),
     .meaning = "Unique name of the pipeline, for tables and files."},
    {.name = "storage", .kind = BB_KEY_GROUP, .schema = &bb_codec_schema, .shorthand = "codec",
     .optional = true, .offset = offsetof(bb_product_pipeline, storage),
     .replaces = {"max_loss", "search"},
     .meaning = "Storage of the matrix; excludes max_loss, which finds it."},
    {.name = "scale", .kind = BB_KEY_CHOICE, .choices = bb_row_scale_names,
     .offset = offsetof(bb_product_pipeline, scale), .default_text = "none",
     .meaning = "Scaling of each row before it is rounded."},
    {.name = "multiply", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .offset = offsetof(bb_product_pipeline, multiply), .meaning = "Format of products."},
    {.name = "accumulate", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .offset = offsetof(bb_product_pipeline, accumulate), .meaning = "Format of sums."},
    {.name = "accumulate_run", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0,
     .maximum = BB_GEMV_RUN_MOST, .offset = offsetof(bb_product_pipeline, accumulate_run),
     .default_text = "1",
     .meaning = "fp32 products summed in fp32 before an fp64 sum: 1 or a multiple of "
     "32."},
    BB_DRAWS_KEY(bb_product_pipeline),
    {.name = "device", .kind = BB_KEY_CHOICE, .choices = bb_device_names, .optional = true,
     .offset = offsetof(bb_product_pipeline, device), .meaning = "Overrides the study's device."},
    {.name = "delivery", .kind = BB_KEY_GROUP, .schema = &bb_delivery_schema,
     .offset = offsetof(bb_product_pipeline, delivery),
     .meaning = "wafer: arrival of corrections at the machine, for the feed-forward residual."},
    STAGE_KEY(BB_CHAIN_HEAT, "heat", "wafer: formats of the controller's heat, T <- A T + B q."),
    STAGE_KEY(BB_CHAIN_INTERPOLATION, "interpolation",
              "wafer: formats of the controller's cell temperatures, S = W T."),
    STAGE_KEY(BB_CHAIN_ROWS, "rows", "wafer: formats in which rows are computed before they are encoded."),
    {.name = "max_loss", .kind = BB_KEY_DOUBLE, .unit = "nm", .minimum = 0.0, .maximum = 1e6,
     .exclusive_minimum = true, .optional = true, .offset = offsetof(bb_product_pipeline, max_loss),
     .replaces = {"storage"},
     .meaning = "wafer: largest accepted overlay error; finds the storage with the fewest bytes."},
    {.name = "search", .kind = BB_KEY_GROUP, .schema = &search_schema,
     .offset = offsetof(bb_product_pipeline, search),
     .meaning = "wafer, with max_loss: candidates of the search."},
};
// clang-format on
const bb_schema bb_product_pipeline_schema = BB_SCHEMA("pipelines", bb_product_pipeline, keys);

bb_format bb_stage_formats_arithmetic(bb_chain_stage stage, const bb_stage_formats *formats)
{
    if (formats->arithmetic >= 0) {
        return (bb_format)formats->arithmetic;
    }
    // Rows are computed by solves, for which narrower operands are rarely accurate enough.
    return stage == BB_CHAIN_ROWS && formats->storage != (int)BB_FORMAT_FP64
               ? BB_FORMAT_FP32
               : (bb_format)formats->storage;
}

bool bb_stage_formats_narrow(bb_chain_stage stage, const bb_stage_formats *formats)
{
    return formats->storage != (int)BB_FORMAT_FP64 ||
           bb_stage_formats_arithmetic(stage, formats) != BB_FORMAT_FP64;
}

bool bb_product_pipeline_narrows(const bb_product_pipeline *pipeline)
{
    bool narrow = false;
    for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
        narrow = narrow || bb_stage_formats_narrow((bb_chain_stage)s, &pipeline->stages[s]);
    }
    return narrow;
}

bool bb_product_pipeline_searches_stages(const bb_product_pipeline *pipeline)
{
    return bb_product_pipeline_searches(pipeline) && pipeline->search.stages.count > 0;
}

bb_product_pipeline bb_product_pipeline_isolate(const bb_product_pipeline *pipeline,
                                                const bb_product_pipeline *reference, int stage)
{
    bb_product_pipeline out = stage == BB_CHAIN_STAGES ? *pipeline : *reference;
    for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
        out.stages[s] = s == stage ? pipeline->stages[s] : (bb_stage_formats){0};
    }
    out.name = pipeline->name;
    out.draws = 1;
    out.delivery = (bb_delivery_config){0};
    out.max_loss = NAN;
    return out;
}

void bb_product_pipeline_describe_stage(const bb_product_pipeline *pipeline, bb_chain_stage stage,
                                        char *out, size_t bytes)
{
    const bb_stage_formats *formats = &pipeline->stages[stage];
    const int arithmetic = (int)bb_stage_formats_arithmetic(stage, formats);
    (void)snprintf(out, bytes, "%s%s%s", bb_stage_format_names[formats->storage],
                   arithmetic == formats->storage ? "" : " in ",
                   arithmetic == formats->storage ? "" : bb_stage_format_names[arithmetic]);
}

bool bb_product_pipeline_searches(const bb_product_pipeline *pipeline)
{
    return pipeline->max_loss > 0.0;
}

static bb_pipeline_facts facts_of(const bb_product_pipeline *pipeline)
{
    bool full = bb_codec_is_plain(&pipeline->storage, BB_FORMAT_FP64) &&
                pipeline->multiply == (int)BB_FORMAT_FP64 &&
                pipeline->accumulate == (int)BB_FORMAT_FP64;
    return (bb_pipeline_facts){pipeline->name, full};
}

// Lists facts of the first BB_STUDY_PIPELINES pipelines; returns their number.
static bb_index list_facts(const bb_list *pipelines, bb_pipeline_facts out[BB_STUDY_PIPELINES])
{
    const bb_product_pipeline *items = pipelines->items;
    bb_index count = pipelines->count < BB_STUDY_PIPELINES ? pipelines->count : BB_STUDY_PIPELINES;
    for (bb_index i = 0; i < count; ++i) {
        out[i] = facts_of(&items[i]);
    }
    return count;
}

bb_index bb_product_pipelines_reference(const bb_list *pipelines)
{
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    bb_index count = list_facts(pipelines, facts);
    return bb_study_reference(facts, count);
}

// True if runs are requested although the storage has a fixed order of sums.
static bool lacks_runs(const bb_product_pipeline *pipeline)
{
    return pipeline->accumulate_run != 1 && !bb_codec_sums_in_runs(&pipeline->storage);
}

// True if draws are requested although all draws of the storage are identical.
static bool lacks_draws(const bb_product_pipeline *pipeline)
{
    return pipeline->draws > 1 && !bb_codec_has_draws(&pipeline->storage);
}

// Reason why the storage has no products on the requested device; NULL: it has, or the device is a
// choice.
static const char *find_absence(const bb_product_pipeline *pipeline, int study_device)
{
    const int wish = bb_device_choice_wish(study_device, pipeline->device);
    return wish == (int)BB_DEVICE_CUDA || wish == (int)BB_DEVICE_OPENCL
               ? bb_codec_absent(&pipeline->storage, (bb_device_kind)wish)
               : NULL;
}

// True if runs are requested on OpenCL, whose assembled kernels have none.
static bool runs_on_opencl(const bb_product_pipeline *pipeline, int study_device)
{
    return pipeline->accumulate_run != 1 &&
           bb_device_choice_wish(study_device, pipeline->device) == (int)BB_DEVICE_OPENCL;
}

// Message about a storage that needs a covariance; NULL: none.
static const char *needs_covariance(const bb_codec_config *storage)
{
    return bb_codec_sweeps(storage)
               ? "rounding: sweep needs a covariance (experiments ao and reconstructor)"
           : bb_codec_norm_width(storage) > 0
               ? "norm: covariance is available in experiments ao and reconstructor only"
               : NULL;
}

bool bb_product_pipeline_allows(const bb_product_pipeline *pipeline, int study_device,
                                char *sentence, size_t sentence_bytes)
{
    const char *name = bb_codec_name(pipeline->storage.codec);
    if (!bb_codec_check(&pipeline->storage, (bb_row_scale)pipeline->scale, sentence,
                        sentence_bytes)) {
        return false;
    }
    const char *need = needs_covariance(&pipeline->storage);
    if (need != NULL) {
        (void)snprintf(sentence, sentence_bytes, "%s", need);
        return false;
    }
    const char *absent = find_absence(pipeline, study_device);
    const bool runs = runs_on_opencl(pipeline, study_device);
    if (absent != NULL) {
        (void)snprintf(sentence, sentence_bytes, "with device %s: %s",
                       bb_device_names[bb_device_choice_wish(study_device, pipeline->device)],
                       absent);
    } else if (runs) {
        (void)snprintf(sentence, sentence_bytes,
                       "device opencl adds every product separately, expected accumulate_run 1");
    } else if (lacks_runs(pipeline)) {
        (void)snprintf(sentence, sentence_bytes,
                       "%s has a fixed order of sums, expected accumulate_run 1", name);
    } else if (lacks_draws(pipeline)) {
        (void)snprintf(sentence, sentence_bytes, "all draws of %s are identical, expected draws 1",
                       name);
    }
    return absent == NULL && !runs && !lacks_runs(pipeline) && !lacks_draws(pipeline);
}

static bb_status check_storage(const bb_product_pipeline *pipeline, bb_index index,
                               const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[64];
    char sentence[200];
    (void)snprintf(path, sizeof path, "pipelines.%td.storage", index);
    if (!bb_codec_check(&pipeline->storage, (bb_row_scale)pipeline->scale, sentence,
                        sizeof sentence)) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "%s.%s", path, sentence));
    } else if (needs_covariance(&pipeline->storage) != NULL) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "%s.%s", path,
                               needs_covariance(&pipeline->storage)));
    }
done:
    return status;
}

// Refuses pipelines with a valid, explicit storage that their device cannot multiply.
static bb_status check_devices(const bb_list *pipelines, bb_index count, int study_device,
                               const bb_config *config, bb_problems *problems)
{
    const bb_product_pipeline *items = pipelines->items;
    bb_device_gaps gaps = {.count = count};
    char sentence[200];
    for (bb_index p = 0; p < count; ++p) {
        gaps.names[p] = items[p].name;
        if (items[p].storage.codec < 0 || bb_product_pipeline_searches(&items[p]) ||
            !bb_codec_check(&items[p].storage, (bb_row_scale)items[p].scale, sentence,
                            sizeof sentence) ||
            needs_covariance(&items[p].storage) != NULL) {
            continue;
        }
        const char *absent = find_absence(&items[p], study_device);
        const int wish = bb_device_choice_wish(study_device, items[p].device);
        if (absent != NULL) {
            (void)snprintf(gaps.reasons[p], sizeof gaps.reasons[p], "with device %s: %s",
                           bb_device_names[wish], absent);
        }
    }
    return bb_device_choice_refuse(&gaps, config, problems);
}

static bb_status check_sums(const bb_product_pipeline *pipeline, bb_index index, int study_device,
                            const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_TRY(bb_study_refuse(
        pipeline->accumulate > pipeline->multiply, config, problems,
        "pipelines.%td.accumulate = %s: expected sums no narrower than the products, %s", index,
        bb_working_format_names[pipeline->accumulate],
        bb_working_format_names[pipeline->multiply]));
    bool mixed =
        pipeline->multiply == (int)BB_FORMAT_FP32 && pipeline->accumulate == (int)BB_FORMAT_FP64;
    if (pipeline->accumulate_run != 1 &&
        (!mixed || pipeline->accumulate_run % BB_GEMV_RUN_STEP != 0)) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "pipelines.%td.accumulate_run = %td: expected 1 or, for products in "
                               "fp32 and sums in fp64, a multiple of %d",
                               index, pipeline->accumulate_run, (int)BB_GEMV_RUN_STEP));
    } else if (runs_on_opencl(pipeline, study_device)) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "pipelines.%td.accumulate_run = %td with device opencl: it adds "
                               "every product separately, expected 1",
                               index, pipeline->accumulate_run));
    }
done:
    return status;
}

// Checks an explicit storage together with its dependent keys.
static bb_status check_given(const bb_product_pipeline *pipeline, bb_index index,
                             const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_TRY(bb_study_refuse(
        lacks_runs(pipeline), config, problems,
        "pipelines.%td.accumulate_run = %td: storage %s has a fixed order of sums, expected 1",
        index, pipeline->accumulate_run, bb_codec_name(pipeline->storage.codec)));
    BB_TRY(check_storage(pipeline, index, config, problems));
    BB_TRY(bb_study_refuse(lacks_draws(pipeline), config, problems,
                           "pipelines.%td.draws = %td: this storage has data-dependent scales, so "
                           "all draws are identical; expected 1",
                           index, pipeline->draws));
done:
    return status;
}

static bb_status check_one(const bb_product_pipeline *pipeline, bb_index index, int study_device,
                           const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[64];
    BB_TRY(check_sums(pipeline, index, study_device, config, problems));
    if (pipeline->storage.codec >= 0 && !bb_product_pipeline_searches(pipeline)) {
        BB_TRY(check_given(pipeline, index, config, problems));
    } else if (!bb_product_pipeline_searches(pipeline)) {
        (void)snprintf(path, sizeof path, "pipelines.%td", index);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "%s.storage: missing; expected a codec, or max_loss (wafer)", path));
    }
done:
    return status;
}

bb_status bb_product_pipelines_check(const bb_list *pipelines, int study_device,
                                     const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *items = pipelines->items;
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    BB_TRY(bb_study_refuse(pipelines->count > BB_STUDY_PIPELINES, config, problems,
                           "pipelines: %td, expected at most %d", pipelines->count,
                           BB_STUDY_PIPELINES));
    bb_index count = list_facts(pipelines, facts);
    BB_TRY(bb_study_check_pipelines(facts, count, "storage, multiply and accumulate fp64", config,
                                    problems));
    for (bb_index p = 0; p < count; ++p) {
        BB_TRY(check_one(&items[p], p, study_device, config, problems));
    }
    BB_TRY(check_devices(pipelines, count, study_device, config, problems));
done:
    return status;
}

bb_status bb_product_pipelines_refuse_wafer_keys(const bb_list *pipelines, const bb_config *config,
                                                 bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *items = pipelines->items;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        BB_TRY(bb_study_refuse(
            !bb_delivery_on_time(&items[p].delivery), config, problems,
            "pipelines.%td.delivery: only experiment wafer has corrections to deliver", p));
        for (int s = 0; s < BB_CHAIN_STAGES; ++s) {
            BB_TRY(bb_study_refuse(
                bb_stage_formats_narrow((bb_chain_stage)s, &items[p].stages[s]), config, problems,
                "pipelines.%td.%s: only experiment wafer has this stage before the product", p,
                bb_chain_stage_names[s]));
        }
        BB_TRY(bb_study_refuse(
            bb_product_pipeline_searches(&items[p]) || items[p].search.codecs.count > 0 ||
                items[p].search.stages.count > 0,
            config, problems, "pipelines.%td.%s: only experiment wafer has a loss in nm to bound",
            p, bb_product_pipeline_searches(&items[p]) ? "max_loss" : "search"));
    }
done:
    return status;
}

// Creates the operator. `context` is for a device with assembled kernels; NULL: the device has its
// own.
static bb_status make_operator(const bb_product_pipeline *pipeline, bb_device *device,
                               bb_kernel_context *context, const bb_coded_matrix *matrix,
                               bb_coded_operator **out)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic arithmetic = {(bb_format)pipeline->multiply,
                                           (bb_format)pipeline->accumulate};
    BB_TRY(context != NULL ? bb_coded_operator_assemble(context, matrix, arithmetic, out)
                           : bb_coded_operator_create(device, matrix, arithmetic, out));
    BB_TRY(bb_coded_operator_sum_in_runs(*out, pipeline->accumulate_run));
done:
    return status;
}

bb_status bb_product_pipeline_operator(const bb_product_pipeline *pipeline, bb_device *device,
                                       const bb_coded_matrix *matrix, bb_coded_operator **out)
{
    return make_operator(pipeline, device, NULL, matrix, out);
}

bb_status bb_product_pipeline_operator_there(const bb_product_pipeline *pipeline, bb_device *device,
                                             struct bb_device_matrix **matrix,
                                             bb_coded_operator **out)
{
    bb_status status = BB_OK;
    const bb_gemv_arithmetic arithmetic = {(bb_format)pipeline->multiply,
                                           (bb_format)pipeline->accumulate};
    BB_TRY(bb_coded_operator_of_device_matrix(device, matrix, arithmetic, out));
    BB_TRY(bb_coded_operator_sum_in_runs(*out, pipeline->accumulate_run));
done:
    return status;
}

bb_status bb_product_devices_operator(const bb_product_devices *devices, bb_device_kind kind,
                                      const bb_product_pipeline *pipeline,
                                      const bb_coded_matrix *matrix, bb_coded_operator **out)
{
    return make_operator(pipeline, devices->opened[kind], devices->contexts[kind], matrix, out);
}

static bb_device_offer offer_of(const bb_product_pipeline *pipeline)
{
    bb_device_offer offer = {.work = "the matrix-vector product"};
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        if (bb_codec_absent(&pipeline->storage, (bb_device_kind)kind) == NULL) {
            offer.kinds |= BB_DEVICE_OFFER(kind);
        }
    }
    return offer;
}

bb_device_kind bb_product_pipeline_device(const bb_product_pipeline *pipeline, int study_device)
{
    const bb_device_offer offer = offer_of(pipeline);
    return bb_device_choice_resolve(&offer, bb_device_choice_wish(study_device, pipeline->device));
}

bb_status bb_product_devices_vary(bb_product_devices *devices, const bb_kernel_keys *kernels,
                                  const bb_kernel_wish *wish)
{
    return bb_kernel_variants_create(kernels, wish, &devices->variants);
}

bb_index bb_product_devices_ordinal(bb_device_kind kind)
{
    const bb_index count = kind == BB_DEVICE_CUDA ? bb_device_count(kind, NULL, 0) : 1;
    return count > 1 ? bb_team_joined()->rank % count : 0;
}

bb_status bb_product_devices_open(bb_product_devices *devices, const bb_product_pipeline *pipeline,
                                  int study_device, bb_device_kind *out)
{
    const bb_device_offer offer = offer_of(pipeline);
    bb_status status = BB_OK;
    BB_TRY(bb_device_choice_make(&offer, study_device, pipeline->device, out));
    if (devices->opened[*out] == NULL) {
        BB_TRY(bb_device_open(*out, bb_product_devices_ordinal(*out), &devices->opened[*out]));
    }
    if (*out == BB_DEVICE_OPENCL && devices->contexts[*out] == NULL) {
        BB_TRY(bb_kernel_context_create(devices->opened[*out], &devices->contexts[*out]));
        BB_TRY(bb_kernel_variants_join(devices->variants, devices->contexts[*out]));
    }
done:
    return status;
}

void bb_product_devices_close(bb_product_devices *devices)
{
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        bb_kernel_context_destroy(&devices->contexts[kind]);
        bb_device_close(&devices->opened[kind]);
    }
    bb_kernel_variants_destroy(&devices->variants);
}
