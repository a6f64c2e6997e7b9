// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage_promise.h"

#include "core/log.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>

enum { SENTENCE_BYTES = 240, PATH_BYTES = 96 };

bb_codec_config bb_storage_ladder_storage(const bb_storage_ladder *ladder, int step)
{
    return ladder->ladder == NULL ? ladder->storage
                                  : bb_codec_ladder_storage(ladder->ladder, &ladder->storage, step);
}

// Appends what is searched of a storage that a user gave or, `filtered`, of a codec by itself, of
// which only what the pipeline takes remains.
static bb_index add(const bb_product_pipeline *pipeline, const bb_codec_config *storage,
                    int study_device, bool filtered, bb_storage_ladder *out)
{
    const bb_row_scale scale = (bb_row_scale)pipeline->scale;
    char sentence[SENTENCE_BYTES];
    bb_index count = 0;
    if (!filtered && bb_codec_check(storage, scale, sentence, sizeof sentence)) {
        out[0] = (bb_storage_ladder){*storage, NULL, 0, 1};
        return 1;
    }
    for (int i = 0; bb_codec_ladder_of(storage, i) != NULL; ++i) {
        const bb_codec_ladder *ladder = bb_codec_ladder_of(storage, i);
        const int first = bb_codec_ladder_first(ladder, storage, scale);
        out[count] = (bb_storage_ladder){*storage, ladder, first, ladder->steps};
        bb_product_pipeline record = *pipeline;
        record.storage = bb_storage_ladder_storage(&out[count], ladder->steps - 1);
        count += first < ladder->steps &&
                 (!filtered ||
                  bb_product_pipeline_takes(&record, study_device, sentence, sizeof sentence));
    }
    return count;
}

bb_index bb_storage_promise_list(const bb_product_pipeline *pipeline, int study_device,
                                 bb_storage_ladder *out)
{
    const bb_list *codecs = &pipeline->promise.codecs;
    const bb_index room = BB_STORAGE_PROMISE_LADDERS - BB_CODEC_LADDERS;
    bb_index count = 0;
    if (!bb_product_pipeline_promises(pipeline)) {
        return 0;
    }
    for (bb_index c = 0; c < codecs->count && count <= room; ++c) {
        count += add(pipeline, (const bb_codec_config *)codecs->items + c, study_device, false,
                     out + count);
    }
    for (int codec = 0; codecs->count == 0 && codec < bb_codec_count() && count <= room; ++codec) {
        bb_codec_config storage = bb_codec_plain(BB_FORMAT_FP64);
        storage.codec = codec;
        count += add(pipeline, &storage, study_device, true, out + count);
    }
    return count;
}

bb_product_pipeline bb_storage_promise_first(const bb_product_pipeline *pipeline, int study_device)
{
    bb_product_pipeline record = *pipeline;
    bb_storage_ladder ladders[BB_STORAGE_PROMISE_LADDERS];
    if (bb_storage_promise_list(pipeline, study_device, ladders) > 0) {
        record.storage = bb_storage_ladder_storage(&ladders[0], ladders[0].steps - 1);
    }
    return record;
}

int bb_storage_ladder_trials(const bb_storage_ladder *ladder)
{
    int trials = 0;
    for (int steps = ladder->steps - ladder->first; steps > 0; steps /= 2) {
        ++trials;
    }
    return trials;
}

// One codec of the list: it has ladders or is whole, and the pipeline takes it.
static bb_status check_codec(const bb_product_pipeline *pipeline, bb_index index, bb_index codec,
                             int study_device, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_codec_config *storage =
        (const bb_codec_config *)pipeline->promise.codecs.items + codec;
    char path[PATH_BYTES];
    char sentence[SENTENCE_BYTES] = "";
    bb_storage_ladder ladders[BB_CODEC_LADDERS];
    bb_product_pipeline record = *pipeline;
    const bb_index count = add(pipeline, storage, study_device, false, ladders);
    (void)snprintf(path, sizeof path, "pipelines.%td.promise.codecs.%td", index, codec);
    if (count == 0) {
        (void)bb_codec_check(storage, (bb_row_scale)pipeline->scale, sentence, sizeof sentence);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path), "%s.%s", path, sentence));
        goto done;
    }
    record.storage = bb_storage_ladder_storage(&ladders[0], ladders[0].steps - 1);
    BB_TRY(bb_study_refuse(
        !bb_product_pipeline_takes(&record, study_device, sentence, sizeof sentence), config,
        problems, "%s: %s", path, sentence));
done:
    return status;
}

static bb_status check_promise(const bb_product_pipeline *pipeline, bb_index index,
                               int study_device, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_list *codecs = &pipeline->promise.codecs;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "pipelines.%td.promise", index);
    BB_TRY(bb_study_refuse(isnan(pipeline->promise.price), config, problems,
                           "%s.price: missing; expected the largest price beside codecs", path));
    BB_TRY(bb_study_refuse(pipeline->storage.codec >= 0, config, problems,
                           "%s: it finds the storage, expected no pipelines.%td.storage beside it",
                           path, index));
    if (codecs->count > BB_STORAGE_PROMISE_CODECS) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "%s.codecs: %td, expected at most %d", path, codecs->count,
                               (int)BB_STORAGE_PROMISE_CODECS));
    }
    for (bb_index c = 0; c < codecs->count; ++c) {
        BB_TRY(check_codec(pipeline, index, c, study_device, config, problems));
    }
done:
    return status;
}

bb_status bb_storage_promises_check(const bb_list *pipelines, int study_device,
                                    const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *items = pipelines->items;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (bb_product_pipeline_promises(&items[p])) {
            BB_TRY(check_promise(&items[p], p, study_device, config, problems));
        }
    }
done:
    return status;
}

// The search of one pipeline.
typedef struct promised {
    bb_promise_search search;
    bb_storage_ladder ladders[BB_STORAGE_PROMISE_LADDERS];
    bb_promise_bisection bisections[BB_STORAGE_PROMISE_LADDERS];
    bb_index ladder_count;
    bb_storage_search *searches;
    bb_codec_config found;
} promised;

struct bb_storage_search {
    const bb_product_pipeline *pipelines;
    bb_index pipeline_count;
    promised *promises;      // [count]
    bb_index count;          // of pipelines that promise
    bb_storage_trial *tried; // [ladders of all] of a pass
    bb_promise_trials *trials;
    const bb_storage_search_task *task;
    bb_index current; // trial that is taken
};

// What a search was given comes into its place.
static void adopt(void *context)
{
    promised *promise = context;
    promise->found = promise->searches->tried[promise->searches->current].record.storage;
    promise->searches->task->adopt(promise->searches->task->context, promise->searches->current,
                                   promise->search.pipeline);
}

static void start(bb_storage_search *searches, bb_index p, int study_device, promised *out)
{
    const bb_product_pipeline *pipeline = &searches->pipelines[p];
    out->search = (bb_promise_search){.pipeline = p,
                                      .name = pipeline->name,
                                      .limit = pipeline->promise.price,
                                      .context = out,
                                      .adopt = adopt};
    out->searches = searches;
    out->ladder_count = bb_storage_promise_list(pipeline, study_device, out->ladders);
    for (bb_index i = 0; i < out->ladder_count; ++i) {
        out->bisections[i] =
            (bb_promise_bisection){out->ladders[i].first - 1, out->ladders[i].steps};
    }
}

bb_status bb_storage_search_create(const bb_list *pipelines, int study_device,
                                   bb_storage_search **out)
{
    bb_status status = BB_OK;
    bb_storage_search *search = NULL;
    bb_index ladders = 0;
    bb_index trials = 0;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &search));
    search->pipelines = pipelines->items;
    search->pipeline_count = pipelines->count;
    BB_TRY(BB_ZEROED(pipelines->count, &search->promises));
    for (bb_index p = 0; p < pipelines->count; ++p) {
        promised *promise = &search->promises[search->count];
        if (!bb_product_pipeline_promises(&search->pipelines[p])) {
            continue;
        }
        start(search, p, study_device, promise);
        ladders += promise->ladder_count;
        for (bb_index i = 0; i < promise->ladder_count; ++i) {
            trials += bb_storage_ladder_trials(&promise->ladders[i]);
        }
        ++search->count;
    }
    BB_TRY(BB_ZEROED(ladders, &search->tried));
    BB_TRY(bb_promise_trials_create(trials, &search->trials));
    *out = search;
    search = NULL;
done:
    bb_storage_search_destroy(&search);
    return status;
}

void bb_storage_search_destroy(bb_storage_search **search)
{
    if (*search != NULL) {
        BB_RELEASE(&(*search)->promises);
        BB_RELEASE(&(*search)->tried);
        bb_promise_trials_destroy(&(*search)->trials);
        BB_RELEASE(search);
    }
}

bool bb_storage_search_wanted(const bb_storage_search *search)
{
    return search->count > 0;
}

// The candidates of the next pass, in the order of pipelines and ladders; returns how many.
static bb_index list_trials(bb_storage_search *search)
{
    bb_index count = 0;
    for (bb_index p = 0; p < search->count; ++p) {
        const promised *promise = &search->promises[p];
        for (bb_index i = 0; i < promise->ladder_count; ++i) {
            const int step = bb_promise_bisection_step(&promise->bisections[i]);
            if (step >= 0) {
                bb_storage_trial *trial = &search->tried[count++];
                trial->pipeline = promise->search.pipeline;
                trial->record = search->pipelines[trial->pipeline];
                trial->record.storage = bb_storage_ladder_storage(&promise->ladders[i], step);
                trial->price = trial->bytes = NAN;
            }
        }
    }
    return count;
}

// Prices into the searches, in the same order.
static bb_status take_trials(bb_storage_search *search)
{
    bb_status status = BB_OK;
    char name[BB_PROMISE_NAME];
    search->current = 0;
    for (bb_index p = 0; p < search->count; ++p) {
        promised *promise = &search->promises[p];
        promise->search.trials = search->trials;
        for (bb_index i = 0; i < promise->ladder_count; ++i) {
            if (bb_promise_bisection_step(&promise->bisections[i]) < 0) {
                continue;
            }
            const bb_storage_trial *trial = &search->tried[search->current];
            const bb_promise_candidate candidate = {name, trial->record.storage.tolerance_of_range,
                                                    NULL};
            bool kept = false;
            bb_codec_describe(&trial->record.storage, name, sizeof name);
            BB_TRY(
                bb_promise_take(&promise->search, &candidate, trial->price, trial->bytes, &kept));
            bb_promise_bisection_take(&promise->bisections[i], kept);
            ++search->current;
        }
    }
done:
    return status;
}

bb_status bb_storage_search_run(bb_storage_search *search, const bb_storage_search_task *task)
{
    bb_status status = BB_OK;
    search->task = task;
    bb_index count = list_trials(search);
    for (; count > 0; count = list_trials(search)) {
        BB_TRY(task->compute(task->context, search->tried, count));
        BB_TRY(take_trials(search));
    }
done:
    return status;
}

bool bb_storage_search_found(const bb_storage_search *search, bb_index pipeline, const char *unit,
                             bb_codec_config *storage, bb_outcome *outcome)
{
    const promised *promise = search->promises;
    while (promise->search.pipeline != pipeline) {
        ++promise;
    }
    const bb_promise_search *found = &promise->search;
    if (!found->found) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_CONVERGED,
                       "promise of %g %s: not kept by any of %td trials", found->limit, unit,
                       found->trial_count);
        return false;
    }
    *storage = promise->found;
    *outcome = (bb_outcome){.kind = BB_OUTCOME_OK};
    (void)snprintf(outcome->detail, sizeof outcome->detail,
                   "promise of %g %s kept: %s, %.3g %s, %.4g MB, %td trials", found->limit, unit,
                   found->best.name, found->best.price, unit, 1e-6 * found->best.cost,
                   found->trial_count);
    bb_log_info("pipeline %s: %s", found->name, outcome->detail);
    return true;
}

bb_status bb_storage_search_publish(const bb_storage_search *search, const bb_output_table *price,
                                    bb_results *results)
{
    const bb_promise_tables tables = {&bb_promise_storages, price};
    const char *names[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < search->pipeline_count; ++p) {
        names[p] = search->pipelines[p].name;
    }
    return bb_promise_trials_publish(search->trials, names, &tables, results);
}
