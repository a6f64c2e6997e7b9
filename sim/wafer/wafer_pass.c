// SPDX-License-Identifier: Apache-2.0
//
// Pass through the response rows of a wafer study. The rows of one field and axis are generated
// once, in the reference's fp64. Every pipeline of the pass encodes them, computes its
// displacements and frees them, so that memory holds at most two matrices.
//
// A study with searches makes several passes. The first computes the reference; its displacements
// are stored for the pipelines of later passes.
//
// The fields are distributed over the processes of a team (core/team.h). Every process adds the
// increments of an evaluation, one for each field and axis, in field order. The sums are therefore
// identical to those of one process, which adds the same increments.
#include "core/log.h"
#include "core/memory.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/pipelines/energy.h"
#include "sim/wafer/wafer_field.h"
#include "solvers/operator/device_coding.h"

#include <string.h>

static bb_status compute_norms(void *context, bb_index index)
{
    bb_wafer_pass *pass = context;
    const bb_index cells = pass->heating->cell_count;
    pass->inputs[index] = bb_vector_norms_of(pass->heating->inputs + index * cells, cells);
    return BB_OK;
}

// Number of window values of a field, axis and wafer.
static bb_index window_values(const bb_wafer_problem *problem)
{
    return problem->scan->light_steps * problem->slit.window_points;
}

// Allocates the buffers of one GPU.
static bb_status allocate_buffers(bb_wafer_pass *pass)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = pass->problem;
    BB_TRY(BB_ALLOCATE(window_values(problem), &pass->windows));
    BB_TRY(BB_ALLOCATE(problem->slit.field_points, &pass->rows));
    BB_TRY(BB_ALLOCATE(problem->slit.field_points, &pass->reference_rows));
    BB_TRY(BB_ALLOCATE(problem->scan->light_steps, &pass->window_rows));
done:
    return status;
}

static void release_buffers(bb_wafer_pass *pass)
{
    BB_RELEASE(&pass->windows);
    BB_RELEASE(&pass->rows);
    BB_RELEASE(&pass->reference_rows);
    BB_RELEASE(&pass->window_rows);
    bb_narrow_problems_release(&pass->narrow);
    bb_wafer_gpu_release(&pass->gpu);
}

// Opens a pass on another GPU: inputs are shared, outputs and workspaces are its own.
static bb_status open_other(const bb_wafer_pass *pass, bb_index ordinal, bb_wafer_pass *out)
{
    bb_status status = BB_OK;
    const bb_wafer_problem *problem = pass->problem;
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
        BB_TRY(
            BB_ALLOCATE(problem->scored_wafers * window_values(problem), &out->reference_windows));
    }
    BB_TRY(allocate_buffers(out));
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
    release_buffers(other);
    if (other->own_devices != NULL) {
        bb_device_close(&other->own_devices->opened[BB_DEVICE_CUDA]);
        BB_RELEASE(&other->own_devices);
    }
}

// Energy measurements use one GPU at a time, and each process of a team has one GPU.
static bb_status open_others(bb_wafer_pass *pass)
{
    bb_status status = BB_OK;
    bb_index wanted = pass->study->response.gpus;
    wanted = wanted < pass->problem->scored_count ? wanted : pass->problem->scored_count;
    if (wanted > 1 && (bb_team_joined()->size > 1 || bb_energy_is_enabled())) {
        bb_log_info("response.gpus: using one GPU, as with several processes or energy "
                    "measurements");
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

// Generates rows on the device of the reference if possible.
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
        bb_log_info("response rows are computed on the host: %s", absent);
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
    const bb_index inputs = heating->scored_wafers * problem->scored_count * heating->light_steps;
    const bb_index matrices = repeats ? work->study.response.axes.count * problem->scored_count : 1;
    *out = (bb_wafer_pass){.study = &work->study,
                           .reference = &work->pipelines[work->reference - work->evaluations],
                           .problem = problem,
                           .heating = heating,
                           .devices = &work->devices,
                           .restart = repeats ? NULL : work->restart,
                           .repeats = repeats};
    BB_TRY(BB_ALLOCATE(matrices * problem->scored_wafers * window_values(problem),
                       &out->reference_windows));
    BB_TRY(allocate_buffers(out));
    BB_TRY(BB_ALLOCATE(inputs, &out->inputs));
    BB_TRY(bb_thread_for(inputs, compute_norms, out));
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
    BB_RELEASE(&pass->inputs);
    release_buffers(pass);
}

// Advances `work` to field and axis number `matrix`.
static void advance(const bb_wafer_pass *pass, bb_index matrix, bb_field_job *work)
{
    const bb_index fields = pass->problem->scored_count;
    const bb_index before = work->field;
    work->matrix = matrix;
    work->axis = ((const int *)pass->study->response.axes.items)[matrix / fields];
    work->field = matrix % fields;
    work->first_point =
        work->field == 0 ? 0 : work->first_point + pass->problem->dwells[before]->count;
}

// Share of another GPU in a pass: copies of the tasks, with separate sums; displacements go to the
// shared arrays.
typedef struct lane {
    bb_wafer_pass *pass;
    bb_index count;
    bb_wafer_task *tasks;             // [count]
    bb_wafer_evaluation *evaluations; // [count]
    bb_field_parts list;              // evaluations of `tasks`; its parts are shared by all lanes
    bb_field_job work;
    bb_index threads; // threads of this lane besides its own; the first GPU can use all
    bb_side_thread *thread;
} lane;

// Copies an evaluation without its displacements, which stay owned by the original.
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
        lanes[i].list.part_count = 0; // the pass owns the parts
        lanes[i].list.parts = NULL;
        bb_field_parts_release(&lanes[i].list);
        BB_RELEASE(&lanes[i].tasks);
        BB_RELEASE(&lanes[i].evaluations);
    }
}

static bb_status make_lane(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                           const bb_field_parts *list, lane *out)
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
    BB_TRY(bb_field_parts_list(out->tasks, count, 1, &out->list));
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
    BB_TRY(bb_field_parts_run(self->pass, self->tasks, self->count, self->work, &self->list));
done:
    return status;
}

// Runs consecutive fields and axes, one per GPU: `works` [together].
static bb_status run_round(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                           const bb_field_job *works, bb_index together, lane *lanes,
                           bb_field_parts *list)
{
    bb_status status = BB_OK;
    for (bb_index i = 1; i < together; ++i) {
        lane *other = &lanes[i - 1];
        other->work = works[i];
        other->threads = (bb_threads_count() + together - 1) / together;
        other->work.evaluation = truth_of(other->pass, other->tasks, other->count);
        BB_TRY(bb_side_thread_start(run_lane, other, &other->thread));
    }
    BB_TRY(bb_field_parts_run(pass, tasks, count, works[0], list));
done:
    for (bb_index i = 1; i < together; ++i) {
        bb_status_record record; // keeps the first failure
        bb_status_save(&record);
        const bb_status joined = bb_side_thread_join(&lanes[i - 1].thread);
        if (joined != BB_OK && status != BB_OK) {
            bb_status_restore(&record);
        }
        status = status == BB_OK ? joined : status;
    }
    return status;
}

// Lists `count` consecutive fields and axes from `matrix` on; `work` advances to the last.
static void list_round(const bb_wafer_pass *pass, bb_index matrix, bb_index count,
                       bb_field_job *work, bb_field_job *works)
{
    for (bb_index i = 0; i < count; ++i) {
        advance(pass, matrix + i, work);
        works[i] = *work;
    }
}

bb_status bb_wafer_pass_run(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count)
{
    bb_status status = BB_OK;
    enum { MOST = BB_WAFER_GPUS };
    const bb_team *team = bb_team_joined();
    const bb_index matrices = pass->study->response.axes.count * pass->problem->scored_count;
    bb_restart *restart = team->size > 1 ? NULL : pass->restart; // a team's parts are distributed
    const char *activity = pass->has_reference ? "searching" : "computing";
    bb_field_job work = {.pipeline = pass->reference, .evaluation = truth_of(pass, tasks, count)};
    bb_field_job works[MOST] = {work};
    lane *lanes = NULL;
    bb_field_parts list = {0};
    BB_REQUIRE(pass->has_reference == (work.evaluation == NULL), BB_INTERNAL,
               "%td tasks, expected the reference in the first pass and in no other", count);
    BB_TRY(bb_field_parts_list(tasks, count, team->size > 1 ? matrices : 1 + pass->other_count,
                               &list));
    bb_wafer_products products = {
        pass->study, pass->problem->point_count, list.count, list.items, 0, matrices};
    BB_TRY(bb_wafer_products_load(restart, &products));
    BB_TRY(BB_ZEROED(pass->other_count, &lanes));
    pass->gpu.inputs = NULL; // the address of narrow inputs may be reused for others
    for (bb_index i = 0; i < pass->other_count; ++i) {
        pass->others[i].gpu.inputs = NULL;
        BB_TRY(make_lane(&pass->others[i], tasks, count, &list, &lanes[i]));
    }
    // Other devices are used by one thread only.
    const bb_index together = bb_field_parts_are_cuda(&list) ? 1 + pass->other_count : 1;
    for (bb_index matrix = 0, taken = 0; matrix < matrices; matrix += taken) {
        if (matrix < products.done) {
            advance(pass, matrix, &work);
            taken = 1;
            continue;
        }
        taken = matrix + together < matrices ? together : matrices - matrix;
        list_round(pass, matrix, taken, &work, works);
        bb_log_progress(activity, matrix, matrices);
        if (matrix % team->size == team->rank) {
            BB_TRY(run_round(pass, tasks, count, works, taken, lanes, &list));
        }
        for (bb_index i = 0; team->size == 1 && i < taken; ++i) {
            BB_TRY(bb_field_parts_add(pass, &works[i], 0, &list));
        }
        if (team->size == 1) {
            products.done = matrix + taken;
            BB_TRY(bb_wafer_products_save(restart, products.done == matrices, &products));
        }
    }
    for (bb_index matrix = 0; team->size > 1 && matrix < matrices; ++matrix) {
        advance(pass, matrix, &work);
        BB_TRY(bb_field_parts_add(pass, &work, (int)(matrix % team->size), &list));
    }
    bb_log_progress(activity, matrices, matrices);
    pass->has_reference = true;
done:
    release_lanes(pass->other_count, lanes);
    BB_RELEASE(&lanes);
    bb_field_parts_release(&list);
    return status;
}
