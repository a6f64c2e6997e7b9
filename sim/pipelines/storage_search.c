// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage_search.h"

#include "core/memory.h"
#include "sim/pipelines/product_pipeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 240, PATH_BYTES = 96, REST_BYTES = 128 };

bb_codec_config bb_storage_ladder_storage(const bb_storage_ladder *ladder, int step)
{
    return ladder->ladder.key == NULL
               ? ladder->storage
               : bb_codec_ladder_storage(&ladder->ladder, &ladder->storage, step);
}

bb_codec_config bb_storage_ladder_widest(const bb_storage_ladder *ladder)
{
    return bb_storage_ladder_storage(ladder, ladder->ladder.steps - 1);
}

int bb_storage_ladder_trials(const bb_storage_ladder *ladder)
{
    int trials = 0;
    for (int steps = ladder->ladder.steps - ladder->first; steps > 0; steps /= 2) {
        ++trials;
    }
    return trials;
}

// Lists ladders with possible steps along the unset keys of a storage; returns their number.
static bb_index list_open(const bb_codec_config *storage, bb_row_scale scale, bool is_fine,
                          bb_storage_ladder *out)
{
    bb_index count = 0;
    for (int i = 0; storage->codec >= 0 && bb_codec_ladder_of(storage, i) != NULL; ++i) {
        const bb_codec_ladder *given = bb_codec_ladder_of(storage, i);
        const bb_codec_ladder ladder = is_fine ? bb_codec_ladder_refine(given) : *given;
        out[count] =
            (bb_storage_ladder){*storage, ladder, bb_codec_ladder_first(&ladder, storage, scale)};
        count += out[count].first < ladder.steps;
    }
    return count;
}

// Lists the candidates of a storage in `search.codecs`: itself if it is complete, else its ladders.
static bb_index list_given(const bb_product_pipeline *pipeline, const bb_codec_config *storage,
                           bb_storage_ladder *out)
{
    const bb_row_scale scale = (bb_row_scale)pipeline->scale;
    char sentence[SENTENCE_BYTES];
    if (bb_codec_check(storage, scale, sentence, sizeof sentence)) {
        out[0] = (bb_storage_ladder){.storage = *storage, .ladder = {.steps = 1}};
        return 1;
    }
    return list_open(storage, scale, false, out);
}

static bool is_supported(const bb_product_pipeline *pipeline, const bb_storage_ladder *ladder,
                         int study_device, char sentence[SENTENCE_BYTES])
{
    bb_product_pipeline record = *pipeline;
    record.storage = bb_storage_ladder_widest(ladder);
    return bb_product_pipeline_allows(&record, study_device, sentence, SENTENCE_BYTES);
}

// Lists the ladders of all codecs that the pipeline supports.
static bb_index list_all(const bb_product_pipeline *pipeline, int study_device,
                         bb_storage_ladder *out)
{
    char sentence[SENTENCE_BYTES];
    bb_index count = 0;
    for (int codec = 0; codec < bb_codec_count(); ++codec) {
        bb_codec_config storage = bb_codec_plain(BB_FORMAT_FP64);
        bb_storage_ladder ladders[BB_CODEC_LADDERS];
        storage.codec = codec;
        const bb_index own = list_open(&storage, (bb_row_scale)pipeline->scale, false, ladders);
        for (bb_index i = 0; i < own && count < BB_STORAGE_SEARCH_LADDERS; ++i) {
            out[count] = ladders[i];
            count += is_supported(pipeline, &ladders[i], study_device, sentence);
        }
    }
    return count;
}

bb_index bb_storage_search_list(const bb_product_pipeline *pipeline, int study_device,
                                bb_storage_ladder *out)
{
    const bb_list *codecs = &pipeline->search.codecs;
    const bb_index room = BB_STORAGE_SEARCH_LADDERS - BB_CODEC_LADDERS;
    bb_index count = 0;
    if (!bb_product_pipeline_searches(pipeline)) {
        return 0;
    }
    if (codecs->count == 0) {
        return list_all(pipeline, study_device, out);
    }
    for (bb_index c = 0; c < codecs->count && count <= room; ++c) {
        count += list_given(pipeline, (const bb_codec_config *)codecs->items + c, out + count);
    }
    return count;
}

bb_product_pipeline bb_storage_search_first(const bb_product_pipeline *pipeline, int study_device)
{
    bb_product_pipeline record = *pipeline;
    bb_storage_ladder ladders[BB_STORAGE_SEARCH_LADDERS];
    if (bb_storage_search_list(pipeline, study_device, ladders) > 0) {
        record.storage = bb_storage_ladder_widest(&ladders[0]);
    }
    return record;
}

// Checks a codec of the list: it must have ladders or be complete, and the pipeline must support
// it.
static bb_status check_codec(const bb_product_pipeline *pipeline, bb_index index, bb_index codec,
                             int study_device, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_codec_config *storage = (const bb_codec_config *)pipeline->search.codecs.items + codec;
    char path[PATH_BYTES];
    char sentence[SENTENCE_BYTES] = "";
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    (void)snprintf(path, sizeof path, "pipelines.%td.search.codecs.%td", index, codec);
    if (list_given(pipeline, storage, ladders) == 0) {
        (void)bb_codec_check(storage, (bb_row_scale)pipeline->scale, sentence, sizeof sentence);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "%s.%s", path, sentence));
        goto done;
    }
    BB_TRY(bb_study_refuse(!is_supported(pipeline, &ladders[0], study_device, sentence), config,
                           problems, "%s: %s", path, sentence));
done:
    return status;
}

static bb_status check_search(const bb_product_pipeline *pipeline, bb_index index, int study_device,
                              const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_list *codecs = &pipeline->search.codecs;
    BB_TRY(bb_study_refuse(
        pipeline->storage.codec >= 0, config, problems,
        "pipelines.%td.max_loss selects the storage: remove pipelines.%td.storage", index, index));
    BB_TRY(bb_study_refuse(codecs->count > BB_STORAGE_SEARCH_CODECS, config, problems,
                           "pipelines.%td.search.codecs: %td, expected at most %d", index,
                           codecs->count, (int)BB_STORAGE_SEARCH_CODECS));
    for (bb_index c = 0; c < codecs->count; ++c) {
        BB_TRY(check_codec(pipeline, index, c, study_device, config, problems));
    }
    for (bb_index i = 0; i < pipeline->search.stages.count; ++i) {
        const int stage = ((const int *)pipeline->search.stages.items)[i];
        BB_TRY(bb_study_refuse(
            bb_stage_formats_narrow((bb_chain_stage)stage, &pipeline->stages[stage]), config,
            problems,
            "pipelines.%td.search.stages selects the formats of %s: remove pipelines.%td.%s", index,
            bb_chain_stage_names[stage], index, bb_chain_stage_names[stage]));
    }
done:
    return status;
}

bb_status bb_storage_searches_check(const bb_list *pipelines, int study_device,
                                    const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *items = pipelines->items;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (bb_product_pipeline_searches(&items[p])) {
            BB_TRY(check_search(&items[p], p, study_device, config, problems));
        }
        BB_TRY(bb_study_refuse(!bb_product_pipeline_searches(&items[p]) &&
                                   items[p].search.codecs.count + items[p].search.stages.count > 0,
                               config, problems,
                               "pipelines.%td.search: no effect without pipelines.%td.max_loss, "
                               "the largest loss in nm",
                               p, p));
    }
done:
    return status;
}

// Formats of a stage by increasing bytes; at equal bytes the coarser format is first. The step
// after the last one is fp64.
static const bb_format stage_ladder[] = {BB_FORMAT_BF16, BB_FORMAT_FP16, BB_FORMAT_TF32,
                                         BB_FORMAT_FP32};
enum { STAGE_STEPS = sizeof stage_ladder / sizeof *stage_ladder };
static const double stage_share = 0.1; // fraction of max_loss for a stage; the storage, which has
                                       // most of the bytes, needs most of the loss

typedef struct searched searched;

// Search of one stage.
typedef struct stage_search {
    bb_search search;
    searched *owner;
    int stage;
} stage_search;

// Search of one pipeline.
struct searched {
    bb_search search;
    bb_storage_search *all;
    bb_codec_config found;
    stage_search stages[BB_CHAIN_STAGES];
    bb_stage_formats formats[BB_CHAIN_STAGES]; // given or found
};

// Ladder of a storage, or of a stage.
typedef struct rungs {
    searched *owner;
    int stage; // -1: storage
    bb_storage_ladder ladder;
} rungs;

struct bb_storage_search {
    const bb_product_pipeline *pipelines;
    const bb_product_pipeline *reference;
    searched *searches;      // [count]
    bb_index count;          // number of searched pipelines
    rungs *ladders;          // [lane_count] stages first, then storages, both in pipeline order
    bb_search_lane *lanes;   // [lane_count]
    bb_storage_trial *tried; // [lane_count] trials of a pass
    bb_product_pipeline *records; // [lane_count] pipelines of those trials
    bb_index lane_count;
    bb_index stage_count;   // number of lanes of stages
    bb_index first, beyond; // active lanes
    bb_search_trials *trials;
    const bb_storage_search_task *task;
    bb_index current; // current trial
    char name[BB_SEARCH_NAME];
};

static void adopt(void *context)
{
    searched *self = context;
    const bb_storage_search *all = self->all;
    self->found = all->tried[all->current].record->storage;
    all->task->adopt(all->task->context, all->current, self->search.pipeline);
}

static void adopt_stage(void *context)
{
    const stage_search *self = context;
    searched *owner = self->owner;
    const bb_storage_search *all = owner->all;
    owner->formats[self->stage] = all->tried[all->current].record->stages[self->stage];
}

static void add_lane(bb_storage_search *all, const rungs *ladder, bb_search *search, int first,
                     int steps)
{
    all->ladders[all->lane_count] = *ladder;
    all->lanes[all->lane_count++] =
        (bb_search_lane){.search = search, .bracket = {first - 1, steps}};
}

// Adds a pipeline's search and the ladders of its stages.
static void add_search(bb_storage_search *all, bb_index p)
{
    const bb_product_pipeline *pipeline = &all->pipelines[p];
    const bb_list *stages = &pipeline->search.stages;
    searched *self = &all->searches[all->count++];
    self->all = all;
    self->search = (bb_search){.trials = all->trials,
                               .pipeline = p,
                               .name = pipeline->name,
                               .max_loss = pipeline->max_loss,
                               .context = self,
                               .adopt = adopt};
    memcpy(self->formats, pipeline->stages, sizeof self->formats);
    for (bb_index i = 0; i < stages->count; ++i) {
        const int stage = ((const int *)stages->items)[i];
        stage_search *part = &self->stages[stage];
        *part = (stage_search){self->search, self, stage};
        part->search.max_loss *= stage_share;
        part->search.context = part;
        part->search.adopt = adopt_stage;
        add_lane(all, &(rungs){.owner = self, .stage = stage}, &part->search, 0, STAGE_STEPS);
    }
    all->stage_count = all->lane_count;
}

// Adds the ladders of a pipeline's storages.
static void add_storages(bb_storage_search *all, searched *self, int study_device)
{
    bb_storage_ladder ladders[BB_STORAGE_SEARCH_LADDERS];
    const bb_index count =
        bb_storage_search_list(&all->pipelines[self->search.pipeline], study_device, ladders);
    for (bb_index i = 0; i < count; ++i) {
        const rungs ladder = {self, -1, ladders[i]};
        add_lane(all, &ladder, &self->search, ladders[i].first, ladders[i].ladder.steps);
    }
}

bb_status bb_storage_search_create(const bb_list *pipelines, int study_device,
                                   bb_storage_search **out)
{
    bb_status status = BB_OK;
    bb_storage_search *search = NULL;
    bb_storage_ladder ladders[BB_STORAGE_SEARCH_LADDERS];
    bb_index lanes = 0;
    bb_index trials = 0;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &search));
    search->pipelines = pipelines->items;
    search->reference = search->pipelines + bb_product_pipelines_reference(pipelines);
    for (bb_index p = 0; p < pipelines->count; ++p) {
        const bb_index count = bb_storage_search_list(&search->pipelines[p], study_device, ladders);
        const bb_index stages = bb_product_pipeline_searches(&search->pipelines[p])
                                    ? search->pipelines[p].search.stages.count
                                    : 0;
        lanes += stages + count;
        trials += stages * BB_STAGE_SEARCH_TRIALS;
        for (bb_index i = 0; i < count; ++i) {
            trials += bb_storage_ladder_trials(&ladders[i]);
        }
    }
    BB_TRY(BB_ZEROED(pipelines->count, &search->searches));
    BB_TRY(BB_ZEROED(lanes, &search->ladders));
    BB_TRY(BB_ZEROED(lanes, &search->lanes));
    BB_TRY(BB_ZEROED(lanes, &search->tried));
    BB_TRY(BB_ALLOCATE(lanes, &search->records));
    BB_TRY(bb_search_trials_create(trials, &search->trials));
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (bb_product_pipeline_searches(&search->pipelines[p])) {
            add_search(search, p);
        }
    }
    for (bb_index s = 0; s < search->count; ++s) {
        add_storages(search, &search->searches[s], study_device);
    }
    *out = search;
    search = NULL;
done:
    bb_storage_search_destroy(&search);
    return status;
}

void bb_storage_search_destroy(bb_storage_search **search)
{
    if (*search != NULL) {
        BB_RELEASE(&(*search)->searches);
        BB_RELEASE(&(*search)->ladders);
        BB_RELEASE(&(*search)->lanes);
        BB_RELEASE(&(*search)->tried);
        BB_RELEASE(&(*search)->records);
        bb_search_trials_destroy(&(*search)->trials);
        BB_RELEASE(search);
    }
}

bool bb_storage_search_wanted(const bb_storage_search *search)
{
    return search->count > 0;
}

// Candidate of a ladder's step.
static bb_product_pipeline candidate_of(const bb_storage_search *all, const rungs *ladder, int step)
{
    bb_product_pipeline record = all->pipelines[ladder->owner->search.pipeline];
    if (ladder->stage >= 0) {
        record.stages[ladder->stage] = (bb_stage_formats){(int)stage_ladder[step], -1};
        return bb_product_pipeline_isolate(&record, all->reference, ladder->stage);
    }
    memcpy(record.stages, ladder->owner->formats, sizeof record.stages);
    record.storage = bb_storage_ladder_storage(&ladder->ladder, step);
    return record;
}

// Computes one pass: a candidate of each unfinished ladder.
static bb_status compute(void *context)
{
    bb_status status = BB_OK;
    bb_storage_search *all = context;
    bb_index count = 0;
    for (bb_index i = all->first; i < all->beyond; ++i) {
        const bb_search_lane *lane = &all->lanes[i];
        if (lane->step >= 0) {
            bb_product_pipeline *record = &all->records[count];
            *record = candidate_of(all, &all->ladders[i], lane->step);
            all->tried[count++] =
                (bb_storage_trial){lane->search->pipeline, all->ladders[i].stage, record, NAN, NAN};
        }
    }
    all->current = -1;
    BB_TRY(all->task->compute(all->task->context, all->tried, count));
done:
    return status;
}

static void read(void *context, bb_index lane, bb_search_candidate *candidate, double *loss,
                 double *cost)
{
    bb_storage_search *all = context;
    const bb_storage_trial *trial = &all->tried[++all->current];
    const bb_codec_config *storage = &trial->record->storage;
    double tolerance = storage->tolerance_of_range;
    (void)lane;
    if (trial->stage >= 0) {
        char formats[SENTENCE_BYTES];
        bb_product_pipeline_describe_stage(trial->record, (bb_chain_stage)trial->stage, formats,
                                           sizeof formats);
        (void)snprintf(all->name, sizeof all->name, "%s %.40s", bb_chain_stage_names[trial->stage],
                       formats);
        tolerance = NAN;
    } else {
        bb_codec_describe(storage, all->name, sizeof all->name);
    }
    *candidate = (bb_search_candidate){all->name, tolerance, NULL};
    *loss = trial->loss;
    *cost = trial->bytes;
}

// Searches lanes [first, beyond).
static bb_status run_lanes(bb_storage_search *search, bb_index first, bb_index beyond)
{
    const bb_search_lanes lanes = {search->lanes + first, beyond - first, search, compute, read};
    search->first = first;
    search->beyond = beyond;
    return bb_search_run_lanes(&lanes);
}

bb_status bb_storage_search_run(bb_storage_search *search, const bb_storage_search_task *task)
{
    bb_status status = BB_OK;
    search->task = task;
    BB_TRY(run_lanes(search, 0, search->stage_count));
    BB_TRY(run_lanes(search, search->stage_count, search->lane_count));
done:
    return status;
}

// Describes the searched stages, such as ", heat bf16, rows fp16 in fp32".
static void describe_stages(const bb_storage_search *all, const searched *self, char *out,
                            size_t bytes)
{
    bb_product_pipeline record = all->pipelines[self->search.pipeline];
    const bb_list *stages = &record.search.stages;
    size_t length = strlen(out);
    memcpy(record.stages, self->formats, sizeof record.stages);
    for (bb_index i = 0; i < stages->count && length < bytes; ++i) {
        const int stage = ((const int *)stages->items)[i];
        char formats[32];
        bb_product_pipeline_describe_stage(&record, (bb_chain_stage)stage, formats, sizeof formats);
        (void)snprintf(out + length, bytes - length, ", %s %s", bb_chain_stage_names[stage],
                       formats);
        length = strlen(out);
    }
}

bool bb_storage_search_found(const bb_storage_search *all, bb_index pipeline, const char *unit,
                             bb_product_pipeline *record, bb_outcome *outcome)
{
    const searched *self = all->searches;
    while (self->search.pipeline != pipeline) {
        ++self;
    }
    const bb_search *search = &self->search;
    char rest[REST_BYTES];
    (void)snprintf(rest, sizeof rest, ", %.4g MB",
                   1e-6 * (search->found ? search->best.cost : search->nearest.cost));
    describe_stages(all, self, rest, sizeof rest);
    bb_search_report(search, unit, rest, outcome);
    if (search->found) {
        record->storage = self->found;
        memcpy(record->stages, self->formats, sizeof record->stages);
    }
    return search->found;
}

static const bb_output outputs[] = {
    {"storage", "trial", NULL, "storage of the trial",
     .note = "wafer and ao; or a stage and its formats, `heat bf16`",
     .member = offsetof(bb_search_row, candidate)},
    {"tolerance", "trial", "1", "tolerance_of_range, NaN for storages without one",
     .note = "wafer and ao", .member = offsetof(bb_search_row, tolerance)},
    {"operator_bytes", "trial", "byte", "bytes of the operator as stored",
     .note = "wafer and ao; for a stage its coefficients and results",
     .member = offsetof(bb_search_row, cost)},
};

const bb_output_table bb_storage_search_outputs = BB_SEARCH_TABLE(outputs);

bb_status bb_storage_search_publish(const bb_storage_search *search, const bb_output_table *losses,
                                    bb_results *results)
{
    return bb_search_trials_publish(search->trials, &search->pipelines->name,
                                    sizeof *search->pipelines, &bb_storage_search_outputs, losses,
                                    results);
}

// Lists the ladders of a factor pipeline's storage, with fine steps; returns their number.
static bb_index list_stored(const bb_factor_pipeline *pipeline,
                            bb_storage_ladder out[BB_CODEC_LADDERS])
{
    return bb_factor_pipeline_finds_storage(pipeline)
               ? list_open(&pipeline->storage, (bb_row_scale)pipeline->row_scale, true, out)
               : 0;
}

bb_factor_pipeline bb_storage_search_widest(const bb_factor_pipeline *pipeline)
{
    bb_factor_pipeline level = *pipeline;
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    if (list_stored(pipeline, ladders) > 0) {
        level.storage = bb_storage_ladder_widest(&ladders[0]);
    }
    return level;
}

double bb_storage_search_trials(const bb_factor_pipeline *pipeline)
{
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    const bb_index count = list_stored(pipeline, ladders);
    double trials = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        const double steps = (double)(ladders[i].ladder.steps - ladders[i].first);
        trials += fmin(steps, BB_SEARCH_GUESSES + 1.0 + floor(log2(steps)));
    }
    return trials * (double)pipeline->draws;
}

bool bb_storage_search_at(const bb_factor_pipeline *pipeline, double step, bb_codec_config *out)
{
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    const bb_index count = list_stored(pipeline, ladders);
    for (bb_index i = 0; i < count; ++i) {
        const int steps = ladders[i].ladder.steps;
        if (step >= (double)ladders[i].first && step < (double)steps) {
            *out = bb_storage_ladder_storage(&ladders[i], (int)step);
            return true;
        }
        step -= (double)steps;
    }
    return false;
}

// Writes why a storage cannot be searched.
static void explain(const bb_factor_pipeline *pipeline, char *out, size_t bytes)
{
    const bb_codec_config *storage = &pipeline->storage;
    char text[SENTENCE_BYTES];
    if (bb_codec_ladder_of(storage, 0) == NULL) {
        (void)snprintf(out, bytes,
                       "%s has neither bits nor a tolerance to search, expected a codec with one, "
                       "such as integer or quantiser",
                       bb_codec_name(storage->codec));
    } else if (bb_codec_check(storage, (bb_row_scale)pipeline->row_scale, text, sizeof text)) {
        bb_codec_describe(storage, text, sizeof text);
        (void)snprintf(
            out, bytes,
            "%s is complete, so there is nothing to search; remove its bits or tolerance", text);
    } else {
        const bb_codec_ladder *ladder = bb_codec_ladder_of(storage, 0);
        const bb_codec_config widest = bb_codec_ladder_storage(ladder, storage, ladder->steps - 1);
        (void)bb_codec_check(&widest, (bb_row_scale)pipeline->row_scale, text, sizeof text);
        (void)snprintf(out, bytes, "%s", text);
    }
}

bb_status bb_storage_search_check_factor(const bb_factor_pipeline *pipeline, bb_index index,
                                         const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    char sentence[2 * SENTENCE_BYTES];
    if (list_stored(pipeline, ladders) == 0) {
        explain(pipeline, sentence, sizeof sentence);
        BB_TRY(bb_study_refuse(true, config, problems, "pipelines[%td].storage with max_loss: %s",
                               index, sentence));
    } else if (pipeline->draws > 1 && !bb_codec_has_draws(&pipeline->storage)) {
        BB_TRY(bb_study_refuse(true, config, problems,
                               "pipelines[%td].draws = %td, expected 1: with max_loss this storage "
                               "has data-dependent steps, so all draws are identical",
                               index, pipeline->draws));
    }
done:
    return status;
}

// State of a search of a factor pipeline's storage.
typedef struct storing {
    const bb_factor_search_task *task;
    const bb_evaluation *solved;
    const bb_storage_ladder *ladder;
    int before;               // number of steps in earlier ladders
    int step;                 // step of the candidate, counted over all ladders
    bb_factor_pipeline level; // current candidate
    char name[BB_SEARCH_NAME];
    bb_evaluation tried; // draw 0 of the candidate
    bb_evaluation found;
    bb_factor_pipeline found_level;
} storing;

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *loss)
{
    bb_status status = BB_OK;
    storing *work = context;
    bb_evaluation drawn = *work->solved;
    bb_factor_loss found = {NAN, NAN};
    BB_TRY(work->task->store(work->task->context, pipeline, draw, &drawn, &found));
    if (draw == 0) {
        work->tried = drawn;
        work->tried.draws = (bb_draws){0};
        work->tried.factor.stored_step = (double)work->step;
    }
    *loss = bb_factor_search_add_draw(work->task, &drawn, &found, &work->tried.draws);
done:
    return status;
}

static double cost(void *context)
{
    const storing *work = context;
    return work->tried.factor.stored_bytes;
}

static void adopt_stored(void *context)
{
    storing *work = context;
    work->found = work->tried;
    work->found_level = work->level;
}

static void make(void *context, int step, bb_search_candidate *out)
{
    storing *work = context;
    work->step = work->before + step;
    work->level.storage = bb_storage_ladder_storage(work->ladder, step);
    bb_codec_describe(&work->level.storage, work->name, sizeof work->name);
    *out = (bb_search_candidate){work->name, work->level.storage.tolerance_of_range, &work->level};
}

bb_status bb_storage_search_run_factor(const bb_factor_search_task *task, bb_evaluation *solved,
                                       bb_factor_pipeline *level)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipeline = &task->pipelines[task->pipeline];
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    const bb_index count = list_stored(pipeline, ladders);
    storing work = {.task = task, .solved = solved, .level = *pipeline};
    bb_search search = bb_factor_search_start(task);
    char rest[REST_BYTES];
    search.context = &work;
    search.evaluate = evaluate;
    search.cost = cost;
    search.adopt = adopt_stored;
    for (bb_index i = 0; i < count; ++i) {
        const bb_search_ladder ladder = {.first = ladders[i].first,
                                         .steps = ladders[i].ladder.steps,
                                         .bit = bb_codec_ladder_bit(&ladders[i].ladder),
                                         .context = &work,
                                         .make = make};
        work.ladder = &ladders[i];
        BB_TRY(bb_search_run_ladder(&search, &ladder));
        work.before += ladder.steps;
    }
    (void)snprintf(rest, sizeof rest, ", %.2f bits per value", work.found.factor.stored_bits);
    bb_search_report(&search, "", search.found ? rest : "", &solved->outcome);
    if (search.found) {
        solved->draws = work.found.draws;
        solved->factor.stored_step = work.found.factor.stored_step;
        *level = work.found_level;
    }
done:
    return status;
}
