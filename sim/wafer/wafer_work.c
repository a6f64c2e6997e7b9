// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_work.h"

#include "core/memory.h"
#include "sim/pipelines/product_coding.h"
#include "sim/wafer/overlay/wafer_overlay.h"

#include <string.h>

enum { POINTS_LEAST = 2, POINT_ARRAYS = 5 }; // points needed for a sigma; arrays per point

bb_status bb_wafer_work_open(const bb_wafer_study *study, bb_wafer_work *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *asked = study->pipelines.items;
    const bb_index count = study->pipelines.count;
    const int device = out->study.common.device;
    BB_TRY(BB_ALLOCATE(count, &out->pipelines));
    memcpy(out->pipelines, asked, (size_t)count * sizeof *out->pipelines);
    out->study.pipelines.items = out->pipelines;
    BB_TRY(BB_ZEROED(count, &out->evaluations));
    BB_TRY(BB_ZEROED(count, &out->chain));
    out->reference = &out->evaluations[bb_product_pipelines_reference(&study->pipelines)];
    for (bb_index p = 0; p < count; ++p) {
        const bb_product_pipeline record = bb_storage_search_first(&asked[p], device);
        out->evaluations[p].common = bb_evaluation_start(asked[p].name);
        BB_TRY(bb_product_devices_open(&out->devices, &record, device,
                                       &out->evaluations[p].common.device));
    }
    const bb_index gpus = bb_device_count(BB_DEVICE_CUDA, NULL, 0);
    BB_REQUIRE(out->reference->common.device != BB_DEVICE_CUDA || study->response.gpus <= gpus,
               BB_DEVICE, "response.gpus: %td, this host has %td", study->response.gpus, gpus);
    BB_TRY(bb_storage_search_create(&study->pipelines, device, &out->search));
done:
    return status;
}

void bb_wafer_work_release(bb_wafer_work *work)
{
    for (bb_index p = 0; work->evaluations != NULL && p < work->study.pipelines.count; ++p) {
        bb_wafer_evaluation_release(&work->evaluations[p]);
    }
    BB_RELEASE(&work->evaluations);
    BB_RELEASE(&work->chain);
    BB_RELEASE(&work->x); // frees the other point arrays, too
    BB_RELEASE(&work->pipelines);
    bb_storage_search_destroy(&work->search);
    bb_wafer_heating_release(&work->heating);
    bb_wafer_problem_destroy(&work->problem);
    bb_product_devices_close(&work->devices);
}

static bb_status gather_points(bb_wafer_work *work)
{
    bb_status status = BB_OK;
    const bb_index points = work->problem->point_count;
    bb_index index = 0;
    BB_TRY(BB_ZEROED(POINT_ARRAYS * points, &work->x));
    work->y = work->x + points;
    work->field_x = work->y + points;
    work->field_y = work->field_x + points;
    work->field = work->field_y + points;
    for (bb_index f = 0; f < work->problem->scored_count; ++f) {
        const bb_dwell *dwell = work->problem->dwells[f];
        for (bb_index i = 0; i < dwell->count; ++i, ++index) {
            work->x[index] = dwell->x[i];
            work->y[index] = dwell->y[i];
            work->field_x[index] = dwell->field.x;
            work->field_y[index] = dwell->field.y;
            work->field[index] = (double)work->problem->scored[f];
        }
    }
done:
    return status;
}

// Passes through the rows: one, or several for a search. The first also computes the pipelines
// without max_loss.
typedef struct passes {
    bb_wafer_work *work;
    bb_wafer_pass pass;
    bb_wafer_evaluation *tried; // [tried_count] candidates of the last pass
    bb_index tried_count;
    bb_chain_tasks stages; // single-stage tasks of a pass
} passes;

static void release_tried(passes *all)
{
    for (bb_index t = 0; all->tried != NULL && t < all->tried_count; ++t) {
        bb_wafer_evaluation_release(&all->tried[t]);
    }
    BB_RELEASE(&all->tried);
}

// Lists the pipelines without max_loss and sets `*count`.
static bb_status list_ordinary(const bb_wafer_work *work, bb_wafer_task *tasks, bb_index *count)
{
    bb_status status = BB_OK;
    for (bb_index p = 0; p < work->study.pipelines.count; ++p) {
        const bb_product_pipeline *pipeline = &work->pipelines[p];
        if (!bb_product_pipeline_searches(pipeline)) {
            BB_TRY(bb_wafer_evaluation_create(&work->study, work->problem, pipeline->draws - 1,
                                              &work->evaluations[p]));
            tasks[(*count)++] = (bb_wafer_task){pipeline, &work->evaluations[p], false};
        }
    }
done:
    return status;
}

// Loss and bytes of a computed candidate.
static bb_status find_loss(const bb_wafer_work *work, const bb_wafer_evaluation *evaluation,
                           bb_storage_trial *trial)
{
    bb_status status = BB_OK;
    const bb_list *axes = &work->study.response.axes;
    bb_draws draws = {0};
    if (trial->stage >= 0) {
        trial->bytes = bb_wafer_work_stage_bytes(work, trial->record, (bb_chain_stage)trial->stage);
        return bb_wafer_overlay_headline(work, evaluation, &trial->loss);
    }
    BB_TRY(bb_wafer_overlay_draws(work, evaluation, &draws));
    trial->loss = bb_draws_worst(&draws);
    trial->bytes = 0.0;
    for (bb_index a = 0; a < axes->count; ++a) {
        trial->bytes += evaluation->coding[((const int *)axes->items)[a]].bytes;
    }
done:
    return status;
}

// Formats of a task's rows encoded as an integer.
static int rows_key(const bb_wafer_task *task)
{
    const bb_stage_formats *rows = &task->pipeline->stages[BB_CHAIN_ROWS];
    return rows->storage * BB_FORMAT_COUNT + (int)bb_stage_formats_arithmetic(BB_CHAIN_ROWS, rows);
}

// Sorts tasks with equal rows next to each other, so that a pass reuses narrow rows for the next
// task.
static void group_by_rows(bb_wafer_task *tasks, bb_index count)
{
    for (bb_index i = 1; i < count; ++i) {
        const bb_wafer_task task = tasks[i];
        bb_index place = i;
        for (; place > 0 && rows_key(&tasks[place - 1]) > rows_key(&task); --place) {
            tasks[place] = tasks[place - 1];
        }
        tasks[place] = task;
    }
}

// Computes tasks, after computing their narrow inputs.
static bb_status run_tasks(passes *all, bb_wafer_task *tasks, bb_index count)
{
    bb_status status = BB_OK;
    bb_wafer_work *work = all->work;
    const bb_product_pipeline **pipelines = NULL; // [count]
    group_by_rows(tasks, count);
    BB_TRY(BB_ALLOCATE(count, &pipelines));
    for (bb_index t = 0; t < count; ++t) {
        pipelines[t] = tasks[t].pipeline;
    }
    BB_TRY(bb_wafer_heating_narrow(work->problem, pipelines, count, &work->heating));
    BB_TRY(bb_wafer_pass_run(&all->pass, tasks, count));
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(bb_wafer_overlay_centre(&work->study, work->problem, tasks[t].evaluation));
    }
done:
    BB_RELEASE(&pipelines);
    return status;
}

// Computes the candidates of a search; the first pass also has the pipelines without max_loss and
// their single-stage tasks.
static bb_status compute(void *context, bb_storage_trial *trials, bb_index count)
{
    bb_status status = BB_OK;
    passes *all = context;
    bb_wafer_work *work = all->work;
    bb_wafer_task *tasks = NULL;
    bb_index listed = 0;
    release_tried(all);
    all->tried_count = count;
    BB_TRY(BB_ZEROED(count, &all->tried));
    if (!all->pass.has_reference) {
        BB_TRY(bb_chain_tasks_list(work, false, &all->stages));
    }
    BB_TRY(BB_ALLOCATE(work->study.pipelines.count + all->stages.count + count, &tasks));
    BB_TRY(all->pass.has_reference ? BB_OK : list_ordinary(work, tasks, &listed));
    bb_chain_tasks_append(&all->stages, tasks, &listed);
    for (bb_index t = 0; t < count; ++t) {
        const bb_product_pipeline *record = trials[t].record;
        bb_wafer_evaluation *evaluation = &all->tried[t];
        evaluation->common = bb_evaluation_start(record->name);
        BB_TRY(bb_product_devices_open(&work->devices, record, work->study.common.device,
                                       &evaluation->common.device));
        BB_TRY(
            bb_wafer_evaluation_create(&work->study, work->problem, record->draws - 1, evaluation));
        tasks[listed++] = (bb_wafer_task){record, evaluation, trials[t].stage >= 0};
    }
    BB_TRY(run_tasks(all, tasks, listed));
    BB_TRY(bb_chain_tasks_score(&all->stages, work));
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(find_loss(work, &all->tried[t], &trials[t]));
    }
done:
    bb_chain_tasks_release(&all->stages);
    BB_RELEASE(&tasks);
    return status;
}

static void copy_result(void *context, bb_index trial, bb_index pipeline)
{
    passes *all = context;
    bb_wafer_evaluation *found = &all->work->evaluations[pipeline];
    bb_wafer_evaluation_release(found);
    *found = all->tried[trial];
    all->tried[trial] = (bb_wafer_evaluation){0};
}

// Sets the results of a search without solution to NaN.
static bb_status unset_result(bb_wafer_work *work, bb_index pipeline, const bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_index points = work->problem->point_count;
    bb_wafer_evaluation *evaluation = &work->evaluations[pipeline];
    BB_TRY(bb_wafer_evaluation_create(&work->study, work->problem,
                                      work->pipelines[pipeline].draws - 1, evaluation));
    evaluation->common.outcome = *outcome;
    bb_wafer_evaluation_unset(evaluation, points);
    for (bb_index d = 0; d < evaluation->drawn_count; ++d) {
        evaluation->drawn[d].common.outcome = *outcome;
        bb_wafer_evaluation_unset(&evaluation->drawn[d], points);
    }
done:
    return status;
}

// Copies the results of searches to study and evaluations; too few points allow no search.
static bb_status copy_found(bb_wafer_work *work)
{
    bb_status status = BB_OK;
    const bb_index points = work->problem->point_count;
    for (bb_index p = 0; p < work->study.pipelines.count; ++p) {
        bb_outcome outcome = {0};
        bool found = false;
        if (!bb_product_pipeline_searches(&work->pipelines[p])) {
            continue;
        }
        if (points < POINTS_LEAST) {
            bb_outcome_set(&outcome, BB_OUTCOME_UNDERDETERMINED,
                           "max_loss: sigma is undefined for %td scored point", points);
        } else {
            found = bb_storage_search_found(work->search, p, " nm", &work->pipelines[p], &outcome);
        }
        if (found) {
            work->evaluations[p].common.outcome = outcome;
        } else {
            BB_TRY(unset_result(work, p, &outcome));
        }
    }
done:
    return status;
}

// Scores the single stages of the pipelines found by searches.
static bb_status score_found(passes *all)
{
    bb_status status = BB_OK;
    bb_wafer_task *tasks = NULL;
    bb_index count = 0;
    BB_TRY(bb_chain_tasks_list(all->work, true, &all->stages));
    if (all->stages.count > 0) {
        BB_TRY(BB_ALLOCATE(all->stages.count, &tasks));
        bb_chain_tasks_append(&all->stages, tasks, &count);
        BB_TRY(run_tasks(all, tasks, count));
        BB_TRY(bb_chain_tasks_score(&all->stages, all->work));
    }
done:
    bb_chain_tasks_release(&all->stages);
    BB_RELEASE(&tasks);
    return status;
}

bb_status bb_wafer_work_compute(bb_wafer_work *work)
{
    bb_status status = BB_OK;
    passes all = {.work = work};
    const bb_storage_search_task task = {&all, compute, copy_result};
    const bool searches =
        bb_storage_search_wanted(work->search) && work->problem->point_count >= POINTS_LEAST;
    BB_TRY(gather_points(work));
    BB_TRY(bb_wafer_pass_open(work, searches, &all.pass));
    BB_TRY(searches ? bb_storage_search_run(work->search, &task) : compute(&all, NULL, 0));
    BB_TRY(copy_found(work));
    BB_TRY(searches ? score_found(&all) : BB_OK);
done:
    release_tried(&all);
    bb_wafer_pass_release(&all.pass);
    return status;
}

static bb_status check_searches(const void *all, const bb_config *config, bb_problems *problems)
{
    const bb_wafer_study *study = all;
    return bb_storage_searches_check(&study->pipelines, study->common.device, config, problems);
}

static const bb_output loss_rows[] = {
    {"overlay_error_nm", "trial", "nm", "loss: maximum over the draws, as loss_worst",
     .note = "of wafer; NaN where a draw failed", .member = offsetof(bb_search_row, loss)},
};
static const bb_output_table loss_outputs = BB_SEARCH_TABLE(loss_rows);

static bb_status publish_searches(void *work, bb_results *results)
{
    return bb_storage_search_publish(((bb_wafer_work *)work)->search, &loss_outputs, results);
}

const bb_part bb_wafer_search_part = {
    .name = "search",
    .check = check_searches,
    .run = publish_searches,
    .outputs = BB_OUTPUTS(&bb_search_outputs, &bb_storage_search_outputs, &loss_outputs),
};
