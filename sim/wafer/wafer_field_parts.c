// SPDX-License-Identifier: Apache-2.0
//
// Contribution of a field and axis to the evaluations of a pass, stored separately so that the sums
// do not depend on the GPU or process that computed it.
#include "core/memory.h"
#include "core/team.h"
#include "sim/wafer/wafer_field.h"

#include <math.h>

// Moves the sums of an evaluation and an axis to `out` and sets them to zero, so that the next sums
// form a separate part. Sums of a pipeline that misses its tolerance are copied and stay.
static bb_status extract_part(bb_wafer_evaluation *evaluation, int axis, bb_field_part *out)
{
    bb_status status = BB_OK;
    bb_evaluation *common = &evaluation->common;
    const bb_index wafers = evaluation->wafer_count;
    *out = (bb_field_part){.outcome = common->outcome,
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

// Adds a part. If either misses its tolerance, unsets the evaluation of `points` points a wafer.
static void add_numbers(const bb_field_part *part, int axis, bb_index points,
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

// Sends a part and the displacements of its points from process `root` to all, which have created
// `part` with take_part. Collective.
static bb_status broadcast_part(const bb_wafer_pass *pass, const bb_field_job *work, int root,
                                bb_wafer_evaluation *evaluation, bb_field_part *part)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    const size_t bytes = (size_t)pass->problem->dwells[work->field]->count * sizeof(double);
    double *squares = part->squares; // buffer of this process
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

static bb_field_part *part_of(const bb_field_parts *list, bb_index matrix, bb_index item)
{
    return &list->parts[matrix % list->part_count * list->count + item];
}

bb_status bb_field_parts_list(const bb_wafer_task *tasks, bb_index count, bb_index together,
                              bb_field_parts *out)
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

bool bb_field_parts_are_cuda(const bb_field_parts *list)
{
    bool all = true;
    for (bb_index i = 0; i < list->count; ++i) {
        all = all && list->items[i]->common.device == BB_DEVICE_CUDA;
    }
    return all;
}

void bb_field_parts_release(bb_field_parts *list)
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

// Contribution of a field and axis alone; the totals are restored on return.
bb_status bb_field_parts_run(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                             bb_field_job work, bb_field_parts *list)
{
    bb_status status = BB_OK;
    const bb_index points = pass->problem->point_count;
    for (bb_index i = 0; i < list->count; ++i) {
        BB_TRY(extract_part(list->items[i], work.axis, &list->totals[i]));
    }
    BB_TRY(bb_wafer_field_run(pass, tasks, count, work));
    for (bb_index i = 0; i < list->count; ++i) {
        bb_field_part *part = part_of(list, work.matrix, i);
        BB_TRY(extract_part(list->items[i], work.axis, part));
        add_numbers(&list->totals[i], work.axis, points, list->items[i]);
        BB_RELEASE(&list->totals[i].squares);
    }
done:
    return status;
}

// Adds the part of a field and axis, computed by process `owner`, to all evaluations.
bb_status bb_field_parts_add(const bb_wafer_pass *pass, const bb_field_job *work, int owner,
                             bb_field_parts *list)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    for (bb_index i = 0; i < list->count; ++i) {
        bb_field_part *part = part_of(list, work->matrix, i);
        if (team->size > 1) {
            if (team->rank != owner) {
                BB_TRY(BB_ALLOCATE(2 * list->items[i]->wafer_count, &part->squares));
            }
            BB_TRY(broadcast_part(pass, work, owner, list->items[i], part));
        }
        add_numbers(part, work->axis, pass->problem->point_count, list->items[i]);
        BB_RELEASE(&part->squares);
    }
done:
    return status;
}
