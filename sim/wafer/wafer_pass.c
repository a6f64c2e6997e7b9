// SPDX-License-Identifier: Apache-2.0
//
// A way through the response rows of a wafer study: those of one field and axis are made once, in
// the reference's fp64, and every pipeline at work encodes from there, computes its displacements
// and drops them, so that memory holds two matrices at most.
//
// A study that searches goes that way several times. The reference is computed the first time, and
// its displacements are kept for the pipelines that come later.
//
// Increment of an evaluation by one field and axis. Fields are dealt over the processes of a team
// (core/team.h), and the increments are added in their order by all: so the sums are those of one
// process, which adds the same parts.
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/pipelines/energy.h"
#include "sim/wafer/wafer_field.h"
#include "solvers/operator/device_coding.h"

#include <math.h>
#include <string.h>

static bb_status take_norms(void *context, bb_index index)
{
    bb_wafer_pass *pass = context;
    const bb_index cells = pass->heating->cell_count;
    pass->inputs[index] = bb_vector_norms_of(pass->heating->inputs + index * cells, cells);
    return BB_OK;
}

// A pass by another GPU: inputs are shared, outputs and workspaces are its own.
static bb_status open_other(const bb_wafer_pass *pass, bb_index ordinal, bb_wafer_pass *out)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = pass->problem;
    const bb_index windows = problem->scan->light_steps * problem->slit.window_points;
    *out = *pass;
    out->reference_windows = pass->repeats ? pass->reference_windows : NULL;
    out->windows = NULL;
    out->rows = out->reference_rows = NULL;
    out->window_rows = NULL;
    out->narrow = (bb_narrow_problems){0};
    out->gpu = (bb_wafer_gpu){0};
    out->others = NULL;
    BB_TRY(BB_ALLOCATE(1, &out->own_devices));
    *out->own_devices = *pass->devices;
    out->own_devices->opened[BB_DEVICE_CUDA] = NULL;
    out->devices = out->own_devices;
    if (!pass->repeats) {
        BB_TRY(BB_ALLOCATE(problem->scored_wafers * windows, &out->reference_windows));
    }
    BB_TRY(BB_ALLOCATE(windows, &out->windows));
    BB_TRY(BB_ALLOCATE(problem->slit.field_points, &out->rows));
    BB_TRY(BB_ALLOCATE(problem->slit.field_points, &out->reference_rows));
    BB_TRY(BB_ALLOCATE(problem->scan->light_steps, &out->window_rows));
    BB_TRY(bb_device_open(BB_DEVICE_CUDA, ordinal, &out->own_devices->opened[BB_DEVICE_CUDA]));
    BB_TRY(bb_wafer_gpu_open(problem, out->own_devices->opened[BB_DEVICE_CUDA], &out->gpu));
done:
    return status;
}

static void release_other(const bb_wafer_pass *pass, bb_wafer_pass *other)
{
    if (!pass->repeats) {
        BB_RELEASE(&other->reference_windows);
    }
    BB_RELEASE(&other->windows);
    BB_RELEASE(&other->rows);
    BB_RELEASE(&other->reference_rows);
    BB_RELEASE(&other->window_rows);
    bb_narrow_problems_release(&other->narrow);
    bb_wafer_gpu_release(&other->gpu);
    if (other->own_devices != NULL) {
        bb_device_close(&other->own_devices->opened[BB_DEVICE_CUDA]);
        BB_RELEASE(&other->own_devices);
    }
}

// Energies are counted one GPU at a time, and processes have one each.
static bb_status open_others(bb_wafer_pass *pass)
{
    bb_status status = BB_OK;
    bb_index wanted = pass->study->response.gpus;
    wanted = wanted < pass->problem->scored_count ? wanted : pass->problem->scored_count;
    if (wanted > 1 && (bb_team_joined()->size > 1 || bb_energy_is_wanted())) {
        bb_log_info("response.gpus: one for each process, and for counting joules");
    } else if (wanted > 1) {
        BB_TRY(BB_ZEROED(wanted - 1, &pass->others));
        for (; pass->other_count < wanted - 1; ++pass->other_count) {
            status = open_other(pass, pass->other_count + 1, &pass->others[pass->other_count]);
            if (status != BB_OK) {
                release_other(pass, &pass->others[pass->other_count]);
                goto done;
            }
        }
    }
done:
    return status;
}

// Rows are made where the reference computes, if they can be.
static bb_status open_gpu(bb_wafer_work *work, bb_wafer_pass *out)
{
    bb_status status = BB_OK;
    bb_device *device = work->devices.opened[BB_DEVICE_CUDA];
    const char *absent = bb_device_rows_absent(work->problem);
    if (work->reference->common.device != BB_DEVICE_CUDA || device == NULL ||
        !bb_device_coding_available(&out->reference->storage)) {
        return BB_OK;
    }
    if (absent != NULL) {
        bb_log_info("response rows are made on the host: %s", absent);
        return BB_OK;
    }
    BB_TRY(bb_wafer_gpu_open(work->problem, device, &out->gpu));
    BB_TRY(open_others(out));
done:
    return status;
}

bb_status bb_wafer_pass_open(bb_wafer_work *work, bool repeats, bb_wafer_pass *out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *problem = work->problem;
    const bb_wafer_heating *heating = &work->heating;
    const bb_index windows = problem->scan->light_steps * problem->slit.window_points;
    const bb_index inputs = heating->scored_wafers * problem->scored_count * heating->light_steps;
    const bb_index matrices = repeats ? work->study.response.axes.count * problem->scored_count : 1;
    *out = (bb_wafer_pass){.study = &work->study,
                           .reference = &work->pipelines[work->reference - work->evaluations],
                           .problem = problem,
                           .heating = heating,
                           .devices = &work->devices,
                           .restart = repeats ? NULL : work->restart,
                           .repeats = repeats};
    BB_TRY(BB_ALLOCATE(matrices * problem->scored_wafers * windows, &out->reference_windows));
    BB_TRY(BB_ALLOCATE(windows, &out->windows));
    BB_TRY(BB_ALLOCATE(problem->slit.field_points, &out->rows));
    BB_TRY(BB_ALLOCATE(problem->slit.field_points, &out->reference_rows));
    BB_TRY(BB_ALLOCATE(inputs, &out->inputs));
    BB_TRY(BB_ALLOCATE(heating->light_steps, &out->window_rows));
    BB_TRY(bb_thread_for(inputs, take_norms, out));
    BB_TRY(open_gpu(work, out));
done:
    return status;
}

void bb_wafer_pass_release(bb_wafer_pass *pass)
{
    for (bb_index i = 0; i < pass->other_count; ++i) {
        release_other(pass, &pass->others[i]);
    }
    BB_RELEASE(&pass->others);
    BB_RELEASE(&pass->reference_windows);
    BB_RELEASE(&pass->windows);
    BB_RELEASE(&pass->inputs);
    BB_RELEASE(&pass->rows);
    BB_RELEASE(&pass->reference_rows);
    BB_RELEASE(&pass->window_rows);
    bb_narrow_problems_release(&pass->narrow);
    bb_wafer_gpu_release(&pass->gpu);
}

// The numbers of an evaluation that grow from field to field.
typedef struct wafer_part {
    bb_outcome outcome;
    double flops, solve_seconds, live_values; // live_values NaN: the pipeline does not hold
    bb_coding_report coding;                  // of the axis
    bb_certificate_tally certificate;         // of the axis
    double *squares; // [2 wafer_count] squared errors and norms of the wafers
} wafer_part;

// Takes those numbers of an evaluation and an axis out and leaves zeros, so that the next numbers
// are a part by itself; of one that does not hold they stay.
static bb_status take_part(bb_wafer_evaluation *evaluation, int axis, wafer_part *out)
{
    bb_status status = BB_OK;
    bb_evaluation *common = &evaluation->common;
    const bb_index wafers = evaluation->wafer_count;
    *out = (wafer_part){.outcome = common->outcome,
                        .flops = common->flops,
                        .solve_seconds = common->solve_seconds,
                        .live_values = evaluation->live_values,
                        .coding = evaluation->coding[axis],
                        .certificate = evaluation->certificate[axis]};
    BB_TRY(BB_ALLOCATE(2 * wafers, &out->squares));
    for (bb_index w = 0; w < wafers; ++w) {
        out->squares[2 * w] = evaluation->wafers[w].squared_error;
        out->squares[2 * w + 1] = evaluation->wafers[w].squared_norm;
    }
    if (isnan(evaluation->live_values)) {
        goto done;
    }
    common->outcome = (bb_outcome){0};
    common->flops = common->solve_seconds = evaluation->live_values = 0.0;
    evaluation->coding[axis] = bb_coding_report_start();
    evaluation->certificate[axis] = (bb_certificate_tally){0};
    for (bb_index w = 0; w < wafers; ++w) {
        evaluation->wafers[w].squared_error = evaluation->wafers[w].squared_norm = 0.0;
    }
done:
    return status;
}

// Adds a part, or takes all from an evaluation of `points` points a wafer where one does not hold.
static void add_numbers(const wafer_part *part, int axis, bb_index points,
                        bb_wafer_evaluation *evaluation)
{
    bb_evaluation *common = &evaluation->common;
    if (common->outcome.kind == BB_OUTCOME_OK) {
        common->outcome = part->outcome;
    }
    if (isnan(part->live_values) || isnan(evaluation->live_values)) {
        bb_wafer_evaluation_unset(evaluation, points);
        return;
    }
    common->flops += part->flops;
    common->solve_seconds += part->solve_seconds;
    evaluation->live_values += part->live_values;
    bb_coding_report_add(&evaluation->coding[axis], &part->coding);
    bb_certificate_tally_merge(&evaluation->certificate[axis], &part->certificate);
    for (bb_index w = 0; w < evaluation->wafer_count; ++w) {
        evaluation->wafers[w].squared_error += part->squares[2 * w];
        evaluation->wafers[w].squared_norm += part->squares[2 * w + 1];
    }
}

// A part and the displacements of its points go from process `root` to all, who have made `part` by
// take_part. Collective.
static bb_status share_part(const bb_wafer_pass *pass, const bb_field_job *work, int root,
                            bb_wafer_evaluation *evaluation, wafer_part *part)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    const size_t bytes = (size_t)pass->problem->dwells[work->field]->count * sizeof(double);
    double *squares = part->squares; // of this process
    BB_TRY(team->broadcast(root, part, sizeof *part));
    part->squares = squares;
    BB_TRY(team->broadcast(root, squares, 2 * (size_t)evaluation->wafer_count * sizeof *squares));
    for (bb_index i = 0; i < evaluation->wafer_count * BB_WAFER_PLACED; ++i) {
        double *placed = evaluation->wafers[i / BB_WAFER_PLACED].mean[work->axis] +
                         i % BB_WAFER_PLACED * pass->problem->point_count;
        BB_TRY(team->broadcast(root, placed + work->first_point, bytes));
    }
done:
    return status;
}

// All evaluations of some tasks, those of draws too.
typedef struct evaluation_list {
    bb_index count;
    bb_wafer_evaluation **items; // [count]
    wafer_part *totals;          // [count] what stood there before a field
    wafer_part *parts;           // [part_count][count] of fields that are not added yet
    bb_index part_count;         // most of them at a time
} evaluation_list;

static wafer_part *part_of(const evaluation_list *list, bb_index matrix, bb_index item)
{
    return &list->parts[matrix % list->part_count * list->count + item];
}

static bb_status list_evaluations(const bb_wafer_task *tasks, bb_index count, bb_index together,
                                  evaluation_list *out)
{
    bb_status status = BB_OK;
    bb_index items = 0;
    for (bb_index t = 0; t < count; ++t) {
        items += tasks[t].pipeline->draws;
    }
    BB_TRY(BB_ALLOCATE(items, &out->items));
    BB_TRY(BB_ZEROED(items, &out->totals));
    out->part_count = together;
    BB_TRY(BB_ZEROED(out->part_count * items, &out->parts));
    for (bb_index t = 0; t < count; ++t) {
        for (bb_index draw = 0; draw < tasks[t].pipeline->draws; ++draw) {
            out->items[out->count++] =
                draw == 0 ? tasks[t].evaluation : &tasks[t].evaluation->drawn[draw - 1];
        }
    }
done:
    return status;
}

static bool list_is_cuda(const evaluation_list *list)
{
    bool all = true;
    for (bb_index i = 0; i < list->count; ++i) {
        all = all && list->items[i]->common.device == BB_DEVICE_CUDA;
    }
    return all;
}

static void release_list(evaluation_list *list)
{
    for (bb_index i = 0; i < list->count; ++i) {
        BB_RELEASE(&list->totals[i].squares);
        for (bb_index p = 0; p < list->part_count; ++p) {
            BB_RELEASE(&part_of(list, p, i)->squares);
        }
    }
    BB_RELEASE(&list->parts);
    BB_RELEASE(&list->totals);
    BB_RELEASE(&list->items);
}

// What a field and axis adds by itself, beside the totals, which stand again on return.
static bb_status run_part(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                          bb_field_job work, evaluation_list *list)
{
    bb_status status = BB_OK;
    const bb_index points = pass->problem->point_count;
    for (bb_index i = 0; i < list->count; ++i) {
        BB_TRY(take_part(list->items[i], work.axis, &list->totals[i]));
    }
    BB_TRY(bb_wafer_field_run(pass, tasks, count, work));
    for (bb_index i = 0; i < list->count; ++i) {
        wafer_part *part = part_of(list, work.matrix, i);
        BB_TRY(take_part(list->items[i], work.axis, part));
        add_numbers(&list->totals[i], work.axis, points, list->items[i]);
        BB_RELEASE(&list->totals[i].squares);
    }
done:
    return status;
}

// Adds the part of a field and axis, which process `owner` has, to all evaluations.
static bb_status add_part(const bb_wafer_pass *pass, const bb_field_job *work, int owner,
                          evaluation_list *list)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    for (bb_index i = 0; i < list->count; ++i) {
        wafer_part *part = part_of(list, work->matrix, i);
        if (team->size > 1) {
            if (team->rank != owner) {
                BB_TRY(BB_ALLOCATE(2 * list->items[i]->wafer_count, &part->squares));
            }
            BB_TRY(share_part(pass, work, owner, list->items[i], part));
        }
        add_numbers(part, work->axis, pass->problem->point_count, list->items[i]);
        BB_RELEASE(&part->squares);
    }
done:
    return status;
}

// A field and axis of the pass: `work` of the one before goes on to it.
static void go_on(const bb_wafer_pass *pass, bb_index matrix, bb_field_job *work)
{
    const bb_index fields = pass->problem->scored_count;
    const bb_index before = work->field;
    work->matrix = matrix;
    work->axis = ((const int *)pass->study->response.axes.items)[matrix / fields];
    work->field = matrix % fields;
    work->first_point =
        work->field == 0 ? 0 : work->first_point + pass->problem->dwells[before]->count;
}

// Share of another GPU in a pass: copies of the tasks, whose evaluations grow by themselves and
// place displacements in the arrays of all.
typedef struct lane {
    bb_wafer_pass *pass;
    bb_index count;
    bb_wafer_task *tasks;             // [count]
    bb_wafer_evaluation *evaluations; // [count]
    evaluation_list list;             // of those; parts are all lanes'
    bb_field_job work;
    bb_index threads; // its share
    bb_side_thread *thread;
} lane;

// Without the displacements, which the evaluation that is copied owns.
static bb_status copy_numbers(const bb_wafer_evaluation *evaluation, bb_wafer_evaluation *out)
{
    bb_status status = BB_OK;
    *out = *evaluation;
    out->wafers = NULL;
    out->drawn = NULL;
    BB_TRY(BB_ALLOCATE(out->wafer_count, &out->wafers));
    memcpy(out->wafers, evaluation->wafers, (size_t)out->wafer_count * sizeof *out->wafers);
    BB_TRY(BB_ZEROED(out->drawn_count, &out->drawn));
    for (bb_index d = 0; d < out->drawn_count; ++d) {
        BB_TRY(copy_numbers(&evaluation->drawn[d], &out->drawn[d]));
    }
done:
    return status;
}

static void release_numbers(bb_wafer_evaluation *evaluation)
{
    for (bb_index d = 0; evaluation->drawn != NULL && d < evaluation->drawn_count; ++d) {
        release_numbers(&evaluation->drawn[d]);
    }
    BB_RELEASE(&evaluation->drawn);
    BB_RELEASE(&evaluation->wafers);
}

static void release_lanes(bb_index count, lane *lanes)
{
    for (bb_index i = 0; lanes != NULL && i < count; ++i) {
        for (bb_index t = 0; lanes[i].evaluations != NULL && t < lanes[i].count; ++t) {
            release_numbers(&lanes[i].evaluations[t]);
        }
        lanes[i].list.part_count = 0; // parts are the pass's
        lanes[i].list.parts = NULL;
        release_list(&lanes[i].list);
        BB_RELEASE(&lanes[i].tasks);
        BB_RELEASE(&lanes[i].evaluations);
    }
}

static bb_status make_lane(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                           const evaluation_list *list, lane *out)
{
    bb_status status = BB_OK;
    out->pass = pass;
    out->count = count;
    BB_TRY(BB_ALLOCATE(count, &out->tasks));
    BB_TRY(BB_ZEROED(count, &out->evaluations));
    memcpy(out->tasks, tasks, (size_t)count * sizeof *tasks);
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(copy_numbers(tasks[t].evaluation, &out->evaluations[t]));
        out->tasks[t].evaluation = &out->evaluations[t];
    }
    BB_TRY(list_evaluations(out->tasks, count, 1, &out->list));
    BB_RELEASE(&out->list.parts);
    out->list.parts = list->parts;
    out->list.part_count = list->part_count;
done:
    return status;
}

static bb_wafer_evaluation *truth_of(const bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                     bb_index count)
{
    bb_wafer_evaluation *found = NULL;
    for (bb_index t = 0; t < count; ++t) {
        found = tasks[t].pipeline == pass->reference ? tasks[t].evaluation : found;
    }
    return found;
}

static bb_status run_lane(void *context, bb_index index)
{
    bb_status status = BB_OK;
    lane *self = context;
    (void)index;
    BB_TRY(bb_side_thread_widen(self->threads));
    BB_TRY(run_part(self->pass, self->tasks, self->count, self->work, &self->list));
done:
    return status;
}

// Consecutive fields and axes, one by each GPU: `works` [together].
static bb_status run_round(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                           const bb_field_job *works, bb_index together, lane *lanes,
                           evaluation_list *list)
{
    bb_status status = BB_OK;
    for (bb_index i = 1; i < together; ++i) {
        lane *other = &lanes[i - 1];
        other->work = works[i];
        other->threads = (bb_threads_count() + together - 1) / together;
        other->work.evaluation = truth_of(other->pass, other->tasks, other->count);
        BB_TRY(bb_side_thread_start(run_lane, other, &other->thread));
    }
    BB_TRY(run_part(pass, tasks, count, works[0], list));
done:
    for (bb_index i = 1; i < together; ++i) {
        bb_status_record record; // the first failure is returned
        bb_status_save(&record);
        const bb_status joined = bb_side_thread_join(&lanes[i - 1].thread);
        if (joined != BB_OK && status != BB_OK) {
            bb_status_restore(&record);
        }
        status = status == BB_OK ? joined : status;
    }
    return status;
}

// Consecutive fields and axes from `matrix` on: `work` goes on to the last.
static void list_round(const bb_wafer_pass *pass, bb_index matrix, bb_index count,
                       bb_field_job *work, bb_field_job *works)
{
    for (bb_index i = 0; i < count; ++i) {
        go_on(pass, matrix + i, work);
        works[i] = *work;
    }
}

bb_status bb_wafer_pass_run(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count)
{
    bb_status status = BB_OK;
    enum { MOST = BB_WAFER_GPUS };
    const bb_team *team = bb_team_joined();
    const bb_index matrices = pass->study->response.axes.count * pass->problem->scored_count;
    bb_restart *restart = team->size > 1 ? NULL : pass->restart; // else parts are all over
    const char *doing = pass->referred ? "searching" : "computing";
    bb_field_job work = {.pipeline = pass->reference, .evaluation = truth_of(pass, tasks, count)};
    bb_field_job works[MOST] = {work};
    lane *lanes = NULL;
    evaluation_list list = {0};
    BB_REQUIRE(pass->referred == (work.evaluation == NULL), BB_INTERNAL,
               "%td tasks, expected the reference among those of the first pass alone", count);
    BB_TRY(
        list_evaluations(tasks, count, team->size > 1 ? matrices : 1 + pass->other_count, &list));
    bb_wafer_products products = {
        pass->study, pass->problem->point_count, list.count, list.items, 0, matrices};
    BB_TRY(bb_wafer_products_load(restart, &products));
    BB_TRY(BB_ZEROED(pass->other_count, &lanes));
    pass->gpu.inputs = NULL; // narrow ones may be others by now
    for (bb_index i = 0; i < pass->other_count; ++i) {
        pass->others[i].gpu.inputs = NULL;
        BB_TRY(make_lane(&pass->others[i], tasks, count, &list, &lanes[i]));
    }
    // Other devices serve one thread.
    const bb_index together = list_is_cuda(&list) ? 1 + pass->other_count : 1;
    for (bb_index matrix = 0, taken = 0; matrix < matrices; matrix += taken) {
        if (matrix < products.done) {
            go_on(pass, matrix, &work);
            taken = 1;
            continue;
        }
        taken = matrix + together < matrices ? together : matrices - matrix;
        list_round(pass, matrix, taken, &work, works);
        bb_log_progress(doing, matrix, matrices);
        if (matrix % team->size == team->rank) {
            BB_TRY(run_round(pass, tasks, count, works, taken, lanes, &list));
        }
        for (bb_index i = 0; team->size == 1 && i < taken; ++i) {
            BB_TRY(add_part(pass, &works[i], 0, &list));
        }
        if (team->size == 1) {
            products.done = matrix + taken;
            BB_TRY(bb_wafer_products_save(restart, products.done == matrices, &products));
        }
    }
    for (bb_index matrix = 0; team->size > 1 && matrix < matrices; ++matrix) {
        go_on(pass, matrix, &work);
        BB_TRY(add_part(pass, &work, (int)(matrix % team->size), &list));
    }
    bb_log_progress(doing, matrices, matrices);
    pass->referred = true;
done:
    release_lanes(pass->other_count, lanes);
    BB_RELEASE(&lanes);
    release_list(&list);
    return status;
}
