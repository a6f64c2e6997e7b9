// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_promise.h"

#include "core/memory.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/overlay/wafer_draws.h"

#include <math.h>
#include <string.h>

enum { POINTS_LEAST = 2 }; // of a sigma

static void release_tried(bb_wafer_promises *promises)
{
    for (bb_index t = 0; promises->tried != NULL && t < promises->tried_count; ++t) {
        bb_wafer_evaluation_release(&promises->tried[t]);
    }
    BB_RELEASE(&promises->tried);
}

bb_status bb_wafer_promises_open(const bb_wafer_study *study, bb_product_devices *devices,
                                 bb_wafer_evaluation *evaluations, bb_wafer_promises *out)
{
    bb_status status = BB_OK;
    const bb_index count = study->pipelines.count;
    *out = (bb_wafer_promises){
        .asked = study, .study = *study, .devices = devices, .evaluations = evaluations};
    BB_TRY(BB_ALLOCATE(count, &out->pipelines));
    memcpy(out->pipelines, study->pipelines.items, (size_t)count * sizeof *out->pipelines);
    out->study.pipelines.items = out->pipelines;
    BB_TRY(bb_storage_search_create(&study->pipelines, study->common.device, &out->search));
done:
    return status;
}

void bb_wafer_promises_release(bb_wafer_promises *promises)
{
    release_tried(promises);
    bb_wafer_pass_release(&promises->pass);
    bb_storage_search_destroy(&promises->search);
    BB_RELEASE(&promises->pipelines);
}

// A pipeline as the study has it.
static const bb_product_pipeline *asked_pipeline(const bb_wafer_promises *promises, bb_index p)
{
    return (const bb_product_pipeline *)promises->asked->pipelines.items + p;
}

// Pipelines without a promise; returns how many.
static bb_index list_ordinary(const bb_wafer_promises *promises, bb_wafer_task *tasks)
{
    bb_index count = 0;
    for (bb_index p = 0; p < promises->study.pipelines.count; ++p) {
        if (!bb_product_pipeline_promises(asked_pipeline(promises, p))) {
            tasks[count++] =
                (bb_wafer_task){asked_pipeline(promises, p), &promises->evaluations[p]};
        }
    }
    return count;
}

// Price and bytes of a candidate that was computed.
static bb_status find_price(const bb_wafer_promises *promises,
                            const bb_wafer_evaluation *evaluation, bb_storage_trial *trial)
{
    bb_status status = BB_OK;
    const bb_wafer_pass *pass = &promises->pass;
    const bb_list *axes = &pass->study->response.axes;
    const bb_wafer_overlay overlay = {
        .study = pass->study,
        .problem = pass->problem,
        .reference = &promises->evaluations[pass->reference - asked_pipeline(promises, 0)]};
    bb_draws draws = {0};
    BB_TRY(bb_wafer_draws_find(&overlay, evaluation, &draws));
    trial->price = bb_draws_worst(&draws);
    trial->bytes = 0.0;
    for (bb_index a = 0; a < axes->count; ++a) {
        trial->bytes += evaluation->coding[((const int *)axes->items)[a]].bytes;
    }
done:
    return status;
}

// One pass: the candidates, and all that is no candidate where it is the first.
static bb_status compute(void *context, bb_storage_trial *trials, bb_index count)
{
    bb_status status = BB_OK;
    bb_wafer_promises *promises = context;
    const bb_wafer_pass *pass = &promises->pass;
    bb_wafer_task *tasks = NULL;
    bb_index ordinary = 0;
    release_tried(promises);
    promises->tried_count = count;
    BB_TRY(BB_ZEROED(count, &promises->tried));
    BB_TRY(BB_ALLOCATE(promises->study.pipelines.count + count, &tasks));
    ordinary = pass->referred ? 0 : list_ordinary(promises, tasks);
    for (bb_index t = 0; t < count; ++t) {
        const bb_product_pipeline *record = &trials[t].record;
        bb_wafer_evaluation *evaluation = &promises->tried[t];
        evaluation->common = bb_evaluation_start(record->name);
        BB_TRY(bb_product_devices_open(promises->devices, record, pass->study->common.device,
                                       &evaluation->common.device));
        BB_TRY(
            bb_wafer_evaluation_create(pass->study, pass->problem, record->draws - 1, evaluation));
        tasks[ordinary + t] = (bb_wafer_task){record, evaluation};
    }
    BB_TRY(bb_wafer_pass_run(&promises->pass, tasks, ordinary + count));
    for (bb_index t = 0; t < ordinary + count; ++t) {
        BB_TRY(bb_lot_overlay_centre(pass->study, pass->problem, tasks[t].evaluation));
    }
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(find_price(promises, &promises->tried[t], &trials[t]));
    }
done:
    BB_RELEASE(&tasks);
    return status;
}

static void adopt(void *context, bb_index trial, bb_index pipeline)
{
    bb_wafer_promises *promises = context;
    bb_wafer_evaluation_release(&promises->evaluations[pipeline]);
    promises->evaluations[pipeline] = promises->tried[trial];
    promises->tried[trial] = (bb_wafer_evaluation){0};
}

// A promise that was not kept leaves no numbers.
static bb_status leave_unset(bb_wafer_promises *promises, bb_index pipeline,
                             const bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_wafer_pass *pass = &promises->pass;
    const bb_index points = pass->problem->point_count;
    bb_wafer_evaluation *evaluation = &promises->evaluations[pipeline];
    BB_TRY(bb_wafer_evaluation_create(pass->study, pass->problem,
                                      asked_pipeline(promises, pipeline)->draws - 1, evaluation));
    evaluation->common.outcome = *outcome;
    bb_wafer_evaluation_unset(evaluation, points);
    for (bb_index d = 0; d < evaluation->drawn_count; ++d) {
        evaluation->drawn[d].common.outcome = *outcome;
        bb_wafer_evaluation_unset(&evaluation->drawn[d], points);
    }
done:
    return status;
}

// What the searches came to, into study and evaluations; of too few points they were not made.
static bb_status take_found(bb_wafer_promises *promises)
{
    bb_status status = BB_OK;
    const bb_index points = promises->pass.problem->point_count;
    for (bb_index p = 0; p < promises->study.pipelines.count; ++p) {
        bb_outcome outcome = {0};
        bool found = false;
        if (!bb_product_pipeline_promises(asked_pipeline(promises, p))) {
            continue;
        }
        if (points < POINTS_LEAST) {
            bb_outcome_set(&outcome, BB_OUTCOME_UNDERDETERMINED,
                           "promise: no sigma from %td scored point", points);
        } else {
            found = bb_storage_search_found(promises->search, p, "nm",
                                            &promises->pipelines[p].storage, &outcome);
        }
        if (found) {
            promises->evaluations[p].common.outcome = outcome;
        } else {
            BB_TRY(leave_unset(promises, p, &outcome));
        }
    }
done:
    return status;
}

bb_status bb_wafer_promises_compute(bb_wafer_promises *promises, bb_wafer_problem *problem,
                                    const bb_wafer_heating *heating)
{
    bb_status status = BB_OK;
    const bb_storage_search_task task = {promises, compute, adopt};
    const bool searches =
        bb_storage_search_wanted(promises->search) && problem->point_count >= POINTS_LEAST;
    BB_TRY(bb_wafer_pass_open(promises->asked, problem, heating, promises->devices, searches,
                              &promises->pass));
    BB_TRY(searches ? bb_storage_search_run(promises->search, &task) : compute(promises, NULL, 0));
    BB_TRY(take_found(promises));
done:
    return status;
}

static const bb_output outputs[] = {
    {"overlay_error_nm", "trial", "nm", "price: largest of the draws, as price_worst",
     .note = "of wafer; NaN where a draw failed", .member = offsetof(bb_promise_row, price)},
};

const bb_output_table bb_wafer_promise_outputs = {
    .title = bb_promise_title, .group = "promise", .axes = "trial", BB_OUTPUT_ROWS(outputs)};

bb_status bb_wafer_promises_publish(const bb_wafer_promises *promises, bb_results *results)
{
    return bb_storage_search_publish(promises->search, &bb_wafer_promise_outputs, results);
}

bb_status bb_wafer_promises_measure(const bb_wafer_study *study, bb_wafer_promises_extent *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *asked = study->pipelines.items;
    bb_storage_ladder ladders[BB_STORAGE_PROMISE_LADDERS];
    bb_index count = 0;
    *out = (bb_wafer_promises_extent){.study = *study, .passes = 1.0};
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        count += 1 + bb_storage_promise_list(&asked[p], study->common.device, ladders);
    }
    BB_TRY(BB_ALLOCATE(count, &out->pipelines));
    count = 0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_index searched = bb_storage_promise_list(&asked[p], study->common.device, ladders);
        if (searched == 0) {
            out->pipelines[count++] = asked[p];
        }
        out->searches = out->searches || searched > 0;
        out->held_draws += (double)(asked[p].draws * (1 + searched));
        for (bb_index i = 0; i < searched; ++i) {
            const int trials = bb_storage_ladder_trials(&ladders[i]);
            bb_product_pipeline *candidate = &out->pipelines[count++];
            *candidate = asked[p];
            candidate->storage = bb_storage_ladder_storage(&ladders[i], ladders[i].steps - 1);
            candidate->draws *= trials;
            out->passes = fmax(out->passes, (double)trials);
        }
    }
    out->study.pipelines = (bb_list){out->pipelines, count};
done:
    return status;
}

bb_status bb_wafer_promises_plan(const bb_wafer_study *study, const bb_product_pipeline *pipeline,
                                 double values, bb_plan *plan)
{
    bb_storage_ladder ladders[BB_STORAGE_PROMISE_LADDERS];
    const bb_index count = bb_storage_promise_list(pipeline, study->common.device, ladders);
    int trials = 0;
    int passes = 0;
    double bytes = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        const bb_codec_config last = bb_storage_ladder_storage(&ladders[i], ladders[i].steps - 1);
        const int those = bb_storage_ladder_trials(&ladders[i]);
        trials += those;
        passes = those > passes ? those : passes;
        bytes = fmax(bytes, bb_codec_bytes_per_value(&last));
    }
    return bb_plan_add(plan, pipeline->name,
                       "promise of %g nm, up to %d trials along %td ladders in %d passes, operator "
                       "at most %.1f MB",
                       pipeline->promise.price, trials, count, passes, 1e-6 * bytes * values);
}
