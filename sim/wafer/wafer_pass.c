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
#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/team.h"
#include "core/thread.h"
#include "sim/pipelines/energy.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_work.h"
#include "solvers/operator/coded_operator.h"
#include "solvers/operator/device_coding.h"
#include "solvers/operator/device_matrix.h"

#include <math.h>
#include <string.h>

// What is computed at a time: a pipeline's displacements of a field along an axis, on one wafer.
typedef struct job {
    const bb_product_pipeline *pipeline;
    bb_wafer_evaluation *evaluation; // of the draw; NULL of a reference that is encoded alone
    bb_index field, first_point;
    int axis;
    bb_index matrix;                  // of the axes and fields
    bb_index wafer;                   // of the scored ones
    bb_index draw;                    // 0: the pipeline as it is
    bool exact;                       // bb_wafer_task.exact
    const bb_coding_factors *factors; // of the draw
} job;

// Whether a job makes the truth.
static bool is_truth(const bb_wafer_pass *pass, const job *work)
{
    return work->pipeline == pass->reference && work->draw == 0;
}

static bb_status take_norms(void *context, bb_index index)
{
    bb_wafer_pass *pass = context;
    const bb_index cells = pass->heating->cell_count;
    pass->inputs[index] = bb_vector_norms_of(pass->heating->inputs + index * cells, cells);
    return BB_OK;
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
    BB_RELEASE(&pass->reference_windows);
    BB_RELEASE(&pass->windows);
    BB_RELEASE(&pass->inputs);
    BB_RELEASE(&pass->rows);
    BB_RELEASE(&pass->reference_rows);
    BB_RELEASE(&pass->window_rows);
    bb_narrow_problems_release(&pass->narrow);
    bb_wafer_gpu_release(&pass->gpu);
}

// Rows of a draw of a pipeline in its storage, ready to be multiplied.
typedef struct coded_rows {
    bb_coded_matrix *matrix, *unpacked; // on the host; `unpacked` where a device wants that
    bb_coded_operator *operation;
} coded_rows;

static void release_coded(coded_rows *coded)
{
    bb_coded_operator_destroy(&coded->operation);
    bb_coded_matrix_destroy(&coded->matrix);
    bb_coded_matrix_destroy(&coded->unpacked);
}

static bb_matrix_layout layout_of(const bb_wafer_pass *pass, double range)
{
    return (bb_matrix_layout){.rows = pass->problem->slit.field_points,
                              .columns = pass->problem->input_count,
                              .mesh_columns = pass->problem->grid->columns,
                              .row_columns = pass->problem->slit.columns,
                              .range = range};
}

// Rows of one field and axis that pipelines are coded from: the exact ones, or those of a narrow
// stage. On the GPU where the pass has one, and on the host as far as something is coded there.
typedef struct exact_rows {
    bool there;               // in the pass's GPU
    bb_wafer_row_source made; // by the host
    bb_coded_matrix *matrix;  // in the reference's fp64 on the host; NULL: not made yet
    bb_view copy;             // of the GPU's; no data until something needs it
    bb_matrix_source copied;
    double range;             // maximum - minimum of the values
    coded_rows reference;     // kept for tasks whose product is the reference's
    bb_stage_formats formats; // of narrow rows
} exact_rows;

static bb_status open_rows(const bb_wafer_pass *pass, const job *work, exact_rows *out)
{
    bb_status status = BB_OK;
    out->there = pass->gpu.device != NULL;
    if (out->there) {
        BB_TRY(bb_device_rows_fill(pass->gpu.rows, work->field, work->axis, pass->gpu.values));
    } else {
        BB_TRY(bb_wafer_row_source_open(pass->study, pass->problem, work->field, work->axis,
                                        &out->made));
    }
done:
    return status;
}

static void release_rows(exact_rows *rows)
{
    double *copy = rows->copy.data;
    BB_RELEASE(&copy);
    bb_wafer_row_source_release(&rows->made);
    bb_coded_operator_destroy(&rows->reference.operation);
    bb_coded_matrix_destroy(&rows->reference.unpacked);
    bb_coded_matrix_destroy(&rows->matrix);
}

// Rows that are coded on the host: those of the GPU are copied once.
static bb_status take_exact(const bb_wafer_pass *pass, const job *work, exact_rows *rows,
                            bb_exact_rows *out)
{
    bb_status status = BB_OK;
    static const char *const names[] = {"C_x", "C_y", "C_z"};
    const bb_index points = pass->problem->slit.field_points;
    const bb_index columns = pass->problem->input_count;
    double *values = NULL;
    *out = (bb_exact_rows){rows->made.source, rows->made.batch, rows->matrix};
    if (rows->there && rows->matrix == NULL) {
        if (rows->copy.data == NULL) {
            BB_TRY(BB_ALLOCATE(points * columns, &values));
            BB_TRY(bb_device_download(pass->gpu.device, values, pass->gpu.values,
                                      (size_t)(points * columns) * sizeof *values));
            rows->copy = bb_view_matrix(values, points, columns);
            rows->copied = bb_matrix_source_dense(&rows->copy, names[work->axis], "m/K");
            values = NULL;
        }
        *out = (bb_exact_rows){&rows->copied, 1, NULL};
    }
done:
    BB_RELEASE(&values);
    return status;
}

// The exact rows in the reference's fp64 on the host.
static bb_status take_matrix(const bb_wafer_pass *pass, const job *work, exact_rows *rows)
{
    bb_status status = BB_OK;
    bb_exact_rows exact;
    bb_coding_report report;
    const bb_matrix_layout layout = layout_of(pass, rows->range);
    if (rows->matrix == NULL) {
        BB_TRY(take_exact(pass, work, rows, &exact));
        BB_TRY(bb_product_coding_encode(pass->reference, &exact, &layout, &report, NULL,
                                        &rows->matrix));
    }
done:
    return status;
}

// Whether a draw is coded on the GPU.
static bool is_coded_there(const bb_wafer_pass *pass, const job *work, const exact_rows *rows)
{
    return rows->there &&
           (is_truth(pass, work) || (work->evaluation->common.device == BB_DEVICE_CUDA &&
                                     bb_device_coding_available(&work->pipeline->storage)));
}

static bb_status encode_there(bb_wafer_pass *pass, const job *work, const bb_matrix_layout *layout,
                              const bb_coding_draw *draw, bb_coding_factors *factors,
                              bb_coding_report *report, coded_rows *out)
{
    bb_status status = BB_OK;
    bb_device_matrix *matrix = NULL;
    bb_row_certificate *certificates = is_truth(pass, work) ? pass->reference_rows : pass->rows;
    BB_TRY(bb_product_coding_encode_there(work->pipeline, pass->gpu.device, pass->gpu.values,
                                          layout, work->draw > 0 ? draw : NULL, factors, report,
                                          work->draw > 0 ? NULL : certificates, &matrix));
    BB_TRY(bb_product_pipeline_operator_there(work->pipeline, pass->gpu.device, &matrix,
                                              &out->operation));
done:
    bb_device_matrix_destroy(&matrix);
    return status;
}

static bb_status encode_here(bb_wafer_pass *pass, const job *work, exact_rows *rows,
                             const bb_matrix_layout *layout, const bb_coding_draw *draw,
                             bb_coding_factors *factors, bb_coding_report *report, coded_rows *out)
{
    bb_status status = BB_OK;
    bb_exact_rows exact;
    BB_TRY(take_exact(pass, work, rows, &exact));
    if (work->draw > 0) {
        BB_TRY(bb_product_coding_encode_draw(work->pipeline, &exact, layout, draw, factors, report,
                                             &out->matrix));
    } else {
        BB_TRY(bb_product_coding_encode(work->pipeline, &exact, layout, report,
                                        is_truth(pass, work) ? pass->reference_rows : pass->rows,
                                        &out->matrix));
    }
done:
    return status;
}

// The operator of a matrix that was coded on the host.
static bb_status make_operator(const bb_wafer_pass *pass, const job *work, coded_rows *coded)
{
    bb_status status = BB_OK;
    bb_evaluation *common = &work->evaluation->common;
    if (bb_codec_unpacks(&work->pipeline->storage, common->device)) {
        BB_TRY(bb_product_coding_unpack(coded->matrix, &common->solve_seconds, &coded->unpacked));
    }
    BB_TRY(bb_product_devices_operator(pass->devices, common->device, work->pipeline,
                                       coded->unpacked != NULL ? coded->unpacked : coded->matrix,
                                       &coded->operation));
done:
    return status;
}

// Codes the rows of one field and axis for a draw of a pipeline, whose factors go to `factors`;
// `range` is what they span.
static bb_status encode(bb_wafer_pass *pass, const job *work, exact_rows *rows, double *range,
                        bb_coding_factors *factors, coded_rows *out)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipeline = work->pipeline;
    const bb_matrix_layout layout = layout_of(pass, rows->range);
    bb_coding_report report;
    const bb_coding_draw draw = {.seed = (uint64_t)pass->study->common.seed,
                                 .number = work->draw,
                                 .first = (work->axis * pass->problem->scored_count + work->field) *
                                          layout.rows};
    BB_TRY(is_coded_there(pass, work, rows)
               ? encode_there(pass, work, &layout, &draw, factors, &report, out)
               : encode_here(pass, work, rows, &layout, &draw, factors, &report, out));
    *range = bb_error_norms_range(&report.norms);
    if (work->evaluation != NULL) {
        bb_coding_report_add(&work->evaluation->coding[work->axis], &report);
        work->evaluation->live_values +=
            (double)layout.rows *
            (double)(pass->problem->input_blocks * pass->problem->grid->live_count);
    }
    bb_log_detail("pipeline %s: %c coded in %.3f s, %.3f bits a value", pipeline->name,
                  bb_axis_letter(work->axis), report.seconds, 8.0 * report.bytes / report.values);
done:
    return status;
}

// The reference's windows of a wafer: [light_steps][window_points].
static double *reference_windows(const bb_wafer_pass *pass, const job *work)
{
    const bb_index first = pass->repeats ? work->matrix * pass->heating->scored_wafers : 0;
    return pass->reference_windows +
           (first + work->wafer) * pass->heating->light_steps * pass->problem->slit.window_points;
}

// Where a task's windows are kept, in the same order.
static double *kept_windows(const bb_wafer_pass *pass, const job *work)
{
    return is_truth(pass, work) ? reference_windows(pass, work) : pass->windows;
}

// Error of u at the scored points that get dose in this step.
static void compare(bb_wafer_pass *pass, const job *work, bb_index step, const double *window)
{
    bb_wafer_displacements *placed = &work->evaluation->wafers[work->wafer];
    const bb_dwell *dwell = pass->problem->dwells[work->field];
    const bb_slit_grid *slit = &pass->problem->slit;
    const double *expected = reference_windows(pass, work) + step * slit->window_points;
    bb_index offset = bb_slit_grid_offset(slit, &dwell->field, step);
    for (bb_index i = 0; i < dwell->count; ++i) {
        double x = dwell->x[i];
        double y = dwell->y[i];
        if (bb_scan_dose_fraction(slit->scan, &dwell->field, step, x, y) > 0.0) {
            double truth = bb_slit_grid_interpolate(slit, &dwell->field, offset, expected, x, y);
            double u = bb_slit_grid_interpolate(slit, &dwell->field, offset, window, x, y);
            placed->squared_error += (u - truth) * (u - truth);
            placed->squared_norm += truth * truth;
        }
    }
}

// Whether all light steps of a wafer are multiplied at once, on the GPU.
static bool is_multiplied_there(const bb_wafer_pass *pass, const job *work)
{
    return pass->gpu.device != NULL && work->evaluation->common.device == BB_DEVICE_CUDA;
}

static bb_status multiply_there(bb_wafer_pass *pass, bb_coded_operator *operation, const job *work)
{
    bb_status status = BB_OK;
    const bb_slit_grid *slit = &pass->problem->slit;
    const bb_field *field = &pass->problem->dwells[work->field]->field;
    for (bb_index step = 0; step < pass->heating->light_steps; ++step) {
        pass->window_rows[step] = bb_slit_grid_offset(slit, field, step) * slit->columns;
    }
    const double *inputs =
        bb_wafer_heating_input_of(pass->heating, work->pipeline, work->wafer, work->field, 0);
    BB_TRY(bb_wafer_gpu_take_inputs(&pass->gpu, inputs, pass->heating->cell_count));
    BB_TRY(bb_wafer_gpu_multiply(&pass->gpu, operation, pass->window_rows, kept_windows(pass, work),
                                 &work->evaluation->common.solve_seconds));
done:
    return status;
}

// One light step: window of displacements, into the dwell and the error.
static bb_status apply_step(bb_wafer_pass *pass, bb_coded_operator *operation, const job *work,
                            bb_index step)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = work->evaluation;
    const bb_slit_grid *slit = &pass->problem->slit;
    bb_dwell *dwell = pass->problem->dwells[work->field];
    bb_index points = slit->window_points;
    bb_index row = bb_slit_grid_offset(slit, &dwell->field, step) * slit->columns;
    const bb_index input = work->wafer * pass->heating->scored_count + work->field;
    double *window = kept_windows(pass, work) + step * points;
    if (!is_multiplied_there(pass, work)) {
        BB_TRY(bb_coded_operator_apply(operation, row, points,
                                       bb_wafer_heating_input_of(pass->heating, work->pipeline,
                                                                 work->wafer, work->field, step),
                                       window, &evaluation->common.solve_seconds));
    }
    bb_coding_factors_undo(work->factors, row, points, window);
    evaluation->common.flops += bb_coded_operator_flops(points, pass->problem->input_count);
    bb_index bad = bb_stage_inspect("displacements", window, points);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "displacement %c, field %td, light step %td, slit point %td",
                       bb_axis_letter(work->axis), pass->problem->scored[work->field], step, bad);
    }
    const bb_wafer_certificate certificate = {
        .pipeline = work->pipeline,
        .reference = pass->reference,
        .rows = work->pipeline == pass->reference ? pass->reference_rows : pass->rows,
        .reference_rows = pass->reference_rows,
        .inputs = pass->inputs + input * pass->heating->light_steps,
        .columns = pass->problem->input_count};
    if (work->draw == 0 && !work->exact && !bb_product_pipeline_narrows(work->pipeline)) {
        bb_wafer_certificate_check(&certificate, step, row, points, window,
                                   reference_windows(pass, work) + step * points,
                                   &evaluation->certificate[work->axis]);
    }
    if (work->axis != (int)BB_AXIS_Z) {
        compare(pass, work, step, window);
    }
    bb_dwell_add(dwell, step, window);
done:
    return status;
}

// Means and deviations of a dwell into arrays from its first point on.
static void store(const bb_dwell *dwell, double *mean, double *deviation)
{
    for (bb_index i = 0; i < dwell->count; ++i) {
        mean[i] = dwell->mean[i];
        deviation[i] = bb_dwell_deviation(dwell, i);
    }
}

// What the corrections of a pipeline leave of one field and axis, delivered as its record says.
// Exposures count back from the last wafer, whose draws are those of a lone one.
static bb_status score_residual(bb_wafer_pass *pass, const job *work)
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
    store(dwell, placed->residual[work->axis] + work->first_point,
          placed->residual_deviation[work->axis] + work->first_point);
done:
    BB_RELEASE(&in_force);
    return status;
}

// All light steps of a task.
static bb_status apply_steps(bb_wafer_pass *pass, bb_coded_operator *operation, const job *work)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = work->evaluation;
    bb_dwell *dwell = pass->problem->dwells[work->field];
    double *mean = evaluation->wafers[work->wafer].mean[work->axis] + work->first_point;
    double *deviation = evaluation->wafers[work->wafer].deviation[work->axis] + work->first_point;
    if (is_multiplied_there(pass, work)) {
        BB_TRY(multiply_there(pass, operation, work));
    }
    bb_dwell_reset(dwell);
    for (bb_index step = 0; step < pass->heating->light_steps; ++step) {
        BB_TRY(apply_step(pass, operation, work, step));
    }
    store(dwell, mean, deviation);
    bb_index bad = bb_stage_inspect("dwell", mean, dwell->count);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "mean displacement %c, field %td, scored point %td",
                       bb_axis_letter(work->axis), pass->problem->scored[work->field], bad);
    }
    BB_TRY(score_residual(pass, work));
done:
    return status;
}

// All products of a field, axis and wafer once more, for their joules.
typedef struct repetition {
    const bb_wafer_pass *pass;
    bb_coded_operator *operation;
    const job *work;
    double *window; // [window_points]
    double seconds;
} repetition;

static bb_status apply_again(void *context)
{
    bb_status status = BB_OK;
    repetition *again = context;
    const bb_wafer_pass *pass = again->pass;
    const bb_slit_grid *slit = &pass->problem->slit;
    const bb_dwell *dwell = pass->problem->dwells[again->work->field];
    for (bb_index step = 0; step < pass->heating->light_steps; ++step) {
        const bb_index row = bb_slit_grid_offset(slit, &dwell->field, step) * slit->columns;
        BB_TRY(bb_coded_operator_apply(
            again->operation, row, slit->window_points,
            bb_wafer_heating_input_of(pass->heating, again->work->pipeline, again->work->wafer,
                                      again->work->field, step),
            again->window, &again->seconds));
    }
done:
    return status;
}

static bb_status measure_energy(const bb_wafer_pass *pass, bb_coded_operator *operation,
                                const job *work)
{
    bb_status status = BB_OK;
    repetition again = {.pass = pass, .operation = operation, .work = work};
    bb_evaluation *common = &work->evaluation->common;
    if (bb_energy_is_wanted() && work->draw == 0 && !work->exact) {
        BB_TRY(BB_ALLOCATE(pass->problem->slit.window_points, &again.window));
        BB_TRY(bb_energy_measure(common->device, apply_again, &again, common));
    }
done:
    BB_RELEASE(&again.window);
    return status;
}

// Coded rows serve every scored wafer.
static bb_status apply(bb_wafer_pass *pass, coded_rows *coded, job work)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = work.evaluation;
    double begin = bb_clock_seconds();
    if (coded->operation == NULL) {
        BB_TRY(make_operator(pass, &work, coded));
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

// A product of exact rows, nothing coded: by the reference's operator where it is kept.
static bb_status run_exact(bb_wafer_pass *pass, exact_rows *rows, job work)
{
    bb_status status = BB_OK;
    coded_rows coded = {0};
    if (rows->reference.operation != NULL && is_multiplied_there(pass, &work)) {
        BB_TRY(apply(pass, &rows->reference, work));
    } else {
        BB_TRY(take_matrix(pass, &work, rows));
        coded.matrix = rows->matrix;
        BB_TRY(apply(pass, &coded, work));
    }
done:
    bb_coded_operator_destroy(&coded.operation);
    bb_coded_matrix_destroy(&coded.unpacked);
    return status;
}

// One draw of a pipeline: coded, applied, dropped. One that does not hold its tolerance in one
// field or axis has no displacements in any.
static bb_status run_draw(bb_wafer_pass *pass, exact_rows *rows, job work)
{
    bb_status status = BB_OK;
    bb_coding_factors factors = {0};
    coded_rows coded = {0};
    double range = 0.0;
    bb_wafer_evaluation *evaluation = work.evaluation;
    work.factors = &factors;
    if (work.exact) {
        return run_exact(pass, rows, work);
    }
    if (isnan(evaluation->live_values)) { // it was not held in a field before
        return BB_OK;
    }
    if (!bb_codec_holds(&work.pipeline->storage, rows->range, &evaluation->common.outcome)) {
        bb_wafer_evaluation_unset(evaluation, pass->problem->point_count);
        return BB_OK;
    }
    BB_TRY(encode(pass, &work, rows, &range, &factors, &coded));
    BB_TRY(apply(pass, &coded, work));
done:
    bb_coding_factors_release(&factors);
    release_coded(&coded);
    return status;
}

// Rows of a pipeline whose stage `rows` is narrow, in fp64 words on the host; those that are there
// if they have its formats.
static bb_status make_narrow_rows(bb_wafer_pass *pass, const job *work, exact_rows *exact,
                                  exact_rows *out)
{
    bb_status status = BB_OK;
    const bb_stage_formats *formats = &work->pipeline->stages[BB_CHAIN_ROWS];
    bb_narrow_rows rows;
    bb_coding_report report;
    if (out->matrix != NULL && out->formats.storage == formats->storage &&
        bb_stage_formats_arithmetic(BB_CHAIN_ROWS, &out->formats) ==
            bb_stage_formats_arithmetic(BB_CHAIN_ROWS, formats)) {
        return BB_OK;
    }
    bb_coded_matrix_destroy(&out->matrix);
    out->formats = *formats;
    BB_TRY(take_matrix(pass, work, exact));
    BB_TRY(bb_narrow_rows_open(pass->problem, formats, work->field, work->axis, exact->matrix,
                               &pass->narrow, &rows));
    const bb_exact_rows source = {&rows.source, rows.batch, NULL};
    const bb_matrix_layout layout = layout_of(pass, exact->range);
    BB_TRY(
        bb_product_coding_encode(pass->reference, &source, &layout, &report, NULL, &out->matrix));
    out->range = bb_error_norms_range(&report.norms);
done:
    return status;
}

// Every draw of a task but the truth.
static bb_status run_task(bb_wafer_pass *pass, const bb_wafer_task *task, exact_rows *rows,
                          exact_rows *narrow, job work)
{
    bb_status status = BB_OK;
    work.pipeline = task->pipeline;
    work.exact = task->exact;
    if (bb_stage_formats_narrow(BB_CHAIN_ROWS, &task->pipeline->stages[BB_CHAIN_ROWS])) {
        BB_TRY(make_narrow_rows(pass, &work, rows, narrow));
        rows = narrow;
    }
    for (work.draw = 0; work.draw < task->pipeline->draws; ++work.draw) {
        work.evaluation =
            work.draw == 0 ? task->evaluation : &task->evaluation->drawn[work.draw - 1];
        if (!is_truth(pass, &work)) {
            BB_TRY(run_draw(pass, rows, work));
        }
    }
done:
    return status;
}

// One field and axis. `work` is the reference's, without an evaluation where it is known already.
static bb_status run_field(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count,
                           job work)
{
    bb_status status = BB_OK;
    exact_rows rows = {0};
    exact_rows narrow = {0};
    bb_coding_factors none = {0};
    bool exact = false;
    double range = 0.0;
    work.factors = &none;
    BB_TRY(open_rows(pass, &work, &rows));
    BB_TRY(encode(pass, &work, &rows, &range, &none, &rows.reference));
    rows.range = range;
    rows.matrix = rows.reference.matrix;
    if (work.evaluation != NULL) {
        BB_TRY(apply(pass, &rows.reference, work));
    }
    for (bb_index t = 0; t < count; ++t) {
        exact = exact || tasks[t].exact;
    }
    if (!exact) { // tasks have the room
        bb_coded_operator_destroy(&rows.reference.operation);
    }
    for (bb_index t = 0; t < count; ++t) {
        bb_log_progress_within(t + 1, count + 1); // the exact rows are made
        BB_TRY(run_task(pass, &tasks[t], &rows, &narrow, work));
    }
done:
    release_rows(&narrow);
    release_rows(&rows);
    return status;
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
static bb_status share_part(const bb_wafer_pass *pass, const job *work, int root,
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
    bb_index part_count;         // fields and axes; 1 where each is added at once
} evaluation_list;

static wafer_part *part_of(const evaluation_list *list, bb_index matrix, bb_index item)
{
    return &list->parts[matrix % list->part_count * list->count + item];
}

static bb_status list_evaluations(const bb_wafer_task *tasks, bb_index count, bb_index matrices,
                                  evaluation_list *out)
{
    bb_status status = BB_OK;
    bb_index items = 0;
    for (bb_index t = 0; t < count; ++t) {
        items += tasks[t].pipeline->draws;
    }
    BB_TRY(BB_ALLOCATE(items, &out->items));
    BB_TRY(BB_ZEROED(items, &out->totals));
    out->part_count = bb_team_joined()->size > 1 ? matrices : 1;
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
static bb_status run_part(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count, job work,
                          evaluation_list *list)
{
    bb_status status = BB_OK;
    const bb_index points = pass->problem->point_count;
    for (bb_index i = 0; i < list->count; ++i) {
        BB_TRY(take_part(list->items[i], work.axis, &list->totals[i]));
    }
    BB_TRY(run_field(pass, tasks, count, work));
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
static bb_status add_part(const bb_wafer_pass *pass, const job *work, int owner,
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
static void go_on(const bb_wafer_pass *pass, bb_index matrix, job *work)
{
    const bb_index fields = pass->problem->scored_count;
    const bb_index before = work->field;
    work->matrix = matrix;
    work->axis = ((const int *)pass->study->response.axes.items)[matrix / fields];
    work->field = matrix % fields;
    work->first_point =
        work->field == 0 ? 0 : work->first_point + pass->problem->dwells[before]->count;
}

bb_status bb_wafer_pass_run(bb_wafer_pass *pass, const bb_wafer_task *tasks, bb_index count)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    const bb_index matrices = pass->study->response.axes.count * pass->problem->scored_count;
    bb_restart *restart = team->size > 1 ? NULL : pass->restart; // else parts are all over
    const char *doing = pass->referred ? "searching" : "computing";
    job work = {.pipeline = pass->reference};
    evaluation_list list = {0};
    BB_TRY(list_evaluations(tasks, count, matrices, &list));
    pass->gpu.inputs = NULL; // narrow ones may be others by now
    for (bb_index t = 0; t < count; ++t) {
        work.evaluation =
            tasks[t].pipeline == pass->reference ? tasks[t].evaluation : work.evaluation;
    }
    BB_REQUIRE(pass->referred == (work.evaluation == NULL), BB_INTERNAL,
               "%td tasks, expected the reference among those of the first pass alone", count);
    bb_wafer_products products = {
        pass->study, pass->problem->point_count, list.count, list.items, 0, matrices};
    BB_TRY(bb_wafer_products_load(restart, &products));
    for (bb_index matrix = 0; matrix < matrices; ++matrix) {
        go_on(pass, matrix, &work);
        if (matrix < products.done) {
            continue;
        }
        bb_log_progress(doing, matrix, matrices);
        if (matrix % team->size == team->rank) {
            BB_TRY(run_part(pass, tasks, count, work, &list));
        }
        if (team->size == 1) {
            BB_TRY(add_part(pass, &work, 0, &list));
            products.done = matrix + 1;
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
    release_list(&list);
    return status;
}
