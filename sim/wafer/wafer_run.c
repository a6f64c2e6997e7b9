// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_run.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"
#include "sim/device_choice.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/wafer_cautions.h"
#include "sim/wafer/wafer_dump.h"
#include "sim/wafer/wafer_publication.h"
#include "sim/wafer/wafer_restart.h"
#include "sim/wafer/wafer_rows.h"
#include "solvers/operator/coded_operator.h"

#include <math.h>
#include <string.h>

static const bb_device_offer offer = {.work = "the matrix-vector product of wafer",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

typedef struct wafer_run {
    const bb_wafer_study *study;
    const bb_product_pipeline *pipelines;
    bb_index pipeline_count, reference;
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
    bb_product_devices devices;
    bb_wafer_evaluation *evaluations; // [pipeline_count]
    double *reference_windows; // [scored_wafers][light_steps][window_points] of an axis and field
    double *windows;           // the same of what is at work, if that is another, of a wafer
    bb_vector_norms *inputs;   // [scored_wafers][scored][light_steps] of the inputs
    bb_row_certificate *rows, *reference_rows; // [field_points] of one axis and field
} wafer_run;

// What is computed at a time: a pipeline's displacements of a field along an axis, on one wafer.
typedef struct task {
    bb_index pipeline, field, first_point;
    int axis;
    bb_index wafer;                   // of the scored ones
    bb_index draw;                    // 0: the pipeline as it is
    const bb_coding_factors *factors; // of the draw
} task;

// Where a task's results go.
static bb_wafer_evaluation *evaluation_of(const wafer_run *run, const task *job)
{
    bb_wafer_evaluation *plain = &run->evaluations[job->pipeline];
    return job->draw == 0 ? plain : &plain->drawn[job->draw - 1];
}

// Whether a task makes the truth.
static bool is_truth(const wafer_run *run, const task *job)
{
    return job->pipeline == run->reference && job->draw == 0;
}

static bb_status start(const bb_wafer_study *study, wafer_run *run)
{
    bb_status status = BB_OK;
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    run->study = study;
    run->pipelines = study->pipelines.items;
    run->pipeline_count = study->pipelines.count;
    run->reference = bb_product_pipelines_reference(&study->pipelines);
    bb_device_choice_announce(&offer, study->common.device);
    BB_TRY(bb_wafer_cautions_warn(study));
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->evaluations));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        run->evaluations[p].common = bb_evaluation_start(run->pipelines[p].name);
        BB_TRY(bb_product_devices_open(&run->devices, &run->pipelines[p], study->common.device,
                                       &run->evaluations[p].common.device));
    }
    BB_TRY(bb_wafer_problem_create(&physics, &run->problem));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        BB_TRY(bb_wafer_evaluation_create(study, run->problem, run->pipelines[p].draws - 1,
                                          &run->evaluations[p]));
    }
    const bb_index windows = run->problem->scan->light_steps * run->problem->slit.window_points;
    BB_TRY(BB_ALLOCATE(run->problem->scored_wafers * windows, &run->reference_windows));
    BB_TRY(BB_ALLOCATE(windows, &run->windows));
    BB_TRY(BB_ALLOCATE(run->problem->slit.field_points, &run->rows));
    BB_TRY(BB_ALLOCATE(run->problem->slit.field_points, &run->reference_rows));
    bb_log_info("%td nodes, %td fields of which %td scored, response %td x %td, step limit %.3f ms",
                run->problem->mesh->node_count, run->problem->scan->field_count,
                run->problem->scored_count, run->problem->slit.field_points,
                run->problem->input_count, 1e3 * run->problem->thermal->stable_step);
done:
    return status;
}

static void finish(wafer_run *run)
{
    for (bb_index p = 0; run->evaluations != NULL && p < run->pipeline_count; ++p) {
        bb_wafer_evaluation_release(&run->evaluations[p]);
    }
    BB_RELEASE(&run->evaluations);
    BB_RELEASE(&run->reference_windows);
    BB_RELEASE(&run->windows);
    BB_RELEASE(&run->inputs);
    BB_RELEASE(&run->rows);
    BB_RELEASE(&run->reference_rows);
    bb_wafer_heating_release(&run->heating);
    bb_wafer_problem_destroy(&run->problem);
    bb_product_devices_close(&run->devices);
}

// The reference's fp64 rows of one field and axis: what candidates are coded from.
typedef struct reference_rows {
    const bb_coded_matrix *matrix; // NULL while it is being made
    double range;                  // maximum - minimum of its values
} reference_rows;

// Codes the rows of one field and axis for a draw of a pipeline, whose factors go to `factors`;
// `range` is what they span.
static bb_status encode(wafer_run *run, const task *job, const bb_wafer_row_source *rows,
                        const reference_rows *reference, double *range, bb_coding_factors *factors,
                        bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = evaluation_of(run, job);
    const bb_product_pipeline *pipeline = &run->pipelines[job->pipeline];
    const bb_exact_rows exact = {rows->source, rows->batch, reference->matrix};
    const bb_matrix_layout layout = {.rows = rows->source->rows,
                                     .columns = rows->source->columns,
                                     .mesh_columns = run->problem->grid->columns,
                                     .row_columns = run->problem->slit.columns,
                                     .range = reference->range};
    bb_coding_report report;
    const bb_coding_draw draw = {.seed = (uint64_t)run->study->common.seed,
                                 .number = job->draw,
                                 .first = (job->axis * run->problem->scored_count + job->field) *
                                          layout.rows};
    if (job->draw > 0) {
        BB_TRY(
            bb_product_coding_encode_draw(pipeline, &exact, &layout, &draw, factors, &report, out));
    } else {
        BB_TRY(bb_product_coding_encode(pipeline, &exact, &layout, &report,
                                        is_truth(run, job) ? run->reference_rows : run->rows, out));
    }
    bb_coding_report_add(&evaluation->coding[job->axis], &report);
    *range = bb_error_norms_range(&report.norms);
    evaluation->live_values +=
        (double)layout.rows * (double)(run->problem->input_blocks * run->problem->grid->live_count);
    bb_log_detail("pipeline %s: %c coded in %.2f s, %.3f bits a value", evaluation->common.pipeline,
                  "xyz"[job->axis], report.seconds, 8.0 * report.bytes / report.values);
done:
    return status;
}

// The reference's windows of a wafer: [light_steps][window_points].
static double *reference_windows(const wafer_run *run, bb_index wafer)
{
    return run->reference_windows +
           wafer * run->heating.light_steps * run->problem->slit.window_points;
}

// Where a task's windows are kept, in the same order.
static double *kept_windows(const wafer_run *run, const task *job)
{
    return is_truth(run, job) ? reference_windows(run, job->wafer) : run->windows;
}

// Error of u at the scored points that get dose in this step.
static void compare(wafer_run *run, const task *job, bb_index step, const double *window)
{
    bb_wafer_displacements *placed = &evaluation_of(run, job)->wafers[job->wafer];
    const bb_dwell *dwell = run->problem->dwells[job->field];
    const bb_slit_grid *slit = &run->problem->slit;
    const double *expected = reference_windows(run, job->wafer) + step * slit->window_points;
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

// One light step: window of displacements, into the dwell and the error.
static bb_status apply_step(wafer_run *run, bb_coded_operator *operation, const task *job,
                            bb_index step)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = evaluation_of(run, job);
    const bb_slit_grid *slit = &run->problem->slit;
    bb_dwell *dwell = run->problem->dwells[job->field];
    bb_index points = slit->window_points;
    bb_index row = bb_slit_grid_offset(slit, &dwell->field, step) * slit->columns;
    const bb_index input = job->wafer * run->heating.scored_count + job->field;
    double *window = NULL;
    BB_TRY(BB_ALLOCATE(points, &window));
    BB_TRY(bb_coded_operator_apply(
        operation, row, points,
        bb_wafer_heating_input_of(&run->heating, job->wafer, job->field, step), window,
        &evaluation->common.solve_seconds));
    bb_coding_factors_undo(job->factors, row, points, window);
    evaluation->common.flops += bb_coded_operator_flops(points, run->problem->input_count);
    bb_index bad = bb_stage_inspect("displacements", window, points);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "displacement %c, field %td, light step %td, slit point %td",
                       "xyz"[job->axis], run -> problem -> scored[job->field], step, bad);
    }
    memcpy(kept_windows(run, job) + step * points, window, (size_t)points * sizeof *window);
    const bb_wafer_certificate certificate = {
        .pipeline = &run->pipelines[job->pipeline],
        .reference = &run->pipelines[run->reference],
        .rows = job->pipeline == run->reference ? run->reference_rows : run->rows,
        .reference_rows = run->reference_rows,
        .inputs = run->inputs + input * run->heating.light_steps,
        .columns = run->problem->input_count};
    if (job->draw == 0) {
        bb_wafer_certificate_check(&certificate, step, row, points, window,
                                   reference_windows(run, job->wafer) + step * points,
                                   &evaluation->certificate[job->axis]);
    }
    if (job->axis != (int)BB_AXIS_Z) {
        compare(run, job, step, window);
    }
    bb_dwell_add(dwell, step, window);
done:
    BB_RELEASE(&window);
    return status;
}

// What the corrections of a pipeline leave of one field and axis, delivered as its record says.
// Exposures count back from the last wafer, whose draws are those of a lone one.
static bb_status score_residual(wafer_run *run, const task *job)
{
    bb_status status = BB_OK;
    const bb_delivery_config *delivery = &run->pipelines[job->pipeline].delivery;
    bb_wafer_displacements *placed = &evaluation_of(run, job)->wafers[job->wafer];
    bb_dwell *dwell = run->problem->dwells[job->field];
    bb_index steps = run->heating.light_steps;
    const bb_index later = run->heating.scored_wafers - 1 - job->wafer;
    bb_index *in_force = NULL;
    BB_TRY(BB_ALLOCATE(steps, &in_force));
    bb_delivery_plan(delivery, run->problem->scored[job->field] + later * run->heating.field_count,
                     steps, in_force);
    bb_dwell_reset(dwell);
    BB_TRY(bb_delivery_residual(steps, in_force, reference_windows(run, job->wafer),
                                kept_windows(run, job), dwell));
    for (bb_index i = 0; i < dwell->count; ++i) {
        placed->residual[job->axis][job->first_point + i] = dwell->mean[i];
        placed->residual_deviation[job->axis][job->first_point + i] = bb_dwell_deviation(dwell, i);
    }
done:
    BB_RELEASE(&in_force);
    return status;
}

// All light steps of a task.
static bb_status apply_steps(wafer_run *run, bb_coded_operator *operation, const task *job)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = evaluation_of(run, job);
    bb_dwell *dwell = run->problem->dwells[job->field];
    double *mean = evaluation->wafers[job->wafer].mean[job->axis] + job->first_point;
    double *deviation = evaluation->wafers[job->wafer].deviation[job->axis] + job->first_point;
    bb_dwell_reset(dwell);
    for (bb_index step = 0; step < run->heating.light_steps; ++step) {
        BB_TRY(apply_step(run, operation, job, step));
    }
    for (bb_index i = 0; i < dwell->count; ++i) {
        mean[i] = dwell->mean[i];
        deviation[i] = bb_dwell_deviation(dwell, i);
    }
    bb_index bad = bb_stage_inspect("dwell", mean, dwell->count);
    if (bad >= 0) {
        bb_outcome_set(&evaluation->common.outcome, BB_OUTCOME_NON_FINITE,
                       "mean displacement %c, field %td, scored point %td", "xyz"[job->axis],
                       run -> problem -> scored[job->field], bad);
    }
    BB_TRY(score_residual(run, job));
done:
    return status;
}

// A coded matrix serves every scored wafer.
static bb_status apply(wafer_run *run, const bb_coded_matrix *matrix, task job)
{
    bb_status status = BB_OK;
    bb_wafer_evaluation *evaluation = evaluation_of(run, &job);
    bb_coded_operator *operation = NULL;
    bb_coded_matrix *unpacked = NULL;
    double begin = bb_clock_seconds();
    if (bb_codec_unpacks(&run->pipelines[job.pipeline].storage, evaluation->common.device)) {
        BB_TRY(bb_product_coding_unpack(matrix, &evaluation->common.solve_seconds, &unpacked));
        matrix = unpacked;
    }
    BB_TRY(bb_product_pipeline_operator(&run->pipelines[job.pipeline],
                                        run->devices.opened[evaluation->common.device], matrix,
                                        &operation));
    for (job.wafer = 0; job.wafer < run->heating.scored_wafers; ++job.wafer) {
        BB_TRY(apply_steps(run, operation, &job));
    }
    bb_log_detail("pipeline %s: axis %c of field %td in %.1f ms", evaluation->common.pipeline,
                  "xyz"[job.axis], run -> problem -> scored[job.field],
                  1e3 * (bb_clock_seconds() - begin));
done:
    bb_coded_operator_destroy(&operation);
    bb_coded_matrix_destroy(&unpacked);
    return status;
}

// One draw of a pipeline: coded, applied, dropped. One that does not hold its tolerance in one
// field or axis has no displacements in any.
static bb_status run_draw(wafer_run *run, const bb_wafer_row_source *rows,
                          const reference_rows *reference, task job)
{
    bb_status status = BB_OK;
    bb_coding_factors factors = {0};
    bb_coded_matrix *coded = NULL;
    double range = 0.0;
    bb_wafer_evaluation *evaluation = evaluation_of(run, &job);
    job.factors = &factors;
    if (isnan(evaluation->live_values)) { // it was not held in a field before
        return BB_OK;
    }
    if (!bb_codec_holds(&run->pipelines[job.pipeline].storage, reference->range,
                        &evaluation->common.outcome)) {
        bb_wafer_evaluation_unset(evaluation, run->problem->point_count);
        return BB_OK;
    }
    BB_TRY(encode(run, &job, rows, reference, &range, &factors, &coded));
    BB_TRY(apply(run, coded, job));
done:
    bb_coding_factors_release(&factors);
    bb_coded_matrix_destroy(&coded);
    return status;
}

// The rows of one field and axis are made once, in the reference's fp64; every draw of every
// pipeline encodes from there and computes, one after the other, so that memory holds two matrices
// at most.
static bb_status run_field(wafer_run *run, bb_index field, bb_index first_point, int axis)
{
    bb_status status = BB_OK;
    bb_wafer_row_source rows = {0};
    reference_rows reference = {0};
    bb_coding_factors none = {0};
    bb_coded_matrix *exact = NULL;
    task job = {.pipeline = run->reference,
                .field = field,
                .first_point = first_point,
                .axis = axis,
                .factors = &none};
    BB_TRY(bb_wafer_row_source_open(run->study, run->problem, field, axis, &rows));
    double range = 0.0;
    BB_TRY(encode(run, &job, &rows, &reference, &range, &none, &exact));
    reference = (reference_rows){exact, range};
    BB_TRY(apply(run, exact, job));
    for (job.pipeline = 0; job.pipeline < run->pipeline_count; ++job.pipeline) {
        for (job.draw = 0; job.draw < run->pipelines[job.pipeline].draws; ++job.draw) {
            if (!is_truth(run, &job)) {
                BB_TRY(run_draw(run, &rows, &reference, job));
            }
        }
    }
done:
    bb_wafer_row_source_release(&rows);
    bb_coded_matrix_destroy(&exact);
    return status;
}

static bb_status take_norms(void *context, bb_index index)
{
    wafer_run *run = context;
    const bb_index cells = run->heating.cell_count;
    run->inputs[index] = bb_vector_norms_of(run->heating.inputs + index * cells, cells);
    return BB_OK;
}

static bb_status run_axes(wafer_run *run)
{
    bb_status status = BB_OK;
    bb_index inputs =
        run->heating.scored_wafers * run->problem->scored_count * run->heating.light_steps;
    BB_TRY(BB_ALLOCATE(inputs, &run->inputs));
    BB_TRY(bb_parallel_for(inputs, take_norms, run));
    const int *axes = run->study->response.axes.items;
    bb_index axis_count = run->study->response.axes.count;
    bb_index jobs = axis_count * run->problem->scored_count;
    bb_index done_jobs = 0;
    for (bb_index a = 0; a < axis_count; ++a) {
        bb_index first_point = 0;
        for (bb_index field = 0; field < run->problem->scored_count; ++field) {
            bb_progress("computing", done_jobs++, jobs);
            BB_TRY(run_field(run, field, first_point, axes[a]));
            first_point += run->problem->dwells[field]->count;
        }
    }
    bb_progress("computing", jobs, jobs);
done:
    return status;
}

bb_status bb_wafer_run(const void *study, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    wafer_run run = {0};
    bb_restart restart = {0};
    BB_TRY(bb_wafer_restart_open(study, options, &restart));
    BB_TRY(bb_wafer_dump_check(&((const bb_wafer_study *)study)->dump, options->dump));
    BB_TRY(start(study, &run));
    BB_TRY(bb_wafer_heating_resume(run.problem, &restart, &run.heating));
    bb_wafer_heating_refer(run.problem, &run.heating);
    BB_TRY(run_axes(&run));
    BB_TRY(bb_lot_overlay_centre(study, run.problem, run.evaluations));
    BB_TRY(bb_wafer_publication_write(study, run.problem, &run.heating, run.evaluations, results));
    BB_TRY(bb_wafer_dump(study, options->dump, &run.problem, &run.heating, results));
done:
    bb_restart_release(&restart);
    finish(&run);
    return status;
}
