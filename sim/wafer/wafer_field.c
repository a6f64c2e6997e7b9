// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_field.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "sim/pipelines/energy.h"

#include <math.h>

// Windows of the reference on a wafer: [light_steps][window_points].
static double *reference_windows(const bb_wafer_pass *pass, const bb_field_job *work)
{
    const bb_index first = pass->repeats ? work->matrix * pass->heating->scored_wafers : 0;
    return pass->reference_windows +
           (first + work->wafer) * pass->heating->light_steps * pass->problem->slit.window_points;
}

// Destination of a task's windows, in the same layout.
static double *kept_windows(const bb_wafer_pass *pass, const bb_field_job *work)
{
    return bb_wafer_field_is_truth(pass, work) ? reference_windows(pass, work) : pass->windows;
}

// First row of a step's window.
static bb_index window_row(const bb_wafer_pass *pass, const bb_field_job *work, bb_index step)
{
    return pass->problem->dwells[work->field]->offset[step] * pass->problem->slit.columns;
}

// Adds the error of u at the scored points that receive dose in this step.
static void compare(bb_wafer_pass *pass, const bb_field_job *work, bb_index step,
                    const double *window)
{
    bb_wafer_displacements *placed = &work->evaluation->wafers[work->wafer];
    const bb_dwell *dwell = pass->problem->dwells[work->field];
    const bb_slit_grid *slit = &pass->problem->slit;
    const double *expected = reference_windows(pass, work) + step * slit->window_points;
    for (bb_index i = dwell->first[step]; i < dwell->first[step + 1]; ++i) {
        const double truth = bb_slit_grid_value(slit, &dwell->samples[i].cell, expected);
        const double u = bb_slit_grid_value(slit, &dwell->samples[i].cell, window);
        placed->squared_error += (u - truth) * (u - truth);
        placed->squared_norm += truth * truth;
    }
}

// True if the GPU multiplies all light steps of a wafer at once.
static bool is_multiplied_there(const bb_wafer_pass *pass, const bb_field_job *work)
{
    return pass->gpu.device != NULL && work->evaluation->common.device == BB_DEVICE_CUDA;
}

static bb_status multiply_there(bb_wafer_pass *pass, bb_coded_operator *operation,
                                const bb_field_job *work)
{
    bb_status status = BB_OK;
    const double *inputs =
        bb_wafer_heating_input_of(pass->heating, work->pipeline, work->wafer, work->field, 0);
    BB_TRY(bb_wafer_gpu_upload_inputs(&pass->gpu, inputs, pass->heating->cell_count));
    BB_TRY(bb_wafer_gpu_multiply(&pass->gpu, operation, pass->window_rows, kept_windows(pass, work),
                                 &work->evaluation->common.solve_seconds));
done:
    return status;
}

// Multiplies one light step: a window of displacements in the unit of the rows.
static bb_status multiply_step(bb_wafer_pass *pass, bb_coded_operator *operation,
                               const bb_field_job *work, bb_index step)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = work->evaluation;
    const bb_index points = pass->problem->slit.window_points;
    const bb_index row = pass->window_rows[step];
    double *window = kept_windows(pass, work) + step * points;
    if (!is_multiplied_there(pass, work)) {
        BB_TRY(bb_coded_operator_apply(operation, row, points,
                                       bb_wafer_heating_input_of(pass->heating, work->pipeline,
                                                                 work->wafer, work->field, step),
                                       window, &evaluation->common.solve_seconds));
    }
    bb_coding_factors_undo(work->factors, row, points, window);
    evaluation->common.flops += bb_coded_operator_flops(points, pass->problem->input_count);
    bb_index bad = bb_stage_find_nonfinite("displacements", window, points);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "displacement %c, field %td, light step %td, slit point %td",
                       bb_axis_letter(work->axis), pass->problem->scored[work->field], step, bad);
    }
done:
    return status;
}

// Compares the windows of all steps with the bounds of their rows.
static bb_status check_certificate(bb_wafer_pass *pass, const bb_field_job *work)
{
    const bb_index input = work->wafer * pass->heating->scored_count + work->field;
    const bb_wafer_certificate certificate = {
        .pipeline = work->pipeline,
        .reference = pass->reference,
        .rows = work->pipeline == pass->reference ? pass->reference_rows : pass->rows,
        .reference_rows = pass->reference_rows,
        .inputs = pass->inputs + input * pass->heating->light_steps,
        .columns = pass->problem->input_count,
        .steps = pass->heating->light_steps,
        .points = pass->problem->slit.window_points,
        .first_row = pass->window_rows,
        .windows = kept_windows(pass, work),
        .expected = reference_windows(pass, work)};
    return bb_wafer_certificate_check(&certificate, &work->evaluation->certificate[work->axis]);
}

// Copies means and deviations of a dwell to arrays that start at its first point.
static void copy_dwell(const bb_dwell *dwell, double *mean, double *deviation)
{
    for (bb_index i = 0; i < dwell->count; ++i) {
        mean[i] = dwell->mean[i];
        deviation[i] = bb_dwell_deviation(dwell, i);
    }
}

// Scores the feed-forward residual of a pipeline in one field and axis, with its delivery.
// Exposures are counted back from the last wafer, so that its random draws are those of a single
// wafer.
static bb_status score_residual(bb_wafer_pass *pass, const bb_field_job *work)
{
    bb_status status = BB_OK;
    const bb_delivery_config *delivery = &work->pipeline->delivery;
    bb_wafer_displacements *placed = &work->evaluation->wafers[work->wafer];
    bb_dwell *dwell = pass->problem->dwells[work->field];
    bb_index steps = pass->heating->light_steps;
    const bb_index later = pass->heating->scored_wafers - 1 - work->wafer;
    bb_index *in_force = NULL;
    BB_TRY(BB_ALLOCATE(steps, &in_force));
    bb_delivery_plan(delivery,
                     pass->problem->scored[work->field] + later * pass->heating->field_count, steps,
                     in_force);
    bb_dwell_reset(dwell);
    BB_TRY(bb_delivery_residual(steps, in_force, reference_windows(pass, work),
                                kept_windows(pass, work), dwell));
    copy_dwell(dwell, placed->residual[work->axis] + work->first_point,
               placed->residual_deviation[work->axis] + work->first_point);
done:
    BB_RELEASE(&in_force);
    return status;
}

// Multiplies all light steps of a task.
static bb_status apply_steps(bb_wafer_pass *pass, bb_coded_operator *operation,
                             const bb_field_job *work)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = work->evaluation;
    bb_dwell *dwell = pass->problem->dwells[work->field];
    const bb_index steps = pass->heating->light_steps;
    double *mean = evaluation->wafers[work->wafer].mean[work->axis] + work->first_point;
    double *deviation = evaluation->wafers[work->wafer].deviation[work->axis] + work->first_point;
    for (bb_index step = 0; step < steps; ++step) {
        pass->window_rows[step] = window_row(pass, work, step);
    }
    if (is_multiplied_there(pass, work)) {
        BB_TRY(multiply_there(pass, operation, work));
    }
    for (bb_index step = 0; step < steps; ++step) {
        BB_TRY(multiply_step(pass, operation, work, step));
    }
    if (work->draw == 0 && !work->exact && !bb_product_pipeline_narrows(work->pipeline)) {
        BB_TRY(check_certificate(pass, work));
    }
    bb_dwell_reset(dwell);
    for (bb_index step = 0; step < steps; ++step) {
        const double *window = kept_windows(pass, work) + step * pass->problem->slit.window_points;
        if (work->axis != (int)BB_AXIS_Z) {
            compare(pass, work, step, window);
        }
        bb_dwell_add(dwell, step, window);
    }
    copy_dwell(dwell, mean, deviation);
    bb_index bad = bb_stage_find_nonfinite("dwell", mean, dwell->count);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "mean displacement %c, field %td, scored point %td",
                       bb_axis_letter(work->axis), pass->problem->scored[work->field], bad);
    }
    BB_TRY(score_residual(pass, work));
done:
    return status;
}

// Repeats all products of a field, axis and wafer for an energy measurement.
typedef struct repetition {
    const bb_wafer_pass *pass;
    bb_coded_operator *operation;
    const bb_field_job *work;
    double *window; // [window_points]
    double seconds;
} repetition;

static bb_status apply_again(void *context)
{
    bb_status status = BB_OK;
    repetition *again = context;
    const bb_wafer_pass *pass = again->pass;
    for (bb_index step = 0; step < pass->heating->light_steps; ++step) {
        BB_TRY(bb_coded_operator_apply(
            again->operation, window_row(pass, again->work, step),
            pass->problem->slit.window_points,
            bb_wafer_heating_input_of(pass->heating, again->work->pipeline, again->work->wafer,
                                      again->work->field, step),
            again->window, &again->seconds));
    }
done:
    return status;
}

static bb_status measure_energy(const bb_wafer_pass *pass, bb_coded_operator *operation,
                                const bb_field_job *work)
{
    bb_status status = BB_OK;
    repetition again = {.pass = pass, .operation = operation, .work = work};
    bb_evaluation *common = &work->evaluation->common;
    if (bb_energy_is_enabled() && work->draw == 0 && !work->exact) {
        BB_TRY(BB_ALLOCATE(pass->problem->slit.window_points, &again.window));
        BB_TRY(bb_energy_measure(common->device, apply_again, &again, common));
    }
done:
    BB_RELEASE(&again.window);
    return status;
}

// Applies encoded rows to every scored wafer.
static bb_status apply(bb_wafer_pass *pass, bb_field_coded *coded, bb_field_job work)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = work.evaluation;
    double begin = bb_clock_seconds();
    if (coded->operation == NULL) {
        BB_TRY(bb_wafer_field_make_operator(pass, &work, coded));
    }
    for (work.wafer = 0; work.wafer < pass->heating->scored_wafers; ++work.wafer) {
        BB_TRY(measure_energy(pass, coded->operation, &work));
        BB_TRY(apply_steps(pass, coded->operation, &work));
    }
    bb_evaluation_note_compiler(&evaluation->common, bb_coded_operator_compiler(coded->operation));
    bb_log_detail("pipeline %s: axis %c of field %td in %.1f ms", evaluation->common.pipeline,
                  bb_axis_letter(work.axis), pass->problem->scored[work.field],
                  1e3 * (bb_clock_seconds() - begin));
done:
    return status;
}

// Multiplies exact rows without encoding, with the reference's operator if it is kept.
static bb_status run_exact(bb_wafer_pass *pass, bb_field_rows *rows, bb_field_job work)
{
    bb_status status = BB_OK;
    bb_field_coded coded = {0};
    if (rows->reference.operation != NULL && is_multiplied_there(pass, &work)) {
        BB_TRY(apply(pass, &rows->reference, work));
    } else {
        BB_TRY(bb_wafer_field_download_matrix(pass, &work, rows));
        coded.matrix = rows->matrix;
        BB_TRY(apply(pass, &coded, work));
    }
done:
    bb_coded_operator_destroy(&coded.operation);
    bb_coded_matrix_destroy(&coded.unpacked);
    return status;
}

// Encodes, applies and frees one draw of a pipeline. A pipeline that misses its tolerance in one
// field or axis has no displacements in any.
static bb_status run_draw(bb_wafer_pass *pass, bb_field_rows *rows, bb_field_job work)
{
    bb_status status = BB_OK;
    bb_coding_factors factors = {0};
    bb_field_coded coded = {0};
    double range = 0.0;
    bb_wafer_evaluation *evaluation = work.evaluation;
    work.factors = &factors;
    if (work.exact) {
        return run_exact(pass, rows, work);
    }
    if (isnan(evaluation->live_values)) { // tolerance missed in an earlier field
        return BB_OK;
    }
    if (!bb_codec_supports_tolerance(&work.pipeline->storage, rows->range,
                                     &evaluation->common.outcome)) {
        bb_wafer_evaluation_unset(evaluation, pass->problem->point_count);
        return BB_OK;
    }
    BB_TRY(bb_wafer_field_encode(pass, &work, rows, &range, &factors, &coded));
    BB_TRY(apply(pass, &coded, work));
done:
    bb_coding_factors_release(&factors);
    bb_wafer_field_release_coded(&coded);
    return status;
}

// Runs every draw of a task except the truth.
static bb_status run_task(bb_wafer_pass *pass, const bb_wafer_task *task, bb_field_rows *rows,
                          bb_field_rows *narrow, bb_field_job work)
{
    bb_status status = BB_OK;
    work.pipeline = task->pipeline;
    work.exact = task->exact;
    if (bb_stage_formats_narrow(BB_CHAIN_ROWS, &task->pipeline->stages[BB_CHAIN_ROWS])) {
        BB_TRY(bb_wafer_field_narrow_rows(pass, &work, rows, narrow));
        rows = narrow;
    }
    for (work.draw = 0; work.draw < task->pipeline->draws; ++work.draw) {
        work.evaluation =
            work.draw == 0 ? task->evaluation : &task->evaluation->drawn[work.draw - 1];
        if (!bb_wafer_field_is_truth(pass, &work)) {
            BB_TRY(run_draw(pass, rows, work));
        }
    }
done:
    return status;
}

// Runs one field and axis. `work` belongs to the reference; it has no evaluation if the reference
// is already known.
bb_status bb_wafer_field_run(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                             bb_field_job work)
{
    bb_status status = BB_OK;
    bb_field_rows rows = {0};
    bb_field_rows narrow = {0};
    bb_coding_factors none = {0};
    bool exact = false;
    double range = 0.0;
    work.factors = &none;
    BB_TRY(bb_wafer_field_open_rows(pass, &work, &rows));
    BB_TRY(bb_wafer_field_encode(pass, &work, &rows, &range, &none, &rows.reference));
    rows.range = range;
    rows.matrix = rows.reference.matrix;
    if (work.evaluation != NULL) {
        BB_TRY(apply(pass, &rows.reference, work));
    }
    for (bb_index t = 0; t < count; ++t) {
        exact = exact || tasks[t].exact;
    }
    if (!exact) { // frees memory for the tasks
        bb_coded_operator_destroy(&rows.reference.operation);
    }
    for (bb_index t = 0; t < count; ++t) {
        bb_log_progress_within(t + 1, count + 1); // step 0 was the computation of the exact rows
        BB_TRY(run_task(pass, &tasks[t], &rows, &narrow, work));
    }
done:
    bb_wafer_field_release_rows(&narrow);
    bb_wafer_field_release_rows(&rows);
    return status;
}
